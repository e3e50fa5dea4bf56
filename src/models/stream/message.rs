//! A message of Anthropic's as its events come: it begins empty, its parts begin, grow and end, each
//! under its index, and at the end it is told what became of it.
//!
//! Whatever does not fit is `malformed`: put somewhere else, or left out, it would make an answer
//! that nobody gave.

use serde_json::{Map, Value};

use super::{exact, kind_of, unlike};
use crate::models::wire::{WireError, malformed};

/// What the beginning of a message says of it once and for all.
const LASTING: [&str; 5] = ["id", "type", "role", "model", "content"];

/// A message as far as it has come.
#[derive(Default)]
pub(super) struct GrowingMessage {
    /// What its beginning said of it; none before that.
    message: Option<Map<String, Value>>,
    /// By index, which only rises.
    parts: Vec<GrowingPart>,
    is_done: bool,
}

/// One of its parts.
struct GrowingPart {
    index: u64,
    part: Map<String, Value>,
    /// The print of a tool's input, which comes in pieces that are no JSON by themselves.
    input: String,
    is_open: bool,
}

impl GrowingMessage {
    /// Takes an event.
    pub(super) fn take(
        &mut self,
        kind: &str,
        mut event: Map<String, Value>,
    ) -> Result<(), WireError> {
        if kind == "ping" {
            return Ok(());
        }
        if self.is_done {
            let found = format!("expected nothing behind the end of the message, found `{kind}`");
            return Err(malformed(&found));
        }
        match (kind, &mut self.message) {
            ("message_start", None) => self.message = Some(beginning(event.remove("message"))?),
            ("message_start", Some(_)) => {
                return Err(malformed("expected one `message_start`, found two"));
            }
            (_, None) => {
                let found = format!("expected `message_start` first, found `{kind}`");
                return Err(malformed(&found));
            }
            ("content_block_start", _) => self.begin(event)?,
            ("content_block_delta", _) => {
                let delta = object("delta", event.remove("delta"))?;
                self.open_part(&event)?.grow(delta)?;
            }
            ("content_block_stop", _) => self.open_part(&event)?.end()?,
            ("message_delta", Some(message)) => change(message, event)?,
            ("message_stop", _) => self.end()?,
            // Events that are added later.
            _ => {}
        }
        Ok(())
    }

    /// The message, once it has come to its end.
    pub(super) fn whole(self) -> Result<Map<String, Value>, WireError> {
        let mut message = self
            .message
            .filter(|_| self.is_done)
            .ok_or(WireError::Unfinished)?;
        let parts = self.parts.into_iter();
        let parts = parts.map(|part| Value::Object(part.part)).collect();
        message.insert("content".to_owned(), parts);
        Ok(message)
    }

    fn begin(&mut self, mut event: Map<String, Value>) -> Result<(), WireError> {
        let index = index_of(&event)?;
        if let Some(last) = self.parts.last().filter(|last| last.index >= index) {
            return Err(malformed(&format!(
                "expected the next part's index to be above {}, found {index}",
                last.index
            )));
        }
        self.parts.push(GrowingPart {
            index,
            part: object("content_block", event.remove("content_block"))?,
            input: String::new(),
            is_open: true,
        });
        Ok(())
    }

    /// The part that an event is about.
    fn open_part(&mut self, event: &Map<String, Value>) -> Result<&mut GrowingPart, WireError> {
        let index = index_of(event)?;
        let found = self.parts.binary_search_by_key(&index, |part| part.index);
        let part = found.ok().and_then(|at| self.parts.get_mut(at));
        let part = part.ok_or_else(|| {
            malformed(&format!(
                "expected the index of a part that was begun, found {index}"
            ))
        })?;
        if part.is_open {
            return Ok(part);
        }
        Err(malformed(&format!(
            "expected part {index} to be open, found it ended"
        )))
    }

    fn end(&mut self) -> Result<(), WireError> {
        if let Some(open) = self.parts.iter().find(|part| part.is_open) {
            return Err(malformed(&format!(
                "expected part {} to be ended, found the end of the message",
                open.index
            )));
        }
        self.is_done = true;
        Ok(())
    }
}

impl GrowingPart {
    fn grow(&mut self, mut delta: Map<String, Value>) -> Result<(), WireError> {
        let kind = delta.remove("type");
        let kind = kind.as_ref().and_then(Value::as_str).unwrap_or_default();
        match kind {
            "text_delta" => self.append(kind, "text", "text", delta),
            "thinking_delta" => self.append(kind, "thinking", "thinking", delta),
            "signature_delta" => self.append(kind, "thinking", "signature", delta),
            "citations_delta" => {
                self.must_be(kind, "text")?;
                self.cite(delta.remove("citation").unwrap_or_default())
            }
            "input_json_delta" => {
                self.must_be(kind, "tool_use")?;
                match delta.get("partial_json") {
                    Some(Value::String(more)) => self.input.push_str(more),
                    other => return Err(unlike("text", "partial_json", other)),
                }
                Ok(())
            }
            // Left out it would be lost.
            other => {
                let found = format!("expected text or a tool's input to be added, found `{other}`");
                Err(malformed(&found))
            }
        }
    }

    /// Whether what is added is of the part's type: in another part it would not be read again.
    /// There are several types of tool calls, whose names end alike.
    fn must_be(&self, kind: &str, expected: &str) -> Result<(), WireError> {
        let found = self.part.get("type").and_then(Value::as_str);
        let found = found.unwrap_or_default();
        if found.ends_with(expected) {
            return Ok(());
        }
        Err(malformed(&format!(
            "expected a part of the type `{expected}` for `{kind}`, found `{found}`"
        )))
    }

    /// Adds texts to those that are there; `key` is the one that has to come.
    fn append(
        &mut self,
        kind: &str,
        expected: &str,
        key: &str,
        delta: Map<String, Value>,
    ) -> Result<(), WireError> {
        self.must_be(kind, expected)?;
        if !delta.contains_key(key) {
            return Err(unlike("text", key, None));
        }
        for (key, more) in delta {
            let Value::String(more) = more else {
                return Err(unlike("text", &key, Some(&more)));
            };
            match self.part.get_mut(&key) {
                Some(Value::String(text)) => text.push_str(&more),
                None | Some(Value::Null) => drop(self.part.insert(key, more.into())),
                other => return Err(unlike("text", &key, other.as_deref())),
            }
        }
        Ok(())
    }

    fn cite(&mut self, more: Value) -> Result<(), WireError> {
        match self.part.entry("citations").or_insert(Value::Null) {
            Value::Array(list) => list.push(more),
            place @ Value::Null => *place = Value::Array(vec![more]),
            other => return Err(unlike("a list", "citations", Some(other))),
        }
        Ok(())
    }

    /// A tool's input is whole at the end of its part.
    fn end(&mut self) -> Result<(), WireError> {
        self.is_open = false;
        let print = std::mem::take(&mut self.input);
        if print.is_empty() {
            return Ok(());
        }
        let is_empty = match self.part.get("input") {
            None | Some(Value::Null) => true,
            Some(Value::Object(input)) => input.is_empty(),
            Some(_) => false,
        };
        if !is_empty {
            let found = "expected a tool's input that begins empty, found one that is added to";
            return Err(malformed(found));
        }
        let input = exact(print.as_bytes());
        let input = input.map_err(|error| {
            malformed(&format!("expected JSON as a tool's input, found: {error}"))
        })?;
        self.part.insert("input".to_owned(), input);
        Ok(())
    }
}

/// A message as it begins: its parts come behind it.
fn beginning(message: Option<Value>) -> Result<Map<String, Value>, WireError> {
    let message = object("message", message)?;
    match message.get("content") {
        None | Some(Value::Null) => Ok(message),
        Some(Value::Array(parts)) if parts.is_empty() => Ok(message),
        Some(Value::Array(parts)) => Err(malformed(&format!(
            "expected no `content` at the beginning of the message, found {} of its parts",
            parts.len()
        ))),
        other => Err(unlike("a list", "content", other)),
    }
}

/// What became of a message: why it ended, and what it used.
fn change(
    message: &mut Map<String, Value>,
    mut event: Map<String, Value>,
) -> Result<(), WireError> {
    event.remove("type");
    let delta = object("delta", event.remove("delta"))?;
    let usage = event.remove("usage").unwrap_or_default();
    for (key, value) in delta.into_iter().chain(event) {
        if LASTING.contains(&key.as_str()) && message.get(&key) != Some(&value) {
            let found = format!("expected `{key}` to stay, found it changed");
            return Err(malformed(&found));
        }
        message.insert(key, value);
    }
    match (message.get_mut("usage"), usage) {
        (_, Value::Null) => {}
        (Some(Value::Object(known)), Value::Object(newer)) => known.extend(newer),
        (_, newer) => drop(message.insert("usage".to_owned(), newer)),
    }
    Ok(())
}

fn object(key: &str, value: Option<Value>) -> Result<Map<String, Value>, WireError> {
    match value {
        Some(Value::Object(object)) => Ok(object),
        other => Err(unlike("an object", key, other.as_ref())),
    }
}

fn index_of(event: &Map<String, Value>) -> Result<u64, WireError> {
    let index = event.get("index");
    let number = index.and_then(Value::as_u64);
    number.ok_or_else(|| match index {
        Some(Value::Number(other)) => malformed(&format!(
            "expected a whole number as `index`, found {other}"
        )),
        other => {
            let found = kind_of(other);
            malformed(&format!(
                "expected a whole number as `index`, found {found}"
            ))
        }
    })
}
