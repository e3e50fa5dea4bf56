//! Handoffs: what `gently handoff --json` prints, and what a turn says of one that is due.

use serde::Serialize;
use uuid::Uuid;

use crate::app::look::conversation::QuestionPlace;
use crate::app::remember::handoff::pressure::DueHandoff;
use crate::app::remember::handoff::{HandoffState, ShownHandoff};
use crate::record::ledger::handoff::HandoffTrigger;
use crate::view::ask::warning::WarningView;

/// A handoff with its text.
#[derive(Clone, Debug, Serialize)]
pub struct HandoffView {
    /// Its id on record: `handoff:000001`.
    pub id: String,
    /// `valid`, `stale` (there are messages after it), or `not valid` (its text is not there).
    pub state: &'static str,
    /// Whether it is the one that the next question of its conversation is shown.
    pub next: bool,
    /// How many messages there are after it; null where it is not stale.
    pub messages_after: Option<u64>,
    /// Why its text is not there: `erased`, `not kept`, `withheld`, `changed since it was recorded`;
    /// null where it is.
    pub missing: Option<&'static str>,
    /// The conversation that it sums up.
    pub conversation: Uuid,
    /// What that is called; null where that is not here.
    pub title: Option<String>,
    /// What screens call its exchange.
    pub exchange: String,
    /// Id of the specialist that wrote it; null where a model was asked by its own name.
    pub specialist: Option<String>,
    /// The model that wrote it.
    pub model: String,
    /// How many the conversation has, with this one.
    pub thread_number: u64,
    /// Why it was made.
    pub trigger: &'static str,
    /// Line of the newest message that it is about, from 1.
    pub upto_line: u64,
    /// When it was asked for.
    pub created_at: String,
    /// What it says; null where that is not there.
    pub text: Option<String>,
    /// Line of its artifact, from 1.
    pub log_line: u64,
}

impl HandoffView {
    /// Of a handoff.
    pub fn of(shown: &ShownHandoff) -> Self {
        let handoff = &shown.handoff;
        let (after, missing) = match shown.state {
            HandoffState::Valid => (None, None),
            HandoffState::Stale { after } => (Some(after), None),
            HandoffState::Gone(missing) => (None, Some(missing.name())),
        };
        HandoffView {
            id: handoff.id.clone(),
            state: shown.state.name(),
            next: shown.is_next,
            messages_after: after,
            missing,
            conversation: handoff.conversation,
            title: shown.place.title.text.clone(),
            exchange: shown.exchange.clone(),
            specialist: handoff.specialist.map(|id| id.to_string()),
            model: shown.model.clone(),
            thread_number: handoff.thread_number,
            trigger: handoff.trigger.name(),
            upto_line: handoff.upto + 1,
            created_at: shown.at.to_string(),
            text: shown.text.clone(),
            log_line: handoff.line + 1,
        }
    }
}

/// What became of asking for a handoff.
#[derive(Clone, Debug, Serialize)]
pub struct HandoffRunView {
    /// The first digits of the conversation's id, as commands take them.
    pub conversation: String,
    /// What it is called; null where that is not here.
    pub title: Option<String>,
    /// Why it was asked for.
    pub trigger: &'static str,
    /// The same in words.
    pub because: &'static str,
    /// Id of the handoff; null where there is none.
    pub handoff: Option<String>,
    /// What screens call the exchange; null where none is on record.
    pub exchange: Option<String>,
    /// The model that was asked; null where none was.
    pub model: Option<String>,
    /// What it says; null where there is no handoff.
    pub text: Option<String>,
    /// Headings that the reply lacks.
    pub missing_headings: Vec<&'static str>,
    /// Why there is none; null where there is one.
    pub why: Option<String>,
    /// What can be done then; null where `why` says it, or nothing is to be done.
    pub next: Option<String>,
    /// What a person is told of the reply.
    pub warnings: Vec<WarningView>,
    /// The exit code.
    pub exit: u8,
}

impl HandoffRunView {
    /// Before anything is known but what was wanted.
    pub fn wanted(place: &QuestionPlace, trigger: HandoffTrigger) -> Self {
        HandoffRunView {
            conversation: place.short.clone(),
            title: place.title.text.clone(),
            trigger: trigger.name(),
            because: trigger.words(),
            handoff: None,
            exchange: None,
            model: None,
            text: None,
            missing_headings: Vec::new(),
            why: None,
            next: None,
            warnings: Vec::new(),
            exit: 0,
        }
    }
}

/// What `gently handoff run` prints.
#[derive(Clone, Debug, Serialize)]
pub struct HandoffRunsView {
    /// Each that was asked for.
    pub runs: Vec<HandoffRunView>,
    /// What people were told on the way.
    pub notes: Vec<String>,
}

/// A handoff that is due after an answer.
#[derive(Clone, Debug, Serialize)]
pub struct DueHandoffView {
    /// `token_threshold`, `message_count` or `time_gap`.
    pub trigger: &'static str,
    /// The same in a sentence.
    pub says: String,
    /// Tokens since the newest handoff, as they are estimated, of who answered.
    pub token_estimate: u64,
    /// Messages since the newest handoff, of who answered.
    pub message_count: u64,
    /// Whether it is made after the answer, as `handoff.auto` is set.
    pub auto: bool,
}

impl DueHandoffView {
    /// Of one that is due.
    pub fn of(due: &DueHandoff) -> Self {
        DueHandoffView {
            trigger: due.trigger.name(),
            says: due.sentence(),
            token_estimate: due.pressure.tokens,
            message_count: due.pressure.messages,
            auto: due.is_automatic,
        }
    }
}
