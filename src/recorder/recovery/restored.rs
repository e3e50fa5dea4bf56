//! A restored home writes nothing before a person says what became of the history after its backup.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use crate::keys::Signer;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::Salt;
use crate::record::ledger::documents::Format;
use crate::record::ledger::exchange::ArtifactDoc;
use crate::record::time::Seconds;

use super::adopt::{ADOPT, AdoptionResult, NewerLedger, take_over};
use super::rebuild;
use crate::recorder::{Paths, Recorder, RecorderError, RecorderTerms, unwatched};
use crate::store::UnsignedLines;

/// The marker's name in a home.
pub const MARKER: &str = "restored.toml";

/// What a restored home remembers of its backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestoreRecord {
    /// When it was restored.
    pub restored_at: Seconds,
    /// When the backup was made.
    pub made_at: Seconds,
    /// Lines of its log.
    pub lines: u64,
    /// Head of its log.
    pub head: Hash32,
}

impl RestoreRecord {
    /// The marker's text.
    pub fn text(&self) -> String {
        format!(
            "# This home was restored from a backup, and writes nothing before `gently audit adopt` was run.\n\
             restored_at = \"{}\"\nbackup_made_at = \"{}\"\nlines = {}\nhead = \"{}\"\n",
            self.restored_at, self.made_at, self.lines, self.head
        )
    }

    /// Writes the marker. Durable on return.
    pub fn mark(&self, root: &Path) -> std::io::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(root.join(MARKER))?;
        file.write_all(self.text().as_bytes())?;
        file.sync_all()
    }
}

/// Refuses in a home that was restored.
pub fn refuse(paths: &Paths) -> Result<(), RecorderError> {
    match fs::symlink_metadata(marker(paths)) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(RecorderError::Unapplied {
            what: "looking for restored.toml",
            reason: e.to_string(),
        }),
        Ok(_) => Err(RecorderError::Restored {
            path: marker(paths),
        }),
    }
}

/// Whether the home waits for `gently audit adopt`.
pub fn is_marked(paths: &Paths) -> bool {
    refuse(paths).is_err()
}

fn marker(paths: &Paths) -> PathBuf {
    paths.root.join(MARKER)
}

/// Puts on record that nothing newer was ever published, and lets the home write again.
///
/// Where the backup has no tree head, one is signed over what it holds; what nothing had signed
/// before goes to `tell` first, and is returned. Finishes what the backup left unapplied. After a crash in between the marker still stands, and
/// saying it again is harmless. Durable on return.
pub async fn nothing_newer(
    paths: &Paths,
    key: Signer,
    salt: Salt,
    now: Seconds,
    tell: &dyn Fn(&UnsignedLines),
) -> Result<Option<UnsignedLines>, RecorderError> {
    let key = Arc::new(key);
    let lost = rebuild::look(paths)?;
    if let Some(unsigned) = &lost.unsigned {
        tell(unsigned);
    }
    if lost.adoption_signs {
        rebuild::sign_anew(paths, key.clone(), now)?;
    }
    let recorder = Recorder::open_unchecked(
        paths.clone(),
        key,
        now,
        unwatched(),
        RecorderTerms::default(),
    )?;
    recorder
        .record(now, move |transaction| {
            let head = transaction.head.hash;
            let content = json!({ "claim": "nothing_newer", "head": head.to_string() });
            let id = format!("{ADOPT}-{}", head.short16());
            let doc = ArtifactDoc {
                content,
                format: Format,
                id,
                kind: ADOPT.to_owned(),
            };
            transaction
                .artifact(now, None, &doc, salt.clone())
                .map(|_| ())
        })
        .await?;
    drop(recorder);
    unmark(paths)?;
    Ok(lost.unsigned)
}

/// Takes over a verified newer ledger, and lets the home write again. Durable on return.
pub fn taken_over(
    paths: &Paths,
    newer: &NewerLedger,
    key: Signer,
    salts: &mut dyn FnMut() -> Result<Salt, RecorderError>,
    now: Seconds,
) -> Result<AdoptionResult, RecorderError> {
    let taken = take_over(paths, newer, &key, salts, now)?;
    drop(Recorder::open_unchecked(
        paths.clone(),
        key,
        now,
        unwatched(),
        RecorderTerms::default(),
    )?);
    unmark(paths)?;
    Ok(taken)
}

fn unmark(paths: &Paths) -> Result<(), RecorderError> {
    let removed = match fs::remove_file(marker(paths)) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e),
        _ => File::open(&paths.root).and_then(|dir| dir.sync_all()),
    };
    removed.map_err(|e| RecorderError::Unapplied {
        what: "removing restored.toml",
        reason: e.to_string(),
    })
}
