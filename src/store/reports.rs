//! What is counted of specialists, models and checks. Nothing here reads a row of an exchange, which
//! holds bundle and request: an index has all that is counted.

use uuid::Uuid;

use crate::record::hash::Hash32;
use crate::record::ledger::specialist::SpecialistId;
use crate::record::time::Seconds;

use super::access::ReadStore;
use super::table::{row, values};
use super::{CountedExchange, StoreError};

row! {
    /// As much of an exchange as is counted, and who was asked.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct CountedRun {
        /// The exchange; its conversation is not read.
        counted: CountedExchange,
        /// The specialist that was asked; none where a model was asked by its own name.
        specialist: Option<SpecialistId> = "specialist",
        /// Milliseconds until the last byte of the answer; none where no server gave one.
        model_ms: Option<u64> = "model_ms",
    }
}

row! {
    /// How often checks of one level ended in one way, under one kernel.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct CheckCount {
        /// What tells them apart; none where that is not known.
        key: Option<String> = "key",
        /// The kernel that says what they are worth.
        kernel: Hash32 = "kernel_hash",
        /// `info`, `soft` or `blocking`.
        level: String = "level",
        /// Whether nothing was found.
        passed: bool = "passed",
        /// How many.
        count: u64 = "count",
    }
}

/// By what checks are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckGroup {
    /// Class and rule.
    Name,
    /// The specialist that was asked.
    Specialist,
    /// The domain by which the answer was rated last.
    Domain,
}

impl CheckGroup {
    /// All of them.
    pub const ALL: [CheckGroup; 3] = [CheckGroup::Name, CheckGroup::Specialist, CheckGroup::Domain];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            CheckGroup::Name => "name",
            CheckGroup::Specialist => "specialist",
            CheckGroup::Domain => "domain",
        }
    }

    /// What it is by in a query of checks `a`, and what has to be joined for it.
    const fn sql(self) -> (&'static str, &'static str) {
        match self {
            CheckGroup::Name => ("a.name", ""),
            CheckGroup::Specialist => (
                "m.specialist",
                "LEFT JOIN exchange_measure m ON m.line = e.prompt_line",
            ),
            CheckGroup::Domain => (
                "r.domain",
                "LEFT JOIN (SELECT exchange_id, domain, max(line) FROM rating GROUP BY exchange_id) r
                   ON r.exchange_id = a.exchange_id",
            ),
        }
    }
}

/// Exchanges from a line (`?1`) on that are no older than a time (`?2`), in the order of their lines.
const RUNS: &str = "SELECT e.prompt_line, e.created_at, e.model, e.outcome, e.refusal, e.answered_at, e.prompt_tokens,
        e.completion_tokens, e.cost_micro, e.cost_currency, NULL AS thread_id, m.specialist, m.model_ms
   FROM llm_exchange e LEFT JOIN exchange_measure m ON m.line = e.prompt_line
  WHERE e.prompt_line >= ?1 AND e.created_at >= ?2 ORDER BY e.prompt_line";

/// The checks of such exchanges that lie before a line (`?3`), counted.
pub(super) fn count_checks(by: CheckGroup) -> String {
    let (key, join) = by.sql();
    format!(
        "SELECT {key} AS key, s.kernel_hash, a.level, a.passed, count(*) AS count
           FROM llm_exchange e JOIN chat_session s ON s.session_id = e.session_id
          CROSS JOIN assertion_event a ON a.line = e.prompt_line {join}
          WHERE e.prompt_line >= ?1 AND e.prompt_line < ?3 AND e.created_at >= ?2
          GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4"
    )
}

impl ReadStore {
    /// Calls `each` for every exchange from a line on that is no older than a time, in the order of
    /// lines, with who was asked.
    pub fn each_run(
        &self,
        (from, since): (u64, Seconds),
        each: &mut dyn FnMut(CountedRun) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each("count answers", RUNS, values![from, since], each)
    }

    /// The domain by which an exchange was rated last; none where nobody rated it.
    pub fn rated_domain(&self, exchange: Uuid) -> Result<Option<String>, StoreError> {
        let sql = "SELECT domain FROM rating WHERE exchange_id = ?1 ORDER BY line DESC LIMIT 1";
        self.one("look for a rated domain", sql, values![exchange])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::plan;

    #[test]
    fn what_is_counted_stands_in_an_index() {
        let covering = "e USING COVERING INDEX idx_llm_exchange_counted (prompt_line>?";
        let runs = plan(RUNS);
        assert!(
            runs.contains(covering) && !runs.contains("TEMP B-TREE"),
            "{runs}"
        );
        for by in CheckGroup::ALL {
            let plan = plan(&count_checks(by));
            assert!(plan.contains(covering), "{by:?}: {plan}");
        }
    }
}
