//! A check that begins behind a commit of `main`: behind one that the caller names, or where a
//! saved position is.
//!
//! Both answer for what is new, and never for the whole. Behind a commit that the caller names the
//! log is still read from genesis on, since what later lines are held against stands nowhere else;
//! commits before it are not. Behind a saved position nothing is read but what the position is held
//! against ([`super::fit`]); so a check behind a named commit begins at a saved position that
//! lies there or before, when the caller has one.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::ledger::Oid;
use crate::ledger::read::{OpenError, Repository};
use crate::record::hash::Hash32;
use crate::record::time::Seconds;

use super::file::{KeyAt, Position, PositionContent, PositionMismatch};
use super::fit::ResumePoint;
use crate::verify::checker::Checker;
use crate::verify::ledger::history::Old;
use crate::verify::ledger::keys::InForce;
use crate::verify::ledger::refs::main_tip;
use crate::verify::log::lines::Lines;
use crate::verify::log::sessions::SessionCheck;
use crate::verify::report::{AuditQuestion, QuestionAnswer, QuestionVerdict};

/// Where a check begins.
#[derive(Clone, Copy)]
pub(crate) enum ResumeStart<'a> {
    /// With genesis; the position that was to be gone on from does not fit.
    Genesis(Option<&'a PositionMismatch>),
    /// Behind the commit of `main` whose id begins so; the position that was to be gone on from
    /// does not fit.
    Commit(&'a str, Option<&'a PositionMismatch>),
    /// Behind a saved position.
    Saved(&'a Position),
}

/// How much of a ledger a report is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All of it, from genesis on.
    Whole {
        /// Why the saved position was not gone on from, when one was given.
        mismatch: Option<PositionMismatch>,
    },
    /// What is new since a commit of `main`.
    Since {
        /// The commit.
        commit: String,
        /// The last line of its segment: later lines are checked.
        line: u64,
        /// Dates of the saved position; none when the check begins behind the commit that the
        /// caller named.
        saved: Option<PositionSummary>,
        /// Why a saved position was not gone on from, when one was given that lies at or before
        /// that commit.
        mismatch: Option<PositionMismatch>,
    },
}

/// What a saved position says of itself; nothing in the ledger can prove it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PositionSummary {
    /// When it was saved.
    pub at: Seconds,
    /// When all of the ledger was last checked.
    pub from_scratch_at: Seconds,
}

/// Where a saved position is, seen from a commit of `main` that the caller names.
pub(crate) enum PositionRelation {
    /// There, or before it.
    Before,
    /// Behind it; or the digits name no commit of `main`, or several objects.
    Elsewhere,
    /// `main` does not go through it any more.
    Missed(PositionMismatch),
}

impl Position {
    /// Where it lies. Reads the commits of `main` that are newer than it, and no others.
    pub(crate) fn relation_to(
        &self,
        digits: &str,
        repository: &Repository,
    ) -> Result<PositionRelation, OpenError> {
        let mut next = main_tip(repository)?;
        let (mut named, mut root) = (false, None);
        while let Some(id) = next {
            named |= id.to_string().starts_with(digits) && repository.only(digits) == Some(id);
            if id == self.0.commit {
                return Ok(if named {
                    PositionRelation::Before
                } else {
                    PositionRelation::Elsewhere
                });
            }
            root = Some(id);
            next = repository
                .commit(&id)
                .ok()
                .and_then(|commit| commit.parents.first().copied());
        }
        Ok(PositionRelation::Missed(self.missed(root)))
    }
}

/// The log at the end of the last segment.
pub(crate) struct SegmentEnd {
    lines: u64,
    bytes: u64,
    head: Hash32,
    frontier: String,
    highest: u32,
    last_branch: Option<String>,
    blocks: BTreeSet<Hash32>,
    open: BTreeMap<Hash32, u64>,
}

impl SegmentEnd {
    pub fn of(lines: &Lines) -> Self {
        let state = &lines.state;
        SegmentEnd {
            lines: state.count(),
            bytes: lines.bytes,
            head: state.head(),
            frontier: hex::encode(lines.tree.to_bytes()),
            highest: state.highest(),
            last_branch: state.last_branch().map(str::to_owned),
            blocks: lines
                .blocks
                .get(&state.highest())
                .cloned()
                .unwrap_or_default(),
            open: state
                .open_sessions()
                .map(|session| (session.id, session.start.line))
                .collect(),
        }
    }
}

impl Checker<'_> {
    /// Begins where the position is.
    pub fn stand_on(&mut self, resume_point: ResumePoint, position: &Position) {
        let body = &position.0;
        // Whatever follows has them all among its ancestors.
        let in_force = |(after, key)| InForce {
            after: Some(after),
            from: Some(0),
            key,
        };
        self.keys = resume_point.keys.into_iter().map(in_force).collect();
        self.key_commits = body.keys.iter().map(|at| at.commit).collect();
        self.lines = Lines::new(Some(resume_point.genesis.network));
        self.genesis = Some(resume_point.genesis);
        self.lines.state = resume_point.state;
        self.lines.tree = resume_point.tree;
        self.lines.bytes = body.bytes;
        self.lines.until = body.lines;
        self.lines.blocks.insert(body.highest, body.blocks.clone());
        self.replayed = resume_point.replayed;
        self.saved_tips = body.tips.clone();
        let (at, from_scratch_at) = (position.at(), position.from_scratch_at());
        self.scope = Scope::Since {
            commit: body.commit.to_string(),
            line: body.lines,
            saved: Some(PositionSummary {
                at,
                from_scratch_at,
            }),
            mismatch: None,
        };
        self.carry();
    }

    /// Takes over the sessions that are open where the check begins.
    fn carry(&mut self) {
        for session in self.lines.state.open_sessions() {
            self.sessions
                .insert(session.id, SessionCheck::carried(session));
        }
    }

    /// Before the segment of a commit of `main`, counted from genesis: lines up to the commit that
    /// the caller named are old.
    pub fn begin_position(&mut self, position: usize) {
        if self.named_base.is_some_and(|base| position <= base) {
            self.lines.until = u64::MAX;
        }
    }

    /// Behind the segment of the commit that the caller named the check begins.
    pub fn end_position(&mut self, position: usize) {
        if self.named_base == Some(position) {
            self.begin_here();
        }
    }

    /// Everything up to the last line taken is old.
    pub fn begin_here(&mut self) {
        self.lines.until = self.lines.state.count();
        if let Scope::Since { line, .. } = &mut self.scope {
            *line = self.lines.until;
        }
        self.carry();
    }

    /// Where reading commits ends.
    pub fn old(&self) -> Old {
        let commits: HashSet<Oid> = self.saved_tips.values().copied().collect();
        Old {
            commits,
            logs: self.lines.old.clone(),
        }
    }

    /// Whether the branches go through the commits that the position names, each signed by a key of
    /// the ledger.
    pub fn check_saved_tips(&self) -> Result<(), PositionMismatch> {
        for (n, tip) in &self.saved_tips {
            let differs = |expected: &str| PositionMismatch::Differs {
                what: "tips",
                expected: expected.to_owned(),
                actual: format!("commit {tip} on branch-{n}"),
            };
            if !self.history.is_old_on(tip, *n) {
                return Err(differs("a branch that does not go through it"));
            }
            let signer = self.history.node(tip).and_then(|node| node.signer);
            if !self.keys.iter().any(|known| Some(known.key) == signer) {
                return Err(differs("no signature of it by a key of the ledger"));
            }
        }
        Ok(())
    }

    /// Lines of the log that this check has judged.
    pub fn lines_checked(&self) -> u64 {
        let before = if self.saved_base() {
            self.first_line()
        } else {
            0
        };
        self.lines.state.count().saturating_sub(before)
    }

    /// Whether the check begins behind a saved position.
    pub fn saved_base(&self) -> bool {
        matches!(self.scope, Scope::Since { saved: Some(_), .. })
    }

    /// The line behind which commits are checked; 0 for a check of everything.
    pub fn first_line(&self) -> u64 {
        match self.scope {
            Scope::Whole { .. } => 0,
            Scope::Since { line, .. } => line,
        }
    }

    /// What is so of the new part is not so of the whole.
    pub fn limited(&self, verdict: QuestionVerdict) -> QuestionVerdict {
        let Scope::Since { line, saved, .. } = &self.scope else {
            return verdict;
        };
        if verdict.answer != QuestionAnswer::Yes {
            return verdict;
        }
        let nothing = self.commits.is_empty() && self.lines_checked() == 0;
        let before = match saved {
            Some(_) if nothing => {
                let reason = format!(
                    "log line {line}, and nothing is new: the saved position fits; what is before was not looked at"
                );
                return QuestionVerdict::new(QuestionAnswer::YesSince, reason);
            }
            Some(_) => "what is before was not looked at",
            None => "before it only the log was looked at, and no commit",
        };
        QuestionVerdict::new(
            QuestionAnswer::YesSince,
            format!("log line {line}: {}; {before}", verdict.reason),
        )
    }

    /// The position at `main`'s tip, for a check that found nothing wrong.
    pub fn position(&self) -> Option<Position> {
        let mark = self.mark.as_ref().filter(|mark| mark.lines > 0)?;
        let named = matches!(self.scope, Scope::Since { saved: None, .. });
        if named
            || AuditQuestion::ALL
                .iter()
                .any(|question| self.findings.count(*question) > 0)
        {
            return None;
        }
        let keys = self.keys.iter().zip(&self.key_commits);
        Some(Position(PositionContent {
            at: Seconds::ZERO,
            blocks: mark.blocks.clone(),
            bytes: mark.bytes,
            commit: self.history.on_main().next_back()?.id,
            from_scratch_at: Seconds::ZERO,
            frontier: mark.frontier.clone(),
            head: mark.head,
            highest: mark.highest,
            keys: keys
                .filter_map(|(known, at)| {
                    Some(KeyAt {
                        after: known.after?,
                        commit: *at,
                        key: known.key,
                    })
                })
                .collect(),
            last_branch: mark.last_branch.clone(),
            lines: mark.lines,
            open: mark.open.clone(),
            tips: (1..=7)
                .filter_map(|n| Some((n, self.tip_at(n, mark.lines)?)))
                .collect(),
        }))
    }

    /// The newest commit of a branch whose line is not behind this one.
    fn tip_at(&self, n: u8, line: u64) -> Option<Oid> {
        let chain = self.history.branches.get(&n)?;
        let newest = chain
            .iter()
            .rev()
            .filter_map(|at| self.history.graph.get(*at as usize))
            .find(|node| {
                node.log
                    .and_then(|log| self.lines.records.number(&log))
                    .is_some_and(|number| number <= line)
            });
        newest
            .map(|node| node.id)
            .or_else(|| self.saved_tips.get(&n).copied())
    }
}
