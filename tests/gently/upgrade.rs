//! A home as the first release left it: what reads copes or says what to do, and nothing is lost on
//! the way up.

use refinery::{Migration, Runner};
use rusqlite::Connection;

use crate::person::Person;

const FIRST: &str = include_str!("../../migrations/sqlite/0001_relationship.sql");

/// Puts the database back to what the first migration makes, with the rows that it has a place for.
fn as_first_released(person: &Person) {
    let (now, first) = (person.at("gently.db"), person.at("first.db"));
    Connection::open(&now)
        .unwrap()
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    let mut connection = Connection::open(&first).unwrap();
    let migrations = [Migration::unapplied("V1__relationship", FIRST).unwrap()];
    Runner::new(&migrations)
        .set_grouped(true)
        .run(&mut connection)
        .unwrap();
    connection
        .execute("ATTACH ?1 AS now", [now.to_str().unwrap()])
        .unwrap();
    connection
        .execute_batch("PRAGMA foreign_keys = OFF")
        .unwrap();
    let tables: Vec<String> = list(
        &connection,
        "SELECT name FROM main.sqlite_schema WHERE type = 'table'
        AND name NOT LIKE 'refinery%' AND name NOT LIKE 'sqlite_%'",
    );
    assert!(tables.len() > 8, "{tables:?}");
    for table in tables {
        let columns = list(
            &connection,
            &format!("SELECT name FROM pragma_table_info('{table}', 'main')"),
        )
        .join(", ");
        let sql = format!(
            "INSERT INTO main.{table} ({columns}) SELECT {columns} FROM now.{table} ORDER BY rowid"
        );
        let sql = if table == "ledger_file" {
            sql.replace(" ORDER BY rowid", "")
        } else {
            sql
        };
        connection
            .execute_batch(&sql)
            .unwrap_or_else(|e| panic!("{table}: {e}"));
    }
    connection
        .execute_batch("DETACH now; PRAGMA journal_mode = WAL")
        .unwrap();
    connection.close().unwrap();
    for old in ["gently.db-wal", "gently.db-shm"] {
        let _ = std::fs::remove_file(person.at(old));
    }
    std::fs::rename(first, now).unwrap();
    for left in ["first.db-wal", "first.db-shm"] {
        let _ = std::fs::remove_file(person.at(left));
    }
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(
        person.at("gently.db"),
        std::fs::Permissions::from_mode(0o600),
    )
    .unwrap();
}

/// Nobody answers: what the first release recorded of an answer, later ones record with its checks
/// beside it.
const NOBODY: [(&str, &str); 2] = [
    ("GENTLY_ANCHOR_MODE", "off"),
    ("GENTLY_MODEL_BASE_URL", "http://127.0.0.1:9/v1"),
];

fn list(connection: &Connection, sql: &str) -> Vec<String> {
    let mut rows = connection.prepare(sql).unwrap();
    rows.query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

/// Every command that only looks.
const LOOKING: [&[&str]; 26] = [
    &["show", "last"],
    &["session", "list"],
    &["session", "show", "last"],
    &["session", "summary", "last"],
    &["log"],
    &["log", "--session", "last"],
    &["audit", "verify"],
    &["audit", "session", "last"],
    &["fact", "list"],
    &["note", "list"],
    &["decision", "list"],
    &["intent", "show"],
    &["conflict", "list"],
    &["context", "show", "last"],
    &["context", "preview", "How is it?"],
    &["drift", "list"],
    &["drift", "list", "--all"],
    &["drift", "show", "1"],
    &["action", "list"],
    &["action", "show", "action:000001"],
    &["key", "list"],
    &["kernel", "show"],
    &["sight"],
    &["doctor"],
    &["config", "get"],
    &["anchor", "status"],
];

#[test]
fn what_only_reads_says_which_version_it_is_and_what_to_run() {
    let person = Person::with(&NOBODY);
    person
        .gently(&["ask", "--model", "openai/x", "Restart nginx."])
        .exits(2);
    person.gently(&["session", "close"]).exits(0);
    as_first_released(&person);
    let mut told = 0;
    for args in LOOKING {
        let ran = person.gently(args);
        let said = format!("{}{}", ran.out, ran.err);
        assert!(
            !said.contains("no such table") && !said.contains("no such column"),
            "{args:?}: {ran:?}"
        );
        if said.contains("is of version 1, and this gently reads version ") {
            assert!(
                ran.code == 2 && said.contains("gently init --upgrade"),
                "{args:?}: {ran:?}"
            );
            told += 1;
        } else if args[0] == "audit" {
            let missed = ran.code == 1 && ran.out.contains("exchange_commitment");
            assert!(
                ran.code == 0 || missed,
                "the evidence is looked at as it is: {ran:?}"
            );
        }
    }
    assert!(
        (10..LOOKING.len()).contains(&told),
        "{told} of them said so"
    );
    assert!(
        list(
            &person.database(),
            "SELECT max(version) || '' FROM refinery_schema_history"
        ) == ["1"],
        "none wrote"
    );
    let up = person
        .gently(&["init", "--upgrade", "--json"])
        .exits(0)
        .json();
    assert_eq!(up["database_version_before"], 1);
    let newest = up["database_version"].as_u64().unwrap();
    assert!(newest >= 6);
    assert!(
        person
            .gently(&["init", "--upgrade"])
            .exits(0)
            .out
            .contains(&format!("already of version {newest}"))
    );
    for args in LOOKING {
        let ran = person.gently(args);
        assert!(
            !format!("{}{}", ran.out, ran.err).contains("is of version"),
            "{args:?}: {ran:?}"
        );
    }
    assert!(
        person
            .gently(&["action", "list"])
            .exits(0)
            .out
            .contains("Restart nginx")
    );
    person
        .gently(&["init", "--upgrade", "--origin", "x"])
        .exits(2);
    sound_but_for_threads(&person);
    assert_eq!(person.verified()["search"], serde_json::json!([]));
}

#[test]
fn what_records_brings_the_home_up_by_itself_and_finds_its_texts_again() {
    let person = Person::with(&NOBODY);
    person
        .gently(&["ask", "--model", "openai/x", "Where is the zygomorph?"])
        .exits(2);
    person.gently(&["erase", "last"]).exits(0);
    person
        .gently(&["ask", "--model", "openai/x", "Where is the quetzalcoatl?"])
        .exits(2);
    person.gently(&["session", "close"]).exits(0);
    as_first_released(&person);
    let found = person
        .gently(&[
            "ask",
            "--deep",
            "--no-ref",
            "--json",
            "Again: the quetzalcoatl?",
        ])
        .exits(0)
        .json();
    assert!(
        found["context"]["injected"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["artifact_type"] == "turn"),
        "{found}"
    );
    // The tombstone from before is found by its index.
    let sessions = person
        .gently(&["session", "list", "--json"])
        .exits(0)
        .json();
    let first = sessions[0]["session"].as_str().unwrap();
    assert!(
        person
            .gently(&["show", &format!("{}/1", &first[..16])])
            .exits(0)
            .out
            .contains("erased: asked for")
    );
    sound_but_for_threads(&person);
}

/// The home was made by today's gently, whose documents commit to the thread: where its tables are
/// taken away, that is missed, and nothing else. Documents of before threads keep their bytes
/// (`record/exchange.rs`).
fn sound_but_for_threads(person: &Person) {
    let report = person.verified();
    let findings = report["findings"].as_array().unwrap();
    // A database from before signed tree heads has none until its next writer starts, and the
    // report says so.
    let is_known = |one: &serde_json::Value| {
        one["place"] == "database, head, checkpoint"
            || one.to_string().contains("exchange_commitment")
    };
    assert!(findings.iter().all(is_known), "{report:#}");
}
