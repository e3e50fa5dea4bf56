//! Whatever is typed, configured, read or answered: no error, note or log line repeats a secret in
//! it.

use std::path::Path;

use crate::model_server::{Behaviour, ModelServer};
use crate::person::{Person, Ran};

/// Shapes that the sanitizer knows by themselves, put together here so that no scanner stumbles
/// over this file.
fn secrets() -> [String; 2] {
    [
        ["ghp_", "wJ8kQ2mZxV5nB7cR4tY9uL1oP3sD6fG0hA2E"].concat(),
        ["AKIA", "Q7X2M4K3P5ZT6W3B"].concat(),
    ]
}

#[track_caller]
fn silent(ran: &Ran, secret: &str, what: &str) {
    for piece in [secret, &secret[secret.len() - 12..]] {
        assert!(
            !ran.err.contains(piece) && !ran.out.contains(piece),
            "{what}: {ran:?}"
        );
    }
}

fn nowhere(person: &Person, secret: &str, what: &str) {
    let held = crate::erase::holders(person.home(), secret.as_bytes());
    assert!(held.is_empty(), "{what}: {held:?}");
}

#[test]
fn a_secret_that_is_typed_where_it_does_not_belong_is_not_repeated() {
    let person = Person::new();
    person.ask("one");
    for secret in secrets() {
        let file = format!("/nowhere/{secret}");
        let url = format!("http://user:{secret}@127.0.0.1:9/v1");
        for args in [
            &["ask", "--model", &secret, "x"][..],
            &["ask", "--model", &format!("openai/{secret}"), "x"],
            &["ask", "--model", &format!("replay:{secret}"), "x"],
            &["ask", "--temperature", &secret, "x"],
            &["ask", "--expect", &file, "x"],
            &["ask", "--ref", &secret, "x"],
            &["ask", &format!("--{secret}"), "x"],
            &["ask", "--password", &secret],
            &[&secret],
            &["show", &secret, "--full"],
            &["session", "show", &secret],
            &["session", "close", &secret],
            &["log", "--since", &secret],
            &["fact", "ratify", &secret],
            &["fact", "add", "x", "--observed-at", &secret],
            &["fact", "add", "x", "--confidence", &secret],
            &["drift", "show", &secret],
            &["action", "show", &secret],
            &["erase", &secret],
            &["conflict", "resolve", &secret],
            &["kernel", "check", &file],
            &["kernel", "set", &file],
            &["config", "set", "model.base_url", &secret],
            &["config", "set", "anchor.mode", &secret],
            &["config", "set", &secret, "x"],
            &["config", "get", &secret],
            &["audit", "verify", "--repo", &file],
            &["audit", "verify", "--signer", &secret],
            &["audit", "verify", "--since", &secret],
            &["audit", "verify", "--require", &secret],
            &["audit", "session", &secret],
            &["audit", "publish", &url],
            &["audit", "export", &secret, "export"],
            &["restore", &file],
            &["hook", "install", &file],
            &["key", "revoke", &secret],
            &["key", "add", &secret],
            &["sight", &secret],
            &["init", "--origin", &secret],
            &["context", "preview", "--model", &secret, "x"],
        ] {
            for json in [false, true] {
                let args: Vec<&str> = args
                    .iter()
                    .copied()
                    .chain(json.then_some("--json"))
                    .collect();
                let ran = person.gently(&args);
                assert_ne!(ran.code, 0, "{args:?}: {ran:?}");
                silent(&ran, &secret, &format!("{args:?}"));
            }
            nowhere(&person, &secret, &format!("{args:?}"));
        }
    }
}

#[test]
fn a_secret_in_files_and_settings_is_not_repeated() {
    let [secret, _] = secrets();
    let person = Person::new();
    person.ask("one");
    let write = |name: &str, text: &str| {
        let path = person.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let kernel = person.gently(&["kernel", "show"]).exits(0).out;
    let wrong = write(
        "wrong.toml",
        &kernel.replace("tier = 2", &format!("tier = \"{secret}\"")),
    );
    let inside = write(
        "inside.toml",
        &kernel.replacen("intent = \"", &format!("intent = \"{secret} "), 1),
    );
    let rules = write(
        "rules.toml",
        &format!("[[rules]]\nid = \"x\"\nregex = '(({secret}'\n"),
    );
    let schema = write("schema.json", &format!("{{\"type\": \"{secret}\"}}"));
    let garbage = write("garbage", &format!("{secret}\n"));
    for args in [
        &["kernel", "check", wrong.as_str()][..],
        &["kernel", "set", &wrong],
        &["kernel", "set", &inside],
        &["ask", "--expect", &schema, "x"],
        &["restore", &garbage],
        &["audit", "verify", "--repo", &garbage],
        &["audit", "verify", "--signer", &garbage],
        &["audit", "verify", "--since", "last", "--position", &garbage],
    ] {
        silent(&person.gently(args), &secret, &format!("{args:?}"));
        silent(
            &person.gently(&[args, &["--json"]].concat()),
            &secret,
            &format!("{args:?}"),
        );
    }
    nowhere(&person, &secret, "files");
    let file = person.at("gently.toml");
    let sound = std::fs::read_to_string(&file).unwrap();
    for line in [
        format!("[model]\nbase_url = \"{secret}\""),
        format!("[model]\n{secret} = 1"),
        secret.clone(),
        format!("[session]\nhost_role = \"{secret}\""),
        format!("[sanitize]\nrules = [\"{rules}\"]"),
        format!("[keys]\npassphrase_cmd = \"echo {secret} >&2; exit 3\""),
        format!("[model]\ndefault = \"openai/{secret}\""),
    ] {
        std::fs::write(&file, &line).unwrap();
        for args in [
            &["ask", "x"][..],
            &["fact", "add", "x"],
            &["doctor", "-v"],
            &["model", "list"],
        ] {
            let ran = person.gently(args);
            silent(&ran, &secret, &format!("{line}: {args:?}"));
        }
    }
    std::fs::write(&file, sound).unwrap();
    nowhere(&person, &secret, "settings");
    // In the environment, where a setting and a file of the person's own stand.
    for (name, value) in [
        ("GENTLY_MODEL_TIMEOUT_S", secret.clone()),
        ("GENTLY_SESSION_HOST_ROLE", secret.clone()),
        ("GENTLY_AUTH_KEY", secret.clone()),
        ("OLLAMA_HOST", format!("http://user:{secret}@127.0.0.1:9")),
        (
            "GENTLY_MODEL_BASE_URL",
            format!("http://user:{secret}@127.0.0.1:9/v1"),
        ),
    ] {
        for model in ["observer", "openai/x", "ollama/x"] {
            let mut command = person.command(&["ask", "--model", model, "x"]);
            silent(
                &crate::person::run(command.env(name, &value)),
                &secret,
                name,
            );
        }
    }
    nowhere(&person, &secret, "environment");
}

#[test]
fn what_a_server_says_of_a_secret_goes_neither_to_the_screen_nor_on_record() {
    let [secret, other] = secrets();
    let body =
        format!("{{\"error\":{{\"message\":\"no key {secret} here\",\"type\":\"{other}\"}}}}");
    for behaviour in [
        Behaviour::Status(401, Vec::new(), body.clone()),
        Behaviour::Status(404, Vec::new(), body.clone()),
        Behaviour::Status(500, Vec::new(), format!("<html>{secret} {other}</html>")),
    ] {
        let what = format!("{behaviour:?}");
        let server = ModelServer::start(behaviour);
        let person = Person::with(&[
            ("GENTLY_ANCHOR_MODE", "off"),
            ("GENTLY_MODEL_BASE_URL", &server.base_url()),
            ("OPENAI_API_KEY", &secret),
        ]);
        for json in [
            &["ask", "--model", "openai/x", "y"][..],
            &["--json", "ask", "--model", "openai/x", "y"],
        ] {
            let ran = person.gently(json).exits(2);
            silent(&ran, &secret, &what);
            silent(&ran, &other, &what);
        }
        let listed = person.gently(&["model", "list"]);
        silent(&listed, &secret, &what);
        nowhere(&person, &secret, &what);
        nowhere(&person, &other, &what);
    }
}

/// Nothing else writes to stderr: so nothing gets there that has not passed the sanitizer.
#[test]
fn one_place_writes_to_standard_error() {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]\nmod ").next().unwrap();
            if path.to_string_lossy().contains("tests.rs") {
                continue;
            }
            for (n, line) in (1..).zip(code.lines()) {
                let line = line.replace("use_stderr()", "");
                // `err` is the handed-on stderr of `gently audit`: only its sanitized writer may
                // write to it.
                assert!(
                    !line.contains("say(err") || line.contains("redact("),
                    "{}:{n}: {line}",
                    path.display()
                );
                let writes = ["eprint", "stderr()", "dbg!"]
                    .iter()
                    .any(|way| line.contains(way));
                let asks = line.contains("is_terminal") || line.contains("columns(&");
                if writes && !asks && !line.trim_start().starts_with("//") {
                    found.push(format!(
                        "{}:{n}",
                        path.strip_prefix(env!("CARGO_MANIFEST_DIR"))
                            .unwrap()
                            .display()
                    ));
                }
            }
        }
    }
    found.sort();
    let files: Vec<&str> = found
        .iter()
        .map(|place| place.split(':').next().unwrap())
        .collect();
    // Four bars and spinners, which say a model's checked name or numbers; audit's, which is
    // handed to its own sanitized writer.
    assert_eq!(
        files,
        [
            "src/cli/keep/store.rs",
            "src/cli/prove/anchor_sync.rs",
            "src/cli/prove/audit/progress.rs",
            "src/cli/screen/mod.rs",
            "src/cli/screen/terminal.rs"
        ],
        "{found:?}"
    );
}
