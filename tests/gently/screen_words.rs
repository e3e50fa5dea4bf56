//! The words of the screens: what people read has none of the record's own terms, and no id of
//! thirty-six characters. `docs/guide/words.md` says what is called how.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::model_server::{Behaviour, ModelServer};
use crate::person::{Person, Ran};

/// A home in which something of everything has happened.
struct Lived {
    person: Person,
    _server: ModelServer,
    /// What every command so far printed, with the command.
    screens: Vec<(String, String)>,
}

impl Lived {
    fn begin() -> Lived {
        let says = |text: &str| Behaviour::Says(text.to_owned());
        Lived::with(vec![
            says("Hello."),
            says("Done. I've restarted nginx."),
            says("Great question! The port is 8,849."),
            says("The disk is 12 % full."),
            says("It is so."),
            Behaviour::error(500, "The server is busy."),
            says("I will restart nginx now."),
            says("It is well."),
            says("It is well, still."),
            says("It is well, after all."),
        ])
    }

    fn with(replies: Vec<Behaviour>) -> Lived {
        let server = ModelServer::script(replies);
        let base = server.base_url();
        let person = Person::with(&[
            ("GENTLY_ANCHOR_MODE", "off"),
            ("GENTLY_MODEL_DEFAULT", "openai/small-1b"),
            ("GENTLY_MODEL_BASE_URL", base.as_str()),
            ("OPENAI_API_KEY", "test"),
        ])
        .under_the_kernel();
        Lived {
            person,
            _server: server,
            screens: Vec::new(),
        }
    }

    /// Runs a command and keeps what it printed.
    #[track_caller]
    fn run(&mut self, code: i32, args: &[&str]) -> Ran {
        let ran = self.person.gently(args).exits(code);
        let screen = format!("{}{}", ran.out, ran.err);
        self.screens.push((args.join(" "), screen));
        ran
    }
}

/// A word of the record that stands in a line, if one does.
pub fn foreign(line: &str) -> Option<String> {
    let lower = line.to_lowercase();
    // What a person can type, and what stands in a file of theirs.
    let plain = [
        "gently sight",
        // In the list of commands.
        "  sight  ",
        "--sight",
        "--no-sight",
        "sight.units",
        "rings.ring",
        "rings.refs",
        // Names of checks, by which a report tells them apart.
        "completeness.denies_sight",
        "completeness.refuses_sight",
        "completeness.sight_without_values",
        "evidence.contradicts_sight",
    ]
    .iter()
    .fold(lower, |line, typed| line.replace(typed, "…"));
    let words: Vec<&str> = plain
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let word = words
        .iter()
        .find(|word| matches!(**word, "aurora" | "sight" | "driftwatch" | "injected"));
    let row_name = [
        "artifact_hash",
        "authority_incompatible",
        "ring_cap_items",
        "_incompatible",
    ];
    let row_name = row_name.iter().find(|name| plain.contains(**name));
    let ring = words
        .windows(2)
        .any(|pair| pair[0] == "ring" && pair[1].bytes().all(|b| b.is_ascii_digit()))
        || words
            .iter()
            .any(|word| matches!(*word, "ring0" | "ring1" | "ring2"));
    let row = plain.split(' ').any(|part| {
        let number = part.rsplit_once(':').map(|(_, number)| number);
        let prefixes = [
            "ledger:",
            "note:",
            "decision:",
            "intent:",
            "conflict:",
            "action:",
        ];
        prefixes.iter().any(|prefix| part.contains(prefix))
            && number.is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()))
    });
    let uuid = plain
        .split(|c: char| !(c.is_ascii_hexdigit() || c == '-'))
        .find(|part| part.len() == 36 && part.matches('-').count() == 4);
    word.map(|word| (*word).to_owned())
        .or_else(|| row_name.map(|name| (*name).to_owned()))
        .or_else(|| ring.then(|| "a ring".to_owned()))
        .or_else(|| row.then(|| "a number of a record".to_owned()))
        .or_else(|| uuid.map(str::to_owned))
}

#[test]
fn foreign_words_are_known() {
    for line in [
        "speaker: aurora",
        "without sight",
        "Ring 0",
        "ring0.sight",
        "ring0.constraints",
        "artifact_hash of a row",
        "8e96540d/5 authority_incompatible",
        "injected: a note",
        "driftwatch:0042",
        "fact ledger:000001 is",
        "(action:000001)",
        "thread 6d1c0c30-5d9e-8f52-9d0e-0c2b5a1f3e77",
    ] {
        assert!(foreign(line).is_some(), "{line}");
    }
    for line in [
        "the ledger: gently/6d1c0c305d9e8f52",
        "gently sight shows it; --no-sight; sight.units",
        "rings.ring0.items, bring 2, insight, a ring",
        "81bb5b35/16 fact-1 2026-01-08T00:00:00Z",
        "on your intent: 3 words",
    ] {
        assert_eq!(foreign(line), None, "{line}");
    }
}

/// Everything that a person does in a few days.
fn live(home: &mut Lived) {
    home.run(0, &["ask", "Hello there"]);
    for (kind, text) in [
        ("fact", "The web server listens on port 80."),
        ("fact", "The web server listens on port 8080."),
    ] {
        home.run(0, &[kind, "add", text, "--subject", "web server port"]);
    }
    home.run(0, &["fact", "ratify", "fact-1"]);
    home.run(0, &["fact", "ratify", "2"]);
    home.run(0, &["note", "add", "nginx was slow on Monday."]);
    home.run(0, &["note", "add", "A note to forget."]);
    home.run(0, &["note", "retire", "note-2"]);
    home.run(0, &["decision", "add", "We keep nginx."]);
    home.run(0, &["intent", "set", "Keep the web server up."]);
    home.run(0, &["intent", "show"]);
    home.run(0, &["ask", "Please restart nginx"]);
    home.run(0, &["ask", "Which port has the web server?"]);
    home.run(
        0,
        &["ask", "--sight", "How full is the disk of this machine?"],
    );
    home.run(
        0,
        &["ask", "--deep", "-v", "And nginx, what was said of it?"],
    );
    home.run(2, &["ask", "Will this fail?"]);
    home.run(1, &["ask", ""]);
    home.run(1, &["ask", "--ref", "aaaaaaaa", "And that?"]);
    let thread = home.run(0, &["thread", "new", "desk"]).out;
    home.run(0, &["ask", "--thread", thread.trim(), "What about nginx?"]);
    home.run(0, &["conflict", "list"]);
}

/// Every way of looking at it, with the exit code.
const LOOKS: [(i32, &[&str]); 79] = [
    (0, &["session", "list"]),
    (0, &["session", "show", "last"]),
    (0, &["session", "summary"]),
    (0, &["thread", "list"]),
    (0, &["thread", "show"]),
    (0, &["thread", "show", "desk"]),
    (2, &["thread", "show", "nowhere"]),
    (0, &["conversation", "list"]),
    (0, &["conversation", "show", "last"]),
    (0, &["conversation", "show", "last", "-n", "1"]),
    (2, &["conversation", "show", "nowhere"]),
    (0, &["conversation", "rename", "last", "The desk"]),
    (0, &["project", "new", "Machines"]),
    (0, &["project", "list"]),
    (0, &["project", "use", "Machines"]),
    (0, &["project", "use", "none"]),
    (0, &["conversation", "move", "The desk", "Machines"]),
    (0, &["conversation", "delete", "The desk", "--dry-run"]),
    (0, &["search", "nginx"]),
    (0, &["search", "--best", "nginx", "OR", "port"]),
    (0, &["stats"]),
    (0, &["stats", "--by", "conversation"]),
    (0, &["assertion", "report"]),
    (0, &["assertion", "report", "--by", "domain"]),
    (0, &["specialist", "report"]),
    (0, &["log", "-n", "200"]),
    (0, &["show", "last"]),
    (0, &["show", "last", "--full"]),
    (0, &["show", "last/2", "--full"]),
    (0, &["show", "last/3", "--full"]),
    (0, &["show", "last/6", "--full"]),
    (0, &["show", "last/7", "--full"]),
    (0, &["show", "last/2"]),
    (0, &["show", "last/6"]),
    (0, &["show", "last/7"]),
    (0, &["context", "show"]),
    (0, &["context", "show", "last/3"]),
    (0, &["context", "show", "last/5"]),
    (0, &["context", "preview", "Which port has the web server?"]),
    (0, &["context", "preview", "--sight", "--deep", "nginx?"]),
    (1, &["context", "preview", " "]),
    (0, &["drift", "list", "--all"]),
    (0, &["drift", "show", "1"]),
    (2, &["drift", "show", "99"]),
    (0, &["drift", "ack", "drift-1", "--reason", "seen"]),
    (2, &["drift", "ack", "1"]),
    (0, &["drift", "show", "drift-1"]),
    (0, &["drift", "close", "1"]),
    (0, &["action", "list"]),
    (0, &["action", "show", "action-1"]),
    (2, &["action", "show", "99"]),
    (0, &["fact", "list", "--all"]),
    (2, &["fact", "ratify", "99"]),
    (0, &["fact", "ratify", "fact-1"]),
    (2, &["fact", "retire", "note-1"]),
    (0, &["note", "list", "--all"]),
    (0, &["decision", "list"]),
    (2, &["conflict", "resolve", "note-1"]),
    (0, &["conflict", "resolve", "fact-2", "--reason", "looked"]),
    (0, &["conflict", "list"]),
    (0, &["audit", "verify"]),
    (0, &["audit", "session", "last"]),
    (0, &["audit", "replay", "--all"]),
    (0, &["audit", "replay", "last"]),
    (0, &["audit", "rebuild", "--dry-run"]),
    (0, &["audit", "open", "last", "2", "--out", "opened.json"]),
    (
        0,
        &[
            "audit",
            "open",
            "--artifact",
            "note-1",
            "--out",
            "note.json",
        ],
    ),
    (0, &["audit", "check", "opened.json"]),
    (0, &["share", "last/2", "--yes", "--out", "shared.json"]),
    (0, &["check", "shared.json"]),
    (0, &["key", "list"]),
    (0, &["witness", "list"]),
    (1, &["anchor", "status"]),
    (0, &["sight"]),
    (0, &["model", "list"]),
    (0, &["backup", "home.age"]),
    (0, &["doctor"]),
    (0, &["erase", "last/2", "--yes"]),
    (0, &["erase", "note-1", "--yes"]),
];

/// The commands whose lines the verdict's own rebuilding mends, or that print a file as it is.
fn is_a_document(command: &str) -> bool {
    // A file to be edited, with the names of its keys.
    command == "kernel show"
}

/// A screen without the exact words that a model was sent: those are the prompt's.
fn without_what_was_sent(screen: &str) -> String {
    let heading = "\nsent to the model, put together again\n";
    let Some((before, sent)) = screen.split_once(heading) else {
        return screen.to_owned();
    };
    let own = sent
        .lines()
        .skip_while(|line| line.is_empty() || line.starts_with(' '));
    format!("{before}\n{}", own.collect::<Vec<_>>().join("\n"))
}

#[test]
fn no_screen_has_a_word_of_the_record() {
    let mut home = Lived::begin();
    live(&mut home);
    home.person
        .set("GENTLY_PASSPHRASE", "a long passphrase for the backup");
    for (code, args) in LOOKS {
        home.run(code, args);
    }
    home.run(0, &["session", "close"]);
    home.run(0, &["kernel", "show"]);
    let mut found = BTreeSet::new();
    for (command, screen) in &home.screens {
        let own = without_what_was_sent(screen);
        for line in own.lines().filter(|_| !is_a_document(command)) {
            found.extend(foreign(line).map(|word| format!("gently {command}\n    {word}: {line}")));
        }
    }
    let found: Vec<String> = found.into_iter().collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// What was changed is named by what it holds; with `-v` and in JSON by its row.
#[test]
fn no_finding_of_a_changed_home_has_a_word_of_the_record() {
    let mut home = Lived::begin();
    home.run(0, &["ask", "Hello there"]);
    home.run(0, &["ask", "Please restart nginx"]);
    let database = rusqlite::Connection::open(home.person.home().join("gently.db")).unwrap();
    let looks: [&[&str]; 3] = [
        &["audit", "verify"],
        &["audit", "session", "last"],
        &["show", "last", "--full"],
    ];
    // The text of a turn is what `show` holds against its hash; the rest is for `audit verify`.
    for (change, shown, named) in [
        (
            "UPDATE chat_turn SET content = content || '!' WHERE speaker = 'aurora'",
            1,
            "answer",
        ),
        (
            "UPDATE chat_turn SET content = substr(content, 1, length(content) - 1) WHERE speaker = 'aurora'",
            0,
            "",
        ),
        (
            "UPDATE context_artifact_ref SET artifact_hash = NULL",
            0,
            "question",
        ),
    ] {
        assert!(database.execute(change, []).unwrap() > 0, "{change}");
        if named.is_empty() {
            // As it was again.
            continue;
        }
        let with_rows = home.person.gently(&["audit", "verify", "-v"]).exits(1).out;
        assert_eq!(
            with_rows.contains("chat_turn"),
            named == "answer",
            "{with_rows}"
        );
        home.screens.clear();
        for look in looks {
            home.run(if look[0] == "show" { shown } else { 1 }, look);
        }
        let told = &home.screens[0].1;
        let listed = home.person.gently(&["session", "show", "last"]).exits(0);
        let id = listed
            .out
            .split_whitespace()
            .find(|word| word.ends_with("/1"));
        let told_first = format!("✘ Changed: database, {named} {}", id.unwrap());
        assert!(told.starts_with(&told_first), "{told}");
        for (command, screen) in &home.screens {
            for line in without_what_was_sent(screen).lines() {
                assert_eq!(foreign(line), None, "{command}: {line}");
                let is_row = [
                    "llm_exchange",
                    "chat_turn",
                    "context_artifact_ref",
                    "_hash ",
                ]
                .iter()
                .any(|name| line.contains(name));
                assert!(!is_row, "{command}: {line}");
            }
        }
    }
}

/// Every id that a screen prints is taken by the command that it belongs to.
#[test]
fn what_a_screen_calls_something_is_what_commands_take() {
    let mut home = Lived::begin();
    live(&mut home);
    let first = |screen: &str| {
        let words = screen.lines().map(|line| line.split_whitespace().next());
        words.flatten().next().unwrap().to_owned()
    };
    for (list, show) in [
        (&["drift", "list"][..], &["drift", "show"][..]),
        (&["action", "list"], &["action", "show"]),
        (&["thread", "list"], &["thread", "show"]),
        (&["note", "list"], &["note", "retire"]),
        (&["decision", "list"], &["decision", "retire"]),
        (&["fact", "list"], &["erase", "--yes"]),
    ] {
        let id = first(&home.run(0, list).out);
        assert!(id.len() <= 12, "{id}");
        let args: Vec<&str> = show.iter().copied().chain([id.as_str()]).collect();
        home.run(0, &args);
    }
    // What was asked and answered in a thread stands under its exchange, which every command takes.
    let shown = home.run(0, &["thread", "show", "desk"]).out;
    assert!(
        shown.contains("    question  What about nginx?\n"),
        "{shown}"
    );
    assert!(shown.contains("    decision  allowed\n"), "{shown}");
    let exchange = shown.lines().find(|line| line.contains('/')).unwrap();
    let exchange = exchange.split_whitespace().next().unwrap().to_owned();
    home.run(0, &["show", &exchange]);
    let under = home.run(0, &["thread", "show", &exchange]).out;
    assert_eq!(under, shown);
    home.run(
        0,
        &["ask", "--thread", "desk", "--ref", &exchange, "And that?"],
    );
    // In another thread it is none that can be referred to, and says where it is.
    let refused = home
        .run(1, &["ask", "--new", "--ref", &exchange, "And that?"])
        .err;
    let thread = shown.split_whitespace().nth(1).unwrap();
    let told = format!(" {exchange} stands in thread {thread}, and a question refers");
    assert!(refused.contains(&told), "{refused}");
    let told = home.run(0, &["session", "show", "last"]).out;
    assert!(
        told.contains("denied (it refers to another thread)"),
        "{told}"
    );
    let told = home.run(0, &["thread", "show"]).out;
    assert!(
        told.contains("    decision  denied: it refers to another thread\n"),
        "{told}"
    );
    // A warning is called the same wherever it stands.
    home.run(0, &["ask", "Please restart nginx"]);
    home.run(0, &["ask", "And nginx?"]);
    for screen in [&["context", "show"][..], &["show", "last", "--full"]] {
        let told = without_what_was_sent(&home.run(0, screen).out);
        let names: Vec<&str> = told
            .split(|c: char| !c.is_alphanumeric() && c != '-')
            .filter(|word| word.starts_with("drift-"))
            .collect();
        assert!(!names.is_empty(), "{told}");
        for name in names {
            home.run(0, &["drift", "show", name]);
            assert!(name.len() <= 8, "{told}");
        }
    }
}

#[test]
fn a_warning_says_what_was_claimed_in_the_answers_own_words() {
    let mut home = Lived::begin();
    live(&mut home);
    let line = "⚠ The answer says it restarted something (\"I've restarted nginx.\"). gently did nothing. (authority)";
    let asked = |home: &Lived, command: &str| -> String {
        let of = |(known, _): &&(String, String)| known == command;
        home.screens.iter().find(of).unwrap().1.clone()
    };
    let told = asked(&home, "ask Please restart nginx");
    assert!(told.lines().any(|one| one == line), "{told}");
    assert!(!told.contains("claimed_side_effect"), "{told}");
    // What disagrees is said before the answer: it comes first on standard error.
    let told = asked(&home, "ask Which port has the web server?");
    let conflict = "⚠ The record disagrees on 'web server port': \"The web server listens on port 80.\" (fact-1), \
                    \"The web server listens on port 8080.\" (fact-2). Say which one holds: gently conflict resolve fact-1 (or fact-2)";
    assert!(told.lines().any(|one| one == conflict), "{told}");
    // Tone is on record and not told.
    assert!(!told.contains("flatters"), "{told}");

    let ran = home.run(0, &["show", "last/2", "--json"]);
    let shown: Value = ran.json();
    let warning = &shown["warnings"][0];
    assert_eq!(warning["class"], "authority");
    assert_eq!(warning["reason"], "claimed_side_effect");
    assert_eq!(warning["found_on"], "I've restarted nginx.");
    let sentence = warning["sentence"].as_str().unwrap();
    assert!(line.contains(sentence), "{sentence}");
    let event = home.run(0, &["drift", "show", "1"]).out;
    assert!(event.contains(sentence), "{event}");
    let listed = home.run(0, &["drift", "list"]).out;
    assert!(
        listed.contains("    The answer says it did something. gently did nothing.\n"),
        "{listed}"
    );
}

#[test]
fn an_ask_as_json_says_what_its_screen_says() {
    let mut home = Lived::begin();
    home.run(0, &["ask", "Hello there"]);
    let ran = home.run(0, &["ask", "--json", "Please restart nginx"]);
    let told: Value = ran.json();
    assert_eq!(
        told["warnings"],
        serde_json::json!([{
            "class": "authority",
            "found_on": "I've restarted nginx.",
            "reason": "claimed_side_effect",
            "sentence": "The answer says it restarted something (\"I've restarted nginx.\"). gently did nothing.",
        }])
    );
    assert_eq!(told["conflicts"], serde_json::json!([]));
    assert_eq!(
        told["drift"]["events"][0]["summary"],
        "claimed_side_effect count=1 sentences=1"
    );
}

#[test]
fn a_locale_without_the_sign_has_two_marks() {
    let claim = || Behaviour::Says("I've restarted nginx.".to_owned());
    let mut home = Lived::with(vec![claim(), claim()]);
    home.run(0, &["init"]);
    for (locale, sign) in [("C", "!!"), ("de_DE.UTF-8", "⚠")] {
        let mut asking = home.person.command(&["ask", "Please restart nginx"]);
        let told = crate::person::run(asking.env("LC_ALL", locale)).err;
        let line = told.lines().find(|line| line.ends_with("(authority)"));
        let line = line.unwrap_or_else(|| panic!("{told}"));
        assert!(
            line.starts_with(&format!("{sign} The answer says")),
            "{line}"
        );
        // What became of the question comes first, then what a person should know.
        let recorded = told.find("/1").or_else(|| told.find("/2")).unwrap();
        assert!(recorded < told.find(line).unwrap(), "{told}");
        assert_eq!(told.is_ascii(), locale == "C", "{told}");
    }
}
