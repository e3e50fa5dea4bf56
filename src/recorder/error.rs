//! Why something was not recorded, or is recorded and not yet finished.

use std::path::PathBuf;
use std::sync::Arc;

use crate::keys::KeyError;
use crate::ledger::LedgerError;
use crate::record::hash::Hash32;
use crate::record::signature::PublicKey;
use crate::record::time::Seconds;
use crate::store::{AppliedMark, StoreError};

/// What the recorder refuses, and why.
///
/// [`RecorderError::is_recorded`] and [`RecorderError::is_unknown`] tell the cases apart that a
/// person must know: *not recorded*; *recorded, withheld, finished at the next start*; and neither
/// known yet.
#[derive(Debug, thiserror::Error)]
pub enum RecorderError {
    /// The signing key could not be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Another gently holds the writer's lock.
    #[error(
        "another gently is writing to this home ({holder}); waited {waited_s} s. Ask again when it is done"
    )]
    Locked {
        /// What the lock file says of its holder.
        holder: String,
        /// How long it waited for the lock, in seconds.
        waited_s: u64,
    },
    /// The lock file could not be used.
    #[error("{path} can't be used: {reason}; gently doctor says what to do")]
    Lock {
        /// File of the lock.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// The database refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The record is in the database; log or git are behind it.
    #[error("{what}: {reason}")]
    Unapplied {
        /// What failed, such as the append to the log.
        what: &'static str,
        /// What the system said about it.
        reason: String,
    },
    /// Database, log and ledger disagree in a way that no crash explains.
    #[error(
        "{ahead} is ahead of {behind} ({place}: expected {expected}, found {actual}); nothing was written. \
             No crash does this: it is a lost file, a restored backup, a mixed-up home or a changed record. \
             `gently audit rebuild` restores a lost log or ledger from the database, and names what contradicts it; or, \
             if the database is the older one, `gently audit adopt --own` takes over what ledger.git and audit.log \
             hold beyond it. `gently audit verify` shows what holds"
    )]
    Disagree {
        /// Which of the three has more.
        ahead: &'static str,
        /// Which has less.
        behind: &'static str,
        /// Where it shows.
        place: String,
        /// What the database says.
        expected: String,
        /// What is there.
        actual: String,
    },
    /// The database's mark of what log and ledger have is none of its own record.
    #[error(
        "the database says that {} of the log, {} bytes, and {} commits are in audit.log and ledger.git, which does not \
             follow from its own {lines} lines: head.applied_lines, applied_bytes or applied_commits were changed. Nothing \
             was written. `gently audit rebuild` makes them again from the record", mark.lines, mark.bytes, mark.commits
    )]
    StrayMark {
        /// What it says.
        mark: AppliedMark,
        /// How many lines it has.
        lines: u64,
    },
    /// The database lacks the tree head that it had.
    #[error(
        "the database has no signed tree head, though {lines} lines of the log are written: somebody took it away, and \
             what was added meanwhile would be signed unseen. Nothing was written. `gently audit verify` compares what is \
             there; if that holds, `gently audit rebuild` has it signed again"
    )]
    NoTreeHead {
        /// How many lines are written.
        lines: u64,
    },
    /// The last line is more than an hour in the future.
    #[error(
        "the last log line says {last}, the clock says {now}: more than an hour apart, so nothing is written. \
             Mend the clock; or if the line was wrong, say so on record with `gently audit clock-set`"
    )]
    ClockBehind {
        /// Time of the last line.
        last: Seconds,
        /// Time of this machine's clock.
        now: Seconds,
    },
    /// A block from the clock's future.
    #[error(
        "block {height} is of {time}, and the clock says {now}: more than two hours before it, so nothing is written. \
             Mend the clock (timedatectl); if the clock is right, the block's source is wrong: gently anchor status"
    )]
    ClockSlow {
        /// The block's height.
        height: u32,
        /// Its header's time.
        time: Seconds,
        /// The TIMESTAMP that its line would have.
        now: Seconds,
    },
    /// A block that is on record at another height.
    #[error(
        "block {hash} is on record at height {known}, and was about to be named at height {height}: one of the two is a \
             lie, so nothing is written. Ask again when there is a newer block; gently anchor status shows who says what"
    )]
    BlockElsewhere {
        /// Hash of the block that is named at two heights.
        hash: Hash32,
        /// The height that a source claims.
        height: u32,
        /// The height that a line names.
        known: u32,
    },
    /// The signing key at hand is not the one in force.
    #[error(
        "the signing key at hand is {actual}, but this ledger is signed with {expected}; put that key back"
    )]
    WrongSigner {
        /// Public key that is in force.
        expected: String,
        /// Public key that is at hand.
        actual: String,
    },
    /// The home was restored from a backup, and nobody said yet what became of the history after
    /// it.
    #[error(
        "this home was restored from a backup ({path}), and writes nothing before you say what was published after it: \
             `gently audit adopt --from LEDGER` takes over a newer published ledger (git clone --mirror URL LEDGER), \
             `gently audit adopt --nothing-newer` says that there is none"
    )]
    Restored {
        /// File that marks the home as restored.
        path: PathBuf,
    },
    /// A newer ledger that can't be taken over.
    #[error(transparent)]
    Adopt(#[from] super::recovery::adopt::AdoptFault),
    /// A log or ledger that can't be restored, since the sources contradict each other.
    #[error(transparent)]
    Differ(#[from] super::recovery::rebuild::Contradiction),
    /// An auth key that can't be added, revoked or used.
    #[error(transparent)]
    AuthKey(#[from] super::entries::auth::AuthKeyFault),
    /// An artifact that what is on record speaks against.
    #[error("{reason}")]
    NotAllowed {
        /// In a sentence.
        reason: String,
    },
    /// The kernel was changed by another process since this one read it.
    #[error(
        "the kernel was changed meanwhile: {expected} is in force, this was to run under {actual}; ask again"
    )]
    KernelChanged {
        /// In force, by the id of its artifact.
        expected: String,
        /// That of the terms.
        actual: String,
    },
    /// The session is not open.
    #[error("session {session} is not open; ask again, and a new one is opened")]
    NotOpen {
        /// Id of the session.
        session: Hash32,
    },
    /// A rotation while sessions are open.
    #[error(
        "sessions that are open: {open}; a signing key changes only between sessions: gently session close"
    )]
    SessionsOpen {
        /// How many sessions are open.
        open: usize,
    },
    /// A rotation to a key that is, or was, in force in this ledger.
    #[error(
        "the key {key} was in force in this ledger before; a rotation takes a key that is new to it: make one"
    )]
    KeyNotNew {
        /// Public key that was in force before.
        key: PublicKey,
    },
    /// A prompt of the session still waits for its model, in a process that is alive.
    #[error(
        "interaction-{seq} of session {session} still waits for its model, in a process that is alive"
    )]
    InFlight {
        /// Id of the session with a prompt in flight.
        session: Hash32,
        /// The prompt's number.
        seq: u64,
    },
    /// A denied prompt was about to be sent.
    #[error("the prompt was denied ({reason}); it can't be sent")]
    Denied {
        /// Code of the rule that denied it.
        reason: String,
    },
    /// Another turn of the session has given a secret its number since this text was redacted.
    #[error(
        "another turn of the session named a secret at the same moment; nothing was recorded. Ask again"
    )]
    PlaceholdersChanged,
    /// A value has no place in the format.
    #[error("can't be recorded: {what}: {reason}")]
    Unrecordable {
        /// Value that can't be written down.
        what: &'static str,
        /// Why it can't be written down.
        reason: String,
    },
    /// The clock can only be set back on record when the last line is ahead of it.
    #[error("the last log line says {last}, the clock says {now}: nothing to mend")]
    ClockFine {
        /// Time of the last line.
        last: Seconds,
        /// Time of this machine's clock.
        now: Seconds,
    },
    /// The batch left no trace.
    #[error("{0}")]
    NotRecorded(Arc<RecorderError>),
    /// The batch is in the database; git and log are behind it.
    #[error("{0}")]
    Unfinished(Arc<RecorderError>),
    /// The database failed while it committed, and can't be read since.
    #[error(
        "the database failed while it committed ({reason}); whether this was recorded shows at the next start"
    )]
    Unknown {
        /// The database's words.
        reason: String,
    },
    /// The recorder's thread is gone.
    #[error(
        "the recorder stopped before it answered; whether this was recorded shows at the next start"
    )]
    Stopped,
    /// A record failed after it had written something; stays inside the writer, which fills the
    /// batch again.
    #[error("a record of this batch failed after it had written something; nothing was recorded")]
    Spoiled,
    /// A step of a test said so.
    #[error("fault at step {step} (a test asked for it)")]
    Fault {
        /// Name of the failpoint.
        step: &'static str,
    },
}

impl RecorderError {
    /// Whether the record is in the database all the same, and will be finished at the next start.
    pub fn is_recorded(&self) -> bool {
        matches!(self, RecorderError::Unfinished(_))
    }

    /// Whether nobody can tell before the next start if the record is in the database.
    pub fn is_unknown(&self) -> bool {
        match self {
            RecorderError::Unknown { .. } | RecorderError::Stopped => true,
            RecorderError::NotRecorded(cause) => cause.is_unknown(),
            _ => false,
        }
    }
}

impl From<LedgerError> for RecorderError {
    fn from(error: LedgerError) -> Self {
        RecorderError::Unapplied {
            what: "writing to ledger.git",
            reason: error.to_string(),
        }
    }
}
