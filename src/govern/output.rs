//! A declared output shape, and whether a reply has it (AEGIS 9, *schema*).
//!
//! The person declares it with the question: any JSON, or a JSON Schema. The model is told, in the person's own part of
//! the system message, so that the declaration is in the compiled prompt and its commitment. The whole reply must be the
//! value: no fence and no word around it, since a program reads it.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::record::canon;

use super::sanitize::redact;

/// How any JSON is declared.
pub const ANY_JSON: &str = "json";

/// Why a text declares no shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// Not JSON.
    #[error("not a JSON Schema: {reason}")]
    NotJson {
        /// The parser's words.
        reason: String,
    },
    /// JSON, and no schema that can be checked here.
    #[error("not a JSON Schema that can be checked: {reason}; references to other files or addresses are not followed")]
    NotSchema {
        /// The library's words.
        reason: String,
    },
    /// It would be stored and sent.
    #[error("the schema holds what looks like a secret ({kind}); take it out")]
    Secret {
        /// The kind.
        kind: String,
    },
}

/// A declared shape: `json`, or the canonical print of a JSON Schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape(String);

/// How a reply misses its shape. Holds no word of the reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Miss {
    /// Not one JSON value.
    NotJson {
        /// JSON with a fence or words around it.
        wrapped: bool,
    },
    /// JSON of another shape.
    OtherShape {
        /// How many parts of it are wrong.
        errors: usize,
        /// The schema's keywords that they break, sorted.
        keywords: Vec<String>,
    },
}

/// Errors beyond this many are not counted: one wrong level makes thousands.
const MAX_ERRORS: usize = 100;

impl Shape {
    /// Any JSON value.
    pub fn any_json() -> Shape {
        Shape(ANY_JSON.to_owned())
    }

    /// Reads a JSON Schema.
    ///
    /// # Errors
    /// [`ShapeError`].
    pub fn schema(text: &str) -> Result<Shape, ShapeError> {
        let value: Value = serde_json::from_str(text).map_err(|e| ShapeError::NotJson { reason: e.to_string() })?;
        let shape = Shape(canon::print(&value).map_err(|e| ShapeError::NotJson { reason: e.to_string() })?);
        compile(&value).map_err(|reason| ShapeError::NotSchema { reason })?;
        // It goes into the system message, which is sanitized: what was declared and what was told must be one.
        match redact(&shape.told()).found.first() {
            Some(found) => Err(ShapeError::Secret { kind: found.kind.to_string() }),
            None => Ok(shape),
        }
    }

    /// What [`Shape::as_str`] gave, as the record holds it; a schema that can't be read any more is met by nothing.
    pub fn recorded(text: &str) -> Shape {
        Shape(text.to_owned())
    }

    /// As it is recorded.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What the model is told: a part of the system message.
    pub fn told(&self) -> String {
        told(&self.0)
    }

    /// Whether a reply has the shape.
    ///
    /// # Errors
    /// How it misses it.
    pub fn met_by(&self, reply: &str) -> Result<(), Miss> {
        let value: Value =
            serde_json::from_str(reply.trim()).map_err(|_| Miss::NotJson { wrapped: is_wrapped(reply) })?;
        if self.0 == ANY_JSON {
            return Ok(());
        }
        let schema: Value = serde_json::from_str(&self.0).unwrap_or(Value::Bool(false));
        // It was compiled when it was read; what can't be checked is not met.
        let Ok(validator) = compile(&schema) else {
            return Err(Miss::OtherShape { errors: 1, keywords: Vec::new() });
        };
        let mut keywords = BTreeSet::new();
        let mut errors = 0;
        for error in validator.iter_errors(&value).take(MAX_ERRORS) {
            errors += 1;
            keywords.insert(error.kind().keyword().to_owned());
        }
        if errors == 0 { Ok(()) } else { Err(Miss::OtherShape { errors, keywords: keywords.into_iter().collect() }) }
    }
}

/// What the model is told of a recorded shape.
pub fn told(recorded: &str) -> String {
    if recorded == ANY_JSON {
        return "Answer with one JSON value and nothing else.".to_owned();
    }
    format!("{TOLD}{recorded}")
}

/// What the model is told before a schema.
const TOLD: &str = "Answer with one JSON value and nothing else. It must hold against this JSON Schema: ";

/// The schema in a text that tells a model of one; rules about words look at each of its strings.
pub(super) fn declared_in(text: &str) -> Option<Value> {
    let (_, schema) = text.rsplit_once(TOLD)?;
    serde_json::Deserializer::from_str(schema).into_iter().next()?.ok()
}

fn compile(schema: &Value) -> Result<jsonschema::Validator, String> {
    jsonschema::validator_for(schema).map_err(|e| e.to_string().split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Whether there is JSON inside a fence, or from the first brace to the last.
fn is_wrapped(reply: &str) -> bool {
    let from = reply.find(['{', '[']);
    let to = reply.rfind(['}', ']']);
    let inside = from.zip(to).and_then(|(from, to)| reply.get(from..=to));
    inside.is_some_and(|text| serde_json::from_str::<Value>(text).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#"{"type":"object","required":["name","age"],"properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0}}}"#;

    #[test]
    fn any_json_and_nothing_around_it() {
        for reply in ["{}", " [1, 2]\n", "\"text\"", "null", "1.5"] {
            assert_eq!(Shape::any_json().met_by(reply), Ok(()), "{reply}");
        }
        for (reply, wrapped) in [
            ("", false),
            ("Here you are.", false),
            ("{} {}", false),
            ("{\"a\":1", false),
            ("```json\n{}\n```", true),
            ("Sure: {\"a\":[1]}", true),
        ] {
            assert_eq!(Shape::any_json().met_by(reply), Err(Miss::NotJson { wrapped }), "{reply}");
        }
    }

    #[test]
    fn a_schema_holds_or_says_which_keywords_do_not() {
        let shape = Shape::schema(SCHEMA).unwrap();
        assert_eq!(shape.met_by(r#"{"name":"A","age":3}"#), Ok(()));
        let miss = |reply: &str| match shape.met_by(reply) {
            Err(Miss::OtherShape { errors, keywords }) => (errors, keywords.join(",")),
            other => panic!("{reply}: {other:?}"),
        };
        assert_eq!(miss(r#"{"name":"A"}"#), (1, "required".to_owned()));
        assert_eq!(miss(r#"{"name":1,"age":-1}"#), (2, "minimum,type".to_owned()));
        assert_eq!(miss("[]"), (1, "type".to_owned()));
        assert!(matches!(shape.met_by("name: A"), Err(Miss::NotJson { .. })));
    }

    #[test]
    fn what_is_recorded_reads_back() {
        let shape = Shape::schema("{ \"type\" : \"array\" }").unwrap();
        assert_eq!(shape.as_str(), r#"{"type":"array"}"#);
        for shape in [shape, Shape::any_json()] {
            assert_eq!(Shape::recorded(shape.as_str()), shape);
            assert!(shape.told().contains(if shape == Shape::any_json() { "JSON" } else { shape.as_str() }));
        }
    }

    #[test]
    fn what_is_no_schema_is_refused() {
        for text in [
            "",
            "json",
            "{",
            "3",
            r#"{"type":"objekt"}"#,
            r#"{"$ref":"https://a.invalid/s.json"}"#,
            r##"{"$ref":"#/nowhere"}"##,
        ] {
            assert!(Shape::schema(text).is_err(), "{text}");
        }
    }
}
