//! Every value of the database of an honest home changed, one at a time: the verifier finds each in
//! the database.
//!
//! Which values there are is asked of the schema. A column is evidence unless [`FREE`] names it
//! with a reason; a table of evidence without a row fails the test, so a new table or column can't
//! stay unlooked at.

#![allow(
    clippy::unwrap_used,
    reason = "the helpers of a test fail it as the test itself would"
)]

use std::collections::BTreeMap;
use std::path::Path;

use gently::audit::{DatabaseAudit, WithDatabase};
use gently::record::ledger::conversation::{
    CONVERSATION_ARCHIVED, CONVERSATION_PROJECT, CONVERSATION_TITLE, PROJECT, PROJECT_RETIRED,
};
use gently::record::signature::PublicKey;
use gently::store::Store;
use gently::verify::{Evidence, Report, VerifyOptions, verify_as};
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::derived::say;
use crate::esplora_server::{Chain, EsploraServer};
use crate::model_server::{Behaviour, ModelServer};
use crate::person::Person;
use crate::recorder::copy_all;
use crate::second::both;
use crate::unguarded::unguarded;

/// Columns whose change is no change of evidence, each with the reason; `*` is all of a table.
const FREE: &[(&str, &str, &str)] = &[
    (
        "auth_key",
        "added_at",
        "bookkeeping; that a key was added is an artifact",
    ),
    (
        "auth_key",
        "revoked_at",
        "bookkeeping; that a key was revoked is an artifact",
    ),
    (
        "auth_failure",
        "*",
        "a running count that has no line yet: what it counts is evidence when its line is written",
    ),
    (
        "home_file",
        "*",
        "what files that are no evidence looked like: index_changed compares with it",
    ),
    (
        "scrub",
        "*",
        "a mark: the write-ahead log is still to be emptied",
    ),
    (
        "placeholder",
        "*",
        "which number a secret has in an open session: forgotten when it closes",
    ),
    ("placeholder_key", "*", "as placeholder"),
    (
        "calendar_state",
        "*",
        "what a calendar was last asked: a proof is evidence by itself, in a note",
    ),
    (
        "witness_state",
        "*",
        "what a witness was last asked: a cosignature is evidence by itself, in a note",
    ),
    (
        "imported_conversation",
        "source_tag",
        "a hint for the next import: without it, or with another, texts are compared",
    ),
    (
        "check_part",
        "*",
        "derived from assertion_event by parts of 32,768 lines, of which this home has none: reports.rs changes them",
    ),
    ("check_total", "*", "as check_part"),
    (
        "tree_mark",
        "*",
        "derived from log_line: the right edge of the tree at a size, so that a proof need not read all",
    ),
    (
        "chat_turn",
        "n",
        "its place in the search index: the order of places is held, and not the numbers",
    ),
    (
        "block",
        "*",
        "a cache of where blocks are: what lines and documents say of them is evidence",
    ),
    (
        "head",
        "segment_bytes",
        "after how many bytes the next segment ends; nothing in the ledger rests on it",
    ),
    (
        "head",
        "applied_commits",
        "a mark; a lower one only makes the next open apply again",
    ),
    (
        "head",
        "boot",
        "a mark: another start of the system only makes the next writer look at what it wrote, and sync it",
    ),
];

/// Tables that SQLite, its migrations and its full-text index keep for themselves.
const FOREIGN: &str =
    "name NOT LIKE 'sqlite_%' AND name NOT LIKE 'refinery%' AND name NOT LIKE '%_fts%'";

fn is_free(table: &str, column: &str) -> bool {
    FREE.iter()
        .any(|(t, c, _)| *t == table && (*c == column || *c == "*"))
}

/// What a model says, by what it is asked.
fn reply(body: &serde_json::Value) -> Behaviour {
    let asked = body["messages"].to_string();
    let says = |text: &str| Behaviour::Says(text.to_owned());
    let is_of = |word: &str| asked.contains(word);
    match () {
        () if is_of("Anybody there?") => Behaviour::error(500, "out of order"),
        () if is_of("RESUME") => says(
            "GOAL\na\n\nDECISIONS\nb\n\nSTATUS\nc\n\nACTIVE FILE\nd\n\nPREFERENCES\ne\n\nRESUME\nf",
        ),
        () if is_of("verdict") => says(r#"{"verdict":"agree","why":"So it is."}"#),
        () => says("I've restarted nginx. Great question!"),
    }
}

/// A home with a row in every table of evidence: answered, drifted, failed and denied exchanges,
/// facts, notes, decisions and intents in all their states, blocks, two sessions and a rotation.
fn home() -> Person {
    let explorer = EsploraServer::start(Chain::real(829_604..=829_606));
    let server = ModelServer::start(Behaviour::By(reply));
    let mut person = Person::with(&[
        ("GENTLY_ANCHOR_ESPLORA", &format!("[{:?}]", explorer.url())),
        ("GENTLY_ANCHOR_DEADLINE_MS", "20000"),
        ("GENTLY_MODEL_BASE_URL", &server.base_url()),
        ("OPENAI_API_KEY", "test"),
        ("GENTLY_CONTEXT_REFS", "last:1"),
    ]);
    person.lives_after(829_606);
    let said: &[(&[&str], i32)] = &[
        (&["init"], 0),
        (
            &["fact", "add", "The disk is mirrored.", "--subject", "disk"],
            0,
        ),
        (&["fact", "ratify", "ledger:000001"], 0),
        (
            &["fact", "add", "The disk is striped.", "--subject", "disk"],
            0,
        ),
        (&["fact", "ratify", "ledger:000002"], 0),
        (&["conflict", "resolve", "ledger:000002"], 0),
        (&["note", "add", "The disk hums."], 0),
        (&["note", "add", "The disk does not hum."], 0),
        (&["note", "retire", "note:000002"], 0),
        (&["decision", "add", "The disk stays."], 0),
        (&["intent", "set", "Look after the disk"], 0),
        (&["ask", "And the disk?"], 0),
        (
            &[
                "correction",
                "add",
                "The disk is whole.",
                "--not",
                "It is not",
            ],
            0,
        ),
        (&["domain", "add", "disks", "--words", "disk"], 0),
        (
            &[
                "specialist",
                "add",
                "x",
                "-m",
                "openai/x",
                "--domains",
                "disks",
            ],
            0,
        ),
        (&["ask", "--specialist", "x", "Restart nginx"], 0),
        (&["rate", "last", "good"], 0),
        (&["specialist", "add", "y", "-m", "openai/y"], 0),
        (&["ask", "--council", "x,y", "Which disk is it?"], 0),
        (&["handoff", "run", "last", "-m", "openai/x"], 0),
        (&["drift", "ack", "1", "--reason", "looking"], 0),
        (&["config", "set", "session.idle_minutes", "31"], 0),
        (&["ask", "--model", "openai/x", "Anybody there?"], 2),
        // What it stood in can't be put together any more; commitments stand in its place.
        (&["erase", "note:000001", "--yes"], 0),
        (&["key", "rotate", "--yes"], 0),
    ];
    for (args, code) in said {
        person.gently(args).exits(*code);
    }
    let messages = r#"{"conversation":"a","role":"user","text":"Which disk?","at":1700000000,"title":"Disks"}
{"conversation":"a","role":"assistant","text":"The first.","at":1700000009,"model":"m"}"#;
    let file = person.dir.path().join("messages.jsonl");
    std::fs::write(&file, messages).unwrap();
    let file = file.display().to_string();
    person.gently(&["import", "jsonl", &file]).exits(0);
    // Denied before it reached anybody: there is no such event.
    person
        .gently(&["ask", "--ref", "deadbeef", "And what was before?"])
        .exits(1);
    person.unset("GENTLY_CONTEXT_REFS");
    let store = Store::open_read_only(&person.at("gently.db")).unwrap();
    let asked = store.newest_threads(9).unwrap().pop().unwrap();
    drop(store);
    let asked = asked.thread.to_string();
    let of_projects = [
        (PROJECT, "", Some(("name", "Law"))),
        (PROJECT, "", Some(("name", "Music"))),
        (PROJECT_RETIRED, "project:000002", None),
        (CONVERSATION_TITLE, &asked, Some(("title", "Of disks"))),
        (
            CONVERSATION_PROJECT,
            &asked,
            Some(("project", "project:000001")),
        ),
        (CONVERSATION_ARCHIVED, &asked, None),
    ];
    say(&person, &of_projects);
    person
}

/// What the verifier says of ledger, log and database of a folder.
fn report(home: &Path, pinned: &[PublicKey]) -> Result<Report, String> {
    let database = |look: &mut WithDatabase<'_>| {
        let store = Store::open_read_only(&home.join("gently.db"))?;
        store.begin_read()?;
        look(&store)?;
        Ok(store.end_read()?)
    };
    let (repository, log) = (home.join("ledger.git"), home.join("audit.log"));
    let evidence = Evidence {
        repository: &repository,
        log: Some(&log),
        checkpoint: Some(&log.with_file_name("audit.checkpoint")),
        signers: pinned,
    };
    let options = VerifyOptions {
        owner: Some(&DatabaseAudit(&database)),
        ..VerifyOptions::default()
    };
    verify_as(&evidence, options).map_err(|e| e.to_string())
}

/// The keys of the home, the newest last.
fn pinned(home: &Path) -> Vec<PublicKey> {
    let text = std::fs::read_to_string(home.join("keys/allowed_signers")).unwrap();
    let key = |line: &str| {
        line.split(' ')
            .skip(2)
            .take(2)
            .collect::<Vec<_>>()
            .join(" ")
            .parse()
            .unwrap()
    };
    text.lines().map(key).collect()
}

fn text_changed(text: &str, at: usize) -> Value {
    let mut bytes = text.as_bytes().to_vec();
    match bytes.get_mut(at) {
        Some(byte) => *byte = if *byte == b'1' { b'2' } else { b'1' },
        None => bytes.push(b'1'),
    }
    Value::Text(String::from_utf8_lossy(&bytes).into_owned())
}

/// Other values for one: at its end, inside, and nothing at all.
fn changes(value: &Value) -> Vec<Value> {
    match value {
        Value::Null => vec![
            Value::Integer(1),
            Value::Text("x".to_owned()),
            Value::Blob(vec![1]),
        ],
        Value::Integer(n) => vec![Value::Integer(n + 1_000_000), Value::Null],
        Value::Real(r) => vec![Value::Real(r + 1.0), Value::Null],
        Value::Text(text) => {
            let inside = text
                .bytes()
                .enumerate()
                .skip(text.len() / 2)
                .find(|(_, byte)| byte.is_ascii_alphanumeric());
            let inside = inside.map(|(at, _)| text_changed(text, at));
            let end = text_changed(text, text.len().saturating_sub(1));
            [
                Some(end.clone()),
                inside.filter(|inside| *inside != end),
                Some(Value::Null),
            ]
            .into_iter()
            .flatten()
            .collect()
        }
        Value::Blob(bytes) => {
            let flipped = |at: usize| {
                Value::Blob(
                    bytes
                        .iter()
                        .enumerate()
                        .map(|(n, b)| b ^ u8::from(n == at))
                        .collect(),
                )
            };
            vec![
                flipped(0),
                flipped(bytes.len().saturating_sub(1)),
                Value::Null,
            ]
        }
    }
}

/// One value of one row, and how the row is found.
#[derive(Clone, Debug)]
struct Cell {
    table: String,
    column: String,
    /// Columns that name the row, with their values.
    row: Vec<(String, Value)>,
    /// Changing the column changes the row's name.
    names_row: bool,
}

struct Database(Connection);

impl Database {
    /// For writing: no trigger, no check stands in the way of who can change the file.
    fn open(path: &Path) -> Self {
        let connection = unguarded(path);
        connection
            .execute_batch("PRAGMA ignore_check_constraints = ON;")
            .unwrap();
        Database(connection)
    }

    fn names(&self, sql: &str) -> Vec<String> {
        let mut statement = self.0.prepare(sql).unwrap();
        statement
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect()
    }

    /// Every value of every row of every table that is evidence.
    fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for table in self.names(&format!(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND {FOREIGN}"
        )) {
            let columns = self.names(&format!("SELECT name FROM pragma_table_info('{table}')"));
            let evidence: Vec<&String> = columns
                .iter()
                .filter(|column| !is_free(&table, column))
                .collect();
            if evidence.is_empty() {
                continue;
            }
            let keys = self.names(&format!(
                "SELECT name FROM pragma_table_info('{table}') WHERE pk > 0 ORDER BY pk"
            ));
            let without_rowid = self
                .0
                .prepare(&format!("SELECT rowid FROM {table}"))
                .is_err();
            let integer = format!("SELECT type FROM pragma_table_info('{table}') WHERE pk = 1");
            let alias = !without_rowid && self.names(&integer) == ["INTEGER"];
            let naming = if without_rowid || alias {
                keys
            } else {
                vec!["rowid".to_owned()]
            };
            let mut statement = self
                .0
                .prepare(&format!("SELECT {} FROM {table}", naming.join(", ")))
                .unwrap();
            let rows: Vec<Vec<Value>> = statement
                .query_map([], |row| (0..naming.len()).map(|at| row.get(at)).collect())
                .unwrap()
                .map(Result::unwrap)
                .collect();
            assert!(
                !rows.is_empty(),
                "no row in {table}: nothing of it is tried"
            );
            for row in rows {
                let row: Vec<(String, Value)> = naming.iter().cloned().zip(row).collect();
                cells.extend(evidence.iter().map(|column| Cell {
                    table: table.clone(),
                    column: (*column).clone(),
                    row: row.clone(),
                    names_row: naming.contains(column),
                }));
            }
        }
        cells
    }

    fn value(&self, cell: &Cell) -> Value {
        let (filter, values) = cell.filter(1);
        let sql = format!("SELECT {} FROM {} WHERE {filter}", cell.column, cell.table);
        self.0
            .query_row(&sql, rusqlite::params_from_iter(values), |row| row.get(0))
            .unwrap()
    }

    /// False when the table can't hold the value: no such file can be made.
    fn set(&self, cell: &Cell, to: &Value) -> bool {
        let (filter, values) = cell.filter(2);
        let sql = format!(
            "UPDATE {} SET {} = ?1 WHERE {filter}",
            cell.table, cell.column
        );
        let all = std::iter::once(to).chain(values);
        match self.0.execute(&sql, rusqlite::params_from_iter(all)) {
            Ok(count) => {
                assert_eq!(count, 1, "{cell:?}");
                true
            }
            Err(_) => false,
        }
    }
}

impl Cell {
    fn name(&self) -> String {
        format!("{}.{}", self.table, self.column)
    }

    fn filter(&self, first: usize) -> (String, Vec<&Value>) {
        let filter = self
            .row
            .iter()
            .enumerate()
            .map(|(n, (name, _))| format!("{name} IS ?{}", first + n));
        (
            filter.collect::<Vec<_>>().join(" AND "),
            self.row.iter().map(|(_, value)| value).collect(),
        )
    }

    /// The same cell once its column holds another value.
    fn holding(&self, value: &Value) -> Cell {
        let mut moved = self.clone();
        moved
            .row
            .iter_mut()
            .filter(|(name, _)| self.names_row && *name == self.column)
            .for_each(|(_, v)| *v = value.clone());
        moved
    }
}

/// What was tried and what of it was not found, in one share of all cells: every value of every row
/// is changed at its end, and one of each column in every other way, too.
fn try_share(home: &Path, share: usize, shares: usize) -> (BTreeMap<String, usize>, Vec<String>) {
    let (database, pinned) = (Database::open(&home.join("gently.db")), pinned(home));
    let (mut tried, mut missed) = (BTreeMap::new(), Vec::new());
    for cell in database.cells().into_iter().skip(share).step_by(shares) {
        let original = database.value(&cell);
        let all = !tried.contains_key(&cell.name());
        let possible = changes(&original)
            .into_iter()
            .filter(|to| database.set(&cell, to));
        for to in possible.take(if all { usize::MAX } else { 1 }) {
            *tried.entry(cell.name()).or_default() += 1;
            let found = match report(home, &pinned) {
                Ok(report) => {
                    let named = report
                        .findings
                        .iter()
                        .any(|finding| finding.place.starts_with("database"));
                    if !report.passes() && named {
                        None
                    } else {
                        Some(format!("{:?}", report.findings))
                    }
                }
                Err(error) => Some(error),
            };
            missed.extend(found.map(|found| format!("{cell:?} {original:?} -> {to:?}: {found}")));
            assert!(database.set(&cell.holding(&to), &original), "{cell:?}");
        }
    }
    assert_eq!(
        report(home, &pinned).map(|report| report.findings),
        Ok(Vec::new()),
        "everything is as it was"
    );
    (tried, missed)
}

#[test]
fn a_changed_value_of_any_evidence_column_of_any_row_is_found() {
    let person = home();
    let whole = person.gently(&["audit", "verify"]);
    assert_eq!(whole.code, 0, "{whole:?}");
    let shares = std::thread::available_parallelism()
        .map_or(2, usize::from)
        .min(8);
    let homes: Vec<_> = (0..shares).map(|_| tempfile::tempdir().unwrap()).collect();
    for copy in &homes {
        copy_all(&person.home(), copy.path());
    }
    let ends: Vec<_> = std::thread::scope(|scope| {
        let started = homes.iter().enumerate();
        let started: Vec<_> = started
            .map(|(n, copy)| scope.spawn(move || try_share(copy.path(), n, shares)))
            .collect();
        started
            .into_iter()
            .map(|share| share.join().unwrap())
            .collect()
    });
    let mut tried: BTreeMap<String, usize> = BTreeMap::new();
    let mut missed = Vec::new();
    for (of_share, missed_there) in ends {
        of_share
            .into_iter()
            .for_each(|(column, count)| *tried.entry(column).or_default() += count);
        missed.extend(missed_there);
    }
    println!(
        "{} changes of {} columns",
        tried.values().sum::<usize>(),
        tried.len()
    );
    let columns: Vec<String> = Database::open(&homes[0].path().join("gently.db"))
        .cells()
        .iter()
        .map(Cell::name)
        .collect();
    assert!(
        columns.iter().all(|column| tried.contains_key(column)),
        "a column that takes no other value"
    );
    assert!(
        missed.is_empty(),
        "{} not found\n{}",
        missed.len(),
        missed.join("\n")
    );
}

/// A list that names what is not there would hide what is.
#[test]
fn the_columns_that_are_no_evidence_are_columns() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gently.db");
    drop(Store::create(&path).unwrap());
    let database = Database::open(&path);
    for (table, column, reason) in FREE {
        let known = database.names(&format!("SELECT name FROM pragma_table_info('{table}')"));
        assert!(
            !known.is_empty() && (*column == "*" || known.iter().any(|name| name == column)),
            "{table}.{column}"
        );
        assert!(!reason.is_empty());
    }
}

/// Who speaks is a column that both turns of an exchange have: exchanged, each row alone looks
/// well.
#[test]
fn two_speakers_exchanged_are_found() {
    let person = home();
    let database = Database::open(&person.at("gently.db"));
    let swap =
        "UPDATE chat_turn SET speaker = CASE speaker WHEN 'user' THEN 'aurora' ELSE 'user' END";
    database.0.execute_batch(swap).unwrap();
    person.gently(&["audit", "verify"]).exits(1);
    database.0.execute_batch(swap).unwrap();
    person.gently(&["audit", "verify"]).exits(0);
}

/// Parts of one honest home put into another honest home.
fn swapped(from: &Path, into: &Path, parts: &[&str]) {
    for part in parts {
        let to = into.join(part);
        if to.is_dir() {
            std::fs::remove_dir_all(&to).unwrap();
        }
        copy_all(&from.join(part), &to);
        if *part == "gently.db" {
            for beside in ["gently.db-wal", "gently.db-shm"] {
                let _ = std::fs::remove_file(into.join(beside));
                if from.join(beside).exists() {
                    copy_all(&from.join(beside), &into.join(beside));
                }
            }
        }
    }
}

/// Each part is honest by itself. `scripts/verify.py` looks at ledger and log only: of a swapped
/// database it says nothing, and of the two others the same as the product.
#[test]
fn log_ledger_and_database_of_two_honest_homes_do_not_fit() {
    let homes = ["one", "two"].map(|text| {
        let person = Person::new();
        person.gently(&["init"]).exits(0);
        person.ask(text);
        person.gently(&["session", "close"]).exits(0);
        person.gently(&["audit", "verify"]).exits(0);
        person
    });
    let cases: [(&str, &[&str], &str); 8] = [
        ("database_swapped", &["gently.db"], "database, "),
        (
            "log_swapped",
            &["audit.log", "audit.checkpoint"],
            "audit.log line",
        ),
        (
            "log_without_its_tree_head_swapped",
            &["audit.log"],
            "audit.log line",
        ),
        (
            "tree_head_swapped",
            &["audit.checkpoint"],
            "audit.checkpoint",
        ),
        ("ledger_swapped", &["ledger.git"], "audit.log line"),
        (
            "log_and_ledger_swapped",
            &["audit.log", "audit.checkpoint", "ledger.git"],
            "database, ",
        ),
        (
            "database_and_log_swapped",
            &["gently.db", "audit.log", "audit.checkpoint"],
            "audit.log line",
        ),
        (
            "database_and_ledger_swapped",
            &["gently.db", "ledger.git"],
            "audit.log line",
        ),
    ];
    for (name, parts, place) in cases {
        let mixed = tempfile::tempdir().unwrap();
        copy_all(&homes[0].home(), &mixed.path().join("home"));
        let home = mixed.path().join("home");
        swapped(&homes[1].home(), &home, parts);
        let mut command = homes[0].command(&["audit", "verify", "--json"]);
        let ran = crate::person::run(command.env("GENTLY_HOME", &home)).exits(1);
        let found = ran.json();
        assert_eq!(found["answers"]["consistent"], "no", "{name}: {found:#}");
        let places: Vec<&str> = found["findings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|finding| finding["place"].as_str().unwrap())
            .collect();
        assert!(
            places.iter().any(|found| found.contains(place)),
            "{name}: {places:?}"
        );
        let key = home.join("keys/allowed_signers").display().to_string();
        let (says, ours) = both(
            &home.join("ledger.git"),
            Some(&home.join("audit.log")),
            Some(&key),
        );
        assert_eq!(says, ours, "{name}");
        // Log and ledger of another home hold together: only the key tells, and that is not asked
        // for here.
        let whole = parts == ["gently.db"] || name == "log_and_ledger_swapped";
        assert_eq!(says.code == Some(0), whole, "{name}: {says:?}");
    }
}
