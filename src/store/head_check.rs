//! What the next line and commit build upon, held against the lines and commits that are there.
//!
//! Columns of `head` and of an open session are no evidence: they say where to go on. A writer that
//! goes on from a wrong one signs what can never verify, so it looks here before it signs.

use crate::record::bitcoin::block::branch_of;
use crate::record::hash::Hash32;
use crate::record::ledger::commit::{MAIN, branch_ref};
use crate::record::ledger::exchange::row_id;
use crate::record::log::entry::{Event, Line};
use crate::record::tree::{Frontier, parse_note};

use super::ledger::PARTS;
use super::table::values;
use super::{LedgerHead, ReadStore, SessionRow, StoreError};

/// So many branches have sessions: the remainders of heights by 7, and one.
const BRANCHES: u32 = 7;

/// A column that the lines or commits contradict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnFault {
    /// Where: `head.segment_lines`.
    pub place: String,
    /// What stands there.
    pub says: String,
    /// What lines and commits say.
    pub found: String,
}

impl ColumnFault {
    fn of(place: &str, says: impl ToString, found: impl ToString) -> ColumnFault {
        ColumnFault {
            place: place.to_owned(),
            says: says.to_string(),
            found: found.to_string(),
        }
    }
}

/// A line of the log as it stands in the database; none for what is no line.
fn read(text: &str) -> Option<Line> {
    Line::parse(text.as_bytes()).ok()
}

impl ReadStore {
    /// The first column of `head` that does not fit what is there.
    pub fn head_fault(&self, head: &LedgerHead) -> Result<Option<ColumnFault>, StoreError> {
        if let Some(fault) = frontier_fault(head) {
            return Ok(Some(fault));
        }
        if let Some(fault) = self.end_fault(head)? {
            return Ok(Some(fault));
        }
        if let Some(fault) = self.commits_fault(head)? {
            return Ok(Some(fault));
        }
        self.segment_fault(head)
    }

    /// How many commits there are, and on which branch a session started last.
    fn commits_fault(&self, head: &LedgerHead) -> Result<Option<ColumnFault>, StoreError> {
        let sql = "SELECT ifnull(max(n) + 1, 0) FROM ledger_commit";
        let commits: u64 = self.sole("count the commits", sql, values![])?;
        if commits != head.commits {
            let fault = ColumnFault::of("head.commits", head.commits, commits);
            return Ok(Some(fault));
        }
        let mut last: Option<(u64, String)> = None;
        for height in 0..BRANCHES {
            let branch = branch_of(height);
            let sql = "SELECT max(n) FROM ledger_commit WHERE ref = ?1 AND kind = 'session_start'";
            let what = "find the newest start of a session";
            let newest: Option<u64> = self.sole(what, sql, values![branch_ref(&branch)])?;
            last = last.max(newest.map(|n| (n, branch)));
        }
        let last = last.map(|(_, branch)| branch);
        Ok((last != head.last_branch).then(|| {
            let spelled =
                |branch: &Option<String>| branch.clone().unwrap_or_else(|| "none".to_owned());
            ColumnFault::of(
                "head.last_branch",
                spelled(&head.last_branch),
                spelled(&last),
            )
        }))
    }

    /// The last line against what `head` says of it.
    fn end_fault(&self, head: &LedgerHead) -> Result<Option<ColumnFault>, StoreError> {
        let fault = |column: &str, says: String, found: String| {
            Some(ColumnFault::of(&format!("head.{column}"), says, found))
        };
        let mut last_two = self.lines(head.lines.saturating_sub(2), head.lines)?;
        let Some(last) = last_two.pop() else {
            let is_none = head.lines == 0 && head.hash == Hash32::GENESIS;
            return Ok(match is_none {
                true => None,
                false => fault("lines", head.lines.to_string(), "no line".to_owned()),
            });
        };
        let prev = match last_two.pop() {
            None => Some(Hash32::GENESIS),
            Some(text) => read(&text).map(|line| line.hash),
        };
        let place = format!("line {}", head.lines);
        let Some((line, prev)) = read(&last).zip(prev) else {
            return Ok(fault("lines", place, "what is no line".to_owned()));
        };
        if !line.follows(prev) {
            let found = format!(
                "a line that does not follow the one before it: {}",
                line.hash
            );
            return Ok(fault("lines", place, found));
        }
        if line.hash != head.hash {
            return Ok(fault("hash", head.hash.to_string(), line.hash.to_string()));
        }
        if line.time != head.time {
            return Ok(fault("time", head.time.to_string(), line.time.to_string()));
        }
        if line.height > head.height {
            let (says, found) = (head.height.to_string(), line.height.to_string());
            return Ok(fault("height", says, found));
        }
        Ok(None)
    }

    /// How many lines are inside `main`, against its newest segment.
    fn segment_fault(&self, head: &LedgerHead) -> Result<Option<ColumnFault>, StoreError> {
        let sql = "SELECT segment_to FROM ledger_commit WHERE ref = ?1 AND n < ?2 AND segment_to IS NOT NULL
                   ORDER BY n DESC LIMIT 1";
        let what = "read the newest segment";
        let newest: Option<u64> = self.one(what, sql, values![MAIN, head.commits])?;
        let inside = newest.unwrap_or_default();
        Ok((inside != head.segment_lines).then(|| {
            let found = format!("{inside}, where the newest segment of main ends");
            ColumnFault::of("head.segment_lines", head.segment_lines, found)
        }))
    }

    /// The first column of an open session that does not fit its exchanges.
    pub fn session_fault(&self, session: &SessionRow) -> Result<Option<ColumnFault>, StoreError> {
        if session.uuid != row_id("session", session.id, 0) {
            let found = format!("another session's row, {}", session.uuid);
            let fault = ColumnFault::of("chat_session.ledger_session", session.id, found);
            return Ok(Some(fault));
        }
        let block = &session.anchor.block;
        if block.is_local() && block.height != 0 {
            let found = "0, as of each block that this machine's clock stands for";
            return Ok(Some(ColumnFault::of(
                "chat_session.block",
                block.height,
                found,
            )));
        }
        let sql = "SELECT ifnull(max(seq), 0) FROM llm_exchange WHERE session_id = ?1";
        let prompts: u64 =
            self.sole("read a session's newest prompt", sql, values![session.uuid])?;
        if session.ended_at.is_none() && self.is_over(session, prompts)? {
            let found = "closed, as a line of the log ends it";
            return Ok(Some(ColumnFault::of("chat_session.status", "open", found)));
        }
        if !self.is_on_its_branch(session)? {
            let found = "another one, as its commits stand";
            let fault = ColumnFault::of("chat_session.branch", &session.branch, found);
            return Ok(Some(fault));
        }
        if prompts != session.prompts {
            let found = format!("{prompts}, as its newest prompt is numbered");
            let fault = ColumnFault::of("chat_session.prompts", session.prompts, found);
            return Ok(Some(fault));
        }
        let is_newest = match session.chain_head == session.id {
            true => !self.is_answered_after(session, 0, 0)?,
            false => {
                let of = self.chain_place(session)?;
                let later = of.map(|(seq, line)| self.is_answered_after(session, seq, line));
                later.transpose()? == Some(false)
            }
        };
        Ok((!is_newest).then(|| {
            let found = "another chain entry of its newest answer";
            ColumnFault::of("chat_session.chain_head", session.chain_head, found)
        }))
    }

    /// Whether the commit of the session's newest answer, or else of its start, is on its branch.
    fn is_on_its_branch(&self, session: &SessionRow) -> Result<bool, StoreError> {
        let branch = branch_ref(&session.branch);
        let answered = match session.chain_head == session.id {
            true => None,
            false => self.chain_place(session)?,
        };
        let Some((_, line)) = answered else {
            return Ok(self.start_line(session)?.is_some());
        };
        let sql = "SELECT ref FROM ledger_commit WHERE line = ?1 AND kind = 'interaction'";
        let found: Option<String> = self.one("find an answer's branch", sql, values![line])?;
        Ok(found.is_none_or(|found| found == branch))
    }

    /// Where the session starts, on its branch.
    fn start_line(&self, session: &SessionRow) -> Result<Option<u64>, StoreError> {
        let sql = "SELECT c.line FROM ledger_commit c CROSS JOIN log_line l
                    WHERE c.ref = ?1 AND c.kind = 'session_start' AND l.n = c.line
                      AND instr(l.line, '|session_start|' || ?2 || '|') > 0
                    ORDER BY c.n DESC LIMIT 1";
        let branch = branch_ref(&session.branch);
        self.one("find a session's start", sql, values![branch, session.id])
    }

    /// How many answers a session has, where its row says another number: for its end, which signs it.
    pub fn answers_fault(&self, session: &SessionRow) -> Result<Option<ColumnFault>, StoreError> {
        let sql =
            "SELECT count(*) FROM llm_exchange WHERE session_id = ?1 AND outcome = 'answered'";
        let answers: u64 = self.sole("count a session's answers", sql, values![session.uuid])?;
        let says = session.interactions;
        Ok((answers != says).then(|| ColumnFault::of("chat_session.interactions", says, answers)))
    }

    /// Whether a line ends the session, behind its newest prompt or its start.
    fn is_over(&self, session: &SessionRow, prompts: u64) -> Result<bool, StoreError> {
        let since: Option<u64> = match prompts {
            0 => self.start_line(session)?,
            newest => {
                let sql = "SELECT prompt_line FROM llm_exchange WHERE session_id = ?1 AND seq = ?2";
                let place = values![session.uuid, newest];
                self.one("find a session's newest prompt", sql, place)?
            }
        };
        let sql = "SELECT EXISTS (SELECT 1 FROM ledger_commit c CROSS JOIN log_line l
                                   WHERE c.kind = 'session_end' AND c.line > ?1 AND l.n = c.line
                                     AND instr(l.line, '|session_end|' || ?2 || '|') > 0)";
        let since = since.unwrap_or_default();
        let what = "look for a session's end";
        self.sole(what, sql, values![since, session.id])
    }

    /// Number and outcome's line of a session's exchange that has its chain entry.
    fn chain_place(&self, session: &SessionRow) -> Result<Option<(u64, u64)>, StoreError> {
        let sql = format!(
            "{PARTS} SELECT e.seq, e.outcome_line FROM part CROSS JOIN llm_exchange e
              WHERE e.prompt_line >> 15 = part.p AND e.chain_entry = ?2 AND e.session_id = ?1 LIMIT 1"
        );
        let what = "find a session's newest chain entry";
        self.one(what, &sql, values![session.uuid, session.chain_head])
    }

    /// Whether a prompt of a session behind `seq` was answered behind a line.
    fn is_answered_after(
        &self,
        session: &SessionRow,
        seq: u64,
        line: u64,
    ) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM llm_exchange WHERE session_id = ?1 AND seq > ?2
                                   AND outcome = 'answered' AND outcome_line > ?3)";
        let what = "look for a later answer of a session";
        self.sole(what, sql, values![session.uuid, seq, line])
    }

    /// Whether the lines behind so many are those that a rebuild adds without a key: `recover` alone,
    /// each behind the one before it, no earlier, and under the highest height that was named.
    pub(super) fn are_recovered(&self, covered: u64, lines: &[String]) -> Result<bool, StoreError> {
        if lines.is_empty() {
            return Ok(true);
        }
        let Some((mut before, height)) = self.end_of(covered)? else {
            return Ok(false);
        };
        for text in lines {
            let Some(line) = read(text) else {
                return Ok(false);
            };
            let is_recover = matches!(line.event, Event::Recover { .. }) && line.session.is_none();
            let fits = line.height == height && line.time >= before.time;
            if !is_recover || !fits || !line.follows(before.hash) {
                return Ok(false);
            }
            before = line;
        }
        Ok(true)
    }

    /// The line of a number, from 1, and the highest height that was named up to it: the newest line
    /// outside of sessions has that of its time.
    fn end_of(&self, number: u64) -> Result<Option<(Line, u32)>, StoreError> {
        const AT_ONCE: u64 = 256;
        let (mut to, mut last, mut height) = (number, None, 0);
        while to > 0 {
            let from = to.saturating_sub(AT_ONCE);
            for text in self.lines(from, to)?.iter().rev() {
                let Some(line) = read(text) else {
                    return Ok(None);
                };
                height = height.max(line.height);
                let ends = line.session.is_none();
                last = last.or(Some(line));
                if ends {
                    return Ok(last.map(|line| (line, height)));
                }
            }
            to = from;
        }
        Ok(last.map(|line| (line, height)))
    }
}

/// The right edge of the tree: over all lines, and under the root of a tree head over as many.
fn frontier_fault(head: &LedgerHead) -> Option<ColumnFault> {
    let fault = |says: String, found: String| Some(ColumnFault::of("head.frontier", says, found));
    let tree = match Frontier::from_bytes(&head.frontier) {
        Ok(tree) => tree,
        Err(error) => return fault("what is no tree".to_owned(), error.to_string()),
    };
    if tree.size() != head.lines {
        let says = format!("a tree over {} lines", tree.size());
        return fault(says, format!("{} lines", head.lines));
    }
    let note = parse_note(head.checkpoint.as_deref()?).ok()?;
    if note.size == head.lines && note.root != tree.root() {
        return fault(tree.root().to_string(), note.root.to_string());
    }
    None
}
