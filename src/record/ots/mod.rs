//! OpenTimestamps proofs (`.ots`): a digest, operations, and who attests to the results (format,
//! section 9).
//!
//! A proof is a tree. Its root is the digest of a file; every edge is an operation on the message
//! of the node above; a node may hold attestations: *this message was in the block of that height*,
//! or *that calendar has it*. A proof proves nothing by itself: the message of a Bitcoin
//! attestation must be the Merkle root of that block's header.
//!
//! ```text
//! 00 "OpenTimestamps" 00 00 "Proof" 00 bf89e2e884e89294   31 bytes
//! 01                                                      version
//! 08 DIGEST                                               kind of the file's hash, digest
//! TREE
//! ```
//! A tree is `ff` before every branch but the last. A branch is an operation and its tree, or `00`,
//! eight bytes of attestation tag, and a payload. Numbers are LEB128, byte strings have their
//! length before them.
//!
//! Limits: a proof has at most [`MAX_PROOF`] bytes, an operand 1 to 4,096, a message at most 4,096,
//! a payload at most 8,192, a number at most nine bytes, a tree at most 256 levels.

mod op;
mod read;
mod together;
mod write;

use std::collections::{BTreeMap, BTreeSet};

pub use op::{FileHash, Op};
pub use together::together;

/// Largest proof that is read, in bytes; real ones have some hundred to some thousand.
pub const MAX_PROOF: usize = 256 * 1024;
/// Longest operand and message, in bytes.
pub const MAX_MESSAGE: usize = 4096;
/// Longest payload of an attestation, in bytes.
pub const MAX_PAYLOAD: usize = 8192;
/// Longest address of a calendar, in bytes.
pub const MAX_URI: usize = 1000;
/// Deepest tree of operations, in steps from its root.
pub const MAX_DEPTH: usize = 256;

/// Why bytes are no proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no OpenTimestamps proof: {reason} (byte {at})")]
pub struct OtsFault {
    /// Where, from 0.
    pub at: usize,
    /// What is wrong there.
    pub reason: OtsReason,
}

/// What is wrong with a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OtsReason {
    /// More bytes than any honest proof has.
    #[error("more than 262144 bytes")]
    TooLarge,
    /// It does not begin as a proof does.
    #[error("it does not begin with the magic bytes")]
    Magic,
    /// A version from elsewhere.
    #[error("version {0}; only version 1 is known")]
    Version(u64),
    /// The file's hash is none of the known ones.
    #[error("unknown kind of file hash {0:#04x}")]
    FileHash(u8),
    /// It ends too early.
    #[error("it ends too early")]
    Truncated,
    /// Something follows the proof.
    #[error("something follows the end")]
    Trailing,
    /// An operation that nobody knows.
    #[error("unknown operation {0:#04x}")]
    Operation(u8),
    /// An operand that is empty or too long.
    #[error("an operand of {0} bytes; 1 to 4096 are allowed")]
    Operand(u64),
    /// A message that grew too long, or is empty where it must not be.
    #[error("an operation gives a message of {0} bytes; 1 to 4096 are allowed")]
    Message(usize),
    /// A number of more than nine bytes.
    #[error("a number of more than nine bytes")]
    Number,
    /// A payload that is too long, or has something left over.
    #[error("an attestation whose payload has a wrong length")]
    Payload,
    /// A calendar's address that is too long, or has other characters than addresses have.
    #[error("a calendar's address that is no address")]
    Uri,
    /// More levels than are read.
    #[error("more than 256 levels")]
    Depth,
}

/// Who says that a message existed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Attestation {
    /// A calendar has it and will put it into a block; a promise, no proof.
    Pending {
        /// Where to ask.
        uri: String,
    },
    /// It is the Merkle root of the Bitcoin block at this height.
    Bitcoin {
        /// Height of the block in Bitcoin's chain.
        height: u64,
    },
    /// It is the Merkle root of a Litecoin block; not checked here.
    Litecoin {
        /// Height of the block in Litecoin's chain.
        height: u64,
    },
    /// It is in an Ethereum block; not checked here.
    Ethereum {
        /// Height of the block in Ethereum's chain.
        height: u64,
    },
    /// Something newer; not checked here.
    Unknown {
        /// Its eight bytes.
        tag: [u8; 8],
        /// What it says.
        payload: Vec<u8>,
    },
}

/// One node: who attests to its message, and what is made of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProofNode {
    /// Who attests to this node's message.
    pub attestations: BTreeSet<Attestation>,
    /// What is made of it.
    pub branches: BTreeMap<Op, ProofNode>,
}

/// A message, and who attests to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf<'a> {
    /// The operations from the root to it.
    pub path: Vec<&'a Op>,
    /// Message that the attestation is about.
    pub message: Vec<u8>,
    /// Who attests to it.
    pub attestation: &'a Attestation,
}

/// A detached proof: the digest of a file, and its tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Which hash the digest is of.
    pub file_hash: FileHash,
    /// Digest that the proof begins with.
    pub digest: Vec<u8>,
    /// What was made of it.
    pub tree: ProofNode,
}

impl ProofNode {
    /// A tree of one chain of operations that ends in one attestation.
    pub fn chain(path: impl DoubleEndedIterator<Item = Op>, attestation: Attestation) -> ProofNode {
        let end = ProofNode {
            attestations: BTreeSet::from([attestation]),
            branches: BTreeMap::new(),
        };
        path.rev().fold(end, |tree, op| ProofNode {
            attestations: BTreeSet::new(),
            branches: BTreeMap::from([(op, tree)]),
        })
    }

    /// Takes in what another tree over the same message says.
    pub fn merge(&mut self, other: ProofNode) {
        self.attestations.extend(other.attestations);
        for (op, tree) in other.branches {
            self.branches.entry(op).or_default().merge(tree);
        }
    }

    /// Every attestation with the message it is about, `message` being that of this node.
    pub fn leaves(&self, message: &[u8]) -> Result<Vec<Leaf<'_>>, OtsReason> {
        let mut found = Vec::new();
        self.walk(message.to_vec(), &mut Vec::new(), &mut found)?;
        Ok(found)
    }

    fn walk<'a>(
        &'a self,
        message: Vec<u8>,
        path: &mut Vec<&'a Op>,
        found: &mut Vec<Leaf<'a>>,
    ) -> Result<(), OtsReason> {
        for attestation in &self.attestations {
            found.push(Leaf {
                path: path.clone(),
                message: message.clone(),
                attestation,
            });
        }
        for (op, tree) in &self.branches {
            path.push(op);
            tree.walk(op.apply(&message)?, path, found)?;
            path.pop();
        }
        Ok(())
    }

    /// The node at the end of a path of operations; none when there is no such path.
    pub fn node(&mut self, path: &[Op]) -> Option<&mut ProofNode> {
        path.iter()
            .try_fold(self, |tree, op| tree.branches.get_mut(op))
    }

    /// Reads a calendar's answer: a tree over `message`, and nothing after it.
    pub fn read(bytes: &[u8], message: &[u8]) -> Result<ProofNode, OtsFault> {
        read::tree(bytes, message)
    }

    /// The tree's bytes, in the order that the stock client writes.
    pub fn print(&self) -> Vec<u8> {
        let mut out = Vec::new();
        write::tree(self, &mut out);
        out
    }
}

impl Proof {
    /// Reads a whole `.ots` file; every operation is carried out once, so a proof that reads also
    /// computes.
    pub fn read(bytes: &[u8]) -> Result<Proof, OtsFault> {
        read::proof(bytes)
    }

    /// The file's bytes; a proof that the stock client wrote prints as it was.
    pub fn print(&self) -> Vec<u8> {
        write::proof(self)
    }

    /// Every attestation with the message it is about.
    pub fn leaves(&self) -> Result<Vec<Leaf<'_>>, OtsReason> {
        self.tree.leaves(&self.digest)
    }
}

#[cfg(test)]
mod tests;
