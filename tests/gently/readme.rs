//! The README and the pages it leads to, done as they say: their commands run, and their sessions
//! are what the program prints.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::calendar_server::CalendarServer;
use crate::model_server::{Behaviour, ModelServer};
use crate::person::{Person, Ran, run};

const README: &str = include_str!("../../README.md");
const ASKING: &str = include_str!("../../docs/guide/asking.md");
const COMMANDS: &str = include_str!("../../docs/guide/commands.md");
const WITH_GIT: &str = include_str!("../../docs/guide/check-with-git.md");

/// What the model answers in the README's session.
const ANSWER: &str = "Sunlight scatters off air molecules, and blue light, with its shorter \
                      wavelength, scatters far more than red.";
const CALENDARS: [&str; 4] = [
    "a.pool.opentimestamps.org",
    "b.pool.opentimestamps.org",
    "a.pool.eternitywall.com",
    "ots.btc.catallaxy.com",
];

/// The indented blocks below a heading of a page, without their indentation, joined.
fn blocks(page: &str, heading: &str) -> String {
    let section = page
        .split(&format!("\n## {heading}\n"))
        .nth(1)
        .unwrap_or_else(|| panic!("no section '{heading}'"));
    let section = section.split("\n## ").next().unwrap();
    let lines = section
        .lines()
        .filter(|line| line.starts_with("    ") || line.is_empty());
    lines
        .map(|line| line.strip_prefix("    ").unwrap_or(line))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The words of a README that a newcomer reads to the end.
const README_WORDS: usize = 900;

#[test]
fn the_readme_is_short() {
    let words = README.split_whitespace().count();
    assert!(words <= README_WORDS, "{words} words");
}

/// Somebody whose home is where the README says, with `gently` in the `PATH`.
struct Reader {
    person: Person,
}

impl Reader {
    fn new() -> Self {
        // Names under .invalid never resolve: a machine without a network.
        let explorers = r#"["https://one.invalid/api", "https://two.invalid/api"]"#;
        let calendars = r#"["https://a.invalid", "https://b.invalid", "https://c.invalid", "https://d.invalid"]"#;
        let person = Person::with(&[
            ("GENTLY_ANCHOR_ESPLORA", explorers),
            ("GENTLY_OTS_CALENDARS", calendars),
            ("GENTLY_ANCHOR_DEADLINE_MS", "20000"),
        ]);
        Reader { person }
    }

    /// Runs a script in a folder of its own.
    fn bash(&self, folder: &Path, script: &str) -> Ran {
        let bin = Path::new(env!("CARGO_BIN_EXE_gently")).parent().unwrap();
        let mut bash = Command::new("bash");
        bash.args(["-euo", "pipefail", "-c", script])
            .current_dir(folder)
            .env_clear()
            .stdin(Stdio::null());
        bash.env(
            "PATH",
            format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()),
        );
        bash.env("HOME", self.person.dir.path());
        for (name, value) in self.person.variables() {
            bash.env(name, value);
        }
        run(&mut bash)
    }

    fn home(&self) -> PathBuf {
        self.person.dir.path().join(".local/share/gently")
    }

    fn folder(&self, name: &str) -> PathBuf {
        let folder = self.person.dir.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        folder
    }
}

#[test]
fn the_recipe_verifies_and_finds_what_was_changed() {
    let recipe = blocks(WITH_GIT, "Verify it yourself");
    for tool in [
        "fsck --strict",
        "verify-commit",
        "ssh-keygen -Y verify",
        "sha256sum",
        "gently audit verify --repo",
    ] {
        assert!(recipe.contains(tool), "{tool}: {recipe}");
    }
    let reader = Reader::new();
    let asks = "gently ask --sight one; gently ask --sight two; gently session close; gently ask --sight three; gently session close";
    reader.bash(reader.person.dir.path(), asks).exits(0);

    let told = reader.bash(&reader.folder("honest"), &recipe).exits(0);
    let git = |args: &[&str]| crate::person::git(&reader.home().join("ledger.git"), args);
    let commits = git(&["rev-list", "--all"]).exits(0).out.lines().count();
    assert_eq!(commits, 10);
    assert_eq!(
        told.err
            .matches("Good \"git\" signature for ledger@gently.invalid")
            .count(),
        commits,
        "{told:#?}"
    );
    assert_eq!(
        told.out
            .matches("Good \"git\" signature for ledger@gently.invalid")
            .count(),
        1,
        "by hand: {told:#?}"
    );
    let digits: Vec<&str> = told
        .out
        .lines()
        .filter(|l| l.len() >= 64 && l.is_char_boundary(64))
        .map(|l| &l[..64])
        .collect();
    let hashes: Vec<&&str> = digits
        .iter()
        .filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))
        .collect();
    assert_eq!(hashes.len(), 2, "{told:#?}");
    assert_eq!(hashes[0], hashes[1], "the line's own hash, twice");
    assert_eq!(
        told.out.matches("Chain integrity: VALID").count(),
        2,
        "{told:#?}"
    );
    assert_eq!(told.out.matches(", signed by ").count(), 2, "{told:#?}");
    assert!(!told.out.contains("by whom"), "{told:#?}");

    // A line changed afterwards: the two hashes differ, and the last commands end the script.
    let log = reader.home().join("audit.log");
    let text = std::fs::read_to_string(&log).unwrap();
    let at = text.rfind("interactions:").unwrap() + "interactions:".len();
    std::fs::write(&log, format!("{}9{}", &text[..at], &text[at + 1..])).unwrap();
    let told = reader.bash(&reader.folder("changed"), &recipe).exits(1);
    assert!(told.out.contains("Chain integrity: BROKEN"), "{told:#?}");
    std::fs::write(&log, &text).unwrap();

    // A commit that the key did not sign: `verify-commit` says so, and the script stops at it.
    let tree = git(&["rev-parse", "main^{tree}"]).out;
    let forged = git(&[
        "-c",
        "user.name=x",
        "-c",
        "user.email=x@x.invalid",
        "commit-tree",
        "-p",
        "main",
        "-m",
        "x",
        tree.trim(),
    ]);
    git(&["update-ref", "refs/heads/main", forged.exits(0).out.trim()]).exits(0);
    let told = reader.bash(&reader.folder("forged"), &recipe);
    assert_ne!(told.code, 0, "{told:#?}");
    // git lists newest first; of commits of one second, either may be looked at first.
    let good = told.err.matches("Good \"git\" signature").count();
    assert!(
        good < commits,
        "the forged commit was passed over: {told:#?}"
    );
}

/// A session as a reader does it: each command with what it prints, both streams in one as on a
/// terminal.
fn session(reader: &Reader, shown: &str) -> String {
    let mut printed = String::new();
    for command in shown.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let told = reader
            .bash(reader.person.dir.path(), &format!("{{ {command}; }} 2>&1"))
            .exits(0);
        printed.push_str(&format!("$ {command}\n{}\n", told.out));
    }
    printed
        .replace("one.invalid", "blockstream.info")
        .replace("two.invalid", "mempool.space")
        // A slow machine takes a second between looking and answering.
        .replace("1 second old:", "just now:")
        .replace(
            &reader.home().display().to_string(),
            "/srv/desk/.local/share/gently",
        )
}

#[track_caller]
fn is_shown(printed: &str, shown: &str) {
    assert_eq!(
        masked(printed.trim()),
        masked(shown.trim()),
        "the page shows another session than is printed:\n{printed}"
    );
}

#[test]
fn the_session_without_a_model_is_what_is_printed() {
    let shown = blocks(ASKING, "Without a model");
    let reader = Reader::new();
    let mut printed = session(&reader, &shown);
    for (name, calendar) in ["a.invalid", "b.invalid", "c.invalid", "d.invalid"]
        .into_iter()
        .zip(CALENDARS)
    {
        printed = printed.replace(name, calendar);
    }
    assert_eq!(printed.matches('$').count(), 2, "{printed}");
    is_shown(&printed, &shown);
}

/// The README's own session: a model's server, calendars that accept, and a real block.
#[test]
fn the_session_is_what_is_printed() {
    let shown = blocks(README, "What it looks like");
    let message = json!({"role": "assistant", "content": ANSWER});
    let answer = json!({
        "model": "llama3.1:8b", "message": message, "done": true, "done_reason": "stop",
        "prompt_eval_count": 500, "eval_count": 20,
    });
    let model = ModelServer::start(Behaviour::Json(answer.to_string()));
    let calendars: Vec<CalendarServer> = (1..=4).map(CalendarServer::start).collect();
    let mut reader = Reader::new();
    let headers = reader.person.headers(878_976..=878_976);
    let urls = json!(
        calendars
            .iter()
            .map(CalendarServer::url)
            .collect::<Vec<_>>()
    )
    .to_string();
    let ollama = model.root_url();
    let set: [(&str, &str); 4] = [
        ("GENTLY_MODEL_DEFAULT", "auto"),
        ("OLLAMA_HOST", &ollama),
        ("GENTLY_ANCHOR_HEADERS", headers.to_str().unwrap()),
        ("GENTLY_OTS_CALENDARS", &urls),
    ];
    for (name, value) in set {
        reader.person.set(name, value);
    }

    let mut printed = session(&reader, &shown)
        .replace(&ollama, "http://127.0.0.1:11434")
        // The first of those that this server lists.
        .replace("ollama/other:2b", "ollama/llama3.1:8b");
    for (server, calendar) in calendars.iter().zip(CALENDARS) {
        printed = printed.replace(server.url(), &format!("https://{calendar}"));
        printed = printed.replace(server.url().strip_prefix("http://").unwrap(), calendar);
    }
    assert!(
        printed.matches('$').count() >= 3 && printed.contains(ANSWER),
        "{printed}"
    );
    is_shown(&printed, &shown);
}

/// What the README tells somebody else to run, on what it says to hand over.
#[test]
fn somebody_else_checks_with_the_readmes_commands() {
    let reader = Reader::new();
    reader
        .bash(
            reader.person.dir.path(),
            "gently ask --sight one; gently session close",
        )
        .exits(0);
    let folder = reader.folder("elsewhere");
    reader
        .bash(
            &folder,
            r#"home=~/.local/share/gently
            git clone -q --mirror "$home/ledger.git"
            cp "$home/audit.log" "$home/audit.checkpoint" "$home/keys/allowed_signers" ."#,
        )
        .exits(0);
    std::os::unix::fs::symlink(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts"),
        folder.join("scripts"),
    )
    .unwrap();
    let commands = blocks(README, "How somebody else checks");
    let told = reader.bash(&folder, &commands).exits(0);
    assert_eq!(
        told.out.matches("Chain integrity: VALID").count(),
        2,
        "{told:#?}"
    );
    let signed = |by: &str| told.out.matches(by).count();
    assert_eq!(signed("signed by:   yes"), 1, "{told:#?}");
    assert_eq!(signed("signed by "), 1, "{told:#?}");
    assert!(!told.out.contains("by whom"), "{told:#?}");
    // A single answer, as the line below the commands has it.
    assert!(README.contains("run `gently share`"));
    assert!(README.contains("`gently check FILE` checks"));
    reader
        .bash(&folder, "gently share --yes --out answer.json")
        .exits(0);
    let told = reader.bash(&folder, "gently check answer.json").exits(0);
    assert!(told.out.contains("✔ Genuine: these 2 texts"), "{told:#?}");
    let told = reader.bash(&folder, "gently check answer.json -v").exits(0);
    assert!(told.out.contains("commitment:  yes"), "{told:#?}");
}

/// Without what differs from run to run and machine to machine.
fn masked(text: &str) -> String {
    let line = |line: &str| -> String {
        let value = [
            "  load ",
            "  memory ",
            "  swap ",
            "  disk ",
            "  up ",
            "  sizes ",
            "Not known: ",
        ];
        if let Some(name) = value.iter().find(|name| line.starts_with(**name)) {
            return format!("{name}…");
        }
        line.split(' ').map(word).collect::<Vec<_>>().join(" ")
    };
    let lines: Vec<String> = text.lines().map(line).collect();
    // Blank lines between commands are the page's own; how many disks there are is the machine's.
    lines
        .into_iter()
        .filter(|line| !line.is_empty() && !line.contains(" % used ("))
        .collect::<Vec<_>>()
        .join("\n")
}

/// A hash, id, time or key, masked; other words as they are.
fn word(word: &str) -> String {
    // An exchange's id is its session's digits and a number.
    let digits = word.split_once('/').map_or(word, |(session, _)| session);
    let digits = digits.trim_end_matches('…');
    let hex = digits.len() >= 8 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    let genesis = word.starts_with("39d8668c");
    let time =
        word.len() >= 20 && word.starts_with("20") && word.contains('T') && word.contains('Z');
    let key = word.chars().count() == 9 && word.chars().nth(4) == Some('…');
    if (hex && !genesis) || time || key || word.starts_with("AAAAC3") {
        "…".to_owned()
    } else {
        word.to_owned()
    }
}

/// Every command of the table is one that there is.
#[test]
fn the_table_of_commands_is_true() {
    let person = Person::new();
    let rows: Vec<&str> = COMMANDS
        .lines()
        .filter_map(|line| line.strip_prefix("| `gently "))
        .collect();
    assert!(rows.len() >= 40, "{rows:?}");
    for row in rows {
        let (cell, _) = row.split_once(" |").unwrap();
        let mut codes = cell.split('`');
        let command = codes.next().unwrap();
        let words = command
            .split(' ')
            .take_while(|w| w.chars().all(|c| c.is_lowercase() || c == '-'));
        let verbs: Vec<&str> = words.take(2).collect();
        let help = |verbs: &[&str]| {
            let told = person.gently(&[verbs, &["--help"]].concat());
            assert!(
                told.code == 0 && told.out.contains(&format!("gently {}", verbs.join(" "))),
                "{cell}: {told:?}"
            );
            told.out
        };
        let shown = help(&verbs);
        // `close` behind `gently session open`, and options.
        for other in codes
            .filter_map(|code| code.split(' ').next())
            .filter(|code| !matches!(*code, "" | ","))
        {
            if other.starts_with("--") {
                assert!(shown.contains(other), "{cell}: {shown}");
            } else {
                help(&[verbs[0], other]);
            }
        }
    }
}
