//! What a client asks with in its own words: a list of messages, tools, and any setting, in the form
//! in which the [`RequestDoc`](super::request::RequestDoc) records them.
//!
//! ```text
//! {"messages":[{"parts":[{"text":"Be brief."}],"role":"system"},
//!              {"parts":[{"text":"How warm is it?"}],"role":"user"},
//!              {"parts":[{"tool_call":{"arguments":"{}","id":"call_1","name":"look"}}],"role":"assistant"},
//!              {"parts":[{"tool_result":{"id":"call_1","text":"21"}}],"role":"tool"}],
//!  "settings":{"top_p":0.9},"tool_choice":"auto",
//!  "tools":[{"description":"Reads a sensor.","name":"look","parameters":{"type":"object"}}]}
//! ```
//! The texts of the last message of a user are the question; what gently itself says stands before
//! and around it. Nothing is asked where the last message is not a user's or a tool's.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::record::canon;

use super::image::ImageFile;
use super::prompt::ChatRole;
use super::reply::is_exact;
use super::request::{RequestMessage, RequestPart};

/// Characters of a tool's name, as every server takes it.
const MAX_NAME: usize = 64;
/// Characters of the id of a call.
const MAX_ID: usize = 128;
/// What stands between two texts of one message.
const BETWEEN: &str = "\n\n";
/// Settings that gently makes itself, and how each is set instead.
const OWN_SETTINGS: [(&str, &str); 17] = [
    ("format", "declare the answer's shape"),
    ("images", "put images among the parts of a message"),
    ("max_completion_tokens", "set max_tokens of the call"),
    ("max_tokens", "set max_tokens of the call"),
    ("messages", "put them into the list of messages"),
    ("model", "name the model that is asked"),
    ("num_ctx", "it follows from what is sent"),
    ("num_predict", "set max_tokens of the call"),
    ("options", "name each setting by itself"),
    ("response_format", "declare the answer's shape"),
    ("seed", "set seed of the call"),
    ("shift", "nothing is cut from a request"),
    ("stream", "it follows from whether somebody watches"),
    ("stream_options", "it follows from whether somebody watches"),
    ("system", "put a message of the role system first"),
    ("temperature", "set temperature of the call"),
    ("truncate", "nothing is cut from a request"),
];
/// The same for what stands beside the settings.
const OWN_PLACES: [&str; 4] = ["functions", "function_call", "tool_choice", "tools"];
/// How many answers there are, which is one.
const COUNT: &str = "n";

/// A request as a client makes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientRequest {
    /// In their order: texts, images, calls of tools and what came of them.
    pub messages: Vec<RequestMessage>,
    /// Whatever else is set, by the names of the server's wire.
    #[serde(default)]
    pub settings: BTreeMap<String, Value>,
    /// Whether and which tool is to be called; the server's choice without it.
    #[serde(default)]
    pub tool_choice: Option<ToolChoice>,
    /// What the model may call. gently calls none of them.
    #[serde(default)]
    pub tools: Vec<ToolDefinition>,
    /// The bytes of the images that its messages name.
    #[serde(skip)]
    pub images: Vec<ImageFile>,
}

/// A tool that a model may call; keys in this order are also their canonical order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolDefinition {
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How it is called.
    pub name: String,
    /// A JSON Schema of its arguments.
    pub parameters: Value,
}

/// Whether and which tool is to be called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// As the model likes.
    Auto,
    /// None of them.
    None,
    /// One of them, whichever.
    Required,
    /// The one of this name.
    Name(String),
}

/// A tool that a model wants called; keys in this order are also their canonical order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// A JSON object as text.
    pub arguments: String,
    /// What its result names; empty where a server gave none.
    pub id: String,
    /// Name of the tool.
    pub name: String,
}

/// What came of a call; keys in this order are also their canonical order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolResult {
    /// That of the call.
    pub id: String,
    /// What the tool said.
    pub text: String,
}

impl ToolCall {
    /// Its arguments as an object; none where they are no such thing.
    pub fn object(&self) -> Option<Value> {
        let read = serde_json::from_str(&self.arguments).ok();
        read.filter(Value::is_object)
    }
}

impl ClientRequest {
    /// Reads one from JSON, without images.
    ///
    /// # Errors
    /// A sentence that says what is wrong, and where.
    pub fn parse(json: &str) -> Result<ClientRequest, String> {
        serde_json::from_str(json).map_err(|e| format!("the request of the client: {e}"))
    }

    /// The question, and the request with a part that stands for it.
    ///
    /// # Errors
    /// A sentence that says why no server would be asked with it.
    pub fn taken_apart(mut self) -> Result<(String, ClientRequest), String> {
        self.check()?;
        let asks = |message: &RequestMessage| message.role == ChatRole::User;
        let last = self.messages.iter_mut().rfind(|message| asks(message));
        let last = last.ok_or("there is no message of the role user: nothing is asked")?;
        let mut texts = Vec::new();
        let mut parts = Vec::new();
        for part in std::mem::take(&mut last.parts) {
            match part {
                RequestPart::Text(text) => {
                    if texts.is_empty() {
                        parts.push(RequestPart::Question);
                    }
                    texts.push(text);
                }
                other => parts.push(other),
            }
        }
        let question = texts.join(BETWEEN);
        if question.trim().is_empty() {
            return Err("the last message of the role user has no text: nothing is asked".into());
        }
        last.parts = parts;
        Ok((question, self))
    }

    /// Every text of it that is sent, but for the question.
    pub fn texts(&self) -> Vec<String> {
        let mut texts = Vec::new();
        for part in self.messages.iter().flat_map(|message| &message.parts) {
            match part {
                RequestPart::Text(text) => texts.push(text.clone()),
                RequestPart::ToolCall(call) => {
                    texts.push(call.name.clone());
                    texts.push(call.arguments.clone());
                }
                RequestPart::ToolResult(result) => texts.push(result.text.clone()),
                _ => {}
            }
        }
        for tool in &self.tools {
            texts.push(tool.name.clone());
            texts.extend(tool.description.clone());
            texts.push(tool.parameters.to_string());
        }
        let settings = self.settings.iter();
        texts.extend(settings.map(|(name, value)| format!("{name}: {value}")));
        texts
    }

    /// How many bytes that are.
    pub fn bytes(&self) -> usize {
        self.texts().iter().map(String::len).sum()
    }

    /// The messages of the role system that stand first, and all others.
    pub fn heads(&self) -> (&[RequestMessage], &[RequestMessage]) {
        let is_system = |message: &RequestMessage| message.role == ChatRole::System;
        let others = self.messages.iter().position(|one| !is_system(one));
        self.messages
            .split_at(others.unwrap_or(self.messages.len()))
    }

    /// Every call that its messages tell of.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        let parts = self.messages.iter().flat_map(|message| &message.parts);
        parts.filter_map(|part| match part {
            RequestPart::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// The same as it is recorded: numbers that canonical JSON has no exact form for stand as texts.
    pub fn recorded(&self) -> ClientRequest {
        let settings = self.settings.iter();
        let tools = self.tools.iter().map(|tool| ToolDefinition {
            parameters: exact(&tool.parameters),
            ..tool.clone()
        });
        ClientRequest {
            messages: self.messages.clone(),
            settings: settings
                .map(|(name, value)| (name.clone(), exact(value)))
                .collect(),
            tool_choice: self.tool_choice.clone(),
            tools: tools.collect(),
            images: Vec::new(),
        }
    }

    fn check(&self) -> Result<(), String> {
        match self.messages.last().map(|message| message.role) {
            Some(ChatRole::User | ChatRole::Tool) => {}
            None => return Err("the list of messages is empty: nothing is asked".into()),
            Some(role) => {
                let role = role.name();
                return Err(format!(
                    "the last message is of the role {role}: nothing is asked; end with one of the role user or tool"
                ));
            }
        }
        let mut open = BTreeSet::new();
        for (at, message) in self.messages.iter().enumerate() {
            let place = format!("message {} (role {})", at + 1, message.role.name());
            self.check_message(message, &mut open)
                .map_err(|why| format!("{place}: {why}"))?;
        }
        if let Some(id) = open.first() {
            return Err(format!("the call {id} has no result"));
        }
        self.check_tools()?;
        self.check_settings()?;
        let printed = canon::print(&self.recorded());
        printed
            .map(drop)
            .map_err(|e| format!("tools and settings: {e}"))
    }

    /// `open` are the calls whose results have not come.
    fn check_message<'a>(
        &'a self,
        message: &'a RequestMessage,
        open: &mut BTreeSet<&'a str>,
    ) -> Result<(), String> {
        let is_tools = message.role == ChatRole::Tool;
        if let Some(id) = open.first().filter(|_| !is_tools) {
            return Err(format!(
                "the result of the call {id} has to stand before it"
            ));
        }
        if is_tools && message.parts.len() != 1 {
            return Err("it has to have one part, a result".into());
        }
        if message.parts.is_empty() {
            return Err("it has no parts".into());
        }
        for part in &message.parts {
            match (message.role, part) {
                (ChatRole::System | ChatRole::User | ChatRole::Assistant, RequestPart::Text(_)) => {
                }
                (ChatRole::User, RequestPart::Image(image)) => {
                    if !self.images.iter().any(|file| file.named == *image) {
                        return Err(format!("no bytes for the image {}", image.sha256));
                    }
                }
                (ChatRole::Assistant, RequestPart::ToolCall(call)) => {
                    check_name(&call.name)?;
                    check_id(&call.id)?;
                    if !open.insert(&call.id) {
                        return Err(format!("two calls have the id {}", call.id));
                    }
                }
                (ChatRole::Tool, RequestPart::ToolResult(result)) => {
                    check_id(&result.id)?;
                    if !open.remove(result.id.as_str()) {
                        return Err(format!("no call before it has the id {}", result.id));
                    }
                }
                _ => {
                    return Err(
                        "a part that such a message can't have; texts are for all but tools, images for users, \
                         calls for assistants, one result for a tool"
                            .into(),
                    );
                }
            }
        }
        Ok(())
    }

    fn check_tools(&self) -> Result<(), String> {
        let mut names = BTreeSet::new();
        for tool in &self.tools {
            check_name(&tool.name)?;
            if !names.insert(tool.name.as_str()) {
                return Err(format!("two tools have the name {}", tool.name));
            }
            if !tool.parameters.is_object() {
                return Err(format!(
                    "the parameters of the tool {} are no JSON Schema: expected an object",
                    tool.name
                ));
            }
        }
        match &self.tool_choice {
            Some(ToolChoice::Name(name)) if !names.contains(name.as_str()) => Err(format!(
                "tool_choice: expected the name of a tool, found {name:?}"
            )),
            Some(ToolChoice::Required) if names.is_empty() => {
                Err("tool_choice: a tool is required, and there is none".into())
            }
            _ => Ok(()),
        }
    }

    fn check_settings(&self) -> Result<(), String> {
        for name in self.settings.keys() {
            let own = OWN_SETTINGS.iter().find(|(own, _)| own == name);
            if let Some((_, instead)) = own {
                return Err(format!("the setting {name} is gently's to make: {instead}"));
            }
            if OWN_PLACES.contains(&name.as_str()) {
                return Err(format!(
                    "the setting {name} is gently's to make: put it into tools and tool_choice"
                ));
            }
            if name == COUNT {
                return Err("the setting n is gently's to make: a question has one answer".into());
            }
            if !is_name(name) {
                return Err(format!(
                    "the name of a setting is {name:?}: expected 1 to {MAX_NAME} letters, digits, - and _"
                ));
            }
        }
        Ok(())
    }
}

fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=MAX_NAME).contains(&name.len()) && name.chars().all(is_plain)
}

fn check_name(name: &str) -> Result<(), String> {
    match is_name(name) {
        true => Ok(()),
        false => Err(format!(
            "the name of a tool is {name:?}: expected 1 to {MAX_NAME} letters, digits, - and _"
        )),
    }
}

fn check_id(id: &str) -> Result<(), String> {
    let is_seen = id.bytes().all(|byte| byte.is_ascii_graphic());
    match (1..=MAX_ID).contains(&id.len()) && is_seen {
        true => Ok(()),
        false => Err(format!(
            "the id of a call is {id:?}: expected 1 to {MAX_ID} plain characters"
        )),
    }
}

/// A value with numbers that canonical JSON has no exact form for as texts.
fn exact(value: &Value) -> Value {
    match value {
        Value::Number(number) if !is_exact(number) => Value::String(number.to_string()),
        Value::Array(list) => list.iter().map(exact).collect(),
        Value::Object(map) => {
            let members = map.iter();
            let members = members.map(|(key, value)| (key.clone(), exact(value)));
            Value::Object(members.collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn why(messages: Value, beside: Value) -> String {
        let mut request = beside;
        request["messages"] = messages;
        let read = ClientRequest::parse(&request.to_string());
        read.and_then(ClientRequest::taken_apart).unwrap_err()
    }

    #[test]
    fn what_is_no_request_says_why() {
        let text = |role: &str, text: &str| json!({"role": role, "parts": [{"text": text}]});
        let call = |id: &str, name: &str| json!({"role": "assistant", "parts": [{"tool_call": {"arguments": "{}", "id": id, "name": name}}]});
        let result =
            |id: &str| json!({"role": "tool", "parts": [{"tool_result": {"id": id, "text": "1"}}]});
        let hi = text("user", "Hi");
        for (messages, words) in [
            (json!([]), "is empty"),
            (json!([text("robot", "Hi")]), "unknown variant `robot`"),
            (
                json!([hi, text("assistant", "Hello")]),
                "role assistant: nothing is asked",
            ),
            (
                json!([text("system", "Hello")]),
                "role system: nothing is asked",
            ),
            (json!([text("user", "  ")]), "no text"),
            (
                json!([{"role": "user", "parts": []}]),
                "message 1 (role user): it has no parts",
            ),
            (
                json!([{"role": "user", "parts": [{"owner": 1}]}]),
                "the request of the client",
            ),
            (json!([{"role": "user", "parts": ["owner"]}]), "can't have"),
            (
                json!([{"role": "user", "parts": ["question"]}]),
                "can't have",
            ),
            (
                json!([{"role": "tool", "parts": [{"text": "1"}]}]),
                "can't have",
            ),
            (
                json!([hi, result("a")]),
                "message 2 (role tool): no call before it has the id a",
            ),
            (
                json!([hi, call("a", "look"), hi]),
                "the result of the call a has to stand before it",
            ),
            (
                json!([hi, call("a", "look"), result("a"), result("a")]),
                "no call before it",
            ),
            (
                json!([hi, call("", "look"), result("")]),
                "the id of a call",
            ),
            (
                json!([hi, call("a", "look it"), result("a")]),
                "the name of a tool",
            ),
        ] {
            let said = why(messages.clone(), json!({}));
            assert!(said.contains(words), "{messages}: {said}");
        }
        let tool = |name: &str, parameters: Value| json!({"name": name, "parameters": parameters});
        let object = || json!({"type": "object"});
        for (beside, words) in [
            (
                json!({"tools": [tool("a", object()), tool("a", object())]}),
                "two tools",
            ),
            (json!({"tools": [tool("a", json!([]))]}), "no JSON Schema"),
            (
                json!({"tools": [tool("a b", object())]}),
                "the name of a tool",
            ),
            (
                json!({"tool_choice": {"name": "b"}, "tools": [tool("a", object())]}),
                "\"b\"",
            ),
            (json!({"tool_choice": "required"}), "there is none"),
            (json!({"tool_choice": "sometimes"}), "unknown variant"),
            (
                json!({"settings": {"stream": false}}),
                "the setting stream is gently's",
            ),
            (
                json!({"settings": {"model": "x"}}),
                "the setting model is gently's",
            ),
            (
                json!({"settings": {"messages": []}}),
                "the setting messages is gently's",
            ),
            (
                json!({"settings": {"tools": []}}),
                "the setting tools is gently's",
            ),
            (json!({"settings": {"n": 2}}), "one answer"),
            (json!({"settings": {"": 2}}), "the name of a setting"),
            (json!({"more": 1}), "unknown field `more`"),
        ] {
            let said = why(json!([text("user", "Hi")]), beside.clone());
            assert!(said.contains(words), "{beside}: {said}");
        }
    }

    #[test]
    fn the_last_words_of_a_user_are_the_question() {
        let request = json!({
            "messages": [
                {"role": "user", "parts": [{"text": "First."}]},
                {"role": "user", "parts": [{"text": "How warm"}, {"text": "is it?"}]},
                {"role": "assistant", "parts": [{"text": "I look."}, {"tool_call": {"arguments": "{}", "id": "a", "name": "look"}}]},
                {"role": "tool", "parts": [{"tool_result": {"id": "a", "text": "21"}}]},
            ],
            "settings": {"top_p": 0.9, "top_k": 40},
            "tools": [{"name": "look", "parameters": {"required": [], "minimum": 0.5}}],
        });
        let read = ClientRequest::parse(&request.to_string()).unwrap();
        let (question, client) = read.taken_apart().unwrap();
        assert_eq!(question, "How warm\n\nis it?");
        assert_eq!(client.messages[1].parts, [RequestPart::Question]);
        assert_eq!(client.texts()[..2], ["First.", "I look."]);
        let recorded = client.recorded();
        assert_eq!(recorded.settings["top_p"], json!("0.9"));
        assert_eq!(recorded.settings["top_k"], json!(40));
        assert_eq!(
            recorded.tools[0].parameters,
            json!({"required": [], "minimum": "0.5"})
        );
        // With its question in its place it is no request that somebody could make.
        assert!(client.taken_apart().is_err());
    }
}
