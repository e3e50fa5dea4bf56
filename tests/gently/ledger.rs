//! The ledger's writer, with stock git and `ssh-keygen` as oracles.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use gently::keys::SigningKey;
use gently::ledger::write::{Encoded, Files, Ledger, Plan, encode};
use gently::ledger::{LedgerError, Oid};
use gently::record::commit::{CommitKind, MAIN, Message, Subject, trailer};
use gently::record::documents::{CheckpointDoc, Rotate};
use gently::record::hash::Hash32;
use gently::record::time::Seconds;

const BRANCH: &str = "refs/heads/branch-1";

/// Stock git without anybody's configuration.
fn git(dir: &Path, args: &[&str]) -> Output {
    Command::new("git")
        .current_dir(dir)
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("HOME", dir)
        .env("LC_ALL", "C")
        .output()
        .expect("stock git is installed")
}

fn git_ok(dir: &Path, args: &[&str]) -> Vec<u8> {
    let out = git(dir, args);
    assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    out.stdout
}

fn git_text(dir: &Path, args: &[&str]) -> String {
    String::from_utf8(git_ok(dir, args)).unwrap()
}

fn assert_fsck_is_silent(repo: &Path) {
    let out = git(repo, &["fsck", "--strict", "--full"]);
    let said = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success() && said.is_empty(), "git fsck: {said}");
}

fn key(byte: u8) -> SigningKey {
    SigningKey::from_seed(&[byte; 32])
}

fn made(plan: &Plan, key: &SigningKey) -> Encoded {
    encode(plan, &key.public(), &|bytes| key.sign(bytes))
}

/// A commit of no meaning, distinct by `n`.
fn plan(n: u8, parents: &[Oid]) -> Plan {
    let hash = Hash32::from_bytes([n; 32]);
    let message = Message { subject: Subject::Checkpoint { head: hash }, record: hash, log: hash };
    let files = Files::from([
        ("checkpoint.json", format!("{{\"n\":{n}}}").into_bytes()),
        // Incompressible and long enough that half of it is torn within the data.
        (
            "audit.log",
            (0..2000u32).flat_map(|i| (i.wrapping_mul(2_654_435_761) ^ u32::from(n)).to_be_bytes()).collect(),
        ),
    ]);
    Plan { message, files, parents: parents.to_vec(), time: Seconds::new(1_700_000_000 + u64::from(n)).unwrap() }
}

/// A ledger with `n` commits in a line, and no refs.
fn chain(dir: &Path, n: u8) -> (Ledger, Vec<Oid>) {
    let mut ledger = Ledger::create(&dir.join("ledger.git")).unwrap();
    let mut ids: Vec<Oid> = Vec::new();
    for i in 1..=n {
        let plan = plan(i, ids.last().map(std::slice::from_ref).unwrap_or_default());
        ids.push(ledger.put(&made(&plan, &key(7)).commit, &plan.files).unwrap());
    }
    (ledger, ids)
}

mod honest {
    use super::*;

    fn vectors() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/ledgers/honest")
    }

    /// What stock git says about one commit, as the plan that should make it.
    fn plan_of(repo: &Path, id: &str) -> Plan {
        let body = git_text(repo, &["show", "-s", "--format=%B", id]);
        let body = format!("{}\n", body.trim_end());
        let subject = body.lines().next().unwrap();
        let kind = CommitKind::of_subject(subject).unwrap();
        let mut files = Files::new();
        for line in git_text(repo, &["ls-tree", id]).lines() {
            let (entry, name) = line.split_once('\t').unwrap();
            let [mode, "blob", blob] = entry.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            assert_eq!(mode, "100644");
            let name = kind.files(true).into_iter().find(|known| *known == name).expect("a file of the table");
            files.insert(name, git_ok(repo, &["cat-file", "blob", blob]));
        }
        let dates = git_text(repo, &["show", "-s", "--format=%at %ct", id]);
        let (author, committer) = dates.trim().split_once(' ').unwrap();
        assert_eq!(author, committer);
        let parents = git_text(repo, &["show", "-s", "--format=%P", id]);
        let message = message_of(&body, &files);
        assert_eq!(message.render(), body);
        Plan {
            message,
            files,
            parents: parents.split_whitespace().map(|p| p.parse().unwrap()).collect(),
            time: Seconds::new(author.parse().unwrap()).unwrap(),
        }
    }

    fn message_of(body: &str, files: &Files) -> Message {
        let subject = body.lines().next().unwrap();
        let hash = |name| trailer(body, name).unwrap().parse::<Hash32>().unwrap();
        let height = || subject.rsplit_once(":btc-").unwrap().1.parse().unwrap();
        let subject = match CommitKind::of_subject(subject).unwrap() {
            CommitKind::Genesis => Subject::Genesis,
            CommitKind::SessionStart => Subject::SessionStart { session: hash("Session"), height: height() },
            CommitKind::Interaction => Subject::Interaction {
                session: hash("Session"),
                seq: trailer(body, "Seq").unwrap().parse().unwrap(),
                chain: hash("Chain"),
            },
            CommitKind::SessionEnd => {
                Subject::SessionEnd { session: hash("Session"), close: hash("Close"), height: height() }
            }
            CommitKind::Close => Subject::Close { session: hash("Session"), close: hash("Close") },
            CommitKind::Checkpoint => {
                let doc: CheckpointDoc = serde_json::from_slice(&files["checkpoint.json"]).unwrap();
                Subject::Checkpoint { head: doc.log_head }
            }
            CommitKind::KeyRotate => {
                let doc: Rotate = serde_json::from_slice(&files["rotate.json"]).unwrap();
                Subject::KeyRotate { key: Hash32::digest(doc.new_signer.as_bytes()) }
            }
        };
        Message { subject, record: hash("Record"), log: hash("Log") }
    }

    /// The seed of the key in force at a commit's line: the second after the rotation, the rotation by the first.
    fn signer(log: &str, commit: &Message) -> SigningKey {
        let line = |hash: &str| log.lines().position(|line| line.starts_with(hash)).unwrap();
        let rotation = log.lines().position(|line| line.split('|').nth(3) == Some("key_rotate")).unwrap();
        if line(&commit.log.to_string()) > rotation { key(0x22) } else { key(0x11) }
    }

    #[test]
    fn every_commit_is_made_again_with_the_same_id() {
        let dir = tempfile::tempdir().unwrap();
        let bundle = vectors().join("ledger.bundle");
        git_ok(dir.path(), &["clone", "-q", "--mirror", bundle.to_str().unwrap(), "theirs.git"]);
        let theirs = dir.path().join("theirs.git");
        let log = fs::read_to_string(vectors().join("audit.log")).unwrap();

        let ours = dir.path().join("ours.git");
        let mut ledger = Ledger::create(&ours).unwrap();
        let ids = git_text(&theirs, &["rev-list", "--topo-order", "--reverse", "--all"]);
        assert_eq!(ids.lines().count(), 29);
        for id in ids.lines() {
            let plan = plan_of(&theirs, id);
            let commit = made(&plan, &signer(&log, &plan.message));
            assert_eq!(commit.id.to_string(), id, "{:?}", plan.message.subject);
            assert_eq!(commit.commit, git_ok(&theirs, &["cat-file", "commit", id]));
            assert_eq!(ledger.put(&commit.commit, &plan.files).unwrap(), commit.id);
            assert_eq!(ledger.put(&commit.commit, &plan.files).unwrap(), commit.id);
        }
        let expected: serde_json::Value =
            serde_json::from_slice(&fs::read(vectors().join("expected.json")).unwrap()).unwrap();
        for (name, tip) in expected["refs"].as_object().unwrap() {
            ledger.move_ref(name, None, tip.as_str().unwrap().parse().unwrap()).unwrap();
        }
        ledger.sync().unwrap();

        assert_fsck_is_silent(&ours);
        assert_eq!(git_text(&ours, &["show-ref"]), git_text(&theirs, &["show-ref"]));
        assert_eq!(git_text(&ours, &["symbolic-ref", "HEAD"]), "refs/heads/main\n");
        let signers = format!("gpg.ssh.allowedSignersFile={}", vectors().join("allowed_signers").display());
        for id in ids.lines() {
            git_ok(&ours, &["-c", "gpg.format=ssh", "-c", &signers, "verify-commit", id]);
        }
        let reopened = Ledger::open(&ours).unwrap().refs().unwrap();
        let reopened: BTreeMap<_, _> = reopened.iter().map(|(name, id)| (name.as_str(), id.to_string())).collect();
        let expected = expected["refs"].as_object().unwrap();
        assert_eq!(reopened, expected.iter().map(|(n, id)| (n.as_str(), id.as_str().unwrap().to_owned())).collect());
    }
}

#[test]
fn a_fresh_ledger_is_a_plain_bare_repository() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger.git");
    let mut ledger = Ledger::create(&path).unwrap();
    ledger.sync().unwrap();
    assert_eq!(ledger.path(), path);
    assert_eq!(ledger.refs().unwrap(), BTreeMap::new());
    assert_eq!(git_text(&path, &["rev-parse", "--is-bare-repository"]), "true\n");
    assert_eq!(git_text(&path, &["rev-parse", "--show-object-format"]), "sha1\n");
    assert_eq!(fs::read_dir(path.join("hooks")).unwrap().count(), 0);
    assert!(Ledger::create(&path).is_err(), "a ledger was made over a ledger");
    for (args, expected) in [
        (&["init", "-q", "--bare", "--object-format=sha256", "other.git"][..], "object format sha1"),
        (&["init", "-q", "other"][..], "a bare repository"),
    ] {
        git_ok(dir.path(), args);
        let other = if args.contains(&"--bare") { "other.git" } else { "other/.git" };
        let error = Ledger::open(&dir.path().join(other)).err().expect(other).to_string();
        assert!(error.contains(expected) || error.contains("sha256"), "{error}");
    }
    assert!(Ledger::open(&dir.path().join("nothing")).is_err());
}

#[cfg(unix)]
#[test]
fn nothing_in_a_ledger_can_be_changed_by_others() {
    use std::os::unix::fs::PermissionsExt;
    fn look(path: &Path) {
        let mode = fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & 0o022, 0, "{} has mode {mode:o}", path.display());
        if path.is_dir() {
            assert_eq!(mode & 0o700, 0o700, "{} has mode {mode:o}", path.display());
            fs::read_dir(path).unwrap().for_each(|entry| look(&entry.unwrap().path()));
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let (mut ledger, ids) = chain(dir.path(), 1);
    ledger.move_ref(MAIN, None, ids[0]).unwrap();
    look(ledger.path());
}

/// Every object file of a ledger, most of them of the two commits that [`chain`] made.
fn objects(ledger: &Ledger) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for fan in fs::read_dir(ledger.path().join("objects")).unwrap() {
        let fan = fan.unwrap();
        if fan.file_name().len() == 2 {
            found.extend(fs::read_dir(fan.path()).unwrap().map(|file| file.unwrap().path()));
        }
    }
    found.sort();
    found
}

/// Objects are read-only; a disk that loses bytes does not ask.
fn damage(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_torn_object_is_rewritten_when_it_is_put_again() {
    type Damage = fn(&[u8]) -> Vec<u8>;
    let damages: [(&str, Damage); 6] = [
        ("zero length", |_| Vec::new()),
        ("half", |b| b[..b.len() / 2].to_vec()),
        ("last byte missing", |b| b[..b.len() - 1].to_vec()),
        ("zeros", |b| vec![0; b.len()]),
        ("one bit of the content", |b| b.iter().enumerate().map(|(i, x)| x ^ u8::from(i == b.len() / 2)).collect()),
        ("something behind", |b| [b, b"more"].concat()),
    ];
    let dir = tempfile::tempdir().unwrap();
    let (mut ledger, ids) = chain(dir.path(), 1);
    ledger.move_ref(MAIN, None, ids[0]).unwrap();
    let files = objects(&ledger);
    assert_eq!(files.len(), 4, "two blobs, a tree, a commit");
    for (name, damaged) in damages {
        for file in &files {
            let whole = fs::read(file).unwrap();
            damage(file, &damaged(&whole));
            assert!(!git(ledger.path(), &["fsck", "--strict"]).status.success(), "fsck finds {name} in order");
            // As after a restart: nothing cached.
            let mut ledger = Ledger::open(ledger.path()).unwrap();
            let plan = plan(1, &[]);
            assert_eq!(ledger.put(&made(&plan, &key(7)).commit, &plan.files).unwrap(), ids[0], "{name}");
            assert_eq!(fs::read(file).unwrap(), whole, "{name}");
            ledger.sync().unwrap();
        }
    }
    assert_eq!(objects(&ledger), files);
    assert_fsck_is_silent(ledger.path());
}

#[test]
fn put_refuses_what_does_not_belong_together() {
    let dir = tempfile::tempdir().unwrap();
    let (mut ledger, ids) = chain(dir.path(), 1);
    let before = objects(&ledger);
    let good = plan(2, &ids);
    let commit = made(&good, &key(7));

    let error = ledger.put(&commit.commit, &plan(3, &[]).files).unwrap_err();
    assert!(matches!(error, LedgerError::Tree { commit: id, .. } if id == commit.id), "{error}");
    let mut fewer = good.files.clone();
    fewer.remove("audit.log");
    assert!(matches!(ledger.put(&commit.commit, &fewer), Err(LedgerError::Tree { .. })));

    let orphan = made(&plan(2, &[Oid::from_bytes([9; 20])]), &key(7));
    let error = ledger.put(&orphan.commit, &good.files).unwrap_err();
    assert!(
        matches!(error, LedgerError::MissingParent { parent, .. } if parent == Oid::from_bytes([9; 20])),
        "{error}"
    );

    for garbage in [&b""[..], b"tree", &commit.commit[..30]] {
        assert!(matches!(ledger.put(garbage, &good.files), Err(LedgerError::NotACommit { .. })));
    }
    assert_eq!(objects(&ledger), before, "a refused commit left objects");
}

#[test]
fn refs_move_by_compare_and_swap_and_forward_only() {
    let dir = tempfile::tempdir().unwrap();
    let (mut ledger, ids) = chain(dir.path(), 4);
    let [one, two, three, four] = ids[..] else { panic!() };
    let root = plan(9, &[]);
    let other = ledger.put(&made(&root, &key(7)).commit, &root.files).unwrap();
    let nowhere = Oid::from_bytes([1; 20]);

    ledger.move_ref(MAIN, None, one).unwrap();
    ledger.move_ref(MAIN, None, one).expect("already there is fine");
    ledger.move_ref(MAIN, Some(one), three).expect("several commits at once");
    ledger.move_ref(MAIN, Some(one), three).expect("already there is fine, wherever it came from");
    ledger.sync().unwrap();

    type Right = fn(&LedgerError) -> bool;
    let refused: [(&str, Option<Oid>, Oid, Right); 10] = [
        (MAIN, Some(two), four, |e| matches!(e, LedgerError::Moved { expected: Some(_), actual: Some(_), .. })),
        (MAIN, None, four, |e| matches!(e, LedgerError::Moved { expected: None, actual: Some(_), .. })),
        (MAIN, Some(three), two, |e| matches!(e, LedgerError::NotForward { .. })),
        (MAIN, Some(three), other, |e| matches!(e, LedgerError::NotForward { .. })),
        (MAIN, Some(three), nowhere, |e| matches!(e, LedgerError::MissingCommit { .. })),
        (BRANCH, Some(three), four, |e| matches!(e, LedgerError::Moved { expected: Some(_), actual: None, .. })),
        (BRANCH, None, nowhere, |e| matches!(e, LedgerError::MissingCommit { .. })),
        ("refs/heads/branch-8", None, one, |e| matches!(e, LedgerError::RefName { .. })),
        ("refs/tags/one", None, one, |e| matches!(e, LedgerError::RefName { .. })),
        ("HEAD", None, one, |e| matches!(e, LedgerError::RefName { .. })),
    ];
    for (name, from, to, right) in refused {
        let error = ledger.move_ref(name, from, to).unwrap_err();
        assert!(right(&error), "{name} {from:?} {to}: {error}");
    }
    let error = ledger.move_ref(MAIN, Some(two), four).unwrap_err().to_string();
    for named in [MAIN, &two.to_string(), &three.to_string(), &four.to_string()] {
        assert!(error.contains(named), "{error} does not name {named}");
    }
    assert_eq!(ledger.tip(MAIN).unwrap(), Some(three));
    assert_eq!(ledger.refs().unwrap(), BTreeMap::from([(MAIN.to_owned(), three)]));
    assert_eq!(git_text(ledger.path(), &["rev-parse", "main"]), format!("{three}\n"));
}

#[test]
fn a_torn_ref_is_named_and_overwritten_only_when_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let (mut ledger, ids) = chain(dir.path(), 2);
    ledger.move_ref(MAIN, None, ids[0]).unwrap();
    // Where gix and git fall back to when the file is torn.
    git_ok(ledger.path(), &["pack-refs", "--all", "--no-prune"]);
    let file = ledger.path().join(MAIN);
    let whole = fs::read(&file).unwrap();
    for torn in [&b""[..], &whole[..20], &whole[..40], &[0; 41], b"\n"] {
        fs::write(&file, torn).unwrap();
        let mut ledger = Ledger::open(ledger.path()).unwrap();
        let error = ledger.tip(MAIN).unwrap_err();
        assert!(matches!(&error, LedgerError::TornRef { name, .. } if name == MAIN), "{error}");
        assert!(error.to_string().contains("refs/heads/main is torn"), "{error}");
        for from in [None, Some(ids[0]), Some(ids[1])] {
            assert!(matches!(ledger.move_ref(MAIN, from, ids[1]), Err(LedgerError::TornRef { .. })));
        }
        assert_eq!(fs::read(&file).unwrap(), torn, "a torn ref was changed unasked");
        let nowhere = ledger.overwrite_torn_ref(MAIN, Oid::from_bytes([1; 20]));
        assert!(matches!(nowhere, Err(LedgerError::MissingCommit { .. })));
        ledger.overwrite_torn_ref(MAIN, ids[0]).unwrap();
        ledger.sync().unwrap();
        assert_eq!(ledger.tip(MAIN).unwrap(), Some(ids[0]));
        let again = ledger.overwrite_torn_ref(MAIN, ids[1]);
        assert!(matches!(again, Err(LedgerError::NotTorn { actual: Some(id), .. }) if id == ids[0]));
    }
    assert!(matches!(ledger.overwrite_torn_ref(BRANCH, ids[1]), Err(LedgerError::NotTorn { actual: None, .. })));
    ledger.move_ref(MAIN, Some(ids[0]), ids[1]).unwrap();
    assert_fsck_is_silent(ledger.path());
}

#[test]
fn a_ledger_that_stock_git_has_packed_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let (mut ledger, ids) = chain(dir.path(), 2);
    ledger.move_ref(MAIN, None, ids[0]).unwrap();
    // Unsynced, so that the objects are gone into a pack when they should be synced.
    ledger.move_ref(BRANCH, None, ids[1]).unwrap();
    git_ok(ledger.path(), &["gc", "-q", "--prune=now"]);
    assert_eq!(objects(&ledger), [] as [PathBuf; 0]);
    assert!(!ledger.path().join(MAIN).exists(), "gc packs refs");
    assert_eq!(ledger.tip(MAIN).unwrap(), Some(ids[0]));

    let again = plan(1, &[]);
    assert_eq!(ledger.put(&made(&again, &key(7)).commit, &again.files).unwrap(), ids[0]);
    assert_eq!(objects(&ledger), [] as [PathBuf; 0], "what is in a pack was written again");
    ledger.move_ref(MAIN, None, ids[0]).expect("already there");
    let stale = ledger.move_ref(MAIN, None, ids[1]);
    assert!(matches!(stale, Err(LedgerError::Moved { actual: Some(_), .. })));
    ledger.move_ref(MAIN, Some(ids[0]), ids[1]).unwrap();
    ledger.sync().unwrap();
    assert_eq!(git_text(ledger.path(), &["rev-parse", "main"]), format!("{}\n", ids[1]));
    assert_fsck_is_silent(ledger.path());
}

#[test]
fn an_object_that_vanishes_before_the_sync_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let (mut ledger, _) = chain(dir.path(), 1);
    fs::remove_file(&objects(&ledger)[0]).unwrap();
    let error = ledger.sync().unwrap_err();
    assert!(matches!(error, LedgerError::Vanished { .. }), "{error}");
}

#[test]
fn a_lock_of_a_killed_process_is_removed_and_a_fresh_one_respected() {
    let dir = tempfile::tempdir().unwrap();
    let (mut ledger, ids) = chain(dir.path(), 3);
    ledger.move_ref(MAIN, None, ids[0]).unwrap();
    for (name, from, to) in [("refs/heads/main.lock", ids[0], ids[1]), ("packed-refs.lock", ids[1], ids[2])] {
        let lock = ledger.path().join(name);
        let file = File::create(&lock).unwrap();
        let error = ledger.move_ref(MAIN, Some(from), to).unwrap_err();
        assert!(matches!(&error, LedgerError::Locked { lock: named, .. } if *named == lock), "{error}");
        assert!(error.to_string().contains(&format!("rm {}", lock.display())), "{error}");
        assert_eq!(ledger.tip(MAIN).unwrap(), Some(from));
        file.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
        ledger.move_ref(MAIN, Some(from), to).unwrap();
        assert_eq!(ledger.tip(MAIN).unwrap(), Some(to));
        assert!(!lock.exists());
    }
}
