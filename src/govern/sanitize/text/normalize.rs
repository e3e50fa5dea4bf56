//! What is written so that a rule would miss it: invisible characters, look-alikes, escapes,
//! joints.

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;
use unicode_security::confusable_detection::skeleton;

use crate::record::unseen::is_invisible;

use super::view::Edit;

/// Whether a character's other width or style is an ASCII one: full width, mathematical, enclosed.
fn is_styled(c: char) -> bool {
    matches!(c, '\u{ff01}'..='\u{ff5e}' | '\u{1d400}'..='\u{1d7ff}' | '\u{2100}'..='\u{214f}' | '\u{24b6}'..='\u{24e9}'
        | '\u{1f130}'..='\u{1f149}')
}

/// Whether a character is of a script whose letters are taken for Latin ones.
fn is_of_a_close_script(c: char) -> bool {
    matches!(c, '\u{370}'..='\u{58f}' | '\u{13a0}'..='\u{13ff}' | '\u{1e00}'..='\u{1fff}' | '\u{a4d0}'..='\u{a4ff}')
}

fn ascii_of_styled(c: char) -> Option<char> {
    let mut plain = c.nfkc();
    plain
        .next()
        .filter(|first| first.is_ascii_graphic() && plain.next().is_none())
}

/// The Latin letter or digit that a letter of another script looks like.
pub fn ascii_look_alike(c: char) -> Option<char> {
    let mut buffer = [0; 4];
    let word: &str = c.encode_utf8(&mut buffer);
    let mut like = skeleton(word);
    let first = like
        .next()
        .filter(|first| first.is_ascii_alphanumeric() && like.next().is_none())?;
    // The table calls I and 1 an l, 0 an O: the case of the letter says which.
    Some(if first == 'l' && c.is_uppercase() {
        'I'
    } else {
        first
    })
}

/// Edits that leave what the eye reads: no invisible characters, no terminal colours, ASCII for its
/// look-alikes.
///
/// A look-alike counts only inside a word that also has ASCII letters or digits: Cyrillic prose
/// stays Cyrillic.
pub fn unmasked(text: &str) -> Vec<Edit> {
    let bytes = text.as_bytes();
    let mut edits: Vec<Edit> = Vec::new();
    if text.is_ascii() && !bytes.contains(&b'\x1b') {
        return edits;
    }
    // A word is read once, however many look-alikes it has; a letter is looked up once.
    let (mut word, mut alike) = ((0, false), HashMap::new());
    let mut at = 0;
    while let Some(next) = bytes
        .get(at..)
        .and_then(|rest| rest.iter().position(|b| !b.is_ascii() || *b == b'\x1b'))
    {
        let start = at + next;
        let Some(c) = text.get(start..).and_then(|rest| rest.chars().next()) else {
            break;
        };
        let mut end = start + c.len_utf8();
        let with = if c == '\u{1b}' {
            let length = colour(text.get(end..).unwrap_or_default());
            end += length.unwrap_or(0);
            length.map(|_| None)
        } else if is_invisible(c) {
            Some(None)
        } else if is_styled(c) {
            ascii_of_styled(c).map(Some)
        } else if is_of_a_close_script(c) {
            if start >= word.0 {
                word = ascii_word(text, start);
            }
            let like = || *alike.entry(c).or_insert_with(|| ascii_look_alike(c));
            word.1.then(like).flatten().map(Some)
        } else {
            None
        };
        edits.extend(with.map(|with| Edit { start, end, with }));
        at = end;
    }
    edits
}

/// How much of a word is read at once: a longer one is no token.
const WORD_REACH: usize = 4096;

/// The word that begins at or before `start` and goes on after it: where it ends, and whether it
/// has ASCII in it.
fn ascii_word(text: &str, start: usize) -> (usize, bool) {
    let in_word = |c: &char| {
        c.is_ascii_alphanumeric() || is_of_a_close_script(*c) || is_invisible(*c) || is_styled(*c)
    };
    let before = text
        .get(..start)
        .unwrap_or_default()
        .chars()
        .rev()
        .take(WORD_REACH)
        .take_while(in_word);
    let after = || {
        text.get(start..)
            .unwrap_or_default()
            .chars()
            .take(WORD_REACH)
            .take_while(in_word)
    };
    let end = start + after().map(char::len_utf8).sum::<usize>();
    (
        end,
        before.chain(after()).any(|c| c.is_ascii_alphanumeric()),
    )
}

/// Length of the rest of a terminal's colour sequence, after its escape character.
fn colour(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix('[')?;
    let length = inside
        .bytes()
        .take(16)
        .position(|b| !(b.is_ascii_digit() || b == b';'))?;
    (inside.as_bytes().get(length) == Some(&b'm')).then_some(length + 2)
}

/// Whether a joint may begin with a byte.
const fn may_join(b: u8) -> bool {
    matches!(b, b'%' | b'\\' | b'&' | b'"' | b'\'' | b'`')
}

/// Edits that read escapes and join what was cut: `%3D`, `&quot;`, `"abc" + "def"`, a line's end
/// inside a token.
pub fn joined(text: &str) -> Vec<Edit> {
    let bytes = text.as_bytes();
    let (mut edits, mut at) = (Vec::new(), 0);
    while let Some(next) = bytes
        .get(at..)
        .and_then(|rest| rest.iter().position(|b| may_join(*b)))
    {
        let start = at + next;
        let joint = joint(&bytes[start..]);
        at = start + joint.map_or(1, |(length, _)| length);
        edits.extend(joint.map(|(_, with)| Edit {
            start,
            end: at,
            with,
        }));
    }
    let wrapped = wrapped_lines(text);
    if !wrapped.is_empty() {
        edits.extend(wrapped);
        edits.sort_unstable_by_key(|edit: &Edit| (edit.start, edit.end));
        let mut done = 0;
        edits.retain(|edit| {
            let apart = edit.start >= done;
            done = if apart { edit.end } else { done };
            apart
        });
    }
    edits
}

/// The joint that bytes begin with: its length, and the character it stands for, if it stands for
/// one.
fn joint(bytes: &[u8]) -> Option<(usize, Option<char>)> {
    match *bytes.first()? {
        b'%' => coded(bytes.get(1..3)?).map(|c| (3, Some(c))),
        b'\\' if bytes.starts_with(b"\\x") => coded(bytes.get(2..4)?).map(|c| (4, Some(c))),
        b'\\' if bytes.starts_with(b"\\u00") => coded(bytes.get(4..6)?).map(|c| (6, Some(c))),
        b'\\' => end_of_line(&bytes[1..]).map(|end| (1 + end + indent(&bytes[1 + end..]), None)),
        b'&' => entity(bytes).map(|(length, c)| (length, Some(c))),
        quote => concatenation(bytes, quote)
            .or_else(|| continuation(bytes, quote))
            .map(|length| (length, None)),
    }
}

/// The printable character of two hexadecimal digits.
fn coded(digits: &[u8]) -> Option<char> {
    let digit = |b: u8| char::from(b).to_digit(16);
    let c = char::from_u32(digit(*digits.first()?)? * 16 + digit(*digits.get(1)?)?)?;
    (c.is_ascii_graphic() || c == ' ').then_some(c)
}

/// A character written for HTML: its length and the character.
fn entity(bytes: &[u8]) -> Option<(usize, char)> {
    let length = bytes.iter().take(8).position(|b| *b == b';')?;
    let name = &bytes[1..length];
    let c = match name {
        b"quot" => '"',
        b"apos" => '\'',
        b"amp" => '&',
        b"lt" => '<',
        b"gt" => '>',
        _ => {
            let number = name.strip_prefix(b"#")?;
            let (digits, radix) = match number.strip_prefix(b"x") {
                Some(digits) => (digits, 16),
                None => (number, 10),
            };
            let digits = std::str::from_utf8(digits)
                .ok()
                .filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
            char::from_u32(u32::from_str_radix(digits, radix).ok()?)?
        }
    };
    (c.is_ascii_graphic() || c == ' ').then_some((length + 1, c))
}

/// Length of the blanks that bytes begin with.
fn indent(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take_while(|b| matches!(b, b' ' | b'\t'))
        .count()
}

/// Length of the end of a line that bytes begin with.
fn end_of_line(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [b'\n', ..] => Some(1),
        [b'\r', b'\n', ..] => Some(2),
        _ => None,
    }
}

/// `" + "`, `' . '`, also with the second piece on the next line: how long it is.
fn concatenation(bytes: &[u8], quote: u8) -> Option<usize> {
    const OPERATORS: [&[u8]; 7] = [b"+", b"..", b".", b"&", b"<>", b"~", b"||"];
    let mut at = 1 + indent(&bytes[1..]);
    let known = if quote == b'`' {
        &OPERATORS[..1]
    } else {
        &OPERATORS[..]
    };
    at += known
        .iter()
        .find(|operator| bytes[at..].starts_with(operator))?
        .len();
    at += indent(&bytes[at..]);
    if quote != b'`' && matches!(bytes.get(at), Some(b'_' | b'\\')) {
        at += 1;
        at += indent(&bytes[at..]);
    }
    if let Some(end) = end_of_line(&bytes[at..]) {
        at += end;
        at += indent(&bytes[at..]);
    }
    (bytes.get(at) == Some(&quote)).then_some(at + 1)
}

/// A quote at a line's end and one at the beginning of the next: how long that is.
fn continuation(bytes: &[u8], quote: u8) -> Option<usize> {
    if quote == b'`' {
        return None;
    }
    let mut at = 1 + indent(&bytes[1..]);
    at += usize::from(bytes.get(at) == Some(&b'\\'));
    at += end_of_line(&bytes[at..])?;
    at += indent(&bytes[at..]);
    if matches!(bytes.get(at), Some(b'+' | b'.')) {
        at += 1;
        at += indent(&bytes[at..]);
    }
    (bytes.get(at) == Some(&quote)).then_some(at + 1)
}

/// Shortest end of a line that may go on in the next.
const MIN_HEAD: usize = 16;
/// Shortest rest of a token on a line of its own.
const MIN_TAIL: usize = 4;
/// A token of more is a block of data, not one that was wrapped.
const MAX_LINE: usize = 200;

fn is_token(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'_' | b'-' | b'.')
}

/// Ends of lines inside a token: random up to the end, and nothing but token on the next line.
fn wrapped_lines(text: &str) -> Vec<Edit> {
    let bytes = text.as_bytes();
    let mut edits = Vec::new();
    for (newline, _) in text.match_indices('\n') {
        let end = newline - usize::from(newline > 0 && bytes[newline - 1] == b'\r');
        let head = bytes[..end]
            .iter()
            .rev()
            .take(MAX_LINE)
            .take_while(|b| is_token(**b))
            .count();
        if !(MIN_HEAD..MAX_LINE).contains(&head) || !is_cut(&bytes[end - head..end]) {
            continue;
        }
        let rest = &bytes[newline + 1..];
        let indent = rest
            .iter()
            .take(MAX_LINE)
            .take_while(|b| matches!(b, b' ' | b'\t'))
            .count();
        let tail = rest[indent..]
            .iter()
            .take(MAX_LINE)
            .take_while(|b| is_token(**b))
            .count();
        let tail = tail
            + rest[indent + tail..]
                .iter()
                .take(2)
                .take_while(|b| **b == b'=')
                .count();
        let ends = matches!(
            rest.get(indent + tail),
            None | Some(b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'<' | b' ')
        );
        let alone = rest[indent..]
            .iter()
            .skip(tail)
            .take_while(|b| **b != b'\n')
            .all(|b| !b.is_ascii_alphanumeric());
        if (MIN_TAIL..MAX_LINE).contains(&tail) && ends && alone {
            edits.push(Edit {
                start: end,
                end: newline + 1 + indent,
                with: None,
            });
        }
    }
    edits
}

/// Whether a line's last token may go on: letters and digits mixed, and no whole digest.
fn is_cut(head: &[u8]) -> bool {
    let digits = head.iter().filter(|b| b.is_ascii_digit()).count();
    let letters = head.iter().filter(|b| b.is_ascii_alphabetic()).count();
    let digest = matches!(head.len(), 32 | 40 | 64 | 128) && head.iter().all(u8::is_ascii_hexdigit);
    digits >= 2 && letters >= 2 && !digest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::govern::sanitize::text::view::TextView;

    #[test]
    fn masks_come_off() {
        for (text, plain) in [
            ("AK\u{200b}IA", "AKIA"),
            ("\u{ff21}\u{ff4b}\u{ff11}\u{ff10}", "Ak10"),
            ("\u{1d400}\u{1d68b}1", "Ab1"),
            ("gh\u{440}_\u{410}b\u{43e}1", "ghp_Abo1"),
            ("A\u{39a}\u{406}A", "AKIA"),
            (
                "\u{43f}\u{430}\u{440}\u{43e}\u{43b}\u{44c} abc",
                "\u{43f}\u{430}\u{440}\u{43e}\u{43b}\u{44c} abc",
            ),
            ("\u{1b}[94mabc\u{1b}[0m;", "abc;"),
            ("\u{5bc6}\u{7801} caf\u{e9}", "\u{5bc6}\u{7801} caf\u{e9}"),
            ("plain", "plain"),
        ] {
            assert_eq!(TextView::of(text, &unmasked(text)).text, plain, "{text:?}");
        }
    }

    #[test]
    fn joints_are_closed() {
        for (text, plain) in [
            ("a%3Db", "a=b"),
            ("%0A%zz", "%0A%zz"),
            ("&quot;x&#34;&#x27;&amp;", "\"x\"'&"),
            ("\\u003d\\x41", "=A"),
            ("\"abc\" + \"def\"", "\"abcdef\""),
            ("\"abc\"\n    \"def\"", "\"abcdef\""),
            ("'abc' . 'def'", "'abcdef'"),
            ("\"abc\", \"def\"", "\"abc\", \"def\""),
            ("abc\\\n  def", "abcdef"),
            ("ab12cd34ef56ab78\ncd90ef", "ab12cd34ef56ab78cd90ef"),
            (
                "ab12cd34ef56ab78\ncd90ef and more",
                "ab12cd34ef56ab78\ncd90ef and more",
            ),
        ] {
            assert_eq!(TextView::of(text, &joined(text)).text, plain, "{text:?}");
        }
    }
}
