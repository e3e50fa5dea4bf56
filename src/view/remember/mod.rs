//! What is put on record for later questions.

pub mod context;
pub mod correction;
pub mod handoff;
pub mod item;
pub mod project;
