//! What is measured of a token, and within which bounds a pattern wants it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::shape::TokenShape;
use crate::govern::sanitize::text::statistics::CharacterCounts;

/// What is measured of a token; what costs little comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum TokenMeasure {
    Length,
    Lower,
    Upper,
    Letters,
    Digits,
    Others,
    Sorts,
    Characters,
    Alphabetic,
    LongestRun,
    Turns,
    InnerTurns,
    Signs,
    OddSigns,
    Wordiness,
}

/// So many of the measures, the first ones, are told by one reading of the token.
const QUICK: usize = 8;

/// Those measures, in their order; none is larger than the first, which is the length. What is more
/// than the numbers hold counts as the highest of them.
#[derive(Clone, Copy)]
pub(super) struct QuickMeasures([u16; QUICK]);

impl QuickMeasures {
    /// Those of a token of so many bytes and characters.
    pub(super) fn of(length: usize, characters: usize, counts: CharacterCounts) -> Self {
        let all = [
            length,
            counts.lower,
            counts.upper,
            counts.letters(),
            counts.digits,
            counts.others,
            counts.sorts(),
            characters,
        ];
        QuickMeasures(all.map(|measure| u16::try_from(measure).unwrap_or(u16::MAX)))
    }
}

/// Bounds of the quick measures.
#[derive(Clone, Copy)]
pub(super) struct QuickBounds {
    least: [u16; QUICK],
    most: [u16; QUICK],
}

impl QuickBounds {
    /// Those that everything is within.
    pub(super) const OPEN: QuickBounds = QuickBounds {
        least: [0; QUICK],
        most: [u16::MAX; QUICK],
    };
    /// Those that nothing is within.
    pub(super) const SHUT: QuickBounds = QuickBounds {
        least: [u16::MAX; QUICK],
        most: [0; QUICK],
    };

    /// Whether measures are within them. All are compared at once, which costs less than to stop at
    /// the first that is not.
    pub(super) fn hold(&self, measures: QuickMeasures) -> bool {
        let bounds = self.least.iter().zip(&self.most);
        bounds
            .zip(&measures.0)
            .fold(true, |all, ((least, most), measure)| {
                all & (least <= measure) & (measure <= most)
            })
    }

    /// Whether a token of so many bytes may be within them.
    pub(super) fn allow_length(&self, length: usize) -> bool {
        usize::from(self.least[0]) <= length
            && (length <= usize::from(self.most[0]) || self.most[0] == u16::MAX)
    }

    /// Where both hold.
    pub(super) fn and(self, other: QuickBounds) -> QuickBounds {
        QuickBounds {
            least: pairwise(self.least, other.least, u16::max),
            most: pairwise(self.most, other.most, u16::min),
        }
    }

    /// The narrowest that hold wherever one of both does.
    pub(super) fn around(self, other: QuickBounds) -> QuickBounds {
        QuickBounds {
            least: pairwise(self.least, other.least, u16::min),
            most: pairwise(self.most, other.most, u16::max),
        }
    }

    /// The same bounds, and for the length what they say of it: no measure is larger.
    pub(super) fn with_length(mut self) -> QuickBounds {
        self.least[0] = self.least.into_iter().max().unwrap_or(0);
        self
    }
}

fn pairwise(
    first: [u16; QUICK],
    second: [u16; QUICK],
    choose: fn(u16, u16) -> u16,
) -> [u16; QUICK] {
    std::array::from_fn(|nth| choose(first[nth], second[nth]))
}

/// A measure that costs a reading of its own, and its bounds.
pub(super) struct CostlyBound {
    of: TokenMeasure,
    least: usize,
    most: usize,
}

impl CostlyBound {
    pub(super) fn holds(&self, shape: &TokenShape<'_>) -> bool {
        (self.least..=self.most).contains(&shape.measure(self.of))
    }
}

/// `least` and `most` of a pattern, as the file has them.
pub(super) type BoundRow = BTreeMap<TokenMeasure, u16>;

/// Bounds of the quick measures, and then of the others.
pub(super) fn bounds(least: &BoundRow, most: &BoundRow) -> (QuickBounds, Vec<CostlyBound>) {
    let mut quick = QuickBounds::OPEN;
    for (of, bound) in least {
        if let Some(least) = quick.least.get_mut(*of as usize) {
            *least = *bound;
        }
    }
    for (of, bound) in most {
        if let Some(most) = quick.most.get_mut(*of as usize) {
            *most = *bound;
        }
    }
    let named: BTreeSet<_> = least.keys().chain(most.keys()).copied().collect();
    let costly = named.into_iter().filter(|of| *of as usize >= QUICK);
    let costly = costly.map(|of| CostlyBound {
        of,
        least: least.get(&of).copied().map_or(0, usize::from),
        most: most.get(&of).copied().map_or(usize::MAX, usize::from),
    });
    (quick.with_length(), costly.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measures(text: &str) -> QuickMeasures {
        QuickMeasures::of(
            text.len(),
            text.chars().count(),
            CharacterCounts::of(text).0,
        )
    }

    #[test]
    fn bounds_are_included() {
        let least = BoundRow::from([(TokenMeasure::Digits, 2), (TokenMeasure::Turns, 1)]);
        let most = BoundRow::from([(TokenMeasure::Upper, 1)]);
        let (quick, costly) = bounds(&least, &most);
        for (text, holds) in [("a12", true), ("A12", true), ("AB12", false), ("a1", false)] {
            assert_eq!(quick.hold(measures(text)), holds, "{text}");
        }
        assert!(quick.allow_length(2) && !quick.allow_length(1) && quick.allow_length(100_000));
        assert!(costly[0].holds(&TokenShape::of("a1")) && !costly[0].holds(&TokenShape::of("ab")));
    }

    #[test]
    fn bounds_are_joined() {
        let of = |least: u16, most: u16| {
            let least = BoundRow::from([(TokenMeasure::Length, least)]);
            bounds(&least, &BoundRow::from([(TokenMeasure::Length, most)])).0
        };
        let lengths = |all: QuickBounds| (0..10).filter(|n| all.allow_length(*n)).collect();
        let (some, more): (Vec<usize>, Vec<usize>) = (
            lengths(of(2, 5).and(of(4, 8))),
            lengths(of(2, 3).around(of(4, 5)).around(QuickBounds::SHUT)),
        );
        assert_eq!((some, more), (vec![4, 5], vec![2, 3, 4, 5]));
    }

    #[test]
    fn what_is_read_at_once_are_the_first_measures() {
        let text = "aBB333--é";
        let shape = TokenShape::of(text);
        for (of, measure) in [
            (TokenMeasure::Length, 10),
            (TokenMeasure::Lower, 2),
            (TokenMeasure::Upper, 2),
            (TokenMeasure::Letters, 4),
            (TokenMeasure::Digits, 3),
            (TokenMeasure::Others, 2),
            (TokenMeasure::Sorts, 4),
            (TokenMeasure::Characters, 9),
        ] {
            assert_eq!(
                usize::from(measures(text).0[of as usize]),
                measure,
                "{of:?}"
            );
            assert_eq!(shape.measure(of), measure, "{of:?}");
        }
        assert_eq!(TokenMeasure::Alphabetic as usize, QUICK);
    }
}
