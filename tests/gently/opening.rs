//! `gently audit open` and `gently audit check`: one text, shown to somebody who has no ledger.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use gently::record::canon;
use gently::record::ledger::opening::{MAX_AROUND, OpeningFile};
use gently::record::signature::PublicKey;
use gently::verify::{Trust, check_opening};
use serde_json::{Value, json};

use crate::model_server::{ANSWER, Behaviour, ModelServer};
use crate::person::{Person, Ran};

/// The answers that every opening gets.
const ALWAYS: [&str; 3] = ["consistent", "commitment", "tree_head"];

/// A person whose model is a server of ours.
pub fn served(behaviour: Behaviour) -> (Person, ModelServer) {
    scripted(vec![behaviour])
}

/// The same with a server that changes its ways from request to request.
pub fn scripted(script: Vec<Behaviour>) -> (Person, ModelServer) {
    let server = ModelServer::script(script);
    let base = server.base_url();
    let person = Person::with(&[
        ("GENTLY_ANCHOR_MODE", "off"),
        ("GENTLY_MODEL_DEFAULT", "openai/small-1b"),
        ("GENTLY_MODEL_BASE_URL", base.as_str()),
        ("OPENAI_API_KEY", "test"),
    ]);
    (person, server)
}

/// Opens into a file of that name, and gives its place.
#[track_caller]
pub fn open(person: &Person, name: &str, args: &[&str]) -> PathBuf {
    let out = person.dir.path().join(name);
    let mut all = vec!["audit", "open"];
    all.extend(args);
    all.extend(["--out", out.to_str().unwrap()]);
    person.gently(&all).exits(0);
    out
}

pub fn signer(person: &Person) -> String {
    person.at("keys/allowed_signers").display().to_string()
}

/// The file alone: no home, no ledger, another folder.
pub fn check(file: &Path, more: &[&str]) -> Ran {
    let stranger = Person::new();
    let mut args = vec!["audit", "check", file.to_str().unwrap(), "--json"];
    args.extend(more);
    let ran = stranger.gently(&args);
    assert!(!stranger.home().exists());
    ran
}

fn python(args: &[&str]) -> (Option<i32>, Value) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/verify.py");
    let output = Command::new("python3")
        .arg(script)
        .args(args)
        .arg("--json")
        .output()
        .unwrap();
    (
        output.status.code(),
        serde_json::from_slice(&output.stdout).unwrap_or(Value::Null),
    )
}

fn only_file(folder: &str) -> String {
    let mut entries = std::fs::read_dir(folder).unwrap();
    entries
        .next()
        .unwrap()
        .unwrap()
        .path()
        .display()
        .to_string()
}

/// What both verifiers answer; they agree.
#[track_caller]
pub fn both(file: &Path, more: &[&str]) -> (i32, Value) {
    let ours = check(file, more);
    let kept = more
        .iter()
        .position(|arg| *arg == "--headers")
        .map(|at| only_file(more[at + 1]));
    let mut args = vec!["--opening", file.to_str().unwrap()];
    args.extend(more);
    if let (Some(kept), Some(at)) = (&kept, args.iter().position(|arg| *arg == "--headers")) {
        // Ours takes the folder, the script the file in it.
        args[at + 1] = kept;
    }
    let (code, theirs) = python(&args);
    let facts: Value = serde_json::from_str(&ours.out).unwrap_or(Value::Null);
    assert_eq!(
        (code, &theirs["answers"]),
        (Some(ours.code), &facts["answers"]),
        "{theirs}\n{facts}"
    );
    (ours.code, facts)
}

/// Checked by both, pinned: all that always is answered is *yes*.
#[track_caller]
pub fn holds(person: &Person, file: &Path) -> Value {
    let (code, facts) = both(file, &["--signer", &signer(person)]);
    assert_eq!(code, 0, "{facts}");
    for about in ALWAYS.iter().chain(&["signed_by"]) {
        assert_eq!(facts["answers"][about], "yes", "{about}: {facts}");
    }
    assert!(around(file) <= MAX_AROUND, "{} bytes", around(file));
    facts
}

pub fn around(file: &Path) -> usize {
    OpeningFile::parse(&std::fs::read(file).unwrap())
        .unwrap()
        .around()
        .unwrap()
}

pub fn document(file: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

#[test]
fn every_text_of_an_answered_turn_opens_in_an_open_and_in_a_closed_session() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("What is the capital of France?");
    person.ask("And of Spain?");
    for state in ["open", "closed"] {
        for (role, text) in [
            ("prompt", "What is the capital of France?"),
            ("response", ANSWER),
        ] {
            let file = open(
                &person,
                &format!("{state}-{role}"),
                &["last", "1", "--role", role],
            );
            let facts = holds(&person, &file);
            assert_eq!(
                (&facts["text"], &facts["role"], &facts["seq"]),
                (&json!(text), &json!(role), &json!(1))
            );
            let closed = document(&file)["lines"]
                .to_string()
                .contains("|session_end|");
            assert_eq!(closed, state == "closed");
        }
        let exchange = open(
            &person,
            &format!("{state}-exchange"),
            &["last", "2", "--role", "exchange"],
        );
        let text = holds(&person, &exchange)["text"]
            .as_str()
            .unwrap()
            .to_owned();
        let opened: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&opened["outcome"], &opened["seq"]),
            (&json!("answered"), &json!(2))
        );
        assert!(!text.contains("Spain") && !text.contains(ANSWER), "{text}");
        person.gently(&["session", "close"]);
    }
    // On record, each of them, and the ledger holds with them.
    assert_eq!(
        person
            .log()
            .iter()
            .filter(|line| line.contains("|kind:opening,id:opening:"))
            .count(),
        6
    );
    person.gently(&["audit", "verify"]).exits(0);
    // Unpinned is not checked, and another key is no.
    let file = person.dir.path().join("closed-response");
    let (code, facts) = both(&file, &[]);
    assert_eq!(
        (code, &facts["answers"]["signed_by"]),
        (0, &json!("not checked"))
    );
    let other = PublicKey::from_bytes([7; 32]).to_string();
    let (code, facts) = both(&file, &["--signer", &other]);
    assert_eq!((code, &facts["answers"]["signed_by"]), (1, &json!("no")));
    let required = check(&file, &["--require", "signed,commitment"]).exits(1);
    assert!(
        required
            .err
            .contains("required to be yes: signed by is not checked"),
        "{}",
        required.err
    );
    check(
        &file,
        &["--require", "tree-head", "--signer", &signer(&person)],
    )
    .exits(0);
    check(
        &file,
        &["--require", "not-after", "--signer", &signer(&person)],
    )
    .exits(1);
}

#[test]
fn what_has_no_answer_opens_what_it_has_and_says_the_rest() {
    let (person, _server) = scripted(vec![Behaviour::Good, Behaviour::HangsUp]);
    person.gently(&["ask", " "]).exits(1);
    person.ask("Now one that is answered");
    person.gently(&["ask", "And one that fails"]).exits(2);
    for state in ["open", "closed"] {
        for (seq, reason, outcome) in [
            ("1", "denied (policy.empty_prompt)", "denied"),
            ("3", "failed", "failed"),
        ] {
            let refused = person.gently(&["audit", "open", "last", seq]).exits(2);
            assert!(
                refused.err.contains("has no answer") && refused.err.contains("--role prompt"),
                "{}",
                refused.err
            );
            assert!(refused.err.contains(reason), "{}", refused.err);
            for role in ["prompt", "exchange"] {
                let file = open(
                    &person,
                    &format!("{state}-{seq}-{role}"),
                    &["last", seq, "--role", role],
                );
                let facts = holds(&person, &file);
                let line = facts["line"].as_str().unwrap();
                let event = if role == "prompt" {
                    "prompt"
                } else if outcome == "denied" {
                    "denied"
                } else {
                    "response_fail"
                };
                assert_eq!(line.split('|').nth(3), Some(event), "{line}");
                assert!(
                    document(&file)["documents"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .all(|one| one["chain_entry"].is_null())
                );
            }
        }
        person.gently(&["session", "close"]);
    }
    let missing = person.gently(&["audit", "open", "last", "9"]).exits(2);
    assert!(missing.err.contains("has 3 questions"), "{}", missing.err);
    person.gently(&["audit", "open", "last"]).exits(2);
    person
        .gently(&["audit", "open", "--artifact", "x:1", "--role", "prompt"])
        .exits(2);
}

#[test]
fn artifacts_open_inside_and_outside_of_sessions() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("Anything");
    let inside = person
        .gently(&["note", "add", "The disk is new", "--json"])
        .exits(0)
        .json();
    person.gently(&["session", "close"]).exits(0);
    let outside = person
        .gently(&["note", "add", "The fan is old", "--json"])
        .exits(0)
        .json();
    for (facts, text, session) in [
        (&inside, "The disk is new", true),
        (&outside, "The fan is old", false),
    ] {
        let id = facts["id"].as_str().unwrap();
        let file = open(&person, id, &["--artifact", id]);
        let opened = holds(&person, &file);
        assert!(opened["text"].as_str().unwrap().contains(text));
        assert_eq!(
            (&opened["seq"], opened["session"] != "-"),
            (&Value::Null, session)
        );
        assert_eq!(
            document(&file)["lines"]
                .to_string()
                .contains("|session_start|"),
            session
        );
    }
    person
        .gently(&["note", "retire", inside["id"].as_str().unwrap()])
        .exits(0);
    let several = person
        .gently(&[
            "audit",
            "open",
            "--artifact",
            inside["id"].as_str().unwrap(),
        ])
        .exits(2);
    assert!(several.err.contains("--line"), "{}", several.err);
    let line = inside["log_line"].to_string();
    let file = open(
        &person,
        "chosen",
        &[
            "--artifact",
            inside["id"].as_str().unwrap(),
            "--line",
            &line,
        ],
    );
    assert!(
        holds(&person, &file)["text"]
            .as_str()
            .unwrap()
            .contains("The disk is new")
    );
    // The genesis has no artifact of that name.
    person
        .gently(&["audit", "open", "--artifact", "nothing"])
        .exits(2);
}

#[test]
fn what_is_erased_or_stored_without_a_secret_opens_for_nobody() {
    let secret = format!("the key is ghp_{}", "Ab1".repeat(12));
    let (person, _server) = served(Behaviour::Says(secret));
    person.ask("Tell me");
    let redacted = person.gently(&["audit", "open", "last", "1"]).exits(2);
    assert!(
        redacted.err.contains("stored without its secrets"),
        "{}",
        redacted.err
    );
    let prompt = open(&person, "prompt", &["last", "1", "--role", "prompt"]);
    let before = person.log().len();
    person
        .gently(&["erase", "--yes", "interaction-1", "--reason", "asked to"])
        .exits(0);
    for role in ["prompt", "response", "exchange", "request", "reply"] {
        let erased = person
            .gently(&["audit", "open", "last", "1", "--role", role])
            .exits(2);
        assert!(
            erased.err.contains("it was erased at 20") && erased.err.contains("asked to"),
            "{}",
            erased.err
        );
    }
    assert_eq!(person.log().len(), before + 1, "only the tombstone");
    // Whoever has the file still has it.
    holds(&person, &prompt);
    // The key opens no other role.
    let opened: Value = document(&prompt);
    assert_eq!(opened["openings"][0]["role"], "prompt");
}

#[test]
fn a_file_is_never_written_over_and_what_was_opened_is_on_record_first() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("Anything");
    let file = open(&person, "opening", &["last", "1"]);
    let bytes = std::fs::read(&file).unwrap();
    let (out, lines) = (file.to_str().unwrap(), person.log().len());
    let refused = person
        .gently(&["audit", "open", "last", "1", "--out", out])
        .exits(2);
    assert!(refused.err.contains("not written over"), "{}", refused.err);
    assert_eq!(
        (std::fs::read(&file).unwrap(), person.log().len()),
        (bytes.clone(), lines)
    );
    // A place that can't be written: nothing is on record, and that is said.
    let nowhere = person
        .gently(&[
            "audit",
            "open",
            "last",
            "1",
            "--out",
            "no/such/folder/opening",
        ])
        .exits(2);
    assert!(
        nowhere.err.contains("nothing was written"),
        "{}",
        nowhere.err
    );
    assert_eq!(person.log().len(), lines);
    // To standard output it is the same file.
    let printed = person
        .gently(&["audit", "open", "last", "1", "--json"])
        .exits(0);
    std::fs::write(person.dir.path().join("printed"), &printed.out).unwrap();
    holds(&person, &person.dir.path().join("printed"));
    let told = person
        .gently(&["audit", "open", "last", "1", "--json", "--out", "told"])
        .exits(0)
        .json();
    assert_eq!(
        told["bytes"],
        std::fs::metadata(person.dir.path().join("told"))
            .unwrap()
            .len()
    );
    person.gently(&["audit", "verify"]).exits(0);
}

#[test]
fn a_plain_ledger_opens_without_a_key_and_says_what_that_means() {
    let (person, _server) = served(Behaviour::Good);
    person.gently(&["init", "--commitments", "sha256"]).exits(0);
    person.ask("Anything");
    let out = person.dir.path().join("plain");
    let opened = person
        .gently(&["audit", "open", "last", "1", "--out", out.to_str().unwrap()])
        .exits(0);
    assert!(opened.err.contains("plain SHA-256"), "{}", opened.err);
    assert!(document(&out)["openings"][0]["key"].is_null());
    assert!(
        holds(&person, &out)["reasons"]["commitment"]
            .as_str()
            .unwrap()
            .contains("plain SHA-256")
    );
}

#[test]
fn keys_that_came_into_force_later_are_pinned_with_all_of_them() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("Before");
    person.gently(&["session", "close"]).exits(0);
    let first = person.at("keys/signing.key.pub");
    let old = std::fs::read_to_string(&first).unwrap();
    person.gently(&["key", "rotate", "--yes"]).exits(0);
    person.ask("After");
    person.gently(&["session", "close"]).exits(0);
    let newest = open(&person, "newest", &["last", "1"]);
    let oldest: String = {
        let sql = "SELECT ledger_session FROM chat_session ORDER BY rowid LIMIT 1";
        person
            .database()
            .query_row(sql, [], |row| row.get(0))
            .unwrap()
    };
    let oldest = open(&person, "oldest", &[&oldest, "1"]);
    // Both are under a head of today, by the key of today.
    for file in [&newest, &oldest] {
        let pinned = person.dir.path().join("all-keys");
        let all = person
            .gently(&["audit", "verify", "--json"])
            .exits(0)
            .json();
        let keys: Vec<&str> = all["signers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|key| key.as_str().unwrap())
            .collect();
        assert_eq!(keys.len(), 2);
        std::fs::write(&pinned, keys.join("\n") + "\n").unwrap();
        let (code, facts) = both(file, &["--signer", pinned.to_str().unwrap()]);
        assert_eq!(
            (code, &facts["answers"]["signed_by"]),
            (0, &json!("yes")),
            "{facts}"
        );
    }
    let old = old.split(' ').take(2).collect::<Vec<_>>().join(" ");
    for file in [&newest, &oldest] {
        assert_eq!(both(file, &["--signer", &old]).0, 1);
        let new = std::fs::read_to_string(person.at("keys/signing.key.pub")).unwrap();
        let new = new.split(' ').take(2).collect::<Vec<_>>().join(" ");
        assert_eq!(both(file, &["--signer", &old, "--signer", &new]).0, 0);
        let (code, facts) = both(file, &["--signer", &new, "--signer", &old]);
        assert_eq!(
            (code, &facts["answers"]["signed_by"]),
            (1, &json!("not checked")),
            "{facts}"
        );
    }
}

/// Several texts of several turns in one file, in the order of their lines whatever order they were
/// named in.
#[test]
fn whole_turns_open_in_one_file() {
    let (person, _server) = scripted(vec![
        Behaviour::Good,
        Behaviour::Good,
        Behaviour::HangsUp,
        Behaviour::Good,
    ]);
    person.ask("What is the capital of France?");
    person.ask("And of Spain?");
    person.gently(&["ask", "And of nowhere?"]).exits(2);
    person.gently(&["session", "close"]).exits(0);
    let lines = person.log().len();
    let file = open(
        &person,
        "turns",
        &[
            "last",
            "2",
            "1",
            "--role",
            "exchange",
            "--role",
            "prompt,response",
        ],
    );
    let facts = holds(&person, &file);
    let opened: Vec<(u64, &str)> = facts["openings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["seq"].as_u64().unwrap(), one["role"].as_str().unwrap()))
        .collect();
    let roles = ["prompt", "response", "exchange"];
    let expected: Vec<(u64, &str)> = [1, 2]
        .iter()
        .flat_map(|seq| roles.map(|role| (*seq, role)))
        .collect();
    assert_eq!(opened, expected);
    assert_eq!(person.log().len(), lines + 6, "each is on record");
    let failed = open(
        &person,
        "failed",
        &["last", "3", "--role", "exchange,prompt"],
    );
    let facts = holds(&person, &failed);
    assert_eq!(facts["openings"][1]["role"], "exchange");
    let said = Person::new()
        .gently(&["audit", "check", "-v", file.to_str().unwrap()])
        .exits(0)
        .out;
    assert!(
        said.contains("Opened: prompt 1 of session")
            && said.contains("Answer 2 (of openai/small-1b, its owner says): ✔ as it was")
            && said.starts_with("✔ Genuine: these 6 texts"),
        "{said}"
    );
    // Artifacts of one session, and those of none; not of both.
    let one = person
        .gently(&["note", "add", "The disk is new", "--json"])
        .exits(0)
        .json();
    let two = person
        .gently(&["note", "add", "The fan is old", "--json"])
        .exits(0)
        .json();
    let (one, two) = (one["id"].as_str().unwrap(), two["id"].as_str().unwrap());
    let file = open(&person, "notes", &["--artifact", two, "--artifact", one]);
    let facts = holds(&person, &file);
    assert!(
        facts["openings"][0]["text"]
            .as_str()
            .unwrap()
            .contains("The disk is new"),
        "{facts}"
    );
    assert_eq!(facts["answers"]["not_before"], "not checked");
    person.ask("Anything");
    let inside = person
        .gently(&["note", "add", "The cable is short", "--json"])
        .exits(0)
        .json();
    let inside = inside["id"].as_str().unwrap();
    let refused = person
        .gently(&["audit", "open", "--artifact", one, "--artifact", inside])
        .exits(2);
    assert!(
        refused.err.contains("of several sessions"),
        "{}",
        refused.err
    );
}

/// Opens an answered turn with all that is on record of it.
fn whole(person: &Person, name: &str, number: &str) -> PathBuf {
    let roles = "reply,request,exchange,response,prompt";
    open(person, name, &["last", number, "--role", roles])
}

#[test]
fn what_was_sent_and_what_came_beside_the_answer_open_behind_the_exchange_document() {
    let (person, _server) = scripted(vec![
        Behaviour::Good,
        Behaviour::Good,
        Behaviour::HangsUp,
        Behaviour::Good,
    ]);
    person.ask("What is the capital of France?");
    person.ask("And of Spain?");
    person.gently(&["ask", "And of nowhere?"]).exits(2);
    person.gently(&["ask", " "]).exits(1);
    let roles = |facts: &Value| -> Vec<String> {
        let openings = facts["openings"].as_array().unwrap().iter();
        openings
            .map(|one| one["role"].as_str().unwrap().to_owned())
            .collect()
    };
    for state in ["open", "closed"] {
        let file = whole(&person, &format!("{state}-whole"), "2");
        let facts = holds(&person, &file);
        let all = ["prompt", "response", "exchange", "request", "reply"];
        assert_eq!(roles(&facts), all);
        let text = |at: usize| -> Value {
            serde_json::from_str(facts["openings"][at]["text"].as_str().unwrap()).unwrap()
        };
        // Earlier turns stand by their ids; what came beside the answer is there in full.
        let (request, reply) = (text(3), text(4));
        assert_eq!(request["model"], "openai/small-1b");
        assert!(request["messages"].as_array().unwrap().len() >= 4);
        assert!(!request.to_string().contains("France"), "{request}");
        assert_eq!(reply["finish_reason"], "stop", "{reply}");
        let said = Person::new()
            .gently(&["audit", "check", file.to_str().unwrap()])
            .exits(0)
            .out;
        for words in [
            "What was sent for question 2: ✔ as it was put on record",
            "What came beside answer 2: ✔ as it was put on record",
        ] {
            assert!(said.contains(words), "{said}");
        }
        // The exchange document comes along by itself; of a call that failed there is a request.
        for (number, role) in [("1", "request"), ("1", "reply"), ("3", "request")] {
            let name = format!("{state}-{number}-{role}");
            let file = open(&person, &name, &["last", number, "--role", role]);
            assert_eq!(roles(&holds(&person, &file)), ["exchange", role]);
        }
        for (number, role, why) in [
            ("3", "reply", "prompt 3 has no answer: it is failed"),
            ("4", "reply", "prompt 4 has no answer: it is denied"),
            ("4", "request", "nothing was sent for it"),
        ] {
            let refused = person
                .gently(&["audit", "open", "last", number, "--role", role])
                .exits(2);
            assert!(refused.err.contains(why), "{}", refused.err);
        }
        person.gently(&["session", "close"]);
    }
    person.gently(&["audit", "verify"]).exits(0);
    // A request that was changed in the file: that is said of it alone.
    let file = whole(&person, "changed", "2");
    let mut changed = document(&file);
    let text = changed["openings"][3]["text"].as_str().unwrap();
    changed["openings"][3]["text"] = json!(text.replace("small-1b", "large-1b"));
    std::fs::write(&file, canon::print(&changed).unwrap() + "\n").unwrap();
    let said = check(&file, &[]).exits(1).json();
    assert_eq!(
        said["verdict"]["text"],
        "what was sent for question 2 is not the text that was put on record",
        "{said}"
    );
    // A line that was changed: of no text it is known then whether it is on record.
    let file = whole(&person, "contradicting", "2");
    let (text, mut changed) = (std::fs::read_to_string(&file).unwrap(), document(&file));
    let line = changed["lines"][0][1].as_str().unwrap().to_owned();
    changed["lines"][0][1] = json!(line.replacen("|0|20", "|0|21", 1));
    let changed = canon::print(&changed).unwrap() + "\n";
    assert_ne!(changed, text);
    std::fs::write(&file, changed).unwrap();
    let said = check(&file, &[]).exits(1).json();
    assert_eq!(said["verdict"]["word"], "Changed", "{said}");
    let opens = said["openings"].as_array().unwrap().iter();
    assert!(opens.into_iter().all(|one| one["opens"] == false), "{said}");
    let said = person
        .gently(&["check", file.to_str().unwrap()])
        .exits(1)
        .out;
    assert!(!said.contains('✔') && !said.contains("Whose key"), "{said}");
    // Nothing of it is left behind by an erasure.
    person
        .gently(&["erase", "--yes", "interaction-2", "--reason", "asked to"])
        .exits(0);
    for role in ["request", "reply"] {
        let erased = person
            .gently(&["audit", "open", "last", "2", "--role", role])
            .exits(2);
        assert!(erased.err.contains("it was erased at 20"), "{}", erased.err);
    }
}

/// A small opening of a closed session of three turns; the second is opened.
fn small() -> (Person, ModelServer, PathBuf) {
    let (person, server) = served(Behaviour::Good);
    ["One", "Two", "Three"]
        .iter()
        .for_each(|question| drop(person.ask(question)));
    person.gently(&["session", "close"]).exits(0);
    let file = open(&person, "small", &["last", "2", "--role", "prompt"]);
    (person, server, file)
}

/// Evidence from outside that is far larger than any real one is left out, and that is said.
#[test]
fn a_tree_head_with_kilobytes_of_cosignatures_is_not_taken_along() {
    let (person, _server, _) = small();
    let head = person
        .git(&["cat-file", "blob", "main:checkpoint"])
        .exits(0);
    let witness = |n: u32| format!("\u{2014} witness.example/{n} {}\n", "A".repeat(100));
    let note = person.at("note.txt");
    let cosigned = head.out + &(0..100).map(witness).collect::<String>();
    std::fs::write(&note, cosigned).unwrap();
    let note = note.to_str().unwrap();
    let mut args = vec!["-c", "user.name=w", "-c", "user.email=w@example.org"];
    args.extend(["notes", "--ref", "witness", "add", "-f", "-F", note, "main"]);
    person.git(&args).exits(0);
    let out = person.at("without.json");
    let args = ["audit", "open", "last", "2", "--out", out.to_str().unwrap()];
    let opened = person.gently(&args).exits(0);
    assert!(
        opened.err.contains("cosignatures on commit")
            && opened.err.contains("too many for an opening"),
        "{}",
        opened.err
    );
    holds(&person, &out);
}

/// Every byte of the file, changed: it is refused, or something is *no*.
#[test]
fn no_changed_byte_passes() {
    let (person, _server, file) = small();
    let pinned = pinned(&person);
    no_changed_byte_of_it_passes(&file, pinned, 1);
    // A larger one, whose every part is met.
    no_changed_byte_of_it_passes(&whole(&person, "whole", "2"), pinned, 11);
}

/// The key of a person's ledger.
fn pinned(person: &Person) -> PublicKey {
    let first = std::fs::read_to_string(person.at("keys/signing.key.pub")).unwrap();
    let words: Vec<&str> = first.split(' ').take(2).collect();
    words.join(" ").parse().unwrap()
}

fn no_changed_byte_of_it_passes(file: &Path, pinned: PublicKey, step: usize) {
    let bytes = std::fs::read(file).unwrap();
    let passes = |bytes: &[u8]| {
        OpeningFile::parse(bytes).is_ok_and(|file| {
            check_opening(
                &file,
                Trust {
                    pinned: Some(&[pinned]),
                    ..Trust::default()
                },
            )
            .opens()
        })
    };
    assert!(passes(&bytes));
    for at in (0..bytes.len()).step_by(step) {
        for flip in [0x01, 0x02] {
            let mut changed = bytes.clone();
            changed[at] ^= flip;
            assert!(
                !passes(&changed),
                "byte {at} ^ {flip}: {}",
                String::from_utf8_lossy(&changed[at.saturating_sub(40)..at + 1])
            );
        }
        assert!(
            !passes(&[&bytes[..at], &bytes[at + 1..]].concat()),
            "without byte {at}"
        );
    }
    for more in [&b"\n"[..], b" ", b"{}"] {
        assert!(!passes(&[&bytes[..], more].concat()));
    }
}

/// Every value that stands anywhere in a document, with one character changed.
fn mistakes(document: &Value) -> Vec<(String, Value)> {
    fn walk(value: &Value, path: &str, found: &mut Vec<(String, Value)>) {
        match value {
            Value::Object(map) => map
                .iter()
                .for_each(|(key, value)| walk(value, &format!("{path}/{key}"), found)),
            Value::Array(list) => list
                .iter()
                .enumerate()
                .for_each(|(n, value)| walk(value, &format!("{path}/{n}"), found)),
            Value::String(text) if !text.is_empty() => {
                for at in [0, text.len() / 2, text.len() - 1] {
                    let at = (0..=at)
                        .rev()
                        .find(|at| text.is_char_boundary(*at))
                        .unwrap();
                    let old = text[at..].chars().next().unwrap();
                    let new = if old == '1' { '2' } else { '1' };
                    let changed = format!("{}{new}{}", &text[..at], &text[at + old.len_utf8()..]);
                    found.push((path.to_owned(), json!(changed)));
                }
            }
            Value::Number(number) => {
                found.push((path.to_owned(), json!(number.as_u64().unwrap() + 1)))
            }
            Value::Bool(flag) => found.push((path.to_owned(), json!(!flag))),
            Value::String(_) | Value::Null => found.push((path.to_owned(), json!("1"))),
        }
    }
    let mut found = Vec::new();
    walk(document, "", &mut found);
    found
}

/// Answers of verify.py for many files, by one process.
fn python_many(files: &[PathBuf], signer: &str) -> Vec<Value> {
    let code = "import sys, json, verify\nkeys = verify.read_signers(sys.argv[1])\nfor path in sys.stdin.read().split('\\n')[:-1]:\n \
                try:\n  c = verify.CheckOpening(path, keys); print(json.dumps(c.report()['answers']))\n except \
                verify.CannotLook:\n  print('null')\n";
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let mut child = Command::new("python3")
        .args(["-c", code, signer])
        .env("PYTHONPATH", scripts)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let list: String = files
        .iter()
        .map(|file| format!("{}\n", file.display()))
        .collect();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), list.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Our answers, as verify.py gives its own.
fn our_answers(file: &Path, pinned: &[PublicKey]) -> Value {
    let Ok(read) = OpeningFile::parse(&std::fs::read(file).unwrap()) else {
        return Value::Null;
    };
    let report = check_opening(
        &read,
        Trust {
            pinned: Some(pinned),
            ..Trust::default()
        },
    );
    gently::verify::OpeningQuestion::ALL
        .into_iter()
        .map(|about| {
            (
                about.name().to_owned(),
                json!(report.to(about).answer.word()),
            )
        })
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[test]
fn both_verifiers_say_the_same_of_every_mistake() {
    let (mut person, _server, file) = small();
    let turn = whole(&person, "turn", "2");
    let note = person
        .gently(&["note", "add", "Outside", "--json"])
        .exits(0)
        .json();
    let artifact = open(
        &person,
        "artifact",
        &["--artifact", note["id"].as_str().unwrap()],
    );
    // Of a session on real blocks, too: of one on no block *not before* is asked nothing.
    let headers = person.headers(829_604..=829_619);
    person.set("GENTLY_ANCHOR_MODE", "auto");
    person.set("GENTLY_ANCHOR_ESPLORA", "[]");
    person.set("GENTLY_ANCHOR_HEADERS", headers.to_str().unwrap());
    person.ask("When is this?");
    let anchored = open(&person, "anchored", &["last", "1"]);
    let pinned = pinned(&person);
    let (mut files, mut names) = (Vec::new(), Vec::new());
    let mut add = |name: String, bytes: Vec<u8>| {
        let path = person.dir.path().join(format!("mistake-{}", files.len()));
        std::fs::write(&path, bytes).unwrap();
        files.push(path);
        names.push(name);
    };
    for base in [&file, &artifact, &anchored, &turn] {
        for (pointer, value) in mistakes(&document(base)) {
            let mut changed = document(base);
            *changed.pointer_mut(&pointer).unwrap() = value.clone();
            add(
                format!("{pointer} = {value}"),
                (canon::print(&changed).unwrap() + "\n").into_bytes(),
            );
        }
        for part in ["lines", "documents", "openings"] {
            for at in 0..document(base)[part].as_array().unwrap().len() {
                let mut changed = document(base);
                let list = changed[part].as_array_mut().unwrap();
                let gone = list.remove(at);
                // Without one of several texts it is an honest file, but for the document that
                // carries others of them.
                if list.is_empty() || part != "openings" || gone["role"] == "exchange" {
                    add(
                        format!("{part} without {at}"),
                        (canon::print(&changed).unwrap() + "\n").into_bytes(),
                    );
                }
                let list = changed[part].as_array_mut().unwrap();
                list.extend([gone.clone(), gone]);
                add(
                    format!("{part} with {at} twice"),
                    (canon::print(&changed).unwrap() + "\n").into_bytes(),
                );
            }
        }
        let bytes = std::fs::read(base).unwrap();
        for at in (0..bytes.len()).step_by(53) {
            let mut changed = bytes.clone();
            changed[at] ^= 0x01;
            add(format!("byte {at}"), changed);
            add(
                format!("without byte {at}"),
                [&bytes[..at], &bytes[at + 1..]].concat(),
            );
        }
    }
    let theirs = python_many(&files, &pinned.to_string());
    assert_eq!(theirs.len(), files.len());
    let (mut judged, mut disagree) = (0, Vec::new());
    let mut refuted = BTreeSet::new();
    for ((file, name), theirs) in files.iter().zip(&names).zip(theirs) {
        let ours = our_answers(file, &[pinned]);
        if ours != theirs {
            disagree.push(format!("{name}: ours {ours}, theirs {theirs}"));
        }
        let no: Vec<String> = ours
            .as_object()
            .map(|answers| {
                answers
                    .iter()
                    .filter(|(_, word)| *word == "no")
                    .map(|(name, _)| name.clone())
                    .collect()
            })
            .unwrap_or_default();
        judged += usize::from(!ours.is_null());
        assert!(ours.is_null() || !no.is_empty(), "{name}: {ours}");
        refuted.extend(no);
    }
    assert!(
        disagree.is_empty(),
        "{} disagreements\n{}",
        disagree.len(),
        disagree.join("\n")
    );
    assert!(judged > 60, "{judged}");
    for about in [
        "consistent",
        "commitment",
        "tree_head",
        "signed_by",
        "not_before",
    ] {
        assert!(refuted.contains(about), "{about}: {refuted:?}");
    }
}
