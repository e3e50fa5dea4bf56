//! The tutorial of the guide, typed along: each of its commands runs in an empty home, and prints what
//! stands below it.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::model_server::{Behaviour, ModelServer};
use crate::person::{Person, run};

const TUTORIAL: &str = include_str!("../../docs/guide/first-days.md");
/// What the models answer, in the order of the questions.
const ANSWERS: [&str; 4] = [
    "Purse your lips and blow over your tongue.",
    "Curl your tongue back with two of them.",
    "Fingers are louder.",
    "Half a minute a day will do.",
];
/// What stands for something that differs from place to place.
const ELSE: &str = "…";

/// A command, and the lines below it.
struct TutorialCommand<'a> {
    typed: &'a str,
    shown: Vec<&'a str>,
}

/// The commands of all blocks of a terminal, in their order.
fn commands(page: &str) -> Vec<TutorialCommand<'_>> {
    let mut commands: Vec<TutorialCommand<'_>> = Vec::new();
    let mut is_console = false;
    for line in page.lines() {
        match (line, line.strip_prefix("$ ")) {
            ("```console", _) => is_console = true,
            ("```", _) => is_console = false,
            (_, Some(typed)) if is_console => commands.push(TutorialCommand {
                typed,
                shown: Vec::new(),
            }),
            (shown, None) if is_console => commands.last_mut().unwrap().shown.push(shown),
            _ => {}
        }
    }
    commands
}

/// Whether a line is what a page says, where `…` stands for anything.
fn is_shown(line: &str, said: &str) -> bool {
    let mut parts = said.split(ELSE);
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        let Some((_, behind)) = rest.split_once(part) else {
            return false;
        };
        rest = behind;
    }
    rest.ends_with(last)
}

/// All bytes of all files below a folder.
fn bytes(folder: &Path, all: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            bytes(&path, all);
        } else {
            let name = path.display().to_string();
            all.push((name, std::fs::read(&path).unwrap()));
        }
    }
}

#[test]
fn the_tutorial_can_be_typed_along() {
    let answers = ANSWERS.map(|answer| Behaviour::Says(answer.to_owned()));
    let server = ModelServer::script(answers.to_vec());
    let base = server.base_url();
    let person = Person::with(&[
        ("GENTLY_ANCHOR_MODE", "off"),
        ("GENTLY_MODEL_DEFAULT", "openai/gpt-5-mini"),
        ("GENTLY_MODEL_BASE_URL", base.as_str()),
        ("OPENAI_API_KEY", "test"),
    ]);
    let folder = person.dir.path();
    let program = Path::new(env!("CARGO_BIN_EXE_gently")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let commands = commands(TUTORIAL);
    assert_eq!(commands.len(), TUTORIAL.matches("\n$ ").count());
    assert!(commands.len() > 10);
    for TutorialCommand { typed, shown } in &commands {
        let mut bash = Command::new("bash");
        // Both outputs in the order in which they come, as on a terminal.
        bash.args(["-c", &format!("exec 2>&1\n{typed}")])
            .current_dir(folder)
            .env_clear()
            .envs(person.variables())
            .env("PATH", &path)
            .env("HOME", folder)
            .stdin(Stdio::null());
        let ran = run(&mut bash).exits(0);
        let mut lines = ran.out.lines();
        for said in shown {
            assert!(
                lines.any(|line| is_shown(line, said)),
                "$ {typed}\n'{said}' is not there, or not in this order:\n{}",
                ran.out
            );
        }
    }
    // Beside the questions somebody only looks whether the model of the day before is still there:
    // a connection without a byte.
    let requests = server.requests();
    let asked = requests.iter().filter(|request| !request.line.is_empty());
    assert_eq!(asked.count(), ANSWERS.len());
    // The search index holds stems: they are gone, too, and so is whatever was sent.
    let home = folder.join(".local/share/gently");
    let mut files = Vec::new();
    bytes(&home, &mut files);
    assert!(files.iter().any(|(name, _)| name.ends_with("gently.db")));
    for word in [
        "whistl", "finger", "tongue", "louder", "practis", "lessons", "tune?",
    ] {
        for (name, bytes) in &files {
            let is_there = bytes
                .windows(word.len())
                .any(|window| window.eq_ignore_ascii_case(word.as_bytes()));
            assert!(!is_there, "'{word}' in {name}");
        }
    }
    let kept = std::fs::read_to_string(folder.join("lessons.md")).unwrap();
    assert!(
        kept.contains("whistle") && kept.contains("Fingers"),
        "{kept}"
    );
}

#[test]
fn a_line_of_the_page_is_held_against_the_screen() {
    for (line, said, expected) in [
        ("exit 1", "exit 1", true),
        ("exit 12", "exit 1", false),
        ("✔ 5ec99582/1", "✔ …/1", true),
        ("✔ 5ec99582/2", "✔ …/1", false),
        ("anything", "…", true),
        ("a b c", "a … c", true),
        ("a b c", "… b …", true),
        ("a c", "… b …", false),
    ] {
        assert_eq!(is_shown(line, said), expected, "{line}: {said}");
    }
}
