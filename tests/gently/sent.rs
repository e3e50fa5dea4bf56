//! Everything that is sent is held against policy, in every form in which it can be read; names are
//! what they look like; what held a secret says so.

use gently::govern::kernel::GENESIS_KERNEL;
use serde_json::Value;

use crate::model_server::{Behaviour, ModelServer};
use crate::person::Person;

const TOPIC: &str =
    "[[policy.forbidden]]\nname = \"birds\"\npattern = \"(?i)\\\\bquetzal bird\\\\b\"\n";
/// A token of a known kind; nobody's.
const SECRET: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

fn house(replies: &[&str]) -> (ModelServer, Person) {
    let server = ModelServer::script(
        replies
            .iter()
            .map(|text| Behaviour::Says((*text).to_owned()))
            .collect(),
    );
    let base = server.base_url();
    let person = Person::with(&[
        ("GENTLY_ANCHOR_MODE", "off"),
        ("GENTLY_MODEL_DEFAULT", "openai/small-1b"),
        ("GENTLY_MODEL_BASE_URL", base.as_str()),
        ("OPENAI_API_KEY", "test"),
    ]);
    person.gently(&["init"]).exits(0);
    (server, person)
}

fn under(person: &Person, kernel: &str) {
    let file = person.dir.path().join("kernel.toml");
    std::fs::write(&file, kernel).unwrap();
    person
        .gently(&["kernel", "set", file.to_str().unwrap()])
        .exits(0);
}

#[track_caller]
fn denied(person: &Person, args: &[&str], code: &str) -> Value {
    let ran = person
        .gently(&[&["ask"], args, &["--json"]].concat())
        .exits(1);
    let facts = ran.json();
    assert_eq!(
        facts["reasons"],
        serde_json::json!([code]),
        "{args:?}: {ran:?}"
    );
    assert_eq!(
        (&facts["outcome"], &facts["answer"]),
        (&"denied".into(), &Value::Null)
    );
    facts
}

/// What a pattern comes to when it is read loosely may be more than is compiled: then nothing that
/// can be read in more than one way is sent.
#[test]
fn a_topic_that_is_too_large_to_be_read_loosely_forbids_what_needs_it() {
    let (_server, person) = house(&["Fine."]);
    let topic = r#"
[[policy.forbidden]]
name = "large"
pattern = '(?i)quetzal bird.{0,9200}'
"#;
    under(&person, &format!("{GENESIS_KERNEL}\n{topic}"));
    for question in [
        "A quetzal bird?",
        "A quetzal b1rd?",
        "A quetzal\u{200b}bird?",
    ] {
        denied(&person, &[question], "policy.forbidden.large");
    }
    person.gently(&["ask", "A clean question?"]).exits(0);
}

#[test]
fn a_forbidden_topic_is_sent_by_no_way_and_in_no_spelling() {
    let (server, person) = house(&["Fine."]);
    under(&person, &format!("{GENESIS_KERNEL}\n{TOPIC}"));
    let code = "policy.forbidden.birds";
    for question in [
        "A quetzal bird?",
        "A quetzal\nbird?",
        "A quet\u{200b}zal bird?",
        "A quetzal\u{200b}bird?",
        "A quet\u{ad}zal bird?",
        "A \u{ff51}\u{ff55}\u{ff45}\u{ff54}\u{ff5a}\u{ff41}\u{ff4c} bird?",
        "A quetz\u{430}l bird?",
        "A quetzal\u{a0}\u{2003}bird?",
        "A **quet**zal _bird_?",
        "A qu\u{e9}tzal bird?",
        "A quet\u{200b}zal\u{200b}bird?",
        "A quet\u{ad}zal\u{200b}bi\u{2060}rd?",
        "A quet\u{85}zal bi\u{1}rd?",
        "A quet\u{8}zal bi\u{7f}rd?",
        "A quetzal\u{2800}bird?",
        "A quet-\r\nzal bird?",
        "A \u{1f180}\u{1f184}\u{1f174}\u{1f183}\u{1f189}\u{1f170}\u{1f17b} bird?",
        "A quetzal b1rd?",
        "A quetzaI\u{200b}bird?",
        "> A quetzal\n> bird?",
        "# A quetzal\n# bird?",
        "// a quetzal\n// bird",
        "A quet\u{fffc}zal\u{e000} bird?",
        r#"{"text": "a quetzal\nbird"}"#,
    ] {
        denied(&person, &[question], code);
    }
    denied(
        &person,
        &["Hi", "--system", "Speak of the quetzal\nbird."],
        code,
    );
    denied(
        &person,
        &["Hi", "--system", "Speak of the quet\u{200d}zal bird."],
        code,
    );
    let schema = person.dir.path().join("shape.json");
    std::fs::write(
        &schema,
        r#"{"type": "object", "description": "a quetzal bird"}"#,
    )
    .unwrap();
    denied(&person, &["Hi", "--expect", schema.to_str().unwrap()], code);
    std::fs::write(
        &schema,
        r#"{"type": "object", "description": "a quetzal\nbird"}"#,
    )
    .unwrap();
    denied(&person, &["Hi", "--expect", schema.to_str().unwrap()], code);
    std::fs::write(&schema, r#"{"properties": {"quetzal\tbird": {}}}"#).unwrap();
    denied(&person, &["Hi", "--expect", schema.to_str().unwrap()], code);
    person
        .gently(&["intent", "set", "All of the quetzal bird"])
        .exits(0);
    denied(&person, &["Hi"], code);
    let preview = person
        .gently(&["context", "preview", "Hi", "--json"])
        .exits(1)
        .json();
    assert_eq!(preview["reasons"], serde_json::json!([code]));
    person.gently(&["intent", "clear"]).exits(0);
    person
        .gently(&["note", "add", "The volcano has a quetzal bird"])
        .exits(0);
    denied(&person, &["What of the volcano?"], code);
    person
        .gently(&["note", "retire", "note:000001", "--reason", "no"])
        .exits(0);
    let fact = person
        .gently(&["fact", "add", "The lagoon has a quetzal bird", "--json"])
        .exits(0)
        .json();
    person
        .gently(&["fact", "ratify", fact["id"].as_str().unwrap()])
        .exits(0);
    denied(&person, &["What of the lagoon?"], code);
    assert!(server.requests().is_empty(), "nothing was sent");
    person.gently(&["ask", "What of the weather?"]).exits(0);
    assert_eq!(server.requests().len(), 1);
    person.gently(&["audit", "verify"]).exits(0);
    person.gently(&["audit", "replay", "--all"]).exits(0);
}

#[test]
fn what_nobody_declared_or_a_model_said_is_kept_out_and_denies_nothing() {
    let (server, person) = house(&[
        "A zebra knows a quet\u{200b}zal\u{200b}bird.",
        "A zebra.",
        "A quetzal bird!",
        "Fine.",
    ]);
    person
        .gently(&["ask", "What of the zebra and the quetzal bird?"])
        .exits(0);
    person
        .gently(&["ask", "What of the zebra alone?", "--no-ref"])
        .exits(0);
    under(&person, &format!("{GENESIS_KERNEL}\n{TOPIC}"));
    let preview = person
        .gently(&[
            "context",
            "preview",
            "--deep",
            "--json",
            "The zebra question",
        ])
        .exits(0)
        .json();
    // Question and answer of the first turn; the second is shown.
    person
        .gently(&["ask", "--no-ref", "--deep", "The zebra question"])
        .exits(0);
    let shown = person
        .gently(&["context", "show", "--json"])
        .exits(0)
        .json();
    for told in [&preview, &shown] {
        let kept = told["exclusions"].as_array().unwrap();
        assert_eq!(
            kept.iter()
                .filter(|one| one["reason"] == "forbidden")
                .count(),
            2,
            "{told:#}"
        );
        let turns = told["injected"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|one| one["artifact_type"] == "turn");
        assert_eq!(turns.count(), 2, "{told:#}");
    }
    // The answer to it is declared by the next question, and shown to no model.
    let next = person.gently(&["ask", "And what else?"]).exits(0);
    assert!(
        next.err.contains("not shown to the model: answer")
            && next
                .err
                .contains("about a topic that the kernel's policy forbids"),
        "{next:?}"
    );
    let sent: Vec<String> = server
        .requests()
        .iter()
        .map(|one| String::from_utf8_lossy(&one.body).into_owned())
        .collect();
    assert_eq!(sent.len(), 4);
    assert!(
        sent[2].contains("zebra alone") && sent[3].contains("The zebra question"),
        "{sent:#?}"
    );
    for body in &sent[2..] {
        assert!(!body.contains("quet"), "{body}");
    }
    // What is declared and was asked is policy's.
    let first = person
        .gently(&["ask", "--json", "And what else, again?"])
        .exits(0)
        .json();
    assert_eq!(
        first["context"]["not_shown"][0]["reason"], "forbidden",
        "{first:#}"
    );
    person.gently(&["audit", "verify"]).exits(0);
    person.gently(&["audit", "replay", "--all"]).exits(0);
    // Tried on history, an answer denies nothing either.
    let stricter = person.dir.path().join("stricter.toml");
    std::fs::write(
        &stricter,
        format!(
            "{GENESIS_KERNEL}\n[[policy.forbidden]]\nname = \"a\"\npattern = \"A zebra\\\\.\"\n"
        ),
    )
    .unwrap();
    let tried = person
        .gently(&[
            "audit",
            "replay",
            "--all",
            "--kernel",
            stricter.to_str().unwrap(),
            "--json",
        ])
        .json();
    assert_eq!(tried["differences"], serde_json::json!([]), "{tried:#}");
}

#[test]
fn what_sight_found_under_a_name_that_somebody_gave_is_sent_too() {
    let (server, person) = house(&["Fine."]);
    let topic = TOPIC.replace("quetzal bird", "quetzal\\\\.service");
    under(&person, &format!("{GENESIS_KERNEL}\n{topic}"));
    person.gently(&["ask", "How are the services?"]).exits(0);
    assert_eq!(server.requests().len(), 1);
    person
        .gently(&["config", "set", "sight.units", "[\"quetzal.service\"]"])
        .exits(0);
    denied(
        &person,
        &["How are the services?"],
        "policy.forbidden.birds",
    );
    assert_eq!(server.requests().len(), 1, "nothing more was sent");
    person.gently(&["audit", "verify"]).exits(0);
    person.gently(&["audit", "replay", "--all"]).exits(0);
}

/// The owner's part of the system message is sent with every question, so a look that leaves it out
/// would promise what asking refuses.
#[test]
fn a_look_is_denied_by_what_the_settings_send_beside_the_question() {
    let (server, mut person) = house(&["Fine."]);
    let small = GENESIS_KERNEL.replacen("max_bytes = 1048576", "max_bytes = 600", 1);
    under(&person, &format!("{small}\n{TOPIC}"));
    let looked = |person: &Person, code| {
        let args = ["context", "preview", "Hi", "--json"];
        person.gently(&args).exits(code).json()["reasons"].clone()
    };
    let long = "word ".repeat(200);
    for (system, code) in [
        ("Speak of the quetzal bird.", "policy.forbidden.birds"),
        (&long, "policy.prompt_too_large"),
    ] {
        person.set("GENTLY_MODEL_SYSTEM", system);
        assert_eq!(looked(&person, 1), serde_json::json!([code]));
        denied(&person, &["Hi"], code);
    }
    person.set("GENTLY_MODEL_SYSTEM", "Speak of sparrows.");
    assert_eq!(looked(&person, 0), Value::Null);
    person.gently(&["ask", "Hi"]).exits(0);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn size_and_budget_are_those_of_all_that_is_sent() {
    let (server, person) = house(&["Fine."]);
    let long = "word ".repeat(200);
    let small = GENESIS_KERNEL.replacen("max_bytes = 1048576", "max_bytes = 600", 1);
    under(&person, &small);
    denied(
        &person,
        &["Hi", "--system", &long],
        "policy.prompt_too_large",
    );
    person.gently(&["intent", "set", &long]).exits(0);
    denied(&person, &["Hi"], "policy.prompt_too_large");
    person.gently(&["intent", "clear"]).exits(0);
    under(
        &person,
        &format!("{GENESIS_KERNEL}\n[policy.budget]\ntokens = 100\nseconds = 60\n"),
    );
    denied(&person, &["Hi", "--system", &long], "policy.budget");
    assert!(server.requests().is_empty());
    person
        .gently(&["ask", "Hi", "--system", "Be brief."])
        .exits(0);
    person.gently(&["audit", "verify"]).exits(0);
    person.gently(&["audit", "replay", "--all"]).exits(0);
}

#[test]
fn a_model_that_goes_up_is_allowed_by_no_pattern_and_names_are_what_they_look_like() {
    let (server, person) = house(&["Fine."]);
    under(
        &person,
        &GENESIS_KERNEL.replacen("allowed = [\"*\"]", "allowed = [\"openai/good-*\"]", 1),
    );
    for model in [
        "openai/good-/../m",
        "openai/good-x/./m",
        "openai/good-x//m",
        "openai/good-%2e%2e/%2e%2e/m",
    ] {
        denied(
            &person,
            &["Hi", "--model", model],
            "policy.model_not_allowed",
        );
    }
    for hidden in [
        "a\u{200b}b",
        "a\u{202e}b",
        "a\u{ad}b",
        "a\u{e0041}b",
        "a\u{3164}b",
        "a\u{feff}b",
        "a\u{2800}b",
    ] {
        let model = format!("openai/good-{hidden}");
        for args in [
            &["ask", "Hi", "--model", &model][..],
            &["config", "set", "model.default", &model],
            &["config", "set", "session.host_role", hidden],
            &["thread", "new", hidden],
            &["key", "add", hidden],
            &["note", "add", "A note.", "--subject", hidden],
            &["fact", "add", "A fact.", "--source", hidden],
        ] {
            person.gently(args).exits(2);
        }
    }
    assert!(server.requests().is_empty());
}

#[test]
fn an_address_holds_no_password() {
    let mut person = Person::new();
    person.gently(&["init"]).exits(0);
    for (key, address) in [
        ("model.base_url", "https://me:hidden@api.example/v1"),
        ("model.base_url", "https://hidden@api.example"),
        ("model.anthropic_url", "https://me:hidden@api.example"),
        ("model.ollama_url", "http://me:hidden@127.0.0.1:11434"),
    ] {
        let ran = person.gently(&["config", "set", key, address]).exits(2);
        assert!(
            ran.err.contains("without a name or password") && !ran.err.contains("hidden@"),
            "{ran:?}"
        );
    }
    person
        .gently(&[
            "config",
            "set",
            "model.base_url",
            "https://api.example/@team/v1",
        ])
        .exits(0);
    person.set("GENTLY_MODEL_BASE_URL", "https://me:hidden@api.example/v1");
    let ran = person
        .gently(&["ask", "Hi", "--model", "openai/m"])
        .exits(2);
    assert!(!ran.err.contains("hidden"), "{ran:?}");
}

#[test]
fn sight_passes_the_sanitizer_and_what_it_flagged_goes_with_its_exchange() {
    let (server, person) = house(&["Fine."]);
    let unit = format!("{SECRET}.service");
    person
        .gently(&["config", "set", "sight.units", &format!("[\"{unit}\"]")])
        .exits(0);
    person
        .gently(&["ask", "How is this machine doing, and its services?"])
        .exits(0);
    let sent = String::from_utf8(server.requests()[0].body.clone()).unwrap();
    assert!(
        sent.contains("service_status") && !sent.contains(SECRET),
        "{sent}"
    );
    for args in [
        &["sight"][..],
        &["sight", "--json"],
        &["context", "preview", "services?"],
        &["context", "show"],
    ] {
        let ran = person.gently(args);
        assert!(
            !ran.out.contains(SECRET) && !ran.err.contains(SECRET),
            "{args:?}: {ran:?}"
        );
    }
    for file in std::fs::read_dir(person.home())
        .unwrap()
        .flatten()
        .filter(|file| file.file_name() != "gently.toml")
    {
        let bytes = std::fs::read(file.path()).unwrap_or_default();
        assert!(
            !bytes
                .windows(SECRET.len())
                .any(|part| part == SECRET.as_bytes()),
            "{:?}",
            file.path()
        );
    }
    let flags = || -> i64 {
        let sql = "SELECT count(*) FROM context_artifact_ref WHERE risk_flags IS NOT NULL";
        person
            .database()
            .query_row(sql, [], |row| row.get(0))
            .unwrap()
    };
    assert!(flags() > 0, "what a tool could not tell is flagged");
    let database = rusqlite::Connection::open(person.at("gently.db")).unwrap();
    assert!(
        database
            .execute("UPDATE context_artifact_ref SET risk_flags = '[]'", [])
            .is_err()
    );
    person
        .gently(&["erase", "--yes", "last", "--reason", "no"])
        .exits(0);
    assert_eq!(flags(), 0);
    person.gently(&["audit", "verify"]).exits(0);
}

#[test]
fn an_answer_that_held_a_secret_says_so_and_so_does_a_system_message() {
    let (server, person) = house(&[
        &format!("Use {SECRET} for it."),
        &format!("Use {SECRET} for it."),
        "Fine.",
    ]);
    let told = person.gently(&["ask", "Which token?"]).exits(0);
    assert!(
        told.err.contains("the answer held a secret (") && told.out.contains(SECRET),
        "{told:?}"
    );
    let facts = person
        .gently(&["ask", "Which token?", "--json"])
        .exits(0)
        .json();
    assert_eq!(facts["removed_from_answer"].as_array().unwrap().len(), 1);
    assert!(
        !person
            .gently(&["show", "last", "--full"])
            .exits(0)
            .out
            .contains(SECRET)
    );
    let told = person
        .gently(&["ask", "Hi", "--system", &format!("The token is {SECRET}")])
        .exits(0);
    assert!(
        told.err
            .contains("1 secret removed from your part of the system message"),
        "{told:?}"
    );
    let sent = String::from_utf8(server.requests()[2].body.clone()).unwrap();
    assert!(!sent.contains(SECRET), "{sent}");
    let schema = person.dir.path().join("shape.json");
    std::fs::write(&schema, format!(r#"{{"const": "{SECRET}"}}"#)).unwrap();
    person
        .gently(&["ask", "Hi", "--expect", schema.to_str().unwrap()])
        .exits(2);
    assert_eq!(server.requests().len(), 3);
    person.gently(&["audit", "verify"]).exits(0);
}
