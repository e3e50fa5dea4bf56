//! Answers that come piece by piece, put together to the body that would have come at once.
//!
//! A person who waits sees how much has come, and nothing of what it says: that is shown when it is
//! on record. What is read is the body that is put together, by the same code as any other, so that
//! answer and reply are the same whether they were streamed or not.
//!
//! - Ollama: a JSON object a line; the last one is the whole answer without its text.
//! - Anthropic: server-sent events; the first brings the message without its parts, the others add
//!   to it.
//! - OpenAI: server-sent events as well; each adds to the message, and `[DONE]` ends them.
//!
//! A stream without its end is `cut`, whatever came of it. Pieces that do not belong together, or of
//! which something would have to be left out, are `malformed`: an answer that is not what the server
//! said must not go on record as if it were.

use serde_json::{Map, Value};

use super::wire::{Wire, WireError, malformed};
use super::{ollama, openai, source};

mod completion;
mod message;

use completion::GrowingCompletion;
use message::GrowingMessage;

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
        Wire::OpenAi => (line.strip_prefix(b"data:"), "/choices/0/delta/content"),
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
        Wire::Ollama => of_ollama(&lines)?,
        Wire::Anthropic => of_anthropic(&lines)?,
        Wire::OpenAi => of_openai(&lines)?,
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
    match exact(text) {
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

/// JSON that any reader reads, with its numbers as they were written.
fn exact(text: &[u8]) -> Result<Value, serde_json::Error> {
    let read: Value = serde_json::from_slice(text)?;
    // An answer may come in as many pieces as it has characters: few hold anything that has to be
    // read once more.
    match is_plain(&read, 0) {
        true => Ok(read),
        false => Ok(source::read(text).unwrap_or(read)),
    }
}

/// From here on a double need not say a whole number as it was written.
const LARGE: u64 = 1 << 53;
/// No piece of an answer is nested deeper.
const NESTED: usize = 8;

/// Whether a value is read alike by any reader: text, and whole numbers that are not large.
fn is_plain(value: &Value, depth: usize) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => true,
        Value::Number(number) => number.as_u64().is_some_and(|number| number < LARGE),
        Value::Array(_) | Value::Object(_) if depth >= NESTED => false,
        Value::Array(list) => list.iter().all(|one| is_plain(one, depth + 1)),
        Value::Object(map) => map.values().all(|one| is_plain(one, depth + 1)),
    }
}

/// A value's kind, for a sentence.
fn kind_of(value: Option<&Value>) -> &'static str {
    match value {
        None => "nothing",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "a truth value",
        Some(Value::Number(_)) => "a number",
        Some(Value::String(_)) => "text",
        Some(Value::Array(_)) => "a list",
        Some(Value::Object(_)) => "an object",
    }
}

/// A sentence on what is of another kind than it has to be.
fn unlike(expected: &str, key: &str, found: Option<&Value>) -> WireError {
    let found = kind_of(found);
    malformed(&format!("expected {expected} as `{key}`, found {found}"))
}

/// Adds what a piece says of a message to what the pieces before it said: texts and lists go on,
/// numbers and objects are as they were said last, and nothing at all changes nothing.
fn gather(known: &mut Map<String, Value>, newer: Map<String, Value>) -> Result<(), WireError> {
    for (key, value) in newer {
        match (known.get_mut(&key), value) {
            (Some(_), Value::Null) => {}
            (None | Some(Value::Null), value) => drop(known.insert(key, value)),
            (Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
            (Some(Value::String(text)), Value::String(more)) => {
                if key != "role" {
                    text.push_str(&more);
                }
            }
            (Some(old), value) if kind_of(Some(old)) == kind_of(Some(&value)) => *old = value,
            (Some(old), value) => return Err(unlike(kind_of(Some(old)), &key, Some(&value))),
        }
    }
    Ok(())
}

/// What a piece of Ollama's says of the message, as far as the whole answer may say it.
fn ollama_message(said: Value) -> Result<Map<String, Value>, WireError> {
    let Value::Object(said) = said else {
        return Err(unlike("an object", "message", Some(&said)));
    };
    match said.get("role") {
        None | Some(Value::Null) => {}
        Some(Value::String(role)) if role == "assistant" => {}
        Some(Value::String(role)) => {
            let found = format!("expected pieces of the role `assistant`, found `{role}`");
            return Err(malformed(&found));
        }
        other => return Err(unlike("text", "role", other)),
    }
    match said.get("content") {
        None | Some(Value::Null | Value::String(_)) => Ok(said),
        other => Err(unlike("text", "content", other)),
    }
}

fn of_ollama(lines: &[&[u8]]) -> Result<Value, WireError> {
    let (mut whole, mut message) = (Map::new(), None);
    let mut is_done = false;
    for line in lines {
        if is_done {
            return Err(malformed("expected nothing behind the end of the stream"));
        }
        let mut piece = piece(line)?;
        if piece.get("error").is_some_and(|error| !error.is_null()) {
            return Ok(Value::Object(piece));
        }
        is_done = match piece.get("done") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(is_done)) => *is_done,
            other => return Err(unlike("a truth value", "done", other)),
        };
        if let Some(said) = piece.remove("message") {
            let so_far = message.get_or_insert_with(Map::new);
            gather(so_far, ollama_message(said)?)?;
        }
        whole.extend(piece);
        ollama::check_piece(line)?;
    }
    if !is_done {
        return Err(WireError::Unfinished);
    }
    if let Some(message) = message {
        whole.insert("message".to_owned(), Value::Object(message));
    }
    Ok(Value::Object(whole))
}

fn of_anthropic(lines: &[&[u8]]) -> Result<Value, WireError> {
    let mut growing = GrowingMessage::default();
    for line in lines {
        // Each event's name stands in its data, too.
        let Some(data) = line.strip_prefix(b"data:") else {
            continue;
        };
        let event = piece(data)?;
        let kind = event.get("type").and_then(Value::as_str);
        let kind = kind.map(str::to_owned);
        match kind.as_deref() {
            Some("error") => return Ok(Value::Object(event)),
            Some(kind) => growing.take(kind, event)?,
            None => return Err(malformed("expected every event to name its type")),
        }
    }
    growing.whole().map(Value::Object)
}

fn of_openai(lines: &[&[u8]]) -> Result<Value, WireError> {
    let mut growing = GrowingCompletion::default();
    for line in lines {
        // Servers that keep a connection alive write comments.
        let Some(data) = line.strip_prefix(b"data:").map(<[u8]>::trim_ascii) else {
            continue;
        };
        if data == completion::END {
            growing.end()?;
            continue;
        }
        if completion::END.starts_with(data) {
            return Err(WireError::Unfinished);
        }
        let piece = piece(data)?;
        if piece.get("error").is_some_and(|error| !error.is_null()) {
            return Ok(Value::Object(piece));
        }
        growing.take(piece)?;
        openai::check_piece(data)?;
    }
    growing.whole().map(Value::Object)
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

    fn begun() -> Value {
        json!({"type": "message_start", "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": null,
            "stop_sequence": null, "usage": {"input_tokens": 3, "output_tokens": 1, "service_tier": "standard"}}})
    }

    fn start(index: u64, part: Value) -> Value {
        json!({"type": "content_block_start", "index": index, "content_block": part})
    }

    fn add(index: u64, delta: Value) -> Value {
        json!({"type": "content_block_delta", "index": index, "delta": delta})
    }

    fn stop(index: u64) -> Value {
        json!({"type": "content_block_stop", "index": index})
    }

    fn anthropic_pieces() -> Vec<Value> {
        vec![
            begun(),
            start(
                0,
                json!({"type": "thinking", "thinking": "", "signature": ""}),
            ),
            json!({"type": "ping"}),
            add(0, json!({"type": "thinking_delta", "thinking": "hm"})),
            add(0, json!({"type": "signature_delta", "signature": "Eq=="})),
            stop(0),
            start(1, json!({"type": "text", "text": ""})),
            add(1, json!({"type": "text_delta", "text": "Grü"})),
            add(1, json!({"type": "text_delta", "text": "ße"})),
            add(
                1,
                json!({"type": "citations_delta", "citation": {"cited_text": "x"}}),
            ),
            stop(1),
            start(
                2,
                json!({"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}),
            ),
            add(2, json!({"type": "input_json_delta", "partial_json": ""})),
            add(
                2,
                json!({"type": "input_json_delta", "partial_json": "{\"b\":"}),
            ),
            add(2, json!({"type": "input_json_delta", "partial_json": "1}"})),
            stop(2),
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

    fn openai_piece(delta: Value, reason: Value) -> Value {
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": reason});
        json!({"id": "c1", "object": "chat.completion.chunk", "created": 7, "model": "m", "choices": [choice],
               "usage": null})
    }

    fn openai_pieces() -> Vec<Value> {
        let said = |delta: Value| openai_piece(delta, Value::Null);
        let call = |index: u64, more: Value| {
            let mut call = json!({"index": index});
            call.as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            said(json!({"tool_calls": [call]}))
        };
        let begun = |id: &str, name: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": ""}});
        let more = |arguments: &str| json!({"function": {"arguments": arguments}});
        let mut used = openai_piece(Value::Null, Value::Null);
        used["choices"] = json!([]);
        used["usage"] = json!({"prompt_tokens": 3, "completion_tokens": 4});
        used["timings"] = json!({"predicted_n": 4});
        vec![
            said(json!({"role": "assistant", "content": null})),
            said(json!({"reasoning_content": "h"})),
            said(json!({"reasoning_content": "m"})),
            said(json!({"content": "Grü"})),
            said(json!({"content": "ße", "refusal": null})),
            call(0, begun("a", "look")),
            call(0, more("{\"b\":")),
            call(1, begun("b", "see")),
            call(0, more("1}")),
            call(
                1,
                json!({"id": "b", "function": {"name": "see", "arguments": "{}"}}),
            ),
            openai_piece(json!({}), json!("tool_calls")),
            used,
        ]
    }

    fn openai_whole() -> Value {
        let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
        json!({"id": "c1", "object": "chat.completion", "created": 7, "model": "m",
               "usage": {"prompt_tokens": 3, "completion_tokens": 4}, "timings": {"predicted_n": 4},
               "choices": [{"index": 0, "logprobs": null, "finish_reason": "tool_calls",
                    "message": {"role": "assistant", "content": "Grüße", "reasoning_content": "hm", "refusal": null,
                                "tool_calls": [call("a", "look", "{\"b\":1}"), call("b", "see", "{}")]}}]})
    }

    fn data_of(pieces: &[Value]) -> String {
        let pieces = pieces.iter().map(|piece| format!("data: {piece}\n\n"));
        [": here\n\n".to_owned()]
            .into_iter()
            .chain(pieces)
            .chain(["data: [DONE]\n\n".to_owned()])
            .collect()
    }

    fn streams() -> [(Wire, String, Value); 3] {
        let (ollama, anthropic) = (ollama_pieces(), anthropic_pieces());
        [
            (Wire::OpenAi, data_of(&openai_pieces()), openai_whole()),
            (Wire::Ollama, lines_of(&ollama), ollama_whole()),
            (Wire::Anthropic, events_of(&anthropic), anthropic_whole()),
        ]
    }

    fn lines_of(pieces: &[Value]) -> String {
        pieces.iter().map(|piece| format!("{piece}\n")).collect()
    }

    fn events_of(events: &[Value]) -> String {
        let event = |event: &Value| {
            let kind = event["type"].as_str().unwrap();
            format!("event: {kind}\r\ndata: {event}\r\n\r\n")
        };
        events.iter().map(event).collect()
    }

    #[track_caller]
    fn is_malformed(wire: Wire, stream: &str, said: &str) {
        let error = whole(wire, stream.as_bytes()).unwrap_err();
        assert!(
            matches!(&error, WireError::Malformed { detail } if detail.contains(said)),
            "{stream}: {error:?}"
        );
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
                "expected `message_start` first",
            ),
            (Wire::OpenAi, "data: [1]", "objects in the stream"),
            (Wire::OpenAi, "data: <html>", "JSON in the stream"),
            (
                Wire::OpenAi,
                "data: {}\ndata: [DONE]\ndata: {}",
                "behind the end",
            ),
            (Wire::OpenAi, "data: [DONE]\ndata: [DONE]", "behind the end"),
        ] {
            is_malformed(wire, stream, said);
        }
        for (wire, stream) in [
            (Wire::Ollama, "{\"error\":\"out of memory\"}\n"),
            (
                Wire::OpenAi,
                "data: {\"error\":{\"message\":\"overloaded\",\"code\":529}}\n",
            ),
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

    #[test]
    fn pieces_of_ollama_that_do_not_belong_together() {
        let said = |message: Value| json!({"message": message, "done": false});
        let text = |text: &str| said(json!({"role": "assistant", "content": text}));
        let done = || json!({"message": {"role": "assistant", "content": ""}, "done": true});
        for (pieces, told) in [
            (
                vec![text("a"), said(json!("b")), done()],
                "an object as `message`, found text",
            ),
            (vec![text("a"), said(Value::Null), done()], "found null"),
            (
                vec![
                    text("a"),
                    said(json!({"role": "assistant", "content": {"b": 1}})),
                    done(),
                ],
                "text as `content`, found an object",
            ),
            (
                vec![said(json!({"content": 3})), text("a"), done()],
                "found a number",
            ),
            (
                vec![
                    text("a"),
                    said(json!({"role": "user", "content": "b"})),
                    done(),
                ],
                "`assistant`, found `user`",
            ),
            (
                vec![text("a"), said(json!({"role": 1, "content": "b"})), done()],
                "text as `role`",
            ),
            (
                vec![said(json!({"thinking": "a"})), said(json!({"thinking": 2}))],
                "text as `thinking`, found a number",
            ),
            (
                vec![json!({"message": {"content": "a"}, "done": "yes"})],
                "a truth value as `done`, found text",
            ),
            (vec![text("a"), done(), text("b")], "behind the end"),
        ] {
            is_malformed(Wire::Ollama, &lines_of(&pieces), told);
        }
        let twice = "{\"message\":{\"content\":\"a\",\"content\":\"b\"},\"done\":false}\n";
        let twice = format!("{twice}{}", lines_of(&[done()]));
        is_malformed(Wire::Ollama, &twice, "duplicate field `content`");
        // Nothing at all takes nothing away, as in an answer that comes at once.
        let nothing =
            said(json!({"role": "assistant", "content": null, "tool_calls": null, "x": 1}));
        let stream = lines_of(&[text("a"), nothing, text("b"), done()]);
        let body = whole(Wire::Ollama, stream.as_bytes()).unwrap();
        assert_eq!(Wire::Ollama.read_completion(&body).unwrap().text, "ab");
        // A message that no piece has is missed, as it is there.
        let body = whole(Wire::Ollama, b"{\"done\":true}").unwrap();
        let error = Wire::Ollama.read_completion(&body).unwrap_err();
        assert!(error.to_string().contains("`message`"), "{error}");
        let body = whole(
            Wire::Ollama,
            lines_of(&[text("a"), json!({"error": null}), done()]).as_bytes(),
        );
        assert_eq!(
            Wire::Ollama.read_completion(&body.unwrap()).unwrap().text,
            "a"
        );
    }

    #[test]
    fn what_is_added_goes_to_the_part_of_its_index() {
        let text = || json!({"type": "text", "text": ""});
        let more = |index, more: &str| add(index, json!({"type": "text_delta", "text": more}));
        let stream = events_of(&[
            begun(),
            start(0, text()),
            start(1, json!({"type": "text", "text": "B"})),
            more(0, "a"),
            more(1, "b"),
            more(0, "a"),
            stop(0),
            more(1, "b"),
            stop(1),
            json!({"type": "message_stop"}),
            json!({"type": "ping"}),
        ]);
        let body = whole(Wire::Anthropic, stream.as_bytes()).unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(
            body["content"],
            json!([{"type": "text", "text": "aa"}, {"type": "text", "text": "Bbb"}])
        );
    }

    #[test]
    fn events_of_anthropic_that_do_not_belong_together() {
        let text = || json!({"type": "text", "text": ""});
        let more = |index, more: Value| add(index, json!({"type": "text_delta", "text": more}));
        let tool = || json!({"type": "tool_use", "id": "t", "name": "n", "input": {}});
        let input = |more: Value| add(0, json!({"type": "input_json_delta", "partial_json": more}));
        let changed =
            |delta: Value| json!({"type": "message_delta", "delta": delta, "usage": {"a": 1}});
        let end = || json!({"type": "message_stop"});
        let beginning = |key: &str, value: Value| {
            let mut event = begun();
            event["message"][key] = value;
            event
        };
        let without_index = json!({"type": "content_block_start", "content_block": text()});
        for (events, told) in [
            (
                vec![start(0, text()), more(1, json!("a"))],
                "that was begun, found 1",
            ),
            (vec![start(0, text()), start(0, text())], "above 0, found 0"),
            (vec![start(1, text()), start(0, text())], "above 1, found 0"),
            (
                vec![start(0, text()), stop(0), more(0, json!("a"))],
                "expected part 0 to be open, found it ended",
            ),
            (vec![start(0, text()), stop(0), stop(0)], "found it ended"),
            (
                vec![start(0, text()), end()],
                "expected part 0 to be ended, found the end of the message",
            ),
            (
                vec![without_index],
                "a whole number as `index`, found nothing",
            ),
            (
                vec![start(0, json!("a"))],
                "an object as `content_block`, found text",
            ),
            (
                vec![start(0, text()), more(0, json!(3))],
                "text as `text`, found a number",
            ),
            (
                vec![start(0, text()), add(0, json!({"type": "text_delta"}))],
                "text as `text`, found nothing",
            ),
            (
                vec![
                    start(0, text()),
                    add(0, json!({"type": "text_delta", "text": "a", "x": 1})),
                ],
                "text as `x`, found a number",
            ),
            (
                vec![
                    start(0, json!({"type": "text", "text": 7})),
                    more(0, json!("a")),
                ],
                "text as `text`, found a number",
            ),
            (
                vec![
                    start(0, json!({"type": "thinking", "thinking": ""})),
                    add(0, json!({"type": "thinking_delta", "thinking": ["a"]})),
                ],
                "text as `thinking`, found a list",
            ),
            (
                vec![
                    start(0, json!({"type": "thinking", "thinking": ""})),
                    more(0, json!("a")),
                ],
                "a part of the type `text` for `text_delta`, found `thinking`",
            ),
            (
                vec![start(0, tool()), input(json!(1))],
                "text as `partial_json`",
            ),
            (vec![start(0, text()), input(json!("{}"))], "`tool_use`"),
            (
                vec![
                    start(
                        0,
                        json!({"type": "tool_use", "id": "t", "name": "n", "input": {"a": 1}}),
                    ),
                    input(json!("{\"b\":2}")),
                    stop(0),
                ],
                "input that begins empty",
            ),
            (
                vec![start(0, tool()), input(json!("{")), stop(0)],
                "JSON as a tool's input",
            ),
            (
                vec![start(0, text()), add(0, json!({"type": "new"}))],
                "found `new`",
            ),
            (
                vec![
                    start(0, text()),
                    json!({"type": "content_block_delta", "index": 0}),
                ],
                "an object as `delta`, found nothing",
            ),
            (vec![begun()], "one `message_start`"),
            (vec![end(), more(0, json!("a"))], "behind the end"),
            (vec![end(), changed(json!({}))], "behind the end"),
            (vec![end(), json!({"type": "new"})], "behind the end"),
            (
                vec![changed(json!({"role": "user"}))],
                "`role` to stay, found it changed",
            ),
            (vec![changed(json!({"model": "x"}))], "`model` to stay"),
            (vec![changed(json!({"id": 1}))], "`id` to stay"),
            (
                vec![changed(json!({"content": ["a"]}))],
                "`content` to stay",
            ),
            (
                vec![json!({"type": "message_delta", "delta": {}, "content": ["a"]})],
                "`content` to stay",
            ),
            (
                vec![changed(json!("x"))],
                "an object as `delta`, found text",
            ),
        ] {
            let all = [vec![begun()], events].concat();
            is_malformed(Wire::Anthropic, &events_of(&all), told);
        }
        for (key, value, told) in [
            ("content", json!([text()]), "no `content` at the beginning"),
            ("content", json!("a"), "a list as `content`, found text"),
        ] {
            let stream = events_of(&[beginning(key, value), end()]);
            is_malformed(Wire::Anthropic, &stream, told);
        }
        let early = [start(0, text()), begun()];
        is_malformed(Wire::Anthropic, &events_of(&early), "`message_start` first");
        let beginning = json!({"type": "message_start", "message": "a"});
        is_malformed(Wire::Anthropic, &events_of(&[beginning]), "as `message`");
        // What is said again as it was said is no change, and what else is told is kept.
        let same = changed(json!({"role": "assistant", "stop_reason": "end_turn"}));
        let stream = events_of(&[begun(), start(0, text()), stop(0), same, end()]);
        let body = whole(Wire::Anthropic, stream.as_bytes()).unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(
            (&body["stop_reason"], &body["usage"]["a"], &body["model"]),
            (&json!("end_turn"), &json!(1), &json!("m"))
        );
    }

    #[test]
    fn pieces_of_openai_that_do_not_belong_together() {
        let said = |delta: Value| openai_piece(delta, Value::Null);
        let call = |call: Value| said(json!({ "tool_calls": [call] }));
        let one = || json!({"index": 0, "id": "a", "function": {"name": "n", "arguments": "1"}});
        let choices = |choices: Value| json!({ "choices": choices });
        for (pieces, told) in [
            (vec![choices(json!([{}, {}]))], "one choice, found several"),
            (
                vec![choices(json!([{"index": 1}]))],
                "one choice, found one of the index 1",
            ),
            (vec![choices(json!("a"))], "a list as `choices`, found text"),
            (vec![choices(json!(["a"]))], "an object as `choices`"),
            (vec![said(json!("a"))], "an object as `delta`, found text"),
            (
                vec![said(json!({"role": "user"}))],
                "`assistant`, found `user`",
            ),
            (vec![said(json!({"role": 1}))], "text as `role`"),
            (
                vec![said(json!({"content": "a"})), said(json!({"content": 3}))],
                "text as `content`, found a number",
            ),
            (
                vec![
                    openai_piece(json!({}), json!("stop")),
                    openai_piece(json!({}), json!("length")),
                ],
                "one `finish_reason`, found `stop` and `length`",
            ),
            (
                vec![said(json!({"tool_calls": "a"}))],
                "a list as `tool_calls`",
            ),
            (vec![call(json!(1))], "an object as `tool_calls`"),
            (vec![call(json!({"id": "a"}))], "as `index` of a tool's"),
            (vec![call(json!({"index": -1}))], "as `index` of a tool's"),
            (
                vec![call(json!({"index": 2})), call(json!({"index": 1}))],
                "above 2, found 1",
            ),
            (
                vec![call(one()), call(json!({"index": 0, "id": "b"}))],
                "`id` of a tool's call to stay, found it changed",
            ),
            (
                vec![
                    call(one()),
                    call(json!({"index": 0, "function": {"name": "m"}})),
                ],
                "`name` of a tool's call to stay",
            ),
            (
                vec![
                    call(one()),
                    call(json!({"index": 0, "function": {"arguments": 1}})),
                ],
                "text as `arguments`, found a number",
            ),
            (
                vec![call(one()), call(json!({"index": 0, "function": 1}))],
                "an object as `function`",
            ),
        ] {
            is_malformed(Wire::OpenAi, &data_of(&pieces), told);
        }
        let twice = r#"{"choices":[{"delta":{"content":"a","content":"b"}}]}"#;
        let twice = format!("data: {twice}\n\ndata: [DONE]\n");
        is_malformed(Wire::OpenAi, &twice, "duplicate field `content`");
        // Whoever says nothing has not answered, streamed or not.
        for pieces in [vec![], vec![json!({"id": "c"})], vec![said(json!({}))]] {
            let body = whole(Wire::OpenAi, data_of(&pieces).as_bytes()).unwrap();
            assert!(Wire::OpenAi.read_completion(&body).is_err(), "{pieces:?}");
        }
        // Some servers spell the role in every piece, or leave it empty, and number no choice.
        let plain = [
            choices(json!([{"delta": {"role": "assistant", "content": "a"}}])),
            choices(json!([{"delta": {"role": "", "content": "b"}, "finish_reason": "stop"}])),
            choices(json!([{"delta": {"content": ""}, "finish_reason": "stop"}])),
        ];
        let body = whole(Wire::OpenAi, data_of(&plain).as_bytes()).unwrap();
        let read = Wire::OpenAi.read_completion(&body).unwrap();
        assert_eq!(
            (read.text.as_str(), read.beside.finish_reason.as_deref()),
            ("ab", Some("stop"))
        );
    }

    #[test]
    fn what_is_read_once_is_what_would_be_read_twice() {
        let deep = |depth: usize| format!("{}1.50{}", "[".repeat(depth), "]".repeat(depth));
        let (shallow, deep) = (deep(7), deep(100));
        for text in [
            r#"{"a":[1,"b\u00e9",null,true],"a":{"c":0}}"#,
            r#"{"a":0.1,"b":-0,"c":1.0,"d":-7,"e":1e3}"#,
            "9007199254740991",
            "9007199254740992",
            "9007199254740993",
            "123456789012345678901234567890",
            &shallow,
            &deep,
        ] {
            let read = exact(text.as_bytes()).unwrap();
            assert_eq!(Some(read), source::read(text.as_bytes()), "{text}");
        }
    }
}
