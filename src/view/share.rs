//! What was handed on to somebody.

use std::path::Path;

use serde::Serialize;

use crate::app::opening::NewOpening;

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
    /// What somebody learns from it beside the texts.
    pub reveals: Vec<String>,
    /// Turns that could not be shared, and why.
    pub turns_left_out: Vec<String>,
}

impl ShareView {
    /// Of what was written, and where.
    pub fn of(
        opening: &NewOpening,
        file: Option<&Path>,
        page: &Path,
        reveals: Vec<String>,
        turns_left_out: Vec<String>,
    ) -> Self {
        ShareView {
            page: Some(page.display().to_string()),
            file_is_written: file.is_some(),
            opening: NewOpeningView::of(opening, file.unwrap_or(page)),
            reveals,
            turns_left_out,
        }
    }
}
