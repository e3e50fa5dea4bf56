//! What the checks share while a ledger is gone through.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::ledger::Oid;
use crate::ledger::read::{Repository, TreeEntry};
use crate::record::canon;
use crate::record::commit::{CommitKind, MAIN};
use crate::record::documents::{Genesis, origin_is_valid};
use crate::record::entry::Event;
use crate::record::hash::Hash32;
use crate::record::signature::PublicKey;

use super::VerifyError;
use super::ahead::{Ahead, Fetched, Taker};
use super::database::DatabaseCounts;
use super::file::LogFile;
use super::history::{Chain, History, Node};
use super::lines::Lines;
use super::notes;
use super::records::Short;
use super::report::{Findings, Question, TreeHead};
use super::sessions::SessionCheck;

/// The files of one commit, by name; what a tree holds beyond them is a finding of its own.
#[derive(Default)]
pub(super) struct Files(Vec<(String, Vec<u8>)>);

impl Files {
    /// A file; of two with one name the last.
    pub fn get(&self, name: &str) -> Option<&Vec<u8>> {
        self.0.iter().rev().find(|(known, _)| known == name).map(|(_, bytes)| bytes)
    }
}

/// A signing key, and from where on it is in force.
pub(super) struct InForce {
    /// The number of its rotation's line, 0 for the first key; none when the log does not have the line.
    pub after: Option<u64>,
    /// The position of its rotation on `main`, 0 for the first key; none when it does not stand there.
    pub from: Option<u32>,
    pub key: PublicKey,
}

/// Goes through one ledger.
pub(super) struct Checker<'a> {
    pub repository: &'a Repository,
    pub pinned: Option<PublicKey>,
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
    /// `exchange_hash` of each `record.json`, by the document's hash; kept only for a database.
    pub exchange_hashes: HashMap<Hash32, Hash32>,
    pub has_database: bool,
    pub database: Option<DatabaseCounts>,
}

impl<'a> Checker<'a> {
    /// Reads refs, commits and `genesis.json`.
    pub fn read(repository: &'a Repository, pinned: Option<PublicKey>) -> Result<Self, VerifyError> {
        let mut findings = Findings::default();
        let history = History::read(repository, &mut findings)?;
        let mut checker = Checker {
            repository,
            pinned,
            findings,
            history,
            genesis: None,
            lines: Lines::new(None),
            keys: Vec::new(),
            main_lines: Vec::new(),
            sessions: HashMap::new(),
            met: Vec::new(),
            segment_trees: HashSet::new(),
            tree_heads: Vec::new(),
            commits: BTreeMap::new(),
            btc_anchors: 0,
            anchored: HashSet::new(),
            lines_in_segments: 0,
            log_file: false,
            exchange_hashes: HashMap::new(),
            has_database: false,
            database: None,
        };
        checker.genesis = checker.read_genesis();
        checker.lines = Lines::new(checker.genesis.as_ref().map(|genesis| genesis.network));
        if let Some(genesis) = &checker.genesis {
            checker.keys.push(InForce { after: Some(0), from: Some(0), key: genesis.signer });
        }
        Ok(checker)
    }

    /// Runs all checks, in their order.
    pub fn check_all(&mut self, file: Option<LogFile>) -> Result<(), VerifyError> {
        self.log_file = file.is_some();
        self.take_log(file)?;
        let history = std::mem::take(&mut self.history);
        if let Some(root) = history.on_main().next() {
            self.check_root(&root);
        }
        let segment_trees = std::mem::take(&mut self.segment_trees);
        let ahead = Ahead::new(&history, &segment_trees);
        let repository = self.repository;
        let place = repository.path();
        std::thread::scope(|scope| {
            scope.spawn(|| ahead.run(place));
            self.check_chains(&history, &mut ahead.taker(repository));
        });
        let on_main: HashSet<String> = history.on_main().map(|node| node.id.to_string()).collect();
        for (name, tip) in &history.notes {
            notes::check(self.repository, name, *tip, &on_main, &mut self.findings);
        }
        self.check_lines_have_commits(&history);
        self.history = history;
        self.lines.report_unanswered(&mut self.findings);
        Ok(())
    }

    /// Every commit of every chain, oldest first.
    fn check_chains(&mut self, history: &History, files: &mut Taker<'_, '_>) {
        let mut last = None;
        for (position, node) in history.on_main().enumerate() {
            self.check_commit(history, &node, position, files.next());
            last = self.check_order(&node, last);
        }
        for n in 1..=7 {
            self.check_branch(history, history.on_branch(n), files);
        }
        for n in 0..history.lost.len() {
            self.check_branch(history, history.on_lost(n), files);
        }
    }

    /// A session's start or end on a block, of which no commit has been seen.
    fn check_lines_are_anchored(&mut self) {
        for line in self.lines.records.whole() {
            let (Event::SessionStart { btc, .. } | Event::SessionEnd { btc, .. }) = &line.event else { continue };
            if *btc != 0 && !self.anchored.contains(&line.hash) {
                self.findings.unlooked(Question::NotBefore);
            }
        }
    }

    /// `genesis.json` of the root of `main`; the first thing that everything else hangs on.
    fn read_genesis(&mut self) -> Option<Genesis> {
        let root = self.history.on_main().next().filter(|root| root.kind == Some(CommitKind::Genesis))?;
        let entry = self.repository.tree(&root.tree).ok()?.into_iter().rfind(|entry| entry.is_file("genesis.json"))?;
        canon::parse::<Genesis>(&self.repository.blob(&entry.id).ok()?).ok()
    }

    fn check_root(&mut self, root: &Node) {
        let place = root.file("genesis.json");
        let Some(genesis) = &self.genesis else {
            let expected =
                format!("the root of main with a genesis.json of format {}", crate::record::documents::FORMAT);
            return self.findings.add(Question::Consistent, None, place, expected, "none that can be read");
        };
        if root.kind != Some(CommitKind::Genesis) || !root.parents.is_empty() {
            let actual = format!("{} with {} parents", root.place(), root.parents.len());
            self.findings.add(Question::Consistent, None, MAIN, "a history that begins with genesis", actual);
        }
        self.findings.same(None, || place.clone(), "genesis", &Hash32::GENESIS, &genesis.genesis);
        if !origin_is_valid(&genesis.origin) {
            let actual = format!("'{}'", genesis.origin.escape_debug());
            self.findings.add(
                Question::Consistent,
                None,
                place.clone(),
                "an origin without white space or '+'",
                actual,
            );
        }
        if let Some(pinned) = self.pinned.filter(|pinned| *pinned != genesis.signer) {
            let actual = format!("signer {}", genesis.signer);
            self.findings.add(Question::SignedBy, None, place, format!("the pinned signer {pinned}"), actual);
        }
    }

    /// The key in force at a commit's line; when that is not known, by the rotations among its ancestors.
    pub fn key_at(&self, line: Option<u64>, node: &Node) -> Option<PublicKey> {
        self.genesis.as_ref()?;
        let reached = match node.chain {
            Some(Chain::Main(position)) => position.saturating_sub(1),
            _ => node.main_reached.unwrap_or_default(),
        };
        let in_force = self.keys.iter().rev().find(|known| match line {
            Some(line) => known.after.is_some_and(|after| after < line),
            None => known.from.is_some_and(|from| from <= reached),
        });
        in_force.map(|known| known.key)
    }

    /// The entries and files of a commit; what could not be read is a finding.
    pub fn take_files(&mut self, node: &Node, fetched: Option<Fetched>) -> Option<(Vec<TreeEntry>, Files)> {
        let Fetched { entries, files: read } = fetched?;
        let entries = match entries {
            Ok(entries) => entries,
            Err(fault) => {
                self.findings.object(node.session, format!("{}, tree {}", node.place(), node.tree), &fault);
                return None;
            }
        };
        let mut files = Files::default();
        for (at, content) in read {
            let Some(entry) = entries.get(at) else { continue };
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

    /// A `record:` line without its commit, and a session without its branch.
    fn check_lines_have_commits(&mut self, history: &History) {
        self.check_lines_are_anchored();
        for Short { number, commits, line } in self.lines.records.short(self.repository) {
            let session = line.as_ref().and_then(|line| line.line.session);
            let branch = session.filter(|_| commits == 0).and_then(|id| self.lines.state.session(id));
            let place = match branch {
                Some(session) => format!("refs/heads/{}, log line {number}", session.start.branch),
                None => format!("{MAIN}, log line {number}"),
            };
            let (wanted, name) = line.as_ref().map_or((1, "response"), |line| (line.wanted(), line.line.event.name()));
            let expected = format!("{} for the {name} line", counted(wanted));
            self.findings.add(Question::Consistent, session, place, expected, counted(commits));
        }
        let mut branches: BTreeMap<&str, Hash32> = BTreeMap::new();
        for session in self.lines.state.sessions() {
            branches.entry(&session.start.branch).or_insert(session.id);
        }
        for (branch, session) in branches {
            let there = (1..=7).any(|n| format!("branch-{n}") == branch && history.branches.contains_key(&n));
            if !there {
                let place = format!("refs/heads/{branch}");
                let expected = format!("a ref to the commits of session {session} and later ones");
                self.findings.add(Question::Consistent, None, place, expected, "nothing");
            }
        }
    }
}

fn counted(commits: u32) -> String {
    match commits {
        0 => "no commit".to_owned(),
        1 => "one commit".to_owned(),
        n => format!("{n} commits"),
    }
}
