//! What was declared and resolved (`context_spec`), what was put together from it
//! (`assembled_context`), and the digest over both.
//!
//! The assembled context has two forms. The *hashed* one is the DBL context system's: every
//! reference that was resolved, as it was declared, questions in their own words, and in the place
//! of what a model said the digest of its event. The *sent* one holds each event once, in its own
//! words, without what gates and caps keep from a model; a line of it that looks like one of the
//! block's own is escaped.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::record::ledger::bundle::NamedHash;

use super::block::{context_block, stripped};
use super::config::{ContextConfig, ContextRule, Sort};
use super::event::{EventKind, ThreadEvent};
use super::json::{self, JsonFault};

/// The version of these documents.
const SPEC_VERSION: &str = "ctxspec.2";
/// What an event was let in for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdmittedFor {
    /// Policy and prompt.
    Governance,
    /// The prompt alone.
    ExecutionOnly,
}

impl AdmittedFor {
    /// The spelling in documents.
    pub const fn name(self) -> &'static str {
        match self {
            AdmittedFor::Governance => "governance",
            AdmittedFor::ExecutionOnly => "execution_only",
        }
    }
}

/// One reference as the client declared it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeclaredRef {
    /// An event's id, or a turn's, which stands for its INTENT.
    pub ref_id: String,
    /// Type of the reference: always `event`.
    pub ref_type: RefType,
}

/// What a reference refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefType {
    /// An event of the thread.
    Event,
}

impl DeclaredRef {
    /// A reference to an event.
    pub fn event(id: impl Into<String>) -> Self {
        DeclaredRef {
            ref_id: id.into(),
            ref_type: RefType::Event,
        }
    }
}

/// One reference as it was resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResolvedRef {
    /// What it was let in for.
    pub admitted_for: AdmittedFor,
    /// The event's digest; null where its text was erased or never kept.
    pub event_digest: Option<NamedHash>,
    /// The event's place in its thread.
    pub event_index: u64,
    /// Id as the client declared it.
    pub ref_id: String,
    /// Type of the reference: always `event`.
    pub ref_type: RefType,
}

/// A transformation that the rules made; sorting is named by its rule alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transformation {
    /// `execution_only`, `left_out` or `named_twice`.
    pub effect: RuleEffect,
    /// The reference that it was made to.
    pub ref_id: String,
    /// The rule, or the configuration's key.
    pub rule: String,
}

/// What a rule did to a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleEffect {
    /// Kept from policy.
    ExecutionOnly,
    /// Not shown to a model; what the configuration keeps out is not resolved either.
    LeftOut,
    /// Names an event that another reference names, or the same reference did; it is shown once.
    NamedTwice,
}

/// Where a turn stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The turn that this one replies to; none for the first of its thread.
    pub parent_turn_id: Option<String>,
    /// Id of the thread that the turn belongs to.
    pub thread_id: String,
    /// Id of the turn.
    pub turn_id: String,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntentSpec {
    /// Type of the intent: always `chat.message`.
    pub intent_type: String,
    /// The stored text, without white space at its ends.
    pub user_input: String,
}

/// What was done to the references.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NormalizationRecord {
    /// The configuration's rules, sorted.
    pub applied_rules: Vec<ContextRule>,
    /// The configuration's version.
    pub boundary_version: String,
    /// The configuration's digest.
    pub config_digest: NamedHash,
    /// What the rules changed, by `ref_id`; absent when they changed nothing but the order, and
    /// from what is hashed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transformations: Vec<Transformation>,
}

/// What was declared, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retrieval {
    /// As the client declared them, sorted.
    pub declared_refs: Vec<DeclaredRef>,
    /// What was done to them.
    pub normalization: NormalizationRecord,
    /// What each of them stands for, by `event_index`.
    pub resolved_refs: Vec<ResolvedRef>,
}

/// How the context was put together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AssemblyRules {
    /// The configuration's order.
    pub ordering: Sort,
    /// Version of the specification: always `ctxspec.2`.
    pub schema_version: String,
}

/// The specification of a context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextSpec {
    /// How it was put together.
    pub assembly_rules: AssemblyRules,
    /// Where the turn stands.
    pub identity: Identity,
    /// What is asked.
    pub intent: IntentSpec,
    /// What was declared, and what came of it.
    pub retrieval: Retrieval,
}

/// A message of the context, by who says it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextMessage {
    /// Text of the message.
    pub content: String,
    /// `system` for the context block, `user` for the question.
    pub role: String,
}

/// What was put together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AssembledContext {
    /// The resolved references.
    pub assembled_from: Vec<ResolvedRef>,
    /// The context block, if anything was referred to, and the question.
    pub model_messages: Vec<ContextMessage>,
    /// Digests of the INTENTs, sorted.
    pub normative_input_digests: Vec<NamedHash>,
}

/// References that were resolved, with their events, by `event_index` and then by id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedContext {
    /// As declared, sorted.
    pub declared: Vec<DeclaredRef>,
    /// What each of them stands for.
    pub refs: Vec<(ResolvedRef, ThreadEvent)>,
    /// What the rules changed.
    pub transformations: Vec<Transformation>,
}

impl ResolvedContext {
    /// The events that are referred to, each once under the first of its ids.
    pub fn events(&self) -> impl Iterator<Item = &(ResolvedRef, ThreadEvent)> {
        let mut last = None;
        self.refs.iter().filter(move |(reference, _)| {
            last.replace(reference.event_index) != Some(reference.event_index)
        })
    }

    /// The events that a model is shown: without what gates and caps kept out.
    pub fn shown(&self) -> impl Iterator<Item = &(ResolvedRef, ThreadEvent)> {
        let kept = left_out(&self.transformations);
        self.events()
            .filter(move |(reference, _)| !kept.contains(reference.ref_id.as_str()))
    }
}

/// Ids of references that no model is shown.
pub fn left_out(made: &[Transformation]) -> HashSet<&str> {
    made.iter()
        .filter(|one| one.effect == RuleEffect::LeftOut)
        .map(|one| one.ref_id.as_str())
        .collect()
}

/// Which of the two forms of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextForm {
    /// What a model is shown.
    Sent,
    /// All that was resolved, with digests in place of what a model said.
    Hashed,
}

impl ContextSpec {
    /// The specification of a turn's context.
    pub fn new(
        config: &ContextConfig,
        identity: Identity,
        intent_type: &str,
        text: &str,
        resolved: &ResolvedContext,
    ) -> Self {
        let mut applied_rules = config.normalization().to_vec();
        applied_rules.sort();
        ContextSpec {
            assembly_rules: AssemblyRules {
                ordering: config.rules().canonical_sort,
                schema_version: SPEC_VERSION.to_owned(),
            },
            identity,
            intent: IntentSpec {
                intent_type: intent_type.to_owned(),
                user_input: stripped(text).to_owned(),
            },
            retrieval: Retrieval {
                declared_refs: resolved.declared.clone(),
                normalization: NormalizationRecord {
                    applied_rules,
                    boundary_version: config.version().to_owned(),
                    config_digest: config.digest(),
                    transformations: resolved.transformations.clone(),
                },
                resolved_refs: resolved
                    .refs
                    .iter()
                    .map(|(reference, _)| reference.clone())
                    .collect(),
            },
        }
    }

    /// As it is hashed: what gates and caps kept from a model is no part of what was declared and
    /// resolved.
    pub fn hashed(&self) -> ContextSpec {
        let mut spec = self.clone();
        spec.retrieval.normalization.transformations.clear();
        spec
    }
}

impl AssembledContext {
    /// The context of a question, in one of its forms.
    pub fn new(text: &str, resolved: &ResolvedContext, form: ContextForm) -> Self {
        let block = context_block(resolved, form).map(|content| ContextMessage {
            content,
            role: "system".to_owned(),
        });
        let question = ContextMessage {
            content: stripped(text).to_owned(),
            role: "user".to_owned(),
        };
        AssembledContext {
            assembled_from: resolved
                .refs
                .iter()
                .map(|(reference, _)| reference.clone())
                .collect(),
            model_messages: block.into_iter().chain([question]).collect(),
            normative_input_digests: normative_inputs(resolved),
        }
    }
}

/// Digests of the INTENTs that are referred to, sorted; one whose text is not here has none.
pub fn normative_inputs(resolved: &ResolvedContext) -> Vec<NamedHash> {
    let intents = resolved
        .refs
        .iter()
        .filter(|(_, event)| event.kind() == EventKind::Intent);
    let mut digests: Vec<NamedHash> = intents.filter_map(|(_, event)| event.digest()).collect();
    digests.sort();
    digests
}

#[derive(Serialize)]
struct SpecForm<'a> {
    assembled_context: &'a AssembledContext,
    context_spec: &'a ContextSpec,
}

/// `context_digest`: over the specification and the hashed form.
pub fn context_digest(
    spec: &ContextSpec,
    hashed: &AssembledContext,
) -> Result<NamedHash, JsonFault> {
    json::digest_of(&SpecForm {
        assembled_context: hashed,
        context_spec: &spec.hashed(),
    })
}

#[cfg(test)]
#[path = "spec_tests.rs"]
mod tests;
