//! Numbers of what was asked.

use std::collections::BTreeMap;

use serde::Serialize;
use uuid::Uuid;

use crate::app::look::stats::{Figures, Stats, StatsDay, StatsPart};

/// All numbers that were asked for.
#[derive(Clone, Debug, Serialize)]
pub struct StatsView {
    /// Nothing older is in them; null: all of the record is.
    pub since: Option<String>,
    /// Of all exchanges.
    #[serde(flatten)]
    pub whole: FiguresView,
    /// Of each group; empty when none were asked for.
    pub groups: Vec<StatsGroupView>,
    /// Every day from the first question to the last.
    pub days: Vec<StatsDayView>,
    /// The file that they are drawn into.
    pub drawn_into: Option<String>,
}

/// The numbers of some exchanges.
#[derive(Clone, Debug, Serialize)]
pub struct FiguresView {
    /// What was asked.
    pub questions: u64,
    /// How many of it are reviews of answers by members of a council.
    pub reviews: u64,
    /// How many of it ask for a handoff.
    pub handoffs: u64,
    /// What was answered, refusals among it.
    pub answers: u64,
    /// Answers that refuse.
    pub refusals: u64,
    /// Questions that failed.
    pub failures: u64,
    /// What policy denied.
    pub denials: u64,
    /// What has no outcome yet.
    pub in_flight: u64,
    /// Drift events, by class.
    pub drift: BTreeMap<String, u64>,
    /// Of prompts, as models reported them; null where none did.
    pub prompt_tokens: Option<u64>,
    /// Of answers; likewise.
    pub completion_tokens: Option<u64>,
    /// Millionths of each currency; empty where no price was known.
    pub cost_micro: BTreeMap<String, u64>,
    /// Seconds until the answer, of half of them; null where nothing was answered.
    pub median_s: Option<u64>,
    /// Seconds until the answer, of nine in ten.
    pub ninetieth_s: Option<u64>,
}

/// The numbers of one day, model or conversation.
#[derive(Clone, Debug, Serialize)]
pub struct StatsGroupView {
    /// A day, a model, or what a conversation is called.
    pub name: String,
    /// Id of the conversation; null unless groups are conversations.
    pub conversation: Option<Uuid>,
    /// The group's numbers.
    #[serde(flatten)]
    pub figures: FiguresView,
}

/// The numbers of one day.
#[derive(Clone, Debug, Serialize)]
pub struct StatsDayView {
    /// `2026-11-25`, of UTC.
    pub day: String,
    /// What was asked; null where nothing was.
    pub questions: Option<u64>,
    /// Seconds until the answer, of half of them; null where nothing was answered.
    pub median_s: Option<u64>,
    /// Seconds until the answer, of nine in ten.
    pub ninetieth_s: Option<u64>,
}

impl StatsView {
    /// Of some numbers, and the file that they are drawn into.
    pub fn of(stats: &Stats, drawn_into: Option<String>) -> Self {
        StatsView {
            since: stats.since.map(|since| since.to_string()),
            whole: FiguresView::of(&stats.whole),
            groups: stats.parts.iter().map(StatsGroupView::of).collect(),
            days: stats.days.iter().map(StatsDayView::of).collect(),
            drawn_into,
        }
    }
}

impl FiguresView {
    /// Of some figures.
    pub fn of(figures: &Figures) -> Self {
        FiguresView {
            questions: figures.questions,
            reviews: figures.reviews,
            handoffs: figures.handoffs,
            answers: figures.answers,
            refusals: figures.refusals,
            failures: figures.failures,
            denials: figures.denials,
            in_flight: figures.in_flight,
            drift: figures.drift.clone(),
            prompt_tokens: figures.tokens.map(|tokens| tokens.prompt),
            completion_tokens: figures.tokens.map(|tokens| tokens.completion),
            cost_micro: figures.cost_micro.clone(),
            median_s: figures.times.map(|times| times.median),
            ninetieth_s: figures.times.map(|times| times.ninetieth),
        }
    }
}

impl StatsGroupView {
    fn of(part: &StatsPart) -> Self {
        StatsGroupView {
            name: part.name.clone(),
            conversation: part.conversation,
            figures: FiguresView::of(&part.figures),
        }
    }
}

impl StatsDayView {
    fn of(day: &StatsDay) -> Self {
        let figures = day.figures.as_ref();
        let times = figures.and_then(|figures| figures.times);
        StatsDayView {
            day: day.day.clone(),
            questions: figures.map(|figures| figures.questions),
            median_s: times.map(|times| times.median),
            ninetieth_s: times.map(|times| times.ninetieth),
        }
    }
}
