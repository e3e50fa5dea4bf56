//! `gently sanitize`: the pipeline's own function for scripts, hooks and measurements.

use std::io::{BufRead as _, BufWriter, Read as _, Write};

use serde::Deserialize;
use serde_json::Value;

use crate::config::Config;
use crate::govern::sanitize::redact;
use crate::home::locate;

use crate::app::home::open::{OpenHomeError, env};
use crate::app::set_up::rules_in_force::put_in_force;
use crate::cli::args::SanitizeArgs;
use crate::cli::screen::ScreenFilter;
use crate::cli::{FINE, could_not, json_line, present_as_is, say};
use crate::view::set_up::sanitized::RedactionView;

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
    let view = || RedactionView::of(None, &redaction);
    let text = || redaction.clean.as_str().to_owned();
    Ok(present_as_is(json, view, text))
}

#[derive(Deserialize)]
struct SanitizeInput {
    id: Value,
    text: String,
}

/// One text a line, until the end of standard input or the first line that is none.
fn lines() -> Result<u8, String> {
    let mut out = BufWriter::new(ScreenFilter::out());
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
        let view = json_line(&RedactionView::of(Some(given.id), &redaction));
        out.write_all(view.as_bytes()).map_err(written)?;
    }
    out.flush().map_err(written)?;
    Ok(FINE)
}
