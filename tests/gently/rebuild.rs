//! `gently audit rebuild`: what is lost comes back from the database, what contradicts it is left
//! alone and named.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps an error fails, as it should"
)]

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use gently::ledger::whole::commit_id;
use gently::recorder::rebuild;
use gently::recorder::{MissingParts, RecorderError, look_for_losses};
use rusqlite::Connection;

use crate::at_hand::EventCache;
use crate::person::Person;
use crate::recorder::{Rig, anchor, at, copy_all, denied, fill, overwrite, turn, wait};
use crate::unguarded::unguarded;

/// A closed session on one branch, an open one on another, and a checkpoint between: made once,
/// copied often.
fn base() -> &'static Rig {
    static BASE: OnceLock<Rig> = OnceLock::new();
    BASE.get_or_init(|| {
        let rig = Rig::told(async |rig, recorder| {
            let a = recorder
                .open_session(rig.terms(), anchor(829_604), at(1))
                .await
                .unwrap();
            turn(recorder, &a, "one", at(2)).await.unwrap();
            turn(recorder, &a, "two", at(3)).await.unwrap();
            recorder
                .close_session(a.id, anchor(829_605), at(4))
                .await
                .unwrap();
            let b = recorder
                .open_session(rig.terms(), anchor(829_606), at(5))
                .await
                .unwrap();
            fill(recorder, 200, at(6)).await;
            turn(recorder, &b, "three", at(7)).await.unwrap();
            recorder.refuse(denied(&b, "four", at(8))).await.unwrap();
        });
        assert_eq!((rig.count("checkpoint"), rig.count("session_end")), (1, 1));
        rig
    })
}

fn git(rig: &Rig, args: &[&str]) -> String {
    let done = Command::new("git")
        .arg("-C")
        .arg(rig.root().join("ledger.git"))
        .args(args)
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "git {args:?}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    String::from_utf8(done.stdout).unwrap()
}

/// Every ref, and every object that they reach.
fn refs_and_objects(rig: &Rig) -> (String, Vec<String>) {
    let mut objects: Vec<String> = git(
        rig,
        &["rev-list", "--all", "--objects", "--no-object-names"],
    )
    .lines()
    .map(str::to_owned)
    .collect();
    objects.sort();
    (git(rig, &["for-each-ref"]), objects)
}

fn packs(rig: &Rig, extension: &str) -> Vec<PathBuf> {
    let folder = fs::read_dir(rig.root().join("ledger.git/objects/pack")).unwrap();
    let all = folder.map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = all
        .filter(|path| path.extension().is_some_and(|e| e == extension))
        .collect();
    found.sort();
    found
}

/// Makes every object a loose one, as a stock `git unpack-objects` does; returns their files.
fn unpack(rig: &Rig) -> Vec<PathBuf> {
    let ledger = rig.root().join("ledger.git");
    let aside = rig.root().join("packs");
    fs::create_dir(&aside).unwrap();
    let all = packs(rig, "pack");
    for path in packs(rig, "idx") {
        fs::remove_file(path).unwrap();
    }
    for path in all {
        let moved = aside.join(path.file_name().unwrap());
        fs::rename(&path, &moved).unwrap();
        let input = fs::File::open(&moved).unwrap();
        let done = Command::new("git")
            .arg("-C")
            .arg(&ledger)
            .args(["unpack-objects", "-q"])
            .stdin(input)
            .status();
        assert!(done.unwrap().success());
    }
    fs::remove_dir_all(aside).unwrap();
    let mut files = Vec::new();
    for folder in fs::read_dir(ledger.join("objects")).unwrap() {
        let folder = folder.unwrap().path();
        if folder.file_name().unwrap().len() == 2 {
            files.extend(
                fs::read_dir(folder)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        }
    }
    files.sort();
    assert!(files.len() > 20);
    files
}

fn line_ends(log: &[u8]) -> Vec<usize> {
    log.iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .map(|(at, _)| at + 1)
        .collect()
}

type Damage = fn(&Rig);
type Expected = fn(&MissingParts) -> bool;

fn log_of(rig: &Rig) -> PathBuf {
    rig.root().join("audit.log")
}

fn lines() -> u64 {
    base().store().head().unwrap().lines
}

fn commits() -> u64 {
    base().store().head().unwrap().commits
}

/// What can be lost, and what of it a rebuild says.
const LOSSES: &[(&str, Damage, Expected)] = &[
    (
        "log deleted",
        |rig| fs::remove_file(log_of(rig)).unwrap(),
        |lost| lost.lines == Some((1, lines())) && lost.commits == 0 && lost.aside.is_empty(),
    ),
    (
        "log emptied",
        |rig| fs::write(log_of(rig), "").unwrap(),
        |lost| lost.lines == Some((1, lines())),
    ),
    (
        "log cut in the middle of line 10",
        |rig| fs::write(log_of(rig), &rig.log()[..line_ends(&rig.log())[8] + 50]).unwrap(),
        |lost| lost.lines == Some((10, lines())) && lost.torn_bytes == 50 && lost.aside.is_empty(),
    ),
    (
        "log cut after line 12",
        |rig| fs::write(log_of(rig), &rig.log()[..line_ends(&rig.log())[11]]).unwrap(),
        |lost| lost.lines == Some((13, lines())) && lost.torn_bytes == 0,
    ),
    (
        "log's end zeroed",
        |rig| {
            let mut log = rig.log();
            let end = line_ends(&log)[20];
            log[end..].fill(0);
            fs::write(log_of(rig), log).unwrap();
        },
        |lost| lost.lines == Some((1, lines())) && lost.aside.len() == 1,
    ),
    (
        "all of the log zeroed",
        |rig| fs::write(log_of(rig), vec![0; rig.log().len()]).unwrap(),
        |lost| lost.lines == Some((1, lines())) && lost.aside.len() == 1,
    ),
    (
        "ledger deleted",
        |rig| fs::remove_dir_all(rig.root().join("ledger.git")).unwrap(),
        |lost| {
            lost.repository
                && lost.commits == commits()
                && lost.refs.len() == 3
                && lost.lines.is_none()
        },
    ),
    (
        "ledger is an empty folder",
        |rig| {
            fs::remove_dir_all(rig.root().join("ledger.git")).unwrap();
            fs::create_dir(rig.root().join("ledger.git")).unwrap();
        },
        |lost| lost.repository && lost.commits == commits() && lost.aside.is_empty(),
    ),
    (
        "ledger is no repository any more",
        |rig| fs::remove_dir_all(rig.root().join("ledger.git/refs")).unwrap(),
        |lost| lost.repository && lost.commits == commits() && lost.aside.len() == 1,
    ),
    (
        "log and ledger deleted",
        |rig| {
            fs::remove_file(log_of(rig)).unwrap();
            fs::remove_dir_all(rig.root().join("ledger.git")).unwrap();
        },
        |lost| lost.repository && lost.commits == commits() && lost.lines == Some((1, lines())),
    ),
    (
        "HEAD emptied",
        |rig| fs::write(rig.root().join("ledger.git/HEAD"), "").unwrap(),
        |lost| lost.head && lost.count() == 0 && lost.aside.len() == 1,
    ),
    (
        "HEAD deleted",
        |rig| fs::remove_file(rig.root().join("ledger.git/HEAD")).unwrap(),
        |lost| lost.head && !lost.repository && lost.count() == 0 && lost.aside.is_empty(),
    ),
    (
        "HEAD is a folder",
        |rig| {
            fs::remove_file(rig.root().join("ledger.git/HEAD")).unwrap();
            fs::create_dir(rig.root().join("ledger.git/HEAD")).unwrap();
        },
        |lost| lost.head && !lost.repository && lost.count() == 0 && lost.aside.len() == 1,
    ),
    (
        "all objects deleted",
        |rig| fs::remove_dir_all(rig.root().join("ledger.git/objects/pack")).unwrap(),
        |lost| !lost.repository && lost.commits == commits() && lost.refs.is_empty(),
    ),
    (
        "a pack deleted",
        |rig| fs::remove_file(packs(rig, "pack").pop().unwrap()).unwrap(),
        |lost| (1..commits()).contains(&lost.commits) && lost.aside.len() == 1,
    ),
    (
        "an index deleted",
        |rig| fs::remove_file(packs(rig, "idx").pop().unwrap()).unwrap(),
        |lost| (1..commits()).contains(&lost.commits) && lost.aside.len() == 1,
    ),
    (
        "a pack and its index deleted",
        |rig| {
            let pack = packs(rig, "pack").pop().unwrap();
            fs::remove_file(pack.with_extension("idx")).unwrap();
            fs::remove_file(pack).unwrap();
        },
        |lost| (1..commits()).contains(&lost.commits) && lost.aside.is_empty(),
    ),
    (
        "a pack torn",
        |rig| {
            let path = packs(rig, "pack").pop().unwrap();
            let bytes = fs::read(&path).unwrap();
            overwrite(&path, &bytes[..bytes.len() / 2]);
        },
        |lost| (1..commits()).contains(&lost.commits) && lost.aside.len() == 2,
    ),
    (
        "one byte of a pack changed",
        |rig| {
            let path = packs(rig, "pack").remove(0);
            let mut bytes = fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            overwrite(&path, &bytes);
        },
        |lost| (1..commits()).contains(&lost.commits) && lost.aside.len() == 2,
    ),
    (
        "loose objects torn, emptied and deleted",
        |rig| {
            let files = unpack(rig);
            let bytes = fs::read(&files[0]).unwrap();
            overwrite(&files[0], &bytes[..bytes.len() / 2]);
            overwrite(&files[7], b"");
            overwrite(&files[11], &fs::read(&files[12]).unwrap());
            fs::remove_file(&files[17]).unwrap();
        },
        |lost| (1..=8).contains(&lost.commits) && lost.aside.is_empty(),
    ),
    (
        "one ref deleted",
        |rig| fs::remove_file(rig.root().join("ledger.git/refs/heads/main")).unwrap(),
        |lost| lost.refs == ["refs/heads/main"] && lost.commits == 0,
    ),
    (
        "a torn ref",
        |rig| fs::write(rig.root().join("ledger.git/refs/heads/main"), "12").unwrap(),
        |lost| lost.refs == ["refs/heads/main"] && lost.commits == 0,
    ),
    (
        "a ref moved back",
        |rig| {
            drop(git(
                rig,
                &["update-ref", "refs/heads/main", "refs/heads/main~1"],
            ))
        },
        |lost| lost.refs == ["refs/heads/main"] && lost.commits == 0,
    ),
    (
        "packed refs deleted",
        |rig| {
            git(rig, &["pack-refs", "--all"]);
            fs::remove_file(rig.root().join("ledger.git/packed-refs")).unwrap();
        },
        |lost| lost.refs.len() == 3 && lost.commits == 0,
    ),
];

#[test]
fn what_is_lost_comes_back_as_it_was_without_the_signing_key() {
    let (log, whole) = (base().log(), refs_and_objects(base()));
    for (what, damage, expected) in LOSSES {
        let rig = base().copy();
        damage(&rig);
        let (key, away) = (rig.root().join("keys/signing.key"), rig.root().join("away"));
        fs::rename(&key, &away).unwrap();
        let before = rig.bytes();
        let planned = look_for_losses(&rig.home_paths()).unwrap();
        assert_eq!(rig.bytes(), before, "{what}: looking changed something");
        let rebuilt = rebuild(&rig.home_paths(), at(20)).unwrap();
        assert!(expected(&rebuilt.lost), "{what}: {:?}", rebuilt.lost);
        assert_eq!(
            (
                planned.lines,
                planned.torn_bytes,
                planned.repository,
                &planned.refs,
                planned.aside.len()
            ),
            (
                rebuilt.lost.lines,
                rebuilt.lost.torn_bytes,
                rebuilt.lost.repository,
                &rebuilt.lost.refs,
                rebuilt.lost.aside.len()
            ),
            "{what}: what was said before is not what was done"
        );
        assert!(
            rebuilt.lost.aside.iter().all(|path| path.exists()),
            "{what}: {:?}",
            rebuilt.lost.aside
        );
        let count = rebuilt.lost.count();
        let after = rig.log();
        assert_eq!(after[..log.len()], log, "{what}: the old lines");
        let added = String::from_utf8(after[log.len()..].to_vec()).unwrap();
        assert_eq!(
            added.lines().count(),
            usize::from(count > 0),
            "{what}: {added}"
        );
        assert!(
            count == 0
                || added
                    .trim_end()
                    .ends_with(&format!("|recover|-|applied:{count}")),
            "{what}: {added}"
        );
        assert_eq!(
            rebuilt.recover,
            (count > 0).then_some(lines() + 1),
            "{what}"
        );
        assert_eq!(refs_and_objects(&rig), whole, "{what}");
        assert_eq!(git(&rig, &["fsck", "--full", "--strict"]), "", "{what}");
        let bytes = rig.bytes();
        let again = rebuild(&rig.home_paths(), at(21)).unwrap();
        assert!(
            again.lost.is_nothing() && again.recover.is_none(),
            "{what}: {again:?}"
        );
        assert_eq!(
            rig.bytes(),
            bytes,
            "{what}: a rebuild of nothing wrote something"
        );
        fs::rename(&away, &key).unwrap();
        let recorder = rig.recorder(at(22));
        wait(async {
            let session = recorder
                .resume_or_open(rig.terms(), anchor(829_606), at(22))
                .await
                .unwrap()
                .0;
            turn(&recorder, &session, "after the rebuild", at(23))
                .await
                .unwrap();
        });
        drop(recorder);
        rig.assert_sound(what);
    }
}

/// The database as its owner may change it, past the triggers that stop honest programs.
fn sql(rig: &Rig, change: impl Fn(&Connection)) {
    change(&unguarded(rig.root().join("gently.db")));
}

fn executed(rig: &Rig, statement: &str) {
    sql(rig, |database| {
        assert!(database.execute(statement, []).unwrap() > 0, "{statement}")
    });
}

/// The newest commit of the database with another byte in its signature, named by its new id.
fn sign_wrongly(rig: &Rig) {
    sql(rig, |database| {
        let (n, mut raw): (i64, Vec<u8>) = database
            .query_row(
                "SELECT n, raw FROM ledger_commit ORDER BY n DESC LIMIT 1",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .unwrap();
        let end = raw.windows(4).position(|four| four == b"-END").unwrap() - 40;
        raw[end] = if raw[end] == b'A' { b'B' } else { b'A' };
        let id = commit_id(&raw).to_string();
        database
            .execute(
                "UPDATE ledger_commit SET raw = ?1, id = ?2 WHERE n = ?3",
                rusqlite::params![raw, id, n],
            )
            .unwrap();
    });
}

/// Brings the newest commit of the database to the ledger, as git alone takes it.
fn move_ref_to_newest(rig: &Rig) {
    sql(rig, |database| {
        let (reference, raw): (String, Vec<u8>) = database
            .query_row(
                "SELECT ref, raw FROM ledger_commit ORDER BY n DESC LIMIT 1",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .unwrap();
        let file = rig.root().join("commit");
        fs::write(&file, raw).unwrap();
        let file = file.to_str().unwrap();
        let id = git(rig, &["hash-object", "-w", "-t", "commit", file]);
        git(rig, &["update-ref", &reference, id.trim()]);
    });
}

fn change_log(rig: &Rig, from: &str, to: &str) {
    let log = String::from_utf8(rig.log()).unwrap();
    assert!(log.contains(from));
    fs::write(log_of(rig), log.replacen(from, to, 1)).unwrap();
}

/// The same in a database from before it held a signed tree head: nobody can say which of the two
/// is right.
fn change_log_unsigned(rig: &Rig, from: &str, to: &str) {
    change_log(rig, from, to);
    executed(rig, "UPDATE head SET checkpoint = NULL");
}

/// What contradicts, with the place, what the database and the other say of it, and the next
/// command.
const REFUSALS: &[(&str, Damage, [&str; 4])] = &[
    (
        "a line changed",
        |rig| change_log_unsigned(rig, "seq:2,model", "seq:7,model"),
        [
            "log line 9",
            "seq:2,model",
            "audit.log says '",
            "mv audit.log audit.log.changed",
        ],
    ),
    (
        "a line that is none",
        |rig| change_log(rig, "|session_end|", "|\0|"),
        [
            "log line 10",
            "|session_end|",
            "which is no line",
            "mv audit.log audit.log.changed",
        ],
    ),
    (
        "a line cut out, and the log at that",
        |rig| {
            let log = rig.log();
            let ends = line_ends(&log);
            fs::write(
                log_of(rig),
                [&log[..ends[3]], &log[ends[4]..ends[40]]].concat(),
            )
            .unwrap();
            executed(rig, "UPDATE head SET checkpoint = NULL");
        },
        [
            "log line 5",
            "|auth_ok|",
            "|prompt|",
            "mv audit.log audit.log.changed",
        ],
    ),
    (
        "a line too many",
        |rig| {
            let log = rig.log();
            let last = line_ends(&log)[0];
            fs::write(log_of(rig), [&log[..], &log[..last]].concat()).unwrap();
        },
        [
            "log line 2",
            "the log ends with line",
            "|genesis|",
            "mv audit.log audit.log.changed",
        ],
    ),
    (
        "bytes behind the last line",
        |rig| fs::write(log_of(rig), [&rig.log()[..], b"more"].concat()).unwrap(),
        [
            "log line 2",
            "the log ends with line",
            "4 bytes that are no line",
            "truncate -s",
        ],
    ),
    (
        "a ref elsewhere",
        |rig| {
            drop(git(
                rig,
                &["update-ref", "refs/heads/branch-7", "refs/heads/main"],
            ))
        },
        [
            "refs/heads/branch-7",
            "commit",
            "commit",
            "mv ledger.git ledger.git.changed",
        ],
    ),
    (
        "a ref too many",
        |rig| {
            drop(git(
                rig,
                &["update-ref", "refs/tags/mine", "refs/heads/main"],
            ))
        },
        [
            "refs/tags/mine",
            "no such ref",
            "commit",
            "update-ref --no-deref -d refs/tags/mine",
        ],
    ),
    (
        "a ref that is a pointer",
        |rig| {
            drop(git(
                rig,
                &["symbolic-ref", "refs/heads/main", "refs/heads/branch-7"],
            ))
        },
        [
            "refs/heads/main",
            "a commit",
            "a pointer to refs/heads/branch-7",
            "update-ref --no-deref -d",
        ],
    ),
    (
        "a row of log_line changed",
        |rig| {
            executed(
                rig,
                "UPDATE log_line SET line = replace(line, 'seq:1', 'seq:8') WHERE n = 5",
            )
        },
        [
            "log line 6",
            "seq:8",
            "audit.log says '",
            "gently restore FILE",
        ],
    ),
    (
        "a row of log_line changed, and the log lost",
        |rig| {
            executed(
                rig,
                "UPDATE log_line SET line = replace(line, 'seq:1', 'seq:8') WHERE n = 5",
            );
            fs::remove_file(log_of(rig)).unwrap();
        },
        [
            "log line 6",
            "seq:8",
            "ledger.git says '",
            "in a segment on main",
        ],
    ),
    (
        "a HASH of log_line changed",
        |rig| {
            executed(
                rig,
                "UPDATE log_line SET hash = iif(hash LIKE '0%', '1', '0') || substr(hash, 2) WHERE n = 7",
            )
        },
        [
            "log line 8",
            "log_line.hash",
            "audit.log says '",
            "gently restore FILE",
        ],
    ),
    (
        "a row of log_line gone",
        |rig| executed(rig, "DELETE FROM log_line WHERE n = 6"),
        [
            "log line 7",
            "its row in log_line is missing",
            "audit.log says '",
            "gently restore FILE",
        ],
    ),
    (
        "the head's hash changed",
        |rig| {
            executed(
                rig,
                "UPDATE head SET hash = iif(hash LIKE '0%', '1', '0') || substr(hash, 2)",
            );
        },
        ["head.hash", "", "in its own", "gently restore FILE"],
    ),
    (
        "the head shortened",
        |rig| executed(rig, "UPDATE head SET lines = lines - 1"),
        ["head.hash", "", "in its own", "gently restore FILE"],
    ),
    (
        "bytes of a commit changed",
        |rig| {
            executed(
                rig,
                "UPDATE ledger_commit SET raw = CAST(replace(CAST(raw AS TEXT), 'interaction-1', 'interaction-3') AS BLOB)
                 WHERE n = 2",
            );
        },
        [
            "commit 3 (interaction on refs/heads/branch-7",
            "bytes that are commit",
            "whole",
            "gently restore FILE",
        ],
    ),
    (
        "bytes of a commit changed, and the ledger lost",
        |rig| {
            executed(
                rig,
                "UPDATE ledger_commit SET raw = CAST(replace(CAST(raw AS TEXT), 'interaction-1', 'interaction-3') AS BLOB)
                 WHERE n = 2",
            );
            fs::remove_dir_all(rig.root().join("ledger.git")).unwrap();
        },
        [
            "commit 3 (interaction on refs/heads/branch-7",
            "bytes that are commit",
            "no commit",
            "gently restore FILE",
        ],
    ),
    (
        "a file of a commit changed",
        |rig| {
            executed(
                rig,
                "UPDATE ledger_file SET content = x'00' WHERE commit_n = 3 AND name = 'chain_entry'",
            );
        },
        [
            "commit 4 (interaction",
            "files and lines that make tree",
            "whole",
            "gently restore FILE",
        ],
    ),
    (
        "a commit moved to another branch",
        |rig| {
            executed(
                rig,
                "UPDATE ledger_commit SET ref = 'refs/heads/branch-3' WHERE n = 3",
            )
        },
        [
            "commit 4 (interaction on refs/heads/branch-3",
            "it follows commit none",
            "whole",
            "gently restore FILE",
        ],
    ),
    (
        "a commit's kind changed",
        |rig| {
            executed(
                rig,
                "UPDATE ledger_commit SET kind = 'checkpoint' WHERE n = 0",
            )
        },
        ["commit 1 (checkpoint", "", "whole", "gently restore FILE"],
    ),
    (
        "a commit gone",
        |rig| executed(rig, "DELETE FROM ledger_commit WHERE n = 3"),
        [
            "commit 4",
            "its row is missing",
            "nothing that could be compared",
            "gently restore FILE",
        ],
    ),
    (
        "a commit with another signature, and the ledger lost",
        |rig| {
            sign_wrongly(rig);
            fs::remove_dir_all(rig.root().join("ledger.git")).unwrap();
        },
        [
            "commit ",
            "not signed by the key in force",
            "no commit",
            "gently restore FILE",
        ],
    ),
    (
        "a commit with another signature, in the ledger too, and no tree head",
        |rig| {
            sign_wrongly(rig);
            move_ref_to_newest(rig);
            executed(rig, "UPDATE head SET checkpoint = NULL");
        },
        [
            "commit ",
            "not signed by the key in force",
            "whole",
            "gently restore FILE",
        ],
    ),
    (
        "a commit given to a later line",
        |rig| {
            executed(
                rig,
                "UPDATE ledger_commit SET line = line + 1 WHERE n = (SELECT max(n) FROM ledger_commit)",
            );
        },
        [
            "commit ",
            "that it belongs to the line",
            "a commit that names the line",
            "gently restore FILE",
        ],
    ),
    (
        "the key in force changed",
        |rig| {
            let other = Rig::of(other_home())
                .store()
                .head()
                .unwrap()
                .signer
                .to_string();
            executed(rig, &format!("UPDATE head SET signer = '{other}'"));
        },
        [
            "head.signer",
            "ssh-ed25519",
            "in its own commits",
            "gently restore FILE",
        ],
    ),
    (
        "something lost, and something else changed",
        |rig| {
            fs::remove_dir_all(rig.root().join("ledger.git")).unwrap();
            change_log_unsigned(rig, "seq:2,model", "seq:7,model");
        },
        [
            "log line 9",
            "seq:2,model",
            "audit.log says '",
            "mv audit.log audit.log.changed",
        ],
    ),
];

/// A home with other keys.
fn other_home() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_gently"))
        .arg("init")
        .env("GENTLY_HOME", dir.path().join("home"))
        .output();
    assert!(done.unwrap().status.success());
    dir
}

#[test]
fn what_contradicts_is_named_and_left_as_it_is() {
    for (what, change, [place, database, found, next]) in REFUSALS {
        let rig = base().copy();
        change(&rig);
        let before = rig.bytes();
        for refused in [
            look_for_losses(&rig.home_paths()).map(|_| ()),
            rebuild(&rig.home_paths(), at(20)).map(|_| ()),
        ] {
            let Err(RecorderError::Differ(difference)) = refused else {
                panic!("{what}: {refused:?}")
            };
            assert!(difference.place.starts_with(place), "{what}: {difference}");
            assert!(
                difference.database.contains(database),
                "{what}: {difference}"
            );
            assert!(
                difference.to_string().contains(found) && difference.to_string().contains(next),
                "{what}: {difference}"
            );
        }
        assert_eq!(rig.bytes(), before, "{what}: something was written");
    }
}

#[test]
fn an_older_database_is_sent_to_adopt() {
    let rig = base().copy();
    let recorder = rig.recorder(at(10));
    let session = rig.open_sessions().remove(0);
    wait(turn(&recorder, &session, "newer", at(10))).unwrap();
    drop(recorder);
    for part in ["gently.db", "gently.db-wal", "gently.db-shm"] {
        let _ = fs::remove_file(rig.root().join(part));
        let old = base().root().join(part);
        if old.exists() {
            fs::copy(old, rig.root().join(part)).unwrap();
        }
    }
    for place in [
        format!("log line {}", lines() + 1),
        "refs/heads/branch-".to_owned(),
    ] {
        let Err(RecorderError::Differ(difference)) = rebuild(&rig.home_paths(), at(20)) else {
            panic!("no refusal")
        };
        assert!(difference.place.starts_with(&place), "{difference}");
        assert!(
            difference.next.contains("gently audit adopt --own"),
            "{difference}"
        );
        fs::write(log_of(&rig), base().log()).unwrap();
    }
}

#[test]
fn an_older_log_and_ledger_are_brought_forward() {
    let rig = base().copy();
    let recorder = rig.recorder(at(10));
    let session = rig.open_sessions().remove(0);
    wait(turn(&recorder, &session, "newer", at(10))).unwrap();
    wait(recorder.close_session(session.id, anchor(829_606), at(11))).unwrap();
    drop(recorder);
    let whole = refs_and_objects(&rig);
    fs::write(log_of(&rig), base().log()).unwrap();
    fs::remove_dir_all(rig.root().join("ledger.git")).unwrap();
    copy_all(
        &base().root().join("ledger.git"),
        &rig.root().join("ledger.git"),
    );
    let rebuilt = rebuild(&rig.home_paths(), at(20)).unwrap();
    // The interaction, the session's end, and its close on main.
    assert_eq!(
        (rebuilt.lost.commits, rebuilt.lost.refs.len()),
        (3, 2),
        "{rebuilt:?}"
    );
    assert_eq!(rebuilt.lost.lines.unwrap().0, lines() + 1);
    assert_eq!(refs_and_objects(&rig), whole);
    // No key was asked for, so the line that says so is signed by the next writer.
    drop(rig.recorder(at(30)));
    rig.assert_sound("brought forward");
}

#[test]
fn two_at_once_restore_once() {
    let rig = base().copy();
    fs::remove_file(log_of(&rig)).unwrap();
    fs::remove_dir_all(rig.root().join("ledger.git")).unwrap();
    let paths = rig.home_paths();
    let done: Vec<_> = std::thread::scope(|scope| {
        let both: Vec<_> = (0..2)
            .map(|_| scope.spawn(|| rebuild(&paths, at(20)).unwrap()))
            .collect();
        both.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(
        done.iter().filter(|one| one.lost.is_nothing()).count(),
        1,
        "{done:?}"
    );
    assert_eq!(rig.count("recover"), 1);
    // No key was asked for, so the line that says so is signed by the next writer.
    drop(rig.recorder(at(30)));
    rig.assert_sound("two at once");
}

#[test]
fn a_rebuild_that_stopped_halfway_is_finished_by_the_next() {
    // As one that died after its objects, before refs and log: the ledger is there, and all its
    // refs are not.
    let rig = base().copy();
    let heads = rig.root().join("ledger.git/refs/heads");
    fs::read_dir(&heads)
        .unwrap()
        .for_each(|entry| fs::remove_file(entry.unwrap().path()).unwrap());
    fs::write(log_of(&rig), &rig.log()[..5000]).unwrap();
    // The writer refuses a home like that, and says what mends it.
    let refused = rig
        .watched(at(19), gently::recorder::unwatched())
        .map(|_| ())
        .unwrap_err()
        .to_string();
    assert!(refused.contains("gently audit rebuild"), "{refused}");
    let rebuilt = rebuild(&rig.home_paths(), at(20)).unwrap();
    assert_eq!((rebuilt.lost.refs.len(), rebuilt.lost.commits), (3, 0));
    // No key was asked for, so the line that says so is signed by the next writer.
    drop(rig.recorder(at(30)));
    rig.assert_sound("halfway");
}

#[test]
fn the_command_says_what_it_restores_and_ends_with_what_it_found() {
    let home = EventCache::new();
    assert!(
        home.fine(&["audit", "rebuild"])
            .starts_with("nothing to do: audit.log has all ")
    );
    assert_eq!(
        home.json(&["audit", "rebuild", "--dry-run", "--json"])["lost"]["lines"],
        serde_json::Value::Null
    );
    let ledger = home.file("ledger.git");
    fs::remove_dir_all(&ledger).unwrap();
    for refused in [&["ask", "x"][..], &["audit", "verify"]] {
        let words = home.refused(refused, 2);
        assert!(
            words.contains("ledger.git") && words.contains("gently audit rebuild"),
            "{words}"
        );
    }
    assert!(
        home.fine_or(&["doctor", "-v"], 1)
            .contains("gently audit rebuild")
    );
    let would = home.fine_or(&["audit", "rebuild", "--dry-run"], 1);
    assert!(
        would.starts_with("would restore: ledger.git, made anew\n") && !ledger.exists(),
        "{would}"
    );
    fs::remove_file(home.file("keys/signing.key")).unwrap();
    let done = home.json(&["audit", "rebuild", "--json"]);
    assert_eq!(
        (&done["restored"]["made_anew"], &done["exit"]),
        (&true.into(), &0.into()),
        "{done}"
    );
    assert_eq!(done["answers"]["consistent"]["answer"], "yes");
    assert_eq!(done["restored"]["refs"].as_array().unwrap().len(), 2);
    assert_eq!(done["recover_line"], done["lines"]);
    fs::remove_file(home.file("audit.log")).unwrap();
    let said = home.fine(&["audit", "rebuild"]);
    assert!(
        said.contains("restored: lines 1 to ") && said.contains("on record: recover, applied:"),
        "{said}"
    );
    assert!(
        said.contains("checked, and all of it holds together"),
        "{said}"
    );
    assert!(!said.contains("consistent"), "{said}");
    let all = home.fine(&["audit", "rebuild", "-v"]);
    assert!(
        all.contains("nothing to do: ") && all.contains("consistent  yes"),
        "{all}"
    );
    // Without a signed head nobody can say which is right: refused, on both streams, and the named
    // way out works.
    let log = fs::read_to_string(home.file("audit.log")).unwrap();
    let store = rusqlite::Connection::open(home.file("gently.db")).unwrap();
    store
        .execute("UPDATE head SET checkpoint = NULL", [])
        .unwrap();
    drop(store);
    fs::write(home.file("audit.log"), log.replacen("seq:2", "seq:3", 1)).unwrap();
    let refused = home.run(&["audit", "rebuild", "--json"]);
    assert_eq!(refused.status.code(), Some(1));
    let facts: serde_json::Value = serde_json::from_slice(&refused.stdout).unwrap();
    assert_eq!(
        (&facts["difference"]["in"], &facts["exit"]),
        (&"audit.log".into(), &1.into()),
        "{facts}"
    );
    fs::rename(home.file("audit.log"), home.file("audit.log.changed")).unwrap();
    // Without its key the home has no signed tree head yet, and that is no good end.
    let unsigned = home.run(&["audit", "rebuild"]);
    assert_eq!(unsigned.status.code(), Some(1));
    let told = String::from_utf8_lossy(&unsigned.stdout);
    assert!(told.contains("none: it was taken away"), "{told}");
    assert!(
        fs::read_to_string(home.file("audit.log"))
            .unwrap()
            .starts_with(&log)
    );
    // The next writer signs the line that says so; until then it is signed by nobody.
    assert!(
        home.fine_or(&["audit", "verify", "-v"], 1)
            .contains("signed by nobody")
    );
    assert!(
        !home.file("keys/signing.key").exists(),
        "a rebuild needs no key"
    );
}

#[test]
fn a_changed_line_is_said_at_the_next_ask_and_mended_under_a_signed_head() {
    let home = EventCache::new();
    home.fine(&["ask", "before"]);
    let log = fs::read_to_string(home.file("audit.log")).unwrap();
    let changed = log.replacen("seq:2", "seq:3", 1);
    fs::write(home.file("audit.log"), &changed).unwrap();
    let asked = home.run(&["ask", "after"]);
    let words = String::from_utf8_lossy(&asked.stderr).into_owned();
    assert!(
        asked.status.success() && words.contains("audit.log was changed: its line "),
        "{words}"
    );
    assert_eq!(home.run(&["audit", "verify"]).status.code(), Some(1));
    let mended = home.fine(&["audit", "rebuild"]);
    assert!(mended.contains("audit.log.torn"), "{mended}");
    assert!(
        fs::read_to_string(home.file("audit.log"))
            .unwrap()
            .starts_with(&log)
    );
    assert!(
        fs::read_to_string(home.file("audit.log.torn"))
            .unwrap()
            .starts_with(&changed)
    );
    home.fine(&["audit", "verify"]);
    // What was mended is not told again.
    let asked = home.run(&["ask", "once more"]);
    assert!(!String::from_utf8_lossy(&asked.stderr).contains("audit.log was changed"));
}

#[test]
fn without_the_database_it_says_what_can_be_had() {
    let home = EventCache::new();
    for part in ["gently.db", "gently.db-wal", "gently.db-shm"] {
        let _ = fs::remove_file(home.file(part));
    }
    assert!(
        home.refused(&["ask", "x"], 2)
            .contains("`gently audit rebuild` says what can be had")
    );
    let log = fs::read_to_string(home.file("audit.log")).unwrap();
    let end = log
        .lines()
        .position(|line| line.contains("|session_end|"))
        .unwrap()
        + 1;
    let files = home.files();
    let words = home.refused(&["audit", "rebuild"], 2);
    for part in [
        "gently.db is missing, and can't be rebuilt",
        &format!("main in ledger.git has 2 commits, with lines 1 to {end} of the log"),
        &format!("audit.log has {} lines", log.lines().count()),
        "gently restore FILE",
        "gently audit adopt --from",
    ] {
        assert!(words.contains(part), "{words}");
    }
    fs::remove_file(home.file("audit.log")).unwrap();
    let words = home.refused(&["audit", "rebuild", "--dry-run"], 2);
    assert!(
        words.contains("audit.log can't be read") && !words.contains("--log"),
        "{words}"
    );
    assert_eq!(home.files().len(), files.len() - 1, "something was made");
    fs::remove_dir_all(home.file("ledger.git")).unwrap();
    assert!(home.refused(&["audit", "rebuild"], 2).contains("no home"));
}

#[test]
fn a_restored_home_gets_its_files_back_and_still_waits_to_be_adopted() {
    for lost in ["audit.log", "ledger.git"] {
        let home = EventCache::new();
        home.fine(&["ask", "before"]);
        let log = fs::read(home.file("audit.log")).unwrap();
        fs::write(home.file("restored.toml"), "").unwrap();
        if lost == "ledger.git" {
            fs::remove_dir_all(home.file(lost)).unwrap();
        } else {
            fs::remove_file(home.file(lost)).unwrap();
        }
        let refused = home.refused(&["audit", "adopt", "--nothing-newer"], 2);
        assert!(refused.contains("gently audit rebuild"), "{refused}");
        home.fine(&["audit", "rebuild"]);
        // No line of its own: nobody has said yet whether there is newer history.
        assert_eq!(fs::read(home.file("audit.log")).unwrap(), log);
        let waits = home.refused(&["ask", "after"], 3);
        assert!(waits.contains("gently audit adopt"), "{waits}");
        home.fine(&["audit", "adopt", "--nothing-newer"]);
        home.fine(&["ask", "after"]);
        home.fine(&["audit", "verify"]);
    }
}

/// What git itself tells to somebody who clones a home's own ledger: `git push` puts a commit of
/// his on top.
#[test]
fn what_somebody_pushed_is_no_newer_history_and_the_named_way_out_works() {
    let home = EventCache::new();
    home.fine(&["ask", "before"]);
    let ledger = home.file("ledger.git");
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C")
            .arg(&ledger)
            .args(["-c", "user.name=x", "-c", "user.email=x@x"])
            .args(args);
        let done = git
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "{args:?} {}",
            String::from_utf8_lossy(&done.stderr)
        );
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    };
    let pushed = git(&["commit-tree", "-m", "hello", "-p", "main", "main^{tree}"]);
    fs::write(ledger.join("refs/heads/main"), format!("{pushed}\n")).unwrap();
    assert!(
        home.refused(&["ask", "after"], 3)
            .contains("gently audit rebuild")
    );
    let refused = home.refused(&["audit", "rebuild"], 1);
    assert!(
        !refused.contains("--own") && refused.contains("mv ledger.git ledger.git.changed"),
        "{refused}"
    );
    let refused = home.refused(&["audit", "adopt", "--own"], 1);
    assert!(refused.contains("gently audit rebuild"), "{refused}");
    fs::rename(&ledger, home.file("ledger.git.changed")).unwrap();
    home.fine(&["audit", "rebuild"]);
    home.fine(&["ask", "after"]);
    home.fine(&["audit", "verify"]);
}

/// A mark that does not follow from the lines is found, named, and made again.
#[test]
fn a_mark_that_was_changed_is_made_again() {
    let person = Person::new();
    person.gently(&["init"]).exits(0);
    person.ask("Is the disk full?").exits(0);
    let log = person.log();
    for change in [
        "applied_lines = 0",
        "applied_bytes = 0",
        "applied_bytes = applied_bytes + 1",
        "applied_lines = applied_lines + 1",
        "applied_commits = applied_commits + 1",
        "applied_lines = -1",
        "applied_commits = -7",
    ] {
        let set = format!("UPDATE head SET {change}");
        let database = unguarded(person.at("gently.db"));
        database.execute(&set, []).unwrap();
        drop(database);
        let verified = person.gently(&["audit", "verify"]).exits(1);
        let said = format!("{}{}", verified.out, verified.err).replace("\n  ", " ");
        assert!(
            said.contains("applied_")
                && (said.contains("gently audit rebuild") || change.contains('-')),
            "{change}: {said}"
        );
        let refused = person.gently(&["ask", "Is it full now?"]);
        assert_ne!(refused.code, 0, "{change}: {refused:#?}");
        let why = refused.err.replace("\n  ", " ");
        assert!(why.contains("head.applied_"), "{refused:#?}");
        assert_eq!(person.log(), log, "{change}");
        let planned = person
            .gently(&["audit", "rebuild", "--dry-run", "--json"])
            .exits(1);
        assert_eq!(planned.json()["lost"]["mark"], true, "{change}");
        let rebuilt = person.gently(&["audit", "rebuild", "--json"]).exits(0);
        assert_eq!(rebuilt.json()["restored"]["mark"], true, "{change}");
        person.gently(&["audit", "verify"]).exits(0);
        person.gently(&["audit", "rebuild", "--dry-run"]).exits(0);
    }
    person.ask("Is it full now?").exits(0);
}
