//! The shape of a ledger's history: which refs there are, which commits, and which branch each stands on
//! (format, sections 1, 5 and 11.2).
//!
//! ```text
//! main      genesis ── close ── checkpoint ── close        first parents of refs/heads/main
//!              \      /                      /
//! branch-4      start ── 1 ── 2 ── end … start … end        first parents of refs/heads/branch-4, down to main
//! ```
//!
//! Every commit that a ref reaches is on exactly one of these chains.

use std::collections::{BTreeMap, HashMap};

use crate::ledger::Oid;
use crate::ledger::read::{Commit, OpenError, Repository, Target};
use crate::record::commit::{CommitKind, MAIN, NOTES_OTS, NOTES_WITNESS, branch_ref, trailer};
use crate::record::hash::Hash32;
use crate::record::signature::PublicKey;
use crate::record::time::Seconds;

use super::report::{Findings, Question};

/// Which chain a commit stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chain {
    /// First parents of `main`, counted from genesis.
    Main(usize),
    /// First parents of `branch-N`, counted from where it leaves `main`.
    Branch(u8, usize),
}

/// What is kept of one commit: some 300 bytes, so that a million of them fit.
pub(super) struct Node {
    pub id: Oid,
    pub tree: Oid,
    pub parents: Vec<Oid>,
    pub time: Seconds,
    /// The key that the signature is good for; none when it is good for none.
    pub signer: Option<PublicKey>,
    /// What its subject names; none for a foreign subject.
    pub kind: Option<CommitKind>,
    /// Its `Log` trailer.
    pub log: Option<Hash32>,
    /// Its `Session` trailer.
    pub session: Option<Hash32>,
    /// H of its message, which is compared with the one that its document asks for.
    pub message: Hash32,
    pub chain: Option<Chain>,
    /// The highest position on `main` among its ancestors and itself.
    pub main_reached: Option<usize>,
}

impl Node {
    fn new(id: Oid, commit: &Commit) -> Self {
        let hash = |key| trailer(&commit.message, key).and_then(|text| text.parse().ok());
        let subject = commit.message.lines().next().unwrap_or_default();
        Node {
            id,
            tree: commit.tree,
            parents: commit.parents.clone(),
            time: commit.time,
            signer: commit.is_signed_by(&commit.key).then_some(commit.key),
            kind: CommitKind::of_subject(subject),
            log: hash("Log"),
            session: hash("Session"),
            message: Hash32::digest(commit.message.as_bytes()),
            chain: None,
            main_reached: None,
        }
    }

    /// How findings name this commit.
    pub fn place(&self) -> String {
        let kind = self.kind.map_or("of no known kind", CommitKind::name);
        match self.chain {
            Some(Chain::Main(_)) => format!("commit {} ({kind}, main)", self.id),
            Some(Chain::Branch(n, _)) => format!("commit {} ({kind}, branch-{n})", self.id),
            None => format!("commit {} ({kind})", self.id),
        }
    }

    /// How findings name a file of this commit.
    pub fn file(&self, name: &str) -> String {
        format!("{}, file {name}", self.place())
    }
}

/// All commits, and the chains they stand on.
#[derive(Default)]
pub(super) struct History {
    pub nodes: Vec<Node>,
    by_id: HashMap<Oid, usize>,
    /// From genesis to the tip.
    pub main: Vec<usize>,
    /// From the first commit after `main` to the tip, by number.
    pub branches: BTreeMap<u8, Vec<usize>>,
    /// Tips of the notes refs that are there.
    pub notes: Vec<(String, Oid)>,
}

impl History {
    /// Reads all refs and every commit that they reach.
    pub fn read(repository: &Repository, findings: &mut Findings) -> Result<Self, OpenError> {
        let tips = Tips::read(repository, findings)?;
        let mut history = History {
            nodes: Vec::new(),
            by_id: HashMap::new(),
            main: Vec::new(),
            branches: BTreeMap::new(),
            notes: tips.notes,
        };
        if let Some(tip) = tips.main {
            history.walk(repository, MAIN, tip, findings);
            history.place_main(tip);
        }
        for (n, tip) in &tips.branches {
            history.walk(repository, &branch_name(*n), *tip, findings);
        }
        for (n, tip) in &tips.branches {
            history.place_branch(*n, *tip, findings);
        }
        history.reach_main();
        history.check_placed(&tips.branches, findings);
        Ok(history)
    }

    /// A commit by its id, if it could be read.
    pub fn node(&self, id: &Oid) -> Option<&Node> {
        self.nodes.get(*self.by_id.get(id)?)
    }

    /// The commits of `main`, from genesis.
    pub fn on_main(&self) -> impl Iterator<Item = &Node> {
        self.main.iter().filter_map(|at| self.nodes.get(*at))
    }

    /// The commits of one branch, oldest first.
    pub fn on_branch(&self, n: u8) -> impl Iterator<Item = &Node> {
        self.branches.get(&n).into_iter().flatten().filter_map(|at| self.nodes.get(*at))
    }

    /// Reads everything that a tip reaches; what can't be read is a finding that names who asked for it.
    fn walk(&mut self, repository: &Repository, name: &str, tip: Oid, findings: &mut Findings) {
        let mut open = vec![(tip, name.to_owned())];
        while let Some((id, asked_by)) = open.pop() {
            if self.by_id.contains_key(&id) {
                continue;
            }
            match repository.commit(&id) {
                Ok(commit) => {
                    let node = Node::new(id, &commit);
                    open.extend(node.parents.iter().map(|parent| (*parent, node.place())));
                    self.by_id.insert(id, self.nodes.len());
                    self.nodes.push(node);
                }
                Err(fault) => findings.object(None, format!("commit {id} (asked for by {asked_by})"), &fault),
            }
        }
    }

    fn place_main(&mut self, tip: Oid) {
        let mut chain = Vec::new();
        let mut next = Some(tip);
        while let Some(at) = next.and_then(|id| self.by_id.get(&id).copied()) {
            chain.push(at);
            next = self.nodes.get(at).and_then(|node| node.parents.first().copied());
        }
        chain.reverse();
        for (position, at) in chain.iter().enumerate() {
            if let Some(node) = self.nodes.get_mut(*at) {
                node.chain = Some(Chain::Main(position));
            }
        }
        self.main = chain;
    }

    fn place_branch(&mut self, n: u8, tip: Oid, findings: &mut Findings) {
        let mut chain = Vec::new();
        let mut next = Some(tip);
        while let Some(at) = next.and_then(|id| self.by_id.get(&id).copied()) {
            let Some(node) = self.nodes.get(at).filter(|node| node.chain.is_none()) else { break };
            chain.push(at);
            next = node.parents.first().copied();
        }
        if chain.is_empty() {
            let expected = "a session's commit that is on no other branch";
            findings.add(Question::Consistent, None, branch_name(n), expected, format!("commit {tip}"));
        }
        chain.reverse();
        for (position, at) in chain.iter().enumerate() {
            if let Some(node) = self.nodes.get_mut(*at) {
                node.chain = Some(Chain::Branch(n, position));
            }
        }
        self.branches.insert(n, chain);
    }

    /// Computes `main_reached` of every commit, parents first.
    fn reach_main(&mut self) {
        let mut done = vec![false; self.nodes.len()];
        for start in 0..self.nodes.len() {
            let mut open = vec![start];
            while let Some(&at) = open.last() {
                let Some(node) = self.nodes.get(at) else { break };
                let parents: Vec<usize> = node.parents.iter().filter_map(|id| self.by_id.get(id).copied()).collect();
                let waiting: Vec<usize> =
                    parents.iter().copied().filter(|p| !done.get(*p).copied().unwrap_or(true)).collect();
                if !waiting.is_empty() {
                    open.extend(waiting);
                    continue;
                }
                open.pop();
                let own = match node.chain {
                    Some(Chain::Main(position)) => Some(position),
                    _ => None,
                };
                let above = parents.iter().filter_map(|p| self.nodes.get(*p)?.main_reached).max();
                if let (Some(node), Some(done)) = (self.nodes.get_mut(at), done.get_mut(at)) {
                    node.main_reached = own.max(above);
                    *done = true;
                }
            }
        }
    }

    /// A commit on no chain is one that a ref was moved back from, or that a foreign path leads to.
    fn check_placed(&self, tips: &BTreeMap<u8, Oid>, findings: &mut Findings) {
        for node in self.nodes.iter().filter(|node| node.chain.is_none()) {
            let first = node.parents.first();
            match tips.iter().find(|(_, tip)| Some(*tip) == first) {
                Some((n, tip)) => findings.add(
                    Question::Consistent,
                    node.session,
                    branch_name(*n),
                    format!("{}, which follows, or a later one", node.place()),
                    format!("commit {tip}"),
                ),
                None => findings.add(
                    Question::Consistent,
                    node.session,
                    node.place(),
                    "a commit on the first parents of main or of its session's branch",
                    "one that only another path reaches",
                ),
            }
        }
    }
}

/// The full name of a session branch.
pub(super) fn branch_name(n: u8) -> String {
    branch_ref(&format!("branch-{n}"))
}

/// Where the refs of a ledger point.
struct Tips {
    main: Option<Oid>,
    branches: BTreeMap<u8, Oid>,
    notes: Vec<(String, Oid)>,
}

impl Tips {
    /// No refs but those of section 1, and none of them symbolic; a foreign one is not followed.
    fn read(repository: &Repository, findings: &mut Findings) -> Result<Self, OpenError> {
        let mut tips = Tips { main: None, branches: BTreeMap::new(), notes: Vec::new() };
        for found in repository.refs()? {
            let id = match found.target {
                Target::Direct(id) => id,
                Target::Symbolic(to) => {
                    let actual = format!("a symbolic ref to {to}");
                    findings.add(Question::Consistent, None, found.name, "a ref to a commit", actual);
                    continue;
                }
                Target::Broken(actual) => {
                    findings.add(Question::Consistent, None, found.name, "a commit's id and a newline", actual);
                    continue;
                }
            };
            let branch = (1..=7).find(|n| branch_name(*n) == found.name);
            match (found.name.as_str(), branch) {
                (MAIN, _) => tips.main = Some(id),
                (_, Some(n)) => _ = tips.branches.insert(n, id),
                (NOTES_OTS | NOTES_WITNESS, _) => tips.notes.push((found.name, id)),
                _ => findings.add(
                    Question::Consistent,
                    None,
                    found.name,
                    "no refs but main, branch-1 to branch-7, refs/notes/ots and refs/notes/witness (clone with --mirror)",
                    format!("a ref to {id}"),
                ),
            }
        }
        if tips.main.is_none() {
            findings.add(Question::Consistent, None, MAIN, "a ref to a commit", "nothing");
        }
        Ok(tips)
    }
}
