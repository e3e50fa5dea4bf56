//! What is said where something was typed that is no command: help that was asked for, or what is
//! wrong with it.

use std::ffi::OsString;
use std::io::IsTerminal as _;

use clap::error::ErrorKind;

use crate::app::home::open::env;
use crate::app::redacted::clean;
use crate::app::set_up::rules_in_force::put_in_force;
use crate::config::Config;
use crate::home::locate;
use crate::view::ask::unrecorded::ErrorView;

use super::{
    argument_error, color_choice, command, command_for, help_text, print_help, unknown_command,
};
use crate::cli::screen::choose_color;
use crate::cli::screen::pager;
use crate::cli::{COULD_NOT, print_view, say};

/// Answers what the parser did not take as a command, and gives the exit code: help and version go
/// to stdout with 0, everything else to stderr with 2.
pub fn run(bare: clap::Error) -> u8 {
    let args: Vec<OsString> = std::env::args_os().collect();
    let color = color_choice(&args);
    choose_color(color);
    let is_json = is_json(&args);
    pager::allow(!is_json && !args.iter().any(|arg| arg == "--no-pager"));
    // The same arguments against the command whose help has examples and groups.
    let asked = command_for(&args).color(color).try_get_matches_from(&args);
    let error = asked.err().unwrap_or(bare);
    let code = u8::try_from(error.exit_code()).unwrap_or(COULD_NOT);
    // Where both go to one screen, nobody can tell them apart.
    let one_screen = std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
    let lists = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if !error.use_stderr() || (lists && one_screen && !is_json) {
        return code.max(print_help(&error));
    }
    let text = why(&args, &error, home_rules());
    let text = text.trim_end();
    say(text);
    if is_json {
        print_view(&ErrorView {
            error: clean(text.trim_start_matches("error: ")),
            exit: code,
        });
    }
    code
}

/// What is wrong with these arguments, and the next step. With `can_quote` what was typed is repeated.
fn why(args: &[OsString], error: &clap::Error, can_quote: bool) -> String {
    let own = match error.kind() {
        ErrorKind::InvalidSubcommand => unknown_command::answer(&command(), args, can_quote),
        ErrorKind::UnknownArgument => unknown_command::ask_option(&command(), args, can_quote),
        _ => None,
    };
    let own = own.or_else(|| argument_error::answer(command(), args, error, can_quote));
    own.unwrap_or_else(|| help_text(error))
}

/// What comes of a line of a chat that the parser took as no command: help that was asked for is
/// printed, and none given back; else what is wrong with the line.
pub fn of_line(words: &[String], bare: clap::Error) -> Option<String> {
    let args: Vec<OsString> = words.iter().map(OsString::from).collect();
    let asked = command_for(&args).try_get_matches_from(&args);
    let error = asked.err().unwrap_or(bare);
    if !error.use_stderr() {
        print_help(&error);
        return None;
    }
    let text = why(&args, &error, true);
    Some(text.trim_start_matches("error: ").trim_end().to_owned())
}

/// Whether one JSON object was asked for, though nothing else is known of what was typed.
fn is_json(args: &[OsString]) -> bool {
    let options = args.iter().skip(1).take_while(|arg| *arg != "--");
    options.into_iter().any(|arg| arg == "--json")
}

/// Puts the home's own rules for secrets in force, as what was typed may hold one; false when they
/// can't be read, so that nobody knows what they would find.
fn home_rules() -> bool {
    let Ok(home) = locate(env("GENTLY_HOME")) else {
        return true;
    };
    Config::load(&home, &env).is_ok_and(|config| put_in_force(&config).is_ok())
}
