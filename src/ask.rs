//! One turn, top to bottom (AEGIS 10.2).

pub mod recall;

use std::collections::BTreeMap;
use std::pin::pin;

use futures_util::future::{Either, select};

use crate::continuity::compile::{CompileFault, Inputs, compile};
use crate::continuity::prompt::render;
use crate::govern::authority::{Decision, Normative, decide};
use crate::govern::sanitize::{Clean, Finding, Placeholders, Redaction, redact_with};
use crate::govern::validate::silent_tool;
use crate::models::{Model, ModelFault};
use crate::record::bundle::{ArtifactRef, SightEntry};
use crate::record::commitment::Salt;
use crate::record::documents::AuthorityState;
use crate::record::hash::Hash32;
use crate::recorder::{
    Action, Prompt, RecordedAnswer, RecordedFailure, RecordedPrompt, RecordedRefusal, RecorderError, Refusal,
    RefusedPrompt,
};
use crate::session::{House, Resumed, resume_or_open};
use crate::store::SessionRow;

use recall::{Declared, recall};

/// How a turn ended; each ending is on record.
#[derive(Debug)]
pub enum Turn {
    /// With an answer; whether it may be shown is in its judgement.
    Answered(Box<RecordedAnswer>),
    /// Policy denied it, or no bundle could be compiled; no model was called.
    Refused(RecordedRefusal, Option<CompileFault>),
    /// The model gave no answer.
    Failed(RecordedFailure, ModelFault),
    /// Whoever asked gave up while the model was thinking.
    Interrupted(RecordedFailure),
}

/// The reason on record of a turn that was given up.
pub const INTERRUPTED: &str = "interrupted";

/// What a turn waits for, outside of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// A block source; nothing is on record.
    Block,
    /// The model; the prompt is on record.
    Model,
}

/// Whoever asked, while a turn waits.
pub trait Patience {
    /// Ends when they give up; polled only while the turn waits, dropped when it goes on.
    fn while_waiting(&self, what: Waiting) -> impl Future<Output = ()>;
}

/// Never gives up.
pub struct Endless;

impl Patience for Endless {
    async fn while_waiting(&self, _what: Waiting) {
        std::future::pending().await
    }
}

/// What was waited for; none when whoever asked gave up first.
async fn unless_given_up<T>(patience: &impl Patience, what: Waiting, work: impl Future<Output = T>) -> Option<T> {
    // Giving up comes first: a signal that came before the call means that there is no call.
    match select(pin!(patience.while_waiting(what)), pin!(work)).await {
        Either::Left(((), _)) => None,
        Either::Right((done, _)) => Some(done),
    }
}

/// A turn with what a person is told beside it.
#[derive(Debug)]
pub struct Asked {
    /// How it ended.
    pub turn: Turn,
    /// The session, and whether it was opened for this turn.
    pub resumed: Resumed,
    /// Secrets that were removed from the prompt before anything else saw it.
    pub removed: Vec<Finding>,
    /// What was put before the model, and why; nothing when none was to be called.
    pub context: Vec<ArtifactRef>,
    /// What somebody wanted to have done: on record, awaiting approval, done by nobody.
    pub actions: Vec<Action>,
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// As it was typed.
    pub text: &'a str,
    /// What is declared as its context.
    pub declared: &'a Declared,
}

/// What a turn can't go on without.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The prompt could not be recorded: no model was called.
    #[error("{0}")]
    Prompt(RecorderError),
    /// Whoever asked gave up before the prompt was recorded.
    #[error("interrupted before the prompt was recorded: no model was called")]
    Interrupted,
    /// The outcome could not be recorded: it is withheld.
    #[error("{0}")]
    Outcome(RecorderError),
}

/// What is looked at for a turn, beside the block: taken once, before anything is decided.
#[derive(Clone)]
pub struct Seen {
    /// What each tool showed.
    pub sight: BTreeMap<String, SightEntry>,
    /// Fresh randomness.
    pub salt: Salt,
    /// Fresh randomness for actuation intents: twice `actuation::MAX_ACTS`.
    pub action_salts: Vec<Salt>,
}

/// So many times a text is redacted again because other turns of the session named secrets meanwhile.
const ATTEMPTS: u32 = 16;

/// Asks: resume, redact, decide, recall, compile, render, record, call, judge, record.
///
/// `gather` takes the turn's observations. The answer that comes back is durable in the database and
/// written to git and log. An error means that nothing may be shown. When `patience` ends before the prompt
/// is recorded, nothing of it is; when it ends while the model thinks, that is on record as the outcome.
pub async fn ask(
    house: &House<'_>,
    auth_key_hash: Hash32,
    model: &Model,
    question: Question<'_>,
    gather: impl FnOnce() -> Seen,
    patience: &impl Patience,
) -> Result<Asked, AskError> {
    let resuming = unless_given_up(patience, Waiting::Block, resume_or_open(house, auth_key_hash)).await;
    let resumed = resuming.ok_or(AskError::Interrupted)?.map_err(AskError::Prompt)?;
    let seen = gather();
    let mut attempt = 1;
    let (clean, recorded) = loop {
        let clean = Cleaned::of(house, &resumed.session, model, question.text).map_err(AskError::Prompt)?;
        match record(house, &resumed, model, &question, &clean, seen.clone()).await {
            // Another turn of this session named a secret between the look and the record: nothing is on record.
            Err(RecorderError::NumbersTaken) if attempt < ATTEMPTS => attempt += 1,
            done => break (clean, done.map_err(AskError::Prompt)?),
        }
    };
    let removed = clean.removed;
    let (prompt, context) = match recorded {
        Begun::Recorded(prompt, context) => (*prompt, context),
        Begun::Refused(on_record, fault) => {
            let actions = on_record.actions.clone();
            return Ok(Asked {
                turn: Turn::Refused(*on_record, fault),
                resumed,
                removed,
                actions,
                context: Vec::new(),
            });
        }
    };
    let mut actions = prompt.actions().to_vec();
    let turn = match unless_given_up(patience, Waiting::Model, model.invoke(&prompt)).await {
        None => {
            let reason = INTERRUPTED.to_owned();
            let failure = house.recorder.fail(prompt, reason, house.now()).await.map_err(AskError::Outcome)?;
            Turn::Interrupted(failure)
        }
        Some(Ok(reply)) => {
            let judged = reply.judge(house.kernel, &prompt);
            let answer = house.recorder.answer(prompt, judged, house.now()).await.map_err(AskError::Outcome)?;
            actions.extend(answer.actions.iter().cloned());
            Turn::Answered(Box::new(answer))
        }
        Some(Err(fault)) => {
            let reason = fault.reason().into_owned();
            let failure = house.recorder.fail(prompt, reason, house.now()).await.map_err(AskError::Outcome)?;
            Turn::Failed(failure, fault)
        }
    };
    Ok(Asked { turn, resumed, removed, actions, context })
}

/// What goes to the model and on record, without its secrets, under the session's numbers.
struct Cleaned {
    text: Clean,
    /// The owner's part of the system message.
    own: Option<Clean>,
    removed: Vec<Finding>,
    numbers: Placeholders,
}

impl Cleaned {
    fn of(house: &House<'_>, session: &SessionRow, model: &Model, text: &str) -> Result<Cleaned, RecorderError> {
        let mut numbers = house.recorder.numbers(house.store, session.uuid)?;
        let Redaction { clean: text, found: removed } = redact_with(text, &mut numbers);
        let own = model.system().map(|text| redact_with(text.trim(), &mut numbers).clean);
        Ok(Cleaned { text, own, removed, numbers })
    }
}

/// A prompt on record.
enum Begun {
    /// For a model, with what it is shown.
    Recorded(Box<RecordedPrompt>, Vec<ArtifactRef>),
    /// For nobody.
    Refused(Box<RecordedRefusal>, Option<CompileFault>),
}

/// Decides, recalls, compiles, and records what came of it.
async fn record(
    house: &House<'_>,
    resumed: &Resumed,
    model: &Model,
    question: &Question<'_>,
    clean: &Cleaned,
    seen: Seen,
) -> Result<Begun, RecorderError> {
    let (session, now) = (&resumed.session, house.now());
    let Seen { sight, salt, action_salts } = seen;
    let normative = Normative { prompt: &clean.text, model: model.id(), earlier_turns: session.prompts };
    let refuse = |refusal, authority_state: AuthorityState, salt, action_salts| {
        let (text, numbers, anchor) = (clean.text.clone(), clean.numbers.clone(), resumed.seen.clone());
        let session = session.id;
        let refused =
            RefusedPrompt { session, text, refusal, authority_state, salt, action_salts, numbers, anchor, now };
        house.recorder.refuse(refused)
    };
    let authority_state = match decide(house.kernel, &normative) {
        Decision::Allow { authority_state } => authority_state,
        Decision::Deny { reason, authority_state } => {
            let refusal = Refusal::Denied { reason: reason.to_owned() };
            let on_record = refuse(refusal, authority_state, salt, action_salts).await?;
            return Ok(Begun::Refused(Box::new(on_record), None));
        }
    };
    let recalled = recall(house.store, house.kernel, Some(session.uuid), &clean.text, question.declared)?;
    let bundle = match compile(&Inputs {
        session_id: session.uuid,
        user_input: &clean.text,
        kernel: house.kernel,
        host_role: &session.host_role,
        model_id: model.id(),
        now,
        sight,
        recalled: &recalled,
    }) {
        Ok(bundle) => bundle,
        Err(fault) => {
            // Sight that is declared and silent is drift before any model is called (AEGIS 7.2).
            let silent = matches!(fault, CompileFault::SightWithoutValues { .. });
            let judgement = silent.then(|| silent_tool(house.kernel));
            let refusal = Refusal::CompileFailed { reason: fault.code().to_owned(), judgement };
            let on_record = refuse(refusal, authority_state, salt, action_salts).await?;
            return Ok(Begun::Refused(Box::new(on_record), Some(fault)));
        }
    };
    let context = bundle.refs().to_vec();
    let compiled = render(house.kernel, &bundle, clean.own.as_ref(), &clean.text);
    let params = model.params(clean.own.as_ref().map(Clean::as_str));
    let prompt = Prompt {
        session: session.id,
        text: clean.text.clone(),
        bundle,
        compiled,
        params,
        authority_state,
        salt,
        action_salts,
        numbers: clean.numbers.clone(),
        anchor: resumed.seen.clone(),
        now,
    };
    Ok(Begun::Recorded(Box::new(house.recorder.prompt(prompt).await?), context))
}
