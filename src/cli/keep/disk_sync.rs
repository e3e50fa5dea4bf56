//! `gently sync`.

use crate::app::home::open::OpenHomeError;
use crate::app::keep::disk_sync::{DiskSync, sync};
use crate::view::keep::disk_sync::DiskSyncView;

use crate::cli::present;
use crate::cli::screen::counted;

pub fn run(json: bool) -> Result<u8, OpenHomeError> {
    let done = sync()?;
    Ok(present(json, || DiskSyncView::of(&done), || words(&done)))
}

fn words(done: &DiskSync) -> String {
    let all = counted(done.lines, "record");
    match done.waited {
        0 => format!("✔ Nothing waited: ledger and log are on the disk, {all}\n"),
        waited => format!("✔ Ledger and log are on the disk, {all}; {waited} of them had waited\n"),
    }
}
