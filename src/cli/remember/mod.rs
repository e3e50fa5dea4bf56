//! What is put on record for later questions, and what disagrees there.

pub(super) mod conflict;
pub(super) mod context;
pub(super) mod correction;
pub(super) mod handoff;
pub(super) mod items;
pub(super) mod project;
pub(super) mod rate;
