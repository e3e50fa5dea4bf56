//! `gently specialist report`: what came of specialists and models.

use std::path::PathBuf;

use clap::Args;

use crate::app::home::open::{self, OpenHomeError};
use crate::app::set_up::specialist::report::{
    AnswererPart, ModelTimes, RatedDomain, SpecialistReport, chart, specialist_report,
};
use crate::record::ledger::short_name::short_name;
use crate::view::set_up::specialist_report::SpecialistReportView;

use crate::cli::look::stats::{FLAG, block, draw, most_of};
use crate::cli::screen::new_file::judge_new;
use crate::cli::screen::{quiet, thousandths};
use crate::cli::{NEGATIVE, could_not, present, say};

/// `gently specialist report`.
#[derive(Debug, Args)]
pub struct SpecialistReportArgs {
    /// Count nothing older: 2025-12-31T04:25:37Z, 2025-12-31, today, yesterday, or an age like 2h or
    /// 3d
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Draw what was expected of each by days into a new file, for a browser
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

impl SpecialistReportArgs {
    /// Whether it writes a file.
    pub fn writes(&self) -> bool {
        self.svg.is_some()
    }
}

/// Counts, and prints what came of each.
pub fn report(args: &SpecialistReportArgs, json: bool) -> Result<u8, OpenHomeError> {
    let home = open::existing_home()?;
    if let Some(file) = &args.svg {
        let own = || Ok::<_, OpenHomeError>(open::own_file((&home, &open::config(&home)?), file));
        let why = judge_new(file, FLAG)
            .err()
            .map_or_else(own, |why| Ok(Some(why)))?;
        if let Some(why) = why {
            return Ok(could_not(&why, json));
        }
    }
    let report = specialist_report(&home, args.since.as_deref())?;
    let mut drawn_into = None;
    if let Some(file) = args.svg.as_deref().filter(|_| !report.is_empty()) {
        if let Err(why) = draw(chart(&report), file) {
            return Ok(could_not(&why, json));
        }
        let shown = file.display().to_string();
        say(&format!("drawn into {}", quiet(&shown)));
        drawn_into = Some(shown);
    }
    let view = || SpecialistReportView::of(&report, drawn_into.clone());
    let printed = present(json, view, || text(&report));
    if !report.is_empty() {
        return Ok(printed);
    }
    let since = report.since;
    let since = since.map_or_else(String::new, |since| format!(" since {since}"));
    say(&format!("nothing was asked{since}, and no answer rated"));
    Ok(NEGATIVE.max(printed))
}

fn text(report: &SpecialistReport) -> String {
    if report.is_empty() {
        return String::new();
    }
    let parts = report.parts.iter().map(part);
    parts.collect::<Vec<_>>().join("\n")
}

fn part(part: &AnswererPart) -> String {
    let model = quiet(&part.who.model);
    let heading = match (part.who.specialist, &part.name) {
        (None, _) => format!("{model}  (asked by its own name)"),
        (Some(id), name) => {
            let short = short_name(&id.to_string());
            let name = name.as_deref().map_or_else(|| short.clone(), quiet);
            let bound = if part.is_bound {
                ""
            } else {
                "  (retired, or bound to another model)"
            };
            format!("{short}  {name}  {model}{bound}")
        }
    };
    let mut text = format!("{heading}\n{}", block(&part.figures));
    let mut lines: Vec<String> = part.times.map(times).into_iter().collect();
    lines.extend(said(part));
    lines.extend(expected(part));
    text.extend(lines.iter().map(|line| format!("    {line}\n")));
    text
}

fn times(times: ModelTimes) -> String {
    let (median, ninetieth) = (thousandths(times.median), thousandths(times.ninetieth));
    match times.count {
        1 => format!("model     {ninetieth} s for its answer"),
        count => format!(
            "model     at most {median} s for half of its answers, {ninetieth} s for {}",
            most_of(count)
        ),
    }
}

/// What people said, and how many councils chose it; nothing where nobody said anything and it answered in
/// none.
fn said(part: &AnswererPart) -> Option<String> {
    let is_said = part.good + part.bad > 0 || part.won.is_some();
    let won = part.won.map_or_else(String::new, |won| match won {
        0 => "; chosen by no council".to_owned(),
        1 => "; chosen by 1 council".to_owned(),
        won => format!("; chosen by {won} councils"),
    });
    is_said.then(|| format!("rated     {} good, {} bad{won}", part.good, part.bad))
}

/// What is expected of a specialist; nothing of a model by itself.
fn expected(part: &AnswererPart) -> Option<String> {
    let all = thousandths(part.expected?);
    if part.is_prior() {
        return Some(format!(
            "expected  {all} of 1: nothing of it is rated yet, and all begin with that"
        ));
    }
    let of = |rated: &RatedDomain| {
        let expected = rated.expected.map(thousandths);
        Some(format!("{} {}", quiet(&rated.count.domain), expected?))
    };
    let domains: Vec<String> = part.rated.iter().filter_map(of).collect();
    Some(format!("expected  {all} of 1 ({})", domains.join(", ")))
}
