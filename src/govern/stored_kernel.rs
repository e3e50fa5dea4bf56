//! Kernels as they stand on record: reading them, each once, and what they withhold.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::kernel::Kernel;
use crate::record::hash::Hash32;

/// A kernel that was read from where it is stored, or why it can't be read.
pub type StoredKernel = Result<Kernel, String>;

/// Kernels by their hash, each read once.
#[derive(Default)]
pub struct StoredKernels {
    known: RefCell<HashMap<Hash32, Rc<StoredKernel>>>,
}

impl Kernel {
    /// Reads what is stored for a kernel's hash; none where nothing is.
    pub fn stored(json: Option<&str>) -> StoredKernel {
        match json {
            Some(json) => Kernel::from_canonical(json).map_err(|e| e.to_string()),
            None => Err("its kernel is not in the database".to_owned()),
        }
    }

    /// Whether a kernel withholds an answer with this drift, of which each event has a class and a
    /// summary. One that can't be read withholds, so that nothing is shown on a guess.
    pub fn withholds<'d>(
        kernel: Option<&Kernel>,
        drift: impl IntoIterator<Item = (&'d str, &'d str)>,
    ) -> bool {
        let blocks =
            |(class, summary)| kernel.is_none_or(|kernel: &Kernel| kernel.blocks(class, summary));
        drift.into_iter().any(blocks)
    }
}

impl StoredKernels {
    /// The kernel of this hash; `read` gives its stored text, if there is one.
    pub fn get<E>(
        &self,
        hash: Hash32,
        read: impl FnOnce(Hash32) -> Result<Option<String>, E>,
    ) -> Result<Rc<StoredKernel>, E> {
        if let Some(known) = self.known.borrow().get(&hash) {
            return Ok(known.clone());
        }
        let kernel = Rc::new(Kernel::stored(read(hash)?.as_deref()));
        self.known.borrow_mut().insert(hash, kernel.clone());
        Ok(kernel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_read_once_and_a_missing_one_is_told() {
        let (kernels, genesis) = (StoredKernels::default(), Kernel::genesis());
        let text = genesis.canonical_json().to_owned();
        let read = kernels.get(genesis.hash(), |_| Ok::<_, ()>(Some(text)));
        assert_eq!(
            read.unwrap().as_ref().as_ref().unwrap().hash(),
            genesis.hash()
        );
        let again = kernels.get(genesis.hash(), |_| Err("it was read again"));
        assert!(again.unwrap().is_ok());
        let missing = kernels.get(Hash32::ZERO, |_| Ok::<_, ()>(None));
        assert!(missing.unwrap().is_err());
        assert_eq!(
            kernels.get(Hash32::digest(b""), |_| Err("gone")).err(),
            Some("gone")
        );
    }

    #[test]
    fn no_drift_withholds_nothing_and_an_unreadable_kernel_everything_else() {
        let kernel = Kernel::genesis();
        // The embedded kernel blocks no class that it knows.
        let warned = [("authority", "claimed_side_effect wrote a file")];
        assert!(!Kernel::withholds(Some(&kernel), warned));
        assert!(Kernel::withholds(Some(&kernel), [("no such class", "")]));
        assert!(Kernel::withholds(None, warned));
        assert!(!Kernel::withholds(Some(&kernel), []));
        assert!(!Kernel::withholds(None, []));
    }
}
