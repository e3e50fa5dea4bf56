//! What is on record of something that failed: what is not, or not for certain, is shown to nobody.

use crate::app::keep::erase::StoppedErasing;
use crate::recorder::RecorderError;
use crate::store::StoreError;

use super::open_error::OpenHomeError;

/// What is on record of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordState {
    /// Whether it is recorded; none when only the next start shows it.
    pub recorded: Option<bool>,
    /// The same in words.
    pub sentence: &'static str,
}

/// State of a question of which nothing went on record.
const NOT_RECORDED: RecordState = RecordState {
    recorded: Some(false),
    sentence: "not recorded",
};

impl RecordState {
    /// After the recorder failed with something that was to be recorded.
    pub fn of(cause: &RecorderError) -> Self {
        if cause.is_recorded() {
            RecordState {
                recorded: Some(true),
                sentence: "recorded, withheld, finished at the next start",
            }
        } else if cause.is_unknown() {
            RecordState {
                recorded: None,
                sentence: "withheld; the next start shows whether it was recorded",
            }
        } else {
            NOT_RECORDED
        }
    }

    /// The same of an outcome whose prompt is on record.
    pub fn of_outcome(cause: &RecorderError) -> Self {
        match RecordState::of(cause) {
            NOT_RECORDED => RecordState {
                recorded: Some(false),
                sentence: "not recorded, but for the question",
            },
            known => known,
        }
    }

    /// After an erasing of which some is on record.
    fn of_erasing(stopped: &StoppedErasing) -> Self {
        match RecordState::of(&stopped.cause) {
            NOT_RECORDED => RecordState {
                recorded: Some(false),
                sentence: "not recorded, but for what is said to be erased",
            },
            known => known,
        }
    }

    /// After an error; none when it came before there was anything to record.
    pub fn after(error: &OpenHomeError) -> Option<Self> {
        match error {
            OpenHomeError::ReadOnly { .. } => Some(NOT_RECORDED),
            OpenHomeError::Recorder(cause) => RecordState::after_recorder(cause),
            OpenHomeError::Erasing(stopped) if stopped.erased > 0 => {
                Some(RecordState::of_erasing(stopped))
            }
            OpenHomeError::Erasing(stopped) => RecordState::after_recorder(&stopped.cause),
            _ => None,
        }
    }

    fn after_recorder(cause: &RecorderError) -> Option<Self> {
        match cause {
            RecorderError::NotOpen { .. }
            | RecorderError::InFlight { .. }
            | RecorderError::ClockFine { .. }
            | RecorderError::AuthKey(_)
            | RecorderError::NotAllowed { .. }
            | RecorderError::KernelChanged { .. }
            | RecorderError::KeyNotNew { .. }
            | RecorderError::Adopt(_)
            // Nothing could be asked of it either.
            | RecorderError::Store(
                StoreError::Sealed { .. } | StoreError::Empty { .. } | StoreError::Unreadable { .. },
            ) => None,
            cause => Some(RecordState::of(cause)),
        }
    }
}
