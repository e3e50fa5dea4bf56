//! The ledger's half of applying: objects, then refs, by compare-and-swap from the applied tips.

use std::collections::BTreeMap;

use crate::ledger::read::RefTarget;
use crate::ledger::write::Ledger;
use crate::ledger::{LedgerError, Oid};
use crate::record::ledger::commit::CommitKind;
use crate::store::{CommitRow, LedgerHead, ReadStore};

use super::super::RecorderError;
use super::{GitKnowledge, Paths, PendingWrites, apply_error};
use crate::recorder::batch::failpoint::{Failpoint, FailpointWatch, pass};
use crate::recorder::batch::transaction::{EntryFiles, oid, segment};
use crate::recorder::comparison::{ExpectedRef, RefPosition, compare_refs};

/// Every ref that the database knows.
pub(super) type ExpectedRefs = BTreeMap<String, ExpectedRef>;

pub(super) fn open_ledger(paths: &Paths) -> Result<Ledger, RecorderError> {
    Ledger::open(&paths.ledger()).map_err(apply_error("opening ledger.git"))
}

/// Where the database has its refs, on the way from the applied mark through pending commits.
pub(super) fn expected(
    store: &ReadStore,
    head: &LedgerHead,
    pending: &[CommitRow],
) -> Result<ExpectedRefs, RecorderError> {
    let mut all = BTreeMap::new();
    for reference in store.refs()? {
        let applied = store
            .tip(&reference, head.applied.commits)?
            .as_ref()
            .map(oid)
            .transpose()?;
        let on_it = pending.iter().filter(|row| row.reference == reference);
        let pending = on_it.map(oid).collect::<Result<_, _>>()?;
        all.insert(reference, ExpectedRef { applied, pending });
    }
    Ok(all)
}

/// Where every ref is; refuses when one is where the database does not know it.
pub(super) fn positions(
    ledger: &Ledger,
    expected: &ExpectedRefs,
) -> Result<BTreeMap<String, RefPosition>, RecorderError> {
    let mut names = ledger
        .branches()
        .map_err(apply_error("listing the branches of ledger.git"))?;
    names.extend(expected.keys().cloned());
    let mut found = BTreeMap::new();
    for name in names {
        let is_known = expected.contains_key(&name);
        let target = match ledger.tip(&name) {
            Ok(Some(id)) => RefTarget::Direct(id),
            Err(LedgerError::TornRef { found, .. }) if is_known => RefTarget::Broken(found),
            Err(e) if is_known => return Err(apply_error("reading a ref of ledger.git")(e)),
            Ok(None) if is_known => continue,
            // A branch that nobody here made, whatever it is.
            _ => RefTarget::Broken("such a ref".to_owned()),
        };
        found.insert(name, target);
    }
    Ok(compare_refs(expected, &found)?)
}

/// Writes pending objects, then moves refs; returns what waits for its sync, and how much was
/// missing.
pub(super) fn apply_commits(
    store: &ReadStore,
    head: &LedgerHead,
    (paths, watch): (&Paths, &FailpointWatch),
    pending: &PendingWrites,
    from: GitKnowledge,
) -> Result<(Option<Ledger>, u64), RecorderError> {
    let mut ledger = open_ledger(paths)?;
    let refs = expected(store, head, &pending.commits)?;
    let positions = positions(&ledger, &refs)?;
    if pending.commits.is_empty()
        && positions
            .values()
            .all(|position| matches!(position, RefPosition::Known(_)))
    {
        pass(watch, Failpoint::AfterObjects).map_err(apply_error("writing objects"))?;
        return Ok((None, 0));
    }
    let at_mark = positions
        .values()
        .zip(refs.values())
        .all(|(position, expected)| *position == RefPosition::Known(expected.applied));
    let tips: Option<Vec<Oid>> = (from == GitKnowledge::Mark && at_mark).then(|| {
        refs.values()
            .filter_map(|expected| expected.applied)
            .collect()
    });
    let objects = put_all(store, &mut ledger, pending, (watch, tips.as_deref()))?;
    pass(watch, Failpoint::AfterObjects).map_err(apply_error("writing objects"))?;
    let mut moved = 0;
    for (reference, expected) in &refs {
        let Some(target) = expected.tip() else {
            continue;
        };
        let result = match positions.get(reference) {
            Some(RefPosition::Torn) => {
                moved += 1;
                pass(watch, Failpoint::Ref).map_err(apply_error("moving refs"))?;
                ledger.overwrite_torn_ref(reference, target)
            }
            Some(RefPosition::Known(from)) if !expected.pending.is_empty() => {
                moved += u64::from(*from != Some(target));
                pass(watch, Failpoint::Ref).map_err(apply_error("moving refs"))?;
                ledger.move_ref(reference, *from, target)
            }
            _ => continue,
        };
        result.map_err(apply_error("moving a ref of ledger.git"))?;
    }
    Ok((Some(ledger), objects.max(moved)))
}

/// Writes the objects of pending commits; returns for how many any was missing or torn. With tips,
/// which are those of all refs, none of the objects is looked for.
fn put_all(
    store: &ReadStore,
    ledger: &mut Ledger,
    pending: &PendingWrites,
    (watch, tips): (&FailpointWatch, Option<&[Oid]>),
) -> Result<u64, RecorderError> {
    let mut missing = 0;
    for row in &pending.commits {
        pass(watch, Failpoint::Object).map_err(apply_error("writing objects"))?;
        let files = files_of(store, row)?;
        let before = ledger.written();
        match tips {
            Some(tips) => ledger.put_new(&row.raw, &files, tips),
            None => ledger.put(&row.raw, &files),
        }
        .map_err(apply_error("writing objects to ledger.git"))?;
        missing += u64::from(ledger.written() != before);
    }
    ledger
        .write_objects()
        .map_err(apply_error("writing objects to ledger.git"))?;
    Ok(missing)
}

/// The tree of a stored commit: its stored files, and the lines of its segment.
pub(in crate::recorder) fn files_of(
    store: &ReadStore,
    row: &CommitRow,
) -> Result<EntryFiles, RecorderError> {
    let stored = store.files(row.tree_of.unwrap_or(row.n))?;
    let mut files = EntryFiles::new();
    for (name, bytes) in stored {
        let known = row
            .kind
            .files(true)
            .into_iter()
            .find(|known| *known == name);
        let known = known.ok_or_else(|| RecorderError::Unrecordable {
            what: "ledger_file.name",
            reason: name.clone(),
        })?;
        files.insert(known, bytes);
    }
    if let Some((from, to)) = row.segment {
        files.insert("audit.log", segment(&store.lines(from, to)?));
    }
    debug_assert!(row.kind != CommitKind::Interaction || files.len() == 5);
    Ok(files)
}
