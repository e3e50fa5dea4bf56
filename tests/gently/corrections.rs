//! Corrections through the program: what was wrong stays corrected, fades, and says so.

use std::process::Command;

use gently::record::ledger::correction::DecayClass;
use serde_json::{Value, json};

use crate::model_server::{Behaviour, ModelServer};
use crate::opening::served;
use crate::person::Person;
use crate::unguarded::unguarded;

const WRONG: &str = "Sydney is the capital of Australia.";
const RIGHT: &str = "Canberra is the capital of Australia.";
const ASKED: &str = "What is the capital of Australia?";

/// Somebody with a model that answers so.
fn with_model(answers: &str) -> (Person, ModelServer) {
    served(Behaviour::Says(answers.to_owned()))
}

fn context(person: &Person) -> Value {
    let shown = person.gently(&["context", "show", "last", "--json"]);
    shown.exits(0).json()
}

fn injected(context: &Value) -> Vec<&str> {
    let all = context["injected"].as_array().unwrap().iter();
    all.filter(|one| one["artifact_type"] == "correction")
        .map(|one| one["artifact_id"].as_str().unwrap())
        .collect()
}

#[test]
fn what_was_wrong_stays_corrected_elsewhere() {
    let (person, server) = with_model(WRONG);
    person.ask(ASKED).exits(0);
    let args = [
        "correction",
        "add",
        RIGHT,
        "--not",
        WRONG,
        "--about",
        "last",
    ];
    let made = person.gently(&args).exits(0);
    assert_eq!(
        made.out,
        format!("correction-1  declared  {RIGHT} (not: {WRONG})\n")
    );
    // In another conversation, and by another model.
    let again = ["ask", "--new", "-m", "openai/other-2b", "--json", ASKED];
    let asked = person.gently(&again).exits(0).json();
    let sent = server.requests().last().unwrap().json().to_string();
    assert!(sent.contains(&format!("{RIGHT} (not: {WRONG})")), "{sent}");
    let shown = context(&person);
    assert_eq!(injected(&shown), ["correction:000001"], "{shown:#}");
    let warned = asked["warnings"].to_string();
    assert!(warned.contains("rejected_claim"), "{asked:#}");
    let listed = person.gently(&["correction", "list"]).exits(0).out;
    assert!(
        listed.contains("about ")
            && listed.contains("confidence 0.900")
            && !listed.contains("decay"),
        "{listed}"
    );
    let verified = person.verified();
    assert_eq!(verified["answers"]["consistent"], "yes", "{verified:#}");
    let replayed = person.gently(&["audit", "replay", "--all"]);
    assert_eq!(replayed.code, 0, "{replayed:#?}");
}

#[test]
fn an_answer_that_denies_what_was_rejected_is_no_warning() {
    let (person, _server) = with_model("Sydney is not the capital of Australia, it is Canberra.");
    person.gently(&["init"]).exits(0);
    let args = [
        "correction",
        "add",
        RIGHT,
        "--not",
        "Sydney is the capital of Australia",
    ];
    person.gently(&args).exits(0);
    let asked = person.gently(&["ask", "--json", ASKED]).exits(0).json();
    assert!(
        !asked["warnings"].to_string().contains("rejected_claim"),
        "{asked:#}"
    );
    assert_eq!(injected(&context(&person)), ["correction:000001"]);
}

#[test]
fn it_fades_and_is_left_out_with_the_reason() {
    let (person, server) = with_model("It is Canberra.");
    person.gently(&["init"]).exits(0);
    for (decay, age) in [("A", "2000d"), ("d", "200d"), ("C", "100d")] {
        let args = [
            "correction",
            "add",
            &format!("{RIGHT} ({decay})"),
            "--decay",
            decay,
            "--observed-at",
            age,
            "--confidence",
            "1",
        ];
        person.gently(&args).exits(0);
    }
    person.ask(ASKED).exits(0);
    let shown = context(&person);
    let mut ids = injected(&shown);
    ids.sort_unstable();
    assert_eq!(ids, ["correction:000001", "correction:000003"], "{shown:#}");
    let faded = json!({"artifact": "correction:000002", "reason": "faded"});
    assert!(
        shown["exclusions"].as_array().unwrap().contains(&faded),
        "{shown:#}"
    );
    let list = person
        .gently(&["correction", "list", "--json"])
        .exits(0)
        .json();
    let left = |at: usize| list[at]["effective_confidence"].as_f64().unwrap();
    assert!(
        (left(0) - 1.0).abs() < 1e-9 && left(1) < 0.4 && left(2) > 0.9,
        "{list:#}"
    );
    let words = person.gently(&["correction", "list"]).exits(0).out;
    assert!(words.contains(": faded, decay D"), "{words}");
    drop(server);
}

/// The crate's table beside python's own exponential, a day at a time.
#[test]
fn it_is_pythons_exponential_to_a_thousandth() {
    const PYTHON: &str = r#"
import math
year = 31557600
for name, lifetime in (("B", 10 * year), ("C", 3 * year), ("D", year // 2)):
    for confidence in (1000, 900, 137):
        for day in range(0, 30 * 366, 7):
            print(name, confidence, day * 86400, confidence * math.exp(-day * 86400 / lifetime))
"#;
    let out = Command::new("python3")
        .args(["-c", PYTHON])
        .output()
        .unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    let mut compared = 0;
    for line in text.lines() {
        let parts: Vec<&str> = line.split(' ').collect();
        let class: DecayClass = parts[0].parse().unwrap();
        let left = class.left_of(parts[1].parse().unwrap(), parts[2].parse().unwrap());
        let exact: f64 = parts[3].parse().unwrap();
        assert!((f64::from(left) - exact).abs() < 0.51, "{line}: {left}");
        compared += 1;
    }
    assert_eq!(compared, 3 * 3 * 1569);
}

#[test]
fn a_file_is_proposed_once() {
    let person = Person::new();
    person.gently(&["init"]).exits(0);
    let file = person.at("pairs.jsonl");
    let lines = [
        r#"{"prompt":"Capital of Australia","chosen":"Canberra","rejected":"Sydney","domain":"geo","confidence":0.8}"#,
        "",
        r#"{"chosen":1}"#,
        r#"{"chosen":"We close at six.","source":"arbiter"}"#,
        r#"{"chosen":"x","confidence":1.5}"#,
        r#"{"chosen":"We close at six.","source":"manual"}"#,
    ];
    std::fs::write(&file, lines.join("\n")).unwrap();
    let args = ["correction", "import", file.to_str().unwrap()];
    let made = person.gently(&args).exits(1);
    assert_eq!(
        made.out,
        "5 lines: 2 proposed, 1 on record already, 2 refused\n"
    );
    assert!(
        made.err.contains("line 3 is no correction") && made.err.contains("line 5"),
        "{made:#?}"
    );
    std::fs::write(person.at("one.jsonl"), lines[3]).unwrap();
    let one = person.at("one.jsonl");
    let one = person.gently(&["correction", "import", one.to_str().unwrap()]);
    assert_eq!(
        one.exits(0).out,
        "1 line: 0 proposed, 1 on record already, 0 refused\n"
    );
    let again = person
        .gently(&[&args[..], &["--json"]].concat())
        .exits(1)
        .json();
    assert_eq!(
        (&again["recorded"], &again["unchanged"]),
        (&json!([]), &json!(3))
    );
    let list = person
        .gently(&["correction", "list", "--json"])
        .exits(0)
        .json();
    let told = |at: usize, key: &str| list[at][key].clone();
    assert_eq!(told(0, "state"), "proposed");
    assert_eq!(
        (told(0, "subject"), told(0, "domain")),
        (json!("capital of australia"), json!("geo"))
    );
    assert_eq!(
        (told(0, "source"), told(1, "source")),
        (json!("import"), json!("arbiter"))
    );
    assert_eq!(
        (told(0, "confidence"), told(1, "confidence")),
        (json!(0.8), json!(0.7))
    );
    assert!(
        made.err
            .contains("correction ratify correction-1 correction-2"),
        "{made:#?}"
    );
    // Where one can't be ratified none is, and it is said of all of them at once.
    let refused = person
        .gently(&["correction", "ratify", "1", "8", "9", "2"])
        .exits(2);
    assert_eq!(refused.out, "", "{refused:#?}");
    let said = refused.err.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = "none of the 4 is ratified: no correction 'correction-8' is on record; no correction 'correction-9' is on \
               record: gently correction list";
    assert!(said.contains(why), "{refused:#?}");
    person.gently(&["correction", "ratify", "1"]).exits(0);
    // What counts already is left as it is, and keeps nothing from the others.
    let lines = person.log().len();
    let ratified = person
        .gently(&["correction", "ratify", "1", "correction-1", "2"])
        .exits(0);
    let each: Vec<&str> = ratified.out.lines().collect();
    assert_eq!(each.len(), 2, "{ratified:#?}");
    assert!(
        each[0].starts_with("correction-1  ratified") && each[1].starts_with("correction-2"),
        "{ratified:#?}"
    );
    assert!(
        ratified.err.contains("correction-1 is ratified already")
            && !ratified.err.contains("correction-2"),
        "{ratified:#?}"
    );
    assert_eq!(person.log().len(), lines + 1);
    let again = person
        .gently(&["correction", "ratify", "1", "--json"])
        .exits(0)
        .json();
    assert_eq!(
        (&again["state"], &again["recorded"]),
        (&json!("ratified"), &json!(false))
    );
    person
        .gently(&["correction", "retire", "correction-2", "--reason", "no"])
        .exits(0);
    assert!(
        person
            .gently(&args)
            .exits(1)
            .out
            .contains("0 proposed, 3 on record already")
    );
    let missing = person
        .gently(&["correction", "import", "nowhere.jsonl"])
        .exits(2);
    assert!(missing.err.contains("nowhere.jsonl"), "{missing:#?}");
}

#[test]
fn it_takes_the_place_of_a_fact_and_disagrees_with_one() {
    let person = Person::new();
    person.gently(&["init"]).exits(0);
    for text in ["The office closes at five.", "The office closes at four."] {
        let args = ["fact", "add", text, "--subject", "hours"];
        person.gently(&args).exits(0);
    }
    person.gently(&["fact", "ratify", "fact-1"]).exits(0);
    let lines = person.log().len();
    let args = [
        "correction",
        "add",
        "The office closes at six.",
        "--subject",
        "Hours",
        "--replaces",
        "fact-1",
    ];
    let made = person.gently(&args).exits(0);
    assert!(made.err.contains("fact-1 is out of force"), "{made:#?}");
    assert_eq!(person.log().len(), lines + 2);
    let facts = person.gently(&["fact", "list", "--all"]).exits(0).out;
    assert!(facts.contains("fact-1  retired"), "{facts}");
    let twice = person.gently(&args).exits(2);
    assert!(
        twice.err.contains("fact-1 is retired already"),
        "{twice:#?}"
    );
    assert!(person.gently(&["conflict", "list"]).exits(0).out.is_empty());
    person.gently(&["fact", "ratify", "fact-2"]).exits(0);
    let conflicts = person.gently(&["conflict", "list"]).exits(0).out;
    assert!(
        conflicts.contains("fact-2") && conflicts.contains("correction-1"),
        "{conflicts}"
    );
    // What it rejects is no claim of it.
    let args = [
        "correction",
        "add",
        "The office closes at four",
        "--not",
        "It closes at six",
        "--subject",
        "hours",
        "--replaces",
        "correction-1",
    ];
    person.gently(&args).exits(0);
    assert!(person.gently(&["conflict", "list"]).exits(0).out.is_empty());
    assert_eq!(person.verified()["answers"]["consistent"], "yes");
}

#[test]
fn what_is_none_is_refused_and_nothing_is_recorded() {
    let person = Person::new();
    person.gently(&["init"]).exits(0);
    let lines = person.log().len();
    for (args, said) in [
        (&["  "][..], "the correction says nothing"),
        (&["a (not: b)"], "'(not:'"),
        (&["a", "--not", "(NOT: b"], "'(not:'"),
        (
            &["Same.", "--not", "same"],
            "what it rejects is what it claims",
        ),
        (&["a", "--confidence", "1.5"], "is no confidence"),
        (&["a", "--confidence", "0,9"], "is no confidence"),
        (&["a", "--decay", "E"], "decay"),
        (&["a", "--domain", "Law"], "is no name here"),
        (
            &["a", "--replaces", "fact-9"],
            "no fact, note, decision or correction 'fact-9'",
        ),
        (&["a", "--about", "99999999"], "99999999"),
        (&["a", "--observed-at", "2999-01-01"], "future"),
    ] {
        let refused = person
            .gently(&[&["correction", "add"], args].concat())
            .exits(2);
        assert!(refused.err.contains(said), "{args:?}: {refused:#?}");
    }
    assert_eq!(person.log().len(), lines);
    let none = person.gently(&["correction", "list"]).exits(0);
    assert!(none.err.contains("no correction is on record"), "{none:#?}");
}

#[test]
fn a_question_that_begins_so_is_one_about_the_turn_before() {
    let (person, server) = with_model("Noted.");
    person.ask(ASKED).exits(0);
    let asked = person
        .gently(&["ask", "-c", "Correction: Canberra is the capital."])
        .exits(0);
    assert!(
        asked.err.contains("correction-1 is on record, about "),
        "{asked:#?}"
    );
    let sent = server.requests().last().unwrap().json().to_string();
    assert!(
        sent.contains("Facts on record") && sent.contains("Canberra is the capital."),
        "{sent}"
    );
    let list = person
        .gently(&["correction", "list", "--json"])
        .exits(0)
        .json();
    assert_eq!(list[0]["claim"], "Canberra is the capital.");
    assert!(list[0]["about"].is_string(), "{list:#}");
    let lines = person.log().len();
    let refused = person.gently(&["ask", "-c", "correction:  "]).exits(2);
    assert!(
        refused.err.contains("the correction says nothing"),
        "{refused:#?}"
    );
    assert_eq!(person.log().len(), lines);
}

#[test]
fn secrets_go_and_what_is_erased_is_nowhere() {
    let person = Person::new();
    person.gently(&["init"]).exits(0);
    let secret = ["ghp_", "wJ8kQ2mZxV5nB7cR4tY9uL1oP3sD6fG0hA2E"].concat();
    let (claim, rejected) = (
        "The zygomorphic token changed.",
        format!("It is {secret} quokkafied"),
    );
    let made = person
        .gently(&["correction", "add", claim, "--not", &rejected])
        .exits(0);
    assert!(
        made.err.contains("removed before it was stored"),
        "{made:#?}"
    );
    let found = person.gently(&["search", "quokkafied"]).exits(0).out;
    assert!(found.contains("correction-1"), "{found}");
    person.gently(&["erase", "correction-1", "--yes"]).exits(0);
    let shown = person.gently(&["show", "correction-1"]).exits(0).out;
    assert!(shown.contains("(erased)"), "{shown}");
    person.gently(&["sync"]).exits(0);
    for word in ["zygomorphic", "quokkafied", &secret] {
        let grep = Command::new("grep")
            .args(["-rla", word])
            .arg(person.home())
            .output();
        let files = String::from_utf8(grep.unwrap().stdout).unwrap();
        assert_eq!(files, "", "{word}");
    }
    assert_eq!(person.verified()["answers"]["consistent"], "yes");
}

#[test]
fn a_row_that_was_changed_by_hand_is_found_and_made_again() {
    let person = Person::new();
    person.gently(&["init"]).exits(0);
    person
        .gently(&["correction", "add", RIGHT, "--not", WRONG])
        .exits(0);
    for change in [
        "UPDATE continuity_item SET confidence_milli = 1000",
        "UPDATE continuity_item SET decay = 'A'",
        "UPDATE continuity_item SET domain = 'law'",
        "UPDATE continuity_item SET state = 'retired'",
        "DELETE FROM continuity_item",
    ] {
        unguarded(person.home().join("gently.db"))
            .execute(change, [])
            .unwrap();
        let verified = person.verified();
        assert_eq!(verified["answers"]["consistent"], "no", "{change}");
        person.gently(&["audit", "rebuild"]).exits(0);
        assert_eq!(
            person.verified()["answers"]["consistent"],
            "yes",
            "{change}"
        );
    }
}

#[test]
fn the_view_says_what_the_record_says() {
    let (person, _server) = with_model("Sydney.");
    person.ask(ASKED).exits(0);
    let args = [
        "correction",
        "add",
        RIGHT,
        "--not",
        WRONG,
        "--about",
        "last",
        "--subject",
        "capital",
        "--domain",
        "geo",
        "--confidence",
        "0.95",
        "--decay",
        "D",
        "--observed-at",
        "30d",
    ];
    person.gently(&args).exits(0);
    person
        .gently(&["correction", "add", "Tea is better.", "--decay", "A"])
        .exits(0);
    let list = person
        .gently(&["correction", "list", "--json"])
        .exits(0)
        .json();
    let database = person.database();
    let sql = "SELECT json_array(id, subject, domain, claim, rejected, confidence, source, effective_confidence,
                 decay_class, json(metadata), state) FROM corrections ORDER BY line";
    let mut statement = database.prepare(sql).unwrap();
    let rows = statement
        .query_map([], |row| row.get::<_, String>(0))
        .unwrap();
    let rows: Vec<Value> = rows
        .map(|row| serde_json::from_str(&row.unwrap()).unwrap())
        .collect();
    assert_eq!(rows.len(), 2);
    for (row, told) in rows.iter().zip(list.as_array().unwrap()) {
        let keys = [
            "id",
            "subject",
            "domain",
            "claim",
            "rejected",
            "confidence",
            "source",
            "effective_confidence",
            "decay",
        ];
        for (at, key) in keys.iter().enumerate() {
            assert_eq!(row[at], told[*key], "{key}: {row} {told}");
        }
    }
    assert_eq!(rows[0][9]["correction_type"], "replacement");
    assert_eq!(rows[1][9]["correction_type"], "preference");
    assert!(rows[0][9]["trace_id"].is_string() && rows[0][9]["session_id"].is_string());
    let events = "SELECT count(*) FROM audit_log WHERE event_type = 'correction'";
    let events: u32 = database.query_row(events, [], |row| row.get(0)).unwrap();
    assert_eq!(events, 2);
}

#[test]
fn a_home_without_texts_keeps_a_commitment_and_takes_no_file() {
    let person = Person::with(&[("GENTLY_STORE_CONTENT", "none")]);
    person.gently(&["init"]).exits(0);
    let made = person.gently(&["correction", "add", RIGHT]).exits(0);
    assert!(
        made.out.contains("not kept") && made.err.contains("not kept"),
        "{made:#?}"
    );
    let listed = person.gently(&["correction", "list"]).exits(0);
    assert!(
        listed
            .err
            .contains("1 correction is on record by its commitment only"),
        "{listed:#?}"
    );
    let file = person.at("pairs.jsonl");
    std::fs::write(&file, "{\"chosen\":\"x\"}\n").unwrap();
    let refused = person
        .gently(&["correction", "import", file.to_str().unwrap()])
        .exits(2);
    assert!(refused.err.contains("keeps no texts"), "{refused:#?}");
}

/// What somebody changed in the database is neither sent, nor made to count, and is named.
#[test]
fn a_changed_correction_or_fact_is_not_sent_and_named() {
    let (person, server) = with_model("Six.");
    person.gently(&["init"]).exits(0);
    person
        .gently(&["correction", "add", "The office closes at six."])
        .exits(0);
    person
        .gently(&["fact", "add", "The office opens at nine."])
        .exits(0);
    person.gently(&["fact", "ratify", "fact-1"]).exits(0);
    person
        .gently(&["fact", "add", "The office has a door."])
        .exits(0);
    let sent = |question: &str| {
        let asked = person.gently(&["ask", question]).exits(0);
        (
            server.requests().last().unwrap().json().to_string(),
            asked.err,
        )
    };
    let (whole, _) = sent("When does the office close and open?");
    assert!(
        whole.contains("closes at six") && whole.contains("opens at nine"),
        "{whole}"
    );
    unguarded(person.home().join("gently.db"))
        .execute_batch("UPDATE artifact SET document = replace(replace(document, 'at six', 'at EVIL'), 'at nine', 'at EVIL')")
        .unwrap();
    unguarded(person.home().join("gently.db"))
        .execute_batch("UPDATE artifact SET document = replace(document, 'a door', 'an EVIL') WHERE id = 'ledger:000002'")
        .unwrap();
    let (evil, said) = sent("When does the office close and open again?");
    assert!(!evil.contains("EVIL"), "{evil}");
    let said = said.replace("\n  ", " ");
    assert!(
        said.contains("not what was recorded: gently audit verify"),
        "{said}"
    );
    let excluded = context(&person)["exclusions"].to_string();
    assert!(
        excluded.contains("correction:000001") && excluded.contains("\"changed\""),
        "{excluded}"
    );
    let refused = person.gently(&["fact", "ratify", "fact-2"]).exits(2);
    assert!(
        refused.err.contains("fact-2 is not what was recorded"),
        "{refused:#?}"
    );
    let list = person.gently(&["correction", "list"]).exits(1);
    assert!(
        list.err.contains("correction-1 is not what was recorded"),
        "{list:#?}"
    );
    // A row alone that says something else.
    person
        .gently(&["correction", "add", "Tea is at four."])
        .exits(0);
    person
        .gently(&["correction", "retire", "correction-2"])
        .exits(0);
    unguarded(person.home().join("gently.db"))
        .execute_batch(
            "UPDATE continuity_item SET state = 'declared' WHERE id = 'correction:000002'",
        )
        .unwrap();
    person.gently(&["correction", "list"]).exits(1);
}

/// What artifacts say of an item, and not what its row says of itself.
#[test]
fn a_state_that_no_artifact_gave_is_believed_by_nobody() {
    let (person, server) = with_model("At seven.");
    person.gently(&["init"]).exits(0);
    let file = person.at("one.jsonl");
    std::fs::write(&file, r#"{"chosen":"The zebra office closes at ten."}"#).unwrap();
    for args in [
        &["fact", "add", "The zebra office opens at nine."][..],
        &["correction", "import", file.to_str().unwrap()],
        &["fact", "add", "The zebra door is red.", "--subject", "door"],
        &[
            "fact",
            "add",
            "The zebra door is blue.",
            "--subject",
            "door",
        ],
        &["fact", "ratify", "2", "3"],
        &["conflict", "resolve", "fact-2"],
        &["intent", "set", "Old zebra goal."],
        &["intent", "set", "New zebra goal."],
        &["correction", "add", "The zebra shop has okapis."],
        &["erase", "correction-2", "--yes"],
    ] {
        person.gently(args).exits(0);
    }
    unguarded(person.home().join("gently.db"))
        .execute_batch(
            "UPDATE continuity_item SET state = 'ratified' WHERE id IN ('ledger:000001', 'ledger:000003');
             UPDATE continuity_item SET state = 'declared' WHERE id IN ('intent:000001');
             UPDATE continuity_item SET state = 'ratified' WHERE id = 'correction:000001'",
        )
        .unwrap();
    let asked = person
        .gently(&[
            "ask",
            "What of the zebra office, the zebra door and the goal?",
        ])
        .exits(0);
    let sent = server.requests().last().unwrap().json().to_string();
    for never in ["at nine", "at ten", "is blue", "Old zebra", "okapis"] {
        assert!(!sent.contains(never), "{never}: {sent}");
    }
    assert!(sent.contains("is red"), "{sent}");
    for named in ["fact-1", "correction-1"] {
        assert!(asked.err.contains(named), "{named}: {asked:#?}");
    }
}

/// Some secrets are known by their capitals.
#[test]
fn a_subject_loses_its_secrets_before_its_capitals() {
    let (person, _server) = with_model("Yes.");
    person.gently(&["init"]).exits(0);
    let key = "AKIAQYLPMN5HFIQR7XYC";
    let file = person.at("one.jsonl");
    let line = format!(r#"{{"prompt":"{key}","chosen":"zebra two"}}"#);
    std::fs::write(&file, line).unwrap();
    for args in [
        &["correction", "add", "zebra manual", "--subject", key][..],
        &["fact", "add", "zebra fact", "--subject", key],
        &["correction", "import", file.to_str().unwrap()],
    ] {
        let said = person.gently(args).exits(0);
        assert!(said.err.contains("removed before"), "{said:#?}");
    }
    let small = key.to_lowercase();
    let bytes = std::fs::read(person.at("gently.db")).unwrap();
    let wal = std::fs::read(person.at("gently.db-wal")).unwrap_or_default();
    for held in [bytes, wal] {
        let held = String::from_utf8_lossy(&held).to_lowercase();
        assert!(!held.contains(&small));
    }
}

#[test]
fn the_same_twice_and_what_is_forbidden_is_not_recorded() {
    let (person, _server) = with_model("Yes.");
    person.gently(&["init"]).exits(0);
    person
        .gently(&["correction", "add", RIGHT, "--not", WRONG])
        .exits(0);
    let twice = person
        .gently(&["correction", "add", RIGHT, "--not", WRONG])
        .exits(2);
    assert!(
        twice.err.contains("correction-1 says the same"),
        "{twice:#?}"
    );
    for disguised in [
        "a (n\u{200b}ot: b)",
        "a (not : b)",
        "a (nоt: b)",
        "a ❨not: b❩",
        "a (not꞉ b)",
        "a (not\u{2236} b)",
        "a [not: b]",
        "a ⁽not: b⁾",
        "a (n\u{336}ot: b)",
    ] {
        person.gently(&["correction", "add", disguised]).exits(2);
    }
    for rejected in ["a). b (c", "a) b"] {
        let args = ["correction", "add", "zebra", "--not", rejected];
        person.gently(&args).exits(2);
    }
    person
        .gently(&["correction", "add", "x", "--not", "a\u{1b}[2Jb"])
        .exits(2);
    // A plain question goes on in the conversation, and so does what it corrects.
    person.ask("What is the sea?").exits(0);
    person
        .gently(&["ask", "correction: The sea is salt."])
        .exits(0);
    let list = person
        .gently(&["correction", "list", "--json"])
        .exits(0)
        .json();
    assert!(list[1]["about"].is_string(), "{list:#}");
    let again = person
        .gently(&["ask", "correction: The sea is salt."])
        .exits(0);
    assert!(
        again.err.contains("correction-2 says the same"),
        "{again:#?}"
    );
    let kernel = person.gently(&["kernel", "show"]).exits(0).out;
    let file = person.home().with_file_name("kernel.toml");
    let forbids = "\n[[policy.forbidden]]\nname = \"weapons\"\npattern = \"(?i)explosive\"\n";
    std::fs::write(&file, kernel + forbids).unwrap();
    person
        .gently(&["kernel", "set", file.to_str().unwrap()])
        .exits(0);
    person
        .gently(&["ask", "correction: explosive stuff is fine"])
        .exits(1);
    // Also what is forbidden only without the word before it.
    let kernel = person.gently(&["kernel", "show"]).exits(0).out;
    let forbids = "\n[[policy.forbidden]]\nname = \"first\"\npattern = \"^badger\"\n";
    std::fs::write(&file, kernel + forbids).unwrap();
    person
        .gently(&["kernel", "set", file.to_str().unwrap()])
        .exits(0);
    person
        .gently(&["ask", "correction: badger tower is nine"])
        .exits(0);
    let list = person
        .gently(&["correction", "list", "--json"])
        .exits(0)
        .json();
    assert_eq!(list.as_array().unwrap().len(), 2, "{list:#}");
}

#[test]
fn erasing_names_what_was_said_about_it_and_shows_what_is_gone() {
    let (person, _server) = with_model("At five.");
    person.ask("When does the wolverine shop shut?").exits(0);
    person
        .gently(&["rate", "last", "bad", "--why", "okapi"])
        .exits(0);
    person
        .gently(&[
            "correction",
            "add",
            "The wolverine shop shuts at six.",
            "--about",
            "last",
        ])
        .exits(0);
    let would = person.gently(&["erase", "last", "--dry-run"]).exits(0).out;
    assert!(
        would.contains("correction-1") && would.contains("rating-1"),
        "{would}"
    );
    // What was imported with the question has its words, too, and is about nothing.
    let file = person.home().with_file_name("pairs.jsonl");
    let pairs = [
        ("When does the wolverine shop shut?", "At six."),
        ("When does it shut?", "At seven."),
    ];
    let lines =
        pairs.map(|(prompt, chosen)| format!("{}\n", json!({"prompt": prompt, "chosen": chosen})));
    std::fs::write(&file, lines.concat()).unwrap();
    person
        .gently(&["correction", "import", file.to_str().unwrap()])
        .exits(0);
    let would = person.gently(&["erase", "last", "--dry-run"]).exits(0).out;
    assert!(
        would.contains("correction-2") && !would.contains("correction-3"),
        "{would}"
    );
    person
        .gently(&["ask", "When does the wolverine shop shut now?"])
        .exits(0);
    person.gently(&["erase", "correction-1", "--yes"]).exits(0);
    let shown = person.gently(&["show", "last", "--full"]).exits(0).out;
    assert!(
        !shown.contains("no model was to be asked") && shown.contains("erased"),
        "{shown}"
    );
}

#[test]
fn a_file_with_secrets_is_taken_once() {
    let person = Person::new();
    person.gently(&["init"]).exits(0);
    let file = person.home().with_file_name("pairs.jsonl");
    let tokens = [
        "wJ8kQ2mZxV5nB7cR4tY9uL1oP3sD6fG0hA2E",
        "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5",
    ];
    let lines = tokens
        .iter()
        .enumerate()
        .map(|(n, token)| format!("{{\"chosen\":\"Door {n} opens with ghp_{token}\"}}\n"));
    std::fs::write(&file, lines.collect::<String>()).unwrap();
    let args = ["correction", "import", file.to_str().unwrap()];
    let first = person.gently(&args).exits(0);
    assert!(
        first.out.contains("2 proposed") && first.err.contains("2 secrets"),
        "{first:#?}"
    );
    for _ in 0..2 {
        assert!(
            person
                .gently(&args)
                .exits(0)
                .out
                .contains("0 proposed, 2 on record already")
        );
    }
}
