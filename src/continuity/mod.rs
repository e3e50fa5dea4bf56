//! What the model is told: pure selection.

pub mod compile;
pub mod prompt;
pub mod refs;
