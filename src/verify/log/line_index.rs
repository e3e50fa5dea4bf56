//! HASH of every line, without keeping all of them: the chain gives what is between two of them.

use crate::ledger::read::Repository;
use crate::record::hash::Hash32;

use super::records::Records;

/// Every so many lines one is kept.
pub(crate) const EVERY: u64 = 64;

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
    pub fn after(&self, lines: u64) -> Option<Hash32> {
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
    pub fn of(
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
pub(crate) fn digits(line: &[u8]) -> Option<Hash32> {
    std::str::from_utf8(line.get(..64)?).ok()?.parse().ok()
}
