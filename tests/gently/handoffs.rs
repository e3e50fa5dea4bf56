//! Handoffs through the program: a conversation is summed up, and later questions are shown that and
//! what came after it.

use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::model_server::{Behaviour, ModelServer};
use crate::opening::{scripted, served};
use crate::person::Person;
use crate::pty::Typist;
use crate::unguarded::{found_and_made_again, unguarded};

const SUMMARY: &str = "GOAL\nA trip to Lisbon.\nDECISIONS\nBy train.\nSTATUS\nNothing is booked.\nACTIVE FILE\nnone\n\
                       PREFERENCES\nShort answers.\nRESUME\nBook the train.";

/// Somebody whose model says what the list says, one after the other, the last one from then on.
fn with_replies(replies: &[&str]) -> (Person, ModelServer) {
    let script = replies
        .iter()
        .map(|text| Behaviour::Says((*text).to_owned()));
    let (person, server) = scripted(script.collect());
    person.gently(&["init"]).exits(0);
    (person, server)
}

fn asked(person: &Person, question: &str) -> Value {
    person.gently(&["ask", "--json", question]).exits(0).json()
}

fn made(person: &Person, args: &[&str]) -> Value {
    let all = [&["handoff", "run", "--json"], args].concat();
    person.gently(&all).exits(0).json()["runs"][0].clone()
}

/// What the model was sent last, without the system's part, and without what was seen of this machine.
fn sent(server: &ModelServer) -> Vec<(String, String)> {
    let request = server.requests().last().unwrap().json();
    let messages = request["messages"].as_array().unwrap().clone();
    let said = messages.iter().filter(|one| one["role"] != "system");
    let said = said.map(|one| {
        let (role, content) = (
            one["role"].as_str().unwrap(),
            one["content"].as_str().unwrap(),
        );
        let text = match content.strip_prefix("This machine:") {
            Some(seen) => seen.rsplit("\n\n").next().unwrap(),
            None => content,
        };
        (role.to_owned(), text.to_owned())
    });
    said.collect()
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

fn consistent(person: &Person) -> Value {
    person.verified()["answers"]["consistent"].clone()
}

#[test]
fn a_conversation_is_summed_up_and_gone_on_from() {
    let (person, server) = with_replies(&["By train.", "Short, then.", SUMMARY, "At nine."]);
    let first = asked(&person, "How do I get to Lisbon?");
    asked(&person, "Please be short.");
    let run = made(&person, &[]);
    assert_eq!(
        (&run["handoff"], &run["trigger"], &run["text"], &run["exit"]),
        (
            &json!("handoff:000001"),
            &json!("manual"),
            &json!(SUMMARY),
            &json!(0)
        ),
        "{run:#}"
    );
    let request = server.requests()[2].json();
    assert_eq!(request["max_tokens"], 900, "{request:#}");
    let shown = sent(&server);
    let texts: Vec<&str> = shown.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(
        texts[..4],
        [
            "How do I get to Lisbon?",
            "By train.",
            "Please be short.",
            "Short, then."
        ]
    );
    assert!(
        texts[4].contains("ACTIVE FILE") && texts.len() == 5,
        "{texts:?}"
    );
    // It is no message: neither counted nor shown as one, and not what `last` means.
    let conversation = first["conversation"]["id"].as_str().unwrap();
    let listed = person
        .gently(&["conversation", "list", "--json"])
        .exits(0)
        .json();
    assert_eq!(listed["conversations"][0]["questions"], 2, "{listed:#}");
    let read = person
        .gently(&["conversation", "show", conversation])
        .exits(0)
        .out;
    assert!(
        !read.contains("GOAL") && read.contains("Short, then."),
        "{read}"
    );
    let last = person.gently(&["show", "last", "--json"]).exits(0).json();
    assert!(last.to_string().contains("Please be short."), "{last:#}");
    let valid = person
        .gently(&["handoff", "list", "--json"])
        .exits(0)
        .json();
    assert_eq!(
        (
            &valid[0]["state"],
            &valid[0]["thread_number"],
            &valid[0]["exchange"]
        ),
        (&json!("valid"), &json!(1), &run["exchange"]),
        "{valid:#}"
    );
    // The next question is shown the handoff and nothing before it.
    let next = person.gently(&["ask", "When does it leave?"]).exits(0);
    assert!(next.err.contains("shown: handoff-1"), "{next:#?}");
    let shown = sent(&server);
    assert_eq!(
        shown[1],
        ("assistant".to_owned(), SUMMARY.to_owned()),
        "{shown:?}"
    );
    assert_eq!(shown.last().unwrap().1, "When does it leave?");
    assert_eq!(shown.len(), 3, "{shown:?}");
    let told = person
        .gently(&["ask", "--json", "And when does it arrive?"])
        .exits(0)
        .json();
    assert!(
        told["notes"]
            .to_string()
            .contains("shown: handoff-1 and 2 messages after it"),
        "{told:#}"
    );
    let shown = sent(&server);
    let texts: Vec<&str> = shown.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(
        texts[2..],
        [
            "When does it leave?",
            "At nine.",
            "And when does it arrive?"
        ]
    );
    // What a person declares wins.
    let own = person
        .gently(&["ask", "--ref", "last:1", "Really?"])
        .exits(0);
    assert!(!own.err.contains("handoff"), "{own:#?}");
    assert_eq!(sent(&server).len(), 3);
    let none = person.gently(&["ask", "--no-ref", "Hello"]).exits(0);
    assert!(!none.err.contains("handoff"), "{none:#?}");
    assert_eq!(sent(&server).len(), 1);
    let stale = person.gently(&["handoff", "list"]).exits(0);
    assert!(
        stale.out.starts_with(
            "handoff-1  stale: 8 messages after it; the next question is shown it, and them"
        ) && stale.out.contains("asked for, "),
        "{stale:#?}"
    );
    for shown in [
        &["handoff", "show"][..],
        &["show", "handoff-1"],
        &["handoff", "show", "handoff-1"],
    ] {
        let shown = person.gently(shown).exits(0);
        assert!(shown.out.ends_with(&format!("{SUMMARY}\n")), "{shown:#?}");
    }
    // It is replayed, and both verifiers hold.
    person.gently(&["audit", "replay", "--all"]).exits(0);
    assert_eq!(consistent(&person), "yes");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut second = Command::new("python3");
    second
        .arg(root.join("scripts/verify.py"))
        .arg(person.at("ledger.git"))
        .arg("--log")
        .arg(person.at("audit.log"));
    crate::person::run(&mut second).exits(0);
}

#[test]
fn a_reply_without_the_headings_is_no_handoff() {
    let short = SUMMARY.replace("RESUME\n", "").replace("GOAL", "Goals");
    let (person, _server) = with_replies(&["Hi.", &short, "", SUMMARY]);
    asked(&person, "Hello");
    let refused = person.gently(&["handoff", "run"]).exits(1);
    let said = refused.err.replace("\n  ", " ");
    assert!(
        said.contains("it lacks GOAL, RESUME: it stays on record as an exchange"),
        "{refused:#?}"
    );
    assert_eq!(refused.out, "");
    assert!(
        said.contains("to ask again: ") && said.contains(" -m MODEL"),
        "{refused:#?}"
    );
    let empty = person.gently(&["handoff", "run", "--json"]);
    assert!(empty.code == 1 || empty.code == 2, "{empty:#?}");
    let view = &empty.json()["runs"][0];
    assert_eq!(
        (&view["handoff"], &view["text"]),
        (&Value::Null, &Value::Null),
        "{view:#}"
    );
    let list = person
        .gently(&["handoff", "list", "--json"])
        .exits(0)
        .json();
    assert_eq!(list, json!([]));
    let artifacts: i64 = person
        .database()
        .query_row(
            "SELECT count(*) FROM artifact WHERE kind = 'handoff'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(artifacts, 0);
    assert_eq!(made(&person, &[])["handoff"], "handoff:000001");
    // A second one has the next number, and is the one that is gone on from.
    assert_eq!(made(&person, &[])["handoff"], "handoff:000002");
    let next = person.gently(&["ask", "And now?"]).exits(0);
    assert!(next.err.contains("shown: handoff-2\n"), "{next:#?}");
    person.gently(&["audit", "replay", "--all"]).exits(0);
    assert_eq!(consistent(&person), "yes");
}

#[test]
fn a_handoff_that_was_changed_by_hand_is_found_and_made_again() {
    let (person, server) = with_replies(&["Hi.", SUMMARY, "Well."]);
    asked(&person, "Hello");
    made(&person, &[]);
    let changes = [
        "UPDATE handoff SET upto = 0",
        "UPDATE handoff SET trigger_name = 'time_gap'",
        "UPDATE handoff SET thread_number = 7",
        "UPDATE handoff SET specialist = 'specialist:000001'",
        "UPDATE handoff SET exchange_id = (SELECT exchange_id FROM llm_exchange ORDER BY prompt_line LIMIT 1)",
        "DELETE FROM handoff",
    ];
    found_and_made_again(&person, &changes);
    // A row that says something else than its artifact is gone on from by nobody.
    let change = "UPDATE handoff SET upto = upto - 1";
    unguarded(person.home().join("gently.db"))
        .execute(change, [])
        .unwrap();
    let next = person.gently(&["ask", "And now?"]).exits(0);
    assert!(!next.err.contains("handoff-1"), "{next:#?}");
    assert_eq!(sent(&server)[0].1, "Hello");
    person.gently(&["audit", "rebuild"]).exits(0);
    // Erasing the exchange erases the text; the artifact, which has none, stays.
    let shown = person
        .gently(&["handoff", "show", "--json"])
        .exits(0)
        .json();
    let exchange = shown["exchange"].as_str().unwrap();
    person.gently(&["erase", exchange, "--yes"]).exits(0);
    let gone = person.gently(&["handoff", "show"]).exits(1);
    let said = gone.err.replace("\n  ", " ");
    assert!(
        said.contains("handoff-1  not valid: its text is erased"),
        "{gone:#?}"
    );
    let gone = person
        .gently(&["handoff", "list", "--json"])
        .exits(0)
        .json();
    assert_eq!(
        (&gone[0]["state"], &gone[0]["missing"], &gone[0]["text"]),
        (&json!("not valid"), &json!("erased"), &Value::Null)
    );
    let next = person.gently(&["ask", "And then?"]).exits(0);
    assert!(!next.err.contains("shown: handoff"), "{next:#?}");
    assert_eq!(sent(&server)[0].1, "Hello");
    assert_eq!(consistent(&person), "yes");
    person.gently(&["erase", "handoff-1", "--yes"]).exits(0);
    assert_eq!(
        person
            .gently(&["handoff", "list", "--json"])
            .exits(0)
            .json(),
        json!([])
    );
    assert_eq!(consistent(&person), "yes");
}

#[test]
fn what_is_due_is_said_after_an_answer_and_made_where_the_owner_wants_it() {
    let (mut person, server) = with_replies(&["Yes."]);
    for n in 1..15 {
        let told = person.gently(&["ask", &format!("Question {n}?")]).exits(0);
        assert!(!told.err.contains("handoff"), "{told:#?}");
    }
    let told = person.gently(&["ask", "Question 15?"]).exits(0);
    let said = told.err.replace("\n  ", " ");
    assert!(
        said.contains("a handoff is due: 30 messages without one: ")
            && said.contains(" handoff run "),
        "{told:#?}"
    );
    let told = asked(&person, "Question 16?");
    assert_eq!(
        (
            &told["handoff_due"]["trigger"],
            &told["handoff_due"]["message_count"]
        ),
        (&json!("message_count"), &json!(32)),
        "{told:#}"
    );
    // A day later, in a conversation of few messages.
    let fresh = person.gently(&["ask", "--new", "One?"]).exits(0);
    assert!(!fresh.err.contains("handoff"), "{fresh:#?}");
    for question in ["Two?", "Three?"] {
        person.gently(&["ask", "-c", question]).exits(0);
    }
    person.lives_at(now() + 24 * 60 * 60 + 5);
    let late = person.gently(&["ask", "-c", "Still there?"]).exits(0);
    let said = late.err.replace("\n  ", " ");
    assert!(
        said.contains("a handoff is due: nobody had said anything for 24 hours: "),
        "{late:#?}"
    );
    // Where a specialist says how little its model takes.
    let small = [
        "specialist",
        "add",
        "small",
        "-m",
        "openai/tiny-1b",
        "--window",
        "300",
    ];
    person.gently(&small).exits(0);
    let before = server.requests().len();
    person
        .gently(&["config", "set", "handoff.auto", "true"])
        .exits(0);
    let long = "word ".repeat(170);
    let full = person
        .gently(&[
            "ask",
            "-c",
            "--no-ref",
            "--json",
            "--specialist",
            "small",
            &long,
        ])
        .code;
    // Whether or not a window so small takes the question, nothing else was asked than it and, where it
    // was answered, the handoff.
    assert!(full == 0 || full == 2, "{full}");
    assert!(server.requests().len() <= before + 2);
}

#[test]
fn an_automatic_handoff_follows_the_answer() {
    let (person, server) = with_replies(&["Yes."]);
    for n in 1..15 {
        asked(&person, &format!("Question {n}?"));
    }
    person
        .gently(&["config", "set", "handoff.auto", "true"])
        .exits(0);
    let told = person.gently(&["ask", "Question 15?"]).exits(0);
    assert_eq!(told.out, "Yes.\n");
    let said = told.err.replace("\n  ", " ");
    assert!(
        said.contains("no handoff") && said.contains("it lacks GOAL"),
        "{told:#?}"
    );
    assert_eq!(server.requests().len(), 16);
    let replies: Vec<&str> = std::iter::repeat_n("Yes.", 15).chain([SUMMARY]).collect();
    let (person, server) = with_replies(&replies);
    person
        .gently(&["config", "set", "handoff.auto", "true"])
        .exits(0);
    let mut typist = Typist::begin(&person, (24, 80), &["chat"]);
    for n in 1..16 {
        typist.sees("> ");
        typist.types(&format!("Question {n}?\r"));
        typist.sees("Yes.");
    }
    typist.sees("handoff-1");
    typist.types("And now?\r");
    typist.sees("shown: handoff-1");
    typist.types("/quit\r");
    typist.ends().exits(0);
    assert_eq!(server.requests().len(), 17);
    let shown = person
        .gently(&["handoff", "list", "--json"])
        .exits(0)
        .json();
    assert_eq!(shown[0]["trigger"], "message_count", "{shown:#}");
    person.gently(&["audit", "replay", "--all"]).exits(0);
    assert_eq!(consistent(&person), "yes");
}

#[test]
fn what_has_no_handoff_gets_one_when_it_is_due() {
    let (person, server) = with_replies(&["Yes.", "Yes.", "Yes.", "Yes.", SUMMARY, SUMMARY, "no"]);
    let none = person.gently(&["handoff", "run", "--due"]).exits(0);
    assert!(none.err.contains("no handoff is due"), "{none:#?}");
    for question in ["One?", "Two?", "Three?"] {
        asked(&person, question);
    }
    // Another one of too few messages.
    person.gently(&["ask", "--new", "Hello?"]).exits(0);
    let due = person
        .gently(&["handoff", "run", "--due", "--json"])
        .exits(0)
        .json();
    let runs = due["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 1, "{due:#}");
    assert_eq!(
        (&runs[0]["trigger"], &runs[0]["handoff"], &runs[0]["title"]),
        (
            &json!("coverage_job_no_backup"),
            &json!("handoff:000001"),
            &json!("One?")
        )
    );
    let none = person
        .gently(&["handoff", "run", "--due", "--json"])
        .exits(0)
        .json();
    assert_eq!(none["runs"], json!([]));
    // The conversation that goes on is still the one that a person asked in last.
    let list = person
        .gently(&["conversation", "list", "--json"])
        .exits(0)
        .json();
    assert_eq!(list["conversations"][0]["title"], "Hello?", "{list:#}");
    let first = list["conversations"][1]["id"].as_str().unwrap();
    person
        .gently(&["ask", "--conversation", first, "Four?"])
        .exits(0);
    let stale = person.gently(&["handoff", "run", "--due", "--json"]);
    assert_eq!(stale.code, 1, "{stale:#?}");
    let stale = stale.json();
    assert_eq!(
        stale["runs"][0]["trigger"], "coverage_job_stale",
        "{stale:#}"
    );
    assert_eq!(server.requests().len(), 7);
    // Each that fails is named, and the others go on.
    for question in ["Five?", "Six?"] {
        person.gently(&["ask", "--new", question]).exits(0);
        person.gently(&["ask", "-c", "More?"]).exits(0);
        person.gently(&["ask", "-c", "Even more?"]).exits(0);
    }
    let both = person.gently(&["handoff", "run", "--due"]).exits(1);
    for title in ["\"Five?\"", "\"Six?\"", "\"One?\""] {
        assert!(both.err.contains(title), "{title}: {both:#?}");
    }
    let views: i64 = person
        .database()
        .query_row(
            "SELECT count(*) FROM context_backups WHERE is_valid",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(views, 0);
    person.gently(&["audit", "replay", "--all"]).exits(0);
    assert_eq!(consistent(&person), "yes");
}

#[test]
fn a_specialist_writes_a_handoff_and_counters_begin_anew() {
    // Adding a specialist looks for the server of its model, which takes the first.
    let replies = ["Nothing.", "Yes, of course.", "Yes, of course.", SUMMARY];
    let (person, _server) = with_replies(&replies);
    person
        .gently(&["specialist", "add", "writer", "-m", "openai/writer-1b"])
        .exits(0);
    asked(&person, "One?");
    asked(&person, "Two?");
    let counters = || {
        let database = person.database();
        let sql = "SELECT json_array(specialist, token_estimate, message_count, thread_number) FROM token_counters \
                   ORDER BY specialist";
        let mut statement = database.prepare(sql).unwrap();
        let rows = statement
            .query_map([], |row| row.get::<_, String>(0))
            .unwrap();
        rows.map(Result::unwrap).collect::<Vec<_>>()
    };
    let before = counters();
    assert_eq!(before.len(), 1);
    // 4 + 4 + 15 + 15 characters.
    assert!(before[0].ends_with(",9,4,0]"), "{before:?}");
    let run = made(&person, &["--specialist", "writer"]);
    assert_eq!(run["model"], "openai/writer-1b", "{run:#}");
    assert!(counters()[0].ends_with(",0,0,1]"), "{:?}", counters());
    let backup: String = person
        .database()
        .query_row(
            "SELECT json_array(backup_id, specialist, trigger, thread_number, backup_text, is_valid) FROM context_backups",
            [],
            |row| row.get(0),
        )
        .unwrap();
    let expected = json!([
        "handoff:000001",
        "specialist:000001",
        "manual",
        1,
        SUMMARY,
        1
    ]);
    assert_eq!(serde_json::from_str::<Value>(&backup).unwrap(), expected);
    // Who answered in the conversation last answers again, and not who summed it up.
    let next = asked(&person, "Three?");
    assert_ne!(next["model"], "openai/writer-1b", "{next:#}");
}

#[test]
fn what_can_not_be_summed_up_is_refused_and_nobody_is_asked() {
    let (mut person, server) = served(Behaviour::Says(SUMMARY.to_owned()));
    person.gently(&["init"]).exits(0);
    let none = person.gently(&["handoff", "run"]).exits(2);
    assert!(none.err.contains("no open conversation"), "{none:#?}");
    let none = person.gently(&["handoff", "show"]).exits(2);
    assert!(none.err.contains("there is no handoff yet"), "{none:#?}");
    let none = person.gently(&["handoff", "show", "handoff-7"]).exits(2);
    assert!(
        none.err.contains("there is no handoff 'handoff-7'"),
        "{none:#?}"
    );
    asked(&person, "Hello");
    let unknown = person.gently(&["handoff", "run", "nowhere"]).exits(2);
    assert!(unknown.err.contains("nowhere"), "{unknown:#?}");
    let both = person.gently(&["handoff", "run", "last", "--due"]).exits(2);
    assert!(both.err.contains("don't go together"), "{both:#?}");
    person.gently(&["erase", "last", "--yes"]).exits(0);
    let erased = person.gently(&["handoff", "run"]).exits(2);
    let said = erased.err.replace("\n  ", " ");
    assert!(said.contains("there is nothing to sum up"), "{erased:#?}");
    person.set("GENTLY_STORE_CONTENT", "none");
    asked(&person, "Hello again");
    let unkept = person.gently(&["handoff", "run"]).exits(2);
    let said = unkept.err.replace("\n  ", " ");
    assert!(said.contains("no texts are kept here"), "{unkept:#?}");
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn a_home_that_is_adopted_has_the_handoffs_whose_artifacts_it_has() {
    let (mut person, _server) = with_replies(&["Hi.", SUMMARY, SUMMARY, "Well."]);
    person.set("GENTLY_PASSPHRASE", "correct horse");
    asked(&person, "Hello");
    made(&person, &[]);
    let rows = |person: &Person| {
        let sql = "SELECT json_group_array(json_array(line, id, exchange_id, thread_id, specialist, thread_number, \
                   trigger_name, upto)) FROM handoff ORDER BY line";
        let database = person.database();
        let rows: String = database.query_row(sql, [], |row| row.get(0)).unwrap();
        serde_json::from_str::<Value>(&rows).unwrap()
    };
    let before = rows(&person);
    assert_eq!(before.as_array().unwrap().len(), 1);
    let place = |name: &str| person.home().with_file_name(name);
    let text = |name: &str| place(name).display().to_string();
    person.gently(&["backup", &text("b.age")]).exits(0);
    // Behind the backup there is another one.
    made(&person, &[]);
    person.gently(&["session", "close"]).exits(0);
    let mut mirror = Command::new("git");
    mirror
        .args(["clone", "--quiet", "--mirror"])
        .args([person.at("ledger.git"), place("published.git")]);
    crate::person::run(&mut mirror).exits(0);
    std::fs::rename(person.home(), place("lost")).unwrap();
    person.gently(&["restore", &text("b.age")]).exits(0);
    person
        .gently(&["audit", "adopt", "--from", &text("published.git")])
        .exits(0);
    // Its document is lost with the database: there is no row of it, and none too many.
    assert_eq!(rows(&person), before);
    assert_eq!(consistent(&person), "yes");
    let list = person
        .gently(&["handoff", "list", "--json"])
        .exits(0)
        .json();
    assert_eq!(
        (&list[0]["id"], &list[0]["state"]),
        (&json!("handoff:000001"), &json!("valid")),
        "{list:#}"
    );
    let next = person.gently(&["handoff", "run", "--json"]).exits(1);
    let next = &next.json()["runs"][0];
    assert_eq!(next["handoff"], Value::Null, "{next:#}");
    assert_eq!(consistent(&person), "yes");
}

/// What is erased is said by no handoff that summed it up, and whoever erases is told where else its words
/// stand.
#[test]
fn what_is_erased_is_gone_on_from_by_nobody() {
    let (person, server) = with_replies(&["Hi.", SUMMARY, "Well."]);
    let asked = asked(&person, "I have the quibblitis.");
    let first = asked["id"].as_str().unwrap().to_owned();
    made(&person, &[]);
    let erased = person.gently(&["erase", &first, "--yes"]).exits(0);
    let told = format!("{} {}", erased.out, erased.err).replace("\n  ", " ");
    assert!(
        told.contains("said about it, and not erased with it: "),
        "{told}"
    );
    let next = person.gently(&["ask", "And now?"]).exits(0);
    assert!(!next.err.contains("shown: handoff-1"), "{next:#?}");
    let sent = server.requests().last().unwrap().json().to_string();
    assert!(!sent.contains("RESUME"), "{sent}");
    assert_eq!(consistent(&person), "yes");
}

/// Members of a council are shown what any question of the conversation is shown, and it is said once.
#[test]
fn a_council_goes_on_from_a_handoff() {
    let (person, server) = served(Behaviour::By(|body| {
        let text = body.to_string();
        Behaviour::Says(match () {
            () if body["max_tokens"] == 900 => SUMMARY.to_owned(),
            () if text.contains("what another model said") => {
                json!({"verdict": "agree", "why": "So it is."}).to_string()
            }
            () => "By train.".to_owned(),
        })
    }));
    person.gently(&["init"]).exits(0);
    for name in ["one", "two"] {
        let model = format!("openai/{name}-1b");
        person
            .gently(&["specialist", "add", name, "-m", &model])
            .exits(0);
    }
    asked(&person, "Oldest: how do I get there?");
    made(&person, &[]);
    asked(&person, "Newest: and back?");
    let before = server.requests().len();
    let turn = person
        .gently(&["ask", "--council", "one,two", "And by bus?"])
        .exits(0);
    let said = "shown: handoff-1 and 2 messages after it";
    assert_eq!(turn.err.matches(said).count(), 1, "{turn:#?}");
    let requests = server.requests();
    let bodies: Vec<String> = requests
        .iter()
        .skip(before)
        .map(|one| one.json().to_string())
        .collect();
    let answers = bodies
        .iter()
        .filter(|text| !text.contains("what another model said"));
    let answers: Vec<&String> = answers.collect();
    assert_eq!(answers.len(), 2);
    for text in answers {
        assert!(
            text.contains("Nothing is booked.") && text.contains("Newest: and back?"),
            "{text}"
        );
        assert!(!text.contains("Oldest: how"), "{text}");
    }
    // What somebody declares wins.
    let none = ["ask", "--no-ref", "--council", "one,two", "And by air?"];
    let none = person.gently(&none).exits(0);
    assert!(!none.err.contains("shown: handoff"), "{none:#?}");
    let stats = person.gently(&["stats"]).exits(0).out;
    assert!(stats.contains("(of them 4 reviews, 1 handoff)"), "{stats}");
    person.gently(&["audit", "replay", "--all"]).exits(0);
    assert_eq!(consistent(&person), "yes");
}

/// A handoff that sums up another one says what that one says: what is erased of the inner one is gone on
/// from by neither, and both are named.
#[test]
fn what_is_erased_is_gone_on_from_through_no_other_handoff() {
    let (person, server) = served(Behaviour::By(|body| {
        Behaviour::Says(match body["max_tokens"] == 900 {
            true => SUMMARY.to_owned(),
            false => "Yes.".to_owned(),
        })
    }));
    person.gently(&["init"]).exits(0);
    let first = asked(&person, "I have the quibblitis.")["id"].clone();
    let inner = made(&person, &[]);
    let lines: String = (1..=30).map(|n| format!("Question {n}?\n")).collect();
    person.piped(&["chat", "-c"], lines.as_bytes()).exits(0);
    let outer = made(&person, &[]);
    let request = server.requests().last().unwrap().json().to_string();
    assert!(
        request.contains("Book the train.") && !request.contains("quibblitis"),
        "{request}"
    );
    let erased = person.gently(&["erase", first.as_str().unwrap(), "--yes"]);
    let told = format!("{} {}", erased.out, erased.err).replace("\n  ", " ");
    for run in [&inner, &outer] {
        let id = run["exchange"].as_str().unwrap();
        let named = told.split("not erased with it: ").nth(1).unwrap();
        assert!(named.contains(id), "{id}: {told}");
    }
    let list = person.gently(&["handoff", "list", "--json"]).json();
    let states: Vec<&Value> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["state"])
        .collect();
    assert_eq!(states, ["not valid", "not valid"], "{list:#}");
    let readable: (i64, i64) = person
        .database()
        .query_row(
            "SELECT (SELECT count(*) FROM readable_handoff), (SELECT count(*) FROM context_backups WHERE is_valid)",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    assert_eq!(readable, (0, 0));
    let next = person.gently(&["ask", "And now?"]).exits(0);
    assert!(!next.err.contains("shown: handoff"), "{next:#?}");
    assert_eq!(consistent(&person), "yes");
}

/// A digest of what is erased, put back by hand, makes no handoff valid again: the tombstones count.
#[test]
fn a_digest_put_back_revives_no_handoff() {
    let (person, server) = with_replies(&["Hi.", SUMMARY, "Well."]);
    let first = asked(&person, "I have the quibblitis.")["id"].clone();
    made(&person, &[]);
    let erase = ["erase", first.as_str().unwrap(), "--yes"];
    person.gently(&erase).exits(0);
    let digest = format!(
        "UPDATE context_ref SET event_digest = '{}' WHERE event_digest IS NULL",
        "ab".repeat(32)
    );
    let changed = unguarded(person.at("gently.db"))
        .execute(&digest, [])
        .unwrap();
    assert!(changed > 0);
    let valid = "SELECT count(*) FROM context_backups WHERE is_valid";
    let valid: i64 = person
        .database()
        .query_row(valid, [], |row| row.get(0))
        .unwrap();
    assert_eq!(valid, 0);
    let list = person.gently(&["handoff", "list", "--json"]).json();
    assert_eq!(list[0]["state"], "not valid", "{list:#}");
    let next = person.gently(&["ask", "And now?"]);
    assert!(!next.err.contains("shown: handoff"), "{next:#?}");
    let sent = server.requests().last().unwrap().json().to_string();
    assert!(!sent.contains("RESUME"), "{sent}");
    assert_eq!(consistent(&person), "no");
}

/// Counted as shown is what has a text to show.
#[test]
fn what_has_no_text_is_not_said_to_be_shown() {
    let (person, _server) = with_replies(&["Hi.", SUMMARY, "Well."]);
    asked(&person, "Hello");
    made(&person, &[]);
    let second = asked(&person, "One?")["id"].clone();
    asked(&person, "Two?");
    let erased = ["erase", second.as_str().unwrap(), "--yes"];
    person.gently(&erased).exits(0);
    let shown = person.gently(&["ask", "Three?"]).exits(0);
    let said = shown.err.replace("\n  ", " ");
    assert!(
        said.contains(
            "shown: handoff-1 and, of 4 messages after it, the 2 whose text can be shown"
        ),
        "{shown:#?}"
    );
    // Where no text is kept from here on.
    let (mut other, _server) = with_replies(&["Hi.", SUMMARY, "Well."]);
    asked(&other, "Hello");
    made(&other, &[]);
    other.set("GENTLY_STORE_CONTENT", "none");
    asked(&other, "One?");
    let shown = other.gently(&["ask", "Two?"]).exits(0);
    let said = shown.err.replace("\n  ", " ");
    assert!(
        said.contains("shown: handoff-1, and of 2 messages after it none"),
        "{shown:#?}"
    );
}
