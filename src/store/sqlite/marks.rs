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

/// One that knows words as the indexes do, and one that knows them as they are written, for
/// beginnings of words.
const INDEXES: &str = "
    CREATE VIRTUAL TABLE part USING fts5(content, tokenize = 'porter unicode61 remove_diacritics 2');
    CREATE VIRTUAL TABLE written USING fts5(content, tokenize = 'unicode61 remove_diacritics 2')";

/// One question to one of the two.
struct MarkQuery {
    table: &'static str,
    expression: String,
}

impl MarkQuery {
    /// What is asked of a text, and, where that finds nothing, what is asked then.
    fn all(terms: &[SearchTerm]) -> [Vec<MarkQuery>; 2] {
        let of = |is_beginning: bool| -> Vec<SearchTerm> {
            let terms = terms
                .iter()
                .filter(|term| term.is_beginning == is_beginning);
            terms.cloned().collect()
        };
        let query = |table, terms: Vec<SearchTerm>| {
            let expression = any_of(&terms);
            (!terms.is_empty()).then_some(MarkQuery { table, expression })
        };
        // Of words that follow one another all but the last may be there in other forms.
        let last = |term: SearchTerm| {
            let is_part = |c: char| !c.is_alphanumeric();
            let word = term.text.rsplit(is_part).next().unwrap_or_default();
            SearchTerm {
                text: word.to_owned(),
                ..term
            }
        };
        let first = [query("part", of(false)), query("written", of(true))];
        let then = query("written", of(true).into_iter().map(last).collect());
        [
            first.into_iter().flatten().collect(),
            then.into_iter().collect(),
        ]
    }
}

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
    index.execute_batch(INDEXES).map_err(&failed)?;
    let rounds = MarkQuery::all(terms);
    for (text, spans) in texts.iter().zip(&mut found) {
        for queries in &rounds {
            let mut from = 0;
            while from < text.len() && spans.is_empty() {
                let part = part_of(text, from);
                *spans = in_part(&index, queries, part, from).map_err(&failed)?;
                from += part.len();
            }
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
    queries: &[MarkQuery],
    part: &str,
    from: usize,
) -> rusqlite::Result<Vec<TextSpan>> {
    // What is given back ends at a NUL, which parts words as a blank does.
    let plain = part.replace([BEFORE, BEHIND], OTHER).replace('\0', " ");
    let (before, behind) = (BEFORE.to_string(), BEHIND.to_string());
    let mut found = Vec::new();
    for MarkQuery { table, expression } in queries {
        let put = format!("INSERT OR REPLACE INTO {table} (rowid, content) VALUES (1, ?1)");
        index.prepare_cached(&put)?.execute([&plain])?;
        let sql =
            format!("SELECT highlight({table}, 0, ?2, ?3) FROM {table} WHERE {table} MATCH ?1");
        let mut statement = index.prepare_cached(&sql)?;
        let mut rows = statement.query([expression, &before, &behind])?;
        if let Some(row) = rows.next()? {
            found.extend(spans(row.get_ref(0)?.as_str()?, from));
        }
    }
    Ok(joined(found))
}

/// Places in their order, those in one that overlap.
fn joined(mut places: Vec<TextSpan>) -> Vec<TextSpan> {
    places.sort_by_key(|place| (place.start, place.end));
    let mut joined: Vec<TextSpan> = Vec::new();
    for place in places {
        match joined.last_mut() {
            Some(last) if place.start < last.end => last.end = last.end.max(place.end),
            _ => joined.push(place),
        }
    }
    joined
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
        assert_eq!(marked(&[term("runn", true)], text), ["runner", "running"]);
        assert_eq!(
            marked(&[term("écol", true), term("ecole", false)], text),
            ["Écoles"]
        );
        assert_eq!(marked(&[term("schools run", true)], text), ["SCHOOLS run"]);
        assert_eq!(
            marked(&[term("school runn", true)], text),
            ["runner", "running"]
        );
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
