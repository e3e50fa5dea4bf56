//! Rows about witnesses and calendars, and right edges of the log's tree.

use rusqlite::params;

use super::columns::int;
use super::{Sqlite, failed};
use crate::record::ledger::commit::MAIN;
use crate::record::time::Seconds;
use crate::store::{CalendarState, StoreError, WitnessState};

impl Sqlite {
    /// What came of asking each witness.
    pub fn witness_states(&self) -> Result<Vec<WitnessState>, StoreError> {
        self.list(
            "read witnesses",
            "SELECT * FROM witness_state ORDER BY vkey",
            [],
            |c| {
                Ok(WitnessState {
                    vkey: c.text("witness_state.vkey")?,
                    lines: c.count("witness_state.lines")?,
                    cosigned_at: c.time_opt("witness_state.cosigned_at")?,
                    asked_at: c.time("witness_state.asked_at")?,
                    asked_lines: c.count("witness_state.asked_lines")?,
                    said: c.text_opt("witness_state.said")?,
                })
            },
        )
    }

    /// Notes what came of asking, each witness in place of what was noted of it. No evidence, so
    /// not synced.
    pub fn put_witness_states(&mut self, states: &[WitnessState]) -> Result<(), StoreError> {
        let what = "note what witnesses said";
        self.0
            .execute_batch("PRAGMA synchronous = NORMAL")
            .map_err(failed(what))?;
        let put = |state: &WitnessState| {
            let sql = "INSERT OR REPLACE INTO witness_state VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
            let (at, asked) = (
                state.cosigned_at.map(|at| at.as_i64()),
                state.asked_at.as_i64(),
            );
            let values = params![
                state.vkey,
                int(state.lines),
                at,
                asked,
                int(state.asked_lines),
                state.said
            ];
            self.0
                .execute(sql, values)
                .map(|_| ())
                .map_err(failed(what))
        };
        let done = states.iter().try_for_each(put);
        self.0
            .execute_batch("PRAGMA synchronous = FULL")
            .map_err(failed(what))?;
        done
    }

    /// What came of asking each calendar.
    pub fn calendar_states(&self) -> Result<Vec<CalendarState>, StoreError> {
        self.list(
            "read calendars",
            "SELECT * FROM calendar_state ORDER BY address",
            [],
            |c| {
                Ok(CalendarState {
                    address: c.text("calendar_state.address")?,
                    asked_at: c.time("calendar_state.asked_at")?,
                    accepted_at: c.time_opt("calendar_state.accepted_at")?,
                    said: c.text_opt("calendar_state.said")?,
                })
            },
        )
    }

    /// Notes what calendars said at a time: each with why it did not accept. No evidence, so not
    /// synced.
    pub fn put_calendar_answers(
        &mut self,
        at: Seconds,
        said: &[(&str, Option<&str>)],
    ) -> Result<(), StoreError> {
        let what = "note what calendars said";
        self.0
            .execute_batch("PRAGMA synchronous = NORMAL")
            .map_err(failed(what))?;
        let put = |(address, said): &(&str, Option<&str>)| {
            let accepted_at = said.is_none().then_some(at.as_i64());
            let sql = "INSERT INTO calendar_state VALUES (?1, ?2, ?3, ?4) ON CONFLICT (address) DO UPDATE SET \
                       asked_at = ?2, accepted_at = coalesce(?3, accepted_at), said = ?4";
            let values = params![address, at.as_i64(), accepted_at, said];
            self.0
                .execute(sql, values)
                .map(|_| ())
                .map_err(failed(what))
        };
        let done = said.iter().try_for_each(put);
        self.0
            .execute_batch("PRAGMA synchronous = FULL")
            .map_err(failed(what))?;
        done
    }

    /// The largest stored right edge of at most so many lines.
    pub fn tree_mark(&self, at_most: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = "SELECT frontier FROM tree_mark WHERE lines <= ?1 ORDER BY lines DESC LIMIT 1";
        Ok(self
            .list("read a right edge", sql, [int(at_most)], |c| {
                c.blob("tree_mark.frontier")
            })?
            .pop())
    }

    /// Keeps a right edge. No evidence, so not synced.
    pub fn put_tree_mark(&mut self, lines: u64, frontier: &[u8]) -> Result<(), StoreError> {
        let what = "keep a right edge";
        self.0
            .execute_batch("PRAGMA synchronous = NORMAL")
            .map_err(failed(what))?;
        let put = self.0.execute(
            "INSERT OR REPLACE INTO tree_mark VALUES (?1, ?2)",
            params![int(lines), frontier],
        );
        self.0
            .execute_batch("PRAGMA synchronous = FULL")
            .map_err(failed(what))?;
        put.map(|_| ()).map_err(failed(what))
    }

    /// Forgets all right edges: one of them was not the log's.
    pub fn drop_tree_marks(&mut self) -> Result<(), StoreError> {
        self.0
            .execute("DELETE FROM tree_mark", [])
            .map(|_| ())
            .map_err(failed("forget right edges"))
    }

    /// Whether a segment on `main` ends with so many lines: whether the ledger has a tree head of
    /// that size.
    pub fn has_tree_head(&self, lines: u64) -> Result<bool, StoreError> {
        let sql = "SELECT 1 AS found FROM ledger_commit WHERE ref = ?1 AND segment_to = ?2 LIMIT 1";
        let found = self.list(
            "look for a tree head",
            sql,
            params![MAIN, int(lines)],
            |c| c.flag("ledger_commit.found"),
        )?;
        Ok(!found.is_empty())
    }
}
