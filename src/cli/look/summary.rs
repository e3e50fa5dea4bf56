//! `gently session summary`: facts, theories and decisions of a session.

use crate::app::home::open::{self, OpenHomeError};
use crate::app::remember::items::summary::{SessionSummary, summary};
use crate::view::remember::item::SessionSummaryView;

use crate::cli::present;
use crate::cli::remember::items::line;

/// Prints the summary of a session, made from what is on record.
pub fn run(id: &str, json: bool) -> Result<u8, OpenHomeError> {
    let found = summary(&open::existing_home()?, id)?;
    let view = || SessionSummaryView::of(&found);
    Ok(present(json, view, || text(&found)))
}

fn text(found: &SessionSummary) -> String {
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
    out
}
