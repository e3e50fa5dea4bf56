//! The writer's lock of a home, and the lock of a prompt in flight.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::RecorderError;

/// How long another writer is waited for; a batch takes milliseconds.
pub const WAIT: Duration = Duration::from_secs(10);
/// How often the lock is tried.
const POLL: Duration = Duration::from_millis(5);

/// The writer's lock, released when dropped (or when the process ends, however it ends).
#[derive(Debug)]
pub struct WriterLock {
    _file: File,
}

impl WriterLock {
    /// Takes the lock, polling for `wait`; the error names the holder.
    pub fn acquire_within(path: &Path, wait: Duration) -> Result<Self, RecorderError> {
        let failed = |e: std::io::Error| RecorderError::Lock { path: path.to_owned(), reason: e.to_string() };
        let mut file = open_private(path).map_err(failed)?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if begun.elapsed() < wait => std::thread::sleep(POLL),
                Err(TryLockError::WouldBlock) => {
                    return Err(RecorderError::Locked { holder: holder(path), waited_s: wait.as_secs() });
                }
                Err(TryLockError::Error(e)) => return Err(failed(e)),
            }
        }
        // The note of who holds it helps a person, and a full disk must not stop anybody here.
        let note = format!("process {}\n", std::process::id());
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(note.as_bytes()));
        Ok(WriterLock { _file: file })
    }
}

fn holder(path: &Path) -> String {
    let mut text = String::new();
    let read = File::open(path).and_then(|f| f.take(200).read_to_string(&mut text));
    match read {
        Ok(_) if !text.trim().is_empty() => text.trim().to_owned(),
        _ => "it left no name".to_owned(),
    }
}

fn open_private(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// The lock of one prompt whose model is thinking: while it is held, its session can't be closed.
///
/// A file of its own, locked by the operating system, so it ends with the process. Dropping it says
/// that nobody waits for the answer any more.
#[derive(Debug)]
pub struct InFlight {
    path: PathBuf,
    _file: File,
}

impl InFlight {
    /// Takes the lock of an exchange that is about to be recorded.
    pub fn begin(folder: &Path, exchange: Uuid) -> Result<Self, RecorderError> {
        let path = folder.join(format!("{exchange}.lock"));
        let failed = |e: std::io::Error| RecorderError::Lock { path: path.clone(), reason: e.to_string() };
        std::fs::create_dir_all(folder).map_err(failed)?;
        let file = open_private(&path).map_err(failed)?;
        file.try_lock().map_err(|e| match e {
            TryLockError::WouldBlock => RecorderError::Locked { holder: path.display().to_string(), waited_s: 0 },
            TryLockError::Error(e) => failed(e),
        })?;
        Ok(InFlight { path, _file: file })
    }

    /// Whether somebody still waits for that exchange's answer.
    pub fn is_held(folder: &Path, exchange: Uuid) -> Result<bool, RecorderError> {
        let path = folder.join(format!("{exchange}.lock"));
        match OpenOptions::new().read(true).write(true).open(&path) {
            // Shared, so that two who look at once don't take each other for the one who waits.
            Ok(file) => match file.try_lock_shared() {
                Ok(()) => Ok(false),
                Err(TryLockError::WouldBlock) => Ok(true),
                Err(TryLockError::Error(e)) => Err(RecorderError::Lock { path, reason: e.to_string() }),
            },
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(RecorderError::Lock { path, reason: e.to_string() }),
        }
    }

    /// Removes what a dead process left behind.
    pub fn clear(folder: &Path, exchange: Uuid) {
        let _ = std::fs::remove_file(folder.join(format!("{exchange}.lock")));
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        // A file that stays is harmless: it is not locked, and the session's close removes it.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_writer_waits_and_is_told_who_holds_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("lock");
        let held = WriterLock::acquire_within(&path, WAIT).unwrap();
        match WriterLock::acquire_within(&path, Duration::from_millis(20)) {
            Err(RecorderError::Locked { holder, .. }) => assert!(holder.contains(&std::process::id().to_string())),
            other => panic!("{other:?}"),
        }
        drop(held);
        WriterLock::acquire_within(&path, Duration::from_millis(20)).unwrap();
    }

    #[test]
    fn a_prompt_in_flight_is_seen_until_it_is_dropped() {
        let home = tempfile::tempdir().unwrap();
        let id = Uuid::from_u128(7);
        assert!(!InFlight::is_held(home.path(), id).unwrap());
        let held = InFlight::begin(home.path(), id).unwrap();
        assert!(InFlight::is_held(home.path(), id).unwrap());
        drop(held);
        assert!(!InFlight::is_held(home.path(), id).unwrap());
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
    }
}
