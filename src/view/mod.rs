//! What people see of each thing, as plain values: what `--json` prints, and what other doors send.
//!
//! A view says nothing that is not in what it is made of, decides nothing, and asks nobody.

pub mod action;
pub mod anchor;
pub mod audit_walk;
pub mod backup;
pub mod context;
pub mod digests;
pub mod disk_sync;
pub mod doctor;
pub mod drift;
pub mod erasure;
pub mod exchange;
pub mod header_sync;
pub mod headline;
pub mod help;
pub mod home;
pub mod item;
pub mod kernel;
pub mod key;
pub mod log_line;
pub mod model;
pub mod opening;
pub mod plan;
pub mod rebuild;
pub mod replay;
pub mod report;
pub mod sanitized;
pub mod session;
pub mod setting;
pub mod share;
pub mod sight;
pub mod thread;
pub mod tree_head;
pub mod turn;
pub mod unrecorded;
pub mod warning;
pub mod witness;
