//! Several askers at once, processes that are killed, locks that are held, and answers that can't
//! be recorded.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps an error fails, as it should"
)]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gently::home::Home;
use gently::record::exchange::ExchangeOutcome;
use gently::record::time::Seconds;
use gently::recorder::{Recorder, RecorderError, unwatched};

use crate::model_server::{ANSWER, Behaviour, ModelServer};
use crate::recorder::{Rig, anchor, at, prompt, turn, wait};

/// Reached only when something is wrong.
const PATIENCE: Duration = Duration::from_secs(60);

/// A home that the real binary uses, with a model server.
struct Cli {
    rig: Rig,
    server: ModelServer,
}

impl Cli {
    fn new(behaviour: Behaviour) -> Self {
        let server = ModelServer::start(behaviour);
        let dir = tempfile::tempdir().unwrap();
        let cli = Cli {
            rig: Rig::of(dir),
            server,
        };
        for args in [
            vec!["init"],
            vec!["config", "set", "model.default", "openai/test"],
            vec!["config", "set", "model.base_url", &cli.server.base_url()],
        ] {
            let done = cli.run(&args);
            assert!(done.status.success(), "{args:?}: {}", stderr(&done));
        }
        cli
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gently"));
        for (name, _) in std::env::vars_os() {
            let known = name.to_string_lossy();
            if known.starts_with("GENTLY_")
                || known.ends_with("_API_KEY")
                || known.to_lowercase().ends_with("_proxy")
            {
                command.env_remove(name);
            }
        }
        command
            .args(crate::person::with_sight(args))
            .env("GENTLY_HOME", self.rig.root())
            .env("GENTLY_ANCHOR_MODE", "off")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn start(&self, args: &[&str]) -> Child {
        self.command(args).spawn().unwrap()
    }

    fn path(&self, part: &str) -> PathBuf {
        self.rig.root().join(part)
    }

    /// Closes what is open, and holds everything against the verifier, the binary's too.
    fn assert_sound(&self, what: &str) {
        if !self.rig.open_sessions().is_empty() {
            let closed = self.run(&["session", "close", "--yes"]);
            assert!(closed.status.success(), "{what}: {}", stderr(&closed));
        }
        self.rig.assert_sound(what);
        let verified = self.run(&["audit", "verify", "-v"]);
        assert!(
            verified.status.success(),
            "{what}: {}{}",
            stdout(&verified),
            stderr(&verified)
        );
    }

    fn answered(&self) -> usize {
        let mut count = 0;
        self.rig
            .store()
            .each_exchange(None, &mut |row| {
                count += usize::from(
                    row.outcome
                        .is_some_and(|outcome| outcome.outcome == ExchangeOutcome::Answered),
                );
                Ok(())
            })
            .unwrap();
        count
    }
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Numbers of all prompts and answers of every session: from 1, without a gap.
fn assert_numbered(rig: &Rig) {
    let store = rig.store();
    store
        .each_session(&mut |session| {
            let mut seqs = Vec::new();
            store.each_exchange(Some(session.uuid), &mut |row| {
                seqs.push(row.seq);
                Ok(())
            })?;
            assert_eq!(seqs, (1..=session.prompts).collect::<Vec<u64>>());
            Ok(())
        })
        .unwrap();
}

#[test]
fn two_processes_ask_at_once_and_land_in_one_chain() {
    let cli = Cli::new(Behaviour::Gate);
    // One session for both: it is opened before.
    assert!(cli.run(&["session", "open"]).status.success());
    let (one, two) = (cli.start(&["ask", "one"]), cli.start(&["ask", "two"]));
    cli.server.wait_for(2);
    // Both prompts are on record, and neither holds up anything else.
    assert_eq!(cli.rig.count("prompt"), 2);
    assert_eq!(
        cli.rig
            .store()
            .in_flight(cli.rig.open_sessions()[0].uuid)
            .unwrap()
            .len(),
        2
    );
    assert!(
        cli.run(&["ask", "--model", "observer", "a third"])
            .status
            .success()
    );
    cli.server.release();
    for child in [one, two] {
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "{}", stderr(&done));
        assert_eq!(stdout(&done).trim_end(), ANSWER);
        assert!(stderr(&done).contains("✔ "), "{}", stderr(&done));
    }
    cli.assert_sound("two processes");
    let chained = cli
        .rig
        .report()
        .sessions
        .into_iter()
        .map(|s| (s.interactions, s.chain_valid))
        .collect::<Vec<_>>();
    assert_eq!(chained, [(2, true), (1, true)]);
}

#[test]
fn two_tasks_of_one_process_ask_at_once_and_land_in_one_chain() {
    let rig = Rig::new();
    let recorder = rig.recorder(at(0));
    wait(async {
        let session = recorder
            .open_session(rig.terms(), anchor(829_604), at(1))
            .await
            .unwrap();
        let (one, two) = tokio::join!(
            prompt(&recorder, &session, "one", at(2)),
            prompt(&recorder, &session, "two", at(2))
        );
        let (one, two) = (one.unwrap(), two.unwrap());
        // Answered the other way round, and at once with a close that has to wait.
        match recorder
            .close_session(session.id, anchor(829_604), at(3))
            .await
        {
            Err(RecorderError::InFlight { seq: 1, .. }) => {}
            other => panic!("{other:?}"),
        }
        let two = crate::recorder::answer(&recorder, two, at(4))
            .await
            .unwrap();
        let one = crate::recorder::answer(&recorder, one, at(5))
            .await
            .unwrap();
        assert_eq!((two.session.interactions, one.session.interactions), (1, 2));
        recorder
            .close_session(session.id, anchor(829_604), at(6))
            .await
            .unwrap();
    });
    drop(recorder);
    rig.assert_sound("two tasks");
    assert_eq!(rig.count("response_fail"), 0);
}

#[test]
#[cfg(unix)]
fn a_process_killed_while_the_model_thinks_leaves_an_abandoned_prompt() {
    let cli = Cli::new(Behaviour::Gate);
    let mut child = cli.start(&["ask", "never answered"]);
    cli.server.wait_for(1);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(cli.rig.count("response_fail"), 0);
    let refused = cli.run(&["session", "close"]);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(
        stderr(&refused).contains("gives up "),
        "{}",
        stderr(&refused)
    );
    assert_eq!(cli.rig.count("session_end"), 0);
    let closed = cli.run(&["session", "close", "--yes"]);
    assert!(closed.status.success(), "{}", stderr(&closed));
    let log = String::from_utf8(cli.rig.log()).unwrap();
    assert_eq!(log.matches("reason:abandoned").count(), 1, "{log}");
    assert_eq!(
        fs::read_dir(cli.path("in-flight")).unwrap().count(),
        0,
        "its lock file is still there"
    );
    cli.assert_sound("killed");
}

#[test]
fn closing_waits_for_the_answer_of_a_living_process() {
    let cli = Cli::new(Behaviour::Gate);
    let asking = cli.start(&["ask", "slow"]);
    cli.server.wait_for(1);
    let mut closing = cli.start(&["session", "close", "--yes"]);
    // It says what it waits for, and then waits.
    let mut said = String::new();
    let mut lines = std::io::BufReader::new(closing.stderr.take().unwrap());
    while !said.contains("waiting for the model's answer to interaction-1") {
        assert_ne!(
            std::io::BufRead::read_line(&mut lines, &mut said).unwrap(),
            0,
            "{said}"
        );
    }
    assert!(closing.try_wait().unwrap().is_none());
    assert_eq!(cli.rig.count("session_end"), 0);
    cli.server.release();
    let asked = asking.wait_with_output().unwrap();
    assert!(asked.status.success(), "{}", stderr(&asked));
    assert!(closing.wait().unwrap().success());
    assert_eq!(
        (
            cli.rig.count("session_end"),
            cli.rig.count("response"),
            cli.rig.count("response_fail")
        ),
        (1, 1, 0)
    );
    cli.assert_sound("waited");
}

#[test]
fn a_held_writer_lock_is_waited_for_and_its_holder_named() {
    let rig = Rig::new();
    let recorder = |wait: u64| {
        let home: Home = rig.home();
        let key = home.signing_key().unwrap();
        Recorder::open_within(
            home.paths(),
            key,
            at(1),
            unwatched(),
            Duration::from_millis(wait),
        )
    };
    let quick = recorder(50).unwrap();
    let session = wait(quick.open_session(rig.terms(), anchor(829_604), at(1))).unwrap();
    let held = File::options()
        .read(true)
        .write(true)
        .open(rig.root().join("writer.lock"))
        .unwrap();
    held.lock().unwrap();
    fs::write(rig.root().join("writer.lock"), "process 4711\n").unwrap();
    let refused = wait(turn(&quick, &session, "a", at(2))).unwrap_err();
    assert!(
        !refused.is_recorded() && refused.to_string().contains("process 4711"),
        "{refused}"
    );
    assert!(matches!(
        recorder(50).map(|_| ()),
        Err(RecorderError::Locked { .. })
    ));
    // A wait that is long enough gets it.
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| recorder(60_000).map(|_| ()));
        std::thread::sleep(Duration::from_millis(50));
        held.unlock().unwrap();
        waiting.join().unwrap().unwrap();
    });
    wait(turn(&quick, &session, "a", at(3))).unwrap();
    wait(quick.close_session(session.id, anchor(829_604), at(4))).unwrap();
    drop(quick);
    rig.assert_sound("after the lock");
}

#[test]
fn eight_threads_answer_through_one_recorder() {
    const THREADS: u64 = 8;
    const ANSWERS: u64 = 25;
    let rig = Rig::new();
    let recorder = Arc::new(rig.recorder(at(0)));
    let session = wait(recorder.open_session(rig.terms(), anchor(829_604), at(1))).unwrap();
    let commits: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (recorder, session) = (recorder.clone(), session.clone());
                scope.spawn(move || {
                    let ask = |n| {
                        wait(turn(
                            &recorder,
                            &session,
                            &format!("{thread}.{n}"),
                            at(2 + n),
                        ))
                        .unwrap()
                        .commit
                    };
                    (0..ANSWERS).map(ask).collect::<Vec<String>>()
                })
            })
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap())
            .collect()
    });
    let closed = wait(recorder.close_session(session.id, anchor(829_605), at(99))).unwrap();
    drop(recorder);
    assert_eq!(closed.session.interactions, THREADS * ANSWERS);
    rig.assert_sound("eight threads");
    assert_numbered(&rig);
    let git = rig.root().join("ledger.git");
    let listed = Command::new("git")
        .arg("-C")
        .arg(git)
        .args(["rev-list", "main"])
        .output()
        .unwrap();
    let listed = stdout(&listed);
    assert!(
        commits.iter().all(|id| listed.contains(id)),
        "an acknowledged answer is not in the ledger"
    );
    assert!(rig.count("checkpoint") >= 1);
}

#[test]
fn four_processes_ask_ten_times_each() {
    let cli = Cli::new(Behaviour::Good);
    assert!(
        cli.run(&["session", "open", "--model", "observer"])
            .status
            .success()
    );
    std::thread::scope(|scope| {
        for process in 0..4 {
            let cli = &cli;
            scope.spawn(move || {
                for n in 0..10 {
                    let done = cli.run(&["ask", "--model", "observer", &format!("{process}.{n}")]);
                    assert!(done.status.success(), "{process}.{n}: {}", stderr(&done));
                }
            });
        }
    });
    assert_eq!(cli.answered(), 40);
    cli.assert_sound("four processes");
    assert_numbered(&cli.rig);
    assert_eq!(
        cli.rig
            .report()
            .sessions
            .iter()
            .map(|session| session.interactions)
            .sum::<u64>(),
        40
    );
}

/// Asks, lets the model think while the test does something to the home, and returns how it ended.
fn asked_while(cli: &Cli, during: impl FnOnce()) -> Output {
    let child = cli.start(&["ask", "a question"]);
    cli.server.wait_for(1);
    during();
    cli.server.release();
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(3), "{}", stderr(&done));
    assert_eq!(stdout(&done), "");
    done
}

#[test]
fn an_answer_is_withheld_when_the_database_is_locked() {
    let cli = Cli::new(Behaviour::Gate);
    let holder = rusqlite::Connection::open(cli.path("gently.db")).unwrap();
    let done = asked_while(&cli, || holder.execute_batch("BEGIN IMMEDIATE").unwrap());
    holder.execute_batch("ROLLBACK").unwrap();
    let said = stderr(&done);
    assert!(
        said.contains("\nnot recorded, but for the question: the answer is withheld"),
        "{said}"
    );
    assert!(
        said.contains("the database stayed locked for 5 s"),
        "{said}"
    );
    assert_eq!(cli.answered(), 0);
    let again = cli.run(&["ask", "again"]);
    assert_eq!(stdout(&again).trim_end(), ANSWER, "{}", stderr(&again));
    cli.assert_sound("unlocked");
    assert_eq!(
        (cli.rig.count("response"), cli.rig.count("response_fail")),
        (1, 1)
    );
}

/// A part of the home is out of reach when the answer comes: it is recorded, and shown to nobody.
fn recorded_and_withheld(
    part: &str,
    why: &str,
    take_away: impl FnOnce(&Path),
    bring_back: impl FnOnce(&Path),
) {
    let cli = Cli::new(Behaviour::Gate);
    let done = asked_while(&cli, || take_away(&cli.path(part)));
    let said = stderr(&done);
    assert!(
        said.contains("\nrecorded, withheld, finished at the next start: the answer is withheld"),
        "{said}"
    );
    assert!(said.contains(why), "{said}");
    assert_eq!(cli.answered(), 1);
    // Until it is mended no prompt is recorded, and no model called.
    let requests = cli.server.requests().len();
    let refused = cli.run(&["ask", "too early"]);
    assert!(
        matches!(refused.status.code(), Some(2 | 3)),
        "{}",
        stderr(&refused)
    );
    assert_eq!(
        (stdout(&refused), cli.server.requests().len()),
        (String::new(), requests)
    );
    bring_back(&cli.path(part));
    let again = cli.run(&["ask", "again"]);
    assert_eq!(stdout(&again).trim_end(), ANSWER, "{}", stderr(&again));
    assert_eq!(
        (
            cli.answered(),
            cli.rig.count("response"),
            cli.rig.count("recover")
        ),
        (2, 2, 1)
    );
    cli.assert_sound(part);
    let git = cli.path("ledger.git");
    let listed = Command::new("git")
        .arg("-C")
        .arg(git)
        .args(["log", "--format=%s", "main"])
        .output()
        .unwrap();
    assert!(
        stdout(&listed).contains("interaction-1\n") && stdout(&listed).contains("interaction-2\n")
    );
}

#[test]
fn an_answer_is_withheld_when_the_ledger_is_gone() {
    let aside = |path: &Path| path.with_extension("aside");
    let away = |path: &Path| fs::rename(path, aside(path)).unwrap();
    let back = |path: &Path| fs::rename(aside(path), path).unwrap();
    recorded_and_withheld("ledger.git", "ledger.git", away, back);
}

#[test]
fn an_answer_is_withheld_when_the_log_is_a_directory() {
    let aside = |path: &Path| path.with_extension("aside");
    let away = |path: &Path| {
        fs::rename(path, aside(path)).unwrap();
        fs::create_dir(path).unwrap();
    };
    let back = |path: &Path| {
        fs::remove_dir(path).unwrap();
        fs::rename(aside(path), path).unwrap();
    };
    recorded_and_withheld("audit.log", "is not a regular file", away, back);
}

/// A program on a full disk, as a limit on the size of files: writes beyond it fail, as `trap` keeps the
/// signal away.
pub fn limited(command: &Command, blocks: u64) -> Command {
    let mut shell = Command::new("sh");
    let script = "trap '' XFSZ; ulimit -f \"$0\"; exec \"$@\"";
    shell
        .args(["-c", script, &blocks.to_string()])
        .arg(command.get_program())
        .args(command.get_args())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

#[test]
#[cfg(target_os = "linux")]
fn an_answer_is_withheld_when_the_disk_is_full() {
    let cli = Cli::new(Behaviour::Good);
    assert!(cli.run(&["ask", "before"]).status.success());
    let mut refused = 0;
    for blocks in [0, 1, 4, 16, 64, 200] {
        let done = limited(&cli.command(&["ask", "too much"]), blocks)
            .output()
            .unwrap();
        let said = stderr(&done);
        match done.status.code() {
            Some(0) => assert_eq!(stdout(&done).trim_end(), ANSWER),
            Some(3) => {
                refused += 1;
                assert_eq!(stdout(&done), "", "{blocks}");
                let sentence = said.lines().last().unwrap_or_default();
                assert!(
                    sentence.starts_with("not recorded")
                        || sentence.starts_with("recorded, withheld"),
                    "{blocks}: {said}"
                );
                assert!(
                    said.starts_with("error: ") || said.contains("\nerror: "),
                    "{blocks}: {said}"
                );
            }
            Some(2) => assert_eq!(stdout(&done), "", "{blocks}: {said}"),
            other => panic!("{blocks}: {other:?}: {said}"),
        }
        println!("{blocks} blocks: {:?} {said}", done.status.code());
        // With room again everything goes on.
        let again = cli.run(&["ask", "again"]);
        assert_eq!(
            stdout(&again).trim_end(),
            ANSWER,
            "{blocks}: {}",
            stderr(&again)
        );
    }
    assert!(refused > 0, "no limit was small enough");
    cli.assert_sound("a full disk");
}

#[test]
fn a_wrong_clock_stops_the_binary_and_clock_set_mends_it() {
    let cli = Cli::new(Behaviour::Good);
    assert!(cli.run(&["ask", "now"]).status.success());
    // Somebody wrote with a clock that runs two hours ahead.
    let ahead = gently_clock() + 7200;
    let recorder = cli.rig.recorder(Seconds::new(ahead).unwrap());
    wait(recorder.auth_fail("ahead".to_owned(), Seconds::new(ahead).unwrap())).unwrap();
    drop(recorder);
    let stopped = cli.run(&["ask", "stopped"]);
    assert_eq!(
        (stopped.status.code(), stdout(&stopped)),
        (Some(3), String::new())
    );
    let said = stderr(&stopped);
    assert!(
        said.contains("more than an hour apart") && said.contains("gently audit clock-set"),
        "{said}"
    );
    assert!(said.contains("not recorded"), "{said}");
    let mended = cli.run(&["audit", "clock-set"]);
    assert!(mended.status.success(), "{}", stderr(&mended));
    let again = cli.run(&["ask", "again"]);
    assert_eq!(stdout(&again).trim_end(), ANSWER, "{}", stderr(&again));
    assert_eq!(
        cli.run(&["audit", "clock-set"]).status.code(),
        Some(2),
        "nothing to mend"
    );
    cli.assert_sound("clock set");
}

fn gently_clock() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

/// A fault that is not mended does not hold anybody up for ever.
#[test]
fn nobody_waits_longer_than_told() {
    let begun = Instant::now();
    let rig = Rig::new();
    let session = wait(
        rig.recorder(at(1))
            .open_session(rig.terms(), anchor(829_604), at(1)),
    )
    .unwrap();
    let recorder = rig.recorder(at(1));
    let gone = wait(prompt(&recorder, &session, "a", at(2))).unwrap();
    drop(recorder);
    // The prompt outlives its recorder, and still holds its session open.
    let recorder = rig.recorder(at(3));
    assert!(matches!(
        wait(recorder.close_session(session.id, anchor(829_604), at(3))),
        Err(RecorderError::InFlight { seq: 1, .. })
    ));
    drop(gone);
    wait(recorder.close_session(session.id, anchor(829_604), at(4))).unwrap();
    drop(recorder);
    rig.assert_sound("dropped");
    assert!(begun.elapsed() < PATIENCE);
}
