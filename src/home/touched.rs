//! Whether `audit.log` was touched by something else since gently last closed it, and which line
//! then is not the database's.
//!
//! A turn looks at the log's end only: reading all of it each time would cost more the longer it
//! is. So the file's length and times are noted, and all of it is read when they are not what they
//! were.

use std::path::PathBuf;

use crate::log::read::{LogPiece, LogReader};
use crate::os;
use crate::store::{Store, StoreError};

use super::Home;

/// Where the note is.
const SEEN: &str = "audit.seen";
/// A note is a line.
const MOST: u64 = 256;
/// Lines that are compared at a time.
const PORTION: u64 = 4096;

impl Home {
    fn seen_path(&self) -> PathBuf {
        self.root.join(SEEN)
    }

    /// What the log's file is like; none when it is not there.
    fn log_mark(&self) -> Option<String> {
        let found = std::fs::symlink_metadata(self.paths().log()).ok()?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            let times = (
                found.mtime(),
                found.mtime_nsec(),
                found.ctime(),
                found.ctime_nsec(),
            );
            Some(format!("{} {} {times:?}", found.len(), found.ino()))
        }
        #[cfg(not(unix))]
        Some(format!("{} {:?}", found.len(), found.modified().ok()))
    }

    /// Notes what the log is like now. Nobody loses anything when that fails: the next turn reads
    /// all of it.
    pub fn note_log(&self) {
        if let Some(mark) = self.log_mark() {
            let _ = os::replace_hint(&self.seen_path(), mark.as_bytes(), 0o600);
        }
    }

    /// Whether the log is not as it was noted last; what was never noted is not known to be
    /// touched.
    pub fn log_is_touched(&self) -> bool {
        let noted = os::read_regular(&self.seen_path(), MOST).ok();
        noted.is_some_and(|noted| self.log_mark().is_none_or(|mark| mark.as_bytes() != noted))
    }

    /// The first line of the log, counted from 1, that is not the database's. Lines that are
    /// appended meanwhile are in the database before they are in the log.
    pub fn changed_line(&self) -> Result<Option<u64>, StoreError> {
        let Ok(mut log) = LogReader::open(&self.paths().log()) else {
            return Ok(None);
        };
        let store = Store::open_read_only(&self.paths().database())?;
        let mut from = 0;
        loop {
            let lines = store.lines(from, from.saturating_add(PORTION))?;
            if lines.is_empty() {
                return Ok(None);
            }
            for (number, line) in (from + 1..).zip(&lines) {
                match log.next() {
                    Some(Ok(LogPiece::Line(found))) if found.text == *line => {}
                    Some(Ok(LogPiece::Torn(_))) | None => return Ok(None),
                    Some(_) => return Ok(Some(number)),
                }
            }
            from = from.saturating_add(PORTION);
        }
    }
}
