//! Keeping a home: backups, restoring, imports, erasing, the disk, and whether all is well.

pub mod adopt;
pub mod backup;
pub mod disk_sync;
pub mod doctor;
pub mod erase;
pub mod import;
pub mod rebuild;
pub mod store_encryption;
