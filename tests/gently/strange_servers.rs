//! Servers that answer otherwise than they should, as a person sees it: each in words, on record, and
//! the conversation goes on.

use gently::app::ask::denial::reason_words;
use serde_json::{Value, json};

use crate::model_server::{ANSWER, Behaviour, ModelServer};
use crate::person::Person;

fn person(server: &ModelServer) -> Person {
    let mut person = Person::new().under_the_kernel();
    person.set("GENTLY_MODEL_BASE_URL", &server.base_url());
    person.set("GENTLY_MODEL_DEFAULT", "openai/m");
    person
}

/// Roles and texts of the newest request, without the system's message.
fn said(server: &ModelServer) -> Vec<(String, String)> {
    let newest = server.requests().pop().unwrap().json();
    let messages = newest["messages"].as_array().unwrap().clone();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let said = messages.iter().skip(1);
    said.map(|one| (text(&one["role"]), text(&one["content"])))
        .collect()
}

#[test]
fn what_is_no_answer_is_said_recorded_and_the_conversation_goes_on() {
    let call = json!({"type": "function", "id": "call_1", "function": {"name": "look", "arguments": "{}"}});
    let long = "This model's maximum context length is 2048 tokens. However, you requested 9000.";
    let table = [
        (
            Behaviour::Message(json!({"role": "user", "content": "What do you mean?"})),
            "malformed",
            "expected a message of the role `assistant`, found `user`",
        ),
        (
            Behaviour::Message(json!({"role": "assistant", "content": null})),
            "empty",
            "there is no answer in the response",
        ),
        (
            Behaviour::Message(json!({"role": "assistant", "content": []})),
            "empty",
            "no content and no tool calls; the model stopped for `stop`",
        ),
        (
            Behaviour::Message(json!({"role": "assistant", "content": ["text"]})),
            "malformed",
            "expected every part of `content` to name its type",
        ),
        (
            Behaviour::Message(json!({"content": "a", "tool_calls": [1]})),
            "malformed",
            "expected objects in `tool_calls`",
        ),
        (
            Behaviour::Message(json!({"content": "a", "function_call": call})),
            "malformed",
            "which were not asked for",
        ),
        (
            Behaviour::error(400, long),
            "http_400",
            "gently config set model.window.openai/NAME TOKENS",
        ),
    ];
    let script = table.iter().map(|(behaviour, ..)| behaviour.clone());
    let server = ModelServer::script(script.chain([Behaviour::Good]).collect());
    let person = person(&server);
    for (number, (behaviour, reason, words)) in table.iter().enumerate() {
        let told = person.gently(&["ask", &format!("Question {number}.")]);
        assert_eq!(
            (told.code, told.out.as_str()),
            (2, ""),
            "{behaviour:?}: {told:#?}"
        );
        assert!(told.err.contains(words), "{behaviour:?}: {told:#?}");
        let end = format!(" · no answer: {} · on record\n", reason_words(reason));
        assert!(told.err.contains(&end), "{behaviour:?}: {told:#?}");
    }
    let told = person.gently(&["ask", "And now?"]).exits(0);
    assert_eq!(told.out, format!("{ANSWER}\n"));
    // What got no answer is not asked again.
    let said = said(&server);
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(said[0].1, "And now?");
    person.gently(&["audit", "verify"]).exits(0);
    person.gently(&["audit", "replay", "--all"]).exits(0);
}

/// An answer of one part is its text; one of several texts is shown as they read, and on record as it
/// came; of one that wants a tool nothing is called.
#[test]
fn an_answer_in_parts_and_tools_that_nobody_offered() {
    let one = json!({"role": "assistant", "content": [{"type": "text", "text": "Paris."}]});
    let server = ModelServer::script(vec![
        Behaviour::Message(one),
        Behaviour::parts(),
        Behaviour::tool_calls(),
        Behaviour::Good,
    ]);
    let person = person(&server);
    let ask = |words: &str| person.gently(&["ask", words]).exits(0);
    assert_eq!(ask("One.").out, "Paris.\n");
    let parts = r#"[{"text":"one","type":"text"},{"text":"two","type":"text"}]"#;
    assert_eq!(ask("Two.").out, "onetwo\n");
    let shown = person.gently(&["show", "last"]).exits(0);
    assert!(shown.out.contains("onetwo\n"), "{shown:#?}");
    assert!(!shown.out.contains("text"), "{shown:#?}");
    let shown = person.gently(&["show", "last", "--json"]).exits(0).json();
    assert_eq!(shown["answer"], parts);
    let wanted = person.gently(&["ask", "Three.", "--json"]).exits(0);
    let sentence = "The answer asks for a tool that nobody offered (look). gently calls none.";
    assert!(wanted.err.contains(sentence), "{wanted:#?}");
    assert_eq!(wanted.json()["tools_wanted"], json!(["look"]));
    ask("Four.");
    let said = said(&server);
    let roles: Vec<&str> = said.iter().map(|(role, _)| role.as_str()).collect();
    let turns = ["user", "assistant"];
    assert_eq!(roles, [&turns[..], &turns, &turns, &["user"]].concat());
    assert_eq!((said[1].1.as_str(), said[3].1.as_str()), ("Paris.", parts));
    assert_eq!(server.requests().len(), 4);
    person.gently(&["audit", "verify"]).exits(0);
    person.gently(&["audit", "replay", "--all"]).exits(0);
}

/// A password is known by the name in front of it, in what comes beside an answer as in any text.
#[test]
fn a_secret_under_a_name_is_not_kept_beside_the_answer() {
    let call = json!({"type": "function", "id": "call_1", "function":
        {"name": "login", "arguments": {"user": "bob", "password": "hunter2hunter2"}}});
    let message = json!({"content": "a", "tool_calls": [call], "client_secret": "wJalrXUtnFEMI7K7MDENGbPxRfiCYzzEKEY1"});
    let server = ModelServer::start(Behaviour::Message(message));
    let person = person(&server);
    person.gently(&["ask", "Hello?"]);
    for file in ["gently.db", "gently.db-wal"] {
        let bytes = std::fs::read(person.at(file)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        for secret in ["hunter2hunter2", "wJalrXUtnFEMI7K7MDENGbPxRfiCYzzEKEY1"] {
            assert!(!text.contains(secret), "{file}: {secret}");
        }
    }
    person.gently(&["audit", "verify"]).exits(0);
}
