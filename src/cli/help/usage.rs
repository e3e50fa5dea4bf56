//! What is said where something was typed that is no command: help that was asked for, or what is
//! wrong with it.

use std::ffi::OsString;

use clap::error::ErrorKind;

use crate::app::open::env;
use crate::app::redacted::clean;
use crate::app::rules_in_force::put_in_force;
use crate::config::Config;
use crate::home::locate;
use crate::view::unrecorded::ErrorView;

use super::super::{COULD_NOT, print_view, say};
use super::{color_choice, command, meant};

/// Answers what the parser did not take as a command, and gives the exit code: help and version go
/// to stdout with 0, everything else to stderr with 2.
pub fn run(bare: clap::Error) -> u8 {
    let args: Vec<OsString> = std::env::args_os().collect();
    let root = command().color(color_choice(&args));
    // The same arguments against the whole command, whose help has examples and groups.
    let error = root.clone().try_get_matches_from(&args).err();
    let error = error.unwrap_or(bare);
    let code = u8::try_from(error.exit_code()).unwrap_or(COULD_NOT);
    if !error.use_stderr() {
        // A reader that went away is nobody's fault.
        let _ = error.print();
        return code;
    }
    let can_quote = home_rules();
    let own = match error.kind() {
        ErrorKind::InvalidSubcommand => meant::answer(&root, &args, can_quote),
        ErrorKind::UnknownArgument => meant::ask_option(&root, &args, can_quote),
        _ => None,
    };
    let text = own.unwrap_or_else(|| error.render().to_string());
    let text = text.trim_end();
    say(text);
    if is_json(&args) {
        print_view(&ErrorView {
            error: clean(text.trim_start_matches("error: ")),
            exit: code,
        });
    }
    code
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
