//! `gently log`, `gently show`, `gently session show`, and every form of an id.

use std::fs;

use serde_json::Value;

use crate::at_hand::EventCache;
use crate::model_server::{Behaviour, ModelServer};
use crate::person::Person;

fn lines(home: &EventCache, arguments: &[&str]) -> Vec<Value> {
    let done = home.run(&[&["log", "--json"], arguments].concat());
    let text = String::from_utf8(done.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn text_of(value: &Value) -> String {
    value
        .as_str()
        .unwrap_or_else(|| panic!("no text: {value}"))
        .to_owned()
}

#[test]
fn the_newest_lines_are_those_of_the_file_with_their_numbers() {
    let home = EventCache::new();
    let log = fs::read_to_string(home.file("audit.log")).unwrap();
    let all: Vec<&str> = log.lines().collect();
    for (asked, count) in [("1", 1), ("3", 3), ("1000", all.len()), ("0", 0)] {
        let found = lines(&home, &["-n", asked]);
        assert_eq!(found.len(), count);
        for (line, (number, raw)) in found
            .iter()
            .zip(all.iter().enumerate().skip(all.len() - count))
        {
            let fields: Vec<&str> = raw.split('|').collect();
            assert_eq!(line["line"], number + 1);
            assert_eq!(line["hash"], fields[0]);
            assert_eq!(line["time"], fields[2]);
            assert_eq!(line["event"], fields[3]);
            assert_eq!(line["session"].as_str().unwrap_or("-"), fields[4]);
            assert_eq!(line["chain"], "holds");
            let offset = usize::try_from(line["offset"].as_u64().unwrap()).unwrap();
            assert!(log[offset..].starts_with(raw));
        }
    }
    let screen = home.fine(&["log", "-n", "1000"]);
    assert_eq!(screen.lines().count(), all.len());
    assert!(
        screen.contains("session_start")
            && screen.contains("local")
            && !screen.contains(&all[3][..64])
    );
}

#[test]
fn lines_are_chosen_by_session_and_by_time() {
    let home = EventCache::new();
    let sessions = home.json(&["session", "list", "--json"]);
    let id = text_of(&sessions[0]["session"]);
    for form in [
        &id[..4],
        &id[..16],
        &id,
        &text_of(&sessions[0]["session_uuid"]),
    ] {
        let found = lines(&home, &["--session", form, "-n", "100"]);
        assert_eq!(found.first().unwrap()["event"], "session_start");
        assert_eq!(found.last().unwrap()["event"], "session_end");
        assert!(found.iter().all(|line| line["session"] == id.as_str()));
    }
    assert_eq!(lines(&home, &["--session", &id, "-n", "2"]).len(), 2);
    let all = lines(&home, &["-n", "1000"]).len();
    assert_eq!(lines(&home, &["--since", "1h"]).len(), all);
    assert_eq!(lines(&home, &["--since", "2000-01-01"]).len(), all);
    assert_eq!(lines(&home, &["--since", "2000-01-01", "-n", "2"]).len(), 2);
    assert_eq!(lines(&home, &["--since", "9999-01-01T00:00:00Z"]).len(), 0);
    assert!(
        home.refused(&["log", "--since", "soon"], 2)
            .contains("2025-12-31")
    );
    assert!(
        home.refused(&["log", "--session", "zz"], 2)
            .contains("no id")
    );
}

#[test]
fn a_changed_line_is_marked_and_so_is_a_torn_one() {
    let home = EventCache::new();
    let log = fs::read_to_string(home.file("audit.log")).unwrap();
    let damaged = log.replacen("seq:2,model", "seq:3,model", 1);
    fs::write(home.file("audit.log"), format!("{damaged}torn")).unwrap();
    let words = home.refused(&["log", "-n", "1000"], 1);
    assert!(
        words.contains("1 of ") && words.contains("4 bytes"),
        "{words}"
    );
    let found = lines(&home, &["-n", "1000"]);
    let broken: Vec<&Value> = found
        .iter()
        .filter(|line| line["chain"] == "broken")
        .collect();
    assert_eq!(broken.len(), 1);
    assert_eq!(broken[0]["details"]["seq"], "3");
    assert_eq!(found.last().unwrap()["torn_bytes"], 4);
    // Not a line at all, in the middle: numbers stay, the next line is not blamed for more than its
    // chain.
    let second = log.find('\n').unwrap() + 1;
    let mut bytes = log.clone().into_bytes();
    bytes[second] = 0xff;
    fs::write(home.file("audit.log"), bytes).unwrap();
    let found = lines(&home, &["-n", "1000"]);
    let numbers: Vec<u64> = found
        .iter()
        .map(|line| line["line"].as_u64().unwrap())
        .collect();
    assert_eq!(
        numbers,
        (1..=log.lines().count() as u64).collect::<Vec<_>>()
    );
    let broken: Vec<u64> = found
        .iter()
        .filter(|line| line["chain"] == "broken")
        .map(|line| line["line"].as_u64().unwrap())
        .collect();
    assert_eq!(broken, [2, 3]);
    assert_eq!(
        home.run(&["log", "-n", "1"]).status.code(),
        Some(0),
        "the lines shown hold"
    );
}

#[test]
fn the_log_is_read_while_others_write() {
    let home = EventCache::new();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for n in 0..4 {
                home.fine(&["ask", &format!("again {n}")]);
            }
        });
        while !writer.is_finished() {
            let found = lines(&home, &["-n", "5"]);
            assert!(found.iter().all(|line| line["chain"] == "holds"));
            let numbers: Vec<u64> = found
                .iter()
                .filter_map(|line| line["line"].as_u64())
                .collect();
            assert!(
                numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]),
                "{numbers:?}"
            );
        }
    });
}

#[test]
fn an_exchange_is_shown_whole_and_compared_with_its_hashes() {
    let home = EventCache::new();
    let id = text_of(&home.json(&["session", "list", "--json"])[0]["session"]);
    let shown = home.json(&["show", &format!("{}/2", &id[..8]), "--json"]);
    assert_eq!(shown["prompt"], "two with password=[redacted:password]");
    assert!(text_of(&shown["answer"]).contains("observer"));
    for check in [
        "prompt_commitment",
        "context_bundle",
        "compiled_prompt",
        "stored_answer",
        "answer_commitment",
    ] {
        assert_eq!(shown["checks"][check]["holds"], true, "{check}");
    }
    let messages = shown["compiled_prompt"]["messages"].as_array().unwrap();
    let sent = text_of(&messages.last().unwrap()["content"]);
    assert!(sent.ends_with(&text_of(&shown["prompt"])), "{sent}");
    assert_eq!(shown["commits"][0]["kind"], "interaction");
    assert_eq!(shown["session"]["session"], id.as_str());
    assert_eq!(shown["bundle"]["model_id"], "observer");
    let screen = home.fine(&["show", &format!("{}/2", &id[..8]), "--full"]);
    for part in [
        "interaction-2 of session",
        "question\n",
        "answer\n",
        "put before the model\n",
        "hashes\n",
        "  as recorded\n",
        "[system]",
    ] {
        assert!(screen.contains(part), "{part}");
    }
    let database = rusqlite::Connection::open(home.file("gently.db")).unwrap();
    database
        .execute(
            "UPDATE chat_turn SET content = content || '!' WHERE speaker = 'user'",
            [],
        )
        .unwrap();
    drop(database);
    assert!(
        home.refused(&["show", "last", "--full"], 1)
            .contains("prompt commitment, compiled prompt")
    );
    assert!(
        home.fine_or(&["show", "last", "--full"], 1)
            .contains("NOT AS RECORDED")
    );
}

#[test]
fn every_id_that_is_shown_anywhere_is_accepted() {
    let home = EventCache::new();
    let sessions = home.json(&["session", "list", "--json"]);
    let (first, second) = (
        text_of(&sessions[0]["session"]),
        text_of(&sessions[1]["session"]),
    );
    let account = home.json(&["session", "show", &first, "--json"]);
    let two = home.json(&[
        "show",
        &format!("{first}/interaction-2"),
        "--json",
        "--full",
    ]);
    let exchange = text_of(&two["exchange"]);
    assert_eq!(account["exchanges"][1]["exchange"], exchange.as_str());
    let (chain, commit) = (
        text_of(&two["hashes"]["chain_entry"]),
        text_of(&account["exchanges"][1]["commit"]),
    );
    assert_eq!(two["commits"][0]["id"], commit.as_str());
    let uuid = text_of(&sessions[0]["session_uuid"]);
    for form in [
        exchange.clone(),
        exchange.to_uppercase(),
        exchange[..8].to_owned(),
        exchange[..13].to_owned(),
        chain.clone(),
        format!("{}…", &chain[..8]),
        commit.clone(),
        commit[..7].to_owned(),
        format!("{first}/2"),
        format!("{}/prompt-2", &first[..8]),
        format!("{uuid}/2"),
        format!("{}/2", &uuid[..8]),
    ] {
        assert_eq!(
            home.json(&["show", &form, "--json", "--full"])["exchange"],
            exchange.as_str(),
            "{form}"
        );
        assert_eq!(
            home.json(&["session", "show", &form, "--json"])["session"],
            first.as_str(),
            "{form}"
        );
    }
    let newest = text_of(&home.json(&["show", "last", "--json", "--full"])["exchange"]);
    for form in ["interaction-1", "prompt-1", "last/1"] {
        assert_eq!(
            home.json(&["show", form, "--json", "--full"])["exchange"],
            newest.as_str(),
            "{form}"
        );
        assert_eq!(
            home.json(&["session", "show", form, "--json"])["session"],
            second.as_str(),
            "{form}"
        );
    }
    for name in ["start", "end", "close"] {
        let id = text_of(&account["commits"][name]);
        assert_eq!(
            home.json(&["session", "show", &id[..7], "--json"])["session"],
            first.as_str(),
            "{name}"
        );
        assert!(
            home.refused(&["show", &id, "--full"], 2)
                .contains("gently session show"),
            "{name}"
        );
    }
    let close = text_of(&account["close_hash"]);
    assert!(
        fs::read_to_string(home.file("audit.log"))
            .unwrap()
            .contains(&format!("close:{close}"))
    );
    assert!(
        home.refused(&["show", &first, "--full"], 2)
            .contains("gently session show")
    );
    for (form, words) in [
        ("interaction-9", "no session has so many questions"),
        (
            "ffffffffffff",
            "nothing on record begins with 'ffffffffffff'",
        ),
        ("xyz", "is no id"),
        ("'; DROP TABLE head; --", "is no id"),
        ("", "is no id"),
    ] {
        assert!(
            home.refused(&["show", form, "--full"], 2).contains(words),
            "{form}"
        );
    }
    let words = home.refused(&["session", "close", &first[..12]], 2);
    assert!(
        words.contains("is closed") && words.contains(&second[..16]),
        "{words}"
    );
    home.fine(&["session", "close", "last"]);
}

#[test]
fn one_digit_opens_no_session() {
    let home = EventCache::new();
    home.fine(&["session", "open"]);
    let sessions = home.json(&["session", "list", "--json"]);
    let newest = text_of(&sessions.as_array().unwrap().last().unwrap()["session"]);
    for digits in [1, 3] {
        let words = home.refused(&["session", "show", &newest[..digits]], 2);
        assert!(words.contains("type 4 digits of its id or more"), "{words}");
    }
    home.fine(&["session", "show", &newest[..8]]);
}

#[test]
fn many_sessions_are_closed_in_one_line() {
    let home = EventCache::new();
    for _ in 0..2 {
        home.fine(&["session", "open"]);
    }
    // One more was open before, with one question.
    let said = home.fine(&["session", "close", "--yes"]);
    assert_eq!(said, "3 sessions closed, 1 of 1 question answered\n");
    for _ in 0..2 {
        home.fine(&["session", "open"]);
    }
    let said = home.fine(&["session", "close", "-v"]);
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(
        said.lines().all(|line| line.contains("  closed  ")),
        "{said}"
    );
}

#[test]
fn a_failed_prompt_has_its_reason_and_no_answer() {
    let home = EventCache::new();
    let mut command = home.command(&["ask", "--model", "openai/x", "nobody hears"]);
    command.env("GENTLY_MODEL_BASE_URL", "http://127.0.0.1:9/v1");
    assert_eq!(command.output().unwrap().status.code(), Some(2));
    let shown = home.json(&["show", "last", "--json", "--full"]);
    assert_eq!(
        (
            &shown["name"],
            &shown["outcome"],
            &shown["reason"],
            &shown["answer"],
            &shown["commits"]
        ),
        (
            &Value::from("prompt-1"),
            &Value::from("failed"),
            &Value::from("unreachable"),
            &Value::Null,
            &Value::Array(Vec::new())
        )
    );
    assert!(
        home.fine(&["show", "last", "--full"])
            .contains("none: failed (the server was not reached)")
    );
    assert!(home.fine(&["session", "show", "last"]).contains("/1  "));
}

#[test]
fn without_a_home_nothing_is_made() {
    let home = EventCache::new();
    fs::remove_dir_all(&home.root).unwrap();
    for arguments in [
        &["log"][..],
        &["show", "last", "--full"],
        &["session", "show", "last"],
    ] {
        assert!(
            home.refused(arguments, 2).contains("no home"),
            "{arguments:?}"
        );
    }
    assert!(!home.root.exists());
}

/// Each model has a session of its own. What `ask` has just called `interaction-2` is what the next
/// command takes.
#[test]
fn a_number_and_last_are_of_the_session_that_was_used_last() {
    let server = ModelServer::start(Behaviour::Says("yes".to_owned()));
    let base = server.base_url();
    let person = Person::with(&[
        ("GENTLY_ANCHOR_MODE", "off"),
        ("GENTLY_MODEL_BASE_URL", &base),
    ]);
    let ask = |model: &str| {
        person
            .gently(&["ask", "--json", "--model", model, "What is it?"])
            .exits(0)
            .json()
    };
    ask("openai/a");
    for _ in 0..2 {
        ask("openai/b");
    }
    let asked = ask("openai/a");
    assert_eq!(asked["interaction"], "interaction-2");
    for typed in ["interaction-2", "last", "last/2"] {
        assert_eq!(
            person
                .gently(&["show", typed, "--json", "--full"])
                .exits(0)
                .json()["exchange"],
            asked["exchange"],
            "{typed}"
        );
    }
    let shown = person
        .gently(&["session", "show", "last", "--json"])
        .exits(0)
        .json();
    assert_eq!(shown["session"], asked["session"]);
    // One that was opened since, and in which nothing was asked, is the last one.
    let opened = person
        .gently(&["session", "open", "--model", "openai/c", "--json"])
        .exits(0)
        .json();
    let shown = person
        .gently(&["session", "show", "last", "--json"])
        .exits(0)
        .json();
    assert_eq!(shown["session"], opened["session"]);
    let erased = person.gently(&["erase", "--yes", "last"]).exits(0);
    assert!(
        erased.out.contains(asked["id"].as_str().unwrap()),
        "{erased:?}"
    );
    assert!(
        erased.err.contains("/2, \"What is it?\", asked ")
            && erased.err.contains("answer of openai/a"),
        "{erased:?}"
    );
}
