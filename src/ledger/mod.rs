//! The git ledger: reading (every object re-hashed) and writing (deterministic signed commits).

pub mod read;
pub mod write;
