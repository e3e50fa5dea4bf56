//! What was expected of each specialist with each model, day by day, and when it was bound to another.

use std::collections::BTreeMap;

use super::{ReportedAnswerer, overall};
use crate::app::look::stats::{DAY, MOST_DAYS, name_of};
use crate::app::set_up::specialist::called;
use crate::record::ledger::specialist::{
    Promotion, PromotionEvent, Rating, RatingCount, RatingVerdict, Specialists,
};
use crate::record::time::Seconds;
use crate::store::{ReadStore, StoreError};

/// A specialist that was bound to another model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatedBinding {
    /// Id of the record.
    pub id: String,
    /// Day of UTC, such as `2026-11-25`; none where its line is not here.
    pub day: Option<String>,
    /// What people call the specialist.
    pub name: String,
    /// Whether it was promoted, or rolled back.
    pub event: PromotionEvent,
    /// The model that it was bound to from then on.
    pub to_model: String,
    /// Whether it was undone since.
    pub is_reverted: bool,
}

/// What was expected of one at the end of each day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UtilityLine {
    /// The specialist with its model, or the model.
    pub who: ReportedAnswerer,
    /// What people call the specialist.
    pub name: String,
    /// How many of its answers were rated.
    pub rated: u64,
    /// In thousandths, over all domains, in the order of days; none before its first rating.
    pub values: Vec<Option<u64>>,
}

/// What was expected of all over the days.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UtilityHistory {
    /// Every day from the first rating or promotion to the last.
    pub days: Vec<String>,
    /// The specialists with models that were rated, the most rated first.
    pub lines: Vec<UtilityLine>,
    /// Promotions and rollbacks, in their order.
    pub bindings: Vec<DatedBinding>,
}

/// Which day a line of the log is of, for lines that are asked for in their order: a day's first line
/// is looked for once.
struct LineDays<'a> {
    store: &'a ReadStore,
    /// How many lines there are.
    lines: u64,
    /// The day looked at, and the first line behind it.
    at: Option<(u64, u64)>,
}

impl LineDays<'_> {
    fn of(store: &ReadStore) -> Result<LineDays<'_>, StoreError> {
        let lines = store.head()?.lines;
        Ok(LineDays {
            store,
            lines,
            at: None,
        })
    }

    fn day_of(&mut self, line: u64) -> Result<Option<u64>, StoreError> {
        if let Some((day, _)) = self.at.filter(|(_, end)| line < *end) {
            return Ok(Some(day));
        }
        if line >= self.lines {
            return Ok(None);
        }
        let Some(time) = self.store.time_of_line(line)? else {
            return Ok(None);
        };
        let day = time.get() / DAY;
        let next = Seconds::new(day.saturating_add(1).saturating_mul(DAY));
        let end = next
            .map(|next| self.store.line_from(next))
            .unwrap_or(Ok(u64::MAX))?;
        self.at = Some((day, end));
        Ok(Some(day))
    }
}

/// What was said of one by the end of each day on which something was.
#[derive(Default)]
struct Growth {
    counted: RatingCount,
    by_day: BTreeMap<u64, u64>,
}

impl UtilityHistory {
    /// Of the ratings that count, in the order of their lines, and of what is on record of specialists.
    pub fn of(
        store: &ReadStore,
        (ratings, all): (&[Rating], &Specialists),
    ) -> Result<UtilityHistory, StoreError> {
        let mut days = LineDays::of(store)?;
        let mut grown: BTreeMap<ReportedAnswerer, Growth> = BTreeMap::new();
        for rating in ratings.iter().filter(|rating| rating.specialist.is_some()) {
            let Some(day) = days.day_of(rating.line)? else {
                continue;
            };
            let who = ReportedAnswerer {
                specialist: rating.specialist,
                model: rating.model.clone(),
            };
            let growth = grown.entry(who).or_default();
            growth.counted.rated += 1;
            growth.counted.good += u64::from(rating.verdict == RatingVerdict::Good);
            let expected = overall(std::slice::from_ref(&growth.counted));
            growth.by_day.insert(day, expected);
        }
        let mut days = LineDays::of(store)?;
        let changed = all.promotions.iter();
        let changed = changed.map(|one| Ok((one, days.day_of(one.line)?)));
        let changed: Vec<(&Promotion, Option<u64>)> = changed.collect::<Result<_, StoreError>>()?;
        Ok(told(grown, &changed, all))
    }
}

/// All of it over the same days.
fn told(
    grown: BTreeMap<ReportedAnswerer, Growth>,
    changed: &[(&Promotion, Option<u64>)],
    all: &Specialists,
) -> UtilityHistory {
    let rated = grown.values().flat_map(|growth| growth.by_day.keys());
    let bound = changed.iter().filter_map(|(_, day)| day.as_ref());
    let seen: Vec<u64> = rated.chain(bound).copied().collect();
    let span = seen.iter().min().zip(seen.iter().max());
    let span = span.map(|(first, last)| (*first).max(last.saturating_sub(MOST_DAYS))..=*last);
    let name = |id| all.specialists.get(&id).map(called).unwrap_or_default();
    let line = |(who, growth): (ReportedAnswerer, Growth)| UtilityLine {
        name: who.specialist.map(name).unwrap_or_default(),
        rated: growth.counted.rated,
        values: span
            .clone()
            .into_iter()
            .flatten()
            .map(|day| {
                let until = growth.by_day.range(..=day).next_back();
                until.map(|(_, expected)| *expected)
            })
            .collect(),
        who,
    };
    let mut lines: Vec<UtilityLine> = grown.into_iter().map(line).collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.rated));
    let binding = |(one, day): &(&Promotion, Option<u64>)| DatedBinding {
        id: one.id.clone(),
        day: day.map(name_of),
        name: name(one.specialist),
        event: one.event,
        to_model: one.to_model.clone(),
        is_reverted: one.reverted_by.is_some(),
    };
    UtilityHistory {
        days: span.into_iter().flatten().map(name_of).collect(),
        lines,
        bindings: changed.iter().map(binding).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ledger::specialist::SpecialistId;

    #[test]
    fn a_line_begins_with_the_first_rating_and_goes_on_between_them() {
        let growth = |days: &[(u64, u64)]| Growth {
            counted: RatingCount::default(),
            by_day: days.iter().copied().collect(),
        };
        let who = |n| ReportedAnswerer {
            specialist: Some(SpecialistId(n)),
            model: "m".to_owned(),
        };
        let promotion = Promotion {
            id: "promotion:000001".to_owned(),
            line: 3,
            specialist: SpecialistId(1),
            event: PromotionEvent::Promote,
            from_model: "m".to_owned(),
            to_model: "n".to_owned(),
            reverted_by: None,
        };
        let grown = [
            (who(1), growth(&[(1, 700), (3, 720)])),
            (who(2), growth(&[(2, 600)])),
        ];
        let told = told(
            grown.into_iter().collect(),
            &[(&promotion, Some(4))],
            &Specialists::default(),
        );
        assert_eq!(told.days.len(), 4);
        assert_eq!(
            told.lines[0].values,
            [Some(700), Some(700), Some(720), Some(720)]
        );
        assert_eq!(
            told.lines[1].values,
            [None, Some(600), Some(600), Some(600)]
        );
        assert_eq!(told.bindings[0].day.as_deref(), Some("1970-01-05"));
        assert_eq!(UtilityHistory::default().days.len(), 0);
    }
}
