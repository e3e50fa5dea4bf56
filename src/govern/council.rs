//! How a council decides: who is asked, what a review says, and which answer is chosen. Pure, and in
//! whole numbers (`docs/specialists.md`).

use serde::Deserialize;
use serde_json::{Value, json};

use crate::record::ledger::council::{AccuracyLevel, ReviewVerdict};
use crate::record::ledger::specialist::SpecialistId;
use crate::record::unseen::spelled_on_a_line;

/// So many answer where `high` is asked for.
const HIGH: usize = 3;
/// A whole, in thousandths.
const WHOLE: u64 = 1000;
/// Agreement of so many thousandths is high, of so many medium.
const IS_HIGH: u16 = 800;
const IS_MEDIUM: u16 = 500;
/// Longest review that is read, in bytes.
pub const MAX_REVIEW: usize = 64 * 1024;
/// Longest reason and longest correction in a review, in bytes.
pub const MAX_SAID: usize = 4000;

/// Who does what in a council, by their places in the order of W, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CouncilPlan {
    /// So many answer, from the first.
    pub answering: usize,
    /// Whether the next one behind them reviews the answer, in the place of all reviewing each other.
    pub next_reviews: bool,
    /// How many more the level wants than there are.
    pub missing: usize,
}

impl CouncilPlan {
    /// For so many specialists.
    pub fn of(level: AccuracyLevel, specialists: usize) -> CouncilPlan {
        let (answering, next_reviews, wanted) = match level {
            AccuracyLevel::Fast => (1, false, 1),
            AccuracyLevel::Balanced => (1, true, 2),
            AccuracyLevel::High => (HIGH, false, HIGH),
            AccuracyLevel::Maximum => (specialists, false, 2),
        };
        CouncilPlan {
            answering: answering.min(specialists),
            next_reviews: next_reviews && specialists > 1,
            missing: wanted.saturating_sub(specialists),
        }
    }
}

/// The votes on an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VoteCount {
    /// How many agree.
    pub agree: u64,
    /// How many there are.
    pub all: u64,
}

impl VoteCount {
    /// Counts one more.
    pub fn take(&mut self, verdict: ReviewVerdict) {
        self.agree += u64::from(verdict == ReviewVerdict::Agree);
        self.all += 1;
    }

    /// Agreeing votes among all, in thousandths, rounded down; none without votes.
    pub fn confidence(self) -> Option<u16> {
        let share = (self.agree * WHOLE).checked_div(self.all)?;
        u16::try_from(share).ok()
    }
}

/// What a confidence is called: `High` from 800 thousandths, `Medium` from 500, else `Uncertain`.
pub const fn confidence_label(confidence: u16) -> &'static str {
    match confidence {
        IS_HIGH.. => "High",
        IS_MEDIUM.. => "Medium",
        _ => "Uncertain",
    }
}

/// An answer that can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CouncilBid {
    /// Whose it is.
    pub specialist: SpecialistId,
    /// Its welfare, in millionths.
    pub welfare: u64,
    /// The votes on it.
    pub votes: VoteCount,
}

/// Which answer is chosen, and what that costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CouncilChoice {
    /// Place of the chosen one among the bids.
    pub winner: usize,
    /// The highest welfare of the others, in millionths; 0 without others.
    pub payment: u64,
}

/// The highest welfare, then more agreeing reviews, then the older specialist; none of no bids.
pub fn choose(bids: &[CouncilBid]) -> Option<CouncilChoice> {
    let rank = |at: &usize| {
        let bid = &bids[*at];
        let older = std::cmp::Reverse(bid.specialist);
        (bid.welfare, bid.votes.agree, older)
    };
    let winner = (0..bids.len()).max_by_key(rank)?;
    let others = bids.iter().enumerate().filter(|(at, _)| *at != winner);
    Some(CouncilChoice {
        winner,
        payment: others.map(|(_, bid)| bid.welfare).max().unwrap_or(0),
    })
}

/// What decides between answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecidedBy {
    /// There is one answer.
    Alone,
    /// More is expected of its specialist than of any other.
    Expected,
    /// The same is expected of others, and more reviews agree with it.
    Votes,
    /// The votes are even, too: its specialist is older.
    Age,
}

impl DecidedBy {
    /// The spelling in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            DecidedBy::Alone => "alone",
            DecidedBy::Expected => "expected",
            DecidedBy::Votes => "votes",
            DecidedBy::Age => "age",
        }
    }

    /// What decides between bids of which one is chosen.
    pub fn of(bids: &[CouncilBid], winner: usize) -> Option<DecidedBy> {
        let won = bids.get(winner)?;
        let even = bids.iter().filter(|bid| bid.welfare == won.welfare);
        let even: Vec<&CouncilBid> = even.collect();
        let agreeing = even.iter().filter(|bid| bid.votes.agree == won.votes.agree);
        Some(match (bids.len(), even.len(), agreeing.count()) {
            (1, ..) => DecidedBy::Alone,
            (_, 1, _) => DecidedBy::Expected,
            (_, _, 1) => DecidedBy::Votes,
            _ => DecidedBy::Age,
        })
    }
}

/// What a reviewer says of one answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewSaying {
    /// Whether it holds.
    pub verdict: ReviewVerdict,
    /// The reviewer's reason.
    pub why: String,
    /// What is right in its place.
    pub correction: Option<String>,
}

/// One saying, as a review spells it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpelledSaying {
    of: Option<String>,
    verdict: String,
    why: String,
    correction: Option<String>,
}

/// A review of several answers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpelledReviews {
    reviews: Vec<SpelledSaying>,
}

/// The name of the answer at a place, from 0: `A`, `B`.
pub fn answer_name(at: usize) -> String {
    const LETTERS: usize = 26;
    let letter = u8::try_from(at % LETTERS).map_or('Z', |n| char::from(b'A' + n));
    match at / LETTERS {
        0 => letter.to_string(),
        round => format!("{letter}{round}"),
    }
}

/// The place of the answer that a review names: by its letter, or by the reference under which it was
/// shown.
fn place_of(name: &str, references: &[String]) -> Option<usize> {
    let mut letters = 0..references.len().max(1);
    let letter = letters.find(|at| answer_name(*at) == name);
    letter.or_else(|| {
        let name = name.trim().trim_matches(['[', ']']);
        let name = name.strip_prefix("reference ").unwrap_or(name);
        let mut same = (0..).zip(references).filter(|(_, one)| *one == name);
        // Two answers whose references are alike are told apart by their letters alone.
        let found = same.next().map(|(at, _)| at);
        found.filter(|_| same.next().is_none())
    })
}

/// Why a review that names this is no vote.
fn names_another(name: Option<&str>, references: &[String]) -> String {
    /// Longer names are cut.
    const MOST: usize = 24;
    let shown = (0..).zip(references);
    let shown = shown.map(|(at, one)| format!("{} (or {one})", answer_name(at)));
    let expected = shown.collect::<Vec<_>>().join(", ");
    match name {
        None => format!("it names no answer; expected: {expected}"),
        Some(name) => {
            let cut: String = name.chars().take(MOST).collect();
            let end = if cut.len() < name.len() { "…" } else { "" };
            format!(
                "it names '{}{end}'; expected: {expected}",
                spelled_on_a_line(&cut)
            )
        }
    }
}

/// The JSON Schema that a review of answers is asked in, which were shown under these references.
pub fn review_shape(references: &[String]) -> Value {
    let text = json!({"type": "string", "maxLength": MAX_SAID});
    let verdicts: Vec<&str> = ReviewVerdict::ALL.iter().map(|one| one.name()).collect();
    let saying = |names: Option<Vec<String>>| {
        let mut properties =
            json!({"verdict": {"enum": verdicts}, "why": text, "correction": text});
        let mut required = vec!["verdict", "why"];
        if let Some(names) = names {
            properties["of"] = json!({"enum": names});
            required.insert(0, "of");
        }
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    };
    match references.len() {
        0 | 1 => saying(None),
        several => {
            let letters = (0..several).map(answer_name);
            let names = letters.chain(references.iter().cloned()).collect();
            json!({
                "type": "object",
                "properties": {"reviews": {"type": "array", "items": saying(Some(names)), "maxItems": several}},
                "required": ["reviews"],
                "additionalProperties": false
            })
        }
    }
}

/// What a review says of each of the answers that were shown under these references, in their order; of
/// one that it does not name, or names twice, nothing.
///
/// # Errors
/// Why it is no vote at all. Of its words it holds the name that it gives an answer, cut.
pub fn read_review(text: &str, references: &[String]) -> Result<Vec<Option<ReviewSaying>>, String> {
    if text.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    if text.len() > MAX_REVIEW {
        return Err(format!(
            "it has {} bytes, at most {MAX_REVIEW} are read",
            text.len()
        ));
    }
    let wrong = |_| "it is not JSON of the declared shape".to_owned();
    let answers = references.len().max(1);
    let sayings = match answers {
        1 => vec![serde_json::from_str::<SpelledSaying>(text).map_err(wrong)?],
        _ => {
            serde_json::from_str::<SpelledReviews>(text)
                .map_err(wrong)?
                .reviews
        }
    };
    let mut said: Vec<Vec<ReviewSaying>> = vec![Vec::new(); answers];
    for one in sayings {
        let name = one.of.as_deref();
        let at = match name {
            None if answers == 1 => Some(0),
            None => None,
            Some(name) => place_of(name, references),
        };
        let at = at.ok_or_else(|| names_another(name, references))?;
        said[at].push(saying(one)?);
    }
    let each = said.into_iter().map(|mut of_one| match of_one.len() {
        1 => of_one.pop(),
        _ => None,
    });
    Ok(each.collect())
}

fn saying(one: SpelledSaying) -> Result<ReviewSaying, String> {
    let verdict = one.verdict.parse();
    let verdict = verdict.map_err(|_| "its verdict is neither agree nor disagree".to_owned())?;
    let correction = one.correction.filter(|text| !text.trim().is_empty());
    let is_long = |text: &String| text.len() > MAX_SAID;
    if is_long(&one.why) || correction.as_ref().is_some_and(is_long) {
        return Err(format!("it says more than {MAX_SAID} bytes of an answer"));
    }
    Ok(ReviewSaying {
        verdict,
        why: one.why,
        correction,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bid(specialist: u64, welfare: u64, agree: u64) -> CouncilBid {
        CouncilBid {
            specialist: SpecialistId(specialist),
            welfare,
            votes: VoteCount { agree, all: 2 },
        }
    }

    #[test]
    fn a_level_says_who_answers_and_who_reviews() {
        for (level, specialists, answering, next_reviews, missing) in [
            (AccuracyLevel::Fast, 4, 1, false, 0),
            (AccuracyLevel::Balanced, 4, 1, true, 0),
            (AccuracyLevel::Balanced, 1, 1, false, 1),
            (AccuracyLevel::High, 4, 3, false, 0),
            (AccuracyLevel::High, 2, 2, false, 1),
            (AccuracyLevel::Maximum, 7, 7, false, 0),
            (AccuracyLevel::Maximum, 1, 1, false, 1),
        ] {
            let expected = CouncilPlan {
                answering,
                next_reviews,
                missing,
            };
            assert_eq!(
                CouncilPlan::of(level, specialists),
                expected,
                "{level:?} {specialists}"
            );
        }
    }

    #[test]
    fn the_highest_welfare_wins_then_votes_then_age() {
        for (bids, winner, payment) in [
            (vec![bid(1, 650, 0), bid(2, 700, 0)], 1, 650),
            (vec![bid(1, 650, 0), bid(2, 650, 1)], 1, 650),
            (vec![bid(2, 650, 1), bid(1, 650, 1)], 1, 650),
            (vec![bid(3, 650, 0)], 0, 0),
        ] {
            assert_eq!(
                choose(&bids),
                Some(CouncilChoice { winner, payment }),
                "{bids:?}"
            );
        }
        assert_eq!(choose(&[]), None);
    }

    #[test]
    fn what_decided_is_the_first_that_tells_them_apart() {
        for (bids, by) in [
            (vec![bid(3, 650, 0)], DecidedBy::Alone),
            (vec![bid(1, 650, 2), bid(2, 700, 0)], DecidedBy::Expected),
            (vec![bid(1, 650, 0), bid(2, 650, 1)], DecidedBy::Votes),
            (vec![bid(2, 650, 1), bid(1, 650, 1)], DecidedBy::Age),
            (
                vec![bid(1, 650, 1), bid(2, 650, 2), bid(3, 600, 2)],
                DecidedBy::Votes,
            ),
        ] {
            let winner = choose(&bids).unwrap().winner;
            assert_eq!(DecidedBy::of(&bids, winner), Some(by), "{bids:?}");
        }
        assert_eq!(DecidedBy::of(&[], 0), None);
    }

    #[test]
    fn agreement_has_a_label_and_without_votes_there_is_none() {
        let votes = |agree, all| VoteCount { agree, all };
        assert_eq!(votes(0, 0).confidence(), None);
        for (agree, all, confidence, label) in [
            (2, 2, 1000, "High"),
            (4, 5, 800, "High"),
            (2, 3, 666, "Medium"),
            (1, 2, 500, "Medium"),
            (1, 3, 333, "Uncertain"),
            (0, 1, 0, "Uncertain"),
        ] {
            assert_eq!(votes(agree, all).confidence(), Some(confidence));
            assert_eq!(confidence_label(confidence), label, "{confidence}");
        }
    }

    /// References of so many answers.
    fn shown(answers: usize) -> Vec<String> {
        (0..answers).map(|at| format!("1a2b3c4{at}")).collect()
    }

    fn verdicts(text: &str, answers: usize) -> Result<Vec<Option<ReviewVerdict>>, String> {
        let said = read_review(text, &shown(answers))?;
        Ok(said
            .iter()
            .map(|one| one.as_ref().map(|one| one.verdict))
            .collect())
    }

    #[test]
    fn a_review_says_one_thing_of_each_answer() {
        use ReviewVerdict::{Agree, Disagree};
        let one = r#"{"verdict":"disagree","why":"x","correction":"Canberra."}"#;
        let said = read_review(one, &shown(1)).unwrap();
        let only = said[0].as_ref().unwrap();
        assert_eq!(
            (only.verdict, only.correction.as_deref()),
            (Disagree, Some("Canberra."))
        );
        for (text, answers, expected) in [
            (r#"{"verdict":"agree","why":""}"#, 1, vec![Some(Agree)]),
            (
                r#"{"of":"A","verdict":"agree","why":""}"#,
                1,
                vec![Some(Agree)],
            ),
            (
                r#"{"reviews":[{"of":"B","verdict":"agree","why":""},{"of":"A","verdict":"disagree","why":""}]}"#,
                2,
                vec![Some(Disagree), Some(Agree)],
            ),
            (
                r#"{"reviews":[{"of":"A","verdict":"agree","why":""},{"of":"A","verdict":"disagree","why":""}]}"#,
                2,
                vec![None, None],
            ),
            (r#"{"reviews":[]}"#, 2, vec![None, None]),
            (
                r#"{"of":"1a2b3c40","verdict":"agree","why":""}"#,
                1,
                vec![Some(Agree)],
            ),
            (
                r#"{"reviews":[{"of":"[reference 1a2b3c41]","verdict":"agree","why":""},{"of":"1a2b3c40","verdict":"disagree","why":""}]}"#,
                2,
                vec![Some(Disagree), Some(Agree)],
            ),
            (
                r#"{"reviews":[{"of":"A","verdict":"agree","why":""},{"of":"1a2b3c40","verdict":"agree","why":""}]}"#,
                2,
                vec![None, None],
            ),
        ] {
            assert_eq!(verdicts(text, answers), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_review_is_no_vote() {
        let huge = format!(
            r#"{{"verdict":"agree","why":"{}"}}"#,
            "x".repeat(MAX_REVIEW)
        );
        let long = format!(
            r#"{{"verdict":"agree","why":"{}"}}"#,
            "x".repeat(MAX_SAID + 1)
        );
        for (text, answers) in [
            ("", 1),
            (" \n", 2),
            (huge.as_str(), 1),
            (long.as_str(), 1),
            ("I agree.", 1),
            ("```json\n{\"verdict\":\"agree\",\"why\":\"\"}\n```", 1),
            (r#"{"verdict":"Agree","why":""}"#, 1),
            (r#"{"verdict":"agree"}"#, 1),
            (r#"{"verdict":"agree","why":"","by":"me"}"#, 1),
            (
                r#"{"verdict":"agree","why":""} {"verdict":"agree","why":""}"#,
                1,
            ),
            (r#"[{"verdict":"agree","why":""}]"#, 1),
            (r#"{"of":"B","verdict":"agree","why":""}"#, 1),
            (r#"{"verdict":"agree","why":""}"#, 2),
            (r#"{"reviews":[{"of":"C","verdict":"agree","why":""}]}"#, 2),
            (r#"{"reviews":[{"verdict":"agree","why":""}]}"#, 2),
        ] {
            assert!(read_review(text, &shown(answers)).is_err(), "{text:.60}");
        }
        let named = r#"{"reviews":[{"of":"C","verdict":"agree","why":""}]}"#;
        let why = read_review(named, &shown(2)).unwrap_err();
        let expected = "it names 'C'; expected: A (or 1a2b3c40), B (or 1a2b3c41)";
        assert_eq!(why, expected);
        // Two answers whose references are alike.
        let alike = ["1a2b3c40", "1a2b3c40"].map(str::to_owned);
        let named = named.replace("\"C\"", "\"1a2b3c40\"");
        assert!(read_review(&named, &alike).is_err());
        assert!(read_review(&named, &shown(2)).is_ok());
    }

    #[test]
    fn a_shape_is_met_by_what_is_read() {
        use crate::govern::reply::output::Shape;
        let shape = |answers| Shape::schema(&review_shape(&shown(answers)).to_string()).unwrap();
        assert!(shape(1).met_by(r#"{"verdict":"agree","why":""}"#).is_ok());
        assert!(shape(1).met_by(r#"{"verdict":"maybe","why":""}"#).is_err());
        let two = r#"{"reviews":[{"of":"A","verdict":"agree","why":""},{"of":"B","verdict":"agree","why":""}]}"#;
        assert!(shape(2).met_by(two).is_ok());
        let by_reference = two.replace("\"A\"", "\"1a2b3c40\"");
        assert!(shape(2).met_by(&by_reference).is_ok());
        let other = r#"{"reviews":[{"of":"C","verdict":"agree","why":""}]}"#;
        assert!(shape(2).met_by(other).is_err());
        let names: Vec<String> = [0, 1, 25, 26].into_iter().map(answer_name).collect();
        assert_eq!(names, ["A", "B", "Z", "A1"]);
    }

    proptest! {
        /// Who wins does not depend on the order of arrival, and pays no more than its own welfare.
        #[test]
        fn a_winner_pays_at_most_what_it_is_worth(
            bids in proptest::collection::vec((0..4_u64, 0..3_u64), 1..8),
            turns in 0..8_usize,
        ) {
            let bids: Vec<CouncilBid> = (1..).zip(bids).map(|(n, (w, agree))| bid(n, w * 100_000, agree)).collect();
            let choice = choose(&bids).unwrap();
            prop_assert!(choice.payment <= bids[choice.winner].welfare);
            let mut turned = bids.clone();
            let by = turns % bids.len();
            turned.rotate_left(by);
            let again = choose(&turned).unwrap();
            prop_assert_eq!(turned[again.winner], bids[choice.winner]);
            prop_assert_eq!(again.payment, choice.payment);
        }

        /// Whatever is in a reply: it is read, or is no vote.
        #[test]
        fn no_reply_is_a_fault(text in "\\PC{0,80}", answers in 0..4_usize) {
            if let Ok(said) = read_review(&text, &shown(answers)) {
                prop_assert_eq!(said.len(), answers.max(1));
            }
        }
    }
}
