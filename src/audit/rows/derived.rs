//! Rows that follow from other rows: each is what those give, and told column by column where it is
//! not.

use std::collections::BTreeMap;
use std::fmt::Display;

use super::database::RowCheck;

/// The columns of a derived row beside its key, each in the words of a finding.
pub(super) trait DerivedFields {
    /// Names of the columns, with what they hold.
    fn fields(&self) -> Vec<(&'static str, String)>;
}

/// A value that may be missing, in the words of a finding.
pub(super) fn column<T: Display>(value: Option<T>) -> String {
    value.map_or("none".to_owned(), |value| value.to_string())
}

impl RowCheck<'_> {
    /// The rows of a table are those expected; they hold no text but an item's subject.
    pub(super) fn compare_derived<K: Ord + Display, R: DerivedFields + PartialEq>(
        &mut self,
        table: &str,
        mut expected: BTreeMap<K, R>,
        found: Vec<(K, R)>,
    ) {
        for (key, row) in found {
            let place = format!("{table} {key}");
            match expected.remove(&key) {
                Some(known) if known == row => {}
                Some(known) => {
                    for ((name, known), (_, found)) in known.fields().into_iter().zip(row.fields())
                    {
                        self.cell(None, &place, name, known, found);
                    }
                }
                None => self.fault(None, place, "no row: nothing on record gives one", "one"),
            }
        }
        for (key, _) in expected {
            let place = format!("{table} {key}");
            self.fault(None, place, "a row, as what is on record gives it", "none");
        }
    }
}
