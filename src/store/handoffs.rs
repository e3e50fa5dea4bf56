//! Handoffs, and how much was said in a conversation since the newest one.

use std::collections::BTreeMap;

use uuid::Uuid;

use crate::record::hash::Hash32;
use crate::record::ledger::handoff::{Handoff, handoff_of};
use crate::record::ledger::specialist::SpecialistId;
use crate::record::time::Seconds;

use super::access::{ReadStore, WriteStore};
use super::ledger::PARTS;
use super::table::{Row, values};
use super::{ArtifactRow, StoreError};

/// How much one specialist or model was asked and answered in a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaidCount {
    /// The specialist; none where a model was asked by its own name.
    pub specialist: Option<SpecialistId>,
    /// The model.
    pub model: String,
    /// Characters of questions and answers whose text is there.
    pub characters: u64,
    /// Questions and answers.
    pub messages: u64,
}

impl ReadStore {
    /// Calls `each` for every handoff, in the order of lines.
    pub fn each_handoff(
        &self,
        each: &mut dyn FnMut(Handoff) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each_row("ORDER BY line", values![], each)
    }

    /// The handoffs of a conversation, or of all, newest first.
    pub fn handoffs(&self, thread: Option<Uuid>) -> Result<Vec<Handoff>, StoreError> {
        match thread {
            Some(thread) => self.rows("WHERE thread_id = ?1 ORDER BY line DESC", values![thread]),
            None => self.rows("ORDER BY line DESC", values![]),
        }
    }

    /// A handoff by its id.
    pub fn handoff(&self, id: &str) -> Result<Option<Handoff>, StoreError> {
        self.row("WHERE id = ?1", values![id])
    }

    /// Whether something that the prompt of a line declared is erased since, or something that a handoff
    /// among it sums up. `known` has the lines that this was asked of before.
    pub fn refers_to_erased(
        &self,
        line: u64,
        known: &mut BTreeMap<u64, bool>,
    ) -> Result<bool, StoreError> {
        // A digest that somebody put back makes nothing of it whole: what a tombstone names is erased.
        let erased = "SELECT EXISTS (
            SELECT 1 FROM context_ref r WHERE r.line = ?1 AND (r.event_digest IS NULL OR EXISTS (
                SELECT 1 FROM thread_turn h CROSS JOIN thread_event v
                    ON v.thread_id = h.thread_id AND v.event_index = r.event_index
                  CROSS JOIN tombstone_id g ON g.id = v.turn_id AND g.line > v.line
                 WHERE h.line = r.line)))";
        // What a prompt declares was recorded before it, so the way ends.
        let summed_up = "SELECT DISTINCT h.line FROM context_ref r
                           CROSS JOIN chat_turn d ON d.turn_id = r.event_id CROSS JOIN thread_turn h ON h.line = d.line
                          WHERE r.line = ?1 AND h.intent_type = 'context.handoff' AND h.line < ?1";
        let mut way = vec![line];
        while let Some(at) = way.last().copied() {
            if known.contains_key(&at) {
                way.pop();
                continue;
            }
            if self.sole("look for what is erased", erased, values![at])? {
                known.insert(at, true);
                continue;
            }
            let handoffs: Vec<u64> = self.list("look for handoffs", summed_up, values![at])?;
            match handoffs.iter().find(|one| !known.contains_key(one)) {
                Some(next) => way.push(*next),
                None => {
                    let is_of_erased = handoffs.iter().any(|one| known.get(one) == Some(&true));
                    known.insert(at, is_of_erased);
                }
            }
        }
        Ok(known.get(&line) == Some(&true))
    }

    /// The exchanges that are about others as handoffs and reviews of councils are, and were shown a text
    /// of one: their answers may repeat it. Each with whether its text is there.
    pub fn said_of(&self, exchange: Uuid) -> Result<Vec<(Uuid, bool)>, StoreError> {
        let sql = format!(
            "{PARTS} SELECT DISTINCT e.exchange_id, e.salt IS NOT NULL AND e.outcome IS 'answered' FROM llm_exchange x
               CROSS JOIN part CROSS JOIN context_ref r ON r.line >> 15 = part.p
                AND r.event_id IN (x.turn_user_id, x.turn_aurora_id)
               CROSS JOIN thread_turn h ON h.line = r.line AND h.intent_type IN ('context.handoff', 'council.review')
               CROSS JOIN llm_exchange e ON e.prompt_line = h.line
              WHERE x.exchange_id = ?1 AND e.exchange_id <> ?1 ORDER BY e.prompt_line"
        );
        self.list("look for what may repeat a text", &sql, values![exchange])
    }

    /// How many messages a conversation has behind a line; all of them without one.
    pub fn messages_behind(&self, thread: Uuid, line: Option<u64>) -> Result<u64, StoreError> {
        let sql =
            "SELECT count(*) FROM said_message WHERE thread_id = ?1 AND line > ifnull(?2, -1)";
        self.sole("count messages", sql, values![thread, line])
    }

    /// Whether the text of a message of a conversation is there.
    pub fn has_message_texts(&self, thread: Uuid) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM said_message WHERE thread_id = ?1 AND characters IS NOT NULL)";
        self.sole("look for texts", sql, values![thread])
    }

    /// Line and time of the newest message of a conversation before a line.
    pub fn message_before(
        &self,
        thread: Uuid,
        before: u64,
    ) -> Result<Option<(u64, Seconds)>, StoreError> {
        let sql = "SELECT line, created_at FROM said_message WHERE thread_id = ?1 AND line < ?2
                   ORDER BY line DESC LIMIT 1";
        self.one("read the newest message", sql, values![thread, before])
    }

    /// How much was said in a conversation behind a line and before another, by whom.
    pub fn said_between(
        &self,
        thread: Uuid,
        (behind, before): (Option<u64>, u64),
    ) -> Result<Vec<SaidCount>, StoreError> {
        let sql =
            "SELECT specialist, max(model), ifnull(sum(characters), 0), count(*) FROM said_message
                    WHERE thread_id = ?1 AND line > ifnull(?2, -1) AND line < ?3
                    GROUP BY specialist, CASE WHEN specialist IS NULL THEN model END ORDER BY 1, 2";
        let rows: Vec<(Option<SpecialistId>, String, u64, u64)> =
            self.list("count what was said", sql, values![thread, behind, before])?;
        let count = |(specialist, model, characters, messages)| SaidCount {
            specialist,
            model,
            characters,
            messages,
        };
        Ok(rows.into_iter().map(count).collect())
    }

    /// The open conversations that an auth key began, of at least so many messages, that have no
    /// handoff whose text is there, or messages after it: each with whether there is one. The one
    /// asked in last comes first.
    pub fn uncovered_conversations(
        &self,
        key: Hash32,
        least: u64,
    ) -> Result<Vec<(Uuid, bool)>, StoreError> {
        let sql = "SELECT thread_id, upto IS NOT NULL FROM (
                     SELECT c.thread_id, c.last_line,
                            (SELECT b.upto FROM readable_handoff b WHERE b.thread_id = c.thread_id
                              ORDER BY b.line DESC LIMIT 1) AS upto
                       FROM conversation c CROSS JOIN thread h ON h.thread_id = c.thread_id
                       CROSS JOIN chat_session s ON s.session_id = h.session_id
                      WHERE c.state = 'open' AND s.auth_key_hash = ?1) d
                    WHERE (SELECT count(*) FROM (SELECT 1 FROM said_message m WHERE m.thread_id = d.thread_id LIMIT ?2)) >= ?2
                      AND EXISTS (SELECT 1 FROM said_message m
                                   WHERE m.thread_id = d.thread_id AND m.line > ifnull(d.upto, -1))
                    ORDER BY last_line DESC";
        self.list(
            "look for conversations without a handoff",
            sql,
            values![key, least],
        )
    }
}

impl WriteStore {
    /// A handoff that an artifact gives.
    pub(super) fn follow_handoff(&mut self, artifact: &ArtifactRow) -> Result<(), StoreError> {
        let (kind, id) = (artifact.kind.as_str(), artifact.id.as_str());
        match handoff_of(artifact.line, kind, id, artifact.document.as_deref()) {
            Some(handoff) => self.add(&handoff),
            None => Ok(()),
        }
    }

    /// Of an artifact that is erased there is none.
    pub(super) fn follow_erased_handoff(&mut self, line: u64) -> Result<(), StoreError> {
        let sql = format!("DELETE FROM {} WHERE line = ?1", Handoff::TABLE);
        self.change("take a handoff back", &sql, values![line])
            .map(drop)
    }
}

#[cfg(test)]
mod tests {
    use crate::store::plan;

    /// What is said of one conversation is found by its own messages, whatever else there is.
    #[test]
    fn what_was_said_is_found_by_an_index() {
        for sql in [
            "SELECT count(*) FROM said_message WHERE thread_id = '0' AND line > 4",
            "SELECT line FROM said_message WHERE thread_id = '0' AND line < 4 ORDER BY line DESC LIMIT 1",
        ] {
            let plan = plan(sql);
            assert!(
                plan.contains("v USING INDEX idx_thread_event_line (thread_id=?")
                    || plan.contains("v USING COVERING INDEX idx_thread_event_line (thread_id=?"),
                "{plan}"
            );
            assert!(!plan.contains("TEMP B-TREE"), "{plan}");
        }
        let newest = plan("SELECT max(b.line) FROM readable_handoff b WHERE b.thread_id = '0'");
        assert!(
            newest.contains("idx_handoff_thread (thread_id=?"),
            "{newest}"
        );
    }
}
