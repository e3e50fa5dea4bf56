//! The tables, views, indexes and triggers of a database against those that the migrations make.
//!
//! They are compared letter by letter: SQLite keeps the text of each as it was made. Evidence is none
//! of it, but triggers keep programs from changing evidence, and views say what stands in tables.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use refinery::Runner;
use rusqlite::Connection;

use super::index_faults::{index_of_shadow_table, unusable};
use super::search::INDEX_TABLES;
use super::{Sqlite, failed, migrations, refused};
use crate::store::schema::holds_no_evidence;
use crate::store::{SEARCH_INDEX, SchemaDifference, SchemaState, StoreError};

/// A table, view, index or trigger.
pub(super) struct SchemaObject {
    /// Name of the table that it belongs to.
    table: String,
    /// What makes it.
    pub(super) text: String,
}

/// Objects by kind (`table`, `index`, `view`, `trigger`) and name.
type SchemaObjects = BTreeMap<(String, String), SchemaObject>;

/// The table in which migrations are told that were applied.
const HISTORY: &str = "refinery_schema_history";

/// Tables and indexes of such names are SQLite's own.
const ALL: &str = "SELECT type, name, tbl_name, ifnull(sql, '') FROM sqlite_schema
     WHERE NOT (type IN ('table', 'index') AND name LIKE 'sqlite@_%' ESCAPE '@')";

fn objects(connection: &Connection) -> rusqlite::Result<SchemaObjects> {
    let mut statement = connection.prepare(ALL)?;
    let found = statement.query_map([], |row| {
        let (kind, name) = (text(row, 0)?, text(row, 1)?);
        let (table, text) = (text(row, 2)?, text(row, 3)?);
        // What FTS5 keeps behind an index is its own affair, and another version may make it otherwise.
        let text = match index_of_shadow_table(&name) {
            Some(_) if !is_virtual(&text) => String::new(),
            _ => text,
        };
        Ok(((kind, name), SchemaObject { table, text }))
    })?;
    found.collect()
}

fn is_virtual(text: &str) -> bool {
    text.starts_with("CREATE VIRTUAL")
}

/// A column of a row; what somebody put there by hand need not be UTF-8.
pub(super) fn text(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<String> {
    let bytes = row.get_ref(at)?.as_bytes().unwrap_or_default();
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

/// What the migrations make, on a database in memory; made once in a process.
pub(super) fn expected() -> Result<&'static SchemaObjects, StoreError> {
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

/// Whether the migrations make a table of that name.
pub(super) fn is_ours(table: &str) -> Result<bool, StoreError> {
    Ok(expected()?.contains_key(&("table".to_owned(), table.to_owned())))
}

/// An object as a difference names it.
fn named((kind, name): &(String, String), state: SchemaState) -> SchemaDifference {
    let is_index = kind == "table" && INDEX_TABLES.contains(&name.as_str());
    let kind = if is_index { SEARCH_INDEX } else { kind };
    SchemaDifference {
        kind: kind.to_owned(),
        name: name.clone(),
        state,
    }
}

/// Whether two texts make the same. SQLite puts names in quotes where a table was renamed, and back.
fn is_same(one: &str, other: &str) -> bool {
    one == other || one.replace('"', "") == other.replace('"', "")
}

/// Where two sets differ, by kind and name.
fn differences(expected: &SchemaObjects, found: &SchemaObjects) -> Vec<SchemaDifference> {
    let wanted = expected.iter().filter(|(key, _)| is_told(key));
    let wanted = wanted.filter_map(|(key, object)| match found.get(key) {
        None => Some(named(key, SchemaState::Missing)),
        Some(other) if !is_same(&other.text, &object.text) => {
            Some(named(key, SchemaState::Changed))
        }
        Some(_) => None,
    });
    let mut wanted: Vec<_> = wanted.collect();
    let lost: BTreeSet<String> = wanted
        .iter()
        .filter(|fault| fault.kind == "table" && fault.state == SchemaState::Missing)
        .map(|fault| fault.name.clone())
        .collect();
    // What belongs to a table that is not there is said by the name of the table.
    let of_lost = |fault: &SchemaDifference| {
        let key = (fault.kind.clone(), fault.name.clone());
        let object = expected.get(&key);
        object.is_some_and(|object| key.0 != "table" && lost.contains(&object.table))
    };
    wanted.retain(|fault| !of_lost(fault));
    let extra = found.keys().filter(|key| !expected.contains_key(*key));
    wanted.extend(extra.map(|key| named(key, SchemaState::Extra)));
    wanted
}

/// What is kept behind an index is told by the state of the index.
fn is_told((kind, name): &(String, String)) -> bool {
    kind != "table" || index_of_shadow_table(name).is_none()
}

/// The tables that hold rows of their own; FTS5 looks after those behind an index.
const TABLES: &str =
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'
     AND name NOT LIKE 'sqlite@_%' ESCAPE '@'";

/// The indexes whose entries are not those of their tables: a query along one would find other rows
/// than there are, or miss some. Tables that hold what gently writes into none are among them.
fn unlike_tables(connection: &Connection) -> Result<Vec<SchemaDifference>, StoreError> {
    const WHAT: &str = "compare indexes with their tables";
    let mut tables = connection.prepare(TABLES).map_err(failed(WHAT))?;
    let tables = tables
        .query_map([], |row| text(row, 0))
        .map_err(failed(WHAT))?;
    let mut unlike = BTreeSet::new();
    for table in tables {
        let table = table.map_err(failed(WHAT))?;
        if index_of_shadow_table(&table).is_some() {
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
                Some((_, name)) => {
                    _ = unlike.insert(("index", name.to_owned(), SchemaState::Unlike))
                }
                None if line == "ok" => {}
                // Of a row that is evidence, the check of rows says more.
                None if is_of_a_row(&line) && !holds_no_evidence(&table) => {}
                None if holds_no_evidence(&table) => {
                    unlike.insert(("table", table.clone(), SchemaState::Damaged));
                }
                None => {
                    return Err(StoreError::Damaged {
                        what: WHAT,
                        reason: line,
                    });
                }
            }
        }
    }
    let difference = |(kind, name, state): (&str, String, SchemaState)| SchemaDifference {
        kind: kind.to_owned(),
        name,
        state,
    };
    Ok(unlike.into_iter().map(difference).collect())
}

/// Whether SQLite tells of a row that its table would not take.
fn is_of_a_row(line: &str) -> bool {
    line.starts_with("CHECK constraint failed")
        || line.starts_with("NULL value in")
        || (line.starts_with("non-") && line.contains(" value in "))
}

/// A name as SQL takes any.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl Sqlite {
    /// Where the schema differs from the one that the migrations make.
    pub(super) fn schema_faults(&self) -> Result<Vec<SchemaDifference>, StoreError> {
        let found = objects(self.connection()).map_err(failed("read the schema"))?;
        let mut faults = differences(expected()?, &found);
        let is_there = |table: &str| found.contains_key(&("table".to_owned(), table.to_owned()));
        let indexes = unusable(self.connection(), is_there)?;
        // One that is made otherwise is made again in any case.
        for other in unlike_tables(self.connection())?.into_iter().chain(indexes) {
            if faults.iter().all(|fault| fault.name != other.name) {
                faults.push(other);
            }
        }
        Ok(faults)
    }

    /// Makes all that holds no evidence as the migrations make it, search indexes and tables without
    /// what was in them; what is none of theirs is taken away, unless it is a table.
    pub(super) fn make_schema_again(&self, faults: &[SchemaDifference]) -> Result<(), StoreError> {
        const WHAT: &str = "make the schema again";
        for fault in faults.iter().filter(|fault| fault.is_mendable()) {
            self.take_away(fault)?;
        }
        let made = expected()?;
        // Tables first: indexes and triggers belong to one.
        let rank = |kind: &str| ["table", "index", "view"].iter().position(|of| *of == kind);
        let mut wanted: Vec<_> = made.iter().filter(|(key, _)| is_told(key)).collect();
        wanted.sort_by_key(|((kind, _), _)| rank(kind).unwrap_or(usize::MAX));
        for (key @ (kind, name), SchemaObject { table, text }) in wanted {
            let found = objects(self.connection()).map_err(failed(WHAT))?;
            let has = |name: &String| found.contains_key(&("table".to_owned(), name.clone()));
            // A table of that name, too, is somebody's own.
            let is_taken = found.keys().any(|(_, of)| of.eq_ignore_ascii_case(name));
            if is_taken || (kind != "table" && kind != "view" && !has(table)) {
                continue;
            }
            match named(key, SchemaState::Missing).is_mendable() {
                true if INDEX_TABLES.contains(&name.as_str()) => self.make_index_anew(name)?,
                true => self.batch(WHAT, text)?,
                false => {}
            }
        }
        self.tell_history()
    }

    /// Says which migrations were applied, where nothing says it any more: a database that is open has
    /// all of them.
    fn tell_history(&self) -> Result<(), StoreError> {
        const WHAT: &str = "write which migrations were applied";
        let any = format!("SELECT EXISTS (SELECT 1 FROM {HISTORY})");
        let any: bool = self
            .0
            .query_row(&any, [], |row| row.get(0))
            .map_err(failed(WHAT))?;
        if any {
            return Ok(());
        }
        let mut made = Connection::open_in_memory().map_err(failed(WHAT))?;
        let runner = Runner::new(migrations().map_err(refused)?).set_grouped(true);
        runner.run(&mut made).map_err(refused)?;
        let sql = format!("SELECT version, name, applied_on, checksum FROM {HISTORY}");
        let mut rows = made.prepare(&sql).map_err(failed(WHAT))?;
        let mut rows = rows.query([]).map_err(failed(WHAT))?;
        let put = format!(
            "INSERT INTO {HISTORY} (version, name, applied_on, checksum) VALUES (?1, ?2, ?3, ?4)"
        );
        while let Some(row) = rows.next().map_err(failed(WHAT))? {
            let version: i64 = row.get(0).map_err(failed(WHAT))?;
            let texts = (1..4)
                .map(|at| text(row, at))
                .collect::<Result<Vec<_>, _>>();
            let texts = texts.map_err(failed(WHAT))?;
            let values = rusqlite::params![version, texts[0], texts[1], texts[2]];
            self.0.execute(&put, values).map_err(failed(WHAT))?;
        }
        Ok(())
    }

    /// Takes away what is made otherwise, or is too much.
    fn take_away(&self, fault: &SchemaDifference) -> Result<(), StoreError> {
        const WHAT: &str = "take away what is made otherwise";
        let SchemaDifference { kind, name, state } = fault;
        match (kind.as_str(), state) {
            (_, SchemaState::Missing) => Ok(()),
            (SEARCH_INDEX, _) => self.drop_virtual_table(name),
            ("table", _)
                if expected()?
                    .iter()
                    .any(|((_, of), object)| of == name && is_virtual(&object.text)) =>
            {
                self.drop_virtual_table(name)
            }
            (_, SchemaState::Unlike) => self.batch(WHAT, &format!("REINDEX {}", quoted(name))),
            _ => self.batch(WHAT, &format!("DROP {kind} IF EXISTS {}", quoted(name))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(sql: &str) -> Vec<String> {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("gently.db");
        drop(Sqlite::create(&path).unwrap());
        let hand = Connection::open(&path).unwrap();
        hand.execute_batch(sql).unwrap();
        drop(hand);
        let made = Sqlite::open(&path).unwrap();
        let told = made.schema_faults().unwrap();
        made.make_schema_again(&told).unwrap();
        let left = made.schema_faults().unwrap();
        assert!(left.iter().all(|fault| !fault.is_mendable()), "{left:?}");
        told.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_kind_of_difference_is_named_and_mended_unless_it_is_evidence() {
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
            ("DROP TABLE drift_event", "table drift_event is missing"),
            (
                "ALTER TABLE drift_event ADD COLUMN more TEXT",
                "table drift_event is another",
            ),
            (
                "DROP TABLE turn_fts_vocab",
                "table turn_fts_vocab is missing",
            ),
            (
                "PRAGMA ignore_check_constraints = ON; INSERT INTO scrub VALUES (7)",
                "table scrub is damaged",
            ),
        ] {
            assert_eq!(changed(sql), [told], "{sql}");
        }
        // What SQLite keeps for itself is nobody's.
        assert_eq!(changed("ANALYZE"), Vec::<String>::new());
    }

    /// Whatever is done to an index of words, it is named, and can be used again afterwards.
    #[test]
    fn a_search_index_that_can_not_be_used_is_named_and_made_anew() {
        let done = [
            ("DROP TABLE I", "is missing"),
            ("DROP TABLE I_data", "is damaged"),
            ("DROP TABLE I_idx", "is damaged"),
            ("DROP TABLE I_docsize", "is damaged"),
            ("DROP TABLE I_config", "is damaged"),
            ("DELETE FROM I_data WHERE id = 1", "is damaged"),
            (
                "UPDATE I_data SET block = x'0105' WHERE id = 1",
                "is damaged",
            ),
            ("UPDATE I_data SET block = x'ff' WHERE id = 1", "is damaged"),
            ("DELETE FROM I_data WHERE id = 10", "is damaged"),
            (
                "UPDATE I_data SET block = x'ffffffffff' WHERE id = 10",
                "is damaged",
            ),
            ("DELETE FROM I_config", OTHERWISE),
            ("UPDATE I_config SET v = 9 WHERE k = 'version'", OTHERWISE),
            ("UPDATE I_config SET v = x'00'", OTHERWISE),
            (
                "UPDATE I_config SET v = 0 WHERE k = 'secure-delete'",
                OTHERWISE,
            ),
            ("INSERT INTO I_config VALUES ('pgsz', 32)", OTHERWISE),
            (
                "INSERT INTO I (I, rank) VALUES ('rank', 'bm25(9)')",
                OTHERWISE,
            ),
            ("INSERT INTO I_config VALUES ('rank', 'none((')", OTHERWISE),
        ];
        for index in INDEX_TABLES {
            for (sql, told) in done {
                let sql = sql
                    .replace("I_", &format!("{index}_"))
                    .replace("TABLE I", &format!("TABLE {index}"))
                    .replace("INTO I (I,", &format!("INTO {index} ({index},"));
                let told = format!("search index {index} {told}");
                assert_eq!(changed(&sql), [told], "{sql}");
            }
        }
    }

    /// What is somebody's own stays, and the rest is made all the same.
    #[test]
    fn a_table_in_the_place_of_a_view_stays() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("gently.db");
        drop(Sqlite::create(&path).unwrap());
        let hand = Connection::open(&path).unwrap();
        let sql = "DROP VIEW messages; CREATE TABLE Messages (n); DROP TABLE project";
        hand.execute_batch(sql).unwrap();
        let made = Sqlite::open(&path).unwrap();
        let faults = made.schema_faults().unwrap();
        made.make_schema_again(&faults).unwrap();
        let left = made.schema_faults().unwrap();
        let left: Vec<String> = left.iter().map(ToString::to_string).collect();
        let mine = "table Messages is none of gently's";
        assert_eq!(left, ["view messages is missing", mine]);
    }

    const OTHERWISE: &str = "has other settings than gently gives it";

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
