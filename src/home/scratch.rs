//! Folders in a home that one process works in, for nobody else to read: locked while it does, and
//! removed by whoever writes to the home next where it was killed.

use std::fs::{DirBuilder, File, read_dir, remove_dir_all};
use std::io;
use std::path::{Path, PathBuf};

/// For what a process works in a folder of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScratchUse {
    /// A question is written in an editor.
    Question,
    /// The database is copied for a backup.
    Backup,
}

impl ScratchUse {
    const ALL: [ScratchUse; 2] = [ScratchUse::Question, ScratchUse::Backup];

    /// How its folders are called, before the number of the process.
    fn prefix(self) -> &'static str {
        match self {
            ScratchUse::Question => "chat-edit-",
            ScratchUse::Backup => "backup-copy-",
        }
    }
}

/// Makes a folder of mode 0700, and the lock by which others know that it is in use.
pub fn make_scratch(root: &Path, of: ScratchUse) -> io::Result<(PathBuf, File)> {
    let folder = root.join(format!("{}{}", of.prefix(), std::process::id()));
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&folder)?;
    let locked = File::open(&folder).and_then(|lock| {
        lock.try_lock()?;
        Ok(lock)
    });
    match locked {
        Ok(lock) => Ok((folder, lock)),
        Err(fault) => {
            let _ = remove_dir_all(&folder);
            Err(fault)
        }
    }
}

/// Removes such folders, with all in them, that nobody holds locked.
///
/// What can't be removed now is tried again by whoever writes to the home next.
pub fn remove_leftovers(root: &Path) {
    let Ok(entries) = read_dir(root) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_ours = ScratchUse::ALL
            .iter()
            .any(|of| name.to_string_lossy().starts_with(of.prefix()));
        if !is_ours || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let lock = File::open(entry.path());
        if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
            let _ = remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_use_stays_and_what_is_left_goes() {
        let home = tempfile::tempdir().unwrap();
        for of in ScratchUse::ALL {
            let (used, lock) = make_scratch(home.path(), of).unwrap();
            let left = home.path().join(format!("{}0", of.prefix()));
            std::fs::create_dir(&left).unwrap();
            std::fs::write(left.join("gently.db"), "texts").unwrap();
            let file = home.path().join(format!("{}file", of.prefix()));
            std::fs::write(&file, "of somebody").unwrap();
            remove_leftovers(home.path());
            assert!(used.exists() && !left.exists() && file.exists(), "{of:?}");
            drop(lock);
            remove_leftovers(home.path());
            assert!(!used.exists(), "{of:?}");
        }
    }
}
