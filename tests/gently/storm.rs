//! Writers on one home, threads and processes, killed at random with SIGKILL: nothing acknowledged
//! is lost.
//!
//! `GENTLY_STORM_SECONDS` says how long; a few seconds in the gate, 60 by hand (`docs/guide/durability.md`).

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps an error fails, as it should"
)]

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use gently::home::Home;
use gently::record::exchange::ExchangeOutcome;
use gently::record::hash::Hash32;
use gently::record::time::Seconds;
use gently::recorder::{RecordedAnswer, Recorder, RecorderError, unwatched};
use gently::store::{Store, StoreError};

use crate::recorder::{Rig, anchor, turn, wait};

/// How long the storm lasts, in seconds.
const LASTS: &str = "GENTLY_STORM_SECONDS";
/// In the gate.
const BRIEFLY: u64 = 5;
/// Tells a child which home to write to, and where to note what was acknowledged.
const CHILD: &str = "GENTLY_TEST_STORM";
/// The name of the test that a child process runs.
const CHILD_TEST: &str = "storm::a_writer_that_is_killed";
/// Processes that write through the library at any moment; one more runs the program itself.
const PROCESSES: u64 = 3;
/// Threads of each.
const THREADS: u64 = 3;
/// Every so many turns a thread closes the session, whoever else is in it.
const CLOSES: u64 = 5;

fn clock() -> Seconds {
    Seconds::new(
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs(),
    )
    .unwrap()
}

/// A number below `below`, the same in every run.
fn drawn(lane: u64, nth: u64, below: u64) -> u64 {
    let bytes = Hash32::digest(format!("{lane}.{nth}").as_bytes());
    let [a, b, c, d, ..] = *bytes.as_bytes();
    u64::from(u32::from_be_bytes([a, b, c, d])) % below
}

/// Refusals that many writers at once may meet, and after which nothing is on record.
fn is_crowding(error: &RecorderError) -> bool {
    match error {
        RecorderError::Locked { .. }
        | RecorderError::NotOpen { .. }
        | RecorderError::InFlight { .. } => true,
        RecorderError::Store(StoreError::Busy { .. }) => true,
        RecorderError::NotRecorded(cause) => is_crowding(cause),
        _ => false,
    }
}

async fn one_turn(
    rig: &Rig,
    recorder: &Recorder,
    text: &str,
    close: bool,
) -> Result<RecordedAnswer, RecorderError> {
    let (session, _) = recorder
        .resume_or_open(rig.terms(), anchor(829_604), clock())
        .await?;
    let answered = turn(recorder, &session, text, clock()).await?;
    if close {
        match recorder
            .close_session(session.id, anchor(829_605), clock())
            .await
        {
            Err(error) if !is_crowding(&error) => return Err(error),
            _ => {}
        }
    }
    Ok(answered)
}

/// Writes turns for ever, and notes each after it was acknowledged, with one write.
fn write_on(rig: &Rig, recorder: &Recorder, notes: &Path, name: &str) {
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(notes)
        .unwrap();
    for n in 1.. {
        let text = format!("{name}.{n}");
        let note = match wait(one_turn(rig, recorder, &text, n % CLOSES == 0)) {
            Ok(answer) => format!(
                "answered {} {} {} {} {text}\n",
                answer.ids.exchange, answer.chain_entry, answer.response_line, answer.commit
            ),
            Err(error) if is_crowding(&error) => "crowded\n".to_owned(),
            Err(error) => format!("error {error}\n"),
        };
        file.write_all(note.as_bytes()).unwrap();
    }
}

#[test]
fn a_writer_that_is_killed() {
    let Some(told) = std::env::var_os(CHILD) else {
        return;
    };
    let told = told.into_string().unwrap();
    let [root, notes, name]: [&str; 3] =
        told.split('\u{1}').collect::<Vec<_>>().try_into().unwrap();
    let rig = Rig::borrowed(Path::new(root));
    let home = Home::open(Path::new(root)).unwrap().unwrap();
    let recorder = loop {
        match Recorder::open(
            home.paths(),
            home.signing_key().unwrap(),
            clock(),
            unwatched(),
        ) {
            Ok(recorder) => break recorder,
            Err(error) if is_crowding(&error) => {}
            Err(error) => {
                return fs::write(format!("{notes}.{name}.open"), format!("error {error}\n"))
                    .unwrap();
            }
        }
    };
    // Opening healed whatever the one that was killed before left behind.
    fs::write(format!("{notes}.{name}.open"), "opened\n").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (rig, recorder) = (&rig, &recorder);
            scope.spawn(move || {
                let name = format!("{name}.{thread}");
                write_on(rig, recorder, Path::new(&format!("{notes}.{name}")), &name);
            });
        }
    });
}

struct Storm {
    rig: Rig,
    notes: tempfile::TempDir,
    until: Instant,
    kills: AtomicUsize,
}

impl Storm {
    fn writer(&self, name: &str) -> Child {
        let notes = self.notes.path().join("notes");
        let told = [
            self.rig.root().to_str().unwrap(),
            notes.to_str().unwrap(),
            name,
        ]
        .join("\u{1}");
        Command::new(std::env::current_exe().unwrap())
            .args([CHILD_TEST, "--exact", "--nocapture"])
            .env(CHILD, told)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Lets a process live for a while, kills it, starts the next.
    fn kill_writers(&self, lane: u64) {
        for nth in 0.. {
            if Instant::now() >= self.until {
                return;
            }
            let mut child = self.writer(&format!("{lane}.{nth}"));
            std::thread::sleep(Duration::from_millis(100 + drawn(lane, nth, 2900)));
            child.kill().unwrap();
            self.kills.fetch_add(
                usize::from(child.wait().unwrap().signal() == Some(9)),
                Ordering::SeqCst,
            );
        }
    }

    /// The same with the program itself, one question a process; two in three are killed.
    fn kill_the_program(&self, lane: u64) {
        let notes = self.notes.path().join(format!("notes.{lane}.program"));
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(notes)
            .unwrap();
        for nth in 0.. {
            if Instant::now() >= self.until {
                return;
            }
            let text = format!("program.{nth}");
            let mut child = self.ask(&text);
            let lives = drawn(lane, nth, 450);
            if lives < 300 {
                std::thread::sleep(Duration::from_millis(lives));
                child.kill().unwrap();
            }
            let (mut shown, mut said) = (String::new(), String::new());
            child
                .stdout
                .take()
                .unwrap()
                .read_to_string(&mut shown)
                .unwrap();
            child
                .stderr
                .take()
                .unwrap()
                .read_to_string(&mut said)
                .unwrap();
            let ended = child.wait().unwrap();
            self.kills
                .fetch_add(usize::from(ended.signal() == Some(9)), Ordering::SeqCst);
            // What it has shown it has promised, however it ended.
            let facts: Option<serde_json::Value> = serde_json::from_str(&shown).ok();
            let note = match facts.filter(|facts| facts["answer"].is_string()) {
                Some(facts) => {
                    let [exchange, chain, line, commit] =
                        ["exchange", "chain_entry", "response_line", "commit"]
                            .map(|name| facts[name].as_str().unwrap().to_owned());
                    format!("answered {exchange} {chain} {line} {commit} {text}\n")
                }
                None if ended.signal().is_some() => continue,
                None if said.contains("another gently is writing")
                    || said.contains("stayed locked") =>
                {
                    continue;
                }
                None => format!("error {ended} {shown} {said}\n"),
            };
            file.write_all(note.as_bytes()).unwrap();
        }
    }

    fn ask(&self, text: &str) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gently"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("GENTLY_") {
                command.env_remove(name);
            }
        }
        command
            .args(["ask", "--json", "--sight", "--model", "observer", text])
            .env("GENTLY_HOME", self.rig.root())
            .env("GENTLY_ANCHOR_MODE", "off")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Every whole line of every file of notes; a note that a kill cut in two promises nothing.
    fn noted(&self) -> Vec<String> {
        let files = fs::read_dir(self.notes.path())
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let texts = files.map(|path: PathBuf| fs::read_to_string(path).unwrap());
        texts
            .flat_map(|text| {
                text.split_inclusive('\n')
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            })
            .filter_map(|line| line.strip_suffix('\n').map(str::to_owned))
            .collect()
    }

    /// Every session is closed; prompts of the dead are abandoned.
    ///
    /// A ref's lock that a dead writer left is taken for another program's until it is ten seconds
    /// old.
    fn close_all(&self) {
        let begin = Instant::now();
        let recorder = loop {
            match self.rig.watched(clock(), unwatched()) {
                Ok(recorder) => break recorder,
                Err(error) if begin.elapsed() > Duration::from_secs(30) => panic!("{error}"),
                Err(_) => std::thread::sleep(Duration::from_millis(200)),
            }
        };
        for session in self.rig.open_sessions() {
            wait(recorder.close_session(session.id, anchor(829_606), clock())).unwrap();
        }
    }
}

/// What was acknowledged is on record as it was: in the database, the log, and the ledger.
fn assert_on_record(
    note: &str,
    store: &Store,
    lines: &BTreeSet<String>,
    commits: &BTreeSet<String>,
) {
    let [exchange, chain, line, commit, text]: [&str; 5] =
        note.splitn(5, ' ').collect::<Vec<_>>().try_into().unwrap();
    let row = store
        .exchange(exchange.parse().unwrap())
        .unwrap()
        .unwrap_or_else(|| panic!("lost: {note}"));
    let outcome = row
        .outcome
        .unwrap_or_else(|| panic!("without outcome: {note}"));
    assert_eq!(outcome.outcome, ExchangeOutcome::Answered, "{note}");
    assert_eq!(outcome.chain_entry.unwrap().to_string(), chain, "{note}");
    let asked = store.turn(row.turn_user).unwrap().unwrap();
    assert_eq!(asked.content.as_deref(), Some(text), "{note}");
    assert_eq!(
        asked.content_hash,
        Some(Hash32::digest(text.as_bytes())),
        "{note}"
    );
    assert!(
        store
            .turn(outcome.turn_aurora.unwrap())
            .unwrap()
            .unwrap()
            .content
            .is_some(),
        "{note}"
    );
    assert!(lines.contains(line), "not in the log: {note}");
    assert!(commits.contains(commit), "not in the ledger: {note}");
}

#[test]
fn nothing_acknowledged_is_lost_when_writers_are_killed() {
    let lasts = std::env::var(LASTS).map_or(BRIEFLY, |text| text.parse().unwrap());
    let until = Instant::now() + Duration::from_secs(lasts);
    let notes = tempfile::tempdir().unwrap();
    let storm = Storm {
        rig: Rig::new(),
        notes,
        until,
        kills: AtomicUsize::new(0),
    };
    std::thread::scope(|scope| {
        for lane in 0..PROCESSES {
            let storm = &storm;
            scope.spawn(move || storm.kill_writers(lane));
        }
        scope.spawn(|| storm.kill_the_program(PROCESSES));
    });
    storm.close_all();
    storm.rig.assert_sound("after the storm");
    let noted = storm.noted();
    let errors: Vec<&String> = noted
        .iter()
        .filter(|note| note.starts_with("error"))
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
    let log = String::from_utf8(storm.rig.log()).unwrap();
    let lines = log
        .lines()
        .map(|line| line.split('|').next().unwrap().to_owned())
        .collect();
    let git = storm.rig.root().join("ledger.git");
    let listed = Command::new("git")
        .arg("-C")
        .arg(git)
        .args(["rev-list", "--all"])
        .output()
        .unwrap();
    let commits = String::from_utf8(listed.stdout)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    let store = storm.rig.store();
    let acknowledged: Vec<&str> = noted
        .iter()
        .filter_map(|note| note.strip_prefix("answered "))
        .collect();
    acknowledged
        .iter()
        .for_each(|note| assert_on_record(note, &store, &lines, &commits));
    let (kills, answered) = (
        storm.kills.load(Ordering::SeqCst),
        storm.rig.count("response"),
    );
    assert!(
        kills > 0 && !acknowledged.is_empty(),
        "{kills} kills, {} acknowledged: no storm",
        acknowledged.len()
    );
    assert!(answered >= acknowledged.len());
    eprintln!(
        "storm of {lasts} s: {kills} kills, {} opened again, {} acknowledged and on record, {answered} answers in all, \
         {} healed with a recover line, {} prompts abandoned, {} refused for the crowd; {} lines, {} sessions",
        noted.iter().filter(|note| *note == "opened").count(),
        acknowledged.len(),
        storm.rig.count("recover"),
        log.matches("reason:abandoned").count(),
        noted.iter().filter(|note| *note == "crowded").count(),
        log.lines().count(),
        storm.rig.count("session_start")
    );
}
