//! What tombstones on record say is erased: whatever a database holds of it, it counts as gone. One
//! rule for what is derived and for the audit.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::item;

/// The kind of the artifact that says what was erased.
pub const TOMBSTONE: &str = "tombstone";

/// What a tombstone says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tombstone {
    /// Exchanges whose compiled prompt is gone; a tombstone of what was lost with a database has no
    /// such list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contexts: Option<Vec<String>>,
    /// Exchanges and artifacts that are gone.
    pub ids: Vec<String>,
    /// Why the texts are erased, as the person gave it.
    pub reason: String,
}

impl Tombstone {
    /// Reads the canonical JSON of an artifact's document; none where it is no tombstone's.
    pub fn read(document: Option<&str>) -> Option<Tombstone> {
        serde_json::from_value(item::content(document)?).ok()
    }
}

/// What tombstones of erasings name.
#[derive(Clone, Debug, Default)]
pub struct ErasedOnRecord(HashMap<String, u64>);

impl ErasedOnRecord {
    /// Takes an artifact; `document` is its canonical JSON. A tombstone of what was lost with a
    /// database names no `contexts`: of an id that it names, earlier texts may be there.
    pub fn take(&mut self, line: u64, kind: &str, document: Option<&str>) {
        let tombstone = Tombstone::read(document.filter(|_| kind == TOMBSTONE));
        let Some(tombstone) = tombstone.filter(|tombstone| tombstone.contexts.is_some()) else {
            return;
        };
        for id in tombstone.ids {
            let newest = self.0.entry(id).or_default();
            *newest = line.max(*newest);
        }
    }

    /// Whether what was recorded of an exchange or an artifact with a line was erased after it.
    pub fn has(&self, id: &str, line: u64) -> bool {
        self.0.get(id).is_some_and(|newest| line < *newest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_before_its_tombstone_is_gone() {
        let mut erased = ErasedOnRecord::default();
        let said = r#"{"content":{"contexts":[],"ids":["note:000001"],"reason":""}}"#;
        erased.take(7, TOMBSTONE, Some(said));
        erased.take(3, TOMBSTONE, Some(said));
        erased.take(9, "note", Some(said));
        let lost = r#"{"content":{"ids":["note:000002"],"reason":"lost_with_the_database"}}"#;
        erased.take(9, TOMBSTONE, Some(lost));
        assert!(erased.has("note:000001", 6));
        assert!(!erased.has("note:000001", 7), "it was recorded again");
        assert!(!erased.has("note:000002", 1), "its text was not erased");
    }
}
