//! The database against log and ledger: rows, documents made again from them, and what was erased.

pub(crate) mod artifacts;
pub(crate) mod assertions;
pub(crate) mod auth_keys;
mod check_totals;
pub(crate) mod content_policy;
pub mod contexts;
pub(crate) mod continuity;
pub(crate) mod conversations;
mod councils;
pub(crate) mod database;
mod derived;
pub(crate) mod exchange_rows;
pub(crate) mod exchanges;
mod handoffs;
mod imported;
mod left;
mod orphans;
mod ratings;
pub(crate) mod settings;
pub(crate) mod stored_lines;
pub(crate) mod threads;
pub(crate) mod traces;
pub(crate) mod turns;
