//! The key of an encrypted database: 32 random bytes, in an age file under a passphrase.

use std::fmt;
use std::path::Path;

use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::auth::Ask;
use super::sealed::{self, WorkFactor};
use super::{KeyError, Random, vault};
use crate::os::{LeftoverKind, UNNAMED, remove_dead_leftovers};

/// 64 digits and a newline.
const TEXT_BYTES: usize = 65;

/// 32 random bytes made by gently, or by whoever keeps them; never typed by a person.
///
/// Wiped when dropped, and never printed.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct StoreKey([u8; 32]);

impl StoreKey {
    /// Makes a new key.
    pub fn generate(random: Random<'_>) -> Result<Self, KeyError> {
        let mut key = StoreKey([0; 32]);
        random(&mut key.0)?;
        Ok(key)
    }

    /// Reads 64 hexadecimal digits and nothing else; `place` is what an error names.
    pub fn from_text(text: &str, place: &str) -> Result<Self, KeyError> {
        let mut key = StoreKey([0; 32]);
        hex::decode_to_slice(text, &mut key.0).map_err(|_| KeyError::StoreKey {
            place: place.to_owned(),
            actual: text.len(),
        })?;
        Ok(key)
    }

    /// Reads a key file; `ask` is called with the file's name. Refuses one that others may read, and
    /// one without a passphrase, beside which the database would be as good as plain.
    pub fn load(path: &Path, ask: Ask<'_>) -> Result<Self, KeyError> {
        Self::open(sealed_bytes(path, vault::read_private)?, path, ask)
    }

    /// The same of a copy that is kept elsewhere, on a disk without modes perhaps: its passphrase
    /// guards it.
    pub fn load_copy(path: &Path, ask: Ask<'_>) -> Result<Self, KeyError> {
        Self::open(sealed_bytes(path, vault::read_public)?, path, ask)
    }

    fn open(bytes: Zeroizing<Vec<u8>>, path: &Path, ask: Ask<'_>) -> Result<Self, KeyError> {
        let place = path.display().to_string();
        let passphrase = ask(&place)?;
        let text = sealed::open(&bytes, &passphrase, &place, TEXT_BYTES)?;
        let text = std::str::from_utf8(&text).unwrap_or_default();
        Self::from_text(text.trim_end_matches('\n'), &place)
    }

    /// Refuses a key file that [`StoreKey::load`] would refuse whatever the passphrase is.
    pub fn check(path: &Path) -> Result<(), KeyError> {
        sealed_bytes(path, vault::read_private).map(drop)
    }

    /// The same of [`StoreKey::load_copy`].
    pub fn check_copy(path: &Path) -> Result<(), KeyError> {
        sealed_bytes(path, vault::read_public).map(drop)
    }

    /// Writes a key file that must not exist yet, mode 0600, under a passphrase. Durable on return. What
    /// killed processes left of others is removed.
    pub fn save_new(
        &self,
        path: &Path,
        passphrase: &str,
        work: WorkFactor,
    ) -> Result<(), KeyError> {
        let mut text = self.text();
        text.push('\n');
        let sealed = sealed::seal(text.as_bytes(), passphrase, work)?;
        remove_dead_leftovers(path, UNNAMED, LeftoverKind::File);
        vault::write_new(path, &sealed, vault::PRIVATE_MODE)
    }

    /// The 64 digits, for handing a new key to what is to keep it.
    pub fn text(&self) -> Zeroizing<String> {
        // One more, so that nothing is copied when a newline follows.
        let mut text = Zeroizing::new(String::with_capacity(TEXT_BYTES));
        let digits = Zeroizing::new(hex::encode(self.0));
        text.push_str(&digits);
        text
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// The bytes of a key file, which have to be an age file under a passphrase.
fn sealed_bytes(
    path: &Path,
    read: fn(&Path) -> Result<Zeroizing<Vec<u8>>, KeyError>,
) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let bytes = read(path)?;
    let reason = match bytes.as_slice() {
        [] => "it is empty (0 bytes)",
        text if text.starts_with(sealed::ARMOR) => return Ok(bytes),
        _ => "it is no age file under a passphrase",
    };
    Err(KeyError::Sealed {
        place: path.display().to_string(),
        reason: reason.to_owned(),
    })
}

impl fmt::Debug for StoreKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_64_digits_and_no_error_shows_them() {
        let text = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
        let key = StoreKey::from_text(text, "test").unwrap();
        assert_eq!(*key.text(), text);
        assert!(StoreKey::from_text(&text.to_uppercase(), "test").is_ok_and(|same| same == key));
        assert_eq!(format!("{key:?}"), "StoreKey(…)");
        for wrong in [
            "",
            &text[2..],
            &format!("{text}\n"),
            &text.replace('f', "g"),
        ] {
            let error = StoreKey::from_text(wrong, "test").unwrap_err().to_string();
            assert!(error.contains("64 hexadecimal"), "{error}");
            assert!(wrong.is_empty() || !error.contains(wrong.trim()), "{error}");
        }
    }

    /// Where the helper below writes its key.
    const PLACE: &str = "GENTLY_TEST_STORE_KEY_PLACE";

    #[test]
    fn a_process_that_is_killed_as_it_writes_a_key_leaves_no_file_of_that_name() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("store.key");
        let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
        let helper = "keys::store_key::tests::helper_that_is_killed_as_it_writes";
        alone.args(["--exact", helper, "--ignored", "--test-threads", "1"]);
        let ended = alone.env(PLACE, &path).output().unwrap();
        assert_eq!(ended.status.code(), None, "no signal ended it");
        assert!(!path.exists());
        // What it may have left under another name is in nobody's way.
        let key = StoreKey([7; 32]);
        key.save_new(&path, "correct horse", WorkFactor::new(4))
            .unwrap();
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1);
    }

    #[test]
    #[ignore = "is killed: a_process_that_is_killed_as_it_writes_a_key_leaves_no_file_of_that_name runs it"]
    fn helper_that_is_killed_as_it_writes() {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let path = std::path::PathBuf::from(std::env::var_os(PLACE).unwrap());
        let none = Rlimit {
            current: Some(0),
            maximum: None,
        };
        // The first byte that goes into a file ends the process.
        setrlimit(Resource::Fsize, none).unwrap();
        let key = StoreKey([7; 32]);
        let _ = key.save_new(&path, "correct horse", WorkFactor::new(4));
    }

    #[test]
    fn a_file_opens_with_its_passphrase_and_only_under_one() {
        use std::os::unix::fs::PermissionsExt as _;
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("keys");
        vault::create_dir(&folder).unwrap();
        let path = folder.join("store.key");
        let key = StoreKey::generate(&mut |buffer| {
            buffer.fill(7);
            Ok(())
        })
        .unwrap();
        key.save_new(&path, "correct horse", WorkFactor::new(4))
            .unwrap();
        let load =
            |given: &str| StoreKey::load(&path, &mut |_| Ok(Zeroizing::new(given.to_owned())));
        assert!(load("correct horse").is_ok_and(|found| found == key));
        assert!(matches!(
            load("wrong horse"),
            Err(KeyError::WrongPassphrase { .. })
        ));
        std::fs::write(&path, "").unwrap();
        let empty = load("correct horse").unwrap_err().to_string();
        assert!(empty.contains("it is empty (0 bytes)"), "{empty}");
        std::fs::write(&path, format!("{}\n", *key.text())).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert!(matches!(
            load("correct horse"),
            Err(KeyError::Sealed { .. })
        ));
    }
}
