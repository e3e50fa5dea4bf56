//! Log and ledger as the database holds them: head, lines, commits with their files, and the blocks
//! that lines name.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::record::bitcoin::block::Anchor;
use crate::record::hash::Hash32;
use crate::record::ledger::commit::{CommitKind, MAIN, branch_ref};

use super::access::{PrefixLookup, ReadStore, Store, WriteStore};
use super::rows::{FileRow, LineRow};
use super::table::{Bind, Cells, Columns, Row, values};
use super::{AppliedMark, AuditLine, BlockRow, CommitRow, LedgerHead, SessionRow, StoreError};

/// The parts that indexes of ids without an order have, the newest first: `line >> 15` of every line
/// there is, and of those that a transaction is adding.
pub(super) const PARTS: &str = "WITH RECURSIVE part (p) AS (
       SELECT (SELECT ifnull(max(n), 0) + 32768 FROM log_line) >> 15
       UNION ALL SELECT p - 1 FROM part WHERE p > 0)";

/// From one ref to the next by the index: `DISTINCT` would walk over every commit, several times a
/// turn.
const REFS: &str = "WITH RECURSIVE known(ref) AS (
       SELECT min(ref) FROM ledger_commit
       UNION ALL SELECT (SELECT min(ref) FROM ledger_commit WHERE ref > known.ref) FROM known WHERE ref IS NOT NULL)
     SELECT ref FROM known WHERE ref IS NOT NULL ORDER BY ref";

/// How a commit's message names its session (format, section 6).
fn trailer(row: &SessionRow) -> Vec<u8> {
    format!("\nSession: {}\n", row.id).into_bytes()
}

impl ReadStore {
    /// How many rows of lines and of commits lie outside what the head counts.
    pub fn beyond_head(&self, head: &LedgerHead) -> Result<(u64, u64), StoreError> {
        let sql = "SELECT (SELECT count(*) FROM log_line WHERE n < 0) + (SELECT count(*) FROM log_line WHERE n >= ?1),
                     (SELECT count(*) FROM ledger_commit WHERE n < 0) + (SELECT count(*) FROM ledger_commit WHERE n >= ?2)";
        let counts = values![head.lines, head.commits];
        self.sole("count rows beyond the head", sql, counts)
    }

    /// The head row.
    pub fn head(&self) -> Result<LedgerHead, StoreError> {
        self.row("WHERE id = 1", values![])?
            .ok_or_else(|| no_head("head"))
    }

    /// Whether the mark of what is durable in log and git holds a number below zero, so that the head can't
    /// be read.
    pub fn has_negative_mark(&self) -> Result<bool, StoreError> {
        let sql =
            "SELECT min(applied_lines, applied_bytes, applied_commits) < 0 FROM head WHERE id = 1";
        let found: Option<bool> = self.one("read the mark of log and ledger", sql, values![])?;
        Ok(found == Some(true))
    }

    /// `genesis.json` as the genesis commit carries it.
    pub fn genesis(&self) -> Result<String, StoreError> {
        let sql = "SELECT genesis FROM head WHERE id = 1";
        self.one("read genesis", sql, values![])?
            .ok_or_else(|| no_head("head.genesis"))
    }

    /// Log lines `from..to`, without newlines.
    pub fn lines(&self, from: u64, to: u64) -> Result<Vec<String>, StoreError> {
        let rows: Vec<LineRow> =
            self.rows("WHERE n >= ?1 AND n < ?2 ORDER BY n", values![from, to])?;
        rows.into_iter().map(LineRow::checked).collect()
    }

    /// The HASH that a line begins with; none where there is no such line.
    pub fn line_hash(&self, n: u64) -> Result<Option<Hash32>, StoreError> {
        let sql = "SELECT hash FROM log_line WHERE n = ?1";
        self.one("read a line's hash", sql, values![n])
    }

    /// Calls `each` for the lines of the view `audit_log`, from the first, until it says that it has
    /// enough.
    pub fn each_audit_line(
        &self,
        each: &mut dyn FnMut(AuditLine) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let sql = "SELECT id, prev_hash, curr_hash, line FROM audit_log ORDER BY id";
        self.driver
            .query("walk along the log", sql, values![], &mut |row| {
                Ok(each(AuditLine::take(&mut Cells::of(row))?))
            })
    }

    /// The lines of artifacts of a kind: number, id and HASH, oldest first. Reads all lines.
    pub fn artifact_lines(&self, kind: &str) -> Result<Vec<(u64, String)>, StoreError> {
        let sql = "SELECT n, line FROM log_line WHERE instr(line, ?1) > 0 ORDER BY n";
        let start = format!("|kind:{kind},id:");
        self.list("look for artifacts", sql, values![start])
    }

    /// Up to 64 lines in which a hash stands, the oldest first. Reads all lines.
    pub fn lines_naming(&self, hash: Hash32) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT line FROM log_line WHERE instr(line, ?1) > 0 ORDER BY n LIMIT 64";
        self.list("look for a block's lines", sql, values![hash])
    }

    /// Commits `from..to`, in the order of application.
    pub fn commits(&self, from: u64, to: u64) -> Result<Vec<CommitRow>, StoreError> {
        self.rows("WHERE n >= ?1 AND n < ?2 ORDER BY n", values![from, to])
    }

    /// The commits that belong to a log line, in the order of application.
    pub fn commits_of_line(&self, line: u64) -> Result<Vec<CommitRow>, StoreError> {
        self.rows("WHERE line = ?1 ORDER BY n", values![line])
    }

    /// The newest commit of a ref among the first `below` commits.
    pub fn tip(&self, reference: &str, below: u64) -> Result<Option<CommitRow>, StoreError> {
        let rest = "WHERE ref = ?1 AND n < ?2 ORDER BY n DESC LIMIT 1";
        self.row(rest, values![reference, below])
    }

    /// The commits of `main` that carry a tree head, oldest first: id, and H of the file
    /// `checkpoint`.
    pub fn heads(&self) -> Result<Vec<(String, Hash32)>, StoreError> {
        let sql = "SELECT c.id, f.content FROM ledger_commit c
                    JOIN ledger_file f ON f.commit_n = ifnull(c.tree_of, c.n) AND f.name = 'checkpoint'
                   WHERE c.ref = ?1 ORDER BY c.n";
        let files: Vec<(String, Vec<u8>)> = self.list("read the heads", sql, values![MAIN])?;
        let hashed = |(id, file): (String, Vec<u8>)| (id, Hash32::digest(&file));
        Ok(files.into_iter().map(hashed).collect())
    }

    /// Whether a segment on `main` ends with so many lines: whether the ledger has a tree head of
    /// that size.
    pub fn has_tree_head(&self, lines: u64) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM ledger_commit WHERE ref = ?1 AND segment_to = ?2)";
        self.sole("look for a tree head", sql, values![MAIN, lines])
    }

    /// Number of the newest commit of a kind on a ref.
    pub fn last_of_kind(
        &self,
        reference: &str,
        kind: CommitKind,
    ) -> Result<Option<u64>, StoreError> {
        let sql =
            "SELECT n FROM ledger_commit WHERE ref = ?1 AND kind = ?2 ORDER BY n DESC LIMIT 1";
        self.one("read a tip", sql, values![reference, kind])
    }

    /// The commits of key rotations, oldest first.
    pub fn rotations(&self) -> Result<Vec<CommitRow>, StoreError> {
        let rest = "WHERE ref = ?1 AND kind = 'key_rotate' ORDER BY n";
        self.rows(rest, values![MAIN])
    }

    /// A session's start commit, looked for backwards from a line at or after it (its first
    /// prompt's).
    pub fn start_commit(
        &self,
        session: &SessionRow,
        from_line: u64,
    ) -> Result<Option<CommitRow>, StoreError> {
        let rest = "WHERE ref = ?1 AND kind = 'session_start' AND line <= ?2 AND instr(raw, ?3) > 0
                    ORDER BY n DESC LIMIT 1";
        let reference = branch_ref(&session.branch);
        self.row(rest, values![reference, from_line, trailer(session)])
    }

    /// A session's end commit on its branch, looked for forwards from its start commit's number.
    pub fn end_commit(
        &self,
        session: &SessionRow,
        start: u64,
    ) -> Result<Option<CommitRow>, StoreError> {
        let rest = "WHERE ref = ?1 AND n > ?2 AND kind = 'session_end' AND instr(raw, ?3) > 0
                    ORDER BY n LIMIT 1";
        let reference = branch_ref(&session.branch);
        self.row(rest, values![reference, start, trailer(session)])
    }

    /// The refs that have any commit.
    pub fn refs(&self) -> Result<Vec<String>, StoreError> {
        self.list("read refs", REFS, values![])
    }

    /// The stored files of a commit (its `audit.log` is lines, and not among them).
    pub fn files(&self, commit: u64) -> Result<BTreeMap<String, Vec<u8>>, StoreError> {
        let sql = "SELECT name, content FROM ledger_file WHERE commit_n = ?1";
        let files: Vec<(String, Vec<u8>)> =
            self.list("read a commit's files", sql, values![commit])?;
        Ok(files.into_iter().collect())
    }

    /// `record.json` as it is stored with the commit of a line.
    pub fn record_of_line(&self, line: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = "SELECT f.content FROM ledger_commit c JOIN ledger_file f ON f.commit_n = c.n
                    WHERE c.line = ?1 AND c.kind = 'interaction' AND f.name = 'record.json'";
        self.one("read a record", sql, values![line])
    }

    /// All known blocks of a height, the newest first.
    pub fn blocks_at(&self, height: u32) -> Result<Vec<Anchor>, StoreError> {
        let rows = self.rows("WHERE height = ?1 ORDER BY rowid DESC", values![height])?;
        Ok(anchors(rows))
    }

    /// What is kept of a block, by its hash: at one height, unless somebody has lied. No evidence:
    /// lines are.
    pub fn blocks_of(&self, hash: Hash32) -> Result<Vec<Anchor>, StoreError> {
        Ok(anchors(self.rows("WHERE hash = ?1", values![hash])?))
    }

    /// The lowest height that any line names; none when all blocks are local.
    pub fn lowest_block(&self) -> Result<Option<u32>, StoreError> {
        let sql = "SELECT min(height) FROM block WHERE height > 0";
        self.sole("read the lowest block", sql, values![])
    }
}

/// By its git id.
impl PrefixLookup for CommitRow {
    const FINDING: &'static str = Self::READING;

    fn by_prefix() -> String {
        format!(
            "{PARTS} SELECT {} FROM part CROSS JOIN ledger_commit c
              WHERE c.line >> 15 = part.p AND c.id >= ?1 AND c.id < ?2 ORDER BY n LIMIT ?3",
            Self::columns_of("c")
        )
    }
}

fn anchors(rows: Vec<BlockRow>) -> Vec<Anchor> {
    rows.into_iter().map(|row| row.anchor).collect()
}

fn no_head(place: &str) -> StoreError {
    StoreError::Corrupt {
        place: place.to_owned(),
        expected: "one row".to_owned(),
        actual: "none".to_owned(),
    }
}

impl LineRow {
    /// The line, whose own column of its HASH must agree with it.
    fn checked(self) -> Result<String, StoreError> {
        let rest = self.line.strip_prefix(&self.hash.to_string());
        if rest.is_some_and(|rest| rest.starts_with('|')) {
            return Ok(self.line);
        }
        Err(StoreError::Corrupt {
            place: "log_line.hash".to_owned(),
            expected: "the HASH that the line begins with".to_owned(),
            actual: self.hash.to_string(),
        })
    }
}

impl WriteStore {
    /// Writes the first head; fails when there is one.
    pub fn create_head(&mut self, head: &LedgerHead, genesis: &str) -> Result<(), StoreError> {
        self.add_all(std::slice::from_ref(head), &[("genesis", genesis.value())])
    }

    /// Moves the head by compare-and-swap from the state that `from` describes. What is known to be
    /// durable stays as it is.
    pub fn move_head(&mut self, from: &LedgerHead, to: &LedgerHead) -> Result<(), StoreError> {
        let now = self.head()?;
        let to = LedgerHead {
            applied: now.applied,
            ..to.clone()
        };
        let filter = "id = 1 AND lines = ?1 AND hash = ?2 AND commits = ?3";
        let found = (filter, values![from.lines, from.hash, from.commits]);
        if self.set("move the head", "head", &to, found)? == 1 {
            return Ok(());
        }
        Err(StoreError::HeadMoved {
            expected: from.lines,
            actual: format!("{} lines, head {}", now.lines, now.hash),
        })
    }

    /// Appends a line.
    pub fn put_line(&mut self, n: u64, hash: Hash32, line: &str) -> Result<(), StoreError> {
        let line = line.to_owned();
        self.add(&LineRow { n, hash, line })
    }

    /// Appends a commit with its files.
    pub fn put_commit(
        &mut self,
        commit: &CommitRow,
        files: &BTreeMap<String, Vec<u8>>,
    ) -> Result<(), StoreError> {
        self.add(commit)?;
        let row = |(name, content): (&String, &Vec<u8>)| FileRow {
            commit: commit.n,
            name: name.clone(),
            content: content.clone(),
        };
        self.add_all(&files.iter().map(row).collect::<Vec<_>>(), &[])
    }

    /// Remembers a block that a line names, in place of whatever is kept under its hash; the same
    /// one twice is fine.
    pub fn put_block(&mut self, anchor: &Anchor) -> Result<(), StoreError> {
        if anchor.header.is_none() {
            return Ok(());
        }
        self.change(
            "forget a lie",
            "DELETE FROM block WHERE hash = ?1 AND height <> ?2",
            values![anchor.block.hash, anchor.block.height],
        )?;
        let row = BlockRow {
            anchor: anchor.clone(),
        };
        let otherwise = "ON CONFLICT (hash, height) DO UPDATE SET
                           header = excluded.header, document = excluded.document";
        self.insert(&[row], &[], otherwise).map(drop)
    }
}

impl Store {
    /// Moves the mark of what is known to be durable in log and git. Not durable by itself: a lost
    /// mark only makes the next open apply again.
    pub fn mark_applied(&mut self, applied: &AppliedMark) -> Result<(), StoreError> {
        // A user waits for two fsyncs, not three.
        let what = "mark as applied";
        self.write_unsynced(|write| {
            let all = ("id = 1", values![]);
            write.set(what, "head", applied, all).map(drop)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::plan;

    #[test]
    fn no_look_up_walks_over_the_commits() {
        for (sql, index) in [
            (
                "SELECT * FROM ledger_commit WHERE line >> 15 = 0 AND id >= '0' AND id < '0g' ORDER BY n LIMIT 3",
                "idx_ledger_commit_id (<expr>=? AND id>",
            ),
            (
                "SELECT * FROM ledger_commit WHERE line = 1 ORDER BY n",
                "idx_ledger_commit_line",
            ),
            (
                "SELECT * FROM ledger_commit WHERE ref = '0' AND kind = 'session_start' AND line <= 1 ORDER BY n DESC",
                "idx_ledger_commit_",
            ),
            (
                "SELECT * FROM ledger_commit WHERE ref = '0' AND n > 1 AND kind = 'session_end' ORDER BY n",
                "(ref=? AND",
            ),
        ] {
            let plan = plan(sql);
            assert!(
                plan.contains(index) && !plan.contains("SCAN"),
                "{sql}: {plan}"
            );
        }
        assert!(!plan(REFS).contains("SCAN ledger_commit"));
    }
}
