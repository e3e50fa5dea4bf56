//! What a text is made of: how often its characters occur, of which sorts they are, which signs are
//! among them.

use serde::Deserialize;

/// Bits of information for each character of a text, by how often each byte occurs (Shannon).
pub fn entropy(text: &str) -> f64 {
    let mut counts = [0u32; 256];
    for byte in text.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    let all = number(text.len()).max(1.0);
    // Each byte is counted where it is met first.
    let mut sum = 0.0;
    for byte in text.bytes() {
        let count = std::mem::take(&mut counts[usize::from(byte)]);
        if count > 1 {
            sum += f64::from(count) * f64::from(count).log2();
        }
    }
    all.log2() - sum / all
}

/// How many letters, capitals, digits and others a text has.
#[derive(Clone, Copy, Default)]
pub struct CharacterCounts {
    pub lower: usize,
    pub upper: usize,
    pub digits: usize,
    pub others: usize,
}

/// Most bytes that are counted at once: no column overflows.
const COUNTED: usize = 0xffff;

/// What a byte adds to the reading of a text.
#[derive(Clone, Copy)]
struct ByteReading {
    /// One in its column of the counts: small letters, capitals, digits, others; 16 bits a column.
    column: u64,
    sign: Signs,
}

static BYTES: [ByteReading; 256] = bytes();

const fn bytes() -> [ByteReading; 256] {
    let mut table = [ByteReading {
        column: 1 << 48,
        sign: Signs::FOREIGN,
    }; 256];
    let mut at = 0;
    while at < 128 {
        let b = at as u8;
        if b.is_ascii_lowercase() {
            table[at].column = 1;
        } else if b.is_ascii_uppercase() {
            table[at].column = 1 << 16;
        } else if b.is_ascii_digit() {
            table[at].column = 1 << 32;
        }
        table[at].sign = Signs::of_ascii(b);
        at += 1;
    }
    table
}

/// The signs that have a bit of their own.
const SIGNS: &[u8; 33] = b" !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

/// Which characters a text has: a bit for each sign of ASCII, and one for each sort of all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Signs(u64);

impl TryFrom<String> for Signs {
    type Error = String;

    fn try_from(list: String) -> Result<Self, String> {
        if list.bytes().all(|b| SIGNS.contains(&b)) {
            Ok(Signs::among(list.as_bytes()))
        } else {
            Err(format!("{list:?} has more in it than signs of ASCII"))
        }
    }
}

impl Signs {
    pub const DIGIT: Signs = Signs(1 << 33);
    /// The letters of hexadecimal numbers.
    pub const HEX_LETTER: Signs = Signs(1 << 34);
    /// The letters that parts of stand-ins begin with: `xxxx`, `placeholder`, `your_`.
    pub const STAND_IN_LETTER: Signs = Signs(1 << 35);
    pub const OTHER_LETTER: Signs = Signs(1 << 36);
    pub const CONTROL: Signs = Signs(1 << 37);
    /// What is no ASCII.
    pub const FOREIGN: Signs = Signs(1 << 38);
    /// ASCII letters and digits.
    pub const ALPHANUMERIC: Signs = Self::DIGIT
        .or(Self::HEX_LETTER)
        .or(Self::STAND_IN_LETTER)
        .or(Self::OTHER_LETTER);

    /// The bit of one character of ASCII.
    const fn of_ascii(byte: u8) -> Signs {
        let mut nth = 0;
        while nth < SIGNS.len() {
            if SIGNS[nth] == byte {
                return Signs(1 << nth);
            }
            nth += 1;
        }
        match byte {
            b'0'..=b'9' => Signs::DIGIT,
            b'a'..=b'f' | b'A'..=b'F' => Signs::HEX_LETTER,
            b'x' | b'X' | b'y' | b'Y' | b'p' | b'P' => Signs::STAND_IN_LETTER,
            b'a'..=b'z' | b'A'..=b'Z' => Signs::OTHER_LETTER,
            _ => Signs::CONTROL,
        }
    }

    /// Those of a list of ASCII signs.
    pub const fn among(list: &[u8]) -> Signs {
        let (mut all, mut at) = (Signs(0), 0);
        while at < list.len() {
            all = all.or(Signs::of_ascii(list[at]));
            at += 1;
        }
        all
    }

    /// The one that a byte is.
    pub fn at(byte: u8) -> Self {
        BYTES[usize::from(byte)].sign
    }

    pub const fn or(self, other: Signs) -> Signs {
        Signs(self.0 | other.0)
    }

    /// Whether one of those is among them.
    pub const fn any(self, others: Signs) -> bool {
        self.0 & others.0 != 0
    }

    /// Whether there are no others than those.
    pub const fn only(self, others: Signs) -> bool {
        self.0 & !others.0 == 0
    }

    /// How many of those are among them.
    pub const fn count(self, others: Signs) -> usize {
        (self.0 & others.0).count_ones() as usize
    }
}

impl CharacterCounts {
    /// Those of a text, and its signs: one reading tells both.
    pub fn of(text: &str) -> (Self, Signs) {
        let (mut counts, mut signs) = (CharacterCounts::default(), Signs::default());
        for piece in text.as_bytes().chunks(COUNTED) {
            let mut columns = 0;
            for byte in piece {
                let read = BYTES[usize::from(*byte)];
                columns += read.column;
                signs = signs.or(read.sign);
            }
            let column = |nth: u32| usize::from((columns >> (16 * nth)) as u16);
            counts.lower += column(0);
            counts.upper += column(1);
            counts.digits += column(2);
            counts.others += column(3);
        }
        if signs.any(Signs::FOREIGN) {
            counts = CharacterCounts::of_characters(text);
        }
        (counts, signs)
    }

    /// Those of a text that is not of ASCII alone.
    fn of_characters(text: &str) -> Self {
        let mut counts = CharacterCounts::default();
        for c in text.chars() {
            match c {
                _ if c.is_lowercase() => counts.lower += 1,
                _ if c.is_uppercase() => counts.upper += 1,
                _ if c.is_ascii_digit() => counts.digits += 1,
                _ => counts.others += 1,
            }
        }
        counts
    }

    pub fn letters(self) -> usize {
        self.lower + self.upper
    }

    /// How many of the four sorts are there.
    pub fn sorts(self) -> usize {
        [self.lower, self.upper, self.digits, self.others]
            .iter()
            .filter(|count| **count > 0)
            .count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_signs_are_read_at_once() {
        let (counts, signs) = CharacterCounts::of("aB3-ß");
        assert_eq!(
            [counts.lower, counts.upper, counts.digits, counts.others],
            [2, 1, 1, 1]
        );
        assert!(signs.any(Signs::among(b"-")) && !signs.any(Signs::among(b"_")));
        assert!(signs.any(Signs::FOREIGN) && !signs.only(Signs::ALPHANUMERIC));
        let long = "a".repeat(3 * COUNTED);
        assert_eq!(CharacterCounts::of(&long).0.lower, long.len());
    }

    #[test]
    fn every_character_of_ascii_has_one_bit() {
        for byte in 0..128_u8 {
            assert_eq!(Signs::of_ascii(byte).0.count_ones(), 1, "{byte}");
            let letter = Signs::of_ascii(byte).only(Signs::ALPHANUMERIC);
            assert_eq!(letter, byte.is_ascii_alphanumeric(), "{byte}");
        }
        assert!(SIGNS.iter().all(|b| b.is_ascii_punctuation() || *b == b' '));
    }
}
