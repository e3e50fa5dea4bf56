//! The queries behind [`Find`]; `docs/schema.md` names the index that each goes by.

use std::ops::Deref;

use rusqlite::{Connection, params};
use uuid::Uuid;

use super::columns::int;
use super::rows::{DRIFT_STATE, artifact, commit, drift_state, exchange, session};
use super::{Handle, PARTS, Sqlite, failed};
use crate::store::{ArtifactRow, CommitRow, DriftState, ExchangeRow, Find, SessionRow, StoreError};

/// The first text after all that begin with `prefix`: no id holds a character past `f`.
fn after(prefix: &str) -> String {
    format!("{prefix}g")
}

/// How a commit's message names its session (format, section 5).
fn trailer(row: &SessionRow) -> Vec<u8> {
    format!("\nSession: {}\n", row.id).into_bytes()
}

impl<C: Deref<Target = Connection>> Find for Handle<C> {
    fn sessions_like(&self, prefix: &str, most: u32) -> Result<Vec<SessionRow>, StoreError> {
        let sql = "SELECT * FROM chat_session WHERE ledger_session >= ?1 AND ledger_session < ?2
                   UNION SELECT * FROM chat_session WHERE session_id >= ?1 AND session_id < ?2
                   ORDER BY started_at LIMIT ?3";
        self.list(
            "look up a session",
            sql,
            params![prefix, after(prefix), most],
            session,
        )
    }

    fn newest_session(&self) -> Result<Option<SessionRow>, StoreError> {
        self.one(
            "look up a session",
            "SELECT * FROM chat_session ORDER BY rowid DESC LIMIT 1",
            [],
            session,
        )
    }

    fn exchange_at(&self, of: Uuid, seq: u64) -> Result<Option<ExchangeRow>, StoreError> {
        let sql = "SELECT * FROM llm_exchange WHERE session_id = ?1 AND seq = ?2";
        self.one(
            "look up an exchange",
            sql,
            params![of.to_string(), int(seq)],
            exchange,
        )
    }

    fn newest_exchange(&self) -> Result<Option<ExchangeRow>, StoreError> {
        self.one(
            "look up an exchange",
            "SELECT * FROM llm_exchange ORDER BY rowid DESC LIMIT 1",
            [],
            exchange,
        )
    }

    fn exchanges_like(&self, prefix: &str, most: u32) -> Result<Vec<ExchangeRow>, StoreError> {
        let sql = format!(
            "{PARTS} SELECT * FROM llm_exchange WHERE exchange_id >= ?1 AND exchange_id < ?2
             UNION SELECT e.* FROM part CROSS JOIN llm_exchange e
                    WHERE e.prompt_line >> 15 = part.p AND e.chain_entry >= ?1 AND e.chain_entry < ?2
             ORDER BY prompt_line LIMIT ?3"
        );
        self.list(
            "look up an exchange",
            &sql,
            params![prefix, after(prefix), most],
            exchange,
        )
    }

    fn commits_like(&self, prefix: &str, most: u32) -> Result<Vec<CommitRow>, StoreError> {
        let sql = format!(
            "{PARTS} SELECT c.* FROM part CROSS JOIN ledger_commit c
              WHERE c.line >> 15 = part.p AND c.id >= ?1 AND c.id < ?2 ORDER BY n LIMIT ?3"
        );
        self.list(
            "look up a commit",
            &sql,
            params![prefix, after(prefix), most],
            commit,
        )
    }

    fn drift_states(
        &self,
        open_only: bool,
        below: Option<u64>,
        most: u32,
    ) -> Result<(Vec<DriftState>, u64), StoreError> {
        let open = "AND NOT EXISTS (SELECT 1 FROM artifact WHERE kind = 'drift_close' AND id = d.drift_id)";
        let which = format!("WHERE d.rowid < ?1 {}", if open_only { open } else { "" });
        let sql = format!("{DRIFT_STATE} {which} ORDER BY d.rowid DESC LIMIT ?2");
        let below = below.map_or(i64::MAX, int);
        let found = self.list("list drift events", &sql, params![below, most], drift_state)?;
        let Some(last) = found.last().map(|state| int(state.number)) else {
            return Ok((found, 0));
        };
        let sql = format!("SELECT count(*) AS n FROM drift_event d {which}");
        let older = self.one("count drift events", &sql, [last], |c| {
            c.count("drift_event.n")
        })?;
        Ok((found, older.unwrap_or_default()))
    }

    fn drift_numbered(&self, number: u64) -> Result<Option<DriftState>, StoreError> {
        let sql = format!("{DRIFT_STATE} WHERE d.rowid = ?1");
        self.one("look up a drift event", &sql, [int(number)], drift_state)
    }

    fn drift_like(&self, prefix: &str, most: u32) -> Result<Vec<DriftState>, StoreError> {
        let sql = format!(
            "{DRIFT_STATE} WHERE d.drift_id >= ?1 AND d.drift_id < ?2 ORDER BY d.rowid LIMIT ?3"
        );
        self.list(
            "look up a drift event",
            &sql,
            params![prefix, after(prefix), most],
            drift_state,
        )
    }

    fn artifact_of_line(&self, line: u64) -> Result<Option<ArtifactRow>, StoreError> {
        self.one(
            "look up an artifact",
            "SELECT * FROM artifact WHERE line = ?1",
            [int(line)],
            artifact,
        )
    }

    fn commits_of_line(&self, line: u64) -> Result<Vec<CommitRow>, StoreError> {
        let sql = "SELECT * FROM ledger_commit WHERE line = ?1 ORDER BY n";
        self.list("look up a line's commits", sql, [int(line)], commit)
    }

    fn rotations(&self) -> Result<Vec<CommitRow>, StoreError> {
        let sql = "SELECT * FROM ledger_commit WHERE ref = ?1 AND kind = 'key_rotate' ORDER BY n";
        self.list(
            "look up rotations",
            sql,
            [crate::record::ledger::commit::MAIN],
            commit,
        )
    }

    fn start_commit(
        &self,
        of: &SessionRow,
        from_line: u64,
    ) -> Result<Option<CommitRow>, StoreError> {
        let sql =
            "SELECT * FROM ledger_commit WHERE ref = ?1 AND kind = 'session_start' AND line <= ?2
                   AND instr(raw, ?3) > 0 ORDER BY n DESC LIMIT 1";
        let reference = crate::record::ledger::commit::branch_ref(&of.branch);
        self.one(
            "look up a session's start",
            sql,
            params![reference, int(from_line), trailer(of)],
            commit,
        )
    }

    fn end_commit(&self, of: &SessionRow, start: u64) -> Result<Option<CommitRow>, StoreError> {
        let sql = "SELECT * FROM ledger_commit WHERE ref = ?1 AND n > ?2 AND kind = 'session_end'
                   AND instr(raw, ?3) > 0 ORDER BY n LIMIT 1";
        let reference = crate::record::ledger::commit::branch_ref(&of.branch);
        self.one(
            "look up a session's end",
            sql,
            params![reference, int(start), trailer(of)],
            commit,
        )
    }
}

impl Sqlite {
    /// How many rows refer to rows that are not there; SQLite's own check.
    pub fn broken_references(&self) -> Result<u64, StoreError> {
        let what = "check foreign keys";
        let mut statement = self
            .connection()
            .prepare("PRAGMA foreign_key_check")
            .map_err(failed(what))?;
        let mut rows = statement.query([]).map_err(failed(what))?;
        let mut count = 0;
        while rows.next().map_err(failed(what))?.is_some() {
            count += 1;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The plan of every query here: an index, never a scan of a table.
    #[test]
    fn no_look_up_scans_a_table() {
        let home = tempfile::tempdir().unwrap();
        let store = Sqlite::create(&home.path().join("gently.db")).unwrap();
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
                "SELECT * FROM ledger_commit WHERE line >> 15 = 0 AND id >= '0' AND id < '0g' ORDER BY n LIMIT 3",
                "idx_ledger_commit_id (<expr>=? AND id>",
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
                "SELECT * FROM thread_event WHERE line >> 15 = 0 AND event_id = '0' AND kind = 'DECISION'",
                "idx_thread_event_decision (<expr>=? AND event_id=?",
            ),
            (
                "SELECT * FROM ledger_commit WHERE line = 1 ORDER BY n",
                "idx_ledger_commit_line",
            ),
            (
                "SELECT * FROM ledger_commit WHERE ref = '0' AND kind = 'session_start' AND line <= 1 ORDER BY n DESC",
                "idx_ledger_commit_",
            ),
            (
                "SELECT * FROM ledger_commit WHERE ref = '0' AND n > 1 AND kind = 'session_end' ORDER BY n",
                "(ref=? AND",
            ),
        ] {
            let mut statement = store
                .connection()
                .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
                .unwrap();
            let steps: Vec<String> = statement
                .query_map([], |row| row.get("detail"))
                .unwrap()
                .map(Result::unwrap)
                .collect();
            let plan = steps.join("; ");
            assert!(
                plan.contains(index) && !plan.contains("SCAN"),
                "{sql}: {plan}"
            );
        }
        let mut statement = store
            .connection()
            .prepare(&format!("EXPLAIN QUERY PLAN {}", super::super::read::REFS))
            .unwrap();
        let steps: Vec<String> = statement
            .query_map([], |row| row.get("detail"))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert!(
            !steps.iter().any(|step| step.contains("SCAN ledger_commit")),
            "{steps:?}"
        );
    }
}
