//! What was not recorded, and is therefore not shown.

use serde::Serialize;

use crate::app::home::unrecorded::RecordState;

/// An answer that nobody is shown.
#[derive(Clone, Debug, Serialize)]
pub struct UnrecordedView {
    /// The answer: always null.
    pub answer: (),
    /// Whether there may be an answer that is kept back.
    pub withheld: bool,
    /// Whether it is on record; null when only the next start shows it.
    pub recorded: Option<bool>,
    /// One of the sentences that say what is on record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sentence: Option<&'static str>,
    /// Why nothing went on record.
    pub error: String,
    /// The exit code.
    pub exit: u8,
}

impl UnrecordedView {
    /// Of a question that was given up before it was recorded.
    pub fn interrupted(error: &str, exit: u8) -> Self {
        UnrecordedView {
            answer: (),
            withheld: false,
            recorded: Some(false),
            sentence: None,
            error: error.to_owned(),
            exit,
        }
    }

    /// Of a turn that could not be recorded, or not as a whole.
    pub fn withheld(state: RecordState, error: String, exit: u8) -> Self {
        UnrecordedView {
            answer: (),
            withheld: true,
            recorded: state.recorded,
            sentence: Some(state.sentence),
            error,
            exit,
        }
    }
}

/// Why something could not be done.
#[derive(Clone, Debug, Serialize)]
pub struct ErrorView {
    /// What happened, and what helps.
    pub error: String,
    /// The exit code.
    pub exit: u8,
}
