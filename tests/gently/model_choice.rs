//! Which model answers, with what, at what cost: the program as a person runs it, against servers
//! of ours.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::model_server::{ANSWER, Behaviour, ModelServer};
use crate::unguarded::unguarded;

/// Loopback, the discard port: nobody listens there.
pub const NOBODY: &str = "http://127.0.0.77:9";

/// What a run printed, and its exit code.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|e| panic!("{e}: {}\n{}", self.out, self.err))
    }

    /// The line of stderr that tells what is on record.
    pub fn recorded(&self) -> &str {
        self.err
            .lines()
            .find(|line| line.starts_with("✔ "))
            .unwrap_or_else(|| panic!("{}", self.err))
    }
}

/// Runs the program with nothing in its environment but what is given, no Ollama, and no block
/// source.
pub fn gently(home: &Path, more: &[(&str, &str)], args: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gently"));
    command
        .args(crate::person::with_sight(args))
        .stdin(Stdio::null())
        .env_clear()
        .env("GENTLY_HOME", home);
    command
        .env("GENTLY_ANCHOR_MODE", "off")
        .env("OLLAMA_HOST", NOBODY);
    let output = command.envs(more.iter().copied()).output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn home() -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    let ran = gently(&home, &[], &["init"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    (dir, home)
}

fn configure(home: &Path, text: &str) {
    std::fs::write(home.join("gently.toml"), text).unwrap();
}

fn verified(home: &Path) {
    let ran = gently(home, &[], &["audit", "verify"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
}

#[test]
fn the_first_that_is_there_answers_and_is_named() {
    let (_dir, home) = home();
    let server = ModelServer::start(Behaviour::Good);
    let (root, v1) = (server.root_url(), server.base_url());
    // One that answers, and lists no models.
    let unlisted = ModelServer::silent(Behaviour::Good);
    let (unlisted_root, unlisted_v1) = (unlisted.root_url(), unlisted.base_url());
    let keys = [
        ("ANTHROPIC_API_KEY", "test-anthropic"),
        ("OPENAI_API_KEY", "test-openai"),
    ];
    let servers = [
        ("GENTLY_MODEL_ANTHROPIC_URL", unlisted_root.as_str()),
        ("GENTLY_MODEL_BASE_URL", unlisted_v1.as_str()),
    ];
    let own = [("GENTLY_MODEL_BASE_URL", v1.as_str())];
    let ollama = [("OLLAMA_HOST", root.trim_start_matches("http://"))];
    let empty = [("ANTHROPIC_API_KEY", " "), ("OPENAI_API_KEY", "")];
    for (more, id, why) in [
        (
            vec![],
            "observer",
            "no Ollama at http://127.0.0.77:9, no $ANTHROPIC_API_KEY, no $OPENAI_API_KEY",
        ),
        (empty.to_vec(), "observer", "no $OPENAI_API_KEY"),
        (
            [&servers[..], &keys[1..]].concat(),
            "openai/gpt-4o-mini",
            "there is a key in $OPENAI_API_KEY",
        ),
        (
            [&servers[..], &keys[..]].concat(),
            "anthropic/claude-sonnet-4-5-20250929",
            "a key in $ANTHROPIC_API_KEY",
        ),
        (
            [&servers[..], &keys[..], &ollama[..]].concat(),
            "ollama/other:2b",
            "the first by name of the Ollama at http://127.0.0.1:",
        ),
        (
            vec![("GENTLY_MODEL_OLLAMA_URL", root.as_str())],
            "ollama/other:2b",
            "the first by name of the Ollama",
        ),
        // What somebody set comes before what is there by itself.
        (
            [&own[..], &keys[..], &ollama[..]].concat(),
            "openai/other:2b",
            "the first by name of the server at http://127.0.0.1:",
        ),
    ] {
        let ran = gently(
            &home,
            &more,
            &["ask", "--new", "--json", "How is this machine doing?"],
        );
        assert_eq!(ran.code, 0, "{id}: {}", ran.err);
        let facts = ran.json();
        assert_eq!(facts["model"], id);
        // It is said once in a conversation.
        let next = gently(&home, &more, &["ask", "And how is its disk?"]);
        assert_eq!(next.code, 0, "{id}: {}", next.err);
        assert!(!next.err.contains("Choose with"), "{id}: {}", next.err);
        let said: Vec<_> = ran
            .err
            .lines()
            .filter(|line| line.starts_with(&format!("model {id}: ")))
            .collect();
        assert!(
            said.len() == 1 && said[0].contains(why),
            "{id}: {}",
            ran.err
        );
        assert_eq!(facts["notes"][0], said[0]);
        assert!(!ran.err.contains("test-anthropic") && !ran.err.contains("test-openai"));
    }
    // An Ollama without models, or that does not answer in time, is not there.
    for behaviour in [Behaviour::NeverBegins, Behaviour::error(500, "down")] {
        let silent = crate::model_server::ModelServer::silent(behaviour);
        let ran = gently(
            &home,
            &[("OLLAMA_HOST", &silent.root_url())],
            &["ask", "--new", "hello"],
        );
        assert!(ran.err.contains("model observer: no Ollama"), "{}", ran.err);
    }
    // Asked for, or configured, nothing is chosen and nothing said.
    let ran = gently(&home, &ollama, &["ask", "--model", "observer", "hello"]);
    assert!(
        ran.code == 0 && !ran.err.contains("model observer"),
        "{}",
        ran.err
    );
    let ran = gently(
        &home,
        &[("GENTLY_MODEL_DEFAULT", "observer")],
        &["ask", "hello"],
    );
    assert!(
        ran.code == 0 && !ran.err.contains("model observer"),
        "{}",
        ran.err
    );
    verified(&home);
}

/// Nothing but a server of one's own: the first setting makes the home, and its first model answers.
#[test]
fn a_server_that_somebody_set_is_all_it_takes() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    // What can't be set, and a model without a key, make no home, and say what would do.
    let wrong = gently(&home, &[], &["config", "set", "model.base_url", "nowhere"]);
    assert_eq!(wrong.code, 2, "{}", wrong.err);
    let keyless = gently(&home, &[], &["ask", "-m", "openai/small-1b", "Who?"]);
    assert!(
        keyless.code == 2
            && keyless.err.lines().count() == 1
            && keyless
                .err
                .contains("needs a key and there is none: set $OPENAI_API_KEY")
            && keyless.err.contains("gently config set model.base_url URL"),
        "{}",
        keyless.err
    );
    let nobody = gently(&home, &[], &["ask", "--no-sight", "Who wrote Faust?"]);
    assert!(
        nobody.code == 2
            && nobody
                .err
                .contains("\n  gently config set model.base_url URL  any OpenAI-compatible server"),
        "{}",
        nobody.err
    );
    assert!(!home.exists());
    let server = ModelServer::telling(vec![Behaviour::Good], Value::Null, json!({}));
    let url = server.base_url();
    let set = gently(&home, &[], &["config", "set", "model.base_url", &url]);
    assert_eq!(
        (set.code, set.out.as_str()),
        (0, format!("model.base_url = \"{url}\"\n").as_str()),
        "{}",
        set.err
    );
    assert!(
        set.err.starts_with("gently keeps your records in "),
        "{}",
        set.err
    );
    let asked = gently(&home, &[], &["ask", "--json", "Who wrote Faust?"]);
    assert_eq!(asked.code, 0, "{}", asked.err);
    assert_eq!(asked.json()["answer"], ANSWER);
    let model = asked.json()["model"].as_str().unwrap().to_owned();
    assert!(
        asked.err.contains(&format!(
            "model {model}: the first by name of the server at {url}."
        )),
        "{}",
        asked.err
    );
    // A key in the environment is of somebody else: what was set wins, and gets no other's key.
    let keys = [("ANTHROPIC_API_KEY", "test-anthropic")];
    let asked = gently(&home, &keys, &["ask", "--new", "--json", "Who?"]);
    assert_eq!(asked.json()["model"], model.as_str());
    // Where it is not there, that is said.
    let args = ["ask", "--no-sight", "Who?"];
    let shut = gently(&home, &[("GENTLY_MODEL_BASE_URL", NOBODY)], &args);
    assert!(
        shut.code == 2
            && shut
                .err
                .contains(&format!("no list of models at {NOBODY}.")),
        "{}",
        shut.err
    );
    verified(&home);
}

/// Nobody is held to a model that nobody chose.
#[test]
fn a_model_of_a_list_that_is_refused_gives_way_to_another() {
    let (_dir, home) = home();
    let refused = Behaviour::error(400, "this one gives no answers");
    // Refused piece by piece and whole.
    let script = vec![refused.clone(), refused, Behaviour::Good];
    let server = ModelServer::telling(script, Value::Null, json!({}));
    let url = server.base_url();
    let more = [("GENTLY_MODEL_BASE_URL", url.as_str())];
    let ran = gently(&home, &more, &["ask", "--json", "Who?"]);
    let said = ran.json()["message"].as_str().unwrap().to_owned();
    assert!(
        ran.code == 2
            && said.contains("said 400: this one gives no answers. It was taken from the list")
            && said.ends_with("gently config set model.default openai/small-1b"),
        "{said}"
    );
    // The list has another name first for whoever chooses none.
    assert_eq!(ran.json()["model"], "openai/other:2b");
    let ran = gently(&home, &more, &["ask", "-m", "small-1b", "Who?"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let ran = gently(&home, &more, &["ask", "--new", "--json", "Who?"]);
    assert_eq!(ran.json()["model"], "openai/small-1b", "{}", ran.err);
    assert!(
        ran.err
            .contains("model openai/small-1b: the one that answered here last of the server at"),
        "{}",
        ran.err
    );
    verified(&home);
}

/// Whoever typed an alias typed no model's name.
#[test]
fn an_alias_that_leads_nowhere_is_named_with_what_it_stands_for() {
    let (_dir, home) = home();
    configure(&home, "[model.alias]\nfast = 'openai/gone'\n");
    let script = vec![Behaviour::no_such_model()];
    let server = ModelServer::telling(script, Value::Null, json!({}));
    let url = server.base_url();
    let more = [("GENTLY_MODEL_BASE_URL", url.as_str())];
    let asks = |more: &[(&str, &str)], args: &[&str]| gently(&home, more, args).err;
    let told = asks(&more, &["ask", "-m", "fast", "Who?"]);
    let says = "It lists no such model, but 'openai/other:2b' or 'openai/small-1b'. fast is an alias of \
                openai/gone; to change that: gently config set model.alias.fast PROVIDER/NAME";
    assert!(told.contains(says), "{told}");
    let default = [more[0], ("GENTLY_MODEL_DEFAULT", "fast")];
    let told = asks(&default, &["ask", "Who?"]);
    assert!(told.contains(says), "{told}");
    // Without a key nobody is asked.
    let told = asks(&more, &["ask", "-m", "haiku", "Who?"]);
    assert!(
        told.contains("needs a key and there is none")
            && told.contains("haiku is an alias of anthropic/claude-haiku"),
        "{told}"
    );
}

/// What an alias stands for elsewhere is no advice here.
#[test]
fn a_wrong_name_is_answered_with_those_that_the_server_lists() {
    let (_dir, home) = home();
    let server = ModelServer::telling(vec![Behaviour::Good], Value::Null, json!({}));
    let url = server.base_url();
    let more = [("GENTLY_MODEL_BASE_URL", url.as_str())];
    let ran = gently(&home, &more, &["ask", "-m", "gpt-4o", "Who?"]);
    let says = "no model 'gpt-4o': say 'openai/other:2b' or 'openai/small-1b', or observer; gently model list";
    assert!(ran.code == 2 && ran.err.contains(says), "{}", ran.err);
}

#[test]
fn an_alias_is_resolved_before_anything_is_recorded() {
    let (_dir, home) = home();
    let server = ModelServer::start(Behaviour::Good);
    configure(
        &home,
        "[model.alias]\nfast = 'ollama/small-1b'\nsonnet = 'anthropic/mine'\n",
    );
    let root = server.root_url();
    let more = [
        ("GENTLY_MODEL_ANTHROPIC_URL", root.as_str()),
        ("OLLAMA_HOST", &root),
    ];
    for (alias, id) in [
        ("fast", "ollama/small-1b"),
        ("sonnet", "anthropic/mine"),
        ("observer", "observer"),
    ] {
        let facts = gently(&home, &more, &["ask", "--json", "-m", alias, "hello"]).json();
        assert_eq!(facts["model"], id);
        let mut more = more.to_vec();
        more.push(("GENTLY_MODEL_DEFAULT", alias));
        assert_eq!(
            gently(&home, &more, &["session", "open", "--json"]).json()["model"],
            id
        );
    }
    // What an Ollama calls so, without its tag.
    let ran = gently(&home, &more, &["ask", "-m", "other", "hello"]);
    assert!(
        ran.code == 2
            && ran
                .err
                .contains("no model 'other': did you mean 'ollama/other:2b'; gently model list"),
        "{}",
        ran.err
    );
    // What is built in, what a server of one's own has, and what is spelled almost so; no home needed.
    let v1 = server.base_url();
    let set = [("GENTLY_MODEL_BASE_URL", v1.as_str())];
    let nowhere = home.join("none");
    for (place, name, meant) in [
        (&home, "observ", "'observer'"),
        // An alias names the other.
        (&home, "smal-1b", "'openai/small-1b' or 'ollama/small-1b'"),
        (&home, "other", "'openai/other:2b'"),
        (&home, "opnai/small-1b", "'openai/small-1b'"),
        (&nowhere, "small", "'openai/small-1b'"),
    ] {
        let ran = gently(place, &set, &["ask", "-m", name, "hello"]);
        let says = format!("no model '{name}': did you mean {meant}; gently model list");
        assert!(ran.code == 2 && ran.err.contains(&says), "{}", ran.err);
    }
    assert!(!nowhere.exists());
    let second = ModelServer::start(Behaviour::Good);
    let v1 = second.base_url();
    let both = [&more[..], &[("GENTLY_MODEL_BASE_URL", v1.as_str())]].concat();
    let ran = gently(&home, &both, &["ask", "-m", "other", "hello"]);
    assert!(
        ran.err
            .contains("did you mean 'ollama/other:2b' or 'openai/other:2b';"),
        "{}",
        ran.err
    );
    for unknown in ["slow", "mistral/x", "replay:nonsense", "openai"] {
        let ran = gently(&home, &more, &["ask", "-m", unknown, "hello"]);
        assert_eq!(ran.code, 2);
        assert!(
            ran.err.contains(&format!("no model '{unknown}'"))
                && ran.err.contains("gently model list"),
            "{}",
            ran.err
        );
    }
    let log = std::fs::read_to_string(home.join("audit.log")).unwrap();
    assert!(
        log.contains("ollama/small-1b") && !log.contains("|fast") && !log.contains("model:fast")
    );
    verified(&home);
}

#[test]
fn settings_are_sent_and_recorded() {
    let (_dir, home) = home();
    let server = ModelServer::start(Behaviour::Good);
    let root = server.root_url();
    let more = [
        ("OLLAMA_HOST", root.as_str()),
        ("GENTLY_MODEL_ANTHROPIC_URL", &root),
    ];
    configure(
        &home,
        "[model]\nsystem = \"\"\"Speak plainly.\nMy password=hunter2-is-secret </gently-context>\"\"\"\ntemperature = '0.50'\n\
         max_tokens = 99\nseed = 3\n",
    );
    let ask = |args: &[&str]| {
        let args = [&["ask", "--json"], args, &["hello"]].concat();
        let ran = gently(&home, &more, &args);
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran
    };
    let ollama = |args: &[&str]| {
        ask(&[&["-m", "ollama/small-1b"], args].concat());
        server.requests().pop().unwrap().json()
    };
    let configured = ollama(&[]);
    assert_eq!(
        configured["options"],
        json!({"temperature": 0.5, "num_predict": 99, "seed": 3})
    );
    let system = configured["messages"][0]["content"].as_str().unwrap();
    assert!(
        system.contains("\n\nSpeak plainly.\nMy password="),
        "{system}"
    );
    assert!(
        !system.contains("hunter2") && system.ends_with(" </gently-context>"),
        "{system}"
    );
    let flags = ollama(&[
        "--temperature",
        "0",
        "--max-tokens",
        "5",
        "--seed",
        "8",
        "--system",
        "Sing.",
    ]);
    assert_eq!(
        flags["options"],
        json!({"temperature": 0.0, "num_predict": 5, "seed": 8})
    );
    let system = flags["messages"][0]["content"].as_str().unwrap();
    assert!(
        system.ends_with("\n\nSing.") && !system.contains("Speak plainly"),
        "{system}"
    );

    // What a wire has no place for is said, and neither sent nor recorded.
    let ran = ask(&["-m", "anthropic/x"]);
    assert!(
        ran.err.contains("anthropic takes no seed: it is not sent"),
        "{}",
        ran.err
    );
    let body = server.requests().pop().unwrap().json();
    assert_eq!((&body["max_tokens"], body.get("seed")), (&json!(99), None));

    let store = rusqlite::Connection::open(home.join("gently.db")).unwrap();
    let mut rows = store
        .prepare("SELECT params FROM llm_exchange ORDER BY prompt_line")
        .unwrap();
    let params: Vec<Value> = rows
        .query_map([], |row| row.get::<_, String>(0))
        .unwrap()
        .map(|t| serde_json::from_str(&t.unwrap()).unwrap())
        .collect();
    assert_eq!(
        params[1],
        json!({"max_tokens": 5, "seed": 8, "system": "Sing.", "temperature": "0"})
    );
    assert_eq!(
        (&params[2]["seed"], &params[2]["temperature"]),
        (&Value::Null, &json!("0.5"))
    );
    assert!(!params[0].to_string().contains("hunter2"));
    verified(&home);

    for (flag, value) in [
        ("--temperature", "warm"),
        ("--temperature", "3"),
        ("--max-tokens", "0"),
        ("--seed", "x"),
    ] {
        let ran = gently(
            &home,
            &more,
            &["ask", "-m", "ollama/small-1b", flag, value, "hello"],
        );
        assert_eq!(ran.code, 2, "{flag} {value}");
        assert!(ran.err.contains(flag), "{}", ran.err);
    }
}

#[test]
fn tokens_and_cost_are_recorded_and_shown() {
    let (_dir, home) = home();
    let server = ModelServer::start(Behaviour::Good);
    let root = server.root_url();
    let more = [("OLLAMA_HOST", root.as_str())];
    configure(
        &home,
        "[price.\"ollama/small-1b\"]\ninput_per_mtok = '300.00'\noutput_per_mtok = '15'\n\
         [price.\"ollama/other:2b\"]\ninput_per_mtok = '1'\noutput_per_mtok = '1'\ncurrency = 'EUR'\n",
    );
    for (model, end, cost) in [
        (
            "ollama/small-1b",
            " · 18 tokens · $0.003405",
            json!({"currency": "USD", "micro": 3405}),
        ),
        (
            "ollama/other:2b",
            " · 18 tokens · 0.000018 EUR",
            json!({"currency": "EUR", "micro": 18}),
        ),
        ("ollama/unpriced", " · 18 tokens", Value::Null),
    ] {
        let ran = gently(&home, &more, &["ask", "-v", "-m", model, "hello"]);
        assert_eq!(
            (ran.out.as_str(), ran.code),
            (format!("{ANSWER}\n").as_str(), 0)
        );
        let said = ran
            .err
            .lines()
            .any(|line| line.ends_with(&format!("{end} · its window is not known")));
        assert!(said && !ran.recorded().contains("tokens"), "{}", ran.err);
        let facts = gently(&home, &more, &["ask", "--json", "-m", model, "hello"]).json();
        assert_eq!(
            facts["usage"],
            json!({"prompt_tokens": 11, "completion_tokens": 7, "cost": cost})
        );
    }
    let ran = gently(&home, &more, &["ask", "-v", "-m", "observer", "hello"]);
    assert!(!ran.err.contains("tokens"), "{}", ran.err);
    verified(&home);
    // The cost is part of what the ledger commits to.
    let store = unguarded(home.join("gently.db"));
    store
        .execute_batch("UPDATE llm_exchange SET cost_micro = 1 WHERE cost_micro = 18")
        .unwrap();
    drop(store);
    assert_eq!(gently(&home, &[], &["audit", "verify"]).code, 1);
}

#[test]
fn model_list_shows_what_is_there() {
    let (_dir, home) = home();
    let server = ModelServer::start(Behaviour::Good);
    let (root, v1) = (server.root_url(), server.base_url());
    let more = [
        ("OLLAMA_HOST", root.as_str()),
        ("GENTLY_MODEL_BASE_URL", &v1),
    ];
    let ran = gently(&home, &more, &["model", "list"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for part in [
        "observer   built in",
        "  ollama/other:2b\n  ollama/small-1b\n",
        "anthropic/ https://api.anthropic.com, no key in $ANTHROPIC_API_KEY: not asked",
        ", no key in $OPENAI_API_KEY: 2 models",
        "  openai/small-1b",
        "  sonnet = anthropic/claude-sonnet-4-5-20250929",
        "default    auto",
    ] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    // What answers stands first, what fails last.
    let failing = ModelServer::silent(Behaviour::error(500, "the kitchen burns"));
    let failing = [more[0], ("GENTLY_MODEL_BASE_URL", &failing.base_url())];
    let ran = gently(&home, &failing, &["model", "list"]);
    let heads = ran.out.lines().filter(|line| !line.starts_with(' '));
    let heads: Vec<&str> = heads.filter_map(|line| line.split(' ').next()).collect();
    let expected = [
        "ollama/",
        "observer",
        "replay",
        "default",
        "aliases",
        "not",
        "anthropic/",
        "openai/",
    ];
    assert_eq!(heads, expected, "{}", ran.out);
    let last = ran.out.lines().last().unwrap();
    assert!(last.contains("said 500: the kitchen burns"), "{last}");
    let shut = gently(&home, &[], &["model", "list"]);
    let last = shut.out.lines().last().unwrap();
    assert!(
        last.contains("can't be reached: nobody listens there;"),
        "{last}"
    );
    let facts = gently(&home, &more, &["model", "list", "--json"]).json();
    assert_eq!(
        facts["servers"][0]["models"],
        json!(["other:2b", "small-1b"])
    );
    assert_eq!(
        (
            &facts["servers"][1]["state"],
            &facts["servers"][1]["has_key"]
        ),
        (&json!("no_key"), &json!(false))
    );
    assert_eq!(
        facts["aliases"]["opus"],
        "anthropic/claude-opus-4-5-20251101"
    );

    // Nothing there, and no home: a list all the same, within its time.
    let begun = std::time::Instant::now();
    let silent = ModelServer::silent(Behaviour::NeverBegins);
    let none = home.join("nowhere");
    let more = [
        ("GENTLY_MODEL_ANTHROPIC_URL", silent.root_url()),
        ("GENTLY_MODEL_BASE_URL", silent.root_url()),
    ];
    let more = more.each_ref().map(|(name, value)| (*name, value.as_str()));
    let facts = gently(&none, &more, &["model", "list", "--json"]).json();
    let state = |i: usize| {
        (
            facts["servers"][i]["state"].clone(),
            facts["servers"][i]["reason"].clone(),
        )
    };
    assert_eq!(state(0), (json!("unreachable"), json!("unreachable")));
    assert_eq!(state(1), (json!("unreachable"), json!("timeout")));
    assert_eq!(state(2), (json!("unreachable"), json!("timeout")));
    assert!(begun.elapsed().as_secs() < 20 && !none.exists());
}
