//! What erasing leaves of an exchange. Its document can't be put together any more, so what follows
//! from the record is held against that, column by column; what does not follow is named in
//! docs/threats.md.

use crate::govern::drift::{DriftClass, ValidatorSummary, checks_told, notes_of, rule_of};
use crate::record::canon;
use crate::record::exchange::ExchangeOutcome;
use crate::record::hash::Hash32;
use crate::record::ledger::bundle::Exclusion;
use crate::record::ledger::documents::{Record, ValidatorFlags};
use crate::record::ledger::params::Params;
use crate::record::ledger::prompt::ON_RECORD;
use crate::store::ExchangeRows;

use super::database::RowCheck;
use super::exchange_rows::ExchangeEvidence;

impl RowCheck<'_> {
    /// Flags, refusal and authority of an answer are those of its `record.json`.
    pub(super) fn check_verdicts(&mut self, rows: &ExchangeRows<'_>, record: Option<&Record>) {
        let (id, place, row) = (Some(rows.session.id), rows.place(), rows.exchange);
        let outcome = row.outcome.as_ref();
        if let Some(record) = record {
            let refusal = outcome.and_then(|outcome| outcome.refusal);
            self.cell_opt(id, &place, "refusal", Some(record.refusal), refusal);
            let (expected, actual) = (record.authority_state, row.authority_state);
            self.cell(
                id,
                &place,
                "authority_state",
                expected.name(),
                actual.name(),
            );
        }
        let stored = outcome.and_then(|outcome| outcome.validator_summary.as_deref());
        let Some(stored) = stored else { return };
        let flags = record.map(|record| record.validator);
        let expected = summary(stored, flags).unwrap_or_else(|| "flags and notes".to_owned());
        self.cell(id, &place, "validator_summary", expected.as_str(), stored);
    }

    /// Columns of an erased exchange that are empty, or follow from what is on record.
    pub(super) fn check_left(&mut self, evidence: &ExchangeEvidence<'_>) {
        let rows = &evidence.rows;
        let row = rows.exchange;
        let question = rows.user.as_ref().and_then(|turn| turn.content.as_ref());
        let is_erased = row.salt.is_none() && question.is_none() && row.not_kept.is_none();
        if !is_erased || row.outcome.is_none() {
            return;
        }
        self.check_emptied(rows);
        let (id, place) = (Some(rows.session.id), rows.place());
        let end = row.outcome.as_ref().map(|outcome| outcome.outcome);
        let decided = match end {
            Some(ExchangeOutcome::Answered) => Some("allow"),
            Some(ExchangeOutcome::Denied) => Some("deny"),
            _ => None,
        };
        if let Some(decided) = decided {
            self.cell(id, &place, "decision", decided, row.decision.as_str());
        }
        let reason = row.outcome.as_ref().and_then(|end| end.reason.as_deref());
        if end == Some(ExchangeOutcome::Answered) {
            self.cell_opt(id, &place, "reason", None, reason);
        }
        let numbers = |text: &String| Params::parse(text).ok()?.without_content().canonical().ok();
        if let Some(stored) = &row.params {
            let expected = numbers(stored).unwrap_or_else(|| "numbers of a call".to_owned());
            self.cell(id, &place, "params", expected.as_str(), stored.as_str());
        }
        let list = canon::parse::<Vec<Exclusion>>(row.exclusions.as_bytes());
        if list.is_err() {
            let expected = "a list of what was left out";
            self.cell(id, &place, "exclusions", expected, row.exclusions.as_str());
        }
        self.check_drift_left(evidence);
    }

    /// Nothing that was made from the texts is there.
    fn check_emptied(&mut self, rows: &ExchangeRows<'_>) {
        let (id, place, row) = (Some(rows.session.id), rows.place(), rows.exchange);
        let outcome = row.outcome.as_ref();
        let context = rows.context.as_ref();
        let turn = context.map(|context| &context.row);
        let event = context.and_then(|context| context.events.iter().find_map(|one| one.digest));
        let emptied: [(&str, Option<Hash32>); 5] = [
            ("prompt_hash", row.prompt_hash),
            (
                "reply_commitment",
                outcome.and_then(|end| end.reply_commitment),
            ),
            ("context_digest", turn.and_then(|turn| turn.context_digest)),
            ("prompt_digest", turn.and_then(|turn| turn.prompt_digest)),
            ("event_digest", event),
        ];
        for (column, stored) in emptied {
            self.cell_opt(id, &place, column, None, stored);
        }
        let bundle = row.bundle_json.as_deref();
        self.cell_opt(id, &place, "context_bundle_json", None, bundle);
        for one in &rows.refs {
            let place = format!("context_artifact_ref {}", one.ref_id);
            self.cell_opt(id, &place, "risk_flags", None, one.risk_flags.as_deref());
            if !ON_RECORD.contains(&one.artifact_type.as_str()) {
                self.cell_opt(id, &place, "artifact_hash", None, one.artifact_hash);
            }
        }
    }

    /// Notes and drift events say the same, and the kernel says how severe each is.
    fn check_drift_left(&mut self, evidence: &ExchangeEvidence<'_>) {
        let rows = &evidence.rows;
        let id = Some(rows.session.id);
        let outcome = rows.exchange.outcome.as_ref();
        let stored = outcome.and_then(|outcome| outcome.validator_summary.as_deref());
        let stored = stored.and_then(|text| canon::parse::<ValidatorSummary>(text.as_bytes()).ok());
        let checks = stored
            .as_ref()
            .and_then(|stored| checks_told(&stored.notes));
        if let (Some(stored), Some(checks)) = (stored, checks) {
            let events = rows.drift.iter();
            let events = events.map(|one| (one.class.as_str(), one.summary.as_str()));
            let notes = notes_of(checks, &events.collect::<Vec<_>>());
            self.cell(
                id,
                &rows.place(),
                "notes of its checks",
                notes,
                stored.notes,
            );
        }
        let Some(Ok(kernel)) = evidence.kernel else {
            return;
        };
        for one in &rows.drift {
            let place = format!("drift_event {}", one.drift_id);
            let known = DriftClass::ALL
                .into_iter()
                .find(|known| known.name() == one.class);
            let severity = known.map(|class| kernel.drift(class, rule_of(&one.summary)).0);
            self.cell_opt(
                id,
                &place,
                "severity",
                severity,
                Some(one.severity.as_str()),
            );
        }
    }
}

/// A validator summary as it is spelled, with the flags on record, and the notes that it has.
fn summary(stored: &str, flags: Option<ValidatorFlags>) -> Option<String> {
    let found: ValidatorSummary = serde_json::from_str(stored).ok()?;
    let flags = flags.unwrap_or(found.flags);
    Some(ValidatorSummary { flags, ..found }.canonical())
}
