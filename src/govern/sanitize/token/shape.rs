//! What can be told of a token without what stands around it: random, a word, a stand-in, code.

use std::cell::OnceCell;

use crate::govern::sanitize::text::statistics::{
    ARROW, COLON, DOT, EQUALS, Makeup, OF_CODE, OF_STAND_INS, ROUND, SLASH, SQUARE, Signs, makeup,
};
use crate::govern::sanitize::vocabulary::vocabulary;

/// A token, and what it is made of; what is asked for several times is told once.
pub(in crate::govern::sanitize) struct TokenShape<'a> {
    pub(in crate::govern::sanitize) text: &'a str,
    made: OnceCell<Makeup>,
    signs: OnceCell<Signs>,
    wordiness: OnceCell<usize>,
}

/// Longest run of letters that may be one word.
const MAX_WORD: usize = 14;
/// Shortest run of letters that counts as a word.
const MIN_WORD: usize = 4;
/// Most consonants in a row inside a word.
const MAX_CONSONANTS: usize = 4;

/// For each letter, those that follow it in no word of the languages that people name things in.
#[rustfmt::skip]
const NEVER_AFTER: [&[u8]; 26] = [
    b"", b"qxz", b"bgjvwx", b"xz", b"", b"qxz", b"qvxz", b"xz", b"", b"bcdfghjklmnpqrstvwxyz", b"qxz", b"qxz", b"qxz", b"q",
    b"", b"qvxz", b"bcdefghijklmnopqrstvwxyz", b"qx", b"xz", b"q", b"", b"bcdfghjkmnpqtwxz", b"qvxz", b"jkqrz", b"q",
    b"bcdfgjkmnpqrstvwx",
];

/// The same as a bit for each letter.
static NEVER: [u32; 26] = never();

const fn never() -> [u32; 26] {
    let (mut table, mut first) = ([0; 26], 0);
    while first < 26 {
        let mut at = 0;
        while at < NEVER_AFTER[first].len() {
            table[first] |= 1 << (NEVER_AFTER[first][at] - b'a');
            at += 1;
        }
        first += 1;
    }
    table
}

/// Whether of two letters the second follows the first in no word.
fn never_meet(first: u8, second: u8) -> bool {
    let nth = |letter: u8| letter.to_ascii_lowercase().wrapping_sub(b'a');
    NEVER
        .get(usize::from(nth(first)))
        .is_some_and(|never| (never >> (nth(second) & 31)) & 1 == 1)
}

/// Whether letters of one case could be said: vowels among them, few consonants in a row.
fn can_be_said(word: &[u8]) -> bool {
    if !(MIN_WORD..=MAX_WORD).contains(&word.len()) {
        return false;
    }
    if word.windows(2).any(|two| never_meet(two[0], two[1])) {
        return false;
    }
    let (mut vowels, mut run, mut longest) = (0, 0, 0);
    for byte in word {
        if matches!(
            byte.to_ascii_lowercase(),
            b'a' | b'e' | b'i' | b'o' | b'u' | b'y'
        ) {
            vowels += 1;
            run = 0;
        } else {
            run += 1;
            longest = longest.max(run);
        }
    }
    longest <= MAX_CONSONANTS && vowels * 6 >= word.len() && vowels * 4 <= word.len() * 3
}

/// Share of the bytes, in hundredths, that stand in words (`TestTableHashKey`: 100; `zwD26NeyMCv`:
/// 0).
pub(in crate::govern::sanitize) fn wordiness(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut said, mut at) = (0, 0);
    while at < bytes.len() {
        if !bytes[at].is_ascii_alphabetic() {
            at += 1;
            continue;
        }
        let start = at;
        at += 1;
        // Capitals in a row are one word; one capital begins a word of small letters.
        let capitals =
            bytes[start].is_ascii_uppercase() && bytes.get(at).is_some_and(u8::is_ascii_uppercase);
        let goes_on = |b: &u8| {
            if capitals {
                b.is_ascii_uppercase()
            } else {
                b.is_ascii_lowercase()
            }
        };
        while bytes.get(at).is_some_and(goes_on) {
            at += 1;
        }
        if can_be_said(&bytes[start..at]) {
            said += at - start;
        }
    }
    (said * 100)
        .checked_div(bytes.iter().filter(|b| b.is_ascii_alphanumeric()).count())
        .unwrap_or(100)
}

impl<'a> TokenShape<'a> {
    pub(in crate::govern::sanitize) fn of(text: &'a str) -> Self {
        TokenShape {
            text,
            made: OnceCell::new(),
            signs: OnceCell::new(),
            wordiness: OnceCell::new(),
        }
    }

    /// How many characters of each sort it has.
    pub(in crate::govern::sanitize) fn made(&self) -> Makeup {
        *self.made.get_or_init(|| makeup(self.text))
    }

    /// The signs that are in it.
    fn signs(&self) -> Signs {
        *self.signs.get_or_init(|| Signs::of(self.text))
    }

    /// See [`wordiness`].
    pub(in crate::govern::sanitize) fn wordiness(&self) -> usize {
        *self.wordiness.get_or_init(|| wordiness(self.text))
    }

    /// Whether a text is random rather than named: few of its letters form words.
    pub(in crate::govern::sanitize) fn is_random(&self) -> bool {
        let text = self.text;
        let made = self.made();
        let (wordy, named) = (self.wordiness(), &vocabulary().wordiness);
        match () {
            () if made.digits > 0 && made.letters() > 0 => wordy < named.mixed,
            () if made.letters() == 0 => text.len() >= 16,
            () => wordy < named.letters,
        }
    }

    /// Whether digits stand in the midst of letters more than once, as in no name: `vp7k8ugdmpoib`.
    pub(in crate::govern::sanitize) fn is_interleaved(&self) -> bool {
        let text = self.text;
        const LEAST: usize = 12;
        let bytes = text.as_bytes();
        let first = bytes.iter().position(u8::is_ascii_alphabetic);
        let last = bytes.iter().rposition(u8::is_ascii_alphabetic);
        let (Some(first), Some(last)) = (first, last) else {
            return false;
        };
        let inner = bytes.get(first..last).unwrap_or_default();
        let groups = inner
            .windows(2)
            .filter(|two| two[0].is_ascii_alphabetic() && two[1].is_ascii_digit())
            .count();
        text.len() >= LEAST
            && groups >= 2
            && bytes.iter().all(u8::is_ascii_alphanumeric)
            && !self.is_hex()
    }

    /// Whether brackets stand open or many kinds of signs are mixed, as in no code and no sentence:
    /// `m{{h}o)p${e]nob>-_$#x`.
    pub(in crate::govern::sanitize) fn has_odd_signs(&self) -> bool {
        let text = self.text;
        const SIGNS: &[u8] = b"!#$%&()*<>?@[]^{}~";
        let has = |sign: &u8| text.as_bytes().contains(sign);
        let count = |sign: char| text.matches(sign).count();
        let balanced = [('(', ')'), ('[', ']'), ('{', '}')]
            .iter()
            .all(|(open, close)| count(*open) == count(*close));
        text.len() >= 8
            && !text.contains(char::is_whitespace)
            && SIGNS.iter().filter(|sign| has(sign)).count() >= if balanced { 5 } else { 4 }
    }

    /// Whether letters are mixed as no word mixes them: `nscNZJTrqs`.
    pub(in crate::govern::sanitize) fn is_mixed_case(&self) -> bool {
        let text = self.text;
        let made = self.made();
        text.len() >= 8
            && made.upper >= 2
            && made.lower >= 2
            && made.letters() == text.len()
            && self.is_random()
    }

    /// Dates, times, versions and numbers: few letters among digits and signs.
    pub(in crate::govern::sanitize) fn is_dated(&self) -> bool {
        let text = self.text;
        if !text.bytes().any(|b| b.is_ascii_digit()) || self.is_uuid() {
            return false;
        }
        let made = self.made();
        made.digits > 0
            && made.others > 0
            && made.letters() * 4 <= made.digits
            && text
                .chars()
                .all(|c| c.is_alphanumeric() || "-:.+/_ ".contains(c))
    }

    /// Eight, four, four, four and twelve hexadecimal digits.
    pub(in crate::govern::sanitize) fn is_uuid(&self) -> bool {
        let text = self.text;
        if text.len() != 36 {
            return false;
        }
        let parts: Vec<&str> = text.split('-').collect();
        let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
        lengths == [8, 4, 4, 4, 12]
            && parts
                .iter()
                .all(|part| part.bytes().all(|b| b.is_ascii_hexdigit()))
    }

    pub(in crate::govern::sanitize) fn is_hex(&self) -> bool {
        let text = self.text;
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit())
    }

    /// Whether a value only stands for a secret: `<your-key>`, `xxxx`, `${VAR}`, `changeme`, `null`.
    pub(in crate::govern::sanitize) fn stands_in(&self) -> bool {
        let value = self.text;
        let known = &vocabulary().values;
        let Some(first) = value.bytes().next() else {
            return true;
        };
        let bare = value.trim_matches(|c: char| !c.is_alphanumeric());
        let zero = || self.is_uuid() && value.bytes().all(|b| b == first || b == b'-');
        bare.is_empty()
            || zero()
            || value.bytes().all(|b| b.eq_ignore_ascii_case(&first))
            || known.stand_ins.has(bare)
            || (may_stand_in(first) && known.stand_in_starts.starts(value))
            || has_stand_in_part(value, self.signs())
            || is_variable(value)
            || is_flag(value)
    }

    /// Whether an unquoted value is code that yields one: a call, a chain of names, an index, a type.
    pub(in crate::govern::sanitize) fn is_code(&self) -> bool {
        let value = self.text;
        let signs = self.signs();
        if !signs.any(OF_CODE) {
            return false;
        }
        let identifier = |c: char| {
            c.is_ascii_alphanumeric()
                || matches!(c, '_' | '.' | ':' | '$' | '!' | '>' | '-' | '&' | '*')
        };
        let head = |mark: char| {
            value.split_once(mark).is_some_and(|(head, _)| {
                !head.is_empty()
                    && head.chars().all(identifier)
                    && head.starts_with(|c: char| !c.is_ascii_digit())
            })
        };
        let chain = || {
            value.split(['.', '?', '!']).all(|part| {
                part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                    && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
                    && (!TokenShape::of(part).is_random() || part.len() < 8)
            })
        };
        (signs.any(DOT)
            && value
                .find(").")
                .is_some_and(|at| !value[..at].contains('(')))
            || (signs.any(ROUND) && head('('))
            || (signs.any(SQUARE) && head('['))
            || (signs.any(DOT) && chain())
            || (signs.any(COLON) && value.contains("::"))
            || (signs.any(ARROW) && value.contains("->"))
            || (signs.any(EQUALS) && (value.contains("===") || value.contains("!=")))
    }

    /// Whether a value is a path or an address.
    pub(in crate::govern::sanitize) fn is_path(&self) -> bool {
        let value = self.text;
        if !self.signs().any(SLASH) {
            return false;
        }
        let rooted = ["/", "./", "../", "~/", "\\\\"]
            .iter()
            .any(|start| value.starts_with(start));
        let drive = value
            .as_bytes()
            .get(1..3)
            .is_some_and(|two| two == b":\\" || two == b":/");
        let parts = value.split(['/', '\\']);
        let wordy = || {
            parts
                .clone()
                .filter(|part| part.len() >= 4)
                .all(|part| wordiness(part) >= 50)
        };
        value.contains("://")
            || drive
            || (value.matches('/').count() > usize::from(!rooted) && wordy())
            || (rooted && wordy())
    }

    /// A name in code or configuration: `NATS_PASSWORD`, `confirm_password`, `dbSecretRef`.
    pub(in crate::govern::sanitize) fn is_name(&self) -> bool {
        let value = self.text;
        let signs = value
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
        let shouted = value.contains('_')
            && value
                .bytes()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
        let secret = &vocabulary().names.secret;
        let called = secret.starts(value) || secret.ends(value.as_bytes());
        // With a digit it is what people take for a password: hunter2-is-secret.
        let called = called && !value.bytes().any(|b| b.is_ascii_digit());
        signs && self.wordiness() >= 60 && (shouted || called)
    }
}

/// Whether there is a blank in a text, or what may be one outside of ASCII: a glance that costs
/// little.
pub(in crate::govern::sanitize) fn may_have_blanks(text: &str) -> bool {
    text.bytes().any(|b| b <= b' ' || !b.is_ascii())
}

/// Whether a text is written in escapes of HTML: it is looked at again with them read.
pub(in crate::govern::sanitize) fn is_escaped(text: &str) -> bool {
    text.starts_with("&#") || text.starts_with("&quot;")
}

/// Whether the text of a stand-in begins with a byte.
const fn may_stand_in(first: u8) -> bool {
    matches!(
        first.to_ascii_lowercase(),
        b'y' | b'm' | b'<' | b'$' | b'{' | b'%' | b'#' | b'i' | b'r' | b'c' | b'e'
    )
}

/// Whether there is in a value what is in no secret, but in what stands for one.
fn has_stand_in_part(value: &str, signs: Signs) -> bool {
    if !signs.any(OF_STAND_INS) {
        return false;
    }
    let bytes = value.as_bytes();
    let at = |start: usize, part: &[u8]| {
        bytes
            .get(start..start + part.len())
            .is_some_and(|piece| piece.eq_ignore_ascii_case(part))
    };
    let mut starts = bytes
        .iter()
        .enumerate()
        .filter(|(_, b)| Signs::at(**b).any(OF_STAND_INS));
    starts.any(|(start, b)| match (*b, bytes.get(start + 1)) {
        (b'x' | b'X', Some(b'x' | b'X')) => at(start, b"xxxx"),
        (b'*', Some(b'*')) => at(start, b"****"),
        (b'p' | b'P', Some(b'l' | b'L')) => at(start, b"placeholder"),
        (b'y' | b'Y', Some(b'o' | b'O')) => at(start, b"your_") || at(start, b"your-"),
        (b'_' | b'-', Some(b'h' | b'H')) => at(start + 1, b"here"),
        _ => false,
    })
}

/// `--password-file`: the name of an option, not its value.
fn is_flag(value: &str) -> bool {
    value
        .strip_prefix("--")
        .is_some_and(|name| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'))
}

/// `$NAME`, `%NAME%`, `@name@`, `:name`, `{name}`, `[name]`, `%s`.
fn is_variable(value: &str) -> bool {
    let inside = |text: &str| {
        text.len() <= 64
            && text
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | ' '))
    };
    let between = |open: char, close: char| {
        value
            .strip_prefix(open)
            .and_then(|rest| rest.strip_suffix(close))
            .is_some_and(inside)
    };
    let name = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|b| {
                b.is_ascii_alphabetic()
                    || matches!(b, b'_' | b'.' | b'>' | b'-' | b'[' | b']' | b'\'')
            })
    };
    between('%', '%')
        || between('@', '@')
        || between('{', '}')
        || between('[', ']')
        || between('<', '>')
        || value.strip_prefix('$').is_some_and(name)
        || value.strip_prefix(':').is_some_and(name)
        || (value.starts_with('%') && value.len() <= 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_start_of_a_stand_in_is_looked_for() {
        let mut starts = vocabulary().values.stand_in_starts.iter();
        assert!(starts.all(|start| may_stand_in(start.as_bytes()[0])));
    }

    #[test]
    fn random_and_named_are_told_apart() {
        for value in [
            "zwD26NeyMCvBsR9nxfaybLHD7TcLh22O",
            "eduf0pezfibcmvlvdtbpf5s8bjbkxqpw",
            "1b2c3d4e5f60718293a4b5c6d7e8f901",
            "lIqHZeSrxBqBHxuLrQeqrWxmLoumeJsp",
            "UuB0m_oxBeQrciedzI8Z",
            "abcdefghijabcdefghijabcd",
        ] {
            assert!(
                TokenShape::of(value).is_random(),
                "{value}: {}",
                wordiness(value)
            );
        }
        for value in [
            "TestTableHashKey",
            "SalesResults-1.2",
            "authentication",
            "connection_string",
            "my-secret-v2",
            "AutoTokenizer.from_pretrained",
            "SettingsKeyName2",
        ] {
            assert!(
                !TokenShape::of(value).is_random(),
                "{value}: {}",
                wordiness(value)
            );
        }
    }

    #[test]
    fn digits_in_the_midst_of_letters() {
        for value in ["vp7k8ugdmpoiblli", "gktjua03nuesfuich7ezz2qz"] {
            assert!(TokenShape::of(value).is_interleaved(), "{value}");
        }
        for value in [
            "production2024",
            "sha256-base64-x",
            "a1b2",
            "d6c9e2f4a8b1c3d5",
            "release1beta",
            "2024q1report",
        ] {
            assert!(!TokenShape::of(value).is_interleaved(), "{value}");
        }
    }

    #[test]
    fn stand_ins_code_and_paths_are_known() {
        for value in [
            "${PASSWORD}",
            "<password>",
            "None",
            "********",
            "your_password",
            "changeme",
            "%s",
            "{password}",
            "xxxxxxxx",
        ] {
            assert!(TokenShape::of(value).stands_in(), "{value}");
        }
        for value in ["hunter2", "correct horse battery", "p@ss", "$ecret!1"] {
            assert!(!TokenShape::of(value).stands_in(), "{value}");
        }
        for value in [
            "getpass()",
            "os.environ['X']",
            "self.config.password",
            "a::b",
            "crypto.randomBytes(32)",
        ] {
            assert!(TokenShape::of(value).is_code(), "{value}");
        }
        let signs = "m{{h}o)p${e]nob(ody[finds>-_$#thisone}}";
        assert!(!TokenShape::of(signs).is_code());
        assert!(
            TokenShape::of("/etc/ssl/private/server.key").is_path()
                && TokenShape::of("https://a/b").is_path()
                && !TokenShape::of("K7MDENG/bPxRfiCYKEY").is_path()
        );
        assert!(
            TokenShape::of("NATS_PASSWORD").is_name()
                && TokenShape::of("confirm_password").is_name()
                && !TokenShape::of("hunter2").is_name()
        );
    }
}
