//! A receipt: what whoever asked keeps, so that the ledger can't lose or change the turn unnoticed.
//!
//! ```text
//! {"chain_entry":HASH|null,"checkpoint":"…","format":"gently/1","line":HASH,"log_head":HASH,
//!  "seq":N,"session_id":HASH,"signature":"-----BEGIN SSH SIGNATURE-----\n…"}                          one line, JCS
//! ```
//!
//! It says: `checkpoint` is the signed tree head that stood beside the log, byte for byte; the last
//! line under it has HASH `log_head`; among its lines is the outcome of prompt `seq`, the line with
//! HASH `line`, with that chain entry. The signature is an SSH signature in namespace `git`, as
//! commits have, by the key that has signed the tree head, over the same document without its key
//! `signature`. So `ssh-keygen -Y verify` checks it with the ledger's `allowed_signers`, and the
//! tree head by itself can be held against any copy of the ledger.

use serde::{Deserialize, Serialize};

use super::documents::Format;
use crate::record::canon;
use crate::record::canon::CanonError;
use crate::record::hash::Hash32;
use crate::record::signature::{
    PublicKey, Signature, SignatureError, armor, parse_armor, signed_data,
};
use crate::record::tree::{SignedNote, parse_note};

/// Largest file that is read, in bytes; real ones have about a thousand.
pub const MAX_RECEIPT: usize = 64 * 1024;

/// Why bytes are no receipt.
#[derive(Debug, thiserror::Error)]
pub enum ReceiptFault {
    /// Longer than [`MAX_RECEIPT`].
    #[error("{actual} bytes; a receipt has at most {MAX_RECEIPT}")]
    TooLarge {
        /// Size of the receipt, in bytes.
        actual: usize,
    },
    /// It does not end with its one newline.
    #[error(
        "a receipt is one line of JSON and its newline, as `jq -c .receipt` prints it; this does not end so"
    )]
    Newline,
    /// What is on that line is not a receipt's document.
    #[error("{0}; a receipt is one line of JSON, as `jq -c .receipt` prints it")]
    Document(#[from] CanonError),
    /// The signature is spelled otherwise.
    #[error("signature: {0}")]
    Armor(#[from] SignatureError),
    /// The tree head is none, or of no line.
    #[error("its tree head: {0}")]
    Head(String),
    /// The signature, or the tree head's, is not the named key's.
    #[error("its signature does not hold: the receipt was changed")]
    Signature,
}

/// What a receipt says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// The turn's chain entry; none when it has no answer.
    pub chain_entry: Option<Hash32>,
    /// The signed tree head, as `audit.checkpoint` held it.
    pub checkpoint: String,
    /// Version of the document's form: `gently/1`.
    pub format: Format,
    /// HASH of the line of the turn's outcome.
    pub line: Hash32,
    /// HASH of the last line under it.
    pub log_head: Hash32,
    /// The prompt's number in its session.
    pub seq: u64,
    /// Id of the session.
    pub session_id: Hash32,
}

/// A signed statement, as a file holds it.
#[derive(Serialize, Deserialize)]
struct SignedStatement {
    #[serde(flatten)]
    statement: Statement,
    signature: String,
}

/// A receipt whose signatures hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// What it says.
    pub statement: Statement,
    /// Its tree head.
    pub head: SignedNote,
    /// Who signed it; whose key that is, is the ledger's matter.
    pub key: PublicKey,
    signature: Signature,
}

impl Statement {
    /// The bytes that its signature is over: those of an SSH signature of its canonical print.
    pub fn to_be_signed(&self) -> Result<Vec<u8>, CanonError> {
        Ok(signed_data(canon::print(self)?.as_bytes()))
    }

    /// The receipt, with `key`'s signature over [`Statement::to_be_signed`]; both signatures are
    /// checked.
    pub fn signed(self, key: PublicKey, signature: Signature) -> Result<Receipt, ReceiptFault> {
        let head = parse_note(&self.checkpoint).map_err(|e| ReceiptFault::Head(e.to_string()))?;
        if head.size == 0 {
            return Err(ReceiptFault::Head("it is of no line".to_owned()));
        }
        if !head.verify(&key) || !key.verifies(&self.to_be_signed()?, &signature) {
            return Err(ReceiptFault::Signature);
        }
        Ok(Receipt {
            statement: self,
            head,
            key,
            signature,
        })
    }
}

impl Receipt {
    fn signed(&self) -> SignedStatement {
        SignedStatement {
            statement: self.statement.clone(),
            signature: armor(&self.key, &self.signature) + "\n",
        }
    }

    /// The receipt as a JSON value; its canonical print and a newline are the file.
    pub fn value(&self) -> Result<serde_json::Value, CanonError> {
        serde_json::to_value(self.signed()).map_err(|e| CanonError::Unprintable {
            reason: e.to_string(),
        })
    }

    /// The file's bytes.
    pub fn print(&self) -> Result<String, CanonError> {
        canon::print(&self.signed()).map(|text| text + "\n")
    }

    /// Reads what [`Receipt::print`] writes, and checks both signatures with the key that it names.
    pub fn parse(bytes: &[u8]) -> Result<Receipt, ReceiptFault> {
        if bytes.len() > MAX_RECEIPT {
            return Err(ReceiptFault::TooLarge {
                actual: bytes.len(),
            });
        }
        let signed: SignedStatement =
            canon::parse(bytes.strip_suffix(b"\n").ok_or(ReceiptFault::Newline)?)?;
        let armored = signed
            .signature
            .strip_suffix('\n')
            .ok_or(ReceiptFault::Signature)?;
        let (key, signature) = parse_armor(armored)?;
        signed.statement.signed(key, signature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tree::note;
    use ed25519_dalek::{Signer as _, SigningKey};

    fn made(chain_entry: Option<Hash32>, size: u64, head_by: u8) -> Result<Receipt, ReceiptFault> {
        let hash = |n: u8| Hash32::digest(&[n]);
        let secret = |seed: u8| SigningKey::from_bytes(&[seed; 32]);
        let public = |key: &SigningKey| PublicKey::from_bytes(key.verifying_key().to_bytes());
        let other = secret(head_by);
        let sign = |body: &[u8]| {
            Ok::<_, std::convert::Infallible>(Signature::from_bytes(other.sign(body).to_bytes()))
        };
        let statement = Statement {
            chain_entry,
            checkpoint: note(
                "gently/0123456789abcdef",
                size,
                hash(3),
                &public(&other),
                &sign,
            )
            .unwrap(),
            format: Format,
            line: hash(1),
            log_head: hash(2),
            seq: 7,
            session_id: hash(4),
        };
        let key = secret(0x33);
        let signature =
            Signature::from_bytes(key.sign(&statement.to_be_signed().unwrap()).to_bytes());
        statement.signed(public(&key), signature)
    }

    fn receipt(chain_entry: Option<Hash32>) -> Receipt {
        made(chain_entry, 58, 0x33).unwrap()
    }

    #[test]
    fn one_key_has_signed_receipt_and_tree_head() {
        assert_eq!(receipt(None).head.size, 58);
        assert!(matches!(made(None, 58, 0x34), Err(ReceiptFault::Signature)));
        assert!(matches!(made(None, 0, 0x33), Err(ReceiptFault::Head(_))));
    }

    #[test]
    fn what_is_printed_is_read() {
        for receipt in [receipt(None), receipt(Some(Hash32::GENESIS))] {
            let text = receipt.print().unwrap();
            assert_eq!(Receipt::parse(text.as_bytes()).unwrap(), receipt);
            assert_eq!(
                format!("{}\n", canon::print(&receipt.value().unwrap()).unwrap()),
                text
            );
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
        for wrong in [
            text.strip_suffix(b"\n").unwrap().to_vec(),
            [&text[..], b"\n"].concat(),
            vec![b' '; MAX_RECEIPT + 1],
        ] {
            assert!(Receipt::parse(&wrong).is_err());
        }
    }
}
