//! What is put on record for later questions, and what of it a model is shown.

pub mod context;
pub mod correction;
pub mod handoff;
pub mod items;
pub mod named_artifact;
pub mod project;
pub mod rating;
pub(super) mod with_placeholders;
