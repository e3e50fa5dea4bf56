//! What calendars and witnesses said of new tree heads, in lines.

use crate::app::prove::stamp::StampingReport;
use crate::app::prove::tree_heads::ThirdPartyReport;

use super::{stamp, witness};
use crate::cli::Notices;

/// Says what calendars and witnesses said.
pub fn say(report: &ThirdPartyReport, told: &Notices) {
    for line in stamping(report).into_iter().chain(witnesses(report)) {
        told.say(&line);
    }
}

fn stamping(report: &ThirdPartyReport) -> Vec<String> {
    let not_stamped = |why: &dyn std::fmt::Display| vec![format!("not stamped: {why}")];
    let StampingReport { results, not_kept } = match &report.stamping {
        Ok(None) => return Vec::new(),
        Ok(Some(report)) => report,
        Err(error) => return not_stamped(error),
    };
    // Who takes no new head is named there, once for everything.
    let is_told = results
        .stamping
        .as_ref()
        .is_ok_and(|done| done.stamped.is_empty() && done.left > 0);
    let mut lines = match &results.stamping {
        Ok(done) => stamp::stamping_words(done).into_iter().collect(),
        Err(error) => not_stamped(error),
    };
    lines.extend(not_kept.clone());
    match &results.upgrading {
        Ok(done) => {
            lines.extend(stamp::upgrading_words(done));
            lines.extend(stamp::unreached_words(done).filter(|_| !is_told));
        }
        Err(error) => lines.extend(not_stamped(error)),
    }
    lines
}

fn witnesses(report: &ThirdPartyReport) -> Vec<String> {
    match &report.witnesses {
        Ok(None) => Vec::new(),
        Ok(Some(round)) => witness::round_words(round),
        Err(error) => vec![format!("witnesses could not be asked: {error}")],
    }
}
