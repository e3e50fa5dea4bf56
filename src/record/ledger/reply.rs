//! The reply: all that came beside an answer's text (format, section 8, role `reply`).
//!
//! ```text
//! {"finish_reason":"stop","format":"gently/1","model":"small-1b",
//!  "other":{"created":1767657600,"id":"x","usage":{"total_tokens":40}},"reasoning":null,"tool_calls":[]}
//! ```
//! The text itself is the answer's turn. Secrets are taken out of every text in it, as they are out
//! of the answer.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::record::canon;
use crate::record::canon::CanonError;

use super::documents::Format;

/// The largest whole number, either way, that canonical JSON holds exactly.
const MAX_EXACT: u64 = (1 << 53) - 1;

/// The document; keys in this order are also their canonical order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplyDoc {
    /// Why the model stopped, in its own word: `stop`, `length`, `tool_calls` …
    pub finish_reason: Option<String>,
    /// `gently/1`.
    pub format: Format,
    /// The name under which the model itself answered, which need not be the one that was asked
    /// for.
    pub model: Option<String>,
    /// Whatever else the server said, as it said it; what is null or empty is left out.
    pub other: Map<String, Value>,
    /// What it thought aloud, where that stands apart from the answer.
    pub reasoning: Option<String>,
    /// Tools that it wants called, as they came; they are part of the answer, too.
    pub tool_calls: Vec<Value>,
}

impl ReplyDoc {
    /// The same with every text passed through `clean`, and with numbers that canonical JSON has no
    /// exact form for as texts.
    pub fn cleaned(self, clean: &mut dyn FnMut(&str) -> String) -> ReplyDoc {
        let mut text = |given: Option<String>| given.map(|given| clean(&given));
        let (finish_reason, model) = (text(self.finish_reason), text(self.model));
        let reasoning = text(self.reasoning);
        ReplyDoc {
            finish_reason,
            format: self.format,
            model,
            other: cleaned_map(self.other, clean),
            reasoning,
            tool_calls: cleaned_list("tool_calls", self.tool_calls, clean),
        }
    }

    /// The names of the tools that it wants called, as every dialect spells them; a call without one
    /// is a question mark.
    pub fn tool_names(&self) -> Vec<&str> {
        let names = self.tool_calls.iter().map(|call| {
            let name = call.pointer("/function/name").or(call.get("name"));
            name.and_then(Value::as_str).unwrap_or("?")
        });
        names.collect()
    }

    /// The canonical print, as it is stored and committed to.
    pub fn canonical(&self) -> Result<String, CanonError> {
        canon::print(self)
    }

    /// Reads what [`ReplyDoc::canonical`] printed.
    pub fn parse(text: &str) -> Result<ReplyDoc, CanonError> {
        canon::parse(text.as_bytes())
    }
}

fn cleaned_map(
    map: Map<String, Value>,
    clean: &mut dyn FnMut(&str) -> String,
) -> Map<String, Value> {
    let mut out = Map::new();
    for (key, value) in map {
        let key = clean(&key);
        let value = cleaned_value(&key, value, clean);
        if !is_empty(&value) {
            out.insert(key, value);
        }
    }
    out
}

fn cleaned_list(name: &str, list: Vec<Value>, clean: &mut dyn FnMut(&str) -> String) -> Vec<Value> {
    list.into_iter()
        .map(|value| cleaned_value(name, value, clean))
        .collect()
}

/// `name` is that of the value, or of the list that it stands in.
fn cleaned_value(name: &str, value: Value, clean: &mut dyn FnMut(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(cleaned_text(name, &text, clean)),
        Value::Number(number) if !is_exact(&number) => Value::String(number.to_string()),
        Value::Array(list) => Value::Array(cleaned_list(name, list, clean)),
        Value::Object(map) => Value::Object(cleaned_map(map, clean)),
        other => other,
    }
}

/// A text without its secrets, those too that are known only by the name in front of them, as a
/// password is.
fn cleaned_text(name: &str, text: &str, clean: &mut dyn FnMut(&str) -> String) -> String {
    let alone = clean(text);
    let before = format!("\"{name}\": \"");
    let printed = format!("{before}{alone}\"");
    let cleaned = clean(&printed);
    if cleaned == printed {
        return alone;
    }
    let rest = cleaned.strip_prefix(&before);
    let rest = rest.and_then(|rest| rest.strip_suffix('"'));
    // Where more than the text was taken out, nothing of it is left.
    rest.unwrap_or("[redacted]").to_owned()
}

fn is_exact(number: &serde_json::Number) -> bool {
    let whole = number.as_u64().or(number.as_i64().map(i64::unsigned_abs));
    whole.is_some_and(|whole| whole <= MAX_EXACT)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.iter().all(is_empty),
        Value::Object(map) => map.values().all(is_empty),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_name_tells_of_a_secret_in_every_depth() {
        let given = ReplyDoc {
            other: json!({"password": "hunter2", "passwords": {"password": ["hunter3", "x"]}})
                .as_object()
                .cloned()
                .unwrap_or_default(),
            tool_calls: vec![json!({"arguments": {"password": "hunter4", "user": "hunter5"}})],
            ..ReplyDoc::default()
        };
        let mut clean = |text: &str| match text.strip_prefix("\"password\": \"hunter") {
            Some(_) => "\"password\": \"[1]\"".to_owned(),
            None => text.to_owned(),
        };
        let doc = given.cleaned(&mut clean);
        assert_eq!(
            doc.canonical().unwrap(),
            r#"{"finish_reason":null,"format":"gently/1","model":null,"other":{"password":"[1]","passwords":{"password":["[1]","x"]}},"reasoning":null,"tool_calls":[{"arguments":{"password":"[1]","user":"hunter5"}}]}"#
        );
        // A secret that takes its name along leaves nothing.
        let text = cleaned_text("key", "abc", &mut |text| {
            text.replace("key\": \"abc\"", "[1]")
        });
        assert_eq!(text, "[redacted]");
    }

    #[test]
    fn what_has_no_exact_form_stands_as_text_and_what_is_empty_not_at_all() {
        let given = ReplyDoc {
            finish_reason: Some("stop".to_owned()),
            reasoning: Some("the key is secret".to_owned()),
            other: json!({"a": 0.5, "b": [null], "c": {"d": {}}, "e": 9_007_199_254_740_993_u64, "f": -3, "secret": "x secret"})
                .as_object()
                .cloned()
                .unwrap_or_default(),
            tool_calls: vec![json!({"function": {"arguments": "secret"}, "none": null})],
            ..ReplyDoc::default()
        };
        let doc = given.cleaned(&mut |text| text.replace("secret", "[1]"));
        let text = doc.canonical().unwrap();
        assert_eq!(
            text,
            r#"{"finish_reason":"stop","format":"gently/1","model":null,"other":{"[1]":"x [1]","a":"0.5","e":"9007199254740993","f":-3},"reasoning":"the key is [1]","tool_calls":[{"function":{"arguments":"[1]"}}]}"#
        );
        assert_eq!(ReplyDoc::parse(&text).unwrap(), doc);
    }
}
