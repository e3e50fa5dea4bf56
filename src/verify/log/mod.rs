//! The log: every line in order, the segments that `main` holds, and what the lines say of sessions.

pub(crate) mod file;
pub(crate) mod line_index;
pub(crate) mod lines;
pub(crate) mod newer;
pub(crate) mod receipts;
pub(crate) mod records;
pub(crate) mod segments;
pub(crate) mod sessions;
pub(crate) mod tree_head;
