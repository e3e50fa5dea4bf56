//! The queries behind [`Recall`]: full-text search, bounded at every step.

use std::ops::Deref;

use rusqlite::{Connection, params};
use uuid::Uuid;

use super::columns::{Columns, int};
use super::rows::{OPEN_DRIFT, drift, item, turn};
use super::{Handle, Tx, failed};
use crate::record::hash::Hash32;
use crate::record::ledger::item::{Item, ItemKind, ItemState};
use crate::store::{OpenDrift, Recall, StoreError, TurnRow};

/// A word in more texts than this is common.
const COMMON: u32 = 1000;
/// So many texts are ranked: the rarest words first, as many as fit.
const RANKED: u64 = 2000;
/// What BM25 is multiplied with before it is rounded.
const SCALE: f64 = 100.0;
/// No text fits better.
const BEST: u64 = 2000;

/// A search index: its table, and how it ranks.
struct SearchIndex {
    table: &'static str,
    rank: &'static str,
}

/// A subject is worth three words of a text.
const ITEMS: SearchIndex = SearchIndex {
    table: "continuity_fts",
    rank: "bm25(continuity_fts, 1.0, 3.0)",
};
const TURNS: SearchIndex = SearchIndex {
    table: "turn_fts",
    rank: "bm25(turn_fts)",
};

/// What is put behind MATCH, and whether only the newest fits are ranked.
struct MatchQuery {
    expression: String,
    newest: bool,
}

/// One word as FTS5 takes any text: in quotes, quotes doubled.
fn quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('"', "\"\""))
}

/// BM25 is smaller for a better fit, and almost zero in a small collection.
fn relevance(bm25: f64) -> u64 {
    let scaled = (-bm25 * SCALE).round().clamp(1.0, 2000.0);
    format!("{scaled:.0}").parse().unwrap_or(1).min(BEST)
}

fn listed(words: impl Iterator<Item = &'static str>) -> String {
    words
        .map(|word| format!("'{word}'"))
        .collect::<Vec<_>>()
        .join(", ")
}

impl<C: Deref<Target = Connection>> Handle<C> {
    /// The rare words; without any the longest, of which only the newest fits are ranked. None:
    /// nothing to look for.
    fn wanted(
        &self,
        index: &SearchIndex,
        words: &[String],
    ) -> Result<Option<MatchQuery>, StoreError> {
        let table = index.table;
        let sql = format!(
            "SELECT count(*) AS n FROM (SELECT 1 FROM {table} WHERE {table} MATCH ?1 LIMIT ?2)"
        );
        let mut counted = Vec::new();
        for word in words {
            let count = self.one(
                "count a word",
                &sql,
                params![quoted(word), COMMON + 1],
                |c| c.count("fts.n"),
            )?;
            counted.push((count.unwrap_or_default(), word));
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
        let rare: Vec<String> = rare.map(|(_, word)| quoted(word)).collect();
        if !rare.is_empty() {
            return Ok(Some(MatchQuery {
                expression: rare.join(" OR "),
                newest: false,
            }));
        }
        // All are beyond counting: the longest is taken for the rarest.
        let longest = counted
            .iter()
            .max_by_key(|(_, word)| (word.chars().count(), std::cmp::Reverse(*word)));
        Ok(longest.map(|(_, word)| MatchQuery {
            expression: quoted(word),
            newest: true,
        }))
    }

    /// A common table expression `hit(n, score)`: what fits `?1`.
    fn hits(index: &SearchIndex, wanted: &MatchQuery) -> String {
        let SearchIndex { table, rank } = index;
        let newest = if wanted.newest {
            format!("ORDER BY rowid DESC LIMIT {COMMON}")
        } else {
            String::new()
        };
        format!(
            "WITH hit (n, score) AS MATERIALIZED (SELECT rowid, {rank} FROM {table} WHERE {table} MATCH ?1 {newest})"
        )
    }
}

fn score(c: &Columns<'_, '_>) -> Result<u64, StoreError> {
    Ok(relevance(c.real("hit.score")?))
}

fn with_text(c: &Columns<'_, '_>) -> Result<(Item, Option<String>), StoreError> {
    Ok((item(c)?, c.text_opt("artifact.text")?))
}

fn with_its_text(c: &Columns<'_, '_>) -> Result<(Item, String), StoreError> {
    Ok((item(c)?, c.text("artifact.text")?))
}

const WITH_TEXT: &str = "SELECT i.*, json_extract(a.document, '$.content.text') AS text
                           FROM continuity_item i JOIN artifact a ON a.line = i.line";

impl<C: Deref<Target = Connection>> Recall for Handle<C> {
    fn items_like(
        &self,
        words: &[String],
        in_force: u32,
        proposed: u32,
    ) -> Result<Vec<(Item, String, u64)>, StoreError> {
        let Some(wanted) = self.wanted(&ITEMS, words)? else {
            return Ok(Vec::new());
        };
        let best = "SELECT i.line, hit.score FROM hit JOIN continuity_item i ON i.line = hit.n WHERE i.state IN";
        // Texts are read of the chosen alone.
        let sql = format!(
            "{}, best (line, score) AS MATERIALIZED (
               SELECT * FROM ({best} ('ratified', 'declared') ORDER BY hit.score, i.line DESC LIMIT ?2)
               UNION ALL SELECT * FROM ({best} ('proposed') ORDER BY hit.score, i.line DESC LIMIT ?3))
             SELECT i.*, best.score, json_extract(a.document, '$.content.text') AS text
               FROM best JOIN continuity_item i ON i.line = best.line JOIN artifact a ON a.line = i.line
              ORDER BY best.score, i.line DESC",
            Self::hits(&ITEMS, &wanted)
        );
        self.list(
            "look for items",
            &sql,
            params![wanted.expression, in_force, proposed],
            |c| Ok((item(c)?, c.text("artifact.text")?, score(c)?)),
        )
    }

    fn items_of(
        &self,
        kinds: &[ItemKind],
        states: &[ItemState],
        most: u32,
    ) -> Result<Vec<(Item, Option<String>)>, StoreError> {
        let kinds = listed(kinds.iter().map(|kind| kind.name()));
        let states = listed(states.iter().map(|state| state.name()));
        let sql = format!(
            "{WITH_TEXT} WHERE i.kind IN ({kinds}) AND i.state IN ({states}) ORDER BY i.line DESC LIMIT ?1"
        );
        self.list("list items", &sql, [most], with_text)
    }

    fn item_text(&self, line: u64) -> Result<Option<String>, StoreError> {
        let sql =
            "SELECT json_extract(document, '$.content.text') AS text FROM artifact WHERE line = ?1";
        Ok(self
            .one("read an item's text", sql, [int(line)], |c| {
                c.text_opt("artifact.text")
            })?
            .flatten())
    }

    fn items_on(&self, subject: &str, most: u32) -> Result<Vec<(Item, String)>, StoreError> {
        let sql = format!(
            "{WITH_TEXT} WHERE i.subject = ?1 AND i.state IN ('ratified', 'declared') ORDER BY i.line LIMIT ?2"
        );
        self.list(
            "list items on a subject",
            &sql,
            params![subject, most],
            with_its_text,
        )
    }

    fn shared_subjects(&self, most: u32) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT subject FROM continuity_item
                    WHERE subject IS NOT NULL AND state IN ('ratified', 'declared')
                    GROUP BY subject HAVING count(*) > 1 ORDER BY subject LIMIT ?1";
        self.list("list shared subjects", sql, [most], |c| {
            c.text("continuity_item.subject")
        })
    }

    fn items_in(&self, session: Hash32) -> Result<Vec<(Item, Option<String>)>, StoreError> {
        let sql = format!("{WITH_TEXT} WHERE i.session = ?1 ORDER BY i.line");
        self.list(
            "list a session's items",
            &sql,
            [session.to_string()],
            with_text,
        )
    }

    fn last_turns(&self, session: Uuid, most: u32) -> Result<Vec<TurnRow>, StoreError> {
        // The order of recording within one second too: a turn's row is written when its line is.
        let sql = "SELECT * FROM chat_turn WHERE session_id = ?1 ORDER BY created_at DESC, n DESC LIMIT ?2";
        let mut turns = self.list(
            "read the last turns",
            sql,
            params![session.to_string(), most],
            turn,
        )?;
        turns.reverse();
        Ok(turns)
    }

    fn turns_like(&self, words: &[String], most: u32) -> Result<Vec<(TurnRow, u64)>, StoreError> {
        let Some(wanted) = self.wanted(&TURNS, words)? else {
            return Ok(Vec::new());
        };
        let sql = format!(
            "{} SELECT t.*, hit.score FROM hit JOIN chat_turn t ON t.n = hit.n
              ORDER BY hit.score, hit.n DESC LIMIT ?2",
            Self::hits(&TURNS, &wanted)
        );
        self.list(
            "look for turns",
            &sql,
            params![wanted.expression, most],
            |c| Ok((turn(c)?, score(c)?)),
        )
    }

    fn drift_about(
        &self,
        session: Uuid,
        words: &[String],
        most: u32,
    ) -> Result<Vec<OpenDrift>, StoreError> {
        let mut open = self.drift_that_fits(words, most)?;
        let here = format!(
            "SELECT d.*, e.session_id
               FROM (SELECT * FROM llm_exchange WHERE session_id = ?1 ORDER BY seq DESC LIMIT {COMMON}) e {OPEN_DRIFT}
              ORDER BY d.rowid DESC LIMIT ?2"
        );
        let here = self.list(
            "read a session's open drift",
            &here,
            params![session.to_string(), most],
            |c| {
                Ok(OpenDrift {
                    drift: drift(c)?,
                    session: c.uuid("llm_exchange.session_id")?,
                    relevance: 0,
                })
            },
        )?;
        for found in here {
            if open
                .iter()
                .all(|known| known.drift.drift_id != found.drift.drift_id)
            {
                open.push(found);
            }
        }
        open.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        Ok(open)
    }
}

impl<C: Deref<Target = Connection>> Handle<C> {
    /// Open drift of exchanges whose question fits the words, best first.
    fn drift_that_fits(&self, words: &[String], most: u32) -> Result<Vec<OpenDrift>, StoreError> {
        // Most homes have none, and no search is made then.
        let any = "SELECT 1 AS n FROM assertion_event WHERE passed = 0 AND level <> 'info' LIMIT 1";
        if self
            .one("look for drift", any, [], |c| c.count("assertion_event.n"))?
            .is_none()
        {
            return Ok(Vec::new());
        }
        let Some(wanted) = self.wanted(&TURNS, words)? else {
            return Ok(Vec::new());
        };
        let sql = format!(
            "{} SELECT d.*, e.session_id, hit.score FROM hit JOIN chat_turn t ON t.n = hit.n AND t.speaker = 'user'
                  JOIN llm_exchange e ON e.prompt_line = t.line {OPEN_DRIFT}
                 ORDER BY hit.score, d.rowid DESC LIMIT ?2",
            Self::hits(&TURNS, &wanted)
        );
        self.list(
            "look for open drift",
            &sql,
            params![wanted.expression, most],
            |c| {
                Ok(OpenDrift {
                    drift: drift(c)?,
                    session: c.uuid("llm_exchange.session_id")?,
                    relevance: score(c)?,
                })
            },
        )
    }
}

impl Tx<'_> {
    /// The place of the newest turn; 0 before the first.
    pub(super) fn last_turn(&self) -> Result<i64, StoreError> {
        let mut newest = self
            .0
            .prepare_cached("SELECT coalesce(max(n), 0) FROM chat_turn")
            .map_err(failed("count turns"))?;
        newest
            .query_row([], |row| row.get(0))
            .map_err(failed("count turns"))
    }

    /// Puts the turns behind a place into the search index.
    pub(super) fn make_searchable(&self, after: i64) -> Result<(), StoreError> {
        let what = "make turns searchable";
        let sql = "INSERT INTO turn_fts (rowid, content)
                   SELECT n, content FROM chat_turn WHERE n > ?1 AND content IS NOT NULL ORDER BY n";
        self.change(what, sql, [after]).map(drop)
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

    #[test]
    fn a_word_can_not_leave_its_quotes() {
        assert_eq!(quoted("a\" OR \"b"), "\"a\"\" OR \"\"b\"");
    }
}
