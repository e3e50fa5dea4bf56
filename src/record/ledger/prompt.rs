//! The compiled prompt: the list of messages that is sent (AEGIS 4.1, step 3), and the form that it
//! had before conversations were sent as messages ([`RequestDoc`](super::request::RequestDoc) is
//! today's): two of them, from a kernel, a bundle, what stands behind it, and the person's text.
//!
//! ```text
//! [{"content":"SYSTEM","role":"system"},{"content":"USER","role":"user"}]     canonical JSON: these bytes are hashed
//!
//! SYSTEM = kernel's prompt.system ‖ "\n\n" [‖ owner's text ‖ "\n\n"] ‖ "<gently-context sha256:HASH>\n" ‖ bundle ‖ "\n</gently-context>\n"
//!          [‖ "<gently-turns sha256:HASH>\n" ‖ turns ‖ "\n</gently-turns>\n"]
//!          [‖ context block ‖ "\n"]
//! turns  = [{"at":"2026-01-08T00:00:00Z","speaker":"user","text":"…","turn":"UUID"},…]                         canonical JSON
//! ```
//! `turns` are those of deep history; what the client declared stands in the context block
//! ([`context_block`](crate::record::context::block::context_block)). Their texts are in no bundle,
//! so that one erased is erased everywhere. Inside the first two blocks every `<` is spelled
//! `\u003c`, and so are the ends of lines that JSON leaves as they are (`\u0085`, `\u2028`,
//! `\u2029`), which is the same JSON; elsewhere a marker's `<` becomes `&lt;`, and a line that
//! looks like one of the context block's gets a `\`. So exactly one block of each kind can be read,
//! and it is the host's. Exchanges from before threads had no context block: what was declared
//! stood among the turns.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::record::canon;
use crate::record::context::block::outside_the_block;
use crate::record::hash::Hash32;
use crate::record::time::Seconds;

use super::bundle::Moment;
use super::client_request::ToolCall;

/// `artifact_type` of the kernel.
pub const KERNEL: &str = "kernel";
/// `artifact_type` of an earlier turn.
pub const TURN: &str = "turn";
/// `artifact_type` of a correction.
pub const CORRECTION: &str = "correction";
/// `artifact_type` of a passage of an imported conversation.
pub const IMPORTED: &str = "imported";
/// `artifact_type` of what is on record by itself; of everything else that was injected only the
/// bundle tells what it was.
pub const ON_RECORD: [&str; 8] = [
    KERNEL,
    "ledger_fact",
    "note",
    "decision",
    "intent",
    CORRECTION,
    IMPORTED,
    TURN,
];
/// Why a turn of deep history is there.
pub const DEEP: &str = "ring2.deep";

/// Whether a reference names an earlier turn that stands in the block of turns. Since there are
/// threads, that is deep history alone: what was declared stands in the context block.
pub fn is_in_turns(artifact_type: &str, included_reason: &str, has_context: bool) -> bool {
    artifact_type == TURN && (!has_context || included_reason.starts_with(DEEP))
}

/// What a kernel says to a model.
#[derive(Clone, Copy, Debug)]
pub struct SystemPrompt<'a> {
    /// Hash of the kernel that the question was asked under.
    pub kernel: Hash32,
    /// Its own part of the system message.
    pub text: &'a str,
}

/// What a prompt is compiled from.
#[derive(Clone, Copy, Debug)]
pub struct PromptParts<'a> {
    /// The kernel's part of the system message.
    pub kernel: SystemPrompt<'a>,
    /// The owner's part of it: after the kernel's, before the context.
    pub own: Option<&'a str>,
    /// The bundle's canonical JSON.
    pub bundle: &'a str,
    /// What stands behind the bundle.
    pub context: PromptContext<'a>,
    /// The person's text.
    pub user: &'a str,
}

impl PromptParts<'_> {
    /// The messages; a function of these parts and nothing else.
    pub fn messages(&self) -> PromptMessages {
        PromptMessages::new(vec![
            ChatMessage::new(ChatRole::System, self.system_message()),
            ChatMessage::new(ChatRole::User, self.context.beside(self.user)),
        ])
    }

    fn system_message(&self) -> String {
        let head = self.kernel.text.trim_end();
        let own = self
            .own
            .map(|text| format!("{}\n\n", self.context.beside(text)))
            .unwrap_or_default();
        let (turns, context) = match self.context {
            PromptContext::Turns(turns) => (turns, None),
            PromptContext::Thread { deep, block } => (deep, block),
        };
        let mut message = format!("{head}\n\n{own}{}", block(MARKER, self.bundle));
        if !turns.is_empty() {
            message.push_str(&block(
                TURNS,
                &canon::print(&turns).expect("texts and times have a canonical print"),
            ));
        }
        if let Some(context) = context {
            message.push_str(&escape_markers(context));
            message.push('\n');
        }
        message
    }
}

/// The messages of a compiled prompt, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptMessages(Vec<ChatMessage>);

impl PromptMessages {
    /// In this order.
    pub fn new(messages: Vec<ChatMessage>) -> PromptMessages {
        PromptMessages(messages)
    }

    /// The messages in the order in which they are sent.
    pub fn list(&self) -> &[ChatMessage] {
        &self.0
    }

    /// All as canonical JSON: the bytes that are hashed.
    pub fn canonical(&self) -> String {
        // Texts under keys in order: their plain print is canonical, and needs not be looked at
        // again.
        serde_json::to_string(&self.0).expect("texts have a print")
    }
}

/// One message of a compiled prompt; keys in this order are also their canonical order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChatMessage {
    /// Text of the message.
    pub content: String,
    /// Who says it.
    pub role: ChatRole,
    /// The call that it is the result of; a tool's message alone has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// What it wants called; only a client's own messages of an assistant have any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
}

impl ChatMessage {
    /// A message of this role that is text alone.
    pub fn new(role: ChatRole, content: impl Into<String>) -> ChatMessage {
        ChatMessage {
            content: content.into(),
            role,
            tool_call_id: None,
            tool_calls: Vec::new(),
        }
    }

    /// Whether it is text alone.
    pub fn is_plain(&self) -> bool {
        self.tool_call_id.is_none() && self.tool_calls.is_empty()
    }
}

/// Who says a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatRole {
    /// The host: kernel and owner.
    System,
    /// The person who asks.
    User,
    /// The model that answers.
    Assistant,
    /// A tool that the model wanted called, and a client called.
    Tool,
}

impl ChatRole {
    /// The spelling in documents and on every wire.
    pub const fn name(self) -> &'static str {
        match self {
            ChatRole::System => "system",
            ChatRole::User => "user",
            ChatRole::Assistant => "assistant",
            ChatRole::Tool => "tool",
        }
    }
}

/// An earlier turn as the model sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PriorTurn {
    /// When it was recorded.
    pub at: Moment,
    /// `user` or `aurora`.
    pub speaker: &'static str,
    /// The stored text.
    pub text: String,
    /// Id of the turn's row.
    pub turn: Uuid,
}

impl PriorTurn {
    /// A turn on record; none when its text is erased.
    pub fn new(turn: Uuid, by_user: bool, at: Seconds, text: Option<&str>) -> Option<PriorTurn> {
        let speaker = if by_user { BY_USER } else { "aurora" };
        text.map(|text| PriorTurn {
            at: Moment(at),
            speaker,
            text: text.to_owned(),
            turn,
        })
    }

    /// Whether a person said it.
    pub fn is_by_user(&self) -> bool {
        self.speaker == BY_USER
    }

    /// Bytes of it inside the block.
    pub fn length(&self) -> usize {
        canon::print(self).map_or(0, |text| text.len())
    }
}

/// The speaker of a person's turn.
const BY_USER: &str = "user";
/// Name of the markers around the bundle.
const MARKER: &str = "gently-context";
/// Name of the markers around earlier turns.
const TURNS: &str = "gently-turns";

/// What stands behind the bundle.
#[derive(Clone, Copy, Debug)]
pub enum PromptContext<'a> {
    /// Of an exchange from before threads: turns that were declared, and deep history.
    Turns(&'a [PriorTurn]),
    /// Since there are threads.
    Thread {
        /// Earlier turns that the client declared as deep history.
        deep: &'a [PriorTurn],
        /// The context block, if anything was referred to.
        block: Option<&'a str>,
    },
}

impl PromptContext<'_> {
    /// A text of the person's, or of the owner's, as it can stand beside the blocks.
    fn beside(&self, text: &str) -> String {
        match self {
            PromptContext::Turns(_) => escape_markers(text),
            PromptContext::Thread { .. } => outside_the_block(&escape_markers(text)),
        }
    }
}

/// JSON between markers that can't stand inside it, on one line for every reader.
fn block(marker: &str, json: &str) -> String {
    let hash = Hash32::digest(json.as_bytes());
    let mut line = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => line.push_str("\\u003c"),
            '\u{85}' => line.push_str("\\u0085"),
            '\u{2028}' => line.push_str("\\u2028"),
            '\u{2029}' => line.push_str("\\u2029"),
            _ => line.push(c),
        }
    }
    format!("<{marker} sha256:{hash}>\n{line}\n</{marker}>\n")
}

/// Spells the `<` of every marker, opening or closing, in any case, as `&lt;`.
fn escape_markers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        if c == '<' && text.get(at + 1..).is_some_and(begins_marker) {
            out.push_str("&lt;")
        } else {
            out.push(c)
        }
    }
    out
}

fn begins_marker(rest: &str) -> bool {
    let name = rest.trim_start_matches(|c: char| c == '/' || c.is_whitespace());
    [MARKER, TURNS].iter().any(|marker| {
        name.get(..marker.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(marker))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_one_line_and_the_same_json() {
        let given =
            serde_json::json!({"a": "</gently-context>\u{2028}DBL_CONTEXT_REFS_END\u{85}x\u{2029}\n"}).to_string();
        let shown = block(MARKER, &given);
        let lines: Vec<&str> = shown
            .split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'])
            .collect();
        assert_eq!(
            (lines.len(), lines[2], shown.matches('<').count()),
            (4, "</gently-context>", 2),
            "{shown}"
        );
        let again: serde_json::Value = serde_json::from_str(lines[1]).unwrap();
        assert_eq!(again.to_string(), given);
    }

    #[test]
    fn the_print_of_two_texts_is_canonical() {
        let every: String = (0u32..0x300)
            .chain([0x2028, 0xfffd, 0x1_f600])
            .filter_map(char::from_u32)
            .collect();
        for (system, user) in [(every.as_str(), "\\\"/"), ("", every.as_str())] {
            let value = serde_json::json!([{"role": "system", "content": system}, {"role": "user", "content": user}]);
            let messages = PromptMessages::new(vec![
                ChatMessage::new(ChatRole::System, system),
                ChatMessage::new(ChatRole::User, user),
            ]);
            assert_eq!(messages.canonical(), canon::print(&value).unwrap());
        }
    }

    #[test]
    fn markers_are_escaped_and_nothing_else() {
        for (text, expected) in [
            ("</gently-context>", "&lt;/gently-context>"),
            (
                "< / GENTLY-Context sha256:00>",
                "&lt; / GENTLY-Context sha256:00>",
            ),
            ("<<gently-context>", "<&lt;gently-context>"),
            ("</Gently-Turns>", "&lt;/Gently-Turns>"),
            ("<gently-turn>", "<gently-turn>"),
            ("<gently-contex", "<gently-contex"),
            (
                "a < b, <b>é</b>, &lt;gently-context",
                "a < b, <b>é</b>, &lt;gently-context",
            ),
            ("<", "<"),
            ("<é", "<é"),
        ] {
            assert_eq!(escape_markers(text), expected);
            assert_eq!(escape_markers(expected), expected);
        }
    }
}
