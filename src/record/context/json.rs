//! Canonical JSON as the DBL context system hashes it; RFC 8785 stays the form of all other
//! documents.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

use crate::record::hash::Hash32;
use crate::record::ledger::bundle::NamedHash;
use crate::record::plain::plain_is_canonical;

/// Why a value has no canonical form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonFault {
    /// A number with a fraction or an exponent.
    #[error("{path}: {number} is no whole number; a fraction has more than one spelling")]
    Fraction {
        /// Where, as a JSON pointer.
        path: String,
        /// The number as it was given.
        number: String,
    },
    /// The value could not be written as JSON at all.
    #[error("not JSON: {0}")]
    Shape(String),
}

/// Escapes everything outside printable ASCII; characters beyond the first plane as two halves.
struct Ascii;

impl Formatter for Ascii {
    /// Fractions have no canonical form.
    fn write_f64<W: ?Sized + Write>(&mut self, _: &mut W, _: f64) -> io::Result<()> {
        Err(io::ErrorKind::InvalidData.into())
    }

    fn write_f32<W: ?Sized + Write>(&mut self, _: &mut W, _: f32) -> io::Result<()> {
        Err(io::ErrorKind::InvalidData.into())
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        // What JSON itself escapes is in no fragment; most texts are ASCII, and are not gone
        // through by character.
        if fragment.bytes().all(|b| (b' '..=b'~').contains(&b)) {
            return writer.write_all(fragment.as_bytes());
        }
        let mut plain = 0;
        for (at, c) in fragment
            .char_indices()
            .filter(|(_, c)| !(' '..='~').contains(c))
        {
            writer.write_all(&fragment.as_bytes()[plain..at])?;
            for half in c.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{half:04x}")?;
            }
            plain = at + c.len_utf8();
        }
        writer.write_all(&fragment.as_bytes()[plain..])
    }
}

/// Adds a string in its canonical spelling, quotes included.
pub(in crate::record) fn write_text(out: &mut Vec<u8>, text: &str) {
    text.serialize(&mut Serializer::with_formatter(out, Ascii))
        .expect("a string has a spelling, and memory takes all of it");
}

/// The canonical text of a value.
///
/// `{"b":1,"a":"é"}` becomes `{"a":"\u00e9","b":1}`.
pub fn print(value: &Value) -> Result<String, JsonFault> {
    whole_numbers(value, &mut String::new())?;
    let mut out = Vec::new();
    // A `Value` keeps its keys sorted by their UTF-8 bytes, which is the order of code points.
    value
        .serialize(&mut Serializer::with_formatter(&mut out, Ascii))
        .map_err(|e| JsonFault::Shape(e.to_string()))?;
    String::from_utf8(out).map_err(|e| JsonFault::Shape(e.to_string()))
}

/// SHA-256 of the canonical text.
pub fn digest(value: &Value) -> Result<NamedHash, JsonFault> {
    print(value).map(|text| NamedHash(Hash32::digest(text.as_bytes())))
}

/// The same of a document of ours.
///
/// Where its keys are declared in their order, and its numbers are plain, no [`Value`] is made of
/// it.
pub fn digest_of(document: &impl Serialize) -> Result<NamedHash, JsonFault> {
    match plain(document) {
        Some(text) => Ok(NamedHash(Hash32::digest(&text))),
        None => digest(&value(document)?),
    }
}

/// The canonical text of a document as it is declared; none where that may be another.
fn plain(document: &impl Serialize) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(1024);
    document
        .serialize(&mut Serializer::with_formatter(&mut out, Ascii))
        .ok()?;
    plain_is_canonical(&out).then_some(out)
}

/// The value of a document of ours.
pub fn value(document: &impl Serialize) -> Result<Value, JsonFault> {
    serde_json::to_value(document).map_err(|e| JsonFault::Shape(e.to_string()))
}

fn whole_numbers(value: &Value, path: &mut String) -> Result<(), JsonFault> {
    let length = path.len();
    match value {
        Value::Number(number) if !number.is_i64() && !number.is_u64() => {
            return Err(JsonFault::Fraction {
                path: path.clone(),
                number: number.to_string(),
            });
        }
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                path.push_str(&format!("/{i}"));
                whole_numbers(item, path)?;
                path.truncate(length);
            }
        }
        Value::Object(entries) => {
            for (key, item) in entries {
                path.push('/');
                path.push_str(key);
                whole_numbers(item, path)?;
                path.truncate(length);
            }
        }
        _ => {}
    }
    Ok(())
}

/// What a normative digest leaves out, at any depth: observations.
const OBSERVED: &str = "_obs";

/// The value without any `_obs` entry, at any depth.
pub fn without_observations(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(without_observations).collect(),
        Value::Object(entries) => {
            let kept = entries.into_iter().filter(|(key, _)| key != OBSERVED);
            Value::Object(
                kept.map(|(key, item)| (key, without_observations(item)))
                    .collect(),
            )
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn one_value_has_one_text() {
        for (value, text) in [
            (
                json!({"b": 1, "a": [true, null, "x"]}),
                r#"{"a":[true,null,"x"],"b":1}"#,
            ),
            (json!("é"), r#""\u00e9""#),
            (json!("😀"), r#""\ud83d\ude00""#),
            (json!("a\u{7f}b"), r#""a\u007fb""#),
            (
                json!("\"\\/\u{8}\u{c}\n\r\t\u{1f}"),
                r#""\"\\/\b\f\n\r\t\u001f""#,
            ),
            (
                json!({"\u{ffff}": 1, "\u{10000}": 2}),
                r#"{"\uffff":1,"\ud800\udc00":2}"#,
            ),
            (json!(u64::MAX), "18446744073709551615"),
            (json!(i64::MIN), "-9223372036854775808"),
            (json!({}), "{}"),
        ] {
            assert_eq!(print(&value).unwrap(), text);
            assert_eq!(serde_json::from_str::<Value>(text).unwrap(), value);
        }
    }

    #[derive(Serialize)]
    struct DeclaredForm<A, B> {
        first: A,
        second: B,
    }

    #[derive(Serialize)]
    struct EffectForm<A, B> {
        second: A,
        first: B,
    }

    #[test]
    fn a_document_in_order_is_digested_as_its_value_is() {
        let held = |document: &dyn Fn()
            -> (Option<Vec<u8>>, Result<NamedHash, JsonFault>, Value),
                    is_plain: bool| {
            let (plain, digested, value) = document();
            assert_eq!(plain.is_some(), is_plain, "{value}");
            assert!(plain.is_none_or(|text| text == print(&value).unwrap().as_bytes()));
            assert_eq!(digested, digest(&value));
        };
        fn made(
            document: &impl Serialize,
        ) -> (Option<Vec<u8>>, Result<NamedHash, JsonFault>, Value) {
            (
                plain(document),
                digest_of(document),
                value(document).unwrap(),
            )
        }
        held(
            &|| {
                made(&DeclaredForm {
                    first: "é\u{7f}\"\n😀",
                    second: [Some(-7), None],
                })
            },
            true,
        );
        held(
            &|| {
                made(&DeclaredForm {
                    first: json!({"a": {"b": 1, "c": []}}),
                    second: true,
                })
            },
            true,
        );
        held(
            &|| {
                made(&EffectForm {
                    second: "x",
                    first: 1,
                })
            },
            false,
        );
        held(
            &|| {
                made(&DeclaredForm {
                    first: json!({"é": 1, "z": 2}),
                    second: 0,
                })
            },
            false,
        );
        held(
            &|| {
                made(&DeclaredForm {
                    first: u64::MAX,
                    second: i64::MIN,
                })
            },
            false,
        );
        held(
            &|| {
                made(&DeclaredForm {
                    first: 0.5,
                    second: 1,
                })
            },
            false,
        );
        held(
            &|| {
                made(&DeclaredForm {
                    first: 1,
                    second: 2.0f32,
                })
            },
            false,
        );
    }

    #[test]
    fn fractions_have_no_place() {
        let fault = print(&json!({"a": [1, {"b": 0.5}]})).unwrap_err();
        assert_eq!(
            fault,
            JsonFault::Fraction {
                path: "/a/1/b".to_owned(),
                number: "0.5".to_owned()
            }
        );
        assert!(print(&json!(1.0)).is_err());
    }

    #[test]
    fn observations_are_left_out_at_any_depth() {
        let given = json!({"a": {"_obs": 1, "b": [{"_obs": {"c": 2}, "d": 3}]}, "_obs": "x", "_observed": 4});
        assert_eq!(
            without_observations(given),
            json!({"a": {"b": [{"d": 3}]}, "_observed": 4})
        );
    }
}
