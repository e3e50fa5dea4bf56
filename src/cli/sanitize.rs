//! `gently sanitize`: the pipeline's own function for scripts, hooks and measurements; and which
//! rules are in force.

use std::io::{BufRead as _, BufWriter, Read as _, Write};
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::config::Config;
use crate::govern::sanitize::{
    self, Engine, HomeRules, OPTIONAL, RuleFault, SecretFinding, redact,
};
use crate::home::locate;
use crate::record::hash::Hash32;

use super::args::SanitizeArgs;
use super::screen::Gate;
use super::wire::{OpenHomeError, env};
use super::{FINE, could_not, print, say};

/// Standard input past this is no text for one redaction.
const MAX_INPUT: u64 = 64 * 1024 * 1024;

/// Takes secrets out of standard input.
///
/// Works without a home; where there is one, the rule files of its configuration are in force, too.
pub fn run(args: &SanitizeArgs, json: bool) -> Result<u8, OpenHomeError> {
    if let Ok(home) = locate(env("GENTLY_HOME")) {
        put_in_force(&Config::load(&home, &env)?)?;
    }
    let done = if args.jsonl { lines() } else { whole(json) };
    Ok(done.unwrap_or_else(|why| could_not(&why, json)))
}

/// Puts the rules of a configuration in force; a file that can't be used is an error, before
/// anything else is done.
pub fn put_in_force(config: &Config) -> Result<(), RuleFault> {
    if config.rules.is_empty() && config.allow.is_empty() && config.optional.is_empty() {
        return Ok(());
    }
    // A second call in one process is for the same home.
    sanitize::put_in_force(engine(config)?);
    Ok(())
}

/// The rules of a configuration, ready to be used.
fn engine(config: &Config) -> Result<Engine, RuleFault> {
    let files = config
        .rules
        .iter()
        .map(|path| Ok((path.display().to_string(), text_of(path)?)));
    let chosen = OPTIONAL
        .iter()
        .filter(|(name, ..)| config.optional.iter().any(|chosen| chosen == name));
    let choice = HomeRules {
        allow: config.allow.clone(),
        optional: chosen.map(|(.., kind)| *kind).collect(),
    };
    Engine::with(&files.collect::<Result<Vec<_>, RuleFault>>()?, &choice)
}

/// What is in force by a configuration, in words: how many rules, and each file with its SHA-256.
pub fn described(config: &Config) -> Result<String, RuleFault> {
    let engine = engine(config)?;
    let mut words = format!("{} rules", engine.rules());
    let exempt = engine.exemptions();
    if exempt.count > 0 {
        words.push_str(&format!("; {} exempted by [sanitize] allow", exempt.count));
    }
    for name in &config.optional {
        words.push_str(&format!("; {name} looked for"));
    }
    for path in &config.rules {
        words.push_str(&format!(
            "; {} sha256 {}",
            path.display(),
            Hash32::digest(text_of(path)?.as_bytes())
        ));
    }
    Ok(words)
}

fn text_of(path: &Path) -> Result<String, RuleFault> {
    let fault = |e: std::io::Error| RuleFault {
        file: path.display().to_string(),
        rule: None,
        reason: format!("it can't be read: {e}"),
    };
    std::fs::read_to_string(path).map_err(fault)
}

/// One text: all of standard input.
fn whole(json: bool) -> Result<u8, String> {
    let mut bytes = Vec::new();
    let read = std::io::stdin()
        .lock()
        .take(MAX_INPUT + 1)
        .read_to_end(&mut bytes);
    read.map_err(|e| format!("reading standard input: {e}"))?;
    if bytes.len() as u64 > MAX_INPUT {
        return Err(format!(
            "standard input holds more than {MAX_INPUT} bytes; give less at a time"
        ));
    }
    let text = String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        format!("standard input is not UTF-8 at byte {at}, so nothing was looked at; convert it first, for example with iconv")
    })?;
    let redaction = redact(&text);
    for finding in &redaction.found {
        say(&format!(
            "removed: {} at bytes {} to {}",
            finding.kind, finding.start, finding.end
        ));
    }
    for finding in &redaction.allowed {
        say(&format!(
            "left, by [sanitize] allow: {} at bytes {} to {}",
            finding.kind, finding.start, finding.end
        ));
    }
    let clean = redaction.clean.as_str();
    if json {
        let facts = told(
            json!({ "text": clean, "found": facts(&redaction.found) }),
            &redaction.allowed,
        );
        return Ok(print(&format!("{facts}\n")));
    }
    Ok(print(clean))
}

#[derive(Deserialize)]
struct SanitizeInput {
    id: Value,
    text: String,
}

/// One text a line, until the end of standard input or the first line that is none.
fn lines() -> Result<u8, String> {
    let mut out = BufWriter::new(Gate::out());
    let written = |e: std::io::Error| format!("writing to standard output: {e}");
    for (nth, line) in std::io::stdin().lock().lines().enumerate() {
        let number = nth + 1;
        let line = line.map_err(|e| format!("standard input, line {number}: {e}"))?;
        if line.trim().is_empty() {
            continue;
        }
        let given: SanitizeInput = serde_json::from_str(&line).map_err(|e| {
            let what = format!("column {}, {:?}", e.column(), e.classify());
            format!("standard input, line {number}: expected {{\"id\", \"text\"}}, a JSON object on one line; found something else ({what})")
        })?;
        let redaction = redact(&given.text);
        let clean = redaction.clean.as_str();
        let one = json!({ "id": given.id, "text": clean, "found": facts(&redaction.found) });
        let facts = told(one, &redaction.allowed);
        writeln!(out, "{facts}").map_err(written)?;
    }
    out.flush().map_err(written)?;
    Ok(FINE)
}

/// Adds what stays by the home's list, where there is such.
fn told(mut facts_of: Value, allowed: &[SecretFinding]) -> Value {
    if !allowed.is_empty() {
        facts_of["allowed"] = facts(allowed);
    }
    facts_of
}

fn facts(found: &[SecretFinding]) -> Value {
    found
        .iter()
        .map(|finding| json!({ "kind": finding.kind, "start": finding.start, "end": finding.end }))
        .collect()
}
