//! What somebody wanted to have done: on record, done by nobody.

use serde::Serialize;

use crate::recorder::{AWAITING, Action, REPLY};

/// An actuation intent that a turn put on record.
#[derive(Clone, Debug, Serialize)]
pub struct ActionView {
    /// Its id.
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
