//! Search indexes that can't be used or that somebody set otherwise, and making one anew. No word of
//! an index is evidence: it is made again from the texts.

use rusqlite::{Connection, OptionalExtension as _};

use super::schema::{expected, text};
use super::search::{INDEX_TABLES, index_failed};
use super::{Sqlite, failed};
use crate::store::{SEARCH_INDEX, SchemaDifference, SchemaState, StoreError};

/// What FTS5 keeps behind an index, by the ends of the names.
const SHADOW_SUFFIXES: [&str; 4] = ["config", "data", "docsize", "idx"];
/// What is being done, for an error.
const COMPARING: &str = "compare the search indexes";
/// FTS5 notes that words were taken out of an index for good by a version of its own.
const VERSIONS: [i64; 2] = [4, 5];

/// The index that a table is kept behind.
pub(super) fn index_of_shadow_table(name: &str) -> Option<&'static str> {
    INDEX_TABLES.into_iter().find(|index| {
        let rest = name
            .strip_prefix(index)
            .and_then(|rest| rest.strip_prefix('_'));
        rest.is_some_and(|rest| SHADOW_SUFFIXES.contains(&rest))
    })
}

/// The indexes that can't be used as they are, beside those that are missing or made otherwise.
pub(super) fn unusable(
    connection: &Connection,
    is_there: impl Fn(&str) -> bool,
) -> Result<Vec<SchemaDifference>, StoreError> {
    let mut faults = Vec::new();
    for index in INDEX_TABLES {
        let parts = SHADOW_SUFFIXES.map(|part| format!("{index}_{part}"));
        let state = match parts.iter().all(|part| is_there(part)) {
            false => Some(SchemaState::Damaged),
            true => state_of(connection, index)?,
        };
        faults.extend(state.map(|state| SchemaDifference {
            kind: SEARCH_INDEX.to_owned(),
            name: index.to_owned(),
            state,
        }));
    }
    Ok(faults)
}

fn state_of(connection: &Connection, index: &str) -> Result<Option<SchemaState>, StoreError> {
    if !has_our_settings(connection, index)? {
        return Ok(Some(SchemaState::Settings));
    }
    let is_damaged = !counts_fit(connection, index)?;
    Ok(is_damaged.then_some(SchemaState::Damaged))
}

/// Whether what an index has noted of its texts fits together, and fits the words that are in it.
pub(super) fn counts_fit(connection: &Connection, index: &str) -> Result<bool, StoreError> {
    Ok(counts_are_right(connection, index)? && holds_its_words(connection, index)?)
}

/// Whether an index is set as the migrations set it: of FTS5's settings one, and its version.
fn has_our_settings(connection: &Connection, index: &str) -> Result<bool, StoreError> {
    let failed = failed(COMPARING);
    let sql = format!("SELECT k, v FROM {index}_config ORDER BY k");
    let mut statement = connection.prepare(&sql).map_err(&failed)?;
    let mut rows = statement.query([]).map_err(&failed)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(&failed)? {
        // A value that is none of a setting's is some other.
        let value = row.get(1).unwrap_or(-1);
        found.push((text(row, 0).map_err(&failed)?, value));
    }
    let is_ours = |version| [("secure-delete", 1), ("version", version)];
    Ok(VERSIONS.into_iter().map(is_ours).any(|ours| {
        let found = found.iter().map(|(name, value)| (name.as_str(), *value));
        found.eq(ours)
    }))
}

/// Whether an index counts as many texts and words as it has noted of each text: ranking, and taking
/// a text out, go by that.
fn counts_are_right(connection: &Connection, index: &str) -> Result<bool, StoreError> {
    let failed = failed(COMPARING);
    let sql = format!("SELECT block FROM {index}_data WHERE id = 1");
    let block: Option<Vec<u8>> = connection
        .query_row(&sql, [], |row| row.get(0))
        .optional()
        .map_err(&failed)?;
    let Some(total) = block.as_deref().and_then(numbers) else {
        return Ok(false);
    };
    let mut counted: Vec<u64> = vec![0];
    let sql = format!("SELECT sz FROM {index}_docsize");
    let mut statement = connection.prepare(&sql).map_err(&failed)?;
    let mut rows = statement.query([]).map_err(&failed)?;
    while let Some(row) = rows.next().map_err(&failed)? {
        let sizes = row.get_ref(0).map_err(&failed)?.as_blob().ok();
        let Some(sizes) = sizes.and_then(numbers) else {
            return Ok(false);
        };
        counted.resize(counted.len().max(sizes.len() + 1), 0);
        let one_text = std::iter::once(1).chain(sizes);
        for (sum, size) in counted.iter_mut().zip(one_text) {
            *sum = sum.saturating_add(size);
        }
    }
    // Before the first text nothing is noted.
    let width = counted.len().max(total.len());
    let of = |list: &[u64], at: usize| list.get(at).copied().unwrap_or_default();
    Ok((0..width).all(|at| of(&total, at) == of(&counted, at)))
}

/// Whether all words of an index can be read, and there are as many as it has noted of all texts: one
/// that was emptied can be read, and finds nothing. FTS5's own check takes eight times as long; what it
/// finds beyond that, `PRAGMA quick_check` tells, too.
fn holds_its_words(connection: &Connection, index: &str) -> Result<bool, StoreError> {
    const VOCABULARY: &str = "temp.vocabulary";
    let failed = index_failed(COMPARING);
    let sql = format!("SELECT block FROM {index}_data WHERE id = 1");
    let noted: Vec<u8> = connection
        .query_row(&sql, [], |row| row.get(0))
        .map_err(&failed)?;
    let noted: u64 = numbers(&noted).unwrap_or_default().iter().skip(1).sum();
    let made = format!("CREATE VIRTUAL TABLE {VOCABULARY} USING fts5vocab(main, {index}, 'row')");
    connection.execute_batch(&made).map_err(&failed)?;
    let sql = format!("SELECT ifnull(sum(cnt), 0) FROM {VOCABULARY}");
    let found = connection.query_row(&sql, [], |row| row.get::<_, i64>(0));
    let gone = connection.execute_batch(&format!("DROP TABLE {VOCABULARY}"));
    gone.map_err(&failed)?;
    match found.map_err(&failed) {
        Ok(found) => Ok(u64::try_from(found) == Ok(noted)),
        Err(StoreError::Altered { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Numbers as SQLite writes them one behind the other: seven bits a byte, the highest first; none
/// where the last one does not end.
pub(super) fn numbers(mut bytes: &[u8]) -> Option<Vec<u64>> {
    let mut numbers = Vec::new();
    while !bytes.is_empty() {
        numbers.push(number(&mut bytes)?);
    }
    Some(numbers)
}

/// The first of these numbers, which is taken off; none where it does not end, or is longer than eight bytes.
pub(super) fn number(bytes: &mut &[u8]) -> Option<u64> {
    let end = bytes.iter().position(|byte| byte & 0x80 == 0)?;
    let (number, rest) = bytes.split_at(end + 1);
    if number.len() > 8 {
        return None;
    }
    *bytes = rest;
    let add = |value, byte: &u8| value << 7 | u64::from(byte & 0x7f);
    Some(number.iter().fold(0, add))
}

impl Sqlite {
    /// Takes a virtual table away, whether or not it can be used, with all that is kept behind it.
    pub(super) fn drop_virtual_table(&self, name: &str) -> Result<(), StoreError> {
        const WHAT: &str = "take a virtual table away";
        // DROP asks the module of the table first, which needs what may be missing or damaged.
        self.batch(WHAT, "PRAGMA writable_schema = ON")?;
        let row = "DELETE FROM sqlite_schema WHERE type = 'table' AND name = ?1";
        let deleted = self.connection().execute(row, [name]).map_err(failed(WHAT));
        self.batch(WHAT, "PRAGMA writable_schema = RESET")?;
        deleted?;
        if !INDEX_TABLES.contains(&name) {
            return Ok(());
        }
        for part in SHADOW_SUFFIXES {
            self.batch(WHAT, &format!("DROP TABLE IF EXISTS {name}_{part}"))?;
        }
        Ok(())
    }

    /// Makes a search index anew, without a word in it.
    pub(super) fn make_index_anew(&self, name: &str) -> Result<(), StoreError> {
        const WHAT: &str = "make a search index anew";
        self.drop_virtual_table(name)?;
        let made = expected()?;
        let Some(object) = made.get(&("table".to_owned(), name.to_owned())) else {
            return Ok(());
        };
        self.batch(WHAT, &object.text)?;
        let secure = format!("INSERT INTO {name} ({name}, rank) VALUES ('secure-delete', 1)");
        self.batch(WHAT, &secure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As SQLite writes them: one byte up to 127, two up to 16,383.
    #[test]
    fn numbers_are_read_as_they_are_written() {
        assert_eq!(numbers(&[]), Some(vec![]));
        assert_eq!(numbers(&[0, 5, 0x7f]), Some(vec![0, 5, 127]));
        assert_eq!(numbers(&[0x81, 0x00, 0x82, 0x2c]), Some(vec![128, 300]));
        assert_eq!(numbers(&[0x05, 0x81]), None);
        assert_eq!(numbers(&[0xff; 9]), None);
    }

    #[test]
    fn what_is_kept_behind_an_index_is_known_by_its_whole_name() {
        assert_eq!(index_of_shadow_table("turn_fts_data"), Some("turn_fts"));
        assert_eq!(
            index_of_shadow_table("continuity_fts_idx"),
            Some("continuity_fts")
        );
        for other in [
            "turn_fts",
            "turn_fts_vocab",
            "turn_ftsdata",
            "xturn_fts_data",
        ] {
            assert_eq!(index_of_shadow_table(other), None, "{other}");
        }
    }
}
