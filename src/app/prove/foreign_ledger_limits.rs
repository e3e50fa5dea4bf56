//! What somebody else's ledger may take of this machine, where nobody sits before it: a time and a
//! size of memory.
//!
//! Both grow with what the ledger has on the disk. The checks have budgets of their own, which name
//! what is too much; these are for what nobody thought of.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::ledger::read::{OpenError, Repository};
use crate::os;

/// Memory of a program that has read nothing yet, the page's 512 MiB, and room for threads.
const MEMORY: u64 = 2 << 30;
/// Seconds for a small ledger.
const SECONDS: u64 = 60;

/// What looking at a repository may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignLedgerLimits {
    /// Which repository is looked at.
    pub repository: PathBuf,
    /// So many bytes of objects it has on the disk.
    pub on_disk: u64,
    /// Bytes of memory.
    pub memory: u64,
    /// Time until there has to be a result.
    pub within: Duration,
}

impl ForeignLedgerLimits {
    /// Of a repository, by what it has on the disk.
    pub fn of(repository: &Path) -> Result<ForeignLedgerLimits, OpenError> {
        let on_disk = Repository::open(repository)?.budget().on_disk();
        Ok(Self::of_size(repository, on_disk))
    }

    fn of_size(repository: &Path, on_disk: u64) -> ForeignLedgerLimits {
        ForeignLedgerLimits {
            repository: repository.to_owned(),
            on_disk,
            // Packs are mapped into memory, by two handles of two threads; and an exchange may keep
            // some hundred bytes.
            memory: MEMORY.saturating_add(on_disk.saturating_mul(8)),
            within: Duration::from_secs(SECONDS.saturating_add(on_disk >> 20)),
        }
    }

    /// Holds this process to them: to the time until the result is dropped, to the memory for good.
    /// One that takes too long does `late`, and ends with the exit code.
    pub fn hold(
        self,
        exit: u8,
        late: impl FnOnce(&ForeignLedgerLimits) + Send + 'static,
    ) -> Result<os::Deadline, OpenError> {
        os::bound_memory(self.memory);
        let (within, repository) = (self.within, self.repository.clone());
        let deadline = os::Deadline::start(within, i32::from(exit), move || late(&self));
        deadline.map_err(|e| OpenError::Refused {
            path: repository,
            reason: format!("no thread for its deadline: {e}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_grow_with_what_is_on_the_disk_and_have_an_end() {
        let of = |size| {
            let limits = ForeignLedgerLimits::of_size(Path::new("r"), size);
            (limits.memory, limits.within.as_secs())
        };
        assert_eq!(of(0), (MEMORY, SECONDS));
        assert_eq!(of(10 << 20), (MEMORY + (80 << 20), SECONDS + 10));
        assert_eq!(of(u64::MAX).0, u64::MAX);
    }
}
