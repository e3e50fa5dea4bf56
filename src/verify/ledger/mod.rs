//! The repository: refs, the graph of commits, their trees, documents, keys and signatures.

pub(in crate::verify) mod commit_graph;
pub(in crate::verify) mod commits;
pub(in crate::verify) mod documents;
pub(in crate::verify) mod history;
pub(in crate::verify) mod interaction;
pub(in crate::verify) mod keys;
pub(in crate::verify) mod notes;
pub(in crate::verify) mod read_ahead;
pub(in crate::verify) mod refs;
pub(in crate::verify) mod signatures;
pub(in crate::verify) mod transaction;
pub(in crate::verify) mod unreachable;
