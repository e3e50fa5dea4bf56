//! After an erasure: what other exchanges commit to is checked as before, though a text that their
//! models were shown is gone, and nothing that is left of them lets anybody guess it.

use gently::record::ledger::commitment::{Role, Salt, opening_key};
use rusqlite::Connection;
use rusqlite::types::Value;
use serde_json::json;

use crate::erase::holders;
use crate::model_server::{Behaviour, ModelServer};
use crate::opening::{both, open, served, signer};
use crate::person::Person;
use crate::unguarded::unguarded;

/// Three questions of one conversation, each of which sees the earlier ones, beside a note.
fn three() -> (Person, ModelServer) {
    let (person, server) = served(Behaviour::Good);
    person.gently(&["init"]).exits(0);
    let note = ["note", "add", "The quetzalcoatl disk hums."];
    person.gently(&note).exits(0);
    person.ask("What of the quetzalcoatl disk?");
    person.ask("And what of the disk now?");
    person.ask("And the disk after that?");
    (person, server)
}

/// The database of a home, without what keeps a program from changing evidence.
pub fn freed(person: &Person) -> Connection {
    unguarded(person.at("gently.db"))
}

fn one(database: &Connection, sql: &str) -> Value {
    database.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Changes one value of the exchange with this number, asks the verifier, and puts it back.
fn changed(person: &Person, database: &Connection, (seq, column, to): (u64, &str, &str)) {
    let table = match column {
        "context_digest" | "prompt_digest" => "thread_turn",
        _ => "llm_exchange",
    };
    let of = format!("(SELECT prompt_line FROM llm_exchange WHERE seq = {seq})");
    let row = match table {
        "thread_turn" => format!("line = {of}"),
        _ => format!("seq = {seq}"),
    };
    let before = one(
        database,
        &format!("SELECT {column} FROM {table} WHERE {row}"),
    );
    let set = format!("UPDATE {table} SET {column} = {to} WHERE {row}");
    assert_eq!(database.execute(&set, []).unwrap(), 1, "{set}");
    let after = one(
        database,
        &format!("SELECT {column} FROM {table} WHERE {row}"),
    );
    assert_ne!(before, after, "{set}");
    let told = person.gently(&["audit", "verify"]);
    assert_eq!(told.code, 1, "{set}\n{told:?}");
    assert!(!told.out.contains("✔"), "{set}\n{told:?}");
    let put = format!("UPDATE {table} SET {column} = ?1 WHERE {row}");
    database.execute(&put, [&before]).unwrap();
}

#[track_caller]
pub fn holds(person: &Person) {
    let report = person.verified();
    assert_eq!(report["answers"]["consistent"], "yes", "{report:#}");
    assert_eq!(report["answers"]["complete"], "yes", "{report:#}");
    person.gently(&["audit", "session", "last"]).exits(0);
    person.gently(&["audit", "replay", "--all"]).exits(0);
}

/// Every column that the exchange document tells of, with another value in the words of SQL.
const OTHERS: [(&str, &str); 19] = [
    ("reply", "replace(reply, '\"stop\"', '\"EVIL\"')"),
    ("reply", "NULL"),
    (
        "request",
        "replace(request, '\"model\":\"', '\"model\":\"EVIL')",
    ),
    ("request", "'{}'"),
    ("request", "NULL"),
    (
        "params",
        "replace(params, '\"max_tokens\":null', '\"max_tokens\":7')",
    ),
    ("prompt_tokens", "prompt_tokens + 1"),
    ("completion_tokens", "NULL"),
    ("cost_micro", "7"),
    ("exclusions", "'[\"evil\"]'"),
    (
        "validator_summary",
        "replace(validator_summary, 'false', 'true')",
    ),
    ("model", "'openai/evil'"),
    ("refusal", "1 - refusal"),
    (
        "context_bundle_json",
        "replace(context_bundle_json, '\"phase\":\"', '\"phase\":\"evil')",
    ),
    ("prompt_hash", "lower(hex(randomblob(32)))"),
    ("context_digest", "lower(hex(randomblob(32)))"),
    ("prompt_digest", "lower(hex(randomblob(32)))"),
    ("salt", "randomblob(384)"),
    ("salt", "randomblob(32)"),
];

#[test]
fn after_an_erasure_every_change_of_a_later_exchange_is_found() {
    let (person, _server) = three();
    person.gently(&["erase", "last/1", "--yes"]).exits(0);
    holds(&person);
    let database = freed(&person);
    for seq in [2, 3] {
        for (column, to) in OTHERS {
            changed(&person, &database, (seq, column, to));
        }
    }
    // What stands in the place of the erased text is evidence as well.
    let count = "SELECT count(*) FROM erasure_commitment";
    assert_eq!(one(&database, count), Value::Integer(6), "three for each");
    database
        .execute_batch(
            "CREATE TABLE aside AS SELECT * FROM erasure_commitment;
             UPDATE erasure_commitment SET commitment = (
               SELECT commitment FROM aside WHERE aside.role = 'prompt_digest' LIMIT 1)
              WHERE role = 'compiled_prompt'",
        )
        .unwrap();
    person.gently(&["audit", "verify"]).exits(1);
    database
        .execute_batch("DELETE FROM erasure_commitment WHERE role = 'context_digest'")
        .unwrap();
    person.gently(&["audit", "verify"]).exits(1);
    person.gently(&["audit", "replay", "--all"]).exits(1);
    database
        .execute_batch(
            "DELETE FROM erasure_commitment; INSERT INTO erasure_commitment SELECT * FROM aside;
             DROP TABLE aside",
        )
        .unwrap();
    holds(&person);
    // The next erasure leaves what the one before has kept.
    person.gently(&["erase", "last/2", "--yes"]).exits(0);
    holds(&person);
    for (column, to) in [OTHERS[0], OTHERS[3], OTHERS[6]] {
        changed(&person, &database, (3, column, to));
    }
    assert_eq!(one(&database, count), Value::Integer(6));
    holds(&person);
}

#[test]
fn after_an_erased_note_every_change_of_what_it_stood_in_is_found() {
    let (person, _server) = three();
    person.gently(&["erase", "note:000001", "--yes"]).exits(0);
    holds(&person);
    let database = freed(&person);
    let kept = "SELECT count(*) FROM erasure_commitment WHERE role = 'bundle'";
    assert_eq!(one(&database, kept), Value::Integer(3));
    for (column, to) in OTHERS {
        let is_gone = column == "context_bundle_json";
        let to = if is_gone { "'{}'" } else { to };
        changed(&person, &database, (1, column, to));
    }
    // A commitment in the place of nothing that is erased is a finding.
    person.ask("Something else");
    database
        .execute_batch(
            "INSERT INTO erasure_commitment SELECT prompt_line, 'bundle', exchange_id, prompt_commitment
               FROM llm_exchange WHERE seq = 4",
        )
        .unwrap();
    let told = person.gently(&["audit", "verify", "-v"]).exits(1);
    assert!(told.out.contains("erasure_commitment bundle"), "{told:?}");
}

/// A key that opens nothing is not kept, so that none can be changed unseen.
#[test]
fn every_key_that_is_left_is_held_against_what_it_opens() {
    let (person, _server) = three();
    person.gently(&["erase", "last/1", "--yes"]).exits(0);
    let database = freed(&person);
    let Value::Blob(keys) = one(&database, "SELECT salt FROM llm_exchange WHERE seq = 2") else {
        panic!("keys");
    };
    assert_eq!(keys.len(), 32 * Role::OF_EXCHANGES.len());
    for (at, role) in Role::OF_EXCHANGES.iter().enumerate() {
        for change in [1_u8, 0] {
            let mut other = keys.clone();
            match change {
                0 => other[32 * at..32 * (at + 1)].fill(0),
                bits => other[32 * at + 31] ^= bits,
            }
            if other == keys {
                continue;
            }
            let set = "UPDATE llm_exchange SET salt = ?1 WHERE seq = 2";
            database.execute(set, [&other]).unwrap();
            let told = person.gently(&["audit", "verify"]);
            assert_eq!(told.code, 1, "{} {change}: {told:?}", role.name());
        }
    }
    let set = "UPDATE llm_exchange SET salt = ?1 WHERE seq = 2";
    database.execute(set, [&keys]).unwrap();
    holds(&person);
}

/// The commitments that are kept can't be tried with texts: their keys are gone, and so is what
/// they were made of.
#[test]
fn nothing_that_is_left_lets_the_erased_text_be_guessed() {
    let (person, _server) = three();
    let salts: Vec<Vec<u8>> = (2..=3)
        .map(|seq| {
            let salt = format!("SELECT salt FROM llm_exchange WHERE seq = {seq}");
            let salt = person.database().query_row(&salt, [], |row| row.get(0));
            salt.unwrap()
        })
        .collect();
    person.gently(&["erase", "last/1", "--yes"]).exits(0);
    for salt in salts {
        assert!(holders(person.home(), &salt).is_empty(), "the salt");
        let salt = Salt::from_stored(&salt).unwrap();
        for role in Role::OF_EXCHANGES {
            let key = opening_key(&salt, role);
            let is_gone = [
                Role::CompiledPrompt,
                Role::ContextDigest,
                Role::PromptDigest,
            ]
            .contains(&role);
            let found = holders(person.home(), key.as_bytes());
            assert_eq!(found.is_empty(), is_gone, "{}: {found:?}", role.name());
        }
    }
}

#[test]
fn later_turns_can_be_opened_after_an_erasure() {
    let (person, _server) = three();
    person.gently(&["erase", "last/1", "--yes"]).exits(0);
    person.gently(&["audit", "open", "last", "1"]).exits(2);
    for seq in ["2", "3"] {
        for role in ["prompt", "response", "exchange", "request", "reply"] {
            let name = format!("{role}-{seq}.json");
            let file = open(&person, &name, &["last", seq, "--role", role]);
            let (code, facts) = both(&file, &["--signer", &signer(&person)]);
            assert_eq!(code, 0, "{role} of {seq}: {facts:#}");
        }
    }
    let shown = person.gently(&["show", "last", "--json"]).exits(0).json();
    assert_eq!(shown["erased"], json!(null));
}

/// Many are erased in portions. Where one fails, it is said how many are erased and how many are not, and the
/// same command goes on with the rest.
#[test]
fn what_of_many_is_erased_is_said_when_a_portion_fails() {
    let (person, _server) = served(Behaviour::Good);
    let questions: String = (1..=203).map(|n| format!("What is {n}?\n")).collect();
    person.piped(&["chat"], questions.as_bytes()).exits(0);
    let database = Connection::open(person.at("gently.db")).unwrap();
    database
        .execute_batch(
            "CREATE TRIGGER no_more BEFORE UPDATE OF salt ON llm_exchange WHEN
               (SELECT count(*) FROM llm_exchange WHERE salt IS NULL) >= 201
             BEGIN SELECT RAISE(ABORT, 'there is no more room'); END",
        )
        .unwrap();
    let erased = || {
        let sql = "SELECT count(*) FROM llm_exchange WHERE salt IS NULL";
        let count = person
            .database()
            .query_row(sql, [], |row| row.get::<_, i64>(0));
        count.unwrap()
    };
    let delete = ["conversation", "delete", "last", "--yes"];
    let stopped = person.gently(&delete).exits(3);
    let words = stopped.err.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "erased, and on record as erased: 200 of 203 exchanges; not erased: 3 exchanges.",
        "there is no more room",
        "not recorded, but for what is said to be erased",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    assert_eq!(erased(), 200);
    database.execute_batch("DROP TRIGGER no_more").unwrap();
    // It is in the archive, so that the last conversation is another: its id is said.
    let (_, next) = words.split_once("3 exchanges. `gently ").unwrap();
    let (next, _) = next.split_once('`').unwrap();
    let typed: Vec<&str> = next.split(' ').chain(["--yes"]).collect();
    assert_eq!(typed[..2], ["conversation", "delete"]);
    person.gently(&typed).exits(0);
    assert_eq!(erased(), 203);
    person.gently(&["audit", "verify"]).exits(0);
}
