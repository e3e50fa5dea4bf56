//! Can it be trusted: checks of ledger, log, anchors and database (format, section 11).
//!
//! A broken chain is a finding, not an error: everything that can still be looked at is looked at, and
//! the report lists what is wrong with its place. An error means that nothing could be checked. The
//! checks share formats with the writer and not its code: only reading halves are imported.
//!
//! The order is that of the page, as far as one check does not need another's result: refs and commits
//! are read, genesis gives network and first key, `main` gives the segments of the log, a log file is
//! held against them, then every commit is held against its line, and every session against its chain.

mod ahead;
mod artifacts;
mod blocks;
mod checker;
mod commits;
mod continuity;
mod database;
mod documents;
mod exchanges;
mod file;
mod history;
mod lines;
mod nodes;
mod notes;
mod records;
pub mod report;
mod segments;
mod sessions;
mod signatures;
mod verdict;

use std::path::Path;
use std::time::Duration;

use crate::ledger::read::{OpenError, Ref, Repository};
use crate::log::read::ReadError;
use crate::record::signature::PublicKey;
use crate::store::{Read, StoreError};

pub use report::{Answer, Answers, Finding, Question, Report, SessionBlock, SessionReport, TreeHead, Verdict};

/// Opens the database, hands it to the check inside one read transaction, and closes it.
///
/// The transaction begins after git and log were read: the database is written before them, so it
/// holds all that they held.
pub type Database<'a> = dyn Fn(&mut Look<'_>) -> Result<(), VerifyError> + 'a;

/// What the check does with the database.
pub type Look<'a> = dyn FnMut(&dyn Read) -> Result<(), VerifyError> + 'a;

/// What is to be checked.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    /// The repository: a bare one, or a folder that git takes for one.
    pub repository: &'a Path,
    /// The log file; without one the segments inside `main` are all that is known of the log.
    pub log: Option<&'a Path>,
    /// The key that the checker knows the ledger by.
    pub pinned: Option<PublicKey>,
    /// Shows the database, if it is at hand.
    pub database: Option<&'a Database<'a>>,
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
    /// The database can't be looked at.
    #[error(transparent)]
    Database(#[from] StoreError),
    /// A repository without any commit, or without one that could be read.
    #[error("nothing to check: no commit of a ledger can be read at {place}")]
    Nothing {
        /// Where.
        place: String,
    },
}

/// Checks a ledger that nobody writes to.
///
/// Reads the log file and every commit once; holds one line, the files of one commit, some 250 bytes a
/// commit and the summary of each session. A second thread checks signatures and reads files ahead.
pub fn verify(evidence: &Evidence<'_>) -> Result<Report, VerifyError> {
    // The log's length is noted before the refs are read: see `LogFile::open`.
    let file = evidence.log.map(file::LogFile::open).transpose()?;
    let repository = Repository::open(evidence.repository)?;
    let mut checker = checker::Checker::read(&repository, evidence.pinned)?;
    if checker.history.nodes.is_empty() {
        return Err(VerifyError::Nothing { place: evidence.repository.display().to_string() });
    }
    checker.has_database = evidence.database.is_some();
    checker.lines.keeps_hashes = checker.has_database;
    checker.check_all(file)?;
    if let Some(database) = evidence.database {
        database(&mut |store| checker.check_database(store))?;
    }
    Ok(checker.into_report())
}

/// How often a ledger that moves is looked at again before its findings are believed.
const ATTEMPTS: usize = 5;
/// Longer than a writer takes between moving refs and appending lines.
const BETWEEN: Duration = Duration::from_millis(200);

/// Checks a ledger that a writer may be appending to.
///
/// Three things keep a busy writer from looking like a forger. The log's length is noted before the
/// refs are read, and writers move refs before they append, so each noted `record:` line has its
/// commit. Lines behind that length are taken while commits know them. And a check that finds something
/// is believed only when refs and log have stood still over it; else the ledger is looked at again.
/// A prompt in flight is an unanswered prompt: *complete* is *no* until it has its outcome.
pub fn verify_in_use(evidence: &Evidence<'_>) -> Result<Report, VerifyError> {
    let mut before = snapshot(evidence)?;
    let mut report = verify(evidence)?;
    for _ in 1..ATTEMPTS {
        if report.passes() {
            break;
        }
        std::thread::sleep(BETWEEN);
        let after = snapshot(evidence)?;
        if after == before {
            break;
        }
        before = after;
        report = verify(evidence)?;
    }
    Ok(report)
}

/// Where refs and log stand.
fn snapshot(evidence: &Evidence<'_>) -> Result<(u64, Vec<Ref>), VerifyError> {
    let length = evidence.log.and_then(|log| std::fs::metadata(log).ok()).map_or(0, |file| file.len());
    Ok((length, Repository::open(evidence.repository)?.refs()?))
}
