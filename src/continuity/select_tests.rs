//! Selection: order, caps, disputes, turns.

use proptest::prelude::*;
use uuid::Uuid;

use super::candidate::{Candidate, CandidateClass, Confidence, RecallResult, TurnCandidate};
use super::compile::tokens;
use super::select::{Selection, select};
use crate::govern::kernel::{GENESIS_KERNEL, Kernel};
use crate::govern::sanitize::redact;
use crate::record::canon;
use crate::record::hash::Hash32;
use crate::record::ledger::prompt::TURN;
use crate::record::time::Seconds;

fn kernel(ring1: (u64, u64), ring2: (u64, u64), refs: (u64, u64)) -> Kernel {
    let mut text = String::new();
    let mut caps = None;
    for line in GENESIS_KERNEL.lines() {
        caps = match line {
            "[rings.ring1]" => Some(ring1),
            "[rings.ring2]" => Some(ring2),
            "[rings.refs]" => Some(refs),
            _ if line.starts_with('[') => None,
            _ => caps,
        };
        let line = match (caps, line.split_once(" = ")) {
            (Some((items, _)), Some(("items", _))) => format!("items = {items}"),
            (Some((_, tokens)), Some(("tokens", _))) => format!("tokens = {tokens}"),
            _ => line.to_owned(),
        };
        text.push_str(&line);
        text.push('\n');
    }
    Kernel::from_toml(&text).unwrap()
}

fn roomy() -> Kernel {
    kernel((24, 4096), (24, 8192), (24, 4096))
}

fn fact(number: u64, text: &str, subject: Option<&str>, relevance: u64) -> Candidate {
    Candidate {
        id: format!("ledger:{number:06}"),
        class: CandidateClass::Fact,
        text: text.to_owned(),
        subject: subject.map(str::to_owned),
        source: Some("user".to_owned()),
        observed_at: Seconds::ZERO,
        confidence: Confidence::High,
        counts: true,
        phase: None,
        tier: 1,
        hash: Hash32::digest(text.as_bytes()),
        relevance,
        here: false,
    }
}

fn turn(line: u64, text: &str, declared: &str) -> TurnCandidate {
    TurnCandidate {
        turn: Uuid::from_u128(line.into()),
        by_user: line % 2 == 1,
        at: Seconds::new(line).unwrap(),
        line,
        not_kept: false,
        text: Some(text.to_owned()),
        hash: Hash32::digest(text.as_bytes()),
        withheld: false,
        relevance: line,
        declared: declared.to_owned(),
    }
}

fn choose(kernel: &Kernel, recalled: &RecallResult) -> Selection {
    select(
        kernel,
        &redact("When does the backup run?").clean,
        recalled,
        Seconds::new(1000).unwrap(),
    )
}

fn facts(chosen: &Selection) -> Vec<&str> {
    chosen.facts.iter().map(|fact| fact.id.as_str()).collect()
}

fn kept_out(chosen: &Selection) -> Vec<(&str, &str)> {
    chosen
        .exclusions
        .iter()
        .map(|one| (one.artifact.as_str(), one.reason.as_str()))
        .collect()
}

fn of(found: Vec<Candidate>) -> RecallResult {
    RecallResult {
        found,
        ..RecallResult::default()
    }
}

#[test]
fn the_best_come_first_and_of_ties_the_newer() {
    let found = vec![
        fact(3, "third", None, 10),
        fact(2, "second", None, 10),
        fact(1, "first", None, 5),
        fact(4, "fourth", None, 900),
    ];
    let chosen = choose(&roomy(), &of(found));
    assert_eq!(
        facts(&chosen),
        [
            "ledger:000004",
            "ledger:000003",
            "ledger:000002",
            "ledger:000001"
        ]
    );
    let reasons: Vec<&str> = chosen
        .refs
        .iter()
        .map(|one| one.included_reason.as_str())
        .collect();
    assert_eq!(
        reasons[0],
        "ring1.relevance:900.recency:100.authority:100.risk:0.utility:40"
    );
    assert_eq!(chosen.refs.len(), 4);
    assert!(chosen.exclusions.is_empty() && chosen.turns.is_empty());
}

#[test]
fn what_fails_a_gate_or_finds_no_room_is_named() {
    let found = vec![
        fact(1, "password=hunter2hunter2", None, 900),
        Candidate {
            counts: false,
            ..fact(2, "a theory", None, 800)
        },
        Candidate {
            tier: 3,
            ..fact(3, "for tier three", None, 700)
        },
        fact(4, "fits", None, 600),
        fact(5, &"long ".repeat(200), None, 500),
        fact(6, "fits too", None, 400),
        fact(7, "one too many", None, 300),
    ];
    let chosen = choose(&kernel((2, 100), (1, 100), (1, 100)), &of(found));
    assert_eq!(facts(&chosen), ["ledger:000004", "ledger:000006"]);
    assert_eq!(
        kept_out(&chosen),
        [
            ("ledger:000001", "sensitive"),
            ("ledger:000002", "unratified"),
            ("ledger:000003", "authority_incompatible"),
            ("ledger:000005", "ring_cap_tokens"),
            ("ledger:000007", "ring_cap_items"),
        ]
    );
}

#[test]
fn an_intent_goes_before_every_score() {
    let intent = Candidate {
        class: CandidateClass::Intent,
        id: "intent:000001".into(),
        ..fact(1, "plan", None, 0)
    };
    let drift = Candidate {
        class: CandidateClass::Drift,
        id: "driftwatch:x".into(),
        ..fact(2, "tone (low): x", None, 5)
    };
    let chosen = choose(
        &kernel((2, 4096), (1, 10), (1, 10)),
        &of(vec![fact(1, "x", None, 2000), drift, intent]),
    );
    assert_eq!(
        (
            chosen.intent[0].intent.as_str(),
            chosen.intent[0].source.as_str()
        ),
        ("plan", "user")
    );
    assert_eq!(facts(&chosen), ["ledger:000001"]);
    assert_eq!(kept_out(&chosen), [("driftwatch:x", "ring_cap_items")]);
    let types: Vec<&str> = chosen
        .refs
        .iter()
        .map(|one| one.artifact_type.as_str())
        .collect();
    assert_eq!(types, ["intent", "ledger_fact"]);
}

#[test]
fn a_dispute_is_shown_whole_and_marked_and_nothing_is_resolved() {
    let (one, other) = (
        fact(1, "At two.", Some("backup"), 50),
        fact(2, "At four.", Some("backup"), 0),
    );
    // The other is not fit for the question, and is brought in from ring 2.
    let recalled = RecallResult {
        found: vec![one.clone()],
        rivals: vec![other.clone()],
        ..RecallResult::default()
    };
    let chosen = choose(&roomy(), &recalled);
    assert_eq!(facts(&chosen), ["ledger:000001", "ledger:000002"]);
    assert_eq!(chosen.refs[0].risk_flags, ["conflict:ledger:000002"]);
    assert_eq!(chosen.refs[1].risk_flags, ["conflict:ledger:000001"]);
    assert!(
        chosen.refs[0]
            .included_reason
            .starts_with("ring1.relevance:50.")
    );
    assert!(
        chosen.refs[1]
            .included_reason
            .starts_with("ring2.conflict.relevance:0.")
    );
    assert_eq!(
        chosen.open_items[0].id,
        "conflict:ledger:000001+ledger:000002"
    );
    assert_eq!(chosen.open_items[0].status, "conflict");
    // Cut off by ring 1's cap, it is brought in all the same.
    let both = of(vec![one.clone(), other.clone()]);
    let chosen = choose(&kernel((1, 4096), (1, 4096), (1, 10)), &both);
    assert_eq!((facts(&chosen).len(), chosen.exclusions.len()), (2, 0));
    // Where ring 2 has no room either, that is said, and the mark stays.
    let chosen = choose(&kernel((1, 4096), (1, 1), (1, 10)), &both);
    assert_eq!(kept_out(&chosen), [("ledger:000002", "ring_cap_tokens")]);
    assert_eq!(chosen.open_items.len(), 1);
}

#[test]
fn what_does_not_disagree_is_not_brought_in() {
    for rival in [
        fact(2, "at  TWO", Some("backup"), 0),
        fact(2, "At four.", Some("restore"), 0),
        fact(2, "At four.", None, 0),
        Candidate {
            counts: false,
            ..fact(2, "At four.", Some("backup"), 0)
        },
        Candidate {
            tier: 3,
            ..fact(2, "At four.", Some("backup"), 0)
        },
    ] {
        let found = vec![fact(1, "At two.", Some("backup"), 50)];
        let chosen = choose(
            &roomy(),
            &RecallResult {
                found,
                rivals: vec![rival.clone()],
                ..RecallResult::default()
            },
        );
        assert_eq!(
            (facts(&chosen).len(), chosen.open_items.len()),
            (1, 0),
            "{rival:?}"
        );
        assert!(chosen.refs[0].risk_flags.is_empty());
    }
}

#[test]
fn declared_turns_stand_as_they_were_resolved() {
    let declared: Vec<TurnCandidate> = (1..=3)
        .map(|n| turn(n, &format!("turn {n}"), "last:4"))
        .collect();
    let kept = vec![("id".to_owned(), "ring_cap_items".to_owned())];
    let chosen = choose(
        &roomy(),
        &RecallResult {
            declared,
            kept,
            ..RecallResult::default()
        },
    );
    assert_eq!(chosen.turns.len(), 0);
    let ids: Vec<&str> = chosen
        .refs
        .iter()
        .map(|one| one.artifact_id.as_str())
        .collect();
    assert_eq!(
        ids,
        chosen
            .declared
            .iter()
            .map(|turn| turn.turn.to_string())
            .collect::<Vec<_>>()
    );
    assert!(
        chosen
            .refs
            .iter()
            .all(|one| one.artifact_type == TURN && one.included_reason == "declared.last:4")
    );
    assert_eq!(kept_out(&chosen), [("turn:id", "ring_cap_items")]);
}

#[test]
fn deep_history_has_its_own_room_and_its_own_reason() {
    let declared = vec![turn(5, "said", "last:1")];
    let deep = vec![
        turn(5, "said", "deep"),
        turn(1, "long ago", "deep"),
        turn(3, "password=hunter2hunter2", "deep"),
    ];
    let chosen = choose(
        &roomy(),
        &RecallResult {
            declared,
            deep,
            ..RecallResult::default()
        },
    );
    let reasons: Vec<&str> = chosen
        .refs
        .iter()
        .map(|one| one.included_reason.as_str())
        .collect();
    assert_eq!(
        reasons,
        [
            "declared.last:1",
            "ring2.deep.relevance:1.recency:100.authority:50.risk:0.utility:40"
        ]
    );
    assert_eq!(chosen.turns.len(), 1);
    assert_eq!(
        kept_out(&chosen),
        [("turn:00000000-0000-0000-0000-000000000003", "sensitive")]
    );
}

proptest! {
    /// Whatever was found: no ring holds more than its caps, and all is either in or named as kept
    /// out.
    #[test]
    fn caps_hold(
        found in proptest::collection::vec((0_u64..3, "[a-z ]{0,60}", 0_u64..3, 0_u64..2000), 0..40),
        rivals in proptest::collection::vec(("[a-z ]{0,30}", 0_u64..3), 0..6),
        turns in proptest::collection::vec("[a-z ]{0,60}", 0..20),
        caps in (1_u64..10, 1_u64..200),
    ) {
        let kernel = kernel(caps, caps, caps);
        let subject = |n: u64| (n > 0).then(|| format!("subject {n}"));
        let class = |n| [CandidateClass::Fact, CandidateClass::Note, CandidateClass::Intent][usize::try_from(n).unwrap()];
        let found: Vec<Candidate> = (1..).zip(&found).map(|(n, (kind, text, about, relevance))| Candidate {
            class: class(*kind), ..fact(n, text, subject(*about).as_deref(), *relevance)
        }).collect();
        let rivals = (1000..).zip(&rivals).map(|(n, (text, about))| fact(n, text, subject(*about).as_deref(), 0)).collect();
        let deep = (1..).zip(&turns).map(|(n, text)| turn(n, text, "deep")).collect();
        let recalled = RecallResult { found: found.clone(), rivals, deep, ..RecallResult::default() };
        let chosen = choose(&kernel, &recalled);
        let size = |of: Result<String, canon::CanonError>| tokens(of.unwrap().len());
        let (items, room) = caps;
        let ring = |name: &str| {
            let ids: Vec<&str> = chosen.refs.iter().filter(|r| r.included_reason.starts_with(name))
                .map(|r| r.artifact_id.as_str()).collect();
            let used: u64 = chosen.facts.iter().filter(|f| ids.contains(&f.id.as_str())).map(|f| size(canon::print(f))).sum();
            (ids.len() as u64, used)
        };
        for name in ["ring1", "ring2"] {
            let (count, used) = ring(name);
            prop_assert!(count <= items && used <= room, "{name}: {count} {used}");
        }
        let used: u64 = chosen.turns.iter().map(|turn| size(canon::print(turn))).sum();
        prop_assert!(chosen.turns.len() as u64 <= items && used <= room);
        for one in &found {
            let put = chosen.refs.iter().filter(|r| r.artifact_id == one.id).count();
            let out = chosen.exclusions.iter().filter(|e| e.artifact == one.id).count();
            prop_assert_eq!(put + out, 1, "{}", &one.id);
        }
        prop_assert_eq!(choose(&kernel, &recalled), chosen);
    }
}

#[test]
fn of_notes_that_fit_alike_the_newest_are_kept() {
    let note = |n: u64, at: u64| Candidate {
        id: format!("note:{n:06}"),
        class: CandidateClass::Note,
        observed_at: Seconds::new(at).unwrap(),
        ..fact(n, &format!("marmalade {n:02}"), None, 500)
    };
    let question = redact("What of the marmalade?").clean;
    // Within one hour all are as recent; the second time all have one time, and their numbers tell.
    for at in [|n: u64| 10_000 + n, |_: u64| 10_000] {
        let found: Vec<Candidate> = (1..=41).map(|n| note(n, at(n))).collect();
        let recalled = RecallResult {
            found,
            ..RecallResult::default()
        };
        let chosen = select(
            &roomy(),
            &question,
            &recalled,
            Seconds::new(10_100).unwrap(),
        );
        let kept: Vec<String> = chosen.facts.iter().map(|fact| fact.id.clone()).collect();
        let newest: Vec<String> = (18..=41).rev().map(|n| format!("note:{n:06}")).collect();
        assert_eq!(kept, newest);
        assert_eq!(chosen.exclusions.len(), 17);
    }
}
