//! A conversation as a model gets it: messages, as many of them as there is room for, and little
//! beside.

use std::time::Duration;

use serde_json::{Value, json};

use crate::llama;
use crate::model_server::{Behaviour, ModelServer};
use crate::person::Person;
use crate::share::{at_terminal, gently};
use crate::unguarded::unguarded;

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

/// What is told of warnings is a sentence, once however many answers met it, and none in a
/// conversation of its own about something else.
#[test]
fn a_model_is_told_of_open_warnings_in_a_sentence_once() {
    let server = ModelServer::start(Behaviour::Says("I've restarted nginx.".to_owned()));
    let person = person(&server);
    // People are told when that begins, with the command that ends it.
    let line = format!(
        "told to the model with your question: An earlier answer says it did something. gently did \
         nothing. To end that: {} drift close drift-1",
        gently()
    );
    let runs = [1, 2, 3].map(|_| person.gently(&["ask", "Please restart nginx"]).exits(0));
    let is_told = runs.map(|ran| ran.err.contains(&line));
    assert_eq!(is_told, [false, true, false]);
    person.gently(&["ask", "Is it well?"]).exits(0);
    let messages = sent(&server);
    assert_eq!(
        messages.last().unwrap()["content"],
        "Open questions on record:\n\
         - An earlier answer says it did something. gently did nothing.\n\n\
         Is it well?"
    );
    let events = person.gently(&["drift", "list", "--json"]).exits(0).json();
    assert!(events["drift"].as_array().unwrap().len() >= 3, "{events}");
    // Another conversation has none of them, unless its question is about the same.
    person
        .gently(&["ask", "--new", "Why is the sky blue?"])
        .exits(0);
    assert_eq!(
        sent(&server).last().unwrap()["content"],
        "Why is the sky blue?"
    );
    let ran = person.gently(&["ask", "--new", "And nginx?"]).exits(0);
    assert!(!ran.err.contains("told to the model"), "{ran:?}");
    let sent = sent(&server).last().unwrap()["content"].clone();
    let told = sent.as_str().unwrap();
    assert!(
        told.starts_with("Open questions on record:\n- An earlier"),
        "{told}"
    );
    // All of one conversation is closed at once, then all that is open.
    let open = |person: &Person| {
        let listed = person.gently(&["drift", "list", "--json"]).exits(0).json();
        listed["drift"].as_array().unwrap().len()
    };
    let all = open(&person);
    let of_one = ["drift", "close", "--conversation", "And nginx?", "--json"];
    let closed = person.gently(&of_one).exits(0).json();
    let closed = closed["drift"].as_array().unwrap().len();
    assert!(closed >= 1 && open(&person) == all - closed && all > closed);
    let again = person.gently(&of_one).exits(1);
    assert_eq!(again.json()["drift"], json!([]));
    person.gently(&["drift", "close", "--all"]).exits(0);
    assert_eq!(open(&person), 0);
    let none = person.gently(&["drift", "close", "--all"]).exits(1);
    assert!(none.err.contains("no warning of an answer is open"));
    person.gently(&["audit", "verify"]).exits(0);
    person.gently(&["audit", "replay", "--all"]).exits(0);
}

/// What a server says in its field for refusals is one, whatever its words; people read the words.
#[test]
fn the_refusal_field_of_a_reply_is_a_refusal() {
    let message = json!({"role": "assistant", "content": null, "refusal": "Rather not, thanks."});
    let server = ModelServer::start(Behaviour::Message(message));
    let person = person(&server);
    let ran = person.gently(&["ask", "Sing?"]).exits(0);
    assert_eq!(ran.out, "Rather not, thanks.\n");
    let told = asked(&person, &["And dance?"]);
    assert_eq!(told["drift"]["refusal"], true, "{told:#}");
    assert_eq!(
        told["answer"],
        r#"[{"refusal":"Rather not, thanks.","type":"refusal"}]"#
    );
    let counted = person.gently(&["stats", "--json"]).exits(0).json();
    assert_eq!(counted["refusals"], 2, "{counted:#}");
    person.gently(&["audit", "verify"]).exits(0);
    person.gently(&["audit", "replay", "--all"]).exits(0);
}

/// Measurements go as what they are, and not by the names that they have on record.
#[test]
fn a_model_is_told_of_this_machine_in_words() {
    let server = ModelServer::start(Behaviour::Good);
    let person = person(&server);
    let told = asked(&person, &["How full is my disk?"]);
    let sent = sent(&server).pop().unwrap()["content"].clone();
    let sent = sent.as_str().unwrap();
    let line = sent.lines().nth(1).unwrap();
    assert!(
        line.starts_with("- disk_usage, ") && line.contains(" s old: free space on /"),
        "{sent}"
    );
    let named = ["disk1_", "_mb", "_pct"];
    assert!(!named.iter().any(|name| line.contains(name)), "{line}");
    // What is on record has the values under their names, and the request says how they were told.
    let shown = person.gently(&["show", "last", "--json"]).exits(0).json();
    let values = &shown["bundle"]["sight"]["disk_usage"]["values"];
    assert!(values["disk1_free_mb"].is_u64(), "{values}");
    assert!(
        told["prompt_tokens_added"].as_u64().unwrap() < 250,
        "{told:#}"
    );
    person.gently(&["audit", "verify"]).exits(0);
    person.gently(&["audit", "replay", "last"]).exits(0);
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
    assert_eq!(told.err.matches("showing").count(), 1, "{told:?}");
    assert!(said, "{told:#?}");
    let messages = sent(&server);
    assert_eq!(messages.len(), 1 + 2 * 2 + 1, "{messages:?}");
    assert_eq!(messages[1]["content"], long(3));
    let replayed = person.gently(&["audit", "replay", "--all"]);
    replayed.exits(0);
}

/// A person who can ask an OpenAI-compatible server and an Ollama; both are the same test server.
fn person_of_two_models(server: &ModelServer) -> Person {
    let mut person = person(server);
    person.set("GENTLY_MODEL_OLLAMA_URL", &server.root_url());
    person
}

const OTHER: [&str; 2] = ["-m", "ollama/small-1b"];

/// What was said in a request's messages, without the system's.
fn contents(messages: &[Value]) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let said = messages.iter().skip(1);
    said.map(|one| (text(&one["role"]), text(&one["content"])))
        .collect()
}

fn said(list: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(role, text): &(&str, &str)| ((*role).to_owned(), (*text).to_owned());
    list.iter().map(owned).collect()
}

/// A session is of one model, and a conversation is not.
#[test]
fn another_model_goes_on_with_the_conversation_and_so_does_the_first_one_again() {
    let server = ModelServer::script(
        ["one", "two", "three", "four"]
            .map(|word| Behaviour::Says(word.to_owned()))
            .to_vec(),
    );
    let person = person_of_two_models(&server);
    let first = asked(&person, &["My name is Ana."]);
    let second = asked(&person, &[&OTHER[..], &["What is my name?"]].concat());
    assert_eq!(second["context"]["turns_shown"], 1);
    let (ana, name) = (("user", "My name is Ana."), ("user", "What is my name?"));
    let so_far = [ana, ("assistant", "one"), name];
    assert_eq!(contents(&sent(&server)), said(&so_far));
    assert_eq!(server.requests()[1].line, "POST /api/chat");
    // Two sessions, one thread.
    assert_ne!(first["session"], second["session"]);
    let third = asked(&person, &["And yours?"]);
    assert_eq!(third["session"], first["session"]);
    let all = [&so_far[..], &[("assistant", "two"), ("user", "And yours?")]].concat();
    assert_eq!(contents(&sent(&server)), said(&all));
    let shown = person.gently(&["thread", "show", "--json"]).exits(0).json();
    assert_eq!(shown["events"].as_array().unwrap().len(), 9, "{shown}");
    // Nothing is left out, so nothing is said of it.
    let told = person.gently(&["ask", "So?"]).exits(0);
    assert!(!told.err.contains("earlier"), "{told:#?}");
    // `last` and `interaction-1` are of the newest exchange, and of the newest session that has one.
    let show = |id: &str| person.gently(&["show", id, "--json"]).exits(0).json();
    assert_eq!(show("last")["prompt"], "So?");
    assert_eq!(show("interaction-1")["prompt"], "What is my name?");
    person.gently(&["audit", "verify"]).exits(0);
    person.gently(&["audit", "replay", "--all"]).exits(0);
}

/// What was said to one provider is sent to another: that is said once, before the call.
#[test]
fn a_conversation_that_moves_to_another_provider_says_so_once() {
    let server = ModelServer::start(Behaviour::Good);
    let person = person_of_two_models(&server);
    let moves = |args: &[&str]| {
        let ran = person.gently(&[&["ask", "--json"], args].concat()).exits(0);
        let lines = ran.err.lines();
        let lines: Vec<String> = lines
            .filter(|line| line.contains(" earlier turn"))
            .map(str::to_owned)
            .collect();
        let notes = ran.json()["notes"].clone();
        let is_noted = |line: &String| notes.as_array().unwrap().contains(&json!(line));
        assert!(lines.iter().all(is_noted), "{lines:?}: {notes}");
        lines
    };
    let other = |words: &[&'static str]| [&OTHER[..], words].concat();
    const ELSE: &str = "(gently ask --new begins another conversation)";
    assert!(moves(&["One."]).is_empty());
    assert!(moves(&["Two."]).is_empty());
    assert_eq!(
        moves(&other(&["Three."])),
        [format!(
            "2 earlier turns with openai/m go to ollama/small-1b {ELSE}"
        )]
    );
    assert!(moves(&other(&["Four."])).is_empty());
    // Another model of the same provider.
    assert!(moves(&["-m", "ollama/other:2b", "Five."]).is_empty());
    assert_eq!(
        moves(&["Six."]),
        [format!(
            "3 earlier turns with ollama/other:2b go to openai/m {ELSE}"
        )]
    );
    // Nothing goes along.
    assert!(moves(&other(&["--no-ref", "Seven."])).is_empty());
    assert!(moves(&["--new", "Eight."]).is_empty());
    assert_eq!(
        moves(&other(&["Nine."])),
        [format!(
            "1 earlier turn with openai/m goes to ollama/small-1b {ELSE}"
        )]
    );
}

/// A question that got no answer is not asked again with the next one, unless somebody names it.
#[test]
fn a_question_without_an_answer_is_shown_again_only_if_it_is_named() {
    let says = |text: &str| Behaviour::Says(text.to_owned());
    // Whoever does not know a model is asked what else there is.
    let unknown = || Behaviour::error(404, "model not found");
    let server = ModelServer::script(vec![
        says("one"),
        unknown(),
        unknown(),
        unknown(),
        unknown(),
        says("two"),
        says("three"),
        says("four"),
    ]);
    let person = person(&server);
    asked(&person, &["First."]);
    let failed = person.gently(&["ask", "--json", "hi"]).exits(2).json();
    person.gently(&["ask", "hi"]).exits(2);
    let ran = person.gently(&["ask", "hi there"]).exits(0);
    // Nobody is told for ever of what got no answer.
    for word in ["not shown", "showing"] {
        assert!(!ran.err.contains(word), "{ran:?}");
    }
    let first = [("user", "First."), ("assistant", "one")];
    let so_far = [&first[..], &[("user", "hi there")]].concat();
    assert_eq!(contents(&sent(&server)), said(&so_far));
    let ran = person.gently(&["ask", "-v", "--json", "And?"]).exits(0);
    assert!(
        ran.err.contains("not shown to the model: question")
            && ran.err.contains("(it got no answer; name it with --ref"),
        "{ran:?}"
    );
    let lost = ran.json()["context"]["not_shown"].clone();
    assert_eq!(
        (lost.as_array().unwrap().len(), &lost[0]["reason"]),
        (2, &json!("unanswered")),
        "{lost:#}"
    );
    // Policy sees it all the same: no decision depends on whether a model answered.
    let declared = ran.json()["context"]["declared_refs"].clone();
    assert_eq!(declared.as_array().unwrap().len(), 6, "{declared}");
    // It may be named, by itself and beside the last ones.
    let id = failed["id"].as_str().unwrap();
    asked(&person, &["--ref", "last:9", "--ref", id, "Again?"]);
    let users: Vec<String> = contents(&sent(&server))
        .into_iter()
        .filter_map(|(role, text)| (role == "user").then_some(text))
        .collect();
    assert_eq!(users, ["First.", "hi\n\nhi there", "And?", "Again?"]);
    person.gently(&["audit", "verify"]).exits(0);
    let replayed = person.gently(&["audit", "replay", "--all", "--json"]);
    assert_eq!(replayed.exits(0).json()["failures"], json!([]));
}

#[test]
fn a_conversation_ends_where_somebody_says_so() {
    let server = ModelServer::start(Behaviour::Good);
    let person = person_of_two_models(&server);
    let turns = |args: &[&str]| {
        let told = asked(&person, args);
        (
            told["context"]["turns_shown"].as_u64().unwrap(),
            told["context"]["turns_earlier"].as_u64().unwrap(),
        )
    };
    let other = |words: &[&'static str]| [&OTHER[..], words].concat();
    assert_eq!(turns(&["One."]), (0, 0));
    assert_eq!(turns(&other(&["Two."])), (1, 1));
    // Another conversation is gone on with by the other model, too.
    assert_eq!(turns(&["--new", "Three."]), (0, 0));
    assert_eq!(turns(&other(&["Four."])), (1, 1));
    assert_eq!(turns(&other(&["--new", "Five."])), (0, 0));
    // As it was: a session that was opened beforehand begins another one.
    person.gently(&["session", "open"]).exits(0);
    assert_eq!(turns(&["Six."]), (0, 0));
    assert_eq!(turns(&other(&["Seven."])), (1, 1));
    // What has a name is entered and left by its name.
    person.gently(&["thread", "new", "garden"]).exits(0);
    assert_eq!(turns(&["--thread", "garden", "Eight."]), (0, 0));
    assert_eq!(turns(&["Nine."]), (2, 2));
    assert_eq!(turns(&other(&["--thread", "garden", "Ten."])), (1, 1));
    // The built-in voice stands beside: what it tells of this machine goes to no server.
    assert_eq!(turns(&["-m", "observer", "--sight", "How is it?"]), (0, 0));
    assert_eq!(turns(&other(&["Eleven."])), (3, 3));
    assert!(
        !contents(&sent(&server))
            .iter()
            .any(|(_, text)| text.contains("observer"))
    );
    let preview = |args: &[&str]| {
        let args = [&["context", "preview", "--json"], args, &["Twelve?"]].concat();
        let told = person.gently(&args).exits(0).json();
        let injected = told["injected"].as_array().unwrap();
        injected
            .iter()
            .filter(|one| one["artifact_type"] == "turn")
            .count()
    };
    assert_eq!((preview(&[]), preview(&["--new"])), (8, 0));
    assert_eq!(preview(&["-m", "ollama/other:2b"]), 8);
    person.gently(&["session", "close"]).exits(0);
    assert_eq!(turns(&["Thirteen."]), (0, 0));
    let refused = person.gently(&["ask", "--new", "--thread", "garden", "No."]);
    assert_eq!(refused.code, 2, "{refused:#?}");
    person.gently(&["audit", "verify"]).exits(0);
    person.gently(&["audit", "replay", "--all"]).exits(0);
}

/// Two terminals, two models: both questions are of one conversation, and the next one has both.
#[test]
fn two_models_asked_at_once_are_of_one_conversation() {
    let server = ModelServer::script(vec![Behaviour::Good, Behaviour::Gate]);
    let person = person_of_two_models(&server);
    asked(&person, &["One."]);
    std::thread::scope(|scope| {
        let person = &person;
        let ask = |args: &'static [&'static str]| scope.spawn(move || person.gently(args).exits(0));
        let first = ask(&["ask", "Two."]);
        server.wait_for(2);
        let second = ask(&["ask", "-m", "ollama/small-1b", "Three."]);
        server.wait_for(3);
        server.release();
        for one in [first, second] {
            one.join().unwrap();
        }
    });
    asked(&person, &["Four."]);
    let users: Vec<String> = contents(&sent(&server))
        .into_iter()
        .filter_map(|(role, text)| (role == "user").then_some(text))
        .collect();
    // What was asked before an answer came stands in one message: no two of one role in a row.
    assert_eq!(users, ["One.", "Two.\n\nThree.", "Four."]);
    person.gently(&["audit", "verify"]).exits(0);
    person.gently(&["audit", "replay", "--all"]).exits(0);
}

/// A session is shared, and what of its conversation is in another one is named.
#[test]
fn sharing_a_session_says_what_of_the_conversation_is_not_in_it() {
    let server = ModelServer::start(Behaviour::Good);
    let person = person_of_two_models(&server);
    let first = asked(&person, &["One."]);
    let second = asked(&person, &[&OTHER[..], &["Two."]].concat());
    let id = |told: &Value| told["session"].as_str().unwrap()[..8].to_owned();
    let shared = person
        .gently(&["share", &id(&first), "--yes", "--json"])
        .exits(0);
    let line = format!(
        "1 turn of this conversation with ollama/small-1b, in another session: gently share {}",
        id(&second)
    );
    assert!(
        shared.err.contains(&format!("not in it: {line}")),
        "{shared:#?}"
    );
    assert_eq!(shared.json()["turns_elsewhere"][0], line.as_str());
    // Of the conversation itself, each session's part is shared by itself.
    let whole = second["conversation"]["id"].as_str().unwrap();
    let shared = person
        .gently(&["share", whole, "--yes", "--json", "--out", "whole.json"])
        .exits(0);
    let command = format!("gently share {whole} --session {}", id(&first));
    assert!(shared.err.starts_with("not in it: 1 turn"), "{shared:#?}");
    let elsewhere = shared.json()["turns_elsewhere"][0].clone();
    assert!(
        elsewhere.as_str().unwrap().ends_with(&command),
        "{elsewhere}"
    );
    let args = [
        "share",
        whole,
        "--session",
        &id(&first),
        "--yes",
        "--out",
        "first.json",
    ];
    let part = person.gently(&args).exits(0);
    assert!(part.err.contains("question 1: One."), "{part:#?}");
    let none = ["share", "last", "--session", "ffffffff", "--yes"];
    person.gently(&none).exits(2);
    // One exchange is one exchange.
    let one = person
        .gently(&["share", "last", "--yes", "--json"])
        .exits(0)
        .json();
    assert_eq!(one["turns_elsewhere"].as_array().unwrap().len(), 0, "{one}");
}

/// A model that takes 2,000 tokens in all gets what fits; one that takes none of the question is
/// not asked.
#[test]
fn earlier_turns_fit_into_the_window_of_the_model_that_is_asked() {
    let server = ModelServer::start(Behaviour::Good);
    let person = person_of_two_models(&server);
    let window = |model: &str, tokens: &str| {
        let key = format!("model.window.{model}");
        person.gently(&["config", "set", &key, tokens])
    };
    asked(&person, &["--no-ref", "Begin."]);
    let set = window("ollama/small-1b", "2000").exits(0);
    assert_eq!(set.out, "model.window.ollama/small-1b = 2000\n");
    let get = person.gently(&["config", "get", "model.window.ollama/small-1b"]);
    assert_eq!(get.exits(0).out, "2000\n");
    window("openai/m", "small").exits(2);
    // Some 400 tokens each.
    let long = |n: u32| format!("{n}: {}", "so it goes on and on. ".repeat(75));
    for n in 1..=6 {
        asked(&person, &[&long(n)]);
    }
    let preview = ["context", "preview", "--json", OTHER[0], OTHER[1], "And?"];
    let preview = person.gently(&preview).exits(0).json();
    let told = person.gently(&["ask", OTHER[0], OTHER[1], "And?"]).exits(0);
    // A quarter of the window is kept for the answer. Three of the long ones have room, and what
    // is short enough behind them.
    let said = "showing 4 of 7 earlier turns";
    assert!(told.err.contains(said), "{told:#?}");
    let messages = sent(&server);
    assert_eq!(messages[1]["content"], "Begin.");
    assert_eq!(messages[3]["content"], long(4));
    let bytes: usize = contents(&messages).iter().map(|(_, text)| text.len()).sum();
    assert!(bytes / 4 < 1500, "{bytes}");
    let injected = preview["injected"].as_array().unwrap();
    let turns = injected.iter().filter(|one| one["artifact_type"] == "turn");
    assert_eq!(turns.count(), 8);
    // With a length for the answer there is room for more; the first model has no window.
    let args = ["ask", OTHER[0], OTHER[1], "--max-tokens", "50", "And?"];
    let told = person.gently(&args).exits(0);
    assert!(
        told.err.contains("showing 6 of 8 earlier turns"),
        "{told:#?}"
    );
    let all = asked(&person, &["And?"]);
    assert_eq!(all["context"]["turns_shown"], 9);
    // What was left out is on record, and is computed again.
    person.gently(&["audit", "verify"]).exits(0);
    person.gently(&["audit", "replay", "--all"]).exits(0);

    let before = server.requests().len();
    let longer = "so it goes on and on. ".repeat(400);
    let refused = person
        .gently(&["ask", OTHER[0], OTHER[1], &longer])
        .exits(2);
    for words in [
        "no model was called: the question has about 2200 tokens",
        "ollama/small-1b takes 2000 in all",
        "ask about less",
    ] {
        assert!(refused.err.contains(words), "{refused:#?}");
    }
    assert_eq!(server.requests().len(), before);
    asked(&person, &[&longer]);
    person.gently(&["audit", "verify"]).exits(0);
    person.gently(&["audit", "replay", "--all"]).exits(0);
}

/// A server that tells of its model's window is asked for it, and gets what fits.
#[test]
fn the_window_that_a_server_tells_is_used_as_one_that_is_set() {
    for (model, look, show, entry) in [
        (
            "ollama/small-1b",
            "POST /api/show",
            json!({"model_info": {"llama.context_length": 2000}}),
            json!({}),
        ),
        (
            "openai/small-1b",
            "GET /v1/models",
            Value::Null,
            json!({"meta": {"n_ctx": 2000, "n_ctx_train": 8192}}),
        ),
        (
            "openai/other:2b",
            "GET /v1/models",
            Value::Null,
            json!({"max_model_len": 2000}),
        ),
    ] {
        let server = ModelServer::telling(vec![Behaviour::Good], show, entry);
        let mut person = person_of_two_models(&server);
        person.set("GENTLY_MODEL_DEFAULT", model);
        // Some 400 tokens each.
        let long = |n: u32| format!("{n}: {}", "so it goes on and on. ".repeat(75));
        for n in 1..=5 {
            asked(&person, &[&long(n)]);
        }
        let preview = person.gently(&["context", "preview", "--json", "And?"]);
        let preview = preview.exits(0).json();
        let told = person.gently(&["ask", "-v", "And?"]).exits(0);
        for words in ["showing 3 of 5 earlier turns", "window of 2000 tokens"] {
            assert!(told.err.contains(words), "{model}: {told:#?}");
        }
        assert_eq!(sent(&server)[1]["content"], long(3), "{model}");
        let injected = preview["injected"].as_array().unwrap();
        let turns = injected.iter().filter(|one| one["artifact_type"] == "turn");
        assert_eq!(turns.count(), 6, "{model}");
        // Each process asks once, and nothing of what is said goes along.
        let looks = server.looks();
        assert_eq!(looks.len(), 7, "{model}");
        for one in &looks {
            let body = String::from_utf8(one.body.clone()).unwrap();
            let expected = match look {
                "POST /api/show" => r#"{"model":"small-1b"}"#,
                _ => "",
            };
            assert_eq!((one.line.as_str(), body.as_str()), (look, expected));
        }
        let before = server.requests().len();
        let longer = "so it goes on and on. ".repeat(400);
        let refused = person.gently(&["ask", &longer]).exits(2);
        let words = format!("{model} takes 2000 in all");
        assert!(refused.err.contains(&words), "{refused:#?}");
        assert_eq!(server.requests().len(), before);
        // What somebody says wins, and nobody is asked.
        let key = format!("model.window.{model}");
        person.gently(&["config", "set", &key, "9000"]).exits(0);
        let looks = server.looks().len();
        let all = asked(&person, &["And?"]);
        assert_eq!(all["model_window"], 9000);
        assert_eq!(all["context"]["turns_shown"], 6);
        assert_eq!(server.looks().len(), looks);
        person.gently(&["audit", "verify"]).exits(0);
        person.gently(&["audit", "replay", "--all"]).exits(0);
    }
}

/// An Ollama takes what it is told to take, and it is told as much as prompt and answer need.
#[test]
fn an_ollama_is_told_to_take_what_is_sent() {
    let show = json!({"model_info": {"llama.context_length": 6000}, "parameters": "stop \"x\""});
    let server = ModelServer::telling(vec![Behaviour::Good], show, json!({}));
    let mut person = person_of_two_models(&server);
    person.set("GENTLY_MODEL_DEFAULT", OTHER[1]);
    // Some 400 tokens each.
    let long = |n: u32| format!("{n}: {}", "so it goes on and on. ".repeat(75));
    let asked_for = |n: u32| {
        let told = asked(&person, &[&long(n)]);
        assert_eq!(told["model_window"], 6000);
        let body = server.requests().pop().unwrap().json();
        assert_eq!(
            (&body["truncate"], &body["shift"]),
            (&json!(false), &json!(false))
        );
        let shown = person.gently(&["show", "last", "--json"]).exits(0).json();
        let num_ctx = body["options"]["num_ctx"].clone();
        // What was sent is on record.
        assert_eq!(shown["request"]["settings"]["num_ctx"], num_ctx);
        assert_eq!(shown["params"]["num_ctx"], num_ctx);
        num_ctx
    };
    let told: Vec<Value> = (1..=7).map(asked_for).collect();
    let powers = [
        Value::Null,
        json!(4096),
        json!(4096),
        json!(4096),
        json!(6000),
        json!(6000),
        json!(6000),
    ];
    assert_eq!(told, powers);
    person.gently(&["audit", "verify"]).exits(0);
    person.gently(&["audit", "replay", "--all"]).exits(0);
    // One that takes enough by itself is told nothing, and so is one of which nobody knows more.
    let show = json!({"model_info": {"llama.context_length": 6000}, "parameters": "num_ctx 6000"});
    for (server, window) in [
        (
            ModelServer::telling(vec![Behaviour::Good], show, json!({})),
            "window of 6000 tokens",
        ),
        (
            ModelServer::start(Behaviour::Good),
            "its window is not known",
        ),
    ] {
        let person = person_of_two_models(&server);
        let longer = long(1).repeat(3);
        let told = person.gently(&["ask", "-v", OTHER[0], OTHER[1], &longer]);
        assert!(told.err.contains(window), "{window}: {told:#?}");
        let body = server.requests().pop().unwrap().json();
        assert_eq!(body["options"], Value::Null, "{window}");
        assert_eq!(server.looks().len(), 1, "{window}");
    }
}

/// What is told of the answer's shape stands behind the question, so that the messages before it are
/// those of the question before.
#[test]
fn a_declared_shape_leaves_the_first_message_as_it_is() {
    let says = |text: &str| Behaviour::Says(text.to_owned());
    let server = ModelServer::script(vec![says("one"), says("{}"), says("[]"), says("three")]);
    let person = person(&server);
    let schema = person.dir.path().join("shape.json");
    std::fs::write(&schema, r#"{"type": "array"}"#).unwrap();
    let told = "Answer with one JSON value and nothing else.";
    asked(&person, &["One."]);
    asked(&person, &["--expect", "json", "Two."]);
    asked(&person, &["--expect", schema.to_str().unwrap(), "Three."]);
    asked(&person, &["Four."]);
    let requests = server.requests();
    let message = |request: usize, at: usize| requests[request].json()["messages"][at].clone();
    assert!((1..4).all(|request| message(request, 0) == message(0, 0)));
    assert_eq!(message(1, 3)["content"], format!("Two.\n\n{told}"));
    let schema = format!(
        "Three.\n\n{told} It must hold against this JSON Schema: {}",
        r#"{"type":"array"}"#
    );
    assert_eq!(message(2, 5)["content"], schema);
    // It is of its question alone.
    assert_eq!(message(3, 3)["content"], "Two.");
    assert_eq!(message(3, 5)["content"], "Three.");
    let shown = person.gently(&["show", "last/3", "--json"]).exits(0).json();
    assert_eq!(shown["params"]["system"], Value::Null);
    let last = &shown["request"]["messages"][5]["parts"];
    assert_eq!(*last, json!(["question", "shape"]));
    person.gently(&["audit", "verify"]).exits(0);
    person.gently(&["audit", "replay", "--all"]).exits(0);
    // A shape that nobody was told is found.
    let database = unguarded(person.at("gently.db"));
    let shape = r#"UPDATE llm_exchange SET params = '{"expect":"json",' || substr(params, 2) WHERE seq = 1"#;
    assert_eq!(database.execute(shape, []).unwrap(), 1);
    drop(database);
    let found = person.gently(&["audit", "verify", "-v"]).exits(1);
    let words = "a shape that the model was not told";
    assert!(found.out.contains(words), "{found:#?}");
}

/// In exchanges from before, the owner's text begins with the shape: they come out as they were.
#[test]
fn a_shape_that_the_owners_text_tells_is_not_told_again() {
    let server = ModelServer::start(Behaviour::Says("{}".to_owned()));
    let person = person(&server);
    let system = "Answer with one JSON value and nothing else.\n\nBe brief.";
    asked(&person, &["--expect", "json", "--system", system, "Who?"]);
    let messages = sent(&server);
    assert_eq!(messages[1]["content"], "Who?");
    let first = messages[0]["content"].as_str().unwrap();
    assert!(first.ends_with(system), "{first}");
    person.gently(&["audit", "verify"]).exits(0);
    person.gently(&["audit", "replay", "--all"]).exits(0);
}

/// At a terminal the wait is told in seconds and characters; the answer is shown when all of it is on
/// record, and its reply is the one that is recorded without a terminal.
#[test]
fn a_wait_at_a_terminal_tells_how_much_has_come_and_nothing_of_what_it_says() {
    for model in ["ollama/small-1b", "openai/small-1b"] {
        waits_at_a_terminal(model);
    }
}

fn waits_at_a_terminal(model: &str) {
    let texts = ["Paris is ", "the capital ", "of France."].map(str::to_owned);
    let server = ModelServer::script(vec![
        Behaviour::Pieces(texts.to_vec(), Duration::from_millis(500)),
        Behaviour::Pieces(texts.to_vec(), Duration::from_millis(500)),
        Behaviour::BrokenPieces(texts.to_vec()),
    ]);
    let mut person = person_of_two_models(&server);
    person.set("TERM", "xterm-256color");
    person.gently(&["init"]).exits(0);
    let gently = env!("CARGO_BIN_EXE_gently");
    let ask = format!("{gently} ask --no-ref -m {model} 'What is it?'");
    let shown = at_terminal(&person, &ask, "", "", None).exits(0);
    assert_eq!(server.requests()[0].json()["stream"], true);
    let thinking = format!("{model} is thinking: 0 s");
    for words in [
        thinking.as_str(),
        " s, 9 characters; Ctrl-C gives up",
        " s, 21 characters; Ctrl-C gives up",
    ] {
        assert!(shown.out.contains(words), "{words}: {shown:#?}");
    }
    let whole = texts.concat();
    let (waited, answered) = shown.out.split_once(&whole).unwrap();
    assert!(
        !waited.contains("Paris") && !answered.contains("Paris"),
        "{shown:#?}"
    );
    asked(&person, &["--no-ref", "-m", model, "What is it?"]);
    assert_eq!(server.requests()[1].json()["stream"], false);
    let reply = |number: u32| {
        let id = format!("last/{number}");
        let shown = person.gently(&["show", &id, "--json"]).exits(0).json();
        assert_eq!(shown["answer"], whole.as_str());
        let streams = shown["request"]["settings"]["stream"].clone();
        assert_eq!(
            streams,
            if number == 1 {
                json!(true)
            } else {
                Value::Null
            }
        );
        assert_eq!(shown["usage"]["prompt_tokens"], 11);
        assert_eq!(shown["usage"]["completion_tokens"], 7);
        shown["reply"].clone()
    };
    assert!(reply(1)["other"].is_object());
    assert_eq!(reply(1), reply(2));

    let broken = at_terminal(&person, &ask, "", "", None).exits(2);
    assert!(broken.out.contains("was cut off"), "{broken:#?}");
    assert!(!broken.out.contains("Paris"), "{broken:#?}");
    let failed = person.gently(&["show", "last", "--json"]).exits(0).json();
    assert_eq!(
        (&failed["reason"], &failed["answer"]),
        (&json!("cut"), &Value::Null)
    );
    person.gently(&["audit", "verify"]).exits(0);
    person.gently(&["audit", "replay", "--all"]).exits(0);
}

/// SmolLM2 has a name before it after twelve turns, also when it is asked in another dialect, which
/// is another model and another session.
#[test]
fn a_real_model_remembers_a_name_after_twelve_turns() {
    let Some(llama) = llama::llama() else {
        return;
    };
    let mut person = Person::new().under_the_kernel();
    person.set("GENTLY_MODEL_BASE_URL", &llama.base_url);
    person.set("GENTLY_MODEL_ANTHROPIC_URL", &llama.root_url);
    person.set("GENTLY_MODEL_DEFAULT", &format!("openai/{}", llama.model));
    person.set("GENTLY_MODEL_TIMEOUT_S", "600");
    person.set("GENTLY_MODEL_TEMPERATURE", "0");
    person.set("GENTLY_MODEL_MAX_TOKENS", "6");
    asked(&person, &["My name is Ana."]);
    for what in [
        "colour", "animal", "fruit", "country", "river", "city", "month", "metal", "planet",
        "tree", "bird",
    ] {
        asked(&person, &[&format!("Name a {what}.")]);
    }
    let question = "What is my name?";
    let other = format!("anthropic/{}", llama.model);
    for args in [&[question][..], &["-m", &other, question]] {
        let told = asked(&person, args);
        let answer = told["answer"].as_str().unwrap();
        assert!(answer.contains("Ana"), "{args:?}: {answer}");
        assert_eq!(
            told["context"]["turns_shown"],
            told["context"]["turns_earlier"]
        );
    }
    let shown = person.gently(&["show", "last", "--json"]).exits(0).json();
    let messages = shown["request"]["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 1 + 2 * 13 + 1);
    person.gently(&["audit", "verify"]).exits(0);
    person.gently(&["audit", "replay", "--all"]).exits(0);
}
