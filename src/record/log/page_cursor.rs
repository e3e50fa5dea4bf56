//! A place in a list that goes along the log: where the next page of it begins.
//!
//! ```text
//! 1767155137.42      seconds since the epoch of a line, and its number, from 1
//! ```
//! Lines are only ever added, so a place stays right while others write, and no two things of one
//! second are taken for one. The time is there to see that the place is one of this log.

use std::fmt;
use std::str::FromStr;

use crate::record::time::Seconds;

/// A line of the log with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageCursor {
    /// Number of the line, from 0.
    pub line: u64,
    /// Time of the line.
    pub time: Seconds,
}

/// A text that is no place in a list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{}' is no place in a list: expected what a list printed as its next page, such as 1767155137.42",
    .actual.escape_debug()
)]
pub struct NoPageCursor {
    /// What was found.
    pub actual: String,
}

impl fmt::Display for PageCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.time.get(), self.line.saturating_add(1))
    }
}

impl FromStr for PageCursor {
    type Err = NoPageCursor;

    /// Takes only what [`PageCursor`] prints: one place has one spelling.
    fn from_str(text: &str) -> Result<PageCursor, NoPageCursor> {
        let read = || {
            let (time, line) = text.split_once('.')?;
            let number: u64 = line.parse().ok()?;
            let cursor = PageCursor {
                line: number.checked_sub(1)?,
                time: Seconds::new(time.parse().ok()?).ok()?,
            };
            (cursor.to_string() == text).then_some(cursor)
        };
        read().ok_or_else(|| NoPageCursor {
            actual: text.chars().take(MOST_SHOWN).collect(),
        })
    }
}

/// So much of a foreign text an error repeats.
const MOST_SHOWN: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_is_printed_and_not_otherwise() {
        let cursor = PageCursor {
            line: 41,
            time: Seconds::new(1_767_155_137).unwrap(),
        };
        assert_eq!(cursor.to_string(), "1767155137.42");
        assert_eq!("1767155137.42".parse(), Ok(cursor));
        for wrong in [
            "",
            ".",
            "1767155137",
            "1767155137.",
            ".42",
            "1767155137.0",
            "1767155137.042",
            "+1767155137.42",
            "1767155137.+42",
            "01767155137.42",
            "1767155137.42 ",
            "1767155137.42.1",
            "1767155137,42",
            "-1.42",
            "253402300800.1",
            "1767155137.99999999999999999999",
            "2025-12-31T04:25:37Z.42",
        ] {
            assert!(wrong.parse::<PageCursor>().is_err(), "{wrong}");
        }
    }
}
