//! The same secret has the same numbered placeholder within a session, and nothing of that outlives
//! the session.

use std::collections::{BTreeMap, HashSet};

use gently::govern::sanitize::{Placeholders, redact_with};
use gently::recorder::{Failpoint, RecorderError, RefusedPrompt, WriterLock};
use serde_json::Value;

use crate::erase::holders;
use crate::model_server::{Behaviour, ModelServer};
use crate::person::Person;
use crate::recorder::{Rig, anchor, at, denied, prompt_numbered, wait};

const ONE: &str = "password=Zq7rTx9mWv4k";
const TWO: &str = "password=Bn3cLp8sYd6h";

fn stored(person: &Person, id: &str) -> (String, String) {
    let shown = person.gently(&["show", id, "--json"]).exits(0).json();
    let text = |key: &str| shown[key].as_str().unwrap_or_default().to_owned();
    (text("prompt"), text("answer"))
}

fn rows(person: &Person) -> Vec<(String, u32, Option<Vec<u8>>)> {
    let database = person.database();
    let mut found = database
        .prepare("SELECT kind, number, tag FROM placeholder ORDER BY kind, number")
        .unwrap();
    found
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

#[test]
fn prompt_reply_and_artifacts_of_a_session_share_one_numbering() {
    let server = ModelServer::start(Behaviour::Says(format!("You said {TWO} and {ONE}.")));
    let person = Person::with(&[
        ("GENTLY_ANCHOR_MODE", "off"),
        ("GENTLY_MODEL_BASE_URL", &server.base_url()),
    ]);
    person
        .gently(&["ask", "--model", "openai/x", &format!("Is {ONE} good?")])
        .exits(0);
    let (prompt, answer) = stored(&person, "last");
    assert_eq!(prompt, "Is password=[redacted:password] good?");
    assert_eq!(
        answer,
        "You said password=[redacted:password-2] and password=[redacted:password]."
    );
    // A later turn: the other one first, then both. The model got the numbers, never the secrets.
    person
        .gently(&[
            "ask",
            "--model",
            "openai/x",
            "--no-ref",
            &format!("And {TWO}, or {ONE} then?"),
        ])
        .exits(0);
    let (prompt, _) = stored(&person, "last");
    assert_eq!(
        prompt,
        "And password=[redacted:password-2], or password=[redacted:password] then?"
    );
    let sent: String = server
        .requests()
        .iter()
        .map(|one| String::from_utf8_lossy(&one.body).into_owned())
        .collect();
    assert!(
        sent.contains("[redacted:password-2]") && !sent.contains("Zq7rTx9mWv4k"),
        "{sent}"
    );
    let fact = person
        .gently(&[
            "fact",
            "add",
            &format!("The door opens with {TWO}"),
            "--json",
        ])
        .exits(0)
        .json();
    assert_eq!(
        fact["content"]["text"],
        "The door opens with password=[redacted:password-2]"
    );
    let three = "password=Kj5gFw2nQe8z";
    let note = person
        .gently(&["note", "add", &format!("Not with {three}"), "--json"])
        .exits(0)
        .json();
    assert_eq!(
        note["content"]["text"],
        "Not with password=[redacted:password-3]"
    );
    // Another session has numbers of its own.
    person.gently(&["session", "close"]).exits(0);
    person
        .gently(&["ask", "--model", "openai/x", &format!("Is {TWO} good?")])
        .exits(0);
    assert_eq!(
        stored(&person, "last").0,
        "Is password=[redacted:password] good?"
    );
    assert_eq!(person.verified()["answers"]["consistent"], "yes");
}

#[test]
fn two_open_sessions_do_not_share_numbers() {
    let person = Person::new();
    person.ask(&format!("Is {ONE} good?"));
    person.ask(&format!("Is {TWO} good?"));
    assert_eq!(
        stored(&person, "last").0,
        "Is password=[redacted:password-2] good?"
    );
    // Another host role is another session; both stay open.
    let mut other = Person::with(&[]);
    other.dir = tempfile::tempdir().unwrap();
    let mut command = person.command(&["ask", &format!("Is {TWO} good?")]);
    command.env("GENTLY_SESSION_HOST_ROLE", "elsewhere");
    assert!(command.output().unwrap().status.success());
    assert_eq!(
        stored(&person, "last").0,
        "Is password=[redacted:password] good?"
    );
    let keys: HashSet<Vec<u8>> = {
        let database = person.database();
        let mut keys = database.prepare("SELECT key FROM placeholder_key").unwrap();
        keys.query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect()
    };
    assert_eq!(keys.len(), 2, "a key for each session");
}

#[test]
fn nothing_of_it_is_left_in_any_file_once_the_session_is_closed() {
    let person = Person::new();
    person.ask(&format!("Is {ONE} or {TWO} good?"));
    let tags: Vec<Vec<u8>> = rows(&person)
        .into_iter()
        .map(|(.., tag)| tag.unwrap())
        .collect();
    let key: Vec<u8> = person
        .database()
        .query_row("SELECT key FROM placeholder_key", [], |row| row.get(0))
        .unwrap();
    assert_eq!((tags.len(), key.len()), (2, 32));
    for bytes in tags.iter().chain([&key]) {
        assert!(
            !holders(person.home(), bytes).is_empty(),
            "it is there while the session is open"
        );
    }
    for secret in ["Zq7rTx9mWv4k", "Bn3cLp8sYd6h"] {
        assert!(
            holders(person.home(), secret.as_bytes()).is_empty(),
            "the secret itself never is"
        );
    }
    person.gently(&["session", "close"]).exits(0);
    assert!(rows(&person).is_empty());
    for bytes in tags.iter().chain([&key]) {
        assert_eq!(
            holders(person.home(), bytes),
            Vec::<std::path::PathBuf>::new()
        );
    }
    // A kernel that is set ends sessions alike.
    person.ask(&format!("Is {ONE} good?"));
    let tag = rows(&person).remove(0).2.unwrap();
    let kernel = person
        .gently(&["kernel", "show"])
        .exits(0)
        .out
        .replace("tier = 2", "tier = 1");
    std::fs::write(person.dir.path().join("k.toml"), kernel).unwrap();
    person.gently(&["kernel", "set", "k.toml"]).exits(0);
    assert!(rows(&person).is_empty() && holders(person.home(), &tag).is_empty());
}

#[test]
fn erasing_a_turn_forgets_which_secret_has_which_number_and_keeps_the_numbers_taken() {
    let person = Person::new();
    person.ask(&format!("Is {ONE} good?"));
    let tag = rows(&person).remove(0).2.unwrap();
    person.gently(&["erase", "--yes", "last"]).exits(0);
    assert!(holders(person.home(), &tag).is_empty());
    assert_eq!(rows(&person), [("password".to_owned(), 1, None)]);
    // The same secret is a new one now: nobody knows any more that it is the same.
    person.ask(&format!("Is {ONE} good?"));
    assert_eq!(
        stored(&person, "last").0,
        "Is password=[redacted:password-2] good?"
    );
    assert_eq!(person.verified()["answers"]["consistent"], "yes");
}

#[test]
fn many_at_once_in_one_session_agree_on_every_number() {
    let person = Person::new();
    person.ask("Open the session.");
    // Every process says one secret that all say, and one of its own.
    let own = [
        "Zw8nVb3qTm5y",
        "Lr6pXc9dGs2f",
        "Hv4jKz7wNe3t",
        "Qd5mBy8xRa6u",
    ];
    let children: Vec<_> = own
        .iter()
        .map(|secret| {
            let question = format!("password={secret} and password=Mf7tUo2iPk9c, is that good?");
            let mut command = person.command(&["ask", "--no-ref", "--json", &question]);
            command
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let mut shared = HashSet::new();
    let mut numbers = BTreeMap::new();
    for (child, secret) in children.into_iter().zip(own) {
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let facts: Value = serde_json::from_slice(&output.stdout).unwrap();
        let prompt = stored(&person, facts["exchange"].as_str().unwrap()).0;
        let mut named = prompt
            .split("password=")
            .skip(1)
            .map(|part| part.split(']').next().unwrap().to_owned());
        numbers.insert(secret, named.next().unwrap());
        shared.insert(named.next().unwrap());
    }
    assert_eq!(shared.len(), 1, "one secret, one number: {shared:?}");
    let distinct: HashSet<&String> = numbers.values().chain(&shared).collect();
    assert_eq!(distinct.len(), own.len() + 1, "{numbers:?} {shared:?}");
    assert_eq!(rows(&person).len(), own.len() + 1);
    assert_eq!(person.verified()["answers"]["consistent"], "yes");
}

fn cleaned(text: &str, numbers: &mut Placeholders) -> String {
    redact_with(text, numbers).clean.as_str().to_owned()
}

#[test]
fn the_second_of_two_turns_is_told_and_leaves_no_trace() {
    let rig = Rig::new();
    let recorder = rig.recorder(at(10));
    wait(async {
        let session = recorder
            .open_session(rig.terms(), anchor(829_604), at(10))
            .await
            .unwrap();
        let mut first = recorder.placeholders(&rig.store(), session.uuid).unwrap();
        let mut second = first.clone();
        let (one, two) = (cleaned(ONE, &mut first), cleaned(TWO, &mut second));
        assert_eq!(one, two, "both took the first number");
        let held = prompt_numbered(&recorder, &session, &one, first, at(11))
            .await
            .unwrap();
        let lines = rig.log();
        let refused = prompt_numbered(&recorder, &session, &two, second, at(12))
            .await
            .unwrap_err();
        assert!(
            matches!(refused, RecorderError::PlaceholdersChanged),
            "{refused}"
        );
        assert_eq!(
            (
                rig.log(),
                rig.store().placeholders(session.uuid).unwrap().given.len()
            ),
            (lines, 1)
        );
        let mut again = recorder.placeholders(&rig.store(), session.uuid).unwrap();
        let two = cleaned(TWO, &mut again);
        assert_eq!(two, "password=[redacted:password-2]");
        drop(
            prompt_numbered(&recorder, &session, &two, again, at(13))
                .await
                .unwrap(),
        );
        drop(held);
    });
}

#[test]
fn one_of_a_batch_that_fails_after_it_has_written_is_undone_alone() {
    let rig = Rig::new();
    let recorder = rig.recorder(at(10));
    wait(async {
        let session = recorder
            .open_session(rig.terms(), anchor(829_604), at(10))
            .await
            .unwrap();
        let mut first = recorder.placeholders(&rig.store(), session.uuid).unwrap();
        let mut second = first.clone();
        let (one, two) = (cleaned(ONE, &mut first), cleaned(TWO, &mut second));
        let held = prompt_numbered(&recorder, &session, &one, first, at(11))
            .await
            .unwrap();
        // Takes the higher block, which is a line and a row, before it is told that its number is
        // taken.
        let failing = RefusedPrompt {
            numbers: second,
            anchor: Some(anchor(829_605)),
            ..denied(&session, &two, at(12))
        };
        let (before, lines) = (rig.store().head().unwrap().lines, rig.log().len());
        let lock =
            WriterLock::acquire_within(&rig.home_paths().lock(), std::time::Duration::from_secs(1))
                .unwrap();
        let texts: Vec<String> = (0..5).map(|n| format!("{n}?")).collect();
        let numbers = || Placeholders::new([0; 32]);
        let others = texts
            .iter()
            .map(|text| prompt_numbered(&recorder, &session, text, numbers(), at(12)));
        let mut waiting: Vec<_> = others.map(Box::pin).collect();
        let last = waiting.split_off(3);
        let (some, refused, rest, ()) = futures_util::join!(
            futures_util::future::join_all(waiting),
            recorder.refuse(failing),
            futures_util::future::join_all(last),
            async { drop(lock) }
        );
        assert!(
            matches!(refused, Err(RecorderError::PlaceholdersChanged)),
            "{refused:?}"
        );
        assert!(
            some.iter().chain(&rest).all(Result::is_ok),
            "the others are on record"
        );
        assert_eq!(rig.store().head().unwrap().lines, before + 5);
        let added = String::from_utf8(rig.log().split_off(lines)).unwrap();
        assert_eq!(
            added
                .lines()
                .filter(|line| line.contains("|829604|") && line.contains("|prompt|"))
                .count(),
            5,
            "{added}"
        );
        drop((some, rest, held));
        recorder
            .close_session(session.id, anchor(829_605), at(13))
            .await
            .unwrap();
    });
    drop(recorder);
    rig.assert_sound("one of a batch failed");
}

#[test]
fn a_crash_loses_no_number_of_a_text_on_record_and_leaves_none_of_a_text_that_is_not() {
    for (step, on_record) in [
        (Failpoint::BeforeCommit, false),
        (Failpoint::AfterCommit, true),
    ] {
        let rig = Rig::new();
        let session = {
            let recorder = rig.recorder(at(10));
            wait(recorder.open_session(rig.terms(), anchor(829_604), at(10))).unwrap()
        };
        let recorder = rig
            .watched(at(11), std::sync::Arc::new(move |at| at != step))
            .unwrap();
        let mut numbers = recorder.placeholders(&rig.store(), session.uuid).unwrap();
        let text = cleaned(ONE, &mut numbers);
        wait(prompt_numbered(&recorder, &session, &text, numbers, at(11))).unwrap_err();
        drop(recorder);
        let recorder = rig.recorder(at(12));
        let store = rig.store();
        let mut known = recorder.placeholders(&store, session.uuid).unwrap();
        assert_eq!(
            store.placeholders(session.uuid).unwrap().given.len(),
            usize::from(on_record),
            "{step:?}"
        );
        let other = if on_record {
            "password=[redacted:password-2]"
        } else {
            "password=[redacted:password]"
        };
        assert_eq!(cleaned(TWO, &mut known), other, "{step:?}");
        wait(recorder.close_session(session.id, anchor(829_604), at(13))).unwrap();
        drop(recorder);
        rig.assert_sound("after the crash");
    }
}
