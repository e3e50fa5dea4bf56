//! What came of specialists and models: what was asked of them, what people said of it, how long it
//! took. Counted from the record in one pass, and kept nowhere.
//!
//! | file | what is in it |
//! |---|---|
//! | `chart` | expected utility by days, with the promotions, as a picture |

mod chart;
mod history;

use std::collections::{BTreeMap, HashMap};
use std::iter::Peekable;

pub use chart::chart;
pub use history::{DatedBinding, UtilityHistory};

use super::{called, on_record};
use crate::app::home::open::{self, OpenHomeError};
use crate::app::look::stats::{Figures, Tally, percentile};
use crate::app::moment;
use crate::govern::choice::expected_utility;
use crate::home::Home;
use crate::record::ledger::specialist::{
    Rating, RatingCount, RatingVerdict, SpecialistId, Specialists,
};
use crate::record::time::Seconds;
use crate::store::{ReadStore, StoreError};

/// Who answered: a specialist with a model, or a model that was asked by its own name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReportedAnswerer {
    /// The specialist; none where a model was asked by its own name.
    pub specialist: Option<SpecialistId>,
    /// The model.
    pub model: String,
}

/// How long a model took, in milliseconds, from the request to the last byte of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelTimes {
    /// How many there are.
    pub count: usize,
    /// Half of them took no longer.
    pub median: u64,
    /// Nine in ten took no longer.
    pub ninetieth: u64,
}

/// What is known of one who answered in one domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RatedDomain {
    /// How many of its answers were rated, ever, and how many good.
    pub count: RatingCount,
    /// What is expected of it there and below, in thousandths; none of a model by itself, which no
    /// choice asks.
    pub expected: Option<u64>,
}

/// What came of one who answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswererPart {
    /// The specialist with its model, or the model.
    pub who: ReportedAnswerer,
    /// What people call the specialist.
    pub name: Option<String>,
    /// Whether the specialist is bound to this model now, and is not over.
    pub is_bound: bool,
    /// What was asked of it, and what became of that.
    pub figures: Figures,
    /// How many councils it won, of those that it answered in; none where it answered in none.
    pub won: Option<u64>,
    /// How often a person called an answer good, of what was said in this time.
    pub good: u64,
    /// How often bad.
    pub bad: u64,
    /// What was ever said of it, by domain.
    pub rated: Vec<RatedDomain>,
    /// What is expected of it over all domains, by all ratings; none of a model by itself.
    pub expected: Option<u64>,
    /// How long the model took; none where no server answered.
    pub times: Option<ModelTimes>,
}

impl AnswererPart {
    /// Whether nobody ever rated an answer of it.
    pub fn is_prior(&self) -> bool {
        self.rated.is_empty()
    }
}

/// What came of specialists and models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecialistReport {
    /// Nothing older is counted.
    pub since: Option<Seconds>,
    /// Specialists in their order with their models, then models by themselves.
    pub parts: Vec<AnswererPart>,
    /// What was expected of each, day by day, and what they were bound to.
    pub history: UtilityHistory,
}

impl SpecialistReport {
    /// Whether nothing was asked, and nothing said of an answer.
    pub fn is_empty(&self) -> bool {
        let is_nothing = |part: &AnswererPart| part.figures.questions + part.good + part.bad == 0;
        self.parts.iter().all(is_nothing)
    }
}

/// What is counted of one who answered.
#[derive(Default)]
struct AnswererTally {
    counted: Tally,
    /// Milliseconds that its model took.
    took: Vec<u64>,
    /// Of councils that it answered in.
    won: Option<u64>,
    good: u64,
    bad: u64,
    /// By domain, since ever.
    rated: BTreeMap<String, RatingCount>,
}

impl AnswererTally {
    fn rating(&mut self, rating: &Rating, is_recent: bool) {
        let is_good = rating.verdict == RatingVerdict::Good;
        if is_recent {
            self.good += u64::from(is_good);
            self.bad += u64::from(!is_good);
        }
        let count = self.rated.entry(rating.domain.clone());
        let count = count.or_insert_with(|| RatingCount {
            domain: rating.domain.clone(),
            ..RatingCount::default()
        });
        count.rated += 1;
        count.good += u64::from(is_good);
    }

    fn part(mut self, who: ReportedAnswerer, all: &Specialists) -> AnswererPart {
        let specialist = who.specialist.and_then(|id| all.specialists.get(&id));
        let bound = specialist.filter(|one| !one.is_retired);
        let counts: Vec<RatingCount> = self.rated.into_values().collect();
        let of_choice = |expected: u64| who.specialist.map(|_| expected);
        let rated = counts.iter().map(|count| RatedDomain {
            count: count.clone(),
            expected: of_choice(expected_utility(&counts, &count.domain)),
        });
        self.took.sort_unstable();
        let (times, count) = (
            percentile(&self.took, 50).zip(percentile(&self.took, 90)),
            self.took.len(),
        );
        AnswererPart {
            name: specialist.map(called),
            is_bound: bound.and_then(|one| one.model.as_deref()) == Some(who.model.as_str()),
            figures: self.counted.figures(),
            won: self.won,
            good: self.good,
            bad: self.bad,
            rated: rated.collect(),
            expected: of_choice(overall(&counts)),
            times: times.map(|(median, ninetieth)| ModelTimes {
                count,
                median,
                ninetieth,
            }),
            who,
        }
    }
}

/// What is expected of somebody over all domains, in thousandths.
fn overall(counts: &[RatingCount]) -> u64 {
    const ALL: &str = "all";
    let mut sum = RatingCount {
        domain: ALL.to_owned(),
        ..RatingCount::default()
    };
    for count in counts {
        sum.good += count.good;
        sum.rated += count.rated;
    }
    expected_utility(&[sum], ALL)
}

/// The report of a home.
pub fn specialist_report(
    home: &Home,
    since: Option<&str>,
) -> Result<SpecialistReport, OpenHomeError> {
    let since = moment::since(since)?;
    let store = open::store(home)?;
    store.reading(|store| {
        let all = on_record(store)?;
        Ok(report_in(store, since, &all)?)
    })
}

/// The report of a store of which one state is seen.
fn report_in(
    store: &ReadStore,
    since: Option<Seconds>,
    all: &Specialists,
) -> Result<SpecialistReport, StoreError> {
    let from = since
        .map(|since| store.line_from(since))
        .transpose()?
        .unwrap_or(0);
    let mut tallies = runs(store, (from, since.unwrap_or(Seconds::ZERO)))?;
    let mut ratings = Vec::new();
    store.each_rating(&mut |rating| {
        ratings.push(rating);
        Ok(())
    })?;
    for rating in &ratings {
        let who = ReportedAnswerer {
            specialist: rating.specialist,
            model: rating.model.clone(),
        };
        let is_recent = rating.line >= from;
        tallies.entry(who).or_default().rating(rating, is_recent);
    }
    for (specialist, model, has_won) in store.council_places(from)? {
        let who = ReportedAnswerer {
            specialist: Some(specialist),
            model,
        };
        let tally = tallies.entry(who).or_default();
        *tally.won.get_or_insert(0) += u64::from(has_won);
    }
    for one in all.specialists.values().filter(|one| !one.is_retired) {
        let who = one.model.as_ref().map(|model| ReportedAnswerer {
            specialist: Some(one.id),
            model: model.clone(),
        });
        if let Some(who) = who {
            tallies.entry(who).or_default();
        }
    }
    Ok(SpecialistReport {
        since,
        parts: parts(tallies, all),
        history: UtilityHistory::of(store, (&ratings, all))?,
    })
}

/// Specialists in their order, each with the model that it is bound to first; then models by how much
/// they were asked.
fn parts(
    tallies: HashMap<ReportedAnswerer, AnswererTally>,
    all: &Specialists,
) -> Vec<AnswererPart> {
    let parts = tallies.into_iter();
    let mut parts: Vec<AnswererPart> = parts.map(|(who, tally)| tally.part(who, all)).collect();
    parts.sort_by_cached_key(|part| {
        let who = part.who.clone();
        let asked = std::cmp::Reverse(part.figures.questions);
        (
            who.specialist.is_none(),
            who.specialist,
            !part.is_bound,
            asked,
            who.model,
        )
    });
    parts
}

/// What was asked of each, in one pass along the lines of the log.
fn runs(
    store: &ReadStore,
    (from, since): (u64, Seconds),
) -> Result<HashMap<ReportedAnswerer, AnswererTally>, StoreError> {
    let drift = store.drift_classes(from)?;
    let mut drift = drift.iter().peekable();
    let aside = store.turns_aside(from)?;
    let mut aside = aside.iter().peekable();
    // Whoever is asked, is asked again: the names stand here once.
    let mut known: HashMap<Option<SpecialistId>, HashMap<String, AnswererTally>> = HashMap::new();
    store.each_run((from, since), &mut |run| {
        let models = known.entry(run.specialist).or_default();
        if !models.contains_key(&run.counted.model) {
            models.insert(run.counted.model.clone(), AnswererTally::default());
        }
        if let Some(tally) = models.get_mut(&run.counted.model) {
            tally.counted.add(&run.counted);
            tally.took.extend(run.model_ms);
            let line = run.counted.line;
            each_of(line, &mut drift, |class| tally.counted.drift(class));
            each_of(line, &mut aside, |intent| tally.counted.note(*intent));
        }
        Ok(())
    })?;
    let all = known.into_iter().flat_map(|(specialist, models)| {
        models.into_iter().map(move |(model, tally)| {
            let who = ReportedAnswerer { specialist, model };
            (who, tally)
        })
    });
    Ok(all.collect())
}

/// What stands at the line of one exchange in a list along the lines, as the exchanges are.
fn each_of<'d, T: 'd>(
    line: u64,
    list: &mut Peekable<impl Iterator<Item = &'d (u64, T)>>,
    mut found: impl FnMut(&T),
) {
    while let Some((of, one)) = list.next_if(|(of, _)| *of <= line) {
        if *of == line {
            found(one);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use uuid::Uuid;

    use crate::record::hash::Hash32;

    pub fn rating(line: u64, specialist: Option<u64>, domain: &str, is_good: bool) -> Rating {
        Rating {
            line,
            exchange: Uuid::nil(),
            by: Hash32::ZERO,
            specialist: specialist.map(SpecialistId),
            model: "m".to_owned(),
            domain: domain.to_owned(),
            verdict: match is_good {
                true => RatingVerdict::Good,
                false => RatingVerdict::Bad,
            },
        }
    }

    fn part(ratings: &[Rating], from: u64) -> AnswererPart {
        let mut tally = AnswererTally::default();
        for rating in ratings {
            tally.rating(rating, rating.line >= from);
        }
        let who = ReportedAnswerer {
            specialist: ratings.first().and_then(|rating| rating.specialist),
            model: "m".to_owned(),
        };
        tally.part(who, &Specialists::default())
    }

    #[test]
    fn what_is_expected_rests_on_all_ratings_and_what_was_said_on_the_new_ones() {
        let ratings: Vec<Rating> = (0..10)
            .map(|line| rating(line, Some(1), "law", line != 9))
            .collect();
        let told = part(&ratings, 8);
        assert_eq!((told.good, told.bad), (1, 1));
        // (1000 · 9 + 10 · 650) / 20
        assert_eq!(told.expected, Some(775));
        assert_eq!(told.rated[0].expected, Some(775));
        let of_a_model: Vec<Rating> = vec![rating(0, None, "law", true)];
        let told = part(&of_a_model, 0);
        assert_eq!(
            (told.good, told.expected, told.rated[0].expected),
            (1, None, None)
        );
        assert!(told.times.is_none() && told.figures.tokens.is_none());
    }

    proptest! {
        /// What is expected over all domains lies between the least and the most that it is in one, as
        /// far as the prior lets it.
        #[test]
        fn the_whole_lies_between_its_parts(
            said in proptest::collection::vec((0..4_u8, any::<bool>()), 1..60),
        ) {
            let ratings: Vec<Rating> = said.iter()
                .map(|(domain, good)| rating(0, Some(1), &format!("d{domain}"), *good)).collect();
            let told = part(&ratings, 0);
            prop_assert_eq!(told.good + told.bad, u64::try_from(said.len()).unwrap());
            let all = told.expected.unwrap();
            prop_assert!(all <= 1000);
            let good = said.iter().filter(|(_, good)| *good).count();
            if good == said.len() {
                prop_assert!(told.rated.iter().all(|one| one.expected.unwrap() <= all));
            }
            if good == 0 {
                prop_assert!(told.rated.iter().all(|one| one.expected.unwrap() >= all));
            }
        }
    }
}
