//! The relationship database.

pub mod sqlite;
