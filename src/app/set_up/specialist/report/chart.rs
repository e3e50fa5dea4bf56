//! What was expected of each specialist by days, and when it was bound to another model, as a picture.

use super::SpecialistReport;
use super::history::{DatedBinding, UtilityHistory, UtilityLine};
use crate::app::look::day_chart::{ChartLine, ChartMark, ChartPart, MOST_LINES, NoChart, picture};
use crate::record::ledger::specialist::PromotionEvent;

/// The picture of a report.
pub fn chart(report: &SpecialistReport) -> Result<String, NoChart> {
    let history = &report.history;
    let days: Vec<&str> = history.days.iter().map(String::as_str).collect();
    let heading = match history.lines.len() > MOST_LINES {
        true => format!(
            "expected utility, thousandths (the {MOST_LINES} of {} that were rated most)",
            history.lines.len()
        ),
        false => "expected utility, thousandths".to_owned(),
    };
    let lines = history.lines.iter().take(MOST_LINES).map(line);
    let part = ChartPart {
        heading: &heading,
        lines: lines.collect(),
        marks: marks(history),
    };
    picture(&days, &[part])
}

fn line(line: &UtilityLine) -> ChartLine {
    ChartLine {
        name: format!("{} ({})", line.name, line.who.model),
        values: line.values.clone(),
    }
}

fn marks(history: &UtilityHistory) -> Vec<ChartMark> {
    let mark = |binding: &DatedBinding| {
        let day = history
            .days
            .iter()
            .position(|day| Some(day) == binding.day.as_ref())?;
        let what = match binding.event {
            PromotionEvent::Promote => "to",
            PromotionEvent::Rollback => "back to",
        };
        Some(ChartMark {
            day,
            name: format!("{} {what} {}", binding.name, binding.to_model),
        })
    };
    history.bindings.iter().filter_map(mark).collect()
}
