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

use std::collections::{BTreeMap, HashSet};
use std::sync::mpsc;

use crate::ledger::Oid;
use crate::ledger::read::{ObjectFault, OpenError, Repository, Target};
use crate::record::commit::{CommitKind, MAIN, NOTES_OTS, NOTES_WITNESS, branch_ref};
use crate::record::hash::Hash32;
use crate::record::signature::PublicKey;
use crate::record::time::Seconds;

use super::nodes::{Half, Nodes, number};
use super::report::{Findings, Question};
use super::signatures::{BATCH, Claim, Signatures};

/// Batches of signatures that wait for the thread that checks them.
const WAITING: usize = 32;

/// Which chain a commit stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chain {
    /// First parents of `main`, counted from genesis.
    Main(u32),
    /// First parents of `branch-N`, counted from where it leaves `main`.
    Branch(u8, u32),
    /// First parents that no ref leads to, numbered, down to another chain.
    Lost(u16, u32),
}

/// What is known of one commit.
pub(super) struct Node {
    pub id: Oid,
    pub tree: Oid,
    pub parents: Vec<Oid>,
    pub time: Seconds,
    /// The key that the signature is good for; none when it is good for none.
    pub signer: Option<PublicKey>,
    /// It is not spelled as a writer spells it: nothing counts but what it calls itself.
    pub misspelt: bool,
    /// What its subject names; none for a foreign subject.
    pub kind: Option<CommitKind>,
    /// Its `Log` trailer.
    pub log: Option<Hash32>,
    /// Its `Session` trailer.
    pub session: Option<Hash32>,
    /// Of H of its message, which is compared with the one that its document asks for.
    pub message: Half,
    pub chain: Option<Chain>,
    /// The highest position on `main` among its ancestors and itself.
    pub main_reached: Option<u32>,
}

impl Node {
    /// How findings name this commit.
    pub fn place(&self) -> String {
        let kind = self.kind.map_or("of no known kind", CommitKind::name);
        match self.chain {
            Some(Chain::Main(_)) => format!("commit {} ({kind}, main)", self.id),
            Some(Chain::Branch(n, _)) => format!("commit {} ({kind}, branch-{n})", self.id),
            Some(Chain::Lost(..)) | None => format!("commit {} ({kind})", self.id),
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
    pub nodes: Nodes,
    /// From genesis to the tip.
    pub main: Vec<u32>,
    /// From the first commit after `main` to the tip, by number.
    pub branches: BTreeMap<u8, Vec<u32>>,
    /// Commits that only other paths reach, from the oldest of each chain.
    pub lost: Vec<Vec<u32>>,
    /// Tips of the notes refs that are there.
    pub notes: Vec<(String, Oid)>,
}

impl History {
    /// Reads all refs and every commit that they reach.
    ///
    /// A second thread checks the signatures while this one goes on reading.
    pub fn read(repository: &Repository, findings: &mut Findings) -> Result<Self, OpenError> {
        let tips = Tips::read(repository, findings)?;
        let mut history = History { notes: tips.notes, ..History::default() };
        let bad = std::thread::scope(|scope| {
            let (claims, waiting) = mpsc::sync_channel::<Vec<Claim>>(WAITING);
            let checker = scope.spawn(move || {
                let mut signatures = Signatures::default();
                waiting.iter().flat_map(|batch| signatures.check(&batch)).collect::<Vec<u32>>()
            });
            let mut out = Outbox { batch: Vec::with_capacity(BATCH), claims };
            if let Some(tip) = tips.main {
                history.walk(repository, MAIN, tip, &mut out, findings);
                history.place_main(tip);
            }
            for (n, tip) in &tips.branches {
                history.walk(repository, &branch_name(*n), *tip, &mut out, findings);
            }
            out.send();
            drop(out);
            // A panic there is this one's too: nothing is passed that was not checked.
            checker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        for at in bad {
            history.nodes.unsign(at as usize);
        }
        for (n, tip) in &tips.branches {
            history.place_branch(*n, *tip, findings);
        }
        history.reach_main();
        history.check_placed(&tips.branches, findings);
        history.place_lost();
        Ok(history)
    }

    /// A commit by its id, if it could be read.
    pub fn node(&self, id: &Oid) -> Option<Node> {
        self.nodes.get(self.nodes.find(id)?)
    }

    /// The commits of `main`, from genesis.
    pub fn on_main(&self) -> impl DoubleEndedIterator<Item = Node> {
        self.main.iter().filter_map(|at| self.nodes.get(*at as usize))
    }

    /// The commits of one branch, oldest first.
    pub fn on_branch(&self, n: u8) -> impl Iterator<Item = Node> {
        self.branches.get(&n).into_iter().flatten().filter_map(|at| self.nodes.get(*at as usize))
    }

    /// Reads everything that a tip reaches; what can't be read is a finding that names who asked for it.
    fn walk(&mut self, repository: &Repository, name: &str, tip: Oid, out: &mut Outbox, findings: &mut Findings) {
        let begin = self.nodes.len();
        let mut open: Vec<(Oid, Option<usize>)> = vec![(tip, None)];
        while let Some((id, asked_by)) = open.pop() {
            if self.nodes.find(&id).is_some() {
                continue;
            }
            match repository.commit(&id) {
                Ok(commit) => {
                    let at = self.nodes.push(id, &commit);
                    open.extend(commit.parents.iter().map(|parent| (*parent, Some(at))));
                    let (key, signature) = (commit.key, commit.signature);
                    out.put(Claim { of: number(at), key, signature, payload: commit.payload });
                    if let Some(child) = asked_by {
                        self.nodes.settle(child);
                    }
                }
                Err(fault) => {
                    let asked_by = asked_by.and_then(|at| self.nodes.get(at));
                    let asked_by = asked_by.map_or_else(|| name.to_owned(), |node| node.place());
                    let place = format!("commit {id} (asked for by {asked_by})");
                    findings.object(None, place, &fault);
                    open.extend(self.take_misspelt(repository, id, &fault, findings));
                }
            }
        }
        // A parent that another path had reached before.
        for at in begin..self.nodes.len() {
            self.nodes.settle(at);
        }
    }

    /// Takes in a commit that can't be read as one of ours, and gives its parents.
    fn take_misspelt(
        &mut self,
        repository: &Repository,
        id: Oid,
        fault: &ObjectFault,
        findings: &mut Findings,
    ) -> Vec<(Oid, Option<usize>)> {
        let found = repository.misspelt(&id).ok().filter(|_| matches!(fault, ObjectFault::Form { .. }));
        let Some(commit) = found else {
            // Whatever it was, a start perhaps, nobody has looked at it, nor at what only it leads to.
            findings.unlooked(Question::NotBefore);
            findings.unlooked(Question::SignedBy);
            return Vec::new();
        };
        if commit.has_signature {
            findings.unlooked(Question::SignedBy);
        } else {
            let place = format!("commit {id}");
            findings.add(Question::SignedBy, None, place, "a signature by the key in force", "no gpgsig header");
        }
        let at = self.nodes.push_misspelt(id, &commit);
        commit.parents.into_iter().map(|parent| (parent, Some(at))).collect()
    }

    fn place_main(&mut self, tip: Oid) {
        let mut chain = Vec::new();
        let mut next = self.nodes.find(&tip);
        while let Some(at) = next {
            chain.push(number(at));
            next = self.nodes.first_parent(at);
        }
        chain.reverse();
        for (position, at) in (0..).zip(&chain) {
            self.nodes.set_chain(*at as usize, Chain::Main(position));
        }
        self.main = chain;
    }

    fn place_branch(&mut self, n: u8, tip: Oid, findings: &mut Findings) {
        let mut chain = Vec::new();
        let mut next = self.nodes.find(&tip);
        while let Some(at) = next.filter(|at| self.nodes.chain(*at).is_none()) {
            chain.push(number(at));
            next = self.nodes.first_parent(at);
        }
        if chain.is_empty() {
            let expected = "a session's commit that is on no other branch";
            findings.add(Question::Consistent, None, branch_name(n), expected, format!("commit {tip}"));
        }
        chain.reverse();
        for (position, at) in (0..).zip(&chain) {
            self.nodes.set_chain(*at as usize, Chain::Branch(n, position));
        }
        self.branches.insert(n, chain);
    }

    /// Computes `main_reached` of every commit, parents first.
    fn reach_main(&mut self) {
        let mut done = vec![false; self.nodes.len()];
        let mut open = Vec::new();
        for start in (0..self.nodes.len()).rev() {
            open.push(start);
            while let Some(&at) = open.last() {
                let ids = self.nodes.parents(at);
                let parents: Vec<usize> = ids.iter().filter_map(|id| self.nodes.find(id)).collect();
                let before = open.len();
                open.extend(parents.iter().copied().filter(|p| !done.get(*p).copied().unwrap_or(true)));
                if open.len() > before {
                    continue;
                }
                open.pop();
                let own = match self.nodes.chain(at) {
                    Some(Chain::Main(position)) => Some(position),
                    _ => None,
                };
                let above = parents.iter().filter_map(|p| self.nodes.main_reached(*p)).max();
                self.nodes.set_main_reached(at, own.max(above));
                if let Some(done) = done.get_mut(at) {
                    *done = true;
                }
            }
        }
    }

    /// A commit on no chain is one that a ref was moved back from, or that a foreign path leads to.
    fn check_placed(&self, tips: &BTreeMap<u8, Oid>, findings: &mut Findings) {
        let unplaced = (0..self.nodes.len()).filter(|at| self.nodes.chain(*at).is_none());
        for node in unplaced.filter_map(|at| self.nodes.get(at)) {
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

impl History {
    /// Gives every commit that is on no chain a chain of its own kind, so that it is checked like the others.
    fn place_lost(&mut self) {
        let unplaced: Vec<usize> = (0..self.nodes.len()).filter(|at| self.nodes.chain(*at).is_none()).collect();
        let parents: HashSet<usize> = unplaced.iter().filter_map(|at| self.nodes.first_parent(*at)).collect();
        for tip in unplaced.iter().filter(|at| !parents.contains(at)) {
            let Ok(n) = u16::try_from(self.lost.len()) else { return };
            let mut chain = Vec::new();
            let mut next = Some(*tip);
            while let Some(at) = next.filter(|at| self.nodes.chain(*at).is_none()) {
                chain.push(number(at));
                self.nodes.set_chain(at, Chain::Lost(n, 0));
                next = self.nodes.first_parent(at);
            }
            chain.reverse();
            for (position, at) in (0..).zip(&chain) {
                self.nodes.set_chain(*at as usize, Chain::Lost(n, position));
            }
            self.lost.push(chain);
        }
    }

    /// The commits of one chain that no ref leads to, oldest first.
    pub fn on_lost(&self, n: usize) -> impl Iterator<Item = Node> {
        self.lost.get(n).into_iter().flatten().filter_map(|at| self.nodes.get(*at as usize))
    }
}

/// Gathers signatures into batches and hands them on.
struct Outbox {
    batch: Vec<Claim>,
    claims: mpsc::SyncSender<Vec<Claim>>,
}

impl Outbox {
    fn put(&mut self, claim: Claim) {
        self.batch.push(claim);
        if self.batch.len() == BATCH {
            self.send();
        }
    }

    fn send(&mut self) {
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
        // It fails only when the other thread has panicked, which its join tells.
        let _ = self.claims.send(batch);
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
