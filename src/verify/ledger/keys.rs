//! Which signing key is in force where, and what has to be there for it (format, section 5).

use crate::record::canon;
use crate::record::hash::Hash32;
use crate::record::ledger::commit::CommitKind;
use crate::record::ledger::documents::Rotate;
use crate::record::log::entry::Event;
use crate::record::signature::PublicKey;

use super::history::{CommitChain, CommitNode, History};
use crate::verify::checker::Checker;
use crate::verify::report::AuditQuestion;

/// A signing key, and from where on it is in force.
pub(crate) struct InForce {
    /// The number of its rotation's line, 0 for the first key; none when the log does not have the
    /// line.
    pub after: Option<u64>,
    /// The position of its rotation on `main`, 0 for the first key; none when it does not stand
    /// there.
    pub from: Option<u32>,
    pub key: PublicKey,
}

impl Checker<'_> {
    /// The key in force at a commit's line; when that is not known, the newest in `main`, and for a
    /// commit of `main` the newest before it.
    pub fn key_at(&self, line: Option<u64>, node: &CommitNode) -> Option<PublicKey> {
        self.genesis.as_ref()?;
        let reached = match node.chain {
            Some(CommitChain::Main(position)) => position.saturating_sub(1),
            _ => u32::MAX,
        };
        let in_force = self.keys.iter().rev().find(|known| match line {
            Some(line) => known.after.is_some_and(|after| after < line),
            None => known.from.is_some_and(|from| from <= reached),
        });
        in_force.map(|known| known.key)
    }

    /// The key that a rotation names.
    pub fn rotated_to(&self, node: &CommitNode) -> Option<PublicKey> {
        let entries = match node.kind.filter(|_| !node.misspelt)? {
            CommitKind::KeyRotate => self.repository.tree(&node.tree).ok()?,
            _ => return None,
        };
        let entry = entries.iter().rfind(|entry| entry.is_file("rotate.json"))?;
        Some(
            canon::parse::<Rotate>(&self.repository.file(entry).ok()?)
                .ok()?
                .new_signer,
        )
    }

    /// Rotations whose line is in the log, and whose commit is not on `main`: they count all the
    /// same.
    pub fn take_late_rotations(&mut self, history: &History) {
        let late: Vec<Hash32> = self
            .lines
            .records
            .rotations_after(self.lines_in_segments)
            .collect();
        if late.is_empty() {
            return;
        }
        for node in (0..history.graph.len()).filter_map(|at| history.graph.get(at)) {
            if let Some(log) = node.log.filter(|log| late.contains(log))
                && let Some(key) = self.rotated_to(&node)
            {
                self.keys.push(InForce {
                    after: self.lines.records.number(&log),
                    from: None,
                    key,
                });
            }
        }
        self.keys.sort_by_key(|known| known.after);
    }

    /// A session's start or end on a block, of which no commit has been seen.
    pub fn check_lines_are_anchored(&mut self) {
        for line in self.lines.records.whole() {
            let (Event::SessionStart { btc, .. } | Event::SessionEnd { btc, .. }) = &line.event
            else {
                continue;
            };
            if *btc != 0 && !self.anchored.contains(&line.hash) {
                self.findings.unlooked(AuditQuestion::NotBefore);
            }
        }
    }
}
