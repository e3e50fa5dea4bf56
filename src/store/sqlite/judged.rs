//! What a judgement found, as rows; and when turns become searchable.

use rusqlite::params;

use super::{Tx, failed};
use crate::store::{AssertionRow, DriftRow, StoreError};

/// Adds a drift event.
pub(super) fn drift(tx: &Tx<'_>, d: &DriftRow) -> Result<(), StoreError> {
    tx.change(
        "add a drift event",
        "INSERT INTO drift_event VALUES (?1, 'DRIFTWATCH', ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            d.drift_id,
            d.exchange.to_string(),
            d.class,
            d.severity,
            d.prompt_hash.to_string(),
            d.response_hash.to_string(),
            d.summary,
            d.created_at.as_i64(),
        ],
    )
    .map(|_| ())
}

/// Adds a check.
pub(super) fn assertion(tx: &Tx<'_>, a: &AssertionRow) -> Result<(), StoreError> {
    tx.change(
        "add an assertion",
        "INSERT INTO assertion_event (assertion_id, exchange_id, name, level, passed, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![a.assertion_id.to_string(), a.exchange.to_string(), a.name, a.level, a.passed, a.created_at.as_i64(),],
    )
    .map(|_| ())
}

impl Tx<'_> {
    /// The place of the newest turn; 0 before the first.
    pub(super) fn last_turn(&self) -> Result<i64, StoreError> {
        let mut newest =
            self.0.prepare_cached("SELECT coalesce(max(rowid), 0) FROM chat_turn").map_err(failed("count turns"))?;
        newest.query_row([], |row| row.get(0)).map_err(failed("count turns"))
    }

    /// Puts the turns behind a place into the search index.
    pub(super) fn make_searchable(&self, after: i64) -> Result<(), StoreError> {
        let what = "make turns searchable";
        let numbers = "INSERT INTO turn_index (turn_id)
                       SELECT turn_id FROM chat_turn WHERE rowid > ?1 AND content IS NOT NULL ORDER BY rowid";
        let words = "INSERT INTO turn_fts (rowid, content)
                     SELECT x.n, t.content FROM chat_turn t JOIN turn_index x ON x.turn_id = t.turn_id
                     WHERE t.rowid > ?1 AND t.content IS NOT NULL ORDER BY x.n";
        if self.change(what, numbers, [after])? > 0 {
            self.change(what, words, [after])?;
        }
        Ok(())
    }
}
