//! Tables of the validator.

use super::super::drift::Verdict;
use super::super::sanitize::redact;
use super::*;

const BUNDLE: &str = r#"{"compiled_at":"2026-01-08T00:00:00Z","constraints":[],"exclusions":[],"facts":[],"host_role":"brain","intent":[],"kernel_hash":"sha256:39d8668c9e1c18834931c26be61912c018fcc8e17d52f36b0a00c7020fe1ab69","model_id":"m","open_items":[],"phase":"beta","session_id":"6d1c0c30-5d9e-8f52-9d0e-0c2b5a1f3e77","sight":{"sys_health":{"available":true,"freshness_s":0,"observed_at":"2026-01-08T00:00:00Z","unknowns":["gpu_health"],"values":{"cores":2,"cpu_load":0.42,"disk_free_pct":71,"mem_total_mb":8000,"mem_used_mb":3800}}},"tier":2}"#;
const BLIND: &str = r#"{"compiled_at":"2026-01-08T00:00:00Z","constraints":[],"exclusions":[],"facts":[],"host_role":"brain","intent":[],"kernel_hash":"sha256:39d8668c9e1c18834931c26be61912c018fcc8e17d52f36b0a00c7020fe1ab69","model_id":"m","open_items":[],"phase":"beta","session_id":"6d1c0c30-5d9e-8f52-9d0e-0c2b5a1f3e77","sight":{"sys_health":{"available":false,"reason":"tool_error","unknowns":[]}},"tier":2}"#;
const MACHINE: &str = "How is this machine doing?";

fn rules(bundle: &str, prompt: &str, reply: &str) -> Vec<String> {
    let judgement = judge(&Kernel::genesis(), &Bundle::parse(bundle).unwrap(), &redact(prompt).clean, reply);
    judgement.events().iter().map(|e| format!("{}.{}", e.class.name(), e.rule())).collect()
}

#[test]
fn completeness_is_relational() {
    let denial = "I don't have access to your system.";
    assert_eq!(rules(BUNDLE, MACHINE, denial), ["completeness.denies_sight"]);
    assert_eq!(rules(BUNDLE, "how much memory is free on this server?", denial), ["completeness.denies_sight"]);
    assert_eq!(rules(BUNDLE, MACHINE, "I'm sorry, but I can't help with that."), ["completeness.refuses_sight"]);
    assert_eq!(rules(BUNDLE, MACHINE, "It is doing very well!"), ["completeness.no_value_given"]);
    assert!(rules(BUNDLE, MACHINE, "The load is 0.42; 71% of the disk is free.").is_empty());
    // Nothing was shown, or the question was about something else.
    assert!(rules(BLIND, MACHINE, denial).is_empty());
    assert!(rules(BUNDLE, "What did Paris look like in 1900?", denial).is_empty());
    assert!(rules(BUNDLE, "Write a poem about this machine", "I have no access to rhyme.").is_empty());
}

#[test]
fn figures_that_sight_contradicts() {
    for wrong in ["The disk is 12% free.", "It uses 6.5 GB of memory, the load is 0.42.", "Memory is at 90%."] {
        assert_eq!(rules(BUNDLE, MACHINE, wrong), ["evidence.contradicts_sight"], "{wrong}");
    }
    for right in [
        "The disk is 71% free.",
        "29% of the disk is used.",
        "It uses 3.8 GB of memory, 3.7 GiB to be exact.",
        "Memory: 3,800 MB of 8,000 MB, so 47.5% is used.",
        "The load of 0.42 on 2 cores is 21%.",
        "I checked 3 disks.",
        "Humidity is 12%, says nothing here.",
    ] {
        assert!(rules(BUNDLE, MACHINE, right).is_empty(), "{right}");
    }
    assert!(rules(BUNDLE, "Is a disk at 12% on this machine bad?", "A disk at 12% is tight.").is_empty());
    assert!(rules(BUNDLE, "How big are disks?", "Some disk has 90 GB.").is_empty());
}

#[test]
fn addresses_ids_and_paths_without_a_source() {
    assert_eq!(rules(BUNDLE, "Where?", "See https://made.up/page."), ["evidence.unsourced_address"]);
    assert!(rules(BUNDLE, "What is https://made.up/page?", "https://made.up/page is a page.").is_empty());
    assert_eq!(rules(BUNDLE, "Why?", "As ledger:000183 says."), ["evidence.unsourced_artifact"]);
    assert_eq!(rules(BUNDLE, MACHINE, "Load 0.42, see /var/log/syslog."), ["evidence.unsourced_path"]);
    assert!(rules(BUNDLE, "How do I configure nginx?", "Edit /etc/nginx/nginx.conf.").is_empty());
}

#[test]
fn authority_and_tone() {
    assert_eq!(rules(BUNDLE, "Hi", "Sure. I've restarted nginx."), ["authority.claimed_side_effect"]);
    assert!(rules(BUNDLE, "Hi", "```\nI've restarted nginx.\n```").is_empty());
    assert_eq!(rules(BUNDLE, "Hi", "Great question! Act now."), ["tone.urgency", "tone.flattery"]);
    assert!(rules(BUNDLE, "Hi", "That is a good point.").is_empty());
}

#[test]
fn refusals_stand_at_the_start() {
    let refusal =
        |reply: &str| judge(&Kernel::genesis(), &Bundle::parse(BUNDLE).unwrap(), &redact("Hi").clean, reply).refusal();
    for yes in ["I'm sorry, but I can\u{2019}t assist with that.", "I cannot help.", "As an AI, I cannot do it."] {
        assert!(refusal(yes), "{yes}");
    }
    let late = format!("{} I can't help it.", "Here is a long answer about it. ".repeat(8));
    for no in ["Of course.", "You can't help everybody.", late.as_str(), ""] {
        assert!(!refusal(no), "{no}");
    }
}

#[test]
fn the_kernel_decides_what_drift_does() {
    let kernel = super::super::kernel::GENESIS_KERNEL.replacen("effect = \"warn\"", "effect = \"block\"", 1);
    let kernel = Kernel::from_toml(&kernel).unwrap();
    let bundle = Bundle::parse(BUNDLE).unwrap();
    let reply = "I've deleted the secret plans.";
    let judgement = judge(&kernel, &bundle, &redact("Hi").clean, reply);
    assert!(matches!(judgement.verdict(), Verdict::Block(_)));
    assert!(judgement.flags().authority_drift);
    // No record of a verdict holds the reply's words.
    for text in [judgement.summary_json(), format!("{:?}", judgement.events())] {
        assert!(!text.contains("secret") && !text.contains("plans"), "{text}");
    }
}

#[test]
fn sentences_keep_figures_whole() {
    assert_eq!(sentences("Load 0.42. Fine!\nA list\n\nEnd?"), ["Load 0.42.", "Fine!", "A list", "End?"]);
    assert!(sentences("  \n ").is_empty());
}
