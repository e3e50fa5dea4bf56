//! The signing key: Ed25519, in the file format of OpenSSH.

use std::fmt;
use std::path::{Path, PathBuf};

use ed25519_dalek::Signer as _;
use ssh_key::private::{Ed25519Keypair, KeypairData};
use ssh_key::{LineEnding, PrivateKey};
use zeroize::Zeroizing;

use super::{KeyError, Random, vault};
use crate::record::signature::{PRINCIPAL, PublicKey, Signature};

/// The ledger's Ed25519 key; wiped when dropped, and never printed.
pub struct SigningKey(ed25519_dalek::SigningKey);

impl SigningKey {
    /// Makes a new key.
    pub fn generate(random: Random<'_>) -> Result<Self, KeyError> {
        let mut seed = Zeroizing::new([0; 32]);
        random(&mut seed[..])?;
        Ok(Self::from_seed(&seed))
    }

    /// The key of a 32-byte seed.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        SigningKey(ed25519_dalek::SigningKey::from_bytes(seed))
    }

    /// Reads an OpenSSH private key file; refuses one that others may read, or with a passphrase.
    pub fn load(path: &Path) -> Result<Self, KeyError> {
        let bytes = vault::read_private(path)?;
        let wrong = |reason: String| KeyError::SigningKey {
            path: path.to_owned(),
            reason,
        };
        let key = PrivateKey::from_openssh(&bytes[..]).map_err(|e| wrong(e.to_string()))?;
        match key.key_data() {
            KeypairData::Ed25519(pair) => Ok(Self::from_seed(pair.private.as_ref())),
            KeypairData::Encrypted(_) => Err(KeyError::Encrypted {
                path: path.to_owned(),
            }),
            _ => Err(wrong(format!("it is a key of kind {}", key.algorithm()))),
        }
    }

    /// Reads a file that is a 32-byte seed and nothing else; refuses one that others may read.
    pub fn load_seed(path: &Path) -> Result<Self, KeyError> {
        let bytes = vault::read_secret(path)?;
        match <&[u8; 32]>::try_from(&bytes[..]) {
            Ok(seed) => Ok(Self::from_seed(seed)),
            Err(_) => Err(KeyError::Seed {
                path: path.to_owned(),
                actual: bytes.len(),
            }),
        }
    }

    /// Writes the private file (mode 0600) and beside it the public one (`.pub`); neither may exist
    /// yet.
    ///
    /// Durable on return.
    pub fn save_new(&self, path: &Path) -> Result<(), KeyError> {
        let mut key = PrivateKey::from(Ed25519Keypair::from_seed(self.0.as_bytes()));
        key.set_comment(PRINCIPAL);
        let text = key
            .to_openssh(LineEnding::LF)
            .expect("an unencrypted Ed25519 key is encoded in memory");
        let public = public_path(path);
        if public.exists() {
            return Err(KeyError::Exists { path: public });
        }
        vault::write_new(path, text.as_bytes(), vault::PRIVATE_MODE)?;
        vault::write_new(
            &public,
            format!("{} {PRINCIPAL}\n", self.public()).as_bytes(),
            vault::PUBLIC_MODE,
        )
    }

    /// Signs bytes as they are: for a commit, those of `record::signature::signed_data`.
    pub fn sign(&self, bytes: &[u8]) -> Signature {
        Signature::from_bytes(self.0.sign(bytes).to_bytes())
    }

    /// The public half.
    pub fn public(&self) -> PublicKey {
        PublicKey::from_bytes(self.0.verifying_key().to_bytes())
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey(… of {})", self.public())
    }
}

pub(super) fn public_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".pub");
    name.into()
}
