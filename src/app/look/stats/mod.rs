//! Numbers: what was asked, what became of it, what it took. Counted from the record each time, and
//! kept nowhere.
//!
//! | file | what is in it |
//! |---|---|
//! | `chart` | the same by days, as a picture |

mod chart;

use std::collections::{BTreeMap, HashMap};

use uuid::Uuid;

pub use chart::chart;

use crate::app::sentence::RequestField;
use crate::home::Home;
use crate::record::context::turn::TurnIntent;
use crate::record::exchange::ExchangeOutcome;
use crate::record::time::Seconds;
use crate::store::{CountedExchange, ReadStore, StoreError};

use super::search::title_of;
use crate::app::find::short_thread;
use crate::app::home::open::{self, OpenHomeError};
use crate::app::moment::when;

/// A day of UTC, in seconds.
pub(in crate::app) const DAY: u64 = 86_400;
/// So many days are looked at one by one; older ones are in the sums.
pub(in crate::app) const MOST_DAYS: u64 = 3660;

/// By what the numbers are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatsGroup {
    /// Days of UTC.
    Day,
    /// One part for each model.
    Model,
    /// One part for each conversation.
    Conversation,
}

/// Which numbers are asked for.
#[derive(Clone, Debug, Default)]
pub struct StatsRequest {
    /// Of nothing older: a time, a day or an age.
    pub since: Option<String>,
    /// Beside all of it, each of these by itself.
    pub by: Option<StatsGroup>,
}

/// Tokens, as models reported them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenCount {
    /// Tokens of prompts.
    pub prompt: u64,
    /// Tokens of answers.
    pub completion: u64,
}

/// How long answers took, in whole seconds, as the log's times are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerTimes {
    /// How many there are.
    pub count: usize,
    /// Half of them took no longer.
    pub median: u64,
    /// Nine in ten took no longer.
    pub ninetieth: u64,
}

/// The numbers of some exchanges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// What was asked.
    pub questions: u64,
    /// How many of it are reviews of an answer by a council's members.
    pub reviews: u64,
    /// How many of it ask for a handoff.
    pub handoffs: u64,
    /// What was answered, refusals among it.
    pub answers: u64,
    /// Answers that refuse.
    pub refusals: u64,
    /// What a model, a server or a compile failed at.
    pub failures: u64,
    /// What policy denied.
    pub denials: u64,
    /// What has no outcome yet.
    pub in_flight: u64,
    /// Drift events, by class.
    pub drift: BTreeMap<String, u64>,
    /// None where no model reported any.
    pub tokens: Option<TokenCount>,
    /// Millionths of each currency; none where no price was known.
    pub cost_micro: BTreeMap<String, u64>,
    /// None where nothing was answered.
    pub times: Option<AnswerTimes>,
}

/// The numbers of one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatsPart {
    /// A day, a model, or what a conversation is called.
    pub name: String,
    /// The conversation as commands take it.
    pub short: Option<String>,
    /// Id of the conversation; none unless parts are conversations.
    pub conversation: Option<Uuid>,
    /// The part's numbers.
    pub figures: Figures,
}

/// One day, whether anything was asked in it or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatsDay {
    /// Day in UTC, such as `2026-11-25`.
    pub day: String,
    /// None where nothing was asked.
    pub figures: Option<Figures>,
    /// Questions of each group, in the order of the parts.
    pub questions: Vec<u64>,
}

/// The numbers that were asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Nothing older is in them.
    pub since: Option<Seconds>,
    /// Of all exchanges.
    pub whole: Figures,
    /// Of each group; none when no groups were asked for.
    pub parts: Vec<StatsPart>,
    /// Every day from the first question to the last.
    pub days: Vec<StatsDay>,
}

/// Numbers that are still being counted.
#[derive(Default)]
pub(in crate::app) struct Tally {
    figures: Figures,
    /// Seconds that answers took.
    took: Vec<u64>,
    /// Line of the newest question.
    last: u64,
}

impl Tally {
    /// Counts one more.
    pub fn add(&mut self, exchange: &CountedExchange) {
        let figures = &mut self.figures;
        figures.questions += 1;
        self.last = exchange.line;
        match exchange.outcome {
            None => figures.in_flight += 1,
            Some(ExchangeOutcome::Failed) => figures.failures += 1,
            Some(ExchangeOutcome::Denied) => figures.denials += 1,
            Some(ExchangeOutcome::Answered) => {
                figures.answers += 1;
                figures.refusals += u64::from(exchange.refusal == Some(true));
                let ended = exchange.ended_at.unwrap_or(exchange.asked_at);
                self.took.push(ended.since(exchange.asked_at));
            }
        }
        if exchange.prompt_tokens.is_some() || exchange.completion_tokens.is_some() {
            let tokens = figures.tokens.get_or_insert_default();
            tokens.prompt = tokens
                .prompt
                .saturating_add(exchange.prompt_tokens.unwrap_or(0));
            let completion = exchange.completion_tokens.unwrap_or(0);
            tokens.completion = tokens.completion.saturating_add(completion);
        }
        if let Some(cost) = &exchange.cost {
            let sum = figures.cost_micro.entry(cost.currency.clone()).or_default();
            *sum = sum.saturating_add(cost.micro);
        }
    }

    /// Notes what one of those that were counted is for.
    pub fn note(&mut self, intent: TurnIntent) {
        match intent {
            TurnIntent::ChatMessage => {}
            TurnIntent::CouncilReview => self.figures.reviews += 1,
            TurnIntent::ContextHandoff => self.figures.handoffs += 1,
        }
    }

    /// Counts drift of this class.
    pub fn drift(&mut self, class: &str) {
        *self.figures.drift.entry(class.to_owned()).or_default() += 1;
    }

    /// What was counted.
    pub fn figures(mut self) -> Figures {
        self.took.sort_unstable();
        self.figures.times = percentile(&self.took, 50)
            .zip(percentile(&self.took, 90))
            .map(|(median, ninetieth)| AnswerTimes {
                count: self.took.len(),
                median,
                ninetieth,
            });
        self.figures
    }
}

/// The smallest of these numbers, in their order, that so many in a hundred are not above; none of
/// none.
pub(in crate::app) fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.checked_sub(1)?).copied()
}

/// What tells the groups apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum GroupKey {
    Day(u64),
    Model(String),
    Conversation(Option<Uuid>),
}

impl GroupKey {
    fn of(exchange: &CountedExchange, by: StatsGroup) -> Self {
        match by {
            StatsGroup::Day => GroupKey::Day(day_of(exchange)),
            StatsGroup::Model => GroupKey::Model(exchange.model.clone()),
            StatsGroup::Conversation => GroupKey::Conversation(exchange.thread),
        }
    }
}

fn day_of(exchange: &CountedExchange) -> u64 {
    exchange.asked_at.get() / DAY
}

/// The numbers of a home.
pub fn stats(home: &Home, request: &StatsRequest) -> Result<Stats, OpenHomeError> {
    let since = request.since.as_deref();
    let since = since
        .map(|text| when(RequestField::Since, text, open::clock_or_epoch()))
        .transpose()
        .map_err(OpenHomeError::Wanting)?;
    let store = open::store(home)?;
    store.reading(|store| Ok(stats_in(store, since, request.by)?))
}

/// What is counted, in its groups.
#[derive(Default)]
struct Tallies {
    whole: Tally,
    days: BTreeMap<u64, Tally>,
    groups: HashMap<GroupKey, Tally>,
    /// Questions of a group on a day.
    on_days: HashMap<(u64, GroupKey), u64>,
    /// Where the exchange of a line is counted, for its drift and for what it is for.
    places: HashMap<u64, (u64, Option<GroupKey>)>,
}

/// The numbers of a store of which one state is seen.
fn stats_in(
    store: &ReadStore,
    since: Option<Seconds>,
    by: Option<StatsGroup>,
) -> Result<Stats, StoreError> {
    let from = since
        .map(|since| store.line_from(since))
        .transpose()?
        .unwrap_or(0);
    let drift = store.drift_classes(from)?;
    let aside = store.turns_aside(from)?;
    let mut tallies = Tallies::default();
    // Most exchanges are messages without drift: only the places of the others are kept.
    let lines = drift.iter().map(|(line, _)| *line);
    let lines = lines.chain(aside.iter().map(|(line, _)| *line));
    tallies.places.extend(lines.map(|line| (line, (0, None))));
    store.each_counted(from, &mut |exchange| {
        if since.is_none_or(|since| exchange.asked_at >= since) {
            tallies.add(&exchange, by);
        }
        Ok(())
    })?;
    for (line, class) in &drift {
        tallies.at(*line, &mut |tally| tally.drift(class));
    }
    for (line, intent) in &aside {
        tallies.at(*line, &mut |tally| tally.note(*intent));
    }
    tallies.told(store, since)
}

impl Tallies {
    fn add(&mut self, exchange: &CountedExchange, by: Option<StatsGroup>) {
        let (day, group) = (day_of(exchange), by.map(|by| GroupKey::of(exchange, by)));
        self.whole.add(exchange);
        self.days.entry(day).or_default().add(exchange);
        if let Some(group) = &group {
            self.groups.entry(group.clone()).or_default().add(exchange);
            *self.on_days.entry((day, group.clone())).or_default() += 1;
        }
        if let Some(place) = self.places.get_mut(&exchange.line) {
            *place = (day, group);
        }
    }

    /// Adds something of the exchange of a line wherever that is counted.
    fn at(&mut self, line: u64, add: &mut dyn FnMut(&mut Tally)) {
        let Some((day, group)) = self.places.get(&line) else {
            return;
        };
        // One that is too old is counted on no day.
        let Some(tally) = self.days.get_mut(day) else {
            return;
        };
        add(tally);
        add(&mut self.whole);
        if let Some(tally) = group.as_ref().and_then(|group| self.groups.get_mut(group)) {
            add(tally);
        }
    }

    fn told(mut self, store: &ReadStore, since: Option<Seconds>) -> Result<Stats, StoreError> {
        let mut groups: Vec<(GroupKey, Tally)> = self.groups.drain().collect();
        groups.sort_by(|(one, a), (other, b)| match (one, other) {
            (GroupKey::Day(one), GroupKey::Day(other)) => one.cmp(other),
            (GroupKey::Conversation(_), _) => b.last.cmp(&a.last),
            _ => b
                .figures
                .questions
                .cmp(&a.figures.questions)
                .then(one.cmp(other)),
        });
        let keys: Vec<GroupKey> = groups.iter().map(|(key, _)| key.clone()).collect();
        let parts = groups
            .into_iter()
            .map(|(key, tally)| part(store, key, tally));
        let parts = parts.collect::<Result<_, _>>()?;
        let last = self.days.keys().next_back().copied();
        let first = self.days.keys().next().copied();
        let days = first.zip(last).map(|(first, last)| {
            let first = first.max(last.saturating_sub(MOST_DAYS));
            (first..=last).map(|day| self.day(day, &keys)).collect()
        });
        Ok(Stats {
            since,
            whole: self.whole.figures(),
            parts,
            days: days.unwrap_or_default(),
        })
    }

    fn day(&mut self, day: u64, keys: &[GroupKey]) -> StatsDay {
        let of = |key: &GroupKey| self.on_days.get(&(day, key.clone())).copied().unwrap_or(0);
        StatsDay {
            day: name_of(day),
            questions: match keys.first() {
                // A day by itself is told apart already.
                Some(GroupKey::Day(_)) => Vec::new(),
                _ => keys.iter().map(of).collect(),
            },
            figures: self.days.remove(&day).map(Tally::figures),
        }
    }
}

/// A day of UTC by its number since the epoch: `2026-11-25`.
pub(in crate::app) fn name_of(day: u64) -> String {
    let time = Seconds::new(day.saturating_mul(DAY)).map(|time| time.to_string());
    let time = time.unwrap_or_default();
    time.split('T').next().unwrap_or_default().to_owned()
}

fn part(store: &ReadStore, key: GroupKey, tally: Tally) -> Result<StatsPart, StoreError> {
    let (mut short, mut conversation) = (None, None);
    let name = match key {
        GroupKey::Day(day) => name_of(day),
        GroupKey::Model(model) => model,
        GroupKey::Conversation(None) => "in no conversation".to_owned(),
        GroupKey::Conversation(Some(thread)) => {
            short = Some(short_thread(store, thread)?);
            conversation = Some(thread);
            title_of(store, thread)?.unwrap_or_else(|| "(erased, or not kept)".to_owned())
        }
    };
    Ok(StatsPart {
        name,
        short,
        conversation,
        figures: tally.figures(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_numbers_that_occurred() {
        assert_eq!(percentile(&[], 50), None);
        for (sorted, median, ninetieth) in [
            (vec![7], 7, 7),
            (vec![1, 2], 1, 2),
            (vec![1, 2, 3], 2, 3),
            ((1..=10).collect(), 5, 9),
            ((1..=11).collect(), 6, 10),
        ] {
            assert_eq!(percentile(&sorted, 50), Some(median), "{sorted:?}");
            assert_eq!(percentile(&sorted, 90), Some(ninetieth), "{sorted:?}");
        }
    }

    #[test]
    fn a_day_is_one_of_utc() {
        assert_eq!(name_of(0), "1970-01-01");
        assert_eq!(name_of(20_782), "2026-11-25");
    }
}
