//! Of what kind a token is: what can be told of it without the text around it.

use serde::Deserialize;

use super::resemblance::{
    has_stand_in_part, is_calculation, is_code, is_flag, is_path, is_variable,
};
use super::shape::TokenShape;
use crate::govern::sanitize::cue_words::{is_common, is_common_inside, names_password};
use crate::govern::sanitize::phrases::lexicon::{NUMBERED, says};
use crate::govern::sanitize::public::{
    is_algorithm, is_colour, is_file, is_licence, is_public_token,
};
use crate::govern::sanitize::text::statistics::Signs;
use crate::govern::sanitize::vocabulary::vocabulary;

/// Signs that people put into passwords, and seldom into other words.
pub const PASSWORD_SIGNS: &[char] = &['!', '@', '#', '$', '%', '^', '&', '?'];
/// The same in sentences, where more of them are seldom.
pub const SENTENCE_SIGNS: &[char] = &['!', '@', '#', '$', '%', '^', '&', '*', '+', '?'];

const OF_PASSWORDS: Signs = Signs::among(b"!@#$%^&?");
const OF_SENTENCES: Signs = Signs::among(b"!@#$%^&*+?");
const AT: Signs = Signs::among(b"@");
const HEX: Signs = Signs::DIGIT.or(Signs::HEX_LETTER);
/// Blanks, and what may be one outside of ASCII.
const MAYBE_BLANK: Signs = Signs::among(b" ").or(Signs::CONTROL).or(Signs::FOREIGN);

/// What a token is. Those without a comment are told by patterns of `genesis/tokens.toml`, and
/// explained there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TokenKind {
    Random,
    Disordered,
    MixedCase,
    Name,
    Identifier,
    Dated,
    Digest,
    Other,
    Public,
    PasswordValue,
    Mixture,
    Strong,
    Chosen,
    Listed,
    TokenValue,
    TokenLike,
    TokenShaped,
    LongToken,
    KeyValue,
    Unsaid,
    ShortToken,
    ShortHex,
    Identified,
    Said,
    PasswordMixture,
    Jumbled,
    MadeUpWithSign,
    MadeUpPlain,
    OddWord,
    LongHex,
    Odd,
    Number,
    LongNumber,
    CodeMixture,
    /// Digits in the midst of letters more than once, as in no name: `vp7k8ugdmpoib`.
    Interleaved,
    /// Brackets stand open or many kinds of signs are mixed, as in no code and no sentence:
    /// `m{{h}o)p${e]nob>-_$#x`.
    OddSigns,
    /// Eight, four, four, four and twelve hexadecimal digits.
    Uuid,
    Hex,
    /// It only stands for a secret: `<your-key>`, `xxxx`, `${VAR}`, `changeme`, `null`.
    StandIn,
    /// The same with digits for letters: `s3cr3t`.
    StandInInDigits,
    /// Code that yields a value: a call, a chain of names, an index, a type.
    Code,
    /// Code that calculates with what it calls or puts in brackets: `50+len(a)//4`.
    Calculation,
    /// A path or an address.
    Path,
    /// It begins or ends with a word for a secret.
    SecretName,
    /// Written in escapes of HTML: it is looked at again with them read.
    Escaped,
    /// An address of mail, such as `ann@example.org`.
    Mail,
    /// `root@db01`: a user and a host.
    Account,
    /// `12-character`, `SHA-256`, `v1.2.3`, `2024-01-01`: words and numbers joined by signs.
    Prose,
    /// `River-Stone-4711`: words with capitals and a number, as a generator of passwords joins them.
    JoinedWords,
    /// `castle911River`: two words around a number.
    TwoWords,
    /// The name of a method stands before its first sign or digit.
    Method,
    /// The same, and nothing but its number behind it: `SHA256`, `TLS1.3`, `UTF-8`.
    NumberedMethod,
    /// It begins like the name of a method that letters and numbers stand behind.
    MethodStart,
    /// `Windows11`, `Firefox131`, `May2019`: the name of something with its number.
    NumberedName,
    /// A name of a method, or made of such names and words.
    Algorithm,
    Colour,
    PublicToken,
    Licence,
    File,
    /// A version number, such as `v2.1` or `V3b`.
    Version,
    /// `30min`, `12-character`, `4th`, `18h10`: a number and what is counted.
    Counted,
    /// `issue#1234`, `50%off`, `USD$1200`: a number that a sign belongs to.
    CountedBySign,
    /// It may as well be the name of a product, of a machine or of a document.
    Product,
    /// A word for a password.
    PasswordWord,
    /// An everyday word.
    Common,
    /// The same, without the signs around it.
    CommonWord,
    /// Several words of which some are everyday ones: a label or a message.
    Sentence,
    /// Two words that are not both everyday ones; or more, which somebody chose as a phrase, unless
    /// everyday ones make them a message.
    FewWords,
    /// `7fk2-9dm4-xq81`, `12-34-56`: groups of one length, with digits.
    Groups,
    Ascii,
    /// ASCII letters and digits alone.
    Alphanumeric,
    /// No capitals, or no small letters.
    OneCase,
    /// Three quarters are no vowels.
    Consonants,
    /// A letter stands behind a digit.
    DigitsInside,
    /// Four times as many digits as letters.
    FewLetters,
    /// Seven times as many letters and digits as signs.
    FewSigns,
    LetterFirst,
    /// `$` or `#` comes first.
    HashFirst,
    /// What ends a sentence ends it.
    EndSign,
    /// A sign of passwords is in it, before what may end the sentence.
    InnerSign,
    /// The same in a sentence of any language, with more of them, and enough between them.
    SignInside,
    /// It holds `://`.
    Address,
    /// Signs that stand together in code.
    CodePart,
    /// Signs that stand together in regular expressions.
    Expression,
}

/// Kinds, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct KindSet(u128);

impl KindSet {
    pub(super) fn with(self, kind: TokenKind) -> Self {
        KindSet(self.0 | 1 << kind as u32)
    }

    pub(super) fn without(self, others: KindSet) -> Self {
        KindSet(self.0 & !others.0)
    }

    pub(super) fn has(self, kind: TokenKind) -> bool {
        (self.0 >> kind as u32) & 1 == 1
    }

    /// Whether one kind is in both.
    pub(super) fn meets(self, others: KindSet) -> bool {
        self.0 & others.0 != 0
    }
}

/// Whether a token is of a kind; none when patterns tell it.
pub(super) fn coded(shape: &TokenShape<'_>, kind: TokenKind) -> Option<bool> {
    let (text, values) = (shape.text, &vocabulary().values);
    let holds_one = |parts: &[String]| parts.iter().any(|part| text.contains(part.as_str()));
    Some(match kind {
        TokenKind::Interleaved => is_interleaved(shape),
        TokenKind::OddSigns => has_odd_signs(shape),
        TokenKind::Uuid => is_uuid(text),
        TokenKind::Hex => !text.is_empty() && shape.signs().only(HEX),
        TokenKind::StandIn => stands_in(shape),
        TokenKind::StandInInDigits => stands_in(&TokenShape::of(&in_letters(text))),
        TokenKind::Code => is_code(shape),
        TokenKind::Calculation => is_calculation(shape),
        TokenKind::Path => is_path(shape),
        TokenKind::SecretName => {
            let secret = &vocabulary().names.secret;
            secret.starts(text) || secret.ends(text.as_bytes())
        }
        TokenKind::Escaped => text.starts_with("&#") || text.starts_with("&quot;"),
        TokenKind::Mail => {
            shape.signs().any(AT)
                && text
                    .split_once('@')
                    .is_some_and(|(_, host)| host.contains('.'))
        }
        TokenKind::Account => shape.signs().any(AT) && is_account(text),
        TokenKind::Prose => is_prose(shape),
        TokenKind::JoinedWords => is_joined_words(text),
        TokenKind::TwoWords => is_two_words(shape),
        TokenKind::Method => {
            let name = text.bytes().position(|b| !b.is_ascii_alphabetic());
            values
                .methods
                .has(text.get(..name.unwrap_or(0)).unwrap_or_default())
        }
        TokenKind::NumberedMethod => {
            let number = text.trim_start_matches(|c: char| c.is_ascii_alphabetic());
            shape.is(TokenKind::Method) && !number.bytes().any(|b| b.is_ascii_alphabetic())
        }
        TokenKind::MethodStart => values.method_starts.starts(text),
        TokenKind::NumberedName => is_numbered_name(text),
        TokenKind::Algorithm => is_algorithm(text),
        TokenKind::Colour => is_colour(text),
        TokenKind::PublicToken => is_public_token(text),
        TokenKind::Licence => is_licence(text),
        TokenKind::File => is_file(text),
        TokenKind::Version => is_version(text),
        TokenKind::Counted => is_counted(text),
        TokenKind::CountedBySign => is_counted_by_sign(text.trim_end_matches(['!', '?'])),
        TokenKind::Product => is_product(shape),
        TokenKind::PasswordWord => names_password(text),
        TokenKind::Common => is_common(text),
        TokenKind::CommonWord => is_common_inside(text),
        TokenKind::Sentence => {
            shape.signs().any(MAYBE_BLANK)
                && text.split_whitespace().count() >= 3
                && text.split_whitespace().any(is_common_inside)
        }
        TokenKind::FewWords => is_few_words(text),
        TokenKind::Groups => is_groups(text),
        TokenKind::Ascii => !shape.signs().any(Signs::FOREIGN),
        TokenKind::Alphanumeric => shape.signs().only(Signs::ALPHANUMERIC),
        TokenKind::OneCase => shape.counts().lower == 0 || shape.counts().upper == 0,
        TokenKind::Consonants => {
            let is_vowel = |b: &u8| b"aeiouAEIOU".contains(b);
            text.bytes().filter(|b| !is_vowel(b)).count() * 4 >= text.len() * 3
        }
        TokenKind::DigitsInside => {
            let digit = text.bytes().position(|b| b.is_ascii_digit());
            digit.is_some_and(|at| text.bytes().skip(at).any(|b| b.is_ascii_alphabetic()))
        }
        TokenKind::FewLetters => shape.counts().letters() * 4 <= shape.counts().digits,
        TokenKind::FewSigns => shape.counts().others * 8 <= text.len(),
        TokenKind::LetterFirst => text.starts_with(|c: char| c.is_ascii_alphabetic()),
        TokenKind::HashFirst => text.starts_with(['$', '#']),
        TokenKind::EndSign => text.ends_with(['!', '?']),
        TokenKind::InnerSign => {
            shape.signs().any(OF_PASSWORDS)
                && text.trim_end_matches(['!', '?']).contains(PASSWORD_SIGNS)
        }
        TokenKind::SignInside => {
            let inner = text.trim_matches(SENTENCE_SIGNS);
            shape.signs().any(OF_SENTENCES) && inner.len() >= 7 && inner.contains(SENTENCE_SIGNS)
        }
        TokenKind::Address => text.contains("://"),
        TokenKind::CodePart => holds_one(&values.code_parts),
        TokenKind::Expression => holds_one(&values.expression_parts),
        _ => return None,
    })
}

fn is_interleaved(shape: &TokenShape<'_>) -> bool {
    const LEAST: usize = 12;
    let bytes = shape.text.as_bytes();
    let first = bytes.iter().position(u8::is_ascii_alphabetic);
    let last = bytes.iter().rposition(u8::is_ascii_alphabetic);
    let (Some(first), Some(last)) = (first, last) else {
        return false;
    };
    let pairs = bytes.get(first..last).unwrap_or_default().windows(2);
    let is_turn = |two: &&[u8]| two[0].is_ascii_alphabetic() && two[1].is_ascii_digit();
    bytes.len() >= LEAST
        && pairs.filter(is_turn).count() >= 2
        && shape.is(TokenKind::Alphanumeric)
        && !shape.is(TokenKind::Hex)
}

fn has_odd_signs(shape: &TokenShape<'_>) -> bool {
    const ODD: Signs = Signs::among(b"!#$%&()*<>?@[]^{}~");
    let (text, odd) = (shape.text, shape.signs().count(ODD));
    if text.len() < 8 || odd < 4 {
        return false;
    }
    let count = |sign: char| text.matches(sign).count();
    let balanced = [('(', ')'), ('[', ']'), ('{', '}')]
        .iter()
        .all(|(open, close)| count(*open) == count(*close));
    odd >= if balanced { 5 } else { 4 } && !text.contains(char::is_whitespace)
}

fn is_uuid(text: &str) -> bool {
    const LENGTHS: [usize; 5] = [8, 4, 4, 4, 12];
    text.len() == 36
        && text.split('-').map(str::len).eq(LENGTHS)
        && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

fn stands_in(shape: &TokenShape<'_>) -> bool {
    let (text, known) = (shape.text, &vocabulary().values);
    let Some(first) = text.bytes().next() else {
        return true;
    };
    let bare = if shape.signs().only(Signs::ALPHANUMERIC) {
        text
    } else {
        text.trim_matches(|c: char| !c.is_alphanumeric())
    };
    bare.is_empty()
        || text.bytes().all(|b| b.eq_ignore_ascii_case(&first))
        || (text.bytes().all(|b| b == first || b == b'-') && shape.is(TokenKind::Uuid))
        || known.stand_ins.has(bare)
        || known.stand_in_starts.starts(text)
        || has_stand_in_part(shape)
        || is_variable(shape)
        || is_flag(text)
}

/// `s3cr3t` as it is meant.
fn in_letters(text: &str) -> String {
    let letter = |c| match c {
        '0' => 'o',
        '1' => 'i',
        '3' => 'e',
        '4' => 'a',
        '5' => 's',
        '7' => 't',
        other => other,
    };
    text.chars().map(letter).collect()
}

fn is_account(text: &str) -> bool {
    text.split_once('@').is_some_and(|(user, host)| {
        user.len() >= 2
            && host.starts_with(|c: char| c.is_ascii_alphabetic())
            && !host.contains(PASSWORD_SIGNS)
    })
}

fn is_prose(shape: &TokenShape<'_>) -> bool {
    const JOINTS: [char; 6] = ['-', '.', '/', '\'', ':', ','];
    const OF_JOINTS: Signs = Signs::among(b"-./':,");
    let text = shape.text;
    if !shape.signs().any(OF_JOINTS) || !shape.has_only(OF_JOINTS) {
        return false;
    }
    let plain = |part: &str| {
        let part = TokenShape::of(part);
        let counts = part.counts();
        counts.letters() == 0
            || part.text.len() <= 3
            || (counts.digits <= 3 && part.wordiness() >= vocabulary().wordiness.mixed)
    };
    text.split(JOINTS).all(plain) && !shape.is(TokenKind::JoinedWords)
}

fn is_joined_words(text: &str) -> bool {
    let is_word = |part: &str| {
        part.len() >= 4
            && part.starts_with(|c: char| c.is_ascii_uppercase())
            && part[1..].bytes().all(|b| b.is_ascii_lowercase())
    };
    let is_number =
        |part: &str| (2..=5).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    let parts = || text.split(['-', '.']);
    parts().filter(|part| is_word(part)).count() >= 2
        && parts().any(is_number)
        && parts().all(|part| is_word(part) || is_number(part))
}

fn is_two_words(shape: &TokenShape<'_>) -> bool {
    let parts = shape.text.split(|c: char| c.is_ascii_digit());
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    let [first, second] = parts.as_slice() else {
        return false;
    };
    shape.counts().digits >= 3
        && first.len() >= 3
        && second.len() >= 3
        && second.starts_with(char::is_uppercase)
}

fn is_numbered_name(text: &str) -> bool {
    let number = |c: char| c.is_ascii_digit() || ".-_".contains(c);
    let name = text
        .trim_end_matches(['!', '?', '.'])
        .trim_end_matches(number);
    name.len() < text.len() && says(name).any(NUMBERED)
}

fn is_version(text: &str) -> bool {
    text.strip_prefix(['v', 'V']).is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_digit())
            && rest.chars().filter(|c| c.is_alphabetic()).count() <= 1
    })
}

fn is_counted(text: &str) -> bool {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if rest.len() == text.len() {
        return false;
    }
    let word = rest.trim_start_matches('-');
    let plain = word.chars().all(char::is_alphabetic);
    let unit = word.trim_end_matches(|c: char| c.is_ascii_digit());
    plain && (word.chars().count() <= 4 || rest.starts_with('-')) || unit.chars().count() <= 1
}

fn is_counted_by_sign(text: &str) -> bool {
    let is_number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let parts = |sign: char| text.split_once(sign);
    parts('#').is_some_and(|(name, number)| {
        is_number(number) && name.bytes().all(|b| b.is_ascii_lowercase())
    }) || parts('%').is_some_and(|(number, _)| is_number(number))
        || parts('$').is_some_and(|(name, number)| {
            name.bytes().all(|b| b.is_ascii_uppercase())
                && number.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        })
}

/// Letters and then digits; or hardly a word in it, and no sign.
fn is_product(shape: &TokenShape<'_>) -> bool {
    let (text, counts) = (shape.text, shape.counts());
    let words = text.split(|c: char| !c.is_alphabetic());
    let longest = words.map(|word| word.chars().count()).max().unwrap_or(0);
    let head = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let numbered = head.len() < text.len() && head.chars().all(char::is_alphabetic);
    let signed = text.trim_end_matches(['!', '?']).contains(SENTENCE_SIGNS)
        || text.ends_with('!') && counts.digits >= 2 && !shape.is(TokenKind::NumberedName);
    let humped = text
        .as_bytes()
        .windows(2)
        .any(|two| two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase());
    numbered
        || !(signed
            || humped
            || longest >= 4
            || shape.is(TokenKind::MixedCase)
            || (counts.digits >= 2 && counts.upper >= 2 && counts.lower >= 2))
}

fn is_few_words(text: &str) -> bool {
    let words = || text.split_whitespace();
    match words().count() {
        ..=2 => !words().all(is_common),
        count => {
            vocabulary().lengths.phrase.contains(&count)
                && !words().any(is_common)
                && text.chars().all(|c| c.is_alphanumeric() || c == ' ')
        }
    }
}

fn is_groups(text: &str) -> bool {
    let mut groups = text.split('-');
    let first = groups.next().unwrap_or_default().len();
    let count = 1 + groups.clone().count();
    count >= 2
        && (2..=8).contains(&first)
        && (first >= 4 || count >= 3)
        && groups.all(|group| group.len() == first)
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        && text.bytes().any(|b| b.is_ascii_digit())
}
