//! Threads, events and contexts of turns: queries and insertions.

use std::ops::Deref;

use rusqlite::{Connection, Params, params};
use uuid::Uuid;

use super::columns::{Columns, int};
use super::{Handle, PARTS, Tx};
use crate::record::context::event::EventKind;
use crate::record::context::spec::AdmittedFor;
use crate::record::hash::Hash32;
use crate::record::time::Seconds;
use crate::store::{
    AskedRow, ContextRefRow, EventRow, ExchangeOutcome, IntentRow, PutThreads, ReferredText,
    StoreError, ThreadRow, ThreadTurnRow, Threads,
};

fn kind(c: &Columns<'_, '_>) -> Result<EventKind, StoreError> {
    let place = "thread_event.kind";
    let text = c.text(place)?;
    let known = [EventKind::Intent, EventKind::Decision, EventKind::Execution]
        .into_iter()
        .find(|kind| kind.name() == text);
    known.ok_or(StoreError::Corrupt {
        place,
        expected: "INTENT, DECISION or EXECUTION",
        actual: text,
    })
}

fn thread(c: &Columns<'_, '_>) -> Result<ThreadRow, StoreError> {
    Ok(ThreadRow {
        thread: c.uuid("thread.thread_id")?,
        session: c.uuid("thread.session_id")?,
        number: c.count("thread.number")?,
        name: c.text_opt("thread.name")?,
        created_at: c.time("thread.created_at")?,
    })
}

fn turn(c: &Columns<'_, '_>) -> Result<ThreadTurnRow, StoreError> {
    Ok(ThreadTurnRow {
        turn: c.uuid("thread_turn.turn_id")?,
        thread: c.uuid("thread_turn.thread_id")?,
        parent: c.uuid_opt("thread_turn.parent_turn_id")?,
        intent_type: c.text("thread_turn.intent_type")?,
        config_digest: c.hash("thread_turn.config_digest")?,
        declared: c.text("thread_turn.declared")?,
        transformations: c.text("thread_turn.transformations")?,
        inputs: c.text("thread_turn.inputs")?,
        reasons: c.text("thread_turn.reasons")?,
        context_digest: c.hash_opt("thread_turn.context_digest")?,
        prompt_digest: c.hash_opt("thread_turn.prompt_digest")?,
    })
}

fn event(c: &Columns<'_, '_>) -> Result<EventRow, StoreError> {
    Ok(EventRow {
        event: c.uuid("thread_event.event_id")?,
        thread: c.uuid("thread_event.thread_id")?,
        index: c.count("thread_event.event_index")?,
        kind: kind(c)?,
        turn: c.uuid("thread_event.turn_id")?,
        line: c.count("thread_event.line")?,
        created_at: c.time("thread_event.created_at")?,
        bytes: c.count_opt("thread_event.bytes")?,
        digest: c.hash_opt("thread_event.event_digest")?,
    })
}

fn asked(c: &Columns<'_, '_>) -> Result<AskedRow, StoreError> {
    Ok(AskedRow {
        exchange: c.uuid("llm_exchange.exchange_id")?,
        session: c.uuid("llm_exchange.session_id")?,
        seq: c.count("llm_exchange.seq")?,
        turn_user: c.uuid("llm_exchange.turn_user_id")?,
        turn_aurora: c.uuid_opt("llm_exchange.turn_aurora_id")?,
        prompt: c.hash("llm_exchange.prompt_commitment")?,
        line: c.count("llm_exchange.prompt_line")?,
        answered: c.outcome_opt("llm_exchange.outcome")? == Some(ExchangeOutcome::Answered),
        thread: c.uuid_opt("thread_turn.thread_id")?,
        bytes: c.count_opt("thread_event.bytes")?,
    })
}

fn reference(c: &Columns<'_, '_>) -> Result<ContextRefRow, StoreError> {
    let place = "context_ref.admitted_for";
    Ok(ContextRefRow {
        turn: c.uuid("context_ref.turn_id")?,
        event: c.uuid("context_ref.event_id")?,
        ref_id: c.text("context_ref.ref_id")?,
        admitted_for: match c.text(place)?.as_str() {
            "governance" => AdmittedFor::Governance,
            "execution_only" => AdmittedFor::ExecutionOnly,
            other => {
                let (expected, actual) = ("governance or execution_only", other.to_owned());
                return Err(StoreError::Corrupt {
                    place,
                    expected,
                    actual,
                });
            }
        },
        index: c.count("context_ref.event_index")?,
        digest: c.hash_opt("context_ref.event_digest")?,
    })
}

/// The INTENT or EXECUTION `v` whose id is that of a turn `t`.
const OF_TURNS: &str = "SELECT v.* FROM chat_turn t JOIN llm_exchange e ON e.prompt_line = t.line
       JOIN thread_turn h ON h.line = t.line
       JOIN thread_event v ON v.thread_id = h.thread_id AND v.event_id = t.turn_id
        AND v.line >= e.prompt_line AND v.line <= ifnull(e.outcome_line, 9223372036854775807)";

/// From the events `v` of an exchange, whose lines are those of its prompt and its outcome; it may
/// have none yet.
const OF_EXCHANGE: &str = "FROM llm_exchange e JOIN thread_turn h ON h.line = e.prompt_line
       JOIN thread_event v ON v.thread_id = h.thread_id AND v.line >= e.prompt_line
        AND v.line <= ifnull(e.outcome_line, 9223372036854775807) AND v.turn_id = e.exchange_id WHERE e.exchange_id = ?1";

/// The events of an exchange, in their order; by the plus not in that of the key, which would walk
/// the whole thread.
fn events_of() -> String {
    format!("SELECT v.* {OF_EXCHANGE} ORDER BY +v.event_index")
}

impl<C: Deref<Target = Connection>> Handle<C> {
    fn rows_of<T>(
        &self,
        sql: &str,
        values: impl Params,
        row: impl Fn(&Columns<'_, '_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        self.list("read threads", sql, values, row)
    }

    fn row_of<T>(
        &self,
        sql: &str,
        values: impl Params,
        row: impl Fn(&Columns<'_, '_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        self.one("read threads", sql, values, row)
    }
}

impl<C: Deref<Target = Connection>> Threads for Handle<C> {
    fn context_config(&self, digest: Hash32) -> Result<Option<String>, StoreError> {
        let sql = "SELECT document FROM context_config WHERE config_digest = ?1";
        self.row_of(sql, [digest.to_string()], |c| {
            c.text("context_config.document")
        })
    }

    fn thread(&self, id: Uuid) -> Result<Option<ThreadRow>, StoreError> {
        self.row_of(
            "SELECT * FROM thread WHERE thread_id = ?1",
            [id.to_string()],
            thread,
        )
    }

    fn newest_threads(&self, most: u32) -> Result<Vec<ThreadRow>, StoreError> {
        self.rows_of(
            "SELECT * FROM thread ORDER BY rowid DESC LIMIT ?1",
            [most],
            thread,
        )
    }

    fn threads_like(&self, text: &str, most: u32) -> Result<Vec<ThreadRow>, StoreError> {
        let sql = "SELECT * FROM thread WHERE name = ?1
                   UNION SELECT * FROM thread WHERE thread_id >= ?1 AND thread_id < ?1 || 'g' ORDER BY created_at LIMIT ?2";
        self.rows_of(sql, params![text, most], thread)
    }

    fn thread_count(&self, session: Uuid) -> Result<u64, StoreError> {
        let sql = "SELECT ifnull(max(number) + 1, 0) AS n FROM thread WHERE session_id = ?1";
        Ok(self
            .row_of(sql, [session.to_string()], |c| c.count("thread.n"))?
            .unwrap_or_default())
    }

    fn thread_turn(&self, id: Uuid) -> Result<Option<ThreadTurnRow>, StoreError> {
        let sql = "SELECT * FROM thread_turn
                    WHERE line = (SELECT prompt_line FROM llm_exchange WHERE exchange_id = ?1) AND turn_id = ?1";
        self.row_of(sql, [id.to_string()], turn)
    }

    fn newest_turn(&self, of: Uuid) -> Result<Option<Uuid>, StoreError> {
        let sql = "SELECT turn_id FROM thread_event WHERE thread_id = ?1 AND kind = 'INTENT' ORDER BY event_index DESC LIMIT 1";
        self.row_of(sql, [of.to_string()], |c| c.uuid("thread_event.turn_id"))
    }

    fn event(&self, id: Uuid) -> Result<Option<EventRow>, StoreError> {
        let decision = "SELECT v.* FROM part CROSS JOIN thread_event v
                         WHERE v.line >> 15 = part.p AND v.kind = 'DECISION' AND v.event_id = ?1";
        let sql = format!("{PARTS} {OF_TURNS} WHERE t.turn_id = ?1 UNION ALL {decision} LIMIT 1");
        self.row_of(&sql, [id.to_string()], event)
    }

    fn events_like(&self, prefix: &str, most: u32) -> Result<Vec<EventRow>, StoreError> {
        let decisions = "SELECT v.* FROM part CROSS JOIN thread_event v WHERE v.line >> 15 = part.p
                          AND v.kind = 'DECISION' AND v.event_id >= ?1 AND v.event_id < ?1 || 'g'";
        let turns = "WHERE t.turn_id >= ?1 AND t.turn_id < ?1 || 'g'";
        let sql = format!("{PARTS} {OF_TURNS} {turns} UNION ALL {decisions} LIMIT ?2");
        self.rows_of(&sql, params![prefix, most], event)
    }

    fn events_of(&self, turn: Uuid) -> Result<Vec<EventRow>, StoreError> {
        self.rows_of(&events_of(), [turn.to_string()], event)
    }

    fn each_event(
        &self,
        of: Uuid,
        each: &mut dyn FnMut(EventRow) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let sql = "SELECT * FROM thread_event WHERE thread_id = ?1 ORDER BY event_index";
        self.each("read events", sql, [of.to_string()], event, each)
    }

    fn intents(&self) -> Result<Vec<IntentRow>, StoreError> {
        let sql =
            "SELECT thread_id, line, created_at, bytes FROM thread_event WHERE kind = 'INTENT'";
        self.rows_of(sql, [], |c| {
            Ok(IntentRow {
                thread: c.uuid("thread_event.thread_id")?,
                line: c.count("thread_event.line")?,
                created_at: c.time("thread_event.created_at")?,
                bytes: c.count_opt("thread_event.bytes")?,
            })
        })
    }

    fn each_asked(
        &self,
        each: &mut dyn FnMut(AskedRow) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let sql = "SELECT e.exchange_id, e.session_id, e.seq, e.turn_user_id, e.turn_aurora_id, e.prompt_commitment,
                          e.prompt_line, e.outcome, t.thread_id, i.bytes
                     FROM llm_exchange e LEFT JOIN thread_turn t ON t.line = e.prompt_line
                     LEFT JOIN thread_event i
                       ON i.thread_id = t.thread_id AND i.line = e.prompt_line AND i.kind = 'INTENT'";
        self.each("read exchanges", sql, [], asked, each)
    }

    fn next_index(&self, of: Uuid) -> Result<u64, StoreError> {
        let sql =
            "SELECT ifnull(max(event_index) + 1, 0) AS n FROM thread_event WHERE thread_id = ?1";
        Ok(self
            .row_of(sql, [of.to_string()], |c| c.count("thread_event.n"))?
            .unwrap_or_default())
    }

    fn context_refs(&self, turn: Uuid) -> Result<Vec<ContextRefRow>, StoreError> {
        let sql = "SELECT * FROM context_ref
                    WHERE line = (SELECT prompt_line FROM llm_exchange WHERE exchange_id = ?1) AND turn_id = ?1
                    ORDER BY event_index";
        self.rows_of(sql, [turn.to_string()], reference)
    }

    fn referred_texts(&self, turn: Uuid) -> Result<Vec<ReferredText>, StoreError> {
        let sql = "SELECT r.*, t.content,
                          CASE t.speaker WHEN 'user' THEN 'INTENT' WHEN 'aurora' THEN 'EXECUTION' ELSE 'DECISION' END AS kind
                     FROM context_ref r LEFT JOIN chat_turn t ON t.turn_id = r.event_id
                    WHERE r.line = (SELECT prompt_line FROM llm_exchange WHERE exchange_id = ?1) AND r.turn_id = ?1
                    ORDER BY r.event_index";
        self.rows_of(sql, [turn.to_string()], |c| {
            Ok(ReferredText {
                reference: reference(c)?,
                kind: kind(c)?,
                text: c.text_opt("chat_turn.content")?,
            })
        })
    }

    fn referring_to(&self, event: Uuid) -> Result<Vec<Uuid>, StoreError> {
        let sql = format!(
            "{PARTS} SELECT r.turn_id FROM part CROSS JOIN context_ref r WHERE r.line >> 15 = part.p AND r.event_id = ?1"
        );
        self.rows_of(&sql, [event.to_string()], |c| c.uuid("context_ref.turn_id"))
    }

    fn intents_before(&self, of: Uuid, line: u64) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) AS n FROM thread_event WHERE thread_id = ?1 AND kind = 'INTENT' AND line < ?2";
        let count = self.row_of(sql, params![of.to_string(), int(line)], |c| {
            c.count("thread_event.n")
        })?;
        Ok(count.unwrap_or_default())
    }

    fn intents_since(&self, since: Seconds, line: u64) -> Result<(u64, u64), StoreError> {
        let sql =
            "SELECT count(*) AS n, ifnull(sum((bytes + 3) / 4), 0) AS tokens FROM thread_event
                   WHERE kind = 'INTENT' AND created_at > ?1 AND line < ?2";
        let found = self.row_of(sql, params![since.as_i64(), int(line)], |c| {
            Ok((c.count("thread_event.n")?, c.count("thread_event.tokens")?))
        })?;
        Ok(found.unwrap_or_default())
    }
}

fn hash(hash: Option<Hash32>) -> Option<String> {
    hash.map(|h| h.to_string())
}

impl PutThreads for Tx<'_> {
    fn put_context_config(&mut self, digest: Hash32, document: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO context_config VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        self.change(
            "remember a configuration",
            sql,
            params![digest.to_string(), document],
        )
        .map(drop)
    }

    fn put_thread(&mut self, t: &ThreadRow) -> Result<(), StoreError> {
        let values = params![
            t.thread.to_string(),
            t.session.to_string(),
            int(t.number),
            t.name,
            t.created_at.as_i64()
        ];
        self.change(
            "add a thread",
            "INSERT INTO thread VALUES (?1, ?2, ?3, ?4, ?5)",
            values,
        )
        .map(drop)
    }

    fn put_thread_turn(&mut self, t: &ThreadTurnRow) -> Result<(), StoreError> {
        let values = params![
            self.line_of(t.turn)?,
            t.turn.to_string(),
            t.thread.to_string(),
            t.parent.map(|id| id.to_string()),
            t.intent_type,
            t.config_digest.to_string(),
            t.declared,
            t.transformations,
            t.inputs,
            t.reasons,
            hash(t.context_digest),
            hash(t.prompt_digest),
        ];
        let sql =
            "INSERT INTO thread_turn VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
        self.change("add a turn's context", sql, values).map(drop)
    }

    fn put_events(&mut self, events: &[EventRow]) -> Result<(), StoreError> {
        let into = "INSERT INTO thread_event (event_id, thread_id, event_index, kind, turn_id, line, created_at, bytes, event_digest)";
        self.add_all("add an event", (into, 9), events, |e, values| {
            values.put(e.event.to_string())?;
            values.put(e.thread.to_string())?;
            values.put(int(e.index))?;
            values.put(e.kind.name())?;
            values.put(e.turn.to_string())?;
            values.put(int(e.line))?;
            values.put(e.created_at.as_i64())?;
            values.put(e.bytes.map(int))?;
            values.put(hash(e.digest))
        })
    }

    fn put_context_ref(&mut self, r: &ContextRefRow) -> Result<(), StoreError> {
        let values = params![
            self.line_of(r.turn)?,
            int(r.index),
            r.turn.to_string(),
            r.event.to_string(),
            r.ref_id,
            r.admitted_for.name(),
            hash(r.digest)
        ];
        let sql = "INSERT INTO context_ref VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        self.change("add a resolved reference", sql, values)
            .map(drop)
    }
}

impl Tx<'_> {
    /// Destroys the digests that are made from a turn's texts: its own, and those in references to
    /// its events.
    pub(super) fn erase_turn_digests(&self, turn: Uuid) -> Result<(), StoreError> {
        let what = "erase a turn's digests";
        self.erase_context_digests(turn)?;
        self.erase_event_digests(what, turn, "")
    }

    /// Destroys the digest of everything that was sent in a turn.
    pub(super) fn erase_prompt_digest(&self, turn: Uuid) -> Result<(), StoreError> {
        let line = self.line_of(turn)?;
        let sql = "UPDATE thread_turn SET prompt_digest = NULL WHERE line = ?1";
        self.change("erase a prompt's digest", sql, [line])
            .map(drop)
    }

    /// Destroys the digests of a turn's context and prompt, and of its DECISION, which covers the
    /// first.
    pub(super) fn erase_context_digests(&self, turn: Uuid) -> Result<(), StoreError> {
        let what = "erase a context's digests";
        let sql =
            "UPDATE thread_turn SET context_digest = NULL, prompt_digest = NULL WHERE line = ?1";
        self.change(what, sql, [self.line_of(turn)?])?;
        self.erase_event_digests(what, turn, "AND v.kind = 'DECISION'")
    }

    /// Destroys the digests of a turn's events, and those in references to them.
    fn erase_event_digests(
        &self,
        what: &'static str,
        turn: Uuid,
        which: &str,
    ) -> Result<(), StoreError> {
        let sql = format!(
            "UPDATE thread_event SET event_digest = NULL
              WHERE (thread_id, event_index) IN (SELECT v.thread_id, v.event_index {OF_EXCHANGE} {which})"
        );
        self.change(what, &sql, [turn.to_string()])?;
        let sql = format!(
            "{PARTS} UPDATE context_ref SET event_digest = NULL WHERE (line, event_index) IN (
               SELECT r.line, r.event_index FROM part CROSS JOIN context_ref r
                WHERE r.line >> 15 = part.p AND r.event_id IN (SELECT v.event_id {OF_EXCHANGE} {which}))"
        );
        self.change(what, &sql, [turn.to_string()]).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sqlite;
    use super::*;

    /// What a turn looks up does not grow with its thread: by the lines of the exchange, not along
    /// the key.
    #[test]
    fn events_are_found_by_their_lines() {
        let home = tempfile::tempdir().unwrap();
        let store = Sqlite::create(&home.path().join("gently.db")).unwrap();
        let which = "SELECT v.thread_id, v.event_index";
        for sql in [
            events_of(),
            format!("{PARTS} {OF_TURNS} WHERE t.turn_id = ?1"),
            format!("{which} {OF_EXCHANGE}"),
        ] {
            let mut statement = store
                .connection()
                .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
                .unwrap();
            let steps: Vec<String> = statement
                .query_map(["0"], |row| row.get("detail"))
                .unwrap()
                .map(Result::unwrap)
                .collect();
            let plan = steps.join("; ");
            assert!(
                plan.contains(
                    "v USING INDEX idx_thread_event_line (thread_id=? AND line>? AND line<?)"
                ),
                "{plan}"
            );
        }
    }
}
