//! Values by days, as a picture that every browser shows (SVG): one part below the other, in each a
//! line for everything that is told apart. A day without a value is a gap in a line, and no zero.

use plotters::prelude::*;

use crate::record::unseen::spelled_on_a_line;

/// So many groups have a line of their own.
pub(in crate::app) const MOST_LINES: usize = 7;
/// Width of the picture, in pixels.
const WIDTH: u32 = 960;
/// Pixels of each part.
const HEIGHT: u32 = 320;
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
pub(in crate::app) struct ChartLine {
    /// What it is of.
    pub name: String,
    /// In the order of days.
    pub values: Vec<Option<u64>>,
}

/// Something that happened on a day.
pub(in crate::app) struct ChartMark {
    /// Which day, from 0.
    pub day: usize,
    /// What happened.
    pub name: String,
}

/// One part of a picture.
pub(in crate::app) struct ChartPart<'a> {
    /// What is drawn.
    pub heading: &'a str,
    /// The lines.
    pub lines: Vec<ChartLine>,
    /// What happened meanwhile: each is a line from top to bottom.
    pub marks: Vec<ChartMark>,
}

/// The picture of some parts over the same days, the first above.
pub(in crate::app) fn picture(days: &[&str], parts: &[ChartPart<'_>]) -> Result<String, NoChart> {
    let count = u32::try_from(parts.len()).map_err(NoChart::of)?;
    let mut svg = String::new();
    {
        let size = (WIDTH, HEIGHT.saturating_mul(count));
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE).map_err(NoChart::of)?;
        for (area, part) in root.split_evenly((parts.len(), 1)).iter().zip(parts) {
            draw(area, days, part)?;
        }
        root.present().map_err(NoChart::of)?;
    }
    Ok(svg)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// One part of the picture.
fn draw(area: &Area<'_>, days: &[&str], part: &ChartPart<'_>) -> Result<(), NoChart> {
    let most = part
        .lines
        .iter()
        .flat_map(|line| line.values.iter().flatten())
        .max();
    let top = number(*most.unwrap_or(&1)).max(1.0) * 1.1;
    let last = number(days.len().saturating_sub(1).max(1));
    let mut chart = ChartBuilder::on(area)
        .caption(part.heading, (FONT, 18))
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
    for mark in &part.marks {
        let at = number(mark.day);
        let line = PathElement::new(vec![(at, 0.0), (at, top)], BLACK.mix(0.4));
        let name = Text::new(shown(&mark.name), (at, top), (FONT, 12));
        chart
            .draw_series(std::iter::once(line))
            .map_err(NoChart::of)?;
        chart
            .draw_series(std::iter::once(name))
            .map_err(NoChart::of)?;
    }
    for (at, line) in part.lines.iter().enumerate() {
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
    use super::*;

    fn drawn(values: &[Option<u64>], marks: Vec<ChartMark>) -> String {
        let days: Vec<String> = (1..=values.len())
            .map(|n| format!("2026-11-{n:02}"))
            .collect();
        let days: Vec<&str> = days.iter().map(String::as_str).collect();
        let line = ChartLine {
            name: "one".to_owned(),
            values: values.to_vec(),
        };
        let part = ChartPart {
            heading: "what is drawn",
            lines: vec![line],
            marks,
        };
        picture(&days, &[part]).unwrap()
    }

    #[test]
    fn a_day_without_a_value_is_a_gap() {
        let values = [Some(1), Some(2), None, None, Some(3)];
        assert_eq!(
            runs(&values),
            [vec![(0.0, 1.0), (1.0, 2.0)], vec![(4.0, 3.0)]]
        );
        assert!(runs(&[None, None]).is_empty());
    }

    #[test]
    fn a_mark_is_a_line_with_its_name_as_a_text() {
        let mark = ChartMark {
            day: 1,
            name: "<b>x</b>\u{1b}".to_owned(),
        };
        let (with, without) = (
            drawn(&[Some(1), Some(2)], vec![mark]),
            drawn(&[Some(1), Some(2)], Vec::new()),
        );
        assert!(
            !with.contains("<b>") && with.contains("&lt;b&gt;x"),
            "{with}"
        );
        let lines = |svg: &str| svg.matches("<polyline").count();
        assert_eq!(lines(&with) - lines(&without), 1);
    }
}
