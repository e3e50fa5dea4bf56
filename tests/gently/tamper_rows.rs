//! Rows put into the database of an honest home, and derived rows changed in it: the verifier finds
//! each, and says it in words.

use gently::record::hash::Hash32;
use gently::store::Store;
use rusqlite::Connection;

use crate::model_server::{Behaviour, ModelServer};
use crate::person::Person;
use crate::recorder::{Rig, anchor, answer, at, prompt, turn, wait};
use crate::unguarded::unguarded;

/// A turn that nobody said.
const PLANTED: &str = "A planted zygomorph speaks of the disk";

/// Runs statements on the database as its owner may; its triggers are there again afterwards.
pub fn edit(person: &Person, sql: &str) {
    let database = Connection::open(person.at("gently.db")).unwrap();
    let triggers: Vec<(String, String)> = database
        .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let dropped = triggers
        .iter()
        .map(|(name, _)| format!("DROP TRIGGER {name};"));
    let made = triggers.iter().map(|(_, made)| format!("{made};"));
    let parts: Vec<String> = ["PRAGMA foreign_keys = OFF; BEGIN;".to_owned()]
        .into_iter()
        .chain(dropped)
        .chain([format!("{sql};")])
        .chain(made)
        .chain(["COMMIT;".to_owned()])
        .collect();
    database.execute_batch(&parts.concat()).unwrap();
}

/// Two questions of one conversation, of which the first is erased, and a third.
pub fn home() -> (Person, ModelServer) {
    let server = ModelServer::start(Behaviour::Good);
    let person = Person::with(&[
        ("GENTLY_ANCHOR_MODE", "off"),
        ("GENTLY_MODEL_DEFAULT", "openai/x"),
        ("GENTLY_MODEL_BASE_URL", &server.base_url()),
        ("OPENAI_API_KEY", "test"),
    ]);
    person.gently(&["init"]).exits(0);
    person.ask("What of the disk?");
    person.ask("And what of the disk now?");
    person.ask("And the disk after that?");
    person.gently(&["erase", "last/1", "--yes"]).exits(0);
    (person, server)
}

/// Changes, asks the verifier, and changes back: there is a finding of this place.
#[track_caller]
fn is_found(person: &Person, (sql, back): (&str, &str), place: &str) -> serde_json::Value {
    edit(person, sql);
    let told = person.gently(&["audit", "verify", "--json"]);
    assert_eq!(told.code, 1, "{sql}: {told:?}");
    let found = told.json();
    let findings = found["findings"].as_array().unwrap();
    let named = |one: &&serde_json::Value| one["place"].as_str().unwrap().starts_with(place);
    assert!(findings.iter().any(|one| named(&one)), "{sql}: {found:#}");
    let finding = findings.iter().find(named).unwrap().clone();
    edit(person, back);
    person.gently(&["audit", "verify"]).exits(0);
    finding
}

#[test]
fn a_turn_of_no_exchange_is_found_and_hides_nothing() {
    let (person, _server) = home();
    let hash = Hash32::digest(PLANTED.as_bytes());
    let planted = format!(
        "INSERT INTO chat_turn SELECT '00000000-0000-8000-8000-000000000001', session_id, created_at, speaker,
           '{PLANTED}', '{hash}', refusal, authority_state, driftwatch_id, line, 9000 FROM chat_turn
           WHERE speaker = 'aurora' ORDER BY n DESC LIMIT 1;
         INSERT INTO turn_fts (rowid, content) VALUES (9000, '{PLANTED}')"
    );
    let back = format!(
        "INSERT INTO turn_fts (turn_fts, rowid, content) VALUES ('delete', 9000, '{PLANTED}');
         DELETE FROM chat_turn WHERE n = 9000"
    );
    is_found(&person, (&planted, &back), "database, chat_turn 00000000");
    edit(&person, &planted);
    person.gently(&["search", "zygomorph"]).exits(1);
    let found = person.gently(&["search", "disk"]).exits(0);
    assert!(found.out.contains("after that"), "{found:?}");
    assert!(!found.out.contains("zygomorph"), "{found:?}");
}

#[test]
fn lines_and_commits_behind_the_last_are_found() {
    let (person, _server) = home();
    for n in ["(SELECT max(n) + 1 FROM log_line)", "999", "-1"] {
        let sql = format!("INSERT INTO log_line SELECT {n}, hash, line FROM log_line WHERE n = 3");
        let back = "DELETE FROM log_line WHERE n < 0 OR n >= (SELECT lines FROM head)";
        is_found(&person, (&sql, back), "database, log_line");
    }
    let sql = "INSERT INTO ledger_commit SELECT 999, line, kind, ref, substr(id, 1, 39) || 'x', raw, tree_of,
                 segment_from, segment_to FROM ledger_commit WHERE n = 1";
    let back = "DELETE FROM ledger_commit WHERE n = 999";
    is_found(&person, (sql, back), "database, ledger_commit");
}

#[test]
fn what_tombstones_name_is_held_against_them() {
    let (person, _server) = home();
    let kept = "CREATE TABLE kept AS SELECT * FROM tombstone_id;";
    let back =
        "DELETE FROM tombstone_id; INSERT INTO tombstone_id SELECT * FROM kept; DROP TABLE kept";
    for change in [
        "DELETE FROM tombstone_id",
        "UPDATE tombstone_id SET line = line - 1",
        "INSERT INTO tombstone_id SELECT exchange_id, (SELECT max(line) FROM tombstone_id) FROM llm_exchange WHERE seq = 3",
    ] {
        let change = format!("{kept} {change}");
        is_found(&person, (&change, back), "database, tombstone_id");
    }
}

#[test]
fn a_salt_of_what_is_erased_is_found() {
    let (person, _server) = home();
    for salt in ["zeroblob(32)", "randomblob(384)"] {
        let sql = format!("UPDATE llm_exchange SET salt = {salt} WHERE seq = 1");
        let back = "UPDATE llm_exchange SET salt = NULL WHERE seq = 1";
        is_found(&person, (&sql, back), "database, llm_exchange");
    }
}

/// What stays of an erased exchange, and what else follows from the record: the change, where it is
/// found, and the column that is named.
const LEFT: [(&str, &str, &str); 17] = [
    (
        "UPDATE llm_exchange SET validator_summary = replace(validator_summary, ',', ', ') WHERE seq = 1",
        "llm_exchange",
        "validator_summary",
    ),
    (
        "UPDATE llm_exchange SET validator_summary = replace(validator_summary, '\"tone_drift\":false',
           '\"tone_drift\":true') WHERE seq = 1",
        "llm_exchange",
        "validator_summary",
    ),
    (
        "UPDATE llm_exchange SET validator_summary = replace(validator_summary, 'checks', 'checks, says the owner')
          WHERE seq = 1",
        "llm_exchange",
        "notes",
    ),
    (
        "UPDATE llm_exchange SET decision = 'deny' WHERE seq = 1",
        "llm_exchange",
        "decision",
    ),
    (
        "UPDATE llm_exchange SET reason = 'x' WHERE seq = 1",
        "llm_exchange",
        "reason",
    ),
    (
        "UPDATE llm_exchange SET refusal = 1 WHERE seq = 1;
         UPDATE chat_turn SET refusal = 1 WHERE speaker = 'aurora' AND line = (SELECT prompt_line FROM llm_exchange
           WHERE seq = 1)",
        "llm_exchange",
        "refusal",
    ),
    (
        "UPDATE llm_exchange SET authority_state = 'blocked' WHERE seq = 1",
        "llm_exchange",
        "authority_state",
    ),
    (
        "UPDATE llm_exchange SET params = replace(params, ',', ' ,') WHERE seq = 1",
        "llm_exchange",
        "params",
    ),
    (
        "UPDATE llm_exchange SET params = replace(params, '\"system\":null', '\"system\":\"a text\"') WHERE seq = 1",
        "llm_exchange",
        "params",
    ),
    (
        "UPDATE llm_exchange SET exclusions = '[1]' WHERE seq = 1",
        "llm_exchange",
        "exclusions",
    ),
    (
        "UPDATE llm_exchange SET prompt_hash = prompt_commitment WHERE seq = 1",
        "llm_exchange",
        "prompt_hash",
    ),
    (
        "UPDATE llm_exchange SET reply_commitment = prompt_commitment WHERE seq = 1",
        "llm_exchange",
        "reply_commitment",
    ),
    (
        "UPDATE thread_turn SET context_digest = turn_digest FROM (SELECT hash AS turn_digest FROM log_line WHERE n = 1)
          WHERE line = (SELECT prompt_line FROM llm_exchange WHERE seq = 1)",
        "llm_exchange",
        "context_digest",
    ),
    (
        "UPDATE context_artifact_ref SET risk_flags = '[]' WHERE exchange_id = (SELECT exchange_id FROM llm_exchange
           WHERE seq = 1)",
        "context_artifact_ref",
        "risk_flags",
    ),
    (
        "UPDATE context_config SET document = replace(document, '{', '{ ')",
        "context_config",
        "document",
    ),
    (
        "UPDATE head SET segment_bytes = segment_bytes + 1",
        "head",
        "segment_bytes",
    ),
    (
        "UPDATE head SET checkpoint = NULL",
        "head, checkpoint",
        "taken away",
    ),
];

#[test]
fn what_erasing_leaves_is_held_against_the_record() {
    let (person, _server) = home();
    edit(&person, "SELECT 1");
    let honest = std::fs::read(person.at("gently.db")).unwrap();
    for (sql, place, column) in LEFT {
        edit(&person, sql);
        let told = person
            .gently(&["audit", "verify", "--json"])
            .exits(1)
            .json();
        let findings = told["findings"].as_array().unwrap().iter();
        let place = format!("database, {place}");
        let mut found = findings.filter(|one| one["place"].as_str().unwrap().starts_with(&place));
        let is_named = found.any(|one| {
            let all = format!("{} {} {}", one["place"], one["expected"], one["actual"]);
            all.contains(column)
        });
        assert!(is_named, "{sql}: {told:#}");
        for beside in ["gently.db-wal", "gently.db-shm"] {
            let _ = std::fs::remove_file(person.at(beside));
        }
        std::fs::write(person.at("gently.db"), &honest).unwrap();
    }
    person.gently(&["audit", "verify"]).exits(0);
}

/// An event that somebody adds to a conversation shows nothing there, and nothing is handed on meanwhile.
#[test]
fn a_stray_event_is_shown_by_no_conversation_and_stops_what_is_shared() {
    let (person, _server) = home();
    person.gently(&["thread", "new", "apart"]).exits(0);
    person
        .gently(&["ask", "--thread", "apart", "Of the APART disk?"])
        .exits(0);
    let shown = |is_there: bool| {
        for command in ["conversation", "thread"] {
            let told = person.gently(&[command, "show", "apart"]).exits(0);
            assert!(told.out.contains("APART"), "{told:?}");
            assert_eq!(told.out.contains("after that"), is_there, "{told:?}");
        }
    };
    shown(false);
    let planted =
        "INSERT INTO thread_event (thread_id, event_index, event_id, kind, turn_id, line, created_at, bytes, event_digest)
           SELECT (SELECT thread_id FROM thread WHERE name = 'apart'), 90, v.event_id, v.kind, v.turn_id, v.line,
                  v.created_at, v.bytes, v.event_digest
             FROM thread_event v JOIN llm_exchange e ON e.exchange_id = v.turn_id WHERE e.seq = 3 AND v.kind = 'INTENT'";
    edit(&person, planted);
    shown(false);
    let lines = person.log().len();
    let told = person
        .gently(&["share", "apart", "--yes", "--out", "shared.json"])
        .exits(2);
    let said = told.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("its events name 2, its turns 1") && said.contains("gently audit verify"),
        "{told:?}"
    );
    assert_eq!(person.log().len(), lines, "something was recorded");
    for file in ["shared.json", "shared.html"] {
        assert!(!person.home().with_file_name(file).exists(), "{file}");
    }
    person.gently(&["audit", "verify"]).exits(1);
}

/// Rows that somebody numbers otherwise are no newer for that.
#[test]
fn the_newest_session_and_thread_are_told_by_lines() {
    let (person, _server) = home();
    person.gently(&["thread", "new", "first"]).exits(0);
    person.gently(&["thread", "new", "second"]).exits(0);
    person.gently(&["session", "close"]).exits(0);
    person.gently(&["session", "open"]).exits(0);
    let newest = || {
        let thread = person.gently(&["thread", "show", "--json"]).exits(0).out;
        let session = person.gently(&["session", "show", "last", "--json"]);
        (thread, session.exits(0).out)
    };
    let honest = newest();
    edit(
        &person,
        "UPDATE thread SET rowid = 900 WHERE name = 'first';
         UPDATE chat_session SET rowid = 900 WHERE status = 'closed'",
    );
    assert_eq!(newest(), honest);
    // Two that are open since the same second: the one that was opened last goes on.
    person
        .gently(&["session", "open", "--model", "openai/other"])
        .exits(0);
    edit(
        &person,
        "UPDATE chat_session SET started_at = (SELECT max(started_at) FROM chat_session) WHERE status = 'open'",
    );
    let open = || {
        let store = Store::open_read_only(&person.at("gently.db")).unwrap();
        let open = store.open_sessions().unwrap();
        open.into_iter().map(|row| row.model).collect::<Vec<_>>()
    };
    assert_eq!(open(), ["openai/x", "openai/other"]);
    edit(
        &person,
        "UPDATE chat_session SET rowid = 2000 WHERE model_id = 'openai/x' AND status = 'open'",
    );
    assert_eq!(open(), ["openai/x", "openai/other"]);
}

#[test]
fn the_order_of_turns_and_the_name_of_the_first_key_are_bound() {
    let (person, _server) = home();
    let swap = |one: u64, other: u64| {
        format!(
            "UPDATE chat_turn SET n = 7000 WHERE n = {one}; UPDATE chat_turn SET n = {one} WHERE n = {other};
             UPDATE chat_turn SET n = {other} WHERE n = 7000"
        )
    };
    for (one, other) in [(3, 5), (3, 4)] {
        let sql = swap(one, other);
        is_found(&person, (&sql, &sql), "database, chat_turn with the number");
    }
    let sql = "UPDATE auth_key SET name = 'mallory'";
    let back = "UPDATE auth_key SET name = 'owner'";
    is_found(&person, (sql, back), "database, auth_key");
}

#[test]
fn a_derived_row_is_told_by_its_columns() {
    let (person, _server) = home();
    let sql = "UPDATE conversation SET turns = turns + 5";
    let back = "UPDATE conversation SET turns = turns - 5";
    let finding = is_found(&person, (sql, back), "database, conversation");
    assert!(
        !finding.to_string().contains("ConversationRow"),
        "{finding}"
    );
    assert!(finding.to_string().contains("turns"), "{finding}");
    assert_eq!(
        (&finding["expected"], &finding["actual"]),
        (&"turns 3".into(), &"turns 8".into())
    );
}

/// What was changed is handed to no person, no file and no model as what was said.
#[test]
fn a_changed_text_is_not_handed_on() {
    let (person, server) = home();
    let (forged, hash) = ("FORGED words", Hash32::digest(b"FORGED words"));
    let answer = "(SELECT turn_aurora_id FROM llm_exchange WHERE seq = 3)";
    let honest: String = person
        .database()
        .query_row(
            &format!("SELECT content FROM chat_turn WHERE turn_id = {answer}"),
            [],
            |row| row.get(0),
        )
        .unwrap();
    let put = |text: &str, hash: &Hash32| {
        edit(
            &person,
            &format!(
                "UPDATE chat_turn SET content = '{text}', content_hash = '{hash}' WHERE turn_id = {answer}"
            ),
        );
    };
    put(forged, &hash);
    let lines = person.log().len();
    for (code, args) in [
        (1, &["show", "last"][..]),
        (1, &["show", "last", "--full"]),
        (2, &["share", "last", "--yes", "--out", "shared.json"]),
        (2, &["audit", "open", "last", "--out", "opened.json"]),
        (
            2,
            &[
                "audit",
                "open",
                "last",
                "--role",
                "exchange",
                "--out",
                "opened.json",
            ],
        ),
    ] {
        let told = person.gently(args).exits(code);
        let said = format!("{}{}", told.out, told.err).replace('\n', " ");
        let words: Vec<&str> = said.split_whitespace().collect();
        let said = words.join(" ");
        assert!(
            said.contains("another than what was recorded") && said.contains("gently audit verify"),
            "{args:?}: {told:?}"
        );
        assert!(!said.contains("without its secrets"), "{args:?}: {told:?}");
    }
    assert_eq!(person.log().len(), lines, "nothing was opened");
    let changed = person.gently(&["show", "last", "--json"]).exits(1).json();
    assert_ne!(changed["changed"], serde_json::json!([]));
    for args in [
        &["conversation", "show", "last"][..],
        &["conversation", "show", "last", "-o", "md"],
        &["conversation", "show", "last", "--json"],
        &["thread", "show"],
        &["thread", "show", "--json"],
    ] {
        let shown = person.gently(args).exits(1);
        assert!(!shown.out.contains(forged), "{args:?}: {shown:?}");
        assert!(shown.out.contains("changed"), "{args:?}: {shown:?}");
        assert!(
            shown.err.contains("changed since it was recorded: ") && shown.err.contains("/3; "),
            "{args:?}: {shown:?}"
        );
    }
    for file in ["out.md", "out.json"] {
        let export = ["conversation", "export", "last", "--out", file];
        let told = person.gently(&export).exits(1);
        assert!(told.err.contains("nothing was written"), "{told:?}");
        assert!(!person.home().with_file_name(file).exists(), "{file}");
    }
    let asked = person.ask("And what came of it?");
    assert!(
        asked.err.contains("not shown to the model: answer ") && asked.err.contains("changed"),
        "{asked:?}"
    );
    person
        .gently(&["ask", "--deep", "What do the FORGED words say of the disk?"])
        .exits(0);
    let sent = server.requests();
    for request in sent.iter().rev().take(2) {
        let body = request.json();
        let said = body["messages"].as_array().unwrap();
        let said = &said[..said.len() - 1];
        assert!(
            said.iter().all(|one| !one.to_string().contains(forged)),
            "{body:#}"
        );
    }
    person.gently(&["audit", "verify"]).exits(1);
    // What was asked meanwhile refers to nothing that was changed.
    put(
        &honest.replace('\'', "''"),
        &Hash32::digest(honest.as_bytes()),
    );
    person.gently(&["audit", "verify"]).exits(0);
    person.gently(&["audit", "replay", "--all"]).exits(0);
    person.gently(&["conversation", "show", "last"]).exits(0);
}

/// A home with two conversations, a project, a fact, something erased, and settings that changed.
fn full_home() -> (Person, ModelServer) {
    let (person, server) = home();
    for args in [
        &["fact", "add", "The disk is mirrored."][..],
        &["project", "new", "Travel"],
        &["conversation", "rename", "last", "Disks"],
        &["conversation", "move", "last", "Travel"],
        &["config", "set", "session.idle_minutes", "31"],
        &["note", "add", "The disk hums."],
    ] {
        person.gently(args).exits(0);
    }
    (person, server)
}

/// What is derived, changed by hand: the column of JSON that counts it, how many it is, the words of a
/// rebuild, whether the verifier finds a row, and the change.
const DERIVED: [(&str, u64, &str, bool, &str); 13] = [
    (
        "conversations",
        1,
        "1 row of conversations",
        true,
        "UPDATE conversation SET turns = turns + 5",
    ),
    (
        "conversations",
        1,
        "1 row of conversations",
        true,
        "DELETE FROM conversation",
    ),
    (
        "conversations",
        1,
        "1 row of conversations",
        true,
        "UPDATE conversation SET thread_id = 'nobody'",
    ),
    (
        "conversations",
        1,
        "1 row of conversations",
        true,
        "UPDATE conversation SET title_line = NULL, project = NULL, state = 'archived'",
    ),
    (
        "projects",
        1,
        "1 row of projects",
        true,
        "INSERT INTO project VALUES ('project:000009', 1, 1, 'open')",
    ),
    (
        "projects",
        1,
        "1 row of projects",
        true,
        "UPDATE project SET state = 'retired'",
    ),
    (
        "erased",
        1,
        "1 row of what is erased",
        true,
        "DELETE FROM tombstone_id",
    ),
    (
        "items",
        1,
        "1 row of facts, notes, decisions, intents and corrections",
        true,
        "UPDATE continuity_item SET state = 'ratified' WHERE kind = 'fact'",
    ),
    (
        "items",
        2,
        "2 rows of facts, notes, decisions, intents and corrections",
        true,
        "DELETE FROM continuity_item",
    ),
    (
        "settings",
        1,
        "1 row of what is noted of settings",
        true,
        "UPDATE setting_state SET line = line - 1",
    ),
    (
        "indexed",
        1,
        "1 entry of the search index",
        false,
        "INSERT INTO turn_fts (turn_fts, rowid, content)
           SELECT 'delete', n, content FROM chat_turn WHERE content LIKE 'And what of%'",
    ),
    (
        "indexed",
        1,
        "1 entry of the search index",
        false,
        "INSERT INTO turn_fts (rowid, content) VALUES (77, 'a zygomorph')",
    ),
    (
        "indexed",
        1,
        "1 entry of the search index",
        false,
        "INSERT INTO continuity_fts (rowid, text) VALUES (99, 'a zygomorph')",
    ),
];

/// Each is said by the verifier and by doctor, and a rebuild makes it again, once.
#[test]
fn what_is_derived_is_made_again_when_somebody_changed_it() {
    let (person, _server) = full_home();
    person.gently(&["audit", "verify"]).exits(0);
    let lists = |person: &Person| {
        let told = person.gently(&["doctor", "--json"]).json();
        let checks = told["checks"].as_array().unwrap();
        let of = |name| checks.iter().find(|check| check["check"] == name).unwrap();
        assert_eq!(of("schema")["state"], "ok");
        of("lists").clone()
    };
    assert_eq!(lists(&person)["state"], "ok");
    let lines = person.log().len();
    for (column, count, words, is_row, change) in DERIVED {
        edit(&person, change);
        let told = person.gently(&["audit", "verify"]);
        assert_eq!(told.code, i32::from(is_row), "{change}: {told:?}");
        let begins: Vec<&str> = told.out.lines().take(8).collect();
        assert!(
            is_row || begins.iter().any(|line| line.contains("search: ")),
            "{change}: {told:?}"
        );
        let check = lists(&person);
        assert_eq!(
            (&check["state"], &check["mend"]),
            (&"FAIL".into(), &"gently audit rebuild".into()),
            "{change}: {check}"
        );
        let dry = ["audit", "rebuild", "--dry-run"];
        let would = person.gently(&dry).exits(1);
        assert!(
            would.out.contains(&format!("would restore: {words}")),
            "{change}: {would:?}"
        );
        let would = person.gently(&[&dry[..], &["--json"]].concat());
        let would = would.exits(1).json();
        assert_eq!(would["lost"]["derived"][column], count, "{change}: {would}");
        let told = person.gently(&["audit", "rebuild"]).exits(0);
        assert!(
            told.out.contains(&format!("restored: {words}")),
            "{change}: {told:?}"
        );
        let again = person.gently(&["audit", "rebuild"]).exits(0);
        assert!(again.out.contains("nothing to do"), "{change}: {again:?}");
        let report = person.verified();
        assert_eq!(
            (&report["findings"], &report["search"]),
            (&serde_json::json!([]), &serde_json::json!([])),
            "{change}"
        );
        assert_eq!(lists(&person)["state"], "ok", "{change}");
    }
    assert_eq!(person.log().len(), lines, "nothing of it is a record");
    person.gently(&["search", "zygomorph"]).exits(1);
    person.gently(&["search", "what"]).exits(0);
    let shown = person
        .gently(&["conversation", "list", "--project", "Travel"])
        .exits(0);
    assert!(shown.out.contains("Disks"), "{shown:?}");
}

/// Which words an entry has is compared by a rebuild alone, which reads all texts.
#[test]
fn an_entry_with_other_words_is_made_again() {
    let (person, _server) = home();
    let n = "(SELECT max(n) FROM chat_turn)";
    edit(
        &person,
        &format!(
            "INSERT INTO turn_fts (turn_fts, rowid, content) SELECT 'delete', n, content FROM chat_turn WHERE n = {n};
             INSERT INTO turn_fts (rowid, content) VALUES ({n}, 'a zygomorph')"
        ),
    );
    let told = person.gently(&["audit", "rebuild"]).exits(0);
    assert!(told.out.contains("1 entry of the search index"), "{told:?}");
    let again = person.gently(&["audit", "rebuild"]).exits(0);
    assert!(again.out.contains("nothing to do"), "{again:?}");
    let found: i64 = person
        .database()
        .query_row(
            "SELECT count(*) FROM turn_fts WHERE turn_fts MATCH 'zygomorph'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(found, 0);
}

/// Tags of settings that somebody changed are other settings: the next record says which.
#[test]
fn a_changed_tag_of_a_setting_is_put_on_record() {
    let (person, _server) = full_home();
    edit(
        &person,
        "UPDATE setting_tag SET tag = lower(hex(randomblob(32))) WHERE name = 'model.default'",
    );
    person.gently(&["audit", "verify"]).exits(1);
    person.gently(&["audit", "rebuild"]).exits(0);
    person.gently(&["audit", "verify"]).exits(0);
    person.gently(&["note", "add", "It is so."]).exits(0);
    let changed: String = person
        .database()
        .query_row(
            "SELECT json_extract(document, '$.content.changed') FROM artifact
              WHERE kind = 'config_reload' ORDER BY line DESC LIMIT 1",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(changed, r#"["model.default"]"#);
    person.gently(&["audit", "verify"]).exits(0);
}

/// Two questions that waited at once: each answer stands behind both, so that only the lines say which
/// of them came first.
#[test]
fn answers_with_each_others_numbers_are_found() {
    let rig = Rig::told(async |rig, recorder| {
        let session = recorder.open_session(rig.terms(), anchor(829_604), at(2));
        let session = session.await.unwrap();
        let one = prompt(recorder, &session, "one?", at(3)).await.unwrap();
        let two = prompt(recorder, &session, "two?", at(3)).await.unwrap();
        answer(recorder, two, at(4)).await.unwrap();
        answer(recorder, one, at(4)).await.unwrap();
    });
    let swap = "UPDATE chat_turn SET n = 7000 WHERE n = 3; UPDATE chat_turn SET n = 3 WHERE n = 4;
                UPDATE chat_turn SET n = 4 WHERE n = 7000";
    let database = unguarded(rig.root().join("gently.db"));
    database.execute_batch(swap).unwrap();
    let report = rig.report();
    let places: Vec<&str> = report
        .findings
        .iter()
        .map(|finding| finding.place.as_str())
        .collect();
    assert_eq!(places, ["database, chat_turn with the number 4"]);
    database.execute_batch(swap).unwrap();
    rig.assert_sound("as it was");
}

/// What was asked at once and is taken over from the ledger has its numbers in the order of its lines,
/// as if it had been recorded here.
#[test]
fn what_is_taken_over_is_numbered_in_the_order_of_its_lines() {
    let rig = Rig::told(async |rig, recorder| {
        let session = recorder.open_session(rig.terms(), anchor(829_604), at(2));
        turn(recorder, &session.await.unwrap(), "before?", at(3))
            .await
            .unwrap();
    });
    let older = rig.copy();
    let recorder = rig.recorder(at(5));
    wait(async {
        let known = rig.open_sessions().remove(0);
        let other = recorder.open_session(rig.terms(), anchor(829_604), at(6));
        let other = other.await.unwrap();
        let one = prompt(&recorder, &known, "one?", at(6)).await.unwrap();
        let two = prompt(&recorder, &other, "two?", at(6)).await.unwrap();
        let three = prompt(&recorder, &known, "three?", at(6)).await.unwrap();
        // Two wait when the database is lost, in the other order of their sessions as well.
        for (session, text) in [(&known, "four?"), (&other, "five?"), (&known, "six?")] {
            drop(prompt(&recorder, session, text, at(7)).await.unwrap());
        }
        for one in [three, two, one] {
            answer(&recorder, one, at(8)).await.unwrap();
        }
    });
    drop(recorder);
    for part in ["gently.db", "gently.db-wal", "gently.db-shm"] {
        let _ = std::fs::remove_file(rig.root().join(part));
        let old = older.root().join(part);
        if old.exists() {
            std::fs::copy(old, rig.root().join(part)).unwrap();
        }
    }
    let person = Person::new();
    let mut adopt = person.command(&["audit", "adopt", "--own"]);
    crate::person::run(adopt.env("GENTLY_HOME", rig.root())).exits(0);
    let findings = rig.report().findings;
    // Of those that wait nobody knows what became of them.
    let rows = findings
        .iter()
        .filter(|finding| finding.place.starts_with("database"));
    assert_eq!(rows.count(), 0, "{findings:#?}");
}

/// Rows of evidence that no reader of an exchange meets, each with the table that it is put into, and
/// what takes it away again.
const STRAYS: [(&str, &str, &str); 13] = [
    (
        "thread_event",
        "INSERT INTO thread_event SELECT thread_id, event_index + 100, event_id, kind, turn_id, line + 500, created_at,
           bytes, event_digest FROM thread_event WHERE kind = 'INTENT'",
        "DELETE FROM thread_event WHERE event_index >= 100",
    ),
    (
        "thread_event",
        "INSERT INTO thread_event SELECT thread_id, event_index + 100, event_id, kind, 'nobody', line, created_at,
           bytes, event_digest FROM thread_event WHERE kind = 'INTENT'",
        "DELETE FROM thread_event WHERE event_index >= 100",
    ),
    (
        "thread_turn",
        "INSERT INTO thread_turn SELECT line + 500, turn_id, thread_id, parent_turn_id, intent_type, config_digest,
           declared, transformations, inputs, reasons, context_digest, prompt_digest FROM thread_turn LIMIT 1;
         UPDATE conversation SET turns = turns + 1, last_line = (SELECT max(line) FROM thread_turn)",
        "DELETE FROM thread_turn WHERE line > 500;
         UPDATE conversation SET turns = turns - 1, last_line = (SELECT max(line) FROM thread_turn)",
    ),
    (
        "context_ref",
        "INSERT INTO context_ref VALUES (0, 0, 'nobody', 'nothing', 'last:1', 'governance', NULL)",
        "DELETE FROM context_ref WHERE line = 0",
    ),
    (
        "context_artifact_ref",
        "INSERT INTO context_artifact_ref SELECT 'planted', line + 1, exchange_id, artifact_type, artifact_id,
           artifact_hash, included_reason, observed_at, freshness_s, risk_flags FROM context_artifact_ref LIMIT 1",
        "DELETE FROM context_artifact_ref WHERE ref_id = 'planted'",
    ),
    (
        "erasure_commitment",
        "INSERT INTO erasure_commitment SELECT line + 1, role, exchange_id, commitment FROM erasure_commitment LIMIT 1",
        "DELETE FROM erasure_commitment WHERE NOT EXISTS (SELECT 1 FROM llm_exchange e WHERE e.prompt_line = line)",
    ),
    (
        "assertion_event",
        "INSERT INTO assertion_event SELECT line, name || '.x', 'nobody', assertion_id, level, passed, created_at
           FROM assertion_event LIMIT 1",
        "DELETE FROM assertion_event WHERE exchange_id = 'nobody'",
    ),
    (
        "drift_event",
        "INSERT INTO drift_event VALUES ('planted', 'DRIFTWATCH', 'nobody', 'tone', 'low', '', '', '', 0)",
        "DELETE FROM drift_event WHERE drift_id = 'planted'",
    ),
    (
        "llm_exchange",
        "CREATE TEMP TABLE one AS SELECT * FROM llm_exchange ORDER BY prompt_line DESC LIMIT 1;
         UPDATE one SET exchange_id = 'planted', session_id = 'nobody', prompt_line = 900;
         INSERT INTO llm_exchange SELECT * FROM one",
        "DELETE FROM llm_exchange WHERE exchange_id = 'planted'",
    ),
    (
        "kernel",
        "INSERT INTO kernel SELECT 'planted', document FROM kernel LIMIT 1",
        "DELETE FROM kernel WHERE kernel_hash = 'planted'",
    ),
    (
        "context_config",
        "INSERT INTO context_config SELECT 'planted', document FROM context_config LIMIT 1",
        "DELETE FROM context_config WHERE config_digest = 'planted'",
    ),
    (
        "ledger_file",
        "INSERT INTO ledger_file SELECT 999, name, content FROM ledger_file LIMIT 1",
        "DELETE FROM ledger_file WHERE commit_n = 999",
    ),
    (
        "head",
        "PRAGMA ignore_check_constraints = ON; CREATE TEMP TABLE one AS SELECT * FROM head; UPDATE one SET id = 2;
         INSERT INTO head SELECT * FROM one",
        "DELETE FROM head WHERE id = 2",
    ),
];

#[test]
fn a_row_of_evidence_that_nobody_reads_is_found() {
    let (person, _server) = home();
    person.gently(&["audit", "verify"]).exits(0);
    for (table, planted, back) in STRAYS {
        let place = format!("database, {table} ");
        is_found(&person, (planted, back), &place);
    }
}

/// An event by which a turn of one conversation stands in another, too: with that other nothing of
/// the first is erased, and no file gets its texts.
#[test]
fn a_turn_in_two_conversations_is_not_erased_with_the_other() {
    let (person, _server) = home();
    person
        .gently(&["ask", "--new", "Why is the sky blue?"])
        .exits(0);
    edit(
        &person,
        "INSERT INTO thread_event
           SELECT (SELECT thread_id FROM thread_turn ORDER BY line DESC LIMIT 1), event_index + 100, event_id, kind,
             turn_id, line + 500, created_at, bytes, event_digest FROM thread_event
            WHERE kind = 'INTENT' ORDER BY line DESC LIMIT 1 OFFSET 1",
    );
    let lines = person.log().len();
    for args in [
        &["conversation", "delete", "last", "--dry-run"][..],
        &["conversation", "delete", "last", "--yes"],
    ] {
        let told = person.gently(args).exits(2);
        assert!(
            told.err.contains("gently audit verify") && told.err.contains("its events name 2"),
            "{told:?}"
        );
    }
    assert_eq!(person.log().len(), lines, "nothing was recorded");
    let texts: i64 = Connection::open(person.at("gently.db"))
        .unwrap()
        .query_row(
            "SELECT count(*) FROM chat_turn WHERE content IS NOT NULL",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(texts, 6);
}

/// What is the newest is a matter of lines, and not of numbers that somebody can give.
#[test]
fn rows_with_other_numbers_are_found_and_are_not_the_newest() {
    let server = ModelServer::start(Behaviour::Says(
        "I've restarted nginx. Great question!".to_owned(),
    ));
    let person = Person::with(&[
        ("GENTLY_ANCHOR_MODE", "off"),
        ("GENTLY_MODEL_DEFAULT", "openai/x"),
        ("GENTLY_MODEL_BASE_URL", &server.base_url()),
        ("OPENAI_API_KEY", "test"),
    ]);
    person.gently(&["init"]).exits(0);
    person.ask("What of the disk?");
    person.ask("And after that?");
    let newest = person.gently(&["show", "last", "--json"]).exits(0).json();
    let exchange = "UPDATE llm_exchange SET rowid = 1000 WHERE rowid = 1";
    let back = "UPDATE llm_exchange SET rowid = 1 WHERE rowid = 1000";
    is_found(&person, (exchange, back), "database, llm_exchange of line");
    edit(&person, exchange);
    let now = person.gently(&["show", "last", "--json"]).exits(0).json();
    assert_eq!(now, newest);
    edit(&person, back);
    let swap = "UPDATE drift_event SET rowid = -1 WHERE rowid = 1; UPDATE drift_event SET rowid = 1 WHERE rowid = 4;
                UPDATE drift_event SET rowid = 4 WHERE rowid = -1";
    is_found(&person, (swap, swap), "database, drift_event");
    let moved = "UPDATE drift_event SET rowid = rowid + 100";
    let back = "UPDATE drift_event SET rowid = rowid - 100";
    is_found(&person, (moved, back), "database, drift_event");
}

/// Puts rows back as an older copy of the database has them.
fn put_back(person: &Person, old: &std::path::Path, sql: &str) {
    let database = unguarded(person.at("gently.db"));
    let attached = format!("ATTACH '{}' AS old; {sql}; DETACH old", old.display());
    database.execute_batch(&attached).unwrap();
}

/// A text and its salt, copied back from before they were erased, are no text on record again.
#[test]
fn what_is_erased_stays_erased_when_its_text_is_put_back() {
    let (person, _server) = home();
    person.gently(&["note", "add", "The disk hums."]).exits(0);
    let old = person.at("../old.db");
    Connection::open(person.at("gently.db"))
        .unwrap()
        .execute("VACUUM INTO ?1", [old.to_str().unwrap()])
        .unwrap();
    person.gently(&["erase", "note-1", "--yes"]).exits(0);
    person.gently(&["erase", "last", "--yes"]).exits(0);
    person.gently(&["audit", "verify"]).exits(0);
    let again = |place: &str| {
        let told = person.gently(&["audit", "verify", "--json"]).exits(1);
        let report = told.json();
        let findings = report["findings"].as_array().unwrap().clone();
        assert_eq!(findings.len(), 1, "{report:#}");
        let found = findings[0].to_string();
        assert!(
            found.contains(place) && found.contains("its text is there again"),
            "{found}"
        );
    };
    put_back(
        &person,
        &old,
        "UPDATE artifact SET document = o.document, salt = o.salt FROM old.artifact o
           WHERE o.line = artifact.line AND artifact.kind = 'note'",
    );
    again("database, artifact of line");
    // Nothing is made again; and what the verifier finds stays to be found.
    let told = person.gently(&["audit", "rebuild"]).exits(1);
    assert!(told.out.contains("nothing to do"), "{told:?}");
    let state: String = Connection::open(person.at("gently.db"))
        .unwrap()
        .query_row("SELECT state FROM continuity_item", [], |row| row.get(0))
        .unwrap();
    assert_eq!(state, "erased");
    edit(
        &person,
        "UPDATE artifact SET document = NULL, salt = NULL WHERE kind = 'note'",
    );
    person.gently(&["audit", "verify"]).exits(0);
    let tables = [
        "llm_exchange",
        "chat_turn",
        "thread_turn",
        "thread_event",
        "context_ref",
        "context_artifact_ref",
        "erasure_commitment",
    ];
    let all = tables.map(|table| {
        format!("DELETE FROM {table}; INSERT INTO {table} SELECT * FROM old.{table};")
    });
    put_back(&person, &old, &all.concat());
    let told = person.gently(&["audit", "verify", "--json"]).exits(1);
    let found = told.json();
    let findings = found["findings"].as_array().unwrap();
    let is_it = |one: &serde_json::Value| {
        one["place"].as_str().unwrap().contains("llm_exchange")
            && one["actual"].as_str().unwrap().contains("there again")
    };
    assert!(findings.iter().any(is_it), "{found:#}");
    person.gently(&["erase", "last", "--yes"]).exits(0);
    person.gently(&["audit", "verify"]).exits(0);
}

/// The line of an outcome is bound where there was no answer, too, and so is the document of one.
#[test]
fn the_lines_of_outcomes_without_an_answer_are_bound() {
    let (person, _server) = crate::trace_rig::turns();
    for outcome in ["answered", "failed", "denied"] {
        let change = |by: &str| {
            format!(
                "UPDATE llm_exchange SET outcome_line = outcome_line {by} WHERE outcome = '{outcome}'"
            )
        };
        let there = person.database().query_row(
            "SELECT count(*) FROM llm_exchange WHERE outcome = ?1",
            [outcome],
            |row| row.get::<_, i64>(0),
        );
        assert_ne!(there.unwrap(), 0, "{outcome}");
        is_found(&person, (&change("- 1"), &change("+ 1")), "database, ");
    }
    let sql = "CREATE TABLE kept AS SELECT * FROM ledger_file WHERE name = 'record.json';
               UPDATE ledger_file SET content =
                 CAST(replace(CAST(content AS TEXT), '\"refusal\":false', '\"refusal\":true') AS BLOB)
                WHERE name = 'record.json'";
    let back = "UPDATE ledger_file SET content = (SELECT content FROM kept k WHERE k.commit_n = ledger_file.commit_n)
                 WHERE name = 'record.json'; DROP TABLE kept";
    is_found(&person, (sql, back), "database, ");
}
