//! The shape of a token: what it is made of, and which kinds it is of; each is told once.

use std::cell::{Cell, OnceCell};

use super::kind::{KindSet, TokenKind, coded};
use super::measure::{QuickMeasures, TokenMeasure};
use super::table::is_described;
use crate::govern::sanitize::text::statistics::{CharacterCounts, Signs};

/// Signs of code, and those among them that join no names and stand in few sentences.
const CODE_SIGNS: Signs = Signs::among(b"!#$%&()*+,/:;<=>?@[]^{|}~");
const ODD_SIGNS: Signs = Signs::among(b"!#$%&*;<>?@^|~");

/// A token, and what was told of it so far.
pub struct TokenShape<'a> {
    pub text: &'a str,
    reading: OnceCell<TokenReading>,
    wordiness: OnceCell<usize>,
    /// The kinds that were asked for, and those among them that the token is of.
    asked: Cell<KindSet>,
    holding: Cell<KindSet>,
}

/// What one reading of a token tells.
#[derive(Clone, Copy)]
pub(super) struct TokenReading {
    counts: CharacterCounts,
    pub(super) signs: Signs,
    pub(super) measures: QuickMeasures,
}

impl TokenReading {
    fn of(text: &str) -> Self {
        let (counts, signs) = CharacterCounts::of(text);
        let characters = if signs.any(Signs::FOREIGN) {
            text.chars().count()
        } else {
            text.len()
        };
        TokenReading {
            counts,
            signs,
            measures: QuickMeasures::of(text.len(), characters, counts),
        }
    }
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
pub fn wordiness(text: &str) -> usize {
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
    pub fn of(text: &'a str) -> Self {
        TokenShape {
            text,
            reading: OnceCell::new(),
            wordiness: OnceCell::new(),
            asked: Cell::default(),
            holding: Cell::default(),
        }
    }

    pub(super) fn reading(&self) -> &TokenReading {
        self.reading.get_or_init(|| TokenReading::of(self.text))
    }

    /// How many characters of each sort it has.
    pub fn counts(&self) -> CharacterCounts {
        self.reading().counts
    }

    /// The signs that are in it.
    pub fn signs(&self) -> Signs {
        self.reading().signs
    }

    /// How much of the token is words, as [`wordiness`] counts it.
    pub fn wordiness(&self) -> usize {
        *self.wordiness.get_or_init(|| wordiness(self.text))
    }

    /// Whether it is of a kind.
    pub fn is(&self, kind: TokenKind) -> bool {
        if !self.asked.get().has(kind) {
            let holds = coded(self, kind).unwrap_or_else(|| is_described(self, kind));
            // Telling it may have told others.
            self.asked.set(self.asked.get().with(kind));
            if holds {
                self.holding.set(self.holding.get().with(kind));
            }
        }
        self.holding.get().has(kind)
    }

    /// Whether it is known already not to be of one of the first kinds, or to be of one of the
    /// others.
    pub(super) fn is_known_not_to_fit(&self, is: KindSet, not: KindSet) -> bool {
        let holding = self.holding.get();
        not.meets(holding) || is.meets(self.asked.get().without(holding))
    }

    pub(super) fn measure(&self, of: TokenMeasure) -> usize {
        let text = self.text;
        match of {
            TokenMeasure::Length => text.len(),
            TokenMeasure::Lower => self.counts().lower,
            TokenMeasure::Upper => self.counts().upper,
            TokenMeasure::Letters => self.counts().letters(),
            TokenMeasure::Digits => self.counts().digits,
            TokenMeasure::Others => self.counts().others,
            TokenMeasure::Sorts => self.counts().sorts(),
            TokenMeasure::Characters => text.chars().count(),
            TokenMeasure::Alphabetic if !self.signs().any(Signs::FOREIGN) => {
                self.counts().letters()
            }
            TokenMeasure::Alphabetic => text.chars().filter(|c| c.is_alphabetic()).count(),
            TokenMeasure::LongestRun => {
                let runs = text.split(|c: char| !c.is_ascii_alphanumeric());
                runs.map(str::len).max().unwrap_or(0)
            }
            TokenMeasure::Turns => turns(text),
            TokenMeasure::InnerTurns => turns(text.trim_end_matches(['!', '?'])),
            TokenMeasure::Signs => self.signs().count(CODE_SIGNS),
            TokenMeasure::OddSigns => self.signs().count(ODD_SIGNS),
            TokenMeasure::Wordiness => self.wordiness(),
        }
    }
}

/// How often letters and digits take turns.
fn turns(text: &str) -> usize {
    let sort = |b: &u8| (b.is_ascii_digit(), b.is_ascii_alphabetic());
    let pairs = text.as_bytes().windows(2);
    pairs.filter(|two| sort(&two[0]) != sort(&two[1])).count()
}

/// Whether there is a blank in a text, or what may be one outside of ASCII: a glance that costs
/// little.
pub fn may_have_blanks(text: &str) -> bool {
    text.bytes().any(|b| b <= b' ' || !b.is_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

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
                TokenShape::of(value).is(TokenKind::Random),
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
                !TokenShape::of(value).is(TokenKind::Random),
                "{value}: {}",
                wordiness(value)
            );
        }
    }

    #[test]
    fn calculations_are_told_from_signs_that_stand_anyhow() {
        for value in [
            "50+len(a)//4",
            "3*self.count(x,2)[0]-1",
            "(used+1)*4",
            "50+len(",
            "now()-3600",
        ] {
            assert!(TokenShape::of(value).is(TokenKind::Calculation), "{value}");
        }
        for value in [
            "50+len(a)!4",
            "50+(vp7k8ugdmpoiblli)",
            "9+(a]",
            "4+7(+x)",
            "P@ss+(word)1",
            "(hunter2)",
            "12+ab(cd)+",
            "50+n//4",
        ] {
            assert!(!TokenShape::of(value).is(TokenKind::Calculation), "{value}");
        }
    }

    #[test]
    fn digits_in_the_midst_of_letters() {
        for value in ["vp7k8ugdmpoiblli", "gktjua03nuesfuich7ezz2qz"] {
            assert!(TokenShape::of(value).is(TokenKind::Interleaved), "{value}");
        }
        for value in [
            "production2024",
            "sha256-base64-x",
            "a1b2",
            "d6c9e2f4a8b1c3d5",
            "release1beta",
            "2024q1report",
        ] {
            assert!(!TokenShape::of(value).is(TokenKind::Interleaved), "{value}");
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
            assert!(TokenShape::of(value).is(TokenKind::StandIn), "{value}");
        }
        for value in ["hunter2", "correct horse battery", "p@ss", "$ecret!1"] {
            assert!(!TokenShape::of(value).is(TokenKind::StandIn), "{value}");
        }
        for value in [
            "getpass()",
            "os.environ['X']",
            "self.config.password",
            "a::b",
            "crypto.randomBytes(32)",
        ] {
            assert!(TokenShape::of(value).is(TokenKind::Code), "{value}");
        }
        let signs = "m{{h}o)p${e]nob(ody[finds>-_$#thisone}}";
        assert!(!TokenShape::of(signs).is(TokenKind::Code));
        assert!(
            TokenShape::of("/etc/ssl/private/server.key").is(TokenKind::Path)
                && TokenShape::of("https://a/b").is(TokenKind::Path)
                && !TokenShape::of("K7MDENG/bPxRfiCYKEY").is(TokenKind::Path)
        );
        assert!(
            TokenShape::of("NATS_PASSWORD").is(TokenKind::Name)
                && TokenShape::of("confirm_password").is(TokenKind::Name)
                && !TokenShape::of("hunter2").is(TokenKind::Name)
        );
    }
}
