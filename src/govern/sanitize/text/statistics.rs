//! What a text is made of: how often its characters occur, of which sorts they are, which signs are
//! among them.

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

/// For each byte, one in its column of the counts: small letters, capitals, digits, others; 16 bits
/// a column.
static COLUMNS: [u64; 256] = columns();

const fn columns() -> [u64; 256] {
    let mut table = [1 << 48; 256];
    let mut at = 0;
    while at < 128 {
        let b = at as u8;
        if b.is_ascii_lowercase() {
            table[at] = 1;
        } else if b.is_ascii_uppercase() {
            table[at] = 1 << 16;
        } else if b.is_ascii_digit() {
            table[at] = 1 << 32;
        }
        at += 1;
    }
    table
}

/// Most bytes that are counted at once: no column overflows.
const COUNTED: usize = 0xffff;

/// The signs of a text, as bits: those that code, paths, sentences and stand-ins can't do without.
#[derive(Clone, Copy)]
pub struct Signs(u16);

pub const SLASH: u16 = 1;
const UNDER: u16 = 1 << 1;
const STAR: u16 = 1 << 2;
const X: u16 = 1 << 3;
const Y_OR_P: u16 = 1 << 4;
pub const ROUND: u16 = 1 << 5;
pub const SQUARE: u16 = 1 << 6;
pub const DOT: u16 = 1 << 7;
pub const COLON: u16 = 1 << 8;
pub const ARROW: u16 = 1 << 9;
pub const EQUALS: u16 = 1 << 10;
/// Of code: without one of them there is none.
pub const OF_CODE: u16 = ROUND | SQUARE | DOT | COLON | ARROW | EQUALS;
/// How parts of stand-ins begin.
pub const OF_STAND_INS: u16 = X | STAR | Y_OR_P | UNDER;

static SIGNS: [u16; 256] = signs();

const fn signs() -> [u16; 256] {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 128 {
        table[at] = match at as u8 {
            b'/' | b'\\' => SLASH,
            b'_' | b'-' => UNDER,
            b'*' => STAR,
            b'x' | b'X' => X,
            b'y' | b'Y' | b'p' | b'P' => Y_OR_P,
            b'(' => ROUND,
            b'[' => SQUARE,
            b'.' => DOT,
            b':' => COLON,
            b'>' => ARROW,
            b'=' => EQUALS,
            _ => 0,
        };
        at += 1;
    }
    table
}

impl Signs {
    /// The signs of a text.
    pub fn of(text: &str) -> Self {
        Signs(text.bytes().fold(0, |all, b| all | SIGNS[usize::from(b)]))
    }

    /// The sign that a byte is, if it is one.
    pub fn at(byte: u8) -> Self {
        Signs(SIGNS[usize::from(byte)])
    }

    /// Whether one of those is among them.
    pub fn any(self, bits: u16) -> bool {
        self.0 & bits != 0
    }
}

impl CharacterCounts {
    /// Those of a text.
    pub fn of(text: &str) -> Self {
        let mut counts = CharacterCounts::default();
        if text.is_ascii() {
            for piece in text.as_bytes().chunks(COUNTED) {
                let columns = piece.iter().map(|b| COLUMNS[usize::from(*b)]).sum::<u64>();
                let column = |nth: u32| usize::from((columns >> (16 * nth)) as u16);
                counts.lower += column(0);
                counts.upper += column(1);
                counts.digits += column(2);
                counts.others += column(3);
            }
            return counts;
        }
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
