//! Can it be trusted: checks of ledger, log, anchors and database (format, section 11).
//!
//! A broken chain is a finding, not an error: everything that can still be looked at is looked at, and
//! the report lists what is wrong with its place. An error means that nothing could be checked. The
//! checks share formats with the writer and not its code: only reading halves are imported.
//!
//! The order is that of the page, as far as one check does not need another's result: refs and commits
//! are read, genesis gives network and first key, `main` gives the segments of the log, a log file is
//! held against them, then every commit is held against its line, and every session against its chain.

mod blocks;
mod checker;
mod commits;
mod documents;
mod file;
mod history;
mod lines;
mod notes;
pub mod report;
mod segments;
mod sessions;
mod verdict;

use std::path::Path;

use crate::ledger::read::{OpenError, Repository};
use crate::log::read::ReadError;
use crate::record::signature::PublicKey;

pub use report::{Answer, Answers, Finding, Question, Report, SessionBlock, SessionReport, TreeHead, Verdict};

/// What is to be checked.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The repository: a bare one, or a folder that git takes for one.
    pub repository: &'a Path,
    /// The log file; without one the segments inside `main` are all that is known of the log.
    pub log: Option<&'a Path>,
    /// The key that the checker knows the ledger by.
    pub pinned: Option<PublicKey>,
}

/// Why nothing could be checked.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The repository can't be looked at.
    #[error(transparent)]
    Repository(#[from] OpenError),
    /// The log file can't be read.
    #[error(transparent)]
    Log(#[from] ReadError),
    /// A repository without any commit, or without one that could be read.
    #[error("nothing to check: no commit of a ledger can be read at {place}")]
    Nothing {
        /// Where.
        place: String,
    },
}

/// Checks a ledger that nobody writes to.
///
/// Reads the log file and every commit once; holds one line, the files of one commit, some 300 bytes a
/// commit and the summary of each session.
pub fn verify(evidence: &Evidence<'_>) -> Result<Report, VerifyError> {
    // The log's length is noted before the refs are read: see `LogFile::open`.
    let file = evidence.log.map(file::LogFile::open).transpose()?;
    let repository = Repository::open(evidence.repository)?;
    let mut checker = checker::Checker::read(&repository, evidence.pinned)?;
    if checker.history.nodes.is_empty() {
        return Err(VerifyError::Nothing { place: evidence.repository.display().to_string() });
    }
    checker.check_all(file)?;
    Ok(checker.into_report())
}
