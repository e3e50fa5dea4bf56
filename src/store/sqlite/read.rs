//! Queries, on a connection or inside a transaction.

use std::collections::BTreeMap;
use std::ops::Deref;

use rusqlite::{Connection, Params, Row};
use uuid::Uuid;

use super::columns::{Columns, int};
use super::{Handle, failed, optional};
use crate::record::block::Anchor;
use crate::record::commit::CommitKind;
use crate::record::hash::Hash32;
use crate::record::time::Seconds;
use crate::store::{
    Applied, ArtifactRefRow, ArtifactRow, AuthKeyRow, CommitRow, DriftRow, ExchangeRow, Head, OutcomeUpdate, Read,
    SessionRow, StoreError, TurnRow,
};

/// From one ref to the next by the index: `DISTINCT` would walk over every commit, several times a turn.
pub(super) const REFS: &str = "WITH RECURSIVE known(ref) AS (
       SELECT min(ref) FROM ledger_commit
       UNION ALL SELECT (SELECT min(ref) FROM ledger_commit WHERE ref > known.ref) FROM known WHERE ref IS NOT NULL)
     SELECT ref FROM known WHERE ref IS NOT NULL ORDER BY ref";

impl<C: Deref<Target = Connection>> Handle<C> {
    fn each<T>(
        &self,
        what: &'static str,
        sql: &str,
        params: impl Params,
        row: impl Fn(&Columns<'_, '_>) -> Result<T, StoreError>,
        take: &mut dyn FnMut(T) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut statement = self.connection().prepare_cached(sql).map_err(failed(what))?;
        let mut rows = statement.query(params).map_err(failed(what))?;
        while let Some(found) = rows.next().map_err(failed(what))? {
            take(row(&Columns(found))?)?;
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
        let mut statement = self.connection().prepare_cached(sql).map_err(failed(what))?;
        let outer = optional(statement.query_row(params, |found: &Row<'_>| Ok(row(&Columns(found)))));
        outer.map_err(failed(what))?.transpose()
    }
}

fn head(c: &Columns<'_, '_>) -> Result<Head, StoreError> {
    Ok(Head {
        signer: c.parsed("head.signer", "a public key")?,
        lines: c.count("head.lines")?,
        hash: c.hash("head.hash")?,
        time: c.time("head.time")?,
        height: height(c, "head.height")?,
        bytes: c.count("head.bytes")?,
        frontier: c.blob("head.frontier")?,
        commits: c.count("head.commits")?,
        segment_lines: c.count("head.segment_lines")?,
        segment_at: c.time("head.segment_at")?,
        last_branch: c.text_opt("head.last_branch")?,
        applied: Applied {
            lines: c.count("head.applied_lines")?,
            bytes: c.count("head.applied_bytes")?,
            commits: c.count("head.applied_commits")?,
        },
    })
}

fn height(c: &Columns<'_, '_>, place: &'static str) -> Result<u32, StoreError> {
    let value = c.count(place)?;
    u32::try_from(value).map_err(|_| StoreError::Corrupt { place, expected: "a height", actual: value.to_string() })
}

pub(super) fn session(c: &Columns<'_, '_>) -> Result<SessionRow, StoreError> {
    let tier = c.count("chat_session.tier")?;
    Ok(SessionRow {
        uuid: c.uuid("chat_session.session_id")?,
        id: c.hash("chat_session.ledger_session")?,
        started_at: c.time("chat_session.started_at")?,
        ended_at: c.time_opt("chat_session.ended_at")?,
        phase: c.text("chat_session.phase")?,
        tier: u8::try_from(tier).map_err(|_| StoreError::Corrupt {
            place: "chat_session.tier",
            expected: "a tier",
            actual: tier.to_string(),
        })?,
        kernel_hash: c.hash("chat_session.kernel_hash")?,
        host_role: c.text("chat_session.host_role")?,
        model: c.text("chat_session.model_id")?,
        auth_key_hash: c.hash("chat_session.auth_key_hash")?,
        branch: c.text("chat_session.branch")?,
        anchor: c.anchor("chat_session.block", "chat_session.header")?,
        prompts: c.count("chat_session.prompts")?,
        interactions: c.count("chat_session.interactions")?,
        chain_head: c.hash("chat_session.chain_head")?,
        last_at: c.time("chat_session.last_at")?,
    })
}

fn turn(c: &Columns<'_, '_>) -> Result<TurnRow, StoreError> {
    Ok(TurnRow {
        turn_id: c.uuid("chat_turn.turn_id")?,
        session: c.uuid("chat_turn.session_id")?,
        created_at: c.time("chat_turn.created_at")?,
        by_user: c.speaker("chat_turn.speaker")?,
        content: c.text_opt("chat_turn.content")?,
        content_hash: c.hash_opt("chat_turn.content_hash")?,
        refusal: c.flag("chat_turn.refusal")?,
        authority_state: c.authority("chat_turn.authority_state")?,
        driftwatch_id: c.text_opt("chat_turn.driftwatch_id")?,
    })
}

/// A line, whose own column of its HASH must agree with it.
fn log_line(c: &Columns<'_, '_>) -> Result<String, StoreError> {
    let (hash, line) = (c.text("log_line.hash")?, c.text("log_line.line")?);
    if line.strip_prefix(hash.as_str()).is_some_and(|rest| rest.starts_with('|')) {
        return Ok(line);
    }
    Err(StoreError::Corrupt { place: "log_line.hash", expected: "the HASH that the line begins with", actual: hash })
}

fn outcome(c: &Columns<'_, '_>) -> Result<Option<OutcomeUpdate>, StoreError> {
    let Some(outcome) = c.outcome_opt("llm_exchange.outcome")? else { return Ok(None) };
    Ok(Some(OutcomeUpdate {
        outcome,
        reason: c.text_opt("llm_exchange.reason")?,
        turn_aurora: c.uuid_opt("llm_exchange.turn_aurora_id")?,
        response_hash: c.hash_opt("llm_exchange.response_hash")?,
        validator_summary: c.text_opt("llm_exchange.validator_summary")?,
        refusal: c.flag_opt("llm_exchange.refusal")?,
        answered_at: c.time("llm_exchange.answered_at")?,
        prompt_tokens: c.count_opt("llm_exchange.prompt_tokens")?,
        completion_tokens: c.count_opt("llm_exchange.completion_tokens")?,
        cost: c.cost_opt("llm_exchange.cost_micro", "llm_exchange.cost_currency")?,
        response_commitment: c.hash_opt("llm_exchange.response_commitment")?,
        exchange_commitment: c.hash("llm_exchange.exchange_commitment")?,
        chain_entry: c.hash_opt("llm_exchange.chain_entry")?,
        outcome_line: c.count("llm_exchange.outcome_line")?,
    }))
}

pub(super) fn exchange(c: &Columns<'_, '_>) -> Result<ExchangeRow, StoreError> {
    c.null("llm_exchange.prompt_compiled")?;
    c.null("llm_exchange.response_sanitized")?;
    Ok(ExchangeRow {
        exchange_id: c.uuid("llm_exchange.exchange_id")?,
        session: c.uuid("llm_exchange.session_id")?,
        turn_user: c.uuid("llm_exchange.turn_user_id")?,
        bundle_hash: c.hash_opt("llm_exchange.context_bundle_hash")?,
        bundle_json: c.text_opt("llm_exchange.context_bundle_json")?,
        prompt_hash: c.hash_opt("llm_exchange.prompt_hash")?,
        created_at: c.time("llm_exchange.created_at")?,
        seq: c.count("llm_exchange.seq")?,
        model: c.text("llm_exchange.model")?,
        decision: c.text("llm_exchange.decision")?,
        authority_state: c.authority("llm_exchange.authority_state")?,
        exclusions: c.text("llm_exchange.exclusions")?,
        params: c.text_opt("llm_exchange.params")?,
        salt: c.salt_opt("llm_exchange.salt")?,
        prompt_commitment: c.hash("llm_exchange.prompt_commitment")?,
        prompt_line: c.count("llm_exchange.prompt_line")?,
        outcome: outcome(c)?,
    })
}

fn artifact_ref(c: &Columns<'_, '_>) -> Result<ArtifactRefRow, StoreError> {
    Ok(ArtifactRefRow {
        ref_id: c.uuid("context_artifact_ref.ref_id")?,
        exchange: c.uuid("context_artifact_ref.exchange_id")?,
        artifact_type: c.text("context_artifact_ref.artifact_type")?,
        artifact_id: c.text("context_artifact_ref.artifact_id")?,
        artifact_hash: c.hash_opt("context_artifact_ref.artifact_hash")?,
        included_reason: c.text("context_artifact_ref.included_reason")?,
        observed_at: c.time_opt("context_artifact_ref.observed_at")?,
        freshness_s: c.count_opt("context_artifact_ref.freshness_s")?,
        risk_flags: c.text_opt("context_artifact_ref.risk_flags")?,
    })
}

fn drift(c: &Columns<'_, '_>) -> Result<DriftRow, StoreError> {
    Ok(DriftRow {
        drift_id: c.text("drift_event.drift_id")?,
        exchange: c.uuid("drift_event.exchange_id")?,
        class: c.text("drift_event.drift_class")?,
        severity: c.text("drift_event.severity")?,
        prompt_hash: c.hash("drift_event.prompt_hash")?,
        response_hash: c.hash("drift_event.response_hash")?,
        summary: c.text("drift_event.summary")?,
        created_at: c.time("drift_event.created_at")?,
    })
}

fn artifact(c: &Columns<'_, '_>) -> Result<ArtifactRow, StoreError> {
    Ok(ArtifactRow {
        line: c.count("artifact.line")?,
        kind: c.text("artifact.kind")?,
        id: c.text("artifact.id")?,
        document: c.text_opt("artifact.document")?,
        salt: c.salt_opt("artifact.salt")?,
        commitment: c.hash("artifact.commitment")?,
    })
}

pub(super) fn commit(c: &Columns<'_, '_>) -> Result<CommitRow, StoreError> {
    let kind = c.text("ledger_commit.kind")?;
    let segment = match (c.count_opt("ledger_commit.segment_from")?, c.count_opt("ledger_commit.segment_to")?) {
        (None, None) => None,
        (Some(from), Some(to)) => Some((from, to)),
        _ => {
            let (expected, actual) = ("both ends of a segment, or none", "one".to_owned());
            return Err(StoreError::Corrupt { place: "ledger_commit.segment_from", expected, actual });
        }
    };
    Ok(CommitRow {
        n: c.count("ledger_commit.n")?,
        line: c.count("ledger_commit.line")?,
        kind: CommitKind::of_name(&kind).ok_or(StoreError::Corrupt {
            place: "ledger_commit.kind",
            expected: "a kind of commit",
            actual: kind,
        })?,
        reference: c.text("ledger_commit.ref")?,
        id: c.text("ledger_commit.id")?,
        raw: c.blob("ledger_commit.raw")?,
        tree_of: c.count_opt("ledger_commit.tree_of")?,
        segment,
    })
}

impl<C: Deref<Target = Connection>> Read for Handle<C> {
    fn head(&self) -> Result<Head, StoreError> {
        self.one("read the head", "SELECT * FROM head WHERE id = 1", [], head)?.ok_or(StoreError::Corrupt {
            place: "head",
            expected: "one row",
            actual: "none".to_owned(),
        })
    }

    fn genesis(&self) -> Result<String, StoreError> {
        self.one("read genesis", "SELECT genesis FROM head WHERE id = 1", [], |c| c.text("head.genesis"))?
            .ok_or(StoreError::Corrupt { place: "head.genesis", expected: "one row", actual: "none".to_owned() })
    }

    fn each_session(&self, take: &mut dyn FnMut(SessionRow) -> Result<(), StoreError>) -> Result<(), StoreError> {
        self.each("read sessions", "SELECT * FROM chat_session ORDER BY started_at, rowid", [], session, take)
    }

    fn open_sessions(&self) -> Result<Vec<SessionRow>, StoreError> {
        let sql = "SELECT * FROM chat_session WHERE status = 'open' ORDER BY started_at, rowid";
        self.list("read open sessions", sql, [], session)
    }

    fn session(&self, id: Hash32) -> Result<Option<SessionRow>, StoreError> {
        let sql = "SELECT * FROM chat_session WHERE ledger_session = ?1";
        self.one("read a session", sql, [id.to_string()], session)
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
            None => self.each("read exchanges", "SELECT * FROM llm_exchange ORDER BY prompt_line", [], exchange, take),
        }
    }

    fn exchange(&self, id: Uuid) -> Result<Option<ExchangeRow>, StoreError> {
        let sql = "SELECT * FROM llm_exchange WHERE exchange_id = ?1";
        self.one("read an exchange", sql, [id.to_string()], exchange)
    }

    fn answered_prompt(&self, prompt_hash: Hash32) -> Result<Option<ExchangeRow>, StoreError> {
        let sql = "SELECT * FROM llm_exchange WHERE prompt_hash = ?1 AND outcome = 'answered' AND model <> 'replay'
                   ORDER BY outcome_line DESC LIMIT 1";
        self.one("find an answered prompt", sql, [prompt_hash.to_string()], exchange)
    }

    fn answered_text(&self, content_hash: Hash32) -> Result<Option<ExchangeRow>, StoreError> {
        let sql = "SELECT e.* FROM chat_turn t JOIN llm_exchange e ON e.turn_user_id = t.turn_id
                   WHERE t.content_hash = ?1 AND t.speaker = 'user' AND e.outcome = 'answered' AND e.model <> 'replay'
                   ORDER BY e.outcome_line DESC LIMIT 1";
        self.one("find an answered text", sql, [content_hash.to_string()], exchange)
    }

    fn in_flight(&self, of: Uuid) -> Result<Vec<ExchangeRow>, StoreError> {
        let sql = "SELECT * FROM llm_exchange WHERE session_id = ?1 AND outcome IS NULL ORDER BY seq";
        self.list("read prompts in flight", sql, [of.to_string()], exchange)
    }

    fn turn(&self, id: Uuid) -> Result<Option<TurnRow>, StoreError> {
        self.one("read a turn", "SELECT * FROM chat_turn WHERE turn_id = ?1", [id.to_string()], turn)
    }

    fn artifact_refs(&self, of: Uuid) -> Result<Vec<ArtifactRefRow>, StoreError> {
        let sql = "SELECT * FROM context_artifact_ref WHERE exchange_id = ?1 ORDER BY rowid";
        self.list("read artifact references", sql, [of.to_string()], artifact_ref)
    }

    fn drift(&self, of: Uuid) -> Result<Vec<DriftRow>, StoreError> {
        let sql = "SELECT * FROM drift_event WHERE exchange_id = ?1 ORDER BY rowid";
        self.list("read drift events", sql, [of.to_string()], drift)
    }

    fn artifacts(&self) -> Result<Vec<ArtifactRow>, StoreError> {
        self.list("read artifacts", "SELECT * FROM artifact ORDER BY line", [], artifact)
    }

    fn newest_artifact(&self, kind: &str) -> Result<Option<ArtifactRow>, StoreError> {
        let sql = "SELECT * FROM artifact WHERE kind = ?1 ORDER BY line DESC LIMIT 1";
        self.one("read an artifact", sql, [kind], artifact)
    }

    fn kernel(&self, hash: Hash32) -> Result<Option<String>, StoreError> {
        let sql = "SELECT document FROM kernel WHERE kernel_hash = ?1";
        self.one("read a kernel", sql, [hash.to_string()], |c| c.text("kernel.document"))
    }

    fn auth_keys(&self) -> Result<Vec<AuthKeyRow>, StoreError> {
        self.list("read auth keys", "SELECT * FROM auth_key ORDER BY added_at, rowid", [], |c| {
            Ok(AuthKeyRow {
                hash: c.hash("auth_key.auth_key_hash")?,
                name: c.text("auth_key.name")?,
                added_at: c.time("auth_key.added_at")?,
                revoked_at: c.time_opt("auth_key.revoked_at")?,
            })
        })
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
        self.one("read a tip", sql, rusqlite::params![reference, int(below)], commit)
    }

    fn last_of_kind(&self, reference: &str, kind: CommitKind) -> Result<Option<u64>, StoreError> {
        let sql = "SELECT n FROM ledger_commit WHERE ref = ?1 AND kind = ?2 ORDER BY n DESC LIMIT 1";
        self.one("read a tip", sql, [reference, kind.name()], |c| c.count("ledger_commit.n"))
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

    fn block_at(&self, of: u32) -> Result<Option<Anchor>, StoreError> {
        let sql = "SELECT document, header FROM block WHERE height = ?1 ORDER BY rowid DESC LIMIT 1";
        self.one("read a block", sql, [i64::from(of)], |c| c.anchor("block.document", "block.header"))
    }

    fn auth_failures(&self) -> Result<Vec<(String, Seconds, u64)>, StoreError> {
        self.list("read auth failures", "SELECT * FROM auth_failure ORDER BY reason", [], |c| {
            Ok((c.text("auth_failure.reason")?, c.time("auth_failure.since")?, c.count("auth_failure.pending")?))
        })
    }
}
