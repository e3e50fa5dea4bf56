//! Where the tables, views, indexes and triggers of a database are not those that this build makes.

use std::fmt;

use super::StoreError;
use super::access::{ReadStore, Store};
use crate::record::unseen::spelled_on_a_line;

/// Tables that hold nothing by themselves: what is in them follows from what is on record, or only
/// helps to work. Each is made again without a row; a rebuild fills those that follow from the record.
const NO_EVIDENCE: [&str; 24] = [
    "auth_failure",
    "block",
    "calendar_state",
    "continuity_item",
    "conversation",
    "council_answer",
    "council_review",
    "handoff",
    "home_file",
    "imported_conversation",
    "imported_fts_vocab",
    "imported_message",
    "placeholder",
    "placeholder_key",
    "project",
    "rating",
    "refinery_schema_history",
    "scrub",
    "setting_state",
    "setting_tag",
    "tombstone_id",
    "tree_mark",
    "turn_fts_vocab",
    "witness_state",
];

/// Whether a table holds nothing by itself.
pub(super) fn holds_no_evidence(table: &str) -> bool {
    NO_EVIDENCE.contains(&table)
}

/// What a difference calls an index of words over texts.
pub const SEARCH_INDEX: &str = "search index";

/// How a part of a schema differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SchemaState {
    /// It is not there.
    Missing,
    /// It is made otherwise.
    Changed,
    /// This build makes none of that name.
    Extra,
    /// It is an index, and its entries are not those of its table.
    Unlike,
    /// It is a search index, and is set otherwise.
    Settings,
    /// It holds what gently does not write, and can't be used.
    Damaged,
}

/// A part of a schema that is not as this build makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaDifference {
    /// `table`, `view`, `index`, `trigger`, or [`SEARCH_INDEX`].
    pub kind: String,
    /// Its name, as somebody may have chosen it.
    pub name: String,
    /// How it differs.
    pub state: SchemaState,
}

impl SchemaDifference {
    /// Whether it can be made again, as it holds nothing by itself. A table that is none of gently's
    /// is somebody's own.
    pub fn is_mendable(&self) -> bool {
        match self.kind.as_str() {
            "table" => holds_no_evidence(&self.name),
            kind => matches!(kind, "view" | "index" | "trigger" | SEARCH_INDEX),
        }
    }

    /// Whether it is a table that is not there, and what was in it can't be made again.
    pub fn is_lost_evidence(&self) -> bool {
        self.kind == "table" && self.state == SchemaState::Missing && !self.is_mendable()
    }
}

impl SchemaDifference {
    /// What a person does about a table that is none of gently's.
    pub fn cure(&self) -> Option<String> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let is_named = self.name.bytes().all(is_plain) && !self.name.is_empty();
        (self.kind == "table" && self.state == SchemaState::Extra && is_named).then(|| {
            format!(
                "look at what is in it; then, in the home: sqlite3 gently.db 'DROP TABLE {}'",
                self.name
            )
        })
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
            SchemaState::Settings => "has other settings than gently gives it",
            SchemaState::Damaged => "is damaged",
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
    /// Makes all that holds no evidence as this build makes it, search indexes and tables without what
    /// was in them, and takes away views, indexes and triggers that this build does not make; tables
    /// of evidence stay as they are. Says what was not as it should be.
    pub fn make_schema_again(&mut self) -> Result<Vec<SchemaDifference>, StoreError> {
        let mut faults = self.schema_faults()?;
        let mut left = faults.clone();
        // What belonged to a table under another name shows once the table is there again.
        while left.iter().any(SchemaDifference::is_mendable) {
            self.transact(&mut |write| write.driver.make_schema_again(&left))?;
            let known = std::mem::replace(&mut left, self.schema_faults()?);
            left.retain(|fault| !known.contains(fault));
            faults.extend(left.iter().cloned());
        }
        Ok(faults)
    }
}
