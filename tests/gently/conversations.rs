//! Conversations and projects as people use them: going on, naming, finding, putting away, taking
//! along and deleting; and what happens when others write meanwhile.

use std::path::PathBuf;

use serde_json::Value;

use crate::model_server::{Behaviour, ModelServer};
use crate::person::{Person, Ran};
use crate::recorder::{Rig, turn, wait};
use crate::share::{at_terminal, gently};

fn person(server: &ModelServer) -> Person {
    let mut person = Person::new().under_the_kernel();
    person.set("GENTLY_MODEL_BASE_URL", &server.base_url());
    person.set("GENTLY_MODEL_OLLAMA_URL", &server.root_url());
    person.set("GENTLY_MODEL_DEFAULT", "openai/m");
    person.set("OPENAI_API_KEY", "test");
    person
}

/// A person and a server that answers all questions.
fn served() -> (ModelServer, Person) {
    let server = ModelServer::start(Behaviour::Good);
    let person = person(&server);
    (server, person)
}

fn json(person: &Person, args: &[&str]) -> Value {
    person.gently(&[args, &["--json"]].concat()).exits(0).json()
}

/// The thread of an exchange that `ask --json` told.
fn asked(person: &Person, args: &[&str]) -> String {
    let told = json(person, &[&["ask"], args].concat());
    let exchange = told["exchange"].as_str().unwrap().to_owned();
    let database = person.database();
    let sql = "SELECT thread_id FROM thread_turn WHERE turn_id = ?1";
    database
        .query_row(sql, [exchange], |row| row.get(0))
        .unwrap()
}

fn listed(person: &Person, args: &[&str]) -> Vec<Value> {
    let told = json(person, &[&["conversation", "list"], args].concat());
    told["conversations"].as_array().unwrap().clone()
}

fn titles(person: &Person, args: &[&str]) -> Vec<String> {
    let title = |one: &Value| one["title"].as_str().unwrap_or("none").to_owned();
    listed(person, args).iter().map(title).collect()
}

fn texts(page: &Value) -> Vec<String> {
    let messages = page["messages"].as_array().unwrap();
    let text = |one: &Value| one["text"].as_str().unwrap_or("none").to_owned();
    messages.iter().map(text).collect()
}

fn verified(person: &Person) {
    person.gently(&["audit", "verify"]).exits(0);
}

/// A session belongs to a model, a conversation to nobody: three models, a kernel that is set between
/// them, and sessions that were closed do not end it.
#[test]
fn a_conversation_goes_on_over_three_models_and_a_kernel_change() {
    let (server, person) = served();
    let first = asked(&person, &["My name is Ana."]);
    let second = asked(&person, &["-c", "-m", "ollama/small-1b", "What is it?"]);
    let kernel = person.gently(&["kernel", "show"]).exits(0).out;
    let file = person.dir.path().join("kernel.toml");
    let changed = kernel.replacen("max_bytes = 1048576", "max_bytes = 65536", 1);
    assert_ne!(changed, kernel);
    std::fs::write(&file, changed).unwrap();
    let file = file.to_str().unwrap();
    person.gently(&["kernel", "set", file]).exits(0);
    let third = asked(&person, &["-c", "-m", "ollama/other:2b", "And yours?"]);
    person.gently(&["session", "close"]).exits(0);
    let fourth = asked(&person, &["-c", "-m", "openai/m", "So?"]);
    assert_eq!([&second, &third, &fourth], [&first, &first, &first]);
    // The newest model was shown what the first one was told.
    let newest = server.requests().pop().unwrap().json();
    let said: Vec<&str> = newest["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["content"].as_str())
        .collect();
    assert!(
        said.contains(&"My name is Ana.") && said.contains(&"And yours?"),
        "{said:?}"
    );
    let all = listed(&person, &[]);
    assert_eq!(all.len(), 1);
    assert_eq!(all[0]["conversation"], first.as_str());
    assert_eq!(all[0]["questions"], 4);
    let models = ["openai/m", "ollama/other:2b", "ollama/small-1b"];
    assert_eq!(all[0]["models"], serde_json::json!(models));
    let sessions = json(&person, &["session", "list"]);
    assert_eq!(sessions.as_array().unwrap().len(), 4, "{sessions}");
    verified(&person);
    person.gently(&["audit", "replay", "--all"]).exits(0);
}

#[test]
fn a_conversation_is_named_found_put_away_and_taken_out_again() {
    let (_server, person) = served();
    let first = asked(&person, &["What should I pack for a week in Lisbon?"]);
    // Its first question is what it is known by.
    assert_eq!(
        titles(&person, &[]),
        ["What should I pack for a week in Lisbon?"]
    );
    let renamed = json(&person, &["conversation", "rename", "last", " Lisbon "]);
    assert_eq!(
        (&renamed["title"], &renamed["title_from"]),
        (&"Lisbon".into(), &"title".into())
    );
    let new = json(&person, &["conversation", "new", "Budget 2027"]);
    let id = new["id"].as_str().unwrap();
    assert_eq!(
        (&new["questions"], new["models"].as_array().map(Vec::len)),
        (&0.into(), Some(0))
    );
    let empty = person
        .gently(&["conversation", "show", "Budget 2027"])
        .exits(0);
    assert!(
        empty.err.contains(&format!("ask --conversation {id}")),
        "{empty:#?}"
    );
    assert_eq!(
        asked(&person, &["--conversation", "Lisbon", "And for rain?"]),
        first
    );
    assert_eq!(
        asked(
            &person,
            &["--conversation", "Budget 2027", "What costs most?"]
        ),
        new["conversation"].as_str().unwrap()
    );
    assert_eq!(titles(&person, &[]), ["Budget 2027", "Lisbon"]);
    // By first digits, by `last`, by the whole title, and by what a list shows of a question.
    for name in [&first[..8], &first[..6], &first, "Lisbon"] {
        assert_eq!(
            json(&person, &["conversation", "show", name])["conversation"],
            first.as_str()
        );
    }
    assert_eq!(
        json(&person, &["conversation", "show"])["title"],
        "Budget 2027"
    );
    person
        .gently(&["conversation", "archive", "Lisbon"])
        .exits(0);
    assert_eq!(titles(&person, &[]), ["Budget 2027"]);
    assert_eq!(titles(&person, &["--archived"]), ["Lisbon"]);
    let again = person
        .gently(&["conversation", "archive", "Lisbon"])
        .exits(2);
    assert!(again.err.contains("archived already"), "{again:#?}");
    // Asked in by name it goes on, and says so; -c is not about it.
    let ran = person
        .gently(&["ask", "--conversation", "Lisbon", "Still?"])
        .exits(0);
    assert!(ran.err.contains("is archived, and goes on"), "{ran:#?}");
    assert_ne!(asked(&person, &["-c", "More?"]), first);
    person
        .gently(&["conversation", "restore", "Lisbon"])
        .exits(0);
    assert_eq!(titles(&person, &[]), ["Budget 2027", "Lisbon"]);
    verified(&person);
}

/// What goes on by itself ends with the archive: the next question begins another conversation.
#[test]
fn a_question_without_a_name_does_not_go_on_in_the_archive() {
    let (_server, person) = served();
    let first = asked(&person, &["One?"]);
    assert_eq!(asked(&person, &["Two?"]), first);
    person.gently(&["conversation", "archive", "last"]).exits(0);
    let told = person.gently(&["ask", "Three?"]).exits(0);
    assert!(
        told.err
            .contains("New conversation: \"One?\", the last one, is archived."),
        "{told:#?}"
    );
    let now = asked(&person, &["Four?"]);
    assert_ne!(now, first);
    assert_eq!(listed(&person, &[])[0]["questions"], 2);
    // There is none to go on with once all are put away.
    person.gently(&["conversation", "archive", &now]).exits(0);
    let list = person.gently(&["conversation", "list"]).exits(0);
    let said = format!(
        "every conversation was put away: {} conversation list --archived",
        gently()
    );
    assert!(list.err.contains(&said), "{list:#?}");
    let none = person.gently(&["ask", "-c", "Five?"]).exits(2);
    assert!(
        none.err
            .contains("there is no open conversation of this auth key"),
        "{none:#?}"
    );
}

/// A plain question follows whatever was asked in or begun last, in whichever way that was named; and
/// the line below the answer says where it went.
#[test]
fn a_plain_question_goes_on_where_somebody_asked_or_began_last() {
    let (_server, person) = served();
    let begun = |title: &str| {
        let told = json(&person, &["conversation", "new", title]);
        told["conversation"].as_str().unwrap().to_owned()
    };
    // Begun in a home without a session.
    person.gently(&["init"]).exits(0);
    let taxes = begun("Tax questions");
    let first = person.gently(&["ask", "What is due?"]).exits(0);
    assert!(first.err.contains(" · in \"Tax questions\""), "{first:#?}");
    assert_eq!(asked(&person, &["And when?"]), taxes);
    let spain = json(&person, &["ask", "--new", "What is the capital of Spain?"]);
    assert_eq!(spain["conversation"]["earlier"], 0);
    assert_eq!(spain["conversation"]["title_from"], "question");
    let ran = person.gently(&["ask", "And of Italy?"]).exits(0);
    assert!(
        ran.err.contains(" · in \"What is the capital of Spain?\""),
        "{ran:#?}"
    );
    // By its title, by -c, in a chat, with another model.
    let by_title = ["--conversation", "Tax questions", "And heating?"];
    assert_eq!(asked(&person, &by_title), taxes);
    assert_eq!(asked(&person, &["A plain one."]), taxes);
    assert_eq!(asked(&person, &["-c", "Another."]), taxes);
    let chatted = person.piped(&["chat"], b"Chatty?\n").exits(0);
    assert!(!chatted.err.contains(" · in "), "{chatted:#?}");
    let told = json(&person, &["ask", "So?"]);
    let place = &told["conversation"];
    assert_eq!(
        (&place["title"], &place["earlier"]),
        (&"Chatty?".into(), &1.into())
    );
    // What was begun last is gone on with, by whichever model.
    let empty = begun("Empty two");
    assert_eq!(asked(&person, &["-m", "ollama/small-1b", "Hello?"]), empty);
    assert_eq!(asked(&person, &["And I?"]), empty);
    let three = begun("Empty three");
    assert_eq!(asked(&person, &["-c", "Well?"]), three);
    assert_eq!(asked(&person, &["Plain?"]), three);
    // A long title leaves the line in its columns.
    let long = "A title that is as long as titles are, ".repeat(3);
    person
        .gently(&[
            "conversation",
            "rename",
            "last",
            long.trim_end_matches([' ', ',']),
        ])
        .exits(0);
    let ran = person.gently(&["ask", "How long?"]).exits(0);
    let line = ran.err.lines().find(|line| line.starts_with("✔ ")).unwrap();
    assert!(line.contains("…\"") && line.chars().count() <= 80, "{line}");
    // Somebody may have opened a session to begin another one.
    person.gently(&["session", "open"]).exits(0);
    assert_ne!(asked(&person, &["Anew?"]), three);
    verified(&person);
    person.gently(&["audit", "replay", "--all"]).exits(0);
}

/// A conversation that somebody comes back to keeps its model; a plain question goes to the default.
#[test]
fn a_conversation_keeps_the_model_that_answered_last() {
    let (server, mut person) = served();
    let model = |args: &[&str], person: &Person| {
        let told = json(person, &[&["ask"], args].concat());
        told["model"].as_str().unwrap().to_owned()
    };
    assert_eq!(model(&["One?"], &person), "openai/m");
    let large = ["-m", "ollama/small-1b", "Two?"];
    assert_eq!(model(&large, &person), "ollama/small-1b");
    assert_eq!(model(&["-c", "Three?"], &person), "ollama/small-1b");
    assert_eq!(
        model(&["--conversation", "One?", "Four?"], &person),
        "ollama/small-1b"
    );
    let preview = json(&person, &["context", "preview", "-c", "And?"]);
    assert!(!preview.is_null());
    person.piped(&["chat", "-c"], b"Five?\n").exits(0);
    assert_eq!(server.requests().pop().unwrap().line, "POST /api/chat");
    // Whoever names one gets it, and that is the one that answered last.
    assert_eq!(
        model(&["-c", "-m", "openai/other:2b", "Six?"], &person),
        "openai/other:2b"
    );
    assert_eq!(model(&["-c", "Seven?"], &person), "openai/other:2b");
    assert_eq!(model(&["Eight?"], &person), "openai/m");
    // What is built in is kept by nobody, and what is not there is said.
    person
        .gently(&["ask", "-c", "-m", "observer", "--sight", "How is it?"])
        .exits(0);
    assert_eq!(model(&["-c", "Nine?"], &person), "openai/m");
    assert_eq!(model(&large, &person), "ollama/small-1b");
    person.set("GENTLY_MODEL_OLLAMA_URL", "http://127.0.0.77:9");
    let ran = person.gently(&["ask", "-c", "Ten?"]).exits(0);
    let said = "openai/m answers; ollama/small-1b, which did so here before, can't be asked: nobody \
                listens at http://127.0.0.77:9";
    assert!(ran.err.contains(said), "{ran:#?}");
    verified(&person);
}

#[test]
fn going_on_is_said_in_one_way_at_a_time() {
    let (_server, person) = served();
    let first = asked(&person, &["One?"]);
    let refusals: [&[&str]; 5] = [
        &["-c", "--thread", &first],
        &["-c", "--new"],
        &["--conversation", "last", "--thread", &first],
        &["--conversation", "last", "--new"],
        &["-c", "--conversation", "last"],
    ];
    for args in refusals {
        person
            .gently(&[&["ask"], args, &["Two?"]].concat())
            .exits(2);
    }
    // A reply to an exchange of another conversation.
    asked(&person, &["--new", "Elsewhere?"]);
    let wrong = person
        .gently(&["ask", "-c", "--parent", "interaction-1", "Fine?"])
        .exits(0);
    drop(wrong);
    let other = person
        .gently(&["ask", "--conversation", &first, "--parent", "last", "No?"])
        .exits(2);
    assert!(other.err.contains("leave --conversation out"), "{other:#?}");
    // A preview goes the same ways.
    let seen = person
        .gently(&["context", "preview", "-c", "What?"])
        .exits(0);
    assert!(!seen.out.is_empty());
    person
        .gently(&["context", "preview", "--conversation", "nowhere", "What?"])
        .exits(2);
}

#[test]
fn what_can_not_be_a_title_is_refused_and_two_alike_are_named() {
    let (_server, person) = served();
    let first = asked(&person, &["One?"]);
    asked(&person, &["--new", "Two?"]);
    let long = "x".repeat(121);
    for unfit in [
        "",
        "  ",
        "a\u{1b}[2Jb",
        "two\nlines",
        "a\u{202e}b",
        &long,
        "cafe",
        "4e62-36",
        "last",
        "project-1",
        "81bb5b35/16",
        "interaction-3",
    ] {
        let ran = person
            .gently(&["conversation", "rename", "last", unfit])
            .exits(2);
        assert!(ran.err.contains("a title "), "{unfit:?}: {ran:#?}");
        assert!(
            !ran.err.contains('\u{1b}') && !ran.err.contains('\u{202e}'),
            "{ran:?}"
        );
    }
    assert_eq!(titles(&person, &[]), ["Two?", "One?"]);
    person
        .gently(&["conversation", "rename", "last", &long[..120]])
        .exits(0);
    person
        .gently(&["conversation", "rename", "last", "Alike"])
        .exits(0);
    // Two may be called alike, and whoever does so is told, and how they are told apart.
    let other = person
        .gently(&["conversation", "rename", &first, "Alike", "--json"])
        .exits(0);
    let same = other.json()["same_title"].clone();
    let same = same[0].as_str().unwrap();
    assert_eq!(
        other.err,
        format!(
            "another conversation has this title: {same}; their ids tell them apart (this one: {})\n",
            &first[..8]
        )
    );
    let third = person.gently(&["conversation", "new", "Alike"]).exits(0);
    assert!(
        third.err.contains("other conversations have this title: ")
            && third.err.contains(same)
            && third.err.contains(&first[..8]),
        "{third:#?}"
    );
    let alone = person.gently(&["conversation", "new", "Unlike"]).exits(0);
    assert_eq!(alone.err, "");
    let both = person.gently(&["conversation", "show", "Alike"]).exits(2);
    assert!(
        both.err.contains("'Alike' could be any of: ") && both.err.contains(&first[..8]),
        "{both:#?}"
    );
    for name in ["last", "fact-1", "interaction-3"] {
        let none = person.gently(&["thread", "new", name]).exits(2);
        assert!(none.err.contains("looks like an id"), "{name}: {none:#?}");
    }
    for command in ["archive", "show", "restore"] {
        let none = person
            .gently(&["conversation", command, "nothing of the kind"])
            .exits(2);
        assert!(
            none.err.contains("no conversation 'nothing of the kind'"),
            "{none:#?}"
        );
    }
    // A secret in a title is none of it.
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let ran = person
        .gently(&["conversation", "rename", &first, &format!("Key {secret}")])
        .exits(0);
    assert!(
        ran.err.contains("removed before it was stored: ") && !ran.out.contains(secret),
        "{ran:#?}"
    );
    // And what was removed stands in the object, too.
    let secret_name = format!("Key {secret}");
    for args in [
        &["conversation", "rename", &first, &secret_name][..],
        &["conversation", "new", &secret_name],
        &["project", "new", &secret_name],
        &["project", "rename", "project-1", "Keys"],
    ] {
        let removed = json(&person, args)["removed"].clone();
        let count = usize::from(args.last() == Some(&secret_name.as_str()));
        assert_eq!(
            removed.as_array().unwrap().len(),
            count,
            "{args:?}: {removed}"
        );
    }
    assert!(!holds(&person, secret));
    verified(&person);
}

/// Whether any file of the home has these words.
fn holds(person: &Person, words: &str) -> bool {
    let mut folders = vec![person.home()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            if bytes
                .windows(words.len())
                .any(|some| some == words.as_bytes())
            {
                return true;
            }
        }
    }
    false
}

#[test]
fn pages_go_forth_and_back_and_a_cursor_of_another_listing_is_refused() {
    let (_server, person) = served();
    for n in 0..7 {
        asked(&person, &[&format!("Question {n}?")]);
    }
    let first = listed(&person, &[])[0]["conversation"]
        .as_str()
        .unwrap()
        .to_owned();
    let all = texts(&json(&person, &["conversation", "show", "last"]));
    assert_eq!(all.len(), 14);
    let mut back = Vec::new();
    let mut page = json(&person, &["conversation", "show", "last", "-n", "4"]);
    assert!(page["later"].is_null());
    let mut pages = vec![page.clone()];
    while let Some(cursor) = page["earlier"].as_str().map(str::to_owned) {
        page = json(
            &person,
            &[
                "conversation",
                "show",
                &first,
                "-n",
                "4",
                "--before",
                &cursor,
            ],
        );
        pages.push(page.clone());
    }
    for page in pages.iter().rev() {
        back.extend(texts(page));
    }
    assert_eq!((pages.len(), &back), (4, &all));
    // And forth again from the first page.
    let mut forth = texts(&page);
    while let Some(cursor) = page["later"].as_str().map(str::to_owned) {
        page = json(
            &person,
            &[
                "conversation",
                "show",
                &first,
                "-n",
                "4",
                "--after",
                &cursor,
            ],
        );
        forth.extend(texts(&page));
    }
    assert_eq!(forth, all);
    // A page behind the end is empty, and knows that there is something before it.
    let last = pages[0]["messages"][3]["cursor"]
        .as_str()
        .unwrap()
        .to_owned();
    let empty = json(&person, &["conversation", "show", &first, "--after", &last]);
    assert_eq!(
        (empty["messages"].as_array().unwrap().len(), &empty["later"]),
        (0, &Value::Null)
    );

    let other = asked(&person, &["--new", "Elsewhere?"]);
    for cursor in [last.as_str(), "1.1", "1764057417.99999"] {
        let ran = person
            .gently(&["conversation", "show", &other, "--before", cursor])
            .exits(2);
        assert!(
            ran.err
                .contains(&format!("the cursor {cursor} is of another listing")),
            "{ran:#?}"
        );
    }
    // An answer's place is none in the list of conversations.
    let ran = person
        .gently(&["conversation", "list", "--before", &last])
        .exits(2);
    assert!(
        ran.err
            .contains("is of another listing: take one that gently conversation list printed"),
        "{ran:#?}"
    );
    for nonsense in ["", "x", "1", "1.x", "01.1"] {
        let ran = person
            .gently(&["conversation", "list", "--before", nonsense])
            .exits(2);
        assert!(
            ran.err.contains("is no place in a list"),
            "{nonsense:?}: {ran:#?}"
        );
    }
}

#[test]
fn the_list_goes_on_where_a_page_ended_while_others_are_asked_in() {
    let (_server, person) = served();
    for n in 0..6 {
        asked(&person, &["--new", &format!("Begin {n}?")]);
    }
    let page = json(&person, &["conversation", "list", "-n", "2"]);
    let next = page["next"].as_str().unwrap().to_owned();
    // One that was listed is asked in, and another one begins: what comes next stays what it was.
    asked(&person, &["--conversation", "Begin 4?", "More?"]);
    asked(&person, &["--new", "Begin 6?"]);
    let rest = titles(&person, &["--before", &next]);
    assert_eq!(rest, ["Begin 3?", "Begin 2?", "Begin 1?", "Begin 0?"]);
    let last = json(&person, &["conversation", "list", "--before", &next]);
    assert!(last["next"].is_null());
    let screen = person.gently(&["conversation", "list", "-n", "2"]).exits(0);
    assert!(
        screen.err.contains(" conversation list -n 2 --before "),
        "{screen:#?}"
    );
}

/// Paging forth and back while two writers ask gives every message once, in order.
#[test]
fn every_message_comes_once_and_in_order_while_two_write() {
    let (_server, person) = served();
    let thread = asked(&person, &["Begin?"]);
    let show = |range: &[&str]| {
        let args = ["conversation", "show", thread.as_str(), "-n", "3"];
        json(&person, &[&args, range].concat())
    };
    const EACH: usize = 6;
    let ids = |page: &Value| -> Vec<String> {
        let messages = page["messages"].as_array().unwrap().iter();
        messages
            .map(|one| one["message"].as_str().unwrap().to_owned())
            .collect()
    };
    let (forth, backs) = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                let (person, thread) = (&person, &thread);
                scope.spawn(move || {
                    for n in 0..EACH {
                        let question = format!("Writer {writer}, question {n}?");
                        person
                            .gently(&["ask", "--conversation", thread, &question])
                            .exits(0);
                    }
                })
            })
            .collect();
        let (mut forth, mut backs) = (Vec::new(), Vec::new());
        let mut after: Option<String> = None;
        loop {
            // Looked at before the page: what is written in between comes with the next one.
            let are_done = writers.iter().all(|writer| writer.is_finished());
            let page = match &after {
                Some(cursor) => show(&["--after", cursor]),
                // The first page, from the oldest on.
                None => {
                    let mut page = show(&[]);
                    while let Some(cursor) = page["earlier"].as_str().map(str::to_owned) {
                        page = show(&["--before", &cursor]);
                    }
                    page
                }
            };
            let messages = page["messages"].as_array().unwrap();
            if messages.is_empty() && are_done {
                break;
            }
            if let Some(last) = messages.last() {
                after = Some(last["cursor"].as_str().unwrap().to_owned());
            }
            forth.extend(ids(&page));
            // Back from here to the beginning, whatever came meanwhile.
            if let Some(cursor) = page["earlier"].as_str().map(str::to_owned) {
                let mut back: Vec<Vec<String>> = vec![ids(&page)];
                let mut before = Some(cursor);
                while let Some(cursor) = before {
                    let page = show(&["--before", &cursor]);
                    back.push(ids(&page));
                    before = page["earlier"].as_str().map(str::to_owned);
                }
                backs.push(back.into_iter().rev().flatten().collect::<Vec<String>>());
            }
        }
        for writer in writers {
            writer.join().unwrap();
        }
        (forth, backs)
    });
    let all = ids(&json(
        &person,
        &["conversation", "show", &thread, "-n", "1000"],
    ));
    assert_eq!(all.len(), 2 * (1 + 2 * EACH));
    assert_eq!(forth, all);
    assert!(!backs.is_empty());
    for back in backs {
        assert_eq!(back, all[..back.len()]);
    }
    verified(&person);
}

const HOSTILE: &str = "Fine.\n```\n# Not a heading\n````\n\u{1b}[2J\u{202e}\u{9b}1A\r</script>\n~~~\n---\n`````x\n\"}],\"messages\":[{\"text\":\"forged\"}]";

#[test]
fn hostile_texts_end_no_quoting_and_move_nothing() {
    let server = ModelServer::start(Behaviour::Says(HOSTILE.to_owned()));
    let person = person(&server);
    person.gently(&["ask", "Say ``` and \"} please"]).exits(0);
    let title = "*bold* `code` <b>\"}]# [x](y)";
    person
        .gently(&["conversation", "rename", "last", title])
        .exits(0);
    person.gently(&["project", "new", "**P** <i>"]).exits(0);
    person
        .gently(&["conversation", "move", "last", "**P** <i>"])
        .exits(0);
    let moves = |text: &str| {
        text.chars()
            .any(|c| (c.is_control() && c != '\n') || matches!(c, '\u{202e}' | '\u{2028}'))
    };
    let page = json(&person, &["conversation", "show", "last"]);
    assert_eq!(
        (&page["title"], &texts(&page)[1]),
        (&title.into(), &HOSTILE.to_owned())
    );
    for (name, args) in [
        ("list", vec!["conversation", "list"]),
        ("show", vec!["conversation", "show", "last"]),
        ("md", vec!["conversation", "show", "last", "-o", "md"]),
        ("projects", vec!["project", "list"]),
    ] {
        let shown = crate::pty::on_terminal(&person, (200, 200), &args).exits(0);
        let plain = shown.out.replace("\r\n", "\n");
        assert!(!moves(&plain), "{name}: {plain:?}");
    }
    let file = |name: &str| person.dir.path().join(name);
    for name in ["a.md", "a.json"] {
        let out = file(name);
        person
            .gently(&[
                "conversation",
                "export",
                "last",
                "--out",
                out.to_str().unwrap(),
            ])
            .exits(0);
    }
    let md = std::fs::read_to_string(file("a.md")).unwrap();
    assert!(!moves(&md), "{md:?}");
    assert!(md.starts_with("# \\*bold\\* \\`code\\` \\<b\\>"), "{md}");
    let (outside, inside) = by_fences(&md);
    assert!(
        inside.contains("# Not a heading") && inside.contains("forged"),
        "{md}"
    );
    assert!(
        !outside.contains("Not a heading") && !outside.contains("forged"),
        "{outside}"
    );
    let headings: Vec<&str> = outside
        .lines()
        .filter(|line| line.starts_with('#'))
        .collect();
    assert_eq!(headings.len(), 3, "{headings:?}");
    let text = std::fs::read_to_string(file("a.json")).unwrap();
    assert!(!moves(&text), "{text:?}");
    let exported: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(texts(&exported)[1], HOSTILE);
    assert_eq!(exported["messages"].as_array().unwrap().len(), 2);
}

/// The lines of a document outside of its fenced code, and those inside (CommonMark 4.5).
fn by_fences(md: &str) -> (String, String) {
    let (mut outside, mut inside) = (String::new(), String::new());
    let mut fence: Option<usize> = None;
    for line in md.lines() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match fence {
            None if ticks >= 3 && !line[ticks..].contains('`') => fence = Some(ticks),
            None => outside.push_str(&format!("{line}\n")),
            Some(open) if ticks >= open && line[ticks..].trim().is_empty() => fence = None,
            Some(_) => inside.push_str(&format!("{line}\n")),
        }
    }
    assert_eq!(fence, None, "a fence is open at the end");
    (outside, inside)
}

#[test]
fn an_export_binds_each_answer_to_the_record_and_writes_over_nothing() {
    let (_server, mut person) = served();
    asked(&person, &["One?"]);
    asked(&person, &["Two?"]);
    let out = person.dir.path().join("talk.json");
    let place = out.to_str().unwrap();
    let told = json(&person, &["conversation", "export", "last", "--out", place]);
    assert_eq!(
        (&told["messages"], &told["format"]),
        (&4.into(), &"json".into())
    );
    let exported: Value = serde_json::from_str(&std::fs::read_to_string(&out).unwrap()).unwrap();
    assert_eq!(exported, json(&person, &["conversation", "show", "last"]));
    for message in exported["messages"].as_array().unwrap() {
        let is_answer = message["role"] == "assistant";
        assert_eq!(message["evidence"].is_object(), is_answer);
        if !is_answer {
            continue;
        }
        let shown = json(&person, &["show", message["id"].as_str().unwrap()]);
        let evidence = &message["evidence"];
        assert_eq!(evidence["interaction"], shown["name"]);
        assert_eq!(evidence["chain_entry"], shown["hashes"]["chain_entry"]);
        assert_eq!(evidence["commit"], shown["commits"][0]["id"]);
        assert!(
            evidence["block"].is_null(),
            "no block was looked for: {evidence}"
        );
    }
    let again = person
        .gently(&["conversation", "export", "last", "--out", place])
        .exits(2);
    assert!(again.err.contains("is not written over"), "{again:#?}");
    // The block under which an answer was recorded, with its hash.
    let headers = person.headers(829_604..=829_619);
    person.set("GENTLY_ANCHOR_MODE", "auto");
    person.set("GENTLY_ANCHOR_ESPLORA", "[]");
    person.set("GENTLY_ANCHOR_HEADERS", headers.to_str().unwrap());
    asked(&person, &["--new", "On a block?"]);
    let page = json(&person, &["conversation", "show", "On a block?"]);
    let evidence = &page["messages"][1]["evidence"];
    assert_eq!(evidence["block"], 829_619, "{evidence}");
    let session = json(&person, &["session", "show", "last"]);
    let hash = evidence["block_hash"].as_str().unwrap();
    assert!(session.to_string().contains(hash), "{hash}: {session}");
    person.set("GENTLY_ANCHOR_MODE", "off");
    for (name, word) in [
        ("talk.txt", ".md or .json"),
        ("-", "'-' is none"),
        ("no/talk.md", "no folder"),
    ] {
        let ran = person
            .gently(&["conversation", "export", "last", "--out", name])
            .exits(2);
        assert!(ran.err.contains(word), "{name}: {ran:#?}");
    }
    let md = person.dir.path().join("talk.md");
    person
        .gently(&[
            "conversation",
            "export",
            "One?",
            "--out",
            md.to_str().unwrap(),
        ])
        .exits(0);
    let md = std::fs::read_to_string(md).unwrap();
    assert!(
        md.contains("- Interaction: interaction-2 of session `")
            && md.contains(" · answer of openai/m · "),
        "{md}"
    );
    let printed = person
        .gently(&["conversation", "show", "One?", "-o", "md"])
        .exits(0);
    assert_eq!(printed.out, md);
    let json_out = person
        .gently(&["conversation", "show", "One?", "-o", "json"])
        .exits(0);
    assert_eq!(json_out.json(), exported);
    person
        .gently(&["conversation", "show", "One?", "-o", "md", "--json"])
        .exits(2);
}

/// Questions, answers and title go, and no file of the home has the words; a question that waits for
/// its answer is named, and goes later.
#[test]
fn deleting_erases_all_exchanges_names_the_one_that_waits_and_archives() {
    let answers = |n: usize| Behaviour::Says(format!("Quetzalcoatl answered {n}."));
    let mut script: Vec<Behaviour> = (0..3).map(answers).collect();
    script.push(Behaviour::Gate);
    let server = ModelServer::script(script);
    let person = person(&server);
    let thread = asked(&person, &["What of zygomorphic flowers?"]);
    asked(&person, &["And of actinomorphic ones?"]);
    let kept = asked(&person, &["--new", "What stays?"]);
    person
        .gently(&["conversation", "rename", &thread, "Botanophile"])
        .exits(0);

    let dry = person
        .gently(&["conversation", "delete", "Botanophile", "--dry-run"])
        .exits(0);
    assert!(
        dry.out.contains("deletes conversation") && dry.out.contains(": 2 questions, and puts"),
        "{dry:#?}"
    );
    let plan = json(
        &person,
        &["conversation", "delete", "Botanophile", "--dry-run"],
    );
    assert_eq!(
        (
            &plan["dry_run"],
            plan["erasure"]["exchanges"].as_array().unwrap().len()
        ),
        (&true.into(), 2)
    );
    let asks = person
        .gently(&["conversation", "delete", "Botanophile"])
        .exits(2);
    assert!(
        asks.err.contains("nothing was deleted") && asks.err.contains("--yes"),
        "{asks:#?}"
    );
    let shell = |id: &str| format!("{} conversation delete {id}", env!("CARGO_BIN_EXE_gently"));
    let other = at_terminal(&person, &shell("Botanophile"), "Type delete", "yes", None);
    assert!(
        other.code == 2 && other.out.contains("not confirmed"),
        "{other:#?}"
    );
    assert_eq!(titles(&person, &[]), ["What stays?", "Botanophile"]);

    let child = person
        .command(&["ask", "--conversation", "Botanophile", "Which wait?"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    server.wait_for(4);
    let done = at_terminal(
        &person,
        &shell("Botanophile"),
        "Type delete",
        "delete",
        None,
    );
    assert_eq!(done.code, 0, "{done:#?}");
    assert!(
        done.out
            .contains("2 questions erased, and it is off the list"),
        "{done:#?}"
    );
    let waits = done.out.contains("waits for its answer, and stays");
    assert!(waits && done.out.contains("gently erase "), "{done:#?}");
    server.release();
    let mut child = child;
    assert!(child.wait().unwrap().success());
    for words in [
        "zygomorphic",
        "actinomorphic",
        "Quetzalcoatl answered 0",
        "Quetzalcoatl answered 1",
        "Botanophile",
    ] {
        assert!(!holds(&person, words), "{words}");
    }
    let archived = listed(&person, &["--archived"]);
    assert_eq!(archived.len(), 1);
    assert_eq!(
        (&archived[0]["title"], &archived[0]["title_from"]),
        (&Value::Null, &"erased".into())
    );
    // One of its questions waited, and is there: it is not deleted before that goes, too.
    assert_eq!(archived[0]["deleted"], false);
    let page = json(&person, &["conversation", "show", &thread]);
    let missing: Vec<&str> = page["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["missing"].as_str().unwrap_or("here"))
        .collect();
    assert_eq!(
        missing,
        ["erased", "erased", "erased", "erased", "here", "here"]
    );
    // Now that the answer is there, what was left goes, too; and nothing is left to do.
    let rest = json(&person, &["conversation", "delete", &thread, "--yes"]);
    assert_eq!(
        (
            rest["exchanges"].as_array().unwrap().len(),
            rest["waiting"].as_array().unwrap().len()
        ),
        (1, 0)
    );
    let nothing = json(&person, &["conversation", "delete", &thread, "--yes"]);
    assert_eq!(nothing["erased"], false);
    assert_eq!(listed(&person, &[])[0]["conversation"], kept.as_str());
    verified(&person);
}

/// Exchanges are erased 200 a batch: of 205 each is gone, in two batches.
#[test]
fn deleting_erases_more_exchanges_than_one_batch_takes() {
    let person = Person::new();
    let thread = asked(&person, &["Botany, the first?"]);
    let rig = Rig::borrowed(&person.home());
    let now = rig.store().head().unwrap().time;
    let session = rig.open_sessions().pop().unwrap();
    let texts: Vec<String> = (0..204).map(|n| format!("Botany, question {n}?")).collect();
    let recorder = rig.recorder(now);
    wait(async {
        let turns = texts
            .iter()
            .map(|text| turn(&recorder, &session, text, now));
        for done in futures_util::future::join_all(turns).await {
            done.unwrap();
        }
    });
    drop(recorder);
    let row = json(&person, &["conversation", "list"]);
    assert_eq!(row["conversations"][0]["questions"], 205, "{row}");

    let done = json(&person, &["conversation", "delete", &thread, "--yes"]);
    assert_eq!(done["exchanges"].as_array().unwrap().len(), 205);
    let database = person.database();
    let count = |sql: &str| -> u32 { database.query_row(sql, [], |row| row.get(0)).unwrap() };
    let kept = "SELECT count(*) FROM chat_turn WHERE content IS NOT NULL";
    assert_eq!(
        (count("SELECT count(*) FROM chat_turn"), count(kept)),
        (410, 0)
    );
    let tombstones = "SELECT count(*) FROM artifact WHERE kind = 'tombstone'";
    assert_eq!(
        (
            count(tombstones),
            count("SELECT count(*) FROM tombstone_id")
        ),
        (2, 205)
    );
    assert!(!holds(&person, "Botany"));
    verified(&person);
}

/// A question whose process was killed waits for nobody: deleting says what it takes.
#[test]
fn deleting_names_what_a_killed_process_left() {
    let server = ModelServer::script(vec![Behaviour::Good, Behaviour::NeverBegins]);
    let person = person(&server);
    asked(&person, &["What stays?"]);
    let mut child = person
        .command(&["ask", "And what else?"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    server.wait_for(2);
    child.kill().unwrap();
    child.wait().unwrap();
    let plan = json(&person, &["conversation", "delete", "last", "--dry-run"]);
    assert_eq!(
        (
            plan["waiting"].as_array().unwrap().len(),
            plan["given_up"].as_array().unwrap().len()
        ),
        (0, 1)
    );
    let id = plan["given_up"][0].as_str().unwrap().to_owned();
    let thread = plan["conversation"]["conversation"]
        .as_str()
        .unwrap()
        .to_owned();
    let done = person
        .gently(&["conversation", "delete", &thread, "--yes"])
        .exits(0);
    let said = format!(
        "{id} has no answer, and stays: the gently that asked it was ended; to erase it: gently session close, then \
         gently erase {id}"
    );
    assert!(
        done.out.contains(&said) || done.err.contains(&said),
        "{done:#?}"
    );
    assert!(
        !done.out.contains("waits for its answer") && !done.err.contains("waits for its answer")
    );
    person.gently(&["session", "close", "--yes"]).exits(0);
    person.gently(&["erase", &id, "--yes"]).exits(0);
    verified(&person);
}

#[test]
fn a_project_in_use_holds_what_begins_and_what_is_listed() {
    let (_server, mut person) = served();
    let outside = asked(&person, &["Before any project?"]);
    let made = json(&person, &["project", "new", "Travel"]);
    assert_eq!(
        (&made["id"], &made["name"]),
        (&"project:000001".into(), &"Travel".into())
    );
    let again = person.gently(&["project", "new", "Travel"]).exits(2);
    assert!(
        again
            .err
            .contains("there is a project of that name: project-1"),
        "{again:#?}"
    );
    person.gently(&["project", "new", "Work"]).exits(0);
    person.gently(&["project", "use", "Travel"]).exits(0);
    // What went on is not in it: another conversation begins, and joins.
    let told = person.gently(&["ask", "Where to?"]).exits(0);
    assert!(
        told.err
            .contains("New conversation: \"Before any project?\", the last one, is not in project-1 \"Travel\""),
        "{told:#?}"
    );
    assert!(told.err.contains("is in project-1 \"Travel\""), "{told:#?}");
    let inside = asked(&person, &["And when?"]);
    assert_ne!(inside, outside);
    assert_eq!(titles(&person, &[]), ["Where to?"]);
    assert_eq!(
        titles(&person, &["--all"]),
        ["Where to?", "Before any project?"]
    );
    assert_eq!(
        titles(&person, &["--project", "Work"]),
        Vec::<String>::new()
    );
    let screen = person.gently(&["conversation", "list"]).exits(0);
    assert!(
        screen.err.contains("only those of project-1 \"Travel\""),
        "{screen:#?}"
    );
    // -c is about the project in use; a name is about all.
    asked(&person, &["--conversation", &outside, "Still?"]);
    assert_eq!(asked(&person, &["-c", "And who?"]), inside);
    let new = json(&person, &["conversation", "new", "Visa"]);
    assert_eq!(new["project"]["id"], "project:000001");
    // The environment wins, for a shell; none there is none.
    person.set("GENTLY_CONVERSATION_PROJECT", "Work");
    assert!(listed(&person, &[]).is_empty());
    person.set("GENTLY_CONVERSATION_PROJECT", "none");
    assert_eq!(listed(&person, &[]).len(), 3);
    person.set("GENTLY_CONVERSATION_PROJECT", "No such");
    let wrong = person.gently(&["ask", "What?"]).exits(2);
    assert!(
        wrong
            .err
            .contains("conversation.project says which project is in use"),
        "{wrong:#?}"
    );
    person.unset("GENTLY_CONVERSATION_PROJECT");
    // Moved, renamed, and out of it again.
    person
        .gently(&["conversation", "move", &inside, "Work"])
        .exits(0);
    assert_eq!(titles(&person, &["--project", "project-2"]), ["Where to?"]);
    person
        .gently(&["conversation", "move", &inside, "none"])
        .exits(0);
    // Where it is already, that is said, and nothing is recorded.
    let lines = person.log().len();
    let again = person
        .gently(&["conversation", "move", &inside, "none", "--json"])
        .exits(0);
    assert!(
        again.err.contains("it is in no project as it is"),
        "{again:#?}"
    );
    assert_eq!(again.json()["moved"], false);
    assert_eq!(person.log().len(), lines);
    // A name is known in any case, and by how it begins.
    for name in ["travel", "TRAVEL", "tra", "Trave"] {
        assert_eq!(titles(&person, &["--project", name]), ["Visa"], "{name}");
    }
    let none = person
        .gently(&["conversation", "list", "--project", "tr"])
        .exits(2);
    assert!(none.err.contains("no project 'tr' here"), "{none:#?}");
    person.gently(&["project", "new", "travel"]).exits(2);
    person.gently(&["project", "new", "Trade fair"]).exits(0);
    let both = person.gently(&["project", "use", "tra"]).exits(2);
    assert!(
        both.err
            .contains("'tra' could be any of: project-1 \"Travel\", project-3 \"Trade fair\""),
        "{both:#?}"
    );
    person
        .gently(&["project", "rename", "Travel", "Journeys"])
        .exits(0);
    let projects = json(&person, &["project", "list"]);
    assert_eq!(
        (&projects[0]["name"], &projects[0]["in_use"]),
        (&"Journeys".into(), &true.into())
    );
    verified(&person);
}

#[test]
fn a_project_that_is_retired_while_in_use_takes_nothing_more() {
    let (_server, mut person) = served();
    person.gently(&["init"]).exits(0);
    person.gently(&["project", "new", "Travel"]).exits(0);
    person.gently(&["project", "use", "project-1"]).exits(0);
    let inside = asked(&person, &["Where to?"]);
    // It is for good, so it asks; and a look changes nothing.
    let asks = person.gently(&["project", "retire", "Travel"]).exits(2);
    assert!(
        asks.err.contains("retires project-1 \"Travel\" for good") && asks.err.contains("--yes"),
        "{asks:#?}"
    );
    let dry = json(&person, &["project", "retire", "Travel", "--dry-run"]);
    assert_eq!(
        (&dry["dry_run"], &dry["name"]),
        (&true.into(), &"Travel".into())
    );
    assert_eq!(
        dry["would"],
        serde_json::json!([
            "retires project-1 \"Travel\" for good: its 1 conversation stays in it, and no other one joins it",
            "stops using it: what begins then is in no project"
        ])
    );
    let list = person.gently(&["project", "list"]).exits(0);
    assert!(
        list.out.starts_with("project-1  Travel  (") && list.out.contains(", in use)\n"),
        "{list:#?}"
    );
    // A shell that names it goes on to name it, and is told.
    person.set("GENTLY_CONVERSATION_PROJECT", "project-1");
    let retired = person
        .gently(&["project", "retire", "Travel", "--yes"])
        .exits(0);
    assert!(
        retired.err.contains("unset GENTLY_CONVERSATION_PROJECT"),
        "{retired:#?}"
    );
    person.gently(&["project", "retire", "Travel"]).exits(2);
    person.gently(&["project", "use", "Travel"]).exits(2);
    person
        .gently(&["conversation", "move", "last", "Travel"])
        .exits(2);
    // Its conversations are still listed and go on; what begins joins none, and that is said.
    assert_eq!(titles(&person, &[]), ["Where to?"]);
    assert_eq!(asked(&person, &["-c", "And when?"]), inside);
    let told = person.gently(&["ask", "--new", "Else?"]).exits(0);
    assert!(
        told.err
            .contains("is in use and retired: what begins now is in no project"),
        "{told:#?}"
    );
    assert_eq!(titles(&person, &[]), ["Where to?"]);
    person.unset("GENTLY_CONVERSATION_PROJECT");
    // For every other one it is in use no more: the settings name none.
    assert_eq!(titles(&person, &[]), ["Else?", "Where to?"]);
    person.gently(&["project", "new", "Work"]).exits(0);
    person.gently(&["project", "use", "work"]).exits(0);
    let retired = person
        .gently(&["project", "retire", "work", "--yes", "--json"])
        .exits(0);
    assert!(
        retired.err.contains("it was in use, and no project is now"),
        "{retired:#?}"
    );
    let view = retired.json();
    assert_eq!(
        (&view["stopped_use"], &view["in_use"], &view["state"]),
        (&true.into(), &false.into(), &"retired".into())
    );
    let toml = std::fs::read_to_string(person.home().join("gently.toml")).unwrap();
    assert!(!toml.contains("project:"), "{toml}");
    assert!(
        json(&person, &["project", "list"])
            .as_array()
            .unwrap()
            .is_empty()
    );
    assert_eq!(
        json(&person, &["project", "list", "--all"])[0]["state"],
        "retired"
    );
    for unfit in ["", "none", "project-7", "a\u{7}b", &"x".repeat(81)] {
        person.gently(&["project", "new", unfit]).exits(2);
    }
    verified(&person);
}

/// Where no texts are kept, names are null and ids serve.
#[test]
fn without_texts_ids_serve() {
    let (_server, mut person) = served();
    person.set("GENTLY_STORE_CONTENT", "none");
    asked(&person, &["One?"]);
    let list = listed(&person, &[]);
    assert_eq!(
        (&list[0]["title"], &list[0]["title_from"]),
        (&Value::Null, &"not kept".into())
    );
    let renamed = person
        .gently(&["conversation", "rename", "last", "Quetzal plans"])
        .exits(0);
    assert!(
        renamed.err.contains("the title is not kept"),
        "{renamed:#?}"
    );
    assert_eq!(listed(&person, &[])[0]["title_from"], "not kept");
    person.gently(&["project", "new", "Zygote"]).exits(0);
    person
        .gently(&["conversation", "move", "last", "project-1"])
        .exits(0);
    let list = listed(&person, &["--project", "project-1"]);
    assert_eq!((list.len(), &list[0]["project"]["name"]), (1, &Value::Null));
    person.gently(&["project", "use", "Zygote"]).exits(2);
    person.gently(&["project", "use", "project-1"]).exits(0);
    asked(&person, &["--new", "Two?"]);
    assert_eq!(listed(&person, &[]).len(), 2);
    for words in ["Quetzal", "Zygote"] {
        assert!(!holds(&person, words), "{words}");
    }
    let screen: Ran = person.gently(&["conversation", "list"]).exits(0);
    assert!(screen.out.contains("(not kept)"), "{screen:#?}");
    let md = person
        .gently(&["conversation", "show", "last", "-o", "md"])
        .exits(0);
    assert!(md.out.contains("*(not kept)*"), "{md:#?}");
    verified(&person);
}

/// An exchange's id means its conversation, and so does how its title begins, as long as no other one
/// begins so.
#[test]
fn a_conversation_is_found_by_a_question_in_it_and_by_how_its_title_begins() {
    let (_server, person) = served();
    let told = json(&person, &["ask", "What is the VAT on books?"]);
    let exchange = told["id"].as_str().unwrap().to_owned();
    let (session, _) = exchange.split_once('/').unwrap();
    let taxes = json(
        &person,
        &["conversation", "rename", "last", "Tax questions"],
    );
    let taxes = taxes["conversation"].as_str().unwrap().to_owned();
    let taxi = json(&person, &["conversation", "new", "Taxi to the airport"]);
    let taxi = taxi["conversation"].as_str().unwrap().to_owned();
    let long = told["exchange"].as_str().unwrap();
    for (typed, expected) in [
        (exchange.as_str(), &taxes),
        ("interaction-1", &taxes),
        (long, &taxes),
        ("tax q", &taxes),
        ("TAXI", &taxi),
        ("Tax questions", &taxes),
    ] {
        let page = json(&person, &["conversation", "show", typed]);
        assert_eq!(page["conversation"], expected.as_str(), "{typed}");
    }
    let both = person.gently(&["conversation", "show", "tax"]).exits(2);
    assert!(
        both.err.contains("'tax' could be any of: ") && both.err.contains("Taxi to the airport"),
        "{both:#?}"
    );
    person.gently(&["conversation", "show", "ta"]).exits(2);
    // What is asked by that name goes on in it, and a search is about it.
    assert_eq!(
        asked(&person, &["--conversation", &exchange, "And on food?"]),
        taxes
    );
    let found = json(&person, &["search", "--conversation", &exchange, "VAT"]);
    assert_eq!(found["hits"].as_array().unwrap().len(), 1, "{found}");
    // What is no conversation is called what it is, with the command that is for it.
    assert_eq!(session.len(), 8);
    let other = person
        .gently(&["conversation", "archive", "fact-1"])
        .exits(2);
    assert!(
        other.err.contains("'fact-1' is a fact") && other.err.contains("gently show fact-1"),
        "{other:#?}"
    );
}

/// Behind an answer stand its session's digits, in the list a conversation's: each is taken where the
/// other is, and where it means several, they are named.
#[test]
fn a_session_s_digits_mean_what_was_asked_in_it_and_a_conversation_s_all_of_it() {
    let (_server, person) = served();
    let told = json(&person, &["ask", "What is the VAT on books?"]);
    let id = told["id"].as_str().unwrap().to_owned();
    let (session, _) = id.split_once('/').unwrap();
    let taxes = told["conversation"]["id"].as_str().unwrap().to_owned();
    for args in [
        &["conversation", "show", session][..],
        &["conversation", "rename", session, "Taxes of books"],
        &["conversation", "archive", session],
        &["conversation", "restore", &id],
        &["conversation", "delete", session, "--dry-run"],
        &["conversation", "export", session, "--out", "of-session.md"],
    ] {
        let view = json(&person, args);
        assert!(view.to_string().contains(&taxes), "{args:?}: {view}");
    }
    assert_eq!(
        asked(&person, &["--conversation", session, "And on food?"])[..8],
        taxes
    );
    person.gently(&["thread", "show", session]).exits(0);
    // By its digits and by its title it is shown, and shared as a whole.
    let page = person.gently(&["conversation", "show", &taxes]).exits(0);
    for typed in [taxes.as_str(), &taxes[..6], "Taxes of books"] {
        assert_eq!(
            person.gently(&["show", typed]).exits(0).out,
            page.out,
            "{typed}"
        );
    }
    assert_eq!(
        person.gently(&["show"]).exits(0).out,
        person.gently(&["show", "last"]).exits(0).out
    );
    let shared = |typed: &str, file: &str| {
        let view = json(&person, &["share", typed, "--yes", "--out", file]);
        view["opening"]["openings"].as_array().unwrap().len()
    };
    assert_eq!(shared(&taxes, "by-id.json"), 4);
    assert_eq!(shared(&taxes[..6], "by-few-digits.json"), 4);
    for typed in ["Taxes of books", "Taxes"] {
        let refused = person.gently(&["erase", typed, "--yes"]).exits(2).err;
        let command = "gently conversation delete";
        assert!(refused.contains(command), "{typed}: {refused}");
    }
    // Another conversation in the same session: a session means both, and none is guessed.
    let title = "Where to in May?";
    person.gently(&["conversation", "new", title]).exits(0);
    let other = json(&person, &["ask", "--conversation", title, "Or in June?"]);
    assert!(
        other["id"].as_str().unwrap().starts_with(session),
        "{other}"
    );
    for verb in ["show", "archive", "delete"] {
        let both = person.gently(&["conversation", verb, session]).exits(2);
        assert!(
            both.err.contains(" could be any of: ")
                && both.err.contains("\"Taxes of books\"")
                && both.err.contains("\"Where to in May?\""),
            "{both:#?}"
        );
    }
    let both = person.gently(&["thread", "show", session]).exits(2);
    assert!(both.err.contains("could be any of: thread "), "{both:#?}");
    assert_eq!(shared("Taxes of books", "by-title.json"), 4);
    assert_eq!(shared(session, "session.json"), 6);
    // Where a session is asked for, a conversation's digits are called what they are.
    let refused = person.gently(&["session", "show", &taxes]).exits(2);
    assert!(
        refused
            .err
            .contains("is a conversation: gently conversation show "),
        "{refused:#?}"
    );
    let nothing = person.gently(&["show", "99999999"]).exits(2);
    assert!(
        nothing
            .err
            .contains("nothing on record begins with '99999999'"),
        "{nothing:#?}"
    );
    verified(&person);
}

/// What a deletion says first is about what is there: nothing that was erased before counts, and the
/// models that got the words are named.
#[test]
fn what_a_deletion_says_first_is_so() {
    let (server, person) = served();
    let plan = |id: &str| {
        let shown = person.gently(&["conversation", "delete", id, "--dry-run"]);
        shown.exits(0).out
    };
    asked(&person, &["Please restart nginx."]);
    asked(&person, &["And the weather?"]);
    let told = json(&person, &["ask", "And tomorrow?"]);
    let third = told["id"].as_str().unwrap();
    // Of three exchanges one was erased, which had been shown the words of the others.
    person.gently(&["erase", third, "--yes"]).exits(0);
    let said = plan("last");
    assert!(
        said.contains(": 3 questions, 1 of them erased before, and puts"),
        "{said}"
    );
    assert!(
        said.contains("destroys 2 questions with their answers"),
        "{said}"
    );
    assert!(said.contains("action-1 (Please restart nginx"), "{said}");
    assert!(
        !said.contains(third) && !said.contains("also shown to a model"),
        "{said}"
    );
    let url = server.base_url();
    assert!(
        said.contains(&format!("was sent to openai/m at {url}: nothing is")),
        "{said}"
    );
    let view = json(&person, &["conversation", "delete", "last", "--dry-run"]);
    assert_eq!(
        view["erasure"]["sent_to"],
        serde_json::json!([format!("openai/m at {url}")])
    );
    // Of one in which nothing was asked, only the title goes.
    json(&person, &["conversation", "new", "Empty"]);
    let said = plan("Empty");
    assert!(
        said.contains("\"Empty\": nothing was asked in it, and puts"),
        "{said}"
    );
    assert!(said.contains("destroys its title"), "{said}");
    assert!(!said.contains("nothing to erase"), "{said}");
    let done = person
        .gently(&["conversation", "delete", "Empty", "--yes"])
        .exits(0);
    assert!(done.out.contains(": it is off the list\n"), "{done:#?}");
    let listed = json(&person, &["conversation", "list", "--archived"]);
    let of_list = &listed["conversations"][0];
    assert_eq!(
        (&of_list["state"], &of_list["deleted"]),
        (&"archived".into(), &true.into())
    );
    let shown = person
        .gently(&["conversation", "list", "--archived"])
        .exits(0);
    let words = ("deleted", "archived");
    assert!(
        shown.out.contains(words.0) && !shown.out.contains(words.1),
        "{shown:?}"
    );
    verified(&person);
}

/// The title of a conversation goes with the last of its texts, when those go for their age.
#[test]
fn a_title_does_not_outlive_what_it_is_of() {
    let (_server, person) = served();
    asked(&person, &["Who was that?"]);
    json(
        &person,
        &["conversation", "rename", "last", "walrus patient John"],
    );
    asked(&person, &["--new", "And who is this?"]);
    json(
        &person,
        &["conversation", "rename", "last", "penguin patient Ann"],
    );
    json(&person, &["conversation", "new", "nothing asked in it"]);
    // One question is erased by itself: the conversation may go on, and keeps its title.
    let one = person.gently(&["erase", "last", "--yes"]).exits(0).out;
    assert!(!one.contains("title") && holds(&person, "penguin"), "{one}");
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let plan = json(&person, &["erase", "--older-than", "0", "--dry-run"]);
    assert_eq!(plan["exchanges"].as_array().unwrap().len(), 1, "{plan}");
    assert_eq!(plan["titles"].as_array().unwrap().len(), 2, "{plan}");
    let dry = person.gently(&["erase", "--older-than", "0", "--dry-run"]);
    let said = dry.exits(0).out;
    assert!(
        said.contains("destroys the titles of conversations"),
        "{said}"
    );
    let erased = person.gently(&["erase", "--older-than", "0", "--yes"]);
    let done = erased.exits(0).out;
    let titles = done.matches("erased the title of conversation ").count();
    assert_eq!(titles, 2, "{done}");
    assert!(!holds(&person, "walrus") && !holds(&person, "penguin"));
    assert!(holds(&person, "nothing asked in it"));
    verified(&person);
}

/// A first conversation makes its home as a first question does; what could not begin makes none.
#[test]
fn a_conversation_in_no_home_makes_one() {
    let person = Person::new();
    for args in [
        &["conversation", "new", " "][..],
        &["conversation", "new", "last"],
        &["conversation", "new", "Law", "-m", "nobody/knows"],
    ] {
        person.gently(args).exits(2);
        assert!(!person.home().exists(), "{args:?}");
    }
    let told = person.gently(&["conversation", "new", "Law"]).exits(0);
    assert!(
        told.out.contains("Law") && told.err.contains("gently keeps your records in"),
        "{told:?}"
    );
    let again = person.gently(&["conversation", "new", "Tax"]).exits(0);
    assert!(!again.err.contains("keeps your records"), "{again:?}");
    person
        .gently(&["ask", "--conversation", "Law", "--sight", "How is it?"])
        .exits(0);
    person.gently(&["audit", "verify"]).exits(0);
}
