//! Lines of the database that no signature covers: no writer signs them.

use crate::os::read_regular_text;
use crate::record::canon;
use crate::record::ledger::documents::Genesis;
use crate::store::{ColumnFault, LedgerHead, ReadStore, UnsignedLines};

use super::commit_row::is_of_rotation;
use super::rebuild::{Contradiction, database_is_wrong};
use crate::recorder::RecorderError;
use crate::recorder::apply::{MAX_CHECKPOINT, Paths};

/// The genesis of a database.
pub(in crate::recorder) fn genesis_of(store: &ReadStore) -> Result<Genesis, RecorderError> {
    canon::parse(store.genesis()?.as_bytes()).map_err(|e| RecorderError::Unrecordable {
        what: "head.genesis",
        reason: e.to_string(),
    })
}

/// Refuses a database with lines that no writer left unsigned.
pub fn refuse(store: &ReadStore, head: &LedgerHead) -> Result<(), RecorderError> {
    let Some(unsigned) = store.unsigned_lines(head, |note| is_of_rotation(store, head, note))?
    else {
        return refuse_column(store.head_fault(head)?);
    };
    Err(Contradiction {
        place: format!("log line {}", unsigned.from),
        database: unsigned.list(),
        holder: "the signed tree head in it",
        found: match unsigned.from.saturating_sub(1) {
            0 => "nothing: it is not one of these lines, by the key in force".to_owned(),
            n => format!("that the log ends at line {n}, so that nobody signed what follows"),
        },
        next: format!(
            "Whoever could write gently.db could put that there, and no process of gently leaves it so. {}",
            database_is_wrong()
        ),
    }
    .into())
}

/// Refuses to go on from a column that lines and commits contradict.
pub(in crate::recorder) fn refuse_column(fault: Option<ColumnFault>) -> Result<(), RecorderError> {
    let Some(fault) = fault else {
        return Ok(());
    };
    Err(Contradiction {
        place: fault.place,
        database: fault.says,
        holder: "what it holds of the record",
        found: fault.found,
        next: database_is_wrong(),
    }
    .into())
}

/// The lines of a database without a tree head that neither the one beside the log nor a commit
/// covers (the first `committed` are under one): a rebuild has them signed, and names them before.
pub(super) fn without_tree_head(
    store: &ReadStore,
    head: &LedgerHead,
    committed: u64,
    paths: &Paths,
) -> Result<Option<UnsignedLines>, RecorderError> {
    let noted = match read_regular_text(&paths.checkpoint(), MAX_CHECKPOINT) {
        Ok(text) => store.lines_under(head, &text, |note| is_of_rotation(store, head, note))?,
        Err(_) => 0,
    };
    Ok(store.lines_behind(committed.max(noted).min(head.lines), head)?)
}
