//! A context as people read it.

use crate::app::context::{ContextNames, screen_text};
use crate::cli::screen::{beginning, quiet};
use crate::continuity::score::ScoreParts;
use crate::continuity::turns::DECLARED;
use crate::record::ledger::bundle::{ArtifactRef, Exclusion};
use crate::record::ledger::prompt::TURN;
use crate::record::ledger::short_name::short_name;
use crate::view::context::disclosed;

/// How much of a text stands in a line.
const EXCERPT: usize = 70;

/// What was put before a model, and what was kept out.
pub struct ContextText<'a> {
    /// What it is the context of.
    pub title: String,
    /// How all of it is called.
    pub names: &'a ContextNames,
    /// What was put.
    pub refs: &'a [ArtifactRef],
    /// What each of them says, where it says anything.
    pub texts: &'a [Option<String>],
    /// What was kept out.
    pub exclusions: &'a [Exclusion],
}

/// Why a reference is there, or how it was declared; the record calls the first three ring 0 to 2.
fn group(reference: &ArtifactRef) -> String {
    let reason = &reference.included_reason;
    if let Some(declared) = reason.strip_prefix(DECLARED) {
        return format!("earlier turns, declared ({declared})");
    }
    let heading = match reason.split_once('.') {
        Some(("ring0", _)) => "in every prompt",
        Some(("ring1", _)) => "found for the question",
        Some(("ring2", _)) => "found in all sessions, or in conflict with what was found",
        _ => reason,
    };
    heading.to_owned()
}

impl ContextText<'_> {
    /// Each artifact in a line, under its ring; scores in columns.
    pub fn print(&self) -> String {
        let mut out = format!("{}\n", self.title);
        let mut last = String::new();
        let width = self.names.refs.iter().map(String::len).max().unwrap_or(0);
        let said = self.texts.iter().map(Option::as_deref);
        for ((one, name), said) in self.refs.iter().zip(&self.names.refs).zip(said) {
            let group = group(one);
            if group != last {
                out.push_str(&format!("\n{group}\n"));
                last = group;
            }
            out.push_str(&line(&format!("{name:width$}"), one, said));
        }
        if !self.exclusions.is_empty() {
            out.push_str("\nkept out\n");
            let lines = self
                .exclusions
                .iter()
                .zip(&self.names.exclusions)
                .map(|(one, name)| format!("    {}  {}\n", quiet(name), quiet(&one.reason)));
            out.extend(lines);
        }
        if let Some(said) = disclosed(self.refs) {
            out.push_str(&format!("\n{}\n", quiet(&said)));
        }
        out
    }
}

/// What is to be known of something: `disagrees with fact-2`.
fn flag(risk: &str) -> String {
    match risk.strip_prefix("conflict:") {
        Some(other) => format!("disagrees with {}", short_name(other)),
        None => risk.to_owned(),
    }
}

fn line(name: &str, one: &ArtifactRef, said: Option<&str>) -> String {
    let mut line = format!("    {}", quiet(name));
    if let Some((why, parts)) = ScoreParts::read(&one.included_reason) {
        let named: Vec<String> = parts
            .named()
            .iter()
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        line.push_str(&format!("  {} = {}", parts.total(), named.join(", ")));
        if let Some((_, why)) = why.split_once('.') {
            line.push_str(&format!(", for {why}"));
        }
    }
    if let Some(age) = one.freshness_s {
        line.push_str(&format!("  {age} s old"));
    }
    if !one.risk_flags.is_empty() {
        let flags: Vec<String> = one.risk_flags.iter().map(|risk| flag(risk)).collect();
        line.push_str(&format!("  {}", quiet(&flags.join(" "))));
    }
    line.truncate(line.trim_end().len());
    match said {
        Some(said) => line.push_str(&format!(
            "\n        {}",
            beginning(&screen_text(one, said), EXCERPT)
        )),
        None if one.artifact_type == TURN => line.push_str("\n        (erased)"),
        None => {}
    }
    line.push('\n');
    line
}
