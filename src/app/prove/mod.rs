//! Evidence: checking it, opening it to others, giving it away, bounding its time.

pub mod anchor;
pub mod anchor_sync;
pub mod consent;
pub mod foreign_ledger_limits;
pub mod git;
pub mod handed_on;
pub mod history;
pub mod opening;
pub mod overlay;
pub mod publish;
mod recorded_artifacts;
pub mod replay;
pub(super) mod revealed;
pub mod share;
pub mod stamp;
pub mod trace;
pub mod tree_heads;
pub mod verify;
pub mod witness;

use crate::app::sentence::FieldSentence;

/// A sentence for a person: why something is not handed on.
pub struct NotHandedOn(pub FieldSentence);

fn because<T, E: From<NotHandedOn>>(why: impl Into<FieldSentence>) -> Result<T, E> {
    Err(NotHandedOn(why.into()).into())
}
