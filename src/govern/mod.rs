//! What is allowed: pure verdicts, each recorded.

pub mod authority;
pub mod drift;
pub mod kernel;
mod phrase;
pub mod sanitize;
mod shapes;
pub mod validate;
