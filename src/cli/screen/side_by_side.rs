//! Several texts beside each other, each in a column of its own.

use textwrap::core::display_width;
use textwrap::{Options, WordSplitter, wrap};

use super::line_break::NARROWEST;
use super::reply_lines::without_tabs;
use crate::record::unseen::spelled;

/// A narrower column can't be read with ease.
const NARROWEST_COLUMN: usize = 24;
/// What stands between two columns.
const BETWEEN: &str = " | ";

/// Texts beside each other, in rows: what is in one row begins at the same height.
///
/// Each of `texts` is one column, with its parts for the rows. As many columns stand beside each other as have
/// room; the others follow below, evenly spread. What moves a cursor is spelled out, as it would move the columns.
pub fn side_by_side(texts: &[Vec<String>], columns: usize) -> String {
    let fit = (columns + BETWEEN.len()) / (NARROWEST_COLUMN + BETWEEN.len());
    let bands = texts.len().div_ceil(fit.max(1));
    let beside = texts.len().div_ceil(bands.max(1)).max(1);
    let width = (columns + BETWEEN.len()) / beside - BETWEEN.len();
    let width = width.max(NARROWEST);
    let bands: Vec<String> = texts.chunks(beside).map(|band| rows(band, width)).collect();
    bands.join("\n")
}

fn rows(band: &[Vec<String>], width: usize) -> String {
    let mut text = String::new();
    let parts = band.iter().map(Vec::len).max().unwrap_or_default();
    for part in 0..parts {
        let part_of = |of: &Vec<String>| of.get(part).cloned().unwrap_or_default();
        let cells: Vec<Vec<String>> = band.iter().map(|of| lines(&part_of(of), width)).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or_default();
        if height == 0 {
            continue;
        }
        if part > 0 {
            put_row(&mut text, band.iter().map(|_| ""), width);
        }
        for line in 0..height {
            let of = |cell: &'_ Vec<String>| cell.get(line).cloned().unwrap_or_default();
            let row: Vec<String> = cells.iter().map(of).collect();
            put_row(&mut text, row.iter().map(String::as_str), width);
        }
    }
    text
}

fn put_row<'t>(text: &mut String, cells: impl Iterator<Item = &'t str>, width: usize) {
    let padded = cells.map(|cell| {
        let blank = width.saturating_sub(display_width(cell));
        format!("{cell}{}", " ".repeat(blank))
    });
    let row = padded.collect::<Vec<_>>().join(BETWEEN);
    text.push_str(row.trim_end());
    text.push('\n');
}

/// A text in lines of a column; here a long word is broken, too, else it would stand in the next one.
/// What a line goes on with stands in as far as the line does.
fn lines(text: &str, width: usize) -> Vec<String> {
    let options = || Options::new(width).word_splitter(WordSplitter::NoHyphenation);
    let text = spelled(text);
    let lines = text.lines().flat_map(|line| {
        let line = without_tabs(line);
        let begins = line.len() - line.trim_start_matches(' ').len();
        let indent = " ".repeat(begins.min(width / 2));
        let lines = wrap(
            &line,
            options().break_words(true).subsequent_indent(&indent),
        );
        lines.into_iter().map(String::from).collect::<Vec<_>>()
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&[&str]]) -> Vec<Vec<String>> {
        let parts = |parts: &&[&str]| parts.iter().map(|part| (*part).to_owned()).collect();
        texts.iter().map(parts).collect()
    }

    #[test]
    fn what_a_line_goes_on_with_stands_in_as_far() {
        let text = side_by_side(
            &of(&[&["why\n  right, it proposes: a long sentence of it"]]),
            24,
        );
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            ["why", "  right, it proposes: a", "  long sentence of it"]
        );
    }

    #[test]
    fn what_is_in_one_row_begins_at_one_height() {
        let two = of(&[
            &["one, won", "Canberra is the capital of Australia.", ""],
            &["two, lost\nwith a line more", "Sydney.", "agrees"],
        ]);
        let row = |left: &str, right: &str| format!("{left:<24} | {right}").trim_end().to_owned();
        let expected = [
            row("one, won", "two, lost"),
            row("", "with a line more"),
            row("", ""),
            row("Canberra is the capital", "Sydney."),
            row("of Australia.", ""),
            row("", ""),
            row("", "agrees"),
        ];
        assert_eq!(side_by_side(&two, 51).trim_end(), expected.join("\n"));
    }

    #[test]
    fn what_has_no_room_stands_below_and_evenly() {
        let four = of(&[&["a"], &["b"], &["c"], &["d"]]);
        assert_eq!(side_by_side(&four, 30), "a\n\nb\n\nc\n\nd\n");
        // Three would have room.
        let text = side_by_side(&four, 80);
        let bands: Vec<&str> = text.split("\n\n").collect();
        assert_eq!(bands.len(), 2, "{text}");
        assert!(bands[0].starts_with('a') && bands[0].trim_end().ends_with("| b"));
        assert_eq!(side_by_side(&[], 80), "");
    }

    proptest::proptest! {
        /// No text leaves its column, and none is lost.
        #[test]
        fn no_line_is_wider_than_the_screen(texts in proptest::collection::vec("\\PC{0,90}", 1..5), columns in 24_usize..120) {
            let all: Vec<Vec<String>> = texts.iter().map(|text| vec![text.clone()]).collect();
            let shown = side_by_side(&all, columns);
            for line in shown.lines() {
                proptest::prop_assert!(display_width(line) <= columns, "{line:?}");
            }
            let letters = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).count();
            let expected: usize = texts.iter().map(|text| letters(&spelled(text))).sum();
            proptest::prop_assert_eq!(letters(&shown), expected);
        }
    }
}
