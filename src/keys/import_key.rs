//! The key under which the sources of imports are remembered: it proves nothing and opens nothing, and
//! keeps what was imported from being guessed.

use std::fs::{File, TryLockError};
use std::path::Path;

use ring::hmac;

use super::vault::{PRIVATE_MODE, io_error, read_private, replace, write_new};
use super::{KeyError, os_random};

/// Name of its file.
pub const IMPORT_KEY: &str = "import.key";
/// How many bytes it has.
const LENGTH: usize = 32;
/// How many bytes of its hash of a fixed text tell it from others.
pub const IMPORT_KEY_MARK: usize = 8;

/// The key, with the lock that whoever imports holds.
pub struct ImportKey {
    key: hmac::Key,
    /// Nobody else imports into this home meanwhile; the system lets go of it when the process ends.
    _lock: Option<File>,
}

impl ImportKey {
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
        })
    }

    /// The key of a home as it is, without the lock: for whoever only looks; one that nobody has where there
    /// is none.
    pub fn peek(folder: &Path) -> Result<ImportKey, KeyError> {
        match read_private(&folder.join(IMPORT_KEY)) {
            Ok(bytes) if bytes.len() == LENGTH => Ok(ImportKey {
                key: hmac::Key::new(hmac::HMAC_SHA256, &bytes),
                _lock: None,
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
        std::fs::write(folder.join(IMPORT_KEY), b"short").unwrap();
        let made = ImportKey::take(&folder).unwrap().unwrap();
        assert_ne!(made.tag(parts()), tag);
    }
}
