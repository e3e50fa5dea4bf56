//! Folders in a home that one process works in, for nobody else to read: locked while it does, and
//! removed by whoever writes to the home next where it was killed.

use std::fs::{DirBuilder, File, read_dir, remove_dir, remove_dir_all};
use std::io;
use std::path::{Path, PathBuf};

use crate::os::{
    LeftoverKind, LeftoverName, dead_leftovers, is_own, is_running, remove_dead_leftovers,
    shell_word,
};
use crate::store::DatabaseForm;

/// How the folder is called in which a home is restored, beside its place.
pub const RESTORING: LeftoverName = (".restore-", "");
/// How earlier builds called the copy of the database that a backup was made from: `backup-PID.db`.
const OLD_COPY: (&str, LeftoverName) = ("backup", ("-", ".db"));

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
///
/// It gets its name once it is locked, so that nobody takes it for one that was left. One that was
/// not locked yet as its process was killed is empty, and begins with a dot.
pub fn make_scratch(root: &Path, of: ScratchUse) -> io::Result<(PathBuf, File)> {
    let name = format!("{}{}", of.prefix(), std::process::id());
    let (made, folder) = (root.join(format!(".{name}")), root.join(name));
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&made)?;
    let locked = File::open(&made).and_then(|lock| {
        lock.try_lock()?;
        std::fs::rename(&made, &folder)?;
        Ok(lock)
    });
    match locked {
        Ok(lock) => Ok((folder, lock)),
        Err(fault) => {
            let _ = remove_dir(&made);
            Err(fault)
        }
    }
}

/// The folder of this name, of one of our uses, and the number of its process.
fn use_of(name: &str) -> Option<(ScratchUse, i32)> {
    // What somebody else calls so is none of ours.
    let number = |of: ScratchUse| {
        let digits = name.strip_prefix(of.prefix())?;
        let are_digits = digits.bytes().all(|b| b.is_ascii_digit());
        digits.parse().ok().filter(|_| are_digits)
    };
    let mut all = ScratchUse::ALL.into_iter();
    all.find_map(|of| Some((of, number(of)?)))
}

/// The folders of killed processes in a home, and for what they were, each with the lock on it.
fn left_folders(root: &Path) -> Vec<(ScratchUse, PathBuf, File)> {
    let Ok(entries) = read_dir(root) else {
        return Vec::new();
    };
    let left = entries.flatten().filter_map(|entry| {
        let (of, _) = use_of(entry.file_name().to_str()?)?;
        // What another user has put there is none of ours.
        if !entry
            .metadata()
            .is_ok_and(|found| found.is_dir() && is_own(&found))
        {
            return None;
        }
        let lock = File::open(entry.path()).ok()?;
        let is_free = lock.try_lock().is_ok();
        is_free.then(|| (of, entry.path(), lock))
    });
    left.collect()
}

/// Removes such folders, with all in them, that nobody holds locked, and copies of the database that
/// backups of earlier builds left. Whether there were any.
///
/// What can't be removed now is tried again by whoever writes to the home next.
pub fn remove_leftovers(root: &Path) -> bool {
    let folders = left_folders(root);
    for (_, folder, _lock) in &folders {
        let _ = remove_dir_all(folder);
    }
    remove_unlocked(root);
    let (name, of) = OLD_COPY;
    let is_old = remove_dead_leftovers(&root.join(name), of, LeftoverKind::File);
    is_old || !folders.is_empty()
}

/// Removes empty folders whose process was killed before it had locked them.
fn remove_unlocked(root: &Path) {
    let entries = read_dir(root).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let of = name.to_str().and_then(|name| name.strip_prefix('.'));
        let is_left = of
            .and_then(use_of)
            .is_some_and(|(_, process)| !is_running(process));
        if is_left {
            // Only where it is empty: whatever has been put there since stays.
            let _ = remove_dir(entry.path());
        }
    }
}

/// What a killed process left that holds texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftCopy {
    /// The file or folder.
    pub path: PathBuf,
    /// What it is of.
    pub of: LeftCopyOf,
    /// Whether whoever has the disk can read texts in it.
    pub is_plain: bool,
}

impl LeftCopy {
    /// What it is.
    pub fn found(&self) -> String {
        let left = match self.of {
            LeftCopyOf::Question => "a chat was killed as a question was written in an editor",
            LeftCopyOf::Backup => "a gently backup was killed as it copied the database",
            LeftCopyOf::Restore => {
                "a gently restore was killed as it unpacked a home, with its keys"
            }
        };
        let texts = match self.is_plain {
            true => "has texts in it that are not encrypted",
            false => "is left over, and encrypted",
        };
        format!("{} {texts}: {left}", self.path.display())
    }

    /// The same, and the command that takes it away.
    pub fn words(&self) -> String {
        let (found, command) = (self.found(), self.removed_by());
        match self.of {
            LeftCopyOf::Restore => format!("{found}. Take it away with: {command}"),
            _ => format!(
                "{found}. The next command that records something takes it away, for example: {command}"
            ),
        }
    }

    /// A command that takes it away.
    pub fn removed_by(&self) -> String {
        match self.of {
            LeftCopyOf::Restore => format!("rm -r {}", shell_word(&self.path)),
            _ => "gently session open".to_owned(),
        }
    }
}

/// What left a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftCopyOf {
    /// A chat in which a question was written in an editor.
    Question,
    /// A backup, which copies the database first.
    Backup,
    /// A restore, which unpacks the home beside its place.
    Restore,
}

/// What killed processes left in a home, and beside it, that holds texts. What a running one uses is not
/// among it.
pub fn left_copies(root: &Path) -> Vec<LeftCopy> {
    let folders = left_folders(root).into_iter();
    let folders = folders.map(|(of, path, _)| match of {
        ScratchUse::Question => LeftCopy {
            is_plain: true,
            of: LeftCopyOf::Question,
            path,
        },
        ScratchUse::Backup => LeftCopy {
            is_plain: has_plain_database(&path.join("gently.db")),
            of: LeftCopyOf::Backup,
            path,
        },
    });
    let (name, of) = OLD_COPY;
    let old = dead_leftovers(&root.join(name), of, LeftoverKind::File).into_iter();
    let old = old.map(|path| LeftCopy {
        is_plain: has_plain_database(&path),
        of: LeftCopyOf::Backup,
        path,
    });
    let unpacked = dead_leftovers(root, RESTORING, LeftoverKind::Folder).into_iter();
    let unpacked = unpacked.map(|path| LeftCopy {
        is_plain: has_plain_database(&path.join("gently.db")),
        of: LeftCopyOf::Restore,
        path,
    });
    let mut all: Vec<LeftCopy> = folders.chain(old).chain(unpacked).collect();
    all.sort_by(|a, b| a.path.cmp(&b.path));
    all
}

/// Whether a copy of a database has anything in it, and is not encrypted.
fn has_plain_database(copy: &Path) -> bool {
    let has_bytes = copy.metadata().is_ok_and(|found| found.len() > 0);
    has_bytes && !matches!(DatabaseForm::of(copy), Ok(DatabaseForm::Encrypted))
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
            let own = ["mine", "2026-11", ""]
                .map(|name| home.path().join(format!("{}{name}", of.prefix())));
            own.iter()
                .for_each(|folder| std::fs::create_dir(folder).unwrap());
            assert!(remove_leftovers(home.path()));
            assert!(used.exists() && !left.exists() && file.exists(), "{of:?}");
            assert!(own.iter().all(|folder| folder.exists()), "{of:?}");
            drop(lock);
            remove_leftovers(home.path());
            assert!(!used.exists(), "{of:?}");
            // The number of a process that runs says nothing: numbers are given again.
            #[cfg(unix)]
            {
                let parent = std::os::unix::process::parent_id();
                let [again, made] =
                    ["", "."].map(|dot| home.path().join(format!("{dot}{}{parent}", of.prefix())));
                std::fs::create_dir(&again).unwrap();
                std::fs::create_dir(&made).unwrap();
                assert!(remove_leftovers(home.path()), "{of:?}");
                assert!(!again.exists() && made.exists(), "{of:?}");
                std::fs::remove_dir(&made).unwrap();
            }
            let dead = home.path().join(format!(".{}2147483647", of.prefix()));
            std::fs::create_dir(&dead).unwrap();
            remove_leftovers(home.path());
            assert!(!dead.exists(), "{of:?}");
        }
        assert!(!remove_leftovers(home.path()));
    }

    #[test]
    fn what_is_left_with_texts_is_named_and_what_is_in_the_home_goes() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("home");
        std::fs::create_dir(&root).unwrap();
        let plain = [b"SQLite format 3\0".as_slice(), &[0; 1000]].concat();
        let folder = |path: PathBuf, bytes: &[u8]| {
            std::fs::create_dir(&path).unwrap();
            std::fs::write(path.join("gently.db"), bytes).unwrap();
            path
        };
        let encrypted = folder(root.join("backup-copy-0"), &[7; 1000]);
        let of_restore = folder(dir.path().join("home.restore-2147483647"), &plain);
        let old = root.join("backup-2147483647.db");
        std::fs::write(&old, &plain).unwrap();
        let mine = root.join("backup-of-mine.db");
        std::fs::write(&mine, &plain).unwrap();
        let (_used, _lock) = make_scratch(&root, ScratchUse::Backup).unwrap();
        let copy = |path: &PathBuf, of, is_plain| LeftCopy {
            path: path.clone(),
            of,
            is_plain,
        };
        let expected = [
            copy(&old, LeftCopyOf::Backup, true),
            copy(&encrypted, LeftCopyOf::Backup, false),
            copy(&of_restore, LeftCopyOf::Restore, true),
        ];
        assert_eq!(left_copies(&root), expected);
        assert!(remove_leftovers(&root));
        assert_eq!(left_copies(&root), expected[2..]);
        assert!(mine.exists());
    }
}
