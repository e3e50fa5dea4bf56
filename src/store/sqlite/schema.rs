//! The tables, views, indexes and triggers of a database against those that the migrations make.
//!
//! They are compared letter by letter: SQLite keeps the text of each as it was made. Evidence is none
//! of it, but triggers keep programs from changing evidence, and views say what stands in tables.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use refinery::Runner;
use rusqlite::Connection;

use super::{Sqlite, failed, migrations, refused};
use crate::store::{SchemaDifference, SchemaState, StoreError};

/// Objects by kind (`table`, `index`, `view`, `trigger`) and name, each with the text that makes it.
type SchemaObjects = BTreeMap<(String, String), String>;

/// Tables and indexes of such names are SQLite's own.
const ALL: &str = "SELECT type, name, ifnull(sql, '') FROM sqlite_schema
     WHERE NOT (type IN ('table', 'index') AND name LIKE 'sqlite@_%' ESCAPE '@')";

fn objects(connection: &Connection) -> rusqlite::Result<SchemaObjects> {
    let mut statement = connection.prepare(ALL)?;
    let found = statement.query_map([], |row| {
        let (kind, name, text) = (text(row, 0)?, text(row, 1)?, text(row, 2)?);
        // What FTS5 keeps behind an index is its own affair, and another version may make it otherwise.
        let is_kept_behind = INDEXES.iter().any(|index| name.starts_with(index));
        let text = match is_kept_behind && !text.starts_with("CREATE VIRTUAL") {
            true => String::new(),
            false => text,
        };
        Ok(((kind, name), text))
    })?;
    found.collect()
}

/// The beginnings of names of what FTS5 keeps behind an index.
const INDEXES: [&str; 2] = ["continuity_fts_", "turn_fts_"];

/// A column of a row; what somebody put there by hand need not be UTF-8.
fn text(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<String> {
    let bytes = row.get_ref(at)?.as_bytes().unwrap_or_default();
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

/// What the migrations make, on a database in memory; made once in a process.
fn expected() -> Result<&'static SchemaObjects, StoreError> {
    static MADE: OnceLock<SchemaObjects> = OnceLock::new();
    if let Some(made) = MADE.get() {
        return Ok(made);
    }
    let failed = failed("make a database to compare with");
    let mut connection = Connection::open_in_memory().map_err(&failed)?;
    let runner = Runner::new(migrations().map_err(refused)?).set_grouped(true);
    runner.run(&mut connection).map_err(refused)?;
    let made = objects(&connection).map_err(&failed)?;
    Ok(MADE.get_or_init(|| made))
}

/// Where two sets differ, by kind and name.
fn differences(expected: &SchemaObjects, found: &SchemaObjects) -> Vec<SchemaDifference> {
    let named = |(kind, name): &(String, String), state| SchemaDifference {
        kind: kind.clone(),
        name: name.clone(),
        state,
    };
    let wanted = expected
        .iter()
        .filter_map(|(key, text)| match found.get(key) {
            None => Some(named(key, SchemaState::Missing)),
            Some(other) if other != text => Some(named(key, SchemaState::Changed)),
            Some(_) => None,
        });
    let extra = found.keys().filter(|key| !expected.contains_key(*key));
    let extra = extra.map(|key| named(key, SchemaState::Extra));
    wanted.chain(extra).collect()
}

/// The tables that hold rows of their own; FTS5 looks after those behind an index.
const TABLES: &str =
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'
     AND name NOT LIKE 'sqlite@_%' ESCAPE '@'";

/// The indexes whose entries are not those of their tables: a query along one would find other rows
/// than there are, or miss some.
fn unlike_tables(connection: &Connection) -> Result<Vec<SchemaDifference>, StoreError> {
    const WHAT: &str = "compare indexes with their tables";
    let mut tables = connection.prepare(TABLES).map_err(failed(WHAT))?;
    let tables = tables
        .query_map([], |row| text(row, 0))
        .map_err(failed(WHAT))?;
    let mut unlike = BTreeSet::new();
    for table in tables {
        let table = table.map_err(failed(WHAT))?;
        if INDEXES.iter().any(|index| table.starts_with(index)) {
            continue;
        }
        let check = format!("PRAGMA integrity_check({})", quoted(&table));
        let mut check = connection.prepare(&check).map_err(failed(WHAT))?;
        let told = check
            .query_map([], |row| text(row, 0))
            .map_err(failed(WHAT))?;
        for line in told {
            let line = line.map_err(failed(WHAT))?;
            match line.rsplit_once(" index ") {
                Some((_, name)) => _ = unlike.insert(name.to_owned()),
                None if line == "ok" => {}
                None => {
                    return Err(StoreError::Damaged {
                        what: WHAT,
                        reason: line,
                    });
                }
            }
        }
    }
    let difference = |name| SchemaDifference {
        kind: "index".to_owned(),
        name,
        state: SchemaState::Unlike,
    };
    Ok(unlike.into_iter().map(difference).collect())
}

/// A name as SQL takes any.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl Sqlite {
    /// Where the schema differs from the one that the migrations make.
    pub(super) fn schema_faults(&self) -> Result<Vec<SchemaDifference>, StoreError> {
        let found = objects(self.connection()).map_err(failed("read the schema"))?;
        let mut faults = differences(expected()?, &found);
        let mut unlike = unlike_tables(self.connection())?;
        // One that is made otherwise is made again in any case.
        unlike.retain(|one| faults.iter().all(|fault| fault.name != one.name));
        faults.append(&mut unlike);
        Ok(faults)
    }

    /// Makes views, indexes and triggers as the migrations make them; what is none of theirs is taken
    /// away. Tables stay: what is in them can't be made again.
    pub(super) fn make_schema_again(&self, faults: &[SchemaDifference]) -> Result<(), StoreError> {
        const WHAT: &str = "make the schema again";
        let mendable = || faults.iter().filter(|fault| fault.is_mendable());
        for SchemaDifference { kind, name, state } in mendable() {
            match state {
                SchemaState::Missing => {}
                SchemaState::Unlike => self.batch(WHAT, &format!("REINDEX {}", quoted(name)))?,
                SchemaState::Changed | SchemaState::Extra => {
                    self.batch(WHAT, &format!("DROP {kind} {}", quoted(name)))?;
                }
            }
        }
        let is_gone = |fault: &&SchemaDifference| fault.state != SchemaState::Unlike;
        for SchemaDifference { kind, name, .. } in mendable().filter(is_gone) {
            if let Some(text) = expected()?.get(&(kind.clone(), name.clone())) {
                self.batch(WHAT, text)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(sql: &str) -> Vec<String> {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("gently.db");
        let made = Sqlite::create(&path).unwrap();
        made.batch("change", sql).unwrap();
        let told = made.schema_faults().unwrap();
        made.make_schema_again(&told).unwrap();
        let left = made.schema_faults().unwrap();
        assert!(left.iter().all(|fault| !fault.is_mendable()), "{left:?}");
        told.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_kind_of_difference_is_named_and_mended_unless_it_is_a_table() {
        assert_eq!(changed("SELECT 1"), Vec::<String>::new());
        for (sql, told) in [
            (
                "DROP TRIGGER chat_turn_stays",
                "trigger chat_turn_stays is missing",
            ),
            (
                "DROP TRIGGER chat_turn_stays;
                 CREATE TRIGGER chat_turn_stays BEFORE DELETE ON chat_turn BEGIN SELECT 1; END",
                "trigger chat_turn_stays is another",
            ),
            (
                "CREATE TRIGGER \"a \"\"b\" BEFORE INSERT ON chat_turn BEGIN SELECT 1; END",
                "trigger a \"b is none of gently's",
            ),
            ("DROP VIEW messages", "view messages is missing"),
            (
                "DROP VIEW turn_text; CREATE VIEW turn_text (n, content) AS SELECT n, 'x' FROM chat_turn",
                "view turn_text is another",
            ),
            (
                "DROP INDEX idx_thread_name",
                "index idx_thread_name is missing",
            ),
            (
                "CREATE INDEX mine ON chat_turn (created_at)",
                "index mine is none of gently's",
            ),
            ("DROP TABLE tree_mark", "table tree_mark is missing"),
            (
                "ALTER TABLE tree_mark ADD COLUMN more TEXT",
                "table tree_mark is another",
            ),
            ("CREATE TABLE mine (n)", "table mine is none of gently's"),
        ] {
            assert_eq!(changed(sql), [told], "{sql}");
        }
        // What SQLite keeps for itself is nobody's.
        assert_eq!(changed("ANALYZE"), Vec::<String>::new());
    }

    /// An index that was made over other values, with the text of the right one put back.
    #[test]
    fn an_index_that_holds_other_values_than_its_table_is_named_and_mended() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("gently.db");
        drop(Sqlite::create(&path).unwrap());
        let by_hand = |sql: &str| {
            let hand = Connection::open(&path).unwrap();
            hand.execute_batch(sql).unwrap();
        };
        by_hand("PRAGMA foreign_keys = OFF; INSERT INTO thread VALUES ('a', 'b', 1, 'trip', 1)");
        let put = |version, over: &str| {
            by_hand(&format!(
                "PRAGMA writable_schema = ON;
                 UPDATE sqlite_schema SET sql = 'CREATE INDEX idx_thread_name ON thread({over}) WHERE name IS NOT NULL'
                  WHERE name = 'idx_thread_name';
                 PRAGMA schema_version = {version}"
            ));
        };
        put(900, "upper(name)");
        by_hand("REINDEX idx_thread_name");
        put(901, "name");
        let made = Sqlite::open(&path).unwrap();
        let faults = made.schema_faults().unwrap();
        let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            ["index idx_thread_name does not hold what its table does"]
        );
        made.make_schema_again(&faults).unwrap();
        assert_eq!(made.schema_faults().unwrap(), []);
    }
}
