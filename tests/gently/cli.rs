//! What the program prints, word for word, and what it takes.
//!
//! The goldens are in `tests/cli/`; after a wanted change, look at `INSTA_UPDATE=always` and at the
//! difference.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use gently::home::Home;
use gently::record::time::Seconds;
use gently::recorder::{Recorder, unwatched};
use insta::Settings;

use crate::model_server::{Behaviour, ModelServer};
use crate::person::{Person, Ran};

const QUESTION: &str = "How is this machine doing?";

/// One command and what came of it, as it stands in a golden.
fn told(args: &[&str], ran: &Ran) -> String {
    let typed: Vec<String> = args
        .iter()
        .map(|arg| {
            if plain(arg) {
                (*arg).to_owned()
            } else {
                format!("{arg:?}")
            }
        })
        .collect();
    let part = |name: &str, text: &str| {
        if text.is_empty() {
            String::new()
        } else {
            format!("--- {name}\n{text}")
        }
    };
    format!(
        "$ gently {}\n{}{}--- exit {}\n\n",
        typed.join(" "),
        part("stdout", &ran.out),
        part("stderr", &ran.err),
        ran.code
    )
}

fn plain(arg: &str) -> bool {
    !arg.is_empty()
        && arg
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-./_=".contains(&b))
}

/// Compares with `tests/cli/NAME.snap`; what differs from run to run is masked.
fn golden(name: &str, person: &Person, text: &str) {
    let mut settings = Settings::clone_current();
    settings.set_snapshot_path("../cli");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let place = |path: &std::path::Path| regex_of(&path.display().to_string());
    settings.add_filter(&place(&person.home()), "[home]");
    settings.add_filter(&place(person.dir.path()), "[dir]");
    settings.add_filter(&regex_of(env!("CARGO_BIN_EXE_gently")), "gently");
    settings.add_filter(
        "-----BEGIN SSH SIGNATURE-----.*?-----END SSH SIGNATURE-----",
        "[signature]",
    );
    settings.add_filter(
        r"gently/[0-9a-f]{16}\\n(\d+)\\n[^\\]+\\n\\n— [^\\]+\\n",
        r"[checkpoint of $1 lines]\n",
    );
    settings.add_filter(
        r"\b[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b",
        "[uuid]",
    );
    settings.add_filter(r"\b0{64}\b", "[zero]");
    settings.add_filter(r"\b[0-9a-f]{64}\b", "[hash]");
    settings.add_filter(r"\b[0-9a-f]{40}\b", "[commit]");
    settings.add_filter(r"\b[0-9a-f]{16}\b", "[id16]");
    settings.add_filter(r"\b[0-9a-f]{8}…", "[id8]…");
    settings.add_filter(r"\b[0-9a-f]{8}/(\d+)( · |\n)", "[id8]/$1$2");
    settings.add_filter(r#""id":"[0-9a-f]{8}/"#, r#""id":"[id8]/"#);
    settings.add_filter(r#""id":"[0-9a-f]{8}""#, r#""id":"[id8]""#);
    settings.add_filter(r"\b[0-9a-f]{8}  (open|closed)  ", "[id8]  $1  ");
    settings.add_filter(
        r#""prompt_tokens_added":\d+"#,
        r#""prompt_tokens_added":[count]"#,
    );
    settings.add_filter(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "[time]");
    settings.add_filter(r"\d{4}-\d\d-\d\d \d\d:\d\d", "[minute]");
    settings.add_filter(r#""time":\d+"#, r#""time":[seconds]"#);
    settings.add_filter(r"AAAAC3NzaC1lZDI1NTE5AAAAI[A-Za-z0-9+/]{43}", "[key]");
    settings.add_filter(r"\+[0-9a-f]{8}\+A[Q-Za-f][A-Za-z0-9+/]{42}", "+[log key]");
    settings.add_filter(r"\btool:([a-z_]+):\d+", "tool:$1:[seconds]");
    settings.add_filter(r#""freshness_s":\d+"#, r#""freshness_s":[age]"#);
    // The machine's own values.
    // In the order of their ids, which are other ones in every home.
    settings.add_filter(
        r#""transformations":\[(\{[^}]*\},?)+\]"#,
        r#""transformations":[…]"#,
    );
    settings.add_filter(
        r#""risk_flags":\[("unknown:[a-z_]+",?)+\]"#,
        r#""risk_flags":[…]"#,
    );
    settings.add_filter(r"\[time\], (just now|\d+ seconds? old):", "[time], [age]:");
    settings.add_filter(
        r"(?P<name>  (load|memory|swap|disk|up) +)[^\\\n]+",
        "$name[value]",
    );
    settings.add_filter(
        r"(disk_usage, \[time\], \[age\]:)(\\n  [^\\\n]*|\n  [^\n]*)+",
        "$1 [disks]",
    );
    settings.add_filter(r"(?P<name>  sizes +)[^\\\n]+", "$name[value]");
    settings.add_filter(r"Not known: [^\n]+\. Unknown", "Not known: […]. Unknown");
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// A text as a pattern that fits it alone.
fn regex_of(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '/' {
                c.to_string()
            } else {
                format!("\\{c}")
            }
        })
        .collect()
}

/// Runs commands one after the other into one text.
fn walk(person: &Person, commands: &[&[&str]]) -> String {
    commands
        .iter()
        .map(|args| told(args, &person.gently(args)))
        .collect()
}

#[test]
fn asks() {
    let person = Person::new().under_the_kernel();
    let text = walk(
        &person,
        &[
            &["ask", QUESTION],
            &["ask", "And", "the", "disk?"],
            &["ask", ""],
            &["ask", "Who", "are", "you?"],
            &["ask", "--json", "--sight", "Who", "are", "you?"],
            &["ask", "--no-sight", QUESTION],
            &["ask", "--json", "--no-sight", QUESTION],
            &["ask", "--sight", "--no-sight", QUESTION],
            &["ask", "--json", " "],
            &["ask", "--model", "gpt-4o", "Hello?"],
            &["ask", "--model", "openai/", "Hello?"],
            &["ask", "--json", "--model", "gpt-4o", "Hello?"],
            &["ask"],
        ],
    );
    golden("asks", &person, &text);
}

#[test]
fn asks_without_a_network() {
    // Names under .invalid never resolve (RFC 6761), with a network or without.
    let explorers = r#"["https://one.invalid/api", "https://two.invalid/api"]"#;
    let person = Person::with(&[
        ("GENTLY_ANCHOR_ESPLORA", explorers),
        ("GENTLY_ANCHOR_DEADLINE_MS", "20000"),
    ])
    .under_the_kernel();
    golden(
        "asks_without_a_network",
        &person,
        &walk(&person, &[&["ask", QUESTION], &["ask", "And the disk?"]]),
    );
}

#[test]
fn sessions() {
    let person = Person::new();
    let text = walk(
        &person,
        &[
            &["session", "list"],
            &["session", "close"],
            &["session", "open"],
            &["session", "list"],
            &["ask", "--model", "observer", "Hello?"],
            &["session", "list", "--open", "--json"],
            &["session", "close", "no-hex"],
            &["session", "close"],
            &["session", "close"],
            &["session", "list"],
            &["session", "list", "--open"],
        ],
    );
    golden("sessions", &person, &text);
}

#[test]
fn witnesses() {
    let person = Person::new();
    let vkey = crate::witness_server::vkey("witness.example/w1", 1).print();
    let text = walk(
        &person,
        &[
            &["init"],
            &["witness", "list"],
            &["witness", "ask"],
            &["witness", "add", "desk", &vkey, "http://witness.example"],
            &["witness", "add", "desk", "desk", "https://witness.example"],
            &[
                "witness",
                "add",
                "desk",
                &vkey,
                "https://witness.example/w1/",
            ],
            &["witness", "add", "shed", &vkey, "https://shed.example"],
            &["witness", "list"],
            &["witness", "list", "--json"],
            &["witness", "ask", "--json"],
            &["config", "set", "witness.quorum", "2"],
            &["witness", "list"],
            &["witness", "remove", "shed"],
            &["witness", "remove", "desk"],
        ],
    );
    golden("witnesses", &person, &text);
}

#[test]
fn homes() {
    let person = Person::new();
    std::fs::create_dir(person.dir.path().join("full")).unwrap();
    std::fs::write(person.dir.path().join("full/letter"), "").unwrap();
    std::fs::write(person.dir.path().join("file"), "").unwrap();
    let mut text = walk(
        &person,
        &[
            &["init", "--origin", "two words"],
            &["init", "--network", "mainnet"],
            &[
                "init",
                "--origin",
                "gently/desk",
                "--network",
                "signet",
                "--commitments",
                "sha256",
            ],
            &["init"],
            &["init", "--json"],
        ],
    );
    // Elsewhere: in a folder of somebody else's, a file, below a file, where nothing can be made.
    for place in ["full", "file", "file/below", "/proc/gently"] {
        let mut command = person.command(&["ask", QUESTION]);
        let ran = crate::person::run(command.env("GENTLY_HOME", person.dir.path().join(place)));
        text.push_str(&format!(
            "(GENTLY_HOME={place})\n{}",
            told(&["ask", QUESTION], &ran)
        ));
    }
    golden("homes", &person, &text);
    let left: Vec<_> = std::fs::read_dir(person.dir.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(
        left.len(),
        3,
        "a failed init leaves nothing behind: {left:?}"
    );
}

#[test]
fn keys() {
    let person = Person::new();
    person.ask(QUESTION);
    let prompts = || {
        person
            .log()
            .iter()
            .filter(|line| line.contains("|prompt|"))
            .count()
    };
    let before = prompts();
    let mut text = String::new();
    let presents = |key: &str| {
        let ran = crate::person::run(
            person
                .command(&["ask", QUESTION])
                .env("GENTLY_AUTH_KEY", key),
        );
        told(&["ask", QUESTION], &ran)
    };
    text.push_str(&format!(
        "(GENTLY_AUTH_KEY=…, another key)\n{}",
        presents(&"0".repeat(64))
    ));
    text.push_str(&format!(
        "(GENTLY_AUTH_KEY=…, no key)\n{}",
        presents("open sesame")
    ));
    let chmod = |place: &str, mode| {
        std::fs::set_permissions(person.at(place), Permissions::from_mode(mode)).unwrap()
    };
    for (place, wrong, right) in [
        ("keys/auth.key", 0o644, 0o600),
        ("keys/signing.key", 0o660, 0o600),
        ("keys", 0o755, 0o700),
    ] {
        chmod(place, wrong);
        text.push_str(&format!(
            "(chmod {wrong:o} {place})\n{}",
            walk(&person, &[&["ask", QUESTION]])
        ));
        chmod(place, right);
    }
    for place in ["keys/auth.key", "keys/signing.key"] {
        let aside = person.dir.path().join("aside");
        std::fs::rename(person.at(place), &aside).unwrap();
        text.push_str(&format!(
            "(no {place})\n{}",
            walk(&person, &[&["ask", QUESTION]])
        ));
        std::fs::rename(&aside, person.at(place)).unwrap();
    }
    golden("keys", &person, &text);
    assert_eq!(prompts(), before, "no prompt, so no model");
    let reasons: Vec<String> = person
        .log()
        .iter()
        .filter(|line| line.contains("|auth_fail|-|"))
        .map(|line| line.split("reason:").nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(
        reasons,
        [
            "wrong_key,count:1",
            "malformed_key,count:1",
            "unsafe_key_file,count:1",
            "missing_key,count:1"
        ]
    );
    // The right key from the environment is as good as from the vault, and its place may be empty
    // then.
    let key = std::fs::read_to_string(person.at("keys/auth.key")).unwrap();
    std::fs::remove_file(person.at("keys/auth.key")).unwrap();
    crate::person::run(
        person
            .command(&["ask", QUESTION])
            .env("GENTLY_AUTH_KEY", key.trim()),
    )
    .exits(0);
    assert_eq!(person.verified()["answers"]["complete"], "yes");
}

/// One line at once, then one for all the others of its minute: nobody fills the log by guessing.
#[tokio::test]
async fn wrong_keys_are_gathered() {
    let mut person = Person::new();
    person.ask(QUESTION);
    person.set("GENTLY_AUTH_KEY", &"0".repeat(64));
    for _ in 0..4 {
        person.gently(&["ask", QUESTION]).exits(2);
    }
    let counts = || -> Vec<String> {
        let lines = person.log();
        let lines = lines.iter().filter(|line| line.contains("|auth_fail|"));
        lines
            .map(|line| line.rsplit("count:").next().unwrap().to_owned())
            .collect()
    };
    assert_eq!(counts(), ["1"]);
    let home = Home::open(&person.home()).unwrap().unwrap();
    let now = u64::try_from(chrono::Utc::now().timestamp()).unwrap();
    let at = |later: u64| Seconds::new(now + later).unwrap();
    let recorder = Recorder::open(
        home.paths(),
        home.signing_key().unwrap(),
        at(0),
        unwatched(),
    )
    .unwrap();
    recorder
        .auth_fail("wrong_key".to_owned(), at(61))
        .await
        .unwrap();
    drop(recorder);
    let total: u64 = counts()
        .iter()
        .map(|count| count.parse::<u64>().unwrap())
        .sum();
    assert!(total >= 4 && counts().len() <= 3, "{:?}", counts());
}

#[test]
fn configuration() {
    let person = Person::new();
    let mut text = walk(
        &person,
        &[&["config", "get", "anchor.mode"], &["config", "path"]],
    );
    person.gently(&["init"]).exits(0);
    text.push_str(&walk(
        &person,
        &[
            &["config", "path"],
            &["config", "get", "session.idle_minutes"],
            &["config", "set", "session.idle_minutes", "5"],
            &["config", "get", "session.idle_minutes"],
            &["config", "get", "session.idle_minutes", "--json"],
            &["config", "get", "anchor.mod"],
            &["config", "set", "modle.default", "observer"],
            &["config", "set", "model.timeout_s", "fast"],
            &["config", "set", "model.timeout_s", "0"],
            &["config", "set", "anchor.mode", "maybe"],
            &["config", "set", "anchor.esplora", "https://one.invalid"],
            &["config", "set", "model.default"],
        ],
    ));
    std::fs::write(
        person.at("gently.toml"),
        "[anchor]\nmode = \"off\"\nexplora = []\n",
    )
    .unwrap();
    text.push_str(&format!(
        "(gently.toml with a word misspelt)\n{}",
        walk(&person, &[&["ask", QUESTION]])
    ));
    std::fs::write(person.at("gently.toml"), "[anchor\n").unwrap();
    text.push_str(&format!(
        "(gently.toml that is no TOML)\n{}",
        walk(&person, &[&["ask", QUESTION]])
    ));
    golden("configuration", &person, &text);
}

#[test]
fn helps() {
    let person = Person::new().under_the_kernel();
    let text = walk(
        &person,
        &[
            &["ask", "--help"],
            &["init", "--help"],
            &["session", "--help"],
            &["session", "open", "--help"],
            &["session", "close", "--help"],
            &["session", "list", "--help"],
            &["ask", "--bogus"],
            &["frobnicate"],
            &["aks", "What", "is", "it?"],
            &["What is it?"],
            &["help"],
            &["help", "exit-codes"],
            &["help", "ids"],
            &["help", "privacy"],
            &["help", "verify"],
            &["help", "audit", "vrify"],
            &["help", "frobnicate"],
        ],
    );
    golden("helps", &person, &text);
    let all = person.gently(&["--help"]).exits(0).out;
    for verb in ["ask", "init", "session", "audit", "config"] {
        assert!(
            all.lines()
                .any(|line| line.trim_start().starts_with(&format!("{verb} "))),
            "{verb}: {all}"
        );
    }
    assert!(
        all.contains("Exit codes: 0 fine · 1 ") && all.contains("$GENTLY_HOME"),
        "{all}"
    );
    assert!(!person.home().exists(), "help makes no home");
    person.gently(&["--version"]).exits(0);
}

/// What was asked, as the database has it.
fn asked(person: &Person) -> String {
    person
        .database()
        .query_row(
            "SELECT content FROM chat_turn WHERE speaker = 'user' ORDER BY rowid DESC LIMIT 1",
            [],
            |row| row.get(0),
        )
        .unwrap()
}

#[test]
fn a_prompt_comes_from_arguments_stdin_or_both() {
    let person = Person::new();
    for (words, input, expected) in [
        (&["Just", "words"] as &[&str], "", "Just words"),
        (
            &["One argument,\nof two lines"],
            "",
            "One argument,\nof two lines",
        ),
        (&[], "Only piped\n", "Only piped\n"),
        (
            &["What is this?"],
            "fn main() {}\n",
            "What is this?\n\n--- file 1 of 1: \"standard input\" (13 bytes, sha256 \
             536e506bb90914c243a12b397b9a998f85ae2cbd9ba02dfd03a9e155ca5ca0f4) ---\nfn main() {}\n",
        ),
        (&["--", "--help"], "", "--help"),
        (&["Zürich 東京 🦆"], "", "Zürich 東京 🦆"),
        (
            &[],
            "\u{feff}\u{202e}sdrawkcab\r\n",
            "\u{feff}\u{202e}sdrawkcab\r\n",
        ),
    ] {
        let args: Vec<&str> = ["ask"].iter().chain(words).copied().collect();
        person.piped(&args, input.as_bytes()).exits(0);
        assert_eq!(asked(&person), expected);
    }
    let long = "long ".repeat(200_000);
    person.piped(&["ask"], long.as_bytes()).exits(0);
    assert_eq!(asked(&person), long);
    let report = person.verified();
    assert_eq!(
        (
            report["answers"]["consistent"].as_str(),
            report["answers"]["complete"].as_str()
        ),
        (Some("yes"), Some("yes"))
    );
}

#[test]
fn what_is_no_prompt_is_refused() {
    let person = Person::new();
    let ran = person.piped(&["ask"], b"").exits(2);
    assert!(
        ran.err.contains("nothing asked: ") && !person.home().exists(),
        "{ran:?}"
    );
    let ran = person.piped(&["ask", "words"], b"ok \xff").exits(2);
    assert_eq!(
        ran.err,
        "error: standard input is not UTF-8 at byte 3; convert it first, for example with iconv\n"
    );
    let ran = person
        .piped(&["ask"], &vec![b'x'; 17 * 1024 * 1024])
        .exits(2);
    assert!(ran.err.contains("more than 16777216 bytes"), "{ran:?}");
    let ran = person.piped(&["ask"], b"a\0b").exits(2);
    assert!(ran.err.contains("NUL byte at byte 1"), "{ran:?}");
    assert!(
        !person.home().exists(),
        "nothing was asked, so nothing is made"
    );
    let words = std::os::unix::ffi::OsStrExt::as_bytes;
    let bad: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"\xff");
    assert_eq!(words(bad), b"\xff");
    crate::person::run(person.command(&["ask"]).arg(bad)).exits(2);

    // Past the kernel's limit it is denied, on record.
    let ran = person.piped(&["ask"], &vec![b'x'; 1_048_577]).exits(1);
    assert!(
        ran.err.contains("policy.prompt_too_large") && ran.out.is_empty(),
        "{ran:?}"
    );
    assert!(person.log().last().unwrap().contains("|denied|"));
    person.piped(&["ask"], &vec![b'x'; 1_048_576]).exits(0);
}

/// A pipe that nobody closes looks like a hang, so it is said what is waited for.
#[test]
fn waiting_for_stdin_is_said() {
    use std::io::{BufRead, BufReader, Write};
    let person = Person::new();
    let mut child = person
        .command(&["ask", "What is this?"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(
        first.starts_with("waiting for the end of standard input"),
        "{first}"
    );
    stdin.write_all(b"a late word").unwrap();
    drop(stdin);
    drop(lines.map(Result::unwrap).collect::<Vec<_>>());
    assert!(child.wait().unwrap().success());
    let asked = asked(&person);
    let head = "What is this?\n\n--- file 1 of 1: \"standard input\" (11 bytes, sha256 ";
    assert!(asked.starts_with(head), "{asked}");
    assert!(asked.ends_with(" ---\na late word"), "{asked}");
}

#[test]
fn stdout_holds_the_answer_and_nothing_else() {
    let server = ModelServer::start(Behaviour::Says("Paris.\n\nOr so.\n".to_owned()));
    let mut person = Person::new();
    person.set("GENTLY_MODEL_BASE_URL", &server.base_url());
    let ran = person
        .gently(&[
            "ask",
            "-m",
            "openai/small",
            "What is the capital of France?",
        ])
        .exits(0);
    assert_eq!(ran.out, "Paris.\n\nOr so.\n");
    assert!(ran.err.contains("/1\n"));
    let failed = person.gently(&["ask", "-m", "nobody", "Hello?"]).exits(2);
    assert_eq!(failed.out, "");
}

#[test]
fn a_reader_that_went_away_harms_nothing() {
    let person = Person::new();
    let mut child = person
        .command(&["ask", QUESTION])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(person.log().last().unwrap().contains("|response|"));

    // A full disk behind stdout is no success; the record is there all the same.
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = person
        .command(&["ask", QUESTION])
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("error: writing to standard output") && said.contains("/2 · in "),
        "{said}"
    );
}

#[test]
fn a_home_without_gently_home_is_the_platforms() {
    let person = Person::new();
    let mut command = person.command(&["config", "path"]);
    let ran = crate::person::run(command.env_remove("GENTLY_HOME")).exits(0);
    let expected = person.dir.path().join(".local/share/gently/gently.toml");
    assert_eq!(ran.out.trim(), expected.display().to_string());
    let mut command = person.command(&["config", "path"]);
    let data = person.dir.path().join("data");
    let ran =
        crate::person::run(command.env("GENTLY_HOME", "").env("XDG_DATA_HOME", &data)).exits(0);
    assert_eq!(
        ran.out.trim(),
        data.join("gently/gently.toml").display().to_string()
    );
    // Neither is known: the system's list of users is asked, and never the working directory.
    let mut command = person.command(&["config", "path"]);
    let ran = crate::person::run(command.env_remove("GENTLY_HOME").env_remove("HOME"));
    let found = std::path::Path::new(ran.out.trim()).is_absolute()
        && !ran.out.contains(person.dir.path().to_str().unwrap());
    assert!(
        ran.code == 0 && found || ran.code == 2 && ran.err.contains("GENTLY_HOME"),
        "{ran:?}"
    );
}
