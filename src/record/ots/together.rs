//! Many digests under one: a Merkle tree, so that one question to a calendar stamps them all.

use super::Op;
use crate::record::hash::Hash32;

/// The root over digests, and for each the operations that lead from it there; the digest itself
/// when there is one.
///
/// Nodes are `SHA-256(left ‖ right)`; a node without a neighbour goes up as it is. None for no
/// digest at all.
pub fn together(digests: &[Hash32]) -> Option<(Hash32, Vec<Vec<Op>>)> {
    let mut paths: Vec<Vec<Op>> = vec![Vec::new(); digests.len()];
    // Each node with the digests below it.
    let mut level: Vec<(Hash32, Vec<usize>)> = digests
        .iter()
        .copied()
        .zip((0..digests.len()).map(|at| vec![at]))
        .collect();
    while level.len() > 1 {
        let mut above = Vec::with_capacity(level.len().div_ceil(2));
        let mut nodes = level.into_iter();
        while let Some((left, mut below)) = nodes.next() {
            let Some((right, of_right)) = nodes.next() else {
                above.push((left, below));
                break;
            };
            for at in &below {
                paths[*at].extend([Op::Append(right.as_bytes().to_vec()), Op::Sha256]);
            }
            for at in &of_right {
                paths[*at].extend([Op::Prepend(left.as_bytes().to_vec()), Op::Sha256]);
            }
            below.extend(of_right);
            above.push((
                Hash32::of_parts(&[left.as_bytes(), right.as_bytes()]),
                below,
            ));
        }
        level = above;
    }
    level.pop().map(|(root, _)| (root, paths))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_ends_in_the_root() {
        assert_eq!(together(&[]), None);
        for count in 1..40_u8 {
            let digests: Vec<Hash32> = (0..count).map(|n| Hash32::digest(&[n])).collect();
            let (root, paths) = together(&digests).unwrap();
            for (digest, path) in digests.iter().zip(&paths) {
                let end = path
                    .iter()
                    .try_fold(digest.as_bytes().to_vec(), |message, op| op.apply(&message))
                    .unwrap();
                assert_eq!(end, root.as_bytes(), "{count}");
                assert!(path.len() <= 12);
            }
        }
        let one = Hash32::digest(b"x");
        assert_eq!(together(&[one]), Some((one, vec![Vec::new()])));
    }
}
