//! Asking calendars what became of their promises.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;

use crate::anchor::SourceFault;
use crate::anchor::calendar::{Calendar, is_known};
use crate::anchor::headers_store::HeadersStore;
use crate::record::bitcoin::block::{Anchor, Header, Network};
use crate::record::bitcoin::epochs::is_cheap;
use crate::record::ledger::commit::NOTES_OTS;
use crate::record::ots::{Attestation, Op, Proof, ProofNode};
use crate::recorder::put_notes;

use super::faults::{StampFault, StampFaults};
use super::heads::{StampNotes, is_complete, merged};
use super::{CommittedTreeHead, StampError, Stamper};

/// Promises that are asked for at once.
const AT_ONCE: usize = 64;

/// A head whose proof is complete now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompleteHead {
    /// The tree head whose proof is complete.
    pub head: CommittedTreeHead,
    /// Height of the lowest block that attests it.
    pub height: u32,
}

/// What came of asking.
#[derive(Debug, Default)]
pub struct UpgradeResult {
    /// Newly complete, oldest first.
    pub completed: Vec<CompleteHead>,
    /// Still pending, oldest first.
    pub pending: Vec<CommittedTreeHead>,
    /// Of those, the ones pending for more than 48 hours.
    pub late: Vec<CommittedTreeHead>,
    /// Calendars that did not answer, each once.
    pub unreached: Vec<SourceFault>,
    /// Lines for the person: answers that were refused, notes that are no proofs, headers that are
    /// missing.
    pub words: Vec<String>,
}

/// A promise: whom to ask for what.
type Promise = (String, Vec<u8>);

/// A head that waits, with its promises and where in its tree they stand.
struct PendingHead {
    head: CommittedTreeHead,
    proof: Proof,
    promises: Vec<(Promise, Vec<Op>)>,
}

/// When asking ends, and how long it was to take.
#[derive(Clone, Copy)]
struct AskDeadline {
    at: Instant,
    after: Duration,
}

/// What a header says of a message.
enum HeaderStatement {
    Confirms,
    Contradicts(String),
    /// Some sources confirm it, and these have another block there.
    Disputed(String),
    NotAtHand,
}

impl Stamper<'_> {
    /// Asks for what is pending among the newest heads (all without a number), and writes what a
    /// block confirms.
    ///
    /// A calendar's answer is written only when the header of the block that it names is at hand
    /// and its Merkle root is what the proof ends in.
    pub async fn upgrade(
        &self,
        deadline: Duration,
        newest: Option<usize>,
    ) -> Result<UpgradeResult, StampError> {
        let until = AskDeadline {
            at: Instant::now() + deadline,
            after: deadline,
        };
        let known = self.stamped()?;
        let mut done = UpgradeResult::default();
        let mut waiting = waiting(&known, newest, &self.configured(), &mut done)?;
        let wanted: BTreeSet<Promise> = waiting
            .iter()
            .flat_map(|one| one.promises.iter().map(|(promise, _)| promise.clone()))
            .collect();
        let answers = self.answers(&wanted, until, &mut done).await;
        let mut notes = BTreeMap::new();
        for one in &mut waiting {
            for (promise, path) in &one.promises {
                if let Some((tree, height)) = answers.get(promise)
                    && let Some(node) = one.proof.tree.node(path)
                {
                    node.merge(tree.clone());
                    let bytes = one.proof.print();
                    if Proof::read(&bytes).is_ok() {
                        notes.insert(one.head.commit, (bytes, *height));
                    }
                }
            }
        }
        let written = notes
            .iter()
            .map(|(commit, (bytes, _))| (*commit, bytes.clone()))
            .collect();
        put_notes(self.paths, NOTES_OTS, &written, (self.clock)(), &merged)?;
        let early = known.noted_early((self.clock)())?;
        for PendingHead { head, .. } in waiting {
            match notes.get(&head.commit) {
                Some((_, height)) => done.completed.push(CompleteHead {
                    head,
                    height: *height,
                }),
                None => done.pending.push(head),
            }
        }
        done.late = done
            .pending
            .iter()
            .filter(|head| early.contains_key(&head.commit))
            .copied()
            .collect();
        Ok(done)
    }

    /// What became of promises: trees that a header confirms, with the lowest height in each.
    async fn answers(
        &self,
        wanted: &BTreeSet<Promise>,
        until: AskDeadline,
        done: &mut UpgradeResult,
    ) -> BTreeMap<Promise, (ProofNode, u32)> {
        let wanted: Vec<&Promise> = wanted.iter().collect();
        let (mut confirmed, mut faults) = (BTreeMap::new(), StampFaults::default());
        for some in wanted.chunks(AT_ONCE) {
            if Instant::now() >= until.at {
                break;
            }
            let some: Vec<&Promise> = some
                .iter()
                .copied()
                .filter(|(uri, _)| !faults.is_unreached(uri))
                .collect();
            let asked = some.iter().map(|promise| self.answer(promise, until));
            for (promise, answer) in some.iter().zip(join_all(asked).await) {
                match answer {
                    Ok(Some(answer)) => drop(confirmed.insert((*promise).clone(), answer)),
                    Ok(None) => {}
                    Err(fault) => faults.add(&promise.0, fault),
                }
            }
        }
        let (unreached, words) = faults.told();
        done.unreached = unreached;
        done.words.extend(words);
        confirmed
    }

    /// What became of one promise; none while it is one.
    async fn answer(
        &self,
        (uri, commitment): &Promise,
        until: AskDeadline,
    ) -> Result<Option<(ProofNode, u32)>, StampFault> {
        let calendar = Calendar::new(uri).map_err(StampFault::of)?;
        let answer = tokio::time::timeout_at(until.at, calendar.complete(commitment)).await;
        let late = |_| {
            StampFault::of(SourceFault::Timeout {
                at: uri.clone(),
                after: until.after,
            })
        };
        let Some(tree) = answer.map_err(late)?.map_err(StampFault::of)? else {
            return Ok(None);
        };
        let leaves = tree
            .leaves(commitment)
            .map_err(|reason| StampFault::Refused(format!("{uri}: {reason}")))?;
        let mut lowest = None;
        for leaf in &leaves {
            let Attestation::Bitcoin { height } = leaf.attestation else {
                continue;
            };
            let none =
                |_| StampFault::Refused(format!("{uri}: names block {height}, which is none"));
            let named = u32::try_from(*height).map_err(none)?;
            match self.word(named, &leaf.message, until).await {
                HeaderStatement::Confirms => {
                    lowest = Some(lowest.map_or(named, |low: u32| low.min(named)))
                }
                HeaderStatement::Contradicts(who) => {
                    return Err(StampFault::Refused(format!(
                        "refused: {uri} answers with a proof that ends in another Merkle root than that of block \
                         {height}, as {who} has it; nothing was changed"
                    )));
                }
                HeaderStatement::Disputed(who) => {
                    return Err(StampFault::NoHeader(format!(
                        "{uri} names block {height}, and {who} has another one there than the other sources: the proof \
                         stays pending (gently anchor sync)"
                    )));
                }
                HeaderStatement::NotAtHand => {
                    return Err(StampFault::NoHeader(format!(
                        "{uri} names block {height}, and no header of it is at hand: the proof stays pending (gently \
                         anchor sync, or a block source)"
                    )));
                }
            }
        }
        Ok(lowest.map(|height| (tree.clone(), height)))
    }

    /// Whether a message is the Merkle root of the block at a height: of the home's own headers,
    /// else of the sources'.
    async fn word(&self, height: u32, message: &[u8], until: AskDeadline) -> HeaderStatement {
        let own = HeadersStore::peek(&self.paths.headers(), self.network, height)
            .ok()
            .flatten();
        if let Some(header) = own {
            let confirms = is_root(&header, message);
            return if confirms {
                HeaderStatement::Confirms
            } else {
                HeaderStatement::Contradicts("the headers store".to_owned())
            };
        }
        let asked = self.sources.iter().map(|source| async {
            (
                source.name(),
                tokio::time::timeout_at(until.at, source.at(height))
                    .await
                    .ok()
                    .and_then(Result::ok),
            )
        });
        let (mut confirm, mut others) = (0, Vec::new());
        for (name, anchor) in join_all(asked).await {
            let Some(anchor) = anchor.filter(|anchor| is_sound(anchor, self.network)) else {
                continue;
            };
            match anchor.header {
                Some(header) if is_root(&header, message) => confirm += 1,
                Some(_) => others.push(name.to_owned()),
                None => {}
            }
        }
        // Of several that answer, only what all of them have counts.
        match (confirm, others.is_empty()) {
            (0, true) => HeaderStatement::NotAtHand,
            (_, true) => HeaderStatement::Confirms,
            (0, false) => HeaderStatement::Contradicts(others.join(", ")),
            (_, false) => HeaderStatement::Disputed(others.join(", ")),
        }
    }
}

/// The heads that wait, oldest first; notes that are no proofs are said.
fn waiting(
    known: &StampNotes,
    newest: Option<usize>,
    configured: &[String],
    done: &mut UpgradeResult,
) -> Result<Vec<PendingHead>, StampError> {
    let skipped = newest.map_or(0, |newest| known.heads.len().saturating_sub(newest));
    let mut waiting = Vec::new();
    for head in known
        .heads
        .iter()
        .skip(skipped)
        .filter(|head| known.notes.contains_key(&head.commit))
    {
        let Some(proof) = known.proof(head)? else {
            done.words.push(format!(
                "the note on commit {} is no proof of its head; it is left as it is",
                head.commit
            ));
            continue;
        };
        if !is_complete(&proof) {
            let promises = promises(&proof, configured);
            waiting.push(PendingHead {
                head: *head,
                proof,
                promises,
            });
        }
    }
    Ok(waiting)
}

/// The promises of a proof that may be asked for.
fn promises(proof: &Proof, configured: &[String]) -> Vec<(Promise, Vec<Op>)> {
    let leaves = proof.leaves().unwrap_or_default();
    let promise = |leaf: crate::record::ots::Leaf<'_>| match leaf.attestation {
        Attestation::Pending { uri } if is_known(uri, configured) => Some((
            (uri.clone(), leaf.message),
            leaf.path.into_iter().cloned().collect::<Vec<Op>>(),
        )),
        _ => None,
    };
    leaves.into_iter().filter_map(promise).collect()
}

/// Whether a block is one that a writer takes from a source.
fn is_sound(anchor: &Anchor, network: Network) -> bool {
    let dear = anchor
        .header
        .is_some_and(|header| !is_cheap(network, header.fields().bits));
    dear && anchor.check(network).is_ok()
}

/// Whether a message is a header's Merkle root: proofs spell it in the byte order of the header
/// itself.
fn is_root(header: &Header, message: &[u8]) -> bool {
    header.as_bytes().get(36..68) == Some(message)
}
