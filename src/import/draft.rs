//! A conversation that is put together, with the rules that hold for all formats; and what hands the
//! pieces on.

use std::collections::HashSet;
use std::ops::{ControlFlow, Range};

use chrono::{DateTime, NaiveDate, NaiveDateTime};
use serde_json::Value;

use super::fault::ImportFault;
use super::{MAX_CONVERSATION, SourceConversation, SourceMessage, SourcePiece, TakePiece};
use crate::record::hash::Hash32;
use crate::record::ledger::imported::ImportedRole;

/// Most conversations of one file: what tells whether one repeats is in memory.
const MAX_CONVERSATIONS: usize = 4_000_000;
/// Most messages of one conversation: each takes some thousand bytes of memory while it is put on record.
pub(super) const MAX_MESSAGES: usize = 20_000;
/// Most bytes of an id or of the name of a model.
const MAX_NAME: usize = 512;
/// Most bytes of a title or of the name of a project.
const MAX_LABEL: usize = 4096;
/// About so many bytes stand around what a message says, in the document that holds it.
const AROUND_MESSAGE: usize = 80;
/// The first second that is no time any more: the year 2101.
const AFTER_TIMES: i64 = 4_133_980_800;
/// The word for a time that is none.
const TIME: &str = "time";

/// A time in whole seconds; none where it is before 1970 or after 2100, as one in milliseconds is.
pub(super) fn whole_seconds(seconds: f64) -> Option<i64> {
    let whole = seconds.floor();
    // NaN is in no range.
    let is_time = (0.0..AFTER_TIMES as f64).contains(&whole);
    is_time.then_some(whole as i64)
}

/// A time of RFC 3339 in whole seconds, within the same bounds.
fn written_seconds(text: &str) -> Option<i64> {
    let read = DateTime::parse_from_rfc3339(text).map(|time| time.timestamp());
    read.ok().filter(|at| (0..AFTER_TIMES).contains(at))
}

/// A time that is a number of seconds or a text.
pub(super) fn seconds_of(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => written_seconds(text),
        other => other.as_f64().and_then(whole_seconds),
    }
}

/// A conversation before it is whole.
pub(super) struct ConversationDraft {
    conversation: SourceConversation,
    ids: HashSet<String>,
    held: usize,
}

impl ConversationDraft {
    /// A conversation without messages.
    pub(super) fn new(source_id: &str) -> Result<ConversationDraft, ImportFault> {
        if source_id.is_empty() {
            return Err(ImportFault::shape("its id is empty"));
        }
        named("the id of the conversation", source_id)?;
        Ok(ConversationDraft {
            conversation: SourceConversation {
                source_id: source_id.to_owned(),
                title: None,
                project: None,
                created_at: None,
                updated_at: None,
                messages: Vec::new(),
                current: None,
                skipped: std::collections::BTreeMap::new(),
            },
            ids: HashSet::new(),
            held: 0,
        })
    }

    /// Its title; an empty one is none.
    pub(super) fn title(&mut self, title: Option<&str>) -> Result<(), ImportFault> {
        self.conversation.title = self.label("title", title)?;
        Ok(())
    }

    /// Its project; an empty name is none.
    pub(super) fn project(&mut self, project: Option<&str>) -> Result<(), ImportFault> {
        self.conversation.project = self.label("project", project)?;
        Ok(())
    }

    fn label(&mut self, what: &str, text: Option<&str>) -> Result<Option<String>, ImportFault> {
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        is_text(what, text)?;
        if text.len() > MAX_LABEL {
            let detail = format!("its {what} has {} bytes; {MAX_LABEL} are read", text.len());
            return Err(ImportFault::new("too_large", detail));
        }
        self.holds(written_length(text))?;
        Ok(Some(text.to_owned()))
    }

    /// When it began and when it was changed.
    pub(super) fn times(&mut self, created: Option<f64>, updated: Option<f64>) {
        self.conversation.created_at = self.moment(created);
        self.conversation.updated_at = self.moment(updated);
    }

    /// [`ConversationDraft::times`], where they are known already.
    pub(super) fn whole_times(&mut self, created: Option<i64>, updated: Option<i64>) {
        self.conversation.created_at = created;
        self.conversation.updated_at = updated;
    }

    /// Whether it has a title.
    pub(super) fn is_titled(&self) -> bool {
        self.conversation.title.is_some()
    }

    /// A time in whole seconds; one that is none is counted.
    pub(super) fn moment(&mut self, seconds: Option<f64>) -> Option<i64> {
        let seconds = seconds?;
        let whole = whole_seconds(seconds);
        if whole.is_none() {
            self.skip(TIME);
        }
        whole
    }

    /// A time as text (RFC 3339); one that is none is counted.
    pub(super) fn written_moment(&mut self, text: Option<&str>) -> Option<i64> {
        let whole = written_seconds(text?);
        if whole.is_none() {
            self.skip(TIME);
        }
        whole
    }

    /// [`ConversationDraft::written_moment`] of a text that is in UTC where it names no zone, and at midnight where it
    /// names a day alone.
    pub(super) fn utc_moment(&mut self, text: Option<&str>) -> Option<i64> {
        let text = text?;
        let is_time = |form| NaiveDateTime::parse_from_str(text, form).is_ok();
        let is_day = NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok();
        let zoned = match is_time("%Y-%m-%dT%H:%M:%S%.f") || is_time("%Y-%m-%d %H:%M:%S%.f") {
            true => format!("{text}Z"),
            false if is_day => format!("{text}T00:00:00Z"),
            false => text.to_owned(),
        };
        self.written_moment(Some(&zoned))
    }

    /// Counts something that is left out.
    pub(super) fn skip(&mut self, reason: &'static str) {
        *self.conversation.skipped.entry(reason).or_default() += 1;
    }

    /// How many messages it has.
    pub(super) fn count(&self) -> usize {
        self.conversation.messages.len()
    }

    /// The id of its last message.
    pub(super) fn last_id(&self) -> Option<&str> {
        let last = self.conversation.messages.last()?;
        Some(&last.id)
    }

    /// The message at the end of the way that is shown; where none is named it is the last one.
    pub(super) fn current(&mut self, id: Option<String>) {
        self.conversation.current = id;
    }

    /// Adds a message behind those that are there.
    pub(super) fn add(&mut self, message: SourceMessage) -> Result<(), ImportFault> {
        let id = &message.id;
        if self.count() == MAX_MESSAGES {
            let detail = format!(
                "it has more than {MAX_MESSAGES} messages, which is the most that one conversation may have"
            );
            return Err(ImportFault::new("too_large", detail));
        }
        named("the id of a message", id)?;
        named(
            "the model of a message",
            message.model.as_deref().unwrap_or_default(),
        )?;
        is_text("the text of a message", &message.text)?;
        if message.parent.as_ref() == Some(id) && !self.ids.contains(id) {
            let detail = format!("message {id:?} replies to itself");
            return Err(ImportFault::new("loop", detail));
        }
        if let Some(parent) = message.parent.as_ref().filter(|id| !self.ids.contains(*id)) {
            return Err(ImportFault::new(
                "missing_parent",
                format!("message {id:?} replies to {parent:?}, which does not stand before it"),
            ));
        }
        let names = [Some(id), message.parent.as_ref(), message.model.as_ref()];
        let names: usize = names.into_iter().flatten().map(String::len).sum();
        self.holds(AROUND_MESSAGE + names + written_length(&message.text))?;
        if !self.ids.insert(id.clone()) {
            let detail = format!("the id {id:?} stands on two of its messages");
            return Err(ImportFault::new("duplicate_id", detail));
        }
        self.conversation.messages.push(message);
        Ok(())
    }

    fn holds(&mut self, more: usize) -> Result<(), ImportFault> {
        self.held = self.held.saturating_add(more);
        if self.held <= MAX_CONVERSATION {
            return Ok(());
        }
        let detail = format!(
            "its messages take more than {MAX_CONVERSATION} bytes, as they would be put on record"
        );
        Err(ImportFault::new("too_large", detail))
    }

    /// The conversation, whole.
    pub(super) fn finish(mut self) -> SourceConversation {
        let last = self.conversation.messages.last();
        let last = last.map(|message| message.id.clone());
        let current = self.conversation.current.take();
        self.conversation.current = current.or(last);
        self.conversation
    }
}

/// A message's text that is put together from parts, each below the one before.
#[derive(Clone, Debug)]
pub(super) struct JoinedText {
    between: &'static str,
    text: String,
    seams: Vec<Range<usize>>,
    /// Where the last part ends that somebody wrote, without the blanks behind it.
    written_to: Option<usize>,
}

impl JoinedText {
    /// Without a part; what stands between two.
    pub(super) fn new(between: &'static str) -> JoinedText {
        JoinedText {
            between,
            text: String::new(),
            seams: Vec::new(),
            written_to: None,
        }
    }

    /// Adds what somebody wrote, as the source has it.
    pub(super) fn text(&mut self, part: &str) {
        self.written(self.between, part);
    }

    /// Adds a file by its name, with what was read of it, which somebody wrote.
    pub(super) fn file(&mut self, name: &str, content: &str) {
        self.mark(&format!("[file: {name}]"));
        if !content.is_empty() {
            self.written("\n", content);
            self.put("\n", &format!("[end of file: {name}]"));
        }
    }

    /// Adds what somebody wrote behind `between`.
    fn written(&mut self, between: &str, part: &str) {
        let begin = self.put(between, part);
        let written = part.trim();
        if written.is_empty() {
            return;
        }
        let begin = begin + (part.len() - part.trim_start().len());
        let before = self.written_to.replace(begin + written.len());
        self.seams.extend(before.map(|before| before..begin));
    }

    /// Adds a mark, or a text that stands for itself.
    pub(super) fn mark(&mut self, part: &str) {
        self.put(self.between, part);
    }

    /// Adds a part behind `between`; returns where it begins.
    fn put(&mut self, between: &str, part: &str) -> usize {
        if !part.is_empty() && !self.text.is_empty() {
            self.text.push_str(between);
        }
        let begin = self.text.len();
        self.text.push_str(part);
        begin
    }

    /// How many bytes it has.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// The text, and what stands in it between two texts of the source: blanks, and marks.
    pub(super) fn finish(self) -> (String, Vec<Range<usize>>) {
        (self.text, self.seams)
    }
}

/// How many bytes a text takes in canonical JSON, without its quotes: what is written there with an escape
/// takes two, or six.
fn written_length(text: &str) -> usize {
    let written = |byte: u8| match byte {
        b'"' | b'\\' | 8 | b'\t' | b'\n' | 12 | b'\r' => 2,
        ..0x20 => 6,
        _ => 1,
    };
    text.bytes().map(written).sum()
}

/// A role by its word.
pub(super) fn role_of(word: &str) -> Result<ImportedRole, ImportFault> {
    let found = ImportedRole::ALL
        .into_iter()
        .find(|role| role.name() == word);
    found.ok_or_else(|| {
        let known = ImportedRole::ALL.map(ImportedRole::name).join(", ");
        ImportFault::shape(format!(
            "the role of a message is {word:?}; one of {known} was expected"
        ))
    })
}

/// A text without NUL, which ends texts in the databases of others and in ours.
pub(super) fn is_text(what: &str, text: &str) -> Result<(), ImportFault> {
    match text.find('\0') {
        None => Ok(()),
        Some(at) => Err(ImportFault::new(
            "not_text",
            format!("{what} has a NUL at byte {at}"),
        )),
    }
}

fn named(what: &str, name: &str) -> Result<(), ImportFault> {
    is_text(what, name)?;
    if name.len() <= MAX_NAME {
        return Ok(());
    }
    let detail = format!("{what} has {} bytes; {MAX_NAME} are read", name.len());
    Err(ImportFault::new("too_large", detail))
}

/// Hands pieces on, each conversation once.
pub(super) struct PieceFeed<'a> {
    take: TakePiece<'a>,
    /// The first 8 bytes of a hash of each id that was handed on.
    seen: HashSet<u64>,
    is_over: bool,
}

impl<'a> PieceFeed<'a> {
    /// Nothing was handed on yet.
    pub(super) fn new(take: TakePiece<'a>) -> PieceFeed<'a> {
        PieceFeed {
            take,
            seen: HashSet::new(),
            is_over: false,
        }
    }

    /// Whether nothing more is wanted.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Hands a piece on.
    pub(super) fn piece(&mut self, piece: SourcePiece) {
        if !self.is_over {
            self.is_over = (self.take)(piece) == ControlFlow::Break(());
        }
    }

    /// Hands on that something is refused.
    pub(super) fn refuse(&mut self, place: &str, name: Option<&str>, fault: ImportFault) {
        let piece = fault.at(place, name.map(str::to_owned));
        self.piece(SourcePiece::Refused(piece));
    }

    /// Hands a conversation on, or why it can't be taken.
    pub(super) fn conversation(
        &mut self,
        place: &str,
        name: Option<&str>,
        read: Result<SourceConversation, ImportFault>,
    ) {
        let read = read.and_then(|conversation| {
            let known = short_hash(&conversation.source_id);
            if self.seen.len() >= MAX_CONVERSATIONS {
                let detail = format!("the file has more than {MAX_CONVERSATIONS} conversations");
                return Err(ImportFault::new("too_many", detail));
            }
            if !self.seen.insert(known) {
                let id = &conversation.source_id;
                let detail = format!("a conversation before it in this file has its id, {id:?}");
                return Err(ImportFault::new("repeats", detail));
            }
            Ok(conversation)
        });
        match read {
            Ok(conversation) => self.piece(SourcePiece::Conversation(conversation)),
            Err(fault) => self.refuse(place, name, fault),
        }
    }
}

/// The first 8 bytes of a text's hash.
pub(super) fn short_hash(text: &str) -> u64 {
    let hash = Hash32::digest(text.as_bytes());
    let (first, _) = hash
        .as_bytes()
        .split_first_chunk()
        .expect("a hash has 32 bytes");
    u64::from_be_bytes(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: &str, parent: Option<&str>, text: &str) -> SourceMessage {
        SourceMessage {
            id: id.to_owned(),
            parent: parent.map(str::to_owned),
            role: ImportedRole::User,
            text: text.to_owned(),
            seams: Vec::new(),
            model: None,
            at: None,
        }
    }

    fn reason(messages: &[SourceMessage]) -> &'static str {
        let mut draft = ConversationDraft::new("a").unwrap();
        let mut messages = messages.iter().cloned();
        let added = messages.try_for_each(|message| draft.add(message));
        added.map_or_else(|fault| fault.reason, |()| "read")
    }

    #[test]
    fn what_was_read_of_a_file_meets_what_stands_around_it() {
        let mut joined = JoinedText::new("\n\n");
        joined.text("one ");
        joined.file("a.txt", " two\n");
        joined.file("b.bin", "");
        joined.mark("[image]");
        joined.file("c.txt", "three");
        joined.file("d.txt", " ");
        joined.file("e.txt", "four");
        let (text, seams) = joined.finish();
        let between: Vec<&str> = seams.iter().map(|seam| &text[seam.clone()]).collect();
        let expected = [
            " \n\n[file: a.txt]\n ",
            "\n\n[end of file: a.txt]\n\n[file: b.bin]\n\n[image]\n\n[file: c.txt]\n",
            "\n[end of file: c.txt]\n\n[file: d.txt]\n \n[end of file: d.txt]\n\n[file: e.txt]\n",
        ];
        assert_eq!(between, expected);
        assert!(text.ends_with("four\n[end of file: e.txt]"), "{text}");
    }

    #[test]
    fn a_conversation_is_as_large_as_it_is_put_on_record() {
        let json = |text: &str| serde_json::to_string(text).unwrap().len() - 2;
        for text in [
            "plain",
            "\"quoted\" \\ \n\t\r",
            "\u{8}\u{c}\u{1}\u{1f}\u{7f}",
            "ü𝄞",
        ] {
            assert_eq!(written_length(text), json(text), "{text:?}");
        }
        let of = |text: String| reason(&[message("1", None, &text)]);
        let most = MAX_CONVERSATION - AROUND_MESSAGE - 1;
        assert_eq!(of("x".repeat(most)), "read");
        assert_eq!(of("x".repeat(most + 1)), "too_large");
        assert_eq!(of("\u{1}".repeat(most / 6 + 1)), "too_large");
        let mut draft = ConversationDraft::new("a").unwrap();
        draft.title(Some(&"x".repeat(MAX_LABEL))).unwrap();
        let fault = draft.title(Some(&"x".repeat(MAX_LABEL + 1))).unwrap_err();
        assert_eq!(fault.reason, "too_large");
    }

    #[test]
    fn times_are_whole_seconds_of_1970_to_2100_and_others_are_counted() {
        let mut draft = ConversationDraft::new("a").unwrap();
        let times = [
            (0.0, Some(0)),
            (1_700_000_000.987, Some(1_700_000_000)),
            (4_133_980_799.9, Some(4_133_980_799)),
            (4_133_980_800.0, None),
            (-0.5, None),
            (1_700_000_000_000.0, None),
            (253_402_300_799.0, None),
            (f64::NAN, None),
            (f64::INFINITY, None),
        ];
        for (seconds, expected) in times {
            assert_eq!(draft.moment(Some(seconds)), expected, "{seconds}");
        }
        let written = [
            ("2024-01-02T03:04:05.999Z", Some(1_704_164_645)),
            ("2024-01-02T03:04:05+01:00", Some(1_704_161_045)),
            ("1969-12-31T23:59:59Z", None),
            ("9999-01-01T00:00:00Z", None),
            ("yesterday", None),
        ];
        for (text, expected) in written {
            assert_eq!(draft.written_moment(Some(text)), expected, "{text}");
        }
        let in_utc = [
            ("2024-01-02T03:04:05.678901", Some(1_704_164_645)),
            ("2024-01-02 03:04:05", Some(1_704_164_645)),
            ("2024-01-02 03:04:05.678901+00:00", Some(1_704_164_645)),
            ("2024-01-02T04:04:05+01:00", Some(1_704_164_645)),
            ("2024-01-02", Some(1_704_153_600)),
            ("2024-13-02", None),
            ("5", None),
        ];
        for (text, expected) in in_utc {
            assert_eq!(draft.utc_moment(Some(text)), expected, "{text}");
        }
        assert_eq!(draft.finish().skipped["time"], 6 + 3 + 2);
    }

    #[test]
    fn each_rule_of_messages_holds() {
        assert_eq!(
            reason(&[message("1", None, "a"), message("2", Some("1"), "b")]),
            "read"
        );
        assert_eq!(reason(&[message("1", Some("1"), "a")]), "loop");
        assert_eq!(reason(&[message("1", Some("2"), "a")]), "missing_parent");
        assert_eq!(
            reason(&[message("1", None, "a"), message("1", None, "b")]),
            "duplicate_id"
        );
        assert_eq!(reason(&[message("1", None, "a\0")]), "not_text");
        assert_eq!(reason(&[message(&"1".repeat(MAX_NAME), None, "")]), "read");
        assert_eq!(
            reason(&[message(&"1".repeat(MAX_NAME + 1), None, "")]),
            "too_large"
        );
        let half = "a".repeat(MAX_CONVERSATION / 2 - AROUND_MESSAGE - 1);
        let mut texts = vec![message("1", None, &half), message("2", None, &half)];
        assert_eq!(reason(&texts), "read");
        texts.push(message("3", None, "a"));
        assert_eq!(reason(&texts), "too_large");
        assert!(ConversationDraft::new("").is_err());
    }

    #[test]
    fn messages_have_a_limit() {
        let mut draft = ConversationDraft::new("a").unwrap();
        for n in 0..MAX_MESSAGES {
            draft.add(message(&n.to_string(), None, "")).unwrap();
        }
        let fault = draft.add(message("x", None, "")).unwrap_err();
        assert_eq!(fault.reason, "too_large");
    }

    #[test]
    fn an_id_is_handed_on_once_and_nothing_behind_an_end() {
        let mut taken = Vec::new();
        let mut take = |piece| {
            taken.push(piece);
            match taken.len() {
                3 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        };
        let mut feed = PieceFeed::new(&mut take);
        for id in ["a", "a", "b", "c"] {
            let draft = ConversationDraft::new(id).unwrap();
            feed.conversation("place", Some(id), Ok(draft.finish()));
        }
        assert!(feed.is_over());
        assert_eq!(taken.len(), 3);
        let SourcePiece::Refused(refused) = &taken[1] else {
            panic!("{taken:?}")
        };
        assert_eq!(
            (refused.reason, refused.name.as_deref()),
            ("repeats", Some("a"))
        );
    }
}
