//! The words for what became of a question: one table for all screens.

use crate::app::ask::denial::reason_words;
use crate::record::exchange::ExchangeOutcome;
use crate::store::ExchangeRow;

/// `answered`, `failed`, `denied`, or `in flight` while there is no outcome.
pub const fn outcome_word(outcome: Option<ExchangeOutcome>) -> &'static str {
    match outcome {
        Some(outcome) => outcome.name(),
        None => "in flight",
    }
}

/// The same with the reason, where there is one: `failed (the model took too long)`.
pub fn outcome_words(exchange: &ExchangeRow) -> String {
    let outcome = exchange.outcome.as_ref();
    let word = outcome_word(exchange.ended());
    match outcome.and_then(|outcome| outcome.reason.as_deref()) {
        Some(reason) => format!("{word} ({})", reason_words(reason)),
        None => word.to_owned(),
    }
}
