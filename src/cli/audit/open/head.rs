//! The tree head that covers a line, and the proof that the line is under it.

use crate::ledger::Oid;
use crate::ledger::read::Repository;
use crate::record::commit::{CommitKind, MAIN, NOTES_WITNESS};
use crate::record::note::CosignedNote;
use crate::record::proof::{ProofMaker, TlogProof};
use crate::record::signature::PublicKey;
use crate::record::tree::{leaf, parse_note};
use crate::store::{CommitRow, Read, StoreError};

use super::notes::note;
use super::{Stop, because, broken};

/// Rows that are read at a time.
const PORTION: u64 = 256;
/// Heads of `main` behind the first that covers a line, among which one with cosignatures is looked for.
const LOOKED_AT: usize = 64;

/// A signed tree head.
pub(super) struct Head {
    /// The note, with the cosignatures that there are.
    pub text: String,
    /// Whose signature the first is.
    pub key: PublicKey,
}

/// The first tree head on `main` over a line that witnesses have cosigned, else the first over it; none when no segment
/// holds the line yet. It is signed by the key in force at the line.
pub(super) fn published(store: &dyn Read, repository: &Repository, line: u64) -> Result<Option<Head>, Stop> {
    let mut first = None;
    for commit in covering(store, line)? {
        let text = file(store, &commit, "checkpoint")?;
        let cosigned = cosigned(repository, &commit, &text);
        let key = signer(repository, &commit)?;
        let ends = commit.kind == CommitKind::KeyRotate;
        match cosigned {
            Ok(Some(text)) => return Ok(Some(Head { text, key })),
            _ if first.is_none() => first = Some(Head { text, key }),
            _ => {}
        }
        // Behind a rotation heads are another key's.
        if ends {
            break;
        }
    }
    Ok(first)
}

/// The head that was signed when the opening was put on record.
pub(super) fn on_demand(store: &dyn Read, text: String) -> Result<Head, Stop> {
    Ok(Head { text, key: store.head()?.signer })
}

/// The note of the witnesses on a commit, if it is about the same head.
fn cosigned(repository: &Repository, commit: &CommitRow, own: &str) -> Result<Option<String>, String> {
    let Some(bytes) = note(repository, NOTES_WITNESS, &commit.id)? else { return Ok(None) };
    let text = String::from_utf8(bytes).map_err(|e| e.to_string())?;
    let read = CosignedNote::parse(&text).map_err(|e| e.to_string())?;
    let own = parse_note(own).map_err(|e| e.to_string())?;
    if read.head == own && !read.others.is_empty() { Ok(Some(text)) } else { Ok(None) }
}

fn signer(repository: &Repository, commit: &CommitRow) -> Result<PublicKey, Stop> {
    let id: Oid = commit.id.parse().map_err(broken)?;
    repository.commit(&id).map(|commit| commit.key).map_err(broken)
}

/// A file of a commit, or of the one whose files it shares.
pub(super) fn file(store: &dyn Read, commit: &CommitRow, name: &str) -> Result<String, Stop> {
    let bytes = store.files(commit.tree_of.unwrap_or(commit.n))?.remove(name);
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    text.map_or_else(|| because(format!("commit {} has no {name}; look with: gently audit verify", commit.id)), Ok)
}

/// Commits of `main` whose tree head is over a line, oldest first, at most [`LOOKED_AT`].
pub(super) fn covering(store: &dyn Read, line: u64) -> Result<Vec<CommitRow>, StoreError> {
    let count = store.head()?.commits;
    let mut from = first_at(store, line, count)?;
    let mut found = Vec::new();
    while from < count && found.len() < LOOKED_AT {
        let rows = store.commits(from, from + PORTION)?;
        from += PORTION;
        let covers = |row: &CommitRow| row.reference == MAIN && row.segment.is_some_and(|(_, to)| to > line);
        found.extend(rows.into_iter().filter(covers).take(LOOKED_AT - found.len()));
    }
    Ok(found)
}

/// The number of the first commit whose line is this one or a later one: lines and commits grow together.
fn first_at(store: &dyn Read, line: u64, count: u64) -> Result<u64, StoreError> {
    let (mut from, mut to) = (0, count);
    while from < to {
        let middle = from + (to - from) / 2;
        if store.commits(middle, middle + 1)?.first().is_some_and(|row| row.line < line) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    Ok(from)
}

/// The proof that a line is under a head.
pub(super) fn prove(store: &dyn Read, line: u64, head: &Head) -> Result<String, Stop> {
    let size = CosignedNote::parse(&head.text).map_err(broken)?.head.size;
    let mut maker = ProofMaker::inclusion(line, size).map_err(broken)?;
    let mut from = 0;
    while from < size {
        let to = size.min(from + PORTION * 16);
        store.lines(from, to)?.iter().for_each(|line| maker.push(leaf(line.as_bytes())));
        from = to;
    }
    let path = maker.finish().map_err(broken)?;
    Ok(TlogProof { index: line, path, checkpoint: head.text.clone() }.print())
}
