//! Sessions, turns, exchanges, and what was found in answers.

use std::collections::BTreeMap;

use uuid::Uuid;

use crate::record::hash::Hash32;
use crate::record::log::entry::Line;
use crate::record::time::Seconds;

use super::access::{ExtraColumn, HashedRow, PrefixLookup, ReadStore, RowInsert, WriteStore};
use super::ledger::PARTS;
use super::table::{Bind, Row, values};
use super::{
    ArtifactRefRow, AssertionRow, AuthKeyRow, DriftRow, DriftState, ErasureCommitmentRow,
    ExchangeRow, KernelRow, MeasureRow, OutcomeUpdate, SessionProgress, SessionRow, StoreError,
    TurnRow,
};

/// Joins an exchange `e` with its drift events `d` that a person was told of and that nobody has
/// closed, by the index of failed checks.
pub(super) const OPEN_DRIFT: &str =
    "JOIN assertion_event a ON a.line = e.prompt_line AND a.passed = 0 AND a.level <> 'info'
       JOIN drift_event d ON d.exchange_id = e.exchange_id
        AND a.name = d.drift_class || '.' || substr(d.summary, 1, instr(d.summary || ' ', ' ') - 1)
        AND NOT EXISTS (SELECT 1 FROM artifact c WHERE c.kind = 'drift_close' AND c.id = d.drift_id)";

/// Drift events with what became of them, where `filter` holds. An event's number is its place in
/// the order of recording: rows are never deleted.
fn drift_states(filter: &str) -> String {
    format!(
        "SELECT d.rowid, {}, a.level,
                (SELECT min(line) FROM artifact WHERE kind = 'drift_ack' AND id = d.drift_id),
                (SELECT min(line) FROM artifact WHERE kind = 'drift_close' AND id = d.drift_id)
           FROM drift_event d LEFT JOIN assertion_event a
             ON a.line = (SELECT prompt_line FROM llm_exchange e WHERE e.exchange_id = d.exchange_id) AND a.passed = 0
            AND a.name = d.drift_class || '.' || substr(d.summary, 1, instr(d.summary || ' ', ' ') - 1)
         {filter}",
        DriftRow::columns_of("d")
    )
}

/// The newest exchange that has a bundle, among the last few.
const WITH_BUNDLE: &str =
    "WHERE prompt_line >= ifnull((SELECT prompt_line FROM llm_exchange WHERE prompt_line >= 0
                                  ORDER BY prompt_line DESC LIMIT 1 OFFSET 31), 0)
                      AND context_bundle_json IS NOT NULL ORDER BY prompt_line DESC LIMIT 1";

/// The exchange whose row `found` finds in the newest part that has one.
fn newest(found: &str) -> String {
    format!(
        "{PARTS} SELECT {} FROM llm_exchange e WHERE e.rowid =
           (SELECT r FROM (SELECT ({found}) AS r FROM part) WHERE r IS NOT NULL LIMIT 1)",
        ExchangeRow::columns_of("e")
    )
}

impl ReadStore {
    /// Calls `each` for every session, oldest first.
    pub fn each_session(
        &self,
        each: &mut dyn FnMut(SessionRow) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each_row("ORDER BY started_at, rowid", values![], each)
    }

    /// Sessions whose status is open, oldest first; those of one second by the lines of the log.
    pub fn open_sessions(&self) -> Result<Vec<SessionRow>, StoreError> {
        let rest = "WHERE status = 'open' ORDER BY started_at, rowid";
        let mut open: Vec<SessionRow> = self.rows(rest, values![])?;
        for same in open.chunk_by_mut(|one, next| one.started_at == next.started_at) {
            if same.len() < 2 {
                continue;
            }
            let mut lines = BTreeMap::new();
            for session in same.iter() {
                let start = self.start_commit(session, u64::MAX >> 1)?;
                lines.insert(session.uuid, start.map(|row| row.line));
            }
            same.sort_by_key(|session| lines.get(&session.uuid).copied());
        }
        Ok(open)
    }

    /// One session by its ledger id.
    pub fn session(&self, id: Hash32) -> Result<Option<SessionRow>, StoreError> {
        self.row("WHERE ledger_session = ?1", values![id])
    }

    /// One session by the id of its row.
    pub fn session_of(&self, uuid: Uuid) -> Result<Option<SessionRow>, StoreError> {
        self.row("WHERE session_id = ?1", values![uuid])
    }

    /// The session that was opened last, by the lines of the log.
    pub fn newest_session(&self) -> Result<Option<SessionRow>, StoreError> {
        // From the end, and no further than that session is long.
        let sql =
            "SELECT line FROM log_line WHERE line LIKE '%|session_start|%' ORDER BY n DESC LIMIT 1";
        let line: Option<String> = self.one("look for the newest session", sql, values![])?;
        let line = line.and_then(|text| Line::parse(text.as_bytes()).ok());
        match line.and_then(|line| line.session) {
            Some(id) => self.session(id),
            None => Ok(None),
        }
    }

    /// Calls `each` for every exchange, or for those of one session, in the order of sessions and
    /// `seq`.
    pub fn each_exchange(
        &self,
        session: Option<Uuid>,
        each: &mut dyn FnMut(ExchangeRow) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let each: &mut dyn FnMut(ExchangeRow) -> _ = &mut |row: ExchangeRow| each(row.checked()?);
        match session {
            Some(id) => self.each_row("WHERE session_id = ?1 ORDER BY seq", values![id], each),
            None => self.each_row("ORDER BY prompt_line", values![], each),
        }
    }

    /// The exchange of that id; none when there is none.
    pub fn exchange(&self, id: Uuid) -> Result<Option<ExchangeRow>, StoreError> {
        let row: Option<ExchangeRow> = self.row("WHERE exchange_id = ?1", values![id])?;
        row.map(ExchangeRow::checked).transpose()
    }

    /// The exchange with that number in a session.
    pub fn exchange_at(&self, session: Uuid, seq: u64) -> Result<Option<ExchangeRow>, StoreError> {
        self.row("WHERE session_id = ?1 AND seq = ?2", values![session, seq])
    }

    /// The exchange whose prompt was recorded last.
    pub fn newest_exchange(&self) -> Result<Option<ExchangeRow>, StoreError> {
        self.row(
            "WHERE NOT EXISTS (SELECT 1 FROM thread_turn h
                                WHERE h.line = llm_exchange.prompt_line AND h.intent_type <> 'chat.message')
             ORDER BY prompt_line DESC LIMIT 1",
            values![],
        )
    }

    /// The exchange with an answer whose prompt was recorded last.
    pub fn newest_answered(&self) -> Result<Option<ExchangeRow>, StoreError> {
        self.answered_before(u64::MAX)
    }

    /// The same of those whose prompts were recorded before a line.
    pub fn answered_before(&self, line: u64) -> Result<Option<ExchangeRow>, StoreError> {
        self.row(
            // By the plus along the lines, and not by an index of all answered ones.
            "WHERE prompt_line < ?1 AND +outcome = 'answered' ORDER BY prompt_line DESC LIMIT 1",
            values![line],
        )
    }

    /// Up to `most` exchanges whose prompts were recorded behind a line, the newest first.
    pub fn exchanges_behind(&self, line: u64, most: u32) -> Result<Vec<ExchangeRow>, StoreError> {
        let rest = "WHERE prompt_line > ?1 ORDER BY prompt_line DESC LIMIT ?2";
        self.rows(rest, values![line, most])
    }

    /// The newest exchange that has this number in its session.
    pub fn newest_numbered(&self, seq: u64) -> Result<Option<ExchangeRow>, StoreError> {
        self.row(
            "WHERE seq = ?1 ORDER BY prompt_line DESC LIMIT 1",
            values![seq],
        )
    }

    /// The newest exchange that a bundle is kept of, if it is among the last few.
    pub fn newest_with_bundle(&self) -> Result<Option<ExchangeRow>, StoreError> {
        // A home that keeps no texts has none: not all of it is read to find that out.
        self.row(WITH_BUNDLE, values![])
    }

    /// The exchange that a turn is of.
    pub fn exchange_of_turn(&self, turn: Uuid) -> Result<Option<ExchangeRow>, StoreError> {
        let rest = "WHERE prompt_line = (SELECT line FROM chat_turn WHERE turn_id = ?1)
                      AND ?1 IN (turn_user_id, turn_aurora_id)";
        self.row(rest, values![turn])
    }

    /// The newest answer to a compiled prompt (SHA-256 of it); replays don't count.
    pub fn answered_prompt(&self, prompt_hash: Hash32) -> Result<Option<ExchangeRow>, StoreError> {
        let found = "SELECT e.rowid FROM llm_exchange e WHERE e.prompt_line >> 15 = part.p AND e.prompt_hash = ?1
                      AND e.outcome = 'answered' AND e.model <> 'replay' ORDER BY e.outcome_line DESC LIMIT 1";
        self.one(
            "find an answered prompt",
            &newest(found),
            values![prompt_hash],
        )
    }

    /// The newest answer to a user's text (SHA-256 of it as stored); replays don't count.
    pub fn answered_text(&self, content_hash: Hash32) -> Result<Option<ExchangeRow>, StoreError> {
        let found = "SELECT e.rowid FROM chat_turn t JOIN llm_exchange e ON e.prompt_line = t.line
                      WHERE t.line >> 15 = part.p AND t.content_hash = ?1 AND t.speaker = 'user'
                        AND e.outcome = 'answered' AND e.model <> 'replay' ORDER BY e.outcome_line DESC LIMIT 1";
        self.one(
            "find an answered text",
            &newest(found),
            values![content_hash],
        )
    }

    /// Exchanges of a session that have no outcome.
    pub fn in_flight(&self, session: Uuid) -> Result<Vec<ExchangeRow>, StoreError> {
        let rest = "WHERE session_id = ?1 AND outcome IS NULL ORDER BY seq";
        self.rows(rest, values![session])
    }

    /// Up to `most` exchanges with an outcome, begun before a time, whose text is kept; oldest
    /// first.
    pub fn kept_before(&self, time: Seconds, most: u32) -> Result<Vec<Uuid>, StoreError> {
        let sql = "SELECT exchange_id FROM llm_exchange
                   WHERE salt IS NOT NULL AND outcome IS NOT NULL AND created_at < ?1 ORDER BY created_at LIMIT ?2";
        self.list("find old texts", sql, values![time, most])
    }

    /// The turn of that id; none when there is none.
    pub fn turn(&self, id: Uuid) -> Result<Option<TurnRow>, StoreError> {
        self.row("WHERE turn_id = ?1", values![id])
    }

    /// Calls `each` for every turn, in the order of their places in the search index: with its
    /// place, and the line that it was recorded with, by its exchange; none of a turn of no exchange.
    pub fn each_turn_place(
        &self,
        each: &mut dyn FnMut(u64, Option<u64>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let sql = "SELECT t.n, (SELECT CASE t.turn_id WHEN e.turn_user_id THEN e.prompt_line ELSE e.outcome_line END
                                  FROM llm_exchange e
                                 WHERE e.prompt_line = t.line AND t.turn_id IN (e.turn_user_id, e.turn_aurora_id))
                     FROM chat_turn t ORDER BY t.n";
        let each: &mut dyn FnMut((u64, Option<u64>)) -> _ = &mut |(n, line)| each(n, line);
        self.each("read the places of turns", sql, values![], each)
    }

    /// Up to `most` turns that no exchange refers to.
    pub fn turns_of_no_exchange(&self, most: u32) -> Result<Vec<Uuid>, StoreError> {
        let sql = "SELECT t.turn_id FROM chat_turn t
                    WHERE NOT EXISTS (SELECT 1 FROM llm_exchange e
                           WHERE e.prompt_line = t.line AND t.turn_id IN (e.turn_user_id, e.turn_aurora_id))
                    ORDER BY t.n LIMIT ?1";
        self.list("look for turns of no exchange", sql, values![most])
    }

    /// What was injected into an exchange, in the order of injection.
    pub fn artifact_refs(&self, exchange: Uuid) -> Result<Vec<ArtifactRefRow>, StoreError> {
        let rest = "WHERE exchange_id = ?1
                      AND line = (SELECT prompt_line FROM llm_exchange WHERE exchange_id = ?1) ORDER BY rowid";
        self.rows(rest, values![exchange])
    }

    /// Exchanges that an artifact of this id was injected into.
    pub fn injected_into(&self, artifact_id: &str) -> Result<Vec<Uuid>, StoreError> {
        let sql = format!(
            "{PARTS} SELECT DISTINCT r.exchange_id FROM part CROSS JOIN context_artifact_ref r
              WHERE r.line >> 15 = part.p AND r.artifact_id = ?1"
        );
        self.list("find what was injected", &sql, values![artifact_id])
    }

    /// Drift of an exchange, in the order of its lines.
    pub fn drift(&self, exchange: Uuid) -> Result<Vec<DriftRow>, StoreError> {
        self.rows("WHERE exchange_id = ?1 ORDER BY rowid", values![exchange])
    }

    /// Up to `most` drift events below a number, newest first, and how many older ones there are;
    /// with `open_only` those that nobody has closed.
    pub fn drift_states(
        &self,
        open_only: bool,
        below: Option<u64>,
        most: u32,
    ) -> Result<(Vec<DriftState>, u64), StoreError> {
        let open = "AND NOT EXISTS (SELECT 1 FROM artifact WHERE kind = 'drift_close' AND id = d.drift_id)";
        let which = format!("WHERE d.rowid < ?1 {}", if open_only { open } else { "" });
        let sql = drift_states(&format!("{which} ORDER BY d.rowid DESC LIMIT ?2"));
        let below = below.unwrap_or(u64::MAX);
        let found: Vec<DriftState> = self.list(DriftRow::READING, &sql, values![below, most])?;
        let Some(last) = found.last().map(|state| state.number) else {
            return Ok((found, 0));
        };
        let sql = format!("SELECT count(*) FROM drift_event d {which}");
        let older = self.sole("count drift events", &sql, values![last])?;
        Ok((found, older))
    }

    /// Checks of an exchange, in the order in which they were made.
    pub fn assertions(&self, exchange: Uuid) -> Result<Vec<AssertionRow>, StoreError> {
        let rest = "WHERE line = (SELECT prompt_line FROM llm_exchange WHERE exchange_id = ?1)
                      AND exchange_id = ?1 ORDER BY name";
        self.rows(rest, values![exchange])
    }

    /// What was measured of an exchange; none for one that waits, one that was abandoned, and one
    /// from before measures.
    pub fn measures(&self, exchange: &ExchangeRow) -> Result<Option<MeasureRow>, StoreError> {
        let (line, id) = (exchange.prompt_line, exchange.exchange_id);
        self.row("WHERE line = ?1 AND exchange_id = ?2", values![line, id])
    }

    /// How many exchanges something was measured of.
    pub fn measure_count(&self) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM exchange_measure";
        self.sole("count what was measured", sql, values![])
    }

    /// How many turns of its thread came before one that replies to a turn, parent by parent; 0
    /// without a parent. As far back as the nearest turn that this was measured of.
    pub fn depth_after(&self, parent: Option<Uuid>) -> Result<u64, StoreError> {
        let Some(parent) = parent else {
            return Ok(0);
        };
        let sql = "WITH RECURSIVE back (line, above, steps) AS (
               SELECT e.prompt_line, (SELECT m.depth FROM exchange_measure m WHERE m.line = e.prompt_line), 1
                 FROM llm_exchange e WHERE e.exchange_id = ?1
               UNION ALL
               SELECT e.prompt_line, (SELECT m.depth FROM exchange_measure m WHERE m.line = e.prompt_line), b.steps + 1
                 FROM back b JOIN thread_turn h ON h.line = b.line JOIN llm_exchange e ON e.exchange_id = h.parent_turn_id
                WHERE b.above IS NULL AND e.prompt_line < b.line)
             SELECT steps + ifnull(above, 0) FROM back ORDER BY steps DESC LIMIT 1";
        let depth = self.one("count the turns before one", sql, values![parent])?;
        Ok(depth.unwrap_or(1))
    }

    /// A kernel's canonical JSON.
    pub fn kernel(&self, hash: Hash32) -> Result<Option<String>, StoreError> {
        let sql = "SELECT document FROM kernel WHERE kernel_hash = ?1";
        self.one("read a kernel", sql, values![hash])
    }

    /// All auth keys, revoked ones too.
    pub fn auth_keys(&self) -> Result<Vec<AuthKeyRow>, StoreError> {
        self.rows("ORDER BY added_at, rowid", values![])
    }

    /// The running count of auth failures without a line: reason, since, pending.
    pub fn auth_failures(&self) -> Result<Vec<(String, Seconds, u64)>, StoreError> {
        let sql = "SELECT reason, since, pending FROM auth_failure ORDER BY reason";
        self.list("read auth failures", sql, values![])
    }

    /// The line of an exchange's prompt, by which what belongs to it is found.
    pub(super) fn line_of(&self, exchange: Uuid) -> Result<u64, StoreError> {
        let sql = "SELECT prompt_line FROM llm_exchange WHERE exchange_id = ?1";
        let line = self.one("look for a prompt's line", sql, values![exchange])?;
        line.ok_or_else(|| none_such("llm_exchange.exchange_id", "an exchange", exchange))
    }

    /// The same as a column of what stands with the exchange.
    pub(super) fn beside_prompt(&self, exchange: Uuid) -> Result<Option<ExtraColumn>, StoreError> {
        Ok(Some(("line", self.line_of(exchange)?)))
    }
}

impl ExchangeRow {
    /// It, unless a text of its answer alone is said not to be kept.
    fn checked(self) -> Result<Self, StoreError> {
        let aurora = self
            .outcome
            .as_ref()
            .and_then(|outcome| outcome.aurora_text);
        match aurora.filter(|_| self.not_kept.is_none()) {
            None => Ok(self),
            Some(aurora) => Err(StoreError::Corrupt {
                place: "llm_exchange.user_text_commitment".to_owned(),
                expected: "a commitment beside that to another text of the exchange".to_owned(),
                actual: format!("null beside {aurora}"),
            }),
        }
    }
}

/// By the ledger's id or by its own.
/// The oldest first, as they were recorded: several may have begun in one second.
impl PrefixLookup for SessionRow {
    const FINDING: &'static str = Self::READING;

    fn by_prefix() -> String {
        let columns = Self::names().join(", ");
        format!(
            "SELECT {columns} FROM chat_session WHERE rowid IN
               (SELECT rowid FROM chat_session WHERE ledger_session >= ?1 AND ledger_session < ?2
                UNION SELECT rowid FROM chat_session WHERE session_id >= ?1 AND session_id < ?2)
             ORDER BY rowid LIMIT ?3"
        )
    }
}

/// By its id or its chain entry.
impl PrefixLookup for ExchangeRow {
    const FINDING: &'static str = Self::READING;

    fn by_prefix() -> String {
        let columns = Self::columns_of("e");
        format!(
            "{PARTS} SELECT {columns} FROM llm_exchange e WHERE exchange_id >= ?1 AND exchange_id < ?2
             UNION SELECT {columns} FROM part CROSS JOIN llm_exchange e
                    WHERE e.prompt_line >> 15 = part.p AND e.chain_entry >= ?1 AND e.chain_entry < ?2
             ORDER BY prompt_line LIMIT ?3"
        )
    }
}

impl PrefixLookup for DriftState {
    const FINDING: &'static str = DriftRow::READING;

    fn by_prefix() -> String {
        drift_states("WHERE d.drift_id >= ?1 AND d.drift_id < ?2 ORDER BY d.rowid LIMIT ?3")
    }
}

impl WriteStore {
    /// Marks an auth key as revoked; true when it was not before.
    pub fn revoke_auth_key(&mut self, hash: Hash32, at: Seconds) -> Result<bool, StoreError> {
        let sql =
            "UPDATE auth_key SET revoked_at = ?2 WHERE auth_key_hash = ?1 AND revoked_at IS NULL";
        Ok(self.change("revoke an auth key", sql, values![hash, at])? == 1)
    }

    /// Replaces the running count of one reason.
    pub fn set_auth_failure(
        &mut self,
        reason: &str,
        since: Seconds,
        pending: u64,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO auth_failure (reason, since, pending) VALUES (?1, ?2, ?3)
                   ON CONFLICT (reason) DO UPDATE SET since = excluded.since, pending = excluded.pending";
        self.change(
            "count an auth failure",
            sql,
            values![reason, since, pending],
        )
        .map(drop)
    }

    /// Moves a session's running state.
    pub fn move_session(
        &mut self,
        session: Uuid,
        progress: &SessionProgress,
    ) -> Result<(), StoreError> {
        let open = ("session_id = ?1 AND status = 'open'", values![session]);
        let changed = self.set("move a session", "chat_session", progress, open)?;
        must_change(changed, "chat_session.status", "an open session", session)
    }

    /// Gives an exchange its one outcome; fails when it has one.
    pub fn put_outcome(
        &mut self,
        exchange: Uuid,
        outcome: &OutcomeUpdate,
    ) -> Result<(), StoreError> {
        let asked = ("exchange_id = ?1 AND outcome IS NULL", values![exchange]);
        let changed = self.set("record an outcome", "llm_exchange", outcome, asked)?;
        let expected = "an exchange in flight";
        must_change(changed, "llm_exchange.outcome", expected, exchange)
    }
}

impl HashedRow for KernelRow {}
impl RowInsert for AuthKeyRow {}
impl RowInsert for SessionRow {}
/// With its outcome, if it has one already.
impl RowInsert for ExchangeRow {}
impl RowInsert for DriftRow {}
impl RowInsert for MeasureRow {}
impl RowInsert for ErasureCommitmentRow {}

impl WriteStore {
    /// The place of the next turn, which somebody takes for it before its row can be written.
    pub fn next_turn_place(&self) -> Result<u64, StoreError> {
        Ok(self.last_turn()? + 1)
    }

    /// Adds a turn in a place that was taken for it.
    pub fn put_turn_in_place(&mut self, turn: &TurnRow, n: u64) -> Result<(), StoreError> {
        self.add_all(std::slice::from_ref(turn), &[("n", n.value())])
    }
}

/// A turn's place in the search index is the next one.
impl RowInsert for TurnRow {
    fn beside(&self, store: &ReadStore) -> Result<Option<ExtraColumn>, StoreError> {
        Ok(Some(("n", store.last_turn()? + 1)))
    }
}

impl RowInsert for ArtifactRefRow {
    fn beside(&self, store: &ReadStore) -> Result<Option<ExtraColumn>, StoreError> {
        store.beside_prompt(self.exchange)
    }
}

impl RowInsert for AssertionRow {
    fn beside(&self, store: &ReadStore) -> Result<Option<ExtraColumn>, StoreError> {
        store.beside_prompt(self.exchange)
    }
}

/// Refuses to have changed nothing.
pub(super) fn must_change(
    changed: usize,
    place: &str,
    expected: &str,
    id: Uuid,
) -> Result<(), StoreError> {
    match changed {
        1 => Ok(()),
        _ => Err(none_such(place, expected, id)),
    }
}

fn none_such(place: &str, expected: &str, id: Uuid) -> StoreError {
    StoreError::Corrupt {
        place: place.to_owned(),
        expected: expected.to_owned(),
        actual: format!("{id}: none such"),
    }
}

#[cfg(test)]
mod tests {
    use super::WITH_BUNDLE;
    use crate::store::plan;

    #[test]
    fn no_look_up_walks_over_sessions_exchanges_or_turns() {
        for (sql, index) in [
            (
                "SELECT * FROM chat_session WHERE ledger_session >= '0' AND ledger_session < '0g'",
                "ledger_session>",
            ),
            (
                "SELECT * FROM chat_session WHERE session_id >= '0' AND session_id < '0g'",
                "session_id>",
            ),
            (
                "SELECT * FROM llm_exchange WHERE session_id = '0' AND seq = 1",
                "session_id=? AND seq=?",
            ),
            (
                "SELECT * FROM llm_exchange WHERE exchange_id >= '0' AND exchange_id < '0g'",
                "exchange_id>",
            ),
            (
                "SELECT * FROM llm_exchange WHERE prompt_line >> 15 = 0 AND chain_entry >= '0' AND chain_entry < '0g'",
                "idx_llm_exchange_chain (<expr>=? AND chain_entry>",
            ),
            (
                "SELECT * FROM llm_exchange WHERE prompt_line >> 15 = 0 AND prompt_hash = '0' AND outcome = 'answered'",
                "idx_llm_exchange_prompt (<expr>=? AND prompt_hash=?",
            ),
            (
                "SELECT * FROM chat_turn WHERE line >> 15 = 0 AND content_hash = '0' AND speaker = 'user'",
                "idx_chat_turn_content (<expr>=? AND content_hash=?",
            ),
            (
                "SELECT * FROM context_artifact_ref WHERE exchange_id = '0' ORDER BY rowid",
                "idx_context_artifact_exchange (exchange_id=?)",
            ),
        ] {
            let plan = plan(sql);
            assert!(
                plan.contains(index) && !plan.contains("SCAN"),
                "{sql}: {plan}"
            );
        }
        // The newest few are found by the last entries of an index.
        let plan = plan(&format!("SELECT * FROM llm_exchange {WITH_BUNDLE}"));
        let along = "SCAN llm_exchange USING COVERING INDEX idx_llm_exchange_line";
        assert!(
            plan.contains("SEARCH llm_exchange USING INDEX idx_llm_exchange_line (prompt_line>")
                && plan.matches("SCAN").count() == plan.matches(along).count(),
            "{plan}"
        );
    }
}
