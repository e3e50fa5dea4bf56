//! `gently doctor`: one line a check, with the command that mends it; writes nothing.
//!
//! Exit 1 when a check fails.

use crate::app::doctor::{DoctorCheck, examine};
use crate::app::open::{self, OpenHomeError};
use crate::view::doctor::DoctorView;

use super::screen::quiet;
use super::{FINE, NEGATIVE, present};

/// Looks at everything, and says what it found.
pub async fn run(json: bool) -> Result<u8, OpenHomeError> {
    let report = examine(&open::home_path()?).await;
    let text = || report.checks.iter().map(line).collect();
    let printed = present(json, || DoctorView::of(&report), text);
    Ok(if report.is_ok() { FINE } else { NEGATIVE }.max(printed))
}

fn line(check: &DoctorCheck) -> String {
    let mend = check
        .mend
        .as_ref()
        .map(|mend| format!("\n{:21}-> {}", "", quiet(mend)))
        .unwrap_or_default();
    format!(
        "{:9}{:12}{}{mend}\n",
        check.state.word(),
        check.name,
        quiet(&check.found)
    )
}
