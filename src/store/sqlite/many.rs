//! Several rows by one statement: looked up, begun and ended once for all of them.

use rusqlite::{CachedStatement, ToSql};

use super::{Tx, failed};
use crate::store::StoreError;

/// Rows of one statement. With more, there would be more different statements to keep compiled, for
/// little.
const MOST: usize = 16;

/// Where the values of a row go, one after the other.
pub(super) struct Values<'a, 'b> {
    statement: &'a mut CachedStatement<'b>,
    at: usize,
}

impl Values<'_, '_> {
    /// The next value.
    pub fn put(&mut self, value: impl ToSql) -> rusqlite::Result<()> {
        self.at += 1;
        self.statement.raw_bind_parameter(self.at, value)
    }
}

impl Tx<'_> {
    /// Adds rows; `into` is the statement up to its `VALUES`, `bind` puts as many values as there
    /// are columns.
    pub(super) fn add_all<R>(
        &self,
        what: &'static str,
        (into, columns): (&str, usize),
        rows: &[R],
        bind: impl Fn(&R, &mut Values<'_, '_>) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        let one = format!("({})", vec!["?"; columns].join(","));
        for rows in rows.chunks(MOST) {
            let sql = format!("{into} VALUES {}", vec![one.as_str(); rows.len()].join(","));
            let mut statement = self.0.prepare_cached(&sql).map_err(failed(what))?;
            let mut values = Values {
                statement: &mut statement,
                at: 0,
            };
            rows.iter()
                .try_for_each(|row| bind(row, &mut values))
                .map_err(failed(what))?;
            statement.raw_execute().map_err(failed(what))?;
        }
        Ok(())
    }
}
