//! One row of each table, read strictly.

use crate::record::bitcoin::block::Anchor;
use crate::record::ledger::commit::CommitKind;
use crate::record::ledger::item::Item;
use crate::store::{
    AppliedMark, ArtifactRefRow, ArtifactRow, AssertionRow, CommitRow, DriftRow, DriftState,
    ExchangeRow, LedgerHead, MissingCommitments, OutcomeUpdate, SessionRow, StoreError, TurnRow,
};

use super::columns::Columns;

pub(super) fn head(c: &Columns<'_, '_>) -> Result<LedgerHead, StoreError> {
    Ok(LedgerHead {
        signer: c.parsed("head.signer", "a public key")?,
        lines: c.count("head.lines")?,
        hash: c.hash("head.hash")?,
        time: c.time("head.time")?,
        height: height(c, "head.height")?,
        bytes: c.count("head.bytes")?,
        frontier: c.blob("head.frontier")?,
        commits: c.count("head.commits")?,
        segment_lines: c.count("head.segment_lines")?,
        segment_bytes: c.count("head.segment_bytes")?,
        segment_at: c.time("head.segment_at")?,
        last_branch: c.text_opt("head.last_branch")?,
        checkpoint: c.text_opt("head.checkpoint")?,
        applied: AppliedMark {
            lines: c.count("head.applied_lines")?,
            bytes: c.count("head.applied_bytes")?,
            commits: c.count("head.applied_commits")?,
        },
    })
}

pub(super) fn height(c: &Columns<'_, '_>, place: &'static str) -> Result<u32, StoreError> {
    let value = c.count(place)?;
    u32::try_from(value).map_err(|_| StoreError::Corrupt {
        place,
        expected: "a height",
        actual: value.to_string(),
    })
}

pub(super) fn session(c: &Columns<'_, '_>) -> Result<SessionRow, StoreError> {
    let tier = c.count("chat_session.tier")?;
    let status = c.text("chat_session.status")?;
    if !matches!(status.as_str(), "open" | "closed") {
        let (place, expected) = ("chat_session.status", "'open' or 'closed'");
        return Err(StoreError::Corrupt {
            place,
            expected,
            actual: status,
        });
    }
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

pub(super) fn turn(c: &Columns<'_, '_>) -> Result<TurnRow, StoreError> {
    Ok(TurnRow {
        turn_id: c.uuid("chat_turn.turn_id")?,
        line: c.count("chat_turn.line")?,
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
pub(super) fn log_line(c: &Columns<'_, '_>) -> Result<String, StoreError> {
    let (hash, line) = (c.text("log_line.hash")?, c.text("log_line.line")?);
    if line
        .strip_prefix(hash.as_str())
        .is_some_and(|rest| rest.starts_with('|'))
    {
        return Ok(line);
    }
    Err(StoreError::Corrupt {
        place: "log_line.hash",
        expected: "the HASH that the line begins with",
        actual: hash,
    })
}

pub(super) fn outcome(c: &Columns<'_, '_>) -> Result<Option<OutcomeUpdate>, StoreError> {
    let Some(outcome) = c.outcome_opt("llm_exchange.outcome")? else {
        return Ok(None);
    };
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
        aurora_text: c.hash_opt("llm_exchange.aurora_text_commitment")?,
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
        not_kept: not_kept(c)?,
        outcome: outcome(c)?,
    })
}

fn not_kept(c: &Columns<'_, '_>) -> Result<Option<MissingCommitments>, StoreError> {
    let bundle = c.hash_opt("llm_exchange.bundle_commitment")?;
    let compiled_prompt = c.hash_opt("llm_exchange.compiled_prompt_commitment")?;
    let others = [
        bundle,
        compiled_prompt,
        c.hash_opt("llm_exchange.aurora_text_commitment")?,
    ];
    match (
        c.hash_opt("llm_exchange.user_text_commitment")?,
        others.into_iter().flatten().next(),
    ) {
        (Some(user_text), _) => Ok(Some(MissingCommitments {
            user_text,
            bundle,
            compiled_prompt,
        })),
        (None, None) => Ok(None),
        (None, Some(other)) => Err(StoreError::Corrupt {
            place: "llm_exchange.user_text_commitment",
            expected: "a commitment beside that to another text of the exchange",
            actual: format!("null beside {other}"),
        }),
    }
}

pub(super) fn artifact_ref(c: &Columns<'_, '_>) -> Result<ArtifactRefRow, StoreError> {
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

/// A block, whose key and height are those of its document.
pub(super) fn block(c: &Columns<'_, '_>) -> Result<Anchor, StoreError> {
    let anchor = c.anchor("block.document", "block.header")?;
    let (hash, height) = (c.hash("block.hash")?, height(c, "block.height")?);
    if (hash, height) != (anchor.block.hash, anchor.block.height) {
        let (place, expected) = ("block.hash and block.height", "those of its document");
        return Err(StoreError::Corrupt {
            place,
            expected,
            actual: format!("{hash} and {height}"),
        });
    }
    Ok(anchor)
}

pub(super) fn drift(c: &Columns<'_, '_>) -> Result<DriftRow, StoreError> {
    let kind = c.text("drift_event.kind")?;
    if kind != DRIFT_KIND {
        return Err(StoreError::Corrupt {
            place: "drift_event.kind",
            expected: DRIFT_KIND,
            actual: kind,
        });
    }
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

/// The one kind of drift event that there is (AEGIS 9.3).
const DRIFT_KIND: &str = "DRIFTWATCH";

/// A row of [`DRIFT_STATE`].
pub(super) fn drift_state(c: &Columns<'_, '_>) -> Result<DriftState, StoreError> {
    Ok(DriftState {
        number: c.count("drift_event.number")?,
        event: drift(c)?,
        level: c.text_opt("assertion_event.level")?,
        acked: c.count_opt("artifact.acked")?,
        closed: c.count_opt("artifact.closed")?,
    })
}

/// Drift events with what became of them. An event's number is its place in the order of recording:
/// rows are never deleted.
pub(super) const DRIFT_STATE: &str = "SELECT d.rowid AS number, d.*, a.level AS level,
       (SELECT min(line) FROM artifact WHERE kind = 'drift_ack' AND id = d.drift_id) AS acked,
       (SELECT min(line) FROM artifact WHERE kind = 'drift_close' AND id = d.drift_id) AS closed
  FROM drift_event d LEFT JOIN assertion_event a
       ON a.line = (SELECT prompt_line FROM llm_exchange e WHERE e.exchange_id = d.exchange_id) AND a.passed = 0
       AND a.name = d.drift_class || '.' || substr(d.summary, 1, instr(d.summary || ' ', ' ') - 1)";

/// Joins an exchange `e` with its drift events `d` that a person was told of and that nobody has
/// closed, by the index of failed checks.
pub(super) const OPEN_DRIFT: &str =
    "JOIN assertion_event a ON a.line = e.prompt_line AND a.passed = 0 AND a.level <> 'info'
       JOIN drift_event d ON d.exchange_id = e.exchange_id
        AND a.name = d.drift_class || '.' || substr(d.summary, 1, instr(d.summary || ' ', ' ') - 1)
        AND NOT EXISTS (SELECT 1 FROM artifact c WHERE c.kind = 'drift_close' AND c.id = d.drift_id)";

pub(super) fn assertion(c: &Columns<'_, '_>) -> Result<AssertionRow, StoreError> {
    Ok(AssertionRow {
        assertion_id: c.uuid("assertion_event.assertion_id")?,
        exchange: c.uuid("assertion_event.exchange_id")?,
        name: c.text("assertion_event.name")?,
        level: c.text("assertion_event.level")?,
        passed: match c.count("assertion_event.passed")? {
            0 => false,
            1 => true,
            other => {
                let (place, actual) = ("assertion_event.passed", other.to_string());
                return Err(StoreError::Corrupt {
                    place,
                    expected: "0 or 1",
                    actual,
                });
            }
        },
        created_at: c.time("assertion_event.created_at")?,
    })
}

pub(super) fn artifact(c: &Columns<'_, '_>) -> Result<ArtifactRow, StoreError> {
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
    let segment = match (
        c.count_opt("ledger_commit.segment_from")?,
        c.count_opt("ledger_commit.segment_to")?,
    ) {
        (None, None) => None,
        (Some(from), Some(to)) => Some((from, to)),
        _ => {
            let (expected, actual) = ("both ends of a segment, or none", "one".to_owned());
            return Err(StoreError::Corrupt {
                place: "ledger_commit.segment_from",
                expected,
                actual,
            });
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

pub(super) fn item(c: &Columns<'_, '_>) -> Result<Item, StoreError> {
    let tier = c.count_opt("continuity_item.tier")?.map(|tier| {
        let place = "continuity_item.tier";
        u8::try_from(tier).map_err(|_| StoreError::Corrupt {
            place,
            expected: "a tier",
            actual: tier.to_string(),
        })
    });
    Ok(Item {
        line: c.count("continuity_item.line")?,
        id: c.text("continuity_item.id")?,
        kind: c.parsed("continuity_item.kind", "a kind of item")?,
        state: c.parsed("continuity_item.state", "a state of an item")?,
        state_line: c.count("continuity_item.state_line")?,
        subject: c.text_opt("continuity_item.subject")?,
        source: c.text_opt("continuity_item.source")?,
        observed_at: c.time_opt("continuity_item.observed_at")?,
        confidence: c.text_opt("continuity_item.confidence")?,
        phase: c.text_opt("continuity_item.phase")?,
        tier: tier.transpose()?,
        session: c.hash_opt("continuity_item.session")?,
        hash: c.hash("continuity_item.hash")?,
    })
}
