//! Anthropic's `/v1/messages`.
//!
//! - the system text has a place of its own, and `max_tokens` is in every request;
//! - `content` is a list of parts; one text part is its text, anything else (a `tool_use` part,
//!   several texts) is the list as it came, but for `thinking` and `redacted_thinking`, which are
//!   no part of the answer;
//! - a message of another role or type is `malformed`; one without parts is `empty`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::wire::{self, Completion, ReplyPlaces, WireError, WireImage, WireMessage, malformed};
use super::{Request, Usage};
use crate::record::ledger::params::Params;
use crate::record::ledger::prompt::ChatRole;
use crate::record::ledger::reply::ReplyDoc;

/// The version of the wire.
pub(super) const VERSION: &str = "2023-06-01";
/// Sent when nothing is configured: a long answer, within what every model of theirs takes.
pub(super) const MAX_TOKENS: u64 = 4096;

#[derive(Serialize)]
struct AnthropicRequest<'a> {
    model: &'a str,
    max_tokens: u64,
    #[serde(skip_serializing_if = "str::is_empty")]
    system: &'a str,
    messages: Vec<WireMessage<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    stream: bool,
}

pub(super) fn request_body(model: &str, request: Request<'_>, params: &Params) -> Vec<u8> {
    let (system, messages) = match request.messages {
        [first, rest @ ..] if first.role == ChatRole::System => (first.content.as_str(), rest),
        all => ("", all),
    };
    let body = AnthropicRequest {
        model,
        max_tokens: params.max_tokens.unwrap_or(MAX_TOKENS),
        system,
        messages: wire::wire_messages(messages, request.images, parts),
        temperature: params.temperature.map(|t| t.as_f64()),
        stream: request.stream,
    };
    wire::printed(&body, request, "")
}

/// A question behind its images, as the vendor advises.
fn parts(text: &str, images: Vec<WireImage>) -> Value {
    let images = images.into_iter().map(|image| {
        let source = json!({"type": "base64", "media_type": image.media_type, "data": image.data});
        json!({"type": "image", "source": source})
    });
    let text = json!({"type": "text", "text": text});
    let parts: Vec<Value> = images.chain([text]).collect();
    json!({"content": parts, "role": "user"})
}

#[derive(Deserialize)]
struct AnthropicResponse {
    error: Option<Value>,
    r#type: Option<String>,
    role: Option<String>,
    content: Option<Vec<Value>>,
    stop_reason: Option<Value>,
    usage: Option<Value>,
}

pub(super) fn read_completion(body: &[u8]) -> Result<Completion, WireError> {
    let response: AnthropicResponse = wire::parse(body, "a message")?;
    if let Some(error) = response.error {
        return Err(WireError::Provider {
            said: wire::error_words(&error),
        });
    }
    if let Some(kind) = response.r#type.filter(|kind| kind != "message") {
        return Err(malformed(&format!(
            "expected the type `message`, found `{kind}`"
        )));
    }
    if let Some(role) = response.role.filter(|role| role != "assistant") {
        return Err(malformed(&format!(
            "expected the role `assistant`, found `{role}`"
        )));
    }
    let content = response
        .content
        .ok_or_else(|| malformed("expected a list `content`, found none"))?;
    let root = wire::source_of(body)?;
    let content = wire::listed(&root, "/content", content);
    let (thoughts, parts): (Vec<Value>, Vec<Value>) = wire::checked_parts(content)?
        .into_iter()
        .partition(|part| matches!(kind(part), "thinking" | "redacted_thinking"));
    let finish_reason = wire::words(response.stop_reason.as_ref());
    let text = wire::answer_of(&parts, finish_reason.as_deref())?;
    let count = |key: &str| wire::count(response.usage.as_ref().and_then(|u| u.get(key)));
    let usage = Usage {
        prompt_tokens: count("input_tokens"),
        completion_tokens: count("output_tokens"),
    };
    let beside = ReplyPlaces {
        finish_reason: "/stop_reason",
        model: "/model",
        reasoning: &[],
        known: &["/content", "/role", "/type"],
        tools: "",
    };
    Ok(Completion {
        text,
        usage,
        beside: with_thoughts(beside.read(root), thoughts, parts),
    })
}

/// The type of a part.
fn kind(part: &Value) -> &str {
    part.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// What came beside an answer, with the parts that stand among it here.
fn with_thoughts(mut beside: ReplyDoc, thoughts: Vec<Value>, parts: Vec<Value>) -> ReplyDoc {
    let words = thoughts
        .iter()
        .filter_map(|part| part.get("thinking")?.as_str());
    let words: Vec<&str> = words.filter(|words| !words.is_empty()).collect();
    beside.reasoning = (!words.is_empty()).then(|| words.join("\n\n"));
    let is_told = |part: &Value| kind(part) == "thinking" && part["thinking"].is_string();
    let hidden = thoughts.into_iter().filter(|part| !is_told(part));
    let hidden: Vec<Value> = hidden.collect();
    beside
        .other
        .insert("redacted_thinking".to_owned(), hidden.into());
    let calls = parts.into_iter().filter(|part| kind(part) == "tool_use");
    beside.tool_calls = calls.collect();
    beside
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ledger::image::ImageFile;
    use crate::record::ledger::prompt::ChatMessage;

    #[test]
    fn the_request_is_these_bytes() {
        let messages = [
            ChatMessage::new(ChatRole::System, "be brief"),
            ChatMessage::new(ChatRole::User, "hi"),
        ];
        let request = Request {
            messages: &messages,
            images: &[],
            settings: &[],
            stream: false,
        };
        let body =
            |params: &Params| String::from_utf8(request_body("claude-x", request, params)).unwrap();
        let plain = r#"{"model":"claude-x","max_tokens":4096,"system":"be brief","messages":[{"content":"hi","role":"user"}],"stream":false}"#;
        assert_eq!(body(&Params::default()), plain);
        let all = Params {
            expect: None,
            temperature: Some("1".parse().unwrap()),
            max_tokens: Some(9),
            seed: Some(7),
            system: Some("is in the prompt already".into()),
            ..Params::default()
        };
        let with = plain
            .replace("4096", "9")
            .replace(r#","stream""#, r#","temperature":1.0,"stream""#);
        assert_eq!(body(&all), with);
    }

    #[test]
    fn images_stand_before_the_question() {
        let image = ImageFile::of(b"GIF89a".to_vec()).unwrap();
        let messages = [
            ChatMessage::new(ChatRole::User, "earlier"),
            ChatMessage::new(ChatRole::User, "hi"),
        ];
        let request = Request {
            messages: &messages,
            images: &[image],
            settings: &[],
            stream: false,
        };
        let body: Value =
            serde_json::from_slice(&request_body("x", request, &Params::default())).unwrap();
        assert_eq!(
            body["messages"],
            json!([{"role": "user", "content": "earlier"}, {"role": "user", "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "R0lGODlh"}},
                {"type": "text", "text": "hi"}]}])
        );
    }

    #[test]
    fn answers() {
        let tool = r#"{"type":"tool_use","id":"toolu_1","name":"look","input":{"b":1,"a":2}}"#;
        for (content, text) in [
            (r#"{"type":"text","text":"Hi."}"#.to_owned(), "Hi."),
            (r#"{"type":"text","text":"","citations":null}"#.to_owned(), ""),
            (r#"{"type":"thinking","thinking":"no","signature":"s"},{"type":"text","text":"yes"}"#.to_owned(), "yes"),
            (
                r#"{"type":"text","text":"a"},{"type":"text","text":"b"}"#.to_owned(),
                r#"[{"text":"a","type":"text"},{"text":"b","type":"text"}]"#,
            ),
            (tool.to_owned(), r#"[{"id":"toolu_1","input":{"a":2,"b":1},"name":"look","type":"tool_use"}]"#),
            (
                format!(r#"{{"type":"text","text":"t"}},{tool}"#),
                r#"[{"text":"t","type":"text"},{"id":"toolu_1","input":{"a":2,"b":1},"name":"look","type":"tool_use"}]"#,
            ),
        ] {
            let body = format!(
                r#"{{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{content}],"stop_reason":"end_turn","usage":{{"input_tokens":3,"output_tokens":4}}}}"#
            );
            let read = read_completion(body.as_bytes()).unwrap();
            assert_eq!(read.text, text);
            assert_eq!(read.usage, Usage { prompt_tokens: Some(3), completion_tokens: Some(4) });
            assert_eq!((read.beside.finish_reason.as_deref(), read.beside.model.as_deref()), (Some("end_turn"), Some("m")));
            for end in 1..body.len() {
                assert!(matches!(read_completion(&body.as_bytes()[..end]), Err(WireError::Cut { .. })), "{end}");
            }
        }
    }

    #[test]
    fn what_is_no_answer() {
        for (body, kind) in [
            (" ", "no content (1"),
            ("{}", "`content`"),
            ("3", "expected a message"),
            (r#"{"content":"text"}"#, "expected a message"),
            (r#"{"content":["text"]}"#, "name its type"),
            (
                r#"{"content":[],"stop_reason":"refusal"}"#,
                "stopped for `refusal`",
            ),
            (
                r#"{"content":[{"type":"thinking","thinking":"x"}]}"#,
                "no reason",
            ),
            (r#"{"type":"completion","content":[]}"#, "`completion`"),
            (r#"{"role":"user","content":[]}"#, "`user`"),
        ] {
            let error = read_completion(body.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(kind), "{body}: {error}");
        }
        let body =
            br#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
        assert_eq!(
            read_completion(body).unwrap_err(),
            WireError::Provider {
                said: "Overloaded".into()
            }
        );
    }
}
