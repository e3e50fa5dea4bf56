//! Generic traces of a long record: built, signed, written and put on record by the program; then
//! checked by it, with the home and without.

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::replay;
use crate::search::Measured;

/// What ten thousand are to take, in milliseconds.
const MOST: u32 = 2000;
/// The exchanges that the target is of.
const TARGET: u64 = 10_000;

/// Makes a home with so many exchanges, unless one is there, and exports and verifies all of them,
/// in each form that a file may have.
pub fn measure(gently: &str, home: &Path, exchanges: u64, runs: usize) -> Vec<Measured> {
    if !home.join("gently.db").exists() {
        replay::make(home, exchanges);
    }
    let file = home.with_extension("jsonl");
    let place = file.to_str().unwrap();
    let nowhere = home.with_extension("none");
    let most = if exchanges == TARGET { MOST } else { 0 };
    let key = run(gently, home, &["trace", "key", "--json"]);
    let key: serde_json::Value = serde_json::from_slice(&key.stdout).unwrap();
    let key = key["public_key_base64"].as_str().unwrap();
    let mut measured = Vec::new();
    for (form, exported, alone, at_home) in [
        (
            "trace",
            "export of traces",
            "verify, without a home",
            "verify, with the home",
        ),
        (
            "batch",
            "export of batches",
            "verify of batches, without a home",
            "verify of batches, with the home",
        ),
        (
            "envelope",
            "export of envelopes",
            "verify of envelopes, without a home",
            "verify of envelopes, with the home",
        ),
    ] {
        let export = [
            "trace", "export", "--all", "--level", "generic", "--as", form, "--force", "--out",
            place,
        ];
        let verify = ["trace", "verify", place, "--key", key];
        for (what, most, root, args) in [
            (exported, most, home, &export[..]),
            (alone, most, &nowhere, &verify),
            (at_home, 0, home, &verify),
        ] {
            measured.push((what, most, times(gently, root, args, runs)));
        }
    }
    println!(
        "{} bytes an envelope",
        std::fs::metadata(&file).unwrap().len() / exchanges
    );
    std::fs::remove_file(&file).unwrap();
    measured
}

fn times(gently: &str, home: &Path, args: &[&str], runs: usize) -> Vec<Duration> {
    let one = |_| {
        let begun = Instant::now();
        run(gently, home, args);
        begun.elapsed()
    };
    (0..runs).map(one).collect()
}

fn run(gently: &str, home: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(gently);
    command
        .args(args)
        .env("GENTLY_HOME", home)
        .env("GENTLY_ANCHOR_MODE", "off");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    output
}
