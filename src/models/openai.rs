//! OpenAI's chat completions.
//!
//! - exactly one choice, by the `assistant`; more is `malformed`, as nobody could say which one was
//!   shown;
//! - `content` is a string (the answer, and may be empty) or a list of parts;
//! - with tool calls or a refusal the answer is the list of the text (as a `text` part, if there is
//!   any), the refusal (as a `refusal` part), then the tool calls as they came;
//! - `function_call` and `audio`, which gently never asks for, are `malformed`: left out they would
//!   be lost.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::wire::{self, Completion, ReplyPlaces, WireError, WireImage, WireMessage, malformed};
use super::{Request, Usage};
use crate::record::ledger::params::{Params, ResponseFormat};
use crate::record::ledger::reply::REFUSAL_PART;

/// OpenAI itself refuses `max_tokens` for its newer models; most other servers know nothing but it.
const OFFICIAL_HOST: &str = "api.openai.com";
/// A schema has to have a name there.
const SCHEMA_NAME: &str = "answer";

#[derive(Serialize)]
struct OpenAiRequest<'a> {
    model: &'a str,
    messages: Vec<WireMessage<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Value>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

pub(super) fn request_body(
    model: &str,
    request: Request<'_>,
    params: &Params,
    host: &str,
) -> Vec<u8> {
    let official = host == OFFICIAL_HOST;
    let body = OpenAiRequest {
        model,
        messages: wire::wire_messages(request.messages, request.images, parts),
        stream: request.stream,
        // Without it no piece says what the answer used.
        stream_options: request.stream.then_some(StreamOptions {
            include_usage: true,
        }),
        temperature: params.temperature.map(|t| t.as_f64()),
        max_tokens: params.max_tokens.filter(|_| !official),
        max_completion_tokens: params.max_tokens.filter(|_| official),
        seed: params.seed,
        response_format: params.response_format.map(|format| told(format, params)),
    };
    wire::printed(&body, request, "")
}

/// A response format as this wire spells it.
fn told(format: ResponseFormat, params: &Params) -> Value {
    let kind = format.name();
    match format {
        ResponseFormat::JsonObject => json!({ "type": kind }),
        ResponseFormat::JsonSchema => {
            let schema = wire::schema_of(params.expect.as_deref().unwrap_or_default());
            json!({ "type": kind, kind: { "name": SCHEMA_NAME, "schema": schema } })
        }
    }
}

/// A question with its images.
fn parts(text: &str, images: Vec<WireImage>) -> Value {
    let mut parts = vec![json!({"type": "text", "text": text})];
    parts.extend(images.into_iter().map(|image| {
        let url = format!("data:{};base64,{}", image.media_type, image.data);
        json!({"type": "image_url", "image_url": {"url": url}})
    }));
    json!({"content": parts, "role": "user"})
}

#[derive(Deserialize)]
struct OpenAiResponse {
    error: Option<Value>,
    choices: Option<Vec<Choice>>,
    usage: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    message: Option<OpenAiMessage>,
    finish_reason: Option<Value>,
}

#[derive(Deserialize)]
struct OpenAiMessage {
    role: Option<String>,
    content: Option<Value>,
    refusal: Option<String>,
    tool_calls: Option<Vec<Value>>,
    function_call: Option<Value>,
    audio: Option<Value>,
}

pub(super) fn read_completion(body: &[u8]) -> Result<Completion, WireError> {
    let response: OpenAiResponse = wire::parse(body, "a chat completion")?;
    if let Some(error) = response.error {
        return Err(WireError::Provider {
            said: wire::error_words(&error),
        });
    }
    let choices = response
        .choices
        .ok_or_else(|| malformed("expected a key `choices`, found none"))?;
    let mut choices = choices.into_iter();
    let choice = choices.next().ok_or_else(|| WireError::Empty {
        detail: "the list of choices is empty".into(),
    })?;
    if choices.next().is_some() {
        return Err(malformed("expected one choice, found several"));
    }
    let finish_reason = wire::words(choice.finish_reason.as_ref());
    let said = choice
        .message
        .ok_or_else(|| malformed("expected a `message` in the choice, found none"))?;
    let root = wire::source_of(body)?;
    let said = as_written(said, &root);
    let text = answer_text(said, finish_reason.as_deref())?;
    let count = |key: &str| wire::count(response.usage.as_ref().and_then(|u| u.get(key)));
    let usage = Usage {
        prompt_tokens: count("prompt_tokens"),
        completion_tokens: count("completion_tokens"),
    };
    let beside = ReplyPlaces {
        finish_reason: "/choices/0/finish_reason",
        model: "/model",
        reasoning: &[
            "/choices/0/message/reasoning_content",
            "/choices/0/message/reasoning",
        ],
        known: &[
            "/choices/0/message/content",
            "/choices/0/message/refusal",
            "/choices/0/message/role",
        ],
        tools: "/choices/0/message/tool_calls",
    };
    Ok(Completion {
        text,
        usage,
        beside: beside.read(root),
    })
}

#[derive(Deserialize)]
#[expect(
    dead_code,
    reason = "what is in a piece is read elsewhere; here it is only named once"
)]
struct OpenAiPiece {
    choices: Option<Vec<ChoicePiece>>,
    usage: Option<Value>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "as above")]
struct ChoicePiece {
    delta: Option<OpenAiMessage>,
    finish_reason: Option<Value>,
}

/// Whether a piece of a streamed answer, which is JSON, has the shape of one: that names no key
/// twice.
pub(super) fn check_piece(piece: &[u8]) -> Result<(), WireError> {
    let read = serde_json::from_slice::<OpenAiPiece>(piece);
    read.map(drop).map_err(|error| {
        malformed(&format!(
            "expected a piece of a chat completion, found: {error}"
        ))
    })
}

/// The message with its lists as they were written.
fn as_written(said: OpenAiMessage, root: &Value) -> OpenAiMessage {
    let listed = |place: &str, read| wire::listed(root, place, read);
    OpenAiMessage {
        content: said.content.map(|content| match content {
            Value::Array(parts) => listed("/choices/0/message/content", parts).into(),
            other => other,
        }),
        tool_calls: said
            .tool_calls
            .map(|calls| listed("/choices/0/message/tool_calls", calls)),
        ..said
    }
}

fn answer_text(said: OpenAiMessage, finish_reason: Option<&str>) -> Result<String, WireError> {
    if let Some(role) = said.role.filter(|r| r != "assistant") {
        return Err(malformed(&format!(
            "expected a message of the role `assistant`, found `{role}`"
        )));
    }
    if said.function_call.is_some() || said.audio.is_some() {
        return Err(malformed(
            "expected text or tool calls, found `function_call` or `audio`, which were not asked for",
        ));
    }
    let tools = said.tool_calls.unwrap_or_default();
    if tools.iter().any(|call| !call.is_object()) {
        return Err(malformed(
            "expected objects in `tool_calls`, found something else",
        ));
    }
    let refusal = said.refusal.filter(|text| !text.is_empty());
    let mut parts = match said.content {
        Some(Value::String(text)) if tools.is_empty() && refusal.is_none() => return Ok(text),
        Some(Value::String(text)) if !text.is_empty() => vec![wire::text_part(&text)],
        Some(Value::Array(parts)) => wire::checked_parts(parts)?,
        None | Some(Value::String(_)) => Vec::new(),
        Some(_) => {
            return Err(malformed(
                "expected `content` to be a string or a list, found something else",
            ));
        }
    };
    parts.extend(refusal.map(|text| json!({"type": REFUSAL_PART, REFUSAL_PART: text})));
    parts.extend(tools);
    wire::answer_of(&parts, finish_reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ledger::image::ImageFile;
    use crate::record::ledger::prompt::ChatMessage;

    #[test]
    fn images_stand_behind_the_question() {
        let messages = [ChatMessage::new(ChatRole::User, "hi")];
        let image = ImageFile::of(b"GIF89a".to_vec()).unwrap();
        let request = Request {
            messages: &messages,
            images: &[image],
            settings: &[],
            stream: false,
        };
        let body = request_body("x", request, &Params::default(), "localhost");
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(
            body["messages"],
            json!([{"role": "user", "content": [{"type": "text", "text": "hi"},
                {"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0lGODlh"}}]}])
        );
    }
    use crate::record::ledger::prompt::ChatRole;

    #[test]
    fn a_shape_is_told_in_the_servers_own_way() {
        let told = |shape: &str| {
            let wanted = Params {
                expect: Some(shape.to_owned()),
                ..Params::default()
            };
            let (params, _) = wire::Wire::OpenAi.fit(&wanted);
            let request = Request {
                messages: &[],
                images: &[],
                settings: &[],
                stream: false,
            };
            let body = request_body("m", request, &params, "127.0.0.1");
            serde_json::from_slice::<Value>(&body).unwrap()["response_format"].clone()
        };
        assert_eq!(told("json"), json!({"type": "json_object"}));
        let schema = json!({"required": ["a"], "type": "object"});
        assert_eq!(
            told(&schema.to_string()),
            json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}})
        );
        // Its server refuses what need not be an object: the words alone tell it.
        for other in [r#"{"type":"array"}"#, r#"{"anyOf":[]}"#, "true"] {
            assert_eq!(told(other), Value::Null, "{other}");
        }
    }

    #[test]
    fn the_request_is_these_bytes() {
        let plain = r#"{"model":"m","messages":[{"content":"be \"brief\"","role":"system"},{"content":"wie geht's?\n","role":"user"}],"stream":false}"#;
        let messages = [
            ChatMessage::new(ChatRole::System, "be \"brief\""),
            ChatMessage::new(ChatRole::User, "wie geht's?\n"),
        ];
        let request = Request {
            messages: &messages,
            images: &[],
            settings: &[],
            stream: false,
        };
        let body = |params: &Params, host| {
            String::from_utf8(request_body("m", request, params, host)).unwrap()
        };
        assert_eq!(body(&Params::default(), "127.0.0.1"), plain);
        let all = Params {
            temperature: Some("0.2".parse().unwrap()),
            max_tokens: Some(9),
            seed: Some(7),
            system: Some("is in the prompt already".into()),
            ..Params::default()
        };
        let there = plain.replace(
            "false}",
            r#"false,"temperature":0.2,"max_tokens":9,"seed":7}"#,
        );
        assert_eq!(body(&all, "127.0.0.1"), there);
        assert_eq!(
            body(&all, "api.openai.com"),
            there.replace("max_tokens", "max_completion_tokens")
        );
        // What is set for the call alone wins.
        let set = [
            ("seed".to_owned(), json!(8)),
            ("top_k".to_owned(), json!(3)),
        ];
        let request = Request {
            settings: &set,
            stream: true,
            ..request
        };
        let sent = request_body("m", request, &all, "127.0.0.1");
        let sent: Value = serde_json::from_slice(&sent).unwrap();
        let mut expected: Value = serde_json::from_str(&there).unwrap();
        (expected["seed"], expected["top_k"], expected["stream"]) =
            (json!(8), json!(3), json!(true));
        expected["stream_options"] = json!({"include_usage": true});
        assert_eq!(sent, expected);
    }

    fn message(inner: &str) -> String {
        format!(
            r#"{{"choices":[{{"index":0,"message":{{{inner}}},"finish_reason":"stop"}}],"model":"m-1"}}"#
        )
    }

    #[test]
    fn answers() {
        let table = [
            (r#""role":"assistant","content":"Hi. \u00e9""#, "Hi. é"),
            (r#""role":"assistant","content":"""#, ""),
            (
                r#""content":" kept as it is\n","refusal":null,"tool_calls":[]"#,
                " kept as it is\n",
            ),
            (
                r#""content":"shown","reasoning_content":"thought""#,
                "shown",
            ),
            (r#""content":[{"type":"text","text":"one"}]"#, "one"),
            (
                r#""content":[{"type":"text","text":"one","note":1}]"#,
                r#"[{"note":1,"text":"one","type":"text"}]"#,
            ),
            (
                r#""content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#,
                r#"[{"text":"a","type":"text"},{"text":"b","type":"text"}]"#,
            ),
            (
                r#""content":[{"type":"image_url","image_url":"x"}]"#,
                r#"[{"image_url":"x","type":"image_url"}]"#,
            ),
            (
                r#""content":null,"tool_calls":[{"type":"function","id":"1"}]"#,
                r#"[{"id":"1","type":"function"}]"#,
            ),
            (
                r#""content":"","tool_calls":[{"id":"1"}]"#,
                r#"[{"id":"1"}]"#,
            ),
            (
                r#""content":"t","tool_calls":[{"id":"1"}]"#,
                r#"[{"text":"t","type":"text"},{"id":"1"}]"#,
            ),
            (
                r#""content":null,"refusal":"no""#,
                r#"[{"refusal":"no","type":"refusal"}]"#,
            ),
        ];
        for (inner, text) in table {
            let read = read_completion(message(inner).as_bytes()).unwrap();
            assert_eq!(read.text, text);
            assert_eq!(
                (
                    read.beside.finish_reason.as_deref(),
                    read.beside.model.as_deref()
                ),
                (Some("stop"), Some("m-1"))
            );
            assert_eq!(read.usage, Usage::default());
        }
    }

    #[test]
    fn counts_are_whole_numbers_or_unknown() {
        for (usage, prompt, answer) in [
            (
                r#"{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}"#,
                Some(3),
                Some(4),
            ),
            (
                r#"{"prompt_tokens":-3,"completion_tokens":4.5}"#,
                None,
                None,
            ),
            ("null", None, None),
            ("[]", None, None),
        ] {
            let body = format!(
                r#"{{"choices":[{{"message":{{"content":"x"}}}}],"model":7,"usage":{usage}}}"#
            );
            let read = read_completion(body.as_bytes()).unwrap();
            assert_eq!(
                read.usage,
                Usage {
                    prompt_tokens: prompt,
                    completion_tokens: answer
                }
            );
            assert_eq!((read.beside.model, read.beside.finish_reason), (None, None));
        }
    }

    #[test]
    fn every_prefix_of_a_response_is_cut() {
        let whole = message(r#""role":"assistant","content":"é \u00e9""#);
        for end in 1..whole.len() {
            let error = read_completion(&whole.as_bytes()[..end]).unwrap_err();
            assert!(
                matches!(error, WireError::Cut { bytes } if bytes == end),
                "{end}: {error:?}"
            );
        }
    }

    #[test]
    fn what_is_no_answer() {
        let kind = |body: &[u8]| match read_completion(body).unwrap_err() {
            WireError::Unfinished => "unfinished".to_owned(),
            WireError::Cut { .. } => "cut".to_owned(),
            WireError::Malformed { .. } => "malformed".to_owned(),
            WireError::Empty { .. } => "empty".to_owned(),
            WireError::Provider { said } => said,
        };
        let table: &[(&[u8], &str)] = &[
            (b"", "empty"),
            (b" \n\r\n ", "empty"),
            (br#"{"choices":[]}"#, "empty"),
            (br#"{"choices":[{"message":{}}]}"#, "empty"),
            (br#"{"choices":[{"message":{"content":null}}]}"#, "empty"),
            (
                br#"{"choices":[{"message":{"content":[],"refusal":""}}]}"#,
                "empty",
            ),
            (b"<html>", "malformed"),
            (b"data: {}", "malformed"),
            (b"{}", "malformed"),
            (b"[]", "malformed"),
            (b"\"text\"", "malformed"),
            (b"\xef\xbb\xbf{}", "malformed"),
            (br#"{"choices":{}}"#, "malformed"),
            (br#"{"choices":[{}]}"#, "malformed"),
            (br#"{"choices":[{"text":"old dialect"}]}"#, "malformed"),
            (br#"{"choices":[{"message":{"content":1}}]}"#, "malformed"),
            (
                br#"{"choices":[{"message":{"content":"a","content":"b"}}]}"#,
                "malformed",
            ),
            (
                br#"{"choices":[{"message":{"content":["a"]}}]}"#,
                "malformed",
            ),
            (
                br#"{"choices":[{"message":{"content":"a"}},{"message":{"content":"b"}}]}"#,
                "malformed",
            ),
            (
                br#"{"choices":[{"message":{"role":"user","content":"a"}}]}"#,
                "malformed",
            ),
            (
                br#"{"choices":[{"message":{"content":"a","tool_calls":[1]}}]}"#,
                "malformed",
            ),
            (
                br#"{"choices":[{"message":{"content":"a","function_call":{}}}]}"#,
                "malformed",
            ),
            (
                br#"{"choices":[{"message":{"content":"\ud800"}}]}"#,
                "malformed",
            ),
            (
                b"{\"choices\":[{\"message\":{\"content\":\"\xff\"}}]}",
                "malformed",
            ),
            (
                br#"{"choices":[{"message":{"content":"a"}}]} {}"#,
                "malformed",
            ),
            (
                br#"{"error":{"message":"overloaded","code":529}}"#,
                "overloaded",
            ),
            (br#"{"error":"no"}"#, "no"),
            (br#"{"error":{"code":1}}"#, r#"{"code":1}"#),
        ];
        for (body, expected) in table {
            assert_eq!(kind(body), *expected, "{}", String::from_utf8_lossy(body));
        }
    }
}
