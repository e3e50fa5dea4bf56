//! A file that is written for somebody: its place is taken before anything is on record of it, and
//! it is whole or not there.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use super::quiet;

/// A new file, empty so far; it is removed unless it is filled.
pub(in crate::cli) struct NewFile {
    file: File,
    path: PathBuf,
    is_whole: bool,
}

/// Why no new file can have this name: it says something else on a screen or in a command than it
/// is, or it is there.
///
/// # Errors
/// A sentence for a person.
pub(in crate::cli) fn judge_name(path: &Path) -> Result<(), String> {
    judge_new(path, OUT)
}

/// The option that most files are named by.
const OUT: &str = "--out";

/// The same, of a file that another option names.
///
/// # Errors
/// A sentence for a person.
pub(in crate::cli) fn judge_new(path: &Path, option: &str) -> Result<(), String> {
    let shown = quiet(&path.display().to_string());
    let Some(name) = path.file_name() else {
        return Err(format!(
            "'{shown}' is no name of a file; name one with {option}"
        ));
    };
    if path.to_str() != Some(shown.as_str()) {
        return Err(format!(
            "'{shown}': a name with characters that nobody sees, or that move others, is not written; name another one with {option}"
        ));
    }
    if path == Path::new("-") {
        return Err(format!(
            "{option} -: this writes a file, and '-' is none; name it, such as {option} answer{}",
            if option == OUT { ".json" } else { ".svg" }
        ));
    }
    let is_ending = [".html", ".htm", ".json", ".svg"]
        .iter()
        .any(|ending| name.eq_ignore_ascii_case(ending));
    if is_ending {
        return Err(format!(
            "'{shown}' is an ending without a name; name the file, such as {option} answer{}",
            name.to_string_lossy()
        ));
    }
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        let folder = folder.display();
        return Err(format!(
            "{shown}: there is no folder {folder}, and nothing was written; make it first, or name another"
        ));
    }
    if path.symlink_metadata().is_ok() {
        return Err(is_there(&shown, option));
    }
    Ok(())
}

fn is_there(place: &str, option: &str) -> String {
    format!("{place} exists, and is not written over; name a new file with {option}")
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
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                Err(is_there(&place.to_string(), OUT))
            }
            Err(e) => Err(format!("{place}: {e}; nothing was written")),
        }
    }

    /// Writes all of it, durably.
    ///
    /// # Errors
    /// A sentence for a person; the file is gone then.
    pub fn fill(self, text: &str) -> Result<(), String> {
        self.fill_or(
            text,
            "the opening is on record, and this file was not written",
        )
    }

    /// The same, with what is said to be so where it fails.
    ///
    /// # Errors
    /// A sentence for a person; the file is gone then.
    pub fn fill_or(mut self, text: &str, state: &str) -> Result<(), String> {
        let written = self.file.write_all(text.as_bytes());
        let synced = written.and_then(|()| self.file.sync_all());
        synced.map_err(|e| format!("{}: {e}; {state}", self.path.display()))?;
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
