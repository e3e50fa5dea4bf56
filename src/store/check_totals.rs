//! How checks came out, added up by parts of the log: a report reads sums of what is old, and rows
//! only of what is new.
//!
//! A part is added up once prompts stand in the second one behind it, when hardly an answer to one of
//! its own is still to come. One that comes then takes the sums away, and they are made again.

use std::collections::BTreeSet;

use crate::record::hash::Hash32;
use crate::record::time::Seconds;

use super::access::{ReadStore, WriteStore};
use super::reports::{CheckCount, CheckGroup, count_checks};
use super::table::{row, values};
use super::{AssertionRow, StoreError};

/// 32,768 lines are a part, as of indexes in parts.
const SHIFT: u32 = 15;

row! {
    /// A part that is added up.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct SummedPart of "check_part" {
        /// Number of the part: of its lines, without their last 15 bits.
        part: u64 = "part",
        /// Time of the oldest prompt in it.
        oldest: Option<Seconds> = "oldest",
    }
}

row! {
    /// How many checks of one name and specialist ended in one way in a part.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct CheckTotal of "check_total" {
        /// Which part.
        part: u64 = "part",
        /// The kernel of their sessions.
        kernel: Hash32 = "kernel_hash",
        /// The specialist that was asked; empty where a model was asked by its own name.
        specialist: String = "specialist",
        /// Class and rule.
        name: String = "name",
        /// `info`, `soft` or `blocking`.
        level: String = "level",
        /// Whether nothing was found.
        passed: bool = "passed",
        /// How many.
        made: u64 = "made",
    }
}

/// A part (`?1`), as its exchanges give it.
const PART: &str = "SELECT ?1 AS part, min(created_at) AS oldest FROM llm_exchange
  WHERE prompt_line >= ?1 << 15 AND prompt_line < (?1 + 1) << 15";

/// The last part that lines can be in: their numbers have 63 bits.
const MOST_PART: u64 = (1 << 48) - 1;

/// The sums of a part (`?1`), as its rows give them, in the order of their key.
const TOTALS: &str = "SELECT ?1 AS part, s.kernel_hash, ifnull(m.specialist, '') AS specialist, a.name, a.level,
        a.passed, count(*) AS made
   FROM llm_exchange e JOIN chat_session s ON s.session_id = e.session_id
  CROSS JOIN assertion_event a ON a.line = e.prompt_line LEFT JOIN exchange_measure m ON m.line = e.prompt_line
  WHERE e.prompt_line >= ?1 << 15 AND e.prompt_line < (?1 + 1) << 15
  GROUP BY 2, 3, 4, 5, 6 ORDER BY 2, 3, 4, 5, 6";

/// Parts that lie behind a line (`?1`) and hold nothing older than a time (`?2`).
const WHOLE: &str =
    "SELECT part FROM check_part WHERE part << 15 >= ?1 AND (oldest IS NULL OR oldest >= ?2)";

/// Checks of rated answers in such parts.
fn rated() -> String {
    format!(
        "SELECT r.domain AS key, s.kernel_hash, a.level, a.passed, count(*) AS count
           FROM (SELECT exchange_id, domain, max(line) FROM rating GROUP BY exchange_id) r
           CROSS JOIN llm_exchange e ON e.exchange_id = r.exchange_id
           JOIN chat_session s ON s.session_id = e.session_id
          CROSS JOIN assertion_event a ON a.line = e.prompt_line
          WHERE e.prompt_line >> 15 IN ({WHOLE}) GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4"
    )
}

/// The lines from one on that lie in none of these parts.
fn lines_beside(from: u64, parts: &[u64]) -> Vec<(u64, u64)> {
    const END: u64 = i64::MAX.unsigned_abs();
    let mut at = from;
    let mut beside = Vec::new();
    for part in parts {
        beside.push((at, part << SHIFT));
        at = (part + 1) << SHIFT;
    }
    beside.push((at, END));
    beside.retain(|(begin, end)| begin < end);
    beside
}

impl ReadStore {
    /// The checks of exchanges from a line on that are no older than a time; the same ones may be
    /// counted in several places, to be added up.
    pub fn check_counts(
        &self,
        (from, since): (u64, Seconds),
        by: CheckGroup,
    ) -> Result<Vec<CheckCount>, StoreError> {
        let whole = format!("{WHOLE} ORDER BY part");
        let whole: Vec<u64> = self.list("look for sums of checks", &whole, values![from, since])?;
        let mut counts = self.check_sums((from, since), by)?;
        for (begin, end) in lines_beside(from, &whole) {
            let rows = values![begin, since, end];
            counts.extend(self.list::<CheckCount>("count checks", &count_checks(by), rows)?);
        }
        Ok(counts)
    }

    /// The same of whole parts alone.
    fn check_sums(
        &self,
        (from, since): (u64, Seconds),
        by: CheckGroup,
    ) -> Result<Vec<CheckCount>, StoreError> {
        const ADDING: &str = "add up checks";
        let key = match by {
            CheckGroup::Name => "name",
            CheckGroup::Specialist => "nullif(specialist, '')",
            CheckGroup::Domain => "NULL",
        };
        let sql = format!(
            "SELECT {key} AS key, kernel_hash, level, passed, sum(made) AS count FROM check_total
              WHERE part IN ({WHOLE}) GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4"
        );
        let mut sums: Vec<CheckCount> = self.list(ADDING, &sql, values![from, since])?;
        if by != CheckGroup::Domain || sums.is_empty() {
            return Ok(sums);
        }
        // What nobody rated is the rest.
        let rated: Vec<CheckCount> = self.list(ADDING, &rated(), values![from, since])?;
        for one in &rated {
            let is_of = |sum: &&mut CheckCount| {
                (sum.kernel, &sum.level, sum.passed) == (one.kernel, &one.level, one.passed)
            };
            if let Some(sum) = sums.iter_mut().find(is_of) {
                sum.count = sum.count.saturating_sub(one.count);
            }
        }
        sums.retain(|sum| sum.count > 0);
        sums.extend(rated);
        Ok(sums)
    }

    /// The parts whose sums are not what the rows give.
    pub fn wrong_check_parts(&self) -> Result<BTreeSet<u64>, StoreError> {
        let parts = "SELECT part FROM check_part WHERE part BETWEEN 0 AND ?1
                     UNION SELECT part FROM check_total WHERE part BETWEEN 0 AND ?1";
        let mut wrong: BTreeSet<u64> = self
            .list("list sums of checks", parts, values![MOST_PART])?
            .into_iter()
            .collect();
        for part in wrong.clone() {
            if self.check_part_holds(part)? {
                wrong.remove(&part);
            }
        }
        Ok(wrong)
    }

    /// How many sums are of parts that no line can be in.
    pub fn stray_check_sums(&self) -> Result<u64, StoreError> {
        let sql = "SELECT (SELECT count(*) FROM check_part WHERE part NOT BETWEEN 0 AND ?1)
                        + (SELECT count(*) FROM check_total WHERE part NOT BETWEEN 0 AND ?1)";
        self.sole("count sums of checks", sql, values![MOST_PART])
    }

    fn check_part_holds(&self, part: u64) -> Result<bool, StoreError> {
        let held = || {
            let totals = "WHERE part = ?1 ORDER BY kernel_hash, specialist, name, level, passed";
            let part_row: Option<SummedPart> = self.row("WHERE part = ?1", values![part])?;
            Ok((part_row, self.rows::<CheckTotal>(totals, values![part])?))
        };
        let given = (
            self.one("look at a part of the log", PART, values![part])?,
            self.list("add up checks", TOTALS, values![part])?,
        );
        match held() {
            Ok(held) => Ok(held == given),
            Err(StoreError::Corrupt { .. }) => Ok(false),
            Err(fault) => Err(fault),
        }
    }
}

impl WriteStore {
    /// Adds the checks of one exchange.
    pub fn put_checks(&mut self, checks: &[AssertionRow]) -> Result<(), StoreError> {
        self.put_all(checks)?;
        let Some(first) = checks.first() else {
            return Ok(());
        };
        let part = self.line_of(first.exchange)? >> SHIFT;
        let found: Option<SummedPart> = self.row("WHERE part = ?1", values![part])?;
        found.map_or(Ok(()), |_| self.take_check_part(part))
    }

    /// Takes the sums of a part away.
    fn take_check_part(&self, part: u64) -> Result<(), StoreError> {
        for table in ["check_total", "check_part"] {
            let sql = format!("DELETE FROM {table} WHERE part = ?1");
            self.change("take sums of checks away", &sql, values![part])?;
        }
        Ok(())
    }

    /// Adds up the first part that is not yet, if its time has come. One in a transaction, so that
    /// nobody waits for long.
    pub(super) fn add_up_checks(&self) -> Result<(), StoreError> {
        let next = "WITH next (part) AS (SELECT 0 UNION ALL SELECT part + 1 FROM check_part)
                    SELECT min(part) FROM next WHERE part NOT IN (SELECT part FROM check_part)";
        let next: u64 = self.sole("look for sums of checks", next, values![])?;
        let newest = "SELECT ifnull(max(prompt_line), 0) FROM llm_exchange";
        let newest: u64 = self.sole("look for the newest prompt", newest, values![])?;
        if next + 1 >= newest >> SHIFT {
            return Ok(());
        }
        // Sums without their part are of nobody.
        self.take_check_part(next)?;
        let sql = format!("INSERT INTO check_part (part, oldest) {PART}");
        self.change("add up checks", &sql, values![next])?;
        let sql = format!(
            "INSERT INTO check_total (part, kernel_hash, specialist, name, level, passed, made) {TOTALS}"
        );
        self.change("add up checks", &sql, values![next]).map(drop)
    }

    /// Takes away the sums that are not what the rows give; they are made again in time.
    pub(super) fn mend_check_totals(&self) -> Result<(), StoreError> {
        for table in ["check_total", "check_part"] {
            let sql = format!("DELETE FROM {table} WHERE part NOT BETWEEN 0 AND ?1");
            self.change("take sums of checks away", &sql, values![MOST_PART])?;
        }
        let wrong = self.wrong_check_parts()?;
        wrong
            .iter()
            .try_for_each(|part| self.take_check_part(*part))
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::config::DbConfig;

    use super::*;
    use crate::store::{Store, plan};

    #[test]
    fn lines_beside_parts_are_all_others() {
        let end = i64::MAX.unsigned_abs();
        assert_eq!(lines_beside(5, &[]), [(5, end)]);
        assert_eq!(lines_beside(0, &[0, 1]), [(65_536, end)]);
        assert_eq!(
            lines_beside(7, &[1, 3]),
            [(7, 32_768), (65_536, 98_304), (131_072, end)]
        );
        assert_eq!(lines_beside(32_768, &[1]), [(65_536, end)]);
    }

    #[test]
    fn what_is_added_up_is_read_along_the_lines() {
        for sql in [PART, TOTALS] {
            let plan = plan(sql);
            assert!(
                plan.contains("USING COVERING INDEX idx_llm_exchange_counted (prompt_line>? AND prompt_line<?)"),
                "{plan}"
            );
        }
        let next = plan("SELECT ifnull(max(prompt_line), 0) FROM llm_exchange");
        assert!(
            next.contains("SEARCH llm_exchange USING COVERING INDEX"),
            "{next}"
        );
    }

    /// An exchange on each of some lines, with two checks; every third one of a specialist, every fifth
    /// one rated.
    fn with_exchanges(lines: &[u64]) -> (tempfile::TempDir, Store, rusqlite::Connection) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("gently.db");
        let store = Store::create(&path).unwrap();
        let hand = rusqlite::Connection::open(path).unwrap();
        hand.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)
            .unwrap();
        hand.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA busy_timeout = 10000")
            .unwrap();
        let zero = "0".repeat(64);
        hand.execute(
            "INSERT INTO chat_session (session_id, started_at, phase, tier, kernel_hash, host_role, model_id, ledger_session,
               auth_key_hash, branch, block, status, prompts, interactions, chain_head, last_at)
             VALUES ('s', 0, 'p', 1, ?1, 'r', 'm', 'l', ?1, 'b', '', 'open', 0, 0, ?1, 0)",
            [&zero],
        )
        .unwrap();
        for line in lines {
            add(&hand, *line);
        }
        (home, store, hand)
    }

    fn add(hand: &rusqlite::Connection, line: u64) {
        let id = format!("00000000-0000-8000-8000-{line:012x}");
        let line = i64::try_from(line).unwrap();
        hand.execute(
            "INSERT INTO llm_exchange (exchange_id, session_id, turn_user_id, created_at, seq, model, decision,
               authority_state, exclusions, prompt_commitment, prompt_line) VALUES (?1, 's', 't', ?2, ?2, 'm', 'allow', 'a', '[]', 'c', ?2)",
            rusqlite::params![id, line],
        )
        .unwrap();
        hand.execute(
            "INSERT INTO assertion_event SELECT ?2, name, ?1, ?1, 'soft', passed, 0
               FROM (SELECT 'a.one' AS name, 1 AS passed UNION ALL SELECT 'b.two', ?2 % 2)",
            rusqlite::params![id, line],
        )
        .unwrap();
        if line % 3 == 0 {
            hand.execute(
                "INSERT INTO exchange_measure (line, exchange_id, program, door, depth, sources, same_pairs, is_in_conflict,
                   compile_ms, trace_mapping, trace_commitment, specialist)
                 VALUES (?2, ?1, 'g', 'ask', 0, 0, 0, 0, 0, 't', 'c', 'specialist:000001')",
                rusqlite::params![id, line],
            )
            .unwrap();
        }
        if line % 5 == 0 {
            hand.execute(
                "INSERT INTO rating VALUES (?2, ?1, ?3, NULL, 'm', 'law', 'good')",
                rusqlite::params![id, line, "0".repeat(64)],
            )
            .unwrap();
        }
    }

    /// What is told of checks, added up, with the sums and without.
    fn told(store: &Store, (from, since): (u64, u64), by: CheckGroup) -> [Vec<CheckCount>; 2] {
        let since = Seconds::new(since).unwrap();
        let end = i64::MAX.unsigned_abs();
        let rows: Vec<CheckCount> = store
            .list("count", &count_checks(by), values![from, since, end])
            .unwrap();
        let found = store.check_counts((from, since), by).unwrap();
        [rows, found].map(|counts| {
            let mut sums: Vec<CheckCount> = Vec::new();
            for count in counts {
                let is_same = |sum: &&mut CheckCount| {
                    (&sum.key, sum.kernel, &sum.level, sum.passed)
                        == (&count.key, count.kernel, &count.level, count.passed)
                };
                match sums.iter_mut().find(is_same) {
                    Some(sum) => sum.count += count.count,
                    None => sums.push(count),
                }
            }
            sums.sort_by(|a, b| (&a.key, a.passed).cmp(&(&b.key, b.passed)));
            sums
        })
    }

    fn parts(store: &Store) -> Vec<u64> {
        let sql = "SELECT part FROM check_part ORDER BY part";
        store.list("list", sql, values![]).unwrap()
    }

    #[test]
    fn sums_and_rows_tell_the_same_from_any_line_and_time() {
        let lines: Vec<u64> = (0..140).map(|n| n * 1_001).collect();
        let (_home, mut store, hand) = with_exchanges(&lines);
        // The clock of one was behind: with a time, its part is not counted as a whole.
        hand.execute(
            "UPDATE llm_exchange SET created_at = 3 WHERE prompt_line = 70070",
            [],
        )
        .unwrap();
        for done in [vec![], vec![0], vec![0, 1], vec![0, 1, 2], vec![0, 1, 2]] {
            // The fifth part, number 4, is the newest.
            assert_eq!(parts(&store), done);
            for from in [0, 1, 40_000, 65_536, 66_066, 139_139, 200_000] {
                for since in [0, 1, 50_000, 98_304, 139_000, 999_999] {
                    for by in CheckGroup::ALL {
                        let [rows, found] = told(&store, (from, since), by);
                        assert_eq!(rows, found, "{from} {since} {by:?} {done:?}");
                    }
                }
            }
            store.transact(&mut |_| Ok(())).unwrap();
        }
        assert!(store.wrong_check_parts().unwrap().is_empty());
    }

    #[test]
    fn sums_of_no_part_are_found_and_taken_away() {
        let (_home, mut store, hand) = with_exchanges(&[1]);
        hand.execute_batch("INSERT INTO check_part VALUES (-1, NULL), (562949953421312, NULL)")
            .unwrap();
        assert_eq!(store.stray_check_sums().unwrap(), 2);
        assert!(store.wrong_check_parts().unwrap().is_empty());
        store
            .transact(&mut |write| write.mend_check_totals())
            .unwrap();
        assert_eq!(store.stray_check_sums().unwrap(), 0);
    }

    #[test]
    fn what_is_changed_by_hand_is_found_and_made_again() {
        let (_home, mut store, hand) =
            with_exchanges(&[1, 33_000, 33_003, 70_000, 99_000, 140_000]);
        for _ in 0..3 {
            store.transact(&mut |_| Ok(())).unwrap();
        }
        assert_eq!(parts(&store), [0, 1, 2]);
        for change in [
            "UPDATE check_total SET made = made + 1 WHERE part = 1",
            "UPDATE check_total SET made = -1 WHERE part = 1",
            "UPDATE check_total SET specialist = 'specialist:000009' WHERE part = 1 AND specialist <> ''",
            "UPDATE check_total SET kernel_hash = '' WHERE part = 1",
            "UPDATE check_total SET name = 'c.three' WHERE part = 1 AND name = 'a.one'",
            "UPDATE check_total SET level = 'info' WHERE part = 1",
            "DELETE FROM check_total WHERE part = 1 AND name = 'a.one'",
            "DELETE FROM check_part WHERE part = 1",
            "UPDATE check_part SET oldest = NULL WHERE part = 1",
            "UPDATE check_part SET oldest = -1 WHERE part = 1",
            "UPDATE check_total SET part = 7 WHERE part = 1",
            "INSERT INTO check_total SELECT 9, kernel_hash, specialist, name, level, passed, made FROM check_total WHERE part = 1",
        ] {
            assert!(hand.execute(change, []).unwrap() > 0, "{change}");
            assert!(!store.wrong_check_parts().unwrap().is_empty(), "{change}");
            assert!(store.derived_faults().unwrap().checks > 0, "{change}");
            store.derive_again().unwrap();
            store.transact(&mut |_| Ok(())).unwrap();
            assert!(store.wrong_check_parts().unwrap().is_empty(), "{change}");
            assert_eq!(parts(&store), [0, 1, 2], "{change}");
        }
    }

    #[test]
    fn a_late_answer_takes_the_sums_of_its_part_away() {
        let (_home, mut store, _hand) = with_exchanges(&[1, 33_000, 99_000]);
        store.transact(&mut |_| Ok(())).unwrap();
        store.transact(&mut |_| Ok(())).unwrap();
        assert_eq!(parts(&store), [0, 1]);
        let late = AssertionRow {
            assertion_id: uuid::Uuid::nil(),
            exchange: "00000000-0000-8000-8000-000000000001".parse().unwrap(),
            name: "c.late".to_owned(),
            level: "soft".to_owned(),
            passed: false,
            created_at: Seconds::ZERO,
        };
        store
            .transact(&mut |write| {
                write.put_checks(std::slice::from_ref(&late))?;
                let left: Vec<u64> =
                    write.list("look", "SELECT part FROM check_part", values![])?;
                assert_eq!(left, [1]);
                Ok(())
            })
            .unwrap();
        assert_eq!(parts(&store), [0, 1]);
        assert!(store.wrong_check_parts().unwrap().is_empty());
        let [rows, found] = told(&store, (0, 0), CheckGroup::Name);
        assert_eq!(rows, found);
        assert!(
            found
                .iter()
                .any(|count| count.key.as_deref() == Some("c.late"))
        );
    }
}
