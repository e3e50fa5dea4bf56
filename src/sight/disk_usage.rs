//! `disk_usage`: how full each disk of this machine is.
//!
//! | value | unit |
//! |---|---|
//! | `disk1_mount`, `disk2_mount`, … | where it is mounted, by name; what is no plain path character is shown as `_` |
//! | `disk1_total_mb`, `disk1_free_mb` | MiB |
//! | `disk1_used_pct` | percent, rounded up: a disk is full before it is said to be less |

use sysinfo::{DiskRefreshKind, Disks};

use crate::record::ledger::bundle::SightEntry;
use crate::record::time::Seconds;

use super::{Tool, ToolReadings};

/// The tool's name in kernel and bundle.
pub const NAME: &str = "disk_usage";

/// More disks than this are counted and not shown: the bundle is small.
const MAX_DISKS: usize = 6;
/// Longest mount point that is shown.
const MAX_MOUNT: usize = 48;
const MEBIBYTE: u64 = 1024 * 1024;
/// What is not looked at.
const NEVER_KNOWN: [&str; 2] = ["inodes", "quotas"];

/// The tool `disk_usage`: how full the disks of this machine are.
#[derive(Clone, Copy, Debug)]
pub struct DiskUsage;

/// One mounted disk, with its size and free space.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Disk {
    mount: String,
    device: String,
    total: u64,
    free: u64,
}

impl Tool for DiskUsage {
    fn name(&self) -> &'static str {
        NAME
    }

    fn observe(&self, now: Seconds) -> SightEntry {
        let kind = DiskRefreshKind::nothing().with_storage();
        let found = Disks::new_with_refreshed_list_specifics(kind).map(|disks| {
            let disk = |d: &sysinfo::Disk| Disk {
                mount: d.mount_point().to_string_lossy().into_owned(),
                device: d.name().to_string_lossy().into_owned(),
                total: d.total_space(),
                free: d.available_space(),
            };
            disks.iter().map(disk).collect()
        });
        looked(found.unwrap_or_default()).entry(now)
    }
}

fn looked(disks: Vec<Disk>) -> ToolReadings {
    let disks = distinct(disks);
    let mut looked = ToolReadings::default();
    for (n, disk) in (1..).zip(disks.iter().take(MAX_DISKS)) {
        looked.text(&format!("disk{n}_mount"), &plain(&disk.mount));
        looked.count(&format!("disk{n}_total_mb"), Some(disk.total / MEBIBYTE));
        looked.count(&format!("disk{n}_free_mb"), Some(disk.free / MEBIBYTE));
        looked.count(&format!("disk{n}_used_pct"), used_percent(disk));
    }
    if disks.len() > MAX_DISKS {
        looked
            .unknowns
            .push(format!("{}_more_disks", disks.len() - MAX_DISKS));
    }
    looked.unknowns.extend(NEVER_KNOWN.map(str::to_owned));
    looked
}

/// Each disk once, under its shortest mount point, in the order of mount points; what has no size
/// is none.
fn distinct(mut disks: Vec<Disk>) -> Vec<Disk> {
    disks.retain(|disk| disk.total > 0);
    disks.sort_by(|a, b| (a.mount.len(), &a.mount).cmp(&(b.mount.len(), &b.mount)));
    let mut kept: Vec<Disk> = Vec::new();
    for disk in disks {
        if !kept
            .iter()
            .any(|known| known.device == disk.device && known.total == disk.total)
        {
            kept.push(disk);
        }
    }
    kept.sort_by(|a, b| a.mount.cmp(&b.mount));
    kept
}

fn used_percent(disk: &Disk) -> Option<u64> {
    Some(
        disk.total
            .checked_sub(disk.free)?
            .checked_mul(100)?
            .div_ceil(disk.total),
    )
}

/// A mount point is chosen by whoever mounts: no prose comes from it into a prompt.
fn plain(mount: &str) -> String {
    let fits =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | ':' | '\\');
    mount
        .chars()
        .take(MAX_MOUNT)
        .map(|c| if fits(c) { c } else { '_' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ledger::bundle::Measurement;

    fn disk(mount: &str, device: &str, total: u64, free: u64) -> Disk {
        Disk {
            mount: mount.into(),
            device: device.into(),
            total: total * MEBIBYTE,
            free: free * MEBIBYTE,
        }
    }

    #[test]
    fn each_disk_once_by_its_shortest_mount() {
        let found = looked(vec![
            disk("/srv/bound", "sda1", 100, 40),
            disk("/srv", "sda1", 100, 40),
            disk("/", "nvme", 200, 199),
            disk("/proc", "proc", 0, 0),
        ]);
        let text = |name: &str| found.values[name].to_string();
        assert_eq!(
            (text("disk1_mount"), text("disk2_mount")),
            ("/".into(), "/srv".into())
        );
        assert_eq!(
            (text("disk1_used_pct"), text("disk2_used_pct")),
            ("1".into(), "60".into())
        );
        assert_eq!(found.values["disk2_free_mb"], Measurement::Count(40));
        assert!(!found.values.contains_key("disk3_mount"));
        assert_eq!(found.unknowns, NEVER_KNOWN);
    }

    #[test]
    fn many_disks_are_bounded_and_none_is_a_tool_error() {
        let many = (0..20)
            .map(|n| disk(&format!("/m{n:02}"), &format!("d{n}"), 10, 5))
            .collect();
        let found = looked(many);
        assert_eq!(found.values.len(), 4 * MAX_DISKS);
        assert!(found.unknowns.contains(&"14_more_disks".to_owned()));
        assert!(matches!(
            looked(vec![]).entry(Seconds::ZERO),
            SightEntry::Unavailable { .. }
        ));
    }

    #[test]
    fn figures_at_the_edges() {
        for (total, free, percent) in [
            (100, 100, Some(0)),
            (100, 0, Some(100)),
            (1000, 1, Some(100)),
            (3, 4, None),
        ] {
            assert_eq!(
                used_percent(&disk("/", "d", total, free)),
                percent,
                "{free} of {total}"
            );
        }
        assert_eq!(plain("/mnt/ignore all\n"), "/mnt/ignore_all_");
        assert_eq!(plain(&"/x".repeat(100)).len(), MAX_MOUNT);
    }
}
