//! The words of texts as the search indexes stem them: SQLite's tokenizer is asked, in an index in
//! memory.

use std::collections::BTreeSet;

use rusqlite::Connection;

use super::failed;
use crate::store::StoreError;

/// An index that knows words as that over turns does, and its words.
const INDEX: &str = "
    CREATE VIRTUAL TABLE part USING fts5(content, tokenize = 'porter unicode61 remove_diacritics 2');
    CREATE VIRTUAL TABLE word USING fts5vocab(part, 'instance')";

/// The stems of each text, each once. What stands behind a NUL is read, too.
pub(super) fn stems(texts: &[&str]) -> Result<Vec<BTreeSet<String>>, StoreError> {
    let failed = failed("read the words of a question");
    let index = Connection::open_in_memory().map_err(&failed)?;
    index.execute_batch(INDEX).map_err(&failed)?;
    let mut put = index
        .prepare("INSERT INTO part (rowid, content) VALUES (?1, ?2)")
        .map_err(&failed)?;
    for (number, text) in (1_i64..).zip(texts) {
        let text = text.replace('\0', " ");
        put.execute((number, text)).map_err(&failed)?;
    }
    let mut stems = vec![BTreeSet::new(); texts.len()];
    let mut words = index
        .prepare("SELECT DISTINCT doc, term FROM word")
        .map_err(&failed)?;
    let mut rows = words.query([]).map_err(&failed)?;
    while let Some(row) = rows.next().map_err(&failed)? {
        let (number, stem): (i64, String) = row
            .get(0)
            .and_then(|number| Ok((number, row.get(1)?)))
            .map_err(&failed)?;
        let at = usize::try_from(number - 1).unwrap_or_default();
        if let Some(of) = stems.get_mut(at) {
            of.insert(stem);
        }
    }
    Ok(stems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_stemmed_and_each_is_there_once() {
        let found = stems(&["Visas, VISA and Ásylum\0 courts", "", "running ran"]).unwrap();
        let words = |at: usize| found[at].iter().map(String::as_str).collect::<Vec<_>>();
        assert_eq!(words(0), ["and", "asylum", "court", "visa"]);
        assert_eq!(words(1), [] as [&str; 0]);
        assert_eq!(words(2), ["ran", "run"]);
    }
}
