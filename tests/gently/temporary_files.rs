//! Texts of a home stay in its folder: no sort, comparison or conversion lends them to a file where
//! temporary ones are.

#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::model_server::{Behaviour, ModelServer};
use crate::person::Person;

/// The files without a name that a command has open while it runs, which has to end well. SQLite's
/// temporary ones are such: nobody sees them in a folder.
fn nameless_files(person: &Person, words: &[&str]) -> BTreeSet<String> {
    let mut command = person.command(words);
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let folder = format!("/proc/{}/fd", child.id());
    let mut found = BTreeSet::new();
    let ended = loop {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(file) = fs::read_link(entry.path()) else {
                continue;
            };
            let name = file.display().to_string();
            let is_nameless = name.starts_with('/') && name.ends_with(" (deleted)");
            if is_nameless && !had_a_name(person, &name, &entry.path()) {
                found.insert(name);
            }
        }
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    assert!(ended.success(), "{words:?}: {ended}");
    found
}

/// Whether a file is what a conversion took the place of: the old database, or its log of writes, which
/// was emptied before.
fn had_a_name(person: &Person, name: &str, opened: &Path) -> bool {
    let is = |file: &str| name == format!("{} (deleted)", person.at(file).display());
    let is_empty = || opened.metadata().map_or(true, |found| found.len() == 0);
    is("gently.db") || is("gently.db-wal") && is_empty()
}

/// Conversations with as many different words as make indexes that no small cache holds.
fn many_words(path: &Path) {
    let mut state = 7_u32;
    let mut word = || {
        let mut letters = String::new();
        for _ in 0..9 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let letter = u8::try_from(state >> 24).unwrap() % 26;
            letters.push(char::from(b'a' + letter));
        }
        letters
    };
    let mut lines = String::new();
    for n in 0..600 {
        let text: Vec<String> = (0..400).map(|_| word()).collect();
        let line = serde_json::json!({
            "conversation": format!("c{}", n / 20), "role": "user", "text": text.join(" "),
        });
        lines.push_str(&format!("{line}\n"));
    }
    fs::write(path, lines).unwrap();
}

#[test]
fn no_text_goes_through_a_temporary_file() {
    let server = ModelServer::start(Behaviour::Says("a mountain".to_owned()));
    let mut person = Person::with(&[
        ("GENTLY_ANCHOR_MODE", "off"),
        ("GENTLY_MODEL_BASE_URL", &server.base_url()),
        ("GENTLY_MODEL_DEFAULT", "openai/x"),
    ]);
    let source = person.dir.path().join("many.jsonl");
    many_words(&source);
    person.ask("What is a mountain?");
    person
        .gently(&["import", "jsonl", &source.display().to_string()])
        .exits(0);
    for words in [
        &["search", "mountain"][..],
        &["conversation", "list"],
        &["stats"],
        &["audit", "verify"],
        &["audit", "rebuild"],
    ] {
        assert_eq!(nameless_files(&person, words), BTreeSet::new(), "{words:?}");
    }
    if cfg!(feature = "sealed") && crate::person::at_rest().is_empty() {
        person.set("GENTLY_STORE_KEY", &"5e".repeat(32));
        for verb in ["encrypt", "decrypt"] {
            let made = nameless_files(&person, &["store", verb]);
            assert_eq!(made, BTreeSet::new(), "{verb}");
        }
    }
}
