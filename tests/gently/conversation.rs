//! A conversation as a model gets it: messages, as many of them as there is room for, and little
//! beside.

use serde_json::Value;

use crate::model_server::{Behaviour, ModelServer};
use crate::person::Person;

fn person(server: &ModelServer) -> Person {
    let mut person = Person::new().under_the_kernel();
    person.set("GENTLY_MODEL_BASE_URL", &server.base_url());
    person.set("GENTLY_MODEL_DEFAULT", "openai/m");
    person
}

fn asked(person: &Person, args: &[&str]) -> Value {
    let args = [&["ask", "--json"], args].concat();
    person.gently(&args).exits(0).json()
}

fn sent(server: &ModelServer) -> Vec<Value> {
    let newest = server.requests().pop().unwrap().json();
    newest["messages"].as_array().unwrap().clone()
}

/// The kernel's words are all that is sent beside a first question that is not about the machine.
#[test]
fn a_first_question_costs_at_most_120_tokens_beside_its_own() {
    let server = ModelServer::start(Behaviour::Good);
    let person = person(&server);
    let told = asked(&person, &["What is the capital of France?"]);
    let own = told["prompt_tokens_own"].as_u64().unwrap();
    let added = told["prompt_tokens_added"].as_u64().unwrap();
    assert!((1..=120).contains(&added) && own == 8, "{own}, {added}");
    let messages = sent(&server);
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert_eq!(messages[1]["content"], "What is the capital of France?");
}

#[test]
fn what_was_said_twelve_turns_ago_is_still_there_in_its_own_words() {
    let server = ModelServer::start(Behaviour::Good);
    let person = person(&server);
    asked(&person, &["My name is Ana."]);
    for n in 2..=12 {
        asked(&person, &[&format!("Say {n}.")]);
    }
    let told = asked(&person, &["What is my name?"]);
    assert_eq!(told["context"]["turns_shown"], 12);
    assert_eq!(told["context"]["turns_earlier"], 12);
    let messages = sent(&server);
    assert_eq!(messages.len(), 1 + 2 * 12 + 1);
    assert_eq!(messages[1]["content"], "My name is Ana.");
    assert_eq!(messages[25]["content"], "What is my name?");
    // Kernel and owner's text stand first and stay the same, so that a provider's cache of prompts
    // is of use.
    let requests = server.requests();
    let first = |at: usize| requests[at].json()["messages"][0].clone();
    assert!((1..requests.len()).all(|at| first(at) == first(0)));
}

/// Turns that have no room are left out whole, the oldest first, and the last line says so.
#[test]
fn what_has_no_room_is_left_out_whole_and_said() {
    let server = ModelServer::start(Behaviour::Good);
    let person = person(&server);
    // Some 2,300 tokens each: two of them fit beside their answers.
    let long = |n: u32| format!("{n}: {}", "so it goes on and on. ".repeat(420));
    for n in 1..=4 {
        asked(&person, &[&long(n)]);
    }
    let told = person.gently(&["ask", "And?"]).exits(0);
    let said = told.err.contains(" · showing 2 of 4 earlier turns");
    assert!(said, "{told:#?}");
    let messages = sent(&server);
    assert_eq!(messages.len(), 1 + 2 * 2 + 1, "{messages:?}");
    assert_eq!(messages[1]["content"], long(3));
    let replayed = person.gently(&["audit", "replay", "--all"]);
    replayed.exits(0);
}
