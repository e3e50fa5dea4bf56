//! A check that begins behind a commit of `main`: behind one that the caller names, or where a
//! saved position is.
//!
//! Both answer for what is new, and never for the whole. Behind a commit that the caller names the
//! log is still read from genesis on, since what later lines are held against stands nowhere else;
//! commits before it are not. Behind a saved position nothing is read but what the position is held
//! against ([`super::fit`]); so a check behind a named commit begins at a saved position that
//! lies there or before, when the caller has one.

use std::collections::{BTreeMap, BTreeSet};

use crate::ledger::Oid;
use crate::ledger::read::{OpenError, Repository};
use crate::record::hash::Hash32;
use crate::record::log::end::LogEnd;
use crate::record::time::Seconds;

use super::file::{KeyAt, Position, PositionContent, PositionMismatch};
use super::fit::ResumePoint;
use crate::verify::checker::Checker;
use crate::verify::ledger::history::{History, ReadBoundary};
use crate::verify::ledger::keys::{KeyHistory, KeyPeriod};
use crate::verify::ledger::refs::main_tip;
use crate::verify::log::lines::Lines;
use crate::verify::report::{AuditQuestion, CheckAnswer, CheckVerdict};

/// Where a check begins.
#[derive(Clone, Copy)]
pub(crate) enum ResumeStart<'a> {
    /// With genesis; the saved position, when there is one, does not fit.
    Genesis(Option<&'a PositionMismatch>),
    /// Behind the commit of `main` whose id begins so; the saved position, when there is one, does
    /// not fit.
    Commit(&'a str, Option<&'a PositionMismatch>),
    /// Behind a saved position.
    Saved(&'a Position),
}

/// How much of a ledger a report is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All of it, from genesis on.
    Whole {
        /// Why the check did not continue from the saved position, when one was given.
        mismatch: Option<PositionMismatch>,
    },
    /// What is new since a commit of `main`.
    Since {
        /// Id of the commit of `main`.
        commit: String,
        /// The last line of its segment: later lines are checked.
        line: u64,
        /// Dates of the saved position; none when the check begins behind the commit that the
        /// caller named.
        saved: Option<PositionSummary>,
        /// Why the check did not continue from a saved position, when one was given that lies at or
        /// before that commit.
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
    end: LogEnd,
    /// What its lines name at the highest height.
    blocks: BTreeSet<Hash32>,
    /// Open sessions, with the numbers of their first lines.
    open: BTreeMap<Hash32, u64>,
}

impl SegmentEnd {
    pub fn of(lines: &Lines) -> Self {
        let state = &lines.state;
        SegmentEnd {
            end: lines.end(state.count()),
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

/// Where this check began.
pub(crate) struct CheckStart {
    pub scope: Scope,
    /// Place on `main` of the commit that the caller named.
    pub named_base: Option<usize>,
    /// Tips of the branches at the saved position.
    saved_tips: BTreeMap<u8, Oid>,
    /// Lines before the saved position that were read again.
    pub replayed: u64,
}

impl CheckStart {
    /// With genesis, until something else is said.
    pub fn new() -> Self {
        CheckStart {
            scope: Scope::Whole { mismatch: None },
            named_base: None,
            saved_tips: BTreeMap::new(),
            replayed: 0,
        }
    }

    /// Everything up to this line is old.
    pub fn begin_behind(&mut self, until: u64) {
        if let Scope::Since { line, .. } = &mut self.scope {
            *line = until;
        }
    }

    /// Where reading commits ends.
    pub fn old(&self, lines: &Lines) -> ReadBoundary {
        ReadBoundary {
            commits: self.saved_tips.values().copied().collect(),
            logs: lines.old.clone(),
        }
    }

    /// Whether the branches go through the commits that the position names, each signed by a key of
    /// the ledger.
    pub fn check_tips(&self, history: &History, keys: &KeyHistory) -> Result<(), PositionMismatch> {
        for (n, tip) in &self.saved_tips {
            let differs = |expected: &str| PositionMismatch::Differs {
                what: "tips",
                expected: expected.to_owned(),
                actual: format!("commit {tip} on branch-{n}"),
            };
            if !history.is_old_on(tip, *n) {
                return Err(differs("a branch that does not go through it"));
            }
            let signer = history.node(tip).and_then(|node| node.signer);
            if !keys.known.iter().any(|known| Some(known.key) == signer) {
                return Err(differs("no signature of it by a key of the ledger"));
            }
        }
        Ok(())
    }

    /// Whether the check begins behind a saved position.
    pub fn is_saved(&self) -> bool {
        matches!(self.scope, Scope::Since { saved: Some(_), .. })
    }

    /// The line behind which commits are checked; 0 for a check of everything.
    pub fn first_line(&self) -> u64 {
        match self.scope {
            Scope::Whole { .. } => 0,
            Scope::Since { line, .. } => line,
        }
    }
}

impl Checker<'_> {
    /// Begins where the position is.
    pub fn stand_on(&mut self, resume_point: ResumePoint, position: &Position) {
        let body = &position.0;
        // Whatever follows has them all among its ancestors.
        let in_force = |(after, key)| KeyPeriod {
            after: Some(after),
            from: Some(0),
            key,
        };
        self.keys = KeyHistory {
            known: resume_point.keys.into_iter().map(in_force).collect(),
            commits: body.keys.iter().map(|at| at.commit).collect(),
        };
        let mut lines = Lines::new(Some(resume_point.genesis.network));
        self.genesis = Some(resume_point.genesis);
        lines.state = resume_point.state;
        lines.tree = resume_point.tree;
        lines.bytes = body.bytes;
        lines.until = body.lines;
        lines.blocks.insert(body.highest, body.blocks.clone());
        self.start = CheckStart {
            scope: Scope::Since {
                commit: body.commit.to_string(),
                line: body.lines,
                saved: Some(PositionSummary {
                    at: position.at(),
                    from_scratch_at: position.from_scratch_at(),
                }),
                mismatch: None,
            },
            named_base: None,
            saved_tips: body.tips.clone(),
            replayed: resume_point.replayed,
        };
        self.sessions.carry(&lines.state);
        self.log.lines = lines;
    }

    /// Lines of the log that this check has judged.
    pub fn lines_checked(&self) -> u64 {
        let before = if self.start.is_saved() {
            self.start.first_line()
        } else {
            0
        };
        self.log.lines.state.count().saturating_sub(before)
    }

    /// What is so of the new part is not so of the whole.
    pub fn limited(&self, verdict: CheckVerdict) -> CheckVerdict {
        let Scope::Since { line, saved, .. } = &self.start.scope else {
            return verdict;
        };
        if verdict.answer != CheckAnswer::Yes {
            return verdict;
        }
        let nothing = self.commits.kinds.is_empty() && self.lines_checked() == 0;
        let before = match saved {
            Some(_) if nothing => {
                let reason = format!(
                    "log line {line}, and nothing is new: the saved position fits; what is before was not looked at"
                );
                return CheckVerdict::new(CheckAnswer::YesSince, reason);
            }
            Some(_) => "what is before was not looked at",
            None => "before it only the log was looked at, and no commit",
        };
        CheckVerdict::new(
            CheckAnswer::YesSince,
            format!("log line {line}: {}; {before}", verdict.reason),
        )
    }

    /// The position at `main`'s tip, for a check that found nothing wrong.
    pub fn position(&self) -> Option<Position> {
        let mark = self.log.end.as_ref().filter(|mark| mark.end.lines > 0)?;
        let named = matches!(self.start.scope, Scope::Since { saved: None, .. });
        if named
            || AuditQuestion::ALL
                .iter()
                .any(|question| self.findings.count(*question) > 0)
        {
            return None;
        }
        let keys = self.keys.known.iter().zip(&self.keys.commits);
        Some(Position(PositionContent {
            at: Seconds::ZERO,
            blocks: mark.blocks.clone(),
            bytes: mark.end.bytes,
            commit: self.history.on_main().next_back()?.id,
            from_scratch_at: Seconds::ZERO,
            frontier: hex::encode(&mark.end.frontier),
            head: mark.end.hash,
            highest: mark.end.height,
            keys: keys
                .filter_map(|(known, at)| {
                    Some(KeyAt {
                        after: known.after?,
                        commit: *at,
                        key: known.key,
                    })
                })
                .collect(),
            last_branch: mark.end.last_branch.clone(),
            lines: mark.end.lines,
            open: mark.open.clone(),
            tips: (1..=7)
                .filter_map(|n| Some((n, self.tip_at(n, mark.end.lines)?)))
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
                    .and_then(|log| self.log.lines.records.number(&log))
                    .is_some_and(|number| number <= line)
            });
        newest
            .map(|node| node.id)
            .or_else(|| self.start.saved_tips.get(&n).copied())
    }
}
