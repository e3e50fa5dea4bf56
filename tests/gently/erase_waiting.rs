//! Erasing while another process waits for an answer: what is left of its exchange is what would be
//! left if it had been erased later, and everything still holds.

use std::process::{Child, Command};
use std::time::Duration;

use crate::erase::holders;
use crate::erase_later::holds;
use crate::model_server::{Behaviour, ModelServer};
use crate::person::Person;

/// How the question that waits ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Answered,
    Interrupted,
    Failed,
}

/// A home with a fact and an answered question of one conversation, and a second question in it
/// that waits for its answer, before whose model all of it stands.
fn waiting(end: End) -> (Person, ModelServer, Child) {
    // A server that goes away behind a gate may still get its answer out.
    let second = match end {
        End::Answered | End::Interrupted => Behaviour::Gate,
        End::Failed => Behaviour::NeverBegins,
    };
    let server = ModelServer::script(vec![Behaviour::Good, second]);
    let person = Person::with(&[
        ("GENTLY_ANCHOR_MODE", "off"),
        ("GENTLY_MODEL_DEFAULT", "openai/x"),
        ("GENTLY_MODEL_BASE_URL", &server.base_url()),
        ("OPENAI_API_KEY", "test"),
    ]);
    let fact = ["The quetzalcoatl disk hums.", "--subject", "disk"];
    person.gently(&["init"]).exits(0);
    person
        .gently(&[&["fact", "add"], &fact[..]].concat())
        .exits(0);
    person.gently(&["fact", "ratify", "ledger:000001"]).exits(0);
    person.ask("What of the zygomorphic disk?");
    let rename = ["conversation", "rename", "last", "Flight"];
    person.gently(&rename).exits(0);
    let asks = person.command(&["ask", "And the disk now?"]).spawn();
    server.wait_for(2);
    (person, server, asks.unwrap())
}

fn erased(erase: &[&str], gone: &str, end: End) {
    let (person, server, mut asks) = waiting(end);
    // What is older than no day is what was recorded before this second.
    for _ in 0..100 {
        person.gently(erase);
        if holders(person.home(), gone.as_bytes()).is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(
        holders(person.home(), gone.as_bytes()).is_empty(),
        "{erase:?}"
    );
    match end {
        End::Answered => server.release(),
        End::Interrupted => {
            let pid = asks.id().to_string();
            Command::new("kill").args(["-INT", &pid]).status().unwrap();
        }
        End::Failed => drop(server),
    }
    let ended = asks.wait().unwrap();
    assert_eq!(ended.success(), end == End::Answered, "{erase:?} {end:?}");
    let length = "SELECT length(salt) FROM llm_exchange WHERE seq = 2";
    let keys: u32 = person
        .database()
        .query_row(length, [], |row| row.get(0))
        .unwrap();
    assert_eq!(keys, 384, "{erase:?} {end:?}: keys, and no salt");
    holds(&person);
}

/// A key that opens nothing in the finished exchange is not kept, however it ended.
#[test]
fn what_a_waiting_question_was_shown_can_be_erased() {
    let (turn, fact) = ("zygomorphic", "quetzalcoatl");
    erased(&["erase", "last/1", "--yes"], turn, End::Answered);
    erased(&["erase", "last/1", "--yes"], turn, End::Interrupted);
    erased(&["erase", "fact-1", "--yes"], fact, End::Answered);
    erased(&["erase", "fact-1", "--yes"], fact, End::Failed);
}

/// The same by the other commands that erase, and by what retention does between two questions.
#[test]
fn whatever_erases_beside_a_waiting_question_leaves_it_whole() {
    let turn = "zygomorphic";
    let delete = ["conversation", "delete", "Flight", "--yes"];
    erased(&delete, turn, End::Answered);
    erased(&delete, turn, End::Interrupted);
    let older = ["erase", "--older-than", "0", "--yes"];
    erased(&older, turn, End::Answered);
    erased(&older, turn, End::Failed);
}
