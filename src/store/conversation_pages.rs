//! What pages of conversations show beside their rows: what lies around a page, and what a deletion
//! has to go through.

use uuid::Uuid;

use crate::record::ledger::conversation::ConversationState;
use crate::record::time::Seconds;

use super::access::ReadStore;
use super::table::values;
use super::{ConversationRow, StoreError};

/// Questions and answers of a thread (`?1`): neither a decision nor a handoff is a message.
const MESSAGES: &str =
    "FROM thread_event v WHERE v.thread_id = ?1 AND v.kind IN ('INTENT', 'EXECUTION')
    AND EXISTS (SELECT 1 FROM llm_exchange e CROSS JOIN thread_turn h ON h.line = e.prompt_line
                 WHERE e.exchange_id = v.turn_id AND h.intent_type = 'chat.message')";

/// Whether there are messages in lines before `?2`, and behind `?3`.
fn around() -> String {
    format!(
        "SELECT EXISTS (SELECT 1 {MESSAGES} AND v.line < ?2), EXISTS (SELECT 1 {MESSAGES} AND v.line > ?3)"
    )
}

/// The time of the message in line `?2`; by a range of one line, as the planner takes the key of the
/// thread for an equality, and would walk all of it.
fn time() -> String {
    format!("SELECT v.created_at {MESSAGES} AND v.line BETWEEN ?2 AND ?2 ORDER BY v.line LIMIT 1")
}

/// The conversations that nobody gave a title, the one asked in last first.
const UNTITLED: &str = "WHERE state = ?1 AND title_line IS NULL ORDER BY last_line DESC LIMIT ?2";

impl ReadStore {
    /// The newest conversations of a state without a given title, up to `most`.
    pub fn untitled_conversations(
        &self,
        state: ConversationState,
        most: u32,
    ) -> Result<Vec<ConversationRow>, StoreError> {
        self.rows(UNTITLED, values![state, most])
    }

    /// Whether a thread has a question or an answer in lines before `first`, and one behind `last`.
    pub fn messages_around(
        &self,
        thread: Uuid,
        (first, last): (u64, u64),
    ) -> Result<(bool, bool), StoreError> {
        self.sole("look for messages", &around(), values![thread, first, last])
    }

    /// When the question or answer of a thread that stands in a line was recorded.
    pub fn message_time(&self, thread: Uuid, line: u64) -> Result<Option<Seconds>, StoreError> {
        self.one("look for a message", &time(), values![thread, line])
    }

    /// The exchanges of a thread, in the order in which they were asked.
    pub fn exchanges_in(&self, thread: Uuid) -> Result<Vec<Uuid>, StoreError> {
        let sql = "SELECT turn_id FROM thread_event WHERE thread_id = ?1 AND kind = 'INTENT'
                   ORDER BY event_index";
        self.list("list a thread's exchanges", sql, values![thread])
    }

    /// The same by the contexts of turns, in the order of lines; reads those of all threads.
    pub fn turns_in(&self, thread: Uuid) -> Result<Vec<Uuid>, StoreError> {
        let sql = "SELECT turn_id FROM thread_turn WHERE thread_id = ?1 ORDER BY line";
        self.list("list a thread's turns", sql, values![thread])
    }

    /// How many conversations a project has, those in the archive among them.
    pub fn conversations_in(&self, project: &str) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM conversation WHERE project = ?1";
        self.sole("count conversations", sql, values![project])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::plan;

    /// A look costs the same however many messages and conversations there are.
    #[test]
    fn what_lies_around_a_page_is_found_by_an_index() {
        for (sql, index) in [
            (around(), "idx_thread_event_line (thread_id=? AND line<?)"),
            (around(), "idx_thread_event_line (thread_id=? AND line>?)"),
            (
                time(),
                "idx_thread_event_line (thread_id=? AND line>? AND line<?)",
            ),
            (
                format!("SELECT * FROM conversation {UNTITLED}"),
                "idx_conversation_state (state=?)",
            ),
        ] {
            let plan = plan(&sql);
            assert!(
                plan.contains(index) && !plan.contains("TEMP B-TREE"),
                "{sql}: {plan}"
            );
        }
    }
}
