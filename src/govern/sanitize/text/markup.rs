//! Marks that stand inside of a token: tags, emphasis, the sign of a quoted line. A page shows the
//! token whole.

use super::view::Edit;
use crate::govern::sanitize::vocabulary::vocabulary;
use crate::govern::word_list::WordList;

/// Longest run of marks between two pieces of a token.
const MAX_MARKS: usize = 160;
/// Most bytes that a tag may have.
const MAX_TAG: usize = 80;

const fn is_token(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.')
}

/// Edits that take marks out of what would be one token without them.
pub fn marked(text: &str) -> Vec<Edit> {
    let bytes = text.as_bytes();
    let (mut edits, mut at) = (Vec::new(), 0);
    while let Some(next) = bytes
        .get(at..)
        .and_then(|rest| rest.iter().position(|b| may_mark(*b)))
    {
        let start = at + next;
        let after_token = start
            .checked_sub(1)
            .and_then(|before| bytes.get(before))
            .is_some_and(|b| is_token(*b));
        let length = if after_token {
            marks(bytes.get(start..).unwrap_or_default())
        } else {
            0
        };
        let end = start + length;
        if length > 0 && bytes.get(end).is_some_and(|b| is_token(*b)) {
            edits.push(Edit {
                start,
                end,
                with: None,
            });
        }
        at = end.max(start + 1);
    }
    edits
}

/// Whether a mark may begin with a byte.
const fn may_mark(b: u8) -> bool {
    matches!(
        b,
        b'<' | b'&' | b'*' | b'~' | b'`' | b'[' | b'=' | b'\n' | b'\r' | b'"' | b'\''
    )
}

/// Length of the marks that bytes begin with, one behind the other.
fn marks(bytes: &[u8]) -> usize {
    let mut at = 0;
    while at < MAX_MARKS {
        match mark(bytes.get(at..).unwrap_or_default()) {
            0 => break,
            length => at += length,
        }
    }
    at
}

/// Length of the mark that bytes begin with; zero when none does.
fn mark(bytes: &[u8]) -> usize {
    let words = || &vocabulary().markup;
    let run = |sign: u8, most: usize| {
        bytes
            .iter()
            .take(most + 1)
            .take_while(|b| **b == sign)
            .count()
    };
    match bytes {
        [b'<', b'!', b'-', b'-', rest @ ..] => rest
            .iter()
            .take(MAX_TAG)
            .position(|b| *b == b'>')
            .filter(|at| rest[..*at].ends_with(b"--"))
            .map_or(0, |at| at + 5),
        [b'<', rest @ ..] => {
            tag(rest, b'>', &words().tags).map_or(0, |length| length + 1 + line(&rest[length..]))
        }
        [b'[', rest @ ..] => tag(rest, b']', &words().bracketed).map_or(0, |length| length + 1),
        [b'&', ..] => words().unseen.start_of(bytes).map_or(0, str::len),
        [b'*', ..] => run(b'*', 3),
        [b'~', b'~', ..] => 2,
        [b'`', ..] => run(b'`', 2),
        // Quoted-printable: a line that goes on.
        [b'=', b'\n', ..] => 2,
        [b'=', b'\r', b'\n', ..] => 3,
        [b'\n' | b'\r', ..] => quoted_line(bytes),
        // Two quotes, as a shell or a compiler joins what stands on either side.
        [b'"' | b'\'', rest @ ..] => {
            let blanks = rest.iter().take(4).take_while(|b| **b == b' ').count();
            match rest.get(blanks) {
                Some(b'"' | b'\'') => blanks + 2,
                _ => 0,
            }
        }
        _ => 0,
    }
}

/// `b>`, `/span>`, `font color=red>`: how long what follows the opening sign is.
fn tag(rest: &[u8], close: u8, names: &WordList) -> Option<usize> {
    let end = rest
        .iter()
        .take(MAX_TAG)
        .take_while(|b| !matches!(b, b'<' | b'[' | b'\n'))
        .position(|b| *b == close)?;
    let inside = rest.get(..end)?;
    let inside = inside.strip_prefix(b"/").unwrap_or(inside);
    let name = inside
        .iter()
        .take_while(|b| b.is_ascii_alphanumeric())
        .count();
    let (name, behind) = inside.split_at(name);
    let ends = matches!(behind.first(), None | Some(b' ' | b'/' | b'='));
    (ends && names.has_bytes(name)).then_some(end + 1)
}

/// Length of a line's end that is only in the source of a page.
fn line(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take(2)
        .take_while(|b| matches!(b, b'\r' | b'\n'))
        .count()
}

/// A line's end and what a quoted line begins with.
fn quoted_line(bytes: &[u8]) -> usize {
    let end = line(bytes);
    let signs = bytes[end..]
        .iter()
        .take(8)
        .take_while(|b| matches!(b, b'>' | b'|' | b' '))
        .count();
    if bytes[end..end + signs]
        .iter()
        .any(|b| matches!(b, b'>' | b'|'))
    {
        end + signs
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::govern::sanitize::text::view::TextView;
    use crate::govern::sanitize::text::work::count;

    #[test]
    fn marks_inside_of_a_token_go() {
        for (text, whole) in [
            ("ab<wbr>cd", "abcd"),
            ("ab<B>cd</B>ef", "abcdef"),
            (
                "<span>ab</span><span class='x'>cd</span>",
                "<span>abcd</span>",
            ),
            ("ab<!-- x -->cd", "abcd"),
            ("ab<br/>\ncd", "abcd"),
            ("ab&shy;cd", "abcd"),
            ("**ab**cd", "**abcd"),
            ("`ab``cd`", "`abcd`"),
            ("[b]ab[/b]cd", "[b]abcd"),
            ("ab=\ncd", "abcd"),
            ("> ab\n> cd", "> abcd"),
            ("> > ab\r\n> > cd", "> > abcd"),
            ("'ab'\"cd\"", "'abcd\""),
        ] {
            assert_eq!(TextView::of(text, &marked(text)).text, whole, "{text:?}");
        }
        for text in [
            "ab <b>cd</b> ef",
            "ab<div>cd",
            "ab<p>cd</p>",
            "a < b",
            "Vec<u8>x",
            "ab<b",
            "ab\ncd",
            "ab, \"cd\", \"ef\"",
            "x[0]y",
            "ab<!-- cd",
            "ab&amp;cd",
            "a=b",
            "",
        ] {
            assert!(marked(text).is_empty(), "{text:?}: {:?}", marked(text));
        }
    }

    #[test]
    fn marks_that_go_on_for_ever_end() {
        for unit in [
            "<b>", "a<b ", "a&shy;", "a**", "a\n> ", "\n> ", "''", "a<!-- ", "a[b", "~~",
        ] {
            let text = unit.repeat(50_000);
            count(marked(&text).len());
        }
    }
}
