//! A file that is written for somebody: its place is taken before anything is on record of it, and
//! it is whole or not there.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// A new file, empty so far; it is removed unless it is filled.
pub(super) struct NewFile {
    file: File,
    path: PathBuf,
    is_whole: bool,
}

impl NewFile {
    /// Makes the file, which only its owner reads. Nothing is written over, and no link followed.
    ///
    /// # Errors
    /// A sentence for a person.
    pub fn create(path: &Path) -> Result<NewFile, String> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let place = path.display();
        match options.open(path) {
            Ok(file) => Ok(NewFile {
                file,
                path: path.to_owned(),
                is_whole: false,
            }),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Err(format!(
                "{place} exists, and is not written over; name a new file with --out"
            )),
            Err(e) => Err(format!("{place}: {e}; nothing was written")),
        }
    }

    /// Writes all of it, durably.
    ///
    /// # Errors
    /// A sentence for a person; the file is gone then.
    pub fn fill(mut self, text: &str) -> Result<(), String> {
        let written = self.file.write_all(text.as_bytes());
        let synced = written.and_then(|()| self.file.sync_all());
        synced.map_err(|e| {
            format!(
                "{}: {e}; the opening is on record, and this file was not written",
                self.path.display()
            )
        })?;
        self.is_whole = true;
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_whole {
            // Half a file opens nothing.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
