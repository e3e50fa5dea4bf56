//! A report that is longer than the screen goes through the person's pager.

use std::io::{self, IsTerminal as _, StdoutLock, Write as _};
use std::process::{ExitStatus, Stdio};
use std::sync::OnceLock;

use rustix::termios::tcgetwinsize;
use tokio::signal::unix::{SignalKind, signal};

use super::ScreenFilter;
use super::line_break;
use super::terminal::wanted;
use crate::app::home::secrets::program;

/// Whether reports may go through a pager; set once, from the command line.
static ALLOWED: OnceLock<bool> = OnceLock::new();

/// Above this, an exit code of a shell is the number of the signal that ended its command.
const SIGNALLED: i32 = 128;

/// Says whether reports may go through a pager.
pub fn allow(allowed: bool) {
    let _ = ALLOWED.set(allowed);
}

/// Writes a text to standard output through one of its gates: by way of `$PAGER`, else `less`, where
/// that is a terminal with fewer rows than the text has.
///
/// As with git, an empty `$PAGER` means none, and `less` ends by itself where all fits and leaves
/// the text on the screen. Where the pager can't be run, or fails, the text is written as it is.
pub fn write(text: &str, gate: fn() -> ScreenFilter<StdoutLock<'static>>) -> io::Result<()> {
    if let Some(pager) = pager() {
        let passed = gate().passed(text);
        if is_longer_than_screen(&passed) && has_paged(&pager, &passed) {
            return Ok(());
        }
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
    let rows = usize::from(size.ws_row);
    // The last row is the shell's.
    rows > 0 && line_break::rows(text, usize::from(size.ws_col)) >= rows
}

/// Whether the pager took the text, which has passed the gate; it was not there, could not be run,
/// or ended with a failure otherwise.
fn has_paged(pager: &str, text: &str) -> bool {
    // Ctrl-C is the pager's; without this it would end gently and leave the pager behind.
    let _heard = signal(SignalKind::interrupt());
    let mut command = program("sh");
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
    child.wait().is_ok_and(has_taken)
}

/// Whether a pager that ended so has shown the text. A signal is the reader's, who has seen enough;
/// shells tell of it with a number above [`SIGNALLED`].
fn has_taken(status: ExitStatus) -> bool {
    match status.code() {
        Some(0) | None => true,
        Some(code) => code > SIGNALLED,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    #[test]
    fn a_pager_that_fails_has_shown_nothing() {
        let ended = |code: i32| has_taken(ExitStatus::from_raw(code << 8));
        let codes = [0, 1, 2, 126, 127, 130, 141, 143];
        assert_eq!(
            codes.map(ended),
            [true, false, false, false, false, true, true, true]
        );
        // SIGINT and SIGPIPE.
        assert!(has_taken(ExitStatus::from_raw(2)) && has_taken(ExitStatus::from_raw(13)));
    }
}
