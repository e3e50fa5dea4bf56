//! One round: every witness asked about the newest tree head, at once and under one deadline.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use futures_util::future::join_all;

use crate::anchor::witness::{WitnessClient, WitnessFault, WitnessReply};
use crate::govern::sanitize::redact;
use crate::record::time::Seconds;
use crate::record::tree::note::NoteSignature;
use crate::recorder::Paths;
use crate::store::{Store, WitnessState};

use super::{LatestTreeHead, WitnessError, newest_head, note, right_edges};

/// How often one witness may name another size before it is left alone: it was behind, and another
/// process was faster.
const MAX_TURNS: usize = 3;

/// How many have to cosign, and how long all of them together may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundOptions {
    /// How many witnesses have to cosign.
    pub quorum: usize,
    /// For everything together.
    pub deadline: Duration,
}

/// What one witness said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WitnessStatement {
    /// It cosigned this tree head, now or before.
    Cosigned {
        /// When, by its own clock; none when it is out of the range of times.
        at: Option<Seconds>,
    },
    /// It has cosigned a newer tree head of this ledger meanwhile, for another process.
    Newer {
        /// Lines under the tree head that the witness has cosigned.
        size: u64,
    },
    /// Finding: it holds a tree that this ledger does not have.
    Longer {
        /// Size of that tree.
        size: u64,
        /// Lines of this ledger.
        ours: u64,
    },
    /// Finding: it holds a tree of this size that ours does not continue.
    Other {
        /// Size of that tree.
        size: u64,
    },
    /// It refused the size that it had named itself.
    Unsteady {
        /// The last one.
        size: u64,
    },
    /// No answer that counts.
    Fault(WitnessFault),
    /// No answer in time.
    Late {
        /// How long the witness was waited for.
        after: Duration,
    },
}

impl WitnessStatement {
    /// Whether it cosigned.
    pub const fn is_cosigned(&self) -> bool {
        matches!(self, WitnessStatement::Cosigned { .. })
    }

    /// Whether it says that there is another history, or more of this one.
    pub const fn is_finding(&self) -> bool {
        matches!(
            self,
            WitnessStatement::Longer { .. } | WitnessStatement::Other { .. }
        )
    }
}

impl std::fmt::Display for WitnessStatement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            WitnessStatement::Cosigned { at: Some(at) } => write!(f, "cosigned at {at}"),
            WitnessStatement::Cosigned { at: None } => {
                write!(f, "cosigned, at no time that can be")
            }
            WitnessStatement::Newer { size } => write!(
                f,
                "has cosigned a newer tree head of {size} lines meanwhile"
            ),
            WitnessStatement::Longer { size, ours } => write!(
                f,
                "says that it has cosigned a tree of {size} lines, which this ledger does not have (it has {ours} \
                 lines): lines were dropped, a backup was restored, or there is a second history"
            ),
            WitnessStatement::Other { size } => write!(
                f,
                "says that the tree of {size} lines that it cosigned is not ours: the log was written anew, or there \
                 is a second history"
            ),
            WitnessStatement::Unsteady { size } => {
                write!(
                    f,
                    "does not agree with itself about the size of the tree it holds: {size} at last"
                )
            }
            WitnessStatement::Fault(fault) => fault.fmt(f),
            WitnessStatement::Late { after } => {
                write!(f, "no answer within {} ms", after.as_millis())
            }
        }
    }
}

/// One witness's part of a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WitnessOutcome {
    /// What its owner calls it.
    pub name: String,
    /// What it said.
    pub said: WitnessStatement,
    /// Whether it was asked in this round; false when its cosignature stood there.
    pub asked: bool,
    /// How long it took.
    pub elapsed: Duration,
}

/// What came of a round.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "it holds what witnesses found"]
pub struct RoundResult {
    /// The tree head.
    pub head: LatestTreeHead,
    /// In the order of configuration.
    pub outcomes: Vec<WitnessOutcome>,
    /// How many had to cosign.
    pub quorum: usize,
}

impl RoundResult {
    /// How many cosigned.
    pub fn cosigned(&self) -> usize {
        self.outcomes
            .iter()
            .filter(|outcome| outcome.said.is_cosigned())
            .count()
    }

    /// Whether they are enough.
    pub fn is_enough(&self) -> bool {
        self.cosigned() >= self.quorum
    }

    /// What speaks for another history.
    pub fn findings(&self) -> impl Iterator<Item = &WitnessOutcome> {
        self.outcomes
            .iter()
            .filter(|outcome| outcome.said.is_finding())
    }
}

/// A witness's answer with what it signed.
struct WitnessAnswer {
    said: WitnessStatement,
    lines: Vec<NoteSignature>,
    asked: bool,
    elapsed: Duration,
}

/// Asks every witness that has not cosigned the newest tree head yet; none when there is no tree
/// head.
///
/// Writes what they cosigned to `refs/notes/witness`, and what came of asking to the database. The
/// caller holds no lock; several processes may ask at once.
pub async fn ask(
    store: &mut Store,
    paths: &Paths,
    witnesses: &[WitnessClient],
    terms: RoundOptions,
    now: Seconds,
) -> Result<Option<RoundResult>, WitnessError> {
    let Some(head) = newest_head(store)? else {
        return Ok(None);
    };
    right_edges::tree_of(store, &head.note)?;
    let states = store.witness_states()?;
    let heard = {
        let standing = note::standing(paths, &head)?;
        let (store, head, standing, states) = (&*store, &head, &standing, &states);
        join_all(witnesses.iter().map(|witness| async move {
            let stood = standing
                .as_ref()
                .and_then(|note| note.cosigned_at(witness.key()));
            if let Some(time) = stood {
                let said = WitnessStatement::Cosigned {
                    at: Seconds::new(time).ok(),
                };
                return Ok(WitnessAnswer {
                    said,
                    lines: Vec::new(),
                    asked: false,
                    elapsed: Duration::ZERO,
                });
            }
            let known = states
                .iter()
                .find(|state| state.vkey == witness.key().print())
                .map_or(0, |state| state.lines);
            within(terms.deadline, one(store, witness, head, known)).await
        }))
        .await
        .into_iter()
        .collect::<Result<Vec<WitnessAnswer>, WitnessError>>()?
    };
    let lines = heard
        .iter()
        .flat_map(|heard| heard.lines.iter().cloned())
        .collect();
    note::add(paths, &head, lines, now)?;
    let new: Vec<WitnessState> = witnesses
        .iter()
        .zip(&heard)
        .map(|(witness, heard)| {
            state_after(&witness.key().print(), &states, heard, head.note.size, now)
        })
        .collect();
    store.put_witness_states(&new)?;
    let outcome = |(witness, heard): (&WitnessClient, WitnessAnswer)| {
        let WitnessAnswer {
            said,
            asked,
            elapsed,
            ..
        } = heard;
        WitnessOutcome {
            name: witness.name().to_owned(),
            said,
            asked,
            elapsed,
        }
    };
    let outcomes = witnesses.iter().zip(heard).map(outcome).collect();
    Ok(Some(RoundResult {
        head,
        outcomes,
        quorum: terms.quorum,
    }))
}

/// The answer, or that there was none in time.
async fn within(
    deadline: Duration,
    question: impl Future<Output = Result<(WitnessStatement, Vec<NoteSignature>), WitnessError>>,
) -> Result<WitnessAnswer, WitnessError> {
    let start = Instant::now();
    let (said, lines) = match tokio::time::timeout(deadline, question).await {
        Ok(answer) => answer?,
        Err(_) => (WitnessStatement::Late { after: deadline }, Vec::new()),
    };
    Ok(WitnessAnswer {
        said,
        lines,
        asked: true,
        elapsed: start.elapsed(),
    })
}

/// Asks one witness, with the proof from the size that it names.
async fn one(
    store: &Store,
    witness: &WitnessClient,
    head: &LatestTreeHead,
    known: u64,
) -> Result<(WitnessStatement, Vec<NoteSignature>), WitnessError> {
    let size = head.note.size;
    // After a restore more may be noted than there is; what it holds, it says.
    let mut old = if known > size { 0 } else { known };
    let mut named = BTreeSet::new();
    for _ in 0..MAX_TURNS {
        let proof = right_edges::proof(store, old, &head.note)?;
        let holds = match witness.add_checkpoint(old, &proof, &head.note).await {
            Ok(WitnessReply::Cosigned { lines, time }) => {
                return Ok((
                    WitnessStatement::Cosigned {
                        at: Seconds::new(time).ok(),
                    },
                    lines,
                ));
            }
            Ok(WitnessReply::Refuted { said }) if old == 0 => {
                return Ok((refuted_nothing(witness, said), Vec::new()));
            }
            Ok(WitnessReply::Refuted { .. }) => {
                return Ok((WitnessStatement::Other { size: old }, Vec::new()));
            }
            Ok(WitnessReply::Holds(holds)) => holds,
            Err(fault) => return Ok((WitnessStatement::Fault(fault), Vec::new())),
        };
        if holds > size {
            return Ok((longer(store, holds)?, Vec::new()));
        }
        if holds == size && old == size {
            return Ok((WitnessStatement::Other { size }, Vec::new()));
        }
        if !named.insert(holds) || holds == old {
            return Ok((WitnessStatement::Unsteady { size: holds }, Vec::new()));
        }
        old = holds;
    }
    Ok((WitnessStatement::Unsteady { size: old }, Vec::new()))
}

/// Every tree continues the empty one: whoever refuses that has refused something else.
fn refuted_nothing(witness: &WitnessClient, said: String) -> WitnessStatement {
    let at = witness.name().to_owned();
    WitnessStatement::Fault(WitnessFault::Answer {
        at,
        expected: "no refusal of an empty proof",
        status: 422,
        said,
    })
}

/// A larger tree than the one asked about: of another process of this home, or one that this ledger
/// does not have.
fn longer(store: &Store, size: u64) -> Result<WitnessStatement, WitnessError> {
    if store.has_tree_head(size)? {
        return Ok(WitnessStatement::Newer { size });
    }
    Ok(WitnessStatement::Longer {
        size,
        ours: crate::store::ReadStore::head(store)?.lines,
    })
}

fn state_after(
    vkey: &str,
    before: &[WitnessState],
    heard: &WitnessAnswer,
    size: u64,
    now: Seconds,
) -> WitnessState {
    let before = before.iter().find(|state| state.vkey == vkey);
    let (lines, cosigned_at) = match (&heard.said, before) {
        (WitnessStatement::Cosigned { at }, _) => (size, *at),
        (WitnessStatement::Newer { size }, before) => {
            (*size, before.and_then(|state| state.cosigned_at))
        }
        (_, before) => before.map_or((0, None), |state| (state.lines, state.cosigned_at)),
    };
    WitnessState {
        vkey: vkey.to_owned(),
        lines,
        cosigned_at,
        asked_at: before
            .filter(|_| !heard.asked)
            .map_or(now, |state| state.asked_at),
        asked_lines: size,
        // A witness's own words may be in it.
        said: (!heard.said.is_cosigned())
            .then(|| redact(&heard.said.to_string()).clean.as_str().to_owned()),
    }
}
