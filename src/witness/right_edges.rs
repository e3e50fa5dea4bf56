//! Right edges of the log's tree, and the proofs that are made from them.

use crate::record::hash::Hash32;
use crate::record::tree::proof::{ProofMaker, continues};
use crate::record::tree::{Frontier, SignedNote, leaf};
use crate::store::Store;

use super::WitnessError;

/// Lines that are read at a time.
const PORTION: u64 = 4096;

/// The tree over the first `size` lines; reads those behind the nearest stored right edge.
pub fn tree_at(store: &Store, size: u64) -> Result<Frontier, WitnessError> {
    let mut tree = match store.tree_mark(size)? {
        Some(bytes) => Frontier::from_bytes(&bytes)?,
        None => Frontier::new(),
    };
    each_leaf(store, tree.size(), size, &mut |leaf| tree.push_leaf(leaf))?;
    Ok(tree)
}

/// The tree that a tree head is signed over, which is kept for the proofs to come.
///
/// Stored right edges are not evidence: when one leads elsewhere, all are forgotten and every line
/// is read.
pub fn tree_of(store: &mut Store, head: &SignedNote) -> Result<Frontier, WitnessError> {
    let mut tree = tree_at(store, head.size);
    if !tree.as_ref().is_ok_and(|tree| tree.root() == head.root) {
        store.drop_tree_marks()?;
        tree = tree_at(store, head.size);
    }
    let tree = tree?;
    if tree.root() != head.root {
        let (expected, actual) = (head.root.to_string(), tree.root().to_string());
        return Err(WitnessError::Lines {
            size: head.size,
            expected,
            actual,
        });
    }
    store.put_tree_mark(tree.size(), &tree.to_bytes())?;
    Ok(tree)
}

/// The proof that a tree head continues the tree of `old` lines; empty for nothing and for itself.
///
/// It is checked before it is handed out: a witness that refuses it has another tree, and that is a
/// finding.
pub fn proof(store: &Store, old: u64, head: &SignedNote) -> Result<Vec<Hash32>, WitnessError> {
    if old == 0 || old >= head.size {
        return Ok(Vec::new());
    }
    let nearest = tree_at(store, old).map(|known| from(store, &known, head));
    if let Ok(Ok(Some(path))) = nearest {
        return Ok(path);
    }
    // The right edge was another log's: from the first line on, then.
    let mut known = Frontier::new();
    each_leaf(store, 0, old, &mut |leaf| known.push_leaf(leaf))?;
    from(store, &known, head)?.ok_or_else(|| WitnessError::Lines {
        size: head.size,
        expected: head.root.to_string(),
        actual: "another".to_owned(),
    })
}

/// The proof from a known tree; none when it does not lead to the tree head.
fn from(
    store: &Store,
    known: &Frontier,
    head: &SignedNote,
) -> Result<Option<Vec<Hash32>>, WitnessError> {
    let Ok(mut maker) = ProofMaker::consistency(known, head.size) else {
        return Ok(None);
    };
    each_leaf(store, known.size(), head.size, &mut |leaf| maker.push(leaf))?;
    let (old, new) = ((known.size(), known.root()), (head.size, head.root));
    Ok(maker.finish().ok().filter(|path| continues(old, new, path)))
}

/// Hands out the leaf hashes of lines `from..to`, in order.
fn each_leaf(
    store: &Store,
    from: u64,
    to: u64,
    each: &mut dyn FnMut(Hash32),
) -> Result<(), WitnessError> {
    let mut at = from;
    while at < to {
        let next = to.min(at + PORTION);
        for line in store.lines(at, next)? {
            each(leaf(line.as_bytes()));
        }
        at = next;
    }
    Ok(())
}
