//! Asking for a passphrase on the terminal.

use std::fs::File;
use std::io::{self, Write as _};

use zeroize::{Zeroize as _, Zeroizing};

use crate::keys::KeyError;

use super::{signals, typed_line};

/// The terminal of this process, wherever standard input and output lead.
const TERMINAL: &str = "/dev/tty";

/// What the system says where a process has no terminal.
const NO_DEVICE: i32 = 6;
/// What it says where there is no such file, as in a container without devices.
const NO_FILE: i32 = 2;

/// Asks; nothing that is typed is shown. `place` is what it is the passphrase of.
pub fn ask(words: &str, place: &str) -> Result<Zeroizing<String>, KeyError> {
    let reason = |reason: String| KeyError::NoPassphrase {
        place: place.to_owned(),
        reason,
    };
    let quiet = super::quiet(words);
    let typed = match signals::outlives_interrupts() {
        true => in_chat(&quiet),
        false => rpassword::prompt_password(quiet).map(Some),
    };
    let typed = typed.map_err(|e| {
        reason(match e.raw_os_error() {
            Some(NO_DEVICE | NO_FILE) => "there is no terminal to ask for it on".to_owned(),
            _ => format!("the terminal could not be read ({e})"),
        })
    })?;
    let mut typed = typed.ok_or_else(|| reason("the question was left".to_owned()))?;
    if typed.is_empty() {
        typed.zeroize();
        return Err(reason("nothing was typed".to_owned()));
    }
    Ok(Zeroizing::new(typed))
}

/// The same in a chat, where Ctrl-C leaves the question and ends nothing; none when it did.
fn in_chat(words: &str) -> io::Result<Option<String>> {
    let terminal = File::options().read(true).write(true).open(TERMINAL)?;
    let ask = || (&terminal).write_all(words.as_bytes());
    let typed = typed_line::line(&terminal, false, ask)?;
    let text = typed.map(|typed| String::from_utf8(typed.to_vec()));
    text.transpose()
        .map_err(|_| io::Error::other("what was typed is no UTF-8"))
}
