//! What a saved position stands on: everything that it says and the ledger can tell, held against
//! the ledger.
//!
//! The position's commit is signed and names the last line's HASH, and its tree head, also signed,
//! is over all lines: so head, number of lines and frontier are the ledger's or do not fit. The key
//! in force is reached from the first one over the rotations, each signed by the key before. The
//! lines from the start of the oldest open session on are read again, bound to the head by their
//! chain: the open sessions are made of them anew.

use std::collections::{BTreeMap, BTreeSet};

use crate::ledger::Oid;
use crate::ledger::read::{Commit, ObjectFault, Repository, TreeEntry};
use crate::record::canon;
use crate::record::hash::Hash32;
use crate::record::ledger::commit::{CommitKind, trailer};
use crate::record::ledger::documents::{CheckpointDoc, Genesis, Rotate};
use crate::record::log::resume::{LogScan, Resume};
use crate::record::log::rules::LogState;
use crate::record::signature::PublicKey;
use crate::record::tree::{Frontier, parse_note};

use super::file::{KeyAt, Position, PositionContent, PositionMismatch};

/// A position that fits its ledger, as far as it can be told before the newer commits are read.
pub(crate) struct ResumePoint {
    pub genesis: Genesis,
    pub state: LogState,
    pub tree: Frontier,
    pub keys: Vec<(u64, PublicKey)>,
    /// Lines that were read again.
    pub replayed: u64,
}

fn differs<T: ToString>(what: &'static str, expected: T, actual: T) -> PositionMismatch {
    PositionMismatch::Differs {
        what,
        expected: expected.to_string(),
        actual: actual.to_string(),
    }
}

fn same<T: ToString + PartialEq>(
    what: &'static str,
    expected: T,
    actual: T,
) -> Result<(), PositionMismatch> {
    if expected == actual {
        Ok(())
    } else {
        Err(differs(what, expected, actual))
    }
}

fn unreadable(place: impl ToString, reason: impl ToString) -> PositionMismatch {
    PositionMismatch::Unreadable {
        place: place.to_string(),
        reason: reason.to_string(),
    }
}

impl ResumePoint {
    /// Holds a position against the objects that it names.
    pub fn of(position: &Position, repository: &Repository) -> Result<Self, PositionMismatch> {
        let (body, objects) = (&position.0, Objects(repository));
        let genesis = objects.genesis(&body.keys)?;
        objects.rotations(body)?;
        let keys: Vec<(u64, PublicKey)> = body.keys.iter().map(|at| (at.after, at.key)).collect();
        let in_force = keys
            .iter()
            .rev()
            .find(|(after, _)| *after < body.lines)
            .map(|(_, key)| *key);
        let in_force = in_force.ok_or_else(|| differs("keys", "a key in force", "none"))?;
        let commit = objects.signed(&body.commit, &in_force)?;
        let log = trailer(&commit.message, "Log")
            .unwrap_or_default()
            .to_owned();
        same("head", log, body.head.to_string())?;
        let tree = objects.tree_head(body, &commit, &genesis, &in_force)?;
        let (replay, before) = objects.replay(body, &commit)?;
        let replayed = replay.count - before;
        let state = LogState::resume(resumed(body, replay)?);
        Ok(ResumePoint {
            genesis,
            state,
            tree,
            keys,
            replayed,
        })
    }
}

/// Compares what the lines that were read again say with the position.
fn resumed(body: &PositionContent, replay: LogScan) -> Result<Resume, PositionMismatch> {
    same("lines", replay.count, body.lines)?;
    same("head", replay.head, body.head)?;
    let last_time = replay
        .last_time
        .ok_or_else(|| unreadable("the last segment", "it holds no line"))?;
    if let Some(highest) = replay.highest {
        same("highest", highest, body.highest)?;
    } else if body.highest < replay.named {
        return Err(differs("highest", replay.named, body.highest));
    }
    if body.highest > 0 && body.blocks.is_empty() {
        return Err(differs("blocks", "a block at the highest height", "none"));
    }
    if replay.last_branch.is_some() {
        let spelled = |branch: &Option<String>| branch.clone().unwrap_or_default();
        same(
            "last_branch",
            spelled(&replay.last_branch),
            spelled(&body.last_branch),
        )?;
    }
    let open: BTreeMap<Hash32, u64> = replay
        .open
        .iter()
        .map(|(id, session)| (*id, session.start.line))
        .collect();
    if open != body.open {
        return Err(differs(
            "open",
            format!("{open:?}"),
            format!("{:?}", body.open),
        ));
    }
    let branches: BTreeSet<String> = body.tips.keys().map(|n| format!("branch-{n}")).collect();
    if let Some(last) = body
        .last_branch
        .as_ref()
        .filter(|last| !branches.contains(*last))
    {
        return Err(differs(
            "last_branch",
            format!("{branches:?}"),
            last.clone(),
        ));
    }
    Ok(Resume {
        head: body.head,
        count: body.lines,
        last_time,
        highest: body.highest,
        branches,
        last_branch: body.last_branch.clone(),
        sessions: replay.open.into_values().collect(),
    })
}

/// Reads what a position names; every object is hashed again, every commit's signature is checked.
struct Objects<'a>(&'a Repository);

impl Objects<'_> {
    fn commit(&self, id: &Oid) -> Result<Commit, PositionMismatch> {
        self.0
            .commit(id)
            .map_err(|fault| unreadable(format!("commit {id}"), fault))
    }

    fn signed(&self, id: &Oid, key: &PublicKey) -> Result<Commit, PositionMismatch> {
        let commit = self.commit(id)?;
        if commit.is_signed_by(key) {
            return Ok(commit);
        }
        Err(unreadable(
            format!("commit {id}"),
            format!("it is not signed by {key}, the key in force"),
        ))
    }

    fn file(&self, id: &Oid, commit: &Commit, name: &str) -> Result<Vec<u8>, PositionMismatch> {
        let place = || format!("commit {id}, file {name}");
        let read = |fault: ObjectFault| unreadable(place(), fault);
        let entries: Vec<TreeEntry> = self.0.tree(&commit.tree).map_err(read)?;
        let entry = entries.iter().find(|entry| entry.name == name);
        let entry = entry.ok_or_else(|| unreadable(place(), "not there"))?;
        self.0.file(entry).map_err(read)
    }

    /// The root of `main` is signed by the first key, which its `genesis.json` names.
    fn genesis(&self, keys: &[KeyAt]) -> Result<Genesis, PositionMismatch> {
        let first = keys
            .first()
            .ok_or_else(|| differs("keys", "at least one", "none"))?;
        same("keys, the first", 0, first.after)?;
        let root = self.signed(&first.commit, &first.key)?;
        same("parents of the root", 0, root.parents.len())?;
        let bytes = self.file(&first.commit, &root, "genesis.json")?;
        let document: Genesis = canon::parse(&bytes)
            .map_err(|e| unreadable(format!("commit {}, genesis.json", first.commit), e))?;
        same("keys, the first", document.signer, first.key)?;
        Ok(document)
    }

    /// Each further key is brought by a rotation that the key before it has signed.
    fn rotations(&self, body: &PositionContent) -> Result<(), PositionMismatch> {
        for (before, next) in body.keys.iter().zip(body.keys.iter().skip(1)) {
            let commit = self.signed(&next.commit, &before.key)?;
            let bytes = self.file(&next.commit, &commit, CommitKind::KeyRotate.document())?;
            let document: Rotate = canon::parse(&bytes)
                .map_err(|e| unreadable(format!("commit {}, rotate.json", next.commit), e))?;
            same("keys", document.old_signer, before.key)?;
            same("keys", document.new_signer, next.key)?;
            if next.after <= before.after || next.after > body.lines {
                let expected = format!("a line from {} to {}", before.after + 1, body.lines);
                return Err(differs("keys, after", expected, next.after.to_string()));
            }
        }
        Ok(())
    }

    /// The tree head at the commit is over as many lines, with the root that the frontier gives,
    /// and signed.
    fn tree_head(
        &self,
        body: &PositionContent,
        commit: &Commit,
        genesis: &Genesis,
        key: &PublicKey,
    ) -> Result<Frontier, PositionMismatch> {
        let bytes = self.file(&body.commit, commit, "checkpoint")?;
        let place = || format!("commit {}, file checkpoint", body.commit);
        let note =
            parse_note(&String::from_utf8_lossy(&bytes)).map_err(|e| unreadable(place(), e))?;
        if !note.verify(key) {
            return Err(unreadable(
                place(),
                format!("it is not signed by {key}, the key in force"),
            ));
        }
        let stored = hex::decode(&body.frontier).map_err(|e| unreadable("frontier", e))?;
        let tree = Frontier::from_bytes(&stored).map_err(|e| unreadable("frontier", e))?;
        same("origin", &note.origin, &genesis.origin)?;
        same("lines", note.size, body.lines)?;
        same("frontier, size", note.size, tree.size())?;
        same("frontier, root", note.root, tree.root())?;
        Ok(tree)
    }

    /// Goes again through the segments from the one with the first line of the oldest open session
    /// on, at least through the last, and checks what a document on the way says of the open
    /// sessions. Gives the number of the line before the first, too.
    fn replay(
        &self,
        body: &PositionContent,
        newest: &Commit,
    ) -> Result<(LogScan, u64), PositionMismatch> {
        let wanted = body.open.values().min().copied().unwrap_or(body.lines);
        let (mut id, mut commit, mut first) = (body.commit, newest.clone(), body.lines);
        let mut segments = Vec::new();
        loop {
            let bytes = self.file(&id, &commit, "audit.log")?;
            let lines = u64::try_from(bytes.iter().filter(|byte| **byte == b'\n').count())
                .unwrap_or(u64::MAX);
            first = first
                .checked_sub(lines)
                .ok_or_else(|| differs("lines", "fewer", "too many"))?;
            segments.push(bytes);
            let parent = commit.parents.first().copied();
            id = parent.ok_or_else(|| unreadable(format!("commit {id}"), "it has no parent"))?;
            commit = self.commit(&id)?;
            if first < wanted {
                break;
            }
        }
        // Before the first segment stands nothing but the genesis line's own start.
        let before = if first == 0 {
            Hash32::GENESIS
        } else {
            let log = trailer(&commit.message, "Log").unwrap_or_default();
            log.parse()
                .map_err(|e| unreadable(format!("commit {id}, Log"), e))?
        };
        let mut replay = LogScan::behind(first, before);
        for bytes in segments.iter().rev() {
            let whole = bytes
                .strip_suffix(b"\n")
                .ok_or_else(|| unreadable("a segment", "no newline at its end"))?;
            for line in whole.split(|byte| *byte == b'\n') {
                replay.take(line).map_err(|e| unreadable("a segment", e))?;
            }
        }
        self.counted(body, newest)?;
        Ok((replay, first))
    }

    /// A checkpoint says how many sessions are open; at a close or rotation the page says nothing
    /// of it, but that a rotation ends them all.
    fn counted(&self, body: &PositionContent, commit: &Commit) -> Result<(), PositionMismatch> {
        let kind = CommitKind::of_subject(commit.message.lines().next().unwrap_or_default());
        let open = u64::try_from(body.open.len()).unwrap_or(u64::MAX);
        match kind {
            Some(CommitKind::Checkpoint) => {
                let bytes = self.file(&body.commit, commit, CommitKind::Checkpoint.document())?;
                let document: CheckpointDoc = canon::parse(&bytes).map_err(|e| {
                    unreadable(format!("commit {}, checkpoint.json", body.commit), e)
                })?;
                same("open", document.sessions_open, open)
            }
            Some(CommitKind::KeyRotate) => same("open", 0, open),
            Some(CommitKind::Close) => Ok(()),
            _ => Err(differs(
                "commit",
                "a close, a checkpoint or a rotation",
                "another",
            )),
        }
    }
}
