//! `audit.log`: reading and appending.
//!
//! Floor 2. What a line is, and what lines must be to each other, is in [`crate::record::log::entry`]
//! and [`crate::record::log::rules`]; here are the bytes on disk.

pub mod append;
pub mod back;
pub mod read;
