//! What somebody meets who never used gently before: answers on a terminal, names of models as other
//! tools take them, what is told where something does not work.

use textwrap::core::display_width;

use crate::model_server::{Behaviour, ModelServer};
use crate::person::{Person, Ran};
use crate::pty::{Typist, on_terminal};

/// Who asks a server of ours, which was set as `model.base_url`.
fn asking(server: &ModelServer) -> Person {
    Person::with(&[
        ("GENTLY_ANCHOR_MODE", "off"),
        ("GENTLY_MODEL_DEFAULT", "openai/small-1b"),
        ("GENTLY_MODEL_BASE_URL", &server.base_url()),
        ("OLLAMA_HOST", crate::model_choice::NOBODY),
        ("TERM", "xterm"),
        ("PAGER", "cat"),
    ])
}

#[track_caller]
fn says(ran: &Ran, text: &str) {
    assert!(ran.err.contains(text), "{text}: {ran:#?}");
}

#[test]
fn an_answer_is_broken_between_words_on_a_terminal_alone() {
    let words = "A word after another one, and so on. ".repeat(9);
    let code = format!("let list = [{}];", "a_value, ".repeat(12));
    let text = format!("{words}\n\n```rust\n{code}\n```\n\n- {words}");
    let server = ModelServer::start(Behaviour::Says(text.clone()));
    let person = asking(&server);
    assert_eq!(person.ask("Piped?").out, format!("{text}\n"));
    let shown = on_terminal(&person, (24, 80), &["ask", "On a terminal?"]).exits(0);
    let lines: Vec<&str> = shown
        .out
        .lines()
        .map(|line| line.trim_end_matches('\r'))
        .collect();
    let wide: Vec<&&str> = lines
        .iter()
        .filter(|line| display_width(line) > 80)
        .collect();
    assert_eq!(wide, [&code.as_str()], "{}", shown.out);
    let is_whole = |line: &&str| line.ends_with([',', '.']) || line.ends_with(char::is_alphabetic);
    assert!(lines[..4].iter().all(is_whole), "{}", shown.out);
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("  ") && line.len() > 60)
    );
    let letters = |text: &str| text.split_whitespace().collect::<String>();
    assert!(
        letters(&shown.out).starts_with(&letters(&text)),
        "{}",
        shown.out
    );
}

/// What moves, hides or reorders, and a word as no screen has room for.
fn hostile() -> String {
    format!(
        "ok \u{1b}[2J\u{1b}[1;1H\u{1b}]0;title\u{7}gone\r\u{202e}txt.exe\u{202c} \u{200f}z\u{200b}w\ta\tb c\td e\tf\u{8}\u{8} {}\n\
         \u{9b}31m red \u{2028}next {}",
        "x".repeat(10_000),
        "用中文说了很多很多很多很多很多。".repeat(3)
    )
}

/// Whether a screen of so many columns has nothing that moves, and no line that is wider by more than
/// one word.
#[track_caller]
fn stays_in_place(screen: &str, columns: usize) {
    for line in screen.split('\n') {
        let line = line.trim_end_matches('\r');
        let moves = |c: char| {
            c.is_control() && c != '\t'
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{80}'..='\u{9f}')
        };
        assert!(!line.contains(moves), "{line:?}");
        let is_word = !line.trim().contains(' ');
        let mut parts = line.split('\t');
        let first = display_width(parts.next().unwrap());
        let tab = |at: usize| at + 8 - at % 8;
        let width = parts.fold(first, |at, part| tab(at) + display_width(part));
        assert!(width <= columns || is_word, "{line:?}");
    }
}

#[test]
fn a_hostile_answer_moves_nothing_on_a_narrow_terminal() {
    let server = ModelServer::start(Behaviour::Says(hostile()));
    let mut person = asking(&server);
    person.set("NO_COLOR", "1");
    person.gently(&["init"]).exits(0);
    for args in [
        &["ask", "Who are you?"][..],
        &["show", "last"],
        &["conversation", "show", "last"],
        &["search", "who"],
    ] {
        let shown = on_terminal(&person, (24, 20), args).exits(0);
        // The spinner, which draws its line anew, is gone before the answer.
        let (_, screen) = shown
            .out
            .rsplit_once("\u{1b}[2K")
            .unwrap_or(("", &shown.out));
        stays_in_place(screen, 20);
        assert!(
            args[0] == "search" || screen.contains("\\u001b[2J"),
            "{args:?}: {screen}"
        );
    }
    let mut typist = Typist::begin(&person, (24, 20), &["chat", "-c"]);
    typist.sees("> ");
    typist.types("And who am I?\r");
    typist.sees("\nok");
    let answer = typist.sees("✔");
    stays_in_place(&answer, 20);
    assert!(answer.contains("\\u001b[2J") && answer.contains(&"x".repeat(10_000)));
    typist.types("/quit\r");
    assert_eq!(typist.ends().code, 0);
}

#[test]
fn a_model_is_known_by_its_bare_name_where_one_server_lists_it() {
    let server = ModelServer::start(Behaviour::Good);
    let second = ModelServer::start(Behaviour::Good);
    let mut person = asking(&server);
    let taken = format!(
        "small-1b is openai/small-1b, of the server at {}",
        server.base_url()
    );
    let asked = person
        .gently(&["ask", "--json", "-m", "small-1b", "Who?"])
        .exits(0);
    says(&asked, &taken);
    assert_eq!(asked.json()["model"], "openai/small-1b");
    let notes = asked.json()["notes"].as_array().unwrap().clone();
    assert!(notes.contains(&taken.as_str().into()), "{notes:?}");
    // It is said once in a conversation.
    let again = person
        .gently(&["ask", "-m", "small-1b", "And now?"])
        .exits(0);
    assert!(!again.err.contains(&taken), "{again:#?}");
    // What is set is the whole name.
    let set = person
        .gently(&["config", "set", "model.default", "small-1b"])
        .exits(0);
    assert_eq!(
        set.out,
        "model.default = \"openai/small-1b\"  # not in force: GENTLY_MODEL_DEFAULT is set and wins\n"
    );
    says(&set, &taken);
    let mut typist = Typist::begin(&person, (24, 80), &["chat", "-c"]);
    typist.sees("> ");
    typist.types("/model other:2b\r");
    typist.sees("other:2b is openai/other:2b, of the server at ");
    typist.sees("openai/other:2b is asked from here on");
    typist.types("/model othr:2b\r");
    typist.sees("did you mean 'openai/other:2b'");
    typist.types("/quit\r");
    assert_eq!(typist.ends().code, 0);
    // Two servers that list it: which one is to be said, and nothing is asked or set.
    person.set("OLLAMA_HOST", &second.root_url());
    for args in [
        &["ask", "-m", "small-1b", "Who?"][..],
        &["config", "set", "model.default", "small-1b"],
    ] {
        let several = person.gently(args).exits(2);
        says(
            &several,
            "listed by several servers: say 'ollama/small-1b' or 'openai/small-1b'",
        );
    }
    // One server that speaks both dialects is one.
    person.set("OLLAMA_HOST", &server.root_url());
    let one = person
        .gently(&["ask", "--new", "-m", "small-1b", "Who?"])
        .exits(0);
    says(&one, &taken);
    for (name, meant) in [
        ("smal-1b", "did you mean "),
        (
            "Nothing-Like-It",
            "or an alias; found string \"Nothing-Like-It\"",
        ),
    ] {
        let none = person
            .gently(&["config", "set", "model.default", name])
            .exits(2);
        says(&none, meant);
    }
    assert_eq!(
        second
            .requests()
            .iter()
            .filter(|request| request.line.starts_with("POST"))
            .count(),
        0
    );
}

#[test]
fn a_model_that_its_server_does_not_know_is_told_with_those_that_it_lists() {
    let server = ModelServer::start(Behaviour::no_such_model());
    let person = asking(&server);
    for (model, instead) in [
        (
            "openai/smal-1b",
            "It lists no such model: did you mean 'openai/small-1b'?",
        ),
        (
            "openai/parrot",
            "It lists no such model, but 'openai/other:2b' or 'openai/small-1b'",
        ),
    ] {
        let before = (server.requests().len(), server.looks().len());
        let asked = person.gently(&["ask", "-m", model, "Who?"]).exits(2);
        says(&asked, instead);
        says(
            &asked,
            " · no answer: the server answered 404 (not found) · on record",
        );
        assert!(!asked.err.contains("Check the model's name"), "{asked:#?}");
        // The list was looked at once for the model's window, and once for its name.
        let asked_for = server.requests().split_off(before.0);
        let posts = asked_for
            .iter()
            .filter(|one| one.line == "POST /v1/chat/completions");
        assert_eq!((posts.count(), server.looks().len() - before.1), (1, 2));
        let json = person
            .gently(&["ask", "--json", "-m", model, "Who?"])
            .exits(2)
            .json();
        assert_eq!(json["reason"], "http_404");
        assert!(
            json["message"].as_str().unwrap().ends_with(instead),
            "{json}"
        );
    }
    // One that it lists is refused for another reason, and a server without a list says nothing.
    let known = person
        .gently(&["ask", "-m", "openai/small-1b", "Who?"])
        .exits(2);
    assert!(!known.err.contains("It lists"), "{known:#?}");
    let silent = ModelServer::silent(Behaviour::no_such_model());
    let asked = asking(&silent)
        .gently(&["ask", "-m", "openai/smal-1b", "Who?"])
        .exits(2);
    assert!(!asked.err.contains("It lists"), "{asked:#?}");
}

/// Its name would fail again with every question.
#[test]
fn a_model_that_never_answered_is_not_asked_again() {
    let failing = ModelServer::start(Behaviour::no_such_model());
    let answering = ModelServer::start(Behaviour::Good);
    let mut person = asking(&failing);
    person.set("GENTLY_MODEL_OLLAMA_URL", &answering.root_url());
    person.set("GENTLY_MODEL_DEFAULT", "ollama/small-1b");
    let models = |person: &Person| {
        let listed = person.gently(&["conversation", "list", "--json"]).exits(0);
        listed.json()["conversations"][0]["models"].clone()
    };
    for model in ["openai/tinny-1", "openai/smal-1b"] {
        person.gently(&["ask", "-m", model, "Who?"]).exits(2);
    }
    assert_eq!(
        models(&person),
        serde_json::json!(["openai/smal-1b", "openai/tinny-1"])
    );
    let asked = person
        .gently(&["ask", "--json", "-c", "Who?"])
        .exits(0)
        .json();
    assert_eq!(asked["model"], "ollama/small-1b", "{asked}");
    assert_eq!(models(&person), serde_json::json!(["ollama/small-1b"]));
}

#[test]
fn a_server_that_lets_nobody_in_is_told_with_the_key_that_was_sent() {
    let server = ModelServer::start(Behaviour::unauthorized());
    let mut person = asking(&server);
    let ask = ["ask", "-m", "openai/small-1b", "Who?"];
    says(
        &person.gently(&ask).exits(2),
        "No key was sent: export OPENAI_API_KEY=…",
    );
    person.set("OPENAI_API_KEY", "test-openai");
    says(
        &person.gently(&ask).exits(2),
        "The key in $OPENAI_API_KEY was refused",
    );
    let by_command = [&["--key-cmd", "echo test-other"], &ask[..]].concat();
    says(
        &person.gently(&by_command).exits(2),
        "The key of --key-cmd was refused",
    );
}

#[test]
fn a_conversation_behind_continue_is_no_part_of_the_question() {
    let server = ModelServer::start(Behaviour::Good);
    let person = asking(&server);
    person.ask("Where is Lisbon?");
    person
        .gently(&["conversation", "rename", "last", "Lisbon"])
        .exits(0);
    let listed = person
        .gently(&["conversation", "list", "--json"])
        .exits(0)
        .json();
    let id = listed["conversations"][0]["id"].as_str().unwrap()[..8].to_owned();
    for word in ["Lisbon", &id] {
        let refused = person
            .gently(&["ask", "-c", word, "And its river?"])
            .exits(2);
        says(&refused, &format!("To go on in \"{word}\": "));
        says(&refused, &format!(" ask --conversation {word} \"…\""));
        assert_eq!(refused.out, "");
    }
    // All else is a question as before: another word, one word alone, a word somewhere else.
    for args in [
        &["ask", "-c", "Porto", "And its river?"][..],
        &["ask", "-c", "Lisbon"],
        &["ask", "Lisbon", "-c", "and its river?"],
        &["ask", "-c", "add", "it up"],
    ] {
        person.gently(args).exits(0);
    }
    assert_eq!(
        server
            .requests()
            .iter()
            .filter(|one| one.line.starts_with("POST /v1/chat"))
            .count(),
        5
    );
}

#[test]
fn what_is_found_and_no_warning_is_said_to_whoever_asks_for_more() {
    let server = ModelServer::start(Behaviour::Says(
        "What a brilliant question! Paris.".to_owned(),
    ));
    let person = asking(&server);
    let noted = "noted without a warning, as your kernel says: The answer flatters you. (tone)";
    let plain = person.ask("What is the capital of France?");
    assert!(!plain.err.contains("flatters"), "{plain:#?}");
    let asked = person.gently(&["ask", "-v", "And of Spain?"]).exits(0);
    says(&asked, noted);
    assert!(!asked.err.contains('⚠'), "{asked:#?}");
    let json = person
        .gently(&["ask", "--json", "And of Italy?"])
        .exits(0)
        .json();
    let event = &json["drift"]["events"][0];
    assert_eq!(event["effect"], "record");
    assert_eq!(event["sentence"], "The answer flatters you.");
    let listed = person.gently(&["drift", "list"]).exits(0);
    assert_eq!(
        listed.out.matches("The answer flatters you.").count(),
        3,
        "{listed:#?}"
    );
}
