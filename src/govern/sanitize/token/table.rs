//! Which tokens are secrets, from which context on, as `genesis/tokens.toml` has it: patterns of a
//! token's shape. The file explains what a pattern may say.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::LazyLock;

use serde::Deserialize;

use super::kind::TokenKind;
use super::shape::TokenShape;
use crate::govern::sanitize::text::statistics::entropy;
use crate::govern::word_list::read_own;

const TOKENS: &str = include_str!("../../../../genesis/tokens.toml");

static TABLE: LazyLock<TokenTable> = LazyLock::new(|| read_own(TOKENS));

/// What the file holds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenTable {
    kinds: NumberedPatterns<TokenKind>,
    secrets: NumberedPatterns<TokenContext>,
}

/// Patterns by the number of their name: they are looked up often.
#[derive(Deserialize)]
#[serde(
    from = "BTreeMap<N, Vec<TokenPattern>>",
    bound = "N: Ord + Into<usize> + Deserialize<'de>"
)]
struct NumberedPatterns<N> {
    all: Vec<Vec<TokenPattern>>,
    names: PhantomData<N>,
}

impl<N: Into<usize>> From<BTreeMap<N, Vec<TokenPattern>>> for NumberedPatterns<N> {
    fn from(named: BTreeMap<N, Vec<TokenPattern>>) -> Self {
        let mut all = Vec::new();
        for (name, patterns) in named {
            // Names come in the order of their numbers.
            all.resize_with(name.into(), Vec::new);
            all.push(patterns);
        }
        NumberedPatterns {
            all,
            names: PhantomData,
        }
    }
}

impl<N: Into<usize>> NumberedPatterns<N> {
    fn of(&self, name: N) -> &[TokenPattern] {
        self.all.get(name.into()).map_or(&[], Vec::as_slice)
    }
}

impl From<TokenKind> for usize {
    fn from(kind: TokenKind) -> usize {
        kind as usize
    }
}

impl From<TokenContext> for usize {
    fn from(context: TokenContext) -> usize {
        context as usize
    }
}

/// Bounds of measures; what costs little comes first.
#[derive(Default, Deserialize)]
#[serde(from = "BTreeMap<TokenMeasure, usize>")]
struct MeasureBounds(Vec<(TokenMeasure, usize)>);

impl From<BTreeMap<TokenMeasure, usize>> for MeasureBounds {
    fn from(bounds: BTreeMap<TokenMeasure, usize>) -> Self {
        MeasureBounds(bounds.into_iter().collect())
    }
}

/// What the text around a token says that it is: a row of `[secrets]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TokenContext {
    AssignedPassword,
    AssignedToken,
    ChosenToken,
    AssignedKey,
    GivenPassword,
    NamedPassword,
    UsedPassword,
    SaidPassword,
    SentencePassword,
    NearPassword,
    BarePassword,
    SaidToken,
    BareToken,
    LeakedToken,
    LeakedSigns,
    Code,
    ListedCode,
    AddressUser,
    AddressPassword,
    FlagPassword,
    Bearer,
    Authorization,
}

/// What else the text around a token tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContextClue {
    /// An equals sign of any form stands before it, without or with blanks.
    Equals,
    Unspaced,
    Spaced,
    Colon,
    Element,
    Flag,
    Argument,
    Blank,
    /// An equals sign or a colon.
    Operator,
    /// One of those, an element or a flag.
    Told,
    Quoted,
    Unquoted,
    /// It stands between quotes, or is one word.
    Whole,
    /// It is the last of its line.
    Last,
    /// What follows ends no argument and no field of code.
    Open,
    /// Another flag follows.
    BeforeFlag,
    /// Its name is a call that takes a password: `setPassword`.
    Setter,
    /// Its name is a constant's: `DB_PASSWORD`.
    Constant,
    /// The same, of a secret that a person may have chosen: `SESSION_SECRET`.
    SecretConstant,
    /// Nothing else can stand there.
    Certain,
    /// A word about secrets is near.
    Near,
    /// A word is near that says that a secret is there.
    Leaked,
    /// A sign or a verb links it to its name.
    Linked,
    /// Nothing stands between it and its name.
    Direct,
    /// The text says what it opens.
    Opens,
}

/// Clues, as bits.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(from = "Vec<ContextClue>")]
pub struct ClueSet(u32);

impl From<Vec<ContextClue>> for ClueSet {
    fn from(clues: Vec<ContextClue>) -> Self {
        clues.into_iter().fold(ClueSet::default(), ClueSet::with)
    }
}

impl ClueSet {
    /// Those of the clues that hold.
    pub fn of(clues: &[(ContextClue, bool)]) -> Self {
        let holding = clues.iter().filter(|(_, holds)| *holds);
        holding.fold(ClueSet::default(), |all, (clue, _)| all.with(*clue))
    }

    pub fn with(self, clue: ContextClue) -> Self {
        ClueSet(self.0 | 1 << clue as u32)
    }

    fn holds(self, all: ClueSet) -> bool {
        self.0 & all.0 == all.0
    }
}

/// What is measured of a token; what costs little comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum TokenMeasure {
    Length,
    Lower,
    Upper,
    Letters,
    Digits,
    Others,
    Sorts,
    Characters,
    Alphabetic,
    LongestRun,
    Turns,
    InnerTurns,
    Signs,
    OddSigns,
    Wordiness,
}

impl TokenMeasure {
    fn is_wordiness(self) -> bool {
        self == TokenMeasure::Wordiness
    }
}

/// What a token may look like; all that is said must hold.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TokenPattern {
    r#where: ClueSet,
    least: MeasureBounds,
    most: MeasureBounds,
    entropy: f64,
    only: Option<String>,
    has: Option<String>,
    without: String,
    is: Vec<TokenKind>,
    any: Vec<TokenKind>,
    not: Vec<TokenKind>,
}

impl TokenPattern {
    /// What costs little is looked at first: most tokens fail there.
    fn fits(&self, shape: &TokenShape<'_>, clues: ClueSet) -> bool {
        clues.holds(self.r#where)
            && self.is_within(shape, false)
            && self.has_signs(shape.text)
            && self.is_within(shape, true)
            && self.is.iter().all(|kind| shape.is(*kind))
            && (self.any.is_empty() || self.any.iter().any(|kind| shape.is(*kind)))
            && !self.not.iter().any(|kind| shape.is(*kind))
            && (self.entropy == 0.0 || entropy(shape.text) >= self.entropy)
    }

    /// Whether the measures are within their bounds: wordiness, or all the others.
    fn is_within(&self, shape: &TokenShape<'_>, wordiness: bool) -> bool {
        let (mut least, mut most) = (self.least.0.iter(), self.most.0.iter());
        least.all(|(of, least)| of.is_wordiness() != wordiness || shape.measure(*of) >= *least)
            && most.all(|(of, most)| of.is_wordiness() != wordiness || shape.measure(*of) <= *most)
    }

    fn has_signs(&self, text: &str) -> bool {
        let holds = |signs: &str| text.bytes().any(|b| signs.as_bytes().contains(&b));
        self.has.as_deref().is_none_or(holds)
            && (self.without.is_empty() || !holds(&self.without))
            && self.only.as_ref().is_none_or(|signs| {
                text.chars()
                    .all(|c| c.is_alphanumeric() || signs.contains(c))
            })
    }
}

impl TokenShape<'_> {
    /// Whether a token is a secret in such a context.
    pub fn is_secret(&self, context: TokenContext) -> bool {
        self.is_secret_by(context, ClueSet::default())
    }

    /// The same, with what else the context tells.
    pub fn is_secret_by(&self, context: TokenContext, clues: ClueSet) -> bool {
        TABLE
            .secrets
            .of(context)
            .iter()
            .any(|pattern| pattern.fits(self, clues))
    }
}

/// Whether a token is of a kind that the file describes.
pub(super) fn is_described(shape: &TokenShape<'_>, kind: TokenKind) -> bool {
    TABLE
        .kinds
        .of(kind)
        .iter()
        .any(|pattern| pattern.fits(shape, ClueSet::default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::govern::sanitize::token::kind::coded;

    #[test]
    fn every_kind_is_told_by_code_or_by_patterns_and_never_by_both() {
        let shape = TokenShape::of("x");
        for pattern in TABLE.kinds.all.iter().chain(&TABLE.secrets.all).flatten() {
            for kind in pattern.is.iter().chain(&pattern.any).chain(&pattern.not) {
                let described = !TABLE.kinds.of(*kind).is_empty();
                assert!(coded(&shape, *kind).is_some() != described, "{kind:?}");
            }
        }
    }

    #[test]
    fn what_is_chosen_is_told_from_what_is_named() {
        for word in ["Kd93mfpq2", "x7!kqRwp", "r4zbq8vt"] {
            assert!(TokenShape::of(word).is(TokenKind::Chosen), "{word}");
        }
        for word in [
            "OAuth2",
            "Ed25519",
            "argon2id",
            "TLSv1.3",
            "user2024",
            "base64url",
            "ISO-3166",
            "bob@example.org",
            "deadbeef12",
        ] {
            assert!(!TokenShape::of(word).is(TokenKind::Chosen), "{word}");
        }
    }

    #[test]
    fn what_is_made_up_is_told_from_names_and_numbers() {
        for word in [
            "Tiger#2063",
            "Purple6162?",
            "R0ck3t_600!",
            "castle911River",
            "aB2F2I3RfLlQ",
            "sosf1715!y7Q",
            "P@ssw0rd1",
            "Cookie321&",
            "Shadow$3958",
            "4dm1n_900!",
        ] {
            assert!(
                TokenShape::of(word).is_secret(TokenContext::NearPassword),
                "{word}"
            );
        }
        for word in [
            "Windows11!",
            "iOS17!",
            "SHA256sum",
            "sha512crypt",
            "argon2id",
            "Python3.11",
            "WH-1000XM4",
            "root@db01",
            "bob@example.org",
            "issue#1234",
            "50%off",
            "USD$1200",
            "v1.2.3-rc.1",
            "2024-11-22",
            "deadbeef12",
            "user2024",
            "YubiKey5C",
            "SCRAM-SHA-256",
            "iPhone15Pro",
            "802.11ax?",
            "PBKDF2",
            "x86_64",
            "utf8mb4",
            "C3-PO",
            "LH1234",
            "ISO-8859-1",
            "10.0.0.1:8080",
        ] {
            assert!(
                !TokenShape::of(word).is_secret(TokenContext::NearPassword),
                "{word}"
            );
        }
        assert!(
            TokenShape::of("Tiger#2063").is_secret(TokenContext::BarePassword)
                && !TokenShape::of("castle911River").is_secret(TokenContext::BarePassword)
        );
    }
}
