//! `gently completions`: a script by which a shell completes commands and options.

use clap::{Args, ValueEnum};
use clap_complete::Shell;

use crate::view::set_up::help::CompletionView;

use crate::cli::help;
use crate::cli::present_as_is;

/// Arguments of `gently completions`.
#[derive(Debug, Args)]
pub struct CompletionArgs {
    /// Which shell completes
    #[arg(value_enum)]
    pub shell: CompletionShell,
}

/// A shell that there is a script for.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum CompletionShell {
    Bash,
    Zsh,
    Fish,
}

/// Prints the script.
pub fn run(args: &CompletionArgs, json: bool) -> u8 {
    let (name, shell) = match args.shell {
        CompletionShell::Bash => ("bash", Shell::Bash),
        CompletionShell::Zsh => ("zsh", Shell::Zsh),
        CompletionShell::Fish => ("fish", Shell::Fish),
    };
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut help::command(), "gently", &mut bytes);
    let script = String::from_utf8_lossy(&bytes).into_owned();
    let view = || CompletionView {
        shell: name,
        script: script.clone(),
    };
    present_as_is(json, view, || script.clone())
}
