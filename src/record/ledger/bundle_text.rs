//! What a bundle says to a model: only what is not empty, in plain words, above the question.
//!
//! ```text
//! Facts on record:
//! - ledger:000003: The server room is on the second floor. (user, 2026-01-08, high)
//!
//! From conversations that were imported, not verified:
//! - imported:000001: user: Where is the server room? (imported:chatgpt, 2024-03-01, low)
//!
//! This machine:
//! - disk_usage, 2 s old: free space on /: 69,362 MB of 250,000, 73% used
//! ```
//! The rest of a bundle (phase, tier, kernel, constraints) is for the record: the kernel's text says
//! in words what a model needs of it. Each entry is one line, so that nothing in it looks like a
//! heading or like the question.

use std::fmt::Write as _;

use super::bundle::{Bundle, Fact, Measurement, NoSight, SightEntry};
use super::measurement_words::{plain_name, values_in_words};
use super::request::one_line;

/// The text, with measurements in words and nothing twice; none when the bundle has nothing to say.
pub fn brief_text(bundle: &Bundle) -> Option<String> {
    let mut issues: Vec<&str> = Vec::new();
    for item in &bundle.open_items {
        if !issues.contains(&item.issue.as_str()) {
            issues.push(&item.issue);
        }
    }
    let open = issues.into_iter().map(str::to_owned);
    text([
        facts(bundle),
        imported(bundle),
        section(OPEN, open),
        intents(bundle),
        sight(bundle, brief_sight_line),
    ])
}

/// The text as it was sent before: measurements by their names, each open item as it stands. For
/// requests on record, which name it.
pub fn bundle_text(bundle: &Bundle) -> Option<String> {
    let open = bundle.open_items.iter();
    text([
        facts(bundle),
        imported(bundle),
        section(OPEN, open.map(|item| item.issue.clone())),
        intents(bundle),
        sight(bundle, sight_line),
    ])
}

/// What stands above the open items.
const OPEN: &str = "Open questions on record:";

fn text(sections: [Option<String>; 5]) -> Option<String> {
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
    let own = bundle.facts.iter().filter(|fact| !fact.is_imported());
    section("Facts on record:", own.map(fact_line))
}

/// Passages of imported conversations: no facts, and nobody vouches for them.
fn imported(bundle: &Bundle) -> Option<String> {
    let passages = bundle.facts.iter().filter(|fact| fact.is_imported());
    section(
        "From conversations that were imported, not verified:",
        passages.map(fact_line),
    )
}

fn fact_line(fact: &Fact) -> String {
    let at = fact.observed_at.to_string();
    let day = at.get(..10).unwrap_or(&at);
    let (id, claim, source) = (&fact.id, &fact.claim, &fact.source);
    format!("{id}: {claim} ({source}, {day}, {})", fact.confidence)
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

/// What the tools showed, a line each; none of one that was not looked at.
fn sight(bundle: &Bundle, line: fn(&str, &SightEntry) -> Option<String>) -> Option<String> {
    let lines = bundle.sight.iter();
    section(
        "This machine:",
        lines.filter_map(|(tool, entry)| line(tool, entry)),
    )
}

/// `disk_usage, 2 s old: free space on /: 69,362 MB of 250,000, 73% used; unknown: inodes`
fn brief_sight_line(tool: &str, entry: &SightEntry) -> Option<String> {
    let (mut line, unknowns) = match entry {
        SightEntry::Seen {
            freshness_s,
            values,
            unknowns,
            ..
        } => {
            let values = values_in_words(values).join(", ");
            (format!("{tool}, {freshness_s} s old: {values}"), unknowns)
        }
        SightEntry::Unavailable { reason, unknowns } => (nothing(tool, *reason)?, unknowns),
    };
    if !unknowns.is_empty() {
        let names: Vec<String> = unknowns.iter().map(|name| plain_name(name)).collect();
        let _ = write!(line, "; unknown: {}", names.join(", "));
    }
    Some(line)
}

/// `disk_usage, 2 s old: disk1_free_mb 69362, disk1_mount "/"; unknown: inodes`
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
        SightEntry::Unavailable { reason, unknowns } => (nothing(tool, *reason)?, unknowns),
    };
    if !unknowns.is_empty() {
        let _ = write!(line, "; unknown: {}", unknowns.join(", "));
    }
    Some(line)
}

/// Why a tool showed nothing; none for one that was not looked at.
fn nothing(tool: &str, reason: NoSight) -> Option<String> {
    if matches!(reason, NoSight::NotLooked(_)) {
        return None;
    }
    let why = reason.name().replace('_', " ");
    Some(format!("{tool}: nothing was measured ({why})"))
}

/// A value as a model reads it; a text stands in quotes.
fn shown(value: &Measurement) -> String {
    match value {
        Measurement::Text(text) => format!("{text:?}"),
        number => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUNDLE: &str = r#"{"compiled_at":"2026-01-08T00:00:02Z","constraints":[],"exclusions":[],"facts":[{"claim":"The backup runs nightly.","confidence":"high","id":"ledger:000183","observed_at":"2026-01-07T23:31:44Z","source":"ledger"}],"host_role":"brain","intent":[],"kernel_hash":"sha256:39d8668c9e1c18834931c26be61912c018fcc8e17d52f36b0a00c7020fe1ab69","model_id":"m","open_items":[{"id":"driftwatch:1","issue":"authority (medium): claimed_side_effect count=1 sentences=1","status":"open"},{"id":"driftwatch:2","issue":"authority (medium): claimed_side_effect count=1 sentences=1","status":"open"}],"phase":"beta","session_id":"6d1c0c30-5d9e-8f52-9d0e-0c2b5a1f3e77","sight":{"disk_usage":{"available":true,"freshness_s":2,"observed_at":"2026-01-08T00:00:00Z","unknowns":["inodes","disk1_used_pct"],"values":{"disk1_free_mb":69362,"disk1_mount":"/","disk1_total_mb":250000}},"service_status":{"available":false,"reason":"not_installed","unknowns":["nginx.service"]},"sys_health":{"available":false,"reason":"not_looked","unknowns":[]}},"tier":2}"#;

    /// What was sent once is rendered to the same bytes for ever: a request on record names the words.
    #[test]
    fn a_bundle_is_told_by_names_as_it_was_and_in_words_as_it_is() {
        let bundle = Bundle::parse(BUNDLE).unwrap();
        assert_eq!(
            bundle_text(&bundle).unwrap(),
            "Facts on record:\n\
             - ledger:000183: The backup runs nightly. (ledger, 2026-01-07, high)\n\n\
             Open questions on record:\n\
             - authority (medium): claimed_side_effect count=1 sentences=1\n\
             - authority (medium): claimed_side_effect count=1 sentences=1\n\n\
             This machine:\n\
             - disk_usage, 2 s old: disk1_free_mb 69362, disk1_mount \"/\", disk1_total_mb 250000; unknown: inodes, disk1_used_pct\n\
             - service_status: nothing was measured (not installed); unknown: nginx.service"
        );
        assert_eq!(
            brief_text(&bundle).unwrap(),
            "Facts on record:\n\
             - ledger:000183: The backup runs nightly. (ledger, 2026-01-07, high)\n\n\
             Open questions on record:\n\
             - authority (medium): claimed_side_effect count=1 sentences=1\n\n\
             This machine:\n\
             - disk_usage, 2 s old: free space on /: 69,362 MB of 250,000; unknown: inodes, disk1 used pct\n\
             - service_status: nothing was measured (not installed); unknown: nginx.service"
        );
    }
}
