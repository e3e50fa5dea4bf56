//! Checks of replies, counted.

use serde::Serialize;

use crate::app::look::assertion::{CheckPart, CheckReport, CheckTally};

/// The checks that were asked for.
#[derive(Clone, Debug, Serialize)]
pub struct CheckReportView {
    /// Nothing older is in it; null: all of the record is.
    pub since: Option<String>,
    /// `name`, `specialist` or `domain`.
    pub by: &'static str,
    /// All of them.
    #[serde(flatten)]
    pub whole: CheckTallyView,
    /// Each group.
    pub groups: Vec<CheckPartView>,
}

/// The checks of one group.
#[derive(Clone, Debug, Serialize)]
pub struct CheckPartView {
    /// A check's name, a specialist's id, or a domain; null of what has none.
    pub key: Option<String>,
    /// What a specialist is called; null otherwise.
    pub name: Option<String>,
    /// How they came out.
    #[serde(flatten)]
    pub tally: CheckTallyView,
}

/// How some checks came out.
#[derive(Clone, Debug, Serialize)]
pub struct CheckTallyView {
    /// How many were made.
    pub made: u64,
    /// Those in which nothing was found.
    pub passed: u64,
    /// Failed ones of level `info`.
    pub failed_info: u64,
    /// Failed ones of level `soft`.
    pub failed_soft: u64,
    /// Failed ones of level `blocking`.
    pub failed_blocking: u64,
    /// Thousandths that passed; null of none.
    pub passed_share: Option<u64>,
    /// What they were worth, in thousandths; null where a kernel that says it is lost, and of none.
    pub bonus: Option<i64>,
}

impl CheckReportView {
    /// Of a report.
    pub fn of(report: &CheckReport) -> Self {
        CheckReportView {
            since: report.since.map(|since| since.to_string()),
            by: report.by.name(),
            whole: CheckTallyView::of(&report.whole),
            groups: report.parts.iter().map(CheckPartView::of).collect(),
        }
    }
}

impl CheckPartView {
    fn of(part: &CheckPart) -> Self {
        CheckPartView {
            key: part.key.clone(),
            name: part.name.clone(),
            tally: CheckTallyView::of(&part.tally),
        }
    }
}

impl CheckTallyView {
    fn of(tally: &CheckTally) -> Self {
        CheckTallyView {
            made: tally.made,
            passed: tally.passed,
            failed_info: tally.noted,
            failed_soft: tally.soft,
            failed_blocking: tally.blocking,
            passed_share: tally.share(),
            bonus: tally.bonus.filter(|_| tally.made > 0),
        }
    }
}
