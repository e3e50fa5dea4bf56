//! What a council decided: several specialists answered one question, or reviewed what another one
//! answered, and one answer was chosen.
//!
//! | kind | id | content, beside `by` (hash of the auth key) |
//! |---|---|---|
//! | `council` | `council:000001` | `accuracy`, `answers`, `basis` (`ratings`, `prior`), `domains` (`domain`, `share` in thousandths), `method` (`words/1`, `named`), `reviews`, `unanswered`, `winner` (an exchange) |
//!
//! | list | of each |
//! |---|---|
//! | `answers` | `confidence` (agreeing votes among all, in thousandths, or null without votes), `exchange`, `payment` and `welfare` (millionths), `specialist`, `utility` (thousandths) |
//! | `unanswered` | `exchange`, `outcome` (`failed`, `denied`, `withheld`, `erased`), `specialist`, `utility`, `welfare`: members whose answer there is none of to choose |
//! | `reviews` | `by` (exchange of the review), `of` (exchange of the answer), `verdict` (`agree`, `disagree`, or null where it was no vote) |
//!
//! No text stands in it. What follows from it is by [`Councils::take`].

use std::collections::BTreeMap;
use std::str::FromStr;

use serde_json::Value;
use uuid::Uuid;

use super::item::{NoSuchWord, content};
use super::specialist::SpecialistId;

/// The kind of the artifact, and what stands before its number.
pub const COUNCIL: &str = "council";

/// How sure an answer is to be: who is asked for it, and who reviews it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccuracyLevel {
    /// One specialist answers, and nobody reviews: there is no council.
    Fast,
    /// One answers, the next reviews that.
    Balanced,
    /// Three answer, and each reviews the others.
    High,
    /// All answer, and each reviews the others.
    Maximum,
}

impl AccuracyLevel {
    /// All of them, in their order.
    pub const ALL: [AccuracyLevel; 4] = [
        AccuracyLevel::Fast,
        AccuracyLevel::Balanced,
        AccuracyLevel::High,
        AccuracyLevel::Maximum,
    ];

    /// The spelling on record and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            AccuracyLevel::Fast => "fast",
            AccuracyLevel::Balanced => "balanced",
            AccuracyLevel::High => "high",
            AccuracyLevel::Maximum => "maximum",
        }
    }
}

impl FromStr for AccuracyLevel {
    type Err = NoSuchWord;

    fn from_str(text: &str) -> Result<AccuracyLevel, NoSuchWord> {
        let found = AccuracyLevel::ALL
            .into_iter()
            .find(|one| one.name() == text);
        found.ok_or_else(|| NoSuchWord(text.to_owned()))
    }
}

/// What a review says of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewVerdict {
    /// It holds.
    Agree,
    /// It does not.
    Disagree,
}

impl ReviewVerdict {
    /// Both of them.
    pub const ALL: [ReviewVerdict; 2] = [ReviewVerdict::Agree, ReviewVerdict::Disagree];

    /// The spelling on record, and in a review.
    pub const fn name(self) -> &'static str {
        match self {
            ReviewVerdict::Agree => "agree",
            ReviewVerdict::Disagree => "disagree",
        }
    }
}

impl FromStr for ReviewVerdict {
    type Err = NoSuchWord;

    fn from_str(text: &str) -> Result<ReviewVerdict, NoSuchWord> {
        let found = ReviewVerdict::ALL
            .into_iter()
            .find(|one| one.name() == text);
        found.ok_or_else(|| NoSuchWord(text.to_owned()))
    }
}

/// What became of a member of a council in its first round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CouncilPlace {
    /// Its answer was chosen.
    Won,
    /// Another one was.
    Lost,
    /// Its model gave no answer.
    Failed,
    /// Policy denied its question.
    Denied,
    /// The kernel keeps its answer back.
    Withheld,
    /// Its answer was erased before the council decided.
    Erased,
}

impl CouncilPlace {
    /// All of them.
    pub const ALL: [CouncilPlace; 6] = [
        CouncilPlace::Won,
        CouncilPlace::Lost,
        CouncilPlace::Failed,
        CouncilPlace::Denied,
        CouncilPlace::Withheld,
        CouncilPlace::Erased,
    ];

    /// The spelling in the database, and of the last four on record.
    pub const fn name(self) -> &'static str {
        match self {
            CouncilPlace::Won => "won",
            CouncilPlace::Lost => "lost",
            CouncilPlace::Failed => "failed",
            CouncilPlace::Denied => "denied",
            CouncilPlace::Withheld => "withheld",
            CouncilPlace::Erased => "erased",
        }
    }
}

/// One member's exchange of a council's first round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CouncilAnswer {
    /// Its exchange.
    pub exchange: Uuid,
    /// Line of the council's artifact.
    pub council_line: u64,
    /// Who was asked.
    pub specialist: SpecialistId,
    /// What was expected of it in the likeliest domain of the question, in thousandths.
    pub utility: u64,
    /// What was expected of it in all of the question, in millionths.
    pub welfare: u64,
    /// What its choice cost the others, in millionths.
    pub payment: u64,
    /// Agreeing votes among all on it, in thousandths; none without votes.
    pub confidence: Option<u16>,
    /// What became of it.
    pub place: CouncilPlace,
}

/// What one review says of one answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CouncilReview {
    /// The council's id, a slash, and its number in the list, from 1.
    pub id: String,
    /// Line of the council's artifact.
    pub council_line: u64,
    /// The review's exchange.
    pub exchange: Uuid,
    /// Exchange of the answer.
    pub of: Uuid,
    /// What it says; none where it is no vote.
    pub verdict: Option<ReviewVerdict>,
}

/// What one council's artifact says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CouncilSaying {
    /// Those that were asked, in their order.
    pub answers: Vec<CouncilAnswer>,
    /// What reviews say, in their order.
    pub reviews: Vec<CouncilReview>,
}

/// What an artifact says as a council; none of another kind, and of one that is erased or can't be
/// read.
pub fn council_of(
    line: u64,
    kind: &str,
    id: &str,
    document: Option<&str>,
) -> Option<CouncilSaying> {
    let content = content(document.filter(|_| kind == COUNCIL))?;
    let winner: Uuid = content["winner"].as_str()?.parse().ok()?;
    let list = |key: &str| content[key].as_array().map(Vec::as_slice);
    let answered = list("answers")?.iter().map(|one| {
        let exchange: Uuid = one["exchange"].as_str()?.parse().ok()?;
        let place = match exchange == winner {
            true => CouncilPlace::Won,
            false => CouncilPlace::Lost,
        };
        answer(one, (line, exchange, place))
    });
    let unanswered = list("unanswered")?.iter().map(|one| {
        let exchange: Uuid = one["exchange"].as_str()?.parse().ok()?;
        let outcome = one["outcome"].as_str()?;
        let place = CouncilPlace::ALL
            .into_iter()
            .find(|place| place.name() == outcome)?;
        answer(one, (line, exchange, place))
    });
    let reviews = (1..).zip(list("reviews")?).map(|(number, one)| {
        Some(CouncilReview {
            id: format!("{id}/{number}"),
            council_line: line,
            exchange: one["by"].as_str()?.parse().ok()?,
            of: one["of"].as_str()?.parse().ok()?,
            verdict: one["verdict"].as_str().map(str::parse).transpose().ok()?,
        })
    });
    Some(CouncilSaying {
        answers: answered.chain(unanswered).collect::<Option<_>>()?,
        reviews: reviews.collect::<Option<_>>()?,
    })
}

fn answer(
    one: &Value,
    (council_line, exchange, place): (u64, Uuid, CouncilPlace),
) -> Option<CouncilAnswer> {
    let number = |key: &str| one.get(key).and_then(Value::as_u64);
    Some(CouncilAnswer {
        exchange,
        council_line,
        specialist: one["specialist"].as_str()?.parse().ok()?,
        utility: number("utility")?,
        welfare: number("welfare")?,
        payment: number("payment").unwrap_or(0),
        confidence: number("confidence").and_then(|value| u16::try_from(value).ok()),
        place,
    })
}

/// What all councils on record say; of two that name one exchange, the first.
#[derive(Clone, Debug, Default)]
pub struct Councils {
    answers: BTreeMap<Uuid, CouncilAnswer>,
    reviews: BTreeMap<String, CouncilReview>,
}

impl Councils {
    /// Takes the next artifact; `document` is its canonical JSON, none once erased.
    pub fn take(&mut self, line: u64, kind: &str, id: &str, document: Option<&str>) {
        let Some(said) = council_of(line, kind, id, document) else {
            return;
        };
        for answer in said.answers {
            self.answers.entry(answer.exchange).or_insert(answer);
        }
        for review in said.reviews {
            self.reviews.entry(review.id.clone()).or_insert(review);
        }
    }

    /// Whether a council decided against an exchange: it was asked in one, and was not chosen.
    pub fn is_against(&self, exchange: Uuid) -> bool {
        let found = self.answers.get(&exchange);
        found.is_some_and(|answer| answer.place != CouncilPlace::Won)
    }

    /// All that was asked in first rounds, by exchange.
    pub fn answers(&self) -> &BTreeMap<Uuid, CouncilAnswer> {
        &self.answers
    }

    /// All reviews, by id.
    pub fn reviews(&self) -> &BTreeMap<String, CouncilReview> {
        &self.reviews
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn id(n: u128) -> Uuid {
        Uuid::from_u128(n)
    }

    fn document() -> Value {
        let answer = |n: u128, payment: u64, confidence: Option<u16>| {
            json!({"confidence": confidence, "exchange": id(n), "payment": payment, "specialist": "specialist:000001",
                "utility": 650, "welfare": 650_000})
        };
        json!({"content": {
            "answers": [answer(1, 0, None), answer(2, 640_000, Some(500))],
            "unanswered": [{"exchange": id(3), "outcome": "failed", "specialist": "specialist:000003",
                "utility": 600, "welfare": 600_000}],
            "reviews": [{"by": id(4), "of": id(2), "verdict": "agree"}, {"by": id(5), "of": id(2), "verdict": null}],
            "winner": id(2),
        }})
    }

    #[test]
    fn a_council_says_who_won_and_who_voted() {
        let said = council_of(7, COUNCIL, "council:000001", Some(&document().to_string())).unwrap();
        let places: Vec<CouncilPlace> = said.answers.iter().map(|one| one.place).collect();
        assert_eq!(
            places,
            [CouncilPlace::Lost, CouncilPlace::Won, CouncilPlace::Failed]
        );
        assert_eq!(
            (said.answers[1].payment, said.answers[1].confidence),
            (640_000, Some(500))
        );
        let votes: Vec<_> = said.reviews.iter().map(|one| one.verdict).collect();
        assert_eq!(votes, [Some(ReviewVerdict::Agree), None]);
        assert_eq!(said.reviews[1].id, "council:000001/2");

        let mut all = Councils::default();
        all.take(7, COUNCIL, "council:000001", Some(&document().to_string()));
        let against: Vec<bool> = (1..=4).map(|n| all.is_against(id(n))).collect();
        assert_eq!(against, [true, false, true, false]);
    }

    #[test]
    fn what_is_no_council_says_nothing() {
        let text = document().to_string();
        assert_eq!(council_of(7, "rating", "council:000001", Some(&text)), None);
        assert_eq!(council_of(7, COUNCIL, "council:000001", None), None);
        for (list, key) in [
            ("answers", "utility"),
            ("answers", "exchange"),
            ("unanswered", "outcome"),
            ("reviews", "of"),
        ] {
            let mut without = document();
            without["content"][list][0]
                .as_object_mut()
                .unwrap()
                .remove(key);
            let text = without.to_string();
            assert_eq!(
                council_of(7, COUNCIL, "council:000001", Some(&text)),
                None,
                "{list} {key}"
            );
        }
        let mut other = document();
        other["content"]["reviews"][0]["verdict"] = json!("maybe");
        assert_eq!(
            council_of(7, COUNCIL, "council:000001", Some(&other.to_string())),
            None
        );
    }
}
