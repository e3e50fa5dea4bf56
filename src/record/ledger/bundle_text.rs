//! What a bundle says to a model: only what is not empty, in plain words, above the question.
//!
//! ```text
//! Facts on record:
//! - ledger:000003: The server room is on the second floor. (user, 2026-01-08, high)
//!
//! This machine:
//! - disk_usage, 2 s old: root_free_gb 12.5, root_used_pct 81
//! ```
//! The rest of a bundle (phase, tier, kernel, constraints) is for the record: the kernel's text says
//! in words what a model needs of it. Each entry is one line, so that nothing in it looks like a
//! heading or like the question.

use std::fmt::Write as _;

use super::bundle::{Bundle, Measurement, NoSight, SightEntry};
use super::request::one_line;

/// The text; none when the bundle has nothing to say.
pub fn bundle_text(bundle: &Bundle) -> Option<String> {
    let sections = [
        facts(bundle),
        open_items(bundle),
        intents(bundle),
        sight(bundle),
    ];
    let said: Vec<String> = sections.into_iter().flatten().collect();
    (!said.is_empty()).then(|| said.join("\n\n"))
}

fn section(heading: &str, lines: impl Iterator<Item = String>) -> Option<String> {
    let mut text = heading.to_owned();
    for line in lines {
        text.push_str("\n- ");
        text.push_str(&one_line(&line));
    }
    (text.len() > heading.len()).then_some(text)
}

fn facts(bundle: &Bundle) -> Option<String> {
    let lines = bundle.facts.iter().map(|fact| {
        let at = fact.observed_at.to_string();
        let day = at.get(..10).unwrap_or(&at);
        let (id, claim, source) = (&fact.id, &fact.claim, &fact.source);
        format!("{id}: {claim} ({source}, {day}, {})", fact.confidence)
    });
    section("Facts on record:", lines)
}

fn open_items(bundle: &Bundle) -> Option<String> {
    let lines = bundle.open_items.iter();
    section(
        "Open questions on record:",
        lines.map(|item| item.issue.clone()),
    )
}

fn intents(bundle: &Bundle) -> Option<String> {
    // The kernel's own is said in the system message.
    let by_people = bundle
        .intent
        .iter()
        .filter(|intent| intent.source != "system");
    section(
        "What the person is working towards:",
        by_people.map(|intent| intent.intent.clone()),
    )
}

fn sight(bundle: &Bundle) -> Option<String> {
    let lines = bundle
        .sight
        .iter()
        .filter_map(|(tool, entry)| sight_line(tool, entry));
    section("This machine:", lines)
}

/// What one tool showed, or why nothing; none for one that was not looked at.
fn sight_line(tool: &str, entry: &SightEntry) -> Option<String> {
    let (mut line, unknowns) = match entry {
        SightEntry::Seen {
            freshness_s,
            values,
            unknowns,
            ..
        } => {
            let values = values
                .iter()
                .map(|(name, value)| format!("{name} {}", shown(value)));
            let values: Vec<String> = values.collect();
            (
                format!("{tool}, {freshness_s} s old: {}", values.join(", ")),
                unknowns,
            )
        }
        SightEntry::Unavailable {
            reason: NoSight::NotLooked(_),
            ..
        } => return None,
        SightEntry::Unavailable { reason, unknowns } => {
            let why = reason.name().replace('_', " ");
            (format!("{tool}: nothing was measured ({why})"), unknowns)
        }
    };
    if !unknowns.is_empty() {
        let _ = write!(line, "; unknown: {}", unknowns.join(", "));
    }
    Some(line)
}

/// A value as a model reads it; a text stands in quotes.
fn shown(value: &Measurement) -> String {
    match value {
        Measurement::Text(text) => format!("{text:?}"),
        number => number.to_string(),
    }
}
