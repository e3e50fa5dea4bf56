//! What a check found: separate answers that are never mixed, and findings that name their place
//! (format, section 12).

use std::collections::{BTreeMap, BTreeSet};

use crate::ledger::read::ObjectFault;
use crate::record::bitcoin::block::Network;
use crate::record::hash::Hash32;
use crate::record::ledger::commit::CommitKind;
use crate::record::signature::PublicKey;
use crate::record::time::Seconds;

use super::cursor::file::Position;
use super::cursor::start::Scope;
use super::time::bounds::{LedgerBounds, SessionBound};

pub use super::question::{AuditAnswers, AuditQuestion, CheckAnswer, CheckVerdict, Extents};

/// Findings beyond this many are counted and not listed: one torn pack breaks everything at once.
pub const MAX_FINDINGS: usize = 1000;

/// A number of things: `1 line`, `2 lines`.
pub(crate) fn counted(n: u64, thing: &str) -> String {
    if n == 1 {
        format!("1 {thing}")
    } else {
        format!("{n} {thing}s")
    }
}

/// One thing that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which answer it turns to *no*.
    pub question: AuditQuestion,
    /// Where: a ref, a commit and its file, a line of the log, a row.
    pub place: String,
    /// What should be there.
    pub expected: String,
    /// What is there.
    pub actual: String,
    /// The session that it touches; none when it touches the ledger as a whole.
    pub session: Option<Hash32>,
}

/// Findings as they come in: listed up to [`MAX_FINDINGS`], counted always.
#[derive(Debug, Default)]
pub struct Findings {
    list: Vec<Finding>,
    counts: BTreeMap<(Option<Hash32>, AuditQuestion), u64>,
    unlooked: BTreeMap<AuditQuestion, u64>,
    contradicted_by: BTreeSet<String>,
}

impl Findings {
    /// Takes a finding in.
    pub fn add(
        &mut self,
        question: AuditQuestion,
        session: Option<Hash32>,
        place: impl Into<String>,
        expected: impl Into<String>,
        actual: impl Into<String>,
    ) {
        *self.counts.entry((session, question)).or_default() += 1;
        if self.list.len() < MAX_FINDINGS {
            let (place, expected, actual) = (place.into(), expected.into(), actual.into());
            self.list.push(Finding {
                question,
                place,
                expected,
                actual,
                session,
            });
        }
    }

    /// Takes in that something does not hold together.
    pub fn inconsistent(
        &mut self,
        session: Option<Hash32>,
        place: impl Into<String>,
        expected: impl Into<String>,
        actual: impl Into<String>,
    ) {
        self.add(AuditQuestion::Consistent, session, place, expected, actual);
    }

    /// Takes in that something which the caller has kept of this ledger says otherwise than the
    /// ledger.
    pub fn contradicted(&mut self, by: impl Into<String>) {
        self.contradicted_by.insert(by.into());
    }

    /// What the caller has kept that says otherwise.
    pub(crate) fn contradicted_by(&self) -> BTreeSet<String> {
        self.contradicted_by.clone()
    }

    /// Takes in that something could not be looked at: the answer to the question is not *yes*.
    pub fn unlooked(&mut self, question: AuditQuestion) {
        *self.unlooked.entry(question).or_default() += 1;
    }

    /// How many things a question asks about that could not be looked at.
    pub fn count_unlooked(&self, question: AuditQuestion) -> u64 {
        self.unlooked.get(&question).copied().unwrap_or_default()
    }

    /// Takes in that an object can't be what its place asks for.
    pub fn object(
        &mut self,
        session: Option<Hash32>,
        place: impl Into<String>,
        fault: &ObjectFault,
    ) {
        self.inconsistent(session, place, fault.expected(), fault.actual());
    }

    /// Takes in a difference between two values that should be the same, if there is one.
    pub fn same<T: PartialEq + std::fmt::Display>(
        &mut self,
        session: Option<Hash32>,
        place: impl FnOnce() -> String,
        what: &str,
        expected: &T,
        actual: &T,
    ) -> bool {
        if expected == actual {
            return true;
        }
        self.inconsistent(
            session,
            place(),
            format!("{what} {expected}"),
            format!("{what} {actual}"),
        );
        false
    }

    /// Takes in the findings of another thread, behind those that are here.
    pub(crate) fn append(&mut self, other: Findings) {
        for (key, count) in other.counts {
            *self.counts.entry(key).or_default() += count;
        }
        for (question, count) in other.unlooked {
            *self.unlooked.entry(question).or_default() += count;
        }
        self.contradicted_by.extend(other.contradicted_by);
        let free = MAX_FINDINGS.saturating_sub(self.list.len());
        self.list.extend(other.list.into_iter().take(free));
    }

    /// How many findings a question has.
    pub fn count(&self, question: AuditQuestion) -> u64 {
        self.counts
            .iter()
            .filter(|((_, q), _)| *q == question)
            .map(|(_, n)| n)
            .sum()
    }

    /// How many findings a question has that touch a session, or the ledger as a whole.
    pub fn touching(&self, session: Hash32, question: AuditQuestion) -> u64 {
        let of = |who| {
            self.counts
                .get(&(who, question))
                .copied()
                .unwrap_or_default()
        };
        of(Some(session)) + of(None)
    }

    /// All findings listed, and how many more there are.
    pub(crate) fn into_list(self) -> (Vec<Finding>, u64) {
        let total: u64 = self.counts.values().sum();
        let listed = u64::try_from(self.list.len()).unwrap_or(u64::MAX);
        (self.list, total.saturating_sub(listed))
    }
}

/// Where a session started or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionBlock {
    /// On a block of this height.
    Height(u32),
    /// On no block.
    Local,
}

/// One session, as far as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionReport {
    /// Id of the session.
    pub id: Hash32,
    /// Branch of the session, `branch-1` to `branch-7`.
    pub branch: String,
    /// Where it started.
    pub start: SessionBlock,
    /// Where it ended; none while it is open.
    pub end: Option<SessionBlock>,
    /// Number of its interaction commits.
    pub interactions: u64,
    /// Number of its prompts, answered or not; none where its lines are not at hand.
    pub prompts: Option<u64>,
    /// After which block it began.
    pub not_before: SessionBound,
    /// Before which block it had ended.
    pub not_after: SessionBound,
    /// No consistency finding touches it, or the ledger as a whole.
    pub chain_valid: bool,
    /// No finding of consistency, blocks or signatures touches it, or the ledger as a whole.
    pub all_verified: bool,
}

/// A line that set the log's clock back, or on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockSet {
    /// Number of the line that set the clock, from 1.
    pub line: u64,
    /// TIMESTAMP of the line before it.
    pub before: Seconds,
    /// What it says.
    pub to: Seconds,
}

/// The tree head of one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeHead {
    /// Number of lines.
    pub size: u64,
    /// Root over them, recomputed.
    pub root: Hash32,
}

/// The whole result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The hash that the log starts from; none when `genesis.json` can't be read.
    pub genesis: Option<Hash32>,
    /// The chain whose blocks it names; none when `genesis.json` can't be read.
    pub network: Option<Network>,
    /// Whether that is a test network which the checker did not name: its blocks prove nothing.
    pub proves_nothing: bool,
    /// Lines of the log that were checked.
    pub entries: u64,
    /// Up to which lines the answers speak.
    pub extents: Extents,
    /// TIMESTAMP of the last line judged.
    pub last_time: Option<Seconds>,
    /// Lines behind the last signed one: nobody signed them, and they count for no answer.
    pub unsigned: u64,
    /// Lines behind the one that was judged last, which a writer added meanwhile: not read.
    pub newer: u64,
    /// Commits behind the last segment, where the log is not at hand.
    pub commits_without_line: u64,
    /// Lines that set the clock, at most [`MAX_FINDINGS`].
    pub clock_sets: Vec<ClockSet>,
    /// Refs that a ledger does not have, as hosts make them: counted, not read.
    pub foreign_refs: u64,
    /// Whether the repository is a plain clone, read through `refs/remotes/origin/`.
    pub plain_clone: bool,
    /// Whether the key that genesis names is one of those that the checker pinned.
    pub root_pinned: bool,
    /// Whether the answer to *consistent* is *yes*: a chain is valid when all that hangs on it
    /// holds.
    pub chain_valid: bool,
    /// Session starts and ends with an accepted header.
    pub btc_anchors: u64,
    /// Sessions in the order of their starts.
    pub sessions: Vec<SessionReport>,
    /// Verdicts on the six questions of an audit.
    pub answers: AuditAnswers,
    /// What is wrong, at most [`MAX_FINDINGS`].
    pub findings: Vec<Finding>,
    /// How many findings more there are.
    pub more_findings: u64,
    /// The ledger's name.
    pub origin: Option<String>,
    /// Its keys, in the order in which they came into force.
    pub signers: Vec<String>,
    /// HASH of the last line checked.
    pub log_head: Hash32,
    /// How many of the lines are inside `main`.
    pub lines_in_segments: u64,
    /// Commits checked, by kind.
    pub commits: BTreeMap<CommitKind, u64>,
    /// Tree heads checked, in order.
    pub tree_heads: Vec<TreeHead>,
    /// How closely it is tied to blocks outside.
    pub bounds: LedgerBounds,
    /// What was checked of the database; none where none is at hand, or only what is new is
    /// checked.
    pub database: Option<String>,
    /// Imported conversations that were checked, erased ones among them.
    pub imported: u64,
    /// Exchanges and artifacts of the database whose texts and salts were erased.
    pub erased: u64,
    /// Exchanges and artifacts of the database whose texts are not kept, and were not checked.
    pub not_kept: u64,
    /// Where the search indexes of the database are not what they are of, in words. No evidence,
    /// and part of no answer; none where they were not looked at.
    pub search: Option<Vec<String>>,
    /// Where tables, views, indexes and triggers of the database are not as they are made, in words.
    /// No evidence, and part of no answer, but no pass either; none where they were not looked at.
    pub schema: Option<Vec<String>>,
    /// How much of the ledger was checked.
    pub scope: Scope,
    /// Lines before a saved position that were read again, for the sessions that were open there.
    pub replayed: u64,
    /// Receipts that the log was held against.
    pub receipts: u64,
    /// What the caller has kept of this ledger (receipts, tree heads, an earlier copy, where an
    /// earlier check ended) and what says otherwise than the ledger. Whoever brings such a thing
    /// asks about it, so it is no pass by itself.
    pub contradicted_by: BTreeSet<String>,
    /// From where the next check can go on; none when something was found wrong, or the caller
    /// named a commit.
    pub position: Option<Position>,
}

impl Report {
    /// Takes in what was found outside of the check itself: the answer is *no*, and nothing can go
    /// on from here.
    pub fn found(&mut self, finding: Finding) {
        let question = finding.question;
        self.findings.push(finding);
        let count = self
            .findings
            .iter()
            .filter(|finding| finding.question == question)
            .count();
        let verdict = CheckVerdict::new(
            CheckAnswer::No,
            counted(u64::try_from(count).unwrap_or(u64::MAX), "finding"),
        );
        *self.answers.to_mut(question) = verdict;
        self.position = None;
    }

    /// Findings that touch a session, or the ledger as a whole.
    pub fn findings_of(&self, session: &SessionReport) -> Vec<&Finding> {
        let findings = self.findings.iter();
        findings
            .filter(|finding| finding.session.is_none_or(|of| of == session.id))
            .collect()
    }

    /// Whether *consistent* and *complete* are *yes*, of all that the caller asked for, no line is
    /// signed by nobody, and the owner's database is made as it should be. It says nothing about
    /// time, uniqueness or whose key (format, section 12).
    pub fn holds(&self) -> bool {
        let yes = |question| {
            matches!(
                self.answers.to(question).answer,
                CheckAnswer::Yes | CheckAnswer::YesSince
            )
        };
        yes(AuditQuestion::Consistent)
            && yes(AuditQuestion::Complete)
            && self.unsigned == 0
            && self.is_made_as_it_should_be()
    }

    /// Whether nothing was found of the schema of the owner's database.
    pub fn is_made_as_it_should_be(&self) -> bool {
        self.schema.as_ref().is_none_or(Vec::is_empty)
    }

    /// Whether its first key is this one, all signatures follow from it, and all that is here holds
    /// together.
    pub fn begins_with(&self, key: &PublicKey) -> bool {
        self.signers.first() == Some(&key.to_string())
            && self.answers.consistent.answer == CheckAnswer::Yes
            && self.answers.signed_by.answer != CheckAnswer::No
    }

    /// Whether nothing was found wrong and both *consistent* and *complete* are *yes*.
    ///
    /// A *no* to any other question (a header without work, a wrong signer) is not a pass either.
    pub fn passes(&self) -> bool {
        let yes = |question| self.answers.to(question).answer == CheckAnswer::Yes;
        let no = |question: &AuditQuestion| self.answers.to(*question).answer == CheckAnswer::No;
        yes(AuditQuestion::Consistent)
            && yes(AuditQuestion::Complete)
            && self.unsigned == 0
            && self.is_made_as_it_should_be()
            && !AuditQuestion::ALL.iter().any(no)
    }

    /// Whether nothing was found wrong, and both *consistent* and *complete* are *yes*, of all that
    /// the caller asked for: of the whole, or of what is new since a commit.
    pub fn passes_as_asked(&self) -> bool {
        let no = |question: &AuditQuestion| self.answers.to(*question).answer == CheckAnswer::No;
        self.holds() && !AuditQuestion::ALL.iter().any(no)
    }

    /// The sessions whose id starts with `prefix`.
    pub fn sessions_of(&self, prefix: &str) -> Vec<&SessionReport> {
        self.sessions
            .iter()
            .filter(|s| s.id.to_string().starts_with(prefix))
            .collect()
    }
}
