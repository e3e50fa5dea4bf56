//! What block sources say now.

use serde::Serialize;

use crate::anchor::SourceFault;
use crate::anchor::agree::SourceTip;
use crate::app::prove::anchor::AnchorStatus;
use crate::app::redacted::clean;
use crate::config::AnchorMode;
use crate::record::bitcoin::block::{Block, Source};

/// What one source says.
#[derive(Clone, Debug, Serialize)]
pub struct SourceTipView {
    /// Name of the source, such as its host.
    pub name: String,
    /// What it is.
    pub kind: Source,
    /// How long it took, in milliseconds.
    pub elapsed_ms: u64,
    /// Its newest block.
    pub block: Option<Block>,
    /// Why it has none that counts.
    pub fault: Option<String>,
    /// Whether it said what can't be.
    pub lie: bool,
}

impl SourceTipView {
    fn of(answer: &SourceTip) -> Self {
        let fault = answer.outcome.as_ref().err();
        SourceTipView {
            name: answer.name.clone(),
            kind: answer.kind,
            elapsed_ms: u64::try_from(answer.elapsed.as_millis()).unwrap_or(u64::MAX),
            block: answer.outcome.as_ref().ok().cloned(),
            fault: fault.map(|fault| clean(&fault.to_string())),
            lie: fault.is_some_and(SourceFault::is_lie),
        }
    }
}

/// How many sources have to agree: a number, or `auto` for all that answer.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
pub enum QuorumView {
    /// All that answer.
    Auto(&'static str),
    /// How many sources have to agree.
    Of(usize),
}

/// What all sources say, and the block that comes of it.
#[derive(Clone, Debug, Serialize)]
pub struct AnchorStatusView {
    /// Bitcoin network whose blocks anchor this record.
    pub network: &'static str,
    /// `auto` or `off`.
    pub mode: &'static str,
    /// How many have to agree.
    pub quorum: QuorumView,
    /// How long all of them together may take, in milliseconds.
    pub deadline_ms: u64,
    /// Each of them.
    pub sources: Vec<SourceTipView>,
    /// Whether a session could be anchored now.
    pub anchored: bool,
    /// The block that it would be anchored to.
    pub block: Option<Block>,
    /// Block header as 160 hexadecimal digits; null when there is none.
    pub header: Option<String>,
    /// The branch of its commits.
    pub branch: Option<String>,
    /// What people should know.
    pub notes: Vec<String>,
    /// Why no session can ever be anchored with this configuration.
    pub misconfigured: Option<String>,
}

impl AnchorStatusView {
    /// Of what sources say.
    pub fn of(status: &AnchorStatus) -> Self {
        let (anchor, seen) = (&status.config.anchor, &status.seen);
        let chosen = &seen.anchor.block;
        let is_anchored = !chosen.is_local();
        AnchorStatusView {
            network: status.network.name(),
            mode: if anchor.mode == AnchorMode::Off {
                "off"
            } else {
                "auto"
            },
            quorum: anchor
                .quorum
                .map_or(QuorumView::Auto("auto"), QuorumView::Of),
            deadline_ms: u64::try_from(anchor.deadline.as_millis()).unwrap_or(u64::MAX),
            sources: seen.answers.iter().map(SourceTipView::of).collect(),
            anchored: is_anchored,
            block: is_anchored.then(|| chosen.clone()),
            header: seen.anchor.header.as_ref().map(ToString::to_string),
            branch: is_anchored.then(|| chosen.branch().to_string()),
            notes: seen.notices.clone(),
            misconfigured: status.misconfigured.clone(),
        }
    }
}
