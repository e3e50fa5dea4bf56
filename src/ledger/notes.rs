//! Notes on commits of `main`: `refs/notes/ots` and `refs/notes/witness` (format, section 2).
//!
//! ```text
//! refs/notes/ots → commit → tree   ab/ cdef…(38 digits)   one file a commit of main, mode 100644
//! ```
//! That is git's own layout with one level of folders, so `git notes --ref ots show COMMIT` reads
//! it, and what stock git wrote is read here. A note's commit is unsigned (its content proves
//! itself), has the author of the ledger, the time that is given, and the ref's former tip as its
//! only parent. The same notes on the same tip at the same time give the same id.
//!
//! **Crash.** Objects are on the disk before the ref names them, and the ref's new file is on the
//! disk before it takes the old one's place: after a power loss the ref is where it was or where it
//! should be, never torn. The database knows nothing of notes; one that was lost is asked for
//! again, or fetched from a copy.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;

use gix::bstr::BString;
use gix::error::ResultExt as _;
use gix::lock::acquire::Fail;
use gix::objs::{self, Kind, tree::EntryKind};

use super::read::{ObjectFault, Repository};
use super::write::{Ledger, git, id_of, in_memory, io_error, ledger_actor};
use super::{LedgerError, Oid};
use crate::record::limits;
use crate::record::time::Seconds;

/// Notes up to which a tree has one level of folders: of more, a folder would be larger than a tree
/// may be.
const ONE_LEVEL: usize = 30_000;
/// The message of a notes commit.
const MESSAGE: &str = "notes\n";
/// How long the lock of a ref is waited for.
const LOCK_WAIT: Fail = Fail::AfterDurationWithBackoff(std::time::Duration::from_secs(1));

/// The notes under one ref: each commit's id with the id of its note's content.
pub type NoteMap = BTreeMap<Oid, Oid>;

/// A tree of notes, as far as it was read.
struct NoteTree {
    notes: NoteMap,
    entries: usize,
    most: usize,
}

impl Repository {
    /// The notes that a notes commit holds; every object read is hashed again.
    ///
    /// An entry that is no note (a file whose path is not 40 digits, or of another mode) is a fault
    /// of form.
    pub fn notes(&self, tip: &Oid) -> Result<NoteMap, ObjectFault> {
        self.notes_within(tip, limits::NOTE_OBJECTS)
    }

    /// The same, of at most so many; a tree that holds more, or has deeper folders, is a fault of
    /// form.
    ///
    /// Folders may be one and the same object under many names, so the entries are counted and not
    /// the objects.
    pub fn notes_within(&self, tip: &Oid, most: usize) -> Result<NoteMap, ObjectFault> {
        Ok(self.note_tree(tip, most)?.notes)
    }

    fn note_tree(&self, tip: &Oid, most: usize) -> Result<NoteTree, ObjectFault> {
        let (tree, _) = self.foreign_commit(tip)?;
        let mut found = NoteTree {
            notes: NoteMap::new(),
            entries: 0,
            most,
        };
        self.notes_under(&tree, "", limits::NOTES_DEPTH, &mut found)?;
        Ok(found)
    }

    /// The same of a tree that names each commit once. git itself writes no other, and shows both
    /// notes of a commit that is named twice.
    pub fn notes_once(&self, tip: &Oid) -> Result<NoteMap, ObjectFault> {
        let found = self.note_tree(tip, limits::NOTE_OBJECTS)?;
        if found.entries == found.notes.len() {
            return Ok(found.notes);
        }
        Err(ObjectFault::Form {
            part: "notes",
            expected: format!("{} entries, one for each commit", found.notes.len()),
            actual: format!("{} entries", found.entries),
        })
    }

    /// The notes as they stood at a time (seconds since the epoch): those of the newest first
    /// parent not after it.
    pub fn notes_at(&self, tip: &Oid, time: u64) -> Result<NoteMap, ObjectFault> {
        let mut next = Some(*tip);
        while let Some(id) = next {
            if committed_at(&self.commit_bytes(&id)?).is_some_and(|then| then <= time) {
                return self.notes(&id);
            }
            next = self.foreign_commit(&id)?.1.first().copied();
        }
        Ok(NoteMap::new())
    }

    /// When the note of a commit first stood under a tip, in seconds since the epoch; none when it
    /// has none.
    ///
    /// Notes only come, so each look leaves out half of the history.
    pub fn noted_since(&self, tip: &Oid, commit: &Oid) -> Result<Option<u64>, ObjectFault> {
        let (mut newest_first, mut next) = (Vec::new(), Some(*tip));
        while let Some(id) = next.filter(|_| newest_first.len() < limits::NOTE_OBJECTS) {
            newest_first.push(id);
            next = self.foreign_commit(&id)?.1.first().copied();
        }
        // All before `from` have it, none from `end` on has.
        let (mut from, mut end) = (0, newest_first.len());
        while from < end {
            let middle = from + (end - from) / 2;
            let Some(id) = newest_first.get(middle) else {
                break;
            };
            if self.notes(id)?.contains_key(commit) {
                from = middle + 1
            } else {
                end = middle
            }
        }
        match from.checked_sub(1).and_then(|at| newest_first.get(at)) {
            Some(first) => Ok(committed_at(&self.commit_bytes(first)?)),
            None => Ok(None),
        }
    }

    /// When a notes commit was made, in seconds since the epoch; none when it does not say.
    pub fn noted_at(&self, tip: &Oid) -> Result<Option<u64>, ObjectFault> {
        Ok(committed_at(&self.commit_bytes(tip)?))
    }

    fn notes_under(
        &self,
        tree: &Oid,
        above: &str,
        depth: usize,
        found: &mut NoteTree,
    ) -> Result<(), ObjectFault> {
        for entry in self.tree(tree)? {
            let path = format!("{above}{}", entry.name);
            if entry.mode == "40000" && depth > 0 && entry.name.len() == 2 {
                self.notes_under(&entry.id, &path, depth - 1, found)?;
                continue;
            }
            let commit = path.parse::<Oid>().ok().filter(|_| entry.mode == "100644");
            let commit = commit.ok_or_else(|| ObjectFault::Form {
                part: "note",
                expected: "a file, mode 100644, called as a commit".to_owned(),
                actual: format!("{} '{}'", entry.mode, path.escape_debug()),
            })?;
            found.entries += 1;
            if found.entries > found.most {
                return Err(ObjectFault::Form {
                    part: "notes",
                    expected: format!("at most {}, one for each commit on main", found.most),
                    actual: "more".to_owned(),
                });
            }
            found.notes.insert(commit, entry.id);
        }
        Ok(())
    }
}

impl Ledger {
    /// The notes under a ref of the ledger; none when there is no such ref.
    pub fn notes(&self, reference: &str) -> Result<NoteMap, LedgerError> {
        let Some(tip) = self.tip(reference)? else {
            return Ok(NoteMap::new());
        };
        self.reading()?
            .notes(&tip)
            .map_err(|fault| self.note_fault(reference, &fault))
    }

    /// The content of one commit's note; none when it has none.
    pub fn note(&self, reference: &str, commit: Oid) -> Result<Option<Vec<u8>>, LedgerError> {
        Ok(self.notes_on(reference, [commit])?.remove(&commit))
    }

    /// The contents of the notes of some commits; those without one are left out.
    pub fn notes_on(
        &self,
        reference: &str,
        commits: impl IntoIterator<Item = Oid>,
    ) -> Result<BTreeMap<Oid, Vec<u8>>, LedgerError> {
        let (notes, repository) = (self.notes(reference)?, self.reading()?);
        let known = commits
            .into_iter()
            .filter_map(|commit| Some((commit, *notes.get(&commit)?)));
        known
            .map(|(commit, blob)| repository.blob(&blob).map(|content| (commit, content)))
            .collect::<Result<_, _>>()
            .map_err(|fault| self.note_fault(reference, &fault))
    }

    /// Writes notes (each replaces the one that its commit has) in one commit on top of the ref;
    /// durable on return.
    ///
    /// The caller holds the home's writer lock, and names commits of `main` only. Returns the ref's
    /// new tip; none when every note stands there already, and then nothing is written. The ref
    /// moves by compare-and-swap: [`LedgerError::Moved`] when somebody else moved it meanwhile.
    pub fn put_notes(
        &mut self,
        reference: &str,
        notes: &BTreeMap<Oid, Vec<u8>>,
        time: Seconds,
    ) -> Result<Option<Oid>, LedgerError> {
        let from = self.tip(reference)?;
        let mut all = self.notes(reference)?;
        let before = all.clone();
        for (commit, content) in notes {
            all.insert(*commit, Oid::from_gix(&id_of(Kind::Blob, content)));
        }
        if all == before {
            return Ok(None);
        }
        for content in notes.values() {
            self.put_object(Kind::Blob, content)?;
        }
        let tree = self.put_notes_tree(&all)?;
        let who = ledger_actor(time);
        let commit = in_memory(&objs::Commit {
            tree,
            parents: from.iter().map(|id| id.to_gix()).collect(),
            author: who.clone(),
            committer: who,
            encoding: None,
            message: MESSAGE.into(),
            extra_headers: Vec::new(),
        });
        let to = Oid::from_gix(&id_of(Kind::Commit, &commit));
        self.put_object(Kind::Commit, &commit)?;
        self.sync()?;
        self.move_note_ref(reference, from, to)?;
        self.sync()?;
        Ok(Some(to))
    }

    /// Puts the folders of a notes tree, and the tree of them.
    fn put_notes_tree(&mut self, notes: &NoteMap) -> Result<gix::ObjectId, LedgerError> {
        let mut folders: BTreeMap<String, BTreeMap<String, objs::Tree>> = BTreeMap::new();
        for (commit, blob) in notes {
            let digits = commit.to_string();
            let (folder, rest) = digits.split_at(2);
            let (inner, name) = rest.split_at(if notes.len() > ONE_LEVEL { 2 } else { 0 });
            let entry = entry(EntryKind::Blob, name, blob.to_gix());
            let inner = folders
                .entry(folder.to_owned())
                .or_default()
                .entry(inner.to_owned());
            inner.or_insert_with(objs::Tree::empty).entries.push(entry);
        }
        let mut root = objs::Tree::empty();
        for (name, inner) in &folders {
            let folder = match inner.get("") {
                Some(plain) => self.put_tree(plain)?,
                None => {
                    let mut folder = objs::Tree::empty();
                    for (name, tree) in inner {
                        folder
                            .entries
                            .push(entry(EntryKind::Tree, name, self.put_tree(tree)?));
                    }
                    self.put_tree(&folder)?
                }
            };
            root.entries.push(entry(EntryKind::Tree, name, folder));
        }
        self.put_tree(&root)
    }

    fn put_tree(&mut self, tree: &objs::Tree) -> Result<gix::ObjectId, LedgerError> {
        let bytes = in_memory(tree);
        self.put_object(Kind::Tree, &bytes)?;
        Ok(id_of(Kind::Tree, &bytes))
    }

    /// Moves a notes ref under git's lock; its new file is durable before it takes the old one's
    /// place.
    fn move_note_ref(
        &mut self,
        reference: &str,
        from: Option<Oid>,
        to: Oid,
    ) -> Result<(), LedgerError> {
        let path = self.path().join(reference);
        let folder = path.parent().unwrap_or(self.path()).to_owned();
        fs::create_dir_all(&folder).map_err(|e| io_error("make", &folder, e))?;
        self.with_lock(reference, to, |_| {
            let mut lock = gix::lock::File::acquire_to_update_resource(&path, LOCK_WAIT, None, 0)?;
            let write = |file: &mut fs::File| {
                file.write_all(format!("{to}\n").as_bytes())?;
                file.sync_all()
            };
            lock.with_mut(write).or_error()?;
            // Looked at under the lock: who moves a ref holds it.
            let actual = self.tip(reference).or_error()?;
            if actual == from {
                lock.commit().map_err(|e| e.error).or_error()?;
            }
            Ok(())
        })?;
        self.refs.insert(reference.to_owned());
        let actual = self.tip(reference)?;
        let moved = || LedgerError::Moved {
            name: reference.to_owned(),
            wanted: to,
            expected: from,
            actual,
        };
        if actual == Some(to) {
            Ok(())
        } else {
            Err(moved())
        }
    }

    fn reading(&self) -> Result<Repository, LedgerError> {
        Repository::open(self.path()).map_err(|e| git("read", self.path(), &e))
    }

    fn note_fault(&self, reference: &str, fault: &ObjectFault) -> LedgerError {
        git(
            "read the notes",
            self.path(),
            &format!("{reference}: {}, not {}", fault.actual(), fault.expected()),
        )
    }
}

/// The committer's time of a commit, whoever wrote it.
fn committed_at(commit: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(commit);
    let line = text
        .lines()
        .take_while(|line| !line.is_empty())
        .find(|line| line.starts_with("committer "))?;
    line.rsplit(' ').nth(1)?.parse().ok()
}

fn entry(kind: EntryKind, name: &str, oid: gix::ObjectId) -> objs::tree::Entry {
    objs::tree::Entry {
        mode: kind.into(),
        filename: BString::from(name),
        oid,
    }
}
