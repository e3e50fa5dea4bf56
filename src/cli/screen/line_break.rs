//! Lines of a screen, broken between words.
//!
//! A terminal breaks a line wherever it ends, in the middle of a word. What a person is to type is
//! never broken by us, so that it can be copied: it gets a line of its own, which the terminal may
//! break, and which is one line still.

use std::path::Path;

use textwrap::core::{Word, display_width};
use textwrap::{Options, WordSeparator, WordSplitter, wrap};

use super::reply_lines::{Markup, without_tabs};
use crate::cli::help::examples::paths;

/// A terminal that says less can't be read anyhow.
pub const NARROWEST: usize = 20;
/// By how much the rest of a line stands in.
const STEP: usize = 2;
/// A word of more columns is broken where it can be.
const WIDEST: usize = 2 * NARROWEST;
/// What stands before a command that mends something.
const ARROW: &str = "-> ";
/// The programs whose commands are printed for somebody to type.
const PROGRAMS: [&str; 9] = [
    "mv",
    "rm",
    "ollama",
    "gently",
    "git",
    "ssh-add",
    "ssh-keygen",
    "python3",
    "export",
];

/// The text in lines of so many columns, or of one word or command where that is longer; the rest of
/// a line stands in below its beginning. What somebody fenced in stays, and so does a table.
pub fn folded(text: &str, columns: usize) -> String {
    let columns = columns.max(NARROWEST);
    let mut markup = Markup::default();
    let mut lines = text.split_inclusive('\n').peekable();
    let mut out = String::with_capacity(text.len());
    while let Some(line) = lines.next() {
        match markup.keeps(line, lines.peek().copied()) {
            true => out.push_str(line),
            false => out.push_str(&folded_line(&without_tabs(line), columns)),
        }
    }
    out
}

/// How many rows of a terminal a text takes.
pub fn rows(text: &str, columns: usize) -> usize {
    let columns = columns.max(1);
    let rows = |line: &str| display_width(line).div_ceil(columns).max(1);
    text.lines().map(rows).sum()
}

/// A text of one line in lines of so many columns.
pub fn words_in(text: &str, columns: usize) -> Vec<String> {
    let lines = wrap(text, options(columns));
    lines.into_iter().map(Into::into).collect()
}

fn folded_line(line: &str, columns: usize) -> String {
    let (said, end) = match line.strip_suffix('\n') {
        Some(said) => (said, "\n"),
        None => (line, ""),
    };
    let rest = said.trim_start_matches(' ');
    let (indent, _) = said.split_at(said.len() - rest.len());
    let is_command = !indent.is_empty() && is_program(first_word(rest).trim_end());
    if is_command || display_width(said) <= columns {
        return line.to_owned();
    }
    // In a narrow terminal what stands far in would have no room.
    let inner = indent.len().min(columns / 2) + STEP;
    let inner = inner.min(columns - widest_fitting(rest, columns)).max(STEP);
    let inner = " ".repeat(inner);
    // The first word has its place, unless it would be broken there.
    let first = parts(rest).next().map_or(0, |word| width_of(&word));
    let indent = match indent.len() + first <= columns {
        true => indent,
        false => indent.get(..inner.len()).unwrap_or(indent),
    };
    let options = options(columns).initial_indent(indent);
    let lines = wrap(rest, options.subsequent_indent(&inner));
    let lines = lines.iter().map(|line| fitted(line, columns));
    lines.collect::<Vec<_>>().join("\n") + end
}

/// A line whose one word has room only further out, there.
fn fitted(line: &str, columns: usize) -> String {
    let word = line.trim_start();
    let room = columns.saturating_sub(display_width(word));
    match display_width(line) > columns && display_width(word) <= columns {
        true => format!("{}{word}", " ".repeat(room)),
        false => line.to_owned(),
    }
}

/// The columns of the widest word that has room in a line.
fn widest_fitting(text: &str, columns: usize) -> usize {
    let widths = parts(text).map(|word| width_of(&word));
    widths.filter(|width| *width <= columns).max().unwrap_or(0)
}

/// The columns of a word, without the spaces behind it.
fn width_of(word: &Word<'_>) -> usize {
    display_width(word.trim_end())
}

fn options(columns: usize) -> Options<'static> {
    Options::new(columns)
        .break_words(false)
        .word_separator(WordSeparator::Custom(parts))
        .word_splitter(WordSplitter::NoHyphenation)
}

/// What is not broken: words, and commands that stand behind a colon or in quotes.
fn parts(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let mut parts = Vec::new();
    let (mut rest, mut before) = (line, "");
    while !rest.is_empty() {
        let command = command(rest, before);
        let part = command.unwrap_or_else(|| first_word(rest));
        match command {
            None if width_of(&Word::from(part)) > WIDEST => parts.extend(between_wide(part)),
            _ => parts.push(Word::from(part)),
        }
        before = part.trim_end();
        (_, rest) = rest.split_at(part.len());
    }
    Box::new(parts.into_iter())
}

/// A long word, broken behind each character of two columns: scripts that are written in these have no
/// blanks between their words.
fn between_wide(word: &str) -> Vec<Word<'_>> {
    let mut buffer = [0; 4];
    let ends = word.char_indices().filter_map(|(at, c)| {
        let is_wide = display_width(c.encode_utf8(&mut buffer)) > 1;
        is_wide.then_some(at + c.len_utf8())
    });
    let (mut pieces, mut start) = (Vec::new(), 0);
    for end in ends.chain([word.len()]) {
        pieces.extend(word.get(start..end).filter(|piece| !piece.is_empty()));
        start = end;
    }
    pieces.into_iter().map(Word::from).collect()
}

/// The first word with the spaces behind it.
fn first_word(text: &str) -> &str {
    with_spaces(text, text.find(' ').unwrap_or(text.len()))
}

/// So many bytes of a text, with the spaces behind them.
fn with_spaces(text: &str, end: usize) -> &str {
    let (word, rest) = text.split_at(end);
    let spaces = rest.len() - rest.trim_start_matches(' ').len();
    text.get(..word.len() + spaces).unwrap_or(text)
}

/// The command that a text begins with, behind what stands `before` it.
fn command<'a>(text: &'a str, before: &str) -> Option<&'a str> {
    // What mends something stands behind its arrow.
    if let Some(behind) = text.strip_prefix(ARROW) {
        let mends = command(behind, before).unwrap_or_else(|| first_word(behind));
        return text.get(..ARROW.len() + mends.len());
    }
    if let Some(mark @ ('\'' | '`')) = text.chars().next() {
        let quoted = text.strip_prefix(mark)?;
        if !is_program(first_word(quoted).trim_end().trim_end_matches(mark)) {
            return None;
        }
        let end = 1 + quoted.find(mark)?;
        let (_, behind) = text.split_at(end);
        return Some(with_spaces(text, end + first_word(behind).trim_end().len()));
    }
    if !is_program(first_word(text).trim_end()) {
        return None;
    }
    if !before.ends_with(':') {
        return in_a_sentence(text);
    }
    let ends = ["; ", ", ", ": ", " ("].iter().filter_map(|end| {
        // The mark belongs to what stands before it.
        Some(text.find(end)? + end.trim_end_matches(['(', ' ']).trim_start().len())
    });
    Some(with_spaces(text, ends.min().unwrap_or(text.len())))
}

/// The command of ours that a text begins with, in the middle of a sentence: as far as its words are a
/// command's, and what stands behind them can only be typed.
fn in_a_sentence(text: &str) -> Option<&str> {
    let program = first_word(text);
    let (_, behind) = text.split_at(program.len());
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-');
    let known = paths().filter(|path| !path.is_empty());
    let known = known.filter(|path| behind.strip_prefix(path).is_some_and(ends));
    let mut end = program.len() + known.map(str::len).max()?;
    loop {
        let rest = text.get(end..)?;
        let next = rest.strip_prefix(' ').map(first_word).map(str::trim_end);
        let Some(next) = next.filter(|next| is_typed(next)) else {
            let sign = rest.len() - rest.trim_start_matches(['.', ',', ';', ')', '?']).len();
            return Some(with_spaces(text, end + sign));
        };
        end += 1 + next.trim_end_matches(['.', ',', ';', ')', '?']).len();
    }
}

/// Whether a word behind a command belongs to it: an option, a name in capitals, something quoted.
fn is_typed(word: &str) -> bool {
    let is_capital = |c: char| c.is_uppercase() || matches!(c, '-' | '_' | '.' | '…');
    let plain = word.trim_end_matches(['.', ',', ';', ')', '?']);
    let is_name = plain.len() > 1 && plain.chars().all(is_capital);
    let is_option = plain.len() > 1 && plain.starts_with('-');
    is_option || is_name || plain.len() > 1 && plain.starts_with('"') && plain.ends_with('"')
}

fn is_program(word: &str) -> bool {
    let name = Path::new(word).file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| PROGRAMS.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMAND: &str = "it counts once it is ratified: gently fact ratify fact-1";
    const HASH: &str = "chain entry  9f86d081884c7d659a2feaa0c55ad015a3bf4f1b  holds\n";

    #[test]
    fn lines_are_broken_between_words() {
        for (columns, text, expected) in [
            (20, "short", "short"),
            (20, "", ""),
            (20, "one\n\n  two\n", "one\n\n  two\n"),
            (
                20,
                "a line of some words more\n",
                "a line of some words\n  more\n",
            ),
            (
                20,
                "    in from the margin\n",
                "    in from the\n      margin\n",
            ),
            // In a sentence, too.
            (
                40,
                "what differs is told by gently audit verify -v, and by nothing else",
                "what differs is told by\n  gently audit verify -v, and by nothing\n  else",
            ),
            (
                40,
                "it does so slowly and gently show the way to it",
                "it does so slowly and gently show the\n  way to it",
            ),
            // What stands far in gets half of the room.
            (
                20,
                "              far in from all\n",
                "              far in\n            from all\n",
            ),
            (
                20,
                HASH,
                "chain entry\n  9f86d081884c7d659a2feaa0c55ad015a3bf4f1b\n  holds\n",
            ),
            (
                40,
                HASH,
                "chain entry\n9f86d081884c7d659a2feaa0c55ad015a3bf4f1b\n  holds\n",
            ),
            (80, HASH, HASH),
            (
                20,
                "see docs/guide/words-of-the-screens.md",
                "see\n  docs/guide/words-of-the-screens.md",
            ),
            (
                20,
                COMMAND,
                "it counts once it is\n  ratified:\n  gently fact ratify fact-1",
            ),
            (
                40,
                COMMAND,
                "it counts once it is ratified:\n  gently fact ratify fact-1",
            ),
            (80, COMMAND, COMMAND),
            (
                40,
                "                     -> gently config set model.default ollama/qwen3",
                "                    -> gently config set\n                    model.default\n                    ollama/qwen3",
            ),
            (
                40,
                "no open drift; did you mean 'gently drift list --all'? Or not",
                "no open drift; did you mean\n  'gently drift list --all'? Or not",
            ),
            (
                20,
                "look: gently audit verify; and once more",
                "look:\ngently audit verify;\n  and once more",
            ),
            (
                40,
                "there is no home there: run `gently init --auth none`, or ask",
                "there is no home there: run\n  `gently init --auth none`, or ask",
            ),
            // What has no blanks is broken between characters of two columns.
            (
                40,
                "question 1: 日本語の質問は長くて空白がありませんので画面の幅を越えます (99 bytes)",
                "question 1: 日本語の質問は長くて空白があ\n  りませんので画面の幅を越えます (99\n  bytes)",
            ),
            // A sentence of this program's name is none of its commands.
            (
                20,
                "on record: gentle words are no command",
                "on record: gentle\n  words are no\n  command",
            ),
            (
                20,
                "gently did nothing of all that",
                "gently did nothing\n  of all that",
            ),
            (
                20,
                "    gently ask -m openai/gpt-5 \"What is new?\"\n",
                "    gently ask -m openai/gpt-5 \"What is new?\"\n",
            ),
            // What has room in a line is not broken, wherever it stands.
            (
                20,
                "              2026-11-24 to 2026-11-24, at most 1 a day\n",
                "         2026-11-24\n         to\n         2026-11-24,\n         at most 1 a\n         day\n",
            ),
            (
                20,
                "          archived · openai/small-1b\n",
                "          archived ·\n     openai/small-1b\n",
            ),
            // Two columns each, and no spaces; an accent of its own takes none.
            (
                20,
                "用中文说了很多 很多很多很多",
                "用中文说了很多\n  很多很多很多",
            ),
            (
                20,
                "e\u{301}e\u{301}e\u{301}e\u{301}e\u{301} e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}",
                "e\u{301}e\u{301}e\u{301}e\u{301}e\u{301} e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}",
            ),
            // Code and tables stay, to their end.
            (
                20,
                "answer\n    ```\n    let a_long_name = of(it);\n    ```\n    | of | many | columns |\n    and words of a line\n",
                "answer\n    ```\n    let a_long_name = of(it);\n    ```\n    | of | many | columns |\n    and words of a\n      line\n",
            ),
            (
                20,
                "answer\n    ```\n    fn without_end() { of(it) }\n\nand words of a line\n",
                "answer\n    ```\n    fn without_end() { of(it) }\n\nand words of a line\n",
            ),
            (
                20,
                "answer\n    ```\n    code\n\nand more words of a line\n",
                "answer\n    ```\n    code\n\nand more words of a\n  line\n",
            ),
            // A tab is as wide as it is.
            (
                20,
                "    a\tb\tc and words\n",
                "    a   b       c\n      and words\n",
            ),
            // Less than 20 is 20.
            (
                3,
                "a line of some words more\n",
                "a line of some words\n  more\n",
            ),
        ] {
            assert_eq!(folded(text, columns), expected, "{columns}: {text}");
        }
    }

    #[test]
    fn no_line_is_longer_than_the_screen_unless_one_word_is() {
        let text = "⚠ The answer says it restarted something (\"I've restarted nginx.\"). gently did nothing. \
                    (authority)\n    1 secret removed from your question before it was stored or sent: github-pat\n";
        let texts = [0, 4, 10, 19, 30, 60].map(|indent| {
            let indent = " ".repeat(indent);
            let lines = text.lines().map(|line| format!("{indent}{line}\n"));
            lines.collect::<String>()
        });
        for (columns, text) in (20..100).flat_map(|columns| texts.iter().map(move |t| (columns, t)))
        {
            let folded = folded(text, columns);
            for line in folded.lines() {
                let has_room = display_width(line.trim()) <= columns;
                let is_word = line.split_whitespace().count() == 1;
                assert!(
                    display_width(line) <= columns || (is_word && !has_room),
                    "{columns}: {line}"
                );
            }
            let words = |text: &str| {
                text.split_whitespace()
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            };
            assert_eq!(words(&folded), words(text));
        }
    }

    #[test]
    fn rows_are_counted_as_a_terminal_breaks_them() {
        assert_eq!(rows("a\n\nabcdefghijk\n", 10), 4);
        assert_eq!(rows("", 10), 0);
        assert_eq!(rows("\u{1b}[1mabcdefghij\u{1b}[0m\n", 10), 1);
    }
}
