//! Setting up: the home, its keys, kernel, models, settings and hooks.

pub mod config;
pub(super) mod hook;
pub(super) mod init;
pub(super) mod kernel;
pub(super) mod key;
pub(super) mod model;
pub(super) mod sanitize;
pub(super) mod specialist;
pub(super) mod specialist_report;
