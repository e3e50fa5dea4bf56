//! The ledger's half of applying: objects, then refs, by compare-and-swap from the applied tips.

use std::collections::BTreeMap;

use crate::ledger::write::Ledger;
use crate::ledger::{LedgerError, Oid};
use crate::record::ledger::commit::CommitKind;
use crate::store::{CommitRow, LedgerHead, ReadStore};

use super::super::RecorderError;
use super::{From, Paths, PendingWrites, unapplied};
use crate::recorder::batch::failpoint::{Failpoint, FailpointWatch, pass};
use crate::recorder::batch::transaction::{EntryFiles, oid, segment};

/// How one ref has to move: from the applied tip, through the pending commits, to the last of them.
pub(super) struct Moves {
    applied: Option<Oid>,
    pending: Vec<Oid>,
}

impl Moves {
    fn target(&self) -> Option<Oid> {
        self.pending.last().copied().or(self.applied)
    }

    fn disagree(&self, reference: &str, actual: Option<Oid>) -> RecorderError {
        let (ahead, behind) = if actual.is_none() {
            ("the database", "ledger.git")
        } else {
            ("ledger.git", "the database")
        };
        let spell = |id: Option<Oid>| id.map_or("no such ref".to_owned(), |id| id.to_string());
        RecorderError::Disagree {
            ahead,
            behind,
            place: reference.to_owned(),
            expected: spell(self.applied),
            actual: spell(actual),
        }
    }
}

/// How every ref that the database knows has to move.
pub(super) type AllMoves = BTreeMap<String, Moves>;

/// Where a ref is.
pub(super) enum RefPosition {
    /// At the applied tip or at a pending commit.
    Known(Option<Oid>),
    /// Cut by a power loss: it holds nothing that could be somebody's history.
    Torn,
}

impl RefPosition {
    fn is(&self, tip: Option<Oid>) -> bool {
        matches!(self, RefPosition::Known(actual) if *actual == tip)
    }
}

pub(super) fn open_ledger(paths: &Paths) -> Result<Ledger, RecorderError> {
    Ledger::open(&paths.ledger()).map_err(unapplied("opening ledger.git"))
}

pub(super) fn moves(
    store: &ReadStore,
    head: &LedgerHead,
    pending: &PendingWrites,
) -> Result<AllMoves, RecorderError> {
    let mut all = BTreeMap::new();
    for reference in store.refs()? {
        let applied = store
            .tip(&reference, head.applied.commits)?
            .as_ref()
            .map(oid)
            .transpose()?;
        let on_it = pending
            .commits
            .iter()
            .filter(|row| row.reference == reference);
        let pending = on_it.map(oid).collect::<Result<_, _>>()?;
        all.insert(reference, Moves { applied, pending });
    }
    Ok(all)
}

fn place(ledger: &Ledger, reference: &str, moves: &Moves) -> Result<RefPosition, RecorderError> {
    match ledger.tip(reference) {
        Ok(actual) if actual == moves.applied => Ok(RefPosition::Known(actual)),
        Ok(Some(actual)) if moves.pending.contains(&actual) => Ok(RefPosition::Known(Some(actual))),
        Ok(actual) => Err(moves.disagree(reference, actual)),
        Err(LedgerError::TornRef { .. }) => Ok(RefPosition::Torn),
        Err(e) => Err(unapplied("reading a ref of ledger.git")(e)),
    }
}

/// Where every ref is; refuses when one is where the database does not know it.
pub(super) fn places(
    ledger: &Ledger,
    moves: &AllMoves,
) -> Result<BTreeMap<String, RefPosition>, RecorderError> {
    let places = moves
        .iter()
        .map(|(reference, moves)| Ok((reference.clone(), place(ledger, reference, moves)?)));
    let places = places.collect::<Result<_, RecorderError>>()?;
    refuse_unknown_refs(ledger, moves)?;
    Ok(places)
}

/// Writes pending objects, then moves refs; returns what waits for its sync, and how much was
/// missing.
pub(super) fn apply_commits(
    store: &ReadStore,
    head: &LedgerHead,
    (paths, watch): (&Paths, &FailpointWatch),
    pending: &PendingWrites,
    from: From,
) -> Result<(Option<Ledger>, u64), RecorderError> {
    let mut ledger = open_ledger(paths)?;
    let moves = moves(store, head, pending)?;
    let places = places(&ledger, &moves)?;
    if pending.commits.is_empty()
        && places
            .values()
            .all(|place| matches!(place, RefPosition::Known(_)))
    {
        pass(watch, Failpoint::AfterObjects).map_err(unapplied("writing objects"))?;
        return Ok((None, 0));
    }
    let at_mark = places
        .values()
        .zip(moves.values())
        .all(|(place, moves)| place.is(moves.applied));
    let tips: Option<Vec<Oid>> = (from == From::Mark && at_mark)
        .then(|| moves.values().filter_map(|moves| moves.applied).collect());
    let objects = put_all(store, &mut ledger, pending, (watch, tips.as_deref()))?;
    pass(watch, Failpoint::AfterObjects).map_err(unapplied("writing objects"))?;
    let mut moved = 0;
    for (reference, moves) in &moves {
        let Some(target) = moves.target() else {
            continue;
        };
        let result = match places.get(reference) {
            Some(RefPosition::Torn) => {
                moved += 1;
                pass(watch, Failpoint::Ref).map_err(unapplied("moving refs"))?;
                ledger.overwrite_torn_ref(reference, target)
            }
            Some(RefPosition::Known(from)) if !moves.pending.is_empty() => {
                moved += u64::from(*from != Some(target));
                pass(watch, Failpoint::Ref).map_err(unapplied("moving refs"))?;
                ledger.move_ref(reference, *from, target)
            }
            _ => continue,
        };
        result.map_err(unapplied("moving a ref of ledger.git"))?;
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
        pass(watch, Failpoint::Object).map_err(unapplied("writing objects"))?;
        let files = files_of(store, row)?;
        let before = ledger.written();
        match tips {
            Some(tips) => ledger.put_new(&row.raw, &files, tips),
            None => ledger.put(&row.raw, &files),
        }
        .map_err(unapplied("writing objects to ledger.git"))?;
        missing += u64::from(ledger.written() != before);
    }
    ledger
        .write_objects()
        .map_err(unapplied("writing objects to ledger.git"))?;
    Ok(missing)
}

/// Branches are the database's, all of them; notes are not its affair.
fn refuse_unknown_refs(ledger: &Ledger, known: &AllMoves) -> Result<(), RecorderError> {
    let found = ledger
        .branches()
        .map_err(unapplied("listing the branches of ledger.git"))?;
    let Some(name) = found.into_iter().find(|name| !known.contains_key(name)) else {
        return Ok(());
    };
    let actual = ledger
        .tip(&name)
        .ok()
        .flatten()
        .map_or_else(|| "such a ref".to_owned(), |id| id.to_string());
    let expected = "no such ref".to_owned();
    Err(RecorderError::Disagree {
        ahead: "ledger.git",
        behind: "the database",
        place: name,
        expected,
        actual,
    })
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
