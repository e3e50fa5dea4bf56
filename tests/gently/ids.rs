//! Ids that hold: what was printed of an exchange names it for ever.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use gently::app::ask::{AskRequest, prepare};
use gently::app::find::{exchange, session, short_id};
use gently::app::home::open::{OpenHome, home_at};
use gently::app::set_up::settings;
use gently::ask::TurnControl;
use gently::home::Home;
use gently::record::hash::Hash32;
use gently::store::Store;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};
use rusqlite::{Connection, params};
use uuid::Uuid;

use crate::model_server::{Behaviour, ModelServer};
use crate::person::Person;

/// So many sessions, each of another model.
const SESSIONS: usize = 50;

/// One exchange, as it was told when it was recorded.
struct Told {
    id: String,
    exchange: Uuid,
    seq: u64,
}

/// A home in which every session asked once to three times, and what was told then.
async fn fifty_sessions(folder: &Path) -> (Home, Vec<Told>) {
    let place = folder.join("home");
    home_at(&place).unwrap();
    let server = ModelServer::start(Behaviour::Good);
    for (key, value) in [
        ("anchor.mode", "off"),
        ("model.base_url", &server.base_url()),
    ] {
        settings::set(key, value, &place, &|_| None).unwrap();
    }
    let (home, _) = home_at(&place).unwrap();
    let opened = OpenHome::open(home.clone()).unwrap();
    let mut told: Vec<Told> = Vec::new();
    for n in 0..SESSIONS {
        for _ in 0..1 + n % 3 {
            let request = AskRequest {
                text: format!("Question {n}?"),
                model: Some(format!("openai/m-{n}")),
                ..AskRequest::default()
            };
            let setup = prepare(&opened, &request, &|_| {}).await.unwrap();
            let asked = setup
                .ask(&TurnControl::default(), &|_| {}, &|_| {})
                .await
                .unwrap();
            told.push(Told {
                id: asked.id.clone(),
                exchange: asked.exchange(),
                seq: asked.ids().seq,
            });
            let last = exchange(&opened.store, "last").unwrap();
            assert_eq!(last.exchange_id, asked.exchange());
        }
    }
    drop(opened);
    (home, told)
}

#[tokio::test]
async fn what_was_printed_once_names_the_same_in_fifty_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let (home, told) = fifty_sessions(folder.path()).await;
    let store = Store::open_read_only(&home.paths().database()).unwrap();
    let mut sessions = BTreeSet::new();
    for one in &told {
        let row = exchange(&store, &one.id).unwrap();
        assert_eq!(row.exchange_id, one.exchange, "{}", one.id);
        let around = session(&store, &one.id).unwrap();
        assert_eq!(around.uuid, row.session);
        sessions.insert(around.id);
        // What was printed then is what is printed now.
        assert_eq!(short_id(&store, around.id, one.seq).unwrap(), one.id);
        let named = format!("{}/interaction-{}", around.id, one.seq);
        assert_eq!(exchange(&store, &named).unwrap().exchange_id, one.exchange);
    }
    assert_eq!((told.len(), sessions.len()), (99, SESSIONS));
    // A number without a session is of the newest that has so many.
    for seq in 1..=3 {
        let newest = told.iter().rev().find(|one| one.seq == seq).unwrap();
        let found = exchange(&store, &format!("interaction-{seq}")).unwrap();
        assert_eq!(found.exchange_id, newest.exchange, "interaction-{seq}");
    }
    let none = exchange(&store, "interaction-4").unwrap_err().to_string();
    assert!(none.contains("no session has so many questions"), "{none}");
}

/// How the id of a session is made: all digits of an earlier one up to some length, then others.
#[derive(Clone, Debug)]
struct AlikeId {
    like: Index,
    digits: usize,
    rest: [u8; 32],
}

fn alike() -> impl Strategy<Value = AlikeId> {
    (any::<Index>(), 0..24_usize, any::<[u8; 32]>()).prop_map(|(like, digits, rest)| AlikeId {
        like,
        digits,
        rest,
    })
}

/// Ids of which most begin as an older one does.
fn ids(made: &[AlikeId]) -> Vec<Hash32> {
    let mut ids: Vec<String> = Vec::new();
    for one in made {
        let own = Hash32::digest(&one.rest).to_string();
        let begins = match ids.is_empty() {
            true => String::new(),
            false => one.like.get(&ids)[..one.digits].to_owned(),
        };
        ids.push(format!("{begins}{}", &own[begins.len()..]));
    }
    ids.iter().map(|id| id.parse().unwrap()).collect()
}

/// The sessions of a home's database, which come back one after the other, as they were begun.
struct Growing {
    database: Connection,
    sessions: Vec<(i64, Uuid)>,
}

impl Growing {
    fn of(database: PathBuf) -> Growing {
        let database = Connection::open(database).unwrap();
        let sessions = {
            let mut rows = database
                .prepare("SELECT rowid, session_id FROM chat_session ORDER BY rowid")
                .unwrap();
            let found = rows.query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)));
            let read = found.unwrap().map(|row| {
                let (n, id) = row.unwrap();
                (n, id.parse().unwrap())
            });
            read.collect()
        };
        // What keeps evidence as it is would keep it from growing again.
        let kept: String = database
            .query_row(
                "SELECT group_concat('DROP TRIGGER ' || name, ';') FROM sqlite_schema
                  WHERE type = 'trigger' AND tbl_name = 'chat_session'",
                [],
                |row| row.get(0),
            )
            .unwrap();
        database.execute_batch(&kept).unwrap();
        database
            .execute_batch(
                "PRAGMA foreign_keys = OFF;
                 CREATE TEMP TABLE later AS SELECT rowid AS n, * FROM chat_session;",
            )
            .unwrap();
        Growing { database, sessions }
    }

    fn clear(&self) {
        self.database
            .execute("DELETE FROM chat_session", [])
            .unwrap();
    }

    /// Begins the next one under another id; all of them in the same second.
    fn begin(&self, at: usize, id: Hash32) {
        let columns = "started_at, ended_at, phase, tier, kernel_hash, host_role, model_id, status, auth_key_hash, \
                       branch, block, header, prompts, interactions, chain_head, last_at";
        let sql = format!(
            "INSERT INTO chat_session (rowid, session_id, ledger_session, {columns})
             SELECT n, session_id, ?2, 1, {} FROM later WHERE n = ?1",
            columns.trim_start_matches("started_at, ")
        );
        let changed = self
            .database
            .execute(&sql, params![self.sessions[at].0, id.to_string()]);
        assert_eq!(changed.unwrap(), 1);
    }
}

/// Whatever ids sessions have, and however many begin alike: what a screen printed at any time names
/// the same exchange at every later one.
#[tokio::test]
async fn what_was_printed_holds_when_later_sessions_begin_alike() {
    let folder = tempfile::tempdir().unwrap();
    let (home, told) = fifty_sessions(folder.path()).await;
    let path = home.paths().database();
    let growing = Growing::of(path.clone());
    let store = Store::open_read_only(&path).unwrap();
    let exchanges: Vec<(Uuid, u64)> = told.iter().map(|one| (one.exchange, one.seq)).collect();
    let of = |session: Uuid| {
        let rows = exchanges
            .iter()
            .map(|(id, seq)| (store.exchange(*id), id, seq));
        rows.filter(move |(row, ..)| row.as_ref().unwrap().as_ref().unwrap().session == session)
            .map(|(_, id, seq)| (*id, *seq))
            .collect::<Vec<_>>()
    };
    let of_session: Vec<Vec<(Uuid, u64)>> =
        growing.sessions.iter().map(|(_, id)| of(*id)).collect();
    assert_eq!(of_session.iter().flatten().count(), told.len());
    let config = Config {
        cases: 16,
        failure_persistence: None,
        ..Config::default()
    };
    let made = proptest::collection::vec(alike(), SESSIONS);
    let checked = TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    )
    .run(&made, |made| {
        let ids = ids(&made);
        growing.clear();
        let mut printed: BTreeSet<(String, Uuid)> = BTreeSet::new();
        for (at, id) in ids.iter().enumerate() {
            growing.begin(at, *id);
            // An old one is printed again among the newer ones.
            for (again, id) in [(at, id), (at / 2, &ids[at / 2])] {
                for (exchange, seq) in &of_session[again] {
                    printed.insert((short_id(&store, *id, *seq).unwrap(), *exchange));
                }
            }
        }
        for (told, named) in &printed {
            let found = exchange(&store, told).unwrap();
            prop_assert_eq!(found.exchange_id, *named, "{}", told);
        }
        Ok(())
    });
    checked.unwrap();
    // The last case is still there: the command answers as the function does.
    for one in told.iter().step_by(20) {
        let row = store.exchange(one.exchange).unwrap().unwrap();
        let around = store.session_of(row.session).unwrap().unwrap();
        let id = short_id(&store, around.id, one.seq).unwrap();
        let person = Person::with(&[("GENTLY_ANCHOR_MODE", "off")]);
        let mut command = person.command(&["show", &id, "--json"]);
        let shown = crate::person::run(command.env("GENTLY_HOME", folder.path().join("home")));
        // That its session was given another id is told: it is no longer what was recorded.
        assert!([0, 1].contains(&shown.code), "{shown:?}");
        assert_eq!(shown.json()["exchange"], one.exchange.to_string(), "{id}");
    }
}

/// What is printed behind an answer is taken by every command that takes an exchange.
#[test]
fn every_command_takes_the_id_behind_an_answer() {
    let server = ModelServer::start(Behaviour::Good);
    let base = server.base_url();
    let person = Person::with(&[
        ("GENTLY_ANCHOR_MODE", "off"),
        ("GENTLY_MODEL_DEFAULT", "openai/m"),
        ("GENTLY_MODEL_BASE_URL", base.as_str()),
        ("OPENAI_API_KEY", "test"),
    ]);
    person.gently(&["ask", "First?"]).exits(0);
    let asked = person.gently(&["ask", "Second?"]).exits(0);
    let id = asked
        .err
        .lines()
        .find(|line| line.starts_with('✔'))
        .unwrap();
    let id = id.split_whitespace().nth(1).unwrap();
    let (session, _) = id.split_once('/').unwrap();
    for args in [
        &["show", id][..],
        &["show", id, "--full"],
        &["context", "show", id],
        &["thread", "show", id],
        &["session", "show", id],
        &["session", "summary", id],
        &["audit", "session", id],
        &["audit", "replay", id],
        &["log", "--session", id],
        &["erase", id, "--dry-run"],
        &["share", id, "--yes", "--out", "shared.json"],
        &["audit", "open", id, "--out", "one.json"],
        &["audit", "open", id, "1", "2", "--out", "both.json"],
        &["audit", "open", "last", "--out", "last.json"],
        &["audit", "open", "interaction-1", "--out", "first.json"],
        &["ask", "--ref", id, "And that?"],
        &["ask", "--parent", id, "Or this?"],
        &["ask", "--thread", id, "And in it?"],
    ] {
        person.gently(args).exits(0);
    }
    for (file, texts) in [
        ("one.json", 1),
        ("both.json", 2),
        ("last.json", 1),
        ("first.json", 1),
    ] {
        let text = std::fs::read_to_string(person.dir.path().join(file)).unwrap();
        let opened: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            opened["openings"].as_array().unwrap().len(),
            texts,
            "{file}"
        );
        person.gently(&["check", file]).exits(0);
    }
    // A session is none of the exchanges in it.
    let refused = person.gently(&["audit", "open", session]).exits(2).err;
    let told = format!("'{session}' is a session: name an exchange of it, such as {session}/1");
    assert!(refused.contains(&told), "{refused}");
    for unknown in ["ffffffff/3", "nothing"] {
        let refused = person.gently(&["audit", "open", unknown]).exits(2).err;
        assert!(!refused.contains("is a session"), "{refused}");
        person.gently(&["thread", "show", unknown]).exits(2);
    }
}

/// What screens call things: a word and a number, eight digits, or eight digits and a number.
fn ids_in(screen: &str) -> BTreeSet<String> {
    const WORDS: [&str; 9] = [
        "fact", "note", "decision", "intent", "action", "drift", "project", "conflict", "opening",
    ];
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '/');
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_digits = |text: &str| text.len() == 8 && text.bytes().all(|b| b.is_ascii_hexdigit());
    let is_id = |text: &&str| match (text.split_once('/'), text.split_once('-')) {
        (Some((session, n)), _) => is_digits(session) && is_number(n),
        (None, Some((word, n))) => WORDS.contains(&word) && is_number(n),
        (None, None) => is_digits(text),
    };
    let words = screen.split(|c| !is_part(c)).filter(is_id);
    words.map(str::to_owned).collect()
}

/// A screen without the ages that end its lines: they grow between two commands.
fn without_ages(screen: &str) -> String {
    let lines = screen.lines().map(|line| match line.rsplit_once("  ") {
        Some((before, age)) if is_age(age) => before,
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether it is an age as screens have it: `35 s`, `2 min`.
fn is_age(text: &str) -> bool {
    text.split_once(' ').is_some_and(|(count, unit)| {
        count.bytes().all(|b| b.is_ascii_digit()) && matches!(unit, "s" | "min")
    })
}

/// Whatever a screen calls something, `show` takes, and shows what the command of its kind shows; a
/// command about another kind says what it is.
#[test]
fn every_id_that_a_screen_prints_is_shown() {
    let says = "Done: I have restarted the web server for you.";
    let server = ModelServer::start(Behaviour::Says(says.to_owned()));
    let base = server.base_url();
    let person = Person::with(&[
        ("GENTLY_ANCHOR_MODE", "off"),
        ("GENTLY_MODEL_DEFAULT", "openai/m"),
        ("GENTLY_MODEL_BASE_URL", base.as_str()),
        ("OPENAI_API_KEY", "test"),
    ])
    .under_the_kernel();
    for args in [
        &["ask", "Please restart the web server."][..],
        &["project", "new", "Kitchen"],
        &["conversation", "new", "Bread"],
        &["conversation", "move", "Bread", "Kitchen"],
        &["fact", "add", "The port is 80.", "--subject", "port"],
        &["fact", "ratify", "fact-1"],
        &["fact", "add", "The port is 81.", "--subject", "port"],
        &["fact", "ratify", "fact-2"],
        &["conflict", "resolve", "fact-2"],
        &["note", "add", "A note."],
        &["decision", "add", "A decision."],
        &["intent", "set", "An intent."],
        &["audit", "open", "last", "--out", "open.json"],
    ] {
        let ran = person.gently(args);
        assert!(ran.code <= 1, "{args:?}: {ran:?}");
    }
    let mut printed = BTreeSet::from(["conflict-1".to_owned(), "opening-1".to_owned()]);
    for screen in [
        &["conversation", "list"][..],
        &["conversation", "show", "interaction-1"],
        &["session", "list"],
        &["thread", "list"],
        &["thread", "show"],
        &["action", "list"],
        &["drift", "list"],
        &["project", "list"],
        &["fact", "list", "--all"],
        &["note", "list"],
        &["decision", "list"],
        &["intent", "show"],
        &["context", "preview", "Which port?"],
        &["search", "restarted"],
    ] {
        let ran = person.gently(screen);
        assert!(ran.code <= 1, "{screen:?}: {ran:?}");
        printed.extend(ids_in(&ran.out));
    }
    for word in [
        "fact-2",
        "note-1",
        "decision-1",
        "intent-1",
        "action-1",
        "drift-1",
        "project-1",
    ] {
        assert!(printed.contains(word), "{word}: {printed:?}");
    }
    assert!(
        printed.iter().filter(|id| id.len() == 8).count() >= 3,
        "{printed:?}"
    );
    for id in &printed {
        let shown = person.gently(&["show", id]);
        assert!(shown.code <= 1 && !shown.out.is_empty(), "{id}: {shown:?}");
        let json = person.gently(&["show", id, "--json"]);
        assert!(json.code <= 1 && json.json().is_object(), "{id}: {json:?}");
    }
    for (id, command) in [
        ("action-1", &["action", "show", "action-1"][..]),
        ("drift-1", &["drift", "show", "drift-1"]),
        ("intent-1", &["intent", "show"]),
        ("project-1", &["project", "list"]),
        ("note-1", &["note", "list"]),
    ] {
        let shown = person.gently(&["show", id]).exits(0).out;
        let by_command = person.gently(command).exits(0).out;
        assert_eq!(without_ages(&shown), without_ages(&by_command), "{id}");
    }
    let list = person.gently(&["conversation", "list", "--json"]).json();
    let mut first = list["conversations"].as_array().unwrap().iter();
    let first = first.rfind(|one| one["questions"] != 0).unwrap();
    let conversation = first["id"].as_str().unwrap();
    let shown = person.gently(&["show", conversation]).exits(0).out;
    let command = person.gently(&["conversation", "show", conversation]);
    assert_eq!(shown, command.exits(0).out);
    // What is erased or handed on by another command, or not at all, is called what it is.
    let shared = person.gently(&["show", "last", "--json"]).json();
    let (session, _) = shared["id"]
        .as_str()
        .unwrap_or_default()
        .split_once('/')
        .unwrap();
    for (args, says) in [
        (
            ["erase", conversation, "--dry-run"],
            format!("is a conversation: gently conversation delete {conversation}"),
        ),
        (
            ["erase", session, "--dry-run"],
            format!("is a session: gently erase {session}/1"),
        ),
        (
            ["share", "fact-1", "--yes"],
            "is a fact: gently audit open --artifact fact-1".to_owned(),
        ),
        (
            ["context", "show", "fact-1"],
            "is a fact: gently show fact-1".to_owned(),
        ),
        (
            ["show", conversation, "--full"],
            format!("is a conversation: gently conversation show {conversation}"),
        ),
    ] {
        let refused = person.gently(&args).exits(2).err;
        assert!(refused.contains(&says), "{args:?}: {refused}");
    }
    for unknown in [
        "fact-9",
        "drift-9",
        "action-9",
        "project-9",
        "opening-9",
        "ffffffff",
    ] {
        let refused = person.gently(&["show", unknown]).exits(2).err;
        assert!(refused.contains(unknown), "{refused}");
    }
}
