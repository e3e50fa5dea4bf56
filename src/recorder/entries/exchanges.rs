//! Writing prompts and their one outcome inside a draft (format, sections 2 to 7).

use crate::continuity::compile::ContextBundle;
use crate::continuity::prompt::CompiledPrompt;
use crate::govern::actions::actuation::{Acts, proposed};
use crate::govern::drift::Judgement;
use crate::record::canon;
use crate::record::context::turn::prompt_digest;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::{Role, Salt, Scheme, commit};
use crate::record::ledger::documents::AuthorityState;
use crate::record::ledger::exchange::row_id;
use crate::record::ledger::params::Params;
use crate::record::log::chain;
use crate::record::log::entry::Event;
use crate::record::time::Seconds;
use crate::store::{
    ExchangeOutcome, ExchangeRow, MissingCommitments, OutcomeUpdate, SessionRow, TurnRow,
};

use super::actions;
use super::content_policy::{ContentPolicy, digest, lost_salt, settle};
use super::drift::{assertion_rows, drift_lines, drift_rows, put_judgement};
use super::exchange_document::{ExchangeTexts, exchange_hash};
use super::interaction::interaction;
use super::references::ref_row;
use super::sessions::take_anchor;
use super::threads;
use super::threads::TurnDecision;
use crate::recorder::RecorderError;
use crate::recorder::batch::transaction::{Draft, NewLine};
use crate::recorder::in_flight::Prompts;
use crate::recorder::placeholders::{must_put, number};
use crate::recorder::recorded::{AnswerDetails, PromptDetails};
use crate::recorder::turn::{
    JudgedReply, Prompt, PromptEnding, RecordedFailure, RecordedPrompt, RecordedRefusal, Refusal,
    RefusedPrompt, TurnIds,
};

/// The reason of a prompt whose process is gone.
pub const ABANDONED: &str = "abandoned";

fn unrecordable(what: &'static str) -> impl Fn(canon::CanonError) -> RecorderError {
    move |e| RecorderError::Unrecordable {
        what,
        reason: e.to_string(),
    }
}

/// What the prompt line and its rows are made from.
struct PromptEntry<'a> {
    text: &'a str,
    decision: &'static str,
    authority_state: AuthorityState,
    salt: &'a Salt,
    compiled: Option<(&'a ContextBundle, &'a CompiledPrompt)>,
    params: Option<&'a Params>,
    keeping: ContentPolicy,
    decided: TurnDecision<'a>,
    now: Seconds,
}

impl PromptEntry<'_> {
    /// What stands in the place of the texts, if they are not kept.
    fn unkept(&self, scheme: Scheme) -> Option<MissingCommitments> {
        let to = |role, text: &str| commit(scheme, self.salt, role, text.as_bytes());
        (!self.keeping.keeps_text()).then(|| MissingCommitments {
            user_text: to(Role::UserText, self.text),
            bundle: self
                .compiled
                .map(|(bundle, _)| to(Role::Bundle, bundle.json())),
            compiled_prompt: self
                .compiled
                .map(|(_, compiled)| to(Role::CompiledPrompt, compiled.canonical())),
        })
    }
}

/// Writes the prompt line, the user's turn, the exchange and what was injected.
fn ask(
    draft: &mut Draft<'_>,
    session: &mut SessionRow,
    asked: &PromptEntry<'_>,
) -> Result<(TurnIds, ExchangeRow), RecorderError> {
    let (seq, keeping) = (session.prompts + 1, asked.keeping);
    let prompt_hash = commit(
        draft.genesis.commitments,
        asked.salt,
        Role::Prompt,
        asked.text.as_bytes(),
    );
    let height = session.anchor.block.height;
    let line = draft.line(
        asked.now,
        height,
        Some(session.id),
        Event::Prompt {
            hash: prompt_hash,
            seq,
        },
    )?;
    let turn_user = row_id("turn_user", session.id, seq);
    draft.tx.put_turn(&TurnRow {
        turn_id: turn_user,
        line: line.n,
        session: session.uuid,
        created_at: line.time,
        by_user: true,
        content: keeping.keeps_text().then(|| asked.text.to_owned()),
        content_hash: digest(keeping, asked.text),
        refusal: false,
        authority_state: asked.authority_state,
        driftwatch_id: None,
    })?;
    let exclusions = asked
        .compiled
        .map_or(&[][..], |(bundle, _)| bundle.exclusions());
    let row = ExchangeRow {
        exchange_id: row_id("exchange", session.id, seq),
        session: session.uuid,
        turn_user,
        bundle_hash: asked
            .compiled
            .and_then(|(bundle, _)| digest(keeping, bundle.json())),
        bundle_json: asked
            .compiled
            .filter(|_| keeping.keeps_text())
            .map(|(bundle, _)| bundle.json().to_owned()),
        prompt_hash: asked
            .compiled
            .and_then(|(_, compiled)| digest(keeping, compiled.canonical())),
        created_at: line.time,
        seq,
        model: session.model.clone(),
        decision: asked.decision.to_owned(),
        authority_state: asked.authority_state,
        exclusions: canon::print(&exclusions).map_err(unrecordable("exclusions"))?,
        params: asked
            .params
            .map(|params| keeping.params(params).canonical())
            .transpose()
            .map_err(unrecordable("params"))?,
        salt: keeping.keeps_openings().then(|| asked.salt.clone()),
        prompt_commitment: prompt_hash,
        prompt_line: line.n,
        unkept: asked.unkept(draft.genesis.commitments),
        outcome: None,
    };
    draft.tx.put_exchange(&row)?;
    let refs = asked
        .compiled
        .map_or(&[][..], |(bundle, _)| bundle.refs())
        .iter()
        .enumerate();
    let refs = refs.map(|(i, reference)| ref_row(reference, session.id, row.exchange_id, seq, i));
    draft
        .tx
        .put_artifact_refs(&refs.collect::<Result<Vec<_>, _>>()?)?;
    let sent = asked.compiled.map(|(_, compiled)| compiled.canonical());
    let params = asked
        .params
        .map(Params::canonical)
        .transpose()
        .map_err(unrecordable("params"))?;
    let sent = sent
        .map(|sent| prompt_digest(sent, &row.model, params.as_deref()))
        .transpose();
    let decided = TurnDecision {
        prompt_digest: sent.map_err(threads::digesting)?,
        ..asked.decided
    };
    threads::asked(
        draft,
        session,
        &row,
        keeping.keeps_text().then_some(asked.text),
        &decided,
        line,
    )?;
    session.prompts = seq;
    session.last_at = line.time;
    let ids = TurnIds {
        session: session.id,
        session_uuid: session.uuid,
        seq,
        exchange: row.exchange_id,
        prompt_hash,
        prompt_line: line.hash,
    };
    Ok((ids, row))
}

/// Records a prompt that a model will be called with.
///
/// `acts` are what the text asks to be done.
pub fn prompt(
    draft: &mut Draft<'_>,
    prompts: &Prompts,
    prompt: &Prompt,
    acts: &Acts,
) -> Result<PromptDetails, RecorderError> {
    let mut session = draft.open_session(prompt.session)?;
    if let Some(anchor) = &prompt.anchor {
        take_anchor(draft, &mut session, anchor, prompt.now)?;
    }
    let (keeping, mut numbers) = (settle(draft, prompt.now)?, prompt.numbers.clone());
    must_put(draft, session.uuid, &mut numbers)?;
    let asked = PromptEntry {
        text: prompt.text.as_str(),
        decision: "allow",
        authority_state: prompt.authority_state,
        salt: &prompt.salt,
        compiled: Some((&prompt.bundle, &prompt.compiled)),
        params: Some(&prompt.params),
        keeping,
        decided: TurnDecision {
            context: &prompt.context,
            counts: prompt.counts,
            reasons: &[],
            allowed: true,
            prompt_digest: None,
        },
        now: prompt.now,
    };
    let (ids, _) = ask(draft, &mut session, &asked)?;
    draft.move_session(&session)?;
    let mut action_salts = prompt.action_salts.clone();
    let actions = actions::record(draft, &ids, "prompt", acts, &mut action_salts, prompt.now)?;
    // Before the transaction commits, so that nobody ever sees the prompt as one that nobody waits
    // for.
    let in_flight = prompts.begin(ids.exchange)?;
    Ok(PromptDetails {
        ids,
        model: session.model,
        actions,
        action_salts,
        keeping,
        numbers,
        in_flight,
    })
}

/// Records a prompt together with why no model gets it.
///
/// `acts` are what the text asks to be done.
pub fn refuse(
    draft: &mut Draft<'_>,
    refused: &RefusedPrompt,
    acts: &Acts,
) -> Result<RecordedRefusal, RecorderError> {
    let mut session = draft.open_session(refused.session)?;
    if let Some(anchor) = &refused.anchor {
        take_anchor(draft, &mut session, anchor, refused.now)?;
    }
    let (keeping, mut numbers) = (settle(draft, refused.now)?, refused.numbers.clone());
    must_put(draft, session.uuid, &mut numbers)?;
    let (decision, reason, outcome, judgement, reasons) = match &refused.refusal {
        Refusal::Denied { reason, codes } => (
            "deny",
            reason.clone(),
            ExchangeOutcome::Denied,
            None,
            &codes[..],
        ),
        Refusal::CompileFailed { reason, judgement } => (
            "allow",
            reason.clone(),
            ExchangeOutcome::Failed,
            judgement.as_ref(),
            &[][..],
        ),
    };
    let asked = PromptEntry {
        text: refused.text.as_str(),
        decision,
        authority_state: refused.authority_state,
        salt: &refused.salt,
        compiled: None,
        params: None,
        keeping,
        decided: TurnDecision {
            context: &refused.context,
            counts: refused.counts,
            reasons,
            allowed: decision == "allow",
            prompt_digest: None,
        },
        now: refused.now,
    };
    let (ids, row) = ask(draft, &mut session, &asked)?;
    let ending = PromptEnding {
        outcome,
        reason: &reason,
        judgement,
    };
    let (exchange_hash, line) = no_answer(
        draft,
        &mut session,
        (&row, &refused.salt),
        &ending,
        refused.now,
    )?;
    draft.move_session(&session)?;
    let mut salts = refused.action_salts.clone();
    let actions = actions::record(draft, &ids, "prompt", acts, &mut salts, refused.now)?;
    Ok(RecordedRefusal {
        ids,
        session,
        exchange_hash,
        line: line.hash,
        refusal: refused.refusal.clone(),
        actions,
    })
}

/// Records that a prompt got no answer; for the model's faults and for abandoned prompts.
pub fn fail(
    draft: &mut Draft<'_>,
    prompt: &RecordedPrompt,
    reason: &str,
    now: Seconds,
) -> Result<RecordedFailure, RecorderError> {
    let ids = prompt.ids();
    let mut session = draft.open_session(ids.session)?;
    let row = draft
        .tx
        .exchange(ids.exchange)?
        .ok_or(RecorderError::NotOpen {
            session: ids.session,
        })?;
    let (exchange_hash, line) = no_answer(
        draft,
        &mut session,
        (&row, &prompt.salt),
        &PromptEnding::failed(reason),
        now,
    )?;
    draft.move_session(&session)?;
    Ok(RecordedFailure {
        ids: ids.clone(),
        session,
        exchange_hash,
        line: line.hash,
        reason: reason.to_owned(),
    })
}

/// Closes every prompt of a session that no process waits for; one that is waited for stops it.
pub fn abandon_all(
    draft: &mut Draft<'_>,
    prompts: &Prompts,
    session: &mut SessionRow,
    now: Seconds,
) -> Result<(), RecorderError> {
    let unanswered = draft.tx.in_flight(session.uuid)?;
    if unanswered.is_empty() {
        return Ok(());
    }
    let waited_for = prompts.waited_for()?;
    if let Some(row) = unanswered
        .iter()
        .find(|row| waited_for.contains(&row.exchange_id))
    {
        return Err(RecorderError::InFlight {
            session: session.id,
            seq: row.seq,
        });
    }
    for row in &unanswered {
        let salt = row
            .salt
            .clone()
            .unwrap_or_else(|| lost_salt(draft, row.exchange_id));
        no_answer(
            draft,
            session,
            (row, &salt),
            &PromptEnding::failed(ABANDONED),
            now,
        )?;
    }
    prompts.clear();
    Ok(())
}

fn no_answer(
    draft: &mut Draft<'_>,
    session: &mut SessionRow,
    (row, salt): (&ExchangeRow, &Salt),
    ending: &PromptEnding<'_>,
    now: Seconds,
) -> Result<(Hash32, NewLine), RecorderError> {
    let PromptEnding {
        outcome,
        reason,
        judgement,
    } = *ending;
    let answered_at = draft.line_time(now)?;
    // There is no answer to commit to, and no line: a `drift` line names an answered prompt
    // (format, section 3).
    let drift = judgement
        .map(|found| drift_rows(session, row, found, Hash32::ZERO, answered_at))
        .unwrap_or_default();
    let checks = judgement
        .map(|found| assertion_rows(session, row, found, answered_at))
        .unwrap_or_default();
    let mut update = OutcomeUpdate {
        outcome,
        reason: Some(reason.to_owned()),
        turn_aurora: None,
        response_hash: None,
        validator_summary: judgement.map(Judgement::summary_json),
        refusal: None,
        answered_at,
        prompt_tokens: None,
        completion_tokens: None,
        cost: None,
        response_commitment: None,
        exchange_commitment: Hash32::ZERO,
        chain_entry: None,
        aurora_text: None,
        outcome_line: draft.head.lines,
    };
    let exchange = exchange_hash(draft, session, (row, salt), &update, None, &drift)?;
    update.exchange_commitment = exchange;
    let (seq, reason) = (row.seq, reason.to_owned());
    let event = match outcome {
        ExchangeOutcome::Denied => Event::Denied {
            seq,
            reason,
            exchange,
        },
        _ => Event::ResponseFail {
            seq,
            model: row.model.clone(),
            reason,
            exchange,
        },
    };
    let line = draft.line_at(
        answered_at,
        session.anchor.block.height,
        Some(session.id),
        event,
    )?;
    draft.tx.put_outcome(row.exchange_id, &update)?;
    put_judgement(draft, &drift, &checks)?;
    session.last_at = line.time;
    Ok((exchange, line))
}

/// Records an answer: turn, outcome, `response` line, drift lines, interaction commit, and the acts
/// it proposes.
pub fn answer(
    draft: &mut Draft<'_>,
    prompt: &RecordedPrompt,
    judged: &JudgedReply,
    mut acts: Acts,
    now: Seconds,
) -> Result<AnswerDetails, RecorderError> {
    let mut session = draft.open_session(prompt.ids.session)?;
    let row = draft
        .tx
        .exchange(prompt.ids.exchange)?
        .ok_or(RecorderError::NotOpen {
            session: session.id,
        })?;
    let (salt, keeping, scheme) = (&prompt.salt, prompt.keeping, draft.genesis.commitments);
    let time = draft.line_time(now)?;
    let again = number(draft, session.uuid, judged)?;
    if let Some(again) = &again {
        acts = proposed(again.clean.as_str());
    }
    let redaction = again.as_ref().unwrap_or(&judged.stored);
    let response_hash = commit(scheme, salt, Role::Response, judged.text.as_bytes());
    let stored = redaction.clean.as_str();
    let drift = drift_rows(&session, &row, &judged.judgement, response_hash, time);
    let checks = assertion_rows(&session, &row, &judged.judgement, time);
    let chain_entry = chain::chain_entry(
        session.chain_head,
        row.prompt_commitment,
        response_hash,
        time,
    );
    let turn_aurora = row_id("turn_aurora", session.id, row.seq);
    let mut update = OutcomeUpdate {
        outcome: ExchangeOutcome::Answered,
        reason: None,
        turn_aurora: Some(turn_aurora),
        response_hash: digest(keeping, stored),
        validator_summary: Some(judged.judgement.summary_json()),
        refusal: Some(judged.judgement.refusal()),
        answered_at: time,
        prompt_tokens: judged.usage.prompt_tokens,
        completion_tokens: judged.usage.completion_tokens,
        cost: judged.cost.clone(),
        response_commitment: Some(response_hash),
        exchange_commitment: Hash32::ZERO,
        chain_entry: Some(chain_entry),
        aurora_text: row
            .unkept
            .map(|_| commit(scheme, salt, Role::AuroraText, stored.as_bytes())),
        outcome_line: draft.head.lines,
    };
    let compiled = prompt.compiled.canonical();
    let texts = ExchangeTexts {
        aurora: stored,
        compiled,
    };
    threads::answered(
        draft,
        &row,
        turn_aurora,
        keeping.keeps_text().then_some(stored),
        time,
    )?;
    update.exchange_commitment =
        exchange_hash(draft, &session, (&row, salt), &update, Some(&texts), &drift)?;
    let turn = TurnRow {
        turn_id: turn_aurora,
        line: row.prompt_line,
        session: session.uuid,
        created_at: time,
        by_user: false,
        content: keeping.keeps_text().then(|| stored.to_owned()),
        content_hash: digest(keeping, stored),
        refusal: judged.judgement.refusal(),
        authority_state: row.authority_state,
        driftwatch_id: drift.first().map(|d| d.drift_id.clone()),
    };
    draft.tx.put_turn(&turn)?;
    let commit_id = interaction(draft, &mut session, &row, &update, judged, chain_entry)?;
    draft.tx.put_outcome(row.exchange_id, &update)?;
    put_judgement(draft, &drift, &checks)?;
    let (line, commit) = commit_id;
    let drift_ids = drift_lines(draft, &session, &drift, row.seq, time)?;
    draft.move_session(&session)?;
    let mut salts = prompt.action_salts.clone();
    let actions = actions::record(draft, &prompt.ids, "reply", &acts, &mut salts, now)?;
    Ok(AnswerDetails {
        ids: prompt.ids.clone(),
        response_hash,
        exchange_hash: update.exchange_commitment,
        chain_entry,
        response_line: line.hash,
        commit,
        drift_ids,
        actions,
        redacted: redaction.found.iter().map(|f| f.kind.clone()).collect(),
        session,
    })
}
