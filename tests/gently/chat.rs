//! `gently chat`: questions through a pipe, and a person at a terminal.

use std::io::{BufRead as _, BufReader, Write as _};
use std::time::Duration;

use serde_json::{Value, json};

use crate::model_server::{ANSWER, Behaviour, ModelServer};
use crate::person::Person;
use crate::pty::Typist;

/// A usual terminal.
const SIZE: (u16, u16) = (24, 80);
/// What stands before a line.
const PROMPT: &str = "> ";
const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";
const CTRL_P: &str = "\u{10}";
const UP: &str = "\u{1b}[A";

fn person(server: &ModelServer) -> Person {
    let base = server.base_url();
    let mut person = Person::with(&[
        ("GENTLY_ANCHOR_MODE", "off"),
        ("GENTLY_MODEL_DEFAULT", "openai/small-1b"),
        ("GENTLY_MODEL_BASE_URL", base.as_str()),
        ("OPENAI_API_KEY", "test"),
        ("PAGER", "cat"),
    ])
    .under_the_kernel();
    person.set("TERM", "xterm");
    person.gently(&["init"]).exits(0);
    person
}

fn says(texts: &[&str]) -> ModelServer {
    let texts = texts.iter().map(|text| Behaviour::Says((*text).to_owned()));
    ModelServer::script(texts.collect())
}

/// The words that a model was sent last: those of the user and its own, in order.
fn sent(server: &ModelServer) -> Vec<String> {
    let newest = server.requests().pop().unwrap().json();
    let messages = newest["messages"].as_array().unwrap().clone();
    let said = messages.iter().filter(|one| one["role"] != "system");
    said.map(|one| one["content"].as_str().unwrap().to_owned())
        .collect()
}

/// Every question on record by its thread, in the order in which they were asked, with the question
/// that each replies to.
fn on_record(person: &Person) -> Vec<(String, String, Option<String>)> {
    let database = person.database();
    let mut query = database
        .prepare(
            "SELECT t.thread_id, u.content, p.content FROM thread_turn t
               JOIN llm_exchange e ON e.exchange_id = t.turn_id
               JOIN chat_turn u ON u.turn_id = e.turn_user_id
               LEFT JOIN llm_exchange o ON o.exchange_id = t.parent_turn_id
               LEFT JOIN chat_turn p ON p.turn_id = o.turn_user_id
              ORDER BY t.line",
        )
        .unwrap();
    let rows = query
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

fn begin(person: &Person, args: &[&str]) -> Typist {
    let args = [&["chat"], args].concat();
    let mut typist = Typist::begin(person, SIZE, &args);
    typist.sees("/help lists the commands");
    typist.sees(PROMPT);
    typist
}

/// Sends a line, and waits for the prompt behind what is shown then; gives that.
#[track_caller]
fn sends(typist: &mut Typist, line: &str, shown: &str) -> String {
    typist.types(&format!("{line}\r"));
    let before = typist.sees(shown);
    let rest = typist.sees(PROMPT);
    format!("{before}{shown}{rest}")
}

fn is_gone(person: &Person) -> bool {
    let entries = std::fs::read_dir(person.home()).unwrap();
    !entries
        .flatten()
        .any(|entry| entry.file_name().to_string_lossy().starts_with("chat-edit"))
}

#[test]
fn lines_through_a_pipe_are_questions_of_one_conversation() {
    let server = says(&["One.", "Two.\nof two lines", "Three."]);
    let person = person(&server);
    let ran = person
        .piped(&["chat"], b"What is 1?\n\n/quit\r\n//What is 3?")
        .exits(0);
    assert_eq!(ran.out, "One.\nTwo.\nof two lines\nThree.\n");
    assert_eq!(
        sent(&server),
        [
            "What is 1?",
            "One.",
            "/quit",
            "Two.\nof two lines",
            "//What is 3?"
        ]
    );
    let rows = on_record(&person);
    assert!(rows.iter().all(|(thread, ..)| *thread == rows[0].0));
    let replies: Vec<Option<&str>> = rows.iter().map(|(_, _, to)| to.as_deref()).collect();
    assert_eq!(replies, [None, Some("What is 1?"), Some("/quit")]);
    // Another chat is another conversation, unless it goes on.
    let server = says(&["Four.", "Five."]);
    let mut person = person;
    person.set("GENTLY_MODEL_BASE_URL", &server.base_url());
    person.piped(&["chat"], b"What is 4?\n").exits(0);
    assert_eq!(sent(&server), ["What is 4?"]);
    person.piped(&["chat", "-c"], b"What is 5?\n").exits(0);
    assert_eq!(sent(&server), ["What is 4?", "Four.", "What is 5?"]);
    assert_eq!(person.verified()["exit"], Value::Null);
}

#[test]
fn the_exit_code_is_the_worst_and_each_answer_is_one_object() {
    let server = ModelServer::script(vec![
        Behaviour::Good,
        Behaviour::error(400, "no"),
        Behaviour::Good,
    ]);
    let person = person(&server);
    let input = b"What is 1?\nWhat is 2?\nWhat is \xff?\nWhat is 3?\n";
    let ran = person.piped(&["chat", "--json"], input).exits(2);
    let objects: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let answers: Vec<&Value> = objects.iter().map(|one| &one["answer"]).collect();
    assert_eq!(
        answers,
        [&json!(ANSWER), &Value::Null, &Value::Null, &json!(ANSWER)]
    );
    assert!(
        objects[2]["error"]
            .as_str()
            .unwrap()
            .contains("line 3, is not UTF-8"),
        "{:?}",
        objects[2]
    );
    assert_eq!(on_record(&person).len(), 3);
}

#[test]
fn a_chat_through_a_pipe_makes_a_home_and_asks_nothing_that_nobody_can_answer() {
    let person = Person::new().under_the_kernel();
    let ran = person
        .piped(&["chat"], b"What is the capital of France?\n")
        .exits(2);
    assert!(
        ran.err.contains("No language model is set up") || ran.err.contains("no language model")
    );
    assert!(!person.home().exists());
    let ran = person
        .piped(
            &["chat"],
            b"How full is the disk?\nAnd the memory of this machine?\n",
        )
        .exits(0);
    assert!(ran.err.contains("gently keeps your records"), "{}", ran.err);
    assert_eq!(on_record(&person).len(), 2);
}

#[test]
fn a_line_is_edited_and_ctrl_c_clears_it_and_ctrl_d_ends() {
    let server = says(&["One.", "Two.", "Three.", "Four.", "Five."]);
    let person = person(&server);
    let mut typist = begin(&person, &[]);
    // What is cleared is nowhere.
    typist.types("never sent");
    typist.sees("never sent");
    typist.types(CTRL_C);
    typist.sees(PROMPT);
    sends(&mut typist, "What is 1?", "One.");
    assert_eq!(sent(&server), ["What is 1?"]);
    // Alt-Enter and a backslash go on.
    typist.types("first\u{1b}\rsecond\\\rthird \\ of it\r");
    typist.sees("Two.");
    typist.sees(PROMPT);
    assert_eq!(
        sent(&server).pop().unwrap(),
        "first\nsecond\nthird \\ of it"
    );
    // What is pasted is one question, and stays as it is.
    typist.types("\u{1b}[200~one \\\r\ntwo\r\rthree\u{1b}[201~\r");
    typist.sees("Three.");
    typist.sees(PROMPT);
    assert_eq!(sent(&server).pop().unwrap(), "one \\\ntwo\n\nthree");
    // Two slashes are one.
    sends(&mut typist, "//etc/hosts, what is it?", "Four.");
    assert_eq!(sent(&server).pop().unwrap(), "/etc/hosts, what is it?");
    // What begins with one slash is brought with two.
    typist.types(UP);
    typist.sees("//etc/hosts, what is it?");
    typist.types(CTRL_C);
    typist.sees(PROMPT);
    // Up brings what was asked, as it is on record.
    // Ctrl-P goes by questions, where Up goes by lines.
    typist.types(&format!("{}\r", CTRL_P.repeat(4)));
    typist.sees("Five.");
    typist.sees(PROMPT);
    assert_eq!(sent(&server).pop().unwrap(), "What is 1?");
    // Ctrl-D on a line that is not empty ends nothing.
    typist.types("x");
    typist.sees("x");
    typist.types(CTRL_D);
    typist.types(CTRL_C);
    typist.sees(PROMPT);
    typist.types(CTRL_D);
    typist.ends().exits(0);
    let asked: Vec<String> = on_record(&person).into_iter().map(|row| row.1).collect();
    assert_eq!(asked.len(), 5);
    assert!(asked.iter().all(|text| !text.contains("never")));
}

#[test]
fn ctrl_c_gives_up_one_answer_and_the_chat_goes_on() {
    let server = ModelServer::script(vec![
        Behaviour::NeverBegins,
        Behaviour::NeverBegins,
        Behaviour::Good,
    ]);
    let person = person(&server);
    let mut typist = begin(&person, &[]);
    for number in 1..=2 {
        typist.types(&format!("What is {number}?\r"));
        server.wait_for(number);
        typist.sees("Ctrl-C gives up");
        typist.types(CTRL_C);
        typist.sees("no answer: given up · on record");
        typist.sees(PROMPT);
    }
    sends(&mut typist, "What is 3?", ANSWER);
    typist.types("/quit\r");
    typist.ends().exits(0);
    let outcomes: Vec<(String, Option<String>)> = {
        let database = person.database();
        let mut query = database
            .prepare("SELECT outcome, reason FROM llm_exchange ORDER BY prompt_line")
            .unwrap();
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        rows.unwrap().collect::<Result<_, _>>().unwrap()
    };
    let failed = ("failed".to_owned(), Some("interrupted".to_owned()));
    assert_eq!(
        outcomes,
        [failed.clone(), failed, ("answered".to_owned(), None)]
    );
    let rows = on_record(&person);
    assert!(rows.iter().all(|(thread, ..)| *thread == rows[0].0));
}

#[test]
fn a_service_manager_ends_a_chat_and_the_turn_is_on_record() {
    let server = ModelServer::start(Behaviour::NeverBegins);
    let person = person(&server);
    let mut typist = begin(&person, &[]);
    typist.types("What is 1?\r");
    server.wait_for(1);
    typist.sees("Ctrl-C gives up");
    let kill = |signal: &str, process: u32| {
        let mut kill = std::process::Command::new("kill");
        let ended = kill.args([signal, &process.to_string()]).status();
        assert!(ended.unwrap().success());
    };
    kill("-TERM", typist.process);
    typist.ends().exits(143);
    assert_eq!(on_record(&person).len(), 1);
    // At the prompt, too, and the terminal is left as it was.
    let typist = begin(&person, &[]);
    kill("-TERM", typist.process);
    typist.ends().exits(143);
}

#[test]
fn commands_do_what_the_commands_of_their_names_do() {
    let server = says(&["Zero.", "One.", "Two.", "Three."]);
    let person = person(&server);
    let file = person.dir.path().join("my notes.txt");
    std::fs::write(&file, "violet\n").unwrap();
    let mut typist = begin(&person, &[]);
    // A word that ends other programs is not asked, nor is a command of the shell at first.
    let ends = "Enter again ends the chat";
    sends(&mut typist, "exit", ends);
    typist.types(CTRL_C);
    typist.sees(PROMPT);
    let here = "command of the shell: Ctrl-D ends the chat; Up and Enter";
    sends(&mut typist, "gently chat", here);
    assert!(server.requests().is_empty());
    typist.types("\r");
    typist.sees(PROMPT);
    sends(&mut typist, "gently chat", here);
    typist.types(&format!("{UP}\r"));
    typist.sees("Zero.");
    typist.sees(PROMPT);
    // What is printed can be copied.
    let none = "no warning of an answer is open";
    sends(&mut typist, "gently drift list", none);
    sends(&mut typist, "gently drift show drift-9", "no drift event");
    // So can what is printed with the path of this program.
    let path = env!("CARGO_BIN_EXE_gently");
    let line = format!("{path} drift show drift-8");
    sends(&mut typist, &line, "no drift event 'drift-8'");
    // What does more than look is shown once more, and done when it is sent again.
    let notes = || {
        let sql = "SELECT count(*) FROM artifact WHERE kind = 'note'";
        let database = person.database();
        let notes: i64 = database.query_row(sql, [], |row| row.get(0)).unwrap();
        notes
    };
    let asks = "Enter again runs it";
    sends(&mut typist, "gently note add Sailing", asks);
    assert_eq!(notes(), 0);
    typist.types(CTRL_C);
    typist.sees(PROMPT);
    sends(&mut typist, "gently note add Rowing", asks);
    typist.types("\r");
    typist.sees("note-1  declared  Rowing");
    typist.sees(PROMPT);
    assert_eq!(notes(), 1);
    let again = format!("{path} note retire note-1 --reason x");
    sends(&mut typist, &again, asks);
    typist.types("\r");
    typist.sees("note-1");
    typist.sees(PROMPT);
    // Why a line is not run is said as it is, and nothing of it goes to a model at first.
    let asked = server.requests().len();
    for (line, why) in [
        ("gently drift shwo drift-9", "'drift shwo'; did you mean"),
        ("gently dirft list", "did you mean 'drift"),
        ("gently drift show", "needs EVENT"),
        ("gently drift list --nonsense", "--nonsense"),
        (
            "gently --key-cmd ./x drift list",
            "--key-cmd is refused in a chat",
        ),
        ("gently erase last --yes", "--yes is refused in a chat"),
        ("gently audit publish origin", "command of the shell"),
        ("gently audit open last --out x", "command of the shell"),
        ("gently witness list", "command of the shell"),
        ("gently search \"open", "quotation marks"),
        ("/handoff", "gently handoff run, typed here"),
    ] {
        let shown = sends(&mut typist, line, why);
        let is_of_shell = line.starts_with("gently");
        let shown: Vec<&str> = shown.split_whitespace().collect();
        let shown = shown.join(" ");
        assert_eq!(
            shown.contains("Up and Enter"),
            is_of_shell,
            "{line}: {shown}"
        );
    }
    assert_eq!(server.requests().len(), asked);
    sends(
        &mut typist,
        "/correct One. --about last",
        "/correct has no --about",
    );
    sends(&mut typist, "/new", "a new conversation begins");
    // What is no command goes to no model, however often it is sent.
    sends(&mut typist, "/export x.md", "gently conversation export");
    typist.types(&format!("{UP}\r"));
    typist.sees("gently conversation export");
    typist.sees(PROMPT);
    assert_eq!(server.requests().len(), 1);
    let help = sends(&mut typist, "/help", "/quit");
    assert!(help.contains("/erase last|ID"), "{help}");
    sends(
        &mut typist,
        "/show",
        "nothing was asked in this conversation yet",
    );
    sends(&mut typist, "/hlep", "did you mean /help?");
    sends(&mut typist, "/delete", "there is no /delete");
    sends(&mut typist, "/refs foo", "'foo' is nothing on record");
    sends(&mut typist, "/file no.txt", "there is no such file");
    let behind = "with the next question goes my notes.txt";
    sends(&mut typist, "/file my\\ notes.txt", behind);
    // It was meant for the conversation that is left.
    sends(
        &mut typist,
        "/new",
        "no longer sent with the next question: my notes.txt",
    );
    sends(&mut typist, "/file my\\ notes.txt", behind);
    sends(&mut typist, "What is in it?", "One.");
    let with_file = sent(&server).pop().unwrap();
    assert!(with_file.contains("violet"), "{with_file}");
    sends(&mut typist, "/refs none", "no earlier turns");
    sends(&mut typist, "And now?", "Two.");
    assert_eq!(sent(&server), ["And now?"]);
    sends(&mut typist, "/refs last:1", "last:1");
    sends(&mut typist, "/deep on", "are searched");
    sends(&mut typist, "/show", "all of it: with --full");
    sends(&mut typist, "/show --full", "put together again");
    sends(&mut typist, "/context", "in every prompt");
    sends(
        &mut typist,
        "/search \"is in it\" -nothing",
        "What is in it?",
    );
    sends(&mut typist, "/note Keep it", "note-2");
    sends(&mut typist, "/fact It is violet", "fact-1");
    sends(&mut typist, "/drift", "no warning of an answer is open");
    let none = "no warning of an answer is open there";
    sends(&mut typist, "/drift close all", none);
    sends(&mut typist, "/drift close 9", "drift list --all");
    sends(&mut typist, "/session", "2 questions, 2 answered");
    sends(&mut typist, "/verify", "Nothing was changed or dropped");
    let asked = server.requests().len();
    sends(&mut typist, "bye", ends);
    typist.types("\r");
    typist.ends().exits(0);
    assert_eq!(server.requests().len(), asked);
}

#[test]
fn a_command_that_is_refused_leaves_the_line_empty_and_up_brings_it() {
    let server = says(&["Zero."]);
    let person = person(&server);
    person.gently(&["note", "add", "Sailing"]).exits(0);
    let mut typist = begin(&person, &[]);
    for (line, why) in [
        ("/correct a --not", "a text is missing"),
        ("/fact ratify fact-1", "nothing was recorded"),
        ("/fcat list", "did you mean gently fact list, typed here?"),
        ("/cuoncil", "did you mean /council?"),
        ("/specialist zz", "zz"),
        ("/council x,y", "x"),
        ("/accuracy fats", "fats"),
        ("/deep maybe", "/deep on|off"),
        ("gently drift shwo", "Up and Enter sends it"),
    ] {
        sends(&mut typist, line, why);
        // What is typed next is joined to nothing.
        sends(&mut typist, "/refs", "the model is shown");
        typist.types(&format!("{UP}{UP}"));
        typist.sees(&format!("{PROMPT}{line}"));
        typist.types(CTRL_C);
        typist.sees(PROMPT);
    }
    // A command that was done, too, without the secret in it.
    sends(
        &mut typist,
        "/note password: hunter2-Zx81qq",
        "note-2  declared",
    );
    typist.types(UP);
    let shown = typist.sees("[redacted");
    assert!(!shown.contains("hunter2"), "{shown}");
    typist.types(CTRL_C);
    typist.sees(PROMPT);
    typist.types("/quit\r");
    assert_eq!(typist.ends().code, 0);
    assert!(server.requests().is_empty());
}

#[test]
fn what_is_erased_is_offered_no_more() {
    let server = says(&["One.", "Two.", "Three."]);
    let person = person(&server);
    let mut typist = begin(&person, &[]);
    sends(&mut typist, "What is 1?", "One.");
    sends(&mut typist, "What is violet?", "Two.");
    typist.types("/erase last\r");
    typist.sees("Type yes to erase it");
    typist.types("yes\r");
    typist.sees("erased");
    typist.sees(PROMPT);
    // The newest line is the command itself.
    typist.types(&format!("{UP}{UP}\r"));
    typist.sees("Three.");
    typist.sees(PROMPT);
    assert_eq!(sent(&server).pop().unwrap(), "What is 1?");
    typist.types("/quit\r");
    typist.ends().exits(0);
    let kept: u32 = person
        .database()
        .query_row(
            "SELECT count(*) FROM chat_turn WHERE content LIKE '%violet%'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(kept, 0);
}

#[test]
fn of_two_chats_in_one_conversation_the_later_question_replies_to_the_newest_turn() {
    let server = ModelServer::script(vec![
        Behaviour::Good,
        Behaviour::Gate,
        Behaviour::Good,
        Behaviour::Good,
    ]);
    let person = person(&server);
    let mut typist = begin(&person, &[]);
    sends(&mut typist, "What is 1?", ANSWER);
    typist.types("What is 2?\r");
    server.wait_for(2);
    person.piped(&["chat", "-c"], b"What is 3?\n").exits(0);
    server.release();
    typist.sees(ANSWER);
    typist.sees(PROMPT);
    sends(&mut typist, "What is 4?", ANSWER);
    typist.types(CTRL_D);
    typist.ends().exits(0);
    let rows = on_record(&person);
    assert!(rows.iter().all(|(thread, ..)| *thread == rows[0].0));
    let replies: Vec<(&str, Option<&str>)> = rows
        .iter()
        .map(|(_, question, to)| (question.as_str(), to.as_deref()))
        .collect();
    assert_eq!(
        replies,
        [
            ("What is 1?", None),
            ("What is 2?", Some("What is 1?")),
            ("What is 3?", Some("What is 2?")),
            ("What is 4?", Some("What is 3?"))
        ]
    );
}

/// Puts another kernel in force.
fn set_kernel(person: &Person) {
    let kernel = person.gently(&["kernel", "show"]).exits(0).out;
    let intent = "intent = \"Answer user question under current authority constraints.\"";
    let changed = kernel.replacen(intent, "intent = \"Answer, in short.\"", 1);
    assert_ne!(changed, kernel);
    std::fs::write(person.dir.path().join("kernel.toml"), changed).unwrap();
    person.gently(&["kernel", "set", "kernel.toml"]).exits(0);
}

#[test]
fn a_kernel_of_another_process_is_said_and_the_question_stands_in_the_line() {
    let server = says(&["One.", "Two."]);
    let person = person(&server);
    let mut typist = begin(&person, &[]);
    sends(&mut typist, "What is 1?", "One.");
    set_kernel(&person);
    typist.types("What is 2?\r");
    typist.sees("the kernel was changed by another gently");
    typist.sees("> What is 2?");
    assert_eq!(server.requests().len(), 1);
    typist.types("\r");
    typist.sees("Two.");
    typist.sees(PROMPT);
    typist.types(CTRL_D);
    typist.ends().exits(0);
    let rows = on_record(&person);
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0].0, rows[1].0, "the conversation goes on");
}

#[test]
fn a_signing_key_of_another_process_is_said() {
    let server = says(&["One.", "Two."]);
    let person = person(&server);
    let mut typist = begin(&person, &[]);
    sends(&mut typist, "What is 1?", "One.");
    person.gently(&["session", "close"]).exits(0);
    person.gently(&["key", "rotate", "--yes"]).exits(0);
    typist.types("What is 2?\r");
    typist.sees("the signing key was changed by another gently");
    typist.sees("> What is 2?");
    typist.types("\r");
    typist.sees("Two.");
    typist.sees(PROMPT);
    typist.types(CTRL_D);
    typist.ends().exits(0);
    assert_eq!(on_record(&person).len(), 2);
}

#[test]
fn another_auth_key_is_said_before_anything_is_asked_with_it() {
    let server = says(&["One.", "Two."]);
    let person = person(&server);
    let added = person.gently(&["key", "add", "laptop"]).exits(0).out;
    let mut typist = begin(&person, &[]);
    sends(&mut typist, "What is 1?", "One.");
    let file = person.at("keys/auth.key");
    std::fs::write(&file, format!("{}\n", added.trim())).unwrap();
    typist.types("What is 2?\r");
    typist.sees("another auth key is in its file now");
    typist.sees("> What is 2?");
    assert_eq!(server.requests().len(), 1);
    typist.types("\r");
    typist.sees("Two.");
    typist.sees(PROMPT);
    typist.types(CTRL_D);
    typist.ends().exits(0);
    let database = person.database();
    let names: Vec<String> = {
        let mut query = database
            .prepare("SELECT DISTINCT auth_key_hash FROM chat_session")
            .unwrap();
        let rows = query.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    };
    assert_eq!(names.len(), 2, "each key asks in a session of its own");
}

#[test]
fn ctrl_c_leaves_a_question_of_a_command_and_the_chat_goes_on() {
    let server = says(&["One.", "Two."]);
    let mut person = person(&server);
    person.set("GENTLY_TEST_WORK_FACTOR", "4");
    let mut typist = begin(&person, &[]);
    sends(&mut typist, "What is 1?", "One.");
    typist.types("/erase last\r");
    typist.sees("Type yes to erase");
    typist.types(CTRL_C);
    typist.sees("nothing was erased");
    typist.sees(PROMPT);
    // What is typed there still counts.
    typist.types("/erase last\r");
    typist.sees("Type yes to erase");
    typist.types("yes\r");
    typist.sees(PROMPT);
    typist.types(CTRL_D);
    typist.ends().exits(0);
    let rows: u32 = person
        .database()
        .query_row(
            "SELECT count(*) FROM chat_turn WHERE content IS NOT NULL",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(rows, 0);
}

#[test]
fn ctrl_c_leaves_a_passphrase_and_the_question_stands_in_the_line() {
    let server = says(&["One."]);
    let mut person = person(&server);
    person.set("GENTLY_TEST_WORK_FACTOR", "4");
    let phrase = ["--passphrase-cmd", "echo 'correct horse'", "key", "protect"];
    person.gently(&phrase).exits(0);
    let mut typist = begin(&person, &[]);
    typist.types("What is 1?\r");
    typist.sees("passphrase of ");
    typist.types(CTRL_C);
    typist.sees("question was left");
    typist.sees("> What is 1?");
    assert!(server.requests().is_empty());
    typist.types("\r");
    typist.sees("passphrase of ");
    typist.types("correct horse\r");
    typist.sees("One.");
    typist.sees(PROMPT);
    assert!(!typist.raw().contains("correct horse"));
    typist.types(CTRL_D);
    typist.ends().exits(0);
}

#[test]
fn help_is_one_object_for_a_program() {
    let server = says(&["One."]);
    let person = person(&server);
    let mut typist = begin(&person, &["--json"]);
    typist.types("/help\r");
    let before = typist.sees("\"keys\":[");
    let (_, object) = before.split_once('{').unwrap();
    assert!(
        object.contains("\"name\":\"erase\",\"takes\":\"last|ID\""),
        "{object}"
    );
    typist.sees(PROMPT);
    typist.types(CTRL_D);
    typist.ends().exits(0);
}

#[test]
fn a_kernel_of_another_process_holds_up_no_pipe() {
    let server = ModelServer::script(vec![Behaviour::Gate, Behaviour::Good]);
    let person = person(&server);
    let mut child = person
        .command(&["chat"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"What is 1?\n").unwrap();
    server.wait_for(1);
    server.release();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    set_kernel(&person);
    input.write_all(b"What is 2?\n").unwrap();
    drop(input);
    out.read_line(&mut line).unwrap();
    assert_eq!(line, format!("{ANSWER}\n{ANSWER}\n"));
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(
        ended.status.success() && said.contains("the kernel was changed"),
        "{said}"
    );
}

#[test]
fn a_question_that_can_not_be_recorded_stands_in_the_line() {
    let server = says(&["One.", "Two."]);
    let person = person(&server);
    let mut typist = begin(&person, &[]);
    sends(&mut typist, "What is 1?", "One.");
    let database = rusqlite::Connection::open(person.at("gently.db")).unwrap();
    database
        .execute_batch(
            "CREATE TRIGGER full BEFORE INSERT ON llm_exchange BEGIN SELECT RAISE(ABORT, 'no room'); END",
        )
        .unwrap();
    typist.types("What is 2?\r");
    typist.sees("not recorded");
    typist.sees("> What is 2?");
    assert_eq!(server.requests().len(), 1);
    database.execute_batch("DROP TRIGGER full").unwrap();
    drop(database);
    typist.types("\r");
    typist.sees("Two.");
    typist.sees(PROMPT);
    typist.types(CTRL_D);
    typist.ends().exits(0);
    assert_eq!(on_record(&person).len(), 2);
}

#[test]
fn a_model_that_there_is_not_costs_no_question() {
    let server = says(&["One."]);
    let person = person(&server);
    let mut typist = begin(&person, &["-m", "nobody"]);
    typist.types("What is 1?\r");
    typist.sees("no model 'nobody'");
    typist.sees("Up brings your question again");
    typist.sees(PROMPT);
    sends(&mut typist, "/model nobody-else", "no model 'nobody-else'");
    sends(
        &mut typist,
        "/model openai/other:2b",
        "openai/other:2b is asked from here on",
    );
    typist.types(&format!("{UP}{UP}{UP}"));
    typist.sees("> What is 1?");
    typist.types("\r");
    typist.sees("One.");
    typist.sees(PROMPT);
    // Before that it was asked which models it has, for those that are near.
    let asked = server.requests().pop().unwrap();
    assert_eq!(asked.json()["model"], "other:2b");
    typist.types(CTRL_D);
    typist.ends().exits(0);
}

/// An editor that writes a question, and tells how it was called.
const EDITOR: &str = r#"#!/bin/sh
stat -c '%a' "$1" "$(dirname "$1")" > told
cat "$1" >> told
printf 'Written one\nand violet\n' > "$1"
cp "$1" "$1~"
touch begun
while [ -e wait ]; do sleep 0.05; done
"#;

#[test]
fn an_editor_writes_a_question_and_leaves_nothing() {
    let server = says(&["One.", "Two."]);
    let mut person = person(&server);
    let place = |name: &str| person.dir.path().join(name);
    let (editor, told, begun, wait) = (place("ed"), place("told"), place("begun"), place("wait"));
    std::fs::write(&editor, EDITOR).unwrap();
    person.set("EDITOR", &format!("sh {}", editor.display()));
    let mut typist = begin(&person, &[]);
    sends(&mut typist, "/edit half of it", "One.");
    assert_eq!(sent(&server), ["Written one\nand violet"]);
    assert_eq!(
        std::fs::read_to_string(&told).unwrap(),
        "600\n700\nhalf of it"
    );
    assert!(is_gone(&person));
    // Ended by a signal, and killed.
    std::fs::write(&wait, "").unwrap();
    for signal in ["-TERM", "-KILL"] {
        std::fs::remove_file(&begun).unwrap();
        let mut typist = begin(&person, &[]);
        typist.types("/edit\r");
        while !begun.exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut kill = std::process::Command::new("kill");
        kill.args([signal, &typist.process.to_string()]);
        assert!(kill.status().unwrap().success());
        typist.waits();
        assert_eq!(is_gone(&person), signal == "-TERM", "{signal}");
    }
    std::fs::remove_file(&wait).unwrap();
    // A chat that goes on holds its own folder; whoever records next removes what nobody holds.
    person.ask("What is 2?");
    assert!(is_gone(&person));
    typist.types(CTRL_D);
    typist.ends().exits(0);
}

#[test]
fn a_dumb_terminal_and_a_narrow_one_do() {
    let server = says(&["One.", "Two.", "Three.", "Four."]);
    let mut person = person(&server);
    person.set("TERM", "dumb");
    let mut typist = begin(&person, &[]);
    sends(&mut typist, "What is 1?", "One.");
    typist.types("not this");
    typist.sees("not this");
    typist.types(CTRL_C);
    typist.sees(PROMPT);
    sends(&mut typist, "first\\\rsecond", "Two.");
    assert_eq!(sent(&server).pop().unwrap(), "first\nsecond");
    set_kernel(&person);
    typist.types("What is 3?\r");
    typist.sees("an empty line asks it again");
    typist.sees(PROMPT);
    sends(&mut typist, "", "Three.");
    assert_eq!(sent(&server).pop().unwrap(), "What is 3?");
    assert!(!typist.raw().contains('\u{1b}'), "{:?}", typist.raw());
    // What is pasted presses Enter as often as it likes, and runs nothing that does more than look.
    let notes = "SELECT count(*) FROM artifact WHERE kind = 'note'";
    let notes = || -> i64 {
        person
            .database()
            .query_row(notes, [], |row| row.get(0))
            .unwrap()
    };
    typist.types("gently note add Sailing\r\rgently note add Sailing\rgently note add Sailing\r");
    for _ in 0..3 {
        typist.sees(" to run it,");
        typist.sees(PROMPT);
    }
    assert_eq!(notes(), 0);
    typist.types("gently note add Rowing\r");
    let shown = typist.sees(" to run it,");
    let number = shown
        .rsplit("type ")
        .next()
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .to_owned();
    typist.sees(PROMPT);
    sends(&mut typist, &number, "note-1  declared  Rowing");
    assert_eq!(notes(), 1);
    // Nor does it destroy, send a file along, or say what is right.
    typist.types("/erase last\r\r");
    typist.sees(" to run it,");
    typist.sees("it was not run");
    for line in ["/file /etc/hosts\r", "/correct It is five.\r", "/good\r"] {
        typist.types(line);
        typist.sees(" to run it,");
        typist.sees(PROMPT);
    }
    let texts = "SELECT count(*) FROM chat_turn WHERE content IS NULL";
    let erased = person.database().query_row(texts, [], |row| row.get(0));
    assert_eq!(erased, Ok(0));
    typist.types(CTRL_D);
    typist.ends().exits(0);
    person.set("TERM", "xterm");
    let mut typist = Typist::begin(&person, (10, 20), &["chat"]);
    typist.sees("commands");
    typist.sees(PROMPT);
    let long = "What is it that is longer than a line of twenty columns?";
    typist.types(&format!("{long}\r"));
    typist.sees("Four.");
    typist.sees(PROMPT);
    assert_eq!(sent(&server).pop().unwrap(), long);
    sends(&mut typist, "/help", "/quit");
    typist.types(CTRL_D);
    typist.ends().exits(0);
}

#[test]
fn tab_completes_commands_models_and_ids() {
    let server = says(&["One."]);
    let person = person(&server);
    let mut typist = begin(&person, &[]);
    sends(&mut typist, "What is 1?", "One.");
    typist.types("/sho\t");
    typist.sees("/show ");
    // The only id of this conversation.
    typist.types("\t\r");
    typist.sees("One.");
    typist.sees(PROMPT);
    typist.types("/model openai/ot\t");
    typist.sees("/model openai/other:2b");
    typist.types("\r");
    typist.sees("is asked from here on");
    typist.sees(PROMPT);
    typist.types(CTRL_D);
    typist.ends().exits(0);
}

#[test]
fn what_is_on_record_and_what_is_pasted_moves_nothing() {
    let server = says(&["One.", "Two."]);
    let person = person(&server);
    person.ask("Hostile \u{1b}]0;title\u{7} \u{202e}question");
    let mut typist = begin(&person, &[]);
    typist.types(UP);
    typist.types("pasted \u{1b}[200~\u{1b}]0;x\u{7}\u{9b}2J\u{202e}abc\u{1b}[201~");
    typist.sees("abc");
    typist.types("\r");
    typist.sees("Two.");
    let raw = typist.raw();
    for hostile in ["\u{1b}]0", "\u{7}", "\u{9b}", "\u{202e}"] {
        assert!(!raw.contains(hostile), "{hostile:?} in {raw:?}");
    }
    typist.types(CTRL_D);
}

#[test]
fn ctrl_c_ends_a_chat_through_a_pipe_once_its_turn_is_on_record() {
    let server = ModelServer::start(Behaviour::NeverBegins);
    let person = person(&server);
    let chat = person.command(&["chat"]);
    // Whatever the test was started under: a job in the background hears no Ctrl-C.
    let mut child = std::process::Command::new("env")
        .arg("--default-signal=INT")
        .arg(chat.get_program())
        .args(chat.get_args())
        .env_clear()
        .envs(
            chat.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .current_dir(person.dir.path())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"What is 1?\nWhat is 2?\n").unwrap();
    server.wait_for(1);
    let mut kill = std::process::Command::new("kill");
    kill.args(["-INT", &child.id().to_string()]);
    assert!(kill.status().unwrap().success());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    assert_eq!(on_record(&person).len(), 1);
}

#[test]
fn a_chat_names_conversations_and_moves_between_them() {
    let server = says(&["One.", "Two.", "Three.", "Four.", "Five."]);
    let person = person(&server);
    person.gently(&["project", "new", "Law"]).exits(0);
    let mut typist = begin(&person, &[]);
    sends(&mut typist, "What is 1?", "One.");
    sends(&mut typist, "/title Rust notes", "Rust notes");
    sends(&mut typist, "/title cafe", "a title can't be 'cafe'");
    sends(&mut typist, "/new", "a new conversation begins");
    sends(&mut typist, "What is 2?", "Two.");
    assert_eq!(sent(&server), ["What is 2?"]);
    sends(
        &mut typist,
        "/open Rust notes",
        "\"Rust notes\" · 1 question",
    );
    sends(&mut typist, "/project Law", "Law");
    sends(&mut typist, "What is 3?", "Three.");
    assert_eq!(sent(&server), ["What is 1?", "One.", "What is 3?"]);
    sends(&mut typist, "/new Holidays", "\"Holidays\"");
    sends(&mut typist, "What is 4?", "Four.");
    sends(&mut typist, "/open", "Rust notes");
    typist.types("/open Rust n\t\r");
    typist.sees("\"Rust notes\" · 2 questions");
    typist.sees(PROMPT);
    typist.types(CTRL_D);
    typist.ends().exits(0);
    // Up brings this conversation's questions first, where nothing was typed yet.
    let mut typist = begin(&person, &["--conversation", "Rust notes"]);
    typist.types(&format!("{UP}{UP}\r"));
    typist.sees("Five.");
    typist.sees(PROMPT);
    assert_eq!(sent(&server).pop().unwrap(), "What is 1?");
    typist.types(CTRL_D);
    typist.ends().exits(0);
    let list = person.gently(&["conversation", "list", "--project", "Law"]);
    let list = list.exits(0).out;
    assert!(
        list.contains("Rust notes") && list.contains("Holidays"),
        "{list}"
    );
    let greeting = Typist::begin(&person, SIZE, &["chat", "-c"]).sees("/help lists");
    assert!(
        greeting.contains("\"Rust notes\" · 3 questions") && greeting.contains(" answers"),
        "{greeting}"
    );
    let ran = person.piped(&["chat", "--conversation", "no such"], b"Hi\n");
    assert!(ran.exits(2).err.contains("no conversation 'no such'"));
    assert_eq!(server.requests().len(), 5);
}

/// What is missing is said before anybody types a question, and what one is for is said elsewhere.
#[test]
fn a_chat_says_first_who_answers() {
    let mut person = Person::with(&[
        ("GENTLY_MODEL_DEFAULT", "auto"),
        ("OLLAMA_HOST", "http://127.0.0.1:9"),
        ("GENTLY_ANCHOR_MODE", "off"),
    ])
    .under_the_kernel();
    person.set("TERM", "xterm");
    let mut typist = Typist::begin(&person, SIZE, &["chat"]);
    let greeting = typist.sees("/help lists the commands");
    for words in [
        "No language model is set up.",
        "gently config set model.base_url URL",
        "a new conversation · observer answers, about this machine alone",
    ] {
        assert!(greeting.contains(words), "{words}: {greeting}");
    }
    typist.sees(PROMPT);
    typist.types("Who wrote Faust?\r");
    typist.sees("Up brings your question again");
    typist.sees(PROMPT);
    // What is typed next is joined to nothing.
    sends(&mut typist, "/refs", "the model is shown");
    typist.types(&format!("{UP}{UP}"));
    typist.sees("> Who wrote Faust?");
    typist.types(CTRL_C);
    typist.sees(PROMPT);
    typist.types(CTRL_D);
    typist.ends().exits(0);
    let ran = person.gently(&["chat", "What is 1?"]).exits(2);
    let one = format!(
        "to ask one: {} ask 'What is 1?'",
        env!("CARGO_BIN_EXE_gently")
    );
    assert!(ran.err.contains(&one), "{ran:#?}");
}

/// A key that is not of this home is said of each line, and nothing is opened for it.
#[test]
fn a_wrong_key_opens_nothing_anew() {
    let server = says(&["One."]);
    let mut person = person(&server);
    person.set("GENTLY_AUTH_KEY", &"0".repeat(64));
    let ran = person.piped(&["chat"], b"What is 1?\nWhat is 2?\n");
    assert!(ran.err.contains("auth failed"), "{ran:#?}");
    assert!(!ran.err.contains("opened anew"), "{ran:#?}");
    assert_eq!(server.requests().len(), 0);
}

/// What another process erases is offered no more once the next line is read.
#[test]
fn what_another_process_erases_is_offered_no_more() {
    let server = says(&["One.", "Two.", "Three."]);
    let person = person(&server);
    let mut typist = begin(&person, &[]);
    sends(&mut typist, "What is zygomorphic?", "One.");
    person
        .gently(&["conversation", "delete", "last", "--yes"])
        .exits(0);
    sends(&mut typist, "What is 2?", "Two.");
    typist.types(&format!("{UP}{UP}{UP}\r"));
    typist.sees("Three.");
    typist.sees(PROMPT);
    assert_eq!(sent(&server).pop().unwrap(), "What is 2?");
    typist.types(CTRL_D);
    typist.ends().exits(0);
}
