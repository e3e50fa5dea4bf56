//! Whole seconds since the Unix epoch, in UTC.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use chrono::DateTime;
use chrono::format::{Item, Numeric, Pad, Parsed, parse};
use serde::{Deserialize, Serialize};

/// A moment in whole seconds since 1970-01-01T00:00:00Z (format, notation).
///
/// An integer in JSON and in commits, `2025-12-31T04:25:37Z` in the log. Range: 0 to the end of
/// year 9999, so that both spellings have a fixed form.
#[derive(
    Default, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(try_from = "u64", into = "u64")]
pub struct Seconds(u64);

/// Why a value is not a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// Past year 9999.
    #[error("time {actual} is past the year 9999 ({max})")]
    Range {
        /// Seconds of the Unix epoch that were given.
        actual: u64,
        /// Largest number of seconds that is allowed.
        max: u64,
    },
    /// Not `YYYY-MM-DDTHH:MM:SSZ`, or not a day of the calendar.
    #[error("'{actual}' is not a time of the form 2025-12-31T04:25:37Z")]
    Form {
        /// What was found.
        actual: String,
    },
}

/// `%Y-%m-%dT%H:%M:%SZ`, taken apart once: a check of a whole ledger reads and prints millions of
/// times.
const LOG_FORM: [Item<'static>; 12] = [
    Item::Numeric(Numeric::Year, Pad::Zero),
    Item::Literal("-"),
    Item::Numeric(Numeric::Month, Pad::Zero),
    Item::Literal("-"),
    Item::Numeric(Numeric::Day, Pad::Zero),
    Item::Literal("T"),
    Item::Numeric(Numeric::Hour, Pad::Zero),
    Item::Literal(":"),
    Item::Numeric(Numeric::Minute, Pad::Zero),
    Item::Literal(":"),
    Item::Numeric(Numeric::Second, Pad::Zero),
    Item::Literal("Z"),
];

/// The whole milliseconds of a length of time; what is longer than can be counted is the longest.
pub fn whole_millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

impl Seconds {
    /// The last second that a log line can name: 9999-12-31T23:59:59Z.
    pub const MAX: Seconds = Seconds(253_402_300_799);
    /// The beginning of the Unix epoch: 1970-01-01T00:00:00Z.
    pub const ZERO: Seconds = Seconds(0);

    /// Checks the range.
    pub fn new(seconds: u64) -> Result<Self, TimeError> {
        if seconds > Self::MAX.0 {
            return Err(TimeError::Range {
                actual: seconds,
                max: Self::MAX.0,
            });
        }
        Ok(Seconds(seconds))
    }

    /// The number of seconds.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number of seconds as git and SQLite take it.
    pub fn as_i64(self) -> i64 {
        i64::try_from(self.0).expect("MAX fits i64")
    }

    /// So many seconds earlier; the epoch when that would be before it.
    pub fn before(self, seconds: u64) -> Seconds {
        Seconds(self.0.saturating_sub(seconds))
    }

    /// Seconds from `earlier` to `self`; zero when `earlier` is later.
    pub fn since(self, earlier: Seconds) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl TryFrom<u64> for Seconds {
    type Error = TimeError;
    fn try_from(seconds: u64) -> Result<Self, TimeError> {
        Seconds::new(seconds)
    }
}

impl From<Seconds> for u64 {
    fn from(time: Seconds) -> u64 {
        time.0
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let utc = DateTime::from_timestamp(self.as_i64(), 0).expect("MAX is a valid timestamp");
        write!(f, "{}", utc.format_with_items(LOG_FORM.iter()))
    }
}

impl FromStr for Seconds {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        let form = || TimeError::Form {
            actual: text.to_owned(),
        };
        let mut parsed = Parsed::new();
        parse(&mut parsed, text, LOG_FORM.iter()).map_err(|_| form())?;
        let naive = parsed
            .to_naive_datetime_with_offset(0)
            .map_err(|_| form())?;
        let seconds = u64::try_from(naive.and_utc().timestamp()).map_err(|_| form())?;
        let time = Seconds::new(seconds)?;
        if time.to_string() == text {
            Ok(time)
        } else {
            Err(form())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_only_what_it_prints() {
        let time: Seconds = "2025-12-31T04:25:37Z".parse().unwrap();
        assert_eq!(time.get(), 1_767_155_137);
        assert_eq!(time.to_string(), "2025-12-31T04:25:37Z");
        for wrong in [
            "2025-12-31T04:25:37",
            "2025-12-31T04:25:37+00:00",
            "2025-12-31 04:25:37Z",
            "2025-02-29T04:25:37Z",
            "2025-12-31T24:00:00Z",
            "2025-12-31T04:25:60Z",
            "2025-12-31T4:25:37Z",
            "1969-12-31T23:59:59Z",
            "+2025-12-31T04:25:37Z",
            "2025-12-31t04:25:37z",
            "",
            "10000-01-01T00:00:00Z",
            " 2025-12-31T04:25:37Z",
        ] {
            assert!(wrong.parse::<Seconds>().is_err(), "{wrong}");
        }
        assert!(Seconds::new(253_402_300_800).is_err());
    }
}
