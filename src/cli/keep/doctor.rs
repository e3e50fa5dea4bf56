//! `gently doctor`: what it comes to, then what asks for a look, each with the command that mends it;
//! with `-v` one line a check. Writes nothing.
//!
//! Exit 1 when a check fails.

use crate::app::home::open::{self, OpenHomeError};
use crate::app::keep::doctor::{CheckState, DoctorCheck, DoctorReport, audit_log, examine};
use crate::view::keep::audit_log::AuditWalkView;
use crate::view::keep::doctor::DoctorView;
use crate::view::prove::headline::HeadlineView;

use crate::cli::screen::{mark, quiet};
use crate::cli::{FINE, NEGATIVE, present_report};

/// Lines below the verdict; `-v` shows all.
const MOST: usize = 8;

/// Looks at everything, and says what it found.
pub async fn run(verbose: bool, json: bool) -> Result<u8, OpenHomeError> {
    let report = examine(&open::home_path()?).await;
    let printed = present_report(json, || DoctorView::of(&report), || text(&report, verbose));
    Ok(if report.is_ok() { FINE } else { NEGATIVE }.max(printed))
}

/// Walks along the log of the database, and says where it breaks.
pub fn check_audit(json: bool) -> Result<u8, OpenHomeError> {
    let walk = audit_log::walk(&open::existing_home()?)?;
    let view = AuditWalkView::of(&walk);
    let printed = present_report(json, || &view, || walk_text(&view));
    Ok(if view.ok { FINE } else { NEGATIVE }.max(printed))
}

fn walk_text(view: &AuditWalkView) -> String {
    let headline = &view.headline;
    let mut lines = vec![format!("{} {}", mark(headline.mark), headline.text)];
    if let Some(broken) = &view.broken {
        lines.push(format!("expected  {}", quiet(&broken.expected)));
        lines.push(format!("found     {}", quiet(&broken.found)));
        lines.push("-> gently audit verify".to_owned());
    }
    joined(&lines)
}

fn text(report: &DoctorReport, verbose: bool) -> String {
    let headline = HeadlineView::of_home(report);
    let mut lines = vec![format!("{} {}", mark(headline.mark), headline.text)];
    if verbose {
        lines.extend(report.checks.iter().flat_map(all_lines_of));
        return joined(&lines);
    }
    let mut below: Vec<String> = Vec::new();
    let asks = |check: &&DoctorCheck| matches!(check.state, CheckState::Fail | CheckState::Warn);
    let mut asking: Vec<&DoctorCheck> = report.checks.iter().filter(asks).collect();
    asking.sort_by_key(|check| check.state != CheckState::Fail);
    below.extend(asking.into_iter().flat_map(lines_of));
    if !headline.not_proven.is_empty() {
        let skipped = headline.not_proven.join(", ");
        below.push(format!("Not looked at: {skipped} (why: gently doctor -v)"));
    }
    if below.len() > MOST {
        let left = below.len() - MOST + 1;
        below.truncate(MOST - 1);
        below.push(format!("and {left} lines more: gently doctor -v"));
    }
    lines.extend(below);
    joined(&lines)
}

fn joined(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The same, with the system's own words.
fn all_lines_of(check: &DoctorCheck) -> Vec<String> {
    let mut lines = lines_of(check);
    let raw = check.raw.as_ref();
    lines.extend(raw.map(|raw| format!("{:21}the system said: {}", "", quiet(raw))));
    lines
}

/// A check's line, and the command that mends it.
fn lines_of(check: &DoctorCheck) -> Vec<String> {
    let found = quiet(&check.found);
    let line = format!("{:9}{:12}{found}", check.state.word(), check.name);
    let mend = check.mend.as_ref();
    let mend = mend.map(|mend| format!("{:21}-> {}", "", quiet(mend)));
    std::iter::once(line).chain(mend).collect()
}
