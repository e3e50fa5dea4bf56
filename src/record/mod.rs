//! What is written: bytes in, bytes out. No clock, disk, network or randomness.
//!
//! Floor 0. Every byte of the evidence is defined in `docs/format.md`; each format type here names
//! its section, and its reading and writing halves stand side by side.

pub mod attached;
pub mod bitcoin;
pub mod canon;
pub mod context;
pub mod exchange;
pub mod hash;
pub mod ledger;
pub mod limits;
pub mod log;
pub mod ots;
mod plain;
pub mod signature;
pub mod time;
pub mod trace;
pub mod tree;
pub mod unseen;

pub use exchange::Exchange;
