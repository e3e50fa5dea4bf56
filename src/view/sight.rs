//! What observational tools show.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::record::ledger::bundle::SightEntry;

/// What each tool shows, and which the kernel allows.
#[derive(Clone, Debug, Serialize)]
pub struct SightView<'a> {
    /// Tier of the kernel.
    pub tier: u8,
    /// Tools that it allows.
    pub allowed: &'a [String],
    /// By tool.
    pub sight: &'a BTreeMap<String, SightEntry>,
}
