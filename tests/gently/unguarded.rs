//! A database as its owner may change it: past the triggers and references that keep programs from
//! changing evidence, which stay in it as they are.

use std::path::Path;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

/// Opens it so.
pub fn unguarded(path: impl AsRef<Path>) -> Connection {
    let database = Connection::open(path).unwrap();
    database
        .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)
        .unwrap();
    database
        .execute_batch("PRAGMA foreign_keys = OFF; PRAGMA busy_timeout = 10000")
        .unwrap();
    database
}
