//! A message a line, for every program that has no reader of its own.
//!
//! ```text
//! {"conversation":"c1","role":"user","text":"…","at":1700000000,"model":"m","title":"…","id":"1","parent":null}
//! ```
//! `conversation`, `role` and `text` have to be there. Lines of a conversation need not stand
//! together: a first reading notes where each line begins, a second one takes the conversations one
//! by one, in the order of their first lines. `at` is a number of seconds or a text of RFC 3339.
//! Without an `id` a message is named by its place in its conversation; without a `parent` it replies
//! to the one before it; `null` replies to nothing. The first title of a conversation is its title.

use std::collections::HashMap;
use std::io::{self, BufReader};

use serde_json::{Map, Value};

use super::draft::{ConversationDraft, PieceFeed, role_of, short_hash};
use super::fault::ImportFault;
use super::file::{ForeignFile, ForeignReader, LimitedLine, next_line, trimmed};
use super::json::{JsonFields, MAX_PIECE, parse};
use super::{SourceError, SourceMessage};

/// Most lines of one file: where each begins is in memory.
const MAX_LINES: usize = 2_000_000;
/// So many lines tell whether a file is one of messages.
const LOOKED_AT: usize = 10;
/// What a line may have.
const KEYS: [&str; 8] = [
    "conversation",
    "role",
    "text",
    "at",
    "model",
    "title",
    "id",
    "parent",
];

/// Where a line stands, and whose it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct LinePlace {
    /// The conversation, counted from 0 in the order of first lines.
    conversation: u32,
    /// The line, counted from 1.
    number: u32,
    offset: u64,
}

/// Reads a file.
pub(super) fn read(file: &ForeignFile, feed: &mut PieceFeed<'_>) -> Result<String, SourceError> {
    if is_one_list(file)? {
        return Err(file.error(
            "it is a list of JSON, and not a message a line",
            format!(
                "Where its elements are messages, make lines of them: jq -c '.[]' {} > messages.jsonl",
                file.word()
            ),
        ));
    }
    if let Some(error) = no_messages(file)? {
        return Err(error);
    }
    let mut places = Vec::new();
    let more = index(file, feed, &mut places)?;
    // By conversation, then by line.
    places.sort_unstable();
    let mut lines = LinesAgain {
        reader: file.reader()?,
        at: 0,
        line: Vec::new(),
    };
    for group in places.chunk_by(|a, b| a.conversation == b.conversation) {
        if feed.is_over() {
            break;
        }
        let mut name = None;
        let read = match conversation(&mut lines, group, &mut name) {
            Ok(draft) => Ok(draft.finish()),
            Err(LineFault::Unread(error)) => return Err(file.unread(&error)),
            Err(LineFault::Refused(fault)) => Err(fault),
        };
        let place = match group {
            [first, .., last] => format!("lines {} to {}", first.number, last.number),
            only => format!("line {}", only[0].number),
        };
        feed.conversation(&place, name.as_deref(), read);
    }
    match more {
        false => Ok("1".to_owned()),
        true => Err(file.error(
            format!("it has more than {MAX_LINES} lines; those behind them were not read"),
            "Split it, so that all lines of a conversation stand in one file",
        )),
    }
}

/// Whether all of a file is one list: its first line begins one, and does not end it, or is the only line.
fn is_one_list(file: &ForeignFile) -> Result<bool, SourceError> {
    let mut reader = file.reader()?;
    let (mut first, mut line) = (Vec::new(), Vec::new());
    let mut next = |line: &mut Vec<u8>| loop {
        let read = next_line(&mut reader, MAX_PIECE, line);
        let (kind, _) = read.map_err(|error| file.unread(&error))?;
        if kind != LimitedLine::Whole || !trimmed(line).is_empty() {
            return Ok(kind);
        }
    };
    if next(&mut first)? != LimitedLine::Whole || !trimmed(&first).starts_with(b"[") {
        return Ok(false);
    }
    Ok(parse(trimmed(&first)).is_err() || next(&mut line)? == LimitedLine::End)
}

/// That it is no file of messages at all: none of its first lines is a JSON object, or begins as one.
fn no_messages(file: &ForeignFile) -> Result<Option<SourceError>, SourceError> {
    let mut reader = file.reader()?;
    let (mut first, mut line) = (None, Vec::new());
    let mut looked_at = 0;
    while looked_at < LOOKED_AT {
        let read = next_line(&mut reader, MAX_PIECE, &mut line);
        let (kind, _) = read.map_err(|error| file.unread(&error))?;
        let text = trimmed(&line);
        match kind {
            LimitedLine::End => break,
            // What it is can't be told.
            LimitedLine::TooLarge(_) => return Ok(None),
            LimitedLine::Whole if text.is_empty() => continue,
            LimitedLine::Whole => {}
        }
        if text.starts_with(b"{") && text.len() > 1 {
            return Ok(None);
        }
        looked_at += 1;
        first.get_or_insert_with(|| text.to_owned());
    }
    let Some(first) = first else { return Ok(None) };
    let which = match looked_at {
        1 => "its only line is no JSON object".to_owned(),
        LOOKED_AT => format!("none of its first {LOOKED_AT} lines is a JSON object"),
        n => format!("none of its {n} lines is a JSON object"),
    };
    let (looks_like, remedy) = looks(&first, file);
    Ok(Some(file.error(
        format!("{which}, as a message is; it looks like {looks_like}, and nothing was read of it"),
        remedy,
    )))
}

/// What a file looks like that is none of messages, by its first line, and what to do.
fn looks(first: &[u8], file: &ForeignFile) -> (&'static str, String) {
    let formats = "A message a line is {\"conversation\":\"c1\",\"role\":\"user\",\"text\":\"…\"}; what else can be imported: \
                   gently import --help";
    if first == b"{" {
        let lines = format!(
            "Where it is a message, make one line of it: jq -c . {} > messages.jsonl",
            file.word()
        );
        return ("one JSON value over several lines", lines);
    }
    let looks_like = match first {
        [b'P', b'K', 3 | 5, ..] => "a ZIP without an export in it",
        _ if first.starts_with(b"SQLite format 3") => "a database of some other program",
        _ if std::str::from_utf8(first).is_err() || first.contains(&0) => {
            "something that is no text"
        }
        _ => "text that is no export",
    };
    (looks_like, formats.to_owned())
}

/// Notes where each line begins, and refuses those that say of no conversation what they are of;
/// whether there are more lines than can be noted.
fn index(
    file: &ForeignFile,
    feed: &mut PieceFeed<'_>,
    places: &mut Vec<LinePlace>,
) -> Result<bool, SourceError> {
    let mut conversations: HashMap<u64, u32> = HashMap::new();
    let mut reader = file.reader()?;
    let (mut line, mut offset) = (Vec::new(), 0_u64);
    for number in 1_u32.. {
        let read = next_line(&mut reader, MAX_PIECE, &mut line);
        let (kind, bytes) = match read {
            Ok(read) => read,
            Err(error) => return Err(file.unread(&error)),
        };
        let begin = offset;
        offset += bytes;
        if feed.is_over() || kind == LimitedLine::End {
            break;
        }
        if kind == LimitedLine::Whole && trimmed(&line).is_empty() {
            continue;
        }
        if number as usize > MAX_LINES {
            return Ok(true);
        }
        let found = match kind {
            LimitedLine::TooLarge(bytes) => Err(ImportFault::new(
                "too_large",
                format!("it has {bytes} bytes; {MAX_PIECE} are read"),
            )),
            _ => whose(&line),
        };
        match found {
            Ok(id) => {
                let next = u32::try_from(conversations.len()).unwrap_or(u32::MAX);
                places.push(LinePlace {
                    conversation: *conversations.entry(short_hash(&id)).or_insert(next),
                    number,
                    offset: begin,
                });
            }
            Err(fault) => feed.refuse(&format!("line {number}"), None, fault),
        }
    }
    Ok(false)
}

fn object(line: &[u8]) -> Result<Map<String, Value>, ImportFault> {
    let value = parse(trimmed(line))?;
    JsonFields::of(&value, "the line")?;
    match value {
        Value::Object(map) => Ok(map),
        _ => Ok(Map::new()),
    }
}

/// Which conversation a line is of; a line that could be no message is refused here, by itself.
fn whose(line: &[u8]) -> Result<String, ImportFault> {
    let map = object(line)?;
    let fields = JsonFields(&map);
    if let Some(key) = map.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let known = KEYS.join(", ");
        return Err(ImportFault::new(
            "unknown_key",
            format!("it has the key {key:?}; what is read is {known}"),
        ));
    }
    role_of(JsonFields::needed("role", fields.text("role")?)?)?;
    JsonFields::needed("text", fields.text("text")?)?;
    for name in ["model", "title", "id", "parent"] {
        fields.text(name)?;
    }
    if !matches!(map.get("at"), None | Some(Value::Null | Value::String(_))) {
        fields.number("at")?;
    }
    let id = JsonFields::needed("conversation", fields.text("conversation")?)?;
    Ok(id.to_owned())
}

/// A file whose lines are read again, each at its place.
struct LinesAgain {
    reader: BufReader<ForeignReader>,
    /// Where the reader is.
    at: u64,
    line: Vec<u8>,
}

impl LinesAgain {
    fn line_at(&mut self, offset: u64) -> io::Result<&[u8]> {
        let ahead = i128::from(offset) - i128::from(self.at);
        let ahead = i64::try_from(ahead).map_err(io::Error::other)?;
        self.reader.seek_relative(ahead)?;
        let (_, bytes) = next_line(&mut self.reader, MAX_PIECE, &mut self.line)?;
        self.at = offset + bytes;
        Ok(&self.line)
    }
}

/// Why a conversation ends at one of its lines.
enum LineFault {
    /// The system would not read it.
    Unread(io::Error),
    /// It can't be taken.
    Refused(ImportFault),
}

/// Puts the lines of one conversation together; its title or id goes into `name`.
fn conversation(
    lines: &mut LinesAgain,
    places: &[LinePlace],
    name: &mut Option<String>,
) -> Result<ConversationDraft, LineFault> {
    let mut draft = None;
    let mut times: Option<(i64, i64)> = None;
    for place in places {
        let line = lines.line_at(place.offset).map_err(LineFault::Unread)?;
        let at = message(&mut draft, name, line).map_err(|fault| {
            let detail = format!("line {}: {}", place.number, fault.detail);
            LineFault::Refused(ImportFault { detail, ..fault })
        })?;
        let Some(at) = at else { continue };
        times = times.map_or(Some((at, at)), |(a, b)| Some((a.min(at), b.max(at))));
    }
    let mut draft =
        draft.ok_or_else(|| LineFault::Refused(ImportFault::shape("it has no lines any more")))?;
    draft.whole_times(times.map(|(first, _)| first), times.map(|(_, last)| last));
    Ok(draft)
}

/// Adds a line to its conversation; its time.
fn message(
    draft: &mut Option<ConversationDraft>,
    name: &mut Option<String>,
    line: &[u8],
) -> Result<Option<i64>, ImportFault> {
    let map = object(line)?;
    let fields = JsonFields(&map);
    let draft = match draft {
        Some(draft) => draft,
        None => {
            let id = JsonFields::needed("conversation", fields.text("conversation")?)?;
            *name = Some(id.to_owned());
            draft.insert(ConversationDraft::new(id)?)
        }
    };
    if let Some(title) = fields.text("title")?.filter(|_| !draft.is_titled()) {
        draft.title(Some(title))?;
        *name = Some(title.to_owned());
    }
    let at = match map.get("at") {
        Some(Value::String(text)) => draft.utc_moment(Some(text)),
        _ => draft.moment(fields.number("at")?),
    };
    let id = match fields.text("id")? {
        Some(id) => id.to_owned(),
        None => format!("message-{}", draft.count() + 1),
    };
    let parent = match map.contains_key("parent") {
        true => fields.text("parent")?,
        false => draft.last_id(),
    };
    let parent = parent.map(str::to_owned);
    draft.add(SourceMessage {
        id,
        parent,
        role: role_of(JsonFields::needed("role", fields.text("role")?)?)?,
        text: JsonFields::needed("text", fields.text("text")?)?.to_owned(),
        model: fields.text("model")?.map(str::to_owned),
        seams: Vec::new(),
        at,
    })?;
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::tests::{conversations, read_bytes, refusals};
    use crate::record::ledger::imported::ImportFormat::JsonLines;
    use crate::record::ledger::imported::ImportedRole;

    #[test]
    fn lines_of_a_conversation_need_not_stand_together() {
        let read = read_bytes(
            JsonLines,
            concat!(
                "\u{feff}{\"conversation\":\"b\",\"role\":\"user\",\"text\":\"one\",\"at\":20.9,\"title\":\"B\"}\r\n",
                "{\"conversation\":\"a\",\"role\":\"system\",\"text\":\"\",\"id\":\"x\",\"parent\":null}\n",
                "\n",
                "{\"conversation\":\"b\",\"role\":\"assistant\",\"text\":\"two\",\"at\":\"1970-01-01T00:00:10Z\",\"model\":\"m\"}\n",
                "{\"conversation\":\"b\",\"role\":\"tool\",\"text\":\"three\",\"parent\":\"message-1\",\"title\":\"C\"}",
            )
            .as_bytes(),
        );
        read.end.unwrap();
        let [b, a] = &conversations(&read.pieces)[..] else {
            panic!("{:?}", read.pieces)
        };
        assert_eq!((b.source_id.as_str(), b.title.as_deref()), ("b", Some("B")));
        assert_eq!((b.created_at, b.updated_at), (Some(10), Some(20)));
        let seen: Vec<_> = b
            .messages
            .iter()
            .map(|m| (m.id.as_str(), m.parent.as_deref()))
            .collect();
        let expected = [
            ("message-1", None),
            ("message-2", Some("message-1")),
            ("message-3", Some("message-1")),
        ];
        assert_eq!(seen, expected);
        assert_eq!(b.messages[1].model.as_deref(), Some("m"));
        assert_eq!(b.current.as_deref(), Some("message-3"));
        assert_eq!(
            (a.source_id.as_str(), a.messages[0].role),
            ("a", ImportedRole::System)
        );
    }

    #[test]
    fn a_broken_line_costs_itself_and_a_broken_conversation_itself() {
        let good = "{\"conversation\":\"good\",\"role\":\"user\",\"text\":\"a\"}\n";
        let lines = [
            ("{\"conversation\":\"c\",\"role\":\"user\"", "not_json"),
            ("[]", "shape"),
            (
                "{\"conversation\":\"c\",\"role\":\"bot\",\"text\":\"a\"}",
                "shape",
            ),
            ("{\"conversation\":\"c\",\"role\":\"user\"}", "shape"),
            (
                "{\"conversation\":7,\"role\":\"user\",\"text\":\"a\"}",
                "shape",
            ),
            ("{\"role\":\"user\",\"text\":\"a\"}", "shape"),
            (
                "{\"conversation\":\"c\",\"role\":\"user\",\"text\":\"a\",\"at\":[]}",
                "shape",
            ),
            (
                "{\"conversation\":\"c\",\"role\":\"user\",\"text\":\"a\",\"modle\":\"m\"}",
                "unknown_key",
            ),
            (
                "{\"conversation\":\"c\",\"role\":\"user\",\"text\":\"a\",\"text\":\"b\"}",
                "duplicate_key",
            ),
            (
                "{\"conversation\":\"\",\"role\":\"user\",\"text\":\"a\"}",
                "shape",
            ),
            (
                "{\"conversation\":\"c\",\"role\":\"user\",\"text\":\"a\",\"parent\":\"z\"}",
                "missing_parent",
            ),
            (
                "{\"conversation\":\"c\",\"role\":\"user\",\"text\":\"a\\u0000\"}",
                "not_text",
            ),
        ];
        for (line, reason) in lines {
            let read = read_bytes(JsonLines, format!("{line}\n{good}").as_bytes());
            read.end.unwrap();
            assert_eq!(refusals(&read.pieces), [(reason, "line 1")], "{line}");
            assert_eq!(conversations(&read.pieces).len(), 1, "{line}");
        }
    }

    #[test]
    fn a_list_is_no_message_a_line() {
        let element = "{\"conversation\":\"c\",\"role\":\"user\",\"text\":\"a\"}";
        for list in [
            "[]".to_owned(),
            format!("[{element}]\n"),
            format!("[\n  {element}\n]\n"),
        ] {
            let read = read_bytes(JsonLines, list.as_bytes());
            assert!(read.pieces.is_empty(), "{list}: {:?}", read.pieces);
            let why = read.end.unwrap_err().to_string();
            assert!(why.contains("jq -c"), "{why}");
        }
    }

    #[test]
    fn a_file_of_no_json_is_refused_at_once() {
        let script = "import sys\n\nprint(1)\n".repeat(20);
        for (text, expected) in [
            (script.as_str(), "none of its first 10 lines"),
            ("hello\n", "its only line is no JSON object"),
            ("a,b\r\n1,2\r\n", "none of its 2 lines"),
            ("{\n  \"role\": \"user\"\n}\n", "jq -c . /"),
            ("SQLite format 3\0\n", "a database of some other program"),
        ] {
            let read = read_bytes(JsonLines, text.as_bytes());
            assert!(read.pieces.is_empty(), "{text}: {:?}", read.pieces);
            let why = read.end.unwrap_err().to_string();
            assert!(why.contains(expected), "{why}");
        }
        // A message behind a few lines that are none is read.
        let good = "{\"conversation\":\"c\",\"role\":\"user\",\"text\":\"a\"}\n";
        let read = read_bytes(JsonLines, format!("hello\n{good}").as_bytes());
        read.end.unwrap();
        assert_eq!(refusals(&read.pieces), [("not_json", "line 1")]);
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over() {
        let mut bytes = b"{\"conversation\":\"c\",\"role\":\"user\",\"text\":\"".to_vec();
        bytes.resize(MAX_PIECE, b'a');
        bytes
            .extend_from_slice(b"\"}\n{\"conversation\":\"c\",\"role\":\"user\",\"text\":\"a\"}\n");
        let read = read_bytes(JsonLines, &bytes);
        read.end.unwrap();
        assert_eq!(refusals(&read.pieces), [("too_large", "line 1")]);
        assert_eq!(conversations(&read.pieces).len(), 1);
    }

    #[test]
    fn lines_have_a_limit_and_what_stands_before_is_read() {
        let line = b"{\"conversation\":\"c\",\"role\":\"user\",\"text\":\"a\"}\n";
        let mut bytes = line.to_vec();
        bytes.resize(line.len() + MAX_LINES - 1, b'\n');
        let read = read_bytes(JsonLines, &bytes);
        assert_eq!(conversations(&read.pieces).len(), 1);
        read.end.unwrap();
        bytes.extend_from_slice(line);
        let read = read_bytes(JsonLines, &bytes);
        assert_eq!(conversations(&read.pieces).len(), 1);
        let error = read.end.unwrap_err();
        assert!(error.reason.contains("more than 2000000 lines"), "{error}");
    }
}
