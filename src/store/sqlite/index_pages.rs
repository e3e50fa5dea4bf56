//! Whether a search comes to the page of an index that its word stands on.
//!
//! FTS5 keeps the words of a segment in order, on pages, and in a table beside them it keeps the beginning of a
//! word for each page on which words begin: greater than the last word of the page before, and not greater than
//! the first word on it. A search goes to the page of the greatest beginning that is not greater than its word,
//! and to no other; so does what takes a word out. FTS5's own check compares a beginning with the first word of
//! its page alone. A beginning that is missing, or lower than it was, hides words and passes that check.

use std::collections::HashMap;

use rusqlite::types::ValueRef;

use super::Sqlite;
use super::index_faults::{number, numbers};
use super::search::{Fts, index_failed};
use crate::store::StoreError;

/// A segment, and the number of a page in it.
type Place = (i64, i64);

/// The first word that begins on a page, and the last.
struct PageWords {
    first: Vec<u8>,
    last: Vec<u8>,
}

/// Where the reading of a segment's pages is.
#[derive(Default)]
struct Segment {
    id: i64,
    first_page: i64,
    /// Of the pages that were read; none before the first word.
    first_word: Option<Vec<u8>>,
    last_word: Option<Vec<u8>>,
}

impl Sqlite {
    /// Whether a search goes by a page that its word stands on, in some segment of the index. Reads each page once,
    /// and holds the beginnings in memory, about one in 4,000 bytes of the index.
    pub(super) fn has_lost_pages(&self, fts: &Fts) -> Result<bool, StoreError> {
        self.goes_by_pages(fts.table)
            .map_err(index_failed("compare the pages of a search index"))
    }

    fn goes_by_pages(&self, table: &str) -> rusqlite::Result<bool> {
        let Some(mut beginnings) = self.beginnings_of_pages(table)? else {
            return Ok(true);
        };
        let sql = format!(
            "SELECT id >> 37, id & 2147483647, block FROM main.{table}_data
              WHERE id >> 37 > 0 AND (id >> 31) & 63 = 0 ORDER BY id"
        );
        let mut statement = self.connection().prepare(&sql)?;
        let mut rows = statement.query([])?;
        let mut segment = Segment::default();
        while let Some(row) = rows.next()? {
            let place: Place = (row.get(0)?, row.get(1)?);
            let block = row.get_ref(2)?;
            let Some(words) = block.as_blob().ok().and_then(words_of_page) else {
                return Ok(true);
            };
            if segment.id != place.0 {
                if !segment.ends_well(&mut beginnings) {
                    return Ok(true);
                }
                segment = Segment {
                    id: place.0,
                    first_page: place.1,
                    ..Segment::default()
                };
            }
            let of_page = beginnings.remove(&place).unwrap_or_default();
            if !segment.is_found(place.1, words, &of_page) {
                return Ok(true);
            }
        }
        // Whatever is left is of pages that are not there.
        Ok(!segment.ends_well(&mut beginnings) || !beginnings.is_empty())
    }

    /// The beginnings by which pages are found; none where one is no bytes, as such a one sorts otherwise.
    fn beginnings_of_pages(
        &self,
        table: &str,
    ) -> rusqlite::Result<Option<HashMap<Place, Vec<Vec<u8>>>>> {
        let sql = format!("SELECT segid, pgno >> 1, term FROM main.{table}_idx");
        let mut statement = self.connection().prepare(&sql)?;
        let mut rows = statement.query([])?;
        let mut found: HashMap<Place, Vec<Vec<u8>>> = HashMap::new();
        while let Some(row) = rows.next()? {
            let place = (row.get(0)?, row.get(1)?);
            let ValueRef::Blob(beginning) = row.get_ref(2)? else {
                return Ok(None);
            };
            found.entry(place).or_default().push(beginning.to_vec());
        }
        Ok(Some(found))
    }
}

impl Segment {
    /// Whether the next page is come to by all of its words, and by no others.
    fn is_found(&mut self, page: i64, words: Option<PageWords>, beginnings: &[Vec<u8>]) -> bool {
        // A search that finds no beginning starts at the first page.
        let is_first = page == self.first_page;
        let Some(words) = words else {
            // The first page keeps its entry when its words are taken out.
            return beginnings
                .iter()
                .all(|beginning| is_first && beginning.is_empty());
        };
        let fits = |beginning: &Vec<u8>| {
            let is_behind = self
                .last_word
                .as_ref()
                .is_none_or(|before| before < beginning);
            is_behind && *beginning <= words.first
        };
        let is_found = (is_first || !beginnings.is_empty()) && beginnings.iter().all(fits);
        self.first_word.get_or_insert(words.first);
        self.last_word = Some(words.last);
        is_found
    }

    /// Whether what is left of its beginnings is of pages before the first alone, which were merged into another
    /// segment: their words are before all others.
    fn ends_well(&self, beginnings: &mut HashMap<Place, Vec<Vec<u8>>>) -> bool {
        let mut is_well = true;
        beginnings.retain(|(segment, page), of_page| {
            if *segment != self.id {
                return true;
            }
            let is_before = |beginning: &Vec<u8>| {
                let first = self.first_word.as_ref();
                first.is_none_or(|first| beginning <= first)
            };
            is_well &= *page < self.first_page && of_page.iter().all(is_before);
            false
        });
        is_well
    }
}

/// The words that begin on a page; none in the inner one where there are none, and in the outer one where it is
/// no page as FTS5 writes them.
///
/// Bytes 2 and 3 say where its words end. Behind that stands where each begins: the first counted from the
/// beginning of the page, each other one from that before. A word is its length and its bytes; behind the first,
/// how many bytes it has from that before stands in front of the length.
#[expect(clippy::option_option, reason = "a page without words is a page")]
fn words_of_page(block: &[u8]) -> Option<Option<PageWords>> {
    let end = block.get(2..4)?;
    let end = usize::from(end[0]) << 8 | usize::from(end[1]);
    let mut at = 0_usize;
    let mut first: Option<Vec<u8>> = None;
    let mut word: Vec<u8> = Vec::new();
    for step in numbers(block.get(end..)?)? {
        at = at.checked_add(usize::try_from(step).ok()?)?;
        let mut rest = block.get(at..end)?;
        let mut take = || usize::try_from(number(&mut rest)?).ok();
        let kept = if first.is_some() { take()? } else { 0 };
        let length = take()?;
        if kept > word.len() {
            return None;
        }
        word.truncate(kept);
        word.extend_from_slice(rest.get(..length)?);
        first.get_or_insert_with(|| word.clone());
    }
    Some(first.map(|first| PageWords { first, last: word }))
}

#[cfg(test)]
mod tests {
    use super::super::search::fts;
    use super::*;
    use crate::store::driver::SearchIndex;

    /// A home's database in which a transaction is open.
    fn begun(home: &std::path::Path) -> Sqlite {
        let made = Sqlite::create(&home.join("gently.db")).unwrap();
        made.batch("begin", "PRAGMA foreign_keys = OFF; BEGIN")
            .unwrap();
        made
    }

    /// Turns of forty words each, some of which are in many; in one transaction for each portion.
    fn put(made: &Sqlite, turns: std::ops::Range<u64>, portion: u64) {
        for n in turns.clone() {
            let words: String = (0..40)
                .map(|i| format!("word{}x{i} ", n * 7919 % 397))
                .collect();
            let sql = "INSERT INTO chat_turn (turn_id, session_id, created_at, speaker, content, authority_state, line, n)
                       VALUES (?1, 's', 1, 'user', ?2, 'ok', ?1, ?1)";
            let row = (n.to_string(), words);
            made.connection().execute(sql, row).unwrap();
            if (n + 1 - turns.start).is_multiple_of(portion) {
                made.add_words(SearchIndex::Turns, (turns.start, n))
                    .unwrap();
                made.batch("next", "COMMIT; BEGIN").unwrap();
            }
        }
        made.add_words(SearchIndex::Turns, (turns.start, turns.end))
            .unwrap();
    }

    fn is_lost(made: &Sqlite) -> bool {
        made.has_lost_pages(fts(SearchIndex::Turns)).unwrap()
    }

    fn finds(made: &Sqlite, word: &str) -> u64 {
        made.count_word(SearchIndex::Turns, word, 1000).unwrap()
    }

    #[test]
    fn pages_that_a_search_goes_by_are_found() {
        let home = tempfile::tempdir().unwrap();
        let made = begun(home.path());
        put(&made, 1..400, 1000);
        // Words that are taken out leave pages behind, and beginnings of those that still have some.
        made.remove_words(SearchIndex::Turns, (50, 300)).unwrap();
        assert!(!is_lost(&made));
        let last = "(SELECT segid, pgno FROM turn_fts_idx ORDER BY pgno DESC LIMIT 1)";
        let middle = "(SELECT segid, pgno FROM turn_fts_idx ORDER BY pgno LIMIT 1 OFFSET 9)";
        for sql in [
            "DELETE FROM turn_fts_idx".to_owned(),
            format!("DELETE FROM turn_fts_idx WHERE (segid, pgno) = {last}"),
            // Lower, and higher than it was.
            format!("UPDATE turn_fts_idx SET term = x'3030' WHERE (segid, pgno) = {last}"),
            format!("UPDATE turn_fts_idx SET term = x'3061' WHERE (segid, pgno) = {middle}"),
            format!("UPDATE turn_fts_idx SET term = x'39' WHERE (segid, pgno) = {middle}"),
            format!(
                "UPDATE turn_fts_idx SET term = CAST(term AS TEXT) WHERE (segid, pgno) = {middle}"
            ),
            // One more, of a page that is there, of one that was merged, and of none.
            format!(
                "INSERT INTO turn_fts_idx SELECT segid, x'3041', pgno FROM turn_fts_idx WHERE (segid, pgno) = {last}"
            ),
            "INSERT INTO turn_fts_idx SELECT max(segid), x'3277', 0 FROM turn_fts_idx".to_owned(),
            "INSERT INTO turn_fts_idx SELECT max(segid), x'3277', 1 << 20 FROM turn_fts_idx"
                .to_owned(),
            "INSERT INTO turn_fts_idx SELECT max(segid) + 1, x'3277', 2 FROM turn_fts_idx"
                .to_owned(),
        ] {
            made.batch("alter", &format!("SAVEPOINT here; {sql}"))
                .unwrap();
            assert!(is_lost(&made), "{sql}");
            assert!(!made.compare_words(SearchIndex::Turns).unwrap(), "{sql}");
            made.batch("undo", "ROLLBACK TO here; RELEASE here")
                .unwrap();
            assert!(!is_lost(&made), "{sql}");
        }
        made.batch("alter", "DELETE FROM turn_fts_idx").unwrap();
        made.rebuild_words(SearchIndex::Turns).unwrap();
        assert!(!is_lost(&made));
    }

    /// What FTS5 does by itself, merging a part of a segment at a time and taking words out, loses no page.
    #[test]
    fn an_index_that_nobody_altered_has_no_such_page() {
        let home = tempfile::tempdir().unwrap();
        let made = begun(home.path());
        for (round, portion) in (0..20).zip([1, 7, 3, 20].into_iter().cycle()) {
            let begin = 1 + round * 40;
            put(&made, begin..begin + 40, portion);
            assert!(!is_lost(&made), "{round}");
            let gone = (begin + 5, begin + 5 + round % 30);
            made.remove_words(SearchIndex::Turns, gone).unwrap();
            assert!(!is_lost(&made), "{round}");
            let merge = "INSERT INTO turn_fts (turn_fts, rank) VALUES ('merge', 3)";
            made.batch("merge", merge).unwrap();
            assert!(!is_lost(&made), "{round}");
        }
        made.rewrite_words(SearchIndex::Turns).unwrap();
        assert!(!is_lost(&made));
    }

    /// Where words are to go from a page that nothing comes to, the index is made again from its texts.
    #[test]
    fn words_that_could_not_be_taken_out_go_when_the_index_is_written_anew() {
        for sql in [
            "DELETE FROM turn_fts_idx WHERE term > x''",
            "UPDATE turn_fts_idx SET term = x'3031' || substr(term, 3) WHERE term > x'' AND pgno IN (
                SELECT max(pgno) FROM turn_fts_idx)",
        ] {
            let home = tempfile::tempdir().unwrap();
            let made = begun(home.path());
            put(&made, 1..400, 1000);
            // Opened anew, as FTS5 remembers what it wrote itself.
            made.batch("commit", &format!("COMMIT; {sql}")).unwrap();
            let made = Sqlite::open(&home.path().join("gently.db")).unwrap();
            made.batch("begin", "BEGIN").unwrap();
            made.remove_words(SearchIndex::Turns, (1, 399)).unwrap();
            made.batch("erase", "UPDATE chat_turn SET content = NULL")
                .unwrap();
            made.rewrite_words(SearchIndex::Turns).unwrap();
            made.batch("commit", "COMMIT").unwrap();
            let left = "SELECT ifnull(sum(instr(block, CAST('word' AS BLOB)) > 0), 0) FROM turn_fts_data";
            let left: u64 = made
                .connection()
                .query_row(left, [], |row| row.get::<_, u32>(0))
                .map(u64::from)
                .unwrap();
            assert_eq!((left, finds(&made, "word1x1")), (0, 0), "{sql}");
        }
    }
}
