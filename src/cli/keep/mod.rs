//! Keeping a home: backups, imports, erasing, the disk, and whether all is well.

pub(super) mod backup;
pub(super) mod disk_sync;
pub(super) mod doctor;
pub(super) mod erase;
pub(super) mod import;
pub(super) mod rebuild;
pub(super) mod store;
