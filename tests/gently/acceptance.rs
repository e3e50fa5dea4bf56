//! The acceptance criteria of AEGIS §11, one test each: the program as a person runs it, and a
//! model server of ours.

#![allow(
    clippy::unwrap_used,
    reason = "a test's helpers may panic like its tests"
)]

use std::collections::BTreeMap;
use std::time::Duration;

use gently::anchor::agree::AgreementPolicy;
use gently::ask::recall::DeclaredContext;
use gently::ask::refer::ThreadPosition;
use gently::ask::{Observations, Question, TurnControl, TurnEnd, ask};
use gently::home::Home;
use gently::models::Model;
use gently::record::bitcoin::block::Network;
use gently::record::context::config::{ContextConfig, GENESIS_CONTEXT};
use gently::record::hash::Hash32;
use gently::record::ledger::bundle::Bundle;
use gently::record::ledger::bundle_text::brief_text;
use gently::record::ledger::commitment::Salt;
use gently::recorder::{QuestionOrigin, Recorder, unwatched};
use gently::session::TurnEnvironment;
use gently::store::Store;
use serde_json::Value;

use crate::model_server::{ANSWER, Behaviour, ModelServer};
use crate::opening;
use crate::person::Person;

const QUESTION: &str = "How is this machine doing?";

/// A person whose model is a server of ours.
fn served(behaviour: Behaviour) -> (Person, ModelServer) {
    let (person, server) = opening::served(behaviour);
    (person.under_the_kernel(), server)
}

fn one(person: &Person, sql: &str) -> String {
    person
        .database()
        .query_row(sql, [], |row| row.get(0))
        .unwrap()
}

fn count(person: &Person, sql: &str) -> i64 {
    person
        .database()
        .query_row(sql, [], |row| row.get(0))
        .unwrap()
}

fn digest(text: &str) -> String {
    Hash32::digest(text.as_bytes()).to_string()
}

/// The bundle is compiled before the model is called: what the server received is what it says, and
/// its hash is recorded.
#[test]
fn aegis_11_1_mandatory_preflight_continuity() {
    let (person, server) = served(Behaviour::Good);
    person
        .gently(&["ask", "What is the capital of France?"])
        .exits(0);
    let bundle = one(&person, "SELECT context_bundle_json FROM llm_exchange");
    let hash = one(&person, "SELECT context_bundle_hash FROM llm_exchange");
    assert_eq!(hash, digest(&bundle));
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    let sent = requests[0].json()["messages"][1]["content"]
        .as_str()
        .unwrap()
        .to_owned();
    let said = brief_text(&Bundle::parse(&bundle).unwrap());
    let question = "What is the capital of France?";
    let above = said.map(|said| format!("{said}\n\n")).unwrap_or_default();
    assert_eq!(sent, format!("{above}{question}"));
    // No bundle, no call: a prompt that policy denies has none.
    person.gently(&["ask", " "]).exits(1);
    assert_eq!(server.requests().len(), 1);
    assert_eq!(
        count(
            &person,
            "SELECT count(*) FROM llm_exchange WHERE context_bundle_hash IS NULL AND decision = 'deny'"
        ),
        1
    );
    person.gently(&["audit", "verify"]).exits(0);
}

/// One session, two turns, one exchange that binds prompt and response, and references that say
/// why.
#[test]
fn aegis_11_2_canonical_audit_record() {
    let (person, _server) = served(Behaviour::Good);
    let asked = person
        .gently(&["ask", "What is the capital of France?"])
        .exits(0);
    assert_eq!(asked.out, format!("{ANSWER}\n"));
    person.gently(&["ask", "And of Spain?"]).exits(0);
    assert_eq!(count(&person, "SELECT count(*) FROM chat_session"), 1);
    assert_eq!(count(&person, "SELECT count(*) FROM llm_exchange"), 2);
    let turns =
        "SELECT count(*) FROM llm_exchange e JOIN chat_turn u ON u.turn_id = e.turn_user_id AND u.speaker = 'user'
                 JOIN chat_turn a ON a.turn_id = e.turn_aurora_id AND a.speaker = 'aurora'
                 WHERE u.session_id = e.session_id AND a.session_id = e.session_id";
    assert_eq!(count(&person, turns), 2);
    assert_eq!(count(&person, "SELECT count(*) FROM chat_turn"), 4);
    let answered =
        format!("SELECT count(*) FROM chat_turn WHERE speaker = 'aurora' AND content = '{ANSWER}'");
    assert_eq!(count(&person, &answered), 2);
    let unexplained = "SELECT count(*) FROM llm_exchange e WHERE NOT EXISTS (SELECT 1 FROM context_artifact_ref r
                       WHERE r.exchange_id = e.exchange_id AND r.artifact_hash IS NOT NULL AND r.included_reason <> '')";
    assert_eq!(count(&person, unexplained), 0);
    let summary: Value = serde_json::from_str(&one(
        &person,
        "SELECT validator_summary FROM llm_exchange LIMIT 1",
    ))
    .unwrap();
    for flag in [
        "schema_ok",
        "evidence_drift",
        "authority_drift",
        "tone_drift",
        "completeness_drift",
    ] {
        assert!(summary[flag].is_boolean(), "{summary}");
    }
    assert!(summary["notes"].is_string());
    person.gently(&["audit", "verify"]).exits(0);
}

/// Real values or a reason; a reply that denies them is completeness drift; a declared tool that
/// shows nothing fails the turn as completeness drift before any model is called.
#[tokio::test]
async fn aegis_11_3_sight_returns_values() {
    let denial = "I do not have access to your system.";
    let (person, server) = served(Behaviour::Says(denial.to_owned()));
    let facts = person.gently(&["ask", QUESTION, "--json"]).exits(0).json();
    assert_eq!(
        facts["drift"]["validator"]["completeness_drift"], true,
        "{facts}"
    );
    let bundle: Value = serde_json::from_str(&one(
        &person,
        "SELECT context_bundle_json FROM llm_exchange",
    ))
    .unwrap();
    let tools = bundle["sight"].as_object().unwrap();
    assert!(!tools.is_empty());
    for (tool, entry) in tools {
        let seen = entry["available"] == true && !entry["values"].as_object().unwrap().is_empty();
        let told = [
            "not_installed",
            "blocked_by_tier",
            "tool_error",
            "not_looked",
        ]
        .iter()
        .any(|reason| entry["reason"] == *reason);
        assert!(
            seen || (entry["available"] == false && told),
            "{tool}: {entry}"
        );
    }
    assert!(
        bundle["sight"]["sys_health"]["values"]["mem_total_mb"]
            .as_u64()
            .unwrap()
            > 0
    );

    let before = server.requests().len();
    silent_turn(&person).await;
    assert_eq!(server.requests().len(), before);
    let row = "SELECT outcome || ' ' || reason || ' ' || validator_summary FROM llm_exchange ORDER BY rowid DESC LIMIT 1";
    let row = one(&person, row);
    assert!(
        row.starts_with("failed compile.sight_without_values ")
            && row.contains("\"completeness_drift\":true"),
        "{row}"
    );
    let listed = person.gently(&["drift", "list", "--json"]).exits(0).json();
    let silent = listed["drift"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(
        (&silent["class"], &silent["severity"]),
        (&Value::from("completeness"), &Value::from("high"))
    );
    assert_eq!(silent["summary"], "sight_without_values before_call=true");
    assert_eq!(silent["response_hash"], "0".repeat(64));
    assert_eq!(
        count(
            &person,
            "SELECT count(*) FROM assertion_event WHERE name = 'completeness.sight_without_values' AND passed = 0"
        ),
        1
    );
    person.gently(&["audit", "verify"]).exits(0);
}

/// A turn whose tools show nothing at all.
async fn silent_turn(person: &Person) {
    let home = Home::open(&person.home()).unwrap().unwrap();
    let store = Store::open_read_only(&home.paths().database()).unwrap();
    let now = store.head().unwrap().time;
    let recorder =
        Recorder::open(home.paths(), home.signing_key().unwrap(), now, unwatched()).unwrap();
    let (kernel, key) = (
        Home::kernel(&store).unwrap(),
        store.auth_keys().unwrap()[0].hash,
    );
    let (model, clock, say) = (Model::observer(), move || now, |_: &str| {});
    let context = ContextConfig::parse(GENESIS_CONTEXT).unwrap();
    let house = TurnEnvironment {
        context: &context,
        recorder: &recorder,
        store: &store,
        kernel: &kernel,
        model: model.id(),
        host_role: "brain",
        idle: Duration::from_secs(1800),
        network: Network::Bitcoin,
        sources: &[],
        policy: AgreementPolicy::default(),
        look_again: Duration::from_secs(60),
        clock: &clock,
        stopwatch: &|| 0,
        say: &say,
        declared: &|_| {},
    };
    let gather = || Observations {
        sight: BTreeMap::new(),
        salt: Salt::new([5; 32]),
        action_salts: Vec::new(),
    };
    let question = Question {
        text: QUESTION,
        marked: &[],
        declared: &DeclaredContext::default(),
        standing: ThreadPosition::default(),
        client: None,
        origin: QuestionOrigin::default(),
    };
    let asked = ask(
        &house,
        key,
        &model,
        question,
        gather,
        &TurnControl::default(),
    )
    .await
    .unwrap();
    assert!(
        matches!(asked.turn, TurnEnd::Refused(_, Some(_))),
        "{:?}",
        asked.turn
    );
}

/// A secret of the prompt is in no file of the home and in nothing that is sent; hash linkage is
/// there.
#[test]
fn aegis_11_4_sanitization_default_on() {
    let secret = ["ghp_", "9aF3kLm2Qz7XvB1nR8tYw5Ue4Js6Dh0PcGiV"].concat();
    let (person, server) = served(Behaviour::Good);
    person
        .gently(&["ask", &format!("Why does my token {secret} not work?")])
        .exits(0);
    let sent = String::from_utf8_lossy(&server.requests()[0].body).into_owned();
    assert!(
        !sent.contains(&secret) && sent.contains("[redacted:"),
        "{sent}"
    );
    let mut files = BTreeMap::new();
    crate::recorder::read_all(&person.home(), &mut files);
    assert!(files.len() > 3);
    for (path, bytes) in &files {
        assert!(
            !bytes
                .windows(secret.len())
                .any(|window| window == secret.as_bytes()),
            "{}",
            path.display()
        );
    }
    let stored = one(
        &person,
        "SELECT content FROM chat_turn WHERE speaker = 'user'",
    );
    assert_eq!(
        one(
            &person,
            "SELECT content_hash FROM chat_turn WHERE speaker = 'user'"
        ),
        digest(&stored)
    );
    assert_eq!(
        count(
            &person,
            "SELECT count(*) FROM llm_exchange WHERE prompt_hash IS NOT NULL AND response_hash IS NOT NULL"
        ),
        1
    );
}

/// Prompt, response and bundle hashes stand with each exchange, and what they are of can be made
/// again.
#[test]
fn aegis_11_5_replayability_linkage() {
    let (person, server) = served(Behaviour::Good);
    person
        .gently(&["ask", "What is the capital of France?"])
        .exits(0);
    for column in ["prompt_hash", "response_hash", "context_bundle_hash"] {
        assert_eq!(
            one(&person, &format!("SELECT {column} FROM llm_exchange")).len(),
            64,
            "{column}"
        );
    }
    assert_eq!(
        one(&person, "SELECT response_hash FROM llm_exchange"),
        digest(ANSWER)
    );
    let shown = person.gently(&["show", "last", "--json"]).exits(0).json();
    let compiled = shown["compiled_prompt"]["canonical"].as_str().unwrap();
    assert_eq!(
        one(&person, "SELECT prompt_hash FROM llm_exchange"),
        digest(compiled)
    );
    // The compiled prompt is exactly what was sent.
    assert_eq!(
        server.requests()[0].json()["messages"],
        shown["compiled_prompt"]["messages"]
    );
    let replayed = person
        .gently(&["ask", "--model", "replay", "What is the capital of France?"])
        .exits(0);
    assert_eq!(replayed.out, format!("{ANSWER}\n"));
    person.gently(&["audit", "verify"]).exits(0);
}
