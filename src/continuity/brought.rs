//! What a client brought in its own words, without its secrets.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::govern::sanitize::{KnownSecret, Placeholders, SecretFinding, redact, redact_document};
use crate::record::ledger::client_request::{ClientRequest, ToolDefinition};
use crate::record::ledger::request::RequestPart;

/// A client's request that has passed the sanitizer.
///
/// Nothing else makes one, so nothing else can be rendered:
///
/// ```compile_fail
/// # use gently::continuity::brought::CleanRequest;
/// let unchecked = CleanRequest(Default::default());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CleanRequest(ClientRequest);

/// Something in a client's request that no secret can be taken out of.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place} holds a secret that can't be taken out of it without changing what it means")]
pub struct SecretFault {
    /// Where it is.
    pub place: &'static str,
}

impl CleanRequest {
    /// Takes the secrets out of all that it says, and out of its question's neighbours those that the
    /// question held; gives what was taken out, too.
    ///
    /// Texts, arguments, schemas and settings are looked at as one document, in which what marks a
    /// secret may stand beside it. Ids of calls only say which result is whose: one that looks like a
    /// secret becomes a number.
    ///
    /// # Errors
    /// [`SecretFault`] for a name that looks like one.
    pub fn of(
        request: &ClientRequest,
        (question, found): (&str, &[SecretFinding]),
        numbers: &mut Placeholders,
    ) -> Result<(CleanRequest, Vec<SecretFinding>), SecretFault> {
        Self::check_names(request)?;
        let known = found.iter().filter_map(|one| {
            let secret = question.get(one.start..one.end)?;
            Some((secret.to_owned(), one.kind.clone()))
        });
        let known: Vec<KnownSecret> = known.collect();
        let (clean, kinds) = redact_document(document(request), known, numbers);
        let mut clean = put_back(request, clean).ok_or(SecretFault {
            place: "a schema or a setting",
        })?;
        number_ids(&mut clean);
        let kinds = kinds.into_iter().map(|kind| SecretFinding {
            kind,
            start: 0,
            end: 0,
        });
        Ok((CleanRequest(clean), kinds.collect()))
    }

    /// Looks at what has to stay as it is.
    ///
    /// # Errors
    /// [`SecretFault`] for a name that looks like a secret.
    pub fn check_names(request: &ClientRequest) -> Result<(), SecretFault> {
        let mut names = names(request);
        match names.any(|name| !redact(name).found.is_empty()) {
            true => Err(SecretFault {
                place: "the name of a tool or of a setting",
            }),
            false => Ok(()),
        }
    }

    /// All that the client brought, as it is sent.
    pub fn request(&self) -> &ClientRequest {
        &self.0
    }
}

fn names(request: &ClientRequest) -> impl Iterator<Item = &str> {
    let tools = request.tools.iter().map(|tool| tool.name.as_str());
    let calls = request.calls().map(|call| call.name.as_str());
    let settings = request.settings.keys().map(String::as_str);
    tools.chain(calls).chain(settings)
}

/// All that can hold a secret, in the order of [`put_back`].
fn document(request: &ClientRequest) -> Value {
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    let said: Vec<Value> = parts.map(said).collect();
    let tools = request.tools.iter();
    let tools = tools.map(|tool| json!([tool.description, tool.parameters]));
    json!([said, tools.collect::<Vec<_>>(), request.settings])
}

/// What of a part can hold a secret.
fn said(part: &RequestPart) -> Value {
    match part {
        RequestPart::Text(text) => json!(text),
        // An object stays one, whatever is taken out of it.
        RequestPart::ToolCall(call) => call.object().unwrap_or_else(|| json!(call.arguments)),
        RequestPart::ToolResult(result) => json!(result.text),
        _ => Value::Null,
    }
}

/// The request with what came back; none where that has another shape.
fn put_back(request: &ClientRequest, clean: Value) -> Option<ClientRequest> {
    let [said, tools, settings] = <[Value; 3]>::try_from(list(clean)?).ok()?;
    let mut said = list(said)?.into_iter();
    let mut messages = request.messages.clone();
    for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
        let clean = said.next()?;
        match part {
            RequestPart::Text(text) => *text = words(clean)?,
            // What nothing was taken out of stays as it was written.
            RequestPart::ToolCall(call) if call.object().as_ref() == Some(&clean) => {}
            RequestPart::ToolCall(call) if clean.is_object() => call.arguments = clean.to_string(),
            RequestPart::ToolCall(call) => call.arguments = words(clean)?,
            RequestPart::ToolResult(result) => result.text = words(clean)?,
            _ => {}
        }
    }
    let tools = request.tools.iter().zip(list(tools)?).map(|(tool, clean)| {
        let [description, parameters] = <[Value; 2]>::try_from(list(clean)?).ok()?;
        Some(ToolDefinition {
            description: serde_json::from_value(description).ok()?,
            name: tool.name.clone(),
            parameters: Some(parameters).filter(Value::is_object)?,
        })
    });
    let settings: BTreeMap<String, Value> = serde_json::from_value(settings).ok()?;
    Some(ClientRequest {
        messages,
        settings,
        tools: tools.collect::<Option<_>>()?,
        ..request.clone()
    })
}

fn list(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(list) => Some(list),
        _ => None,
    }
}

fn words(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// Ids that look like secrets become numbers, call and result alike.
fn number_ids(request: &mut ClientRequest) {
    let mut renamed: BTreeMap<String, String> = BTreeMap::new();
    let parts = request.messages.iter_mut();
    for part in parts.flat_map(|message| &mut message.parts) {
        let id = match part {
            RequestPart::ToolCall(call) => &mut call.id,
            RequestPart::ToolResult(result) => &mut result.id,
            _ => continue,
        };
        if let Some(other) = renamed.get(id) {
            id.clone_from(other);
        } else if !redact(id).found.is_empty() {
            let number = renamed.len() + 1;
            let other = format!("gently-call-{number}");
            renamed.insert(std::mem::replace(id, other.clone()), other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A token of a known kind; nobody's.
    const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    const PASSWORD: &str = "hunter2hunter2";

    fn cleaned(request: Value) -> Result<(ClientRequest, Vec<String>), SecretFault> {
        let read = ClientRequest::parse(&request.to_string()).unwrap();
        let (question, client) = read.taken_apart().unwrap();
        let mut numbers = Placeholders::new([7; 32]);
        let found = redact(&question).found;
        let (clean, kinds) = CleanRequest::of(&client, (&question, &found), &mut numbers)?;
        let kinds = kinds.into_iter().map(|one| one.kind).collect();
        Ok((clean.request().clone(), kinds))
    }

    fn full() -> Value {
        json!({
            "messages": [
                {"role": "system", "parts": [{"text": "Be brief."}]},
                {"role": "user", "parts": [{"text": "Log in, and say how warm it is."}]},
                {"role": "assistant", "parts": [{"tool_call": {
                    "arguments": "{ \"unit\": \"C\" }", "id": "call_9hJkQ2mZxV5nB7cR4tY9uL1o", "name": "look"}}]},
                {"role": "tool", "parts": [{"tool_result": {"id": "call_9hJkQ2mZxV5nB7cR4tY9uL1o", "text": "{\"warm\": 21.5}"}}]},
            ],
            "settings": {"top_p": 0.9, "stop": ["END"]},
            "tool_choice": {"name": "login"},
            "tools": [
                {"name": "look", "description": "Reads a sensor.", "parameters": {"type": "object", "properties":
                    {"unit": {"type": "string", "enum": ["C", "F"]}}, "required": ["unit"]}},
                {"name": "login", "description": "Sets the password of a user.", "parameters": {"type": "object", "properties":
                    {"user": {"type": "string", "description": "Who logs in."},
                     "password": {"type": "string", "description": "The password of the user.", "minLength": 8},
                     "api_key": {"type": "string"}}, "required": ["user", "password"], "additionalProperties": false}},
            ],
        })
    }

    #[test]
    fn what_has_no_secret_stays_as_it_is() {
        let (_, client) = ClientRequest::parse(&full().to_string())
            .unwrap()
            .taken_apart()
            .unwrap();
        assert_eq!(cleaned(full()).unwrap(), (client, Vec::new()));
    }

    #[test]
    fn secrets_go_wherever_they_stand() {
        for place in [
            "/messages/0/parts/0/text",
            "/messages/3/parts/0/tool_result/text",
            "/tools/0/description",
            "/tools/1/parameters/properties/user/description",
            "/settings/stop/0",
        ] {
            let mut request = full();
            *request.pointer_mut(place).unwrap() = json!(format!("Use {TOKEN} here."));
            let (clean, kinds) = cleaned(request).unwrap();
            let text = serde_json::to_string(&clean).unwrap();
            assert!(
                !text.contains(TOKEN) && text.contains("[redacted:"),
                "{place}: {text}"
            );
            assert!(!kinds.is_empty(), "{place}");
        }
        let mut request = full();
        let arguments = json!({"user": "ana", "password": PASSWORD, "pin": 552_913}).to_string();
        request["messages"][2]["parts"][0]["tool_call"]["arguments"] = json!(arguments);
        request["messages"][3]["parts"][0]["tool_result"]["text"] =
            json!(format!("Logged in with {PASSWORD}."));
        let (clean, _) = cleaned(request).unwrap();
        let text = serde_json::to_string(&clean).unwrap();
        assert!(
            !text.contains(PASSWORD) && !text.contains("552913"),
            "{text}"
        );
        // An object is one still.
        assert!(clean.calls().all(|call| call.object().is_some()), "{text}");
    }

    #[test]
    fn names_and_ids_hold_none() {
        let mut request = full();
        request["tools"][0]["name"] = json!(TOKEN);
        assert!(cleaned(request).is_err());
        let mut request = full();
        request["messages"][2]["parts"][0]["tool_call"]["id"] = json!(TOKEN);
        request["messages"][3]["parts"][0]["tool_result"]["id"] = json!(TOKEN);
        let (clean, _) = cleaned(request).unwrap();
        assert_eq!(clean.calls().next().unwrap().id, "gently-call-1");
        let text = serde_json::to_string(&clean).unwrap();
        assert!(!text.contains(TOKEN), "{text}");
        assert!(
            clean.taken_apart().is_err(),
            "its question stands in its place"
        );
    }
}
