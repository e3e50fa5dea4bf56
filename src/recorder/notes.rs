//! Notes beside the ledger's commits: proofs and cosignatures of others, which come after the fact
//! (format, section 2).
//!
//! They are no records: no line, no row, no signature of ours. They prove themselves, so nothing
//! but the writer's lock and the order of the ledger's writes is needed here.

use std::collections::BTreeMap;

use crate::ledger::Oid;
use crate::ledger::write::Ledger;
use crate::record::time::Seconds;

use super::apply::{Paths, apply_error};
use super::{RecorderError, WAIT, WriterLock};

/// What becomes of a note: the one that stands there and the new one make the one that is written;
/// none leaves it.
pub type Merge<'a> = &'a dyn Fn(Option<&[u8]>, &[u8]) -> Option<Vec<u8>>;

/// Writes notes on commits of `main` in one commit of `refs/notes/…`, under the writer's lock;
/// durable on return.
///
/// What stands there is read under the lock and merged, so that two processes lose nothing of each
/// other's. Returns the ref's new tip; none when nothing had to be written. `now` is the time of
/// the notes commit.
pub fn put_notes(
    paths: &Paths,
    reference: &str,
    notes: &BTreeMap<Oid, Vec<u8>>,
    now: Seconds,
    merge: Merge<'_>,
) -> Result<Option<Oid>, RecorderError> {
    if notes.is_empty() {
        return Ok(None);
    }
    let _lock = WriterLock::acquire_within(&paths.lock(), WAIT)?;
    let failed = apply_error("writing notes to ledger.git");
    let mut ledger = Ledger::open(&paths.ledger()).map_err(&failed)?;
    let standing = ledger
        .notes_on(reference, notes.keys().copied())
        .map_err(&failed)?;
    let mut merged = BTreeMap::new();
    for (commit, content) in notes {
        if let Some(made) = merge(standing.get(commit).map(Vec::as_slice), content) {
            merged.insert(*commit, made);
        }
    }
    ledger.put_notes(reference, &merged, now).map_err(&failed)
}
