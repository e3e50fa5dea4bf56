//! Histories that differ only in what models answered get the same decisions.
//!
//! Homes come in pairs. In both the same is asked, in the same places, with the same references;
//! the models say other things: nothing at all, one word, twenty thousand, dumps, encoded data,
//! secrets, what the kernel forbids. Behind each question stands a pair of histories, and policy
//! has to say the same of both. A failure names its seed: `GENTLY_TWINS_SEED=N` draws the same
//! again.

#![allow(
    clippy::unwrap_used,
    reason = "the helpers of a test fail it as the test itself would"
)]

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use gently::anchor::agree::AgreementPolicy;
use gently::ask::recall::{DeclaredContext, Reference};
use gently::ask::refer::{ParentTurn, ThreadPosition};
use gently::ask::{Observations, Question, TurnControl, TurnEnd, ask};
use gently::audit::replay::{AssertionOutcome, Replay as Replayed};
use gently::govern::kernel::{GENESIS_KERNEL, Kernel};
use gently::govern::sanitize::{redact, unnumbered};
use gently::keys::AuthKey;
use gently::models::Model;
use gently::models::replay::{ReplayModel, StoredAnswer};
use gently::record::bitcoin::block::Network;
use gently::record::context::config::{ContextConfig, GENESIS_CONTEXT};
use gently::record::context::event::EventKind;
use gently::record::context::spec::AdmittedFor;
use gently::record::hash::Hash32;
use gently::record::ledger::bundle::{NoSight, SightEntry};
use gently::record::ledger::commitment::Salt;
use gently::recorder::{
    ArtifactField, ArtifactId, NewArtifact, QuestionOrigin, Refusal, always, thread_id,
};
use gently::session::{TurnEnvironment, set_kernel};
use uuid::Uuid;

use crate::recorder::{Rig, action_salts, at, wait};

/// Pairs of homes, and questions in each: behind each question stands a pair of histories.
const PAIRS: u64 = 25;
const TURNS: usize = 20;

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

    fn of<'a, T: ?Sized>(&mut self, among: &[&'a T]) -> &'a T {
        among[self.below(among.len())]
    }

    /// A secret that the sanitizer knows by its name.
    fn secret(&mut self) -> String {
        format!("password=Xk{:012x}qZ", self.next() >> 16)
    }
}

/// What is asked, in the same words in both homes.
#[derive(Debug)]
struct Asking {
    text: String,
    /// A turn before that it replies to.
    parent: Option<usize>,
    refs: Vec<Ref>,
    none: bool,
}

#[derive(Clone, Debug)]
enum Ref {
    Last(u32),
    /// Question and answer of a turn.
    Turn(usize),
    /// The question alone, by its own id.
    Intent(usize),
    Decision(usize),
    Unknown,
}

/// What both homes have alike.
struct Drawn {
    kernel: Kernel,
    context: ContextConfig,
    asked: Vec<Asking>,
    /// What a person put on record beforehand.
    notes: Vec<String>,
}

fn draw(dice: &mut Dice) -> Drawn {
    let mut kernel = GENESIS_KERNEL.to_owned();
    let small = [
        "items = 3\ntokens = 60",
        "items = 24\ntokens = 4096",
        "items = 2\ntokens = 9000",
    ];
    let caps = kernel.find("[rings.refs]\n").unwrap() + "[rings.refs]\n".len();
    let end = caps + kernel[caps..].find("\n\n").unwrap();
    kernel.replace_range(caps..end, dice.of(&small));
    if dice.one_in(2) {
        kernel.push_str(&format!(
            "\n[policy.thread]\nintents = {}\n",
            6 + dice.below(20)
        ));
    }
    if dice.one_in(2) {
        kernel.push_str(&format!(
            "\n[policy.rate]\nintents = {}\nseconds = {}\n",
            3 + dice.below(4),
            30 + dice.below(90)
        ));
    }
    if dice.one_in(2) {
        kernel.push_str(&format!(
            "\n[policy.budget]\ntokens = {}\nseconds = 600\n",
            60 + dice.below(400)
        ));
    }
    if dice.one_in(2) {
        kernel.push_str(&format!(
            "\n[policy.refs]\nintents = {}\n",
            1 + dice.below(3)
        ));
    }
    // A secret's number must not depend on what was answered, nor what is referred to on its
    // length.
    for (name, pattern) in [
        ("topic", "forbidden"),
        ("number", "password-[3-9]\\\\]"),
        ("dump", "INFO number 7"),
    ] {
        if dice.one_in(2) {
            kernel.push_str(&format!(
                "\n[[policy.forbidden]]\nname = \"{name}\"\npattern = \"{pattern}\"\n"
            ));
        }
    }
    let context = GENESIS_CONTEXT
        .replacen("128", dice.of(&["3", "6", "12", "50"]), 1)
        .replacen("ALLOW", dice.of(&["ALLOW", "ALLOW", "DENY", "EXPAND"]), 1)
        .replacen(
            "\"expand_last_n\": 10",
            dice.of(&["\"expand_last_n\": 1", "\"expand_last_n\": 4"]),
            1,
        )
        .replacen(
            "prompt\": true",
            dice.of(&["prompt\": true", "prompt\": true", "prompt\": false"]),
            1,
        );
    // Few have room: what answers leave on record, open drift, must not take it from them.
    let ring1 = kernel.find("[rings.ring1]\nitems = 24").unwrap() + "[rings.ring1]\n".len();
    kernel.replace_range(
        ring1..ring1 + "items = 24".len(),
        dice.of(&["items = 24", "items = 2", "items = 3"]),
    );
    let notes = (0..dice.below(6)).map(|n| {
        let about = ["something", "forbidden gardens", "question", "garden work"][dice.below(4)];
        format!("note {n} about {about}, {}", dice.secret())
    });
    let notes = notes.collect();
    let asked = (0..TURNS).map(|n| asking(dice, n)).collect();
    Drawn {
        notes,
        kernel: Kernel::from_toml(&kernel).unwrap(),
        context: ContextConfig::parse(&context).unwrap(),
        asked,
    }
}

fn asking(dice: &mut Dice, n: usize) -> Asking {
    let text = match dice.below(9) {
        0 => "something forbidden".to_owned(),
        1 => format!("why does {} not work?", dice.secret()),
        2 => (0..9)
            .map(|n| format!("2026-01-02T03:04:0{n}Z INFO number {n}\n"))
            .collect(),
        3 => "a long story, ".repeat(20 + dice.below(80)),
        4 if dice.one_in(3) => " ".to_owned(),
        _ => format!("garden, question {}", dice.below(1000)),
    };
    let mut refs = Vec::new();
    for _ in 0..dice.below(4) {
        refs.push(if n == 0 || dice.one_in(20) {
            Ref::Unknown
        } else {
            match dice.below(8) {
                0..4 => Ref::Last(1 + u32::try_from(dice.below(7)).unwrap()),
                4 | 5 => Ref::Turn(dice.below(n)),
                6 => Ref::Intent(dice.below(n)),
                _ => Ref::Decision(dice.below(n)),
            }
        });
    }
    if dice.one_in(3) {
        refs = vec![Ref::Last(6)];
    }
    Asking {
        text,
        parent: (n > 0 && dice.one_in(5)).then(|| dice.below(n)),
        none: dice.one_in(9),
        refs,
    }
}

/// What a model says next; nothing: it fails.
fn reply(dice: &mut Dice) -> Option<String> {
    Some(match dice.below(8) {
        0 | 1 => return None,
        2 => "Yes.".to_owned(),
        3 => "A long answer about forbidden gardens. ".repeat(50 + dice.below(400)),
        4 => (0..40).map(|n| format!("2026-01-02T03:04:{:02}Z INFO started\n", n % 60)).collect(),
        5 if dice.one_in(2) => {
            "I have restarted the garden server and deleted every question about something forbidden.".to_owned()
        }
        5 => "QUJD".repeat(300),
        6 => (0..1 + dice.below(3)).map(|_| format!("Use {} for it. ", dice.secret())).collect(),
        _ => format!("Answer {} with [redacted:password-5] in it.", dice.below(100)),
    })
}

/// What policy said, and all that it can have seen.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Said {
    codes: Vec<String>,
    /// The question as policy sees it.
    text: String,
    /// INTENTs among what was resolved, by the number of their turns.
    intents: Vec<usize>,
    state: String,
}

/// Asks all of it in a new home.
fn told(drawn: &Drawn, dice: Dice) -> Vec<Said> {
    let rig = Rig::new();
    let (recorder, store) = (rig.recorder(at(1)), rig.store());
    let key = AuthKey::load(&rig.home().auth_key_path()).unwrap().hash();
    let dice = Mutex::new(dice);
    let find = move |_: Hash32, _: &str| {
        let text = reply(&mut dice.lock().unwrap());
        Ok(text.map(|text| StoredAnswer {
            exchange: Uuid::nil(),
            model: "m".into(),
            at: "then".into(),
            text,
        }))
    };
    let model = Model::replay(ReplayModel::new("an answer", Box::new(find)));
    let now = Mutex::new(10);
    let clock = || at(*now.lock().unwrap());
    let house = TurnEnvironment {
        context: &drawn.context,
        recorder: &recorder,
        store: &store,
        kernel: &drawn.kernel,
        model: model.id(),
        host_role: "workstation",
        idle: Duration::from_secs(180_000),
        network: Network::Bitcoin,
        sources: &[],
        policy: AgreementPolicy::default(),
        look_again: Duration::from_secs(180_000),
        clock: &clock,
        stopwatch: &|| 0,
        say: &|_| {},
        declared: &|_| {},
    };
    // Some draws change nothing: that kernel is in force already.
    if drawn.kernel.hash() != Kernel::genesis().hash() {
        wait(set_kernel(&house, &drawn.kernel, &Salt::new([7; 32]))).unwrap();
    }
    for (n, note) in drawn.notes.iter().enumerate() {
        let salt = Salt::new(*Hash32::digest(format!("note {n}").as_bytes()).as_bytes());
        let content = vec![
            ("confidence", ArtifactField::Null),
            ("observed_at", ArtifactField::Number(at(2).get())),
            (
                "phase",
                ArtifactField::Word(drawn.kernel.phase().to_owned()),
            ),
            ("session", ArtifactField::Null),
            ("source", ArtifactField::Text(redact("user").clean)),
            ("subject", ArtifactField::Null),
            ("text", ArtifactField::Text(redact(note).clean)),
            ("tier", ArtifactField::Number(1)),
        ];
        let new = NewArtifact {
            kind: "note",
            id: ArtifactId::Next { prefix: "note" },
            content,
            session: None,
            salt,
            now: at(3),
        };
        wait(recorder.artifact(new, always)).unwrap();
    }
    let (mut turns, mut said): (Vec<Uuid>, Vec<Said>) = (Vec::new(), Vec::new());
    for (n, asking) in drawn.asked.iter().enumerate() {
        *now.lock().unwrap() += 11;
        let none = || SightEntry::Unavailable {
            reason: NoSight::NotInstalled,
            unknowns: vec![],
        };
        let sight: BTreeMap<String, SightEntry> = drawn
            .kernel
            .tools()
            .iter()
            .map(|tool| (tool.clone(), none()))
            .collect();
        let salt = Salt::new(*Hash32::digest(format!("{n}").as_bytes()).as_bytes());
        let seen = Observations {
            sight,
            salt,
            action_salts: action_salts(&format!("{n}")),
        };
        let event = |turn: usize, kind: EventKind| {
            let events = store.events_of(turns[turn]).unwrap();
            Reference::Id(
                events
                    .iter()
                    .find(|event| event.kind == kind)
                    .unwrap()
                    .event
                    .to_string(),
            )
        };
        let refs = asking.refs.iter().map(|one| match one {
            Ref::Last(most) => Reference::Last(*most),
            Ref::Turn(turn) => Reference::Exchange(turns[*turn]),
            Ref::Intent(turn) => event(*turn, EventKind::Intent),
            Ref::Decision(turn) => event(*turn, EventKind::Decision),
            Ref::Unknown => Reference::Id("nothing of this name".to_owned()),
        });
        let declared = DeclaredContext {
            refs: refs.collect(),
            none: asking.none,
            deep: false,
        };
        let standing = ThreadPosition {
            thread: None,
            parent: match asking.parent {
                Some(turn) => ParentTurn::Turn(turns[turn]),
                None => ParentTurn::Newest,
            },
            ..ThreadPosition::default()
        };
        let question = Question {
            text: &asking.text,
            marked: &[],
            declared: &declared,
            standing,
            client: None,
            origin: QuestionOrigin::default(),
        };
        let asked = wait(ask(
            &house,
            key,
            &model,
            question,
            move || seen,
            &TurnControl::default(),
        ))
        .unwrap();
        let (codes, ids) = match &asked.turn {
            TurnEnd::Refused(refusal, None) => match &refusal.refusal {
                Refusal::Denied { codes, .. } => (codes.clone(), &refusal.ids),
                other => panic!("{other:?}"),
            },
            TurnEnd::Answered(answer) => (Vec::new(), &answer.ids),
            TurnEnd::Failed(failure, _) => (Vec::new(), &failure.ids),
            other => panic!("{other:?}"),
        };
        turns.push(ids.exchange);
        let row = store.exchange(ids.exchange).unwrap().unwrap();
        let seen = asked.referred.resolved().map(|resolved| {
            let governed = resolved
                .events()
                .filter(|(r, _)| r.admitted_for == AdmittedFor::Governance);
            let of = |id: &str| {
                turns
                    .iter()
                    .position(|turn| turn.to_string() == id)
                    .unwrap()
            };
            governed
                .map(|(_, event)| of(&event.place().turn_id))
                .collect()
        });
        said.push(Said {
            codes,
            text: unnumbered(&store.turn(row.turn_user).unwrap().unwrap().content.unwrap())
                .into_owned(),
            intents: seen.unwrap_or_default(),
            state: row.authority_state.name().to_owned(),
        });
    }
    // All of it is sound, and computed again it comes to the same.
    let session = store.open_sessions().unwrap().pop().unwrap();
    assert!(store.thread(thread_id(session.id, 0)).unwrap().is_some());
    drop(recorder);
    store.begin_read().unwrap();
    let replay = Replayed::open(&store, &rig.root().join("audit.log")).unwrap();
    assert_eq!(replay.faults().unwrap(), []);
    let mut failed = Vec::new();
    replay
        .all(&mut |one| {
            let wrong = one
                .outcomes
                .into_iter()
                .filter(|(_, outcome)| matches!(outcome, AssertionOutcome::Fails(_)));
            failed.extend(wrong.map(|wrong| (one.seq, wrong)));
        })
        .unwrap();
    assert!(failed.is_empty(), "{failed:#?}");
    store.end_read().unwrap();
    said
}

#[test]
fn policy_says_the_same_of_500_pairs_of_histories_that_differ_in_answers() {
    let mut bytes = [0; 8];
    gently::keys::os_random(&mut bytes).unwrap();
    let given = std::env::var("GENTLY_TWINS_SEED")
        .ok()
        .map(|text| text.parse().unwrap());
    let seed = given.unwrap_or(u64::from_be_bytes(bytes) >> 1);
    let (mut denied, mut allowed, mut codes) = (0, 0, std::collections::BTreeSet::new());
    let mut compared = 0;
    for pair in (0..PAIRS).map(|n| seed.wrapping_add(n)) {
        let drawn = draw(&mut Dice(pair));
        let twins = std::thread::scope(|scope| {
            let other = scope.spawn(|| told(&drawn, Dice(pair ^ 0xaaaa_0000_0000_0000)));
            [
                told(&drawn, Dice(pair ^ 0x5555_0000_0000_0000)),
                other.join().unwrap(),
            ]
        });
        let [one, twin] = twins;
        for (n, (one, twin)) in one.into_iter().zip(twin).enumerate() {
            let told = format!(
                "GENTLY_TWINS_SEED={pair}, question {n}: {:?}\n{:?}\n{}",
                drawn.asked[n],
                drawn.context.rules(),
                drawn.kernel.canonical_json()
            );
            assert_eq!(one, twin, "{told}");
            compared += 1;
            if one.codes.is_empty() {
                allowed += 1
            } else {
                denied += 1
            }
            codes.extend(one.codes);
        }
    }
    assert_eq!(compared, 500);
    // The draw is worth something: most policies denied something, and enough was allowed.
    assert!(
        denied > 50 && allowed > 50 && codes.len() >= 6,
        "seed {seed}: {denied} denied, {allowed} allowed, {codes:?}"
    );
}
