//! What observational tools show.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::app::look::sight::SightReport;
use crate::record::ledger::bundle::SightEntry;

/// What each tool shows, and which the kernel allows.
#[derive(Clone, Debug, Serialize)]
pub struct SightView {
    /// Tier of the kernel.
    pub tier: u8,
    /// Tools that it allows.
    pub allowed: Vec<String>,
    /// What was seen, or why nothing was, by the name of the tool.
    pub sight: BTreeMap<String, SightEntry>,
}

impl SightView {
    /// Of what tools show.
    pub fn of(report: &SightReport) -> Self {
        SightView {
            tier: report.kernel.tier(),
            allowed: report.kernel.tools().to_vec(),
            sight: report.entries.clone(),
        }
    }
}
