//! Handing heads to calendars.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;

use crate::anchor::SourceFault;
use crate::record::ledger::commit::NOTES_OTS;
use crate::record::ots::{FileHash, Proof, ProofNode, together};
use crate::recorder::put_notes;

use super::heads::merged;
use super::{CommittedTreeHead, StampError, Stamper};

/// Heads that one question stamps; the rest waits for the next.
const AT_ONCE: usize = 256;

/// What came of stamping.
#[derive(Debug, Default)]
pub struct StampResult {
    /// Heads that have a proof now, oldest first.
    pub stamped: Vec<CommittedTreeHead>,
    /// Heads that still have none.
    pub left: usize,
    /// How many calendars had to accept.
    pub quorum: usize,
    /// The calendars that were asked, in the order of configuration, and why one did not accept.
    pub answers: Vec<(String, Option<SourceFault>)>,
}

impl StampResult {
    /// Calendars that accepted.
    pub fn accepted(&self) -> impl Iterator<Item = &str> {
        self.answers
            .iter()
            .filter(|(_, fault)| fault.is_none())
            .map(|(name, _)| name.as_str())
    }

    /// Why the others did not.
    pub fn faults(&self) -> impl Iterator<Item = &SourceFault> {
        self.answers.iter().filter_map(|(_, fault)| fault.as_ref())
    }
}

impl Stamper<'_> {
    /// Stamps the heads that have no note, oldest first, at most 256 of them: all calendars are
    /// asked at once.
    ///
    /// A proof is written when `quorum` calendars have accepted within `deadline`; else nothing
    /// changes.
    pub async fn stamp(&self, deadline: Duration) -> Result<StampResult, StampError> {
        let known = self.stamped()?;
        let mut heads: Vec<CommittedTreeHead> = known
            .heads
            .iter()
            .filter(|head| !known.notes.contains_key(&head.commit))
            .copied()
            .collect();
        let unstamped = heads.len();
        heads.truncate(AT_ONCE);
        let mut done = StampResult {
            left: unstamped,
            quorum: self.quorum,
            ..StampResult::default()
        };
        let files: Vec<_> = heads.iter().map(|head| head.file).collect();
        let Some((root, paths)) = together(&files) else {
            return Ok(done);
        };
        let configured = self.configured();
        let asked = self.calendars.iter().map(|calendar| async {
            let answer =
                tokio::time::timeout(deadline, calendar.submit(root.as_bytes(), &configured)).await;
            let late = || SourceFault::Timeout {
                at: calendar.name().to_owned(),
                after: deadline,
            };
            (
                calendar.name(),
                answer.map_err(|_| late()).and_then(|answer| answer),
            )
        });
        let mut promises = ProofNode::default();
        for (name, answer) in join_all(asked).await {
            match answer {
                Ok(tree) => {
                    promises.merge(tree);
                    done.answers.push((name.to_owned(), None));
                }
                Err(fault) => done.answers.push((name.to_owned(), Some(fault))),
            }
        }
        if done.accepted().count() < self.quorum.max(1) {
            return Ok(done);
        }
        let mut notes = BTreeMap::new();
        for (head, path) in heads.iter().zip(paths) {
            let tree = path
                .into_iter()
                .rev()
                .fold(promises.clone(), |below, op| ProofNode {
                    branches: BTreeMap::from([(op, below)]),
                    ..ProofNode::default()
                });
            let proof = Proof {
                file_hash: FileHash::Sha256,
                digest: head.file.as_bytes().to_vec(),
                tree,
            };
            notes.insert(head.commit, proof.print());
        }
        // One that we could not read again is none.
        notes.retain(|_, bytes| Proof::read(bytes).is_ok());
        put_notes(self.paths, NOTES_OTS, &notes, (self.clock)(), &merged)?;
        done.left -= notes.len();
        heads.retain(|head| notes.contains_key(&head.commit));
        done.stamped = heads;
        Ok(done)
    }
}
