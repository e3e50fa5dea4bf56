//! Where the tables, views, indexes and triggers of a database are not those that this build makes.

use std::fmt;

use super::StoreError;
use super::access::{ReadStore, Store};
use crate::record::unseen::spelled_on_a_line;

/// How a part of a schema differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaState {
    /// It is not there.
    Missing,
    /// It is made otherwise.
    Changed,
    /// This build makes none of that name.
    Extra,
    /// It is an index, and its entries are not those of its table.
    Unlike,
}

/// A part of a schema that is not as this build makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaDifference {
    /// `table`, `view`, `index` or `trigger`.
    pub kind: String,
    /// Its name, as somebody may have chosen it.
    pub name: String,
    /// How it differs.
    pub state: SchemaState,
}

impl SchemaDifference {
    /// Whether it can be made again, as it holds nothing by itself.
    pub fn is_mendable(&self) -> bool {
        matches!(self.kind.as_str(), "view" | "index" | "trigger")
    }
}

/// As a sentence says it: `trigger chat_turn_stays is missing`.
impl fmt::Display for SchemaDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.state {
            SchemaState::Missing => "is missing",
            SchemaState::Changed => "is another",
            SchemaState::Extra => "is none of gently's",
            SchemaState::Unlike => "does not hold what its table does",
        };
        let (kind, name) = (&self.kind, spelled_on_a_line(&self.name));
        write!(f, "{} {name} {how}", spelled_on_a_line(kind))
    }
}

impl ReadStore {
    /// What of the schema is not as this build makes it, by kind and name.
    pub fn schema_faults(&self) -> Result<Vec<SchemaDifference>, StoreError> {
        self.driver.schema_faults()
    }
}

impl Store {
    /// Makes views, indexes and triggers as this build makes them, and takes away those that it does
    /// not; tables stay as they are. Says what was not as it should be.
    pub fn make_schema_again(&mut self) -> Result<Vec<SchemaDifference>, StoreError> {
        let faults = self.schema_faults()?;
        if faults.iter().any(SchemaDifference::is_mendable) {
            self.transact(&mut |write| write.driver.make_schema_again(&faults))?;
        }
        Ok(faults)
    }
}
