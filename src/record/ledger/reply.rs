//! The reply: all that came beside an answer's text (format, section 8, role `reply`).
//!
//! ```text
//! {"finish_reason":"stop","format":"gently/1","model":"small-1b",
//!  "other":{"created":1767657600,"id":"x","usage":{"total_tokens":40}},"reasoning":null,"tool_calls":[]}
//! ```
//! The text itself is the answer's turn. Secrets are taken out of it as
//! of a whole, since a key says what its value is.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::record::canon;
use crate::record::canon::CanonError;

use super::documents::{FORMAT, Format};

/// The kind of secret that the key is which a model's server was sent: it is known, not looked for,
/// and `[redacted:sent-key]` stands where the server repeated it.
pub const SENT_KEY: &str = "sent-key";
/// The largest whole number, either way, that canonical JSON holds exactly.
const MAX_EXACT: u64 = (1 << 53) - 1;

/// The document; keys in this order are also their canonical order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplyDoc {
    /// Why the model stopped, in its own word: `stop`, `length`, `tool_calls` …
    pub finish_reason: Option<String>,
    /// Version of the document's form: `gently/1`.
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
    /// The same with numbers that canonical JSON has no exact form for as texts, and passed through
    /// `clean` as one JSON object, so that a value is seen with the key before it.
    ///
    /// `clean` may change strings and put strings in the place of numbers. Of what comes back in
    /// another shape nothing is kept, and the document says so.
    pub fn cleaned(self, clean: &mut dyn FnMut(Value) -> Value) -> ReplyDoc {
        let mut members = Map::new();
        members.insert("finish_reason".to_owned(), self.finish_reason.into());
        members.insert("model".to_owned(), self.model.into());
        members.insert("other".to_owned(), exact_map(self.other).into());
        members.insert("reasoning".to_owned(), self.reasoning.into());
        members.insert("tool_calls".to_owned(), exact_list(self.tool_calls).into());
        let mut clean = clean(Value::Object(members));
        if let Some(members) = clean.as_object_mut() {
            members.insert("format".to_owned(), FORMAT.into());
        }
        serde_json::from_value(clean).unwrap_or_else(|_| {
            let why = "left out: its secrets could not be taken out of it";
            let mut doc = ReplyDoc::default();
            doc.other.insert("unreadable".to_owned(), why.into());
            doc
        })
    }

    /// The same with every key and string that `change` has something else for replaced.
    pub fn with_texts(self, change: &mut dyn FnMut(&str) -> Option<String>) -> ReplyDoc {
        let mut text = |given: Option<String>| given.map(|given| change(&given).unwrap_or(given));
        let (finish_reason, model) = (text(self.finish_reason), text(self.model));
        let reasoning = text(self.reasoning);
        let other = self.other.into_iter();
        let other = other.map(|(key, value)| (change(&key).unwrap_or(key), texts(value, change)));
        ReplyDoc {
            finish_reason,
            format: self.format,
            model,
            other: other.collect(),
            reasoning,
            tool_calls: self
                .tool_calls
                .into_iter()
                .map(|one| texts(one, change))
                .collect(),
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

/// What a server says in place of an answer, as a part of it.
pub const REFUSAL_PART: &str = "refusal";
/// The kind of a part that is text.
const TEXT_PART: &str = "text";

/// An answer as a person reads it: one that came in several parts which are all text, or a refusal, is
/// their texts in a row; any other is what it is. Only for a screen: on record is the list.
pub fn readable(answer: &str) -> Cow<'_, str> {
    let text = |part: &Value| {
        let kind = part.get("type")?.as_str()?;
        let text = part
            .get(kind)
            .filter(|_| [TEXT_PART, REFUSAL_PART].contains(&kind));
        text.and_then(Value::as_str).map(str::to_owned)
    };
    let texts = parts(answer).and_then(|parts| parts.iter().map(text).collect::<Option<String>>());
    texts.map_or(Cow::Borrowed(answer), Cow::Owned)
}

/// Whether a server said, in a part of an answer, that the answer is a refusal.
pub fn has_refusal_part(answer: &str) -> bool {
    let is_refusal = |part: &Value| part.get("type").is_some_and(|kind| kind == REFUSAL_PART);
    parts(answer).is_some_and(|parts| parts.iter().any(is_refusal))
}

/// The parts of an answer that came in several.
fn parts(answer: &str) -> Option<Vec<Value>> {
    let is_list = answer.starts_with("[{");
    is_list
        .then(|| canon::parse(answer.as_bytes()).ok())
        .flatten()
}

fn texts(value: Value, change: &mut dyn FnMut(&str) -> Option<String>) -> Value {
    match value {
        Value::String(text) => Value::String(change(&text).unwrap_or(text)),
        Value::Array(list) => list.into_iter().map(|one| texts(one, change)).collect(),
        Value::Object(map) => {
            let members = map.into_iter();
            let members =
                members.map(|(key, value)| (change(&key).unwrap_or(key), texts(value, change)));
            Value::Object(members.collect())
        }
        other => other,
    }
}

fn exact_map(map: Map<String, Value>) -> Map<String, Value> {
    let members = map.into_iter().map(|(key, value)| (key, exact(value)));
    members.filter(|(_, value)| !is_empty(value)).collect()
}

fn exact_list(list: Vec<Value>) -> Vec<Value> {
    list.into_iter().map(exact).collect()
}

fn exact(value: Value) -> Value {
    match value {
        Value::Number(number) if !is_exact(&number) => Value::String(number.to_string()),
        Value::Array(list) => Value::Array(exact_list(list)),
        Value::Object(map) => Value::Object(exact_map(map)),
        other => other,
    }
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
        let doc = given.cleaned(&mut |document| {
            let text = document.to_string().replace("secret", "[1]");
            serde_json::from_str(&text).unwrap()
        });
        let text = doc.canonical().unwrap();
        assert_eq!(
            text,
            r#"{"finish_reason":"stop","format":"gently/1","model":null,"other":{"[1]":"x [1]","a":"0.5","e":"9007199254740993","f":-3},"reasoning":"the key is [1]","tool_calls":[{"function":{"arguments":"[1]"}}]}"#
        );
        assert_eq!(ReplyDoc::parse(&text).unwrap(), doc);
    }

    #[test]
    fn an_answer_of_several_texts_reads_as_one() {
        for (answer, read) in [
            (
                r#"[{"text":"Par","type":"text"},{"text":"is.","type":"text"}]"#,
                "Paris.",
            ),
            (
                r#"[{"citations":["x"],"text":"Paris.","type":"text"}]"#,
                "Paris.",
            ),
            (
                r#"[{"text":"Well. ","type":"text"},{"refusal":"No.","type":"refusal"}]"#,
                "Well. No.",
            ),
        ] {
            assert_eq!(readable(answer), read);
            assert_eq!(has_refusal_part(answer), read.ends_with("No."));
        }
        for as_it_is in [
            "Paris.",
            "",
            "[]",
            "[1]",
            // Not as the record would have printed it: a model's own words.
            r#"[{"type":"text","text":"a"}]"#,
            r#"[{"text":"a","type":"text"}] "#,
            r#"[{"text":"a"}]"#,
            r#"[{"text":1,"type":"text"}]"#,
            // What else is in it would be lost.
            r#"[{"text":"a","type":"text"},{"id":"1"}]"#,
            r#"[{"refusal":1,"type":"refusal"}]"#,
            // A model's own words about one.
            r#"[{"type":"refusal","refusal":"no"}]"#,
        ] {
            assert_eq!(readable(as_it_is), as_it_is);
        }
    }

    #[test]
    fn what_comes_back_in_another_shape_is_left_out_and_says_so() {
        let given = ReplyDoc {
            reasoning: Some("the secret".to_owned()),
            ..ReplyDoc::default()
        };
        for shape in [
            json!(null),
            json!([]),
            json!({"model": 3}),
            json!({"more": "secret"}),
        ] {
            let text = given.clone().cleaned(&mut |_| shape.clone()).canonical();
            let text = text.unwrap();
            assert!(
                text.contains("\"unreadable\"") && !text.contains("secret\""),
                "{text}"
            );
        }
    }
}
