//! What a token may be that is no secret: a stand-in, the name of a variable, a flag, code, a path.

use super::kind::TokenKind;
use super::shape::{TokenShape, wordiness};
use crate::govern::sanitize::text::statistics::Signs;

const DOT: Signs = Signs::among(b".");
const ROUND: Signs = Signs::among(b"(");
const SQUARE: Signs = Signs::among(b"[");
const COLON: Signs = Signs::among(b":");
const ARROW: Signs = Signs::among(b">");
const EQUALS: Signs = Signs::among(b"=");
/// Of code: without one of them there is none.
const OF_CODE: Signs = Signs::among(b".([:>=");
const SLASH: Signs = Signs::among(b"/\\");
/// How parts of stand-ins begin.
const OF_STAND_INS: Signs = Signs::among(b"*_-").or(Signs::STAND_IN_LETTER);
/// How names of variables and flags begin.
const OF_VARIABLES: Signs = Signs::among(b"%@{[<$:");

/// Whether an unquoted value is code that yields one: a call, a chain of names, an index, a type.
pub(super) fn is_code(shape: &TokenShape<'_>) -> bool {
    let (value, signs) = (shape.text, shape.signs());
    if !signs.any(OF_CODE) {
        return false;
    }
    (signs.any(DOT)
        && value
            .find(").")
            .is_some_and(|at| !value[..at].contains('(')))
        || (signs.any(ROUND)
            && value
                .split_once('(')
                .is_some_and(|(head, _)| is_callee(head)))
        || (signs.any(SQUARE)
            && value
                .split_once('[')
                .is_some_and(|(head, _)| is_callee(head)))
        || (signs.any(DOT) && value.split(['.', '?', '!']).all(is_member))
        || (signs.any(COLON) && value.contains("::"))
        || (signs.any(ARROW) && value.contains("->"))
        || (signs.any(EQUALS) && (value.contains("===") || value.contains("!=")))
}

/// `50+len(a)//4`, `(used+1)*4`: names, numbers and calls with signs of arithmetic between them,
/// and brackets. Where a blank or a quote ended the value, brackets are open at its end.
pub(super) fn is_calculation(shape: &TokenShape<'_>) -> bool {
    let value = shape.text;
    if !shape.signs().any(ROUND) {
        return false;
    }
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'.';
    let is_number = |part: &str| part.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let is_named = |part: &str| {
        part.split('.').all(is_member) && !TokenShape::of(part).is(TokenKind::Interleaved)
    };
    let (mut open, mut sums, mut rest) = (Vec::new(), 0, value);
    // Behind a name or a closed bracket comes a sign, and before it none.
    let mut is_behind_value = false;
    while let Some(first) = rest.bytes().next() {
        let mut length = rest.bytes().take_while(|b| is_name(*b)).count();
        let part = &rest[..length];
        match first {
            _ if length > 0 => {
                if is_behind_value || !(is_number(part) || is_named(part)) {
                    return false;
                }
                is_behind_value = true;
            }
            b'(' | b'[' if is_behind_value || first == b'(' => {
                open.push(if first == b'(' { b')' } else { b']' });
                (length, is_behind_value) = (1, false);
            }
            b')' | b']' => {
                // A call may be of nothing.
                if open.pop() != Some(first) {
                    return false;
                }
                (length, is_behind_value) = (1, true);
            }
            b',' if is_behind_value && !open.is_empty() => (length, is_behind_value) = (1, false),
            b'+' | b'-' | b'*' | b'/' | b'%' if is_behind_value => {
                let twice = matches!(first, b'*' | b'/') && rest.as_bytes().get(1) == Some(&first);
                (length, is_behind_value) = (1 + usize::from(twice), false);
                sums += 1;
            }
            _ => return false,
        }
        rest = &rest[length..];
    }
    sums > 0 && (is_behind_value || !open.is_empty())
}

/// Whether it may be what is called or indexed.
fn is_callee(head: &str) -> bool {
    let known = |b: u8| b.is_ascii_alphanumeric() || b"_.:$!>-&*".contains(&b);
    head.starts_with(|c: char| !c.is_ascii_digit()) && head.bytes().all(known)
}

/// Whether it may be a name in a chain of names.
fn is_member(part: &str) -> bool {
    part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && (part.len() < 8 || !TokenShape::of(part).is(TokenKind::Random))
}

/// Whether a value is a path or an address.
pub(super) fn is_path(shape: &TokenShape<'_>) -> bool {
    let value = shape.text;
    if !shape.signs().any(SLASH) {
        return false;
    }
    let rooted = ["/", "./", "../", "~/", "\\\\"]
        .iter()
        .any(|start| value.starts_with(start));
    let drive = value
        .as_bytes()
        .get(1..3)
        .is_some_and(|two| two == b":\\" || two == b":/");
    let is_wordy = |part: &str| part.len() < 4 || wordiness(part) >= 50;
    value.contains("://")
        || drive
        || ((rooted || value.matches('/').count() > 1) && value.split(['/', '\\']).all(is_wordy))
}

/// Whether there is in a value what is in no secret, but in what stands for one.
pub(super) fn has_stand_in_part(shape: &TokenShape<'_>) -> bool {
    if !shape.signs().any(OF_STAND_INS) {
        return false;
    }
    let bytes = shape.text.as_bytes();
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
pub(super) fn is_flag(value: &str) -> bool {
    value
        .strip_prefix("--")
        .is_some_and(|name| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'))
}

/// `$NAME`, `%NAME%`, `@name@`, `:name`, `{name}`, `[name]`, `%s`.
pub(super) fn is_variable(shape: &TokenShape<'_>) -> bool {
    let value = shape.text;
    if !shape.signs().any(OF_VARIABLES) {
        return false;
    }
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
