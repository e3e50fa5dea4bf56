//! Writing prompts and their one outcome inside a ledger transaction (format, sections 3 to 8).

use uuid::Uuid;

use crate::continuity::compile::ContextBundle;
use crate::continuity::prompt::CompiledPrompt;
use crate::govern::actions::actuation::{Acts, proposed};
use crate::govern::drift::Judgement;
use crate::record::canon;
use crate::record::context::turn::prompt_digest;
use crate::record::exchange::{ABANDONED, ExchangeOutcome};
use crate::record::hash::Hash32;
use crate::record::ledger::bundle::NamedHash;
use crate::record::ledger::commitment::{Role, Salt, Scheme, commit};
use crate::record::ledger::documents::AuthorityState;
use crate::record::ledger::exchange::row_id;
use crate::record::ledger::params::Params;
use crate::record::ledger::reply::ReplyDoc;
use crate::record::log::chain;
use crate::record::log::entry::Event;
use crate::record::time::Seconds;
use crate::store::{
    AssertionRow, DriftRow, ExchangeRow, MeasureRow, MissingCommitments, OutcomeUpdate, SessionRow,
    TurnRow,
};

use super::actions;
use super::content_policy::{ContentPolicy, digest, lost_salt, settle};
use super::drift::{assertion_rows, drift_lines, drift_rows, put_judgement};
use super::exchange_document::{ExchangeTexts, JudgedRows, exchange_hash};
use super::interaction::interaction;
use super::references::ref_row;
use super::sessions::take_anchor;
use super::threads;
use super::threads::{QuestionContext, TurnDecision};
use crate::recorder::RecorderError;
use crate::recorder::batch::transaction::{LedgerTransaction, NewLine};
use crate::recorder::in_flight::Prompts;
use crate::recorder::placeholders::{must_put, number};
use crate::recorder::recorded::{AnswerDetails, PromptDetails};
use crate::recorder::turn::{
    JudgedReply, Prompt, PromptEnding, RecordedFailure, RecordedPrompt, RecordedRefusal, Refusal,
    RefusedPrompt, TurnIds, TurnSteps,
};

fn record_error(what: &'static str) -> impl Fn(canon::CanonError) -> RecorderError {
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
    content_policy: ContentPolicy,
    decided: TurnDecision<'a>,
    now: Seconds,
}

impl PromptEntry<'_> {
    /// What stands in the place of the texts, if they are not kept.
    fn not_kept(&self, scheme: Scheme, request: Option<&str>) -> Option<MissingCommitments> {
        let to = |role, text: &str| commit(scheme, self.salt, role, text.as_bytes());
        (!self.content_policy.keeps_text()).then(|| MissingCommitments {
            user_text: to(Role::UserText, self.text),
            bundle: self
                .compiled
                .map(|(bundle, _)| to(Role::Bundle, bundle.json())),
            compiled_prompt: self
                .compiled
                .map(|(_, compiled)| to(Role::CompiledPrompt, compiled.canonical())),
            request: request.map(|request| to(Role::Request, request)),
        })
    }
}

/// The line of a prompt, with what names it.
#[derive(Clone, Copy)]
struct PromptLine {
    line: NewLine,
    /// Number of the prompt in its session, from 1.
    seq: u64,
    /// Commitment to the prompt.
    hash: Hash32,
}

impl PromptLine {
    fn write(
        transaction: &mut LedgerTransaction<'_>,
        session: &SessionRow,
        asked: &PromptEntry<'_>,
    ) -> Result<PromptLine, RecorderError> {
        let seq = session.prompts + 1;
        let hash = commit(
            transaction.genesis.commitments,
            asked.salt,
            Role::Prompt,
            asked.text.as_bytes(),
        );
        let line = transaction.line(
            asked.now,
            session.anchor.block.height,
            Some(session.id),
            Event::Prompt { hash, seq },
        )?;
        Ok(PromptLine { line, seq, hash })
    }

    /// The turn of the person who asks.
    fn user_turn(&self, session: &SessionRow, asked: &PromptEntry<'_>) -> TurnRow {
        let content_policy = asked.content_policy;
        TurnRow {
            turn_id: row_id("turn_user", session.id, self.seq),
            line: self.line.n,
            session: session.uuid,
            created_at: self.line.time,
            by_user: true,
            content: content_policy.keeps_text().then(|| asked.text.to_owned()),
            content_hash: digest(content_policy, asked.text),
            refusal: false,
            authority_state: asked.authority_state,
            driftwatch_id: None,
        }
    }

    /// The exchange, which has no outcome yet.
    fn exchange(
        &self,
        session: &SessionRow,
        asked: &PromptEntry<'_>,
        scheme: Scheme,
    ) -> Result<ExchangeRow, RecorderError> {
        let content_policy = asked.content_policy;
        let request = asked
            .compiled
            .map(|(_, compiled)| compiled.request().canonical())
            .transpose()
            .map_err(record_error("the request"))?;
        let exclusions = asked
            .compiled
            .map_or(&[][..], |(bundle, _)| bundle.exclusions());
        Ok(ExchangeRow {
            exchange_id: row_id("exchange", session.id, self.seq),
            session: session.uuid,
            turn_user: row_id("turn_user", session.id, self.seq),
            bundle_hash: asked
                .compiled
                .and_then(|(bundle, _)| digest(content_policy, bundle.json())),
            bundle_json: asked
                .compiled
                .filter(|_| content_policy.keeps_text())
                .map(|(bundle, _)| bundle.json().to_owned()),
            prompt_hash: asked
                .compiled
                .and_then(|(_, compiled)| digest(content_policy, compiled.canonical())),
            created_at: self.line.time,
            seq: self.seq,
            model: session.model.clone(),
            decision: asked.decision.to_owned(),
            authority_state: asked.authority_state,
            exclusions: canon::print(&exclusions).map_err(record_error("exclusions"))?,
            params: asked
                .params
                .map(|params| content_policy.params(params).canonical())
                .transpose()
                .map_err(record_error("params"))?,
            salt: content_policy.keeps_openings().then(|| asked.salt.clone()),
            prompt_commitment: self.hash,
            prompt_line: self.line.n,
            not_kept: asked.not_kept(scheme, request.as_deref()),
            request: request.filter(|_| content_policy.keeps_text()),
            outcome: None,
        })
    }
}

/// Writes the prompt line, the user's turn, the exchange and what was injected.
fn ask(
    transaction: &mut LedgerTransaction<'_>,
    session: &mut SessionRow,
    asked: &PromptEntry<'_>,
) -> Result<(TurnIds, ExchangeRow), RecorderError> {
    let prompt = PromptLine::write(transaction, session, asked)?;
    transaction.tx.put(&prompt.user_turn(session, asked))?;
    let row = prompt.exchange(session, asked, transaction.genesis.commitments)?;
    transaction.tx.put(&row)?;
    let refs = asked
        .compiled
        .map_or(&[][..], |(bundle, _)| bundle.refs())
        .iter()
        .enumerate();
    let refs =
        refs.map(|(i, reference)| ref_row(reference, session.id, row.exchange_id, prompt.seq, i));
    transaction
        .tx
        .put_all(&refs.collect::<Result<Vec<_>, _>>()?)?;
    let decided = TurnDecision {
        prompt_digest: digest_of_prompt(asked, &row.model)?,
        ..asked.decided
    };
    let text = asked.content_policy.keeps_text().then_some(asked.text);
    let question = QuestionContext {
        session,
        row: &row,
        text,
        decided: &decided,
        line: prompt.line,
    };
    threads::record_question(transaction, &question)?;
    session.prompts = prompt.seq;
    session.last_at = prompt.line.time;
    let ids = TurnIds {
        session: session.id,
        session_uuid: session.uuid,
        seq: prompt.seq,
        exchange: row.exchange_id,
        prompt_hash: prompt.hash,
        prompt_line: prompt.line.hash,
    };
    Ok((ids, row))
}

/// The digest of what is sent to the model; none when nothing is.
fn digest_of_prompt(
    asked: &PromptEntry<'_>,
    model: &str,
) -> Result<Option<NamedHash>, RecorderError> {
    let sent = asked.compiled.map(|(_, compiled)| compiled.canonical());
    let params = asked
        .params
        .map(Params::canonical)
        .transpose()
        .map_err(record_error("params"))?;
    sent.map(|sent| prompt_digest(sent, model, params.as_deref()))
        .transpose()
        .map_err(threads::digest_error)
}

/// Records a prompt that a model will be called with.
///
/// `acts` are what the text asks to be done.
pub fn prompt(
    transaction: &mut LedgerTransaction<'_>,
    prompts: &Prompts,
    prompt: &Prompt,
    acts: &Acts,
) -> Result<PromptDetails, RecorderError> {
    let mut session = transaction.open_session(prompt.session)?;
    if let Some(anchor) = &prompt.anchor {
        take_anchor(transaction, &mut session, anchor, prompt.now)?;
    }
    let (content_policy, mut numbers) = (settle(transaction, prompt.now)?, prompt.numbers.clone());
    must_put(transaction, session.uuid, &mut numbers)?;
    let asked = PromptEntry {
        text: prompt.text.as_str(),
        decision: "allow",
        authority_state: prompt.authority_state,
        salt: &prompt.salt,
        compiled: Some((&prompt.bundle, &prompt.compiled)),
        params: Some(&prompt.params),
        content_policy,
        decided: TurnDecision {
            context: &prompt.context,
            counts: prompt.counts,
            reasons: &[],
            allowed: true,
            prompt_digest: None,
        },
        now: prompt.now,
    };
    let (ids, _) = ask(transaction, &mut session, &asked)?;
    transaction.move_session(&session)?;
    let mut action_salts = prompt.action_salts.clone();
    let actions = actions::record(
        transaction,
        &ids,
        "prompt",
        acts,
        &mut action_salts,
        prompt.now,
    )?;
    // Before the transaction commits, so that nobody ever sees the prompt as one that nobody waits
    // for.
    let in_flight = prompts.begin(ids.exchange)?;
    Ok(PromptDetails {
        ids,
        model: session.model,
        actions,
        action_salts,
        content_policy,
        numbers,
        in_flight,
    })
}

/// Records a prompt together with why no model gets it.
///
/// `acts` are what the text asks to be done.
pub fn refuse(
    transaction: &mut LedgerTransaction<'_>,
    refused: &RefusedPrompt,
    acts: &Acts,
) -> Result<RecordedRefusal, RecorderError> {
    let mut session = transaction.open_session(refused.session)?;
    if let Some(anchor) = &refused.anchor {
        take_anchor(transaction, &mut session, anchor, refused.now)?;
    }
    let (content_policy, mut numbers) =
        (settle(transaction, refused.now)?, refused.numbers.clone());
    must_put(transaction, session.uuid, &mut numbers)?;
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
        content_policy,
        decided: TurnDecision {
            context: &refused.context,
            counts: refused.counts,
            reasons,
            allowed: decision == "allow",
            prompt_digest: None,
        },
        now: refused.now,
    };
    let (ids, row) = ask(transaction, &mut session, &asked)?;
    let ending = PromptEnding {
        outcome,
        reason: &reason,
        judgement,
        steps: Some(TurnSteps::uncalled(refused.entry)),
    };
    let (exchange_hash, line) = no_answer(
        transaction,
        &mut session,
        (&row, &refused.salt),
        &ending,
        refused.now,
    )?;
    transaction.move_session(&session)?;
    let mut salts = refused.action_salts.clone();
    let actions = actions::record(transaction, &ids, "prompt", acts, &mut salts, refused.now)?;
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
    transaction: &mut LedgerTransaction<'_>,
    prompt: &RecordedPrompt,
    reason: &str,
    now: Seconds,
) -> Result<RecordedFailure, RecorderError> {
    let ids = prompt.ids();
    let mut session = transaction.open_session(ids.session)?;
    let row = transaction
        .tx
        .exchange(ids.exchange)?
        .ok_or(RecorderError::NotOpen {
            session: ids.session,
        })?;
    let (exchange_hash, line) = no_answer(
        transaction,
        &mut session,
        (&row, &prompt.salt),
        &PromptEnding::failed(reason, Some(TurnSteps::unanswered(prompt))),
        now,
    )?;
    transaction.move_session(&session)?;
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
    transaction: &mut LedgerTransaction<'_>,
    prompts: &Prompts,
    session: &mut SessionRow,
    now: Seconds,
) -> Result<(), RecorderError> {
    let unanswered = transaction.tx.in_flight(session.uuid)?;
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
            .unwrap_or_else(|| lost_salt(transaction, row.exchange_id));
        no_answer(
            transaction,
            session,
            (row, &salt),
            &PromptEnding::failed(ABANDONED, None),
            now,
        )?;
    }
    prompts.clear();
    Ok(())
}

fn no_answer(
    transaction: &mut LedgerTransaction<'_>,
    session: &mut SessionRow,
    (row, salt): (&ExchangeRow, &Salt),
    ending: &PromptEnding<'_>,
    now: Seconds,
) -> Result<(Hash32, NewLine), RecorderError> {
    let PromptEnding {
        outcome,
        reason,
        judgement,
        steps,
    } = *ending;
    let answered_at = transaction.line_time(now)?;
    // There is no answer to commit to, and no line: a `drift` line names an answered prompt
    // (format, section 4).
    let drift = judgement
        .map(|found| drift_rows(session, row, found, Hash32::ZERO, answered_at))
        .unwrap_or_default();
    let checks = judgement
        .map(|found| assertion_rows(session, row, found, answered_at))
        .unwrap_or_default();
    let mut update = update_without_answer(ending, answered_at, transaction.head.lines);
    let judged = JudgedRows {
        texts: None,
        drift: &drift,
        checks: &checks,
        steps,
    };
    let (exchange, measures) = exchange_hash(transaction, session, (row, salt), &update, judged)?;
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
    let line = transaction.line_at(
        answered_at,
        session.anchor.block.height,
        Some(session.id),
        event,
    )?;
    transaction.tx.put_outcome(row.exchange_id, &update)?;
    transaction.tx.put_all(measures.as_slice())?;
    put_judgement(transaction, &drift, &checks)?;
    session.last_at = line.time;
    Ok((exchange, line))
}

/// The outcome of a prompt without an answer, without the commitment to the exchange document, which
/// is made from it.
fn update_without_answer(
    ending: &PromptEnding<'_>,
    answered_at: Seconds,
    outcome_line: u64,
) -> OutcomeUpdate {
    OutcomeUpdate {
        outcome: ending.outcome,
        reason: Some(ending.reason.to_owned()),
        turn_aurora: None,
        response_hash: None,
        validator_summary: ending.judgement.map(Judgement::summary_json),
        refusal: None,
        answered_at,
        prompt_tokens: None,
        completion_tokens: None,
        cost: None,
        response_commitment: None,
        exchange_commitment: Hash32::ZERO,
        chain_entry: None,
        aurora_text: None,
        reply: None,
        reply_commitment: None,
        outcome_line,
    }
}

/// An answer with what its rows are made from.
struct AnswerEntry<'a> {
    prompt: &'a RecordedPrompt,
    row: &'a ExchangeRow,
    judged: &'a JudgedReply,
    /// The answer with its placeholders.
    stored: &'a str,
    scheme: Scheme,
    time: Seconds,
    response_hash: Hash32,
    chain_entry: Hash32,
    turn_aurora: Uuid,
}

impl AnswerEntry<'_> {
    /// The outcome, without the commitment to the exchange document, which is made from it;
    /// `beside` is what came beside the answer.
    fn update(&self, beside: Option<String>, outcome_line: u64) -> OutcomeUpdate {
        let (judged, salt) = (self.judged, &self.prompt.salt);
        let content_policy = self.prompt.content_policy;
        OutcomeUpdate {
            outcome: ExchangeOutcome::Answered,
            reason: None,
            turn_aurora: Some(self.turn_aurora),
            response_hash: digest(content_policy, self.stored),
            validator_summary: Some(judged.judgement.summary_json()),
            refusal: Some(judged.judgement.refusal()),
            answered_at: self.time,
            prompt_tokens: judged.usage.prompt_tokens,
            completion_tokens: judged.usage.completion_tokens,
            cost: judged.cost.clone(),
            response_commitment: Some(self.response_hash),
            exchange_commitment: Hash32::ZERO,
            chain_entry: Some(self.chain_entry),
            aurora_text: self
                .row
                .not_kept
                .map(|_| commit(self.scheme, salt, Role::AuroraText, self.stored.as_bytes())),
            reply_commitment: self
                .row
                .not_kept
                .and(beside.as_deref())
                .map(|beside| commit(self.scheme, salt, Role::Reply, beside.as_bytes())),
            reply: beside.filter(|_| content_policy.keeps_text()),
            outcome_line,
        }
    }

    /// All of its rows, with the commitment to the exchange document; nothing of them is written.
    fn rows(
        &self,
        transaction: &LedgerTransaction<'_>,
        session: &SessionRow,
        beside: Option<String>,
    ) -> Result<AnswerRows, RecorderError> {
        let (judgement, salt) = (&self.judged.judgement, &self.prompt.salt);
        let drift = drift_rows(session, self.row, judgement, self.response_hash, self.time);
        let checks = assertion_rows(session, self.row, judgement, self.time);
        let mut update = self.update(beside, transaction.head.lines);
        let outcome = JudgedRows {
            texts: Some(ExchangeTexts {
                aurora: self.stored,
                compiled: self.prompt.compiled.canonical(),
            }),
            drift: &drift,
            checks: &checks,
            steps: Some(TurnSteps::answered(self.prompt, self.judged)),
        };
        let (exchange, measures) =
            exchange_hash(transaction, session, (self.row, salt), &update, outcome)?;
        update.exchange_commitment = exchange;
        Ok(AnswerRows {
            update,
            turn: self.turn(session, &drift),
            drift,
            checks,
            measures,
        })
    }

    /// The model's turn.
    fn turn(&self, session: &SessionRow, drift: &[DriftRow]) -> TurnRow {
        let content_policy = self.prompt.content_policy;
        TurnRow {
            turn_id: self.turn_aurora,
            line: self.row.prompt_line,
            session: session.uuid,
            created_at: self.time,
            by_user: false,
            content: content_policy.keeps_text().then(|| self.stored.to_owned()),
            content_hash: digest(content_policy, self.stored),
            refusal: self.judged.judgement.refusal(),
            authority_state: self.row.authority_state,
            driftwatch_id: drift.first().map(|d| d.drift_id.clone()),
        }
    }
}

/// What is stored of an answer.
struct AnswerRows {
    update: OutcomeUpdate,
    turn: TurnRow,
    drift: Vec<DriftRow>,
    checks: Vec<AssertionRow>,
    measures: Option<MeasureRow>,
}

/// Records an answer: turn, outcome, `response` line, drift lines, interaction commit, and the acts
/// it proposes.
pub fn answer(
    transaction: &mut LedgerTransaction<'_>,
    prompt: &RecordedPrompt,
    judged: &JudgedReply,
    mut acts: Acts,
    now: Seconds,
) -> Result<AnswerDetails, RecorderError> {
    let mut session = transaction.open_session(prompt.ids.session)?;
    let row = transaction
        .tx
        .exchange(prompt.ids.exchange)?
        .ok_or(RecorderError::NotOpen {
            session: session.id,
        })?;
    let scheme = transaction.genesis.commitments;
    let time = transaction.line_time(now)?;
    let again = number(transaction, session.uuid, judged)?;
    if let Some(again) = &again {
        acts = proposed(again.text.clean.as_str());
    }
    let stored_reply = again.as_ref().unwrap_or(&judged.stored);
    let beside = stored_reply.beside.as_ref().map(ReplyDoc::canonical);
    let beside = beside.transpose().map_err(record_error("the reply"))?;
    let response_hash = commit(scheme, &prompt.salt, Role::Response, judged.text.as_bytes());
    let chain_entry = chain::chain_entry(
        session.chain_head,
        row.prompt_commitment,
        response_hash,
        time,
    );
    let stored = stored_reply.text.clean.as_str();
    let entry = AnswerEntry {
        prompt,
        row: &row,
        judged,
        stored,
        scheme,
        time,
        response_hash,
        chain_entry,
        turn_aurora: row_id("turn_aurora", session.id, row.seq),
    };
    let kept = prompt.content_policy.keeps_text().then_some(stored);
    threads::answered(transaction, &row, entry.turn_aurora, kept, time)?;
    let rows = entry.rows(transaction, &session, beside)?;
    transaction.tx.put(&rows.turn)?;
    let (line, commit) = interaction(
        transaction,
        &mut session,
        &row,
        &rows.update,
        judged,
        chain_entry,
    )?;
    transaction.tx.put_outcome(row.exchange_id, &rows.update)?;
    transaction.tx.put_all(rows.measures.as_slice())?;
    put_judgement(transaction, &rows.drift, &rows.checks)?;
    let drift_ids = drift_lines(transaction, &session, &rows.drift, row.seq, time)?;
    transaction.move_session(&session)?;
    let mut salts = prompt.action_salts.clone();
    let actions = actions::record(transaction, &prompt.ids, "reply", &acts, &mut salts, now)?;
    Ok(AnswerDetails {
        ids: prompt.ids.clone(),
        response_hash,
        exchange_hash: rows.update.exchange_commitment,
        chain_entry,
        response_line: line.hash,
        commit,
        drift_ids,
        actions,
        redacted: [&stored_reply.removed[..], &judged.without[..]].concat(),
        session,
    })
}
