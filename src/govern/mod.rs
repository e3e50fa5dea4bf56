//! What is allowed: pure verdicts, each recorded.

mod act_words;
mod acts;
pub mod actuation;
pub mod authority;
mod claims;
mod completeness;
mod dates;
mod deeds;
pub mod drift;
mod figures;
mod forms;
pub mod kernel;
mod kernel_check;
pub mod kernel_diff;
mod numbers;
mod occurs;
pub mod output;
mod phrase;
pub mod policy;
mod prose;
mod quotes;
mod refusal;
pub mod sanitize;
mod sources;
mod tool_calls;
pub mod validate;
