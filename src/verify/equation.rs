//! One equation over many signatures (RFC 8032, the equation without the cofactor).
//!
//! A signature `(R, s)` of a key A over M holds when `sB − hA − R = 0`, `h = SHA-512(R ‖ A ‖ M)`. Of many, the sum with
//! random weights z of 128 bits is asked for at once:
//!
//! ```text
//! (Σ zs)·B − Σ zR − Σ_A (Σ zh)·A = 0
//! ```
//!
//! A ledger has one key at a time, so almost the whole work is one point R a signature with its short weight; equations
//! that take A for another point in each signature, as those of libraries do, add three times as much.

use curve25519_dalek::constants::ED25519_BASEPOINT_POINT;
use curve25519_dalek::edwards::{CompressedEdwardsY, EdwardsPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::{IsIdentity as _, VartimeMultiscalarMul as _};
use ring::digest::{Context, SHA512};

use crate::record::signature::{PublicKey, Signature};

/// A random weight; nobody knows it before the signatures are there.
pub(super) type Weight = [u8; 16];

/// Weights for so many signatures; none when the system has no randomness to give.
pub(super) fn weights(count: usize) -> Option<Vec<Weight>> {
    let mut weights = vec![Weight::default(); count];
    getrandom::fill(weights.as_flattened_mut()).ok()?;
    Some(weights)
}

/// A key, and the sum of `zh` of its signatures.
struct Key {
    bytes: PublicKey,
    point: EdwardsPoint,
    sum: Scalar,
}

/// The sum so far.
#[derive(Default)]
pub(super) struct Equation {
    base: Scalar,
    keys: Vec<Key>,
    weights: Vec<Scalar>,
    points: Vec<EdwardsPoint>,
}

impl Equation {
    /// Adds a signature; false when it can't be part of any equation: `s` is not canonical, A or R no point or of small
    /// order, or A not one of the large group alone.
    #[must_use = "a signature that is not in the sum is not checked"]
    pub fn add(&mut self, key: &PublicKey, message: &[u8], signature: &Signature, weight: Weight) -> bool {
        let (r, s) = halves(signature);
        let Some(s) = Option::<Scalar>::from(Scalar::from_canonical_bytes(s)) else { return false };
        let Some(point) = CompressedEdwardsY(r).decompress().filter(|point| !point.is_small_order()) else {
            return false;
        };
        let Some(key) = self.key(key) else { return false };
        let mut hash = Context::new(&SHA512);
        for part in [r.as_slice(), key.bytes.as_bytes(), message] {
            hash.update(part);
        }
        let mut wide = [0; 64];
        wide.copy_from_slice(hash.finish().as_ref());
        let weight = Scalar::from(u128::from_le_bytes(weight));
        key.sum += weight * Scalar::from_bytes_mod_order_wide(&wide);
        self.base += weight * s;
        self.weights.push(weight);
        self.points.push(point);
        true
    }

    /// The place of a key, which mostly is the last one's.
    fn key(&mut self, key: &PublicKey) -> Option<&mut Key> {
        let known = self.keys.iter().rposition(|known| known.bytes == *key);
        let at = match known {
            Some(at) => at,
            None => {
                let point = CompressedEdwardsY(*key.as_bytes()).decompress()?;
                // A part of small order does not follow sums of multiples that are taken modulo the large one.
                if point.is_small_order() || !point.is_torsion_free() {
                    return None;
                }
                self.keys.push(Key { bytes: *key, point, sum: Scalar::ZERO });
                self.keys.len() - 1
            }
        };
        self.keys.get_mut(at)
    }

    /// Whether the sum is zero.
    pub fn holds(&self) -> bool {
        let keys = self.keys.iter().map(|key| (key.sum, key.point));
        let (mut scalars, mut points): (Vec<Scalar>, Vec<EdwardsPoint>) = keys.unzip();
        scalars.push(-self.base);
        points.push(ED25519_BASEPOINT_POINT);
        scalars.extend_from_slice(&self.weights);
        points.extend_from_slice(&self.points);
        EdwardsPoint::vartime_multiscalar_mul(&scalars, &points).is_identity()
    }
}

fn halves(signature: &Signature) -> ([u8; 32], [u8; 32]) {
    let (r, s) = signature.as_bytes().split_at(32);
    let half = |bytes: &[u8]| <[u8; 32]>::try_from(bytes).unwrap_or_default();
    (half(r), half(s))
}

#[cfg(test)]
mod tests {
    use curve25519_dalek::constants::EIGHT_TORSION;
    use ed25519_dalek::{Signer as _, SigningKey};

    use super::*;

    fn sum(claims: &[(PublicKey, Vec<u8>, Signature)]) -> bool {
        let weights = weights(claims.len()).unwrap();
        let mut equation = Equation::default();
        let mut parts = claims.iter().zip(weights);
        parts.all(|((key, message, signature), weight)| equation.add(key, message, signature, weight))
            && equation.holds()
    }

    #[test]
    fn signatures_of_several_keys_hold_together_and_one_of_another_text_or_key_breaks_them() {
        let signers: Vec<SigningKey> = (1..=3).map(|n| SigningKey::from_bytes(&[n; 32])).collect();
        let public = |signer: &SigningKey| PublicKey::from_bytes(signer.verifying_key().to_bytes());
        let claim = |n: u8| {
            let signer = &signers[usize::from(n % 3)];
            (public(signer), vec![n], Signature::from_bytes(signer.sign(&[n]).to_bytes()))
        };
        let good: Vec<_> = (0..42).map(claim).collect();
        assert!(sum(&good) && sum(&good[..1]) && sum(&[]));
        for at in 0..good.len() {
            let (mut text, mut key) = (good.clone(), good.clone());
            text[at].1.push(0);
            key[at].0 = good[(at + 1) % good.len()].0;
            assert!(!sum(&text) && !sum(&key), "{at}");
        }
    }

    /// What only the key's holder can make, and the strict check refuses: R nothing at all, s = ha.
    #[test]
    fn a_signature_with_an_r_of_small_order_is_in_no_sum() {
        let signer = SigningKey::from_bytes(&[7; 32]);
        let key = PublicKey::from_bytes(signer.verifying_key().to_bytes());
        for part in EIGHT_TORSION {
            let r = part.compress().to_bytes();
            let mut hash = Context::new(&SHA512);
            for bytes in [r.as_slice(), key.as_bytes(), b"m"] {
                hash.update(bytes);
            }
            let wide = <[u8; 64]>::try_from(hash.finish().as_ref()).unwrap();
            let s = Scalar::from_bytes_mod_order_wide(&wide) * signer.to_scalar();
            let signature = Signature::from_bytes([r, s.to_bytes()].concat().try_into().unwrap());
            assert!(!key.verifies(b"m", &signature));
            assert!(!Equation::default().add(&key, b"m", &signature, weights(1).unwrap()[0]));
        }
    }

    #[test]
    fn a_key_with_a_part_of_small_order_is_in_no_sum() {
        let signer = SigningKey::from_bytes(&[7; 32]);
        let point = CompressedEdwardsY(signer.verifying_key().to_bytes()).decompress().unwrap();
        let signature = Signature::from_bytes(signer.sign(b"m").to_bytes());
        for (n, part) in EIGHT_TORSION.iter().enumerate() {
            let key = PublicKey::from_bytes((point + part).compress().to_bytes());
            let weight = weights(1).unwrap()[0];
            assert_eq!(Equation::default().add(&key, b"m", &signature, weight), n == 0, "{n}");
        }
    }
}
