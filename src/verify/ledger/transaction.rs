//! Lines with `record:` and the commits that belong to them (format, sections 2, 6 and 12 step 4).
//!
//! A line without its commit is inconsistent, but for the last transaction: a writer appends its
//! lines before it makes its commits known again after a crash, and completes it before anything
//! else. Until then the ledger is incomplete.

use std::collections::BTreeMap;

use crate::record::hash::Hash32;
use crate::record::ledger::commit::MAIN;
use crate::record::log::entry::Event;

use super::commits::CommitCheck;
use crate::verify::log::records::{CommitCountMismatch, RecordLine};
use crate::verify::report::AuditQuestion;

impl CommitCheck<'_> {
    /// A `record:` line without its commit, and a session without its branch.
    pub fn check_lines_have_commits(&mut self) {
        self.check_lines_are_anchored();
        let last = self.lines.last_record;
        for CommitCountMismatch {
            number,
            commits,
            line,
        } in self.lines.records.short(self.repository)
        {
            let session = line.as_ref().and_then(|line| line.line.session);
            let branch = session
                .filter(|_| commits == 0)
                .and_then(|id| self.lines.state.session(id));
            let place = match branch {
                Some(session) => format!("refs/heads/{}, log line {number}", session.start.branch),
                None => format!("{MAIN}, log line {number}"),
            };
            let (wanted, name) = line.as_ref().map_or((1, "response"), |line| {
                (line.wanted(), line.line.event.name())
            });
            let expected = format!("{} for the {name} line", counted(wanted));
            let question = if last.is_some_and(|(of, _)| of == number)
                && self.may_be_missing(line.as_ref(), commits)
            {
                AuditQuestion::Complete
            } else {
                AuditQuestion::Consistent
            };
            self.findings
                .add(question, session, place, expected, counted(commits));
        }
        let mut branches: BTreeMap<&str, Hash32> = BTreeMap::new();
        for session in self.lines.state.sessions() {
            branches.entry(&session.start.branch).or_insert(session.id);
        }
        for (branch, session) in branches {
            let there = (1..=7)
                .any(|n| format!("branch-{n}") == branch && self.history.branches.contains_key(&n));
            // The first commit of the last transaction would have made it.
            let first = self
                .lines
                .state
                .session(session)
                .map(|session| session.start.line);
            let due = last.is_some_and(|(line, _)| Some(line) == first);
            if !there && !due {
                let place = format!("refs/heads/{branch}");
                let expected = format!("a ref to the commits of session {session} and later ones");
                self.findings.inconsistent(None, place, expected, "nothing");
            }
        }
    }

    /// A session's start or end on a block, of which no commit has been seen.
    fn check_lines_are_anchored(&mut self) {
        for line in self.lines.records.whole() {
            let (Event::SessionStart { btc, .. } | Event::SessionEnd { btc, .. }) = &line.event
            else {
                continue;
            };
            if *btc != 0 && !self.commits.anchored.contains(&line.hash) {
                self.findings.unlooked(AuditQuestion::NotBefore);
            }
        }
    }

    /// Whether the last transaction's commits can be missing so: all of them, or the close behind
    /// its session end.
    fn may_be_missing(&self, line: Option<&RecordLine>, commits: u32) -> bool {
        let end = line.filter(|line| matches!(line.line.event, Event::SessionEnd { .. }));
        commits == 0
            || (commits == 1
                && end.is_some_and(|line| self.commits.anchored.contains(&line.line.hash)))
    }
}

fn counted(commits: u32) -> String {
    match commits {
        0 => "no commit".to_owned(),
        1 => "one commit".to_owned(),
        n => format!("{n} commits"),
    }
}
