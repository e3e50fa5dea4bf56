//! What only the owner can check, on top of what everybody can: how such a check takes part.
//!
//! It runs once, when log, commits and proofs are checked, against what those have read and kept.
//! What it finds goes behind their findings, and what it says of itself into the report.

use crate::ledger::read::Repository;
use crate::record::ledger::documents::Genesis;

use super::VerifyError;
use super::ledger::commits::CheckedCommits;
use super::ledger::history::History;
use super::ledger::keys::KeyHistory;
use super::log::lines::Lines;
use super::log::sessions::SessionChains;
use super::progress::Progress;
use super::report::Findings;

/// A check of what is not public.
pub trait OwnerCheck {
    /// Holds it against the ledger; none where it could not be looked at.
    fn check(
        &self,
        ledger: &CheckedLedger<'_>,
        findings: &mut Findings,
    ) -> Result<Option<DatabaseSummary>, VerifyError>;
}

/// What the public checks have read of a ledger.
pub struct CheckedLedger<'c> {
    pub(crate) repository: &'c Repository,
    pub(crate) progress: &'c Progress,
    pub(crate) genesis: Option<&'c Genesis>,
    pub(crate) history: &'c History,
    pub(crate) keys: &'c KeyHistory,
    pub(crate) lines: &'c Lines,
    /// How many of the lines are inside `main`.
    pub(crate) in_segments: u64,
    pub(crate) sessions: &'c SessionChains,
    pub(crate) commits: &'c CheckedCommits,
}

/// What a report says of the owner's database.
#[derive(Clone, Debug)]
pub struct DatabaseSummary {
    /// What was checked of it.
    pub words: String,
    /// Imported conversations that were checked, erased ones among them.
    pub imported: u64,
    /// Exchanges and artifacts whose text and salt were erased.
    pub erased: u64,
    /// Exchanges and artifacts whose texts are not kept, and were not checked.
    pub not_kept: u64,
    /// Where its search indexes are not what they are of; none where they were not looked at.
    pub search: Option<Vec<String>>,
    /// Where its tables, views, indexes and triggers are not as they are made, in words.
    pub schema: Vec<String>,
}
