//! The steps of a batch, by name, so that a test can make each of them fail.

use std::sync::Arc;

use crate::recorder::RecorderError;

/// Where a batch is, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failpoint {
    /// The writer's lock is held.
    Lock,
    /// Before the commit point: the transaction is filled, not committed.
    BeforeCommit,
    /// Just after the commit point.
    AfterCommit,
    /// Before the objects of one commit are written; once for each commit.
    Object,
    /// Objects of the batch are written, refs not moved.
    AfterObjects,
    /// Before one ref is moved; once for each ref.
    Ref,
    /// Refs are moved, lines not appended.
    AfterRefs,
    /// Lines are appended, nothing is synced.
    AfterLog,
    /// The tree head beside the log is replaced.
    AfterCheckpoint,
    /// The ledger is synced, the log is not.
    AfterLedgerSync,
    /// Ledger and log are synced, the tree head beside the log is not.
    AfterLogSync,
    /// Everything is synced, the mark is not moved.
    AfterSync,
    /// The mark is moved.
    AfterMark,
}

impl Failpoint {
    /// All steps, in order.
    pub const ALL: [Failpoint; 13] = [
        Failpoint::Lock,
        Failpoint::BeforeCommit,
        Failpoint::AfterCommit,
        Failpoint::Object,
        Failpoint::AfterObjects,
        Failpoint::Ref,
        Failpoint::AfterRefs,
        Failpoint::AfterLog,
        Failpoint::AfterCheckpoint,
        Failpoint::AfterLedgerSync,
        Failpoint::AfterLogSync,
        Failpoint::AfterSync,
        Failpoint::AfterMark,
    ];

    /// The name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Failpoint::Lock => "lock",
            Failpoint::BeforeCommit => "before-commit",
            Failpoint::AfterCommit => "after-commit",
            Failpoint::Object => "object",
            Failpoint::AfterObjects => "after-objects",
            Failpoint::Ref => "ref",
            Failpoint::AfterRefs => "after-refs",
            Failpoint::AfterLog => "after-log",
            Failpoint::AfterCheckpoint => "after-checkpoint",
            Failpoint::AfterLedgerSync => "after-ledger-sync",
            Failpoint::AfterLogSync => "after-log-sync",
            Failpoint::AfterSync => "after-sync",
            Failpoint::AfterMark => "after-mark",
        }
    }
}

/// Called at each step; returning false makes the step fail there.
pub type FailpointWatch = Arc<dyn Fn(Failpoint) -> bool + Send + Sync>;

/// Passes every step.
pub fn unwatched() -> FailpointWatch {
    Arc::new(|_| true)
}

/// Asks the watch.
pub(in crate::recorder) fn pass(
    watch: &FailpointWatch,
    step: Failpoint,
) -> Result<(), RecorderError> {
    if watch(step) {
        Ok(())
    } else {
        Err(RecorderError::Fault { step: step.name() })
    }
}
