//! What a row of `ledger_commit` says, held against the commit object that it carries: whoever can write
//! the file can write any row, and can't sign a commit.

use crate::ledger::Oid;
use crate::ledger::read::Commit;
use crate::ledger::whole::{commit_id, commit_of, tree_id};
use crate::ledger::write::TreeFiles;
use crate::record::canon;
use crate::record::ledger::commit::{CommitKind, trailer};
use crate::record::ledger::documents::Rotate;
use crate::record::signature::PublicKey;
use crate::record::tree::{SignedNote, parse_note};
use crate::store::{CommitRow, LedgerHead, ReadStore};

use super::rebuild::{Contradiction, database_is_wrong};
use super::unsigned::genesis_of;
use crate::recorder::RecorderError;
use crate::recorder::apply::files_of;

/// What is wrong with a row, as words that follow "gently.db says".
pub(super) type CommitFault = String;

/// A commit whose row says the same as its object: id, kind, files with their lines, and its own line.
pub(super) struct ReadCommit {
    pub id: Oid,
    pub commit: Commit,
    pub files: TreeFiles,
}

impl ReadCommit {
    /// Holds a row against its object. Whose signature it has is not looked at.
    pub fn of(
        store: &ReadStore,
        row: &CommitRow,
    ) -> Result<Result<Self, CommitFault>, RecorderError> {
        let id = commit_id(&row.raw);
        if id.to_string() != row.id {
            return Ok(Err(format!("bytes that are commit {id}")));
        }
        let commit = match commit_of(&row.raw) {
            Ok(commit) => commit,
            Err(fault) => return Ok(Err(fault.to_string())),
        };
        let files = match files_of(store, row) {
            Ok(files) => files,
            Err(RecorderError::Store(e)) => return Err(e.into()),
            Err(other) => return Ok(Err(other.to_string())),
        };
        let tree = tree_id(&files);
        if tree != commit.tree {
            return Ok(Err(format!(
                "files and lines that make tree {tree}, and a commit of tree {}",
                commit.tree
            )));
        }
        let subject = commit.message.lines().next().unwrap_or_default();
        if CommitKind::of_subject(subject) != Some(row.kind) {
            return Ok(Err(format!(
                "that it is a {}, and a commit with the subject '{subject}'",
                row.kind.name()
            )));
        }
        let line = store.line_hash(row.line)?.map(|hash| hash.to_string());
        let log = trailer(&commit.message, "Log");
        if line.as_deref() != log {
            return Ok(Err(format!(
                "that it belongs to the line that begins with {}, and a commit that names the line {}",
                line.as_deref().unwrap_or("nothing, as there is none"),
                log.unwrap_or("nowhere")
            )));
        }
        Ok(Ok(ReadCommit { id, commit, files }))
    }

    /// Refuses a commit that the key has not signed.
    pub fn signed_by(&self, key: &PublicKey) -> Result<(), CommitFault> {
        match self.commit.is_signed_by(key) {
            true => Ok(()),
            false => Err(format!(
                "a commit that is not signed by the key in force, {key}"
            )),
        }
    }

    /// A document among its files.
    pub fn document<T: serde::de::DeserializeOwned + serde::Serialize>(
        &self,
        name: &str,
    ) -> Result<T, CommitFault> {
        let bytes = self.files.get(name).ok_or_else(|| format!("no {name}"))?;
        canon::parse(bytes).map_err(|e| format!("a {name} that can't be read: {e}"))
    }

    /// The keys of a rotation.
    pub fn rotation(&self, in_force: &PublicKey) -> Result<Rotate, CommitFault> {
        let rotate: Rotate = self.document("rotate.json")?;
        match rotate.old_signer == *in_force {
            true => Ok(rotate),
            false => Err(format!(
                "a rotation of the key {}, while the key in force is {in_force}",
                rotate.old_signer
            )),
        }
    }
}

/// Where a commit stands, for people.
pub(super) fn place_of(number: u64, row: Option<&CommitRow>) -> String {
    let of_row = row.map(|row| {
        format!(
            " ({} on {}, log line {})",
            row.kind.name(),
            row.reference,
            row.line.saturating_add(1)
        )
    });
    format!("commit {number}{}", of_row.unwrap_or_default())
}

/// Whether a tree head is the one that the newest rotation carries, which the key before it has signed:
/// the one over its lines until the next line is signed by the new key.
///
/// Every rotation since the genesis must hold, each signed by the key in force before it, and the last
/// must lead to the key of now; the first that does not is named.
pub(super) fn is_of_rotation(
    store: &ReadStore,
    head: &LedgerHead,
    note: &SignedNote,
) -> Result<bool, RecorderError> {
    let mut signer = genesis_of(store)?.signer;
    let mut newest = None;
    for row in store.rotations()? {
        let checked = ReadCommit::of(store, &row)?.and_then(|read| {
            read.signed_by(&signer)?;
            Ok((read.rotation(&signer)?, read))
        });
        let (rotate, read) = checked.map_err(|said| Contradiction {
            place: place_of(row.n.saturating_add(1), Some(&row)),
            database: said,
            holder: "gently.db",
            found: format!("in its own genesis and rotations before it that {signer} is in force"),
            next: database_is_wrong(),
        })?;
        newest = read
            .files
            .get("checkpoint")
            .cloned()
            .map(|text| (signer, text));
        signer = rotate.new_signer;
    }
    if signer != head.signer {
        return Err(other_signer(head, &signer).into());
    }
    Ok(newest.is_some_and(|(key, text)| {
        let carried = std::str::from_utf8(&text).ok();
        let carried = carried.and_then(|text| parse_note(text).ok());
        carried.as_ref() == Some(note) && note.verify(&key)
    }))
}

/// The key of now is not the one to which the genesis and the rotations since lead.
pub(super) fn other_signer(head: &LedgerHead, led_to: &PublicKey) -> Contradiction {
    Contradiction {
        place: "head.signer".to_owned(),
        database: head.signer.to_string(),
        holder: "gently.db",
        found: format!("{led_to} in its own commits"),
        next: database_is_wrong(),
    }
}
