//! What a declared reference loses: events that were declared and are not shown to a model, with
//! the reason.

use serde_json::{Value, json};

use crate::continuity::declared::TurnContext;
use crate::continuity::gates::ExclusionReason;
use crate::record::context::event::EventKind;
use crate::record::context::spec::{RuleEffect, Transformation};

/// Ids that are named in one line.
const NAMED: usize = 6;
/// Digits of an id that people are shown.
const DIGITS: usize = 8;

/// What was declared and is not shown, by id.
fn left(context: &TurnContext) -> impl Iterator<Item = &Transformation> {
    context
        .transformations()
        .iter()
        .filter(|made| made.effect == RuleEffect::LeftOut)
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

/// A line for each reason, for a person.
pub fn lines(context: &TurnContext, unfit: u64) -> Vec<String> {
    let mut rules: Vec<&str> = Vec::new();
    for made in left(context) {
        if !rules.contains(&made.rule.as_str()) {
            rules.push(&made.rule);
        }
    }
    let mut lines: Vec<String> = Vec::new();
    for rule in rules {
        let of: Vec<&Transformation> = left(context).filter(|made| made.rule == rule).collect();
        let named: Vec<String> = of
            .iter()
            .take(NAMED)
            .map(|made| {
                format!(
                    "{} {}…",
                    what(context, &made.ref_id),
                    made.ref_id.get(..DIGITS).unwrap_or_default()
                )
            })
            .collect();
        let more = of.len().saturating_sub(NAMED);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        lines.push(format!(
            "not shown to the model: {}{more} ({rule}: {})",
            named.join(", "),
            why(rule)
        ));
    }
    if unfit > 0 {
        let turns = if unfit == 1 { "turn has" } else { "turns have" };
        lines.push(format!(
            "not declared: {unfit} of the last {turns} no place, as context.max_refs in context.json allows no more references"
        ));
    }
    lines
}

/// The same for programs.
pub fn facts(context: &TurnContext) -> Value {
    let told = |made: &Transformation| json!({"ref_id": made.ref_id, "what": what(context, &made.ref_id), "reason": made.rule, "says": why(&made.rule)});
    left(context).map(told).collect()
}
