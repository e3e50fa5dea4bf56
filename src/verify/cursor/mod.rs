//! Going on where an earlier check ended: what it saved, and whether the ledger still fits that.

pub(in crate::verify) mod file;
pub(in crate::verify) mod fit;
pub(in crate::verify) mod start;
