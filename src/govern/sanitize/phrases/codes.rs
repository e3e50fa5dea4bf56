//! Codes that open something: PINs, one-time codes, codes of doors, recovery codes, in several
//! languages.

use super::lexicon::{CODE, COUNTED, NOT, OPENS, PIN, STRONG, WordSenses, says};
use super::words::{reach_after, reach_before};
use crate::govern::sanitize::text::passes::OPAQUE;
use crate::govern::sanitize::token::kind::TokenKind;
use crate::govern::sanitize::token::shape::TokenShape;
use crate::govern::sanitize::token::table::{ClueSet, ContextClue, TokenContext};

/// How far behind its name a code is looked for.
const BEHIND: usize = 72;
/// Most words between the name of a code and the code.
const MAX_BETWEEN: usize = 7;
/// Most lines of a list of codes, and longest of them.
const MAX_LINES: usize = 16;
const MAX_LINE: usize = 48;
/// Longest name of a code.
const MAX_NAME: usize = 32;

/// The codes that the word `start..end` names.
pub fn look(text: &str, start: usize, end: usize) -> Vec<(usize, usize)> {
    let Some((name, from, to)) = name(text, start, end) else {
        return Vec::new();
    };
    // Most names of codes have no digit near: a glance that costs little.
    let rest = reach_after(text, to);
    let rest = rest.get(..floor(rest, BEHIND)).unwrap_or(rest);
    let before = reach_before(text, from).1;
    if rest.contains(OPAQUE) || before.contains(OPAQUE) {
        return Vec::new();
    }
    let digit = |text: &str| text.bytes().any(|b| b.is_ascii_digit());
    let lists = rest.trim().trim_end_matches(':').is_empty()
        && text.as_bytes().get(to + rest.len()) == Some(&b'\n');
    if !digit(rest) && !lists && !digit(before) {
        return Vec::new();
    }
    let opened = CodePurpose::of(name, before, rest);
    if opened == CodePurpose::Nothing {
        return Vec::new();
    }
    if lists && opened != CodePurpose::Perhaps {
        return list(text, to + rest.len() + 1);
    }
    if let Some(found) = behind(text, rest, to, opened) {
        return vec![found];
    }
    in_front(before, from - before.len(), opened)
        .into_iter()
        .collect()
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

/// The whole name around a word, in the text and as a place: `card_pin`, `Türcode`.
fn name(text: &str, start: usize, end: usize) -> Option<(&str, usize, usize)> {
    let part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-') || *b >= 0x80;
    let bytes = text.as_bytes();
    let left = bytes[..start]
        .iter()
        .rev()
        .take(MAX_NAME)
        .take_while(|b| part(b))
        .count();
    let right = bytes[end..]
        .iter()
        .take(MAX_NAME)
        .take_while(|b| part(b))
        .count();
    let (from, to) = (start - left, end + right);
    if right > 8
        || left >= MAX_NAME
        || bytes.get(to) == Some(&b'(')
        || from > 0 && matches!(bytes[from - 1], b'.' | b'$')
    {
        return None;
    }
    let name = text.get(from..to)?;
    // An underscore joins the parts of a name, a letter before the word makes it another word.
    let first = name.get(..start - from)?;
    let apart = first.is_empty() || first.ends_with(['_', '-']) || says(name).any(PIN);
    apart.then_some((name, from, to))
}

/// What a code is said to open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CodePurpose {
    Nothing,
    /// A name alone that says it: PIN, PUK, OTP.
    Perhaps,
    Something,
}

impl CodePurpose {
    fn of(name: &str, before: &str, rest: &str) -> Self {
        let of_name = of_name(name);
        let senses = |word: Option<&str>| word.map_or(WordSenses::default(), says);
        let is_word = |word: &&str| !word.is_empty();
        let mut words = before.rsplit(is_apart).filter(is_word);
        let last = [senses(words.next()), senses(words.next())];
        let mut words = rest.split(is_apart).filter(is_word);
        let next = senses(words.next());
        let adjacent =
            !before.ends_with(['.', ';', '\n']) && before.len() - before.trim_end().len() <= 1;
        let other = of_name.any(NOT)
            || (adjacent && last[0].any(NOT) && !last[0].any(OPENS))
            || next.any(NOT);
        if other {
            return CodePurpose::Nothing;
        }
        let opens = of_name.any(OPENS) && of_name.any(CODE) && name.contains(['_', '-'])
            || (last[0] | last[1] | next).any(OPENS)
            || words.take(3).any(|word| says(word).any(OPENS));
        match () {
            () if opens && of_name.any(PIN | CODE) => CodePurpose::Something,
            () if of_name.any(PIN) => CodePurpose::Perhaps,
            () => CodePurpose::Nothing,
        }
    }
}

/// What a name says, its parts say, and each of them in the singular.
fn of_name(name: &str) -> WordSenses {
    let whole = name.contains(['_', '-']).then_some(name);
    let parts = name.split(['_', '-']).chain(whole);
    parts.fold(WordSenses::default(), |all, part| {
        let singular = part.trim_end_matches(['s', 'S']);
        let all = all | says(part);
        if singular.len() < part.len() {
            all | says(singular)
        } else {
            all
        }
    })
}

fn is_apart(c: char) -> bool {
    !(c.is_alphanumeric() || matches!(c, '-' | '\'' | '’'))
}

/// The code behind its name, which ends at `base`.
fn behind(text: &str, rest: &str, base: usize, opened: CodePurpose) -> Option<(usize, usize)> {
    let mut at = 0;
    let mut linked = false;
    let mut nth = 0;
    for raw in rest.split([' ', '\t']) {
        let start = at;
        at += raw.len() + 1;
        // `PIN=1234`, `"pin": "1234"`: the value stands in the same word.
        let inner = raw.trim_start_matches(['"', '\'', '`', ')', ']', '*']);
        let inner = inner
            .trim_start_matches([':', '=', '>'])
            .trim_start_matches(['"', '\'', '`', '(', '*', '“', '«']);
        let told = raw.len() > inner.len()
            && raw.contains([':', '='])
            && raw.find([':', '=']) < raw.find(char::is_alphanumeric);
        let word = inner.trim_end_matches([
            '"', '\'', '`', ',', ';', '.', '?', '!', ')', ':', '*', '”', '»', '}',
        ]);
        let place = base + start + (raw.len() - inner.len());
        linked |= told;
        if word.is_empty() {
            linked |= raw.contains([':', '=', '—', '-']);
            continue;
        }
        let code = word.strip_suffix('#').unwrap_or(word);
        // "G-704118": a letter of the sender's before it.
        let skip = usize::from(code.len() > 5 && code.starts_with("G-")) * 2;
        let code = code.get(skip..).unwrap_or(code);
        let place = place + skip;
        if code.bytes().any(|b| b.is_ascii_digit()) {
            let clues = ClueSet::of(&[
                (ContextClue::Linked, linked),
                (ContextClue::Direct, nth == 0),
                (ContextClue::Opens, opened == CodePurpose::Something),
            ]);
            let fits = TokenShape::of(code).is_secret_by(TokenContext::Code, clues);
            if !fits || is_counted(text, place + code.len()) {
                return None;
            }
            return Some((place, groups_end(text, place, place + code.len())));
        }
        linked = says(word).any(STRONG) || raw.ends_with([':', '=']);
        nth += 1;
        // "here is the OTP I just got: …", but not over the end of a sentence.
        if nth > MAX_BETWEEN || raw.ends_with(['.', '?', '!', ';']) {
            return None;
        }
    }
    None
}

/// "552913 is your verification code": the code in front of its name.
fn in_front(before: &str, base: usize, opened: CodePurpose) -> Option<(usize, usize)> {
    if opened != CodePurpose::Something {
        return None;
    }
    let (mut at, mut linked) = (before.len(), false);
    for raw in before.rsplit([' ', '\t']).take(7) {
        at -= raw.len();
        let skip = usize::from(raw.starts_with("G-")) * 2;
        let word = raw.get(skip..).unwrap_or(raw);
        if linked && TokenShape::of(word).is(TokenKind::LongNumber) {
            return Some((base + at + skip, base + at + raw.len()));
        }
        if !raw.is_empty() {
            linked = says(raw).any(STRONG) || raw.eq_ignore_ascii_case("as");
        }
        at = at.checked_sub(1)?;
        if raw.ends_with(['.', '?', '!', ';']) {
            return None;
        }
    }
    None
}

/// Whether what follows is counted by the number: "8 digits", "300 seconds".
fn is_counted(text: &str, end: usize) -> bool {
    let rest = reach_after(text, end).trim_start_matches([' ', '-']);
    rest.split(is_apart)
        .next()
        .is_some_and(|word| says(word).any(COUNTED))
}

fn is_number(code: &str) -> bool {
    TokenShape::of(code).is(TokenKind::Number)
}

/// Where a code of several groups with blanks between ends: "3381 9027".
fn groups_end(text: &str, start: usize, end: usize) -> usize {
    let length = end - start;
    let digits = text.get(start..end).is_some_and(is_number);
    let mut to = end;
    if !digits || length < 3 {
        return to;
    }
    let next = |at: usize| {
        text.get(at..)
            .and_then(|rest| rest.strip_prefix(' '))
            .and_then(|rest| rest.get(..length))
    };
    while let Some(next) = next(to) {
        let after = text.as_bytes().get(to + 1 + length);
        if !is_number(next) || after.is_some_and(u8::is_ascii_alphanumeric) {
            break;
        }
        to += 1 + length;
    }
    to
}

/// A list of codes: lines that hold nothing else.
fn list(text: &str, from: usize) -> Vec<(usize, usize)> {
    let (mut found, mut at) = (Vec::new(), from);
    for line in text
        .get(from..)
        .unwrap_or_default()
        .split('\n')
        .take(MAX_LINES)
    {
        let inner = line.trim().trim_start_matches(['-', '*', '•', '>', ' ']);
        let is_code = |word: &str| TokenShape::of(word).is_secret(TokenContext::ListedCode);
        if inner.len() > MAX_LINE || inner.is_empty() || !inner.split_whitespace().all(is_code) {
            break;
        }
        let start = at + line.len()
            - line
                .trim_start()
                .trim_start_matches(['-', '*', '•', '>', ' '])
                .len();
        found.push((start, start + inner.len()));
        at += line.len() + 1;
    }
    found
}
