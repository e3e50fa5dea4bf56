//! The tables of the AUA state store, as views: every column of each, by a connection like our own
//! and by a stock client, and that they say what the record says.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use gently::govern::sanitize::redact;
use gently::record::hash::Hash32;
use gently::record::ledger::commitment::Salt;
use gently::record::ledger::conversation::{CONVERSATION_PROJECT, CONVERSATION_TITLE, PROJECT};
use gently::record::ledger::handoff::HANDOFF;
use gently::record::log::entry::{Event, Line};
use gently::record::time::Seconds;
use gently::recorder::{ArtifactField, ArtifactId, NewArtifact, Recorder, always, unwatched};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::person::Person;
use crate::recorder::{Rig, wait};

/// The document's columns, before ours.
const VIEWS: [(&str, &str, &str); 12] = [
    (
        "sessions",
        "id, created_at, updated_at, domain, query_count, metadata",
        "model, status",
    ),
    (
        "conversations",
        "conversation_id, user_id, title, project_id, created_at, updated_at",
        "state, turns, origin",
    ),
    (
        "messages",
        "message_id, conversation_id, role, content, callout_type, models_used, accuracy_level, confidence, created_at",
        "exchange_id, line, origin",
    ),
    ("projects", "project_id, user_id, name, created_at", "state"),
    (
        "corrections",
        "id, created_at, subject, domain, claim, rejected, confidence, source, effective_confidence, decay_class, metadata",
        "state, about, line",
    ),
    (
        "promotions",
        "id, created_at, specialist, event, from_model, to_model, reverted, metadata",
        "line, origin",
    ),
    (
        "assertion_events",
        "id, created_at, session_id, assertion_name, level, passed, bonus_applied, retries_used, latency_ms, domain, \
         policy_name",
        "exchange_id, specialist, line",
    ),
    (
        "model_runs",
        "run_id, query_id, conversation_id, specialist, round, raw_response, utility_score, confidence_score, \
         vcg_welfare_score, vcg_winner, corrections_applied, latency_ms, domain, domain_l0, domain_path, created_at",
        "model, payment, outcome, line",
    ),
    (
        "audit_log",
        "id, created_at, event_type, session_id, trace_id, token_id, field, specialist, u_score, confidence, latency_ms, \
         details, prev_hash, curr_hash",
        "line",
    ),
    (
        "token_counters",
        "counter_id, specialist, conversation_id, token_estimate, message_count, thread_number, updated_at",
        "",
    ),
    (
        "context_backups",
        "backup_id, conversation_id, specialist, trigger, thread_number, backup_text, token_estimate, created_at",
        "exchange_id, upto, is_valid, line",
    ),
    (
        "keyword_index",
        "keyword, message_id, conversation_id, role, created_at",
        "",
    ),
];

/// Every row of every view as a list, one view a line, by python alone.
const STOCK: &str = r#"
import json, sqlite3, sys
database = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True)
for name in sys.argv[2:]:
    cursor = database.execute("SELECT * FROM " + name)
    names = [column[0] for column in cursor.description]
    rows = sorted(json.dumps(list(row)) for row in cursor)
    print(json.dumps([names, [json.loads(row) for row in rows]]))
"#;

type Rows = Vec<Vec<Value>>;

fn stock(database: &Path) -> BTreeMap<String, (Vec<String>, Rows)> {
    let names = VIEWS.map(|(name, ..)| name);
    let mut command = Command::new("python3");
    let out = command
        .args(["-c", STOCK])
        .arg(database)
        .args(names)
        .output();
    let out = out.unwrap();
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    let text = String::from_utf8(out.stdout).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    names.map(str::to_owned).into_iter().zip(lines).collect()
}

/// What a query gives, in python's order.
fn rows(connection: &Connection, sql: &str) -> rusqlite::Result<Rows> {
    let mut statement = connection.prepare(sql)?;
    let width = statement.column_count();
    let cell = |row: &rusqlite::Row<'_>, at| {
        Ok(match row.get_ref(at)? {
            rusqlite::types::ValueRef::Null => Value::Null,
            rusqlite::types::ValueRef::Integer(n) => json!(n),
            rusqlite::types::ValueRef::Real(n) => json!(n),
            rusqlite::types::ValueRef::Text(text) => json!(String::from_utf8_lossy(text)),
            rusqlite::types::ValueRef::Blob(bytes) => json!(bytes),
        })
    };
    let found = statement.query_map([], |row| (0..width).map(|at| cell(row, at)).collect())?;
    let mut found: Rows = found.collect::<rusqlite::Result<_>>()?;
    sort(&mut found);
    Ok(found)
}

fn sort(rows: &mut Rows) {
    rows.sort_by_key(|row| serde_json::to_string(row).unwrap());
}

fn columns(list: &str) -> Vec<String> {
    list.split(", ")
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Somebody who asked, was denied, named a conversation, and put it into a project.
fn home() -> Person {
    let person = Person::new();
    person.gently(&["init"]).exits(0);
    person.ask("What do zygomorphic feathers cost?");
    person.ask("And running dogs?");
    person.gently(&["thread", "new", "garden"]).exits(0);
    person
        .gently(&["ask", "--thread", "garden", "Do they run?"])
        .exits(0);
    person
        .gently(&["ask", "--ref", "deadbeef", "And before?"])
        .exits(1);
    person.gently(&["note", "add", "The disk hums."]).exits(0);
    person
        .gently(&["correction", "add", "They run.", "--not", "They walk."])
        .exits(0);
    for args in [
        &["specialist", "add", "vet", "-m", "ollama/dog"][..],
        &["specialist", "promote", "vet", "--to", "ollama/cat"],
    ] {
        person.gently(args).exits(0);
    }
    let rig = Rig::borrowed(&person.home());
    let now = rig.store().head().unwrap().time;
    let conversation = rig.store().newest_threads(9).unwrap().pop().unwrap();
    let key = gently::keys::AuthKey::load(&rig.home().auth_key_path())
        .unwrap()
        .hash();
    let artifact = |kind, id, (name, field)| NewArtifact {
        kind,
        id,
        content: vec![("by", ArtifactField::Hash(key)), (name, field)],
        session: None,
        salt: Salt::new([7; 32]),
        now,
    };
    let answered = rig.store().newest_answered().unwrap().unwrap();
    let turn = rig.store().thread_turn(answered.exchange_id).unwrap();
    let word = |text: String| ArtifactField::Word(text);
    let handoff = NewArtifact {
        kind: HANDOFF,
        id: ArtifactId::Next { prefix: HANDOFF },
        content: vec![
            ("conversation", word(turn.unwrap().thread.to_string())),
            ("exchange", word(answered.exchange_id.to_string())),
            ("specialist", ArtifactField::Null),
            ("thread_number", ArtifactField::Number(1)),
            ("trigger", word("manual".to_owned())),
            ("upto", ArtifactField::Number(1)),
        ],
        session: None,
        salt: Salt::new([7; 32]),
        now,
    };
    let text = |text: &str| ArtifactField::Text(redact(text).clean);
    let of = || ArtifactId::Of(conversation.thread.to_string());
    let next = ArtifactId::Next { prefix: PROJECT };
    let project = ArtifactField::Word("project:000001".to_owned());
    let signing = rig.home().signing_key().unwrap();
    let paths = rig.home().paths();
    wait(async {
        let recorder = Recorder::open(paths, signing, now, unwatched()).unwrap();
        for new in [
            handoff,
            artifact(PROJECT, next, ("name", text("Immigration Law"))),
            artifact(CONVERSATION_TITLE, of(), ("title", text("Feathers"))),
            artifact(CONVERSATION_PROJECT, of(), ("project", project)),
            artifact(
                "config_reload",
                ArtifactId::Of("x".to_owned()),
                ("digest", text("y")),
            ),
        ] {
            recorder.artifact(new, always).await.unwrap();
        }
    });
    person
}

#[test]
fn every_column_of_every_view_is_read_both_ways() {
    let person = home();
    let database = person.at("gently.db");
    let stock = stock(&database);
    // As our own connections are: no view reaches what was not made for it.
    let own = Connection::open(&database).unwrap();
    own.execute_batch("PRAGMA trusted_schema = OFF").unwrap();
    for (view, first, ours) in VIEWS {
        let (names, found) = &stock[view];
        assert_eq!(names, &[columns(first), columns(ours)].concat(), "{view}");
        assert!(!found.is_empty(), "{view}");
        let all = format!("SELECT {} FROM {view}", names.join(", "));
        if view != "keyword_index" {
            assert_eq!(&rows(&own, &all).unwrap(), found, "{view}");
            continue;
        }
        let refused = rows(&own, &all).unwrap_err().to_string();
        assert!(refused.contains("unsafe"), "{refused}");
        // The words themselves are read by a query.
        let words = "SELECT DISTINCT w.term, t.turn_id FROM turn_fts_vocab w JOIN chat_turn t ON t.n = w.doc";
        let mut of_view: Rows = found.iter().map(|row| row[..2].to_vec()).collect();
        sort(&mut of_view);
        assert_eq!(rows(&own, words).unwrap(), of_view);
    }
    let said = |view: &str, column: &str| -> Vec<Value> {
        let (names, found) = &stock[view];
        let at = names.iter().position(|name| name == column).unwrap();
        found.iter().map(|row| row[at].clone()).collect()
    };
    // Words as the index stems them, accents and endings gone.
    let words = said("keyword_index", "keyword");
    for word in ["zygomorph", "feather", "run", "dog"] {
        assert!(words.contains(&json!(word)), "{word}");
    }
    assert!(!words.contains(&json!("feathers")));
    let titles = said("conversations", "title");
    assert!(
        titles.contains(&json!("Feathers")) && titles.contains(&json!("garden")),
        "{titles:?}"
    );
    assert_eq!(said("projects", "name"), [json!("Immigration Law")]);
    assert_eq!(said("projects", "user_id"), [json!("owner")]);
    assert!(said("conversations", "project_id").contains(&json!("project:000001")));
    assert!(
        said("conversations", "user_id")
            .iter()
            .all(|name| name == "owner")
    );
    let roles = said("messages", "role");
    let of = |name: &str| roles.iter().filter(|role| *role == name).count();
    assert_eq!((of("user"), of("assistant")), (4, 3));
    for of_nothing in ["callout_type", "accuracy_level", "confidence"] {
        assert!(said("messages", of_nothing).iter().all(Value::is_null));
    }
    assert!(said("messages", "models_used").contains(&json!(r#"["observer"]"#)));
    let counted: u64 = said("sessions", "query_count")
        .iter()
        .filter_map(Value::as_u64)
        .sum();
    assert_eq!(counted, 4);
    for metadata in said("sessions", "metadata") {
        let metadata: Value = serde_json::from_str(metadata.as_str().unwrap()).unwrap();
        let token: Hash32 = metadata["token_id"].as_str().unwrap().parse().unwrap();
        assert_ne!(token, Hash32::ZERO);
        assert_eq!(metadata["trace_ids"].as_array().unwrap().len(), 4);
        assert_eq!(metadata["routing"]["model"], "observer");
    }
}

#[test]
fn the_audit_log_is_the_log() {
    let person = home();
    let log = person.log();
    let own = person.database();
    let exchanges = rows(&own, "SELECT exchange_id, seq FROM llm_exchange").unwrap();
    let found = rows(&own, "SELECT * FROM audit_log").unwrap();
    assert_eq!(found.len(), log.len());
    let mut by_line: Vec<&Vec<Value>> = found.iter().collect();
    by_line.sort_by_key(|row| row[0].as_u64());
    let mut before = Hash32::GENESIS.to_string();
    let mut types = BTreeMap::new();
    for (n, (row, text)) in by_line.iter().zip(&log).enumerate() {
        let line = Line::parse(text.as_bytes()).unwrap();
        let [
            id,
            created_at,
            event,
            session,
            trace,
            token,
            field,
            specialist,
            u,
            sure,
            took,
            details,
            prev,
            curr,
            whole,
        ] = &row[..]
        else {
            panic!("{row:?}");
        };
        assert_eq!(*id, n);
        let time = Seconds::new(created_at.as_u64().unwrap()).unwrap();
        assert_eq!(time, line.time, "{text}");
        let name = match &line.event {
            Event::Prompt { .. } => "query",
            Event::Artifact { kind, .. }
                if matches!(kind.as_str(), "config_reload" | "correction" | "promotion") =>
            {
                kind.as_str()
            }
            other => other.name(),
        };
        assert_eq!(event, name);
        *types.entry(name.to_owned()).or_insert(0) += 1;
        assert_eq!(session.is_null(), line.session.is_none(), "{text}");
        assert_eq!(token.is_null(), line.session.is_none(), "{text}");
        let of = exchanges
            .iter()
            .find(|row| Some(row[1].as_u64().unwrap()) == line.event.seq());
        assert_eq!(
            *trace,
            of.map_or(Value::Null, |row| row[0].clone()),
            "{text}"
        );
        assert_eq!(specialist.is_null(), of.is_none(), "{text}");
        assert!(field.is_null() && u.is_null() && sure.is_null());
        let is_answer = matches!(line.event, Event::Response { .. });
        assert_eq!(took.is_null(), !is_answer, "{text}");
        let details: Value = serde_json::from_str(details.as_str().unwrap()).unwrap();
        let told: serde_json::Map<String, Value> = line
            .event
            .details()
            .split(',')
            .map(|pair| {
                let (key, value) = pair.split_once(':').unwrap();
                (key.to_owned(), json!(value))
            })
            .collect();
        assert_eq!(details, Value::Object(told));
        assert_eq!(
            (prev, curr),
            (&json!(before), &json!(line.hash.to_string()))
        );
        assert_eq!(whole, text);
        before = line.hash.to_string();
    }
    for (name, count) in [
        ("query", 4),
        ("response", 3),
        ("denied", 1),
        ("config_reload", 1),
    ] {
        assert_eq!(types.get(name), Some(&count), "{types:?}");
    }
}

#[test]
fn the_doctor_walks_along_the_audit_log() {
    let person = home();
    let lines = person.log().len();
    let fine = person.gently(&["doctor", "--check-audit"]).exits(0);
    assert!(
        fine.out
            .contains(&format!("{lines} log lines, each follows")),
        "{fine:?}"
    );
    let view = person
        .gently(&["doctor", "--check-audit", "--json"])
        .exits(0)
        .json();
    assert_eq!(
        (&view["ok"], &view["lines"], &view["broken"]),
        (&json!(true), &json!(lines), &Value::Null)
    );
    let by_hand = |statement: &str| {
        let other = Rig::borrowed(&person.home()).copy();
        let database = Connection::open(other.root().join("gently.db")).unwrap();
        for trigger in ["log_line_is_final", "log_line_stays"] {
            database
                .execute_batch(&format!("DROP TRIGGER {trigger}"))
                .unwrap();
        }
        database.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
        database.execute_batch(statement).unwrap();
        drop(database);
        let mut command = person.command(&["doctor", "--check-audit", "--json"]);
        let ran = crate::person::run(command.env("GENTLY_HOME", other.root()));
        let found = ran.exits(1).json();
        assert_eq!(found["ok"], false, "{statement}");
        found["broken"]["line"].as_u64().unwrap()
    };
    let last = u64::try_from(lines).unwrap();
    for (statement, line) in [
        ("UPDATE log_line SET line = replace(line, '|auth_ok|', '|auth_no|') WHERE line LIKE '%|auth_ok|%'".to_owned(), None),
        ("UPDATE log_line SET line = line || 'x' WHERE n = 3".to_owned(), Some(4)),
        ("UPDATE log_line SET hash = (SELECT hash FROM log_line WHERE n = 1) WHERE n = 3".to_owned(), Some(4)),
        ("DELETE FROM log_line WHERE n = 5".to_owned(), Some(6)),
        (format!("DELETE FROM log_line WHERE n = {}", last - 1), Some(last)),
    ] {
        let found = by_hand(&statement);
        assert!(line.is_none_or(|line| line == found), "{statement}: {found}");
    }
}

/// A client of SQLite 3.42 or later reads the words after an erasure, too; what is erased is gone.
#[test]
fn what_is_erased_is_in_no_view() {
    let person = home();
    person.gently(&["erase", "last/1", "--yes"]).exits(0);
    let stock = Connection::open(person.at("gently.db")).unwrap();
    for (view, ..) in VIEWS {
        for row in rows(&stock, &format!("SELECT * FROM {view}")).unwrap() {
            let text = serde_json::to_string(&row).unwrap();
            assert!(!text.contains("zygomorph"), "{view}: {text}");
        }
    }
    person.gently(&["doctor", "--check-audit"]).exits(0);
}
