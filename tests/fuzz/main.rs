//! Feeds mutated inputs to what reads bytes of strangers, for as long as it is told.
//!
//! ```text
//! GENTLY_FUZZ_SECONDS=600 cargo test --test fuzz -- ots        one target
//! GENTLY_FUZZ_SECONDS=60 cargo test --test fuzz                all of them, each so long (10 s unless told)
//! GENTLY_FUZZ_SEED=7 …                                         other inputs; the same seed gives the same ones
//! ```
//!
//! It is a mutational fuzzer without coverage: it knows which lines ran no better than by what the
//! target answered, and keeps an input as a seed when the answer is a new one. cargo-fuzz finds
//! more, and needs a nightly compiler; this one runs wherever the tests run. A failure prints the
//! input in hexadecimal and ends with exit code 1. `tests/gently/fuzzed.rs` runs each target for
//! some hundred inputs in every run of the tests.

#![allow(
    clippy::unwrap_used,
    reason = "a fuzzer that can't run has nothing to say but where"
)]

mod mutate;
mod targets;

use std::time::{Duration, Instant};

use targets::TARGETS;

fn main() {
    let number = |name: &str, default: u64| {
        std::env::var(name).map_or(default, |text| text.parse().unwrap())
    };
    let seconds = number("GENTLY_FUZZ_SECONDS", 10);
    let seed = number("GENTLY_FUZZ_SEED", 1);
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let chosen: Vec<_> = TARGETS
        .iter()
        .filter(|target| wanted.is_empty() || wanted.iter().any(|name| name == target.name))
        .collect();
    if chosen.is_empty() {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("fuzz: no such target; there are {}", names.join(", "));
        std::process::exit(2);
    }
    for target in chosen {
        let end = Instant::now() + Duration::from_secs(seconds);
        let done = mutate::run(target, seed, &|_| Instant::now() < end);
        println!(
            "{:10} {:>9} inputs, {:>4} kept, {seconds} s: {}",
            target.name,
            done.inputs,
            done.kept,
            done.verdict()
        );
        if done.failed.is_some() {
            std::process::exit(1);
        }
    }
}
