//! The keys of a home: who may ask ([`AuthKey`]), and whose hand signs ([`Signer`]).
//!
//! ```text
//! keys/                    0700
//!   auth.key               0600   64 hexadecimal digits and a newline; or the same inside age (a passphrase)
//!   store.key              0600   the same inside age: what opens the database, where that is encrypted
//!   signing.key            0600   an OpenSSH private key, Ed25519, without a passphrase
//!   signing.key.pub        0644   ssh-ed25519 AAAA… ledger@gently.invalid
//!   import.key             0600   32 bytes, from the first import on
//!   import.running         0600   which import is at work, while it is
//!   allowed_signers        0644   one line a key, as in the ledger (format, section 6)
//! ```
//!
//! With `[keys] signer = "agent"` an SSH agent keeps the signing key ([`Signer`]), `signing.key`
//! need not be there, and `signing.key.pub` says which key it is.
//!
//! Files are made once and never overwritten (a passphrase put on or taken off replaces the file in
//! one step); private ones are read only if nobody else can.

pub mod agent;
pub mod allowed_signers;
mod auth;
mod error;
mod import_key;
pub mod rotation;
pub mod sealed;
mod signer;
mod signing;
mod store_key;
mod vault;

pub use auth::{Ask, AuthKey};
pub use error::KeyError;
pub use import_key::{IMPORT_KEY_MARK, IMPORT_RUNNING, ImportKey, RunningImport};
pub use sealed::WorkFactor;
pub use signer::{Signer, read_public_key};
pub use signing::SigningKey;
pub use store_key::StoreKey;
pub use vault::{create_dir, read_secret};

/// Name of the auth key's file.
pub const AUTH_KEY: &str = "auth.key";
/// Name of the file with the key of an encrypted database.
pub const STORE_KEY: &str = "store.key";
/// The environment's way to give that key: 64 hexadecimal digits.
pub const STORE_KEY_ENV: &str = "GENTLY_STORE_KEY";
/// Name of the signing key's file; its public half has `.pub` after it.
pub const SIGNING_KEY: &str = "signing.key";
/// Name of the public half's file.
pub const SIGNING_KEY_PUB: &str = "signing.key.pub";
/// Name of the file with all the ledger's keys.
pub const ALLOWED_SIGNERS: &str = "allowed_signers";
/// The environment's way to present an auth key: 64 hexadecimal digits.
pub const AUTH_KEY_ENV: &str = "GENTLY_AUTH_KEY";

/// Fills a buffer with random bytes; tests pass bytes of their own.
pub type Random<'a> = &'a mut dyn FnMut(&mut [u8]) -> Result<(), KeyError>;

/// The operating system's randomness.
pub fn os_random(buffer: &mut [u8]) -> Result<(), KeyError> {
    getrandom::fill(buffer).map_err(|e| KeyError::Random {
        reason: e.to_string(),
    })
}
