//! Tables, views, indexes, triggers and search indexes of a home's database that somebody changed: the
//! verifier and doctor name each, a rebuild makes all again that holds no evidence, and none of it is
//! taken for a change of what is on record.

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
    assert!(
        verify.out.contains("; no evidence is affected -> "),
        "{verify:?}"
    );
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
            "ALTER TABLE drift_event ADD COLUMN more TEXT",
            "ALTER TABLE drift_event DROP COLUMN more",
            "table drift_event is another",
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
    assert_eq!(person.verified()["schema"], json!([]));
}

/// A home in which every list and index has something.
fn full_home() -> Person {
    let person = Person::new();
    person.gently(&["init"]).exits(0);
    person
        .gently(&["fact", "add", "The wombat sleeps"])
        .exits(0);
    person.gently(&["project", "new", "Law"]).exits(0);
    person.ask("Where is the quetzalcoatl?");
    person
        .gently(&["conversation", "rename", "last", "Of birds"])
        .exits(0);
    person
        .gently(&["conversation", "move", "last", "Law"])
        .exits(0);
    person.gently(&["thread", "new", "garden"]).exits(0);
    person.ask("A question that goes?");
    person.gently(&["erase", "last", "--yes"]).exits(0);
    person
        .gently(&["config", "set", "session.idle_minutes", "31"])
        .exits(0);
    person.ask("What of the disk?");
    person
}

/// With this as what it holds an index can be read, and finds nothing.
const EMPTIED: &str = "block = x'ffffff'";

/// Tables that only help to work.
const AIDS: [&str; 10] = [
    "auth_failure",
    "block",
    "calendar_state",
    "home_file",
    "placeholder",
    "placeholder_key",
    "scrub",
    "tree_mark",
    "turn_fts_vocab",
    "witness_state",
];
/// Tables that follow from what is on record.
const LISTS: [&str; 5] = [
    "continuity_item",
    "conversation",
    "project",
    "setting_tag",
    "tombstone_id",
];
/// What is done to an index, and what is said of it.
const INDEX_DAMAGE: [(&str, &str); 9] = [
    ("DROP TABLE turn_fts", "turn_fts is missing"),
    ("DROP TABLE turn_fts_docsize", "turn_fts is damaged"),
    (
        "DELETE FROM turn_fts_data WHERE id = 1",
        "turn_fts is damaged",
    ),
    (
        "UPDATE turn_fts_data SET block = x'ffffffffff' WHERE id = 10",
        "turn_fts is damaged",
    ),
    (
        "UPDATE turn_fts_data SET block = x'ffffff' WHERE id = 10",
        "turn_fts is damaged",
    ),
    (
        "DELETE FROM turn_fts_config WHERE k = 'version'",
        "turn_fts has other settings than gently gives it",
    ),
    (
        "INSERT INTO turn_fts (turn_fts, rank) VALUES ('rank', 'bm25(9.0)')",
        "turn_fts has other settings than gently gives it",
    ),
    ("DROP TABLE continuity_fts", "continuity_fts is missing"),
    (
        "UPDATE continuity_fts_config SET v = 9",
        "continuity_fts has other settings than gently gives it",
    ),
];

/// Each way of taking away or spoiling what holds no evidence: what SQL does it, and what is said.
fn spoiled() -> Vec<(String, Vec<String>)> {
    let drop = |table: &str| format!("DROP TABLE {table};");
    let missing = |table: &str| format!("table {table} is missing");
    let aids = (
        AIDS.map(drop).concat(),
        AIDS.iter().map(|table| missing(table)).collect(),
    );
    let lists = LISTS.map(|table| (drop(table), vec![missing(table)]));
    let indexes = INDEX_DAMAGE.map(|(sql, told)| {
        let told = format!("search index {told}");
        (sql.to_owned(), vec![told])
    });
    std::iter::once(aids).chain(lists).chain(indexes).collect()
}

/// Whoever meets it is told in words, with the one command that mends it; a question is recorded whole
/// or not at all.
#[test]
fn what_holds_no_evidence_is_made_again_whatever_was_done_to_it() {
    let person = full_home();
    for (sql, told) in spoiled() {
        change(&person, &sql);
        let report = person.gently(&["audit", "verify", "--json"]);
        let report = report.exits(1).json();
        assert_eq!(report["schema"], json!(told), "{sql}");
        assert_eq!(report["findings"], json!([]), "{sql}");
        let doctor = person.gently(&["doctor", "-v"]).exits(1);
        assert!(doctor.out.contains(&told[0]), "{sql}: {doctor:?}");
        assert!(
            doctor.out.contains("gently audit rebuild"),
            "{sql}: {doctor:?}"
        );
        for args in [
            &["conversation", "list"][..],
            &["fact", "list"],
            &["search", "--best", "quetzalcoatl"],
            &["show", "last"],
            &["ask", "Is anybody there?"],
            &["erase", "last", "--yes"],
        ] {
            let ran = person.gently(args);
            let is_clear = ran.err.contains("`gently audit rebuild`");
            let is_nothing = sql.contains(EMPTIED) && ran.code == 1;
            assert!(
                ran.code == 0 || is_clear || is_nothing,
                "{sql}: {args:?}: {ran:?}"
            );
            assert!(!ran.err.contains("SELECT"), "{sql}: {args:?}: {ran:?}");
        }
        person.gently(&["audit", "rebuild"]).exits(0);
        let report = person.verified();
        for of in ["schema", "search", "findings"] {
            assert_eq!(report[of], json!([]), "{sql}");
        }
        let again = person.gently(&["audit", "rebuild", "--dry-run"]).exits(0);
        assert!(again.out.contains("nothing to do"), "{sql}: {again:?}");
        let found = person.gently(&["search", "quetzalcoatl", "--count"]);
        assert_eq!(found.exits(0).out.trim(), "1", "{sql}");
        // What the next one erases.
        person.ask("Is it well again?");
    }
    let listed = person.gently(&["conversation", "list", "--all"]).exits(0);
    assert!(listed.out.contains("Of birds"), "{listed:?}");
    let projects = person.gently(&["project", "list"]).exits(0);
    assert!(projects.out.contains("Law"), "{projects:?}");
    person.gently(&["audit", "verify"]).exits(0);
}

/// What stood in a table of evidence stood there alone.
#[test]
fn a_table_of_evidence_that_is_gone_is_named_and_nothing_is_made_of_the_rest() {
    for table in ["drift_event", "head", "log_line"] {
        let person = Person::new();
        person.ask("What of the disk?");
        change(&person, "DROP TABLE conversation");
        change(
            &person,
            &format!("PRAGMA foreign_keys = OFF; DROP TABLE {table}"),
        );
        let told = format!("table {table} is missing");
        let verify = person.gently(&["audit", "verify", "-v"]).exits(1);
        assert!(verify.out.contains(&told), "{verify:?}");
        let doctor = person.gently(&["doctor"]).exits(1);
        assert!(doctor.out.contains(&told), "{doctor:?}");
        assert!(doctor.out.contains("gently restore FILE"), "{doctor:?}");
        for args in [
            &["audit", "rebuild"][..],
            &["audit", "rebuild", "--dry-run"],
        ] {
            let refused = person.gently(args).exits(1);
            let said = format!("the tables of evidence, {table}:");
            assert!(refused.err.contains(&said), "{refused:?}");
            assert!(refused.err.contains("gently restore FILE"), "{refused:?}");
        }
        let asked = person.gently(&["ask", "And now?"]);
        assert!(
            asked.code == 0 || asked.err.contains("`gently audit rebuild`"),
            "{table}: {asked:?}"
        );
        let schema = person.verified()["schema"].to_string();
        assert!(schema.contains("table conversation is missing"), "{schema}");
    }
}
