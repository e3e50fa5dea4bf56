//! `gently log`: the newest lines of `audit.log`, decoded, each held against the line before it.
//!
//! Reads the file from its end. Exit 1 when a shown line does not follow the one before, or is no
//! line.

use serde_json::{Value, json};

use crate::record::log::entry::Line;
use crate::record::time::Seconds;
use crate::store::Store;

use super::args::LogArgs;
use super::screen::quiet;
use super::{COULD_NOT, NEGATIVE, print, say};
use crate::app::find;
use crate::app::open;
use crate::app::open::OpenHomeError;

use crate::app::log_lines::{LineFilter, LineView, collect};

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
        .map(|line| if json { facts(line) } else { plain(line) } + "\n")
        .collect();
    let printed = print(&text);
    if found.torn > 0 {
        if json {
            print(&format!("{}\n", json!({"torn_bytes": found.torn})));
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

/// `2025-12-31T04:25:37Z`, `2025-12-31` (its first second, UTC), or an age: `90s`, `15m`, `2h`,
/// `3d`, `1w`.
pub fn when(flag: &str, text: &str, now: Seconds) -> Result<Seconds, String> {
    let wrong = || {
        format!(
            "{flag} takes 2025-12-31T04:25:37Z, 2025-12-31, or an age like 2h or 3d; not '{text}'"
        )
    };
    if let Ok(time) = text.parse() {
        return Ok(time);
    }
    if let Ok(day) = format!("{text}T00:00:00Z").parse() {
        return Ok(day);
    }
    let unit = match text.chars().last() {
        Some('s') => 1,
        Some('m') => 60,
        Some('h') => 3600,
        Some('d') => 86_400,
        Some('w') => 604_800,
        _ => return Err(wrong()),
    };
    let digits = text
        .get(..text.len() - 1)
        .filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    let count: u64 = digits
        .and_then(|digits| digits.parse().ok())
        .ok_or_else(wrong)?;
    let age = count.checked_mul(unit).ok_or_else(wrong)?;
    Seconds::new(now.get().saturating_sub(age)).map_err(|_| wrong())
}

/// One line as people read it.
fn plain(shown: &LineView) -> String {
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

/// The same and more as one JSON object.
fn facts(shown: &LineView) -> String {
    let mut facts = json!({
        "line": shown.number, "offset": shown.offset,
        "chain": if shown.fault().is_none() { "holds" } else { "broken" }, "fault": shown.fault(),
    });
    match &shown.line {
        Ok(line) => {
            let details: serde_json::Map<String, Value> = line
                .event
                .fields()
                .into_iter()
                .map(|(key, value)| (key, Value::String(value)))
                .collect();
            facts["hash"] = json!(line.hash.to_string());
            facts["btc_height"] = json!(line.height);
            facts["time"] = json!(line.time.to_string());
            facts["event"] = json!(line.event.name());
            facts["code"] = json!(line.event.code());
            facts["session"] = json!(line.session.map(|id| id.to_string()));
            facts["details"] = Value::Object(details);
        }
        Err(_) => facts["raw"] = json!(String::from_utf8_lossy(&shown.bytes)),
    }
    facts.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_is_a_time_a_day_or_an_age() {
        let now: Seconds = "2026-11-22T02:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("2025-12-31T04:25:37Z", Some("2025-12-31T04:25:37Z")),
            ("2025-12-31", Some("2025-12-31T00:00:00Z")),
            ("90s", Some("2026-11-22T01:58:30Z")),
            ("15m", Some("2026-11-22T01:45:00Z")),
            ("2h", Some("2026-11-22T00:00:00Z")),
            ("3d", Some("2026-11-19T02:00:00Z")),
            ("1w", Some("2026-11-15T02:00:00Z")),
            ("99999w", Some("1970-01-01T00:00:00Z")),
            ("", None),
            ("h", None),
            ("2", None),
            ("-2h", None),
            ("+2h", None),
            ("2 h", None),
            ("2y", None),
            ("2é", None),
            ("2025-13-01", None),
            ("99999999999999999999d", None),
            ("9999999999999999999w", None),
            ("2025-12-31 04:25:37", None),
        ] {
            assert_eq!(
                when("--since", text, now)
                    .ok()
                    .map(|t| t.to_string())
                    .as_deref(),
                expected,
                "{text}"
            );
        }
    }

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
