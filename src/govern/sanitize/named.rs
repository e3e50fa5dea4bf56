//! Values that a name calls secret: assignments, JSON, YAML, TOML, XML, headers, exports, flags, calls.

use super::value::{is_code, is_dated, is_escaped, is_hex, is_name, is_path, is_random, is_uuid, makeup, stands_in, wordiness};
use super::words::{Class, is_a_kind_of_name};

/// Most bytes of a name on either side of its word.
const MAX_NAME: usize = 48;
/// Longest value.
const MAX_VALUE: usize = 1024;
/// Shortest password, and shortest token.
pub(super) const MIN_PASSWORD: usize = 4;
const MIN_TOKEN: usize = 8;
/// From this length a value without an equals sign before it may be a token.
const MIN_LOOSE_TOKEN: usize = 13;

/// What stands between a name and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    /// `=`, `:=`, `==`, `=>`.
    Assigned { spaced: bool },
    /// `:`.
    Colon,
    /// `(`, or `,` after a quoted name.
    Argument,
    /// `>` of an element that bears the name.
    Element,
    /// Blanks after a flag.
    Flag,
    /// Blanks.
    Blank,
}

/// A value and how it stands there.
#[derive(Clone, Copy, Debug)]
struct Value<'a> {
    start: usize,
    text: &'a str,
    quoted: bool,
    /// The first sign after it that is no blank, and whether blanks come first.
    next: Option<u8>,
    /// Whether it is the last of its line, but for a comment.
    last: bool,
}

fn is_name_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'$')
}

/// The secret that the name around `start..end` gives a value to, as a place in the text.
pub(super) fn look(text: &str, start: usize, end: usize, class: Class) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let left = bytes[..start].iter().rev().take(MAX_NAME).take_while(|b| is_name_byte(**b)).count();
    let name = start - left;
    let after = rest_of_name(text, name, start, end, class)?;
    let flag = text.get(name..).is_some_and(|rest| rest.starts_with('-'));
    let element = bytes[..name].ends_with(b"<") || (bytes[..name].ends_with(b":") && text[..name].rfind('<').is_some_and(|at| name - at < 24));
    let (link, at) = link(bytes, after, element, flag)?;
    let value = value(text, at, link)?;
    let whole = text.get(name..after)?;
    accepts(class, whole, link, &value).then_some((value.start, value.start + value.text.len()))
}

/// The end of the name that goes on after its word; none when the word is part of another one.
fn rest_of_name(text: &str, name: usize, start: usize, end: usize, class: Class) -> Option<usize> {
    let bytes = text.as_bytes();
    let before = bytes[name..start].last().copied();
    let word = &bytes[start..end];
    if class.is_short() && before.is_some_and(|b| b.is_ascii_alphabetic()) {
        let camel = word[0].is_ascii_uppercase() && before.is_some_and(|b| b.is_ascii_lowercase());
        if !camel {
            return None;
        }
    }
    let mut length = bytes[end..].iter().take(MAX_NAME).take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')).count();
    while length > 0 && bytes[end + length - 1] == b'-' {
        length -= 1;
    }
    let rest = text.get(end..end + length)?;
    let goes_on = rest.trim_start_matches(['s', 'S']).bytes().next();
    let small = |b: u8| b.is_ascii_lowercase() || (word.iter().all(|w| !w.is_ascii_lowercase()) && b.is_ascii_uppercase());
    if goes_on.is_some_and(small) && !rest.starts_with("value") && !rest.starts_with("string") {
        return None;
    }
    let other = |part: &str| is_a_kind_of_name(part);
    (!parts(rest).any(other) && !parts(text.get(name..start)?).any(|part| is_public(part))).then_some(end + length)
}

fn is_public(part: &str) -> bool {
    ["public", "pub", "publish", "publishable", "primary", "foreign", "sort", "partition", "cache", "hash", "idempotency", "host", "checksum", "digest", "fingerprint", "csrf", "max", "min", "num", "no", "forgot", "reset", "next"]
        .iter()
        .any(|word| part.eq_ignore_ascii_case(word))
}

/// The words of a name: cut at signs and where a capital follows a small letter.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_ascii_alphanumeric()).flat_map(|part| {
        let mut cuts: Vec<usize> = vec![0];
        let bytes = part.as_bytes();
        cuts.extend((1..bytes.len()).filter(|at| bytes[*at].is_ascii_uppercase() && !bytes[at - 1].is_ascii_uppercase()));
        cuts.push(part.len());
        cuts.windows(2).filter_map(|two| part.get(two[0]..two[1])).collect::<Vec<_>>()
    })
}

fn blanks(bytes: &[u8], at: usize, most: usize) -> usize {
    bytes.get(at..).map_or(0, |rest| rest.iter().take(most).take_while(|b| matches!(b, b' ' | b'\t')).count())
}

/// What links a name that ends at `after` to a value, and where the value may begin.
fn link(bytes: &[u8], after: usize, element: bool, flag: bool) -> Option<(Link, usize)> {
    let closers = bytes[after..].iter().take(4).take_while(|b| matches!(b, b'"' | b'\'' | b'`' | b']' | b')' | b'*' | b'\\')).count();
    let was_quoted = closers > 0 && bytes[after..after + closers].iter().any(|b| matches!(b, b'"' | b'\'' | b'`'));
    let at = after + closers;
    let gap = blanks(bytes, at, 24);
    let here = at + gap;
    let rest = bytes.get(here..).unwrap_or_default();
    let operators: [&[u8]; 13] = [b"===", b"!==", b"||=", b"::=", b"==", b"!=", b"=>", b":=", b"?=", b".=", b"+=", b"<-", b"="];
    if let Some(found) = operators.iter().find(|operator| rest.starts_with(operator)) {
        let to = here + found.len();
        return Some((Link::Assigned { spaced: gap > 0 }, to));
    }
    match rest.first()? {
        b':' => {
            let to = here + 1;
            Some(typed(bytes, to).map_or((Link::Colon, to), |to| (Link::Assigned { spaced: true }, to)))
        }
        b'>' if element || was_quoted => Some((Link::Element, here + 1)),
        // A cell of a table.
        b'|' if gap > 0 && rest.get(1) == Some(&b' ') => Some((Link::Colon, here + 1)),
        b'(' if closers == 0 && gap == 0 => Some((Link::Argument, here + 1)),
        b',' if was_quoted => Some((Link::Argument, here + 1)),
        b'v' | b'V' if was_quoted && gap > 0 => xml_value(bytes, here).map(|to| (Link::Assigned { spaced: false }, to)),
        _ if flag && gap > 0 => Some((Link::Flag, here)),
        _ if gap > 0 => Some(declared(bytes, here).map_or((Link::Blank, here), |to| (Link::Assigned { spaced: true }, to))),
        _ => None,
    }
}

/// `: str = …`, `: &'static str = …`: where the value begins after a type.
fn typed(bytes: &[u8], colon: usize) -> Option<usize> {
    let rest = bytes.get(colon..colon.saturating_add(40).min(bytes.len()))?;
    let equals = rest.iter().position(|b| *b == b'=')?;
    let kind = rest[..equals].trim_ascii();
    let word = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'&' | b'\'' | b'<' | b'>' | b'[' | b']' | b' ' | b'|' | b'.' | b'?');
    (kind.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'&') && kind.iter().all(word)).then_some(colon + equals + 1)
}

/// `password string = …`: where the value begins after a type that stands behind its name.
fn declared(bytes: &[u8], at: usize) -> Option<usize> {
    let kinds: [&[u8]; 4] = [b"string", b"String", b"[]byte", b"varchar"];
    let kind = kinds.iter().find(|kind| bytes[at..].starts_with(kind))?;
    let to = at + kind.len() + blanks(bytes, at + kind.len(), 8);
    (bytes.get(to) == Some(&b'=')).then_some(to + 1).or_else(|| bytes[to..].starts_with(b":=").then_some(to + 2))
}

/// `key="Password" value="…"`: where the value begins.
fn xml_value(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..at + 6)?;
    rest[..5].eq_ignore_ascii_case(b"value").then_some(at + 6).filter(|_| rest[5] == b'=')
}

/// The value that begins at or after `at`.
fn value(text: &str, at: usize, link: Link) -> Option<Value<'_>> {
    let bytes = text.as_bytes();
    let mut at = at + blanks(bytes, at, 24);
    if matches!(bytes.get(at), Some(b'\r' | b'\n')) {
        let next = at + bytes[at..].iter().take(40).take_while(|b| b.is_ascii_whitespace()).count();
        let opens = matches!(bytes.get(next), Some(b'"' | b'\'' | b'`'));
        if !(link == Link::Element || (opens && matches!(link, Link::Colon | Link::Assigned { .. } | Link::Argument))) {
            return None;
        }
        at = next;
    }
    if matches!(link, Link::Colon) {
        // Markdown: **password:** value.
        at += bytes[at..].iter().take(2).take_while(|b| **b == b'*').count();
        at += blanks(bytes, at, 8);
    }
    at += prefix(bytes, at);
    let escaped = usize::from(bytes.get(at) == Some(&b'\\'));
    match bytes.get(at + escaped) {
        Some(quote @ (b'"' | b'\'' | b'`')) => quoted(text, at + escaped, *quote, escaped > 0),
        _ => unquoted(text, at, link),
    }
}

/// Length of what may stand before an opening quote: `b`, `@`, `new String(`, `[`, `[]byte(`.
fn prefix(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..at.saturating_add(32).min(bytes.len())).unwrap_or_default();
    let opening = rest.iter().position(|b| matches!(b, b'"' | b'\'' | b'`')).unwrap_or(0);
    let before = &rest[..opening];
    let short = before.len() <= 2 && before.iter().all(|b| matches!(b, b'b' | b'r' | b'f' | b'u' | b'B' | b'R' | b'@' | b'$' | b'L' | b'(' | b'['));
    let call = before.ends_with(b"(") && before[..before.len() - 1].iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b' ' | b'_' | b'.' | b'[' | b']'));
    let makes_text = call && [&b"tring"[..], b"byte", b"ytes", b"ecret"].iter().any(|part| before.windows(part.len()).any(|w| w == *part));
    if short || makes_text { opening } else { 0 }
}

fn quoted(text: &str, open: usize, quote: u8, escaped: bool) -> Option<Value<'_>> {
    let bytes = text.as_bytes();
    let triple = bytes[open..].starts_with(&[quote; 3]);
    let start = open + if triple { 3 } else { 1 };
    let limit = bytes.len().min(start + MAX_VALUE);
    let mut at = start;
    while at < limit {
        match bytes[at] {
            b'\\' if escaped && bytes.get(at + 1) == Some(&quote) => break,
            b'\\' if !escaped => at += 1,
            b'\n' if !triple => return None,
            b if b == quote => break,
            _ => {}
        }
        at += 1;
    }
    if at >= limit {
        return unquoted(text, start, Link::Assigned { spaced: false }).filter(|value| value.text.len() >= MIN_PASSWORD);
    }
    Some(with_next(text, start, at, true))
}

/// Whether a sign ends an unquoted value.
fn ends_value(bytes: &[u8], at: usize, link: Link) -> bool {
    let next = bytes.get(at + 1);
    match bytes[at] {
        b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'\'' | b'`' | b';' => true,
        b'<' => link == Link::Element || next.is_some_and(|b| *b == b'/' || b.is_ascii_alphabetic()),
        b'\\' => matches!(next, Some(b'n' | b'r' | b't' | b'"' | b'\'')),
        b'&' | b',' => {
            let rest = &bytes[at + 1..bytes.len().min(at + 40)];
            let name = rest.iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b' ' | b'"')).count();
            name == 0 || matches!(rest.get(name), None | Some(b'=' | b':' | b'\n' | b'\r'))
        }
        _ => false,
    }
}

fn unquoted(text: &str, start: usize, link: Link) -> Option<Value<'_>> {
    let bytes = text.as_bytes();
    let limit = bytes.len().min(start + MAX_VALUE);
    let mut end = start;
    while end < limit && !ends_value(bytes, end, link) {
        end += 1;
    }
    while end < bytes.len() && !text.is_char_boundary(end) {
        end += 1;
    }
    let run = text.get(start..end)?;
    let kept = run.trim_end_matches(['.', ',', ':', '\\', '|', '*']);
    // Brackets and question marks belong to the sentence or the code, unless they were opened inside.
    let mut kept = kept;
    for (open, close) in [('(', ')'), ('{', '}'), ('[', ']')] {
        if !kept.contains(open) {
            kept = kept.trim_end_matches([close, '.', ',']);
        }
    }
    Some(with_next(text, start, start + kept.len(), false))
}

fn with_next(text: &str, start: usize, end: usize, quoted: bool) -> Value<'_> {
    let bytes = text.as_bytes();
    let closing = end + usize::from(quoted);
    let after = closing + blanks(bytes, closing, 64);
    let next = bytes.get(after).copied();
    let last = matches!(next, None | Some(b'\n' | b'\r' | b'#' | b'<')) || bytes[after..].starts_with(b"//");
    Value { start, text: text.get(start..end).unwrap_or_default(), quoted, next, last }
}

/// Whether a value may be what its name says.
fn accepts(class: Class, name: &str, link: Link, value: &Value<'_>) -> bool {
    let text = value.text;
    if stands_in(text) || is_path(text) || is_escaped(text) || (is_dated(text) && class != Class::Password) || (!value.quoted && is_code(text)) {
        return false;
    }
    match class {
        Class::Password | Class::ShortPassword => is_password(name, link, value),
        Class::Token => is_token(link, value, MIN_TOKEN),
        Class::Weak => is_token(link, value, MIN_LOOSE_TOKEN) && makeup(text).digits > 0 && !text.contains(' '),
        Class::Key => is_key(link, value),
        Class::Cue => false,
    }
}

fn is_password(name: &str, link: Link, value: &Value<'_>) -> bool {
    let text = value.text;
    let made = makeup(text);
    let length = text.chars().count();
    if length < MIN_PASSWORD || is_name(text) || is_sentence(text) {
        return false;
    }
    let mixed = made.kinds() >= 2 && (made.digits > 0 || (made.others > 0 && !text.contains(' ')));
    let wordlike = made.digits == 0 && made.others == 0;
    match link {
        Link::Assigned { spaced } => value.quoted || mixed || (!spaced && !closes(value)) || (spaced && value.last && !wordlike),
        Link::Colon => value.quoted || (mixed && !is_prose_sign(text)) || (value.last && !is_common(text)),
        Link::Element => true,
        Link::Flag => (value.quoted || mixed || value.last || value.next == Some(b'-')) && !is_common(text),
        Link::Argument => value.quoted && ((mixed && !text.contains(' ')) || sets(name) || is_shouted(name)),
        Link::Blank => (value.quoted && !text.contains(' ') && !is_common(text)) || (!value.quoted && is_strong(text)),
    }
}

/// Whether a name is a call that takes a password: `setPassword`, `withPassword`.
fn sets(name: &str) -> bool {
    ["set", "with", "Set", "With", "add", "login"].iter().any(|verb| name.rsplit('.').next().is_some_and(|last| last.starts_with(verb)))
}

/// Whether a name is a constant's: `DB_PASSWORD`.
fn is_shouted(name: &str) -> bool {
    name.contains('_') && !name.bytes().any(|b| b.is_ascii_lowercase())
}

/// Whether a value is followed by what ends an argument or a field of code.
fn closes(value: &Value<'_>) -> bool {
    matches!(value.next, Some(b')' | b',' | b'}' | b']' | b'('))
}

/// Letters and digits with a sign or both cases among them, and no version, date or name.
pub(super) fn is_strong(text: &str) -> bool {
    let made = makeup(text);
    let both_cases = made.lower > 0 && made.upper > 0;
    text.chars().count() >= 6
        && made.digits > 0
        && made.letters() > 0
        && (made.others > 0 || both_cases)
        && !is_prose_sign(text)
        && !is_code(text)
        && !is_path(text)
        && !stands_in(text)
}

/// `12-character`, `SHA-256`, `v1.2.3`, `2024-01-01`: words and numbers joined by signs.
pub(super) fn is_prose_sign(text: &str) -> bool {
    const JOINTS: [char; 6] = ['-', '.', '/', '\'', ':', ','];
    let joined = text.contains(JOINTS) && text.chars().all(|c| c.is_alphanumeric() || JOINTS.contains(&c));
    let plain = |part: &str| {
        let made = makeup(part);
        made.letters() == 0 || part.len() <= 3 || (made.digits <= 3 && wordiness(part) >= 60)
    };
    joined && text.split(JOINTS).all(plain)
}

/// Several words of which some are everyday ones: a label or a message.
fn is_sentence(text: &str) -> bool {
    let words = || text.split_whitespace();
    words().count() >= 3 && words().any(|word| super::words::is_common(word.trim_matches(|c: char| !c.is_alphanumeric())))
}

fn is_common(text: &str) -> bool {
    super::words::is_common(text.trim_matches(|c: char| !c.is_alphanumeric()))
}

fn is_token(link: Link, value: &Value<'_>, least: usize) -> bool {
    let text = value.text;
    let made = makeup(text);
    if text.len() < least || is_name(text) || text.split_whitespace().count() > 1 && !value.quoted {
        return false;
    }
    if text.contains(' ') && (is_sentence(text) || wordiness(text) >= 50) {
        return false;
    }
    let number = made.letters() == 0 && made.others == 0;
    let random = is_random(text) || (made.digits >= 3 && made.letters() > 0 && wordiness(text) < 75);
    let shaped = if number { text.len() >= 16 } else { random && (made.digits > 0 || text.len() >= 12) };
    match link {
        Link::Assigned { .. } | Link::Colon | Link::Element | Link::Flag => shaped || is_uuid(text),
        Link::Argument => value.quoted && shaped && (made.digits > 0 || made.upper > 0),
        Link::Blank => text.len() >= MIN_LOOSE_TOKEN && made.digits > 0 && (is_random(text) || is_uuid(text)) && !is_prose_sign(text) || (value.quoted && shaped),
    }
}

/// A bare `key`: many things are keys, so only what is random and long is a secret.
fn is_key(link: Link, value: &Value<'_>) -> bool {
    let text = value.text;
    let made = makeup(text);
    let long = text.len() >= 16 || (text.len() >= MIN_LOOSE_TOKEN && matches!(link, Link::Assigned { spaced: _ }));
    let hex_digest = is_hex(text) && matches!(text.len(), 32 | 40 | 64) && matches!(link, Link::Blank);
    long && made.digits > 0
        && made.letters() > 0
        && is_random(text)
        && !is_uuid(text)
        && !text.contains(' ')
        && !hex_digest
        && !is_prose_sign(text)
        && (link != Link::Argument || value.quoted)
        && !is_name(text)
}
