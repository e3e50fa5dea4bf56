//! Asking a model to sum a conversation up, and putting what it says on record as a handoff.

use uuid::Uuid;

use super::HandoffReader;
use crate::app::ask::model_choice::CallOptions;
use crate::app::ask::references::{ContextRequest, ThreadRequest};
use crate::app::ask::{AskRequest, AskResult, SightWish, SpecialistWish};
use crate::app::home::open::{self, OpenHome, OpenHomeError, fresh_salt};
use crate::app::look::conversation::{ConversationScope, QuestionPlace};
use crate::app::remember::project;
use crate::ask::TurnEnd;
use crate::ask::conversation::stands_beside;
use crate::govern::handoff::{FEW, INSTRUCTION, MOST_TOKENS, missing_headings};
use crate::record::ledger::handoff::{HANDOFF, HandoffTrigger};
use crate::record::ledger::measures::QuestionDoor;
use crate::record::ledger::specialist::SpecialistId;
use crate::recorder::{ArtifactField, ArtifactId, NewArtifact, RecordedArtifact, RecorderError};
use crate::store::{ReadStore, StoreError};

/// So many turns are summed up: 60 messages.
const TURNS: u64 = 30;
/// The newest exchanges of a conversation whose models are looked at.
const MODELS_OF: u32 = 1000;
/// Two who make a handoff of one conversation at once get numbers one after the other.
const ATTEMPTS: u32 = 16;

/// A handoff that somebody wants.
#[derive(Clone, Debug, Default)]
pub struct HandoffRequest {
    /// The conversation, as it was typed; the newest of who asks without it.
    pub conversation: Option<String>,
    /// The specialist that writes it.
    pub specialist: Option<SpecialistWish>,
    /// The model that writes it; the one that answered there last without either.
    pub model: Option<String>,
}

/// A handoff that is to be asked for.
pub struct HandoffPlan {
    /// What the model is asked.
    pub request: AskRequest,
    /// The conversation.
    pub place: QuestionPlace,
    thread: Uuid,
    trigger: HandoffTrigger,
}

impl HandoffPlan {
    /// Why it is asked for.
    pub fn trigger(&self) -> HandoffTrigger {
        self.trigger
    }
}

/// What became of it.
pub enum HandoffOutcome {
    /// It is on record.
    Made {
        /// Its artifact.
        recorded: RecordedArtifact,
    },
    /// The reply lacks these headings: it is no handoff.
    Incomplete(Vec<&'static str>),
    /// The kernel withholds the reply: it is no handoff.
    Withheld,
    /// There is no reply.
    Unanswered,
}

impl HandoffOutcome {
    /// Why there is none, in a sentence; nothing where there is one. A turn without an answer says it by
    /// itself.
    pub fn why_none(&self) -> Option<String> {
        match self {
            HandoffOutcome::Made { .. } => None,
            HandoffOutcome::Incomplete(missing) => Some(format!(
                "the reply is no handoff, as it lacks {}: it stays on record as an exchange",
                missing.join(", ")
            )),
            HandoffOutcome::Withheld => Some(
                "the reply is no handoff, as your kernel withholds it: it stays on record as an exchange"
                    .to_owned(),
            ),
            HandoffOutcome::Unanswered => Some("there is no reply, so there is no handoff".to_owned()),
        }
    }
}

/// Plans a handoff; refuses one that could say nothing.
pub async fn plan(
    opened: &OpenHome,
    wanted: &HandoffRequest,
    trigger: HandoffTrigger,
) -> Result<HandoffPlan, OpenHomeError> {
    if !opened.keeps_text() {
        let why = "no texts are kept here (store.content is \"none\"), so a handoff would have no text: nothing was asked. \
                   To keep texts from now on: gently config set store.content sanitized";
        return Err(OpenHomeError::Refused(why.to_owned()));
    }
    let key = opened.authorize().await?;
    let store = &opened.store;
    let scope = ConversationScope {
        key: Some(key),
        project: project::id_in_use(store, &opened.config)?,
    };
    let named = ThreadRequest {
        conversation: wanted.conversation.clone(),
        goes_on: wanted.conversation.is_none(),
        ..ThreadRequest::default()
    };
    let thread = named.standing(store, &scope)?.thread;
    let Some(thread) = thread else {
        return Err(OpenHomeError::Refused(
            "there is no conversation to sum up: gently ask \"…\" begins one".to_owned(),
        ));
    };
    let place = QuestionPlace::of(store, thread)?;
    if !store.has_message_texts(thread)? {
        return Err(OpenHomeError::Refused(format!(
            "no text of {} is there (nothing was said, or it is erased or was not kept), so there is nothing to sum up: \
             nothing was asked",
            place.called()
        )));
    }
    Ok(HandoffPlan {
        request: AskRequest {
            text: INSTRUCTION.to_owned(),
            model: wanted.model.clone(),
            specialist: wanted.specialist.clone(),
            call: CallOptions {
                max_tokens: Some(MOST_TOKENS),
                ..CallOptions::default()
            },
            context: ContextRequest {
                refs: references(store, thread)?,
                ..ContextRequest::default()
            },
            thread: ThreadRequest {
                thread: Some(thread.to_string()),
                is_talk: true,
                ..ThreadRequest::default()
            },
            sight: SightWish::Nothing,
            door: QuestionDoor::Handoff,
            ..AskRequest::default()
        },
        place,
        thread,
        trigger,
    })
}

/// What is declared: the last turns, and the handoff before where they don't reach the beginning.
fn references(store: &ReadStore, thread: Uuid) -> Result<Vec<String>, StoreError> {
    let turns = store.conversation(thread)?.map_or(0, |row| row.turns);
    let before = match turns > TURNS {
        true => HandoffReader::of(store)?.newest(thread)?,
        false => None,
    };
    Ok(match before {
        Some(before) => vec![before.exchange.to_string(), format!("last:{}", TURNS - 1)],
        None => vec![format!("last:{TURNS}")],
    })
}

/// Puts a reply on record as a handoff, if it is one.
pub async fn conclude(
    opened: &OpenHome,
    plan: &HandoffPlan,
    asked: &AskResult,
) -> Result<HandoffOutcome, OpenHomeError> {
    let TurnEnd::Answered(answer) = &asked.turn.turn else {
        return Ok(HandoffOutcome::Unanswered);
    };
    if asked.is_withheld() {
        return Ok(HandoffOutcome::Withheld);
    }
    let missing = missing_headings(&answer.text);
    if !missing.is_empty() {
        return Ok(HandoffOutcome::Incomplete(missing));
    }
    let made = WrittenHandoff {
        exchange: asked.exchange(),
        specialist: asked.specialist.as_ref().map(|one| one.id),
        upto: upto(opened, asked)?,
    };
    let recorded = record(opened, plan, &made).await?;
    Ok(HandoffOutcome::Made { recorded })
}

/// A reply that is a handoff.
struct WrittenHandoff {
    exchange: Uuid,
    specialist: Option<SpecialistId>,
    upto: u64,
}

/// Line of the newest message that a model was asked to sum up: the one that its turn replies to. What
/// was said while the turn was recorded stands behind it.
fn upto(opened: &OpenHome, asked: &AskResult) -> Result<u64, StoreError> {
    let own = opened.store.exchange(asked.exchange())?;
    let own = own.map_or(u64::MAX, |row| row.prompt_line);
    let parent = asked.turn.referred.parent();
    let parent = parent.map(|id| opened.store.exchange(id)).transpose()?;
    Ok(parent
        .flatten()
        .map_or(0, |row| match row.newest_message_line() {
            line if line < own => line,
            _ => row.prompt_line,
        }))
}

/// Records the artifact, with the number that the conversation's handoffs have come to.
async fn record(
    opened: &OpenHome,
    plan: &HandoffPlan,
    made: &WrittenHandoff,
) -> Result<RecordedArtifact, OpenHomeError> {
    let mut attempt = 1;
    loop {
        let number = next_number(&opened.store, plan.thread)?;
        let word = |text: String| ArtifactField::Word(text);
        let specialist = made.specialist.map(|id| word(id.to_string()));
        let new = NewArtifact {
            kind: HANDOFF,
            id: ArtifactId::Next { prefix: HANDOFF },
            content: vec![
                ("conversation", word(plan.thread.to_string())),
                ("exchange", word(made.exchange.to_string())),
                ("specialist", specialist.unwrap_or(ArtifactField::Null)),
                ("thread_number", ArtifactField::Number(number)),
                ("trigger", word(plan.trigger.name().to_owned())),
                ("upto", ArtifactField::Number(made.upto)),
            ],
            session: None,
            salt: fresh_salt()?,
            now: open::clock()?,
        };
        let thread = plan.thread;
        let is_next = move |store: &ReadStore| -> Result<Option<String>, RecorderError> {
            let now = next_number(store, thread)?;
            Ok((now != number).then(|| format!("handoff {number} of it was made meanwhile")))
        };
        match opened.recorder.artifact(new, is_next).await {
            Err(RecorderError::NotAllowed { .. }) if attempt < ATTEMPTS => attempt += 1,
            recorded => return Ok(recorded?),
        }
    }
}

/// One more than the highest number of a conversation's handoffs.
fn next_number(store: &ReadStore, thread: Uuid) -> Result<u64, StoreError> {
    let all = store.handoffs(Some(thread))?;
    Ok(all.iter().map(|one| one.thread_number).max().unwrap_or(0) + 1)
}

/// A conversation that has no valid handoff.
pub struct UncoveredConversation {
    /// The conversation.
    pub thread: Uuid,
    /// What a handoff of it is made for.
    pub trigger: HandoffTrigger,
}

/// The open conversations of who asks that are long enough and have no valid handoff. One in which no
/// language model answered has nobody to sum it up, and is none of them unless somebody is named.
pub async fn uncovered(
    opened: &OpenHome,
    wanted: &HandoffRequest,
) -> Result<Vec<UncoveredConversation>, OpenHomeError> {
    let key = opened.authorize().await?;
    let store = &opened.store;
    let is_named = wanted.model.is_some() || wanted.specialist.is_some();
    let mut found = Vec::new();
    for (thread, has_one) in store.uncovered_conversations(key, FEW)? {
        let models = store.models_of(thread, MODELS_OF)?;
        if is_named || !models.iter().all(|(model, _)| stands_beside(model)) {
            let trigger = match has_one {
                true => HandoffTrigger::CoverageJobStale,
                false => HandoffTrigger::CoverageJobNoBackup,
            };
            found.push(UncoveredConversation { thread, trigger });
        }
    }
    Ok(found)
}
