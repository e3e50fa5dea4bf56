//! Time: which blocks and proofs bound a session, and what witnesses saw.

pub(crate) mod blocks;
pub(crate) mod bounds;
pub(crate) mod proofs;
pub(crate) mod witnesses;
