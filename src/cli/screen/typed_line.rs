//! One line that a person types where a chat asks for a word or a passphrase: Ctrl-C leaves the
//! question, and the chat goes on.
//!
//! A chat outlives Ctrl-C, so that no signal can end a question in it. For as long as one is asked,
//! the terminal sends no signals: Ctrl-C ends the line, as Enter does, and is seen at its end.
//! Ctrl-Z and Ctrl-\ are signs like others meanwhile.

use std::io;
use std::os::fd::AsFd;

use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use zeroize::Zeroizing;

use crate::cli::say;

/// The sign that Ctrl-C is where it is no signal.
const CTRL_C: u8 = 3;
/// What a terminal gives at a time, at most.
const LINE: usize = 4096;

/// Sets a terminal back to what it was, whatever happens.
struct TerminalModes<'a, F: AsFd> {
    terminal: &'a F,
    before: Termios,
}

impl<F: AsFd> Drop for TerminalModes<'_, F> {
    fn drop(&mut self) {
        let _ = tcsetattr(self.terminal, OptionalActions::Now, &self.before);
    }
}

/// Asks, and reads a line from a terminal, without its end; none when Ctrl-C or Ctrl-D left the
/// question. What is asked is shown once Ctrl-C leaves it.
pub fn line(
    terminal: &impl AsFd,
    is_shown: bool,
    ask: impl FnOnce() -> io::Result<()>,
) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    let before = tcgetattr(terminal)?;
    let mut modes = before.clone();
    modes.local_modes.remove(LocalModes::ISIG);
    modes.special_codes[SpecialCodeIndex::VEOL] = CTRL_C;
    if !is_shown {
        modes.local_modes.remove(LocalModes::ECHO);
        modes.local_modes.insert(LocalModes::ECHONL);
    }
    let _modes = TerminalModes { terminal, before };
    tcsetattr(terminal, OptionalActions::Now, &modes)?;
    ask()?;
    let mut typed = Zeroizing::new(Vec::new());
    let mut part = Zeroizing::new([0; LINE]);
    loop {
        let count = rustix::io::read(terminal, part.as_mut_slice())?;
        let read = part.get(..count).unwrap_or_default();
        match read.split_last() {
            None => return Ok(None),
            Some((&CTRL_C, _)) => {
                // What comes next begins a line.
                say("");
                return Ok(None);
            }
            Some((b'\n', before)) => {
                typed.extend_from_slice(before);
                return Ok(Some(typed));
            }
            Some(_) => typed.extend_from_slice(read),
        }
    }
}
