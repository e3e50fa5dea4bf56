//! Requests to act, and the words in which they are made (AEGIS 7.1).

pub mod actuation;
mod clauses;
mod lexicon;
mod tool_calls;
