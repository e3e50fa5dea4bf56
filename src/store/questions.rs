//! Questions by their texts: what a line editor offers again.

use uuid::Uuid;

use super::StoreError;
use super::access::ReadStore;
use super::councils::IS_MESSAGE;
use super::table::values;
use super::threads::MESSAGES_OF;

/// A longer text is that of a file behind a question, and is not read for this.
const MOST_BYTES: u32 = 64 * 1024;

impl ReadStore {
    /// The texts of the newest questions of a thread, newest first; without those that are erased,
    /// were not kept, or are long.
    pub fn newest_questions_of(&self, thread: Uuid, most: u32) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT t.content FROM thread_event v JOIN chat_turn t ON t.turn_id = v.event_id
                    WHERE v.thread_id = ?1 AND v.kind = 'INTENT' AND octet_length(t.content) <= ?3
                      AND EXISTS (SELECT 1 FROM message_turn m WHERE m.line = v.line)
                    ORDER BY v.event_index DESC LIMIT ?2";
        self.list(
            "read a thread's questions",
            sql,
            values![thread, most, MOST_BYTES],
        )
    }

    /// The same of all threads.
    pub fn newest_questions(&self, most: u32) -> Result<Vec<String>, StoreError> {
        let sql = format!(
            "SELECT t.content FROM chat_turn t WHERE t.speaker = 'user' AND octet_length(t.content) <= ?2
                AND {IS_MESSAGE} ORDER BY t.n DESC LIMIT ?1"
        );
        self.list("read questions", &sql, values![most, MOST_BYTES])
    }

    /// The newest messages of a thread by their turns, newest first.
    pub fn newest_messages(&self, thread: Uuid, most: u32) -> Result<Vec<Uuid>, StoreError> {
        let sql = format!("{MESSAGES_OF} ORDER BY v.event_index DESC LIMIT ?2");
        self.list("read a thread's newest turns", &sql, values![thread, most])
    }
}
