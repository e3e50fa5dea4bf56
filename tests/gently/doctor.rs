//! `gently doctor`: every check made to fail on purpose, and nothing written while it looks.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use gently::record::signature::PublicKey;
use serde_json::Value;

use crate::at_hand::EventCache;
use crate::calendar_server::{CalendarServer, Manner as Calendar};
use crate::model_server::{Behaviour, ModelServer};
use crate::person::Person;
use crate::unguarded::unguarded;
use crate::witness_server::{Manner, WitnessServer};

fn checks(
    home: &EventCache,
    extra: &[(&str, &str)],
) -> (bool, Vec<(String, String, Option<String>)>) {
    let mut command = home.command(&["doctor", "--json"]);
    for (name, value) in extra {
        command.env(name, value);
    }
    let done = command.output().unwrap();
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    let text = |v: &Value| v.as_str().map(str::to_owned);
    let list = report["checks"].as_array().unwrap().iter();
    let list: Vec<_> = list
        .map(|c| {
            (
                text(&c["check"]).unwrap(),
                text(&c["state"]).unwrap(),
                text(&c["mend"]),
            )
        })
        .collect();
    let ok = report["ok"].as_bool().unwrap();
    assert_eq!(done.status.code(), Some(if ok { 0 } else { 1 }));
    (ok, list)
}

fn state(list: &[(String, String, Option<String>)], name: &str) -> String {
    list.iter()
        .find(|(check, ..)| check == name)
        .unwrap_or_else(|| panic!("no check {name}"))
        .1
        .clone()
}

fn sql(home: &EventCache, text: &str) {
    let database = unguarded(home.file("gently.db"));
    database.execute_batch(text).unwrap();
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Cuts the last line off a log that is on the disk.
fn cut_last_line(home: &EventCache) {
    home.fine(&["sync"]);
    cut_line_that_waits(home);
}

/// Cuts the last line off a log that waits for its sync: the next writer restores it.
fn cut_line_that_waits(home: &EventCache) {
    let log = fs::read(home.file("audit.log")).unwrap();
    let at = log[..log.len() - 1]
        .iter()
        .rposition(|b| *b == b'\n')
        .unwrap();
    fs::write(home.file("audit.log"), &log[..=at]).unwrap();
}

/// Moves `main` back by one commit.
fn ref_back(home: &EventCache) {
    home.fine(&["sync"]);
    let git = |arguments: &[&str]| {
        let done = Command::new("git")
            .arg("-C")
            .arg(home.file("ledger.git"))
            .args(arguments)
            .output()
            .unwrap();
        assert!(done.status.success());
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    };
    let parent = git(&["rev-parse", "main^"]);
    git(&["update-ref", "refs/heads/main", &parent]);
}

/// Loose or packed, nothing is left.
fn lose_objects(home: &EventCache) {
    let objects = home.file("ledger.git/objects");
    fs::remove_dir_all(&objects).unwrap();
    for folder in ["info", "pack"] {
        fs::create_dir_all(objects.join(folder)).unwrap();
    }
}

fn other_key(home: &EventCache) {
    for name in ["signing.key", "signing.key.pub"] {
        fs::remove_file(home.file("keys").join(name)).unwrap();
    }
    let mut keygen = Command::new("ssh-keygen");
    keygen
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(home.file("keys/signing.key"));
    assert!(keygen.status().unwrap().success());
}

/// How a home is broken, and the checks that must say so.
type Case = (
    &'static str,
    fn(&EventCache),
    &'static [(&'static str, &'static str)],
);

const CASES: &[Case] = &[
    (
        "no home",
        |home| fs::remove_dir_all(&home.root).unwrap(),
        &[("home", "FAIL"), ("log", "skipped"), ("model", "skipped")],
    ),
    (
        "no ledger",
        |home| fs::remove_dir_all(home.file("ledger.git")).unwrap(),
        &[("home", "FAIL"), ("ledger", "FAIL")],
    ),
    (
        "no log",
        |home| fs::remove_file(home.file("audit.log")).unwrap(),
        &[("home", "FAIL"), ("log", "FAIL"), ("writer", "FAIL")],
    ),
    (
        "no database",
        |home| fs::remove_file(home.file("gently.db")).unwrap(),
        &[("database", "FAIL"), ("log", "skipped")],
    ),
    (
        "key for all",
        |home| chmod(&home.file("keys/auth.key"), 0o644),
        &[("modes", "FAIL"), ("auth key", "FAIL")],
    ),
    (
        "keys for all",
        |home| chmod(&home.file("keys"), 0o755),
        &[("modes", "FAIL"), ("signing key", "FAIL")],
    ),
    (
        "database for all",
        |home| chmod(&home.file("gently.db"), 0o640),
        &[("modes", "FAIL"), ("database", "ok")],
    ),
    (
        "unknown key",
        |home| fs::write(home.file("gently.toml"), "[model]\ncolour = 1\n").unwrap(),
        &[("config", "FAIL"), ("model", "skipped")],
    ),
    (
        "no database file",
        |home| {
            // SQLite mends a file from a write-ahead log that is still there.
            let _ = fs::remove_file(home.file("gently.db-wal"));
            fs::write(home.file("gently.db"), "not a database at all").unwrap();
        },
        &[("database", "FAIL"), ("writer", "skipped")],
    ),
    (
        "lost row",
        |home| sql(home, "DELETE FROM chat_session WHERE rowid = 1"),
        &[("database", "FAIL")],
    ),
    (
        "changed line",
        |home| {
            sql(
                home,
                "UPDATE log_line SET line = replace(line, 'seq:1', 'seq:2') WHERE n = 5",
            )
        },
        &[("log", "FAIL")],
    ),
    (
        "no trigger",
        |home| sql(home, "DROP TRIGGER chat_turn_stays"),
        &[("schema", "FAIL"), ("database", "ok"), ("log", "ok")],
    ),
    (
        "lists changed",
        |home| sql(home, "UPDATE conversation SET turns = turns + 1"),
        &[("lists", "FAIL"), ("schema", "ok"), ("database", "ok")],
    ),
    (
        "index without a text",
        |home| {
            sql(
                home,
                "INSERT INTO turn_fts (rowid, content) VALUES (77, 'of nobody')",
            )
        },
        &[("lists", "FAIL"), ("schema", "ok")],
    ),
    (
        "log cut",
        cut_last_line,
        &[("log", "FAIL"), ("writer", "FAIL"), ("ledger", "ok")],
    ),
    (
        "log cut before its sync",
        cut_line_that_waits,
        &[("log", "warn"), ("writer", "ok"), ("ledger", "ok")],
    ),
    (
        "log changed",
        |home| {
            let text = fs::read_to_string(home.file("audit.log")).unwrap();
            fs::write(
                home.file("audit.log"),
                text.replacen("branch-1", "branch-2", 1),
            )
            .unwrap();
        },
        &[("log", "FAIL")],
    ),
    (
        "log torn",
        |home| {
            let mut text = fs::read(home.file("audit.log")).unwrap();
            text.extend_from_slice(b"half a line");
            fs::write(home.file("audit.log"), text).unwrap();
        },
        &[("log", "FAIL"), ("writer", "FAIL")],
    ),
    (
        "ref back",
        ref_back,
        &[("ledger", "FAIL"), ("writer", "FAIL"), ("log", "ok")],
    ),
    ("objects lost", lose_objects, &[("ledger", "FAIL")]),
    (
        "strange ref",
        |home| {
            let tip = fs::read(home.file("ledger.git/refs/heads/main")).unwrap();
            fs::write(home.file("ledger.git/refs/heads/mine"), tip).unwrap();
        },
        &[("ledger", "FAIL")],
    ),
    (
        "not applied",
        |home| {
            sql(
                home,
                "UPDATE head SET applied_lines = 2, applied_commits = 1, applied_bytes = (SELECT length(group_concat(line, '.')) + 1 FROM log_line WHERE n < 2)",
            )
        },
        &[("log", "ok"), ("ledger", "ok"), ("writer", "ok")],
    ),
    (
        "a mark of no record",
        |home| sql(home, "UPDATE head SET applied_lines = 0"),
        &[("writer", "FAIL")],
    ),
    ("other signing key", other_key, &[("signing key", "FAIL")]),
    (
        "no signing key",
        |home| fs::remove_file(home.file("keys/signing.key")).unwrap(),
        &[("signing key", "FAIL")],
    ),
    (
        "not among the signers",
        |home| fs::write(home.file("keys/allowed_signers"), "").unwrap(),
        &[("signing key", "FAIL")],
    ),
    (
        "a stranger's key among the signers",
        |home| {
            let file = home.file("keys/allowed_signers");
            let mut text = fs::read_to_string(&file).unwrap();
            text.push_str(&PublicKey::from_bytes([1; 32]).allowed_signers_line());
            fs::write(file, text).unwrap();
        },
        &[("signing key", "FAIL")],
    ),
    (
        "no auth key",
        |home| fs::remove_file(home.file("keys/auth.key")).unwrap(),
        &[("auth key", "FAIL")],
    ),
    (
        "auth key of another home",
        |home| fs::write(home.file("keys/auth.key"), format!("{}\n", "ab".repeat(32))).unwrap(),
        &[("auth key", "FAIL")],
    ),
    (
        "auth key revoked",
        |home| sql(home, "UPDATE auth_key SET revoked_at = added_at"),
        &[("auth key", "FAIL")],
    ),
    (
        "auth key under a passphrase",
        |home| {
            fs::write(
                home.file("keys/auth.key"),
                "-----BEGIN AGE ENCRYPTED FILE-----\n",
            )
            .unwrap()
        },
        &[("auth key", "skipped")],
    ),
    (
        "clock a bit behind",
        |home| sql(home, "UPDATE head SET time = unixepoch() + 600"),
        &[("clock", "warn")],
    ),
    (
        "clock far behind",
        |home| sql(home, "UPDATE head SET time = unixepoch() + 7200"),
        &[("clock", "FAIL")],
    ),
];

#[test]
fn a_whole_home_passes() {
    let home = EventCache::new();
    let before = home.files();
    let (ok, list) = checks(&home, &[]);
    assert!(ok, "{list:?}");
    for name in [
        "home",
        "modes",
        "config",
        "database",
        "schema",
        "lists",
        "log",
        "ledger",
        "writer",
        "signing key",
        "auth key",
        "clock",
        "model",
        "git",
        "ssh-keygen",
    ] {
        assert_eq!(state(&list, name), "ok", "{name}");
    }
    for name in ["sources", "calendars", "witnesses"] {
        assert_eq!(
            state(&list, name),
            "skipped",
            "what is not asked is not ok: {name}"
        );
    }
    assert_eq!(home.files(), before);
    let text = home.fine(&["doctor", "-v"]);
    // The verdict, then one line a check.
    assert_eq!(text.lines().count(), 1 + list.len(), "{text}");
}

#[test]
fn each_broken_home_fails_its_check_says_how_to_mend_it_and_is_left_alone() {
    for (what, break_it, expected) in CASES {
        let home = EventCache::new();
        break_it(&home);
        let before = home.root.exists().then(|| home.files());
        let (ok, list) = checks(&home, &[]);
        for (name, wanted) in *expected {
            assert_eq!(state(&list, name), *wanted, "{what}: {list:?}");
        }
        assert_eq!(
            ok,
            !list.iter().any(|(_, state, _)| state == "FAIL"),
            "{what}"
        );
        for (name, state, mend) in &list {
            let wants = state == "FAIL" || state == "warn";
            assert_eq!(mend.is_some(), wants, "{what}: {name} {state} {mend:?}");
        }
        assert_eq!(
            home.root.exists().then(|| home.files()),
            before,
            "{what}: doctor wrote"
        );
    }
}

#[test]
fn what_is_outside_is_asked_and_named() {
    let home = EventCache::new();
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let model = [
        ("GENTLY_MODEL_DEFAULT", "openai/x"),
        ("GENTLY_MODEL_BASE_URL", closed.as_str()),
    ];
    let (ok, list) = checks(&home, &model);
    assert!(!ok && state(&list, "model") == "FAIL", "{list:?}");
    let server = ModelServer::start(Behaviour::Good);
    let url = server.base_url();
    let (ok, list) = checks(
        &home,
        &[
            ("GENTLY_MODEL_DEFAULT", "openai/x"),
            ("GENTLY_MODEL_BASE_URL", url.as_str()),
        ],
    );
    assert!(ok && state(&list, "model") == "ok", "{list:?}");
    let list_of = format!("['{closed}']");
    let (ok, list) = checks(
        &home,
        &[
            ("GENTLY_ANCHOR_MODE", "auto"),
            ("GENTLY_ANCHOR_ESPLORA", list_of.as_str()),
        ],
    );
    assert!(!ok && state(&list, "sources") == "FAIL", "{list:?}");
    // Names under .invalid never resolve: without a network everything goes on.
    let (ok, list) = checks(
        &home,
        &[
            ("GENTLY_ANCHOR_MODE", "auto"),
            ("GENTLY_ANCHOR_ESPLORA", "['https://nowhere.invalid/api']"),
            ("GENTLY_MODEL_DEFAULT", "openai/x"),
            ("GENTLY_MODEL_BASE_URL", "https://nowhere.invalid/v1"),
            ("OPENAI_API_KEY", "test"),
        ],
    );
    for name in ["sources", "model"] {
        assert!(ok && state(&list, name) == "warn", "{name}: {list:?}");
    }
    let nowhere = tempfile::tempdir().unwrap();
    let (ok, list) = checks(&home, &[("PATH", nowhere.path().to_str().unwrap())]);
    assert!(
        !ok && state(&list, "git") == "FAIL" && state(&list, "ssh-keygen") == "FAIL",
        "{list:?}"
    );
}

/// The checks of a person's home: name, state, what was found, what mends it.
fn checks_of(person: &Person) -> Vec<(String, String, String, Option<String>)> {
    let report = person.gently(&["doctor", "--json"]).json();
    let text = |check: &Value, key: &str| check[key].as_str().map(str::to_owned);
    let list = report["checks"].as_array().unwrap().iter();
    let row = |c: &Value| {
        (
            text(c, "check").unwrap(),
            text(c, "state").unwrap(),
            text(c, "found").unwrap(),
            text(c, "mend"),
        )
    };
    list.map(row).collect()
}

/// Each check of these names: state, words that it must hold, and what mends it.
#[track_caller]
fn are(person: &Person, expected: &[(&str, &str, &str, Option<&str>)]) {
    let names = ["calendars", "calendar", "witnesses", "witness"];
    let list: Vec<_> = checks_of(person)
        .into_iter()
        .filter(|row| names.contains(&row.0.as_str()))
        .collect();
    assert_eq!(list.len(), expected.len(), "{list:#?}");
    for ((name, state, found, mend), (a, b, words, d)) in list.iter().zip(expected) {
        assert_eq!(
            (name.as_str(), state.as_str(), mend.as_deref()),
            (*a, *b, *d),
            "{list:#?}"
        );
        assert!(found.contains(words), "'{words}' in {list:#?}");
    }
}

#[test]
fn calendars_and_witnesses_are_named_with_what_they_said_last() {
    const STAMP: Option<&str> = Some("gently audit stamp");
    const ASK: Option<&str> = Some("gently witness ask");
    let (one, two) = (CalendarServer::start(1), CalendarServer::start(2));
    let (a, b) = (
        WitnessServer::start("a.example", 1, Manner::Honest),
        WitnessServer::start("b.example", 2, Manner::Rubbish),
    );
    let calendars = serde_json::json!([one.url(), two.url()]).to_string();
    let mut person = Person::with(&[
        ("GENTLY_ANCHOR_ESPLORA", "[]"),
        ("GENTLY_OTS_CALENDARS", calendars.as_str()),
        ("GENTLY_WITNESS_QUORUM", "2"),
    ]);
    person.gently(&["init", "--network", "regtest"]).exits(0);
    for (name, witness) in [("a", &a), ("b", &b)] {
        person
            .gently(&[
                "witness",
                "add",
                name,
                &witness.vkey().print(),
                &witness.url(),
            ])
            .exits(0);
    }
    are(
        &person,
        &[
            (
                "calendars",
                "ok",
                "2 of 2 must accept a head; 0 heads: 0 without a proof, 0 pending, 0 in a block",
                None,
            ),
            ("calendar", "skipped", "not asked yet", None),
            ("calendar", "skipped", "not asked yet", None),
            ("witnesses", "skipped", "there is no tree head yet", None),
            ("witness", "skipped", "a: not asked yet", None),
            ("witness", "skipped", "b: not asked yet", None),
        ],
    );
    two.set_manner(Calendar::Says(500, b"no".to_vec()));
    person.ask("How is this machine doing?");
    person.gently(&["session", "close"]).exits(0);
    are(
        &person,
        &[
            ("calendars", "warn", "1 head: 1 without a proof", STAMP),
            ("calendar", "ok", "accepted at 20", None),
            ("calendar", "warn", "never accepted; asked at 20", STAMP),
            (
                "witnesses",
                "warn",
                "1 of the 2 that are needed have cosigned the newest tree head (",
                ASK,
            ),
            ("witness", "ok", "a: cosigned ", None),
            (
                "witness",
                "warn",
                "b: has cosigned nothing; asked at 20",
                ASK,
            ),
        ],
    );
    // The commands that it names mend it.
    two.set_manner(Calendar::Honest);
    b.be(Manner::Honest);
    person.gently(&["audit", "stamp"]).exits(0);
    person.gently(&["witness", "ask"]).exits(0);
    let whole = [
        (
            "calendars",
            "ok",
            "1 head: 0 without a proof, 1 pending (the oldest for 0 min), 0 in a block",
            None,
        ),
        ("calendar", "ok", "accepted at 20", None),
        ("calendar", "ok", "accepted at 20", None),
        (
            "witnesses",
            "ok",
            "2 of the 2 that are needed have cosigned",
            None,
        ),
        ("witness", "ok", "a: cosigned ", None),
        ("witness", "ok", "b: cosigned ", None),
    ];
    are(&person, &whole);
    // As if the promises had been given three days ago.
    let then = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs()
        - 73 * 3600;
    let listed = person.git(&["notes", "--ref", "ots", "list"]).exits(0).out;
    fs::remove_file(person.at("ledger.git/refs/notes/ots")).unwrap();
    for line in listed.lines() {
        let (blob, commit) = line.split_once(' ').unwrap();
        let mut git = Command::new("git");
        git.arg("-C").arg(person.at("ledger.git")).args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=b",
            "notes",
        ]);
        git.args(["--ref", "ots", "add", "-C", blob, commit])
            .env("GIT_COMMITTER_DATE", format!("{then} +0000"));
        assert!(git.status().unwrap().success());
    }
    let late = Some("gently audit upgrade; a later proof covers the same lines");
    let mut expected = whole;
    expected[0] = ("calendars", "warn", "1 pending (the oldest for 73 h)", late);
    are(&person, &expected);
    // Quorums that can't be reached, and nobody to be asked.
    person.set("GENTLY_OTS_QUORUM", "3");
    person.set("GENTLY_WITNESS_QUORUM", "3");
    let list = checks_of(&person);
    let row = |name: &str| list.iter().find(|row| row.0 == name).unwrap().clone();
    assert!(
        row("calendars")
            .3
            .unwrap()
            .contains("gently config set ots.quorum 2")
    );
    assert!(
        row("witnesses")
            .3
            .unwrap()
            .contains("gently config set witness.quorum 2")
    );
    person.set("GENTLY_OTS_CALENDARS", "[]");
    assert_eq!(
        checks_of(&person)
            .iter()
            .find(|row| row.0 == "calendars")
            .unwrap()
            .1,
        "skipped"
    );
}

/// A pipe has no width: what is found stands on one line, however long it is.
#[test]
fn what_is_piped_is_not_broken() {
    let mut home = Person::new();
    home.set("COLUMNS", "20");
    home.gently(&["init"]).exits(0);
    let told = home.gently(&["doctor", "-v"]).out;
    let report = home.gently(&["doctor", "--json"]).json();
    let checks = report["checks"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut widest = 0;
    for check in checks {
        let name = text(&check["check"]);
        // Of the time and of what is free each run says its own.
        if ["clock", "disk"].contains(&name.as_str()) {
            continue;
        }
        let line = format!(
            "{:9}{name:12}{}",
            text(&check["state"]),
            text(&check["found"])
        );
        assert!(told.lines().any(|other| other == line), "{line}\n{told}");
        widest = widest.max(line.chars().count());
    }
    assert!(widest > 80, "one line is longer than a terminal: {told}");
}
