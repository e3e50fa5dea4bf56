//! The operations of a proof.

use bitcoin::hashes::{Hash, ripemd160, sha1};
use sha2::{Digest, Sha256};
use sha3::Keccak256;

use super::{MAX_MESSAGE, OtsReason};

/// Which hash a file was identified with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileHash {
    /// SHA-1, with digests of 20 bytes.
    Sha1,
    /// RIPEMD-160, with digests of 20 bytes.
    Ripemd160,
    /// 32 bytes; the only one that gently writes.
    Sha256,
    /// Keccak-256, with digests of 32 bytes.
    Keccak256,
}

impl FileHash {
    /// The kind behind a tag.
    pub(super) const fn of_tag(tag: u8) -> Option<FileHash> {
        match tag {
            0x02 => Some(FileHash::Sha1),
            0x03 => Some(FileHash::Ripemd160),
            0x08 => Some(FileHash::Sha256),
            0x67 => Some(FileHash::Keccak256),
            _ => None,
        }
    }

    /// Byte that names it in a proof.
    pub(super) const fn tag(self) -> u8 {
        match self {
            FileHash::Sha1 => 0x02,
            FileHash::Ripemd160 => 0x03,
            FileHash::Sha256 => 0x08,
            FileHash::Keccak256 => 0x67,
        }
    }

    /// Bytes of a digest.
    pub(super) const fn length(self) -> usize {
        match self {
            FileHash::Sha1 | FileHash::Ripemd160 => 20,
            FileHash::Sha256 | FileHash::Keccak256 => 32,
        }
    }
}

/// One operation; their order is that of their tags, then of their operands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Op {
    /// SHA-1, byte `02`.
    Sha1,
    /// RIPEMD-160, byte `03`.
    Ripemd160,
    /// SHA-256, byte `08`.
    Sha256,
    /// Keccak-256, byte `67`.
    Keccak256,
    /// `f0` and an operand: the message, then the operand.
    Append(Vec<u8>),
    /// `f1` and an operand: the operand, then the message.
    Prepend(Vec<u8>),
    /// `f2`: the bytes in reverse.
    Reverse,
    /// `f3`: two lower-case digits for each byte.
    Hexlify,
}

impl Op {
    /// What becomes of a message.
    pub fn apply(&self, message: &[u8]) -> Result<Vec<u8>, OtsReason> {
        let done = match self {
            Op::Sha1 => sha1::Hash::hash(message).to_byte_array().to_vec(),
            Op::Ripemd160 => ripemd160::Hash::hash(message).to_byte_array().to_vec(),
            Op::Sha256 => Sha256::digest(message).to_vec(),
            Op::Keccak256 => Keccak256::digest(message).to_vec(),
            Op::Append(operand) => [message, operand].concat(),
            Op::Prepend(operand) => [operand, message].concat(),
            Op::Reverse => message.iter().rev().copied().collect(),
            Op::Hexlify => hex::encode(message).into_bytes(),
        };
        if (1..=MAX_MESSAGE).contains(&done.len()) {
            Ok(done)
        } else {
            Err(OtsReason::Message(done.len()))
        }
    }
}
