//! `gently sight`: what the observational tools show, and why one shows nothing.

use std::collections::BTreeMap;

use crate::config::Config;
use crate::continuity::compile::without_secrets;
use crate::govern::kernel::Kernel;
use crate::home::Home;
use crate::record::ledger::bundle::SightEntry;
use crate::sight::observe_all;
use crate::store::Store;

use super::screen::quiet;
use super::{FINE, NEGATIVE, could_not, print, print_view};
use crate::app::open;
use crate::app::open::OpenHomeError;
use crate::view::sight::SightView;

/// Looks with all tools, or with one.
pub fn run(tool: Option<&str>, json: bool) -> Result<u8, OpenHomeError> {
    let home = open::existing_home()?;
    let config = Config::load(home.root(), &open::env)?;
    let kernel = Home::kernel(&Store::open_read_only(&home.paths().database())?)?;
    let mut tools = open::tools(&home, &config);
    let mut allowed = kernel.tools().to_vec();
    if let Some(name) = tool {
        let known: Vec<&str> = tools.iter().map(|tool| tool.name()).collect();
        if !known.contains(&name) && !allowed.iter().any(|declared| declared == name) {
            let why = format!("there is no tool '{name}'; there are: {}", known.join(", "));
            return Ok(could_not(&why, json));
        }
        tools.retain(|tool| tool.name() == name);
        allowed.retain(|declared| declared == name);
    }
    let mut sight = observe_all(&tools, &allowed, open::clock()?);
    sight.values_mut().for_each(without_secrets);
    let printed = if json {
        print_view(&SightView {
            tier: kernel.tier(),
            allowed: kernel.tools(),
            sight: &sight,
        })
    } else {
        print(&words(&kernel, &sight))
    };
    let blind = tool.is_some()
        && sight
            .values()
            .all(|entry| matches!(entry, SightEntry::Unavailable { .. }));
    Ok(printed.max(if blind { NEGATIVE } else { FINE }))
}

fn words(kernel: &Kernel, sight: &BTreeMap<String, SightEntry>) -> String {
    sight
        .iter()
        .map(|(name, entry)| tool_words(kernel.tier(), name, entry))
        .collect::<Vec<_>>()
        .join("\n")
}

fn tool_words(tier: u8, name: &str, entry: &SightEntry) -> String {
    let (mut out, unknowns) = match entry {
        SightEntry::Seen {
            observed_at,
            values,
            unknowns,
            ..
        } => {
            let width = values.keys().map(String::len).max().unwrap_or(0);
            let line = |(key, value): (&String, &crate::record::ledger::bundle::Measurement)| {
                format!("    {:width$}  {}\n", quiet(key), quiet(&value.to_string()))
            };
            (
                format!(
                    "{name}  {observed_at}\n{}",
                    values.iter().map(line).collect::<String>()
                ),
                unknowns,
            )
        }
        SightEntry::Unavailable { reason, unknowns } => {
            let mend = match reason {
                crate::record::ledger::bundle::NoSight::BlockedByTier => {
                    format!(
                        ": tier {tier} does not allow it (tools.tier{tier} of the kernel: gently kernel show)"
                    )
                }
                _ => String::new(),
            };
            (
                format!("{name}  not available, {}{mend}\n", reason.name()),
                unknowns,
            )
        }
    };
    if !unknowns.is_empty() {
        let names: Vec<String> = unknowns.iter().map(|unknown| quiet(unknown)).collect();
        out.push_str(&format!("    not known: {}\n", names.join(", ")));
    }
    out
}
