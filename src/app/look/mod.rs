//! Looking at what is on record: conversations, turns, sessions, numbers, words.

pub mod actions;
pub mod artifact;
pub mod assertion;
pub mod conversation;
pub mod council;
pub mod day_chart;
pub mod digests;
pub mod drift;
pub mod imported;
pub mod log_lines;
pub mod not_shown;
pub mod search;
pub mod session;
pub mod show;
pub mod sight;
pub mod stats;
pub mod thread;
