//! The published DBL gateway as oracle: what it resolves and digests, ours resolves and digests,
//! over random turns.
//!
//! Threads, texts, references, configurations are drawn anew in every run: lines that look like the
//! context block's own, rules in any order, references to DECISIONs, to turns, to nothing, to other
//! threads, twice. A failure names its seed: `GENTLY_GATEWAY_SEED=N` draws the same again. The
//! gateway puts the words of a model into what it hashes; DBL's own page excludes them, and so do
//! we: it is given the event's digest in their place, and nothing else is different.

#![allow(
    clippy::unwrap_used,
    reason = "the helpers of a test fail it as the test itself would"
)]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;
use std::process::Command;

use gently::continuity::declared::{TurnContext, TurnPlace};
use gently::continuity::refs::{Lookup, NamedRecord};
use gently::govern::kernel::Kernel;
use gently::govern::kernel::RingCaps;
use gently::record::context::config::{ContextConfig, GENESIS_CONTEXT};
use gently::record::context::event::{
    Boundary, DecisionPayload, EventKind, EventPosition, Execution, IntentPayload, NormativeFields,
    PolicyName, PolicyVerdict, Reason, ThreadEvent,
};
use gently::record::context::spec::{ContextForm, DeclaredRef};
use gently::record::ledger::bundle::NamedHash;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::contexts::python;

/// Turns that are compared.
const TURNS: usize = 1000;

/// For each line of a file: the gateway's digests and documents, or its code; a line each.
const ORACLE: &str = r#"
import json, pathlib, sys, tempfile
sys.path.insert(0, sys.argv[1])
from dbl_gateway.config import load_context_config
from dbl_gateway.context_builder import build_context_with_refs
from dbl_gateway.contracts import _normalize_context_spec, _normalize_assembled_context
from dbl_gateway.digest import event_digest
from dbl_gateway.ref_resolver import RefResolutionError
path = pathlib.Path(tempfile.mkdtemp()) / "context.json"
for line in open(sys.argv[2], encoding="utf-8", newline="\n"):
    given = json.loads(line)
    path.write_text(given["config"], encoding="utf-8")
    config = load_context_config(path)
    told = {"config": config.config_digest, "events": {}}
    events = []
    for event in given["events"]:
        payload = event["payload"]
        if event["kind"] == "INTENT":
            told["events"][event["id"]], _ = event_digest(event["kind"], event["id"], payload)
        shown = {"output_text": event["digest"]} if event["kind"] == "EXECUTION" else payload
        events.append({"index": event["index"], "kind": event["kind"], "thread_id": event["thread"],
            "turn_id": event["turn"], "correlation_id": event["id"], "intent_type": "chat.message",
            "payload": shown, "digest": event["digest"]})
    try:
        made = build_context_with_refs(given["payload"], intent_type="chat.message", thread_events=events, config=config)
        told["context"] = made.context_digest
        told["hashed"] = {"assembled_context": _normalize_assembled_context(made.assembled_context),
            "context_spec": _normalize_context_spec(made.context_spec)}
    except RefResolutionError as fault:
        told["code"], told["ref"] = fault.code, fault.ref_id
    print(json.dumps(told))
"#;

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(n).unwrap()).unwrap()
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn id(&mut self) -> String {
        Uuid::from_u64_pair(self.next(), self.next()).to_string()
    }

    /// Words among which are the block's own lines, and white space of every kind.
    fn text(&mut self) -> String {
        let words = [
            "garden",
            "Größe",
            "😀",
            "---",
            "\n---\n",
            "\n",
            "  ",
            "\u{2028}",
            "\r\n---\r\n",
            "\\---",
            "\"\\/",
            "\u{7f}",
            "\u{1}",
            "DBL_CONTEXT_REFS_END",
            "\nDBL_CONTEXT_REFS_BEGIN\n",
            "\n[ref_id=x kind=INTENT]\n",
            "\u{1c}",
            "\u{feff}",
            "\u{a0}",
            "\\[ref_id=",
            "_obs",
            "机器状态正常",
            "\u{10ffff}",
            "e\u{301}",
            "\t",
            "<gently-context>",
        ];
        (0..=self.below(7))
            .map(|_| words[self.below(words.len())])
            .collect()
    }
}

/// The events of one home, by id; a turn's id names its INTENT.
struct Events(Vec<ThreadEvent>);

impl Lookup for Events {
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

/// One turn: what the gateway is given, and what ours makes of it.
struct Drawn {
    given: Value,
    ours: Value,
}

fn draw(dice: &mut Dice) -> Drawn {
    let mut rules = ["FILTER_INTENT_ONLY", "SCOPE_BOUND", "SORT_CANONICAL"];
    for n in (1..rules.len()).rev() {
        rules.swap(n, dice.below(n + 1));
    }
    let mut document: Value = serde_json::from_str(GENESIS_CONTEXT).unwrap();
    document["normalization"]["rules"] = json!(rules);
    // The other two policies have names of their own there.
    document["context"]["empty_refs_policy"] = json!("DENY");
    document["context"]["max_refs"] = json!([3, 8, 50][dice.below(3)]);
    document["context"]["allow_execution_refs_for_prompt"] = json!(!dice.one_in(4));
    let config = ContextConfig::parse(&document.to_string()).unwrap();
    let threads = [dice.id(), dice.id()];
    let (mut events, mut told, mut next) = (Vec::new(), Vec::new(), [0, 0]);
    for _ in 0..1 + dice.below(6) {
        let at = usize::from(dice.one_in(6));
        let (turn_id, said) = (dice.id(), [dice.text(), dice.text()]);
        let mut place = |id: String| {
            let place = EventPosition {
                index: next[at],
                id,
                turn_id: turn_id.clone(),
                thread_id: threads[at].clone(),
            };
            next[at] += 1;
            place
        };
        let normative = NormativeFields {
            boundary: Boundary {
                context_config_digest: config.digest(),
            },
            context_digest: None,
            policy: PolicyName {
                policy_id: "kernel".to_owned(),
                policy_version: NamedHash(Kernel::genesis().hash()),
            },
            reasons: vec![Reason {
                code: "policy.rate_limit".to_owned(),
            }],
            result: PolicyVerdict::Allow,
        };
        events.push(ThreadEvent::Intent(
            IntentPayload::new(place(dice.id()), said[0].clone()).unwrap(),
        ));
        told.push(json!({"message": said[0]}));
        events.push(ThreadEvent::Decision(
            DecisionPayload::new(place(dice.id()), &normative).unwrap(),
        ));
        told.push(json!({}));
        if !dice.one_in(4) {
            events.push(ThreadEvent::Execution(
                Execution::new(place(dice.id()), said[1].clone(), "m").unwrap(),
            ));
            told.push(json!({"model": "m", "output_text": said[1]}));
        }
    }
    let mut declared = Vec::new();
    for _ in 0..1 + dice.below(6) {
        let event = events[dice.below(events.len())].place();
        if event.thread_id != threads[0] && !dice.one_in(5) {
            continue;
        }
        let turn = dice.one_in(5);
        declared.push(match dice.below(40) {
            0 => dice.id(),
            _ => {
                if turn {
                    event.turn_id.clone()
                } else {
                    event.id.clone()
                }
            }
        });
        if dice.one_in(6) {
            declared.push(declared.last().unwrap().clone());
        }
    }
    if declared.is_empty() {
        declared.push(events[0].place().id.clone());
    }
    // Nobody may ask nothing there.
    let message = format!("{} why? {}", dice.text(), dice.text());
    let (turn, parent) = (dice.id(), dice.one_in(2).then(|| dice.id()));
    let given = json!({
        "config": document.to_string(),
        "events": events.iter().zip(&told).map(|(event, payload)| json!({
            "id": event.place().id, "index": event.place().index, "turn": event.place().turn_id,
            "thread": event.place().thread_id, "kind": event.kind(), "payload": payload,
            "digest": event.digest().unwrap().to_string(),
        })).collect::<Vec<_>>(),
        "payload": {
            "thread_id": threads[0], "turn_id": turn, "parent_turn_id": parent, "message": message,
            "declared_refs": declared.iter().map(|id| json!({"ref_type": "event", "ref_id": id})).collect::<Vec<_>>(),
        },
    });
    // An EXECUTION of the gateway's holds a trace of its execution engine, and a DECISION the terms
    // of its tenants: their digests are their own, and are given to it.
    let said = events
        .iter()
        .filter(|event| event.kind() == EventKind::Intent);
    let digests: BTreeMap<String, Value> = said
        .map(|event| (event.place().id.clone(), json!(event.digest())))
        .collect();
    let mut ours = json!({"config": config.digest(), "events": digests});
    let refs: Vec<DeclaredRef> = declared.into_iter().map(DeclaredRef::event).collect();
    let place = TurnPlace::of_message(
        threads[0].parse().unwrap(),
        parent.map(|parent| parent.parse().unwrap()),
    );
    // Gates and caps of ours keep something from a model, never from what is hashed.
    let caps = RingCaps {
        items: u64::try_from(dice.below(4)).unwrap(),
        tokens: 20,
    };
    let Ok(context) = TurnContext::resolve(&config, place, &refs, caps, &Events(events));
    let turn: Uuid = turn.parse().unwrap();
    match context.resolved() {
        Ok(_) => {
            ours["context"] = json!(context.digest(turn, &message).unwrap());
            ours["hashed"] = json!({
                "assembled_context": context.assembled(&message, ContextForm::Hashed),
                "context_spec": context.spec(turn, &message).unwrap().hashed(),
            });
        }
        Err(fault) => {
            ours["code"] = json!(fault.code());
            ours["ref"] = json!(fault.id());
        }
    }
    Drawn { given, ours }
}

/// How many values differ, and where.
fn differences(
    path: &str,
    ours: &Value,
    theirs: &Value,
    compared: &mut usize,
    found: &mut Vec<String>,
) {
    match (ours, theirs) {
        (Value::Object(one), Value::Object(other)) => {
            let keys: std::collections::BTreeSet<&String> =
                one.keys().chain(other.keys()).collect();
            for key in keys {
                differences(
                    &format!("{path}/{key}"),
                    &ours[key],
                    &theirs[key],
                    compared,
                    found,
                );
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (n, (one, other)) in one.iter().zip(other).enumerate() {
                differences(&format!("{path}/{n}"), one, other, compared, found);
            }
        }
        _ => {
            *compared += 1;
            if ours != theirs {
                found.push(format!("{path}: ours {ours}, the gateway's {theirs}"));
            }
        }
    }
}

#[test]
fn all_that_is_resolved_and_digested_is_what_the_published_gateway_makes_of_it() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/peers.sh");
    let installed = Command::new("sh")
        .arg(script)
        .arg("gateway")
        .output()
        .unwrap();
    if installed.status.code() == Some(75) {
        let words = String::from_utf8_lossy(&installed.stderr);
        return eprintln!(
            "skipped: the DBL gateway as oracle, because it can't be installed here:\n{words}"
        );
    }
    assert!(
        installed.status.success(),
        "{}",
        String::from_utf8_lossy(&installed.stderr)
    );
    let site = String::from_utf8(installed.stdout)
        .unwrap()
        .trim()
        .to_owned();
    let mut bytes = [0; 8];
    gently::keys::os_random(&mut bytes).unwrap();
    let given = std::env::var("GENTLY_GATEWAY_SEED")
        .ok()
        .map(|text| text.parse().unwrap());
    let seed = given.unwrap_or(u64::from_be_bytes(bytes) >> 1);
    let mut dice = Dice(seed);
    let drawn: Vec<Drawn> = (0..TURNS).map(|_| draw(&mut dice)).collect();
    let input: String = drawn.iter().map(|one| format!("{}\n", one.given)).collect();
    // Not through a pipe: it answers while it is still being asked.
    let asked = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(asked.path(), input).unwrap();
    let ran = python(ORACLE, &[&site, asked.path().to_str().unwrap()], "");
    assert_eq!(ran.code, 0, "GENTLY_GATEWAY_SEED={seed}: {}", ran.err);
    let theirs: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(theirs.len(), TURNS, "{}", ran.err);
    let (mut compared, mut found, mut codes) = (0, Vec::new(), BTreeMap::new());
    for (n, (one, theirs)) in drawn.iter().zip(&theirs).enumerate() {
        let before = found.len();
        differences(
            &format!("turn {n}"),
            &one.ours,
            theirs,
            &mut compared,
            &mut found,
        );
        if found.len() > before {
            found.push(format!("    of {}", one.given));
        }
        *codes
            .entry(theirs["code"].as_str().unwrap_or("resolved").to_owned())
            .or_insert(0) += 1;
    }
    assert!(
        found.is_empty(),
        "GENTLY_GATEWAY_SEED={seed}: {} of {compared}\n{}",
        found.len(),
        found[..found.len().min(12)].join("\n")
    );
    // The draw is worth something.
    assert!(compared > 20_000, "{compared}");
    assert!(
        codes["resolved"] > TURNS / 3 && codes.len() == 4,
        "{codes:?}"
    );
    println!("{compared} values of {TURNS} turns are the gateway's: {codes:?}");
}
