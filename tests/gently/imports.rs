//! Imports through the program: what a file has comes on record once, says where it is from, and goes
//! again without a trace.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::erase::holders;
use crate::model_server::{Behaviour, ModelServer};
use crate::opening::served;
use crate::person::{Person, run};
use crate::unguarded::{found_and_made_again, unguarded};

/// A word that nobody else writes.
const WORD: &str = "zorilla";

fn line(conversation: &str, role: &str, text: &str) -> Value {
    json!({"conversation": conversation, "role": role, "text": text})
}

/// Two conversations, of which the first has a title and a model.
fn two() -> Vec<Value> {
    let mut lines = vec![
        line("a", "user", "Where does the zorilla live?"),
        line("a", "assistant", "In the savannah."),
        line("b", "user", "And the wombat?"),
    ];
    lines[0]["title"] = json!("Of animals");
    lines[0]["at"] = json!(1_700_000_000);
    lines[1]["model"] = json!("gpt-4");
    lines
}

fn file(person: &Person, lines: &[Value]) -> String {
    let mut text = String::new();
    for line in lines {
        writeln!(text, "{line}").unwrap();
    }
    write_file(person, text.as_bytes())
}

fn write_file(person: &Person, bytes: &[u8]) -> String {
    let path = person.dir.path().join("messages.jsonl");
    std::fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

/// Somebody with a home.
fn somebody() -> Person {
    let person = Person::new();
    person.gently(&["init"]).exits(0);
    person
}

#[track_caller]
fn import(person: &Person, lines: &[Value], more: &[&str], code: i32) -> Value {
    let path = file(person, lines);
    let args = [&["import", "jsonl", &path, "--json"], more].concat();
    let told = person.gently(&args).exits(code).json();
    adds_up(&told);
    told
}

/// That of what was read each is recorded, unchanged, refused or skipped.
#[track_caller]
fn adds_up(told: &Value) {
    let number = |key: &str| told[key].as_u64().unwrap();
    let all = |key: &str| -> u64 {
        let counts = told[key].as_object().unwrap().values();
        counts.map(|count| count.as_u64().unwrap()).sum()
    };
    assert_eq!(
        number("read"),
        number("recorded") + number("unchanged") + all("refused") + all("skipped"),
        "{told:#}"
    );
}

/// What is told of an import of a file: as it is only looked through, and as it is recorded. Both count the same.
#[track_caller]
fn looked_through_and_recorded(person: &Person, format: &str, path: &str, code: i32) -> Value {
    let looked = person.gently(&["import", format, path, "--json", "--dry-run"]);
    let done = person.gently(&["import", format, path, "--json"]);
    let mut looked = looked.exits(code).json();
    let mut told = done.exits(code).json();
    adds_up(&told);
    let import = told["import"].take();
    for told in [&mut looked, &mut told] {
        told["dry_run"] = json!(null);
        told["import"] = json!(null);
    }
    assert_eq!(looked, told);
    told["import"] = import;
    told
}

/// A ZIP of files with these texts.
fn zipped(person: &Person, files: &[(String, String)]) -> String {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    for (name, text) in files {
        zip.start_file(name, options).unwrap();
        std::io::Write::write_all(&mut zip, text.as_bytes()).unwrap();
    }
    let path = person.dir.path().join("export.zip");
    std::fs::write(&path, zip.finish().unwrap().into_inner()).unwrap();
    path.display().to_string()
}

/// A conversation of Claude's export with one message, or none.
fn claude_chat(id: &str, text: &str) -> Value {
    let message = json!({"uuid": "m", "sender": "human", "text": text});
    let messages = Some(message).filter(|_| !text.is_empty());
    json!({"uuid": id, "name": "T", "chat_messages": messages.as_slice()})
}

/// All that is derived of imports, but the hints.
fn rows(person: &Person) -> Vec<String> {
    let database = person.database();
    let mut all = Vec::new();
    for sql in [
        "SELECT json_array(line, id, format, source_id, digest, created_at, updated_at, messages, import_id, state)
           FROM imported_conversation ORDER BY line",
        "SELECT json_array(n, line, i, role, model, at) FROM imported_message ORDER BY n",
        "SELECT json_array(conversation_id, title, turns, origin) FROM conversations ORDER BY 1",
    ] {
        let mut statement = database.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get::<_, String>(0));
        all.extend(rows.unwrap().map(Result::unwrap));
    }
    all
}

fn count(person: &Person, sql: &str) -> u64 {
    let database = person.database();
    let count = database.query_row(sql, [], |row| row.get::<_, u32>(0));
    u64::from(count.unwrap())
}

fn consistent(person: &Person) -> Value {
    person.verified()["answers"]["consistent"].clone()
}

#[test]
fn a_file_is_on_record_once_and_says_where_it_is_from() {
    let person = somebody();
    let told = import(&person, &two(), &[], 0);
    assert_eq!(
        (&told["import"], &told["recorded"], &told["messages"]),
        (&json!("import:000001"), &json!(2), &json!(3)),
        "{told:#}"
    );
    let before = rows(&person);
    let again = import(&person, &two(), &[], 0);
    assert_eq!(
        (&again["recorded"], &again["unchanged"]),
        (&json!(0), &json!(2))
    );
    assert_eq!(rows(&person), before);
    // Without the key the hints say nothing, and the digests decide.
    std::fs::remove_file(person.at("keys/import.key")).unwrap();
    let again = import(&person, &two(), &[], 0);
    assert_eq!(
        (&again["recorded"], &again["unchanged"]),
        (&json!(0), &json!(2))
    );
    assert_eq!(rows(&person), before);

    let origin = ", not verified";
    let lists = [
        vec!["conversation", "list", "--imported"],
        vec!["conversation", "show", "Of animals"],
        vec!["conversation", "show", "imported-1"],
        vec!["show", "imported-1"],
        vec!["import", "show", "import-1"],
        vec!["search", WORD],
    ];
    for args in &lists {
        let shown = person.gently(args).exits(0).out;
        assert!(
            shown.contains("imported from a JSON-lines file on ") && shown.contains(origin),
            "{args:?}: {shown}"
        );
    }
    let shown = person
        .gently(&["show", "imported-1", "--json"])
        .exits(0)
        .json();
    assert_eq!(shown["origin"], "imported:jsonl");
    assert_eq!(shown["lines"][1]["model"], "gpt-4");
    let found = person.gently(&["search", WORD, "--json"]).exits(0).json();
    assert_eq!(found["hits"][0]["origin"], "imported:jsonl", "{found:#}");
    assert_eq!(found["hits"][0]["imported"], "imported:000001");
    assert_eq!(found["hits"][0]["source_at"], "2023-11-14T22:13:20Z");
    let found = person.gently(&["search", WORD]).exits(0).out;
    assert!(
        found.contains("\n    (its source dates it 2023-11-14 22:13)\n"),
        "{found}"
    );
    let undated = person.gently(&["search", "wombat"]).exits(0).out;
    assert!(!undated.contains("its source dates it"), "{undated}");
    let titled = person
        .gently(&["search", "animals", "--json"])
        .exits(1)
        .json();
    assert_eq!(titled["titles"][0]["id"], "imported-1", "{titled:#}");
    person.gently(&["search", WORD, "--by", "model"]).exits(1);
    person
        .gently(&["search", "savannah", "--model", "gpt*"])
        .exits(0);
    let counted = person
        .gently(&["search", "zorilla OR wombat", "--count"])
        .exits(0);
    assert_eq!(counted.out, "2\n");
    let best = person
        .gently(&["search", "wombat", "--best", "--json"])
        .exits(0)
        .json();
    assert_eq!(best["hits"][0]["imported"], "imported:000002");

    for (name, says) in [
        ("a.md", "Where does the zorilla live?"),
        ("a.json", "imported:jsonl"),
    ] {
        let out = person.dir.path().join(name).display().to_string();
        person
            .gently(&["conversation", "export", "imported-1", "--out", &out])
            .exits(0);
        let written = std::fs::read_to_string(out).unwrap();
        assert!(
            written.contains(says) && written.contains("not verified"),
            "{written}"
        );
    }
    assert_eq!(
        count(
            &person,
            "SELECT count(*) FROM messages WHERE origin = 'imported:jsonl'"
        ),
        3
    );
    assert_eq!(consistent(&person), "yes");
}

#[test]
fn a_file_of_which_nothing_can_be_read_is_no_import() {
    let person = somebody();
    let chatgpt = json!([{"id": "a", "title": "T", "mapping": {}}]).to_string();
    let path = write_file(&person, chatgpt.as_bytes());
    for format in ["jsonl", "claude", "llm"] {
        let refused = person.gently(&["import", format, &path]).exits(2);
        assert!(
            refused
                .err
                .contains(&format!("gently import chatgpt {path}")),
            "{format}: {}",
            refused.err
        );
    }
    let script = write_file(&person, "import sys\nprint(1)\n".repeat(30).as_bytes());
    let refused = person.gently(&["import", "jsonl", &script]).exits(2);
    assert!(
        refused
            .err
            .contains("none of its first 10 lines is a JSON object")
            && refused.err.matches("line").count() < 5,
        "{refused:#?}"
    );
    let none = person.gently(&["import", "list", "--json"]).exits(0);
    assert_eq!(none.json()["imports"], json!([]));
    let path = write_file(&person, chatgpt.as_bytes());
    let unsaid = person.gently(&["import", &path]).exits(2);
    let command = format!("import chatgpt {path}");
    assert!(unsaid.err.contains(&command), "{}", unsaid.err);
    for bytes in [&b"hello"[..], b"", b"{}"] {
        let path = write_file(&person, bytes);
        let refused = person.gently(&["import", "chatgpt", &path]).exits(2);
        assert!(
            refused
                .err
                .contains("Name the file that the service exported")
                && !refused.err.contains("goes on"),
            "{}",
            refused.err
        );
    }
    let path = write_file(&person, b"\n");
    let empty = person.gently(&["import", "jsonl", &path]).exits(1);
    assert!(
        empty.err.contains("there is no conversation in the file"),
        "{}",
        empty.err
    );
    let listed = person.gently(&["import", "list", "--json"]).exits(0).json();
    assert_eq!(listed["imports"], json!([]));
}

#[test]
fn it_is_found_by_how_its_title_begins_and_errors_say_the_next_command() {
    let person = somebody();
    import(&person, &two(), &[], 0);
    let shown = person.gently(&["conversation", "show", "of ani"]).exits(0);
    assert!(shown.out.contains("imported-1"), "{}", shown.out);
    let cases = [
        (vec!["conversation", "show", "Sourdough"], "--imported"),
        (
            vec!["search", "--conversation", "imported-1", WORD],
            "conversation show imported-1",
        ),
        (
            vec!["import", "show", "imported-1"],
            "conversation show imported-1",
        ),
    ];
    for (args, says) in cases {
        let refused = person.gently(&args).exits(2);
        assert!(refused.err.contains(says), "{args:?}: {}", refused.err);
    }
    let path = file(&person, &two());
    let none = person
        .gently(&["import", "jsonl", &path, "--only", "animals"])
        .exits(1);
    assert!(
        none.out.contains("skipped: another title") && none.err.contains("\"Of animals\""),
        "{none:?}"
    );
}

#[test]
fn those_changed_last_are_listed_first_page_by_page() {
    let person = somebody();
    let mut lines = Vec::new();
    for (name, at) in [("a", 5_000), ("b", 9_000), ("c", 7_000), ("d", 9_000)] {
        let mut said = line(name, "user", name);
        said["at"] = json!(at);
        lines.push(said);
    }
    lines.push(line("e", "user", "no time"));
    import(&person, &lines, &[], 0);
    let mut ids = Vec::new();
    let mut before: Option<String> = None;
    loop {
        let mut args = vec!["conversation", "list", "--imported", "-n", "2", "--json"];
        args.extend(before.iter().flat_map(|next| ["--before", next.as_str()]));
        let page = person.gently(&args).exits(0).json();
        let listed = page["imported"].as_array().unwrap();
        ids.extend(listed.iter().map(|one| one["source_id"].clone()));
        let next = page["next"].as_str().map(str::to_owned);
        before = next;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(json!(ids), json!(["d", "b", "c", "a", "e"]));
}

#[test]
fn nobody_goes_on_in_it_and_nothing_counts_it() {
    let person = somebody();
    import(&person, &two(), &[], 0);
    for id in ["imported-1", "imported:000001"] {
        let refused = person
            .gently(&["ask", "--conversation", id, "And then?"])
            .exits(2);
        assert!(refused.err.contains("--deep"), "{}", refused.err);
    }
    person.gently(&["share", "imported-1"]).exits(2);
    for (table, sql) in [
        ("exchanges", "SELECT count(*) FROM llm_exchange"),
        ("turns", "SELECT count(*) FROM chat_turn"),
        ("ratings", "SELECT count(*) FROM rating"),
        ("runs", "SELECT count(*) FROM model_runs"),
        ("counters", "SELECT count(*) FROM token_counters"),
    ] {
        assert_eq!(count(&person, sql), 0, "{table}");
    }
}

#[test]
fn what_is_said_otherwise_takes_the_place_of_the_older() {
    let person = somebody();
    import(&person, &two(), &[], 0);
    let mut lines = two();
    lines[0]["text"] = json!("Where does the caracal live?");
    let told = import(&person, &lines, &[], 0);
    assert_eq!(
        (&told["recorded"], &told["replaced"], &told["unchanged"]),
        (&json!(1), &json!(1), &json!(1))
    );
    person.gently(&["search", WORD]).exits(1);
    person.gently(&["search", "caracal"]).exits(0);
    let listed = person
        .gently(&["conversation", "list", "--imported", "--json"])
        .exits(0)
        .json();
    let ids: Vec<&str> = listed["imported"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["conversation"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["imported:000003", "imported:000002"]);
    assert_eq!(consistent(&person), "yes");
    // The older one says which took its place, wherever it is shown.
    for args in [
        &["conversation", "show", "imported-1"][..],
        &["import", "show", "import-1"],
    ] {
        let shown = person.gently(args).exits(0).out;
        assert!(
            shown.contains("replaced by imported-3: ")
                && shown.contains("conversation show imported-3"),
            "{shown}"
        );
    }
    let older = person
        .gently(&["conversation", "show", "imported-1", "--json"])
        .exits(0)
        .json();
    assert_eq!(older["replaced_by"], "imported:000003", "{older:#}");
    let all = person.gently(&["import", "list"]).exits(0).out;
    assert!(
        all.contains("2 conversations of it here, 1 of them replaced since")
            && all.contains("1 conversation of it here\n"),
        "{all}"
    );
    let newest = person.gently(&["import", "list", "-n", "1"]).exits(0);
    assert!(
        newest.out.starts_with("import-2")
            && newest.err.contains("1 older not listed: ")
            && newest.err.contains("import list -n 2"),
        "{newest:#?}"
    );
    // What it took the place of says nearly the same, and goes with it.
    person
        .gently(&["conversation", "delete", "imported-3", "--yes"])
        .exits(0);
    for word in [WORD, "caracal"] {
        assert_eq!(
            holders(person.home(), word.as_bytes()),
            Vec::<PathBuf>::new()
        );
    }
    assert_eq!(consistent(&person), "yes");
}

/// Whatever a file has: each message is recorded, or what it is in is refused or skipped.
#[test]
fn every_message_is_recorded_refused_or_skipped() {
    let person = somebody();
    let mut random = 7_u64;
    let mut next = |most: u64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % most
    };
    for round in 0..4 {
        let (mut text, mut sent) = (String::new(), Vec::new());
        let mut broken = 0;
        for conversation in 0..next(6) + 2 {
            for message in 0..next(5) + 1 {
                let said = format!("round{round}c{conversation}m{message} {}", next(3));
                let role = ["user", "assistant", "system", "tool"][next(4) as usize];
                let id = format!("r{round}-{conversation}");
                writeln!(text, "{}", line(&id, role, &said)).unwrap();
                sent.push(said);
                if next(7) == 0 {
                    text.push_str("{\"conversation\":\n");
                    broken += 1;
                }
            }
        }
        let path = write_file(&person, text.as_bytes());
        let code = i32::from(broken > 0);
        let told = person
            .gently(&["import", "jsonl", &path, "--json"])
            .exits(code)
            .json();
        assert_eq!(
            told["refusals"].as_array().unwrap().len(),
            broken,
            "{told:#}"
        );
        assert_eq!(told["messages"], json!(sent.len()), "{told:#}");
        let database = person.database();
        for said in &sent {
            let sql = "SELECT count(*) FROM messages WHERE content = ?1";
            let found: u32 = database.query_row(sql, [said], |row| row.get(0)).unwrap();
            assert!(found > 0, "{said}");
        }
        let again = person
            .gently(&["import", "jsonl", &path, "--json"])
            .exits(code)
            .json();
        assert_eq!(
            (&again["recorded"], &again["unchanged"]),
            (&json!(0), &told["recorded"])
        );
    }
    assert_eq!(consistent(&person), "yes");
}

/// Numbers that look random, and are the same each time.
struct Dice(u64);

impl Dice {
    /// One below `most`.
    fn next(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// Whatever lists a ZIP has: each conversation in it is counted once, and a list that is missing is told.
#[test]
fn the_counts_of_a_zip_add_up() {
    let person = somebody();
    let mut dice = Dice(11);
    for round in 0..5 {
        let (mut files, mut missing) = (Vec::new(), Vec::new());
        let (mut good, mut empty, mut broken, mut repeats) = (0_u64, 0_u64, 0_u64, 0_u64);
        for list in 0..4 {
            let name = format!("x/conversations-{list:03}.json");
            // The last one is there, so that what is before it is known to be missing.
            if list < 3 && dice.next(3) == 0 {
                missing.push(name);
                continue;
            }
            let mut chats = Vec::new();
            for n in 0..dice.next(4) {
                let id = format!("r{round}-{list}-{n}");
                match dice.next(4) {
                    0 => {
                        chats.push(claude_chat(&id, ""));
                        empty += 1;
                    }
                    1 => {
                        chats.push(json!({"uuid": id}));
                        broken += 1;
                    }
                    2 => {
                        chats.extend([claude_chat(&id, "said"), claude_chat(&id, "said again")]);
                        good += 1;
                        repeats += 1;
                    }
                    _ => {
                        chats.push(claude_chat(&id, "said"));
                        good += 1;
                    }
                }
            }
            files.push((name, json!(chats).to_string()));
        }
        files.push((
            format!("r{round}/conversations.json"),
            json!([claude_chat(&format!("r{round}"), "said")]).to_string(),
        ));
        good += 1;
        let path = zipped(&person, &files);
        let code = i32::from(broken + repeats > 0 || !missing.is_empty());
        let told = looked_through_and_recorded(&person, "claude", &path, code);
        let count = |of: &Value, reason: &str| of[reason].as_u64().unwrap_or(0);
        assert_eq!(
            (
                &told["recorded"],
                count(&told["skipped"], "empty"),
                count(&told["refused"], "shape"),
                count(&told["refused"], "repeats"),
                &told["read"],
            ),
            (
                &json!(good),
                empty,
                broken,
                repeats,
                &json!(good + empty + broken + repeats)
            ),
            "{told:#}"
        );
        let named = told["missing"].as_array().unwrap();
        let several = missing.len().min(named.len());
        assert_eq!(named.is_empty(), missing.is_empty(), "{told:#} {missing:?}");
        assert!(
            several == 0 || named[0].as_str().unwrap().starts_with(&missing[0]),
            "{told:#}"
        );
    }
    assert_eq!(consistent(&person), "yes");
}

#[test]
fn a_list_that_is_missing_is_named_and_is_no_success() {
    let person = somebody();
    let list = |id: &str| json!([claude_chat(id, "Where does the zorilla live?")]).to_string();
    let files = [
        ("conversations-000.json".to_owned(), list("a")),
        ("conversations-002.json".to_owned(), list("b")),
        ("conversations-005.json".to_owned(), list("c")),
    ];
    let path = zipped(&person, &files);
    let told = looked_through_and_recorded(&person, "claude", &path, 1);
    assert_eq!(
        told["missing"],
        json!([
            "conversations-001.json",
            "conversations-003.json to conversations-004.json"
        ])
    );
    assert_eq!(
        (&told["recorded"], &told["end"]),
        (&json!(3), &json!("whole"))
    );
    let again = person.gently(&["import", "claude", &path]).exits(1);
    let words = "not in it: conversations-001.json, conversations-003.json to conversations-004.json. What stood";
    assert!(again.err.contains(words), "{again:?}");
    assert!(!again.err.contains("refused"), "{again:?}");
    let whole: Vec<(String, String)> = (0..2)
        .map(|n| (format!("conversations-{n:03}.json"), list(&n.to_string())))
        .collect();
    let path = zipped(&person, &whole);
    let told = looked_through_and_recorded(&person, "claude", &path, 0);
    assert_eq!(told["missing"], json!([]));
}

#[test]
fn what_is_refused_of_two_lists_with_one_name_is_told_apart() {
    let person = somebody();
    let hash = |digit: &str| digit.repeat(64);
    let folders = [
        "".to_owned(),
        "a/".to_owned(),
        format!("{}-2025/", hash("3a")),
        format!("{}-2025/", hash("5b")),
        "\u{1b}[2J/".to_owned(),
    ];
    let files: Vec<(String, String)> = folders
        .iter()
        .map(|folder| (format!("{folder}conversations.json"), "[{}]".to_owned()))
        .collect();
    let path = zipped(&person, &files);
    let told = looked_through_and_recorded(&person, "claude", &path, 1);
    let places = told["refusals"].as_array().unwrap().iter();
    let places: Vec<&str> = places.map(|one| one["place"].as_str().unwrap()).collect();
    assert_eq!(
        places[..2],
        [
            "conversations.json, conversation 1",
            "a/conversations.json, conversation 1"
        ]
    );
    assert_ne!(places[2], places[3]);
    assert_eq!(places[4], "\\u001b[2J/conversations.json, conversation 1");
    let shown = person.gently(&["import", "claude", &path]).exits(1);
    assert!(
        shown
            .err
            .contains("refused: a/conversations.json, conversation 1"),
        "{shown:?}"
    );
    assert!(!shown.err.contains('\u{1b}'), "{shown:?}");
}

/// Whatever a database of `llm` has: each conversation is counted once, of one generation or of both, with answers
/// or without.
#[test]
fn the_counts_of_llm_add_up() {
    let person = somebody();
    let mut dice = Dice(5);
    for round in 0..5 {
        let path = person.dir.path().join(format!("logs{round}.db"));
        let database = Connection::open(&path).unwrap();
        let tables = "
            CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
            CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT, response TEXT,
              conversation_id TEXT, datetime_utc TEXT);
            CREATE TABLE messages (hash TEXT PRIMARY KEY, parent_hash TEXT, role TEXT);
            CREATE TABLE parts (id INTEGER PRIMARY KEY, message_hash TEXT, position INTEGER, type TEXT, text TEXT,
              payload TEXT);
            CREATE TABLE threads (id TEXT PRIMARY KEY, name TEXT, tip_message_hash TEXT);
            CREATE TABLE turns (id TEXT PRIMARY KEY, thread_id TEXT, parent_message_hash TEXT,
              tip_message_hash TEXT, model TEXT);";
        database.execute_batch(tables).unwrap();
        let (mut good, mut empty) = (0_u64, 0_u64);
        for n in 0..8 {
            let id = format!("r{round}-{n}");
            let (is_old, is_new) = (dice.next(3) > 0, dice.next(2) > 0);
            let (has_answer, has_message) =
                (is_old && dice.next(2) > 0, is_new && dice.next(2) > 0);
            if is_old {
                let sql = "INSERT INTO conversations VALUES (?1, 'Old', 'm')";
                database.execute(sql, [&id]).unwrap();
            }
            if has_answer {
                let sql = "INSERT INTO responses VALUES (?1 || 'a', 'm', 'asked', NULL, 'answered', ?1, NULL)";
                database.execute(sql, [&id]).unwrap();
            }
            if is_new {
                let sql = "INSERT INTO threads VALUES (?1, 'New', CASE WHEN ?2 THEN ?1 || 'm' END)";
                database.execute(sql, (&id, has_message)).unwrap();
            }
            if has_message {
                let sql = "INSERT INTO messages VALUES (?1 || 'm', NULL, 'user')";
                database.execute(sql, [&id]).unwrap();
                let sql = "INSERT INTO parts(message_hash, position, type, text) VALUES (?1 || 'm', 0, 'text', 'said')";
                database.execute(sql, [&id]).unwrap();
            }
            good += u64::from(has_answer || has_message);
            empty += u64::from((is_old || is_new) && !(has_answer || has_message));
        }
        database.close().unwrap();
        assert!(good > 0 && empty > 0);
        let told = looked_through_and_recorded(&person, "llm", &path.display().to_string(), 0);
        assert_eq!(
            (&told["read"], &told["recorded"], &told["skipped"]),
            (&json!(good + empty), &json!(good), &json!({"empty": empty})),
            "{told:#}"
        );
    }
    assert_eq!(consistent(&person), "yes");
}

#[test]
fn what_is_only_looked_through_changes_nothing_and_counts_the_same() {
    let person = somebody();
    let before = person.log();
    let mut lines = two();
    lines.push(line("b", "nobody", "A role that there is not"));
    let told = import(&person, &lines, &["--dry-run"], 1);
    assert_eq!(told["dry_run"], true);
    assert_eq!(person.log(), before);
    assert!(!person.at("keys/import.key").exists());
    let done = import(&person, &lines, &[], 1);
    for key in [
        "read",
        "recorded",
        "unchanged",
        "refused",
        "skipped",
        "messages",
        "sha256",
    ] {
        assert_eq!(told[key], done[key], "{key}");
    }
    let only = import(&person, &two(), &["--only", "of ANIMALS"], 0);
    assert_eq!(
        (&only["unchanged"], &only["skipped"]),
        (&json!(1), &json!({"only": 1}))
    );
    let since = import(&person, &two(), &["--since", "2024-01-01"], 0);
    assert_eq!(
        since["skipped"],
        json!({"since": 1, "undated": 1}),
        "{since:#}"
    );
    let near = import(&person, &two(), &["--only", "ANIMALS"], 1);
    assert_eq!(near["skipped"], json!({"only": 2}));
    assert_eq!(near["near"], json!(["Of animals"]));
    person
        .gently(&["import", "jsonl", "nowhere.jsonl"])
        .exits(2);
}

#[test]
fn without_an_import_the_lists_say_where_to_read_of_them() {
    let person = somebody();
    for (args, said) in [
        (&["import", "list"][..], "nothing was imported yet: "),
        (
            &["conversation", "list", "--imported"],
            "no imported conversation is here: ",
        ),
    ] {
        let none = person.gently(args).exits(0);
        assert!(
            none.err.starts_with(said) && none.err.contains("gently help import says"),
            "{none:?}"
        );
    }
}

#[test]
fn an_import_is_known_by_its_number_alone() {
    let person = somebody();
    import(&person, &two(), &[], 0);
    let shown = |id: &str| person.gently(&["import", "show", id]).exits(0).out;
    assert_eq!(shown("1"), shown("import-1"));
    let unknown = |id: &str| person.gently(&["import", "show", id]).exits(2).err;
    assert_eq!(unknown("7"), unknown("import-7").replace("import-7", "7"));
    let planned = |id: &str| {
        let ran = person.gently(&["import", "erase", id, "--dry-run", "--json"]);
        ran.exits(0).json()
    };
    assert_eq!(planned("1"), planned("import-1"));
    assert_eq!(
        planned("1")["artifacts"],
        json!(["imported:000001", "imported:000002", "import:000001"])
    );
}

/// Who names an import means what came with it.
#[test]
fn the_record_of_an_import_is_not_erased_beside_its_conversations() {
    let person = somebody();
    import(&person, &two(), &[], 0);
    for args in [
        &["erase", "import-1", "--yes"][..],
        &["erase", "import:000001", "--dry-run"],
    ] {
        let ran = person.gently(args).exits(2);
        assert!(
            ran.err.contains("import-1 is the record of an import")
                && ran.err.contains("gently import erase import-1"),
            "{ran:?}"
        );
    }
    assert_eq!(
        count(
            &person,
            "SELECT count(*) FROM artifact WHERE kind = 'tombstone'"
        ),
        0
    );
    person.gently(&["import", "erase", "1", "--yes"]).exits(0);
    // Nothing of it is here any more: it is as with everything that is erased already.
    person.gently(&["erase", "import-1", "--dry-run"]).exits(0);
}

#[test]
fn erasing_leaves_no_word_and_importing_again_brings_it_back() {
    let person = somebody();
    import(&person, &two(), &[], 0);
    assert!(!holders(person.home(), WORD.as_bytes()).is_empty());
    person
        .gently(&["import", "erase", "import-1", "--dry-run"])
        .exits(0);
    person.gently(&["import", "erase", "import-1"]).exits(2);
    let erased = person
        .gently(&["import", "erase", "import-1", "--yes", "--json"])
        .exits(0)
        .json();
    assert_eq!(
        erased["artifacts"],
        json!(["imported:000001", "imported:000002", "import:000001"])
    );
    for word in [WORD, "savannah", "wombat", "Of animals"] {
        assert_eq!(
            holders(person.home(), word.as_bytes()),
            Vec::<PathBuf>::new(),
            "{word}"
        );
    }
    // Nor can somebody keep one beside it unseen.
    let kept = "UPDATE imported_conversation SET source_tag = ?1 WHERE id = 'imported:000001'";
    let database = unguarded(person.at("gently.db"));
    assert_eq!(database.execute(kept, [WORD.as_bytes()]).unwrap(), 1);
    drop(database);
    let told = person.gently(&["audit", "verify", "-v"]).exits(1).out;
    assert!(told.contains("column source_tag"), "{told}");
    person.gently(&["audit", "rebuild"]).exits(0);
    assert_eq!(
        holders(person.home(), WORD.as_bytes()),
        Vec::<PathBuf>::new()
    );
    assert_eq!(consistent(&person), "yes");
    let left = "SELECT count(*) FROM imported_conversation WHERE state <> 'erased' OR source_id IS NOT NULL
                   OR digest IS NOT NULL OR source_tag IS NOT NULL OR format IS NOT NULL";
    assert_eq!(count(&person, left), 0);
    assert_eq!(count(&person, "SELECT count(*) FROM imported_message"), 0);
    assert_eq!(consistent(&person), "yes");
    let told = import(&person, &two(), &[], 0);
    assert_eq!(told["recorded"], 2);
    person.gently(&["search", WORD]).exits(0);
    person.gently(&["erase", "imported-3", "--yes"]).exits(0);
    assert_eq!(
        holders(person.home(), WORD.as_bytes()),
        Vec::<PathBuf>::new()
    );
    person.gently(&["search", "wombat"]).exits(0);
    person.gently(&["audit", "verify"]).exits(0);
}

/// Whoever imported a file again has its hash on record more than once, and all of them go with its texts.
#[test]
fn the_hash_of_a_file_goes_from_every_import_of_it() {
    let person = somebody();
    let sha256 = import(&person, &two(), &[], 0)["sha256"].clone();
    let again = import(&person, &two(), &[], 0);
    assert_eq!(
        (&again["unchanged"], &again["sha256"]),
        (&json!(2), &sha256)
    );
    let planned = person
        .gently(&["import", "erase", "import-1", "--dry-run"])
        .exits(0);
    assert!(planned.out.contains("(import-1, import-2)"), "{planned:?}");
    person
        .gently(&[
            "import",
            "erase",
            "import-1",
            "--yes",
            "--reason",
            "a patient asked",
        ])
        .exits(0);
    let left = holders(person.home(), sha256.as_str().unwrap().as_bytes());
    assert_eq!(left, Vec::<PathBuf>::new());
    let shown = person.gently(&["show", "imported-1"]);
    assert!(
        shown.out.contains("(its text was erased at 2") && shown.out.contains(": a patient asked)"),
        "{shown:?}"
    );
    assert_eq!(consistent(&person), "yes");
}

/// What is refused is another conversation: that none has the title is said all the same.
#[test]
fn a_title_that_nothing_has_is_no_import_beside_what_is_refused() {
    let person = somebody();
    let mut lines = two();
    lines.push(json!({"conversation": "broken", "role": "user", "text": "x", "title": "Broken", "parent": "none"}));
    let told = import(&person, &lines, &["--only", "Nothing"], 1);
    assert_eq!(
        (&told["import"], &told["refused"]),
        (&json!(null), &json!({"missing_parent": 1}))
    );
    let path = file(&person, &lines);
    let told = person.gently(&["import", "jsonl", &path, "--only", "Nothing"]);
    assert!(told.exits(1).err.contains("has this title"));
    person.gently(&["import", "list"]).exits(0);
    // The one that is refused is the one that was meant.
    let told = import(&person, &lines, &["--only", "broken"], 1);
    assert_eq!(told["import"], "import:000001");
}

/// Who wants one conversation is not told of what is wrong with others, where their titles are known.
#[test]
fn a_broken_conversation_of_another_title_is_skipped() {
    let person = somebody();
    let whole = json!({"uuid": "a", "name": "Animals", "chat_messages": [
        {"uuid": "1", "sender": "human", "text": "Which is the largest?"}]});
    let broken = json!({"uuid": "b", "name": "Broken", "chat_messages": [
        {"uuid": "1", "sender": "human", "text": "x"}, {"uuid": "1", "sender": "human", "text": "y"}]});
    let path = write_file(&person, json!([whole, broken]).to_string().as_bytes());
    let told = person.gently(&["import", "claude", &path, "--only", "animals", "--json"]);
    let told = told.exits(0).json();
    assert_eq!(told["skipped"], json!({"only": 1}), "{told:#}");
    assert_eq!(told["refused"], json!({}), "{told:#}");
    let told = person.gently(&["import", "claude", &path, "--only", "broken", "--json"]);
    assert_eq!(told.exits(1).json()["refused"], json!({"duplicate_id": 1}));
    // What was refused, and why, is in the record of its import.
    let shown = person.gently(&["import", "show", "import-2"]).exits(0).out;
    assert!(
        shown.contains("refused: two messages of one id\n")
            && shown.contains("skipped: another title\n"),
        "{shown}"
    );
}

/// The hash of a file, with which its texts could be guessed, goes with the last of them.
#[test]
fn the_hash_of_a_file_goes_with_the_last_text_of_its_import() {
    let person = somebody();
    let sha256 = import(&person, &two(), &[], 0)["sha256"].clone();
    let sha256 = sha256.as_str().unwrap();
    assert!(!holders(person.home(), sha256.as_bytes()).is_empty());
    person.gently(&["erase", "imported-1", "--yes"]).exits(0);
    assert!(!holders(person.home(), sha256.as_bytes()).is_empty());
    let planned = person
        .gently(&["erase", "imported-2", "--dry-run", "--json"])
        .exits(0)
        .json();
    let both = json!(["imported:000002", "import:000001"]);
    assert_eq!(planned["artifacts"], both, "{planned:#}");
    let erased = person
        .gently(&["erase", "imported-2", "--yes", "--json"])
        .exits(0)
        .json();
    assert_eq!(erased["artifacts"], both);
    assert_eq!(
        holders(person.home(), sha256.as_bytes()),
        Vec::<PathBuf>::new()
    );
    let listed = person.gently(&["import", "list"]).exits(0);
    let line = listed.out.lines().collect::<Vec<_>>();
    assert!(
        matches!(line[..], [line] if line.starts_with("import-1") && line.contains("it was erased 2")),
        "{listed:?}"
    );
    let listed = person.gently(&["import", "list", "--json"]).exits(0).json();
    assert_eq!(listed["imports"][0]["erased"], true, "{listed:#}");
    let again = person.gently(&["import", "erase", "import-1", "--yes"]);
    assert!(again.exits(0).out.starts_with("nothing to erase"));
    assert_eq!(import(&person, &two(), &[], 0)["import"], "import:000002");
    assert_eq!(consistent(&person), "yes");
}

#[test]
fn what_is_older_takes_no_place_and_what_is_newer_is_not_erased_with_it() {
    let person = somebody();
    let at = |at: u64, text: &str| {
        let mut one = line("a", "user", text);
        one["at"] = json!(at);
        vec![one]
    };
    import(
        &person,
        &at(1_700_000_000, "Where does the zorilla live?"),
        &[],
        0,
    );
    import(
        &person,
        &at(1_700_000_100, "Where does the caracal live?"),
        &[],
        0,
    );
    let older = import(
        &person,
        &at(1_700_000_000, "Where does the zorilla live?"),
        &[],
        0,
    );
    assert_eq!(older["skipped"], json!({"older": 1}), "{older:#}");
    // Nobody knows whether one without a date is newer.
    let undated = import(
        &person,
        &[line("a", "user", "Where does the zorilla live?")],
        &[],
        0,
    );
    assert_eq!(undated["skipped"], json!({"undated": 1}), "{undated:#}");
    person.gently(&["search", WORD]).exits(1);
    let planned = person
        .gently(&["import", "erase", "import-1", "--dry-run"])
        .exits(0);
    assert!(
        planned
            .out
            .contains("in the place of what goes: imported-2"),
        "{planned:?}"
    );
    let erased = person
        .gently(&["import", "erase", "import-1", "--yes", "--json"])
        .exits(0)
        .json();
    assert_eq!(
        (&erased["artifacts"], &erased["newer"]),
        (
            &json!(["imported:000001", "import:000001", "import:000003"]),
            &json!(["imported:000002"])
        )
    );
    assert_eq!(
        holders(person.home(), WORD.as_bytes()),
        Vec::<PathBuf>::new()
    );
    person.gently(&["search", "caracal"]).exits(0);
    assert_eq!(consistent(&person), "yes");
}

#[test]
fn a_title_that_nothing_has_is_no_import_and_a_refused_line_says_where() {
    let person = somebody();
    let path = file(&person, &two());
    let told = person
        .gently(&["import", "jsonl", &path, "--only", "animals"])
        .exits(1);
    assert!(told.err.contains("\"Of animals\""), "{told:?}");
    assert_eq!(
        count(
            &person,
            "SELECT count(*) FROM artifact WHERE kind = 'import'"
        ),
        0
    );
    let mut lines = two();
    lines.push(json!({"conversation": "c", "role": "human", "text": "x"}));
    lines[2]["at"] = json!("2024-01-02");
    let told = import(&person, &lines, &[], 1);
    assert_eq!(
        told["refusals"][0]["place"], "messages.jsonl, line 4",
        "{told:#}"
    );
    assert_eq!(
        count(
            &person,
            "SELECT at FROM imported_message WHERE at > 1700000000"
        ),
        1_704_153_600
    );
    let told = person.gently(&["import", "jsonl", &path]).exits(1);
    assert!(
        told.err
            .contains("what is refused stays out, and all else comes along"),
        "{told:?}"
    );
    assert!(
        told.out.contains(" conversations or pieces read\n"),
        "{told:?}"
    );
    let told = person.gently(&["import", "jsonl", &path, "--dry-run"]);
    let head = "dry run: nothing was recorded; what would be, from a JSON-lines file:\n";
    assert!(told.exits(1).out.starts_with(head));
}

/// An export of one conversation, whose messages alone say when they were written.
fn export_without_times(texts: &[(&str, u64)]) -> String {
    let mut mapping = json!({});
    let mut parent = Value::Null;
    for (n, (text, at)) in texts.iter().enumerate() {
        let id = format!("m{n}");
        mapping[&id] = json!({"parent": parent, "children": [], "message": {
            "author": {"role": "user"}, "create_time": at, "content": {"content_type": "text", "parts": [text]}}});
        parent = json!(id);
    }
    json!([{"id": "a", "title": "T", "mapping": mapping}]).to_string()
}

#[test]
fn what_is_older_by_its_messages_takes_no_place_either() {
    let person = somebody();
    let take = |texts: &[(&str, u64)]| {
        let path = write_file(&person, export_without_times(texts).as_bytes());
        let told = person.gently(&["import", "chatgpt", &path, "--json"]);
        told.exits(0).json()
    };
    let (first, second) = (
        ("the caracal", 1_700_000_000),
        ("the wombat", 1_700_000_100),
    );
    assert_eq!(take(&[first, second])["recorded"], 1);
    let older = take(&[first]);
    assert_eq!(older["skipped"], json!({"older": 1}), "{older:#}");
    let newer = take(&[first, second, ("the zorilla", 1_700_000_200)]);
    assert_eq!(
        (&newer["recorded"], &newer["replaced"]),
        (&json!(1), &json!(1))
    );
    // What was written at the same time, and says something else, is what is there now.
    let same = take(&[first, second, ("the ibex", 1_700_000_200)]);
    assert_eq!(same["replaced"], 1, "{same:#}");
}

/// The example of the page is one that is taken.
#[test]
fn what_the_page_shows_can_be_imported() {
    let page = include_str!("../../docs/import.md");
    let (_, after) = page.split_once("```json\n").unwrap();
    let (example, _) = after.split_once("```").unwrap();
    let person = somebody();
    let path = write_file(&person, example.as_bytes());
    let told = person
        .gently(&["import", "jsonl", &path, "--json"])
        .exits(0)
        .json();
    assert_eq!(
        (&told["recorded"], &told["messages"]),
        (&json!(1), &json!(2))
    );
}

/// Without the key an id that stands on record as a hash is that of nobody; it is said.
#[test]
fn a_lost_key_of_ids_is_told() {
    let person = somebody();
    let lines = [
        line("no plain word", "user", "Where does the zorilla live?"),
        line(
            "hidden:0123456789abcdef0123456789abcdef",
            "user",
            "Elsewhere",
        ),
    ];
    assert_eq!(import(&person, &lines, &[], 0)["forgotten"], 0);
    let literal = "SELECT count(*) FROM imported_conversation WHERE source_id = 'hidden:0123456789abcdef0123456789abcdef'";
    assert_eq!(
        count(&person, literal),
        0,
        "it is taken for no hash of ours"
    );
    std::fs::remove_file(person.at("keys/import.key")).unwrap();
    let looked = person.gently(&["doctor"]);
    assert!(
        looked.out.contains("keys/import.key is missing"),
        "{looked:?}"
    );
    let told = import(&person, &lines, &["--dry-run"], 0);
    assert_eq!(
        (&told["forgotten"], &told["recorded"]),
        (&json!(2), &json!(2))
    );
    let path = file(&person, &lines);
    let told = person.gently(&["import", "jsonl", &path]).exits(0);
    assert!(told.err.contains("keys/import.key was lost"), "{told:?}");
    assert_eq!(import(&person, &lines, &[], 0)["unchanged"], 2);
}

/// Who wrote what, and whose file it came from, is shown as the artifact says it, whatever a row says.
#[test]
fn a_row_that_was_changed_makes_nobody_else_say_it() {
    let person = somebody();
    let lines = [
        line("c", "user", "Where does the zorilla live?"),
        line("c", "assistant", "Of the savannah it is said."),
    ];
    import(&person, &lines, &[], 0);
    let shown = |words: &[&str]| person.gently(words).exits(0);
    let looks: [&[&str]; 3] = [
        &["conversation", "show", "imported-1", "--json"],
        &["search", "savannah", "--json"],
        &["import", "show", "import-1", "--json"],
    ];
    let before = looks.map(|words| shown(words).json());
    let database = unguarded(person.at("gently.db"));
    for change in [
        "UPDATE imported_message SET role = 'user', model = 'gpt', at = 5",
        "UPDATE imported_conversation SET format = 'claude', created_at = 5, updated_at = 6",
    ] {
        assert!(database.execute(change, []).unwrap() > 0);
    }
    drop(database);
    for (words, before) in looks.iter().zip(before) {
        assert_eq!(shown(words).json(), before, "{words:?}");
    }
    assert_eq!(consistent(&person), "no");
}

/// A secret that is split over parts of a message goes, also around blanks, blank parts and pictures.
#[test]
fn a_secret_split_over_parts_is_taken_out() {
    let person = somebody();
    let picture = json!({"content_type": "image_asset_pointer"});
    let ways = [
        vec![json!("AKIAIO "), json!("SFODNN7ZQRSTUV")],
        vec![json!("AKIAIO\n"), json!("\n\n"), json!("SFODNN7ZQRSTUV")],
        vec![json!("see AKIAIO"), picture, json!("SFODNN7ZQRSTUV")],
    ];
    let chats = ways.iter().enumerate().map(|(n, parts)| {
        let message = json!({"author": {"role": "user"}, "content": {"content_type": "text", "parts": parts}});
        json!({"id": format!("c{n}"), "title": "T", "mapping": {"a": {"parent": null, "children": [], "message": message}}})
    });
    let chats: Vec<Value> = chats.collect();
    let path = write_file(&person, json!(chats).to_string().as_bytes());
    let told = person.gently(&["import", "chatgpt", &path, "--json"]);
    assert_eq!(told.exits(0).json()["removed"], ways.len());
    let left = "SELECT count(*) FROM artifact WHERE document LIKE '%SFODNN7%'";
    assert_eq!(count(&person, left), 0);
    let kept = "SELECT count(*) FROM artifact WHERE document LIKE '%[redacted:%[image]%'";
    assert_eq!(count(&person, kept), 1);
}

/// What was read of an attached file is a part of its message: no secret is split over both.
#[test]
fn a_secret_that_runs_into_an_attached_file_is_taken_out() {
    let person = somebody();
    let file = |name: &str, read: &str| json!({"file_name": name, "extracted_content": read});
    let (one, other) = ("see AKIAIO", "SFODNN7ZQRSTUV and more");
    let messages = [
        json!({"text": one, "attachments": [file("a.txt", other)]}),
        json!({"content": [{"type": "text", "text": one}], "attachments": [file("a.txt", other)]}),
        json!({"text": "look", "attachments": [file("a.txt", one), file("b.txt", other)]}),
        json!({"text": one, "attachments": [file("none.bin", ""), file("a.txt", other)], "files": [{"file_name": "c"}]}),
        json!({"content": [{"type": "text", "text": one}, {"type": "image"}, {"type": "text", "text": other}]}),
    ];
    let chats = messages.iter().enumerate().map(|(n, message)| {
        let mut message = message.clone();
        message["uuid"] = json!("m");
        message["sender"] = json!("human");
        json!({"uuid": format!("c{n}"), "name": "T", "chat_messages": [message]})
    });
    let chats: Vec<Value> = chats.collect();
    let path = write_file(&person, json!(chats).to_string().as_bytes());
    let told = looked_through_and_recorded(&person, "claude", &path, 0);
    assert_eq!(told["removed"], messages.len(), "{told:#}");
    for half in ["AKIAIO", "SFODNN7"] {
        let left = format!("SELECT count(*) FROM artifact WHERE document LIKE '%{half}%'");
        assert_eq!(count(&person, &left), 0);
    }
    // What it was is said still.
    let kept = "SELECT count(*) FROM artifact WHERE document LIKE '%and more%[file: a.txt]%'";
    assert_eq!(count(&person, kept), 3);
    let again = looked_through_and_recorded(&person, "claude", &path, 0);
    assert_eq!(again["unchanged"], messages.len(), "{again:#}");
}

/// Another key in its place is no silent second time either: it is said by import and doctor, before.
#[test]
fn another_key_of_ids_is_told() {
    let person = somebody();
    let lines = [
        line("no plain word", "user", "Where does the zorilla live?"),
        line("plain", "user", "Elsewhere"),
    ];
    assert_eq!(import(&person, &lines, &[], 0)["forgotten"], 0);
    let own = std::fs::read(person.at("keys/import.key")).unwrap();
    std::fs::write(person.at("keys/import.key"), [7; 32]).unwrap();
    let looked = person.gently(&["doctor"]);
    assert!(
        looked.out.contains("keys/import.key is another one"),
        "{looked:?}"
    );
    let told = import(&person, &lines, &["--dry-run"], 0);
    assert_eq!(
        (&told["forgotten"], &told["recorded"], &told["unchanged"]),
        (&json!(1), &json!(1), &json!(1))
    );
    let path = file(&person, &lines);
    let told = person.gently(&["import", "jsonl", &path, "--dry-run"]);
    assert!(told.err.contains("or is another one"), "{told:?}");
    std::fs::write(person.at("keys/import.key"), own).unwrap();
    let told = import(&person, &lines, &[], 0);
    assert_eq!(
        (&told["forgotten"], &told["unchanged"]),
        (&json!(0), &json!(2))
    );
}

#[test]
fn a_text_that_is_lost_is_told() {
    let person = somebody();
    import(&person, &two(), &[], 0);
    let told = person.verified();
    assert_eq!(told["imported_conversations"], 2, "{told:#}");
    let database = unguarded(person.at("gently.db"));
    let sql = "UPDATE artifact SET document = NULL, salt = NULL WHERE id = 'imported:000002'";
    database.execute(sql, []).unwrap();
    drop(database);
    person.gently(&["audit", "rebuild"]);
    let looked = person.gently(&["doctor"]).exits(1);
    assert!(
        looked
            .out
            .contains("1 imported conversation without a text"),
        "{looked:?}"
    );
    let shown = person.gently(&["show", "imported-2"]);
    assert!(
        !shown.out.contains("elsewhere") && !shown.out.contains("0 messages"),
        "{shown:?}"
    );
}

/// A secret that its source splits over two parts of one message.
#[test]
fn a_secret_over_two_parts_is_taken_out() {
    let person = somebody();
    let parts = |parts: &[&str]| {
        json!([{"id": "c", "title": "T", "mapping": {"a": {"parent": null, "children": [], "message": {
            "author": {"role": "user"}, "content": {"content_type": "text", "parts": parts}}}}}])
    };
    let path = person.dir.path().join("conversations.json");
    for (n, (said, shown)) in [
        (&["the key AKIAIOSF", "ODNN7ZQRSTUV is ours"][..], "is ours"),
        (&["AKIAIO", "SFODNN7", "ZQRSTUV", "and more"], "\nand more"),
        (&["the password:", "hunter2hunter2x"], "password"),
        (&["one", "two"], "one\ntwo"),
    ]
    .into_iter()
    .enumerate()
    {
        std::fs::write(&path, parts(said).to_string()).unwrap();
        let file = path.display().to_string();
        person.gently(&["import", "chatgpt", &file]).exits(0);
        let id = format!("imported-{}", n + 1);
        let told = person.gently(&["show", &id, "--json"]).exits(0).json();
        let text = told["lines"][0]["text"].as_str().unwrap();
        assert!(text.contains(shown), "{text}");
        for secret in ["AKIAIO", "ODNN7", "ZQRSTUV", "hunter2"] {
            assert!(!text.contains(secret), "{text}");
        }
    }
}

#[test]
fn what_somebody_changes_is_found() {
    let person = somebody();
    import(&person, &two(), &[], 0);
    assert_eq!(consistent(&person), "yes");
    found_and_made_again(
        &person,
        &[
            "UPDATE imported_conversation SET state = 'replaced' WHERE id = 'imported:000001'",
            "UPDATE imported_conversation SET digest = replace(digest, 'a', 'b')",
            "UPDATE imported_conversation SET source_id = 'another'",
            "UPDATE imported_conversation SET import_id = 'import:000009'",
            "DELETE FROM imported_conversation WHERE id = 'imported:000002'",
            "UPDATE imported_message SET role = 'tool' WHERE i = 0",
            "UPDATE imported_message SET at = 5",
            "DELETE FROM imported_message",
            "INSERT INTO imported_message VALUES (1, 0, 1, 'user', NULL, NULL)",
        ],
    );
    let emptied = "INSERT INTO imported_fts (imported_fts) VALUES ('delete-all')";
    unguarded(person.at("gently.db"))
        .execute(emptied, [])
        .unwrap();
    person.gently(&["search", WORD]).exits(1);
    let told = person.gently(&["audit", "verify", "-v"]);
    assert!(told.out.contains("imported messages"), "{told:?}");
    person.gently(&["audit", "rebuild"]).exits(0);
    let found = person.gently(&["search", WORD]).exits(0);
    assert!(found.out.contains("imported-1"), "{found:?}");
    // As many entries and words as before, and other ones.
    let others = "INSERT INTO imported_fts (imported_fts, rowid, content)
                    SELECT 'delete', n, content FROM imported_text;
                  INSERT INTO imported_fts (rowid, content)
                    SELECT n, replace(content, 'savannah', 'tundra') FROM imported_text";
    unguarded(person.at("gently.db"))
        .execute_batch(others)
        .unwrap();
    let told = person.gently(&["audit", "verify", "-v"]);
    assert!(
        told.out
            .contains("the search index of imported messages has other words than the texts"),
        "{told:?}"
    );
    person.gently(&["audit", "rebuild"]).exits(0);
    // The hint is no evidence: another one costs a second look.
    let database = unguarded(person.at("gently.db"));
    database
        .execute("UPDATE imported_conversation SET source_tag = x'00'", [])
        .unwrap();
    assert_eq!(consistent(&person), "yes");
    assert_eq!(import(&person, &two(), &[], 0)["unchanged"], 2);
    // The text itself is evidence, and is not made again.
    let sql = "UPDATE artifact SET document = replace(document, 'savannah', 'tundra')";
    database.execute(sql, []).unwrap();
    assert_eq!(consistent(&person), "no");
    let shown = person
        .gently(&["conversation", "show", "imported-1"])
        .exits(1);
    assert!(
        shown
            .err
            .contains("changed since it was recorded: imported-1"),
        "{shown:?}"
    );
    let out = person.dir.path().join("a.md").display().to_string();
    person
        .gently(&["conversation", "export", "imported-1", "--out", &out])
        .exits(1);
}

/// As many small conversations.
fn many(all: usize) -> Vec<Value> {
    let said = |n: usize| line(&format!("c{n}"), "user", &format!("Number {n} of many"));
    (0..all).map(said).collect()
}

fn recorded(person: &Person) -> u64 {
    let sql = "SELECT count(DISTINCT source_id) FROM imported_conversation WHERE state = 'current'";
    let count = |database: Connection| database.query_row(sql, [], |row| row.get::<_, u32>(0));
    // A writer may be at it.
    let found = Connection::open(person.at("gently.db")).and_then(count);
    u64::from(found.unwrap_or(0))
}

/// Starts an import, and waits until something of it is on record.
fn begun(person: &Person, path: &str) -> Child {
    let mut command = person.command(&["import", "jsonl", path]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let begun = Instant::now();
    while recorded(person) == 0 && child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(120));
        std::thread::sleep(Duration::from_millis(2));
    }
    child
}

#[test]
fn killed_or_ended_in_the_middle_the_next_one_goes_on() {
    const ALL: usize = 1500;
    let person = somebody();
    let path = file(&person, &many(ALL));
    let mut child = begun(&person, &path);
    child.kill().unwrap();
    child.wait().unwrap();
    let there = recorded(&person);
    assert!(there > 0);
    let mut child = begun(&person, &path);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    child.wait().unwrap();
    assert!(recorded(&person) >= there);
    let told = import(&person, &many(ALL), &[], 0);
    let total = told["recorded"].as_u64().unwrap() + told["unchanged"].as_u64().unwrap();
    assert_eq!(total, ALL as u64);
    assert_eq!(recorded(&person), ALL as u64);
    assert_eq!(
        count(&person, "SELECT count(*) FROM imported_conversation"),
        ALL as u64
    );
    person.gently(&["import", "list"]).exits(0);
    assert_eq!(consistent(&person), "yes");
}

/// While an import runs it is called so, and can't be erased; one that was killed ended in the middle.
#[test]
fn an_import_that_runs_is_told_from_one_that_was_killed() {
    let person = somebody();
    let path = file(&person, &many(6000));
    let mut child = begun(&person, &path);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let listed = || {
        let seen = person.gently(&["import", "list"]).exits(0).out;
        let json = person.gently(&["import", "list", "--json"]).exits(0).json();
        (seen, json["imports"][0]["running"].clone())
    };
    let (seen, is_running) = listed();
    assert!(seen.contains("running, in process "), "{seen}");
    assert!(!seen.contains("ended in the middle"), "{seen}");
    assert_eq!(is_running, true);
    for more in ["--yes", "--dry-run"] {
        let refused = person.gently(&["import", "erase", "1", more]).exits(2).err;
        let process = format!("import-1 is still running, in process {}", child.id());
        assert!(refused.contains(&process), "{refused}");
        assert!(refused.contains("Wait until it has ended"), "{refused}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let (seen, is_running) = listed();
    assert!(seen.contains("ended in the middle"), "{seen}");
    assert_eq!(is_running, false);
    person.gently(&["import", "erase", "1", "--yes"]).exits(0);
    // While the next one is at work, the one that was killed is not called running.
    let path = file(&person, &many(3));
    person.gently(&["import", "jsonl", &path]).exits(0);
    assert!(!person.at("keys/import.running").exists());
    assert_eq!(consistent(&person), "yes");
}

/// Who is asked before erasing sees what goes: how much, what it is called, and that its record goes with it.
#[test]
fn what_an_erasing_takes_is_said_by_titles_and_numbers() {
    let person = somebody();
    import(&person, &two(), &[], 0);
    let args = ["import", "erase", "1", "--dry-run"];
    let said = person.gently(&args).exits(0).out;
    let first =
        "destroys 2 imported conversations, with 3 messages: \"Of animals\", \"And the wombat?\"\n";
    assert!(said.starts_with(first), "{said}");
    assert!(
        said.contains("the record of the import goes with that: what became of its file, and its SHA-256 (import-1)"),
        "{said}"
    );
    let ran = person.gently(&["import", "erase", "1", "--dry-run", "--json"]);
    let told = ran.exits(0).json();
    let expected = json!([
        {"conversation": "imported:000001", "title": "Of animals", "messages": 2},
        {"conversation": "imported:000002", "title": null, "messages": 1}
    ]);
    assert_eq!(told["imported"], expected, "{told:#}");
    let said = person
        .gently(&["erase", "imported-1", "--dry-run"])
        .exits(0);
    let one = "destroys the imported conversation imported-1, with 2 messages: \"Of animals\"\n";
    assert_eq!(said.out.lines().next(), Some(one.trim_end()), "{said:?}");
}

/// Programs write the record's ids, in `--json`; what is typed may have either form.
#[test]
fn json_has_one_form_of_ids_and_every_command_takes_both() {
    fn ids(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Array(all) => all.iter().for_each(|one| ids(one, found)),
            // Sentences are for people, and have the names of screens.
            Value::Object(all) => {
                let fields = all.iter().filter(|(name, _)| *name != "would");
                fields.for_each(|(_, one)| ids(one, found));
            }
            Value::String(text) if text.starts_with("import") => found.push(text.clone()),
            _ => {}
        }
    }
    let person = somebody();
    import(&person, &two(), &[], 0);
    let mut changed = two();
    changed[2]["text"] = json!("And the wombat now?");
    import(&person, &changed, &[], 0);
    for args in [
        &["import", "list"][..],
        &["import", "show", "import-1"],
        &["import", "erase", "import-1", "--dry-run"],
        &["conversation", "list", "--imported"],
        &["conversation", "show", "imported-2"],
        &["conversation", "delete", "imported-2", "--dry-run"],
        &["erase", "imported-2", "--dry-run"],
        &["search", "wombat"],
    ] {
        let long: Vec<String> = args
            .iter()
            .map(|word| match word.split_once('-') {
                Some((kind @ ("import" | "imported"), n)) => format!("{kind}:00000{n}"),
                _ => (*word).to_owned(),
            })
            .collect();
        let long: Vec<&str> = long.iter().map(String::as_str).collect();
        let told = person.gently(&[args, &["--json"]].concat()).exits(0).json();
        let other = person.gently(&[long.as_slice(), &["--json"]].concat());
        assert_eq!(other.exits(0).json(), told, "{args:?}");
        let mut found = Vec::new();
        ids(&told, &mut found);
        assert!(!found.is_empty(), "{args:?}");
        let is_short = |id: &&String| id.starts_with("import-") || id.starts_with("imported-");
        assert_eq!(found.iter().find(is_short), None, "{args:?}: {told:#}");
    }
}

/// What was imported is found by when that was, whatever time it has itself: whoever asks for a time is told.
#[test]
fn the_help_of_a_search_says_which_time_counts_of_imported_messages() {
    let person = somebody();
    import(&person, &two(), &[], 0);
    // The conversation itself is of 2023.
    let found = |args: &[&str]| person.gently(args);
    found(&["search", "zorilla", "--since", "today"]).exits(0);
    found(&["search", "zorilla", "--until", "2024-06-01"]).exits(1);
    let help = found(&["search", "--help"]).exits(0).out;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "of imported messages, the day they were imported";
    assert_eq!(help.matches(said).count(), 2, "{help}");
}

#[test]
fn whoever_names_the_company_is_told_the_program() {
    let person = somebody();
    for (typed, meant) in [
        ("openai", "chatgpt"),
        ("OpenAI", "chatgpt"),
        ("gpt", "chatgpt"),
        ("chat-gpt", "chatgpt"),
        ("anthropic", "claude"),
    ] {
        let ran = person.gently(&["import", typed, "export.zip"]).exits(2);
        let line = format!("gently import {meant} export.zip");
        assert!(ran.err.contains("did you mean"), "{typed}: {ran:?}");
        assert!(ran.err.contains(&line), "{typed}: {ran:?}");
    }
}

#[test]
fn two_at_once_lose_nothing() {
    let person = somebody();
    let path = file(&person, &many(600));
    let mut children: Vec<Child> = (0..2)
        .map(|_| {
            let mut command = person.command(&["import", "jsonl", &path, "--json"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    let codes: Vec<Option<i32>> = children
        .iter_mut()
        .map(|one| one.wait().unwrap().code())
        .collect();
    assert!(codes.contains(&Some(0)), "{codes:?}");
    assert!(
        codes.iter().all(|code| matches!(code, Some(0 | 2))),
        "{codes:?}"
    );
    assert_eq!(recorded(&person), 600);
    assert_eq!(
        count(&person, "SELECT count(*) FROM imported_conversation"),
        600
    );
    // Whoever has the key's lock is at it.
    let key = std::fs::File::open(person.at("keys/import.key")).unwrap();
    key.lock().unwrap();
    let refused = person.gently(&["import", "jsonl", &path]).exits(2);
    assert!(refused.err.contains("another import"), "{}", refused.err);
    drop(key);
    person.gently(&["import", "jsonl", &path]).exits(0);
    assert_eq!(consistent(&person), "yes");
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_in_the_middle_costs_what_does_not_fit() {
    let person = somebody();
    let path = file(&person, &many(900));
    let mut stopped = 0;
    for blocks in [1_500, 2_500, 4_000] {
        let command = person.command(&["import", "jsonl", &path]);
        let done = crate::concurrency::limited(&command, blocks)
            .output()
            .unwrap();
        stopped += u32::from(done.status.code() != Some(0));
        assert!(matches!(done.status.code(), Some(0 | 2 | 3)), "{done:?}");
        // What came of the file may find no room, where conversations have.
        let told = String::from_utf8_lossy(&done.stdout);
        let is_none = told.lines().any(|line| line.trim() == "0  recorded");
        assert_eq!(told.contains("nothing was recorded"), is_none, "{done:?}");
    }
    assert!(stopped > 0, "no limit was small enough");
    import(&person, &many(900), &[], 0);
    assert_eq!(recorded(&person), 900);
    assert_eq!(consistent(&person), "yes");
}

#[test]
fn no_title_or_text_moves_a_cursor_and_no_secret_is_kept() {
    let person = somebody();
    let mut lines = two();
    lines[0]["title"] = json!("\u{1b}]0;owned\u{7}\u{202e}title");
    lines[0]["text"] = json!("zorilla \u{1b}[2J password=hunter2hunter2");
    lines[1]["model"] = json!("m\u{1b}[31m");
    lines[2]["conversation"] = json!("\u{1b}[2Jid");
    let told = import(&person, &lines, &[], 0);
    assert_eq!(told["removed"], 1, "{told:#}");
    let out = person.dir.path().join("a.md").display().to_string();
    person
        .gently(&["conversation", "export", "imported-1", "--out", &out])
        .exits(0);
    let mut texts = vec![std::fs::read_to_string(out).unwrap()];
    for args in [
        &["conversation", "list", "--imported"][..],
        &["conversation", "show", "imported-1"],
        &["import", "show", "import-1"],
        &["search", WORD],
        &["search", "title"],
        &["conversation", "show", "imported-2"],
    ] {
        let ran = person.gently(args);
        texts.extend([ran.out, ran.err]);
    }
    for text in &texts {
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
        assert!(!text.contains("hunter2"), "{text}");
    }
    assert_eq!(holders(person.home(), b"hunter2"), Vec::<PathBuf>::new());
    assert_eq!(holders(person.home(), b"\x1b[2Jid"), Vec::<PathBuf>::new());
}

#[test]
fn a_home_that_keeps_no_texts_takes_none() {
    let person = somebody();
    person
        .gently(&["config", "set", "store.content", "none"])
        .exits(0);
    let path = file(&person, &two());
    let before = person.log();
    for more in [&[][..], &["--dry-run"]] {
        let args = [&["import", "jsonl", &path], more].concat();
        let refused = person.gently(&args).exits(2);
        assert!(refused.err.contains("store.content"), "{}", refused.err);
    }
    assert_eq!(person.log(), before);
    assert_eq!(
        count(&person, "SELECT count(*) FROM imported_conversation"),
        0
    );
}

fn sent(server: &ModelServer) -> String {
    server.requests().last().unwrap().json().to_string()
}

#[test]
fn a_model_is_shown_it_only_where_somebody_says_deep() {
    let (person, server) = served(Behaviour::Says("I do not know.".to_owned()));
    person.gently(&["init"]).exits(0);
    import(&person, &two(), &[], 0);
    let question = "What of the zorilla?";
    person.ask(question).exits(0);
    assert!(!sent(&server).contains("Where does"), "{}", sent(&server));
    let asked = person
        .gently(&["ask", "--new", "--deep", question])
        .exits(0);
    assert!(
        asked
            .err
            .contains("1 imported passage (imported-1), not verified"),
        "{}",
        asked.err
    );
    assert!(
        sent(&server).contains("user: Where does the zorilla live?")
            && sent(&server).contains("assistant: In the savannah.")
            && sent(&server).contains("From conversations that were imported, not verified:"),
        "{}",
        sent(&server)
    );
    let shown = person
        .gently(&["context", "show", "last", "--json"])
        .exits(0)
        .json();
    let injected = shown["injected"].as_array().unwrap();
    let one = injected
        .iter()
        .find(|one| one["artifact_type"] == "imported")
        .unwrap();
    assert_eq!(one["artifact_id"], "imported:000001");
    assert_eq!(one["risk_flags"], json!(["unverified"]), "{one:#}");
    let shown = person.gently(&["context", "show", "last"]).exits(0).out;
    let line = shown.lines().find(|line| line.contains("imported-1"));
    assert!(
        line.is_some_and(|line| line.contains("  said or imported ") && line.contains(" ago  ")),
        "{shown}"
    );
    assert_eq!(consistent(&person), "yes");
    person.gently(&["audit", "replay", "--all"]).exits(0);
    person.gently(&["trace", "show", "last"]);
    // What was sent of it goes with it.
    person.gently(&["erase", "imported-1", "--yes"]).exits(0);
    assert_eq!(
        holders(person.home(), b"Where does the"),
        Vec::<PathBuf>::new()
    );
    assert_eq!(consistent(&person), "yes");
}

/// What a model said of it is the model's, and nobody can tell which of its words are whose: it is named, and
/// goes when somebody says so.
#[test]
fn an_answer_that_may_repeat_what_is_erased_is_named_with_what_erases_it() {
    let (person, _server) = served(Behaviour::Says("It lives in the savannah.".to_owned()));
    person.gently(&["init"]).exits(0);
    import(&person, &two(), &[], 0);
    person
        .gently(&["ask", "--deep", "What of the zorilla?"])
        .exits(0);
    let planned = person
        .gently(&["import", "erase", "import-1", "--dry-run"])
        .exits(0);
    let erased = person
        .gently(&["import", "erase", "import-1", "--yes"])
        .exits(0);
    let mut commands = Vec::new();
    for told in [&planned, &erased] {
        let named = "; its answer stays, and may repeat them. gently erase ";
        let mut lines = told.out.lines().chain(told.err.lines());
        let line = lines.find_map(|line| line.split_once(named));
        let (_, rest) = line.unwrap_or_else(|| panic!("{told:?}"));
        commands.push(rest.strip_suffix(" erases it, too").unwrap().to_owned());
    }
    assert_eq!(commands[0], commands[1]);
    assert!(!holders(person.home(), b"savannah").is_empty());
    person.gently(&["erase", &commands[0], "--yes"]).exits(0);
    let left = holders(person.home(), b"savannah");
    assert_eq!(left, Vec::<PathBuf>::new());
    assert_eq!(consistent(&person), "yes");
}

#[test]
fn a_passage_that_somebody_changed_is_shown_to_no_model() {
    let (person, server) = served(Behaviour::Says("I do not know.".to_owned()));
    person.gently(&["init"]).exits(0);
    import(&person, &two(), &[], 0);
    let database = unguarded(person.at("gently.db"));
    let sql = "UPDATE artifact SET document = replace(document, 'savannah', 'tundra')";
    database.execute(sql, []).unwrap();
    drop(database);
    person
        .gently(&["ask", "--deep", "What of the zorilla?"])
        .exits(0);
    assert!(!sent(&server).contains("Where does"), "{}", sent(&server));
}

/// A project of the agent in version 0.7.
fn flat(person: &Person) -> String {
    let folder = person.dir.path().join("agent");
    std::fs::create_dir_all(folder.join(".aua/state")).unwrap();
    std::fs::create_dir_all(folder.join("dpo_pairs")).unwrap();
    let promotions = [
        json!({"id": "p1", "timestamp": 1_700_000_000, "specialist": "law", "event": "promote",
            "from_model": "a", "to_model": "b", "u_delta": 0.25, "reverted": false}),
        json!({"id": "p2", "created_at": 1_700_000_100, "specialist": "law", "event": "rollback",
            "from_model": "b", "to_model": "a", "reverted": true}),
    ];
    let text: String = promotions.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(folder.join(".aua/state/promotions.jsonl"), text).unwrap();
    let pair =
        json!({"prompt": "Capital of Australia", "chosen": "Canberra", "rejected": "Sydney"});
    std::fs::write(folder.join("dpo_pairs/a.jsonl"), format!("{pair}\n")).unwrap();
    folder.display().to_string()
}

/// Nothing of a promotion moves a terminal on which somebody looks at the view with another program.
#[test]
fn a_promotion_has_no_control_characters() {
    let person = somebody();
    let folder = flat(&person);
    let file = PathBuf::from(&folder).join(".aua/state/promotions.jsonl");
    let odd = json!({"id": "p1", "specialist": "law\u{1b}[2J", "event": "promote", "from_model": "a\u{7}",
        "to_model": "b\u{9b}2J", "note": "x\u{1b}]0;t\u{7}"});
    std::fs::write(&file, format!("{odd}\n")).unwrap();
    let args = ["config", "migrate", "--from", "0.7", "--to", "0.8", &folder];
    person.gently(&args).exits(0);
    let sql = "SELECT specialist || from_model || to_model || metadata FROM promotions WHERE origin = 'imported:aua'";
    let database = person.database();
    let row: String = database.query_row(sql, [], |row| row.get(0)).unwrap();
    assert!(row.contains("law\\u001b[2J"), "{row}");
    assert!(!row.chars().any(char::is_control), "{row:?}");
}

#[test]
fn the_files_of_an_agent_are_taken_over_once() {
    let person = somebody();
    let folder = flat(&person);
    let args = [
        "config", "migrate", "--from", "0.7", "--to", "0.8", &folder, "--json",
    ];
    let dry = [&args[..7], &["--dry-run"]].concat();
    let looked = person.gently(&dry).exits(0).out;
    assert!(looked.contains("the files of an AUA agent 0.7"), "{looked}");
    let told = person.gently(&args).exits(0).json();
    let listed = person.gently(&["import", "list"]).exits(0).out;
    assert!(listed.contains("the files of an AUA agent 0.7"), "{listed}");
    assert_eq!(
        (
            &told["read"],
            &told["recorded"],
            &told["promotions"],
            &told["corrections"]
        ),
        (&json!(3), &json!(3), &json!(2), &json!(1)),
        "{told:#}"
    );
    let again = person.gently(&args).exits(0).json();
    assert_eq!(
        (&again["recorded"], &again["unchanged"]),
        (&json!(0), &json!(3)),
        "{again:#}"
    );
    let listed = person.gently(&["correction", "list", "--all"]);
    assert!(listed.out.contains("Canberra"), "{listed:?}");
    let rows = "SELECT count(*) FROM promotions WHERE origin = 'imported:aua' AND created_at >= 1700000000";
    assert_eq!(count(&person, rows), 2);
    let state = "SELECT count(*) FROM corrections WHERE source = 'import' AND state = 'proposed'";
    assert_eq!(count(&person, state), 1);
    let ran = person
        .gently(&["import", "erase", "1", "--dry-run"])
        .exits(0);
    assert!(
        ran.out
            .contains("1 correction that came with it stays: gently correction list --all shows")
            && ran.out.contains("gently correction retire correction-N")
            && ran
                .out
                .contains("2 promotions and audit logs that came with it stay"),
        "{ran:?}"
    );
    assert!(!ran.out.contains("no way back to the texts"), "{ran:?}");
    // They bind nothing: there is no specialist.
    assert_eq!(
        count(
            &person,
            "SELECT count(*) FROM artifact WHERE kind = 'promotion'"
        ),
        0
    );
    person.gently(&["show", "imported_promotion-1"]).exits(0);
    // Of two lines with one id the first counts, however often they are read.
    let file = PathBuf::from(&folder).join(".aua/state/promotions.jsonl");
    let mut text = std::fs::read_to_string(&file).unwrap();
    let second = json!({"id": "p1", "specialist": "law", "event": "promote"});
    writeln!(text, "{second}").unwrap();
    std::fs::write(&file, text).unwrap();
    for _ in 0..2 {
        let told = person.gently(&args).exits(1).json();
        assert_eq!(
            (&told["recorded"], &told["unchanged"], &told["refused"]),
            (&json!(0), &json!(3), &json!({"repeats": 1})),
            "{told:#}"
        );
    }
    let to = "SELECT count(*) FROM promotions WHERE origin = 'imported:aua' AND to_model = 'b'";
    assert_eq!(count(&person, to), 1);
    let other = ["config", "migrate", "--from", "0.6", "--to", "0.8", &folder];
    person.gently(&other).exits(2);
    assert_eq!(consistent(&person), "yes");
}

/// As `aua.encryption` 1.2.0 writes it with the package cryptography: key 00 01 … 1f, nonce 00 01 … 0b.
const SEALED: &str = "enc:v1:AAECAwQFBgcICQoLE2qzO6KXAafjJLff1IxYjxtDoPk0zbthThxi3WmgSD8QtQ==";
/// What stands in it.
const OPENED: &str = "The grüne Tee ☕";

/// A database of the agent, of which somebody encrypted the texts.
fn encrypted_agent(person: &Person) -> String {
    let path = person.dir.path().join("aua.db");
    let rows = format!(
        "CREATE TABLE conversations (conversation_id TEXT PRIMARY KEY, user_id TEXT, title TEXT, project_id TEXT,
            created_at REAL, updated_at REAL);
         CREATE TABLE messages (message_id TEXT PRIMARY KEY, conversation_id TEXT, role TEXT, content TEXT,
            models_used TEXT, created_at REAL);
         CREATE TABLE projects (project_id TEXT PRIMARY KEY, name TEXT);
         CREATE TABLE corrections (id TEXT PRIMARY KEY, created_at REAL, subject TEXT, domain TEXT, claim TEXT,
            rejected TEXT, confidence REAL, source TEXT, effective_confidence REAL, decay_class TEXT, metadata TEXT);
         CREATE TABLE promotions (id TEXT PRIMARY KEY, created_at REAL, specialist TEXT, event TEXT,
            from_model TEXT, to_model TEXT, reverted INTEGER, metadata TEXT);
         CREATE TABLE audit_log (id TEXT PRIMARY KEY, created_at REAL, event_type TEXT, u_score REAL,
            details TEXT, prev_hash TEXT, curr_hash TEXT);
         INSERT INTO projects VALUES ('p', 'Law');
         INSERT INTO conversations VALUES ('c', 'local', 'Of tea', 'p', 1700000000, 1700000001);
         INSERT INTO messages VALUES ('1', 'c', 'user', 'And the zorilla?', NULL, 1700000000),
          ('2', 'c', 'assistant', '{SEALED}', '[\"law\"]', 1700000001);
         INSERT INTO corrections VALUES ('k', 1700000002, 'tea', 'law', '{SEALED}', '', 0.9, 'arbiter', 0.9, 'B', '{{}}');
         INSERT INTO promotions VALUES ('q', 1700000003, 'law', 'promote', 'a', 'b', 0, '{{}}');
         INSERT INTO audit_log VALUES ('a', 1700000004, 'query', 0.5, '{SEALED}', 'genesis', 'x');"
    );
    Connection::open(&path)
        .unwrap()
        .execute_batch(&rows)
        .unwrap();
    path.display().to_string()
}

/// Texts that the agent has encrypted are opened with its key, or refused, and never kept as they are.
#[test]
fn what_the_agent_has_encrypted_is_opened_with_its_key_or_refused() {
    const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    let person = somebody();
    let path = encrypted_agent(&person);
    let before = std::fs::read(&path).unwrap();
    let command = ["import", "aua", &path];
    for key in [None, Some(KEY.replace("1f", "1e"))] {
        let mut command_of = person.command(&command);
        if let Some(key) = &key {
            command_of.env("AUA_ENCRYPTION_KEY", key);
        }
        let told = run(command_of.arg("--json")).exits(1).json();
        assert_eq!(told["refused"]["encrypted"], 3, "{key:?}: {told:#}");
    }
    assert_eq!(holders(person.home(), b"enc:v1"), [] as [PathBuf; 0]);
    person.gently(&["search", "Tee"]).exits(1);

    let mut with_key = person.command(&command);
    let told = run(with_key.env("AUA_ENCRYPTION_KEY", KEY).arg("--json"))
        .exits(0)
        .json();
    assert_eq!(told["refused"], json!({}), "{told:#}");
    assert_eq!(holders(person.home(), b"enc:v1"), [] as [PathBuf; 0]);
    let shown = person.gently(&["search", "Tee"]).exits(0);
    assert!(shown.out.contains("The grüne [Tee] ☕"), "{shown:?}");
    let corrections = person
        .gently(&["correction", "list", "--json"])
        .exits(0)
        .json();
    let correction = &corrections[0];
    assert_eq!(
        (
            &correction["claim"],
            &correction["state"],
            &correction["source"]
        ),
        (&json!(OPENED), &json!("proposed"), &json!("import")),
        "{corrections:#}"
    );
    assert_eq!(count(&person, "SELECT count(*) FROM promotions"), 1);
    assert_eq!(
        count(
            &person,
            "SELECT count(*) FROM artifact WHERE kind = 'imported_audit'"
        ),
        1
    );
    assert_eq!(consistent(&person), "yes");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    // Again, with and without the key: nothing is recorded twice.
    let artifacts = "SELECT count(*) FROM artifact WHERE kind <> 'import'";
    let were = count(&person, artifacts);
    let mut with_key = person.command(&command);
    run(with_key.env("AUA_ENCRYPTION_KEY", KEY)).exits(0);
    assert_eq!(count(&person, artifacts), were);
}
