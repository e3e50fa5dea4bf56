//! Compiling a context from a long record: the queries and the selection of one question.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures_util::future::join_all;
use gently::ask::recall::{DeclaredContext, Reference, recall};
use gently::ask::refer::{ReferRules, refer};
use gently::continuity::compile::{Inputs, compile};
use gently::continuity::declared::TurnPlace;
use gently::govern::kernel::{GENESIS_KERNEL, Kernel};
use gently::govern::sanitize::redact;
use gently::home::Home;
use gently::keys::os_random;
use gently::record::context::config::{ContextConfig, GENESIS_CONTEXT};
use gently::record::ledger::commitment::Salt;
use gently::record::ledger::item::{FACT_RATIFIED, ItemKind};
use gently::record::time::Seconds;
use gently::recorder::{
    ArtifactField, ArtifactId, NewArtifact, Recorder, always, thread_id, unwatched,
};
use gently::store::Store;

use crate::processor;

/// How many artifacts wait at the same moment.
const AT_ONCE: u64 = 500;
/// Different words of all texts; the first of them stand in most.
const VOCABULARY: u64 = 20_000;
/// Words of one text.
const WORDS: u64 = 12;

/// The same numbers in every run (Knuth's multiplier).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    /// A word of the vocabulary; small numbers are common, as in a language.
    fn word(&mut self) -> String {
        let (a, b) = (self.next(VOCABULARY) + 1, self.next(VOCABULARY) + 1);
        spelled(a * b / VOCABULARY / 4)
    }

    fn text(&mut self) -> String {
        (0..WORDS)
            .map(|_| self.word())
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// A pronounceable word for a number.
fn spelled(mut n: u64) -> String {
    let mut word = String::from("da");
    while n > 0 {
        word.push(char::from(
            b"bdfgklmnprstvz"[usize::try_from(n % 14).unwrap()],
        ));
        word.push(char::from(b"aeiou"[usize::try_from(n / 14 % 5).unwrap()]));
        n /= 70;
    }
    word
}

pub fn salt() -> Salt {
    let mut bytes = [0; 32];
    os_random(&mut bytes).unwrap();
    Salt::new(bytes)
}

/// Puts so many items on record: half notes, four tenths ratified facts, the rest decisions.
pub fn fill(root: &Path, items: u64) {
    let (mut numbers, mut facts) = (Numbers(42), 0);
    record(root, items, &mut |n, now| {
        let kind = match n % 10 {
            0..4 => ItemKind::Fact,
            4..9 => ItemKind::Note,
            _ => ItemKind::Decision,
        };
        let mut all = vec![item(kind, &mut numbers, now)];
        if kind == ItemKind::Fact {
            facts += 1;
            all.push(NewArtifact {
                kind: FACT_RATIFIED,
                id: ArtifactId::Of(format!("ledger:{facts:06}")),
                content: Vec::new(),
                session: None,
                salt: salt(),
                now,
            });
        }
        all
    });
}

/// Puts so many corrections on record, which people made.
pub fn correct(root: &Path, count: u64) {
    let mut numbers = Numbers(42);
    record(root, count, &mut |_, now| {
        vec![item(ItemKind::Correction, &mut numbers, now)]
    });
}

/// Puts on record what each of so many numbers gives; what is of kinds that end others, after them.
pub fn record(root: &Path, count: u64, of: &mut dyn FnMut(u64, Seconds) -> Vec<NewArtifact>) {
    let begun = Instant::now();
    let clock = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let now = Seconds::new(clock).unwrap();
    let home = Home::open(root).unwrap().unwrap();
    let recorder =
        Recorder::open(home.paths(), home.signing_key().unwrap(), now, unwatched()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let mut done = 0;
    while done < count {
        let next = (done + AT_ONCE).min(count);
        let mut all: Vec<NewArtifact> = (done..next).flat_map(|n| of(n, now)).collect();
        all.sort_by_key(|new| new.kind == FACT_RATIFIED);
        let recorded = runtime.block_on(join_all(
            all.into_iter().map(|new| recorder.artifact(new, always)),
        ));
        assert!(recorded.iter().all(Result::is_ok), "{recorded:?}");
        done = next;
    }
    drop(recorder);
    println!(
        "{count} items on record in {:.1} s",
        begun.elapsed().as_secs_f64()
    );
}

fn item(kind: ItemKind, numbers: &mut Numbers, now: Seconds) -> NewArtifact {
    let age = numbers.next(60 * 86_400);
    let subject = match kind {
        ItemKind::Note => ArtifactField::Null,
        _ => ArtifactField::Text(
            redact(&format!("{} {}", numbers.word(), numbers.next(20_000))).clean,
        ),
    };
    let confidence = if kind == ItemKind::Fact {
        ArtifactField::Word("high".to_owned())
    } else {
        ArtifactField::Null
    };
    if kind == ItemKind::Correction {
        let content = vec![
            ("about", ArtifactField::Null),
            ("confidence", ArtifactField::Number(900)),
            ("decay", ArtifactField::Word("C".to_owned())),
            ("domain", ArtifactField::Word("general".to_owned())),
            ("observed_at", ArtifactField::Number(now.get() - age)),
            ("phase", ArtifactField::Word("beta".to_owned())),
            (
                "rejected",
                ArtifactField::Text(redact(&numbers.text()).clean),
            ),
            ("session", ArtifactField::Null),
            ("source", ArtifactField::Word("manual".to_owned())),
            ("subject", subject),
            ("text", ArtifactField::Text(redact(&numbers.text()).clean)),
            ("tier", ArtifactField::Number(1)),
        ];
        return artifact(kind, content, now);
    }
    let content = vec![
        ("confidence", confidence),
        ("observed_at", ArtifactField::Number(now.get() - age)),
        ("phase", ArtifactField::Word("beta".to_owned())),
        ("session", ArtifactField::Null),
        ("source", ArtifactField::Word("user".to_owned())),
        ("subject", subject),
        ("text", ArtifactField::Text(redact(&numbers.text()).clean)),
        ("tier", ArtifactField::Number(1)),
    ];
    artifact(kind, content, now)
}

fn artifact(
    kind: ItemKind,
    content: Vec<(&'static str, ArtifactField)>,
    now: Seconds,
) -> NewArtifact {
    NewArtifact {
        kind: kind.name(),
        id: ArtifactId::Next {
            prefix: kind.prefix(),
        },
        content,
        session: None,
        salt: salt(),
        now,
    }
}

/// Compiles the contexts of so many questions, with the last turns of a session; plain and deep.
///
/// Of each kind its name, the times of the wall clock, and those of the processor.
pub fn measure(root: &Path, runs: usize) -> Vec<(&'static str, Vec<Duration>, Vec<Duration>)> {
    let home = Home::open(root).unwrap().unwrap();
    let store = Store::open_read_only(&home.paths().database()).unwrap();
    // Sight is looked at before, and is no part of a compile.
    let kernel = GENESIS_KERNEL.lines().map(|line| {
        if line.starts_with("tier2 = ") {
            "tier2 = []"
        } else {
            line
        }
    });
    let kernel = Kernel::from_toml(&kernel.collect::<Vec<_>>().join("\n")).unwrap();
    let session = store.newest_session().unwrap().unwrap();
    let clock = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let config = ContextConfig::parse(GENESIS_CONTEXT).unwrap();
    let mut measured = Vec::new();
    for (name, deep, words) in [
        ("6 words", false, 6),
        ("24 words", false, 24),
        ("6 words, deep", true, 6),
    ] {
        let declared = DeclaredContext {
            refs: vec![Reference::Last(6)],
            ..DeclaredContext::default()
        };
        let mut numbers = Numbers(7);
        let (mut times, mut used) = (Vec::new(), Vec::new());
        for _ in 0..runs {
            let asked: Vec<String> = (0..words).map(|_| numbers.word()).collect();
            let text = redact(&format!("{} of this machine?", asked.join(" "))).clean;
            let (begun, before) = (Instant::now(), processor::thread());
            let rules = ReferRules {
                kernel: &kernel,
                config: &config,
                room: None,
            };
            let thread = thread_id(session.id, 0);
            let parent = store.newest_message(thread).unwrap();
            let place = TurnPlace::of_message(thread, parent);
            let referred = refer(&store, rules, place, &declared).unwrap();
            let now = Seconds::new(clock).unwrap();
            let recalled = recall(&store, &kernel, &text, &referred, deep, now).unwrap();
            let bundle = compile(&Inputs {
                session_id: session.uuid,
                user_input: &text,
                kernel: &kernel,
                host_role: "bench",
                model_id: "observer",
                now,
                sight: Default::default(),
                recalled: &recalled,
            })
            .unwrap();
            times.push(begun.elapsed());
            used.push(processor::thread() - before);
            let rings = kernel.rules().rings;
            assert!(bundle.bundle().facts.len() as u64 <= rings.ring1.items + rings.ring2.items);
        }
        measured.push((name, times, used));
    }
    measured
}
