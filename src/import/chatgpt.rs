//! ChatGPT's export: conversations as trees of nodes.
//!
//! All branches are kept, a message before its replies, siblings as their parent lists them. What is
//! hidden (weight 0, or flagged so) and what has no text is left out and counted; replies to it
//! reply to the nearest message above that is kept. Parts that are no text become marks: `[image]`,
//! `[audio]`, `[file: NAME]`, or the name of their kind in brackets; so does what a model thought.

use std::collections::HashMap;

use serde_json::Value;

use super::draft::{ConversationDraft, JoinedText, PieceFeed, role_of};
use super::export;
use super::fault::ImportFault;
use super::file::ForeignFile;
use super::json::JsonFields;
use super::{SourceConversation, SourceError, SourceMessage};

/// Reads an export.
pub(super) fn read(file: &ForeignFile, feed: &mut PieceFeed<'_>) -> Result<String, SourceError> {
    export::read(file, feed, |list, place, element, feed| {
        if list != export::ExportedList::Conversations {
            return;
        }
        let name = element.as_ref().ok().and_then(name);
        let read = element.and_then(|value| conversation(&value));
        feed.conversation(place, name.as_deref(), read);
    })
}

/// Title or id, for what is refused.
fn name(value: &Value) -> Option<String> {
    let text = |key: &str| value.get(key)?.as_str().filter(|text| !text.is_empty());
    let found = ["title", "id", "conversation_id"]
        .into_iter()
        .find_map(text);
    found.map(str::to_owned)
}

/// A node of the tree.
struct ChatNode<'a> {
    fields: JsonFields<'a>,
    /// Those that reply to it, in their order.
    children: Vec<&'a str>,
}

fn conversation(value: &Value) -> Result<SourceConversation, ImportFault> {
    let fields = JsonFields::of(value, "the conversation")?;
    let id = fields.text("id")?.or(fields.text("conversation_id")?);
    let mut draft = ConversationDraft::new(JsonFields::needed("id", id)?)?;
    draft.title(fields.text("title")?)?;
    draft.times(fields.number("create_time")?, fields.number("update_time")?);
    let (root, nodes) = tree(JsonFields::needed("mapping", fields.object("mapping")?)?)?;
    // What is not kept, and the nearest kept message above it.
    let mut left_out: HashMap<&str, Option<&str>> = HashMap::new();
    let mut waiting: Vec<(&str, Option<&str>)> = root.map(|id| (id, None)).into_iter().collect();
    let mut reached = 0;
    while let Some((id, above)) = waiting.pop() {
        reached += 1;
        let node = &nodes[id];
        let is_kept = match node.fields.object("message")? {
            Some(message) => add(&mut draft, id, above, message)?,
            None => false,
        };
        if !is_kept {
            left_out.insert(id, above);
        }
        let nearest = if is_kept { Some(id) } else { above };
        let replies = node.children.iter().rev();
        waiting.extend(replies.map(|child| (*child, nearest)));
    }
    if reached < nodes.len() {
        let detail = format!(
            "{} of its {} nodes are replies to one another in a loop, and lead to no beginning",
            nodes.len() - reached,
            nodes.len()
        );
        return Err(ImportFault::new("loop", detail));
    }
    let current = fields
        .text("current_node")?
        .filter(|id| nodes.contains_key(id));
    let current = current.and_then(|id| left_out.get(id).copied().unwrap_or(Some(id)));
    draft.current(current.map(str::to_owned));
    Ok(draft.finish())
}

type ChatTree<'a> = (Option<&'a str>, HashMap<&'a str, ChatNode<'a>>);

/// The nodes of a conversation, and the one at its beginning. Who is whose parent is what each node
/// says of itself; the lists of children say their order.
fn tree<'a>(mapping: JsonFields<'a>) -> Result<ChatTree<'a>, ImportFault> {
    let mut nodes = HashMap::new();
    for (id, value) in mapping.0 {
        let fields = JsonFields::of(value, "a node")?;
        let children = Vec::new();
        nodes.insert(id.as_str(), ChatNode { fields, children });
    }
    let mut roots = Vec::new();
    // In the order of the source's keys, so that what it does not order is ordered still.
    for (id, _) in mapping.0 {
        let parent = nodes[id.as_str()].fields.text("parent")?;
        let Some(parent) = parent else {
            roots.push(id.as_str());
            continue;
        };
        let Some(above) = nodes.get_mut(parent) else {
            let detail = format!("node {id:?} replies to {parent:?}, which is not there");
            return Err(ImportFault::new("missing_parent", detail));
        };
        above.children.push(id);
    }
    for node in nodes.values_mut() {
        let listed = node.fields.list("children")?.iter().enumerate();
        let place: HashMap<&str, usize> = listed
            .filter_map(|(at, child)| Some((child.as_str()?, at)))
            .collect();
        let at = |child: &&str| place.get(child).copied().unwrap_or(usize::MAX);
        node.children.sort_by_key(at);
    }
    match roots[..] {
        [] => Ok((None, nodes)),
        [root] => Ok((Some(root), nodes)),
        _ => Err(ImportFault::new(
            "roots",
            format!(
                "{} of its nodes reply to nothing; one was expected",
                roots.len()
            ),
        )),
    }
}

/// Adds a message, unless it is left out: whether it was added.
fn add(
    draft: &mut ConversationDraft,
    id: &str,
    parent: Option<&str>,
    message: JsonFields<'_>,
) -> Result<bool, ImportFault> {
    let nothing = serde_json::Map::new();
    let metadata = message.object("metadata")?.unwrap_or(JsonFields(&nothing));
    let author = JsonFields::needed("author", message.object("author")?)?;
    let word = JsonFields::needed("role", author.text("role")?)?;
    let role = role_of(word)?;
    let flag = metadata.0.get("is_visually_hidden_from_conversation");
    if message.number("weight")? == Some(0.0) || flag == Some(&Value::Bool(true)) {
        draft.skip("hidden");
        return Ok(false);
    }
    let (text, seams) = text(message, metadata)?.finish();
    if text.is_empty() {
        draft.skip("empty");
        return Ok(false);
    }
    let at = draft.moment(message.number("create_time")?);
    draft.add(SourceMessage {
        id: id.to_owned(),
        parent: parent.map(str::to_owned),
        role,
        text,
        seams,
        model: metadata.text("model_slug")?.map(str::to_owned),
        at,
    })?;
    Ok(true)
}

/// All that a message says, parts and files below one another.
fn text(message: JsonFields<'_>, metadata: JsonFields<'_>) -> Result<JoinedText, ImportFault> {
    let mut said = JoinedText::new("\n");
    if let Some(content) = message.object("content")? {
        let kind = content.text("content_type")?.unwrap_or("text");
        let parts = content.list("parts")?;
        for one in parts {
            let own = one.as_str().or_else(|| one.get("text")?.as_str());
            match own {
                Some(text) => said.text(text),
                None => said.mark(&mark(one)),
            }
        }
        // null is as good as nothing.
        if content.0.get("parts").is_none_or(Value::is_null) {
            // Code, what it printed, and pages that were looked at have one text of their own.
            let own = ["text", "result"]
                .into_iter()
                .find_map(|key| content.0.get(key)?.as_str());
            match own {
                Some(text) => said.mark(text),
                None => said.mark(&format!("[{kind}]")),
            }
        }
    }
    for attached in metadata.list("attachments")? {
        let field = |key: &str| attached.get(key).and_then(Value::as_str);
        // Pictures stand among the parts.
        if !field("mime_type").is_some_and(|kind| kind.starts_with("image/")) {
            let name = field("name").unwrap_or("without a name");
            said.mark(&format!("[file: {name}]"));
        }
    }
    Ok(said)
}

/// What stands for a part that is no text.
fn mark(part: &Value) -> String {
    let field = |key: &str| part.get(key).and_then(Value::as_str);
    let kind = field("content_type").unwrap_or("part");
    if kind.contains("image") {
        return "[image]".to_owned();
    }
    if kind.contains("audio") {
        return "[audio]".to_owned();
    }
    match ["name", "file_name", "filename"]
        .into_iter()
        .find_map(field)
    {
        Some(name) => format!("[file: {name}]"),
        None => format!("[{kind}]"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::import::tests::{conversations, read_bytes, refusals};
    use crate::record::ledger::imported::ImportFormat::ChatGpt;

    /// A node with a message of a person.
    fn said(parent: &str, children: &[&str], text: &str) -> Value {
        let parent = Some(parent).filter(|parent| !parent.is_empty());
        json!({"parent": parent, "children": children, "message": {
            "author": {"role": "user"}, "content": {"content_type": "text", "parts": [text]}}})
    }

    fn chat(mapping: Value) -> Value {
        json!({"id": "c", "title": "T", "create_time": 1_700_000_000.9, "update_time": 1_700_000_001.1,
            "current_node": "e", "mapping": mapping})
    }

    fn why(conversation: Value) -> &'static str {
        let read = super::conversation(&conversation);
        read.map_or_else(|fault| fault.reason, |_| "read")
    }

    #[test]
    fn all_branches_are_kept_and_replies_find_the_nearest_message() {
        let mut hidden = said("a", &["d"], "not seen");
        hidden["message"]["weight"] = json!(0);
        let mut flagged = said("b", &["e"], "not seen");
        flagged["message"]["metadata"] = json!({"is_visually_hidden_from_conversation": true});
        let mut empty = said("root", &["z", "a"], "");
        empty["message"]["author"]["role"] = json!("system");
        let mapping = json!({
            "root": {"parent": null, "children": ["system"], "message": null},
            "system": empty,
            // The order of siblings is the list's, which is not that of their names.
            "z": said("system", &[], "first"),
            "a": said("system", &["b", "x"], "second"),
            "b": hidden,
            "d": flagged,
            "e": said("d", &[], "a reply"),
            "x": said("a", &[], "another"),
        });
        let mut mapping = mapping;
        mapping["d"]["parent"] = json!("b");
        let bytes = serde_json::to_vec(&json!([chat(mapping)])).unwrap();
        let read = read_bytes(ChatGpt, &bytes);
        read.end.unwrap();
        let [one] = &conversations(&read.pieces)[..] else {
            panic!("{:?}", read.pieces)
        };
        let seen: Vec<_> = one
            .messages
            .iter()
            .map(|m| (m.id.as_str(), m.parent.as_deref()))
            .collect();
        let expected = [("z", None), ("a", None), ("e", Some("a")), ("x", Some("a"))];
        assert_eq!(seen, expected);
        let skipped: Vec<_> = one.skipped.iter().map(|(why, n)| (*why, *n)).collect();
        assert_eq!(skipped, [("empty", 1), ("hidden", 2)]);
        assert_eq!(one.current.as_deref(), Some("e"));
        assert_eq!(
            (one.created_at, one.updated_at),
            (Some(1_700_000_000), Some(1_700_000_001))
        );
        assert_eq!(one.title.as_deref(), Some("T"));
    }

    #[test]
    fn the_way_that_is_shown_ends_at_the_nearest_message_that_is_kept() {
        let mut hidden = said("a", &[], "not seen");
        hidden["message"]["weight"] = json!(0.0);
        let mapping =
            json!({"a": said("", &["b", "e"], "one"), "b": said("a", &[], "two"), "e": hidden});
        let read = super::conversation(&chat(mapping.clone())).unwrap();
        assert_eq!(read.current.as_deref(), Some("a"));
        let mut unnamed = chat(mapping);
        unnamed["current_node"] = Value::Null;
        assert_eq!(
            super::conversation(&unnamed).unwrap().current.as_deref(),
            Some("b")
        );
    }

    #[test]
    fn trees_that_are_none_are_refused() {
        let a = || said("", &["b"], "one");
        assert_eq!(
            why(chat(json!({"a": a(), "b": said("a", &[], "two")}))),
            "read"
        );
        assert_eq!(why(chat(json!({}))), "read");
        assert_eq!(
            why(chat(json!({"a": a(), "b": said("", &[], "two")}))),
            "roots"
        );
        assert_eq!(
            why(chat(json!({"a": a(), "b": said("q", &[], "two")}))),
            "missing_parent"
        );
        assert_eq!(why(chat(json!({"a": said("a", &["a"], "one")}))), "loop");
        let looped =
            json!({"a": a(), "b": said("c", &["c"], "two"), "c": said("b", &["b"], "three")});
        assert_eq!(why(chat(looped)), "loop");
        assert_eq!(why(json!({"id": "c"})), "shape");
        assert_eq!(why(json!({"mapping": {}})), "shape");
        assert_eq!(why(json!([])), "shape");
        let mut other = chat(json!({"a": a()}));
        other["mapping"]["a"]["message"]["author"]["role"] = json!("critic");
        assert_eq!(why(other), "shape");
    }

    #[test]
    fn a_long_chain_is_walked_without_recursion() {
        let mut mapping = serde_json::Map::new();
        for n in 0..20_000_u32 {
            let parent = n.checked_sub(1).map_or(String::new(), |n| n.to_string());
            mapping.insert(n.to_string(), said(&parent, &[&(n + 1).to_string()], "x"));
        }
        let read = super::conversation(&chat(mapping.into())).unwrap();
        assert_eq!(read.messages.len(), 20_000);
        assert_eq!(read.messages[19_999].parent.as_deref(), Some("19998"));
    }

    #[test]
    fn parts_that_are_no_text_are_marked() {
        for (content, expected) in [
            (
                json!({"content_type": "text", "parts": ["a", "", "b"]}),
                "a\nb",
            ),
            (
                json!({"content_type": "multimodal_text", "parts": [
                    {"content_type": "image_asset_pointer", "asset_pointer": "x"}, "look",
                    {"content_type": "audio_asset_pointer"},
                    {"content_type": "audio_transcription", "text": "spoken"},
                    {"content_type": "blob", "name": "a.pdf"}, {"content_type": "other"}, 7]}),
                "[image]\nlook\n[audio]\nspoken\n[file: a.pdf]\n[other]\n[part]",
            ),
            (json!({"content_type": "code", "text": "1+1"}), "1+1"),
            (
                json!({"content_type": "code", "parts": null, "text": "1+1"}),
                "1+1",
            ),
            (
                json!({"content_type": "tether_browsing_display", "result": "page"}),
                "page",
            ),
            (
                json!({"content_type": "thoughts", "thoughts": [{"content": "x"}]}),
                "[thoughts]",
            ),
            (
                json!({"content_type": "text", "parts": []}),
                "[file: b.txt]",
            ),
        ] {
            let mut node = said("", &[], "");
            node["message"]["content"] = content;
            if expected.ends_with("b.txt]") {
                node["message"]["metadata"] = json!({"attachments": [
                    {"name": "b.txt", "mime_type": "text/plain"}, {"name": "c.png", "mime_type": "image/png"}]});
            }
            let read = super::conversation(&chat(json!({"a": node}))).unwrap();
            assert_eq!(read.messages[0].text, expected);
        }
    }

    #[test]
    fn times_out_of_range_and_models() {
        let mut node = said("", &[], "x");
        node["message"]["create_time"] = json!(1_700_000_000_000_u64);
        node["message"]["author"]["role"] = json!("assistant");
        node["message"]["metadata"] = json!({"model_slug": "gpt-4o"});
        let mut chat = chat(json!({"a": node}));
        chat["create_time"] = json!(-1);
        chat["title"] = Value::Null;
        let read = super::conversation(&chat).unwrap();
        let message = &read.messages[0];
        assert_eq!(
            (message.at, message.model.as_deref()),
            (None, Some("gpt-4o"))
        );
        assert_eq!((read.created_at, read.skipped["time"]), (None, 2));
        assert_eq!(read.title, None);
    }

    #[test]
    fn a_conversation_over_sixteen_mebibytes_is_refused_by_its_title() {
        let text = "a".repeat(crate::import::MAX_CONVERSATION + 1);
        let bytes = serde_json::to_vec(&json!([chat(json!({"a": said("", &[], &text)}))])).unwrap();
        let read = read_bytes(ChatGpt, &bytes);
        assert_eq!(
            refusals(&read.pieces),
            [("too_large", "conversations.json, conversation 1")]
        );
        let Some(crate::import::SourcePiece::Refused(refused)) = read.pieces.first() else {
            panic!("nothing")
        };
        assert_eq!(refused.name.as_deref(), Some("T"));
    }

    #[test]
    fn every_message_is_taken_or_counted() {
        // Trees by a generator: each node replies to one before it; some are hidden or empty.
        let mut state = 7_u64;
        let mut next = move |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        for size in 1..60_u64 {
            let mut mapping = serde_json::Map::new();
            mapping.insert(
                "n0".to_owned(),
                json!({"parent": null, "children": [], "message": null}),
            );
            for n in 1..=size {
                let parent = format!("n{}", next(n));
                let mut node = said(&parent, &[], if next(4) == 0 { "" } else { "x" });
                node["message"]["weight"] = json!(next(3));
                mapping.insert(format!("n{n}"), node);
            }
            let read = super::conversation(&chat(mapping.into())).unwrap();
            let counted: u64 = read.skipped.values().sum();
            assert_eq!(read.messages.len() as u64 + counted, size);
        }
    }
}
