//! Values that a name calls secret: assignments, JSON, YAML, TOML, XML, headers, exports, flags,
//! calls.

use super::cue_words::{CueClass, CueWord, is_a_kind_of_name};
use super::public::{is_algorithm, is_colour, is_licence, is_public_token};
use super::rules::window::boundary;
use super::separator::{AssignedValue, Ends, Separator, link, value};
use super::text::work;
use super::token::shape::{TokenShape, is_escaped, may_have_blanks, wordiness};
use super::vocabulary::vocabulary;

/// Most bytes of a name on either side of its word.
const MAX_NAME: usize = 48;

fn is_name_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'$')
}

/// The secret that the name around `start..end` gives a value to, as a place in the text.
pub(super) fn look(text: &str, word: CueWord, ends: &mut Ends) -> Option<(usize, usize)> {
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
    let (link, at) = link(bytes, after, element, flag)?;
    let whole = text.get(name..after)?;
    let first = value(text, at, link, ends)?;
    let place = |value: &AssignedValue<'_>| (value.start, value.start + value.text.len());
    if accepts(class, whole, link, &first.head()) {
        return Some(place(&first));
    }
    let other = otherwise(text, at, link)?;
    let second = value(text, other, Separator::Assigned { spaced: true }, ends)?;
    (second.quoted && accepts(class, whole, link, &second.head())).then(|| place(&second))
}

/// Signs and words behind which a quoted value stands for one that is not there, or is the second
/// of two.
const OTHERWISE: &[&str] = &["||", "??", "?:", "or", "else", ":", "//"];
/// How far behind the name.
const MAX_OTHERWISE: usize = 120;

/// `token = process.env.T || "…"`, `secret = x ? y : "…"`: where the quote of the second value is.
fn otherwise(text: &str, at: usize, link: Separator) -> Option<usize> {
    if !matches!(link, Separator::Assigned { .. } | Separator::Colon) {
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
    let asks = line.contains(" ? ");
    line.bytes()
        .enumerate()
        .filter(|(_, b)| matches!(b, b'"' | b'\'' | b'`'))
        .map(|(quote, _)| quote)
        .find_map(|quote| {
            let before = line.get(..quote)?.strip_suffix([' ', '\t'])?.trim_end();
            let sign = OTHERWISE.iter().find(|sign| before.ends_with(**sign))?;
            let apart = before.len() > sign.len()
                && before.as_bytes()[before.len() - sign.len() - 1] == b' ';
            (apart && (*sign != ":" || asks)).then_some(at + quote)
        })
}

/// `SMTP_PASS=abcd efgh ijkl mnop`: four groups of four small letters, as some services make
/// passwords of programs.
pub(super) fn look_grouped(text: &str, word: CueWord) -> Option<(usize, usize)> {
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
pub(super) fn parts(name: &str) -> impl Iterator<Item = &str> {
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
pub(super) fn accepts(
    class: CueClass,
    name: &str,
    link: Separator,
    value: &AssignedValue<'_>,
) -> bool {
    let text = value.text;
    // After a mere blank, a word is believed with a digit in it, or in quotes.
    if link == Separator::Blank && !value.quoted && !text.bytes().any(|b| b.is_ascii_digit()) {
        return false;
    }
    let shape = &TokenShape::of(text);
    if shape.stands_in()
        || shape.is_path()
        || is_escaped(text)
        || (shape.is_dated() && class != CueClass::Password)
        || (!value.quoted && shape.is_code())
    {
        return false;
    }
    let lengths = &vocabulary().lengths;
    let accepted = match class {
        CueClass::Password | CueClass::ShortPassword => is_password(name, link, value, shape),
        CueClass::Token => {
            is_token(link, value, shape, lengths.token)
                || is_chosen(name, link, shape)
                || is_short_token(link, value, shape)
        }
        CueClass::Weak => {
            (is_token(link, value, shape, lengths.loose_token)
                && shape.made().digits > 0
                && !text.contains(' '))
                || (is_auth_variable(name, link)
                    && shape.made().digits > 0
                    && is_password(name, link, value, shape))
        }
        CueClass::Key => is_key(link, value, shape),
        CueClass::Cue => false,
    };
    // What costs more to tell is asked of the few that are left.
    accepted
        && !(is_colour(text) || is_public_token(text) || is_licence(text) || is_algorithm(text))
}

/// `REDIS_AUTH=…` of an environment: what a program logs in with, and a person may have chosen.
fn is_auth_variable(name: &str, link: Separator) -> bool {
    name.ends_with("_AUTH") && matches!(link, Separator::Assigned { .. } | Separator::Colon)
}

fn is_password(
    name: &str,
    link: Separator,
    value: &AssignedValue<'_>,
    shape: &TokenShape<'_>,
) -> bool {
    let (text, made) = (value.text, shape.made());
    let length = text.chars().count();
    if length < vocabulary().lengths.password || shape.is_name() || is_sentence(text) {
        return false;
    }
    let mixed = made.kinds() >= 2 && (made.digits > 0 || (made.others > 0 && !text.contains(' ')));
    let wordlike = made.digits == 0 && made.others == 0;
    match link {
        Separator::Assigned { spaced } => {
            value.quoted
                || mixed
                || (!spaced && !closes(value))
                || (spaced && value.last && !wordlike)
        }
        Separator::Colon => {
            value.quoted
                || (mixed && !shape.is_prose_sign())
                || shape.is_mixed_case()
                || (value.last && !is_common(text))
        }
        Separator::Element => true,
        Separator::Flag => {
            (value.quoted || mixed || value.last || value.next == Some(b'-')) && !is_common(text)
        }
        Separator::Argument => {
            value.quoted
                && ((mixed && !text.contains(' ') && !is_identifier(text))
                    || shape.is_mixed_case()
                    || sets(name)
                    || is_shouted(name))
        }
        Separator::Blank => {
            (value.quoted && !text.contains(' ') && !is_common(text))
                || (!value.quoted && shape.is_strong())
        }
    }
}

/// Whether a name is a call that takes a password: `setPassword`, `withPassword`.
fn sets(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    let setters = &vocabulary().names.setters;
    setters.iter().any(|verb| last.starts_with(verb.as_str()))
}

/// `re_syntax`, `first-name`: words that a sign joins, without a digit or a capital.
fn is_identifier(text: &str) -> bool {
    text.bytes()
        .all(|b| b.is_ascii_lowercase() || matches!(b, b'_' | b'-' | b'.'))
        && wordiness(text) >= 40
}

/// Whether a name is a constant's: `DB_PASSWORD`.
fn is_shouted(name: &str) -> bool {
    name.contains('_') && !name.bytes().any(|b| b.is_ascii_lowercase())
}

/// Whether a value is followed by what ends an argument or a field of code.
fn closes(value: &AssignedValue<'_>) -> bool {
    matches!(value.next, Some(b')' | b',' | b'}' | b']' | b'('))
}

/// Several words of which some are everyday ones: a label or a message.
fn is_sentence(text: &str) -> bool {
    let words = || text.split_whitespace();
    may_have_blanks(text)
        && words().count() >= 3
        && words().any(|word| {
            super::cue_words::is_common(word.trim_matches(|c: char| !c.is_alphanumeric()))
        })
}

fn is_common(text: &str) -> bool {
    super::cue_words::is_common(text.trim_matches(|c: char| !c.is_alphanumeric()))
}

fn is_token(
    link: Separator,
    value: &AssignedValue<'_>,
    shape: &TokenShape<'_>,
    least: usize,
) -> bool {
    let (text, made) = (value.text, shape.made());
    if text.len() < least || shape.is_name() || text.split_whitespace().count() > 1 && !value.quoted
    {
        return false;
    }
    if text.contains(' ') && (is_sentence(text) || shape.wordiness() >= 50) {
        return false;
    }
    let number = made.letters() == 0 && made.others == 0;
    let named = vocabulary().wordiness.named;
    let random = shape.is_random()
        || shape.is_interleaved()
        || (made.digits >= 3 && made.letters() > 0 && shape.wordiness() < named);
    let shaped = if number {
        text.len() >= 16
    } else {
        random && (made.digits > 0 || text.len() >= 12)
    };
    match link {
        Separator::Assigned { .. } | Separator::Colon | Separator::Element | Separator::Flag => {
            shaped || shape.is_uuid()
        }
        Separator::Argument => value.quoted && shaped && (made.digits > 0 || made.upper > 0),
        Separator::Blank => {
            text.len() >= vocabulary().lengths.loose_token
                && made.digits > 0
                && (shape.is_random() || shape.is_uuid())
                && !shape.is_prose_sign()
                || (value.quoted && shaped && !shape.is_prose_sign())
        }
    }
}

/// `SESSION_SECRET=value` of an environment: a person may have chosen it, as a password.
fn is_chosen(name: &str, link: Separator, shape: &TokenShape<'_>) -> bool {
    let text = shape.text;
    let plain =
        !text.contains(' ') && !shape.is_name() && !is_common(text) && !shape.is_prose_sign();
    link == (Separator::Assigned { spaced: false })
        && is_shouted(name)
        && (name.contains("SECRET") || name.contains("PEPPER"))
        && text.len() >= vocabulary().lengths.token
        && plain
}

/// A short value that nobody would write for anything else: signs in disorder, or letters that
/// can't be said.
fn is_short_token(link: Separator, value: &AssignedValue<'_>, shape: &TokenShape<'_>) -> bool {
    let text = value.text;
    let told = matches!(
        link,
        Separator::Assigned { .. } | Separator::Colon | Separator::Element
    );
    let made = shape.made();
    let letters = made.letters() == text.len() && (made.lower == 0 || made.upper == 0);
    let unsaid = letters
        && text.len() >= vocabulary().lengths.token
        && shape.wordiness() == 0
        && consonants(text) * 4 >= text.len() * 3;
    // `secret: 'bpz880'`: no word, and a number that counts nothing.
    let mixed = (6..vocabulary().lengths.loose_token).contains(&text.len())
        && made.digits >= 2
        && made.letters() >= 3
        && made.letters() + made.digits == text.len()
        && (made.lower == 0 || made.upper == 0)
        && shape.wordiness() == 0;
    let mixed = mixed
        && value.quoted
        && !matches!(link, Separator::Element)
        && !TokenShape::of(&said_in_digits(text)).stands_in();
    told && (mixed || shape.has_odd_signs() || (unsaid && (value.quoted || value.last)))
}

/// `s3cr3t` as it is meant.
fn said_in_digits(text: &str) -> String {
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

/// How many letters are no vowels.
fn consonants(text: &str) -> usize {
    text.bytes()
        .filter(|b| !matches!(b.to_ascii_lowercase(), b'a' | b'e' | b'i' | b'o' | b'u'))
        .count()
}

/// A bare `key`: many things are keys, so only what is random and long is a secret.
fn is_key(link: Separator, value: &AssignedValue<'_>, shape: &TokenShape<'_>) -> bool {
    let (text, made) = (value.text, shape.made());
    let long = text.len() >= 16
        || (text.len() >= vocabulary().lengths.loose_token
            && matches!(link, Separator::Assigned { spaced: _ }));
    let hex_digest =
        shape.is_hex() && matches!(text.len(), 32 | 40 | 64) && matches!(link, Separator::Blank);
    long && made.digits > 0
        && made.letters() > 0
        && shape.is_random()
        && !shape.is_uuid()
        && !text.contains(' ')
        && !hex_digest
        && !shape.is_prose_sign()
        && (link != Separator::Argument || value.quoted)
        && !shape.is_name()
}
