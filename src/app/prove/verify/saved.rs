//! Where the last check that found nothing wrong is kept: `verified.json` of a home, or a file that
//! is named.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::os::read_regular;
use crate::record::signature::PublicKey;
use crate::record::time::Seconds;
use crate::verify::{AuditQuestion, Finding, Position, PositionMismatch, Scope};

/// Its name in a home.
const FILE: &str = "verified.json";
/// Largest position: it holds what is due of every open session, and what earlier lines named.
const MOST: u64 = 256 << 20;

/// What a contradiction by it is called.
pub const POSITION: &str = "the position of an earlier check";

/// File in which the position of an earlier check is kept.
pub struct SavedPosition(PathBuf);

/// What a position of a ledger with another root says against this one. It is evidence when it was
/// kept of this ledger: when somebody named it for this check, or it begins with this ledger's own
/// key (`is_own`). In a home, a file that was copied from another home says nothing.
pub fn other_root(
    scope: &Scope,
    position: Option<&Position>,
    is_own: impl FnOnce(&PublicKey) -> bool,
) -> Option<Finding> {
    let (Scope::Whole { mismatch } | Scope::Since { mismatch, .. }) = scope;
    let Some(PositionMismatch::OtherRoot { expected, actual }) = mismatch else {
        return None;
    };
    is_own(&position?.first_key()?).then(|| Finding {
        question: AuditQuestion::Unique,
        place: "refs/heads/main".to_owned(),
        expected: format!("{actual} as its root, as when the position was saved"),
        actual: expected.clone(),
        session: None,
    })
}

impl SavedPosition {
    /// The file that is named, else that of the home; none for a repository of which none is named.
    pub fn find(named: Option<&Path>, home: Option<&Path>) -> Option<Self> {
        named
            .map(Path::to_owned)
            .or_else(|| home.map(|home| home.join(FILE)))
            .map(SavedPosition)
    }

    /// Whether an earlier check has written it.
    pub fn is_there(&self) -> bool {
        self.0.exists()
    }

    /// What it says, or why a check can't continue from it.
    pub fn read(&self) -> Result<Position, PositionMismatch> {
        let place = self.0.display();
        let bytes = read_regular(&self.0, MOST).map_err(|e| PositionMismatch::Form {
            reason: format!("can't read {place}: {e}"),
        })?;
        Position::read(&bytes)
    }

    /// Puts a new position in its place, whole or not at all; for this user's eyes only.
    pub fn write(
        &self,
        to: Position,
        from: Option<&Position>,
        scope: &Scope,
    ) -> Result<(), String> {
        let now = crate::app::home::open::clock().map_err(|e| e.to_string())?;
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
