//! Appends to `audit.log`.
//!
//! **What is durable when.** [`Appender::append`] hands the lines to the operating system: they
//! survive the death of the process, not of the machine. After [`Appender::sync`] returned they
//! survive that too, and so does the file itself when it is new (its directory is synced). A crash
//! in between leaves a prefix of what was appended, mostly with a torn last line, and on some file
//! systems zeros; whoever opens the log next finds its whole lines with [`super::read::tail`], cuts
//! the rest with [`Appender::truncate_to`], and appends again from its own record of what must be
//! there.
//!
//! Nothing is ever overwritten: the file is opened for appending, and a file that is not as long as
//! the writer knows is refused. One writer at a time is the caller's lock.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::record::log::entry::MAX_LINE;

/// Why a log can't be appended to. Nothing was written, except where the variant says so.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The system refused.
    #[error("can't {action} {path}: {source}", path = path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// Path of the log.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A directory, a device, a pipe, a link.
    #[error("{path} is not a regular file, and is not followed: gently audit rebuild puts it aside, and writes the log anew", path = path.display())]
    NotAFile {
        /// Path of the log.
        path: PathBuf,
    },
    /// Somebody else wrote to the file, or it was cut.
    #[error(
        "{path} has {actual} bytes, this writer knows of {expected}: nothing was written; \
         look for another writer, then run `gently audit verify`", path = path.display()
    )]
    Length {
        /// Path of the log.
        path: PathBuf,
        /// As the writer knows it.
        expected: u64,
        /// As it is.
        actual: u64,
    },
    /// A text that is no line: empty, too long, or with a byte outside printable ASCII.
    #[error("line {index} of {count} to append is {actual}, not 1 to {max} bytes of printable ASCII: nothing was written",
        max = MAX_LINE)]
    Line {
        /// Place of the line among those that were given, from 1.
        index: usize,
        /// How many were given.
        count: usize,
        /// What is wrong.
        actual: String,
    },
    /// A write failed halfway, and what it left could not be cut off again.
    #[error(
        "writing {path} failed ({source}) and left {left} bytes after byte {expected}; \
         the next start cuts them", path = path.display()
    )]
    Partial {
        /// Path of the log.
        path: PathBuf,
        /// Its length before.
        expected: u64,
        /// Bytes beyond it.
        left: u64,
        /// Why the write failed.
        source: io::Error,
    },
    /// A cut that is not at the beginning of a line, or beyond the end.
    #[error("{path} can't be cut to {offset} bytes: it has {len}, and a line must begin there", path = path.display())]
    Cut {
        /// Path of the log.
        path: PathBuf,
        /// Where the cut was asked for.
        offset: u64,
        /// Length of the file.
        len: u64,
    },
}

/// The one who appends to a log.
#[derive(Debug)]
pub struct Appender {
    file: File,
    path: PathBuf,
    len: u64,
    /// The file was new or empty when it was opened, so its name may not be durable yet.
    fresh: bool,
    /// The file was cut, which `fdatasync` need not make durable.
    cut: bool,
}

impl Appender {
    /// Opens a log for appending, and creates an empty one where there is none.
    ///
    /// That a log is empty which should not be is for the caller to see, in [`Appender::len`].
    pub fn open(path: &Path) -> Result<Self, AppendError> {
        let io = |source| AppendError::Io {
            action: "open",
            path: path.to_owned(),
            source,
        };
        let mut options = OpenOptions::new();
        options.read(true).append(true);
        // A pipe would block here, and a link leads to somebody else's file, so what is there is
        // looked at first.
        if path.symlink_metadata().is_ok_and(|found| !found.is_file()) {
            return Err(AppendError::NotAFile {
                path: path.to_owned(),
            });
        }
        let (file, created) = match options.clone().create_new(true).open(path) {
            Ok(file) => (file, true),
            Err(found) if found.kind() == io::ErrorKind::AlreadyExists => {
                (options.open(path).map_err(io)?, false)
            }
            Err(source) => return Err(io(source)),
        };
        let len = file.metadata().map_err(io)?.len();
        Ok(Appender {
            file,
            path: path.to_owned(),
            len,
            fresh: created || len == 0,
            cut: false,
        })
    }

    /// Length in bytes, as this writer knows it.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether nothing has been written yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where the log is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends lines, given without newlines, in one write. Not durable before [`Appender::sync`].
    pub fn append(&mut self, lines: &[String]) -> Result<(), AppendError> {
        self.append_at(self.len, lines)
    }

    /// Appends lines where the caller knows the log to end; refuses when it ends elsewhere.
    ///
    /// All lines are written or none: of a write that fails halfway (a full disk) the written part
    /// is cut off again; if that fails too, the error is [`AppendError::Partial`].
    pub fn append_at(&mut self, expected_len: u64, lines: &[String]) -> Result<(), AppendError> {
        let bytes = joined(lines)?;
        self.check_len(expected_len)?;
        if let Err(source) = self.file.write_all(&bytes) {
            return Err(self.take_back(expected_len, source));
        }
        self.len = expected_len + u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        Ok(())
    }

    /// Makes all that was appended or cut durable: `fdatasync`, after a cut `fsync`, and for a new
    /// file its directory too.
    ///
    /// After an error nobody knows what is on disk, and a second call that succeeds proves nothing:
    /// cut the log to what was durable before, append again, and sync that.
    pub fn sync(&mut self) -> Result<(), AppendError> {
        let synced = if self.cut {
            self.file.sync_all()
        } else {
            self.file.sync_data()
        };
        synced.map_err(|source| self.io("sync", source))?;
        if self.fresh {
            sync_directory_of(&self.path)
                .map_err(|source| self.io("sync the directory of", source))?;
        }
        (self.fresh, self.cut) = (false, false);
        Ok(())
    }

    /// Cuts the log to `offset` bytes: 0, or just after a newline. Not durable before
    /// [`Appender::sync`].
    ///
    /// For a torn tail; that no line is cut which is on record is for the caller to see.
    pub fn truncate_to(&mut self, offset: u64) -> Result<(), AppendError> {
        self.check_len(self.len)?;
        if !self.line_begins_at(offset)? {
            return Err(AppendError::Cut {
                path: self.path.clone(),
                offset,
                len: self.len,
            });
        }
        self.file
            .set_len(offset)
            .map_err(|source| self.io("cut", source))?;
        (self.len, self.cut) = (offset, true);
        Ok(())
    }

    fn check_len(&self, expected: u64) -> Result<(), AppendError> {
        let actual = self
            .file
            .metadata()
            .map_err(|source| self.io("look at", source))?
            .len();
        if actual != expected {
            return Err(AppendError::Length {
                path: self.path.clone(),
                expected,
                actual,
            });
        }
        Ok(())
    }

    fn line_begins_at(&mut self, offset: u64) -> Result<bool, AppendError> {
        let Some(before) = offset.checked_sub(1) else {
            return Ok(true);
        };
        if offset > self.len {
            return Ok(false);
        }
        let mut byte = [0];
        let read = self
            .file
            .seek(SeekFrom::Start(before))
            .and_then(|_| self.file.read_exact(&mut byte));
        read.map_err(|source| self.io("read", source))?;
        Ok(byte == *b"\n")
    }

    /// Undoes a write that failed halfway.
    fn take_back(&mut self, expected: u64, source: io::Error) -> AppendError {
        let cut = self.file.set_len(expected);
        let actual = self.file.metadata().map(|found| found.len());
        self.len = expected;
        self.cut = true;
        match (cut, actual) {
            (Ok(()), _) => self.io("append to", source),
            (Err(_), Ok(actual)) if actual == expected => self.io("append to", source),
            (Err(_), actual) => {
                let left = actual.unwrap_or(expected).saturating_sub(expected);
                AppendError::Partial {
                    path: self.path.clone(),
                    expected,
                    left,
                    source,
                }
            }
        }
    }

    fn io(&self, action: &'static str, source: io::Error) -> AppendError {
        AppendError::Io {
            action,
            path: self.path.clone(),
            source,
        }
    }
}

fn joined(lines: &[String]) -> Result<Vec<u8>, AppendError> {
    let mut bytes = Vec::with_capacity(lines.iter().map(|line| line.len() + 1).sum());
    for (place, line) in lines.iter().enumerate() {
        let foreign = line.bytes().find(|byte| !matches!(byte, 0x20..=0x7e));
        let wrong = match foreign {
            _ if line.is_empty() => Some("empty".to_owned()),
            _ if line.len() > MAX_LINE => Some(format!("{} bytes long", line.len())),
            Some(byte) => Some(format!("a text with the byte 0x{byte:02x}")),
            None => None,
        };
        if let Some(actual) = wrong {
            return Err(AppendError::Line {
                index: place + 1,
                count: lines.len(),
                actual,
            });
        }
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
    }
    Ok(bytes)
}

/// A new name is durable when its directory is.
#[cfg(unix)]
fn sync_directory_of(path: &Path) -> io::Result<()> {
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    File::open(directory)?.sync_all()
}

/// Elsewhere a directory can't be opened, and the system keeps names durable itself.
#[cfg(not(unix))]
fn sync_directory_of(_path: &Path) -> io::Result<()> {
    Ok(())
}
