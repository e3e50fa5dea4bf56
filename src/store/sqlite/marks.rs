//! Where texts have the words that are looked for.
//!
//! Only SQLite's tokenizer knows which words it takes for one, so it is asked: parts of the texts
//! stand for a moment in an index in memory, which gives them back with a mark before and behind
//! each place.

use rusqlite::Connection;

use super::failed;
use super::search::any_of;
use crate::store::StoreError;
use crate::store::driver::{SearchTerm, TextSpan};

/// What stands before and behind a place: two of the characters that no text is to hold. Where one
/// does all the same, [`OTHER`] stands for it meanwhile, which has as many bytes.
const BEFORE: char = '\u{fdd0}';
const BEHIND: char = '\u{fdd1}';
const OTHER: &str = "\u{fffd}";

/// So many bytes of a text are looked at in one go; a place is looked for in the next part only
/// when this one has none.
const PART: usize = 32 * 1024;

const INDEX: &str = "CREATE VIRTUAL TABLE part USING fts5(content, tokenize = 'porter unicode61 remove_diacritics 2')";

/// What [`Driver::marks`](crate::store::driver::Driver::marks) gives.
pub(super) fn marks(
    terms: &[SearchTerm],
    texts: &[&str],
) -> Result<Vec<Vec<TextSpan>>, StoreError> {
    let mut found = vec![Vec::new(); texts.len()];
    if terms.is_empty() {
        return Ok(found);
    }
    let failed = failed("mark words");
    let index = Connection::open_in_memory().map_err(&failed)?;
    index.execute_batch(INDEX).map_err(&failed)?;
    let expression = any_of(terms);
    for (text, spans) in texts.iter().zip(&mut found) {
        let mut from = 0;
        while from < text.len() && spans.is_empty() {
            let part = part_of(text, from);
            *spans = in_part(&index, &expression, part, from).map_err(&failed)?;
            from += part.len();
        }
    }
    Ok(found)
}

/// The part of a text that begins at a byte: it ends between words where it can.
fn part_of(text: &str, from: usize) -> &str {
    let rest = text.get(from..).unwrap_or_default();
    if rest.len() <= PART {
        return rest;
    }
    let mut ends = (0..=PART.min(rest.len())).rev();
    let part = ends.find_map(|end| rest.get(..end)).unwrap_or(rest);
    let end = part.rfind(char::is_whitespace).filter(|end| *end > 0);
    end.and_then(|end| part.get(..end)).unwrap_or(part)
}

fn in_part(
    index: &Connection,
    expression: &str,
    part: &str,
    from: usize,
) -> rusqlite::Result<Vec<TextSpan>> {
    // What is given back ends at a NUL, which parts words as a blank does.
    let plain = part.replace([BEFORE, BEHIND], OTHER).replace('\0', " ");
    let put = "INSERT OR REPLACE INTO part (rowid, content) VALUES (1, ?1)";
    index.prepare_cached(put)?.execute([plain])?;
    let sql = "SELECT highlight(part, 0, ?2, ?3) FROM part WHERE part MATCH ?1";
    let mut statement = index.prepare_cached(sql)?;
    let (before, behind) = (BEFORE.to_string(), BEHIND.to_string());
    let mut rows = statement.query([expression, &before, &behind])?;
    match rows.next()? {
        Some(row) => Ok(spans(row.get_ref(0)?.as_str()?, from)),
        None => Ok(Vec::new()),
    }
}

/// The places between marks, in the bytes of the text without them.
fn spans(marked: &str, from: usize) -> Vec<TextSpan> {
    let (mut spans, mut at, mut begun) = (Vec::new(), from, None);
    for c in marked.chars() {
        match c {
            BEFORE => begun = Some(at),
            BEHIND => spans.extend(begun.take().map(|begun| begun..at)),
            c => at += c.len_utf8(),
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(text: &str, is_beginning: bool) -> SearchTerm {
        SearchTerm {
            text: text.to_owned(),
            is_beginning,
        }
    }

    fn marked(terms: &[SearchTerm], text: &str) -> Vec<String> {
        let found = marks(terms, &[text]).unwrap();
        let words = found[0].iter().map(|span| text[span.clone()].to_owned());
        words.collect()
    }

    #[test]
    fn words_are_marked_as_the_index_knows_them() {
        let text = "Les Écoles run; a runner was running the school, the SCHOOLS run on.";
        assert_eq!(marked(&[term("ecole", false)], text), ["Écoles"]);
        assert_eq!(
            marked(&[term("runs", false)], text),
            ["run", "running", "run"]
        );
        assert_eq!(marked(&[term("schoo", true)], text), ["school", "SCHOOLS"]);
        assert_eq!(
            marked(&[term("running the", false), term("absent", false)], text),
            ["running the"]
        );
        assert!(marked(&[term("++", false)], text).is_empty());
        assert!(marked(&[], text).is_empty());
    }

    #[test]
    fn a_mark_in_a_text_is_no_mark_and_a_place_far_behind_is_found() {
        let text = format!("\u{fdd0}one\u{fdd1} {} two\0three", "word ".repeat(30_000));
        for word in ["one", "two", "three"] {
            assert_eq!(marked(&[term(word, false)], &text), [word]);
        }
    }
}
