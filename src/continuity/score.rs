//! How much an artifact is worth for a question, in whole numbers (AEGIS 6.5). Selects; never
//! overrides a gate.
//!
//! ```text
//! total = relevance + recency + authority + utility - risk
//! ring1.relevance:812.recency:40.authority:100.risk:60.utility:40
//! ```
//! The second line is how the parts stand on record, in `included_reason`.

use crate::record::time::Seconds;

use super::candidate::{Candidate, CandidateClass, Confidence, TurnCandidate};
use super::words::words;

/// The parts of a score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScoreParts {
    /// How well it fits the words of the question: 0 to 2000, SQLite's BM25 times 100.
    pub relevance: u64,
    /// How new it is: 0 to 100.
    pub recency: u64,
    /// How much authority stands behind it: 0 to 100.
    pub authority: u64,
    /// What speaks against relying on it: 0 to 100, taken off.
    pub risk: u64,
    /// What it adds to the question: 0 to 100.
    pub utility: u64,
}

const NAMES: [&str; 5] = ["relevance", "recency", "authority", "risk", "utility"];

impl ScoreParts {
    /// The parts under their names, in the order of the document.
    pub fn named(&self) -> [(&'static str, u64); 5] {
        let values = [
            self.relevance,
            self.recency,
            self.authority,
            self.risk,
            self.utility,
        ];
        std::array::from_fn(|i| (NAMES[i], values[i]))
    }

    /// What is compared.
    pub fn total(&self) -> i64 {
        let whole = |part: u64| i64::try_from(part).unwrap_or(i64::MAX);
        let gains = [self.relevance, self.recency, self.authority, self.utility];
        gains
            .into_iter()
            .fold(0_i64, |sum, part| sum.saturating_add(whole(part)))
            .saturating_sub(whole(self.risk))
    }

    /// How they stand on record, behind why the artifact was let in.
    pub fn code(&self, why: &str) -> String {
        self.named()
            .iter()
            .fold(why.to_owned(), |code, (name, value)| {
                format!("{code}.{name}:{value}")
            })
    }

    /// Reads them back, with why the artifact was let in; none for a reason without a score.
    pub fn read(code: &str) -> Option<(&str, ScoreParts)> {
        let (why, _) = code.split_once(".relevance:")?;
        let rest = code.get(why.len() + 1..)?;
        let mut pieces = rest.split('.');
        let mut values = [0; 5];
        for (name, value) in NAMES.iter().zip(values.iter_mut()) {
            *value = pieces
                .next()?
                .strip_prefix(name)?
                .strip_prefix(':')?
                .parse()
                .ok()?;
        }
        let [relevance, recency, authority, risk, utility] = values;
        let parts = ScoreParts {
            relevance,
            recency,
            authority,
            risk,
            utility,
        };
        (pieces.next().is_none() && parts.code(why) == code).then_some((why, parts))
    }
}

/// Scores one artifact; `disputed`: another in force disagrees with it.
pub fn score(
    candidate: &Candidate,
    question: &[String],
    now: Seconds,
    disputed: bool,
) -> ScoreParts {
    ScoreParts {
        relevance: candidate.relevance,
        recency: recency(now.since(candidate.observed_at)),
        authority: authority(candidate.class, candidate.confidence),
        risk: risk(
            candidate.confidence,
            now.since(candidate.observed_at),
            disputed,
        ),
        utility: utility(candidate, question, disputed),
    }
}

/// Scores one turn of deep history.
pub fn score_turn(turn: &TurnCandidate, question: &[String], now: Seconds) -> ScoreParts {
    let adds = words(turn.text.as_deref().unwrap_or_default())
        .iter()
        .any(|word| !question.contains(word));
    ScoreParts {
        relevance: turn.relevance,
        recency: recency(now.since(turn.at)),
        authority: if turn.by_user { 50 } else { 20 },
        risk: if turn.by_user { 0 } else { 30 },
        utility: if adds { 40 } else { 0 },
    }
}

const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;
const YEAR: u64 = 365 * DAY;

/// By age in seconds.
pub fn recency(age: u64) -> u64 {
    [
        (HOUR, 100),
        (DAY, 80),
        (7 * DAY, 60),
        (30 * DAY, 40),
        (YEAR, 20),
    ]
    .into_iter()
    .find(|(oldest, _)| age <= *oldest)
    .map_or(0, |(_, worth)| worth)
}

/// By what stands behind it: a person's decision, a person's ratification and confidence, a check,
/// a mere note.
pub fn authority(class: CandidateClass, confidence: Confidence) -> u64 {
    match (class, confidence) {
        (CandidateClass::Intent, _)
        | (CandidateClass::Fact | CandidateClass::Correction, Confidence::High) => 100,
        (CandidateClass::Decision, _) => 90,
        (CandidateClass::Fact | CandidateClass::Correction, Confidence::Medium) => 70,
        (CandidateClass::Drift, _) => 60,
        (
            CandidateClass::Fact | CandidateClass::Correction,
            Confidence::Low | Confidence::Faded,
        ) => 40,
        (CandidateClass::Note, _) => 30,
        // Nobody stands behind it.
        (CandidateClass::Imported, _) => 0,
    }
}

/// Doubt, age and dispute.
pub fn risk(confidence: Confidence, age: u64, disputed: bool) -> u64 {
    let doubt = if confidence <= Confidence::Low { 30 } else { 0 };
    let old = if age > YEAR { 10 } else { 0 };
    doubt + old + if disputed { 60 } else { 0 }
}

/// A dispute has to be seen, and an intent be known; what the question says itself adds nothing.
fn utility(candidate: &Candidate, question: &[String], disputed: bool) -> u64 {
    let asked = |word: &String| question.contains(word);
    let about = candidate.subject.as_deref().map(words).unwrap_or_default();
    if disputed || candidate.class == CandidateClass::Intent {
        100
    } else if !about.is_empty() && about.iter().all(asked) {
        80
    } else if candidate.class == CandidateClass::Drift && candidate.here {
        60
    } else if words(&candidate.text).iter().all(asked) {
        0
    } else {
        40
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::hash::Hash32;

    #[test]
    fn parts_are_read_as_they_are_written() {
        let parts = ScoreParts {
            relevance: 812,
            recency: 40,
            authority: 100,
            risk: 60,
            utility: 80,
        };
        let code = parts.code("ring1");
        assert_eq!(
            code,
            "ring1.relevance:812.recency:40.authority:100.risk:60.utility:80"
        );
        assert_eq!(
            (ScoreParts::read(&code), parts.total()),
            (Some(("ring1", parts)), 972)
        );
        assert_eq!(
            ScoreParts::read("ring2.conflict.relevance:0.recency:0.authority:0.risk:0.utility:0")
                .unwrap()
                .0,
            "ring2.conflict"
        );
        for wrong in [
            "ring0.constraints",
            "ring1.relevance:812",
            "ring1.relevance:812.recency:40.authority:100.risk:60.utility:80.more:1",
            "ring1.relevance:0812.recency:40.authority:100.risk:60.utility:80",
            "ring1.relevance:-1.recency:40.authority:100.risk:60.utility:80",
            "ring1.relevance:812.authority:100.recency:40.risk:60.utility:80",
            "",
        ] {
            assert_eq!(ScoreParts::read(wrong), None, "{wrong}");
        }
        assert_eq!(
            ScoreParts {
                risk: 100,
                ..ScoreParts::default()
            }
            .total(),
            -100
        );
        assert_eq!(
            ScoreParts {
                relevance: u64::MAX,
                recency: 1,
                ..ScoreParts::default()
            }
            .total(),
            i64::MAX
        );
    }

    #[test]
    fn recency_by_age() {
        for (age, expected) in [
            (0, 100),
            (3600, 100),
            (3601, 80),
            (86_400, 80),
            (86_401, 60),
            (604_800, 60),
            (604_801, 40),
            (2_592_000, 40),
            (2_592_001, 20),
            (31_536_000, 20),
            (31_536_001, 0),
            (u64::MAX, 0),
        ] {
            assert_eq!(recency(age), expected, "{age}");
        }
    }

    #[test]
    fn authority_and_risk() {
        use Confidence::{High, Low, Medium};
        for (class, confidence, expected) in [
            (CandidateClass::Fact, High, 100),
            (CandidateClass::Fact, Medium, 70),
            (CandidateClass::Fact, Low, 40),
            (CandidateClass::Decision, Low, 90),
            (CandidateClass::Intent, Low, 100),
            (CandidateClass::Drift, High, 60),
            (CandidateClass::Note, High, 30),
        ] {
            assert_eq!(
                authority(class, confidence),
                expected,
                "{class:?} {confidence:?}"
            );
        }
        for (confidence, age, disputed, expected) in [
            (High, 0, false, 0),
            (Medium, 31_536_000, false, 0),
            (High, 31_536_001, false, 10),
            (Low, 0, false, 30),
            (High, 0, true, 60),
            (Low, u64::MAX, true, 100),
        ] {
            assert_eq!(
                risk(confidence, age, disputed),
                expected,
                "{confidence:?} {age} {disputed}"
            );
        }
    }

    #[test]
    fn utility_is_what_it_adds() {
        let fact = |text: &str, subject: Option<&str>| Candidate {
            id: "ledger:000001".into(),
            class: CandidateClass::Fact,
            text: text.into(),
            subject: subject.map(str::to_owned),
            source: None,
            observed_at: Seconds::ZERO,
            confidence: Confidence::High,
            counts: true,
            phase: None,
            tier: 1,
            hash: Hash32::ZERO,
            relevance: 0,
            here: true,
        };
        let question = words("Does the backup run at night?");
        for (candidate, disputed, expected) in [
            (fact("The backup runs at two.", None), false, 40),
            (fact("backup night", None), false, 0),
            (fact("It runs at two.", Some("backup")), false, 80),
            (fact("It runs at two.", Some("backup host")), false, 40),
            (fact("backup night", None), true, 100),
            (
                Candidate {
                    class: CandidateClass::Intent,
                    ..fact("backup", None)
                },
                false,
                100,
            ),
            (
                Candidate {
                    class: CandidateClass::Drift,
                    ..fact("backup", None)
                },
                false,
                60,
            ),
            (
                Candidate {
                    class: CandidateClass::Drift,
                    here: false,
                    ..fact("backup", None)
                },
                false,
                0,
            ),
        ] {
            assert_eq!(
                score(&candidate, &question, Seconds::ZERO, disputed).utility,
                expected,
                "{candidate:?}"
            );
        }
    }
}
