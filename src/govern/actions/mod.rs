//! Requests to act, and the words in which they are made (AEGIS 7.1).

pub mod actuation;
mod forms;
mod tool_calls;
