//! A table of multiples of one point, so that `sB − hA` of many signatures by one key is 64
//! additions and no doublings.
//!
//! What is computed is the multiple itself, digit by digit, also of a point with a part of small
//! order: the table makes it quick and decides nothing.

use curve25519_dalek::edwards::EdwardsPoint;
use curve25519_dalek::scalar::Scalar;

/// Digits of a scalar, in base 256.
const DIGITS: usize = 32;
/// Multiples of each power of 256: digits are from −128 to 127.
const HALF: usize = 128;

/// `d·256^i·P` for every place `i` of a scalar and every digit `d` up to 128: two thirds of a
/// megabyte.
pub(crate) struct Multiples(Vec<EdwardsPoint>);

impl Multiples {
    /// All multiples of a point; takes about as long as checking fifty signatures.
    pub fn of(point: &EdwardsPoint) -> Self {
        let mut all = Vec::with_capacity(DIGITS * HALF);
        let mut base = *point;
        for _ in 0..DIGITS {
            let mut multiple = base;
            for _ in 1..HALF {
                all.push(multiple);
                multiple += base;
            }
            all.push(multiple);
            base = multiple + multiple;
        }
        Multiples(all)
    }

    /// Adds `scalar · P` to a point.
    pub fn add_to(&self, mut sum: EdwardsPoint, scalar: &Scalar) -> EdwardsPoint {
        for (places, digit) in self.0.chunks_exact(HALF).zip(digits(scalar)) {
            let multiple = usize::from(digit.unsigned_abs())
                .checked_sub(1)
                .and_then(|at| places.get(at));
            match multiple {
                Some(multiple) if digit > 0 => sum += multiple,
                Some(multiple) => sum -= multiple,
                None => {}
            }
        }
        sum
    }
}

/// A scalar in base 256 with digits from −128 to 128. It is below 2²⁵³, so nothing is carried out
/// of the last place.
fn digits(scalar: &Scalar) -> [i16; DIGITS] {
    let mut carry = 0;
    scalar.to_bytes().map(|byte| {
        let digit = i16::from(byte) + carry;
        carry = i16::from(digit > 128);
        digit - 256 * carry
    })
}

#[cfg(test)]
mod tests {
    use curve25519_dalek::constants::{ED25519_BASEPOINT_POINT, EIGHT_TORSION};
    use curve25519_dalek::traits::Identity as _;

    use super::*;

    #[test]
    fn multiples_are_those_of_the_point_whatever_its_order() {
        let mut scalars: Vec<Scalar> = [0u64, 1, 127, 128, 129, 255, 256, 32_768, u64::MAX]
            .map(Scalar::from)
            .to_vec();
        scalars.extend([
            -Scalar::ONE,
            -Scalar::from(128u64),
            Scalar::from_bytes_mod_order([0x80; 32]),
        ]);
        scalars
            .extend((0..8u8).map(|n| Scalar::from_bytes_mod_order([n.wrapping_mul(37) + 1; 32])));
        for part in EIGHT_TORSION {
            let point = ED25519_BASEPOINT_POINT * Scalar::from(5u64) + part;
            let table = Multiples::of(&point);
            for scalar in &scalars {
                // Bit by bit: a product modulo the large order would lose the small part.
                let mut expected = EdwardsPoint::identity();
                for bit in (0..256).rev() {
                    expected = expected + expected;
                    if scalar.to_bytes()[bit / 8] >> (bit % 8) & 1 == 1 {
                        expected += point;
                    }
                }
                assert_eq!(
                    table.add_to(EdwardsPoint::identity(), scalar),
                    expected,
                    "{scalar:?}"
                );
            }
        }
    }
}
