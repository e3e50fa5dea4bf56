//! Sight from outside: what each tool shows, what a tier blocks, and what a silent tool costs.

use std::collections::BTreeMap;
use std::time::Duration;

use gently::anchor::agree::AgreementPolicy;
use gently::ask::recall::DeclaredContext;
use gently::ask::refer::ThreadPosition;
use gently::ask::{Observations, Question, TurnControl, TurnEnd, ask};
use gently::govern::kernel::Kernel;
use gently::models::Model;
use gently::record::bitcoin::block::Network;
use gently::record::context::config::{ContextConfig, GENESIS_CONTEXT};
use gently::record::ledger::bundle::{Moment, SightEntry};
use gently::record::ledger::commitment::Salt;
use gently::recorder::QuestionOrigin;
use gently::session::TurnEnvironment;
use serde_json::{Value, json};

use crate::model_server::{Behaviour, ModelServer};
use crate::opening;
use crate::person::Person;
use crate::recorder::{Rig, at, wait};

const TOOLS: [&str; 5] = [
    "disk_usage",
    "index_changed",
    "index_status",
    "service_status",
    "sys_health",
];

fn asked() -> Person {
    let person = Person::new();
    person.ask("How is this machine doing?");
    person
}

fn looked(person: &Person, tool: &str) -> Value {
    person.gently(&["sight", tool, "--json"]).json()["sight"][tool].clone()
}

#[test]
fn every_tool_shows_values_or_a_reason() {
    let person = asked();
    let shown = person.gently(&["sight", "--json"]).exits(0).json();
    let sight = shown["sight"].as_object().unwrap();
    assert_eq!(sight.keys().map(String::as_str).collect::<Vec<_>>(), TOOLS);
    for (tool, entry) in sight {
        match entry["available"].as_bool().unwrap() {
            true => {
                assert!(!entry["values"].as_object().unwrap().is_empty(), "{tool}");
                assert!(
                    entry["observed_at"].is_string() && entry["freshness_s"].is_u64(),
                    "{tool}"
                );
            }
            false => assert!(
                ["not_installed", "tool_error"].contains(&entry["reason"].as_str().unwrap()),
                "{tool}"
            ),
        }
        assert!(entry["unknowns"].is_array(), "{tool}");
    }
    let words = person.gently(&["sight"]).exits(0).out;
    assert!(TOOLS.iter().all(|tool| words.contains(tool)), "{words}");
    assert!(
        words.contains("not_installed\n    not known: services (sight.units names none)"),
        "{words}"
    );
    // What an exchange injects is what the tools show, each with its reference.
    let shown = person.gently(&["show", "last", "--json"]).exits(0).json();
    assert_eq!(
        shown["bundle"]["sight"].as_object().unwrap().len(),
        TOOLS.len()
    );
    let refs = shown["artifacts"].as_array().unwrap();
    assert!(
        TOOLS
            .iter()
            .all(|tool| refs.iter().any(|r| r["artifact_type"] == *tool)),
        "{refs:?}"
    );
}

#[test]
fn one_tool_alone_and_none_of_that_name() {
    let person = asked();
    let one = person
        .gently(&["sight", "sys_health", "--json"])
        .exits(0)
        .json();
    assert_eq!(one["sight"].as_object().unwrap().len(), 1);
    person.gently(&["sight", "service_status"]).exits(1);
    let none = person.gently(&["sight", "cpu"]).exits(2);
    assert!(
        none.err
            .contains("there is no tool 'cpu'; there are: sys_health"),
        "{none:?}"
    );
    Person::new().gently(&["sight"]).exits(2);
}

#[test]
fn a_tier_blocks_tools_and_they_are_not_run() {
    let person = asked();
    let kernel = person
        .gently(&["kernel", "show"])
        .out
        .replacen("tier = 2", "tier = 1", 1);
    std::fs::write(person.dir.path().join("k.toml"), kernel).unwrap();
    person.gently(&["kernel", "set", "k.toml"]).exits(0);
    let shown = person.gently(&["sight", "--json"]).exits(0).json();
    assert_eq!((&shown["tier"], &shown["allowed"]), (&json!(1), &json!([])));
    for tool in TOOLS {
        assert_eq!(shown["sight"][tool]["reason"], "blocked_by_tier", "{tool}");
        let words = person.gently(&["sight", tool]).exits(1).out;
        assert!(words.contains("tier 1 does not allow it"), "{words}");
    }
    assert!(
        person
            .ask("How is this machine doing?")
            .out
            .contains("disk_usage shows nothing here (blocked_by_tier)")
    );
}

#[test]
fn index_status_counts_what_is_there() {
    let person = asked();
    person.ask("And now?");
    let entry = looked(&person, "index_status");
    let values = &entry["values"];
    let log = person.log();
    for (name, count) in [
        ("sessions", 1),
        ("sessions_open", 1),
        ("exchanges", 2),
        ("log_lines", log.len()),
    ] {
        assert_eq!(values[name], json!(count), "{name}: {entry}");
    }
    assert_eq!(values["ledger_commits"], json!(person.commits().len()));
    assert_eq!(
        values["log_bytes"],
        json!(std::fs::metadata(person.at("audit.log")).unwrap().len())
    );
    assert_eq!(
        values["last_record_at"],
        json!(log.last().unwrap().split('|').nth(2).unwrap())
    );
}

#[test]
fn index_changed_tells_which_part_somebody_touched() {
    let states = |person: &Person| {
        let values = looked(person, "index_changed")["values"].clone();
        ["log", "ledger", "kernel", "config", "keys"]
            .map(|part| values[part].as_str().unwrap_or("unknown").to_owned())
    };
    let same = ["same"; 5].map(str::to_owned);
    let person = asked();
    assert_eq!(states(&person), same);
    let mut expected = same.clone();
    expected[3] = "changed".into();
    std::fs::write(person.at("gently.toml"), "# nothing\n").unwrap();
    assert_eq!(states(&person), expected);
    // What gently itself writes is no change behind its back; and a turn notes what it found.
    person
        .gently(&["config", "set", "session.idle_minutes", "31"])
        .exits(0);
    assert_eq!(states(&person), same);
    std::fs::write(person.at("gently.toml"), "# nothing again\n").unwrap();
    let answer = person.ask("How is this machine doing?").out;
    assert!(answer.contains("differs  config"), "{answer}");
    let drift = person
        .gently(&["drift", "list", "--all", "--json"])
        .exits(0)
        .json();
    assert_eq!(
        drift["drift"],
        serde_json::json!([]),
        "what differs is no report of having changed it: {drift}"
    );
    assert_eq!(states(&person), same);
    person.gently(&["key", "rotate", "--yes"]).exits(0);
    assert_eq!(states(&person), same);
    std::fs::write(person.at("keys/another.key"), "x").unwrap();
    assert_eq!(states(&person)[4], "changed", "a file that was not there");
    std::fs::remove_file(person.at("keys/another.key")).unwrap();
    assert_eq!(states(&person), same);
    std::fs::remove_file(person.at("keys/allowed_signers")).unwrap();
    assert_eq!(states(&person)[4], "changed");

    for (harm, part, other) in [
        ("refs", 1, "unknown"),
        ("log", 0, "unknown"),
        ("kernel", 2, "same"),
    ] {
        let person = asked();
        match harm {
            "refs" => std::fs::write(
                person.at("ledger.git/refs/heads/mine"),
                person.commits()[0].clone(),
            )
            .unwrap(),
            "log" => std::fs::write(person.at("audit.log"), person.log()[..2].join("\n")).unwrap(),
            _ => {
                let database = rusqlite::Connection::open(person.at("gently.db")).unwrap();
                let sql =
                    "UPDATE artifact SET document = replace(document, '\"tier\":2', '\"tier\":3')";
                database.execute(sql, []).unwrap();
            }
        }
        let found = states(&person);
        assert_eq!(found[part], "changed", "{harm}: {found:?}");
        assert!(
            found
                .iter()
                .enumerate()
                .all(|(at, state)| at == part || state == "same" || state == other),
            "{found:?}"
        );
    }
}

/// A tool that the kernel declares and that shows nothing, neither values nor a reason, is
/// completeness drift: the prompt is on record with that, and no model was called.
#[test]
fn a_silent_tool_fails_the_turn_before_any_model() {
    let rig = Rig::new();
    let (recorder, store, kernel) = (rig.recorder(at(10)), rig.store(), Kernel::genesis());
    let (clock, say) = (|| at(11), |_: &str| {});
    let model = Model::observer();
    let context = ContextConfig::parse(GENESIS_CONTEXT).unwrap();
    let house = TurnEnvironment {
        context: &context,
        recorder: &recorder,
        store: &store,
        kernel: &kernel,
        model: model.id(),
        host_role: "test",
        idle: Duration::from_secs(60),
        network: Network::Bitcoin,
        sources: &[],
        policy: AgreementPolicy::default(),
        look_again: Duration::from_secs(60),
        clock: &clock,
        stopwatch: &|| 0,
        say: &say,
        declared: &|_| {},
    };
    let empty = || SightEntry::Seen {
        observed_at: Moment(at(11)),
        freshness_s: 0,
        values: BTreeMap::new(),
        unknowns: vec![],
    };
    let all: BTreeMap<String, SightEntry> = kernel
        .tools()
        .iter()
        .map(|tool| (tool.clone(), empty()))
        .collect();
    for sight in [BTreeMap::new(), all] {
        let gather = || Observations {
            sight,
            salt: Salt::new([1; 32]),
            action_salts: Vec::new(),
        };
        let question = Question {
            text: "How is it?",
            marked: &[],
            declared: &DeclaredContext::default(),
            standing: ThreadPosition::default(),
            client: None,
            origin: QuestionOrigin::default(),
        };
        let asked = wait(ask(
            &house,
            rig.terms().auth_key_hash,
            &model,
            question,
            gather,
            &TurnControl::default(),
        ))
        .unwrap();
        let TurnEnd::Refused(_, Some(fault)) = asked.turn else {
            panic!("{:?}", asked.turn)
        };
        assert_eq!(fault.code(), "compile.sight_without_values");
        assert!(
            fault
                .to_string()
                .contains("gave neither values nor a reason"),
            "{fault}"
        );
    }
    drop(recorder);
    assert_eq!((rig.count("response"), rig.count("response_fail")), (0, 2));
    rig.assert_sound("two turns without sight");
}

/// A person who leaves sight to the kernel, with a model that says one thing.
fn served(says: &str) -> (Person, ModelServer) {
    let (person, server) = opening::served(Behaviour::Says(says.to_owned()));
    (person.under_the_kernel(), server)
}

/// The sight of the newest exchange's bundle.
fn newest_sight(person: &Person) -> Value {
    let shown = person.gently(&["show", "last", "--json"]).exits(0).json();
    shown["bundle"]["sight"].clone()
}

/// Types of what ring 0 put before the model.
fn injected(person: &Person) -> Vec<String> {
    let shown = person.gently(&["show", "last", "--json"]).exits(0).json();
    let refs = shown["artifacts"].as_array().unwrap().iter();
    refs.filter(|one| {
        one["included_reason"]
            .as_str()
            .unwrap()
            .starts_with("ring0.")
    })
    .map(|one| one["artifact_type"].as_str().unwrap().to_owned())
    .collect()
}

const ELSEWHERE: &str = "What is the capital of France?";

#[test]
fn what_a_question_is_about_is_looked_at_and_sent_and_nothing_else() {
    let (person, server) = served("Fine, thank you.");
    let disk = person
        .gently(&["ask", "--json", "How full is my disk?"])
        .exits(0);
    let facts = disk.json();
    assert!(
        disk.err
            .contains("sent about this machine: disk_usage (looked at "),
        "{disk:?}"
    );
    assert_eq!(facts["sight_sent"].as_array().unwrap().len(), 1, "{facts}");
    assert_eq!(facts["sight_sent"][0]["tool"], "disk_usage");
    let first = newest_sight(&person);
    assert_eq!(first["disk_usage"]["available"], true, "{first}");
    let never = json!({"available": false, "reason": "not_looked", "unknowns": []});
    for tool in TOOLS.iter().filter(|tool| **tool != "disk_usage") {
        assert_eq!(first[tool], never, "{tool}");
    }
    assert_eq!(injected(&person), ["kernel", "disk_usage"]);

    // What is about something else sends nothing, and says when the disk was looked at last: so
    // does the question after it, from the one before.
    let seen_at = first["disk_usage"]["observed_at"].clone();
    assert_eq!(facts["sight_sent"][0]["observed_at"], seen_at);
    for _ in 0..2 {
        let other = person.gently(&["ask", "--json", ELSEWHERE]).exits(0);
        assert!(!other.err.contains("sent about this machine"), "{other:?}");
        assert_eq!(other.json()["sight_sent"], json!([]));
        let sight = newest_sight(&person);
        let mut last = never.clone();
        last["observed_at"] = seen_at.clone();
        assert_eq!(sight["disk_usage"], last);
        assert_eq!(sight["sys_health"], never);
        assert_eq!(injected(&person), ["kernel"]);
    }
    let sent = server.requests();
    let values = |at: usize| String::from_utf8_lossy(&sent[at].body).contains("free space on ");
    assert_eq!((values(0), values(1), values(2)), (true, false, false));
    // Nor a word on tools that nobody asked about.
    let named = |at: usize| String::from_utf8_lossy(&sent[at].body).contains("sys_health");
    assert!((0..3).all(|at| !named(at)));
    person.gently(&["audit", "verify"]).exits(0);
    person.gently(&["audit", "replay", "--all"]).exits(0);
}

/// What leaves this machine is told before it does; behind it nothing new is said of it.
#[test]
fn another_machine_gets_what_is_seen_of_this_one_after_a_word() {
    let (mut person, _server) = served("Fine, thank you.");
    // No name there leads anywhere.
    person.set("GENTLY_MODEL_BASE_URL", "https://server.invalid/v1");
    let asked = person.gently(&["ask", "-m", "openai/far", "How full is my disk?"]);
    let asked = asked.exits(2);
    let at = |words: &str| asked.err.find(words);
    let (said, failed) = (
        at("sending what gently sees of this machine to openai/far: disk_usage (looked at "),
        at("error: the model's server at https://server.invalid"),
    );
    assert!(said.is_some() && said < failed, "{asked:?}");
    assert!(!asked.err.contains("sent about this machine"), "{asked:?}");
    for args in [
        &["ask", "-m", "openai/far", ELSEWHERE][..],
        &[
            "ask",
            "--no-sight",
            "-m",
            "openai/far",
            "How full is my disk?",
        ],
    ] {
        let asked = person.gently(args).exits(2);
        assert!(!asked.err.contains("of this machine"), "{asked:?}");
    }
}

/// Nothing was sent, so nothing is denied.
#[test]
fn a_reply_without_sight_may_say_that_it_sees_nothing() {
    let (person, _server) = served("I do not have access to your system.");
    let machine = "How is this machine doing?";
    let drifts = |args: &[&str]| {
        let facts = person
            .gently(&[&["ask", "--json"], args].concat())
            .exits(0)
            .json();
        facts["drift"]["validator"]["completeness_drift"] == true
    };
    assert!(drifts(&[machine]), "it was shown what it denies");
    assert!(!drifts(&["--no-sight", machine]));
    assert!(!drifts(&[ELSEWHERE]));
    let sight = newest_sight(&person);
    assert!(
        TOOLS
            .iter()
            .all(|tool| sight[tool]["reason"] == "not_looked"),
        "{sight}"
    );
    let blind = person.gently(&["ask", "--no-sight", machine]).exits(0);
    assert!(!blind.err.contains("sent about this machine"), "{blind:?}");
}

#[test]
fn the_kernel_says_when_and_whoever_asks_wins() {
    let (person, _server) = served("Well.");
    person.gently(&["init"]).exits(0);
    let relevant = person.gently(&["kernel", "show"]).exits(0).out;
    let machine = "How is this machine doing?";
    let looked = |args: &[&str]| {
        person.gently(&[&["ask"], args].concat()).exits(0);
        injected(&person).len() - 1
    };
    for (when, of_machine, of_other) in [
        ("relevant", TOOLS.len(), 0),
        ("always", TOOLS.len(), TOOLS.len()),
        ("asked", 0, 0),
    ] {
        let kernel = relevant.replacen("when = \"relevant\"", &format!("when = \"{when}\""), 1);
        std::fs::write(person.dir.path().join("k.toml"), kernel).unwrap();
        person.gently(&["kernel", "set", "k.toml"]).exits(0);
        assert_eq!(looked(&[machine]), of_machine, "{when}");
        assert_eq!(looked(&[ELSEWHERE]), of_other, "{when}");
        assert_eq!(looked(&["--sight", ELSEWHERE]), TOOLS.len(), "{when}");
        assert_eq!(looked(&["--no-sight", machine]), 0, "{when}");
    }
    person.gently(&["audit", "verify"]).exits(0);
    person.gently(&["audit", "replay", "--all"]).exits(0);
    person
        .gently(&["ask", "--sight", "--no-sight", machine])
        .exits(2);
}

/// A preview shows what asking would show.
#[test]
fn a_preview_looks_as_asking_does() {
    let (person, _server) = served("Well.");
    person.ask("How full is my disk?");
    let shown = |args: &[&str]| {
        let told = person.gently(&[&["context", "preview", "--json"], args].concat());
        let told = told.exits(0).json();
        let tool = |one: &&Value| one["included_reason"] == "ring0.sight";
        told["injected"]
            .as_array()
            .unwrap()
            .iter()
            .filter(tool)
            .count()
    };
    assert_eq!(shown(&["How full is my disk?"]), 1);
    assert_eq!(shown(&[ELSEWHERE]), 0);
    assert_eq!(shown(&["--sight", ELSEWHERE]), TOOLS.len());
    assert_eq!(shown(&["--no-sight", "How full is my disk?"]), 0);
}

/// The voice that is no language model answers about this machine, and says of anything else how a
/// model is asked: nothing of it is on record.
#[test]
fn without_a_language_model_only_this_machine_is_asked_about() {
    let mut person = Person::new().under_the_kernel();
    let answer = person.ask("Is the disk full?").out;
    assert!(
        answer.contains("disk_usage, ") && !answer.contains("sys_health, "),
        "{answer}"
    );
    assert!(
        answer
            .ends_with("Not looked at: index_changed, index_status, service_status, sys_health.\n"),
        "{answer}"
    );
    let lines = person.log();
    let beyond = person.gently(&["ask", ELSEWHERE]).exits(2);
    assert!(
        beyond.err.contains(
            "observer, is no language model. gently can answer questions about this machine"
        ) && beyond.err.contains("\n  ollama pull ")
            && beyond.err.contains("\n  export ANTHROPIC_API_KEY=KEY ")
            && beyond.err.contains("\n  export OPENAI_API_KEY=KEY "),
        "{beyond:?}"
    );
    assert_eq!(beyond.out, "");
    let told = person.gently(&["ask", "--json", ELSEWHERE]).exits(2).json();
    assert!(
        told["error"].as_str().unwrap().contains("To ask a model:"),
        "{told}"
    );
    person
        .gently(&["ask", "--no-sight", "Is the disk full?"])
        .exits(2);
    assert_eq!(person.log(), lines, "nothing is on record");
    // An empty question is denied on record, as ever.
    person.gently(&["ask", " "]).exits(1);
    assert!(person.log().len() > lines.len());
    let seen = person.gently(&["ask", "--sight", ELSEWHERE]).exits(0);
    assert!(
        seen.out.contains("general questions are beyond me"),
        "{seen:?}"
    );

    // Nobody chose it: there is no other.
    person.set("GENTLY_MODEL_DEFAULT", "auto");
    person.set("OLLAMA_HOST", "http://127.0.0.1:9");
    let beyond = person.gently(&["ask", ELSEWHERE]).exits(2);
    assert!(
        beyond
            .err
            .contains("error: No language model is set up. gently can"),
        "{beyond:?}"
    );
    person.ask("Is the disk full?");

    // What is there is asked, and not set up.
    person.set("GENTLY_MODEL_DEFAULT", "observer");
    person.set("ANTHROPIC_API_KEY", "a-key-of-somebody");
    let beyond = person.gently(&["ask", ELSEWHERE]).exits(2);
    assert!(
        beyond.err.contains("\n  gently ask -m sonnet \"…\" "),
        "{beyond:?}"
    );
}

/// The first question of all: five lines, and nothing is made for it.
#[test]
fn a_first_question_that_nobody_can_answer_makes_no_home() {
    let person = Person::with(&[
        ("GENTLY_MODEL_DEFAULT", "auto"),
        ("OLLAMA_HOST", "http://127.0.0.1:9"),
        ("GENTLY_ANCHOR_MODE", "off"),
    ])
    .under_the_kernel();
    let beyond = person.gently(&["ask", ELSEWHERE]).exits(2);
    assert!(
        beyond
            .err
            .starts_with("error: No language model is set up. gently can"),
        "{beyond:?}"
    );
    assert_eq!(beyond.err.lines().count(), 5, "{beyond:?}");
    assert!(!person.home().exists());
    // What is about this machine is answered, and is the first that is on record.
    person.ask("Is the disk full?");
    assert!(person.home().exists());
}
