//! A database as its owner may change it: past the triggers and references that keep programs from
//! changing evidence, which stay in it as they are.

use std::path::Path;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::person::{Person, by_hand};

/// Makes each of these changes to derived rows by itself: the verifier finds it, and a rebuild makes the
/// rows again.
#[track_caller]
pub fn found_and_made_again(person: &Person, changes: &[&str]) {
    for change in changes {
        unguarded(person.at("gently.db"))
            .execute(change, [])
            .unwrap();
        let consistent = || person.verified()["answers"]["consistent"].clone();
        assert_eq!(consistent(), "no", "{change}");
        person.gently(&["audit", "rebuild"]).exits(0);
        assert_eq!(consistent(), "yes", "{change}");
    }
}

/// Opens it so.
pub fn unguarded(path: impl AsRef<Path>) -> Connection {
    let database = by_hand(path, rusqlite::OpenFlags::default());
    database
        .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)
        .unwrap();
    database
        .execute_batch("PRAGMA foreign_keys = OFF; PRAGMA busy_timeout = 10000")
        .unwrap();
    database
}
