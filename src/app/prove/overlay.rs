//! A throw-away repository that borrows objects and has refs of its own: what a push would make, or
//! what a part of a ledger looks like by itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::ledger::write::Ledger;
use crate::ledger::{LedgerError, Oid};

/// Why it could not be made.
#[derive(Debug, thiserror::Error)]
pub enum OverlayError {
    /// The system refused.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// File or folder that could not be read or written.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// The repository below the overlay could not be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// The repository; removed when dropped. Nothing is copied, and nothing of the lender is changed.
pub struct Overlay {
    folder: PathBuf,
}

impl Overlay {
    /// Borrows the objects of some object directories, with exactly these refs.
    pub fn new(objects: &[PathBuf], refs: &BTreeMap<String, Oid>) -> Result<Self, OverlayError> {
        let overlay = Overlay {
            folder: fresh_folder()?,
        };
        let repository = overlay.repository();
        Ledger::create(&repository)?;
        let alternates: String = objects
            .iter()
            .map(|path| format!("{}\n", path.display()))
            .collect();
        write(&repository.join("objects/info/alternates"), &alternates)?;
        for (name, id) in refs {
            write(&repository.join(name), &format!("{id}\n"))?;
        }
        Ok(overlay)
    }

    /// Where it is.
    pub fn repository(&self) -> PathBuf {
        self.folder.join("ledger.git")
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        // Nothing to be done about a folder that can't be removed: it is in the system's temporary
        // folder.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn write(path: &Path, text: &str) -> Result<(), OverlayError> {
    let io = |doing| {
        move |source| OverlayError::Io {
            doing,
            path: path.to_owned(),
            source,
        }
    };
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(io("make the folder of"))?;
    }
    std::fs::write(path, text).map_err(io("write"))
}

/// A new folder that only this user can read.
fn fresh_folder() -> Result<PathBuf, OverlayError> {
    let mut random = [0; 8];
    let folder = std::env::temp_dir();
    getrandom::fill(&mut random).map_err(|e| OverlayError::Io {
        doing: "name a folder in",
        path: folder.clone(),
        source: std::io::Error::other(e.to_string()),
    })?;
    let folder = folder.join(format!("gently-overlay-{}", hex::encode(random)));
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&folder).map_err(|source| OverlayError::Io {
        doing: "make",
        path: folder.clone(),
        source,
    })?;
    Ok(folder)
}
