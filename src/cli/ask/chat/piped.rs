//! A chat without a terminal: one question a line, answers to stdout.
//!
//! A line is a question whatever it begins with: what comes through a pipe may be anybody's, and
//! does nothing but ask.

use std::io::{BufRead as _, Read as _};

use crate::cli::ask::{MAX_INPUT, plain_text};
use crate::cli::{FINE, could_not, say};

use super::talk::Chat;

/// Asks line by line; the exit code is the worst of them.
pub async fn run(chat: &mut Chat) -> u8 {
    let mut worst = FINE;
    let mut number: u64 = 0;
    loop {
        let line = match next_line() {
            Ok(Some(line)) => line,
            Ok(None) => return worst,
            Err(e) => {
                let why = format!("reading standard input: {e}");
                return worst.max(could_not(&why, chat.json));
            }
        };
        number += 1;
        let place = format!("standard input, line {number},");
        let text = match plain_text(line, &place) {
            Ok(text) if text.trim().is_empty() => continue,
            Ok(text) => text,
            Err(why) => {
                worst = worst.max(could_not(&why, chat.json));
                continue;
            }
        };
        match chat.renew_where_changed() {
            Ok(None) => {}
            Ok(Some(what)) => say(&format!("{what}: the home was opened anew")),
            // The question says what is wrong.
            Err(_) => {}
        }
        let turn = chat.ask(&text).await;
        worst = worst.max(turn.code);
        if let Some(signalled) = turn.signalled {
            return worst.max(signalled);
        }
    }
}

/// The next line without its end; none at the end of the input.
fn next_line() -> std::io::Result<Option<Vec<u8>>> {
    let mut input = std::io::stdin().lock();
    let mut line = Vec::new();
    let mut limited = input.by_ref().take(MAX_INPUT + 2);
    if limited.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.pop_if(|last| *last == b'\n').is_some() {
        line.pop_if(|last| *last == b'\r');
    } else if line.len() as u64 > MAX_INPUT {
        // It is refused by its length; what is left of it is no question.
        input.skip_until(b'\n')?;
    }
    Ok(Some(line))
}
