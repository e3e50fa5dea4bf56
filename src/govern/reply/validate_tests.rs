//! Tables of the validator.

use super::*;
use crate::govern::drift::ReplyVerdict;
use crate::govern::sanitize::redact;

pub(in crate::govern) const BUNDLE: &str = r#"{"compiled_at":"2026-01-08T00:00:00Z","constraints":[],"exclusions":[],"facts":[],"host_role":"brain","intent":[],"kernel_hash":"sha256:39d8668c9e1c18834931c26be61912c018fcc8e17d52f36b0a00c7020fe1ab69","model_id":"m","open_items":[],"phase":"beta","session_id":"6d1c0c30-5d9e-8f52-9d0e-0c2b5a1f3e77","sight":{"sys_health":{"available":true,"freshness_s":0,"observed_at":"2026-01-08T00:00:00Z","unknowns":["gpu_health"],"values":{"cores":2,"cpu_load":0.42,"disk_free_pct":71,"mem_total_mb":8000,"mem_used_mb":3800}}},"tier":2}"#;
const BLIND: &str = r#"{"compiled_at":"2026-01-08T00:00:00Z","constraints":[],"exclusions":[],"facts":[],"host_role":"brain","intent":[],"kernel_hash":"sha256:39d8668c9e1c18834931c26be61912c018fcc8e17d52f36b0a00c7020fe1ab69","model_id":"m","open_items":[],"phase":"beta","session_id":"6d1c0c30-5d9e-8f52-9d0e-0c2b5a1f3e77","sight":{"sys_health":{"available":false,"reason":"tool_error","unknowns":[]}},"tier":2}"#;
const MACHINE: &str = "How is this machine doing?";

fn rules(bundle: &str, prompt: &str, reply: &str) -> Vec<String> {
    let judgement = judge(
        &Kernel::genesis(),
        &Bundle::parse(bundle).unwrap(),
        &redact(prompt).clean,
        None,
        reply,
    );
    judgement
        .events()
        .iter()
        .map(|e| format!("{}.{}", e.class.name(), e.rule()))
        .collect()
}

#[test]
fn completeness_is_relational() {
    let denial = "I don't have access to your system.";
    assert_eq!(
        rules(BUNDLE, MACHINE, denial),
        ["completeness.denies_sight"]
    );
    assert_eq!(
        rules(BUNDLE, "how much memory is free on this server?", denial),
        ["completeness.denies_sight"]
    );
    assert_eq!(
        rules(BUNDLE, MACHINE, "I'm sorry, but I can't help with that."),
        ["completeness.refuses_sight"]
    );
    assert_eq!(
        rules(BUNDLE, MACHINE, "It is doing very well!"),
        ["completeness.no_value_given"]
    );
    assert!(
        rules(
            BUNDLE,
            MACHINE,
            "The load is 0.42; 71% of the disk is free."
        )
        .is_empty()
    );
    // Nothing was shown, or the question was about something else.
    assert!(rules(BLIND, MACHINE, denial).is_empty());
    assert!(rules(BUNDLE, "What did Paris look like in 1900?", denial).is_empty());
    assert!(
        rules(
            BUNDLE,
            "Write a poem about this machine",
            "I have no access to rhyme."
        )
        .is_empty()
    );
    // A question may ask for here and now without naming the machine.
    for prompt in [
        "How much disk space is left?",
        "What's the current load?",
        "How much RAM do we have?",
    ] {
        assert_eq!(
            rules(BUNDLE, prompt, denial),
            ["completeness.denies_sight"],
            "{prompt}"
        );
    }
    assert!(rules(BUNDLE, "How much RAM does a phone have?", denial).is_empty());
    for denial in [
        "I do not currently have the ability to check that.",
        "I'm unable to directly monitor it.",
        "Unfortunately I have no way to look at real-time data.",
        "I can't see any live information.",
    ] {
        assert_eq!(
            rules(BUNDLE, MACHINE, denial),
            ["completeness.denies_sight"],
            "{denial}"
        );
    }
    // A number that is none of the values is no value; a value of another thing is none of what was
    // asked.
    assert_eq!(
        rules(BUNDLE, MACHINE, "There are 7 things to say."),
        ["completeness.no_value_given"]
    );
    assert_eq!(
        rules(
            BUNDLE,
            "How much memory does this server use?",
            "The load is 0.42."
        ),
        ["completeness.no_value_given"]
    );
    assert!(
        rules(
            BUNDLE,
            "How many cores does this machine have?",
            "It has two."
        )
        .is_empty()
    );
    // Nothing was measured of what was asked.
    assert!(rules(BUNDLE, "What is the uptime of this machine?", denial).is_empty());
}

#[test]
fn figures_that_sight_contradicts() {
    for wrong in [
        "The disk is 12% free.",
        "It uses 6.5 GB of memory, the load is 0.42.",
        "Memory is at 90%.",
        "The load is 3.50, that is high.",
        "Load average: 1.20.",
        "It has 8 cores and 71% of free disk.",
    ] {
        assert!(
            rules(BUNDLE, MACHINE, wrong).contains(&"evidence.contradicts_sight".to_owned()),
            "{wrong}"
        );
    }
    for right in [
        "The disk is 71% free.",
        "29% of the disk is used.",
        "It uses 3.8 GB of memory, 3.7 GiB to be exact.",
        "Memory: 3,800 MB of 8,000 MB, so 47.5% is used.",
        "The load of 0.42 on 2 cores is 21%.",
    ] {
        assert!(rules(BUNDLE, MACHINE, right).is_empty(), "{right}");
    }
    for nothing in [
        "I looked at 3 disks.",
        "Humidity is 12%, says nothing here.",
    ] {
        assert!(
            !rules(BUNDLE, MACHINE, nothing).contains(&"evidence.contradicts_sight".to_owned()),
            "{nothing}"
        );
    }
    assert!(
        rules(
            BUNDLE,
            "Is a disk at 12% on this machine bad?",
            "A disk at 12% is tight."
        )
        .is_empty()
    );
    // Not about this machine: a statement without a source, and no contradiction.
    assert_eq!(
        rules(BUNDLE, "How big are disks?", "Some disk has 90 GB."),
        ["evidence.general_unsourced"]
    );
}

#[test]
fn what_has_no_source_is_one_event_with_a_count_of_each_kind() {
    let summary = |prompt: &str, reply: &str| {
        let judgement = judge(
            &Kernel::genesis(),
            &Bundle::parse(BUNDLE).unwrap(),
            &redact(prompt).clean,
            None,
            reply,
        );
        let evidence = judgement
            .events()
            .iter()
            .filter(|e| e.class == DriftClass::Evidence);
        evidence
            .map(|e| format!("{} {}", e.severity, e.summary))
            .collect::<Vec<_>>()
            .join("; ")
    };
    // From general knowledge: on record, and no more.
    assert_eq!(
        summary(
            "Tell me about Paris",
            "It has 2,100,000 people and 130 museums since 1889; see https://made.up/page."
        ),
        "low general_unsourced numbers=2 dates=1 addresses=1"
    );
    assert_eq!(
        summary(
            "What is https://made.up/page?",
            "https://made.up/page is a page."
        ),
        ""
    );
    assert_eq!(
        summary("How do I configure nginx?", "Edit the file in 2 steps."),
        ""
    );
    // About this machine: worth a word.
    assert_eq!(
        summary(MACHINE, "Load 0.42, see /var/log/syslog."),
        "medium unsourced paths=1"
    );
    // Nobody else could have told it, so nobody did.
    assert_eq!(
        summary("Why?", "As ledger:000183 says."),
        "medium unknown_artifact count=1"
    );
}

#[test]
fn authority_and_tone() {
    assert_eq!(
        rules(BUNDLE, "Hi", "Sure. I've restarted nginx."),
        ["authority.claimed_side_effect"]
    );
    assert!(rules(BUNDLE, "Hi", "```\nI've restarted nginx.\n```").is_empty());
    assert_eq!(
        rules(BUNDLE, "Hi", "Great question! Act now."),
        ["tone.urgency", "tone.flattery"]
    );
    assert_eq!(
        rules(BUNDLE, "Hi", "I promise you, my dear."),
        ["tone.intimacy", "tone.certainty"]
    );
    assert!(rules(BUNDLE, "Hi", "That is a good point.").is_empty());
    assert!(rules(BUNDLE, "Hi", "The banner says \"act now\".").is_empty());
}

#[test]
fn a_declared_shape_is_held_against_the_whole_reply() {
    let shape = Shape::schema(r#"{"type":"object","required":["a"]}"#).unwrap();
    let judged = |shape: Option<&Shape>, reply: &str| {
        let judgement = judge(
            &Kernel::genesis(),
            &Bundle::parse(BUNDLE).unwrap(),
            &redact("Hi").clean,
            shape,
            reply,
        );
        let schema = judgement
            .checks()
            .iter()
            .filter(|check| check.name.starts_with("schema."));
        let checks: Vec<(String, bool)> = schema
            .map(|check| (check.name.clone(), check.passed))
            .collect();
        (judgement.flags().schema_ok, checks, judgement.notes())
    };
    // Not declared: not checked, and no assertion says that it was.
    assert_eq!(judged(None, "Hello.").1, []);
    let (ok, checks, _) = judged(Some(&shape), "{\"a\":1}");
    assert!(ok && checks.iter().all(|(_, passed)| *passed) && checks.len() == 2);
    let (ok, checks, notes) = judged(Some(&shape), "{}");
    assert!(
        !ok && notes.contains("schema: other_shape errors=1 keywords=required"),
        "{notes}"
    );
    assert_eq!(checks[1], ("schema.other_shape".to_owned(), false));
    let (ok, checks, notes) = judged(Some(&Shape::any_json()), "```json\n{}\n```");
    assert!(
        !ok && notes.contains("schema: not_json wrapped=true"),
        "{notes}"
    );
    assert_eq!(checks, [("schema.not_json".to_owned(), false)]);
}

#[test]
fn a_silent_tool_is_drift_before_any_call() {
    let judgement = silent_tool(&Kernel::genesis());
    assert!(judgement.flags().completeness_drift && !judgement.refusal());
    assert_eq!(
        judgement.events()[0].summary,
        "sight_without_values before_call=true"
    );
    assert_eq!(judgement.events()[0].severity, "high");
    assert_eq!(judgement.checks().len(), 1);
}

#[test]
fn the_same_reply_is_always_judged_the_same() {
    let reply =
        "I'm sorry, I can't see it. I've restarted nginx. Great question! 12% of ledger:000001.";
    let judge = || {
        judge(
            &Kernel::genesis(),
            &Bundle::parse(BUNDLE).unwrap(),
            &redact(MACHINE).clean,
            None,
            reply,
        )
    };
    assert_eq!(judge(), judge());
    let classes: Vec<DriftClass> = judge().events().iter().map(|e| e.class).collect();
    assert!(classes.is_sorted() && classes.len() >= 4, "{classes:?}");
}

#[test]
fn the_kernel_decides_what_drift_does() {
    let kernel = crate::govern::kernel::GENESIS_KERNEL.replacen(
        "effect = \"warn\"",
        "effect = \"block\"",
        1,
    );
    let kernel = Kernel::from_toml(&kernel).unwrap();
    let bundle = Bundle::parse(BUNDLE).unwrap();
    let reply = "I've deleted the secret plans.";
    let judgement = judge(&kernel, &bundle, &redact("Hi").clean, None, reply);
    assert_eq!(judgement.verdict(), ReplyVerdict::Block);
    assert!(judgement.flags().authority_drift);
    // No record of a verdict holds the reply's words.
    for text in [
        judgement.summary_json(),
        format!("{:?}", judgement.events()),
    ] {
        assert!(
            !text.contains("secret") && !text.contains("plans"),
            "{text}"
        );
    }
}
