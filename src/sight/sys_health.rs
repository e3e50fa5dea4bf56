//! `sys_health`: load, memory, swap, disk, uptime.

use std::path::PathBuf;

use crate::record::bundle::{NoSight, SightEntry};
use crate::record::time::Seconds;

use super::Tool;

/// The tool; nothing in it samples over time, so it answers at once.
pub struct SysHealth {
    /// A path on the disk that holds the home.
    pub home: PathBuf,
}

impl Tool for SysHealth {
    fn name(&self) -> &'static str {
        "sys_health"
    }

    fn observe(&self, _now: Seconds) -> SightEntry {
        SightEntry::Unavailable { reason: NoSight::ToolError, unknowns: vec![] }
    }
}
