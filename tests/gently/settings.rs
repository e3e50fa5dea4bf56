//! What the record says of settings: that some changed, and which, before the first record under
//! others; never a value.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::person::Person;

/// An empty folder is as good as none: the first setting makes a whole home there, as the first question does.
#[test]
fn the_first_setting_makes_a_home_in_an_empty_folder() {
    let person = Person::new();
    std::fs::create_dir(person.home()).unwrap();
    person
        .gently(&["config", "set", "session.idle_minutes", "31"])
        .exits(0);
    person.ask("How full is the disk?");
    assert_eq!(person.verified()["answers"]["consistent"], "yes");
}

/// What a new home is told of is under the setting that made it.
#[test]
fn a_first_setting_that_turns_anchors_off_is_told_of_no_address() {
    for (value, is_told) in [("off", false), ("auto", true)] {
        let person = Person::with(&[]);
        let made = person
            .gently(&["config", "set", "anchor.mode", value])
            .exits(0);
        let (kept, asks) = ("gently keeps your records in", "It asks these");
        assert!(made.err.contains(kept), "{made:#?}");
        assert_eq!(made.err.contains(asks), is_told, "{made:#?}");
    }
}

/// The documents of what says that settings changed, oldest first; null where one is lost.
fn reloads(person: &Person) -> Vec<Value> {
    let database = person.database();
    let sql = "SELECT document FROM artifact WHERE kind = 'config_reload' ORDER BY line";
    let mut statement = database.prepare(sql).unwrap();
    let documents = statement.query_map([], |row| row.get::<_, Option<String>>(0));
    let content = |document: Option<String>| {
        let document = document.map(|text| serde_json::from_str::<Value>(&text).unwrap());
        document.map_or(Value::Null, |document| document["content"].clone())
    };
    let rows: Vec<Value> = documents
        .unwrap()
        .map(|row| content(row.unwrap()))
        .collect();
    let lines = person.log().into_iter();
    let lines = lines.filter(|line| line.contains("|artifact|-|kind:config_reload,"));
    assert_eq!(lines.count(), rows.len(), "a line each");
    rows
}

/// The names of what changed, of each.
fn changed(person: &Person) -> Vec<Value> {
    let all = reloads(person).into_iter();
    all.map(|content| content["changed"].clone()).collect()
}

/// The files of a home that hold some words.
fn holding(folder: &Path, words: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, words));
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        if bytes
            .windows(words.len())
            .any(|some| some == words.as_bytes())
        {
            found.push(path.display().to_string());
        }
    }
    found
}

/// The names of the lines behind one, in their order.
fn events_after(person: &Person, from: usize) -> Vec<String> {
    let lines = person.log();
    let name = |line: &String| line.split('|').nth(3).unwrap().to_owned();
    lines[from..].iter().map(name).collect()
}

fn audited(person: &Person) {
    person.gently(&["audit", "verify"]).exits(0);
}

#[test]
fn a_change_is_named_once_before_the_next_record_and_without_values() {
    let mut person = Person::new();
    person.gently(&["init"]).exits(0);
    person
        .gently(&["note", "add", "Something to begin with."])
        .exits(0);
    person.ask("What is the first?");
    person.ask("And the second?");
    assert_eq!(
        changed(&person),
        [] as [Value; 0],
        "the first are not named"
    );

    // What says nothing of records, and what only reads.
    for (key, value) in [("model.timeout_s", "99"), ("conversation.project", "none")] {
        person.gently(&["config", "set", key, value]).exits(0);
    }
    person.ask("Does it take longer?");
    person
        .gently(&["config", "set", "session.idle_minutes", "31"])
        .exits(0);
    person.gently(&["session", "list"]).exits(0);
    assert_eq!(changed(&person), [] as [Value; 0]);

    let before = person.log().len();
    person.ask("What has changed?");
    assert_eq!(changed(&person), [json!(["session.idle_minutes"])]);
    assert_eq!(events_after(&person, before)[..2], ["artifact", "prompt"]);
    person.ask("And now?");
    assert_eq!(changed(&person).len(), 1);
    audited(&person);

    person
        .gently(&["config", "set", "session.idle_minutes", "30"])
        .exits(0);
    person.ask("And back?");
    person
        .gently(&["config", "set", "session.idle_minutes", "31"])
        .exits(0);
    person.ask("And forth?");
    let digests: Vec<Value> = reloads(&person)
        .into_iter()
        .map(|content| content["digest"].clone())
        .collect();
    assert_eq!(digests.len(), 3);
    assert_eq!(
        (&digests[0], digests[0] == digests[1]),
        (&digests[2], false)
    );

    // A variable, in another order than the one that names are in; before a session's start, too.
    let secret = "Xyzzy-plugh-hunter2";
    person.set("GENTLY_SESSION_HOST_ROLE", "a desk");
    person.set("GENTLY_SANITIZE_ALLOW", &format!("[\"{secret}\"]"));
    let before = person.log().len();
    person.ask("Who asks?");
    let newest = reloads(&person).pop().unwrap();
    assert_eq!(
        newest["changed"],
        json!(["sanitize.allow", "session.host_role"])
    );
    assert_eq!(newest.as_object().unwrap().len(), 2);
    assert_eq!(
        events_after(&person, before)[..2],
        ["artifact", "session_start"]
    );
    assert_eq!(holding(&person.home(), secret), [] as [String; 0]);
    person.unset("GENTLY_SANITIZE_ALLOW");
    person.gently(&["note", "add", "Without it."]).exits(0);
    assert_eq!(changed(&person).pop().unwrap(), json!(["sanitize.allow"]));
    audited(&person);

    let types: u32 = person
        .database()
        .query_row(
            "SELECT count(*) FROM audit_log WHERE event_type = 'config_reload'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(types, 5);
}

#[test]
fn two_at_once_name_a_change_once_and_two_settings_by_turns_each_time() {
    let person = Person::new();
    person.ask("Before?");
    for (at, idle) in ["31", "32", "33"].into_iter().enumerate() {
        person
            .gently(&["config", "set", "session.idle_minutes", idle])
            .exits(0);
        let children: Vec<_> = (0..3)
            .map(|n| {
                let mut command = person.command(&["ask", &format!("Who is {n}?")]);
                command.stdout(Stdio::null()).stderr(Stdio::null());
                command.spawn().unwrap()
            })
            .collect();
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
        assert_eq!(changed(&person).len(), at + 1);
    }
    audited(&person);

    let ask_with = |idle: &str| {
        let mut command = person.command(&["ask", "By turns?"]);
        command.env("GENTLY_SESSION_IDLE_MINUTES", idle);
        assert!(command.output().unwrap().status.success());
    };
    for idle in ["40", "41", "41", "40"] {
        ask_with(idle);
    }
    let named = changed(&person);
    assert_eq!(named.len(), 6);
    assert!(
        named
            .iter()
            .all(|names| *names == json!(["session.idle_minutes"]))
    );
    audited(&person);
}

#[test]
fn what_is_rebuilt_or_taken_over_keeps_it() {
    let mut person = Person::new();
    person.set("GENTLY_PASSPHRASE", "correct horse");
    person.gently(&["init"]).exits(0);
    person.ask("What is old?");
    let file = person.dir.path().join("backup").display().to_string();
    person.gently(&["backup", &file]).exits(0);
    person
        .gently(&["config", "set", "model.seed", "7"])
        .exits(0);
    person.ask("What is new?");
    assert_eq!(changed(&person), [json!(["model.seed"])]);

    let log = person.log();
    std::fs::remove_file(person.at("audit.log")).unwrap();
    person.gently(&["audit", "rebuild"]).exits(0);
    assert_eq!(person.log()[..log.len()], log);
    person.ask("Is it whole?");
    assert_eq!(changed(&person).len(), 1);
    audited(&person);

    let gone = person.dir.path().join("gone");
    std::fs::rename(person.home(), &gone).unwrap();
    person.gently(&["restore", &file]).exits(0);
    let (ledger, log) = (gone.join("ledger.git"), gone.join("audit.log"));
    let (ledger, log) = (ledger.display().to_string(), log.display().to_string());
    person
        .gently(&["audit", "adopt", "--from", &ledger, "--log", &log])
        .exits(0);
    audited(&person);
    assert_eq!(reloads(&person), [Value::Null]);
    // Which settings those were is not known here: those of the next record are named, whatever
    // they are.
    person.ask("And after?");
    person.ask("And later?");
    let named = reloads(&person);
    assert_eq!((named.len(), &named[1]["changed"]), (2, &json!([])));
    audited(&person);
}
