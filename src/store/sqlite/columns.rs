//! How values stand in columns: hashes as hexadecimal text, times and counts as integers.

use std::cell::Cell;
use std::str::FromStr;

use rusqlite::Row;
use uuid::Uuid;

use crate::record::bitcoin::block::{Anchor, Block};
use crate::record::canon;
use crate::record::hash::Hash32;
use crate::record::ledger::commitment::Salt;
use crate::record::ledger::documents::AuthorityState;
use crate::record::ledger::params::Cost;
use crate::record::time::Seconds;
use crate::store::{ExchangeOutcome, StoreError};

/// A row being read: each getter names the place when the column does not hold what it promises.
pub struct Columns<'a, 'b> {
    row: &'a Row<'b>,
    /// Behind the column that was read last: values are mostly asked for in the order of their
    /// columns.
    next: Cell<usize>,
}

fn corrupt(place: &'static str, expected: &'static str, actual: impl ToString) -> StoreError {
    StoreError::Corrupt {
        place,
        expected,
        actual: actual.to_string(),
    }
}

/// The column that a place names.
fn column_of(place: &'static str) -> &'static str {
    place.rsplit('.').next().unwrap_or(place)
}

impl<'a, 'b> Columns<'a, 'b> {
    /// Of the row that a statement stands at.
    pub fn of(row: &'a Row<'b>) -> Self {
        Columns {
            row,
            next: Cell::new(0),
        }
    }

    /// Where a column stands, if it is there.
    fn find(&self, column: &str) -> Option<usize> {
        let (row, next) = (self.row.as_ref(), self.next.get());
        let is_next = row.column_name(next).is_ok_and(|name| name == column);
        let at = if is_next {
            next
        } else {
            row.column_names().position(|name| name == column)?
        };
        self.next.set(at + 1);
        Some(at)
    }

    fn raw<T: rusqlite::types::FromSql>(
        &self,
        place: &'static str,
        expected: &'static str,
    ) -> Result<T, StoreError> {
        let column = column_of(place);
        let at = self
            .find(column)
            .ok_or_else(|| corrupt(place, expected, format!("no column {column}")))?;
        self.row.get(at).map_err(|e| corrupt(place, expected, e))
    }

    pub fn text(&self, place: &'static str) -> Result<String, StoreError> {
        self.raw(place, "text")
    }

    pub fn text_opt(&self, place: &'static str) -> Result<Option<String>, StoreError> {
        self.raw(place, "text or null")
    }

    pub fn blob(&self, place: &'static str) -> Result<Vec<u8>, StoreError> {
        self.raw(place, "bytes")
    }

    pub fn real(&self, place: &'static str) -> Result<f64, StoreError> {
        self.raw(place, "a number")
    }

    pub fn flag(&self, place: &'static str) -> Result<bool, StoreError> {
        self.raw(place, "0 or 1")
    }

    pub fn flag_opt(&self, place: &'static str) -> Result<Option<bool>, StoreError> {
        self.raw(place, "0, 1 or null")
    }

    pub fn count(&self, place: &'static str) -> Result<u64, StoreError> {
        self.count_opt(place)?
            .ok_or_else(|| corrupt(place, "a count", "null"))
    }

    pub fn count_opt(&self, place: &'static str) -> Result<Option<u64>, StoreError> {
        let value: Option<i64> = self.raw(place, "an integer or null")?;
        value
            .map(|v| u64::try_from(v).map_err(|_| corrupt(place, "a count", v)))
            .transpose()
    }

    pub fn time(&self, place: &'static str) -> Result<Seconds, StoreError> {
        self.time_opt(place)?
            .ok_or_else(|| corrupt(place, "a time", "null"))
    }

    pub fn time_opt(&self, place: &'static str) -> Result<Option<Seconds>, StoreError> {
        self.count_opt(place)?
            .map(|v| Seconds::new(v).map_err(|e| corrupt(place, "a time", e)))
            .transpose()
    }

    pub fn parsed<T: FromStr>(
        &self,
        place: &'static str,
        expected: &'static str,
    ) -> Result<T, StoreError> {
        self.parsed_opt(place, expected)?
            .ok_or_else(|| corrupt(place, expected, "null"))
    }

    pub fn parsed_opt<T: FromStr>(
        &self,
        place: &'static str,
        expected: &'static str,
    ) -> Result<Option<T>, StoreError> {
        let text = self.text_opt(place)?;
        text.map(|t| t.parse().map_err(|_| corrupt(place, expected, t)))
            .transpose()
    }

    pub fn hash(&self, place: &'static str) -> Result<Hash32, StoreError> {
        self.parsed(place, "a hash")
    }

    pub fn hash_opt(&self, place: &'static str) -> Result<Option<Hash32>, StoreError> {
        self.parsed_opt(place, "a hash")
    }

    pub fn uuid(&self, place: &'static str) -> Result<Uuid, StoreError> {
        self.parsed(place, "a UUID")
    }

    pub fn uuid_opt(&self, place: &'static str) -> Result<Option<Uuid>, StoreError> {
        self.parsed_opt(place, "a UUID")
    }

    pub fn salt_opt(&self, place: &'static str) -> Result<Option<Salt>, StoreError> {
        let bytes: Option<Vec<u8>> = self.raw(place, "32 bytes or null")?;
        let salt = |b: Vec<u8>| {
            <[u8; 32]>::try_from(b)
                .map_err(|b| corrupt(place, "32 bytes", format!("{} bytes", b.len())))
        };
        Ok(bytes.map(salt).transpose()?.map(Salt::new))
    }

    pub fn anchor(&self, block: &'static str, header: &'static str) -> Result<Anchor, StoreError> {
        let text = self.text(block)?;
        let block: Block =
            canon::parse(text.as_bytes()).map_err(|e| corrupt(block, "a block document", e))?;
        Ok(Anchor {
            block,
            header: self.parsed_opt(header, "a block header")?,
        })
    }

    /// Amount and currency, both or neither.
    pub fn cost_opt(
        &self,
        micro: &'static str,
        currency: &'static str,
    ) -> Result<Option<Cost>, StoreError> {
        match (self.count_opt(micro)?, self.text_opt(currency)?) {
            (Some(micro), Some(currency)) => Ok(Some(Cost { currency, micro })),
            (None, None) => Ok(None),
            (_, found) => {
                let found = found.unwrap_or_else(|| "null".to_owned());
                Err(corrupt(
                    currency,
                    "a currency with every cost, and none without",
                    found,
                ))
            }
        }
    }

    pub fn authority(&self, place: &'static str) -> Result<AuthorityState, StoreError> {
        let text = self.text(place)?;
        [
            AuthorityState::Ok,
            AuthorityState::Insufficient,
            AuthorityState::Blocked,
        ]
        .into_iter()
        .find(|state| state.name() == text)
        .ok_or_else(|| corrupt(place, "ok, insufficient or blocked", text))
    }

    /// True for the user, false for aurora.
    pub fn speaker(&self, place: &'static str) -> Result<bool, StoreError> {
        match self.text(place)?.as_str() {
            "user" => Ok(true),
            "aurora" => Ok(false),
            other => Err(corrupt(place, "user or aurora", other)),
        }
    }

    /// A column that holds nothing: its text is stored once, elsewhere.
    pub fn null(&self, place: &'static str) -> Result<(), StoreError> {
        self.text_opt(place)?
            .map_or(Ok(()), |actual| Err(corrupt(place, "null", actual)))
    }

    pub fn outcome_opt(&self, place: &'static str) -> Result<Option<ExchangeOutcome>, StoreError> {
        let Some(text) = self.text_opt(place)? else {
            return Ok(None);
        };
        [
            ExchangeOutcome::Answered,
            ExchangeOutcome::Failed,
            ExchangeOutcome::Denied,
        ]
        .into_iter()
        .find(|outcome| outcome.name() == text)
        .map(Some)
        .ok_or_else(|| corrupt(place, "answered, failed or denied", text))
    }
}

/// An unsigned count as SQLite stores it.
pub fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
