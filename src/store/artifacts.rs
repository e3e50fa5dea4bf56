//! Artifacts, and what follows from one: the items of continuity, what a tombstone names, and the
//! words of an item in the search index.

use uuid::Uuid;

use crate::record::hash::Hash32;
use crate::record::ledger::erased::TOMBSTONE;
use crate::record::ledger::item::{self, Item, ItemArtifact, ItemKind, ItemState};

use super::access::{ReadStore, WriteStore};
use super::driver::SearchIndex;
use super::table::{Row, values};
use super::{ArtifactRow, StoreError};

/// Which artifacts are asked for.
#[derive(Clone, Copy, Debug)]
pub enum ArtifactFilter<'a> {
    /// Every artifact on record.
    All,
    /// All but those of a kind.
    But(&'a str),
    /// Those of a kind.
    Kind(&'a str),
    /// Those of an id: what made something, and what became of it.
    Id(&'a str),
    /// Actuation intents that quote an exchange and are not erased.
    ActionsOf(Uuid),
}

/// What the item of an artifact `a` says; of a correction with what it rejects, as
/// [`correction_text`](crate::record::ledger::correction::correction_text) has it. Null once erased.
pub(super) const ITEM_TEXT: &str = "json_extract(a.document, '$.content.text') ||
    CASE WHEN json_extract(a.document, '$.content.rejected') <> ''
         THEN ' (not: ' || json_extract(a.document, '$.content.rejected') || ')' ELSE '' END";

/// Items with their texts, where `rest` holds; none of an erased one.
fn with_text(rest: &str) -> String {
    format!(
        "SELECT {}, {ITEM_TEXT}
           FROM continuity_item i JOIN artifact a ON a.line = i.line WHERE {rest}",
        Item::columns_of("i")
    )
}

fn listed(words: impl Iterator<Item = &'static str>) -> String {
    let quoted = words.map(|word| format!("'{word}'"));
    quoted.collect::<Vec<_>>().join(", ")
}

impl ReadStore {
    /// Artifacts, in the order of lines.
    pub fn artifacts(&self, which: ArtifactFilter<'_>) -> Result<Vec<ArtifactRow>, StoreError> {
        match which {
            ArtifactFilter::All => self.rows("ORDER BY line", values![]),
            ArtifactFilter::But(kind) => self.rows("WHERE kind <> ?1 ORDER BY line", values![kind]),
            ArtifactFilter::Kind(kind) => self.rows("WHERE kind = ?1 ORDER BY line", values![kind]),
            ArtifactFilter::Id(id) => self.rows("WHERE id = ?1 ORDER BY line", values![id]),
            ArtifactFilter::ActionsOf(exchange) => self.rows(
                "WHERE kind = 'action' AND document IS NOT NULL
                   AND json_extract(document, '$.content.exchange') = ?1 ORDER BY line",
                values![exchange],
            ),
        }
    }

    /// Whether there is an artifact of a kind with an id.
    pub fn has_artifact(&self, kind: &str, id: &str) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM artifact WHERE kind = ?1 AND id = ?2)";
        self.sole("look for an artifact", sql, values![kind, id])
    }

    /// The newest artifact of a kind.
    pub fn newest_artifact(&self, kind: &str) -> Result<Option<ArtifactRow>, StoreError> {
        self.row("WHERE kind = ?1 ORDER BY line DESC LIMIT 1", values![kind])
    }

    /// The first artifact of a kind behind a line.
    pub fn next_artifact(&self, kind: &str, line: u64) -> Result<Option<ArtifactRow>, StoreError> {
        let rest = "WHERE kind = ?1 AND line > ?2 ORDER BY line LIMIT 1";
        self.row(rest, values![kind, line])
    }

    /// The artifact of a line.
    pub fn artifact_of_line(&self, line: u64) -> Result<Option<ArtifactRow>, StoreError> {
        self.row("WHERE line = ?1", values![line])
    }

    /// How many artifacts of a kind are on record by their commitment only, as their text was never
    /// kept.
    pub fn not_kept(&self, kind: &str) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM artifact a WHERE a.kind = ?1 AND a.document IS NULL
                     AND NOT EXISTS (SELECT 1 FROM tombstone_id t WHERE t.id = a.id)";
        self.sole("count what is not kept", sql, values![kind])
    }

    /// Line of the first tombstone that names an exchange or an artifact.
    pub fn tombstone_of(&self, id: &str) -> Result<Option<u64>, StoreError> {
        let sql = "SELECT min(line) FROM tombstone_id WHERE id = ?1";
        self.sole("look for a tombstone", sql, values![id])
    }

    /// Whether a tombstone behind a line names an exchange or an artifact.
    pub fn is_erased(&self, id: &str, line: u64) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM tombstone_id WHERE id = ?1 AND line > ?2)";
        self.sole("look for a later tombstone", sql, values![id, line])
    }

    /// Calls `each` for every id that a tombstone names, with the tombstone's line, in their order.
    pub fn each_tombstone_id(
        &self,
        each: &mut dyn FnMut((String, u64)) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let sql = "SELECT id, line FROM tombstone_id ORDER BY id, line";
        self.each("read what tombstones name", sql, values![], each)
    }

    /// One item of continuity by its id.
    pub fn item(&self, id: &str) -> Result<Option<Item>, StoreError> {
        self.row("WHERE id = ?1", values![id])
    }

    /// Calls `each` for every item of continuity, in the order of lines.
    pub fn each_item(
        &self,
        each: &mut dyn FnMut(Item) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each_row("ORDER BY line", values![], each)
    }

    /// Up to `most` items of these kinds and states, newest first, with text; none for an erased
    /// one.
    pub fn items_of(
        &self,
        kinds: &[ItemKind],
        states: &[ItemState],
        most: u32,
    ) -> Result<Vec<(Item, Option<String>)>, StoreError> {
        let sql = with_text(&format!(
            "i.kind IN ({}) AND i.state IN ({}) ORDER BY i.line DESC LIMIT ?1",
            listed(kinds.iter().map(|kind| kind.name())),
            listed(states.iter().map(|state| state.name()))
        ));
        self.list("list items", &sql, values![most])
    }

    /// Up to `most` items in force on a subject, oldest first, with text.
    pub fn items_on(&self, subject: &str, most: u32) -> Result<Vec<(Item, String)>, StoreError> {
        let rest =
            "i.subject = ?1 AND i.state IN ('ratified', 'declared') ORDER BY i.line LIMIT ?2";
        self.list(
            "list items on a subject",
            &with_text(rest),
            values![subject, most],
        )
    }

    /// Items recorded in a session, oldest first, with text.
    pub fn items_in(&self, session: Hash32) -> Result<Vec<(Item, Option<String>)>, StoreError> {
        let sql = with_text("i.session = ?1 ORDER BY i.line");
        self.list("list a session's items", &sql, values![session])
    }

    /// The text of the item of a line; none once erased.
    pub fn item_text(&self, line: u64) -> Result<Option<String>, StoreError> {
        let sql = format!("SELECT {ITEM_TEXT} FROM artifact a WHERE a.line = ?1");
        let text: Option<Option<String>> = self.one("read an item's text", &sql, values![line])?;
        Ok(text.flatten())
    }

    /// Up to `most` subjects on which more than one item is in force.
    pub fn shared_subjects(&self, most: u32) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT subject FROM continuity_item
                    WHERE subject IS NOT NULL AND state IN ('ratified', 'declared')
                    GROUP BY subject HAVING count(*) > 1 ORDER BY subject LIMIT ?1";
        self.list("list shared subjects", sql, values![most])
    }
}

impl WriteStore {
    /// Adds an artifact, with all that follows from it.
    pub fn put_artifact(&mut self, artifact: &ArtifactRow) -> Result<(), StoreError> {
        self.add(artifact)?;
        let (kind, id) = (artifact.kind.as_str(), artifact.id.as_str());
        let content = item::content(artifact.document.as_deref());
        for item in self.items_before(kind, item::items_of(kind, id, content.as_ref()))? {
            self.move_item(&item, artifact)?;
        }
        if let (Ok(made), Some(content)) = (kind.parse(), &content) {
            let origin = ItemArtifact {
                line: artifact.line,
                kind: made,
                id,
            };
            self.add_item(Item::made(origin, Some(content), artifact.commitment))?;
        }
        self.follow_artifact(artifact, content.as_ref())?;
        self.follow_rating(artifact)?;
        self.follow_council(artifact)?;
        self.follow_handoff(artifact)?;
        self.follow_imported(artifact)?;
        self.follow_settings(artifact)?;
        let named = content.as_ref().filter(|_| kind == TOMBSTONE);
        let named = named.and_then(|content| content["ids"].as_array());
        for id in named.into_iter().flatten().filter_map(|id| id.as_str()) {
            let sql = "INSERT INTO tombstone_id (id, line) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
            self.change("note what is erased", sql, values![id, artifact.line])?;
        }
        Ok(())
    }

    /// The items of these ids; before an intent, those that it may take the place of.
    fn items_before(&self, kind: &str, ids: Vec<String>) -> Result<Vec<Item>, StoreError> {
        if kind == ItemKind::Intent.name() {
            return self.rows("WHERE kind = 'intent' AND state = 'declared'", values![]);
        }
        let found = ids.iter().filter_map(|id| self.item(id).transpose());
        found.collect()
    }

    /// Gives an item the state that it has after an artifact.
    fn move_item(&self, item: &Item, after: &ArtifactRow) -> Result<(), StoreError> {
        let Some(state) = item.state_after(&after.kind) else {
            return Ok(());
        };
        if !state.is_open() {
            self.driver
                .forget_texts(SearchIndex::Items, (item.line, item.line))?;
        }
        let sql = "UPDATE continuity_item SET state = ?2, state_line = ?3 WHERE line = ?1";
        let values = values![item.line, state, after.line];
        self.change("give an item its state", sql, values).map(drop)
    }

    /// Adds an item with its words, unless there is one of its id.
    fn add_item(&self, item: Item) -> Result<(), StoreError> {
        let (line, is_found) = (item.line, item.kind != ItemKind::Intent);
        if self.insert(&[item], &[], "ON CONFLICT DO NOTHING")? == 1 && is_found {
            self.driver.index_texts(SearchIndex::Items, (line, line))?;
        }
        Ok(())
    }

    /// Destroys the document and salt of the artifact of a line, what is said of it as an item, the
    /// name of a thread that it gave, and the project that it put a conversation into.
    pub fn erase_artifact(&mut self, line: u64) -> Result<(), StoreError> {
        let what = "erase an artifact";
        self.driver.forget_texts(SearchIndex::Items, (line, line))?;
        self.forget_imported_words(line)?;
        let document = self.artifact_of_line(line)?.and_then(|row| row.document);
        let content = item::content(document.as_deref());
        let replaced =
            content.and_then(|content| content.get("replaces")?.as_str().map(str::to_owned));
        for sql in [
            "UPDATE continuity_item SET state = 'erased', state_line = line, subject = NULL, source = NULL,
               observed_at = NULL, confidence = NULL, confidence_milli = NULL, decay = NULL, domain = NULL, phase = NULL,
               tier = NULL, session = NULL WHERE line = ?1",
            "UPDATE artifact SET document = NULL, salt = NULL WHERE line = ?1",
            "UPDATE thread SET name = NULL
              WHERE thread_id IN (SELECT id FROM artifact WHERE line = ?1 AND kind = 'thread')",
        ] {
            self.change(what, sql, values![line])?;
        }
        if let Some(erased) = self.artifact_of_line(line)? {
            self.follow_erasure(&erased)?;
            self.follow_erased_rating(line)?;
            self.follow_erased_council(line)?;
            self.follow_erased_handoff(line)?;
            self.follow_erased_imported(&erased, replaced)?;
        }
        self.must_scrub()
    }
}
