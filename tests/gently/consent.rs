//! What can't be undone asks first: nothing is done without the word or `--yes`, and a dry run says
//! what would be done and changes nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::json;

use crate::model_server::Behaviour;
use crate::opening::{scripted, served};
use crate::person::{Person, Ran};
use crate::share::{at_terminal, gently};

/// Every byte of a home, but for what the database's readers share in memory.
fn bytes(person: &Person) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    crate::recorder::read_all(&person.home(), &mut all);
    all.retain(|path, _| !path.ends_with("gently.db-shm"));
    all
}

/// A home with three exchanges of two sessions, a second auth key, and an idle first session.
fn used() -> Person {
    let (person, server) = served(Behaviour::Good);
    person.ask("What is quetzalcoatl?");
    person.ask("And zygomorphic?");
    person.gently(&["session", "close"]).exits(0);
    person.gently(&["key", "add", "laptop"]).exits(0);
    person.ask("And today?");
    drop(server);
    person
}

/// Each command, with the words that it has to say and the word of its refusal.
const DEEDS: [(&[&str], &str, &str); 5] = [
    (&["erase", "last"], "destroys the question of ", "erased"),
    (
        &["erase", "--older-than", "0"],
        "destroys 3 questions with their answers",
        "erased",
    ),
    (
        &["key", "rotate"],
        "destroys the private half of the one in force, SHA256:",
        "changed",
    ),
    (
        &["key", "revoke", "laptop"],
        "revokes the auth key 'laptop'",
        "revoked",
    ),
    (
        &["key", "revoke", "owner"],
        "1 open session of this key",
        "revoked",
    ),
];

/// A second later, so that all three exchanges are older than no day at all.
fn later() {
    std::thread::sleep(std::time::Duration::from_millis(1100));
}

#[test]
fn nothing_that_cannot_be_undone_is_done_without_a_word() {
    let person = used();
    later();
    let before = (person.log(), person.commits());
    for (args, words, done) in DEEDS {
        let ran = person.gently(args).exits(2);
        assert!(ran.err.contains(words), "{args:?}: {}", ran.err);
        let command = format!("gently {} --yes", args.join(" "));
        assert!(
            ran.err.contains(&format!("nothing was {done}; ")) && ran.err.contains(&command),
            "{args:?}: {}",
            ran.err
        );
        // Somebody who can't see the question can't answer it.
        let ran = person.piped(args, b"yes\n").exits(2);
        assert!(ran.err.contains("say --yes"), "{}", ran.err);
        let mut json = args.to_vec();
        json.push("--json");
        let refused = person.gently(&json).exits(2).json();
        assert!(refused["error"].to_string().contains("--yes"), "{refused}");
        let mut both = args.to_vec();
        both.extend(["--yes", "--dry-run"]);
        person.gently(&both).exits(2);
    }
    assert_eq!((person.log(), person.commits()), before);
    // Of one question its words say which it is.
    let said = person.gently(&["erase", "last"]).exits(2).err;
    assert!(said.contains(", \"And today?\", asked "), "{said}");
    let plan = person.gently(&["erase", "last", "--dry-run", "--json"]);
    let plan = plan.exits(0).json();
    assert_eq!(plan["question"], "And today?", "{plan}");
}

#[test]
fn only_the_word_yes_of_somebody_at_the_terminal_is_consent() {
    let person = used();
    let lines = person.log().len();
    let erase = format!("{} erase last", gently());
    for typed in ["no", "", "y", "YES", "Yes", "yes!", "yes yes"] {
        let ran = at_terminal(&person, &erase, "Type yes to erase it", typed, None).exits(2);
        assert!(
            ran.out.contains("not confirmed: nothing was erased"),
            "{typed}: {}",
            ran.out
        );
    }
    assert_eq!(person.log().len(), lines);
    let ran = at_terminal(&person, &erase, "Type yes to erase it", "yes", None).exits(0);
    assert!(ran.out.contains("erased "), "{}", ran.out);
    assert_eq!(person.log().len(), lines + 1);
    // Nothing is left: nothing is asked.
    let ran = person.gently(&["erase", "last"]).exits(0);
    assert!(ran.err.contains("nothing to erase"), "{}", ran.err);
    let rotate = format!("{} key rotate", gently());
    let ran = at_terminal(&person, &rotate, "Type yes", "yes", None).exits(0);
    assert!(
        ran.out.contains("closes 1 session: ") && ran.out.contains("ssh-ed25519 AAAA"),
        "{}",
        ran.out
    );
}

#[test]
fn a_dry_run_says_all_and_changes_not_one_byte() {
    let person = used();
    later();
    let before = bytes(&person);
    let dry = |args: &[&str]| -> Ran {
        let mut words = args.to_vec();
        words.push("--dry-run");
        let ran = person.gently(&words).exits(0);
        assert!(ran.err.contains("nothing was done"), "{}", ran.err);
        words.push("--json");
        let view = person.gently(&words).exits(0).json();
        assert_eq!(view["dry_run"], true);
        let would: Vec<&str> = view["would"]
            .as_array()
            .unwrap()
            .iter()
            .map(|line| line.as_str().unwrap())
            .collect();
        assert_eq!(ran.out, format!("{}\n", would.join("\n")));
        ran
    };
    for (args, words, _) in DEEDS {
        let ran = dry(args);
        assert!(ran.out.contains(words), "{}", ran.out);
    }
    let closes = dry(&["session", "close"]);
    assert!(
        closes.out.starts_with("closes 1 session: "),
        "{}",
        closes.out
    );
    let view = |args: &[&str]| person.gently(args).exits(0).json();
    let erases = view(&["erase", "--older-than", "0", "--dry-run", "--json"]);
    assert_eq!(erases["exchanges"].as_array().unwrap().len(), 3);
    assert_eq!(erases["asks"], true);
    let none = view(&["erase", "--older-than", "1", "--dry-run", "--json"]);
    assert_eq!(
        (&none["exchanges"], &none["asks"]),
        (&json!([]), &json!(false))
    );
    // What can't be done is not planned either.
    for args in [
        &["erase", "nothing-7", "--dry-run"][..],
        &["key", "revoke", "nobody", "--dry-run"],
        &["key", "rotate", "--to", "x.pub", "--dry-run"],
        &["session", "close", "ffff", "--dry-run"],
    ] {
        person.gently(args).exits(2);
    }
    assert_eq!(bytes(&person), before);
    // What was planned is what is done.
    let second = view(&["erase", "interaction-1", "--dry-run", "--json"]);
    let erased = view(&["erase", "interaction-1", "--yes", "--json"]);
    let planned: Vec<_> = second["contexts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["exchange"].clone())
        .collect();
    assert_eq!(erased["contexts"], json!(planned));
    assert_eq!(erased["exchanges"][0], second["exchanges"][0]["exchange"]);
    assert_eq!(erased["artifacts"], second["artifacts"]);
}

#[test]
fn the_last_key_goes_only_by_force_and_with_a_word() {
    let person = Person::new();
    person.ask("How is it?");
    let ran = person.gently(&["key", "revoke", "owner", "--yes"]).exits(2);
    assert!(ran.err.contains("is the last key"), "{}", ran.err);
    let ran = person
        .gently(&["key", "revoke", "owner", "--force"])
        .exits(2);
    assert!(
        ran.err.contains("it is the last one: nobody can ask"),
        "{}",
        ran.err
    );
    person
        .gently(&["key", "revoke", "owner", "--force", "--yes"])
        .exits(0);
    person.gently(&["ask", "And now?"]).exits(2);
}

#[test]
fn a_close_with_a_turn_in_flight_asks_and_one_without_does_not() {
    let (person, server) = scripted(vec![Behaviour::Gate, Behaviour::Good]);
    let mut asking = person
        .command(&["ask", "slow"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    server.wait_for(1);
    let refused = person.gently(&["session", "close"]).exits(2);
    assert!(
        refused.err.contains("waits for the answer to ")
            && refused.err.contains("its model is still thinking")
            && refused.err.contains("gently session close --yes"),
        "{}",
        refused.err
    );
    let planned = person
        .gently(&["session", "close", "--dry-run", "--json"])
        .exits(0)
        .json();
    assert_eq!(planned["closes"][0]["unanswered"][0]["is_waited_for"], true);
    server.release();
    assert!(asking.wait().unwrap().success());
    person.gently(&["session", "close"]).exits(0);
    assert_eq!(
        person
            .gently(&["session", "list", "--open", "--json"])
            .json(),
        json!([])
    );
}

#[test]
fn what_others_pin_is_printed_and_is_right_after_a_rotation() {
    let person = Person::new();
    person.ask("How is it?");
    let first = person.gently(&["key", "show"]).exits(0);
    let file = std::fs::read_to_string(person.at("keys/allowed_signers")).unwrap();
    assert_eq!(first.out, file);
    // There is no file before somebody leads the lines into one.
    assert!(
        first.err.contains("key show > signers") && !first.err.contains("that file"),
        "{}",
        first.err
    );
    person.gently(&["key", "rotate", "--yes"]).exits(0);
    person.ask("And now?");
    person.gently(&["session", "close"]).exits(0);
    person
        .gently(&["share", "--yes", "--out", "answer.json"])
        .exits(0);
    let shown = person.gently(&["key", "show"]).exits(0);
    let view = person.gently(&["key", "show", "--json"]).exits(0).json();
    assert_eq!(shown.out.lines().count(), 2);
    assert!(shown.out.starts_with(&first.out));
    assert!(
        shown.err.contains("the last of 2")
            && shown.err.contains(view["fingerprint"].as_str().unwrap()),
        "{}",
        shown.err
    );
    assert!(
        shown.err.lines().all(|line| line.chars().count() <= 110),
        "{}",
        shown.err
    );
    // The key in force is the last line, as ssh-keygen reads it.
    let signers = person.dir.path().join("signers");
    std::fs::write(&signers, &shown.out).unwrap();
    let newest = person.dir.path().join("newest.pub");
    let last = shown.out.lines().last().unwrap();
    let (_, key) = last.split_once(" namespaces=\"git\" ").unwrap();
    assert_eq!(view["signer"], key);
    std::fs::write(&newest, format!("{key}\n")).unwrap();
    let mut keygen = std::process::Command::new("ssh-keygen");
    let print = crate::person::run(keygen.arg("-lf").arg(&newest)).exits(0);
    assert!(
        print.out.contains(view["fingerprint"].as_str().unwrap()),
        "{}",
        print.out
    );
    // What a stranger is told to run, is run.
    let commands = view["check"].as_array().unwrap();
    let by = [", the key that you gave\n", "signed by", "Good \"git\""];
    assert_eq!(commands.len(), by.len());
    for (command, by) in commands.iter().zip(by) {
        let command = command.as_str().unwrap();
        assert!(shown.err.contains(command), "{}", shown.err);
        let command = command
            .replace("gently ", &format!("{} ", gently()))
            .replace("LEDGER", &person.at("ledger.git").display().to_string())
            .replace("FILE", "answer.json");
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &command]).current_dir(person.dir.path());
        shell
            .env("GENTLY_HOME", "/nowhere")
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        let ran = crate::person::run(&mut shell).exits(0);
        let said = format!("{}{}", ran.out, ran.err);
        assert!(said.contains(by), "{command}: {said}");
    }
}
