//! Rows of evidence that nothing refers to, and rows that are not numbered as they were recorded:
//! whoever reads what belongs to an exchange never meets the first, and takes another for the newest
//! because of the second.

use super::StoreError;
use super::access::ReadStore;
use super::table::values;

/// A row that should not be there, or not where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrphanRow {
    /// Its table, and what it is known by in there.
    pub place: String,
    /// What there is of every other row of its table.
    pub expected: &'static str,
}

/// How the rows `r` of a table of evidence belong to something else.
struct BelongingRows {
    table: &'static str,
    /// What a row is known by.
    key: &'static str,
    /// Holds of every row that is read with what it belongs to.
    belongs: &'static str,
    /// What it belongs to, in the words of a finding.
    owner: &'static str,
}

/// What belongs to an exchange.
const EXCHANGE: &str = "an exchange that it belongs to, with its line";

/// The tables of evidence, with the conditions under which their rows are read. `log_line`,
/// `ledger_commit`, `chat_turn`, `exchange_measure`, `artifact`, `auth_key`, `chat_session` and
/// `thread` are counted where they are walked over. By the pluses an exchange is found by its line,
/// beside which the next one lies.
const OWNERS: [BelongingRows; 12] = [
    BelongingRows {
        table: "head",
        key: "r.id",
        belongs: "r.id = 1",
        owner: "the number 1, as there is one head",
    },
    BelongingRows {
        table: "kernel",
        key: "r.kernel_hash",
        belongs: "EXISTS (SELECT 1 FROM artifact a
                           WHERE a.kind = 'kernel' AND a.id = 'kernel-' || substr(r.kernel_hash, 1, 16))
            OR EXISTS (SELECT 1 FROM chat_session s WHERE s.kernel_hash = r.kernel_hash)",
        owner: "a session under it, or an artifact that puts it in force",
    },
    BelongingRows {
        table: "context_config",
        key: "r.config_digest",
        belongs: "EXISTS (SELECT 1 FROM thread_turn h WHERE h.config_digest = r.config_digest)",
        owner: "a turn under it",
    },
    BelongingRows {
        table: "ledger_file",
        key: "r.name || ' of commit ' || r.commit_n",
        belongs: "EXISTS (SELECT 1 FROM ledger_commit c WHERE c.n = r.commit_n AND c.tree_of IS NULL)",
        owner: "a commit with files of its own",
    },
    BelongingRows {
        table: "llm_exchange",
        key: "r.exchange_id",
        belongs: "EXISTS (SELECT 1 FROM chat_session s WHERE s.session_id = r.session_id)",
        owner: "the session that it was asked in",
    },
    BelongingRows {
        table: "thread_turn",
        key: "r.turn_id",
        belongs: "EXISTS (SELECT 1 FROM llm_exchange e WHERE e.prompt_line = r.line AND +e.exchange_id = r.turn_id)",
        owner: EXCHANGE,
    },
    BelongingRows {
        table: "thread_event",
        key: "r.event_index || ' of thread ' || r.thread_id",
        belongs: "EXISTS (SELECT 1 FROM llm_exchange e JOIN thread_turn h ON h.line = e.prompt_line
                           WHERE e.exchange_id = r.turn_id AND h.thread_id = r.thread_id
                             AND r.line >= e.prompt_line AND r.line <= ifnull(e.outcome_line, r.line))",
        owner: "an exchange of this thread that it is an event of, with one of its lines",
    },
    BelongingRows {
        table: "context_ref",
        key: "r.event_index || ' of line ' || r.line",
        belongs: "EXISTS (SELECT 1 FROM llm_exchange e WHERE e.prompt_line = r.line AND +e.exchange_id = r.turn_id)",
        owner: EXCHANGE,
    },
    BelongingRows {
        table: "context_artifact_ref",
        key: "r.ref_id",
        belongs: "EXISTS (SELECT 1 FROM llm_exchange e WHERE e.prompt_line = r.line AND +e.exchange_id = r.exchange_id)",
        owner: EXCHANGE,
    },
    BelongingRows {
        table: "erasure_commitment",
        key: "r.role || ' of line ' || r.line",
        belongs: "EXISTS (SELECT 1 FROM llm_exchange e WHERE e.prompt_line = r.line AND +e.exchange_id = r.exchange_id)",
        owner: EXCHANGE,
    },
    BelongingRows {
        table: "drift_event",
        key: "r.drift_id",
        belongs: "EXISTS (SELECT 1 FROM llm_exchange e WHERE e.exchange_id = r.exchange_id)",
        owner: "an exchange that it was found in",
    },
    BelongingRows {
        table: "assertion_event",
        key: "r.name || ' of line ' || r.line",
        belongs: "EXISTS (SELECT 1 FROM llm_exchange e WHERE e.prompt_line = r.line AND +e.exchange_id = r.exchange_id)",
        owner: EXCHANGE,
    },
];

/// Tables whose rows have numbers that count, each with its rows: what a row is known by, its number,
/// and the one it should have. That of an exchange is only counted to: what was taken over from a
/// newer ledger stands in another order.
const NUMBERED: [(&str, &str); 2] = [
    (
        "llm_exchange",
        "SELECT 'of line ' || prompt_line AS key, rowid AS number, row_number() OVER (ORDER BY rowid) AS place
           FROM llm_exchange",
    ),
    (
        "drift_event",
        "SELECT d.drift_id AS key, d.rowid AS number, row_number() OVER (ORDER BY e.outcome_line, d.rowid) AS place
           FROM drift_event d JOIN llm_exchange e ON e.exchange_id = d.exchange_id",
    ),
];

impl ReadStore {
    /// Rows that belong to nothing, at most `most` of a table.
    pub fn stray_rows(&self, most: u32) -> Result<Vec<OrphanRow>, StoreError> {
        let mut found = Vec::new();
        for rows in &OWNERS {
            let BelongingRows {
                table,
                key,
                belongs,
                owner,
            } = rows;
            let sql =
                format!("SELECT CAST({key} AS TEXT) FROM {table} r WHERE NOT ({belongs}) LIMIT ?1");
            self.collect_orphans(&mut found, (table, owner), (&sql, most))?;
        }
        Ok(found)
    }

    /// Rows that have not the number that their table gives them, at most `most` of a
    /// table.
    pub fn misnumbered_rows(&self, most: u32) -> Result<Vec<OrphanRow>, StoreError> {
        let mut found = Vec::new();
        for (table, rows) in NUMBERED {
            let sql =
                format!("SELECT key FROM ({rows}) WHERE number <> place ORDER BY place LIMIT ?1");
            let expected = "the number that follows that of the row before, from 1";
            self.collect_orphans(&mut found, (table, expected), (&sql, most))?;
        }
        Ok(found)
    }

    fn collect_orphans(
        &self,
        found: &mut Vec<OrphanRow>,
        (table, expected): (&str, &'static str),
        (sql, most): (&str, u32),
    ) -> Result<(), StoreError> {
        self.each(
            "look for stray rows",
            sql,
            values![most],
            &mut |key: String| {
                let place = format!("{table} {key}");
                found.push(OrphanRow { place, expected });
                Ok(())
            },
        )
    }
}
