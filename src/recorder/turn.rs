//! The order of a turn, from the recorded prompt on, as types.
//!
//! ```text
//! CompiledPrompt → Recorder::prompt → RecordedPrompt → Model::invoke → Reply → judge → Judged
//!                → Recorder::answer → RecordedAnswer → shown
//! ```

use uuid::Uuid;

use crate::continuity::candidate::Confidence;
use crate::continuity::compile::ContextBundle;
use crate::continuity::declared::TurnContext;
use crate::continuity::prompt::CompiledPrompt;
use crate::govern::drift::Judgement;
use crate::govern::kernel::Kernel;
use crate::govern::reply::found_on::ReplyContext;
use crate::govern::reply::output::Shape;
use crate::govern::sanitize::{Clean, Placeholders};
use crate::record::bitcoin::block::Anchor;
use crate::record::context::turn::Counts;
use crate::record::exchange::ExchangeOutcome;
use crate::record::hash::Hash32;
use crate::record::ledger::bundle::Fact;
use crate::record::ledger::client_request::{ClientRequest, ToolCall};
use crate::record::ledger::commitment::Salt;
use crate::record::ledger::documents::AuthorityState;
use crate::record::ledger::measures::{CouncilRound, QuestionDoor};
use crate::record::ledger::params::{Cost, Params};
use crate::record::ledger::reply::ReplyDoc;
use crate::record::ledger::specialist::AskedSpecialist;
use crate::record::time::Seconds;
use crate::record::trace::sources::SourceCount;
use crate::store::SessionRow;

use super::entries::actions::Action;
use super::entries::content_policy::ContentPolicy;
use super::in_flight::InFlight;
use super::placeholders::StoredReply;

/// Where a question came in, and who is asked why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuestionOrigin {
    /// Where it came in.
    pub door: QuestionDoor,
    /// The specialist that is asked; none where a model is asked by its own name.
    pub specialist: Option<AskedSpecialist>,
    /// In which round of a council it is asked; none outside of one.
    pub round: Option<CouncilRound>,
    /// How often it was asked before, as its answers were blocked; none where it is asked once.
    pub attempt: Option<u8>,
}

/// How a turn came to the recorder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnEntry {
    /// Where its question came in.
    pub origin: QuestionOrigin,
    /// Milliseconds from the turn's begin until it was handed to the recorder.
    pub compile_ms: u64,
}

/// How long a model's server took, in milliseconds from the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyTimes {
    /// Until the first byte of the answer's body.
    pub first_byte_ms: u64,
    /// Until its last byte.
    pub last_byte_ms: u64,
}

/// What was measured of a turn outside of the recorder.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnSteps {
    /// How it came here.
    pub entry: TurnEntry,
    /// What its model was shown comes from so many sources.
    pub sources: SourceCount,
    /// How long the model's server took, where one gave the answer.
    pub body: Option<BodyTimes>,
    /// Milliseconds for judging, where there was a reply.
    pub judge_ms: Option<u64>,
}

impl TurnSteps {
    /// Of a turn that called no model.
    pub fn uncalled(entry: TurnEntry) -> TurnSteps {
        TurnSteps {
            entry,
            sources: SourceCount::NONE,
            body: None,
            judge_ms: None,
        }
    }

    /// Of a turn whose model gave no answer.
    pub fn unanswered(prompt: &RecordedPrompt) -> TurnSteps {
        TurnSteps {
            sources: prompt.bundle.sources(),
            ..TurnSteps::uncalled(prompt.entry)
        }
    }

    /// Of a turn with an answer.
    pub fn answered(prompt: &RecordedPrompt, judged: &JudgedReply) -> TurnSteps {
        TurnSteps {
            body: judged.body,
            judge_ms: judged.judge_ms,
            ..TurnSteps::unanswered(prompt)
        }
    }
}

/// What is recorded before a model is called.
#[derive(Debug)]
pub struct Prompt {
    /// An open session.
    pub session: Hash32,
    /// The user's text.
    pub text: Clean,
    /// The compiled bundle.
    pub bundle: ContextBundle,
    /// The compiled prompt, which was rendered from both.
    pub compiled: CompiledPrompt,
    /// What the call is made with; its `system` is the one that `compiled` was rendered with.
    pub params: Params,
    /// What was declared as its context, resolved; the bundle was compiled with it.
    pub context: TurnContext,
    /// What policy counted.
    pub counts: Counts,
    /// The allowing decision's state.
    pub authority_state: AuthorityState,
    /// 32 fresh random bytes, from which the salts of this exchange are derived.
    pub salt: Salt,
    /// Fresh randomness for the actuation intents of prompt and reply: twice `actuation::MAX_ACTS`
    /// are enough.
    pub action_salts: Vec<Salt>,
    /// The session's numbers for secrets, as the text was redacted with them.
    pub numbers: Placeholders,
    /// The block that was seen for this turn, if one was looked for.
    pub anchor: Option<Anchor>,
    /// Time of this machine's clock at the question.
    pub now: Seconds,
    /// How it came here.
    pub entry: TurnEntry,
}

/// Why a prompt goes no further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Policy denied it.
    Denied {
        /// The code that the log's line has: `[a-z0-9_.]+`.
        reason: String,
        /// All codes, as the DECISION has them.
        codes: Vec<String>,
    },
    /// No bundle could be compiled.
    CompileFailed {
        /// The fault's code.
        reason: String,
        /// The judgement, where that by itself is drift.
        judgement: Option<Judgement>,
    },
}

/// What is recorded of a prompt that no model gets.
#[derive(Debug)]
pub struct RefusedPrompt {
    /// An open session.
    pub session: Hash32,
    /// The user's text.
    pub text: Clean,
    /// Why it goes no further.
    pub refusal: Refusal,
    /// What was declared as its context, resolved or not.
    pub context: TurnContext,
    /// What policy counted.
    pub counts: Counts,
    /// The decision's state.
    pub authority_state: AuthorityState,
    /// 32 fresh random bytes, from which the salts of this exchange are derived.
    pub salt: Salt,
    /// Fresh randomness for the actuation intents of the prompt.
    pub action_salts: Vec<Salt>,
    /// The session's numbers for secrets, as the text was redacted with them.
    pub numbers: Placeholders,
    /// The block that was seen for this turn, if one was looked for.
    pub anchor: Option<Anchor>,
    /// Time of this machine's clock at the question.
    pub now: Seconds,
    /// How it came here.
    pub entry: TurnEntry,
}

/// How a prompt ends that gets no answer.
pub(super) struct PromptEnding<'a> {
    /// Failed or denied.
    pub outcome: ExchangeOutcome,
    /// Code that says why there is no answer, such as `timeout`.
    pub reason: &'a str,
    /// Where the end by itself is drift: a declared tool that shows nothing.
    pub judgement: Option<&'a Judgement>,
    /// What was measured; none of a prompt that nobody waited for any more.
    pub steps: Option<TurnSteps>,
}

impl<'a> PromptEnding<'a> {
    /// The model's fault, or nobody waits any more.
    pub fn failed(reason: &'a str, steps: Option<TurnSteps>) -> Self {
        PromptEnding {
            outcome: ExchangeOutcome::Failed,
            reason,
            judgement: None,
            steps,
        }
    }
}

/// Names of a turn on record, as people and programs refer to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnIds {
    /// Id of the session, as log and ledger have it.
    pub session: Hash32,
    /// Id of the session's row.
    pub session_uuid: Uuid,
    /// The prompt's number in the session.
    pub seq: u64,
    /// The exchange's row.
    pub exchange: Uuid,
    /// Commitment to the prompt.
    pub prompt_hash: Hash32,
    /// HASH of the prompt's line.
    pub prompt_line: Hash32,
}

/// A prompt on record: the only thing a model can be called with.
///
/// Nothing but the recorder makes one:
///
/// ```compile_fail
/// # use gently::recorder::RecordedPrompt;
/// let unrecorded = RecordedPrompt { ..todo!() };
/// ```
///
/// and a compiled prompt that is not recorded is refused by the compiler:
///
/// ```compile_fail
/// # use gently::{continuity::prompt::CompiledPrompt, models::Model};
/// async fn unrecorded(model: &Model, compiled: CompiledPrompt) {
///     let _ = model.invoke(&compiled).await;
/// }
/// ```
///
/// While it lives its session can't be closed. Dropping it leaves the prompt without an answer; the
/// session's close then records it as `abandoned`.
#[derive(Debug)]
#[must_use = "a recorded prompt that is dropped is recorded as abandoned when its session closes"]
pub struct RecordedPrompt {
    pub(super) ids: TurnIds,
    pub(super) model: String,
    pub(super) text: Clean,
    pub(super) bundle: ContextBundle,
    pub(super) compiled: CompiledPrompt,
    pub(super) params: Params,
    pub(super) actions: Vec<Action>,
    pub(super) action_salts: Vec<Salt>,
    pub(super) salt: Salt,
    pub(super) content_policy: ContentPolicy,
    pub(super) numbers: Placeholders,
    pub(super) entry: TurnEntry,
    pub(super) _in_flight: InFlight,
}

impl RecordedPrompt {
    /// Ids of the exchange, its turns and its session.
    pub fn ids(&self) -> &TurnIds {
        &self.ids
    }

    /// The model it is for.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The user's text.
    pub fn text(&self) -> &Clean {
        &self.text
    }

    /// What the model is shown.
    pub fn bundle(&self) -> &ContextBundle {
        &self.bundle
    }

    /// What the call is made with.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Actuation intents that the prompt put on record.
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// The exact messages.
    pub fn compiled(&self) -> &CompiledPrompt {
        &self.compiled
    }
}

/// Token counts, as far as the model reported them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Of the prompt.
    pub prompt_tokens: Option<u64>,
    /// Of the answer.
    pub completion_tokens: Option<u64>,
}

/// What a client's own words are called among all that a model was shown.
const CLIENT: &str = "client";
/// The largest integer that every reader of JSON holds exactly.
const MAX_TOKENS: u64 = (1 << 53) - 1;

/// What a model said: not judged, not recorded, and not to be shown.
///
/// It has no way to its text but through judgement and record:
///
/// ```compile_fail
/// # use gently::recorder::Reply;
/// fn show(reply: &Reply) { println!("{}", reply.text) }
/// ```
#[derive(Debug)]
#[must_use = "a reply must be judged and recorded"]
pub struct Reply {
    text: String,
    beside: Option<ReplyDoc>,
    usage: Usage,
    cost: Option<Cost>,
    without: Vec<String>,
    body: Option<BodyTimes>,
}

impl Reply {
    /// Only a model makes one; `beside` is what came with the text.
    pub(crate) fn new(text: String, beside: Option<ReplyDoc>, usage: Usage) -> Self {
        // A count that canonical JSON can't hold is nonsense of the provider's, and must not cost
        // the answer.
        let sane = |count: Option<u64>| count.filter(|n| *n <= MAX_TOKENS);
        let usage = Usage {
            prompt_tokens: sane(usage.prompt_tokens),
            completion_tokens: sane(usage.completion_tokens),
        };
        Reply {
            text,
            beside,
            usage,
            cost: None,
            without: Vec::new(),
            body: None,
        }
    }

    /// With how long the server took that gave it.
    pub(crate) fn taking(self, body: Option<BodyTimes>) -> Self {
        Reply { body, ..self }
    }

    /// With the kind of what was taken out of it before anybody saw it.
    pub(crate) fn without(self, kind: Option<&str>) -> Self {
        let without = kind.map(str::to_owned).into_iter().collect();
        Reply { without, ..self }
    }

    /// With what it cost.
    pub(crate) fn costing(self, cost: Option<Cost>) -> Self {
        Reply { cost, ..self }
    }

    /// Redacts what will be stored, and judges the reply against what the model was shown.
    pub fn judge(self, kernel: &Kernel, prompt: &RecordedPrompt) -> JudgedReply {
        let client = prompt.compiled.client();
        let mut shown = prompt.bundle.shown();
        let told = client.map(ClientRequest::texts).unwrap_or_default();
        shown.facts.extend(told.into_iter().map(|text| Fact {
            id: CLIENT.to_owned(),
            claim: text,
            source: "user".to_owned(),
            observed_at: shown.compiled_at,
            confidence: Confidence::Low.name().to_owned(),
        }));
        let offered = client.into_iter().flat_map(|client| &client.tools);
        let offered = offered.map(|tool| tool.name.clone()).collect();
        let context = ReplyContext {
            shown,
            question: prompt.text.clone(),
            shape: prompt.params.expect.as_deref().map(Shape::recorded),
            intent: prompt.entry.origin.door.intent(),
        };
        let judgement = context.judge(kernel, &self.text);
        let mut numbers = prompt.numbers.clone();
        let stored = StoredReply::of(&self.text, self.beside.as_ref(), &mut numbers);
        JudgedReply {
            text: self.text,
            beside: self.beside,
            stored,
            numbers,
            usage: self.usage,
            cost: self.cost,
            without: self.without,
            offered,
            judgement,
            context,
            body: self.body,
            judge_ms: None,
        }
    }
}

/// A judged reply: the only thing that can be recorded as an answer.
///
/// ```compile_fail
/// # use gently::recorder::{Recorder, RecordedPrompt, Reply};
/// async fn unjudged(recorder: &Recorder, prompt: RecordedPrompt, reply: Reply) {
///     let _ = recorder.answer(prompt, reply, todo!()).await;
/// }
/// ```
#[derive(Debug)]
#[must_use = "a judged reply must be recorded"]
pub struct JudgedReply {
    pub(super) text: String,
    pub(super) beside: Option<ReplyDoc>,
    pub(super) stored: StoredReply,
    pub(super) numbers: Placeholders,
    pub(super) usage: Usage,
    pub(super) cost: Option<Cost>,
    /// Kinds of what was taken out of text and document before they came here.
    pub(super) without: Vec<String>,
    /// Names of the tools that a client offered.
    pub(super) offered: Vec<String>,
    pub(super) judgement: Judgement,
    pub(super) context: ReplyContext,
    pub(super) body: Option<BodyTimes>,
    pub(super) judge_ms: Option<u64>,
}

impl JudgedReply {
    /// With how long judging took, in milliseconds.
    pub fn within(self, judge_ms: u64) -> Self {
        JudgedReply {
            judge_ms: Some(judge_ms),
            ..self
        }
    }
}

/// An answer on record: the only thing that may be shown.
///
/// ```compile_fail
/// # use gently::recorder::{JudgedReply, RecordedAnswer};
/// fn unrecorded(judged: JudgedReply) -> RecordedAnswer { RecordedAnswer { ..judged.into() } }
/// ```
#[derive(Clone, Debug)]
pub struct RecordedAnswer {
    /// The answer, exactly as the model gave it.
    pub text: String,
    /// Ids of the exchange, its turns and its session.
    pub ids: TurnIds,
    /// The session after the answer.
    pub session: SessionRow,
    /// Commitment to the answer.
    pub response_hash: Hash32,
    /// Commitment to the exchange document.
    pub exchange_hash: Hash32,
    /// The chain entry.
    pub chain_entry: Hash32,
    /// HASH of the `response` line.
    pub response_line: Hash32,
    /// The interaction's commit.
    pub commit: String,
    /// What the validator said.
    pub judgement: Judgement,
    /// What it held the answer against, for whoever is told of it; no part of the record.
    pub context: ReplyContext,
    /// Ids of the drift lines.
    pub drift_ids: Vec<String>,
    /// Actuation intents that the reply put on record.
    pub actions: Vec<Action>,
    /// Tokens of prompt and answer, as the model counts them.
    pub usage: Usage,
    /// By the price table, if it names the model and the model told its tokens.
    pub cost: Option<Cost>,
    /// Kinds of secrets that were removed from what is stored, answer or what came beside it (the
    /// answer itself is shown as it came, but for the key that was sent).
    pub redacted: Vec<String>,
    /// Names of the tools that it wants called and that nobody offered; gently calls none.
    pub tools: Vec<Clean>,
    /// All that it wants called, as it said so, like its text.
    pub tool_calls: Vec<ToolCall>,
}

/// A refusal on record.
#[derive(Clone, Debug)]
pub struct RecordedRefusal {
    /// Ids of the exchange, its turns and its session.
    pub ids: TurnIds,
    /// The session after it.
    pub session: SessionRow,
    /// Commitment to the exchange document.
    pub exchange_hash: Hash32,
    /// HASH of the outcome's line.
    pub line: Hash32,
    /// Which rule or limit refused the question.
    pub refusal: Refusal,
    /// Actuation intents that the prompt put on record.
    pub actions: Vec<Action>,
}

/// A failed call on record.
#[derive(Clone, Debug)]
pub struct RecordedFailure {
    /// Ids of the exchange, its turns and its session.
    pub ids: TurnIds,
    /// The session after it.
    pub session: SessionRow,
    /// Commitment to the exchange document.
    pub exchange_hash: Hash32,
    /// HASH of the `response_fail` line.
    pub line: Hash32,
    /// Code that says why there is no answer, such as `timeout`.
    pub reason: String,
}
