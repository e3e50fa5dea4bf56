//! How far a check has come, for whoever waits: written by the check, read by another thread.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// What a check is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckStage {
    /// Reads commits and log; how many there are is not known before.
    Reading,
    /// Holds every commit against its line, files and parents.
    Commits,
    /// Holds the database's exchanges against the rest.
    Database,
}

/// Counters of a check that is going on.
#[derive(Debug, Default)]
pub struct Progress {
    stage: AtomicU8,
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress {
    /// Begins a stage with so many steps; 0 where their number is not known.
    pub(crate) fn begin(&self, stage: CheckStage, total: u64) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        self.stage.store(stage as u8, Ordering::Relaxed);
    }

    /// One step is done.
    pub(crate) fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// The stage, its steps so far, and how many it has; none where that is not known.
    ///
    /// Of the moment when one stage ends and the next begins the three may not fit together.
    pub fn now(&self) -> (CheckStage, u64, Option<u64>) {
        let stage = match self.stage.load(Ordering::Relaxed) {
            0 => CheckStage::Reading,
            1 => CheckStage::Commits,
            _ => CheckStage::Database,
        };
        let total = self.total.load(Ordering::Relaxed);
        (
            stage,
            self.done.load(Ordering::Relaxed),
            (total > 0).then_some(total),
        )
    }
}
