//! Domains, specialists and ratings through the program: who answers is chosen by what is known.

use serde_json::{Value, json};

use crate::model_server::{Behaviour, ModelServer};
use crate::opening::served;
use crate::person::Person;
use crate::pty::Typist;
use crate::trace_rig::answers;
use crate::unguarded::{found_and_made_again, unguarded};

const VISA: &str = "Which visa do I need at the court?";

/// Somebody with a model server, a domain and two specialists, of which the first is older.
fn with_two() -> (Person, ModelServer) {
    let (person, server) = served(Behaviour::Says("As you like.".to_owned()));
    person.gently(&["init"]).exits(0);
    for args in [
        &["domain", "add", "law", "--words", "visas, courts"][..],
        &[
            "domain",
            "add",
            "code",
            "--words",
            "rust, bug",
            "--decay",
            "D",
        ],
        &["specialist", "add", "general-one", "-m", "openai/old-1b"],
        &[
            "specialist",
            "add",
            "lawyer",
            "-m",
            "openai/law-1b",
            "--domains",
            "law",
            "--window",
            "8192",
            "--system",
            "You know the law.",
        ],
    ] {
        person.gently(args).exits(0);
    }
    (person, server)
}

fn asked(person: &Person, args: &[&str]) -> Value {
    let all = [&["ask", "--json"], args].concat();
    person.gently(&all).exits(0).json()
}

fn sent(server: &ModelServer) -> Value {
    server.requests().last().unwrap().json()
}

#[test]
fn people_rate_and_the_choice_changes_and_says_why() {
    let (person, server) = with_two();
    let first = asked(&person, &["--accuracy", "fast", VISA]);
    assert_eq!(first["specialist"]["name"], "general-one", "{first:#}");
    assert_eq!(first["specialist"]["basis"], "prior");
    assert_eq!(
        first["specialist"]["domains"],
        json!([{"domain": "law", "share": 1000}])
    );
    let bids = first["specialist"]["bids"].as_array().unwrap();
    assert!(bids.iter().all(|bid| bid["welfare"] == 650_000), "{bids:?}");
    assert_eq!(sent(&server)["model"], "old-1b");
    let rated = person
        .gently(&["rate", "last", "bad", "--why", "no such visa"])
        .exits(0);
    assert!(
        rated.out.ends_with("  bad  (general-one, law)\n"),
        "{rated:#?}"
    );
    let other = asked(&person, &["--specialist", "lawyer", VISA]);
    assert_eq!(other["model"], "openai/law-1b");
    assert!(
        sent(&server)["messages"][0]["content"]
            .as_str()
            .unwrap()
            .contains("You know the law.")
    );
    person.gently(&["rate", "last", "good"]).exits(0);
    let told = person.gently(&["ask", "--accuracy", "fast", VISA]).exits(0);
    let why = "asked: lawyer, of whom most is expected: 0.681 of 1 (law 1.000; 1 of its answers is rated); general-one 0.590";
    let said = told.err.replace("\n  ", " ");
    assert!(said.contains(why), "{told:#?}");
    assert_eq!(sent(&server)["model"], "law-1b");
    // Of another field nothing is known yet: the older answers.
    let code = asked(&person, &["--accuracy", "fast", "Is it a bug in Rust?"]);
    assert_eq!(code["specialist"]["name"], "general-one", "{code:#}");
    // What somebody says now counts, and not what was said before.
    let again = person.gently(&["rate", "last", "good"]).exits(0);
    assert!(!again.err.contains("before"), "{again:#?}");
    let again = person
        .gently(&["rate", "last", "bad", "--json"])
        .exits(0)
        .json();
    assert_eq!(
        (&again["before"], &again["verdict"]),
        (&json!("good"), &json!("bad"))
    );
    let verified = person.verified();
    assert_eq!(verified["answers"]["consistent"], "yes", "{verified:#}");
    person.gently(&["audit", "replay", "--all"]).exits(0);
}

#[test]
fn a_promotion_binds_and_a_rollback_undoes_it() {
    let (person, server) = with_two();
    for (args, model) in [
        (
            &[
                "specialist",
                "promote",
                "lawyer",
                "--to",
                "openai/law-2b",
                "--metadata",
                "{\"eval\":0.9}",
            ][..],
            "law-2b",
        ),
        (
            &["specialist", "promote", "lawyer", "--to", "openai/law-3b"],
            "law-3b",
        ),
        (&["specialist", "rollback", "lawyer"], "law-2b"),
        (&["specialist", "rollback", "lawyer"], "law-1b"),
    ] {
        person.gently(args).exits(0);
        asked(&person, &["--specialist", "lawyer", VISA]);
        assert_eq!(sent(&server)["model"], model, "{args:?}");
    }
    let none = person
        .gently(&["specialist", "rollback", "lawyer"])
        .exits(2);
    assert!(none.err.contains("all of it is undone"), "{none:#?}");
    let same = person
        .gently(&["specialist", "promote", "lawyer", "--to", "openai/law-1b"])
        .exits(2);
    assert!(
        same.err.contains("bound to openai/law-1b already"),
        "{same:#?}"
    );
    let database = person.database();
    let sql = "SELECT json_array(id, specialist, event, from_model, to_model, reverted, metadata) FROM promotions ORDER BY line";
    let mut statement = database.prepare(sql).unwrap();
    let rows = statement
        .query_map([], |row| row.get::<_, String>(0))
        .unwrap();
    let rows: Vec<String> = rows.map(Result::unwrap).collect();
    assert_eq!(rows.len(), 4);
    assert_eq!(
        rows[0],
        r#"["promotion:000001","specialist:000002","promote","openai/law-1b","openai/law-2b",1,"{\"eval\":0.9}"]"#
    );
    assert!(
        rows[1].contains("\"openai/law-3b\",1,") && rows[2].contains("\"rollback\""),
        "{rows:?}"
    );
}

#[test]
fn a_chat_asks_a_specialist_until_it_is_told_otherwise() {
    let (person, server) = with_two();
    let mut typist = Typist::begin(&person, (24, 80), &["chat", "--specialist", "lawyer"]);
    typist.sees("a new conversation · lawyer (openai/law-1b) answers");
    typist.types("Which visa?\r");
    typist.sees("As you like.");
    typist.types("/specialist none\r");
    typist.sees("no specialist is asked; openai/law-1b answers from here on");
    typist.types("/model openai/old-1b\r");
    typist.sees("is asked from here on");
    typist.types("And now?\r");
    typist.sees("As you like.");
    typist.types("/quit\r");
    typist.ends().exits(0);
    let requests = server.requests();
    let asked = requests.iter().filter(|request| !request.body.is_empty());
    let asked = asked.map(|request| request.json()["model"].clone());
    assert_eq!(asked.collect::<Vec<Value>>(), ["law-1b", "old-1b"]);
    for (args, why) in [
        (&["--specialist", "nobody"][..], "no specialist 'nobody'"),
        (&["--specialist", "lawyer", "-m", "x"], "don't go together"),
    ] {
        let all = [&["chat"], args].concat();
        let refused = person.piped(&all, b"Hi\n").exits(2);
        assert!(refused.err.contains(why), "{refused:#?}");
    }
}

#[test]
fn the_record_names_the_specialist_and_both_verifiers_agree() {
    let (person, _server) = with_two();
    let turn = asked(&person, &["--specialist", "lawyer", VISA]);
    let exchange = turn["exchange"].as_str().unwrap();
    let database = person.database();
    let sql = "SELECT specialist FROM exchange_measure WHERE exchange_id = ?1";
    let found: String = database
        .query_row(sql, [exchange], |row| row.get(0))
        .unwrap();
    assert_eq!(found, "specialist:000002");
    let trace = |args: &[&str]| {
        let all = [
            &["trace", "show", "last", "--level", "generic", "--json"],
            args,
        ]
        .concat();
        person.gently(&all).exits(0).json().to_string()
    };
    assert!(
        trace(&[]).contains("\"domain_alignment\":1.0"),
        "{}",
        trace(&[])
    );
    let file = person.home().with_file_name("trace.json");
    let out = file.to_str().unwrap();
    let args = [
        "trace",
        "export",
        "last",
        "--level",
        "generic",
        "--with-proof",
        "--out",
        out,
    ];
    person.gently(&args).exits(0);
    // Without the home the proof tells that a specialist was asked, and how much was of its domains.
    let (code, told) = answers(&Person::new(), out, &[]);
    assert_eq!((code, told[0]["on_record"].as_str()), (0, "yes"));
    let checked = person
        .gently(&["trace", "verify", out, "--json"])
        .exits(0)
        .json();
    assert!(!checked.to_string().contains("\"no\""), "{checked:#}");
    assert!(
        std::fs::read_to_string(&file)
            .unwrap()
            .contains("\"mapping\":\"gently.trace/2\"")
    );
    assert_eq!(person.verified()["answers"]["consistent"], "yes");
    unguarded(person.home().join("gently.db"))
        .execute(
            "UPDATE exchange_measure SET specialist = 'specialist:000001'",
            [],
        )
        .unwrap();
    assert_eq!(person.verified()["answers"]["consistent"], "no");
}

#[test]
fn a_rating_that_was_changed_by_hand_is_found_and_made_again() {
    let (person, _server) = with_two();
    asked(&person, &["--specialist", "lawyer", VISA]);
    person.gently(&["rate", "last", "good"]).exits(0);
    let changes = [
        "UPDATE rating SET verdict = 'bad'",
        "UPDATE rating SET specialist = 'specialist:000001'",
        "UPDATE rating SET domain = 'code'",
        "DELETE FROM rating",
    ];
    found_and_made_again(&person, &changes);
    // Once the newest word is erased, the one before it counts again.
    person.gently(&["rate", "last", "bad"]).exits(0);
    person.gently(&["erase", "rating-2", "--yes"]).exits(0);
    let verdict: String = person
        .database()
        .query_row("SELECT verdict FROM rating", [], |row| row.get(0))
        .unwrap();
    assert_eq!(verdict, "good");
    assert_eq!(person.verified()["answers"]["consistent"], "yes");
}

#[test]
fn what_can_not_be_is_refused_and_nothing_is_recorded() {
    let (person, _server) = with_two();
    asked(&person, &["Hello"]);
    person.gently(&["erase", "last", "--yes"]).exits(0);
    let lines = person.log().len();
    for (args, said) in [
        (
            &["specialist", "add", "lawyer", "-m", "openai/x"][..],
            "there is a specialist lawyer (specialist-2)",
        ),
        (
            &[
                "specialist",
                "add",
                "x",
                "-m",
                "openai/x",
                "--domains",
                "art",
            ],
            "no domain 'art'",
        ),
        (&["specialist", "add", "X", "-m", "openai/x"], "is no name"),
        (
            &["specialist", "promote", "nobody", "--to", "openai/x"],
            "there are general-one, lawyer",
        ),
        (
            &[
                "specialist",
                "promote",
                "lawyer",
                "--to",
                "openai/x",
                "--metadata",
                "[1]",
            ],
            "a JSON object",
        ),
        (
            &["domain", "add", "law", "--words", "x"],
            "there is a domain law",
        ),
        (
            &["domain", "add", "general", "--words", "x"],
            "what is in no domain",
        ),
        (&["domain", "add", "art", "--words", " , "], "one at least"),
        (&["domain", "change", "law"], "--words"),
        (
            &["specialist", "change", "lawyer"],
            "say what is to be changed",
        ),
        (
            &["specialist", "promote", "lawyer", "--to", "law-9b"],
            "no model 'law-9b'",
        ),
        (
            &["ask", "--specialist", "nobody", "Hi"],
            "no specialist 'nobody'",
        ),
        (
            &["ask", "--specialist", "lawyer", "-m", "x", "Hi"],
            "--model",
        ),
        (
            &["ask", "--accuracy", "fast", "--domain", "art", "Hi"],
            "no domain 'art'",
        ),
        (&["rate", "last", "good"], "erased"),
        (&["rate", "99999999", "good"], "99999999"),
        (&["rate", "last", "fine"], "fine"),
    ] {
        let refused = person.gently(args).exits(2);
        assert!(refused.err.contains(said), "{args:?}: {refused:#?}");
    }
    assert_eq!(person.log().len(), lines);
    person.gently(&["specialist", "retire", "lawyer"]).exits(0);
    person.gently(&["domain", "retire", "law"]).exits(0);
    let gone = person
        .gently(&["ask", "--specialist", "lawyer", "Hi"])
        .exits(2);
    assert!(
        gone.err.contains("specialist lawyer is retired"),
        "{gone:#?}"
    );
    let turn = asked(&person, &["--accuracy", "fast", VISA]);
    assert_eq!(
        turn["specialist"]["domains"],
        json!([{"domain": "general", "share": 1000}])
    );
    let list = person.gently(&["specialist", "list", "--all"]).exits(0).out;
    assert!(
        list.contains("lawyer") && list.contains("retired"),
        "{list}"
    );
    let without = Person::with(&[("GENTLY_STORE_CONTENT", "none")]);
    without.gently(&["init"]).exits(0);
    let refused = without
        .gently(&["specialist", "add", "swe", "-m", "openai/x"])
        .exits(2);
    assert!(refused.err.contains("keeps no texts"), "{refused:#?}");
    let none = without
        .gently(&["ask", "--accuracy", "fast", "Hi"])
        .exits(2);
    assert!(none.err.contains("no specialist is on record"), "{none:#?}");
}

#[test]
fn a_failed_answer_is_not_rated() {
    let (person, _server) = served(Behaviour::error(500, "Out of order."));
    person.gently(&["ask", "Hello"]).exits(2);
    let refused = person.gently(&["rate", "last", "good"]).exits(2);
    assert!(
        refused.err.contains("there is no answer to rate"),
        "{refused:#?}"
    );
}

#[test]
fn what_somebody_changed_chooses_nobody() {
    let (person, server) = with_two();
    asked(&person, &["--specialist", "lawyer", VISA]);
    let requests = server.requests().len();
    unguarded(person.home().join("gently.db"))
        .execute_batch(
            "UPDATE artifact SET document = replace(document, 'know the law', 'bend the law')",
        )
        .unwrap();
    for args in [
        &["ask", "--specialist", "lawyer", VISA][..],
        &["specialist", "list"],
        &["rate", "last", "good"],
    ] {
        let refused = person.gently(args).exits(2);
        assert!(
            refused
                .err
                .contains("specialist-2 is not what was recorded"),
            "{args:?}: {refused:#?}"
        );
    }
    assert_eq!(server.requests().len(), requests);
    let alone = person.gently(&["ask", "--domain", "law", VISA]).exits(2);
    assert!(alone.err.contains("--accuracy LEVEL"), "{alone:#?}");
    for name in ["none", "specialist-1"] {
        let taken = person
            .gently(&["specialist", "add", name, "-m", "openai/x"])
            .exits(2);
        assert!(taken.err.contains("means something else"), "{taken:#?}");
    }
}

#[test]
fn a_correction_fades_as_its_domain_says() {
    let (person, _server) = with_two();
    for (args, decay) in [
        (&["Rust 1.90 is out.", "--domain", "code"][..], "D"),
        (&["The court is in Bern.", "--domain", "law"], "C"),
        (
            &["Rust is a language.", "--domain", "code", "--decay", "a"],
            "A",
        ),
        (&["Tea is hot."], "C"),
    ] {
        person
            .gently(&[&["correction", "add"], args].concat())
            .exits(0);
        let list = person
            .gently(&["correction", "list", "--json"])
            .exits(0)
            .json();
        assert_eq!(
            list.as_array().unwrap().last().unwrap()["decay"],
            decay,
            "{args:?}"
        );
    }
}
