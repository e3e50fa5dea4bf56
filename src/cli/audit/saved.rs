//! Where the last check that found nothing wrong is kept: `verified.json` of a home, or a file that
//! is named.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::os::read_regular;
use crate::record::time::Seconds;
use crate::verify::{Position, PositionMismatch, Scope};

/// Its name in a home.
const FILE: &str = "verified.json";
/// Largest position: it holds what is due of every open session, and what earlier lines named.
const MOST: u64 = 256 << 20;

/// The file.
pub(super) struct SavedPosition(PathBuf);

impl SavedPosition {
    /// The file that is named, else that of the home; none for a repository of which none is named.
    pub(super) fn find(named: Option<&Path>, home: Option<&Path>) -> Option<Self> {
        named
            .map(Path::to_owned)
            .or_else(|| home.map(|home| home.join(FILE)))
            .map(SavedPosition)
    }

    /// Whether an earlier check has written it.
    pub(super) fn is_there(&self) -> bool {
        self.0.exists()
    }

    /// What it says, or why that can't be gone on from.
    pub(super) fn read(&self) -> Result<Position, PositionMismatch> {
        let place = self.0.display();
        let bytes = read_regular(&self.0, MOST).map_err(|e| PositionMismatch::Form {
            reason: format!("can't read {place}: {e}"),
        })?;
        Position::read(&bytes)
    }

    /// Puts a new position in its place, whole or not at all; for this user's eyes only.
    pub(super) fn write(
        &self,
        to: Position,
        from: Option<&Position>,
        scope: &Scope,
    ) -> Result<(), String> {
        let now = crate::cli::wire::clock().map_err(|e| e.to_string())?;
        let from = from.filter(|_| matches!(scope, Scope::Since { .. }));
        let text = dated(to, from, now).print().map_err(|e| e.to_string())?;
        let failed = |e: std::io::Error| format!("{}: {e}", self.0.display());
        let mut beside = self.0.clone().into_os_string();
        beside.push(format!(".{}.new", std::process::id()));
        let beside = PathBuf::from(beside);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&beside).map_err(failed)?;
        let written = file
            .write_all(text.as_bytes())
            .and_then(|()| file.sync_all());
        written
            .and_then(|()| fs::rename(&beside, &self.0))
            .map_err(|e| {
                // What is left of it is of no use to anybody.
                let _ = fs::remove_file(&beside);
                failed(e)
            })
    }
}

fn dated(to: Position, from: Option<&Position>, now: Seconds) -> Position {
    to.reached(now, from)
}
