//! Writing a proof: byte for byte what the stock client writes for the same tree.

use super::read::{ATTESTATION, BITCOIN, ETHEREUM, FORK, LITECOIN, MAGIC, PENDING, VERSION};
use super::{Attestation, Op, Proof, ProofNode};

/// A whole file.
pub(super) fn proof(proof: &Proof) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend([VERSION, proof.file_hash.tag()]);
    out.extend_from_slice(&proof.digest);
    tree(&proof.tree, &mut out);
    out
}

/// Attestations by tag, then operations by tag and operand; `ff` before all but the last.
pub(super) fn tree(tree: &ProofNode, out: &mut Vec<u8>) {
    let mut attestations: Vec<_> = tree.attestations.iter().map(encoded).collect();
    attestations.sort();
    let mut left = attestations.len() + tree.branches.len();
    let mut fork = |out: &mut Vec<u8>| {
        left -= 1;
        if left > 0 {
            out.push(FORK);
        }
    };
    for (tag, payload) in attestations {
        fork(out);
        out.push(ATTESTATION);
        out.extend(tag);
        string(&payload, out);
    }
    for (op, below) in &tree.branches {
        fork(out);
        operation(op, out);
        self::tree(below, out);
    }
}

fn operation(op: &Op, out: &mut Vec<u8>) {
    match op {
        Op::Sha1 => out.push(0x02),
        Op::Ripemd160 => out.push(0x03),
        Op::Sha256 => out.push(0x08),
        Op::Keccak256 => out.push(0x67),
        Op::Append(operand) => {
            out.push(0xf0);
            string(operand, out);
        }
        Op::Prepend(operand) => {
            out.push(0xf1);
            string(operand, out);
        }
        Op::Reverse => out.push(0xf2),
        Op::Hexlify => out.push(0xf3),
    }
}

fn encoded(attestation: &Attestation) -> ([u8; 8], Vec<u8>) {
    let mut payload = Vec::new();
    let tag = match attestation {
        Attestation::Pending { uri } => {
            string(uri.as_bytes(), &mut payload);
            PENDING
        }
        Attestation::Bitcoin { height } => {
            number(*height, &mut payload);
            BITCOIN
        }
        Attestation::Litecoin { height } => {
            number(*height, &mut payload);
            LITECOIN
        }
        Attestation::Ethereum { height } => {
            number(*height, &mut payload);
            ETHEREUM
        }
        Attestation::Unknown { tag, payload: said } => {
            payload.extend_from_slice(said);
            *tag
        }
    };
    (tag, payload)
}

fn string(bytes: &[u8], out: &mut Vec<u8>) {
    number(u64::try_from(bytes.len()).unwrap_or(u64::MAX), out);
    out.extend_from_slice(bytes);
}

fn number(mut value: u64, out: &mut Vec<u8>) {
    while value > 0x7f {
        // Seven bits of a u64 always fit a byte.
        out.push(u8::try_from(value & 0x7f).unwrap_or_default() | 0x80);
        value >>= 7;
    }
    out.push(u8::try_from(value).unwrap_or_default());
}
