//! The steps of a batch, by name, so that a test can make each of them fail.

use std::sync::Arc;

use super::RecorderError;

/// Where a batch is, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
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

impl Step {
    /// All steps, in order.
    pub const ALL: [Step; 13] = [
        Step::Lock,
        Step::BeforeCommit,
        Step::AfterCommit,
        Step::Object,
        Step::AfterObjects,
        Step::Ref,
        Step::AfterRefs,
        Step::AfterLog,
        Step::AfterCheckpoint,
        Step::AfterLedgerSync,
        Step::AfterLogSync,
        Step::AfterSync,
        Step::AfterMark,
    ];

    /// The name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Step::Lock => "lock",
            Step::BeforeCommit => "before-commit",
            Step::AfterCommit => "after-commit",
            Step::Object => "object",
            Step::AfterObjects => "after-objects",
            Step::Ref => "ref",
            Step::AfterRefs => "after-refs",
            Step::AfterLog => "after-log",
            Step::AfterCheckpoint => "after-checkpoint",
            Step::AfterLedgerSync => "after-ledger-sync",
            Step::AfterLogSync => "after-log-sync",
            Step::AfterSync => "after-sync",
            Step::AfterMark => "after-mark",
        }
    }
}

/// Called at each step; returning false makes the step fail there.
pub type Watch = Arc<dyn Fn(Step) -> bool + Send + Sync>;

/// Passes every step.
pub fn unwatched() -> Watch {
    Arc::new(|_| true)
}

/// Asks the watch.
pub(super) fn pass(watch: &Watch, step: Step) -> Result<(), RecorderError> {
    if watch(step) {
        Ok(())
    } else {
        Err(RecorderError::Fault { step: step.name() })
    }
}
