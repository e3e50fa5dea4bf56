//! The exchange document, made from the rows that are being written (format, section 7).

use crate::continuity::prompt::{Earlier, PriorTurn, render_again};
use crate::continuity::turns::{DEEP, TURN};
use crate::govern::kernel::Kernel;
use crate::record::canon::CanonError;
use crate::record::hash::Hash32;
use crate::record::ledger::bundle::Exclusion;
use crate::record::ledger::commitment::{Role, Salt, commit};
use crate::record::ledger::documents::Format;
use crate::record::ledger::exchange::{ArtifactNamed, DriftNamed, ExchangeDoc};
use crate::record::ledger::params::Params;
use crate::store::{DriftRow, ExchangeRow, OutcomeUpdate, SessionRow};

use super::threads;
use crate::recorder::RecorderError;
use crate::recorder::batch::transaction::LedgerTransaction;

fn unrecordable(what: &'static str) -> impl Fn(CanonError) -> RecorderError {
    move |e| RecorderError::Unrecordable {
        what,
        reason: e.to_string(),
    }
}

/// Texts of an answered exchange that its document commits to.
pub struct ExchangeTexts<'a> {
    /// The stored answer.
    pub aurora: &'a str,
    /// The compiled prompt's canonical JSON.
    pub compiled: &'a str,
}

/// The commitment to the exchange document that the rows give.
pub fn exchange_hash(
    transaction: &LedgerTransaction<'_>,
    session: &SessionRow,
    (row, salt): (&ExchangeRow, &Salt),
    update: &OutcomeUpdate,
    texts: Option<&ExchangeTexts<'_>>,
    drift: &[DriftRow],
) -> Result<Hash32, RecorderError> {
    let scheme = transaction.genesis.commitments;
    let commit_to = |role, text: &str| commit(scheme, salt, role, text.as_bytes());
    let user = transaction
        .tx
        .turn(row.turn_user)?
        .and_then(|turn| turn.content)
        .unwrap_or_default();
    let exclusions: Vec<Exclusion> =
        serde_json::from_str(&row.exclusions).map_err(|e| RecorderError::Unrecordable {
            what: "exclusions",
            reason: e.to_string(),
        })?;
    let validator = update
        .validator_summary
        .as_deref()
        .map(serde_json::from_str)
        .transpose();
    let artifacts = transaction
        .tx
        .artifact_refs(row.exchange_id)?
        .into_iter()
        .map(|r| ArtifactNamed {
            artifact_id: r.artifact_id,
            artifact_type: r.artifact_type,
            freshness_s: r.freshness_s,
            included_reason: r.included_reason,
            observed_at: r.observed_at,
            risk_flags: r.risk_flags,
        });
    let drift = drift.iter().map(|d| DriftNamed {
        class: d.class.clone(),
        id: d.drift_id.clone(),
        severity: d.severity.clone(),
        summary: d.summary.clone(),
    });
    let doc = ExchangeDoc {
        answered_at: update.answered_at,
        artifacts: artifacts.collect(),
        asked_at: row.created_at,
        aurora_text: texts.map(|t| commit_to(Role::AuroraText, t.aurora)),
        authority_state: row.authority_state,
        bundle: match row.not_kept {
            Some(not_kept) => not_kept.bundle,
            None => row
                .bundle_json
                .as_deref()
                .map(|json| commit_to(Role::Bundle, json)),
        },
        compiled_prompt: match row.not_kept {
            Some(not_kept) => not_kept.compiled_prompt,
            None => compiled_commitment(transaction, session, row, texts, &commit_to)?,
        },
        completion_tokens: update.completion_tokens,
        context: threads::named(transaction, row.exchange_id, salt)?,
        cost: update.cost.clone(),
        decision: row.decision.clone(),
        drift: drift.collect(),
        exchange_id: row.exchange_id,
        exclusions,
        format: Format,
        kernel_hash: session.kernel_hash,
        model: row.model.clone(),
        outcome: update.outcome.name().to_owned(),
        params: stored_params(row)?.map(|p| p.named()),
        prompt_tokens: update.prompt_tokens,
        reason: update.reason.clone(),
        refusal: update.refusal,
        seq: row.seq,
        session_id: session.id,
        user_text: row.not_kept.map_or_else(
            || commit_to(Role::UserText, &user),
            |not_kept| not_kept.user_text,
        ),
        validator: validator.map_err(|e: serde_json::Error| RecorderError::Unrecordable {
            what: "validator",
            reason: e.to_string(),
        })?,
    };
    doc.commitment(scheme, salt)
        .map_err(unrecordable("the exchange document"))
}

/// The compiled prompt's commitment: from the text at hand, or rendered again for a call that
/// failed.
fn compiled_commitment(
    transaction: &LedgerTransaction<'_>,
    session: &SessionRow,
    row: &ExchangeRow,
    texts: Option<&ExchangeTexts<'_>>,
    commit_to: &dyn Fn(Role, &str) -> Hash32,
) -> Result<Option<Hash32>, RecorderError> {
    if let Some(texts) = texts {
        return Ok(Some(commit_to(Role::CompiledPrompt, texts.compiled)));
    }
    let Some(bundle) = &row.bundle_json else {
        return Ok(None);
    };
    let wrong = |reason: String| RecorderError::Unrecordable {
        what: "the compiled prompt",
        reason,
    };
    let json = transaction
        .tx
        .kernel(session.kernel_hash)?
        .ok_or_else(|| wrong("its kernel is gone".into()))?;
    let kernel = Kernel::from_canonical(&json).map_err(|e| wrong(e.to_string()))?;
    let user = transaction
        .tx
        .turn(row.turn_user)?
        .and_then(|turn| turn.content)
        .unwrap_or_default();
    let system = stored_params(row)?.and_then(|p| p.system);
    let has_context = transaction.tx.thread_turn(row.exchange_id)?.is_some();
    let Some(turns) = prior_turns(transaction, row, has_context)? else {
        return Ok(None);
    };
    let Some(block) = threads::block(transaction, row.exchange_id)? else {
        return Ok(None);
    };
    let earlier = match has_context {
        true => Earlier::Context {
            deep: &turns,
            block: block.as_deref(),
        },
        false => Earlier::Turns(&turns),
    };
    let text = render_again(&kernel, bundle, system.as_deref(), earlier, &user)
        .map_err(|e| wrong(e.to_string()))?;
    Ok(Some(commit_to(Role::CompiledPrompt, &text)))
}

/// The earlier turns that were put before the model beside a context block, in their order; none
/// when one was erased while the prompt waited for its answer: what nobody can render again is not
/// committed to, and the session can be closed.
fn prior_turns(
    transaction: &LedgerTransaction<'_>,
    row: &ExchangeRow,
    has_context: bool,
) -> Result<Option<Vec<PriorTurn>>, RecorderError> {
    let wrong = |reason: String| RecorderError::Unrecordable {
        what: "an earlier turn",
        reason,
    };
    let mut turns = Vec::new();
    let refs = transaction
        .tx
        .artifact_refs(row.exchange_id)?
        .into_iter()
        .filter(|r| r.artifact_type == TURN);
    for reference in refs.filter(|r| !has_context || r.included_reason.starts_with(DEEP)) {
        let id = reference
            .artifact_id
            .parse()
            .map_err(|e: uuid::Error| wrong(e.to_string()))?;
        let turn = transaction
            .tx
            .turn(id)?
            .ok_or_else(|| wrong(format!("{id} is not here")))?;
        match PriorTurn::new(
            turn.turn_id,
            turn.by_user,
            turn.created_at,
            turn.content.as_deref(),
        ) {
            Some(prior) => turns.push(prior),
            None => return Ok(None),
        }
    }
    Ok(Some(turns))
}

fn stored_params(row: &ExchangeRow) -> Result<Option<Params>, RecorderError> {
    row.params
        .as_deref()
        .map(Params::parse)
        .transpose()
        .map_err(unrecordable("params"))
}
