//! Evidence, and what a check of it found.

pub mod anchor;
pub mod audit_walk;
pub mod consent;
pub mod header_sync;
pub mod headline;
pub mod opening;
pub mod replay;
pub mod report;
pub mod share;
pub mod trace;
pub mod tree_head;
pub mod witness;
