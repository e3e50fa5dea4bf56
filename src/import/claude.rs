//! Claude's export: conversations as lists of messages.
//!
//! A message has blocks of content, or, in older exports, one text. Texts are joined; a block that
//! is none becomes a mark: `[thinking]`, `[tool: NAME]` where a tool is called, `[result: NAME]` for
//! what it gave, else the name of its kind in brackets. Attachments stand behind the message, each
//! as `[file: NAME]`, with what was read of it and `[end of file: NAME]`: that is a part of the message as
//! its text is, so that a secret is found which runs from one into the other. A message without text is
//! left out and counted; replies to it reply to the nearest message above that is kept.

use std::collections::HashMap;

use serde_json::Value;

use super::draft::{ConversationDraft, JoinedText, PieceFeed};
use super::export::{self, ExportedList};
use super::fault::ImportFault;
use super::file::ForeignFile;
use super::json::JsonFields;
use super::{SourceConversation, SourceError, SourceMessage};
use crate::record::ledger::imported::ImportedRole;

/// What a first message replies to.
const NOTHING: &str = "00000000-0000-4000-8000-000000000000";
/// Most projects whose names are kept while conversations are read.
const MAX_PROJECTS: usize = 100_000;
/// Most bytes of the name of a project.
const MAX_PROJECT: usize = 512;

/// Reads an export.
pub(super) fn read(file: &ForeignFile, feed: &mut PieceFeed<'_>) -> Result<String, SourceError> {
    let mut projects = HashMap::new();
    export::read(file, feed, |list, place, element, feed| match list {
        ExportedList::Projects => {
            let named = element.and_then(|value| project(&value, projects.len()));
            match named {
                Ok((id, name)) => drop(projects.insert(id, name)),
                Err(fault) => feed.refuse(place, None, fault),
            }
        }
        ExportedList::Conversations => {
            let name = element.as_ref().ok().and_then(name);
            let read = element.and_then(|value| conversation(&value, &projects));
            feed.conversation(place, name.as_deref(), read);
        }
    })
}

/// Name or id, for what is refused.
fn name(value: &Value) -> Option<String> {
    let text = |key: &str| value.get(key)?.as_str().filter(|text| !text.is_empty());
    ["name", "uuid"]
        .into_iter()
        .find_map(text)
        .map(str::to_owned)
}

/// The id and the name of a project.
fn project(value: &Value, known: usize) -> Result<(String, String), ImportFault> {
    let fields = JsonFields::of(value, "the project")?;
    let id = JsonFields::needed("uuid", fields.text("uuid")?)?;
    let name = JsonFields::needed("name", fields.text("name")?)?;
    if known == MAX_PROJECTS {
        let detail = format!("the export has more than {MAX_PROJECTS} projects");
        return Err(ImportFault::new("too_many", detail));
    }
    if id.len().max(name.len()) > MAX_PROJECT {
        let detail = format!("its id or name has more than {MAX_PROJECT} bytes");
        return Err(ImportFault::new("too_large", detail));
    }
    Ok((id.to_owned(), name.to_owned()))
}

fn conversation(
    value: &Value,
    projects: &HashMap<String, String>,
) -> Result<SourceConversation, ImportFault> {
    let fields = JsonFields::of(value, "the conversation")?;
    let mut draft = ConversationDraft::new(JsonFields::needed("uuid", fields.text("uuid")?)?)?;
    draft.title(fields.text("name")?)?;
    let created = draft.written_moment(fields.text("created_at")?);
    let updated = draft.written_moment(fields.text("updated_at")?);
    draft.whole_times(created, updated);
    let project = match fields.object("project")? {
        Some(project) => project.text("name")?,
        None => {
            let id = fields.text("project_uuid")?;
            id.and_then(|id| projects.get(id)).map(String::as_str)
        }
    };
    draft.project(project)?;
    let mut left_out = HashMap::new();
    for value in JsonFields::needed("chat_messages", fields.0.get("chat_messages"))
        .and_then(|_| fields.list("chat_messages"))?
    {
        message(
            &mut draft,
            &mut left_out,
            JsonFields::of(value, "a message")?,
        )?;
    }
    Ok(draft.finish())
}

/// Adds a message, or notes in `left_out` what replies to it reply to.
fn message(
    draft: &mut ConversationDraft,
    left_out: &mut HashMap<String, Option<String>>,
    fields: JsonFields<'_>,
) -> Result<(), ImportFault> {
    let id = match fields.text("uuid")? {
        Some(id) => id.to_owned(),
        None => format!("message-{}", draft.count() + 1),
    };
    let role = match JsonFields::needed("sender", fields.text("sender")?)? {
        "human" => ImportedRole::User,
        "assistant" => ImportedRole::Assistant,
        other => {
            let detail = format!("message {id:?} is by {other:?}; human or assistant was expected");
            return Err(ImportFault::shape(detail));
        }
    };
    let parent = match fields.text("parent_message_uuid")? {
        Some(NOTHING) => None,
        Some(parent) => match left_out.get(parent) {
            Some(above) => above.clone(),
            None => Some(parent.to_owned()),
        },
        // Older exports have no parents: each message replies to the one before it.
        None => draft.last_id().map(str::to_owned),
    };
    let (text, seams) = text(fields)?.finish();
    if text.is_empty() {
        draft.skip("empty");
        left_out.insert(id, parent);
        return Ok(());
    }
    let at = draft.written_moment(fields.text("created_at")?);
    draft.add(SourceMessage {
        id,
        parent,
        role,
        text,
        seams,
        model: fields.text("model")?.map(str::to_owned),
        at,
    })
}

/// All that a message says, with what is attached to it.
fn text(fields: JsonFields<'_>) -> Result<JoinedText, ImportFault> {
    let blocks = fields.list("content")?;
    let mut said = JoinedText::new("\n\n");
    if blocks.is_empty() {
        said.text(fields.text("text")?.unwrap_or_default());
    }
    for one in blocks {
        let field = |key: &str| one.get(key).and_then(Value::as_str);
        match field("type") {
            Some("text") => said.text(field("text").unwrap_or_default()),
            kind => said.mark(&mark(kind, field("name"))),
        }
    }
    for attached in fields.list("attachments")? {
        let attached = JsonFields::of(attached, "an attachment")?;
        let name = file_name(attached)?;
        let content = attached.text("extracted_content")?;
        said.file(name, content.unwrap_or_default());
    }
    for file in fields.list("files")? {
        let name = file_name(JsonFields::of(file, "a file")?)?;
        said.file(name, "");
    }
    Ok(said)
}

fn file_name<'a>(fields: JsonFields<'a>) -> Result<&'a str, ImportFault> {
    let name = fields.text("file_name")?.filter(|name| !name.is_empty());
    Ok(name.unwrap_or("without a name"))
}

/// What stands for a block that is no text.
fn mark(kind: Option<&str>, name: Option<&str>) -> String {
    let name = name.unwrap_or("without a name");
    match kind {
        Some("tool_use") => format!("[tool: {name}]"),
        Some("tool_result") => format!("[result: {name}]"),
        Some(kind) => format!("[{kind}]"),
        None => "[part]".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(messages: Value) -> Result<SourceConversation, ImportFault> {
        let value = json!({"uuid": "c", "name": "T", "created_at": "2024-01-02T03:04:05.678901Z",
            "updated_at": "2024-01-02T03:04:06Z", "account": {"uuid": "me"}, "chat_messages": messages});
        conversation(&value, &HashMap::new())
    }

    #[test]
    fn both_shapes_of_messages_are_read() {
        let read = read(json!([
            {"uuid": "1", "sender": "human", "text": "old", "created_at": "2024-01-02T03:04:05Z",
             "attachments": [{"file_name": "a.txt", "extracted_content": "inside"}, {"file_name": "b.bin"}],
             "files": [{"file_name": "c.png"}, {}]},
            {"uuid": "2", "sender": "assistant", "text": "not this", "content": [
                {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "new"},
                {"type": "tool_use", "name": "search", "input": {}},
                {"type": "tool_result", "name": "search", "content": []}, {"type": "text", "text": ""}, {}]},
        ]))
        .unwrap();
        let texts: Vec<_> = read
            .messages
            .iter()
            .map(|message| message.text.as_str())
            .collect();
        assert_eq!(
            texts,
            [
                "old\n\n[file: a.txt]\ninside\n[end of file: a.txt]\n\n[file: b.bin]\n\n[file: c.png]\n\n[file: without a name]",
                "[thinking]\n\nnew\n\n[tool: search]\n\n[result: search]\n\n[part]",
            ]
        );
        assert_eq!(read.messages[1].parent.as_deref(), Some("1"));
        assert_eq!(read.messages[0].at, Some(1_704_164_645));
        assert_eq!(
            (read.created_at, read.updated_at),
            (Some(1_704_164_645), Some(1_704_164_646))
        );
        assert_eq!(read.current.as_deref(), Some("2"));
    }

    #[test]
    fn branches_hang_at_the_nearest_message_that_is_kept() {
        let message = |id: &str, parent: &str, text: &str| json!({"uuid": id, "sender": "human", "text": text, "parent_message_uuid": parent});
        let read = read(json!([
            message("1", NOTHING, "a"),
            message("2", "1", ""),
            message("3", "2", ""),
            message("4", "3", "b"),
            message("5", NOTHING, "c"),
        ]))
        .unwrap();
        let seen: Vec<_> = read
            .messages
            .iter()
            .map(|m| (m.id.as_str(), m.parent.as_deref()))
            .collect();
        assert_eq!(seen, [("1", None), ("4", Some("1")), ("5", None)]);
        assert_eq!(read.skipped["empty"], 2);
    }

    #[test]
    fn what_is_no_conversation_is_refused() {
        let why = |messages: Value| read(messages).map_or_else(|fault| fault.reason, |_| "read");
        assert_eq!(why(json!([])), "read");
        assert_eq!(
            why(json!([{"uuid": "1", "sender": "robot", "text": "a"}])),
            "shape"
        );
        assert_eq!(why(json!([{"uuid": "1", "text": "a"}])), "shape");
        assert_eq!(why(json!([5])), "shape");
        assert_eq!(why(json!({})), "shape");
        let lost =
            json!([{"uuid": "1", "sender": "human", "text": "a", "parent_message_uuid": "9"}]);
        assert_eq!(why(lost), "missing_parent");
        let twice = json!({"uuid": "1", "sender": "human", "text": "a"});
        assert_eq!(why(json!([twice, twice])), "duplicate_id");
        let bad = json!([{"uuid": "1", "sender": "human", "text": "a", "created_at": "1969-01-01T00:00:00Z"}]);
        assert_eq!(read(bad).unwrap().skipped["time"], 1);
    }

    #[test]
    fn projects_have_limits() {
        let value = |name: &str| json!({"uuid": "p", "name": name});
        assert!(project(&value(&"a".repeat(MAX_PROJECT)), MAX_PROJECTS - 1).is_ok());
        assert_eq!(
            project(&value("a"), MAX_PROJECTS).unwrap_err().reason,
            "too_many"
        );
        let long = value(&"a".repeat(MAX_PROJECT + 1));
        assert_eq!(project(&long, 0).unwrap_err().reason, "too_large");
    }
}
