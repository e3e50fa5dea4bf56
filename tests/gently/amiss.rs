//! What is amiss in a home is named where somebody looks, and what is advised helps.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Stdio;

use rusqlite::Connection;

use crate::model_server::Behaviour;
use crate::opening::served;
use crate::person::{Person, Ran};
use crate::tamper_rows::{edit, home};

/// What `doctor` finds wrong with one part, and the command that it names.
fn wrong(person: &Person, check: &str) -> (String, String, String) {
    let report = person.gently(&["doctor", "--json"]).json();
    let checks = report["checks"].as_array().unwrap();
    let found = checks.iter().find(|one| one["check"] == check).unwrap();
    let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
    (text("state"), text("found"), text("mend"))
}

/// All words of what somebody was told, in one line.
fn said(ran: &Ran) -> String {
    let both = format!("{} {}", ran.out, ran.err);
    both.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs what was advised, as a person types it.
fn typed(person: &Person, command: &str) {
    let status = std::process::Command::new("sh")
        .args(["-c", command])
        .current_dir(person.home())
        .status();
    assert!(status.unwrap().success(), "{command}");
}

/// Everything is well, and somebody can go on.
#[track_caller]
fn is_well(person: &Person) {
    person.gently(&["audit", "verify"]).exits(0);
    person.ask("And what of it now?");
    person.gently(&["doctor"]).exits(0);
    person.gently(&["audit", "verify"]).exits(0);
}

#[test]
fn a_tree_head_that_was_taken_away_is_signed_again_by_a_rebuild_alone() {
    let (person, _server) = home();
    edit(&person, "UPDATE head SET checkpoint = NULL");
    for file in ["", "audit.checkpoint"] {
        if !file.is_empty() {
            edit(&person, "UPDATE head SET checkpoint = NULL");
            fs::remove_file(person.at(file)).unwrap();
        }
        let lines = person.log();
        for check in ["log", "writer"] {
            let (state, found, mend) = wrong(&person, check);
            assert_eq!(state, "FAIL", "{check}: {found}");
            assert!(found.contains("tree head"), "{check}: {found}");
            assert!(mend.contains("gently audit rebuild"), "{check}: {mend}");
        }
        let refused = person.gently(&["ask", "Is it signed?"]);
        assert_ne!(refused.code, 0, "{refused:?}");
        assert!(
            said(&refused).contains("no signed tree head"),
            "{refused:?}"
        );
        assert_eq!(person.log(), lines, "something was written");
        let planned = person.gently(&["audit", "rebuild", "--dry-run"]).exits(1);
        assert!(planned.out.contains("audit.checkpoint"), "{planned:?}");
        person.gently(&["audit", "rebuild"]).exits(0);
        is_well(&person);
    }
}

#[test]
fn a_question_whose_process_was_killed_is_told_alike_and_with_its_cure() {
    let (person, server) = served(Behaviour::NeverBegins);
    person.gently(&["init"]).exits(0);
    let mut asking = person.command(&["ask", "Who is killed?"]);
    let asking = asking.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut asking = asking.unwrap();
    server.wait_for(1);
    asking.kill().unwrap();
    asking.wait().unwrap();
    for args in [&["audit", "verify"][..], &["audit", "rebuild"]] {
        let told = person.gently(args).exits(1);
        let words = said(&told);
        assert!(
            words.to_lowercase().contains("not complete") && words.contains("gently session close"),
            "{args:?}: {told:?}"
        );
        assert!(!words.contains("all of it holds together"), "{told:?}");
    }
    person.gently(&["session", "close", "--yes"]).exits(0);
    person.gently(&["audit", "rebuild"]).exits(0);
    person.gently(&["audit", "verify"]).exits(0);
}

/// Puts something in the way.
type InTheWay = fn(&Person);

#[test]
fn what_stands_in_a_writers_way_is_named_with_the_command_that_helps() {
    let (person, _server) = home();
    let ways: [(&str, &str, InTheWay); 4] = [
        ("config", "context.json", |person| {
            fs::write(person.at("context.json"), "{").unwrap();
        }),
        ("writer", "in-flight", |person| {
            let _ = fs::remove_dir_all(person.at("in-flight"));
            fs::write(person.at("in-flight"), "x").unwrap();
        }),
        ("writer", "writer.lock", |person| {
            let _ = fs::remove_file(person.at("writer.lock"));
            fs::create_dir(person.at("writer.lock")).unwrap();
        }),
        ("writer", "audit.checkpoint", |person| {
            fs::remove_file(person.at("audit.checkpoint")).unwrap();
            fs::create_dir_all(person.at("audit.checkpoint/x")).unwrap();
        }),
    ];
    for (check, name, put) in ways {
        put(&person);
        let lines = person.log();
        let (state, found, mend) = wrong(&person, check);
        assert_eq!(state, "FAIL", "{name}: {found}");
        assert!(found.contains(name), "{name}: {found}");
        assert_ne!(person.gently(&["ask", "Is it free?"]).code, 0, "{name}");
        assert_eq!(person.log(), lines, "{name}: something was written");
        typed(&person, &mend);
        is_well(&person);
    }
}

#[test]
fn a_log_that_is_a_link_and_a_repository_that_is_hindered_are_mended_by_a_rebuild() {
    let (person, _server) = home();
    let tip = person.git(&["rev-parse", "refs/heads/main"]).out;
    let elsewhere = person.home().with_file_name("elsewhere.log");
    fs::rename(person.at("audit.log"), &elsewhere).unwrap();
    symlink(&elsewhere, person.at("audit.log")).unwrap();
    let linked = fs::read(&elsewhere).unwrap();
    let told = person.gently(&["ask", "Where is the log?"]);
    assert!(
        told.code != 0 && said(&told).contains("gently audit rebuild"),
        "{told:?}"
    );
    person.gently(&["audit", "rebuild"]).exits(0);
    assert_eq!(fs::read(&elsewhere).unwrap(), linked, "it was followed");
    assert!(person.at("audit.log").symlink_metadata().unwrap().is_file());
    is_well(&person);
    fs::create_dir_all(person.at("ledger.git/info")).unwrap();
    for file in ["ledger.git/shallow", "ledger.git/info/grafts"] {
        fs::write(person.at(file), &tip).unwrap();
        let told = person.gently(&["audit", "verify"]).exits(2);
        assert!(said(&told).contains("gently audit rebuild"), "{told:?}");
        let (state, _, mend) = wrong(&person, "ledger");
        assert_eq!(
            (state.as_str(), mend.as_str()),
            ("FAIL", "gently audit rebuild")
        );
        let planned = person.gently(&["audit", "rebuild", "--dry-run"]).exits(1);
        assert!(planned.out.contains("would set aside"), "{planned:?}");
        person.gently(&["audit", "rebuild"]).exits(0);
        assert_eq!(
            fs::read_to_string(person.at(&format!("{file}.torn"))).unwrap(),
            tip
        );
        is_well(&person);
    }
}

#[test]
fn zeros_behind_the_last_line_are_cut() {
    let (person, _server) = home();
    for (count, state) in [(1, "warn"), (4096, "warn"), (400_000, "FAIL")] {
        let mut log = fs::read(person.at("audit.log")).unwrap();
        let honest = log.clone();
        log.resize(log.len() + count, 0);
        fs::write(person.at("audit.log"), &log).unwrap();
        let (told, found, _) = wrong(&person, "log");
        assert_eq!(told, state, "{count}: {found}");
        if state == "FAIL" {
            person.gently(&["audit", "rebuild"]).exits(0);
            assert_eq!(fs::read(person.at("audit.log.torn")).unwrap(), log);
        } else {
            person.ask("Is it cut?");
        }
        is_well(&person);
        let log = fs::read(person.at("audit.log")).unwrap();
        assert!(log.starts_with(&honest), "{count}");
    }
    // Other bytes are somebody's.
    let mut log = fs::read(person.at("audit.log")).unwrap();
    log.extend([0, 0, b'x']);
    fs::write(person.at("audit.log"), &log).unwrap();
    assert_ne!(person.gently(&["ask", "Whose is it?"]).code, 0);
    assert_eq!(fs::read(person.at("audit.log")).unwrap(), log);
}

#[test]
fn what_is_advised_for_tables_helps() {
    let (person, _server) = home();
    let sql = |text: &str| {
        let database = Connection::open(person.at("gently.db")).unwrap();
        database
            .execute_batch(&format!("PRAGMA foreign_keys = OFF; {text}"))
            .unwrap();
    };
    // What is typed with sqlite3, here by its library.
    let run_as_told = |told: &str| {
        let (_, rest) = told
            .split_once("sqlite3 gently.db '")
            .unwrap_or_else(|| panic!("{told}"));
        sql(rest.split_once('\'').unwrap().0);
    };
    for (change, is_refused) in [
        ("DROP TABLE refinery_schema_history", false),
        ("ALTER TABLE drift_event RENAME TO elsewhere", true),
        ("ALTER TABLE chat_turn RENAME TO elsewhere", true),
        ("ALTER TABLE conversation RENAME TO elsewhere", false),
        (
            "CREATE TABLE mine (id TEXT REFERENCES chat_turn(turn_id)); INSERT INTO mine VALUES ('nobody')",
            false,
        ),
    ] {
        sql(change);
        let (database, schema) = (wrong(&person, "database"), wrong(&person, "schema"));
        assert_eq!(database.0, "ok", "{change}: {database:?}");
        assert_eq!(schema.0, "FAIL", "{change}: {schema:?}");
        let told = person.gently(&["audit", "rebuild"]);
        let words = said(&told);
        if is_refused {
            assert_eq!(told.code, 1, "{change}: {told:?}");
            assert!(words.contains("RENAME TO"), "{change}: {told:?}");
        }
        if words.contains("sqlite3 gently.db") {
            run_as_told(&words);
            person.gently(&["audit", "rebuild"]).exits(0);
        } else {
            assert!(change.contains("refinery"), "{change}: {told:?}");
        }
        is_well(&person);
    }
}
