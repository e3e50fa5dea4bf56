//! The one predicate for every signature (format, section 5): that of `ssh-keygen`, made strict.
//!
//! A signature `(R, s)` of a key A over M holds when `s` is below the group's order, A and R are
//! canonical encodings of points that are not of small order, and with `h = SHA-512(R ‖ A ‖ M)` the
//! encoding of `sB − hA` is R, byte for byte.
//!
//! There is no other equation: not the one with a cofactor, and no sum of several signatures. Both
//! let pass what a key's holder makes on purpose with a part of small order, the sum sometimes so
//! and sometimes not. However fast `sB − hA` is computed ([`crate::verify`] has a table of
//! multiples of one key), it is this point, and these bytes.

use curve25519_dalek::edwards::{CompressedEdwardsY, EdwardsPoint};
use curve25519_dalek::scalar::Scalar;
use ring::digest::{Context, SHA512};

use super::signature::{PublicKey, Signature};

/// A key that signatures can be checked with: a canonical encoding of a point that is not of small
/// order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verifier {
    bytes: [u8; 32],
    /// −A.
    negated: EdwardsPoint,
}

/// A signature taken apart: what is left to be shown is that `sB + h(−A)` is encoded as R.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignatureEquation {
    /// R, as it stands in the signature.
    pub r: CompressedEdwardsY,
    /// `s`.
    pub s: Scalar,
    /// `h`, taken modulo the order of the large group, as every implementation does.
    pub h: Scalar,
}

impl Verifier {
    /// The key's point; none for bytes that are no canonical encoding, or of a point of small
    /// order.
    pub fn of(key: &PublicKey) -> Option<Self> {
        let bytes = *key.as_bytes();
        let point = CompressedEdwardsY(bytes).decompress()?;
        let canonical = point.compress().to_bytes() == bytes;
        (canonical && !point.is_small_order()).then(|| Verifier {
            bytes,
            negated: -point,
        })
    }

    /// −A.
    pub fn negated(&self) -> &EdwardsPoint {
        &self.negated
    }

    /// Takes a signature over a message apart; none when `s` is not below the order of the group.
    pub fn claim(&self, message: &[u8], signature: &Signature) -> Option<SignatureEquation> {
        let (r, s) = signature.as_bytes().split_at(32);
        let half = |bytes: &[u8]| <[u8; 32]>::try_from(bytes).unwrap_or_default();
        let s = Option::<Scalar>::from(Scalar::from_canonical_bytes(half(s)))?;
        let mut hash = Context::new(&SHA512);
        for part in [r, &self.bytes, message] {
            hash.update(part);
        }
        let mut wide = [0; 64];
        wide.copy_from_slice(hash.finish().as_ref());
        Some(SignatureEquation {
            r: CompressedEdwardsY(half(r)),
            s,
            h: Scalar::from_bytes_mod_order_wide(&wide),
        })
    }

    /// `sB − hA`.
    pub fn point(&self, claim: &SignatureEquation) -> EdwardsPoint {
        EdwardsPoint::vartime_double_scalar_mul_basepoint(&claim.h, &self.negated, &claim.s)
    }

    /// Whether a signature over a message holds.
    #[must_use = "an unchecked signature proves nothing"]
    pub fn holds(&self, message: &[u8], signature: &Signature) -> bool {
        self.claim(message, signature).is_some_and(|claim| {
            let point = self.point(&claim);
            is_r(&point, &point.compress(), &claim)
        })
    }
}

/// Whether a point with its encoding is a signature's R. An encoding that was computed is
/// canonical, so R is too.
#[must_use = "an unchecked signature proves nothing"]
pub fn is_r(point: &EdwardsPoint, encoded: &CompressedEdwardsY, claim: &SignatureEquation) -> bool {
    *encoded == claim.r && !point.is_small_order()
}
