//! The drill of `docs/guide/backup.md`, step by step with the real program: backup, loss, restore,
//! verify, adopt.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::auth::{Gently, Ran};
use super::model_server::{Behaviour, ModelServer};
use super::person::Person;
use super::unguarded::unguarded;

const PASSPHRASE: (&str, &str) = ("GENTLY_PASSPHRASE", "correct horse");

fn backup(gently: &Gently, name: &str) -> PathBuf {
    let file = gently.beside(name);
    let ran = gently.run(&["backup", file.to_str().unwrap()], &[PASSPHRASE]);
    assert_eq!(ran.code, 0, "{ran:?}");
    file
}

fn restore(gently: &Gently, file: &Path) -> Ran {
    gently.run(&["restore", file.to_str().unwrap()], &[PASSPHRASE])
}

/// What the world has: a mirror of the ledger, and the log.
fn publish(gently: &Gently) -> (PathBuf, PathBuf) {
    let (mirror, log) = (
        gently.beside("published.git"),
        gently.beside("published.log"),
    );
    let status = Command::new("git")
        .args(["clone", "--quiet", "--mirror"])
        .args([&gently.home().join("ledger.git"), &mirror])
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .status()
        .unwrap();
    assert!(status.success());
    fs::copy(gently.home().join("audit.log"), &log).unwrap();
    fs::copy(
        gently.home().join("audit.checkpoint"),
        gently.beside("audit.checkpoint"),
    )
    .unwrap();
    (mirror, log)
}

fn lose(gently: &Gently) {
    fs::rename(gently.home(), gently.beside("lost")).unwrap();
}

fn adopt(gently: &Gently, args: &[&str]) -> Ran {
    gently.run(&[&["--json", "audit", "adopt"], args].concat(), &[])
}

fn fsck(gently: &Gently) {
    let ledger = gently.home().join("ledger.git");
    let out = Command::new("git")
        .arg("-C")
        .arg(&ledger)
        .args(["fsck", "--strict"])
        .output()
        .unwrap();
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
}

#[test]
fn the_drill_with_nothing_newer() {
    let gently = Gently::new();
    gently.ok(&["ask", "one"]);
    gently.ok(&["session", "close"]);
    gently.ok(&["ask", "two"]);
    let file = backup(&gently, "b.age");
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert!(
        fs::read(&file)
            .unwrap()
            .starts_with(b"age-encryption.org/v1\n-> scrypt ")
    );
    assert_eq!(
        fs::read_dir(gently.dir.path()).unwrap().count(),
        2,
        "something was left beside the backup"
    );
    assert!(
        !fs::read_dir(gently.home()).unwrap().any(|e| e
            .unwrap()
            .file_name()
            .to_string_lossy()
            .contains("backup"))
    );
    let path = file.to_str().unwrap();
    gently
        .run(&["backup", path], &[PASSPHRASE])
        .says(2, "--force");
    assert_eq!(
        gently.run(&["backup", path, "--force"], &[PASSPHRASE]).code,
        0
    );

    restore(&gently, &file).says(2, "not empty");
    let log = gently.log();
    lose(&gently);
    gently
        .run(&["restore", path], &[("GENTLY_PASSPHRASE", "wrong")])
        .says(2, "wrong passphrase");
    assert!(!gently.home().exists());
    let back = restore(&gently, &file);
    back.says(0, "consistent  yes");
    assert!(back.err.contains("gently audit adopt"), "{back:?}");
    // No other home is where homes are by default, so commands have to name it.
    let export = format!("  export GENTLY_HOME={}\n", gently.home().display());
    // Whoever copies the lines in their order changes this home, and clones before taking over.
    let at = |words: &str| back.err.find(words).expect(words);
    assert!(at(&export) < at("git clone --mirror"), "{back:?}");
    // What was recorded is there; it is what is new that has to wait.
    assert!(
        at("up to then is here") < at("nothing new is recorded until"),
        "{back:?}"
    );
    assert!(
        at("git clone --mirror") < at("gently audit adopt --from LEDGER"),
        "{back:?}"
    );
    // Of a key of the database is spoken where there is one: these tests run over encrypted homes, too.
    let is_encrypted = std::env::var_os("GENTLY_STORE_ENCRYPTED").is_some();
    assert_eq!(back.err.contains("store.key"), is_encrypted, "{back:?}");
    assert_eq!(gently.log(), log);
    for name in ["gently.db", "keys/auth.key", "keys/signing.key"] {
        assert_eq!(
            fs::metadata(gently.home().join(name))
                .unwrap()
                .permissions()
                .mode()
                & 0o777,
            0o600,
            "{name}"
        );
    }
    for refused in [
        &["ask", "three"][..],
        &["session", "close"],
        &["key", "add", "x"],
    ] {
        gently
            .run(refused, &[])
            .says(3, "gently audit adopt --nothing-newer");
    }
    gently.ok(&["audit", "verify"]);
    assert_eq!(gently.log(), log, "something was written");
    adopt(&gently, &[]).says(2, "--nothing-newer");
    let adopted = adopt(&gently, &["--nothing-newer"]);
    assert_eq!(adopted.json()["adopted"], "nothing_newer", "{adopted:?}");
    assert!(
        gently
            .log()
            .strip_prefix(&log)
            .unwrap()
            .contains("|artifact|-|kind:adopt,")
    );
    adopt(&gently, &["--nothing-newer"]).says(2, "not restored");
    gently.ok(&["ask", "three"]);
    gently.ok(&["session", "close"]);
    gently.ok(&["audit", "verify"]);
    fsck(&gently);
    // What was recorded before the backup goes by the ids it had, and the newest session by `last`.
    let sessions = gently.run(&["session", "list", "--json"], &[]).json();
    let sessions = sessions.as_array().unwrap();
    assert_eq!(sessions.len(), 2);
    let exported = |name: &str| gently.beside(name).display().to_string();
    for (n, session) in sessions.iter().enumerate() {
        let id = session["session"].as_str().unwrap();
        assert!(log.contains(id), "{id} is of before the backup");
        for whole in [id, &id[..12]] {
            gently.ok(&["session", "show", whole]);
            gently.ok(&["audit", "session", whole]);
        }
        gently.ok(&["audit", "export", id, &exported(&format!("export{n}"))]);
    }
    gently.ok(&["audit", "export", "last", &exported("newest")]);
}

#[test]
fn a_newer_published_ledger_is_taken_over() {
    let gently = Gently::new();
    gently.ok(&["ask", "one"]);
    let file = backup(&gently, "b.age");
    gently.ok(&["ask", "two"]);
    gently.ok(&["session", "close"]);
    gently.ok(&["ask", "three"]);
    let key = gently.ok(&["key", "add", "late"]).out;
    gently.ok(&["session", "close"]);
    let (mirror, _) = publish(&gently);
    let log = gently.log();
    lose(&gently);
    assert_eq!(restore(&gently, &file).code, 0);
    adopt(&gently, &["--from", "https://example.invalid/x"])
        .says(2, "git clone --mirror https://example.invalid/x");

    // The key's artifact was recorded before the close, so the published segments hold every line.
    let taken = adopt(&gently, &["--from", mirror.to_str().unwrap()]);
    assert_eq!(taken.code, 0, "{taken:?}");
    let facts = taken.json();
    assert_eq!(
        (&facts["texts_lost"], &facts["sessions"], &facts["open"]),
        (&2.into(), &1.into(), &0.into())
    );
    assert!(facts["keys_lost"][0].as_str().unwrap().starts_with("late-"));
    assert!(gently.log().starts_with(&log));
    gently
        .run(&["ask", "x"], &[("GENTLY_AUTH_KEY", key.trim())])
        .says(2, "wrong_key");
    // Two exchanges and the key's artifact: lost, and a tombstone says so.
    let verified = gently.ok(&["--json", "audit", "verify"]);
    assert!(
        verified.out.contains("3 of them are erased"),
        "{verified:?}"
    );
    gently.ok(&["ask", "four"]);
    gently.ok(&["session", "close"]);
    gently.ok(&["audit", "verify"]);
    gently.ok(&["audit", "verify", "--require", "signed"]);
    fsck(&gently);
}

/// What somebody added after the backup is named by kind and id, and none of its words are.
#[test]
fn what_is_lost_of_corrections_and_specialists_is_named() {
    let (gently, server) = (Gently::new(), ModelServer::start(Behaviour::Good));
    let base = server.base_url();
    let with_model = [
        ("GENTLY_MODEL_DEFAULT", "openai/small-1b"),
        ("GENTLY_MODEL_BASE_URL", base.as_str()),
        ("OPENAI_API_KEY", "test"),
    ];
    let ok = |args: &[&str]| {
        let ran = gently.run(args, &with_model);
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
    };
    ok(&["ask", "one"]);
    ok(&["fact", "add", "The whale is grey."]);
    let file = backup(&gently, "b.age");
    ok(&["correction", "add", "The verbena is blue."]);
    ok(&["domain", "add", "law", "--words", "visas, courts"]);
    let lawyer = ["specialist", "add", "lawyer", "-m", "openai/law-1b"];
    ok(&lawyer);
    ok(&["ask", "--accuracy", "fast", "Which visa?"]);
    ok(&["rate", "last", "good"]);
    ok(&["specialist", "promote", "lawyer", "--to", "openai/law-2b"]);
    ok(&["note", "add", "Of verbena."]);
    ok(&["session", "close"]);
    let (mirror, _) = publish(&gently);
    lose(&gently);
    assert_eq!(restore(&gently, &file).code, 0);
    let home = gently.home();
    let again = gently.beside("again");
    let copied = Command::new("cp").arg("-a").args([&home, &again]).status();
    assert!(copied.unwrap().success());
    let mirror = mirror.to_str().unwrap();
    let view = adopt(&gently, &["--from", mirror]).json();
    let lost = view["artifacts_lost"].as_array().unwrap();
    let lost: Vec<String> = lost
        .iter()
        .map(|lost| {
            format!(
                "{} {}",
                lost["kind"].as_str().unwrap(),
                lost["id"].as_str().unwrap()
            )
        })
        .collect();
    for named in [
        "correction correction:000001",
        "domain domain:000001",
        "specialist specialist:000001",
        "rating rating:000001",
        "promotion promotion:000001",
        "note note:000001",
    ] {
        assert!(lost.iter().any(|lost| lost == named), "{named}: {lost:?}");
    }
    assert!(
        !lost.iter().any(|lost| lost.starts_with("fact ")),
        "{lost:?}"
    );
    let verified = gently.ok(&["audit", "verify"]);
    assert_eq!(verified.code, 0, "{verified:?}");
    // What is added anew gets numbers of its own.
    ok(&["correction", "add", "The verbena is blue."]);
    ok(&lawyer);
    let listed = gently.ok(&["correction", "list"]).out;
    assert!(listed.contains("correction-2"), "{listed}");
    gently.ok(&["audit", "verify"]);

    // The same on a screen.
    fs::remove_dir_all(&home).unwrap();
    fs::rename(&again, &home).unwrap();
    let told = gently.run(&["audit", "adopt", "--from", mirror], &[]);
    for line in [
        "correction: correction-1",
        "domain: domain-1",
        "specialist: specialist-1",
        "rating: rating-1",
        "promotion: promotion-1",
        "note: note-1",
    ] {
        assert!(told.err.contains(line), "{line}: {told:?}");
    }
    for word in ["verbena", "visas", "lawyer", "law-1b"] {
        assert!(!told.err.contains(word), "{word}: {told:?}");
    }
}

#[test]
fn what_was_erased_after_the_backup_is_said_to_be_back() {
    let gently = Gently::new();
    gently.ok(&["ask", "of the whale"]);
    let file = backup(&gently, "b.age");
    gently.ok(&["erase", "last", "--yes"]);
    gently.ok(&["session", "close"]);
    let (mirror, _) = publish(&gently);
    lose(&gently);
    let back = restore(&gently, &file);
    assert_eq!(back.code, 0);
    assert!(back.err.contains("must be erased once more"), "{back:?}");
    let taken = adopt(&gently, &["--from", mirror.to_str().unwrap()]);
    assert_eq!(taken.code, 0, "{taken:?}");
    assert_eq!(taken.json()["erasings"], 1);
    // Which text it was, only the lost tombstone said: it is found, and erased as before.
    let doctor = gently.run(&["doctor"], &[]);
    assert!(
        doctor
            .out
            .contains("1 erasing on record from after the backup"),
        "{doctor:?}"
    );
    gently.ok(&["search", "whale"]);
    gently.ok(&["erase", "last", "--yes"]);
    let doctor = gently.run(&["doctor"], &[]);
    assert!(!doctor.out.contains("erasing on record"), "{doctor:?}");
    gently.run(&["search", "whale"], &[]).says(1, "");
    gently.ok(&["ask", "of ships"]);
    gently.ok(&["session", "close"]);
    gently.ok(&["audit", "verify"]);

    // The tombstone of what a taking over lost is none of an erasing.
    fs::remove_dir_all(&mirror).unwrap();
    fs::remove_dir_all(gently.beside("lost")).unwrap();
    let (mirror, _) = publish(&gently);
    lose(&gently);
    assert_eq!(restore(&gently, &file).code, 0);
    let taken = adopt(&gently, &["--from", mirror.to_str().unwrap()]);
    assert_eq!(taken.json()["erasings"], 2, "{taken:?}");
}

#[test]
fn a_key_revoked_after_the_backup_does_not_come_back() {
    let gently = Gently::new();
    gently.ok(&["ask", "one"]);
    let stolen = gently.ok(&["key", "add", "stolen"]).out;
    let file = backup(&gently, "b.age");
    gently.ok(&["key", "revoke", "--yes", "stolen"]);
    gently.ok(&["session", "close"]);
    let (mirror, _) = publish(&gently);
    lose(&gently);
    assert_eq!(restore(&gently, &file).code, 0);
    assert_eq!(
        adopt(&gently, &["--from", mirror.to_str().unwrap()]).code,
        0
    );
    gently
        .run(&["ask", "x"], &[("GENTLY_AUTH_KEY", stolen.trim())])
        .says(2, "revoked_key");
    gently.ok(&["audit", "verify"]);
}

#[test]
fn a_ledger_published_with_an_open_session_needs_its_log() {
    let gently = Gently::new();
    gently.ok(&["ask", "one"]);
    gently.ok(&["session", "close"]);
    let file = backup(&gently, "b.age");
    gently.ok(&["ask", "two"]);
    let (mirror, log) = publish(&gently);
    lose(&gently);
    assert_eq!(restore(&gently, &file).code, 0);
    let (mirror, log) = (mirror.to_str().unwrap(), log.to_str().unwrap());
    adopt(&gently, &["--from", mirror]).says(2, "--log");
    gently.run(&["ask", "x"], &[]).says(3, "gently audit adopt");
    let taken = adopt(&gently, &["--from", mirror, "--log", log]);
    assert_eq!(
        (taken.code, &taken.json()["open"]),
        (0, &1.into()),
        "{taken:?}"
    );
    // The session goes on where it stood: same chain, next number.
    let asked = gently.ok(&["--json", "ask", "three"]).json();
    assert_eq!(
        (&asked["seq"], &asked["session_opened"]),
        (&2.into(), &false.into())
    );
    gently.ok(&["session", "close"]);
    gently.ok(&["audit", "verify"]);
    fsck(&gently);
}

#[test]
fn two_histories_are_refused() {
    let gently = Gently::new();
    gently.ok(&["ask", "one"]);
    gently.ok(&["session", "close"]);
    let file = backup(&gently, "b.age");
    let (same, _) = publish(&gently);
    let stale = gently.beside("stale.git");
    fs::rename(&same, &stale).unwrap();
    gently.ok(&["ask", "two"]);
    gently.ok(&["session", "close"]);
    let (mirror, _) = publish(&gently);
    lose(&gently);
    assert_eq!(restore(&gently, &file).code, 0);
    adopt(&gently, &["--from", stale.to_str().unwrap()]).says(2, "nothing newer there");
    assert_eq!(adopt(&gently, &["--nothing-newer"]).code, 0);
    gently.ok(&["ask", "another two"]);
    gently.ok(&["session", "close"]);
    let log = gently.log();
    adopt(&gently, &["--from", mirror.to_str().unwrap()]).says(2, "two histories");

    let other = Gently::new();
    other.ok(&["ask", "one"]);
    other.ok(&["session", "close"]);
    adopt(
        &gently,
        &["--from", other.home().join("ledger.git").to_str().unwrap()],
    )
    .says(1, "nothing was taken over");
    assert_eq!(gently.log(), log);
    gently.ok(&["audit", "verify"]);
}

/// A backup without a tree head, and none beside its log: what was published newer is taken over, and its
/// signatures cover what the home has.
#[test]
fn a_restored_home_without_a_tree_head_takes_over_what_is_newer() {
    let gently = Gently::new();
    gently.ok(&["ask", "one"]);
    let file = backup(&gently, "b.age");
    gently.ok(&["ask", "two"]);
    gently.ok(&["session", "close"]);
    let (mirror, _) = publish(&gently);
    lose(&gently);
    assert_eq!(restore(&gently, &file).code, 0);
    let database = unguarded(gently.home().join("gently.db"));
    let gone = database.execute("UPDATE head SET checkpoint = NULL", []);
    assert_eq!(gone.unwrap(), 1);
    drop(database);
    fs::remove_file(gently.home().join("audit.checkpoint")).unwrap();
    let taken = adopt(&gently, &["--from", mirror.to_str().unwrap()]);
    assert_eq!(
        (taken.code, &taken.json()["texts_lost"]),
        (0, &1.into()),
        "{taken:?}"
    );
    gently.ok(&["ask", "three"]);
    gently.ok(&["session", "close"]);
    gently.ok(&["audit", "verify"]);
    gently.ok(&["audit", "verify", "--require", "signed"]);
    fsck(&gently);
}

/// A backup while another process asks; its prompt was answered after it, or never.
#[test]
fn a_backup_while_somebody_asks() {
    let server = ModelServer::start(Behaviour::Gate);
    let gently = Gently::new();
    gently.ok(&["init"]);
    gently.ok(&["config", "set", "model.base_url", &server.base_url()]);
    let mut asking = gently.command(&["ask", "-m", "openai/test", "what is it"]);
    let asking = asking
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    server.wait_for(1);
    let file = backup(&gently, "b.age");
    server.release();
    let asked = Ran::of(asking.wait_with_output().unwrap());
    assert_eq!(asked.code, 0, "{asked:?}");
    gently.ok(&["session", "close"]);
    let (mirror, _) = publish(&gently);
    lose(&gently);

    let back = restore(&gently, &file);
    back.says(0, "consistent  yes");
    assert!(
        back.err.contains("complete    no"),
        "a prompt is unanswered in the backup: {back:?}"
    );
    let taken = adopt(&gently, &["--from", mirror.to_str().unwrap()]);
    assert_eq!(
        (taken.code, &taken.json()["texts_lost"]),
        (0, &1.into()),
        "{taken:?}"
    );
    gently.ok(&["audit", "verify"]);

    fs::remove_dir_all(gently.home()).unwrap();
    assert_eq!(restore(&gently, &file).code, 0);
    assert_eq!(adopt(&gently, &["--nothing-newer"]).code, 0);
    gently.ok(&["session", "close", "--yes"]);
    assert!(gently.log().contains("reason:abandoned"));
    gently.ok(&["audit", "verify"]);
}

/// A prompt that was in flight when the newer ledger was published is closed as abandoned.
#[test]
fn a_prompt_without_answer_in_the_newer_ledger() {
    let server = ModelServer::start(Behaviour::Gate);
    let gently = Gently::new();
    gently.ok(&["ask", "one"]);
    gently.ok(&["session", "close"]);
    let file = backup(&gently, "b.age");
    gently.ok(&["config", "set", "model.base_url", &server.base_url()]);
    let mut asking = gently.command(&["ask", "-m", "openai/test", "what is it"]);
    let asking = asking
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    server.wait_for(1);
    let (mirror, log) = publish(&gently);
    server.release();
    assert!(asking.wait_with_output().unwrap().status.success());
    lose(&gently);
    assert_eq!(restore(&gently, &file).code, 0);
    let taken = adopt(
        &gently,
        &[
            "--from",
            mirror.to_str().unwrap(),
            "--log",
            log.to_str().unwrap(),
        ],
    );
    assert_eq!(
        (taken.code, &taken.json()["open"]),
        (0, &1.into()),
        "{taken:?}"
    );
    gently.ok(&["session", "close", "--yes"]);
    assert!(gently.log().contains("reason:abandoned"));
    gently.ok(&["audit", "verify"]);
}

/// Whoever hands over the log could have added lines to it; taking them over would sign them.
#[test]
fn lines_that_nobody_signed_are_not_taken_over() {
    let gently = Gently::new();
    gently.ok(&["ask", "one"]);
    gently.ok(&["session", "close"]);
    let file = backup(&gently, "b.age");
    gently.ok(&["ask", "two"]);
    gently.ok(&["note", "add", "the tail of the log"]);
    let (mirror, log) = publish(&gently);
    let own = fs::read_to_string(&log).unwrap();
    let line = |text: &str, rest: &str| {
        let prev = text.lines().last().unwrap().split('|').next().unwrap();
        let hash = gently::record::hash::Hash32::digest(format!("{prev}|{rest}").as_bytes());
        format!("{text}{hash}|{rest}\n")
    };
    let time = own.lines().last().unwrap().split('|').nth(2).unwrap();
    let forged = line(
        &own,
        &format!(
            "0|{time}|artifact|-|kind:note,id:x,hash:{}",
            "ab".repeat(32)
        ),
    );
    let (mirror, log) = (mirror.to_str().unwrap(), log.to_str().unwrap());
    lose(&gently);
    assert_eq!(restore(&gently, &file).code, 0);
    assert!(
        gently.home().join("audit.checkpoint").exists(),
        "a backup brings it back"
    );
    fs::write(log, &forged).unwrap();
    // Without the tree head the note's own line is nobody's either.
    let head = fs::read(gently.beside("audit.checkpoint")).unwrap();
    fs::remove_file(gently.beside("audit.checkpoint")).unwrap();
    let kept = gently.beside("kept");
    crate::recorder::copy_all(&gently.home(), &kept);
    let taken = gently.run(&["audit", "adopt", "--from", mirror, "--log", log], &[]);
    taken.says(0, "left out: 2 lines of the log");
    assert!(
        gently.log().lines().all(|line| !line.contains("kind:note")),
        "{}",
        gently.log()
    );
    fs::remove_dir_all(gently.home()).unwrap();
    fs::rename(&kept, gently.home()).unwrap();
    fs::write(gently.beside("audit.checkpoint"), head).unwrap();
    let taken = gently.run(&["audit", "adopt", "--from", mirror, "--log", log], &[]);
    taken.says(0, "left out: 1 line of the log");
    assert!(
        gently.log().starts_with(&own),
        "what the tree head covers is taken over"
    );
    assert!(!gently.log().contains("id:x,"), "{}", gently.log());
    gently.ok(&["session", "close"]);
    gently.ok(&["audit", "verify"]);
}

/// A line that somebody added to the log of a whole home: the database is not the older one.
#[test]
fn a_line_that_somebody_added_is_put_away() {
    let gently = Gently::new();
    gently.ok(&["ask", "one"]);
    gently.ok(&["session", "close"]);
    let (log, own) = (gently.log(), gently.home().join("audit.log"));
    let last: Vec<&str> = log.lines().last().unwrap().split('|').collect();
    let rest = format!("0|{}|auth_fail|-|reason:wrong_key,count:9", last[2]);
    let hash = gently::record::hash::Hash32::digest(format!("{}|{rest}", last[0]).as_bytes());
    fs::write(&own, format!("{log}{hash}|{rest}\n")).unwrap();
    let refused = gently.run(&["audit", "rebuild"], &[]);
    refused.says(1, "Nobody signed it");
    assert!(!refused.err.contains("adopt"), "{}", refused.err);
    fs::rename(&own, gently.home().join("audit.log.changed")).unwrap();
    gently.ok(&["audit", "rebuild"]);
    gently.ok(&["ask", "two"]);
    gently.ok(&["session", "close"]);
    gently.ok(&["audit", "verify"]);
}

#[test]
fn an_older_database_beside_its_own_ledger() {
    let gently = Gently::new();
    gently.ok(&["ask", "one"]);
    gently.ok(&["session", "close"]);
    // What SQLite has not moved into the file yet stands in the one beside it: they are one
    // database.
    let (there, kept) = (
        |name| gently.home().join(format!("gently.db{name}")),
        |name| gently.beside(name),
    );
    for (name, to) in [("", "old.db"), ("-wal", "old.wal")] {
        fs::copy(there(name), kept(to)).unwrap();
    }
    gently.ok(&["ask", "two"]);
    gently.ok(&["session", "close"]);
    let _ = fs::remove_file(there("-shm"));
    for (name, from) in [("", "old.db"), ("-wal", "old.wal")] {
        fs::copy(kept(from), there(name)).unwrap();
    }
    let log = gently.log();
    gently
        .run(&["ask", "three"], &[])
        .says(3, "gently audit adopt --own");
    assert_eq!(gently.log(), log);
    // A line that somebody added to it stops that, too, with the way out.
    let own = gently.home().join("audit.log");
    let last: Vec<&str> = log.lines().last().unwrap().split('|').collect();
    let (prev, rest) = (
        last[0],
        format!("0|{}|auth_fail|-|reason:wrong_key,count:9", last[2]),
    );
    let hash = gently::record::hash::Hash32::digest(format!("{prev}|{rest}").as_bytes());
    fs::write(&own, format!("{log}{hash}|{rest}\n")).unwrap();
    adopt(&gently, &["--own"]).says(2, "nobody signed");
    fs::write(&own, &log).unwrap();
    assert_eq!(adopt(&gently, &["--own"]).code, 0);
    gently.ok(&["ask", "three"]);
    gently.ok(&["session", "close"]);
    gently.ok(&["audit", "verify"]);
}

#[test]
fn a_damaged_backup_restores_nothing() {
    let gently = Gently::new();
    gently.ok(&["ask", "one"]);
    let file = backup(&gently, "b.age");
    lose(&gently);
    let bytes = fs::read(&file).unwrap();
    let damaged = gently.beside("damaged.age");
    let tries = [
        bytes[..0].to_vec(),
        bytes[..100].to_vec(),
        bytes[..bytes.len() / 2].to_vec(),
        bytes[..bytes.len() - 1].to_vec(),
        // Exactly whole chunks: what is left of the archive may look whole, and its end is not
        // authenticated.
        bytes[..bytes.len() - bytes.len() % 65_552].to_vec(),
        flipped(&bytes, 60),
        flipped(&bytes, bytes.len() / 2),
        flipped(&bytes, bytes.len() - 1),
        [&bytes[..], b"more"].concat(),
        b"not an age file at all".to_vec(),
    ];
    for (n, content) in tries.iter().enumerate() {
        fs::write(&damaged, content).unwrap();
        let ran = restore(&gently, &damaged);
        assert_eq!(ran.code, 2, "try {n}: {ran:?}");
        assert!(
            [
                "can't be decrypted",
                "wrong passphrase",
                "is no backup: it "
            ]
            .iter()
            .any(|words| ran.err.contains(words)),
            "try {n}: {ran:?}"
        );
        assert!(!gently.home().exists(), "try {n}");
    }
    assert_eq!(
        fs::read_dir(gently.dir.path()).unwrap().count(),
        3,
        "something was left behind"
    );
    assert_eq!(restore(&gently, &file).code, 0);
}

/// Which import is at work, as a killed one leaves it, is nothing of the home, and no import that ends meanwhile
/// stops a backup.
#[test]
fn which_import_is_at_work_is_in_no_backup() {
    let gently = Gently::new();
    gently.ok(&["init"]);
    let left = gently.home().join("keys/import.running");
    fs::write(&left, "import:000001 1").unwrap();
    let file = backup(&gently, "b.age");
    lose(&gently);
    assert_eq!(restore(&gently, &file).code, 0);
    assert!(!left.exists());
}

/// Whoever names another file is told what it is and what to do, before a passphrase is asked for.
#[test]
fn what_is_no_backup_is_said_in_plain_words() {
    let gently = Gently::new();
    let file = gently.beside("other");
    let restored = |file: &Path| gently.run(&["restore", file.to_str().unwrap()], &[]);
    for (content, words) in [
        ("", "is no backup: it is empty."),
        ("Dear diary", "is no backup: it does not begin as one does."),
        (
            "{\"conversation\":\"a\",\"role\":\"user\",\"text\":\"b\"}\n",
            "gently import jsonl ",
        ),
    ] {
        fs::write(&file, content).unwrap();
        restored(&file).says(2, words);
        restored(&file).says(2, "gently backup FILE wrote: ");
    }
    restored(gently.dir.path()).says(2, "is no backup: it is a folder.");
    restored(&gently.beside("absent")).says(2, "absent: there is no such file");
    assert!(!gently.home().exists());
}

fn flipped(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at] ^= 1;
    bytes
}

/// A trace that was handed on before the database was lost is one of what is on record, whether the
/// backup had its exchange or it was taken over.
#[test]
fn traces_from_before_the_loss_are_on_record_afterwards() {
    let gently = Gently::new();
    gently.ok(&["ask", "one"]);
    let export = |name: &str| {
        let file = gently.beside(name);
        let out = file.to_str().unwrap();
        gently.ok(&[
            "trace", "export", "last", "--level", "generic", "--out", out,
        ]);
        file
    };
    let kept = export("kept.json");
    let file = backup(&gently, "b.age");
    gently.ok(&["ask", "two"]);
    let taken = export("taken.json");
    gently.ok(&["session", "close"]);
    let (mirror, _) = publish(&gently);
    lose(&gently);
    assert_eq!(restore(&gently, &file).code, 0);
    assert_eq!(
        adopt(&gently, &["--from", mirror.to_str().unwrap()]).code,
        0
    );
    for (file, same) in [(kept, "yes"), (taken, "not checked")] {
        let told = gently.run(&["--json", "trace", "verify", file.to_str().unwrap()], &[]);
        let answers = &told.json()["traces"][0]["answers"];
        assert_eq!(answers["on_record"]["answer"], "yes", "{told:?}");
        assert_eq!(answers["bound"]["answer"], "yes", "{told:?}");
        assert_eq!(answers["same"]["answer"], same, "{told:?}");
        assert_eq!(told.code, 0, "{told:?}");
    }
}

#[test]
fn what_a_killed_backup_copied_is_taken_away() {
    let person = Person::new();
    person.ask("hello");
    let copied = person.at("backup-copy-2147483647");
    for words in [&["ask", "hello again"][..], &["backup", "b.age"]] {
        fs::create_dir(&copied).unwrap();
        fs::write(copied.join("gently.db"), "texts").unwrap();
        let mut command = person.command(words);
        command
            .env(PASSPHRASE.0, PASSPHRASE.1)
            .env("GENTLY_TEST_WORK_FACTOR", "4");
        assert!(command.output().unwrap().status.success(), "{words:?}");
        assert!(!copied.exists(), "{words:?}");
    }
    let left = fs::read_dir(person.home()).unwrap();
    let mut names = left.map(|entry| entry.unwrap().file_name());
    assert!(names.all(|name| !name.to_string_lossy().starts_with("backup-")));
}

/// Ends a process with a signal, and waits for its end.
fn ended_by(mut child: std::process::Child, signal: &str) -> Option<i32> {
    let number = child.id().to_string();
    let sent = Command::new("kill").args([signal, &number]).status();
    assert!(sent.unwrap().success());
    child.wait().unwrap().code()
}

/// Waits until something stands at a place.
fn appears(place: &Path) {
    for _ in 0..3000 {
        if place.exists() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{} does not appear", place.display());
}

/// What lies beside the home, but for the names given.
fn beside_home(person: &Person, known: &[&str]) -> Vec<String> {
    let entries = fs::read_dir(person.dir.path()).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names
        .filter(|name| !known.contains(&name.as_str()))
        .collect()
}

/// Somebody who asked one thing, whose home is in the backup `b.age` and not in its place any more.
fn backed_up_and_lost() -> Person {
    let mut person = Person::new();
    person.set("GENTLY_TEST_WORK_FACTOR", "4");
    person.set(PASSPHRASE.0, PASSPHRASE.1);
    person.ask("one");
    person.gently(&["backup", "b.age"]).exits(0);
    fs::rename(person.home(), person.dir.path().join("lost")).unwrap();
    person
}

#[test]
fn an_ended_restore_leaves_nothing_and_a_killed_one_is_cleared_by_the_next() {
    let mut person = backed_up_and_lost();
    let bytes = fs::read(person.dir.path().join("b.age")).unwrap();
    let pipe = person.dir.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let known = ["b.age", "lost", "pipe"];
    for (signal, code) in [("-TERM", Some(143)), ("-KILL", None)] {
        // It has most of the backup, and waits for the rest.
        let mut command = person.command(&["restore", "pipe"]);
        let child = command.stderr(Stdio::null()).spawn().unwrap();
        let folder = person
            .dir
            .path()
            .join(format!("home.restore-{}", child.id()));
        let mut feeding = fs::File::options().write(true).open(&pipe).unwrap();
        std::io::Write::write_all(&mut feeding, &bytes[..bytes.len() - 100]).unwrap();
        appears(&folder.join("keys/auth.key"));
        assert_eq!(ended_by(child, signal), code);
        assert_eq!(folder.exists(), code.is_none(), "{signal}");
        drop(feeding);
    }
    let left = beside_home(&person, &known);
    assert_eq!(left.len(), 1);
    let doctor = person.gently(&["doctor"]).exits(1).out;
    assert!(doctor.contains(&left[0]), "{doctor}");
    // A slash behind the name changes nothing.
    person.set("GENTLY_HOME", &format!("{}/", person.home().display()));
    person.gently(&["restore", "b.age"]).exits(0);
    assert_eq!(beside_home(&person, &known), ["home"]);
}

/// Whoever ends the checks of a home that is in its place is told that it is there, and how to check it.
#[test]
fn a_restore_that_is_ended_in_its_checks_says_what_is_in_place() {
    let person = backed_up_and_lost();
    let mut ended = 0;
    for _ in 0..5 {
        let mut command = person.command(&["restore", "b.age"]);
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        let number = rustix::process::Pid::from_child(&child);
        appears(&person.home());
        let _ = rustix::process::kill_process(number, rustix::process::Signal::INT);
        let ran = child.wait_with_output().unwrap();
        let words = String::from_utf8_lossy(&ran.stderr).into_owned();
        if ran.status.code() != Some(0) {
            assert_eq!(ran.status.code(), Some(130), "{words}");
            for said in ["interrupted: ", "was not checked", "gently audit verify"] {
                assert!(words.contains(said), "{words}");
            }
            ended += 1;
        }
        person.gently(&["audit", "verify"]).exits(0);
        fs::remove_dir_all(person.home()).unwrap();
    }
    assert!(ended > 0);
}

#[test]
fn an_ended_backup_leaves_nothing_and_a_killed_one_is_cleared_by_the_next() {
    let mut person = Person::new();
    person.set("GENTLY_TEST_WORK_FACTOR", "4");
    person.set(PASSPHRASE.0, PASSPHRASE.1);
    person.ask("one");
    // It has begun its file, and waits for the writer.
    let lock = person.at("writer.lock");
    let lock = gently::recorder::WriterLock::acquire_within(&lock, gently::recorder::WAIT);
    for (signal, code) in [("-TERM", Some(143)), ("-KILL", None)] {
        let mut command = person.command(&["backup", "b.age"]);
        let child = command.stderr(Stdio::null()).spawn().unwrap();
        let half = person
            .dir
            .path()
            .join(format!("b.age.{}.partial", child.id()));
        appears(&half);
        assert_eq!(ended_by(child, signal), code);
        assert_eq!(half.exists(), code.is_none(), "{signal}");
    }
    drop(lock.unwrap());
    assert_eq!(beside_home(&person, &["home"]).len(), 1);
    person.gently(&["backup", "b.age"]).exits(0);
    assert_eq!(beside_home(&person, &["home"]), ["b.age"]);
}
