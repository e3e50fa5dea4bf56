//! `gently session summary`: facts, theories and decisions of a session.

use crate::app::items::summary::summary;
use crate::app::open::{self, OpenHomeError};
use crate::view::item::SessionSummaryView;

use super::items::line;
use super::{print, print_view};

/// Prints it.
pub fn run(id: &str, json: bool) -> Result<u8, OpenHomeError> {
    let found = summary(&open::existing_home()?, id)?;
    if json {
        return Ok(print_view(&SessionSummaryView::of(&found)));
    }
    let session = &found.session;
    let mut out = format!(
        "session {} · {} of {} answered\n",
        session.id.short16(),
        session.interactions,
        session.prompts
    );
    for section in &found.sections {
        out.push_str(&format!("\n{} ({})\n", section.name, section.label));
        if section.items.is_empty() {
            out.push_str("    none\n");
        }
        let lines = section
            .items
            .iter()
            .map(|(item, text)| format!("    {}\n", line(item, text.as_deref())));
        out.extend(lines);
    }
    Ok(print(&out))
}
