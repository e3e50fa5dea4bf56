//! Headers of blocks that are kept.

use serde::Serialize;

use crate::app::prove::anchor_sync::SyncReport;

/// What came of a run that adds headers.
#[derive(Clone, Debug, Serialize)]
pub struct SyncReportView {
    /// Bitcoin network whose headers were fetched.
    pub network: &'static str,
    /// Where they are kept.
    pub folder: String,
    /// The height of the first that is kept.
    pub from: Option<u32>,
    /// The height of the last.
    pub to: Option<u32>,
    /// How many are kept.
    pub headers: u32,
    /// How many of them are new.
    pub added: u32,
    /// Whether all that the source has, but the newest few, is kept now.
    pub complete: bool,
    /// Why none could be had, or no more.
    pub error: Option<String>,
}

impl SyncReportView {
    /// Of a run.
    pub fn of(report: &SyncReport) -> Self {
        SyncReportView {
            network: report.network.name(),
            folder: report.folder.display().to_string(),
            from: report.kept.map(|kept| kept.start),
            to: report.kept.and_then(|kept| kept.next.checked_sub(1)),
            headers: report.kept.map_or(0, |kept| kept.count()),
            added: report.added,
            complete: report.is_complete,
            error: report.fault.clone(),
        }
    }
}
