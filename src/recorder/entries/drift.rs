//! DriftWatch events on record: a row and a line each (AEGIS 9.3; format, section 4).

use crate::govern::drift::Judgement;
use crate::record::hash::Hash32;
use crate::record::ledger::exchange::{assertion_label, row_id};
use crate::record::log::entry::{DriftClass, Event};
use crate::record::time::Seconds;
use crate::store::{AssertionRow, DriftRow, ExchangeRow, SessionRow};

use crate::recorder::RecorderError;
use crate::recorder::batch::transaction::LedgerTransaction;

/// The events of a judgement, as rows.
pub fn drift_rows(
    session: &SessionRow,
    row: &ExchangeRow,
    judgement: &Judgement,
    response: Hash32,
    now: Seconds,
) -> Vec<DriftRow> {
    let events = judgement.events().iter().enumerate();
    events
        .map(|(i, event)| DriftRow {
            drift_id: row_id(&format!("drift/{i}"), session.id, row.seq).to_string(),
            exchange: row.exchange_id,
            class: event.class.name().to_owned(),
            severity: event.severity.clone(),
            prompt_hash: row.prompt_commitment,
            response_hash: response,
            summary: event.summary.clone(),
            created_at: now,
        })
        .collect()
}

/// The checks of a judgement, as rows.
pub fn assertion_rows(
    session: &SessionRow,
    row: &ExchangeRow,
    judgement: &Judgement,
    now: Seconds,
) -> Vec<AssertionRow> {
    let checks = judgement.checks().iter();
    checks
        .map(|check| AssertionRow {
            assertion_id: row_id(&assertion_label(&check.name), session.id, row.seq),
            exchange: row.exchange_id,
            name: check.name.clone(),
            level: check.level.to_owned(),
            passed: check.passed,
            created_at: now,
        })
        .collect()
}

/// Puts what a judgement found on record, beside its exchange.
pub fn put_judgement(
    transaction: &mut LedgerTransaction<'_>,
    drift: &[DriftRow],
    checks: &[AssertionRow],
) -> Result<(), RecorderError> {
    for event in drift {
        transaction.tx.put(event)?;
    }
    Ok(transaction.tx.put_checks(checks)?)
}

/// Appends a line for each; returns their ids.
pub fn drift_lines(
    transaction: &mut LedgerTransaction<'_>,
    session: &SessionRow,
    drift: &[DriftRow],
    seq: u64,
    time: Seconds,
) -> Result<Vec<String>, RecorderError> {
    let mut ids = Vec::new();
    for row in drift {
        let class = DriftClass::ALL.into_iter().find(|c| c.name() == row.class);
        let class = class.ok_or_else(|| RecorderError::Unrecordable {
            what: "drift class",
            reason: row.class.clone(),
        })?;
        let event = Event::Drift {
            class,
            severity: row.severity.clone(),
            seq,
            id: row.drift_id.clone(),
        };
        transaction.line_at(time, session.anchor.block.height, Some(session.id), event)?;
        ids.push(row.drift_id.clone());
    }
    Ok(ids)
}
