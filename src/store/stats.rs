//! What is counted of exchanges and of what was found in them.

use uuid::Uuid;

use crate::record::context::turn::TurnIntent;
use crate::record::exchange::ExchangeOutcome;
use crate::record::ledger::params::Cost;
use crate::record::time::Seconds;

use super::StoreError;
use super::access::ReadStore;
use super::table::{row, values};

row! {
    /// As much of an exchange as is counted.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct CountedExchange {
        /// Number of the prompt's line.
        line: u64 = "prompt_line",
        /// Time of that line.
        asked_at: Seconds = "created_at",
        /// Which model was asked.
        model: String = "model",
        /// How it ended; none while in flight.
        outcome: Option<ExchangeOutcome> = "outcome",
        /// Whether the answer is a refusal.
        refusal: Option<bool> = "refusal",
        /// Time of the outcome's line.
        ended_at: Option<Seconds> = "answered_at",
        /// As the model reported.
        prompt_tokens: Option<u64> = "prompt_tokens",
        /// As the model reported.
        completion_tokens: Option<u64> = "completion_tokens",
        /// By the price table of its time.
        cost: Option<Cost>,
        /// Its conversation; none of an exchange from before there were any.
        thread: Option<Uuid> = "thread_id",
    }
}

/// Exchanges from a line (`?1`) on, in the order of their lines.
const COUNTED: &str = "SELECT e.prompt_line, e.created_at, e.model, e.outcome, e.refusal, e.answered_at, e.prompt_tokens,
        e.completion_tokens, e.cost_micro, e.cost_currency, h.thread_id
   FROM llm_exchange e LEFT JOIN thread_turn h ON h.line = e.prompt_line
  WHERE e.prompt_line >= ?1 ORDER BY e.prompt_line";

/// Drift of them: the prompt's line, and the class.
const DRIFT: &str = "SELECT e.prompt_line, d.drift_class FROM drift_event d NOT INDEXED
   CROSS JOIN llm_exchange e ON e.exchange_id = d.exchange_id WHERE e.prompt_line >= ?1 ORDER BY e.prompt_line, d.rowid";

/// Exchanges from a line (`?1`) on that are no messages: the prompt's line, and what it is for.
const ASIDE: &str =
    "SELECT line, intent_type FROM thread_turn WHERE intent_type <> 'chat.message' AND line >= ?1
  ORDER BY line";

impl ReadStore {
    /// Calls `each` for every exchange from a line on, in the order of lines.
    pub fn each_counted(
        &self,
        from: u64,
        each: &mut dyn FnMut(CountedExchange) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each("count exchanges", COUNTED, values![from], each)
    }

    /// Reviews and handoffs from a line on: the line of the prompt, and what it is for.
    pub fn turns_aside(&self, from: u64) -> Result<Vec<(u64, TurnIntent)>, StoreError> {
        self.list("count reviews and handoffs", ASIDE, values![from])
    }

    /// The drift of exchanges from a line on: the line of the prompt, and the class.
    pub fn drift_classes(&self, from: u64) -> Result<Vec<(u64, String)>, StoreError> {
        self.list("count drift", DRIFT, values![from])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::plan;

    #[test]
    fn exchanges_are_counted_along_their_lines() {
        let plan = plan(COUNTED);
        assert!(
            plan.contains("e USING COVERING INDEX idx_llm_exchange_counted (prompt_line>?)")
                && !plan.contains("TEMP B-TREE"),
            "{plan}"
        );
        let plan = crate::store::plan(ASIDE);
        assert!(plan.contains("idx_thread_turn_aside"), "{plan}");
    }
}
