//! `gently audit replay`: what it computes again, what it finds, and what it says that it can't
//! check.

#![allow(
    clippy::unwrap_used,
    reason = "the helpers of a test fail it as the test itself would"
)]

use std::process::{Command, Stdio};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::contexts::{ask, replayed, sound};
use crate::model_server::{Behaviour, ModelServer};
use crate::person::Person;

/// The database for changing it, as a thief of the file would.
fn tampered(person: &Person, sql: &str) {
    let database = Connection::open(person.at("gently.db")).unwrap();
    database
        .execute_batch(&format!("PRAGMA foreign_keys = OFF; {sql}"))
        .unwrap();
}

/// Takes away what the schema says against changes of tables, where that was not done before.
fn triggers(person: &Person, tables: &[&str]) -> String {
    let database = person.database();
    let mut found = database
        .prepare("SELECT name, tbl_name FROM sqlite_master WHERE type = 'trigger'")
        .unwrap();
    let rows = found
        .query_map([], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        })
        .unwrap();
    let of = rows
        .map(Result::unwrap)
        .filter(|(_, table)| tables.contains(&table.as_str()));
    of.map(|(name, _)| format!("DROP TRIGGER IF EXISTS {name};"))
        .collect()
}

#[test]
fn what_is_removed_or_edited_is_named_and_opening_mends_nothing() {
    let person = Person::new();
    ask(&person, &["one?"]);
    ask(&person, &["two?"]);
    ask(&person, &["three?"]);
    let holds = replayed(&person, &["--all"], 0);
    assert_eq!(
        (&holds["failures"], &holds["faults"]),
        (&json!([]), &json!([])),
        "{holds:#}"
    );
    let free = "DROP TRIGGER thread_event_is_final; DROP TRIGGER thread_event_stays; DROP TRIGGER thread_event_digests_go_only;
        DROP TRIGGER thread_turn_is_final; DROP TRIGGER thread_turn_stays; DROP TRIGGER thread_turn_digests_go_only;
        DROP TRIGGER context_ref_is_final; DROP TRIGGER context_ref_stays; DROP TRIGGER context_config_is_final;
        DROP TRIGGER llm_exchange_is_final; DROP TRIGGER llm_exchange_outcome_is_final;";
    let free = format!(
        "{free} {}",
        triggers(&person, &["thread", "chat_turn", "llm_exchange"])
    );
    for (change, named) in [
        (
            "DELETE FROM thread_event WHERE event_index = 4",
            "same_events",
        ),
        (
            "DELETE FROM thread_event WHERE event_index = 8",
            "same_events",
        ),
        (
            "UPDATE thread_event SET event_digest = replace(event_digest, substr(event_digest, 1, 1), 'g') WHERE event_index = 3",
            "corrupt",
        ),
        (
            "UPDATE thread_event SET event_digest = (SELECT event_digest FROM thread_event WHERE event_index = 0) WHERE event_index = 3",
            "same_events",
        ),
        (
            "UPDATE thread_event SET event_digest = (SELECT event_digest FROM thread_event WHERE event_index = 0) WHERE event_index = 7",
            "same_decision",
        ),
        (
            "UPDATE chat_turn SET content = 'one!' WHERE content = 'one?'",
            "same_context",
        ),
        (
            "UPDATE thread_turn SET context_digest = prompt_digest",
            "same_context",
        ),
        (
            "UPDATE thread_turn SET prompt_digest = context_digest",
            "same_prompt",
        ),
        (
            "UPDATE thread_turn SET inputs = replace(inputs, '\"thread\":1', '\"thread\":0')",
            "no_observation",
        ),
        (
            "UPDATE thread_turn SET reasons = '[\"x\"]'",
            "same_decision",
        ),
        (
            "UPDATE thread_turn SET parent_turn_id = NULL",
            "same_context",
        ),
        ("UPDATE thread_turn SET declared = '[]'", "same_references"),
        (
            "UPDATE context_ref SET admitted_for = 'governance'",
            "same_references",
        ),
        (
            "DELETE FROM context_ref WHERE event_index = 0",
            "same_references",
        ),
        (
            "UPDATE context_config SET document = replace(document, '128', '127')",
            "same_configuration",
        ),
        (
            "DELETE FROM thread_event; DELETE FROM context_ref; DELETE FROM thread_turn",
            "same_record",
        ),
        (
            "UPDATE llm_exchange SET decision = 'deny' WHERE seq = 1",
            "same_decision",
        ),
        (
            "UPDATE thread_event SET bytes = 1 WHERE event_index = 3",
            "same_events",
        ),
        (
            "UPDATE thread_event SET bytes = NULL WHERE event_index = 3",
            "same_events",
        ),
        (
            "UPDATE thread_event SET bytes = 7 WHERE kind = 'EXECUTION'",
            "same_events",
        ),
        (
            "UPDATE llm_exchange SET response_hash = context_bundle_hash WHERE seq = 2",
            "same_record",
        ),
        (
            "UPDATE llm_exchange SET response_commitment = prompt_commitment WHERE seq = 2",
            "same_record",
        ),
        (
            "UPDATE chat_turn SET content_hash = (SELECT context_bundle_hash FROM llm_exchange WHERE seq = 1) WHERE content = 'two?'",
            "same_record",
        ),
        ("DELETE FROM thread", "same_events"),
        ("UPDATE thread SET number = 7", "same_events"),
        (
            "UPDATE thread_turn SET intent_type = 'context.handoff'",
            "same_context",
        ),
    ] {
        let copy = Person::new();
        let copied = Command::new("cp")
            .arg("-r")
            .arg(person.home())
            .arg(copy.home())
            .status()
            .unwrap();
        assert!(copied.success());
        tampered(&copy, &format!("{free} {change}"));
        let found = |when: &str| {
            let report = copy.verified();
            assert_eq!(report["answers"]["consistent"], "no", "{change}, {when}");
            let replay = copy.gently(&["audit", "replay", "--all", "--json"]);
            if named == "corrupt" {
                assert_ne!(replay.code, 0, "{change}, {when}");
                return;
            }
            let replay = replay.exits(1).json();
            let failed = replay["failures"]
                .as_array()
                .unwrap()
                .iter()
                .any(|one| one["assertion"] == named);
            assert!(failed, "{change}, {when}: {replay:#}");
        };
        found("at once");
        // Whatever the next question does, it does not mend what was before it.
        copy.gently(&["ask", "--no-ref", "four?"]);
        found("after a question");
    }
}

/// A thread with a name is on record before anything is asked in it; without its row it is a fault
/// of the history.
#[test]
fn a_removed_thread_is_named_with_its_events_and_without_any() {
    let person = Person::new();
    ask(&person, &["one?"]);
    let empty = person
        .gently(&["thread", "new", "later", "--json"])
        .exits(0);
    let empty = empty.json()["thread"].as_str().unwrap().to_owned();
    tampered(
        &person,
        &format!("{} DELETE FROM thread", triggers(&person, &["thread"])),
    );
    let replay = replayed(&person, &["--all"], 1);
    let faults: Vec<&str> = replay["faults"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["place"].as_str().unwrap())
        .collect();
    assert_eq!(faults.len(), 2, "{replay:#}");
    assert!(
        faults.contains(&format!("thread {empty}").as_str()),
        "{replay:#}"
    );
}

#[test]
fn a_removed_exchange_is_named_by_the_logs_order() {
    let person = Person::new();
    ask(&person, &["one?"]);
    ask(&person, &["--no-ref", "two?"]);
    tampered(
        &person,
        "DROP TRIGGER thread_event_stays; DROP TRIGGER thread_turn_stays; DROP TRIGGER llm_exchange_stays;
         DELETE FROM thread_event WHERE event_index < 3; DELETE FROM thread_turn WHERE parent_turn_id IS NULL;
         DELETE FROM llm_exchange WHERE seq = 1",
    );
    let replay = replayed(&person, &["--all"], 1);
    let faults = replay["faults"].to_string();
    assert!(
        faults.contains("audit.log line")
            && faults.contains("seq 1")
            && faults.contains("found none"),
        "{replay:#}"
    );
}

#[test]
fn erasing_reaches_events_and_replay_says_what_it_can_not_check() {
    let person = Person::new();
    let first = ask(&person, &["A secret harpsichord?"]);
    ask(&person, &["And now?"]);
    ask(&person, &["--no-ref", "Alone?"]);
    person
        .gently(&["erase", "--yes", first["exchange"].as_str().unwrap()])
        .exits(0);
    let database = person.database();
    let count = |sql: &str| {
        database
            .query_row(sql, [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    assert_eq!(
        count("SELECT count(*) FROM thread_event WHERE event_digest IS NULL"),
        4,
        "three events, and a DECISION"
    );
    assert_eq!(
        count(
            "SELECT count(*) FROM thread_turn WHERE context_digest IS NULL AND prompt_digest IS NULL"
        ),
        2
    );
    assert_eq!(
        count("SELECT count(*) FROM context_ref WHERE event_digest IS NULL"),
        2
    );
    assert_eq!(
        count("SELECT count(*) FROM thread_event"),
        9,
        "ids and places stay"
    );
    sound(&person);
    let all = replayed(&person, &["--all"], 0);
    let context = all["assertions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|a| a["assertion"] == "same_context")
        .unwrap();
    let left: u64 = context["not_checked"]
        .as_object()
        .unwrap()
        .values()
        .map(|n| n.as_u64().unwrap())
        .sum();
    assert_eq!((context["holds"].as_u64(), left), (Some(1), 2), "{all:#}");
    let one = replayed(&person, &["interaction-1"], 0);
    let context = one["assertions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|a| a["assertion"] == "same_context")
        .unwrap();
    assert_eq!(context["holds"], Value::Null);
    // A named thread's name is a text, too.
    let thread = person
        .gently(&["thread", "new", "harpsichords"])
        .exits(0)
        .out;
    person.gently(&["erase", "--yes", thread.trim()]).exits(0);
    let names: i64 = count("SELECT count(*) FROM thread WHERE name IS NOT NULL");
    assert_eq!(names, 0);
    sound(&person);
}

/// What replay says of an exchange: assertion, and whether it holds; null where it was not checked.
fn outcomes(one: &Value) -> Vec<(String, Option<bool>)> {
    let all = one["assertions"].as_array().unwrap().iter();
    all.map(|a| {
        (
            a["assertion"].as_str().unwrap().to_owned(),
            a["holds"].as_bool(),
        )
    })
    .collect()
}

fn not_checked(one: &Value) -> Vec<String> {
    outcomes(one)
        .into_iter()
        .filter(|(_, holds)| holds.is_none())
        .map(|(name, _)| name)
        .collect()
}

/// A text that is taken away is no erased one: a tombstone is missing.
#[test]
fn what_no_tombstone_names_is_missing_and_not_unchecked() {
    let person = Person::new();
    ask(&person, &["one?"]);
    ask(&person, &["two?"]);
    tampered(
        &person,
        "UPDATE chat_turn SET content = NULL, content_hash = NULL WHERE content = 'one?'",
    );
    let replay = replayed(&person, &["--all"], 1);
    let failures = replay["failures"].to_string();
    assert!(failures.contains("no tombstone names it"), "{failures}");
    for assertion in [
        "same_context",
        "same_references",
        "same_events",
        "same_record",
    ] {
        assert!(failures.contains(assertion), "{assertion}: {failures}");
    }
}

/// The prompt is in the backup, its answer in the published ledger only: `audit adopt` brings back
/// what there is.
#[test]
fn an_answer_that_comes_back_without_its_text_has_its_place_and_is_not_checked() {
    let mut person = Person::new();
    let server = ModelServer::script(vec![
        Behaviour::Says("First.".to_owned()),
        Behaviour::Gate,
        Behaviour::Good,
    ]);
    person.set("GENTLY_MODEL_BASE_URL", &server.base_url());
    person.set("GENTLY_MODEL_DEFAULT", "openai/m");
    person.set("GENTLY_PASSPHRASE", "correct horse battery");
    ask(&person, &["one?"]);
    let asking = person
        .command(&["ask", "two?"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    server.wait_for(2);
    person.gently(&["backup", "b.age"]).exits(0);
    server.release();
    assert!(asking.wait_with_output().unwrap().status.success());
    ask(&person, &["three?"]);
    person.gently(&["session", "close"]).exits(0);
    let before = replayed(&person, &["--all"], 0);
    assert_eq!(
        (&before["exchanges"], &before["failures"]),
        (&json!(3), &json!([]))
    );

    let mirror = person.dir.path().join("mirror.git");
    let mut clone = Command::new("git");
    clone
        .args(["clone", "--quiet", "--mirror"])
        .arg(person.at("ledger.git"))
        .arg(&mirror);
    assert!(clone.status().unwrap().success());
    std::fs::rename(person.home(), person.dir.path().join("lost")).unwrap();
    person.gently(&["restore", "b.age"]).exits(0);
    person
        .gently(&["audit", "adopt", "--from", mirror.to_str().unwrap()])
        .exits(0);

    let all = replayed(&person, &["--all"], 0);
    assert_eq!(
        (&all["exchanges"], &all["failures"], &all["faults"]),
        (&json!(3), &json!([]), &json!([])),
        "{all:#}"
    );
    // Of the first everything is here; of the second all but what was answered; of the third what
    // the ledger says.
    assert_eq!(
        not_checked(&replayed(&person, &["prompt-1"], 0)),
        Vec::<String>::new()
    );
    assert_eq!(
        not_checked(&replayed(&person, &["prompt-2"], 0)),
        ["same_events", "same_record"]
    );
    let third = person.gently(&["audit", "replay", "prompt-3"]).exits(2);
    assert!(
        third.err.contains("taken over from a ledger alone"),
        "{third:?}"
    );
    // Its place in the thread is there, and nobody can be shown what stood in it.
    let thread = person.gently(&["thread", "show", "--json"]).exits(0).json();
    let kinds: Vec<&str> = thread["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "INTENT",
            "DECISION",
            "EXECUTION",
            "INTENT",
            "DECISION",
            "EXECUTION"
        ]
    );
    let lost = thread["events"][5]["event"].as_str().unwrap();
    assert_eq!(
        (
            &thread["events"][5]["event_digest"],
            &thread["events"][5]["text"]
        ),
        (&Value::Null, &Value::Null)
    );
    let parent = thread["events"][3]["turn"].as_str().unwrap();
    let later = ask(
        &person,
        &[
            "--parent",
            parent,
            "--ref",
            lost,
            "--ref",
            thread["events"][3]["event"].as_str().unwrap(),
            "four?",
        ],
    );
    let left = json!([{"effect": "left_out", "ref_id": lost, "rule": "erased"}]);
    assert_eq!(later["context"]["transformations"], left, "{later:#}");
    let fourth = replayed(&person, &[later["exchange"].as_str().unwrap()], 0);
    assert_eq!(not_checked(&fourth), Vec::<String>::new(), "{fourth:#}");
    sound(&person);
}

/// `[store] content = "none"`: what needs no text is checked, the rest never passes.
#[test]
fn texts_that_were_never_kept_are_not_checked_and_the_rest_is() {
    for openings in ["true", "false"] {
        let mut person = Person::new();
        person.set("GENTLY_STORE_CONTENT", "none");
        person.set("GENTLY_STORE_OPENINGS", openings);
        ask(&person, &["one?"]);
        ask(&person, &["--ref", "last:2", "two?"]);
        person.gently(&["ask", " "]).exits(1);
        let all = replayed(&person, &["--all"], 0);
        assert_eq!(
            (&all["failures"], &all["faults"]),
            (&json!([]), &json!([])),
            "{all:#}"
        );
        for (n, exchange) in ["prompt-1", "prompt-2", "prompt-3"].into_iter().enumerate() {
            let one = replayed(&person, &[exchange], 0);
            let mut left = vec![
                "same_context",
                "same_decision",
                "same_bundle",
                "same_prompt",
                "same_events",
            ];
            if openings == "false" {
                left.push("same_record");
            }
            assert_eq!(
                not_checked(&one),
                left,
                "{exchange}, openings {openings}: {one:#}"
            );
            assert!(
                outcomes(&one)
                    .iter()
                    .all(|(_, holds)| *holds != Some(false)),
                "{n}"
            );
        }
        let told = person.gently(&["audit", "replay", "prompt-2"]).exits(0).out;
        assert!(told.contains("never kept"), "{told}");
        // What the rows say is held against their commitment where there is a salt, and against the
        // log's order.
        let free = "DROP TRIGGER thread_turn_is_final; DROP TRIGGER context_config_is_final;";
        tampered(
            &person,
            &format!("{free} UPDATE thread_turn SET declared = '[]'"),
        );
        let failures = replayed(&person, &["--all"], 1)["failures"].to_string();
        assert!(failures.contains("same_references"), "{failures}");
        assert_eq!(
            failures.contains("same_record"),
            openings == "true",
            "{failures}"
        );
        // Kept from now on: an exchange beside them is checked whole, and refers to nothing that
        // was not kept.
        person.set("GENTLY_STORE_CONTENT", "sanitized");
        let kept = ask(&person, &["three?"]);
        let one = replayed(&person, &[kept["exchange"].as_str().unwrap()], 0);
        assert_eq!(not_checked(&one), Vec::<String>::new(), "{one:#}");
    }
}
