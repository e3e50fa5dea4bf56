//! Insertions inside a transaction, and the compare-and-swap of the head.

use std::collections::BTreeMap;

use rusqlite::{Connection, Params, params};
use uuid::Uuid;

use super::columns::int;
use super::{Tx, erase, failed, items, judged, place};
use crate::record::bitcoin::block::Anchor;
use crate::record::canon;
use crate::record::hash::Hash32;
use crate::record::time::Seconds;
use crate::store::{
    AppliedMark, ArtifactRefRow, ArtifactRow, AssertionRow, AuthKeyRow, CommitRow, DriftRow,
    ExchangeRow, LedgerHead, OutcomeUpdate, PlaceholderRow, SessionProgress, SessionRow,
    StoreError, TurnRow, Write,
};

/// Moves the applied mark; the caller decides about durability.
pub fn mark_applied(connection: &Connection, applied: &AppliedMark) -> Result<(), StoreError> {
    let sql =
        "UPDATE head SET applied_lines = ?1, applied_bytes = ?2, applied_commits = ?3 WHERE id = 1";
    let AppliedMark {
        lines,
        bytes,
        commits,
    } = *applied;
    connection
        .execute(sql, params![int(lines), int(bytes), int(commits)])
        .map(drop)
        .map_err(failed("mark as applied"))
}

fn block_text(anchor: &Anchor) -> Result<String, StoreError> {
    canon::print(&anchor.block).map_err(|e| StoreError::Sqlite {
        what: "print a block",
        reason: e.to_string(),
    })
}

fn opt_hash(hash: Option<Hash32>) -> Option<String> {
    hash.map(|h| h.to_string())
}

impl Tx<'_> {
    /// Number of the line of an exchange's prompt, which what belongs to it is found by.
    pub(super) fn line_of(&self, exchange: Uuid) -> Result<i64, StoreError> {
        let what = "look up an exchange's line";
        let sql = "SELECT prompt_line FROM llm_exchange WHERE exchange_id = ?1";
        let mut statement = self.0.prepare_cached(sql).map_err(failed(what))?;
        statement
            .query_row([exchange.to_string()], |row| row.get(0))
            .map_err(failed(what))
    }

    /// Runs one statement; returns how many rows it changed.
    pub(super) fn change(
        &self,
        what: &'static str,
        sql: &str,
        values: impl Params,
    ) -> Result<usize, StoreError> {
        let mut statement = self.0.prepare_cached(sql).map_err(failed(what))?;
        statement.execute(values).map_err(failed(what))
    }
}

impl Write for Tx<'_> {
    fn written(&self) -> Result<u64, StoreError> {
        // A full disk, among others, ends the transaction, and what is written then would stand by
        // itself.
        if self.0.is_autocommit() {
            let reason = "SQLite has undone the transaction".to_owned();
            return Err(StoreError::Sqlite {
                what: "go on with a transaction",
                reason,
            });
        }
        Ok(self.0.total_changes())
    }

    fn mark(&mut self) -> Result<(), StoreError> {
        self.change("set a mark", "SAVEPOINT work", []).map(|_| ())
    }

    fn rollback_to_mark(&mut self) -> Result<(), StoreError> {
        self.change("return to a mark", "ROLLBACK TO work", [])
            .map(|_| ())
    }

    fn take_mark(&mut self) -> Result<(), StoreError> {
        self.change("take a mark away", "RELEASE work", [])
            .map(|_| ())
    }

    fn create_head(&mut self, head: &LedgerHead, genesis: &str) -> Result<(), StoreError> {
        self.change(
            "create the head",
            "INSERT INTO head (id, genesis, signer, lines, hash, time, height, bytes, frontier, commits, segment_lines,
               segment_at, last_branch, applied_lines, applied_bytes, applied_commits, checkpoint, segment_bytes)
             VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
            params![
                genesis,
                head.signer.to_string(),
                int(head.lines),
                head.hash.to_string(),
                head.time.as_i64(),
                head.height,
                int(head.bytes),
                head.frontier,
                int(head.commits),
                int(head.segment_lines),
                head.segment_at.as_i64(),
                head.last_branch,
                int(head.applied.lines),
                int(head.applied.bytes),
                int(head.applied.commits),
                head.checkpoint,
                int(head.segment_bytes),
            ],
        )?;
        Ok(())
    }

    fn move_head(&mut self, from: &LedgerHead, to: &LedgerHead) -> Result<(), StoreError> {
        let changed = self.change(
            "move the head",
            "UPDATE head SET signer = ?1, lines = ?2, hash = ?3, time = ?4, height = ?5, bytes = ?6, frontier = ?7,
               commits = ?8, segment_lines = ?9, segment_at = ?10, last_branch = ?11, checkpoint = ?12,
               segment_bytes = ?13
             WHERE id = 1 AND lines = ?14 AND hash = ?15 AND commits = ?16",
            params![
                to.signer.to_string(),
                int(to.lines),
                to.hash.to_string(),
                to.time.as_i64(),
                to.height,
                int(to.bytes),
                to.frontier,
                int(to.commits),
                int(to.segment_lines),
                to.segment_at.as_i64(),
                to.last_branch,
                to.checkpoint,
                int(to.segment_bytes),
                int(from.lines),
                from.hash.to_string(),
                int(from.commits),
            ],
        )?;
        if changed == 1 {
            return Ok(());
        }
        let actual = crate::store::ReadStore::head(self)?;
        let actual = format!("{} lines, head {}", actual.lines, actual.hash);
        Err(StoreError::HeadMoved {
            expected: from.lines,
            actual,
        })
    }

    fn put_line(&mut self, n: u64, hash: Hash32, line: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO log_line (n, hash, line) VALUES (?1, ?2, ?3)";
        self.change(
            "append a line",
            sql,
            params![int(n), hash.to_string(), line],
        )
        .map(|_| ())
    }

    fn put_commit(
        &mut self,
        commit: &CommitRow,
        files: &BTreeMap<String, Vec<u8>>,
    ) -> Result<(), StoreError> {
        let (from, to) = commit
            .segment
            .map_or((None, None), |(a, b)| (Some(int(a)), Some(int(b))));
        self.change(
            "append a commit",
            "INSERT INTO ledger_commit VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                int(commit.n),
                int(commit.line),
                commit.kind.name(),
                commit.reference,
                commit.id,
                commit.raw,
                commit.tree_of.map(int),
                from,
                to,
            ],
        )?;
        let files: Vec<_> = files.iter().collect();
        let into = "INSERT INTO ledger_file (commit_n, name, content)";
        self.add_all(
            "append a commit's file",
            (into, 3),
            &files,
            |(name, content), values| {
                values.put(int(commit.n))?;
                values.put(name)?;
                values.put(content)
            },
        )
    }

    fn put_kernel(&mut self, hash: Hash32, document: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO kernel VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        self.change(
            "remember a kernel",
            sql,
            params![hash.to_string(), document],
        )
        .map(|_| ())
    }

    fn put_auth_key(&mut self, key: &AuthKeyRow) -> Result<(), StoreError> {
        self.change(
            "add an auth key",
            "INSERT INTO auth_key VALUES (?1, ?2, ?3, ?4)",
            params![
                key.hash.to_string(),
                key.name,
                key.added_at.as_i64(),
                key.revoked_at.map(Seconds::as_i64)
            ],
        )
        .map(|_| ())
    }

    fn revoke_auth_key(&mut self, hash: Hash32, at: Seconds) -> Result<bool, StoreError> {
        let sql =
            "UPDATE auth_key SET revoked_at = ?2 WHERE auth_key_hash = ?1 AND revoked_at IS NULL";
        Ok(self.change(
            "revoke an auth key",
            sql,
            params![hash.to_string(), at.as_i64()],
        )? == 1)
    }

    fn put_block(&mut self, anchor: &Anchor) -> Result<(), StoreError> {
        let Some(header) = anchor.header else {
            return Ok(());
        };
        let (hash, height) = (anchor.block.hash.to_string(), anchor.block.height);
        self.change(
            "forget a lie",
            "DELETE FROM block WHERE hash = ?1 AND height <> ?2",
            params![hash, height],
        )?;
        self.change(
            "remember a block",
            "INSERT INTO block VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET header = excluded.header, document = excluded.document",
            params![hash, height, header.to_string(), block_text(anchor)?],
        )
        .map(|_| ())
    }

    fn put_session(&mut self, s: &SessionRow) -> Result<(), StoreError> {
        self.change(
            "add a session",
            "INSERT INTO chat_session VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
            params![
                s.uuid.to_string(),
                s.started_at.as_i64(),
                s.ended_at.map(Seconds::as_i64),
                s.phase,
                s.tier,
                s.kernel_hash.to_string(),
                s.host_role,
                s.model,
                if s.ended_at.is_some() { "closed" } else { "open" },
                s.id.to_string(),
                s.auth_key_hash.to_string(),
                s.branch,
                block_text(&s.anchor)?,
                s.anchor.header.map(|h| h.to_string()),
                int(s.prompts),
                int(s.interactions),
                s.chain_head.to_string(),
                s.last_at.as_i64(),
            ],
        )
        .map(|_| ())
    }

    fn move_session(&mut self, session: Uuid, p: &SessionProgress) -> Result<(), StoreError> {
        let changed = self.change(
            "move a session",
            "UPDATE chat_session SET ended_at = ?2, status = ?3, block = ?4, header = ?5, prompts = ?6,
               interactions = ?7, chain_head = ?8, last_at = ?9 WHERE session_id = ?1 AND status = 'open'",
            params![
                session.to_string(),
                p.ended_at.map(Seconds::as_i64),
                if p.ended_at.is_some() { "closed" } else { "open" },
                block_text(&p.anchor)?,
                p.anchor.header.map(|h| h.to_string()),
                int(p.prompts),
                int(p.interactions),
                p.chain_head.to_string(),
                p.last_at.as_i64(),
            ],
        )?;
        must_change(changed, "chat_session.status", "an open session", &session)
    }

    fn put_turn(&mut self, t: &TurnRow) -> Result<(), StoreError> {
        self.change(
            "add a turn",
            "INSERT INTO chat_turn VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,
               (SELECT ifnull(max(n), 0) + 1 FROM chat_turn))",
            params![
                t.turn_id.to_string(),
                t.session.to_string(),
                t.created_at.as_i64(),
                if t.by_user { "user" } else { "aurora" },
                t.content,
                opt_hash(t.content_hash),
                t.refusal,
                t.authority_state.name(),
                t.driftwatch_id,
                int(t.line),
            ],
        )
        .map(|_| ())
    }

    fn put_exchange(&mut self, e: &ExchangeRow) -> Result<(), StoreError> {
        self.change(
            "add an exchange",
            "INSERT INTO llm_exchange (exchange_id, session_id, turn_user_id, context_bundle_hash, context_bundle_json,
               prompt_hash, created_at, seq, model, decision, authority_state, exclusions, salt, prompt_commitment,
               prompt_line, params, user_text_commitment, bundle_commitment, compiled_prompt_commitment)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
            params![
                e.exchange_id.to_string(),
                e.session.to_string(),
                e.turn_user.to_string(),
                opt_hash(e.bundle_hash),
                e.bundle_json,
                opt_hash(e.prompt_hash),
                e.created_at.as_i64(),
                int(e.seq),
                e.model,
                e.decision,
                e.authority_state.name(),
                e.exclusions,
                e.salt.as_ref().map(|s| s.as_bytes().to_vec()),
                e.prompt_commitment.to_string(),
                int(e.prompt_line),
                e.params,
                opt_hash(e.not_kept.map(|not_kept| not_kept.user_text)),
                opt_hash(e.not_kept.and_then(|not_kept| not_kept.bundle)),
                opt_hash(e.not_kept.and_then(|not_kept| not_kept.compiled_prompt)),
            ],
        )?;
        match &e.outcome {
            Some(outcome) => self.put_outcome(e.exchange_id, outcome),
            None => Ok(()),
        }
    }

    fn put_outcome(&mut self, exchange: Uuid, o: &OutcomeUpdate) -> Result<(), StoreError> {
        let changed = self.change(
            "record an outcome",
            "UPDATE llm_exchange SET outcome = ?2, reason = ?3, turn_aurora_id = ?4, response_hash = ?5,
               validator_summary = ?6, refusal = ?7, answered_at = ?8, prompt_tokens = ?9, completion_tokens = ?10,
               response_commitment = ?11, exchange_commitment = ?12, chain_entry = ?13, outcome_line = ?14,
               cost_micro = ?15, cost_currency = ?16, aurora_text_commitment = ?17
             WHERE exchange_id = ?1 AND outcome IS NULL",
            params![
                exchange.to_string(),
                o.outcome.name(),
                o.reason,
                o.turn_aurora.map(|u| u.to_string()),
                opt_hash(o.response_hash),
                o.validator_summary,
                o.refusal,
                o.answered_at.as_i64(),
                o.prompt_tokens.map(int),
                o.completion_tokens.map(int),
                opt_hash(o.response_commitment),
                o.exchange_commitment.to_string(),
                opt_hash(o.chain_entry),
                int(o.outcome_line),
                o.cost.as_ref().map(|c| int(c.micro)),
                o.cost.as_ref().map(|c| c.currency.as_str()),
                opt_hash(o.aurora_text),
            ],
        )?;
        must_change(
            changed,
            "llm_exchange.outcome",
            "an exchange in flight",
            &exchange,
        )
    }

    fn put_artifact_refs(&mut self, references: &[ArtifactRefRow]) -> Result<(), StoreError> {
        judged::artifact_refs(self, references)
    }

    fn put_drift(&mut self, d: &DriftRow) -> Result<(), StoreError> {
        judged::drift(self, d)
    }

    fn put_assertions(&mut self, assertions: &[AssertionRow]) -> Result<(), StoreError> {
        judged::assertions(self, assertions)
    }

    fn put_artifact(&mut self, a: &ArtifactRow) -> Result<(), StoreError> {
        self.change(
            "add an artifact",
            "INSERT INTO artifact VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                int(a.line),
                a.kind,
                a.id,
                a.document,
                a.salt.as_ref().map(|s| s.as_bytes().to_vec()),
                a.commitment.to_string(),
            ],
        )?;
        items::follow(self, a)
    }

    fn erase_exchange(
        &mut self,
        exchange: &ExchangeRow,
        params: Option<&str>,
    ) -> Result<(), StoreError> {
        erase::exchange(self, exchange, params)
    }

    fn erase_context(&mut self, exchange: Uuid, bundle_too: bool) -> Result<(), StoreError> {
        erase::context(self, exchange, bundle_too)
    }

    fn erase_artifact(&mut self, line: u64) -> Result<(), StoreError> {
        erase::artifact(self, line)
    }

    fn put_placeholders(
        &mut self,
        session: Uuid,
        key: &[u8; 32],
        new: &[PlaceholderRow],
    ) -> Result<bool, StoreError> {
        place::put(self, session, key, new)
    }

    fn forget_placeholders(&mut self, session: Uuid) -> Result<bool, StoreError> {
        place::forget(self, session)
    }

    fn forget_tags(&mut self, session: Uuid) -> Result<(), StoreError> {
        place::forget_tags(self, session)
    }

    fn set_auth_failure(
        &mut self,
        reason: &str,
        since: Seconds,
        pending: u64,
    ) -> Result<(), StoreError> {
        self.change(
            "count an auth failure",
            "INSERT INTO auth_failure VALUES (?1, ?2, ?3)
             ON CONFLICT (reason) DO UPDATE SET since = excluded.since, pending = excluded.pending",
            params![reason, since.as_i64(), int(pending)],
        )
        .map(|_| ())
    }
}

pub(super) fn must_change(
    changed: usize,
    place: &'static str,
    expected: &'static str,
    id: &Uuid,
) -> Result<(), StoreError> {
    if changed == 1 {
        return Ok(());
    }
    Err(StoreError::Corrupt {
        place,
        expected,
        actual: format!("{id}: none such"),
    })
}
