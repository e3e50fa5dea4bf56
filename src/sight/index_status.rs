//! `index_status`: how much this home holds: database, search index, ledger, log.
//!
//! | value | unit |
//! |---|---|
//! | `sessions`, `sessions_open`, `exchanges`, `artifacts`, `search_entries` | rows of the database |
//! | `log_lines`, `ledger_commits` | as the database's head counts them |
//! | `database_bytes`, `ledger_bytes`, `log_bytes` | files, with what stands beside them |
//! | `last_record_at` | time of the newest line |

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::record::ledger::bundle::SightEntry;
use crate::record::time::Seconds;

use super::{Tool, ToolReadings};

/// The tool's name in kernel and bundle.
pub const NAME: &str = "index_status";

/// A folder with more files than this has no size in time.
const MAX_FILES: usize = 20_000;

/// What the database counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexCounts {
    /// How many sessions are on record.
    pub sessions: u64,
    /// Of them, open.
    pub sessions_open: u64,
    /// How many exchanges are on record.
    pub exchanges: u64,
    /// How many artifacts are on record.
    pub artifacts: u64,
    /// Entries of the search index; none where the database has no such index.
    pub search_entries: Option<u64>,
    /// Lines of the log.
    pub log_lines: u64,
    /// Commits of the ledger.
    pub ledger_commits: u64,
    /// Time of the newest line.
    pub last_record_at: Seconds,
}

/// Asks the database; an error in words when it can't be read.
pub type CountQuery = Arc<dyn Fn() -> Result<IndexCounts, String> + Send + Sync>;

/// The tool `index_status`: what this home has on record.
#[derive(Clone)]
pub struct IndexStatus {
    /// Asks the database.
    pub count: CountQuery,
    /// The database's file.
    pub database: PathBuf,
    /// The ledger's folder.
    pub ledger: PathBuf,
    /// The log's file.
    pub log: PathBuf,
}

impl Tool for IndexStatus {
    fn name(&self) -> &'static str {
        NAME
    }

    fn observe(&self, now: Seconds) -> SightEntry {
        let mut looked = ToolReadings::default();
        let counted = (self.count)().ok();
        let mut row = |name: &str, value: fn(&IndexCounts) -> u64| {
            looked.count(name, counted.as_ref().map(value))
        };
        row("sessions", |c| c.sessions);
        row("sessions_open", |c| c.sessions_open);
        row("exchanges", |c| c.exchanges);
        row("artifacts", |c| c.artifacts);
        row("log_lines", |c| c.log_lines);
        row("ledger_commits", |c| c.ledger_commits);
        looked.count("search_entries", counted.and_then(|c| c.search_entries));
        match counted {
            Some(counted) => looked.text("last_record_at", &counted.last_record_at.to_string()),
            None => looked.unknowns.push("last_record_at".to_owned()),
        }
        looked.count("database_bytes", database_bytes(&self.database));
        looked.count("ledger_bytes", folder_bytes(&self.ledger));
        looked.count("log_bytes", file_bytes(&self.log));
        looked.entry(now)
    }
}

fn file_bytes(path: &Path) -> Option<u64> {
    path.symlink_metadata()
        .ok()
        .filter(|file| file.is_file())
        .map(|file| file.len())
}

/// The database with its write-ahead log, which holds the newest rows.
fn database_bytes(path: &Path) -> Option<u64> {
    let mut wal = path.as_os_str().to_owned();
    wal.push("-wal");
    Some(file_bytes(path)? + file_bytes(Path::new(&wal)).unwrap_or(0))
}

/// All files below a folder; none when it can't be read or holds too many. Follows no links.
fn folder_bytes(path: &Path) -> Option<u64> {
    let (mut bytes, mut files, mut folders) = (0_u64, 0_usize, vec![path.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).ok()? {
            let entry = entry.ok()?;
            files += 1;
            if files > MAX_FILES {
                return None;
            }
            // A file that is gone by now was a temporary one.
            let Ok(found) = entry.metadata() else {
                continue;
            };
            if found.is_dir() {
                folders.push(entry.path());
            } else {
                bytes += found.len();
            }
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ledger::bundle::{Measurement, NoSight};

    fn tool(root: &Path, counted: Result<IndexCounts, String>) -> IndexStatus {
        IndexStatus {
            count: Arc::new(move || counted.clone()),
            database: root.join("db"),
            ledger: root.join("ledger"),
            log: root.join("log"),
        }
    }

    fn counted() -> IndexCounts {
        let last_record_at = Seconds::new(1_767_830_400).unwrap();
        IndexCounts {
            sessions: 2,
            sessions_open: 1,
            exchanges: 3,
            artifacts: 4,
            search_entries: Some(5),
            log_lines: 6,
            ledger_commits: 7,
            last_record_at,
        }
    }

    #[test]
    fn counts_and_sizes() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("ledger/objects/pack")).unwrap();
        for (name, length) in [
            ("db", 10),
            ("db-wal", 5),
            ("log", 7),
            ("ledger/HEAD", 3),
            ("ledger/objects/pack/a", 40),
        ] {
            std::fs::write(root.path().join(name), vec![b'x'; length]).unwrap();
        }
        let entry = tool(root.path(), Ok(counted())).observe(Seconds::ZERO);
        let SightEntry::Seen {
            values, unknowns, ..
        } = entry
        else {
            panic!("{entry:?}")
        };
        for (name, count) in [
            ("database_bytes", 15),
            ("ledger_bytes", 43),
            ("log_bytes", 7),
            ("exchanges", 3),
            ("ledger_commits", 7),
        ] {
            assert_eq!(values[name], Measurement::Count(count), "{name}");
        }
        assert_eq!(
            values["last_record_at"],
            Measurement::Text("2026-01-08T00:00:00Z".into())
        );
        assert!(unknowns.is_empty());
    }

    #[test]
    fn what_can_not_be_read_is_unknown_and_no_zero() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("log"), "12").unwrap();
        let entry = tool(root.path(), Err("locked".into())).observe(Seconds::ZERO);
        let SightEntry::Seen {
            values, unknowns, ..
        } = entry
        else {
            panic!("{entry:?}")
        };
        assert_eq!((values.len(), unknowns.len()), (1, 10));
        std::fs::remove_file(root.path().join("log")).unwrap();
        let entry = tool(root.path(), Err("locked".into())).observe(Seconds::ZERO);
        assert!(matches!(
            entry,
            SightEntry::Unavailable {
                reason: NoSight::ToolError,
                ..
            }
        ));
    }
}
