//! Queries of continuity: what could be put before a model. All are bounded, whatever the history.

use uuid::Uuid;

use crate::record::hash::Hash32;
use crate::record::ledger::item::{Item, ItemKind, ItemState};

use super::{DriftRow, Find, StoreError, TurnRow};

/// A drift event that nobody closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenDrift {
    /// The event.
    pub drift: DriftRow,
    /// The session of its exchange.
    pub session: Uuid,
    /// How well the words of its exchange's question fit those looked for; 0: not at all.
    pub relevance: u64,
}

/// What fits words, with how well: SQLite's BM25, sign turned, times 100, rounded; 1 for the
/// slightest fit.
///
/// Words are letters and digits only, of any script. A word that stands in more than a thousand
/// texts tells little and is left out of the search, and of the others the rarest are looked for
/// first, as long as no more than two thousand texts have to be ranked: so a search costs the same
/// in a home of a hundred thousand texts. When all words are common, the newest texts with the
/// longest of them are ranked.
pub trait Recall: Find {
    /// Items other than intents that fit the words, best first, with text: up to so many in force,
    /// and so many proposed.
    fn items_like(
        &self,
        words: &[String],
        in_force: u32,
        proposed: u32,
    ) -> Result<Vec<(Item, String, u64)>, StoreError>;
    /// Up to `most` items of these kinds and states, newest first, with text; none for an erased
    /// one.
    fn items_of(
        &self,
        kinds: &[ItemKind],
        states: &[ItemState],
        most: u32,
    ) -> Result<Vec<(Item, Option<String>)>, StoreError>;
    /// The text of the item of a line; none once erased.
    fn item_text(&self, line: u64) -> Result<Option<String>, StoreError>;
    /// Up to `most` items in force on a subject, oldest first, with text.
    fn items_on(&self, subject: &str, most: u32) -> Result<Vec<(Item, String)>, StoreError>;
    /// Up to `most` subjects on which more than one item is in force.
    fn shared_subjects(&self, most: u32) -> Result<Vec<String>, StoreError>;
    /// Items recorded in a session, oldest first, with text.
    fn items_in(&self, session: Hash32) -> Result<Vec<(Item, Option<String>)>, StoreError>;
    /// The last `most` turns of a session, oldest first.
    fn last_turns(&self, session: Uuid, most: u32) -> Result<Vec<TurnRow>, StoreError>;
    /// Up to `most` turns of any session that fit the words, best first.
    fn turns_like(&self, words: &[String], most: u32) -> Result<Vec<(TurnRow, u64)>, StoreError>;
    /// Up to `most` open drift events that a person was told of (their check's level is not
    /// `info`): of exchanges whose question fits the words, best first, then of the last thousand
    /// exchanges of one session, newest first.
    fn drift_about(
        &self,
        session: Uuid,
        words: &[String],
        most: u32,
    ) -> Result<Vec<OpenDrift>, StoreError>;
}
