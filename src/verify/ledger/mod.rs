//! The repository: refs, the graph of commits, their trees, documents, keys and signatures.

pub(crate) mod commit_graph;
pub(crate) mod commits;
pub(crate) mod documents;
pub(crate) mod history;
pub(crate) mod interaction;
pub(crate) mod keys;
pub(crate) mod notes;
pub(crate) mod read_ahead;
pub(crate) mod refs;
pub(crate) mod signatures;
pub(crate) mod transaction;
pub(crate) mod unreachable;
