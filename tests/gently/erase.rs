//! Erasing: no copy of a text is left in any file of the home, and the evidence still holds.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use gently::govern::sanitize::redact;
use gently::home::{Home, InitOptions};
use gently::record::hash::Hash32;
use gently::record::ledger::commitment::Salt;
use gently::record::time::Seconds;
use gently::recorder::{ArtifactField, ArtifactId, Erasure, NewArtifact, RecorderError, always};
use serde_json::json;

use crate::model_server::{Behaviour, ModelServer};
use crate::person::{Person, at_rest, by_hand};
use crate::recorder::{Rig, anchor, at, counted, prompt, turn, wait};

/// What nobody else writes.
const PROMPT: &str = "Restart nginx, and tell nobody of project quetzalcoatl";
const ANSWER: &str = "I will restart nginx for zygomorphic reasons";

/// The files below a folder that hold these bytes.
pub fn holders(root: PathBuf, bytes: &[u8]) -> Vec<PathBuf> {
    let mut all = std::collections::BTreeMap::new();
    crate::recorder::read_all(&root, &mut all);
    assert!(all.len() > 10);
    all.into_iter()
        .filter(|(_, file)| file.windows(bytes.len()).any(|part| part == bytes))
        .map(|(path, _)| path)
        .collect()
}

/// Whether a file below a folder holds these bytes; over encrypted homes none does, and nothing is said.
fn is_readable(root: PathBuf, bytes: &[u8]) -> bool {
    !at_rest().is_empty() || !holders(root, bytes).is_empty()
}

fn answered(answer: &str) -> (Person, ModelServer) {
    let server = ModelServer::start(Behaviour::Says(answer.to_owned()));
    let person = Person::with(&[
        ("GENTLY_ANCHOR_MODE", "off"),
        ("GENTLY_MODEL_BASE_URL", &server.base_url()),
    ]);
    (person, server)
}

/// What no model was shown was quoted by nobody; the rest stands in the order of the conversation.
#[test]
fn what_is_said_before_an_erasure_is_so() {
    let (mut person, _server) = answered(ANSWER);
    person.set("GENTLY_MODEL_DEFAULT", "openai/x");
    person.gently(&["ask", " "]).exits(1);
    for _ in 0..5 {
        person.ask("Something else");
    }
    let dry = |id: &str| {
        let told = person.gently(&["erase", id, "--dry-run"]).exits(0).out;
        let view = person
            .gently(&["erase", id, "--dry-run", "--json"])
            .exits(0)
            .json();
        (told, view)
    };
    let numbers = |list: &serde_json::Value| -> Vec<u64> {
        let ids = list.as_array().unwrap().iter();
        let number = |one: &serde_json::Value| {
            let id = one["id"].as_str().unwrap();
            id.split_once('/').unwrap().1.parse().unwrap()
        };
        ids.map(number).collect()
    };
    let (told, view) = dry("last/1");
    assert!(
        told.lines().next().unwrap().ends_with("; it has no answer"),
        "{told}"
    );
    assert!(!told.contains("also shown to a model"), "{told}");
    assert!(
        told.contains("\n5 other questions refer to it and keep their texts; ")
            && told.contains("/2, ")
            && told.contains("/4 and 2 more\n"),
        "{told}"
    );
    assert_eq!(numbers(&view["contexts"]), [2, 3, 4, 5, 6]);
    assert_eq!(view["contexts"], view["referring"]);
    assert_eq!(view["exchanges"][0]["answered"], false);

    let (told, view) = dry("last/2");
    assert!(told.contains(", and the answer of openai/x\n"), "{told}");
    assert!(
        told.contains(
            "the words were also shown to a model with 4 other questions, and go from there, too: "
        ) && told.contains("/5 and 1 more; their answers stay, and may repeat them. gently erase "),
        "{told}"
    );
    assert_eq!(numbers(&view["contexts"]), [3, 4, 5, 6]);
    assert_eq!(view["referring"], json!([]));

    let erased = person.gently(&["erase", "last/2", "--yes"]).exits(0);
    assert_eq!(erased.out.lines().count(), 3, "{}", erased.out);
    assert!(erased.out.contains("4 other questions"), "{}", erased.out);
    person.gently(&["audit", "verify"]).exits(0);
}

#[test]
fn no_file_of_the_home_holds_an_erased_text_and_everything_still_holds() {
    let (person, _server) = answered(ANSWER);
    person
        .gently(&["ask", "--model", "openai/x", PROMPT])
        .exits(0);
    person
        .gently(&["ask", "--model", "openai/x", "Something else"])
        .exits(0);
    let digests = [PROMPT, ANSWER].map(|text| Hash32::digest(text.as_bytes()).to_string());
    let words = ["quetzalcoatl", "zygomorphic", &digests[0]];
    for word in words {
        assert!(is_readable(person.home(), word.as_bytes()), "{word}");
    }
    let before = person
        .gently(&["show", "interaction-1", "--json", "--full"])
        .exits(0)
        .json();
    let salt: Vec<u8> = person
        .database()
        .query_row("SELECT salt FROM llm_exchange WHERE seq = 1", [], |row| {
            row.get(0)
        })
        .unwrap();
    let erased = person
        .gently(&[
            "erase",
            "--yes",
            "interaction-1",
            "--reason",
            "asked to",
            "--json",
        ])
        .exits(0)
        .json();
    assert_eq!(
        (&erased["exchanges"], &erased["scrubbed"]),
        (&json!([before["exchange"]]), &json!(true))
    );
    // The other answer says the same words, and quotes are erased with what they quote.
    assert_eq!(
        erased["artifacts"].as_array().unwrap().len(),
        2,
        "the intents of prompt and reply"
    );
    assert!(
        holders(person.home(), b"quetzalcoatl").is_empty(),
        "{:?}",
        holders(person.home(), b"quetzalcoatl")
    );
    assert!(holders(person.home(), digests[0].as_bytes()).is_empty());
    assert!(holders(person.home(), &salt).is_empty(), "the salt");
    person.gently(&["erase", "--yes", "interaction-2"]).exits(0);
    assert!(
        holders(person.home(), b"zygomorphic").is_empty(),
        "{:?}",
        holders(person.home(), b"zygomorphic")
    );
    assert!(holders(person.home(), digests[1].as_bytes()).is_empty());
    // What is left says so, and agrees with the ledger.
    let after = person
        .gently(&["show", "interaction-1", "--json", "--full"])
        .exits(0)
        .json();
    assert_eq!(
        (&after["prompt"], &after["answer"]),
        (&json!(null), &json!(null))
    );
    assert_eq!(after["hashes"], before["hashes"]);
    assert_eq!(
        (
            &after["erased"]["reason"],
            after["erased"]["at"].is_string()
        ),
        (&json!("asked to"), true)
    );
    assert!(
        person
            .gently(&["show", "interaction-1", "--full"])
            .exits(0)
            .out
            .contains("erased: asked to")
    );
    let report = person.verified();
    assert_eq!(
        (
            &report["answers"]["consistent"],
            &report["answers"]["complete"]
        ),
        (&json!("yes"), &json!("yes"))
    );
    // Two exchanges, and three intents: one of a prompt, two of replies.
    let words = person.gently(&["audit", "verify", "-v"]).exits(0).out;
    assert!(words.contains(", 5 erased"), "{words}");
    assert!(
        person
            .log()
            .iter()
            .any(|line| line.contains("|artifact|-|kind:tombstone,id:tombstone-"))
    );
    assert_eq!(
        person
            .git(&["fsck", "--strict", "--no-progress"])
            .exits(0)
            .err,
        ""
    );
    // Once more: nothing is left to erase, and nothing is recorded.
    let lines = person.log();
    assert!(
        person
            .gently(&["erase", "--yes", "interaction-1"])
            .exits(0)
            .err
            .contains("nothing to erase")
    );
    assert_eq!(person.log(), lines);
    // No replay finds it, and the home goes on.
    person
        .gently(&["ask", "--model", "replay", PROMPT])
        .exits(2);
    person.ask("How is this machine doing?");
    let rows: Vec<serde_json::Value> = person
        .gently(&["action", "list", "--json"])
        .json()
        .as_array()
        .unwrap()
        .clone();
    assert!(
        rows[..3]
            .iter()
            .all(|row| row["erased"] == true && row["what"].is_null()),
        "{rows:?}"
    );
}

/// SQLite does not wait for another connection that empties the log just then, and that one is no reader.
#[test]
fn somebody_else_who_empties_the_log_is_waited_for() {
    let person = Person::new();
    person.ask("Who was quetzalcoatl?");
    let other = person.database();
    let counted = other.query_row("SELECT count(*) FROM chat_turn", [], |row| row.get(0));
    assert!(counted.is_ok_and(|turns: u32| turns > 0));
    // The lock that a checkpoint holds, by SQLite's own numbers: the second byte of its locks.
    let held = "import fcntl, sys, time
shm = open(sys.argv[1], 'r+b')
fcntl.lockf(shm, fcntl.LOCK_EX, 1, 121)
print('held', flush=True)
time.sleep(2)";
    let mut holder = Command::new("python3")
        .args(["-c", held])
        .arg(person.at("gently.db-shm"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let out = holder.stdout.take().unwrap();
    BufReader::new(out).read_line(&mut said).unwrap();
    assert_eq!(said, "held\n");
    let erased = person.gently(&["erase", "--yes", "last", "--json"]);
    assert_eq!(erased.exits(0).json()["scrubbed"], true);
    assert!(holders(person.home(), b"quetzalcoatl").is_empty());
    assert!(holder.wait().unwrap().success());
}

#[test]
fn what_a_reader_holds_up_the_next_record_finishes() {
    let person = Person::new();
    person.ask("Who was quetzalcoatl?");
    let reader = person.database();
    reader
        .execute_batch("BEGIN; SELECT count(*) FROM chat_turn;")
        .unwrap();
    reader
        .query_row("SELECT count(*) FROM chat_turn", [], |row| {
            row.get::<_, i64>(0)
        })
        .unwrap();
    let erased = person
        .gently(&["erase", "--yes", "last", "--json"])
        .exits(0);
    assert_eq!(erased.json()["scrubbed"], false);
    let until = "once it has ended, the next command that records something empties it, for example gently session open";
    let told = erased.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        told.contains("gently.db-wal") && told.contains(until),
        "{erased:?}"
    );
    let json = erased.json();
    assert!(
        json["unscrubbed"].as_str().unwrap().contains(until),
        "{json}"
    );
    assert!(
        is_readable(person.home(), b"quetzalcoatl"),
        "the reader sees it still"
    );
    drop(reader);
    // What only looks empties nothing, and doctor says what does.
    person.gently(&["search", "quetzalcoatl"]);
    let database = || {
        let checks = person.gently(&["doctor", "--json"]).json()["checks"].clone();
        let checks = checks.as_array().unwrap().clone();
        let found = checks
            .into_iter()
            .find(|check| check["check"] == "database");
        found.unwrap()
    };
    let left = database();
    assert_eq!(left["state"], "warn", "{left}");
    assert!(left.to_string().contains("gently.db-wal"), "{left}");
    assert!(left.to_string().contains("gently session open"), "{left}");
    person.gently(&["session", "open"]).exits(0);
    assert!(holders(person.home(), b"quetzalcoatl").is_empty());
    assert_eq!(database()["state"], "ok");
    assert_eq!(person.verified()["answers"]["consistent"], "yes");
}

/// A program that runs on does it, too, with what it records next.
#[test]
fn what_a_reader_holds_up_goes_with_the_next_record_of_a_program_that_runs_on() {
    let rig = Rig::new();
    let recorder = rig.recorder(at(10));
    wait(recorder.artifact(note("of quetzalcoatl", at(11)), always)).unwrap();
    let reader = rig.store();
    reader.begin_read().unwrap();
    assert!(reader.newest_artifact("memo").unwrap().is_some());
    let what = Erasure {
        exchanges: vec![],
        artifacts: vec!["memo:000001".to_owned()],
        reason: redact("test").clean,
    };
    let erased = wait(recorder.erase(what, Salt::new([9; 32]), at(12))).unwrap();
    assert!(!erased.scrubbed);
    assert!(is_readable(rig.root(), b"quetzalcoatl"));
    reader.end_read().unwrap();
    wait(recorder.artifact(note("of another", at(13)), always)).unwrap();
    // It does so when it has answered.
    let begun = std::time::Instant::now();
    while !holders(rig.root(), b"quetzalcoatl").is_empty() {
        assert!(begun.elapsed().as_secs() < 20, "the words stay");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    drop(recorder);
    assert!(!rig.store().is_to_scrub().unwrap());
}

#[test]
fn a_text_that_is_gone_without_a_tombstone_and_one_that_stayed_with_it_are_findings() {
    let gone = Person::new();
    gone.ask("one");
    let database = by_hand(gone.at("gently.db"), rusqlite::OpenFlags::default());
    database.execute_batch("UPDATE chat_turn SET content = NULL, content_hash = NULL; UPDATE llm_exchange SET salt = NULL, response_hash = NULL").unwrap();
    let report = gone.gently(&["audit", "verify", "-v"]).exits(1).out;
    assert!(report.contains("or a tombstone on record"), "{report}");

    let kept = Person::new();
    kept.ask("one");
    kept.gently(&["erase", "--yes", "last"]).exits(0);
    let database = by_hand(kept.at("gently.db"), rusqlite::OpenFlags::default());
    let sql = "UPDATE chat_turn SET content = 'made up', content_hash = ?1 WHERE speaker = 'user'";
    database
        .execute(sql, [Hash32::digest(b"made up").to_string()])
        .unwrap();
    let report = kept.gently(&["audit", "verify", "-v"]).exits(1).out;
    assert!(report.contains("no text, as it is erased"), "{report}");
}

fn note(text: &str, now: Seconds) -> NewArtifact {
    NewArtifact {
        kind: "memo",
        id: ArtifactId::Next { prefix: "memo" },
        content: vec![("text", ArtifactField::Text(redact(text).clean))],
        session: None,
        salt: Salt::new([7; 32]),
        now,
    }
}

#[test]
fn artifacts_are_erased_alike_and_a_home_keeps_what_it_needs() {
    let rig = Rig::new();
    let recorder = rig.recorder(at(10));
    let erase = |artifacts: &[&str], now| {
        let artifacts = artifacts.iter().map(|id| (*id).to_owned()).collect();
        let what = Erasure {
            exchanges: vec![],
            artifacts,
            reason: redact("test").clean,
        };
        wait(recorder.erase(what, Salt::new([9; 32]), at(now)))
    };
    wait(recorder.artifact(note("of quetzalcoatl", at(11)), always)).unwrap();
    wait(recorder.artifact(note("of another", at(12)), always)).unwrap();
    let erased = erase(&["memo:000001"], 13).unwrap();
    assert_eq!(
        (erased.artifacts, erased.scrubbed),
        (vec!["memo:000001".to_owned()], true)
    );
    assert!(holders(rig.root(), b"quetzalcoatl").is_empty());
    assert!(is_readable(rig.root(), b"of another"));
    let kernel = rig.store().newest_artifact("kernel").unwrap().unwrap().id;
    for (id, why) in [
        (kernel.as_str(), "can't do without"),
        ("memo:000009", "there is no artifact"),
        ("", "no artifact"),
    ] {
        let refused = erase(&[id], 14).unwrap_err();
        assert!(
            matches!(&refused, RecorderError::NotAllowed { reason } if reason.contains(why)),
            "{refused}"
        );
    }
    // All or nothing.
    assert!(erase(&["memo:000002", "memo:000009"], 15).is_err());
    assert!(is_readable(rig.root(), b"of another"));
    drop(recorder);
    rig.assert_sound("an erased artifact");
}

#[test]
fn what_waits_for_its_answer_is_not_erased() {
    let rig = Rig::new();
    let recorder = rig.recorder(at(10));
    wait(async {
        let session = recorder
            .open_session(rig.terms(), anchor(829_604), at(10))
            .await
            .unwrap();
        let waiting = prompt(&recorder, &session, "one", at(11)).await.unwrap();
        let exchanges = vec![waiting.ids().exchange];
        let what = Erasure {
            exchanges,
            artifacts: vec![],
            reason: redact("test").clean,
        };
        let refused = recorder
            .erase(what, Salt::new([9; 32]), at(12))
            .await
            .unwrap_err();
        assert!(
            refused.to_string().contains("still waits for its answer"),
            "{refused}"
        );
    });
}

/// A home whose first turns are three days old.
#[test]
fn a_retention_erases_what_is_older_and_nothing_else() {
    let person = Person::new();
    let days_ago = |days: u64| {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs();
        Seconds::new(now - days * 86_400).unwrap()
    };
    Home::init(
        &person.home(),
        &InitOptions::default(),
        &mut counted(),
        days_ago(3),
    )
    .unwrap();
    let rig = Rig::borrowed(&person.home());
    let recorder = rig.recorder(days_ago(3));
    wait(async {
        let session = recorder
            .open_session(rig.terms(), anchor(829_604), days_ago(3))
            .await
            .unwrap();
        for n in 0..25 {
            turn(
                &recorder,
                &session,
                &format!("old quetzalcoatl {n}"),
                days_ago(3),
            )
            .await
            .unwrap();
        }
    });
    drop(recorder);
    assert!(
        person
            .gently(&["erase", "--yes", "--due"])
            .exits(2)
            .err
            .contains("retention.content_days is not set")
    );
    person
        .gently(&["config", "set", "retention.content_days", "2"])
        .exits(0);
    // A turn erases some, and --due the rest.
    let asked = person.ask("And the young quetzalcoatl?");
    assert!(
        asked.err.contains("erased 20 questions older than 2 days"),
        "{asked:?}"
    );
    let erased = person
        .gently(&["erase", "--yes", "--due", "--json"])
        .exits(0)
        .json();
    assert_eq!(erased["exchanges"].as_array().unwrap().len(), 5);
    assert!(holders(person.home(), b"old quetzalcoatl").is_empty());
    assert!(is_readable(person.home(), b"young quetzalcoatl"));
    assert!(
        person
            .gently(&["erase", "--yes", "--older-than", "1"])
            .exits(0)
            .err
            .contains("nothing to erase")
    );
    assert_eq!(person.verified()["answers"]["consistent"], "yes");
    person.gently(&["erase"]).exits(2);
    person.gently(&["erase", "--yes", "last", "--due"]).exits(2);
}

/// With the last text of a conversation that a retention is over for, its title goes.
#[test]
fn a_retention_erases_the_title_of_what_it_empties() {
    let person = Person::new();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let then = Seconds::new(now.as_secs() - 3 * 86_400).unwrap();
    let options = InitOptions::default();
    Home::init(&person.home(), &options, &mut counted(), then).unwrap();
    let rig = Rig::borrowed(&person.home());
    let recorder = rig.recorder(then);
    wait(async {
        let anchor = anchor(829_604);
        let session = recorder.open_session(rig.terms(), anchor, then).await;
        turn(&recorder, &session.unwrap(), "Who was that?", then)
            .await
            .unwrap();
    });
    drop(recorder);
    person
        .gently(&["conversation", "rename", "last", "walrus patient John"])
        .exits(0);
    person
        .gently(&["config", "set", "retention.content_days", "2"])
        .exits(0);
    assert!(is_readable(person.home(), b"walrus"));
    let asked = person.gently(&["ask", "--new", "And the young one?"]);
    let told = asked.exits(0).err;
    assert!(
        told.contains("erased 1 question older than 2 days"),
        "{told}"
    );
    assert!(holders(person.home(), b"walrus").is_empty());
    assert_eq!(person.verified()["answers"]["consistent"], "yes");
}

/// Of a home with a closed session and a passphrase in its environment: everything that copies or
/// restores it goes on, both verifiers agree, and the report says this of what is not there.
pub fn goes_on(person: &Person, says: &str) {
    let sound = |what: &str| {
        let report = person.gently(&["audit", "verify", "-v"]).exits(0).out;
        assert!(
            report.contains("consistent:  yes") && report.contains(says),
            "{what}: {report}"
        );
        let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/verify.py");
        let log = person.at("audit.log");
        let mut python = std::process::Command::new("python3");
        python
            .arg(script)
            .arg(person.at("ledger.git"))
            .arg("--log")
            .arg(log)
            .arg("--json");
        let theirs = crate::person::run(&mut python).exits(0).json();
        assert_eq!(theirs["answers"]["consistent"], "yes", "{what}: {theirs}");
        assert_eq!(
            person
                .git(&["fsck", "--strict", "--no-progress"])
                .exits(0)
                .err,
            "",
            "{what}"
        );
    };
    sound("as it is");
    let export = person.dir.path().join("export");
    let session = person
        .gently(&["session", "list", "--json"])
        .exits(0)
        .json()[0]["session"]
        .as_str()
        .unwrap()
        .to_owned();
    person
        .gently(&["audit", "export", &session, export.to_str().unwrap()])
        .exits(0);
    for part in ["audit.log", "ledger.git"] {
        let (here, aside) = (person.at(part), person.dir.path().join("aside"));
        std::fs::rename(&here, &aside).unwrap();
        person.gently(&["audit", "rebuild"]).exits(0);
        sound(part);
        if aside.is_dir() {
            std::fs::remove_dir_all(&aside)
        } else {
            std::fs::remove_file(&aside)
        }
        .unwrap();
    }
    let file = person.dir.path().join("home.age");
    person.gently(&["backup", file.to_str().unwrap()]).exits(0);
    std::fs::rename(person.home(), person.dir.path().join("lost")).unwrap();
    person.gently(&["restore", file.to_str().unwrap()]).exits(0);
    sound("restored");
    person
        .gently(&["audit", "adopt", "--nothing-newer"])
        .exits(0);
    person.ask("And it goes on?");
    person.gently(&["session", "close"]).exits(0);
    let report = person.verified();
    assert_eq!(report["answers"]["consistent"], "yes", "{report}");
}

#[test]
fn backup_restore_rebuild_export_and_both_verifiers_go_on_with_an_erased_exchange() {
    let (mut person, _server) = answered(ANSWER);
    person.set("GENTLY_PASSPHRASE", "correct horse battery");
    person.ask("Who is quetzalcoatl?");
    person.ask("Something else");
    person.gently(&["session", "close"]).exits(0);
    person.gently(&["erase", "--yes", "interaction-1"]).exits(0);
    goes_on(&person, "hold together, 1 erased");
    assert!(holders(person.home(), b"quetzalcoatl").is_empty());
    let shown = person.gently(&["show", "last", "--full"]).exits(0).out;
    assert!(shown.contains("And it goes on?"), "{shown}");
    // What was erased stays erased where the home was restored.
    let first = person
        .gently(&["session", "list", "--json"])
        .exits(0)
        .json()[0]["session"]
        .as_str()
        .unwrap()
        .to_owned();
    let shown = person
        .gently(&["show", &format!("{}/1", &first[..16]), "--full"])
        .exits(0)
        .out;
    assert!(shown.contains("erased: asked for"), "{shown}");
}

/// No step of erasing walks over a table: with many rows of each, every query goes by an index.
#[test]
fn erasing_looks_up_by_index() {
    let person = Person::new();
    person.ask("one");
    let database = person.database();
    for (sql, index) in [
        (
            "SELECT min(line) AS line FROM tombstone_id WHERE id = 'x'",
            "tombstone_id",
        ),
        (
            "SELECT * FROM artifact WHERE kind = 'action' AND document IS NOT NULL
               AND json_extract(document, '$.content.exchange') = 'x' ORDER BY line",
            "idx_artifact_action_exchange",
        ),
        (
            "SELECT * FROM artifact WHERE id = 'x' ORDER BY line",
            "idx_artifact_id",
        ),
        (
            "SELECT DISTINCT exchange_id FROM context_artifact_ref WHERE line >> 15 = 0 AND artifact_id = 'x'",
            "idx_context_artifact_id (<expr>=? AND artifact_id=?",
        ),
        (
            "SELECT * FROM context_ref WHERE line >> 15 = 0 AND event_id IN ('x', 'y')",
            "idx_context_ref_event (<expr>=? AND event_id=?",
        ),
        (
            "SELECT * FROM artifact WHERE kind = 'x' ORDER BY line DESC LIMIT 1",
            "idx_artifact_kind (kind=?)",
        ),
    ] {
        let mut plan = database
            .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
            .unwrap();
        let steps: Vec<String> = plan
            .query_map([], |row| row.get("detail"))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let plan = steps.join("; ");
        assert!(
            plan.contains(index) && !plan.contains("SCAN"),
            "{sql}: {plan}"
        );
    }
}
