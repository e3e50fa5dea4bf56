//! Who may touch a home, and who makes it.

use std::fs::File;
use std::path::Path;

use crate::config;
use crate::os;

use super::{CONTEXT, Home, HomeError, io};

/// What only its owner may touch, and the widest mode it may have; keys are looked at where they
/// are read.
pub const PRIVATE: [(&str, u32); 4] = [
    ("", 0o700),
    ("gently.db", 0o600),
    (config::FILE, 0o600),
    (CONTEXT, 0o600),
];

impl Home {
    /// Refuses when others than its owner may read, or change, what is in it.
    ///
    /// For whatever records: a text that others read, or a configuration that others write, is no
    /// secret and no guard.
    pub fn is_private(&self) -> Result<(), HomeError> {
        for (name, widest) in PRIVATE {
            let path = if name.is_empty() {
                self.root.clone()
            } else {
                self.root.join(name)
            };
            // What is missing is told by whoever needs it.
            let Ok(found) = std::fs::metadata(&path) else {
                continue;
            };
            let mode = mode_of(&found);
            if mode & !widest & 0o777 != 0 {
                return Err(HomeError::Wide { path, mode, widest });
            }
        }
        Ok(())
    }
}

#[cfg(unix)]
fn mode_of(found: &std::fs::Metadata) -> u32 {
    std::os::unix::fs::MetadataExt::mode(found) & 0o777
}

#[cfg(not(unix))]
fn mode_of(_: &std::fs::Metadata) -> u32 {
    0
}

/// Takes the lock of whoever makes a home; the file that is locked is the one at that path.
pub(super) fn lock_init(path: &Path) -> Result<File, HomeError> {
    loop {
        let lock = os::open_private(path).map_err(|e| io("make", path, &e))?;
        lock.lock().map_err(|e| io("lock", path, &e))?;
        if is_at(&lock, path) {
            return Ok(lock);
        }
    }
}

/// Whether an open file is still the one that a path names.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |found: std::fs::Metadata| (found.dev(), found.ino());
    file.metadata().ok().map(id) == std::fs::metadata(path).ok().map(id)
}

/// Elsewhere a file that is open keeps its name.
#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> bool {
    true
}
