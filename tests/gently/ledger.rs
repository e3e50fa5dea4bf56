//! The ledger's writer, with stock git and `ssh-keygen` as oracles.

mod honest;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use gently::keys::SigningKey;
use gently::ledger::read::Repository;
use gently::ledger::write::{CommitPlan, Ledger, SignedCommit, TreeFiles, encode};
use gently::ledger::{LedgerError, Oid};
use gently::record::hash::Hash32;
use gently::record::ledger::commit::{CommitMessage, MAIN, Subject};
use gently::record::time::Seconds;

const BRANCH: &str = "refs/heads/branch-1";

/// Stock git without anybody's configuration, also when the tests run inside a git hook.
fn git(dir: &Path, args: &[&str]) -> Output {
    Command::new("git")
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .env_remove("GIT_OBJECT_DIRECTORY")
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
    assert!(
        out.status.success(),
        "git {args:?}: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    out.stdout
}

fn git_text(dir: &Path, args: &[&str]) -> String {
    String::from_utf8(git_ok(dir, args)).unwrap()
}

fn assert_fsck_is_silent(repo: &Path) {
    let out = git(repo, &["fsck", "--strict", "--full"]);
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr)
    );
    assert!(out.status.success() && said.is_empty(), "git fsck: {said}");
}

fn key(byte: u8) -> SigningKey {
    SigningKey::from_seed(&[byte; 32])
}

fn made(plan: &CommitPlan, key: &SigningKey) -> SignedCommit {
    encode(plan, &key.public(), &|bytes| {
        Ok::<_, std::convert::Infallible>(key.sign(bytes))
    })
    .unwrap()
}

/// A commit of no meaning, distinct by `n`.
fn plan(n: u8, parents: &[Oid]) -> CommitPlan {
    let hash = Hash32::from_bytes([n; 32]);
    let message = CommitMessage {
        subject: Subject::Checkpoint { head: hash },
        record: hash,
        log: hash,
    };
    let files = TreeFiles::from([
        ("checkpoint.json", format!("{{\"n\":{n}}}").into_bytes()),
        // Incompressible and long enough that half of it is torn within the data.
        (
            "audit.log",
            (0..2000u32)
                .flat_map(|i| (i.wrapping_mul(2_654_435_761) ^ u32::from(n)).to_be_bytes())
                .collect(),
        ),
    ]);
    CommitPlan {
        message,
        files,
        parents: parents.to_vec(),
        time: Seconds::new(1_700_000_000 + u64::from(n)).unwrap(),
    }
}

/// A ledger with `n` commits in a line, and no refs.
fn chain(dir: &Path, n: u8) -> (Ledger, Vec<Oid>) {
    let mut ledger = Ledger::create(&dir.join("ledger.git")).unwrap();
    let mut ids: Vec<Oid> = Vec::new();
    for i in 1..=n {
        let plan = plan(i, ids.last().map(std::slice::from_ref).unwrap_or_default());
        ids.push(
            ledger
                .put(&made(&plan, &key(7)).commit, &plan.files)
                .unwrap(),
        );
    }
    (ledger, ids)
}

#[test]
fn a_fresh_ledger_is_a_plain_bare_repository() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger.git");
    let mut ledger = Ledger::create(&path).unwrap();
    ledger.sync().unwrap();
    assert_eq!(ledger.path(), path);
    assert_eq!(ledger.refs().unwrap(), BTreeMap::new());
    assert_eq!(
        git_text(&path, &["rev-parse", "--is-bare-repository"]),
        "true\n"
    );
    assert_eq!(
        git_text(&path, &["rev-parse", "--show-object-format"]),
        "sha1\n"
    );
    assert_eq!(fs::read_dir(path.join("hooks")).unwrap().count(), 0);
    assert!(
        Ledger::create(&path).is_err(),
        "a ledger was made over a ledger"
    );
    for (args, expected) in [
        (
            &[
                "init",
                "-q",
                "--bare",
                "--object-format=sha256",
                "other.git",
            ][..],
            "object format sha1",
        ),
        (&["init", "-q", "other"][..], "a bare repository"),
    ] {
        git_ok(dir.path(), args);
        let other = if args.contains(&"--bare") {
            "other.git"
        } else {
            "other/.git"
        };
        let error = Ledger::open(&dir.path().join(other))
            .err()
            .expect(other)
            .to_string();
        assert!(
            error.contains(expected) || error.contains("sha256"),
            "{error}"
        );
    }
    assert!(Ledger::open(&dir.path().join("nothing")).is_err());
}

/// An index takes a time to open that grows with history: with one that can't be opened, what is
/// new goes on all the same.
#[test]
fn what_can_not_be_here_is_not_looked_for() {
    let dir = tempfile::tempdir().unwrap();
    let (mut ledger, ids) = chain(dir.path(), 1);
    ledger.move_ref(MAIN, None, ids[0]).unwrap();
    ledger.sync().unwrap();
    let path = ledger.path().to_owned();
    let packs = fs::read_dir(path.join("objects/pack"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let index = packs
        .filter(|path| path.extension().is_some_and(|e| e == "idx"))
        .collect::<Vec<_>>()
        .remove(0);
    let aside = dir.path().join("index");
    fs::rename(&index, &aside).unwrap();
    fs::write(&index, b"no index").unwrap();

    let two = plan(2, &ids);
    let made_two = made(&two, &key(7));
    let known = Ledger::open(&path)
        .unwrap()
        .put(&made_two.commit, &two.files);
    assert!(
        matches!(known, Err(LedgerError::MissingParent { .. })),
        "{known:?}"
    );
    let mut ledger = Ledger::open(&path).unwrap();
    let strange = ledger.put_new(&made_two.commit, &two.files, &[]);
    assert!(
        matches!(strange, Err(LedgerError::MissingParent { .. })),
        "{strange:?}"
    );
    ledger.put_new(&made_two.commit, &two.files, &ids).unwrap();
    let three = plan(3, &[made_two.id]);
    let made_three = made(&three, &key(7));
    ledger
        .put_new(&made_three.commit, &three.files, &ids)
        .unwrap();
    ledger.move_ref(MAIN, Some(ids[0]), made_three.id).unwrap();
    ledger.sync().unwrap();

    fs::rename(&aside, &index).unwrap();
    assert_eq!(git_text(&path, &["rev-list", "main"]).lines().count(), 3);
    assert_eq!(git_text(&path, &["fsck", "--strict", "--no-progress"]), "");
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
            fs::read_dir(path)
                .unwrap()
                .for_each(|entry| look(&entry.unwrap().path()));
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let (mut ledger, ids) = chain(dir.path(), 1);
    ledger.move_ref(MAIN, None, ids[0]).unwrap();
    look(ledger.path());
}

/// Every pack of a ledger with its index.
fn objects(ledger: &Ledger) -> Vec<PathBuf> {
    let folder = fs::read_dir(ledger.path().join("objects/pack")).unwrap();
    let mut found: Vec<PathBuf> = folder.map(|file| file.unwrap().path()).collect();
    found.retain(|path| path.extension().is_some_and(|e| e == "pack" || e == "idx"));
    found.sort();
    found
}

/// Objects are read-only; a disk that loses bytes does not ask.
fn damage(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_torn_pack_is_set_aside_and_its_objects_are_written_again() {
    type Damage = fn(&[u8]) -> Vec<u8>;
    let damages: [(&str, Damage); 6] = [
        ("zero length", |_| Vec::new()),
        ("half", |b| b[..b.len() / 2].to_vec()),
        ("last byte missing", |b| b[..b.len() - 1].to_vec()),
        ("zeros", |b| vec![0; b.len()]),
        ("one bit of the content", |b| {
            b.iter()
                .enumerate()
                .map(|(i, x)| x ^ u8::from(i == b.len() / 2))
                .collect()
        }),
        ("something behind", |b| [b, b"more"].concat()),
    ];
    let dir = tempfile::tempdir().unwrap();
    let (mut ledger, ids) = chain(dir.path(), 1);
    ledger.move_ref(MAIN, None, ids[0]).unwrap();
    ledger.sync().unwrap();
    let files = objects(&ledger);
    assert_eq!(files.len(), 2, "a pack and its index");
    for (name, damaged) in damages {
        for file in &files {
            let whole = fs::read(file).unwrap();
            damage(file, &damaged(&whole));
            // As after a restart: nothing cached.
            let mut ledger = Ledger::open(ledger.path()).unwrap();
            assert_eq!(
                ledger.set_aside_torn_packs().unwrap().len(),
                2,
                "{name} of {}",
                file.display()
            );
            let plan = plan(1, &[]);
            assert_eq!(
                ledger
                    .put(&made(&plan, &key(7)).commit, &plan.files)
                    .unwrap(),
                ids[0],
                "{name}"
            );
            ledger.sync().unwrap();
            assert_eq!(fs::read(file).unwrap(), whole, "{name}");
            assert_eq!(
                ledger.set_aside_torn_packs().unwrap(),
                [] as [PathBuf; 0],
                "{name}"
            );
        }
    }
    assert_eq!(objects(&ledger), files);
    // Each time under a name of its own: what was set aside earlier is still there.
    let folder = fs::read_dir(ledger.path().join("objects/pack")).unwrap();
    let aside = folder
        .filter(|file| {
            file.as_ref()
                .unwrap()
                .file_name()
                .to_string_lossy()
                .contains(".torn")
        })
        .count();
    assert_eq!(aside, 2 * damages.len() * files.len());
    assert_fsck_is_silent(ledger.path());
}

#[test]
fn a_torn_loose_object_gives_way_to_a_whole_one() {
    let dir = tempfile::tempdir().unwrap();
    let (mut ledger, ids) = chain(dir.path(), 1);
    ledger.move_ref(MAIN, None, ids[0]).unwrap();
    ledger.sync().unwrap();
    for pack in objects(&ledger)
        .iter()
        .filter(|path| path.extension().is_some_and(|e| e == "pack"))
    {
        // What git calls unpacking: from a file outside the repository.
        let outside = dir.path().join("outside.pack");
        fs::copy(pack, &outside).unwrap();
        for file in objects(&ledger) {
            fs::remove_file(file).unwrap();
        }
        let command = format!(
            "git -C {} unpack-objects -q < {}",
            ledger.path().display(),
            outside.display()
        );
        assert!(
            Command::new("sh")
                .args(["-c", &command])
                .status()
                .unwrap()
                .success()
        );
    }
    let hex = ids[0].to_string();
    let loose = ledger
        .path()
        .join("objects")
        .join(&hex[..2])
        .join(&hex[2..]);
    damage(&loose, b"");
    let mut ledger = Ledger::open(ledger.path()).unwrap();
    let plan = plan(1, &[]);
    assert_eq!(
        ledger
            .put(&made(&plan, &key(7)).commit, &plan.files)
            .unwrap(),
        ids[0]
    );
    ledger.sync().unwrap();
    assert!(!loose.exists());
    assert_fsck_is_silent(ledger.path());
}

#[test]
fn many_packs_become_few_and_nothing_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let (mut ledger, mut ids) = chain(dir.path(), 1);
    ledger.move_ref(MAIN, None, ids[0]).unwrap();
    let mut most = 0;
    for n in 2..90 {
        let plan = plan(n, &ids[ids.len() - 1..]);
        let id = ledger
            .put(&made(&plan, &key(7)).commit, &plan.files)
            .unwrap();
        ledger.move_ref(MAIN, ids.last().copied(), id).unwrap();
        ledger.sync().unwrap();
        ledger.tidy().unwrap();
        most = most.max(objects(&ledger).len() / 2);
        ids.push(id);
    }
    assert!(most <= 20, "{most} packs at once");
    assert_fsck_is_silent(ledger.path());
    assert_eq!(
        git_text(ledger.path(), &["rev-list", "--count", "main"]),
        format!("{}\n", ids.len())
    );
    let counted = git_text(ledger.path(), &["count-objects", "-v"]);
    assert!(
        counted.contains("count: 0\n") && counted.contains("garbage: 0\n"),
        "{counted}"
    );
    let reopened = Ledger::open(ledger.path()).unwrap();
    assert_eq!(reopened.tip(MAIN).unwrap(), ids.last().copied());
}

/// Readers that opened the ledger before, and stock git, go on reading everything while packs are
/// merged.
///
/// Everything that refs reach, that is. A git command that lists packs first and opens them later,
/// such as `cat-file --batch-all-objects`, stops when one is gone by then, as it does beside a
/// stock `git repack -d`.
#[test]
fn readers_see_no_gap_while_packs_are_merged() {
    let dir = tempfile::tempdir().unwrap();
    let (mut ledger, mut ids) = chain(dir.path(), 1);
    ledger.move_ref(MAIN, None, ids[0]).unwrap();
    ledger.sync().unwrap();
    let path = ledger.path().to_owned();
    let known = std::sync::Mutex::new(ids.clone());
    let over = std::sync::atomic::AtomicBool::new(false);
    let is_over = || over.load(std::sync::atomic::Ordering::SeqCst);
    let looks = std::thread::scope(|scope| {
        let old = scope.spawn(|| {
            let (early, mut looks) = (Repository::open(&path).unwrap(), 0);
            while !is_over() {
                let fresh = Repository::open(&path).unwrap();
                let ids = known.lock().unwrap().clone();
                for id in &ids {
                    early
                        .commit(id)
                        .unwrap_or_else(|e| panic!("an early reader at {id}: {e}"));
                    fresh
                        .commit(id)
                        .unwrap_or_else(|e| panic!("a fresh reader at {id}: {e}"));
                }
                looks += 1;
            }
            looks
        });
        let stock = scope.spawn(|| {
            let mut looks = 0;
            while !is_over() {
                git_ok(&path, &["rev-list", "--objects", "main"]);
                git_ok(&path, &["log", "--format=%T", "-p", "--root", "main"]);
                looks += 1;
            }
            looks
        });
        for n in 2..120 {
            let plan = plan(n, &ids[ids.len() - 1..]);
            let id = ledger
                .put(&made(&plan, &key(7)).commit, &plan.files)
                .unwrap();
            ledger.move_ref(MAIN, ids.last().copied(), id).unwrap();
            ledger.sync().unwrap();
            ids.push(id);
            known.lock().unwrap().push(id);
            ledger.tidy().unwrap();
        }
        over.store(true, std::sync::atomic::Ordering::SeqCst);
        [old.join().unwrap(), stock.join().unwrap()]
    });
    assert!(looks.iter().all(|looks| *looks > 0), "{looks:?}");
    assert_fsck_is_silent(&path);
}

#[test]
fn put_refuses_what_does_not_belong_together() {
    let dir = tempfile::tempdir().unwrap();
    let (mut ledger, ids) = chain(dir.path(), 1);
    let before = objects(&ledger);
    let good = plan(2, &ids);
    let commit = made(&good, &key(7));

    let error = ledger.put(&commit.commit, &plan(3, &[]).files).unwrap_err();
    assert!(
        matches!(error, LedgerError::Tree { commit: id, .. } if id == commit.id),
        "{error}"
    );
    let mut fewer = good.files.clone();
    fewer.remove("audit.log");
    assert!(matches!(
        ledger.put(&commit.commit, &fewer),
        Err(LedgerError::Tree { .. })
    ));

    let orphan = made(&plan(2, &[Oid::from_bytes([9; 20])]), &key(7));
    let error = ledger.put(&orphan.commit, &good.files).unwrap_err();
    assert!(
        matches!(error, LedgerError::MissingParent { parent, .. } if parent == Oid::from_bytes([9; 20])),
        "{error}"
    );

    for garbage in [&b""[..], b"tree", &commit.commit[..30]] {
        assert!(matches!(
            ledger.put(garbage, &good.files),
            Err(LedgerError::NotACommit { .. })
        ));
    }
    assert_eq!(objects(&ledger), before, "a refused commit left objects");
}

#[test]
fn refs_move_by_compare_and_swap_and_forward_only() {
    let dir = tempfile::tempdir().unwrap();
    let (mut ledger, ids) = chain(dir.path(), 4);
    let [one, two, three, four] = ids[..] else {
        panic!()
    };
    let root = plan(9, &[]);
    let other = ledger
        .put(&made(&root, &key(7)).commit, &root.files)
        .unwrap();
    let nowhere = Oid::from_bytes([1; 20]);

    ledger.move_ref(MAIN, None, one).unwrap();
    ledger
        .move_ref(MAIN, None, one)
        .expect("already there is fine");
    ledger
        .move_ref(MAIN, Some(one), three)
        .expect("several commits at once");
    ledger
        .move_ref(MAIN, Some(one), three)
        .expect("already there is fine, wherever it came from");
    ledger.sync().unwrap();

    type Right = fn(&LedgerError) -> bool;
    let refused: [(&str, Option<Oid>, Oid, Right); 10] = [
        (MAIN, Some(two), four, |e| {
            matches!(
                e,
                LedgerError::Moved {
                    expected: Some(_),
                    actual: Some(_),
                    ..
                }
            )
        }),
        (MAIN, None, four, |e| {
            matches!(
                e,
                LedgerError::Moved {
                    expected: None,
                    actual: Some(_),
                    ..
                }
            )
        }),
        (MAIN, Some(three), two, |e| {
            matches!(e, LedgerError::NotForward { .. })
        }),
        (MAIN, Some(three), other, |e| {
            matches!(e, LedgerError::NotForward { .. })
        }),
        (MAIN, Some(three), nowhere, |e| {
            matches!(e, LedgerError::MissingCommit { .. })
        }),
        (BRANCH, Some(three), four, |e| {
            matches!(
                e,
                LedgerError::Moved {
                    expected: Some(_),
                    actual: None,
                    ..
                }
            )
        }),
        (BRANCH, None, nowhere, |e| {
            matches!(e, LedgerError::MissingCommit { .. })
        }),
        ("refs/heads/branch-8", None, one, |e| {
            matches!(e, LedgerError::RefName { .. })
        }),
        ("refs/tags/one", None, one, |e| {
            matches!(e, LedgerError::RefName { .. })
        }),
        ("HEAD", None, one, |e| {
            matches!(e, LedgerError::RefName { .. })
        }),
    ];
    for (name, from, to, right) in refused {
        let error = ledger.move_ref(name, from, to).unwrap_err();
        assert!(right(&error), "{name} {from:?} {to}: {error}");
    }
    let error = ledger
        .move_ref(MAIN, Some(two), four)
        .unwrap_err()
        .to_string();
    for named in [
        MAIN,
        &two.to_string(),
        &three.to_string(),
        &four.to_string(),
    ] {
        assert!(error.contains(named), "{error} does not name {named}");
    }
    assert_eq!(ledger.tip(MAIN).unwrap(), Some(three));
    assert_eq!(
        ledger.refs().unwrap(),
        BTreeMap::from([(MAIN.to_owned(), three)])
    );
    assert_eq!(
        git_text(ledger.path(), &["rev-parse", "main"]),
        format!("{three}\n")
    );
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
        assert!(
            matches!(&error, LedgerError::TornRef { name, .. } if name == MAIN),
            "{error}"
        );
        assert!(
            error.to_string().contains("refs/heads/main is torn"),
            "{error}"
        );
        for from in [None, Some(ids[0]), Some(ids[1])] {
            assert!(matches!(
                ledger.move_ref(MAIN, from, ids[1]),
                Err(LedgerError::TornRef { .. })
            ));
        }
        assert_eq!(
            fs::read(&file).unwrap(),
            torn,
            "a torn ref was changed unasked"
        );
        let nowhere = ledger.overwrite_torn_ref(MAIN, Oid::from_bytes([1; 20]));
        assert!(matches!(nowhere, Err(LedgerError::MissingCommit { .. })));
        ledger.overwrite_torn_ref(MAIN, ids[0]).unwrap();
        ledger.sync().unwrap();
        assert_eq!(ledger.tip(MAIN).unwrap(), Some(ids[0]));
        let again = ledger.overwrite_torn_ref(MAIN, ids[1]);
        assert!(
            matches!(again, Err(LedgerError::NotTorn { actual: Some(id), .. }) if id == ids[0])
        );
    }
    assert!(matches!(
        ledger.overwrite_torn_ref(BRANCH, ids[1]),
        Err(LedgerError::NotTorn { actual: None, .. })
    ));
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
    let packed = objects(&ledger);
    assert!(!ledger.path().join(MAIN).exists(), "gc packs refs");
    assert_eq!(ledger.tip(MAIN).unwrap(), Some(ids[0]));

    let again = plan(1, &[]);
    assert_eq!(
        ledger
            .put(&made(&again, &key(7)).commit, &again.files)
            .unwrap(),
        ids[0]
    );
    assert_eq!(
        objects(&ledger),
        packed,
        "what is in a pack was written again"
    );
    ledger.move_ref(MAIN, None, ids[0]).expect("already there");
    let stale = ledger.move_ref(MAIN, None, ids[1]);
    assert!(matches!(
        stale,
        Err(LedgerError::Moved {
            actual: Some(_),
            ..
        })
    ));
    ledger.move_ref(MAIN, Some(ids[0]), ids[1]).unwrap();
    ledger.sync().unwrap();
    assert_eq!(
        git_text(ledger.path(), &["rev-parse", "main"]),
        format!("{}\n", ids[1])
    );
    assert_fsck_is_silent(ledger.path());
}

#[test]
fn an_object_that_vanishes_before_the_sync_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let (mut ledger, _) = chain(dir.path(), 1);
    ledger.write_objects().unwrap();
    for file in objects(&ledger) {
        fs::remove_file(file).unwrap();
    }
    let error = ledger.sync().unwrap_err();
    assert!(matches!(error, LedgerError::Vanished { .. }), "{error}");
}

#[test]
fn a_lock_of_a_killed_process_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let (mut ledger, ids) = chain(dir.path(), 3);
    ledger.move_ref(MAIN, None, ids[0]).unwrap();
    for (name, from, to) in [
        ("refs/heads/main.lock", ids[0], ids[1]),
        ("packed-refs.lock", ids[1], ids[2]),
    ] {
        let lock = ledger.path().join(name);
        let file = File::create(&lock).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(3600))
            .unwrap();
        ledger.move_ref(MAIN, Some(from), to).unwrap();
        assert_eq!(ledger.tip(MAIN).unwrap(), Some(to));
        assert!(!lock.exists());
    }
}

/// Only a writer of this home knows the commit before the ref shows it, and there is one writer at
/// a time.
#[test]
fn a_lock_that_holds_what_is_to_be_written_is_of_a_writer_that_was_killed() {
    let dir = tempfile::tempdir().unwrap();
    let (mut ledger, ids) = chain(dir.path(), 2);
    ledger.move_ref(MAIN, None, ids[0]).unwrap();
    let lock = ledger.path().join("refs/heads/main.lock");
    fs::write(&lock, format!("{}\n", ids[1])).unwrap();
    let begun = std::time::Instant::now();
    ledger.move_ref(MAIN, Some(ids[0]), ids[1]).unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(8),
        "it was not waited for: {:?}",
        begun.elapsed()
    );
    assert_eq!(ledger.tip(MAIN).unwrap(), Some(ids[1]));
    assert!(!lock.exists());
}

/// A lock that says nothing of its maker: its holder is waited for, and when there is none it goes
/// by its age.
#[test]
fn a_fresh_lock_is_outlasted() {
    let dir = tempfile::tempdir().unwrap();
    let (mut ledger, ids) = chain(dir.path(), 4);
    ledger.move_ref(MAIN, None, ids[0]).unwrap();
    let lock = ledger.path().join("refs/heads/main.lock");
    // Somebody who lets go.
    fs::write(&lock, "").unwrap();
    let held = lock.clone();
    let holder = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(2));
        fs::remove_file(held).unwrap();
    });
    ledger.move_ref(MAIN, Some(ids[0]), ids[1]).unwrap();
    holder.join().unwrap();
    // Somebody who is gone, and whose clock was ahead: what counts is how long it stands unchanged.
    let file = File::create(&lock).unwrap();
    file.set_modified(SystemTime::now() + Duration::from_secs(3600))
        .unwrap();
    let begun = std::time::Instant::now();
    ledger.move_ref(MAIN, Some(ids[1]), ids[2]).unwrap();
    assert!(
        begun.elapsed() >= Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
    assert!(!lock.exists());
    // Somebody who is at work there, again and again.
    fs::write(&lock, "").unwrap();
    let (busy, done) = (
        lock.clone(),
        std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false)),
    );
    let stop = done.clone();
    let worker = std::thread::spawn(move || {
        for n in 0u64.. {
            if stop.load(std::sync::atomic::Ordering::SeqCst) {
                return;
            }
            fs::write(&busy, n.to_string()).unwrap();
            File::open(&busy)
                .unwrap()
                .set_modified(SystemTime::now() + Duration::from_secs(n))
                .unwrap();
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let error = ledger.move_ref(MAIN, Some(ids[2]), ids[3]).unwrap_err();
    done.store(true, std::sync::atomic::Ordering::SeqCst);
    worker.join().unwrap();
    assert!(
        matches!(&error, LedgerError::Locked { lock: named, .. } if *named == lock),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains(&format!("rm {}", lock.display())),
        "{error}"
    );
    assert_eq!(ledger.tip(MAIN).unwrap(), Some(ids[2]));
}

#[test]
fn of_two_writers_one_wins_and_the_other_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let (mut ledger, ids) = chain(dir.path(), 1);
    ledger.move_ref(MAIN, None, ids[0]).unwrap();
    let mut at = ids[0];
    for round in 0..10 {
        let next = [10 + 2 * round, 11 + 2 * round].map(|n| {
            let plan = plan(n, &[at]);
            ledger
                .put(&made(&plan, &key(7)).commit, &plan.files)
                .unwrap()
        });
        ledger.write_objects().unwrap();
        let moves = next.map(|to| {
            let path = ledger.path().to_owned();
            std::thread::spawn(move || Ledger::open(&path).unwrap().move_ref(MAIN, Some(at), to))
        });
        let ends = moves.map(|thread| thread.join().unwrap());
        let now = ledger.tip(MAIN).unwrap().unwrap();
        for (to, end) in next.into_iter().zip(ends) {
            match end {
                Ok(()) => assert_eq!(now, to),
                Err(LedgerError::Moved { wanted, actual, .. }) => {
                    assert_eq!((wanted, actual), (to, Some(now)))
                }
                Err(other) => panic!("{other}"),
            }
        }
        assert_ne!(now, at);
        at = now;
    }
}

const OTS: &str = "refs/notes/ots";

fn at(n: u64) -> Seconds {
    Seconds::new(1_700_001_000 + n).unwrap()
}

#[test]
fn notes_are_those_of_stock_git_and_are_replaced_and_added_forward_only() {
    let dir = tempfile::tempdir().unwrap();
    let (mut ledger, ids) = chain(dir.path(), 5);
    ledger.move_ref(MAIN, None, ids[4]).unwrap();
    let (one, two) = (
        BTreeMap::from([(ids[0], vec![0, 255, 10])]),
        BTreeMap::from([(ids[3], b"two".to_vec())]),
    );
    let first = ledger.put_notes(OTS, &one, at(1)).unwrap().unwrap();
    assert_eq!(
        ledger.put_notes(OTS, &one, at(2)).unwrap(),
        None,
        "the same again is nothing new"
    );
    let second = ledger.put_notes(OTS, &two, at(2)).unwrap().unwrap();
    ledger
        .put_notes(OTS, &BTreeMap::from([(ids[0], b"later".to_vec())]), at(3))
        .unwrap()
        .unwrap();
    let repo = dir.path().join("ledger.git");
    assert_fsck_is_silent(&repo);
    let show = |commit: Oid| {
        git_ok(
            &repo,
            &["notes", "--ref", "ots", "show", &commit.to_string()],
        )
    };
    assert_eq!(
        (show(ids[0]), show(ids[3])),
        (b"later".to_vec(), b"two".to_vec())
    );
    assert_eq!(
        git_text(
            &repo,
            &[
                "log",
                "--format=%an %ae %at %ct %P",
                &second.to_string(),
                "-1"
            ]
        )
        .trim(),
        format!("gently ledger@gently.invalid {0} {0} {first}", at(2).get())
    );
    // Deterministic: elsewhere, the same notes at the same time have the same id.
    let other = tempfile::tempdir().unwrap();
    let (mut copy, _) = chain(other.path(), 5);
    copy.write_objects().unwrap();
    assert_eq!(copy.put_notes(OTS, &one, at(1)).unwrap(), Some(first));
    // What stock git adds is read, and taken into the layout.
    git_ok(
        &repo,
        &[
            "-c",
            "user.name=a",
            "-c",
            "user.email=b",
            "notes",
            "--ref",
            "ots",
            "add",
            "-m",
            "theirs",
            &ids[1].to_string(),
        ],
    );
    let mut ledger = Ledger::open(&repo).unwrap();
    assert_eq!(
        ledger.note(OTS, ids[1]).unwrap().as_deref(),
        Some(&b"theirs\n"[..])
    );
    ledger
        .put_notes(OTS, &BTreeMap::from([(ids[2], b"ours".to_vec())]), at(4))
        .unwrap()
        .unwrap();
    assert_eq!(
        (show(ids[1]), show(ids[2])),
        (b"theirs\n".to_vec(), b"ours".to_vec())
    );
    assert_eq!(ledger.notes(OTS).unwrap().len(), 4);
    git_ok(&repo, &["pack-refs", "--all"]);
    let again = BTreeMap::from([(ids[2], b"ours too".to_vec())]);
    assert!(ledger.put_notes(OTS, &again, at(5)).unwrap().is_some());
    assert_eq!(git_text(&repo, &["rev-list", "--count", OTS]).trim(), "6");
    assert_fsck_is_silent(&repo);
}

#[test]
fn notes_that_are_none_are_an_error_and_a_torn_ref_stays() {
    let dir = tempfile::tempdir().unwrap();
    let (mut ledger, ids) = chain(dir.path(), 2);
    let note = BTreeMap::from([(ids[0], b"x".to_vec())]);
    let tip = ledger.put_notes(OTS, &note, at(1)).unwrap().unwrap();
    let file = dir.path().join("ledger.git").join(OTS);
    let other = BTreeMap::from([(ids[1], b"y".to_vec())]);
    assert_eq!(ledger.tip(OTS).unwrap(), Some(tip));
    fs::write(&file, b"").unwrap();
    assert!(matches!(
        ledger.put_notes(OTS, &other, at(2)),
        Err(LedgerError::TornRef { .. })
    ));
    // A commit of the ledger is no notes commit: its files are not called as commits.
    fs::write(&file, format!("{}\n", ids[1])).unwrap();
    assert!(
        ledger
            .put_notes(OTS, &other, at(2))
            .unwrap_err()
            .to_string()
            .contains("audit.log")
    );
}
