//! Notes on commits of `main`: timestamps and cosignatures, as they stand in the ledger (format,
//! section 2).

use crate::ledger::Oid;
use crate::ledger::read::{RefTarget, Repository};
use crate::record::ledger::commit::MAIN;
use crate::store::{CommitRow, Store};

use super::{OpenTextsError, broken};

/// A commit of `main` that has a note.
pub(super) struct CommitNote {
    pub commit: CommitRow,
    blob: Oid,
}

impl CommitNote {
    /// What the note says; in words why it can't be read.
    pub fn text(&self, repository: &Repository) -> Result<Vec<u8>, String> {
        repository
            .blob(&self.blob)
            .map_err(|fault| format!("the note of {}: {}", self.commit.id, fault.actual()))
    }
}

/// The commits of `main` that have a note under a ref, in the order of their lines; in words why
/// there are none that can be read.
pub(super) fn noted(
    store: &Store,
    repository: &Repository,
    reference: &str,
) -> Result<Result<Vec<CommitNote>, String>, OpenTextsError> {
    let refs = repository.refs().map_err(broken)?;
    let tip = refs
        .into_iter()
        .find(|found| found.name == reference)
        .map(|found| found.target);
    let Some(RefTarget::Direct(tip)) = tip else {
        return Ok(Ok(Vec::new()));
    };
    let notes = match repository.notes(&tip) {
        Ok(notes) => notes,
        Err(fault) => return Ok(Err(format!("{reference}: {}", fault.actual()))),
    };
    let mut found = Vec::new();
    for (commit, blob) in notes {
        // A note on something that the database does not know is nobody's here.
        let row = store.like::<CommitRow>(&commit.to_string(), 1)?.pop();
        found.extend(
            row.filter(|row| row.reference == MAIN)
                .map(|commit| CommitNote { commit, blob }),
        );
    }
    found.sort_by_key(|noted| noted.commit.n);
    Ok(Ok(found))
}
