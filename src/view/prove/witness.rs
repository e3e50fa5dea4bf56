//! Witnesses that are configured, and what they said of tree heads.

use serde::Serialize;

use crate::app::prove::witness::{AddedWitness, ListedWitness, WitnessList};
use crate::record::hash::Hash32;
use crate::record::tree::note::VerifierKey;
use crate::witness::{RoundResult, WitnessOutcome, WitnessStatement};

/// What the operator of a witness has to know of this log.
#[derive(Clone, Debug, Serialize)]
pub struct LogKeyView {
    /// The log's origin.
    pub origin: String,
    /// Its verifier key.
    pub key: String,
}

impl LogKeyView {
    fn of(log: &VerifierKey) -> Self {
        LogKeyView {
            origin: log.name.clone(),
            key: log.print(),
        }
    }
}

/// A witness that was added.
#[derive(Clone, Debug, Serialize)]
pub struct AddedWitnessView {
    /// What its owner calls it.
    pub name: String,
    /// Its verifier key.
    pub key: String,
    /// Its submission prefix.
    pub url: String,
    /// What its operator has to know.
    pub log: LogKeyView,
}

impl AddedWitnessView {
    /// Of what was added under a name.
    pub fn of(name: &str, added: &AddedWitness) -> Self {
        AddedWitnessView {
            name: name.to_owned(),
            key: added.key.print(),
            url: added.url.clone(),
            log: LogKeyView::of(&added.log),
        }
    }
}

/// A witness that is asked no more.
#[derive(Clone, Debug, Serialize)]
pub struct RemovedWitnessView {
    /// What its owner called it.
    pub name: String,
    /// Its verifier key.
    pub key: String,
    /// Whether the witness was removed: always true.
    pub removed: bool,
}

impl RemovedWitnessView {
    /// Of its name and key.
    pub fn of(name: &str, key: &VerifierKey) -> Self {
        RemovedWitnessView {
            name: name.to_owned(),
            key: key.print(),
            removed: true,
        }
    }
}

/// A witness and what it did last.
#[derive(Clone, Debug, Serialize)]
pub struct WitnessView {
    /// What its owner calls it.
    pub name: String,
    /// Its verifier key.
    pub key: String,
    /// Its submission prefix.
    pub url: String,
    /// Lines under the newest tree head that it cosigned; 0 when it has cosigned none.
    pub lines: u64,
    /// When it did, by its own clock.
    pub cosigned_at: Option<String>,
    /// When it was asked last.
    pub asked_at: Option<String>,
    /// What was wrong then.
    pub said: Option<String>,
}

impl WitnessView {
    fn of(witness: &ListedWitness) -> Self {
        let state = witness.state.as_ref();
        let cosigned_at = state.and_then(|state| state.cosigned_at);
        WitnessView {
            name: witness.name.clone(),
            key: witness.key.print(),
            url: witness.url.clone(),
            lines: state.map_or(0, |state| state.lines),
            cosigned_at: cosigned_at.map(|at| at.to_string()),
            asked_at: state.map(|state| state.asked_at.to_string()),
            said: state.and_then(|state| state.said.clone()),
        }
    }
}

/// The witnesses of a home.
#[derive(Clone, Debug, Serialize)]
pub struct WitnessListView {
    /// What their operators know this log by.
    pub log: LogKeyView,
    /// Lines under the newest tree head.
    pub lines: Option<u64>,
    /// How many have to cosign.
    pub quorum: usize,
    /// Configured witnesses, sorted by name.
    pub witnesses: Vec<WitnessView>,
}

impl WitnessListView {
    /// Of a list.
    pub fn of(list: &WitnessList) -> Self {
        WitnessListView {
            log: LogKeyView::of(&list.log),
            lines: list.lines,
            quorum: list.quorum,
            witnesses: list.witnesses.iter().map(WitnessView::of).collect(),
        }
    }
}

/// What one witness said.
#[derive(Clone, Debug, Serialize)]
pub struct WitnessOutcomeView {
    /// What its owner calls it.
    pub name: String,
    /// Whether it cosigned.
    pub cosigned: bool,
    /// Whether it was asked in this round.
    pub asked: bool,
    /// When it cosigned, by its own clock.
    pub cosigned_at: Option<String>,
    /// Whether it says that there is another history, or more of this one.
    pub finding: bool,
    /// Its answer, in words.
    pub said: String,
    /// How long it took, in milliseconds.
    pub elapsed_ms: u64,
}

impl WitnessOutcomeView {
    fn of(outcome: &WitnessOutcome) -> Self {
        let at = match &outcome.said {
            WitnessStatement::Cosigned { at } => *at,
            _ => None,
        };
        WitnessOutcomeView {
            name: outcome.name.clone(),
            cosigned: outcome.said.is_cosigned(),
            asked: outcome.asked,
            cosigned_at: at.map(|at| at.to_string()),
            finding: outcome.said.is_finding(),
            said: outcome.said.to_string(),
            elapsed_ms: u64::try_from(outcome.elapsed.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// What witnesses said of the newest tree head.
#[derive(Clone, Debug, Serialize)]
pub struct WitnessRoundView {
    /// Lines under it.
    pub lines: u64,
    /// Root hash of the tree.
    pub root: Hash32,
    /// The commit that carries it.
    pub commit: String,
    /// How many had to cosign.
    pub quorum: usize,
    /// How many did.
    pub cosigned: usize,
    /// Whether they are enough.
    pub enough: bool,
    /// Each of them.
    pub witnesses: Vec<WitnessOutcomeView>,
}

impl WitnessRoundView {
    /// Of a result.
    pub fn of(round: &RoundResult) -> Self {
        WitnessRoundView {
            lines: round.head.note.size,
            root: round.head.note.root,
            commit: round.head.commit.to_string(),
            quorum: round.quorum,
            cosigned: round.cosigned(),
            enough: round.is_enough(),
            witnesses: round.outcomes.iter().map(WitnessOutcomeView::of).collect(),
        }
    }
}
