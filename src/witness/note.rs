//! The note that holds the cosignatures of a tree head, in `refs/notes/witness` on its commit.

use std::collections::BTreeMap;

use crate::ledger::read::{RefTarget, Repository};
use crate::record::ledger::commit::NOTES_WITNESS;
use crate::record::time::Seconds;
use crate::record::tree::SignedNote;
use crate::record::tree::note::{CosignedNote, MAX_SIGNATURES, NoteSignature};
use crate::recorder::{Paths, put_notes};

use super::{LatestTreeHead, WitnessError};

/// The cosigned note that stands on a tree head's commit; none when there is none, or one of
/// another head.
pub fn standing(
    paths: &Paths,
    head: &LatestTreeHead,
) -> Result<Option<CosignedNote>, WitnessError> {
    let repository = Repository::open(&paths.ledger())?;
    let tip = repository
        .refs()?
        .into_iter()
        .find_map(|found| match found.target {
            RefTarget::Direct(id) if found.name == NOTES_WITNESS => Some(id),
            _ => None,
        });
    let Some(tip) = tip else { return Ok(None) };
    let failed = |fault| WitnessError::Notes {
        place: NOTES_WITNESS,
        fault,
    };
    let Some(blob) = repository
        .notes(&tip)
        .map_err(failed)?
        .get(&head.commit)
        .copied()
    else {
        return Ok(None);
    };
    let bytes = repository.blob(&blob).map_err(failed)?;
    Ok(read(&bytes, &head.note))
}

/// Puts new cosignatures beside those that stand there; false when there was nothing new.
pub fn add(
    paths: &Paths,
    head: &LatestTreeHead,
    lines: Vec<NoteSignature>,
    now: Seconds,
) -> Result<bool, WitnessError> {
    if lines.is_empty() {
        return Ok(false);
    }
    let new = CosignedNote {
        head: head.note.clone(),
        others: lines,
    };
    let notes = BTreeMap::from([(head.commit, new.print().into_bytes())]);
    let merge = |standing: Option<&[u8]>, new: &[u8]| merged(standing, new, &head.note);
    Ok(put_notes(paths, NOTES_WITNESS, &notes, now, &merge)?.is_some())
}

/// Both notes' lines, in one order, one for each key: the one that stands there first. None when
/// nothing is new.
fn merged(standing: Option<&[u8]>, new: &[u8], head: &SignedNote) -> Option<Vec<u8>> {
    let standing = standing.and_then(|bytes| read(bytes, head));
    let new = read(new, head)?;
    let mut lines = standing
        .as_ref()
        .map(|note| note.others.clone())
        .unwrap_or_default();
    for line in new.others {
        let known = lines
            .iter()
            .any(|known| known.name == line.name && known.key_id == line.key_id);
        if !known && lines.len() + 1 < MAX_SIGNATURES {
            lines.push(line);
        }
    }
    lines.sort();
    let made = CosignedNote {
        head: head.clone(),
        others: lines,
    };
    (standing.as_ref() != Some(&made)).then(|| made.print().into_bytes())
}

/// A note over exactly this head.
fn read(bytes: &[u8], head: &SignedNote) -> Option<CosignedNote> {
    let note = CosignedNote::parse(std::str::from_utf8(bytes).ok()?).ok()?;
    (note.head == *head).then_some(note)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::hash::Hash32;
    use crate::record::signature::Signature;

    fn head(size: u64) -> SignedNote {
        let (root, signature) = (Hash32::digest(b"root"), Signature::from_bytes([7; 64]));
        SignedNote {
            origin: "gently/test".to_owned(),
            size,
            root,
            key_id: [1, 2, 3, 4],
            signature,
        }
    }

    fn line(name: &str, time: u8) -> NoteSignature {
        NoteSignature {
            name: name.to_owned(),
            key_id: [9; 4],
            signature: vec![time; 72],
        }
    }

    fn note(size: u64, others: &[NoteSignature]) -> Vec<u8> {
        CosignedNote {
            head: head(size),
            others: others.to_vec(),
        }
        .print()
        .into_bytes()
    }

    #[test]
    fn cosignatures_gather_in_one_order_and_the_first_of_a_key_stays() {
        let both = note(5, &[line("a", 1), line("b", 1)]);
        assert_eq!(
            merged(
                Some(&note(5, &[line("b", 1)])),
                &note(5, &[line("a", 1)]),
                &head(5)
            ),
            Some(both.clone())
        );
        assert_eq!(
            merged(Some(&both), &note(5, &[line("a", 2)]), &head(5)),
            None
        );
        assert_eq!(merged(None, &both, &head(5)), Some(both.clone()));
        // What is there and is not about this head, or no note at all, gives way; git's history
        // keeps it.
        assert_eq!(
            merged(Some(&note(4, &[line("z", 1)])), &both, &head(5)),
            Some(both.clone())
        );
        assert_eq!(merged(Some(b"rubbish"), &both, &head(5)), Some(both));
    }
}
