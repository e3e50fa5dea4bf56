//! The 32-byte hash under everything.

use std::fmt;
use std::str::FromStr;

use ring::digest::{Context, Digest, SHA256};
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A SHA-256 value: 32 bytes, spelled as 64 lower-case hexadecimal digits (format, notation).
///
/// One value has one spelling: upper case, other lengths and white space do not parse.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hash32([u8; 32]);

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Why a text is not a hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HashError {
    /// Not 64 digits long.
    #[error("a hash has 64 hexadecimal digits, this has {actual}")]
    Length {
        /// Number of bytes found.
        actual: usize,
    },
    /// A character outside `0-9a-f`.
    #[error("a hash is lower-case hexadecimal, this is not at digit {at}")]
    Digit {
        /// Zero-based position of the first wrong digit.
        at: usize,
    },
}

impl Hash32 {
    /// 32 zero bytes: the final chain hash of a session without interactions, the hash of a local
    /// block.
    pub const ZERO: Hash32 = Hash32([0; 32]);

    /// The genesis hash that every log starts from (format, section 1).
    pub const GENESIS: Hash32 = Hash32([
        0x39, 0xd8, 0x66, 0x8c, 0x9e, 0x1c, 0x18, 0x83, 0x49, 0x31, 0xc2, 0x6b, 0xe6, 0x19, 0x12,
        0xc0, 0x18, 0xfc, 0xc8, 0xe1, 0x7d, 0x52, 0xf3, 0x6b, 0x0a, 0x00, 0xc7, 0x02, 0x0f, 0xe1,
        0xab, 0x69,
    ]);

    /// Wraps raw bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Hash32(bytes)
    }

    /// Hashes one byte string.
    pub fn digest(bytes: &[u8]) -> Self {
        Hash32::of(&ring::digest::digest(&SHA256, bytes))
    }

    /// Hashes the parts joined without separators.
    pub fn of_parts(parts: &[&[u8]]) -> Self {
        let mut hasher = Context::new(&SHA256);
        for part in parts {
            hasher.update(part);
        }
        Hash32::of(&hasher.finish())
    }

    fn of(digest: &Digest) -> Self {
        Hash32(digest.as_ref().try_into().expect("SHA-256 gives 32 bytes"))
    }

    /// The raw bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The 64 digits, where they are compared or written and nothing is kept: a check of a whole
    /// ledger spells millions.
    pub fn digits(&self) -> [u8; 64] {
        let mut digits = [0; 64];
        for (pair, byte) in digits.as_chunks_mut::<2>().0.iter_mut().zip(self.0) {
            *pair = [
                DIGITS[usize::from(byte >> 4)],
                DIGITS[usize::from(byte & 15)],
            ];
        }
        digits
    }

    /// The first 16 hexadecimal digits, as commit subjects carry them.
    pub fn short16(&self) -> String {
        hex::encode(&self.0[..8])
    }

    /// The first 8 hexadecimal digits, as screens show them.
    pub fn short8(&self) -> String {
        hex::encode(&self.0[..4])
    }
}

impl fmt::Display for Hash32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.digits()).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Hash32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Hash32 {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Self, HashError> {
        if text.len() != 64 {
            return Err(HashError::Length { actual: text.len() });
        }
        let mut bytes = [0; 32];
        let mut wrong = 0;
        for (byte, [high, low]) in bytes.iter_mut().zip(text.as_bytes().as_chunks().0) {
            let (high, low) = (VALUES[usize::from(*high)], VALUES[usize::from(*low)]);
            wrong |= high | low;
            *byte = high << 4 | low & 15;
        }
        if wrong == NO_DIGIT {
            let at = text
                .bytes()
                .position(|b| VALUES[usize::from(b)] == NO_DIGIT)
                .unwrap_or_default();
            return Err(HashError::Digit { at });
        }
        Ok(Hash32(bytes))
    }
}

/// What stands in [`VALUES`] for a byte that is no digit.
const NO_DIGIT: u8 = 0xff;

/// The value of each byte as a digit.
const VALUES: [u8; 256] = {
    let mut values = [NO_DIGIT; 256];
    let mut value = 0;
    while value < 16 {
        values[DIGITS[value as usize] as usize] = value;
        value += 1;
    }
    values
};

impl Serialize for Hash32 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer
            .serialize_str(std::str::from_utf8(&self.digits()).map_err(serde::ser::Error::custom)?)
    }
}

impl<'de> Deserialize<'de> for Hash32 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Digits)
    }
}

/// Reads a hash where it stands, without a copy of its digits.
struct Digits;

impl Visitor<'_> for Digits {
    type Value = Hash32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("64 lower-case hexadecimal digits")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Hash32, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_has_one_spelling() {
        let good = Hash32::GENESIS.to_string();
        assert_eq!(good.parse::<Hash32>(), Ok(Hash32::GENESIS));
        assert_eq!(
            good.to_uppercase().parse::<Hash32>(),
            Err(HashError::Digit { at: 2 })
        );
        assert_eq!(
            good[1..].parse::<Hash32>(),
            Err(HashError::Length { actual: 63 })
        );
        assert_eq!(
            format!(" {}", &good[1..]).parse::<Hash32>(),
            Err(HashError::Digit { at: 0 })
        );
        assert!(format!("{good}0").parse::<Hash32>().is_err());
        assert_eq!(Hash32::digest(b"ab"), Hash32::of_parts(&[b"a", b"", b"b"]));
    }
}
