//! What checks of a reply are worth to who gave it, and what an answer was worth in all. Pure, and in
//! thousandths (`docs/specialists.md`); the view `assertion_events` has the first rule in SQL.

use super::drift::DriftEffect;
use super::kernel::{Kernel, UtilityRules};

/// A whole, in thousandths.
const WHOLE: i64 = 1000;

impl Kernel {
    /// What checks of replies are worth under it.
    pub fn utility(&self) -> UtilityRules {
        self.rules().utility.unwrap_or(UtilityRules::SHIPPED)
    }
}

impl UtilityRules {
    /// What a check of this level that ended so is worth. A level that no effect has is taken as the
    /// gravest.
    pub fn bonus(&self, level: &str, passed: bool) -> i64 {
        let worth = match (level, passed) {
            (level, _) if level == DriftEffect::Record.level() => self.info,
            (_, true) => self.passed,
            (level, false) if level == DriftEffect::Warn.level() => self.soft,
            (_, false) => self.blocking,
        };
        i64::from(worth)
    }
}

/// What an answer was worth: what was expected of who gave it in the likeliest domain, and what its
/// checks add to that; from nothing to a whole.
pub fn utility_score(expected: u64, bonus: i64) -> u64 {
    let expected = i64::try_from(expected).unwrap_or(WHOLE);
    let score = expected.saturating_add(bonus).clamp(0, WHOLE);
    u64::try_from(score).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_bonus_follows_from_level_and_outcome() {
        let rules = UtilityRules {
            soft: -70,
            blocking: -900,
            info: 3,
            passed: 5,
        };
        for (level, passed, worth) in [
            ("info", true, 3),
            ("info", false, 3),
            ("soft", true, 5),
            ("soft", false, -70),
            ("blocking", true, 5),
            ("blocking", false, -900),
        ] {
            assert_eq!(rules.bonus(level, passed), worth, "{level} {passed}");
        }
    }

    #[test]
    fn a_kernel_that_does_not_say_has_what_is_shipped() {
        let first = include_str!("../../tests/data/kernels/0.1.0.json");
        let old = Kernel::from_canonical(first).unwrap();
        assert_eq!(old.utility(), UtilityRules::SHIPPED);
        assert_eq!(Kernel::genesis().utility(), UtilityRules::SHIPPED);
        let other = super::super::kernel::GENESIS_KERNEL.replacen("soft = -50", "soft = -51", 1);
        assert_eq!(Kernel::from_toml(&other).unwrap().utility().soft, -51);
    }

    proptest! {
        /// A score keeps its bounds, grows with what is expected, and a failed blocking check of the
        /// shipped rules leaves nothing of it.
        #[test]
        fn a_score_keeps_its_bounds(expected in 0..=1000_u64, bonus in -100_000..100_000_i64) {
            let score = utility_score(expected, bonus);
            prop_assert!(score <= 1000);
            prop_assert!(utility_score(expected.saturating_sub(1), bonus) <= score);
            prop_assert_eq!(utility_score(expected, 0), expected);
            let blocked = UtilityRules::SHIPPED.bonus("blocking", false);
            prop_assert_eq!(utility_score(expected, blocked), 0);
        }
    }
}
