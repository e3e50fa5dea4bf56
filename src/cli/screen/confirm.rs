//! What can't be undone asks: one way to ask for all commands.
//!
//! What is done stands in words before the question. Only one word, `yes` in most cases, typed by
//! whoever has these words before them, or `--yes`, lets it be done.

use std::io::IsTerminal as _;
use std::path::Path;

use clap::Args;
use serde::Serialize;

use crate::os::shell_word;
use crate::view::keep::plan::PlanView;

use super::{signals, typed_line};
use crate::cli::{present, program, say, say_finding};

/// The word that most questions take.
const YES: &str = "yes";

/// Flags of a command that does what can't be undone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Args)]
pub struct ConfirmArgs {
    /// Don't ask: do it
    #[arg(long, conflicts_with = "dry_run")]
    pub yes: bool,
    /// Say what would be done, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// How a command is called in the question, and in what is said where it is not done.
#[derive(Clone, Copy, Debug)]
pub struct ConfirmWords {
    /// As in `Type yes to erase it`.
    pub does: &'static str,
    /// As in `nothing was erased`.
    pub done: &'static str,
}

impl ConfirmArgs {
    /// Asks for the consent to a plan; what needs none is done without a question.
    ///
    /// # Errors
    /// A sentence for a person, who was not asked, or said something else.
    pub fn ask<D>(self, plan: &PlanView<D>, words: ConfirmWords) -> Result<(), String> {
        self.ask_for(YES, plan, words)
    }

    /// The same where another word is to be typed.
    ///
    /// # Errors
    /// A sentence for a person.
    pub fn ask_for<D>(
        self,
        word: &str,
        plan: &PlanView<D>,
        words: ConfirmWords,
    ) -> Result<(), String> {
        if !plan.asks {
            return Ok(());
        }
        // Keys and ids are part of what is said.
        plan.would.iter().for_each(|line| say_finding(line));
        ask_word(word, self.yes, words)
    }
}

/// Prints what would be done.
pub fn dry_run<D: Serialize>(plan: &PlanView<D>, json: bool) -> u8 {
    let lines = || plan.would.iter().map(|line| format!("{line}\n")).collect();
    let code = present(json, || plan, lines);
    if !json {
        say("dry run: nothing was done");
    }
    code
}

/// Asks the person at the terminal, who has before them what would be done; `yes` says it was
/// answered on the command line.
///
/// # Errors
/// A sentence for a person.
pub fn ask(yes: bool, words: ConfirmWords) -> Result<(), String> {
    ask_word(YES, yes, words)
}

/// Whether somebody is at a terminal who reads what is asked, and can answer.
pub fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

fn ask_word(word: &str, yes: bool, words: ConfirmWords) -> Result<(), String> {
    if yes {
        return Ok(());
    }
    let ConfirmWords { does, done } = words;
    let missing = if !std::io::stdin().is_terminal() {
        "nobody is here to be asked (standard input is no terminal)"
    } else if !std::io::stderr().is_terminal() {
        "nobody can see here what is asked (standard error is no terminal)"
    } else {
        let asked = format!("Type {word} to {does}, anything else to stop:");
        return match typed_line(&asked) {
            Ok(Some(typed)) if typed.trim() == word => Ok(()),
            _ => Err(format!("not confirmed: nothing was {done}")),
        };
    };
    Err(format!(
        "{missing}: nothing was {done}; to {does} all the same, say --yes: {}",
        with_yes()
    ))
}

/// The line that a person types when asked; none when they leave the question.
fn typed_line(asked: &str) -> std::io::Result<Option<String>> {
    if signals::outlives_interrupts() {
        let ask = || {
            say(asked);
            Ok(())
        };
        let typed = typed_line::line(&std::io::stdin(), true, ask)?;
        return Ok(typed.map(|typed| String::from_utf8_lossy(&typed).into_owned()));
    }
    say(asked);
    let mut typed = String::new();
    std::io::stdin().read_line(&mut typed)?;
    Ok(Some(typed))
}

/// The command as it was typed, with `--yes`.
fn with_yes() -> String {
    let typed = std::env::args_os().skip(1);
    let mut words: Vec<String> = typed.map(|word| shell_word(Path::new(&word))).collect();
    // Behind `--` nothing is an option any more.
    let at = words.iter().position(|word| word == "--");
    words.insert(at.unwrap_or(words.len()), "--yes".to_owned());
    format!("{} {}", program(), words.join(" "))
}
