//! The rule files, and which stretches of a text a rule is run over.

pub(in crate::govern::sanitize) mod dialect;
pub(in crate::govern::sanitize) mod engine;
pub(in crate::govern::sanitize) mod file;
pub(in crate::govern::sanitize) mod keywords;
pub(in crate::govern::sanitize) mod triggers;
pub(in crate::govern::sanitize) mod window;
