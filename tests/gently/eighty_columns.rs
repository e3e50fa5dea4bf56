//! Forty journeys of people at a terminal of 80 columns and 24 rows (`tests/cli/journeys.txt`).
//!
//! No screen has a line that a terminal would break inside of a word, a word of the record, or more
//! than fits without a pager.

use std::path::Path;
use std::process::Command;

use crate::model_server::{Behaviour, ModelServer};
use crate::person::Person;
use crate::pty::{of_command, on_terminal};
use crate::screen_words::foreign;

const ROWS: u16 = 24;
const COLUMNS: u16 = 80;
/// What stands behind each command's screen, before its exit code.
const ENDED: &str = "\u{2}ended ";

/// `== TITLE`, then commands, each behind its exit code.
struct TerminalJourney<'a> {
    title: &'a str,
    commands: Vec<(i32, &'a str)>,
}

fn journeys(text: &str) -> Vec<TerminalJourney<'_>> {
    let mut journeys: Vec<TerminalJourney<'_>> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if let Some(title) = line.strip_prefix("== ") {
            let commands = Vec::new();
            journeys.push(TerminalJourney { title, commands });
        } else if let Some((code, command)) = line.split_once(' ') {
            let journey = journeys.last_mut().expect("a title first");
            journey.commands.push((code.parse().unwrap(), command));
        }
    }
    journeys
}

/// What is wrong with the screens of a journey.
fn walked(journey: &TerminalJourney<'_>) -> Vec<String> {
    let server = ModelServer::start(Behaviour::Says("Done. I've restarted nginx.".to_owned()));
    let base = server.base_url();
    let mut set = vec![
        ("GENTLY_ANCHOR_MODE", "off"),
        ("TERM", "xterm"),
        ("PAGER", "cat"),
    ];
    if !journey.title.contains("offline") {
        set.extend([
            ("GENTLY_MODEL_DEFAULT", "openai/small-1b"),
            ("GENTLY_MODEL_BASE_URL", base.as_str()),
            ("OPENAI_API_KEY", "test"),
        ]);
    }
    let person = Person::with(&set);
    let program = Path::new(env!("CARGO_BIN_EXE_gently")).parent().unwrap();
    let mut wrong = Vec::new();
    for (code, command) in &journey.commands {
        let mut shell = Command::new("sh");
        let said = format!(
            "PATH={}:$PATH; {command}\nprintf '{ENDED}%s' $?",
            program.display()
        );
        shell.args(["-c", &said]);
        let plain = person.command::<&str>(&[]);
        let kept = plain
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?)));
        shell.env_clear().envs(kept);
        let ran = of_command(&person, (ROWS, COLUMNS), shell);
        let place = format!("{}: {command}", journey.title);
        let (screen, ended) = ran.out.rsplit_once(ENDED).unwrap_or((&ran.out, ""));
        if ended != code.to_string() {
            wrong.push(format!(
                "{place}\n    ended with {ended}, not {code}:\n{screen}"
            ));
        }
        if !is_for_programs(command) {
            wrong.extend(faults(screen).map(|fault| format!("{place}\n    {fault}")));
        }
    }
    wrong
}

/// What is written to be copied as it is, or is somebody's words: it is not folded.
fn is_for_programs(command: &str) -> bool {
    // One value, for a script; all of them are for reading.
    let is_value = command.contains("gently config get ");
    // An answer is somebody's words: the built-in voice's, too.
    let is_observer = command.starts_with("gently ask \"How full is my disk?\"");
    is_observer || is_value || command.contains("gently key show")
}

/// What a screen must not have, line by line.
fn faults(screen: &str) -> impl Iterator<Item = String> {
    let shown = unpainted(screen);
    let lines: Vec<String> = shown.lines().map(str::to_owned).collect();
    lines.into_iter().filter_map(|line| {
        // What is longer than a line by itself (a key, a path, a variable that is one) is whole, on a line
        // of its own.
        let written = line.trim_start();
        let is_word = !written
            .strip_prefix("export ")
            .unwrap_or(written)
            .contains(' ');
        let is_wide = line.chars().count() > usize::from(COLUMNS) && !is_word;
        let word = foreign(&line);
        match (is_wide, word) {
            (true, _) => Some(format!("{} columns: {line}", line.chars().count())),
            (_, Some(word)) => Some(format!("{word}: {line}")),
            _ => None,
        }
    })
}

/// Without colours, and only the last of what was written over on a line.
fn unpainted(screen: &str) -> String {
    let mut text = String::new();
    let mut rest = screen;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        text.push_str(before);
        let end = after.find(|c: char| c.is_ascii_alphabetic());
        rest = end.and_then(|end| after.get(end + 1..)).unwrap_or_default();
    }
    text.push_str(rest);
    let line = |line: &str| {
        line.trim_end_matches('\r')
            .rsplit('\r')
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_journey_fits_a_terminal() {
    let text = include_str!("../cli/journeys.txt");
    let journeys = journeys(text);
    assert_eq!(journeys.len(), 41);
    let wrong = std::thread::scope(|scope| {
        let parts = journeys.chunks(21);
        let walks = parts.map(|part| scope.spawn(move || part.iter().flat_map(walked).collect()));
        let walks: Vec<_> = walks.collect();
        let found = walks.into_iter().map(|walk| walk.join().unwrap());
        found.collect::<Vec<Vec<String>>>().concat()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// In a narrow terminal, too, lines end between words: only a word that is longer than the terminal by
/// itself, and a command that is to be copied, go on in its next row.
#[test]
fn twenty_columns_break_no_word_that_has_room() {
    const NARROW: usize = 20;
    let server = ModelServer::start(Behaviour::Says("Done. I've restarted nginx.".to_owned()));
    let base = server.base_url();
    let person = Person::with(&[
        ("GENTLY_ANCHOR_MODE", "off"),
        ("TERM", "xterm"),
        ("PAGER", "cat"),
        ("GENTLY_MODEL_DEFAULT", "openai/small-1b"),
        ("GENTLY_MODEL_BASE_URL", base.as_str()),
        ("OPENAI_API_KEY", "test"),
    ]);
    person
        .ask("Please restart nginx on the backup host.")
        .exits(0);
    person.gently(&["project", "new", "Who is who"]).exits(0);
    person
        .gently(&["conversation", "move", "last", "Who is who"])
        .exits(0);
    person
        .gently(&["fact", "add", "The backup disk is /dev/sdb."])
        .exits(0);
    let mut wrong = Vec::new();
    for args in [
        &["conversation", "list"][..],
        &["conversation", "show", "last"],
        &["project", "list"],
        &["stats"],
        &["stats", "--by", "day"],
        &["assertion", "report"],
        &["specialist", "report"],
        &["search", "nginx"],
        &["show", "last"],
        &["session", "list"],
        &["session", "show", "last"],
        &["thread", "list"],
        &["fact", "list"],
        &["drift", "list"],
        &["action", "list"],
        &["log"],
        &["model", "list"],
        &["context", "show"],
        &["config", "get"],
        &["key", "list"],
        &["doctor", "-v"],
        &["audit", "verify"],
        &["help"],
    ] {
        let ran = on_terminal(&person, (ROWS, 20), args);
        for line in unpainted(&ran.out).lines() {
            let width = |text: &str| text.chars().count();
            let is_word = !line.trim().contains(' ') && width(line.trim()) > NARROW;
            let is_command = line.trim_start().starts_with("gently ") || line.contains("/gently ");
            if width(line) > NARROW && !is_word && !is_command {
                wrong.push(format!("{args:?}: {line}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_line_that_is_too_long_or_has_a_word_of_the_record_is_found() {
    let wide = "word ".repeat(17);
    for (screen, found) in [
        ("all is well\n", 0),
        (wide.as_str(), 1),
        (&"x".repeat(200), 0),
        ("\u{1b}[1m✔\u{1b}[0m fine\r\n", 0),
        ("speaker: aurora\nring 0\n", 2),
    ] {
        assert_eq!(faults(screen).count(), found, "{screen}");
    }
}
