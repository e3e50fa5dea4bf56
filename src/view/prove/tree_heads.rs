//! What calendars and witnesses said of tree heads.

use serde::Serialize;

use crate::app::prove::tree_heads::ThirdPartyReport;

use super::stamp::StampingView;
use super::witness::WitnessRoundView;

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
    /// Of an attempt.
    pub fn of<U, E: std::fmt::Display>(tried: &Result<U, E>, view: impl FnOnce(&U) -> T) -> Self {
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
