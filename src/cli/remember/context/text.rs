//! A context as people read it.

use crate::app::look::not_shown::kept_out;
use crate::app::remember::context::{ContextNames, screen_text};
use crate::app::words::age_words;
use crate::cli::screen::{beginning, quiet};
use crate::continuity::score::ScoreParts;
use crate::continuity::turns::DECLARED;
use crate::record::ledger::bundle::{ArtifactRef, Exclusion};
use crate::record::ledger::prompt::{IMPORTED, TURN};
use crate::record::ledger::short_name::short_name;
use crate::view::remember::context::disclosed;

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
    /// Whether scores and the record's own codes are told.
    pub verbose: bool,
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
        format!("{}\n{}", self.title, self.parts())
    }

    /// The same without its title.
    pub fn parts(&self) -> String {
        let mut out = String::new();
        let mut last = String::new();
        let width = self.names.refs.iter().map(String::len).max().unwrap_or(0);
        let said = self.texts.iter().map(Option::as_deref);
        for ((one, name), said) in self.refs.iter().zip(&self.names.refs).zip(said) {
            let group = group(one);
            if group != last {
                out.push_str(&format!("\n{group}\n"));
                last = group;
            }
            out.push_str(&line(&format!("{name:width$}"), one, said, self.verbose));
        }
        if !self.exclusions.is_empty() {
            out.push_str("\nkept out\n");
            let named = self.exclusions.iter().zip(&self.names.exclusions);
            out.extend(named.map(|(one, name)| self.kept_out(one, name)));
        }
        if let Some(said) = disclosed(self.refs) {
            out.push_str(&format!("\n{}\n", quiet(&said)));
        }
        out
    }
}

impl ContextText<'_> {
    fn kept_out(&self, one: &Exclusion, name: &str) -> String {
        let (name, code) = (quiet(name), quiet(&one.reason));
        match kept_out(&one.reason) {
            Some(why) if self.verbose => format!("    {name}  {why} ({code})\n"),
            Some(why) => format!("    {name}  {why}\n"),
            None => format!("    {name}  {code}\n"),
        }
    }
}

/// What is to be known of something: `disagrees with fact-2`, `unknown: inodes`.
fn flag(risk: &str) -> String {
    match risk.split_once(':') {
        Some(("conflict", other)) => format!("disagrees with {}", short_name(other)),
        Some((word, what)) => format!("{word}: {}", what.replace('_', " ")),
        None => risk.replace('_', " "),
    }
}

fn line(name: &str, one: &ArtifactRef, said: Option<&str>, verbose: bool) -> String {
    let mut line = format!("    {}", quiet(name));
    let score = ScoreParts::read(&one.included_reason).filter(|_| verbose);
    if let Some((why, parts)) = score {
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
        let age = age_words(age);
        // The time of what an import brought is what its source says, else that of the import.
        line.push_str(&match one.artifact_type == IMPORTED {
            true => format!("  said or imported {age} ago"),
            false => format!("  {age} old"),
        });
    }
    if !one.risk_flags.is_empty() {
        let flags: Vec<String> = one.risk_flags.iter().map(|risk| flag(risk)).collect();
        line.push_str(&format!("  {}", quiet(&flags.join(", "))));
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
