//! JSON of strangers: read strictly, within limits, and asked for by name and kind.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::MAX_CONVERSATION;
use super::fault::ImportFault;

/// Most bytes of one piece of JSON: escapes and what is not read take room beside the texts.
pub(super) const MAX_PIECE: usize = 4 * MAX_CONVERSATION;
/// Most values in one piece: each takes some hundred bytes of memory, whatever the file spends on it.
pub(super) const MAX_VALUES: usize = 500_000;
/// Lists and objects that may stand in one another.
pub(super) const MAX_DEPTH: usize = 100;

/// How many values a piece of JSON has, and how deep they lie; seen without holding any.
fn measured(piece: &[u8]) -> (usize, usize) {
    let (mut values, mut depth, mut deepest) = (1, 0_usize, 0);
    let (mut is_text, mut is_escaped) = (false, false);
    for byte in piece {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
                values += 1;
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' => values += 1,
            _ => {}
        }
    }
    (values, deepest)
}

/// Reads one piece of JSON.
pub(super) fn parse(piece: &[u8]) -> Result<Value, ImportFault> {
    let text = std::str::from_utf8(piece).map_err(|error| {
        let at = error.valid_up_to();
        ImportFault::new("not_text", format!("byte {at} of it is no UTF-8 text"))
    })?;
    let (values, depth) = measured(piece);
    if depth > MAX_DEPTH {
        return Err(ImportFault::new(
            "too_deep",
            format!("its lists and objects stand {depth} levels deep; {MAX_DEPTH} are read"),
        ));
    }
    if values > MAX_VALUES {
        return Err(ImportFault::new(
            "too_large",
            format!("it has {values} values; {MAX_VALUES} are read"),
        ));
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = UniqueKeys
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    read.map_err(|error| {
        // Data errors are made by the visitor below alone, and it has one.
        if error.is_data() {
            return ImportFault::new("duplicate_key", error.to_string());
        }
        // The parser's words for halves of characters; a test holds them.
        let words = error.to_string();
        let is_half = words.contains("surrogate") || words.contains("unexpected end of hex escape");
        match is_half {
            true => ImportFault::new(
                "not_text",
                format!("half a character stands in it: {words}"),
            ),
            false => ImportFault::new("not_json", no_json(&error)),
        }
    })
}

/// `it is no JSON from column 2 on`; the line is one of the piece, and the first is not told.
fn no_json(error: &serde_json::Error) -> String {
    /// What the parser says of anything that begins no value.
    const NOTHING: [&str; 2] = ["expected ident", "expected value"];
    let at = match error.line() {
        0 | 1 => format!("column {}", error.column()),
        line => format!("line {line} of it, column {},", error.column()),
    };
    if error.is_eof() {
        return format!(
            "it is no whole JSON: it ends at {}",
            at.trim_end_matches(',')
        );
    }
    let words = error.to_string();
    let words = words.split(" at line ").next().unwrap_or_default();
    match NOTHING.contains(&words) {
        true => format!("it is no JSON from {at} on"),
        false => format!("it is no JSON from {at} on: {words}"),
    }
}

/// Reads a value in which no object has a key twice.
#[derive(Clone, Copy)]
struct UniqueKeys;

impl<'de> DeserializeSeed<'de> for UniqueKeys {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for UniqueKeys {
    type Value = Value;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(self)? {
            values.push(value);
        }
        Ok(values.into())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some(key) = object.next_key::<String>()? {
            let value = object.next_value_seed(self)?;
            if values.contains_key(&key) {
                return Err(A::Error::custom(format_args!(
                    "the key {key:?} stands twice in one object"
                )));
            }
            values.insert(key, value);
        }
        Ok(values.into())
    }
}

/// A value's kind, for a sentence.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// An object whose values are asked for by name; null is as good as nothing.
#[derive(Clone, Copy)]
pub(super) struct JsonFields<'a>(pub(super) &'a Map<String, Value>);

impl<'a> JsonFields<'a> {
    /// A value as an object; `what` names it in the sentence.
    pub(super) fn of(value: &'a Value, what: &str) -> Result<JsonFields<'a>, ImportFault> {
        match value {
            Value::Object(map) => Ok(JsonFields(map)),
            other => Err(ImportFault::shape(format!(
                "{what} is {}; an object was expected",
                kind_of(other)
            ))),
        }
    }

    fn get<T>(
        self,
        name: &str,
        expected: &str,
        take: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, ImportFault> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => take(value).map(Some).ok_or_else(|| {
                let kind = kind_of(value);
                ImportFault::shape(format!("\"{name}\" is {kind}; {expected} was expected"))
            }),
        }
    }

    /// A text.
    pub(super) fn text(self, name: &str) -> Result<Option<&'a str>, ImportFault> {
        self.get(name, "a text", Value::as_str)
    }

    /// A number.
    pub(super) fn number(self, name: &str) -> Result<Option<f64>, ImportFault> {
        self.get(name, "a number", Value::as_f64)
    }

    /// A list.
    pub(super) fn list(self, name: &str) -> Result<&'a [Value], ImportFault> {
        let found = self.get(name, "a list", Value::as_array)?;
        Ok(found.map_or(&[], Vec::as_slice))
    }

    /// An object.
    pub(super) fn object(self, name: &str) -> Result<Option<JsonFields<'a>>, ImportFault> {
        Ok(self
            .get(name, "an object", Value::as_object)?
            .map(JsonFields))
    }

    /// Something that has to be there.
    pub(super) fn needed<T>(name: &str, found: Option<T>) -> Result<T, ImportFault> {
        found.ok_or_else(|| ImportFault::shape(format!("it has no \"{name}\"")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(piece: &[u8]) -> &'static str {
        parse(piece).map_or_else(|fault| fault.reason, |_| "read")
    }

    #[test]
    fn what_is_no_strict_json_says_why() {
        for (piece, expected) in [
            (&br#"{"a":[1,-2,2.5,"\ud83d\ude00",true,null]}"#[..], "read"),
            (b"{\"a\":1,\"a\":2}", "duplicate_key"),
            (b"[{\"b\":{\"a\":1,\"\\u0061\":2}}]", "duplicate_key"),
            (br#""\ud83d""#, "not_text"),
            (br#""\ud83dx""#, "not_text"),
            (br#""\ude00""#, "not_text"),
            (br#""\ud83d\u0041""#, "not_text"),
            (b"\"\xff\"", "not_text"),
            (b"\"a\0b\"", "not_json"),
            (b"{\"a\":1}]", "not_json"),
            (b"{\"a\":1", "not_json"),
            (b"1e999", "not_json"),
            (b"", "not_json"),
        ] {
            assert_eq!(reason(piece), expected, "{}", piece.escape_ascii());
        }
    }

    #[test]
    fn where_it_is_no_json_is_told_once() {
        for (piece, said) in [
            (&b"nonsense"[..], "it is no JSON from column 2 on"),
            (
                b"{\"a\":1}]",
                "it is no JSON from column 8 on: trailing characters",
            ),
            (b"{\"a\":1", "it is no whole JSON: it ends at column 6"),
            (
                b"{\n \"a\" 1}",
                "it is no JSON from line 2 of it, column 6, on: expected `:`",
            ),
        ] {
            assert_eq!(parse(piece).unwrap_err().detail, said);
        }
    }

    #[test]
    fn depth_and_values_have_limits() {
        let nested = |levels: usize| [vec![b'['; levels], vec![b']'; levels]].concat();
        assert_eq!(reason(&nested(MAX_DEPTH)), "read");
        assert_eq!(reason(&nested(MAX_DEPTH + 1)), "too_deep");
        assert_eq!(reason(&nested(100_000)), "too_deep");
        let wide = |values: usize| format!("[{}1]", "1,".repeat(values - 2));
        assert_eq!(reason(wide(MAX_VALUES).as_bytes()), "read");
        assert_eq!(reason(wide(MAX_VALUES + 1).as_bytes()), "too_large");
        assert_eq!(reason(br#""[[[,,,\"[[""#), "read");
    }

    #[test]
    fn wrong_kinds_are_named_with_what_was_expected() {
        let value = parse(br#"{"title":5,"list":{},"none":null}"#).unwrap();
        let fields = JsonFields::of(&value, "it").unwrap();
        let fault = fields.text("title").unwrap_err();
        assert_eq!(fault.detail, "\"title\" is a number; a text was expected");
        assert_eq!(fields.list("list").unwrap_err().reason, "shape");
        assert_eq!(fields.text("none"), Ok(None));
        assert_eq!(fields.text("other"), Ok(None));
    }
}
