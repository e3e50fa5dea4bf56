//! A home for tests to write to with the real recorder, and what it must hold afterwards.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps an error fails, as it should"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use gently::audit::{DatabaseAudit, WithDatabase};
use gently::continuity::candidate::RecallResult;
use gently::continuity::compile::{Inputs, compile};
use gently::continuity::declared::{TurnContext, TurnPlace};
use gently::continuity::prompt::render;
use gently::govern::kernel::Kernel;
use gently::govern::sanitize::{Placeholders, redact};
use gently::home::{Home, InitOptions};
use gently::keys::{AuthKey, KeyError};
use gently::models::{Model, observer};
use gently::record::bitcoin::block::{Anchor, Block, Network, Source};
use gently::record::context::config::{ContextConfig, GENESIS_CONTEXT};
use gently::record::context::turn::Counts;
use gently::record::hash::Hash32;
use gently::record::ledger::bundle::{Measurement, Moment, NoSight, SightEntry};
use gently::record::ledger::commitment::Salt;
use gently::record::ledger::documents::AuthorityState;
use gently::record::ledger::params::Params;
use gently::record::time::Seconds;
use gently::record::tree::{Frontier, parse_note};
use gently::recorder::thread_id;
use gently::recorder::{
    FailpointWatch, Paths, Prompt, RecordedAnswer, RecordedPrompt, Recorder, RecorderError,
    RecorderTerms, Refusal, RefusedPrompt, SessionTerms, SyncPolicy, TurnEntry, unwatched,
};
use gently::store::{SessionRow, Store};
use gently::verify::{Evidence, Report, VerifyOptions, verify_as};

use crate::log::judge;

/// The clock's start: after the blocks that the tests use.
pub const T0: u64 = 1_767_830_400;

pub fn at(seconds: u64) -> Seconds {
    Seconds::new(T0 + seconds).unwrap()
}

/// Runs a future to its end.
pub fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

/// Bytes that differ on every call and are the same in every run.
pub fn counted() -> impl FnMut(&mut [u8]) -> Result<(), KeyError> {
    let mut calls = 0u64;
    move |buffer| {
        calls += 1;
        let stream = Hash32::digest(&calls.to_be_bytes());
        buffer
            .iter_mut()
            .zip(stream.as_bytes().iter().cycle())
            .for_each(|(to, from)| *to = *from);
        Ok(())
    }
}

/// The newest block at or below a height of the real headers in `tests/data`.
pub fn anchor(height: u32) -> Anchor {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/btc/headers.csv");
    let text = std::fs::read_to_string(path).unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with(&format!("{height},")))
        .unwrap();
    let [_, hash, header] = line.split(',').collect::<Vec<_>>().try_into().unwrap();
    let header: gently::record::bitcoin::block::Header = header.parse().unwrap();
    let block = Block {
        hash: hash.parse().unwrap(),
        height,
        network: Network::Bitcoin,
        source: Source::File,
        time: header.fields().time,
    };
    Anchor {
        block,
        header: Some(header),
    }
}

/// A home in a temporary directory.
pub struct Rig {
    place: Place,
}

enum Place {
    Own(tempfile::TempDir),
    Other(PathBuf),
}

impl Rig {
    /// A new home with deterministic keys.
    pub fn new() -> Self {
        crate::person::at_rest();
        let dir = tempfile::tempdir().unwrap();
        Home::init(
            &dir.path().join("home"),
            &InitOptions::default(),
            &mut counted(),
            at(0),
        )
        .unwrap();
        Rig::of(dir)
    }

    /// A new home in which a story was told: sound, and with nobody writing to it.
    pub fn told(story: impl AsyncFnOnce(&Rig, &Recorder)) -> Self {
        let rig = Rig::new();
        let recorder = rig.recorder(at(1));
        wait(story(&rig, &recorder));
        drop(recorder);
        rig.assert_sound("the story");
        rig
    }

    /// The home at `home` in a directory.
    pub fn of(dir: tempfile::TempDir) -> Self {
        Rig {
            place: Place::Own(dir),
        }
    }

    /// A home that is somebody else's to remove.
    pub fn borrowed(root: &Path) -> Self {
        Rig {
            place: Place::Other(root.to_owned()),
        }
    }

    /// A copy of the home in a directory of its own.
    pub fn copy(&self) -> Self {
        let dir = tempfile::tempdir().unwrap();
        copy_all(&self.root(), &dir.path().join("home"));
        Rig::of(dir)
    }

    pub fn root(&self) -> PathBuf {
        match &self.place {
            Place::Own(dir) => dir.path().join("home"),
            Place::Other(root) => root.clone(),
        }
    }

    pub fn home(&self) -> Home {
        Home::open(&self.root()).unwrap().unwrap()
    }

    /// Where the parts are, also of a home that is not whole.
    pub fn home_paths(&self) -> Paths {
        Paths { root: self.root() }
    }

    pub fn store(&self) -> Store {
        Store::open_read_only(&self.root().join("gently.db")).unwrap()
    }

    pub fn log(&self) -> Vec<u8> {
        std::fs::read(self.root().join("audit.log")).unwrap()
    }

    pub fn recorder(&self, now: Seconds) -> Recorder {
        self.watched(now, unwatched()).unwrap()
    }

    pub fn watched(&self, now: Seconds, watch: FailpointWatch) -> Result<Recorder, RecorderError> {
        self.syncing(SyncPolicy::EachBatch, now, watch)
    }

    pub fn syncing(
        &self,
        sync_policy: SyncPolicy,
        now: Seconds,
        watch: FailpointWatch,
    ) -> Result<Recorder, RecorderError> {
        let home = self.home();
        let terms = RecorderTerms {
            sync_policy,
            ..RecorderTerms::default()
        };
        Recorder::open_with(home.paths(), home.signing_key().unwrap(), now, watch, terms)
    }

    pub fn terms(&self) -> SessionTerms {
        let kernel = Kernel::genesis();
        SessionTerms {
            auth_key_hash: AuthKey::load(&self.home().auth_key_path()).unwrap().hash(),
            kernel_hash: kernel.hash(),
            kernel_json: kernel.canonical_json().to_owned(),
            model: observer::ID.to_owned(),
            host_role: "test".to_owned(),
            phase: kernel.phase().to_owned(),
            tier: kernel.tier(),
        }
    }

    /// What the verifier says of ledger, log and database.
    pub fn report(&self) -> Report {
        let (repository, log) = (
            self.root().join("ledger.git"),
            self.root().join("audit.log"),
        );
        let pinned = self.home().signing_key().unwrap().public();
        let store = self.store();
        let database = |look: &mut WithDatabase<'_>| {
            store.begin_read()?;
            let looked = look(&store);
            store.end_read()?;
            looked
        };
        let evidence = Evidence {
            repository: &repository,
            log: Some(&log),
            checkpoint: Some(&log.with_file_name("audit.checkpoint")),
            signers: &[pinned],
        };
        let options = VerifyOptions {
            owner: Some(&DatabaseAudit(&database)),
            ..VerifyOptions::default()
        };
        verify_as(&evidence, options).unwrap()
    }

    /// Stock git has nothing to say, the log keeps all rules, the database knows the same head, and
    /// the verifier finds nothing.
    pub fn assert_sound(&self, what: &str) {
        let fsck = Command::new("git")
            .arg("-C")
            .arg(self.root().join("ledger.git"))
            .args(["fsck", "--strict", "--no-progress"])
            .output()
            .unwrap();
        let said = [fsck.stdout, fsck.stderr].concat();
        assert!(
            fsck.status.success() && said.is_empty(),
            "{what}: git fsck: {}",
            String::from_utf8_lossy(&said)
        );
        let log = self.log();
        let (verdict, state) = judge(&log);
        assert_eq!(
            (verdict.findings, verdict.torn),
            (Vec::new(), false),
            "{what}"
        );
        let head = self.store().head().unwrap();
        assert_eq!(
            (head.lines, head.hash, head.bytes),
            (state.count(), state.head(), log.len() as u64),
            "{what}"
        );
        assert_eq!(
            (head.applied.lines, head.applied.bytes, head.applied.commits),
            (head.lines, head.bytes, head.commits),
            "{what}"
        );
        let report = self.report();
        assert_eq!(report.findings, [], "{what}");
        assert!(report.passes(), "{what}");
        assert_eq!(report.log_head, head.hash, "{what}");
        self.assert_signed(what);
    }

    /// The tree head beside the log.
    pub fn checkpoint(&self) -> String {
        std::fs::read_to_string(self.root().join("audit.checkpoint")).unwrap()
    }

    /// The tree head beside the log is over all its lines, by the key in force at the last of them,
    /// and the database's.
    pub fn assert_signed(&self, what: &str) {
        let (log, head) = (
            String::from_utf8(self.log()).unwrap(),
            self.store().head().unwrap(),
        );
        let note = parse_note(&self.checkpoint()).unwrap_or_else(|e| panic!("{what}: {e}"));
        let mut tree = Frontier::new();
        log.lines().for_each(|line| tree.push(line.as_bytes()));
        assert_eq!((note.size, note.root), (tree.size(), tree.root()), "{what}");
        assert_eq!(
            head.checkpoint.as_deref(),
            Some(self.checkpoint().as_str()),
            "{what}"
        );
        if !log.lines().last().unwrap().contains("|key_rotate|") {
            assert!(note.verify(&head.signer), "{what}: another signer");
        }
        assert!(
            !self.root().join("audit.checkpoint.new").exists(),
            "{what}: a file is left over"
        );
    }

    /// Every file of the evidence, with its bytes; locks and SQLite's shared memory are none.
    pub fn bytes(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut all = BTreeMap::new();
        for part in [
            "audit.log",
            "audit.checkpoint",
            "ledger.git",
            "gently.db",
            "gently.db-wal",
        ] {
            read_all(&self.root().join(part), &mut all);
        }
        all.retain(|path, bytes| !(path.ends_with("gently.db-wal") && bytes.is_empty()));
        all
    }

    pub fn open_sessions(&self) -> Vec<SessionRow> {
        self.store().open_sessions().unwrap()
    }

    /// Events of a type in the log.
    pub fn count(&self, event: &str) -> usize {
        let log = String::from_utf8(self.log()).unwrap();
        log.lines()
            .filter(|line| line.split('|').nth(3) == Some(event))
            .count()
    }
}

pub fn read_all(path: &Path, into: &mut BTreeMap<PathBuf, Vec<u8>>) {
    if path.is_dir() {
        std::fs::read_dir(path)
            .unwrap()
            .for_each(|entry| read_all(&entry.unwrap().path(), into));
    } else if path.exists() {
        into.insert(path.to_owned(), std::fs::read(path).unwrap());
    }
}

pub fn copy_all(from: &Path, to: &Path) {
    if from.is_dir() {
        std::fs::create_dir_all(to).unwrap();
        std::fs::set_permissions(to, std::fs::metadata(from).unwrap().permissions()).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            copy_all(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        std::fs::copy(from, to).unwrap();
    }
}

/// So many lines outside sessions, recorded together.
pub async fn fill(recorder: &Recorder, lines: usize, now: Seconds) {
    let many = (0..lines).map(|n| recorder.auth_fail(format!("r{n}"), now));
    futures_util::future::join_all(many)
        .await
        .into_iter()
        .for_each(|done| done.unwrap());
}

/// Object files are read-only; a power loss and a failing disk are not stopped by that.
pub fn overwrite(path: &Path, bytes: &[u8]) {
    std::fs::remove_file(path).unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn sight(now: Seconds) -> BTreeMap<String, SightEntry> {
    let entry = SightEntry::Seen {
        observed_at: Moment(now),
        freshness_s: 0,
        values: BTreeMap::from([("cores".to_owned(), Measurement::Count(2))]),
        unknowns: vec!["gpu_health".to_owned()],
    };
    // Of the other tools the machine that tests has none.
    let none = || SightEntry::Unavailable {
        reason: NoSight::NotInstalled,
        unknowns: vec![],
    };
    let mut sight: BTreeMap<String, SightEntry> = Kernel::genesis()
        .tools()
        .iter()
        .map(|tool| (tool.clone(), none()))
        .collect();
    sight.insert("sys_health".to_owned(), entry);
    sight
}

/// As many as a turn can need.
pub fn action_salts(text: &str) -> Vec<Salt> {
    (0..8).map(|n| salt(&format!("{text}/{n}"))).collect()
}

fn salt(text: &str) -> Salt {
    Salt::new(*Hash32::digest(text.as_bytes()).as_bytes())
}

/// A turn of the session's own thread that refers to nothing.
pub fn alone(session: &SessionRow) -> TurnContext {
    TurnContext::alone(
        &ContextConfig::parse(GENESIS_CONTEXT).unwrap(),
        TurnPlace::of_message(thread_id(session.id, 0), None),
    )
}

/// The pipeline up to the recorded prompt.
pub async fn prompt(
    recorder: &Recorder,
    session: &SessionRow,
    text: &str,
    now: Seconds,
) -> Result<RecordedPrompt, RecorderError> {
    prompt_numbered(recorder, session, text, Placeholders::new([0; 32]), now).await
}

/// The same with the numbers that its text was redacted with.
pub async fn prompt_numbered(
    recorder: &Recorder,
    session: &SessionRow,
    text: &str,
    numbers: Placeholders,
    now: Seconds,
) -> Result<RecordedPrompt, RecorderError> {
    prompt_in(recorder, session, (alone(session), text), numbers, now).await
}

/// The same with a context of its own.
pub async fn prompt_in(
    recorder: &Recorder,
    session: &SessionRow,
    (context, text): (TurnContext, &str),
    numbers: Placeholders,
    now: Seconds,
) -> Result<RecordedPrompt, RecorderError> {
    let kernel = Kernel::genesis();
    let clean = redact(text).clean;
    let inputs = Inputs {
        session_id: session.uuid,
        user_input: &clean,
        kernel: &kernel,
        host_role: &session.host_role,
        model_id: observer::ID,
        now,
        sight: sight(now),
        recalled: &RecallResult::default(),
    };
    let bundle = compile(&inputs).unwrap();
    let compiled = render(&kernel, &bundle, (None, &Params::default()), (&clean, None));
    let prompt = Prompt {
        params: Params::default(),
        session: session.id,
        text: clean,
        bundle,
        compiled,
        context,
        counts: Counts::default(),
        authority_state: AuthorityState::Ok,
        salt: salt(text),
        action_salts: action_salts(text),
        numbers,
        anchor: None,
        now,
        entry: TurnEntry::default(),
    };
    recorder.prompt(prompt).await
}

/// The pipeline from the recorded prompt to the recorded answer.
pub async fn answer(
    recorder: &Recorder,
    prompt: RecordedPrompt,
    now: Seconds,
) -> Result<RecordedAnswer, RecorderError> {
    let reply = Model::observer().invoke(&prompt).await.unwrap();
    let judged = reply.judge(&Kernel::genesis(), &prompt);
    recorder.answer(prompt, judged, now).await
}

pub async fn turn(
    recorder: &Recorder,
    session: &SessionRow,
    text: &str,
    now: Seconds,
) -> Result<RecordedAnswer, RecorderError> {
    let prompt = prompt(recorder, session, text, now).await?;
    answer(recorder, prompt, now).await
}

/// A prompt that policy denies.
pub fn denied(session: &SessionRow, text: &str, now: Seconds) -> RefusedPrompt {
    RefusedPrompt {
        session: session.id,
        text: redact(text).clean,
        refusal: Refusal::Denied {
            reason: "authority.denied".to_owned(),
            codes: vec!["authority.denied".to_owned()],
        },
        context: alone(session),
        counts: Counts::default(),
        authority_state: AuthorityState::Blocked,
        salt: salt(text),
        action_salts: action_salts(text),
        numbers: Placeholders::new([0; 32]),
        anchor: None,
        now,
        entry: TurnEntry::default(),
    }
}

#[test]
fn a_whole_ledger_is_sound() {
    let rig = Rig::new();
    rig.assert_sound("a new home");
    let recorder = rig.recorder(at(10));
    wait(async {
        let a = recorder
            .open_session(rig.terms(), anchor(829_604), at(10))
            .await
            .unwrap();
        let b = recorder
            .open_session(rig.terms(), anchor(829_604), at(11))
            .await
            .unwrap();
        let c = recorder
            .open_session(rig.terms(), anchor(829_605), at(12))
            .await
            .unwrap();
        assert_ne!(a.id, b.id);
        let first = turn(&recorder, &a, "one", at(13)).await.unwrap();
        assert_eq!((first.ids.seq, first.session.interactions), (1, 1));
        recorder.refuse(denied(&b, "two", at(14))).await.unwrap();
        let gone = prompt(&recorder, &b, "three", at(15)).await.unwrap();
        recorder
            .fail(gone, "timeout".to_owned(), at(16))
            .await
            .unwrap();
        assert!(
            recorder
                .anchor(c.id, anchor(829_606), at(17))
                .await
                .unwrap()
        );
        assert!(
            !recorder
                .anchor(c.id, anchor(829_605), at(18))
                .await
                .unwrap()
        );
        turn(&recorder, &c, "four", at(19)).await.unwrap();
        recorder
            .close_session(a.id, anchor(829_606), at(20))
            .await
            .unwrap();
        // `main` has moved, and the branch of the closed session is taken up again.
        let d = recorder
            .open_session(rig.terms(), anchor(829_604), at(21))
            .await
            .unwrap();
        turn(&recorder, &d, "five", at(22)).await.unwrap();
        // A dropped prompt is abandoned at the close; a lagging source does not take a session
        // back.
        drop(prompt(&recorder, &d, "six", at(23)).await.unwrap());
        for session in [b.id, c.id, d.id] {
            let local = Anchor::local(Network::Bitcoin, at(24));
            let block = if session == b.id {
                local
            } else {
                anchor(829_604)
            };
            recorder
                .close_session(session, block, at(24))
                .await
                .unwrap();
        }
        match recorder.close_session(d.id, anchor(829_604), at(25)).await {
            Err(RecorderError::NotOpen { session }) => assert_eq!(session, d.id),
            other => panic!("{other:?}"),
        }
    });
    drop(recorder);
    rig.assert_sound("closed");
    let log = String::from_utf8(rig.log()).unwrap();
    assert_eq!(log.matches("reason:abandoned").count(), 1);
    assert_eq!(rig.report().sessions.len(), 4);
    for word in ["one", "two", "three", "observer is no"] {
        assert!(!log.contains(&format!(" {word} ")), "{word}");
    }
}

#[test]
fn auth_failures_are_gathered_per_minute() {
    let rig = Rig::new();
    let recorder = rig.recorder(at(0));
    wait(async {
        for second in [1, 2, 3, 59, 60] {
            recorder
                .auth_fail("wrong_key".to_owned(), at(second))
                .await
                .unwrap();
        }
        recorder
            .auth_fail("missing_key".to_owned(), at(60))
            .await
            .unwrap();
        assert_eq!(rig.count("auth_fail"), 2);
        // Whatever comes after the minute brings the line of those that were counted.
        recorder
            .open_session(rig.terms(), anchor(829_604), at(61))
            .await
            .unwrap();
    });
    drop(recorder);
    let log = String::from_utf8(rig.log()).unwrap();
    let lines: Vec<&str> = log
        .lines()
        .filter_map(|line| line.split_once("|auth_fail|-|").map(|(_, rest)| rest))
        .collect();
    assert_eq!(
        lines,
        [
            "reason:wrong_key,count:1",
            "reason:missing_key,count:1",
            "reason:wrong_key,count:4"
        ]
    );
    rig.assert_sound("gathered");
}

#[test]
fn a_job_that_fails_leaves_nothing_of_itself_in_its_batch() {
    let rig = Rig::new();
    let recorder = rig.recorder(at(0));
    let session = wait(recorder.open_session(rig.terms(), anchor(829_604), at(1))).unwrap();
    let before = rig.store().head().unwrap().lines;
    let nobody = SessionRow {
        id: Hash32::digest(b"nobody"),
        ..session.clone()
    };
    // The writer is held up, so that all of these wait at once and become one batch.
    let gate = std::fs::File::open(rig.root().join("writer.lock")).unwrap();
    gate.lock().unwrap();
    let (good, bad, also_good) = wait(async {
        let release = async {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            gate.unlock().unwrap();
        };
        let (good, bad, also_good, ()) = tokio::join!(
            prompt(&recorder, &session, "a", at(2)),
            prompt(&recorder, &nobody, "b", at(2)),
            prompt(&recorder, &session, "c", at(2)),
            release
        );
        (good, bad, also_good)
    });
    assert_eq!(good.unwrap().ids().seq, 1);
    assert_eq!(also_good.unwrap().ids().seq, 2);
    assert!(matches!(bad, Err(RecorderError::NotOpen { .. })), "{bad:?}");
    assert_eq!(rig.store().head().unwrap().lines, before + 2);
    wait(recorder.close_session(session.id, anchor(829_604), at(3))).unwrap();
    drop(recorder);
    rig.assert_sound("after a failed job");
}

#[test]
fn checkpoints_come_after_200_lines_or_an_hour() {
    let rig = Rig::new();
    let recorder = rig.recorder(at(0));
    wait(async {
        let session = recorder
            .open_session(rig.terms(), anchor(829_604), at(1))
            .await
            .unwrap();
        let many = (0..210).map(|n| recorder.auth_fail(format!("r{n}"), at(2)));
        futures_util::future::join_all(many)
            .await
            .into_iter()
            .for_each(|done| done.unwrap());
        assert_eq!(rig.count("checkpoint"), 1);
        turn(&recorder, &session, "soon", at(3600)).await.unwrap();
        assert_eq!(rig.count("checkpoint"), 1);
        turn(&recorder, &session, "later", at(3603)).await.unwrap();
        assert_eq!(rig.count("checkpoint"), 2);
        recorder
            .close_session(session.id, anchor(829_604), at(9000))
            .await
            .unwrap();
        // Without an open session nothing is due.
        recorder
            .auth_fail("r".to_owned(), at(90_000))
            .await
            .unwrap();
        assert_eq!(rig.count("checkpoint"), 2);
    });
    drop(recorder);
    rig.assert_sound("with checkpoints");
}

#[test]
fn a_clock_that_is_wrong_is_named_and_mended() {
    let rig = Rig::new();
    let recorder = rig.recorder(at(10_000));
    let session = wait(recorder.open_session(rig.terms(), anchor(829_604), at(10_000))).unwrap();
    // Ten minutes back: the last time is repeated.
    let answer = wait(turn(&recorder, &session, "a", at(9_400))).unwrap();
    assert_eq!(answer.session.last_at, at(10_000));
    assert!(matches!(
        wait(recorder.clock_set(at(9_400))),
        Err(RecorderError::ClockFine { .. })
    ));
    // An hour and a second back: the writer stops.
    wait(recorder.auth_fail("early".to_owned(), at(10_000))).unwrap();
    wait(recorder.auth_fail("early".to_owned(), at(10_001))).unwrap();
    let before = rig.log();
    let stopped = wait(turn(&recorder, &session, "b", at(6_399))).unwrap_err();
    assert!(
        matches!(stopped, RecorderError::ClockBehind { last, now } if last == at(10_000) && now == at(6_399))
    );
    assert!(
        stopped.to_string().contains("gently audit clock-set"),
        "{stopped}"
    );
    assert_eq!(rig.log(), before);
    wait(recorder.clock_set(at(6_399))).unwrap();
    wait(turn(&recorder, &session, "c", at(6_400))).unwrap();
    wait(recorder.close_session(session.id, anchor(829_604), at(6_401))).unwrap();
    drop(recorder);
    assert_eq!((rig.count("clock_set"), rig.count("auth_fail")), (1, 2));
    rig.assert_sound("after clock_set");
}
