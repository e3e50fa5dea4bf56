//! What policy counted, counted again: INTENTs on record before a line, of a thread or within a
//! time.

use std::collections::HashMap;

use uuid::Uuid;

use crate::govern::policy::RateWindows;
use crate::record::context::turn::{Counts, tokens};
use crate::record::time::Seconds;
use crate::store::IntentRow;

/// INTENTs by their lines, so that each count is a search and no walk over the history.
#[derive(Default)]
pub(super) struct IntentIndex {
    lines: Vec<u64>,
    times: Vec<Seconds>,
    /// Tokens of all INTENTs before; one more than there are INTENTs.
    spent: Vec<u64>,
    threads: HashMap<Uuid, Vec<u64>>,
    /// Where the clock was set back: from there on times rise again.
    runs: Vec<usize>,
}

impl IntentIndex {
    /// Adds the next by its line.
    pub fn push(&mut self, thread: Uuid, line: u64, at: Seconds, bytes: u64) {
        if self.times.last().is_none_or(|last| *last > at) {
            self.runs.push(self.times.len());
        }
        let before = self.spent.last().copied().unwrap_or_default();
        if self.spent.is_empty() {
            self.spent.push(0);
        }
        self.spent.push(before.saturating_add(tokens(bytes)));
        self.lines.push(line);
        self.times.push(at);
        self.threads.entry(thread).or_default().push(line);
    }

    /// From rows in any order.
    pub fn of(mut rows: Vec<IntentRow>) -> Self {
        rows.sort_by_key(|row| row.line);
        let mut intents = IntentIndex::default();
        for row in rows {
            intents.push(
                row.thread,
                row.line,
                row.created_at,
                row.bytes.unwrap_or_default(),
            );
        }
        intents
    }

    /// What policy counts in `thread` at the moment of `given`, in a kernel's windows.
    pub fn counts(&self, thread: Uuid, given: Counts, windows: RateWindows) -> Counts {
        let within = |seconds: u64| self.since(given.at.before(seconds), given.as_of);
        let of_thread = self.threads.get(&thread).map_or(&[][..], Vec::as_slice);
        Counts {
            recent: windows.rate.map_or(0, |seconds| within(seconds).0),
            spent: windows.budget.map_or(0, |seconds| within(seconds).1),
            thread: number(of_thread.partition_point(|line| *line < given.as_of)),
            ..given
        }
    }

    /// How many were recorded after a time, before a line; and their tokens.
    fn since(&self, since: Seconds, line: u64) -> (u64, u64) {
        let end = self.lines.partition_point(|known| *known < line);
        let ends = self.runs.iter().copied().skip(1).chain([self.times.len()]);
        let (mut count, mut tokens) = (0u64, 0u64);
        for (from, to) in self.runs.iter().copied().zip(ends) {
            let to = to.min(end);
            let Some(times) = self.times.get(from..to) else {
                break;
            };
            let first = from + times.partition_point(|at| *at <= since);
            let sum = |n: usize| self.spent.get(n).copied().unwrap_or_default();
            count += number(to - first);
            tokens += sum(to).saturating_sub(sum(first));
        }
        (count, tokens)
    }
}

fn number(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(n: u8) -> Uuid {
        Uuid::from_u128(u128::from(n))
    }

    proptest! {
        /// Searching gives what walking over all of them gives, also where the clock was set back.
        #[test]
        fn counting_by_search_is_counting_one_by_one(
            steps in proptest::collection::vec((0u64..3, -2i64..9, 0u64..30, 0u8..3), 0..40),
            as_of in 0u64..90, at in 0i64..200, rate in proptest::option::of(1u64..50), budget in proptest::option::of(1u64..50),
        ) {
            let (mut line, mut time) = (0u64, 60i64);
            let rows: Vec<IntentRow> = steps.iter().map(|(gap, step, bytes, thread)| {
                line += gap + 1;
                time = (time + step * if *step < 0 { 20 } else { 1 }).max(0);
                let created_at = Seconds::new(u64::try_from(time).unwrap()).unwrap();
                IntentRow { thread: id(*thread), line, created_at, bytes: Some(*bytes) }
            }).collect();
            let at = Seconds::new(u64::try_from(at).unwrap()).unwrap();
            let given = Counts { as_of, at, ..Counts::default() };
            let mut shuffled = rows.clone();
            shuffled.reverse();
            let found = IntentIndex::of(shuffled).counts(id(0), given, RateWindows { rate, budget });
            let before: Vec<&IntentRow> = rows.iter().filter(|row| row.line < as_of).collect();
            let within = |seconds: u64| before.iter().filter(move |row| row.created_at > at.before(seconds));
            let expected = Counts {
                recent: rate.map_or(0, |seconds| number(within(seconds).count())),
                spent: budget.map_or(0, |seconds| within(seconds).map(|row| tokens(row.bytes.unwrap_or_default())).sum()),
                thread: number(before.iter().filter(|row| row.thread == id(0)).count()),
                ..given
            };
            prop_assert_eq!(found, expected);
        }
    }
}
