//! What could be put before a model, as it was found on record: inputs of a compile, not yet
//! judged.

use uuid::Uuid;

use crate::record::hash::Hash32;
use crate::record::ledger::correction::{HIGH, MEDIUM};
use crate::record::ledger::prompt::{CORRECTION, IMPORTED, PriorTurn};
use crate::record::time::Seconds;

/// What a candidate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CandidateClass {
    /// A claim about the world.
    Fact,
    /// A note without a claim.
    Note,
    /// A decision that was taken.
    Decision,
    /// A declared intent.
    Intent,
    /// An open DriftWatch event.
    Drift,
    /// What is right in the place of what was said.
    Correction,
    /// A passage of an imported conversation: nobody vouches for it.
    Imported,
}

impl CandidateClass {
    /// `artifact_type` of its reference (AEGIS 5.2).
    pub const fn artifact_type(self) -> &'static str {
        match self {
            CandidateClass::Fact => "ledger_fact",
            CandidateClass::Note => "note",
            CandidateClass::Decision => "decision",
            CandidateClass::Intent => "intent",
            CandidateClass::Drift => "driftwatch",
            CandidateClass::Correction => CORRECTION,
            CandidateClass::Imported => IMPORTED,
        }
    }
}

/// How sure whoever recorded a fact is of it, or what is left of that of a correction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Of a correction: too little is left of it.
    Faded,
    /// The person is not sure of it.
    Low,
    /// The person is fairly sure of it.
    Medium,
    /// The person is sure of it.
    High,
}

impl Confidence {
    /// The spelling in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Confidence::Faded => "faded",
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }

    /// By what is left of a correction's, in thousandths.
    pub const fn left(milli: u16) -> Confidence {
        match milli {
            HIGH.. => Confidence::High,
            MEDIUM.. => Confidence::Medium,
            _ => Confidence::Faded,
        }
    }

    /// Reads that of a fact; what is no confidence is the lowest.
    pub fn read(text: Option<&str>) -> Confidence {
        match text {
            Some("high") => Confidence::High,
            Some("medium") => Confidence::Medium,
            _ => Confidence::Low,
        }
    }
}

/// One artifact beside the turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Name of the item on record: `ledger:000183`, or `driftwatch:ID`.
    pub id: String,
    /// What it is.
    pub class: CandidateClass,
    /// What it says.
    pub text: String,
    /// What it is about, as it is compared.
    pub subject: Option<String>,
    /// Where it is from; none: not known, so that it is not let in.
    pub source: Option<String>,
    /// When it was observed.
    pub observed_at: Seconds,
    /// Of a fact or correction; what a person decided or declared is certain to be so.
    pub confidence: Confidence,
    /// Whether it counts: a fact that nobody ratified does not.
    pub counts: bool,
    /// The phase in which it may be shown; none: in every one.
    pub phase: Option<String>,
    /// The tier from which on it may be shown.
    pub tier: u8,
    /// What its log line commits to, or the hash of a drift event's document.
    pub hash: Hash32,
    /// How well it fits the words of the question: SQLite's BM25 as a whole number; 0: not at all.
    pub relevance: u64,
    /// Whether it is of the thread in which it is asked.
    pub here: bool,
}

/// One turn of an earlier exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnCandidate {
    /// Id of the turn's row.
    pub turn: Uuid,
    /// True for the user, false for aurora.
    pub by_user: bool,
    /// When it was recorded.
    pub at: Seconds,
    /// Number of its line: turns are shown in this order.
    pub line: u64,
    /// What was said, as it is stored; none once erased, or where it was never kept.
    pub text: Option<String>,
    /// Whether it was never kept.
    pub not_kept: bool,
    /// The ledger's commitment to it.
    pub hash: Hash32,
    /// Whether policy denied it, or its kernel withheld it.
    pub withheld: bool,
    /// How well it fits the words of the question.
    pub relevance: u64,
    /// Which declaration named it: `last:6`, `exchange`; `deep` for deep history.
    pub declared: String,
}

impl TurnCandidate {
    /// It as a model sees it; none when its text is not here.
    pub(super) fn prior(&self) -> Option<PriorTurn> {
        PriorTurn::new(self.turn, self.by_user, self.at, self.text.as_deref())
    }
}

/// What was found for a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecallResult {
    /// Intent, facts, notes, decisions, open drift.
    pub found: Vec<Candidate>,
    /// What is in force on the subjects of those, and not among them.
    pub rivals: Vec<Candidate>,
    /// Turns that the client declared and that were resolved, by `event_index`.
    pub declared: Vec<TurnCandidate>,
    /// Ids of declared events that were kept out, each with the rule.
    pub kept: Vec<(String, String)>,
    /// Turns of deep history, best first; only when the client asked for it.
    pub deep: Vec<TurnCandidate>,
    /// Passages of imported conversations, best first; only when the client asked for deep history.
    pub imported: Vec<Candidate>,
}
