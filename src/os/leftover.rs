//! What a process makes for as long as it runs and nobody is to find afterwards: half of a backup, a
//! folder with texts or keys in it. It goes when the work ends, when a signal ends the process, and, where
//! the process was killed, when the next one makes the same.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::open_regular;

/// All that this process has made and not yet given its name.
static ALL: Mutex<Vec<LeftoverPath>> = Mutex::new(Vec::new());

/// So often is removing tried while another thread still writes there.
const TRIES: usize = 64;

fn all() -> MutexGuard<'static, Vec<LeftoverPath>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct LeftoverPath {
    path: PathBuf,
    /// Whether it is a folder, which goes with all in it; what else is a folder stays.
    is_folder: bool,
}

impl LeftoverPath {
    fn remove(&self) -> io::Result<()> {
        match self.is_folder {
            true => fs::remove_dir_all(&self.path),
            false => fs::remove_file(&self.path),
        }
    }
}

/// A file, or a folder with all in it, that goes with this value, and with the process when a signal
/// ends that. Where nothing is at its path any more, as it was given its name, nothing goes.
#[derive(Debug)]
pub struct Leftover(LeftoverPath);

impl Leftover {
    /// Has a file removed.
    pub fn file(path: PathBuf) -> Leftover {
        Leftover::new(path, false)
    }

    /// Has a folder removed.
    pub fn folder(path: PathBuf) -> Leftover {
        Leftover::new(path, true)
    }

    fn new(path: PathBuf, is_folder: bool) -> Leftover {
        let left = LeftoverPath { path, is_folder };
        all().push(left.clone());
        Leftover(left)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Leaves it where it is.
    pub fn stays(self) {
        all().retain(|left| *left != self.0);
    }
}

impl Drop for Leftover {
    fn drop(&mut self) {
        let mut all = all();
        if let Some(at) = all.iter().position(|left| *left == self.0) {
            let _ = self.0.remove();
            all.remove(at);
        }
    }
}

/// Does what no signal may end in its midst, as giving a name to what has none yet. No [`Leftover`] is
/// made or dropped within.
pub fn uninterrupted<T>(work: impl FnOnce() -> T) -> T {
    let _held = all();
    work()
}

/// Removes all that this process would leave, for who ends it at once. Until the answer is dropped nothing
/// is named, and who fails because of this waits.
#[must_use = "what is removed may be made again as soon as this is dropped"]
pub fn remove_own_leftovers() -> OwnLeftovers {
    let all = all();
    for left in all.iter() {
        for _ in 0..TRIES {
            match left.remove() {
                Err(e) if e.kind() != io::ErrorKind::NotFound => {}
                _ => break,
            }
        }
    }
    OwnLeftovers { _all: all }
}

/// What was removed, and is not to be made again.
#[derive(Debug)]
pub struct OwnLeftovers {
    _all: MutexGuard<'static, Vec<LeftoverPath>>,
}

/// How processes name what they make beside a path: its name, then this, the number of the process,
/// and this.
pub type LeftoverName = (&'static str, &'static str);

/// Whether what was left is a folder or a file; anything else of that name is somebody else's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftoverKind {
    /// A folder, which goes with all in it.
    Folder,
    /// A file.
    File,
}

/// The name beside a path that is this process's.
pub fn own_name(path: &Path, (before, behind): LeftoverName) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!("{before}{}{behind}", std::process::id()));
    path.with_file_name(name)
}

/// What killed processes left beside a path: files and folders that have such a name, belong to who asks,
/// and are held locked by nobody, of processes that are gone.
pub fn dead_leftovers(
    path: &Path,
    (before, behind): LeftoverName,
    kind: LeftoverKind,
) -> Vec<PathBuf> {
    let Some(name) = path.file_name() else {
        return Vec::new();
    };
    let (folder, name) = (super::folder_of(path), name.to_string_lossy());
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let number = |entry: &fs::DirEntry| {
        let found = entry.file_name();
        let rest = found.to_str()?.strip_prefix(&*name)?.strip_prefix(before)?;
        let digits = rest.strip_suffix(behind)?;
        let are_digits = digits.bytes().all(|b| b.is_ascii_digit());
        digits.parse().ok().filter(|_| are_digits)
    };
    let entries = entries.flatten().filter(|entry| {
        entry.file_type().is_ok_and(|found| match kind {
            LeftoverKind::Folder => found.is_dir(),
            LeftoverKind::File => found.is_file(),
        })
    });
    let dead = entries.filter(|entry| number(entry).is_some_and(|of| is_dead(&entry.path(), of)));
    dead.map(|entry| entry.path()).collect()
}

/// Removes them; what can't be removed now is tried again the next time. Whether there were any.
pub fn remove_dead_leftovers(path: &Path, name: LeftoverName, kind: LeftoverKind) -> bool {
    let dead = dead_leftovers(path, name, kind);
    for path in &dead {
        let is_folder = kind == LeftoverKind::Folder;
        let _ = LeftoverPath {
            path: path.clone(),
            is_folder,
        }
        .remove();
    }
    !dead.is_empty()
}

/// Whether a file or a folder belongs to whoever this process runs as.
#[cfg(unix)]
pub fn is_own(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    found.uid() == rustix::process::geteuid().as_raw()
}

/// Elsewhere nobody can tell.
#[cfg(not(unix))]
pub fn is_own(_: &fs::Metadata) -> bool {
    false
}

#[cfg(unix)]
fn is_dead(path: &Path, process: i32) -> bool {
    let Ok(found) = path.symlink_metadata() else {
        return false;
    };
    is_own(&found) && !is_running(process) && is_unlocked(path, found.is_dir())
}

#[cfg(not(unix))]
fn is_dead(_: &Path, _: i32) -> bool {
    false
}

/// Elsewhere nobody can tell.
#[cfg(not(unix))]
pub fn is_running(_: i32) -> bool {
    false
}

/// Whether another process has this number.
#[cfg(unix)]
pub fn is_running(process: i32) -> bool {
    use rustix::io::Errno;
    use rustix::process::{Pid, test_kill_process};
    let is_other = u32::try_from(process) != Ok(std::process::id());
    let found = Pid::from_raw(process).map(test_kill_process);
    is_other && found.is_some_and(|found| found != Err(Errno::SRCH))
}

/// Whether nobody holds a file or a folder locked.
fn is_unlocked(path: &Path, is_folder: bool) -> bool {
    let opened = match is_folder {
        true => File::open(path),
        false => open_regular(path),
    };
    opened.is_ok_and(|lock| lock.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: LeftoverName = (".half-", ".part");
    /// More than any system gives to a process.
    const GONE: &str = "2147483647";

    #[test]
    fn what_is_not_named_goes_and_what_is_named_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let made = |name: &str| {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name).join("text"), "a text").unwrap();
            Leftover::folder(at(name))
        };
        drop(made("dropped"));
        assert!(!at("dropped").exists());
        let half = made("half");
        uninterrupted(|| fs::rename(half.path(), at("whole"))).unwrap();
        drop(half);
        made("kept").stays();
        // What stands where a file was to be, and is none, is somebody's.
        made("somebody's").stays();
        drop(Leftover::file(at("somebody's")));
        let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
        left.sort_by_key(fs::DirEntry::file_name);
        let left: Vec<_> = left.iter().map(fs::DirEntry::file_name).collect();
        assert_eq!(left, ["kept", "somebody's", "whole"]);
    }

    #[test]
    fn only_what_is_certainly_left_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.age");
        let beside = |end: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            PathBuf::from(name)
        };
        let dead = [
            beside(&format!(".half-{GONE}.part")),
            own_name(&path, NAME),
            beside(".half-2147483646.part"),
        ];
        fs::write(&dead[0], "half").unwrap();
        fs::write(&dead[1], "half").unwrap();
        fs::create_dir(&dead[2]).unwrap();
        fs::write(dead[2].join("text"), "a text").unwrap();
        let parent = std::os::unix::process::parent_id();
        let others = [
            beside(&format!(".half-{parent}.part")),
            beside(".half-+7.part"),
            beside(".half-.part"),
            beside(&format!(".half-{GONE}")),
            beside(&format!(".half-{GONE}.part.old")),
            folder.path().join(format!("c.age.half-{GONE}.part")),
            beside(".half-2147483645.part"),
        ];
        for other in &others {
            fs::write(other, "of somebody").unwrap();
        }
        let link = beside(".half-2147483644.part");
        std::os::unix::fs::symlink(&others[0], &link).unwrap();
        let held = File::open(&others[6]).unwrap();
        held.try_lock().unwrap();
        assert!(remove_dead_leftovers(&path, NAME, LeftoverKind::File));
        assert!(dead[2].join("text").exists());
        assert!(remove_dead_leftovers(&path, NAME, LeftoverKind::Folder));
        for path in dead {
            assert!(path.symlink_metadata().is_err(), "{}", path.display());
        }
        for path in others.iter().chain([&link]) {
            assert!(path.symlink_metadata().is_ok(), "{}", path.display());
        }
        drop(held);
        assert_eq!(
            dead_leftovers(&path, NAME, LeftoverKind::File),
            [others[6].clone()]
        );
        // A folder that is named with a slash behind it is the same.
        let slashed = PathBuf::from(format!("{}/", path.display()));
        assert_eq!(own_name(&slashed, NAME), own_name(&path, NAME));
        assert_eq!(
            dead_leftovers(&slashed, NAME, LeftoverKind::File),
            [others[6].clone()]
        );
    }
}
