//! A line of a chat that is a command as a shell takes it.

use clap::Parser as _;

use crate::cli::args::{ActionCommand, AnchorCommand, Audit, Cli, Command, SessionCommand};
use crate::cli::help::parse_error;
use crate::cli::look::conversation::ConversationCommand;
use crate::cli::look::drift::DriftCommand;
use crate::cli::look::thread::ThreadCommand;
use crate::cli::prove::consent::ConsentCommand;
use crate::cli::prove::trace::TraceCommand;
use crate::cli::remember::conflict::ConflictCommand;
use crate::cli::remember::correction::CorrectionCommand;
use crate::cli::remember::handoff::HandoffCommand;
use crate::cli::remember::items::{DecisionCommand, FactCommand, IntentCommand, NoteCommand};
use crate::cli::remember::project::ProjectCommand;
use crate::cli::set_up::specialist::{DomainCommand, SpecialistCommand};

use super::talk::Chat;
use super::typed::is_program;

/// What became of such a line.
pub enum ShellLineEnd {
    /// It ran, or help was printed.
    Ran,
    /// It does more than look: it runs once somebody says so.
    Asks,
    /// It is none that runs within a chat, and why.
    Refused(String),
}

/// Runs a line that is a command as a shell takes it, so that what was printed can be copied. `here`:
/// what does the same in a chat; `is_sent_again`: somebody was asked, and said so.
///
/// A line may have been pasted, so one that does more than look asks first. What is pasted is no command
/// where it has several lines, and nothing runs from a line that guards a home, hands something on, or
/// spares a question about what can't be undone.
pub async fn run(chat: &Chat, line: &str, here: &str, is_sent_again: bool) -> ShellLineEnd {
    let words = match words_of(line, here) {
        Ok(words) => words,
        Err(why) => return ShellLineEnd::Refused(why),
    };
    let cli = match Cli::try_parse_from(&words) {
        Ok(cli) => cli,
        Err(error) => {
            let why = parse_error::of_line(&words, error);
            return why.map_or(ShellLineEnd::Ran, ShellLineEnd::Refused);
        }
    };
    if is_for_shells(&cli.command) {
        return ShellLineEnd::Refused(of_shell(here));
    }
    if !is_sent_again && (hands_out(&words) || !only_looks(&cli.command)) {
        return ShellLineEnd::Asks;
    }
    crate::cli::perform(cli.command, chat.json || cli.json).await;
    ShellLineEnd::Ran
}

/// The words of a line, or why it is not run whatever it means.
fn words_of(line: &str, here: &str) -> Result<Vec<String>, String> {
    /// Options that spare a question, or run a program.
    const GUARDED: [&str; 4] = ["--yes", "--key-cmd", "--passphrase-cmd", "--force"];
    if line.contains(['\n', '\r']) {
        return Err(
            "a text of several lines is run as no command: type each alone, or in a shell".into(),
        );
    }
    let words = shlex::split(line)
        .ok_or("the quotation marks of that command are not in pairs: type it again")?;
    let names = words
        .iter()
        .map(|word| word.split('=').next().unwrap_or_default());
    if let Some(guarded) = names.into_iter().find(|name| GUARDED.contains(name)) {
        return Err(format!(
            "{guarded} is refused in a chat, where a line may have been pasted: leave it out, or type the \
             command in a shell"
        ));
    }
    // A short line of another program.
    match words.first().is_some_and(|word| is_program(word)) {
        true => Ok(words),
        false => Err(of_shell(here)),
    }
}

/// Whether a command is of the shell alone: it asks, guards the home, or hands something on.
fn is_for_shells(command: &Command) -> bool {
    match command {
        Command::Ask(_)
        | Command::Chat(_)
        | Command::Init(_)
        | Command::Restore(_)
        | Command::Config(_)
        | Command::Key(_)
        | Command::Kernel(_)
        | Command::Hook(_)
        | Command::Import(_)
        | Command::Store(_)
        | Command::Witness(_)
        | Command::Audit(Audit::Publish(_) | Audit::Open(_)) => true,
        Command::Consent(command) => matches!(command, ConsentCommand::Give { .. }),
        _ => false,
    }
}

/// Whether a line shows what a kernel withholds, or a trace with its texts.
fn hands_out(words: &[String]) -> bool {
    const FULL_TRACE: &str = "full_traces";
    let is_withheld = |word: &String| word == "--withheld";
    let is_full = |word: &String| word == FULL_TRACE || word == &format!("--level={FULL_TRACE}");
    words.iter().any(|word| is_withheld(word) || is_full(word))
}

/// Whether a command only looks: it records nothing, writes no file that somebody names, and asks no
/// model.
fn only_looks(command: &Command) -> bool {
    match command {
        Command::Log(_)
        | Command::Show(_)
        | Command::Search(_)
        | Command::Assertion(_)
        | Command::Check(_)
        | Command::Council(_)
        | Command::Context(_)
        | Command::Model(_)
        | Command::Sight { .. }
        | Command::Doctor { .. }
        | Command::Help(_) => true,
        Command::Stats(args) => args.svg.is_none(),
        Command::Audit(Audit::Replay(_)) => true,
        Command::Audit(Audit::Look(command)) => command.is_of_home(),
        Command::Session(command) => !matches!(
            command,
            SessionCommand::Open { .. } | SessionCommand::Close { .. }
        ),
        Command::Fact(command) => matches!(command, FactCommand::List(_)),
        Command::Correction(command) => matches!(command, CorrectionCommand::List(_)),
        Command::Note(command) => matches!(command, NoteCommand::List(_)),
        Command::Decision(command) => matches!(command, DecisionCommand::List(_)),
        Command::Intent(command) => matches!(command, IntentCommand::Show),
        Command::Handoff(command) => !matches!(command, HandoffCommand::Run(_)),
        Command::Domain(command) => matches!(command, DomainCommand::List { .. }),
        Command::Specialist(command) => match command {
            SpecialistCommand::List { .. } | SpecialistCommand::Show { .. } => true,
            SpecialistCommand::Report(args) => !args.writes(),
            _ => false,
        },
        Command::Conflict(command) => matches!(command, ConflictCommand::List),
        Command::Thread(command) => !matches!(command, ThreadCommand::New { .. }),
        Command::Conversation(command) => matches!(
            command,
            ConversationCommand::List(_) | ConversationCommand::Show(_)
        ),
        Command::Project(command) => matches!(command, ProjectCommand::List { .. }),
        Command::Trace(command) => {
            matches!(command, TraceCommand::Show(_) | TraceCommand::Verify(_))
        }
        Command::Consent(command) => matches!(command, ConsentCommand::List),
        Command::Drift(command) => matches!(
            command,
            DriftCommand::List { .. } | DriftCommand::Show { .. }
        ),
        Command::Anchor(command) => matches!(command, AnchorCommand::Status),
        Command::Action(command) => {
            matches!(command, ActionCommand::List | ActionCommand::Show { .. })
        }
        _ => false,
    }
}

/// That a line is for a shell, and what does the same in a chat.
fn of_shell(here: &str) -> String {
    format!("that is a command of the shell: {here}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Command {
        let words = words_of(line, "").unwrap();
        Cli::try_parse_from(words).unwrap().command
    }

    #[test]
    fn what_hands_out_is_told_from_what_is_shown_to_anybody() {
        let hands_out = |line: &str| hands_out(&words_of(line, "").unwrap());
        for line in [
            "gently show last --withheld",
            "gently trace show --level full_traces",
            "gently trace show --level=full_traces last",
        ] {
            assert!(hands_out(line), "{line}");
        }
        for line in ["gently show last", "gently trace show --level generic"] {
            assert!(!hands_out(line), "{line}");
        }
    }

    #[test]
    fn what_only_looks_is_told_from_what_does_more() {
        for line in [
            "gently show last",
            "gently fact list",
            "gently drift list",
            "gently handoff list",
            "gently audit verify",
            "gently stats",
            "gently specialist report",
            "gently context preview x",
        ] {
            let command = parsed(line);
            assert!(only_looks(&command) && !is_for_shells(&command), "{line}");
        }
        for line in [
            "gently fact ratify fact-1",
            "gently correction ratify correction-1",
            "gently specialist promote swe --to openai/x",
            "gently man pages",
            "gently completions bash",
            "gently stats --svg x.svg",
            "gently specialist report --svg x.svg",
            "gently handoff run",
            "gently audit verify --position x",
            "gently audit verify --repo x",
            "gently share last",
            "gently backup x",
            "gently conversation delete last",
            "gently erase last",
        ] {
            let command = parsed(line);
            assert!(!only_looks(&command) && !is_for_shells(&command), "{line}");
        }
        for line in [
            "gently audit publish origin",
            "gently audit open last --out x",
            "gently consent give --purpose research",
            "gently import list",
            "gently store status",
            "gently witness list",
            "gently config path",
        ] {
            assert!(is_for_shells(&parsed(line)), "{line}");
        }
    }
}
