//! How the heads of the log stand, by what is on the disk; nobody is asked.

use crate::record::time::Seconds;
use crate::recorder::Paths;
use crate::store::ReadStore;

use super::heads::{LATE, StampNotes, is_complete};
use super::{CommittedTreeHead, StampError};

/// How many heads have which proof.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProofCounts {
    /// Heads that have no note.
    pub unstamped: usize,
    /// Heads whose proof waits for a block.
    pub pending: usize,
    /// Heads that a block attests.
    pub complete: usize,
    /// Heads whose note is no proof of them.
    pub spoiled: Vec<CommittedTreeHead>,
    /// The oldest head whose proof waits, and since when.
    pub oldest: Option<(CommittedTreeHead, Seconds)>,
}

impl ProofCounts {
    /// Reads heads from the database and notes from the ledger; writes nothing.
    pub fn read(paths: &Paths, store: &ReadStore) -> Result<ProofCounts, StampError> {
        let known = StampNotes::read(paths, store)?;
        let (mut standing, mut oldest) = (ProofCounts::default(), None);
        for head in &known.heads {
            match known.proof(head)? {
                None if known.notes.contains_key(&head.commit) => standing.spoiled.push(*head),
                None => standing.unstamped += 1,
                Some(proof) if is_complete(&proof) => standing.complete += 1,
                Some(_) => {
                    standing.pending += 1;
                    oldest.get_or_insert(*head);
                }
            }
        }
        let since = oldest
            .map(|head| Ok::<_, StampError>((head, known.noted_since(&head)?)))
            .transpose()?;
        standing.oldest = since.and_then(|(head, since)| Some((head, since?)));
        Ok(standing)
    }

    /// For how many seconds the oldest proof waits; none when none does.
    pub fn waits(&self, now: Seconds) -> Option<u64> {
        self.oldest.map(|(_, since)| now.since(since))
    }

    /// Whether a proof waits longer than calendars take: more than 48 hours.
    pub fn is_late(&self, now: Seconds) -> bool {
        self.waits(now).is_some_and(|waits| waits > LATE)
    }
}
