//! One value changed in the database of an honest home: `gently audit verify` finds it and names its place.

#![allow(clippy::unwrap_used, reason = "the helpers of a test fail it as the test itself would")]

use std::path::Path;
use std::process::{Command, Output};

use rusqlite::Connection;
use rusqlite::types::Value;

/// Columns whose change is no change of evidence, each with the reason.
const FREE: &[(&str, &str, &str)] = &[
    ("auth_key", "name", "what a person calls the key"),
    ("auth_key", "added_at", "bookkeeping"),
    ("auth_key", "revoked_at", "bookkeeping"),
    ("home_file", "name", "no evidence: what index_changed compares with"),
    ("home_file", "sha256", "no evidence"),
    ("home_file", "noted_at", "no evidence"),
    ("head", "applied_lines", "a mark; a lost one only makes the next open apply again"),
    ("head", "applied_bytes", "a mark"),
    ("head", "applied_commits", "a mark"),
];

fn gently(home: &Path, args: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_gently"))
        .args(args)
        .env("GENTLY_HOME", home)
        .env_remove("GENTLY_AUTH_KEY")
        .env("GENTLY_MODEL_DEFAULT", "observer")
        .output()
        .unwrap();
    assert!(output.status.code().is_some());
    output
}

fn make_home(home: &Path) {
    for args in [
        &["init"][..],
        &["config", "set", "anchor.mode", "\"off\""],
        &["ask", "How is this machine doing?"],
        &["fact", "add", "The disk is mirrored.", "--subject", "disk"],
        &["fact", "ratify", "ledger:000001"],
        &["ask", "And the disk?"],
        &["session", "close"],
        &["ask", "Once more."],
    ] {
        let output = gently(home, args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

fn changed(value: &Value) -> Value {
    match value {
        Value::Null => Value::Integer(1),
        Value::Integer(n) => Value::Integer(n + 1),
        Value::Real(r) => Value::Real(r + 1.0),
        Value::Text(text) => {
            let mut bytes = text.clone().into_bytes();
            let last = bytes.len().saturating_sub(1);
            match bytes.get_mut(last) {
                Some(byte) => *byte = if *byte == b'1' { b'2' } else { b'1' },
                None => bytes.push(b'1'),
            }
            Value::Text(String::from_utf8(bytes).unwrap())
        }
        Value::Blob(bytes) => {
            let mut bytes = bytes.clone();
            if let Some(byte) = bytes.first_mut() {
                *byte ^= 1;
            }
            Value::Blob(bytes)
        }
    }
}

#[test]
fn a_changed_value_of_any_evidence_column_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    make_home(&home);
    let verdict = gently(&home, &["audit", "verify"]);
    assert!(verdict.status.success(), "{}", String::from_utf8_lossy(&verdict.stdout));

    let database = home.join("gently.db");
    let connection = Connection::open(&database).unwrap();
    connection.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;").unwrap();
    let names = |sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    for trigger in names("SELECT name FROM sqlite_master WHERE type = 'trigger'") {
        connection.execute_batch(&format!("DROP TRIGGER {trigger}")).unwrap();
    }
    // Search indexes are derived: what a search selected is on record with the exchange.
    let tables = names(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'refinery%'
           AND name NOT LIKE '%_fts%' AND name <> 'turn_index'",
    );
    let mut missed = Vec::new();
    let mut tried = 0;
    for table in &tables {
        let key = if table == "ledger_file" { "commit_n || name" } else { "rowid" };
        // A commit that has all that a commit can have: a segment, and the files of another.
        let full = if table == "ledger_commit" { "WHERE tree_of IS NOT NULL" } else { "" };
        let Some(row) = names(&format!("SELECT CAST({key} AS TEXT) FROM {table} {full} ORDER BY 1")).pop() else {
            continue;
        };
        for column in names(&format!("SELECT name FROM pragma_table_info('{table}')")) {
            if FREE.iter().any(|(t, c, _)| t == table && *c == column) {
                continue;
            }
            let select = format!("SELECT {column} FROM {table} WHERE CAST({key} AS TEXT) = ?1");
            let original: Value = connection.query_row(&select, [&row], |r| r.get(0)).unwrap();
            let key_is_column = matches!(
                (table.as_str(), column.as_str()),
                ("log_line" | "ledger_commit", "n")
                    | ("artifact" | "continuity_item", "line")
                    | ("head", "id")
                    | ("ledger_file", _)
            );
            if key_is_column && column != "content" {
                continue;
            }
            let update = format!("UPDATE {table} SET {column} = ?1 WHERE CAST({key} AS TEXT) = ?2");
            if connection.execute(&update, (changed(&original), &row)).is_err() {
                // A STRICT column of text takes no number in place of a null.
                connection.execute(&update, ("x", &row)).unwrap();
            }
            tried += 1;
            let output = gently(&home, &["audit", "verify"]);
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            if output.status.code() != Some(1) || !text.contains("database, ") {
                missed.push(format!(
                    "{table}.{column} {:?}: {:?} {text} {}",
                    original,
                    output.status.code(),
                    String::from_utf8_lossy(&output.stderr)
                ));
            }
            connection.execute(&update, (original, &row)).unwrap();
        }
    }
    assert!(tried > 80, "{tried}");
    assert_eq!(missed, Vec::<String>::new());
    connection
        .execute_batch("UPDATE chat_turn SET speaker = CASE speaker WHEN 'user' THEN 'aurora' ELSE 'user' END")
        .unwrap();
    assert_eq!(gently(&home, &["audit", "verify"]).status.code(), Some(1));
    connection
        .execute_batch("UPDATE chat_turn SET speaker = CASE speaker WHEN 'user' THEN 'aurora' ELSE 'user' END")
        .unwrap();
    let verdict = gently(&home, &["audit", "verify"]);
    assert!(verdict.status.success(), "{}", String::from_utf8_lossy(&verdict.stdout));
}
