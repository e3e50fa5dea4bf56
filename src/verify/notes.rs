//! The notes refs: unsigned, so only their objects and what they are attached to are checked here
//! (format, section 1).

use std::collections::HashSet;

use crate::ledger::Oid;
use crate::ledger::read::{ObjectFault, Repository};

use super::report::{Findings, Question};

/// Folders of a notes tree: git splits 40 digits into pairs as notes grow.
const MAX_DEPTH: usize = 20;

/// Hashes everything that a notes ref reaches, and holds its names against the commits of `main`.
pub(super) fn check(repository: &Repository, name: &str, tip: Oid, main: &HashSet<String>, findings: &mut Findings) {
    let mut notes = Notes { repository, name, main, seen: HashSet::new(), findings };
    let mut open = vec![tip];
    while let Some(id) = open.pop() {
        if !notes.seen.insert(id) {
            continue;
        }
        match repository.foreign_commit(&id) {
            Ok((tree, parents)) => {
                notes.folder(&tree, "", 0);
                open.extend(parents);
            }
            Err(fault) => notes.fault(&format!("commit {id}"), &fault),
        }
    }
}

struct Notes<'a> {
    repository: &'a Repository,
    name: &'a str,
    main: &'a HashSet<String>,
    seen: HashSet<Oid>,
    findings: &'a mut Findings,
}

impl Notes<'_> {
    fn fault(&mut self, what: &str, fault: &ObjectFault) {
        self.findings.object(None, format!("{}, {what}", self.name), fault);
    }

    fn folder(&mut self, id: &Oid, path: &str, depth: usize) {
        if depth > MAX_DEPTH || (depth > 0 && !self.seen.insert(*id)) {
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
            if entry.mode != "100644" || !self.main.contains(&path) {
                let place = format!("{}, note {path}", self.name);
                let actual = format!("mode {}, of an object that is not on main", entry.mode);
                self.findings.add(
                    Question::Consistent,
                    None,
                    place,
                    "a file, mode 100644, of a commit on main",
                    actual,
                );
            }
            if self.seen.insert(entry.id)
                && let Err(fault) = self.repository.blob(&entry.id)
            {
                self.fault(&format!("note {path}"), &fault);
            }
        }
    }
}
