//! `audit.log`: reading and appending.

pub mod append;
pub mod read;
