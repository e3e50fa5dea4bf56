//! Applying the database to git and log: the normal path and the recovery path are this one.
//!
//! Order: objects, refs, lines, the tree head over them; then one sync of all, at once or later
//! ([`super::sync_policy`]); then the mark. Every step may be done twice.

mod checkpoint;
mod git;
mod log;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::ledger::Oid;
use crate::ledger::write::Ledger;
use crate::log::append::Appender;
use crate::record::ledger::commit::CommitKind;
use crate::store::{AppliedMark, CommitRow, LedgerHead, ReadStore};

use super::RecorderError;
use super::batch::failpoint::{Failpoint, FailpointWatch, pass};
use super::comparison::{LogPosition, RefPosition};

pub(super) use checkpoint::MAX_CHECKPOINT;
use checkpoint::PlacedFile;
pub(super) use git::files_of;
use git::{ExpectedRefs, apply_commits};
use log::{apply_lines, look_at_log};

/// The name of the signed tree head beside a log.
pub const CHECKPOINT: &str = "audit.checkpoint";

/// Where the parts of a home are.
#[derive(Clone, Debug)]
pub struct Paths {
    /// Folder of the home.
    pub root: PathBuf,
}

impl Paths {
    /// The relationship database.
    pub fn database(&self) -> PathBuf {
        self.root.join("gently.db")
    }

    /// Path of `audit.log`.
    pub fn log(&self) -> PathBuf {
        self.root.join("audit.log")
    }

    /// The signed tree head over the log's lines.
    pub fn checkpoint(&self) -> PathBuf {
        self.root.join(CHECKPOINT)
    }

    /// The git ledger.
    pub fn ledger(&self) -> PathBuf {
        self.root.join("ledger.git")
    }

    /// The writer's lock.
    pub fn lock(&self) -> PathBuf {
        self.root.join("writer.lock")
    }

    /// Headers of Bitcoin blocks that the home keeps.
    pub fn headers(&self) -> PathBuf {
        self.root.join("headers")
    }

    /// Files that name the prompts in flight.
    pub fn in_flight(&self) -> PathBuf {
        self.root.join("in-flight")
    }
}

/// What is not known to be durable outside the database yet.
struct PendingWrites {
    commits: Vec<CommitRow>,
    lines: Vec<String>,
    /// Length of the log without and with those lines.
    from: u64,
    to: u64,
}

impl PendingWrites {
    fn of(store: &ReadStore, head: &LedgerHead) -> Result<Self, RecorderError> {
        let lines = store.lines(head.applied.lines, head.lines)?;
        if !head.fits_mark(&lines) {
            return Err(RecorderError::StrayMark {
                mark: head.applied,
                lines: head.lines,
            });
        }
        Ok(PendingWrites {
            commits: store.commits(head.applied.commits, head.commits)?,
            lines,
            from: head.applied.bytes,
            to: head.bytes,
        })
    }
}

/// What was written and waits for its sync.
#[must_use = "what is written is not durable before it is synced"]
pub struct UnsyncedWrites {
    ledger: Option<Ledger>,
    log: Option<Appender>,
    checkpoint: Option<PlacedFile>,
    /// How many lines or commits were missing.
    pub missing: u64,
    /// Whether a session ends with it.
    pub ends_session: bool,
}

impl UnsyncedWrites {
    /// Waits until git, log and tree head are on the disk. The name of a tree head that replaces
    /// another is not waited for.
    pub fn sync(&mut self, watch: &FailpointWatch) -> Result<(), RecorderError> {
        if let Some(ledger) = &mut self.ledger {
            ledger.sync().map_err(apply_error("syncing ledger.git"))?;
        }
        pass(watch, Failpoint::AfterLedgerSync).map_err(apply_error("syncing audit.log"))?;
        if let Some(log) = &mut self.log {
            log.sync().map_err(apply_error("syncing audit.log"))?;
        }
        pass(watch, Failpoint::AfterLogSync).map_err(apply_error("syncing audit.checkpoint"))?;
        if let Some(checkpoint) = &self.checkpoint {
            checkpoint
                .sync_first()
                .map_err(apply_error("syncing audit.checkpoint"))?;
        }
        Ok(())
    }

    /// Merges packs when they have become many; nobody waits for it, and what fails is tried again
    /// next time.
    pub fn tidy(mut self) {
        if let Some(ledger) = &mut self.ledger {
            let _ = ledger.tidy();
        }
    }
}

pub(super) fn apply_error<E: std::fmt::Display>(what: &'static str) -> impl Fn(E) -> RecorderError {
    move |e| RecorderError::Unapplied {
        what,
        reason: e.to_string(),
    }
}

/// What is known of git before something is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitKnowledge {
    /// It stood at the mark when the pending commits were made: none of them can be there.
    Mark,
    /// Nobody knows; any of them may be there, whole or torn.
    Anywhere,
}

/// Brings git and log up to the head; returns what waits for its sync.
///
/// Refuses when either holds what the database does not know, or lacks what the mark says it has.
///
/// `from` says what is known of git before: after a crash each pending object is looked for first.
pub fn apply(
    store: &ReadStore,
    head: &LedgerHead,
    (paths, watch): (&Paths, &FailpointWatch),
    from: GitKnowledge,
) -> Result<UnsyncedWrites, RecorderError> {
    let pending = PendingWrites::of(store, head)?;
    let is_newest = checkpoint::look(head, &paths.checkpoint())?;
    let log_state = look_at_log(store, head, &paths.log(), &pending)?;
    let (ledger, missing) = apply_commits(store, head, (paths, watch), &pending, from)?;
    pass(watch, Failpoint::AfterRefs).map_err(apply_error("moving refs"))?;
    let (log, added) = apply_lines(&paths.log(), &pending, log_state)?;
    pass(watch, Failpoint::AfterLog).map_err(apply_error("appending to audit.log"))?;
    let checkpoint = if is_newest {
        None
    } else {
        checkpoint::replace(head, &paths.checkpoint())?
    };
    pass(watch, Failpoint::AfterCheckpoint).map_err(apply_error("writing audit.checkpoint"))?;
    Ok(UnsyncedWrites {
        ledger,
        log,
        checkpoint,
        missing: missing.max(added),
        ends_session: pending
            .commits
            .iter()
            .any(|row| row.kind == CommitKind::SessionEnd),
    })
}

/// Log and ledger beside the database, each by itself: where it is, or how it differs.
pub struct EvidenceComparison {
    /// The log's end.
    pub log: Result<LogPosition, RecorderError>,
    /// Whether the tree head beside the log is the newest.
    pub checkpoint: Result<bool, RecorderError>,
    /// How every branch stands to the database, by its ref.
    pub ledger: Result<BTreeMap<String, RefPosition>, RecorderError>,
    /// Where the database has the branches.
    tips: BTreeMap<String, Option<Oid>>,
}

impl EvidenceComparison {
    /// Compares, and writes nothing.
    pub fn of(store: &ReadStore, head: &LedgerHead, paths: &Paths) -> Result<Self, RecorderError> {
        let pending = PendingWrites::of(store, head)?;
        let refs = git::expected(store, head, &pending.commits)?;
        Ok(EvidenceComparison {
            log: look_at_log(store, head, &paths.log(), &pending),
            checkpoint: checkpoint::look(head, &paths.checkpoint()),
            ledger: git::open_ledger(paths).and_then(|ledger| git::positions(&ledger, &refs)),
            tips: refs
                .into_iter()
                .map(|(name, expected)| (name, expected.tip()))
                .collect(),
        })
    }

    /// Whether there is nothing to write: log and branches end where the head does, and the tree
    /// head is its own. Refuses what `apply` would refuse.
    ///
    /// False also when a ref file is torn although nothing is pending: no history is lost by that,
    /// and `apply` sets the ref to the tip that the database knows.
    pub fn is_in_place(self, head: &LedgerHead) -> Result<bool, RecorderError> {
        let is_newest = self.checkpoint?;
        let log = self.log?;
        let positions = self.ledger?;
        let is_tip = |(name, position): (&String, &RefPosition)| {
            *position == RefPosition::Known(self.tips.get(name).copied().flatten())
        };
        Ok(is_newest
            && (log.agreed, log.length) == (head.bytes, head.bytes)
            && positions.iter().all(is_tip))
    }
}

/// Where the database has every ref, from the applied mark to the head.
pub fn expected_refs(store: &ReadStore, head: &LedgerHead) -> Result<ExpectedRefs, RecorderError> {
    git::expected(
        store,
        head,
        &store.commits(head.applied.commits, head.commits)?,
    )
}

/// Whether the tree head beside the log is the one that the database has.
pub fn checkpoint_is_newest(head: &LedgerHead, paths: &Paths) -> Result<bool, RecorderError> {
    checkpoint::look(head, &paths.checkpoint())
}

/// Puts the database's tree head beside the log. Durable on return.
pub fn put_checkpoint(head: &LedgerHead, paths: &Paths) -> Result<(), RecorderError> {
    let Some(placed) = checkpoint::replace(head, &paths.checkpoint())? else {
        return Ok(());
    };
    placed
        .sync()
        .map_err(apply_error("syncing audit.checkpoint"))
}

/// Sets aside what a power loss tore in git, so that [`apply`] writes it anew.
pub fn set_aside_torn(paths: &Paths) -> Result<(), RecorderError> {
    let aside = git::open_ledger(paths)?.set_aside_torn_packs();
    aside
        .map(|_| ())
        .map_err(apply_error("reading the packs of ledger.git"))
}

/// The mark once everything up to the head is durable.
pub fn all_applied(head: &LedgerHead) -> AppliedMark {
    AppliedMark {
        lines: head.lines,
        bytes: head.bytes,
        commits: head.commits,
    }
}
