//! Evidence: checking it, opening it to others, giving it away, bounding its time.

pub(super) mod anchor;
pub(super) mod anchor_sync;
pub mod audit;
pub(super) mod consent;
pub(super) mod foreign_ledger_limits;
pub(super) mod publish;
pub(super) mod share;
pub(super) mod stamp;
pub(super) mod trace;
pub(super) mod tree_heads;
pub(super) mod witness;
