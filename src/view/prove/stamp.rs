//! What calendars said of tree heads.

use serde::Serialize;

use crate::app::prove::stamp::StampingReport;
use crate::stamp::{CommittedTreeHead, StampResult, UpgradeResult};

use super::tree_heads::AttemptView;

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
    /// Of a report.
    pub fn of(report: &StampingReport) -> Self {
        StampingView {
            stamp: AttemptView::of(&report.results.stamping, StampView::of),
            upgrade: AttemptView::of(&report.results.upgrading, UpgradeView::of),
        }
    }
}
