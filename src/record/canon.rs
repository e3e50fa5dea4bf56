//! Canonical JSON (RFC 8785), and reading only what a writer would have written.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::hash::Hash32;
use super::plain::plain_is_canonical;

/// Why a document can't be written or read.
#[derive(Debug, thiserror::Error)]
pub enum CanonError {
    /// The value has no canonical form (a non-finite number, a non-string key).
    #[error("no canonical JSON for this value: {reason}")]
    Unprintable {
        /// The serializer's words.
        reason: String,
    },
    /// Not JSON of this shape: unknown, missing or repeated keys, wrong types, not UTF-8.
    #[error("not a document of this kind: {reason}")]
    Shape {
        /// The parser's words.
        reason: String,
    },
    /// Parses, but a writer would have spelled it otherwise.
    #[error("not canonical JSON: differs from what a writer prints at byte {at}")]
    Spelling {
        /// First differing byte.
        at: usize,
    },
}

/// Prints a value as RFC 8785 JSON: UTF-8, sorted keys, no newline at the end.
///
/// The plain print is taken where it is seen to be canonical, which is so for types that declare
/// their keys in order; all others are sorted.
pub fn print<T: Serialize>(value: &T) -> Result<String, CanonError> {
    match serde_json::to_string(value) {
        Ok(plain) if plain_is_canonical(plain.as_bytes()) => Ok(plain),
        _ => serde_json_canonicalizer::to_string(value).map_err(|e| CanonError::Unprintable {
            reason: e.to_string(),
        }),
    }
}

/// SHA-256 of the canonical print.
pub fn digest<T: Serialize>(value: &T) -> Result<Hash32, CanonError> {
    Ok(Hash32::digest(print(value)?.as_bytes()))
}

/// Parses a document, prints it again, and accepts it only when the bytes are the same.
pub fn parse<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Result<T, CanonError> {
    let value: T = serde_json::from_slice(bytes).map_err(|e| CanonError::Shape {
        reason: e.to_string(),
    })?;
    // The good case: the plain print is compared while it is made, and is seen to be canonical.
    let mut left = Remainder(bytes);
    if serde_json::to_writer(&mut left, &value).is_ok()
        && left.0.is_empty()
        && plain_is_canonical(bytes)
    {
        return Ok(value);
    }
    let again = print(&value)?;
    if again.as_bytes() == bytes {
        return Ok(value);
    }
    let at = again
        .bytes()
        .zip(bytes)
        .take_while(|(a, b)| a == *b)
        .count();
    Err(CanonError::Spelling { at })
}

/// A type whose plain JSON is canonical: its keys are declared in their sorted order, in every part
/// of it, and its numbers are integers.
///
/// A test for each such type holds it: the plain print and [`print()`] of a value are the same.
pub trait InOrder: Serialize + DeserializeOwned {}

/// Whether every number in a text is one that both prints spell alike.
///
/// Digits inside of a string may be taken for a number where a sign of punctuation stands before
/// them, but no number is taken for a string.
fn has_small_numbers(bytes: &[u8]) -> bool {
    let mut before = b'[';
    bytes
        .chunk_by(|a, b| a.is_ascii_digit() && b.is_ascii_digit())
        .all(|run| {
            let is_number = matches!(before, b':' | b',' | b'[' | b'-');
            before = run.last().copied().unwrap_or_default();
            !is_number || run.len() <= SMALL
        })
}

/// [`parse`], faster for the good case: the plain print is compared while it is made.
///
/// It differs from the canonical one in integers only, from 2^53 on; of a document that may hold
/// one, and of one that differs, [`parse`] decides.
pub fn parse_in_order<T: InOrder>(bytes: &[u8]) -> Result<T, CanonError> {
    let value: T = serde_json::from_slice(bytes).map_err(|e| CanonError::Shape {
        reason: e.to_string(),
    })?;
    let mut left = Remainder(bytes);
    if has_small_numbers(bytes)
        && serde_json::to_writer(&mut left, &value).is_ok()
        && left.0.is_empty()
    {
        return Ok(value);
    }
    parse(bytes)
}

/// Digits of a number that is surely below 2^53.
const SMALL: usize = 15;

/// What is left of bytes that are compared with what is printed.
pub(super) struct Remainder<'a>(pub &'a [u8]);

impl std::io::Write for Remainder<'_> {
    fn write(&mut self, printed: &[u8]) -> std::io::Result<usize> {
        self.0 = self
            .0
            .strip_prefix(printed)
            .ok_or(std::io::ErrorKind::InvalidData)?;
        Ok(printed.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl std::fmt::Write for Remainder<'_> {
    fn write_str(&mut self, printed: &str) -> std::fmt::Result {
        let compared = std::io::Write::write_all(self, printed.as_bytes());
        compared.map_err(|_| std::fmt::Error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_are_seen_and_digits_of_hashes_are_none() {
        for small in [
            "{\"a\":123456789012345}",
            "[1,-2]",
            "7",
            "{\"a\":\"f1234567890123456789\"}",
            "\"x 12345678901234567\"",
        ] {
            assert!(has_small_numbers(small.as_bytes()), "{small}");
        }
        for large in [
            "{\"a\":1234567890123456}",
            "[1,1234567890123456]",
            "[1234567890123456]",
            "-1234567890123456",
            "1234567890123456",
        ] {
            assert!(!has_small_numbers(large.as_bytes()), "{large}");
        }
    }

    #[test]
    fn known_answers() {
        let vectors: Vec<serde_json::Value> =
            serde_json::from_str(include_str!("../../tests/vectors/jcs.json")).unwrap();
        assert!(!vectors.is_empty());
        for vector in vectors {
            let printed = print(&vector["value"]).unwrap();
            assert_eq!(printed, vector["canonical"].as_str().unwrap());
            assert_eq!(
                Hash32::digest(printed.as_bytes()).to_string(),
                vector["sha256"].as_str().unwrap()
            );
            assert!(parse::<serde_json::Value>(printed.as_bytes()).is_ok());
            assert!(parse::<serde_json::Value>(format!("{printed}\n").as_bytes()).is_err());
        }
        assert!(matches!(
            parse::<serde_json::Value>(b"{\"a\":1, \"b\":2}"),
            Err(CanonError::Spelling { at: 7 })
        ));
        assert!(parse::<serde_json::Value>(b"{\"a\":1,\"a\":1}").is_err());
    }
}
