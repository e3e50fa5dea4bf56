//! What could be put before a model: full-text search, bounded at every step, whatever the history.
//!
//! A word that stands in more than a thousand texts tells little and is left out of the search, and
//! of the others the rarest are looked for first, as long as no more than two thousand texts have to
//! be ranked: so a search costs the same in a home of a hundred thousand texts. When all words are
//! common, the newest texts with the longest of them are ranked. How well a text fits is BM25, sign
//! turned, times 100, rounded; 1 for the slightest fit.

use uuid::Uuid;

use crate::record::ledger::item::Item;

use super::access::ReadStore;
use super::artifacts::ITEM_TEXT;
use super::councils::IS_MESSAGE;
use super::driver::{SearchIndex, SearchQuery};
use super::exchanges::OPEN_DRIFT;
use super::imported::{ConversationTexts, HIT, ImportedHit, ImportedMatch, OF_HIT};
use super::table::{Bind, Row, row, values};
use super::{DriftRow, StoreError, TurnRow};

/// A word in more texts than this is common.
const COMMON: u32 = 1000;
/// So many texts are ranked: the rarest words first, as many as fit.
const RANKED: u64 = 2000;
/// What BM25 is multiplied with before it is rounded.
const SCALE: f64 = 100.0;
/// No text fits better.
const BEST: u64 = 2000;

row! {
    /// A drift event that nobody closed.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct OpenDrift {
        /// Row of the event.
        drift: DriftRow,
        /// The thread of its exchange; none of one from before there were threads.
        thread: Option<Uuid> = "thread_id",
        /// How well the words of its exchange's question fit those looked for; 0: not at all.
        relevance: u64 = "relevance",
    }
}

/// What is looked for of a question.
struct RareWords {
    words: Vec<String>,
    /// All words are common: only so many of the newest texts are ranked.
    newest: Option<u32>,
}

/// BM25 is smaller for a better fit, and almost zero in a small collection.
fn relevance(bm25: f64) -> u64 {
    let scaled = (-bm25 * SCALE).round().clamp(1.0, 2000.0);
    format!("{scaled:.0}").parse().unwrap_or(1).min(BEST)
}

impl ReadStore {
    /// The rare words; without any the longest, of which only the newest fits are ranked. None:
    /// nothing to look for.
    fn rare_words(
        &self,
        index: SearchIndex,
        words: &[String],
    ) -> Result<Option<RareWords>, StoreError> {
        let mut counted = Vec::new();
        for word in words {
            counted.push((self.driver.count_texts(index, word, COMMON + 1)?, word));
        }
        counted.retain(|(count, _)| *count > 0);
        counted.sort();
        let mut ranked = 0;
        let rare = counted
            .iter()
            .filter(|(count, _)| *count <= u64::from(COMMON))
            .take_while(|(count, _)| {
                ranked += count;
                ranked <= RANKED
            });
        let rare: Vec<String> = rare.map(|(_, word)| (*word).clone()).collect();
        if !rare.is_empty() {
            return Ok(Some(RareWords {
                words: rare,
                newest: None,
            }));
        }
        // All are beyond counting: the longest is taken for the rarest.
        let longest = counted
            .iter()
            .max_by_key(|(_, word)| (word.chars().count(), std::cmp::Reverse(*word)));
        Ok(longest.map(|(_, word)| RareWords {
            words: vec![(*word).clone()],
            newest: Some(COMMON),
        }))
    }

    /// What fits the words: `query` goes on behind the table `hit (n, score)`, with parameters from
    /// `?2`; nothing when no text holds any of the words.
    fn search<T: super::table::Columns>(
        &self,
        (index, words): (SearchIndex, &[String]),
        query: &str,
        limits: &[u32],
    ) -> Result<Vec<T>, StoreError> {
        let Some(RareWords { words, newest }) = self.rare_words(index, words)? else {
            return Ok(Vec::new());
        };
        let words = words.as_slice();
        let (hits, expression) = self.driver.hits(&SearchQuery {
            index,
            words,
            newest,
        });
        let mut values = vec![expression];
        values.extend(limits.iter().map(Bind::value));
        self.list("search", &format!("{hits}{query}"), &values)
    }

    /// Items other than intents that fit the words, best first, with text: up to so many in force,
    /// and so many proposed. Words are letters and digits only, of any script.
    pub fn items_like(
        &self,
        words: &[String],
        in_force: u32,
        proposed: u32,
    ) -> Result<Vec<(Item, String, u64)>, StoreError> {
        let best = "SELECT i.line, hit.score FROM hit JOIN continuity_item i ON i.line = hit.n WHERE i.state IN";
        // Texts are read of the chosen alone.
        let query = format!(
            ", best (line, score) AS MATERIALIZED (
               SELECT * FROM ({best} ('ratified', 'declared') ORDER BY hit.score, i.line DESC LIMIT ?2)
               UNION ALL SELECT * FROM ({best} ('proposed') ORDER BY hit.score, i.line DESC LIMIT ?3))
             SELECT {}, {ITEM_TEXT}, best.score
               FROM best JOIN continuity_item i ON i.line = best.line JOIN artifact a ON a.line = i.line
              ORDER BY best.score, i.line DESC",
            Item::columns_of("i")
        );
        let found = self.search((SearchIndex::Items, words), &query, &[in_force, proposed])?;
        let ranked = |(item, text, bm25): (Item, String, f64)| (item, text, relevance(bm25));
        Ok(found.into_iter().map(ranked).collect())
    }

    /// Up to `most` turns of any session that fit the words, best first.
    pub fn turns_like(
        &self,
        words: &[String],
        most: u32,
    ) -> Result<Vec<(TurnRow, u64)>, StoreError> {
        let query = format!(
            " SELECT {}, hit.score FROM hit JOIN chat_turn t ON t.n = hit.n WHERE {IS_MESSAGE}
              ORDER BY hit.score, hit.n DESC LIMIT ?2",
            TurnRow::columns_of("t")
        );
        let found = self.search((SearchIndex::Turns, words), &query, &[most])?;
        let ranked = |(turn, bm25): (TurnRow, f64)| (turn, relevance(bm25));
        Ok(found.into_iter().map(ranked).collect())
    }

    /// Of up to `most` messages of imported conversations that fit the words the best of each conversation,
    /// best first.
    pub fn imported_like(
        &self,
        words: &[String],
        most: u32,
    ) -> Result<Vec<(ImportedMatch, u64)>, StoreError> {
        let query = format!(
            ", best (n, score) AS MATERIALIZED (SELECT n, score FROM hit ORDER BY score, n DESC LIMIT ?2)
             SELECT best.score, {HIT} FROM best CROSS JOIN imported_message m ON m.n = best.n {OF_HIT}
              ORDER BY best.score, best.n DESC"
        );
        let hits: Vec<ImportedHit> =
            self.search((SearchIndex::Imported, words), &query, &[most])?;
        let mut texts = ConversationTexts::of(self);
        let mut found: Vec<(ImportedMatch, u64)> = Vec::new();
        for hit in hits {
            if found.iter().all(|(known, _)| known.line != hit.line) {
                let relevance = relevance(hit.score);
                found.push((texts.whole(hit)?, relevance));
            }
        }
        Ok(found)
    }

    /// Up to `most` open drift events that a person was told of (their check's level is not
    /// `info`): of exchanges whose question fits the words, best first, then of the last thousand
    /// exchanges of one thread, newest first.
    pub fn drift_about(
        &self,
        thread: Uuid,
        words: &[String],
        most: u32,
    ) -> Result<Vec<OpenDrift>, StoreError> {
        let mut open = self.drift_that_fits(words, most)?;
        let here = format!(
            "SELECT {}, i.thread_id, 0
               FROM (SELECT thread_id, line, turn_id FROM thread_event WHERE thread_id = ?1 AND kind = 'INTENT'
                      ORDER BY line DESC LIMIT {COMMON}) i
               CROSS JOIN llm_exchange e ON e.prompt_line = i.line AND e.exchange_id = i.turn_id {OPEN_DRIFT}
              ORDER BY e.prompt_line DESC, d.rowid DESC LIMIT ?2",
            DriftRow::columns_of("d")
        );
        let here: Vec<OpenDrift> = self.list(DriftRow::READING, &here, values![thread, most])?;
        for found in here {
            let is_it = |known: &OpenDrift| known.drift.drift_id == found.drift.drift_id;
            if !open.iter().any(is_it) {
                open.push(found);
            }
        }
        open.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        Ok(open)
    }

    /// Open drift of exchanges whose question fits the words, best first.
    fn drift_that_fits(&self, words: &[String], most: u32) -> Result<Vec<OpenDrift>, StoreError> {
        // Most homes have none, and no search is made then.
        let any =
            "SELECT EXISTS (SELECT 1 FROM assertion_event WHERE passed = 0 AND level <> 'info')";
        if !self.sole::<bool>("look for drift", any, values![])? {
            return Ok(Vec::new());
        }
        let query = format!(
            " SELECT {}, i.thread_id, hit.score FROM hit JOIN chat_turn t ON t.n = hit.n AND t.speaker = 'user'
                 JOIN llm_exchange e ON e.prompt_line = t.line LEFT JOIN thread_turn i ON i.line = e.prompt_line {OPEN_DRIFT}
                ORDER BY hit.score, e.prompt_line DESC, d.rowid DESC LIMIT ?2",
            DriftRow::columns_of("d")
        );
        let found = self.search((SearchIndex::Turns, words), &query, &[most])?;
        let ranked = |(drift, thread, bm25): (DriftRow, Option<Uuid>, f64)| OpenDrift {
            drift,
            thread,
            relevance: relevance(bm25),
        };
        Ok(found.into_iter().map(ranked).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bm25_becomes_a_whole_number() {
        for (bm25, expected) in [
            (0.0, 1),
            (-0.000_001, 1),
            (0.5, 1),
            (-0.014, 1),
            (-0.015, 2),
            (-3.456, 346),
            (-19.99, 1999),
            (-500.0, 2000),
            (f64::NAN, 1),
        ] {
            assert_eq!(relevance(bm25), expected, "{bm25}");
        }
    }
}
