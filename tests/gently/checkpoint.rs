//! The signed tree head beside the log: after every batch over every line, by the key in force, and
//! of no other history.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps an error fails, as it should"
)]

use std::fs;
use std::process::Command;
use std::sync::{Arc, Mutex};

use gently::keys::SigningKey;
use gently::record::ledger::commitment::Salt;
use gently::record::time::Seconds;
use gently::record::tree::{Frontier, note, parse_note};
use gently::recorder::{
    ArtifactId, Failpoint, FailpointWatch, NewArtifact, Recorder, RecorderError, always, rebuild,
    sign_rebuilt,
};

use crate::at_hand::EventCache;
use crate::recorder::{Rig, anchor, at, fill, turn, wait};

/// The note of another history with our key: over one line more, or over as many of which one is
/// different.
fn forged(rig: &Rig, key: &SigningKey, change: impl Fn(&mut Vec<String>)) -> String {
    let mut lines: Vec<String> = String::from_utf8(rig.log())
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    change(&mut lines);
    let mut tree = Frontier::new();
    lines.iter().for_each(|line| tree.push(line.as_bytes()));
    let origin = parse_note(&rig.checkpoint()).unwrap().origin;
    note(&origin, tree.size(), tree.root(), &key.public(), &|bytes| {
        Ok::<_, RecorderError>(key.sign(bytes))
    })
    .unwrap()
}

fn told() -> Rig {
    Rig::told(async |rig, recorder| {
        let session = recorder
            .open_session(rig.terms(), anchor(829_604), at(1))
            .await
            .unwrap();
        turn(recorder, &session, "the first", at(2)).await.unwrap();
    })
}

#[test]
fn after_every_batch_it_is_over_every_line() {
    let rig = Rig::new();
    rig.assert_signed("a new home");
    // When the tree head is replaced the lines it covers are in the log, and whoever asked has no
    // answer yet.
    let seen: Arc<Mutex<Vec<(u64, u64)>>> = Arc::default();
    let (noting, root) = (seen.clone(), rig.root());
    let watch: FailpointWatch = Arc::new(move |step| {
        if step == Failpoint::AfterCheckpoint {
            let log = fs::read_to_string(root.join("audit.log")).unwrap();
            let size = parse_note(&fs::read_to_string(root.join("audit.checkpoint")).unwrap())
                .unwrap()
                .size;
            noting
                .lock()
                .unwrap()
                .push((size, log.lines().count() as u64));
        }
        true
    });
    let recorder = rig.watched(at(1), watch).unwrap();
    wait(async {
        let session = recorder
            .open_session(rig.terms(), anchor(829_604), at(1))
            .await
            .unwrap();
        rig.assert_signed("a session");
        turn(&recorder, &session, "the first", at(2)).await.unwrap();
        rig.assert_signed("a turn");
        fill(&recorder, 230, at(3)).await;
        rig.assert_signed("many at once");
        recorder
            .close_session(session.id, anchor(829_605), at(4))
            .await
            .unwrap();
        rig.assert_signed("a close");
    });
    drop(recorder);
    let seen = seen.lock().unwrap();
    assert!(
        seen.len() >= 5 && seen.iter().all(|(size, lines)| size == lines),
        "{seen:?}"
    );
    // The close's own tree head is over the same lines, and is the same text: one signature is
    // made.
    let git = rig.root().join("ledger.git");
    let shown = Command::new("git")
        .arg("-C")
        .arg(git)
        .args(["show", "main:checkpoint"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(shown.stdout).unwrap(), rig.checkpoint());
    rig.assert_sound("the story");
}

#[test]
fn a_rotation_is_signed_by_the_old_key_and_what_follows_by_the_new_one() {
    let rig = told();
    let old = rig.home().signing_key().unwrap();
    let new = SigningKey::from_seed(&[9; 32]);
    let recorder = rig.recorder(at(3));
    wait(async {
        for session in rig.open_sessions() {
            recorder
                .close_session(session.id, anchor(829_605), at(4))
                .await
                .unwrap();
        }
        // Together with others: nothing can follow the rotation in the batch, since the old key
        // must not sign it.
        let (rotated, late) = tokio::join!(
            recorder.rotate(new.public(), at(5)),
            recorder.auth_fail("late".to_owned(), at(5))
        );
        rotated.unwrap();
        let words = late.unwrap_err().to_string();
        assert!(words.contains("is signed with"), "{words}");
    });
    drop(recorder);
    let rotation = parse_note(&rig.checkpoint()).unwrap();
    assert!(
        rotation.verify(&old.public()),
        "the rotation's own tree head"
    );
    assert_eq!(rotation.size, rig.store().head().unwrap().lines);
    rig.assert_signed("rotated");
    let open = |key: SigningKey| {
        Recorder::open(rig.home_paths(), key, at(6), gently::recorder::unwatched())
    };
    assert!(matches!(open(old), Err(RecorderError::WrongSigner { .. })));
    let before = rig.checkpoint();
    let recorder = open(SigningKey::from_seed(&[9; 32])).unwrap();
    assert_eq!(rig.checkpoint(), before, "opening alone signs nothing anew");
    wait(recorder.auth_fail("r".to_owned(), at(7))).unwrap();
    drop(recorder);
    assert!(parse_note(&rig.checkpoint()).unwrap().verify(&new.public()));
    rig.assert_signed("after it");
}

#[test]
fn a_tree_head_of_another_history_stops_the_writer() {
    let rig = told();
    let key = rig.home().signing_key().unwrap();
    let path = rig.root().join("audit.checkpoint");
    type Change = fn(&mut Vec<String>);
    let changes: [(&str, Change); 2] = [
        ("a line more", |lines| lines.push("x".to_owned())),
        ("another line", |lines| {
            *lines.last_mut().unwrap() = "x".to_owned()
        }),
    ];
    for (what, change) in changes {
        let rig = rig.copy();
        let path = rig.root().join("audit.checkpoint");
        fs::write(&path, forged(&rig, &key, change)).unwrap();
        let before = rig.bytes();
        match rig
            .watched(at(3), gently::recorder::unwatched())
            .map(|_| ())
        {
            Err(RecorderError::Disagree {
                ahead: "audit.checkpoint",
                ..
            }) => {}
            other => panic!("{what}: {other:?}"),
        }
        assert_eq!(rig.bytes(), before, "{what}");
        let Err(RecorderError::Differ(difference)) =
            gently::recorder::rebuild(&rig.home_paths(), at(3))
        else {
            panic!("{what}: rebuilt over it")
        };
        assert_eq!(difference.holder, "audit.checkpoint", "{what}");
    }
    // By a key that is not ours it says nothing, and is replaced.
    fs::write(
        &path,
        forged(&rig, &SigningKey::from_seed(&[3; 32]), |lines| {
            lines.push("x".to_owned())
        }),
    )
    .unwrap();
    drop(rig.recorder(at(3)));
    rig.assert_sound("another's key");
}

#[test]
fn lines_that_the_database_does_not_hold_are_not_signed() {
    let rig = told();
    let last = String::from_utf8(rig.log())
        .unwrap()
        .lines()
        .last()
        .unwrap()
        .to_owned();
    let rest = format!(
        "0|{}|auth_fail|-|reason:x,count:1",
        last.split('|').nth(2).unwrap()
    );
    let hash = gently::record::hash::Hash32::digest(
        format!("{}|{rest}", last.split('|').next().unwrap()).as_bytes(),
    );
    let mut log = rig.log();
    log.extend_from_slice(format!("{hash}|{rest}\n").as_bytes());
    fs::write(rig.root().join("audit.log"), log).unwrap();
    let before = rig.bytes();
    assert!(matches!(
        rig.watched(at(3), gently::recorder::unwatched())
            .map(|_| ()),
        Err(RecorderError::Disagree {
            ahead: "audit.log",
            ..
        })
    ));
    assert_eq!(rig.bytes(), before);
}

#[test]
fn a_home_without_one_gets_it_from_a_rebuild_alone() {
    let rig = told();
    fs::remove_file(rig.root().join("audit.checkpoint")).unwrap();
    let db = rusqlite::Connection::open(rig.root().join("gently.db")).unwrap();
    db.execute("UPDATE head SET checkpoint = NULL", []).unwrap();
    drop(db);
    let lines = rig.store().head().unwrap().lines;
    let refused = rig.watched(at(3), gently::recorder::unwatched());
    assert!(
        matches!(refused.map(|_| ()), Err(RecorderError::NoTreeHead { lines: all }) if all == lines),
        "whoever took it away would have it signed what he added"
    );
    rebuild(&rig.home_paths(), at(3)).unwrap();
    let refused = rig.watched(at(3), gently::recorder::unwatched());
    assert!(matches!(
        refused.map(|_| ()),
        Err(RecorderError::NoTreeHead { .. })
    ));
    sign_rebuilt(&rig.home_paths(), rig.home().signing_key().unwrap(), at(3)).unwrap();
    assert_eq!(
        rig.store().head().unwrap().lines,
        lines,
        "no line was needed"
    );
    rig.assert_sound("signed at the start");
}

#[test]
fn a_segment_ends_before_it_is_too_long() {
    let rig = Rig::new();
    let recorder = rig.recorder(at(1));
    let note = |n: usize, now: Seconds| NewArtifact {
        kind: "note",
        id: ArtifactId::Of(format!("{n:060000}")),
        content: Vec::new(),
        session: None,
        salt: Salt::new([1; 32]),
        now,
    };
    wait(async {
        for n in 0..40 {
            recorder.artifact(note(n, at(2)), always).await.unwrap();
        }
    });
    drop(recorder);
    assert_eq!(
        rig.count("checkpoint"),
        1,
        "no session is open, and 2 MiB have gathered"
    );
    let store = rig.store();
    let head = store.head().unwrap();
    let longest = store
        .commits(0, head.commits)
        .unwrap()
        .into_iter()
        .filter_map(|row| row.segment);
    let bytes = |(from, to): (u64, u64)| {
        store
            .lines(from, to)
            .unwrap()
            .iter()
            .map(|line| line.len() + 1)
            .sum::<usize>()
    };
    assert!(longest.map(bytes).max().unwrap() < 4 << 20);
    assert_eq!(head.segment_bytes, {
        let lines = store.lines(0, head.segment_lines).unwrap();
        lines.iter().map(|line| line.len() as u64 + 1).sum::<u64>()
    });
    rig.assert_sound("long lines");
}

#[test]
fn a_rebuild_puts_it_back_and_signs_what_it_adds() {
    let home = EventCache::new();
    let (path, root) = (home.file("audit.checkpoint"), home.file(""));
    let rig = Rig::borrowed(&root);
    let before = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert!(
        home.fine(&["doctor", "-v"])
            .contains("audit.checkpoint is not the signed tree head")
    );
    assert!(
        home.fine_or(&["audit", "rebuild", "--dry-run"], 1)
            .contains("would restore: audit.checkpoint")
    );
    assert!(!path.exists());
    let said = home.fine(&["audit", "rebuild"]);
    assert!(
        said.contains("restored: audit.checkpoint") && !said.contains("recover"),
        "{said}"
    );
    assert_eq!(fs::read(&path).unwrap(), before);
    fs::remove_file(home.file("audit.log")).unwrap();
    assert!(
        home.fine(&["audit", "rebuild"])
            .contains("on record: recover")
    );
    rig.assert_signed("the line that says so");
}

/// What a power loss can leave where a new name was not on the disk yet: the tree head before.
#[test]
fn an_older_one_is_named_with_the_way_out_and_replaced_at_the_next_start() {
    let home = EventCache::new();
    home.fine(&["ask", "one"]);
    let older = fs::read(home.file("audit.checkpoint")).unwrap();
    home.refused(&["ask", ""], 1);
    assert_ne!(fs::read(home.file("audit.checkpoint")).unwrap(), older);
    fs::write(home.file("audit.checkpoint"), &older).unwrap();
    let said = home.refused(&["audit", "verify", "-v"], 1);
    assert!(
        said.contains("the next ask, or gently audit rebuild, writes it"),
        "{said}"
    );
    home.fine(&["ask", "two"]);
    home.fine(&["audit", "verify", "-v"]);
}

#[test]
fn what_is_handed_over_comes_with_it() {
    let home = EventCache::new();
    home.fine(&["ask", "and one that is not in it"]);
    let log = fs::read_to_string(home.file("audit.log")).unwrap();
    let id = log
        .lines()
        .find(|line| line.contains("|session_end|"))
        .unwrap()
        .split('|')
        .nth(4)
        .unwrap();
    let out = tempfile::tempdir().unwrap();
    let dir = out.path().join("export");
    home.fine(&["audit", "export", &id[..16], dir.to_str().unwrap()]);
    let (log, text) = (
        fs::read(dir.join("audit.log")).unwrap(),
        fs::read_to_string(dir.join("audit.checkpoint")).unwrap(),
    );
    let note = parse_note(&text).unwrap();
    let mut tree = Frontier::new();
    String::from_utf8(log)
        .unwrap()
        .lines()
        .for_each(|line| tree.push(line.as_bytes()));
    assert_eq!((note.size, note.root), (tree.size(), tree.root()));
    assert!(note.verify(&Rig::borrowed(&home.file("")).store().head().unwrap().signer));
    assert!(
        fs::read_to_string(dir.join("README.md"))
            .unwrap()
            .contains("audit.checkpoint")
    );
}
