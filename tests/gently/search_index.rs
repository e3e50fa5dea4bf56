//! The search indexes: counted by sight, compared by the check, and part of no answer.

use rusqlite::Connection;
use serde_json::json;

use crate::model_server::{Behaviour, ModelServer};
use crate::person::Person;

/// What somebody set by hand keeps no erased word.
#[test]
fn an_erased_text_leaves_no_word_whatever_the_index_was_told() {
    let person = Person::new();
    person.ask("Where is the quetzalcoatl?");
    let by_hand = Connection::open(person.at("gently.db")).unwrap();
    by_hand
        .execute_batch("UPDATE turn_fts_config SET v = 0 WHERE k = 'secure-delete'")
        .unwrap();
    drop(by_hand);
    person.gently(&["erase", "last", "--yes"]).exits(0);
    let database = Connection::open(person.at("gently.db")).unwrap();
    let kept: u32 = database
        .query_row(
            "SELECT count(*) FROM turn_fts_data WHERE instr(block, CAST('quetz' AS BLOB)) > 0",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(kept, 0);
}

/// Whoever has something erased has the indexes written anew: in one piece, as they are made then.
#[test]
fn an_erasing_leaves_an_index_in_one_piece() {
    let person = Person::new();
    for question in [
        "Where is the quetzalcoatl?",
        "And the wombat?",
        "And the axolotl?",
    ] {
        person.ask(question);
    }
    let pieces = || -> u32 {
        let sql = "SELECT count(DISTINCT id >> 37) FROM turn_fts_data WHERE id > 10";
        person
            .database()
            .query_row(sql, [], |row| row.get(0))
            .unwrap()
    };
    assert!(pieces() > 1);
    let erased = person
        .gently(&["erase", "last", "--yes", "--json"])
        .exits(0)
        .json();
    assert_eq!((&erased["letters_stay"], pieces()), (&json!(false), 1));
    let found = person.gently(&["search", "quetzalcoatl", "--count"]);
    assert!(found.exits(0).out.contains('1'));
}

/// Where somebody altered the index so that a word can't be taken out of it, an erasing makes it again.
#[test]
fn an_erasing_leaves_no_word_in_an_index_that_was_altered() {
    for sql in [
        // As if the question had no entry.
        "DELETE FROM turn_fts_docsize WHERE id = (SELECT n FROM turn_text WHERE content LIKE '%quetzal%' LIMIT 1)",
        "UPDATE turn_fts_data SET block = x'0000' WHERE id = 1;
         DELETE FROM turn_fts_docsize",
    ] {
        let person = Person::new();
        person.ask("And the wombat?");
        person.ask("Where is the quetzalcoatl?");
        Connection::open(person.at("gently.db"))
            .unwrap()
            .execute_batch(sql)
            .unwrap();
        let erased = person.gently(&["erase", "last", "--yes", "--json"]);
        assert_eq!(erased.exits(0).json()["letters_stay"], json!(false));
        let kept =
            "SELECT count(*) FROM turn_fts_data WHERE instr(block, CAST('quetz' AS BLOB)) > 0";
        let database = person.database();
        let kept: u32 = database.query_row(kept, [], |row| row.get(0)).unwrap();
        assert_eq!(kept, 0, "{sql}");
        let found = person.gently(&["search", "wombat", "--count"]);
        assert!(found.exits(0).out.contains('1'));
        assert_eq!(person.verified()["search"], json!([]), "{sql}");
    }
}

#[test]
fn a_missing_and_a_foreign_entry_are_told_and_change_no_answer() {
    let person = Person::new();
    person.ask("Where is the quetzalcoatl?");
    person
        .gently(&["fact", "add", "The wombat sleeps"])
        .exits(0);
    let report = person.gently(&["audit", "verify", "-v"]).exits(0).out;
    assert!(
        report.contains(
            "search:      the index holds each text exactly once, by its words (it is no evidence)"
        ),
        "{report}"
    );
    assert_eq!(person.verified()["search"], json!([]));
    for (sql, said) in [
        (
            "INSERT INTO turn_fts (turn_fts, rowid, content) VALUES ('delete', 1, 'Where is the quetzalcoatl?')",
            "the search index of turns has no entry for the text of turn number 1",
        ),
        (
            "INSERT INTO turn_fts (rowid, content) VALUES (77, 'of nobody')",
            "the search index of turns has an entry without a text, for turn number 77",
        ),
        (
            "INSERT INTO continuity_fts (continuity_fts, rowid, text, subject)
               SELECT 'delete', line, text, subject FROM continuity_text",
            "the search index of items has no entry for the text of artifact line",
        ),
        (
            "INSERT INTO continuity_fts (rowid, text) VALUES (99, 'of nobody')",
            "the search index of items has an entry without a text, for artifact line 99",
        ),
        (
            // As many words as before, and one entry, as before.
            "INSERT INTO turn_fts (turn_fts) VALUES ('rebuild');
             INSERT INTO turn_fts (turn_fts, rowid, content)
               SELECT 'delete', n, content FROM turn_text WHERE n = 2;
             INSERT INTO turn_fts (rowid, content)
               SELECT n, replace(content, 'quetzalcoatl', 'axolotl') || ' more' FROM turn_text WHERE n = 2",
            "the search index of turns has other words than the texts",
        ),
        (
            "INSERT INTO continuity_fts (continuity_fts) VALUES ('rebuild');
             INSERT INTO continuity_fts (continuity_fts, rowid, text, subject)
               SELECT 'delete', line, text, subject FROM continuity_text;
             INSERT INTO continuity_fts (rowid, text, subject)
               SELECT line, subject, text FROM continuity_text",
            "the search index of items has other words than the texts",
        ),
    ] {
        Connection::open(person.at("gently.db"))
            .unwrap()
            .execute_batch(sql)
            .unwrap();
        let brief = person.gently(&["audit", "verify"]).exits(0).out;
        assert!(
            brief
                .lines()
                .take(8)
                .any(|line| line.contains("search: ") && line.contains("gently audit rebuild")),
            "{sql}: {brief}"
        );
        let report = person.gently(&["audit", "verify", "-v"]).exits(0).out;
        assert!(
            report.contains(said) && report.contains("no evidence"),
            "{sql}: {report}"
        );
        let report = person.verified();
        assert_eq!(report["answers"]["consistent"], "yes");
        let faults = report["search"].as_array().unwrap();
        assert!(
            faults
                .iter()
                .any(|fault| fault.as_str().unwrap().starts_with(said)),
            "{faults:?}"
        );
    }
}

#[test]
fn sight_counts_what_can_be_searched() {
    let person = Person::new();
    person.ask("How is it?");
    person
        .gently(&["note", "add", "The wombat sleeps"])
        .exits(0);
    person
        .gently(&["intent", "set", "An intent is not searched"])
        .exits(0);
    let entry = person
        .gently(&["sight", "index_status", "--json"])
        .exits(0)
        .json()
        .to_string();
    assert!(
        entry.contains("\"search_entries\":3"),
        "two turns and a note: {entry}"
    );
    // The question names the tool, so its values are told and not its name alone.
    let empty = Person::new().under_the_kernel();
    empty.gently(&["init"]).exits(0);
    let asked = empty.ask("What does index_status show?");
    assert!(
        asked.out.contains("0 search entries") && !asked.out.contains("1 artifacts"),
        "{asked:?}"
    );
    assert!(
        asked.out.contains(" 1 artifact,") && asked.out.contains(" 1 commit\n"),
        "{asked:?}"
    );
}

#[test]
fn drift_is_listed_by_pages_and_what_is_not_listed_is_counted() {
    let server = ModelServer::start(Behaviour::Says("I have restarted nginx.".to_owned()));
    let person = Person::with(&[
        ("GENTLY_ANCHOR_MODE", "off"),
        ("GENTLY_MODEL_BASE_URL", &server.base_url()),
    ]);
    for _ in 0..5 {
        person
            .gently(&["ask", "--model", "openai/x", "--no-ref", "Well?"])
            .exits(0);
    }
    let ids = |args: &[&str]| {
        let list = person
            .gently(&[&["drift", "list", "--json"], args].concat())
            .exits(0)
            .json();
        let ids: Vec<String> = list["drift"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["id"].as_str().unwrap().to_owned())
            .collect();
        (ids, list["older_not_listed"].as_u64().unwrap())
    };
    let (all, none) = ids(&[]);
    assert!(all.len() >= 5 && none == 0, "{all:?}");
    let (newest, older) = ids(&["-n", "2"]);
    assert_eq!(
        (newest.as_slice(), older),
        (&all[all.len() - 2..], all.len() as u64 - 2)
    );
    let said = person.gently(&["drift", "list", "-n", "2"]).exits(0).err;
    let number: u64 = newest[0].rsplit(':').next().unwrap().parse().unwrap();
    let before = format!("drift-{number}");
    assert!(
        said.contains(&format!("{older} older not listed"))
            && said.trim_end().ends_with(&format!("--before {before}")),
        "{said}"
    );
    let page = |id: &str| ids(&["-n", "2", "--before", id]);
    assert_eq!(page(&before), page(&newest[0]));
    // Page by page to the end, each event once.
    let mut paged = newest;
    while let (page, left) = ids(&["-n", "2", "--before", &paged[0]])
        && !page.is_empty()
    {
        paged.splice(0..0, page);
        assert_eq!(left, (all.len() - paged.len()) as u64);
    }
    assert_eq!(paged, all);
    // What is closed is not counted among the open.
    person.gently(&["drift", "close", &all[0]]).exits(0);
    assert_eq!(ids(&["-n", "2"]).1, older - 1);
    assert_eq!(ids(&["-n", "2", "--all"]).1, older);
    person.gently(&["drift", "list", "-n", "0"]).exits(2);
}
