//! Whose file it looks like, by its beginning: a file of another program is named as such once, and not
//! refused piece by piece.

use std::io::{BufRead as _, Read as _};
use std::ops::ControlFlow;

use serde_json::Value;

use super::database::ForeignDatabase;
use super::draft::PieceFeed;
use super::export::{self, ExportedList};
use super::fault::ImportFault;
use super::file::{ForeignFile, LimitedLine, next_line};
use super::json::parse;
use super::{SourceError, SourcePiece};
use crate::record::ledger::imported::ImportFormat;

/// A first line is looked at up to so many bytes.
const FIRST_LINE: usize = 1 << 20;

/// The formats whose marks a file has; none where it has those of none, or can't be read.
pub(super) fn formats_of(file: &ForeignFile) -> Vec<ImportFormat> {
    let Ok(mut reader) = file.reader() else {
        return Vec::new();
    };
    let mut head = Vec::new();
    let read = reader.by_ref().take(6).read_to_end(&mut head);
    match (read, &head[..]) {
        (Err(_), _) => Vec::new(),
        (Ok(_), b"SQLite") => of_database(file),
        (Ok(_), [b'P', b'K', ..]) => of_list(file),
        _ => match first_line(file) {
            Some(line) if line.starts_with(b"[") => of_list(file),
            Some(line) => of_line(&line),
            None => Vec::new(),
        },
    }
}

/// That a file of another format was named, where it has the marks of one and not those of `format`.
pub(super) fn other_format(file: &ForeignFile, format: ImportFormat) -> Option<SourceError> {
    let found = formats_of(file);
    let other = found.first().filter(|_| !found.contains(&format))?;
    Some(SourceError {
        file: None,
        place: file.name().to_owned(),
        reason: format!(
            "this looks like {}, not like {}: nothing was read of it",
            other.shown_file(),
            format.shown_file()
        ),
        remedy: format!(
            "Import it as that: gently import {} {}",
            other.name(),
            file.word()
        ),
    })
}

fn of_database(file: &ForeignFile) -> Vec<ImportFormat> {
    let Ok(database) = ForeignDatabase::open(file) else {
        return Vec::new();
    };
    let is_llm = database.has("responses", &["prompt", "response"])
        || (database.has("threads", &["id"]) && database.has("parts", &["message_hash"]));
    let is_aua = database.has("messages", &["message_id", "conversation_id"]);
    [(is_llm, ImportFormat::Llm), (is_aua, ImportFormat::Aua)]
        .into_iter()
        .filter_map(|(is_it, format)| is_it.then_some(format))
        .collect()
}

/// Of the first conversation of an export.
fn of_list(file: &ForeignFile) -> Vec<ImportFormat> {
    let mut first = None;
    // That a list is missing comes before all that is read.
    let mut take = |piece| match piece {
        SourcePiece::Missing(_) => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    };
    let mut feed = PieceFeed::new(&mut take);
    // Why it can't be read further is said when it is read.
    let _ = export::read(file, &mut feed, |list, place, element, feed| {
        if list == ExportedList::Conversations {
            first = element.ok();
            // One is enough.
            feed.refuse(place, None, ImportFault::shape(""));
        }
    });
    let has = |key: &str| first.as_ref().is_some_and(|one| one.get(key).is_some());
    [
        (has("mapping"), ImportFormat::ChatGpt),
        (has("chat_messages"), ImportFormat::Claude),
    ]
    .into_iter()
    .filter_map(|(is_it, format)| is_it.then_some(format))
    .collect()
}

fn of_line(line: &[u8]) -> Vec<ImportFormat> {
    let keys = ["conversation", "role", "text"];
    match parse(line) {
        Ok(Value::Object(map)) if keys.iter().all(|key| map.contains_key(*key)) => {
            vec![ImportFormat::JsonLines]
        }
        _ => Vec::new(),
    }
}

/// The first line with anything in it, without blanks around it; none where it is too long.
fn first_line(file: &ForeignFile) -> Option<Vec<u8>> {
    let mut reader = file.reader().ok()?;
    if reader.fill_buf().ok()?.starts_with(b"\xef\xbb\xbf") {
        reader.consume(3);
    }
    // A list may stand in one line, which is too long then.
    let begin = reader.fill_buf().ok()?.trim_ascii_start();
    if begin.starts_with(b"[") {
        return Some(vec![b'[']);
    }
    let mut line = Vec::new();
    loop {
        let (kind, _) = next_line(&mut reader, FIRST_LINE, &mut line).ok()?;
        let found = line.trim_ascii();
        match kind {
            LimitedLine::Whole if found.is_empty() => {}
            LimitedLine::Whole => return Some(found.to_vec()),
            LimitedLine::TooLarge(_) | LimitedLine::End => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::database::tests::opened;
    use crate::import::export::tests::zipped;
    use crate::import::tests::read_bytes;
    use ImportFormat::{Aua, ChatGpt, Claude, JsonLines, Llm};

    const CHATGPT: &[u8] = br#" [{"id": "a", "mapping": {}}]"#;
    const CLAUDE: &[u8] = br#"[{"uuid": "a", "chat_messages": []}]"#;
    const LINES: &[u8] = b"\n{\"conversation\":\"c\",\"role\":\"user\",\"text\":\"a\"}\n";

    fn why(format: ImportFormat, bytes: &[u8]) -> String {
        let read = read_bytes(format, bytes);
        assert!(read.pieces.is_empty(), "{:?}", read.pieces);
        read.end.unwrap_err().to_string()
    }

    #[test]
    fn a_file_of_another_program_is_named_once_and_read_no_further() {
        let zip = zipped(&[("conversations.json", CHATGPT)]);
        let gap = zipped(&[
            ("conversations-000.json", CHATGPT),
            ("conversations-002.json", b"[]"),
        ]);
        let cases = [
            (Claude, CHATGPT, "chatgpt"),
            (Claude, &zip, "chatgpt"),
            (Claude, &gap, "chatgpt"),
            (JsonLines, &gap, "chatgpt"),
            (JsonLines, &zip, "chatgpt"),
            (Llm, CHATGPT, "chatgpt"),
            (ChatGpt, CLAUDE, "claude"),
            (JsonLines, CLAUDE, "claude"),
            (ChatGpt, LINES, "jsonl"),
            (Aua, LINES, "jsonl"),
        ];
        for (format, bytes, expected) in cases {
            let why = why(format, bytes);
            let command = format!("gently import {expected} /");
            assert!(why.contains(&command), "{format:?}: {why}");
            assert!(why.contains("/conversations.json"), "{why}");
        }
        for (format, bytes) in [(ChatGpt, CHATGPT), (Claude, CLAUDE), (JsonLines, LINES)] {
            read_bytes(format, bytes).end.unwrap();
        }
    }

    #[test]
    fn what_looks_like_nothing_is_left_to_its_reader() {
        for bytes in [&b"hello"[..], b"", b"{}", b"[]", b"[7]", b"PK\x03\x04"] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a");
            std::fs::write(&path, bytes).unwrap();
            let file = opened(&path);
            assert_eq!(formats_of(&file), [], "{bytes:?}");
        }
    }

    #[test]
    fn databases_are_told_apart_by_their_tables() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let tables = [
            ("CREATE TABLE responses (prompt, response)", Llm),
            ("CREATE TABLE messages (message_id, conversation_id)", Aua),
        ];
        for (sql, expected) in tables {
            let _ = std::fs::remove_file(&path);
            let database = rusqlite::Connection::open(&path).unwrap();
            database.execute_batch(sql).unwrap();
            drop(database);
            let file = opened(&path);
            assert_eq!(formats_of(&file), [expected]);
        }
    }
}
