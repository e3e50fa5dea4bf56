//! Many signatures of few keys, decided one by one and strictly.
//!
//! The usual batch equation of Ed25519 sums random multiples of all signatures. It is another predicate
//! than a strict check: a key's own holder can make a signature (with a small-order part in R) that the
//! sum lets through now and then, and that OpenSSH and a strict check always refuse. Here each signature
//! keeps its own decision. What a batch shares is the one field inversion that the encodings of all its
//! R need, and a ledger has few keys: the multiples of each are made once, so that `sB − hA` is 64 additions.
//!
//! A signature is good when `s` is canonical, neither A nor R is of small order, and the encoding of
//! `sB − hA` is R to the byte: exactly `verify_strict`. One that fails here is asked there again.

use std::collections::HashMap;
use std::sync::LazyLock;

use curve25519_dalek::constants::ED25519_BASEPOINT_POINT;
use curve25519_dalek::edwards::EdwardsPoint;
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::{Identity, IsIdentity};
use ed25519_dalek::VerifyingKey;
use sha2::{Digest, Sha512};

use crate::record::signature::{PublicKey, Signature, signed_data};

/// Signatures of one batch: the shared inversion costs little more than nothing each.
pub(super) const BATCH: usize = 64;
/// A key gets its table of multiples, which costs some hundred checks, after so many signatures.
const WORTH_A_TABLE: usize = 512;
/// Tables kept at once, of 0.6 MB each: a ledger of honest making has few keys.
const MAX_TABLES: usize = 16;
/// Bytes of a scalar, each a digit of base 256.
const DIGITS: usize = 32;
/// Signed digits: −127 to 128.
const ROW: usize = 128;

/// One signature to be checked.
pub(super) struct Claim {
    /// Who asks; given back when the signature is bad.
    pub of: u32,
    pub key: PublicKey,
    pub signature: Signature,
    /// The commit without its signature.
    pub payload: Vec<u8>,
}

/// The multiples `d · 256^i · P` of a point, for digits `d` from 1 to 128.
struct Multiples(Vec<EdwardsPoint>);

impl Multiples {
    fn of(point: EdwardsPoint) -> Self {
        let mut all = Vec::with_capacity(DIGITS * ROW);
        let mut base = point;
        for _ in 0..DIGITS {
            let mut multiple = base;
            for _ in 0..ROW {
                all.push(multiple);
                multiple += base;
            }
            // 256 times the base: twice the last one kept.
            base = all.last().map_or(base, |last| last + last);
        }
        Multiples(all)
    }

    /// Adds `scalar` times the point; takes as long as the scalar says, and nothing here is secret.
    fn add_to(&self, sum: &mut EdwardsPoint, scalar: &Scalar) {
        let mut carry = 0;
        for (row, byte) in self.0.chunks_exact(ROW).zip(scalar.as_bytes()) {
            let digit = usize::from(*byte) + carry;
            carry = usize::from(digit > ROW);
            if carry == 1 {
                if let Some(multiple) = (2 * ROW - digit).checked_sub(1).and_then(|at| row.get(at)) {
                    *sum -= multiple;
                }
            } else if let Some(multiple) = digit.checked_sub(1).and_then(|at| row.get(at)) {
                *sum += multiple;
            }
        }
    }
}

/// Multiples of the base point.
static BASE: LazyLock<Multiples> = LazyLock::new(|| Multiples::of(ED25519_BASEPOINT_POINT));

/// What is known of a key.
struct Key {
    asked: usize,
    /// Of −A; none before the key was asked often, and for one that no table is made of.
    table: Option<Multiples>,
}

/// Checks signatures in batches.
#[derive(Default)]
pub(super) struct Signatures {
    keys: HashMap<PublicKey, Key>,
    tables: usize,
}

impl Signatures {
    /// Checks some signatures; returns who asked for those that are bad.
    pub fn check(&mut self, claims: &[Claim]) -> Vec<u32> {
        let mut bad = Vec::new();
        let mut points = Vec::with_capacity(claims.len());
        let mut of_points = Vec::with_capacity(claims.len());
        for claim in claims {
            let message = signed_data(&claim.payload);
            match self.table(&claim.key).and_then(|table| r_of(table, claim, &message)) {
                Some(point) => {
                    points.push(point);
                    of_points.push((claim, message));
                }
                None if claim.key.verifies(&message, &claim.signature) => {}
                None => bad.push(claim.of),
            }
        }
        let encodings = EdwardsPoint::compress_batch_alloc(&points);
        for ((encoding, point), (claim, message)) in encodings.iter().zip(&points).zip(of_points) {
            let same = claim.signature.as_bytes().starts_with(encoding.as_bytes()) && !is_small_order(point);
            if !same && !claim.key.verifies(&message, &claim.signature) {
                bad.push(claim.of);
            }
        }
        bad
    }

    /// The table of a key, made when it is worth it.
    fn table(&mut self, key: &PublicKey) -> Option<&Multiples> {
        let known = self.keys.entry(*key).or_insert(Key { asked: 0, table: None });
        known.asked += 1;
        if known.asked == WORTH_A_TABLE && self.tables < MAX_TABLES {
            let point = VerifyingKey::from_bytes(key.as_bytes()).ok().map(|key| key.to_edwards());
            known.table = point.filter(|point| !is_small_order(point)).map(|point| Multiples::of(-point));
            self.tables += usize::from(known.table.is_some());
        }
        known.table.as_ref()
    }
}

/// `sB − hA`; none when `s` is not canonical.
fn r_of(table: &Multiples, claim: &Claim, message: &[u8]) -> Option<EdwardsPoint> {
    let (r, s) = claim.signature.as_bytes().split_first_chunk::<32>()?;
    let s = Option::<Scalar>::from(Scalar::from_canonical_bytes(s.try_into().ok()?))?;
    let hash = Sha512::new().chain_update(r).chain_update(claim.key.as_bytes()).chain_update(message).finalize();
    let h = Scalar::from_bytes_mod_order_wide(&hash.into());
    let mut sum = EdwardsPoint::identity();
    BASE.add_to(&mut sum, &s);
    table.add_to(&mut sum, &h);
    Some(sum)
}

fn is_small_order(point: &EdwardsPoint) -> bool {
    point.mul_by_cofactor().is_identity()
}

#[cfg(test)]
mod tests {
    use curve25519_dalek::constants::{ED25519_BASEPOINT_TABLE, EIGHT_TORSION};
    use ed25519_dalek::{Signer, SigningKey};

    use super::*;

    fn with_table(key: &PublicKey) -> Signatures {
        let mut checks = Signatures::default();
        for _ in 0..WORTH_A_TABLE {
            checks.table(key);
        }
        checks
    }

    fn claim(of: u32, key: PublicKey, signature: [u8; 64], payload: &[u8]) -> Claim {
        Claim { of, key, signature: Signature::from_bytes(signature), payload: payload.to_vec() }
    }

    #[test]
    fn every_multiple_is_the_curves_own() {
        let table = Multiples::of(ED25519_BASEPOINT_POINT);
        let numbers = [0u64, 1, 127, 128, 129, 255, 256, 257, 65_535, u64::MAX];
        let mut scalars: Vec<Scalar> = numbers.iter().copied().map(Scalar::from).collect();
        scalars.extend((0u8..40).map(|n| Scalar::from_bytes_mod_order_wide(&Sha512::digest([n]).into())));
        scalars.push(-Scalar::ONE);
        for scalar in scalars {
            let mut sum = EdwardsPoint::identity();
            table.add_to(&mut sum, &scalar);
            assert_eq!(sum, ED25519_BASEPOINT_TABLE * &scalar, "{scalar:?}");
        }
    }

    /// With a table and without one, each of them is decided as `verify_strict` decides it.
    #[test]
    fn decides_as_the_strict_check() {
        let seed = [0x33; 32];
        let signer = SigningKey::from_bytes(&seed);
        let key = PublicKey::from_bytes(signer.verifying_key().to_bytes());
        let good = |payload: &[u8]| signer.sign(&signed_data(payload)).to_bytes();
        let mut claims = vec![claim(0, key, good(b"a"), b"a"), claim(1, key, good(b"a"), b"b")];
        for bit in 0..512u32 {
            let mut changed = good(b"c");
            changed[(bit / 8) as usize] ^= 1 << (bit % 8);
            claims.push(claim(100 + bit, key, changed, b"c"));
        }
        // s + ℓ: the same point, another spelling.
        let order = hex::decode("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010").unwrap();
        let mut long = good(b"d");
        let mut carry = 0u16;
        for (digit, add) in long[32..].iter_mut().zip(&order) {
            let sum = u16::from(*digit) + u16::from(*add) + carry;
            (*digit, carry) = (sum.to_le_bytes()[0], sum >> 8);
        }
        claims.push(claim(2, key, long, b"d"));
        // R with a small-order part, hashed as it stands: what a batch equation may let through.
        let secret = Scalar::from_bytes_mod_order(signer.to_scalar_bytes());
        for (n, torsion) in (10u32..).zip(EIGHT_TORSION) {
            for (m, r) in [(0, Scalar::from(77u64)), (20, Scalar::ZERO)] {
                let encoded = (ED25519_BASEPOINT_TABLE * &r + torsion).compress().to_bytes();
                let message = signed_data(b"e");
                let hash = Sha512::new().chain_update(encoded).chain_update(key.as_bytes()).chain_update(&message);
                let s = r + Scalar::from_bytes_mod_order_wide(&hash.finalize().into()) * secret;
                let both: Vec<u8> = encoded.iter().chain(s.as_bytes()).copied().collect();
                claims.push(claim(n + m, key, both.try_into().unwrap(), b"e"));
            }
        }
        // Keys of small order, and bytes that are no point.
        for (n, torsion) in (50u32..).zip(EIGHT_TORSION) {
            claims.push(claim(n, PublicKey::from_bytes(torsion.compress().to_bytes()), good(b"f"), b"f"));
        }
        claims.push(claim(60, PublicKey::from_bytes([0xff; 32]), good(b"g"), b"g"));
        let strict = |claim: &&Claim| !claim.key.verifies(&signed_data(&claim.payload), &claim.signature);
        let mut expected: Vec<u32> = claims.iter().filter(strict).map(|claim| claim.of).collect();
        expected.sort_unstable();
        assert!(!expected.contains(&0) && !expected.contains(&10) && expected.contains(&11) && expected.contains(&2));
        for mut checks in [Signatures::default(), with_table(&key)] {
            let mut bad = checks.check(&claims);
            bad.sort_unstable();
            assert_eq!(bad, expected);
        }
    }
}
