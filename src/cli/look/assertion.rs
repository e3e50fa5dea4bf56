//! `gently assertion report`: how checks of replies came out, and what they were worth.

use clap::{Args, Subcommand, ValueEnum};

use crate::app::home::open::{self, OpenHomeError};
use crate::app::look::assertion::{
    CheckGroup, CheckPart, CheckReport, CheckReportRequest, CheckTally, check_report,
};
use crate::record::ledger::short_name::short_name;
use crate::view::look::assertion::CheckReportView;

use crate::cli::screen::{counted, quiet, thousandths};
use crate::cli::{NEGATIVE, present, program, say};

/// Subcommands of `gently assertion`.
#[derive(Debug, Subcommand)]
pub enum AssertionCommand {
    /// Count checks: made, passed, failed, and what they were worth. Exit 1 when none was made
    Report(CheckReportArgs),
}

/// `gently assertion report`.
#[derive(Debug, Args)]
pub struct CheckReportArgs {
    /// Of nothing older: 2025-12-31T04:25:37Z, 2025-12-31, today, yesterday, or an age like 2h or
    /// 3d
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// What they are told apart by
    #[arg(long, value_name = "WHAT", default_value = "name")]
    by: CheckGroupOption,
}

/// By what checks are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CheckGroupOption {
    /// Class and rule
    Name,
    /// The specialist that was asked
    Specialist,
    /// The domain by which the answer was rated
    Domain,
}

/// Carries out `gently assertion`.
pub fn run(command: &AssertionCommand, json: bool) -> Result<u8, OpenHomeError> {
    let AssertionCommand::Report(args) = command;
    let request = CheckReportRequest {
        since: args.since.clone(),
        by: match args.by {
            CheckGroupOption::Name => CheckGroup::Name,
            CheckGroupOption::Specialist => CheckGroup::Specialist,
            CheckGroupOption::Domain => CheckGroup::Domain,
        },
    };
    let report = check_report(&open::existing_home()?, &request)?;
    let printed = present(json, || CheckReportView::of(&report), || text(&report));
    if report.whole.made > report.whole.passed {
        say(&format!("what failed: {} drift list --all", program()));
    }
    if report.whole.made > 0 {
        return Ok(printed);
    }
    let since = report.since;
    let since = since.map_or_else(String::new, |since| format!(" since {since}"));
    say(&format!("no reply was checked{since}"));
    Ok(NEGATIVE.max(printed))
}

/// What a number in the report is.
const WORTH: &str = "
Worth: what these checks add to what is expected of the answers.
";

fn text(report: &CheckReport) -> String {
    if report.whole.made == 0 {
        return String::new();
    }
    let since = report.since.map_or_else(
        || "since the first question".to_owned(),
        |since| format!("since {since}"),
    );
    let mut text = format!("All checks {since}\n{}", block(&report.whole));
    for part in &report.parts {
        text.push_str(&format!(
            "\n{}\n{}",
            heading(report.by, part),
            block(&part.tally)
        ));
    }
    text.push_str(WORTH);
    text
}

fn heading(by: CheckGroup, part: &CheckPart) -> String {
    match (&part.key, &part.name) {
        (Some(key), Some(name)) => format!("{}  {}", short_name(key), quiet(name)),
        (Some(key), None) => quiet(key),
        (None, _) if by == CheckGroup::Domain => "(not rated, so of no domain)".to_owned(),
        (None, _) => "(models that were asked by their own names)".to_owned(),
    }
}

/// How some came out, in from the margin. What did not occur is not said.
fn block(tally: &CheckTally) -> String {
    let mut parts = vec![format!("{} passed", tally.passed)];
    parts.extend(
        tally
            .share()
            .map(|share| format!("a share of {}", thousandths(share))),
    );
    let failed = [
        (tally.blocking, "withheld an answer"),
        (tally.soft, "failed with a warning"),
        (tally.noted, "failed and noted on record"),
    ];
    let failed = failed.into_iter().filter(|(count, _)| *count > 0);
    parts.extend(failed.map(|(count, what)| format!("{count} {what}")));
    let bonus = match tally.bonus {
        Some(bonus) => thousandths(bonus),
        None => "not known: a kernel that says it is lost".to_owned(),
    };
    format!(
        "    made   {}: {}\n    worth  {bonus}\n",
        counted(tally.made, "check"),
        parts.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_did_not_occur_is_not_said() {
        let mut tally = CheckTally {
            made: 3,
            passed: 2,
            noted: 0,
            soft: 1,
            blocking: 0,
            bonus: Some(-50),
        };
        assert_eq!(
            block(&tally),
            "    made   3 checks: 2 passed, a share of 0.666, 1 failed with a warning\n    worth  -0.050\n"
        );
        tally.bonus = None;
        assert!(block(&tally).contains("worth  not known"));
    }
}
