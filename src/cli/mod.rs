//! The terminal door: what was typed, what it means, what is printed, and the exit code.

mod args;
mod ask;
pub mod audit;
mod choose;
pub mod config;
mod init;
mod model;
mod session;
mod wire;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;

use args::{Audit, Cli, Command};
use wire::WireError;

/// Everything went well.
const FINE: u8 = 0;
/// The verdict is negative: denied, drift blocked, verification found something.
const NEGATIVE: u8 = 1;
/// Could not do it: usage, configuration, network.
const COULD_NOT: u8 = 2;
/// Not recorded, so withheld.
const WITHHELD: u8 = 3;

/// Runs the program; every exit code is decided here and in [`WireError`]'s place below.
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => {
            // Help and version go to stdout with 0, usage errors to stderr with 2: clap's own rule.
            let _ = e.print();
            return ExitCode::from(u8::try_from(e.exit_code()).unwrap_or(COULD_NOT));
        }
    };
    crate::anchor::install_tls_provider();
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(e) => {
            say(&format!("error: no runtime: {e}"));
            return ExitCode::from(COULD_NOT);
        }
    };
    let code = runtime.block_on(dispatch(cli));
    // A name look-up that outlived its deadline must not hold up the person.
    runtime.shutdown_background();
    ExitCode::from(code)
}

async fn dispatch(cli: Cli) -> u8 {
    let json = cli.json;
    let done = match cli.command {
        Command::Ask(args) => ask::run(args, json).await,
        Command::Init(args) => init::run(args, json),
        Command::Session(command) => session::run(command, json).await,
        Command::Audit(Audit::ClockSet) => session::clock_set().await,
        Command::Audit(Audit::Look(command)) => {
            let home = wire::home_path().ok();
            return audit::run(command, home.as_deref(), &mut std::io::stdout(), &mut std::io::stderr());
        }
        Command::Model(command) => model::run(command, json).await,
        Command::Config(command) => {
            wire::home_path().and_then(|home| Ok(config::run(&command, &home, json)?)).map(|text| print(&text))
        }
    };
    done.unwrap_or_else(|e| {
        say(&format!("error: {e}"));
        code_of(&e)
    })
}

/// The exit code of what stopped a command.
fn code_of(error: &WireError) -> u8 {
    match error {
        WireError::Recorder(e) => {
            say(if e.is_recorded() { "recorded, withheld, finished at the next start" } else { "not recorded" });
            WITHHELD
        }
        _ => COULD_NOT,
    }
}

/// Writes to stdout; a reader that went away is nobody's fault.
fn print(text: &str) -> u8 {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            say(&format!("error: writing to standard output: {e}"));
            COULD_NOT
        }
        _ => FINE,
    }
}

/// Writes a line to stderr.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
