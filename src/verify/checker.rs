//! What the checks share while a ledger is gone through.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::ledger::Oid;
use crate::ledger::read::{OpenError, Repository, TreeEntry};
use crate::record::bitcoin::block::Network;
use crate::record::canon;
use crate::record::hash::Hash32;
use crate::record::ledger::commit::{CommitKind, MAIN};
use crate::record::ledger::documents::{Genesis, origin_is_valid};
use crate::record::signature::PublicKey;

use super::cursor::file::PositionMismatch;
use super::cursor::fit::ResumePoint;
use super::cursor::start::{ResumeStart, Scope, SegmentEnd};
use super::ledger::commit_graph::half;
use super::ledger::history::{CommitNode, History, PendingParents};
use super::ledger::keys::InForce;
use super::ledger::notes;
use super::ledger::read_ahead::{FetchedFiles, ReadAhead, Taker};
use super::ledger::signatures::{CloseOnDrop, Queue};
use super::log::file::LogFile;
use super::log::line_index::RowComparison;
use super::log::lines::Lines;
use super::log::receipts::Receipts;
use super::log::sessions::SessionCheck;
use super::log::tree_head::Beside;
use super::progress::{CheckStage, Progress};
use super::report::{AuditQuestion, Findings, TreeHead};
use super::time::blocks::FirstMention;
use super::time::proofs::Proofs;
use super::time::witnesses::ForeignTreeHeads;
use super::{Evidence, VerifyError, VerifyOptions};
use crate::audit::rows::artifacts::Tombstones;
use crate::audit::rows::content_policy::ContentPolicies;
use crate::audit::rows::database::DatabaseCounts;

/// The files of one commit, by name; what a tree holds beyond them is a finding of its own.
#[derive(Default)]
pub(crate) struct CommitFiles(Vec<(String, Vec<u8>)>);

impl CommitFiles {
    /// A file; of two with one name the last.
    pub fn get(&self, name: &str) -> Option<&Vec<u8>> {
        self.0
            .iter()
            .rev()
            .find(|(known, _)| known == name)
            .map(|(_, bytes)| bytes)
    }
}

/// Goes through one ledger.
pub(crate) struct Checker<'a> {
    pub repository: &'a Repository,
    pub progress: &'a Progress,
    /// The keys that the caller knows the ledger by, the newest last.
    pub pinned: Vec<PublicKey>,
    /// The network that the caller names.
    pub named_network: Option<Network>,
    /// The tree head beside the log, until it is judged.
    pub beside: Beside,
    /// Lines behind this one are newer and not read.
    pub limit: Option<u64>,
    /// How many those are.
    pub newer: u64,
    /// Lines that nobody signed.
    pub unsigned: u64,
    /// Commits behind the last segment, where the log is not at hand.
    pub commits_apart: u64,
    pub findings: Findings,
    pub history: History,
    pub genesis: Option<Genesis>,
    pub lines: Lines,
    pub keys: Vec<InForce>,
    /// Line numbers of the commits of `main`, in its order; none for one whose line is not known.
    pub main_lines: Vec<Option<u64>>,
    pub sessions: HashMap<Hash32, SessionCheck>,
    /// Sessions in the order in which their commits were met.
    pub met: Vec<Hash32>,
    /// Trees whose segment and tree head were checked on `main`.
    pub segment_trees: HashSet<Oid>,
    pub tree_heads: Vec<TreeHead>,
    pub commits: BTreeMap<CommitKind, u64>,
    pub btc_anchors: u64,
    /// Lines of session starts and ends whose commit was met.
    pub anchored: HashSet<Hash32>,
    pub lines_in_segments: u64,
    pub log_file: bool,
    /// Rows of stored lines, as far as they were held against the log.
    pub stored_lines: RowComparison,
    pub tombstones: Tombstones,
    /// What was kept of texts, by line.
    pub policies: ContentPolicies,
    pub database: Option<DatabaseCounts>,
    pub scope: Scope,
    /// The commits that brought the keys: the root of `main`, then rotations.
    pub key_commits: Vec<Oid>,
    /// The log at the end of the last segment.
    pub mark: Option<SegmentEnd>,
    /// Place on `main` of the commit that the caller named.
    pub named_base: Option<usize>,
    /// Blocks that commits name, each with who named it first.
    pub named: BTreeMap<(u32, Hash32), FirstMention>,
    /// Heights whose headers are in the kept chain.
    pub chained: BTreeSet<u32>,
    pub proofs: Proofs,
    /// Tips of the branches at the saved position.
    pub saved_tips: BTreeMap<u8, Oid>,
    /// Lines before the saved position that were read again.
    pub replayed: u64,
    /// Tree heads of others.
    pub outside: ForeignTreeHeads<'a>,
    /// Receipts that were held against the log.
    pub receipts: u64,
}

impl<'a> Checker<'a> {
    /// Reads refs, commits, `genesis.json` and the log.
    ///
    /// While this thread takes the log, a second one reads the commits that are not on `main`;
    /// signatures are checked by whichever of the two is free.
    pub fn read(
        evidence: &Evidence<'_>,
        repository: &'a Repository,
        start: ResumeStart<'_>,
        (terms, progress): (VerifyOptions<'a>, &'a Progress),
    ) -> Result<Self, VerifyError> {
        // The tree head beside the log is read before the log, and the log's length is noted before
        // the refs are read.
        let beside = Beside::read(evidence.checkpoint.filter(|_| evidence.log.is_some()))?;
        let limit = beside.size().filter(|_| terms.covered_only);
        let file = open_log(evidence, start)?;
        let (queue, mut findings) = (Queue::default(), Findings::default());
        let until = if let ResumeStart::Saved(position) = start {
            Some(position.0.commit)
        } else {
            None
        };
        let (mut history, mut unread) =
            History::read_main(repository, (until, limit), &queue, &mut findings)?;
        let mut checker = Checker::new(evidence, repository, &history, progress);
        (checker.beside, checker.limit, checker.named_network) = (beside, limit, terms.network);
        checker.lines.receipts = Receipts::new(terms.receipts);
        checker.begin(start, &mut history, &mut unread)?;
        checker.outside = ForeignTreeHeads::of(terms.policy, terms.heads);
        checker.read_outside(&history);
        // Only now: that `main` has left the position says more than that the log is shorter.
        let mut file = file.transpose()?;
        let main: Vec<CommitNode> = history.on_main().collect();
        // Which commits are behind the one that the caller named is known when the log is.
        let early = (checker.named_base.is_some() || limit.is_some())
            .then(|| checker.take_segments(&main, file.as_mut()));
        if limit.is_some() {
            checker.take_rest(file.take(), &history)?;
            let lines = &checker.lines;
            unread.pass_newer(repository, |log| {
                lines.records.number(log).is_some() || lines.old.contains(&half(*log))
            });
        }
        let old = checker.old();
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
            let log = early.unwrap_or_else(|| checker.take_segments(&main, file.as_mut()));
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
        checker.check_saved_tips()?;
        findings.append(of_walk);
        findings.append(std::mem::take(&mut checker.findings));
        checker.findings = findings;
        checker.end_log(file)?;
        Ok(checker)
    }

    fn new(
        evidence: &Evidence<'_>,
        repository: &'a Repository,
        history: &History,
        progress: &'a Progress,
    ) -> Self {
        let genesis = read_genesis(repository, history);
        let lines = Lines::new(genesis.as_ref().map(|genesis| genesis.network));
        Checker {
            repository,
            progress,
            pinned: evidence.signers.to_vec(),
            named_network: None,
            beside: Beside::None,
            limit: None,
            newer: 0,
            unsigned: 0,
            commits_apart: 0,
            findings: Findings::default(),
            history: History::default(),
            keys: genesis
                .iter()
                .map(|genesis| InForce {
                    after: Some(0),
                    from: Some(0),
                    key: genesis.signer,
                })
                .collect(),
            genesis,
            lines,
            main_lines: Vec::new(),
            sessions: HashMap::new(),
            met: Vec::new(),
            segment_trees: HashSet::new(),
            tree_heads: Vec::new(),
            commits: BTreeMap::new(),
            btc_anchors: 0,
            anchored: HashSet::new(),
            lines_in_segments: 0,
            log_file: evidence.log.is_some(),
            stored_lines: RowComparison::default(),
            tombstones: Tombstones::default(),
            policies: ContentPolicies::default(),
            database: None,
            scope: Scope::Whole { mismatch: None },
            key_commits: history
                .on_main()
                .next()
                .map(|root| root.id)
                .into_iter()
                .collect(),
            mark: None,
            named_base: None,
            named: BTreeMap::new(),
            chained: BTreeSet::new(),
            proofs: Proofs::default(),
            saved_tips: BTreeMap::new(),
            replayed: 0,
            outside: ForeignTreeHeads::default(),
            receipts: 0,
        }
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
                self.scope = Scope::Whole {
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
                self.named_base = history.base;
                let commit = history
                    .base
                    .and_then(|base| history.on_main().nth(base))
                    .map(|node| node.id.to_string());
                self.scope = Scope::Since {
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
                self.stand_on(ResumePoint::of(position, self.repository)?, position);
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

    /// Runs all checks of commits, in their order.
    pub fn check_all(&mut self) {
        let history = std::mem::take(&mut self.history);
        if let Some(root) = history.on_main().next().filter(|_| !self.saved_base()) {
            self.check_root(&root);
        }
        let segment_trees = std::mem::take(&mut self.segment_trees);
        let read_ahead = ReadAhead::new(&history, &segment_trees);
        let repository = self.repository;
        let (place, budget) = (repository.path(), repository.budget().clone());
        std::thread::scope(|scope| {
            scope.spawn(|| read_ahead.run(place, &budget));
            self.check_chains(&history, &mut read_ahead.taker(repository));
        });
        let newer = history.newer_on_main.iter().map(Oid::to_string);
        let on_main: HashSet<String> = history
            .on_main()
            .map(|node| node.id.to_string())
            .chain(newer)
            .collect();
        // Notes are by commit, and the older commits of `main` are not known behind a saved
        // position.
        let notes = if self.saved_base() {
            &[][..]
        } else {
            &history.notes
        };
        for (name, tip) in notes {
            notes::check(self.repository, name, *tip, &on_main, &mut self.findings);
        }
        self.check_outside(&history);
        self.check_lines_have_commits(&history);
        self.history = history;
        self.lines.report_unanswered(&mut self.findings);
        self.check_receipts();
        self.check_signer();
    }

    /// Every commit of every chain, oldest first.
    fn check_chains(&mut self, history: &History, files: &mut Taker<'_, '_>) {
        let branches = history
            .branches
            .values()
            .chain(&history.unreachable)
            .map(Vec::len)
            .sum::<usize>();
        let commits = history.new_on_main().len() + branches;
        self.progress.begin(
            CheckStage::Commits,
            u64::try_from(commits).unwrap_or(u64::MAX),
        );
        if self.named_base == Some(0)
            && let Some(log) = history.on_main().next().and_then(|root| root.log)
        {
            // The root has no segment: its line stands in the first one behind it, and has its
            // commit.
            self.lines.records.count_commit(&log);
        }
        let mut last = None;
        let skipped = history.base.map_or(0, |base| base + 1);
        for (position, node) in history.on_main().enumerate().skip(skipped) {
            self.check_commit(history, &node, position, files.next());
            last = self.check_order(&node, last);
        }
        for n in 1..=7 {
            self.check_branch(history, history.on_branch(n), files);
        }
        for n in 0..history.unreachable.len() {
            self.check_branch(history, history.on_lost(n), files);
        }
    }

    fn check_root(&mut self, root: &CommitNode) {
        let place = root.file("genesis.json");
        let Some(genesis) = &self.genesis else {
            let expected = format!(
                "the root of main with a genesis.json of format {}",
                crate::record::ledger::documents::FORMAT
            );
            return self.findings.add(
                AuditQuestion::Consistent,
                None,
                place,
                expected,
                "none that can be read",
            );
        };
        if root.kind != Some(CommitKind::Genesis) || !root.parents.is_empty() {
            let actual = format!("{} with {} parents", root.place(), root.parents.len());
            self.findings.add(
                AuditQuestion::Consistent,
                None,
                MAIN,
                "a history that begins with genesis",
                actual,
            );
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
            self.findings.add(
                AuditQuestion::Consistent,
                None,
                place.clone(),
                "an origin without white space or '+'",
                actual,
            );
        }
    }

    /// The entries and files of a commit; what could not be read is a finding.
    pub fn take_files(
        &mut self,
        node: &CommitNode,
        fetched: FetchedFiles,
    ) -> Option<(Vec<TreeEntry>, CommitFiles)> {
        let FetchedFiles {
            entries,
            files: read,
        } = fetched;
        let entries = match entries {
            Ok(entries) => entries,
            Err(fault) => {
                self.findings.object(
                    node.session,
                    format!("{}, tree {}", node.place(), node.tree),
                    &fault,
                );
                return None;
            }
        };
        let mut files = CommitFiles::default();
        for (at, content) in read {
            let Some(entry) = entries.get(at) else {
                continue;
            };
            match content {
                Ok(bytes) => files.0.push((entry.name.clone(), bytes)),
                Err(fault) => {
                    let place = format!("{} (object {})", node.file(&entry.name), entry.id);
                    self.findings.object(node.session, place, &fault);
                }
            }
        }
        Some((entries, files))
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
