//! When git and log are made durable: with each batch, or later.
//!
//! A record is durable when its transaction is: the database alone decides what there is. Git and
//! log are written with every batch, before anybody is answered, and whoever reads them finds it
//! there. Only a power loss tells what was written from what was synced; what it takes from them
//! the next start restores from the database. So somebody who waits for an answer need not wait
//! until three more files are on the disk.
//!
//! What was written later than the applied mark counts as written only under the start of the
//! system that the head names: after another start all of it is looked at, object by object.

use crate::os;
use crate::record::log::entry::Line;
use crate::record::time::Seconds;
use crate::store::{LedgerHead, ReadStore};

use super::RecorderError;

/// So many lines wait for their sync at most.
pub const DEFERRED_LINES: u64 = 64;
/// So many seconds the oldest of them waits until the next record, or the next start, syncs it.
pub const DEFERRED_SECONDS: u64 = 60;

/// When git and log are synced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncPolicy {
    /// After each batch; what waits from before, at the start.
    #[default]
    EachBatch,
    /// When a session ends, after [`DEFERRED_LINES`] lines or [`DEFERRED_SECONDS`]; where the system
    /// does not name its starts, after each batch.
    Deferred,
}

impl SyncPolicy {
    /// Whether what is written up to a head, and not marked as durable, may wait longer.
    ///
    /// `now` is the clock's time, or that of the head where it is later.
    pub fn may_wait(
        self,
        store: &ReadStore,
        head: &LedgerHead,
        now: Seconds,
    ) -> Result<bool, RecorderError> {
        let is_this_start = os::boot_id().is_some() && os::boot_id() == head.boot.as_deref();
        let waiting = head.lines.saturating_sub(head.applied.lines);
        if self == SyncPolicy::EachBatch || !is_this_start || waiting >= DEFERRED_LINES {
            return Ok(false);
        }
        let first = store.lines(head.applied.lines, head.applied.lines + 1)?;
        let first = first
            .first()
            .and_then(|line| Line::parse(line.as_bytes()).ok());
        // A line that can't be read is nothing to wait with; what is wrong is said by the sync.
        let since = first.map(|line| line.time);
        Ok(since.is_some_and(|since| head.time.max(now).since(since) < DEFERRED_SECONDS))
    }
}
