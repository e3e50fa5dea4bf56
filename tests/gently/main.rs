//! The one integration test binary.

mod log;
mod log_rules;
mod written_log;
