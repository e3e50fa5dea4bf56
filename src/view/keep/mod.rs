//! What became of a home: backups, imports, erasures, what is on the disk.

pub mod audit_log;
pub mod backup;
pub mod disk_sync;
pub mod doctor;
pub mod erasure;
pub mod import;
pub mod plan;
pub mod rebuild;
pub mod store;
