//! A receipt: what whoever asked keeps, so that the ledger can't lose or change the turn unnoticed.
//!
//! ```text
//! {"chain_entry":HASH|null,"format":"gently/1","line":HASH,"log_head":HASH,"origin":NAME,"root":HASH,
//!  "seq":N,"session_id":HASH,"signature":"-----BEGIN SSH SIGNATURE-----\n…","tree_size":N}            one line, JCS
//! ```
//!
//! It says: this ledger's log had `tree_size` lines, the last of them with HASH `log_head`; their Merkle tree has
//! this `root`; among them is the outcome of prompt `seq`, the line with HASH `line`, with that chain entry. The
//! signature is an SSH signature in namespace `git`, as commits have, by the key in force behind those lines, over the
//! same document without its key `signature`. So `ssh-keygen -Y verify` checks it with the ledger's `allowed_signers`.

use serde::{Deserialize, Serialize};

use super::canon::{self, CanonError};
use super::documents::Format;
use super::hash::Hash32;
use super::signature::{PublicKey, Signature, SignatureError, armor, parse_armor, signed_data};

/// Largest file that is read, in bytes; real ones have about a thousand.
pub const MAX_RECEIPT: usize = 64 * 1024;

/// Why bytes are no receipt.
#[derive(Debug, thiserror::Error)]
pub enum ReceiptFault {
    /// Longer than [`MAX_RECEIPT`].
    #[error("{actual} bytes; a receipt has at most {MAX_RECEIPT}")]
    TooLarge {
        /// Bytes found.
        actual: usize,
    },
    /// It does not end with its one newline.
    #[error("a receipt is one line of JSON and its newline, as `jq -c .receipt` prints it; this does not end so")]
    Newline,
    /// Not the document.
    #[error("{0}; a receipt is one line of JSON, as `jq -c .receipt` prints it")]
    Document(#[from] CanonError),
    /// The signature is spelled otherwise.
    #[error("signature: {0}")]
    Armor(#[from] SignatureError),
    /// The signature is not the named key's over this.
    #[error("its signature does not hold: the receipt was changed")]
    Signature,
}

/// What a receipt says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// The turn's chain entry; none when it has no answer.
    pub chain_entry: Option<Hash32>,
    /// `gently/1`.
    pub format: Format,
    /// HASH of the line of the turn's outcome.
    pub line: Hash32,
    /// HASH of the last line.
    pub log_head: Hash32,
    /// The ledger's name.
    pub origin: String,
    /// The Merkle root over all lines (format, section 9).
    pub root: Hash32,
    /// The prompt's number in its session.
    pub seq: u64,
    /// The session.
    pub session_id: Hash32,
    /// Number of lines.
    pub tree_size: u64,
}

/// A signed statement, as a file holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signed {
    chain_entry: Option<Hash32>,
    format: Format,
    line: Hash32,
    log_head: Hash32,
    origin: String,
    root: Hash32,
    seq: u64,
    session_id: Hash32,
    signature: String,
    tree_size: u64,
}

/// A receipt whose signature holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// What it says.
    pub statement: Statement,
    /// Who signed it; whose key that is, is the ledger's matter.
    pub key: PublicKey,
    signature: Signature,
}

impl Statement {
    /// The bytes that its signature is over: those of an SSH signature of its canonical print.
    pub fn to_be_signed(&self) -> Result<Vec<u8>, CanonError> {
        Ok(signed_data(canon::print(self)?.as_bytes()))
    }

    /// The receipt, with `key`'s signature over [`Statement::to_be_signed`].
    pub fn signed(self, key: PublicKey, signature: Signature) -> Receipt {
        Receipt { statement: self, key, signature }
    }
}

impl Receipt {
    fn signed(&self) -> Signed {
        let Statement { chain_entry, format, line, log_head, origin, root, seq, session_id, tree_size } =
            self.statement.clone();
        let signature = armor(&self.key, &self.signature) + "\n";
        Signed { chain_entry, format, line, log_head, origin, root, seq, session_id, signature, tree_size }
    }

    /// The receipt as a JSON value; its canonical print and a newline are the file.
    pub fn value(&self) -> Result<serde_json::Value, CanonError> {
        serde_json::to_value(self.signed()).map_err(|e| CanonError::Unprintable { reason: e.to_string() })
    }

    /// The file's bytes.
    pub fn print(&self) -> Result<String, CanonError> {
        canon::print(&self.signed()).map(|text| text + "\n")
    }

    /// Reads what [`Receipt::print`] writes, and checks the signature with the key that it names.
    pub fn parse(bytes: &[u8]) -> Result<Receipt, ReceiptFault> {
        if bytes.len() > MAX_RECEIPT {
            return Err(ReceiptFault::TooLarge { actual: bytes.len() });
        }
        let signed: Signed = canon::parse(bytes.strip_suffix(b"\n").ok_or(ReceiptFault::Newline)?)?;
        let Signed { chain_entry, format, line, log_head, origin, root, seq, session_id, signature, tree_size } =
            signed;
        let armored = signature.strip_suffix('\n').ok_or(ReceiptFault::Signature)?;
        let (key, signature) = parse_armor(armored)?;
        let statement = Statement { chain_entry, format, line, log_head, origin, root, seq, session_id, tree_size };
        if key.verifies(&statement.to_be_signed()?, &signature) {
            Ok(Receipt { statement, key, signature })
        } else {
            Err(ReceiptFault::Signature)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ed25519_dalek::{Signer as _, SigningKey};

    fn receipt(chain_entry: Option<Hash32>) -> Receipt {
        let hash = |n: u8| Hash32::digest(&[n]);
        let statement = Statement {
            chain_entry,
            format: Format,
            line: hash(1),
            log_head: hash(2),
            origin: "gently/é".to_owned(),
            root: hash(3),
            seq: 7,
            session_id: hash(4),
            tree_size: 58,
        };
        let key = SigningKey::from_bytes(&[0x33; 32]);
        let public = PublicKey::from_bytes(key.verifying_key().to_bytes());
        let signature = Signature::from_bytes(key.sign(&statement.to_be_signed().unwrap()).to_bytes());
        statement.signed(public, signature)
    }

    #[test]
    fn what_is_printed_is_read() {
        for receipt in [receipt(None), receipt(Some(Hash32::GENESIS))] {
            let text = receipt.print().unwrap();
            assert_eq!(Receipt::parse(text.as_bytes()).unwrap(), receipt);
            assert_eq!(format!("{}\n", canon::print(&receipt.value().unwrap()).unwrap()), text);
        }
    }

    #[test]
    fn every_changed_byte_is_refused() {
        let text = receipt(Some(Hash32::GENESIS)).print().unwrap().into_bytes();
        for at in 0..text.len() {
            for flip in [0x01, 0x02, 0x10, 0x20] {
                let mut changed = text.clone();
                changed[at] ^= flip;
                assert!(Receipt::parse(&changed).is_err(), "byte {at} ^ {flip}");
            }
            let shorter = [&text[..at], &text[at + 1..]].concat();
            assert!(Receipt::parse(&shorter).is_err(), "without byte {at}");
        }
        for wrong in
            [text.strip_suffix(b"\n").unwrap().to_vec(), [&text[..], b"\n"].concat(), vec![b' '; MAX_RECEIPT + 1]]
        {
            assert!(Receipt::parse(&wrong).is_err());
        }
    }
}
