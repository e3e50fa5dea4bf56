//! Foreign text on a screen: it may say anything, and move nothing.
//!
//! One gate for all of it: what is written to standard output or standard error passes [`Gate`],
//! whoever's words they are. On a terminal everything that moves, hides or reorders is spelled out,
//! and so it is on standard error always, which is for people wherever it is led (git shows a
//! hook's on the terminal of whoever pushes). A pipe behind standard output gets the exact bytes.

pub(super) mod confirm;
pub(super) mod line_break;
pub(super) mod new_file;
pub(super) mod pager;
pub(super) mod passphrase;
mod reply_lines;
pub(super) mod side_by_side;
pub(super) mod signals;
pub(super) mod terminal;
pub(super) mod typed_line;
pub(super) mod view_or_words;

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Stderr, StdoutLock, Write};
use std::sync::OnceLock;

use clap::ColorChoice;
use clap::builder::styling::{AnsiColor, Style};
use rustix::fd::AsFd;
use rustix::termios::tcgetwinsize;

use line_break::folded;
use reply_lines::folded_reply;
use textwrap::core::display_width;

pub use crate::app::words::{beginning, counted};
use crate::record::unseen::{spelled, spelled_on_a_line};

/// When signs and verdicts are coloured; set once, from the command line.
static COLOR: OnceLock<ColorChoice> = OnceLock::new();

/// Says when to colour.
pub fn choose_color(choice: ColorChoice) {
    let _ = COLOR.set(choice);
}

/// Whether what goes there is coloured.
pub fn is_coloured(is_terminal: bool) -> bool {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    match COLOR.get().unwrap_or(&ColorChoice::Auto) {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            let can = set("TERM").is_some_and(|term| term != "dumb");
            is_terminal && can && set("NO_COLOR").is_none()
        }
    }
}

/// Which lines that pass a gate may get colours. A sign at the beginning of a line does; so that a
/// model's answer can't print a verdict in green, only what gently says itself is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Paint {
    /// None: the text is somebody's.
    Nothing,
    /// The first one: the rest may quote somebody.
    FirstLine,
    /// All: foreign text stands in from the margin, and has no line of its own.
    EachLine,
}

impl Paint {
    fn when(self, is_coloured: bool) -> Self {
        if is_coloured { self } else { Paint::Nothing }
    }
}

/// What stands before and behind a word that is set off, until [`ScreenFilter::hits`] does that: characters
/// that are none, and stand in no text.
pub const SET_OFF: [char; 2] = ['\u{fdd0}', '\u{fdd1}'];

/// What becomes of the signs of [`SET_OFF`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum SetOffStyle {
    /// Nothing: there are none.
    None,
    /// Brackets.
    Brackets,
    /// The word between them gets a colour.
    Colour,
}

impl SetOffStyle {
    fn of(self, text: String) -> String {
        let [begins, ends] = SET_OFF;
        match self {
            SetOffStyle::None => text,
            SetOffStyle::Brackets => text.replace(begins, "[").replace(ends, "]"),
            SetOffStyle::Colour => {
                let style = AnsiColor::Yellow.on_default().bold();
                let (begun, ended) = (format!("{style}"), format!("{style:#}"));
                text.replace(begins, &begun).replace(ends, &ended)
            }
        }
    }
}

/// How lines are broken between words: the columns that there are, and whose words they are.
#[derive(Clone, Copy)]
struct LineFold {
    columns: usize,
    of: fn(&str, usize) -> String,
}

impl LineFold {
    /// Of a stream, where that is a terminal.
    fn at(stream: &(impl AsFd + io::IsTerminal), of: fn(&str, usize) -> String) -> Option<Self> {
        columns(stream).map(|columns| LineFold { columns, of })
    }
}

/// Where text leaves the program.
pub struct ScreenFilter<W> {
    to: W,
    spells: bool,
    paint: Paint,
    marking: SetOffStyle,
    /// How many columns the terminal has, where lines are broken between words, and how.
    folds: Option<LineFold>,
    /// Whether the signs between our own words are told with plain characters.
    plain: bool,
}

impl ScreenFilter<StdoutLock<'static>> {
    /// Standard output, for what stays as it is: a file, a key, JSON.
    pub fn out() -> Self {
        let to = io::stdout();
        ScreenFilter {
            spells: to.is_terminal(),
            to: to.lock(),
            paint: Paint::Nothing,
            marking: SetOffStyle::None,
            folds: None,
            plain: false,
        }
    }

    /// Standard output, for somebody's words, as an answer is: on a terminal their lines are broken
    /// between words, and their code stays.
    pub fn reply() -> Self {
        ScreenFilter {
            folds: LineFold::at(&io::stdout(), folded_reply),
            ..Self::out()
        }
    }

    /// Standard output, for what gently says: lines are broken between words.
    pub fn told() -> Self {
        ScreenFilter {
            folds: LineFold::at(&io::stdout(), folded),
            plain: is_plain_locale(),
            ..Self::out()
        }
    }

    /// The same, of help, which is all our own and brings its colours along.
    pub fn help() -> Self {
        ScreenFilter {
            spells: false,
            ..Self::told()
        }
    }

    /// The same, of a check or a record: its signs get their colours.
    pub fn report() -> Self {
        let gate = Self::told();
        let paint = Paint::EachLine.when(is_coloured(gate.spells));
        ScreenFilter { paint, ..gate }
    }

    /// The same as [`ScreenFilter::told`], of what a search found: its words are set off.
    pub fn hits() -> Self {
        let gate = Self::told();
        let marking = match is_coloured(gate.spells) {
            true => SetOffStyle::Colour,
            false => SetOffStyle::Brackets,
        };
        ScreenFilter { marking, ..gate }
    }
}

impl ScreenFilter<Stderr> {
    /// The gate before standard error.
    pub fn err() -> Self {
        let to = io::stderr();
        ScreenFilter {
            paint: Paint::FirstLine.when(is_coloured(to.is_terminal())),
            marking: SetOffStyle::None,
            spells: true,
            folds: LineFold::at(&to, folded),
            plain: is_plain_locale(),
            to,
        }
    }
}

/// How many columns a terminal has; none for what is no terminal, or does not say.
pub fn columns(stream: &(impl AsFd + io::IsTerminal)) -> Option<usize> {
    if !stream.is_terminal() {
        return None;
    }
    let columns = tcgetwinsize(stream).ok()?.ws_col;
    (columns > 0).then_some(usize::from(columns))
}

impl<W> ScreenFilter<W> {
    /// The text as it passes.
    pub fn passed(&self, text: &str) -> String {
        let text = if self.spells {
            spelled(text)
        } else {
            text.into()
        };
        let text = if self.plain {
            in_ascii(&text).into()
        } else {
            text
        };
        let painted = match self.folds {
            Some(LineFold { columns, of }) => painted(&of(&text, columns), self.paint),
            None => painted(&text, self.paint),
        };
        self.marking.of(painted)
    }

    fn passes_bytes(&self) -> bool {
        let is_plain = self.paint == Paint::Nothing && self.marking == SetOffStyle::None;
        !self.spells && !self.plain && is_plain && self.folds.is_none()
    }
}

impl<W: Write> Write for ScreenFilter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.passes_bytes() {
            self.to.write_all(bytes)?;
        } else {
            let text = self.passed(&String::from_utf8_lossy(bytes));
            self.to.write_all(text.as_bytes())?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// The text with the signs at the beginning of its lines in colour.
fn painted(text: &str, paint: Paint) -> String {
    let lines = text.split_inclusive('\n').enumerate();
    let line = |(at, line): (usize, &str)| {
        let is_ours = paint == Paint::EachLine || (paint == Paint::FirstLine && at == 0);
        let sign = line.split([' ', '\n']).next().unwrap_or_default();
        match style(sign).filter(|_| is_ours) {
            Some(style) => format!("{style}{sign}{style:#}{}", &line[sign.len()..]),
            None => line.to_owned(),
        }
    };
    lines.map(line).collect()
}

/// How a sign looks.
fn style(sign: &str) -> Option<Style> {
    let color = match sign {
        "✔" | "ok" => AnsiColor::Green,
        "✘" | "NO" | "FAIL" | "error:" => AnsiColor::Red,
        "?" | "⚠" | "!!" | "warn" => AnsiColor::Yellow,
        _ => return None,
    };
    Some(color.on_default().bold())
}

/// A text on one line; what moves the cursor, or turns the direction of writing, is spelled out.
pub fn quiet(text: &str) -> String {
    spelled_on_a_line(text)
}

/// A number of thousandths as a fraction: `-0.050`.
pub fn thousandths(value: impl Into<i128>) -> String {
    let value: i128 = value.into();
    let sign = if value < 0 { "-" } else { "" };
    let size = value.unsigned_abs();
    format!("{sign}{}.{:03}", size / 1000, size % 1000)
}

/// The sign before a verdict (`yes`, `no`, or what is open) or a `warning`; in words where the locale has no such
/// characters.
pub fn mark(of: &str) -> &'static str {
    match (of, is_plain_locale()) {
        ("yes", false) => "✔",
        ("yes", true) => "ok",
        ("no", false) => "✘",
        ("no", true) => "NO",
        ("warning", false) => "⚠",
        ("warning", true) => "!!",
        _ => "?",
    }
}

/// Whether the locale has no characters but the plain ones; one that is not set says nothing.
fn is_plain_locale() -> bool {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    set.is_some_and(|locale| !locale.to_ascii_lowercase().contains("utf"))
}

/// A sign for each value, as high as it is; a blank where there is none.
pub fn sparkline(values: &[Option<u64>]) -> String {
    signs(values, is_plain_locale())
}

fn signs(values: &[Option<u64>], plain: bool) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const PLAIN: [char; 8] = ['_', '.', '-', '=', '+', 'x', 'X', '#'];
    let heights = if plain { PLAIN } else { HEIGHTS };
    let most = values.iter().flatten().max().copied().unwrap_or(0).max(1);
    let sign = |value: &Option<u64>| {
        let Some(value) = value else {
            return ' ';
        };
        // The highest has the last sign, and one that is not zero never less than the first.
        let step = u128::from(*value) * heights.len() as u128;
        let step = step.div_ceil(u128::from(most)).saturating_sub(1);
        let step = usize::try_from(step).unwrap_or(usize::MAX);
        heights[step.min(heights.len() - 1)]
    };
    values.iter().map(sign).collect()
}

/// The text with what stands between our own words in plain characters.
fn in_ascii(text: &str) -> String {
    const SIGNS: [(char, &str); 9] = [
        ('…', "..."),
        ('·', "-"),
        ('–', "-"),
        ('—', "--"),
        ('→', "->"),
        ('✔', "ok"),
        ('✘', "NO"),
        ('⚠', "!!"),
        ('×', "x"),
    ];
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match SIGNS.iter().find(|(sign, _)| *sign == c) {
            Some((_, plain)) => out.push_str(plain),
            None => out.push(c),
        }
    }
    out
}

/// The least of a text that is shown in a row, however narrow the terminal is.
const LEAST: usize = 12;
/// Where a text begins that stands below its row.
const BELOW: &str = "    ";

/// A row of a list: its columns, and of the text behind them as much as the terminal has room for.
pub fn row(head: &str, text: &str) -> String {
    row_in(columns(&io::stdout()), head, text, LEAST)
}

/// A row whose text people go by: where it has not room behind its columns, it has a line for itself.
pub fn row_or_below(head: &str, text: &str) -> String {
    row_in(columns(&io::stdout()), head, text, usize::MAX)
}

/// A row with all of its text, which begins a line for itself where it has not room behind the columns.
pub fn whole_row(head: &str, text: &str) -> String {
    let has_room = columns(&io::stdout())
        .is_none_or(|columns| display_width(head) + 2 + display_width(text) < columns);
    match has_room {
        true => format!("{}\n", format!("{head}  {text}").trim_end()),
        false => format!("{}\n{BELOW}{text}\n", head.trim_end()),
    }
}

/// A row in so many columns. Where less than `least` of a text has room behind columns that are in one line,
/// and next to nothing of it behind others, it has a line for itself.
fn row_in(columns: Option<usize>, head: &str, text: &str, least: usize) -> String {
    let Some(columns) = columns else {
        return format!("{}\n", format!("{head}  {text}").trim_end());
    };
    let (head, least) = match display_width(head) > columns {
        true => (Cow::Owned(broken_between_columns(head, columns)), LEAST),
        false => (Cow::Borrowed(head), least),
    };
    let last = head.lines().last().unwrap_or_default();
    let room = columns.saturating_sub(display_width(last) + 3);
    let row = match room < least && display_width(text) > room {
        true => {
            let room = columns.saturating_sub(BELOW.len() + 1).max(LEAST);
            format!("{}\n{BELOW}{}", head.trim_end(), fitting(text, room))
        }
        false => format!("{head}  {}", fitting(text, room)),
    };
    format!("{}\n", row.trim_end())
}

/// The beginning of a text, as much of it as has room: some characters take two columns.
fn fitting(text: &str, room: usize) -> String {
    let (mut width, mut buffer) = (0, [0; 4]);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let fits = line.chars().take_while(|c| {
        width += display_width(c.encode_utf8(&mut buffer));
        width <= room
    });
    beginning(&line, fits.count())
}

/// The columns of a row that is too long, in several lines: no column is broken.
fn broken_between_columns(head: &str, columns: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    let cells = head.split("  ").map(str::trim);
    for cell in cells.filter(|cell| !cell.is_empty()) {
        match lines.last_mut() {
            Some(line) if display_width(line) + 2 + display_width(cell) <= columns => {
                line.push_str("  ");
                line.push_str(cell);
            }
            Some(_) => lines.push(format!("{BELOW}{cell}")),
            None => lines.push(cell.to_owned()),
        }
    }
    lines.join("\n")
}

/// A time to the minute, as lists have it: `2026-11-24 02:15`.
pub fn minute(at: impl std::fmt::Display) -> String {
    const TO_MINUTES: usize = "2026-11-24T02:15".len();
    let at = at.to_string();
    at.get(..TO_MINUTES).unwrap_or(&at).replace('T', " ")
}

/// A text of several lines, each behind `indent`; tabs stay.
pub fn block(text: &str, indent: &str) -> String {
    let safe = |line: &str| line.split('\t').map(quiet).collect::<Vec<_>>().join("\t");
    text.lines()
        .map(|line| {
            if line.is_empty() {
                "\n".to_owned()
            } else {
                format!("{indent}{}\n", safe(line))
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_write_elsewhere_on_the_screen() {
        assert_eq!(
            quiet("a\u{1b}[2J\r\nb\u{202e}é"),
            "a\\u001b[2J\\r\\nb\\u202eé"
        );
        assert_eq!(
            block("one\n\ttwo\u{7}\n\nthree\n", "  "),
            "  one\n  \ttwo\\u0007\n\n  three\n"
        );
    }

    #[test]
    fn a_row_has_its_text_last_and_whole_where_there_is_no_terminal() {
        let long = "word ".repeat(40);
        assert_eq!(row("a  b", long.trim()), format!("a  b  {}\n", long.trim()));
        assert_eq!(row("a  b ", ""), "a  b\n");
        let head = "3d5bc2f9  2026-11-24 02:15    1 asked";
        let title = "What did we say of the garden in May?";
        let below = format!("{head}\n    What did we say of the garden in Ma…\n");
        assert_eq!(row_in(Some(40), head, title, LEAST), below);
        assert_eq!(row_in(Some(40), head, "", LEAST), format!("{head}\n"));
        let beside = format!("{head}  What did we say of t…\n");
        assert_eq!(row_in(Some(60), head, title, LEAST), beside);
        // Where people go by it, it is whole, or has a line for itself.
        let below = format!("{head}\n    {title}\n");
        assert_eq!(row_in(Some(60), head, title, usize::MAX), below);
        let beside = format!("{head}  {title}\n");
        assert_eq!(row_in(Some(90), head, title, usize::MAX), beside);
        assert_eq!(row_in(None, head, title, usize::MAX), beside);
        // Characters of two columns, too, are cut where the line ends.
        let below = format!("{head}\n    日本の首都はどこですか。東京ですか、…\n");
        let title = "日本の首都はどこですか。東京ですか、それとも京都ですか。";
        assert_eq!(row_in(Some(42), head, title, LEAST), below);
        let head = "a69c2e13  open    2026-11-26 18:13  2 asked  m";
        assert_eq!(
            row_in(Some(40), head, "What?", LEAST),
            "a69c2e13  open  2026-11-26 18:13\n    2 asked  m  What?\n"
        );
        assert_eq!(minute("2026-11-24T02:15:59Z"), "2026-11-24 02:15");
        assert_eq!(minute("unknown time"), "unknown time");
    }

    #[test]
    fn a_gate_spells_for_people_and_for_nobody_else() {
        for (spells, expected) in [(true, "a\\u001b[2J\n"), (false, "a\u{1b}[2J\n")] {
            let mut gate = ScreenFilter {
                to: Vec::new(),
                spells,
                paint: Paint::Nothing,
                marking: SetOffStyle::None,
                folds: None,
                plain: false,
            };
            gate.write_all(b"a\x1b[2J\n").unwrap();
            assert_eq!(gate.to, expected.as_bytes());
        }
    }

    #[test]
    fn a_gap_is_a_blank_and_no_zero() {
        let values = [Some(1), None, Some(0), Some(4), Some(8)];
        assert_eq!(signs(&values, false), "▁ ▁▄█");
        assert_eq!(signs(&values, true), "_ _=#");
        assert_eq!(signs(&[], false), "");
        assert_eq!(signs(&[Some(u64::MAX), None], false), "█ ");
    }

    #[test]
    fn a_word_is_set_off_whatever_else_is_spelled_out() {
        let [begins, ends] = SET_OFF;
        let text = format!("a {begins}word{ends} \u{1b}[1m [of] it\n");
        for (marking, expected) in [
            (SetOffStyle::Brackets, "a [word] \\u001b[1m [of] it\n"),
            (
                SetOffStyle::Colour,
                "a \u{1b}[1m\u{1b}[33mword\u{1b}[0m \\u001b[1m [of] it\n",
            ),
        ] {
            let mut gate = ScreenFilter {
                to: Vec::new(),
                spells: true,
                paint: Paint::Nothing,
                marking,
                folds: None,
                plain: false,
            };
            gate.write_all(text.as_bytes()).unwrap();
            assert_eq!(String::from_utf8(gate.to).unwrap(), expected);
        }
    }

    #[test]
    fn a_locale_without_signs_gets_plain_characters() {
        let mut gate = ScreenFilter {
            to: Vec::new(),
            spells: true,
            paint: Paint::Nothing,
            marking: SetOffStyle::None,
            folds: None,
            plain: true,
        };
        gate.write_all("oqsy…8fnY · block 5 · é\n".as_bytes())
            .unwrap();
        assert_eq!(
            String::from_utf8(gate.to).unwrap(),
            "oqsy...8fnY - block 5 - é\n"
        );
    }

    #[test]
    fn what_is_folded_gets_the_colours_of_its_first_lines() {
        let mut gate = ScreenFilter {
            to: Vec::new(),
            spells: true,
            paint: Paint::EachLine,
            marking: SetOffStyle::None,
            folds: Some(LineFold {
                columns: 20,
                of: folded,
            }),
            plain: false,
        };
        gate.write_all("✔ fine, as it was told ✔ of all\n".as_bytes())
            .unwrap();
        let expected = "\u{1b}[1m\u{1b}[32m✔\u{1b}[0m fine, as it was\n  told ✔ of all\n";
        assert_eq!(String::from_utf8(gate.to).unwrap(), expected);
    }

    #[test]
    fn colours_are_ours_and_never_come_from_a_text() {
        let text = "✔ fine\n    ✔ of a model\n✘ \u{1b}[32m✔\n";
        let green = |sign: &str| format!("\u{1b}[1m\u{1b}[32m{sign}\u{1b}[0m");
        let red = |sign: &str| format!("\u{1b}[1m\u{1b}[31m{sign}\u{1b}[0m");
        let spelled = "\\u001b[32m✔\n";
        for (paint, expected) in [
            (
                Paint::Nothing,
                format!("✔ fine\n    ✔ of a model\n✘ {spelled}"),
            ),
            (
                Paint::FirstLine,
                format!("{} fine\n    ✔ of a model\n✘ {spelled}", green("✔")),
            ),
            (
                Paint::EachLine,
                format!(
                    "{} fine\n    ✔ of a model\n{} {spelled}",
                    green("✔"),
                    red("✘")
                ),
            ),
        ] {
            let mut gate = ScreenFilter {
                to: Vec::new(),
                spells: true,
                paint,
                marking: SetOffStyle::None,
                folds: None,
                plain: false,
            };
            gate.write_all(text.as_bytes()).unwrap();
            assert_eq!(String::from_utf8(gate.to).unwrap(), expected);
        }
    }
}
