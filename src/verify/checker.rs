//! The checks of one ledger, in their order, and what they have read and found so far.
//!
//! A [`Checker`] has parts, and holds nothing else: where the check began, the history of commits,
//! the keys, the log, the sessions, the blocks that are named, the proofs, the tree heads of others,
//! and the findings. Each check borrows the parts that it needs: [`LogCheck`] goes through the log
//! and [`CommitCheck`] through the commits, once each, in order; [`OutsideCheck`], [`ReceiptCheck`]
//! and [`ProofCheck`] hold what stands outside against both. Whoever has more than is public checks
//! it against a [`CheckedLedger`]. The answers are made from all parts, at the end.

use std::collections::HashSet;

use crate::ledger::Oid;
use crate::ledger::read::{OpenError, Repository};
use crate::record::bitcoin::block::Network;
use crate::record::canon;
use crate::record::hash::Hash32;
use crate::record::ledger::commit::{CommitKind, MAIN};
use crate::record::ledger::documents::{Genesis, origin_is_valid};
use crate::record::signature::PublicKey;

use super::cursor::file::PositionMismatch;
use super::cursor::fit::ResumePoint;
use super::cursor::start::{CheckStart, ResumeStart, Scope};
use super::ledger::commits::{CheckedCommits, CommitCheck};
use super::ledger::history::{CommitNode, History, PendingParents};
use super::ledger::keys::KeyHistory;
use super::ledger::notes;
use super::ledger::read_ahead::ReadAhead;
use super::ledger::signatures::{CloseOnDrop, Queue};
use super::log::file::LogFile;
use super::log::lines::Lines;
use super::log::receipts::{ReceiptCheck, Receipts};
use super::log::segments::{CheckedLog, LogCheck};
use super::log::sessions::SessionChains;
use super::log::tree_head::CheckpointFile;
use super::owner::{CheckedLedger, DatabaseSummary, OwnerCheck};
use super::progress::Progress;
use super::report::{AuditQuestion, Findings};
use super::time::blocks::NamedBlocks;
use super::time::proofs::{FindHeaders, ProofCheck, Proofs};
use super::time::witnesses::{ForeignTreeHeads, OutsideCheck};
use super::{Evidence, VerifyError, VerifyOptions};

/// What is looked at, and what the caller knows of it.
#[derive(Clone, Copy)]
pub(crate) struct CheckTerms<'a> {
    pub repository: &'a Repository,
    pub progress: &'a Progress,
    /// The keys that the caller knows the ledger by, the newest last.
    pub signers: &'a [PublicKey],
    /// The network that the caller names.
    pub network: Option<Network>,
    /// Whether there is a log beside the segments in `main`.
    pub has_log: bool,
}

/// Checks one ledger.
pub(crate) struct Checker<'a> {
    pub terms: CheckTerms<'a>,
    pub start: CheckStart,
    pub genesis: Option<Genesis>,
    pub history: History,
    pub keys: KeyHistory,
    pub log: CheckedLog,
    pub commits: CheckedCommits,
    pub sessions: SessionChains,
    pub blocks: NamedBlocks,
    pub proofs: Proofs,
    pub outside: ForeignTreeHeads<'a>,
    /// Receipts that were held against the log.
    pub receipts: u64,
    pub database: Option<DatabaseSummary>,
    pub findings: Findings,
}

impl<'a> Checker<'a> {
    /// Reads refs, commits, `genesis.json` and the log.
    ///
    /// While this thread takes the log, a second one reads the commits that are not on `main`;
    /// signatures are checked by whichever of the two is free.
    pub fn read(
        evidence: &Evidence<'a>,
        repository: &'a Repository,
        start: ResumeStart<'_>,
        (options, progress): (VerifyOptions<'a>, &'a Progress),
    ) -> Result<Self, VerifyError> {
        // The tree head beside the log is read before the log, and the log's length is noted before
        // the refs are read.
        let beside = CheckpointFile::read(evidence.checkpoint.filter(|_| evidence.log.is_some()))?;
        let limit = beside.size().filter(|_| options.covered_only);
        let file = open_log(evidence, start)?;
        let (queue, mut findings) = (Queue::default(), Findings::default());
        let until = if let ResumeStart::Saved(position) = start {
            Some(position.0.commit)
        } else {
            None
        };
        let (mut history, mut unread) =
            History::read_main(repository, (until, limit), &queue, &mut findings)?;
        let terms = CheckTerms {
            repository,
            progress,
            signers: evidence.signers,
            network: options.network,
            has_log: evidence.log.is_some(),
        };
        let mut checker = Checker::new(terms, &history, beside, limit);
        checker.log.lines.receipts = Receipts::new(options.receipts);
        checker.begin(start, &mut history, &mut unread)?;
        checker.outside = ForeignTreeHeads::new(options.policy, options.heads);
        checker.read_outside(&history);
        // Only now: that `main` has left the position says more than that the log is shorter.
        let mut file = file.transpose()?;
        let main: Vec<CommitNode> = history.on_main().collect();
        // Which commits are behind the one that the caller named is known when the log is.
        let early = (checker.start.named_base.is_some() || limit.is_some())
            .then(|| checker.log_check().take_segments(&main, file.as_mut()));
        if limit.is_some() {
            checker.log_check().take_rest(file.take(), &history)?;
            unread.pass_newer(repository, |log| checker.log.lines.is_known(log));
        }
        let old = checker.start.old(&checker.log.lines);
        let (history, of_walk, log) = std::thread::scope(|scope| {
            let (queue, place, budget) = (&queue, repository.path(), repository.budget().clone());
            let walker = scope.spawn(move || -> Result<_, OpenError> {
                let _closing = CloseOnDrop(queue);
                let (repository, mut findings) =
                    (Repository::open_again(place, &budget)?, Findings::default());
                history.read_rest(&repository, unread, &old, queue, progress, &mut findings);
                queue.help();
                Ok((history, findings))
            });
            let log =
                early.unwrap_or_else(|| checker.log_check().take_segments(&main, file.as_mut()));
            queue.help();
            // A panic there is this one's too: nothing is passed that was not checked.
            let walked = walker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            walked.map(|(history, findings)| (history, findings, log))
        })?;
        log?;
        checker.history = history;
        checker.history.unsign(queue.into_bad());
        checker.start.check_tips(&checker.history, &checker.keys)?;
        findings.append(of_walk);
        findings.append(std::mem::take(&mut checker.findings));
        checker.findings = findings;
        checker.end_log(file)?;
        Ok(checker)
    }

    fn new(
        terms: CheckTerms<'a>,
        history: &History,
        beside: CheckpointFile,
        limit: Option<u64>,
    ) -> Self {
        let genesis = read_genesis(terms.repository, history);
        let root = history.on_main().next().map(|root| root.id);
        let lines = Lines::new(genesis.as_ref().map(|genesis| genesis.network));
        Checker {
            terms,
            start: CheckStart::new(),
            history: History::default(),
            keys: KeyHistory::new(genesis.as_ref(), root),
            genesis,
            log: CheckedLog::new(lines, beside, limit),
            commits: CheckedCommits::default(),
            sessions: SessionChains::default(),
            blocks: NamedBlocks::default(),
            proofs: Proofs::default(),
            outside: ForeignTreeHeads::default(),
            receipts: 0,
            database: None,
            findings: Findings::default(),
        }
    }

    fn log_check(&mut self) -> LogCheck<'_> {
        LogCheck {
            repository: self.terms.repository,
            genesis: self.genesis.as_ref(),
            log: &mut self.log,
            keys: &mut self.keys,
            start: &mut self.start,
            sessions: &mut self.sessions,
            findings: &mut self.findings,
        }
    }

    /// Takes the file's newer lines, when the segments are taken and the commits known.
    fn end_log(&mut self, file: Option<LogFile>) -> Result<(), VerifyError> {
        let history = std::mem::take(&mut self.history);
        self.log_check().end_log(file, &history)?;
        self.history = history;
        Ok(())
    }

    /// Reads the tree heads of others, and notes of which sizes of the log they are.
    fn read_outside(&mut self, history: &History) {
        let is_saved = self.start.is_saved();
        let sizes = self
            .outside
            .read(self.terms.repository, history, is_saved)
            .into_iter()
            .chain(self.log.beside.size());
        self.log.lines.sizes.wanted = sizes.collect();
        self.log.lines.keep_size();
    }

    /// Begins where the caller wants it, if the ledger goes through there.
    fn begin(
        &mut self,
        start: ResumeStart<'_>,
        history: &mut History,
        unread: &mut PendingParents,
    ) -> Result<(), VerifyError> {
        match start {
            ResumeStart::Genesis(mismatch) => {
                self.start.scope = Scope::Whole {
                    mismatch: mismatch.cloned(),
                };
                self.note_rewritten(mismatch);
            }
            ResumeStart::Commit(digits, mismatch) => {
                if !history.begin_behind(digits, unread) {
                    return Err(VerifyError::NotOnMain {
                        commit: digits.to_owned(),
                    });
                }
                self.start.named_base = history.base;
                let commit = history
                    .base
                    .and_then(|base| history.on_main().nth(base))
                    .map(|node| node.id.to_string());
                self.start.scope = Scope::Since {
                    commit: commit.unwrap_or_default(),
                    line: 0,
                    saved: None,
                    mismatch: mismatch.cloned(),
                };
                self.note_rewritten(mismatch);
            }
            ResumeStart::Saved(position) => {
                if history.base.is_none() {
                    return Err(position
                        .missed(history.on_main().next().map(|root| root.id))
                        .into());
                }
                self.stand_on(ResumePoint::of(position, self.terms.repository)?, position);
            }
        }
        Ok(())
    }

    /// A position that `main` does not go through any more: there is another history.
    fn note_rewritten(&mut self, mismatch: Option<&PositionMismatch>) {
        if let Some(mismatch @ PositionMismatch::Rewritten { commit, .. }) = mismatch {
            let expected = format!("commit {commit} among the first parents");
            self.findings.add(
                AuditQuestion::Unique,
                None,
                MAIN,
                expected,
                mismatch.to_string(),
            );
            self.findings
                .contradicted("the position of an earlier check");
        }
    }

    fn commit_check(&mut self) -> CommitCheck<'_> {
        CommitCheck {
            repository: self.terms.repository,
            progress: self.terms.progress,
            has_log: self.terms.has_log,
            genesis: self.genesis.as_ref(),
            history: &self.history,
            keys: &self.keys,
            main_lines: &self.log.main_lines,
            lines: &mut self.log.lines,
            sessions: &mut self.sessions,
            blocks: &mut self.blocks,
            commits: &mut self.commits,
            findings: &mut self.findings,
        }
    }

    /// Runs all checks of log and commits, in their order.
    pub fn check_all(&mut self) {
        let root = self.history.on_main().next();
        if let Some(root) = root.filter(|_| !self.start.is_saved()) {
            self.check_root(&root);
        }
        let (base, repository) = (self.start.named_base, self.terms.repository);
        let segment_trees = std::mem::take(&mut self.log.segment_trees);
        let mut check = self.commit_check();
        let read_ahead = ReadAhead::new(check.history, &segment_trees);
        let (place, budget) = (repository.path(), repository.budget().clone());
        std::thread::scope(|scope| {
            scope.spawn(|| read_ahead.run(place, &budget));
            check.check_chains(base, &mut read_ahead.consumer(repository));
        });
        self.check_notes();
        let is_saved = self.start.is_saved();
        OutsideCheck {
            repository,
            genesis: self.genesis.as_ref(),
            history: &self.history,
            keys: &self.keys,
            lines: &self.log.lines,
            outside: &mut self.outside,
            findings: &mut self.findings,
        }
        .check(is_saved);
        self.commit_check().check_lines_have_commits();
        self.log.lines.report_unanswered(&mut self.findings);
        self.receipts = ReceiptCheck {
            genesis: self.genesis.as_ref(),
            keys: &self.keys,
            count: self.log.lines.state.count(),
            has_log: self.terms.has_log,
            findings: &mut self.findings,
        }
        .check(&std::mem::take(&mut self.log.lines.receipts));
        self.check_signer();
    }

    /// Notes are by commit, and the older commits of `main` are not known behind a saved position.
    fn check_notes(&mut self) {
        if self.start.is_saved() {
            return;
        }
        let newer = self.history.newer_on_main.iter().map(Oid::to_string);
        let on_main: HashSet<String> = self
            .history
            .on_main()
            .map(|node| node.id.to_string())
            .chain(newer)
            .collect();
        let repository = self.terms.repository;
        for (name, tip) in &self.history.notes {
            notes::check(repository, name, *tip, &on_main, &mut self.findings);
        }
    }

    /// Asks for headers, and holds proofs and blocks against them.
    pub fn check_proofs(&mut self, find: Option<&FindHeaders<'_>>) {
        ProofCheck {
            repository: self.terms.repository,
            genesis: self.genesis.as_ref(),
            history: &self.history,
            is_saved: self.start.is_saved(),
            first_line: self.start.first_line(),
            log: &mut self.log,
            blocks: &mut self.blocks,
            proofs: &mut self.proofs,
            findings: &mut self.findings,
        }
        .check(find);
    }

    /// Lets the owner's check look at everything that was read.
    pub fn check_owned(&mut self, check: &dyn OwnerCheck) -> Result<(), VerifyError> {
        let checked = CheckedLedger {
            repository: self.terms.repository,
            progress: self.terms.progress,
            genesis: self.genesis.as_ref(),
            history: &self.history,
            keys: &self.keys,
            lines: &self.log.lines,
            in_segments: self.log.in_segments,
            sessions: &self.sessions,
            commits: &self.commits,
        };
        self.database = check.check(&checked, &mut self.findings)?;
        Ok(())
    }

    fn check_root(&mut self, root: &CommitNode) {
        let place = root.file("genesis.json");
        let Some(genesis) = &self.genesis else {
            let expected = format!(
                "the root of main with a genesis.json of format {}",
                crate::record::ledger::documents::FORMAT
            );
            return self
                .findings
                .inconsistent(None, place, expected, "none that can be read");
        };
        if root.kind != Some(CommitKind::Genesis) || !root.parents.is_empty() {
            let actual = format!("{} with {} parents", root.place(), root.parents.len());
            self.findings
                .inconsistent(None, MAIN, "a history that begins with genesis", actual);
        }
        self.findings.same(
            None,
            || place.clone(),
            "genesis",
            &Hash32::GENESIS,
            &genesis.genesis,
        );
        if !origin_is_valid(&genesis.origin) {
            let actual = format!("'{}'", genesis.origin.escape_debug());
            self.findings.inconsistent(
                None,
                place.clone(),
                "an origin without white space or '+'",
                actual,
            );
        }
    }
}

/// The log file: from its beginning, or behind the lines of a saved position.
fn open_log(
    evidence: &Evidence<'_>,
    start: ResumeStart<'_>,
) -> Result<Option<Result<LogFile, PositionMismatch>>, VerifyError> {
    let Some(path) = evidence.log else {
        return Ok(None);
    };
    let ResumeStart::Saved(position) = start else {
        return Ok(Some(Ok(LogFile::open(path)?)));
    };
    let (lines, bytes, head) = (position.lines(), position.0.bytes, position.0.head);
    Ok(Some(LogFile::open_behind(path, lines, bytes, head)?))
}

/// `genesis.json` of the root of `main`; the first thing that everything else hangs on.
fn read_genesis(repository: &Repository, history: &History) -> Option<Genesis> {
    let root = history
        .on_main()
        .next()
        .filter(|root| root.kind == Some(CommitKind::Genesis))?;
    let entry = repository
        .tree(&root.tree)
        .ok()?
        .into_iter()
        .rfind(|entry| entry.is_file("genesis.json"))?;
    canon::parse::<Genesis>(&repository.file(&entry).ok()?).ok()
}
