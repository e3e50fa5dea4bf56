//! `gently stats`: what was asked, what became of it, what it took.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::app::home::open::{self, OpenHomeError};
use crate::app::look::day_chart::NoChart;
use crate::app::look::stats::{
    AnswerTimes, Figures, Stats, StatsDay, StatsGroup, StatsPart, StatsRequest, chart, stats,
};
use crate::record::ledger::params::Cost;
use crate::view::look::stats::StatsView;

use crate::cli::screen::new_file::{NewFile, judge_new};
use crate::cli::screen::{counted, quiet, sparkline};
use crate::cli::{could_not, present, say};

/// So many days have a sign each.
const DAYS: usize = 60;

/// `gently stats`.
#[derive(Debug, Args)]
pub struct StatsArgs {
    /// Of nothing older: 2025-12-31T04:25:37Z, 2025-12-31, today, yesterday, or an age like 2h or
    /// 3d
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Beside all of it, each of these by itself
    #[arg(long, value_name = "WHAT")]
    pub by: Option<GroupOption>,
    /// Draw it by days into a new file, for a browser
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// By what the numbers are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GroupOption {
    /// Days of UTC
    Day,
    /// Models
    Model,
    /// Conversations, the one asked in last first
    Conversation,
}

/// Counts, and prints the numbers.
pub fn run(args: &StatsArgs, json: bool) -> Result<u8, OpenHomeError> {
    if let Some(why) = args
        .svg
        .as_deref()
        .and_then(|file| judge_new(file, FLAG).err())
    {
        return Ok(could_not(&why, json));
    }
    let request = StatsRequest {
        since: args.since.clone(),
        by: args.by.map(|by| match by {
            GroupOption::Day => StatsGroup::Day,
            GroupOption::Model => StatsGroup::Model,
            GroupOption::Conversation => StatsGroup::Conversation,
        }),
    };
    let stats = stats(&open::existing_home()?, &request)?;
    let drawn_into = args.svg.as_deref().map(|file| {
        draw(chart(&stats), file)?;
        Ok::<_, String>(file.display().to_string())
    });
    let drawn_into = match drawn_into.transpose() {
        Ok(file) => file,
        Err(why) => return Ok(could_not(&why, json)),
    };
    if let Some(file) = &drawn_into {
        say(&format!("drawn into {}", quiet(file)));
    }
    let view = || StatsView::of(&stats, drawn_into.clone());
    Ok(present(json, view, || text(&stats)))
}

/// Writes a picture into a new file.
pub(in crate::cli) fn draw(picture: Result<String, NoChart>, file: &Path) -> Result<(), String> {
    let svg = picture.map_err(|why| why.to_string())?;
    let new = NewFile::create(file)?;
    new.fill_or(&svg, "nothing was written")
}

/// The option that names the picture's file.
pub(in crate::cli) const FLAG: &str = "--svg";

fn text(stats: &Stats) -> String {
    let since = stats.since.map_or_else(
        || "since the first question".to_owned(),
        |since| format!("since {since}"),
    );
    let mut text = format!("all  {since}\n{}", block(&stats.whole));
    text.push_str(&days(&stats.days));
    for part in &stats.parts {
        text.push_str(&format!("\n{}\n{}", heading(part), block(&part.figures)));
    }
    text
}

fn heading(part: &StatsPart) -> String {
    match &part.short {
        Some(short) => format!("{short}  {}", quiet(&part.name)),
        None => quiet(&part.name),
    }
}

/// The numbers of something, in from the margin. What there is no number of has no line.
pub(in crate::cli) fn block(figures: &Figures) -> String {
    let mut lines = vec![outcomes(figures)];
    if !figures.drift.is_empty() {
        let classes = figures.drift.iter();
        let classes: Vec<String> = classes
            .map(|(class, n)| format!("{} {n}", quiet(class)))
            .collect();
        lines.push(format!("drift     {}", classes.join(", ")));
    }
    if let Some(tokens) = figures.tokens {
        lines.push(format!(
            "tokens    {} of questions and their context, {} of answers",
            tokens.prompt, tokens.completion
        ));
    }
    if !figures.cost_micro.is_empty() {
        let costs = figures.cost_micro.iter();
        let costs: Vec<String> = costs
            .map(|(currency, micro)| money(currency, *micro))
            .collect();
        lines.push(format!("cost      {}", costs.join(", ")));
    }
    if let Some(times) = figures.times {
        lines.push(format!("answered  {}", times_told(times)));
    }
    lines.iter().map(|line| format!("    {line}\n")).collect()
}

/// Whom the greater of two times is of: below ten answers nine in ten are all of them.
pub(in crate::cli) fn most_of(answers: usize) -> &'static str {
    match answers < 10 {
        true => "all",
        false => "nine in ten",
    }
}

/// `half within 4 s, nine in ten within 11 s`; of one answer its own time.
fn times_told(times: AnswerTimes) -> String {
    let within = |seconds: u64| match seconds {
        0 => "in less than a second".to_owned(),
        _ => format!("within {seconds} s"),
    };
    let (most, of) = (within(times.ninetieth), most_of(times.count));
    match times.median == times.ninetieth {
        true if times.count == 1 => most,
        true => format!("{of} {most}"),
        false => format!("half {}, {of} {most}", within(times.median)),
    }
}

fn outcomes(figures: &Figures) -> String {
    let mut parts = vec![counted(figures.answers, "answer")];
    let others = [
        (figures.refusals, "of them refusals"),
        (figures.failures, "failed"),
        (figures.denials, "denied"),
        (figures.in_flight, "without an outcome yet"),
    ];
    let others = others.into_iter().filter(|(count, _)| *count > 0);
    parts.extend(others.map(|(count, what)| format!("{count} {what}")));
    let aside = [(figures.reviews, "review"), (figures.handoffs, "handoff")];
    let aside = aside.into_iter().filter(|(count, _)| *count > 0);
    let aside: Vec<String> = aside.map(|(count, what)| counted(count, what)).collect();
    let aside = match aside.is_empty() {
        true => String::new(),
        false => format!(" (of them {})", aside.join(", ")),
    };
    format!(
        "asked     {}{aside}: {}",
        counted(figures.questions, "question"),
        parts.join(", ")
    )
}

fn money(currency: &str, micro: u64) -> String {
    let cost = Cost {
        micro,
        currency: currency.to_owned(),
    };
    quiet(&cost.to_string())
}

/// A sign for each of the last days; a blank where nothing was asked.
fn days(days: &[StatsDay]) -> String {
    let newest = days.len().saturating_sub(DAYS);
    let shown = days.get(newest..).unwrap_or_default();
    let asked = |day: &StatsDay| day.figures.as_ref().map(|figures| figures.questions);
    let values: Vec<Option<u64>> = shown.iter().map(asked).collect();
    let (Some(first), Some(last)) = (shown.first(), shown.last()) else {
        return String::new();
    };
    let most = values.iter().flatten().max().copied().unwrap_or(0);
    let most = counted(most, "question");
    let told = match first.day == last.day {
        true => format!("{}, {most} that day", first.day),
        false => format!("{} to {}, at most {most} a day", first.day, last.day),
    };
    format!(
        "    by days   {}\n              {told}\n",
        sparkline(&values)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_has_no_line() {
        let figures = Figures {
            questions: 2,
            answers: 1,
            denials: 1,
            ..Figures::default()
        };
        assert_eq!(
            block(&figures),
            "    asked     2 questions: 1 answer, 1 denied\n"
        );
        let figures = Figures {
            questions: 5,
            reviews: 3,
            handoffs: 1,
            answers: 5,
            ..Figures::default()
        };
        assert_eq!(
            block(&figures),
            "    asked     5 questions (of them 3 reviews, 1 handoff): 5 answers\n"
        );
        for (count, median, ninetieth, told) in [
            (1, 0, 0, "in less than a second"),
            (1, 4, 4, "within 4 s"),
            (2, 0, 0, "all in less than a second"),
            (2, 0, 3, "half in less than a second, all within 3 s"),
            (9, 4, 11, "half within 4 s, all within 11 s"),
            (10, 4, 11, "half within 4 s, nine in ten within 11 s"),
            (12, 4, 4, "nine in ten within 4 s"),
        ] {
            let times = AnswerTimes {
                count,
                median,
                ninetieth,
            };
            assert_eq!(times_told(times), told);
        }
        assert_eq!(money("USD", 12_300), "$0.0123");
        assert_eq!(money("\u{1b}X", 1), "0.000001 \\u001bX");
    }
}
