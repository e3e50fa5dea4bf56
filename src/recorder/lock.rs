//! The writer's lock of a home.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use super::RecorderError;
use crate::os::open_private;

/// How long another writer is waited for; a batch takes milliseconds.
pub const WAIT: Duration = Duration::from_secs(10);
/// How often the lock is tried.
pub const POLL: Duration = Duration::from_millis(5);

/// The writer's lock, released when dropped (or when the process ends, however it ends).
#[derive(Debug)]
pub struct WriterLock {
    _file: File,
}

impl WriterLock {
    /// Takes the lock, polling for `wait`; the error names the holder.
    pub fn acquire_within(path: &Path, wait: Duration) -> Result<Self, RecorderError> {
        let failed = |e: std::io::Error| RecorderError::Lock {
            path: path.to_owned(),
            reason: e.to_string(),
        };
        let mut file = open_private(path).map_err(failed)?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if begun.elapsed() < wait => std::thread::sleep(POLL),
                Err(TryLockError::WouldBlock) => {
                    return Err(RecorderError::Locked {
                        holder: holder(path),
                        waited_s: wait.as_secs(),
                    });
                }
                Err(TryLockError::Error(e)) => return Err(failed(e)),
            }
        }
        // That it says who holds it helps a person, and a full disk must not stop anybody here.
        let _ = name_holder(&mut file);
        Ok(WriterLock { _file: file })
    }
}

/// Says in the file who holds it; of one width, so that nothing has to be cut, and not once more
/// for the same process.
fn name_holder(file: &mut File) -> std::io::Result<()> {
    let holder = format!("process {:<10}\n", std::process::id());
    let mut found = Vec::with_capacity(holder.len());
    file.read_to_end(&mut found)?;
    if found == holder.as_bytes() {
        return Ok(());
    }
    file.rewind()?;
    file.write_all(holder.as_bytes())?;
    if found.len() > holder.len() {
        file.set_len(holder.len() as u64)
    } else {
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_writer_waits_and_is_told_who_holds_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("lock");
        let held = WriterLock::acquire_within(&path, WAIT).unwrap();
        match WriterLock::acquire_within(&path, Duration::from_millis(20)) {
            Err(RecorderError::Locked { holder, .. }) => {
                assert!(holder.contains(&std::process::id().to_string()))
            }
            other => panic!("{other:?}"),
        }
        drop(held);
        let short = Duration::from_millis(20);
        let holder = std::fs::read(&path).unwrap();
        for other in [
            "process 1         \n",
            "process 4294967295\n",
            "of another version, and longer than ours\n",
            "",
        ] {
            std::fs::write(&path, other).unwrap();
            drop(WriterLock::acquire_within(&path, short).unwrap());
            assert_eq!(std::fs::read(&path).unwrap(), holder, "after {other:?}");
        }
    }
}
