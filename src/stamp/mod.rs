//! *Not after*: tree heads handed to OpenTimestamps calendars, and what became of them (format,
//! section 9).
//!
//! What is stamped is the file `checkpoint` of a commit of `main`, byte for byte, so that the stock
//! client needs nothing else; what comes back is a note on that commit in `refs/notes/ots`. A head
//! is *unstamped* (no note), *pending* (calendars have promised) or *complete* (a Bitcoin block
//! attests it, and its header was at hand and confirmed it). Nothing else is ever written: an
//! answer that is slow, rubbish, another's, or contradicted by a header changes nothing.
//!
//! All that is sent to a calendar are 32 bytes: the hash of a tree head, or the Merkle root over
//! several, or what a calendar itself made of one.

mod faults;
mod heads;
mod proof_counts;
mod stamping;
mod upgrading;

use std::time::Duration;

use futures_util::future::join;

use crate::anchor::BlockSource;
use crate::anchor::calendar::Calendar;
use crate::ledger::{LedgerError, Oid};
use crate::record::bitcoin::block::Network;
use crate::record::hash::Hash32;
use crate::record::time::Seconds;
use crate::recorder::{Paths, RecorderError};
use crate::store::{ReadStore, StoreError};

pub use proof_counts::ProofCounts;
pub use stamping::StampResult;
pub use upgrading::{CompleteHead, UpgradeResult};

/// What everything at a session's close may take together.
pub const AT_CLOSE: Duration = Duration::from_secs(2);
/// What `gently audit stamp` and `gently audit upgrade` may take.
pub const AT_LEISURE: Duration = Duration::from_secs(20);
/// How many of the newest heads a close looks at for pending proofs; `gently audit upgrade` looks
/// at all.
const NEWEST: usize = 256;

/// Why nothing could be stamped or completed.
#[derive(Debug, thiserror::Error)]
pub enum StampError {
    /// The database could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The ledger could not be read or written.
    #[error("{0}")]
    Ledger(#[from] LedgerError),
    /// Writing the note.
    #[error(transparent)]
    Recorder(#[from] RecorderError),
    /// The ledger's objects.
    #[error("refs/notes/ots of ledger.git can't be read: {0}")]
    Notes(String),
}

/// What stamping needs; all of it is chosen outside.
pub struct Stamper<'a> {
    /// Where the home's parts are.
    pub paths: &'a Paths,
    /// Database of the home, for queries alone.
    pub store: &'a ReadStore,
    /// Who is asked; nobody when empty.
    pub calendars: &'a [Calendar],
    /// How many of them have to accept a head.
    pub quorum: usize,
    /// The ledger's chain.
    pub network: Network,
    /// Who knows headers that the home's own store does not have.
    pub sources: &'a [Box<dyn BlockSource>],
    /// Clock that says when a calendar was asked.
    pub clock: &'a dyn Fn() -> Seconds,
}

/// A tree head: a commit of `main`, and the file in it that states one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommittedTreeHead {
    /// Commit of `main` that brought the tree head.
    pub commit: Oid,
    /// H of its `checkpoint`.
    pub file: Hash32,
}

/// What came of both at a session's close; a part that failed says why.
#[derive(Debug)]
pub struct CloseStampResult {
    /// What came of stamping new tree heads.
    pub stamping: Result<StampResult, StampError>,
    /// What came of upgrading proofs of earlier tree heads.
    pub upgrading: Result<UpgradeResult, StampError>,
}

impl Stamper<'_> {
    /// Stamps what is unstamped and completes what is pending, within [`AT_CLOSE`]; none when
    /// nobody is to be asked.
    ///
    /// Needs no answer: what was not done is done at the next close, or by hand.
    pub async fn at_close(&self) -> Option<CloseStampResult> {
        if self.calendars.is_empty() {
            return None;
        }
        let (stamping, upgrading) =
            join(self.stamp(AT_CLOSE), self.upgrade(AT_CLOSE, Some(NEWEST))).await;
        Some(CloseStampResult {
            stamping,
            upgrading,
        })
    }

    fn configured(&self) -> Vec<String> {
        self.calendars
            .iter()
            .map(|calendar| calendar.name().to_owned())
            .collect()
    }
}
