//! A plain database into an encrypted one, and back: written beside it, compared, then renamed.

use std::fs::{File, FileType, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, params};

use super::schema::quoted;
use super::{DATABASE, LOG_STAYS, PAGE_CODES, Sqlite, at_place, failed, no_file, private_file};
use crate::os::{Leftover, uninterrupted};
use crate::store::StoreError;
use crate::store::cipher::{CAN_ENCRYPT, FoundKey, SealFault, remember_key};

/// How far a conversion is, in order. The old file holds until [`ConvertStep::Synced`] is passed,
/// the new one from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConvertStep {
    /// Nobody else has the database open; nothing is written.
    Begun,
    /// The new file is written.
    Written,
    /// It holds what the old one does.
    Checked,
    /// It is on the disk.
    Synced,
    /// It has the name of the old one.
    Renamed,
}

impl ConvertStep {
    /// All steps, in order.
    pub const ALL: [ConvertStep; 5] = [
        ConvertStep::Begun,
        ConvertStep::Written,
        ConvertStep::Checked,
        ConvertStep::Synced,
        ConvertStep::Renamed,
    ];
}

/// Called after each step; returning false ends the conversion there, as the end of the process
/// would.
pub type ConvertWatch<'a> = &'a dyn Fn(ConvertStep) -> bool;

const WHAT: &str = "convert the database";

/// How long somebody is waited for who only looks something up.
const PASSING: Duration = Duration::from_secs(1);

/// The file that a conversion writes, until it is whole.
pub fn unfinished_file(path: &Path) -> PathBuf {
    beside(path, ".new")
}

pub(super) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// How the files end that a conversion writes.
const UNFINISHED: [&str; 4] = [".new", ".new-journal", ".new-wal", ".new-shm"];

/// The first of the files beside a database that have a name of what a conversion writes, and what it
/// is. What readers share is left out: it holds nothing of a database.
pub fn left_unfinished(path: &Path) -> Option<(PathBuf, FileType)> {
    let named = UNFINISHED.iter().filter(|end| !end.ends_with("-shm"));
    named.map(|end| beside(path, end)).find_map(|left| {
        let found = left.symlink_metadata().ok()?;
        Some((left, found.file_type()))
    })
}

/// Takes away what a conversion left that did not come to its end; whether there was any. A link is
/// taken away and not what it leads to; a folder, which no conversion makes, stays. For who holds the
/// writer's lock.
pub fn remove_unfinished(path: &Path) -> Result<bool, StoreError> {
    let mut any = false;
    for end in UNFINISHED {
        let left = beside(path, end);
        if left.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            continue;
        }
        match std::fs::remove_file(&left) {
            Ok(()) => any = true,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => {
                return Err(io_failed("take away what a conversion left", &left)(e));
            }
        }
    }
    Ok(any)
}

fn io_failed(what: &'static str, file: &Path) -> impl Fn(std::io::Error) -> StoreError {
    move |e| StoreError::Io {
        file: file.display().to_string(),
        what,
        reason: e.to_string(),
    }
}

/// Writes the database anew, encrypted by a key or plain, and puts it in the place of the old one.
/// Durable on return. The caller holds the writer's lock, and has closed the database.
///
/// # Errors
/// [`StoreError::Busy`] when somebody else has it open. [`StoreError::NotSynced`] when the new file is in
/// its place, and may not outlive a power cut. After any other error the old file is there as it was, and
/// nothing beside it.
pub fn convert(
    path: &Path,
    to: Option<&FoundKey>,
    watch: ConvertWatch<'_>,
) -> Result<(), StoreError> {
    convert_and_sync(path, to, watch, &sync_folder)
}

/// The same; `sync` brings to the disk that the new file has its name.
fn convert_and_sync(
    path: &Path,
    to: Option<&FoundKey>,
    watch: ConvertWatch<'_>,
    sync: &dyn Fn(&Path) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    if !CAN_ENCRYPT {
        return Err(SealFault::NoCipher.at(path));
    }
    if !path.is_file() {
        return Err(no_file(path));
    }
    remove_unfinished(path)?;
    let new = unfinished_file(path);
    let old = alone(path).map_err(at_place(path))?;
    pass(watch, ConvertStep::Begun)?;
    let beside = UNFINISHED.map(|end| Leftover::file(beside(path, end)));
    let made = make(&old, &new, to, watch);
    let made = made.and_then(|()| uninterrupted(|| put_in_place(path, &new, watch)));
    if matches!(made, Err(StoreError::Stopped)) {
        beside.into_iter().for_each(Leftover::stays);
        return Err(StoreError::Stopped);
    }
    drop(beside);
    let mut spoilt = made?;
    remember_key(path, to.cloned());
    pass(watch, ConvertStep::Renamed)?;
    // Until this is on the disk, the old file may be the one that is there after a power cut.
    sync(path).map_err(|fault| StoreError::NotSynced {
        path: path.to_owned(),
        reason: match fault {
            StoreError::Io { reason, .. } => reason,
            other => other.to_string(),
        },
    })?;
    // Who waits for the old file, already open, would write what nobody finds: it is no database any
    // more. That it can't be spoilt is no reason to say that nothing was converted.
    let _ = spoilt.write_all(&[0; 100]);
    drop(spoilt);
    drop(old);
    Ok(())
}

/// Writes the new file, compares it with the old one, and brings its contents to the disk.
fn make(
    old: &Connection,
    new: &Path,
    to: Option<&FoundKey>,
    watch: ConvertWatch<'_>,
) -> Result<(), StoreError> {
    write(old, new, to).map_err(at_place(new))?;
    pass(watch, ConvertStep::Written)?;
    compare(old, new, to).map_err(at_place(new))?;
    pass(watch, ConvertStep::Checked)?;
    let synced = File::open(new).and_then(|file| file.sync_all());
    synced.map_err(io_failed(WHAT, new))
}

/// Gives the new file the name of the old one, which is returned as it is open.
fn put_in_place(path: &Path, new: &Path, watch: ConvertWatch<'_>) -> Result<File, StoreError> {
    pass(watch, ConvertStep::Synced)?;
    // Open beforehand, since its name is gone afterwards.
    let old = OpenOptions::new()
        .write(true)
        .open(path)
        .map_err(io_failed(WHAT, path))?;
    std::fs::rename(new, path).map_err(io_failed(WHAT, path))?;
    Ok(old)
}

fn pass(watch: ConvertWatch<'_>, step: ConvertStep) -> Result<(), StoreError> {
    match watch(step) {
        true => Ok(()),
        false => Err(StoreError::Stopped),
    }
}

/// A connection to a database that nobody else has open, nor can open while it is: all is in the
/// one file, and no log of writes lies beside it.
///
/// It stays a database with a log of writes: changing that would take a rollback journal, and a kill
/// in that moment leave one.
fn alone(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // Before anything is read, so that the whole file is locked and the log's index stays in memory.
    let wait = PASSING.as_millis();
    let first = format!("PRAGMA busy_timeout = {wait}; PRAGMA locking_mode = EXCLUSIVE;");
    let (connection, _) = Sqlite::door_with(path, None, flags, &first)?;
    connection
        .execute_batch(
            "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536; BEGIN EXCLUSIVE; COMMIT",
        )
        .map_err(failed(WHAT))?;
    let is_busy = number(&connection, "PRAGMA wal_checkpoint(TRUNCATE)")? != 0;
    if is_busy {
        return Err(StoreError::Busy {
            waited_s: PASSING.as_secs(),
        });
    }
    for end in ["-wal", "-shm"] {
        let empty = beside(path, end);
        match std::fs::remove_file(&empty) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(io_failed(WHAT, &empty)(e));
            }
            _ => {}
        }
    }
    // On the disk before another file gets the name that they were of.
    sync_folder(path)?;
    Ok(connection)
}

/// Brings to the disk which files lie beside a database.
fn sync_folder(path: &Path) -> Result<(), StoreError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let synced = File::open(folder).and_then(|dir| dir.sync_all());
    synced.map_err(io_failed(WHAT, folder))
}

/// Copies everything into a new private file.
fn write(old: &Connection, new: &Path, to: Option<&FoundKey>) -> Result<(), StoreError> {
    private_file(new)?;
    let name = new.to_str().ok_or_else(|| StoreError::Query {
        what: WHAT,
        reason: format!("{} is not UTF-8", new.display()),
    })?;
    let key = to.map(|found| found.key.literal());
    let key = key.as_deref().map_or("", String::as_str);
    let code = format!("PRAGMA cipher_default_hmac_algorithm = {}", PAGE_CODES[0]);
    old.execute_batch(&code).map_err(failed(WHAT))?;
    old.execute("ATTACH ?1 AS converted KEY ?2", params![name, key])
        .map_err(failed(WHAT))?;
    let marks = ["user_version", "application_id"].map(|mark| {
        let found = number(old, &format!("PRAGMA main.{mark}"));
        found.map(|found| format!("PRAGMA converted.{mark} = {found};"))
    });
    let marks = marks.into_iter().collect::<Result<String, _>>()?;
    // What is cut is thrown away, so that there is nothing to go back to, and one sync at the end.
    // With a log of writes from its beginning, so that whoever has the file open is known by that.
    let sql = format!(
        "PRAGMA converted.journal_mode = OFF; PRAGMA converted.synchronous = OFF;
         PRAGMA converted.cache_size = -65536;
         SELECT sqlcipher_export('converted'); {marks}
         PRAGMA converted.journal_mode = WAL; DETACH converted"
    );
    old.execute_batch(&sql)
        .map_err(|error| of_the_disk(failed(WHAT)(error)))
}

/// The same fault, told by SQLite's words where the export has hidden its code.
fn of_the_disk(fault: StoreError) -> StoreError {
    let file = DATABASE.to_owned();
    match fault {
        StoreError::Query { what, reason } if reason == "database or disk is full" => {
            StoreError::Full { file, what, reason }
        }
        StoreError::Query { what, reason } if reason == "disk I/O error" => {
            StoreError::Io { file, what, reason }
        }
        other => other,
    }
}

/// Holds the new file against the old one: tables, triggers and all else that is made, marks, the
/// number of rows of each table, the head, and what SQLite says of the file.
fn compare(old: &Connection, new: &Path, to: Option<&FoundKey>) -> Result<(), StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    remember_key(new, to.cloned());
    let (made, _) = Sqlite::door(new, None, flags)?;
    // Nothing is to lie beside it when it is closed.
    made.set_db_config(LOG_STAYS, false).map_err(failed(WHAT))?;
    // The check goes from each index to its rows, which stand in another order: else most pages would
    // be read, and deciphered, once a row.
    made.execute_batch("PRAGMA cache_size = -131072")
        .map_err(failed(WHAT))?;
    let unlike = |what: &str| StoreError::Query {
        what: WHAT,
        reason: format!("the new file has other {what} than the old one; the old one stays"),
    };
    let schema = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name";
    if rows(old, schema)? != rows(&made, schema)? {
        return Err(unlike("tables"));
    }
    for mark in ["user_version", "application_id"] {
        let mark = format!("PRAGMA {mark}");
        if number(old, &mark)? != number(&made, &mark)? {
            return Err(unlike("marks"));
        }
    }
    for table in rows(old, TABLES)? {
        let [Value::Text(table), Value::Integer(has_no_numbers)] = table.as_slice() else {
            continue;
        };
        // Rows are referred to by their numbers, too, which a copy could give anew.
        let numbers = match has_no_numbers {
            0 => ", max(rowid), total(rowid)",
            _ => "",
        };
        let count = format!("SELECT count(*){numbers} FROM {}", quoted(table));
        if rows(old, &count)? != rows(&made, &count)? {
            return Err(unlike("rows"));
        }
    }
    let head = "SELECT * FROM head";
    if rows(old, head)? != rows(&made, head)? {
        return Err(unlike("heads"));
    }
    // It reads every page that is in use, and with it the code by which SQLCipher knows that page. What
    // is wrong with the old one is in both, and is for others to say.
    let found = rows(&made, SOUND)?;
    if found != [[Value::Text("ok".to_owned())]] && found != rows(old, SOUND)? {
        return Err(unlike("contents"));
    }
    Ok(())
}

/// The tables that hold rows, and whether each is one without numbers of rows.
const TABLES: &str =
    "SELECT s.name, l.wr FROM sqlite_schema s JOIN pragma_table_list l ON l.name = s.name
      AND l.schema = 'main' WHERE s.type = 'table' AND s.rootpage > 0";

/// SQLite's own check of a file.
const SOUND: &str = "PRAGMA integrity_check";

fn number(connection: &Connection, sql: &str) -> Result<i64, StoreError> {
    connection
        .query_row(sql, [], |row| row.get(0))
        .map_err(failed(WHAT))
}

fn rows(connection: &Connection, sql: &str) -> Result<Vec<Vec<Value>>, StoreError> {
    let mut statement = connection.prepare(sql).map_err(failed(WHAT))?;
    let width = statement.column_count();
    let found = statement.query_map([], |row| (0..width).map(|at| row.get(at)).collect());
    found.and_then(|rows| rows.collect()).map_err(failed(WHAT))
}

#[cfg(all(test, feature = "sealed"))]
mod tests {
    use std::io::{Read as _, Seek as _};

    use super::*;
    use crate::store::cipher::{CipherKey, MAGIC};
    use crate::store::{DatabaseForm, Store, forget_key};

    #[test]
    fn a_failed_sync_behind_the_rename_says_what_is_there_and_spoils_nothing() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("gently.db");
        drop(Store::create(&path).unwrap());
        let mut old = File::open(&path).unwrap();
        let key = FoundKey {
            key: CipherKey::new(&[9; 32]),
            from: "the test".to_owned(),
        };
        let failing = |_: &Path| {
            let reason = std::io::Error::other("Input/output error");
            Err(io_failed(WHAT, &path)(reason))
        };
        forget_key(&path);
        let fault = convert_and_sync(&path, Some(&key), &|_| true, &failing).unwrap_err();
        assert!(matches!(fault, StoreError::NotSynced { .. }), "{fault}");
        let words = fault.to_string();
        for said in ["is converted", "Input/output error", "gently store status"] {
            assert!(words.contains(said), "{words}");
        }
        assert_eq!(DatabaseForm::of(&path).unwrap(), DatabaseForm::Encrypted);
        drop(Store::open(&path).unwrap());
        assert_eq!(left_unfinished(&path), None);
        // A power cut may bring the old one back, which has to be whole.
        let mut start = [0; 16];
        old.rewind().unwrap();
        old.read_exact(&mut start).unwrap();
        assert_eq!(start, *MAGIC);
    }
}
