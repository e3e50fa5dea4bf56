//! `sys_health`: load, memory, swap, disk and uptime of this machine.
//!
//! | value | unit |
//! |---|---|
//! | `cpu_load`, `cpu_load_5m`, `cpu_load_15m` | runnable processes, mean of 1, 5, 15 minutes |
//! | `cores` | logical processors that this process may use |
//! | `mem_total_mb`, `mem_used_mb`, `mem_available_mb`, `swap_total_mb`, `swap_used_mb` | MiB |
//! | `disk_total_mb`, `disk_free_mb`, `disk_free_pct` | MiB and percent of the disk that holds the home |
//! | `root_disk_free_pct` | percent of the root disk, where it is another |
//! | `uptime_s` | seconds |

use std::path::{Path, PathBuf};

use sysinfo::{DiskRefreshKind, Disks, MemoryRefreshKind, RefreshKind, System};

use crate::record::ledger::bundle::{Measurement, SightEntry};
use crate::record::time::Seconds;

use super::{Tool, ToolReadings};

/// The tool's name in kernel and bundle.
pub const NAME: &str = "sys_health";

/// What nothing here can measure, said every time: an absent value is not a good value.
const NEVER_KNOWN: [&str; 5] = [
    "gpu_health",
    "temperatures",
    "disk_smart",
    "network",
    "services",
];

const MEBIBYTE: u64 = 1024 * 1024;

/// The tool; nothing in it samples over time, so it answers at once.
#[derive(Clone, Debug)]
pub struct SysHealth {
    /// A path on the disk that holds the home; it need not exist yet.
    pub home: PathBuf,
}

impl Tool for SysHealth {
    fn name(&self) -> &'static str {
        NAME
    }

    fn observe(&self, now: Seconds) -> SightEntry {
        let mut looked = ToolReadings::default();
        load(&mut looked);
        memory(&mut looked);
        disks(&mut looked, &self.home);
        looked.count("uptime_s", System::uptime().ok());
        looked.unknowns.extend(NEVER_KNOWN.map(str::to_owned));
        looked.entry(now)
    }
}

fn load(looked: &mut ToolReadings) {
    let load = System::load_average().ok();
    for (name, value) in [
        ("cpu_load", load.as_ref().map(|l| l.one)),
        ("cpu_load_5m", load.as_ref().map(|l| l.five)),
        ("cpu_load_15m", load.as_ref().map(|l| l.fifteen)),
    ] {
        looked.put(name, value.and_then(Measurement::fraction));
    }
    let cores = std::thread::available_parallelism()
        .ok()
        .and_then(|n| u64::try_from(n.get()).ok());
    looked.count("cores", cores);
}

fn memory(looked: &mut ToolReadings) {
    let kind = RefreshKind::nothing().with_memory(MemoryRefreshKind::everything());
    // A machine without memory was not looked at.
    let system = System::new_with_specifics(kind)
        .ok()
        .filter(|system| system.total_memory() > 0);
    let mib = |read: fn(&System) -> u64| system.as_ref().map(|system| read(system) / MEBIBYTE);
    looked.count("mem_total_mb", mib(System::total_memory));
    looked.count("mem_used_mb", mib(System::used_memory));
    looked.count("mem_available_mb", mib(System::available_memory));
    looked.count("swap_total_mb", mib(System::total_swap));
    looked.count("swap_used_mb", mib(System::used_swap));
}

struct Space {
    mount: PathBuf,
    total: u64,
    free: u64,
}

fn disks(looked: &mut ToolReadings, home: &Path) {
    let kind = DiskRefreshKind::nothing().with_storage();
    let spaces: Vec<Space> = Disks::new_with_refreshed_list_specifics(kind)
        .map(|disks| {
            let space = |d: &sysinfo::Disk| Space {
                mount: d.mount_point().to_path_buf(),
                total: d.total_space(),
                free: d.available_space(),
            };
            disks.iter().map(space).filter(|s| s.total > 0).collect()
        })
        .unwrap_or_default();
    let of_home = holding(&spaces, &existing(home));
    looked.count("disk_total_mb", of_home.map(|s| s.total / MEBIBYTE));
    looked.count("disk_free_mb", of_home.map(|s| s.free / MEBIBYTE));
    looked.count("disk_free_pct", of_home.and_then(free_percent));
    let root = holding(&spaces, Path::new("/"));
    if of_home.map(|s| &s.mount) != root.map(|s| &s.mount) {
        looked.count("root_disk_free_pct", root.and_then(free_percent));
    }
}

fn free_percent(space: &Space) -> Option<u64> {
    space.free.checked_mul(100)?.checked_div(space.total)
}

/// The disk with the longest mount point above a path.
fn holding<'a>(spaces: &'a [Space], path: &Path) -> Option<&'a Space> {
    spaces
        .iter()
        .filter(|s| path.starts_with(&s.mount))
        .max_by_key(|s| s.mount.components().count())
}

/// The nearest ancestor that exists, without links: a home is looked at before it is made.
fn existing(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    absolute
        .ancestors()
        .find_map(|p| p.canonicalize().ok())
        .unwrap_or(absolute)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ledger::bundle::Moment;

    #[test]
    fn it_gives_values_and_names_what_it_can_not_tell() {
        let home = tempfile::tempdir().unwrap();
        let now = Seconds::new(1_767_830_400).unwrap();
        let entry = SysHealth {
            home: home.path().join("not/yet"),
        }
        .observe(now);
        let SightEntry::Seen {
            observed_at,
            values,
            unknowns,
            ..
        } = entry
        else {
            panic!("{entry:?}")
        };
        assert_eq!(observed_at, Moment(now));
        assert!(values["mem_total_mb"].number() > Some(0.0));
        assert!(values["cores"].number() >= Some(1.0));
        assert!(unknowns.contains(&"gpu_health".to_owned()));
        for name in ["cpu_load", "uptime_s", "disk_free_pct", "mem_available_mb"] {
            assert!(
                values.contains_key(name) != unknowns.contains(&name.to_owned()),
                "{name}"
            );
        }
        if let Some(free) = values.get("disk_free_pct") {
            assert!(free.number() <= Some(100.0));
        }
    }

    #[test]
    fn the_nearest_mount_holds_the_home() {
        let space = |mount: &str, free| Space {
            mount: mount.into(),
            total: 200,
            free,
        };
        let spaces = [space("/", 10), space("/home", 50), space("/home2", 90)];
        assert_eq!(
            holding(&spaces, Path::new("/home/a")).and_then(free_percent),
            Some(25)
        );
        assert_eq!(
            holding(&spaces, Path::new("/home22")).and_then(free_percent),
            Some(5)
        );
        assert!(holding(&spaces[1..], Path::new("/var")).is_none());
        assert_eq!(
            free_percent(&Space {
                mount: "/".into(),
                total: 0,
                free: 0
            }),
            None
        );
    }
}
