//! Search by FTS5. An index holds the words of texts that a view shows, by the number of each.

use rusqlite::Connection;

use super::beginnings::{WordCheck, widened};
use super::index_faults::counts_fit;
use super::{Sqlite, failed};
use crate::store::StoreError;
use crate::store::driver::{IndexMatch, SearchIndex, SearchQuery, SearchTerm, SqlValue, TextQuery};

/// How an index is called, and the view of its texts.
pub(super) struct Fts {
    /// The virtual table.
    pub table: &'static str,
    /// Name of the view with the texts that the index is of.
    pub texts: &'static str,
    /// The view's column of numbers.
    pub number: &'static str,
    /// Its other columns, which are those of the index.
    pub columns: &'static str,
    /// What gives the same rows as the view when many are read at once, with what it is called: of a
    /// document with many texts, the view reads all of it for each of them.
    pub many: &'static str,
    /// The lines of documents of which the view reads too much, as `line` of `many`; empty where there is
    /// none.
    pub large: &'static str,
    /// Those of `many` whose numbers are from `?1` to `?2`.
    between: &'static str,
    /// By which columns of `many` they stand in the order of their numbers without being sorted.
    order: &'static str,
    /// How a fit is ranked: a subject is worth three words of a text.
    rank: &'static str,
    /// How many letters the beginnings of words have that stand in it, too.
    pub beginnings: &'static str,
    /// What the index is of, and what its numbers are, in a fault.
    pub names: (&'static str, &'static str),
}

const ITEMS: Fts = Fts {
    table: "continuity_fts",
    texts: "continuity_text",
    number: "line",
    columns: "text, subject",
    many: "continuity_text",
    large: "",
    between: "line BETWEEN ?1 AND ?2",
    order: "line",
    rank: "bm25(continuity_fts, 1.0, 3.0)",
    beginnings: "",
    names: ("items", "artifact line"),
};
const TURNS: Fts = Fts {
    table: "turn_fts",
    texts: "turn_text",
    number: "n",
    columns: "content",
    many: "turn_text",
    large: "",
    between: "n BETWEEN ?1 AND ?2",
    order: "n",
    rank: "bm25(turn_fts)",
    beginnings: "3 4",
    names: ("turns", "turn number"),
};
const IMPORTED: Fts = Fts {
    table: "imported_fts",
    texts: "imported_text",
    number: "n",
    columns: "content",
    many: IMPORTED_TEXTS,
    large: LARGE_IMPORTS,
    between: "n BETWEEN ?1 AND ?2 AND line BETWEEN ?1 >> 20 AND ?2 >> 20",
    order: "line",
    rank: "bm25(imported_fts)",
    beginnings: "3 4",
    names: ("imported messages", "message number"),
};

/// What the view `imported_text` gives, with each document taken apart once: conversation by
/// conversation, and message by message as it stands in the document, so that they come in the order of
/// their numbers. Another order of these tables would take a document apart for each of its messages.
const IMPORTED_TEXTS: &str = "(SELECT m.n AS n, c.line AS line,
       CASE e.type WHEN 'object' THEN json_extract(e.value, '$.text') END AS content
    FROM imported_conversation c CROSS JOIN artifact a ON a.line = c.line AND a.document IS NOT NULL
   CROSS JOIN json_each(a.document, '$.content.messages') e
   CROSS JOIN imported_message m ON m.n = (c.line << 20) + e.key
   WHERE c.state = 'current')";

/// The lines of imported conversations of which the view reads more than 20 MB in all.
const LARGE_IMPORTS: &str =
    "SELECT c.line FROM imported_conversation c CROSS JOIN artifact a ON a.line = c.line
   WHERE c.state = 'current' AND c.messages * octet_length(a.document) > 20000000";

/// The virtual tables of all.
pub(super) const INDEX_TABLES: [&str; 3] = [ITEMS.table, TURNS.table, IMPORTED.table];

/// Names what was being done with an index when SQLite refused: one that is damaged is made again.
pub(super) fn index_failed(what: &'static str) -> impl Fn(rusqlite::Error) -> StoreError {
    move |error| match failed(what)(error) {
        StoreError::Damaged { what, reason } => StoreError::Altered { what, reason },
        other => other,
    }
}

pub(super) const fn fts(index: SearchIndex) -> &'static Fts {
    match index {
        SearchIndex::Items => &ITEMS,
        SearchIndex::Turns => &TURNS,
        SearchIndex::Imported => &IMPORTED,
    }
}

/// One word as FTS5 takes any text: in quotes, quotes doubled.
fn quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('"', "\"\""))
}

/// What [`Driver::hits`](crate::store::driver::Driver::hits) gives.
pub(super) fn hits(query: &SearchQuery<'_>) -> (String, SqlValue<'static>) {
    let Fts { table, rank, .. } = fts(query.index);
    let newest = query.newest.map_or(String::new(), |newest| {
        format!("ORDER BY rowid DESC LIMIT {newest}")
    });
    let words: Vec<String> = query.words.iter().map(|word| quoted(word)).collect();
    let sql = format!(
        "WITH hit (n, score) AS MATERIALIZED (SELECT rowid, {rank} FROM {table} WHERE {table} MATCH ?1 {newest})"
    );
    (sql, SqlValue::Text(words.join(" OR ").into()))
}

/// What [`Driver::fits`](crate::store::driver::Driver::fits) gives.
pub(super) fn fits(index: SearchIndex, wanted: &TextQuery) -> Result<IndexMatch, StoreError> {
    let Fts { table, rank, .. } = fts(index);
    Ok(IndexMatch {
        table,
        holds: format!("{table} MATCH ?1"),
        value: SqlValue::Text(expression(&widened(wanted)?).into()),
        rank,
    })
}

/// What [`Driver::fitting`](crate::store::driver::Driver::fitting) gives: the texts stand for a moment in
/// an index in memory.
pub(super) fn fitting(wanted: &TextQuery, texts: &[&str]) -> Result<Vec<bool>, StoreError> {
    let mut fits = vec![false; texts.len()];
    if texts.is_empty() {
        return Ok(fits);
    }
    let failed = failed("compare titles");
    let index = Connection::open_in_memory().map_err(&failed)?;
    let table = "CREATE VIRTUAL TABLE text USING fts5(content, tokenize = 'porter unicode61 remove_diacritics 2'); BEGIN";
    index.execute_batch(table).map_err(&failed)?;
    let put = "INSERT INTO text (rowid, content) VALUES (?1, ?2)";
    let mut put = index.prepare(put).map_err(&failed)?;
    for (n, text) in (0_u32..).zip(texts) {
        put.execute((n, text.replace('\0', " "))).map_err(&failed)?;
    }
    let check = WordCheck::of(wanted)?;
    let look = "SELECT rowid FROM text WHERE text MATCH ?1";
    let mut look = index.prepare(look).map_err(&failed)?;
    let found = look
        .query_map([expression(&widened(wanted)?)], |row| row.get(0))
        .map_err(&failed)?;
    for n in found {
        let n: u32 = n.map_err(&failed)?;
        let n = usize::try_from(n).unwrap_or(usize::MAX);
        let (Some(text), Some(fit)) = (texts.get(n), fits.get_mut(n)) else {
            continue;
        };
        *fit = match &check {
            Some(check) => check.holds(text)?,
            None => true,
        };
    }
    Ok(fits)
}

/// `("a" OR "b c") AND ("d"*) NOT ("e")`: terms in quotes, and between them operators of ours alone.
pub(super) fn expression(wanted: &TextQuery) -> String {
    let all: Vec<String> = wanted.all.iter().map(|any| any_of(any)).collect();
    let all = format!("({})", all.join(" AND "));
    match wanted.without.as_slice() {
        [] => all,
        without => format!("{all} NOT {}", any_of(without)),
    }
}

pub(super) fn any_of(terms: &[SearchTerm]) -> String {
    let terms: Vec<String> = terms.iter().map(term).collect();
    format!("({})", terms.join(" OR "))
}

fn term(term: &SearchTerm) -> String {
    // An expression ends at its first NUL; to the tokenizer that is a sign like others.
    let quoted = quoted(&term.text.replace('\0', " "));
    if term.is_beginning {
        format!("{quoted}*")
    } else {
        quoted
    }
}

impl Sqlite {
    /// Adds the texts of these numbers.
    pub(super) fn add_words(
        &self,
        index: SearchIndex,
        numbers: (u64, u64),
    ) -> Result<(), StoreError> {
        let what = "make texts searchable";
        self.with_texts(&addition(fts(index)), numbers)
            .map_err(index_failed(what))
    }

    /// Takes the words of the texts of these numbers out.
    pub(super) fn remove_words(
        &self,
        index: SearchIndex,
        numbers: (u64, u64),
    ) -> Result<(), StoreError> {
        let Fts { table, .. } = fts(index);
        // Whatever somebody set there: what is taken out leaves no word.
        let secure = format!("INSERT INTO {table} ({table}, rank) VALUES ('secure-delete', 1)");
        self.connection()
            .prepare_cached(&secure)
            .and_then(|mut statement| statement.execute([]))
            .and_then(|_| self.with_texts(&removal(fts(index)), numbers))
            .map_err(index_failed("forget words"))
    }

    /// Runs a statement on the texts of these numbers.
    fn with_texts(&self, sql: &str, (from, to): (u64, u64)) -> rusqlite::Result<()> {
        let end = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let mut statement = self.connection().prepare_cached(sql)?;
        statement.execute([end(from), end(to)]).map(drop)
    }

    /// How many texts hold a word.
    pub(super) fn count_word(
        &self,
        index: SearchIndex,
        word: &str,
        most: u32,
    ) -> Result<u64, StoreError> {
        let Fts { table, .. } = fts(index);
        let sql =
            format!("SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ?1 LIMIT ?2)");
        self.connection()
            .prepare_cached(&sql)
            .and_then(|mut statement| {
                statement.query_row((quoted(word), most), |row| row.get::<_, u32>(0))
            })
            .map(u64::from)
            .map_err(index_failed("count a word"))
    }

    /// How many texts are in an index.
    pub(super) fn entries(&self, index: SearchIndex) -> Result<u64, StoreError> {
        let sql = format!("SELECT count(*) FROM {}_docsize", fts(index).table);
        self.connection()
            .query_row(&sql, [], |row| row.get::<_, u32>(0))
            .map(u64::from)
            .map_err(index_failed("count what can be searched"))
    }

    /// Texts that have no entry, entries that no text belongs to, and whether there are other words than
    /// those of the texts.
    pub(super) fn differences(
        &self,
        index: SearchIndex,
        most: u32,
    ) -> Result<Vec<String>, StoreError> {
        let (of, numbers) = fts(index).names;
        let limited = |sql: String| format!("{sql} LIMIT ?1");
        let mut faults = numbered(
            self.connection(),
            &limited(without_entry(index)),
            most,
            &format!("the search index of {of} has no entry for the text of {numbers}"),
        )?;
        faults.extend(numbered(
            self.connection(),
            &limited(without_text(index)),
            most,
            &format!("the search index of {of} has an entry without a text, for {numbers}"),
        )?);
        faults.extend(self.other_words(fts(index))?);
        Ok(faults)
    }

    /// How many of both there are.
    pub(super) fn count_differences(&self, index: SearchIndex) -> Result<u64, StoreError> {
        let (entry, text) = (without_entry(index), without_text(index));
        let sql =
            format!("SELECT (SELECT count(*) FROM ({entry})) + (SELECT count(*) FROM ({text}))");
        self.connection()
            .query_row(&sql, [], |row| row.get::<_, u32>(0))
            .map(u64::from)
            .map_err(index_failed("compare the search indexes"))
    }

    /// Whether the words in an index are those of its texts.
    pub(super) fn compare_words(&self, index: SearchIndex) -> Result<bool, StoreError> {
        match index {
            // Its own check would read them by the view.
            SearchIndex::Imported => Ok(self.other_words(fts(index))?.is_none()),
            SearchIndex::Items | SearchIndex::Turns => {
                let of = fts(index);
                let is_whole = !self.has_lost_pages(of)?;
                Ok(is_whole
                    && self.passes_check(of.table, "compare the words of a search index")?)
            }
        }
    }

    /// FTS5's own check of a table of its kind, with the texts.
    pub(super) fn passes_check(&self, table: &str, what: &'static str) -> Result<bool, StoreError> {
        let sql = format!("INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)");
        match self.batch(what, &sql) {
            Ok(()) => Ok(true),
            // So it says that they are others.
            Err(StoreError::Damaged { .. } | StoreError::Altered { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Writes an index anew from its own words. Pages of it are parted by beginnings of words, which
    /// stay when the words are taken out.
    ///
    /// One that is not sound is made again from its texts: words that were to be taken out stand there still, where
    /// nothing came to them, or there was no entry for them.
    pub(super) fn rewrite_words(&self, index: SearchIndex) -> Result<(), StoreError> {
        if !self.is_sound(index)? {
            return self.rebuild_words(index);
        }
        let Fts { table, columns, .. } = fts(index);
        let word = columns.split(',').map(|_| "'a'");
        let text = format!("{}, {}", i64::MAX, word.collect::<Vec<_>>().join(", "));
        // An index in one piece is left as it is; with a text that nobody has there are two pieces.
        let sql = format!(
            "INSERT INTO {table} (rowid, {columns}) VALUES ({text});
             INSERT INTO {table} ({table}) VALUES ('optimize');
             INSERT INTO {table} ({table}, rowid, {columns}) VALUES ('delete', {text})"
        );
        let written = self.connection().execute_batch(&sql);
        written.map_err(index_failed("write a search index anew"))
    }

    /// Whether a search comes to all pages of an index, and there are as many words on them as it has noted.
    pub(super) fn is_sound(&self, index: SearchIndex) -> Result<bool, StoreError> {
        let of = fts(index);
        Ok(!self.has_lost_pages(of)? && counts_fit(self.connection(), of.table)?)
    }

    /// Makes an index again from the texts that are there.
    pub(super) fn rebuild_words(&self, index: SearchIndex) -> Result<(), StoreError> {
        let table = fts(index).table;
        // FTS5's own `rebuild` would read them by the view.
        let emptied = format!("INSERT INTO {table} ({table}) VALUES ('delete-all')");
        self.batch("make a search index again", &emptied)?;
        self.add_words(index, (0, u64::MAX))
    }
}

/// The statement that puts texts of the numbers `?1` to `?2` into an index that are not in it.
fn addition(of: &Fts) -> String {
    let Fts {
        table,
        number,
        columns,
        many,
        between,
        order,
        ..
    } = of;
    format!(
        "INSERT INTO {table} (rowid, {columns})
         SELECT {number}, {columns} FROM {many} WHERE {between}
            AND NOT EXISTS (SELECT 1 FROM {table}_docsize WHERE id = {number}) ORDER BY {order}"
    )
}

/// The statement that takes those of them out that are in it.
fn removal(of: &Fts) -> String {
    let Fts {
        table,
        number,
        columns,
        many,
        between,
        order,
        ..
    } = of;
    format!(
        "INSERT INTO {table} ({table}, rowid, {columns})
         SELECT 'delete', {number}, {columns} FROM {many} WHERE {between}
            AND EXISTS (SELECT 1 FROM {table}_docsize WHERE id = {number}) ORDER BY {order}"
    )
}

/// The numbers of texts that have no entry.
fn without_entry(index: SearchIndex) -> String {
    let Fts {
        table,
        texts,
        number,
        ..
    } = fts(index);
    format!(
        "SELECT {number} FROM {texts}
          WHERE NOT EXISTS (SELECT 1 FROM {table}_docsize WHERE id = {number})"
    )
}

/// The numbers of entries that no text belongs to.
fn without_text(index: SearchIndex) -> String {
    let Fts {
        table,
        texts,
        number,
        ..
    } = fts(index);
    format!(
        "SELECT id FROM {table}_docsize
          WHERE NOT EXISTS (SELECT 1 FROM {texts} WHERE {number} = id)"
    )
}

/// The numbers that a query finds, each behind what is said of it.
fn numbered(
    connection: &Connection,
    sql: &str,
    most: u32,
    said: &str,
) -> Result<Vec<String>, StoreError> {
    let failed = index_failed("compare the search indexes");
    let mut statement = connection.prepare(sql).map_err(&failed)?;
    let numbers = statement
        .query_map([most], |row| row.get::<_, i64>(0))
        .map_err(&failed)?;
    numbers
        .map(|number| Ok(format!("{said} {}", number.map_err(&failed)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> SearchTerm {
        SearchTerm {
            text: text.to_owned(),
            is_beginning: false,
        }
    }

    #[test]
    fn an_expression_has_no_operator_but_ours() {
        let begins = SearchTerm {
            is_beginning: true,
            ..words("polic")
        };
        let wanted = TextQuery {
            all: vec![vec![words("a\" OR \"b"), words("NEAR(c d)")], vec![begins]],
            without: vec![words("col:x ^y")],
        };
        assert_eq!(
            expression(&wanted),
            "((\"a\"\" OR \"\"b\" OR \"NEAR(c d)\") AND (\"polic\"*)) NOT (\"col:x ^y\")"
        );
    }

    proptest::proptest! {
        /// Whatever the terms hold, the database takes the expression.
        #[test]
        fn an_expression_is_never_a_fault(texts in proptest::collection::vec("[\\PC\0]{0,12}", 1..6), begins: bool) {
            let connection = Connection::open_in_memory().unwrap();
            let table = "CREATE VIRTUAL TABLE w USING fts5(t, tokenize = 'porter unicode61 remove_diacritics 2');
                         INSERT INTO w (t) VALUES ('some words to look at')";
            connection.execute_batch(table).unwrap();
            let terms: Vec<_> = texts.iter().map(|text| SearchTerm { is_beginning: begins, ..words(text) }).collect();
            let wanted = TextQuery { all: vec![terms.clone(), vec![words("look")]], without: terms };
            let count = "SELECT count(*) FROM w WHERE w MATCH ?1";
            let found: u32 = connection.query_row(count, [expression(&wanted)], |row| row.get(0)).unwrap();
            proptest::prop_assert_eq!(found, 0);
        }
    }

    /// Pages of an index are parted by beginnings of words, also of words that are taken out since.
    #[test]
    fn an_index_that_is_written_anew_has_no_letter_of_words_that_are_gone() {
        let home = tempfile::tempdir().unwrap();
        let made = Sqlite::create(&home.path().join("gently.db")).unwrap();
        made.batch("begin", "PRAGMA foreign_keys = OFF; BEGIN")
            .unwrap();
        let put = |n: u64, content: &str| {
            let sql = "INSERT INTO chat_turn (turn_id, session_id, created_at, speaker, content, authority_state, line, n)
                       VALUES (?1, 's', 1, 'user', ?2, 'ok', ?1, ?1)";
            let row = made.connection().execute(sql, (n.to_string(), content));
            assert_eq!(row.unwrap(), 1);
        };
        let text = |begin: &str, n: u64| -> String {
            let words =
                (0..60).map(|word| format!("{begin}{:05}", (n * 7919 + word * 104_729) % 99_991));
            words.collect::<Vec<_>>().join(" ")
        };
        (1..=400).for_each(|n| put(n, &text("mmm", n)));
        let gone = 401..=440;
        gone.clone().for_each(|n| put(n, &text("zqx", n)));
        made.add_words(SearchIndex::Turns, (1, 440)).unwrap();
        made.rewrite_words(SearchIndex::Turns).unwrap();
        for n in gone {
            made.remove_words(SearchIndex::Turns, (n, n)).unwrap();
            let sql = "UPDATE chat_turn SET content = NULL WHERE n = ?1";
            made.connection().execute(sql, [n.to_string()]).unwrap();
        }
        let letters = || -> u32 {
            let sql = "SELECT count(*) FROM turn_fts_idx WHERE instr(term, CAST('zq' AS BLOB)) > 0";
            made.connection()
                .query_row(sql, [], |row| row.get(0))
                .unwrap()
        };
        assert!(letters() > 0, "else there is nothing to see here");
        made.rewrite_words(SearchIndex::Turns).unwrap();
        assert_eq!(letters(), 0);
        made.batch("commit", "COMMIT").unwrap();
        assert!(made.compare_words(SearchIndex::Turns).unwrap());
        assert_eq!(made.entries(SearchIndex::Turns).unwrap(), 400);
        assert_eq!(made.schema_faults().unwrap(), []);
    }

    /// A document of many messages is taken apart once, whatever is done with their texts: it is looked up
    /// before its messages, and nothing is sorted, which would have all texts in memory.
    #[test]
    fn a_document_is_taken_apart_once_for_all_of_its_messages() {
        let of = fts(SearchIndex::Imported);
        let all = format!("SELECT {}, {} FROM {}", of.number, of.columns, of.many);
        for sql in [addition(of), removal(of), all] {
            let plan = crate::store::plan(&sql);
            let place = |step: &str| plan.find(step).unwrap_or_else(|| panic!("{step}: {plan}"));
            let steps = [
                " c ",
                " a USING",
                " e VIRTUAL TABLE",
                " m USING INTEGER PRIMARY KEY (rowid=?)",
            ];
            let places = steps.map(place);
            assert!(places.is_sorted(), "{plan}");
            assert!(!plan.contains("TEMP B-TREE"), "{plan}");
        }
        // Those of one conversation alone.
        let plan = crate::store::plan(&removal(of));
        assert!(plan.contains("(state=? AND line>? AND line<?)"), "{plan}");
    }

    #[test]
    fn a_word_can_not_leave_its_quotes() {
        assert_eq!(quoted("a\" OR \"b"), "\"a\"\" OR \"\"b\"");
    }
}
