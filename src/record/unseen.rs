//! Characters that a reader does not see, or that move, hide or reorder what others see.
//!
//! | kind | as in | what it can do |
//! |---|---|---|
//! | controls | C0 without newline and tab, DEL, C1 | move the cursor, set the title, write the clipboard, conceal |
//! | separators | U+2028, U+2029 | begin a line where there is none |
//! | direction | U+202A–202E, U+2066–2069, U+200E, U+200F, U+061C | show text in another order than it is read in |
//! | zero width | U+200B–200D, U+2060–206F, U+00AD, U+FEFF, fillers | make two texts that look alike |
//! | tags | U+E0000–E0FFF | carry a text that nobody sees |
//! | variation | U+FE00–FE0F, U+180B–180F | the same, a bit at a time |
//!
//! Emoji and some scripts cannot be written without joiners and selectors: where those do what they
//! are for, they stay.

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_normalization::char::is_combining_mark;

/// So many marks over one letter are more than any script has; further ones are drawn over other
/// lines.
const MOST_MARKS: usize = 8;

/// Whether a character takes no room: format controls, joiners, fillers, variation selectors, tags.
pub const fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{13430}'..='\u{1345f}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a character moves the cursor or begins another line; newline and tab do, too.
pub fn is_moving(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Whether a text is fit for a name: what is typed again has to be what is seen. The empty Braille
/// pattern is a blank that pictures in text are drawn with, and no part of a name.
pub fn is_plain_name(text: &str) -> bool {
    !text
        .chars()
        .any(|c| is_invisible(c) || is_moving(c) || c == '\u{2800}')
}

/// The text with everything spelled out that moves, hides or reorders; newline and tab stay.
///
/// The spelling is JSON's (`\u001b`), so a JSON document that is shown so is the same document
/// still.
pub fn spelled(text: &str) -> Cow<'_, str> {
    let plain = |b: u8| matches!(b, b'\n' | b'\t' | 0x20..=0x7e);
    if text.bytes().all(plain) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    let (mut before, mut marks) = (None, 0_usize);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        marks = if is_combining_mark(c) && !is_selector(c) {
            marks + 1
        } else {
            0
        };
        let shown = match c {
            '\n' | '\t' => true,
            _ if is_moving(c) || marks > MOST_MARKS => false,
            _ if is_invisible(c) => is_of_use(before, c, chars.peek().copied()),
            _ => true,
        };
        if shown {
            out.push(c);
        } else {
            spell(&mut out, c);
        }
        before = Some(c);
    }
    Cow::Owned(out)
}

/// The same on one line: newlines and tabs are spelled out, too.
pub fn spelled_on_a_line(text: &str) -> String {
    spelled(text).replace('\n', "\\n").replace('\t', "\\t")
}

fn spell(out: &mut String, c: char) {
    if c == '\r' {
        return out.push_str("\\r");
    }
    for half in c.encode_utf16(&mut [0; 2]) {
        let _ = write!(out, "\\u{half:04x}");
    }
}

const fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}')
}

/// Whether a joiner or selector does what it is for, between its neighbours.
fn is_of_use(before: Option<char>, c: char, after: Option<char>) -> bool {
    match (before, c, after) {
        // An emoji's own style, and the keycaps 1️⃣ and #️⃣.
        (Some(base), '\u{fe0e}' | '\u{fe0f}', after) => {
            is_pictographic(base)
                || (matches!(base, '0'..='9' | '#' | '*') && after == Some('\u{20e3}'))
        }
        (Some(left), '\u{200d}', Some(right)) => {
            (is_emoji_part(left) && is_pictographic(right))
                || (is_joining_script(left) && is_joining_script(right))
        }
        // Persian and the scripts of India tell words apart by it.
        (Some(left), '\u{200c}', Some(right)) => {
            is_joining_script(left) && is_joining_script(right)
        }
        _ => false,
    }
}

const fn is_pictographic(c: char) -> bool {
    matches!(c,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{21ff}'
        | '\u{2300}'..='\u{23ff}' | '\u{24c2}' | '\u{25a0}'..='\u{27bf}' | '\u{2900}'..='\u{297f}'
        | '\u{2b00}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

const fn is_emoji_part(c: char) -> bool {
    is_pictographic(c) || c == '\u{fe0f}'
}

/// Arabic, Syriac, and the scripts of South and Southeast Asia.
const fn is_joining_script(c: char) -> bool {
    matches!(c, '\u{620}'..='\u{74f}' | '\u{750}'..='\u{77f}' | '\u{8a0}'..='\u{8ff}' | '\u{900}'..='\u{df4}'
        | '\u{f40}'..='\u{fbc}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17b3}' | '\u{17b6}'..='\u{17d3}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_hides_or_reorders_is_spelled_out() {
        for (text, shown) in [
            ("a\n\tb é 漢字 ñ", "a\n\tb é 漢字 ñ"),
            ("\u{1b}]0;owned\u{7}", "\\u001b]0;owned\\u0007"),
            ("a\rb\u{8}\u{7f}\u{0}", "a\\rb\\u0008\\u007f\\u0000"),
            ("\u{9b}2J\u{85}\u{9d}", "\\u009b2J\\u0085\\u009d"),
            (
                "x\u{202e}y\u{2066}z\u{200f}\u{61c}",
                "x\\u202ey\\u2066z\\u200f\\u061c",
            ),
            ("\u{2028}\u{2029}", "\\u2028\\u2029"),
            (
                "a\u{200b}b\u{200c}c\u{200d}d\u{2060}\u{feff}\u{ad}",
                "a\\u200bb\\u200cc\\u200dd\\u2060\\ufeff\\u00ad",
            ),
            ("\u{e0041}", "\\udb40\\udc41"),
            (
                "a\u{fe0f}\u{fe01}\u{e0100}",
                "a\\ufe0f\\ufe01\\udb40\\udd00",
            ),
            (
                "\u{3164}\u{ffa0}\u{115f}\u{34f}\u{180e}\u{fff9}",
                "\\u3164\\uffa0\\u115f\\u034f\\u180e\\ufff9",
            ),
        ] {
            assert_eq!(spelled(text), shown, "{text:?}");
        }
        assert_eq!(spelled_on_a_line("a\n\tb\u{1b}"), "a\\n\\tb\\u001b");
    }

    #[test]
    fn what_emoji_and_scripts_need_stays() {
        for text in [
            "❤️ 1️⃣ 👩‍💻 👍🏽",
            "می‌خواهم",
            "क्‍ष",
            "naïve Việt Nam e\u{301}\u{323}",
            "שָׁלוֹם",
        ] {
            assert_eq!(spelled(text), text);
        }
        for text in [
            "1\u{fe0f}2",
            "a\u{200d}b",
            "👍\u{200d}b",
            "\u{fe0f}",
            "❤\u{fe0f}\u{fe0f}",
            "🏴\u{e0067}",
        ] {
            assert_ne!(spelled(text), text);
        }
        let tower = format!("a{}", "\u{301}".repeat(20));
        assert!(
            spelled(&tower).contains("\\u0301"),
            "marks that reach other lines"
        );
    }

    #[test]
    fn a_json_document_is_the_same_document_still() {
        let value =
            serde_json::json!({"text": "a\u{9b}2J\u{202e}\u{2028}\u{e0041}\u{1b}\r\n\u{200b}"});
        let text = value.to_string();
        let shown = spelled(&text).into_owned();
        assert!(
            !shown.chars().any(|c| is_invisible(c) || is_moving(c)),
            "{shown}"
        );
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&shown).unwrap(),
            value
        );
    }

    #[test]
    fn names_are_what_they_look_like() {
        for name in ["llama3.1:8b", "日本", "été", "a b"] {
            assert!(is_plain_name(name));
        }
        for name in [
            "a\u{200b}",
            "a\u{202e}b",
            "a\nb",
            "a\u{ad}",
            "a\u{2028}b",
            "\u{e0041}",
            "a\tb",
        ] {
            assert!(!is_plain_name(name), "{name:?}");
        }
    }
}
