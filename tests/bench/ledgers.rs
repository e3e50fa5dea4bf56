//! Ledgers of N exchanges through the real recorder, and what it costs to write and to check them.
//!
//! `scripts/bench.sh` runs it; under `cargo test` it does nothing.
//!
//! ```text
//! ledgers --make N HOME       N exchanges by many askers at once; a home that is there is gone on with
//! ledgers --measure HOME      asks one at a time, in a young ledger and in this one by turns; bytes; then
//!                             git fsck --full, git verify-commit and gently audit verify side by side
//! ledgers --ages HOME         only the asks of --measure
//! ledgers --ledgers N HOME    both
//! ledgers --group N HOME      N exchanges whose prompts are compiled and whose replies are judged beforehand: what
//!                             the recorder takes by itself
//! ```

#![allow(clippy::unwrap_used, reason = "a benchmark may panic like a test")]

mod asker;
mod measure;

use std::path::Path;
use std::time::{Duration, Instant};

use asker::House;

/// Askers at once; what waits together is committed together.
const ASKERS: u64 = 128;
/// Records at once when the recorder is measured by itself.
const WAVE: u64 = 1024;
/// After so many it says how far it is.
const PORTION: u64 = 10_000;
/// How long an ask that was answered is given for what nobody waits for.
const AFTERWARDS: Duration = Duration::from_millis(30);
/// Asks one at a time, of which the median counts.
const SINGLES: usize = 60;
/// How old the young ledger is.
const YOUNG: u64 = 100;
/// Commits that `git verify-commit` is timed on.
const SAMPLE: usize = 200;

fn main() {
    // With GENTLY_STORE_ENCRYPTED=true and a key in the environment, homes are made encrypted.
    gently::store::set_key_finder(gently::app::home::store_key::find_key);
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["--make", count, folder] => make(Path::new(folder), count.parse().unwrap()),
        ["--group", count, folder] => group(Path::new(folder), count.parse().unwrap()),
        ["--measure", folder] => measure_all(Path::new(folder)),
        ["--ages", folder] => ages(Path::new(folder), asker::exchanges(Path::new(folder))),
        ["--ledgers", count, folder] => {
            make(Path::new(folder), count.parse().unwrap());
            measure_all(Path::new(folder));
        }
        _ => println!("ledgers: a benchmark; scripts/bench.sh ledgers runs it"),
    }
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(work)
}

/// Makes a ledger of so many exchanges, or goes on with one that is there.
fn make(home: &Path, count: u64) {
    let house = House::make_or_open(home);
    wait(async {
        let (begun, cpu, before) = (Instant::now(), measure::cpu_seconds(), house.asked());
        let mut most_packs = 0;
        while house.asked() < count {
            let portion = (count - house.asked()).min(PORTION);
            let (started, used) = (Instant::now(), measure::cpu_seconds());
            house.many(portion, ASKERS).await;
            let packs = measure::packs(home);
            most_packs = most_packs.max(packs);
            let rate = portion as f64 / started.elapsed().as_secs_f64();
            let cpu = (measure::cpu_seconds() - used) * 1000.0 / portion as f64;
            eprintln!(
                "{} exchanges, {rate:.0} a second, {cpu:.2} ms of processor time each, {packs} packs",
                house.asked()
            );
        }
        house.close().await;
        let written = house.asked() - before;
        if written > 0 {
            let rate = written as f64 / begun.elapsed().as_secs_f64();
            let cpu = (measure::cpu_seconds() - cpu) * 1000.0 / written as f64;
            println!(
                "written: {written} exchanges, {rate:.0} a second by {ASKERS} askers, {cpu:.2} ms of processor time each; \
                 most packs seen {most_packs}"
            );
        }
    });
}

/// What the recorder takes by itself, with many records at once.
fn group(home: &Path, count: u64) {
    let house = House::make_or_open(home);
    wait(async {
        let took = house.waves(count, WAVE).await;
        house.close().await;
        let rate = count as f64 / took.as_secs_f64();
        println!(
            "group commit: {count} exchanges recorded, {rate:.0} a second, {WAVE} records at once"
        );
    });
}

fn measure_all(home: &Path) {
    let count = asker::exchanges(home);
    println!("{count} exchanges");
    ages(home, count);
    check(home, count);
}

/// Asks one at a time, in this ledger and in a young one by turns: what is slow for a moment meets
/// both.
fn ages(home: &Path, count: u64) {
    let folder = tempfile::tempdir_in(home.parent().unwrap()).unwrap();
    let (old, young) = (
        House::make_or_open(home),
        House::make_or_open(&folder.path().join("young")),
    );
    wait(async {
        young.many(YOUNG, 1).await;
        young.renew().await;
        old.renew().await;
        let mut took = [Vec::new(), Vec::new()];
        for _ in 0..SINGLES {
            for (house, took) in [&young, &old].into_iter().zip(&mut took) {
                let (begun, cpu) = (Instant::now(), measure::cpu_seconds());
                house.ask_one().await;
                let waited = begun.elapsed().as_secs_f64();
                // What follows the answer belongs to the ask, too.
                tokio::time::sleep(AFTERWARDS).await;
                took.push((waited * 1000.0, (measure::cpu_seconds() - cpu) * 1000.0));
            }
        }
        young.close().await;
        old.close().await;
        let [young, old] = took;
        for (what, of) in [("", 0), (" of processor time", 1)] {
            let median = |took: &[(f64, f64)]| {
                let mut values: Vec<f64> = took
                    .iter()
                    .map(|pair| if of == 0 { pair.0 } else { pair.1 })
                    .collect();
                values.sort_by(f64::total_cmp);
                values[values.len() / 2]
            };
            let (young, old) = (median(&young), median(&old));
            println!(
                "one ask at a time: {young:.2} ms{what} after {YOUNG} exchanges, {old:.2} ms after {count} (medians of \
                 {SINGLES}, by turns); ratio {:.2}",
                old / young
            );
        }
    });
}

fn check(home: &Path, count: u64) {
    let (repository, log) = (home.join("ledger.git"), home.join("audit.log"));
    measure::bytes(home, count);
    let fsck = measure::fsck(&repository);
    println!(
        "git fsck --full: {:.2} s, {:.0} exchanges a second",
        fsck,
        count as f64 / fsck
    );
    let git = measure::verify_commit(&repository, SAMPLE);
    println!("git verify-commit: {git:.1} commits a second ({SAMPLE} of them in one call)");
    for threads in [1, 2] {
        let check = measure::verify(
            &[
                "--repo".as_ref(),
                repository.as_ref(),
                "--log".as_ref(),
                log.as_ref(),
            ],
            threads,
        );
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
