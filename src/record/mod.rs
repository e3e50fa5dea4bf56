//! What is written: bytes in, bytes out. No clock, disk, network or randomness.
//!
//! Floor 0. Every byte of the evidence is defined in `docs/format.md`; each format type here names
//! its section, and its reading and writing halves stand side by side.

pub mod block;
pub mod bundle;
pub mod canon;
pub mod chain;
pub mod commit;
pub mod commitment;
pub mod context;
mod details;
pub mod documents;
pub mod entry;
pub mod epochs;
pub mod equation;
mod event;
pub mod exchange;
pub mod fit;
pub mod hash;
pub mod header;
pub mod headers;
pub mod item;
mod lifecycle;
pub mod limits;
pub mod note;
pub mod opening;
pub mod ots;
pub mod params;
mod plain;
pub mod policy;
pub mod proof;
pub mod receipt;
pub mod resume;
pub mod rules;
pub mod signature;
pub mod time;
pub mod tree;
pub mod unseen;
mod violation;
