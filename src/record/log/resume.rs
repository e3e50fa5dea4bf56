//! Going on with a log behind a line that was judged before.
//!
//! What later lines are held against is little: head, time and heights, and the sessions that are
//! open. A [`LogScan`] makes the latter again out of the lines of a stretch of the log, which its
//! chain binds to the head.

use std::collections::{BTreeMap, BTreeSet};

use super::chain::line_hash;
use super::entry::{EntryError, Event, Line};
use super::lifecycle::{PrecedingLine, SessionStart, SessionState};
use super::violation::{LineViolations, Violation};
use crate::record::hash::Hash32;
use crate::record::time::Seconds;

/// The log at a line, without the sessions that have ended before it.
#[derive(Clone, Debug)]
pub struct Resume {
    /// HASH of the line.
    pub head: Hash32,
    /// Number of the line, from 1.
    pub count: u64,
    /// TIMESTAMP of the line.
    pub last_time: Seconds,
    /// The highest height so far.
    pub highest: u32,
    /// Every branch that a session was started on.
    pub branches: BTreeSet<String>,
    /// That of the session started last.
    pub last_branch: Option<String>,
    /// The open sessions.
    pub sessions: Vec<SessionState>,
}

/// Why a stretch of the log can't be gone through again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogScanError {
    /// A line of it does not parse.
    #[error("line {line}: {source}")]
    Line {
        /// Number of the line, from 1.
        line: u64,
        /// What is wrong.
        source: EntryError,
    },
    /// A line's HASH is not that of the line before and itself.
    #[error("line {line} does not follow the line before it")]
    Chain {
        /// Number of the line, from 1.
        line: u64,
    },
    /// A line of a session contradicts the session.
    #[error(transparent)]
    Rule(#[from] Violation),
}

/// A stretch of the log, gone through again for the sessions that start in it.
#[derive(Clone, Debug)]
pub struct LogScan {
    /// HASH of the last line taken.
    pub head: Hash32,
    /// Number of the last line taken, from 1.
    pub count: u64,
    /// Its TIMESTAMP; none before the first.
    pub last_time: Option<Seconds>,
    /// The highest height so far, when a line outside sessions has told it.
    pub highest: Option<u32>,
    /// The highest height that a line of the stretch names itself.
    pub named: u32,
    /// The branch of the session started last, if one starts here.
    pub last_branch: Option<String>,
    /// The sessions that start here and do not end here.
    pub open: BTreeMap<Hash32, SessionState>,
}

impl LogScan {
    /// Begins behind line number `count` with this HASH.
    pub fn behind(count: u64, head: Hash32) -> Self {
        LogScan {
            head,
            count,
            last_time: None,
            highest: None,
            named: 0,
            last_branch: None,
            open: BTreeMap::new(),
        }
    }

    /// Takes the next line, given without its newline.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(), LogScanError> {
        self.count += 1;
        let number = self.count;
        let line = Line::parse(bytes).map_err(|source| LogScanError::Line {
            line: number,
            source,
        })?;
        if line_hash(self.head, bytes.get(65..).unwrap_or_default()) != line.hash {
            return Err(LogScanError::Chain { line: number });
        }
        self.take_height(&line);
        self.take_session(&line)?;
        self.head = line.hash;
        self.last_time = Some(line.time);
        Ok(())
    }

    fn take_height(&mut self, line: &Line) {
        match line.event {
            Event::SessionStart { btc, .. }
            | Event::BtcAnchor { btc, .. }
            | Event::SessionEnd { btc, .. } => {
                self.named = self.named.max(btc);
                self.highest = self.highest.map(|highest| highest.max(btc));
            }
            _ if line.session.is_none() => self.highest = Some(line.height),
            _ => {}
        }
    }

    fn take_session(&mut self, line: &Line) -> Result<(), Violation> {
        let Some(id) = line.session else {
            return Ok(());
        };
        if let Some(start) = SessionStart::of(line, self.count, self.head) {
            self.last_branch = Some(start.branch.clone());
            self.open.insert(id, SessionState::new(id, start));
            return Ok(());
        }
        let Some(session) = self.open.get_mut(&id) else {
            return Ok(());
        };
        let mut found = LineViolations::of_line(self.count);
        // Whether an outcome follows its prompt directly was judged before.
        session.take(line, PrecedingLine::Unreadable, &mut found);
        if !session.is_open() {
            self.open.remove(&id);
        }
        found.into_result()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::log::rules::LogState;

    const VALID: &str = include_str!("../../../tests/vectors/audit_log/valid.log");

    /// From wherever it begins and to wherever it goes: the open sessions that start in the stretch
    /// are those of a reader who has read everything, and a state that is made of them judges the
    /// rest alike.
    #[test]
    fn a_stretch_gives_the_sessions_that_the_whole_log_gives() {
        let lines: Vec<&str> = VALID.lines().collect();
        let states: Vec<LogState> = std::iter::once(LogState::new())
            .chain(lines.iter().scan(LogState::new(), |state, text| {
                let _ = state.accept(&Line::parse(text.as_bytes()).unwrap());
                Some(state.clone())
            }))
            .collect();
        for (from, begun) in states.iter().enumerate() {
            let mut scan = LogScan::behind(begun.count(), begun.head());
            for (text, whole) in lines.iter().zip(&states[1..]).skip(from) {
                scan.take(text.as_bytes()).unwrap();
                assert_eq!((scan.head, scan.count), (whole.head(), whole.count()));
                let started_here = |session: &&SessionState| session.start.line > begun.count();
                let expected: Vec<&SessionState> =
                    whole.open_sessions().filter(started_here).collect();
                assert_eq!(scan.open.values().collect::<Vec<_>>(), expected);
                assert!(
                    scan.highest
                        .is_none_or(|highest| highest == whole.highest())
                );
            }
        }
    }

    #[test]
    fn a_changed_line_of_a_stretch_is_named() {
        let mut lines: Vec<String> = VALID.lines().map(str::to_owned).collect();
        lines[4] = lines[4].replacen("|20", "|21", 1);
        let mut scan = LogScan::behind(0, Hash32::GENESIS);
        let taken: Result<Vec<()>, LogScanError> = lines
            .iter()
            .map(|text| scan.take(text.as_bytes()))
            .collect();
        assert_eq!(taken, Err(LogScanError::Chain { line: 5 }));
    }
}
