//! The DETAILS field of a log line: `key:value` joined by `,` (format, section 4).
//!
//! ```text
//! seq:2,model:a%2Cb%7Cc%25d%C3%A9,reason:timeout
//! ```
//!
//! Only `%`, `|`, `,` and bytes outside printable ASCII are escaped, in upper case; one value has
//! one spelling. An empty list is `-`.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::fmt::Write as _;

use super::entry::{EntryError, excerpt};
use super::event::DriftClass;
use crate::record::bitcoin::block::Header;
use crate::record::hash::Hash32;
use crate::record::time::Seconds;

/// What stands for an empty DETAILS, and for a line outside any session.
pub(crate) const NONE: &str = "-";

/// Whether a byte of a value stands for itself.
fn is_plain(byte: u8) -> bool {
    matches!(byte, 0x20..=0x7e) && !matches!(byte, b'%' | b'|' | b',')
}

/// Percent-encodes what is written through it.
struct PercentEncoder<'a, W>(&'a mut W);

impl<W: fmt::Write> fmt::Write for PercentEncoder<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if text.bytes().all(is_plain) {
            return self.0.write_str(text);
        }
        for byte in text.bytes() {
            if is_plain(byte) {
                self.0.write_char(char::from(byte))?;
            } else {
                write!(self.0, "%{byte:02X}")?;
            }
        }
        Ok(())
    }
}

/// Writes pairs of key and plain value as DETAILS.
pub(crate) fn write(pairs: &[(&str, &dyn fmt::Display)], out: &mut impl fmt::Write) -> fmt::Result {
    if pairs.is_empty() {
        return out.write_str(NONE);
    }
    for (n, (key, value)) in pairs.iter().enumerate() {
        if n > 0 {
            out.write_char(',')?;
        }
        out.write_str(key)?;
        out.write_char(':')?;
        write!(PercentEncoder(out), "{value}")?;
    }
    Ok(())
}

/// The same as a text of its own.
pub(crate) fn print(pairs: &[(&str, &dyn fmt::Display)]) -> String {
    let mut out = String::new();
    write(pairs, &mut out).expect("writing to a String does not fail");
    out
}

/// A key and its decoded value, which mostly stands in the line as it is.
pub(crate) type Pair<'a> = (&'a str, Cow<'a, str>);

/// Reads DETAILS into pairs of key and decoded value, in their order.
///
/// Refuses keys outside `[a-z_]+`, a key that stands twice, empty values, needless, lower-case or
/// cut escapes, and values that are not UTF-8.
pub(crate) fn parse(details: &str) -> Result<Vec<Pair<'_>>, EntryError> {
    if details == NONE {
        return Ok(Vec::new());
    }
    let mut seen = BTreeSet::new();
    let mut pairs = Vec::new();
    for part in details.split(',') {
        let (key, value) = part.split_once(':').ok_or_else(|| EntryError::Pair {
            actual: excerpt(part),
        })?;
        if !is_key(key) {
            return Err(EntryError::Key {
                actual: excerpt(key),
            });
        }
        if !seen.insert(key) {
            return Err(EntryError::KeyTwice { key: excerpt(key) });
        }
        if value.is_empty() {
            return Err(EntryError::Empty { key: excerpt(key) });
        }
        pairs.push((key, unescape(key, value)?));
    }
    Ok(pairs)
}

/// Whether a text is `[a-z_]+`.
fn is_key(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'_'))
}

/// Whether a text is `[a-z0-9_]+`, as EVENT_TYPE is.
pub(crate) fn is_event_type(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_'))
}

/// Whether a text is `[a-z0-9_.]+`, as CODE, K and severity are.
fn is_code(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.'))
}

fn unescape<'a>(key: &str, value: &'a str) -> Result<Cow<'a, str>, EntryError> {
    if value.bytes().all(is_plain) {
        return Ok(Cow::Borrowed(value));
    }
    let wrong = || EntryError::Escape {
        key: excerpt(key),
        actual: excerpt(value),
    };
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let high = rest.next().and_then(digit).ok_or_else(wrong)?;
            let low = rest.next().and_then(digit).ok_or_else(wrong)?;
            let decoded = high << 4 | low;
            // An escape that is not needed would give one value two spellings.
            if is_plain(decoded) {
                return Err(wrong());
            }
            bytes.push(decoded);
        } else if is_plain(byte) {
            bytes.push(byte);
        } else {
            return Err(wrong());
        }
    }
    String::from_utf8(bytes)
        .map(Cow::Owned)
        .map_err(|_| EntryError::Utf8 {
            key: excerpt(key),
            actual: excerpt(value),
        })
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// The pairs of a known event, before its keys are checked.
pub(crate) struct DetailFields<'a> {
    /// EVENT_TYPE, for the error.
    pub(crate) event: &'a str,
    /// In the order of the line.
    pub(crate) pairs: Vec<Pair<'a>>,
}

impl<'a> DetailFields<'a> {
    /// Keys and values as they stand, of an event that no table has.
    pub(crate) fn owned(self) -> Vec<(String, String)> {
        let pairs = self.pairs.into_iter();
        pairs
            .map(|(key, value)| (key.to_owned(), value.into_owned()))
            .collect()
    }

    /// Hands out the values when the keys are exactly `keys` in this order.
    pub(crate) fn take<const N: usize>(
        self,
        keys: [&'static str; N],
    ) -> Result<[DetailField<'a>; N], EntryError> {
        let found = || self.pairs.iter().map(|(key, _)| *key);
        if !found().eq(keys) {
            return Err(EntryError::Keys {
                event: self.event.to_owned(),
                expected: keys.join(","),
                actual: excerpt(&found().collect::<Vec<_>>().join(",")),
            });
        }
        let mut values = self.pairs.into_iter().map(|(_, value)| value);
        Ok(keys.map(|key| DetailField {
            key,
            value: values.next().unwrap_or_default(),
        }))
    }
}

/// One value of a known event, read as what the table says it is.
pub(crate) struct DetailField<'a> {
    key: &'static str,
    value: Cow<'a, str>,
}

impl DetailField<'_> {
    fn wrong(&self, expected: &'static str) -> EntryError {
        EntryError::Value {
            key: self.key,
            expected,
            actual: excerpt(&self.value),
        }
    }

    fn parsed<T: std::str::FromStr>(&self, expected: &'static str) -> Result<T, EntryError> {
        self.value.parse().map_err(|_| self.wrong(expected))
    }

    fn kept_if(self, holds: bool, expected: &'static str) -> Result<String, EntryError> {
        if holds {
            Ok(self.value.into_owned())
        } else {
            Err(self.wrong(expected))
        }
    }

    pub(crate) fn hash(self) -> Result<Hash32, EntryError> {
        self.parsed("64 lower-case hexadecimal digits")
    }

    pub(crate) fn header(self) -> Result<Header, EntryError> {
        self.parsed("160 lower-case hexadecimal digits")
    }

    pub(crate) fn time(self) -> Result<Seconds, EntryError> {
        self.parsed("a time of the form 2025-12-31T04:25:37Z")
    }

    /// A number without sign or leading zero.
    pub(crate) fn number(self) -> Result<u64, EntryError> {
        number(&self.value).ok_or_else(|| self.wrong("a number without leading zero"))
    }

    /// A count of something that happened: at least 1.
    pub(crate) fn positive(self) -> Result<u64, EntryError> {
        let found = number(&self.value).filter(|n| *n > 0);
        found.ok_or_else(|| self.wrong("a number from 1, without leading zero"))
    }

    pub(crate) fn height(self) -> Result<u32, EntryError> {
        height(&self.value).ok_or_else(|| self.wrong("a block height without leading zero"))
    }

    pub(crate) fn branch(self) -> Result<String, EntryError> {
        let holds = matches!(
            self.value.strip_prefix("branch-"),
            Some("1" | "2" | "3" | "4" | "5" | "6" | "7")
        );
        self.kept_if(holds, "branch-1 to branch-7")
    }

    pub(crate) fn short_hash(self) -> Result<String, EntryError> {
        let holds = self.value.len() == 16
            && self
                .value
                .bytes()
                .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        self.kept_if(holds, "16 lower-case hexadecimal digits")
    }

    pub(crate) fn code(self) -> Result<String, EntryError> {
        let holds = is_code(&self.value);
        self.kept_if(holds, "a code of a-z, 0-9, _ and .")
    }

    pub(crate) fn drift_class(self) -> Result<DriftClass, EntryError> {
        let found = DriftClass::ALL
            .into_iter()
            .find(|class| class.name() == self.value);
        found.ok_or_else(|| self.wrong("authority, evidence, tone, schema or completeness"))
    }

    /// Free text; that it is not empty was seen when DETAILS were split.
    pub(crate) fn text(self) -> Result<String, EntryError> {
        Ok(self.value.into_owned())
    }
}

/// A decimal number without sign or leading zero.
pub(crate) fn number(text: &str) -> Option<u64> {
    let zero_led = text.len() > 1 && text.starts_with('0');
    if zero_led || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// A block height, as BTC_HEIGHT and `btc:` spell it.
pub(crate) fn height(text: &str) -> Option<u32> {
    number(text).and_then(|n| u32::try_from(n).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_prints_parses_back() {
        for (value, spelled) in [
            ("plain text: a/b", "plain text: a/b"),
            ("a,b|c%dé", "a%2Cb%7Cc%25d%C3%A9"),
            ("\u{0}\n\u{7f}~ ", "%00%0A%7F~ "),
            ("-", "-"),
        ] {
            let text = print(&[("k_x", &value), ("z", &1)]);
            assert_eq!(text, format!("k_x:{spelled},z:1"));
            let read = parse(&text).unwrap();
            assert_eq!(read, [("k_x", Cow::from(value)), ("z", Cow::from("1"))]);
        }
        assert_eq!(print(&[]), "-");
        assert_eq!(parse("-"), Ok(Vec::new()));
    }

    #[test]
    fn one_character_mistakes() {
        for wrong in [
            "", ",", "a", "a:", ":1", "a:1,", ",a:1", "a:1,a:2", "A:1", "a1:1", "a-b:1", "a:%",
            "a:%2", "a:%2c", "a:%41", "a:%20", "a:%FF", "a:%C3", "a:%GG", "a:%%", "a:x|y", "a:é",
            "a:1,,b:2", "a :1", "--", "-,a:1",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
