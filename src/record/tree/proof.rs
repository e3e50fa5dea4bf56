//! Merkle proofs over the log's tree: that a line is in it, and that one tree continues another.
//!
//! RFC 6962, section 2.1; the roots are those of [`crate::record::tree`]. A proof is made in one pass over
//! leaf hashes, with at most 64 running subtrees; several are made in the same pass by
//! [`Inclusions`]. That one tree continues another takes only the lines since, and the smaller
//! tree's [`Frontier`].
//!
//! An inclusion proof travels as a c2sp tlog-proof:
//!
//! ```text
//! c2sp.org/tlog-proof@v1
//! index 57
//! PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=     the leaf's sibling; one line a level, up to the root's child
//!                                                   an empty line, then the signed tree head as it is
//! ```

use std::collections::BTreeMap;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::{Frontier, node};
use crate::record::hash::Hash32;

/// More hashes than any proof has: a tree has at most 2^64 leaves.
pub const MAX_HASHES: usize = 64;

/// Why a proof could not be made, or a text is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// The entry is not in the tree, or the smaller tree is the larger one.
    #[error("no proof of {what} {part} in a tree of {size} entries")]
    Range {
        /// `entry` or `tree of size`.
        what: &'static str,
        /// Index of the entry, or size of the smaller tree.
        part: u64,
        /// Of the whole tree.
        size: u64,
    },
    /// Another number of leaves than the tree has.
    #[error("a tree of {expected} entries needs so many leaves, got {actual}")]
    Leaves {
        /// The tree's size.
        expected: u64,
        /// How many came.
        actual: u64,
    },
    /// A text that no writer prints.
    #[error("not a tlog-proof: {what}: expected {expected}")]
    Text {
        /// Which part of it.
        what: &'static str,
        /// The form it should have.
        expected: &'static str,
    },
}

/// The largest power of two below `n`, `n` being at least 2: where a tree of `n` leaves is split.
fn split(n: u64) -> u64 {
    1 << (63 - (n - 1).leading_zeros())
}

/// Gathers the roots of ranges of leaves while all leaves pass by once.
#[derive(Debug)]
pub struct ProofMaker {
    /// In the order of the proof.
    ranges: Vec<Range<u64>>,
    roots: Vec<Frontier>,
    next: u64,
    size: u64,
}

impl ProofMaker {
    /// For the proof that entry `index` is in a tree of `size`; takes all leaves from 0.
    pub fn inclusion(index: u64, size: u64) -> Result<Self, ProofError> {
        let ranges = inclusion_ranges(index, size)?;
        Ok(ProofMaker {
            roots: vec![Frontier::new(); ranges.len()],
            ranges,
            next: 0,
            size,
        })
    }

    /// For the proof that a tree of `size` continues the one of `old`; takes the leaves from
    /// `old`'s size.
    pub fn consistency(old: &Frontier, size: u64) -> Result<Self, ProofError> {
        let first = old.size();
        if first > size {
            return Err(ProofError::Range {
                what: "tree of size",
                part: first,
                size,
            });
        }
        let ranges = if first == 0 || first == size {
            Vec::new()
        } else {
            consistency_ranges(first, size)
        };
        let mut roots = vec![Frontier::new(); ranges.len()];
        // What lies in the old tree is one of its complete subtrees.
        let mut at = 0;
        for (level, peak) in (0..64)
            .rev()
            .filter(|level| first >> level & 1 == 1)
            .zip(old.peaks())
        {
            if let Some(known) = ranges
                .iter()
                .position(|range| *range == (at..at + (1 << level)))
            {
                roots[known] = Frontier::default();
                roots[known].push_leaf(*peak);
            }
            at += 1 << level;
        }
        Ok(ProofMaker {
            ranges,
            roots,
            next: first,
            size,
        })
    }

    /// Takes the next leaf hash.
    pub fn push(&mut self, leaf: Hash32) {
        let at = self.next;
        for (range, root) in self.ranges.iter().zip(&mut self.roots) {
            if range.contains(&at) {
                root.push_leaf(leaf);
            }
        }
        self.next += 1;
    }

    /// The proof, when all leaves were there.
    pub fn finish(self) -> Result<Vec<Hash32>, ProofError> {
        if self.next != self.size {
            return Err(ProofError::Leaves {
                expected: self.size,
                actual: self.next,
            });
        }
        Ok(self.roots.iter().map(Frontier::root).collect())
    }
}

/// Several inclusion proofs, each of an entry in the tree of a size of its own, made while all
/// leaves pass by once.
///
/// A leaf is hashed into one tree, however many proofs there are; a root that a proof asks for is
/// kept as it comes by.
#[derive(Debug, Default)]
pub struct Inclusions {
    /// The subtrees of each proof, in its order.
    asked: Vec<Vec<Range<u64>>>,
    /// Beginnings of the subtrees that end behind a leaf, and their roots once they are known; by
    /// that end.
    ends: BTreeMap<u64, BTreeMap<u64, Option<Hash32>>>,
    /// Roots of complete subtrees, largest first, and where they begin.
    peaks: Vec<(u64, Hash32)>,
    next: u64,
    size: u64,
}

impl Inclusions {
    /// For these pairs of an entry's index and a tree's size.
    pub fn of(pairs: &[(u64, u64)]) -> Result<Self, ProofError> {
        let mut all = Inclusions::default();
        for (index, size) in pairs {
            let ranges = inclusion_ranges(*index, *size)?;
            for range in &ranges {
                all.ends
                    .entry(range.end)
                    .or_default()
                    .insert(range.start, None);
            }
            all.asked.push(ranges);
            all.size = all.size.max(*size);
        }
        Ok(all)
    }

    /// How many leaves there have to be: the largest size.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Takes the next leaf hash; behind the largest size more are passed over.
    pub fn push(&mut self, leaf: Hash32) {
        let (mut from, mut hash, end) = (self.next, leaf, self.next + 1);
        let mut due = self.ends.get_mut(&end);
        let mut keep = |from: u64, hash: Hash32| {
            if let Some(root) = due.as_mut().and_then(|due| due.get_mut(&from)) {
                *root = Some(hash);
            }
        };
        keep(from, hash);
        for _ in 0..self.next.trailing_ones() {
            let Some((start, left)) = self.peaks.pop() else {
                break;
            };
            (from, hash) = (start, node(left, hash));
            keep(from, hash);
        }
        self.peaks.push((from, hash));
        // What ends here and is no complete subtree is the edge of a tree of this size.
        for (start, root) in due.into_iter().flatten().filter(|(_, root)| root.is_none()) {
            let mut edge = self
                .peaks
                .iter()
                .rev()
                .take_while(|(from, _)| from >= start)
                .map(|(_, hash)| *hash);
            *root = edge
                .next()
                .map(|last| edge.fold(last, |right, left| node(left, right)));
        }
        self.next = end;
    }

    /// The proofs, in the order in which they were asked for, when all leaves were there.
    pub fn finish(self) -> Result<Vec<Vec<Hash32>>, ProofError> {
        let short = ProofError::Leaves {
            expected: self.size,
            actual: self.next,
        };
        let known = |range: &Range<u64>| {
            self.ends
                .get(&range.end)?
                .get(&range.start)
                .copied()
                .flatten()
        };
        let paths: Option<_> = self
            .asked
            .iter()
            .map(|ranges| ranges.iter().map(known).collect())
            .collect();
        paths.ok_or(short)
    }
}

/// Subtrees of an inclusion proof, in its order.
fn inclusion_ranges(index: u64, size: u64) -> Result<Vec<Range<u64>>, ProofError> {
    if index >= size {
        return Err(ProofError::Range {
            what: "entry",
            part: index,
            size,
        });
    }
    let (mut from, mut to, mut ranges) = (0, size, Vec::new());
    while to - from > 1 {
        let middle = from + split(to - from);
        if index < middle {
            ranges.push(middle..to);
            to = middle;
        } else {
            ranges.push(from..middle);
            from = middle;
        }
    }
    ranges.reverse();
    Ok(ranges)
}

/// Subtrees of a consistency proof, in its order; `0 < old < size`.
fn consistency_ranges(old: u64, size: u64) -> Vec<Range<u64>> {
    let (mut from, mut to, mut ranges) = (0, size, Vec::new());
    while old != to {
        let middle = from + split(to - from);
        if old <= middle {
            ranges.push(middle..to);
            to = middle;
        } else {
            ranges.push(from..middle);
            from = middle;
        }
    }
    // The old tree's own root is known to whoever checks.
    if from > 0 {
        ranges.push(from..to);
    }
    ranges.reverse();
    ranges
}

/// Whether `leaf` is entry `index` of the tree of `size` entries with this root.
#[must_use = "an unchecked proof proves nothing"]
pub fn includes(leaf: Hash32, index: u64, size: u64, path: &[Hash32], root: Hash32) -> bool {
    if index >= size {
        return false;
    }
    let (mut at, mut last, mut hash) = (index, size - 1, leaf);
    for sibling in path {
        if last == 0 {
            return false;
        }
        if at & 1 == 1 || at == last {
            hash = node(*sibling, hash);
            while at & 1 == 0 && at != 0 {
                (at, last) = (at >> 1, last >> 1);
            }
        } else {
            hash = node(hash, *sibling);
        }
        (at, last) = (at >> 1, last >> 1);
    }
    last == 0 && hash == root
}

/// Whether the tree `new` (size and root) continues the tree `old`.
///
/// Every tree continues the empty one; the proof of that, and of a tree against itself, is empty.
#[must_use = "an unchecked proof proves nothing"]
pub fn continues(old: (u64, Hash32), new: (u64, Hash32), path: &[Hash32]) -> bool {
    let ((first, first_root), (second, second_root)) = (old, new);
    if first == 0 || first == second {
        return path.is_empty() && first <= second && (first == 0 || first_root == second_root);
    }
    if first > second {
        return false;
    }
    let own = first.is_power_of_two().then_some(first_root);
    let mut hashes = own.into_iter().chain(path.iter().copied());
    let Some(start) = hashes.next() else {
        return false;
    };
    let (mut at, mut last) = (first - 1, second - 1);
    while at & 1 == 1 {
        (at, last) = (at >> 1, last >> 1);
    }
    let (mut small, mut large) = (start, start);
    for hash in hashes {
        if last == 0 {
            return false;
        }
        if at & 1 == 1 || at == last {
            (small, large) = (node(hash, small), node(hash, large));
            while at & 1 == 0 && at != 0 {
                (at, last) = (at >> 1, last >> 1);
            }
        } else {
            large = node(large, hash);
        }
        (at, last) = (at >> 1, last >> 1);
    }
    last == 0 && small == first_root && large == second_root
}

/// How a tlog-proof begins.
const FIRST_LINE: &str = "c2sp.org/tlog-proof@v1";

/// An inclusion proof with the tree head that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlogProof {
    /// Number of the entry, from 0.
    pub index: u64,
    /// The proof, the leaf's sibling first.
    pub path: Vec<Hash32>,
    /// The signed tree head, with all its signatures, as it is.
    pub checkpoint: String,
}

impl TlogProof {
    /// Prints the proof as text, as C2SP's tlog-proof has it.
    pub fn print(&self) -> String {
        let mut out = format!("{FIRST_LINE}\nindex {}\n", self.index);
        for hash in &self.path {
            out.push_str(&base64_line(*hash));
        }
        out.push('\n');
        out.push_str(&self.checkpoint);
        out
    }

    /// Reads what [`TlogProof::print`] writes; a proof with an `extra` line is not one of ours.
    pub fn parse(text: &str) -> Result<TlogProof, ProofError> {
        let wrong = |what, expected| ProofError::Text { what, expected };
        let (head, checkpoint) = text
            .split_once("\n\n")
            .ok_or(wrong("lines", "a proof, an empty line, a tree head"))?;
        let mut lines = head.split('\n');
        if lines.next() != Some(FIRST_LINE) {
            return Err(wrong("first line", FIRST_LINE));
        }
        let index = lines
            .next()
            .and_then(|line| line.strip_prefix("index "))
            .and_then(|n| n.parse().ok());
        let index = index.ok_or(wrong("second line", "'index' and a number"))?;
        let path: Option<Vec<Hash32>> = lines.map(hash_of_line).collect();
        let path = path.filter(|path| path.len() <= MAX_HASHES);
        let path = path.ok_or(wrong("proof", "at most 64 lines of base64, 32 bytes each"))?;
        let proof = TlogProof {
            index,
            path,
            checkpoint: checkpoint.to_owned(),
        };
        if proof.print() == text {
            Ok(proof)
        } else {
            Err(wrong("spelling", "what a writer prints"))
        }
    }
}

/// One hash as proofs spell it, with its newline.
pub fn base64_line(hash: Hash32) -> String {
    format!("{}\n", BASE64.encode(hash.as_bytes()))
}

fn hash_of_line(line: &str) -> Option<Hash32> {
    BASE64
        .decode(line)
        .ok()
        .and_then(|bytes| <[u8; 32]>::try_from(bytes).ok())
        .map(Hash32::from_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tree::leaf;
    use proptest::prelude::*;

    fn leaves(count: u64) -> Vec<Hash32> {
        (0..count).map(|n| leaf(&n.to_be_bytes())).collect()
    }

    fn tree(leaves: &[Hash32]) -> Frontier {
        let mut tree = Frontier::new();
        leaves.iter().for_each(|leaf| tree.push_leaf(*leaf));
        tree
    }

    fn made(mut maker: ProofMaker, leaves: &[Hash32]) -> Vec<Hash32> {
        leaves.iter().for_each(|leaf| maker.push(*leaf));
        maker.finish().unwrap()
    }

    #[test]
    fn every_entry_of_every_small_tree_is_proven() {
        for size in 1..40 {
            let all = leaves(size);
            let root = tree(&all).root();
            for index in 0..size {
                let path = made(ProofMaker::inclusion(index, size).unwrap(), &all);
                let own = all[usize::try_from(index).unwrap()];
                assert!(includes(own, index, size, &path, root), "{index} of {size}");
                assert!(!includes(own, index + 1, size, &path, root));
                assert!(!includes(leaf(b"another"), index, size, &path, root));
                for changed in 0..path.len() {
                    let mut path = path.clone();
                    path[changed] = leaf(b"another");
                    assert!(!includes(own, index, size, &path, root));
                    path.remove(changed);
                    assert!(!includes(own, index, size, &path, root));
                }
                assert!(!includes(
                    own,
                    index,
                    size,
                    &[path, vec![root]].concat(),
                    root
                ));
            }
        }
        assert!(ProofMaker::inclusion(3, 3).is_err());
    }

    #[test]
    fn several_proofs_of_one_pass_are_those_of_one_each() {
        let all = leaves(40);
        let pairs: Vec<(u64, u64)> = (1..40)
            .flat_map(|size| (0..size).map(move |index| (index, size)))
            .collect();
        for some in [
            &pairs[..],
            &pairs[700..],
            &[(0, 1)],
            &[(38, 39), (0, 39), (38, 39)],
            &[],
        ] {
            let mut made_at_once = Inclusions::of(some).unwrap();
            all.iter()
                .take(usize::try_from(made_at_once.size()).unwrap())
                .for_each(|leaf| made_at_once.push(*leaf));
            let paths = made_at_once.finish().unwrap();
            assert_eq!(paths.len(), some.len());
            for ((index, size), path) in some.iter().zip(paths) {
                let own = made(
                    ProofMaker::inclusion(*index, *size).unwrap(),
                    &all[..usize::try_from(*size).unwrap()],
                );
                assert_eq!(path, own, "{index} of {size}");
            }
        }
        assert!(Inclusions::of(&[(0, 3), (3, 3)]).is_err());
        let mut short = Inclusions::of(&[(0, 3)]).unwrap();
        all[..2].iter().for_each(|leaf| short.push(*leaf));
        assert_eq!(
            short.finish(),
            Err(ProofError::Leaves {
                expected: 3,
                actual: 2
            })
        );
    }

    #[test]
    fn every_small_tree_continues_every_smaller_one() {
        for size in 0..40 {
            let all = leaves(size);
            let whole = tree(&all);
            for first in 0..=size {
                let old = tree(&all[..usize::try_from(first).unwrap()]);
                let since = &all[usize::try_from(first).unwrap()..];
                let path = made(ProofMaker::consistency(&old, size).unwrap(), since);
                let (small, large) = ((first, old.root()), (size, whole.root()));
                assert!(continues(small, large, &path), "{first} of {size}");
                if first > 0 && first < size {
                    assert!(!continues((first, leaf(b"another")), large, &path));
                    assert!(!continues(small, (size, leaf(b"another")), &path));
                    assert!(!continues(large, small, &path));
                    for changed in 0..path.len() {
                        let mut path = path.clone();
                        path[changed] = leaf(b"another");
                        assert!(!continues(small, large, &path));
                        path.remove(changed);
                        assert!(!continues(small, large, &path));
                    }
                }
            }
        }
        assert!(ProofMaker::consistency(&tree(&leaves(3)), 2).is_err());
        assert!(matches!(
            ProofMaker::inclusion(0, 3).unwrap().finish(),
            Err(ProofError::Leaves { .. })
        ));
    }

    #[test]
    fn a_tlog_proof_has_one_spelling() {
        let proof = TlogProof {
            index: 57,
            path: leaves(3),
            checkpoint: "o\n58\nroot\n\n— o sig\n".to_owned(),
        };
        let text = proof.print();
        assert_eq!(TlogProof::parse(&text).unwrap(), proof);
        for (from, to) in [
            ("@v1", "@v2"),
            ("index 57", "index 057"),
            ("index 57", "index  57"),
            ("index 57", "Index 57"),
            ("index 57\n", "extra eA==\nindex 57\n"),
            ("=\n", "\n"),
            ("=\n\n", "=\n"),
            ("\nindex", "\r\nindex"),
        ] {
            assert!(text.contains(from), "{from:?}");
            assert!(
                TlogProof::parse(&text.replacen(from, to, 1)).is_err(),
                "{from:?} -> {to:?}"
            );
        }
        let long = TlogProof {
            path: leaves(65),
            ..proof
        };
        assert!(TlogProof::parse(&long.print()).is_err());
    }

    proptest! {
        #[test]
        fn large_trees_too(size in 1u64..3000, pick: u64, first: u64) {
            let all = leaves(size);
            let whole = tree(&all);
            let index = pick % size;
            let path = made(ProofMaker::inclusion(index, size).unwrap(), &all);
            prop_assert!(includes(all[usize::try_from(index).unwrap()], index, size, &path, whole.root()));
            let cut = usize::try_from(first % (size + 1)).unwrap();
            let old = tree(&all[..cut]);
            let path = made(ProofMaker::consistency(&old, size).unwrap(), &all[cut..]);
            prop_assert!(continues((old.size(), old.root()), (size, whole.root()), &path));
        }
    }
}
