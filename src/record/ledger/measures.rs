//! What was measured of a turn, and the commitment to its trace: members of the exchange document
//! (format, section 8).

use serde::{Deserialize, Serialize};

use super::specialist::SpecialistId;
use crate::record::context::turn::TurnIntent;
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
    /// A council, which asks several specialists.
    Council,
    /// A council, which has one specialist review the answer of another.
    Review,
    /// `gently handoff`.
    Handoff,
}

impl QuestionDoor {
    /// All that there are.
    pub const ALL: [QuestionDoor; 5] = [
        QuestionDoor::Ask,
        QuestionDoor::Chat,
        QuestionDoor::Council,
        QuestionDoor::Review,
        QuestionDoor::Handoff,
    ];

    /// The spelling on record.
    pub const fn name(self) -> &'static str {
        match self {
            QuestionDoor::Ask => "ask",
            QuestionDoor::Chat => "chat",
            QuestionDoor::Council => "council",
            QuestionDoor::Review => "review",
            QuestionDoor::Handoff => "handoff",
        }
    }

    /// What is asked for there.
    pub const fn intent(self) -> TurnIntent {
        match self {
            QuestionDoor::Ask | QuestionDoor::Chat | QuestionDoor::Council => {
                TurnIntent::ChatMessage
            }
            QuestionDoor::Review => TurnIntent::CouncilReview,
            QuestionDoor::Handoff => TurnIntent::ContextHandoff,
        }
    }
}

/// In which round of a council something was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CouncilRound {
    /// The first: each member answers.
    Answer,
    /// The second: members review the answers of others.
    PeerReview,
}

impl CouncilRound {
    /// All that there are.
    pub const ALL: [CouncilRound; 2] = [CouncilRound::Answer, CouncilRound::PeerReview];

    /// The spelling on record.
    pub const fn name(self) -> &'static str {
        match self {
            CouncilRound::Answer => "answer",
            CouncilRound::PeerReview => "peer_review",
        }
    }
}

/// What was measured of a turn; keys in this order are also their canonical order. Times are whole
/// milliseconds of a monotonic clock, and none where the step did not take place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnMeasures {
    /// How often the question was asked before, as its answers were blocked; left out where it was not
    /// to be asked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u8>,
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
    /// Of a council; left out elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<CouncilRound>,
    /// Pairs of sources that are of one origin.
    pub same_pairs: u64,
    /// The model, and what was put before it but the kernel; 0 when no model was to be called.
    pub sources: u32,
    /// The specialist that was asked; left out where a model was asked by its own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub specialist: Option<SpecialistId>,
    /// What was expected of it in the likeliest domain of the question, in thousandths; left out
    /// likewise, and by programs from before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utility: Option<u16>,
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
