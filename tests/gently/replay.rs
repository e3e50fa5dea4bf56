//! `replay`: recorded answers, given again; never in the name of the model that gave them.

#![allow(clippy::unwrap_used)]

use serde_json::json;

use crate::model_choice::{Ran, gently};
use crate::model_server::{Behaviour, ModelServer};

#[test]
fn replay_answers_from_the_record() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    let server = ModelServer::script(vec![
        Behaviour::Says("One.".into()),
        Behaviour::Says("Two.".into()),
        Behaviour::error(500, "down"),
    ]);
    let root = server.root_url();
    let run = |args: &[&str]| gently(&home, &[("OLLAMA_HOST", &root)], args);
    let ask = |model: &str, words: &str| run(&["ask", "--json", "-m", model, words]);
    let exchange = |ran: &Ran| ran.json()["exchange"].as_str().unwrap().to_owned();

    let nothing = ask("replay", "Capital of France?");
    assert_eq!(
        (nothing.code, &nothing.json()["reason"]),
        (2, &json!("no_recording"))
    );
    assert!(nothing.err.contains(
        "no recording: an answer to this prompt, or to the same words, is not on record"
    ));
    let first = exchange(&ask("ollama/small-1b", "Capital of France?"));
    let second = exchange(&ask("ollama/small-1b", "Capital of France?"));
    let failed = exchange(&ask("ollama/small-1b", "Capital of Spain?"));

    // The newest with the same words; failures and replays are no recordings.
    for _ in 0..2 {
        let ran = ask("replay", "Capital of France?");
        let facts = ran.json();
        assert_eq!(
            (&facts["answer"], &facts["model"]),
            (&json!("Two."), &json!("replay"))
        );
        let source = format!("replay of exchange {second} (ollama/small-1b, ");
        assert!(
            facts["replayed"].as_str().unwrap().starts_with(&source),
            "{facts}"
        );
        // A screen has no more of a UUID than its first digits.
        let source = format!("replay of exchange {} (ollama/small-1b, ", &second[..8]);
        assert!(ran.recorded().contains(&source), "{}", ran.err);
        assert_eq!(facts["usage"]["prompt_tokens"], json!(null));
    }
    assert_eq!(
        ask("replay", "Capital of Spain?").json()["reason"],
        "no_recording"
    );

    // One that is named, whatever is asked.
    let ran = ask(&format!("replay:{first}"), "Something else");
    assert_eq!(
        (&ran.json()["answer"], &ran.json()["model"]),
        (&json!("One."), &json!("replay"))
    );
    for nobody in [failed.as_str(), "00000000-0000-8000-8000-000000000000"] {
        let ran = ask(&format!("replay:{nobody}"), "hello");
        assert_eq!(
            (ran.code, &ran.json()["reason"]),
            (2, &json!("no_recording"))
        );
        assert!(ran.err.contains(nobody), "{}", ran.err);
    }
    assert_eq!(server.requests().len(), 3);
    let log = std::fs::read_to_string(home.join("audit.log")).unwrap();
    assert!(log.contains("no_recording") && log.contains("replay"));
    let verified = run(&["audit", "verify"]);
    assert_eq!(verified.code, 0, "{}{}", verified.out, verified.err);
}

/// The digest that replay looks for is that of the prompt rendered again from what is stored.
#[test]
fn a_prompt_is_found_by_its_digest() {
    use gently::govern::kernel::Kernel;
    use gently::record::hash::Hash32;
    use gently::record::ledger::params::Params;
    use gently::store::{ExchangeRows, Store};

    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    let ran = gently(
        &home,
        &[],
        &[
            "ask",
            "--json",
            "-m",
            "observer",
            "--system",
            "Be kind.",
            "How is this machine?",
        ],
    );
    let facts = ran.json();
    let store = Store::open_read_only(&home.join("gently.db")).unwrap();
    let row = store
        .exchange(facts["exchange"].as_str().unwrap().parse().unwrap())
        .unwrap()
        .unwrap();
    let session = store
        .session(facts["session"].as_str().unwrap().parse().unwrap())
        .unwrap()
        .unwrap();
    let kernel =
        Kernel::from_canonical(&store.kernel(session.kernel_hash).unwrap().unwrap()).unwrap();
    let params = Params::parse(row.params.as_deref().unwrap()).unwrap();
    assert_eq!(params.system.as_deref(), Some("Be kind."));
    let user = store.turn(row.turn_user).unwrap().unwrap().content.unwrap();
    let mut exchange = ExchangeRows::read(&store, &session, &row).unwrap().record();
    let again = exchange.compiled_prompt(Ok(kernel.system_prompt()));
    let again = again.unwrap().unwrap();
    let found = store
        .answered_prompt(Hash32::digest(again.as_bytes()))
        .unwrap()
        .unwrap();
    assert_eq!(found.exchange_id, row.exchange_id);
    exchange.params = None;
    let without = exchange.compiled_prompt(Ok(kernel.system_prompt()));
    let without = without.unwrap().unwrap();
    assert!(
        store
            .answered_prompt(Hash32::digest(without.as_bytes()))
            .unwrap()
            .is_none()
    );
    assert!(
        store
            .answered_text(Hash32::digest(user.as_bytes()))
            .unwrap()
            .is_some()
    );
    assert!(
        store
            .answered_text(Hash32::digest(b"other words"))
            .unwrap()
            .is_none()
    );
}

#[test]
fn the_ids_that_people_see_name_what_is_replayed_and_audited() {
    let person = crate::person::Person::with(&[]);
    let first = person
        .gently(&["ask", "--json", "How is this machine doing?"])
        .exits(0)
        .json();
    let (exchange, commit) = (
        first["exchange"].as_str().unwrap(),
        first["commit"].as_str().unwrap(),
    );
    for id in ["interaction-1", exchange, &exchange[..8], &commit[..9]] {
        let again = person
            .gently(&["ask", "--json", "--model", &format!("replay:{id}"), "again"])
            .exits(0)
            .json();
        assert_eq!(
            (&again["outcome"], &again["answer"]),
            (&json!("answered"), &first["answer"]),
            "{id}"
        );
    }
    for id in [
        &commit[..9],
        &exchange[..8],
        first["session"].as_str().unwrap(),
    ] {
        let told = person.gently(&["audit", "session", id]).exits(0);
        assert!(
            told.out
                .contains(&format!("Session: {}", first["session"].as_str().unwrap())),
            "{id}: {told:#?}"
        );
    }
    person
        .gently(&["ask", "--model", "replay:deadbeef1", "again"])
        .exits(2);
    person.gently(&["audit", "session", "deadbeef1"]).exits(2);
}
