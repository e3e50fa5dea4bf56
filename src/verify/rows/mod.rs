//! The database against log and ledger: rows, documents made again from them, and what was erased.

pub(in crate::verify) mod artifacts;
pub(in crate::verify) mod assertions;
pub(in crate::verify) mod content_policy;
pub mod contexts;
pub(in crate::verify) mod continuity;
pub(in crate::verify) mod database;
pub(in crate::verify) mod exchange_rows;
pub(in crate::verify) mod exchanges;
pub(in crate::verify) mod threads;
