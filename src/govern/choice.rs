//! Who answers: what is known of specialists by people's ratings, and what follows for a question.
//! Pure, and in whole numbers (`docs/specialists.md`).
//!
//! | | |
//! |---|---|
//! | P | share of each domain in a question, in thousandths; they add up to 1000 |
//! | eu | expected utility of a specialist in a domain: (1000 · good + 10 · 650) / (rated + 10), in thousandths |
//! | W | welfare: Σ P · eu, in millionths |

use std::collections::BTreeSet;

use crate::record::ledger::specialist::{GENERAL, RatingCount, SpecialistId};

/// A whole, in thousandths.
const WHOLE: u64 = 1000;
/// A domain with a smaller share is left out.
const LEAST_SHARE: u64 = 50;
/// What somebody is worth of whom nothing is known, in thousandths.
const PRIOR: u64 = 650;
/// So many ratings that counts for.
const PRIOR_WEIGHT: u64 = 10;

/// How much of a question is of one domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainShare {
    /// Its name.
    pub domain: String,
    /// In thousandths.
    pub share: u64,
}

/// The words of a domain as they are compared.
pub struct DomainStems {
    /// Name of the domain.
    pub domain: String,
    /// Stems of its words.
    pub stems: BTreeSet<String>,
}

/// The shares of the domains in a question with these stems (method `words/1`), the largest first, of
/// equal ones by name. Without a hit all of it is `general`.
pub fn shares(question: &BTreeSet<String>, domains: &[DomainStems]) -> Vec<DomainShare> {
    let hits = domains.iter().map(|one| {
        let hits = one.stems.intersection(question).count();
        (one.domain.clone(), u64::try_from(hits).unwrap_or(u64::MAX))
    });
    let mut hits: Vec<(String, u64)> = hits.filter(|(_, hits)| *hits > 0).collect();
    let all: u64 = hits.iter().map(|(_, hits)| hits).sum();
    hits.retain(|(_, hits)| hits * WHOLE >= LEAST_SHARE * all);
    let mut shares = scaled(hits);
    shares.sort_by(|a, b| b.share.cmp(&a.share).then_with(|| a.domain.cmp(&b.domain)));
    if shares.is_empty() {
        shares = whole(GENERAL);
    }
    shares
}

/// All of a question is of one domain.
pub fn whole(domain: &str) -> Vec<DomainShare> {
    vec![DomainShare {
        domain: domain.to_owned(),
        share: WHOLE,
    }]
}

/// Scales hits to a whole by largest remainder; of equal remainders the first name gets more.
fn scaled(hits: Vec<(String, u64)>) -> Vec<DomainShare> {
    let all: u64 = hits.iter().map(|(_, hits)| hits).sum();
    if all == 0 {
        return Vec::new();
    }
    let given: u64 = hits.iter().map(|(_, hits)| hits * WHOLE / all).sum();
    let mut by_rest: Vec<usize> = (0..hits.len()).collect();
    by_rest.sort_by(|a, b| {
        let rest = |at: usize| hits[at].1 * WHOLE % all;
        rest(*b)
            .cmp(&rest(*a))
            .then_with(|| hits[*a].0.cmp(&hits[*b].0))
    });
    let more = usize::try_from(WHOLE - given).unwrap_or_default();
    let more: BTreeSet<usize> = by_rest.into_iter().take(more).collect();
    let shares = hits
        .iter()
        .enumerate()
        .map(|(at, (domain, hits))| DomainShare {
            domain: domain.clone(),
            share: hits * WHOLE / all + u64::from(more.contains(&at)),
        });
    shares.collect()
}

/// Whether a domain is another one, or below it: `law.immigration` is below `law`.
pub fn is_in(domain: &str, other: &str) -> bool {
    domain
        .strip_prefix(other)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The expected utility of somebody in a domain and those below it, in thousandths, rounded down.
pub fn expected_utility(counts: &[RatingCount], domain: &str) -> u64 {
    let counts = counts.iter().filter(|count| is_in(&count.domain, domain));
    let (good, rated) = counts.fold((0, 0), |(good, rated), count| {
        (good + count.good, rated + count.rated)
    });
    (WHOLE * good + PRIOR_WEIGHT * PRIOR) / (rated + PRIOR_WEIGHT)
}

/// How much of a question is of these domains and those below them, in thousandths.
pub fn alignment(shares: &[DomainShare], domains: &[String]) -> u16 {
    let is_of = |share: &&DomainShare| domains.iter().any(|domain| is_in(&share.domain, domain));
    let sum: u64 = shares.iter().filter(is_of).map(|share| share.share).sum();
    u16::try_from(sum).unwrap_or(u16::MAX)
}

/// Who could answer, with what is known of them.
pub struct Bidder {
    /// Its number: of two alike the older is taken.
    pub specialist: SpecialistId,
    /// What people said of its answers with the model that it is bound to.
    pub counts: Vec<RatingCount>,
}

/// What somebody is worth for a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bid {
    /// Its number.
    pub specialist: SpecialistId,
    /// Its welfare, in millionths.
    pub welfare: u64,
    /// Expected utility in each domain of the question, in their order, in thousandths.
    pub utilities: Vec<u64>,
    /// How many of its answers were rated, in any domain.
    pub rated: u64,
    /// How many of them in the domains of the question, or below those.
    pub rated_here: u64,
}

/// The bids for a question, the best first.
pub fn bids(shares: &[DomainShare], bidders: &[Bidder]) -> Vec<Bid> {
    let bid = |bidder: &Bidder| {
        let utility = |share: &DomainShare| expected_utility(&bidder.counts, &share.domain);
        let utilities: Vec<u64> = shares.iter().map(utility).collect();
        let parts = shares.iter().zip(&utilities);
        let is_here = |count: &&RatingCount| {
            let mut domains = shares.iter().map(|share| &share.domain);
            domains.any(|domain| is_in(&count.domain, domain))
        };
        Bid {
            specialist: bidder.specialist,
            welfare: parts.map(|(share, utility)| share.share * utility).sum(),
            utilities,
            rated: bidder.counts.iter().map(|count| count.rated).sum(),
            rated_here: bidder
                .counts
                .iter()
                .filter(is_here)
                .map(|count| count.rated)
                .sum(),
        }
    };
    let mut bids: Vec<Bid> = bidders.iter().map(bid).collect();
    bids.sort_by(|a, b| {
        let by_welfare = b.welfare.cmp(&a.welfare);
        by_welfare.then_with(|| a.specialist.cmp(&b.specialist))
    });
    bids
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stems(words: &[&str]) -> BTreeSet<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn domain(name: &str, words: &[&str]) -> DomainStems {
        DomainStems {
            domain: name.to_owned(),
            stems: stems(words),
        }
    }

    fn told(shares: &[DomainShare]) -> Vec<(&str, u64)> {
        let told = shares.iter().map(|one| (one.domain.as_str(), one.share));
        told.collect()
    }

    #[test]
    fn shares_are_hits_scaled_to_a_whole() {
        let all = [
            domain("law", &["visa", "court", "asylum"]),
            domain("code", &["rust", "bug"]),
            domain("art", &["paint"]),
        ];
        for (question, expected) in [
            (
                &["visa", "court", "rust"][..],
                vec![("law", 667), ("code", 333)],
            ),
            (
                &["visa", "rust", "paint"],
                vec![("art", 334), ("code", 333), ("law", 333)],
            ),
            (&["cheese"], vec![("general", 1000)]),
            (&[], vec![("general", 1000)]),
            (&["rust", "bug"], vec![("code", 1000)]),
        ] {
            assert_eq!(
                told(&shares(&stems(question), &all)),
                expected,
                "{question:?}"
            );
        }
    }

    #[test]
    fn a_small_share_is_left_out() {
        let many: Vec<String> = (0..20).map(|n| format!("w{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let all = [domain("wide", &many), domain("narrow", &["x"])];
        let question: Vec<&str> = many.iter().copied().chain(["x"]).collect();
        assert_eq!(told(&shares(&stems(&question), &all)), [("wide", 1000)]);
    }

    #[test]
    fn what_is_known_moves_the_prior() {
        let count = |domain: &str, good, rated| RatingCount {
            domain: domain.to_owned(),
            good,
            rated,
        };
        for (counts, of, expected) in [
            (vec![], "law", 650),
            (vec![count("law", 10, 10)], "law", 825),
            (vec![count("law", 0, 10)], "law", 325),
            (vec![count("law.visa", 10, 10)], "law", 825),
            (vec![count("law", 10, 10)], "law.visa", 650),
            (vec![count("lawn", 10, 10)], "law", 650),
        ] {
            assert_eq!(expected_utility(&counts, of), expected, "{counts:?} {of}");
        }
        assert!(is_in("law", "law") && is_in("law.visa", "law") && !is_in("law", "law.visa"));
    }

    #[test]
    fn of_two_alike_the_older_answers() {
        let bidder = |n, good| Bidder {
            specialist: SpecialistId(n),
            counts: vec![RatingCount {
                domain: GENERAL.to_owned(),
                good,
                rated: 4,
            }],
        };
        let order = |bidders: &[Bidder]| -> Vec<u64> {
            let bids = bids(&whole(GENERAL), bidders);
            bids.iter().map(|bid| bid.specialist.0).collect()
        };
        assert_eq!(
            order(&[bidder(2, 1), bidder(1, 1), bidder(3, 4)]),
            [3, 1, 2]
        );
        assert_eq!(order(&[]), [] as [u64; 0]);
    }

    proptest! {
        /// Shares add up to a whole, and welfare lies between the least and the greatest utility.
        #[test]
        fn shares_and_welfare_keep_their_bounds(
            question in proptest::collection::btree_set("[a-f]", 0..6),
            words in proptest::collection::vec(proptest::collection::btree_set("[a-f]", 0..5), 0..8),
            ratings in proptest::collection::vec((0..8_usize, 0..40_u64, 0..40_u64), 0..12),
        ) {
            let domains: Vec<DomainStems> = words.into_iter().enumerate()
                .map(|(n, stems)| DomainStems { domain: format!("d{n}"), stems }).collect();
            let shares = shares(&question, &domains);
            prop_assert_eq!(shares.iter().map(|one| one.share).sum::<u64>(), 1000);
            let counts: Vec<RatingCount> = ratings.into_iter()
                .map(|(n, good, bad)| RatingCount { domain: format!("d{n}"), good, rated: good + bad }).collect();
            let bids = bids(&shares, &[Bidder { specialist: SpecialistId(1), counts }]);
            let (least, most) = (bids[0].utilities.iter().min().unwrap(), bids[0].utilities.iter().max().unwrap());
            prop_assert!(bids[0].welfare >= least * 1000 && bids[0].welfare <= most * 1000);
        }
    }
}
