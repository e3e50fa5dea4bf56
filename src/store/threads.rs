//! Threads, the events of their turns, and what each turn declared (DBL).
//!
//! A turn is an exchange, and has its id. An INTENT has the id of the user's turn, an EXECUTION
//! that of aurora's: there are their texts.

use uuid::Uuid;

use crate::record::hash::Hash32;
use crate::record::time::Seconds;

use super::access::{ExtraColumn, HashedRow, PrefixLookup, ReadStore, RowInsert, WriteStore};
use super::ledger::PARTS;
use super::table::{Row, values};
use super::{
    AskedRow, ConfigRow, ContextRefRow, EventRow, IntentRow, ReferredText, StoreError, ThreadRow,
    ThreadTurnRow, TurnInThread,
};

/// The INTENT or EXECUTION `v` whose id is that of a turn `t`.
const OF_TURNS: &str = "FROM chat_turn t JOIN llm_exchange e ON e.prompt_line = t.line
       JOIN thread_turn h ON h.line = t.line
       JOIN thread_event v ON v.thread_id = h.thread_id AND v.event_id = t.turn_id
        AND v.line >= e.prompt_line AND v.line <= ifnull(e.outcome_line, 9223372036854775807)";

/// From the events `v` of an exchange, whose lines are those of its prompt and its outcome; it may
/// have none yet.
pub(super) const OF_EXCHANGE: &str = "FROM llm_exchange e JOIN thread_turn h ON h.line = e.prompt_line
       JOIN thread_event v ON v.thread_id = h.thread_id AND v.line >= e.prompt_line
        AND v.line <= ifnull(e.outcome_line, 9223372036854775807) AND v.turn_id = e.exchange_id WHERE e.exchange_id = ?1";

/// The newest message of a session in a thread without a number of its own, or with a title: along the
/// session's exchanges from the newest, so that it does not grow with the session.
const IN_CONVERSATION: &str = "SELECT t.line, t.thread_id FROM llm_exchange e
      CROSS JOIN thread_turn t ON t.line = e.prompt_line
      CROSS JOIN thread h ON h.thread_id = t.thread_id
      CROSS JOIN conversation c ON c.thread_id = t.thread_id
      WHERE e.session_id = ?1 AND t.intent_type = 'chat.message'
        AND (h.number = 0 OR c.title_line IS NOT NULL) ORDER BY e.seq DESC LIMIT 1";

/// The thread that was begun last in a session, if it has a title and nobody has asked in it.
const BEGUN: &str = "SELECT c.last_line, c.thread_id
      FROM (SELECT thread_id FROM thread WHERE session_id = ?1 ORDER BY number DESC LIMIT 1) h
      CROSS JOIN conversation c ON c.thread_id = h.thread_id
      WHERE c.turns = 0 AND c.title_line IS NOT NULL";

/// The turns of a thread that are messages.
pub(super) const MESSAGES_OF: &str =
    "SELECT v.turn_id FROM thread_event v WHERE v.thread_id = ?1 AND v.kind = 'INTENT'
        AND EXISTS (SELECT 1 FROM message_turn m WHERE m.line = v.line)";

/// The events of an exchange, in their order; by the plus not in that of the key, which would walk
/// the whole thread.
fn events_of() -> String {
    let columns = EventRow::columns_of("v");
    format!("SELECT {columns} {OF_EXCHANGE} ORDER BY +v.event_index")
}

/// The events that are of turns `t`, and the DECISIONs `v`, for which these hold.
fn events(turns: &str, decisions: &str) -> String {
    let columns = EventRow::columns_of("v");
    format!(
        "{PARTS} SELECT {columns} {OF_TURNS} WHERE {turns}
         UNION ALL SELECT {columns} FROM part CROSS JOIN thread_event v
                    WHERE v.line >> 15 = part.p AND v.kind = 'DECISION' AND {decisions}"
    )
}

impl ReadStore {
    /// A configuration's document by its digest.
    pub fn context_config(&self, digest: Hash32) -> Result<Option<String>, StoreError> {
        let sql = "SELECT document FROM context_config WHERE config_digest = ?1";
        self.one("read a configuration", sql, values![digest])
    }

    /// The thread of that id; none when there is none.
    pub fn thread(&self, id: Uuid) -> Result<Option<ThreadRow>, StoreError> {
        self.row("WHERE thread_id = ?1", values![id])
    }

    /// Up to `most` threads, newest first, by the lines that began them: an artifact's, or that of the
    /// first event.
    pub fn newest_threads(&self, most: u32) -> Result<Vec<ThreadRow>, StoreError> {
        self.rows(
            "ORDER BY ifnull((SELECT a.line FROM artifact a WHERE a.id = thread.thread_id AND a.kind = 'thread'
                               ORDER BY a.line LIMIT 1),
                             (SELECT v.line FROM thread_event v WHERE v.thread_id = thread.thread_id
                               ORDER BY v.line LIMIT 1)) DESC, rowid DESC LIMIT ?1",
            values![most],
        )
    }

    /// How many threads a session has begun.
    pub fn thread_count(&self, session: Uuid) -> Result<u64, StoreError> {
        let sql = "SELECT ifnull(max(number) + 1, 0) FROM thread WHERE session_id = ?1";
        self.sole("count threads", sql, values![session])
    }

    /// The context of a turn.
    pub fn thread_turn(&self, turn: Uuid) -> Result<Option<ThreadTurnRow>, StoreError> {
        let rest = "WHERE line = (SELECT prompt_line FROM llm_exchange WHERE exchange_id = ?1)
                      AND turn_id = ?1";
        self.row(rest, values![turn])
    }

    /// Calls `each` for every exchange that stands in a thread, in the order of lines.
    pub fn each_thread_turn(
        &self,
        each: &mut dyn FnMut(TurnInThread) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let sql = "SELECT thread_id, line, turn_id, intent_type FROM thread_turn ORDER BY line";
        self.each("read turns of threads", sql, values![], each)
    }

    /// The first message of a thread, by its turn.
    pub fn first_message(&self, thread: Uuid) -> Result<Option<Uuid>, StoreError> {
        let sql = format!("{MESSAGES_OF} ORDER BY v.event_index LIMIT 1");
        self.one("read a thread's first turn", &sql, values![thread])
    }

    /// The newest message of a thread, by its turn: what the next question replies to.
    pub fn newest_message(&self, thread: Uuid) -> Result<Option<Uuid>, StoreError> {
        let sql = format!("{MESSAGES_OF} ORDER BY v.event_index DESC LIMIT 1");
        self.one("read a thread's newest turn", &sql, values![thread])
    }

    /// Up to `most` threads in which something was asked in a session, each once, in the order of
    /// their ids.
    pub fn threads_asked_in(&self, session: Uuid, most: u32) -> Result<Vec<Uuid>, StoreError> {
        let sql = "SELECT DISTINCT t.thread_id FROM llm_exchange e CROSS JOIN thread_turn t ON t.line = e.prompt_line
                    WHERE e.session_id = ?1 ORDER BY t.thread_id LIMIT ?2";
        self.list("read a session's threads", sql, values![session, most])
    }

    /// The prompt's line and the thread of the newest turn of a session that stands in a session's
    /// own thread, or in one with a title, whichever session began that.
    pub fn newest_in_conversation(&self, session: Uuid) -> Result<Option<(u64, Uuid)>, StoreError> {
        let what = "read a session's newest turn";
        self.one(what, IN_CONVERSATION, values![session])
    }

    /// The line and the thread of what was begun last in a session with a title, if nobody has asked
    /// in it yet.
    pub fn newest_begun(&self, session: Uuid) -> Result<Option<(u64, Uuid)>, StoreError> {
        self.one("read a session's newest thread", BEGUN, values![session])
    }

    /// The event of that id; none when there is none.
    pub fn event(&self, id: Uuid) -> Result<Option<EventRow>, StoreError> {
        let sql = events("t.turn_id = ?1", "v.event_id = ?1 LIMIT 1");
        self.one(EventRow::READING, &sql, values![id])
    }

    /// The events of a turn, by index.
    pub fn events_of(&self, turn: Uuid) -> Result<Vec<EventRow>, StoreError> {
        self.list(EventRow::READING, &events_of(), values![turn])
    }

    /// Calls `each` for every event of a thread, by index.
    pub fn each_event(
        &self,
        thread: Uuid,
        each: &mut dyn FnMut(EventRow) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let rest = "WHERE thread_id = ?1 ORDER BY event_index";
        self.each_row(rest, values![thread], each)
    }

    /// The INTENTs of all threads, in no order.
    pub fn intents(&self) -> Result<Vec<IntentRow>, StoreError> {
        let sql =
            "SELECT thread_id, line, created_at, bytes FROM thread_event WHERE kind = 'INTENT'";
        self.list("read intents", sql, values![])
    }

    /// Calls `each` for every exchange, in no order; without the texts that stand in its row.
    pub fn each_asked(
        &self,
        each: &mut dyn FnMut(AskedRow) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let sql = "SELECT e.exchange_id, e.session_id, e.seq, e.turn_user_id, e.turn_aurora_id, e.prompt_commitment,
                          e.prompt_line, ifnull(e.outcome = 'answered', 0), t.thread_id, i.bytes
                     FROM llm_exchange e LEFT JOIN thread_turn t ON t.line = e.prompt_line
                     LEFT JOIN thread_event i
                       ON i.thread_id = t.thread_id AND i.line = e.prompt_line AND i.kind = 'INTENT'";
        self.each("read exchanges", sql, values![], each)
    }

    /// The index that the next event of a thread gets.
    pub fn next_index(&self, thread: Uuid) -> Result<u64, StoreError> {
        let sql = "SELECT ifnull(max(event_index) + 1, 0) FROM thread_event WHERE thread_id = ?1";
        self.sole("count events", sql, values![thread])
    }

    /// What a turn refers to, by index.
    pub fn context_refs(&self, turn: Uuid) -> Result<Vec<ContextRefRow>, StoreError> {
        let rest = "WHERE line = (SELECT prompt_line FROM llm_exchange WHERE exchange_id = ?1)
                      AND turn_id = ?1 ORDER BY event_index";
        self.rows(rest, values![turn])
    }

    /// The same with texts.
    pub fn referred_texts(&self, turn: Uuid) -> Result<Vec<ReferredText>, StoreError> {
        let sql = format!(
            "SELECT {}, CASE t.speaker WHEN 'user' THEN 'INTENT' WHEN 'aurora' THEN 'EXECUTION' ELSE 'DECISION' END,
                    t.content
               FROM context_ref r LEFT JOIN chat_turn t ON t.turn_id = r.event_id
              WHERE r.line = (SELECT prompt_line FROM llm_exchange WHERE exchange_id = ?1) AND r.turn_id = ?1
              ORDER BY r.event_index",
            ContextRefRow::columns_of("r")
        );
        self.list(ContextRefRow::READING, &sql, values![turn])
    }

    /// The other exchanges of which a text stood before the model of one, in the order of their prompts.
    pub fn shown_in(&self, exchange: Uuid) -> Result<Vec<Uuid>, StoreError> {
        let sql = "WITH asked AS (SELECT prompt_line AS line FROM llm_exchange WHERE exchange_id = ?1),
                    shown AS (SELECT r.event_id AS turn FROM context_ref r, asked WHERE r.line = asked.line
                                 AND r.turn_id = ?1
                              UNION SELECT r.artifact_id FROM context_artifact_ref r, asked WHERE r.line = asked.line
                                 AND r.exchange_id = ?1)
                   SELECT DISTINCT e.exchange_id FROM shown JOIN chat_turn t ON t.turn_id = shown.turn
                     JOIN llm_exchange e ON e.prompt_line = t.line
                    WHERE e.exchange_id <> ?1 ORDER BY e.prompt_line";
        self.list("look for what a model was shown", sql, values![exchange])
    }

    /// Turns that refer to an event.
    pub fn referring_to(&self, event: Uuid) -> Result<Vec<Uuid>, StoreError> {
        let sql = format!(
            "{PARTS} SELECT r.turn_id FROM part CROSS JOIN context_ref r WHERE r.line >> 15 = part.p AND r.event_id = ?1"
        );
        self.list("look for references", &sql, values![event])
    }

    /// How many INTENTs a thread has in lines before `line`.
    pub fn intents_before(&self, thread: Uuid, line: u64) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM thread_event WHERE thread_id = ?1 AND kind = 'INTENT' AND line < ?2";
        self.sole("count intents", sql, values![thread, line])
    }

    /// How many INTENTs all threads have in lines before `line`, recorded after `since`, and their
    /// tokens, each text counted as four bytes a token, rounded up.
    pub fn intents_since(&self, since: Seconds, line: u64) -> Result<(u64, u64), StoreError> {
        let sql = "SELECT count(*), ifnull(sum((bytes + 3) / 4), 0) FROM thread_event
                   WHERE kind = 'INTENT' AND created_at > ?1 AND line < ?2";
        self.sole("count intents", sql, values![since, line])
    }
}

impl WriteStore {
    /// Begins a thread, whose artifact is written if it has one.
    pub fn put_thread(&mut self, thread: &ThreadRow) -> Result<(), StoreError> {
        self.add(thread)?;
        self.derive_conversation(thread.thread)
    }
}

/// By its name, or its id.
/// The oldest first, as they were recorded.
impl PrefixLookup for ThreadRow {
    const FINDING: &'static str = Self::READING;

    fn by_prefix() -> String {
        let columns = Self::names().join(", ");
        format!(
            "SELECT {columns} FROM thread WHERE rowid IN
               (SELECT rowid FROM thread WHERE name = ?1
                UNION SELECT rowid FROM thread WHERE thread_id >= ?1 AND thread_id < ?2)
             ORDER BY rowid LIMIT ?3"
        )
    }
}

impl PrefixLookup for EventRow {
    const FINDING: &'static str = Self::READING;

    fn by_prefix() -> String {
        events(
            "t.turn_id >= ?1 AND t.turn_id < ?2",
            "v.event_id >= ?1 AND v.event_id < ?2 LIMIT ?3",
        )
    }
}

impl HashedRow for ConfigRow {}
/// Fails when its place in the thread is taken.
impl RowInsert for EventRow {}

impl RowInsert for ThreadTurnRow {
    fn beside(&self, store: &ReadStore) -> Result<Option<ExtraColumn>, StoreError> {
        store.beside_prompt(self.turn)
    }
}

impl RowInsert for ContextRefRow {
    fn beside(&self, store: &ReadStore) -> Result<Option<ExtraColumn>, StoreError> {
        store.beside_prompt(self.turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::plan;

    /// What a turn looks up does not grow with its thread: by the lines of the exchange, not along
    /// the key.
    #[test]
    fn events_are_found_by_their_lines() {
        for sql in [
            events_of(),
            events("t.turn_id = '0'", "v.event_id = '0'"),
            format!("SELECT v.thread_id, v.event_index {OF_EXCHANGE}"),
        ] {
            let plan = plan(&sql);
            assert!(
                plan.contains(
                    "v USING INDEX idx_thread_event_line (thread_id=? AND line>? AND line<?)"
                ),
                "{plan}"
            );
        }
        let newest = plan(IN_CONVERSATION);
        assert!(
            newest.contains("(session_id=?)") && !newest.contains("TEMP B-TREE"),
            "{newest}"
        );
        let begun = plan(BEGUN);
        assert!(
            begun.contains("(session_id=?)") && !begun.contains("TEMP B-TREE"),
            "{begun}"
        );
        let decision = "SELECT * FROM thread_event WHERE line >> 15 = 0 AND event_id = '0' AND kind = 'DECISION'";
        let index = "idx_thread_event_decision (<expr>=? AND event_id=?";
        assert!(plan(decision).contains(index));
    }
}
