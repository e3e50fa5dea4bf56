//! What was measured of a turn, and the commitment to its trace: members of the exchange document
//! (format, section 8).

use serde::{Deserialize, Serialize};

use super::specialist::SpecialistId;
use crate::record::hash::Hash32;

/// Where a question came in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionDoor {
    /// `gently ask`.
    #[default]
    Ask,
    /// `gently chat`.
    Chat,
}

impl QuestionDoor {
    /// All that there are.
    pub const ALL: [QuestionDoor; 2] = [QuestionDoor::Ask, QuestionDoor::Chat];

    /// The spelling on record.
    pub const fn name(self) -> &'static str {
        match self {
            QuestionDoor::Ask => "ask",
            QuestionDoor::Chat => "chat",
        }
    }
}

/// What was measured of a turn; keys in this order are also their canonical order. Times are whole
/// milliseconds of a monotonic clock, and none where the step did not take place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnMeasures {
    /// From the turn's begin until it was handed to the recorder.
    pub compile_ms: u64,
    /// 0 for a thread's first turn, else its parent's and one.
    pub depth: u64,
    /// How much of the question is of the asked specialist's domains, in thousandths; left out where a
    /// model was asked by its own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain_alignment: Option<u16>,
    /// Where the question came in.
    pub door: QuestionDoor,
    /// From the request until the first byte of the answer's body.
    pub first_byte_ms: Option<u64>,
    /// Whether something that was injected is in conflict.
    pub is_in_conflict: bool,
    /// For judging the reply.
    pub judge_ms: Option<u64>,
    /// From the request until the last byte of the answer's body.
    pub model_ms: Option<u64>,
    /// Who recorded it: name, a space, version.
    pub program: String,
    /// Pairs of sources that are of one origin.
    pub same_pairs: u64,
    /// The model, and what was put before it but the kernel; 0 when no model was to be called.
    pub sources: u32,
    /// The specialist that was asked; left out where a model was asked by its own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub specialist: Option<SpecialistId>,
}

/// The exchange's trace, as its document names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceSection {
    /// Commitment with role `trace` to the signed bytes of the generic trace in seven components.
    pub commitment: Hash32,
    /// How facts became fields: `gently.trace/1`.
    pub mapping: String,
}
