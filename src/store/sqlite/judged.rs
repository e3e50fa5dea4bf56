//! What a judgement found, as rows.

use rusqlite::params;

use super::Tx;
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
