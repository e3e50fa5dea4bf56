//! `gently sight`: what the observational tools show, and why one shows nothing.

use crate::app::home::open::{self, OpenHomeError};
use crate::app::look::sight::{SightReport, observe};
use crate::record::ledger::bundle::{Measurement, NoSight, SightEntry};
use crate::view::look::sight::SightView;

use crate::cli::screen::quiet;
use crate::cli::{FINE, NEGATIVE, present};

/// Looks with all tools, or with one.
pub fn run(tool: Option<&str>, json: bool) -> Result<u8, OpenHomeError> {
    let report = observe(&open::existing_home()?, tool)?;
    let printed = present(json, || SightView::of(&report), || words(&report));
    let blind = tool.is_some() && report.is_blind();
    Ok(printed.max(if blind { NEGATIVE } else { FINE }))
}

fn words(report: &SightReport) -> String {
    let tier = report.kernel.tier();
    report
        .entries
        .iter()
        .map(|(name, entry)| tool_words(tier, name, entry))
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
            let line = |(key, value): (&String, &Measurement)| {
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
                NoSight::BlockedByTier => {
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
