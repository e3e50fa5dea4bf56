//! What an artifact changes beside its own row: the items of continuity, what a tombstone names, and
//! the words of both in the search index.

use rusqlite::params;

use super::Tx;
use super::columns::int;
use super::rows::item;
use crate::record::ledger::item::{self, Item, ItemKind};
use crate::record::time::Seconds;
use crate::store::{ArtifactRow, ReadStore, StoreError};

/// Follows an artifact that is written in this transaction.
pub(super) fn follow(tx: &Tx<'_>, artifact: &ArtifactRow) -> Result<(), StoreError> {
    let (kind, id) = (artifact.kind.as_str(), artifact.id.as_str());
    let content = item::content(artifact.document.as_deref());
    for item in about(tx, kind, item::items_of(kind, id, content.as_ref()))? {
        move_item(tx, item, artifact)?;
    }
    if let (Ok(made), Some(content)) = (kind.parse(), &content) {
        add(
            tx,
            &Item::made(
                (artifact.line, made, id),
                Some(content),
                artifact.commitment,
            ),
        )?;
    }
    if kind == TOMBSTONE {
        let named = content
            .as_ref()
            .and_then(|content| content["ids"].as_array());
        for id in named.into_iter().flatten().filter_map(|id| id.as_str()) {
            let sql = "INSERT INTO tombstone_id (id, line) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
            tx.change("note what is erased", sql, params![id, int(artifact.line)])?;
        }
    }
    Ok(())
}

/// The kind of the artifact that says what was erased.
const TOMBSTONE: &str = "tombstone";

/// The items of these ids; before an intent, those that it may take the place of.
fn about(tx: &Tx<'_>, kind: &str, ids: Vec<String>) -> Result<Vec<Item>, StoreError> {
    if kind == ItemKind::Intent.name() {
        let sql = "SELECT * FROM continuity_item WHERE kind = 'intent' AND state = 'declared'";
        return tx.list("read the intent", sql, [], item);
    }
    let found = ids.iter().filter_map(|id| tx.item(id).transpose());
    found.collect()
}

/// Gives an item the state that it has after an artifact.
fn move_item(tx: &Tx<'_>, item: Item, after: &ArtifactRow) -> Result<(), StoreError> {
    let Some(state) = item.state_after(&after.kind) else {
        return Ok(());
    };
    if !state.is_open() {
        forget_words(tx, item.line)?;
    }
    tx.change(
        "give an item its state",
        "UPDATE continuity_item SET state = ?2, state_line = ?3 WHERE line = ?1",
        params![int(item.line), state.name(), int(after.line)],
    )
    .map(drop)
}

/// Adds an item with its words, unless there is one of its id.
fn add(tx: &Tx<'_>, i: &Item) -> Result<(), StoreError> {
    let added = tx.change(
        "add an item",
        "INSERT INTO continuity_item VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
         ON CONFLICT DO NOTHING",
        params![
            int(i.line),
            i.id,
            i.kind.name(),
            i.state.name(),
            int(i.state_line),
            i.subject,
            i.source,
            i.observed_at.map(Seconds::as_i64),
            i.confidence,
            i.phase,
            i.tier,
            i.session.map(|id| id.to_string()),
            i.hash.to_string(),
        ],
    )?;
    if added == 0 || i.kind == ItemKind::Intent {
        return Ok(());
    }
    let sql = "INSERT INTO continuity_fts (rowid, text, subject)
               SELECT line, text, subject FROM continuity_text WHERE line = ?1";
    tx.change("make an item searchable", sql, [int(i.line)])
        .map(drop)
}

/// Takes the words of an item out of the search index; its text has to be there still.
fn forget_words(tx: &Tx<'_>, line: u64) -> Result<(), StoreError> {
    let sql = "INSERT INTO continuity_fts (continuity_fts, rowid, text, subject)
               SELECT 'delete', line, text, subject FROM continuity_text WHERE line = ?1";
    tx.change("forget an item's words", sql, [int(line)])
        .map(drop)
}

/// Takes all but its place from the item of a line, before its text is erased.
pub(super) fn erase(tx: &Tx<'_>, line: u64) -> Result<(), StoreError> {
    forget_words(tx, line)?;
    let sql = "UPDATE continuity_item SET state = 'erased', state_line = line, subject = NULL, source = NULL,
                 observed_at = NULL, confidence = NULL, phase = NULL, tier = NULL, session = NULL WHERE line = ?1";
    tx.change("erase an item", sql, [int(line)]).map(drop)
}

/// Takes the words of a turn out of the search index, where its transaction has put them.
pub(super) fn forget_turn(tx: &Tx<'_>, turn: &str) -> Result<(), StoreError> {
    let sql = "INSERT INTO turn_fts (turn_fts, rowid, content)
               SELECT 'delete', n, content FROM turn_text
                WHERE n = (SELECT n FROM chat_turn WHERE turn_id = ?1)
                  AND n IN (SELECT id FROM turn_fts_docsize)";
    tx.change("forget a turn's words", sql, [turn]).map(drop)
}
