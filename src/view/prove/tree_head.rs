//! What calendars and witnesses said of tree heads.

use serde::Serialize;

use crate::app::prove::stamping::StampingReport;
use crate::app::prove::tree_heads::ThirdPartyReport;
use crate::record::hash::Hash32;
use crate::stamp::{CommittedTreeHead, StampResult, UpgradeResult};
use crate::witness::{RoundResult, WitnessOutcome, WitnessStatement};

/// What was tried: what came of it, or why it failed.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum AttemptView<T> {
    /// It was done.
    Done(T),
    /// It was not.
    Failed {
        /// Why the attempt failed.
        error: String,
    },
}

impl<T> AttemptView<T> {
    fn of<U, E: std::fmt::Display>(tried: &Result<U, E>, view: impl FnOnce(&U) -> T) -> Self {
        match tried {
            Ok(done) => AttemptView::Done(view(done)),
            Err(error) => AttemptView::Failed {
                error: error.to_string(),
            },
        }
    }

    /// The same, or nothing when nobody was to be asked.
    fn of_asked<U, E: std::fmt::Display>(
        tried: &Result<Option<U>, E>,
        view: impl FnOnce(&U) -> T,
    ) -> Option<Self> {
        let tried = tried
            .as_ref()
            .map(Option::as_ref)
            .map_err(ToString::to_string);
        match tried {
            Ok(None) => None,
            Ok(Some(done)) => Some(AttemptView::Done(view(done))),
            Err(error) => Some(AttemptView::Failed { error }),
        }
    }
}

/// A tree head and the commit that carries it.
#[derive(Clone, Debug, Serialize)]
pub struct CommittedTreeHeadView {
    /// Commit of `main` that brought the tree head.
    pub commit: String,
    /// SHA-256 of the tree head's file, which is what is stamped.
    pub checkpoint: String,
    /// The block that attests it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<u32>,
}

impl CommittedTreeHeadView {
    fn of(head: &CommittedTreeHead) -> Self {
        CommittedTreeHeadView {
            commit: head.commit.to_string(),
            checkpoint: head.file.to_string(),
            block: None,
        }
    }
}

/// What calendars said of new tree heads.
#[derive(Clone, Debug, Serialize)]
pub struct StampView {
    /// Tree heads that have a proof now.
    pub stamped: Vec<CommittedTreeHeadView>,
    /// How many still have none.
    pub unstamped: usize,
    /// Calendars that accepted.
    pub accepted: Vec<String>,
    /// How many had to.
    pub quorum: usize,
    /// Why the others did not.
    pub faults: Vec<String>,
}

impl StampView {
    /// Of a result.
    pub fn of(done: &StampResult) -> Self {
        StampView {
            stamped: done.stamped.iter().map(CommittedTreeHeadView::of).collect(),
            unstamped: done.left,
            accepted: done.accepted().map(str::to_owned).collect(),
            quorum: done.quorum,
            faults: done.faults().map(ToString::to_string).collect(),
        }
    }
}

/// What calendars said of proofs that were promised.
#[derive(Clone, Debug, Serialize)]
pub struct UpgradeView {
    /// Proofs that are complete now.
    pub completed: Vec<CommittedTreeHeadView>,
    /// Proofs that still wait.
    pub pending: Vec<CommittedTreeHeadView>,
    /// Those of them that wait for more than 48 hours.
    pub late: Vec<CommittedTreeHeadView>,
    /// What people should know.
    pub notes: Vec<String>,
    /// Calendars that did not answer, and why.
    pub unreached: Vec<String>,
}

impl UpgradeView {
    /// Of a result.
    pub fn of(done: &UpgradeResult) -> Self {
        let all = |heads: &[CommittedTreeHead]| {
            heads
                .iter()
                .map(CommittedTreeHeadView::of)
                .collect::<Vec<_>>()
        };
        let completed = done.completed.iter().map(|one| CommittedTreeHeadView {
            block: Some(one.height),
            ..CommittedTreeHeadView::of(&one.head)
        });
        UpgradeView {
            completed: completed.collect(),
            pending: all(&done.pending),
            late: all(&done.late),
            notes: done.words.clone(),
            unreached: done.unreached.iter().map(ToString::to_string).collect(),
        }
    }
}

/// What calendars said when something was closed.
#[derive(Clone, Debug, Serialize)]
pub struct StampingView {
    /// Of new tree heads.
    pub stamp: AttemptView<StampView>,
    /// Of earlier ones.
    pub upgrade: AttemptView<UpgradeView>,
}

impl StampingView {
    fn of(report: &StampingReport) -> Self {
        StampingView {
            stamp: AttemptView::of(&report.results.stamping, StampView::of),
            upgrade: AttemptView::of(&report.results.upgrading, UpgradeView::of),
        }
    }
}

/// What one witness said.
#[derive(Clone, Debug, Serialize)]
pub struct WitnessOutcomeView {
    /// What its owner calls it.
    pub name: String,
    /// Whether it cosigned.
    pub cosigned: bool,
    /// Whether it was asked in this round.
    pub asked: bool,
    /// When it cosigned, by its own clock.
    pub cosigned_at: Option<String>,
    /// Whether it says that there is another history, or more of this one.
    pub finding: bool,
    /// Its answer, in words.
    pub said: String,
    /// How long it took, in milliseconds.
    pub elapsed_ms: u64,
}

impl WitnessOutcomeView {
    fn of(outcome: &WitnessOutcome) -> Self {
        let at = match &outcome.said {
            WitnessStatement::Cosigned { at } => *at,
            _ => None,
        };
        WitnessOutcomeView {
            name: outcome.name.clone(),
            cosigned: outcome.said.is_cosigned(),
            asked: outcome.asked,
            cosigned_at: at.map(|at| at.to_string()),
            finding: outcome.said.is_finding(),
            said: outcome.said.to_string(),
            elapsed_ms: u64::try_from(outcome.elapsed.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// What witnesses said of the newest tree head.
#[derive(Clone, Debug, Serialize)]
pub struct WitnessRoundView {
    /// Lines under it.
    pub lines: u64,
    /// Root hash of the tree.
    pub root: Hash32,
    /// The commit that carries it.
    pub commit: String,
    /// How many had to cosign.
    pub quorum: usize,
    /// How many did.
    pub cosigned: usize,
    /// Whether they are enough.
    pub enough: bool,
    /// Each of them.
    pub witnesses: Vec<WitnessOutcomeView>,
}

impl WitnessRoundView {
    /// Of a result.
    pub fn of(round: &RoundResult) -> Self {
        WitnessRoundView {
            lines: round.head.note.size,
            root: round.head.note.root,
            commit: round.head.commit.to_string(),
            quorum: round.quorum,
            cosigned: round.cosigned(),
            enough: round.is_enough(),
            witnesses: round.outcomes.iter().map(WitnessOutcomeView::of).collect(),
        }
    }
}

/// What calendars and witnesses said after a close; null where nobody was asked.
#[derive(Clone, Debug, Serialize)]
pub struct ThirdPartyView {
    /// What came of asking calendars; null when none was asked.
    pub ots: Option<AttemptView<StampingView>>,
    /// What came of asking witnesses; null when none was asked.
    pub witnesses: Option<AttemptView<WitnessRoundView>>,
}

impl ThirdPartyView {
    /// Of a report.
    pub fn of(report: &ThirdPartyReport) -> Self {
        ThirdPartyView {
            ots: AttemptView::of_asked(&report.stamping, StampingView::of),
            witnesses: AttemptView::of_asked(&report.witnesses, WitnessRoundView::of),
        }
    }
}
