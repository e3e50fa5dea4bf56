//! `gently kernel`: shown, checked against what is in force, and set on record.

use serde_json::{Value, json};

use crate::person::Person;

/// A person with a home, and a kernel file beside it that differs in the lines given.
fn with_file(changes: &[(&str, &str)]) -> (Person, String) {
    let person = Person::new();
    person.ask("How is this machine doing?");
    let mut text = person.gently(&["kernel", "show"]).exits(0).out;
    for (from, to) in changes {
        assert!(text.contains(from), "{from}: {text}");
        text = text.replacen(from, to, 1);
    }
    let file = person.dir.path().join("kernel.toml");
    std::fs::write(&file, text).unwrap();
    (person, file.display().to_string())
}

#[test]
fn what_is_shown_is_a_file_that_is_the_same_kernel() {
    let (person, file) = with_file(&[]);
    let shown = person.gently(&["kernel", "show", "--json"]).exits(0).json();
    let stored: String = person
        .database()
        .query_row("SELECT document FROM kernel", [], |row| row.get(0))
        .unwrap();
    assert_eq!(
        shown["kernel"],
        serde_json::from_str::<Value>(&stored).unwrap()
    );
    let checked = person
        .gently(&["kernel", "check", &file, "--json"])
        .exits(0)
        .json();
    assert_eq!(
        (&checked["identical"], &checked["kernel_hash"]),
        (&json!(true), &shown["kernel_hash"])
    );
    assert!(
        person
            .gently(&["kernel", "check", &file])
            .exits(0)
            .out
            .contains("the same as the kernel in force")
    );
    let lines = person.log();
    let set = person.gently(&["kernel", "set", &file]).exits(0);
    assert!(
        set.err.contains("in force already; nothing was recorded"),
        "{set:?}"
    );
    assert_eq!(person.log(), lines);
}

#[test]
fn a_check_tells_key_by_key_what_would_change() {
    let (person, file) = with_file(&[("tier = 2", "tier = 1"), ("items = 16", "items = 12")]);
    let checked = person
        .gently(&["kernel", "check", &file, "--json"])
        .exits(0)
        .json();
    let changes = json!([{"key": "rings.ring0.items", "from": 16, "to": 12}, {"key": "tier", "from": 2, "to": 1}]);
    assert_eq!(
        (
            &checked["valid"],
            &checked["identical"],
            &checked["changes"]
        ),
        (&json!(true), &json!(false), &changes)
    );
    let words = person.gently(&["kernel", "check", &file]).exits(0).out;
    assert!(
        words.contains("rings.ring0.items  16 -> 12")
            && words.contains("tier               2 -> 1"),
        "{words}"
    );
    assert_eq!(
        person.gently(&["kernel", "show", "--json"]).json()["kernel_hash"],
        checked["compared_with"]
    );
}

#[test]
fn a_kernel_that_is_set_is_on_record_and_closes_what_ran_under_the_old_one() {
    let (person, file) = with_file(&[("tier = 2", "tier = 1")]);
    let old = person.gently(&["kernel", "show", "--json"]).json()["kernel_hash"].clone();
    let set = person
        .gently(&["kernel", "set", &file, "--json"])
        .exits(0)
        .json();
    assert_eq!(
        (&set["set"], set["closed"].as_array().unwrap().len()),
        (&json!(true), 1)
    );
    let new = set["kernel_hash"].as_str().unwrap().to_owned();
    assert_ne!(json!(new), old);
    let lines = person.log();
    let [end, line] = lines.last_chunk::<2>().unwrap();
    assert!(end.contains("|session_end|"), "{end}");
    assert!(
        line.contains(&format!(
            "|artifact|-|kind:kernel,id:kernel-{},hash:",
            &new[..16]
        )),
        "{line}"
    );
    let asked = person
        .gently(&["ask", "--json", "How is this machine doing?"])
        .exits(0)
        .json();
    assert_eq!(asked["session_opened"], true);
    let shown = person.gently(&["show", "last", "--json"]).exits(0).json();
    assert_eq!(shown["session"]["kernel_hash"], json!(new));
    assert_eq!(shown["session"]["tier"], 1);
    let sight = shown["bundle"]["sight"].as_object().unwrap();
    assert_eq!(sight.len(), 5);
    assert!(
        sight
            .values()
            .all(|entry| entry["reason"] == "blocked_by_tier"),
        "{sight:?}"
    );
    // The old exchange is still rendered under its own kernel, and everything holds.
    assert_eq!(person.verified()["answers"]["consistent"], "yes");
}

#[test]
fn a_broken_kernel_changes_nothing() {
    for (from, to, named) in [
        ("tier = 2", "tier = 4", "tier: expected 1, 2 or 3, got 4"),
        (
            "tier = 2",
            "tier = 2\nmood = \"good\"",
            "unknown field `mood`",
        ),
        ("phase = \"beta\"", "phase = beta", "kernel.toml"),
        ("items = 16", "items = 0", "rings.ring0.items"),
    ] {
        let (person, file) = with_file(&[(from, to)]);
        let lines = person.log();
        let checked = person.gently(&["kernel", "check", &file]).exits(1);
        assert!(checked.err.contains(named), "{to}: {checked:?}");
        let set = person.gently(&["kernel", "set", &file]).exits(2);
        assert!(
            set.err.contains(named) && set.err.contains("The kernel in force stays"),
            "{to}: {set:?}"
        );
        assert_eq!(person.log(), lines);
    }
    let person = Person::new();
    let words = person
        .gently(&["kernel", "check", "no-such.toml"])
        .exits(2)
        .err;
    assert!(
        words.contains("no-such.toml: there is no such file"),
        "{words}"
    );
    person.gently(&["kernel", "show"]).exits(2);
    person.gently(&["kernel", "set", "no-such.toml"]).exits(2);
    assert!(!person.home().exists());
}

#[test]
fn a_wrong_key_sets_no_kernel() {
    let (mut person, file) = with_file(&[("tier = 2", "tier = 3")]);
    person.set("GENTLY_AUTH_KEY", &"ab".repeat(32));
    let set = person.gently(&["kernel", "set", &file]).exits(2);
    assert!(set.err.contains("auth failed"), "{set:?}");
    assert!(
        !person
            .log()
            .iter()
            .any(|line| line.contains("|session_end|"))
    );
}
