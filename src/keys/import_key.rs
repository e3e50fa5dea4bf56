//! The key under which the sources of imports are remembered: it proves nothing and opens nothing, and
//! keeps what was imported from being guessed.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use ring::hmac;

use super::vault::{PRIVATE_MODE, io_error, read_private, replace, write_new};
use super::{KeyError, os_random};

/// Name of its file.
pub const IMPORT_KEY: &str = "import.key";
/// Name of the file that says, beside the key, which import holds the lock. It counts only while somebody
/// holds it: a killed import leaves it.
pub const IMPORT_RUNNING: &str = "import.running";
/// How many bytes it has.
const LENGTH: usize = 32;
/// How many bytes of its hash of a fixed text tell it from others.
pub const IMPORT_KEY_MARK: usize = 8;

/// The key, with the lock that whoever imports holds.
pub struct ImportKey {
    key: hmac::Key,
    /// Nobody else imports into this home meanwhile; the system lets go of it when the process ends.
    _lock: Option<File>,
    /// The file that says which import it is, from when it has a number.
    running: Option<PathBuf>,
}

/// An import at work, in whatever process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningImport {
    /// Its id, such as `import:000001`.
    pub import: String,
    /// The number of its process.
    pub process: String,
}

impl Drop for ImportKey {
    fn drop(&mut self) {
        if let Some(path) = &self.running {
            // Without the lock it says nothing, should it stay.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl ImportKey {
    /// Says beside the key which import holds its lock, so that others know it from one that was killed.
    pub fn name_running(&mut self, folder: &Path, import: &str) -> Result<(), KeyError> {
        let path = folder.join(IMPORT_RUNNING);
        let said = format!("{import} {}", std::process::id());
        replace(&path, said.as_bytes(), PRIVATE_MODE)?;
        self.running = Some(path);
        Ok(())
    }

    /// The import that holds the lock now; none where nobody does.
    pub fn running(folder: &Path) -> Result<Option<RunningImport>, KeyError> {
        let said = match read_private(&folder.join(IMPORT_RUNNING)) {
            Err(KeyError::Missing { .. }) => return Ok(None),
            said => said?,
        };
        let path = folder.join(IMPORT_KEY);
        let lock = match File::open(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            lock => lock.map_err(|e| io_error("open", &path, e))?,
        };
        match lock.try_lock_shared() {
            Ok(()) => return Ok(None),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(e)) => return Err(io_error("lock", &path, e)),
        }
        let said = String::from_utf8_lossy(&said);
        Ok(said.split_once(' ').map(|(import, process)| RunningImport {
            import: import.to_owned(),
            process: process.to_owned(),
        }))
    }

    /// The key of a home, by the folder of its keys; made where there is none. None while another process
    /// imports.
    pub fn take(folder: &Path) -> Result<Option<ImportKey>, KeyError> {
        let path = folder.join(IMPORT_KEY);
        let mut bytes = match read_private(&path) {
            Err(KeyError::Missing { .. }) => {
                let made = match write_new(&path, &*random()?, PRIVATE_MODE) {
                    // Somebody else was first.
                    Err(KeyError::Exists { .. }) => Ok(()),
                    made => made,
                };
                made?;
                read_private(&path)?
            }
            read => read?,
        };
        if bytes.len() != LENGTH {
            // What is remembered under another key is only looked at once more.
            replace(&path, &*random()?, PRIVATE_MODE)?;
            bytes = read_private(&path)?;
        }
        let lock = File::open(&path).map_err(|e| io_error("open", &path, e))?;
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(e)) => return Err(io_error("lock", &path, e)),
            Ok(()) => {}
        }
        Ok(Some(ImportKey {
            key: hmac::Key::new(hmac::HMAC_SHA256, &bytes),
            _lock: Some(lock),
            running: None,
        }))
    }

    /// Whether there is a key in the folder of a home's keys.
    pub fn is_whole(folder: &Path) -> bool {
        let file = folder.join(IMPORT_KEY).metadata();
        file.is_ok_and(|file| file.len() == LENGTH as u64)
    }

    /// A key that nobody has, for whoever only looks.
    pub fn of_nobody() -> Result<ImportKey, KeyError> {
        Ok(ImportKey {
            key: hmac::Key::new(hmac::HMAC_SHA256, &*random()?),
            _lock: None,
            running: None,
        })
    }

    /// The key of a home as it is, without the lock: for whoever only looks; one that nobody has where there
    /// is none.
    pub fn peek(folder: &Path) -> Result<ImportKey, KeyError> {
        match read_private(&folder.join(IMPORT_KEY)) {
            Ok(bytes) if bytes.len() == LENGTH => Ok(ImportKey {
                key: hmac::Key::new(hmac::HMAC_SHA256, &bytes),
                _lock: None,
                running: None,
            }),
            Ok(_) | Err(KeyError::Missing { .. }) => ImportKey::of_nobody(),
            Err(error) => Err(error),
        }
    }

    /// By which what was noted under this key is told from what was noted under another: it opens nothing,
    /// and says nothing of what is noted.
    pub fn mark(&self) -> [u8; IMPORT_KEY_MARK] {
        let tag = self.tag([&b"gently/v0/import-key"[..]].into_iter());
        let (mark, _) = tag.split_at(IMPORT_KEY_MARK);
        mark.try_into().expect("a hash is longer")
    }

    /// The key's hash of some parts, each with its length, so that no two lists of parts are one.
    pub fn tag<'a>(&self, parts: impl Iterator<Item = &'a [u8]>) -> [u8; 32] {
        let mut tag = hmac::Context::with_key(&self.key);
        for part in parts {
            tag.update(&(part.len() as u64).to_be_bytes());
            tag.update(part);
        }
        let tag = tag.sign();
        tag.as_ref().try_into().expect("HMAC-SHA256 has 32 bytes")
    }
}

fn random() -> Result<zeroize::Zeroizing<[u8; LENGTH]>, KeyError> {
    let mut bytes = zeroize::Zeroizing::new([0; LENGTH]);
    os_random(&mut *bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_imports_at_a_time_and_the_key_stays() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("keys");
        crate::keys::create_dir(&folder).unwrap();
        let parts = || [&b"ab"[..], b"c"].into_iter();
        let other = || [&b"a"[..], b"bc"].into_iter();
        let first = ImportKey::take(&folder).unwrap().unwrap();
        let tag = first.tag(parts());
        assert_ne!(tag, first.tag(other()));
        assert!(ImportKey::take(&folder).unwrap().is_none());
        assert_eq!(ImportKey::peek(&folder).unwrap().tag(parts()), tag);
        drop(first);
        let again = ImportKey::take(&folder).unwrap().unwrap();
        assert_eq!(again.tag(parts()), tag);
        drop(again);
        assert_eq!(ImportKey::running(&folder).unwrap(), None);
        let mut third = ImportKey::take(&folder).unwrap().unwrap();
        third.name_running(&folder, "import:000007").unwrap();
        let running = ImportKey::running(&folder).unwrap().unwrap();
        assert_eq!(running.import, "import:000007");
        assert_eq!(running.process, std::process::id().to_string());
        // What a killed one leaves says nothing.
        let left = folder.join(IMPORT_RUNNING);
        let said = std::fs::read(&left).unwrap();
        drop(third);
        assert!(!left.exists());
        write_new(&left, &said, PRIVATE_MODE).unwrap();
        assert_eq!(ImportKey::running(&folder).unwrap(), None);
        std::fs::write(folder.join(IMPORT_KEY), b"short").unwrap();
        let made = ImportKey::take(&folder).unwrap().unwrap();
        assert_ne!(made.tag(parts()), tag);
    }
}
