//! Many askers at once, so that batches are committed while earlier ones are applied: steps that
//! fail or kill there, and two writers of one home that let each other in.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps an error fails, as it should"
)]

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use gently::home::Home;
use gently::recorder::{Failpoint, FailpointWatch, Recorder, RecorderError};
use gently::store::SessionRow;

use crate::faults::{assert_healed, at_nth, read_acknowledged};
use crate::recorder::{Rig, anchor, answer, at, prompt, turn, wait};

/// Who asks at once.
const ASKERS: usize = 12;
/// Turns of each.
const TURNS: usize = 4;
/// Where the child dies, and in which home.
const CHILD: &str = "GENTLY_TEST_DIE_IN_COMPANY_AT";
const CHILD_TEST: &str = "company::a_child_that_dies_in_company";
/// Every step is passed so often under company, whatever the batches are.
const PASSINGS: [usize; 4] = [1, 2, 3, 5];

/// A home with two open sessions, on two branches.
fn base() -> Rig {
    Rig::told(async |rig, recorder| {
        for height in [829_604, 829_605] {
            let session = recorder
                .open_session(rig.terms(), anchor(height), at(1))
                .await
                .unwrap();
            turn(recorder, &session, "before", at(2)).await.unwrap();
        }
    })
}

/// All ask until they have done or met an error; tells what was acknowledged.
async fn story(
    rig: &Rig,
    recorder: &Recorder,
    say: &(dyn Fn(String) + Sync),
) -> Vec<RecorderError> {
    let sessions = rig.open_sessions();
    let one = async |asker: usize| -> Result<(), RecorderError> {
        let session: &SessionRow = &sessions[asker % sessions.len()];
        for n in 0..TURNS {
            let asked = prompt(recorder, session, &format!("{asker}, {n}"), at(10)).await?;
            say(format!("line {}", asked.ids().prompt_line));
            let answered = answer(recorder, asked, at(11)).await?;
            say(format!(
                "line {}\ncommit {}",
                answered.response_line, answered.commit
            ));
        }
        Ok(())
    };
    join_all((0..ASKERS).map(one))
        .await
        .into_iter()
        .filter_map(Result::err)
        .collect()
}

/// Runs the story, and returns what it was promised and what went wrong.
fn told(rig: &Rig, watch: FailpointWatch) -> (String, Vec<RecorderError>) {
    let said = Mutex::new(String::new());
    let recorder = rig.watched(at(9), watch).unwrap();
    let errors = wait(story(rig, &recorder, &|line| {
        said.lock().unwrap().push_str(&(line + "\n"))
    }));
    drop(recorder);
    (said.into_inner().unwrap(), errors)
}

#[test]
fn batches_follow_each_other_and_all_of_it_is_sound() {
    let rig = base();
    // How many batches were committed before an earlier one was in the log.
    let flying = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let (up, top) = (flying.clone(), most.clone());
    let watch: FailpointWatch = Arc::new(move |step| {
        match step {
            Failpoint::BeforeCommit => {
                top.fetch_max(up.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            }
            // A quick disk would be done with a batch before the next one has come: it is given
            // time for that, once.
            Failpoint::AfterObjects => {
                let until = Instant::now() + Duration::from_millis(500);
                while top.load(Ordering::SeqCst) < 2 && Instant::now() < until {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            // One applying may take several batches.
            Failpoint::AfterLog => up.store(0, Ordering::SeqCst),
            _ => {}
        }
        true
    });
    let (said, errors) = told(&rig, watch);
    assert!(errors.is_empty(), "{errors:?}");
    assert!(
        most.load(Ordering::SeqCst) > 1,
        "no batch was committed while another one was applied"
    );
    assert_eq!(said.lines().count(), 3 * ASKERS * TURNS);
    assert_eq!(
        (rig.count("response"), rig.count("recover")),
        (ASKERS * TURNS + 2, 0)
    );
    rig.assert_sound("company");
    assert_healed(&rig, &read_acknowledged(&said), "company");
}

#[test]
fn every_step_fails_under_company() {
    let base = base();
    for step in Failpoint::ALL {
        for nth in PASSINGS {
            let what = format!("{} failed at passing {nth} under company", step.name());
            let rig = base.copy();
            let (watch, passed) = at_nth(step, nth, || {});
            let (said, errors) = told(&rig, watch);
            assert!(
                passed.load(Ordering::SeqCst) >= nth || matches!(step, Failpoint::Lock),
                "{what}: it was passed {} times",
                passed.load(Ordering::SeqCst)
            );
            for e in &errors {
                let before_commit = matches!(step, Failpoint::Lock | Failpoint::BeforeCommit);
                assert!(e.to_string().contains(step.name()), "{what}: {e}");
                assert_eq!(e.is_recorded(), !before_commit, "{what}: {e}");
            }
            let quiet = matches!(
                step,
                Failpoint::AfterLedgerSync | Failpoint::AfterSync | Failpoint::AfterMark
            );
            assert!(errors.is_empty() || !quiet, "{what}: {errors:?}");
            assert_healed(&rig, &read_acknowledged(&said), &what);
        }
    }
}

#[test]
fn a_child_that_dies_in_company() {
    let Some(told) = std::env::var_os(CHILD) else {
        return;
    };
    let told = told.into_string().unwrap();
    let [root, step, nth]: [&str; 3] = told.split('\u{1}').collect::<Vec<_>>().try_into().unwrap();
    let step = *Failpoint::ALL
        .iter()
        .find(|known| known.name() == step)
        .unwrap();
    let (watch, _) = at_nth(step, nth.parse().unwrap(), || std::process::abort());
    let home = Home::open(Path::new(root)).unwrap().unwrap();
    let said = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(Path::new(root).join("said"))
        .unwrap();
    let said = Mutex::new(said);
    let recorder = Recorder::open(home.paths(), home.signing_key().unwrap(), at(9), watch).unwrap();
    let rig = Rig::borrowed(Path::new(root));
    let _ = wait(story(&rig, &recorder, &|line| {
        writeln!(said.lock().unwrap(), "{line}").unwrap()
    }));
    drop(recorder);
    panic!("it lived");
}

#[test]
fn the_process_dies_at_every_step_under_company() {
    let base = base();
    for step in Failpoint::ALL {
        for nth in [1, 2, 4] {
            let what = format!("died at {} {nth} under company", step.name());
            let rig = base.copy();
            let told = [rig.root().to_str().unwrap(), step.name(), &nth.to_string()].join("\u{1}");
            let child = Command::new(std::env::current_exe().unwrap())
                .args([CHILD_TEST, "--exact", "--nocapture"])
                .env(CHILD, told)
                .output()
                .unwrap();
            // The lock is taken seldom.
            let lived = child.status.code().is_some();
            assert!(
                !lived || (step == Failpoint::Lock && nth > 1),
                "{what}: it lived"
            );
            let said = fs::read_to_string(rig.root().join("said")).unwrap_or_default();
            let _ = fs::remove_file(rig.root().join("said"));
            assert_healed(&rig, &read_acknowledged(&said), &what);
        }
    }
}

#[test]
fn two_writers_under_company_let_each_other_in() {
    let rig = base();
    let (one, two) = (rig.recorder(at(9)), rig.recorder(at(9)));
    std::thread::scope(|scope| {
        let asking: Vec<_> = [&one, &two]
            .into_iter()
            .map(|recorder| {
                let rig = &rig;
                scope.spawn(move || wait(story(rig, recorder, &|_| {})))
            })
            .collect();
        for asking in asking {
            let errors = asking.join().unwrap();
            assert!(errors.is_empty(), "{errors:?}");
        }
    });
    drop((one, two));
    assert_eq!(
        (rig.count("response"), rig.count("recover")),
        (2 * ASKERS * TURNS + 2, 0)
    );
    rig.assert_sound("two writers");
}

#[test]
fn an_applier_that_dies_is_noticed_and_replaced() {
    // When all askers happen to be in the batch that dies with it, nobody is left to be served, and
    // when none is, nobody is told: then once more.
    let served = (0..20).any(|_| {
        let rig = base();
        let passed = Arc::new(AtomicUsize::new(0));
        let count = passed.clone();
        let watch: FailpointWatch = Arc::new(move |step| {
            let is_applier = std::thread::current().name() == Some("applier");
            if step == Failpoint::AfterObjects && is_applier && count.load(Ordering::SeqCst) == 0 {
                // Whoever asks meanwhile is in the batch that dies, or behind it.
                std::thread::sleep(Duration::from_millis(30));
            }
            if step == Failpoint::AfterObjects
                && is_applier
                && count.fetch_add(1, Ordering::SeqCst) == 1
            {
                panic!("a test asked for it");
            }
            true
        });
        let (said, errors) = told(&rig, watch);
        assert!(
            errors.iter().all(|e| e.is_unknown() || e.is_recorded()),
            "{errors:?}"
        );
        assert_healed(&rig, &read_acknowledged(&said), "after a panic");
        !errors.is_empty() && errors.len() < ASKERS && passed.load(Ordering::SeqCst) > 2
    });
    assert!(served, "no other thread took its place");
}
