//! HASH of every line, without keeping all of them: the chain gives what is between two of them.

use crate::ledger::read::Repository;
use crate::record::hash::Hash32;
use crate::record::log::chain::line_hash;

use super::records::Records;

/// Every so many lines one is kept.
const EVERY: u64 = 64;
/// So many lines are read and compared together; whole steps from one kept line to the next.
pub(crate) const PORTION: u64 = 8 * EVERY;

/// HASH of every 64th line, of the last, and of those that stand in no segment yet: half a byte a
/// line.
#[derive(Clone, Default)]
pub(crate) struct LineIndex {
    every: Vec<Hash32>,
    /// Of lines behind the segments, from number `tail_from` on, counted from 0.
    tail: Vec<Hash32>,
    tail_from: u64,
    count: u64,
    last: Option<Hash32>,
}

impl LineIndex {
    /// Takes HASH of the next line.
    pub fn keep(&mut self, hash: Hash32, in_segment: bool) {
        self.count += 1;
        self.last = Some(hash);
        if self.count.is_multiple_of(EVERY) {
            self.every.push(hash);
        }
        if in_segment {
            self.tail.clear();
            self.tail_from = self.count;
        } else {
            self.tail.push(hash);
        }
    }

    /// HASH of the last of so many lines, if it is one of those that are kept; that of the genesis
    /// line's before for 0.
    fn after(&self, lines: u64) -> Option<Hash32> {
        if lines == 0 {
            return Some(Hash32::GENESIS);
        }
        if lines == self.count {
            return self.last;
        }
        let kept = usize::try_from(lines / EVERY)
            .ok()
            .and_then(|at| self.every.get(at.checked_sub(1)?))
            .copied();
        kept.filter(|_| lines.is_multiple_of(EVERY))
    }

    /// HASH of a line counted from 0, with the segment it stands in read again.
    fn of(
        &self,
        n: u64,
        records: &Records,
        repository: &Repository,
        read: &mut ReadSegment,
    ) -> Option<Hash32> {
        match n.checked_sub(self.tail_from) {
            Some(at) => usize::try_from(at)
                .ok()
                .and_then(|at| self.tail.get(at))
                .copied(),
            None => read.line(n + 1, records, repository),
        }
    }
}

/// HASH of each line of the segment that was read last.
#[derive(Default)]
pub(crate) struct ReadSegment {
    first: u64,
    hashes: Vec<Option<Hash32>>,
}

impl ReadSegment {
    fn line(&mut self, number: u64, records: &Records, repository: &Repository) -> Option<Hash32> {
        let at = |first: u64| {
            number
                .checked_sub(first)
                .and_then(|at| usize::try_from(at).ok())
        };
        if at(self.first).and_then(|at| self.hashes.get(at)).is_none() {
            let (first, bytes) = records.segment_of(number, repository)?;
            let lines = bytes.split(|byte| *byte == b'\n');
            *self = ReadSegment {
                first,
                hashes: lines.map(digits).collect(),
            };
        }
        self.hashes.get(at(self.first)?).copied().flatten()
    }
}

/// The digits that a line begins with.
fn digits(line: &[u8]) -> Option<Hash32> {
    std::str::from_utf8(line.get(..64)?).ok()?.parse().ok()
}

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
        line_index: &LineIndex,
        records: &Records,
        repository: &Repository,
    ) -> Vec<(u64, Option<Hash32>)> {
        let mut wrong = Vec::new();
        let mut at = from;
        for rows in rows.chunks(usize::try_from(EVERY).unwrap_or(1)) {
            let end = at + u64::try_from(rows.len()).unwrap_or(u64::MAX);
            let ends = (line_index.after(at), line_index.after(end));
            if !matches!(ends, (Some(begin), Some(end)) if chained(begin, rows) == Some(end)) {
                self.one_by_one((at, rows), line_index, records, repository, &mut wrong);
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
        line_index: &LineIndex,
        records: &Records,
        repository: &Repository,
        wrong: &mut Vec<(u64, Option<Hash32>)>,
    ) {
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
