//! What the observational tools show, and why one shows nothing.

use std::collections::BTreeMap;

use crate::continuity::compile::without_secrets;
use crate::govern::kernel::Kernel;
use crate::home::Home;
use crate::record::ledger::bundle::SightEntry;
use crate::sight::observe_all;

use crate::app::home::open::{self, OpenHomeError};

/// What tools show, and the kernel that allows them.
pub struct SightReport {
    /// Kernel in force, which says what may be looked at.
    pub kernel: Kernel,
    /// What was seen, or why nothing was, by the name of the tool.
    pub entries: BTreeMap<String, SightEntry>,
}

impl SightReport {
    /// Whether no tool shows anything.
    pub fn is_blind(&self) -> bool {
        self.entries
            .values()
            .all(|entry| matches!(entry, SightEntry::Unavailable { .. }))
    }
}

/// Looks with all tools, or with one.
pub fn observe(home: &Home, tool: Option<&str>) -> Result<SightReport, OpenHomeError> {
    let config = open::config(home)?;
    let kernel = Home::kernel(&open::store(home)?)?;
    let mut tools = open::tools(home, &config);
    let mut allowed = kernel.tools().to_vec();
    if let Some(name) = tool {
        let known: Vec<&str> = tools.iter().map(|tool| tool.name()).collect();
        if !known.contains(&name) && !allowed.iter().any(|declared| declared == name) {
            let known = known.join(", ");
            let why = format!("there is no tool '{name}'; there are: {known}");
            return Err(OpenHomeError::Refused(why));
        }
        tools.retain(|tool| tool.name() == name);
        allowed.retain(|declared| declared == name);
    }
    let mut entries = observe_all(&tools, &allowed, open::clock()?);
    entries.values_mut().for_each(without_secrets);
    Ok(SightReport { kernel, entries })
}
