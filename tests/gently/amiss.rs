//! What is amiss in a home is named where somebody looks, and what is advised helps.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Stdio;
use std::time::{Duration, Instant};

use gently::keys::SigningKey;
use gently::record::hash::Hash32;
use gently::record::log::entry::{Event, Line};
use gently::record::signature::PublicKey;
use gently::record::time::Seconds;
use gently::record::tree::{Frontier, note};
use gently::store::{LedgerHead, Store};
use rusqlite::Connection;

use crate::concurrency::limited;
use crate::model_server::Behaviour;
use crate::opening::served;
use crate::person::{Person, Ran, ran};
use crate::pty::Typist;
use crate::tamper_rows::{edit, home};

/// What `doctor` finds wrong with one part, and the command that it names.
fn wrong(person: &Person, check: &str) -> (String, String, String) {
    let report = person.gently(&["doctor", "--json"]).json();
    let checks = report["checks"].as_array().unwrap();
    let found = checks.iter().find(|one| one["check"] == check).unwrap();
    let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
    (text("state"), text("found"), text("mend"))
}

/// All words of what somebody was told, in one line.
fn said(ran: &Ran) -> String {
    let both = format!("{} {}", ran.out, ran.err);
    both.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs what was advised, as a person types it.
fn typed(person: &Person, command: &str) {
    let status = std::process::Command::new("sh")
        .args(["-c", command])
        .current_dir(person.home())
        .status();
    assert!(status.unwrap().success(), "{command}");
}

/// Everything is well, and somebody can go on.
#[track_caller]
fn is_well(person: &Person) {
    person.gently(&["audit", "verify"]).exits(0);
    person.ask("And what of it now?");
    person.gently(&["doctor"]).exits(0);
    person.gently(&["audit", "verify"]).exits(0);
}

#[test]
fn a_tree_head_that_was_taken_away_is_signed_again_by_a_rebuild_alone() {
    let (person, _server) = home();
    edit(&person, "UPDATE head SET checkpoint = NULL");
    for file in ["", "audit.checkpoint"] {
        if !file.is_empty() {
            edit(&person, "UPDATE head SET checkpoint = NULL");
            fs::remove_file(person.at(file)).unwrap();
        }
        let lines = person.log();
        for check in ["log", "writer"] {
            let (state, found, mend) = wrong(&person, check);
            assert_eq!(state, "FAIL", "{check}: {found}");
            assert!(found.contains("tree head"), "{check}: {found}");
            assert!(mend.contains("gently audit rebuild"), "{check}: {mend}");
        }
        let refused = person.gently(&["ask", "Is it signed?"]);
        assert_ne!(refused.code, 0, "{refused:?}");
        assert!(
            said(&refused).contains("no signed tree head"),
            "{refused:?}"
        );
        assert_eq!(person.log(), lines, "something was written");
        let planned = person.gently(&["audit", "rebuild", "--dry-run"]).exits(1);
        assert!(planned.out.contains("audit.checkpoint"), "{planned:?}");
        person.gently(&["audit", "rebuild"]).exits(0);
        is_well(&person);
    }
}

#[test]
fn a_question_whose_process_was_killed_is_told_alike_and_with_its_cure() {
    let (person, server) = served(Behaviour::NeverBegins);
    person.gently(&["init"]).exits(0);
    let mut asking = person.command(&["ask", "Who is killed?"]);
    let asking = asking.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut asking = asking.unwrap();
    server.wait_for(1);
    asking.kill().unwrap();
    asking.wait().unwrap();
    for args in [&["audit", "verify"][..], &["audit", "rebuild"]] {
        let told = person.gently(args).exits(1);
        let words = said(&told);
        assert!(
            words.to_lowercase().contains("not complete") && words.contains("gently session close"),
            "{args:?}: {told:?}"
        );
        assert!(!words.contains("all of it holds together"), "{told:?}");
    }
    let (state, found, mend) = wrong(&person, "questions");
    assert_eq!(state, "warn", "{found}");
    assert!(found.starts_with("1 question without an answer"), "{found}");
    assert!(mend.starts_with("gently session close"), "{mend}");
    let doctor = person.gently(&["doctor"]).exits(0);
    assert!(!said(&doctor).contains("All is well"), "{doctor:?}");
    person.gently(&["session", "close", "--yes"]).exits(0);
    person.gently(&["audit", "rebuild"]).exits(0);
    person.gently(&["audit", "verify"]).exits(0);
    let doctor = person.gently(&["doctor"]).exits(0);
    assert!(said(&doctor).contains("All is well"), "{doctor:?}");
}

/// Puts something in the way.
type InTheWay = fn(&Person);

#[test]
fn what_stands_in_a_writers_way_is_named_with_the_command_that_helps() {
    let (person, _server) = home();
    let ways: [(&str, &str, InTheWay); 4] = [
        ("config", "context.json", |person| {
            fs::write(person.at("context.json"), "{").unwrap();
        }),
        ("writer", "in-flight", |person| {
            let _ = fs::remove_dir_all(person.at("in-flight"));
            fs::write(person.at("in-flight"), "x").unwrap();
        }),
        ("writer", "writer.lock", |person| {
            let _ = fs::remove_file(person.at("writer.lock"));
            fs::create_dir(person.at("writer.lock")).unwrap();
        }),
        ("writer", "audit.checkpoint", |person| {
            fs::remove_file(person.at("audit.checkpoint")).unwrap();
            fs::create_dir_all(person.at("audit.checkpoint/x")).unwrap();
        }),
    ];
    for (check, name, put) in ways {
        put(&person);
        let lines = person.log();
        let (state, found, mend) = wrong(&person, check);
        assert_eq!(state, "FAIL", "{name}: {found}");
        assert!(found.contains(name), "{name}: {found}");
        assert_ne!(person.gently(&["ask", "Is it free?"]).code, 0, "{name}");
        assert_eq!(person.log(), lines, "{name}: something was written");
        typed(&person, &mend);
        is_well(&person);
    }
}

#[test]
fn a_log_that_is_a_link_and_a_repository_that_is_hindered_are_mended_by_a_rebuild() {
    let (person, _server) = home();
    let tip = person.git(&["rev-parse", "refs/heads/main"]).out;
    let elsewhere = person.home().with_file_name("elsewhere.log");
    fs::rename(person.at("audit.log"), &elsewhere).unwrap();
    symlink(&elsewhere, person.at("audit.log")).unwrap();
    let linked = fs::read(&elsewhere).unwrap();
    let told = person.gently(&["ask", "Where is the log?"]);
    assert!(
        told.code != 0 && said(&told).contains("gently audit rebuild"),
        "{told:?}"
    );
    person.gently(&["audit", "rebuild"]).exits(0);
    assert_eq!(fs::read(&elsewhere).unwrap(), linked, "it was followed");
    assert!(person.at("audit.log").symlink_metadata().unwrap().is_file());
    is_well(&person);
    fs::create_dir_all(person.at("ledger.git/info")).unwrap();
    for file in ["ledger.git/shallow", "ledger.git/info/grafts"] {
        fs::write(person.at(file), &tip).unwrap();
        let told = person.gently(&["audit", "verify"]).exits(2);
        assert!(said(&told).contains("gently audit rebuild"), "{told:?}");
        let (state, _, mend) = wrong(&person, "ledger");
        assert_eq!(
            (state.as_str(), mend.as_str()),
            ("FAIL", "gently audit rebuild")
        );
        let planned = person.gently(&["audit", "rebuild", "--dry-run"]).exits(1);
        assert!(planned.out.contains("would set aside"), "{planned:?}");
        person.gently(&["audit", "rebuild"]).exits(0);
        assert_eq!(
            fs::read_to_string(person.at(&format!("{file}.torn"))).unwrap(),
            tip
        );
        is_well(&person);
    }
}

#[test]
fn zeros_behind_the_last_line_are_cut() {
    let (person, _server) = home();
    for (count, state) in [(1, "warn"), (4096, "warn"), (400_000, "FAIL")] {
        let mut log = fs::read(person.at("audit.log")).unwrap();
        let honest = log.clone();
        log.resize(log.len() + count, 0);
        fs::write(person.at("audit.log"), &log).unwrap();
        let (told, found, _) = wrong(&person, "log");
        assert_eq!(told, state, "{count}: {found}");
        if state == "FAIL" {
            person.gently(&["audit", "rebuild"]).exits(0);
            assert_eq!(fs::read(person.at("audit.log.torn")).unwrap(), log);
        } else {
            person.ask("Is it cut?");
        }
        is_well(&person);
        let log = fs::read(person.at("audit.log")).unwrap();
        assert!(log.starts_with(&honest), "{count}");
    }
    // Other bytes are somebody's.
    let mut log = fs::read(person.at("audit.log")).unwrap();
    log.extend([0, 0, b'x']);
    fs::write(person.at("audit.log"), &log).unwrap();
    assert_ne!(person.gently(&["ask", "Whose is it?"]).code, 0);
    assert_eq!(fs::read(person.at("audit.log")).unwrap(), log);
}

#[test]
fn what_is_advised_for_tables_helps() {
    let (person, _server) = home();
    let sql = |text: &str| {
        let database = Connection::open(person.at("gently.db")).unwrap();
        database
            .execute_batch(&format!("PRAGMA foreign_keys = OFF; {text}"))
            .unwrap();
    };
    // What is typed with sqlite3, here by its library.
    let run_as_told = |told: &str| {
        let (_, rest) = told
            .split_once("sqlite3 gently.db '")
            .unwrap_or_else(|| panic!("{told}"));
        sql(rest.split_once('\'').unwrap().0);
    };
    for (change, is_refused) in [
        ("DROP TABLE refinery_schema_history", false),
        ("ALTER TABLE drift_event RENAME TO elsewhere", true),
        ("ALTER TABLE chat_turn RENAME TO elsewhere", true),
        ("ALTER TABLE conversation RENAME TO elsewhere", false),
        (
            "CREATE TABLE mine (id TEXT REFERENCES chat_turn(turn_id)); INSERT INTO mine VALUES ('nobody')",
            false,
        ),
    ] {
        sql(change);
        let (database, schema) = (wrong(&person, "database"), wrong(&person, "schema"));
        assert_eq!(database.0, "ok", "{change}: {database:?}");
        assert_eq!(schema.0, "FAIL", "{change}: {schema:?}");
        let told = person.gently(&["audit", "rebuild"]);
        let words = said(&told);
        if is_refused {
            assert_eq!(told.code, 1, "{change}: {told:?}");
            assert!(words.contains("RENAME TO"), "{change}: {told:?}");
        }
        if words.contains("sqlite3 gently.db") {
            run_as_told(&words);
            person.gently(&["audit", "rebuild"]).exits(0);
        } else {
            assert!(change.contains("refinery"), "{change}: {told:?}");
        }
        is_well(&person);
    }
}

/// A line that nobody signed, put into the database alone, as whoever can write the file and has no key
/// puts it there.
fn forge_line(person: &Person, event: Event) {
    forge(person, |head| {
        Line::new(head.hash, head.height, head.time, None, event)
    });
}

fn forge(person: &Person, line: impl FnOnce(&LedgerHead) -> Line) {
    let store = Store::open_read_only(&person.at("gently.db")).unwrap();
    let head = store.head().unwrap();
    drop(store);
    let line = line(&head);
    let mut tree = Frontier::from_bytes(&head.frontier).unwrap();
    tree.push(line.text().as_bytes());
    let frontier: String = tree.to_bytes().iter().map(|b| format!("{b:02x}")).collect();
    let (lines, hash, text) = (head.lines, line.hash, line.text());
    let bytes = head.bytes + text.len() as u64 + 1;
    edit(
        person,
        &format!(
            "INSERT INTO log_line (n, hash, line) VALUES ({lines}, '{hash}', '{text}');
             UPDATE head SET lines = {lines} + 1, hash = '{hash}', bytes = {bytes}, frontier = x'{frontier}',
                             time = {}, height = {}",
            line.time.get(),
            line.height.max(head.height)
        ),
    );
}

fn artifact() -> Event {
    Event::Artifact {
        kind: "note".to_owned(),
        id: "note:000009".to_owned(),
        hash: Hash32::digest(b"nobody said this"),
    }
}

#[test]
fn a_line_that_nobody_signed_is_signed_by_no_writer() {
    let (person, _server) = home();
    let log = person.log();
    forge_line(&person, artifact());
    let number = format!("log line {}", log.len() + 1);
    let words = [number.as_str(), "(artifact ", "nobody signed what follows"];
    for command in [["ask", "Is it signed?"], ["audit", "rebuild"]] {
        let refused = person.gently(&command);
        assert_ne!(refused.code, 0, "{refused:?}");
        for word in words {
            assert!(said(&refused).contains(word), "{word}: {refused:?}");
        }
        assert_eq!(person.log(), log, "{command:?} wrote it");
    }
    let (state, found, mend) = wrong(&person, "log");
    assert_eq!(state, "FAIL");
    assert!(found.contains(&number), "{found}");
    assert!(mend.contains("gently audit verify"), "{mend}");
    let verified = person.gently(&["audit", "verify"]).exits(1);
    assert!(said(&verified).contains(&number), "{verified:?}");
}

/// A tree head over all lines by another key, in the place of the database's own.
fn put_tree_head_of(person: &Person, key: &SigningKey) {
    let store = Store::open_read_only(&person.at("gently.db")).unwrap();
    let head = store.head().unwrap();
    let own = head.checkpoint.as_deref().unwrap();
    let origin = own.lines().next().unwrap().to_owned();
    drop(store);
    let tree = Frontier::from_bytes(&head.frontier).unwrap();
    let sign = |bytes: &[u8]| key.sign(bytes);
    let note = note(&origin, tree.size(), tree.root(), &key.public(), &|bytes| {
        Ok::<_, std::convert::Infallible>(sign(bytes))
    });
    edit(
        person,
        &format!("UPDATE head SET checkpoint = '{}'", note.unwrap()),
    );
}

/// A rotation that is in rows alone: no commit says so, and no key has signed it.
fn forge_rotation(person: &Person, n: u64, line: u64, [old, new]: [&PublicKey; 2]) {
    edit(
        person,
        &format!(
            "INSERT INTO ledger_commit (n, line, kind, ref, id, raw)
             VALUES ({n}, {line}, 'key_rotate', 'refs/heads/main', '{n:040x}', x'00');
             INSERT INTO ledger_file (commit_n, name, content) VALUES ({n}, 'rotate.json', CAST(
             '{{\"created_at\":1,\"format\":\"gently/1\",\"new_signer\":\"{new}\",\"old_signer\":\"{old}\"}}' AS BLOB))"
        ),
    );
}

/// Two rotations in rows, to the key of a stranger and back, make his tree head one by a key that was in
/// force.
#[test]
fn a_rotation_that_no_key_has_signed_is_none() {
    let (person, _server) = home();
    let log = person.log();
    forge_line(&person, artifact());
    let strange = SigningKey::from_seed(&[9; 32]);
    put_tree_head_of(&person, &strange);
    let store = Store::open_read_only(&person.at("gently.db")).unwrap();
    let head = store.head().unwrap();
    drop(store);
    let keys = [&head.signer, &strange.public()];
    forge_rotation(&person, 1_000_000, head.lines - 2, keys);
    forge_rotation(&person, 1_000_001, head.lines - 1, [keys[1], keys[0]]);
    for command in [["ask", "Is it signed?"], ["audit", "rebuild"]] {
        let refused = person.gently(&command);
        assert_ne!(refused.code, 0, "{refused:?}");
        assert!(
            said(&refused).contains("1000001 (key_rotate"),
            "{refused:?}"
        );
        assert_eq!(person.log(), log, "{command:?} wrote it");
    }
    let (state, found, _) = wrong(&person, "log");
    assert_eq!(state, "FAIL");
    assert!(found.contains("1000001 (key_rotate"), "{found}");
    let verified = person.gently(&["audit", "verify", "-v"]).exits(1);
    let number = "log line 1 expected: lines under a tree head by the key in force";
    assert!(said(&verified).contains(number), "{verified:?}");
}

/// Right after a rotation the tree head is by the old key: that it is one is for the commit to say.
#[test]
fn a_rotation_counts_as_its_signed_commit_says() {
    let of_newest = "(SELECT max(n) FROM ledger_commit WHERE kind = 'key_rotate')";
    for (change, words) in [
        (
            format!(
                "UPDATE ledger_file SET content = CAST(replace(content, 'old_signer', 'odd_signer') AS BLOB)
                 WHERE name = 'rotate.json' AND commit_n = {of_newest}"
            ),
            "files and lines that make tree",
        ),
        (
            format!("UPDATE ledger_commit SET line = 0 WHERE n = {of_newest}"),
            "a commit that names the line",
        ),
    ] {
        let (person, _server) = home();
        person.gently(&["key", "rotate", "--yes"]).exits(0);
        edit(&person, &change);
        let refused = person.gently(&["session", "open"]);
        assert_ne!(refused.code, 0, "{change}: {refused:?}");
        assert!(said(&refused).contains(words), "{change}: {refused:?}");
    }
    let (person, _server) = home();
    let signer = || {
        let store = Store::open_read_only(&person.at("gently.db")).unwrap();
        store.head().unwrap().signer
    };
    let (first, strange) = (signer(), SigningKey::from_seed(&[9; 32]).public());
    person.gently(&["key", "rotate", "--yes"]).exits(0);
    edit(
        &person,
        &format!("UPDATE head SET genesis = replace(genesis, '{first}', '{strange}')"),
    );
    let refused = person.gently(&["session", "open"]);
    let words = format!("not signed by the key in force, {strange}");
    assert!(said(&refused).contains(&words), "{refused:?}");
}

/// A rebuild leaves a `recover` line without a signature, and no other one: it stands behind the line
/// before it, no earlier, and under the height of its time.
#[test]
fn a_recover_line_is_signed_where_a_rebuild_could_have_left_it() {
    let recover = || Event::Recover { applied: 1 };
    type Forged = fn(&LedgerHead, Event) -> Line;
    let cases: [(&str, Forged); 3] = [
        ("earlier", |head, event| {
            let early = Seconds::new(head.time.get() - 1).unwrap();
            Line::new(head.hash, head.height, early, None, event)
        }),
        ("higher", |head, event| {
            Line::new(head.hash, head.height + 1, head.time, None, event)
        }),
        ("behind another line", |head, event| {
            Line::new(Hash32::GENESIS, head.height, head.time, None, event)
        }),
    ];
    for (what, line) in cases {
        let (person, _server) = home();
        let log = person.log();
        forge(&person, |head| line(head, recover()));
        for command in [
            vec!["ask", "Is it signed?"],
            vec!["key", "rotate", "--yes"],
            vec!["audit", "rebuild"],
        ] {
            let refused = person.gently(&command);
            assert_ne!(refused.code, 0, "{what}, {command:?}: {refused:?}");
            let told = said(&refused);
            let names_it = told.contains("(recover, ") || told.contains("|recover|");
            assert!(names_it, "{what}: {refused:?}");
            assert_eq!(person.log(), log, "{what}, {command:?} wrote it");
        }
        assert_eq!(wrong(&person, "log").0, "FAIL");
    }
    // As a rebuild leaves it.
    let (person, _server) = home();
    forge_line(&person, recover());
    person.gently(&["ask", "Is it signed?"]).exits(0);
    person.gently(&["audit", "verify"]).exits(0);
}

/// What the next line and commit build upon is no evidence, so nobody signs on its word alone.
#[test]
fn nothing_is_signed_that_goes_on_from_a_changed_column() {
    let other = Hash32::digest(b"another");
    for (change, place) in [
        (
            "UPDATE head SET segment_lines = segment_lines - 1".to_owned(),
            "head.segment_lines",
        ),
        (
            "UPDATE head SET segment_lines = segment_lines + 1".to_owned(),
            "head.segment_lines",
        ),
        (
            "UPDATE chat_session SET branch = 'branch-2' WHERE status = 'open'".to_owned(),
            "chat_session.branch",
        ),
        (
            "UPDATE head SET commits = commits + 1".to_owned(),
            "head.commits",
        ),
        (
            "UPDATE head SET last_branch = 'branch-2'".to_owned(),
            "head.last_branch",
        ),
        (format!("UPDATE head SET hash = '{other}'"), "head.hash"),
        (
            format!("UPDATE chat_session SET ledger_session = '{other}' WHERE status = 'open'"),
            "chat_session.ledger_session",
        ),
        (
            "UPDATE chat_session SET block = replace(block, '\"height\":0', '\"height\":5') WHERE status = 'open'"
                .to_owned(),
            "chat_session.block",
        ),
        (
            "UPDATE head SET time = time + 86400".to_owned(),
            "head.time",
        ),
        (
            format!("UPDATE chat_session SET chain_head = '{other}' WHERE status = 'open'"),
            "chat_session.chain_head",
        ),
        (
            "UPDATE chat_session SET chain_head = ledger_session WHERE status = 'open'".to_owned(),
            "chat_session.chain_head",
        ),
        (
            "UPDATE chat_session SET prompts = prompts + 5 WHERE status = 'open'".to_owned(),
            "chat_session.prompts",
        ),
    ] {
        let (person, _server) = home();
        let log = person.log();
        edit(&person, &change);
        let refused = person.gently(&["ask", "Is it signed?"]);
        assert_ne!(refused.code, 0, "{change}: {refused:?}");
        assert!(said(&refused).contains(place), "{change}: {refused:?}");
        assert_eq!(person.log(), log, "{change}");
        let doctor = person.gently(&["doctor"]);
        assert_ne!(doctor.code, 0, "{change}: {doctor:?}");
        // Of the last line it says itself that it is not the one that `head` has.
        let names_it = said(&doctor).contains(place) || place == "head.hash";
        assert!(names_it, "{change}: {doctor:?}");
    }
}

/// How many answers a session had is signed at its end, and counted then.
#[test]
fn no_end_of_a_session_has_another_number_of_answers() {
    for number in ["interactions + 1", "0", "9223372036854775807"] {
        let (person, _server) = home();
        let log = person.log();
        let change =
            format!("UPDATE chat_session SET interactions = {number} WHERE status = 'open'");
        edit(&person, &change);
        let refused = person.gently(&["session", "close", "--yes"]);
        assert_ne!(refused.code, 0, "{number}: {refused:?}");
        let place = "chat_session.interactions";
        assert!(said(&refused).contains(place), "{number}: {refused:?}");
        assert_eq!(person.log(), log, "{number}");
    }
}

/// A session that a line of the log ended is over, whatever its row says.
#[test]
fn nobody_goes_on_in_a_session_that_is_over() {
    let (person, _server) = home();
    person.gently(&["session", "close", "--yes"]).exits(0);
    let log = person.log();
    edit(
        &person,
        "UPDATE chat_session SET status = 'open', ended_at = NULL",
    );
    let refused = person.gently(&["ask", "-c", "Is it over?"]);
    assert_ne!(refused.code, 0, "{refused:?}");
    assert!(
        said(&refused).contains("chat_session.status"),
        "{refused:?}"
    );
    assert_eq!(person.log(), log);
    let doctor = person.gently(&["doctor"]);
    assert_ne!(doctor.code, 0, "{doctor:?}");
    assert!(said(&doctor).contains("chat_session.status"), "{doctor:?}");
}

/// A chat that knows the tree head looks at the tree again, not at the words of the tree head alone.
#[test]
fn a_running_chat_signs_no_other_tree() {
    let (person, _server) = home();
    let mut typist = Typist::begin(&person, (24, 80), &["chat"]);
    typist.sees("/help lists the commands");
    typist.types("Is the sky blue?\r");
    typist.sees("✔ ");
    let store = Store::open_read_only(&person.at("gently.db")).unwrap();
    let mut garbage = store.head().unwrap().frontier;
    drop(store);
    *garbage.last_mut().unwrap() ^= 1;
    let garbage: String = garbage.iter().map(|byte| format!("{byte:02x}")).collect();
    let log = person.log();
    edit(&person, &format!("UPDATE head SET frontier = x'{garbage}'"));
    typist.types("And the sea?\r");
    typist.sees("head.frontier");
    assert_eq!(person.log(), log);
    typist.types("\u{3}/quit\r");
    typist.ends();
}

/// Everything that a rebuild would sign is named to a program, and on a screen how to see the rest.
#[test]
fn each_line_that_nobody_signed_is_named() {
    let (person, _server) = home();
    for n in 0..12 {
        forge_line(
            &person,
            Event::Artifact {
                kind: "memo".to_owned(),
                id: format!("memo:{n}"),
                hash: Hash32::digest(b"nothing"),
            },
        );
    }
    forge_line(
        &person,
        Event::Artifact {
            kind: "correction".to_owned(),
            id: "correction:000007".to_owned(),
            hash: Hash32::digest(b"nobody said this"),
        },
    );
    edit(&person, "UPDATE head SET checkpoint = NULL");
    let planned = person.gently(&["audit", "rebuild", "--dry-run"]).exits(1);
    let words = "and 3 more (--json names them)";
    assert!(said(&planned).contains(words), "{planned:?}");
    let planned = person.gently(&["audit", "rebuild", "--dry-run", "--json"]);
    let named = planned.exits(1).json()["lost"]["unsigned"]["named"].to_string();
    assert!(
        named.contains("(artifact correction correction-7, "),
        "{named}"
    );
}

#[test]
fn a_commit_given_to_a_forged_line_covers_nothing() {
    let (person, _server) = home();
    let log = person.log();
    forge_line(&person, artifact());
    edit(
        &person,
        &format!(
            "UPDATE head SET checkpoint = NULL;
             UPDATE ledger_commit SET line = {} WHERE n = (SELECT max(n) FROM ledger_commit)",
            log.len()
        ),
    );
    for command in [
        vec!["audit", "rebuild", "--dry-run"],
        vec!["audit", "rebuild"],
    ] {
        let refused = person.gently(&command).exits(1);
        assert!(
            said(&refused).contains("a commit that names the line"),
            "{refused:?}"
        );
    }
    assert_eq!(person.log(), log);
    let store = Store::open_read_only(&person.at("gently.db")).unwrap();
    assert_eq!(store.head().unwrap().checkpoint, None);
}

#[test]
fn a_tree_head_of_somebody_elses_signs_nothing() {
    let (person, _server) = home();
    let log = person.log();
    forge_line(&person, artifact());
    put_tree_head_of(&person, &SigningKey::from_seed(&[9; 32]));
    let refused = person.gently(&["ask", "Is it signed?"]);
    assert!(
        said(&refused).contains("by the key in force"),
        "{refused:?}"
    );
    assert_eq!(person.log(), log);
}

#[test]
fn what_a_rebuild_signs_without_a_tree_head_is_named_before() {
    let (person, _server) = home();
    let lines = person.log().len();
    forge_line(&person, artifact());
    edit(
        &person,
        "UPDATE head SET checkpoint = NULL, applied_lines = 0, applied_bytes = 0, applied_commits = 0",
    );
    let refused = person.gently(&["ask", "Is it signed?"]);
    assert!(
        said(&refused).contains("no signed tree head"),
        "{refused:?}"
    );
    let number = format!("line {} (artifact ", lines + 1);
    let planned = person.gently(&["audit", "rebuild", "--dry-run"]).exits(1);
    assert!(
        said(&planned).contains(&format!(
            "would sign, and nothing has signed it yet: 1 line, {number}"
        )),
        "{planned:?}"
    );
    let rebuilt = person.gently(&["audit", "rebuild", "--json"]);
    assert!(
        said(&rebuilt).contains(&format!(
            "signed now, and covered by no signature before: 1 line, {number}"
        )),
        "{rebuilt:?}"
    );
    assert_eq!(
        rebuilt.json()["restored"]["unsigned"]["lines"]["from"],
        lines + 1
    );
}

/// A backup without a tree head: only who says that nothing is newer has it signed, and is told what nobody
/// had signed.
#[test]
fn a_restored_home_without_a_tree_head_is_signed_by_its_adoption() {
    let (person, _server) = home();
    let lines = person.log().len();
    forge_line(&person, artifact());
    edit(&person, "UPDATE head SET checkpoint = NULL");
    fs::write(person.at("restored.toml"), "").unwrap();
    let checkpoint = fs::read(person.at("audit.checkpoint")).unwrap();
    let number = format!("1 line, line {} (artifact ", lines + 1);
    for command in [
        vec!["audit", "rebuild", "--dry-run"],
        vec!["audit", "rebuild"],
    ] {
        let told = said(&person.gently(&command));
        let words = format!("signed by nobody yet, and not by this command: {number}");
        assert!(told.contains(&words), "{told}");
        assert!(told.contains("gently audit adopt has it signed"), "{told}");
        for wrong in ["signed now", "would sign", "audit.checkpoint"] {
            assert!(!told.contains(wrong), "{wrong}: {told}");
        }
    }
    let signed = fs::read(person.at("audit.checkpoint")).unwrap();
    assert_eq!(signed, checkpoint, "a restored home was signed");
    let (state, _, mend) = wrong(&person, "log");
    assert_eq!(state, "FAIL");
    assert!(mend.contains("gently audit adopt has it signed"), "{mend}");
    let verified = said(&person.gently(&["audit", "verify", "-v"]).exits(1));
    assert!(verified.contains("none: it was taken away"), "{verified}");
    for wrong in ["not beside the log", "are applied when"] {
        assert!(!verified.contains(wrong), "{wrong}: {verified}");
    }
    let adopted = person
        .gently(&["audit", "adopt", "--nothing-newer", "--json"])
        .exits(0);
    let words = format!("signed now, and covered by no signature before: {number}");
    assert!(said(&adopted).contains(&words), "{adopted:?}");
    let view = adopted.json();
    assert_eq!(view["adopted"], "nothing_newer");
    assert_eq!(view["unsigned"]["lines"]["from"], lines + 1);
    // The forged line is signed now, and its row of the artifact is still not there.
    let verified = person.gently(&["audit", "verify", "--json"]).json();
    assert_eq!(verified["answers"]["complete"], "yes", "{verified}");
}

/// The bytes of all files of the database.
fn database_bytes(person: &Person) -> Vec<u8> {
    ["gently.db", "gently.db-wal"]
        .iter()
        .flat_map(|name| fs::read(person.at(name)).unwrap_or_default())
        .collect()
}

/// Copies the write-ahead log back, so that a limit is met by what a command writes.
fn empty_wal(person: &Person) {
    let database = Connection::open(person.at("gently.db")).unwrap();
    let emptied = database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
    assert_eq!(emptied, Ok(0));
}

fn holds(bytes: &[u8], word: &str) -> bool {
    bytes
        .windows(word.len())
        .any(|window| window == word.as_bytes())
}

/// The tombstone fits on the disk, and the write-ahead log can't be copied back.
#[test]
#[cfg(target_os = "linux")]
fn what_a_full_disk_keeps_of_an_erasing_is_said_and_goes_with_the_next_record() {
    let (person, _server) = home();
    empty_wal(&person);
    person.ask("Is quetzalcoatlus a bird?");
    let word = "quetzalcoatlus";
    let erase = person.command(&["erase", "last", "--yes", "--json"]);
    let told = (40..4_000)
        .step_by(40)
        .map(|blocks| ran(limited(&erase, blocks).output().unwrap()))
        .find(|told| told.code == 0 || told.err.contains("erased; its words"))
        .unwrap();
    assert_eq!(told.code, 3, "{told:?}");
    assert!(
        said(&told).contains("still in gently.db-wal until there is room")
            && !said(&told).contains("not recorded"),
        "{told:?}"
    );
    assert_eq!(told.json()["erased"], true);
    assert!(told.json()["unscrubbed"].is_string(), "{told:?}");
    assert!(holds(&database_bytes(&person), word));
    let (state, found, mend) = wrong(&person, "database");
    assert_eq!(state, "warn", "{found}");
    assert!(found.contains("gently.db-wal"), "{found}");
    assert!(mend.contains("gently session open"), "{mend}");
    person.gently(&["session", "open"]).exits(0);
    assert!(!holds(&database_bytes(&person), word));
    assert_eq!(wrong(&person, "database").0, "ok");
}

/// Whether a question that a full disk stopped is on record is said as it is.
#[test]
#[cfg(target_os = "linux")]
fn what_of_a_question_a_full_disk_kept_off_the_record_is_said() {
    let (person, _server) = home();
    let prompts = || {
        let sql = "SELECT count(*) FROM llm_exchange";
        let count = person.database().query_row(sql, [], |row| row.get(0));
        count.unwrap()
    };
    let (mut asked, mut without) = (0, 0);
    for blocks in (40..4_000).step_by(20) {
        let before: i64 = prompts();
        empty_wal(&person);
        let ask = person.command(&["ask", "And what of it now?"]);
        let told = ran(limited(&ask, blocks).output().unwrap());
        let added = prompts() - before;
        if told.err.contains("not recorded, but for the question") {
            asked += 1;
            assert_eq!((told.code, added), (3, 1), "{blocks}: {told:?}");
        } else if told.err.contains("not recorded") {
            without += 1;
            assert_eq!((told.code, added), (3, 0), "{blocks}: {told:?}");
        } else if told.code == 0 {
            break;
        }
        assert!(!told.err.contains("nothing of it was"), "{told:?}");
        person.gently(&["session", "close"]);
    }
    assert!(asked > 0 && without > 0, "{asked} {without}");
}

/// Runs it, for half a minute at most.
fn in_time(person: &Person, args: &[&str]) -> Ran {
    let mut child = person
        .command(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let end = Instant::now() + Duration::from_secs(30);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > end {
            child.kill().unwrap();
            panic!("{args:?} waits for ever");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    ran(child.wait_with_output().unwrap())
}

#[test]
fn a_pipe_in_place_of_a_file_is_named_and_not_waited_for() {
    let (person, _server) = home();
    person.gently(&["session", "close"]).exits(0);
    let kept = person.home().with_file_name("kept");
    for part in [
        "ledger.git/HEAD",
        "ledger.git/config",
        "ledger.git/packed-refs",
        "ledger.git/refs/heads/main",
        "gently.toml",
        "context.json",
        "keys/auth.key",
        "keys/signing.key",
    ] {
        let place = person.at(part);
        if place.exists() {
            fs::rename(&place, &kept).unwrap();
        }
        let made = std::process::Command::new("mkfifo")
            .args(["-m", "600"])
            .arg(&place)
            .status();
        assert!(made.unwrap().success());
        let name = part.rsplit('/').next().unwrap();
        let mut command = None;
        for args in [
            &["ask", "Is it there?"][..],
            &["fact", "add", "It is there."],
            &["doctor"],
            &["audit", "verify"],
            &["audit", "rebuild", "--dry-run"],
            &["audit", "rebuild"],
        ] {
            let ran = in_time(&person, args);
            let is_writer = args[0] != "audit" && args[0] != "doctor";
            assert!(!said(&ran).contains("signed by nobody"), "{part}: {ran:?}");
            if args[0] == "audit" && args[1] == "rebuild" && ran.code == 2 {
                let told = said(&ran);
                let (_, hint) = told.split_once("Put it away: `").unwrap();
                let (typed, next) = hint.split_once('`').unwrap();
                assert!(next.starts_with("; then `gently audit rebuild`"), "{told}");
                command = Some(typed.to_owned());
            }
            if is_writer {
                assert_ne!(ran.code, 0, "{part}: {args:?}: {ran:?}");
                assert!(said(&ran).contains(name), "{part}: {args:?}: {ran:?}");
                assert!(said(&ran).contains("pipe"), "{part}: {args:?}: {ran:?}");
            }
        }
        if let Some(command) = command {
            // What is said to be typed helps, and leaves nothing that git would find.
            typed(&person, &command);
            assert!(person.at(&format!("{name}.aside")).exists(), "{command}");
            person.gently(&["audit", "rebuild"]).exits(0);
            is_well(&person);
            fs::remove_file(person.at(&format!("{name}.aside"))).unwrap();
            fs::remove_file(&kept).unwrap_or_default();
            continue;
        }
        fs::remove_file(&place).unwrap();
        if kept.exists() {
            fs::rename(&kept, &place).unwrap();
        }
    }
    is_well(&person);
}

#[test]
fn a_head_that_git_does_not_read_is_named_and_made_again() {
    let (person, _server) = home();
    let head = person.at("ledger.git/HEAD");
    let right = fs::read(&head).unwrap();
    for text in [None, Some(""), Some("\0\0\0"), Some("garbage\n")] {
        match text {
            None => fs::remove_file(&head).unwrap(),
            Some(text) => fs::write(&head, text).unwrap(),
        }
        let refused = person.gently(&["ask", "Is it there?"]);
        assert_ne!(refused.code, 0, "{text:?}: {refused:?}");
        assert!(
            said(&refused).contains("gently audit rebuild"),
            "{text:?}: {refused:?}"
        );
        let (state, found, mend) = wrong(&person, "ledger");
        assert_eq!(state, "FAIL", "{text:?}: {found}");
        assert!(mend.contains("gently audit rebuild"), "{text:?}: {mend}");
        let verified = person.gently(&["audit", "verify"]);
        assert_ne!(verified.code, 0, "{text:?}: {verified:?}");
        assert!(said(&verified).contains("HEAD"), "{text:?}: {verified:?}");
        person.gently(&["audit", "rebuild"]).exits(0);
        assert_eq!(fs::read(&head).unwrap(), right);
    }
    is_well(&person);
}

#[test]
fn zeros_and_a_newline_behind_the_log_are_no_line_and_can_be_cut() {
    let (person, _server) = home();
    let place = person.at("audit.log");
    let mut log = fs::read(&place).unwrap();
    log.extend_from_slice(&[0; 100]);
    log.push(b'\n');
    fs::write(&place, log).unwrap();
    let refused = person.gently(&["ask", "Is it there?"]);
    assert!(said(&refused).contains("100 zero bytes"), "{refused:?}");
    let (state, found, mend) = wrong(&person, "log");
    assert_eq!(state, "FAIL", "{found}");
    assert!(
        found.contains("101 bytes") && found.contains("no line"),
        "{found}"
    );
    let (_, command) = mend.split_once("in the home: ").unwrap();
    typed(&person, command);
    is_well(&person);
}

/// One home under two names is one home: whoever writes through either waits for the other.
#[test]
fn a_home_of_two_names_has_one_writer_at_a_time() {
    let (mut person, _server) = home();
    let other = person.home().with_file_name("other");
    symlink(person.home(), &other).unwrap();
    let place = person.home().to_str().unwrap().to_owned();
    let mut asking = Vec::new();
    for n in 0..3 {
        for home in [place.as_str(), other.to_str().unwrap()] {
            person.set("GENTLY_HOME", home);
            let mut one = person.command(&["ask", "--new", &format!("What of the disk {n}?")]);
            asking.push(
                one.stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap(),
            );
        }
    }
    for mut one in asking {
        assert!(one.wait().unwrap().success());
    }
    let mut adding = Vec::new();
    for n in 0..3 {
        for home in [place.as_str(), other.to_str().unwrap()] {
            person.set("GENTLY_HOME", home);
            let mut one = person.command(&["fact", "add", &format!("Disk {n} is of {home}.")]);
            adding.push(one.stdout(Stdio::piped()).spawn().unwrap());
        }
    }
    let added = adding.into_iter().map(|one| {
        let done = one.wait_with_output().unwrap();
        assert!(done.status.success());
        let told = String::from_utf8(done.stdout).unwrap();
        told.split(' ').next().unwrap().to_owned()
    });
    // No number is given twice, and nothing is recorded twice.
    let added: std::collections::BTreeSet<String> = added.collect();
    assert_eq!(added.len(), 6, "{added:?}");
    person.set("GENTLY_HOME", &place);
    let lines = person.log();
    let of = |part: &str| lines.iter().filter(|line| line.contains(part)).count();
    assert_eq!((of("|prompt|"), of("|kind:fact,")), (9, 6));
    is_well(&person);
}
