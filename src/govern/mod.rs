//! What is allowed: pure verdicts, each recorded.

pub mod authority;
pub mod drift;
pub mod kernel;
pub mod sanitize;
pub mod validate;
