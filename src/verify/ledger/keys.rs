//! Which signing key is in force where, and what has to be there for it (format, section 6).

use crate::ledger::Oid;
use crate::ledger::read::Repository;
use crate::record::canon;
use crate::record::hash::Hash32;
use crate::record::ledger::commit::CommitKind;
use crate::record::ledger::documents::{Genesis, Rotate};
use crate::record::signature::PublicKey;

use super::history::{CommitChain, CommitNode, History};
use crate::verify::log::records::Records;

/// A signing key, and from where on it is in force.
pub(crate) struct KeyPeriod {
    /// The number of its rotation's line, 0 for the first key; none when the log does not have the
    /// line.
    pub after: Option<u64>,
    /// The position of its rotation on `main`, 0 for the first key; none when it does not stand
    /// there.
    pub from: Option<u32>,
    pub key: PublicKey,
}

/// The signing keys of a ledger, in the order in which they came into force.
#[derive(Default)]
pub(crate) struct KeyHistory {
    pub known: Vec<KeyPeriod>,
    /// The commits that brought them: the root of `main`, then the rotations on it.
    pub commits: Vec<Oid>,
}

impl KeyHistory {
    /// The key that a ledger begins with.
    pub fn new(genesis: Option<&Genesis>, root: Option<Oid>) -> Self {
        let first = genesis.map(|genesis| KeyPeriod {
            after: Some(0),
            from: Some(0),
            key: genesis.signer,
        });
        KeyHistory {
            known: first.into_iter().collect(),
            commits: root.into_iter().collect(),
        }
    }

    /// The key in force at a commit's line; when that is not known, the newest in `main`, and for a
    /// commit of `main` the newest before it. Without the first key nothing is known of any.
    pub fn at(&self, line: Option<u64>, node: &CommitNode) -> Option<PublicKey> {
        self.known.iter().find(|known| known.after == Some(0))?;
        let reached = match node.chain {
            Some(CommitChain::Main(position)) => position.saturating_sub(1),
            _ => u32::MAX,
        };
        let in_force = self.known.iter().rev().find(|known| match line {
            Some(line) => known.after.is_some_and(|after| after < line),
            None => known.from.is_some_and(|from| from <= reached),
        });
        in_force.map(|known| known.key)
    }

    /// The key in force at the last of so many lines: that of a rotation's own line is the old one.
    pub fn of_size(&self, size: u64) -> Option<PublicKey> {
        let in_force = self
            .known
            .iter()
            .rev()
            .find(|known| known.after.is_some_and(|after| after < size));
        in_force.or(self.known.first()).map(|known| known.key)
    }

    /// The keys that came into force before a line.
    pub fn before(&self, line: u64) -> impl Iterator<Item = PublicKey> {
        let before = move |known: &&KeyPeriod| known.after.is_some_and(|after| after < line);
        self.known.iter().filter(before).map(|known| known.key)
    }

    /// Rotations whose line is in the log, and whose commit is not on `main`: they count all the
    /// same.
    pub fn take_late(
        &mut self,
        history: &History,
        records: &Records,
        in_segments: u64,
        repository: &Repository,
    ) {
        let late: Vec<Hash32> = records.rotations_after(in_segments).collect();
        if late.is_empty() {
            return;
        }
        for node in (0..history.graph.len()).filter_map(|at| history.graph.get(at)) {
            if let Some(log) = node.log.filter(|log| late.contains(log))
                && let Some(key) = rotated_to(repository, &node)
            {
                self.known.push(KeyPeriod {
                    after: records.number(&log),
                    from: None,
                    key,
                });
            }
        }
        self.known.sort_by_key(|known| known.after);
    }
}

/// The key that a rotation names.
pub(crate) fn rotated_to(repository: &Repository, node: &CommitNode) -> Option<PublicKey> {
    let entries = match node.kind.filter(|_| !node.misspelt)? {
        CommitKind::KeyRotate => repository.tree(&node.tree).ok()?,
        _ => return None,
    };
    let entry = entries.iter().rfind(|entry| entry.is_file("rotate.json"))?;
    let document = canon::parse::<Rotate>(&repository.file(entry).ok()?).ok()?;
    Some(document.new_signer)
}
