//! Every step of the recorder fails or dies once in every place; what a power loss leaves; what is
//! refused.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps an error fails, as it should"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use gently::home::{Home, InitOptions};
use gently::keys::KeyError;
use gently::ledger::Oid;
use gently::ledger::write::Ledger;
use gently::record::bitcoin::block::Network;
use gently::record::exchange::ExchangeOutcome;
use gently::record::hash::Hash32;
use gently::record::tree::parse_note;
use gently::recorder::{Failpoint, FailpointWatch, Recorder, RecorderError, SyncPolicy, unwatched};

use crate::recorder::{
    Rig, anchor, answer, at, copy_all, counted, denied, fill, overwrite, prompt, turn, wait,
};

/// Tells the child process which home to write to, at which step to die, and at which time of
/// passing it.
const CHILD: &str = "GENTLY_TEST_DIE_AT";
/// The name of the test that a child process runs.
const CHILD_TEST: &str = "faults::a_child_that_dies_where_it_is_told";

/// A home with an answered session and 190 lines that are not inside `main`: made once, copied
/// often.
fn base() -> &'static Rig {
    static BASE: OnceLock<Rig> = OnceLock::new();
    BASE.get_or_init(|| {
        Rig::told(async |rig, recorder| {
            let session = recorder
                .open_session(rig.terms(), anchor(829_604), at(1))
                .await
                .unwrap();
            turn(recorder, &session, "the first", at(2)).await.unwrap();
            fill(recorder, 186, at(3)).await;
        })
    })
}

/// What the recorder said is on record: HASHes of lines, and ids of commits.
#[derive(Debug, Default)]
pub struct Acknowledged {
    lines: Vec<Hash32>,
    commits: Vec<String>,
}

/// Turns, sessions, a refusal, a failure and a checkpoint; stops at the first error.
async fn story(
    rig: &Rig,
    recorder: &Recorder,
    acknowledge: &mut dyn FnMut(&str),
) -> Result<(), RecorderError> {
    let a = rig.open_sessions().remove(0);
    let mut line = |hash: Hash32| acknowledge(&format!("line {hash}"));
    let asked = prompt(recorder, &a, "the second", at(10)).await?;
    line(asked.ids().prompt_line);
    line(answer(recorder, asked, at(11)).await?.response_line);
    let asked = prompt(recorder, &a, "the third", at(12)).await?;
    line(asked.ids().prompt_line);
    line(
        recorder
            .fail(asked, "timeout".to_owned(), at(13))
            .await?
            .line,
    );
    line(
        recorder
            .refuse(denied(&a, "the fourth", at(14)))
            .await?
            .line,
    );
    let b = recorder
        .open_session(rig.terms(), anchor(829_605), at(15))
        .await?;
    let fifth = turn(recorder, &b, "the fifth", at(16)).await?;
    line(fifth.response_line);
    acknowledge(&format!("commit {}", fifth.commit));
    let closed = recorder
        .close_session(b.id, anchor(829_606), at(17))
        .await?;
    acknowledge(&format!("commit {}", closed.commit));
    let closed = recorder
        .close_session(a.id, anchor(829_606), at(18))
        .await?;
    acknowledge(&format!("commit {}", closed.commit));
    Ok(())
}

/// What a file of acknowledgements says.
pub fn read_acknowledged(text: &str) -> Acknowledged {
    let mut all = Acknowledged::default();
    for line in text.lines() {
        match line.split_once(' ').unwrap() {
            ("line", hash) => all.lines.push(hash.parse().unwrap()),
            (_, id) => all.commits.push(id.to_owned()),
        }
    }
    all
}

/// Passes every step but the nth passing of one, where it does what it is told.
pub fn at_nth(
    step: Failpoint,
    nth: usize,
    act: impl Fn() + Send + Sync + 'static,
) -> (FailpointWatch, Arc<AtomicUsize>) {
    let passed = Arc::new(AtomicUsize::new(0));
    let count = passed.clone();
    let watch: FailpointWatch = Arc::new(move |now| {
        if now != step || count.fetch_add(1, Ordering::SeqCst) + 1 != nth {
            return true;
        }
        act();
        false
    });
    (watch, passed)
}

/// When git and log are synced, and how often each step is passed in the whole story then.
type Passings = Vec<(SyncPolicy, BTreeMap<&'static str, usize>)>;

fn passings() -> &'static Passings {
    static COUNTS: OnceLock<Passings> = OnceLock::new();
    COUNTS.get_or_init(|| {
        [SyncPolicy::EachBatch, SyncPolicy::Deferred]
            .map(|policy| (policy, passings_under(policy)))
            .into()
    })
}

fn passings_under(policy: SyncPolicy) -> BTreeMap<&'static str, usize> {
    let counts: BTreeMap<&str, Arc<AtomicUsize>> = Failpoint::ALL
        .iter()
        .map(|step| (step.name(), Arc::new(AtomicUsize::new(0))))
        .collect();
    let counting = counts.clone();
    let watch: FailpointWatch = Arc::new(move |step| {
        counting[step.name()].fetch_add(1, Ordering::SeqCst);
        true
    });
    let rig = base().copy();
    let recorder = rig.syncing(policy, at(9), watch).unwrap();
    wait(story(&rig, &recorder, &mut |_| {})).unwrap();
    drop(recorder);
    rig.assert_sound("the story without faults");
    assert_eq!(rig.count("checkpoint"), 1, "the story passes a checkpoint");
    assert_eq!(rig.count("recover"), 0);
    counts
        .iter()
        .map(|(name, count)| (*name, count.load(Ordering::SeqCst)))
        .collect()
}

/// Every passing of every step, with and without waiting for the sync.
fn every_passing() -> impl Iterator<Item = (SyncPolicy, Failpoint, usize)> {
    passings().iter().flat_map(|(policy, counts)| {
        Failpoint::ALL
            .into_iter()
            .flat_map(move |step| (1..=counts[step.name()]).map(move |nth| (*policy, step, nth)))
    })
}

/// Whether log or refs are behind the database.
fn something_is_missing(rig: &Rig) -> bool {
    let store = rig.store();
    let head = store.head().unwrap();
    let ledger = Ledger::open(&rig.root().join("ledger.git")).unwrap();
    let refs = store.refs().unwrap();
    let behind = refs.iter().any(|name| {
        let wanted: Oid = store
            .tip(name, head.commits)
            .unwrap()
            .unwrap()
            .id
            .parse()
            .unwrap();
        ledger.tip(name).unwrap() != Some(wanted)
    });
    behind || rig.log().len() as u64 != head.bytes
}

/// Heals, and holds the home against what was promised; then goes on in it, and closes everything.
pub fn assert_healed(rig: &Rig, acknowledged: &Acknowledged, what: &str) {
    let missing = something_is_missing(rig);
    let before = rig.count("recover");
    drop(rig.recorder(at(20)));
    assert_eq!(
        rig.count("recover") - before,
        usize::from(missing),
        "{what}: recover lines"
    );
    let log = String::from_utf8(rig.log()).unwrap();
    for line in &acknowledged.lines {
        assert!(
            log.lines()
                .any(|found| found.starts_with(&line.to_string())),
            "{what}: line {line} is gone"
        );
    }
    for id in &acknowledged.commits {
        let git = rig.root().join("ledger.git");
        let out = Command::new("git")
            .arg("-C")
            .arg(git)
            .args(["branch", "--contains", id])
            .output()
            .unwrap();
        assert!(
            out.status.success() && !out.stdout.is_empty(),
            "{what}: commit {id} is gone"
        );
    }
    assert_whole_turns(rig, &log, what);
    // The next turn works, and every session can be closed.
    let recorder = rig.recorder(at(21));
    wait(async {
        let session = recorder
            .resume_or_open(rig.terms(), anchor(829_606), at(22))
            .await
            .unwrap()
            .0;
        turn(&recorder, &session, "after the fault", at(23))
            .await
            .unwrap();
        for session in rig.open_sessions() {
            recorder
                .close_session(session.id, anchor(829_606), at(24))
                .await
                .unwrap();
        }
    });
    drop(recorder);
    rig.assert_sound(what);
}

/// Every exchange of the database has its lines, and every line its exchange.
fn assert_whole_turns(rig: &Rig, log: &str, what: &str) {
    let (mut prompts, mut answered, mut failed) = (0, 0, 0);
    let store = rig.store();
    store
        .each_exchange(None, &mut |row| {
            prompts += 1;
            assert!(store.turn(row.turn_user).unwrap().is_some(), "{what}");
            match &row.outcome {
                Some(outcome) if outcome.outcome == ExchangeOutcome::Answered => {
                    answered += 1;
                    let turn = store.turn(outcome.turn_aurora.unwrap()).unwrap().unwrap();
                    assert!(turn.content.is_some(), "{what}");
                }
                Some(_) => failed += 1,
                None => {}
            }
            Ok(())
        })
        .unwrap();
    let count = |event: &str| {
        log.lines()
            .filter(|line| line.split('|').nth(3) == Some(event))
            .count()
    };
    assert_eq!(
        (prompts, answered, failed),
        (
            count("prompt"),
            count("response"),
            count("response_fail") + count("denied")
        ),
        "{what}"
    );
}

#[test]
fn every_step_is_passed_often_and_waiting_spares_syncs() {
    let [(_, each), (_, deferred)] = passings().as_slice() else {
        panic!("two policies");
    };
    for step in Failpoint::ALL {
        let (each, deferred) = (each[step.name()], deferred[step.name()]);
        assert!(each >= 6, "{} is passed {each} times", step.name());
        let is_sync = matches!(
            step,
            Failpoint::AfterLedgerSync
                | Failpoint::AfterLogSync
                | Failpoint::AfterSync
                | Failpoint::AfterMark
        );
        assert_eq!(deferred < each, is_sync, "{}", step.name());
        assert!(deferred >= 2, "{} is passed {deferred} times", step.name());
    }
}

#[test]
fn every_step_fails_once_in_every_place() {
    for (policy, step, nth) in every_passing() {
        let what = format!("{policy:?}: {} failed at passing {nth}", step.name());
        let rig = base().copy();
        let (watch, _) = at_nth(step, nth, || {});
        let before = rig.store().head().unwrap();
        let mut said = String::new();
        let recorder = rig.syncing(policy, at(9), watch).unwrap();
        let ended = wait(story(&rig, &recorder, &mut |line| {
            said.push_str(line);
            said.push('\n');
        }));
        drop(recorder);
        let after = rig.store().head().unwrap();
        match &ended {
            // The person has the answer already; the mark is mended with the next batch.
            Ok(()) => assert!(
                matches!(
                    step,
                    Failpoint::AfterLedgerSync
                        | Failpoint::AfterLogSync
                        | Failpoint::AfterSync
                        | Failpoint::AfterMark
                ) || policy == SyncPolicy::Deferred,
                "{what}: nobody was told"
            ),
            Err(e) => {
                let before_commit = matches!(step, Failpoint::Lock | Failpoint::BeforeCommit);
                assert_eq!(e.is_recorded(), !before_commit, "{what}: {e}");
                assert!(e.to_string().contains(step.name()), "{what}: {e}");
                assert!(
                    nth > 1 || !before_commit || after == before,
                    "{what}: something was written"
                );
            }
        }
        assert_healed(&rig, &read_acknowledged(&said), &what);
    }
}

#[test]
fn a_child_that_dies_where_it_is_told() {
    let Some(told) = std::env::var_os(CHILD) else {
        return;
    };
    let told = told.into_string().unwrap();
    let [root, step, nth, policy]: [&str; 4] =
        told.split('\u{1}').collect::<Vec<_>>().try_into().unwrap();
    let policy = [SyncPolicy::EachBatch, SyncPolicy::Deferred]
        .into_iter()
        .find(|known| format!("{known:?}") == policy)
        .unwrap();
    let step = *Failpoint::ALL
        .iter()
        .find(|known| known.name() == step)
        .unwrap();
    let (watch, _) = at_nth(step, nth.parse().unwrap(), || std::process::abort());
    let said = Path::new(root).join("said");
    let mut said = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(said)
        .unwrap();
    let rig = Rig::borrowed(Path::new(root));
    let recorder = rig.syncing(policy, at(9), watch).unwrap();
    wait(story(&rig, &recorder, &mut |line| {
        writeln!(said, "{line}").unwrap()
    }))
    .unwrap();
    drop(recorder);
    panic!("it lived");
}

/// Runs the story in a child process that dies at a step; returns what it was promised before.
fn die_at(rig: &Rig, step: &str, nth: usize, policy: SyncPolicy) -> Acknowledged {
    let told = [
        rig.root().to_str().unwrap(),
        step,
        &nth.to_string(),
        &format!("{policy:?}"),
    ]
    .join("\u{1}");
    let child = Command::new(std::env::current_exe().unwrap())
        .args([CHILD_TEST, "--exact", "--nocapture"])
        .env(CHILD, told)
        .output()
        .unwrap();
    let said = fs::read_to_string(rig.root().join("said")).unwrap();
    let stderr = String::from_utf8_lossy(&child.stderr);
    assert!(
        child.status.code().is_none(),
        "{step} {nth}: the child did not die by a signal: {stderr}"
    );
    fs::remove_file(rig.root().join("said")).unwrap();
    read_acknowledged(&said)
}

#[test]
fn the_process_dies_at_every_step() {
    for (policy, step, nth) in every_passing() {
        let what = format!("{policy:?}: died at {} {nth}", step.name());
        let rig = base().copy();
        let acknowledged = die_at(&rig, step.name(), nth, policy);
        assert_healed(&rig, &acknowledged, &what);
    }
}

#[test]
fn dying_while_healing_heals_too() {
    // The story dies after the commit point of its checkpoint batch, then healing dies at each of
    // its steps.
    for step in Failpoint::ALL
        .into_iter()
        .filter(|step| *step != Failpoint::Lock)
    {
        let rig = base().copy();
        let acknowledged = die_at(
            &rig,
            Failpoint::AfterCommit.name(),
            9,
            SyncPolicy::EachBatch,
        );
        let what = format!("healing died at {}", step.name());
        // Nothing of the story is passed: opening heals first, and dies there.
        let told = [rig.root().to_str().unwrap(), step.name(), "1", "EachBatch"].join("\u{1}");
        let child = Command::new(std::env::current_exe().unwrap())
            .args([CHILD_TEST, "--exact", "--nocapture"])
            .env(CHILD, told)
            .output()
            .unwrap();
        assert!(child.status.code().is_none(), "{what}: it lived");
        let before = rig.count("recover");
        drop(rig.recorder(at(20)));
        assert!(rig.count("recover") <= before + 1, "{what}");
        fs::remove_file(rig.root().join("said")).unwrap();
        assert_healed(&rig, &acknowledged, &what);
    }
}

/// A home whose last batch (a close: two refs, a segment) is committed and written, and not marked.
fn written_not_marked() -> (Rig, Acknowledged) {
    static MADE: OnceLock<(Rig, Vec<Hash32>)> = OnceLock::new();
    let (rig, lines) = MADE.get_or_init(|| {
        let rig = base().copy();
        // The last of the story's nine batches is the close of the first session.
        let acknowledged = die_at(
            &rig,
            Failpoint::AfterLog.name(),
            passings()[0].1[Failpoint::AfterLog.name()],
            SyncPolicy::EachBatch,
        );
        (rig, acknowledged.lines)
    });
    (
        rig.copy(),
        Acknowledged {
            lines: lines.clone(),
            commits: Vec::new(),
        },
    )
}

#[test]
fn a_log_torn_at_every_byte_of_its_last_line_heals() {
    let (rig, _) = written_not_marked();
    let log = rig.log();
    let marked = usize::try_from(rig.store().head().unwrap().applied.bytes).unwrap();
    assert!(marked < log.len());
    let healed = |cut: &[u8], what: &str| {
        let (rig, acknowledged) = written_not_marked();
        fs::write(rig.root().join("audit.log"), cut).unwrap();
        drop(rig.recorder(at(20)));
        assert_eq!(&rig.log()[..log.len()], log, "{what}");
        assert_eq!(rig.count("recover"), usize::from(cut != log), "{what}");
        (rig, acknowledged)
    };
    for length in marked..=log.len() {
        let (rig, acknowledged) = healed(&log[..length], &format!("cut to {length}"));
        if length % 50 == 0 {
            assert_healed(&rig, &acknowledged, &format!("cut to {length}"));
        }
    }
    // A file system may keep the length and lose the bytes.
    for zeros in [1, 100, log.len() - marked] {
        let mut torn = log.clone();
        let end = torn.len();
        torn[end - zeros..].fill(0);
        let (rig, acknowledged) = healed(&torn, &format!("{zeros} zeros"));
        assert_healed(&rig, &acknowledged, &format!("{zeros} zeros"));
    }
}

/// The pack of the batch that is not marked, and its index.
fn newest_objects(rig: &Rig) -> Vec<PathBuf> {
    let store = rig.store();
    let head = store.head().unwrap();
    let pending = store.commits(head.applied.commits, head.commits).unwrap();
    let folder = rig.root().join("ledger.git/objects/pack");
    let holds = |index: &Path| {
        let input = fs::File::open(index).unwrap();
        let shown = Command::new("git")
            .args(["show-index"])
            .stdin(input)
            .output()
            .unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap();
        pending
            .iter()
            .filter(|commit| shown.contains(&commit.id))
            .count()
    };
    let indexes = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let found: Vec<PathBuf> = indexes
        .filter(|p| p.extension().is_some_and(|e| e == "idx") && holds(p) > 0)
        .collect();
    let [index] = found.try_into().unwrap();
    assert_eq!(holds(&index), pending.len());
    vec![index.with_extension("pack"), index]
}

#[test]
fn a_power_loss_before_the_mark_heals() {
    type Loss = fn(&Rig);
    let losses: [(&str, Loss); 12] = [
        ("pack gone", |rig| {
            fs::remove_file(&newest_objects(rig)[0]).unwrap()
        }),
        ("index gone", |rig| {
            fs::remove_file(&newest_objects(rig)[1]).unwrap()
        }),
        ("index empty", |rig| overwrite(&newest_objects(rig)[1], b"")),
        ("objects gone", |rig| {
            newest_objects(rig)
                .iter()
                .for_each(|path| fs::remove_file(path).unwrap())
        }),
        ("objects empty", |rig| {
            newest_objects(rig)
                .iter()
                .for_each(|path| overwrite(path, b""))
        }),
        ("objects cut", |rig| {
            for path in newest_objects(rig) {
                let bytes = fs::read(&path).unwrap();
                overwrite(&path, &bytes[..bytes.len() / 2]);
            }
        }),
        ("objects zeroed", |rig| {
            for path in newest_objects(rig) {
                overwrite(&path, &vec![0; fs::read(&path).unwrap().len()]);
            }
        }),
        ("main empty", |rig| {
            fs::write(rig.root().join("ledger.git/refs/heads/main"), "").unwrap()
        }),
        ("main zeroed", |rig| {
            fs::write(rig.root().join("ledger.git/refs/heads/main"), [0; 41]).unwrap()
        }),
        ("all refs torn", |rig| {
            for name in branches(rig) {
                let path = rig.root().join("ledger.git/refs/heads").join(name);
                let bytes = fs::read(&path).unwrap();
                fs::write(path, &bytes[..17]).unwrap();
            }
        }),
        ("log back to the mark", |rig| {
            let marked = rig.store().head().unwrap().applied.bytes;
            fs::OpenOptions::new()
                .write(true)
                .open(rig.root().join("audit.log"))
                .unwrap()
                .set_len(marked)
                .unwrap();
        }),
        ("everything at once", |rig| {
            let marked = rig.store().head().unwrap().applied.bytes;
            newest_objects(rig)
                .iter()
                .for_each(|path| overwrite(path, b""));
            fs::OpenOptions::new()
                .write(true)
                .open(rig.root().join("audit.log"))
                .unwrap()
                .set_len(marked + 9)
                .unwrap();
            fs::write(rig.root().join("ledger.git/refs/heads/main"), "").unwrap();
        }),
    ];
    for (what, lose) in losses {
        let (rig, acknowledged) = written_not_marked();
        lose(&rig);
        drop(rig.recorder(at(20)));
        assert_eq!(rig.count("recover"), 1, "{what}");
        assert_healed(&rig, &acknowledged, what);
    }
}

#[test]
fn a_power_loss_of_the_tree_head_beside_the_log_heals() {
    type Loss = fn(&Path);
    let losses: [(&str, Loss); 7] = [
        ("as it was", |_| {}),
        ("gone", |path| fs::remove_file(path).unwrap()),
        ("empty", |path| fs::write(path, "").unwrap()),
        ("cut", |path| {
            fs::write(path, &fs::read(path).unwrap()[..100]).unwrap()
        }),
        ("zeroed", |path| {
            fs::write(path, vec![0; fs::read(path).unwrap().len()]).unwrap()
        }),
        ("half written beside", |path| {
            fs::write(path.with_extension("checkpoint.new"), "gently/").unwrap()
        }),
        ("a link to another file", |path| {
            let victim = path.with_file_name("victim");
            fs::write(&victim, "theirs").unwrap();
            fs::remove_file(path).unwrap();
            std::os::unix::fs::symlink(victim, path).unwrap();
        }),
    ];
    for (what, lose) in losses {
        let (rig, acknowledged) = written_not_marked();
        let path = rig.root().join("audit.checkpoint");
        let before = parse_note(&rig.checkpoint()).unwrap().size;
        assert!(
            before < rig.store().head().unwrap().lines,
            "the last batch's is not written"
        );
        lose(&path);
        drop(rig.recorder(at(20)));
        // Nothing of log and ledger was missing, so nothing is said.
        assert_eq!(rig.count("recover"), 0, "{what}");
        rig.assert_signed(what);
        assert!(fs::symlink_metadata(&path).unwrap().is_file(), "{what}");
        let victim = path.with_file_name("victim");
        assert!(
            !victim.exists() || fs::read(victim).unwrap() == b"theirs",
            "{what}: written through the link"
        );
        assert_healed(&rig, &acknowledged, what);
        // The same in a home at rest, where everything is marked as applied.
        lose(&path);
        drop(rig.recorder(at(30)));
        assert_healed(&rig, &Acknowledged::default(), what);
    }
}

fn branches(rig: &Rig) -> Vec<String> {
    let heads = fs::read_dir(rig.root().join("ledger.git/refs/heads")).unwrap();
    heads
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

/// A home with one more turn than the base.
fn later() -> &'static Rig {
    static LATER: OnceLock<Rig> = OnceLock::new();
    LATER.get_or_init(|| {
        let rig = base().copy();
        let recorder = rig.recorder(at(9));
        wait(story(&rig, &recorder, &mut |_| {})).unwrap();
        drop(recorder);
        rig
    })
}

/// Replaces one part of a home by another's.
fn transplant(from: &Rig, part: &str, to: &Rig) {
    for name in [
        part.to_owned(),
        format!("{part}-wal"),
        format!("{part}-shm"),
    ] {
        let place = to.root().join(&name);
        if place.is_dir() {
            fs::remove_dir_all(&place).unwrap();
        } else if place.exists() {
            fs::remove_file(&place).unwrap();
        }
        if from.root().join(&name).exists() {
            copy_all(&from.root().join(&name), &place);
        }
    }
}

#[test]
fn what_no_crash_explains_is_refused_and_nothing_is_written() {
    type Mischief = fn(&Rig);
    let cases: [(&str, &Rig, Mischief, &str); 13] = [
        (
            "a line too much",
            base(),
            |rig| append(rig, &next_line(rig)),
            "audit.log is ahead of the database",
        ),
        (
            "a text too much",
            base(),
            |rig| append(rig, "hello\n"),
            "audit.log is ahead of the database",
        ),
        (
            "half a text too much",
            base(),
            |rig| append(rig, "hello"),
            "audit.log is ahead of the database",
        ),
        (
            "a line cut",
            base(),
            |rig| cut(rig, 1),
            "the database is ahead of audit.log",
        ),
        (
            "lines cut",
            base(),
            |rig| cut(rig, 500),
            "the database is ahead of audit.log",
        ),
        (
            "no log",
            base(),
            |rig| cut(rig, u64::MAX),
            "the database is ahead of audit.log",
        ),
        (
            "a branch moved elsewhere",
            later(),
            |rig| {
                let main = fs::read(rig.root().join("ledger.git/refs/heads/main")).unwrap();
                fs::write(rig.root().join("ledger.git/refs/heads/branch-7"), main).unwrap();
            },
            "ledger.git is ahead of the database",
        ),
        (
            "a branch gone",
            base(),
            |rig| {
                for name in branches(rig).iter().filter(|name| *name != "main") {
                    fs::remove_file(rig.root().join("ledger.git/refs/heads").join(name)).unwrap();
                }
            },
            "the database is ahead of ledger.git",
        ),
        (
            "a branch of the format that nobody opened",
            base(),
            |rig| {
                let main = fs::read(rig.root().join("ledger.git/refs/heads/main")).unwrap();
                fs::write(rig.root().join("ledger.git/refs/heads/branch-1"), main).unwrap();
            },
            "ledger.git is ahead of the database",
        ),
        (
            "a branch of no format",
            base(),
            |rig| {
                let main = fs::read(rig.root().join("ledger.git/refs/heads/main")).unwrap();
                fs::write(rig.root().join("ledger.git/refs/heads/feature"), main).unwrap();
            },
            "ledger.git is ahead of the database",
        ),
        (
            "an older database",
            later(),
            |rig| transplant(base(), "gently.db", rig),
            "is ahead of the database",
        ),
        (
            "the log of another home",
            base(),
            |rig| transplant(&other(), "audit.log", rig),
            "audit.log",
        ),
        (
            "the ledger of another home",
            base(),
            |rig| transplant(&other(), "ledger.git", rig),
            "ledger.git",
        ),
    ];
    for (what, from, mischief, words) in cases {
        let rig = from.copy();
        // An open connection would have left a log of its own beside the database.
        mischief(&rig);
        let before = rig.bytes();
        let refused = rig.watched(at(30), unwatched()).map(|_| ()).unwrap_err();
        assert!(
            matches!(refused, RecorderError::Disagree { .. }),
            "{what}: {refused:?}"
        );
        let said = refused.to_string();
        assert!(said.contains(words), "{what}: {said}");
        assert!(
            said.contains("nothing was written") && said.contains("gently audit verify"),
            "{what}: {said}"
        );
        assert_eq!(
            changed(&before, &rig.bytes()),
            Vec::<PathBuf>::new(),
            "{what}"
        );
    }
}

/// The same, when it happens while a recorder is open.
#[test]
fn what_happens_behind_an_open_recorder_is_refused_too() {
    let rig = base().copy();
    let recorder = rig.recorder(at(9));
    let session = rig.open_sessions().remove(0);
    let main = fs::read(rig.root().join("ledger.git/refs/heads/main")).unwrap();
    fs::write(rig.root().join("ledger.git/refs/heads/branch-1"), main).unwrap();
    let before = rig.store().head().unwrap();
    let refused = wait(turn(&recorder, &session, "a", at(10))).unwrap_err();
    assert!(
        !refused.is_recorded() && refused.to_string().contains("branch-1"),
        "{refused}"
    );
    assert_eq!(rig.store().head().unwrap(), before);
    fs::remove_file(rig.root().join("ledger.git/refs/heads/branch-1")).unwrap();
    wait(turn(&recorder, &session, "a", at(11))).unwrap();
    drop(recorder);
    rig.assert_sound("mended");
}

fn changed(
    before: &BTreeMap<PathBuf, Vec<u8>>,
    after: &BTreeMap<PathBuf, Vec<u8>>,
) -> Vec<PathBuf> {
    let all: std::collections::BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
    all.into_iter()
        .filter(|path| before.get(*path) != after.get(*path))
        .cloned()
        .collect()
}

fn append(rig: &Rig, text: &str) {
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(rig.root().join("audit.log"))
        .unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn next_line(rig: &Rig) -> String {
    use gently::record::log::entry::{Event, Line};
    let head = rig.store().head().unwrap();
    let event = Event::Recover { applied: 1 };
    format!(
        "{}\n",
        Line::new(head.hash, head.height, head.time, None, event).text()
    )
}

fn cut(rig: &Rig, bytes: u64) {
    let file = fs::OpenOptions::new()
        .write(true)
        .open(rig.root().join("audit.log"))
        .unwrap();
    let length = file.metadata().unwrap().len();
    file.set_len(length.saturating_sub(bytes)).unwrap();
}

/// A home of other keys, with as many lines as it takes to be no prefix.
fn other() -> Rig {
    let dir = tempfile::tempdir().unwrap();
    let options = InitOptions {
        network: Network::Bitcoin,
        origin: Some("another".to_owned()),
        ..InitOptions::default()
    };
    let mut bytes = counted();
    let mut random = |buffer: &mut [u8]| {
        bytes(buffer)?;
        buffer.iter_mut().for_each(|byte| *byte ^= 0x55);
        Ok::<(), KeyError>(())
    };
    Home::init(&dir.path().join("home"), &options, &mut random, at(0)).unwrap();
    let rig = Rig::of(dir);
    let recorder = rig.recorder(at(1));
    wait(async {
        let session = recorder
            .open_session(rig.terms(), anchor(829_604), at(1))
            .await
            .unwrap();
        turn(&recorder, &session, "the first", at(2)).await.unwrap();
        let many = (0..200).map(|n| recorder.auth_fail(format!("r{n}"), at(3)));
        futures_util::future::join_all(many)
            .await
            .into_iter()
            .for_each(|done| done.unwrap());
    });
    drop(recorder);
    rig
}

#[test]
fn a_home_is_made_whole_or_not_at_all() {
    for calls in 1..=3 {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("home");
        let (mut bytes, mut left) = (counted(), calls);
        let mut random = |buffer: &mut [u8]| {
            left -= 1;
            if left == 0 {
                Err(KeyError::Random {
                    reason: "told so".to_owned(),
                })
            } else {
                bytes(buffer)
            }
        };
        Home::init(&root, &InitOptions::default(), &mut random, at(0)).unwrap_err();
        assert_eq!(
            fs::read_dir(dir.path()).unwrap().count(),
            0,
            "call {calls}: something was left"
        );
        // What a killed process left half made is no hindrance.
        fs::create_dir_all(dir.path().join(".home.init/keys")).unwrap();
        fs::write(dir.path().join(".home.init/gently.db"), "half").unwrap();
        fs::write(dir.path().join(".home.init.lock"), "").unwrap();
        Home::init(&root, &InitOptions::default(), &mut counted(), at(0)).unwrap();
        Home::init(&root, &InitOptions::default(), &mut counted(), at(5)).unwrap();
        assert_eq!(
            fs::read_dir(dir.path()).unwrap().count(),
            1,
            "only the home is left"
        );
        Rig::of(dir).assert_sound("a home made at the second try");
    }
}

#[test]
fn homes_made_at_once_are_one() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("home");
    let seeds = AtomicUsize::new(1);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let mut seed = seeds.fetch_add(1, Ordering::SeqCst);
                let mut random = |buffer: &mut [u8]| {
                    seed += 100;
                    let bytes = Hash32::digest(&seed.to_be_bytes());
                    buffer
                        .iter_mut()
                        .zip(bytes.as_bytes())
                        .for_each(|(to, from)| *to = *from);
                    Ok::<(), KeyError>(())
                };
                Home::init(&root, &InitOptions::default(), &mut random, at(0)).unwrap();
            });
        }
    });
    assert_eq!(
        fs::read_dir(dir.path()).unwrap().count(),
        1,
        "only the home is left"
    );
    Rig::of(dir).assert_sound("made by six");
}
