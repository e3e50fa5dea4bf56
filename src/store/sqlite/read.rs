//! Queries, on a connection or inside a transaction.

use std::collections::BTreeMap;
use std::ops::Deref;

use rusqlite::{Connection, Params, Row};
use uuid::Uuid;

use super::columns::{Columns, int};
use super::rows::{
    artifact, artifact_ref, assertion, block, commit, drift, exchange, head, item, log_line,
    session, turn,
};
use super::{Handle, PARTS, failed, optional};
use crate::record::bitcoin::block::Anchor;
use crate::record::hash::Hash32;
use crate::record::ledger::commit::{CommitKind, MAIN};
use crate::record::ledger::item::Item;
use crate::record::time::Seconds;
use crate::store::{
    ArtifactRefRow, ArtifactRow, AssertionRow, AuthKeyRow, CommitRow, DriftRow, ExchangeRow,
    HomeFile, LedgerHead, PlaceholderRows, ReadStore, RowCounts, SessionRow, StoreError, TurnRow,
};

/// From one ref to the next by the index: `DISTINCT` would walk over every commit, several times a
/// turn.
pub(super) const REFS: &str = "WITH RECURSIVE known(ref) AS (
       SELECT min(ref) FROM ledger_commit
       UNION ALL SELECT (SELECT min(ref) FROM ledger_commit WHERE ref > known.ref) FROM known WHERE ref IS NOT NULL)
     SELECT ref FROM known WHERE ref IS NOT NULL ORDER BY ref";

/// The exchange whose row `found` finds in the newest part that has one.
fn newest(found: &str) -> String {
    format!(
        "{PARTS} SELECT * FROM llm_exchange
          WHERE rowid = (SELECT r FROM (SELECT ({found}) AS r FROM part) WHERE r IS NOT NULL LIMIT 1)"
    )
}

impl<C: Deref<Target = Connection>> Handle<C> {
    pub(super) fn each<T>(
        &self,
        what: &'static str,
        sql: &str,
        params: impl Params,
        row: impl Fn(&Columns<'_, '_>) -> Result<T, StoreError>,
        take: &mut dyn FnMut(T) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut statement = self
            .connection()
            .prepare_cached(sql)
            .map_err(failed(what))?;
        let mut rows = statement.query(params).map_err(failed(what))?;
        while let Some(found) = rows.next().map_err(failed(what))? {
            take(row(&Columns::of(found))?)?;
        }
        Ok(())
    }

    pub(super) fn list<T>(
        &self,
        what: &'static str,
        sql: &str,
        params: impl Params,
        row: impl Fn(&Columns<'_, '_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut out = Vec::new();
        self.each(what, sql, params, row, &mut |value| {
            out.push(value);
            Ok(())
        })?;
        Ok(out)
    }

    pub(super) fn one<T>(
        &self,
        what: &'static str,
        sql: &str,
        params: impl Params,
        row: impl Fn(&Columns<'_, '_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let mut statement = self
            .connection()
            .prepare_cached(sql)
            .map_err(failed(what))?;
        let outer =
            optional(statement.query_row(params, |found: &Row<'_>| Ok(row(&Columns::of(found)))));
        outer.map_err(failed(what))?.transpose()
    }
}

impl<C: Deref<Target = Connection>> ReadStore for Handle<C> {
    fn head(&self) -> Result<LedgerHead, StoreError> {
        self.one("read the head", "SELECT * FROM head WHERE id = 1", [], head)?
            .ok_or(StoreError::Corrupt {
                place: "head",
                expected: "one row",
                actual: "none".to_owned(),
            })
    }

    fn genesis(&self) -> Result<String, StoreError> {
        self.one(
            "read genesis",
            "SELECT genesis FROM head WHERE id = 1",
            [],
            |c| c.text("head.genesis"),
        )?
        .ok_or(StoreError::Corrupt {
            place: "head.genesis",
            expected: "one row",
            actual: "none".to_owned(),
        })
    }

    fn each_session(
        &self,
        take: &mut dyn FnMut(SessionRow) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each(
            "read sessions",
            "SELECT * FROM chat_session ORDER BY started_at, rowid",
            [],
            session,
            take,
        )
    }

    fn open_sessions(&self) -> Result<Vec<SessionRow>, StoreError> {
        let sql = "SELECT * FROM chat_session WHERE status = 'open' ORDER BY started_at, rowid";
        self.list("read open sessions", sql, [], session)
    }

    fn session(&self, id: Hash32) -> Result<Option<SessionRow>, StoreError> {
        let sql = "SELECT * FROM chat_session WHERE ledger_session = ?1";
        self.one("read a session", sql, [id.to_string()], session)
    }

    fn session_of(&self, uuid: Uuid) -> Result<Option<SessionRow>, StoreError> {
        let sql = "SELECT * FROM chat_session WHERE session_id = ?1";
        self.one("read a session", sql, [uuid.to_string()], session)
    }

    fn each_exchange(
        &self,
        of: Option<Uuid>,
        take: &mut dyn FnMut(ExchangeRow) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        match of {
            Some(id) => {
                let sql = "SELECT * FROM llm_exchange WHERE session_id = ?1 ORDER BY seq";
                self.each("read exchanges", sql, [id.to_string()], exchange, take)
            }
            None => self.each(
                "read exchanges",
                "SELECT * FROM llm_exchange ORDER BY prompt_line",
                [],
                exchange,
                take,
            ),
        }
    }

    fn exchange(&self, id: Uuid) -> Result<Option<ExchangeRow>, StoreError> {
        let sql = "SELECT * FROM llm_exchange WHERE exchange_id = ?1";
        self.one("read an exchange", sql, [id.to_string()], exchange)
    }

    fn answered_prompt(&self, prompt_hash: Hash32) -> Result<Option<ExchangeRow>, StoreError> {
        let found = "SELECT e.rowid FROM llm_exchange e WHERE e.prompt_line >> 15 = part.p AND e.prompt_hash = ?1
                      AND e.outcome = 'answered' AND e.model <> 'replay' ORDER BY e.outcome_line DESC LIMIT 1";
        self.one(
            "find an answered prompt",
            &newest(found),
            [prompt_hash.to_string()],
            exchange,
        )
    }

    fn answered_text(&self, content_hash: Hash32) -> Result<Option<ExchangeRow>, StoreError> {
        let found = "SELECT e.rowid FROM chat_turn t JOIN llm_exchange e ON e.prompt_line = t.line
                      WHERE t.line >> 15 = part.p AND t.content_hash = ?1 AND t.speaker = 'user'
                        AND e.outcome = 'answered' AND e.model <> 'replay' ORDER BY e.outcome_line DESC LIMIT 1";
        self.one(
            "find an answered text",
            &newest(found),
            [content_hash.to_string()],
            exchange,
        )
    }

    fn in_flight(&self, of: Uuid) -> Result<Vec<ExchangeRow>, StoreError> {
        let sql =
            "SELECT * FROM llm_exchange WHERE session_id = ?1 AND outcome IS NULL ORDER BY seq";
        self.list("read prompts in flight", sql, [of.to_string()], exchange)
    }

    fn turn(&self, id: Uuid) -> Result<Option<TurnRow>, StoreError> {
        self.one(
            "read a turn",
            "SELECT * FROM chat_turn WHERE turn_id = ?1",
            [id.to_string()],
            turn,
        )
    }

    fn artifact_refs(&self, of: Uuid) -> Result<Vec<ArtifactRefRow>, StoreError> {
        let sql = "SELECT * FROM context_artifact_ref WHERE exchange_id = ?1
                    AND line = (SELECT prompt_line FROM llm_exchange WHERE exchange_id = ?1) ORDER BY rowid";
        self.list(
            "read artifact references",
            sql,
            [of.to_string()],
            artifact_ref,
        )
    }

    fn drift(&self, of: Uuid) -> Result<Vec<DriftRow>, StoreError> {
        let sql = "SELECT * FROM drift_event WHERE exchange_id = ?1 ORDER BY rowid";
        self.list("read drift events", sql, [of.to_string()], drift)
    }

    fn assertions(&self, of: Uuid) -> Result<Vec<AssertionRow>, StoreError> {
        let sql = "SELECT * FROM assertion_event
                    WHERE line = (SELECT prompt_line FROM llm_exchange WHERE exchange_id = ?1) AND exchange_id = ?1 ORDER BY name";
        self.list("read assertions", sql, [of.to_string()], assertion)
    }

    fn artifacts(&self) -> Result<Vec<ArtifactRow>, StoreError> {
        self.list(
            "read artifacts",
            "SELECT * FROM artifact ORDER BY line",
            [],
            artifact,
        )
    }

    fn has_artifact(&self, kind: &str, id: &str) -> Result<bool, StoreError> {
        let sql = "SELECT 1 AS found FROM artifact WHERE kind = ?1 AND id = ?2 LIMIT 1";
        Ok(self
            .one("look for an artifact", sql, [kind, id], |c| {
                c.flag("artifact.found")
            })?
            .unwrap_or_default())
    }

    fn artifacts_of(&self, kind: &str) -> Result<Vec<ArtifactRow>, StoreError> {
        let sql = "SELECT * FROM artifact WHERE kind = ?1 ORDER BY line";
        self.list("read artifacts", sql, [kind], artifact)
    }

    fn newest_artifact(&self, kind: &str) -> Result<Option<ArtifactRow>, StoreError> {
        let sql = "SELECT * FROM artifact WHERE kind = ?1 ORDER BY line DESC LIMIT 1";
        self.one("read an artifact", sql, [kind], artifact)
    }

    fn item(&self, id: &str) -> Result<Option<Item>, StoreError> {
        self.one(
            "read an item",
            "SELECT * FROM continuity_item WHERE id = ?1",
            [id],
            item,
        )
    }

    fn each_item(
        &self,
        take: &mut dyn FnMut(Item) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let sql = "SELECT * FROM continuity_item ORDER BY line";
        self.each("read items", sql, [], item, take)
    }

    fn exchange_of_turn(&self, of: Uuid) -> Result<Option<ExchangeRow>, StoreError> {
        let sql = "SELECT e.* FROM chat_turn t JOIN llm_exchange e ON e.prompt_line = t.line
                    WHERE t.turn_id = ?1 AND ?1 IN (e.turn_user_id, e.turn_aurora_id)";
        self.one("read a turn's exchange", sql, [of.to_string()], exchange)
    }

    fn kernel(&self, hash: Hash32) -> Result<Option<String>, StoreError> {
        let sql = "SELECT document FROM kernel WHERE kernel_hash = ?1";
        self.one("read a kernel", sql, [hash.to_string()], |c| {
            c.text("kernel.document")
        })
    }

    fn auth_keys(&self) -> Result<Vec<AuthKeyRow>, StoreError> {
        self.list(
            "read auth keys",
            "SELECT * FROM auth_key ORDER BY added_at, rowid",
            [],
            |c| {
                Ok(AuthKeyRow {
                    hash: c.hash("auth_key.auth_key_hash")?,
                    name: c.text("auth_key.name")?,
                    added_at: c.time("auth_key.added_at")?,
                    revoked_at: c.time_opt("auth_key.revoked_at")?,
                })
            },
        )
    }

    fn lines(&self, from: u64, to: u64) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT hash, line FROM log_line WHERE n >= ?1 AND n < ?2 ORDER BY n";
        self.list("read log lines", sql, [int(from), int(to)], log_line)
    }

    fn commits(&self, from: u64, to: u64) -> Result<Vec<CommitRow>, StoreError> {
        let sql = "SELECT * FROM ledger_commit WHERE n >= ?1 AND n < ?2 ORDER BY n";
        self.list("read commits", sql, [int(from), int(to)], commit)
    }

    fn tip(&self, reference: &str, below: u64) -> Result<Option<CommitRow>, StoreError> {
        let sql = "SELECT * FROM ledger_commit WHERE ref = ?1 AND n < ?2 ORDER BY n DESC LIMIT 1";
        self.one(
            "read a tip",
            sql,
            rusqlite::params![reference, int(below)],
            commit,
        )
    }

    fn heads(&self) -> Result<Vec<(String, Hash32)>, StoreError> {
        let sql = "SELECT c.id, f.content FROM ledger_commit c
                    JOIN ledger_file f ON f.commit_n = ifnull(c.tree_of, c.n) AND f.name = 'checkpoint'
                   WHERE c.ref = ?1 ORDER BY c.n";
        self.list("read the heads", sql, [MAIN], |c| {
            Ok((
                c.text("ledger_commit.id")?,
                Hash32::digest(&c.blob("ledger_file.content")?),
            ))
        })
    }

    fn lowest_block(&self) -> Result<Option<u32>, StoreError> {
        let sql = "SELECT min(height) AS height FROM block WHERE height > 0";
        let lowest = self
            .one("read the lowest block", sql, [], |c| {
                c.count_opt("block.height")
            })?
            .flatten();
        Ok(lowest.and_then(|height| u32::try_from(height).ok()))
    }

    fn last_of_kind(&self, reference: &str, kind: CommitKind) -> Result<Option<u64>, StoreError> {
        let sql =
            "SELECT n FROM ledger_commit WHERE ref = ?1 AND kind = ?2 ORDER BY n DESC LIMIT 1";
        self.one("read a tip", sql, [reference, kind.name()], |c| {
            c.count("ledger_commit.n")
        })
    }

    fn refs(&self) -> Result<Vec<String>, StoreError> {
        self.list("read refs", REFS, [], |c| c.text("ledger_commit.ref"))
    }

    fn files(&self, commit: u64) -> Result<BTreeMap<String, Vec<u8>>, StoreError> {
        let sql = "SELECT name, content FROM ledger_file WHERE commit_n = ?1";
        let rows = self.list("read a commit's files", sql, [int(commit)], |c| {
            Ok((c.text("ledger_file.name")?, c.blob("ledger_file.content")?))
        })?;
        Ok(rows.into_iter().collect())
    }

    fn record_of_line(&self, line: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = "SELECT f.content FROM ledger_commit c JOIN ledger_file f ON f.commit_n = c.n
                    WHERE c.line = ?1 AND c.kind = 'interaction' AND f.name = 'record.json'";
        self.one("read a record", sql, [int(line)], |c| {
            c.blob("ledger_file.content")
        })
    }

    fn block_at(&self, of: u32) -> Result<Option<Anchor>, StoreError> {
        let sql = "SELECT * FROM block WHERE height = ?1 ORDER BY rowid DESC LIMIT 1";
        self.one("read a block", sql, [i64::from(of)], block)
    }

    fn blocks_at(&self, of: u32) -> Result<Vec<Anchor>, StoreError> {
        let sql = "SELECT * FROM block WHERE height = ?1 ORDER BY rowid DESC";
        self.list("read blocks", sql, [i64::from(of)], block)
    }

    fn blocks_of(&self, hash: Hash32) -> Result<Vec<Anchor>, StoreError> {
        self.list(
            "read a block",
            "SELECT * FROM block WHERE hash = ?1",
            [hash.to_string()],
            block,
        )
    }

    fn lines_naming(&self, hash: Hash32) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT line FROM log_line WHERE instr(line, ?1) > 0 ORDER BY n LIMIT 64";
        self.list("look for a block's lines", sql, [hash.to_string()], |c| {
            c.text("log_line.line")
        })
    }

    fn auth_failures(&self) -> Result<Vec<(String, Seconds, u64)>, StoreError> {
        self.list(
            "read auth failures",
            "SELECT * FROM auth_failure ORDER BY reason",
            [],
            |c| {
                Ok((
                    c.text("auth_failure.reason")?,
                    c.time("auth_failure.since")?,
                    c.count("auth_failure.pending")?,
                ))
            },
        )
    }

    fn injected_into(&self, artifact_id: &str) -> Result<Vec<Uuid>, StoreError> {
        let sql = format!(
            "{PARTS} SELECT DISTINCT r.exchange_id FROM part CROSS JOIN context_artifact_ref r
              WHERE r.line >> 15 = part.p AND r.artifact_id = ?1"
        );
        self.list("find what was injected", &sql, [artifact_id], |c| {
            c.uuid("context_artifact_ref.exchange_id")
        })
    }

    fn kept_before(&self, time: Seconds, most: u32) -> Result<Vec<Uuid>, StoreError> {
        let sql = "SELECT exchange_id FROM llm_exchange
                   WHERE salt IS NOT NULL AND outcome IS NOT NULL AND created_at < ?1 ORDER BY created_at LIMIT ?2";
        let values = rusqlite::params![time.as_i64(), most];
        self.list("find old texts", sql, values, |c| {
            c.uuid("llm_exchange.exchange_id")
        })
    }

    fn artifacts_called(&self, id: &str) -> Result<Vec<ArtifactRow>, StoreError> {
        self.list(
            "read artifacts",
            "SELECT * FROM artifact WHERE id = ?1 ORDER BY line",
            [id],
            artifact,
        )
    }

    fn home_files(&self) -> Result<(Vec<HomeFile>, Option<Seconds>), StoreError> {
        let rows = self.list(
            "read the home's files",
            "SELECT * FROM home_file ORDER BY name",
            [],
            |c| {
                let file = HomeFile {
                    name: c.text("home_file.name")?,
                    sha256: c.hash("home_file.sha256")?,
                };
                Ok((file, c.time("home_file.noted_at")?))
            },
        )?;
        let noted_at = rows.first().map(|(_, at)| *at);
        Ok((rows.into_iter().map(|(file, _)| file).collect(), noted_at))
    }

    fn placeholders(&self, session: Uuid) -> Result<PlaceholderRows, StoreError> {
        self.placeholder_rows(session)
    }

    fn tombstone_of(&self, id: &str) -> Result<Option<u64>, StoreError> {
        let sql = "SELECT min(line) AS line FROM tombstone_id WHERE id = ?1";
        Ok(self
            .one("look for a tombstone", sql, [id], |c| {
                c.count_opt("tombstone_id.line")
            })?
            .flatten())
    }

    fn actions_of(&self, exchange: Uuid) -> Result<Vec<ArtifactRow>, StoreError> {
        self.list(
            "look for intents",
            super::place::ACTIONS_OF,
            [exchange.to_string()],
            artifact,
        )
    }

    fn not_kept(&self, kind: &str) -> Result<u64, StoreError> {
        self.unkept_artifacts(kind)
    }

    fn search_faults(&self, most: u32) -> Result<Vec<String>, StoreError> {
        self.faults_of_search(most)
    }

    fn row_counts(&self) -> Result<RowCounts, StoreError> {
        // Rows of the first two tables are never deleted, so the newest row's number is their
        // count.
        let sql = "SELECT (SELECT ifnull(max(rowid), 0) FROM chat_session) AS sessions,
                     (SELECT count(*) FROM chat_session WHERE status = 'open') AS sessions_open,
                     (SELECT ifnull(max(rowid), 0) FROM llm_exchange) AS exchanges,
                     (SELECT count(*) FROM artifact) AS artifacts";
        let search_entries = self.search_entries()?;
        let counts = self.one("count rows", sql, [], |c| {
            Ok(RowCounts {
                search_entries,
                sessions: c.count("sessions")?,
                sessions_open: c.count("sessions_open")?,
                exchanges: c.count("exchanges")?,
                artifacts: c.count("artifacts")?,
            })
        })?;
        counts.ok_or(StoreError::Corrupt {
            place: "counts",
            expected: "one row",
            actual: "none".to_owned(),
        })
    }
}
