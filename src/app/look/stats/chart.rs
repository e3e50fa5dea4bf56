//! The numbers by days, as a picture: above, questions a day, of each model or conversation when those
//! are told apart; below, how long answers took.

use super::{Stats, StatsDay};
use crate::app::look::day_chart::{ChartLine, ChartPart, MOST_LINES, NoChart, picture};

/// The picture of some numbers.
pub fn chart(stats: &Stats) -> Result<String, NoChart> {
    let days: Vec<&str> = stats.days.iter().map(|day| day.day.as_str()).collect();
    let part = |heading, lines| ChartPart {
        heading,
        lines,
        marks: Vec::new(),
    };
    picture(
        &days,
        &[
            part("questions a day (UTC)", questions(stats)),
            part("seconds until the answer", times(&stats.days)),
        ],
    )
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
                count: 2,
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
