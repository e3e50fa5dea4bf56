//! What is allowed: pure verdicts, each recorded.

mod act_words;
mod acts;
pub mod actuation;
pub mod authority;
mod claims;
mod completeness;
mod deeds;
pub mod drift;
mod figures;
pub mod kernel;
mod kernel_check;
pub mod kernel_diff;
mod numbers;
pub mod output;
mod phrase;
pub mod policy;
mod prose;
mod refusal;
pub mod sanitize;
mod sources;
pub mod validate;
