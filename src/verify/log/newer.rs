//! A ledger that a writer adds to while it is looked at: what is newer than the tree head that was
//! read first is left out (format, section 2).
//!
//! A writer has moved refs and appended lines before it puts the next tree head beside the log. So
//! everything that the one that was read first covers is there, and what it does not cover is
//! *newer, not read*: newer commits of `main` and of the branches are passed over, and newer lines
//! are counted.

use std::collections::HashSet;

use crate::ledger::Oid;
use crate::ledger::read::Repository;
use crate::record::hash::Hash32;
use crate::record::ledger::commit::trailer;
use crate::record::tree::parse_note;

use crate::verify::ledger::history::{History, PendingParents};

impl History {
    /// The newest commit of `main` whose tree head is of at most so many lines; those behind it are
    /// noted as newer.
    ///
    /// What the newer ones say is only believed for leaving them out.
    pub(crate) fn pass_newer(&mut self, repository: &Repository, tip: Oid, limit: u64) -> Oid {
        let mut at = tip;
        loop {
            let Ok(commit) = repository.commit(&at) else {
                return at;
            };
            let Some(parent) = commit.parents.first().copied() else {
                return at;
            };
            let entries = repository.tree(&commit.tree).unwrap_or_default();
            let bytes = entries.iter().rfind(|entry| entry.is_file("checkpoint"));
            let bytes = bytes
                .and_then(|entry| repository.blob(&entry.id).ok())
                .unwrap_or_default();
            match parse_note(&String::from_utf8_lossy(&bytes)) {
                Ok(note) if note.size > limit => {}
                _ => return at,
            }
            self.newer_on_main.insert(at);
            at = parent;
        }
    }
}

impl PendingParents {
    /// Moves the tips of branches back to the newest commit whose line is known.
    pub(crate) fn pass_newer(
        &mut self,
        repository: &Repository,
        is_known: impl Fn(&Hash32) -> bool,
    ) {
        let mut gone = HashSet::new();
        for (n, tip) in &mut self.tips.branches {
            let mut at = *tip;
            // What can't be read is left to whoever reads it again, and is a finding there.
            while let Ok(commit) = repository.commit(&at) {
                let log = trailer(&commit.message, "Log").and_then(|text| text.parse().ok());
                if log.is_none_or(|log| is_known(&log)) {
                    break;
                }
                let Some(parent) = commit.parents.first().copied() else {
                    break;
                };
                at = parent;
            }
            let on_main = repository.commit(&at).is_ok_and(|commit| {
                let first = commit.message.lines().next().unwrap_or_default();
                !first.starts_with("session_") && !first.starts_with("interaction-")
            });
            if at != *tip && on_main {
                // The branch is newer as a whole.
                gone.insert(*n);
            }
            *tip = at;
        }
        self.tips.branches.retain(|n, _| !gone.contains(n));
    }
}
