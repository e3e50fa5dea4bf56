//! Bringing what was written to git and log, and waits for its sync, to the disk.

use crate::app::home::open::{self, OpenHomeError};

/// What is on the disk now that only was in the system's memory before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSync {
    /// How many lines of the log waited.
    pub waited: u64,
    /// How many there are.
    pub lines: u64,
}

/// Syncs git and log up to the newest record. Durable on return.
pub fn sync() -> Result<DiskSync, OpenHomeError> {
    let home = open::existing_home()?;
    let before = open::store(&home)?.head()?;
    // Whoever opens the home without waiting for answers syncs what waits.
    let opened = open::open_home()?;
    let lines = opened.store.head()?.lines;
    Ok(DiskSync {
        waited: before.lines.saturating_sub(before.applied.lines),
        lines,
    })
}
