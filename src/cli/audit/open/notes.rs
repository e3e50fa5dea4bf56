//! Notes on commits of `main`: timestamps and cosignatures, as they stand in the ledger (format, section 1).

use crate::ledger::Oid;
use crate::ledger::read::{ObjectFault, Repository, Target};
use crate::record::limits;

/// The note on a commit in one of the notes refs; none when there is none.
pub(super) fn note(repository: &Repository, reference: &str, commit: &str) -> Result<Option<Vec<u8>>, String> {
    let refs = repository.refs().map_err(|e| e.to_string())?;
    let tip = refs.into_iter().find(|found| found.name == reference).map(|found| found.target);
    let Some(Target::Direct(tip)) = tip else { return Ok(None) };
    let read = || {
        let (tree, _) = repository.foreign_commit(&tip)?;
        match blob(repository, &tree, commit, 0)? {
            Some(id) => repository.blob(&id).map(Some),
            None => Ok(None),
        }
    };
    read().map_err(|fault: ObjectFault| format!("{reference}, note of {commit}: {}", fault.actual()))
}

/// The file whose path, without slashes, is `name`.
fn blob(repository: &Repository, tree: &Oid, name: &str, depth: usize) -> Result<Option<Oid>, ObjectFault> {
    for entry in repository.tree(tree)? {
        if entry.name == name && entry.mode == "100644" {
            return Ok(Some(entry.id));
        }
        if let Some(rest) = name.strip_prefix(&entry.name)
            && entry.mode == "40000"
            && depth < limits::NOTES_DEPTH
            && let Some(found) = blob(repository, &entry.id, rest, depth + 1)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}
