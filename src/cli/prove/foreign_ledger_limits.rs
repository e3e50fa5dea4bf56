//! What is said where somebody else's ledger takes longer than it may, as the desk decides.

use std::path::{Path, PathBuf};

use crate::app::prove::foreign_ledger_limits::ForeignLedgerLimits;
use crate::ledger::read::OpenError;
use crate::os::Deadline;

use crate::cli::{COULD_NOT, say};

/// Bounds this process while it looks at a repository; `cleared` goes where it takes too long.
pub(in crate::cli) fn bounded(
    repository: &Path,
    cleared: Option<PathBuf>,
) -> Result<Deadline, OpenError> {
    ForeignLedgerLimits::of(repository)?.hold(COULD_NOT, move |limits| {
        say(&format!(
            "gently: refused: checking {} bytes of objects takes longer than {} s; nothing was taken",
            limits.on_disk,
            limits.within.as_secs()
        ));
        if let Some(folder) = cleared {
            let _ = std::fs::remove_dir_all(folder);
        }
    })
}
