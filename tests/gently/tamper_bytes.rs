//! Every byte of every object and of every ref of a small ledger changed, one at a time: each is
//! found in its place.
//!
//! (Every byte of the log: the unit tests of `src/verify/log/file.rs`. Every value of the database:
//! `tamper_database.rs`.)

#![allow(
    clippy::unwrap_used,
    reason = "the helpers of a test fail it as the test itself would"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use gently::keys::SigningKey;
use gently::record::ledger::commit::CommitKind;
use gently::record::signature::PublicKey;
use gently::verify::{CheckAnswer, Evidence, Report, VerifyError, verify};

use crate::recorder::{Rig, anchor, at, copy_all, turn, wait};
use crate::tamper::{git, git_bytes, loose};

/// The smallest honest ledger that has a commit of every kind, each object in a file of its own.
struct Small {
    rig: Rig,
    pinned: PublicKey,
    objects: Vec<Object>,
}

struct Object {
    id: String,
    kind: String,
    content: Vec<u8>,
}

fn small() -> &'static Small {
    static SMALL: OnceLock<Small> = OnceLock::new();
    SMALL.get_or_init(|| {
        let rig = Rig::new();
        let pinned = rig.home().signing_key().unwrap().public();
        let recorder = rig.recorder(at(1));
        wait(async {
            let session = recorder
                .open_session(rig.terms(), anchor(829_604), at(1))
                .await
                .unwrap();
            turn(&recorder, &session, "one", at(2)).await.unwrap();
            // An hour later: a checkpoint.
            recorder
                .auth_fail("wrong_key".to_owned(), at(3700))
                .await
                .unwrap();
            recorder
                .close_session(session.id, anchor(829_605), at(3701))
                .await
                .unwrap();
            recorder
                .rotate(SigningKey::from_seed(&[9; 32]).public(), at(3702))
                .await
                .unwrap();
        });
        drop(recorder);
        let ledger = rig.root().join("ledger.git");
        unpack(&ledger);
        let objects = objects(&ledger);
        Small {
            rig,
            pinned,
            objects,
        }
    })
}

/// Makes every object a loose one, as stock git does.
fn unpack(ledger: &Path) {
    let aside = ledger.join("aside");
    fs::rename(ledger.join("objects/pack"), &aside).unwrap();
    fs::create_dir(ledger.join("objects/pack")).unwrap();
    for file in fs::read_dir(&aside)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        if file
            .extension()
            .is_some_and(|extension| extension == "pack")
        {
            git_bytes(ledger, &["unpack-objects", "-q"], &fs::read(file).unwrap());
        }
    }
    fs::remove_dir_all(aside).unwrap();
}

/// Every object that a ref reaches.
fn objects(ledger: &Path) -> Vec<Object> {
    let ids = git(
        ledger,
        &["rev-list", "--all", "--objects", "--no-object-names"],
    );
    let object = |id: &str| {
        let kind = git(ledger, &["cat-file", "-t", id]);
        Object {
            id: id.to_owned(),
            content: git_bytes(ledger, &["cat-file", &kind, id], b""),
            kind,
        }
    };
    ids.lines().map(object).collect()
}

/// Of the ledger alone, without the log file beside it: what an outsider has.
fn check(ledger: &Path, small: &Small) -> Result<Report, VerifyError> {
    verify(&Evidence {
        repository: ledger,
        log: None,
        checkpoint: None,
        signers: &[small.pinned],
    })
}

/// What is not found where it is, or not found at all.
fn not_found(report: Result<Report, VerifyError>, places: &[&str]) -> Option<String> {
    match report {
        Ok(report) => {
            let named = report
                .findings
                .iter()
                .any(|finding| places.iter().any(|place| finding.place.contains(place)));
            let no = report.answers.consistent.answer == CheckAnswer::No;
            (!no || !named).then(|| format!("{:?}", report.findings))
        }
        // Nothing of a ledger can be read there: no pass either.
        Err(VerifyError::Nothing { .. } | VerifyError::Repository(_)) => None,
        Err(error) => Some(error.to_string()),
    }
}

fn threads() -> usize {
    std::thread::available_parallelism()
        .map_or(2, usize::from)
        .min(8)
}

#[test]
fn the_small_ledger_is_honest_and_has_every_kind_of_commit() {
    let small = small();
    let report = check(&small.rig.root().join("ledger.git"), small).unwrap();
    assert!(
        report.passes() && report.findings.is_empty(),
        "{:?}",
        report.findings
    );
    let kinds: Vec<CommitKind> = report.commits.keys().copied().collect();
    assert_eq!(kinds, CommitKind::ALL, "{:?}", report.commits);
    let loose = git(&small.rig.root().join("ledger.git"), &["count-objects"]);
    assert!(
        loose.starts_with(&format!("{} objects", small.objects.len())),
        "{loose}"
    );
}

#[test]
fn every_byte_of_every_object_is_found_when_it_changes() {
    let small = small();
    let bytes: usize = small
        .objects
        .iter()
        .map(|object| object.content.len())
        .sum();
    assert!(
        small.objects.len() > 30 && bytes > 8000,
        "{} objects, {bytes} bytes",
        small.objects.len()
    );
    let (missed, tried) = std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads())
            .map(|n| scope.spawn(move || change_objects(small, n, threads())))
            .collect();
        let ends = started.into_iter().map(|thread| thread.join().unwrap());
        ends.fold((Vec::new(), 0), |(mut all, tried), (missed, of_thread)| {
            all.extend(missed);
            (all, tried + of_thread)
        })
    });
    println!("{tried} bytes of {} objects", small.objects.len());
    assert_eq!(tried, bytes);
    assert_eq!(missed, Vec::<String>::new());
}

/// Changes every byte of each n-th object in a copy; gives what was not found, and how many bytes
/// were changed.
fn change_objects(small: &Small, share: usize, shares: usize) -> (Vec<String>, usize) {
    let dir = tempfile::tempdir().unwrap();
    let ledger = dir.path().join("ledger.git");
    copy_all(&small.rig.root().join("ledger.git"), &ledger);
    let (mut missed, mut tried) = (Vec::new(), 0);
    // Bytes, not objects, are shared out: a segment is as long as ten other files.
    for object in &small.objects {
        let file = ledger
            .join("objects")
            .join(&object.id[..2])
            .join(&object.id[2..]);
        let original = fs::read(&file).unwrap();
        for at in (share..object.content.len()).step_by(shares) {
            let mut changed = object.content.clone();
            changed[at] ^= 0x01;
            fs::remove_file(&file).unwrap();
            fs::write(&file, loose(&object.kind, &changed)).unwrap();
            tried += 1;
            let found = not_found(check(&ledger, small), &[&object.id]);
            missed.extend(
                found.map(|why| format!("byte {at} of {} {}: {why}", object.kind, object.id)),
            );
        }
        fs::remove_file(&file).unwrap();
        fs::write(&file, original).unwrap();
    }
    let report = check(&ledger, small).unwrap();
    assert!(
        report.passes(),
        "everything is as it was: {:?}",
        report.findings
    );
    (missed, tried)
}

/// The files of refs below a folder.
fn refs_of(ledger: &Path) -> Vec<(String, PathBuf)> {
    let names = git(ledger, &["for-each-ref", "--format=%(refname)"]);
    names
        .lines()
        .map(|name| (name.to_owned(), ledger.join(name)))
        .collect()
}

/// Other bytes for one: neighbours that are digits, letters, blanks and line ends among them.
fn others(byte: u8) -> impl Iterator<Item = u8> {
    [byte ^ 0x01, byte ^ 0x20, b'0', b'g', b'\n', b' ']
        .into_iter()
        .filter(move |other| *other != byte)
}

#[test]
fn every_byte_of_every_ref_is_found_when_it_changes() {
    let small = small();
    let dir = tempfile::tempdir().unwrap();
    let ledger = dir.path().join("ledger.git");
    copy_all(&small.rig.root().join("ledger.git"), &ledger);
    let refs = refs_of(&ledger);
    assert_eq!(refs.len(), 2, "main and a branch");
    let mut missed = Vec::new();
    for (name, file) in &refs {
        let original = fs::read(file).unwrap();
        assert_eq!(original.len(), 41);
        for at in 0..original.len() {
            for other in others(original[at]) {
                let mut changed = original.clone();
                changed[at] = other;
                fs::write(file, &changed).unwrap();
                let to = String::from_utf8_lossy(&changed[..40]).into_owned();
                let found = not_found(check(&ledger, small), &[name, &to]);
                missed.extend(found.map(|why| format!("byte {at} of {name} as {other:#x}: {why}")));
            }
            fs::write(file, [&original[..at], &original[at + 1..]].concat()).unwrap();
            missed.extend(
                not_found(check(&ledger, small), &[name])
                    .map(|why| format!("{name} without {at}: {why}")),
            );
        }
        fs::write(file, &original).unwrap();
    }
    assert_eq!(missed, Vec::<String>::new());
    assert!(check(&ledger, small).unwrap().passes());
}

/// The same refs as stock git packs them: one file holds names and ids.
#[test]
fn every_byte_of_the_names_and_ids_of_packed_refs_is_found_when_it_changes() {
    let small = small();
    let dir = tempfile::tempdir().unwrap();
    let ledger = dir.path().join("ledger.git");
    copy_all(&small.rig.root().join("ledger.git"), &ledger);
    let names: Vec<String> = refs_of(&ledger).into_iter().map(|(name, _)| name).collect();
    git(&ledger, &["pack-refs", "--all"]);
    assert!(check(&ledger, small).unwrap().passes());
    let file = ledger.join("packed-refs");
    let original = fs::read(&file).unwrap();
    // The first line says how the file is written, and is no evidence.
    let begin = original.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let mut missed = Vec::new();
    for at in begin..original.len() {
        for other in others(original[at]) {
            let mut changed = original.clone();
            changed[at] = other;
            fs::write(&file, &changed).unwrap();
            let passes = match check(&ledger, small) {
                Ok(report) => report.answers.consistent.answer == CheckAnswer::Yes,
                Err(VerifyError::Nothing { .. } | VerifyError::Repository(_)) => false,
                Err(error) => panic!("{error}"),
            };
            if passes {
                missed.push(format!("byte {at} as {other:#x} of {names:?}"));
            }
        }
    }
    assert_eq!(missed, Vec::<String>::new());
    fs::write(&file, &original).unwrap();
    assert!(check(&ledger, small).unwrap().passes());
}
