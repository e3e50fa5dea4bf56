//! Requests to act become intents on record; nothing carries them out.

use std::path::Path;

use serde_json::{Value, json};

use crate::model_server::{Behaviour, ModelServer};
use crate::person::Person;

fn listed(person: &Person) -> Vec<Value> {
    person
        .gently(&["action", "list", "--json"])
        .exits(0)
        .json()
        .as_array()
        .unwrap()
        .clone()
}

#[test]
fn a_request_in_a_prompt_is_an_intent_that_awaits_approval() {
    let person = Person::new();
    assert!(
        person
            .ask("How do I restart nginx?")
            .err
            .lines()
            .all(|line| !line.contains("action-"))
    );
    assert!(
        person
            .gently(&["action", "list"])
            .exits(0)
            .err
            .contains("nobody asked to have anything done")
    );
    let asked = person.ask(
        "Please restart nginx. The password=hunter2hunter2 is wrong; delete /etc/nginx/old.conf",
    );
    let told: Vec<&str> = asked
        .err
        .lines()
        .filter(|line| line.starts_with("action-"))
        .collect();
    assert_eq!(
        told,
        [
            "action-1 is on record, and gently does none of it: Please restart nginx",
            "action-2 is on record, and gently does none of it: delete /etc/nginx/old.conf",
        ]
    );
    let shown = person.gently(&["show", "last", "--json"]).exits(0).json();
    let list = listed(&person);
    assert_eq!(list.len(), 2);
    assert_eq!(
        [
            &list[0]["class"],
            &list[0]["source"],
            &list[0]["state"],
            &list[0]["exchange"],
            &list[0]["erased"]
        ],
        [
            &json!("service"),
            &json!("prompt"),
            &json!("awaiting approval"),
            &shown["exchange"],
            &json!(false)
        ]
    );
    assert_eq!(
        person
            .gently(&["action", "show", "action:000002", "--json"])
            .exits(0)
            .json(),
        list[1]
    );
    assert!(
        person
            .gently(&["action", "show", "action:000001"])
            .exits(0)
            .out
            .contains("awaiting approval")
    );
    assert!(
        person
            .gently(&["action", "show", "action:000009"])
            .exits(2)
            .err
            .contains("gently action list")
    );
    assert_eq!(shown["authority_state"], "insufficient");
    let lines = person.log();
    let line = usize::try_from(list[0]["log_line"].as_u64().unwrap()).unwrap();
    assert!(
        lines[line - 1].contains("|kind:action,id:action:000001,hash:"),
        "{}",
        lines[line - 1]
    );
    assert!(
        lines[line - 2].contains("|prompt|"),
        "with its prompt, in one batch"
    );
    assert_eq!(person.verified()["answers"]["consistent"], "yes");
}

#[test]
fn a_denied_request_is_an_intent_too() {
    let person = Person::new();
    person.gently(&["init"]).exits(0);
    let kernel =
        person
            .gently(&["kernel", "show"])
            .out
            .replacen("allowed = [\"*\"]", "allowed = []", 1);
    std::fs::write(person.dir.path().join("k.toml"), kernel).unwrap();
    person.gently(&["kernel", "set", "k.toml"]).exits(0);
    let asked = person
        .gently(&["ask", "--json", "restart nginx"])
        .exits(1)
        .json();
    assert_eq!(
        (&asked["outcome"], &asked["actions"][0]["id"]),
        (&json!("denied"), &json!("action:000001"))
    );
    assert_eq!(
        person.gently(&["show", "last", "--json"]).json()["authority_state"],
        "blocked"
    );
    assert_eq!(person.verified()["answers"]["consistent"], "yes");
}

#[test]
fn a_reply_that_is_about_to_act_is_an_intent_and_the_kernel_of_a_home_has_no_way_to_do_it() {
    let server = ModelServer::start(Behaviour::Says(
        "Sure. I will restart nginx now. It takes a moment.".to_owned(),
    ));
    let person = Person::with(&[
        ("GENTLY_ANCHOR_MODE", "off"),
        ("GENTLY_MODEL_BASE_URL", &server.base_url()),
    ]);
    let asked = person
        .gently(&["ask", "--json", "--model", "openai/x", "Why is nginx slow?"])
        .exits(0)
        .json();
    assert_eq!(asked["actions"].as_array().unwrap().len(), 1);
    let list = listed(&person);
    assert_eq!(
        (&list[0]["source"], &list[0]["what"]),
        (&json!("reply"), &json!("I will restart nginx now"))
    );
    assert_eq!(person.verified()["answers"]["consistent"], "yes");
}

/// What starts programs, and why: none of it takes a word of a prompt or a reply.
const STARTS: [(&str, &str); 11] = [
    (
        "app/keep/doctor/outside.rs",
        "asks git and ssh-keygen for their versions",
    ),
    (
        "app/prove/git.rs",
        "git clone, fetch and push of a ledger, asked for by a person",
    ),
    (
        "app/set_up/hook/install.rs",
        "asks git for the configuration that makes installed hooks inert",
    ),
    (
        "app/home/secrets.rs",
        "the person's own command that prints a passphrase or a key",
    ),
    (
        "cli/ask/chat/written.rs",
        "the person's own editor, for a question that is written in it",
    ),
    (
        "cli/screen/pager.rs",
        "the person's own pager, for a report that is longer than the screen",
    ),
    (
        "keys/store_key.rs",
        "its test starts itself again, to be killed as it writes a key",
    ),
    ("ledger/listing.rs", "its test makes a pipe"),
    ("os.rs", "its test makes a pipe"),
    (
        "record/trace/tests/python.rs",
        "python3, which a test asks how it prints a number",
    ),
    (
        "sight/service_status.rs",
        "systemctl show, which changes nothing",
    ),
];

#[test]
fn no_program_is_started_but_by_the_few_places_that_are_named() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut found, mut intents, mut folders) = (Vec::new(), Vec::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let name = path.strip_prefix(&root).unwrap().display().to_string();
            if text.contains("process::Command")
                || text.contains("secrets::program")
                || text.contains("Command::new(")
                || text.contains("libc::exec")
            {
                found.push(name.clone());
            }
            // A hook takes updates of refs, and no intents.
            if name != "app/set_up/hook/install.rs"
                && (text.contains("ACTION")
                    || text.contains("Action,")
                    || text.contains("actions::"))
            {
                intents.push(name);
            }
        }
    }
    found.sort();
    let mut named = STARTS.map(|(name, _)| name.to_owned());
    named.sort();
    assert_eq!(found, named);
    // And no place that handles intents is one of them.
    assert!(
        !intents.is_empty() && intents.iter().all(|name| !found.contains(name)),
        "{intents:?}"
    );
}
