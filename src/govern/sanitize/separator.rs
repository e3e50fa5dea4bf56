//! What stands between a name and its value, and where the value ends.

use super::rules::window::boundary;
use super::text::work;
use super::vocabulary::vocabulary;

/// Most bytes that a value may have.
const MAX_VALUE: usize = 1024;
/// What stands between a name and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
    /// `=`, `:=`, `==`, `=>`.
    Assigned { spaced: bool },
    /// A colon, as in `password: …`.
    Colon,
    /// `(`, or `,` after a quoted name.
    Argument,
    /// `>` of an element that bears the name.
    Element,
    /// Blanks after a flag.
    Flag,
    /// Blanks alone, as in `password …`.
    Blank,
}

/// A value and how it stands there.
#[derive(Clone, Copy, Debug)]
pub struct AssignedValue<'a> {
    pub start: usize,
    pub text: &'a str,
    pub quoted: bool,
    /// The first sign after it that is no blank, and whether blanks come first.
    pub next: Option<u8>,
    /// Whether it is the last of its line, but for a comment.
    pub last: bool,
}

/// How much of a long value is looked at to say what it is.
const HEAD: usize = 64;

impl AssignedValue<'_> {
    /// Where it is.
    pub fn place(&self) -> (usize, usize) {
        (self.start, self.start + self.text.len())
    }

    /// The value, without what is behind its first part.
    pub fn head(&self) -> Self {
        let to = boundary(self.text, HEAD.min(self.text.len()));
        work::count(to);
        AssignedValue {
            text: self.text.get(..to).unwrap_or_default(),
            ..*self
        }
    }
}

/// The run without a blank or quote that was read last: the names inside it have the same end.
#[derive(Default)]
pub struct Ends {
    from: usize,
    to: usize,
    element: bool,
}

fn blanks(bytes: &[u8], at: usize, most: usize) -> usize {
    bytes.get(at..).map_or(0, |rest| {
        rest.iter()
            .take(most)
            .take_while(|b| matches!(b, b' ' | b'\t'))
            .count()
    })
}

/// What links a name that ends at `after` to a value, and where the value may begin.
pub fn separator_after(
    bytes: &[u8],
    after: usize,
    element: bool,
    flag: bool,
) -> Option<(Separator, usize)> {
    let closers = bytes[after..]
        .iter()
        .take(4)
        .take_while(|b| matches!(b, b'"' | b'\'' | b'`' | b']' | b')' | b'*' | b'\\'))
        .count();
    let was_quoted = closers > 0
        && bytes[after..after + closers]
            .iter()
            .any(|b| matches!(b, b'"' | b'\'' | b'`'));
    let at = after + closers;
    let gap = blanks(bytes, at, 24);
    let here = at + gap;
    let rest = bytes.get(here..).unwrap_or_default();
    let operator = operator(rest);
    if operator > 0 {
        return Some((Separator::Assigned { spaced: gap > 0 }, here + operator));
    }
    match rest.first()? {
        // A path of code: secrets::{…}.
        b':' if rest.get(1) == Some(&b':') => None,
        b':' => {
            let to = here + 1;
            Some(typed(bytes, to).map_or((Separator::Colon, to), |to| {
                (Separator::Assigned { spaced: true }, to)
            }))
        }
        b'>' if element || was_quoted => Some((Separator::Element, here + 1)),
        // A cell of a table.
        b'|' if gap > 0 && rest.get(1) == Some(&b' ') => Some((Separator::Colon, here + 1)),
        b'(' if closers == 0 && gap == 0 => Some((Separator::Argument, here + 1)),
        b',' if was_quoted => Some((Separator::Argument, here + 1)),
        b'v' | b'V' if was_quoted && gap > 0 => {
            xml_value(bytes, here).map(|to| (Separator::Assigned { spaced: false }, to))
        }
        _ if flag && gap > 0 => Some((Separator::Flag, here)),
        _ if gap > 0 => Some(
            declared(bytes, here).map_or((Separator::Blank, here), |to| {
                (Separator::Assigned { spaced: true }, to)
            }),
        ),
        _ => None,
    }
}

/// Length of the sign of an assignment or a comparison that bytes begin with; zero when none does.
fn operator(bytes: &[u8]) -> usize {
    match bytes {
        [b':', b':', b':', b'=', ..] => 4,
        [b'=' | b'!', b'=', b'=', ..]
        | [b'|', b'|', b'=', ..]
        | [b'?', b'?', b'=', ..]
        | [b':', b':', b'=', ..] => 3,
        [b'=' | b'!' | b':' | b'?' | b'.' | b'+', b'=', ..]
        | [b'=', b'>', ..]
        | [b'<', b'-', ..] => 2,
        [b'=', ..] => 1,
        _ => 0,
    }
}

/// `: str = …`, `: &'static str = …`: where the value begins after a type.
fn typed(bytes: &[u8], colon: usize) -> Option<usize> {
    let rest = bytes.get(colon..colon.saturating_add(40).min(bytes.len()))?;
    let equals = rest.iter().position(|b| *b == b'=')?;
    let kind = rest[..equals].trim_ascii();
    let word = |b: &u8| {
        b.is_ascii_alphanumeric()
            || matches!(
                b,
                b'_' | b'&' | b'\'' | b'<' | b'>' | b'[' | b']' | b' ' | b'|' | b'.' | b'?'
            )
    };
    (kind
        .first()
        .is_some_and(|b| b.is_ascii_alphabetic() || *b == b'&')
        && kind.iter().all(word))
    .then_some(colon + equals + 1)
}

/// `password string = …`: where the value begins after a type that stands behind its name.
fn declared(bytes: &[u8], at: usize) -> Option<usize> {
    let kinds: [&[u8]; 4] = [b"string", b"String", b"[]byte", b"varchar"];
    let kind = kinds.iter().find(|kind| bytes[at..].starts_with(kind))?;
    let to = at + kind.len() + blanks(bytes, at + kind.len(), 8);
    (bytes.get(to) == Some(&b'='))
        .then_some(to + 1)
        .or_else(|| bytes[to..].starts_with(b":=").then_some(to + 2))
}

/// `key="Password" value="…"`: where the value begins.
fn xml_value(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..at + 6)?;
    rest[..5]
        .eq_ignore_ascii_case(b"value")
        .then_some(at + 6)
        .filter(|_| rest[5] == b'=')
}

/// The value that begins at or after `at`.
pub fn value<'a>(
    text: &'a str,
    at: usize,
    separator: Separator,
    ends: &mut Ends,
) -> Option<AssignedValue<'a>> {
    let bytes = text.as_bytes();
    let mut at = at + blanks(bytes, at, 24);
    if matches!(separator, Separator::Colon)
        && let Some(next) = block(bytes, at)
    {
        return unquoted(text, next, separator, ends);
    }
    if matches!(bytes.get(at), Some(b'\r' | b'\n')) {
        let next = at
            + bytes[at..]
                .iter()
                .take(40)
                .take_while(|b| b.is_ascii_whitespace())
                .count();
        let opens = matches!(bytes.get(next), Some(b'"' | b'\'' | b'`'));
        if !(separator == Separator::Element
            || (opens
                && matches!(
                    separator,
                    Separator::Colon | Separator::Assigned { .. } | Separator::Argument
                )))
        {
            return None;
        }
        at = next;
    }
    if matches!(separator, Separator::Colon) {
        // Markdown: **password:** value.
        at += bytes[at..]
            .iter()
            .take(2)
            .take_while(|b| **b == b'*')
            .count();
        at += blanks(bytes, at, 8);
    }
    at += prefix(bytes, at);
    let escaped = usize::from(bytes.get(at) == Some(&b'\\'));
    match bytes.get(at + escaped) {
        Some(quote @ (b'"' | b'\'' | b'`')) => {
            quoted(text, at + escaped, *quote, escaped > 0, ends)
        }
        _ => unquoted(text, at, separator, ends),
    }
}

/// `token: |-`: where the first line of a block of YAML begins.
fn block(bytes: &[u8], at: usize) -> Option<usize> {
    if !matches!(bytes.get(at), Some(b'|' | b'>')) {
        return None;
    }
    let rest = bytes.get(at + 1..)?;
    let signs = rest
        .iter()
        .take(3)
        .take_while(|b| matches!(b, b'-' | b'+' | b'1'..=b'9'))
        .count();
    let end = signs + blanks(rest, signs, 8);
    let rest = rest.get(end..)?;
    let gap = rest
        .iter()
        .take(40)
        .take_while(|b| b.is_ascii_whitespace())
        .count();
    let indented = gap > 1
        && rest.first().is_some_and(|b| matches!(b, b'\r' | b'\n'))
        && rest[gap - 1] == b' ';
    indented.then_some(at + 1 + end + gap)
}

/// Length of what may stand before an opening quote: `b`, `@`, `new String(`, `[`, `[]byte(`.
fn prefix(bytes: &[u8], at: usize) -> usize {
    let rest = bytes
        .get(at..at.saturating_add(32).min(bytes.len()))
        .unwrap_or_default();
    let opening = rest
        .iter()
        .position(|b| matches!(b, b'"' | b'\'' | b'`'))
        .unwrap_or(0);
    let before = &rest[..opening];
    let short = before.len() <= 2
        && before.iter().all(|b| {
            matches!(
                b,
                b'b' | b'r' | b'f' | b'u' | b'B' | b'R' | b'@' | b'$' | b'L' | b'(' | b'['
            )
        });
    let call = before.ends_with(b"(")
        && before[..before.len() - 1]
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b' ' | b'_' | b'.' | b'[' | b']'));
    let makes_text = call
        && [&b"tring"[..], b"byte", b"ytes", b"ecret"]
            .iter()
            .any(|part| before.windows(part.len()).any(|w| w == *part));
    if short || makes_text { opening } else { 0 }
}

fn quoted<'a>(
    text: &'a str,
    open: usize,
    quote: u8,
    escaped: bool,
    ends: &mut Ends,
) -> Option<AssignedValue<'a>> {
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
        return unquoted(text, start, Separator::Assigned { spaced: false }, ends)
            .filter(|value| value.text.len() >= vocabulary().lengths.password);
    }
    Some(with_next(text, start, at, true))
}

/// Whether a sign ends an unquoted value.
fn ends_value(bytes: &[u8], at: usize, separator: Separator) -> bool {
    let b = bytes[at];
    if b.is_ascii_alphanumeric() {
        return false;
    }
    let next = bytes.get(at + 1);
    match b {
        b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'\'' | b'`' | b';' => true,
        b'<' => {
            separator == Separator::Element
                || next.is_some_and(|b| *b == b'/' || b.is_ascii_alphabetic())
        }
        b'\\' => matches!(next, Some(b'n' | b'r' | b't' | b'"' | b'\'')),
        b'&' | b',' => {
            let rest = &bytes[at + 1..bytes.len().min(at + 40)];
            let name = rest
                .iter()
                .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b' ' | b'"'))
                .count();
            let next = rest.get(name);
            // What ends a line is one more name after a comma; after & only what has a value is.
            name == 0
                || matches!(next, Some(b'=' | b':'))
                || b == b',' && matches!(next, None | Some(b'\n' | b'\r'))
        }
        _ => false,
    }
}

fn unquoted<'a>(
    text: &'a str,
    start: usize,
    separator: Separator,
    ends: &mut Ends,
) -> Option<AssignedValue<'a>> {
    let bytes = text.as_bytes();
    let limit = bytes.len().min(start + MAX_VALUE);
    let element = separator == Separator::Element;
    let known = ends.element == element && (ends.from..ends.to).contains(&start);
    let mut end = if known { ends.to.min(limit) } else { start };
    while end < limit && !ends_value(bytes, end, separator) {
        end += 1;
    }
    *ends = Ends {
        from: start,
        to: end,
        element,
    };
    end = boundary(text, end);
    let run = text.get(start..end)?;
    let kept = run.trim_end_matches(['.', ',', ':', '\\', '|', '*']);
    // Brackets and question marks belong to the sentence or the code, unless they were opened
    // inside.
    let mut kept = kept;
    for (open, close) in [('(', ')'), ('{', '}'), ('[', ']')] {
        if kept.ends_with([close, '.', ',']) && !kept.contains(open) {
            kept = kept.trim_end_matches([close, '.', ',']);
        }
    }
    Some(with_next(text, start, start + kept.len(), false))
}

fn with_next(text: &str, start: usize, end: usize, quoted: bool) -> AssignedValue<'_> {
    let bytes = text.as_bytes();
    let closing = end + usize::from(quoted);
    let after = closing + blanks(bytes, closing, 64);
    let next = bytes.get(after).copied();
    let last = matches!(next, None | Some(b'\n' | b'\r' | b'#' | b'<'))
        || bytes[after..].starts_with(b"//");
    AssignedValue {
        start,
        text: text.get(start..end).unwrap_or_default(),
        quoted,
        next,
        last,
    }
}
