//! What a home and what it rests on are like.

use serde::Serialize;

use crate::app::keep::doctor::{DoctorCheck, DoctorReport};

use crate::view::prove::headline::HeadlineView;

/// A check, and what came of it.
#[derive(Clone, Debug, Serialize)]
pub struct DoctorCheckView {
    /// What was looked at.
    pub check: &'static str,
    /// What came of it.
    pub state: &'static str,
    /// What was found.
    pub found: String,
    /// The next command.
    pub mend: Option<String>,
    /// What the system said, word for word, where `found` says it plainly.
    pub raw: Option<String>,
}

impl DoctorCheckView {
    fn of(check: &DoctorCheck) -> Self {
        DoctorCheckView {
            check: check.name,
            state: check.state.word(),
            found: check.found.clone(),
            mend: check.mend.clone(),
            raw: check.raw.clone(),
        }
    }
}

/// All checks of `gently doctor`, and what they come to.
#[derive(Clone, Debug, Serialize)]
pub struct DoctorView {
    /// The sentence that it comes to.
    pub headline: HeadlineView,
    /// Where the home is.
    pub home: String,
    /// Whether no check fails.
    pub ok: bool,
    /// Each of them.
    pub checks: Vec<DoctorCheckView>,
}

impl DoctorView {
    /// Of a report.
    pub fn of(report: &DoctorReport) -> Self {
        DoctorView {
            headline: HeadlineView::of_home(report),
            home: report.home.display().to_string(),
            ok: report.is_ok(),
            checks: report.checks.iter().map(DoctorCheckView::of).collect(),
        }
    }
}
