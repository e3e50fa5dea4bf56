//! Which tokens are secrets, from which context on, as `genesis/tokens.toml` has it: patterns of a
//! token's shape. The file explains what a pattern may say.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::LazyLock;

use serde::Deserialize;

use super::kind::{KindSet, TokenKind};
use super::measure::{BoundRow, CostlyBound, QuickBounds, bounds};
use super::shape::TokenShape;
use crate::govern::sanitize::text::statistics::{Signs, entropy};
use crate::govern::word_list::read_own;

const TOKENS: &str = include_str!(concat!(env!("OUT_DIR"), "/tokens.json"));

static TABLE: LazyLock<TokenTable> = LazyLock::new(|| {
    let mut table: TokenTable = read_own(TOKENS);
    table.narrow();
    table
});

/// What the file holds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenTable {
    kinds: NumberedPatterns<TokenKind>,
    secrets: NumberedPatterns<TokenContext>,
}

impl TokenTable {
    /// Narrows the bounds of every pattern to those of the kinds that it asks for: then most tokens
    /// fail at the first comparison, and their kinds are never told.
    fn narrow(&mut self) {
        let narrowed = |list: &PatternList| -> Vec<QuickBounds> {
            let all = list.patterns.iter();
            all.map(|pattern| self.kinds.reach(pattern)).collect()
        };
        let kinds: Vec<_> = self.kinds.all.iter().map(narrowed).collect();
        let secrets: Vec<_> = self.secrets.all.iter().map(narrowed).collect();
        let lists = self.kinds.all.iter_mut().chain(&mut self.secrets.all);
        for (list, bounds) in lists.zip(kinds.into_iter().chain(secrets)) {
            list.set_bounds(&bounds);
        }
    }
}

/// Patterns by the number of their name: they are looked up often.
#[derive(Deserialize)]
#[serde(
    from = "BTreeMap<N, Vec<TokenPattern>>",
    bound = "N: Ord + Into<usize> + Deserialize<'de>"
)]
struct NumberedPatterns<N> {
    all: Vec<PatternList>,
    names: PhantomData<N>,
}

impl<N: Into<usize>> From<BTreeMap<N, Vec<TokenPattern>>> for NumberedPatterns<N> {
    fn from(named: BTreeMap<N, Vec<TokenPattern>>) -> Self {
        let mut all = Vec::new();
        for (name, patterns) in named {
            // Names come in the order of their numbers.
            all.resize_with(name.into(), PatternList::default);
            all.push(PatternList {
                patterns,
                bounds: QuickBounds::OPEN,
            });
        }
        NumberedPatterns {
            all,
            names: PhantomData,
        }
    }
}

impl<N: Into<usize>> NumberedPatterns<N> {
    fn of(&self, name: N) -> Option<&PatternList> {
        self.all.get(name.into())
    }
}

impl NumberedPatterns<TokenKind> {
    /// The bounds of all tokens that may fit a pattern: its own, those of all the kinds that it
    /// asks for, and those around the kinds of which it asks for any.
    fn reach(&self, pattern: &TokenPattern) -> QuickBounds {
        let of_kind = |kind: &TokenKind| self.reach_of(*kind);
        let all = pattern.is.kinds.iter().map(of_kind);
        let any = pattern.any.kinds.iter().map(of_kind);
        let any = any.reduce(QuickBounds::around).unwrap_or(QuickBounds::OPEN);
        all.fold(pattern.bounds.and(any), QuickBounds::and)
            .with_length()
    }

    fn reach_of(&self, kind: TokenKind) -> QuickBounds {
        match self.of(kind) {
            Some(list) if !list.patterns.is_empty() => {
                let all = list.patterns.iter().map(|pattern| self.reach(pattern));
                all.fold(QuickBounds::SHUT, QuickBounds::around)
            }
            // Code tells it.
            _ => QuickBounds::OPEN,
        }
    }
}

/// Patterns of which one must fit.
struct PatternList {
    patterns: Vec<TokenPattern>,
    /// Around the bounds of all of them.
    bounds: QuickBounds,
}

impl Default for PatternList {
    fn default() -> Self {
        PatternList {
            patterns: Vec::new(),
            bounds: QuickBounds::SHUT,
        }
    }
}

impl PatternList {
    fn set_bounds(&mut self, bounds: &[QuickBounds]) {
        for (pattern, bounds) in self.patterns.iter_mut().zip(bounds) {
            pattern.bounds = *bounds;
        }
        let all = bounds.iter().copied();
        self.bounds = all.fold(QuickBounds::SHUT, QuickBounds::around);
    }

    /// The length alone says of many tokens that none fits.
    fn fits(&self, shape: &TokenShape<'_>, clues: ClueSet) -> bool {
        self.bounds.allow_length(shape.text.len())
            && self
                .patterns
                .iter()
                .any(|pattern| pattern.fits(shape, clues))
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

/// A pattern as the file has it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PatternRow {
    r#where: ClueSet,
    least: BoundRow,
    most: BoundRow,
    entropy: f64,
    only: Option<Signs>,
    has: Option<Signs>,
    without: Signs,
    is: KindList,
    any: KindList,
    not: KindList,
}

/// What a token may look like; all that is said must hold.
#[derive(Deserialize)]
#[serde(from = "PatternRow")]
struct TokenPattern {
    clues: ClueSet,
    bounds: QuickBounds,
    costly: Vec<CostlyBound>,
    only: Option<Signs>,
    has: Option<Signs>,
    without: Signs,
    is: KindList,
    any: KindList,
    not: KindList,
    entropy: f64,
}

impl From<PatternRow> for TokenPattern {
    fn from(row: PatternRow) -> Self {
        let (bounds, costly) = bounds(&row.least, &row.most);
        TokenPattern {
            clues: row.r#where,
            bounds,
            costly,
            only: row.only,
            has: row.has,
            without: row.without,
            is: row.is,
            any: row.any,
            not: row.not,
            entropy: row.entropy,
        }
    }
}

/// Kinds in the order of the file, and as a set.
#[derive(Default, Deserialize)]
#[serde(from = "Vec<TokenKind>")]
struct KindList {
    kinds: Vec<TokenKind>,
    set: KindSet,
}

impl From<Vec<TokenKind>> for KindList {
    fn from(kinds: Vec<TokenKind>) -> Self {
        let set = kinds.iter().copied();
        KindList {
            set: set.fold(KindSet::default(), KindSet::with),
            kinds,
        }
    }
}

impl KindList {
    fn any_is_of(&self, shape: &TokenShape<'_>) -> bool {
        self.kinds.iter().any(|kind| shape.is(*kind))
    }

    fn all_are_of(&self, shape: &TokenShape<'_>) -> bool {
        self.kinds.iter().all(|kind| shape.is(*kind))
    }
}

impl TokenPattern {
    /// What costs little is looked at first: most tokens fail there.
    fn fits(&self, shape: &TokenShape<'_>, clues: ClueSet) -> bool {
        clues.holds(self.clues)
            && self.bounds.hold(shape.reading().measures)
            && self.has_signs(shape)
            && !shape.is_known_not_to_fit(self.is.set, self.not.set)
            && self.costly.iter().all(|bound| bound.holds(shape))
            && self.is.all_are_of(shape)
            && (self.any.kinds.is_empty() || self.any.any_is_of(shape))
            && !self.not.any_is_of(shape)
            && (self.entropy == 0.0 || entropy(shape.text) >= self.entropy)
    }

    fn has_signs(&self, shape: &TokenShape<'_>) -> bool {
        let signs = shape.signs();
        self.has.is_none_or(|has| signs.any(has))
            && !signs.any(self.without)
            && self.only.is_none_or(|only| shape.has_only(only))
    }
}

impl TokenShape<'_> {
    /// Whether a token is a secret in such a context.
    pub fn is_secret(&self, context: TokenContext) -> bool {
        self.is_secret_by(context, ClueSet::default())
    }

    /// The same, with what else the context tells.
    pub fn is_secret_by(&self, context: TokenContext, clues: ClueSet) -> bool {
        let patterns = TABLE.secrets.of(context);
        patterns.is_some_and(|patterns| patterns.fits(self, clues))
    }

    /// Whether letters and digits are in it, also of other scripts, and no other signs than those.
    pub(super) fn has_only(&self, signs: Signs) -> bool {
        let known = signs.or(Signs::ALPHANUMERIC);
        self.signs().only(known.or(Signs::FOREIGN))
            && (!self.signs().any(Signs::FOREIGN)
                || self
                    .text
                    .chars()
                    .all(|c| c.is_ascii() || c.is_alphanumeric()))
    }
}

/// Whether a token is of a kind that the file describes.
pub(super) fn is_described(shape: &TokenShape<'_>, kind: TokenKind) -> bool {
    let patterns = TABLE.kinds.of(kind);
    patterns.is_some_and(|patterns| patterns.fits(shape, ClueSet::default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::govern::sanitize::token::kind::coded;

    #[test]
    fn every_kind_is_told_by_code_or_by_patterns_and_never_by_both() {
        let shape = TokenShape::of("x");
        let lists = TABLE.kinds.all.iter().chain(&TABLE.secrets.all);
        for pattern in lists.flat_map(|list| &list.patterns) {
            for kind in [&pattern.is, &pattern.any, &pattern.not]
                .iter()
                .flat_map(|list| &list.kinds)
            {
                let list = TABLE.kinds.of(*kind);
                let described = list.is_some_and(|list| !list.patterns.is_empty());
                assert!(coded(&shape, *kind).is_some() != described, "{kind:?}");
            }
        }
    }

    #[test]
    fn a_pattern_is_no_wider_than_the_kinds_that_it_asks_for() {
        let fits = |list: Option<&PatternList>, text: &str| {
            let measures = TokenShape::of(text).reading().measures;
            list.is_some_and(|list| list.bounds.hold(measures))
        };
        let named = TABLE.secrets.of(TokenContext::NamedPassword);
        assert!(fits(named, "Kd93mfpq2") && !fits(named, "Kd93m"));
        let mixed = TABLE.kinds.of(TokenKind::MixedCase);
        assert!(
            fits(mixed, "nscNZJTrqs") && !fits(mixed, "nscnzjtrqs") && !fits(mixed, "nNsS1x2y")
        );
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
