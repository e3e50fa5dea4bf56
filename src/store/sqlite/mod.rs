//! SQLite: WAL, `synchronous=FULL`, foreign keys on, migrations numbered and checksummed.

mod columns;
mod erase;
mod evidence;
mod find;
mod items;
mod judged;
mod many;
mod place;
mod read;
mod recall;
mod rows;
mod threads;
mod witnesses;
mod write;

use std::ops::Deref;
use std::path::Path;
use std::time::Duration;

use refinery::{Migration, Runner};
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use super::{AppliedMark, HomeFile, Store, StoreError, Write};
use crate::record::time::Seconds;

/// How long a locked database is waited for.
const BUSY_WAIT: Duration = Duration::from_secs(5);

/// More than the different statements of a turn, so that each is compiled once.
const STATEMENTS: usize = 192;

/// Pages copied at a time; the source is a snapshot, so nothing has to be let in between.
const COPY_PAGES: std::ffi::c_int = 4096;

/// The migrations, in order; a released one is never edited (its checksum is in every database).
const MIGRATIONS: &[(&str, &str)] = &[(
    "V1__home",
    include_str!("../../../migrations/sqlite/0001_home.sql"),
)];

/// The parts that indices of ids without an order have, the newest first: `line >> 15` of every
/// line there is, and of those that a transaction is adding.
const PARTS: &str = "WITH RECURSIVE part (p) AS (
       SELECT (SELECT ifnull(max(n), 0) + 32768 FROM log_line) >> 15
       UNION ALL SELECT p - 1 FROM part WHERE p > 0)";

/// A connection, or a transaction on one: queries run on both.
pub struct Handle<C>(C);

/// The database file of a home.
pub type Sqlite = Handle<Box<Connection>>;
type Tx<'a> = Handle<Transaction<'a>>;

/// Names what was being done when SQLite refused.
fn failed(what: &'static str) -> impl Fn(rusqlite::Error) -> StoreError {
    move |error| match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy {
            waited_s: BUSY_WAIT.as_secs(),
        },
        Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure) => StoreError::Sqlite {
            what,
            reason: format!(
                "{error}: is the disk full, or a limit on the size of files set? Make room and ask again"
            ),
        },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Damaged {
            what,
            reason: error.to_string(),
        },
        _ => StoreError::Sqlite {
            what,
            reason: error.to_string(),
        },
    }
}

impl Sqlite {
    /// Makes the database of a new home; fails when the file exists.
    ///
    /// Private to its owner: mode 0600, since it holds the texts and salts.
    pub fn create(path: &Path) -> Result<Self, StoreError> {
        private_file(path)?;
        let mut store = Self::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        store.migrate(path)?;
        Ok(store)
    }

    /// Opens the database of a home for writing, applying migrations that are new to it.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if !path.is_file() {
            return Err(StoreError::Missing {
                path: path.to_owned(),
            });
        }
        let mut store = Self::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        store.migrate(path)?;
        Ok(store)
    }

    /// Opens it for reading only.
    ///
    /// # Errors
    /// [`StoreError::OtherBuild`] for one that another build of gently made: its tables are others.
    pub fn open_read_only(path: &Path) -> Result<Self, StoreError> {
        if !path.is_file() {
            return Err(StoreError::Missing {
                path: path.to_owned(),
            });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags).map_err(failed("open"))?;
        if cannot_share(&connection) && !has_wal(path) {
            let flags = flags | OpenFlags::SQLITE_OPEN_URI;
            connection =
                Connection::open_with_flags(immutable_uri(path), flags).map_err(failed("open"))?;
        }
        connection
            .busy_timeout(BUSY_WAIT)
            .map_err(failed("set the busy timeout"))?;
        keep_statements(&connection)?;
        let ours = migrations().map_err(refused)?;
        is_current(&mut connection, &ours, path)?;
        Ok(Handle(Box::new(connection)))
    }

    /// Its version: that of the newest migration applied.
    pub fn version(&self) -> Result<i32, StoreError> {
        let sql = "SELECT ifnull(max(version), 0) FROM refinery_schema_history";
        self.0
            .query_row(sql, [], |row| row.get(0))
            .map_err(failed("read the version"))
    }

    /// Begins a read transaction, so that all that follows sees one state, until
    /// [`Sqlite::end_read`].
    pub fn begin_read(&self) -> Result<(), StoreError> {
        self.0
            .execute_batch("BEGIN")
            .map_err(failed("begin reading"))
    }

    /// Ends what [`Sqlite::begin_read`] began.
    pub fn end_read(&self) -> Result<(), StoreError> {
        self.0
            .execute_batch("COMMIT")
            .map_err(failed("end reading"))
    }

    /// Runs many queries on one state, without a lock of the file for each.
    pub fn reading<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, E>,
    ) -> Result<T, E> {
        self.begin_read()?;
        let done = work(self);
        let ended = self.end_read();
        let value = done?;
        ended?;
        Ok(value)
    }

    /// Copies the database, as [`Sqlite::begin_read`] sees it, to a new file of mode 0600. Durable
    /// on return.
    pub fn copy_to(&self, path: &Path) -> Result<(), StoreError> {
        private_file(path)?;
        let what = "copy the database";
        let mut copy = Connection::open(path).map_err(failed(what))?;
        {
            let backup = rusqlite::backup::Backup::new(&self.0, &mut copy).map_err(failed(what))?;
            backup
                .run_to_completion(COPY_PAGES, Duration::ZERO, None)
                .map_err(failed(what))?;
        }
        copy.close().map_err(|(_, e)| failed(what)(e))?;
        std::fs::File::open(path)
            .and_then(|file| file.sync_all())
            .map_err(|e| StoreError::Sqlite {
                what,
                reason: e.to_string(),
            })
    }

    /// Copies the write-ahead log into the database file, so that the file by itself is a whole
    /// database.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        self.0
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .map_err(failed("checkpoint"))
    }

    /// Empties the write-ahead log, so that no copy of an erased text is left; false while a reader
    /// holds it.
    pub fn scrub(&mut self) -> Result<bool, StoreError> {
        let what = "empty the write-ahead log";
        let busy: i64 = self
            .0
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
            .map_err(failed(what))?;
        if busy != 0 {
            return Ok(false);
        }
        self.0
            .execute("DELETE FROM scrub", [])
            .map(|_| true)
            .map_err(failed(what))
    }

    /// Whether erased texts may still stand in the write-ahead log.
    pub fn is_to_scrub(&self) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM scrub)";
        self.0
            .query_row(sql, [], |row| row.get(0))
            .map_err(failed("look for erased texts"))
    }

    /// Replaces what is noted of the home's files; what is not among them is forgotten. No
    /// evidence, so not synced.
    pub fn note_files(&mut self, files: &[HomeFile], now: Seconds) -> Result<(), StoreError> {
        self.0
            .execute_batch("PRAGMA synchronous = NORMAL")
            .map_err(failed("note the home's files"))?;
        let noted = erase::note_files(&mut self.0, files, now);
        self.0
            .execute_batch("PRAGMA synchronous = FULL")
            .map_err(failed("note the home's files"))?;
        noted
    }

    /// Copies the write-ahead log back when it has at least so many pages, for a moment when nobody
    /// waits.
    ///
    /// Whoever opens the database reads all of the log. Readers are not disturbed.
    pub fn shorten_wal(&self, pages: u32) -> Result<(), StoreError> {
        let what = "copy the write-ahead log back";
        let sql = "PRAGMA wal_checkpoint(NOOP)";
        let length: i64 = self
            .0
            .query_row(sql, [], |row| row.get(1))
            .map_err(failed(what))?;
        if length < i64::from(pages) {
            return Ok(());
        }
        self.0
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
            .map_err(failed(what))
    }

    /// SQLite's own check of the file: its words, `ok` when it is sound.
    pub fn integrity(&self) -> Result<String, StoreError> {
        self.0
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(failed("check the database file"))
    }

    fn connect(path: &Path, flags: OpenFlags) -> Result<Self, StoreError> {
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(failed("open"))?;
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
        // `Sqlite::shorten_wal`). The write-ahead log stays when a process ends: copying it back
        // would be three fsyncs a question.
        let stays = rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
        connection
            .set_db_config(stays, true)
            .map_err(failed("set up the connection"))?;
        keep_statements(&connection)?;
        Ok(Handle(Box::new(connection)))
    }

    /// Applies what is new to the database, or refuses one that another build made.
    fn migrate(&mut self, path: &Path) -> Result<(), StoreError> {
        let migrations = migrations().map_err(refused)?;
        if is_current(&mut self.0, &migrations, path)? {
            return Ok(());
        }
        Runner::new(&migrations)
            .set_grouped(true)
            .run(&mut *self.0)
            .map(drop)
            .map_err(refused)
    }
}

fn refused(error: refinery::Error) -> StoreError {
    StoreError::Migration {
        reason: error.to_string(),
    }
}

/// All migrations; the first is followed by the triggers that keep evidence.
fn migrations() -> Result<Vec<Migration>, refinery::Error> {
    let all = MIGRATIONS.iter().enumerate();
    all.map(|(n, (name, sql))| match n {
        0 => Migration::unapplied(name, &format!("{sql}\n{}", evidence::triggers())),
        _ => Migration::unapplied(name, sql),
    })
    .collect()
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

/// Each statement is compiled once.
fn keep_statements(connection: &Connection) -> Result<(), StoreError> {
    // Else one may be compiled anew for the values that are bound to it.
    let stable = rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG;
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
        .map_err(|e| StoreError::Sqlite {
            what: "create the database file",
            reason: e.to_string(),
        })
}

impl Store for Sqlite {
    fn transact(
        &mut self,
        work: &mut dyn FnMut(&mut dyn Write) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let tx = self
            .0
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed("begin"))?;
        let mut tx: Tx<'_> = Handle(tx);
        let before = tx.last_turn()?;
        work(&mut tx)?;
        tx.make_searchable(before)?;
        tx.0.commit().map_err(failed("commit"))
    }

    fn mark_applied(&mut self, applied: &AppliedMark) -> Result<(), StoreError> {
        // NORMAL in WAL mode: no fsync. A lost mark is harmless, and a user waits for two fsyncs,
        // not three.
        self.0
            .execute_batch("PRAGMA synchronous = NORMAL")
            .map_err(failed("mark as applied"))?;
        let marked = write::mark_applied(&self.0, applied);
        self.0
            .execute_batch("PRAGMA synchronous = FULL")
            .map_err(failed("mark as applied"))?;
        marked
    }
}

/// Queries of one row, or none.
fn optional<T>(result: rusqlite::Result<T>) -> rusqlite::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(rusqlite::Error::QueryReturnedNoRows) => Ok(None),
        Err(error) => Err(error),
    }
}

impl<C: Deref<Target = Connection>> Handle<C> {
    fn connection(&self) -> &Connection {
        &self.0
    }
}
