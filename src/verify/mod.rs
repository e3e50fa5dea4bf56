//! Can it be trusted: what everybody can check of a ledger, a log and an opening, without the
//! owner's database (format, section 12). `crate::audit` holds that against it.
//!
//! A broken chain is a finding, not an error: everything that can still be looked at is looked at,
//! and the report lists what is wrong with its place. An error means that nothing could be checked.
//! The checks share formats with the writer and not its code: only reading halves are imported.
//!
//! The order is that of the page, as far as one check does not need another's result: refs and
//! commits are read, genesis gives network and first key, `main` gives the segments of the log, a
//! log file is held against them, then every commit is held against its line, and every session
//! against its chain.

pub(crate) mod checker;
mod cursor;
pub(crate) mod ledger;
pub(crate) mod log;
mod opening;
pub(crate) mod owner;
pub(crate) mod progress;
mod question;
pub mod report;
mod time;
mod verdict;

use std::path::Path;
use std::time::Duration;

use crate::ledger::read::{BudgetExceeded, OpenError, Ref, Repository};
use crate::log::read::ReadError;
use crate::record::bitcoin::block::Network;
use crate::record::signature::PublicKey;
use crate::record::tree::witness_policy::WitnessPolicy;

use cursor::start::{PositionRelation, ResumeStart};

pub use cursor::file::{Position, PositionMismatch};
pub use cursor::start::{PositionSummary, Scope};
pub use log::receipts::KeptReceipt;
pub use opening::{
    OpeningFinding, OpeningQuestion, OpeningReport, Trust, check_opening, wanted_headers,
};
pub use owner::{CheckedLedger, DatabaseSummary, OwnerCheck};
pub use progress::{CheckStage, Progress};
pub use report::{
    AuditAnswers, AuditQuestion, CheckAnswer, CheckVerdict, ClockSet, Extents, Finding, Report,
    SessionBlock, SessionReport, TreeHead,
};
pub use time::bounds::{LedgerBounds, PendingProof, SessionBound, TimeBounds};
pub use time::proofs::{FindHeaders, HeaderRequests, Headers};
pub use time::witnesses::OutsideHead;

/// What is to be checked.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    /// The repository: a bare one, or a folder that git takes for one.
    pub repository: &'a Path,
    /// The log file; without one the segments inside `main` are all that is known of the log.
    pub log: Option<&'a Path>,
    /// The tree head beside the log; a file that is not there is none.
    pub checkpoint: Option<&'a Path>,
    /// The keys that the checker knows the ledger by, the newest last.
    pub signers: &'a [PublicKey],
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
    /// The tree head beside the log can't be read.
    #[error("can't read the tree head {place}: {reason}")]
    Checkpoint {
        /// File that holds the tree head.
        place: String,
        /// What is wrong.
        reason: String,
    },
    /// What only the owner has can't be looked at.
    #[error(transparent)]
    Owned(Box<dyn std::error::Error + Send + Sync>),
    /// The commit that a check was to begin behind is not there.
    #[error(
        "'{commit}' begins the id of no commit on main, or of several; git log --first-parent main lists them"
    )]
    NotOnMain {
        /// What was given.
        commit: String,
    },
    /// A saved position is not this ledger's; [`verify_as`] then checks everything.
    #[error("the saved position does not fit: {0}")]
    Position(#[from] PositionMismatch),
    /// It would take more than a ledger may.
    #[error(transparent)]
    Refused(#[from] BudgetExceeded),
    /// A repository without any commit, or without one that could be read.
    #[error("nothing to check: no commit of a ledger can be read at {place}")]
    Nothing {
        /// Folder or file in which there is nothing to check.
        place: String,
    },
}

/// Checks a ledger that nobody writes to.
///
/// Reads the log file and every commit once; holds one line, the files of one commit, some 250
/// bytes a commit and the summary of each session. A second thread checks signatures and reads
/// files ahead.
pub fn verify(evidence: &Evidence<'_>) -> Result<Report, VerifyError> {
    verify_as(evidence, VerifyOptions::default())
}

/// How a check is done: of everything, and without telling how far it is, when nothing else is
/// said.
#[derive(Clone, Copy, Default)]
pub struct VerifyOptions<'a> {
    /// Behind what it begins.
    pub since: Option<CheckBase<'a>>,
    /// What the owner has more, and holds against the ledger.
    pub owner: Option<&'a dyn OwnerCheck>,
    /// Where it tells how far it is.
    pub progress: Option<&'a Progress>,
    /// Where headers of Bitcoin blocks are found; without it no proof and no height is checked.
    pub headers: Option<&'a FindHeaders<'a>>,
    /// Whom the caller believes that there is one history.
    pub policy: Option<&'a WitnessPolicy>,
    /// Tree heads that the caller has from elsewhere.
    pub heads: &'a [OutsideHead],
    /// Receipts that the ledger must continue; of the lines before a beginning nothing is known, so
    /// not with `since`.
    pub receipts: &'a [KeptReceipt],
    /// The network that the caller names: a test network's blocks count only then.
    pub network: Option<Network>,
    /// Judge only the lines that the tree head beside the log covers: [`verify_in_use`] sets it when
    /// a writer is adding to the ledger.
    pub covered_only: bool,
}

/// Behind what a check begins.
#[derive(Clone, Copy, Debug)]
pub enum CheckBase<'a> {
    /// The commit of `main` whose id begins with these digits; the caller answers for all that is
    /// before it. With a saved position that lies there or before, the check begins at the position
    /// and the log before it is not read.
    Commit(&'a str, Option<&'a Position>),
    /// Where an earlier check ended, or why that can't be read.
    Position(Result<&'a Position, &'a PositionMismatch>),
}

/// Checks a ledger that nobody writes to: all of it, or what is new since a commit or a saved
/// position.
///
/// Of what is new the answers are *yes since*, never *yes*: read are the new commits and lines, and
/// of the older ones what the beginning is held against; the owner's check does not take part. A
/// saved position that does not fit the ledger, or behind which something is inconsistent, is named
/// in the report, and everything is checked; one whose commit `main` does not go through any more is
/// a finding: there is another history.
pub fn verify_as(evidence: &Evidence<'_>, terms: VerifyOptions<'_>) -> Result<Report, VerifyError> {
    let new = VerifyOptions {
        owner: None,
        ..terms
    };
    // Of lines before a beginning nothing is known, and a receipt may be about them.
    let since = terms.since.filter(|_| terms.receipts.is_empty());
    let mismatch = match since {
        None => return check(evidence, ResumeStart::Genesis(None), terms),
        Some(CheckBase::Commit(digits, saved)) => {
            return since_commit(evidence, digits, saved, new);
        }
        Some(CheckBase::Position(Err(mismatch))) => mismatch.clone(),
        Some(CheckBase::Position(Ok(position))) => {
            match check(evidence, ResumeStart::Saved(position), new) {
                Err(VerifyError::Position(mismatch)) => mismatch,
                Ok(report) if report.answers.consistent.answer == CheckAnswer::No => found(&report),
                checked => return checked,
            }
        }
    };
    check(evidence, ResumeStart::Genesis(Some(&mismatch)), terms)
}

/// Checks what is new since a commit that the caller names: from a saved position on that lies
/// there or before, if there is one and it fits; else with the log from genesis on.
fn since_commit(
    evidence: &Evidence<'_>,
    digits: &str,
    saved: Option<&Position>,
    terms: VerifyOptions<'_>,
) -> Result<Report, VerifyError> {
    let relation_to = saved
        .map(|position| position.relation_to(digits, &Repository::open(evidence.repository)?))
        .transpose()?;
    let mismatch = match (saved, relation_to) {
        (Some(position), Some(PositionRelation::Before)) => {
            match check(evidence, ResumeStart::Saved(position), terms) {
                Err(VerifyError::Position(mismatch)) => Some(mismatch),
                Ok(report) if report.answers.consistent.answer == CheckAnswer::No => {
                    Some(found(&report))
                }
                checked => return checked,
            }
        }
        (_, Some(PositionRelation::Missed(mismatch))) => Some(mismatch),
        _ => None,
    };
    check(
        evidence,
        ResumeStart::Commit(digits, mismatch.as_ref()),
        terms,
    )
}

/// What a check that went on from a position found: whether ledger or position is wrong, it can't
/// tell.
fn found(report: &Report) -> PositionMismatch {
    let first = report
        .findings
        .iter()
        .find(|finding| finding.question == AuditQuestion::Consistent);
    let text = |of: fn(&Finding) -> &String| first.map(of).cloned().unwrap_or_default();
    PositionMismatch::Found {
        place: text(|finding| &finding.place),
        expected: text(|finding| &finding.expected),
        actual: text(|finding| &finding.actual),
    }
}

fn check(
    evidence: &Evidence<'_>,
    start: ResumeStart<'_>,
    terms: VerifyOptions<'_>,
) -> Result<Report, VerifyError> {
    let unseen = Progress::default();
    let progress = terms.progress.unwrap_or(&unseen);
    progress.begin(CheckStage::Reading, 0);
    let repository = Repository::open(evidence.repository)?;
    let mut checker = checker::Checker::read(evidence, &repository, start, (terms, progress))?;
    let within = || {
        repository
            .budget()
            .refused()
            .map_or(Ok(()), |refusal| Err(VerifyError::Refused(refusal.clone())))
    };
    within()?;
    if checker.history.graph.is_empty() {
        return Err(VerifyError::Nothing {
            place: evidence.repository.display().to_string(),
        });
    }
    checker.check_all();
    within()?;
    checker.check_proofs(terms.headers);
    within()?;
    if let Some(owner) = terms.owner {
        checker.check_owned(owner)?;
    }
    Ok(checker.into_report())
}

/// How often a ledger that moves is looked at again before its findings are believed.
const ATTEMPTS: usize = 5;
/// So long is waited for a sign of a writer when something seems wrong, and so often.
const WATCHED: (Duration, usize) = (Duration::from_millis(50), 8);

/// Checks a ledger that a writer may be appending to.
///
/// Read are the tree head beside the log, then the log, then the refs; writers move refs, append,
/// and replace the tree head, in this order. When something is wrong, or lines are signed by
/// nobody, tree head, log and refs are looked at once more: if one moved, a writer is at work. Then
/// only what the tree head covers is judged, and what is behind is *newer, not read*. If none
/// moved, it is as it was found. A prompt in flight is an unanswered prompt: *complete* is *no*
/// until it has its outcome.
pub fn verify_in_use(
    evidence: &Evidence<'_>,
    terms: VerifyOptions<'_>,
) -> Result<Report, VerifyError> {
    let mut before = snapshot(evidence)?;
    let mut report = verify_as(evidence, terms)?;
    for _ in 1..ATTEMPTS {
        if report.passes_as_asked() || !moves(evidence, &before)? {
            break;
        }
        before = snapshot(evidence)?;
        report = verify_as(
            evidence,
            VerifyOptions {
                covered_only: true,
                ..terms
            },
        )?;
    }
    Ok(report)
}

/// Whether a writer is at work.
fn moves(evidence: &Evidence<'_>, before: &Snapshot) -> Result<bool, VerifyError> {
    let (pause, times) = WATCHED;
    for _ in 0..times {
        if snapshot(evidence)? != *before {
            return Ok(true);
        }
        std::thread::sleep(pause);
    }
    Ok(snapshot(evidence)? != *before)
}

/// What a writer changes: the tree head beside the log, the log's length, the refs.
type Snapshot = (Option<Vec<u8>>, u64, Vec<Ref>);

fn snapshot(evidence: &Evidence<'_>) -> Result<Snapshot, VerifyError> {
    let head = log::tree_head::read_file(evidence.checkpoint)?;
    let length = evidence
        .log
        .and_then(|log| std::fs::metadata(log).ok())
        .map_or(0, |file| file.len());
    Ok((head, length, Repository::open(evidence.repository)?.refs()?))
}
