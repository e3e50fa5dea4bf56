//! The three dialects of models, and what is alike in them: printing a request, reading a response.
//!
//! Strict about what becomes the answer, lenient about what surrounds it (token counts, names,
//! unknown keys):
//! - one plain text part is its text; several parts, or any tool call, are the RFC 8785 print of
//!   the list, with the parts as they came, the text first;
//! - no content and no tool calls is `empty`, not an empty answer;
//! - reasoning texts, and whatever else came beside the content, are not part of the answer: they
//!   are the [`ReplyDoc`].
//!
//! Bytes that end before the JSON does are `cut`; other bytes that are not JSON of this shape are
//! `malformed`.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

use super::{Request, Usage, anthropic, ollama, openai, source};
use crate::record::canon;
use crate::record::ledger::client_request::{ClientRequest, ToolDefinition};
use crate::record::ledger::documents::Format;
use crate::record::ledger::image::ImageFile;
use crate::record::ledger::params::{ANY_JSON, Params, ResponseFormat};
use crate::record::ledger::prompt::ChatMessage;
use crate::record::ledger::reply::ReplyDoc;

/// Whose shapes a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// `POST {base}/chat/completions`: OpenAI and the many servers that are compatible with it.
    OpenAi,
    /// Ollama's own protocol: `POST {base}/api/chat`.
    Ollama,
    /// Anthropic's protocol: `POST {base}/v1/messages`.
    Anthropic,
}

impl Wire {
    /// All of them, in the order in which they are looked for.
    pub const ALL: [Wire; 3] = [Wire::Ollama, Wire::Anthropic, Wire::OpenAi];

    /// What stands before the slash of a model's id.
    pub const fn name(self) -> &'static str {
        match self {
            Wire::OpenAi => "openai",
            Wire::Ollama => "ollama",
            Wire::Anthropic => "anthropic",
        }
    }

    /// The configuration key of the address.
    pub const fn setting(self) -> &'static str {
        match self {
            Wire::OpenAi => "model.base_url",
            Wire::Ollama => "model.ollama_url",
            Wire::Anthropic => "model.anthropic_url",
        }
    }

    /// The address, unless configured otherwise.
    pub const fn base_url(self) -> &'static str {
        match self {
            Wire::OpenAi => "https://api.openai.com/v1",
            Wire::Ollama => "http://127.0.0.1:11434",
            Wire::Anthropic => "https://api.anthropic.com",
        }
    }

    /// The server in words.
    pub(super) const fn server(self) -> &'static str {
        match self {
            Wire::OpenAi => "an OpenAI-compatible API, usually ending in /v1",
            Wire::Ollama => "an Ollama, as in http://127.0.0.1:11434",
            Wire::Anthropic => "an API like Anthropic's, without /v1 at the end",
        }
    }

    /// Its answer in words.
    pub(super) const fn answer(self) -> &'static str {
        match self {
            Wire::OpenAi => "a chat completion",
            Wire::Ollama => "an Ollama chat response",
            Wire::Anthropic => "a message",
        }
    }

    /// What follows the address when a model is asked.
    pub(super) const fn path(self) -> &'static [&'static str] {
        match self {
            Wire::OpenAi => &["chat", "completions"],
            Wire::Ollama => &["api", "chat"],
            Wire::Anthropic => &["v1", "messages"],
        }
    }

    /// What of the settings is sent, and the names of those that this wire has no place for.
    pub fn fit(self, wanted: &Params) -> (Params, Vec<&'static str>) {
        let mut sent = wanted.clone();
        let mut left_out = Vec::new();
        let shape = wanted.expect.as_deref();
        sent.response_format = shape.and_then(|shape| self.response_format(shape));
        if self == Wire::Anthropic {
            // Anthropic wants a number in every request.
            sent.max_tokens = sent.max_tokens.or(Some(anthropic::MAX_TOKENS));
            if sent.seed.take().is_some() {
                left_out.push("seed");
            }
        }
        (sent, left_out)
    }

    /// How a server of this wire is told of a declared shape; none where it has no such thing.
    fn response_format(self, shape: &str) -> Option<ResponseFormat> {
        if shape == ANY_JSON {
            return (self != Wire::Anthropic).then_some(ResponseFormat::JsonObject);
        }
        let schema = schema_of(shape);
        let takes = match self {
            Wire::Anthropic => false,
            Wire::Ollama => schema.is_object(),
            // OpenAI refuses a schema whose value need not be an object.
            Wire::OpenAi => schema.get("type").is_some_and(|kind| kind == "object"),
        };
        takes.then_some(ResponseFormat::JsonSchema)
    }

    /// Prints the request body; the same arguments give the same bytes. `host` is the server's
    /// name.
    pub fn request_body(
        self,
        model: &str,
        request: Request<'_>,
        params: &Params,
        host: &str,
    ) -> Vec<u8> {
        match self {
            Wire::OpenAi => openai::request_body(model, request, params, host),
            Wire::Ollama => ollama::request_body(model, request, params),
            Wire::Anthropic => anthropic::request_body(model, request, params),
        }
    }

    /// Why a server of this wire can't be asked so, in words for a person; none where it can.
    pub fn refuses(self, client: &ClientRequest) -> Option<String> {
        match self {
            Wire::OpenAi => None,
            Wire::Ollama => ollama::refuses(client),
            Wire::Anthropic => anthropic::refuses(client),
        }
    }

    /// Reads a whole response body.
    ///
    /// # Errors
    /// [`WireError`], as the module's text describes.
    pub fn read_completion(self, body: &[u8]) -> Result<Completion, WireError> {
        match self {
            Wire::OpenAi => openai::read_completion(body),
            Wire::Ollama => ollama::read_completion(body),
            Wire::Anthropic => anthropic::read_completion(body),
        }
    }
}

/// A declared shape as a schema.
pub(super) fn schema_of(shape: &str) -> Value {
    serde_json::from_str(shape).unwrap_or(Value::Null)
}

/// What a response holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// The answer, as format, section 3, defines the role `response`.
    pub text: String,
    /// Token counts; those that are not whole numbers are left out.
    pub usage: Usage,
    /// All that came beside the answer.
    pub beside: ReplyDoc,
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
    /// The server itself says that there is more to come.
    #[error("the server says that the answer is not done")]
    Unfinished,
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

/// So many values no response has: a list of hundreds of models has some ten thousand. Each takes
/// up to a hundred bytes of memory, of which a hostile server sends two.
const MAX_VALUES: usize = 500_000;

/// About how many values a JSON text holds: what opens, and what a comma parts. What is inside
/// strings does not count.
fn values_in(body: &[u8]) -> usize {
    let (mut count, mut in_string, mut escaped) = (0, false, false);
    for byte in body {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' | b',' if !in_string => count += 1,
            _ => {}
        }
    }
    count
}

/// Parses the JSON of a response; `what` is expected.
pub(super) fn parse<T: DeserializeOwned>(body: &[u8], what: &str) -> Result<T, WireError> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Err(WireError::Empty {
            detail: format!("the body has no content ({} bytes)", body.len()),
        });
    }
    // Syntax first: a body that is cut *and* of another shape is cut.
    if let Err(error) = serde_json::from_slice::<IgnoredAny>(body)
        && error.is_eof()
    {
        return Err(WireError::Cut { bytes: body.len() });
    }
    let values = values_in(body);
    if values > MAX_VALUES {
        return Err(malformed(&format!(
            "expected {what}, found {values} values in it; at most {MAX_VALUES} are read"
        )));
    }
    serde_json::from_slice(body).map_err(|error| {
        let what = if error.is_data() { what } else { "JSON" };
        malformed(&format!("expected {what}, found: {error}"))
    })
}

/// The same body with all that it holds, for what is kept as it came.
pub(super) fn source_of(body: &[u8]) -> Result<Value, WireError> {
    source::read(body)
        .ok_or_else(|| malformed("expected JSON, found something else in a part of it"))
}

/// The print of a body; what is set for this call alone stands in the object that `place` names for
/// it, or at the top.
pub(super) fn printed(
    body: &impl Serialize,
    request: Request<'_>,
    place: impl Fn(&str) -> &'static str,
) -> Vec<u8> {
    const PRINTS: &str = "strings and numbers always have a JSON form";
    if request.settings.is_empty() {
        return serde_json::to_vec(body).expect(PRINTS);
    }
    let mut body = serde_json::to_value(body).expect(PRINTS);
    for (name, value) in request.settings {
        match place(name) {
            "" => body[name] = value.clone(),
            place => body[place][name] = value.clone(),
        }
    }
    serde_json::to_vec(&body).expect(PRINTS)
}

/// A message as it is sent: as it is, or in the server's own words where it is more than a text.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum WireMessage<'a> {
    /// A message that is text alone.
    Text(&'a ChatMessage),
    /// One with images, calls of tools, or what came of one.
    Parts(Value),
}

/// The messages of a request, each with its images; `parts` has the words for one that is more than
/// a text.
pub(super) fn wire_messages<'a>(
    request: Request<'a>,
    parts: impl Fn(&ChatMessage, Vec<WireImage>) -> Value,
) -> Vec<WireMessage<'a>> {
    let sent = request.messages.iter().enumerate().map(|(at, message)| {
        let images = request.images.iter().filter(|(of, _)| *of == at);
        let images: Vec<WireImage> = images.map(|(_, image)| WireImage::of(image)).collect();
        match message.is_plain() && images.is_empty() {
            true => WireMessage::Text(message),
            false => WireMessage::Parts(parts(message, images)),
        }
    });
    sent.collect()
}

/// Why a wire can't take a call whose arguments are no object; none where all are.
pub(super) fn without_object(client: &ClientRequest) -> Option<String> {
    let call = client.calls().find(|call| call.object().is_none())?;
    Some(format!(
        "the call {} of the tool {} has arguments that are no JSON object, and its server takes no others",
        call.id, call.name
    ))
}

/// Tools as OpenAI and Ollama spell them.
pub(super) fn function_tools(tools: &[ToolDefinition]) -> Vec<Value> {
    let tools = tools.iter();
    let tools = tools.map(|tool| json!({ "type": "function", "function": tool }));
    tools.collect()
}

/// An image as wires take it.
pub(super) struct WireImage {
    /// Media type of the image, such as `image/png`.
    pub media_type: &'static str,
    /// The bytes in base64.
    pub data: String,
}

impl WireImage {
    fn of(image: &ImageFile) -> WireImage {
        WireImage {
            media_type: image.named.r#type.name(),
            data: BASE64_STANDARD.encode(&image.content),
        }
    }
}

/// What came beside an answer, as far as a wire has a place of its own for it: JSON pointers.
pub(super) struct ReplyPlaces<'a> {
    /// Why the model stopped.
    pub finish_reason: &'a str,
    /// Its own name.
    pub model: &'a str,
    /// Where it thinks aloud, outside of its answer.
    pub reasoning: &'a [&'a str],
    /// What of the body stands elsewhere in the record.
    pub known: &'a [&'a str],
    /// Where the tools are that it wants called; empty where they stand among the content.
    pub tools: &'a str,
}

impl ReplyPlaces<'_> {
    /// The document: what these name, and all else that the body holds; what is no text where a
    /// text is expected stays where it stood.
    pub fn read(self, mut root: Value) -> ReplyDoc {
        let mut text = |place: &str| {
            let found = root.pointer_mut(place).filter(|value| value.is_string());
            words(found.map(Value::take).as_ref())
        };
        let (finish_reason, model) = (text(self.finish_reason), text(self.model));
        let texts: Vec<String> = self
            .reasoning
            .iter()
            .filter_map(|place| text(place))
            .collect();
        let reasoning = (!texts.is_empty()).then(|| texts.join("\n\n"));
        let place = Some(self.tools).filter(|place| !place.is_empty());
        let tools = place.and_then(|place| root.pointer_mut(place));
        let tool_calls = match tools.filter(|value| value.is_array()).map(Value::take) {
            Some(Value::Array(calls)) => calls,
            _ => Vec::new(),
        };
        for place in self.known {
            root.pointer_mut(place).map(Value::take);
        }
        ReplyDoc {
            finish_reason,
            format: Format,
            model,
            other: root.as_object().cloned().unwrap_or_default(),
            reasoning: reasoning.filter(|text| !text.is_empty()),
            tool_calls,
            unstreamed: false,
        }
    }
}

/// A list of the body as it was written; what was read strictly may have rounded its numbers.
pub(super) fn listed(root: &Value, place: &str, read: Vec<Value>) -> Vec<Value> {
    let written = root.pointer(place).and_then(Value::as_array);
    written
        .filter(|list| list.len() == read.len())
        .cloned()
        .unwrap_or(read)
}

/// The answer that some parts are (format, section 3, role `response`).
pub(super) fn answer_of(parts: &[Value], finish_reason: Option<&str>) -> Result<String, WireError> {
    match parts {
        [] => {
            let why = finish_reason.map_or("no reason was given".to_owned(), |r| {
                format!("the model stopped for `{r}`")
            });
            Err(WireError::Empty {
                detail: format!("no content and no tool calls; {why}"),
            })
        }
        [only] if only_text(only).is_some() => Ok(only_text(only).unwrap_or_default().to_owned()),
        _ => canon::print(&parts).map_err(|error| malformed(&error.to_string())),
    }
}

/// A text as a part.
pub(super) fn text_part(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// A count that is a whole number.
pub(super) fn count(of: Option<&Value>) -> Option<u64> {
    of.and_then(Value::as_u64)
}

/// A text where something else may stand.
pub(super) fn words(of: Option<&Value>) -> Option<String> {
    of.and_then(Value::as_str).map(str::to_owned)
}

/// Parts that each name their type.
pub(super) fn checked_parts(parts: Vec<Value>) -> Result<Vec<Value>, WireError> {
    let typed = |part: &Value| part.get("type").is_some_and(Value::is_string);
    if parts.iter().all(typed) {
        Ok(parts)
    } else {
        Err(malformed(
            "expected every part of `content` to name its type",
        ))
    }
}

/// The text of a part that is `{"type":"text","text":…}` and says no more.
fn only_text(part: &Value) -> Option<&str> {
    let object = part.as_object()?;
    // `"citations": null` and its like say nothing.
    if object
        .iter()
        .any(|(key, value)| !value.is_null() && key != "type" && key != "text")
    {
        return None;
    }
    (object.get("type")?.as_str()? == "text")
        .then(|| object.get("text")?.as_str())
        .flatten()
}

pub(super) fn malformed(detail: &str) -> WireError {
    WireError::Malformed {
        detail: detail.to_owned(),
    }
}

/// Finds the provider's words in the body of an error response: its JSON's message, else the text
/// itself.
///
/// The result is as long as the server made it and holds whatever it put there: see
/// [`super::quote`].
pub fn error_text(body: &[u8]) -> String {
    match serde_json::from_slice::<Value>(body) {
        Ok(value) => error_words(
            value
                .get("error")
                .filter(|e| !e.is_null())
                .unwrap_or(&value),
        ),
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    }
}

pub(super) fn error_words(error: &Value) -> String {
    let words = ["message", "detail", "error"]
        .iter()
        .find_map(|key| error.get(key)?.as_str());
    words
        .or(error.as_str())
        .map_or_else(|| error.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_of_very_many_values_is_not_taken_apart() {
        let many = format!(r#"{{"choices":[{}{{}}]}}"#, "{},".repeat(MAX_VALUES / 2));
        let refused = parse::<Value>(many.as_bytes(), "a chat completion").unwrap_err();
        assert!(
            refused.to_string().contains("at most 500000 are read"),
            "{refused}"
        );
        let text = format!(r#"{{"content":"\"{}"}}"#, "{[,".repeat(MAX_VALUES));
        assert!(parse::<Value>(text.as_bytes(), "a chat completion").is_ok());
    }

    #[test]
    fn error_words_are_found() {
        for (body, words) in [
            (r#"{"error":{"message":"bad key","type":"x"}}"#, "bad key"),
            (r#"{"error":"bad key"}"#, "bad key"),
            (r#"{"detail":"Not Found"}"#, "Not Found"),
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                "Overloaded",
            ),
            (r#"{"message":"slow down","error":null}"#, "slow down"),
            (r#"{"detail":[{"loc":1}]}"#, r#"{"detail":[{"loc":1}]}"#),
            ("upstream gone", "upstream gone"),
            ("", ""),
        ] {
            assert_eq!(error_text(body.as_bytes()), words);
        }
    }
}
