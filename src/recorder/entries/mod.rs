//! What can be put on record: one file for each kind of entry, each filled into the open transaction.

pub(in crate::recorder) mod actions;
pub(in crate::recorder) mod artifacts;
pub(in crate::recorder) mod auth;
pub(in crate::recorder) mod content_policy;
pub(in crate::recorder) mod drift;
pub(in crate::recorder) mod erase;
pub(in crate::recorder) mod exchange_document;
pub(in crate::recorder) mod exchanges;
pub(in crate::recorder) mod genesis;
pub(in crate::recorder) mod imported;
pub(in crate::recorder) mod interaction;
pub(in crate::recorder) mod kernel;
pub(in crate::recorder) mod receipts;
pub(in crate::recorder) mod references;
pub(in crate::recorder) mod rotation;
pub(in crate::recorder) mod sessions;
pub(in crate::recorder) mod settings;
pub(in crate::recorder) mod threads;
