//! What was brought to the disk.

use serde::Serialize;

use crate::app::keep::disk_sync::DiskSync;

/// What `gently sync` did.
#[derive(Clone, Debug, Serialize)]
pub struct DiskSyncView {
    /// Lines of the log that waited for it.
    pub waited: u64,
    /// Lines of the log, all of which are on the disk.
    pub lines: u64,
}

impl DiskSyncView {
    /// Of what was done.
    pub fn of(done: &DiskSync) -> Self {
        DiskSyncView {
            waited: done.waited,
            lines: done.lines,
        }
    }
}
