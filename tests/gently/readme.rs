//! The README, done as it says: its commands run, and its session is what the program prints.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::person::{Person, Ran, run};

const README: &str = include_str!("../../README.md");

/// The indented blocks below a heading, without their indentation, joined.
fn blocks(heading: &str) -> String {
    let section = README
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
    let recipe = blocks("Verify it yourself");
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
    let asks = "gently ask one; gently ask two; gently session close; gently ask three; gently session close";
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
    assert_eq!(told.out.matches("signed by:   yes").count(), 2, "{told:#?}");

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

#[test]
fn the_session_is_what_is_printed() {
    let shown = blocks("A session");
    let reader = Reader::new();
    let mut printed = String::new();
    for command in shown.lines().filter_map(|line| line.strip_prefix("$ ")) {
        // Both streams into one, as on a terminal.
        let told = reader
            .bash(reader.person.dir.path(), &format!("{{ {command}; }} 2>&1"))
            .exits(0);
        printed.push_str(&format!("$ {command}\n{}\n", told.out));
    }
    let printed = printed
        .replace("one.invalid", "blockstream.info")
        .replace("two.invalid", "mempool.space")
        .replace("a.invalid", "a.pool.opentimestamps.org")
        .replace("b.invalid", "b.pool.opentimestamps.org")
        .replace("c.invalid", "a.pool.eternitywall.com")
        .replace("d.invalid", "ots.btc.catallaxy.com")
        // A slow machine takes a second between looking and answering.
        .replace("1 second old:", "just now:")
        .replace(
            &reader.home().display().to_string(),
            "/srv/desk/.local/share/gently",
        );
    assert!(printed.matches('$').count() >= 3, "{printed}");
    assert_eq!(
        masked(printed.trim()),
        masked(shown.trim()),
        "the README shows another session than is printed:\n{printed}"
    );
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
    // Blank lines between commands are the README's own; how many disks there are is the machine's.
    lines
        .into_iter()
        .filter(|line| !line.is_empty() && !line.contains(" % used ("))
        .collect::<Vec<_>>()
        .join("\n")
}

/// A hash, id, time or key, masked; other words as they are.
fn word(word: &str) -> String {
    let digits = word.trim_end_matches('…');
    let hex = digits.len() >= 8 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    let genesis = word.starts_with("39d8668c");
    let time =
        word.len() >= 20 && word.starts_with("20") && word.contains('T') && word.contains('Z');
    if (hex && !genesis) || time || word.starts_with("AAAAC3") {
        "…".to_owned()
    } else {
        word.to_owned()
    }
}

/// Every command of the table is one that there is.
#[test]
fn the_table_of_commands_is_true() {
    let person = Person::new();
    let rows: Vec<&str> = README
        .lines()
        .filter_map(|line| line.strip_prefix("| `gently "))
        .collect();
    assert!(rows.len() >= 7, "{rows:?}");
    for row in rows {
        let command = row.split('`').next().unwrap();
        let verbs: Vec<&str> = command
            .split([' ', ','])
            .take_while(|w| w.chars().all(|c| c.is_lowercase() || c == '-'))
            .collect();
        let verbs: Vec<&str> = verbs
            .into_iter()
            .filter(|verb| !verb.is_empty())
            .take(2)
            .collect();
        let told = person.gently(&[&verbs[..], &["--help"]].concat());
        assert!(
            told.code == 0 && told.out.contains(&format!("gently {}", verbs.join(" "))),
            "{command}: {told:?}"
        );
    }
}
