//! The refs of a ledger: read strictly, moved by compare-and-swap, forward only (format, section
//! 6).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use gix::error::ResultExt as _;
use gix::lock::acquire::Fail;
use gix::refs::transaction::{PreviousValue, RefEdit};
use gix::refs::{FullName, Target};

use super::write::{Ledger, git, io_error};
use super::{LedgerError, OBJECT_FORMAT, Oid};
use crate::os;
use crate::record::ledger::commit::{MAIN, NOTES_OTS, NOTES_WITNESS};
use crate::record::limits;

/// How long a move waits for another program's lock; git holds a ref's for milliseconds.
const LOCK_WAIT: Duration = Duration::from_secs(1);
/// From this age on, or when it was seen to stand unchanged for so long, a lock file is what a
/// killed process left.
const LOCK_STALE: Duration = Duration::from_secs(10);
/// How often a lock in the way is looked at.
const LOCK_POLL: Duration = Duration::from_millis(20);
/// How much of a torn ref an error shows.
const SHOWN_BYTES: usize = 60;

impl Ledger {
    /// Where a ref is; none if it does not exist.
    ///
    /// A ref file that holds anything but an object id and a newline is [`LedgerError::TornRef`]:
    /// git would take it for a missing ref, and gix would let it be overwritten.
    pub fn tip(&self, name: &str) -> Result<Option<Oid>, LedgerError> {
        let full = check_name(name)?;
        let path = self.ref_path(name);
        match os::read_regular(&path, limits::REF_FILE) {
            Ok(bytes) => strict_ref(&bytes)
                .map(Some)
                .ok_or_else(|| LedgerError::TornRef {
                    name: name.to_owned(),
                    path,
                    found: shown(&bytes),
                }),
            Err(e) if e.kind() == io::ErrorKind::NotFound => self.packed_tip(&full),
            Err(e) => Err(io_error("read", &path, e)),
        }
    }

    /// All refs of the repository and where they are, foreign ones included.
    pub fn refs(&self) -> Result<BTreeMap<String, Oid>, LedgerError> {
        let failed = |e: &dyn std::fmt::Display| git("list the refs", self.path(), e);
        let mut found = BTreeMap::new();
        let platform = self.repo.refs.iter().map_err(|e| failed(&e))?;
        for reference in platform.all().map_err(|e| failed(&e))? {
            let reference = reference.map_err(|e| failed(&e))?;
            let name = reference.name.as_bstr().to_string();
            match reference.target {
                Target::Object(id) => found.insert(name, Oid::from_gix(&id)),
                Target::Symbolic(_) => return Err(LedgerError::RefName { name }),
            };
        }
        Ok(found)
    }

    /// The names of all branches, torn ones and those that no ledger has included; locks are no
    /// branches.
    pub fn branches(&self) -> Result<BTreeSet<String>, LedgerError> {
        let mut names = BTreeSet::new();
        if let Some(packed) = self.packed()? {
            let all = packed
                .iter()
                .map_err(|e| git("read packed-refs", self.path(), &e))?;
            for reference in all {
                let reference = reference.map_err(|e| git("read packed-refs", self.path(), &e))?;
                names.insert(reference.name.as_bstr().to_string());
            }
            names.retain(|name| name.starts_with("refs/heads/"));
        }
        let folder = self.path().join("refs").join("heads");
        for entry in fs::read_dir(&folder).map_err(|e| io_error("read", &folder, e))? {
            let entry = entry.map_err(|e| io_error("read", &folder, e))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !name.ends_with(".lock") {
                names.insert(format!("refs/heads/{name}"));
            }
        }
        Ok(names)
    }

    /// Moves a ref by compare-and-swap: it must be at `from` (none: absent), an ancestor of `to`.
    ///
    /// Fine if it is already at `to`. Anything else is an error that names expected and actual, and
    /// the ref stays. A lock that a killed process left is removed, one that another program holds
    /// is waited for, ten seconds at most. Durable after [`Ledger::sync`].
    pub fn move_ref(&mut self, name: &str, from: Option<Oid>, to: Oid) -> Result<(), LedgerError> {
        self.write_objects()?;
        let moved = |actual| LedgerError::Moved {
            name: name.to_owned(),
            wanted: to,
            expected: from,
            actual,
        };
        let actual = self.tip(name)?;
        if actual != Some(to) {
            if actual != from {
                return Err(moved(actual));
            }
            self.check_forward(name, from, to)?;
            let previous = match from {
                Some(id) => PreviousValue::MustExistAndMatch(Target::Object(id.to_gix())),
                None => PreviousValue::MustNotExist,
            };
            if let Err(error) = self.edit(name, previous, to) {
                // Somebody may have been faster between looking and locking.
                let actual = self.tip(name)?;
                return Err(if actual == from { error } else { moved(actual) });
            }
        }
        self.refs.insert(name.to_owned());
        Ok(())
    }

    /// Overwrites a torn ref with a commit, without comparing: for recovery, which knows the tip
    /// from the database.
    ///
    /// Refuses a ref that is not torn. Durable after [`Ledger::sync`].
    pub fn overwrite_torn_ref(&mut self, name: &str, to: Oid) -> Result<(), LedgerError> {
        self.write_objects()?;
        match self.tip(name) {
            Err(LedgerError::TornRef { .. }) => {}
            Ok(actual) => {
                return Err(LedgerError::NotTorn {
                    name: name.to_owned(),
                    actual,
                });
            }
            Err(other) => return Err(other),
        }
        self.parents(to)?;
        self.with_lock(name, to, |ledger| ledger.replace_ref_file(name, to))?;
        self.refs.insert(name.to_owned());
        Ok(())
    }

    /// Renames a new file over a ref's, by git's lock protocol.
    ///
    /// Not a ref transaction: gix takes a torn file for the value in `packed-refs`, and leaves it
    /// torn when that value is the wanted one.
    fn replace_ref_file(&self, name: &str, to: Oid) -> Result<(), gix::Error> {
        let wait = Fail::AfterDurationWithBackoff(LOCK_WAIT);
        let mut lock =
            gix::lock::File::acquire_to_update_resource(self.ref_path(name), wait, None, 0)?;
        lock.with_mut(|file| file.write_all(format!("{to}\n").as_bytes()))
            .or_error()?;
        lock.commit().map_err(|e| e.error).or_error()?;
        Ok(())
    }

    /// A ref that stands in `packed-refs` only, as after a stock `git pack-refs`.
    fn packed_tip(&self, name: &FullName) -> Result<Option<Oid>, LedgerError> {
        let Some(packed) = self.packed()? else {
            return Ok(None);
        };
        let found = packed
            .try_find(name.as_ref())
            .map_err(|e| git("read packed-refs", self.path(), &e))?;
        Ok(found.map(|reference| Oid::from_gix(&reference.target())))
    }

    fn packed(&self) -> Result<Option<gix::refs::packed::Buffer>, LedgerError> {
        self.repo
            .refs
            .open_packed_buffer()
            .map_err(|e| git("read packed-refs", self.path(), &e))
    }

    fn edit(&self, name: &str, previous: PreviousValue, to: Oid) -> Result<(), LedgerError> {
        let full = check_name(name)?;
        self.with_lock(name, to, |ledger| {
            let edit = RefEdit::update(full.clone(), to.to_gix(), previous.clone(), "");
            let wait = Fail::AfterDurationWithBackoff(LOCK_WAIT);
            ledger
                .repo
                .refs
                .transaction()
                .prepare([edit], wait, wait)?
                .commit(None)
                .map(|_| ())
        })
    }

    /// Does what takes a ref's lock; once more when the lock in the way is gone, or was one that
    /// nobody holds.
    pub(super) fn with_lock(
        &self,
        name: &str,
        to: Oid,
        act: impl Fn(&Self) -> Result<(), gix::Error>,
    ) -> Result<(), LedgerError> {
        if act(self).is_ok() {
            return Ok(());
        }
        if let Some(lock) = self.lock_of(name) {
            self.outlast(name, &lock, to)?;
        }
        act(self).map_err(|error| match self.lock_of(name) {
            Some(lock) => LedgerError::Locked {
                name: name.to_owned(),
                lock,
            },
            None => git("move a ref", self.path(), &error),
        })
    }

    /// Waits until a lock is gone, and removes it when its maker is.
    ///
    /// Whoever moves refs here holds the home's `writer.lock`, so no other gently is at it. A lock
    /// that holds the commit this ref is to move to was made by one that is gone: nobody else has
    /// that commit before the ref shows it. Any other lock may be a git command's, and says nothing
    /// of who made it: only its age tells, so it is waited for, and the record does not fail for
    /// it.
    fn outlast(&self, name: &str, lock: &Path, to: Oid) -> Result<(), LedgerError> {
        let (begun, seen) = (Instant::now(), state_of(lock));
        let own = fs::read(lock).is_ok_and(|bytes| bytes == format!("{to}\n").as_bytes());
        while !own && !is_stale(lock) && begun.elapsed() < LOCK_STALE {
            let now = state_of(lock);
            if now.is_none() {
                return Ok(());
            }
            if now != seen {
                // Somebody is at work there, again and again.
                return Err(LedgerError::Locked {
                    name: name.to_owned(),
                    lock: lock.to_owned(),
                });
            }
            std::thread::sleep(LOCK_POLL);
        }
        match fs::remove_file(lock) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(io_error("remove", lock, e)),
            _ => Ok(()),
        }
    }

    /// The lock file that is in the way of moving a ref.
    fn lock_of(&self, name: &str) -> Option<PathBuf> {
        [
            self.path().join(format!("{name}.lock")),
            self.path().join("packed-refs.lock"),
        ]
        .into_iter()
        .find(|path| path.exists())
    }

    /// Breadth first from the new tip: the old one is a few commits away.
    fn check_forward(&self, name: &str, from: Option<Oid>, to: Oid) -> Result<(), LedgerError> {
        let mut waiting = VecDeque::from(self.parents(to)?);
        let Some(from) = from else { return Ok(()) };
        let mut seen = BTreeSet::new();
        while let Some(id) = waiting.pop_front() {
            if id == from {
                return Ok(());
            }
            if seen.insert(id) {
                waiting.extend(self.parents(id)?);
            }
        }
        Err(LedgerError::NotForward {
            name: name.to_owned(),
            from,
            to,
        })
    }

    /// The parents of a commit that is here; its content is re-hashed, unless this very handle has
    /// written it.
    pub(super) fn parents(&self, id: Oid) -> Result<Vec<Oid>, LedgerError> {
        if let Some(parents) = self.parents_of.get(&id) {
            return Ok(parents.clone());
        }
        let missing = || LedgerError::MissingCommit {
            id,
            path: self.path().to_owned(),
        };
        let object = self.repo.find_object(id.to_gix()).map_err(|_| missing())?;
        let hash = gix::objs::compute_hash(OBJECT_FORMAT, object.kind, &object.data)
            .map_err(|_| missing())?;
        if object.kind != gix::objs::Kind::Commit || hash != id.to_gix() {
            return Err(missing());
        }
        let commit =
            gix::objs::CommitRef::from_bytes(&object.data, OBJECT_FORMAT).map_err(|_| missing())?;
        Ok(commit
            .parents()
            .map(|parent| Oid::from_gix(&parent))
            .collect())
    }

    /// The file that holds a ref, and the directories that name it, for a sync.
    pub(super) fn files_of_ref(&self, name: &str) -> Vec<PathBuf> {
        let loose = self.ref_path(name);
        // A stock `git pack-refs` may have moved it, at any time.
        let file = if loose.exists() {
            loose
        } else {
            self.path().join("packed-refs")
        };
        // The file, `refs/heads`, `refs`; or `packed-refs` and the repository.
        file.ancestors()
            .take(3)
            .take_while(|path| path.starts_with(self.path()))
            .map(Path::to_owned)
            .collect()
    }

    fn ref_path(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }
}

/// Only the refs of format, section 2.
fn check_name(name: &str) -> Result<FullName, LedgerError> {
    let wrong = || LedgerError::RefName {
        name: name.to_owned(),
    };
    let session = name
        .strip_prefix("refs/heads/branch-")
        .is_some_and(|n| matches!(n.as_bytes(), [b'1'..=b'7']));
    if !session && ![MAIN, NOTES_OTS, NOTES_WITNESS].contains(&name) {
        return Err(wrong());
    }
    FullName::try_from(name).map_err(|_| wrong())
}

/// Exactly what git and gix write into a ref file: 40 digits and a newline.
fn strict_ref(bytes: &[u8]) -> Option<Oid> {
    std::str::from_utf8(bytes.strip_suffix(b"\n")?)
        .ok()?
        .parse()
        .ok()
}

fn shown(bytes: &[u8]) -> String {
    let start = bytes.iter().take(SHOWN_BYTES).copied().collect::<Vec<u8>>();
    format!("{} bytes \"{}\"", bytes.len(), start.escape_ascii())
}

/// Length and time of a lock; none when it is gone.
fn state_of(lock: &Path) -> Option<(u64, Option<SystemTime>)> {
    fs::metadata(lock)
        .ok()
        .map(|found| (found.len(), found.modified().ok()))
}

fn is_stale(lock: &Path) -> bool {
    let age = fs::metadata(lock)
        .and_then(|m| m.modified())
        .map(|then| SystemTime::now().duration_since(then));
    matches!(age, Ok(Ok(age)) if age >= LOCK_STALE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_refs_of_the_format_have_names() {
        for good in [
            "refs/heads/main",
            "refs/heads/branch-1",
            "refs/heads/branch-7",
            "refs/notes/ots",
            "refs/notes/witness",
        ] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for wrong in [
            "",
            "main",
            "HEAD",
            "refs/heads/branch-0",
            "refs/heads/branch-8",
            "refs/heads/branch-10",
            "refs/tags/main",
            "refs/heads/../../x",
            "refs/replace/x",
        ] {
            assert!(
                matches!(check_name(wrong), Err(LedgerError::RefName { .. })),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_ref_file_has_one_spelling() {
        let id = "0123456789012345678901234567890123456789";
        assert_eq!(
            strict_ref(format!("{id}\n").as_bytes()),
            Some(id.parse().unwrap())
        );
        for wrong in [
            "",
            "\n",
            id,
            &id[..20],
            &format!("{id}\n\n"),
            &format!("{id}0\n"),
            &format!("{id}\r\n"),
            &"\0".repeat(41),
            "ref: refs/heads/main\n",
        ] {
            assert_eq!(strict_ref(wrong.as_bytes()), None, "{wrong:?}");
        }
    }
}
