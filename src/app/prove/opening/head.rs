//! The tree head that an opening is under.
//!
//! The newest one is over everything, and nobody outside has seen it yet. Where witnesses have
//! cosigned an older one of the key that is still in force, and all that is opened is under that,
//! it is the better one to show.

use crate::ledger::read::Repository;
use crate::record::ledger::commit::NOTES_WITNESS;
use crate::record::tree::note::{CosignedNote, VerifierKey};
use crate::record::tree::parse_note;
use crate::store::{CommitRow, ReadStore, Store};

use super::notes::noted;
use super::{MAX_EVIDENCE, OpenTextsError, broken};
use crate::app::prove::because;

/// Bytes of an Ed25519 cosignature: a time and a signature. Lines of other kinds count for nobody
/// yet.
const COSIGNATURE: usize = 72;

/// Whose cosignatures the owner believes, and how many of them are enough.
pub(super) struct TrustedWitnesses {
    pub keys: Vec<VerifierKey>,
    pub quorum: usize,
}

/// What a tree head has to be over.
pub(super) struct HeadRequirements {
    /// The last line that has to be under it.
    pub line: u64,
    /// The last rotation: a head up to there is another key's.
    pub rotation: Option<u64>,
    /// The size of the stamped tree, which is no larger than the head's.
    pub stamped: u64,
}

/// The newest cosigned tree head on `main` that will do, one with the quorum first; else `newest`
/// as it is.
pub(super) fn choose(
    store: &Store,
    repository: &Repository,
    needed: &HeadRequirements,
    believed: &TrustedWitnesses,
    newest: String,
) -> Result<(CosignedNote, Vec<String>), OpenTextsError> {
    let newest = CosignedNote::parse(&newest).map_err(broken)?;
    let all = match noted(store, repository, NOTES_WITNESS)? {
        Ok(all) => all,
        Err(why) => return Ok((newest, vec![format!("cosignatures: {why}")])),
    };
    let (mut best, mut left_out) = (None, Vec::new());
    for noted in all.iter().rev() {
        let (from, size) = (
            noted.commit.line,
            noted.commit.segment.map_or(0, |(_, to)| to),
        );
        if size <= needed.line
            || size < needed.stamped
            || needed.rotation.is_some_and(|rotation| from <= rotation)
        {
            break;
        }
        let text = noted
            .text(repository)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some(bytes) = text
            .as_ref()
            .map(String::len)
            .filter(|len| *len > MAX_EVIDENCE)
        {
            let commit = &noted.commit.id;
            left_out.push(format!(
                "cosignatures on commit {commit}: {bytes} bytes are too many for an opening"
            ));
            continue;
        }
        let Some(note) = text.and_then(|text| CosignedNote::parse(&text).ok()) else {
            continue;
        };
        if Some(&note.head)
            != parse_note(&file(store, &noted.commit, "checkpoint")?)
                .ok()
                .as_ref()
        {
            continue;
        }
        let ours = believed
            .keys
            .iter()
            .filter(|key| note.cosigned_at(key).is_some())
            .count();
        if ours >= believed.quorum.max(1) {
            best = Some(note);
            break;
        }
        best = best.or(Some(note).filter(|note| !note.others.is_empty()));
    }
    let mut note = best.unwrap_or(newest);
    let read =
        |line: &crate::record::tree::note::NoteSignature| line.signature.len() == COSIGNATURE;
    let unread: Vec<String> = note
        .others
        .iter()
        .filter(|line| !read(line))
        .map(|line| line.name.clone())
        .collect();
    note.others.retain(read);
    if !unread.is_empty() {
        left_out.push(format!(
            "signature lines that nobody here reads: of {}",
            unread.join(", ")
        ));
    }
    Ok((note, left_out))
}

/// A file of a commit, or of the one whose files it shares.
pub(super) fn file(
    store: &ReadStore,
    commit: &CommitRow,
    name: &str,
) -> Result<String, OpenTextsError> {
    let bytes = store
        .files(commit.tree_of.unwrap_or(commit.n))?
        .remove(name);
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    text.map_or_else(
        || {
            because(format!(
                "commit {} has no {name}; look with: gently audit verify",
                commit.id
            ))
        },
        Ok,
    )
}
