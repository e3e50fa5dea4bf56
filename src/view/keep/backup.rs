//! Backups, and the way back from one.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::app::home::open::before_commands;
use crate::app::keep::backup::RestoreResult;
use crate::backup::Manifest;
use crate::recorder::{AdoptionResult, LostArtifact};
use crate::store::UnsignedLines;

use crate::view::keep::rebuild::UnsignedView;
use crate::view::prove::report::VerdictView;

/// A backup that was made.
#[derive(Clone, Debug, Serialize)]
pub struct BackupView {
    /// Path of the backup that was written.
    pub file: String,
    /// What it says of itself.
    pub backup: Manifest,
}

impl BackupView {
    /// Of a backup, and where it is.
    pub fn of(manifest: &Manifest, file: &Path) -> Self {
        BackupView {
            file: file.display().to_string(),
            backup: manifest.clone(),
        }
    }
}

/// A home that was restored.
#[derive(Clone, Debug, Serialize)]
pub struct RestoreView {
    /// Where it is.
    pub home: String,
    /// What the backup says of itself.
    pub backup: Manifest,
    /// How many files came back.
    pub files: u64,
    /// SQLite's own words about the database.
    pub database: String,
    /// Where the key of an encrypted database was from; null of a plain one.
    pub key_from: Option<String>,
    /// Whether the home has a key file again, from the copy that was given.
    pub has_key_file: bool,
    /// What a check of it found, by question; empty where it could not be made.
    pub answers: BTreeMap<&'static str, VerdictView>,
    /// Why that check could not be made; null where it was.
    pub unchecked: Option<String>,
    /// The next command.
    pub next: String,
}

impl RestoreView {
    /// Of a restore.
    pub fn of(result: &RestoreResult) -> Self {
        RestoreView {
            home: result.root.display().to_string(),
            backup: result.back.manifest.clone(),
            files: result.back.files,
            database: result.back.database.clone(),
            key_from: result.key_from.clone(),
            has_key_file: result.has_key_file,
            answers: result
                .report
                .as_ref()
                .map(VerdictView::all)
                .unwrap_or_default(),
            unchecked: result.unchecked.clone(),
            next: format!("{}gently audit adopt", before_commands(&result.root)),
        }
    }
}

/// What became of the question whether there is newer history.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "adopted", rename_all = "snake_case")]
pub enum AdoptView {
    /// There is none, as its owner says.
    NothingNewer {
        /// Lines that nobody had signed, in a backup without a tree head.
        unsigned: Option<UnsignedView>,
    },
    /// Newer history was there, and was taken over.
    AdoptionResult {
        /// The number of the first new line, from 1.
        from_line: u64,
        /// The number of the last.
        to_line: u64,
        /// How many commits are new.
        commits: u64,
        /// How many sessions are new.
        sessions: u64,
        /// How many exchanges have lost a text.
        texts_lost: u64,
        /// Auth keys that are lost.
        keys_lost: Vec<String>,
        /// What else is lost: corrections, ratings, notes and so on, by kind and id.
        artifacts_lost: Vec<LostArtifactView>,
        /// How many sessions are open.
        open: u64,
        /// How many erasings are newer than the backup: what they erased is back, if it was in there.
        erasings: u64,
    },
}

/// Something that only the lost database knew; its line is on record.
#[derive(Clone, Debug, Serialize)]
pub struct LostArtifactView {
    /// Its kind on record.
    pub kind: String,
    /// Its id on record.
    pub id: String,
}

impl LostArtifactView {
    fn of(lost: &LostArtifact) -> Self {
        LostArtifactView {
            kind: lost.kind.clone(),
            id: lost.id.clone(),
        }
    }
}

impl AdoptView {
    /// Of the word of its owner.
    pub fn nothing_newer(unsigned: Option<&UnsignedLines>) -> Self {
        AdoptView::NothingNewer {
            unsigned: unsigned.map(UnsignedView::of),
        }
    }

    /// Of what was taken over.
    pub fn of(taken: &AdoptionResult) -> Self {
        AdoptView::AdoptionResult {
            from_line: taken.from_line,
            to_line: taken.to_line,
            commits: taken.commits,
            sessions: taken.sessions,
            texts_lost: taken.texts_lost,
            keys_lost: taken.keys_lost.clone(),
            artifacts_lost: taken
                .artifacts_lost
                .iter()
                .map(LostArtifactView::of)
                .collect(),
            open: taken.open,
            erasings: taken.erasings,
        }
    }
}
