//! The bytes of the OpenAI chat completions dialect: printing a request, reading a response.
//!
//! Strict about what becomes the answer, lenient about what surrounds it (token counts, names, unknown keys):
//! - exactly one choice, by the `assistant`; more is `malformed`, as nobody could say which one was shown;
//! - `content` is a string (the answer, and may be empty) or a list of parts; one plain text part is its text,
//!   anything else is the RFC 8785 print of the list;
//! - with tool calls or a refusal the answer is the list of the text (as a `text` part, if there is any), the
//!   refusal (as a `refusal` part), then the tool calls as they came;
//! - no content, no refusal and no tool calls is `empty`, not an empty answer;
//! - `function_call` and `audio`, which gently never asks for, are `malformed`: left out they would be lost;
//! - reasoning texts beside the content are not part of the answer; they stay in the kept bytes.
//!
//! Bytes that end before the JSON does are `cut`; other bytes that are not JSON of this shape are `malformed`.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Request, Usage};
use crate::record::canon;

/// What a response holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The answer, as FORMAT section 2 defines the role `response`.
    pub text: String,
    /// Token counts; those that are not whole numbers are left out.
    pub usage: Usage,
    /// `finish_reason` of the choice.
    pub finish_reason: Option<String>,
    /// `model` of the response.
    pub model: Option<String>,
}

/// Why no answer can be read from a whole response body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The bytes end inside the JSON.
    #[error("the JSON ends unfinished after {bytes} bytes")]
    Cut {
        /// How many came.
        bytes: usize,
    },
    /// Not JSON, or not a chat completion.
    #[error("{detail}")]
    Malformed {
        /// What was expected, what was found.
        detail: String,
    },
    /// A chat completion without an answer.
    #[error("{detail}")]
    Empty {
        /// What was there instead.
        detail: String,
    },
    /// An `error` in the place of an answer.
    #[error("the provider reports an error")]
    Provider {
        /// Its words, unbounded and with whatever is in them: see [`super::quote`].
        said: String,
    },
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: [Message<'a>; 2],
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'a str,
    content: &'a str,
}

/// Prints the request body; the same arguments give the same bytes.
///
/// `{"model":…,"messages":[{"role":"system",…},{"role":"user",…}],"stream":false}`, and `temperature` if given.
pub fn request_body(model: &str, request: Request<'_>, temperature: Option<f64>) -> Vec<u8> {
    let messages =
        [Message { role: "system", content: request.system }, Message { role: "user", content: request.user }];
    serde_json::to_vec(&Body { model, messages, stream: false, temperature })
        .expect("strings and numbers always have a JSON form")
}

#[derive(Deserialize)]
struct Response {
    error: Option<Value>,
    choices: Option<Vec<Choice>>,
    model: Option<Value>,
    usage: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    message: Option<Said>,
    finish_reason: Option<Value>,
}

#[derive(Deserialize)]
struct Said {
    role: Option<String>,
    content: Option<Value>,
    refusal: Option<String>,
    tool_calls: Option<Vec<Value>>,
    function_call: Option<Value>,
    audio: Option<Value>,
}

/// Reads a whole response body.
///
/// # Errors
/// [`WireError`], as the module's text describes.
pub fn read_completion(body: &[u8]) -> Result<Completion, WireError> {
    let response = parse(body)?;
    if let Some(error) = response.error {
        return Err(WireError::Provider { said: error_words(&error) });
    }
    let choices = response.choices.ok_or_else(|| malformed("expected a key `choices`, found none"))?;
    let mut choices = choices.into_iter();
    let choice = choices.next().ok_or_else(|| WireError::Empty { detail: "the list of choices is empty".into() })?;
    if choices.next().is_some() {
        return Err(malformed("expected one choice, found several"));
    }
    let finish_reason = choice.finish_reason.as_ref().and_then(Value::as_str).map(str::to_owned);
    let said = choice.message.ok_or_else(|| malformed("expected a `message` in the choice, found none"))?;
    let text = answer_text(said, finish_reason.as_deref())?;
    let count = |key: &str| response.usage.as_ref().and_then(|u| u.get(key)).and_then(Value::as_u64);
    let usage = Usage { prompt_tokens: count("prompt_tokens"), completion_tokens: count("completion_tokens") };
    let model = response.model.as_ref().and_then(Value::as_str).map(str::to_owned);
    Ok(Completion { text, usage, finish_reason, model })
}

fn parse(body: &[u8]) -> Result<Response, WireError> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Err(WireError::Empty { detail: format!("the body has no content ({} bytes)", body.len()) });
    }
    // Syntax first: a body that is cut *and* of another shape is cut.
    if let Err(error) = serde_json::from_slice::<IgnoredAny>(body)
        && error.is_eof()
    {
        return Err(WireError::Cut { bytes: body.len() });
    }
    serde_json::from_slice(body).map_err(|error| {
        let what = if error.is_data() { "expected a chat completion" } else { "expected JSON" };
        malformed(&format!("{what}, found: {error}"))
    })
}

fn answer_text(said: Said, finish_reason: Option<&str>) -> Result<String, WireError> {
    if let Some(role) = said.role.filter(|r| r != "assistant") {
        return Err(malformed(&format!("expected a message of the role `assistant`, found `{role}`")));
    }
    if said.function_call.is_some() || said.audio.is_some() {
        return Err(malformed(
            "expected text or tool calls, found `function_call` or `audio`, which were not asked for",
        ));
    }
    let tools = said.tool_calls.unwrap_or_default();
    if tools.iter().any(|call| !call.is_object()) {
        return Err(malformed("expected objects in `tool_calls`, found something else"));
    }
    let refusal = said.refusal.filter(|text| !text.is_empty());
    let mut parts = match said.content {
        Some(Value::String(text)) if tools.is_empty() && refusal.is_none() => return Ok(text),
        Some(Value::String(text)) if !text.is_empty() => vec![json!({"type": "text", "text": text})],
        Some(Value::Array(parts)) => checked_parts(parts)?,
        None | Some(Value::String(_)) => Vec::new(),
        Some(_) => return Err(malformed("expected `content` to be a string or a list, found something else")),
    };
    parts.extend(refusal.map(|text| json!({"type": "refusal", "refusal": text})));
    parts.extend(tools);
    match parts.as_slice() {
        [] => {
            let why =
                finish_reason.map_or("no reason was given".to_owned(), |r| format!("the model stopped for `{r}`"));
            Err(WireError::Empty { detail: format!("no content and no tool calls; {why}") })
        }
        [only] if only_text(only).is_some() => Ok(only_text(only).unwrap_or_default().to_owned()),
        _ => canon::print(&parts).map_err(|error| malformed(&error.to_string())),
    }
}

fn checked_parts(parts: Vec<Value>) -> Result<Vec<Value>, WireError> {
    let typed = |part: &Value| part.get("type").is_some_and(Value::is_string);
    if parts.iter().all(typed) {
        Ok(parts)
    } else {
        Err(malformed("expected every part of `content` to name its type"))
    }
}

/// The text of a part that is `{"type":"text","text":…}` and no more.
fn only_text(part: &Value) -> Option<&str> {
    let object = part.as_object().filter(|o| o.len() == 2)?;
    (object.get("type")?.as_str()? == "text").then(|| object.get("text")?.as_str()).flatten()
}

fn malformed(detail: &str) -> WireError {
    WireError::Malformed { detail: detail.to_owned() }
}

/// Finds the provider's words in the body of an error response: its JSON's message, else the text itself.
///
/// The result is as long as the server made it and holds whatever it put there: see [`super::quote`].
pub fn error_text(body: &[u8]) -> String {
    match serde_json::from_slice::<Value>(body) {
        Ok(value) => error_words(value.get("error").filter(|e| !e.is_null()).unwrap_or(&value)),
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    }
}

fn error_words(error: &Value) -> String {
    let words = ["message", "detail", "error"].iter().find_map(|key| error.get(key)?.as_str());
    words.or(error.as_str()).map_or_else(|| error.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: Request<'static> = Request { system: "be \"brief\"", user: "wie geht's?\n" };

    #[test]
    fn the_request_is_these_bytes() {
        let plain = r#"{"model":"m","messages":[{"role":"system","content":"be \"brief\""},{"role":"user","content":"wie geht's?\n"}],"stream":false}"#;
        assert_eq!(String::from_utf8(request_body("m", REQUEST, None)).unwrap(), plain);
        let cold = plain.replace("false}", "false,\"temperature\":0.0}");
        assert_eq!(String::from_utf8(request_body("m", REQUEST, Some(0.0))).unwrap(), cold);
    }

    fn message(inner: &str) -> String {
        format!(r#"{{"choices":[{{"index":0,"message":{{{inner}}},"finish_reason":"stop"}}],"model":"m-1"}}"#)
    }

    #[test]
    fn answers() {
        let table = [
            (r#""role":"assistant","content":"Hi. \u00e9""#, "Hi. é"),
            (r#""role":"assistant","content":"""#, ""),
            (r#""content":" kept as it is\n","refusal":null,"tool_calls":[]"#, " kept as it is\n"),
            (r#""content":"shown","reasoning_content":"thought""#, "shown"),
            (r#""content":[{"type":"text","text":"one"}]"#, "one"),
            (r#""content":[{"type":"text","text":"one","note":1}]"#, r#"[{"note":1,"text":"one","type":"text"}]"#),
            (
                r#""content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#,
                r#"[{"text":"a","type":"text"},{"text":"b","type":"text"}]"#,
            ),
            (r#""content":[{"type":"image_url","image_url":"x"}]"#, r#"[{"image_url":"x","type":"image_url"}]"#),
            (r#""content":null,"tool_calls":[{"type":"function","id":"1"}]"#, r#"[{"id":"1","type":"function"}]"#),
            (r#""content":"","tool_calls":[{"id":"1"}]"#, r#"[{"id":"1"}]"#),
            (r#""content":"t","tool_calls":[{"id":"1"}]"#, r#"[{"text":"t","type":"text"},{"id":"1"}]"#),
            (r#""content":null,"refusal":"no""#, r#"[{"refusal":"no","type":"refusal"}]"#),
        ];
        for (inner, text) in table {
            let read = read_completion(message(inner).as_bytes()).unwrap();
            assert_eq!(read.text, text);
            assert_eq!((read.finish_reason.as_deref(), read.model.as_deref()), (Some("stop"), Some("m-1")));
            assert_eq!(read.usage, Usage::default());
        }
    }

    #[test]
    fn counts_are_whole_numbers_or_unknown() {
        for (usage, prompt, answer) in [
            (r#"{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}"#, Some(3), Some(4)),
            (r#"{"prompt_tokens":-3,"completion_tokens":4.5}"#, None, None),
            ("null", None, None),
            ("[]", None, None),
        ] {
            let body = format!(r#"{{"choices":[{{"message":{{"content":"x"}}}}],"model":7,"usage":{usage}}}"#);
            let read = read_completion(body.as_bytes()).unwrap();
            assert_eq!(read.usage, Usage { prompt_tokens: prompt, completion_tokens: answer });
            assert_eq!((read.model, read.finish_reason), (None, None));
        }
    }

    #[test]
    fn every_prefix_of_a_response_is_cut() {
        let whole = message(r#""role":"assistant","content":"é \u00e9""#);
        for end in 1..whole.len() {
            let error = read_completion(&whole.as_bytes()[..end]).unwrap_err();
            assert!(matches!(error, WireError::Cut { bytes } if bytes == end), "{end}: {error:?}");
        }
    }

    #[test]
    fn what_is_no_answer() {
        let kind = |body: &[u8]| match read_completion(body).unwrap_err() {
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
            (br#"{"choices":[{"message":{"content":[],"refusal":""}}]}"#, "empty"),
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
            (br#"{"choices":[{"message":{"content":"a","content":"b"}}]}"#, "malformed"),
            (br#"{"choices":[{"message":{"content":["a"]}}]}"#, "malformed"),
            (br#"{"choices":[{"message":{"content":"a"}},{"message":{"content":"b"}}]}"#, "malformed"),
            (br#"{"choices":[{"message":{"role":"user","content":"a"}}]}"#, "malformed"),
            (br#"{"choices":[{"message":{"content":"a","tool_calls":[1]}}]}"#, "malformed"),
            (br#"{"choices":[{"message":{"content":"a","function_call":{}}}]}"#, "malformed"),
            (br#"{"choices":[{"message":{"content":"\ud800"}}]}"#, "malformed"),
            (b"{\"choices\":[{\"message\":{\"content\":\"\xff\"}}]}", "malformed"),
            (br#"{"choices":[{"message":{"content":"a"}}]} {}"#, "malformed"),
            (br#"{"error":{"message":"overloaded","code":529}}"#, "overloaded"),
            (br#"{"error":"no"}"#, "no"),
            (br#"{"error":{"code":1}}"#, r#"{"code":1}"#),
        ];
        for (body, expected) in table {
            assert_eq!(kind(body), *expected, "{}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn error_words_are_found() {
        for (body, words) in [
            (r#"{"error":{"message":"bad key","type":"x"}}"#, "bad key"),
            (r#"{"error":"bad key"}"#, "bad key"),
            (r#"{"detail":"Not Found"}"#, "Not Found"),
            (r#"{"message":"slow down","error":null}"#, "slow down"),
            (r#"{"detail":[{"loc":1}]}"#, r#"{"detail":[{"loc":1}]}"#),
            ("upstream gone", "upstream gone"),
            ("", ""),
        ] {
            assert_eq!(error_text(body.as_bytes()), words);
        }
    }
}
