//! Receipts: a ledger that lost or changed the turn is found out by whoever kept one.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::model_server::Behaviour;
use crate::opening::served;
use crate::person::Person;

/// Asks, and keeps the receipt.
#[track_caller]
fn kept(person: &Person, name: &str, question: &str, code: i32) -> PathBuf {
    let file = person.dir.path().join(name);
    person
        .gently(&["ask", "--receipt", file.to_str().unwrap(), question])
        .exits(code);
    file
}

fn copy(from: &Path, to: &Path) {
    let done = Command::new("cp")
        .arg("-a")
        .arg(from)
        .arg(to)
        .status()
        .unwrap();
    assert!(done.success());
}

/// Both verifiers on ledger and log with these receipts: the same answers and code.
#[track_caller]
fn both(ledger: &Path, receipts: &[&Path]) -> (i32, Value) {
    let stranger = Person::new();
    let (repository, log) = (ledger.join("ledger.git"), ledger.join("audit.log"));
    let mut more = Vec::new();
    for receipt in receipts {
        more.extend(["--receipt", receipt.to_str().unwrap()]);
    }
    let mut args = vec![
        "audit",
        "verify",
        "--json",
        "--repo",
        repository.to_str().unwrap(),
        "--log",
        log.to_str().unwrap(),
    ];
    args.extend(&more);
    let ours = stranger.gently(&args);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/verify.py");
    let theirs = Command::new("python3")
        .arg(script)
        .args([
            repository.to_str().unwrap(),
            "--log",
            log.to_str().unwrap(),
            "--json",
        ])
        .args(&more)
        .output()
        .unwrap();
    let facts: Value = serde_json::from_str(&ours.out).unwrap_or(Value::Null);
    let said: Value = serde_json::from_slice(&theirs.stdout).unwrap_or(Value::Null);
    assert_eq!(
        (
            theirs.status.code(),
            &said["answers"],
            &said["contradicted_by"]
        ),
        (
            Some(ours.code),
            &facts["answers"],
            &facts["contradicted_by"]
        ),
        "{said}\n{facts}\n{}\n{}",
        ours.err,
        String::from_utf8_lossy(&theirs.stderr)
    );
    (ours.code, facts)
}

#[test]
fn every_ending_has_a_receipt_and_the_ledger_continues_each() {
    let (person, _server) = served(Behaviour::Good);
    let answered = kept(&person, "answered", "What is the capital of France?", 0);
    let denied = kept(&person, "denied", " ", 1);
    let facts = person
        .gently(&["ask", "--json", "And of Spain?"])
        .exits(0)
        .json();
    let receipt = &facts["receipt"];
    for key in ["chain_entry", "session"] {
        let own = if key == "session" { "session_id" } else { key };
        assert_eq!(receipt[own], facts[key], "{facts}");
    }
    assert_eq!(
        (&receipt["line"], &receipt["seq"]),
        (&facts["response_line"], &facts["seq"])
    );
    let log = person.log();
    // It is under the tree head that stands beside the log, byte for byte.
    let beside = std::fs::read_to_string(person.at("audit.checkpoint")).unwrap();
    assert_eq!(receipt["checkpoint"], json!(beside));
    assert_eq!(beside.lines().nth(1), Some(log.len().to_string().as_str()));
    assert_eq!(
        receipt["log_head"].as_str().unwrap(),
        &log.last().unwrap()[..64]
    );
    // What `jq -c .receipt` prints.
    let third = person.dir.path().join("third");
    std::fs::write(&third, format!("{receipt}\n")).unwrap();
    let denial: Value = serde_json::from_slice(&std::fs::read(&denied).unwrap()).unwrap();
    assert_eq!(denial["chain_entry"], Value::Null);
    for _ in 0..2 {
        let (code, facts) = both(&person.home(), &[&answered, &denied, &third]);
        assert_eq!((code, &facts["receipts"]), (0, &json!(3)), "{facts}");
        person.gently(&["session", "close"]);
    }
    person
        .gently(&["audit", "verify", "--receipt", third.to_str().unwrap()])
        .exits(0);
    // Without either flag nothing is signed, and nothing said.
    assert!(!person.ask("Something else").err.contains("receipt"));
}

/// The tree head in a receipt, by itself, is one that a copy of the ledger is held against.
#[test]
fn a_receipts_tree_head_is_evidence_of_its_own() {
    let (person, _server) = served(Behaviour::Good);
    let earlier = person.dir.path().join("earlier");
    person.ask("Before");
    copy(&person.home(), &earlier);
    let file = kept(&person, "receipt", "Anything", 0);
    let receipt: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let head = person.dir.path().join("head");
    std::fs::write(&head, receipt["checkpoint"].as_str().unwrap()).unwrap();
    person
        .gently(&["audit", "verify", "--head", head.to_str().unwrap()])
        .exits(0);
    let mut forgetful = Person::with(&[("GENTLY_ANCHOR_MODE", "off")]);
    forgetful.set("GENTLY_HOME", earlier.to_str().unwrap());
    let facts = forgetful
        .gently(&[
            "audit",
            "verify",
            "--json",
            "--head",
            head.to_str().unwrap(),
        ])
        .exits(1)
        .json();
    assert_eq!(facts["answers"]["complete"], "no", "{facts}");
}

/// The signature is one that stock ssh-keygen checks with the ledger's own list of keys.
#[test]
fn ssh_keygen_checks_a_receipt() {
    let (person, _server) = served(Behaviour::Good);
    let file = kept(&person, "receipt", "Anything", 0);
    let mut receipt: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let armor = receipt
        .as_object_mut()
        .unwrap()
        .remove("signature")
        .unwrap();
    let signature = person.dir.path().join("signature");
    std::fs::write(&signature, armor.as_str().unwrap()).unwrap();
    let verify = |message: &str| {
        let message_file = person.dir.path().join("message");
        std::fs::write(&message_file, message).unwrap();
        Command::new("ssh-keygen")
            .args([
                "-Y",
                "verify",
                "-I",
                "ledger@gently.invalid",
                "-n",
                "git",
                "-f",
            ])
            .arg(person.at("keys/allowed_signers"))
            .arg("-s")
            .arg(&signature)
            .stdin(std::fs::File::open(&message_file).unwrap())
            .output()
            .unwrap()
            .status
            .success()
    };
    assert!(verify(&receipt.to_string()));
    receipt["seq"] = json!(2);
    assert!(!verify(&receipt.to_string()));
}

#[test]
fn a_dropped_tail_is_seen() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("Before");
    let earlier = person.dir.path().join("earlier");
    copy(&person.home(), &earlier);
    let file = kept(&person, "receipt", "The one that is to be forgotten", 0);
    assert_eq!(both(&person.home(), &[&file]).0, 0);
    // By itself the shorter ledger is whole.
    assert_eq!(both(&earlier, &[]).0, 0);
    let (code, facts) = both(&earlier, &[&file]);
    assert_eq!(
        (code, &facts["answers"]["complete"]),
        (1, &json!("no")),
        "{facts}"
    );
    assert_eq!(facts["answers"]["consistent"], "yes");
    // In the home itself, too, pinned and with its database.
    let mut forgetful = Person::with(&[("GENTLY_ANCHOR_MODE", "off")]);
    forgetful.set("GENTLY_HOME", earlier.to_str().unwrap());
    let said = forgetful
        .gently(&["audit", "verify", "-v", "--receipt", file.to_str().unwrap()])
        .exits(1);
    assert!(
        said.out.contains("Finding 1 (complete): receipt "),
        "{}",
        said.out
    );
}

#[test]
fn another_history_is_seen() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("Before");
    let other = person.dir.path().join("other");
    copy(&person.home(), &other);
    let file = kept(&person, "receipt", "The one that is told here", 0);
    let mut twin = Person::with(&[
        ("GENTLY_ANCHOR_MODE", "off"),
        ("GENTLY_MODEL_DEFAULT", "observer"),
    ]);
    twin.set("GENTLY_HOME", other.to_str().unwrap());
    for question in ["Another one", "And another one", "And one more"] {
        twin.gently(&["ask", "--model", "observer", question])
            .exits(0);
    }
    let (code, facts) = both(&other, &[&file]);
    assert_eq!(
        (code, &facts["answers"]["unique"]),
        (1, &json!("no")),
        "{facts}"
    );
    assert_eq!(
        facts["contradicted_by"],
        json!([format!("receipt {}", file.display())])
    );
    let said = twin
        .gently(&["audit", "verify", "--receipt", file.to_str().unwrap()])
        .exits(1);
    assert!(
        said.err
            .contains("what was kept of this ledger contradicts it: receipt "),
        "{}",
        said.err
    );
    twin.gently(&["audit", "verify"]).exits(0);
    assert_eq!(
        (
            &facts["answers"]["consistent"],
            &facts["answers"]["complete"]
        ),
        (&json!("yes"), &json!("yes"))
    );
    // A receipt of somebody else's ledger says nothing about this one, and is no pass.
    let (stranger, _server) = served(Behaviour::Good);
    let foreign = kept(&stranger, "receipt", "Elsewhere", 0);
    let (code, facts) = both(&person.home(), &[&foreign, &file]);
    assert_eq!(
        (code, &facts["answers"]["signed_by"]),
        (1, &json!("no")),
        "{facts}"
    );
}

#[test]
fn keys_that_came_later_sign_later_receipts() {
    let (person, _server) = served(Behaviour::Good);
    let old = kept(&person, "old", "Before", 0);
    person.gently(&["session", "close"]).exits(0);
    person.gently(&["key", "rotate", "--yes"]).exits(0);
    let new = kept(&person, "new", "After", 0);
    assert_eq!(both(&person.home(), &[&old, &new]).0, 0);
    person.gently(&["session", "close"]).exits(0);
    assert_eq!(both(&person.home(), &[&old, &new]).0, 0);
}

#[test]
fn what_is_no_receipt_is_told_and_nothing_is_checked() {
    let (person, _server) = served(Behaviour::Good);
    let file = kept(&person, "receipt", "Anything", 0);
    let text = std::fs::read_to_string(&file).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    let bad = person.dir.path().join("bad");
    for (wrong, says) in [
        (
            text.replacen("\"seq\":1", "\"seq\":2", 1),
            "its signature does not hold",
        ),
        (
            serde_json::to_string_pretty(&value).unwrap() + "\n",
            "jq -c .receipt",
        ),
        (text.trim_end().to_owned(), "jq -c .receipt"),
        (format!("{text}\n"), "jq -c .receipt"),
        (String::new(), "jq -c .receipt"),
        ("{}\n".to_owned(), "not a document of this kind"),
    ] {
        std::fs::write(&bad, &wrong).unwrap();
        let (code, _) = both(&person.home(), &[&bad]);
        assert_eq!(code, 2, "{wrong}");
        let said = person
            .gently(&["audit", "verify", "--receipt", bad.to_str().unwrap()])
            .exits(2);
        assert!(said.err.contains(says), "{}", said.err);
    }
    let none = person
        .gently(&["audit", "verify", "--receipt", "nowhere"])
        .exits(2);
    assert!(none.err.contains("receipt nowhere"), "{}", none.err);
    // It is about lines that a later beginning would not read.
    let both = [
        "audit",
        "verify",
        "--since",
        "last",
        "--receipt",
        file.to_str().unwrap(),
    ];
    person.gently(&both).exits(2);
    // Nothing is asked when there is no place for the receipt, and no empty file is left where
    // there was no turn.
    let lines = person.log().len();
    let again = person
        .gently(&["ask", "--receipt", file.to_str().unwrap(), "Again"])
        .exits(2);
    assert!(again.err.contains("never written over"), "{}", again.err);
    person
        .gently(&["ask", "--receipt", "none/such", "Again"])
        .exits(2);
    assert_eq!(person.log().len(), lines);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    person
        .gently(&[
            "ask",
            "--receipt",
            "left",
            "--model",
            "nobody/knows",
            "Again",
        ])
        .exits(2);
    assert!(!person.dir.path().join("left").exists());
}
