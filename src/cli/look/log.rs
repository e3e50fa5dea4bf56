//! `gently log`: the newest lines of `audit.log`, decoded, each held against the line before it.
//!
//! Reads the file from its end. Exit 1 when a shown line does not follow the one before, or is no
//! line.

use crate::app::home::open::{self, OpenHomeError};
use crate::app::look::log_lines::{CheckedLine, LinesError, LinesRequest, newest};
use crate::cli::flags::spelled;
use crate::record::ledger::short_name::short_name;
use crate::record::log::entry::Line;
use crate::view::look::log_line::{LogLineView, TornLineView};

use crate::cli::args::LogArgs;
use crate::cli::screen::{ScreenFilter, quiet};
use crate::cli::{COULD_NOT, NEGATIVE, paged, present, rendered, say};

/// The widest event name of the format.
const EVENT_WIDTH: usize = 13;

/// Shows the lines.
pub fn run(args: &LogArgs, json: bool) -> Result<u8, OpenHomeError> {
    let request = LinesRequest {
        since: args.since.clone(),
        session: args.session.clone(),
        number: args.number,
    };
    let found = match newest(&open::existing_home()?, &request) {
        Ok(found) => found,
        Err(LinesError::Home(error)) => return Err(error),
        Err(LinesError::Since(why)) => return Ok(not_read(&spelled(&why))),
        Err(LinesError::Log(error)) => {
            return Ok(not_read(&format!("{error}; look with: gently doctor")));
        }
    };
    let line = |line: &CheckedLine| rendered(json, || LogLineView::of(line), || plain(line) + "\n");
    let lines: String = found.shown.iter().map(line).collect();
    let gate = if json {
        ScreenFilter::out
    } else {
        ScreenFilter::told
    };
    let printed = paged(&lines, gate);
    if found.torn > 0 {
        let torn_bytes = found.torn;
        present(json, || TornLineView { torn_bytes }, String::new);
        say(&format!(
            "the last line is torn: {torn_bytes} bytes without a newline; the next gently that writes finishes it"
        ));
    }
    if found.shown.is_empty() {
        say("no such lines");
    }
    let broken = found.broken();
    if broken > 0 {
        say(&format!(
            "{broken} of {} lines are not as they were written: gently audit verify",
            found.shown.len()
        ));
        return Ok(NEGATIVE.max(printed));
    }
    Ok(printed)
}

fn not_read(why: &str) -> u8 {
    say(&format!("error: {why}"));
    COULD_NOT
}

/// One line as people read it.
fn plain(shown: &CheckedLine) -> String {
    let fault = shown
        .fault()
        .map(|fault| format!("   << BROKEN: {fault}"))
        .unwrap_or_default();
    match &shown.line {
        Ok(line) => format!("{}{fault}", words(line)),
        Err(_) => format!("line {}: '{}'{fault}", shown.number, excerpt(&shown.bytes)),
    }
}

fn words(line: &Line) -> String {
    let height = if line.height == 0 {
        "local".to_owned()
    } else {
        line.height.to_string()
    };
    let session = line.session.map_or_else(|| "-".repeat(8), |id| id.short8());
    let fields: Vec<String> = line
        .event
        .fields()
        .into_iter()
        .map(|(key, value)| format!("{key} {}", shortened(&value)))
        .collect();
    format!(
        "{}  {height:>7}  {:EVENT_WIDTH$}  {session}  {}",
        line.time,
        quiet(line.event.name()),
        fields.join(", ")
    )
}

/// A hash, header or UUID by its first eight digits, a fact's id as screens have it; any other text
/// without what moves a cursor.
fn shortened(value: &str) -> String {
    const LONG: usize = 36;
    let is_digit = |b: u8| b.is_ascii_hexdigit() || b == b'-';
    if value.len() >= LONG && value.bytes().all(is_digit) {
        return format!("{}…", value.get(..8).unwrap_or(value));
    }
    quiet(&short_name(value))
}

fn excerpt(bytes: &[u8]) -> String {
    const LENGTH: usize = 80;
    let text: String = String::from_utf8_lossy(bytes)
        .chars()
        .take(LENGTH)
        .collect();
    quiet(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_never_moves_the_cursor_and_a_hash_is_short() {
        assert_eq!(shortened(&"ab".repeat(32)), "abababab…");
        assert_eq!(
            shortened("6d1c0c30-5d9e-8f52-9d0e-0c2b5a1f3e77"),
            "6d1c0c30…"
        );
        assert_eq!(shortened("ledger:000183"), "fact-183");
        assert_eq!(
            shortened("openai/x\u{1b}[2Jy\n\u{202e}"),
            "openai/x\\u001b[2Jy\\n\\u202e"
        );
        assert_eq!(shortened("llama é"), "llama é");
    }
}
