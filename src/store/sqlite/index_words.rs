//! Whether a search index has the words of its texts, and no others, without a lock.
//!
//! FTS5's own check of that is a statement that writes, and who only looks may not hold up writers. So
//! what the index consists of is copied into tables that only this connection has, in memory, and the
//! copy is checked, against the texts where they are.

use super::search::{Fts, index_failed};
use super::{Sqlite, failed};
use crate::store::StoreError;

/// What is being done, for an error.
const COMPARING: &str = "compare the words of a search index";
/// The copy, and the view of the texts that it is of.
const COPY: &str = "words_copy";
const TEXTS: &str = "words_texts";
/// The texts of large documents, and the lines of these. FTS5 reads its texts without virtual tables, so not
/// by what takes a document apart once.
const LARGE: &str = "words_large";
const LINES: &str = "words_lines";
/// What FTS5 keeps behind an index: contents, places of these, lengths of texts, settings.
const PARTS: [&str; 4] = ["data", "idx", "docsize", "config"];

impl Sqlite {
    /// What is wrong with the words of an index, in words; none where they are those of its texts.
    pub(super) fn other_words(&self, fts: &Fts) -> Result<Option<String>, StoreError> {
        self.forget_copy()?;
        let checked = self
            .copy_index(fts)
            .and_then(|()| self.passes_check(COPY, COMPARING));
        self.forget_copy()?;
        let (of, _) = fts.names;
        if self.has_lost_pages(fts)? {
            return Ok(Some(format!(
                "a search does not come to every page of the search index of {of}"
            )));
        }
        Ok(match checked? {
            true => None,
            false => Some(format!(
                "the search index of {of} has other words than the texts, or finds others by how words begin"
            )),
        })
    }

    /// Makes the view of the texts. Takes as much memory as the texts of large documents have bytes.
    fn view_texts(&self, fts: &Fts) -> Result<(), StoreError> {
        let Fts {
            texts,
            many,
            large,
            number,
            columns,
            ..
        } = fts;
        let all =
            format!("CREATE TEMP VIEW {TEXTS} AS SELECT {number}, {columns} FROM main.{texts}");
        let made = match *large {
            "" => all,
            large => format!(
                "CREATE TEMP TABLE {LINES} (line INTEGER PRIMARY KEY); INSERT INTO {LINES} {large};
                 CREATE TEMP TABLE {LARGE} ({number} INTEGER PRIMARY KEY, {columns});
                 INSERT INTO {LARGE} SELECT {number}, {columns} FROM {many} WHERE line IN (SELECT line FROM {LINES});
                 {all} WHERE {number} >> 20 NOT IN (SELECT line FROM {LINES})
                 UNION ALL SELECT {number}, {columns} FROM {LARGE}"
            ),
        };
        let made = self.connection().execute_batch(&made);
        made.map_err(failed(COMPARING))
    }

    /// Takes as much memory as the index has bytes.
    fn copy_index(&self, fts: &Fts) -> Result<(), StoreError> {
        let Fts {
            table,
            number,
            columns,
            ..
        } = fts;
        self.view_texts(fts)?;
        let beginnings = match fts.beginnings {
            "" => String::new(),
            lengths => format!("prefix = '{lengths}', "),
        };
        let made = format!(
            "CREATE VIRTUAL TABLE temp.{COPY} USING fts5({columns}, content = '{TEXTS}', content_rowid = '{number}', \
                {beginnings}tokenize = 'porter unicode61 remove_diacritics 2')"
        );
        let connection = self.connection();
        connection.execute_batch(&made).map_err(failed(COMPARING))?;
        for part in PARTS {
            let filled = format!(
                "DELETE FROM temp.{COPY}_{part};
                 INSERT INTO temp.{COPY}_{part} SELECT * FROM main.{table}_{part}"
            );
            let filled = connection.execute_batch(&filled);
            filled.map_err(index_failed(COMPARING))?;
        }
        // What FTS5 remembers of the empty one goes with a change that is taken back.
        let reread = format!(
            "SAVEPOINT reread; INSERT INTO {COPY} ({COPY}, rank) VALUES ('secure-delete', 1);
             ROLLBACK TO reread; RELEASE reread"
        );
        connection
            .execute_batch(&reread)
            .map_err(index_failed(COMPARING))
    }

    fn forget_copy(&self) -> Result<(), StoreError> {
        let gone = format!(
            "DROP TABLE IF EXISTS temp.{COPY}; DROP VIEW IF EXISTS temp.{TEXTS};
             DROP TABLE IF EXISTS temp.{LARGE}; DROP TABLE IF EXISTS temp.{LINES}"
        );
        let gone = self.connection().execute_batch(&gone);
        gone.map_err(failed(COMPARING))
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

    fn fault(of: &Sqlite) -> Option<String> {
        of.other_words(fts(SearchIndex::Turns)).unwrap()
    }

    #[test]
    fn other_words_are_found_where_entries_and_counts_are_as_before() {
        let home = tempfile::tempdir().unwrap();
        let texts = ["the visa was granted", "abcdy", "ran \0 behind", ""];
        let made = indexed(home.path(), &texts);
        assert_eq!(fault(&made), None);
        for sql in [
            "INSERT INTO turn_fts (turn_fts, rowid, content) VALUES ('delete', 1, 'the visa was granted');
             INSERT INTO turn_fts (rowid, content) VALUES (1, 'the visa granted was')",
            // Words without an entry.
            "INSERT INTO turn_fts (rowid, content) VALUES (9, 'of nobody');
             DELETE FROM turn_fts_docsize WHERE id = 9",
            // There is no abcdx to take out of the words, and an abc and abcd of this text.
            "INSERT INTO turn_fts (turn_fts, rowid, content) VALUES ('delete', 2, 'abcdx');
             INSERT INTO turn_fts_docsize VALUES (2, x'01')",
        ] {
            made.batch("alter", &format!("SAVEPOINT here; {sql}"))
                .unwrap();
            assert!(fault(&made).is_some(), "{sql}");
            made.batch("undo", "ROLLBACK TO here; RELEASE here")
                .unwrap();
            assert_eq!(fault(&made), None, "{sql}");
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config::with_cases(40))]
        /// Whatever texts hold, an index that is as it was made has no fault.
        #[test]
        fn texts_of_any_kind_have_their_words(texts in proptest::collection::vec("(\\PC|[a-z]{2,6}(s|ed|ing|ness|ies)? | \0){0,12}", 1..5)) {
            let home = tempfile::tempdir().unwrap();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let made = indexed(home.path(), &texts);
            proptest::prop_assert_eq!(fault(&made), None);
        }
    }
}
