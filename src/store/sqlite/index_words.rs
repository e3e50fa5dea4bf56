//! Whether the entries of a search index have the words of their texts, without a lock.
//!
//! FTS5's own check of that is a statement that writes, so only who may write can ask for it. Here
//! SQLite reads out which word stands where in the index, and puts the texts, some at a time, into
//! an index in memory that knows words in the same way; of both a sum is kept for each text:
//!
//! ```text
//! sum of a text = Σ hash(word, column, place)      mod 2^64, hashed under a key of this process
//! ```
//!
//! Beginnings of words stand in a part of the index that can't be read out, only asked. Each is asked
//! for as a search asks for it, and has to give the texts that have a word which begins so. Who would
//! put a beginning there that no word has would not be found here, and would find nothing by it, as each
//! hit is held against its text.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};

use rusqlite::{Connection, Row};

use super::beginnings::asked_for;
use super::search::{Fts, index_failed, quoted};
use super::{Sqlite, failed};
use crate::store::StoreError;

/// What is being done, for an error.
const COMPARING: &str = "compare the words of a search index";
/// So many texts stand in memory at once, with their words.
const BATCH: u32 = 200;
/// Both stand in memory: a connection keeps there what is its own.
const AGAIN: &str = "temp.words_again";

/// The sums of an index, by the number of each text.
#[derive(Default)]
struct WordSums {
    of_text: HashMap<i64, u64>,
}

/// The texts that have a word with a certain beginning: how many, and the sum of their hashes.
#[derive(Clone, Copy, Default, PartialEq)]
struct TextSet {
    count: u64,
    sum: u64,
}

/// One beginning, while its words are read one after the other.
struct OneBeginning {
    length: usize,
    text: String,
    seen: HashSet<i64>,
}

/// Sums and beginnings while an index is read out; words come in their order.
struct WordReader<'h> {
    hasher: &'h RandomState,
    sums: WordSums,
    word: Vec<u8>,
    open: Vec<OneBeginning>,
    beginnings: BTreeMap<String, TextSet>,
}

impl<'h> WordReader<'h> {
    fn new(hasher: &'h RandomState, lengths: &[usize]) -> WordReader<'h> {
        let open = lengths.iter().map(|&length| OneBeginning {
            length,
            text: String::new(),
            seen: HashSet::new(),
        });
        WordReader {
            hasher,
            sums: WordSums::default(),
            word: Vec::new(),
            open: open.collect(),
            beginnings: BTreeMap::new(),
        }
    }

    /// Takes all that a vocabulary gives: word, number of the text, column, place.
    fn read(&mut self, connection: &Connection, vocabulary: &str) -> rusqlite::Result<()> {
        let sql = format!("SELECT term, doc, col, offset FROM {vocabulary}");
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            self.take(row)?;
        }
        Ok(())
    }

    fn take(&mut self, row: &Row<'_>) -> rusqlite::Result<()> {
        let word = row.get_ref(0)?.as_bytes()?;
        let (number, place): (i64, i64) = (row.get(1)?, row.get(3)?);
        let column = row.get_ref(2)?.as_bytes()?;
        if word != self.word {
            self.word.clear();
            self.word.extend_from_slice(word);
            self.next_beginnings();
        }
        let hash = self.hasher.hash_one((word, column, place));
        let sum = self.sums.of_text.entry(number).or_default();
        *sum = sum.wrapping_add(hash);
        for beginning in &mut self.open {
            if !beginning.text.is_empty() && beginning.seen.insert(number) {
                let texts = self.beginnings.entry(beginning.text.clone()).or_default();
                texts.add(self.hasher, number);
            }
        }
        Ok(())
    }

    /// A word that begins otherwise than the one before it ends what was open.
    fn next_beginnings(&mut self) {
        let word = String::from_utf8_lossy(&self.word);
        for beginning in &mut self.open {
            let is_long = word.chars().nth(beginning.length - 1).is_some();
            let text = match is_long {
                true => word.chars().take(beginning.length).collect(),
                false => String::new(),
            };
            if text != beginning.text {
                beginning.text = text;
                beginning.seen.clear();
            }
        }
    }
}

impl TextSet {
    fn add(&mut self, hasher: &RandomState, number: i64) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(hasher.hash_one(number));
    }
}

impl Sqlite {
    /// Entries that have other words than their texts, and words that belong to no entry: up to `most`, in
    /// words. Texts without an entry and entries without a text are not among them.
    pub(super) fn other_words(&self, fts: &Fts, most: u32) -> Result<Vec<String>, StoreError> {
        let hasher = RandomState::new();
        let connection = self.connection();
        let mut reader = WordReader::new(&hasher, fts.beginnings);
        let vocabulary =
            Vocabulary::of(connection, &format!("main, {}", fts.table), "words_there")?;
        reader
            .read(connection, vocabulary.name)
            .map_err(index_failed(COMPARING))?;
        drop(vocabulary);
        let WordReader {
            sums: mut there,
            beginnings,
            ..
        } = reader;
        let (of, numbers) = fts.names;
        let mut faults = Vec::new();
        let named = usize::try_from(most).unwrap_or(usize::MAX);
        self.each_batch_of_sums(fts, &hasher, &mut |number, sum| {
            if there.of_text.remove(&number).unwrap_or_default() != sum && faults.len() < named {
                faults.push(format!(
                    "the search index of {of} has other words than the text of {numbers} {number}"
                ));
            }
        })?;
        let mut left: Vec<i64> = there.of_text.into_keys().collect();
        left.sort_unstable();
        for number in left {
            if faults.len() < named && !self.has_entry(fts, number)? {
                faults.push(format!(
                    "the search index of {of} has words without an entry, for {numbers} {number}"
                ));
            }
        }
        let others = self.other_beginnings(fts, &hasher, &beginnings)?;
        if others > 0 {
            faults.push(format!(
                "the search index of {of} finds other texts by how words begin than have such words ({others} of {} \
                 beginnings)",
                beginnings.len()
            ));
        }
        faults.truncate(named);
        Ok(faults)
    }

    /// Gives the sum of each text that has an entry, whether or not it has words.
    fn each_batch_of_sums(
        &self,
        fts: &Fts,
        hasher: &RandomState,
        each: &mut dyn FnMut(i64, u64),
    ) -> Result<(), StoreError> {
        let connection = self.connection();
        let failed = failed(COMPARING);
        let Fts {
            table,
            texts,
            number,
            columns,
            ..
        } = fts;
        let made = format!(
            "DROP TABLE IF EXISTS {AGAIN};
             CREATE VIRTUAL TABLE {AGAIN} USING fts5({columns}, content = '', \
                tokenize = 'porter unicode61 remove_diacritics 2')"
        );
        connection.execute_batch(&made).map_err(&failed)?;
        let vocabulary = Vocabulary::of(connection, "temp, words_again", "words_of_texts")?;
        let put = format!(
            "INSERT INTO {AGAIN} (rowid, {columns})
             SELECT {number}, {columns} FROM {texts}
              WHERE {number} > ?1 AND EXISTS (SELECT 1 FROM main.{table}_docsize WHERE id = {number})
              ORDER BY {number} LIMIT {BATCH}"
        );
        let mut put = connection.prepare(&put).map_err(index_failed(COMPARING))?;
        let numbers = format!("SELECT id FROM {AGAIN}_docsize ORDER BY id");
        let mut last = i64::MIN;
        loop {
            let added = put.execute([last]).map_err(index_failed(COMPARING))?;
            if added == 0 {
                break;
            }
            let mut reader = WordReader::new(hasher, &[]);
            reader.read(connection, vocabulary.name).map_err(&failed)?;
            let mut statement = connection.prepare_cached(&numbers).map_err(&failed)?;
            let mut rows = statement.query([]).map_err(&failed)?;
            while let Some(row) = rows.next().map_err(&failed)? {
                last = row.get(0).map_err(&failed)?;
                each(
                    last,
                    reader.sums.of_text.get(&last).copied().unwrap_or_default(),
                );
            }
            drop(rows);
            let emptied = format!("INSERT INTO {AGAIN} (words_again) VALUES ('delete-all')");
            connection.execute_batch(&emptied).map_err(&failed)?;
        }
        drop((put, vocabulary));
        let gone = format!("DROP TABLE {AGAIN}");
        connection.execute_batch(&gone).map_err(&failed)
    }

    fn has_entry(&self, fts: &Fts, number: i64) -> Result<bool, StoreError> {
        let sql = format!(
            "SELECT EXISTS (SELECT 1 FROM {}_docsize WHERE id = ?1)",
            fts.table
        );
        self.connection()
            .prepare_cached(&sql)
            .and_then(|mut statement| statement.query_row([number], |row| row.get(0)))
            .map_err(index_failed(COMPARING))
    }

    /// How many beginnings of words give other texts than those that have such a word.
    fn other_beginnings(
        &self,
        fts: &Fts,
        hasher: &RandomState,
        beginnings: &BTreeMap<String, TextSet>,
    ) -> Result<u64, StoreError> {
        let failed = index_failed(COMPARING);
        let list: Vec<&str> = beginnings.keys().map(String::as_str).collect();
        let sql = format!("SELECT rowid FROM {0} WHERE {0} MATCH ?1", fts.table);
        let mut statement = self.connection().prepare(&sql).map_err(&failed)?;
        let mut others = 0;
        for (beginning, asked) in list.iter().zip(asked_for(&list)?) {
            let Some(asked) = asked else { continue };
            let mut found = TextSet::default();
            let mut rows = statement
                .query([format!("{}*", quoted(&asked))])
                .map_err(&failed)?;
            while let Some(row) = rows.next().map_err(&failed)? {
                found.add(hasher, row.get(0).map_err(&failed)?);
            }
            others += u64::from(beginnings.get(*beginning) != Some(&found));
        }
        Ok(others)
    }
}

/// A table of the words of an index, which goes with this.
struct Vocabulary<'c> {
    connection: &'c Connection,
    name: &'static str,
}

impl<'c> Vocabulary<'c> {
    fn of(
        connection: &'c Connection,
        index: &str,
        name: &'static str,
    ) -> Result<Vocabulary<'c>, StoreError> {
        let made = format!(
            "DROP TABLE IF EXISTS temp.{name};
             CREATE VIRTUAL TABLE temp.{name} USING fts5vocab({index}, 'instance')"
        );
        connection.execute_batch(&made).map_err(failed(COMPARING))?;
        Ok(Vocabulary { connection, name })
    }
}

impl Drop for Vocabulary<'_> {
    fn drop(&mut self) {
        // It is the connection's own; the next one of the name takes its place.
        let _ = self
            .connection
            .execute_batch(&format!("DROP TABLE temp.{}", self.name));
    }
}

#[cfg(test)]
mod tests {
    use super::super::search::fts;
    use super::*;
    use crate::store::driver::SearchIndex;

    /// A home's database with these texts as turns, from number 1, all in the index.
    fn indexed(home: &std::path::Path, texts: &[&str]) -> Sqlite {
        let made = Sqlite::create(&home.join("gently.db")).unwrap();
        made.batch("begin", "PRAGMA foreign_keys = OFF; BEGIN")
            .unwrap();
        for (n, text) in (1_u32..).zip(texts) {
            let sql = "INSERT INTO chat_turn (turn_id, session_id, created_at, speaker, content, authority_state, line, n)
                       VALUES (?1, 's', 1, 'user', ?2, 'ok', ?1, ?1)";
            let row = (n.to_string(), text);
            made.connection().execute(sql, row).unwrap();
        }
        made.add_words(SearchIndex::Turns, (1, 1000)).unwrap();
        made
    }

    fn faults(of: &Sqlite) -> Vec<String> {
        of.other_words(fts(SearchIndex::Turns), 20).unwrap()
    }

    #[test]
    fn other_words_are_found_where_entries_and_counts_are_as_before() {
        let home = tempfile::tempdir().unwrap();
        let made = indexed(home.path(), &["the visa was granted", "ran \0 behind", ""]);
        assert_eq!(faults(&made), [] as [&str; 0]);
        assert!(made.compare_words(SearchIndex::Turns).unwrap());
        for (sql, said) in [
            (
                "INSERT INTO turn_fts (turn_fts, rowid, content) VALUES ('delete', 1, 'the visa was granted');
                 INSERT INTO turn_fts (rowid, content) VALUES (1, 'the visa granted was')",
                "other words than the text of turn number 1",
            ),
            (
                "INSERT INTO turn_fts (rowid, content) VALUES (9, 'of nobody');
                 DELETE FROM turn_fts_docsize WHERE id = 9",
                "words without an entry, for turn number 9",
            ),
        ] {
            made.batch("alter", &format!("SAVEPOINT here; {sql}"))
                .unwrap();
            let found = faults(&made);
            assert!(found.len() == 1 && found[0].ends_with(said), "{found:?}");
            made.batch("undo", "ROLLBACK TO here; RELEASE here")
                .unwrap();
        }
        assert_eq!(faults(&made), [] as [&str; 0]);
    }

    /// The words of an index and their beginnings stand in two places of it.
    #[test]
    fn beginnings_that_find_other_texts_than_the_words_are_counted() {
        let home = tempfile::tempdir().unwrap();
        let made = indexed(home.path(), &["abcdy was asked", "abcdz"]);
        assert_eq!(faults(&made), [] as [&str; 0]);
        // There is no abcdx to take out of the words, and an abc and abcd of this text.
        made.batch(
            "alter",
            "INSERT INTO turn_fts (turn_fts, rowid, content) VALUES ('delete', 2, 'abcdx');
             INSERT INTO turn_fts_docsize VALUES (2, x'01')",
        )
        .unwrap();
        let found = faults(&made);
        let of = "finds other texts by how words begin than have such words (2 of ";
        assert!(found.len() == 1 && found[0].contains(of), "{found:?}");
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config::with_cases(40))]
        /// Whatever texts hold, an index that is as it was made has no fault.
        #[test]
        fn texts_of_any_kind_have_their_words(texts in proptest::collection::vec("(\\PC|[a-z]{2,6}(s|ed|ing|ness|ies)? | \0){0,12}", 1..5)) {
            let home = tempfile::tempdir().unwrap();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let made = indexed(home.path(), &texts);
            proptest::prop_assert_eq!(faults(&made), [] as [&str; 0]);
        }
    }
}
