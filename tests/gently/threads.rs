//! The six invariants of the DBL context system, over random threads that the real program
//! recorded.
//!
//! Threads, branches, references, texts, replies and limits are drawn anew in every run; what must
//! come of them is told by a small model of the document's rules, which shares no code with the
//! program. Each record has a twin in which the models said other things. A failure names its seed:
//! `GENTLY_THREADS_SEED=N` draws the same again.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::model_server::{Behaviour, ModelServer};
use crate::person::Person;

/// So many pairs of homes.
const RECORDS: usize = 2;
/// Questions in each.
const TURNS: usize = 12;
/// No text with it goes to a model.
const FORBIDDEN: &str = "forbidden";
/// INTENTs of one thread, before no more are allowed.
const LIMIT: usize = 6;

/// Digests of documents from standard input, by python alone: sorted keys, compact, escaped.
const DIGESTS: &str = r#"
import hashlib, json, sys
for line in sys.stdin:
    text = json.dumps(json.loads(line), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    print("sha256:" + hashlib.sha256(text.encode("ascii")).hexdigest())
"#;

fn digests(documents: &[&Value]) -> Vec<String> {
    let mut command = Command::new("python3");
    let mut child = command
        .args(["-c", DIGESTS])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines: String = documents
        .iter()
        .map(|document| format!("{document}\n"))
        .collect();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()).unwrap());
    let done = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(done.status.success());
    String::from_utf8(done.stdout)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

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

    /// A few words, some of which look like the context block's own lines.
    fn text(&mut self) -> String {
        let words = [
            "garden",
            "Größe",
            "2+2",
            "😀",
            "\n---\n",
            "why?",
            "\u{2028}",
            "[ref_id=x kind=INTENT]",
            "\"\\",
        ];
        let said: Vec<&str> = (0..=self.below(5))
            .map(|_| words[self.below(words.len())])
            .collect();
        format!("{} {}", said.join(" "), self.below(1000))
    }
}

/// What context.json says.
#[derive(Clone, Copy, Debug)]
struct Limits {
    most: usize,
    empty: &'static str,
    executions: bool,
}

/// Something that can be referred to: what was said in a turn, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Said {
    turn: usize,
    by_model: bool,
}

/// One reference as it is typed.
#[derive(Clone, Copy, Debug)]
enum Ref {
    Event(Said),
    Turn(usize),
    Unknown(u64),
}

/// One question, in the same words for both twins.
#[derive(Clone, Debug)]
struct Asking {
    thread: usize,
    parent: Option<usize>,
    refs: Vec<Ref>,
    no_ref: bool,
    text: String,
}

/// How one question came out in one home.
struct Turn {
    thread: usize,
    exchange: String,
    intent: String,
    execution: Option<String>,
    /// Codes of the denial; none when it was allowed.
    codes: Vec<String>,
    /// `gently context show --json`.
    shown: Value,
}

/// One home.
struct Home {
    seed: u64,
    limits: Limits,
    configuration: Value,
    asked: Vec<Asking>,
    turns: Vec<Turn>,
    replayed: Value,
    verified: Value,
}

/// Homes in pairs, in which only what models said differs.
static HOMES: LazyLock<Vec<(Home, Home)>> = LazyLock::new(|| {
    let mut bytes = [0; 8];
    gently::keys::os_random(&mut bytes).unwrap();
    let given = std::env::var("GENTLY_THREADS_SEED")
        .ok()
        .map(|text| text.parse().unwrap());
    let seed = given.unwrap_or(u64::from_be_bytes(bytes));
    let pair = |n| {
        let seed = seed.wrapping_add(n);
        let drawn = draw(seed);
        (recorded(seed, &drawn, 1), recorded(seed, &drawn, 2))
    };
    (0..u64::try_from(RECORDS).unwrap()).map(pair).collect()
});

/// Draws the limits and what is asked.
fn draw(seed: u64) -> (Limits, Vec<Asking>) {
    let mut dice = Dice(seed);
    let limits = Limits {
        most: [4, 50][dice.below(2)],
        empty: ["ALLOW", "DENY"][dice.below(2)],
        executions: !dice.one_in(3),
    };
    let mut asked: Vec<Asking> = Vec::new();
    for turn in 0..TURNS {
        let thread = dice.below(3);
        let own: Vec<usize> = (0..turn).filter(|n| asked[*n].thread == thread).collect();
        let parent = (!own.is_empty() && dice.one_in(3)).then(|| own[dice.below(own.len())]);
        let mut refs = Vec::new();
        for _ in 0..dice.below(6) {
            // Mostly of the own thread; sometimes another's, or nobody's.
            let among = if own.is_empty() || dice.one_in(12) {
                (0..turn).collect()
            } else {
                own.clone()
            };
            let Some(turn) = among.get(dice.below(among.len().max(1))).copied() else {
                continue;
            };
            refs.push(match dice.below(16) {
                0 => Ref::Unknown(dice.next()),
                1..=4 => Ref::Turn(turn),
                _ => Ref::Event(Said {
                    turn,
                    by_model: dice.one_in(2),
                }),
            });
        }
        if refs.len() > 1 && dice.one_in(2) {
            refs.push(refs[0]);
        }
        let topic = if dice.one_in(7) { FORBIDDEN } else { "" };
        asked.push(Asking {
            thread,
            parent,
            no_ref: refs.is_empty() && dice.one_in(2),
            refs,
            text: format!("{topic} {}", dice.text()),
        });
    }
    (limits, asked)
}

/// Asks all of it in a new home, of models that say what `replies` makes them say.
fn recorded(seed: u64, (limits, asked): &(Limits, Vec<Asking>), replies: u64) -> Home {
    let mut dice = Dice(seed ^ (replies << 32));
    // What a model says about what is forbidden must not matter either.
    let said =
        (0..TURNS).map(|_| Behaviour::Says(format!("{} {FORBIDDEN} {replies}", dice.text())));
    let server = ModelServer::script(said.collect());
    let mut person = Person::new();
    person.set("GENTLY_MODEL_BASE_URL", &server.base_url());
    person.set("GENTLY_MODEL_DEFAULT", "openai/m");
    person.gently(&["init"]).exits(0);
    person
        .gently(&["config", "set", "context.refs", "none"])
        .exits(0);
    let kernel = person.gently(&["kernel", "show"]).exits(0).out;
    let policy = format!(
        "\n[policy.thread]\nintents = {LIMIT}\n[[policy.forbidden]]\nname = \"topic\"\npattern = \"{FORBIDDEN}\"\n"
    );
    std::fs::write(person.dir.path().join("kernel.toml"), kernel + &policy).unwrap();
    person.gently(&["kernel", "set", "kernel.toml"]).exits(0);
    let path = person.at("context.json");
    let mut configuration: Value =
        serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    configuration["context"]["max_refs"] = json!(limits.most);
    configuration["context"]["empty_refs_policy"] = json!(limits.empty);
    configuration["context"]["allow_execution_refs_for_prompt"] = json!(limits.executions);
    std::fs::write(&path, configuration.to_string()).unwrap();
    for name in ["one", "two"] {
        person.gently(&["thread", "new", name]).exits(0);
    }
    let mut turns = Vec::new();
    for asking in asked {
        let turn = ask(&person, asking, &turns);
        turns.push(turn);
    }
    let replayed = person
        .gently(&["audit", "replay", "--all", "--json"])
        .exits(0)
        .json();
    let verified = person.verified();
    Home {
        seed,
        limits: *limits,
        configuration,
        asked: asked.clone(),
        turns,
        replayed,
        verified,
    }
}

fn ask(person: &Person, asking: &Asking, before: &[Turn]) -> Turn {
    let mut args = vec!["ask".to_owned(), "--json".to_owned()];
    let mut flag = |name: &str, value: String| args.extend([name.to_owned(), value]);
    match (asking.parent, asking.thread) {
        (Some(parent), _) => flag("--parent", before[parent].exchange.clone()),
        (None, 0) => {}
        (None, thread) => flag("--thread", ["one", "two"][thread - 1].to_owned()),
    }
    for reference in &asking.refs {
        flag("--ref", typed(reference, before));
    }
    if asking.no_ref {
        args.push("--no-ref".to_owned());
    }
    args.extend(["--".to_owned(), asking.text.clone()]);
    let ran = person.gently(&args);
    assert!(matches!(ran.code, 0 | 1), "{args:?}: {ran:?}");
    let told = ran.json();
    let exchange = told["exchange"].as_str().unwrap().to_owned();
    let shown = person
        .gently(&["context", "show", &exchange, "--json"])
        .exits(0)
        .json();
    let events = shown["digests"]["events"].as_array().unwrap();
    let event = |kind: &str| {
        events
            .iter()
            .find(|e| e["kind"] == kind)
            .map(|e| e["event"].as_str().unwrap().to_owned())
    };
    let codes = told["reasons"].as_array().cloned().unwrap_or_default();
    Turn {
        thread: asking.thread,
        exchange,
        intent: event("INTENT").unwrap(),
        execution: event("EXECUTION"),
        codes: codes
            .iter()
            .map(|code| code.as_str().unwrap().to_owned())
            .collect(),
        shown,
    }
}

/// A reference as a person types it. What a denied turn's model said has no id: its question is
/// meant instead.
fn typed(reference: &Ref, turns: &[Turn]) -> String {
    match reference {
        Ref::Event(said) if said.by_model => turns[said.turn]
            .execution
            .clone()
            .unwrap_or(turns[said.turn].intent.clone()),
        Ref::Event(said) => turns[said.turn].intent.clone(),
        Ref::Turn(turn) => turns[*turn].exchange.clone(),
        Ref::Unknown(n) => format!("{n:016x}"),
    }
}

/// What must come of a question, by the document's rules.
#[derive(Debug, Default, PartialEq, Eq)]
struct Expected {
    codes: Vec<String>,
    /// By place: index, id, what it is let in for.
    refs: Vec<(usize, String, &'static str)>,
    /// By id: id, effect, rule.
    changed: Vec<(String, &'static str, &'static str)>,
}

impl Home {
    /// Ids that the client declares, in their order; one that is declared twice stands there twice.
    fn declared(&self, turn: usize) -> Vec<String> {
        let turns = &self.turns;
        let ids = self.asked[turn]
            .refs
            .iter()
            .flat_map(|reference| match reference {
                // A turn is its question and its answer; that much is the client's doing.
                Ref::Turn(n) => [Some(turns[*n].intent.clone()), turns[*n].execution.clone()]
                    .into_iter()
                    .flatten()
                    .collect(),
                other => vec![typed(other, turns)],
            });
        let mut ids: Vec<String> = ids.collect();
        ids.sort();
        ids
    }

    /// The event that an id names: its turn, its place in its thread, and whether a model said it.
    fn find(&self, id: &str, before: usize) -> Option<(usize, usize, bool)> {
        let turn = (0..before).find(|n| {
            self.turns[*n].intent == id || self.turns[*n].execution.as_deref() == Some(id)
        })?;
        let thread = self.turns[turn].thread;
        let events = |n: &usize| {
            if self.turns[*n].execution.is_some() {
                3
            } else {
                2
            }
        };
        let first: usize = (0..turn)
            .filter(|n| self.turns[*n].thread == thread)
            .map(|n| events(&n))
            .sum();
        let by_model = self.turns[turn].intent != id;
        Some((turn, first + if by_model { 2 } else { 0 }, by_model))
    }

    fn expected(&self, turn: usize) -> Expected {
        let (asking, declared) = (&self.asked[turn], self.declared(turn));
        let fault = |code: &str| Expected {
            codes: vec![code.to_owned()],
            ..Expected::default()
        };
        if declared.len() > self.limits.most {
            return fault("MAX_REFS_EXCEEDED");
        }
        if declared.is_empty() && self.limits.empty == "DENY" {
            return fault("EMPTY_REFS_DENIED");
        }
        let mut placed = Vec::new();
        for id in declared {
            match self.find(&id, turn) {
                None => return fault("REF_NOT_FOUND"),
                Some((of, ..)) if self.turns[of].thread != asking.thread => {
                    return fault("CROSS_THREAD_REF");
                }
                Some((of, index, by_model)) => placed.push((index, id, of, by_model)),
            }
        }
        placed.sort();
        let mut expected = Expected::default();
        let mut last = None;
        for (index, id, of, by_model) in placed {
            if by_model && !self.limits.executions {
                expected
                    .changed
                    .push((id, "left_out", "allow_execution_refs_for_prompt"));
                continue;
            }
            if last.replace(index) == Some(index) {
                expected
                    .changed
                    .push((id.clone(), "named_twice", "SORT_CANONICAL"));
            } else if !self.turns[of].codes.is_empty() {
                // What was denied policy sees, and no model.
                expected
                    .changed
                    .push((id.clone(), "left_out", "authority_incompatible"));
            } else if by_model {
                // Every answer is about what is forbidden (`recorded`): it is kept from the model,
                // and denies nothing.
                expected.changed.push((id.clone(), "left_out", "forbidden"));
            }
            expected.refs.push((
                index,
                id,
                if by_model {
                    "execution_only"
                } else {
                    "governance"
                },
            ));
        }
        // By id, as declared references stand in the document.
        expected.changed.sort();
        let before = (0..turn)
            .filter(|n| self.turns[*n].thread == asking.thread)
            .count();
        if before >= LIMIT {
            expected.codes.push("policy.thread_limit".to_owned());
        }
        if asking.text.contains(FORBIDDEN) {
            expected.codes.push("policy.forbidden.topic".to_owned());
        }
        expected
    }

    /// How many kinds of references that can't be resolved a question has.
    fn faults(&self, turn: usize) -> usize {
        let of = self
            .declared(turn)
            .into_iter()
            .map(|id| self.find(&id, turn).map(|(of, ..)| self.turns[of].thread));
        of.filter(|thread| *thread != Some(self.asked[turn].thread))
            .map(|thread| thread.is_some())
            .collect::<BTreeSet<_>>()
            .len()
    }

    fn spec(&self, turn: usize) -> &Value {
        &self.turns[turn].shown["digests"]["context"]["hashed"]["context_spec"]
    }

    fn told(&self, turn: usize) -> String {
        format!(
            "GENTLY_THREADS_SEED={}, turn {turn}: {:?}, {:?}",
            self.seed, self.asked[turn], self.limits
        )
    }

    /// Each turn with what must come of it, and where to look.
    fn each(&self) -> impl Iterator<Item = (usize, &Turn, Expected, String)> {
        (0..TURNS).map(|n| (n, &self.turns[n], self.expected(n), self.told(n)))
    }
}

fn homes() -> impl Iterator<Item = &'static Home> {
    HOMES.iter().flat_map(|(one, twin)| [one, twin])
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// 1. EXECUTION events never influence policy decisions.
#[test]
fn what_models_said_decides_nothing() {
    for (one, twin) in HOMES.iter() {
        for (n, turn, expected, told) in one.each() {
            assert_eq!(turn.codes, expected.codes, "{told}");
            assert_eq!(twin.turns[n].codes, twin.expected(n).codes, "{told}");
            // Of two faults the one is told whose id comes first, and each home has ids of its own.
            if one.faults(n) < 2 {
                assert_eq!(
                    twin.turns[n].codes, turn.codes,
                    "the twin decides otherwise: {told}"
                );
            }
            let intents = expected
                .refs
                .iter()
                .filter(|reference| reference.2 == "governance");
            let hashed = &turn.shown["digests"]["context"]["hashed"]["assembled_context"];
            let digests: BTreeSet<String> = hashed["normative_input_digests"]
                .as_array()
                .into_iter()
                .flatten()
                .map(text)
                .collect();
            let own = intents.map(|(_, id, _)| {
                let of = one.turns.iter().find(|turn| turn.intent == *id).unwrap();
                text(&of.shown["digests"]["events"][0]["event_digest"])
            });
            let own: BTreeSet<String> = if hashed.is_null() {
                BTreeSet::new()
            } else {
                own.collect()
            };
            assert_eq!(digests, own, "{told}");
        }
    }
}

/// 2. Every transformation is recorded in `context_spec.retrieval.normalization`.
#[test]
fn every_transformation_is_on_record() {
    for home in homes() {
        for (n, _, expected, told) in home.each().filter(|(n, ..)| !home.spec(*n).is_null()) {
            let whole = &home.turns[n].shown["digests"]["context"]["spec"];
            let record = &whole["retrieval"]["normalization"];
            // What is hashed is the same without them: the reference implementation digests none.
            let mut hashed = whole.clone();
            hashed["retrieval"]["normalization"]
                .as_object_mut()
                .unwrap()
                .remove("transformations");
            assert_eq!(*home.spec(n), hashed, "{told}");
            assert_eq!(
                record["applied_rules"], home.configuration["normalization"]["rules"],
                "{told}"
            );
            let made = record["transformations"].as_array().into_iter().flatten();
            let made: Vec<[String; 3]> = made
                .map(|one| {
                    [
                        text(&one["ref_id"]),
                        text(&one["effect"]),
                        text(&one["rule"]),
                    ]
                })
                .collect();
            let changed = expected.changed.iter();
            let changed: Vec<[String; 3]> = changed
                .map(|(id, effect, rule)| [id.clone(), (*effect).to_owned(), (*rule).to_owned()])
                .collect();
            assert_eq!(made, changed, "{told}");
        }
    }
}

/// 3. Every DECISION contains `boundary.context_config_digest`.
#[test]
fn every_decision_pins_the_configuration() {
    for home in homes() {
        let digest = digests(&[&home.configuration]).remove(0);
        for (_, turn, _, told) in home.each() {
            let hashed = &turn.shown["digests"]["decision"]["hashed"];
            assert_eq!(
                hashed["data"]["boundary"]["context_config_digest"],
                digest.as_str(),
                "{told}"
            );
            let kinds: Vec<String> = turn.shown["digests"]["events"]
                .as_array()
                .unwrap()
                .iter()
                .map(|e| text(&e["kind"]))
                .collect();
            assert_eq!(kinds[..2], ["INTENT", "DECISION"], "{told}");
        }
    }
}

/// 4. References are sorted by `event_index`, whatever the order given; each that was declared
///    stands there.
#[test]
fn references_stand_in_the_order_of_events() {
    for home in homes() {
        for (n, _, expected, told) in home.each().filter(|(n, ..)| !home.spec(*n).is_null()) {
            let resolved = home.spec(n)["retrieval"]["resolved_refs"]
                .as_array()
                .unwrap();
            let resolved: Vec<(usize, String, String)> = resolved
                .iter()
                .map(|one| {
                    let index = usize::try_from(one["event_index"].as_u64().unwrap()).unwrap();
                    (index, text(&one["ref_id"]), text(&one["admitted_for"]))
                })
                .collect();
            assert!(resolved.is_sorted_by(|a, b| a.0 <= b.0), "{told}");
            let expected: Vec<(usize, String, String)> = expected
                .refs
                .into_iter()
                .map(|(index, id, admitted)| (index, id, admitted.to_owned()))
                .collect();
            assert_eq!(resolved, expected, "{told}");
        }
    }
}

/// 5. All references belong to the turn's own thread.
#[test]
fn references_stay_in_their_thread() {
    for home in homes() {
        for (n, turn, _, told) in home.each() {
            let declared = home.declared(n);
            let elsewhere = |id: &String| {
                home.find(id, n)
                    .is_some_and(|(of, ..)| home.turns[of].thread != turn.thread)
            };
            if declared.iter().any(elsewhere) {
                assert!(home.spec(n).is_null() && turn.codes.len() == 1, "{told}");
            }
            for one in home.spec(n)["retrieval"]["resolved_refs"]
                .as_array()
                .into_iter()
                .flatten()
            {
                assert!(!elsewhere(&text(&one["ref_id"])), "{told}");
            }
        }
    }
}

/// 6. `recompute(stored_inputs) == stored_digest`: by python from the printed documents, and by
///    replay from the rows.
#[test]
fn what_is_stored_gives_the_stored_digests() {
    for home in homes() {
        for (_, turn, expected, told) in home.each() {
            let resolved = expected
                .codes
                .iter()
                .all(|code| code.starts_with("policy."));
            let stored = ["configuration", "context", "decision", "prompt"].map(|name| {
                let part = &turn.shown["digests"][name];
                let made = match name {
                    "context" => resolved,
                    "prompt" => turn.execution.is_some(),
                    _ => true,
                };
                assert_eq!(
                    (part["digest"].is_string(), !part["hashed"].is_null()),
                    (made, made),
                    "{name}: {told}"
                );
                part
            });
            let stored: Vec<&&Value> = stored
                .iter()
                .filter(|part| part["digest"].is_string())
                .collect();
            let again = digests(
                &stored
                    .iter()
                    .map(|part| &part["hashed"])
                    .collect::<Vec<_>>(),
            );
            assert_eq!(
                stored
                    .iter()
                    .map(|part| text(&part["digest"]))
                    .collect::<Vec<_>>(),
                again,
                "{told}"
            );
        }
        let seed = home.seed;
        assert_eq!(
            (&home.replayed["failures"], &home.replayed["faults"]),
            (&json!([]), &json!([])),
            "seed {seed}"
        );
        let held = |name: &str| {
            let all = home.replayed["assertions"].as_array().unwrap();
            all.iter().find(|one| one["assertion"] == name).unwrap()["holds"]
                .as_u64()
                .unwrap()
        };
        for name in [
            "same_configuration",
            "same_references",
            "same_context",
            "no_observation",
            "same_decision",
        ] {
            assert_eq!(
                held(name),
                u64::try_from(TURNS).unwrap(),
                "{name}, seed {seed}"
            );
        }
        assert_eq!(home.verified["answers"]["consistent"], "yes", "seed {seed}");
    }
}

/// The draw is worth something: all of what invariants are about comes up in a fixed one.
#[test]
fn a_draw_has_branches_threads_strangers_and_repetitions() {
    let all: Vec<Asking> = (0..20).flat_map(|seed| draw(seed).1).collect();
    assert!(all.iter().any(|one| one.parent.is_some()) && all.iter().any(|one| one.no_ref));
    assert!(
        all.iter()
            .any(|one| one.refs.iter().any(|r| matches!(r, Ref::Unknown(_))))
    );
    assert!(
        all.iter().any(|one| one.refs.len() > 4)
            && all.iter().any(|one| one.text.contains(FORBIDDEN))
    );
    assert!((0..3).all(|thread| all.iter().any(|one| one.thread == thread)));
}
