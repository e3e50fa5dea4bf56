//! What somebody else's ledger may take of this machine, where nobody sits before it: a time and a
//! size of memory.
//!
//! Both grow with what the ledger has on the disk. The checks have budgets of their own, which name
//! what is too much; these are for what nobody thought of.

use std::path::Path;
use std::time::Duration;

use crate::ledger::read::{OpenError, Repository};
use crate::os;

use crate::cli::{COULD_NOT, say};

/// Memory of a program that has read nothing yet, the page's 512 MiB, and room for threads.
const MEMORY: u64 = 2 << 30;
/// Seconds for a small ledger.
const SECONDS: u64 = 60;

/// Bounds this process while it looks at a repository; the time until the result is dropped, the
/// memory for good.
pub(in crate::cli) fn bounded(
    repository: &Path,
    cleared: Option<std::path::PathBuf>,
) -> Result<os::Deadline, OpenError> {
    let size = Repository::open(repository)?.budget().on_disk();
    // Packs are mapped into memory, by two handles of two threads; and an exchange may keep some
    // hundred bytes.
    os::bound_memory(MEMORY.saturating_add(size.saturating_mul(8)));
    let within = Duration::from_secs(SECONDS.saturating_add(size >> 20));
    let late = move || {
        say(&format!(
            "gently: refused: checking {} bytes of objects takes longer than {} s; nothing was taken",
            size,
            within.as_secs()
        ));
        if let Some(folder) = cleared {
            let _ = std::fs::remove_dir_all(folder);
        }
    };
    os::Deadline::start(within, i32::from(COULD_NOT), late).map_err(|e| OpenError::Refused {
        path: repository.to_owned(),
        reason: format!("no thread for its deadline: {e}"),
    })
}
