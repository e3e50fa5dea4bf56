//! What is allowed: pure verdicts, each recorded.

pub mod actions;
pub mod authority;
pub mod choice;
mod clauses;
pub mod council;
pub mod drift;
mod forms;
pub mod handoff;
pub mod kernel;
mod kernel_check;
pub mod kernel_diff;
mod phrase;
pub mod policy;
pub mod reply;
pub mod reply_rule;
pub mod sanitize;
pub mod sight_rules;
pub mod stored_kernel;
pub mod utility;
mod word_list;
