//! Rows of the database in order, some hundred at a time; the first that is missing or unreadable
//! has its number.

use std::vec::IntoIter;

use crate::store::StoreError;

/// How many rows are read at a time: a megabyte of commits with their files at most.
const CHUNK: u64 = 512;

/// Why a row can't be used.
#[derive(Debug)]
pub enum RowFault {
    /// It is not there.
    Missing,
    /// It does not hold what its columns promise.
    Corrupt(String),
    /// The database can't be read.
    Store(StoreError),
}

/// Rows `0..to`; stops at the first fault.
pub struct LineRows<F, T> {
    fetch: F,
    next: u64,
    to: u64,
    chunk: u64,
    held: IntoIter<T>,
}

impl<T, F: Fn(u64, u64) -> Result<Vec<T>, StoreError>> LineRows<F, T> {
    /// Reads with `fetch(from, to)`, which leaves out what is missing.
    pub fn new(to: u64, fetch: F) -> Self {
        LineRows {
            fetch,
            next: 0,
            to,
            chunk: CHUNK,
            held: Vec::new().into_iter(),
        }
    }

    /// Fills the chunk; a faulty one is read again row by row, so that the faulty row is known.
    fn fill(&mut self) -> Result<(), RowFault> {
        loop {
            let to = self.next.saturating_add(self.chunk).min(self.to);
            let wanted = to - self.next;
            match (self.fetch)(self.next, to) {
                Ok(rows) if u64::try_from(rows.len()) == Ok(wanted) => {
                    self.held = rows.into_iter();
                    return Ok(());
                }
                Ok(_) | Err(StoreError::Corrupt { .. }) if wanted > 1 => self.chunk = 1,
                Ok(_) => return Err(RowFault::Missing),
                Err(e @ StoreError::Corrupt { .. }) => {
                    return Err(RowFault::Corrupt(e.to_string()));
                }
                Err(e) => return Err(RowFault::Store(e)),
            }
        }
    }
}

impl<T, F: Fn(u64, u64) -> Result<Vec<T>, StoreError>> Iterator for LineRows<F, T> {
    type Item = Result<T, RowFault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.to {
            return None;
        }
        if self.held.len() == 0
            && let Err(fault) = self.fill()
        {
            self.next = self.to;
            return Some(Err(fault));
        }
        self.next += 1;
        self.held.next().map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corrupt() -> StoreError {
        StoreError::Corrupt {
            place: "t.c".to_owned(),
            expected: "x".to_owned(),
            actual: "y".to_owned(),
        }
    }

    /// How many rows come before the fault, and what it is.
    fn walk(to: u64, bad: u64, gone: bool) -> (u64, Option<bool>) {
        let rows = LineRows::new(to, |from, to| {
            if (from..to).contains(&bad) && !gone {
                return Err(corrupt());
            }
            Ok((from..to).filter(|n| *n != bad).collect())
        });
        let mut seen = 0;
        for row in rows {
            match row {
                Ok(n) => {
                    assert_eq!(n, seen);
                    seen += 1;
                }
                Err(RowFault::Missing) => return (seen, Some(true)),
                Err(RowFault::Corrupt(_)) => return (seen, Some(false)),
                Err(RowFault::Store(e)) => panic!("{e}"),
            }
        }
        (seen, None)
    }

    #[test]
    fn the_faulty_row_is_known() {
        for to in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK] {
            assert_eq!(walk(to, u64::MAX, true), (to, None));
            for bad in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK - 1]
                .into_iter()
                .filter(|bad| *bad < to)
            {
                assert_eq!(walk(to, bad, true), (bad, Some(true)), "{to}");
                assert_eq!(walk(to, bad, false), (bad, Some(false)), "{to}");
            }
        }
    }
}
