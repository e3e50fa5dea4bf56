//! Whose hand signs: a key file, or an agent that keeps the key.

use std::path::Path;
use std::time::Duration;

use super::agent::{AgentKey, SOCKET_ENV};
use super::{KeyError, SigningKey, vault};
use crate::record::signature::{PublicKey, Signature};

/// What signs the ledger.
#[derive(Debug)]
pub enum Signer {
    /// The key of a file, in this process.
    File(SigningKey),
    /// A key that only an SSH agent has.
    Agent(AgentKey),
}

impl Signer {
    /// The agent's key of a public key file; `socket` is the value of `SSH_AUTH_SOCK`, `wait` what
    /// one signature may take.
    pub fn agent(public: &Path, socket: Option<&Path>, wait: Duration) -> Result<Self, KeyError> {
        let socket = socket.ok_or(KeyError::NoSocket {
            variable: SOCKET_ENV,
        })?;
        AgentKey::open(socket, read_public_key(public)?, wait).map(Signer::Agent)
    }

    /// The public half.
    pub fn public(&self) -> PublicKey {
        match self {
            Signer::File(key) => key.public(),
            Signer::Agent(key) => key.public(),
        }
    }

    /// Whether it could sign now; asked before a model is.
    pub fn ready(&self) -> Result<(), KeyError> {
        match self {
            Signer::File(_) => Ok(()),
            Signer::Agent(key) => key.ready(),
        }
    }

    /// Signs bytes as they are: for a commit, those of `record::signature::signed_data`.
    pub fn sign(&self, bytes: &[u8]) -> Result<Signature, KeyError> {
        match self {
            Signer::File(key) => Ok(key.sign(bytes)),
            Signer::Agent(key) => key.sign(bytes),
        }
    }
}

impl From<SigningKey> for Signer {
    fn from(key: SigningKey) -> Self {
        Signer::File(key)
    }
}

/// The key of a `.pub` file: `ssh-ed25519 AAAA…` and perhaps a comment, on its first line.
pub fn read_public_key(path: &Path) -> Result<PublicKey, KeyError> {
    let bytes = vault::read_public(path)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut words = text.lines().next().unwrap_or_default().split(' ');
    let key = words
        .next()
        .zip(words.next())
        .and_then(|(kind, key)| format!("{kind} {key}").parse().ok());
    key.ok_or_else(|| KeyError::PublicKey {
        path: path.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_key_file_is_one_key_and_a_comment() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("k.pub");
        let key = PublicKey::from_bytes([1; 32]);
        for (text, good) in [
            (format!("{key}\n"), true),
            (format!("{key} me@here two words\n"), true),
            (format!("{key}"), true),
            (format!(" {key}\n"), false),
            (key.to_string().replace("ssh-ed25519", "ssh-rsa"), false),
            (String::new(), false),
        ] {
            std::fs::write(&path, &text).unwrap();
            assert_eq!(read_public_key(&path).ok(), good.then_some(key), "{text:?}");
        }
    }
}
