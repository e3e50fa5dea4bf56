//! Encryption at rest, with the real program: nothing readable on the disk, every door wants the
//! key, and a conversion that is killed anywhere leaves the old file or the new one.

#![cfg(feature = "sealed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use gently::home::{Home, InitOptions};
use gently::store::{
    CipherKey, ConvertStep, FoundKey, Store, StoreError, convert, forget_key, remember_key,
    remove_unfinished, unfinished_file,
};

use crate::erase::holders;
use crate::model_server::{Behaviour, ModelServer};
use crate::person::{Person, Ran};
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
        "a backup does not hold its key. Nothing was unpacked",
    );
    assert!(!person.home().exists());
    person.set("GENTLY_STORE_KEY", OTHER);
    refused(
        &person.gently(&["restore", "b.age"]),
        "is not the one that opens it",
    );
    assert!(!person.home().exists());
    let key = gently::keys::StoreKey::load(&private(&kept), &mut |_| {
        Ok("correct horse".to_owned().into())
    });
    person.set("GENTLY_STORE_KEY", &key.unwrap().text());
    let back = person.gently(&["restore", "b.age"]).exits(0);
    assert!(
        back.err
            .contains("put your copy of store.key into its keys/"),
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

/// The same file in a folder that nobody else reads, where key files are.
fn private(file: &Path) -> PathBuf {
    let folder = file.with_file_name("private");
    gently::keys::create_dir(&folder).unwrap();
    let to = folder.join("store.key");
    fs::copy(file, &to).unwrap();
    to
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
