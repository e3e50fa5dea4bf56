//! What somebody wanted to have done: on record, done by nobody.

use serde::Serialize;
use serde_json::Value;

use crate::app::look::actions::ActionDetails;
use crate::recorder::{AWAITING, Action, REPLY};

/// An actuation intent that a turn put on record.
#[derive(Clone, Debug, Serialize)]
pub struct ActionView {
    /// Name of the action, such as `action:000001`.
    pub id: String,
    /// What it would change.
    pub class: &'static str,
    /// What was said; null when it quotes an answer that is withheld.
    pub what: Option<String>,
    /// That it waits for approval.
    pub state: &'static str,
}

impl ActionView {
    /// Of an intent; `withheld` when the turn's answer is.
    pub fn of(action: &Action, withheld: bool) -> Self {
        let is_covered = withheld && action.source == REPLY;
        ActionView {
            id: action.id.clone(),
            class: action.class.name(),
            what: (!is_covered).then(|| action.what.clone()),
            state: AWAITING,
        }
    }
}

/// An actuation intent as it is on record.
#[derive(Clone, Debug, Serialize)]
pub struct ActionDetailsView {
    /// Name of the action, such as `action:000001`.
    pub id: String,
    /// That it waits for approval.
    pub state: Value,
    /// What it would change.
    pub class: Value,
    /// Who said it.
    pub source: Value,
    /// What was said; null when it quotes an answer that is withheld.
    pub what: Value,
    /// Whether it does.
    pub withheld: bool,
    /// The exchange that it was said in.
    pub exchange: Value,
    /// The exchange's number in its session.
    pub seq: Value,
    /// Whether the text says more of it.
    pub more_in_text: Value,
    /// Id of the session; null when the action came from none.
    pub session: Option<String>,
    /// When it was recorded.
    pub recorded_at: Option<String>,
    /// The number of its log line, from 1.
    pub log_line: u64,
    /// Whether it was erased.
    pub erased: bool,
    /// Whether what was said is kept.
    pub kept: bool,
}

impl ActionDetailsView {
    /// Of an intent on record.
    pub fn of(details: &ActionDetails) -> Self {
        let content = details.content.as_ref();
        let field = |key: &str| content.map_or(Value::Null, |content| content[key].clone());
        let what = field("what");
        ActionDetailsView {
            id: details.id.clone(),
            state: field("state"),
            class: field("class"),
            source: field("source"),
            kept: what.is_string(),
            what: if details.is_withheld {
                Value::Null
            } else {
                what
            },
            withheld: details.is_withheld,
            exchange: field("exchange"),
            seq: field("seq"),
            more_in_text: field("more_in_text"),
            session: details.session.clone(),
            recorded_at: details.recorded_at.clone(),
            log_line: details.line,
            erased: content.is_none(),
        }
    }
}
