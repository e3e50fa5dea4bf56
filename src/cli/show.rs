//! `gently show EXCHANGE`: question, answer, and whether they still are what was recorded; with
//! `--full` all that is on record of the turn.
//!
//! Exit 1 when a stored text or document has another hash than the one recorded with it.

pub mod session;
mod text;

use crate::app::open::{self, OpenHomeError};
use crate::app::show;
use crate::view::exchange::ExchangeView;

use super::args::ShowArgs;
use super::{NEGATIVE, present_report, say};

/// Shows one exchange.
pub fn run(args: &ShowArgs, json: bool) -> Result<u8, OpenHomeError> {
    let turn = show::exchange(&open::existing_home()?, &args.exchange, args.withheld)?;
    let words = || match args.full {
        true => text::of(&turn),
        false => text::brief(&turn),
    };
    let printed = present_report(json, || ExchangeView::of(&turn), words);
    let wrong: Vec<&str> = turn
        .checks
        .iter()
        .filter(|check| check.holds == Some(false))
        .map(|check| check.what)
        .collect();
    if !wrong.is_empty() {
        say(&format!(
            "changed since it was recorded: {}; look with: gently audit verify",
            wrong.join(", ")
        ));
        return Ok(NEGATIVE.max(printed));
    }
    Ok(printed)
}
