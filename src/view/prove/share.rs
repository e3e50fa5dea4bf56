//! What was handed on to somebody.

use std::path::Path;

use serde::Serialize;

use crate::app::prove::opening::NewOpening;
use crate::app::prove::share::ShareSelection;

use super::opening::NewOpeningView;

/// Shared turns: the opening file, and the page that shows it.
#[derive(Clone, Debug, Serialize)]
pub struct ShareView {
    /// The page; none when the file alone was written.
    pub page: Option<String>,
    /// Whether the opening file stands beside the page.
    pub file_is_written: bool,
    /// The opening file.
    pub opening: NewOpeningView,
    /// What is told of it before it is written.
    #[serde(flatten)]
    pub notices: ShareNotices,
}

/// What is told of turns before they are shared.
#[derive(Clone, Debug, Serialize)]
pub struct ShareNotices {
    /// What somebody learns beside the texts.
    pub reveals: Vec<String>,
    /// Later questions without an answer, where the newest answer was asked for.
    pub turns_passed_over: Vec<String>,
    /// Turns that could not be shared, and why.
    pub turns_left_out: Vec<String>,
    /// Turns of the same conversation in other sessions, which are not shared with this one.
    pub turns_elsewhere: Vec<String>,
}

impl ShareNotices {
    /// Of what was selected.
    pub fn of(selection: &ShareSelection) -> Self {
        ShareNotices {
            reveals: selection.reveals.clone(),
            turns_passed_over: selection.passed_over.clone(),
            turns_left_out: selection.left_out.clone(),
            turns_elsewhere: selection.elsewhere.clone(),
        }
    }
}

impl ShareView {
    /// Of what was written, and where.
    pub fn of(
        opening: &NewOpening,
        file: Option<&Path>,
        page: &Path,
        notices: ShareNotices,
    ) -> Self {
        ShareView {
            page: Some(page.display().to_string()),
            file_is_written: file.is_some(),
            opening: NewOpeningView::of(opening, file.unwrap_or(page)),
            notices,
        }
    }
}
