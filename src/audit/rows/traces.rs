//! What was measured of exchanges, and the commitments to their traces, against the rows that give
//! the trace again.
//!
//! The exchange document holds both, so a changed one shows in `exchange_hash`; but that can't be
//! built again of what is erased. The signed bytes of the generic trace can, from rows that are never
//! erased: [`RowCheck::check_trace`] builds them and holds them against the commitment, with the key
//! that stands beside it.

use crate::record::ledger::commitment::{Role, Scheme, commit_opened, opening_key};
use crate::record::trace::ended_turn::EndedTurn;
use crate::record::trace::mapping::{TraceMapping, TraceRequest};
use crate::store::MeasureRow;

use super::database::RowCheck;
use super::exchange_rows::ExchangeEvidence;
use crate::verify::VerifyError;

impl RowCheck<'_> {
    /// Checks the commitment to the trace of one exchange, where it has one.
    pub fn check_trace(&mut self, evidence: &ExchangeEvidence<'_>) -> Result<(), VerifyError> {
        let rows = &evidence.rows;
        let (Some(measured), Some(scheme)) = (&rows.measures, self.scheme()) else {
            return Ok(());
        };
        self.measured += 1;
        let id = Some(rows.session.id);
        let place = format!("exchange_measure of {}", rows.place());
        if rows.exchange.outcome.is_none() {
            self.fault(id, place, "none while its exchange waits", "one");
            return Ok(());
        }
        let Some(mapping) = TraceMapping::named(&measured.trace_mapping) else {
            let expected = format!("a mapping like {}", TraceMapping::First.name());
            self.fault(id, place, expected, measured.trace_mapping.clone());
            return Ok(());
        };
        self.check_trace_key(evidence, (measured, scheme), &place);
        let Some(line) = self.line_of(rows.exchange.prompt_line)? else {
            return Ok(());
        };
        let checks = self.rows(self.store.assertions(rows.exchange.exchange_id))?;
        let checks = checks.unwrap_or_default();
        let context = rows.context.as_ref().map(|context| &context.row);
        let turn = rows
            .exchange
            .ended_turn(line.hash, context, &rows.refs, &checks);
        let turn = turn.map(|turn| EndedTurn {
            measures: Some(measured.measures.clone()),
            is_erased: rows.exchange.salt.is_none(),
            ..turn
        });
        let signed = turn
            .ok_or_else(|| "the exchange has no outcome".to_owned())
            .and_then(|turn| committed_bytes(&turn, mapping));
        match signed {
            Err(reason) => self.fault(id, place, "rows that give its trace", reason),
            Ok(bytes) => {
                let key = measured.opening();
                if key.is_none() && scheme == Scheme::HmacSha256 {
                    // No openings are kept: nobody can tell.
                    return Ok(());
                }
                let found = commit_opened(key, &bytes);
                let what = "trace_commitment of its rows";
                self.cell(id, &place, what, found, measured.trace_commitment);
            }
        }
        Ok(())
    }

    /// The key beside a commitment is that of its salt, and is there where salts are.
    fn check_trace_key(
        &mut self,
        evidence: &ExchangeEvidence<'_>,
        (measured, scheme): (&MeasureRow, Scheme),
        place: &str,
    ) {
        let rows = &evidence.rows;
        let expected = match (&rows.exchange.salt, scheme) {
            (Some(salt), Scheme::HmacSha256) => Some(opening_key(salt, Role::Trace)),
            // What is erased had one, or never had.
            (None, Scheme::HmacSha256) => {
                match self.tombstones.has(&rows.exchange.exchange_id.to_string()) {
                    true => measured.opening(),
                    false => None,
                }
            }
            (_, Scheme::Sha256) => None,
        };
        // The keys themselves are nobody's to read.
        if expected != measured.opening() {
            let (expected, actual) = match (expected, measured.opening()) {
                (None, _) => ("no key, as no salt is kept", "one"),
                (_, None) => ("the key of role trace of its salt", "none"),
                _ => ("the key of role trace of its salt", "another"),
            };
            self.fault(Some(rows.session.id), place, expected, actual);
        }
    }

    /// No row of measures is there beside those of exchanges, which were all looked at before.
    pub fn check_measure_rows(&mut self) -> Result<(), VerifyError> {
        let found = self.rows(self.store.measure_count())?;
        if let Some(found) = found {
            let of_exchanges = self.measured;
            self.cell(None, "exchange_measure", "rows", of_exchanges, found);
        }
        Ok(())
    }
}

/// The bytes that a commitment to a turn's trace is made of. They do not name the ledger.
fn committed_bytes(turn: &EndedTurn, mapping: TraceMapping) -> Result<Vec<u8>, String> {
    let facts = turn.facts("").map_err(|e| e.to_string())?;
    let built = mapping.build(&facts, TraceRequest::COMMITTED);
    let bytes = built.and_then(|built| built.trace.to_be_signed());
    bytes.map_err(|e| e.to_string())
}
