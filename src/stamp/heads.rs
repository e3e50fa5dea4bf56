//! Tree heads, their notes, and what those say.

use crate::ledger::read::{ObjectFault, Repository};
use crate::ledger::write::Ledger;
use crate::ledger::{LedgerError, NoteMap, Oid};
use crate::record::hash::Hash32;
use crate::record::ledger::commit::NOTES_OTS;
use crate::record::ots::{Attestation, FileHash, Proof};
use crate::record::time::Seconds;
use crate::recorder::Paths;
use crate::store::ReadStore;

use super::{CommittedTreeHead, StampError, Stamper};

/// From this age on a pending proof is named: calendars need hours.
pub(super) const LATE: u64 = 48 * 60 * 60;

/// The ledger's notes, and the heads that they are on.
pub(super) struct StampNotes {
    pub repository: Repository,
    /// Tip of the notes ref.
    pub tip: Option<Oid>,
    pub notes: NoteMap,
    /// Tree heads of the log, oldest first.
    pub heads: Vec<CommittedTreeHead>,
}

impl Stamper<'_> {
    pub(super) fn stamped(&self) -> Result<StampNotes, StampError> {
        StampNotes::read(self.paths, self.store)
    }
}

impl StampNotes {
    /// Reads heads from the database and notes from the ledger.
    pub fn read(paths: &Paths, store: &ReadStore) -> Result<StampNotes, StampError> {
        let heads = store.heads()?.into_iter().map(|(id, file)| {
            Ok(CommittedTreeHead {
                commit: id.parse()?,
                file,
            })
        });
        let heads = heads.collect::<Result<Vec<_>, StampError>>()?;
        let repository =
            Repository::open(&paths.ledger()).map_err(|e| StampError::Notes(e.to_string()))?;
        // As strictly as a writer reads it: a torn ref is no missing one.
        let tip = match Ledger::open(&paths.ledger())?.tip(NOTES_OTS) {
            Err(LedgerError::TornRef { found, .. }) => return Err(torn(&found)),
            tip => tip?,
        };
        let notes = tip
            .map(|tip| repository.notes(&tip))
            .transpose()
            .map_err(|fault| unreadable(&fault))?;
        Ok(StampNotes {
            repository,
            tip,
            notes: notes.unwrap_or_default(),
            heads,
        })
    }

    /// The proof that a head's note is; none when it is no proof of this head.
    pub fn proof(&self, head: &CommittedTreeHead) -> Result<Option<Proof>, StampError> {
        let Some(blob) = self.notes.get(&head.commit) else {
            return Ok(None);
        };
        let bytes = self
            .repository
            .blob(blob)
            .map_err(|fault| unreadable(&fault))?;
        Ok(proof_of(&bytes, head.file))
    }

    /// Heads that had a note so long ago that a pending one is late by now.
    pub fn noted_early(&self, now: Seconds) -> Result<NoteMap, StampError> {
        let Some(tip) = self.tip else {
            return Ok(NoteMap::new());
        };
        let then = now.get().saturating_sub(LATE);
        self.repository
            .notes_at(&tip, then)
            .map_err(|fault| unreadable(&fault))
    }

    /// When a head's note first stood there.
    pub fn noted_since(&self, head: &CommittedTreeHead) -> Result<Option<Seconds>, StampError> {
        let Some(tip) = self.tip else { return Ok(None) };
        let time = self
            .repository
            .noted_since(&tip, &head.commit)
            .map_err(|fault| unreadable(&fault))?;
        Ok(time.and_then(|time| Seconds::new(time).ok()))
    }
}

/// Reads a note as a proof of a head; none when it is anything else.
pub(super) fn proof_of(bytes: &[u8], head: Hash32) -> Option<Proof> {
    let proof = Proof::read(bytes).ok()?;
    (proof.file_hash == FileHash::Sha256 && proof.digest == head.as_bytes()).then_some(proof)
}

/// Whether a Bitcoin block attests it.
pub(super) fn is_complete(proof: &Proof) -> bool {
    let leaves = proof.leaves().unwrap_or_default();
    leaves
        .iter()
        .any(|leaf| matches!(leaf.attestation, Attestation::Bitcoin { .. }))
}

/// What becomes of a note: both proofs in one; nothing when the new one says nothing new.
pub(super) fn merged(standing: Option<&[u8]>, new: &[u8]) -> Option<Vec<u8>> {
    let added = Proof::read(new).ok()?;
    let old = standing.and_then(|bytes| Proof::read(bytes).ok());
    let old = old.filter(|old| old.file_hash == added.file_hash && old.digest == added.digest);
    let Some(mut both) = old else {
        return Some(new.to_vec());
    };
    both.tree.merge(added.tree);
    let printed = both.print();
    // What can't be read again is not written.
    (Proof::read(&printed).is_ok() && standing != Some(&printed[..])).then_some(printed)
}

fn unreadable(fault: &ObjectFault) -> StampError {
    StampError::Notes(format!("{}, not {}", fault.actual(), fault.expected()))
}

fn torn(words: &str) -> StampError {
    StampError::Notes(format!(
        "it is {words}, not a commit's id and a newline. Fetch it from where it was published, or remove \
         ledger.git/{NOTES_OTS}: then every head is stamped anew"
    ))
}

impl From<crate::ledger::OidError> for StampError {
    fn from(error: crate::ledger::OidError) -> Self {
        StampError::Ledger(LedgerError::NotACommit {
            reason: error.to_string(),
        })
    }
}
