//! One turn, top to bottom (AEGIS 10.2).

pub mod recall;
pub mod refer;

use std::collections::BTreeMap;
use std::pin::pin;

use futures_util::future::{Either, select};

use crate::continuity::compile::{CompileFault, Inputs, compile};
use crate::continuity::declared::TurnContext;
use crate::continuity::prompt::render;
use crate::govern::authority::{Decision, Normative, decide};
use crate::govern::kernel::Kernel;
use crate::govern::sanitize::{Clean, Finding, Redaction, redact};
use crate::govern::validate::silent_tool;
use crate::models::{Model, ModelFault};
use crate::record::bundle::{ArtifactRef, SightEntry};
use crate::record::commitment::Salt;
use crate::record::context::turn::Counts;
use crate::record::documents::AuthorityState;
use crate::record::hash::Hash32;
use crate::record::time::Seconds;
use crate::recorder::{
    Action, Prompt, RecordedAnswer, RecordedFailure, RecordedPrompt, RecordedRefusal, RecorderError, Refusal,
    RefusedPrompt,
};
use crate::session::{House, Resumed, resume_or_open};
use crate::store::StoreError;

use recall::{Declared, recall};
use refer::{Standing, count, refer};

/// How a turn ended; each ending is on record.
#[derive(Debug)]
pub enum Turn {
    /// With an answer; whether it may be shown is in its judgement.
    Answered(Box<RecordedAnswer>),
    /// Policy denied it, its references could not be resolved, or no bundle could be compiled; no model was called.
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
    /// What was declared, and what that came to.
    pub referred: TurnContext,
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
    /// Where it stands.
    pub standing: Standing,
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
pub struct Seen {
    /// What each tool showed.
    pub sight: BTreeMap<String, SightEntry>,
    /// Fresh randomness.
    pub salt: Salt,
    /// Fresh randomness for actuation intents: twice `actuation::MAX_ACTS`.
    pub action_salts: Vec<Salt>,
}

/// Asks: resume, redact, refer, decide, recall, compile, render, record, call, judge, record.
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
    let Redaction { clean: text, found: removed } = redact(question.text);
    let own = model.system().map(|text| redact(text.trim()).clean);
    let resuming = unless_given_up(patience, Waiting::Block, resume_or_open(house, auth_key_hash)).await;
    let resumed = resuming.ok_or(AskError::Interrupted)?.map_err(AskError::Prompt)?;
    let session = resumed.session.clone();
    let Seen { sight, salt, action_salts } = gather();
    let now = house.now();
    let looking = |e: StoreError| AskError::Prompt(e.into());
    let rules = (house.kernel, house.context);
    let referred = refer(house.store, rules, Some(&session), question.standing, question.declared).map_err(looking)?;
    let context = referred.context.clone();
    let counts = count(house.store, house.kernel, &context, now).map_err(looking)?;
    let told = Told { resumed, removed, referred: context.clone(), salts: (salt, action_salts), counts, now };
    let authority_state = match decided(house.kernel, &text, model.id(), &context, counts) {
        Ok(state) => state,
        Err(Denial { refusal, authority_state }) => {
            return refuse(house, told, text, refusal, authority_state, None).await;
        }
    };
    let recalled = recall(house.store, house.kernel, Some(session.uuid), &text, &referred, question.declared.deep);
    let recalled = recalled.map_err(looking)?;
    let bundle = match compile(&Inputs {
        session_id: session.uuid,
        user_input: &text,
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
            return refuse(house, told, text, refusal, authority_state, Some(fault)).await;
        }
    };
    let injected = bundle.refs().to_vec();
    let compiled = render(house.kernel, &bundle, own.as_ref(), &text);
    let params = model.params(own.as_ref().map(Clean::as_str));
    let Told { resumed, removed, referred, salts: (salt, action_salts), .. } = told;
    let prompt = Prompt {
        session: session.id,
        text,
        bundle,
        compiled,
        params,
        context,
        counts,
        authority_state,
        salt,
        action_salts,
        anchor: resumed.seen.clone(),
        now,
    };
    let prompt = house.recorder.prompt(prompt).await.map_err(AskError::Prompt)?;
    let mut actions = prompt.actions().to_vec();
    let turn = call(house, model, prompt, &mut actions, patience).await?;
    Ok(Asked { turn, resumed, removed, actions, context: injected, referred })
}

/// What a turn is told with, however it ends.
struct Told {
    resumed: Resumed,
    removed: Vec<Finding>,
    referred: TurnContext,
    salts: (Salt, Vec<Salt>),
    counts: Counts,
    now: Seconds,
}

/// Why no model may be asked.
struct Denial {
    refusal: Refusal,
    authority_state: AuthorityState,
}

/// Decides on INTENTs alone; references that could not be resolved are denied without asking policy.
fn decided(
    kernel: &Kernel,
    text: &Clean,
    model: &str,
    context: &TurnContext,
    counts: Counts,
) -> Result<AuthorityState, Denial> {
    if let Err(fault) = context.resolved() {
        let refusal = Refusal::Denied { reason: fault.reason().to_owned(), codes: vec![fault.code().to_owned()] };
        return Err(Denial { refusal, authority_state: AuthorityState::Blocked });
    }
    match decide(kernel, &Normative { prompt: text, model, counts, intents: context.intents() }) {
        Decision::Allow { authority_state } => Ok(authority_state),
        Decision::Deny { reasons, authority_state } => {
            let reason = reasons.first().cloned().unwrap_or_default();
            Err(Denial { refusal: Refusal::Denied { reason, codes: reasons }, authority_state })
        }
    }
}

/// Records a prompt that goes no further.
async fn refuse(
    house: &House<'_>,
    told: Told,
    text: Clean,
    refusal: Refusal,
    authority_state: AuthorityState,
    fault: Option<CompileFault>,
) -> Result<Asked, AskError> {
    let Told { resumed, removed, referred, salts: (salt, action_salts), counts, now } = told;
    let refused = RefusedPrompt {
        session: resumed.session.id,
        text,
        refusal,
        context: referred.clone(),
        counts,
        authority_state,
        salt,
        action_salts,
        anchor: resumed.seen.clone(),
        now,
    };
    let on_record = house.recorder.refuse(refused).await.map_err(AskError::Prompt)?;
    let actions = on_record.actions.clone();
    Ok(Asked { turn: Turn::Refused(on_record, fault), resumed, removed, actions, context: Vec::new(), referred })
}

/// Calls the model with what is on record, and records how that ends.
async fn call(
    house: &House<'_>,
    model: &Model,
    prompt: RecordedPrompt,
    actions: &mut Vec<Action>,
    patience: &impl Patience,
) -> Result<Turn, AskError> {
    Ok(match unless_given_up(patience, Waiting::Model, model.invoke(&prompt)).await {
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
    })
}
