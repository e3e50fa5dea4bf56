//! `gently show EXCHANGE`: question, answer, and whether they still are what was recorded; with
//! `--full` all that is on record of the turn.
//!
//! Exit 1 when a stored text or document has another hash than the one recorded with it.

pub mod session;
mod text;

use crate::app::home::open::{self, OpenHomeError};
use crate::app::look::show::{self, ExchangeDetails};
use crate::app::remember::context;
use crate::home::Home;
use crate::view::look::exchange::ExchangeView;

use crate::cli::args::ShowArgs;
use crate::cli::remember::context::parts;
use crate::cli::{NEGATIVE, present_report, say};

/// What was put before the model, in words.
fn shown_to(home: &Home, turn: &ExchangeDetails) -> String {
    let id = turn.exchange.exchange_id.to_string();
    match context::show(home, &id) {
        Ok(details) => parts(&details),
        // The record was changed: what can still be read of it is shown all the same.
        Err(error) => format!("can't be read: {error}"),
    }
}

/// Shows one exchange.
pub fn run(args: &ShowArgs, json: bool) -> Result<u8, OpenHomeError> {
    let home = open::existing_home()?;
    let turn = show::exchange(&home, &args.exchange, args.withheld)?;
    let words = || match args.full {
        true => text::of(&turn, &shown_to(&home, &turn)),
        false => text::brief(&turn),
    };
    let printed = present_report(json, || ExchangeView::of(&turn), words);
    let wrong = turn.changed();
    if !wrong.is_empty() {
        say(&format!(
            "changed since it was recorded: {}; look with: gently audit verify",
            wrong.join(", ")
        ));
        return Ok(NEGATIVE.max(printed));
    }
    Ok(printed)
}
