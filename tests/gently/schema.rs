//! Tables, views, indexes and triggers of a home's database that somebody changed: the verifier and
//! doctor name each, a rebuild makes all but tables again, and none of it is taken for a change of
//! what is on record.

use rusqlite::Connection;
use serde_json::json;

use crate::person::Person;

/// What somebody does, and what is said of it.
const CHANGES: [(&str, &str); 9] = [
    (
        "DROP TRIGGER log_line_stays",
        "trigger log_line_stays is missing",
    ),
    (
        "DROP TRIGGER log_line_stays;
         CREATE TRIGGER log_line_stays BEFORE DELETE ON log_line BEGIN SELECT 1; END",
        "trigger log_line_stays is another",
    ),
    (
        "CREATE TRIGGER full BEFORE INSERT ON llm_exchange BEGIN SELECT RAISE(ABORT, 'no room'); END",
        "trigger full is none of gently's",
    ),
    (
        "DROP VIEW messages; CREATE VIEW messages AS SELECT 'nothing was said' AS content",
        "view messages is another",
    ),
    ("DROP VIEW keyword_index", "view keyword_index is missing"),
    ("DROP VIEW turn_text", "view turn_text is missing"),
    (
        "CREATE VIEW \"a \x1b[2J\" AS SELECT 1",
        "view a \\u001b[2J is none of gently's",
    ),
    (
        "DROP INDEX idx_thread_event_decision",
        "index idx_thread_event_decision is missing",
    ),
    (
        "CREATE INDEX mine ON chat_turn (created_at)",
        "index mine is none of gently's",
    ),
];

fn change(person: &Person, sql: &str) {
    let database = Connection::open(person.at("gently.db")).unwrap();
    database.execute_batch(sql).unwrap();
}

/// The verifier and doctor say it.
#[track_caller]
fn is_told(person: &Person, told: &str) {
    let verify = person.gently(&["audit", "verify"]).exits(1);
    let first = verify.out.lines().next().unwrap();
    assert_eq!(
        first,
        format!("✘ The database is not as gently makes it: {told}")
    );
    assert!(verify.out.contains("no evidence is affected"), "{verify:?}");
    assert!(verify.out.contains("Chain integrity: VALID"), "{verify:?}");
    let whole = person.gently(&["audit", "verify", "-v"]).exits(1);
    assert!(whole.out.contains(&format!("  {told}\n")), "{whole:?}");
    let report = person
        .gently(&["audit", "verify", "--json"])
        .exits(1)
        .json();
    assert_eq!(report["schema"], json!([told]));
    assert_eq!(report["findings"], json!([]));
    assert_eq!(report["answers"]["consistent"], "yes");
    assert_eq!(report["headline"]["mark"], "no");
    let doctor = person.gently(&["doctor"]).exits(1);
    assert!(doctor.out.contains(told), "{doctor:?}");
    assert!(doctor.out.contains("gently audit rebuild"), "{doctor:?}");
}

#[test]
fn what_somebody_changed_is_named_and_made_again() {
    let person = Person::new();
    person.ask("What of the disk?");
    person.gently(&["audit", "verify"]).exits(0);
    let lines = person.log().len();
    for (sql, told) in CHANGES {
        change(&person, sql);
        is_told(&person, told);
        let would = person
            .gently(&["audit", "rebuild", "--dry-run", "--json"])
            .exits(1)
            .json();
        assert_eq!(would["lost"]["schema"], json!([told]), "{would}");
        let rebuilt = person.gently(&["audit", "rebuild"]).exits(0);
        assert!(rebuilt.out.contains(told), "{rebuilt:?}");
        let again = person.gently(&["audit", "rebuild"]).exits(0);
        assert!(again.out.contains("nothing to do"), "{again:?}");
        let report = person.verified();
        assert_eq!(report["schema"], json!([]), "{sql}");
    }
    assert_eq!(person.log().len(), lines, "nothing of it is a record");
    person.ask("And now?");
    person.gently(&["audit", "verify"]).exits(0);
}

/// What is in a table can't be made again, and what is somebody's own is not taken away.
#[test]
fn a_table_is_named_and_stays_as_it_is() {
    let person = Person::new();
    person.ask("What of the disk?");
    for (sql, back, told) in [
        (
            "CREATE TABLE mine (n); INSERT INTO mine VALUES (7)",
            "DROP TABLE mine",
            "table mine is none of gently's",
        ),
        (
            "ALTER TABLE tree_mark RENAME TO kept",
            "ALTER TABLE kept RENAME TO tree_mark",
            "table kept is none of gently's",
        ),
    ] {
        change(&person, sql);
        let report = person
            .gently(&["audit", "verify", "--json"])
            .exits(1)
            .json();
        assert!(report["schema"].to_string().contains(told), "{report:#}");
        let doctor = person.gently(&["doctor"]).exits(1);
        assert!(doctor.out.contains(told), "{doctor:?}");
        let rebuilt = person.gently(&["audit", "rebuild"]).exits(1);
        assert!(
            rebuilt
                .out
                .contains(&format!("left as it is, of gently.db: {told}")),
            "{rebuilt:?}"
        );
        assert_eq!(
            person
                .gently(&["audit", "verify", "--json"])
                .exits(1)
                .json()["schema"],
            report["schema"]
        );
        change(&person, back);
    }
    // A table that had another name is written otherwise now.
    let report = person.gently(&["audit", "verify", "--json"]).json();
    assert_eq!(report["answers"]["consistent"], "yes", "{report:#}");
}
