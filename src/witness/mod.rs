//! Asking witnesses to cosign the newest tree head, and what becomes of their answers (format,
//! section 10).
//!
//! All are asked at once, under one deadline. What they cosign goes to `refs/notes/witness`, on the
//! commit that carries the tree head. A witness behind us gets the proof from where it is; one that
//! is ahead of us, or that holds another tree, is a finding: somebody has seen lines that this
//! ledger does not have.
//!
//! Cost: a proof reads the lines since the tree head that the witness holds, and none before, from
//! a stored right edge of the tree (`marks`). A size that was never stored (a restored database)
//! costs the lines before it, once.

mod note;
mod right_edges;
mod round;

pub use note::standing;
pub use round::{RoundOptions, RoundResult, WitnessOutcome, WitnessStatement, ask};

use crate::ledger::Oid;
use crate::ledger::read::{ObjectFault, OpenError};
use crate::record::ledger::commit::MAIN;
use crate::record::tree::{SignedNote, TreeError, parse_note};
use crate::recorder::RecorderError;
use crate::store::{Store, StoreError};

/// Why witnesses could not be asked at all.
#[derive(Debug, thiserror::Error)]
pub enum WitnessError {
    /// The database could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The notes could not be written.
    #[error(transparent)]
    Recorder(#[from] RecorderError),
    /// The ledger can't be read.
    #[error(transparent)]
    Ledger(#[from] OpenError),
    /// The notes that are there can't be read.
    #[error("{place}: expected {}, found {}", fault.expected(), fault.actual())]
    Notes {
        /// Ref whose notes can't be read.
        place: &'static str,
        /// What is wrong.
        fault: ObjectFault,
    },
    /// The tree head on record can't be read.
    #[error("the tree head of commit {commit} in gently.db: {reason}; run `gently audit verify`")]
    Head {
        /// Commit of `main` that brought the tree head.
        commit: String,
        /// What is wrong.
        reason: String,
    },
    /// The lines on record do not give the tree head that was signed.
    #[error(
        "the first {size} lines in gently.db have the root {actual}, and the tree head signed over them {expected}; no \
         witness was asked. Run `gently audit verify`"
    )]
    Lines {
        /// How many lines.
        size: u64,
        /// The signed root.
        expected: String,
        /// The computed one.
        actual: String,
    },
    /// A stored right edge can't be read.
    #[error(transparent)]
    Tree(#[from] TreeError),
}

/// The newest tree head on `main`, and the commit that carries it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatestTreeHead {
    /// The signed tree head.
    pub note: SignedNote,
    /// Commit of `main` that brought it.
    pub commit: Oid,
}

/// The newest tree head on record; none while `main` has only its genesis.
pub fn newest_head(store: &Store) -> Result<Option<LatestTreeHead>, WitnessError> {
    let Some(row) = store
        .tip(MAIN, store.head()?.commits)?
        .filter(|row| row.segment.is_some())
    else {
        return Ok(None);
    };
    let wrong = |reason: String| WitnessError::Head {
        commit: row.id.clone(),
        reason,
    };
    let bytes = store
        .files(row.tree_of.unwrap_or(row.n))?
        .remove("checkpoint");
    let text = bytes
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| wrong("there is none".into()))?;
    let note = parse_note(&text).map_err(|e| wrong(e.to_string()))?;
    let commit = row
        .id
        .parse()
        .map_err(|e: crate::ledger::OidError| wrong(e.to_string()))?;
    Ok(Some(LatestTreeHead { note, commit }))
}
