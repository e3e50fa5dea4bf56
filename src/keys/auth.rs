//! The auth key: 32 random bytes that say who asks.

use std::path::Path;
use std::{fmt, str};

use subtle::{Choice, ConstantTimeEq as _};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::sealed::{self, WorkFactor};
use super::{KeyError, Random, vault};
use crate::record::hash::Hash32;

/// 64 digits and a newline.
const FILE_BYTES: usize = 65;

/// Asks for the passphrase of a file.
pub type Ask<'a> = &'a mut dyn FnMut(&str) -> Result<Zeroizing<String>, KeyError>;

/// 32 random bytes made by gently, never typed by a person (format, section 5).
///
/// Wiped when dropped, and never printed: database, log and ledger hold [`AuthKey::hash`].
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct AuthKey([u8; 32]);

impl AuthKey {
    /// Makes a new key.
    pub fn generate(random: Random<'_>) -> Result<Self, KeyError> {
        let mut key = AuthKey([0; 32]);
        random(&mut key.0)?;
        Ok(key)
    }

    /// Wraps raw bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        AuthKey(bytes)
    }

    /// Reads 64 lower-case hexadecimal digits and nothing else; `place` is what an error names.
    pub fn from_text(text: &str, place: &str) -> Result<Self, KeyError> {
        Self::parse(text.as_bytes(), place, false)
    }

    /// Reads a key file without a passphrase; refuses one that others may read.
    pub fn load(path: &Path) -> Result<Self, KeyError> {
        Self::load_with(path, &mut |place| {
            let reason = "none was asked for".to_owned();
            Err(KeyError::NoPassphrase {
                place: place.to_owned(),
                reason,
            })
        })
    }

    /// Reads a key file; `ask` is called with the file's name only when it has a passphrase.
    pub fn load_with(path: &Path, ask: Ask<'_>) -> Result<Self, KeyError> {
        let bytes = vault::read_private(path)?;
        let place = path.display().to_string();
        if !bytes.starts_with(sealed::ARMOR) {
            return Self::from_file(&bytes, &place);
        }
        let passphrase = ask(&place)?;
        Self::from_file(
            &sealed::open(&bytes, &passphrase, &place, FILE_BYTES)?,
            &place,
        )
    }

    /// Whether a key file has a passphrase.
    pub fn is_protected(path: &Path) -> Result<bool, KeyError> {
        Ok(vault::read_private(path)?.starts_with(sealed::ARMOR))
    }

    /// Replaces a key file by the same key with a passphrase, in one step. Durable on return.
    ///
    /// The bytes of the old file may stay on the disk until they are overwritten.
    pub fn protect(&self, path: &Path, passphrase: &str, work: WorkFactor) -> Result<(), KeyError> {
        vault::replace(
            path,
            &sealed::seal(&self.file_text()[..], passphrase, work)?,
            vault::PRIVATE_MODE,
        )
    }

    /// Replaces a key file by the same key without a passphrase, in one step. Durable on return.
    pub fn unprotect(&self, path: &Path) -> Result<(), KeyError> {
        vault::replace(path, &self.file_text()[..], vault::PRIVATE_MODE)
    }

    /// The 64 digits, for showing a new key once.
    pub fn reveal(&self) -> Zeroizing<String> {
        Zeroizing::new(hex::encode(self.0))
    }

    fn from_file(bytes: &[u8], place: &str) -> Result<Self, KeyError> {
        let digits = bytes
            .strip_suffix(b"\n")
            .ok_or_else(|| wrong(place, true, bytes.len()))?;
        Self::parse(digits, place, true)
    }

    fn file_text(&self) -> Zeroizing<[u8; FILE_BYTES]> {
        let mut text = Zeroizing::new([b'\n'; FILE_BYTES]);
        hex::encode_to_slice(self.0, &mut text[..64]).expect("64 digits fit");
        text
    }

    /// Writes a key file that must not exist yet, mode 0600. Durable on return.
    pub fn save_new(&self, path: &Path) -> Result<(), KeyError> {
        vault::write_new(path, &self.file_text()[..], vault::PRIVATE_MODE)
    }

    /// What stands for this key everywhere: SHA-256 of its 32 bytes.
    pub fn hash(&self) -> Hash32 {
        Hash32::digest(&self.0)
    }

    /// Which of the known hashes is this key's, if any.
    ///
    /// Takes the same time whether and where it is found: every hash is compared, in constant time.
    #[must_use = "an unchecked key opens nothing"]
    pub fn find_in(&self, known: &[Hash32]) -> Option<Hash32> {
        let presented = self.hash();
        let found = known.iter().fold(Choice::from(0), |found, hash| {
            found | hash.as_bytes().as_slice().ct_eq(presented.as_bytes())
        });
        bool::from(found).then_some(presented)
    }

    fn parse(digits: &[u8], place: &str, newline: bool) -> Result<Self, KeyError> {
        let wrong = || wrong(place, newline, digits.len() + usize::from(newline));
        if !digits
            .iter()
            .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        {
            return Err(wrong());
        }
        let mut key = AuthKey([0; 32]);
        hex::decode_to_slice(digits, &mut key.0).map_err(|_| wrong())?;
        Ok(key)
    }
}

impl fmt::Debug for AuthKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuthKey(…)")
    }
}

fn wrong(place: &str, newline: bool, actual: usize) -> KeyError {
    KeyError::AuthKey {
        place: place.to_owned(),
        newline,
        actual,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_key_has_one_text() {
        let text = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
        let key = AuthKey::from_text(text, "test").unwrap();
        assert_eq!(key.hash(), Hash32::digest(&hex::decode(text).unwrap()));
        assert_eq!(format!("{key:?}"), "AuthKey(…)");
        for wrong in [
            "",
            &text[2..],
            &text.to_uppercase(),
            &format!("{text}\n"),
            &format!(" {text}"),
            &format!("{text}00"),
            &text.replace('f', "g"),
        ] {
            let error = AuthKey::from_text(wrong, "test").unwrap_err().to_string();
            assert!(error.contains("64 lower-case"), "{error}");
            assert!(
                wrong.is_empty() || !error.contains(wrong.trim()),
                "an error shows the key: {error}"
            );
        }
    }

    #[test]
    fn finds_a_key_among_known_hashes() {
        let key = |b| AuthKey::from_bytes([b; 32]);
        let known = [key(1).hash(), key(2).hash(), key(2).hash()];
        assert_eq!(key(1).find_in(&known), Some(known[0]));
        assert_eq!(key(2).find_in(&known), Some(known[1]));
        assert_eq!(key(3).find_in(&known), None);
        assert_eq!(key(1).find_in(&[]), None);
    }

    #[test]
    fn randomness_is_injected_and_its_failure_reported() {
        let key = AuthKey::generate(&mut |buffer| {
            buffer.fill(9);
            Ok(())
        })
        .unwrap();
        assert_eq!(key.hash(), AuthKey::from_bytes([9; 32]).hash());
        let failed = AuthKey::generate(&mut |_| {
            Err(KeyError::Random {
                reason: "none".into(),
            })
        });
        assert!(failed.is_err());
    }
}
