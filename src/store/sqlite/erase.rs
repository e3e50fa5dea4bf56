//! Destroying texts, and what is noted of files that are no evidence.

use rusqlite::{Connection, params};
use uuid::Uuid;

use super::columns::int;
use super::write::must_change;
use super::{Tx, failed, items};
use crate::record::time::Seconds;
use crate::store::{ExchangeRow, HomeFile, StoreError};

/// Says that the write-ahead log is to be emptied.
pub(super) const TO_SCRUB: &str = "INSERT INTO scrub VALUES (1) ON CONFLICT DO NOTHING";

/// Destroys the texts of an exchange, its salt, its bundle, and every digest made from them.
pub(super) fn exchange(
    tx: &Tx<'_>,
    e: &ExchangeRow,
    params: Option<&str>,
) -> Result<(), StoreError> {
    let what = "erase an exchange";
    let aurora = e.outcome.as_ref().and_then(|outcome| outcome.turn_aurora);
    for turn in [Some(e.turn_user), aurora].into_iter().flatten() {
        items::forget_turn(tx, &turn.to_string())?;
        let sql = "UPDATE chat_turn SET content = NULL, content_hash = NULL WHERE turn_id = ?1";
        tx.change(what, sql, [turn.to_string()])?;
    }
    let changed = tx.change(
        what,
        "UPDATE llm_exchange SET salt = NULL, prompt_hash = NULL, response_hash = NULL, context_bundle_hash = NULL,
           context_bundle_json = NULL, params = ?2 WHERE exchange_id = ?1",
        params![e.exchange_id.to_string(), params],
    )?;
    tx.change(
        what,
        "UPDATE context_artifact_ref SET risk_flags = NULL WHERE exchange_id = ?1",
        [e.exchange_id.to_string()],
    )?;
    tx.erase_turn_digests(e.exchange_id)?;
    tx.change(what, TO_SCRUB, [])?;
    must_change(
        changed,
        "llm_exchange.exchange_id",
        "an exchange",
        &e.exchange_id,
    )
}

/// Destroys the digest of a compiled prompt, and the bundle with its digest if something in it is
/// erased.
pub(super) fn context(tx: &Tx<'_>, exchange: Uuid, bundle_too: bool) -> Result<(), StoreError> {
    let sql = if bundle_too {
        "UPDATE llm_exchange SET prompt_hash = NULL, context_bundle_hash = NULL, context_bundle_json = NULL
         WHERE exchange_id = ?1"
    } else {
        "UPDATE llm_exchange SET prompt_hash = NULL WHERE exchange_id = ?1"
    };
    let changed = tx.change("erase a context", sql, [exchange.to_string()])?;
    if bundle_too {
        tx.erase_prompt_digest(exchange)?
    } else {
        tx.erase_context_digests(exchange)?
    }
    must_change(
        changed,
        "llm_exchange.exchange_id",
        "an exchange",
        &exchange,
    )
}

/// Destroys document and salt of the artifact of a line.
pub(super) fn artifact(tx: &Tx<'_>, line: u64) -> Result<(), StoreError> {
    let what = "erase an artifact";
    items::erase(tx, line)?;
    tx.change(
        what,
        "UPDATE artifact SET document = NULL, salt = NULL WHERE line = ?1",
        [int(line)],
    )?;
    let sql = "UPDATE thread SET name = NULL
               WHERE thread_id IN (SELECT id FROM artifact WHERE line = ?1 AND kind = 'thread')";
    tx.change(what, sql, [int(line)])?;
    tx.change(what, TO_SCRUB, []).map(|_| ())
}

/// Replaces what is noted of the home's files, in one transaction.
pub fn note_files(
    connection: &mut Connection,
    files: &[HomeFile],
    now: Seconds,
) -> Result<(), StoreError> {
    let what = "note the home's files";
    let tx = connection.transaction().map_err(failed(what))?;
    tx.execute("DELETE FROM home_file", [])
        .map_err(failed(what))?;
    for file in files {
        let values = params![file.name, file.sha256.to_string(), now.as_i64()];
        tx.execute("INSERT INTO home_file VALUES (?1, ?2, ?3)", values)
            .map_err(failed(what))?;
    }
    tx.commit().map_err(failed(what))
}
