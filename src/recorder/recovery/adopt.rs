//! Taking over what a ledger holds beyond the database: lines, commits, sessions; never texts.
//!
//! What comes in was verified before (that is the caller's part); here it is held against the
//! database: it must begin with every line and commit that the database has. Then one transaction
//! brings the database forward, and the recorder's own way of applying writes to git and log what
//! they lack.

use std::collections::BTreeMap;

use serde_json::json;

use crate::keys::Signer;
use crate::ledger::Oid;
use crate::record::hash::Hash32;
use crate::record::ledger::commit::CommitKind;
use crate::record::ledger::commitment::Salt;
use crate::record::ledger::documents::Format;
use crate::record::ledger::erased::TOMBSTONE;
use crate::record::ledger::exchange::ArtifactDoc;
use crate::record::log::entry::{Event, Line};
use crate::record::signature::PublicKey;
use crate::record::time::Seconds;
use crate::store::{CommitRow, LedgerHead, Store, StoreError, WriteStore};

use crate::recorder::batch::transaction::LedgerTransaction;
use crate::recorder::comparison::{Difference, EvidencePart, compare_order};
use crate::recorder::entries::content_policy::WriterContext;
use crate::recorder::lock::{WAIT, WriterLock};
use crate::recorder::{Paths, RecorderError};

mod apply_lines;
mod gather;
mod rows;

use self::apply_lines::Adoption;
use super::unsigned::genesis_of;

/// Why a ledger can't be taken over; nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum AdoptFault {
    /// It ends where the database ends, or before.
    #[error(
        "nothing newer there: it has {theirs} lines, this home has them all ({ours}). If nothing newer was ever \
             published, say so: `gently audit adopt --nothing-newer`"
    )]
    NothingNewer {
        /// Lines of the log that was given.
        theirs: u64,
        /// Lines of this home's log.
        ours: u64,
    },
    /// The two histories part somewhere.
    #[error(
        "not a continuation of this home: {place} is {theirs} there and {ours} here. These are two histories, and \
             gently does not choose: keep both, and go on in a new home"
    )]
    Diverged {
        /// Where they part.
        place: String,
        /// What the newer ledger has there.
        theirs: String,
        /// What this home has there.
        ours: String,
    },
    /// The home's own log goes on behind what is signed.
    #[error(
        "audit.log goes on after line {signed} with what nobody signed ({unsigned} in lines): no commit and no tree head \
             covers it, and whoever could write the file could add it. Nothing was taken over. Look at it, and keep it \
             elsewhere: `cp audit.log audit.log.unsigned; head -n {signed} audit.log.unsigned > audit.log`, in the home; \
             then again"
    )]
    Unsigned {
        /// How many lines no signature covers.
        unsigned: u64,
        /// Number of the last signed line, from 1.
        signed: usize,
    },
    /// A commit whose line is in no segment.
    #[error(
        "commit {commit} belongs to a log line that no segment on main holds yet (its session was open when the \
             ledger was published): give the log too, `--log AUDIT_LOG`. Without it this can't be taken over"
    )]
    NoLine {
        /// Commit without a line of the log.
        commit: Oid,
    },
    /// A line whose commit is missing.
    #[error("line {line} ({event}) has no commit there: the ledger is not whole; fetch it again")]
    NoCommit {
        /// Number of the line without a commit, from 1.
        line: u64,
        /// EVENT_TYPE of the line.
        event: String,
    },
    /// A document or line that does not parse; verification should have found it.
    #[error("{place}: {reason}; check it with `gently audit verify --repo`")]
    Unreadable {
        /// Document or line that can't be read.
        place: String,
        /// Why it can't be read.
        reason: String,
    },
    /// Its signing key was changed to one that is not at hand.
    #[error(
        "the newer ledger is signed with {theirs}, keys/signing.key holds {ours}: put the newer key there first"
    )]
    Signer {
        /// In force there.
        theirs: PublicKey,
        /// Public key that is at hand.
        ours: PublicKey,
    },
}

impl From<Difference> for AdoptFault {
    fn from(difference: Difference) -> AdoptFault {
        AdoptFault::Diverged {
            place: difference.place,
            theirs: difference.found,
            ours: difference.database,
        }
    }
}

/// The kind of the artifact that says what was taken over, or that nothing newer is there.
pub const ADOPT: &str = "adopt";
/// The reason of the tombstone that an adoption writes.
pub const LOST_WITH_DATABASE: &str = "lost_with_the_database";

/// One commit of the ledger that is taken over.
#[derive(Clone, Debug)]
pub struct NewerCommit {
    /// What it is.
    pub kind: CommitKind,
    /// The ref it stands on.
    pub reference: String,
    /// Id of the commit.
    pub id: Oid,
    /// The commit's object, as git hashes it.
    pub raw: Vec<u8>,
    /// Its files, but for `audit.log`.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// A verified ledger: all its lines, and its commits by the HASH of their line.
#[derive(Clone, Debug, Default)]
pub struct NewerLedger {
    /// All lines from the first, without newlines.
    pub lines: Vec<String>,
    /// By `Log`; a session's end and its close on `main` share one.
    pub commits: BTreeMap<Hash32, Vec<NewerCommit>>,
    /// How many lines stood behind the last one that is signed, and were left out.
    pub unsigned: u64,
}

/// An artifact of which only the line came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostArtifact {
    /// Its kind, as `correction`.
    pub kind: String,
    /// Its id, as `correction:000001`.
    pub id: String,
}

/// What was taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdoptionResult {
    /// Number of the first line that is new, from 1.
    pub from_line: u64,
    /// Number of the last line.
    pub to_line: u64,
    /// How many commits are new.
    pub commits: u64,
    /// How many sessions are new.
    pub sessions: u64,
    /// How many exchanges have lost a text.
    pub texts_lost: u64,
    /// Auth keys that were added after the backup and are lost with it, as their artifacts name
    /// them.
    pub keys_lost: Vec<String>,
    /// What else was recorded after the backup and is lost with it, in the order of the log: only the
    /// database had what it says.
    pub artifacts_lost: Vec<LostArtifact>,
    /// How many sessions are open, and can be closed.
    pub open: u64,
    /// How many erasings are on record there. What they name stood in the lost database alone, so
    /// what they erased of the database's own texts can't be told, and is still here.
    pub erasings: u64,
}

/// Brings the database forward to a verified ledger, and puts on record that it was done and what
/// is lost, in one transaction. Durable on return; git and log follow when the recorder is opened
/// next.
///
/// `salts` gives a salt for each document.
pub(in crate::recorder) fn take_over(
    paths: &Paths,
    newer: &NewerLedger,
    key: &Signer,
    salts: &mut dyn FnMut() -> Result<Salt, RecorderError>,
    now: Seconds,
) -> Result<AdoptionResult, RecorderError> {
    let _lock = WriterLock::acquire_within(&paths.lock(), WAIT)?;
    let mut store = Store::open(&paths.database())?;
    let genesis = genesis_of(&store)?;
    let plan = AdoptionPlan::make(&store, newer)?;
    let writer_context = WriterContext::new(None, None)?;
    let mut outcome = None;
    let committed = store.transact(&mut |tx| {
        let filled = plan.fill(tx, key.public()).and_then(|(taken, head, lost)| {
            let mut transaction =
                LedgerTransaction::begin(tx, head, &genesis, key, &writer_context)?;
            for doc in documents(&taken, lost, transaction.head.hash) {
                transaction.artifact(now, None, &doc, salts()?)?;
            }
            transaction.finish()?;
            Ok(taken)
        });
        let failed = filled.is_err();
        outcome = Some(filled);
        if failed {
            Err(StoreError::RolledBack)
        } else {
            Ok(())
        }
    });
    match (committed, outcome) {
        (Ok(()), Some(filled)) => filled,
        (Err(_), Some(Err(own))) => Err(own),
        (Err(e), _) => Err(e.into()),
        (Ok(()), None) => Err(RecorderError::Stopped),
    }
}

/// What was taken over, and a tombstone for what is lost: without it a lost text would be a missing
/// one.
fn documents(taken: &AdoptionResult, lost: Vec<String>, head: Hash32) -> Vec<ArtifactDoc> {
    let doc = |kind: &str, content| ArtifactDoc {
        content,
        format: Format,
        id: format!("{kind}-{}", head.short16()),
        kind: kind.to_owned(),
    };
    let mut documents = vec![doc(
        ADOPT,
        json!({
            "claim": "taken_over", "erasings": taken.erasings, "from_line": taken.from_line, "head": head.to_string(),
            "sessions": taken.sessions, "texts_lost": taken.texts_lost, "to_line": taken.to_line,
        }),
    )];
    if !lost.is_empty() {
        documents.push(doc(
            TOMBSTONE,
            json!({ "ids": lost, "reason": LOST_WITH_DATABASE }),
        ));
    }
    documents
}

/// One line with its commits, in the order of application.
struct AdoptionStep<'a> {
    line: Line,
    text: &'a str,
    commits: Vec<&'a NewerCommit>,
}

/// All steps, of which the first `known` are in the database.
struct AdoptionPlan<'a> {
    head: LedgerHead,
    steps: Vec<AdoptionStep<'a>>,
}

impl<'a> AdoptionPlan<'a> {
    fn make(store: &Store, newer: &'a NewerLedger) -> Result<Self, RecorderError> {
        let head = store.head()?;
        let steps = steps(newer)?;
        let ours = store.lines(0, head.lines)?;
        compare_order(
            (EvidencePart::Log, "log line"),
            ours.iter().map(String::as_str),
            steps.iter().map(|step| step.text),
        )
        .map_err(AdoptFault::from)?;
        let theirs = u64::try_from(steps.len()).unwrap_or(u64::MAX);
        if theirs <= head.lines {
            return Err(AdoptFault::NothingNewer {
                theirs,
                ours: head.lines,
            }
            .into());
        }
        let known = usize::try_from(head.lines).unwrap_or(usize::MAX);
        let commits = steps.iter().take(known).flat_map(|step| &step.commits);
        let theirs: Vec<String> = commits.map(|commit| commit.id.to_string()).collect();
        compare_order(
            (EvidencePart::Ledger, "commit"),
            store
                .commits(0, head.commits)?
                .iter()
                .map(|row| row.id.as_str()),
            theirs.iter().map(String::as_str),
        )
        .map_err(AdoptFault::from)?;
        Ok(AdoptionPlan { head, steps })
    }

    fn fill(
        &self,
        tx: &mut WriteStore,
        key: PublicKey,
    ) -> Result<(AdoptionResult, LedgerHead, Vec<String>), RecorderError> {
        let mut adoption = Adoption::begin(tx, self.head.clone())?;
        let known = usize::try_from(self.head.lines).unwrap_or(usize::MAX);
        for step in self.steps.iter().skip(known) {
            let n = adoption.line(&step.line, step.text)?;
            let mut tree_of = None;
            for commit in &step.commits {
                tree_of = Some(adoption.commit(n, commit, tree_of)?);
            }
            adoption.event(n, &step.line, &step.commits)?;
        }
        adoption.finish(&self.head, key)
    }
}

/// Puts lines and commits together; each `record:` line has its own, and no commit is left over.
fn steps(newer: &NewerLedger) -> Result<Vec<AdoptionStep<'_>>, RecorderError> {
    let mut used = 0;
    let mut steps = Vec::with_capacity(newer.lines.len());
    for (at, text) in newer.lines.iter().enumerate() {
        let number = u64::try_from(at).unwrap_or(u64::MAX).saturating_add(1);
        let line = Line::parse(text.as_bytes()).map_err(|e| AdoptFault::Unreadable {
            place: format!("log line {number}"),
            reason: e.to_string(),
        })?;
        let mut commits: Vec<&NewerCommit> = newer
            .commits
            .get(&line.hash)
            .into_iter()
            .flatten()
            .collect();
        // A session's end is applied before the close on main, which takes its tree.
        commits.sort_by_key(|commit| commit.kind == CommitKind::Close);
        if commits.len() < wanted(&line.event) {
            let event = line.event.name().to_owned();
            return Err(AdoptFault::NoCommit {
                line: number,
                event,
            }
            .into());
        }
        used += usize::from(!commits.is_empty());
        steps.push(AdoptionStep {
            line,
            text,
            commits,
        });
    }
    if used < newer.commits.len() {
        let lined: std::collections::BTreeSet<Hash32> =
            steps.iter().map(|step| step.line.hash).collect();
        let left = newer
            .commits
            .iter()
            .find(|(log, _)| !lined.contains(log))
            .and_then(|(_, all)| all.first());
        if let Some(commit) = left {
            return Err(AdoptFault::NoLine { commit: commit.id }.into());
        }
    }
    Ok(steps)
}

/// How many commits a line has.
fn wanted(event: &Event) -> usize {
    match event {
        Event::SessionEnd { .. } => 2,
        Event::Genesis { .. }
        | Event::SessionStart { .. }
        | Event::Response { .. }
        | Event::Checkpoint { .. }
        | Event::KeyRotate { .. } => 1,
        _ => 0,
    }
}

/// A commit as the database keeps it.
fn row(
    n: u64,
    line: u64,
    commit: &NewerCommit,
    segment: Option<(u64, u64)>,
    tree_of: Option<u64>,
) -> CommitRow {
    CommitRow {
        n,
        line,
        kind: commit.kind,
        reference: commit.reference.clone(),
        id: commit.id.to_string(),
        raw: commit.raw.clone(),
        tree_of,
        segment,
    }
}
