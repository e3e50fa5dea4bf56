//! Looking at what is on record: conversations, turns, sessions, numbers, words.

pub(super) mod action;
pub(super) mod assertion;
pub(super) mod conversation;
pub(super) mod council;
pub(super) mod drift;
pub(super) mod log;
pub(super) mod search;
pub(super) mod session;
pub(super) mod show;
pub(super) mod sight;
pub(super) mod stats;
pub(super) mod summary;
pub(super) mod thread;

use std::io::IsTerminal as _;

use super::screen::columns;
use super::{program, say};

/// What stands in below a row of a list, on a terminal of this many columns or more.
const WIDE: usize = 60;

/// How far what stands below a row of a list stands in: below what the row says, where there is room.
pub(in crate::cli) fn below_row() -> &'static str {
    match columns(&std::io::stdout()) {
        Some(columns) if columns < WIDE => "    ",
        _ => "          ",
    }
}

/// So many councils or imports are listed, unless another number is asked for.
pub(in crate::cli) const LISTED: u32 = 200;

/// That there are older ones than the `number` which are listed, and what lists all.
pub(in crate::cli) fn say_older(older: usize, number: u32, command: &str) {
    if older > 0 {
        let listed = usize::try_from(number).unwrap_or(usize::MAX);
        let all = listed.saturating_add(older);
        let program = program();
        say(&format!(
            "{older} older not listed: {program} {command} -n {all}"
        ));
    }
}

/// The line above a list with times: whose they are. A program that reads rows gets rows alone.
pub(in crate::cli) fn zone_line() -> &'static str {
    match std::io::stdout().is_terminal() {
        true => "times are UTC\n",
        false => "",
    }
}
