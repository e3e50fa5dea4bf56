//! A quorum of explorers, as the program is configured for it: agreement, lag, lies, silence.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps an error fails, as it should"
)]

use std::time::Duration;

use serde_json::json;

use crate::esplora_server::{Chain, EsploraServer, Manner, Route};
use crate::person::Person;

const LOW: u32 = 829_604;
const TIP: u32 = 829_619;

/// Somebody who wants `quorum` of these explorers to agree.
fn person(explorers: &[&EsploraServer], quorum: &str) -> Person {
    let urls: Vec<&str> = explorers.iter().map(|explorer| explorer.url()).collect();
    let mut person = Person::with(&[
        ("GENTLY_ANCHOR_ESPLORA", &json!(urls).to_string()),
        ("GENTLY_ANCHOR_QUORUM", quorum),
        ("GENTLY_ANCHOR_DEADLINE_MS", "20000"),
        ("GENTLY_ANCHOR_LOOK_AGAIN_S", "0"),
    ]);
    person.lives_after(TIP);
    person
}

fn honest(tip: u32) -> EsploraServer {
    EsploraServer::start(Chain::real(LOW..=tip))
}

#[test]
fn sources_that_agree_anchor_a_session_at_the_lowest_of_their_tips() {
    let (first, second, third) = (honest(TIP), honest(TIP - 1), honest(TIP - 2));
    // Three of three agree on what the slowest has; two of three on what the two highest have.
    for (quorum, height) in [
        ("3", TIP - 2),
        ("2", TIP - 1),
        ("1", TIP),
        ("auto", TIP - 2),
    ] {
        let person = person(&[&first, &second, &third], quorum);
        let status = person
            .gently(&["anchor", "status", "--json"])
            .exits(0)
            .json();
        assert_eq!(
            (&status["block"]["height"], &status["anchored"]),
            (&json!(height), &json!(true)),
            "{status}"
        );
        let asked = person.gently(&["ask", "--json", "Hi"]).exits(0).json();
        assert_eq!(asked["block"]["height"], height, "quorum {quorum}");
        assert_eq!(person.verified()["answers"]["not_before"], "yes");
    }
}

#[test]
fn too_few_that_agree_are_no_anchor_and_it_is_said() {
    let (first, second) = (honest(TIP), honest(TIP));
    let silent = EsploraServer::start_with(
        Chain::real(LOW..=TIP),
        Manner::Says(Route::Tip, 503, b"busy".to_vec()),
    );
    let person = person(&[&first, &second, &silent], "3");
    let status = person.gently(&["anchor", "status"]).exits(1);
    assert!(
        status.out.contains(&format!("block {TIP}")) && status.out.contains("503"),
        "{status:?}"
    );
    let asked = person.ask("Hi");
    assert!(
        asked
            .err
            .contains("no 3 sources name the same block; 2 of 3 sources needed"),
        "{asked:?}"
    );
    assert!(
        asked.err.contains("no block: too few sources agree on one"),
        "{asked:?}"
    );
    // The third is back: the same session gets its block.
    silent.set_manner(Manner::Honest);
    assert!(person.ask("And now?").err.contains(&format!("block {TIP}")));
    // It is away again: the session keeps what it has, and closes on the local clock.
    silent.set_manner(Manner::Cut(Route::Tip));
    assert!(person.ask("And now?").err.contains(&format!("block {TIP}")));
    let closed = person.gently(&["session", "close", "--json"]).exits(0);
    assert!(
        closed
            .err
            .contains("No Bitcoin block, so your clock alone says when: "),
        "{closed:?}"
    );
    let report = person.verified();
    assert_eq!(
        (
            &report["answers"]["consistent"],
            &report["answers"]["complete"]
        ),
        (&json!("yes"), &json!("yes"))
    );
}

#[test]
fn a_liar_is_named_and_counts_for_nobody() {
    let (first, second) = (honest(TIP), honest(TIP - 1));
    let other = Chain::real(LOW..=TIP);
    let (hash, _) = other.block(TIP);
    // The name of the newest block with the header of another.
    let lies = other.clone().with(TIP, hash, other.block(TIP - 3).1);
    let liar = EsploraServer::start(lies);
    let two = person(&[&liar, &first, &second], "2");
    let status = two.gently(&["anchor", "status"]).exits(0);
    assert!(
        status.out.contains("LIES") && status.out.contains(liar.url()),
        "{status:?}"
    );
    assert!(status.err.contains("block source dropped"), "{status:?}");
    let status = two.gently(&["anchor", "status", "--json"]).exits(0).json();
    let lied: Vec<_> = status["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|source| source["lie"].clone())
        .collect();
    assert_eq!(
        (lied, &status["block"]["height"]),
        (
            vec![json!(true), json!(false), json!(false)],
            &json!(TIP - 1)
        )
    );
    let three = person(&[&liar, &first, &second], "3");
    let asked = three.ask("Hi");
    assert!(
        asked.err.contains("no block: too few sources agree on one")
            && asked.err.contains("2 of 3 sources needed"),
        "{asked:?}"
    );
}

#[test]
fn a_slow_source_holds_up_no_quorum_of_the_others() {
    let (first, second) = (honest(TIP), honest(TIP));
    let slow = EsploraServer::start_with(
        Chain::real(LOW..=TIP),
        Manner::Slow(Duration::from_secs(600)),
    );
    let mut person = person(&[&slow, &first, &second], "2");
    person.set("GENTLY_ANCHOR_DEADLINE_MS", "2000");
    let status = person
        .gently(&["anchor", "status", "--json"])
        .exits(0)
        .json();
    assert_eq!(status["block"]["height"], TIP);
    let slow = &status["sources"][0];
    assert!(
        slow["fault"]
            .as_str()
            .unwrap()
            .contains("no answer within 1000 ms"),
        "{slow}"
    );
    assert!(slow["elapsed_ms"].as_u64().unwrap() >= 1000, "{slow}");
}

#[test]
fn a_quorum_that_can_never_be_is_a_mistake() {
    let only = honest(TIP);
    // The same source twice is one source.
    let person = person(&[&only, &only], "2");
    let status = person.gently(&["anchor", "status"]).exits(2);
    assert!(
        status.err.contains("anchor.quorum is 2, sources are 1"),
        "{status:?}"
    );
    let status = person
        .gently(&["anchor", "status", "--json"])
        .exits(2)
        .json();
    assert!(
        status["misconfigured"]
            .as_str()
            .unwrap()
            .contains("gently config set anchor.quorum 1"),
        "{status}"
    );
    // Asking goes on: what can't be anchored is recorded all the same.
    assert!(
        person
            .ask("Hi")
            .err
            .contains("no block: too few sources agree on one")
    );
}

#[test]
fn status_needs_no_home_and_makes_none() {
    let only = honest(TIP);
    let mut person = person(&[&only], "1");
    let status = person.gently(&["anchor", "status"]).exits(0);
    assert!(
        status
            .out
            .starts_with("network bitcoin · mode auto · quorum 1"),
        "{status:?}"
    );
    assert!(
        status.out.ends_with(&format!(", branch-{}\n", TIP % 7 + 1)),
        "{status:?}"
    );
    assert!(!person.home().exists());
    person.set("GENTLY_ANCHOR_MODE", "off");
    let asked = only.asked();
    let off = person.gently(&["anchor", "status"]).exits(1);
    assert!(
        off.out.contains("nobody is asked") && only.asked() == asked,
        "{off:?}"
    );
    person.set("GENTLY_ANCHOR_MODE", "auto");
    // A home is of one chain. (An explorer does not say which one it serves; a header of the real
    // one has more work than a private one asks for.)
    person.gently(&["init", "--network", "regtest"]).exits(0);
    let before = std::fs::read(person.at("gently.db")).unwrap();
    let other = person.gently(&["anchor", "status"]).exits(0);
    assert!(other.out.starts_with("network regtest"), "{other:?}");
    assert_eq!(std::fs::read(person.at("gently.db")).unwrap(), before);
}
