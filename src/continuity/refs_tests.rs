//! The document's invariants over random threads, and its failures by name.

use std::convert::Infallible;

use proptest::prelude::*;

use super::*;
use crate::record::context::config::GENESIS_CONTEXT;
use crate::record::context::event::{EventPosition, Execution};
use crate::record::context::spec::{
    AssembledContext, ContextForm, ContextSpec, Identity, context_digest,
};

/// No cap of the kernel's.
const ROOMY: RingCaps = RingCaps {
    items: 1_000_000,
    tokens: 1_000_000,
};

/// Events of two threads, by position.
#[derive(Debug)]
struct Thread(Vec<ThreadEvent>);

impl Lookup for Thread {
    type Error = Infallible;

    fn event(&self, id: &str) -> Result<Option<NamedRecord>, Infallible> {
        let own = self.0.iter().find(|event| event.place().id == id);
        let of_turn = self
            .0
            .iter()
            .find(|event| event.place().turn_id == id && event.kind() == EventKind::Intent);
        Ok(own.or(of_turn).cloned().map(NamedRecord::from))
    }
}

/// Turns with or without an answer, in one of two threads.
fn threads(turns: &[(String, Option<String>, bool)]) -> Thread {
    let mut next = [0, 0];
    let mut events = Vec::new();
    for (n, (question, answer, other)) in turns.iter().enumerate() {
        let thread = usize::from(*other);
        let place = |letter: &str, index| EventPosition {
            index,
            id: format!("{letter}{n}"),
            turn_id: format!("turn-{n}"),
            thread_id: format!("t{thread}"),
        };
        events.push(ThreadEvent::Intent(
            IntentPayload::new(place("i", next[thread]), question.clone()).unwrap(),
        ));
        if let Some(answer) = answer {
            events.push(ThreadEvent::Execution(
                Execution::new(place("e", next[thread] + 2), answer.clone(), "m").unwrap(),
            ));
        }
        next[thread] += 3;
    }
    Thread(events)
}

fn config(from: &str, to: &str) -> ContextConfig {
    assert!(GENESIS_CONTEXT.contains(from), "{from}");
    ContextConfig::parse(&GENESIS_CONTEXT.replacen(from, to, 1)).unwrap()
}

fn usual() -> ContextConfig {
    ContextConfig::parse(GENESIS_CONTEXT).unwrap()
}

fn resolve_in(
    thread: &Thread,
    ids: &[String],
    config: &ContextConfig,
) -> Result<ResolvedContext, RefFault> {
    let declared: Vec<DeclaredRef> = ids.iter().map(DeclaredRef::event).collect();
    let Ok(resolved) = resolve(&declared, "t0", config, ROOMY, thread);
    resolved
}

fn digest(resolved: &ResolvedContext, config: &ContextConfig) -> String {
    let identity = Identity {
        parent_turn_id: None,
        thread_id: "t0".to_owned(),
        turn_id: "now".to_owned(),
    };
    let spec = ContextSpec::new(config, identity, "chat.message", "why?", resolved);
    context_digest(
        &spec,
        &AssembledContext::new("why?", resolved, ContextForm::Hashed),
    )
    .unwrap()
    .0
    .to_string()
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[ -~\n]{0,30}", any::<String>()]
}

/// Turns of which the first is in the thread, and ids of its events in any order, some twice.
fn declared() -> impl Strategy<Value = (Thread, Vec<String>)> {
    let turns =
        proptest::collection::vec((text(), proptest::option::of(text()), any::<bool>()), 1..8);
    (
        turns,
        proptest::collection::vec(any::<proptest::sample::Index>(), 0..12),
    )
        .prop_map(|(turns, picks)| {
            let thread = threads(&turns);
            let own: Vec<&ThreadEvent> = thread
                .0
                .iter()
                .filter(|event| event.place().thread_id == "t0")
                .collect();
            let ids = picks
                .iter()
                .filter(|_| !own.is_empty())
                .map(|pick| pick.get(&own).place().id.clone())
                .collect();
            (thread, ids)
        })
}

proptest! {
    #[test]
    fn invariant_1_no_execution_reaches_policy((thread, ids) in declared()) {
        let resolved = resolve_in(&thread, &ids, &usual()).unwrap();
        let seen: Vec<String> = governed(&resolved).iter().map(|intent| intent.place().id.clone()).collect();
        prop_assert!(seen.iter().all(|id| id.starts_with('i')));
        let hashed = AssembledContext::new("why?", &resolved, ContextForm::Hashed);
        let distinct: std::collections::BTreeSet<_> = hashed.normative_input_digests.iter().collect();
        prop_assert_eq!(distinct.len(), seen.len());
    }

    #[test]
    fn invariant_2_every_transformation_is_on_record((thread, ids) in declared()) {
        let resolved = resolve_in(&thread, &ids, &usual()).unwrap();
        for (reference, _) in &resolved.refs {
            let named = resolved.transformations.iter().any(|t| t.ref_id == reference.ref_id && t.effect == RuleEffect::ExecutionOnly);
            let twice = ids.iter().filter(|id| **id == reference.ref_id).count() - 1;
            let told = resolved.transformations.iter().filter(|t| t.ref_id == reference.ref_id && t.effect == RuleEffect::NamedTwice);
            prop_assert_eq!(told.count(), twice);
            prop_assert_eq!(named, reference.admitted_for == AdmittedFor::ExecutionOnly);
        }
        let without = config("\"allow_execution_refs_for_prompt\": true", "\"allow_execution_refs_for_prompt\": false");
        let kept = resolve_in(&thread, &ids, &without).unwrap();
        let left = kept.transformations.iter().filter(|t| t.effect == RuleEffect::LeftOut).count();
        prop_assert_eq!(kept.refs.len() + left, kept.declared.len());
    }

    #[test]
    fn invariant_3_the_configuration_is_in_the_digest((thread, ids) in declared()) {
        let (one, other) = (usual(), config("128", "127"));
        let resolved = resolve_in(&thread, &ids, &one).unwrap();
        prop_assert_ne!(digest(&resolved, &one), digest(&resolved, &other));
    }

    #[test]
    fn invariant_4_order_makes_no_difference((thread, ids) in declared(), turn in 0usize..12) {
        let config = usual();
        let resolved = resolve_in(&thread, &ids, &config).unwrap();
        prop_assert!(resolved.refs.is_sorted_by_key(|(reference, _)| reference.event_index));
        let mut other = ids.clone();
        other.reverse();
        let middle = turn.min(other.len());
        other.rotate_left(middle);
        prop_assert_eq!(resolve_in(&thread, &other, &config).unwrap(), resolved);
    }

    #[test]
    fn invariant_5_references_stay_in_their_thread((thread, mut ids) in declared(), at in 0usize..12) {
        let Some(elsewhere) = thread.0.iter().find(|event| event.place().thread_id == "t1") else { return Ok(()) };
        ids.insert(at.min(ids.len()), elsewhere.place().id.clone());
        let fault = resolve_in(&thread, &ids, &usual()).unwrap_err();
        let own = matches!(&fault, RefFault::CrossThread { id, actual, .. } if id == &elsewhere.place().id && actual == "t1");
        prop_assert!(own, "{}", fault);
    }

    #[test]
    fn invariant_6_the_same_inputs_give_the_same_digest((thread, ids) in declared()) {
        let config = usual();
        let first = resolve_in(&thread, &ids, &config).unwrap();
        let again = resolve_in(&Thread(thread.0.clone()), &ids, &config).unwrap();
        prop_assert_eq!(digest(&first, &config), digest(&again, &config));
    }
}

#[test]
fn failures_have_the_documents_codes() {
    let thread = threads(&[
        ("a".into(), Some("b".into()), false),
        ("c".into(), None, true),
    ]);
    let named = |ids: &[&str], config: &ContextConfig| {
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        resolve_in(&thread, &ids, config)
            .map_err(|fault| (fault.code(), fault.reason(), fault.to_string()))
    };
    let usual = usual();
    for (ids, config, code, reason, says) in [
        (&["i7"][..], &usual, "REF_NOT_FOUND", "refs.not_found", "i7"),
        (
            &["i0", "i1"],
            &usual,
            "CROSS_THREAD_REF",
            "refs.cross_thread",
            "thread t1",
        ),
        (
            &["i0", "e0"],
            &config("128", "1"),
            "MAX_REFS_EXCEEDED",
            "refs.max_exceeded",
            "allows 1",
        ),
        (
            &[],
            &config("ALLOW", "DENY"),
            "EMPTY_REFS_DENIED",
            "refs.empty_denied",
            "--ref",
        ),
    ] {
        let (found, recorded, message) = named(ids, config).unwrap_err();
        assert_eq!((found, recorded), (code, reason));
        assert!(
            message.starts_with(code) && message.contains(says),
            "{message}"
        );
    }
    assert_eq!(
        named(&["i0", "i0"], &config("128", "1")).unwrap_err().0,
        "MAX_REFS_EXCEEDED",
        "what was declared counts"
    );
    assert_eq!(
        named(&["i0", "i0"], &config("128", "2"))
            .unwrap()
            .refs
            .len(),
        2
    );
    assert_eq!(named(&[], &config("ALLOW", "EXPAND")).unwrap().refs, []);
}

#[test]
fn a_turn_stands_for_its_intent_and_is_shown_once() {
    let thread = threads(&[("a".into(), Some("b".into()), false)]);
    let ids = [
        "turn-0".to_owned(),
        "i0".to_owned(),
        "e0".to_owned(),
        "e0".to_owned(),
    ];
    let resolved = resolve_in(&thread, &ids, &usual()).unwrap();
    let named = |refs: &[&(ResolvedRef, ThreadEvent)]| {
        refs.iter()
            .map(|(r, _)| r.ref_id.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        named(&resolved.refs.iter().collect::<Vec<_>>()),
        ["i0", "turn-0", "e0", "e0"]
    );
    assert_eq!(named(&resolved.shown().collect::<Vec<_>>()), ["i0", "e0"]);
    assert_eq!(governed(&resolved).len(), 1);
    let twice = resolved
        .transformations
        .iter()
        .filter(|t| t.effect == RuleEffect::NamedTwice);
    assert_eq!(
        twice.map(|t| t.ref_id.as_str()).collect::<Vec<_>>(),
        ["e0", "turn-0"]
    );
}

#[test]
fn beyond_the_kernels_caps_the_oldest_are_shown_to_no_model_and_policy_sees_them() {
    let thread = threads(&[
        ("a".into(), Some("bbbbb".into()), false),
        ("c".into(), Some("d".into()), false),
    ]);
    let declared = ["i0", "e0", "i1", "e1"].map(DeclaredRef::event);
    let within = |items, tokens| {
        let Ok(resolved) = resolve(
            &declared,
            "t0",
            &usual(),
            RingCaps { items, tokens },
            &thread,
        );
        resolved.unwrap()
    };
    let told = |resolved: &ResolvedContext| {
        let refs: Vec<String> = resolved.shown().map(|(r, _)| r.ref_id.clone()).collect();
        let left = resolved
            .transformations
            .iter()
            .filter(|t| t.effect == RuleEffect::LeftOut);
        (
            refs.join(" "),
            left.map(|t| format!("{} {}", t.ref_id, t.rule))
                .collect::<Vec<_>>()
                .join(", "),
        )
    };
    assert_eq!(told(&within(9, 9)), ("i0 e0 i1 e1".into(), String::new()));
    assert_eq!(
        told(&within(2, 9)),
        (
            "i1 e1".into(),
            "e0 ring_cap_items, i0 ring_cap_items".into()
        )
    );
    assert_eq!(
        told(&within(9, 3)),
        (
            "i1 e1".into(),
            "e0 ring_cap_tokens, i0 ring_cap_tokens".into()
        ),
        "a turn has room as a whole or not at all"
    );
    for (items, tokens) in [(9, 9), (2, 9), (9, 3), (0, 0)] {
        let resolved = within(items, tokens);
        let seen: Vec<&str> = governed(&resolved)
            .iter()
            .map(|intent| intent.place().id.as_str())
            .collect();
        assert_eq!(
            (seen, resolved.refs.len()),
            (vec!["i0", "i1"], 4),
            "{items} {tokens}"
        );
        assert_eq!(
            digest(&resolved, &usual()),
            digest(&within(9, 9), &usual()),
            "caps are no part of the context"
        );
    }
}

#[test]
fn what_is_erased_or_withheld_is_shown_to_no_model_and_policy_sees_it() {
    struct Gone(Thread);
    impl Lookup for Gone {
        type Error = Infallible;
        fn event(&self, id: &str) -> Result<Option<NamedRecord>, Infallible> {
            Ok(self.0.event(id)?.map(|found| match id {
                "i0" => NamedRecord {
                    event: ThreadEvent::without_text(
                        EventKind::Intent,
                        found.event.place().clone(),
                    ),
                    kept: Some(ExclusionReason::Erased),
                },
                "e0" => NamedRecord {
                    kept: Some(ExclusionReason::AuthorityIncompatible),
                    ..found
                },
                "i1" => NamedRecord {
                    event: found.event.with_denied(true),
                    kept: Some(ExclusionReason::AuthorityIncompatible),
                },
                _ => found,
            }))
        }
    }
    let thread = Gone(threads(&[
        ("a".into(), Some("b".into()), false),
        ("c".into(), None, false),
    ]));
    let declared = ["i0", "e0", "i1"].map(DeclaredRef::event);
    let Ok(resolved) = resolve(&declared, "t0", &usual(), ROOMY, &thread);
    let resolved = resolved.unwrap();
    assert_eq!((resolved.refs.len(), resolved.shown().count()), (3, 0));
    let rules: Vec<&str> = resolved
        .transformations
        .iter()
        .map(|t| t.rule.as_str())
        .collect();
    assert_eq!(
        rules,
        ["authority_incompatible", "erased", "authority_incompatible"]
    );
    let seen: Vec<(Option<&str>, bool)> = governed(&resolved)
        .iter()
        .map(|i| (i.message(), i.is_denied()))
        .collect();
    assert_eq!(seen, [(None, false), (Some("c"), true)]);
    let hashed = AssembledContext::new("why?", &resolved, ContextForm::Hashed);
    assert_eq!(
        hashed
            .assembled_from
            .iter()
            .filter(|r| r.event_digest.is_none())
            .count(),
        1
    );
    assert_eq!(
        (
            hashed.normative_input_digests.len(),
            hashed.model_messages.len()
        ),
        (1, 2)
    );
    assert_eq!(
        AssembledContext::new("why?", &resolved, ContextForm::Sent)
            .model_messages
            .len(),
        1
    );
}
