//! The numbers by days, as a picture that every browser shows (SVG).
//!
//! Above: questions a day, of each model or conversation when those are told apart. Below: how long
//! answers took. A day without a question is a gap in the lines, and no zero.

use plotters::prelude::*;

use super::{Stats, StatsDay};
use crate::record::unseen::spelled_on_a_line;

/// Width of the picture, in pixels.
const WIDTH: u32 = 960;
/// Pixels of each of the two parts.
const HEIGHT: u32 = 320;
/// So many groups have a line of their own; the others are one.
const MOST_LINES: usize = 7;
/// Characters of a name.
const NAME: usize = 40;
/// So many dates stand below a line.
const DATES: usize = 8;
const FONT: &str = "sans-serif";

/// The picture can't be made.
#[derive(Debug, thiserror::Error)]
#[error("the picture can't be drawn: {reason}")]
pub struct NoChart {
    /// The drawing's own words.
    pub reason: String,
}

impl NoChart {
    fn of(error: impl std::fmt::Display) -> Self {
        NoChart {
            reason: error.to_string(),
        }
    }
}

/// A line of a picture: a value a day, or none.
struct ChartLine {
    name: String,
    values: Vec<Option<u64>>,
}

/// The picture of some numbers.
pub fn chart(stats: &Stats) -> Result<String, NoChart> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (WIDTH, 2 * HEIGHT)).into_drawing_area();
        root.fill(&WHITE).map_err(NoChart::of)?;
        let (above, below) = root.split_vertically(HEIGHT);
        let days: Vec<&str> = stats.days.iter().map(|day| day.day.as_str()).collect();
        draw(&above, "questions a day (UTC)", &days, &questions(stats))?;
        draw(
            &below,
            "seconds until the answer",
            &days,
            &times(&stats.days),
        )?;
        root.present().map_err(NoChart::of)?;
    }
    Ok(svg)
}

/// Questions of all, or of each group.
fn questions(stats: &Stats) -> Vec<ChartLine> {
    let all = |day: &StatsDay| day.figures.as_ref().map(|figures| figures.questions);
    let is_apart = stats.days.iter().any(|day| !day.questions.is_empty());
    if !is_apart {
        return vec![ChartLine {
            name: "questions".to_owned(),
            values: stats.days.iter().map(all).collect(),
        }];
    }
    let of = |name: &str, groups: std::ops::Range<usize>| {
        let asked = |day: &StatsDay| -> u64 {
            day.questions
                .get(groups.clone())
                .unwrap_or_default()
                .iter()
                .sum()
        };
        let some = |day: &StatsDay| Some(asked(day)).filter(|asked| *asked > 0);
        ChartLine {
            name: name.to_owned(),
            values: stats.days.iter().map(some).collect(),
        }
    };
    // A conversation may have the same title as another: its id tells them apart.
    let named = stats.parts.iter().map(|part| match &part.short {
        Some(short) => format!("{short} {}", part.name),
        None => part.name.clone(),
    });
    let mut lines: Vec<ChartLine> = named
        .take(MOST_LINES)
        .enumerate()
        .map(|(at, name)| of(&name, at..at + 1))
        .collect();
    if stats.parts.len() > MOST_LINES {
        lines.push(of("all others", MOST_LINES..stats.parts.len()));
    }
    lines
}

/// How long answers took.
fn times(days: &[StatsDay]) -> Vec<ChartLine> {
    let of = |day: &StatsDay| day.figures.as_ref().and_then(|figures| figures.times);
    vec![
        ChartLine {
            name: "half of them".to_owned(),
            values: days.iter().map(|day| Some(of(day)?.median)).collect(),
        },
        ChartLine {
            name: "nine in ten".to_owned(),
            values: days.iter().map(|day| Some(of(day)?.ninetieth)).collect(),
        },
    ]
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// One part of the picture.
fn draw(area: &Area<'_>, heading: &str, days: &[&str], lines: &[ChartLine]) -> Result<(), NoChart> {
    let most = lines
        .iter()
        .flat_map(|line| line.values.iter().flatten())
        .max();
    let top = number(*most.unwrap_or(&1)).max(1.0) * 1.1;
    let last = number(days.len().saturating_sub(1).max(1));
    let mut chart = ChartBuilder::on(area)
        .caption(heading, (FONT, 18))
        .margin(12)
        .x_label_area_size(30)
        .y_label_area_size(60)
        .build_cartesian_2d(-0.5..last + 0.5, 0.0..top)
        .map_err(NoChart::of)?;
    let date = |at: &f64| day_at(days, *at);
    let whole = |value: &f64| format!("{value:.0}");
    let mut mesh = chart.configure_mesh();
    mesh.x_labels(DATES)
        .x_label_formatter(&date)
        .y_label_formatter(&whole);
    mesh.disable_x_mesh().draw().map_err(NoChart::of)?;
    for (at, line) in lines.iter().enumerate() {
        let colour = Palette99::pick(at).to_rgba();
        for run in runs(&line.values) {
            chart
                .draw_series(LineSeries::new(run.iter().copied(), colour.stroke_width(2)))
                .map_err(NoChart::of)?;
        }
        // A day between two gaps has a point, and no line.
        let points = runs(&line.values).into_iter().flatten();
        let points = points.map(|point| Circle::new(point, 3, colour.filled()));
        chart
            .draw_series(points)
            .map_err(NoChart::of)?
            .label(shown(&line.name))
            .legend(move |(x, y)| {
                PathElement::new(vec![(x, y), (x + 16, y)], colour.stroke_width(2))
            });
    }
    let mut labels = chart.configure_series_labels();
    labels
        .position(SeriesLabelPosition::UpperLeft)
        .label_font((FONT, 13));
    labels
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3));
    labels.draw().map_err(NoChart::of)
}

/// The points of a line, apart wherever a day has no value.
fn runs(values: &[Option<u64>]) -> Vec<Vec<(f64, f64)>> {
    let mut runs = vec![Vec::new()];
    for (at, value) in values.iter().enumerate() {
        match (value, runs.last_mut()) {
            (Some(value), Some(run)) => run.push((number(at), number(*value))),
            (None, Some(run)) if !run.is_empty() => runs.push(Vec::new()),
            _ => {}
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

/// The date at a place of the axis, where one is.
fn day_at(days: &[&str], at: f64) -> String {
    let is_whole = (at - at.round()).abs() < 0.01;
    let found = days
        .iter()
        .enumerate()
        .find(|(n, _)| (number(*n) - at).abs() < 0.01);
    found
        .filter(|_| is_whole)
        .map_or_else(String::new, |(_, day)| (*day).to_owned())
}

/// A count as a place: exact up to more than any record has.
fn number(count: impl TryInto<u32>) -> f64 {
    count.try_into().map_or(f64::from(u32::MAX), f64::from)
}

/// A name that somebody gave, short, on one line, with what no XML has spelled out.
fn shown(name: &str) -> String {
    let spelled = spelled_on_a_line(name);
    let plain = |c: char| match c {
        '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        c => c,
    };
    let cut: String = spelled.chars().take(NAME).map(plain).collect();
    if cut.chars().count() < spelled.chars().count() {
        format!("{cut}…")
    } else {
        cut
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::app::look::stats::{AnswerTimes, Figures, StatsPart};

    fn figures(questions: u64) -> Figures {
        Figures {
            questions,
            answers: questions,
            times: Some(AnswerTimes {
                median: questions,
                ninetieth: questions.saturating_mul(2),
            }),
            drift: BTreeMap::new(),
            ..Figures::default()
        }
    }

    fn of_days(asked: &[u64], names: &[&str]) -> Stats {
        let day = |(n, asked): (usize, &u64)| StatsDay {
            day: format!("2026-11-{:02}", n + 1),
            figures: (*asked > 0).then(|| figures(*asked)),
            questions: names.iter().map(|_| *asked).collect(),
        };
        let part = |name: &&str| StatsPart {
            name: (*name).to_owned(),
            short: None,
            conversation: None,
            figures: figures(1),
        };
        Stats {
            since: None,
            whole: figures(asked.iter().sum()),
            parts: names.iter().map(part).collect(),
            days: asked.iter().enumerate().map(day).collect(),
        }
    }

    #[test]
    fn a_day_without_a_question_is_a_gap() {
        let values = [Some(1), Some(2), None, None, Some(3)];
        assert_eq!(
            runs(&values),
            [vec![(0.0, 1.0), (1.0, 2.0)], vec![(4.0, 3.0)]]
        );
        assert!(runs(&[None, None]).is_empty());
        let lines = |asked: &[u64]| {
            chart(&of_days(asked, &[]))
                .unwrap()
                .matches("<polyline")
                .count()
        };
        // A gap cuts each of the three lines into two.
        assert_eq!(lines(&[1, 2, 3, 0, 4, 5]) - lines(&[1, 2, 3, 3, 4, 5]), 3);
    }

    #[test]
    fn a_hostile_name_is_text() {
        let names = [
            "<script>alert(1)</script>",
            "\" onload=\"x",
            "]]>&amp;'",
            "\u{1b}[2J\u{0}\u{ffff}",
            "日本 é",
        ];
        let svg = chart(&of_days(&[1, 2, 0, 3], &names)).unwrap();
        assert!(
            !svg.contains("<script") && svg.contains("&lt;script&gt;"),
            "{svg}"
        );
        assert!(!svg.contains("\" onload=\"x"), "{svg}");
        assert!(svg.contains("]]&gt;&amp;amp;"), "{svg}");
        let is_fine = |c: char| c == '\n' || !(c.is_control() || c == '\u{ffff}');
        assert!(svg.chars().all(is_fine), "{svg}");
        assert!(
            svg.contains("日本 é") && svg.contains("\\u001b[2J\\u0000"),
            "{svg}"
        );
    }

    #[test]
    fn nothing_and_much_can_be_drawn() {
        assert!(chart(&of_days(&[], &[])).unwrap().starts_with("<svg"));
        let names: Vec<String> = (0..20).map(|n| format!("model-{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let svg = chart(&of_days(&[1; 3660], &names)).unwrap();
        assert!(
            svg.contains("model-6") && svg.contains("all others"),
            "{}",
            svg.len()
        );
        assert!(!svg.contains("model-7"));
        assert!(chart(&of_days(&[u64::MAX], &[])).is_ok());
    }
}
