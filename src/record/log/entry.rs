//! One line of `audit.log` (format, section 4).
//!
//! ```text
//! HASH|BTC_HEIGHT|TIMESTAMP|EVENT_TYPE|SESSION_ID|DETAILS
//! ba87944e…|829002|2024-02-05T06:14:02Z|prompt|a89ea86f…|hash:ceba4798…,seq:1
//! ```
//!
//! A line is accepted only when it is, byte for byte, what [`Line::text`] prints for it. What
//! several lines must be to each other is in [`super::rules`].

use std::fmt::Write as _;

use super::chain::line_hash;
use super::details;
use super::event::SessionField;
use crate::record::canon::Remainder;
use crate::record::hash::{Hash32, HashError};
use crate::record::time::{Seconds, TimeError};

pub use super::event::{DriftClass, Event};

/// The longest line in bytes, without its newline.
///
/// Tiled transparency logs carry an entry behind a 16-bit length, and every line is such an entry
/// (format, section 2); a reader of a hostile file allocates no more than this at a time.
pub const MAX_LINE: usize = 65_535;

/// How much of a foreign text an error repeats: enough for an id or a hash.
const EXCERPT: usize = 80;

/// Why bytes are not a line of the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// Longer than [`MAX_LINE`].
    #[error("the line has {actual} bytes, more than {max}")]
    TooLong {
        /// Most bytes that a line may have.
        max: usize,
        /// Size of the line, in bytes.
        actual: usize,
    },
    /// A byte outside printable ASCII.
    #[error("a line is printable ASCII, byte {at} is 0x{actual:02x}")]
    Character {
        /// Byte of the line where it stands, from 0.
        at: usize,
        /// The byte that no line may have.
        actual: u8,
    },
    /// Not six fields.
    #[error("a line has {expected} fields divided by '|', this has {actual}")]
    Fields {
        /// How many fields a line has: six.
        expected: usize,
        /// How many fields there are.
        actual: usize,
    },
    /// HASH or SESSION_ID is no hash.
    #[error("{field}: {source}")]
    Hash {
        /// HASH or SESSION_ID.
        field: &'static str,
        /// What is wrong with it.
        source: HashError,
    },
    /// BTC_HEIGHT is not a height.
    #[error("BTC_HEIGHT is a number without leading zero, not '{actual}'")]
    Height {
        /// What was found.
        actual: String,
    },
    /// TIMESTAMP is not a time.
    #[error("TIMESTAMP: {source}")]
    Time {
        /// What is wrong with it.
        source: TimeError,
    },
    /// EVENT_TYPE is not `[a-z0-9_]+`.
    #[error("EVENT_TYPE is a name of a-z, 0-9 and _, not '{actual}'")]
    EventType {
        /// What was found.
        actual: String,
    },
    /// SESSION_ID where there can't be one, or none where there must be.
    #[error("SESSION_ID of '{event}' is {expected}, not '{actual}'")]
    Session {
        /// EVENT_TYPE of the line.
        event: String,
        /// `-` or 64 digits.
        expected: &'static str,
        /// What was found.
        actual: String,
    },
    /// A part of DETAILS without `:`.
    #[error("DETAILS are key:value joined by ',', '{actual}' is not")]
    Pair {
        /// What was found.
        actual: String,
    },
    /// A key that is not `[a-z_]+`.
    #[error("a key is of a-z and _, '{actual}' is not")]
    Key {
        /// What was found.
        actual: String,
    },
    /// A key that stands twice.
    #[error("key '{key}' stands twice")]
    KeyTwice {
        /// The key that stands twice.
        key: String,
    },
    /// Other keys, or another order, than the event has.
    #[error("'{event}' has the keys {expected}, not {actual}")]
    Keys {
        /// EVENT_TYPE of the line.
        event: String,
        /// Joined by `,`.
        expected: String,
        /// Joined by `,`.
        actual: String,
    },
    /// An empty value.
    #[error("the value of '{key}' is empty")]
    Empty {
        /// The key without a value.
        key: String,
    },
    /// An escape that is cut, in lower case, or not needed.
    #[error(
        "the value of '{key}' escapes exactly %, |, comma and what is not printable ASCII, as %2C: '{actual}'"
    )]
    Escape {
        /// The key whose value has a wrong escape.
        key: String,
        /// What was found.
        actual: String,
    },
    /// A value that decodes to something else than UTF-8.
    #[error("the value of '{key}' is not UTF-8 when decoded: '{actual}'")]
    Utf8 {
        /// The key whose value is not UTF-8.
        key: String,
        /// What was found.
        actual: String,
    },
    /// A value of the wrong form.
    #[error("the value of '{key}' is {expected}, not '{actual}'")]
    Value {
        /// The key whose value is malformed.
        key: &'static str,
        /// Form that the value should have had, in words.
        expected: &'static str,
        /// What was found.
        actual: String,
    },
    /// The line prints otherwise than it was written.
    #[error("the line is written '{actual}', its one spelling is '{expected}'")]
    Spelling {
        /// As this version prints it.
        expected: String,
        /// What was found.
        actual: String,
    },
}

/// The beginning of a foreign text, for an error.
pub(crate) fn excerpt(text: &str) -> String {
    if text.len() <= EXCERPT {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(EXCERPT).collect();
    cut.push('…');
    cut
}

/// One line of the log.
///
/// `height` is BTC_HEIGHT, 0 for none; `session` is none for `-`. A line made by hand may hold what
/// no line can (an empty value, a session where there is none): [`Line::check`] tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// HASH: of the line before, `|`, and the rest of this line.
    pub hash: Hash32,
    /// Field BTC_HEIGHT: the highest block that the log names so far.
    pub height: u32,
    /// Field TIMESTAMP: when the line was written.
    pub time: Seconds,
    /// Field SESSION_ID; none for lines of no session.
    pub session: Option<Hash32>,
    /// EVENT_TYPE and DETAILS.
    pub event: Event,
}

/// A line after its first `|`, without the newline: what HASH covers together with the line before.
pub fn rest(height: u32, time: Seconds, session: Option<Hash32>, event: &Event) -> String {
    let session = session.map_or_else(|| details::NONE.to_owned(), |id| id.to_string());
    format!(
        "{height}|{time}|{}|{session}|{}",
        event.name(),
        event.details()
    )
}

impl Line {
    /// Makes the line that follows a line with HASH `prev` ([`Hash32::GENESIS`] for the first).
    pub fn new(
        prev: Hash32,
        height: u32,
        time: Seconds,
        session: Option<Hash32>,
        event: Event,
    ) -> Line {
        let hash = line_hash(prev, rest(height, time, session, &event).as_bytes());
        Line {
            hash,
            height,
            time,
            session,
            event,
        }
    }

    /// The line after its first `|`.
    pub fn rest(&self) -> String {
        rest(self.height, self.time, self.session, &self.event)
    }

    /// The whole line, without its newline.
    pub fn text(&self) -> String {
        format!("{}|{}", self.hash, self.rest())
    }

    /// Reads a line, given without its newline; accepts only what [`Line::text`] prints.
    ///
    /// HASH is taken as it stands: whether it is right depends on the line before, see
    /// [`Line::follows`].
    pub fn parse(bytes: &[u8]) -> Result<Line, EntryError> {
        let text = printable(bytes)?;
        let fields: Vec<&str> = text.split('|').collect();
        let [hash, height, time, event_type, session, details] = fields.as_slice() else {
            return Err(EntryError::Fields {
                expected: 6,
                actual: fields.len(),
            });
        };
        let event = Event::read(event_type, details::parse(details)?)?;
        let line = Line {
            hash: hash.parse().map_err(|source| EntryError::Hash {
                field: "HASH",
                source,
            })?,
            height: details::height(height).ok_or_else(|| EntryError::Height {
                actual: excerpt(height),
            })?,
            time: time.parse().map_err(|source| EntryError::Time { source })?,
            session: read_session(session, &event)?,
            event,
        };
        if !line.is_spelled(text) {
            return Err(EntryError::Spelling {
                expected: excerpt(&line.text()),
                actual: excerpt(text),
            });
        }
        Ok(line)
    }

    /// Whether a text is what [`Line::text`] prints; compared piece by piece, and nothing is kept.
    fn is_spelled(&self, text: &str) -> bool {
        let (
            Line {
                hash,
                height,
                time,
                event,
                ..
            },
            name,
        ) = (self, self.event.name());
        let mut left = Remainder(text.as_bytes());
        let begins = write!(left, "{hash}|{height}|{time}|{name}|").is_ok();
        let names = match self.session {
            Some(session) => write!(left, "{session}|"),
            None => write!(left, "{}|", details::NONE),
        };
        begins && names.is_ok() && event.write_details(&mut left).is_ok() && left.0.is_empty()
    }

    /// Whether HASH is that of a line after one with HASH `prev`.
    pub fn follows(&self, prev: Hash32) -> bool {
        line_hash(prev, self.rest().as_bytes()) == self.hash
    }

    /// Whether a line made by hand is one that [`Line::parse`] gives back; a writer asks before it
    /// writes.
    pub fn check(&self) -> Result<(), EntryError> {
        self.checked_text().map(drop)
    }

    /// The whole line, if [`Line::check`] has nothing against it.
    pub fn checked_text(&self) -> Result<String, EntryError> {
        let text = self.text();
        let parsed = Line::parse(text.as_bytes())?;
        if parsed != *self {
            return Err(EntryError::Spelling {
                expected: excerpt(&format!("{parsed:?}")),
                actual: excerpt(&text),
            });
        }
        Ok(text)
    }
}

fn printable(bytes: &[u8]) -> Result<&str, EntryError> {
    if bytes.len() > MAX_LINE {
        return Err(EntryError::TooLong {
            max: MAX_LINE,
            actual: bytes.len(),
        });
    }
    let foreign = bytes
        .iter()
        .enumerate()
        .find(|(_, b)| !matches!(b, 0x20..=0x7e));
    if let Some((at, actual)) = foreign {
        return Err(EntryError::Character {
            at,
            actual: *actual,
        });
    }
    Ok(std::str::from_utf8(bytes).expect("printable ASCII is UTF-8"))
}

fn read_session(text: &str, event: &Event) -> Result<Option<Hash32>, EntryError> {
    let expected = match (event.session_field(), text == details::NONE) {
        (SessionField::Never, false) => details::NONE,
        (SessionField::Must, true) => "64 lower-case hexadecimal digits",
        (SessionField::Never | SessionField::May, true) => return Ok(None),
        (SessionField::Must | SessionField::May, false) => {
            return text.parse().map(Some).map_err(|source| EntryError::Hash {
                field: "SESSION_ID",
                source,
            });
        }
    };
    Err(EntryError::Session {
        event: event.name().to_owned(),
        expected,
        actual: excerpt(text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: &str = include_str!("../../../tests/vectors/audit_log/valid.log");

    fn line_of(event: &str) -> String {
        let found = VALID
            .lines()
            .find(|line| line.split('|').nth(3) == Some(event));
        found
            .unwrap_or_else(|| panic!("no {event} among the vectors"))
            .to_owned()
    }

    #[test]
    fn every_line_of_the_vectors_prints_back_and_follows_the_one_before() {
        let mut prev = Hash32::GENESIS;
        for text in VALID.lines() {
            let line = Line::parse(text.as_bytes()).unwrap();
            assert_eq!(line.text(), text);
            let mut details = String::new();
            line.event.write_details(&mut details).unwrap();
            assert_eq!(details, line.event.details());
            assert!(line.follows(prev), "{text}");
            assert_eq!(line.check(), Ok(()));
            let again = Line::new(
                prev,
                line.height,
                line.time,
                line.session,
                line.event.clone(),
            );
            assert_eq!(again, line);
            prev = line.hash;
        }
    }

    /// One mistake a row: the event whose line is taken, what is replaced, by what.
    #[test]
    fn one_character_mistakes() {
        for (event, good, wrong) in [
            ("genesis", "|0|", "|00|"),
            ("genesis", "|0|", "|+0|"),
            ("genesis", "|0|", "||"),
            ("genesis", "|0|", "|4294967296|"),
            ("genesis", "|-|", "|--|"),
            ("genesis", "|-|", "||"),
            ("genesis", "40Z", "40z"),
            ("genesis", "40Z", "60Z"),
            ("genesis", "genesis", "Genesis"),
            ("genesis", "genesis", "gen-esis"),
            ("genesis", "genesis", ""),
            ("genesis", "record:", "record"),
            ("genesis", "record:", "Record:"),
            ("genesis", "|record", "|record:1,record"),
            ("genesis", "|record", "| record"),
            ("genesis", "|record", "||record"),
            ("genesis", "|record", "record"),
            ("prompt", ",seq:1", ",seq:0"),
            ("prompt", ",seq:1", ",seq:01"),
            ("prompt", ",seq:1", ",seq:"),
            ("prompt", ",seq:1", ",seq:-1"),
            ("prompt", ",seq:1", ",seq:1 "),
            ("prompt", ",seq:1", ",seq:%31"),
            ("prompt", ",seq:1", ",seq:1,"),
            ("prompt", ",seq:1", ",seq:18446744073709551616"),
            ("prompt", ",seq:1", ",seq:1\r"),
            ("prompt", ",seq:1", ",seq:1\n"),
            ("prompt", ",seq:1", ",seq:1\u{0}"),
            ("prompt", ",seq:1", ""),
            ("prompt", ",seq:1", ",seq:1,more:1"),
            ("prompt", "hash:c", "hash:C"),
            ("prompt", "|a89ea86f", "|A89ea86f"),
            ("response_fail", "%2C", "%2c"),
            ("response_fail", "%2C", "é"),
            ("response_fail", "%C3%A9", "%C3"),
            ("response_fail", "reason:timeout", "reason:Timeout"),
            ("response_fail", "reason:timeout", "reason:time out"),
            ("response_fail", "reason:timeout", "reason:"),
            ("session_start", "branch-7", "branch-8"),
            ("session_start", "branch-7", "branch-07"),
            ("auth_ok", "auth:5", "auth:55"),
            ("auth_fail", "count:3", "count:0"),
            ("btc_anchor", "header:0", "header:"),
            ("drift", "class:tone", "class:tones"),
            ("drift", "severity:low", "severity:Low"),
            ("recover", "applied:2", "applied:x"),
            ("clock_set", "to:2024", "to:24"),
            ("some_future_event", "|-|-", "|-|"),
            ("some_future_event", "|-|-", "|-|a"),
        ] {
            let text = line_of(event);
            let changed = text.replacen(good, wrong, 1);
            assert_ne!(changed, text, "{event}: nothing to change at {good}");
            let parsed = Line::parse(changed.as_bytes());
            assert!(
                parsed.is_err(),
                "{event}: {good} -> {wrong:?} gave {parsed:?}"
            );
        }
    }

    #[test]
    fn a_session_stands_where_it_must_and_only_there() {
        let id = "a89ea86f2982f5e8579bf2ff1a9eea7b9638d9b5a08e74fadafefc5a1f4ee1ce";
        for never in [
            "genesis",
            "checkpoint",
            "key_rotate",
            "recover",
            "clock_set",
        ] {
            let changed = line_of(never).replacen("|-|", &format!("|{id}|"), 1);
            assert!(
                matches!(
                    Line::parse(changed.as_bytes()),
                    Err(EntryError::Session { .. })
                ),
                "{never}"
            );
        }
        for may in ["auth_fail", "some_future_event"] {
            let changed = line_of(may).replacen("|-|", &format!("|{id}|"), 1);
            assert_eq!(
                Line::parse(changed.as_bytes()).unwrap().session,
                Some(id.parse().unwrap()),
                "{may}"
            );
        }
        for must in [
            "session_start",
            "branch_create",
            "auth_ok",
            "prompt",
            "response",
            "denied",
            "drift",
            "session_end",
        ] {
            let changed = line_of(must).replacen(&format!("|{id}|"), "|-|", 1);
            assert!(
                matches!(
                    Line::parse(changed.as_bytes()),
                    Err(EntryError::Session { .. })
                ),
                "{must}"
            );
        }
    }

    #[test]
    fn a_line_made_by_hand_is_checked() {
        let made = |event| Line::new(Hash32::GENESIS, 0, Seconds::ZERO, None, event);
        let unknown = |event_type: &str, details: Vec<(String, String)>| {
            made(Event::Unknown {
                event_type: event_type.to_owned(),
                details,
            })
        };
        assert_eq!(unknown("new_thing", Vec::new()).check(), Ok(()));
        assert_eq!(made(Event::Recover { applied: 1 }).check(), Ok(()));
        assert!(made(Event::Recover { applied: 0 }).check().is_err());
        assert!(
            unknown("recover", vec![("applied".to_owned(), "1".to_owned())])
                .check()
                .is_err()
        );
        assert!(unknown("new|thing", Vec::new()).check().is_err());
        assert!(
            unknown("new_thing", vec![("k".to_owned(), String::new())])
                .check()
                .is_err()
        );
        assert!(
            made(Event::Prompt {
                hash: Hash32::ZERO,
                seq: 1
            })
            .check()
            .is_err()
        );
        let long = "x".repeat(MAX_LINE);
        assert!(matches!(
            unknown("new_thing", vec![("k".to_owned(), long)]).check(),
            Err(EntryError::TooLong { .. })
        ));
    }
}
