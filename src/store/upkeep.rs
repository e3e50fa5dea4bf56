//! What is no evidence: numbers of secrets, files of the home, what witnesses and calendars said,
//! right edges of the log's tree; and the upkeep of the database itself.

use std::collections::HashSet;

use std::path::Path;

use uuid::Uuid;

use crate::record::time::Seconds;

use super::access::{ReadStore, Store, WriteStore};
use super::driver::{ReaderWait, SearchIndex};
use super::table::{Bind, values};
use super::{
    CalendarState, HomeFile, PlaceholderRow, PlaceholderRows, RowCounts, StoreError, WitnessState,
};

impl ReadStore {
    /// The numbers that an open session has given to secrets.
    pub fn placeholders(&self, session: Uuid) -> Result<PlaceholderRows, StoreError> {
        let sql = "SELECT key FROM placeholder_key WHERE session_id = ?1";
        Ok(PlaceholderRows {
            key: self.one("read a session's key", sql, values![session])?,
            given: self.rows(
                "WHERE session_id = ?1 ORDER BY kind, number",
                values![session],
            )?,
        })
    }

    /// What was noted of the home's files, by name, and when; empty when they never were.
    pub fn home_files(&self) -> Result<(Vec<HomeFile>, Option<Seconds>), StoreError> {
        let sql = "SELECT max(noted_at) FROM home_file";
        let noted_at = self.sole("read the home's files", sql, values![])?;
        Ok((self.rows("ORDER BY name", values![])?, noted_at))
    }

    /// What came of asking each witness.
    pub fn witness_states(&self) -> Result<Vec<WitnessState>, StoreError> {
        self.rows("ORDER BY vkey", values![])
    }

    /// What came of asking each calendar.
    pub fn calendar_states(&self) -> Result<Vec<CalendarState>, StoreError> {
        self.rows("ORDER BY address", values![])
    }

    /// The largest stored right edge of at most so many lines.
    pub fn tree_mark(&self, at_most: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = "SELECT frontier FROM tree_mark WHERE lines <= ?1 ORDER BY lines DESC LIMIT 1";
        self.one("read a right edge", sql, values![at_most])
    }

    /// How many rows there are; by index, and not by walking over them.
    pub fn row_counts(&self) -> Result<RowCounts, StoreError> {
        // Rows of the first two tables are never deleted, so the newest row's number is their
        // count.
        let sql = "SELECT (SELECT ifnull(max(rowid), 0) FROM chat_session),
                     (SELECT count(*) FROM chat_session WHERE status = 'open'),
                     (SELECT ifnull(max(rowid), 0) FROM llm_exchange),
                     (SELECT count(*) FROM artifact)";
        let (sessions, sessions_open, exchanges, artifacts) =
            self.sole("count rows", sql, values![])?;
        let (turns, items, imported) = self.searchable()?;
        Ok(RowCounts {
            sessions,
            sessions_open,
            exchanges,
            artifacts,
            search_entries: turns + items + imported,
        })
    }

    /// Differences between the search indexes and what they are of, in words, at most `most`.
    pub fn search_faults(&self, most: u32) -> Result<Vec<String>, StoreError> {
        let mut faults = Vec::new();
        for index in SearchIndex::ALL {
            faults.extend(self.driver.search_faults(index, most)?);
        }
        faults.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        Ok(faults)
    }

    /// The version of the database's schema.
    pub fn version(&self) -> Result<u32, StoreError> {
        self.driver.version()
    }

    /// The database's own check of its file: its words, `ok` when it is sound.
    ///
    /// # Errors
    /// [`StoreError::Altered`] when a search index alone is damaged.
    pub fn integrity(&self) -> Result<String, StoreError> {
        self.driver.integrity()
    }

    /// How many rows refer to rows that are not there; the database's own check.
    pub fn broken_references(&self) -> Result<u64, StoreError> {
        self.driver.broken_references()
    }

    /// Copies the database, as [`ReadStore::begin_read`] sees it, to a new file of mode 0600. Durable
    /// on return.
    pub fn copy_to(&self, path: &Path) -> Result<(), StoreError> {
        self.driver.copy_to(path)
    }

    /// Copies the write-ahead log into the database file, so that the file by itself is a whole
    /// database.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        self.driver.checkpoint(ReaderWait::Seconds).map(drop)
    }

    /// Copies the write-ahead log back when it has at least so many pages, for a moment when nobody
    /// waits.
    ///
    /// Whoever opens the database reads all of the log. Readers are not disturbed.
    pub fn shorten_wal(&self, pages: u32) -> Result<(), StoreError> {
        self.driver.shorten_wal(pages)
    }
}

impl WriteStore {
    /// Gives numbers to secrets of a session; false, and nothing is written, when another turn has
    /// meanwhile given one of the numbers, or another number to one of the secrets, or made another
    /// key.
    pub fn put_placeholders(
        &mut self,
        session: Uuid,
        key: &[u8; 32],
        new: &[PlaceholderRow],
    ) -> Result<bool, StoreError> {
        if new.is_empty() {
            return Ok(true);
        }
        let known = self.placeholders(session)?;
        // A reply may bring many thousands, and the writer's lock is held meanwhile.
        let numbers: HashSet<_> = known
            .given
            .iter()
            .map(|row| (&row.kind, row.number))
            .collect();
        let tags: HashSet<_> = known.given.iter().filter_map(|row| row.tag).collect();
        let taken = |row: &PlaceholderRow| {
            numbers.contains(&(&row.kind, row.number))
                || row.tag.is_some_and(|tag| tags.contains(&tag))
        };
        if known.key.is_some_and(|other| other != *key) || new.iter().any(taken) {
            return Ok(false);
        }
        if known.key.is_none() {
            let sql = "INSERT INTO placeholder_key (session_id, key) VALUES (?1, ?2)";
            self.change("give a session its key", sql, values![session, key])?;
        }
        self.add_all(new, &[("session_id", session.value())])?;
        Ok(true)
    }

    /// Forgets the numbers of a session; true when there were any, and then notes that the
    /// write-ahead log is to be emptied.
    pub fn forget_placeholders(&mut self, session: Uuid) -> Result<bool, StoreError> {
        let (what, numbers) = (FORGET, "DELETE FROM placeholder WHERE session_id = ?1");
        let mut gone = self.change(what, numbers, values![session])?;
        gone += self.change(what, FORGET_KEY, values![session])?;
        if gone > 0 {
            self.must_scrub()?;
        }
        Ok(gone > 0)
    }

    /// Forgets which secrets have the numbers of a session; the numbers stay taken while it is
    /// open.
    pub fn forget_tags(&mut self, session: Uuid) -> Result<(), StoreError> {
        let tags = "UPDATE placeholder SET tag = NULL WHERE session_id = ?1";
        self.change(FORGET, tags, values![session])?;
        self.change(FORGET, FORGET_KEY, values![session])?;
        self.must_scrub()
    }
}

const FORGET: &str = "forget the numbers of secrets";
const FORGET_KEY: &str = "DELETE FROM placeholder_key WHERE session_id = ?1";

impl Store {
    /// Replaces what is noted of the home's files; what is not among them is forgotten.
    pub fn note_files(&mut self, files: &[HomeFile], now: Seconds) -> Result<(), StoreError> {
        self.write_unsynced(|write| {
            let all = "DELETE FROM home_file";
            write.change("note the home's files", all, values![])?;
            write.add_all(files, &[("noted_at", now.value())])
        })
    }

    /// Notes what came of asking, each witness in place of what was noted of it.
    pub fn put_witness_states(&mut self, states: &[WitnessState]) -> Result<(), StoreError> {
        let otherwise = "ON CONFLICT (vkey) DO UPDATE SET
             lines = excluded.lines, cosigned_at = excluded.cosigned_at, asked_at = excluded.asked_at,
             asked_lines = excluded.asked_lines, said = excluded.said";
        self.write_unsynced(|write| {
            let put = |state: &WitnessState| {
                let state = std::slice::from_ref(state);
                write.insert(state, &[], otherwise).map(drop)
            };
            states.iter().try_for_each(put)
        })
    }

    /// Notes what calendars said at a time: each with why it did not accept.
    pub fn put_calendar_answers(
        &mut self,
        at: Seconds,
        said: &[(&str, Option<&str>)],
    ) -> Result<(), StoreError> {
        let otherwise = "ON CONFLICT (address) DO UPDATE SET asked_at = excluded.asked_at,
             accepted_at = coalesce(excluded.accepted_at, accepted_at), said = excluded.said";
        self.write_unsynced(|write| {
            let put = |(address, said): &(&str, Option<&str>)| {
                let state = CalendarState {
                    address: (*address).to_owned(),
                    asked_at: at,
                    accepted_at: said.is_none().then_some(at),
                    said: said.map(str::to_owned),
                };
                write.insert(&[state], &[], otherwise).map(drop)
            };
            said.iter().try_for_each(put)
        })
    }

    /// Keeps a right edge.
    pub fn put_tree_mark(&mut self, lines: u64, frontier: &[u8]) -> Result<(), StoreError> {
        let sql = "INSERT INTO tree_mark (lines, frontier) VALUES (?1, ?2)
                   ON CONFLICT (lines) DO UPDATE SET frontier = excluded.frontier";
        self.write_unsynced(|write| {
            let values = values![lines, frontier];
            write.change("keep a right edge", sql, values).map(drop)
        })
    }

    /// Forgets all right edges: one of them was not the log's.
    pub fn drop_tree_marks(&mut self) -> Result<(), StoreError> {
        self.write_unsynced(|write| {
            let all = "DELETE FROM tree_mark";
            write.change("forget right edges", all, values![]).map(drop)
        })
    }
}
