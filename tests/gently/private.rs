//! What must not be found in public: words of prompts and replies, keys, secrets.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::model_server::{Behaviour, ModelServer};
use crate::person::Person;

const PROMPT: &str =
    "Does the marmalade harpsichord in Ulverstone need a quindecennial licence, Wilhelmina?";
const REPLY: &str =
    "No harpsichord does; a periwinkle dirigible would, and each xylophone in Kirkcudbright.";
/// The key of the model's server.
const API_KEY: &str = "sk-proj-Q7fX2mZ9LwT4bN8vC1kR5yH3";
/// Secrets that a person typed.
const TYPED: &str = "ghp_Zk3vN8qLwXt5RbY2mJc7Hd4FsPa9GeUoT1iK";

/// Every file of a folder with its bytes.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push((path.clone(), std::fs::read(&path).unwrap()));
        }
    }
    found
}

/// Log and ledger as anybody reads them: every object unpacked, every ref, every file name.
fn public(person: &Person) -> Vec<u8> {
    let mut git = Command::new("git");
    git.arg("-C")
        .arg(person.at("ledger.git"))
        .args(["cat-file", "--batch-all-objects", "--batch"]);
    let mut all = git.output().unwrap().stdout;
    assert!(all.len() > 5000, "all objects were read");
    all.extend(std::fs::read(person.at("audit.log")).unwrap());
    // Git's own template texts are about nothing.
    let template = |path: &Path| path.ends_with("description") || path.ends_with("info/exclude");
    for (path, bytes) in files(&person.at("ledger.git"))
        .into_iter()
        .filter(|(path, _)| !template(path))
    {
        all.extend(
            path.strip_prefix(person.home())
                .unwrap()
                .display()
                .to_string()
                .bytes(),
        );
        all.extend(bytes);
    }
    all
}

fn holds(haystack: &[u8], needle: &[u8]) -> bool {
    haystack
        .windows(needle.len())
        .any(|window| window.eq_ignore_ascii_case(needle))
}

/// Words of five letters and more: shorter ones are found anywhere by chance.
fn words(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.len() > 4)
        .collect()
}

/// Asks a model and the observer, is denied, fails, closes; with secrets on the way.
fn busy(options: &[&str]) -> Person {
    let mut person = Person::new();
    let server = ModelServer::script(vec![
        Behaviour::Says(REPLY.to_owned()),
        Behaviour::EchoesKey,
    ]);
    person.set("GENTLY_MODEL_BASE_URL", &server.base_url());
    person.set("OPENAI_API_KEY", API_KEY);
    person.gently(&[&["init"], options].concat()).exits(0);
    assert!(
        person
            .gently(&["ask", "-m", "openai/small", PROMPT])
            .exits(0)
            .out
            .contains("harpsichord")
    );
    let failed = person
        .gently(&["ask", "-m", "openai/small", PROMPT])
        .exits(2);
    assert!(
        !failed.err.contains(API_KEY) && failed.err.contains("I don't know"),
        "{failed:?}"
    );
    let told = person.ask(&format!("Is {TYPED} still valid in Kirkcudbright?"));
    assert!(
        told.err
            .contains("1 secret removed from your question before it was stored or sent"),
        "{told:?}"
    );
    assert!(!told.out.contains(TYPED));
    person.gently(&["ask", ""]).exits(1);
    person.gently(&["session", "close"]).exits(0);
    person.ask("Has the dirigible landed?");
    person
}

#[test]
fn no_word_of_a_prompt_or_reply_is_in_ledger_or_log() {
    for options in [&[] as &[&str], &["--commitments", "sha256"]] {
        let person = busy(options);
        let public = public(&person);
        let told: BTreeSet<&str> = [PROMPT, REPLY, "landed"]
            .into_iter()
            .flat_map(words)
            .collect();
        assert!(told.len() >= 12, "{told:?}");
        for word in told {
            assert!(
                !holds(&public, word.as_bytes()),
                "{options:?}: '{word}' is public"
            );
            assert!(
                !holds(&public, hex::encode(word).as_bytes()),
                "{options:?}: '{word}' is public in hexadecimal"
            );
        }
        // The observer's answers: their values, and the phrases around them.
        let mut answers = 0;
        let database = person.database();
        let mut turns = database
            .prepare("SELECT content FROM chat_turn WHERE speaker = 'aurora'")
            .unwrap();
        for answer in turns
            .query_map([], |row| row.get::<_, String>(0))
            .unwrap()
            .map(Result::unwrap)
        {
            for line in answer.lines().filter(|line| line.len() > 8) {
                assert!(!holds(&public, line.as_bytes()), "'{line}' is public");
            }
            answers += 1;
        }
        assert_eq!(answers, 3);
        assert_eq!(person.verified()["answers"]["consistent"], "yes");
    }
}

/// Under `sha256` the commitment is the literal formula; under the default it is not.
#[test]
fn plain_hashes_are_a_choice() {
    let plain = gently::record::hash::Hash32::digest(PROMPT.as_bytes()).to_string();
    for (options, expected) in [
        (&[] as &[&str], false),
        (&["--commitments", "sha256"], true),
    ] {
        let person = busy(options);
        assert_eq!(
            holds(&public(&person), plain.as_bytes()),
            expected,
            "{options:?}"
        );
        // In the private database the plain hash stands in any case: AEGIS's content_hash.
        let found: bool = person
            .database()
            .query_row(
                "SELECT count(*) > 0 FROM chat_turn WHERE content_hash = ?",
                [&plain],
                |row| row.get(0),
            )
            .unwrap();
        assert!(found);
        person.gently(&["session", "close"]).exits(0);
        person.gently(&["audit", "verify"]).exits(0);
    }
}

#[test]
fn keys_and_secrets_are_nowhere_but_in_keys() {
    let person = busy(&[]);
    // A reader keeps the write-ahead log from being emptied, so that it is looked at too.
    let reader = person.database();
    reader
        .execute_batch("BEGIN; SELECT count(*) FROM chat_turn")
        .unwrap();
    let _lines: i64 = reader
        .query_row("SELECT count(*) FROM log_line", [], |row| row.get(0))
        .unwrap();
    let mut asked = person.command(&["ask", &format!("And {TYPED}?")]);
    asked.env("OPENAI_API_KEY", API_KEY);
    crate::person::run(&mut asked).exits(0);
    assert!(std::fs::metadata(person.at("gently.db-wal")).unwrap().len() > 0);

    let auth = std::fs::read_to_string(person.at("keys/auth.key"))
        .unwrap()
        .trim()
        .to_owned();
    let pem = std::fs::read_to_string(person.at("keys/signing.key")).unwrap();
    let key = ssh_key::PrivateKey::from_openssh(&pem).unwrap();
    let seed = key.key_data().ed25519().unwrap().private.to_bytes();
    let body: Vec<&str> = pem.lines().filter(|line| !line.starts_with('-')).collect();
    let mut secrets: Vec<(&str, Vec<u8>)> = vec![
        ("auth key", auth.clone().into_bytes()),
        ("auth key, raw", hex::decode(&auth).unwrap()),
        ("signing key", seed.to_vec()),
        ("signing key in hexadecimal", hex::encode(seed).into_bytes()),
        ("API key", API_KEY.into()),
        ("typed secret", TYPED.into()),
    ];
    // The lines of the file past the public half, which `.pub` has too.
    secrets.extend(
        body[2..]
            .iter()
            .map(|line| ("signing key file", line.as_bytes().to_vec())),
    );
    let searched: Vec<_> = files(&person.home())
        .into_iter()
        .filter(|(p, _)| !p.starts_with(person.at("keys")))
        .collect();
    for part in [
        "gently.db",
        "gently.db-wal",
        "gently.db-shm",
        "audit.log",
        "gently.toml",
        "ledger.git/HEAD",
    ] {
        assert!(
            searched.iter().any(|(path, _)| *path == person.at(part)),
            "{part}"
        );
    }
    for (path, bytes) in searched {
        for (name, secret) in &secrets {
            assert!(!holds(&bytes, secret), "{name} in {}", path.display());
        }
    }
    let all = public(&person);
    for (name, secret) in &secrets {
        assert!(!holds(&all, secret), "{name} in an object");
    }
    // And in keys/ each is where it belongs, so that the search would have found it.
    assert!(holds(
        &std::fs::read(person.at("keys/auth.key")).unwrap(),
        auth.as_bytes()
    ));
    assert!(holds(
        &std::fs::read(person.at("keys/signing.key")).unwrap(),
        body[2].as_bytes()
    ));
    assert!(!holds(
        &std::fs::read(person.at("keys/signing.key.pub")).unwrap(),
        body[2].as_bytes()
    ));
}
