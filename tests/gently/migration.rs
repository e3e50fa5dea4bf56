//! A home from before conversations: brought to this build's tables by whatever opens it first, with
//! the rows that a home of this build has.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;

use gently::govern::sanitize::redact;
use gently::record::ledger::commitment::Salt;
use gently::record::ledger::conversation::{
    CONVERSATION_ARCHIVED, CONVERSATION_PROJECT, CONVERSATION_RESTORED, CONVERSATION_TITLE,
    PROJECT, PROJECT_RENAMED, PROJECT_RETIRED,
};
use gently::recorder::{ArtifactField, ArtifactId, NewArtifact, Recorder, always, unwatched};
use rusqlite::Connection;

use crate::measures::from_before;
use crate::person::Person;
use crate::recorder::{Rig, wait};
use crate::second::both;

const FIRST: &str = include_str!("../../migrations/sqlite/0001_home.sql");
const SECOND: &str = include_str!("../../migrations/sqlite/0002_conversations.sql");
const THIRD: &str = include_str!("../../migrations/sqlite/0003_beginnings.sql");

/// The names of tables, views and indexes.
fn objects(database: &Connection) -> BTreeSet<String> {
    let sql = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view', 'index')
                AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'refinery%'";
    let mut statement = database.prepare(sql).unwrap();
    let names = statement.query_map([], |row| row.get(0)).unwrap();
    names.map(Result::unwrap).collect()
}

/// The database as the first migration alone leaves it.
fn before_conversations(path: &Path) {
    let database = Connection::open(path).unwrap();
    let only_first = Connection::open_in_memory().unwrap();
    only_first.execute_batch(FIRST).unwrap();
    let known = objects(&only_first);
    // Views before the tables that they are over.
    for kind in ["view", "index", "table"] {
        for name in objects(&database).difference(&known) {
            let sql = "SELECT count(*) FROM sqlite_schema WHERE name = ?1 AND type = ?2";
            let is: u32 = database
                .query_row(sql, [name.as_str(), kind], |row| row.get(0))
                .unwrap();
            if is > 0 {
                database
                    .execute_batch(&format!("DROP {kind} {name}"))
                    .unwrap();
            }
        }
    }
    // As the first one makes them: without what corrections have.
    let item = "SELECT sql FROM sqlite_schema WHERE name = ?1 AND type = ?2";
    let made = |name: &str, kind: &str| -> String {
        let sql = only_first.query_row(item, [name, kind], |row| row.get(0));
        sql.unwrap()
    };
    let columns = "line, id, kind, state, state_line, subject, source, observed_at, confidence, phase, tier, session, hash";
    let indexes = ["state", "subject", "session"]
        .map(|of| made(&format!("idx_continuity_item_{of}"), "index"));
    database
        .execute_batch(&format!(
            "DROP VIEW continuity_text; CREATE TABLE kept AS SELECT {columns} FROM continuity_item;
             DROP TABLE continuity_item; {}; INSERT INTO continuity_item SELECT * FROM kept; DROP TABLE kept; {}; {}",
            made("continuity_item", "table"),
            indexes.join("; "),
            made("continuity_text", "view"),
        ))
        .unwrap();
    // No beginnings of words are in it.
    let table = "SELECT sql FROM sqlite_schema WHERE name = 'turn_fts'";
    let table: String = only_first.query_row(table, [], |row| row.get(0)).unwrap();
    database
        .execute_batch(&format!(
            "DROP TABLE turn_fts; {table};
             INSERT INTO turn_fts (turn_fts, rank) VALUES ('secure-delete', 1);
             INSERT INTO turn_fts (turn_fts) VALUES ('rebuild')"
        ))
        .unwrap();
    let marks = "DELETE FROM refinery_schema_history WHERE version > 1; PRAGMA user_version = 0;";
    database.execute_batch(marks).unwrap();
    assert_eq!(objects(&database), known);
}

/// All rows of what is derived.
fn derived(path: &Path) -> Vec<String> {
    let database = Connection::open(path).unwrap();
    let mut all = Vec::new();
    for sql in [
        "SELECT json_array(thread_id, last_line, turns, title_line, project, state, state_line) FROM conversation ORDER BY 1",
        "SELECT json_array(id, line, name_line, state) FROM project ORDER BY 1",
    ] {
        let mut statement = database.prepare(sql).unwrap();
        let rows = statement
            .query_map([], |row| row.get::<_, String>(0))
            .unwrap();
        all.extend(rows.map(Result::unwrap));
    }
    all
}

/// Conversations of every kind, projects in every state. Its exchanges are from before measures: what
/// a later migration makes is part of what they were committed to.
fn home() -> Person {
    let person = from_before();
    let rig = Rig::borrowed(&person.home());
    let (home, store) = (rig.home(), rig.store());
    let now = store.head().unwrap().time;
    let threads = store.newest_threads(9).unwrap();
    let named = |name: &str| {
        let is_it = |row: &&gently::store::ThreadRow| row.name.as_deref() == Some(name);
        ArtifactId::Of(threads.iter().find(is_it).unwrap().thread.to_string())
    };
    let text = |text: &str| ArtifactField::Text(redact(text).clean);
    let word = |word: &str| ArtifactField::Word(word.to_owned());
    let project = |n: u32| ArtifactId::Of(format!("project:{n:06}"));
    let next = || ArtifactId::Next { prefix: PROJECT };
    let said = [
        (PROJECT, next(), Some(("name", text("Law")))),
        (PROJECT, next(), Some(("name", text("Music")))),
        (PROJECT_RENAMED, project(2), Some(("name", text("Sound")))),
        (PROJECT_RETIRED, project(2), None),
        (
            CONVERSATION_TITLE,
            named("garden"),
            Some(("title", text("Beans"))),
        ),
        (
            CONVERSATION_TITLE,
            named("garden"),
            Some(("title", text("Peas"))),
        ),
        (
            CONVERSATION_PROJECT,
            named("garden"),
            Some(("project", word("project:000001"))),
        ),
        (
            CONVERSATION_PROJECT,
            named("attic"),
            Some(("project", word("project:000002"))),
        ),
        (
            CONVERSATION_PROJECT,
            named("attic"),
            Some(("project", ArtifactField::Null)),
        ),
        (CONVERSATION_ARCHIVED, named("attic"), None),
        (CONVERSATION_ARCHIVED, named("cellar"), None),
        (CONVERSATION_RESTORED, named("cellar"), None),
    ];
    wait(async {
        let key = home.signing_key().unwrap();
        let recorder = Recorder::open(home.paths(), key, now, unwatched()).unwrap();
        for (kind, id, field) in said {
            let new = NewArtifact {
                kind,
                id,
                content: field.into_iter().collect(),
                session: None,
                salt: Salt::new([7; 32]),
                now,
            };
            recorder.artifact(new, always).await.unwrap();
        }
    });
    person
}

#[test]
fn a_home_from_before_conversations_gets_the_rows_of_a_new_one() {
    let person = home();
    person.gently(&["audit", "verify"]).exits(0);
    let path = person.at("gently.db");
    let whole = derived(&path);
    assert_eq!(whole.len(), 7, "{whole:#?}");
    // Whoever comes first: who reads, who asks, who checks.
    for (first, code) in [
        (["thread", "list"], 0),
        (["ask", "Who is first?"], 0),
        (["audit", "verify"], 0),
    ] {
        let other = Rig::borrowed(&person.home()).copy();
        let path = other.root().join("gently.db");
        before_conversations(&path);
        let run = |args: &[&str]| {
            let mut command = person.command(args);
            crate::person::run(command.env("GENTLY_HOME", other.root()))
        };
        run(&first).exits(code);
        let found = derived(&path);
        match first[0] {
            // Of another model than the one before, so it begins another conversation.
            "ask" => assert_eq!(found.len(), whole.len() + 1, "{found:#?}"),
            _ => assert_eq!(found, whole),
        }
        run(&["audit", "verify"]).exits(0);
        run(&["audit", "replay", "--all"]).exits(0);
        let (ledger, log) = (
            other.root().join("ledger.git"),
            other.root().join("audit.log"),
        );
        let key = other
            .root()
            .join("keys/allowed_signers")
            .display()
            .to_string();
        let (says, ours) = both(&ledger, Some(&log), Some(&key));
        assert_eq!((&says, says.code), (&ours, Some(0)), "verify.py");
    }
}

/// A process that ends in the middle has done nothing, and the next one does all of it.
#[test]
fn a_migration_that_was_killed_is_begun_anew() {
    let person = home();
    let path = person.at("gently.db");
    let whole = derived(&path);
    before_conversations(&path);
    let killed = Connection::open(&path).unwrap();
    killed
        .execute_batch(&format!("BEGIN IMMEDIATE; {SECOND}; {THIRD}"))
        .unwrap();
    drop(killed);
    let untouched = Connection::open(&path).unwrap();
    assert!(!objects(&untouched).contains("conversation"));
    drop(untouched);
    // Two at once: one does it, the other finds it done.
    let commands = [["thread", "list"], ["session", "list"]].map(|args| person.command(&args));
    let begun = commands.map(|mut command| command.stdout(Stdio::null()).spawn().unwrap());
    let ran = begun.map(|mut child| child.wait().unwrap());
    assert!(ran.iter().all(|status| status.success()), "{ran:?}");
    assert_eq!(derived(&path), whole);
    person.gently(&["audit", "verify"]).exits(0);
    let indexed = Connection::open(&path).unwrap();
    let check = "INSERT INTO turn_fts (turn_fts, rank) VALUES ('integrity-check', 1)";
    indexed.execute_batch(check).unwrap();
    let table = "SELECT sql FROM sqlite_schema WHERE name = 'turn_fts'";
    let table: String = indexed.query_row(table, [], |row| row.get(0)).unwrap();
    assert!(table.contains("prefix = '3 4'"), "{table}");
}
