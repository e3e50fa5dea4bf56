//! One exchange as plain values, wherever it is kept: what its document and its compiled prompt are
//! made from (format, section 8).
//!
//! Whoever writes an exchange, checks it, shows it or opens it makes both from here.

use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::record::canon;
use crate::record::context::block::{block_again, context_block};
use crate::record::context::event::EventKind;
use crate::record::context::spec::{ContextForm, ResolvedContext, Transformation, left_out};
use crate::record::context::turn::{ContextSection, EventEntry, RefEntry};
use crate::record::hash::Hash32;
use crate::record::ledger::bundle::{NamedHash, StoredBundle};
use crate::record::ledger::commitment::{Role, Salt, Scheme, commit};
use crate::record::ledger::documents::{AuthorityState, Format};
use crate::record::ledger::exchange::{ArtifactEntry, DriftEntry, ExchangeDoc};
use crate::record::ledger::measures::{TraceSection, TurnMeasures};
use crate::record::ledger::params::{Cost, Params};
use crate::record::ledger::prompt::{PriorTurn, PromptContext, PromptParts, SystemPrompt};
use crate::record::ledger::request::{RequestDoc, RequestTexts, SpokenTurn};
use crate::record::time::Seconds;

/// The reason of a prompt whose process is gone: nobody waited for its answer any more, and nothing
/// of it was measured.
pub const ABANDONED: &str = "abandoned";

/// How an exchange ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeOutcome {
    /// With an answer.
    Answered,
    /// The model's fault, a failed compile, or `abandoned`.
    Failed,
    /// Policy denied the prompt.
    Denied,
}

impl ExchangeOutcome {
    /// All of them.
    pub const ALL: [ExchangeOutcome; 3] = [
        ExchangeOutcome::Answered,
        ExchangeOutcome::Failed,
        ExchangeOutcome::Denied,
    ];

    /// The spelling in the database and in the exchange document.
    pub const fn name(self) -> &'static str {
        match self {
            ExchangeOutcome::Answered => "answered",
            ExchangeOutcome::Failed => "failed",
            ExchangeOutcome::Denied => "denied",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<ExchangeOutcome> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// One question and what became of it, as plain values.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// Id of the exchange.
    pub id: Uuid,
    /// The ledger's session id.
    pub session: Hash32,
    /// Number of the prompt in its session.
    pub seq: u64,
    /// The session's kernel.
    pub kernel_hash: Hash32,
    /// Which model was asked.
    pub model: String,
    /// Time of the prompt line.
    pub asked_at: Seconds,
    /// `allow`, `deny` or `none`.
    pub decision: String,
    /// Authority of the turn.
    pub authority_state: AuthorityState,
    /// Canonical JSON of [`Params`]; none when no call was to be made.
    pub params: Option<String>,
    /// Canonical JSON: a list of what was left out and why.
    pub exclusions: String,
    /// What was injected, in order.
    pub artifacts: Vec<ArtifactEntry>,
    /// Thread and declared context; none for an exchange from before threads.
    pub context: Option<ExchangeContext>,
    /// The turns that stood in a block of their own, in their order.
    pub prior: Vec<Result<PriorTurn, MissingTurn>>,
    /// Canonical JSON of the [`RequestDoc`]; none when nothing was sent, where it is erased or not
    /// kept, and for an exchange from before conversations were sent as messages.
    pub request: Option<String>,
    /// The bundle; none when nothing was compiled.
    pub bundle: Option<StoredBundle>,
    /// What was asked, as it is stored; none where it is erased or not kept.
    pub user: Option<String>,
    /// What stands in the place of its texts, if they were never kept.
    pub not_kept: Option<TextCommitments>,
    /// What stands in the place of what it was shown and is erased since.
    pub erasure: ErasureCommitments,
    /// What the validator found.
    pub drift: Vec<DriftEntry>,
    /// What was measured; none for one that waits, one that was abandoned, and one from before
    /// measures.
    pub measures: Option<TurnMeasures>,
    /// What its trace is committed to; likewise.
    pub trace: Option<TraceSection>,
    /// How it ended; none while in flight.
    pub outcome: Option<ExchangeEnd>,
}

/// How an exchange ended.
#[derive(Clone, Debug)]
pub struct ExchangeEnd {
    /// What kind of end it was.
    pub outcome: ExchangeOutcome,
    /// Code, for failed and denied.
    pub reason: Option<String>,
    /// Time of the outcome's line.
    pub answered_at: Seconds,
    /// Whether there is an answer.
    pub has_answer: bool,
    /// The answer, as it is stored; none where it is erased or not kept.
    pub answer: Option<String>,
    /// Canonical JSON of what came beside it; none where nothing did, or it is erased or not kept.
    pub reply: Option<String>,
    /// Whether the answer is a refusal.
    pub refusal: Option<bool>,
    /// JSON: flags and a note of codes, if there is an answer.
    pub validator: Option<String>,
    /// As the model reported.
    pub prompt_tokens: Option<u64>,
    /// As the model reported.
    pub completion_tokens: Option<u64>,
    /// By the price table of its time, if it names the model.
    pub cost: Option<Cost>,
}

/// The document's commitments to the texts of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextCommitments {
    /// Commitment to the question, with role `user_text`.
    pub user_text: Hash32,
    /// Role `bundle`; none when nothing was compiled.
    pub bundle: Option<Hash32>,
    /// Role `compiled_prompt`; likewise.
    pub compiled_prompt: Option<Hash32>,
    /// Role `aurora_text`; none without an answer.
    pub aurora_text: Option<Hash32>,
    /// Role `request`; none when nothing was sent.
    pub request: Option<Hash32>,
    /// Role `reply`; none where nothing came beside an answer.
    pub reply: Option<Hash32>,
}

/// The document's commitments to what can't be put together any more, as something that the model
/// was shown is erased. Their opening keys are destroyed, so nobody can try texts on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErasureCommitments {
    /// Commitment with role `compiled_prompt`; none when there was no such text.
    pub compiled_prompt: Option<Hash32>,
    /// Commitment with role `bundle`; none when there was no such text.
    pub bundle: Option<Hash32>,
    /// Commitment with role `context_digest`; none when there was no such digest.
    pub context_digest: Option<Hash32>,
    /// Commitment with role `prompt_digest`; none when there was no such digest.
    pub prompt_digest: Option<Hash32>,
}

impl ErasureCommitments {
    /// That of a role; none for a role whose text is never shown to another exchange's model.
    pub fn of_role(&mut self, role: Role) -> Option<&mut Option<Hash32>> {
        match role {
            Role::CompiledPrompt => Some(&mut self.compiled_prompt),
            Role::Bundle => Some(&mut self.bundle),
            Role::ContextDigest => Some(&mut self.context_digest),
            Role::PromptDigest => Some(&mut self.prompt_digest),
            _ => None,
        }
    }
}

/// Thread and declared context of an exchange; lists and objects as canonical JSON.
#[derive(Clone, Debug)]
pub struct ExchangeContext {
    /// Id of the thread that the turn belongs to.
    pub thread: Uuid,
    /// The turn that it replies to.
    pub parent: Option<Uuid>,
    /// Type of the intent: always `chat.message`.
    pub intent_type: String,
    /// The configuration that it was resolved with.
    pub config_digest: Hash32,
    /// A list of ids.
    pub declared: String,
    /// A list of [`Transformation`].
    pub transformations: String,
    /// Counts that policy saw, as JSON of [`Counts`](crate::record::context::turn::Counts).
    pub inputs: String,
    /// A list of codes.
    pub reasons: String,
    /// None when nothing was resolved, or something in it is erased.
    pub context_digest: Option<Hash32>,
    /// None when no call was to be made, or something in it is erased.
    pub prompt_digest: Option<Hash32>,
    /// Its events, by index.
    pub events: Vec<EventEntry>,
    /// What it refers to, by index.
    pub refs: Vec<ReferredEvent>,
}

/// A resolved reference, and what its event says.
#[derive(Clone, Debug)]
pub struct ReferredEvent {
    /// What the turn's document says of the reference.
    pub reference: RefEntry,
    /// What the event is.
    pub kind: EventKind,
    /// The text; none for a DECISION, and for what is erased or not kept.
    pub text: Option<String>,
}

/// An earlier turn whose text is not here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MissingTurn {
    /// No turn has this id.
    #[error("the text of the earlier turn {0} in it is erased")]
    Unknown(String),
    /// It is erased.
    #[error("the text of the earlier turn {0} in it is erased")]
    Erased(String),
    /// It was never kept.
    #[error("the text of the earlier turn {0} in it was not kept")]
    NotKept(String),
}

/// Why an exchange gives no document, or no prompt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExchangeFault {
    /// An earlier turn.
    #[error(transparent)]
    Turn(#[from] MissingTurn),
    /// Another text is erased, or was not kept.
    #[error("{0}")]
    Gone(&'static str),
    /// The bundle was compiled under another kernel.
    #[error(
        "the bundle was compiled under kernel {expected}, this is {actual}; render with that kernel's snapshot"
    )]
    Kernel {
        /// The bundle's kernel.
        expected: Hash32,
        /// The one given.
        actual: Hash32,
    },
    /// It is not what was written.
    #[error("{0}")]
    Wrong(String),
}

impl ExchangeFault {
    /// Whether nothing is wrong but that a text is erased, or was never kept.
    pub fn is_gone(&self) -> bool {
        match self {
            ExchangeFault::Turn(turn) => !matches!(turn, MissingTurn::Unknown(_)),
            ExchangeFault::Gone(_) => true,
            ExchangeFault::Kernel { .. } | ExchangeFault::Wrong(_) => false,
        }
    }
}

fn wrong(reason: impl std::fmt::Display) -> ExchangeFault {
    ExchangeFault::Wrong(reason.to_string())
}

fn parsed<T: Serialize + DeserializeOwned>(text: &str) -> Result<T, ExchangeFault> {
    canon::parse(text.as_bytes()).map_err(wrong)
}

impl Exchange {
    /// What the call was made with; none when no call was to be made.
    pub fn params(&self) -> Result<Option<Params>, ExchangeFault> {
        let Some(stored) = &self.params else {
            return Ok(None);
        };
        let params = Params::parse(stored).map_err(|e| wrong(format!("params: {e}")))?;
        // Of what is erased only the bare shape is left.
        let is_here = self.bundle.is_some();
        if is_here && params.shape_beside().is_some() && !self.request_tells_shape()? {
            return Err(wrong("params: a shape that the model was not told"));
        }
        Ok(Some(params))
    }

    /// Whether the shape of the answer is among what was sent with the question.
    fn request_tells_shape(&self) -> Result<bool, ExchangeFault> {
        let request = self.request.as_deref().map(parsed::<RequestDoc>);
        Ok(request.transpose()?.is_some_and(|doc| doc.tells_shape()))
    }

    /// The compiled prompt's canonical JSON, rendered again; none when nothing was compiled.
    ///
    /// `kernel` is what the session's kernel says to a model, or why it can't be read. What comes
    /// out are bytes to compare and to show: what is on record can't be sent again past the
    /// pipeline.
    pub fn compiled_prompt(
        &self,
        kernel: Result<SystemPrompt<'_>, String>,
    ) -> Result<Option<String>, ExchangeFault> {
        let Some(prompt) = self.prompt_texts(kernel)? else {
            return Ok(None);
        };
        let user = self.user.as_deref();
        let user = user.ok_or(ExchangeFault::Gone("the prompt's text is not here"))?;
        if let Some(request) = &self.request {
            let spoken = match &self.context {
                Some(context) => context.spoken()?,
                None => Vec::new(),
            };
            let texts = prompt.request_texts(&spoken, user)?;
            return prompt.sent(&parsed(request)?, &texts);
        }
        let block = match &self.context {
            Some(context) => context.block()?,
            None => None,
        };
        Ok(Some(self.two_messages(&prompt, block.as_deref(), user)))
    }

    /// What its document needs of the compiled prompt: none as well where a commitment stands in the
    /// place of what is erased.
    pub fn prompt_to_commit(
        &self,
        kernel: Result<SystemPrompt<'_>, String>,
    ) -> Result<Option<String>, ExchangeFault> {
        match self.erasure.compiled_prompt {
            Some(_) => Ok(None),
            None => self.compiled_prompt(kernel),
        }
    }

    /// The commitments of its document to what can be erased without it, from its rows as they are;
    /// those that can't be made are left out.
    pub fn erasable(
        &self,
        scheme: Scheme,
        salt: &Salt,
        compiled: Option<&str>,
    ) -> ErasureCommitments {
        let commit_to = |role, text: &str| commit(scheme, salt, role, text.as_bytes());
        let digest = |role, digest: Option<Hash32>| {
            digest.map(|digest| commit_to(role, &NamedHash(digest).to_string()))
        };
        let context = self.context.as_ref();
        ErasureCommitments {
            compiled_prompt: compiled.map(|text| commit_to(Role::CompiledPrompt, text)),
            bundle: self
                .bundle
                .as_ref()
                .map(|bundle| commit_to(Role::Bundle, bundle.json())),
            context_digest: digest(
                Role::ContextDigest,
                context.and_then(|context| context.context_digest),
            ),
            prompt_digest: digest(
                Role::PromptDigest,
                context.and_then(|context| context.prompt_digest),
            ),
        }
    }

    /// The same where context and user's text were made again; a request that does not come out as
    /// it is stored is wrong.
    pub fn compiled_with(
        &self,
        kernel: Result<SystemPrompt<'_>, String>,
        resolved: Option<&ResolvedContext>,
        user: &str,
    ) -> Result<Option<String>, ExchangeFault> {
        let Some(prompt) = self.prompt_texts(kernel)? else {
            return Ok(None);
        };
        if let Some(request) = &self.request {
            let spoken = resolved.map(spoken).unwrap_or_default();
            let client = parsed::<RequestDoc>(request)?.client(&prompt.params);
            let texts = RequestTexts {
                client: client.as_ref(),
                ..prompt.request_texts(&spoken, user)?
            };
            let again = RequestDoc::new(&texts, &self.model, &prompt.params);
            let marked = again.with_answers_marked();
            for again in [again.with_answers_joined(), again, marked] {
                if again.canonical().map_err(wrong)? == *request {
                    return prompt.sent(&again, &texts);
                }
            }
            return Err(wrong("the request is not the one that its rows give"));
        }
        let block = resolved.and_then(|resolved| context_block(resolved, ContextForm::Sent));
        Ok(Some(self.two_messages(&prompt, block.as_deref(), user)))
    }

    /// What its prompt is made from, beside context and question; none when nothing was compiled.
    fn prompt_texts<'a>(
        &'a self,
        kernel: Result<SystemPrompt<'a>, String>,
    ) -> Result<Option<PromptTexts<'a>>, ExchangeFault> {
        let Some(bundle) = &self.bundle else {
            return Ok(None);
        };
        let kernel = kernel.map_err(ExchangeFault::Wrong)?;
        let earlier: Result<Vec<PriorTurn>, MissingTurn> = self.prior.iter().cloned().collect();
        let (earlier, params) = (earlier?, self.params()?.unwrap_or_default());
        let shape = params.shape_beside();
        let read = bundle.read();
        let read = read.map_err(|e| wrong(format!("stored bundle: {e}")))?;
        if read.kernel_hash.0 != kernel.kernel {
            return Err(ExchangeFault::Kernel {
                expected: read.kernel_hash.0,
                actual: kernel.kernel,
            });
        }
        Ok(Some(PromptTexts {
            kernel,
            params,
            shape,
            bundle,
            earlier,
        }))
    }

    /// The form from before conversations were sent as messages.
    fn two_messages(&self, prompt: &PromptTexts<'_>, block: Option<&str>, user: &str) -> String {
        let parts = PromptParts {
            kernel: prompt.kernel,
            own: prompt.params.system.as_deref(),
            bundle: prompt.bundle.json(),
            context: match self.context {
                Some(_) => PromptContext::Thread {
                    deep: &prompt.earlier,
                    block,
                },
                None => PromptContext::Turns(&prompt.earlier),
            },
            user,
        };
        parts.messages().canonical()
    }

    /// The exchange document; `compiled` is the compiled prompt.
    pub fn document(
        &self,
        scheme: Scheme,
        salt: &Salt,
        compiled: Option<&str>,
    ) -> Result<ExchangeDoc, ExchangeFault> {
        let end = self.outcome.as_ref();
        let end = end.ok_or_else(|| wrong("the exchange has no outcome"))?;
        let commit_to = |role, text: &str| commit(scheme, salt, role, text.as_bytes());
        let texts = match self.not_kept {
            Some(texts) => texts,
            None => self.text_commitments(end, compiled, &commit_to)?,
        };
        let exclusions = parsed(&self.exclusions)?;
        let context = self.context.as_ref();
        let gone = self.erasure;
        let digests = self.erasable(scheme, salt, compiled);
        let digests = ErasureCommitments {
            context_digest: gone.context_digest.or(digests.context_digest),
            prompt_digest: gone.prompt_digest.or(digests.prompt_digest),
            ..digests
        };
        let context = context.map(|context| context.named(&digests)).transpose();
        let validator = end.validator.as_deref().map(serde_json::from_str);
        Ok(ExchangeDoc {
            answered_at: end.answered_at,
            artifacts: self.artifacts.clone(),
            asked_at: self.asked_at,
            aurora_text: texts.aurora_text,
            authority_state: self.authority_state,
            bundle: texts.bundle,
            compiled_prompt: texts.compiled_prompt,
            completion_tokens: end.completion_tokens,
            context: context?,
            cost: end.cost.clone(),
            decision: self.decision.clone(),
            drift: self.drift.clone(),
            exchange_id: self.id,
            exclusions,
            format: Format,
            kernel_hash: self.kernel_hash,
            measures: self.measures.clone(),
            model: self.model.clone(),
            outcome: end.outcome.name().to_owned(),
            params: self.params()?.map(|params| params.named()),
            prompt_tokens: end.prompt_tokens,
            reason: end.reason.clone(),
            refusal: end.refusal,
            reply: texts.reply,
            request: texts.request,
            seq: self.seq,
            session_id: self.session,
            trace: self.trace.clone(),
            user_text: texts.user_text,
            validator: validator.transpose().map_err(wrong)?,
        })
    }

    fn text_commitments(
        &self,
        end: &ExchangeEnd,
        compiled: Option<&str>,
        commit_to: &dyn Fn(Role, &str) -> Hash32,
    ) -> Result<TextCommitments, ExchangeFault> {
        let gone = ExchangeFault::Gone;
        let user = self
            .user
            .as_deref()
            .ok_or(gone("the user's text is gone"))?;
        let answer = end.answer.as_deref();
        let answer = end
            .has_answer
            .then(|| answer.ok_or(gone("the answer's text is gone")));
        let bundle = self.bundle.as_ref();
        let bundle = bundle.map(|bundle| commit_to(Role::Bundle, bundle.json()));
        let compiled = compiled.map(|text| commit_to(Role::CompiledPrompt, text));
        Ok(TextCommitments {
            user_text: commit_to(Role::UserText, user),
            bundle: self.erasure.bundle.or(bundle),
            compiled_prompt: self.erasure.compiled_prompt.or(compiled),
            aurora_text: answer
                .transpose()?
                .map(|text| commit_to(Role::AuroraText, text)),
            request: self
                .request
                .as_deref()
                .map(|text| commit_to(Role::Request, text)),
            reply: end
                .reply
                .as_deref()
                .map(|text| commit_to(Role::Reply, text)),
        })
    }
}

/// What a prompt is made from, beside context and question.
struct PromptTexts<'a> {
    kernel: SystemPrompt<'a>,
    params: Params,
    shape: Option<String>,
    bundle: &'a StoredBundle,
    earlier: Vec<PriorTurn>,
}

impl PromptTexts<'_> {
    fn request_texts<'t>(
        &'t self,
        spoken: &'t [SpokenTurn<'t>],
        question: &'t str,
    ) -> Result<RequestTexts<'t>, ExchangeFault> {
        Ok(RequestTexts {
            kernel: self.kernel,
            owner: self.params.system.as_deref(),
            bundle: self.bundle.read().map_err(wrong)?,
            earlier: &self.earlier,
            spoken,
            question,
            shape: self.shape.as_deref(),
            client: None,
        })
    }

    fn sent(
        &self,
        request: &RequestDoc,
        texts: &RequestTexts<'_>,
    ) -> Result<Option<String>, ExchangeFault> {
        let messages = request.messages(texts).map_err(wrong)?;
        Ok(Some(messages.canonical()))
    }
}

/// What of a context is said as messages: by whom, in the order of the thread.
pub fn spoken(resolved: &ResolvedContext) -> Vec<SpokenTurn<'_>> {
    let shown = resolved.shown();
    let spoken = shown.filter_map(|(_, event)| {
        Some(SpokenTurn {
            turn: event.place().id.parse().ok()?,
            by_user: event.kind() == EventKind::Intent,
            text: event.text()?,
        })
    });
    spoken.collect()
}

impl ExchangeContext {
    /// What of it was said as messages.
    fn spoken(&self) -> Result<Vec<SpokenTurn<'_>>, ExchangeFault> {
        let said = self.shown()?.into_iter();
        let said = said.filter(|one| one.kind != EventKind::Decision);
        said.map(|one| {
            let gone = ExchangeFault::Gone("a text in it is erased, or was not kept");
            Ok(SpokenTurn {
                turn: one.reference.event_id,
                by_user: one.kind == EventKind::Intent,
                text: one.text.as_deref().ok_or(gone)?,
            })
        })
        .collect()
    }

    /// What it refers to and shows a model.
    pub fn shown(&self) -> Result<Vec<&ReferredEvent>, ExchangeFault> {
        let made: Vec<Transformation> = parsed(&self.transformations)?;
        let kept = left_out(&made);
        let is_shown = |one: &&ReferredEvent| !kept.contains(one.reference.ref_id.as_str());
        Ok(self.refs.iter().filter(is_shown).collect())
    }

    /// The context block as it was sent; none when nothing was shown.
    fn block(&self) -> Result<Option<String>, ExchangeFault> {
        let shown = self.shown()?;
        let is_gone = |one: &&ReferredEvent| one.text.is_none() && one.kind != EventKind::Decision;
        if shown.iter().any(is_gone) {
            let what = "a text in it is erased, or was not kept";
            return Err(ExchangeFault::Gone(what));
        }
        Ok(block_again(shown.into_iter().map(|one| {
            let text = one.text.as_deref().unwrap_or_default();
            (one.reference.ref_id.as_str(), one.kind, text)
        })))
    }

    /// The part of the exchange document that tells of it.
    fn named(&self, digests: &ErasureCommitments) -> Result<ContextSection, ExchangeFault> {
        Ok(ContextSection {
            config_digest: NamedHash(self.config_digest),
            context_digest: digests.context_digest,
            declared: parsed(&self.declared)?,
            events: self.events.clone(),
            inputs: parsed(&self.inputs)?,
            intent_type: self.intent_type.clone(),
            parent_turn_id: self.parent,
            prompt_digest: digests.prompt_digest,
            reasons: parsed(&self.reasons)?,
            refs: self.refs.iter().map(|one| one.reference.clone()).collect(),
            thread_id: self.thread,
            transformations: parsed(&self.transformations)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::context::spec::AdmittedFor;

    /// A question that went to a model and failed; it refers to one event.
    fn failed() -> Exchange {
        let bundle =
            r#"{"compiled_at":"2026-01-08T00:00:00Z","constraints":[],"exclusions":[],"facts":[],"#
                .to_owned()
                + r#""host_role":"brain","intent":[],"kernel_hash":"sha256:"#
                + &Hash32::ZERO.to_string()
                + r#"","model_id":"m","open_items":[],"phase":"beta","#
                + r#""session_id":"00000000-0000-0000-0000-000000000000","sight":{},"tier":2}"#;
        Exchange {
            id: Uuid::nil(),
            session: Hash32::ZERO,
            seq: 1,
            kernel_hash: Hash32::ZERO,
            model: "m".to_owned(),
            asked_at: Seconds::ZERO,
            decision: "allow".to_owned(),
            authority_state: AuthorityState::Ok,
            params: None,
            exclusions: "[]".to_owned(),
            artifacts: Vec::new(),
            context: Some(ExchangeContext {
                thread: Uuid::nil(),
                parent: None,
                intent_type: "chat.message".to_owned(),
                config_digest: Hash32::ZERO,
                declared: r#"["a"]"#.to_owned(),
                transformations: "[]".to_owned(),
                inputs: r#"{"as_of":1,"at":1,"recent":0,"spent":0,"thread":0}"#.to_owned(),
                reasons: "[]".to_owned(),
                context_digest: None,
                prompt_digest: Some(Hash32::ZERO),
                events: Vec::new(),
                refs: vec![ReferredEvent {
                    reference: RefEntry {
                        admitted_for: AdmittedFor::Governance,
                        event_id: Uuid::nil(),
                        event_index: 0,
                        ref_id: "a".to_owned(),
                    },
                    kind: EventKind::Intent,
                    text: Some("Earlier.".to_owned()),
                }],
            }),
            prior: Vec::new(),
            request: None,
            bundle: Some(StoredBundle::new(bundle)),
            user: Some("Now?".to_owned()),
            not_kept: None,
            erasure: ErasureCommitments::default(),
            drift: Vec::new(),
            measures: None,
            trace: None,
            outcome: Some(ExchangeEnd {
                outcome: ExchangeOutcome::Failed,
                reason: Some("model.down".to_owned()),
                answered_at: Seconds::ZERO,
                has_answer: false,
                answer: None,
                reply: None,
                refusal: None,
                validator: None,
                prompt_tokens: None,
                completion_tokens: None,
                cost: None,
            }),
        }
    }

    fn compiled(exchange: &Exchange) -> Result<Option<String>, ExchangeFault> {
        exchange.compiled_prompt(Ok(SystemPrompt {
            kernel: Hash32::ZERO,
            text: "Be plain.",
        }))
    }

    #[test]
    fn what_is_gone_is_told_apart_from_what_is_wrong() {
        let whole = failed();
        let prompt = compiled(&whole).unwrap().unwrap();
        assert!(prompt.contains("Earlier.") && prompt.contains("Be plain."));
        let gone = |change: fn(&mut Exchange)| {
            let mut exchange = failed();
            change(&mut exchange);
            compiled(&exchange).unwrap_err().is_gone()
        };
        assert!(gone(|exchange| exchange.user = None));
        assert!(gone(|exchange| {
            let context = exchange.context.as_mut().unwrap();
            context.refs[0].text = None;
        }));
        let erased = MissingTurn::Erased("t".to_owned());
        assert_eq!(
            erased.to_string(),
            "the text of the earlier turn t in it is erased"
        );
        assert!(gone(|exchange| {
            exchange
                .prior
                .push(Err(MissingTurn::NotKept("t".to_owned())));
        }));
        assert!(!gone(|exchange| {
            exchange
                .prior
                .push(Err(MissingTurn::Unknown("t".to_owned())));
        }));
        assert!(!gone(|exchange| exchange.params = Some("{}".to_owned())));
        assert!(!gone(|exchange| {
            exchange.bundle = Some(StoredBundle::new("{}".to_owned()));
        }));
        let unknown = whole.compiled_prompt(Err("no kernel".to_owned()));
        assert_eq!(unknown.unwrap_err().to_string(), "no kernel");
    }

    #[test]
    fn texts_stand_in_the_document_by_their_commitments() {
        let (whole, salt) = (failed(), Salt::new([7; 32]));
        let compiled = compiled(&whole).unwrap();
        let document = |exchange: &Exchange, compiled: Option<&str>| {
            exchange.document(Scheme::HmacSha256, &salt, compiled)
        };
        let kept = document(&whole, compiled.as_deref()).unwrap();
        let to = |role, text: &str| commit(Scheme::HmacSha256, &salt, role, text.as_bytes());
        assert_eq!(kept.user_text, to(Role::UserText, "Now?"));
        assert_eq!(
            kept.compiled_prompt,
            compiled.map(|text| to(Role::CompiledPrompt, &text))
        );
        assert_eq!(kept.aurora_text, None);
        let mut unkept = whole;
        (unkept.user, unkept.bundle) = (None, None);
        assert!(document(&unkept, None).unwrap_err().is_gone());
        unkept.not_kept = Some(TextCommitments {
            user_text: kept.user_text,
            bundle: kept.bundle,
            compiled_prompt: kept.compiled_prompt,
            aurora_text: None,
            request: None,
            reply: None,
        });
        assert_eq!(document(&unkept, None), Ok(kept));
        unkept.outcome = None;
        assert!(document(&unkept, None).is_err());
    }

    #[test]
    fn commitments_stand_in_the_place_of_what_is_erased() {
        let (whole, salt) = (failed(), Salt::new([7; 32]));
        let compiled = compiled(&whole).unwrap();
        let scheme = Scheme::HmacSha256;
        let before = whole.document(scheme, &salt, compiled.as_deref()).unwrap();
        let mut erased = whole.clone();
        erased.erasure = whole.erasable(scheme, &salt, compiled.as_deref());
        let context = erased.context.as_mut().unwrap();
        (context.refs[0].text, context.prompt_digest) = (None, None);
        erased.bundle = None;
        let prompt = erased.prompt_to_commit(Err("not looked at".to_owned()));
        assert_eq!(prompt, Ok(None));
        let roles = [Role::CompiledPrompt, Role::Bundle, Role::PromptDigest];
        let left = salt.without(&roles);
        assert_eq!(erased.document(scheme, &left, None), Ok(before.clone()));
        // Without any one of them it is another document.
        for role in roles {
            let mut other = erased.clone();
            *other.erasure.of_role(role).unwrap() = None;
            let document = other.document(scheme, &left, None).unwrap();
            assert_ne!(document, before, "{}", role.name());
        }
        assert!(erased.erasure.of_role(Role::Reply).is_none());
    }
}
