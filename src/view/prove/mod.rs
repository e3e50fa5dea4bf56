//! Evidence, and what a check of it found.

pub mod anchor;
pub mod anchor_sync;
pub mod consent;
pub mod headline;
pub mod opening;
pub mod replay;
pub mod report;
pub mod share;
pub mod stamp;
pub mod trace;
pub mod tree_heads;
pub mod witness;
