//! Requests to act, and the words in which they are made (AEGIS 7.1).

pub mod actuation;
pub(in crate::govern) mod lexicon;
pub(in crate::govern) mod objects;
pub(in crate::govern) mod tool_calls;
pub(in crate::govern) mod wish_lexicon;
pub(in crate::govern) mod wishes;
