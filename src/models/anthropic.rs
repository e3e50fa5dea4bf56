//! Anthropic's `/v1/messages`.
//!
//! - the system text has a place of its own, and `max_tokens` is in every request;
//! - results of tools are parts of a user's message, those of one answer in one; a schema of
//!   arguments is an `input_schema`, and arguments are objects;
//! - `content` is a list of parts; one text part is its text, anything else (a `tool_use` part,
//!   several texts) is the list as it came, but for `thinking` and `redacted_thinking`, which are
//!   no part of the answer;
//! - a message of another role or type is `malformed`; one without parts is `empty`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::wire::{self, Completion, ReplyPlaces, WireError, WireImage, WireMessage, malformed};
use super::{Request, Usage};
use crate::record::ledger::client_request::{ClientRequest, ToolChoice};
use crate::record::ledger::params::Params;
use crate::record::ledger::prompt::{ChatMessage, ChatRole};
use crate::record::ledger::reply::ReplyDoc;

/// The version of the wire.
pub(super) const VERSION: &str = "2023-06-01";
/// The type of a part that says what came of a call.
const RESULT: &str = "tool_result";
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
}

pub(super) fn request_body(model: &str, request: Request<'_>, params: &Params) -> Vec<u8> {
    let system = request.messages.first();
    let system = system.filter(|first| first.role == ChatRole::System);
    let mut messages = wire::wire_messages(request, parts);
    if system.is_some() {
        messages.remove(0);
    }
    let body = AnthropicRequest {
        model,
        max_tokens: params.max_tokens.unwrap_or(MAX_TOKENS),
        system: system.map_or("", |first| first.content.as_str()),
        messages: joined(messages),
        temperature: params.temperature.map(|t| t.as_f64()),
        stream: request.stream,
        tools: request
            .tools
            .iter()
            .map(|tool| {
                let mut told = json!({"name": tool.name, "input_schema": tool.parameters});
                if let Some(description) = &tool.description {
                    told["description"] = json!(description);
                }
                told
            })
            .collect(),
        tool_choice: request.tool_choice.map(|choice| match choice {
            ToolChoice::Auto => json!({"type": "auto"}),
            ToolChoice::None => json!({"type": "none"}),
            ToolChoice::Required => json!({"type": "any"}),
            ToolChoice::Name(name) => json!({"type": "tool", "name": name}),
        }),
    };
    wire::printed(&body, request, |_| "")
}

/// Why Anthropic can't be asked so.
pub(super) fn refuses(client: &ClientRequest) -> Option<String> {
    let (_, others) = client.heads();
    if let Some(first) = others.first()
        && first.role != ChatRole::User
    {
        let role = first.role.name();
        return Some(format!(
            "Anthropic takes no conversation that begins with a message of the role {role}: begin with a user's"
        ));
    }
    if others.iter().any(|one| one.role == ChatRole::System) {
        let why =
            "Anthropic takes messages of the role system at the beginning only: put them there";
        return Some(why.to_owned());
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if let Some(call) = client.calls().find(|one| !one.id.chars().all(is_plain)) {
        return Some(format!(
            "the call {} has an id that Anthropic does not take: expected letters, digits, - and _",
            call.id
        ));
    }
    wire::without_object(client)
}

/// Messages in which the results of one answer's calls are one message of a user, with what the user
/// says behind them.
fn joined(messages: Vec<WireMessage<'_>>) -> Vec<WireMessage<'_>> {
    let mut sent: Vec<WireMessage<'_>> = Vec::with_capacity(messages.len());
    for message in messages {
        match (sent.last_mut(), message) {
            (Some(WireMessage::Parts(last)), WireMessage::Parts(mut next))
                if has_results(last) && next["role"] == "user" =>
            {
                if let (Some(last), Some(next)) = (
                    last["content"].as_array_mut(),
                    next["content"].as_array_mut(),
                ) {
                    last.append(next);
                }
            }
            (Some(WireMessage::Parts(last)), WireMessage::Text(next))
                if has_results(last) && next.role == ChatRole::User =>
            {
                if let Some(last) = last["content"].as_array_mut() {
                    last.push(json!({"type": "text", "text": next.content}));
                }
            }
            (_, message) => sent.push(message),
        }
    }
    sent
}

/// Whether a message has results of tools.
fn has_results(message: &Value) -> bool {
    message["content"][0]["type"] == RESULT
}

/// A text behind its images, as the vendor advises, one with calls, or the result of one.
fn parts(message: &ChatMessage, images: Vec<WireImage>) -> Value {
    let text = &message.content;
    if let Some(id) = &message.tool_call_id {
        let result = json!({"type": RESULT, "tool_use_id": id, "content": text});
        return json!({"content": [result], "role": "user"});
    }
    if !message.tool_calls.is_empty() {
        let text = Some(text).filter(|text| !text.is_empty());
        let text = text.map(|text| json!({"type": "text", "text": text}));
        let calls = message.tool_calls.iter().map(|call| {
            json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.object()})
        });
        let parts: Vec<Value> = text.into_iter().chain(calls).collect();
        return json!({"content": parts, "role": "assistant"});
    }
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
            tools: &[],
            tool_choice: None,
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
            images: &[(1, &image)],
            settings: &[],
            tools: &[],
            tool_choice: None,
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
