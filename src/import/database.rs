//! A database of another program: read only, as it lies there, and never migrated.
//!
//! It is opened as one that nobody changes (`immutable`): no lock is taken, no log of writes is
//! replayed and no file is made beside it. What stands in such a log alone would be missing without a
//! word, so a database with one is not read. Only plain tables are read: a view could compute anything.

use std::collections::{HashMap, HashSet};
use std::io::Read as _;
use std::ops::Range;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::limits::Limit;
use rusqlite::types::{ToSqlOutput, Value as SqlValue, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, Row};

use super::SourceError;
use super::draft::{PieceFeed, short_hash};
use super::fault::ImportFault;
use super::file::ForeignFile;
use super::json::MAX_PIECE;
use crate::record::unseen::spelled_on_a_line;

/// How every SQLite database begins.
const HEADER: &[u8] = b"SQLite format 3\0";
/// Where it says how it is written and read, and how that is said of one with a log of writes.
const VERSIONS: Range<usize> = 18..20;
const WITH_LOG: u8 = 2;
/// Most rows that are read of one database: which belong together is in memory.
const MAX_ROWS: usize = 2_000_000;
/// After so many steps of a query it is looked whether anybody wants more of it.
const LOOK_EACH: i32 = 10_000;
/// So many steps a query may take for each byte of the file: a row takes some bytes, and some steps. Pages that
/// lead to one another again and again would keep it at work for years.
const STEPS_A_BYTE: u64 = 64;
/// So many more in any case.
const LEAST_STEPS: u64 = 5_000_000;
/// How tables are made that are not read.
const COMPUTED: &str = "has a generated column, which is computed as it is read";
const WITHOUT_NUMBERS: &str = "has no numbers of rows (WITHOUT ROWID)";

/// Why something can't be read of a database.
#[derive(Debug)]
pub(super) enum DatabaseFault {
    /// It costs its piece.
    Piece(ImportFault),
    /// It ends the reading.
    Torn(String),
}

impl From<ImportFault> for DatabaseFault {
    fn from(fault: ImportFault) -> DatabaseFault {
        DatabaseFault::Piece(fault)
    }
}

impl From<rusqlite::Error> for DatabaseFault {
    fn from(error: rusqlite::Error) -> DatabaseFault {
        match error.sqlite_error_code() {
            Some(ErrorCode::TooBig) => DatabaseFault::Piece(ImportFault::new(
                "too_large",
                format!("one of its texts has more than {MAX_PIECE} bytes"),
            )),
            _ => DatabaseFault::Torn(format!("the database can't be read: {error}")),
        }
    }
}

impl DatabaseFault {
    /// The end of the reading of a file.
    pub(super) fn of_file(self, file: &ForeignFile) -> SourceError {
        let (DatabaseFault::Torn(why) | DatabaseFault::Piece(ImportFault { detail: why, .. })) =
            self;
        file.error(why, "Import a copy of the database that is whole")
    }
}

/// A fault of a piece, apart from one that ends the reading.
pub(super) fn of_piece<T>(
    read: Result<T, DatabaseFault>,
) -> Result<Result<T, ImportFault>, DatabaseFault> {
    match read {
        Ok(piece) => Ok(Ok(piece)),
        Err(DatabaseFault::Piece(fault)) => Ok(Err(fault)),
        Err(torn) => Err(torn),
    }
}

/// A value that a query is given.
#[derive(Clone, Copy)]
pub(super) enum QueryValue<'a> {
    /// The number of a row.
    Row(i64),
    /// A text.
    Text(&'a str),
}

impl rusqlite::ToSql for QueryValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            QueryValue::Row(n) => ToSqlOutput::Owned(SqlValue::Integer(*n)),
            QueryValue::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        })
    }
}

/// A row of a query; its columns are counted from 0.
pub(super) struct ForeignRow<'a>(&'a Row<'a>);

impl ForeignRow<'_> {
    fn value(&self, column: usize) -> Result<ValueRef<'_>, DatabaseFault> {
        Ok(self.0.get_ref(column)?)
    }

    fn other(&self, column: usize, expected: &str) -> DatabaseFault {
        let name = self.0.as_ref().column_name(column).unwrap_or("?");
        DatabaseFault::Piece(ImportFault::shape(format!(
            "its column {name:?} is no {expected}"
        )))
    }

    /// A text.
    pub(super) fn text(&self, column: usize) -> Result<Option<String>, DatabaseFault> {
        match self.value(column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Ok(Some(text.to_owned())),
                Err(_) => {
                    let name = self.0.as_ref().column_name(column).unwrap_or("?");
                    let detail = format!("its column {name:?} is no UTF-8 text");
                    Err(ImportFault::new("not_text", detail).into())
                }
            },
            _ => Err(self.other(column, "text")),
        }
    }

    /// A text that has to be there.
    pub(super) fn needed_text(&self, column: usize) -> Result<String, DatabaseFault> {
        self.text(column)?.ok_or_else(|| self.other(column, "text"))
    }

    /// A number.
    pub(super) fn number(&self, column: usize) -> Result<Option<f64>, DatabaseFault> {
        match self.value(column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(n) => Ok(Some(n as f64)),
            ValueRef::Real(n) => Ok(Some(n)),
            _ => Err(self.other(column, "number")),
        }
    }

    /// A whole number that has to be there.
    pub(super) fn integer(&self, column: usize) -> Result<i64, DatabaseFault> {
        match self.value(column)? {
            ValueRef::Integer(n) => Ok(n),
            _ => Err(self.other(column, "whole number")),
        }
    }

    /// Whatever it is, as JSON.
    pub(super) fn json(&self, column: usize) -> Result<serde_json::Value, DatabaseFault> {
        Ok(match self.value(column)? {
            ValueRef::Null => serde_json::Value::Null,
            ValueRef::Integer(n) => n.into(),
            ValueRef::Real(n) => n.into(),
            _ => self.needed_text(column)?.into(),
        })
    }
}

/// How many steps a query has taken, and how many it may.
struct StepMeter {
    taken: Arc<AtomicU64>,
    most: u64,
}

impl StepMeter {
    /// Ends each query of a connection that takes too many steps, or of which nobody wants more.
    fn watch(connection: &mut Connection, file: &ForeignFile) -> rusqlite::Result<StepMeter> {
        let meter = StepMeter {
            taken: Arc::default(),
            most: LEAST_STEPS.saturating_add(file.bytes().saturating_mul(STEPS_A_BYTE)),
        };
        let (taken, most, stop) = (Arc::clone(&meter.taken), meter.most, file.stop().clone());
        let is_enough = move || {
            let before = taken.fetch_add(LOOK_EACH.unsigned_abs().into(), Ordering::Relaxed);
            before > most || stop.is_cancelled()
        };
        connection.progress_handler(LOOK_EACH, Some(is_enough))?;
        Ok(meter)
    }

    /// A query begins.
    fn begin(&self) {
        self.taken.store(0, Ordering::Relaxed);
    }

    /// Why a query ended.
    fn fault(&self, error: rusqlite::Error) -> DatabaseFault {
        if error.sqlite_error_code() != Some(ErrorCode::OperationInterrupted) {
            return error.into();
        }
        DatabaseFault::Torn(match self.taken.load(Ordering::Relaxed) > self.most {
            true => format!(
                "the database is torn: its pages lead to one another again and again (a query of it took more than {} \
                 steps)",
                self.most
            ),
            false => "the import was stopped".to_owned(),
        })
    }
}

/// An open database.
pub(super) struct ForeignDatabase {
    connection: Connection,
    meter: StepMeter,
    /// The columns of each plain table.
    tables: HashMap<String, Vec<String>>,
    /// Tables that are not read, and why. What is computed as it is read could keep a reader at work for ever.
    strange: Vec<(String, &'static str)>,
}

impl ForeignDatabase {
    /// Opens one.
    pub(super) fn open(file: &ForeignFile) -> Result<ForeignDatabase, SourceError> {
        let mut head = Vec::new();
        let reader = file.reader()?;
        let read = reader.take(VERSIONS.end as u64).read_to_end(&mut head);
        read.map_err(|error| file.unread(&error))?;
        if !head.starts_with(HEADER) {
            return Err(file.error(
                "it is no SQLite database, or an encrypted one",
                "Name the file that the other program keeps its records in",
            ));
        }
        for (ending, what) in [("-wal", "a log of writes"), ("-journal", "a journal")] {
            if is_filled(&beside(file.path(), ending)) {
                return Err(file.error(
                    format!(
                        "{what} lies beside it ({}{ending}); what stands in that alone would not be read",
                        file.name()
                    ),
                    format!(
                        "End the program that writes to it, so that it puts all into the database, or make a \
                         whole copy (sqlite3 {} 'VACUUM INTO \"copy.db\"') and import that",
                        file.word()
                    ),
                ));
            }
        }
        let names = file.path().metadata().map_or(1, |found| found.nlink());
        if names > 1
            && head
                .get(VERSIONS)
                .is_some_and(|found| found.contains(&WITH_LOG))
        {
            return Err(file.error(
                format!(
                    "the file has {names} names (hard links) and keeps a log of writes, which lies beside the one that its \
                     program knows it by; what stands in that alone would not be read"
                ),
                format!(
                    "Make a whole copy of it under that name (sqlite3 NAME 'VACUUM INTO \"copy.db\"') and import that; all \
                     names are shown by: find / -xdev -samefile {}",
                    file.word()
                ),
            ));
        }
        let opened = Self::connect(file).map_err(|fault| fault.of_file(file))?;
        file.opened_by_path()?;
        Ok(opened)
    }

    fn connect(file: &ForeignFile) -> Result<ForeignDatabase, DatabaseFault> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(uri(file.path()), flags)?;
        let most = i32::try_from(MAX_PIECE).unwrap_or(i32::MAX);
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, most)?;
        connection.execute_batch(
            "PRAGMA query_only = ON; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;
             PRAGMA mmap_size = 0; PRAGMA cache_size = -8000; PRAGMA temp_store = MEMORY;",
        )?;
        let mut database = ForeignDatabase {
            meter: StepMeter::watch(&mut connection, file)?,
            connection,
            tables: HashMap::new(),
            strange: Vec::new(),
        };
        let mut names = Vec::new();
        // As SQLite understood them, however they are written.
        let plain =
            "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table'";
        database.rows(plain, &[], |row| {
            names.push((row.needed_text(0)?, row.integer(1)? != 0));
            Ok(())
        })?;
        for (name, has_no_numbers) in names {
            let mut columns = Vec::new();
            let (one, mut is_computed) = (QueryValue::Text(&name), false);
            let sql = "SELECT name, hidden FROM pragma_table_xinfo(?1)";
            database.rows(sql, &[one], |row| {
                columns.push(row.needed_text(0)?);
                is_computed |= row.integer(1)? != 0;
                Ok(())
            })?;
            match (is_computed, has_no_numbers) {
                (true, _) => database.strange.push((name, COMPUTED)),
                (false, true) => database.strange.push((name, WITHOUT_NUMBERS)),
                (false, false) => drop(database.tables.insert(name, columns)),
            }
        }
        Ok(database)
    }

    /// Refuses a database in which one of these tables is made so that it can't be read.
    pub(super) fn has_none_strange(
        &self,
        file: &ForeignFile,
        tables: &[&str],
    ) -> Result<(), SourceError> {
        let mut strange = self.strange.iter();
        let is_read = |name: &str| tables.iter().any(|table| name.eq_ignore_ascii_case(table));
        match strange.find(|(name, _)| is_read(name)) {
            None => Ok(()),
            Some((name, how)) => Err(file.error(
                format!(
                    "its table {} {how}, which the program that made the database never does",
                    spelled_on_a_line(name)
                ),
                "Import a copy in which that table is an ordinary one",
            )),
        }
    }

    /// The columns of a plain table; none where there is no such table.
    pub(super) fn columns(&self, table: &str) -> Option<&[String]> {
        self.tables.get(table).map(Vec::as_slice)
    }

    /// Whether a plain table has all these columns.
    pub(super) fn has(&self, table: &str, columns: &[&str]) -> bool {
        let found = self.columns(table).unwrap_or_default();
        let is_there = |column: &&str| found.iter().any(|one| one == column);
        !found.is_empty() && columns.iter().all(is_there)
    }

    /// A column for a query, or NULL where an older or newer version has none.
    pub(super) fn column_or_null<'a>(&self, table: &str, column: &'a str) -> &'a str {
        if self.has(table, &[column]) {
            column
        } else {
            "NULL"
        }
    }

    /// Hands on each row of a query.
    pub(super) fn rows(
        &self,
        sql: &str,
        values: &[QueryValue<'_>],
        mut take: impl FnMut(&ForeignRow<'_>) -> Result<(), DatabaseFault>,
    ) -> Result<(), DatabaseFault> {
        self.meter.begin();
        let fault = |error| self.meter.fault(error);
        let mut statement = self.connection.prepare_cached(sql).map_err(fault)?;
        let mut rows = statement.query(rusqlite::params_from_iter(values))?;
        while let Some(row) = rows.next().map_err(fault)? {
            take(&ForeignRow(row))?;
        }
        Ok(())
    }

    /// What is made of the only row of a query; none where there is none.
    pub(super) fn row<T>(
        &self,
        sql: &str,
        values: &[QueryValue<'_>],
        mut make: impl FnMut(&ForeignRow<'_>) -> Result<T, DatabaseFault>,
    ) -> Result<Option<T>, DatabaseFault> {
        let mut made = None;
        self.rows(sql, values, |row| {
            made = Some(make(row)?);
            Ok(())
        })?;
        Ok(made)
    }
}

/// A path with an ending more.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Whether there is a file that is not empty.
fn is_filled(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.len() > 0)
}

/// A path as SQLite's address of a file that nobody changes.
fn uri(path: &Path) -> String {
    let mut address = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                address.push(char::from(*byte));
            }
            other => address.push_str(&format!("%{other:02X}")),
        }
    }
    address + "?mode=ro&immutable=1"
}

/// Ids, by their hashes.
pub(super) struct SeenIds(HashSet<u64>);

impl SeenIds {
    /// The texts that a query gives; what is none is no id.
    pub(super) fn of(database: &ForeignDatabase, sql: &str) -> Result<SeenIds, DatabaseFault> {
        let mut seen = HashSet::new();
        database.rows(sql, &[], |row| {
            if let Ok(Some(id)) = of_piece(row.text(0))? {
                seen.insert(short_hash(&id));
            }
            match seen.len() > MAX_ROWS {
                true => Err(too_many_rows(MAX_ROWS)),
                false => Ok(()),
            }
        })?;
        Ok(SeenIds(seen))
    }

    /// Whether a text was among them.
    pub(super) fn has(&self, id: &str) -> bool {
        self.0.contains(&short_hash(id))
    }
}

fn too_many_rows(most: usize) -> DatabaseFault {
    DatabaseFault::Torn(format!("it has more than {most} rows in a table"))
}

/// Notes whose each row of a query is, its number and what it belongs to; one of which that can't be told costs
/// itself alone.
pub(super) fn group_rows(
    database: &ForeignDatabase,
    sql: &str,
    (table, name): (u8, &str),
    groups: &mut RowGroups,
    feed: &mut PieceFeed<'_>,
) -> Result<(), DatabaseFault> {
    group_rows_but(database, sql, (table, name), groups, feed, &|_| Ok(false))
}

/// The same, but for rows of which `is_left_out` says so.
pub(super) fn group_rows_but(
    database: &ForeignDatabase,
    sql: &str,
    (table, name): (u8, &str),
    groups: &mut RowGroups,
    feed: &mut PieceFeed<'_>,
    is_left_out: &dyn Fn(&ForeignRow<'_>) -> Result<bool, DatabaseFault>,
) -> Result<(), DatabaseFault> {
    database.rows(sql, &[], |row| {
        if is_left_out(row)? {
            return Ok(());
        }
        let number = row.integer(0)?;
        match of_piece(row.needed_text(1))? {
            Ok(of) => groups.add(&of, table, number)?,
            Err(fault) => feed.refuse(&format!("table {name}, row {number}"), None, fault),
        }
        Ok(())
    })
}

/// Rows of tables by what they belong to, in the order in which that is first seen.
pub(super) struct RowGroups {
    /// So many rows at most.
    most: usize,
    ranks: HashMap<u64, u32>,
    /// The rank of what it belongs to, which table it is of, and its number.
    rows: Vec<(u32, u8, i64)>,
}

impl RowGroups {
    /// Of rows that are all of what is read.
    pub(super) fn of_all() -> RowGroups {
        RowGroups::up_to(MAX_ROWS)
    }

    /// Of rows that only add to others.
    pub(super) fn of_some() -> RowGroups {
        RowGroups::up_to(MAX_ROWS / 8)
    }

    fn up_to(most: usize) -> RowGroups {
        RowGroups {
            most,
            ranks: HashMap::new(),
            rows: Vec::new(),
        }
    }

    /// Notes whose a row of a table is.
    pub(super) fn add(&mut self, of: &str, table: u8, row: i64) -> Result<(), DatabaseFault> {
        if self.rows.len() == self.most {
            return Err(too_many_rows(self.most));
        }
        let next = u32::try_from(self.ranks.len()).unwrap_or(u32::MAX);
        let rank = *self.ranks.entry(short_hash(of)).or_insert(next);
        self.rows.push((rank, table, row));
        Ok(())
    }

    /// All groups, each by table and number.
    pub(super) fn sorted(&mut self) -> impl Iterator<Item = &[(u32, u8, i64)]> {
        self.rows.sort_unstable();
        self.rows.chunk_by(|a, b| a.0 == b.0)
    }

    /// The rows of one, in their order; [`RowGroups::sorted`] was called before.
    pub(super) fn of(&self, of: &str) -> impl Iterator<Item = i64> + use<'_> {
        let rank = self.ranks.get(&short_hash(of)).copied();
        let start = rank.map_or(self.rows.len(), |rank| {
            self.rows.partition_point(|row| row.0 < rank)
        });
        let own = self.rows[start..].iter();
        own.take_while(move |row| Some(row.0) == rank)
            .map(|row| row.2)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::import::tests::{ReadPieces, read_path};
    use crate::record::ledger::imported::ImportFormat;

    /// A folder with a database that a script made, and its path.
    pub(in crate::import) fn made(script: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a ?#%.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(script).unwrap();
        connection.close().unwrap();
        (folder, path)
    }

    /// Reads a database that a script made; nothing is made or changed beside it.
    pub(in crate::import) fn read_made(format: ImportFormat, script: &str) -> ReadPieces {
        let (folder, path) = made(script);
        let before = std::fs::read(&path).unwrap();
        let read = read_path(format, &path);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(std::fs::read(&path).unwrap() == before);
        read
    }

    pub(in crate::import) fn opened(path: &Path) -> ForeignFile {
        ForeignFile::open(path, &CancellationToken::new()).unwrap()
    }

    fn why(format: ImportFormat, path: &Path) -> String {
        read_path(format, path).end.unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_database_that_can_be_read_says_so() {
        let (folder, path) = made("CREATE TABLE t(a)");
        for format in [ImportFormat::Llm, ImportFormat::Aua] {
            assert!(
                why(format, &path).contains("it has n"),
                "{}",
                why(format, &path)
            );
            let other = folder.path().join("other");
            for bytes in [
                &b""[..],
                b"SQLite format 3",
                b"SQLite format 2\0 and more",
                b"[]",
            ] {
                std::fs::write(&other, bytes).unwrap();
                assert!(why(format, &other).contains("no SQLite database"));
            }
            // A head alone, and one whose tables are torn.
            std::fs::write(&other, &std::fs::read(&path).unwrap()[..100]).unwrap();
            assert!(!why(format, &other).is_empty());
        }
    }

    #[test]
    fn a_log_of_writes_beside_it_is_said() {
        let (folder, path) = made("CREATE TABLE t(a)");
        for ending in ["-wal", "-journal"] {
            let log = beside(&path, ending);
            std::fs::write(&log, b"").unwrap();
            assert!(why(ImportFormat::Llm, &path).contains("neither the tables"));
            std::fs::write(&log, b"writes").unwrap();
            let why = why(ImportFormat::Llm, &path);
            assert!(
                why.contains("lies beside it") && why.contains(ending),
                "{why}"
            );
            std::fs::remove_file(&log).unwrap();
        }
        // Under another name of the file no log would be seen.
        let named = folder.path().join("named.db");
        std::fs::hard_link(&path, &named).unwrap();
        assert!(why(ImportFormat::Llm, &named).contains("neither the tables"));
        let hand = Connection::open(&path).unwrap();
        let mode = "PRAGMA journal_mode = WAL";
        hand.query_row(mode, [], |row| row.get::<_, String>(0))
            .unwrap();
        hand.execute_batch("CREATE TABLE newest(a)").unwrap();
        let why = why(ImportFormat::Llm, &named);
        assert!(
            why.contains("2 names") && why.contains("VACUUM INTO"),
            "{why}"
        );
    }

    /// A column that is computed keeps whoever reads it at work as long as its author likes.
    #[test]
    fn what_is_computed_as_it_is_read_is_not_read() {
        let slow = "AS (instr(hex(zeroblob(30000000)), hex(zeroblob(15000000))||'1'))";
        for column in ["created_at", "rowid", "more"] {
            let (_folder, path) = made(&format!(
                "CREATE TABLE conversations (conversation_id TEXT, title TEXT, {column} REAL {slow});
                 CREATE TABLE messages (message_id, conversation_id, role, content, created_at);"
            ));
            let why = why(ImportFormat::Aua, &path);
            assert!(
                why.contains("its table conversations has a generated column"),
                "{why}"
            );
        }
        let (_folder, path) = made(
            "CREATE TABLE responses (id, model, prompt, response, datetime_utc, conversation_id,
              duration_ms, more AS (1) STORED); CREATE TABLE mine(a, b AS (a));",
        );
        let why = why(ImportFormat::Llm, &path);
        assert!(
            why.contains("its table responses has a generated column"),
            "{why}"
        );
        let (_other, bare) = made(
            "CREATE TABLE conversations (conversation_id PRIMARY KEY, title) WITHOUT ROWID;
             CREATE TABLE messages (message_id, conversation_id, role, content, created_at);",
        );
        let bare = read_path(ImportFormat::Aua, &bare)
            .end
            .unwrap_err()
            .to_string();
        assert!(
            bare.contains("its table conversations has no numbers"),
            "{bare}"
        );
        // What is no table of theirs is nothing to anybody.
        let file = opened(&path);
        let database = ForeignDatabase::open(&file).unwrap();
        database.has_none_strange(&file, &["messages"]).unwrap();
        assert_eq!(database.columns("mine"), None);
    }

    #[test]
    fn a_virtual_table_is_known_however_it_is_written() {
        let (_folder, path) =
            made("CREATE VIRTUAL TABLE messages USING fts5(a); CREATE TABLE b(c)");
        let hand = Connection::open(&path).unwrap();
        hand.execute_batch(
            "PRAGMA writable_schema = ON;
             UPDATE sqlite_master SET sql = replace(sql, 'CREATE VIRTUAL', 'CREATE  VIRTUAL');",
        )
        .unwrap();
        drop(hand);
        let database = ForeignDatabase::open(&opened(&path)).unwrap();
        assert_eq!(database.columns("messages"), None);
        assert!(database.columns("b").is_some());
    }

    #[test]
    fn views_and_virtual_tables_are_no_tables() {
        let (_folder, path) = made(
            "CREATE TABLE plain(a, \"b c\"); CREATE VIEW seen AS SELECT 1 AS a;
             CREATE VIRTUAL TABLE words USING fts5(a);",
        );
        let file = opened(&path);
        let database = ForeignDatabase::open(&file).unwrap();
        assert!(database.has("plain", &["a", "b c"]) && !database.has("plain", &["c"]));
        assert!(!database.has("seen", &["a"]) && !database.has("words", &["a"]));
        assert_eq!(database.column_or_null("plain", "a"), "a");
        assert_eq!(database.column_or_null("plain", "z"), "NULL");
        let written = database.rows("CREATE TABLE more(a)", &[], |_| Ok(()));
        assert!(matches!(written, Err(DatabaseFault::Torn(_))));
    }

    #[test]
    fn values_of_other_kinds_cost_their_piece() {
        let (_folder, path) = made(&format!(
            "CREATE TABLE t(a, b); INSERT INTO t VALUES
             ('text', 1.5), (7, 'x'), (x'ff', NULL), (CAST(x'ff' AS TEXT), 1), (zeroblob({}), 1)",
            MAX_PIECE + 1
        ));
        let file = opened(&path);
        let database = ForeignDatabase::open(&file).unwrap();
        let reason = |column: usize, row: i64| {
            let sql = "SELECT a, b FROM t WHERE rowid = ?1";
            let read = database.row(sql, &[QueryValue::Row(row)], |row| match column {
                0 => row.text(0).map(drop),
                _ => row.number(1).map(drop),
            });
            match of_piece(read).unwrap() {
                Ok(_) => "read",
                Err(fault) => fault.reason,
            }
        };
        let texts = [1, 2, 3, 4, 5].map(|row| reason(0, row));
        assert_eq!(texts, ["read", "shape", "shape", "not_text", "too_large"]);
        let numbers = [1, 2, 3, 4].map(|row| reason(1, row));
        assert_eq!(numbers, ["read", "shape", "read", "read"]);
    }

    #[test]
    fn groups_are_in_the_order_in_which_they_are_seen_and_have_a_limit() {
        let mut groups = RowGroups::up_to(7);
        for (of, table, row) in [("b", 1, 5), ("a", 0, 9), ("b", 0, 7), ("b", 1, 2)] {
            groups.add(of, table, row).unwrap();
        }
        let seen: Vec<Vec<i64>> = groups
            .sorted()
            .map(|rows| rows.iter().map(|row| row.2).collect())
            .collect();
        assert_eq!(seen, [vec![7, 2, 5], vec![9]]);
        assert_eq!(groups.of("b").collect::<Vec<_>>(), [7, 2, 5]);
        assert_eq!(groups.of("z").count(), 0);
        groups.rows = vec![(0, 0, 0); 7];
        assert!(matches!(groups.add("b", 0, 1), Err(DatabaseFault::Torn(_))));
    }
}
