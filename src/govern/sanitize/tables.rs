//! Tables: a column that is called a password, and what stands in it in the rows below, or in the
//! values of an INSERT.
//!
//! ```text
//! user,password          | user | password |          INSERT INTO u (name, password) VALUES ('ann', '…')
//! ann,…                  |------|----------|
//!                        | ann  | …        |
//! ```

use super::assignments::{accepts, parts};
use super::cue_words::{CueWord, is_a_kind_of_name};
use super::rules::window::{boundary, boundary_before};
use super::separator::{AssignedValue, Separator};
use super::text::work;

/// Most bytes that a row may have.
const MAX_ROW: usize = 1024;
/// Most rows that are read.
const MAX_ROWS: usize = 256;
/// Most columns of one head that are looked at.
const MAX_COLUMNS: usize = 4;
/// Longest name of a column.
const MAX_NAME: usize = 32;

/// The head that was read last, and how many of its columns were looked at.
#[derive(Default)]
pub struct Heads {
    start: usize,
    columns: usize,
}

/// A cell without its blanks and quotes: where it begins, and what it says.
#[derive(Clone, Copy)]
struct Cell<'a> {
    start: usize,
    text: &'a str,
}

/// The values of the column that the word calls; none when it stands in no head of a table.
pub fn look(text: &str, word: CueWord, heads: &mut Heads) -> Option<Vec<(usize, usize)>> {
    let bytes = text.as_bytes();
    let skip =
        |b: &&u8| is_name_byte(**b) || matches!(**b, b'"' | b'\'' | b'`' | b'*' | b'[' | b']');
    let left = bytes[..word.start]
        .iter()
        .rev()
        .take(MAX_NAME)
        .take_while(skip)
        .count();
    let right = bytes[word.end..]
        .iter()
        .take(MAX_NAME)
        .take_while(skip)
        .count();
    let before = bytes[..word.start - left]
        .iter()
        .rev()
        .find(|b| **b != b' ');
    let after = bytes[word.end + right..].iter().find(|b| **b != b' ');
    let separator = [before, after]
        .into_iter()
        .flatten()
        .find(|b| matches!(b, b',' | b';' | b'|' | b'\t'))
        .copied()?;
    let from = boundary_before(text, word.start.saturating_sub(MAX_ROW));
    let to = boundary(text, bytes.len().min(word.end + MAX_ROW));
    // A line that is longer is no row of a table.
    let start = match text.get(from..word.start)?.rfind('\n') {
        Some(at) => from + at + 1,
        None if from == 0 => 0,
        None => return None,
    };
    let end = text
        .get(word.end..to)?
        .find('\n')
        .map_or(to, |at| word.end + at);
    work::count(end - start);
    if heads.start != start || heads.columns == 0 {
        *heads = Heads { start, columns: 0 };
    }
    heads.columns += 1;
    if heads.columns > MAX_COLUMNS {
        return None;
    }
    if let Some(found) = inserted(text, (start, end), word) {
        return Some(found);
    }
    let head = cells(text, start, end, separator);
    let column = head
        .iter()
        .position(|cell| (cell.start..=cell.start + cell.text.len()).contains(&word.start))?;
    if head.len() < 2
        || !head.iter().all(|cell| is_name(cell.text))
        || is_about(head.get(column)?.text)
    {
        return None;
    }
    below(text, start, end, &head, column, separator)
        .map(|rows| kept(&rows, head[column].text, word))
}

/// The cells of a column in the lines after a head, if it is one.
fn below<'a>(
    text: &'a str,
    start: usize,
    end: usize,
    head: &[Cell<'_>],
    column: usize,
    separator: u8,
) -> Option<Vec<Cell<'a>>> {
    let width = head.len();
    let previous = text.get(..start)?.strip_suffix('\n').unwrap_or_default();
    let previous = previous.get(boundary(previous, previous.len().saturating_sub(MAX_ROW))..)?;
    let previous = previous.rsplit('\n').next().unwrap_or_default();
    // A row among others is no head.
    let first =
        previous.trim().is_empty() || cells(previous, 0, previous.len(), separator).len() != width;
    let (mut rows, mut at, mut ruled) = (Vec::new(), end + 1, false);
    for nth in 0..MAX_ROWS {
        let rest = text.get(at..).unwrap_or_default();
        let limit = boundary(rest, rest.len().min(MAX_ROW));
        let line = rest.get(..limit)?.split('\n').next().unwrap_or_default();
        work::count(line.len());
        let row = cells(text, at, at + line.len(), separator);
        if row.len() != width {
            break;
        }
        let rule = line
            .bytes()
            .all(|b| matches!(b, b'-' | b'|' | b':' | b' ' | b'\r' | b'+'));
        if nth == 0 && rule {
            ruled = true;
        } else {
            rows.push(row[column]);
        }
        at += line.len() + 1;
    }
    let is_head = if separator == b'|' { ruled } else { first };
    (is_head && !rows.is_empty()).then_some(rows)
}

/// `(name, password) VALUES ('ann', '…'), (…)`: the values under the word.
fn inserted(
    text: &str,
    (start, end): (usize, usize),
    word: CueWord,
) -> Option<Vec<(usize, usize)>> {
    let open = text
        .get(start..word.start)?
        .rfind('(')
        .map(|at| start + at + 1)?;
    let close = text.get(word.end..end)?.find(')').map(|at| word.end + at)?;
    let rest = text.get(close + 1..boundary(text, text.len().min(close + 1 + MAX_ROW)))?;
    let values = rest.trim_start();
    if !values.get(..6)?.eq_ignore_ascii_case("values") {
        return None;
    }
    work::count(rest.len());
    let head = cells(text, open, close, b',');
    let column = head
        .iter()
        .position(|cell| (cell.start..=cell.start + cell.text.len()).contains(&word.start))?;
    let name = head
        .get(column)
        .filter(|cell| is_name(cell.text) && !is_about(cell.text))?
        .text;
    let (mut rows, mut at) = (Vec::new(), close + 1 + rest.len() - values.len() + 6);
    let limit = close + 1 + rest.len();
    while let Some(open) = text.get(at..limit).and_then(|rest| rest.find('(')) {
        let row = cells(text, at + open + 1, limit, b',');
        let Some(last) = row.get(head.len() - 1) else {
            break;
        };
        rows.push(row[column]);
        at = last.start + last.text.len();
    }
    Some(kept(&rows, name, word))
}

fn kept(rows: &[Cell<'_>], name: &str, word: CueWord) -> Vec<(usize, usize)> {
    let fits = |cell: &&Cell<'_>| {
        let value = AssignedValue {
            start: cell.start,
            text: cell.text,
            quoted: false,
            next: None,
            last: true,
        };
        !cell.text.is_empty() && accepts(word.class, name, Separator::Colon, &value.head())
    };
    rows.iter()
        .filter(fits)
        .map(|cell| (cell.start, cell.start + cell.text.len()))
        .collect()
}

fn is_name_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.')
}

/// Whether a cell may be the name of a column: a word or three, without a digit.
fn is_name(text: &str) -> bool {
    (1..=MAX_NAME).contains(&text.len())
        && text.split(' ').count() <= 3
        && text
            .chars()
            .all(|c| c.is_alphabetic() || matches!(c, '_' | '-' | '.' | ' '))
}

fn is_about(name: &str) -> bool {
    parts(name).any(is_a_kind_of_name)
}

/// The cells of a row, without blanks and quotes around them; what stands between quotes is one.
fn cells(text: &str, start: usize, end: usize, separator: u8) -> Vec<Cell<'_>> {
    let bytes = text.as_bytes();
    let (mut found, mut from, mut at, mut quote) = (Vec::new(), start, start, None);
    while at <= end.min(bytes.len()) {
        let b = bytes.get(at).copied().filter(|_| at < end);
        let ends = b.is_none() || (quote.is_none() && (b == Some(separator) || b == Some(b')')));
        if ends {
            found.extend(cell(text, from, at));
            from = at + 1;
            if b != Some(separator) {
                break;
            }
        }
        match (quote, b) {
            (Some(open), Some(b)) if b == open => quote = None,
            (None, Some(b @ (b'"' | b'\'')))
                if text
                    .get(from..at)
                    .is_some_and(|cell| cell.trim().is_empty()) =>
            {
                quote = Some(b);
            }
            _ => {}
        }
        at += 1;
    }
    if separator == b'|' {
        // Lines begin and end with the sign.
        let empty = |cell: Option<&Cell<'_>>| cell.is_some_and(|cell| cell.text.is_empty());
        if empty(found.first()) {
            found.remove(0);
        }
        if empty(found.last()) {
            found.pop();
        }
    }
    found
}

fn cell(text: &str, from: usize, to: usize) -> Option<Cell<'_>> {
    let edges: &[char] = &[' ', '\t', '\r', '"', '\'', '`', '*', '[', ']'];
    let opened = text.get(from..to)?.trim_start_matches(edges);
    Some(Cell {
        start: to - opened.len(),
        text: opened.trim_end_matches(edges),
    })
}

#[cfg(test)]
mod tests {
    use crate::govern::sanitize::redact;

    #[test]
    fn what_stands_under_a_password_goes() {
        for text in [
            "user,password\nann,K\nbob,K\n",
            "id;user;password;mail\r\n1;ann;K;a@example.org\r\n2;bob;K;b@example.org\r\n",
            "user\tpassword\nann\tK",
            "\"user\",\"password\"\n\"ann\",\"K\"\n",
            "| user | password | role |\n|---|---|---|\n| ann | K | admin |\n| bob | `K` | guest |\n",
            "INSERT INTO users (name, password) VALUES ('ann', 'K');",
            "insert into u (`password`, name) values ('K', 'ann (a, b)'), ('K', 'bob');",
        ] {
            let secret = ["sw0rd", "f1sh", "Kq"].concat();
            let clean = redact(&text.replace('K', &secret))
                .clean
                .as_str()
                .to_owned();
            assert_eq!(clean, text.replace('K', "[redacted:password]"), "{text}");
        }
    }

    #[test]
    fn what_is_no_table_stays() {
        for text in [
            "| user | password | role |\n|---|---|---|\n| ann | | admin |\n",
            "username, password, email\n",
            "name,password_hash,age\nann,none,7\n",
            "the user, password and role\nare, in this order, needed",
            "def login(user, password):\n    check(user, other)\n",
            "INSERT INTO u (name, password) VALUES (?, ?)",
            "INSERT INTO u (name, password) VALUES (:name, :password)",
            "a password, or two\nb c, d e",
        ] {
            assert_eq!(redact(text).clean.as_str(), text);
        }
    }
}
