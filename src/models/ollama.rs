//! Ollama's `/api/chat`.
//!
//! - `done` must not be false: half an answer is `cut`;
//! - `message.content` is the answer; with `message.tool_calls` it is the list of the text (as a
//!   `text` part, if there is any) and the calls as they came;
//! - arguments of tools are objects, and no server takes a choice of tools;
//! - an answer with `done_reason` `load` has only loaded the model, and is `empty`;
//! - `message.images`, which gently never asks for, is `malformed`: left out it would be lost.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::wire::{self, Completion, ReplyPlaces, WireError, WireImage, WireMessage, malformed};
use super::{Request, Usage};
use crate::record::ledger::client_request::{ClientRequest, ToolChoice};
use crate::record::ledger::params::{ANY_JSON, Params, ResponseFormat};
use crate::record::ledger::prompt::ChatMessage;

/// Settings that stand beside the options, and not among them.
const TOP: [&str; 4] = ["keep_alive", "logprobs", "think", "top_logprobs"];

#[derive(Serialize)]
struct OllamaRequest<'a> {
    model: &'a str,
    messages: Vec<WireMessage<'a>>,
    stream: bool,
    /// What is too long is refused, and not cut; older servers know no such wish.
    truncate: bool,
    /// Nor is what was sent cut while the answer grows; the answer ends there instead.
    shift: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    options: Option<Options>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
}

#[derive(Serialize)]
struct Options {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    num_predict: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
}

pub(super) fn request_body(model: &str, request: Request<'_>, params: &Params) -> Vec<u8> {
    let temperature = params.temperature.map(|t| t.as_f64());
    let any = temperature.is_some() || params.max_tokens.is_some() || params.seed.is_some();
    let options = any.then_some(Options {
        temperature,
        num_predict: params.max_tokens,
        seed: params.seed,
    });
    let body = OllamaRequest {
        model,
        messages: wire::wire_messages(request, |message, images| {
            parts(message, images, request.messages)
        }),
        stream: request.stream,
        truncate: false,
        shift: false,
        format: params.response_format.map(|format| match format {
            ResponseFormat::JsonObject => Value::from(ANY_JSON),
            ResponseFormat::JsonSchema => {
                wire::schema_of(params.expect.as_deref().unwrap_or_default())
            }
        }),
        options,
        tools: wire::function_tools(request.tools),
    };
    wire::printed(&body, request, |name| match TOP.contains(&name) {
        true => "",
        false => "options",
    })
}

/// Why no Ollama can be asked so.
pub(super) fn refuses(client: &ClientRequest) -> Option<String> {
    if client
        .tool_choice
        .as_ref()
        .is_some_and(|choice| *choice != ToolChoice::Auto)
    {
        let why = "an Ollama takes no tool_choice: leave it out, or leave the tools out";
        return Some(why.to_owned());
    }
    wire::without_object(client)
}

/// A text with its images, one with calls, or the result of one.
fn parts(message: &ChatMessage, images: Vec<WireImage>, all: &[ChatMessage]) -> Value {
    let text = &message.content;
    if let Some(id) = &message.tool_call_id {
        let mut calls = all.iter().flat_map(|one| &one.tool_calls);
        let name = calls.find(|call| call.id == *id).map(|call| &call.name);
        return json!({"content": text, "role": "tool", "tool_call_id": id, "tool_name": name});
    }
    if !message.tool_calls.is_empty() {
        let calls = message.tool_calls.iter().map(|call| {
            let function = json!({"name": call.name, "arguments": call.object()});
            json!({"id": call.id, "function": function})
        });
        let calls: Vec<Value> = calls.collect();
        return json!({"content": text, "role": "assistant", "tool_calls": calls});
    }
    let images: Vec<String> = images.into_iter().map(|image| image.data).collect();
    json!({"content": text, "images": images, "role": "user"})
}

#[derive(Deserialize)]
struct OllamaResponse {
    error: Option<Value>,
    message: Option<OllamaMessage>,
    done: Option<bool>,
    done_reason: Option<Value>,
    prompt_eval_count: Option<Value>,
    eval_count: Option<Value>,
}

#[derive(Deserialize)]
struct OllamaMessage {
    role: Option<String>,
    content: Option<String>,
    tool_calls: Option<Vec<Value>>,
    images: Option<Vec<Value>>,
}

pub(super) fn read_completion(body: &[u8]) -> Result<Completion, WireError> {
    let response: OllamaResponse = wire::parse(body, "a chat response")?;
    if let Some(error) = response.error {
        return Err(WireError::Provider {
            said: wire::error_words(&error),
        });
    }
    let said = response
        .message
        .ok_or_else(|| malformed("expected a key `message`, found none"))?;
    if response.done == Some(false) {
        return Err(WireError::Unfinished);
    }
    let finish_reason = wire::words(response.done_reason.as_ref());
    let root = wire::source_of(body)?;
    let said = OllamaMessage {
        tool_calls: said
            .tool_calls
            .map(|calls| wire::listed(&root, "/message/tool_calls", calls)),
        ..said
    };
    let text = answer_text(said, finish_reason.as_deref())?;
    let prompt_tokens = wire::count(response.prompt_eval_count.as_ref());
    let usage = Usage {
        prompt_tokens,
        completion_tokens: wire::count(response.eval_count.as_ref()),
    };
    let beside = ReplyPlaces {
        finish_reason: "/done_reason",
        model: "/model",
        reasoning: &["/message/thinking"],
        known: &["/done", "/message/content", "/message/role"],
        tools: "/message/tool_calls",
    };
    Ok(Completion {
        text,
        usage,
        beside: beside.read(root),
    })
}

/// Whether a piece of a streamed answer, which is JSON, has the shape of a whole one: that names no
/// key twice.
pub(super) fn check_piece(piece: &[u8]) -> Result<(), WireError> {
    let read = serde_json::from_slice::<OllamaResponse>(piece);
    read.map(drop).map_err(|error| {
        malformed(&format!(
            "expected a piece of a chat response, found: {error}"
        ))
    })
}

fn answer_text(said: OllamaMessage, finish_reason: Option<&str>) -> Result<String, WireError> {
    if let Some(role) = said.role.filter(|r| r != "assistant") {
        return Err(malformed(&format!(
            "expected a message of the role `assistant`, found `{role}`"
        )));
    }
    if said.images.is_some_and(|images| !images.is_empty()) {
        return Err(malformed(
            "expected text or tool calls, found `images`, which were not asked for",
        ));
    }
    let tools = said.tool_calls.unwrap_or_default();
    if tools.iter().any(|call| !call.is_object()) {
        return Err(malformed(
            "expected objects in `tool_calls`, found something else",
        ));
    }
    let mut parts = match said.content {
        Some(text) if tools.is_empty() && finish_reason != Some("load") => return Ok(text),
        Some(text) if !text.is_empty() => vec![wire::text_part(&text)],
        _ => Vec::new(),
    };
    parts.extend(tools);
    wire::answer_of(&parts, finish_reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ledger::image::ImageFile;
    use crate::record::ledger::prompt::{ChatMessage, ChatRole};

    #[test]
    fn images_stand_beside_the_question() {
        let messages = [ChatMessage::new(ChatRole::User, "hi")];
        let image = ImageFile::of(b"GIF89a".to_vec()).unwrap();
        let request = Request {
            messages: &messages,
            images: &[(0, &image), (0, &image)],
            settings: &[],
            tools: &[],
            tool_choice: None,
            stream: false,
        };
        let body: Value =
            serde_json::from_slice(&request_body("x", request, &Params::default())).unwrap();
        let two = json!([{"role": "user", "content": "hi", "images": ["R0lGODlh", "R0lGODlh"]}]);
        assert_eq!(body["messages"], two);
    }

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
        let body = |params: &Params| {
            String::from_utf8(request_body("llama3.1:8b", request, params)).unwrap()
        };
        let plain = r#"{"model":"llama3.1:8b","messages":[{"content":"be brief","role":"system"},{"content":"hi","role":"user"}],"stream":false,"truncate":false,"shift":false}"#;
        assert_eq!(body(&Params::default()), plain);
        assert_eq!(
            body(&Params {
                system: Some("s".into()),
                ..Params::default()
            }),
            plain
        );
        let all = Params {
            temperature: Some("0".parse().unwrap()),
            max_tokens: Some(9),
            seed: Some(7),
            ..Params::default()
        };
        let with = plain.replace(
            "\"shift\":false}",
            r#""shift":false,"options":{"temperature":0.0,"num_predict":9,"seed":7}}"#,
        );
        assert_eq!(body(&all), with);
        for (shape, format) in [
            ("json", r#""json""#),
            (r#"{"type":"array"}"#, r#"{"type":"array"}"#),
        ] {
            let wanted = Params {
                expect: Some(shape.to_owned()),
                ..Params::default()
            };
            let (sent, _) = wire::Wire::Ollama.fit(&wanted);
            let told = format!(r#""shift":false,"format":{format}}}"#);
            let told = plain.replace("\"shift\":false}", &told);
            assert_eq!(body(&sent), told);
        }
        // What its server has to take stands among the options, whether there are others or not.
        let set = [("num_ctx".to_owned(), json!(8192))];
        let request = Request {
            settings: &set,
            ..request
        };
        let options = |params: &Params| {
            let sent = request_body("llama3.1:8b", request, params);
            serde_json::from_slice::<Value>(&sent).unwrap()["options"].clone()
        };
        assert_eq!(options(&Params::default()), json!({"num_ctx": 8192}));
        assert_eq!(
            options(&all),
            json!({"num_ctx": 8192, "num_predict": 9, "seed": 7, "temperature": 0.0})
        );
    }

    #[test]
    fn answers() {
        let call = r#"{"function":{"name":"look","arguments":{"b":1,"a":2}}}"#;
        for (message, text) in [
            (r#""role":"assistant","content":"Hi.""#.to_owned(), "Hi."),
            (r#""role":"assistant","content":"""#.to_owned(), ""),
            (
                r#""content":"shown","thinking":"not shown","tool_calls":[]"#.to_owned(),
                "shown",
            ),
            (
                format!(r#""content":"","tool_calls":[{call}]"#),
                r#"[{"function":{"arguments":{"a":2,"b":1},"name":"look"}}]"#,
            ),
            (
                format!(r#""content":"t","tool_calls":[{call}]"#),
                r#"[{"text":"t","type":"text"},{"function":{"arguments":{"a":2,"b":1},"name":"look"}}]"#,
            ),
        ] {
            let body = format!(
                r#"{{"model":"m","message":{{{message}}},"done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":4}}"#
            );
            let read = read_completion(body.as_bytes()).unwrap();
            assert_eq!(read.text, text);
            assert_eq!(
                read.usage,
                Usage {
                    prompt_tokens: Some(3),
                    completion_tokens: Some(4)
                }
            );
            assert_eq!(
                (
                    read.beside.finish_reason.as_deref(),
                    read.beside.model.as_deref()
                ),
                (Some("stop"), Some("m"))
            );
            for end in 1..body.len() {
                assert!(
                    matches!(
                        read_completion(&body.as_bytes()[..end]),
                        Err(WireError::Cut { .. })
                    ),
                    "{end}"
                );
            }
        }
    }

    #[test]
    fn what_is_no_answer() {
        for (body, kind) in [
            ("", "no content (0"),
            ("{}", "`message`"),
            ("[]", "expected a chat response"),
            (r#"{"message":{"content":"half"},"done":false}"#, "not done"),
            (
                r#"{"message":{"content":""},"done":true,"done_reason":"load"}"#,
                "stopped for `load`",
            ),
            (r#"{"message":{},"done":true}"#, "no reason"),
            (
                r#"{"message":{"role":"user","content":"a"},"done":true}"#,
                "role `assistant`",
            ),
            (
                r#"{"message":{"content":["a"]},"done":true}"#,
                "expected a chat response",
            ),
            (
                r#"{"message":{"content":"a","tool_calls":["b"]},"done":true}"#,
                "objects in `tool_calls`",
            ),
            (
                r#"{"message":{"content":"a","images":["AA=="]},"done":true}"#,
                "`images`",
            ),
            (
                r#"{"response":"the other endpoint","done":true}"#,
                "`message`",
            ),
            (
                "{\"message\":{\"content\":\"a\"},\"done\":false}\n{\"message\":{\"content\":\"b\"},\"done\":true}",
                "trailing",
            ),
        ] {
            let error = read_completion(body.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(kind), "{body}: {error}");
        }
        let said = read_completion(br#"{"error":"model 'x' not found"}"#).unwrap_err();
        assert_eq!(
            said,
            WireError::Provider {
                said: "model 'x' not found".into()
            }
        );
    }
}
