//! Ledgers of N exchanges through the real recorder, and what it costs to write and to check them.
//!
//! `scripts/bench.sh ledgers N` runs it; under `cargo test` it does nothing. The steps, in one run on one
//! home: asks one at a time in a young ledger, N exchanges by many askers at once, asks one at a time in
//! the old ledger, bytes, then `git fsck --full`, `git verify-commit` and `gently audit verify` side by side.

#![allow(clippy::unwrap_used, reason = "a benchmark may panic like a test")]

mod asker;
mod measure;

use std::path::{Path, PathBuf};
use std::time::Instant;

use asker::House;

/// Askers at once; what waits together is committed together.
const ASKERS: u64 = 128;
/// Asks one at a time, of which the median counts.
const SINGLES: usize = 60;
/// How old the ledger is when the first of them are asked.
const YOUNG: u64 = 100;
/// Commits that `git verify-commit` is timed on.
const SAMPLE: usize = 200;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [flag, count, folder, ..] = words.as_slice() else {
        return println!("ledgers: a benchmark; scripts/bench.sh ledgers runs it");
    };
    let only_check = match flag.as_str() {
        "--ledgers" => false,
        "--check" => true,
        _ => return println!("ledgers: a benchmark; scripts/bench.sh ledgers runs it"),
    };
    let (count, home) = (count.parse().unwrap(), PathBuf::from(folder));
    if !only_check {
        write(&home, count);
    }
    check(&home, count);
}

fn write(home: &Path, count: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let house = House::make(home);
        house.many(YOUNG, 1).await;
        let young = house.singly(SINGLES).await;
        let begun = Instant::now();
        let (mut done, mut most_packs) = (house.asked(), 0);
        while done < count {
            let portion = (count - done).min(10_000);
            let started = Instant::now();
            house.many(portion, ASKERS).await;
            done += portion;
            let packs = measure::packs(home);
            most_packs = most_packs.max(packs);
            let rate = portion as f64 / started.elapsed().as_secs_f64();
            eprintln!("{done} exchanges, {rate:.0} a second, {packs} packs");
        }
        let rate = (count - YOUNG) as f64 / begun.elapsed().as_secs_f64();
        let old = house.singly(SINGLES).await;
        house.close().await;
        println!("written: {count} exchanges, {rate:.0} a second by {ASKERS} askers; most packs seen {most_packs}");
        println!(
            "one ask at a time: {:.2} ms after {YOUNG}, {:.2} ms after {count} (medians of {SINGLES}); ratio {:.2}",
            young,
            old,
            old / young
        );
    });
}

fn check(home: &Path, count: u64) {
    let (repository, log) = (home.join("ledger.git"), home.join("audit.log"));
    measure::bytes(home, count);
    let fsck = measure::fsck(&repository);
    println!("git fsck --full: {:.2} s, {:.0} exchanges a second", fsck, count as f64 / fsck);
    let git = measure::verify_commit(&repository, SAMPLE);
    println!("git verify-commit: {git:.1} commits a second ({SAMPLE} of them in one call)");
    for threads in [1, 2] {
        let check = measure::verify(&["--repo".as_ref(), repository.as_ref(), "--log".as_ref(), log.as_ref()], threads);
        let rate = check.commits as f64 / check.seconds;
        println!(
            "gently audit verify --repo --log on {threads} cores: {:.2} s, {rate:.0} commits a second; \
             {:.2} of git fsck; {:.0} times git verify-commit; anonymous memory {:.0} MB",
            check.seconds,
            check.seconds / fsck,
            rate / git,
            check.anonymous_mb
        );
    }
    let whole = measure::verify_home(home);
    println!(
        "gently audit verify of the home, with its database: {:.2} s; {:.0} MB",
        whole.seconds, whole.anonymous_mb
    );
}
