//! The stored lines of the database against the log's.

use crate::ledger::read::Repository;
use crate::record::hash::Hash32;
use crate::record::log::chain::line_hash;
use crate::verify::log::line_index::{EVERY, ReadSegment, digits};
use crate::verify::log::lines::Lines;

/// So many lines are read and compared together; whole steps from one kept line to the next.
pub(crate) const PORTION: u64 = 8 * EVERY;

/// Rows of stored lines against the log's, in the order of their numbers.
#[derive(Default)]
pub(crate) struct RowComparison {
    read: ReadSegment,
    /// Which are not as in the log, a bit each.
    unlike: Vec<u64>,
    /// Up to this line they were compared.
    count: u64,
}

impl RowComparison {
    /// Compares the rows from number `from` on, which is a multiple of [`PORTION`]; returns the
    /// numbers of those that are not the log's lines, with HASH of the line that belongs there.
    pub fn take(
        &mut self,
        (from, rows): (u64, &[String]),
        lines: &Lines,
        repository: &Repository,
    ) -> Vec<(u64, Option<Hash32>)> {
        let mut wrong = Vec::new();
        let mut at = from;
        for rows in rows.chunks(usize::try_from(EVERY).unwrap_or(1)) {
            let end = at + u64::try_from(rows.len()).unwrap_or(u64::MAX);
            let ends = (lines.line_index.after(at), lines.line_index.after(end));
            if !matches!(ends, (Some(begin), Some(end)) if chained(begin, rows) == Some(end)) {
                self.one_by_one((at, rows), lines, repository, &mut wrong);
            }
            at = end;
        }
        self.count = at;
        for (n, _) in &wrong {
            let word = usize::try_from(n / 64).unwrap_or(usize::MAX);
            self.unlike.resize(self.unlike.len().max(word + 1), 0);
            self.unlike[word] |= 1 << (n % 64);
        }
        wrong
    }

    fn one_by_one(
        &mut self,
        (from, rows): (u64, &[String]),
        lines: &Lines,
        repository: &Repository,
        wrong: &mut Vec<(u64, Option<Hash32>)>,
    ) {
        let (line_index, records) = (&lines.line_index, &lines.records);
        let mut hash_of = |n| line_index.of(n, records, repository, &mut self.read);
        let mut prev = if from == 0 {
            Some(Hash32::GENESIS)
        } else {
            hash_of(from - 1)
        };
        for (n, row) in (from..).zip(rows) {
            let hash = hash_of(n);
            if hash.is_none()
                || prev.and_then(|prev| chained(prev, std::slice::from_ref(row))) != hash
            {
                wrong.push((n, hash));
            }
            prev = hash;
        }
    }

    /// Whether the row of a line was compared, and is the log's.
    pub fn is_same(&self, n: u64) -> bool {
        let word = usize::try_from(n / 64)
            .ok()
            .and_then(|at| self.unlike.get(at))
            .copied()
            .unwrap_or_default();
        n < self.count && word >> (n % 64) & 1 == 0
    }
}

/// HASH of the last of some lines that follow each other from HASH `prev` on; none when they don't.
fn chained(prev: Hash32, rows: &[String]) -> Option<Hash32> {
    rows.iter().try_fold(prev, |prev, row| {
        let (spelled, rest) = row.split_once('|')?;
        let hash = line_hash(prev, rest.as_bytes());
        (digits(spelled.as_bytes()) == Some(hash) && spelled.len() == 64).then_some(hash)
    })
}
