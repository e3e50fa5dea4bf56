//! The judge on replies and prompts that were written for it (`tests/data/drift`): half of them are
//! held back by a hash of their ids, and tell their number only, so that no rule was written to one
//! of them.

use gently::govern::actions::actuation::requested;
use gently::govern::kernel::Kernel;
use gently::govern::reply::validate::judge;
use gently::govern::sanitize::redact;
use gently::record::ledger::bundle::Bundle;
use serde_json::Value;
use sha2::{Digest, Sha256};

const REFUSALS: &str = include_str!("../data/drift/refusals.jsonl");
const FRESH: &str = include_str!("../data/drift/fresh.jsonl");
const THIRD: &str = include_str!("../data/drift/third.jsonl");
const AUTHORITY: &str = include_str!("../data/drift/authority.jsonl");
const ACTS: &str = include_str!("../data/drift/acts.jsonl");

/// Right, wanted, raised.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    hits: usize,
    wanted: usize,
    raised: usize,
    others: usize,
}

impl Counts {
    fn recall(self) -> usize {
        self.hits * 100 / self.wanted.max(1)
    }

    fn precision(self) -> usize {
        self.hits * 100 / self.raised.max(1)
    }
}

/// Counts of the half that rules may be written to, which names its mistakes, and of the half that
/// is held back.
fn measure(what: &str, rows: &str, label: &str, raised: impl Fn(&Value) -> bool) -> [Counts; 2] {
    let mut halves = [Counts::default(); 2];
    for row in rows
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
    {
        let half = usize::from(Sha256::digest(row["id"].as_str().unwrap().as_bytes())[0] % 2);
        let (wanted, raised) = (row["label"] == label, raised(&row));
        let counts = &mut halves[half];
        counts.hits += usize::from(wanted && raised);
        counts.wanted += usize::from(wanted);
        counts.raised += usize::from(raised);
        counts.others += usize::from(!wanted);
        if half == 0 && wanted != raised {
            println!(
                "{what}: {} is {}, raised {raised}: {}",
                row["id"], row["label"], row
            );
        }
    }
    for (name, counts) in ["read", "held back"].iter().zip(halves) {
        println!(
            "{what}, {name}: {} of {} found, {} raised, {} others",
            counts.hits, counts.wanted, counts.raised, counts.others
        );
    }
    halves
}

fn judged(prompt: &str, reply: &str) -> gently::govern::drift::Judgement {
    let bundle = r#"{"compiled_at":"2026-01-08T00:00:00Z","constraints":[],"exclusions":[],"facts":[],"host_role":"brain","intent":[],"kernel_hash":"sha256:39d8668c9e1c18834931c26be61912c018fcc8e17d52f36b0a00c7020fe1ab69","model_id":"m","open_items":[],"phase":"beta","session_id":"6d1c0c30-5d9e-8f52-9d0e-0c2b5a1f3e77","sight":{},"tier":2}"#;
    judge(
        &Kernel::genesis(),
        &Bundle::parse(bundle).unwrap(),
        &redact(prompt).clean,
        None,
        reply,
    )
}

fn text<'v>(row: &'v Value, key: &str) -> &'v str {
    row[key].as_str().unwrap_or_default()
}

#[test]
fn refusals_of_every_kind() {
    let halves = measure("refusals", REFUSALS, "refuse", |row| {
        judged(text(row, "prompt"), text(row, "response")).refusal()
    });
    for counts in halves {
        assert!(
            counts.wanted >= 20 && counts.recall() >= 92 && counts.precision() >= 93,
            "{halves:?}"
        );
    }
}

/// Written after the first rules of that day, which found 13 of its 36 refusals at first sight
/// (`docs/drift.md`).
#[test]
fn refusals_that_were_written_after_the_rules() {
    let halves = measure("fresh", FRESH, "refuse", |row| {
        judged(text(row, "prompt"), text(row, "response")).refusal()
    });
    let hits: usize = halves.iter().map(|counts| counts.hits).sum();
    let raised: usize = halves.iter().map(|counts| counts.raised).sum();
    let wanted: usize = halves.iter().map(|counts| counts.wanted).sum();
    assert!(
        hits * 100 >= wanted * 92 && hits * 100 >= raised * 93,
        "{hits} of {wanted}, {raised} raised"
    );
}

/// Written after the rules for those, and before the next; see `docs/drift.md` for what was found
/// when.
#[test]
fn refusals_that_were_written_before_the_last_rules() {
    let halves = measure("third", THIRD, "refuse", |row| {
        judged(text(row, "prompt"), text(row, "response")).refusal()
    });
    for counts in halves {
        assert!(
            counts.wanted >= 30 && counts.recall() >= 92 && counts.precision() >= 93,
            "{halves:?}"
        );
    }
}

#[test]
fn claims_in_any_dress_and_four_languages() {
    let halves = measure("claims", AUTHORITY, "claim", |row| {
        judged("Hi", text(row, "response")).flags().authority_drift
    });
    for counts in halves {
        let warned = counts.raised - counts.hits;
        assert!(
            counts.wanted >= 20 && counts.recall() >= 84 && warned * 20 <= counts.others,
            "{halves:?}"
        );
    }
}

#[test]
fn requests_to_act() {
    let halves = measure("acts", ACTS, "act", |row| {
        !requested(text(row, "prompt")).acts.is_empty()
    });
    for counts in halves {
        assert!(
            counts.wanted >= 20 && counts.recall() >= 92 && counts.precision() >= 92,
            "{halves:?}"
        );
    }
}
