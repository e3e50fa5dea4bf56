//! Encryption at rest, with the real program: nothing readable on the disk, every door wants the
//! key, and a conversion that is killed anywhere leaves the old file or the new one.

#![cfg(feature = "sealed")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use gently::home::{Home, InitOptions};
use gently::store::{
    CipherKey, ConvertStep, FoundKey, Store, StoreError, convert, foreign_journal, forget_key,
    remember_key, remove_unfinished, unfinished_file,
};

use crate::erase::holders;
use crate::model_server::{Behaviour, ModelServer};
use crate::person::{Person, Ran};
use crate::pty::{Typist, on_terminal};
use crate::recorder::at;

/// What nobody else writes.
const WORD: &str = "quetzalcoatl";
const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const OTHER: &str = "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// A home with two questions in it, encrypted by a key in the environment.
fn sealed() -> (Person, ModelServer) {
    let server = ModelServer::start(Behaviour::Says(format!("{WORD} has feathers")));
    let mut person = Person::with(&[
        ("GENTLY_ANCHOR_MODE", "off"),
        ("GENTLY_MODEL_BASE_URL", &server.base_url()),
        ("GENTLY_MODEL_DEFAULT", "openai/x"),
    ]);
    person.ask(&format!("Who was {WORD}?"));
    assert!(!holders(person.home(), WORD.as_bytes()).is_empty());
    person.set("GENTLY_STORE_KEY", KEY);
    let told = person.gently(&["store", "encrypt"]).exits(0);
    assert!(
        told.out
            .contains("is encrypted; its key comes from $GENTLY_STORE_KEY"),
        "{told:?}"
    );
    assert!(told.err.contains("may stay on the disk"), "{told:?}");
    (person, server)
}

/// The same home, of which the key is in a file under a passphrase that the environment gives.
fn under_a_passphrase() -> (Person, ModelServer) {
    let (mut person, server) = sealed();
    person.gently(&["store", "decrypt"]).exits(0);
    person.unset("GENTLY_STORE_KEY");
    person.set("GENTLY_TEST_WORK_FACTOR", "4");
    person.set("GENTLY_PASSPHRASE", "correct horse");
    person.gently(&["store", "encrypt"]).exits(0);
    (person, server)
}

fn is_plain(path: &Path) -> bool {
    fs::read(path).unwrap().starts_with(b"SQLite format 3\0")
}

#[test]
fn nothing_of_a_text_is_readable_and_everything_works_as_before() {
    let (mut person, _server) = sealed();
    assert!(!is_plain(&person.at("gently.db")));
    // The log of writes and the index have the new words, and the folder nothing else.
    person.ask(&format!("And what else of {WORD}?"));
    let found = person.gently(&["search", WORD]).exits(0);
    assert!(found.out.contains(WORD), "{found:?}");
    assert!(person.at("gently.db-wal").metadata().unwrap().len() > 0);
    assert_eq!(
        holders(person.home(), WORD.as_bytes()),
        Vec::<PathBuf>::new()
    );
    let report = person.verified();
    assert_eq!(report["answers"]["consistent"], "yes", "{report}");
    person.gently(&["doctor"]);
    let status = person
        .gently(&["store", "status", "--json"])
        .exits(0)
        .json();
    assert_eq!(status["encrypted"], true);
    assert_eq!(status["wanted"], true);
    assert_eq!(status["key_from"], "$GENTLY_STORE_KEY");
    assert_eq!(status["fault"], serde_json::Value::Null);
    // Once more is no fault, and nothing is done.
    let again = person
        .gently(&["store", "encrypt", "--json"])
        .exits(0)
        .json();
    assert_eq!(again["changed"], false);
    // And back: the words are where they were.
    person.gently(&["store", "decrypt"]).exits(0);
    person.unset("GENTLY_STORE_KEY");
    assert!(is_plain(&person.at("gently.db")));
    assert_eq!(
        person.gently(&["config", "get", "store.encrypted"]).out,
        "false\n"
    );
    person.gently(&["search", WORD]).exits(0);
    person.gently(&["audit", "verify"]).exits(0);
}

/// Each command that opens the database.
const DOORS: [&[&str]; 11] = [
    &["ask", "hello"],
    &["search", "hello"],
    &["log"],
    &["show", "last"],
    &["stats"],
    &["session", "list"],
    &["audit", "verify"],
    &["audit", "replay", "--all"],
    &["audit", "rebuild"],
    &["backup", "b.age"],
    &["store", "decrypt"],
];

#[track_caller]
fn refused(ran: &Ran, words: &str) {
    assert_eq!(ran.code, 2, "{ran:?}");
    let said = format!("{}{}", ran.err, ran.out);
    assert!(said.contains(words), "{words}: {ran:?}");
    assert!(!said.contains("00112233"), "{ran:?}");
}

#[test]
fn without_its_key_or_with_another_no_door_opens_and_no_plain_file_appears() {
    let (mut person, _server) = sealed();
    let before = fs::read(person.at("gently.db")).unwrap();
    for door in DOORS {
        person.unset("GENTLY_STORE_KEY");
        refused(&person.gently(door), "there is no key for it");
        person.set("GENTLY_STORE_KEY", OTHER);
        refused(
            &person.gently(door),
            "the key from $GENTLY_STORE_KEY is not the one",
        );
        person.set("GENTLY_STORE_KEY", &KEY[1..]);
        refused(&person.gently(door), "is not 64 hexadecimal digits");
    }
    let status = person.gently(&["store", "status"]).exits(1);
    assert!(
        status.out.contains("is not 64 hexadecimal digits"),
        "{status:?}"
    );
    let doctor = person.gently(&["doctor"]).exits(1);
    assert!(doctor.out.contains("-> gently store status"), "{doctor:?}");
    assert!(
        fs::read(person.at("gently.db")).unwrap() == before,
        "it changed"
    );
    person.set("GENTLY_STORE_KEY", KEY);
    person.gently(&["audit", "verify"]).exits(0);
}

#[test]
fn a_plain_database_in_the_place_of_an_encrypted_one_is_refused() {
    let (mut person, _server) = sealed();
    person.gently(&["store", "decrypt"]).exits(0);
    person.set("GENTLY_STORE_ENCRYPTED", "true");
    for door in [
        &["ask", "hello"][..],
        &["search", "hello"],
        &["audit", "verify"],
    ] {
        refused(
            &person.gently(door),
            "it is not encrypted, although store.encrypted is true",
        );
    }
    let doctor = person.gently(&["doctor"]).exits(1);
    assert!(doctor.out.contains("-> gently store encrypt"), "{doctor:?}");
    // Its owner says that it is the right one.
    person.gently(&["store", "encrypt"]).exits(0);
    person.gently(&["search", WORD]).exits(0);
}

#[test]
fn a_command_gives_the_key_and_is_proven_before_anything_is_written() {
    let (mut person, _server) = sealed();
    person.gently(&["store", "decrypt"]).exits(0);
    person.unset("GENTLY_STORE_KEY");
    let file = person.dir.path().join("key");
    let command = format!("cat {}", file.display());
    person
        .gently(&["config", "set", "store.key_cmd", &command])
        .exits(0);
    // A typo can lock nobody out.
    refused(
        &person.gently(&["store", "encrypt"]),
        "gently store encrypt --new-key",
    );
    let key = person.gently(&["store", "encrypt", "--new-key"]).exits(0);
    assert_eq!(key.out.trim_end().len(), 64, "{key:?}");
    assert!(is_plain(&person.at("gently.db")));
    fs::write(&file, &key.out).unwrap();
    person.gently(&["store", "encrypt"]).exits(0);
    person.gently(&["search", WORD]).exits(0);
    fs::remove_file(&file).unwrap();
    refused(
        &person.gently(&["search", WORD]),
        "its key could not be had: [store] key_cmd",
    );
    fs::write(&file, &key.out).unwrap();
    person.gently(&["store", "decrypt"]).exits(0);
    // One that is new each time opens nothing later.
    let random = "od -An -N32 -tx1 /dev/urandom | tr -d ' \\n'";
    person
        .gently(&["config", "set", "store.key_cmd", random])
        .exits(0);
    refused(
        &person.gently(&["store", "encrypt"]),
        "gives another key each time",
    );
    assert!(is_plain(&person.at("gently.db")));
}

#[test]
fn a_file_under_a_passphrase_gives_the_key_and_is_not_in_the_backup() {
    let (mut person, _server) = sealed();
    person.gently(&["store", "decrypt"]).exits(0);
    person.unset("GENTLY_STORE_KEY");
    person.set("GENTLY_TEST_WORK_FACTOR", "4");
    refused(&person.gently(&["store", "encrypt"]), "needs a passphrase");
    person.set("GENTLY_PASSPHRASE", "correct horse");
    person.gently(&["store", "encrypt"]).exits(0);
    person.gently(&["search", WORD]).exits(0);
    let file = person.at("keys/store.key");
    assert!(
        fs::read_to_string(&file)
            .unwrap()
            .starts_with("-----BEGIN AGE")
    );
    person.set("GENTLY_PASSPHRASE", "another");
    refused(&person.gently(&["search", WORD]), "wrong passphrase for");
    person.set("GENTLY_PASSPHRASE", "correct horse");
    let made = person.gently(&["backup", "b.age"]).exits(0);
    assert!(
        made.err.contains("the key of that is not in it"),
        "{made:?}"
    );
    // The home is lost, with the key; a copy of the key is kept.
    let kept = person.dir.path().join("store.key");
    fs::copy(&file, &kept).unwrap();
    fs::rename(person.home(), person.dir.path().join("lost")).unwrap();
    refused(
        &person.gently(&["restore", "b.age"]),
        "With a copy of keys/store.key: gently restore b.age --store-key COPY",
    );
    assert!(!person.home().exists());
    // A command in the environment is named as that, and no home is there to look at.
    person.set("GENTLY_STORE_KEY_CMD", "no-such-program-at-all");
    refused(
        &person.gently(&["restore", "b.age"]),
        "a program that it names is not installed",
    );
    person.set("GENTLY_STORE_KEY_CMD", "false");
    let failed = person.gently(&["restore", "b.age"]);
    refused(&failed, "$GENTLY_STORE_KEY_CMD gave no secret");
    refused(&failed, "Nothing was unpacked");
    assert!(
        failed.err.contains("the database in the backup") && !failed.err.contains("store status"),
        "{failed:?}"
    );
    person.unset("GENTLY_STORE_KEY_CMD");
    assert!(!person.home().exists());
    person.set("GENTLY_STORE_KEY", OTHER);
    refused(
        &person.gently(&["restore", "b.age"]),
        "is not the one that opens it",
    );
    assert!(!person.home().exists());
    // With the copy of the key file, which is the new home's again.
    person.unset("GENTLY_STORE_KEY");
    let with_copy =
        |person: &Person, copy: &str| person.gently(&["restore", "b.age", "--store-key", copy]);
    refused(&with_copy(&person, "nowhere"), "there is no file nowhere");
    refused(&with_copy(&person, "b.age"), "it is no key file");
    fs::write(person.dir.path().join("text"), "a text").unwrap();
    refused(
        &with_copy(&person, "text"),
        "it is no age file under a passphrase",
    );
    assert!(!person.home().exists());
    let back = with_copy(&person, "store.key").exits(0);
    assert!(
        back.err
            .contains("the key of store.key is in its keys/store.key again")
            && !back.err.contains("store.key_cmd"),
        "{back:?}"
    );
    person
        .gently(&["audit", "adopt", "--nothing-newer"])
        .exits(0);
    person.gently(&["search", WORD]).exits(0);
    fs::rename(person.home(), person.dir.path().join("restored")).unwrap();
    let key =
        gently::keys::StoreKey::load_copy(&kept, &mut |_| Ok("correct horse".to_owned().into()));
    person.set("GENTLY_STORE_KEY", &key.unwrap().text());
    let back = person.gently(&["restore", "b.age"]).exits(0);
    assert!(
        back.err
            .contains("your copy of store.key, put into its keys/"),
        "{back:?}"
    );
    let at = |words: &str| back.err.find(words).expect(words);
    assert!(
        at("export GENTLY_HOME=") < at("config set store.key_cmd"),
        "{back:?}"
    );
    assert!(
        back.err.contains("came from $GENTLY_STORE_KEY this time"),
        "{back:?}"
    );
    assert!(!person.at("keys/store.key").exists());
    assert!(!is_plain(&person.at("gently.db")));
    person
        .gently(&["audit", "adopt", "--nothing-newer"])
        .exits(0);
    person.gently(&["search", WORD]).exits(0);
    assert_eq!(
        holders(person.home(), WORD.as_bytes()),
        Vec::<PathBuf>::new()
    );
}

#[test]
fn what_is_erased_is_gone_and_a_rebuild_finds_nothing_to_do() {
    let (person, _server) = sealed();
    person.gently(&["erase", "last", "--yes"]).exits(0);
    person.gently(&["search", WORD]).exits(1);
    person.gently(&["audit", "verify"]).exits(0);
    fs::remove_file(person.at("audit.log")).unwrap();
    person.gently(&["audit", "rebuild"]).exits(0);
    person.gently(&["audit", "verify"]).exits(0);
    person.gently(&["store", "decrypt"]).exits(0);
    assert_eq!(
        holders(person.home(), WORD.as_bytes()),
        Vec::<PathBuf>::new()
    );
}

#[test]
fn a_home_is_encrypted_from_its_beginning_where_the_environment_says_so() {
    let mut person = Person::new();
    // A slip makes no plain home.
    for slip in ["yes", "1", ""] {
        person.set("GENTLY_STORE_ENCRYPTED", slip);
        refused(&person.gently(&["init"]), "GENTLY_STORE_ENCRYPTED");
        assert!(!person.home().exists());
    }
    person.set("GENTLY_STORE_ENCRYPTED", "true");
    refused(
        &person.gently(&["init"]),
        "only with a key in $GENTLY_STORE_KEY",
    );
    assert!(!person.home().exists());
    person.set("GENTLY_STORE_KEY", KEY);
    person.ask(&format!("Who was {WORD}?"));
    assert!(!is_plain(&person.at("gently.db")));
    assert_eq!(
        holders(person.home(), WORD.as_bytes()),
        Vec::<PathBuf>::new()
    );
}

#[test]
fn a_changed_page_is_found_and_no_other_program_holds_the_file_open() {
    let (person, _server) = sealed();
    let mut chat = person
        .command(&["chat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // It has the home open once it has answered.
    let mut input = chat.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, b"hello\n").unwrap();
    let mut answer = [0; 8];
    std::io::Read::read_exact(chat.stdout.as_mut().unwrap(), &mut answer).unwrap();
    refused(
        &person.gently(&["store", "decrypt"]),
        "is open in another program",
    );
    drop(input);
    chat.wait_with_output().unwrap();
    let path = person.at("gently.db");
    person.gently(&["store", "decrypt"]).exits(0);
    person.gently(&["store", "encrypt"]).exits(0);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let _ = fs::remove_file(person.at("gently.db-wal"));
    assert_ne!(person.gently(&["doctor"]).code, 0);
}

/// A home without the program, and its database.
fn made() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("home");
    Home::init(
        &root,
        &InitOptions::default(),
        &mut gently::keys::os_random,
        at(0),
    )
    .unwrap();
    (dir, root.join("gently.db"))
}

fn key() -> FoundKey {
    FoundKey {
        key: CipherKey::new(&[9; 32]),
        from: "the test".to_owned(),
    }
}

fn head(path: &Path) -> u64 {
    Store::open(path).unwrap().head().unwrap().lines
}

#[test]
fn a_conversion_killed_at_any_step_leaves_the_old_file_or_the_new_one() {
    for stop in ConvertStep::ALL {
        let (_dir, path) = made();
        let lines = head(&path);
        for to in [Some(key()), None] {
            let before = fs::read(&path).unwrap();
            let killed = convert(&path, to.as_ref(), &|step| step != stop);
            assert!(matches!(killed, Err(StoreError::Stopped)), "{stop:?}");
            if stop == ConvertStep::Renamed {
                assert!(fs::read(&path).unwrap() != before, "{stop:?}");
                assert!(!unfinished_file(&path).exists());
            } else {
                // What the other process would have remembered is not known here.
                let form = to.is_some();
                assert_eq!(is_plain(&path), form, "{stop:?}");
                assert_eq!(unfinished_file(&path).exists(), stop != ConvertStep::Begun);
                assert_eq!(foreign_journal(&path), None, "{stop:?}");
                assert_eq!(head(&path), lines);
                assert_eq!(
                    remove_unfinished(&path).unwrap(),
                    stop != ConvertStep::Begun
                );
                convert(&path, to.as_ref(), &|_| true).unwrap();
            }
            assert!(!remove_unfinished(&path).unwrap(), "{stop:?}");
            assert_eq!(is_plain(&path), to.is_none());
            assert_eq!(head(&path), lines);
        }
    }
}

#[test]
fn a_failed_conversion_leaves_nothing_and_a_wrong_key_is_called_one() {
    let (_dir, path) = made();
    convert(&path, Some(&key()), &|_| true).unwrap();
    remember_key(
        &path,
        Some(FoundKey {
            key: CipherKey::new(&[8; 32]),
            from: "elsewhere".to_owned(),
        }),
    );
    let wrong = convert(&path, None, &|_| true).unwrap_err().to_string();
    assert!(
        wrong.contains("the key from elsewhere is not the one"),
        "{wrong}"
    );
    forget_key(&path);
    let none = Store::open(&path).err().unwrap().to_string();
    assert!(none.contains("there is no key for it"), "{none}");
    assert!(
        none.contains("gently audit verify --repo ledger.git"),
        "{none}"
    );
    assert!(!unfinished_file(&path).exists());
    remember_key(&path, Some(key()));
    // Somebody who has it open is in the way, and loses nothing.
    let reader = Store::open_read_only(&path).unwrap();
    reader.head().unwrap();
    let busy = convert(&path, None, &|_| true);
    assert!(matches!(busy, Err(StoreError::Busy { .. })), "{busy:?}");
    drop(reader);
    convert(&path, None, &|_| true).unwrap();
    head(&path);
}

/// The key that a person's variable has, for what a test does in the place of the program.
fn own_key() -> FoundKey {
    let mut bytes = [0; 32];
    hex::decode_to_slice(KEY, &mut bytes).unwrap();
    FoundKey {
        key: CipherKey::new(&bytes),
        from: "the test".to_owned(),
    }
}

/// Decrypts a home's database, and is killed after a step: the settings say what they said.
fn decrypt_killed_after(person: &Person, step: ConvertStep) {
    let path = person.at("gently.db");
    remember_key(&path, Some(own_key()));
    let killed = convert(&path, None, &|now| now != step);
    assert!(matches!(killed, Err(StoreError::Stopped)), "{killed:?}");
    forget_key(&path);
}

fn encryption_check(person: &Person) -> (String, String) {
    let doctor = person.gently(&["doctor", "--json"]).json();
    let checks = doctor["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["check"] == "encryption");
    let check = check.unwrap_or_else(|| panic!("{doctor}"));
    let text = |name: &str| check[name].as_str().unwrap_or_default().to_owned();
    (text("state"), check.to_string())
}

#[test]
fn a_plain_copy_that_a_killed_conversion_left_is_named_and_taken_away() {
    let (person, _server) = sealed();
    let copy = person.at("gently.db.new");
    decrypt_killed_after(&person, ConvertStep::Checked);
    assert!(is_plain(&copy));
    assert!(!holders(person.home(), WORD.as_bytes()).is_empty());
    let status = person.gently(&["store", "status"]).exits(1);
    assert!(
        status
            .out
            .contains("gently.db.new is not encrypted and has texts in it"),
        "{status:?}"
    );
    let status = person
        .gently(&["store", "status", "--json"])
        .exits(1)
        .json();
    assert_eq!(status["unfinished"]["encrypted"], false, "{status}");
    assert_eq!(status["fault"], serde_json::Value::Null);
    let (found, check) = encryption_check(&person);
    assert!(
        found == "FAIL" && check.contains("has texts in it"),
        "{check}"
    );
    assert!(copy.exists());
    let tidied = person.gently(&["store", "encrypt"]).exits(0);
    assert!(
        tidied
            .out
            .contains("is already encrypted: what a conversion had left"),
        "{tidied:?}"
    );
    assert!(!copy.exists());
    assert_eq!(
        holders(person.home(), WORD.as_bytes()),
        Vec::<PathBuf>::new()
    );
    // The other way round it is not readable, and no fault.
    person.gently(&["store", "decrypt"]).exits(0);
    fs::write(&copy, [7; 8192]).unwrap();
    let status = person.gently(&["store", "status", "--json"]).exits(0);
    assert_eq!(status.json()["unfinished"]["encrypted"], true, "{status:?}");
    assert_eq!(encryption_check(&person).0, "warn");
    let tidied = person
        .gently(&["store", "decrypt", "--json"])
        .exits(0)
        .json();
    assert_eq!(tidied["unfinished_removed"], true, "{tidied}");
    assert!(!copy.exists());
}

#[test]
fn what_the_settings_say_follows_the_file_and_a_plain_twin_is_refused() {
    let mut person = Person::new();
    person.set("GENTLY_STORE_ENCRYPTED", "true");
    person.set("GENTLY_STORE_KEY", KEY);
    person.gently(&["init"]).exits(0);
    person.unset("GENTLY_STORE_ENCRYPTED");
    let said = |person: &Person| person.gently(&["config", "get", "store.encrypted"]).out;
    assert_eq!(said(&person), "true\n", "the file has it, not the variable");
    person.ask("hello");
    // Whoever set it back by hand is told.
    let file = person.at("gently.toml");
    let text = fs::read_to_string(&file).unwrap();
    let wrong = text.replace("encrypted = true", "encrypted = false");
    assert_ne!(wrong, text);
    fs::write(&file, &wrong).unwrap();
    let status = person.gently(&["store", "status"]).exits(0);
    assert!(
        status.out.contains("but store.encrypted is false")
            && status.out.contains("gently store encrypt"),
        "{status:?}"
    );
    let (found, check) = encryption_check(&person);
    assert!(
        found == "warn" && check.contains("store.encrypted is false"),
        "{check}"
    );
    let again = person
        .gently(&["store", "encrypt", "--json"])
        .exits(0)
        .json();
    assert_eq!(again["changed"], false);
    assert_eq!(said(&person), "true\n");
    // A plain file in its place is refused, and encrypting it is the way on.
    decrypt_killed_after(&person, ConvertStep::Renamed);
    assert!(is_plain(&person.at("gently.db")));
    for door in [
        &["search", "hello"][..],
        &["store", "decrypt"],
        &["config", "set", "store.encrypted", "false"],
    ] {
        refused(&person.gently(door), "although store.encrypted is true");
        assert_eq!(said(&person), "true\n");
    }
    person.gently(&["store", "encrypt"]).exits(0);
    person.gently(&["search", "hello"]).exits(0);
    // A variable that refuses what would be made is named before.
    person.set("GENTLY_STORE_ENCRYPTED", "true");
    refused(
        &person.gently(&["store", "decrypt"]),
        "$GENTLY_STORE_ENCRYPTED is true",
    );
    assert!(!is_plain(&person.at("gently.db")));
}

#[test]
fn another_key_is_taken_where_the_old_one_was_put_away_and_that_is_said() {
    let (mut person, _server) = sealed();
    person.gently(&["store", "decrypt"]).exits(0);
    person.unset("GENTLY_STORE_KEY");
    person.set("GENTLY_TEST_WORK_FACTOR", "4");
    person.set("GENTLY_PASSPHRASE", "correct horse");
    let encrypt = |is_new: bool| {
        let told = person.gently(&["store", "encrypt"]).exits(0);
        let said = told.out.contains("the key that was in that file already");
        assert_eq!(said, !is_new, "{told:?}");
        let key = gently::keys::StoreKey::load(&person.at("keys/store.key"), &mut |_| {
            Ok("correct horse".to_owned().into())
        });
        let told = person.gently(&["store", "decrypt"]).exits(0);
        assert!(told.err.contains("takes it again"), "{told:?}");
        key.unwrap()
    };
    let first = encrypt(true);
    assert!(encrypt(false) == first);
    fs::rename(
        person.at("keys/store.key"),
        person.dir.path().join("old.key"),
    )
    .unwrap();
    let encrypt = |is_new: bool| {
        let told = person
            .gently(&["store", "encrypt", "--json"])
            .exits(0)
            .json();
        assert_eq!(told["key_made"], is_new, "{told}");
        gently::keys::StoreKey::load(&person.at("keys/store.key"), &mut |_| {
            Ok("correct horse".to_owned().into())
        })
        .unwrap()
    };
    assert!(encrypt(true) != first);
}

#[test]
fn the_command_of_a_key_can_be_set_where_only_that_opens_the_database() {
    let (mut person, _server) = sealed();
    person.unset("GENTLY_STORE_KEY");
    let set =
        |person: &Person, value: &str| person.gently(&["config", "set", "store.key_cmd", value]);
    // Not any setting, and not where the key is to come from elsewhere.
    refused(
        &person.gently(&["config", "set", "store.encrypted", "false"]),
        "there is no key for it",
    );
    person.set("GENTLY_STORE_KEY", OTHER);
    refused(&set(&person, "true"), "is not the one");
    // Empty is as if it were not there.
    person.set("GENTLY_STORE_KEY", "");
    refused(&person.gently(&["search", WORD]), "there is no key for it");
    let slip = set(&person, "echo slip").exits(0);
    for words in [
        "the command is set, and does not open the database",
        "is not 64 hexadecimal digits",
        "gently config unset store.key_cmd",
    ] {
        assert!(slip.err.contains(words), "{slip:?}");
    }
    refused(
        &person.gently(&["search", WORD]),
        "is not 64 hexadecimal digits",
    );
    let other = set(&person, &format!("echo {OTHER}")).exits(0);
    assert!(other.err.contains("it gives another key"), "{other:?}");
    let command = format!("echo {KEY}");
    let json = person.gently(&["config", "set", "store.key_cmd", &command, "--json"]);
    assert_eq!(json.exits(0).json().get("notice"), None);
    assert_eq!(set(&person, &command).exits(0).err, "");
    person.gently(&["search", WORD]).exits(0);
    // From here on the auth key is compared, as for every setting that guards.
    fs::rename(
        person.at("keys/auth.key"),
        person.dir.path().join("auth.key"),
    )
    .unwrap();
    assert_eq!(set(&person, "true").code, 2);
    person.gently(&["search", WORD]).exits(0);
}

#[test]
fn a_key_file_is_tried_where_a_passphrase_is_given_and_looked_at_elsewhere() {
    let (mut person, _server) = under_a_passphrase();
    let status = |person: &Person, code: i32| {
        let words = person.gently(&["store", "status"]).exits(code).out;
        let json = person.gently(&["store", "status", "--json"]).exits(code);
        (words, json.json())
    };
    let (words, json) = status(&person, 0);
    assert!(words.contains("that key opens it"), "{words}");
    assert_eq!(json["tried"], true);
    person.set("GENTLY_PASSPHRASE", "another");
    let (words, json) = status(&person, 1);
    assert!(words.contains("wrong passphrase for"), "{words}");
    assert!(!words.contains("gently store status"), "{words}");
    assert_eq!(json["tried"], true);
    let command = ["--passphrase-cmd", "echo correct horse", "store", "status"];
    person.gently(&command).exits(0);
    person.unset("GENTLY_PASSPHRASE");
    let (words, json) = status(&person, 0);
    assert!(words.contains("not tried: the passphrase"), "{words}");
    assert_eq!(json["tried"], false);
    let file = person.at("keys/store.key");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let (words, json) = status(&person, 1);
    assert!(words.contains("chmod"), "{words}");
    assert_eq!(json["tried"], false);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&file, format!("{KEY}\n")).unwrap();
    let (words, _) = status(&person, 1);
    assert!(words.contains("no age file under a passphrase"), "{words}");
}

#[test]
fn a_plain_log_beside_an_encrypted_database_is_called_one_and_can_be_put_away() {
    let (person, _server) = sealed();
    let (other, log) = (
        person.dir.path().join("other.db"),
        person.at("gently.db-wal"),
    );
    let plain = rusqlite::Connection::open(&other).unwrap();
    plain
        .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)")
        .unwrap();
    fs::copy(person.dir.path().join("other.db-wal"), &log).unwrap();
    drop(plain);
    let ran = person.gently(&["search", WORD]);
    refused(&ran, "the log of writes beside it is not");
    let words = format!("mv -n {0} {0}.torn", log.display());
    assert!(ran.err.contains(&words), "{ran:?}");
    let (found, check) = encryption_check(&person);
    assert!(
        found == "FAIL" && check.contains("nothing can be read while"),
        "{check}"
    );
    let moved = std::process::Command::new("sh")
        .args(["-c", &words])
        .status();
    assert!(moved.unwrap().success());
    person.gently(&["search", WORD]).exits(0);
    // One without a first page, which no key is needed for: nothing of it comes into the database.
    let mut bytes = fs::read(log.with_extension("db-wal.torn")).unwrap();
    let begins = |page: &[u8]| page.starts_with(b"SQLite format 3");
    for frame in bytes[32..].chunks_mut(24 + 4096) {
        if begins(&frame[24..]) {
            frame[24..].fill(b'a');
        }
    }
    let before = fs::read(person.at("gently.db")).unwrap();
    fs::write(&log, &bytes).unwrap();
    for door in DOORS {
        refused(&person.gently(door), "the log of writes beside it is not");
    }
    let status = person.gently(&["store", "status"]).exits(1);
    assert!(status.out.contains(&words), "{status:?}");
    assert!(
        fs::read(person.at("gently.db")).unwrap() == before,
        "it changed"
    );
    fs::remove_file(&log).unwrap();
    person.gently(&["audit", "verify"]).exits(0);
}

#[test]
fn a_wrong_passphrase_is_said_after_one_question() {
    let (mut person, _server) = under_a_passphrase();
    person.unset("GENTLY_PASSPHRASE");
    for door in [&["ask", "hello"][..], &["search", WORD], &["doctor"]] {
        let mut typist = Typist::begin(&person, (24, 200), door);
        typist.sees("passphrase of");
        typist.types("wrong horse\r");
        let ran = typist.ends();
        assert_ne!(ran.code, 0, "{ran:?}");
        let seen = format!("{}{}", ran.out, ran.err);
        assert_eq!(
            seen.matches("passphrase of ").count(),
            1,
            "{door:?} {ran:?}"
        );
        assert!(seen.contains("wrong passphrase for"), "{door:?} {ran:?}");
    }
}

/// Of the places that a key is from the first is taken; a later one that would fit is named.
#[test]
fn a_command_that_fails_names_the_key_file_that_is_not_read() {
    let (person, _server) = under_a_passphrase();
    let set = ["config", "set", "store.key_cmd", "exit 3"];
    let said = person.gently(&set).exits(0).err;
    assert!(said.contains("or go back to keys/store.key"), "{said}");
    let back = "gently config unset store.key_cmd";
    refused(&person.gently(&["search", WORD]), back);
    let other = ["config", "set", "store.key_cmd", &format!("echo {OTHER}")];
    person.gently(&other).exits(0);
    refused(&person.gently(&["search", WORD]), back);
    let unset = ["config", "unset", "store.key_cmd"];
    person.gently(&unset).exits(0);
    person.gently(&["search", WORD]).exits(0);
}

/// A command that gives the right key is set whatever the key file holds, and nobody is asked for its passphrase.
#[test]
fn a_command_that_opens_the_database_is_set_beside_a_key_file_of_another_key() {
    let (mut person, _server) = sealed();
    person.unset("GENTLY_STORE_KEY");
    person.set("GENTLY_TEST_WORK_FACTOR", "4");
    let other = gently::keys::StoreKey::from_text(OTHER, "t").unwrap();
    let file = person.at("keys/store.key");
    let work = gently::keys::WorkFactor::new(4);
    other.save_new(&file, "another", work).unwrap();
    let command = format!("echo {KEY}");
    let mut typist = Typist::begin(&person, (24, 80), &["store", "status"]);
    typist.sees("not tried");
    typist.ends();
    let set = ["config", "set", "store.key_cmd", &command];
    let slip = ["config", "set", "store.key_cmd", "echo slip"];
    let mut typist = Typist::begin(&person, (24, 200), &slip);
    typist.sees("passphrase of");
    typist.types("another\r");
    let ran = typist.ends();
    assert_eq!(ran.code, 2, "{ran:?}");
    assert_eq!(ran.out.matches("passphrase of").count(), 1, "{ran:?}");
    let words = "nothing was set: this command does not open the database (";
    assert!(ran.out.contains(words), "{ran:?}");
    let typist = Typist::begin(&person, (24, 200), &set);
    let ran = typist.ends();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!ran.out.contains("passphrase of"), "{ran:?}");
    person.gently(&["search", WORD]).exits(0);
    let unset = ["config", "unset", "store.key_cmd"];
    person.gently(&unset).exits(0);
    // What is wrong is said with what mends it, and not with where to look.
    person.set("GENTLY_PASSPHRASE", "another");
    let said = person.gently(&["search", WORD]).exits(2).err;
    assert!(
        said.contains("gently config set store.key_cmd 'COMMAND'")
            && !said.contains("store status"),
        "{said}"
    );
}

/// A command to copy is on a line by itself.
#[test]
fn a_lost_key_is_said_in_lines_with_the_commands_on_their_own() {
    let (mut person, _server) = under_a_passphrase();
    person.unset("GENTLY_PASSPHRASE");
    let key = person.at("keys/store.key");
    fs::rename(&key, key.with_extension("key.old")).unwrap();
    let shown = Typist::begin(&person, (24, 80), &["search", WORD])
        .ends()
        .out;
    let line = |begins: &str| {
        shown
            .lines()
            .find(|line| line.starts_with(begins))
            .map(str::to_owned)
    };
    let moved = line("  mv -n ").unwrap_or_default();
    assert!(moved.trim_end().ends_with("keys/store.key"), "{shown}");
    let doctor = person.gently(&["doctor"]).exits(1).out;
    assert!(
        !doctor.contains("\\n") && doctor.contains(" mv -n "),
        "{doctor}"
    );
    assert!(
        line("  gently audit verify --repo ledger.git").is_some(),
        "{shown}"
    );
}

#[test]
fn a_new_key_is_only_printed() {
    let (mut person, _server) = under_a_passphrase();
    person.unset("GENTLY_PASSPHRASE");
    let typist = Typist::begin(&person, (24, 200), &["store", "encrypt", "--new-key"]);
    let ran = typist.ends();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!ran.out.contains("passphrase of"), "{ran:?}");
}

/// Nothing is drawn over the question for the passphrase while it waits for its answer.
#[test]
fn a_check_asks_for_the_key_before_its_bar_and_once() {
    let (mut person, _server) = under_a_passphrase();
    person.unset("GENTLY_PASSPHRASE");
    person.set("TERM", "xterm");
    let mut typist = Typist::begin(&person, (24, 200), &["audit", "verify"]);
    typist.sees("passphrase of");
    typist.sees(":");
    let shown = typist.raw();
    // Longer than a check takes before its bar is shown.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert_eq!(typist.raw(), shown);
    typist.types("correct horse\r");
    let ran = typist.ends();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.out.matches("passphrase of ").count(), 1, "{ran:?}");
}

#[test]
fn what_opens_the_home_is_not_handed_on_to_the_programs_that_are_started() {
    let (mut person, _server) = sealed();
    person.set("TERM", "xterm");
    person.set("GENTLY_PASSPHRASE", "correct horse");
    let seen = person.dir.path().join("seen");
    let auth_key = fs::read_to_string(person.at("keys/auth.key")).unwrap();
    let auth_key = auth_key.trim().to_owned();
    person.set("GENTLY_AUTH_KEY", &auth_key);
    let shown = |names: &str| {
        let text = fs::read_to_string(&seen).unwrap();
        assert!(text.contains("PATH="), "{names}: {text}");
        assert!(!text.contains("correct horse"), "{names}: {text}");
        assert!(!text.contains(KEY), "{names}: {text}");
        assert!(!text.contains(&auth_key), "{names}: {text}");
        fs::remove_file(&seen).unwrap();
    };
    person.set("PAGER", &format!("env >{}; cat", seen.display()));
    on_terminal(&person, (5, 80), &["show", "last"]).exits(0);
    shown("the pager");
    let command = format!("env >{}; echo correct horse", seen.display());
    person
        .gently(&["--passphrase-cmd", &command, "backup", "b.age"])
        .exits(0);
    shown("a command for a passphrase");
}

#[test]
fn each_refusal_says_what_was_left_as_it_was_and_what_to_do() {
    let (mut person, _server) = sealed();
    person.set("GENTLY_PASSPHRASE", "correct horse");
    person.gently(&["backup", "b.age"]).exits(0);
    person.set("GENTLY_STORE_KEY", OTHER);
    let status = person.gently(&["store", "status"]).exits(1).out;
    assert!(status.contains("is not the one that opens it"), "{status}");
    assert!(!status.contains("gently store status"), "{status}");
    fs::rename(person.home(), person.dir.path().join("away")).unwrap();
    let ran = person.gently(&["restore", "b.age"]);
    refused(&ran, "Nothing is left of what was unpacked");
    assert!(
        ran.err.contains("b.age") && !ran.err.contains(".restore-"),
        "{ran:?}"
    );
    assert!(!person.home().exists());
    person.set("GENTLY_STORE_KEY", "");
    person.set("GENTLY_STORE_ENCRYPTED", "true");
    let ran = person.gently(&["init"]);
    refused(&ran, "Nothing was made");
    assert!(!ran.err.contains("gently.db"), "{ran:?}");
    assert_eq!(fs::read_dir(person.dir.path()).unwrap().count(), 2);
    person.unset("GENTLY_STORE_ENCRYPTED");
    person.gently(&["init"]).exits(0);
    refused(
        &person.gently(&["--key-cmd", "echo x", "store", "encrypt"]),
        "gently config set store.key_cmd 'COMMAND'",
    );
}

#[test]
fn without_room_for_a_second_copy_the_old_file_stays() {
    let (person, _server) = sealed();
    let whole = person.at("gently.db").metadata().unwrap().len();
    let plain = person.command(&["store", "decrypt"]);
    let mut limited = std::process::Command::new("sh");
    // In blocks of 512 bytes, of which the old file has the more.
    let limit = whole / 1024;
    let command = format!("ulimit -f {limit}; exec \"$0\" store decrypt");
    limited.args(["-c", &command]);
    limited.arg(plain.get_program()).env_clear();
    for (name, value) in plain.get_envs() {
        limited.env(name, value.unwrap_or_default());
    }
    let ran = limited.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(2), "{said}");
    for words in [
        "room for a second copy",
        "gently.db.new could not be read or written",
        "The old file stays as it was",
        "gently store decrypt",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!unfinished_file(&person.at("gently.db")).exists());
    assert!(!is_plain(&person.at("gently.db")));
    assert!(said_to_be_encrypted(&person));
    person.gently(&["search", WORD]).exits(0);
}

#[test]
fn who_waits_for_a_conversion_is_told_of_it() {
    let (_dir, path) = made();
    let waited = std::cell::RefCell::new(String::new());
    convert(&path, Some(&key()), &|step| {
        if step == ConvertStep::Written {
            let other = path.clone();
            let fault = std::thread::spawn(move || Store::open(&other).err().unwrap().to_string());
            *waited.borrow_mut() = fault.join().unwrap();
        }
        true
    })
    .unwrap();
    assert!(
        waited.borrow().contains("gently store encrypt or decrypt"),
        "{waited:?}"
    );
}

#[test]
fn killed_at_any_moment_the_old_file_or_the_new_one_is_there() {
    let (person, _server) = sealed();
    let path = person.at("gently.db");
    let first = std::time::Instant::now();
    person.gently(&["store", "decrypt"]).exits(0);
    let whole = first.elapsed();
    person.gently(&["store", "encrypt"]).exits(0);
    // Of each verb, how often it was begun and how often killed while the new file was written.
    let (mut begun, mut amid) = ([0, 0], [0, 0]);
    for at in 0..12_u32 {
        let was_plain = is_plain(&path);
        let verb = if was_plain { "encrypt" } else { "decrypt" };
        let mut child = person
            .command(&["store", verb])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        begun[usize::from(was_plain)] += 1;
        if at < 4 {
            // In its middle, whatever the machine has to do else.
            while !unfinished_file(&path).exists() && child.try_wait().unwrap().is_none() {
                std::thread::yield_now();
            }
            std::thread::sleep(whole * (at / 2) / 40);
        } else {
            // From the start of the program to its end, in no order.
            std::thread::sleep(whole * (at * 5 % 12) / 11);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        amid[usize::from(was_plain)] += u32::from(unfinished_file(&path).exists());
        if is_plain(&path) && said_to_be_encrypted(&person) {
            // It was to become an encrypted one: refused as any plain one, and nothing is lost.
            assert!(was_plain, "a killed decrypt stops the home");
            refused(
                &person.gently(&["search", WORD]),
                "although store.encrypted is true",
            );
            person.gently(&["store", "encrypt"]).exits(0);
        }
        let found = person.gently(&["search", WORD]).exits(0);
        assert!(found.out.contains(WORD), "{found:?}");
        person.gently(&["audit", "verify"]).exits(0);
        person.gently(&["session", "open"]).exits(0);
        assert!(!unfinished_file(&path).exists(), "{at}");
        person.gently(&["session", "close"]).exits(0);
        if !is_plain(&path) && !said_to_be_encrypted(&person) {
            // It was to become a plain one, and the same command goes on.
            assert!(!was_plain);
            person.gently(&["store", "decrypt"]).exits(0);
        }
        assert_eq!(is_plain(&path), !said_to_be_encrypted(&person), "{at}");
        // Both verbs in turn, whichever file it is.
        if is_plain(&path) == was_plain {
            person.gently(&["store", verb]).exits(0);
        }
    }
    assert!(begun.iter().all(|times| *times >= 4), "{begun:?}");
    assert!(
        amid.iter().all(|times| *times >= 1),
        "{amid:?} of {begun:?}"
    );
}

fn said_to_be_encrypted(person: &Person) -> bool {
    person.gently(&["config", "get", "store.encrypted"]).out == "true\n"
}

/// Whether a database opens with the key of the tests, under a code of pages.
fn opens_under(path: &Path, code: &str) -> bool {
    let database = rusqlite::Connection::open(path).unwrap();
    let sql = format!("PRAGMA key = \"x'{KEY}'\"; PRAGMA cipher_hmac_algorithm = {code}");
    database.execute_batch(&sql).unwrap();
    let read = database.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
    read.is_ok()
}

#[test]
fn a_home_that_was_encrypted_under_the_code_of_before_works_as_it_is() {
    let (person, _server) = sealed();
    let (path, before) = (person.at("gently.db"), person.dir.path().join("before.db"));
    assert!(opens_under(&path, "HMAC_SHA256"));
    person.gently(&["store", "decrypt"]).exits(0);
    let database = rusqlite::Connection::open(&before).unwrap();
    let sql = format!(
        "PRAGMA key = \"x'{KEY}'\"; PRAGMA cipher_hmac_algorithm = HMAC_SHA512;
         ATTACH '{}' AS plain KEY ''; SELECT sqlcipher_export('main', 'plain')",
        path.display()
    );
    database.execute_batch(&sql).unwrap();
    for mark in ["user_version", "application_id"] {
        let found: i64 = database
            .query_row(&format!("PRAGMA plain.{mark}"), [], |row| row.get(0))
            .unwrap();
        let sql = format!("PRAGMA main.{mark} = {found}");
        database.execute_batch(&sql).unwrap();
    }
    drop(database);
    for end in ["-wal", "-shm"] {
        let _ = fs::remove_file(person.at(&format!("gently.db{end}")));
    }
    fs::set_permissions(&before, fs::Permissions::from_mode(0o600)).unwrap();
    fs::rename(&before, &path).unwrap();
    assert!(!opens_under(&path, "HMAC_SHA256"));
    person.gently(&["search", WORD]).exits(0);
    person.ask("And what else?");
    person.gently(&["audit", "verify"]).exits(0);
    assert!(opens_under(&path, "HMAC_SHA512"));
    person.gently(&["store", "decrypt"]).exits(0);
    person.gently(&["store", "encrypt"]).exits(0);
    assert!(opens_under(&path, "HMAC_SHA256"));
    person.gently(&["search", WORD]).exits(0);
}

/// The journal of a plain copy of the database, as a kill in the midst of a change leaves it.
fn plain_journal(person: &Person) -> Vec<u8> {
    let (path, twin) = (person.at("gently.db"), person.dir.path().join("twin.db"));
    person.gently(&["store", "decrypt"]).exits(0);
    fs::copy(&path, &twin).unwrap();
    person.gently(&["store", "encrypt"]).exits(0);
    let database = rusqlite::Connection::open(&twin).unwrap();
    let sql =
        "PRAGMA journal_mode = DELETE; BEGIN; CREATE TABLE t (x); UPDATE head SET lines = lines";
    let _ = database.execute_batch(sql);
    synced(fs::read(person.dir.path().join("twin.db-journal")).unwrap())
}

/// A journal with the beginning that it gets when it is synced: its mark, and how many records it has.
fn synced(mut journal: Vec<u8>) -> Vec<u8> {
    let records = u32::try_from((journal.len() - 512) / (4096 + 8)).unwrap();
    assert!(records > 0);
    journal[..8].copy_from_slice(&[0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]);
    journal[8..12].copy_from_slice(&records.to_be_bytes());
    journal
}

#[test]
fn a_plain_journal_beside_an_encrypted_database_is_refused_before_it_is_written_over_it() {
    let (mut person, _server) = sealed();
    let journal = person.at("gently.db-journal");
    let bytes = plain_journal(&person);
    let before = fs::read(person.at("gently.db")).unwrap();
    fs::write(&journal, &bytes).unwrap();
    let words = format!("mv -n {0} {0}.torn", journal.display());
    for door in DOORS {
        let ran = person.gently(door);
        refused(&ran, "no journal of this database");
        assert!(
            format!("{}{}", ran.err, ran.out).contains(&words),
            "{ran:?}"
        );
    }
    let status = person.gently(&["store", "status"]).exits(1);
    assert!(status.out.contains(&words), "{status:?}");
    let (found, check) = encryption_check(&person);
    assert!(
        found == "FAIL" && check.contains("gently.db-journal is no journal of this database"),
        "{check}"
    );
    assert!(
        fs::read(person.at("gently.db")).unwrap() == before,
        "it changed"
    );
    assert!(fs::read(&journal).unwrap() == bytes, "it changed");
    let moved = std::process::Command::new("sh")
        .args(["-c", &words])
        .status();
    assert!(moved.unwrap().success());
    person.gently(&["search", WORD]).exits(0);
    // Nobody has to be asked for a passphrase to see it.
    person.gently(&["store", "decrypt"]).exits(0);
    person.unset("GENTLY_STORE_KEY");
    person.set("GENTLY_TEST_WORK_FACTOR", "4");
    person.set("GENTLY_PASSPHRASE", "correct horse");
    person.gently(&["store", "encrypt"]).exits(0);
    person.unset("GENTLY_PASSPHRASE");
    fs::write(&journal, &bytes).unwrap();
    let status = person.gently(&["store", "status"]).exits(1);
    assert!(status.out.contains(&words), "{status:?}");
}

#[test]
fn an_encrypted_journal_is_never_played_back() {
    let (person, _server) = sealed();
    let (path, journal) = (person.at("gently.db"), person.at("gently.db-journal"));
    let database = rusqlite::Connection::open(&path).unwrap();
    let sql = format!(
        "PRAGMA key = \"x'{KEY}'\"; PRAGMA cipher_hmac_algorithm = HMAC_SHA256; PRAGMA journal_mode = DELETE;
         BEGIN IMMEDIATE; PRAGMA user_version = 7"
    );
    database.execute_batch(&sql).unwrap();
    let own = synced(fs::read(&journal).unwrap());
    assert_eq!(own.len(), 512 + 8 + 4096);
    database
        .execute_batch("ROLLBACK; PRAGMA journal_mode = WAL")
        .unwrap();
    drop(database);
    // With the salt of the file, and nothing behind it that anybody could have made.
    let mut crafted = own.clone();
    crafted[512 + 4 + 16..512 + 4 + 4096].fill(7);
    let before = fs::read(&path).unwrap();
    for bytes in [own, crafted] {
        fs::write(&journal, &bytes).unwrap();
        for door in DOORS {
            let ran = person.gently(door);
            refused(&ran, "no journal of this database");
        }
        assert!(fs::read(&path).unwrap() == before, "it changed");
        assert!(fs::read(&journal).unwrap() == bytes, "it changed");
    }
    fs::remove_file(&journal).unwrap();
    // What lies there and is none is called what it is, and the command puts it away.
    fs::create_dir(&journal).unwrap();
    let ran = person.gently(&["search", WORD]);
    refused(&ran, "gently.db-journal is a folder");
    let away = format!("mv -n {0} {0}.torn", journal.display());
    assert!(ran.err.contains(&away), "{ran:?}");
    let moved = std::process::Command::new("sh")
        .args(["-c", &away])
        .status();
    assert!(moved.unwrap().success());
    person.gently(&["audit", "verify"]).exits(0);
}

#[test]
fn a_database_with_a_second_name_is_not_converted() {
    let (person, _server) = sealed();
    let path = person.at("gently.db");
    let (linked, named) = (
        person.dir.path().join("kept.db"),
        person.dir.path().join("copy.db"),
    );
    let modes = |person: &Person| {
        let doctor = person.gently(&["doctor", "-v"]).out;
        let line = doctor.lines().find(|line| line.contains("modes"));
        line.unwrap_or_else(|| panic!("{doctor}")).to_owned()
    };
    for verb in ["decrypt", "encrypt"] {
        fs::hard_link(&path, &named).unwrap();
        let ran = person.gently(&["store", verb]);
        refused(&ran, "has 2 names (hard links)");
        assert!(ran.err.contains(&format!("gently store {verb}")), "{ran:?}");
        fs::remove_file(&named).unwrap();
        fs::rename(&path, &linked).unwrap();
        std::os::unix::fs::symlink(&linked, &path).unwrap();
        let ran = person.gently(&["store", verb]);
        let back = format!("mv {} {}", linked.display(), path.display());
        refused(&ran, &format!("is a symlink to {}", linked.display()));
        assert!(ran.err.contains(&back), "{ran:?}");
        assert!(path.is_symlink());
        assert!(
            modes(&person).contains("only the owner"),
            "{}",
            modes(&person)
        );
        fs::set_permissions(&linked, fs::Permissions::from_mode(0o644)).unwrap();
        let said = modes(&person);
        assert!(
            said.contains("is a symlink to what has mode 0644"),
            "{said}"
        );
        fs::set_permissions(&linked, fs::Permissions::from_mode(0o600)).unwrap();
        let moved = std::process::Command::new("sh")
            .args(["-c", &back])
            .status();
        assert!(moved.unwrap().success());
        person.gently(&["store", verb]).exits(0);
    }
    fs::create_dir(person.at("keys/store.key")).unwrap();
    let said = modes(&person);
    assert!(
        said.contains("store.key is a folder") && !said.contains("chmod"),
        "{said}"
    );
}

/// Runs two commands of `gently store` at once; their exit codes.
fn at_once(person: &Person, verbs: [&str; 2]) -> Vec<i32> {
    let begin = |verb| {
        let mut command = person.command(&["store", verb]);
        command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let children = verbs.map(begin);
    let ends = |mut child: std::process::Child| child.wait().unwrap().code().unwrap();
    children.into_iter().map(ends).collect()
}

#[test]
fn conversions_at_once_agree_and_nobody_is_locked_out() {
    let (person, _server) = sealed();
    let path = person.at("gently.db");
    for _ in 0..3 {
        at_once(&person, ["decrypt", "encrypt"]);
        assert_eq!(is_plain(&path), !said_to_be_encrypted(&person));
        person.gently(&["store", "decrypt"]).exits(0);
        assert_eq!(at_once(&person, ["encrypt", "encrypt"]), [0, 0]);
        assert!(!is_plain(&path) && said_to_be_encrypted(&person));
        person.gently(&["search", WORD]).exits(0);
    }
    // Both make the key file, and one of them is the first.
    let (person_of_two, _server) = under_a_passphrase();
    let (key_file, path_of_two) = (
        person_of_two.at("keys/store.key"),
        person_of_two.at("gently.db"),
    );
    for _ in 0..3 {
        person_of_two.gently(&["store", "decrypt"]).exits(0);
        fs::remove_file(&key_file).unwrap();
        let mut codes = at_once(&person_of_two, ["encrypt", "encrypt"]);
        codes.sort_unstable();
        assert!(
            [[0, 0], [0, 2]].contains(&[codes[0], codes[1]]),
            "{codes:?}"
        );
        assert!(!is_plain(&path_of_two) && said_to_be_encrypted(&person_of_two));
        person_of_two.gently(&["search", WORD]).exits(0);
    }
    // One that has looked at the file waits for the other, which makes it something else.
    let lock = gently::recorder::WriterLock::acquire_within(
        &person.at("writer.lock"),
        gently::recorder::WAIT,
    )
    .unwrap();
    let mut waits = person.command(&["store", "encrypt"]);
    let waits = waits.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut waits = waits.unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    decrypt_killed_after(&person, ConvertStep::Renamed);
    let file = person.at("gently.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("encrypted = true", "encrypted = false")).unwrap();
    drop(lock);
    waits.wait().unwrap();
    assert_eq!(is_plain(&path), !said_to_be_encrypted(&person));
    person.gently(&["search", WORD]).exits(0);
}

#[test]
fn what_has_the_name_of_an_unfinished_copy_is_called_what_it_is() {
    let (person, _server) = sealed();
    let copy = person.at("gently.db.new");
    let status = |code: i32| person.gently(&["store", "status"]).exits(code).out;
    fs::create_dir(&copy).unwrap();
    assert!(status(0).contains("gently.db.new is a folder, which no conversion left"));
    let (found, check) = encryption_check(&person);
    assert!(found == "warn" && check.contains("is a folder"), "{check}");
    person.ask("And then?");
    refused(
        &person.gently(&["store", "decrypt"]),
        "gently.db.new is a folder",
    );
    assert!(copy.is_dir());
    fs::remove_dir(&copy).unwrap();
    let target = person.dir.path().join("target");
    fs::write(&target, "a text").unwrap();
    std::os::unix::fs::symlink(&target, &copy).unwrap();
    assert!(status(0).contains("gently.db.new is a symlink"));
    person.ask("And then?");
    assert!(!copy.is_symlink());
    assert_eq!(fs::read_to_string(&target).unwrap(), "a text");
    for end in ["-wal", "-journal"] {
        let rest = person.at(&format!("gently.db.new{end}"));
        fs::write(&rest, "a text").unwrap();
        assert!(status(1).contains(&format!("gently.db.new{end} is not encrypted")));
        let (found, check) = encryption_check(&person);
        assert!(
            found == "FAIL" && check.contains(&format!("gently.db.new{end}")),
            "{check}"
        );
        person.ask("And then?");
        assert!(!rest.exists());
    }
}

#[test]
fn a_command_that_takes_long_is_said_to_be_waited_for_once() {
    let (mut person, _server) = sealed();
    person.unset("GENTLY_STORE_KEY");
    let words = "the command of $GENTLY_STORE_KEY_CMD has not ended after 3 s";
    person.set("GENTLY_STORE_KEY_CMD", &format!("sleep 4; echo {KEY}"));
    let slow = person.gently(&["search", WORD]).exits(0);
    assert_eq!(slow.err.matches(words).count(), 1, "{slow:?}");
    person.set("GENTLY_STORE_KEY_CMD", &format!("echo {KEY}"));
    let fast = person.gently(&["search", WORD]).exits(0);
    assert!(!fast.err.contains(words), "{fast:?}");
}

#[test]
fn who_waits_for_a_conversion_that_is_killed_behind_its_rename_writes_to_the_new_file() {
    let (person, _server) = sealed();
    let path = person.at("gently.db");
    for to in [None, Some(own_key())] {
        remember_key(&path, to.is_none().then(own_key));
        let waiting = std::cell::RefCell::new(None);
        let killed = convert(&path, to.as_ref(), &|step| {
            if step == ConvertStep::Synced {
                // It opens the old file, and waits for its lock.
                let mut note = person.command(&["note", "add", "behind the rename"]);
                let note = note.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
                *waiting.borrow_mut() = Some(note.unwrap());
                std::thread::sleep(std::time::Duration::from_millis(1500));
                let file = person.at("gently.toml");
                let text = fs::read_to_string(&file).unwrap();
                let (from, into) = (to.is_none(), to.is_some());
                let said = |it: bool| format!("encrypted = {it}");
                fs::write(&file, text.replace(&said(from), &said(into))).unwrap();
            }
            step != ConvertStep::Renamed
        });
        assert!(matches!(killed, Err(StoreError::Stopped)), "{killed:?}");
        forget_key(&path);
        let ended = waiting.take().unwrap().wait().unwrap();
        assert!(ended.success(), "{ended}");
        let notes = person.gently(&["note", "list"]).exits(0);
        assert!(notes.out.contains("behind the rename"), "{notes:?}");
        person.gently(&["audit", "verify"]).exits(0);
    }
}

#[test]
fn a_pipe_in_the_place_of_a_database_is_not_waited_for() {
    let (person, _server) = sealed();
    for name in ["gently.db", "gently.db-wal"] {
        let file = person.at(name);
        let _ = fs::remove_file(&file);
        let made = std::process::Command::new("mkfifo").arg(&file).status();
        assert!(made.unwrap().success());
        for words in [&["store", "status"][..], &["store", "encrypt"], &["doctor"]] {
            assert_ne!(person.gently(words).code, 0, "{name} {words:?}");
        }
        fs::remove_file(&file).unwrap();
        fs::write(&file, [7; 8192]).unwrap();
    }
}

#[test]
fn what_killed_backups_and_restores_left_is_named_and_taken_away() {
    let (person, _server) = sealed();
    let plain = [b"SQLite format 3\0".as_slice(), WORD.as_bytes(), &[0; 1000]].concat();
    let folder = person.at("backup-copy-2147483647");
    let unpacked = person.dir.path().join("home.restore-2147483647");
    for folder in [&folder, &unpacked] {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join("gently.db"), &plain).unwrap();
    }
    let old = person.at("backup-2147483647.db");
    fs::write(&old, [7; 1000]).unwrap();
    let status = person.gently(&["store", "status"]).exits(1).out;
    for said in [
        format!(
            "{} has texts in it that are not encrypted",
            folder.display()
        ),
        format!("{} is left over, and encrypted", old.display()),
        format!("rm -r {}", unpacked.display()),
    ] {
        assert!(status.contains(&said), "{said}: {status}");
    }
    let status = person.gently(&["store", "status", "--json"]).exits(1);
    let status = status.json();
    let copies = status["copies"].as_array().unwrap();
    let told = |path: &Path| {
        let path = path.display().to_string();
        let found = copies.iter().find(|copy| copy["path"] == path.as_str());
        let found = found.unwrap_or_else(|| panic!("{path}: {status}"));
        (found["of"].clone(), found["encrypted"].clone())
    };
    assert_eq!(told(&folder), ("backup".into(), false.into()));
    assert_eq!(told(&old), ("backup".into(), true.into()));
    assert_eq!(told(&unpacked), ("restore".into(), false.into()));
    let doctor = person.gently(&["doctor"]).exits(1).out;
    let words = format!("rm -r {} && gently session open", unpacked.display());
    assert!(doctor.replace("\n", " ").contains("copies"), "{doctor}");
    assert!(doctor.contains(&words), "{doctor}");
    person.ask("And then?");
    assert!(!folder.exists() && !old.exists());
    fs::remove_dir_all(&unpacked).unwrap();
    person.gently(&["store", "status"]).exits(0);
    assert_eq!(
        holders(person.home(), WORD.as_bytes()),
        Vec::<PathBuf>::new()
    );
    // Where nothing else is to be done, the same command takes them away.
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("gently.db"), &plain).unwrap();
    let tidied = person.gently(&["store", "encrypt", "--json"]).exits(0);
    assert_eq!(tidied.json()["unfinished_removed"], true, "{tidied:?}");
    assert!(!folder.exists());
}

#[test]
fn a_key_file_that_was_cut_to_nothing_stops_nobody() {
    let (person, _server) = under_a_passphrase();
    let file = person.at("keys/store.key");
    let kept = fs::read(&file).unwrap();
    fs::write(&file, "").unwrap();
    let status = person.gently(&["store", "status"]).exits(1).out;
    assert!(
        status.contains("store.key can't be decrypted: it is empty (0 bytes)"),
        "{status}"
    );
    refused(&person.gently(&["search", WORD]), "it is empty (0 bytes)");
    fs::write(&file, kept).unwrap();
    person.gently(&["store", "decrypt"]).exits(0);
    fs::write(&file, "").unwrap();
    let status = person.gently(&["store", "status"]).exits(0).out;
    assert!(!status.contains("store.key"), "{status}");
    let made = person.gently(&["store", "encrypt", "--json"]).exits(0);
    assert_eq!(made.json()["key_made"], true, "{made:?}");
    person.gently(&["search", WORD]).exits(0);
}

#[test]
fn a_key_file_that_was_put_away_is_named_and_is_in_no_backup() {
    let (person, _server) = under_a_passphrase();
    let (file, away) = (person.at("keys/store.key"), person.at("keys/store.key.old"));
    fs::copy(&file, &away).unwrap();
    person.gently(&["backup", "b.age"]).exits(0);
    let backup = fs::read(person.dir.path().join("b.age")).unwrap();
    let opened = gently::keys::sealed::opening(&backup[..], "correct horse", "b.age").unwrap();
    let mut archive = tar::Archive::new(opened);
    for entry in archive.entries().unwrap() {
        let path = entry.unwrap().path().unwrap().into_owned();
        assert!(!path.starts_with("keys/store.key.old"), "{path:?}");
    }
    fs::remove_file(&file).unwrap();
    fs::write(person.at("keys/store.key.txt"), "a note").unwrap();
    let ran = person.gently(&["search", WORD]);
    let back = format!("mv -n {} {}", away.display(), file.display());
    refused(&ran, &back);
    let moved = std::process::Command::new("sh")
        .args(["-c", &back])
        .status();
    assert!(moved.unwrap().success());
    person.gently(&["search", WORD]).exits(0);
}

#[test]
fn who_comes_between_the_setting_and_the_renaming_is_told_so() {
    let (person, _server) = sealed();
    person.gently(&["store", "decrypt"]).exits(0);
    let path = person.at("gently.db");
    remember_key(&path, None);
    let killed = convert(&path, Some(&own_key()), &|step| step != ConvertStep::Synced);
    assert!(matches!(killed, Err(StoreError::Stopped)), "{killed:?}");
    forget_key(&path);
    let file = person.at("gently.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("encrypted = false", "encrypted = true")).unwrap();
    let ran = person.gently(&["search", WORD]);
    refused(&ran, "gently store encrypt is at work, or was interrupted");
    assert!(!ran.err.contains("another file"), "{ran:?}");
    let status = person.gently(&["store", "status"]).exits(1).out;
    assert!(
        status.contains("Give it again: gently store encrypt"),
        "{status}"
    );
    assert!(!status.contains("records something"), "{status}");
    let (found, check) = encryption_check(&person);
    assert!(
        found == "FAIL" && check.contains("although store.encrypted is true"),
        "{check}"
    );
    person.gently(&["store", "encrypt"]).exits(0);
    person.gently(&["search", WORD]).exits(0);
}

#[test]
fn an_emptied_database_is_called_that_and_nothing_is_written() {
    let (person, _server) = sealed();
    let path = person.at("gently.db");
    let _ = fs::remove_file(person.at("gently.db-wal"));
    fs::write(&path, "").unwrap();
    let status = person.gently(&["store", "status"]).exits(1).out;
    assert!(status.contains("is empty (0 bytes)"), "{status}");
    for door in DOORS {
        refused(&person.gently(door), "is empty (0 bytes)");
    }
    assert_ne!(person.gently(&["doctor"]).code, 0);
    assert_eq!(path.metadata().unwrap().len(), 0);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let ran = person.gently(&["store", "encrypt"]);
    refused(&ran, "is a folder");
    assert!(!ran.err.contains("names"), "{ran:?}");
}

#[test]
fn a_log_of_another_encrypted_database_is_not_called_a_wrong_key() {
    let (person, _server) = sealed();
    let (mut other, _server) = sealed();
    other.gently(&["store", "decrypt"]).exits(0);
    other.set("GENTLY_STORE_KEY", OTHER);
    other.gently(&["store", "encrypt"]).exits(0);
    let log = person.at("gently.db-wal");
    let before = fs::read(person.at("gently.db")).unwrap();
    let away = format!("mv -n {0} {0}.torn", log.display());
    // The first page stands in a log where the file grows, and elsewhere not: then the key opens it.
    for words in [&["note", "add", "a note"][..], &["ask", "And then?"]] {
        other.gently(words).exits(0);
        fs::copy(other.at("gently.db-wal"), &log).unwrap();
        let _ = fs::remove_file(person.at("gently.db-shm"));
        let ran = person.gently(&["search", WORD]);
        refused(&ran, "but not the log of writes beside it");
        assert!(ran.err.contains(&away), "{ran:?}");
        let status = person.gently(&["store", "status"]).exits(1).out;
        assert!(status.contains(&away), "{status}");
        let doctor = person.gently(&["doctor"]).exits(1).out;
        assert!(doctor.contains("-> gently store status"), "{doctor}");
        assert!(
            fs::read(person.at("gently.db")).unwrap() == before,
            "it changed"
        );
        let moved = std::process::Command::new("sh")
            .args(["-c", &away])
            .status();
        assert!(moved.unwrap().success());
        person.gently(&["search", WORD]).exits(0);
        fs::remove_file(log.with_extension("db-wal.torn")).unwrap();
    }
}

/// A backup of which one page of the database is changed, which is as its owner wrote it.
fn with_a_changed_page(backup: &Path) {
    let bytes = fs::read(backup).unwrap();
    let opened = gently::keys::sealed::opening(&bytes[..], "correct horse", "b.age").unwrap();
    let work = gently::keys::WorkFactor::new(4);
    let sealing = gently::keys::sealed::sealing(Vec::new(), "correct horse", work).unwrap();
    let mut changed = tar::Builder::new(sealing);
    for entry in tar::Archive::new(opened).entries().unwrap() {
        let mut entry = entry.unwrap();
        let (mut header, path) = (entry.header().clone(), entry.path().unwrap().into_owned());
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut bytes).unwrap();
        if path == Path::new("gently.db") {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
        }
        changed.append_data(&mut header, path, &bytes[..]).unwrap();
    }
    let sealed = changed.into_inner().unwrap().finish().unwrap();
    fs::write(backup, sealed).unwrap();
}

#[test]
fn a_damaged_page_in_a_backup_is_told_of_with_what_to_do() {
    let (mut person, _server) = sealed();
    person.set("GENTLY_TEST_WORK_FACTOR", "4");
    person.set("GENTLY_PASSPHRASE", "correct horse");
    person.gently(&["backup", "b.age"]).exits(0);
    with_a_changed_page(&person.dir.path().join("b.age"));
    fs::rename(person.home(), person.dir.path().join("lost")).unwrap();
    let back = person.gently(&["restore", "b.age"]).exits(1);
    for said in [
        "restored ",
        "damaged",
        "GENTLY_HOME=DIR gently restore FILE",
    ] {
        assert!(back.err.contains(said), "{said}: {back:?}");
    }
    assert!(!back.err.contains("up to then is here"), "{back:?}");
    assert!(person.at("restored.toml").exists());
    fs::rename(person.home(), person.dir.path().join("damaged")).unwrap();
    let back = person
        .gently(&["--json", "restore", "b.age"])
        .exits(1)
        .json();
    assert_ne!(back["database"], "ok", "{back}");
}

#[test]
fn readers_outlive_two_conversions_in_a_row() {
    let (person, _server) = sealed();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut found = 0;
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    let ran = person.gently(&["search", WORD]);
                    found += u32::from(ran.code == 0);
                    // The moment between the setting and the renaming is told of, and nothing else.
                    let is_told = ran.err.contains("gently store encrypt");
                    assert!(ran.code == 0 || ran.code == 2 && is_told, "{ran:?}");
                }
                assert!(found > 0);
            });
        }
        // A reader that holds the old file, and no lock of SQLite's, is in nobody's way.
        let held = fs::File::open(person.at("gently.db")).unwrap();
        for _ in 0..3 {
            for verb in ["decrypt", "encrypt"] {
                let mut code = 2;
                // Somebody who reads just now is waited for a second, and may be in the way for longer.
                for _ in 0..20 {
                    code = person.gently(&["store", verb]).code;
                    if code == 0 {
                        break;
                    }
                }
                assert_eq!(code, 0, "{verb}");
            }
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        drop(held);
    });
    person.gently(&["audit", "verify"]).exits(0);
    let found = person.gently(&["search", WORD]).exits(0);
    assert!(found.out.contains(WORD), "{found:?}");
}

/// Runs the program as somebody whom modes keep out, whoever runs the tests.
fn kept_out(person: &Person, words: &[&str]) -> Ran {
    use std::os::unix::fs::MetadataExt as _;
    let plain = person.command(words);
    let mut command = std::process::Command::new("setpriv");
    if person.dir.path().metadata().unwrap().uid() == 0 {
        command.args(["--bounding-set=-all", "--inh-caps=-all"]);
    }
    command.arg(plain.get_program()).args(words).env_clear();
    for (name, value) in plain.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    let ran = command.stdin(Stdio::null()).output().unwrap();
    Ran {
        code: ran.status.code().unwrap(),
        out: String::from_utf8(ran.stdout).unwrap(),
        err: String::from_utf8(ran.stderr).unwrap(),
    }
}

#[test]
fn what_a_mode_forbids_is_not_called_plain_and_no_full_disk() {
    let (person, _server) = sealed();
    let path = person.at("gently.db");
    let mode = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(&path, 0);
    for words in [
        &["store", "status"][..],
        &["store", "encrypt"],
        &["search", WORD],
    ] {
        let ran = kept_out(&person, words);
        refused(&ran, "it may not be read by you; mend its mode");
        assert!(!ran.out.contains("is not encrypted"), "{ran:?}");
    }
    let doctor = kept_out(&person, &["doctor"]).exits(1).out;
    assert!(
        doctor.contains(&format!("-> ls -l {}", path.display())),
        "{doctor}"
    );
    mode(&path, 0o600);
    for (place, forbidden, allowed) in [(&path, 0o400, 0o600), (&person.home(), 0o500, 0o700)] {
        mode(place, forbidden);
        let ran = kept_out(&person, &["store", "decrypt"]);
        mode(place, allowed);
        refused(&ran, &format!("{} can't be written", place.display()));
        assert!(!ran.err.contains("full"), "{ran:?}");
    }
    person.gently(&["store", "decrypt"]).exits(0);
}

#[test]
fn the_setting_is_not_set_by_hand_to_what_the_database_is_not() {
    let (mut person, _server) = sealed();
    let set =
        |person: &Person, value: &str| person.gently(&["config", "set", "store.encrypted", value]);
    refused(&set(&person, "false"), "gently store decrypt");
    refused(
        &person.gently(&["config", "unset", "store.encrypted"]),
        "gently store decrypt",
    );
    set(&person, "true").exits(0);
    person.gently(&["store", "decrypt"]).exits(0);
    refused(&set(&person, "true"), "gently store encrypt");
    set(&person, "false").exits(0);
    person.unset("GENTLY_STORE_KEY");
    person.gently(&["search", WORD]).exits(0);
}

#[test]
fn a_wrong_passphrase_says_where_it_is_from_and_what_to_do() {
    let (mut person, _server) = sealed();
    person.gently(&["store", "decrypt"]).exits(0);
    person.unset("GENTLY_STORE_KEY");
    person.set("GENTLY_TEST_WORK_FACTOR", "4");
    person.set("GENTLY_PASSPHRASE", "correct horse");
    person.gently(&["store", "encrypt"]).exits(0);
    person.set("GENTLY_PASSPHRASE", "another");
    let told = person.gently(&["search", WORD]).exits(2);
    let words = told.err.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "wrong passphrase for",
        "from $GENTLY_PASSPHRASE",
        "again with the right one",
        "only a copy of the key",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    assert!(!words.contains("gently store status"), "{words}");
}

/// A signal that comes while OpenSSL is at work ends the process, and nothing crashes at its end.
#[test]
fn a_conversion_that_is_interrupted_ends_without_a_crash_and_says_so() {
    use std::io::Read as _;
    let (person, _server) = sealed();
    let large = person.dir.path().join("large.jsonl");
    let text = "wombat ".repeat(2_000);
    let lines = (0..600)
        .map(|n| format!("{{\"conversation\":\"c{n}\",\"role\":\"user\",\"text\":\"{text}\"}}\n"));
    fs::write(&large, lines.collect::<String>()).unwrap();
    let large = large.display().to_string();
    person.gently(&["import", "jsonl", &large]).exits(0);
    let mut ended = 0;
    for wait in [5, 15, 30, 50, 70, 90, 110, 130] {
        let mut command = person.command(&["store", "decrypt"]);
        command
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let new = person.at("gently.db.new");
        while !new.exists() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        std::thread::sleep(std::time::Duration::from_millis(wait));
        let _ = rustix::process::kill_process(
            rustix::process::Pid::from_child(&child),
            rustix::process::Signal::INT,
        );
        let code = child.wait().unwrap().code();
        let mut words = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut words)
            .unwrap();
        match code {
            Some(0) => drop(person.gently(&["store", "encrypt"]).exits(0)),
            code => {
                assert_eq!(code, Some(130), "{words}");
                let is = match is_plain(&person.at("gently.db")) {
                    true => "interrupted: the database is whole, and not encrypted",
                    false => "interrupted: the database is whole, and encrypted",
                };
                assert!(words.contains(is), "{words}");
                assert!(!new.exists());
                ended += 1;
            }
        }
    }
    assert!(ended > 0);
    person.gently(&["search", "wombat"]).exits(0);
}
