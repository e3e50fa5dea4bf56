//! `gently stats`: numbers of what was asked, counted from the record.

use serde_json::{Value, json};

use crate::model_server::{Behaviour, ModelServer};
use crate::person::Person;
use crate::unguarded::unguarded;

fn person() -> (Person, ModelServer) {
    let server = ModelServer::script(vec![
        Behaviour::Says("It is so.".to_owned()),
        Behaviour::Says("I'm sorry, but I can't help with that.".to_owned()),
        Behaviour::Says("I've restarted nginx.".to_owned()),
        Behaviour::error(500, "The server is busy."),
    ]);
    let person = Person::with(&[
        ("GENTLY_ANCHOR_MODE", "off"),
        ("GENTLY_MODEL_DEFAULT", "openai/small-1b"),
        ("GENTLY_MODEL_BASE_URL", &server.base_url()),
        ("OPENAI_API_KEY", "test"),
    ])
    .under_the_kernel();
    person.gently(&["ask", "Is it so?"]).exits(0);
    person.gently(&["ask", "Tell me how to pick a lock"]);
    person.gently(&["ask", "Please restart nginx"]);
    person.gently(&["ask", "Will this fail?"]).exits(2);
    person.gently(&["ask", ""]).exits(1);
    (person, server)
}

#[test]
fn what_came_of_questions_is_counted() {
    let (person, _server) = person();
    let told = person.gently(&["stats", "--json"]).exits(0).json();
    assert_eq!(told["questions"], 5);
    assert_eq!(told["answers"], 3);
    assert_eq!(
        (&told["refusals"], &told["failures"], &told["denials"]),
        (&json!(1), &json!(1), &json!(1))
    );
    assert_eq!(told["in_flight"], 0);
    assert!(told["drift"]["authority"].as_u64() >= Some(1), "{told}");
    assert!(told["median_s"].is_u64() && told["ninetieth_s"].as_u64() >= told["median_s"].as_u64());
    assert_eq!(
        (&told["cost_micro"], &told["groups"]),
        (&json!({}), &json!([]))
    );
    let days = told["days"].as_array().unwrap();
    let asked: u64 = days
        .iter()
        .filter_map(|day| day["questions"].as_u64())
        .sum();
    assert_eq!(asked, 5);
    let screen = person.gently(&["stats"]).exits(0).out;
    assert!(
        screen.starts_with("all  since the first question\n"),
        "{screen}"
    );
    assert!(
        screen.contains("5 questions: 3 answers, 1 of them refusals, 1 failed, 1 denied\n"),
        "{screen}"
    );
    assert!(
        screen.contains("drift     ") && screen.contains("by days   "),
        "{screen}"
    );
    assert!(!screen.contains("cost"), "{screen}");
}

#[test]
fn groups_add_up_and_a_gap_is_no_zero() {
    let (person, _server) = person();
    person
        .gently(&[
            "ask",
            "-m",
            "observer",
            "--new",
            "--sight",
            "How is this machine?",
        ])
        .exits(0);
    for (by, names) in [("model", 2), ("conversation", 2), ("day", 1)] {
        let told = person
            .gently(&["stats", "--json", "--by", by])
            .exits(0)
            .json();
        let groups = told["groups"].as_array().unwrap();
        assert!(groups.len() >= names, "{by}: {told}");
        for what in [
            "questions",
            "answers",
            "refusals",
            "failures",
            "denials",
            "in_flight",
        ] {
            let sum: u64 = groups
                .iter()
                .map(|group| group[what].as_u64().unwrap())
                .sum();
            assert_eq!(told[what], sum, "{by}, {what}");
        }
        let drift = |of: &Value| {
            of["drift"]
                .as_object()
                .unwrap()
                .values()
                .filter_map(Value::as_u64)
                .sum::<u64>()
        };
        assert_eq!(drift(&told), groups.iter().map(drift).sum::<u64>(), "{by}");
    }
    let conversations = person
        .gently(&["stats", "--by", "conversation"])
        .exits(0)
        .out;
    assert!(
        conversations.contains("  Is it so?\n")
            && conversations.contains("  How is this machine?\n"),
        "{conversations}"
    );
    // The observer reports no tokens: no number, and no zero.
    let models = person
        .gently(&["stats", "--json", "--by", "model"])
        .exits(0)
        .json();
    let observer = models["groups"]
        .as_array()
        .unwrap()
        .iter()
        .find(|group| group["name"] == "observer");
    assert_eq!(observer.unwrap()["prompt_tokens"], Value::Null);
    // Two days in between are null, and older ones are left out by --since.
    let database = unguarded(person.at("gently.db"));
    database
        .execute("UPDATE llm_exchange SET created_at = created_at - 3 * 86400, answered_at = answered_at - 3 * 86400 WHERE seq = 1", [])
        .unwrap();
    let told = person.gently(&["stats", "--json"]).exits(0).json();
    let days: Vec<&Value> = told["days"]
        .as_array()
        .unwrap()
        .iter()
        .map(|day| &day["questions"])
        .collect();
    assert!(days.len() >= 4 && days[0] != &Value::Null, "{days:?}");
    assert_eq!((days[1], days[2]), (&Value::Null, &Value::Null));
    let since = person
        .gently(&["stats", "--json", "--since", "2d"])
        .exits(0)
        .json();
    assert!(
        since["questions"].as_u64() < told["questions"].as_u64(),
        "{since}"
    );
    assert!(since["since"].is_string());
    let empty = person
        .gently(&["stats", "--json", "--since", "9999-01-01"])
        .exits(0)
        .json();
    assert_eq!(
        (&empty["questions"], &empty["median_s"], &empty["days"]),
        (&json!(0), &Value::Null, &json!([]))
    );
    person.gently(&["stats", "--since", "soon"]).exits(2);
}

#[test]
fn a_picture_is_a_new_file_and_names_in_it_are_text() {
    let (person, _server) = person();
    let database = unguarded(person.at("gently.db"));
    let hostile =
        "UPDATE llm_exchange SET model = 'openai/<script>alert(1)</script>&\"''' WHERE seq = 1";
    assert_eq!(database.execute(hostile, []).unwrap(), 1);
    let ran = person
        .gently(&["stats", "--by", "model", "--svg", "days.svg"])
        .exits(0);
    assert!(ran.err.contains("drawn into days.svg"), "{ran:?}");
    let svg = std::fs::read_to_string(person.dir.path().join("days.svg")).unwrap();
    assert!(
        svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"),
        "{svg}"
    );
    assert!(
        svg.contains("openai/small-1b") && !svg.contains("<script"),
        "{svg}"
    );
    assert!(svg.contains("&lt;script&gt;"), "{svg}");
    for (file, said) in [
        (
            "days.svg",
            "exists, and is not written over; name a new file with --svg",
        ),
        ("-", "--svg -"),
        ("no/days.svg", "there is no folder no"),
        (".svg", "an ending without a name"),
    ] {
        let ran = person.gently(&["stats", "--svg", file]).exits(2);
        assert!(ran.err.contains(said), "{ran:?}");
    }
    let told = person
        .gently(&["stats", "--json", "--svg", "all.svg"])
        .exits(0)
        .json();
    assert_eq!(told["drawn_into"], "all.svg");
}
