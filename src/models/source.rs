//! Reading what a server wrote without losing what a plain reader refuses.
//!
//! What becomes the answer is read strictly, and everything else is passed over then; so a server
//! could put something odd beside its answer, and nothing of what came beside it could be read. Here
//! each value that has no form of its own is kept as a string with the source text of it:
//! - a string that is no text (half of a surrogate pair, bytes that are not UTF-8): what stands
//!   between its quotation marks;
//! - a number that no double says exactly as it is written (`1e400`, thirty digits);
//! - what is nested deeper than [`MAX_NESTING`].

use serde_json::{Map, Number, Value};

/// Deeper than any answer; with what is put around it in the record still within what readers read.
const MAX_NESTING: usize = 96;
/// Characters of a number beyond which it is not compared digit by digit.
const MAX_NUMBER: usize = 1000;

/// Reads JSON; none where it is none.
pub(super) fn read(bytes: &[u8]) -> Option<Value> {
    let mut reader = SourceReader { bytes, at: 0 };
    let value = reader.value(0)?;
    reader.blanks();
    (reader.at == bytes.len()).then_some(value)
}

struct SourceReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl SourceReader<'_> {
    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Passes a sign, if it is next behind blanks.
    fn takes(&mut self, sign: u8) -> bool {
        self.blanks();
        let is_next = self.peek() == Some(sign);
        self.at += usize::from(is_next);
        is_next
    }

    fn since(&self, start: usize) -> String {
        let source = self.bytes.get(start..self.at).unwrap_or_default();
        String::from_utf8_lossy(source).into_owned()
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        self.blanks();
        match self.peek()? {
            b'{' | b'[' if depth >= MAX_NESTING => {
                let start = self.at;
                self.pass_nested()?;
                Some(Value::String(self.since(start)))
            }
            b'{' => self.object(depth).map(Value::Object),
            b'[' => self.array(depth).map(Value::Array),
            b'"' => self.string().map(Value::String),
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<Map<String, Value>> {
        let mut map = Map::new();
        self.at += 1;
        if self.takes(b'}') {
            return Some(map);
        }
        loop {
            self.blanks();
            let key = self.string()?;
            if !self.takes(b':') {
                return None;
            }
            map.insert(key, self.value(depth + 1)?);
            if self.takes(b'}') {
                return Some(map);
            }
            if !self.takes(b',') {
                return None;
            }
        }
    }

    fn array(&mut self, depth: usize) -> Option<Vec<Value>> {
        let mut list = Vec::new();
        self.at += 1;
        if self.takes(b']') {
            return Some(list);
        }
        loop {
            list.push(self.value(depth + 1)?);
            if self.takes(b']') {
                return Some(list);
            }
            if !self.takes(b',') {
                return None;
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        let start = self.at;
        self.pass_string()?;
        let source = self.bytes.get(start..self.at)?;
        let inner = source.get(1..source.len() - 1)?;
        let read = serde_json::from_slice(source).ok();
        Some(read.unwrap_or_else(|| String::from_utf8_lossy(inner).into_owned()))
    }

    fn pass_string(&mut self) -> Option<()> {
        if self.peek()? != b'"' {
            return None;
        }
        self.at += 1;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Some(())
    }

    /// Passes a list or an object, however deep.
    fn pass_nested(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'"' => {
                    self.pass_string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.checked_sub(1)?,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Some(());
            }
        }
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> Option<Value> {
        let start = self.at;
        let is_part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
        while self.peek().is_some_and(is_part) {
            self.at += 1;
        }
        let source = self.since(start);
        match serde_json::from_str::<Value>(&source) {
            Ok(Value::Number(number)) => Some(match says_the_same(&source, &number) {
                true => Value::Number(number),
                false => Value::String(source),
            }),
            Ok(value) => Some(value),
            // Too large for a double; anything else would be no JSON.
            Err(_) => {
                let is_number = source.starts_with(|c: char| c == '-' || c.is_ascii_digit());
                is_number.then_some(Value::String(source))
            }
        }
    }
}

/// Whether a number that was read is the one that was written, in canonical print too: every double
/// is, whole numbers are up to 2^53.
fn says_the_same(source: &str, number: &Number) -> bool {
    let double = number.as_f64().unwrap_or(f64::NAN);
    source.len() <= MAX_NUMBER
        && double.is_finite()
        && decimal(source).is_some_and(|written| decimal(&format!("{double:e}")) == Some(written))
}

/// Sign, digits without zeros around them, and the power of ten of the last one.
fn decimal(text: &str) -> Option<(bool, String, i64)> {
    let (digits, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let power: i64 = power.parse().ok()?;
    let (digits, is_negative) = match digits.strip_prefix('-') {
        Some(digits) => (digits, true),
        None => (digits, false),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{fraction}");
    let kept = all.trim_end_matches('0');
    let dropped = i64::try_from(all.len() - kept.len()).ok()?;
    let power = power.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    let kept = kept.trim_start_matches('0');
    match kept {
        "" => Some((is_negative, String::new(), 0)),
        _ => Some((is_negative, kept.to_owned(), power.checked_add(dropped)?)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_json_is_read_as_any_reader_reads_it() {
        for text in [
            "null",
            "true",
            "[]",
            "{}",
            " [ 1 , -2,\t3.5 ]\n",
            "1e3",
            "-0",
            "0.1",
            "1.50",
            "-0.0",
            "5e-324",
            r#"{"a":{"b":[{"c":"x\n\u00e9 \" \\"},[]]},"d":"","":null}"#,
            r#"["😀","\ud83d\ude00"]"#,
            "9007199254740991",
            "1767657600",
            "0.30000000000000004",
        ] {
            let plain: Value = serde_json::from_str(text).unwrap();
            assert_eq!(read(text.as_bytes()), Some(plain), "{text}");
        }
        for none in [
            "", "{", "[1", "[1,]", "{\"a\"}", "x", "[1] 2", "\"a", "\"a\\", "{\"a\":}", "]", "nul",
        ] {
            assert_eq!(read(none.as_bytes()), None, "{none}");
        }
    }

    #[test]
    fn what_has_no_form_keeps_its_source() {
        for (text, kept) in [
            (
                r#"{"a":"x\ud800y","b":1}"#,
                json!({"a": "x\\ud800y", "b": 1}),
            ),
            (r#"{"\udc00":1}"#, json!({"\\udc00": 1})),
            ("[1e400,-1E400]", json!(["1e400", "-1E400"])),
            (
                "123456789012345678901234567890",
                json!("123456789012345678901234567890"),
            ),
            (
                "0.1000000000000000000001",
                json!("0.1000000000000000000001"),
            ),
            ("9007199254740993", json!("9007199254740993")),
            ("1e-400", json!("1e-400")),
        ] {
            assert_eq!(read(text.as_bytes()), Some(kept), "{text}");
        }
        assert_eq!(read(b"[\"a\xff\"]"), Some(json!(["a\u{fffd}"])));
    }

    #[test]
    fn what_is_nested_too_deep_is_source_from_there_on() {
        let deep = format!(
            "{{\"a\":{}\"]\"{},\"b\":1}}",
            "[".repeat(5000),
            "]".repeat(5000)
        );
        let read = read(deep.as_bytes()).unwrap();
        assert_eq!(read["b"], 1);
        let mut inner = &read["a"];
        while let Some(next) = inner.get(0) {
            inner = next;
        }
        let left = 5000 - (MAX_NESTING - 1);
        assert_eq!(
            inner,
            &json!(format!("{}\"]\"{}", "[".repeat(left), "]".repeat(left)))
        );
    }
}
