//! Values that a name calls secret: assignments, JSON, YAML, TOML, XML, headers, exports, flags,
//! calls.

use super::cue_words::{CueClass, CueWord, is_a_kind_of_name};
use super::rules::window::boundary;
use super::separator::{AssignedValue, Ends, Separator, separator_after, value};
use super::text::work;
use super::token::kind::TokenKind;
use super::token::shape::{TokenShape, may_have_blanks, wordiness};
use super::token::table::{ClueSet, ContextClue, TokenContext};
use super::vocabulary::vocabulary;

/// Most bytes of a name on either side of its word.
const MAX_NAME: usize = 48;

fn is_name_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'$')
}

/// The secret that the name around `start..end` gives a value to, as a place in the text.
pub fn look(text: &str, word: CueWord, ends: &mut Ends) -> Option<(usize, usize)> {
    let CueWord { start, end, class } = word;
    let bytes = text.as_bytes();
    let left = bytes[..start]
        .iter()
        .rev()
        .take(MAX_NAME)
        .take_while(|b| is_name_byte(**b))
        .count();
    let name = start - left;
    let after = rest_of_name(text, name, start, end, class)?;
    let flag = text
        .get(name..end)
        .is_some_and(|name| name.starts_with('-') && !name.contains('$'));
    let element = bytes[..name].ends_with(b"<")
        || (bytes[..name].ends_with(b":")
            && text[..name].rfind('<').is_some_and(|at| name - at < 24));
    let (separator, at) = separator_after(bytes, after, element, flag)?;
    let whole = text.get(name..after)?;
    let first = value(text, at, separator, ends)?;
    if accepts(class, whole, separator, &first.head()) {
        return Some(first.place());
    }
    let other = otherwise(text, at, separator)?;
    let second = value(text, other, Separator::Assigned { spaced: true }, ends)?;
    (second.quoted && accepts(class, whole, separator, &second.head())).then(|| second.place())
}

/// How far behind the name.
const MAX_OTHERWISE: usize = 120;

/// `token = process.env.T || "…"`, `secret = x ? y : "…"`: where the quote of the second value is.
fn otherwise(text: &str, at: usize, separator: Separator) -> Option<usize> {
    if !matches!(separator, Separator::Assigned { .. } | Separator::Colon) {
        return None;
    }
    let rest = text.get(at..)?;
    let reach = rest
        .bytes()
        .take(MAX_OTHERWISE)
        .take_while(|b| !matches!(b, b'\n' | b';' | b'{'))
        .count();
    work::count(reach);
    let line = rest.get(..boundary(rest, reach))?;
    let otherwise = &vocabulary().names.otherwise;
    line.bytes()
        .enumerate()
        .filter(|(_, b)| matches!(b, b'"' | b'\'' | b'`'))
        .map(|(quote, _)| quote)
        .find_map(|quote| {
            let before = line.get(..quote)?.strip_suffix([' ', '\t'])?.trim_end();
            let sign = otherwise.end_of(before)?;
            let apart = before.len() > sign.len()
                && before.as_bytes()[before.len() - sign.len() - 1] == b' ';
            (apart && (sign != ":" || line.contains(" ? "))).then_some(at + quote)
        })
}

/// `SMTP_PASS=abcd efgh ijkl mnop`: four groups of four small letters, as some services make
/// passwords of programs.
pub fn look_grouped(text: &str, word: CueWord) -> Option<(usize, usize)> {
    const GROUPS: usize = 19;
    let bytes = text.as_bytes();
    let rest = bytes
        .get(word.end..text.len().min(word.end + 16))
        .filter(|_| word.class.is_password())?;
    let sign = rest.iter().take(8).position(|b| matches!(b, b'=' | b':'))?;
    let blanks = rest[sign + 1..]
        .iter()
        .take_while(|b| matches!(b, b' ' | b'"' | b'\'' | b'='))
        .count();
    let start = word.end + sign + 1 + blanks;
    let groups = bytes.get(start..start + GROUPS)?;
    let fits = groups.iter().enumerate().all(|(at, b)| {
        if at % 5 == 4 {
            *b == b' '
        } else {
            b.is_ascii_lowercase()
        }
    });
    let goes_on = bytes
        .get(start + GROUPS)
        .is_some_and(|b| b.is_ascii_alphanumeric())
        || matches!(bytes.get(start + GROUPS..start + GROUPS + 2), Some([b' ', b]) if b.is_ascii_alphanumeric());
    // Four words of four letters are a sentence, unless one of them can't be said.
    let said = groups
        .split(|b| *b == b' ')
        .all(|group| std::str::from_utf8(group).is_ok_and(|group| wordiness(group) > 0));
    (fits && !goes_on && !said).then_some((start, start + GROUPS))
}

/// The end of the name that goes on after its word; none when the word is part of another one.
fn rest_of_name(
    text: &str,
    name: usize,
    start: usize,
    end: usize,
    class: CueClass,
) -> Option<usize> {
    let bytes = text.as_bytes();
    let before = bytes[name..start].last().copied();
    let word = &bytes[start..end];
    if class.is_short() && before.is_some_and(|b| b.is_ascii_alphabetic()) {
        let camel = word[0].is_ascii_uppercase() && before.is_some_and(|b| b.is_ascii_lowercase());
        if !camel {
            return None;
        }
    }
    let mut length = bytes[end..]
        .iter()
        .take(MAX_NAME)
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
        .count();
    while length > 0 && bytes[end + length - 1] == b'-' {
        length -= 1;
    }
    let rest = text.get(end..end + length)?;
    let goes_on = rest.trim_start_matches(['s', 'S']).bytes().next();
    let small = |b: u8| {
        b.is_ascii_lowercase()
            || (word.iter().all(|w| !w.is_ascii_lowercase()) && b.is_ascii_uppercase())
    };
    if goes_on.is_some_and(small) && !rest.starts_with("value") && !rest.starts_with("string") {
        return None;
    }
    (!parts(rest).any(is_a_kind_of_name)
        && !parts(text.get(name..start)?).any(|part| vocabulary().names.public.has(part)))
    .then_some(end + length)
}

/// The words of a name: cut at signs and where a capital follows a small letter.
pub fn parts(name: &str) -> impl Iterator<Item = &str> {
    let bytes = name.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        at += bytes
            .get(at..)?
            .iter()
            .position(u8::is_ascii_alphanumeric)?;
        let start = at;
        at += 1;
        while bytes.get(at).is_some_and(u8::is_ascii_alphanumeric)
            && (!bytes[at].is_ascii_uppercase() || bytes[at - 1].is_ascii_uppercase())
        {
            at += 1;
        }
        name.get(start..at)
    })
}

/// Whether a value may be what its name says.
pub fn accepts(
    class: CueClass,
    name: &str,
    separator: Separator,
    value: &AssignedValue<'_>,
) -> bool {
    let shape = &TokenShape::of(value.text);
    // After a mere blank, a word is believed with a digit in it, or in quotes.
    let unsure = separator == Separator::Blank
        && !value.quoted
        && !value.text.bytes().any(|b| b.is_ascii_digit());
    if unsure
        || shape.is(TokenKind::StandIn)
        || shape.is(TokenKind::Path)
        || shape.is(TokenKind::Escaped)
        || (class != CueClass::Password && shape.is(TokenKind::Dated))
        || (!value.quoted && shape.is(TokenKind::Code))
        // A person may choose one as a password; no machine makes such a token.
        || (!class.is_password() && !value.quoted && shape.is(TokenKind::Calculation))
    {
        return false;
    }
    let clues = clues(name, separator, value);
    let fits = |context| shape.is_secret_by(context, clues);
    let accepted = match class {
        CueClass::Password | CueClass::ShortPassword => fits(TokenContext::AssignedPassword),
        CueClass::Token => fits(TokenContext::AssignedToken) || fits(TokenContext::ChosenToken),
        CueClass::Weak => {
            (shape.is(TokenKind::LongToken) && fits(TokenContext::AssignedToken))
                || (is_auth_variable(name, separator)
                    && shape.counts().digits > 0
                    && fits(TokenContext::AssignedPassword))
        }
        CueClass::Key => fits(TokenContext::AssignedKey),
        CueClass::Cue => false,
    };
    // What costs more to tell is asked of the few that are left.
    accepted && !shape.is(TokenKind::Public)
}

/// `REDIS_AUTH=…` of an environment: what a program logs in with, and a person may have chosen.
fn is_auth_variable(name: &str, separator: Separator) -> bool {
    name.ends_with("_AUTH") && matches!(separator, Separator::Assigned { .. } | Separator::Colon)
}

/// What the place of a value tells of it.
fn clues(name: &str, separator: Separator, value: &AssignedValue<'_>) -> ClueSet {
    let equals = matches!(separator, Separator::Assigned { .. });
    let spaced = separator == Separator::Assigned { spaced: true };
    let operator = equals || separator == Separator::Colon;
    let told = operator || matches!(separator, Separator::Element | Separator::Flag);
    let is_word = |text: &str| !may_have_blanks(text) || text.split_whitespace().count() <= 1;
    // `DB_PASSWORD`
    let constant = !name.bytes().any(|b| b.is_ascii_lowercase()) && name.contains('_');
    // `setPassword`, `withPassword`
    let argument = separator == Separator::Argument;
    let call = || name.rsplit('.').next().unwrap_or_default();
    let setters = &vocabulary().names.setters;
    ClueSet::of(&[
        (ContextClue::Equals, equals),
        (ContextClue::Spaced, spaced),
        (ContextClue::Unspaced, equals && !spaced),
        (ContextClue::Operator, operator),
        (ContextClue::Told, told),
        (ContextClue::Colon, separator == Separator::Colon),
        (ContextClue::Element, separator == Separator::Element),
        (ContextClue::Flag, separator == Separator::Flag),
        (ContextClue::Argument, argument),
        (ContextClue::Blank, separator == Separator::Blank),
        (ContextClue::Quoted, value.quoted),
        (ContextClue::Unquoted, !value.quoted),
        (ContextClue::Whole, value.quoted || is_word(value.text)),
        (ContextClue::Last, value.last),
        (
            ContextClue::Open,
            !matches!(value.next, Some(b')' | b',' | b'}' | b']' | b'(')),
        ),
        (ContextClue::BeforeFlag, value.next == Some(b'-')),
        (ContextClue::Constant, constant),
        (
            ContextClue::SecretConstant,
            constant && ["SECRET", "PEPPER"].iter().any(|part| name.contains(part)),
        ),
        (ContextClue::Setter, argument && setters.starts(call())),
    ])
}
