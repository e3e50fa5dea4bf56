//! Answers that come piece by piece, put together to the body that would have come at once.
//!
//! A person who waits sees how much has come, and nothing of what it says: that is shown when it is
//! on record. What is read is the body that is put together, by the same code as any other, so that
//! answer and reply are the same whether they were streamed or not. Where that can't be had a wire
//! is not streamed: the pieces of OpenAI's chat completions are of another shape than its answers,
//! and servers differ in what they leave out of them.
//!
//! - Ollama: a JSON object a line; the last one is the whole answer without its text.
//! - Anthropic: server-sent events; the first brings the message without its parts, the others add
//!   to it.
//!
//! A stream without its end is `cut`, whatever came of it.

use serde_json::{Map, Value};

use super::wire::{Wire, WireError, malformed};

/// Counts the characters of an answer while its pieces come.
pub(super) struct PieceCounter<'a> {
    wire: Wire,
    /// What of a line has come so far.
    line: Vec<u8>,
    characters: u64,
    came: &'a (dyn Fn(u64) + Sync),
}

impl<'a> PieceCounter<'a> {
    /// `came` is told how many characters there are, whenever there are more.
    pub fn new(wire: Wire, came: &'a (dyn Fn(u64) + Sync)) -> Self {
        PieceCounter {
            wire,
            line: Vec::new(),
            characters: 0,
            came,
        }
    }

    /// Takes what came next.
    pub fn take(&mut self, bytes: &[u8]) {
        let before = self.characters;
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.characters += characters_in(self.wire, &line);
            }
        }
        if self.characters > before {
            (self.came)(self.characters);
        }
    }
}

/// Characters that a line of a stream adds to an answer; none for what can't be read, which is told
/// when all has come.
fn characters_in(wire: Wire, line: &[u8]) -> u64 {
    let (text, place) = match wire {
        Wire::Ollama => (Some(line), "/message/content"),
        Wire::Anthropic => (line.strip_prefix(b"data:"), "/delta/text"),
        Wire::OpenAi => (None, ""),
    };
    let piece: Option<Value> = text.and_then(|text| serde_json::from_slice(text).ok());
    let text = piece.as_ref().and_then(|piece| piece.pointer(place));
    let count = text
        .and_then(Value::as_str)
        .map_or(0, |text| text.chars().count());
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// The body that would have come at once.
///
/// # Errors
/// [`WireError::Cut`] and [`WireError::Unfinished`] for a stream that ends before its end.
pub(super) fn whole(wire: Wire, stream: &[u8]) -> Result<Vec<u8>, WireError> {
    let lines = lines(stream);
    let body = match wire {
        Wire::Ollama => ollama(&lines)?,
        Wire::Anthropic => anthropic(&lines)?,
        Wire::OpenAi => return Err(malformed("expected an answer, found a stream")),
    };
    serde_json::to_vec(&body).map_err(|error| malformed(&error.to_string()))
}

/// Lines that say something.
fn lines(stream: &[u8]) -> Vec<&[u8]> {
    let lines = stream.split(|byte| *byte == b'\n');
    let trimmed = lines.map(<[u8]>::trim_ascii);
    trimmed.filter(|line| !line.is_empty()).collect()
}

/// One JSON object of a stream.
fn piece(text: &[u8]) -> Result<Map<String, Value>, WireError> {
    match serde_json::from_slice(text) {
        Ok(Value::Object(piece)) => Ok(piece),
        Ok(_) => Err(malformed(
            "expected objects in the stream, found something else",
        )),
        Err(error) if error.is_eof() => Err(WireError::Cut { bytes: text.len() }),
        Err(error) => Err(malformed(&format!(
            "expected JSON in the stream, found: {error}"
        ))),
    }
}

/// Adds a text to one that is there.
fn append(place: &mut Value, more: &str) {
    match place {
        Value::String(text) => text.push_str(more),
        other => *other = Value::from(more),
    }
}

/// Puts what a key held before its newest value: texts and lists go on, anything else is as it was
/// said last.
fn gather(known: &mut Map<String, Value>, newer: Map<String, Value>) {
    for (key, value) in newer {
        match (known.get_mut(&key), value) {
            (Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
            (Some(Value::String(text)), Value::String(more)) if key != "role" => {
                text.push_str(&more);
            }
            (_, value) => {
                known.insert(key, value);
            }
        }
    }
}

fn ollama(lines: &[&[u8]]) -> Result<Value, WireError> {
    let (mut whole, mut message) = (Map::new(), Map::new());
    let mut is_done = false;
    for line in lines {
        if is_done {
            return Err(malformed("expected nothing behind the end of the stream"));
        }
        let mut piece = piece(line)?;
        if piece.contains_key("error") {
            return Ok(Value::Object(piece));
        }
        is_done = piece.get("done") == Some(&Value::Bool(true));
        if let Some(Value::Object(said)) = piece.remove("message") {
            gather(&mut message, said);
        }
        whole.extend(piece);
    }
    if !is_done {
        return Err(WireError::Unfinished);
    }
    whole.insert("message".to_owned(), Value::Object(message));
    Ok(Value::Object(whole))
}

/// A message of Anthropic's as it grows.
#[derive(Default)]
struct GrowingMessage {
    message: Map<String, Value>,
    parts: Vec<Value>,
    /// The print of a tool's input, which comes in pieces that are no JSON by themselves.
    input: String,
    is_done: bool,
}

fn anthropic(lines: &[&[u8]]) -> Result<Value, WireError> {
    let mut growing = GrowingMessage::default();
    for line in lines {
        // Each event's name stands in its data, too.
        let Some(data) = line.strip_prefix(b"data:") else {
            continue;
        };
        let event = piece(data)?;
        match event.get("type").and_then(Value::as_str) {
            Some("error") => return Ok(Value::Object(event)),
            Some(kind) => growing.take(&kind.to_owned(), event)?,
            None => return Err(malformed("expected every event to name its type")),
        }
    }
    if !growing.is_done {
        return Err(WireError::Unfinished);
    }
    let mut message = growing.message;
    message.insert("content".to_owned(), Value::Array(growing.parts));
    Ok(Value::Object(message))
}

impl GrowingMessage {
    fn take(&mut self, kind: &str, mut event: Map<String, Value>) -> Result<(), WireError> {
        let object = |value: Option<Value>| match value {
            Some(Value::Object(object)) => object,
            _ => Map::new(),
        };
        match kind {
            "message_start" => self.message = object(event.remove("message")),
            "content_block_start" => {
                let part = event.remove("content_block");
                self.parts.push(part.unwrap_or_default());
                self.input.clear();
            }
            "content_block_delta" => self.grow(object(event.remove("delta")))?,
            "content_block_stop" => self.end_part()?,
            "message_delta" => {
                event.remove("type");
                let usage = object(event.remove("usage"));
                self.message.extend(object(event.remove("delta")));
                match self.message.get_mut("usage") {
                    Some(Value::Object(known)) => known.extend(usage),
                    _ => drop(self.message.insert("usage".to_owned(), usage.into())),
                }
                self.message.extend(event);
            }
            "message_stop" => self.is_done = true,
            // `ping`, and events that are added later.
            _ => {}
        }
        Ok(())
    }

    /// Adds to the newest part.
    fn grow(&mut self, mut delta: Map<String, Value>) -> Result<(), WireError> {
        let part = self.parts.last_mut().and_then(Value::as_object_mut);
        let part = part.ok_or_else(|| malformed("expected a part before what is added to it"))?;
        let kind = delta.remove("type");
        let kind = kind.as_ref().and_then(Value::as_str).unwrap_or_default();
        match kind {
            "input_json_delta" => {
                let more = delta.get("partial_json").and_then(Value::as_str);
                self.input.push_str(more.unwrap_or_default());
            }
            "citations_delta" => {
                let list = part.entry("citations").or_insert(Value::Null);
                let more = delta.remove("citation").unwrap_or_default();
                match list {
                    Value::Array(list) => list.push(more),
                    other => *other = Value::Array(vec![more]),
                }
            }
            "text_delta" | "thinking_delta" | "signature_delta" => {
                for (key, value) in delta {
                    let more = value.as_str().unwrap_or_default();
                    append(part.entry(key).or_insert(Value::Null), more);
                }
            }
            // Left out it would be lost.
            other => {
                let found = format!("expected text or a tool's input to be added, found `{other}`");
                return Err(malformed(&found));
            }
        }
        Ok(())
    }

    /// A tool's input is whole at the end of its part.
    fn end_part(&mut self) -> Result<(), WireError> {
        let print = std::mem::take(&mut self.input);
        let part = self.parts.last_mut().and_then(Value::as_object_mut);
        if let Some(part) = part.filter(|_| !print.is_empty()) {
            let input = serde_json::from_str(&print);
            let input = input.map_err(|error| {
                malformed(&format!("expected JSON as a tool's input, found: {error}"))
            })?;
            part.insert("input".to_owned(), input);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use serde_json::json;

    use super::*;

    fn ollama_pieces() -> Vec<Value> {
        let said = |message: Value| json!({"model": "m", "created_at": "t1", "message": message, "done": false});
        vec![
            said(json!({"role": "assistant", "content": "", "thinking": "h"})),
            said(json!({"role": "assistant", "content": "", "thinking": "m"})),
            said(json!({"role": "assistant", "content": "Grü"})),
            said(
                json!({"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "look"}}]}),
            ),
            said(json!({"role": "assistant", "content": "ße"})),
            json!({"model": "m", "created_at": "t2", "message": {"role": "assistant", "content": ""}, "done": true,
                   "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 4, "total_duration": 9}),
        ]
    }

    fn ollama_whole() -> Value {
        json!({"model": "m", "created_at": "t2", "done": true, "done_reason": "stop", "prompt_eval_count": 3,
               "eval_count": 4, "total_duration": 9,
               "message": {"role": "assistant", "content": "Grüße", "thinking": "hm",
                           "tool_calls": [{"function": {"name": "look"}}]}})
    }

    fn anthropic_pieces() -> Vec<Value> {
        let start =
            |part: Value| json!({"type": "content_block_start", "index": 0, "content_block": part});
        let add = |delta: Value| json!({"type": "content_block_delta", "index": 0, "delta": delta});
        let stop = json!({"type": "content_block_stop", "index": 0});
        vec![
            json!({"type": "message_start", "message": {
                "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": null,
                "stop_sequence": null, "usage": {"input_tokens": 3, "output_tokens": 1, "service_tier": "standard"}}}),
            start(json!({"type": "thinking", "thinking": "", "signature": ""})),
            json!({"type": "ping"}),
            add(json!({"type": "thinking_delta", "thinking": "hm"})),
            add(json!({"type": "signature_delta", "signature": "Eq=="})),
            stop.clone(),
            start(json!({"type": "text", "text": ""})),
            add(json!({"type": "text_delta", "text": "Grü"})),
            add(json!({"type": "text_delta", "text": "ße"})),
            add(json!({"type": "citations_delta", "citation": {"cited_text": "x"}})),
            stop.clone(),
            start(json!({"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}})),
            add(json!({"type": "input_json_delta", "partial_json": ""})),
            add(json!({"type": "input_json_delta", "partial_json": "{\"b\":"})),
            add(json!({"type": "input_json_delta", "partial_json": "1}"})),
            stop,
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null},
                   "usage": {"output_tokens": 40}}),
            json!({"type": "message_stop"}),
        ]
    }

    fn anthropic_whole() -> Value {
        json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use",
               "stop_sequence": null, "usage": {"input_tokens": 3, "output_tokens": 40, "service_tier": "standard"},
               "content": [{"type": "thinking", "thinking": "hm", "signature": "Eq=="},
                           {"type": "text", "text": "Grüße", "citations": [{"cited_text": "x"}]},
                           {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"b": 1}}]})
    }

    fn streams() -> [(Wire, String, Value); 2] {
        let ollama = ollama_pieces();
        let ollama: String = ollama.iter().map(|piece| format!("{piece}\n")).collect();
        let anthropic: String = anthropic_pieces()
            .iter()
            .map(|piece| {
                format!(
                    "event: {}\r\ndata: {piece}\r\n\r\n",
                    piece["type"].as_str().unwrap()
                )
            })
            .collect();
        [
            (Wire::Ollama, ollama, ollama_whole()),
            (Wire::Anthropic, anthropic, anthropic_whole()),
        ]
    }

    #[test]
    fn a_stream_is_the_answer_that_would_have_come_at_once() {
        for (wire, stream, expected) in streams() {
            let body = whole(wire, stream.as_bytes()).unwrap();
            assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), expected);
            let at_once = serde_json::to_vec(&expected).unwrap();
            assert_eq!(wire.read_completion(&body), wire.read_completion(&at_once));
        }
    }

    #[test]
    fn a_stream_that_ends_anywhere_before_its_end_is_cut() {
        for (wire, stream, _) in streams() {
            // What ends the last line says nothing.
            let end = stream.trim_end().len();
            for end in 0..end {
                let error = whole(wire, &stream.as_bytes()[..end]).unwrap_err();
                assert!(
                    matches!(error, WireError::Cut { .. } | WireError::Unfinished),
                    "{end}: {error:?}"
                );
            }
        }
    }

    #[test]
    fn what_has_come_is_counted_in_characters_however_it_is_parted() {
        for (wire, stream, _) in streams() {
            for size in [1, 7, 1000] {
                let told = Mutex::new(Vec::new());
                let came = |count| told.lock().unwrap().push(count);
                let mut counter = PieceCounter::new(wire, &came);
                stream
                    .as_bytes()
                    .chunks(size)
                    .for_each(|part| counter.take(part));
                let told = told.into_inner().unwrap();
                assert_eq!(told.last(), Some(&5), "{told:?}");
                assert!(told.is_sorted(), "{told:?}");
            }
        }
    }

    #[test]
    fn what_is_no_stream() {
        for (wire, stream, said) in [
            (Wire::Ollama, "[]", "objects in the stream"),
            (
                Wire::Ollama,
                "{\"done\":false}\n<html>",
                "JSON in the stream",
            ),
            (
                Wire::Ollama,
                "{\"done\":true}\n{\"done\":true}",
                "behind the end",
            ),
            (Wire::Anthropic, "data: {}", "name its type"),
            (
                Wire::Anthropic,
                "data: {\"type\":\"content_block_delta\"}",
                "expected a part",
            ),
            (
                Wire::Anthropic,
                "data: {\"type\":\"content_block_start\",\"content_block\":{}}\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"new\"}}",
                "found `new`",
            ),
            (Wire::OpenAi, "data: {}", "found a stream"),
        ] {
            let error = whole(wire, stream.as_bytes()).unwrap_err();
            assert!(
                matches!(&error, WireError::Malformed { detail } if detail.contains(said)),
                "{stream}: {error:?}"
            );
        }
        for (wire, stream) in [
            (Wire::Ollama, "{\"error\":\"out of memory\"}\n"),
            (
                Wire::Anthropic,
                "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n",
            ),
        ] {
            let body = whole(wire, stream.as_bytes()).unwrap();
            let error = wire.read_completion(&body).unwrap_err();
            assert!(matches!(error, WireError::Provider { .. }), "{error:?}");
        }
    }
}
