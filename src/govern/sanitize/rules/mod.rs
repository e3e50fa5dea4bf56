//! The rule files, and which stretches of a text a rule is run over.

pub mod dialect;
pub mod engine;
pub mod file;
pub mod keywords;
pub mod triggers;
pub mod window;
