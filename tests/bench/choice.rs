//! Choosing among specialists by many ratings.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use gently::app::set_up::specialist::choice::ranked;
use gently::home::Home;
use gently::record::hash::Hash32;
use gently::record::ledger::specialist::RATING;
use gently::recorder::{ArtifactField, ArtifactId, NewArtifact};
use gently::store::Store;

use crate::context::{record, salt};
use crate::processor;

/// So many are chosen among.
const SPECIALISTS: u64 = 20;
/// What they are asked about.
const DOMAINS: [&str; 4] = ["law", "code", "food", "travel"];

fn gently(program: &str, home: &Path, args: &[&str]) {
    let done = Command::new(program)
        .args(args)
        .env("GENTLY_HOME", home)
        .env("GENTLY_ANCHOR_MODE", "off")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{args:?}: {said}");
}

/// Makes the specialists, and so many ratings of their answers.
pub fn rate(program: &str, root: &Path, ratings: u64) {
    for domain in DOMAINS {
        let words = format!("{domain}, {domain} questions");
        gently(program, root, &["domain", "add", domain, "--words", &words]);
    }
    for n in 1..=SPECIALISTS {
        let (name, model) = (format!("s{n}"), format!("openai/m{n}"));
        let add = ["specialist", "add", &name, "-m", &model];
        gently(program, root, &add);
    }
    record(root, ratings, &mut |n, now| {
        let word = |text: &str| ArtifactField::Word(text.to_owned());
        let specialist = n % SPECIALISTS + 1;
        let verdict = ["good", "good", "bad"][usize::try_from(n * 7 % 3).unwrap()];
        let domain = DOMAINS[usize::try_from(n / SPECIALISTS % 4).unwrap()];
        let content = vec![
            ("by", ArtifactField::Hash(Hash32::ZERO)),
            ("domain", word(domain)),
            (
                "exchange",
                word(&format!("00000000-0000-8000-8000-{n:012x}")),
            ),
            ("model", word(&format!("openai/m{specialist}"))),
            ("specialist", word(&format!("specialist:{specialist:06}"))),
            ("verdict", word(verdict)),
            ("why", ArtifactField::Null),
        ];
        vec![NewArtifact {
            kind: RATING,
            id: ArtifactId::Next { prefix: RATING },
            content,
            session: None,
            salt: salt(),
            now,
        }]
    });
}

/// Whom a question goes to, so many times: the times of the wall clock, and those of the processor.
pub fn measure(root: &Path, runs: usize) -> (Vec<Duration>, Vec<Duration>) {
    let home = Home::open(root).unwrap().unwrap();
    let store = Store::open_read_only(&home.paths().database()).unwrap();
    let choose = |_| {
        let (begun, before) = (Instant::now(), processor::thread());
        let all = ranked(&store, None, ("What of law, and code?", None)).unwrap();
        let took = (begun.elapsed(), processor::thread() - before);
        assert_eq!(all.len(), 20);
        assert!(all.iter().all(|one| !one.is_prior()));
        took
    };
    (0..runs).map(choose).unzip()
}
