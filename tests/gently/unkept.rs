//! `[store] content = "none"`: no file of the home ever holds a text, and every reader says so.

use std::path::PathBuf;
use std::process::Stdio;

use gently::record::hash::Hash32;
use gently::record::ledger::commitment::{Role, Salt, Scheme, commit};
use serde_json::{Value, json};

use crate::erase::holders;
use crate::model_server::{Behaviour, ModelServer};
use crate::person::Person;
use crate::unguarded::unguarded;

/// What nobody else writes.
const PROMPT: &str = "Restart nginx, and tell nobody of project quetzalcoatl";
const ANSWER: &str =
    "I have restarted nginx for zygomorphic reasons: it took 47113.25 seconds, see /srv/xylophone";
const WORDS: [&str; 4] = ["quetzalcoatl", "zygomorphic", "xylophone", "47113.25"];

fn nothing_kept(openings: &str, behaviour: Behaviour) -> (Person, ModelServer) {
    let server = ModelServer::start(behaviour);
    let person = Person::with(&[
        ("GENTLY_ANCHOR_MODE", "off"),
        ("GENTLY_MODEL_BASE_URL", &server.base_url()),
        ("GENTLY_STORE_CONTENT", "none"),
        ("GENTLY_STORE_OPENINGS", openings),
    ]);
    (person, server)
}

#[track_caller]
fn is_nowhere(person: &Person, words: &[&str]) {
    for word in words {
        assert_eq!(
            holders(person.home(), word.as_bytes()),
            Vec::<PathBuf>::new(),
            "{word}"
        );
    }
}

fn digests() -> [String; 2] {
    [PROMPT, ANSWER].map(|text| Hash32::digest(text.as_bytes()).to_string())
}

#[test]
fn no_file_of_the_home_holds_a_prompt_a_reply_a_fact_or_a_reason() {
    for openings in ["true", "false"] {
        let (person, server) = nothing_kept(openings, Behaviour::Says(ANSWER.to_owned()));
        let asked = person
            .gently(&[
                "ask",
                "--model",
                "openai/x",
                "--system",
                "Talk of vuvuzelas.",
                PROMPT,
            ])
            .exits(0);
        // The person has the answer, and the intents in it; the record has neither.
        assert!(
            asked.out.contains("zygomorphic") && asked.err.contains("action-1"),
            "{asked:?}"
        );
        assert!(String::from_utf8_lossy(&server.requests()[0].body).contains("quetzalcoatl"));
        for args in [
            &[
                "fact",
                "add",
                "The wombat sleeps at noon",
                "--subject",
                "wombat hours",
                "--source",
                "a zookeeper",
            ][..],
            &["note", "add", "Feed the wombat"],
            &[
                "decision",
                "add",
                "No wombat on Sundays",
                "--subject",
                "wombat days",
            ],
            &["intent", "set", "Understand the wombat"],
            &[
                "erase",
                "--yes",
                "interaction-1",
                "--reason",
                "the wombat wants it",
            ],
        ] {
            if openings == "true" || args[0] != "erase" {
                person.gently(args).exits(0);
            }
        }
        person
            .gently(&["ask", "--model", "openai/x", PROMPT])
            .exits(0);
        person.gently(&["ask", ""]).exits(1);
        let drift = person.gently(&["drift", "list", "--json"]).exits(0).json();
        if let Some(event) = drift["drift"][0]["id"].as_str() {
            person
                .gently(&["drift", "ack", event, "--reason", "the wombat knows"])
                .exits(0);
            person
                .gently(&["drift", "close", event, "--reason", "the wombat knows"])
                .exits(0);
        }
        is_nowhere(&person, &WORDS);
        is_nowhere(
            &person,
            &[
                "wombat",
                "vuvuzela",
                "zookeeper",
                "Restart nginx",
                "restarted nginx",
            ],
        );
        for digest in digests() {
            assert_eq!(
                holders(person.home(), digest.as_bytes()).is_empty(),
                openings == "false",
                "{digest}"
            );
        }
        let salts: i64 = person
            .database()
            .query_row(
                "SELECT (SELECT count(*) FROM llm_exchange WHERE salt IS NOT NULL) + (SELECT count(*) FROM artifact
                   WHERE salt IS NOT NULL AND kind IN ('fact', 'note', 'decision', 'intent'))",
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(salts > 0, openings == "true");
        let report = person.verified();
        assert_eq!(
            (
                &report["answers"]["consistent"],
                &report["answers"]["complete"]
            ),
            (&json!("yes"), &json!("yes"))
        );
        person.gently(&["session", "close"]).exits(0);
        is_nowhere(&person, &WORDS);
    }
}

#[test]
fn the_text_of_a_prompt_is_on_no_disk_while_its_model_thinks_nor_after_a_kill() {
    for openings in ["true", "false"] {
        let (person, server) = nothing_kept(openings, Behaviour::Gate);
        person.gently(&["init"]).exits(0);
        let mut command = person.command(&["ask", "--model", "openai/x", PROMPT]);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        server.wait_for(1);
        is_nowhere(&person, &WORDS);
        child.kill().unwrap();
        child.wait().unwrap();
        // The next one heals, and the close records the prompt as abandoned, by commitments made
        // before the kill.
        person.gently(&["session", "close", "--yes"]).exits(0);
        is_nowhere(&person, &WORDS);
        let shown = person
            .gently(&["show", "last", "--json", "--full"])
            .exits(0)
            .json();
        assert_eq!(
            (&shown["reason"], &shown["kept"]),
            (&json!("abandoned"), &json!(false))
        );
        let report = person.verified();
        assert_eq!(
            (
                &report["answers"]["consistent"],
                &report["answers"]["complete"]
            ),
            (&json!("yes"), &json!("yes"))
        );
        server.release();
    }
}

#[test]
fn a_withheld_reply_and_a_denied_prompt_are_not_kept_either() {
    let (person, _server) = nothing_kept(
        "true",
        Behaviour::Says("I have restarted nginx, says zygomorphic".to_owned()),
    );
    person.gently(&["init"]).exits(0);
    person.withholds_claims(|kernel| kernel.replace("max_bytes = ", "max_bytes = 200 # "));
    let asked = person
        .gently(&["ask", "--model", "openai/x", "Restart it for quetzalcoatl"])
        .exits(1);
    assert!(
        asked.err.contains("withheld") && !asked.out.contains("zygomorphic"),
        "{asked:?}"
    );
    let shown = person
        .gently(&["show", "last", "--withheld", "--full"])
        .exits(0)
        .out;
    assert!(
        shown.contains("not kept") && !shown.contains("erased"),
        "{shown}"
    );
    let long = format!("quetzalcoatl {}", "word ".repeat(100));
    person
        .gently(&["ask", "--model", "openai/x", &long])
        .exits(1);
    assert_eq!(
        person
            .gently(&["show", "last", "--json", "--full"])
            .exits(0)
            .json()["outcome"],
        "denied"
    );
    is_nowhere(&person, &["quetzalcoatl", "zygomorphic"]);
    assert_eq!(person.verified()["answers"]["consistent"], "yes");
}

#[test]
fn every_reader_says_that_it_was_not_kept_and_never_that_it_was_erased() {
    let (person, _server) = nothing_kept("true", Behaviour::Says(ANSWER.to_owned()));
    person
        .gently(&["ask", "--model", "openai/x", PROMPT])
        .exits(0);
    person
        .gently(&["fact", "add", "The wombat sleeps", "--subject", "wombat"])
        .exits(0);
    person
        .gently(&["ask", "--model", "openai/x", "--ref", "last:4", "And now?"])
        .exits(0);
    // Declared turns are kept out, with the reason on record.
    let context = person
        .gently(&["context", "show", "interaction-2", "--json"])
        .exits(0)
        .json();
    let reasons: Vec<&Value> = context["exclusions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["reason"])
        .collect();
    assert!(
        !reasons.is_empty() && reasons.iter().all(|reason| **reason == "not_kept"),
        "{context}"
    );
    let shown = person
        .gently(&["show", "interaction-1", "--json", "--full"])
        .exits(0)
        .json();
    assert_eq!(
        (&shown["kept"], &shown["prompt"], &shown["erased"]),
        (&json!(false), &json!(null), &json!(null))
    );
    assert_eq!(
        shown["checks"]["prompt_commitment"]["holds"],
        json!(null),
        "not checked is no pass"
    );
    // The session of that answer: the newest one is of a model that has none.
    let shown = person.gently(&["show", "interaction-1", "--json", "--full"]);
    let answered = shown.exits(0).json()["session"]["session"]
        .as_str()
        .unwrap()
        .to_owned();
    for args in [
        &["show", "interaction-1", "--full"][..],
        &["show", "interaction-2", "--full"],
        &["session", "show", "last"],
        &["action", "list"],
        &["action", "show", "action:000001"],
        &["fact", "list"],
        &["context", "show", "interaction-1"],
        &["fact", "ratify", "ledger:000001"],
        &["fact", "retire", "ledger:000001"],
        &["ask", "--model", "replay", PROMPT],
        &["audit", "open", "last", "1", "--role", "prompt"],
        &["audit", "open", &answered, "1", "--role", "request"],
        &["audit", "open", &answered, "1", "--role", "reply"],
        &["audit", "verify", "-v"],
    ] {
        let ran = person.gently(args);
        let told = format!("{}{}", ran.out, ran.err);
        assert!(told.contains("not kept"), "{args:?}: {ran:?}");
        assert!(
            !told.contains("(erased)")
                && !told.contains(" erased:")
                && !told.contains("\n    erased"),
            "{args:?}: {ran:?}"
        );
        assert!(!told.contains("changed since"), "{args:?}: {ran:?}");
    }
    let summary = person.gently(&["session", "summary", "last"]).exits(0);
    assert!(!summary.out.contains("erased"), "{summary:?}");
    let report = person.gently(&["audit", "verify", "-v"]).exits(0).out;
    assert!(
        report.contains("the texts of 4 records are not kept and were not checked"),
        "{report}"
    );
    assert_eq!(person.verified()["texts_not_kept"], 4);
}

/// What a person who kept the text can still show.
#[test]
fn with_openings_a_text_at_hand_opens_what_is_on_record_and_without_nothing_does() {
    for openings in ["true", "false"] {
        let (person, _server) = nothing_kept(openings, Behaviour::Says(ANSWER.to_owned()));
        person
            .gently(&["ask", "--model", "openai/x", PROMPT])
            .exits(0);
        let (salt, commitment): (Option<Vec<u8>>, String) = person
            .database()
            .query_row(
                "SELECT salt, prompt_commitment FROM llm_exchange",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .unwrap();
        assert_eq!(salt.is_some(), openings == "true");
        if let Some(salt) = salt {
            let salt = Salt::new(salt.try_into().unwrap());
            assert_eq!(
                commit(Scheme::HmacSha256, &salt, Role::Prompt, PROMPT.as_bytes()).to_string(),
                commitment
            );
        }
    }
}

#[test]
fn switching_holds_from_that_turn_on_and_the_ledger_says_since_when() {
    let mut person = Person::new();
    person.ask("Of the kept quetzalcoatl.");
    person.set("GENTLY_STORE_CONTENT", "none");
    person.ask("Of the lost zygomorph.");
    person.ask("Of another lost zygomorph.");
    person.set("GENTLY_STORE_CONTENT", "sanitized");
    person.ask("Of the second quetzalcoatl.");
    is_nowhere(&person, &["zygomorph"]);
    let kept = |id: &str| {
        person
            .gently(&["show", id, "--json", "--full"])
            .exits(0)
            .json()["kept"]
            .as_bool()
            .unwrap()
    };
    assert_eq!(
        ["1", "2", "3", "4"].map(|n| kept(&format!("prompt-{n}"))),
        [true, false, false, true]
    );
    let policies = person
        .log()
        .iter()
        .filter(|line| line.contains("|artifact|-|kind:content_policy,"))
        .count();
    assert_eq!(policies, 2, "one line for each change");
    assert!(!person.gently(&["log", "-n", "100"]).exits(0).out.is_empty());
    let report = person.verified();
    assert_eq!(
        (&report["answers"]["consistent"], &report["texts_not_kept"]),
        (&json!("yes"), &json!(2))
    );
    // What is not kept is gone for continuity, and the rest is there.
    let found = person
        .gently(&[
            "ask",
            "--deep",
            "--no-ref",
            "--json",
            "Where is the quetzalcoatl?",
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
}

#[test]
fn who_takes_texts_away_can_not_say_that_they_were_never_kept_nor_put_one_back() {
    let kept = Person::new();
    kept.ask("one");
    let database = unguarded(kept.at("gently.db"));
    database
        .execute_batch(
            "UPDATE chat_turn SET content = NULL;
             UPDATE llm_exchange SET context_bundle_json = NULL, user_text_commitment = prompt_commitment;",
        )
        .unwrap();
    let report = kept.gently(&["audit", "verify", "-v"]).exits(1).out;
    assert!(
        report.contains("a policy on record that keeps none"),
        "{report}"
    );

    let mut none = Person::new();
    none.set("GENTLY_STORE_CONTENT", "none");
    none.ask("one");
    let database = rusqlite::Connection::open(none.at("gently.db")).unwrap();
    database
        .execute_batch("UPDATE chat_turn SET content = 'one' WHERE speaker = 'user'")
        .unwrap();
    let report = none.gently(&["audit", "verify", "-v"]).exits(1).out;
    assert!(
        report.contains("texts, which the policy keeps none of: none"),
        "{report}"
    );

    let mut changed = Person::new();
    changed.set("GENTLY_STORE_CONTENT", "none");
    changed.ask("one");
    let database = unguarded(changed.at("gently.db"));
    database
        .execute_batch("UPDATE llm_exchange SET completion_tokens = 7")
        .unwrap();
    let report = changed.gently(&["audit", "verify", "-v"]).exits(1).out;
    assert!(
        report.contains("exchange_commitment of its rows"),
        "the rows are checked without the texts: {report}"
    );
}

#[test]
fn backup_restore_rebuild_export_and_the_second_verifier_go_on_without_texts() {
    let (mut person, _server) = nothing_kept("true", Behaviour::Says(ANSWER.to_owned()));
    person.set("GENTLY_PASSPHRASE", "correct horse battery");
    person
        .gently(&["ask", "--model", "openai/x", PROMPT])
        .exits(0);
    person
        .gently(&["fact", "add", "The wombat sleeps"])
        .exits(0);
    person.gently(&["session", "close"]).exits(0);
    crate::erase::goes_on(
        &person,
        "the texts of 2 records are not kept and were not checked",
    );
    is_nowhere(&person, &["quetzalcoatl", "zygomorphic", "wombat"]);
}
