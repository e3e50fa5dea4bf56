//! Corrections: what was wrong, what is right, and how much of a correction's confidence is left
//! after a time.
//!
//! ```text
//! kind correction, id correction:000001      declared, where its source is `manual`; else proposed
//! kind correction_ratified, the same id      ratified
//! kind correction_retired, the same id       retired
//!
//! effective = confidence · e^(−age / τ)      in thousandths, whole; the nearest, halves up
//! ```
//! The age is in whole seconds since `observed_at`, never below 0. It is held in units of
//! τ / 65536, and each bit of that number takes its factor: so two machines come to the same
//! number, and none of them needs a floating point. The factors are e^(−2^b / 65536), in units of
//! 10^-9 (`docs/specialists.md` prints them).

use std::fmt;
use std::str::FromStr;

use super::item::NoSuchWord;

/// The kind of the artifact that makes a proposed correction count.
pub const CORRECTION_RATIFIED: &str = "correction_ratified";
/// The `source` of a correction that a person made: it counts at once.
pub const MANUAL: &str = "manual";
/// The `source` of one that a review made.
pub const ARBITER: &str = "arbiter";
/// The `source` of one that came from a file.
pub const IMPORT: &str = "import";

/// All of a confidence, in thousandths.
pub const CERTAIN: u16 = 1000;
/// From this many thousandths on a correction counts as of high confidence.
pub const HIGH: u16 = 800;
/// From this many on as of medium confidence; below it is not put before a model any more.
pub const MEDIUM: u16 = 500;

/// A year of 365.25 days, in seconds.
const YEAR: u64 = 31_557_600;
/// So many parts of τ are told apart.
const PARTS: u64 = 1 << 16;
/// From so many τ on nothing is left: a thousandth of e^-8 is a third.
const SPENT: u64 = 8;
/// One, in the units of the factors.
const ONE: u64 = 1_000_000_000;
/// What each bit of an age leaves, the lowest first: e^(−2^b / 65536) · 10^9, rounded.
pub const FACTORS: [u64; 19] = [
    999_984_741,
    999_969_483,
    999_938_967,
    999_877_937,
    999_755_889,
    999_511_838,
    999_023_914,
    998_048_781,
    996_101_369,
    992_217_938,
    984_496_437,
    969_233_234,
    939_413_063,
    882_496_903,
    778_800_783,
    606_530_660,
    367_879_441,
    135_335_283,
    18_315_639,
];

/// How fast a correction loses its confidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DecayClass {
    /// Not at all.
    A,
    /// By e in ten years.
    B,
    /// By e in three years.
    C,
    /// By e in half a year.
    D,
}

impl DecayClass {
    /// All of them.
    pub const ALL: [DecayClass; 4] = [DecayClass::A, DecayClass::B, DecayClass::C, DecayClass::D];

    /// The letter in documents and in the database.
    pub const fn name(self) -> &'static str {
        match self {
            DecayClass::A => "A",
            DecayClass::B => "B",
            DecayClass::C => "C",
            DecayClass::D => "D",
        }
    }

    /// The seconds after which 1/e is left; none where all stays.
    pub const fn lifetime(self) -> Option<u64> {
        match self {
            DecayClass::A => None,
            DecayClass::B => Some(10 * YEAR),
            DecayClass::C => Some(3 * YEAR),
            DecayClass::D => Some(YEAR / 2),
        }
    }

    /// What is left of a confidence after so many seconds, both in thousandths.
    pub fn left_of(self, confidence: u16, age: u64) -> u16 {
        let Some(lifetime) = self.lifetime() else {
            return confidence;
        };
        let parts = age.saturating_mul(PARTS).saturating_add(lifetime / 2) / lifetime;
        if parts >= SPENT * PARTS {
            return 0;
        }
        let factor = FACTORS.iter().enumerate();
        let factor = factor.filter(|(bit, _)| parts >> bit & 1 == 1);
        let factor = factor.fold(ONE, |left, (_, factor)| left * factor / ONE);
        let left = (u64::from(confidence) * factor + ONE / 2) / ONE;
        u16::try_from(left).unwrap_or(confidence)
    }
}

impl FromStr for DecayClass {
    type Err = NoSuchWord;

    fn from_str(text: &str) -> Result<DecayClass, NoSuchWord> {
        DecayClass::ALL
            .into_iter()
            .find(|class| class.name() == text)
            .ok_or_else(|| NoSuchWord(text.to_owned()))
    }
}

impl fmt::Display for DecayClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What stands between a correction's claim and what it rejects, where both are shown.
const NOT: &str = " (not: ";
/// What neither of them may hold, so that they can be told apart.
pub const RESERVED: &str = "(not:";

/// `CLAIM (not: REJECTED)`, as a correction is put before a model; the claim alone where it rejects
/// nothing.
pub fn correction_text(claim: &str, rejected: &str) -> String {
    match rejected.is_empty() {
        true => claim.to_owned(),
        false => format!("{claim}{NOT}{rejected})"),
    }
}

/// The claim and what is rejected of a [`correction_text`].
pub fn correction_parts(text: &str) -> (&str, Option<&str>) {
    let parts = text
        .strip_suffix(')')
        .and_then(|inner| inner.split_once(NOT));
    match parts {
        Some((claim, rejected)) => (claim, Some(rejected)),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_after_a_time() {
        for (class, confidence, age, left) in [
            (DecayClass::A, 900, u64::MAX, 900),
            (DecayClass::B, 1000, 0, 1000),
            (DecayClass::B, 1000, 10 * YEAR, 368),
            (DecayClass::C, 900, 3 * YEAR, 331),
            (DecayClass::C, 900, YEAR, 645),
            (DecayClass::D, 1000, YEAR, 135),
            (DecayClass::D, 1000, 4 * YEAR, 0),
            (DecayClass::D, 1000, u64::MAX, 0),
            (DecayClass::C, 0, YEAR, 0),
        ] {
            assert_eq!(
                class.left_of(confidence, age),
                left,
                "{class} {confidence} {age}"
            );
        }
    }

    /// Each half of the document's formula by floating point, over thirty years.
    #[test]
    fn it_is_the_formula_to_a_thousandth() {
        let close = |class: DecayClass, confidence: u16, age: u64| {
            let lifetime = class.lifetime().expect("a class that decays");
            let exact = f64::from(confidence) * (-(age as f64) / lifetime as f64).exp();
            let left = f64::from(class.left_of(confidence, age));
            (left - exact).abs() <= 0.52
        };
        for class in [DecayClass::B, DecayClass::C, DecayClass::D] {
            for age in (0..30 * YEAR).step_by(86_399) {
                assert!(
                    close(class, 1000, age) && close(class, 777, age),
                    "{class} {age}"
                );
            }
        }
    }

    #[test]
    fn less_is_left_of_what_is_older() {
        for class in DecayClass::ALL {
            let ages = (0..9 * YEAR).step_by(40_000);
            let left: Vec<u16> = ages.map(|age| class.left_of(1000, age)).collect();
            assert!(left.windows(2).all(|pair| pair[1] <= pair[0]), "{class}");
        }
    }

    #[test]
    fn claim_and_rejection_are_told_apart_again() {
        for (claim, rejected) in [
            ("Canberra is the capital.", "Sydney is the capital."),
            ("The limit is 5 MB", ""),
            ("A (b) c", "d (e)"),
        ] {
            let text = correction_text(claim, rejected);
            let expected = (claim, Some(rejected).filter(|text| !text.is_empty()));
            assert_eq!(correction_parts(&text), expected);
        }
        assert_eq!(correction_parts("a (not: b"), ("a (not: b", None));
    }
}
