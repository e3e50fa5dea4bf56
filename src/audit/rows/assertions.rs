//! Assertions of the database against the judgement that the exchange document covers.
//!
//! The validator summary and the drift events are inside `exchange_hash`. They say how many checks
//! there were, and which of them found something; the kernel says what each is worth; a row's id
//! belongs to its name. So no check can be added, taken away, renamed or turned without a finding.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::govern::drift::{DriftClass, checks_told, rule_of};
use crate::govern::kernel::Kernel;
use crate::record::ledger::exchange::{assertion_label, row_id};
use crate::store::AssertionRow;

use super::database::RowCheck;
use super::exchange_rows::ExchangeEvidence;
use crate::verify::VerifyError;

impl RowCheck<'_> {
    /// Checks the assertions of one exchange; none are expected where there was no judgement.
    pub fn check_assertions(&mut self, evidence: &ExchangeEvidence<'_>) -> Result<(), VerifyError> {
        let rows = &evidence.rows;
        let Some(found) = self.rows(self.store.assertions(rows.exchange.exchange_id))? else {
            return Ok(());
        };
        let (id, place) = (Some(rows.session.id), rows.place());
        let outcome = rows.exchange.outcome.as_ref();
        let notes = outcome
            .and_then(|outcome| outcome.validator_summary.as_deref())
            .and_then(notes);
        let told = notes.as_deref().and_then(checks_told).unwrap_or_default();
        self.cell(id, &place, "assertion_event rows", told, found.len());
        if found.is_empty() {
            return Ok(());
        }
        let event = |class: &str, summary: &str| format!("{class}.{}", rule_of(summary));
        let drift: BTreeSet<String> = rows
            .drift
            .iter()
            .map(|d| event(&d.class, &d.summary))
            .collect();
        let failed: BTreeSet<String> = found
            .iter()
            .filter(|row| !row.passed)
            .map(|row| row.name.clone())
            .collect();
        let list = |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>().join(", ");
        self.cell(
            id,
            &place,
            "checks that found drift:",
            list(drift),
            list(failed),
        );
        let kernel = evidence.kernel.as_ref();
        let kernel = kernel.and_then(|kernel| kernel.as_ref().ok());
        for row in &found {
            let place = format!("assertion_event {}", row.assertion_id);
            let derived = row_id(
                &assertion_label(&row.name),
                rows.session.id,
                rows.exchange.seq,
            );
            self.cell(id, &place, "assertion_id", derived, row.assertion_id);
            self.cell_opt(
                id,
                &place,
                "created_at",
                outcome.map(|outcome| outcome.answered_at),
                Some(row.created_at),
            );
            if let Some(kernel) = kernel {
                self.cell_opt(
                    id,
                    &place,
                    "level",
                    level(kernel, row),
                    Some(row.level.clone()),
                );
            }
        }
        Ok(())
    }
}

fn notes(summary: &str) -> Option<String> {
    let summary: Value = serde_json::from_str(summary).ok()?;
    summary.get("notes")?.as_str().map(str::to_owned)
}

/// What the kernel makes of a check; none for a class that there is not.
fn level(kernel: &Kernel, row: &AssertionRow) -> Option<String> {
    let (class, rule) = row.name.split_once('.')?;
    let class = DriftClass::ALL
        .into_iter()
        .find(|known| known.name() == class)?;
    Some(kernel.drift(class, rule).1.level().to_owned())
}
