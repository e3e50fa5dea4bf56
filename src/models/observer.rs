//! `observer`: the built-in model, which is none.

use crate::record::bundle::Bundle;

/// The model's id.
pub const ID: &str = "observer";

/// Answers from the bundle alone.
pub fn answer(_bundle: &Bundle, _question: &str) -> String {
    String::new()
}
