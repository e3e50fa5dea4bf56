//! The notes refs: unsigned, so only their objects and what they are attached to are checked here
//! (format, section 2).

use std::collections::HashSet;

use crate::ledger::Oid;
use crate::ledger::read::{ObjectFault, Repository};
use crate::record::limits;

use crate::verify::report::Findings;

/// About what is kept of an object of the notes: its id.
const OBJECT: u64 = 64;

/// Hashes everything that a notes ref reaches, and holds its names against the commits of `main`.
pub(crate) fn check(
    repository: &Repository,
    name: &str,
    tip: Oid,
    main: &HashSet<String>,
    findings: &mut Findings,
) {
    let mut notes = NotesCheck {
        repository,
        name,
        main,
        seen: HashSet::new(),
        folders: HashSet::new(),
        here: HashSet::new(),
        entries: 0,
        findings,
    };
    let mut open = vec![tip];
    while let Some(id) = open.pop() {
        if !notes.is_new(id) {
            continue;
        }
        // Each tree of the history of notes is counted anew: what may be is one entry for each
        // commit.
        notes.entries = 0;
        notes.here.clear();
        match repository.foreign_commit(&id) {
            Ok((tree, parents)) => {
                notes.folder(&tree, "", 0);
                open.extend(parents);
            }
            Err(fault) => notes.fault(&format!("commit {id}"), &fault),
        }
    }
}

struct NotesCheck<'a> {
    repository: &'a Repository,
    name: &'a str,
    main: &'a HashSet<String>,
    seen: HashSet<Oid>,
    /// Folders that were looked at, with the names that led there: one that holds as `ab/` does not
    /// hold as `zz/`.
    folders: HashSet<(Oid, String)>,
    /// Folders of the tree that is looked at, by their ids.
    here: HashSet<Oid>,
    /// Entries of the tree that is looked at.
    entries: usize,
    findings: &'a mut Findings,
}

impl NotesCheck<'_> {
    fn fault(&mut self, what: &str, fault: &ObjectFault) {
        self.findings
            .object(None, format!("{}, {what}", self.name), fault);
    }

    /// Whether an object was not met before; what is known of it is kept.
    fn is_new(&mut self, id: Oid) -> bool {
        let new = self.seen.insert(id);
        if new {
            self.repository
                .budget()
                .keep(|| format!("{}, object {id}", self.name), OBJECT);
        }
        new
    }

    /// A tree: each is looked at once under one name.
    fn folder(&mut self, id: &Oid, path: &str, depth: usize) {
        if depth > limits::NOTES_DEPTH {
            let expected = format!("at most {} folders, one in the other", limits::NOTES_DEPTH);
            let place = format!("{}, tree {id}", self.name);
            return self.findings.inconsistent(None, place, expected, "more");
        }
        if !self.here.insert(*id) {
            let place = format!("{}, tree {id}", self.name);
            return self.findings.inconsistent(
                None,
                place,
                "a folder of one name",
                "several names",
            );
        }
        self.is_new(*id);
        if !self.folders.insert((*id, path.to_owned())) {
            return;
        }
        let entries = match self.repository.tree(id) {
            Ok(entries) => entries,
            Err(fault) => return self.fault(&format!("tree {id}"), &fault),
        };
        for entry in entries {
            let path = format!("{path}{}", entry.name);
            if entry.mode == "40000" {
                self.folder(&entry.id, &path, depth + 1);
                continue;
            }
            self.entries += 1;
            if self.entries == self.main.len() + 1 {
                let place = format!("{}, tree {id}", self.name);
                let expected = format!(
                    "at most {} notes, one for each commit on main",
                    self.main.len()
                );
                self.findings.inconsistent(None, place, expected, "more");
            }
            if entry.mode != "100644" || !self.main.contains(&path) {
                let place = format!("{}, note {path}", self.name);
                let actual = format!("mode {}, of an object that is not on main", entry.mode);
                self.findings.inconsistent(
                    None,
                    place,
                    "a file, mode 100644, of a commit on main",
                    actual,
                );
            }
            if self.is_new(entry.id)
                && let Err(fault) = self.repository.blob(&entry.id)
            {
                self.fault(&format!("note {path}"), &fault);
            }
        }
    }
}
