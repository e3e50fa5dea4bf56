//! `gently show EXCHANGE`: all that is on record of one turn, and whether it still is what was
//! recorded.
//!
//! Exit 1 when a stored text or document has another hash than the one recorded with it.

pub mod session;
mod text;

use crate::app::open::{self, OpenHomeError};
use crate::app::show;
use crate::view::exchange::ExchangeView;

use super::{NEGATIVE, present, say};

/// Shows one exchange.
pub fn run(id: &str, uncover: bool, json: bool) -> Result<u8, OpenHomeError> {
    let turn = show::exchange(&open::existing_home()?, id, uncover)?;
    let printed = present(json, || ExchangeView::of(&turn), || text::of(&turn));
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
