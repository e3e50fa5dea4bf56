//! What is allowed: pure verdicts, each recorded.

pub mod authority;
mod claims;
pub mod drift;
mod figures;
pub mod kernel;
mod kernel_check;
mod phrase;
pub mod sanitize;
pub mod validate;
