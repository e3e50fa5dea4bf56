//! What is allowed: pure verdicts, each recorded.

mod act_words;
mod acts;
pub mod actuation;
pub mod authority;
mod claims;
pub mod drift;
mod figures;
pub mod kernel;
mod kernel_check;
pub mod kernel_diff;
mod phrase;
pub mod sanitize;
mod shapes;
pub mod validate;
