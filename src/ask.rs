//! One turn, top to bottom (AEGIS 10.2).

pub mod conversation;
pub mod draft;
pub mod provider_change;
pub mod recall;
pub mod refer;
mod referred_rows;
pub mod sight_sent;
pub mod stored_text;
pub mod window;
pub mod withheld;

use std::collections::BTreeMap;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::continuity::brought::{CleanRequest, SecretFault};
use crate::continuity::compile::{CompileFault, ContextBundle};
use crate::continuity::declared::{TurnContext, TurnPlace};
use crate::continuity::prompt::PromptTokens;
use crate::govern::sanitize::{
    Clean, Placeholders, Redaction, SecretFinding, redact_with, without,
};
use crate::models::{Model, ModelFault};
use crate::record::attached::line_ends;
use crate::record::exchange::ExchangeOutcome;
use crate::record::hash::Hash32;
use crate::record::ledger::bundle::{ArtifactRef, SightEntry};
use crate::record::ledger::client_request::ClientRequest;
use crate::record::ledger::commitment::Salt;
use crate::record::time::Seconds;
use crate::recorder::{
    Action, Prompt, QuestionOrigin, RecordedAnswer, RecordedFailure, RecordedPrompt,
    RecordedRefusal, RecorderError, Refusal, RefusedPrompt, TurnEntry,
};
use crate::session::{ActiveSession, TurnEnvironment, resume_or_open};
use crate::store::SessionRow;

use draft::{Denial, DraftInput, PromptDraft, PromptPlan, ReferredQuestion};
use provider_change::ProviderChange;
use recall::DeclaredContext;
use refer::{CHANGED, ChangedEvent, ThreadPosition};
use stored_text::changed_words;

/// How a turn ended; each ending is on record.
#[derive(Debug)]
pub enum TurnEnd {
    /// With an answer; whether it may be shown is in its judgement.
    Answered(Box<RecordedAnswer>),
    /// Policy denied it, its references could not be resolved, or no bundle could be compiled; no
    /// model was called.
    Refused(RecordedRefusal, Option<CompileFault>),
    /// The model gave no answer.
    Failed(RecordedFailure, ModelFault),
    /// Whoever asked gave up while the model was thinking.
    Interrupted(RecordedFailure),
}

impl TurnEnd {
    /// As it is on record.
    pub const fn outcome(&self) -> ExchangeOutcome {
        match self {
            TurnEnd::Answered(_) => ExchangeOutcome::Answered,
            TurnEnd::Refused(refusal, _) => match refusal.refusal {
                Refusal::Denied { .. } => ExchangeOutcome::Denied,
                Refusal::CompileFailed { .. } => ExchangeOutcome::Failed,
            },
            TurnEnd::Failed(..) | TurnEnd::Interrupted(_) => ExchangeOutcome::Failed,
        }
    }
}

/// The reason on record of a turn that was given up.
pub const INTERRUPTED: &str = "interrupted";

/// Whoever asks, while their turn goes on.
#[derive(Clone, Debug, Default)]
pub struct TurnControl {
    /// Cancelled when they give up: what is waited for outside of this machine is waited for no
    /// longer.
    pub cancelled: CancellationToken,
    /// True while the model thinks.
    pub thinking: watch::Sender<bool>,
    /// Whether somebody watches how much of the answer has come.
    pub is_watched: bool,
    /// How many characters have come, where that is known; nothing of what they say.
    pub came: watch::Sender<u64>,
}

/// A turn with what a person is told beside it.
#[derive(Debug)]
pub struct TurnResult {
    /// How it ended.
    pub turn: TurnEnd,
    /// The session, and whether it was opened for this turn.
    pub resumed: ActiveSession,
    /// Secrets that were removed from the prompt, and from the owner's part of the system message,
    /// before anything else saw them.
    pub removed: Vec<TakenSecret>,
    /// What was put before the model, and why; nothing when none was to be called.
    pub context: Vec<ArtifactRef>,
    /// What was declared, and what that came to.
    pub referred: TurnContext,
    /// How many of the last turns were not declared, as `context.json` allows no more references.
    pub unfit: u64,
    /// What was declared and is shown to nobody, as its text is not the one on record.
    pub changed: Vec<ChangedEvent>,
    /// How many questions were asked in its thread before.
    pub earlier: u64,
    /// About how long the prompt is; none when no model was to be called.
    pub tokens: Option<PromptTokens>,
    /// What somebody wanted to have done: on record, awaiting approval, done by nobody.
    pub actions: Vec<Action>,
}

/// A secret that was removed before anything else saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenSecret {
    /// What it is: `aws-access-key`.
    pub kind: String,
    /// Where it stood.
    pub place: TakenFrom,
}

/// Where a secret stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakenFrom {
    /// In the text of a question, on this line, from zero.
    Line(usize),
    /// In what a client brought beside it.
    Messages,
    /// In the owner's part of the system message.
    System,
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// As it was typed.
    pub text: &'a str,
    /// Secrets in it, by place, that are known by something beside it: the name of a file.
    pub marked: &'a [SecretFinding],
    /// What is declared as its context.
    pub declared: &'a DeclaredContext,
    /// Where it stands.
    pub standing: ThreadPosition,
    /// What a client brought beside it, in its own words.
    pub client: Option<&'a ClientRequest>,
    /// Where it came in, and who is asked why.
    pub origin: QuestionOrigin,
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
pub struct Observations {
    /// What each tool showed.
    pub sight: BTreeMap<String, SightEntry>,
    /// 32 fresh random bytes, from which the salts of this exchange are derived.
    pub salt: Salt,
    /// Fresh randomness for actuation intents: twice `actuation::MAX_ACTS`.
    pub action_salts: Vec<Salt>,
}

/// So many times a text is redacted again because other turns of the session named secrets
/// meanwhile.
const ATTEMPTS: u32 = 16;

/// Asks: resume, redact, refer, decide, recall, compile, render, record, call, judge, record.
///
/// `gather` takes the turn's observations. The answer that comes back is durable in the database
/// and written to git and log. An error means that nothing may be shown. When it is cancelled before
/// the prompt is recorded, nothing of it is; when that happens while the model thinks, it is on
/// record as the outcome.
pub async fn ask(
    environment: &TurnEnvironment<'_>,
    auth_key_hash: Hash32,
    model: &Model,
    question: Question<'_>,
    gather: impl FnOnce() -> Observations,
    control: &TurnControl,
) -> Result<TurnResult, AskError> {
    let begun = (environment.stopwatch)();
    let resuming = resume_or_open(environment, auth_key_hash);
    let resuming = control.cancelled.run_until_cancelled(resuming);
    let resumed = resuming.await.ok_or(AskError::Interrupted)?;
    let resumed = resumed.map_err(AskError::Prompt)?;
    let seen = gather();
    let (mut attempt, mut room) = (1, None);
    let (clean, on_record) = loop {
        let clean = RedactedQuestion::of(environment, &resumed.session, model, &question)?;
        let asking = PromptInput {
            model,
            question: &question,
            clean: &clean,
            room,
            control,
            begun,
        };
        match record(environment, &resumed, asking, seen.clone()).await {
            // Another turn of this session named a secret between the look and the record: nothing
            // is on record.
            Err(RecorderError::PlaceholdersChanged) if attempt < ATTEMPTS => attempt += 1,
            Ok(PromptRecording::TooLong { room: less }) => room = Some(less),
            Ok(PromptRecording::Interrupted) => return Err(AskError::Interrupted),
            Ok(PromptRecording::Done(on_record)) => break (clean, *on_record),
            Err(error) => return Err(AskError::Prompt(error)),
        }
    };
    let (
        removed,
        PromptOnRecord {
            outcome,
            referred,
            unfit,
            changed,
            earlier,
        },
    ) = (clean.removed, on_record);
    let (prompt, injected) = match outcome {
        Ok((prompt, injected)) => (*prompt, injected),
        Err((on_record, fault)) => {
            let actions = on_record.actions.clone();
            let turn = TurnEnd::Refused(*on_record, fault);
            return Ok(TurnResult {
                turn,
                resumed,
                removed,
                actions,
                context: Vec::new(),
                referred,
                unfit,
                changed,
                earlier,
                tokens: None,
            });
        }
    };
    let mut actions = prompt.actions().to_vec();
    let tokens = Some(prompt.compiled().tokens());
    if let Some(notice) = sight_sent::notice(model, &injected) {
        (environment.say)(&notice);
    }
    (environment.declared)(&referred);
    let turn = call(environment, model, prompt, &mut actions, control).await?;
    Ok(TurnResult {
        turn,
        resumed,
        removed,
        actions,
        context: injected,
        referred,
        unfit,
        changed,
        earlier,
        tokens,
    })
}

/// Calls the model with what is on record, and records how that ends.
async fn call(
    environment: &TurnEnvironment<'_>,
    model: &Model,
    prompt: RecordedPrompt,
    actions: &mut Vec<Action>,
    control: &TurnControl,
) -> Result<TurnEnd, AskError> {
    control.thinking.send_replace(true);
    let came = |characters| {
        control.came.send_replace(characters);
    };
    let watcher: Option<&(dyn Fn(u64) + Sync)> = match control.is_watched {
        true => Some(&came),
        false => None,
    };
    let thinking = model.invoke_watched(&prompt, watcher);
    let reply = control.cancelled.run_until_cancelled(thinking).await;
    control.thinking.send_replace(false);
    Ok(match reply {
        None => {
            let reason = INTERRUPTED.to_owned();
            let failure = environment
                .recorder
                .fail(prompt, reason, environment.now())
                .await
                .map_err(AskError::Outcome)?;
            TurnEnd::Interrupted(failure)
        }
        Some(Ok(reply)) => {
            let begun = (environment.stopwatch)();
            let judged = reply.judge(environment.kernel, &prompt);
            let judged = judged.within((environment.stopwatch)().saturating_sub(begun));
            let answer = environment
                .recorder
                .answer(prompt, judged, environment.now())
                .await
                .map_err(AskError::Outcome)?;
            actions.extend(answer.actions.iter().cloned());
            TurnEnd::Answered(Box::new(answer))
        }
        Some(Err(fault)) => {
            let reason = fault.reason().into_owned();
            let failure = environment
                .recorder
                .fail(prompt, reason, environment.now())
                .await
                .map_err(AskError::Outcome)?;
            TurnEnd::Failed(failure, fault)
        }
    })
}

/// A client's request that can't be recorded.
fn record_error(why: SecretFault) -> AskError {
    AskError::Prompt(RecorderError::Unrecordable {
        what: "the client's request",
        reason: why.to_string(),
    })
}

/// What goes to the model and on record, without its secrets, under the session's numbers.
struct RedactedQuestion {
    text: Clean,
    /// The owner's part of the system message.
    own: Option<Clean>,
    /// What a client brought.
    client: Option<CleanRequest>,
    removed: Vec<TakenSecret>,
    numbers: Placeholders,
}

/// Secrets by their lines in a text. What stands in the place of one ends no line.
fn taken_from<'a>(
    text: &'a str,
    found: &'a [SecretFinding],
) -> impl Iterator<Item = TakenSecret> + 'a {
    let (mut line, mut done) = (0, 0);
    found.iter().map(move |one| {
        let between = text.get(done..one.start).unwrap_or_default();
        line += line_ends(between);
        done = one.start.max(done);
        TakenSecret {
            kind: one.kind.clone(),
            place: TakenFrom::Line(line),
        }
    })
}

impl RedactedQuestion {
    fn of(
        environment: &TurnEnvironment<'_>,
        session: &SessionRow,
        model: &Model,
        question: &Question<'_>,
    ) -> Result<RedactedQuestion, AskError> {
        let numbers = environment
            .recorder
            .placeholders(environment.store, session.uuid);
        let mut numbers = numbers.map_err(AskError::Prompt)?;
        let mut removed: Vec<_> = taken_from(question.text, question.marked).collect();
        let taken = |found: Vec<SecretFinding>, place| {
            let one = move |one: SecretFinding| TakenSecret {
                kind: one.kind,
                place,
            };
            found.into_iter().map(one)
        };
        let given = without(question.text, question.marked, &mut numbers);
        // What stays by the home's own list is said by the list's digest on record.
        let Redaction {
            clean: text,
            found,
            allowed: _,
        } = redact_with(&given, &mut numbers);
        let client = match question.client {
            None => None,
            Some(client) => {
                let brought = CleanRequest::of(client, (&given, &found), &mut numbers);
                let (client, more) = brought.map_err(record_error)?;
                removed.extend(taken(more, TakenFrom::Messages));
                Some(client)
            }
        };
        removed.extend(taken_from(&given, &found));
        let own = model
            .system()
            .map(|text| redact_with(text.trim(), &mut numbers))
            .map(|own| {
                removed.extend(taken(own.found, TakenFrom::System));
                own.clean
            });
        Ok(RedactedQuestion {
            text,
            own,
            client,
            removed,
            numbers,
        })
    }
}

/// A prompt that goes to a model, and what that is shown.
type PromptToSend = (Box<RecordedPrompt>, Vec<ArtifactRef>);
/// One that goes to nobody.
type PromptToRefuse = (Box<RecordedRefusal>, Option<CompileFault>);

/// What is to be recorded.
#[derive(Clone, Copy)]
struct PromptInput<'a> {
    model: &'a Model,
    question: &'a Question<'a>,
    clean: &'a RedactedQuestion,
    /// What the model's window leaves for earlier turns, where that is known to be too little.
    room: Option<u64>,
    /// Whoever asks.
    control: &'a TurnControl,
    /// When the turn began, by the stopwatch.
    begun: u64,
}

/// How recording went.
enum PromptRecording {
    /// It is on record.
    Done(Box<PromptOnRecord>),
    /// Nothing is: earlier turns may have no more than so many tokens.
    TooLong {
        /// Tokens that the model's window has for the prompt.
        room: u64,
    },
    /// Nothing is: whoever asked gave up.
    Interrupted,
}

/// A prompt on record, and what it declared.
struct PromptOnRecord {
    outcome: Result<PromptToSend, PromptToRefuse>,
    referred: TurnContext,
    unfit: u64,
    changed: Vec<ChangedEvent>,
    earlier: u64,
}

/// A question on its way to the record.
struct QuestionToRecord<'a> {
    environment: &'a TurnEnvironment<'a>,
    resumed: &'a ActiveSession,
    input: PromptInput<'a>,
    question: ReferredQuestion<'a>,
    /// How many questions were asked in the conversation before.
    earlier: u64,
    now: Seconds,
}

/// Refers, decides, recalls, compiles, and records what came of it.
async fn record(
    environment: &TurnEnvironment<'_>,
    resumed: &ActiveSession,
    asking: PromptInput<'_>,
    mut seen: Observations,
) -> Result<PromptRecording, RecorderError> {
    let recording = QuestionToRecord::of(environment, resumed, asking)?;
    let question = &recording.question;
    let moved = ProviderChange::of(environment.store, asking.model, &question.referred)?;
    let sight = std::mem::take(&mut seen.sight);
    let draft = match question.draft(sight)? {
        Ok(draft) => draft,
        Err(denial) => return recording.refuse(denial, seen).await,
    };
    // A model's server is asked nothing before policy has allowed the question.
    let looking = asking.model.look_at_window();
    let looking = asking.control.cancelled.run_until_cancelled(looking);
    if looking.await.is_none() {
        return Ok(PromptRecording::Interrupted);
    }
    match question.plan(draft) {
        PromptPlan::TooLong { room } => Ok(PromptRecording::TooLong { room }),
        PromptPlan::Refuse(denial) => recording.refuse(denial, seen).await,
        PromptPlan::Send(draft) => {
            let changed = changed_items(&draft.bundle);
            let recorded = recording.send(*draft, seen).await?;
            if let Some(moved) = moved {
                (environment.say)(&moved.sentence());
            }
            if !changed.is_empty() {
                (environment.say)(&format!("not shown: {}", changed_words(&changed)));
            }
            Ok(recorded)
        }
    }
}

/// Facts and the like that were kept out, as they are not what was recorded.
fn changed_items(bundle: &ContextBundle) -> Vec<String> {
    let kept = bundle.exclusions().iter();
    // Changed turns are named by themselves.
    let is_item = |id: &str| id.contains(':') && !id.starts_with("turn:");
    let kept = kept.filter(|kept| kept.reason == CHANGED && is_item(&kept.artifact));
    kept.map(|kept| kept.artifact.clone()).collect()
}

impl<'a> QuestionToRecord<'a> {
    fn of(
        environment: &'a TurnEnvironment<'a>,
        resumed: &'a ActiveSession,
        input: PromptInput<'a>,
    ) -> Result<QuestionToRecord<'a>, RecorderError> {
        let (store, now) = (environment.store, environment.now());
        let standing = input.question.standing;
        let thread = match standing.thread {
            Some(thread) => thread,
            None => conversation::thread_of(store, resumed)?,
        };
        let question = ReferredQuestion::of(DraftInput {
            store,
            kernel: environment.kernel,
            context: environment.context,
            model: input.model,
            session: resumed.session.uuid,
            host_role: &resumed.session.host_role,
            text: &input.clean.text,
            own: input.clean.own.as_ref(),
            client: input.clean.client.as_ref(),
            declared: input.question.declared,
            place: TurnPlace {
                thread,
                parent: standing.parent.of(store, thread)?,
                intent: standing.intent,
            },
            room: input.room,
            is_streamed: input.control.is_watched,
            now,
        })?;
        Ok(QuestionToRecord {
            environment,
            resumed,
            input,
            question,
            // Handoffs count for policy, and are no questions of the conversation.
            earlier: store.conversation(thread)?.map_or(0, |row| row.turns),
            now,
        })
    }

    /// Records a prompt that a model will be called with.
    async fn send(
        &self,
        draft: PromptDraft,
        seen: Observations,
    ) -> Result<PromptRecording, RecorderError> {
        let injected = draft.bundle.refs().to_vec();
        let prompt = Prompt {
            session: self.resumed.session.id,
            text: self.input.clean.text.clone(),
            bundle: draft.bundle,
            compiled: draft.compiled,
            params: draft.params,
            context: self.question.referred.context.clone(),
            counts: self.question.counts,
            authority_state: draft.authority_state,
            salt: seen.salt,
            action_salts: seen.action_salts,
            numbers: self.input.clean.numbers.clone(),
            anchor: self.resumed.anchor(),
            now: self.now,
            entry: self.entry(),
        };
        let prompt = Box::new(self.environment.recorder.prompt(prompt).await?);
        Ok(self.done(Ok((prompt, injected))))
    }

    /// Records a prompt that no model gets, and why.
    async fn refuse(
        &self,
        denial: Denial,
        seen: Observations,
    ) -> Result<PromptRecording, RecorderError> {
        let refused = RefusedPrompt {
            session: self.resumed.session.id,
            text: self.input.clean.text.clone(),
            refusal: denial.refusal,
            context: self.question.referred.context.clone(),
            counts: self.question.counts,
            authority_state: denial.authority_state,
            salt: seen.salt,
            action_salts: seen.action_salts,
            numbers: self.input.clean.numbers.clone(),
            anchor: self.resumed.anchor(),
            now: self.now,
            entry: self.entry(),
        };
        let on_record = Box::new(self.environment.recorder.refuse(refused).await?);
        Ok(self.done(Err((on_record, denial.fault.map(|fault| *fault)))))
    }

    /// How the turn comes to the recorder, which it is handed to now.
    fn entry(&self) -> TurnEntry {
        let now = (self.environment.stopwatch)();
        TurnEntry {
            origin: self.input.question.origin,
            compile_ms: now.saturating_sub(self.input.begun),
        }
    }

    fn done(&self, outcome: Result<PromptToSend, PromptToRefuse>) -> PromptRecording {
        PromptRecording::Done(Box::new(PromptOnRecord {
            outcome,
            referred: self.question.referred.context.clone(),
            unfit: self.question.referred.unfit,
            changed: self.question.referred.changed.clone(),
            earlier: self.earlier,
        }))
    }
}
