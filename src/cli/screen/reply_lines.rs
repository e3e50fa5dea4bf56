//! The lines of somebody's text on a terminal: an answer is broken between words, and its code and its
//! tables stay as they are.

use serde::de::IgnoredAny;
use textwrap::core::{Word, display_width};
use textwrap::{Options, WordSeparator, WordSplitter, wrap};

use crate::app::words::is_ideograph;

use super::line_break::NARROWEST;

/// Where a tab leads to: the next multiple of it.
const TAB: usize = 8;
/// So far in from the margin stands code.
const CODE_INDENT: usize = 4;
/// So many of one sign begin and end what is fenced in.
const FENCE: usize = 3;
/// The longest number of a list.
const LONGEST_NUMBER: usize = 9;
/// What stands before no word that begins a line, as it ends what was said before.
const ENDS: &str = "、。，．：；！？）」』】〉》〕…ー々";

/// Somebody's text in lines of so many columns, or of one word where that is longer, which the
/// terminal breaks. The rest of a line stands below its beginning; that of an item of a list, below
/// its text. Code stays, and so does a table, and JSON.
pub fn folded_reply(text: &str, columns: usize) -> String {
    let columns = columns.max(NARROWEST);
    if is_json(text) {
        return text.to_owned();
    }
    let mut markup = Markup::default();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut out = String::with_capacity(text.len());
    for (at, line) in lines.iter().enumerate() {
        let (said, end) = match line.strip_suffix('\n') {
            Some(said) => (said, "\n"),
            None => (*line, ""),
        };
        let stays = markup.keeps(said, lines.get(at + 1).copied()) || markup.is_code(said);
        match stays || width(said) <= columns {
            true => out.push_str(said),
            false => out.push_str(&folded_line(said, columns)),
        }
        out.push_str(end);
    }
    out
}

/// Whether a text is one JSON document, which is no longer one with a line broken within a string.
fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

fn folded_line(line: &str, columns: usize) -> String {
    let line = without_tabs(line);
    let (begins, rest) = line.split_at(beginning_of(&line));
    let inner = match begins.contains('>') {
        // What is quoted is quoted in each of its lines.
        true => begins.to_owned(),
        false => " ".repeat(display_width(begins).min(columns / 2)),
    };
    let options = Options::new(columns)
        .break_words(false)
        .word_separator(WordSeparator::Custom(words))
        .word_splitter(WordSplitter::NoHyphenation)
        .initial_indent(begins)
        .subsequent_indent(&inner);
    wrap(rest, options).join("\n")
}

/// How much of a line stands before its text: blanks, the signs of quotations, the sign or number of
/// an item of a list.
fn beginning_of(line: &str) -> usize {
    let rest = line.trim_start_matches([' ', '>']);
    line.len() - rest.len() + item_sign(rest).unwrap_or(0)
}

/// The bytes of the sign or number of an item of a list, with the blanks behind it.
fn item_sign(text: &str) -> Option<usize> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (sign, rest) = match digits {
        0 => text.split_at(text.chars().next()?.len_utf8()),
        _ => text.split_at_checked(digits + 1)?,
    };
    let is_sign = match digits {
        0 => ["-", "*", "+", "•"].contains(&sign),
        1..=LONGEST_NUMBER => sign.ends_with(['.', ')']),
        _ => false,
    };
    let blanks = rest.len() - rest.trim_start_matches(' ').len();
    (is_sign && blanks > 0).then_some(sign.len() + blanks)
}

/// What is not broken: words. Between two characters of a script that has no blanks a line may end.
fn words(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let (mut parts, mut from) = (Vec::new(), 0);
    let mut chars = line.char_indices().peekable();
    while let (Some((_, c)), Some((next, following))) = (chars.next(), chars.peek().copied()) {
        let ends_word = c == ' ' && following != ' ';
        let ends_sign = is_ideograph(c) && is_ideograph(following) && !ENDS.contains(following);
        if ends_word || ends_sign {
            parts.push(Word::from(line.get(from..next).unwrap_or_default()));
            from = next;
        }
    }
    parts.push(Word::from(line.get(from..).unwrap_or_default()));
    Box::new(parts.into_iter())
}

/// The columns of a line, its tabs included.
fn width(line: &str) -> usize {
    match line.contains('\t') {
        true => display_width(&without_tabs(line)),
        false => display_width(line),
    }
}

/// A line with as many blanks as each tab is wide.
pub fn without_tabs(line: &str) -> String {
    let mut parts = line.split('\t');
    let mut out = parts.next().unwrap_or_default().to_owned();
    let mut at = display_width(&out);
    for part in parts {
        let blanks = TAB - at % TAB;
        out.push_str(&" ".repeat(blanks));
        out.push_str(part);
        at += blanks + display_width(part);
    }
    out
}

/// Tells lines that stay as they are from others, one after the other.
#[derive(Default)]
pub struct Markup {
    /// The sign that what is fenced in began with, how many of it, and how far in they stand.
    fence: Option<(char, usize, usize)>,
    in_table: bool,
    in_list: bool,
}

impl Markup {
    /// Whether a line is fenced in, or a row of a table; `next` is the line behind it.
    pub fn keeps(&mut self, line: &str, next: Option<&str>) -> bool {
        let rest = line.trim_start();
        let indent = line.len() - rest.len();
        if let Some((sign, length, begun)) = self.fence {
            // What stands further out, on a screen of ours, is none of it.
            let is_outside = !rest.is_empty() && indent < begun;
            let run = rest.len() - rest.trim_start_matches(sign).len();
            let is_end = run >= length && rest.trim_end().len() == run;
            if is_outside || is_end {
                self.fence = None;
            }
            return !is_outside;
        }
        for sign in ['`', '~'] {
            let told = rest.trim_start_matches(sign);
            let run = rest.len() - told.len();
            if run >= FENCE && !(sign == '`' && told.contains(sign)) {
                self.fence = Some((sign, run, indent));
                return true;
            }
        }
        let is_row = rest.contains('|');
        let begins = is_row && next.is_some_and(is_rule);
        self.in_table = begins || (self.in_table && is_row);
        self.in_table || rest.starts_with('|')
    }

    /// Whether a line that [`Markup::keeps`] does not name stands in from the margin as code does.
    /// In a list that is where the items of its items stand.
    fn is_code(&mut self, line: &str) -> bool {
        let rest = line.trim_start();
        if rest.is_empty() {
            return false;
        }
        let (blanks, _) = line.split_at(line.len() - rest.len());
        let indent = width(blanks);
        let is_item = item_sign(rest).is_some();
        if indent < CODE_INDENT {
            self.in_list = is_item || (self.in_list && indent > 0);
        }
        indent >= CODE_INDENT && !(self.in_list && (is_item || indent < 2 * CODE_INDENT))
    }
}

/// The rule between the head of a table and its rows: `|---|:-:|`.
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    let is_of_one = line.bytes().all(|b| matches!(b, b'-' | b':' | b'|' | b' '));
    is_of_one && line.contains('|') && line.contains('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_broken_between_its_words() {
        for (text, expected) in [
            ("short\n", "short\n"),
            ("", ""),
            (
                "a line of some words more\n\nand another one of them",
                "a line of some words\nmore\n\nand another one of\nthem",
            ),
            // The rest of an item stands below its text.
            (
                "- a line of some words more\n",
                "- a line of some\n  words more\n",
            ),
            (
                "10. a line of some words\n    1) and more of them in it\n",
                "10. a line of some\n    words\n    1) and more of\n       them in it\n",
            ),
            (
                "> a line of some words more\n",
                "> a line of some\n> words more\n",
            ),
            // A number is no item, and a hyphen none.
            (
                "2026 was a year of it all\n",
                "2026 was a year of\nit all\n",
            ),
            (
                "-5 degrees and less of it\n",
                "-5 degrees and less\nof it\n",
            ),
            // What has no room in a line has one of its own.
            (
                "see https://example.org/a/page now\n",
                "see\nhttps://example.org/a/page\nnow\n",
            ),
            // Two columns each, without blanks; no line begins with what ends a sentence.
            (
                "看用中文说了很多很多很多很多。",
                "看用中文说了很多很多\n很多很多。",
            ),
            ("用中文说了很多很多很。再说", "用中文说了很多很多\n很。再说"),
            (
                "e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301} e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301} e\u{301}e\u{301}e\u{301}e\u{301}",
                "e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301} e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}\ne\u{301}e\u{301}e\u{301}e\u{301}",
            ),
            // A tab leads to a column; in a line that fits it stays.
            ("a\tb\n", "a\tb\n"),
            ("one\ttwo three four\n", "one     two three\nfour\n"),
        ] {
            assert_eq!(folded_reply(text, 20), expected, "{text}");
            assert_eq!(folded_reply(text, 200), text);
        }
    }

    #[test]
    fn code_and_tables_stay() {
        for text in [
            "```rust\nlet a_long_name = of(a, function);\n```\n",
            "~~~~\n``` no end of it, as it is another\n~~~\nnor this one, it is too short\n~~~~\n",
            "    let a_long_name = of(a, function);\n",
            "\tlet a_long_name = of(a, function);\n",
            "| a table | of some | columns |\n|---|---|---|\n| and rows | of | some words |\n",
            "a table | without | its sides\n---|---|---\nand rows | of | some words\n",
            "{\"a\": \"string of many words in it\", \"b\": [1, 2, 3]}\n",
        ] {
            assert_eq!(folded_reply(text, 20), text);
        }
        let (told, folded) = ("and words of some length\n", "and words of some\nlength\n");
        for before in [
            "```\ncode\n```\n",
            "```a``` of more\n",
            "    code\n",
            "| a |\n",
            "a | b\n-|-\nc | d\n",
        ] {
            let text = format!("{before}{told}");
            assert_eq!(folded_reply(&text, 20), format!("{before}{folded}"));
        }
        // Of a list, what stands in is no code.
        assert_eq!(
            folded_reply(
                "* a\n    - an item of this item\n    and some more words\n",
                20
            ),
            "* a\n    - an item of\n      this item\n    and some more\n    words\n"
        );
        let not_json = "[of] some words that are no document\n";
        assert_ne!(folded_reply(not_json, 20), not_json);
    }

    #[test]
    fn only_a_word_or_code_is_wider_than_the_screen() {
        let long = "x".repeat(10_000);
        let texts = [
            format!("before {long} after {long}{long}\n- item {long} of it\n"),
            "the of and to in a is that it was for on are as with his they at be this ".repeat(20),
            "\ta\tb\tc\td\te\tf and so on".replacen('\t', "", 1),
            "用中文说了很多 and some words 很多很多很多，很多很多很多。".repeat(9),
        ];
        for (columns, text) in (20..100).flat_map(|columns| texts.iter().map(move |t| (columns, t)))
        {
            let folded = folded_reply(text, columns);
            for line in folded.lines() {
                let is_word = line.trim().split(' ').count() <= 2 && line.contains(&long);
                assert!(width(line) <= columns || is_word, "{columns}: {line}");
            }
            let letters = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(letters(&folded), letters(text));
        }
    }
}
