//! Time: which blocks and proofs bound a session, and what witnesses saw.

pub(in crate::verify) mod blocks;
pub(in crate::verify) mod bounds;
pub(in crate::verify) mod proofs;
pub(in crate::verify) mod witnesses;
