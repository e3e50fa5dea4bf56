//! The desk: what every door asks for, as functions that take an open home and a request, and
//! return a value. Nothing here prints, asks or exits.

pub mod find;
pub mod git;
pub mod history;
pub mod log_lines;
pub mod model_choice;
pub mod model_list;
pub mod open;
pub mod open_error;
pub mod opening;
pub mod overlay;
pub mod provider_key;
pub mod redacted;
pub mod rules_in_force;
pub mod secrets;
