//! Numbers of secrets within a session, texts that are not kept, and what the search indexes hold.

use std::ops::Deref;

use rusqlite::{Connection, params};
use uuid::Uuid;

use super::columns::Columns;
use super::erase::TO_SCRUB;
use super::{Handle, Tx};
use crate::store::{PlaceholderRow, PlaceholderRows, StoreError};

/// By the index over what an intent quotes.
pub(super) const ACTIONS_OF: &str =
    "SELECT * FROM artifact WHERE kind = 'action' AND document IS NOT NULL
   AND json_extract(document, '$.content.exchange') = ?1 ORDER BY line";

/// Searchable texts of items that have no entry; entries that no text belongs to; and both of
/// turns. An entry is found by its number alone: which words it has is not compared.
const FAULTS: [(&str, &str); 4] = [
    (
        "the search index of items has no entry for the text of artifact line",
        "SELECT line AS n FROM continuity_text
       WHERE NOT EXISTS (SELECT 1 FROM continuity_fts_docsize WHERE id = line) LIMIT ?1",
    ),
    (
        "the search index of items has an entry without a text, for artifact line",
        "SELECT id AS n
       FROM continuity_fts_docsize WHERE NOT EXISTS (SELECT 1 FROM continuity_text WHERE line = id) LIMIT ?1",
    ),
    (
        "the search index of turns has no entry for the text of turn number",
        "SELECT n FROM turn_text
       WHERE NOT EXISTS (SELECT 1 FROM turn_fts_docsize WHERE id = n) LIMIT ?1",
    ),
    (
        "the search index of turns has an entry without a text, for turn number",
        "SELECT id AS n FROM turn_fts_docsize
       WHERE NOT EXISTS (SELECT 1 FROM turn_text WHERE n = id) LIMIT ?1",
    ),
];

fn bytes(c: &Columns<'_, '_>, place: &'static str) -> Result<Option<[u8; 32]>, StoreError> {
    Ok(c.salt_opt(place)?.map(|salt| *salt.as_bytes()))
}

impl<C: Deref<Target = Connection>> Handle<C> {
    pub(super) fn placeholder_rows(&self, session: Uuid) -> Result<PlaceholderRows, StoreError> {
        let what = "read the numbers of secrets";
        let sql = "SELECT key FROM placeholder_key WHERE session_id = ?1";
        let key = self
            .one(what, sql, [session.to_string()], |c| {
                bytes(c, "placeholder_key.key")
            })?
            .flatten();
        let sql =
            "SELECT kind, number, tag FROM placeholder WHERE session_id = ?1 ORDER BY kind, number";
        let given = self.list(what, sql, [session.to_string()], |c| {
            let number = c.count("placeholder.number")?;
            let number = u32::try_from(number).map_err(|_| StoreError::Corrupt {
                place: "placeholder.number",
                expected: "a number of a placeholder",
                actual: number.to_string(),
            })?;
            Ok(PlaceholderRow {
                kind: c.text("placeholder.kind")?,
                number,
                tag: bytes(c, "placeholder.tag")?,
            })
        })?;
        Ok(PlaceholderRows { key, given })
    }

    pub(super) fn unkept_artifacts(&self, kind: &str) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) AS n FROM artifact a WHERE a.kind = ?1 AND a.document IS NULL
                     AND NOT EXISTS (SELECT 1 FROM tombstone_id t WHERE t.id = a.id)";
        Ok(self
            .one("count what is not kept", sql, [kind], |c| {
                c.count("artifact.n")
            })?
            .unwrap_or_default())
    }

    /// Entries of both search indexes.
    pub(super) fn search_entries(&self) -> Result<u64, StoreError> {
        let sql = "SELECT (SELECT count(*) FROM continuity_fts_docsize) + (SELECT count(*) FROM turn_fts_docsize) AS n";
        let entries = self.one("count what can be searched", sql, [], |c| c.count("fts.n"))?;
        Ok(entries.unwrap_or_default())
    }

    pub(super) fn faults_of_search(&self, most: u32) -> Result<Vec<String>, StoreError> {
        let what = "compare the search indexes";
        let mut faults = Vec::new();
        for (said, sql) in FAULTS {
            faults.extend(self.list(what, sql, [most], |c| {
                Ok(format!("{said} {}", c.count("fts.n")?))
            })?);
        }
        faults.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        Ok(faults)
    }
}

/// Gives numbers, unless another turn was first.
pub(super) fn put(
    tx: &Tx<'_>,
    session: Uuid,
    key: &[u8; 32],
    new: &[PlaceholderRow],
) -> Result<bool, StoreError> {
    if new.is_empty() {
        return Ok(true);
    }
    let known = tx.placeholder_rows(session)?;
    let taken = |row: &PlaceholderRow| {
        let same = |other: &PlaceholderRow| other.kind == row.kind && other.number == row.number;
        known
            .given
            .iter()
            .any(|other| same(other) || (row.tag.is_some() && other.tag == row.tag))
    };
    if known.key.is_some_and(|other| other != *key) || new.iter().any(taken) {
        return Ok(false);
    }
    let (what, id) = ("give a secret its number", session.to_string());
    if known.key.is_none() {
        tx.change(
            what,
            "INSERT INTO placeholder_key VALUES (?1, ?2)",
            params![id, key],
        )?;
    }
    for row in new {
        let sql = "INSERT INTO placeholder (session_id, kind, number, tag) VALUES (?1, ?2, ?3, ?4)";
        tx.change(what, sql, params![id, row.kind, row.number, row.tag])?;
    }
    Ok(true)
}

/// Forgets key, tags and numbers of a session.
pub(super) fn forget(tx: &Tx<'_>, session: Uuid) -> Result<bool, StoreError> {
    let (what, id) = ("forget the numbers of secrets", session.to_string());
    let mut gone = tx.change(what, "DELETE FROM placeholder WHERE session_id = ?1", [&id])?;
    gone += tx.change(
        what,
        "DELETE FROM placeholder_key WHERE session_id = ?1",
        [&id],
    )?;
    if gone > 0 {
        tx.change(what, TO_SCRUB, [])?;
    }
    Ok(gone > 0)
}

/// Forgets key and tags of a session; its numbers stay taken.
pub(super) fn forget_tags(tx: &Tx<'_>, session: Uuid) -> Result<(), StoreError> {
    let (what, id) = ("forget which secrets have numbers", session.to_string());
    tx.change(
        what,
        "UPDATE placeholder SET tag = NULL WHERE session_id = ?1",
        [&id],
    )?;
    tx.change(
        what,
        "DELETE FROM placeholder_key WHERE session_id = ?1",
        [&id],
    )?;
    tx.change(what, TO_SCRUB, []).map(|_| ())
}
