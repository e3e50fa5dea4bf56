//! The tree head's half of applying: the signed note beside the log, replaced as a whole.
//!
//! Whoever reads beside a writer reads this file first: it is written under another name and
//! renamed once the lines that it covers are appended, so that it is never torn, and never ahead of
//! the log.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::record::tree::Frontier;
use crate::store::LedgerHead;

use super::super::RecorderError;
use super::apply_error;
use crate::recorder::comparison::{ExpectedCheckpoint, compare_checkpoint};

/// A tree head has some 200 bytes; of what is no tree head no more than this is read.
pub const MAX_CHECKPOINT: u64 = 16 * 1024;

/// A tree head that was put in its place, whole for whoever reads, and not on the disk yet.
#[derive(Debug)]
pub(super) struct PlacedFile {
    file: File,
    path: PathBuf,
    /// There was none before.
    is_first: bool,
}

impl PlacedFile {
    /// Waits until text and new name are on the disk.
    pub(super) fn sync(&self) -> std::io::Result<()> {
        self.file.sync_data()?;
        sync_directory_of(&self.path)
    }

    /// The same, but for the names of those that follow the first. What a power loss leaves is the
    /// one before, or on some file systems an empty file; the database has the newest, and the next
    /// start writes it.
    pub(super) fn sync_first(&self) -> std::io::Result<()> {
        if self.is_first {
            return self.sync();
        }
        self.file.sync_data()
    }
}

/// Whether the file holds the tree head that the database has; refuses when it is of another
/// history.
pub(super) fn look(head: &LedgerHead, path: &Path) -> Result<bool, RecorderError> {
    let found = read(path)?;
    let note = head.checkpoint.as_deref();
    // What it is over matters only where the file holds another.
    if found.as_deref() == note.map(str::as_bytes) {
        return Ok(true);
    }
    let own = Frontier::from_bytes(&head.frontier).map_err(|e| RecorderError::Unrecordable {
        what: "head.frontier",
        reason: e.to_string(),
    })?;
    let expected = ExpectedCheckpoint {
        note,
        tree: (own.size(), own.root()),
        signer: &head.signer,
    };
    Ok(compare_checkpoint(&expected, found.as_deref())?)
}

/// The file's bytes; none where there is no such file, or something that is no file and is not
/// opened.
fn read(path: &Path) -> Result<Option<Vec<u8>>, RecorderError> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Ok(Some(Vec::new())),
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(apply_error("looking at audit.checkpoint")(e)),
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_CHECKPOINT).read_to_end(&mut bytes));
    read.map_err(apply_error("reading audit.checkpoint"))?;
    Ok(Some(bytes))
}

/// Puts the head's tree head in its place, whatever stood there; without one nothing is done.
pub(super) fn replace(head: &LedgerHead, path: &Path) -> Result<Option<PlacedFile>, RecorderError> {
    let Some(text) = &head.checkpoint else {
        return Ok(None);
    };
    let failed = |e: std::io::Error| {
        apply_error("writing audit.checkpoint")(format!("{}: {e}", path.display()))
    };
    let beside = path.with_extension("checkpoint.new");
    let is_first = std::fs::symlink_metadata(path).is_err();
    let mut file = match create(&beside) {
        // What a process left that died while it wrote.
        Err(e) if e.kind() == ErrorKind::AlreadyExists => std::fs::remove_file(&beside)
            .and_then(|()| create(&beside))
            .map_err(failed)?,
        created => created.map_err(failed)?,
    };
    let placed = file
        .write_all(text.as_bytes())
        .and_then(|()| std::fs::rename(&beside, path));
    if let Err(e) = placed {
        let _ = std::fs::remove_file(&beside);
        return Err(match e.kind() {
            ErrorKind::IsADirectory => apply_error("writing audit.checkpoint")(format!(
                "{} is a folder; gently doctor says what to do",
                path.display()
            )),
            _ => failed(e),
        });
    }
    Ok(Some(PlacedFile {
        file,
        path: path.to_owned(),
        is_first,
    }))
}

fn create(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// A new name is durable when its directory is.
#[cfg(unix)]
fn sync_directory_of(path: &Path) -> std::io::Result<()> {
    path.parent()
        .map_or(Ok(()), |directory| File::open(directory)?.sync_all())
}

/// Elsewhere a directory can't be opened, and the system keeps names durable itself.
#[cfg(not(unix))]
fn sync_directory_of(_path: &Path) -> std::io::Result<()> {
    Ok(())
}
