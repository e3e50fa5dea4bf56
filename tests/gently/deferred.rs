//! Git and log may wait for their sync: how long, what ends the wait, and what a power loss in
//! between leaves.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps an error fails, as it should"
)]

use std::fs;
use std::path::PathBuf;

use gently::recorder::{DEFERRED_LINES, DEFERRED_SECONDS, SyncPolicy, unwatched};
use gently::store::{AppliedMark, LedgerHead, SessionRow};

use crate::faults::{assert_healed, read_acknowledged};
use crate::recorder::{Rig, anchor, at, fill, overwrite, turn, wait};

/// How many of the head's lines wait for their sync.
fn waiting(rig: &Rig) -> u64 {
    let head = rig.store().head().unwrap();
    head.lines - head.applied.lines
}

fn written(head: &LedgerHead) -> AppliedMark {
    AppliedMark {
        lines: head.lines,
        bytes: head.bytes,
        commits: head.commits,
    }
}

/// A home in which three turns of an open session wait, each from a recorder of its own.
fn three_turns() -> (Rig, SessionRow, String) {
    let rig = Rig::new();
    let mut session = None;
    let mut said = String::new();
    for n in 1..=3 {
        let recorder = rig
            .syncing(SyncPolicy::Deferred, at(n), unwatched())
            .unwrap();
        wait(async {
            let (row, _) = recorder
                .resume_or_open(rig.terms(), anchor(829_604), at(n))
                .await
                .unwrap();
            let text = format!("question {n}");
            let answered = turn(&recorder, &row, &text, at(n)).await.unwrap();
            said.push_str(&format!(
                "line {}\ncommit {}\n",
                answered.response_line, answered.commit
            ));
            session = Some(row);
        });
    }
    (rig, session.unwrap(), said)
}

/// As another start of the system finds it.
fn start_again(rig: &Rig) {
    let database = rusqlite::Connection::open(rig.root().join("gently.db")).unwrap();
    let changed = database.execute("UPDATE head SET boot = '0b4e2f5c-another-start'", []);
    assert_eq!(changed, Ok(1));
}

#[test]
fn turns_are_written_before_they_are_answered_and_synced_when_a_session_ends() {
    let (rig, session, said) = three_turns();
    let lines = waiting(&rig);
    assert!(lines >= 7, "a session and three turns: {lines}");
    let head = rig.store().head().unwrap();
    assert_eq!(rig.log().len() as u64, head.bytes, "all is in the log");
    rig.assert_signed("all is under the tree head");
    let acknowledged = read_acknowledged(&said);
    assert_eq!(rig.report().findings.len(), 0);
    let recorder = rig
        .syncing(SyncPolicy::Deferred, at(9), unwatched())
        .unwrap();
    assert_eq!(waiting(&rig), lines, "an opening by itself syncs nothing");
    wait(recorder.close_session(session.id, anchor(829_605), at(9))).unwrap();
    drop(recorder);
    let head = rig.store().head().unwrap();
    assert_eq!(head.applied, written(&head));
    assert_eq!(rig.count("recover"), 0);
    assert_healed(&rig, &acknowledged, "closed");
}

#[test]
fn whoever_does_not_wait_syncs_at_the_start() {
    let (rig, _, said) = three_turns();
    drop(rig.recorder(at(9)));
    assert_eq!((waiting(&rig), rig.count("recover")), (0, 0));
    assert_healed(&rig, &read_acknowledged(&said), "the next command");
}

#[test]
fn a_minute_or_enough_lines_end_the_wait() {
    let (rig, _, said) = three_turns();
    let (first, lines) = (1, waiting(&rig));
    let (last, late) = (first + DEFERRED_SECONDS - 1, first + DEFERRED_SECONDS);
    drop(rig.syncing(SyncPolicy::Deferred, at(last), unwatched()));
    assert_eq!(waiting(&rig), lines);
    drop(rig.syncing(SyncPolicy::Deferred, at(late), unwatched()));
    assert_eq!((waiting(&rig), rig.count("recover")), (0, 0));
    let recorder = rig
        .syncing(SyncPolicy::Deferred, at(late), unwatched())
        .unwrap();
    for n in 1..DEFERRED_LINES {
        wait(recorder.auth_fail(format!("r{n}"), at(late))).unwrap();
        assert_eq!(waiting(&rig), n);
    }
    wait(recorder.auth_fail("the_last".to_owned(), at(late))).unwrap();
    drop(recorder);
    assert_eq!(waiting(&rig), 0);
    assert_healed(&rig, &read_acknowledged(&said), "a minute");
}

#[test]
fn company_waits_for_nothing() {
    let (rig, _, said) = three_turns();
    let recorder = rig
        .syncing(SyncPolicy::Deferred, at(9), unwatched())
        .unwrap();
    wait(fill(&recorder, 20, at(9)));
    drop(recorder);
    let head = rig.store().head().unwrap();
    assert!(head.applied == written(&head) || waiting(&rig) < 20);
    assert_healed(&rig, &read_acknowledged(&said), "company");
}

/// The packs of the turns that wait, with their indexes: all but those of a new home.
fn unsynced_objects(rig: &Rig) -> Vec<PathBuf> {
    let fresh = Rig::new();
    let names = |rig: &Rig| -> Vec<PathBuf> {
        fs::read_dir(rig.root().join("ledger.git/objects/pack"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect()
    };
    let count = names(&fresh).len();
    let mut found = names(rig);
    found.sort_by_key(|path| fs::metadata(path).unwrap().modified().unwrap());
    found.split_off(count)
}

#[test]
fn what_a_power_loss_takes_from_turns_that_wait_is_written_again() {
    type Loss = fn(&Rig);
    let losses: [(&str, Loss, usize); 8] = [
        ("nothing", |_| {}, 0),
        (
            "all packs empty",
            |rig| {
                unsynced_objects(rig)
                    .iter()
                    .for_each(|path| overwrite(path, b""))
            },
            1,
        ),
        (
            "one pack of zeros",
            |rig| {
                let path = &unsynced_objects(rig)[0];
                overwrite(path, &vec![0; fs::read(path).unwrap().len()]);
            },
            1,
        ),
        (
            "all packs gone",
            |rig| {
                unsynced_objects(rig)
                    .iter()
                    .for_each(|path| fs::remove_file(path).unwrap());
            },
            1,
        ),
        (
            "refs empty",
            |rig| {
                for entry in fs::read_dir(rig.root().join("ledger.git/refs/heads")).unwrap() {
                    fs::write(entry.unwrap().path(), "").unwrap();
                }
            },
            1,
        ),
        (
            "log back to the mark",
            |rig| {
                let marked = rig.store().head().unwrap().applied.bytes;
                let log = fs::OpenOptions::new()
                    .write(true)
                    .open(rig.root().join("audit.log"));
                log.unwrap().set_len(marked).unwrap();
            },
            1,
        ),
        (
            "log of zeros",
            |rig| {
                let marked = usize::try_from(rig.store().head().unwrap().applied.bytes).unwrap();
                let mut log = rig.log();
                log[marked..].fill(0);
                fs::write(rig.root().join("audit.log"), log).unwrap();
            },
            1,
        ),
        (
            "tree head empty",
            |rig| fs::write(rig.root().join("audit.checkpoint"), "").unwrap(),
            0,
        ),
    ];
    for (what, lose, recovers) in losses {
        for policy in [SyncPolicy::EachBatch, SyncPolicy::Deferred] {
            let what = format!("{what}, {policy:?}");
            let (rig, _, said) = three_turns();
            lose(&rig);
            start_again(&rig);
            drop(rig.syncing(policy, at(9), unwatched()).unwrap());
            assert_eq!(rig.count("recover"), recovers, "{what}");
            assert_eq!(waiting(&rig), 0, "{what}");
            assert_healed(&rig, &read_acknowledged(&said), &what);
        }
    }
}

#[test]
fn under_the_same_start_what_is_gone_is_seen_all_the_same() {
    let (rig, _, said) = three_turns();
    let marked = rig.store().head().unwrap().applied.bytes;
    let log = fs::OpenOptions::new()
        .write(true)
        .open(rig.root().join("audit.log"));
    log.unwrap().set_len(marked + 9).unwrap();
    drop(
        rig.syncing(SyncPolicy::Deferred, at(9), unwatched())
            .unwrap(),
    );
    assert_eq!(rig.count("recover"), 1);
    assert_healed(&rig, &read_acknowledged(&said), "cut by somebody");
}
