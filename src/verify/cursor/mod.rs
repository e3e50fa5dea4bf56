//! Going on where an earlier check ended: what it saved, and whether the ledger still fits that.

pub(crate) mod file;
pub(crate) mod fit;
pub(crate) mod start;
