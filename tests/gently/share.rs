//! `gently share`: a file and a page for somebody else, and what they show.

use std::path::PathBuf;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest as _, Sha256};

use crate::model_server::Behaviour;
use crate::opening::{check, served, signer};
use crate::person::Person;

fn asked() -> Person {
    let person = Person::with(&[("GENTLY_ANCHOR_MODE", "off")]);
    person.ask("How is this machine?").exits(0);
    person
}

/// The answers of the page's script to a file; none where there is no node to run it.
fn page_says(file: &std::path::Path) -> Option<String> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let script = format!(
        "const page = require({:?}); const fs = require('fs'); \
         const epochs = page.readEpochs(fs.readFileSync({:?}, 'utf8')); \
         console.log(JSON.stringify(page.check(fs.readFileSync(process.argv[1]), {{epochs}}).answers));",
        root.join("genesis/share.js").display().to_string(),
        root.join("genesis/btc-epochs.csv").display().to_string(),
    );
    let ran = Command::new("node")
        .args(["-e", &script])
        .arg(file)
        .output();
    match ran {
        Ok(ran) => {
            assert!(
                ran.status.success(),
                "{}",
                String::from_utf8_lossy(&ran.stderr)
            );
            Some(String::from_utf8(ran.stdout).unwrap())
        }
        Err(e) => {
            eprintln!("skipped: what the page says of the file, there is no node: {e}");
            None
        }
    }
}

#[test]
fn the_last_turn_goes_into_a_file_and_a_page_that_both_prove_it() {
    let person = asked();
    let out = person.dir.path().join("answer.json");
    let ran = person
        .gently(&["share", "--yes", "--out", out.to_str().unwrap()])
        .exits(0);
    assert!(
        ran.err.contains("Whoever gets this can read:"),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("question 1: How is this machine?"),
        "{}",
        ran.err
    );
    assert!(ran.out.contains("in any browser"), "{}", ran.out);
    let file = std::fs::read(&out).unwrap();
    let checked = check(&out, &["--signer", &signer(&person)]).exits(0).json();
    let roles: Vec<&str> = checked["openings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["prompt", "response"]);
    let page = std::fs::read_to_string(out.with_extension("html")).unwrap();
    assert!(!page.contains("@@"), "a place in the page is empty");
    assert!(page.contains(&BASE64.encode(&file)));
    // The page allows its script by the hash of what stands between the tags, and nothing else.
    let script = include_str!("../../genesis/share.js");
    let allowed = format!("'sha256-{}'", BASE64.encode(Sha256::digest(script)));
    assert!(page.contains(&allowed) && page.contains(&format!("<script>{script}</script>")));
    if let Some(says) = page_says(&out) {
        assert!(
            says.contains(r#""consistent":"yes""#) && says.contains(r#""commitment":"yes""#),
            "{says}"
        );
        let changed = String::from_utf8(file)
            .unwrap()
            .replace("this machine", "that machine");
        let other = person.dir.path().join("changed.json");
        std::fs::write(&other, changed).unwrap();
        let says = page_says(&other).unwrap();
        assert!(says.contains(r#""commitment":"no""#), "{says}");
    }
}

#[test]
fn nothing_is_shared_that_nobody_confirmed() {
    let person = asked();
    let lines = person.log().len();
    let ran = person.piped(&["share"], b"yes\n").exits(2);
    assert!(ran.err.contains("--yes"), "{}", ran.err);
    assert_eq!(person.log().len(), lines);
    let there = person.dir.path().join("there.json");
    std::fs::write(&there, "mine").unwrap();
    let ran = person
        .gently(&["share", "--yes", "--out", there.to_str().unwrap()])
        .exits(2);
    assert!(ran.err.contains("is not written over"), "{}", ran.err);
    let page = person.dir.path().join("page.html");
    let ran = person
        .gently(&["share", "--yes", "--out", page.to_str().unwrap()])
        .exits(2);
    assert!(ran.err.contains("another ending"), "{}", ran.err);
    assert_eq!(std::fs::read(&there).unwrap(), b"mine");
    assert_eq!(person.log().len(), lines);
}

#[test]
fn a_session_is_one_conversation_and_what_has_no_answer_is_said() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("First question").exits(0);
    person.ask("Second question").exits(0);
    let session = person
        .gently(&["session", "list", "--json"])
        .exits(0)
        .json();
    let session = session[0]["session"].as_str().unwrap().to_owned();
    // A number that no prompt has is no session's.
    let lines = person.log().len();
    for wrong in [format!("{}/9", &session[..8]), "interaction-9".to_owned()] {
        let ran = person.gently(&["share", &wrong, "--yes"]).exits(2);
        assert!(ran.err.contains("no exchange"), "{}", ran.err);
    }
    assert_eq!(person.log().len(), lines);
    let out = person.dir.path().join("talk.html");
    let ran = person
        .gently(&[
            "share",
            &session,
            "--html",
            "--yes",
            "--json",
            "--out",
            out.to_str().unwrap(),
        ])
        .exits(0);
    let view = ran.json();
    assert_eq!(view["file_is_written"], false);
    assert_eq!(view["opening"]["openings"].as_array().unwrap().len(), 4);
    assert!(out.exists() && !out.with_extension("json").exists());
    // What is erased can't be shared.
    let exchange = format!("{}/1", &session[..8]);
    person.gently(&["erase", &exchange]).exits(0);
    let ran = person.gently(&["share", &exchange, "--yes"]).exits(2);
    assert!(ran.err.contains("erased"), "{}", ran.err);
    let again = person.dir.path().join("rest.json");
    let ran = person
        .gently(&["share", &session, "--yes", "--out", again.to_str().unwrap()])
        .exits(0);
    assert!(ran.err.contains("left out: prompt 1"), "{}", ran.err);
}
