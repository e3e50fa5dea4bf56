//! Many signatures, checked in batches: all at once first, each by itself when that fails.
//!
//! The batch equation of Ed25519 is another predicate than the strict check: a sum of random multiples of
//! all signatures, which names no culprit. It can only be wider, and only by what a key's own holder makes
//! on purpose (a small-order part in R), now and then. So keys of small order are never put into a batch,
//! and whatever a batch refuses is decided by the strict check, one by one.

use ed25519_dalek::{Signature as Dalek, VerifyingKey, verify_batch};

use crate::record::signature::{PublicKey, Signature, signed_data};

/// Signatures of one batch; larger ones gain little, and a bad one costs as many single checks.
pub(super) const BATCH: usize = 64;

/// One signature to be checked.
pub(super) struct Claim {
    /// Who asks; given back when the signature is bad.
    pub of: u32,
    pub key: PublicKey,
    pub signature: Signature,
    /// The commit without its signature.
    pub payload: Vec<u8>,
}

/// Checks signatures in batches.
#[derive(Default)]
pub(super) struct Signatures {}

impl Signatures {
    /// Checks some signatures; returns who asked for those that are bad.
    pub fn check(&mut self, claims: &[Claim]) -> Vec<u32> {
        let messages: Vec<Vec<u8>> = claims.iter().map(|claim| signed_data(&claim.payload)).collect();
        if all_hold(claims, &messages) {
            return Vec::new();
        }
        let each = claims.iter().zip(&messages);
        each.filter(|(claim, message)| !claim.key.verifies(message, &claim.signature))
            .map(|(claim, _)| claim.of)
            .collect()
    }
}

/// Whether the batch as a whole holds; false also when it can't be asked.
fn all_hold(claims: &[Claim], messages: &[Vec<u8>]) -> bool {
    let keys: Option<Vec<VerifyingKey>> = claims.iter().map(|claim| strong(&claim.key)).collect();
    let Some(keys) = keys else { return false };
    let signatures: Vec<Dalek> = claims.iter().map(|claim| Dalek::from_bytes(claim.signature.as_bytes())).collect();
    let messages: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
    verify_batch(&messages, &signatures, &keys).is_ok()
}

/// A key that may stand in a batch.
fn strong(key: &PublicKey) -> Option<VerifyingKey> {
    VerifyingKey::from_bytes(key.as_bytes()).ok().filter(|key| !key.is_weak())
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::{Signer, SigningKey};

    use super::*;

    fn claim(of: u32, key: PublicKey, signature: [u8; 64], payload: &[u8]) -> Claim {
        Claim { of, key, signature: Signature::from_bytes(signature), payload: payload.to_vec() }
    }

    #[test]
    fn a_batch_names_exactly_the_signatures_that_the_strict_check_refuses() {
        let signer = SigningKey::from_bytes(&[0x33; 32]);
        let key = PublicKey::from_bytes(signer.verifying_key().to_bytes());
        let good = |payload: &[u8]| signer.sign(&signed_data(payload)).to_bytes();
        let honest: Vec<Claim> = (0..64u8).map(|n| claim(n.into(), key, good(&[n]), &[n])).collect();
        assert_eq!(Signatures::default().check(&honest), [] as [u32; 0]);

        // Another text; each bit of a signature; s + l, the same point in another spelling.
        let mut claims = honest;
        claims.push(claim(1000, key, good(b"a"), b"b"));
        for bit in 0..512u32 {
            let mut changed = good(b"c");
            changed[(bit / 8) as usize] ^= 1 << (bit % 8);
            claims.push(claim(2000 + bit, key, changed, b"c"));
        }
        let order = hex::decode("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010").unwrap();
        let mut long = good(b"d");
        let mut carry = 0u16;
        for (digit, add) in long[32..].iter_mut().zip(&order) {
            let sum = u16::from(*digit) + u16::from(*add) + carry;
            (*digit, carry) = (sum.to_le_bytes()[0], sum >> 8);
        }
        claims.push(claim(1001, key, long, b"d"));
        // Keys of small order (0, 1 and -1), with which anything can be signed; and bytes that are no point.
        for (n, first) in [0u8, 1, 0xec].into_iter().enumerate() {
            let mut weak = if first == 0xec { [0xff; 32] } else { [0; 32] };
            (weak[0], weak[31]) = (first, if first == 0xec { 0x7f } else { 0 });
            let mut forged = [0; 64];
            forged[0] = 1;
            claims.push(claim(1010 + u32::try_from(n).unwrap(), PublicKey::from_bytes(weak), forged, b"f"));
        }
        claims.push(claim(1020, PublicKey::from_bytes([0xff; 32]), good(b"g"), b"g"));
        let refused = |claim: &&Claim| !claim.key.verifies(&signed_data(&claim.payload), &claim.signature);
        let expected: Vec<u32> = claims.iter().filter(refused).map(|claim| claim.of).collect();
        assert_eq!(expected.len(), claims.len() - 64);
        assert_eq!(Signatures::default().check(&claims), expected);
        // One bad signature, alone among good ones.
        for bad in claims.iter().skip(64).step_by(37) {
            let mut batch: Vec<Claim> = (0..8u8).map(|n| claim(n.into(), key, good(&[n]), &[n])).collect();
            batch.insert(3, claim(bad.of, bad.key, *bad.signature.as_bytes(), &bad.payload));
            assert_eq!(Signatures::default().check(&batch), [bad.of]);
        }
    }
}
