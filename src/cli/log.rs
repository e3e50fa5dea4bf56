//! `gently log`: the newest lines of `audit.log`, decoded, each held against the line before it.
//!
//! Reads the file from its end. Exit 1 when a shown line does not follow the one before, or is no
//! line.

use crate::record::log::entry::Line;
use crate::store::Store;

use super::args::LogArgs;
use super::screen::quiet;
use super::{COULD_NOT, NEGATIVE, json_line, print, say};
use crate::app::find;
use crate::app::open;
use crate::app::open::OpenHomeError;

use crate::app::log_lines::{CheckedLine, LineFilter, collect};
use crate::app::moment::when;
use crate::view::log_line::{LogLineView, TornLineView};

/// How many lines are shown when nothing else is asked for.
const USUAL: usize = 20;
/// The widest event name of the format.
const EVENT_WIDTH: usize = 13;

/// Shows the lines.
pub fn run(args: &LogArgs, json: bool) -> Result<u8, OpenHomeError> {
    let home = open::existing_home()?;
    let since = match args
        .since
        .as_deref()
        .map(|text| when("--since", text, open::clock_or_epoch()))
        .transpose()
    {
        Ok(since) => since,
        Err(why) => {
            say(&format!("error: {why}"));
            return Ok(COULD_NOT);
        }
    };
    let store = Store::open_read_only(&home.paths().database())?;
    let session = args
        .session
        .as_deref()
        .map(|text| find::session(&store, text))
        .transpose()?;
    // All that is since then, unless a number is named too.
    let most = args
        .number
        .unwrap_or(if since.is_some() { usize::MAX } else { USUAL });
    let wanted = LineFilter {
        most,
        since,
        session: session.map(|row| row.id),
    };
    let found = match collect(&home.paths().log(), &store, &wanted) {
        Ok(found) => found,
        Err(error) => {
            say(&format!("error: {error}; look with: gently doctor"));
            return Ok(COULD_NOT);
        }
    };
    let text: String = found
        .shown
        .iter()
        .map(|line| {
            if json {
                json_line(&LogLineView::of(line))
            } else {
                plain(line) + "\n"
            }
        })
        .collect();
    let printed = print(&text);
    if found.torn > 0 {
        if json {
            print(&json_line(&TornLineView {
                torn_bytes: found.torn,
            }));
        }
        say(&format!(
            "the last line is torn: {} bytes without a newline; the next gently that writes finishes it",
            found.torn
        ));
    }
    if found.shown.is_empty() {
        say("no such lines");
    }
    let broken = found
        .shown
        .iter()
        .filter(|line| line.fault().is_some())
        .count();
    if broken > 0 {
        say(&format!(
            "{broken} of {} lines do not hold: gently audit verify",
            found.shown.len()
        ));
        return Ok(NEGATIVE.max(printed));
    }
    Ok(printed)
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

/// A hash or header by its first eight digits; any other text without what moves a cursor.
fn shortened(value: &str) -> String {
    const LONG: usize = 40;
    if value.len() >= LONG && value.bytes().all(|b| b.is_ascii_hexdigit()) {
        return format!("{}…", value.get(..8).unwrap_or(value));
    }
    quiet(value)
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
            shortened("openai/x\u{1b}[2Jy\n\u{202e}"),
            "openai/x\\u001b[2Jy\\n\\u202e"
        );
        assert_eq!(shortened("llama é"), "llama é");
    }
}
