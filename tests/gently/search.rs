//! `gently search`: what was said is found again, by whoever's words, and nothing else is.

use gently::app::look::search::{NoSearch, SearchPlace, SearchRequest, TypedSearch, search_in};
use gently::store::{Store, ThreadFilter};
use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::model_server::{Behaviour, ModelServer};
use crate::person::Person;

/// A person with a model that says these things, one after the other.
fn person(replies: &[&str]) -> (Person, ModelServer) {
    let replies = replies
        .iter()
        .map(|text| Behaviour::Says((*text).to_owned()));
    let server = ModelServer::script(replies.collect());
    let person = Person::with(&[
        ("GENTLY_ANCHOR_MODE", "off"),
        ("GENTLY_MODEL_DEFAULT", "openai/small-1b"),
        ("GENTLY_MODEL_BASE_URL", &server.base_url()),
        ("OPENAI_API_KEY", "test"),
    ])
    .under_the_kernel();
    (person, server)
}

fn found(person: &Person, args: &[&str]) -> Vec<Value> {
    let args = [&["search", "--json"], args].concat();
    let ran = person.gently(&args);
    assert!(ran.code <= 1, "{ran:?}");
    let hits = ran.json()["hits"].as_array().unwrap().clone();
    assert_eq!(ran.code == 1, hits.is_empty(), "{ran:?}");
    hits
}

/// What kind each hit is, newest first.
fn kinds(person: &Person, args: &[&str]) -> Vec<String> {
    let hits = found(person, args);
    let kind = |hit: &Value| hit["kind"].as_str().unwrap().to_owned();
    hits.iter().map(kind).collect()
}

#[test]
fn questions_answers_and_items_are_found_newest_first() {
    let (person, _server) = person(&["The école closes at six.", "Quantum foam has no policies."]);
    person
        .gently(&["ask", "When do the schools close?"])
        .exits(0);
    person
        .gently(&["note", "add", "A school that closed is not open"])
        .exits(0);
    person
        .gently(&["ask", "--new", "What of police in quantum foam?"])
        .exits(0);
    assert_eq!(kinds(&person, &["close"]), ["note", "answer", "question"]);
    assert_eq!(kinds(&person, &["closing", "school"]), ["note", "question"]);
    assert_eq!(kinds(&person, &["ECOLE"]), ["answer"]);
    assert_eq!(kinds(&person, &["closes at"]), ["answer"]);
    assert_eq!(kinds(&person, &["at closes"]), Vec::<String>::new());
    assert_eq!(kinds(&person, &["polic*"]), ["answer", "question"]);
    assert_eq!(kinds(&person, &["polic*", "-no"]), ["question"]);
    assert_eq!(
        kinds(&person, &["six", "OR", "foam"]),
        ["answer", "question", "answer"]
    );
    assert_eq!(kinds(&person, &["--in", "items", "close"]), ["note"]);
    assert_eq!(
        kinds(&person, &["--in", "turns", "close"]),
        ["answer", "question"]
    );
    assert_eq!(kinds(&person, &["--by", "model", "close"]), ["answer"]);
    assert_eq!(
        kinds(&person, &["--by", "user", "close"]),
        ["note", "question"]
    );
    assert_eq!(
        kinds(&person, &["--model", "small", "close"]),
        ["answer", "question"]
    );
    assert_eq!(
        kinds(&person, &["--model", "open*1b", "close"]),
        ["answer", "question"]
    );
    assert!(kinds(&person, &["--model", "small*", "close"]).is_empty());
    assert!(kinds(&person, &["--model", "%", "close"]).is_empty());
    assert_eq!(kinds(&person, &["--since", "1h", "close"]).len(), 3);
    assert!(kinds(&person, &["--until", "2020-01-01", "close"]).is_empty());
    assert_eq!(kinds(&person, &["--exact", "schools"]), ["question"]);
    assert_eq!(
        kinds(&person, &["--exact", "school", "-open"]),
        ["question"]
    );
    assert!(kinds(&person, &["--exact", "School"]).is_empty());
    assert_eq!(kinds(&person, &["--best", "-n", "1", "close"]).len(), 1);
    assert_eq!(
        person.gently(&["search", "--count", "close"]).exits(0).out,
        "3\n"
    );
    assert_eq!(
        person
            .gently(&["search", "--count", "--exact", "school"])
            .exits(0)
            .out,
        "2\n"
    );
    assert_eq!(
        person
            .gently(&["search", "--count", "nowhere"])
            .exits(1)
            .out,
        "0\n"
    );
}

#[test]
fn a_hit_says_where_and_who_and_shows_why() {
    let (person, _server) = person(&["The port is\n80, \u{1b}[2Jnot 81."]);
    person.gently(&["ask", "Which port?"]).exits(0);
    person.gently(&["fact", "add", "A port is a door"]).exits(0);
    let hits = found(&person, &["port"]);
    assert_eq!(hits[0]["item"], "ledger:000001");
    assert_eq!(hits[1]["title"], "Which port?");
    assert_eq!(
        (&hits[1]["by"], &hits[2]["by"]),
        (&json!("model"), &json!("user"))
    );
    assert_eq!(hits[1]["model"], "openai/small-1b");
    assert_eq!(hits[1]["snippet"], "The port is 80, \\u001b[2Jnot 81.");
    assert_eq!(hits[1]["marks"], json!([[4, 8]]));
    assert_eq!(hits[1]["withheld"], false);
    let exchange = hits[1]["exchange"].as_str().unwrap();
    person.gently(&["show", exchange]).exits(0);
    let told = person.gently(&["search", "port"]).exits(0).out;
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 6, "{told}");
    assert!(lines[0].ends_with("  fact-1  you"), "{told}");
    assert_eq!(lines[1], "    A [port] is a door");
    assert!(
        lines[2].ends_with(&format!("  {exchange}  openai/small-1b  Which port?")),
        "{told}"
    );
    assert_eq!(lines[3], "    The [port] is 80, \\u001b[2Jnot 81.");
    assert_eq!(lines[5], "    Which [port]?");
    assert!(!told.contains('\u{1b}'), "{told:?}");
    let coloured = person
        .gently(&["--color", "always", "search", "port"])
        .exits(0)
        .out;
    assert!(
        coloured.contains("A \u{1b}[1m\u{1b}[33mport\u{1b}[0m is"),
        "{coloured:?}"
    );
}

#[test]
fn what_can_not_be_looked_for_is_said_and_nothing_is_recorded() {
    let (person, _server) = person(&["Yes."]);
    person.gently(&["ask", "Is it?"]).exits(0);
    let before = (person.log(), person.commits());
    let many = vec!["word"; 10_000].join(" ");
    for (args, said) in [
        (&["search"][..], "say what to look for"),
        (&["search", "..."], "only signs"),
        (&["search", "-it"], "only what is to be left out"),
        (&["search", "-it", "-?"], "only what is to be left out"),
        (&["search", "po*"], "3 letters or more"),
        (&["search", &many], "10000 words"),
        (
            &["search", "--in", "items", "--model", "x", "it"],
            "belong to no conversation",
        ),
        (
            &["search", "--in", "items", "--by", "model", "it"],
            "a person's",
        ),
        (
            &["search", "--conversation", "nowhere", "it"],
            "no conversation 'nowhere'",
        ),
        (
            &["search", "--project", "nowhere", "it"],
            "no project 'nowhere'",
        ),
        (&["search", "--since", "soon", "it"], "--since takes"),
        (
            &["search", "--before", "1.1-000000", "it"],
            "no place in this search",
        ),
        (
            &["search", "--before", "\u{1b}[2J", "it"],
            "no place in this search",
        ),
        (
            &["search", "--best", "--before", "1.1-0", "it"],
            "don't go together",
        ),
        (&["search", "-n", "0", "it"], "it takes 1 to 1000"),
    ] {
        let ran = person.gently(args).exits(2);
        assert!(
            ran.err.contains(said) && !ran.err.contains('\u{1b}'),
            "{args:?}: {ran:?}"
        );
    }
    let nul = TypedSearch::of_line("a\0b");
    assert_eq!(nul, Err(NoSearch::Nul));
    for args in [
        &["search", "it"][..],
        &["search", "OR"],
        &["search", "\"", "it"],
        &["search", "NEAR(it", "AND", ")", "^it", "content:it"],
        &["search", "it*\" OR \""],
        &["search", "--", "-it", "is"],
        &["search", "quetzalcoatl"],
    ] {
        let ran = person.gently(args);
        assert!(
            ran.code <= 1 && !ran.err.contains("error"),
            "{args:?}: {ran:?}"
        );
    }
    assert_eq!(before, (person.log(), person.commits()));
}

#[test]
fn what_is_withheld_has_no_text_and_what_is_erased_is_not_there() {
    let reply = "I've restarted nginx.";
    let (mut person, _server) = person(&[reply, "It sleeps, nginx."]);
    person.gently(&["init"]).exits(0);
    person.withholds_claims(|kernel| kernel);
    person.gently(&["ask", "Restart nginx"]).exits(1);
    let hits = found(&person, &["nginx"]);
    assert_eq!(hits.len(), 2);
    assert_eq!(
        (&hits[0]["withheld"], &hits[0]["snippet"]),
        (&json!(true), &Value::Null)
    );
    assert_eq!(hits[0]["marks"], json!([]));
    let told = person.gently(&["search", "nginx"]).exits(0).out;
    assert!(told.contains("(withheld, as your kernel says)"), "{told}");
    assert!(!told.contains("I've"), "{told}");
    person.gently(&["ask", "Does nginx sleep?"]).exits(0);
    person.gently(&["erase", "last", "--yes"]).exits(0);
    assert_eq!(found(&person, &["nginx"]).len(), 2);
    assert!(found(&person, &["sleep"]).is_empty());
    person.set("GENTLY_STORE_CONTENT", "none");
    person.gently(&["ask", "And the wombat?"]);
    assert!(found(&person, &["wombat"]).is_empty());
}

/// Page by page each hit once, while others are added; a place in another search is refused.
#[test]
fn pages_give_each_hit_once_while_others_are_added() {
    let person = Person::new();
    person.gently(&["init"]).exits(0);
    for n in 0..7 {
        person
            .gently(&["note", "add", &format!("wombat number {n}")])
            .exits(0);
        person.ask(&format!("How is wombat {n}?"));
    }
    let page = |before: Option<&str>| {
        let mut args = vec!["search", "--json", "wombat", "--by", "user", "-n", "3"];
        args.extend(before.iter().flat_map(|place| ["--before", place]));
        let page = person.gently(&args).exits(0).json();
        let lines: Vec<u64> = page["hits"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| hit["line"].as_u64().unwrap())
            .collect();
        (lines, page["older"].as_str().map(str::to_owned))
    };
    let (mut lines, mut older) = page(None);
    let first = older.clone().unwrap();
    while let Some(place) = older {
        person.gently(&["note", "add", "another wombat"]).exits(0);
        let (more, next) = page(Some(&place));
        lines.extend(more);
        older = next;
    }
    assert_eq!(lines.len(), 14, "{lines:?}");
    assert!(lines.windows(2).all(|pair| pair[0] > pair[1]), "{lines:?}");
    for args in [
        &["search", "wombat", "--before", &first][..],
        &["search", "numbers", "--by", "user", "--before", &first],
    ] {
        let ran = person.gently(args).exits(2);
        assert!(ran.err.contains("no place in this search"), "{ran:?}");
    }
    // How many are shown is no part of what is looked for.
    person
        .gently(&[
            "search", "wombat", "--by", "user", "-n", "5", "--before", &first,
        ])
        .exits(0);
    let told = person.gently(&["search", "wombat", "-n", "2"]).exits(0);
    // What is said is a command that can be typed.
    let (_, next) = told.err.split_once("older ones: ").unwrap();
    let next: Vec<&str> = next.split_whitespace().skip(1).collect();
    assert_eq!(
        next[..5],
        ["search", "wombat", "-n", "2", "--before"],
        "{told:?}"
    );
    let second = person.gently(&next).exits(0);
    assert!(second.err.contains("older ones: "), "{second:?}");
    assert!(
        second.out != told.out && second.out.contains("[wombat]"),
        "{second:?}"
    );
}

/// Whatever was typed, the line for the next page asks for the same again.
#[test]
fn the_line_for_the_next_page_has_all_that_was_typed() {
    let person = Person::new();
    person.gently(&["init"]).exits(0);
    for n in 0..3 {
        person
            .gently(&["note", "add", &format!("it's a red wombat, {n}")])
            .exits(0);
    }
    let told = person
        .gently(&[
            "search",
            "red wombat",
            "-green",
            "--in",
            "items",
            "--since",
            "today",
            "-n",
            "1",
        ])
        .exits(0);
    let (_, next) = told.err.split_once("older ones: ").unwrap();
    assert!(
        next.contains(
            "search 'red wombat' --without=green --since today --in items -n 1 --before "
        ),
        "{told:?}"
    );
    let shell = std::process::Command::new("sh")
        .arg("-c")
        .arg(next.trim())
        .env_clear()
        .env("GENTLY_HOME", person.home())
        .output()
        .unwrap();
    let out = String::from_utf8(shell.stdout).unwrap();
    assert!(out.contains("it's a [red wombat], 1"), "{out} {told:?}");
}

#[test]
fn a_conversation_and_a_project_have_their_own() {
    let person = Person::new();
    person.gently(&["init"]).exits(0);
    let thread = person.gently(&["thread", "new", "desk"]).exits(0).out;
    let thread = thread.trim();
    person
        .gently(&["ask", "--thread", thread, "How is the wombat of the desk?"])
        .exits(0);
    person.ask("How is the wombat elsewhere?");
    let questions = ["wombat", "--by", "user"];
    assert_eq!(found(&person, &questions).len(), 2);
    let digits = &thread[..6];
    for name in [thread, "desk", digits] {
        let hits = found(
            &person,
            &[&questions[..], &["--conversation", name]].concat(),
        );
        assert_eq!(hits.len(), 1, "{name}");
        assert_eq!(hits[0]["title"], "desk");
    }
    // A title that was given, the beginning of a first question, and the last one.
    person
        .gently(&["ask", "--new", "Where does the wombat sleep?"])
        .exits(0);
    for name in ["last", "Where does the wombat sleep?"] {
        let hits = found(
            &person,
            &[&questions[..], &["--conversation", name]].concat(),
        );
        assert_eq!(hits.len(), 1, "{name}");
        assert_eq!(hits[0]["title"], "Where does the wombat sleep?");
    }
    let named = ["conversation", "rename", "last", "Burrows"];
    person.gently(&named).exits(0);
    let hits = found(
        &person,
        &[&questions[..], &["--conversation", "Burrows"]].concat(),
    );
    assert_eq!(hits.len(), 1);
    assert_eq!(hits[0]["title"], "Burrows");
    // A project by its name and its id; nothing of what is outside.
    person.gently(&["project", "new", "Animals"]).exits(0);
    assert_eq!(
        person
            .gently(&["search", "wombat", "--project", "Animals"])
            .exits(1)
            .out,
        ""
    );
    let moved = ["conversation", "move", "Burrows", "Animals"];
    person.gently(&moved).exits(0);
    for name in ["Animals", "project-1"] {
        let hits = found(&person, &[&questions[..], &["--project", name]].concat());
        assert_eq!(hits.len(), 1, "{name}");
        assert_eq!(hits[0]["title"], "Burrows");
    }
    person
        .gently(&["search", "wombat", "--project", "Plants"])
        .exits(2);
    let many = found(
        &person,
        &[
            "wombat",
            "--best",
            "--conversation",
            "desk",
            "--since",
            "1h",
        ],
    );
    assert!(!many.is_empty());
    let ranked = person.gently(&["search", "wombat", "--best"]).exits(0).err;
    assert!(
        ranked.contains("compared ") && ranked.contains(" that can be searched"),
        "{ranked}"
    );
}

/// The words of a text in their order, and their stems, from indexes of the same kinds over that text
/// alone.
struct Stems(Connection);

/// A word as it is written, in small letters without accents, and its stem.
type WrittenWord = (String, String);

impl Stems {
    fn new() -> Stems {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch(
                "CREATE VIRTUAL TABLE w USING fts5(t, tokenize = 'porter unicode61 remove_diacritics 2');
                 CREATE VIRTUAL TABLE v USING fts5vocab(w, 'instance');
                 CREATE VIRTUAL TABLE x USING fts5(t, tokenize = 'unicode61 remove_diacritics 2');
                 CREATE VIRTUAL TABLE y USING fts5vocab(x, 'instance');",
            )
            .unwrap();
        Stems(connection)
    }

    fn of(&self, text: &str) -> Vec<WrittenWord> {
        let terms = |index: &str, vocabulary: &str| -> Vec<String> {
            self.0.execute(&format!("DELETE FROM {index}"), []).unwrap();
            let put = format!("INSERT INTO {index} (t) VALUES (?1)");
            self.0.execute(&put, [text]).unwrap();
            let sql = format!("SELECT term FROM {vocabulary} ORDER BY offset");
            let mut terms = self.0.prepare(&sql).unwrap();
            let terms = terms.query_map([], |row| row.get(0)).unwrap();
            terms.map(Result::unwrap).collect()
        };
        terms("x", "y").into_iter().zip(terms("w", "v")).collect()
    }
}

/// One typed thing, and what it means.
#[derive(Clone, Debug)]
enum Typed {
    Words(String),
    Beginning(String),
}

impl Typed {
    fn text(&self) -> String {
        match self {
            Typed::Words(words) if words.contains(' ') => format!("\"{words}\""),
            Typed::Words(word) => word.clone(),
            Typed::Beginning(word) => format!("{word}*"),
        }
    }

    fn is_in(&self, stems: &Stems, text: &[WrittenWord]) -> bool {
        let (Typed::Words(typed) | Typed::Beginning(typed)) = self;
        let wanted = stems.of(typed);
        let is_beginning = matches!(self, Typed::Beginning(_));
        let Some((last, before)) = wanted.split_last() else {
            return false;
        };
        text.windows(wanted.len()).any(|words| {
            let (end, begin) = words.split_last().unwrap();
            let ends = match is_beginning {
                true => end.0.starts_with(&last.0),
                false => end.1 == last.1,
            };
            let stems = begin.iter().map(|word| &word.1);
            ends && stems.eq(before.iter().map(|word| &word.1))
        })
    }
}

fn word() -> impl Strategy<Value = String> {
    let words = [
        "run",
        "running",
        "Runs",
        "policy",
        "police",
        "policies",
        "école",
        "ecole",
        "école's",
        "naïve",
        "Straße",
        "the",
        "OR",
        "NEAR",
        "2026",
        "web-server",
        "C++",
        "日本",
        "don't",
        "hours",
        "house",
        "housing",
    ];
    prop::sample::select(words.map(str::to_owned).to_vec())
}

fn typed() -> impl Strategy<Value = Typed> {
    let alone = word().prop_filter("an operator", |word| word != "OR");
    let phrase = prop::collection::vec(word(), 2..4).prop_map(|words| words.join(" "));
    prop_oneof![
        4 => alone.prop_map(Typed::Words),
        1 => phrase.prop_map(Typed::Words),
        1 => prop::sample::select(vec!["polic", "policy", "run", "runn", "eco", "hou", "hous", "web-ser"]).prop_map(|word| Typed::Beginning(word.to_owned())),
    ]
}

/// A home of one question whose text is another in every case.
fn written(person: &Person, texts: &[String]) -> Store {
    let database = Connection::open(person.at("gently.db")).unwrap();
    let columns = "session_id, created_at, speaker, content_hash, refusal, authority_state, driftwatch_id, line";
    database
        .execute_batch(
            "PRAGMA foreign_keys = OFF; BEGIN; INSERT INTO turn_fts (turn_fts) VALUES ('delete-all')",
        )
        .unwrap();
    let triggers: Vec<String> = database
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'chat_turn'")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for trigger in triggers {
        database
            .execute(&format!("DROP TRIGGER {trigger}"), [])
            .unwrap();
    }
    database
        .execute_batch("DELETE FROM chat_turn WHERE n > 1; UPDATE chat_turn SET content = NULL")
        .unwrap();
    for (n, text) in texts.iter().enumerate() {
        let n = u32::try_from(n).unwrap() + 2;
        let id = format!("00000000-0000-8000-8000-{n:012}");
        let put = format!(
            "INSERT INTO chat_turn (turn_id, content, n, {columns}) SELECT ?1, ?2, ?3, {columns} FROM chat_turn WHERE n = 1"
        );
        database.execute(&put, (&id, text, n)).unwrap();
        database
            .execute(
                "INSERT INTO turn_fts (rowid, content) VALUES (?1, ?2)",
                (n, text),
            )
            .unwrap();
    }
    database.execute_batch("COMMIT").unwrap();
    Store::open_read_only(&person.at("gently.db")).unwrap()
}

/// A search finds what a look at each text finds, by the same stems, for whatever is typed.
#[test]
fn a_search_agrees_with_a_look_at_every_text() {
    let person = Person::new();
    person.ask("How is it?");
    let stems = Stems::new();
    let lists = prop::collection::vec(prop::collection::vec(typed(), 1..3), 1..4);
    let texts = prop::collection::vec(prop::collection::vec(word(), 0..9), 1..12);
    let case = (texts, lists, prop::collection::vec(typed(), 0..2));
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let tried = runner.run(&case, |(texts, lists, without)| {
        let texts: Vec<String> = texts.iter().map(|words| words.join(" ")).collect();
        let store = written(&person, &texts);
        let list = |list: &Vec<Typed>| {
            list.iter()
                .map(Typed::text)
                .collect::<Vec<_>>()
                .join(" OR ")
        };
        let mut line = lists.iter().map(list).collect::<Vec<_>>().join(" ");
        line.extend(without.iter().map(|typed| format!(" -{}", typed.text())));
        let expected: Vec<u64> = texts
            .iter()
            .enumerate()
            .filter(|(_, text)| {
                let text = stems.of(text);
                let has = |typed: &Typed| typed.is_in(&stems, &text);
                lists.iter().all(|list| list.iter().any(has)) && !without.iter().any(has)
            })
            .map(|(n, _)| n as u64 + 2)
            .rev()
            .collect();
        let typed = TypedSearch::of_line(&line).unwrap();
        let query = typed.query(false);
        let filter = gently::store::TurnFilter {
            numbers: store.turn_numbers().unwrap(),
            since: None,
            until: None,
            by_user: None,
            model: None,
            threads: None,
        };
        let mut found = Vec::new();
        store
            .search_turns(&query, &filter, &mut |turn| {
                found.push(turn.n);
                Ok(std::ops::ControlFlow::Continue(()))
            })
            .unwrap();
        prop_assert_eq!(&found, &expected, "{}: {:?}", line, texts);
        prop_assert_eq!(
            store.count_turns(&query, &filter).unwrap(),
            expected.len() as u64
        );
        // Each text that is found has a place that is marked.
        let terms: Vec<_> = typed.positive().cloned().collect();
        let shown: Vec<&str> = expected
            .iter()
            .map(|n| texts[*n as usize - 2].as_str())
            .collect();
        let marks = store.marks(&terms, &shown).unwrap();
        prop_assert!(
            marks.iter().all(|spans| !spans.is_empty()),
            "{}: {:?}",
            line,
            shown
        );
        Ok(())
    });
    tried.unwrap();
}

/// A filter that few turns pass goes along them, and one that many pass along the index: both find
/// the same, in pages.
#[test]
fn a_narrow_filter_finds_what_a_wide_one_does() {
    let person = Person::new();
    person.ask("How is it?");
    let texts: Vec<String> = (0..9000).map(|n| format!("wombat {}", n % 7)).collect();
    let store = written(&person, &texts);
    let database = Connection::open(person.at("gently.db")).unwrap();
    database
        .execute_batch(
            "PRAGMA foreign_keys = OFF;
             INSERT INTO chat_session SELECT 'other', started_at, ended_at, phase, tier, kernel_hash, host_role, 'ollama/rare',
               status, 'other', auth_key_hash, branch, block, header, prompts, interactions, chain_head, last_at FROM chat_session LIMIT 1;
             UPDATE chat_turn SET session_id = 'other' WHERE n % 100 = 3;",
        )
        .unwrap();
    let numbers = |request: &SearchRequest| {
        let filter = gently::store::TurnFilter {
            numbers: store.turn_numbers().unwrap(),
            since: None,
            until: None,
            by_user: request.by_user,
            model: request.model.clone(),
            threads: None,
        };
        let mut found = Vec::new();
        let query = request.words.query(false);
        store
            .search_turns(&query, &filter, &mut |turn| {
                found.push(turn.n);
                Ok(std::ops::ControlFlow::Continue(()))
            })
            .unwrap();
        assert_eq!(
            store.count_turns(&query, &filter).unwrap(),
            found.len() as u64
        );
        found
    };
    let mut request = SearchRequest::of(TypedSearch::of_line("wombat").unwrap());
    request.place = SearchPlace::Turns;
    assert_eq!(numbers(&request).len(), 9000);
    request.model = Some("%rare%".to_owned());
    let rare: Vec<u64> = (2..9002).rev().filter(|n| n % 100 == 3).collect();
    assert_eq!(numbers(&request), rare);
    request.model = Some("observer".to_owned());
    assert_eq!(numbers(&request).len(), 9000 - rare.len());
    request.model = Some("nobody".to_owned());
    assert!(numbers(&request).is_empty());
    assert!(search_in(&store, &request).unwrap().hits.is_empty());
}

/// One of the filters that few turns may pass, over turns that are spread in some way.
#[derive(Clone, Debug)]
struct Spread {
    /// Every so manieth turn is let pass.
    step: u64,
    /// Of the turns between these places.
    from: u64,
    to: u64,
    kind: u8,
    word: &'static str,
    effort: gently::store::SearchEffort,
}

fn spread() -> impl Strategy<Value = Spread> {
    let effort = (1u32..60, 0u32..200);
    let places = (1u64..40, 2u64..TURNS, 0u64..TURNS);
    let word = prop::sample::select(vec!["wombat", "seldom", "nowhere", "wom*"]);
    (effort, places, 0u8..3, word).prop_map(
        |((looked_at, gathered), (step, from, more), kind, word)| Spread {
            step,
            from,
            to: (from + more).min(TURNS + 2),
            kind,
            word,
            effort: gently::store::SearchEffort {
                looked_at,
                gathered,
            },
        },
    )
}

/// Turns of the home in which filters are spread.
const TURNS: u64 = 400;

/// Whichever way a search goes, along the index or along a filter, it finds what a look at each turn
/// finds, in the same order, and its beginning when it is stopped.
#[test]
fn a_filter_finds_the_same_whichever_way_the_search_goes() {
    let person = Person::new();
    person.ask("How is it?");
    let texts: Vec<String> = (0..TURNS)
        .map(|n| match n % 13 {
            0 => "wombat seldom".to_owned(),
            3 => "woman".to_owned(),
            _ => format!("wombat {n}"),
        })
        .collect();
    let store = written(&person, &texts);
    let database = Connection::open(person.at("gently.db")).unwrap();
    let triggers: String = database
        .query_row(
            "SELECT group_concat('DROP TRIGGER ' || name, ';') FROM sqlite_schema WHERE type = 'trigger'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    database.execute_batch(&triggers).unwrap();
    // Each turn is one of an exchange of its own here: only what a filter reads is there.
    database
        .execute_batch(
            "PRAGMA foreign_keys = OFF;
             INSERT INTO chat_session SELECT 'other', started_at, ended_at, phase, tier, kernel_hash, host_role, 'ollama/rare',
               status, 'other', auth_key_hash, branch, block, header, prompts, interactions, chain_head, last_at FROM chat_session LIMIT 1;
             INSERT INTO thread SELECT '00000000-0000-8000-8000-000000000099', session_id, 99, 'other', created_at FROM thread LIMIT 1;
             INSERT INTO conversation SELECT '00000000-0000-8000-8000-000000000099', 1, 1, NULL, 'project:000009', 'open', 1;
             DELETE FROM thread_event; DELETE FROM thread_turn; DELETE FROM llm_exchange;
             UPDATE chat_turn SET line = n + 1000;",
        )
        .unwrap();
    let own: String = database
        .query_row(
            "SELECT session_id FROM chat_session WHERE session_id <> 'other'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 150,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let tried = runner.run(&spread(), |spread| {
        let passes = |n: u64| (spread.from..spread.to).contains(&n) && n.is_multiple_of(spread.step);
        database.execute_batch("BEGIN; DELETE FROM thread_event; DELETE FROM thread_turn").unwrap();
        database.execute("UPDATE chat_turn SET session_id = ?1", [&own]).unwrap();
        for n in (2..TURNS + 2).filter(|n| passes(*n)) {
            let n = u32::try_from(n).unwrap();
            database
                .execute("UPDATE chat_turn SET session_id = 'other' WHERE n = ?1", [n])
                .unwrap();
            database
                .execute(
                    "INSERT INTO thread_event
                     SELECT '00000000-0000-8000-8000-000000000099', n, turn_id, 'INTENT', turn_id, line, created_at, 1, NULL
                       FROM chat_turn WHERE n = ?1",
                    [n],
                )
                .unwrap();
            database
                .execute(
                    "INSERT INTO thread_turn (line, turn_id, thread_id, intent_type, config_digest, declared,
                       transformations, inputs, reasons)
                     SELECT line, turn_id, '00000000-0000-8000-8000-000000000099', 'chat.message', '', '[]', '[]', '{}', '[]'
                       FROM chat_turn WHERE n = ?1",
                    [n],
                )
                .unwrap();
        }
        database.execute_batch("COMMIT").unwrap();
        let (mut model, mut threads) = (None, None);
        match spread.kind {
            0 => model = Some("%rare%".to_owned()),
            1 => threads = Some(ThreadFilter::Project("project:000009".to_owned())),
            _ => {
                let thread = "00000000-0000-8000-8000-000000000099".parse().unwrap();
                threads = Some(ThreadFilter::One(thread));
            }
        }
        let filter = gently::store::TurnFilter {
            numbers: store.turn_numbers().unwrap(),
            since: None,
            until: None,
            by_user: None,
            model,
            threads,
        };
        let begins = spread.word.trim_end_matches('*');
        let expected: Vec<u64> = (2..TURNS + 2)
            .rev()
            .filter(|n| passes(*n) && texts[*n as usize - 2].contains(begins))
            .collect();
        let query = TypedSearch::of_line(spread.word).unwrap().query(false);
        for most in [usize::MAX, 3] {
            let mut found = Vec::new();
            store
                .search_turns_with(spread.effort, &query, &filter, &mut |turn| {
                    found.push(turn.n);
                    Ok(match found.len() >= most {
                        true => std::ops::ControlFlow::Break(()),
                        false => std::ops::ControlFlow::Continue(()),
                    })
                })
                .unwrap();
            let page = &expected[..expected.len().min(most)];
            prop_assert_eq!(&found, page, "{:?}", spread);
        }
        prop_assert_eq!(store.count_turns(&query, &filter).unwrap(), expected.len() as u64);
        Ok(())
    });
    tried.unwrap();
}

/// Titles are named beside what texts have, and in the place of it: a title is no text.
#[test]
fn titles_that_have_the_words_are_named() {
    let (person, _server) = person(&["Bread has a crust.", "It has none."]);
    person.gently(&["ask", "What is rye?"]).exits(0);
    person
        .gently(&["conversation", "rename", "last", "Baking questions"])
        .exits(0);
    person
        .gently(&["conversation", "new", "Bread, of rye alone"])
        .exits(0);
    let titles = |args: &[&str]| {
        let ran = person.gently(&[&["search", "--json"], args].concat());
        let titles = ran.json()["titles"].as_array().unwrap().clone();
        let title = |one: &Value| one["title"].as_str().unwrap().to_owned();
        (ran.code, titles.iter().map(title).collect::<Vec<_>>())
    };
    for (args, code, expected) in [
        (&["bake"][..], 1, &["Baking questions"][..]),
        (&["question"], 1, &["Baking questions"]),
        (&["bread"], 0, &["Bread, of rye alone"]),
        (&["bread", "rye"], 1, &["Bread, of rye alone"]),
        (&["rye", "-alone"], 0, &[]),
        (
            &["bake", "OR", "rye"],
            0,
            &["Bread, of rye alone", "Baking questions"],
        ),
        (&["--exact", "bread"], 1, &[]),
        (&["--exact", "Bread"], 0, &["Bread, of rye alone"]),
        (&["--by", "user", "bread"], 1, &[]),
        (&["--in", "items", "bread"], 1, &[]),
        (&["nowhere"], 1, &[]),
    ] {
        let (actual, found) = titles(args);
        assert_eq!(
            (actual, found.as_slice()),
            (
                code,
                &*expected.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>()
            ),
            "{args:?}"
        );
    }
    let said = person.gently(&["search", "bake"]).exits(1).err;
    assert!(
        said.contains("no text has these words\n") && said.contains("  Baking questions\n"),
        "{said}"
    );
    let said = person.gently(&["search", "nowhere"]).exits(1).err;
    assert!(
        said.contains("nothing found") && !said.contains("title"),
        "{said}"
    );
}

#[test]
fn where_words_stand_without_blanks_a_beginning_is_named() {
    let (person, _server) = person(&["東京タワーは高い。"]);
    person.gently(&["ask", "How high is it?"]).exits(0);
    let none = person.gently(&["search", "東京"]).exits(1);
    assert!(
        none.err
            .contains("counts as one word up to the next punctuation mark")
            && none.err.contains("search '東京*'"),
        "{none:?}"
    );
    assert_eq!(kinds(&person, &["東京*"]), ["answer"]);
    let none = person.gently(&["search", "nginx 東京"]).exits(1).err;
    assert!(none.ends_with("search '東京*'\n"), "{none:?}");
    for words in [&["東"][..], &["京都*"], &["kyoto"]] {
        let none = person.gently(&[&["search"], words].concat()).exits(1);
        assert!(!none.err.contains("counts as one word"), "{none:?}");
    }
}
