//! Conversations that were held elsewhere and came as a file: what their documents say.
//!
//! ```text
//! kind import,                 id import:000001      what was read from a file, and what became of it
//! kind imported_conversation,  id imported:000001    one conversation, with its messages, as it was received
//! kind imported_promotion,     id imported_promotion:000001   a promotion of another program's specialist; it binds nothing
//! kind imported_audit,         id audit:000001       rows of another program's audit log, as they were received
//! ```
//! None of them is evidence of what was said: they are evidence of what was received, and when.
//!
//! A conversation is known by its format and the id that its source gave it. A later artifact of the
//! same conversation names the one before it as `replaces`; that one is in no list any more.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde_json::Value;

use super::item::content;
use crate::record::canon;
use crate::record::hash::Hash32;
use crate::record::time::Seconds;

/// The kind of the artifact that says what became of a file.
pub const IMPORT: &str = "import";
/// The kind of the artifact that holds one conversation.
pub const IMPORTED_CONVERSATION: &str = "imported_conversation";
/// The kind of the artifact that holds another program's audit log.
pub const IMPORTED_AUDIT: &str = "imported_audit";

/// The kind of the artifact that holds a promotion of another program's specialist.
pub const IMPORTED_PROMOTION: &str = "imported_promotion";

/// How an id begins that stands on record as a hash under the home's own key.
pub const HIDDEN_ID: &str = "hidden:";

/// Whose file a conversation came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ImportFormat {
    /// ChatGPT's export.
    ChatGpt,
    /// Claude's export.
    Claude,
    /// The database of the program `llm`.
    Llm,
    /// The state store of the adaptive utility agent, 1.x.
    Aua,
    /// A message a line.
    JsonLines,
}

impl ImportFormat {
    /// All of them, in the order in which help lists them.
    pub const ALL: [ImportFormat; 5] = [
        ImportFormat::ChatGpt,
        ImportFormat::Claude,
        ImportFormat::Llm,
        ImportFormat::Aua,
        ImportFormat::JsonLines,
    ];

    /// The word in documents, in the database and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            ImportFormat::ChatGpt => "chatgpt",
            ImportFormat::Claude => "claude",
            ImportFormat::Llm => "llm",
            ImportFormat::Aua => "aua",
            ImportFormat::JsonLines => "jsonl",
        }
    }
}

/// Who wrote an imported message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ImportedRole {
    /// The person.
    User,
    /// The model.
    Assistant,
    /// What the model was told beforehand.
    System,
    /// What a tool gave.
    Tool,
}

impl ImportedRole {
    /// All of them.
    pub const ALL: [ImportedRole; 4] = [
        ImportedRole::User,
        ImportedRole::Assistant,
        ImportedRole::System,
        ImportedRole::Tool,
    ];

    /// The word in documents and in the database.
    pub const fn name(self) -> &'static str {
        match self {
            ImportedRole::User => "user",
            ImportedRole::Assistant => "assistant",
            ImportedRole::System => "system",
            ImportedRole::Tool => "tool",
        }
    }
}

impl ImportFormat {
    /// The name of the program whose files have this format, for people.
    pub const fn shown(self) -> &'static str {
        match self {
            ImportFormat::ChatGpt => "ChatGPT",
            ImportFormat::Claude => "Claude",
            ImportFormat::Llm => "llm",
            ImportFormat::Aua => "an AUA state store",
            ImportFormat::JsonLines => "a JSON-lines file",
        }
    }

    /// Such a file, for people.
    pub const fn shown_file(self) -> &'static str {
        match self {
            ImportFormat::ChatGpt => "an export of ChatGPT",
            ImportFormat::Claude => "an export of Claude",
            ImportFormat::Llm => "the database of llm",
            ImportFormat::Aua => "the state store of an adaptive utility agent 1.x",
            ImportFormat::JsonLines => "a message a line, as JSON",
        }
    }
}

/// Most messages of one conversation: so many have a number of their own in the database.
pub const MAX_MESSAGES: usize = 1 << MESSAGE_BITS;
const MESSAGE_BITS: u32 = 20;

/// The number of a message: its conversation's line, and its place in it.
pub const fn message_number(line: u64, i: u64) -> u64 {
    line << MESSAGE_BITS | i
}

/// The line of the conversation that a message of this number is in.
pub const fn line_of_message(n: u64) -> u64 {
    n >> MESSAGE_BITS
}

/// What an imported conversation counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ImportedState {
    /// It is listed and found.
    Current,
    /// A later import of the same conversation took its place.
    Replaced,
    /// Its text is not here: it was erased, or lost with a database.
    Erased,
}

impl ImportedState {
    /// All of them.
    pub const ALL: [ImportedState; 3] = [
        ImportedState::Current,
        ImportedState::Replaced,
        ImportedState::Erased,
    ];

    /// The word in the database.
    pub const fn name(self) -> &'static str {
        match self {
            ImportedState::Current => "current",
            ImportedState::Replaced => "replaced",
            ImportedState::Erased => "erased",
        }
    }
}

/// One imported conversation, as its artifact gives it; of an erased one line, id and state alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedConversation {
    /// Line of its artifact.
    pub line: u64,
    /// Its id, such as `imported:000001`.
    pub id: String,
    /// Whose file it came from.
    pub format: Option<ImportFormat>,
    /// Its id in the source.
    pub source_id: Option<String>,
    /// SHA-256 of what it says; see [`digest_of`].
    pub digest: Option<Hash32>,
    /// When it began, as the source says.
    pub created_at: Option<Seconds>,
    /// When it was changed, as the source says.
    pub updated_at: Option<Seconds>,
    /// How many messages it has.
    pub messages: u64,
    /// The import that it came with, such as `import:000001`.
    pub import: Option<String>,
    /// What it counts for.
    pub state: ImportedState,
}

/// One message of an imported conversation, without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedMessage {
    /// Its number among all imported messages; see [`message_number`].
    pub n: u64,
    /// Line of its conversation.
    pub line: u64,
    /// Its place in the conversation, from 0.
    pub i: u64,
    /// Who wrote it.
    pub role: ImportedRole,
    /// The model, as the source names it.
    pub model: Option<String>,
    /// When, as the source says.
    pub at: Option<Seconds>,
}

/// What the artifact of a conversation gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedGiven {
    /// Its row, as if nothing came after it.
    pub conversation: ImportedConversation,
    /// Its messages.
    pub messages: Vec<ImportedMessage>,
    /// The id of the artifact whose place it takes.
    pub replaces: Option<String>,
}

/// What is said of where a conversation came from, and so is no part of what it says.
const BESIDE: [&str; 3] = ["by", "import", "replaces"];

/// SHA-256 of the canonical JSON of what an imported conversation says: the content of its document
/// without who received it, with which import, and in whose place. None where that can't be printed.
pub fn digest_of(mut content: Value) -> Option<Hash32> {
    let said = content.as_object_mut()?;
    for key in BESIDE {
        said.remove(key);
    }
    canon::digest(&content).ok()
}

/// What stands in a document beside the text of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageOnRecord<'a> {
    /// Who wrote it.
    pub role: ImportedRole,
    /// The model, as the source names it.
    pub model: Option<&'a str>,
    /// When, as the source says.
    pub at: Option<Seconds>,
}

impl<'a> MessageOnRecord<'a> {
    /// Of the message at a place, from 0: what is shown of it, whatever a row says. None where the document
    /// has no such message.
    pub fn of(content: &'a Value, place: u64) -> Option<MessageOnRecord<'a>> {
        let place = usize::try_from(place).ok()?;
        let message = messages_of(content).get(place)?;
        let role = message["role"].as_str()?;
        let mut roles = ImportedRole::ALL.into_iter();
        Some(MessageOnRecord {
            role: roles.find(|known| known.name() == role)?,
            model: message["model"].as_str(),
            at: time(message.get("at")),
        })
    }
}

/// Whose file a conversation came from, as its document says.
pub fn format_of(content: &Value) -> Option<ImportFormat> {
    let format = content["format"].as_str()?;
    let mut formats = ImportFormat::ALL.into_iter();
    formats.find(|known| known.name() == format)
}

/// What an artifact gives; nothing of another kind. Without a document that says something, it is one
/// whose text is gone.
pub fn imported_of(
    line: u64,
    kind: &str,
    id: &str,
    document: Option<&str>,
) -> Option<ImportedGiven> {
    if kind != IMPORTED_CONVERSATION {
        return None;
    }
    let said = content(document).and_then(|content| said(line, id, content));
    Some(said.unwrap_or_else(|| ImportedGiven {
        conversation: gone(line, id),
        messages: Vec::new(),
        replaces: None,
    }))
}

/// The messages of a conversation, in the order of its source.
pub fn messages_of(content: &Value) -> &[Value] {
    content["messages"]
        .as_array()
        .map_or(&[], |messages| messages.as_slice())
}

fn message_id(message: &Value) -> &str {
    message["id"].as_str().unwrap_or_default()
}

/// The ids on the way from the beginning to the current message, the last one where none is named; none
/// where no message says what it replies to, as all of them follow one another then.
pub fn way_shown(content: &Value) -> Option<HashSet<&str>> {
    let messages = messages_of(content);
    messages
        .iter()
        .find(|message| message["parent"].is_string())?;
    let parents: HashMap<&str, Option<&str>> = messages
        .iter()
        .map(|message| (message_id(message), message["parent"].as_str()))
        .collect();
    let last = messages.last().map(message_id);
    let current = content["current"].as_str();
    let mut next = current.filter(|id| parents.contains_key(id)).or(last);
    let mut way = HashSet::new();
    while let Some(id) = next {
        if !way.insert(id) {
            break;
        }
        next = parents.get(id).copied().flatten();
    }
    Some(way)
}

/// What a model answered to the message at a place, from 0: of several answers the one on the way that
/// is shown, else the last. None where nobody did before the person wrote again.
pub fn reply_to(content: &Value, place: usize) -> Option<&str> {
    let messages = messages_of(content);
    let way = way_shown(content);
    let mut above = place;
    loop {
        let id = message_id(messages.get(above)?);
        let below = above + 1..messages.len();
        let next = match &way {
            None => above + 1,
            Some(way) => {
                let replies = || below.clone().filter(|at| messages[*at]["parent"] == id);
                let is_shown = |at: &usize| way.contains(message_id(&messages[*at]));
                replies().find(is_shown).or_else(|| replies().next_back())?
            }
        };
        let message = messages.get(next)?;
        let text = message["text"].as_str().unwrap_or_default();
        match message["role"].as_str() {
            Some("user") => return None,
            Some("assistant") if !text.trim().is_empty() => return Some(text),
            _ => above = next,
        }
    }
}

/// The row of a conversation whose text is gone.
pub fn gone(line: u64, id: &str) -> ImportedConversation {
    ImportedConversation {
        line,
        id: id.to_owned(),
        format: None,
        source_id: None,
        digest: None,
        created_at: None,
        updated_at: None,
        messages: 0,
        import: None,
        state: ImportedState::Erased,
    }
}

fn time(value: Option<&Value>) -> Option<Seconds> {
    Seconds::new(value?.as_u64()?).ok()
}

fn said(line: u64, id: &str, content: Value) -> Option<ImportedGiven> {
    let text = |key: &str| content.get(key).and_then(Value::as_str);
    let mut messages = Vec::new();
    for (i, _) in (0..).zip(content.get("messages")?.as_array()?) {
        let message = MessageOnRecord::of(&content, i)?;
        messages.push(ImportedMessage {
            n: message_number(line, i),
            line,
            i,
            role: message.role,
            model: message.model.map(str::to_owned),
            at: message.at,
        });
    }
    let replaces = text("replaces").map(str::to_owned);
    let mut conversation = ImportedConversation {
        line,
        id: id.to_owned(),
        format: Some(format_of(&content)?),
        source_id: Some(text("source_id")?.to_owned()),
        digest: None,
        created_at: time(content.get("created_at")),
        updated_at: time(content.get("updated_at")),
        messages: u64::try_from(messages.len()).unwrap_or(u64::MAX),
        import: Some(text("import")?.to_owned()),
        state: ImportedState::Current,
    };
    // Last, since it takes the content, which may be large.
    conversation.digest = Some(digest_of(content)?);
    Some(ImportedGiven {
        conversation,
        messages,
        replaces,
    })
}

/// All imported conversations that artifacts give, by line; messages are given with each artifact, and
/// are not kept.
#[derive(Clone, Debug, Default)]
pub struct ImportedConversations {
    rows: BTreeMap<u64, ImportedConversation>,
    replaced: BTreeSet<String>,
}

impl ImportedConversations {
    /// Takes the next artifact, and gives the messages of the conversation that it is; `document` is its
    /// canonical JSON, none once erased. None of another kind.
    pub fn take(
        &mut self,
        line: u64,
        kind: &str,
        id: &str,
        document: Option<&str>,
    ) -> Option<Vec<ImportedMessage>> {
        let given = imported_of(line, kind, id, document)?;
        self.replaced.extend(given.replaces);
        self.rows.insert(line, given.conversation);
        Some(given.messages)
    }

    /// All of them, by line.
    pub fn into_map(mut self) -> BTreeMap<u64, ImportedConversation> {
        for row in self.rows.values_mut() {
            if row.state == ImportedState::Current && self.replaced.contains(&row.id) {
                row.state = ImportedState::Replaced;
            }
        }
        self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document(id: &str, content: &Value) -> String {
        json!({"content": content, "format": 1, "id": id, "kind": IMPORTED_CONVERSATION})
            .to_string()
    }

    fn conversation(import: &str, replaces: Value) -> Value {
        json!({"by": "ab", "created_at": 7, "current": "m1", "format": "chatgpt", "import": import,
            "messages": [
                {"at": 8, "id": "m0", "model": null, "parent": null, "role": "user", "text": "Hello"},
                {"at": null, "id": "m1", "model": "gpt-4", "parent": "m0", "role": "assistant", "text": "Hi"}],
            "project": null, "replaces": replaces, "source_id": "c-1", "title": "T", "updated_at": null})
    }

    #[test]
    fn a_conversation_is_what_its_artifact_says() {
        let first = conversation("import:000001", Value::Null);
        let again = conversation("import:000002", json!("imported:000001"));
        assert_eq!(
            digest_of(first.clone()),
            digest_of(again.clone()),
            "nothing else was said"
        );
        let mut all = ImportedConversations::default();
        let text = document("imported:000001", &first);
        let messages = all.take(3, IMPORTED_CONVERSATION, "imported:000001", Some(&text));
        let messages = messages.unwrap();
        let told: Vec<_> = messages
            .iter()
            .map(|one| {
                (
                    line_of_message(one.n),
                    one.i,
                    one.role,
                    one.at.map(Seconds::get),
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                (3, 0, ImportedRole::User, Some(8)),
                (3, 1, ImportedRole::Assistant, None)
            ]
        );
        assert_eq!(all.take(4, IMPORT, "import:000001", Some(&text)), None);
        let text = document("imported:000002", &again);
        all.take(5, IMPORTED_CONVERSATION, "imported:000002", Some(&text));
        all.take(6, IMPORTED_CONVERSATION, "imported:000003", None);
        let rows = all.into_map();
        let states: Vec<_> = rows.values().map(|row| (row.line, row.state)).collect();
        assert_eq!(
            states,
            [
                (3, ImportedState::Replaced),
                (5, ImportedState::Current),
                (6, ImportedState::Erased)
            ]
        );
        assert_eq!(rows[&6], gone(6, "imported:000003"));
        assert_eq!(rows[&5].digest, digest_of(first.clone()));
    }

    /// A conversation of messages, each a role, a text, which is its id, and what it replies to.
    fn tree(messages: &[(&str, &str, Option<&str>)], current: Option<&str>) -> Value {
        let messages = messages.iter().map(|(role, text, parent)| {
            json!({"id": text, "parent": parent, "role": role, "text": text})
        });
        json!({"messages": messages.collect::<Vec<_>>(), "current": current})
    }

    #[test]
    fn the_answer_to_a_message_is_found_on_the_way_that_is_shown() {
        let said = [
            ("user", "q", None),
            ("assistant", "first", Some("q")),
            ("assistant", "second", Some("q")),
            ("user", "more", Some("first")),
            ("tool", "t", Some("more")),
            ("assistant", "third", Some("t")),
            ("user", "last", Some("second")),
        ];
        let reply = |place, current| reply_to(&tree(&said, current), place).map(str::to_owned);
        assert_eq!(reply(0, Some("third")).as_deref(), Some("first"));
        assert_eq!(reply(0, Some("last")).as_deref(), Some("second"));
        assert_eq!(reply(3, Some("third")).as_deref(), Some("third"));
        // Of another branch: the last answer there is.
        assert_eq!(reply(3, Some("last")).as_deref(), Some("third"));
        assert_eq!(reply(6, None), None);
        assert_eq!(reply(9, None), None);
        let loose = [
            ("user", "q", None),
            ("assistant", "", None),
            ("assistant", "a", None),
        ];
        assert_eq!(reply_to(&tree(&loose, None), 0), Some("a"));
        let again = [("user", "q", None), ("user", "q2", Some("q"))];
        assert_eq!(reply_to(&tree(&again, None), 0), None);
    }

    #[test]
    fn another_word_is_another_digest() {
        let (one, mut other) = (
            conversation("i", Value::Null),
            conversation("i", Value::Null),
        );
        other["messages"][0]["text"] = json!("Hello!");
        assert!(digest_of(one.clone()).is_some());
        assert_ne!(digest_of(one.clone()), digest_of(other));
    }
}
