//! SQLite: WAL, `synchronous=FULL`, foreign keys on, migrations numbered and checksummed.

mod beginnings;
mod convert;
mod evidence;
mod index_faults;
mod index_pages;
mod index_words;
mod journal;
mod marks;
mod schema;
mod search;
mod stems;

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::mem::ManuallyDrop;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use refinery::{Migration, Runner};
use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, ToSql, params_from_iter};
use zeroize::Zeroizing;

use super::cipher::{self, CipherKey, SealFault};
use super::driver::{
    Driver, EachRow, IndexMatch, ReaderWait, ResultRow, SearchIndex, SearchQuery, SearchTerm,
    SqlValue, TextCheck, TextQuery, TextSpan, TransactionMode,
};
use super::{SchemaDifference, StoreError};
use crate::os::{kind_of, why_unread};
use beginnings::WordCheck;

pub use convert::{
    ConvertStep, ConvertWatch, convert, left_unfinished, remove_unfinished, unfinished_file,
};
pub use journal::{ForeignJournal, foreign_journal};

/// What the database is called where nothing says where it lies.
const DATABASE: &str = "gently.db";

/// Whether the log of writes is left as it is by the last one who closes the database.
const LOG_STAYS: DbConfig = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;

/// How long a locked database is waited for.
const BUSY_WAIT: Duration = Duration::from_secs(5);
/// How long until what SQLite does not wait for is tried again.
const AT_ONCE_WAIT: Duration = Duration::from_millis(20);

/// More than the different statements of a turn, so that each is compiled once.
const STATEMENTS: usize = 192;

/// Pages copied at a time; the source is a snapshot, so nothing has to be let in between.
const COPY_PAGES: std::ffi::c_int = 4096;

/// The migrations, in order; a released one is never edited (its checksum is in every database).
const MIGRATIONS: &[(&str, &str)] = &[
    (
        "V1__home",
        include_str!("../../../migrations/sqlite/0001_home.sql"),
    ),
    (
        "V2__conversations",
        include_str!("../../../migrations/sqlite/0002_conversations.sql"),
    ),
    (
        "V3__beginnings",
        include_str!("../../../migrations/sqlite/0003_beginnings.sql"),
    ),
    (
        "V4__measures",
        include_str!("../../../migrations/sqlite/0004_measures.sql"),
    ),
    (
        "V5__corrections",
        include_str!("../../../migrations/sqlite/0005_corrections.sql"),
    ),
    (
        "V6__councils",
        include_str!("../../../migrations/sqlite/0006_councils.sql"),
    ),
    (
        "V7__handoffs",
        include_str!("../../../migrations/sqlite/0007_handoffs.sql"),
    ),
    (
        "V8__reports",
        include_str!("../../../migrations/sqlite/0008_reports.sql"),
    ),
    (
        "V9__utility",
        include_str!("../../../migrations/sqlite/0009_utility.sql"),
    ),
    (
        "V10__reports",
        include_str!("../../../migrations/sqlite/0010_reports.sql"),
    ),
    (
        "V11__imports",
        include_str!("../../../migrations/sqlite/0011_imports.sql"),
    ),
    (
        "V12__ended_sessions",
        include_str!("../../../migrations/sqlite/0012_ended_sessions.sql"),
    ),
    (
        "V13__erased_parts",
        include_str!("../../../migrations/sqlite/0013_erased_parts.sql"),
    ),
    (
        "V14__tombstones_of_handoffs",
        include_str!("../../../migrations/sqlite/0014_tombstones_of_handoffs.sql"),
    ),
];

/// A connection to the file, and the key that opens it where it is encrypted.
pub(super) struct Sqlite(Connection, Option<PageKey>);

/// Names what was being done when SQLite refused.
fn failed(what: &'static str) -> impl Fn(rusqlite::Error) -> StoreError {
    move |error| match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy {
            waited_s: BUSY_WAIT.as_secs(),
        },
        Some(ErrorCode::DiskFull) => StoreError::Full {
            file: DATABASE.to_owned(),
            what,
            reason: words(error),
        },
        Some(ErrorCode::SystemIoFailure) => StoreError::Io {
            file: DATABASE.to_owned(),
            what,
            reason: words(error),
        },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) if !is_of_an_index(&error) => {
            StoreError::Damaged {
                what,
                reason: words(error),
            }
        }
        code => {
            let reason = words(error);
            match code == Some(ErrorCode::DatabaseCorrupt) || is_altered(&reason) {
                true => StoreError::Altered { what, reason },
                false => StoreError::Query { what, reason },
            }
        }
    }
}

/// The same fault of the file at a place, where it is one of room or of the disk.
fn at_place(place: &Path) -> impl Fn(StoreError) -> StoreError {
    move |fault| {
        let file = place.display().to_string();
        match fault {
            StoreError::Full { what, reason, .. } => StoreError::Full { file, what, reason },
            StoreError::Io { what, reason, .. } => StoreError::Io { file, what, reason },
            other => other,
        }
    }
}

/// What SQLite said, without our own SQL.
fn words(error: rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqlInputError { msg, .. } => msg,
        other => other.to_string(),
    }
}

/// Whether it is a virtual table that is damaged, which a search index is.
fn is_of_an_index(error: &rusqlite::Error) -> bool {
    let found = error.sqlite_extended_error_code();
    found == Some(rusqlite::ffi::SQLITE_CORRUPT_VTAB)
}

/// Whether SQLite says that something is not as the migrations make it: our own statements name
/// nothing else.
fn is_altered(reason: &str) -> bool {
    const SAID: [&str; 10] = [
        "no such table",
        "no such column",
        "no such index",
        "no such fts5 table",
        "no such function",
        "has no column named",
        "vtable constructor failed",
        "invalid fts5 file format",
        "error in view",
        "is circularly defined",
    ];
    // Of a table of ours it would say which; so it says it of what is kept behind a search index.
    reason == "constraint failed" || SAID.iter().any(|said| reason.contains(said))
}

/// The same of a statement: what it says of a search index that is damaged.
fn failed_in(what: &'static str, sql: &str) -> impl Fn(rusqlite::Error) -> StoreError {
    let is_search = search::INDEX_TABLES.iter().any(|table| sql.contains(table));
    move |error| match is_search {
        true => search::index_failed(what)(error),
        false => failed(what)(error),
    }
}

/// What is at a place that has no file.
fn no_file(path: &Path) -> StoreError {
    let path = path.to_owned();
    match path.symlink_metadata() {
        Ok(found) => StoreError::NoFile {
            kind: kind_of(found.file_type()),
            path,
        },
        Err(fault) if fault.kind() == std::io::ErrorKind::NotFound => StoreError::Missing { path },
        Err(fault) => StoreError::Unreadable {
            path,
            reason: why_unread(&fault),
        },
    }
}

/// Refuses what can't be a database that was made: what is no file, and an empty one, in which SQLite
/// would make a new database.
fn is_made(path: &Path) -> Result<(), StoreError> {
    if !path.is_file() {
        return Err(no_file(path));
    }
    match path.metadata() {
        Ok(found) if found.len() == 0 => Err(StoreError::Empty {
            path: path.to_owned(),
        }),
        _ => Ok(()),
    }
}

impl Sqlite {
    /// Makes the database of a new home; fails when the file exists.
    ///
    /// Private to its owner: mode 0600, since it holds the texts and salts.
    pub(super) fn create(path: &Path) -> Result<Self, StoreError> {
        private_file(path)?;
        Self::opened(path)
    }

    /// The one door to the file of a database: a connection, opened with its key where it has one.
    ///
    /// `uri` is how SQLite is to name the file, where that is not its path.
    fn door(
        path: &Path,
        uri: Option<String>,
        flags: OpenFlags,
    ) -> Result<(Connection, Option<PageKey>), StoreError> {
        Self::door_with(path, uri, flags, "")
    }

    /// The same, with what each connection is told before it reads anything.
    fn door_with(
        path: &Path,
        uri: Option<String>,
        flags: OpenFlags,
        first: &str,
    ) -> Result<(Connection, Option<PageKey>), StoreError> {
        if let Some(journal) = foreign_journal(path) {
            return Err(SealFault::Journal(journal).at(path));
        }
        let told = |connection: &Connection| {
            let told = connection.execute_batch(first);
            told.map_err(failed("set up the connection"))
        };
        let found = cipher::key_of(path)?;
        let named = uri.map_or_else(|| path.to_owned(), PathBuf::from);
        let Some(found) = found else {
            let connection = handle(&named, flags)?;
            told(&connection)?;
            return Ok((connection, None));
        };
        // Before SQLite reads it: what is copied back from it could not be undone.
        if cipher::has_plain_log(path) {
            let log = cipher::log_beside(path);
            return Err(SealFault::PlainLog { log }.at(path));
        }
        for code in PAGE_CODES {
            let connection = handle(&named, flags)?;
            let key = PageKey::new(found.key.clone(), code);
            key.unlock(&connection)?;
            told(&connection)?;
            let read = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
            match read.map_err(|error| error.sqlite_error_code()) {
                Err(Some(ErrorCode::NotADatabase)) => {}
                // Whatever else is wrong is said where something is asked.
                _ => return Ok((connection, Some(key))),
            }
        }
        cipher::forget_key(path);
        if has_wal(path) && Self::alone(path, &found.key).is_some() {
            let log = cipher::log_beside(path);
            return Err(SealFault::OtherLog { log }.at(path));
        }
        Err(SealFault::WrongKey { from: found.from }.at(path))
    }

    /// A connection to the file of a database without the log of writes beside it, where a key opens that.
    ///
    /// It is never closed, as that would end the locks that SQLite has on the file in this process, which
    /// can't do its work anyhow.
    fn alone(path: &Path, key: &CipherKey) -> Option<ManuallyDrop<Connection>> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_URI;
        let uri = PathBuf::from(immutable_uri(path));
        PAGE_CODES.into_iter().find_map(|code| {
            let connection = ManuallyDrop::new(handle(&uri, flags).ok()?);
            PageKey::new(key.clone(), code).unlock(&connection).ok()?;
            let read = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
            read.ok().map(|()| connection)
        })
    }

    /// Opens what a conversion may be putting another file in the place of: anew where it did.
    ///
    /// Also where it opened: whoever has waited for a conversion that was killed behind its rename has
    /// the file of before, which nobody finds any more. From its first reading on it holds a lock, so that
    /// none begins while it is looked.
    fn opened_as_it_is<T>(
        path: &Path,
        open: impl Fn() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        /// More conversions than anybody makes while one waits.
        const MOST: usize = 8;
        for _ in 0..MOST {
            let before = cipher::place_of(path);
            let done = open();
            let is_replaced = cipher::place_of(path) != before;
            match done {
                Ok(_) | Err(StoreError::Damaged { .. } | StoreError::Sealed { .. })
                    if is_replaced => {}
                Err(StoreError::Busy { waited_s }) if unfinished_file(path).exists() => {
                    return Err(StoreError::Converting { waited_s });
                }
                done => return done,
            }
        }
        Err(StoreError::Converting { waited_s: 0 })
    }

    /// Opens the database of a home for writing, applying migrations that are new to it.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        is_made(path)?;
        Self::opened_as_it_is(path, || Self::opened(path))
    }

    /// A connection that writes, to tables of this build.
    fn opened(path: &Path) -> Result<Self, StoreError> {
        let store = Self::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE);
        let migrated = store.and_then(|mut store| store.migrate(path).map(|()| store));
        migrated.map_err(at_place(path))
    }

    /// The same fault, and of one of the disk which file it is about. Of damaged pages it is said where they
    /// are another database's, in the log of writes.
    fn placed(&self, fault: StoreError) -> StoreError {
        let Some(path) = self.0.path().map(Path::new) else {
            return fault;
        };
        let is_damaged = matches!(fault, StoreError::Damaged { .. });
        match &self.1 {
            Some(key) if is_damaged && key.is_log_at_fault(path) => {
                let log = cipher::log_beside(path);
                SealFault::OtherLog { log }.at(path)
            }
            _ => at_place(path)(fault),
        }
    }

    /// Opens it for reading only.
    ///
    /// # Errors
    /// [`StoreError::OtherBuild`] for one that another build of gently made: its tables are others.
    pub(super) fn open_read_only(path: &Path) -> Result<Self, StoreError> {
        is_made(path)?;
        Self::opened_as_it_is(path, || Self::opened_read_only(path))
    }

    /// Whether it could be opened: the reading alone of [`Sqlite::open_read_only`], which brings no tables
    /// of an earlier build forward.
    pub(super) fn look(path: &Path) -> Result<(), StoreError> {
        is_made(path)?;
        Self::opened_as_it_is(path, || {
            let foreign = foreign_journal(path);
            if foreign.is_none() && journal::is_beside(path) {
                // Its own, which whoever opens it next plays back.
                return Ok(());
            }
            let mut found = Self::reader(path)?;
            if !is_marked_as_ours(&found.0)? {
                let ours = migrations().map_err(refused)?;
                return is_current(&mut found.0, ours, path).map(drop);
            }
            // It changes with each record, so that a log of writes has it.
            let head = "SELECT count(*) FROM head";
            let read = found.0.query_row(head, [], |_| Ok(()));
            match read.map_err(|error| found.placed(failed("read the head")(error))) {
                Err(fault @ (StoreError::Sealed { .. } | StoreError::Damaged { .. })) => Err(fault),
                _ => Ok(()),
            }
        })
    }

    fn opened_read_only(path: &Path) -> Result<Self, StoreError> {
        if journal::is_beside(path) {
            // Who reads alone can't play it back; where nobody can, the reading says so.
            let _ = Self::opened(path);
        }
        let Sqlite(mut connection, key) = Self::reader(path)?;
        if !is_marked_as_ours(&connection)? {
            let ours = migrations().map_err(refused)?;
            if !is_current(&mut connection, ours, path)? {
                // Whoever reads wants this build's tables, too.
                Self::open(path).map_err(not_brought_forward)?;
            }
        }
        Ok(Sqlite(connection, key))
    }

    /// A connection that reads, whatever tables it finds.
    fn reader(path: &Path) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let (mut connection, mut key) = Self::door(path, None, flags)?;
        if cannot_share(&connection) && !has_wal(path) {
            let flags = flags | OpenFlags::SQLITE_OPEN_URI;
            (connection, key) = Self::door(path, Some(immutable_uri(path)), flags)?;
        }
        connection
            .busy_timeout(BUSY_WAIT)
            .map_err(failed("set the busy timeout"))?;
        // What a connection keeps for itself, words of texts among it, goes to no other file.
        connection
            .execute_batch("PRAGMA temp_store = MEMORY")
            .map_err(failed("keep what is temporary in memory"))?;
        keep_statements(&connection)?;
        Ok(Sqlite(connection, key))
    }

    fn connect(path: &Path, flags: OpenFlags) -> Result<Self, StoreError> {
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let (connection, key) = Self::door(path, None, flags)?;
        connection
            .busy_timeout(BUSY_WAIT)
            .map_err(failed("set the busy timeout"))?;
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;
                 PRAGMA secure_delete = ON; PRAGMA trusted_schema = OFF;
                 PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 16384;",
            )
            .map_err(failed("set up the connection"))?;
        // A batch changes some thousand pages in no order. With less memory they would be written
        // before the commit, and again; the copy of a page that a mark keeps would go through a
        // file; and the write-ahead log would be copied back within almost every commit (see
        // `Driver::shorten_wal`).
        keep_statements(&connection)?;
        Ok(Sqlite(connection, key))
    }

    /// Applies what is new to the database, or refuses one that another build made.
    fn migrate(&mut self, path: &Path) -> Result<(), StoreError> {
        if is_marked_as_ours(&self.0)? {
            return Ok(());
        }
        let migrations = migrations().map_err(refused)?;
        if !is_current(&mut self.0, migrations, path)? {
            let runner = Runner::new(migrations).set_grouped(true);
            if let Err(fault) = runner.run(&mut self.0) {
                // Another process may have been at it, and first.
                if !is_current(&mut self.0, migrations, path)? {
                    return Err(refused(fault));
                }
            }
        }
        let mark = format!("PRAGMA user_version = {}", own_mark());
        self.batch("mark the schema", &mark)
    }

    fn connection(&self) -> &Connection {
        &self.0
    }

    /// Runs statements without values.
    fn batch(&self, what: &'static str, sql: &str) -> Result<(), StoreError> {
        let done = self.0.execute_batch(sql).map_err(failed(what));
        done.map_err(|fault| self.placed(fault))
    }

    /// A pragma's answer: the value of one of its columns.
    fn pragma<T: rusqlite::types::FromSql>(
        &self,
        what: &'static str,
        pragma: &str,
        column: usize,
    ) -> Result<T, StoreError> {
        let value = self
            .0
            .query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(column));
        value.map_err(|error| self.placed(failed(what)(error)))
    }
}

fn refused(error: refinery::Error) -> StoreError {
    let what = "make its tables";
    let mut cause: Option<&dyn std::error::Error> = Some(&error);
    while let Some(found) = cause {
        let own = found.downcast_ref::<rusqlite::Error>();
        if own.and_then(rusqlite::Error::sqlite_error_code) == Some(ErrorCode::DiskFull) {
            return StoreError::Full {
                file: DATABASE.to_owned(),
                what,
                reason: found.to_string(),
            };
        }
        cause = found.source();
    }
    StoreError::Migration {
        reason: error.to_string(),
    }
}

/// Why a database of an earlier build can't be read: it can't be written.
fn not_brought_forward(fault: StoreError) -> StoreError {
    match fault {
        StoreError::Query { .. }
        | StoreError::Full { .. }
        | StoreError::Io { .. }
        | StoreError::Migration { .. } => StoreError::Migration {
            reason: format!(
                "it is of an earlier build, and has to be brought to this build's tables before it is read, which failed: {fault}"
            ),
        },
        other => other,
    }
}

/// All migrations, each followed by the triggers that keep the evidence of its tables. Made once in
/// a process, which opens several connections.
fn migrations() -> Result<&'static [Migration], refinery::Error> {
    static MADE: OnceLock<Vec<Migration>> = OnceLock::new();
    if let Some(made) = MADE.get() {
        return Ok(made);
    }
    let all = MIGRATIONS.iter().enumerate();
    let made = all.map(
        |(n, (name, sql))| match evidence::triggers(n + 1).as_str() {
            "" => Migration::unapplied(name, sql),
            triggers => Migration::unapplied(name, &format!("{sql}\n{triggers}")),
        },
    );
    let made = made.collect::<Result<Vec<_>, _>>()?;
    Ok(MADE.get_or_init(|| made))
}

/// What tells this build's tables from those of another in a glance: a hash of all migrations and
/// triggers, never 0, which SQLite gives to new databases. No proof of anything: where it is not
/// found, the history of migrations is read.
fn own_mark() -> i32 {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    static MADE: OnceLock<i32> = OnceLock::new();
    *MADE.get_or_init(|| {
        let mut hasher = DefaultHasher::new();
        let triggers = (1..=MIGRATIONS.len()).map(evidence::triggers);
        (MIGRATIONS, triggers.collect::<Vec<_>>()).hash(&mut hasher);
        let mark = i32::try_from(hasher.finish() >> 33).unwrap_or_default();
        mark.max(1)
    })
}

/// Whether this very build, or one with the same tables, has marked the database.
fn is_marked_as_ours(connection: &Connection) -> Result<bool, StoreError> {
    let found: i32 = connection
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .map_err(failed("read the mark of the schema"))?;
    Ok(found == own_mark())
}

/// Whether all migrations are applied; false when some are still to be.
///
/// # Errors
/// [`StoreError::OtherBuild`] when one is applied that is none of ours.
fn is_current(
    connection: &mut Connection,
    ours: &[Migration],
    path: &Path,
) -> Result<bool, StoreError> {
    // A new database has no history to ask.
    let history = "SELECT count(*) FROM sqlite_schema WHERE name = 'refinery_schema_history'";
    let known: u32 = connection
        .query_row(history, [], |row| row.get(0))
        .map_err(failed("look for the version"))?;
    if known == 0 {
        return Ok(false);
    }
    let applied = Runner::new(ours)
        .get_applied_migrations(connection)
        .map_err(refused)?;
    let others = |migration: &Migration| !ours.iter().any(|one| mark_of(one) == mark_of(migration));
    match applied.iter().rfind(|one| others(one)) {
        None => Ok(applied.len() == ours.len()),
        Some(other) => Err(StoreError::OtherBuild {
            path: path.to_owned(),
            found: other.to_string(),
        }),
    }
}

/// By which code SQLCipher knows a page of a database: the one that new databases have, and what it
/// takes by itself, which the first encrypted ones had.
///
/// Processors have instructions for the first, so that a page takes half the time.
const PAGE_CODES: [&str; 2] = ["HMAC_SHA256", "HMAC_SHA512"];

/// A connection to a file, whose write-ahead log stays when a process ends: copying it back would be
/// three fsyncs a question. And whoever has a wrong key changes nothing.
fn handle(named: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(named, flags).map_err(failed("open"))?;
    connection
        .set_db_config(LOG_STAYS, true)
        .map_err(failed("set up the connection"))?;
    Ok(connection)
}

/// What opens the pages of a database.
struct PageKey {
    key: CipherKey,
    /// One of [`PAGE_CODES`].
    code: &'static str,
    /// Whether the log of writes is at fault, once that was asked.
    is_log_at_fault: OnceCell<bool>,
}

impl PageKey {
    fn new(key: CipherKey, code: &'static str) -> PageKey {
        PageKey {
            key,
            code,
            is_log_at_fault: OnceCell::new(),
        }
    }

    /// Whether a database of which pages are not what was written is sound without the log of writes beside
    /// it, which is another database's then.
    fn is_log_at_fault(&self, path: &Path) -> bool {
        let is_sound = |file: ManuallyDrop<Connection>| {
            let words = file.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
            words.is_ok_and(|words| words == "ok")
        };
        let look = || has_wal(path) && Sqlite::alone(path, &self.key).is_some_and(is_sound);
        *self.is_log_at_fault.get_or_init(look)
    }

    /// Gives SQLCipher the key, before anything is read. What it would say of a wrong one on standard
    /// error, gently says itself; and what SQLite sorts stays in memory.
    fn unlock(&self, connection: &Connection) -> Result<(), StoreError> {
        let literal = self.key.literal();
        let sql = [
            "PRAGMA cipher_log_level = NONE; PRAGMA temp_store = MEMORY; PRAGMA key = \"",
            &literal,
            "\"; PRAGMA cipher_hmac_algorithm = ",
            self.code,
        ];
        let mut whole = Zeroizing::new(String::with_capacity(256));
        sql.iter().for_each(|part| whole.push_str(part));
        connection
            .execute_batch(&whole)
            .map_err(failed("give the database its key"))
    }
}

/// Each statement is compiled once.
fn keep_statements(connection: &Connection) -> Result<(), StoreError> {
    // Else one may be compiled anew for the values that are bound to it.
    let stable = DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG;
    connection
        .set_db_config(stable, true)
        .map_err(failed("set up the connection"))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(())
}

/// Whether the database can't be read for want of a place for the readers' shared memory: on a
/// read-only disk.
fn cannot_share(connection: &Connection) -> bool {
    let read = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
    matches!(read, Err(rusqlite::Error::SqliteFailure(e, _)) if e.code == rusqlite::ErrorCode::CannotOpen)
}

/// Whether the newest state may be in the write-ahead log, beside the database.
fn has_wal(path: &Path) -> bool {
    let mut wal = path.as_os_str().to_owned();
    wal.push("-wal");
    std::fs::metadata(wal).is_ok_and(|file| file.len() > 0)
}

/// The database as a file that nobody changes, which a file on a read-only disk is.
fn immutable_uri(path: &Path) -> String {
    let escaped = path
        .to_string_lossy()
        .replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23");
    format!("file:{escaped}?immutable=1")
}

/// What tells one migration from another.
fn mark_of(migration: &Migration) -> (i32, u64) {
    (migration.version(), migration.checksum())
}

#[cfg(unix)]
fn private_file(path: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map(|_| ())
        .map_err(|e| StoreError::Query {
            what: "create the database file",
            reason: e.to_string(),
        })
}

impl ToSql for SqlValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            SqlValue::Null => ValueRef::Null,
            SqlValue::Integer(number) => ValueRef::Integer(*number),
            SqlValue::Real(number) => ValueRef::Real(*number),
            SqlValue::Text(text) => ValueRef::Text(text.as_bytes()),
            SqlValue::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl ResultRow for Row<'_> {
    fn value(&self, at: usize) -> SqlValue<'_> {
        match self.get_ref(at) {
            Ok(ValueRef::Integer(number)) => SqlValue::Integer(number),
            Ok(ValueRef::Real(number)) => SqlValue::Real(number),
            Ok(ValueRef::Text(text)) => match std::str::from_utf8(text) {
                Ok(text) => SqlValue::Text(text.into()),
                Err(_) => SqlValue::Blob(text.into()),
            },
            Ok(ValueRef::Blob(bytes)) => SqlValue::Blob(bytes.into()),
            Ok(ValueRef::Null) | Err(_) => SqlValue::Null,
        }
    }

    fn column(&self, at: usize) -> String {
        let statement: &rusqlite::Statement<'_> = self.as_ref();
        let name = statement.column_name(at);
        name.map_or_else(|_| format!("column {at}"), str::to_owned)
    }
}

impl Driver for Sqlite {
    fn query(
        &self,
        what: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
        each: &mut EachRow<'_>,
    ) -> Result<(), StoreError> {
        let failed = |error| self.placed(failed_in(what, sql)(error));
        let mut statement = self.0.prepare_cached(sql).map_err(&failed)?;
        let values = params_from_iter(values);
        let mut rows = statement.query(values).map_err(&failed)?;
        while let Some(row) = rows.next().map_err(&failed)? {
            if each(row)? == ControlFlow::Break(()) {
                break;
            }
        }
        Ok(())
    }

    fn execute(
        &self,
        what: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
    ) -> Result<usize, StoreError> {
        self.0
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(params_from_iter(values)))
            .map_err(|error| self.placed(failed_in(what, sql)(error)))
    }

    fn begin(&self, mode: TransactionMode) -> Result<(), StoreError> {
        match mode {
            TransactionMode::Read => self.batch("begin reading", "BEGIN"),
            TransactionMode::Write => self.batch("begin", "BEGIN IMMEDIATE"),
        }
    }

    fn commit(&self) -> Result<(), StoreError> {
        self.batch("commit", "COMMIT")
    }

    fn roll_back(&self) {
        if !self.0.is_autocommit() {
            // What can't be undone now is undone when the connection is closed.
            let _ = self.0.execute_batch("ROLLBACK");
        }
    }

    fn set_durable(&self, durable: bool) -> Result<(), StoreError> {
        // NORMAL in WAL mode: no fsync.
        let synchronous = if durable { "FULL" } else { "NORMAL" };
        let sql = format!("PRAGMA synchronous = {synchronous}");
        self.batch("set how durable a note is", &sql)
    }

    fn written(&self) -> Result<u64, StoreError> {
        // A full disk, among others, ends the transaction, and what is written then would stand by
        // itself.
        if self.0.is_autocommit() {
            let reason = "SQLite has undone the transaction".to_owned();
            return Err(StoreError::Query {
                what: "go on with a transaction",
                reason,
            });
        }
        Ok(self.0.total_changes())
    }

    fn version(&self) -> Result<u32, StoreError> {
        let sql = "SELECT ifnull(max(version), 0) FROM refinery_schema_history";
        self.0
            .query_row(sql, [], |row| row.get(0))
            .map_err(failed("read the version"))
    }

    fn index_texts(&self, index: SearchIndex, numbers: (u64, u64)) -> Result<(), StoreError> {
        self.add_words(index, numbers)
            .map_err(|fault| self.placed(fault))
    }

    fn forget_texts(&self, index: SearchIndex, numbers: (u64, u64)) -> Result<(), StoreError> {
        self.remove_words(index, numbers)
            .map_err(|fault| self.placed(fault))
    }

    fn count_texts(&self, index: SearchIndex, word: &str, most: u32) -> Result<u64, StoreError> {
        self.count_word(index, word, most)
    }

    fn hits(&self, query: &SearchQuery<'_>) -> (String, SqlValue<'static>) {
        search::hits(query)
    }

    fn fits(&self, index: SearchIndex, wanted: &TextQuery) -> Result<IndexMatch, StoreError> {
        search::fits(index, wanted)
    }

    fn text_check(&self, wanted: &TextQuery) -> Result<Option<Box<dyn TextCheck>>, StoreError> {
        WordCheck::of(wanted)
    }

    fn marks(
        &self,
        terms: &[SearchTerm],
        texts: &[&str],
    ) -> Result<Vec<Vec<TextSpan>>, StoreError> {
        marks::marks(terms, texts)
    }

    fn stems(&self, texts: &[&str]) -> Result<Vec<BTreeSet<String>>, StoreError> {
        stems::stems(texts)
    }

    fn fitting(&self, wanted: &TextQuery, texts: &[&str]) -> Result<Vec<bool>, StoreError> {
        search::fitting(wanted, texts)
    }

    fn indexed(&self, index: SearchIndex) -> Result<u64, StoreError> {
        self.entries(index)
    }

    fn search_faults(&self, index: SearchIndex, most: u32) -> Result<Vec<String>, StoreError> {
        self.differences(index, most)
    }

    fn count_search_faults(&self, index: SearchIndex) -> Result<u64, StoreError> {
        self.count_differences(index)
    }

    fn has_words_of_texts(&self, index: SearchIndex) -> Result<bool, StoreError> {
        self.compare_words(index)
    }

    fn index_again(&self, index: SearchIndex) -> Result<(), StoreError> {
        self.rebuild_words(index)
            .map_err(|fault| self.placed(fault))
    }

    fn is_index_sound(&self, index: SearchIndex) -> Result<bool, StoreError> {
        self.is_sound(index)
    }

    fn rewrite_index(&self, index: SearchIndex) -> Result<(), StoreError> {
        self.rewrite_words(index)
            .map_err(|fault| self.placed(fault))
    }

    fn schema_faults(&self) -> Result<Vec<SchemaDifference>, StoreError> {
        Sqlite::schema_faults(self)
    }

    fn make_schema_again(&self, faults: &[SchemaDifference]) -> Result<(), StoreError> {
        Sqlite::make_schema_again(self, faults)
    }

    fn is_encrypted(&self) -> bool {
        self.1.is_some()
    }

    fn copy_to(&self, path: &Path) -> Result<(), StoreError> {
        private_file(path)?;
        let what = "copy the database";
        let failed = |error| at_place(path)(failed(what)(error));
        let mut copy = Connection::open(path).map_err(failed)?;
        if let Some(key) = &self.1 {
            key.unlock(&copy)?;
        }
        rusqlite::backup::Backup::new(&self.0, &mut copy)
            .and_then(|backup| backup.run_to_completion(COPY_PAGES, Duration::ZERO, None))
            .map_err(failed)?;
        copy.close().map_err(|(_, e)| failed(e))?;
        std::fs::File::open(path)
            .and_then(|file| file.sync_all())
            .map_err(|e| StoreError::Query {
                what,
                reason: e.to_string(),
            })
    }

    fn checkpoint(&self, wait: ReaderWait) -> Result<bool, StoreError> {
        let what = "empty the write-ahead log";
        let waits = |time: Duration| self.0.busy_timeout(time).map_err(failed(what));
        if wait == ReaderWait::None {
            waits(Duration::ZERO)?;
        }
        let begun = Instant::now();
        let is_empty = loop {
            let is_empty = self
                .pragma::<i64>(what, "wal_checkpoint(TRUNCATE)", 0)
                .map(|busy| busy == 0);
            // SQLite waits for readers, and not for another connection that empties the log at this moment.
            let is_over = wait == ReaderWait::None || begun.elapsed() >= BUSY_WAIT;
            if is_over || !matches!(is_empty, Ok(false)) {
                break is_empty;
            }
            std::thread::sleep(AT_ONCE_WAIT);
        };
        waits(BUSY_WAIT)?;
        is_empty
    }

    fn shorten_wal(&self, pages: u32) -> Result<(), StoreError> {
        let what = "copy the write-ahead log back";
        let length: i64 = self.pragma(what, "wal_checkpoint(NOOP)", 1)?;
        if length < i64::from(pages) {
            return Ok(());
        }
        self.pragma::<i64>(what, "wal_checkpoint(PASSIVE)", 0)
            .map(drop)
    }

    fn integrity(&self) -> Result<String, StoreError> {
        const WHAT: &str = "check the database file";
        let failed = |error| self.placed(failed(WHAT)(error));
        let mut statement = self.0.prepare("PRAGMA quick_check").map_err(&failed)?;
        let told = statement
            .query_map([], |row| schema::text(row, 0))
            .map_err(&failed)?;
        let mut of_an_index = None;
        for line in told {
            let line = line.map_err(&failed)?;
            match line.starts_with("fts5:") || line.contains("index for FTS5 table") {
                true => of_an_index = Some(line),
                false if line == "ok" => {}
                false => {
                    let reason = line.clone();
                    let damaged = StoreError::Damaged { what: WHAT, reason };
                    return match self.placed(damaged) {
                        fault @ StoreError::Sealed { .. } => Err(fault),
                        _ => Ok(line),
                    };
                }
            }
        }
        match of_an_index {
            Some(reason) => Err(StoreError::Altered { what: WHAT, reason }),
            None => Ok("ok".to_owned()),
        }
    }

    fn broken_references(&self) -> Result<u64, StoreError> {
        let failed = failed("check foreign keys");
        let sql = "PRAGMA foreign_key_check";
        let mut statement = self.0.prepare(sql).map_err(&failed)?;
        let mut rows = statement.query([]).map_err(&failed)?;
        let mut count = 0;
        while let Some(row) = rows.next().map_err(&failed)? {
            // A table that is somebody's own is told of by the schema.
            let table = schema::text(row, 0).map_err(&failed)?;
            count += u64::from(schema::is_ours(&table)?);
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A full disk is said in words, not in SQLite's.
    #[test]
    fn a_full_disk_is_called_one() {
        let home = tempfile::tempdir().unwrap();
        let made = Sqlite::create(&home.path().join("gently.db")).unwrap();
        let pages: u32 = made.pragma("count pages", "page_count", 0).unwrap();
        let most = format!("PRAGMA max_page_count = {pages}");
        let mut set = made.0.prepare(&most).unwrap();
        set.query_row([], |row| row.get::<_, u32>(0)).unwrap();
        let big = "INSERT INTO home_file VALUES ('x', hex(zeroblob(1000000)), 1)";
        let full = made.batch("write a row", big).unwrap_err();
        assert!(matches!(full, StoreError::Full { .. }), "{full:?}");
        let words = full.to_string();
        let place = home.path().join("gently.db");
        let begin = format!("the disk that {} is on is full", place.display());
        assert!(words.starts_with(&begin), "{words}");
        assert!(words.contains("can't write a row. What was recorded before is whole"));
        let put = "INSERT INTO home_file VALUES ('y', hex(zeroblob(1000000)), 1)";
        let again = made.execute("write a row", put, &[]).unwrap_err();
        assert_eq!(again.to_string(), words);
        let rows = made.pragma::<String>("look", "quick_check", 0).unwrap();
        assert_eq!(rows, "ok");
    }

    /// A new home on a full disk says so, too.
    #[test]
    fn tables_that_have_no_room_are_told_so() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("gently.db");
        private_file(&path).unwrap();
        let mut made = Sqlite::connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap();
        let mut set = made.0.prepare("PRAGMA max_page_count = 8").unwrap();
        set.query_row([], |row| row.get::<_, u32>(0)).unwrap();
        drop(set);
        let full = made.migrate(&path).map_err(at_place(&path)).unwrap_err();
        assert!(matches!(full, StoreError::Full { .. }), "{full:?}");
        let words = full.to_string();
        assert!(words.contains(&path.display().to_string()), "{words}");
    }

    #[test]
    fn an_emptied_database_is_called_that_and_stays_empty() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("gently.db");
        std::fs::write(&path, "").unwrap();
        for fault in [
            Sqlite::open(&path).err(),
            Sqlite::open_read_only(&path).err(),
            Sqlite::look(&path).err(),
        ] {
            assert!(matches!(fault, Some(StoreError::Empty { .. })), "{fault:?}");
        }
        assert_eq!(path.metadata().unwrap().len(), 0);
    }

    #[test]
    fn a_look_brings_no_tables_forward() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("gently.db");
        private_file(&path).unwrap();
        let mut old = Sqlite::connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap();
        let first = Runner::new(&migrations().unwrap()[..1]).set_grouped(true);
        first.run(&mut old.0).unwrap();
        Sqlite::look(&path).unwrap();
        assert_eq!(old.version().unwrap(), 1);
        drop(Sqlite::open_read_only(&path).unwrap());
        assert_ne!(old.version().unwrap(), 1);
    }

    /// A migration is one transaction: one that fails in the middle leaves nothing, and the next
    /// process does all of it.
    #[test]
    fn a_migration_that_fails_leaves_what_was_there() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("gently.db");
        private_file(&path).unwrap();
        let ours = migrations().unwrap();
        let broken = format!("{}; INSERT INTO nowhere VALUES (1);", MIGRATIONS[1].1);
        let broken = Migration::unapplied(MIGRATIONS[1].0, &broken).unwrap();
        let mut old = Sqlite::connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap();
        let first = Runner::new(&ours[..1]).set_grouped(true);
        first.run(&mut old.0).unwrap();
        let both = Runner::new(&[ours[0].clone(), broken]).set_grouped(true);
        assert!(both.run(&mut old.0).is_err());
        assert_eq!(old.version().unwrap(), 1);
        assert!(old.batch("look", "SELECT * FROM conversation").is_err());
        drop(old);
        let new = Sqlite::open(&path).unwrap();
        let newest = migrations().unwrap().iter().map(Migration::version).max();
        let newest = u32::try_from(newest.unwrap()).unwrap();
        assert_eq!(new.version().unwrap(), newest);
        new.batch("look", "SELECT * FROM conversation").unwrap();
        assert!(is_marked_as_ours(&new.0).unwrap());
    }
}
