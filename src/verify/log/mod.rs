//! The log: every line in order, the segments that `main` holds, and what the lines say of sessions.

pub(in crate::verify) mod file;
pub(in crate::verify) mod line_index;
pub(in crate::verify) mod lines;
pub(in crate::verify) mod newer;
pub(in crate::verify) mod receipts;
pub(in crate::verify) mod records;
pub(in crate::verify) mod segments;
pub(in crate::verify) mod sessions;
pub(in crate::verify) mod tree_head;
