//! The rows of an exchange, as what its trace is made from.

use crate::record::hash::Hash32;
use crate::record::trace::ended_turn::{EndedTurn, TurnThread};
use crate::record::trace::facts::ReplyCheck;

use super::{ArtifactRefRow, AssertionRow, ExchangeRow, ThreadTurnRow};

/// The level of a check whose failure withholds the reply.
const BLOCKING: &str = "blocking";

impl ExchangeRow {
    /// It with the rows beside it and the HASH of its prompt's line; none while it waits for its
    /// outcome. What was measured, and what other rows say of it, is for the caller to add.
    pub fn ended_turn(
        &self,
        prompt_line: Hash32,
        context: Option<&ThreadTurnRow>,
        refs: &[ArtifactRefRow],
        checks: &[AssertionRow],
    ) -> Option<EndedTurn> {
        let outcome = self.outcome.as_ref()?;
        Some(EndedTurn {
            exchange: self.exchange_id,
            thread: context.map(|context| TurnThread {
                thread: context.thread,
                reasons: context.reasons.clone(),
            }),
            asked_at: self.created_at,
            seq: self.seq,
            prompt_line,
            prompt_number: self.prompt_line + 1,
            model: self.model.clone(),
            authority: self.authority_state,
            has_params: self.params.is_some(),
            is_not_kept: self.not_kept.is_some(),
            artifacts: refs.iter().map(ArtifactRefRow::named).collect(),
            checks: checks.iter().map(AssertionRow::check).collect(),
            measures: None,
            end: outcome.end(outcome.turn_aurora.is_some(), None),
            is_erased: false,
            is_withheld_by_drift: false,
        })
    }
}

impl AssertionRow {
    /// As a trace tells of it.
    fn check(&self) -> ReplyCheck {
        ReplyCheck {
            name: self.name.clone(),
            is_blocking: self.level == BLOCKING,
            passed: self.passed,
        }
    }
}
