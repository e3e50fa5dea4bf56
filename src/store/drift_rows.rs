//! Drift events, the checks behind them, and what has become of them, as plain data.

use uuid::Uuid;

use crate::record::hash::Hash32;
use crate::record::time::Seconds;

/// One DriftWatch event (AEGIS 9.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriftRow {
    /// As the log's `drift` line names it.
    pub drift_id: String,
    /// The exchange.
    pub exchange: Uuid,
    /// `authority`, `evidence`, `tone`, `schema`, `completeness`.
    pub class: String,
    /// From the kernel.
    pub severity: String,
    /// The ledger's commitment.
    pub prompt_hash: Hash32,
    /// The ledger's commitment; zeros where no model was called, so that there is no answer.
    pub response_hash: Hash32,
    /// Short and machine-parseable.
    pub summary: String,
    /// Time of the line.
    pub created_at: Seconds,
}

/// One check that was made of an exchange, and how it came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssertionRow {
    /// Derived (version 8) from the name.
    pub assertion_id: Uuid,
    /// The exchange.
    pub exchange: Uuid,
    /// Class and rule: `authority.claimed_side_effect`.
    pub name: String,
    /// `info`, `soft` or `blocking`: what its failure does.
    pub level: String,
    /// Whether nothing was found.
    pub passed: bool,
    /// Time of the outcome's line.
    pub created_at: Seconds,
}

/// One drift event as people name it, and what has become of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriftState {
    /// Its number in the order of recording, from 1: `driftwatch:0042`.
    pub number: u64,
    /// The event.
    pub event: DriftRow,
    /// The level of its failed check; none for events from before checks were recorded.
    pub level: Option<String>,
    /// Line of the `drift_ack` artifact: somebody has looked at it.
    pub acked: Option<u64>,
    /// Line of the `drift_close` artifact: it is dealt with.
    pub closed: Option<u64>,
}

impl DriftState {
    /// `driftwatch:0042`.
    pub fn id(&self) -> String {
        format!("driftwatch:{:04}", self.number)
    }

    /// `open`, `acked` or `closed`.
    pub fn state(&self) -> &'static str {
        match (self.acked, self.closed) {
            (_, Some(_)) => "closed",
            (Some(_), None) => "acked",
            (None, None) => "open",
        }
    }
}
