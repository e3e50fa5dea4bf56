//! What a declared reference loses: events that were declared and are not shown to a model, with
//! the reason.

use crate::continuity::declared::TurnContext;
use crate::continuity::gates::ExclusionReason;
use crate::record::context::event::EventKind;
use crate::record::context::spec::{RuleEffect, Transformation};

/// One event that was declared and is not shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnshownReference {
    /// Its id.
    pub ref_id: String,
    /// `question`, `decision` or `answer`.
    pub what: &'static str,
    /// The rule that kept it out.
    pub rule: String,
    /// The same for a person.
    pub why: &'static str,
}

/// What was declared for a turn and is not shown to its model, in the order of the rules.
pub fn not_shown(context: &TurnContext) -> Vec<UnshownReference> {
    let unshown = |made: &Transformation| UnshownReference {
        ref_id: made.ref_id.clone(),
        what: what(context, &made.ref_id),
        rule: made.rule.clone(),
        why: why(&made.rule),
    };
    context
        .transformations()
        .iter()
        .filter(|made| made.effect == RuleEffect::LeftOut)
        .map(unshown)
        .collect()
}

/// What it is, in a word.
fn what(context: &TurnContext, id: &str) -> &'static str {
    let refs = context
        .resolved()
        .map_or(&[][..], |resolved| &resolved.refs);
    match refs
        .iter()
        .find(|(reference, _)| reference.ref_id == id)
        .map(|(_, event)| event.kind())
    {
        Some(EventKind::Intent) => "question",
        Some(EventKind::Decision) => "decision",
        Some(EventKind::Execution) | None => "answer",
    }
}

/// Why, for a person.
fn why(rule: &str) -> &'static str {
    let codes = [
        (
            ExclusionReason::AuthorityIncompatible,
            "policy denied it, or its kernel withheld it",
        ),
        (
            ExclusionReason::Forbidden,
            "it is about a topic that the kernel's policy forbids",
        ),
        (ExclusionReason::Sensitive, "a secret is found in it"),
        (
            ExclusionReason::EvidenceBlob,
            "it is a dump, a document or encoded data, and no statement",
        ),
        (ExclusionReason::Erased, "its text is erased"),
        (ExclusionReason::NotKept, "its text was never kept"),
        (
            ExclusionReason::RingCapItems,
            "the kernel's rings.refs.items are used up by newer ones",
        ),
        (
            ExclusionReason::RingCapTokens,
            "the kernel's rings.refs.tokens leave no room for it beside newer ones",
        ),
    ];
    match codes.iter().find(|(kept, _)| kept.code() == rule) {
        Some((_, words)) => words,
        None => "context.json keeps answers out of prompts",
    }
}
