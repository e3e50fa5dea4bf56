//! Checks of replies: how many were made, how they came out, and what they were worth to who answered
//! (`docs/specialists.md`). Counted from the record each time; the store keeps sums of old ones.

use std::collections::BTreeMap;

use uuid::Uuid;

use crate::app::home::open::{self, OpenHomeError};
use crate::app::moment::since;
use crate::app::set_up::specialist::choice::shares_of;
use crate::app::set_up::specialist::{called, on_record};
use crate::ask::stored_text::kernel_of;
use crate::govern::choice::expected_utility;
use crate::govern::kernel::Kernel;
use crate::govern::stored_kernel::StoredKernels;
use crate::govern::utility::utility_score;
use crate::home::Home;
use crate::record::ledger::specialist::{GENERAL, SpecialistId, Specialists};
use crate::record::time::Seconds;
use crate::store::{CheckCount, ExchangeRow, ReadStore, SessionRow, StoreError};

pub use crate::store::CheckGroup;

/// The levels whose failures are counted by themselves.
const SOFT: &str = "soft";
const BLOCKING: &str = "blocking";

/// Which checks are asked for.
#[derive(Clone, Debug)]
pub struct CheckReportRequest {
    /// Of nothing older: a time, a day or an age.
    pub since: Option<String>,
    /// By what they are told apart.
    pub by: CheckGroup,
}

/// How some checks came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckTally {
    /// How many were made.
    pub made: u64,
    /// Those in which nothing was found.
    pub passed: u64,
    /// Failed ones that were noted without a word.
    pub noted: u64,
    /// Failed ones that a person was told of.
    pub soft: u64,
    /// Failed ones for which an answer was withheld.
    pub blocking: u64,
    /// What they were worth, in thousandths; none where a kernel that says it is lost.
    pub bonus: Option<i64>,
}

impl CheckTally {
    /// Of no check.
    const NONE: CheckTally = CheckTally {
        made: 0,
        passed: 0,
        noted: 0,
        soft: 0,
        blocking: 0,
        bonus: Some(0),
    };

    /// So many of a thousand passed; none of none.
    pub fn share(&self) -> Option<u64> {
        self.passed.saturating_mul(1000).checked_div(self.made)
    }

    fn add(&mut self, count: &CheckCount, worth: Option<i64>) {
        self.made += count.count;
        let place = match (count.passed, count.level.as_str()) {
            (true, _) => &mut self.passed,
            (false, SOFT) => &mut self.soft,
            (false, BLOCKING) => &mut self.blocking,
            (false, _) => &mut self.noted,
        };
        *place += count.count;
        let count = i64::try_from(count.count).unwrap_or(i64::MAX);
        let more = worth.map(|worth| worth.saturating_mul(count));
        let sum = self.bonus.zip(more);
        self.bonus = sum.map(|(sum, more)| sum.saturating_add(more));
    }
}

/// The checks of one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckPart {
    /// What tells it apart: a check's name, a specialist's id, a domain; none of what has none.
    pub key: Option<String>,
    /// What people call it, where that is something else.
    pub name: Option<String>,
    /// How they came out.
    pub tally: CheckTally,
}

/// The checks that were asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckReport {
    /// Nothing older is in it.
    pub since: Option<Seconds>,
    /// By what they are told apart.
    pub by: CheckGroup,
    /// All of them.
    pub whole: CheckTally,
    /// Each group, in the order of keys.
    pub parts: Vec<CheckPart>,
}

/// The checks of a home.
pub fn check_report(
    home: &Home,
    request: &CheckReportRequest,
) -> Result<CheckReport, OpenHomeError> {
    let since = since(request.since.as_deref())?;
    let store = open::store(home)?;
    store.reading(|store| {
        let all = match request.by {
            CheckGroup::Specialist => on_record(store)?,
            _ => Specialists::default(),
        };
        Ok(report_in(store, (since, request.by), &all)?)
    })
}

/// The checks of a store of which one state is seen.
fn report_in(
    store: &ReadStore,
    (since, by): (Option<Seconds>, CheckGroup),
    all: &Specialists,
) -> Result<CheckReport, StoreError> {
    let from = since
        .map(|since| store.line_from(since))
        .transpose()?
        .unwrap_or(0);
    let kernels = StoredKernels::default();
    let mut whole = CheckTally::NONE;
    let mut parts: BTreeMap<Option<String>, CheckTally> = BTreeMap::new();
    for count in store.check_counts((from, since.unwrap_or(Seconds::ZERO)), by)? {
        let kernel = kernels.get(count.kernel, |hash| store.kernel(hash))?;
        let kernel: Option<&Kernel> = kernel.as_ref().as_ref().ok();
        let worth = kernel.map(|kernel| kernel.utility().bonus(&count.level, count.passed));
        whole.add(&count, worth);
        let part = parts.entry(count.key.clone());
        part.or_insert(CheckTally::NONE).add(&count, worth);
    }
    let part = |(key, tally): (Option<String>, CheckTally)| CheckPart {
        name: key.as_deref().and_then(|key| name_of(all, key)),
        key,
        tally,
    };
    Ok(CheckReport {
        since,
        by,
        whole,
        parts: parts.into_iter().map(part).collect(),
    })
}

/// The name of a specialist.
fn name_of(all: &Specialists, key: &str) -> Option<String> {
    let id: SpecialistId = key.parse().ok()?;
    all.specialists.get(&id).map(called)
}

/// What an answer was worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunUtility {
    /// The likeliest domain of its question.
    pub domain: String,
    /// What was expected of who gave it, in that domain, by the ratings of today; in thousandths.
    pub expected: u64,
    /// What its checks were worth, in thousandths.
    pub bonus: i64,
}

impl RunUtility {
    /// Both together, from 0 to 1000 thousandths.
    pub fn score(&self) -> u64 {
        utility_score(self.expected, self.bonus)
    }
}

/// What the answer of an exchange was worth, or why nobody can say.
pub fn run_utility(
    store: &ReadStore,
    (exchange, session): (&ExchangeRow, &SessionRow),
    question: Option<&str>,
) -> Result<Result<RunUtility, &'static str>, OpenHomeError> {
    let measured = store.measures(exchange)?;
    let asked = measured.and_then(|row| row.measures.specialist);
    let Some(asked) = asked else {
        return Ok(Err("a model was asked by its own name, and no specialist"));
    };
    if !exchange.is_answered() {
        return Ok(Err("it has no answer"));
    }
    let kernel = kernel_of(store, session)?;
    let Ok(kernel) = kernel.as_ref() else {
        return Ok(Err("its kernel, which says what checks are worth, is lost"));
    };
    let Some(domain) = likeliest(store, exchange.exchange_id, question)? else {
        return Ok(Err(
            "nobody rated it, and what its question is of can't be seen any more",
        ));
    };
    let rules = kernel.utility();
    let checks = store.assertions(exchange.exchange_id)?;
    let bonus = checks
        .iter()
        .map(|check| rules.bonus(&check.level, check.passed));
    let counts = store.rating_counts(asked, &exchange.model)?;
    Ok(Ok(RunUtility {
        expected: expected_utility(&counts, &domain),
        bonus: bonus.sum(),
        domain,
    }))
}

/// The likeliest domain of a question: that by which its answer was rated last, else what its words
/// say today; none where neither is there.
fn likeliest(
    store: &ReadStore,
    exchange: Uuid,
    question: Option<&str>,
) -> Result<Option<String>, OpenHomeError> {
    if let Some(rated) = store.rated_domain(exchange)? {
        return Ok(Some(rated));
    }
    let Some(question) = question else {
        return Ok(None);
    };
    let shares = on_record(store).and_then(|all| shares_of(store, &all, (question, None)));
    match shares {
        Ok(shares) => {
            let first = shares.into_iter().next().map(|share| share.domain);
            Ok(Some(first.unwrap_or_else(|| GENERAL.to_owned())))
        }
        // Domains that somebody changed say nothing.
        Err(OpenHomeError::Refused(_)) => Ok(None),
        Err(fault) => Err(fault),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::hash::Hash32;

    fn count(level: &str, passed: bool, count: u64) -> CheckCount {
        CheckCount {
            key: None,
            kernel: Hash32::ZERO,
            level: level.to_owned(),
            passed,
            count,
        }
    }

    #[test]
    fn what_is_counted_adds_up_and_a_lost_kernel_is_no_zero() {
        let mut tally = CheckTally::NONE;
        assert_eq!(tally.share(), None);
        for (one, worth) in [
            (count("soft", true, 5), 0),
            (count("soft", false, 2), -50),
            (count("blocking", false, 1), -1000),
            (count("info", false, 4), 0),
        ] {
            tally.add(&one, Some(worth));
        }
        let CheckTally {
            made,
            passed,
            noted,
            soft,
            blocking,
            bonus,
        } = tally;
        assert_eq!((made, passed, noted, soft, blocking), (12, 5, 4, 2, 1));
        assert_eq!((tally.share(), bonus), (Some(416), Some(-1100)));
        tally.add(&count("soft", true, 1), None);
        assert_eq!(tally.bonus, None);
        tally.add(&count("soft", true, 1), Some(0));
        assert_eq!((tally.made, tally.bonus), (14, None));
    }
}
