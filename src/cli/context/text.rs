//! A context as people read it.

use crate::cli::screen::{beginning, quiet};
use crate::continuity::score::ScoreParts;
use crate::continuity::turns::DECLARED;
use crate::record::ledger::bundle::{ArtifactRef, Exclusion};
use crate::record::ledger::prompt::TURN;
use crate::view::context::disclosed;

/// How much of a text stands in a line.
const EXCERPT: usize = 70;

/// What was put before a model, and what was kept out.
pub struct ContextText<'a> {
    /// What it is the context of.
    pub title: String,
    /// What was put.
    pub refs: &'a [ArtifactRef],
    /// What each of them says, where it says anything.
    pub texts: &'a [Option<String>],
    /// What was kept out.
    pub exclusions: &'a [Exclusion],
}

/// Which ring a reference belongs to, or how it was declared.
fn group(reference: &ArtifactRef) -> String {
    let reason = &reference.included_reason;
    match reason.strip_prefix(DECLARED) {
        Some(declared) => format!("declared ({declared})"),
        None => match reason.split_once('.') {
            Some((ring, _)) if ring.starts_with("ring") => format!("{} {}", &ring[..4], &ring[4..]),
            _ => reason.clone(),
        },
    }
}

impl ContextText<'_> {
    /// Each artifact in a line, under its ring; scores in columns.
    pub fn print(&self) -> String {
        let mut out = format!("{}\n", self.title);
        let mut last = String::new();
        let width = self
            .refs
            .iter()
            .map(|one| one.artifact_id.len())
            .max()
            .unwrap_or(0);
        for (one, said) in self.refs.iter().zip(self.texts) {
            let group = group(one);
            if group != last {
                out.push_str(&format!("\n{group}\n"));
                last = group;
            }
            out.push_str(&line(one, said.as_deref(), width));
        }
        if !self.exclusions.is_empty() {
            out.push_str("\nkept out\n");
            let lines = self
                .exclusions
                .iter()
                .map(|one| format!("    {}  {}\n", quiet(&one.artifact), quiet(&one.reason)));
            out.extend(lines);
        }
        if let Some(said) = disclosed(self.refs) {
            out.push_str(&format!("\n{}\n", quiet(&said)));
        }
        out
    }
}

fn line(one: &ArtifactRef, said: Option<&str>, width: usize) -> String {
    let mut line = format!("    {:width$}", quiet(&one.artifact_id));
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
        line.push_str(&format!("  {}", quiet(&one.risk_flags.join(" "))));
    }
    line.truncate(line.trim_end().len());
    match said {
        Some(said) => line.push_str(&format!("\n        {}", beginning(said, EXCERPT))),
        None if one.artifact_type == TURN => line.push_str("\n        (erased)"),
        None => {}
    }
    line.push('\n');
    line
}
