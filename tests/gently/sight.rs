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
use gently::session::TurnEnvironment;
use serde_json::{Value, json};

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
    person.gently(&["key", "rotate"]).exits(0);
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
        say: &say,
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
            declared: &DeclaredContext::default(),
            standing: ThreadPosition::default(),
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
        assert!(fault.to_string().contains("completeness drift"), "{fault}");
    }
    drop(recorder);
    assert_eq!((rig.count("response"), rig.count("response_fail")), (0, 2));
    rig.assert_sound("two turns without sight");
}
