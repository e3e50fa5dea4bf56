//! What the model is told: pure selection.

pub mod brought;
pub mod candidate;
pub mod compile;
pub mod conflict;
pub mod declared;
pub mod gates;
pub mod prompt;
pub mod refs;
pub mod score;
pub mod select;
#[cfg(test)]
mod select_tests;
pub mod turns;
pub mod words;
