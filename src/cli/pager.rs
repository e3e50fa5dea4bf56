//! A report that is longer than the screen goes through the person's pager.

use std::io::{self, IsTerminal as _, StdoutLock, Write as _};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use rustix::termios::tcgetwinsize;
use tokio::signal::unix::{SignalKind, signal};

use super::screen::Gate;
use super::terminal::wanted;

/// Whether reports may go through a pager; set once, from the command line.
static ALLOWED: OnceLock<bool> = OnceLock::new();

/// What shells say where there is no such program, or it can't be run.
const NO_PROGRAM: [i32; 2] = [126, 127];

/// Says whether reports may go through a pager.
pub fn allow(allowed: bool) {
    let _ = ALLOWED.set(allowed);
}

/// Writes a report of our own to standard output, with its signs in colour; else like [`write`].
pub fn write_report(text: &str) -> io::Result<()> {
    written(text, Gate::report)
}

/// Writes a text to standard output: through `$PAGER`, else `less`, where that is a terminal with
/// fewer rows than the report has.
///
/// As with git, an empty `$PAGER` means none, and `less` ends by itself where all fits and leaves
/// the text on the screen. Where the pager can't be run, the text is written as it is.
pub fn write(text: &str) -> io::Result<()> {
    written(text, Gate::out)
}

fn written(text: &str, gate: impl Fn() -> Gate<StdoutLock<'static>>) -> io::Result<()> {
    let pager = pager().filter(|_| is_longer_than_screen(text));
    if pager.is_some_and(|pager| has_paged(&pager, &gate().passed(text))) {
        return Ok(());
    }
    let mut out = gate();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}

fn pager() -> Option<String> {
    let is_screen = wanted(
        io::stdout().is_terminal(),
        std::env::var("TERM").ok().as_deref(),
    );
    if !is_screen || !ALLOWED.get().copied().unwrap_or(false) {
        return None;
    }
    let pager = std::env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
    Some(pager).filter(|pager| !pager.trim().is_empty())
}

fn is_longer_than_screen(text: &str) -> bool {
    let Ok(size) = tcgetwinsize(io::stdout()) else {
        return false;
    };
    let (rows, columns) = (usize::from(size.ws_row), usize::from(size.ws_col).max(1));
    let needed: usize = text
        .lines()
        .map(|line| line.chars().count().div_ceil(columns).max(1))
        .sum();
    // The last row is the shell's.
    rows > 0 && needed >= rows
}

/// Whether the pager took the text, which has passed the gate; it was not there, or could not be
/// run, otherwise.
fn has_paged(pager: &str, text: &str) -> bool {
    // Ctrl-C is the pager's; without this it would end gently and leave the pager behind.
    let _heard = signal(SignalKind::interrupt());
    let mut command = Command::new("sh");
    command.arg("-c").arg(pager).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.spawn() else {
        return false;
    };
    if let Some(mut stdin) = child.stdin.take() {
        // Whoever leaves the pager early has seen enough.
        let _ = stdin.write_all(text.as_bytes());
    }
    match child.wait() {
        Ok(status) => status.code().is_none_or(|code| !NO_PROGRAM.contains(&code)),
        Err(_) => false,
    }
}
