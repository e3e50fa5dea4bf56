//! What councils decided: one row for each member that was asked, and one for what each review says of
//! an answer. Which turns are messages follows from them.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use crate::record::ledger::council::{CouncilAnswer, CouncilReview, council_of};
use crate::record::ledger::specialist::SpecialistId;

use super::access::{ReadStore, WriteStore};
use super::table::values;
use super::{ArtifactRow, StoreError};

/// Holds of a turn `t` that is a message: somebody asked, and no council decided against the answer.
/// A turn without a thread is one.
pub(super) const IS_MESSAGE: &str = "NOT EXISTS (SELECT 1 FROM thread_turn x WHERE x.line = t.line
       AND NOT EXISTS (SELECT 1 FROM message_turn m WHERE m.line = x.line))";

/// The same of a row of `llm_exchange`.
pub(super) const IS_MESSAGE_EXCHANGE: &str =
    "NOT EXISTS (SELECT 1 FROM thread_turn x WHERE x.line = llm_exchange.prompt_line
       AND NOT EXISTS (SELECT 1 FROM message_turn m WHERE m.line = x.line))";

/// Each member of a first round whose prompt stands on a line (`?1`) or behind it.
const PLACES: &str = "SELECT c.specialist, e.model, c.place = 'won' FROM council_answer c
  CROSS JOIN llm_exchange e ON e.exchange_id = c.exchange_id WHERE e.prompt_line >= ?1";

/// Whether any turn is none.
const ANY_ASIDE: &str = "SELECT EXISTS (SELECT 1 FROM council_answer WHERE place <> 'won')
      OR EXISTS (SELECT 1 FROM thread_turn WHERE intent_type <> 'chat.message')";

impl ReadStore {
    /// What a council says of an exchange of its first round.
    pub fn council_answer(&self, exchange: Uuid) -> Result<Option<CouncilAnswer>, StoreError> {
        self.row("WHERE exchange_id = ?1", values![exchange])
    }

    /// The members that a council asked in its first round, in no order.
    fn council_answers(&self, council_line: u64) -> Result<Vec<CouncilAnswer>, StoreError> {
        self.rows("WHERE council_line = ?1", values![council_line])
    }

    /// All members of first rounds, by exchange.
    pub fn council_answers_by_exchange(&self) -> Result<BTreeMap<Uuid, CouncilAnswer>, StoreError> {
        let rows = self.rows::<CouncilAnswer>("ORDER BY rowid", values![])?;
        Ok(rows.into_iter().map(|row| (row.exchange, row)).collect())
    }

    /// Each member of a first round whose prompt stands on a line or behind it: its specialist, its
    /// model, and whether its answer won.
    pub fn council_places(
        &self,
        from: u64,
    ) -> Result<Vec<(SpecialistId, String, bool)>, StoreError> {
        self.list("read what councils decided", PLACES, values![from])
    }

    /// What all reviews say, by id.
    pub fn council_reviews_by_id(&self) -> Result<BTreeMap<String, CouncilReview>, StoreError> {
        let rows = self.rows::<CouncilReview>("ORDER BY rowid", values![])?;
        Ok(rows.into_iter().map(|row| (row.id.clone(), row)).collect())
    }

    /// Whether an exchange is a message of its thread.
    pub fn is_message(&self, exchange: Uuid) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM llm_exchange e CROSS JOIN message_turn m ON m.line = e.prompt_line
                                   WHERE e.exchange_id = ?1)";
        self.sole("look for a message", sql, values![exchange])
    }

    /// Whether any turn is no message.
    pub(super) fn has_turns_aside(&self) -> Result<bool, StoreError> {
        self.sole("look for councils", ANY_ASIDE, values![])
    }
}

impl WriteStore {
    /// What follows from a council's artifact.
    pub(super) fn follow_council(&mut self, artifact: &ArtifactRow) -> Result<(), StoreError> {
        let document = artifact.document.as_deref();
        let (line, kind, id) = (artifact.line, &artifact.kind, &artifact.id);
        let Some(said) = council_of(line, kind, id, document) else {
            return Ok(());
        };
        self.insert(&said.answers, &[], "ON CONFLICT DO NOTHING")?;
        if !said.reviews.is_empty() {
            self.insert(&said.reviews, &[], "ON CONFLICT DO NOTHING")?;
        }
        let exchanges = said.answers.iter().map(|answer| answer.exchange);
        self.count_messages_of(exchanges)
    }

    /// Once a council is erased, nobody was decided against.
    pub(super) fn follow_erased_council(&mut self, line: u64) -> Result<(), StoreError> {
        let answers = self.council_answers(line)?;
        for sql in [
            "DELETE FROM council_answer WHERE council_line = ?1",
            "DELETE FROM council_review WHERE council_line = ?1",
        ] {
            self.change("take a council back", sql, values![line])?;
        }
        self.count_messages_of(answers.iter().map(|answer| answer.exchange))
    }

    /// Counts the messages of the conversations that some exchanges stand in.
    fn count_messages_of(&self, exchanges: impl Iterator<Item = Uuid>) -> Result<(), StoreError> {
        let mut threads = BTreeSet::new();
        for exchange in exchanges {
            threads.extend(self.thread_turn(exchange)?.map(|turn| turn.thread));
        }
        let mut threads = threads.into_iter();
        threads.try_for_each(|thread| self.derive_conversation(thread))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::plan;

    /// Whether a turn is a message is found by keys, and whether there are others by one look.
    #[test]
    fn messages_are_told_by_keys() {
        let of_turn = plan(&format!(
            "SELECT t.n FROM chat_turn t WHERE t.n = 1 AND {IS_MESSAGE}"
        ));
        assert!(!of_turn.contains("SCAN"), "{of_turn}");
        let any = plan(ANY_ASIDE);
        assert!(any.contains("idx_thread_turn_aside"), "{any}");
    }

    /// Exchanges of no council are not read.
    #[test]
    fn places_are_read_from_councils() {
        let plan = plan(PLACES);
        assert!(plan.starts_with("SCAN c"), "{plan}");
    }
}
