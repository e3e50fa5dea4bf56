//! Evidence: checking it, opening it to others, giving it away, bounding its time.

pub(super) mod anchor;
pub mod audit;
pub(super) mod consent;
pub(super) mod foreign_ledger_limits;
pub(super) mod heads;
pub(super) mod publish;
pub(super) mod share;
pub(super) mod stamp;
pub(super) mod sync;
pub(super) mod trace;
pub(super) mod witness;
