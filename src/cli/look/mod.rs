//! Looking at what is on record: conversations, turns, sessions, numbers, words.

pub(super) mod action;
pub(super) mod conversation;
pub(super) mod drift;
pub(super) mod log;
pub(super) mod search;
pub(super) mod session;
pub(super) mod show;
pub(super) mod stats;
pub(super) mod summary;
pub(super) mod thread;
