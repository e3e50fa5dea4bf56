//! What was injected into a prompt, and what a judgement found, as rows.

use rusqlite::params;

use super::Tx;
use super::columns::int;
use crate::record::time::Seconds;
use crate::store::{ArtifactRefRow, AssertionRow, DriftRow, StoreError};

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

/// Adds the checks of one exchange.
pub(super) fn assertions(tx: &Tx<'_>, rows: &[AssertionRow]) -> Result<(), StoreError> {
    let Some(line) = rows
        .first()
        .map(|row| tx.line_of(row.exchange))
        .transpose()?
    else {
        return Ok(());
    };
    let into = "INSERT INTO assertion_event (line, assertion_id, exchange_id, name, level, passed, created_at)";
    tx.add_all("add an assertion", (into, 7), rows, |a, values| {
        values.put(line)?;
        values.put(a.assertion_id.to_string())?;
        values.put(a.exchange.to_string())?;
        values.put(&a.name)?;
        values.put(&a.level)?;
        values.put(a.passed)?;
        values.put(a.created_at.as_i64())
    })
}

/// Adds what was injected into one exchange; the order of the rows is the order of their numbers.
pub(super) fn artifact_refs(tx: &Tx<'_>, rows: &[ArtifactRefRow]) -> Result<(), StoreError> {
    let Some(line) = rows
        .first()
        .map(|row| tx.line_of(row.exchange))
        .transpose()?
    else {
        return Ok(());
    };
    let into = "INSERT INTO context_artifact_ref (line, ref_id, exchange_id, artifact_type, artifact_id, artifact_hash,
                  included_reason, observed_at, freshness_s, risk_flags)";
    tx.add_all(
        "add an artifact reference",
        (into, 10),
        rows,
        |r, values| {
            values.put(line)?;
            values.put(r.ref_id.to_string())?;
            values.put(r.exchange.to_string())?;
            values.put(&r.artifact_type)?;
            values.put(&r.artifact_id)?;
            values.put(r.artifact_hash.map(|hash| hash.to_string()))?;
            values.put(&r.included_reason)?;
            values.put(r.observed_at.map(Seconds::as_i64))?;
            values.put(r.freshness_s.map(int))?;
            values.put(&r.risk_flags)
        },
    )
}
