//! What is on record, as people look at it.

pub mod action;
pub mod artifact;
pub mod assertion;
pub mod conversation;
pub mod council;
pub mod digests;
pub mod drift;
pub mod exchange;
pub mod imported;
pub mod log_line;
pub mod outcome;
pub mod search;
pub mod session;
pub mod sight;
pub mod stats;
pub mod thread;
