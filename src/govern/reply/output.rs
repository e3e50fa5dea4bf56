//! A declared output shape, and whether a reply has it (AEGIS 9, *schema*).
//!
//! The person declares it with the question: any JSON, or a JSON Schema. The model is told, in the
//! person's own part of the system message, so that the declaration is in the compiled prompt and
//! its commitment. The whole reply must be the value: no fence and no word around it, since a
//! program reads it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::record::canon;
use crate::record::ledger::params::{ANY_JSON, SCHEMA_TOLD, shape_told};

use crate::govern::sanitize::redact;

/// Why a text declares no shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// The reply is not JSON.
    #[error("not a JSON Schema: {reason}")]
    NotJson {
        /// The parser's words.
        reason: String,
    },
    /// JSON, and no schema that can be checked here.
    #[error(
        "not a JSON Schema that can be checked: {reason}; references to other files or addresses are not followed"
    )]
    NotSchema {
        /// The library's words.
        reason: String,
    },
    /// It would be stored and sent.
    #[error("the schema holds what looks like a secret ({kind}); take it out")]
    Secret {
        /// Which kind of secret it is.
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
        let value: Value = serde_json::from_str(text).map_err(|e| ShapeError::NotJson {
            reason: e.to_string(),
        })?;
        let shape = Shape(canon::print(&value).map_err(|e| ShapeError::NotJson {
            reason: e.to_string(),
        })?);
        let parts = Expansion::of(&value);
        if parts > MAX_PARTS {
            let reason = format!(
                "its references lead to more than {MAX_PARTS} parts, which would be checked one by one"
            );
            return Err(ShapeError::NotSchema { reason });
        }
        compile(&value).map_err(|reason| ShapeError::NotSchema { reason })?;
        // It goes into the system message, which is sanitized: what was declared and what was told
        // must be one.
        match redact(&shape.told()).found.first() {
            Some(found) => Err(ShapeError::Secret {
                kind: found.kind.to_string(),
            }),
            None => Ok(shape),
        }
    }

    /// What [`Shape::as_str`] gave, as the record holds it; a schema that can't be read any more is
    /// met by nothing.
    pub fn recorded(text: &str) -> Shape {
        Shape(text.to_owned())
    }

    /// As it is recorded.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What the model is told, behind the question.
    pub fn told(&self) -> String {
        shape_told(&self.0)
    }

    /// Whether a reply has the shape.
    ///
    /// # Errors
    /// How it misses it.
    pub fn met_by(&self, reply: &str) -> Result<(), Miss> {
        let value: Value = serde_json::from_str(reply.trim()).map_err(|_| Miss::NotJson {
            wrapped: is_wrapped(reply),
        })?;
        if self.0 == ANY_JSON {
            return Ok(());
        }
        let schema: Value = serde_json::from_str(&self.0).unwrap_or(Value::Bool(false));
        // It was compiled when it was read; what can't be checked is not met.
        let Ok(validator) = compile(&schema) else {
            return Err(Miss::OtherShape {
                errors: 1,
                keywords: Vec::new(),
            });
        };
        let mut keywords = BTreeSet::new();
        let mut errors = 0;
        for error in validator.iter_errors(&value).take(MAX_ERRORS) {
            errors += 1;
            keywords.insert(error.kind().keyword().to_owned());
        }
        if errors == 0 {
            Ok(())
        } else {
            Err(Miss::OtherShape {
                errors,
                keywords: keywords.into_iter().collect(),
            })
        }
    }
}

/// The schema in a text that tells a model of one; rules about words look at each of its strings.
pub(in crate::govern) fn declared_in(text: &str) -> Option<Value> {
    let (_, schema) = text.rsplit_once(SCHEMA_TOLD)?;
    serde_json::Deserializer::from_str(schema)
        .into_iter()
        .next()?
        .ok()
}

fn compile(schema: &Value) -> Result<jsonschema::Validator, String> {
    jsonschema::validator_for(schema).map_err(|e| {
        e.to_string()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    })
}

/// A schema of a hundred lines with ten references to a part that has ten of its own, and so on,
/// has more parts than any program can look at.
const MAX_PARTS: u64 = 100_000;

/// How many parts a schema has with every reference written out; one that leads back to where it
/// stands counts once.
struct Expansion<'a> {
    root: &'a Value,
    /// Targets by what `$anchor` or `$id` calls them.
    named: BTreeMap<&'a str, &'a Value>,
    known: BTreeMap<&'a str, u64>,
}

impl<'a> Expansion<'a> {
    fn of(root: &'a Value) -> u64 {
        let mut named = BTreeMap::new();
        collect_names(root, &mut named);
        Expansion {
            root,
            named,
            known: BTreeMap::new(),
        }
        .parts(root)
    }

    fn parts(&mut self, part: &'a Value) -> u64 {
        match part {
            Value::Array(items) => items
                .iter()
                .fold(1, |sum: u64, item| sum.saturating_add(self.parts(item))),
            Value::Object(keys) => keys.iter().fold(1, |sum: u64, (key, value)| {
                let more = match (key.as_str(), value) {
                    ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(to)) => {
                        self.behind(to)
                    }
                    _ => self.parts(value),
                };
                sum.saturating_add(more)
            }),
            _ => 1,
        }
    }

    fn behind(&mut self, reference: &'a str) -> u64 {
        if let Some(known) = self.known.get(reference) {
            return *known;
        }
        // While it is being counted, what leads back to it is one.
        self.known.insert(reference, 1);
        let local = reference
            .rsplit_once('#')
            .map_or(reference, |(_, name)| name);
        let by_name = || {
            self.named
                .get(reference)
                .or_else(|| self.named.get(local))
                .copied()
        };
        let target = if local.is_empty() {
            Some(self.root)
        } else {
            by_name().or_else(|| self.pointed(local))
        };
        let parts = target.map_or(1, |target| self.parts(target));
        self.known.insert(reference, parts);
        parts
    }

    /// What a pointer leads to, spelled as in an address, where `%25` is a per cent sign.
    fn pointed(&self, pointer: &str) -> Option<&'a Value> {
        let decoded = pointer.contains('%').then(|| percent_decoded(pointer));
        self.root.pointer(decoded.as_deref().unwrap_or(pointer))
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        match digits
            .filter(|_| *first == b'%')
            .and_then(|digits| u8::from_str_radix(digits, 16).ok())
        {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn collect_names<'a>(part: &'a Value, named: &mut BTreeMap<&'a str, &'a Value>) {
    match part {
        Value::Array(items) => items.iter().for_each(|item| collect_names(item, named)),
        Value::Object(keys) => {
            for name in ["$anchor", "$dynamicAnchor", "$id"] {
                if let Some(Value::String(name)) = keys.get(name) {
                    named.insert(name, part);
                }
            }
            keys.values().for_each(|value| collect_names(value, named));
        }
        _ => {}
    }
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

    /// Ten references to a part with ten references, nine times over: two kilobytes, and a thousand
    /// million parts.
    #[test]
    fn a_schema_that_unfolds_without_end_is_refused_before_anybody_is_asked() {
        let unfolding = |target: &dyn Fn(usize) -> String, name: &dyn Fn(usize) -> String| {
            let refs = |n: usize| vec![format!(r#"{{"$ref":"{}"}}"#, target(n + 1)); 10].join(",");
            let part = |n: usize| format!(r#""d{n}":{{{}"allOf":[{}]}}"#, name(n), refs(n));
            let parts: Vec<String> = (0..9).map(part).collect();
            let last = format!(r#""d9":{{{}"type":"object"}}"#, name(9));
            format!(
                r#"{{"$defs":{{{},{last}}},"$ref":"{}"}}"#,
                parts.join(","),
                target(0)
            )
        };
        let none = |_: usize| String::new();
        let anchor = |n: usize| format!(r#""$anchor":"a{n}","#);
        for schema in [
            unfolding(&|n| format!("#/$defs/d{n}"), &none),
            unfolding(&|n| format!("#/%24defs/d{n}"), &none),
            unfolding(&|n| format!("#a{n}"), &anchor),
        ] {
            let refused = Shape::schema(&schema).unwrap_err().to_string();
            assert!(refused.contains("more than 100000 parts"), "{refused}");
        }
        // A tree refers to itself, and is small.
        let tree = r##"{"type":"object","properties":{"left":{"$ref":"#"},"right":{"$ref":"#"}}}"##;
        assert_eq!(
            Shape::schema(tree)
                .unwrap()
                .met_by(r#"{"left":{"right":{}}}"#),
            Ok(())
        );
    }

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
            assert_eq!(
                Shape::any_json().met_by(reply),
                Err(Miss::NotJson { wrapped }),
                "{reply}"
            );
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
        assert_eq!(
            miss(r#"{"name":1,"age":-1}"#),
            (2, "minimum,type".to_owned())
        );
        assert_eq!(miss("[]"), (1, "type".to_owned()));
        assert!(matches!(shape.met_by("name: A"), Err(Miss::NotJson { .. })));
    }

    #[test]
    fn what_is_recorded_reads_back() {
        let shape = Shape::schema("{ \"type\" : \"array\" }").unwrap();
        assert_eq!(shape.as_str(), r#"{"type":"array"}"#);
        for shape in [shape, Shape::any_json()] {
            assert_eq!(Shape::recorded(shape.as_str()), shape);
            assert!(shape.told().contains(if shape == Shape::any_json() {
                "JSON"
            } else {
                shape.as_str()
            }));
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
