//! The desk: what every door asks for, as functions that take an open home and a request, and
//! return a value. Nothing here prints, asks or exits.

pub mod ask;
pub mod context;
pub mod denial;
pub mod digests;
pub mod drift;
pub mod erase;
pub mod excerpt;
pub mod find;
pub mod git;
pub mod history;
pub mod items;
pub mod keys;
pub mod log_lines;
pub mod model_choice;
pub mod model_list;
pub mod moment;
pub mod not_shown;
pub mod open;
pub mod open_error;
pub mod opening;
pub mod overlay;
pub mod provider_key;
pub mod redacted;
pub mod references;
pub mod replay;
pub mod rules_in_force;
pub mod secrets;
pub mod session;
pub mod settings;
pub mod show;
pub mod stamping;
pub mod thread;
pub mod tree_heads;
pub mod verify;
pub mod witnesses;
