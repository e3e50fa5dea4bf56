//! Reading the JSON of traces as Python reads it, without losing how a number was meant.
//!
//! `serde_json` makes a double of an integer beyond 64 bits and of `-0`; M is then another one than
//! its signer's. Narrower than Python: no key twice in an object, no `NaN` and no `Infinity`, no
//! number beyond a double's range, no half of a character.

use std::collections::BTreeMap;

use super::value::{TraceNumber, TraceValue};

/// Largest file that is read, in bytes: 64 MiB.
pub const MAX_TRACE_FILE: usize = 64 << 20;
/// Most values in one document: what a small file unfolds to in memory hangs on these. A batch of
/// a thousand traces has some ninety thousand.
const MAX_VALUES: usize = 1 << 20;
/// Most objects among them: an object of one small entry takes a hundred times its bytes in memory.
const MAX_OBJECTS: usize = 1 << 18;
/// How deep values may lie in one another.
const MAX_DEPTH: usize = 64;
/// Most digits of an integer: Python's own limit, above which it reads none.
const MAX_DIGITS: usize = 4300;

/// Why bytes are not the JSON of a trace. Places are bytes, from 0.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceJsonFault {
    /// Longer than [`MAX_TRACE_FILE`].
    #[error("{actual} bytes; a file of traces has at most {MAX_TRACE_FILE} (64 MiB)")]
    TooLarge {
        /// Size of the file, in bytes.
        actual: usize,
    },
    /// More values, or deeper ones, than any trace has.
    #[error("more values, or deeper in one another, than a file of traces has, at byte {at}")]
    TooMuch {
        /// Where reading ended.
        at: usize,
    },
    /// Not UTF-8.
    #[error("not UTF-8 at byte {at}")]
    Encoding {
        /// First byte that is no part of a character.
        at: usize,
    },
    /// Not JSON.
    #[error("not JSON at byte {at}: expected {expected}")]
    Syntax {
        /// Where it differs.
        at: usize,
        /// What could stand there.
        expected: &'static str,
    },
    /// A key stands twice in one object, so that two readers may see two values.
    #[error("the key '{key}' stands twice in one object, at byte {at}")]
    KeyTwice {
        /// Behind the second one.
        at: usize,
        /// The key.
        key: String,
    },
    /// A number that JSON does not have, or that is no finite double.
    #[error("'{number}' at byte {at} is no finite number")]
    NotFinite {
        /// Where it stands.
        at: usize,
        /// As it is spelled, shortened.
        number: String,
    },
    /// Half of a character.
    #[error("half of a character (a lone surrogate) before byte {at}")]
    Surrogate {
        /// Behind it.
        at: usize,
    },
}

/// Reads one JSON value; only white space may stand around it.
pub fn read(bytes: &[u8]) -> Result<TraceValue, TraceJsonFault> {
    if bytes.len() > MAX_TRACE_FILE {
        let actual = bytes.len();
        return Err(TraceJsonFault::TooLarge { actual });
    }
    let text = std::str::from_utf8(bytes).map_err(|e| TraceJsonFault::Encoding {
        at: e.valid_up_to(),
    })?;
    let mut reader = JsonReader {
        left: text,
        whole: text.len(),
        values: 0,
        objects: 0,
    };
    let value = reader.value(0)?;
    reader.skip_space();
    match reader.left.is_empty() {
        true => Ok(value),
        false => Err(reader.expected("the end")),
    }
}

/// What is left of a text.
struct JsonReader<'a> {
    left: &'a str,
    whole: usize,
    values: usize,
    objects: usize,
}

impl<'a> JsonReader<'a> {
    fn at(&self) -> usize {
        self.whole - self.left.len()
    }

    fn expected(&self, expected: &'static str) -> TraceJsonFault {
        let at = self.at();
        TraceJsonFault::Syntax { at, expected }
    }

    fn skip_space(&mut self) {
        self.left = self.left.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    /// Takes a word if it stands here.
    fn takes(&mut self, word: &str) -> bool {
        match self.left.strip_prefix(word) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }

    /// Takes so many bytes; the end of them is one of a character.
    fn take(&mut self, length: usize) -> Result<&'a str, TraceJsonFault> {
        let (taken, left) = self
            .left
            .split_at_checked(length)
            .ok_or(self.expected("a whole character"))?;
        self.left = left;
        Ok(taken)
    }

    /// Takes all that is digits.
    fn digits(&mut self) -> &'a str {
        let end = self.left.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, left) = self.left.split_at(end);
        self.left = left;
        digits
    }

    fn value(&mut self, depth: usize) -> Result<TraceValue, TraceJsonFault> {
        self.skip_space();
        self.values += 1;
        if self.values > MAX_VALUES || depth > MAX_DEPTH {
            return Err(TraceJsonFault::TooMuch { at: self.at() });
        }
        match self.left.bytes().next() {
            Some(b'{') => self.map(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => self.text().map(TraceValue::Text),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<TraceValue, TraceJsonFault> {
        for (word, value) in [
            ("null", TraceValue::Null),
            ("true", TraceValue::Flag(true)),
            ("false", TraceValue::Flag(false)),
        ] {
            if self.takes(word) {
                return Ok(value);
            }
        }
        for number in ["NaN", "Infinity"] {
            if self.left.starts_with(number) {
                return Err(self.not_finite(number));
            }
        }
        Err(self.expected("a value"))
    }

    fn not_finite(&self, number: &str) -> TraceJsonFault {
        TraceJsonFault::NotFinite {
            at: self.at(),
            number: number.chars().take(40).collect(),
        }
    }

    fn list(&mut self, depth: usize) -> Result<TraceValue, TraceJsonFault> {
        let mut items = Vec::new();
        self.take(1)?;
        self.skip_space();
        if self.takes("]") {
            return Ok(TraceValue::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip_space();
            if self.takes("]") {
                return Ok(TraceValue::List(items));
            }
            if !self.takes(",") {
                return Err(self.expected("',' or ']'"));
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<TraceValue, TraceJsonFault> {
        self.objects += 1;
        if self.objects > MAX_OBJECTS {
            return Err(TraceJsonFault::TooMuch { at: self.at() });
        }
        let mut entries = BTreeMap::new();
        self.take(1)?;
        self.skip_space();
        if self.takes("}") {
            return Ok(TraceValue::Map(entries));
        }
        loop {
            self.entry(&mut entries, depth)?;
            self.skip_space();
            if self.takes("}") {
                return Ok(TraceValue::Map(entries));
            }
            if !self.takes(",") {
                return Err(self.expected("',' or '}'"));
            }
        }
    }

    fn entry(
        &mut self,
        entries: &mut BTreeMap<String, TraceValue>,
        depth: usize,
    ) -> Result<(), TraceJsonFault> {
        self.skip_space();
        if !self.left.starts_with('"') {
            return Err(self.expected("a key"));
        }
        let key = self.text()?;
        if entries.contains_key(&key) {
            let at = self.at();
            return Err(TraceJsonFault::KeyTwice { at, key });
        }
        self.skip_space();
        if !self.takes(":") {
            return Err(self.expected("':'"));
        }
        let value = self.value(depth + 1)?;
        entries.insert(key, value);
        Ok(())
    }

    fn number(&mut self) -> Result<TraceValue, TraceJsonFault> {
        let start = self.left;
        let is_negative = self.takes("-");
        if is_negative && self.left.starts_with("Infinity") {
            return Err(self.not_finite("-Infinity"));
        }
        let whole = self.digits();
        let is_whole = whole == "0" || !(whole.is_empty() || whole.starts_with('0'));
        if !is_whole {
            return Err(self.expected("a number without leading zeros"));
        }
        let has_places = self.takes(".");
        if has_places && self.digits().is_empty() {
            return Err(self.expected("digits behind the point"));
        }
        let has_exponent = self.takes("e") || self.takes("E");
        if has_exponent {
            let _ = self.takes("+") || self.takes("-");
            if self.digits().is_empty() {
                return Err(self.expected("digits of an exponent"));
            }
        }
        let length = start.len() - self.left.len();
        let (text, _) = start.split_at(length);
        if !has_places && !has_exponent {
            if whole.len() > MAX_DIGITS {
                return Err(self.expected("an integer of at most 4300 digits"));
            }
            return Ok(TraceValue::Number(TraceNumber::integer(text)));
        }
        let double = text.parse::<f64>().ok().and_then(TraceNumber::double);
        double
            .map(TraceValue::Number)
            .ok_or_else(|| self.not_finite(text))
    }

    /// A string, from its quote on.
    fn text(&mut self) -> Result<String, TraceJsonFault> {
        self.take(1)?;
        let mut out = String::new();
        loop {
            let special = |b: u8| b == b'"' || b == b'\\' || b < b' ';
            let end = self.left.bytes().position(special);
            let end = end.ok_or(self.expected("the end of a string"))?;
            out.push_str(self.take(end)?);
            if self.takes("\"") {
                return Ok(out);
            }
            if !self.takes("\\") {
                return Err(self.expected("no control character in a string"));
            }
            out.push(self.escaped()?);
        }
    }

    /// The character that an escape stands for, behind its backslash.
    fn escaped(&mut self) -> Result<char, TraceJsonFault> {
        for (letter, character) in [
            ("\"", '"'),
            ("\\", '\\'),
            ("/", '/'),
            ("b", '\u{8}'),
            ("f", '\u{c}'),
            ("n", '\n'),
            ("r", '\r'),
            ("t", '\t'),
        ] {
            if self.takes(letter) {
                return Ok(character);
            }
        }
        if !self.takes("u") {
            return Err(self.expected("an escape that JSON has"));
        }
        let first = self.half()?;
        let mut halves = vec![first];
        if (0xd800..0xdc00).contains(&first) && self.takes("\\u") {
            halves.push(self.half()?);
        }
        let mut decoded = char::decode_utf16(halves);
        match (decoded.next(), decoded.next()) {
            (Some(Ok(character)), None) => Ok(character),
            _ => Err(TraceJsonFault::Surrogate { at: self.at() }),
        }
    }

    /// Four digits of an escape.
    fn half(&mut self) -> Result<u16, TraceJsonFault> {
        let fault = self.expected("four hexadecimal digits");
        let digits = self.take(4).map_err(|_| fault.clone())?;
        if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(fault);
        }
        u16::from_str_radix(digits, 16).map_err(|_| fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(text: &str) -> Result<String, TraceJsonFault> {
        let mut out = Vec::new();
        read(text.as_bytes())?.write(&mut out);
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn numbers_are_printed_again_as_python_does() {
        for (text, again) in [
            ("1e-5", "1e-05"),
            ("0.00001", "1e-05"),
            ("1E16", "1e+16"),
            ("10000000000000000.0", "1e+16"),
            ("10000000000000000", "10000000000000000"),
            ("-0.0", "-0.0"),
            ("-0", "0"),
            ("1.10", "1.1"),
            ("1e2", "100.0"),
            ("18446744073709551616", "18446744073709551616"),
            (
                "-123456789012345678901234567890",
                "-123456789012345678901234567890",
            ),
            ("1e-400", "0.0"),
        ] {
            assert_eq!(printed(text).as_deref(), Ok(again), "{text}");
        }
    }

    #[test]
    fn strings_and_structure_are_read() {
        for (text, again) in [
            (
                " [ 1 , {\"b\" : null, \"a\":true}\n]\t",
                r#"[1,{"a":true,"b":null}]"#,
            ),
            (
                "\"\\ud83d\\uDE00\\/\u{7f}é\"",
                r#""\ud83d\ude00/\u007f\u00e9""#,
            ),
            (r#""\"\\\b\f\n\r\t\u0001""#, r#""\"\\\b\f\n\r\t\u0001""#),
            (
                "{\"\u{10000}\":1,\"\u{ffff}\":2}",
                r#"{"\uffff":2,"\ud800\udc00":1}"#,
            ),
            ("[]", "[]"),
            ("{}", "{}"),
        ] {
            assert_eq!(printed(text).as_deref(), Ok(again), "{text}");
        }
    }

    #[test]
    fn what_two_readers_could_read_in_two_ways_is_refused() {
        let named = |text: &str, wanted: &str| {
            let fault = printed(text).unwrap_err().to_string();
            assert!(fault.contains(wanted), "{text}: {fault}");
        };
        named(r#"{"a":1,"a":1}"#, "'a' stands twice");
        named(r#"[{"a":1,"\u0061":2}]"#, "'a' stands twice");
        named("NaN", "'NaN'");
        named("[Infinity]", "'Infinity'");
        named("-Infinity", "'-Infinity'");
        named("1e999", "'1e999'");
        named(r#""\ud800""#, "half of a character");
        named(r#""\ud800\u0041""#, "half of a character");
        named(r#""\udc00\ud800""#, "half of a character");
        named(&"[".repeat(100), "deeper in one another");
        named(&format!("[{}0]", "[],".repeat(MAX_VALUES)), "more values");
        named(&"9".repeat(MAX_DIGITS + 1), "4300 digits");
        for text in [
            "",
            " ",
            "[1,]",
            "[1",
            "{\"a\"}",
            "{\"a\":1,}",
            "{a:1}",
            "01",
            "-",
            "1.",
            ".5",
            "1e",
            "+1",
            "tru",
            "\"a",
            "\"\n\"",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"\\u12\"",
            "1 2",
            "[1]]",
            "\"\\u+123\"",
            "\u{feff}1",
            "'a'",
            "\"\\u12é\"",
        ] {
            assert!(printed(text).is_err(), "{text}");
        }
        assert_eq!(read(b"\"\xff\""), Err(TraceJsonFault::Encoding { at: 1 }));
        assert!(matches!(
            read(&vec![b' '; MAX_TRACE_FILE + 1]),
            Err(TraceJsonFault::TooLarge { .. })
        ));
    }
}
