//! The shape of a ledger's history: which refs there are, which commits, and which branch each
//! stands on (format, sections 2, 6 and 12 step 2).
//!
//! ```text
//! main      genesis ── close ── checkpoint ── close        first parents of refs/heads/main
//!              \      /                      /
//! branch-4      start ── 1 ── 2 ── end … start … end        first parents of refs/heads/branch-4, down to main
//! ```
//!
//! Every commit that a ref reaches is on exactly one of these chains.

use std::collections::{BTreeMap, HashSet};

use crate::ledger::Oid;
use crate::ledger::read::{OpenError, Repository};
use crate::record::hash::Hash32;
use crate::record::ledger::commit::{CommitKind, MAIN, branch_ref};
use crate::record::signature::PublicKey;
use crate::record::time::Seconds;

use super::commit_graph::{CommitGraph, HalfHash, half, number};
use super::refs::BranchTips;
use super::signatures::{Outbox, Queue, SignatureClaim};
use crate::verify::progress::Progress;
use crate::verify::report::Findings;

/// About what is kept of a commit that is no answer's, with its session.
pub(crate) const COMMIT: u64 = 300;

/// Which chain a commit stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommitChain {
    /// First parents of `main`, counted from genesis.
    Main(u32),
    /// First parents of `branch-N`, counted from where it leaves `main`.
    Branch(u8, u32),
    /// First parents that no ref leads to, numbered, down to another chain.
    Lost(u16, u32),
}

/// What is known of one commit.
pub(crate) struct CommitNode {
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
    pub message: HalfHash,
    pub chain: Option<CommitChain>,
    /// The highest position on `main` among its ancestors and itself.
    pub main_reached: Option<u32>,
}

impl CommitNode {
    /// How findings name this commit.
    pub fn place(&self) -> String {
        let kind = self.kind.map_or("of no known kind", CommitKind::name);
        match self.chain {
            Some(CommitChain::Main(_)) => format!("commit {} ({kind}, main)", self.id),
            Some(CommitChain::Branch(n, _)) => format!("commit {} ({kind}, branch-{n})", self.id),
            Some(CommitChain::Lost(..)) | None => format!("commit {} ({kind})", self.id),
        }
    }

    /// How findings name a file of this commit.
    pub fn file(&self, name: &str) -> String {
        format!("{}, file {name}", self.place())
    }
}

/// All commits, and the chains they stand on.
#[derive(Default)]
pub(crate) struct History {
    pub graph: CommitGraph,
    /// From genesis to the tip.
    pub main: Vec<u32>,
    /// From the first commit after `main` to the tip, by number.
    pub branches: BTreeMap<u8, Vec<u32>>,
    /// Commits that only other paths reach, from the oldest of each chain.
    pub unreachable: Vec<Vec<u32>>,
    /// Tips of the notes refs that are there.
    pub notes: Vec<(String, Oid)>,
    /// Place on `main` of the commit that the check begins behind; none when it begins with
    /// genesis.
    pub base: Option<usize>,
    /// Refs that are none of a ledger's.
    pub foreign_refs: u64,
    /// Whether the refs are those of a plain clone.
    pub plain: bool,
    /// Commits of `main` that were passed over because they are newer than the tree head that was
    /// read first.
    pub newer_on_main: HashSet<Oid>,
    /// Commits, by number, that the check begins behind on the branches.
    pub(crate) old: HashSet<u32>,
}

/// Commits at which reading ends, because the check begins behind them.
#[derive(Default)]
pub(crate) struct ReadBoundary {
    /// By their ids.
    pub commits: HashSet<Oid>,
    /// By their `Log`.
    pub logs: HashSet<HalfHash>,
}

impl ReadBoundary {
    fn holds(&self, id: &Oid, log: Option<Hash32>) -> bool {
        self.commits.contains(id) || log.is_some_and(|log| self.logs.contains(&half(log)))
    }
}

impl History {
    /// Reads all refs and the first parents of `main`: what the log in its segments needs. The rest
    /// is for [`History::read_rest`]. Ends with the commit `until`, if there is one, and begins
    /// with one of at most `limit` lines.
    pub fn read_main(
        repository: &Repository,
        (until, limit): (Option<Oid>, Option<u64>),
        queue: &Queue,
        findings: &mut Findings,
    ) -> Result<(Self, PendingParents), OpenError> {
        let mut tips = BranchTips::read(repository, findings)?;
        let mut history = History {
            notes: std::mem::take(&mut tips.notes),
            foreign_refs: tips.foreign,
            plain: tips.plain,
            ..History::default()
        };
        if let (Some(limit), Some(tip)) = (limit, tips.main) {
            tips.main = Some(history.pass_newer(repository, tip, limit));
        }
        let mut unread = PendingParents {
            tips,
            open: Vec::new(),
        };
        if let Some(tip) = unread.tips.main {
            let mut out = Outbox::new(queue);
            let mut next = Some((tip, None));
            while let Some((id, asked_by)) = next
                .take()
                .filter(|(id, _)| history.graph.find(id).is_none())
            {
                let Some((at, parents)) =
                    history.take_commit(repository, MAIN, id, asked_by, &mut out, findings)
                else {
                    break;
                };
                if until == Some(id) {
                    break;
                }
                next = parents.first().map(|parent| (*parent, Some(at)));
                unread
                    .open
                    .extend(parents.iter().skip(1).map(|parent| (*parent, Some(at))));
            }
            out.send();
            history.place_main(tip);
            history.base = until.and_then(|until| history.position(&until));
        }
        Ok((history, unread))
    }

    /// The place on `main` of a commit.
    fn position(&self, id: &Oid) -> Option<usize> {
        let at = self.graph.find(id)?;
        self.main.iter().position(|main| *main as usize == at)
    }

    /// Begins behind the commit of `main` whose id begins so; whether there is exactly one.
    pub fn begin_behind(&mut self, digits: &str, unread: &mut PendingParents) -> bool {
        let named = |node: &CommitNode| node.id.to_string().starts_with(digits);
        let mut found = self
            .on_main()
            .enumerate()
            .filter(|(_, node)| named(node))
            .map(|(position, _)| position);
        let (Some(position), None) = (found.next(), found.next()) else {
            return false;
        };
        drop(found);
        self.base = Some(position);
        let newer: HashSet<usize> = self
            .main
            .iter()
            .skip(position + 1)
            .map(|at| *at as usize)
            .collect();
        unread
            .open
            .retain(|(_, asked_by)| asked_by.is_none_or(|at| newer.contains(&at)));
        true
    }

    /// Reads every other commit that a ref reaches, and says on which chain each stands.
    ///
    /// Signatures go to the queue, for whichever thread is free; [`History::unsign`] takes its
    /// answer.
    pub fn read_rest(
        &mut self,
        repository: &Repository,
        unread: PendingParents,
        old: &ReadBoundary,
        queue: &Queue,
        progress: &Progress,
        findings: &mut Findings,
    ) {
        let mut out = Outbox::new(queue).telling(progress);
        self.walk(repository, MAIN, unread.open, old, &mut out, findings);
        for (n, tip) in &unread.tips.branches {
            self.walk(
                repository,
                &branch_name(*n),
                vec![(*tip, None)],
                old,
                &mut out,
                findings,
            );
        }
        // A parent that another path had reached before.
        for at in 0..self.graph.len() {
            self.graph.settle(at);
        }
        out.send();
        queue.close();
        for (n, tip) in &unread.tips.branches {
            self.place_branch(*n, *tip, findings);
        }
        self.reach_main();
        self.check_placed(&unread.tips.branches, findings);
        self.place_lost();
    }

    /// Takes in whose signatures are bad.
    pub fn unsign(&mut self, bad: Vec<u32>) {
        for at in bad {
            self.graph.unsign(at as usize);
        }
    }

    /// A commit by its id, if it could be read.
    pub fn node(&self, id: &Oid) -> Option<CommitNode> {
        self.graph.get(self.graph.find(id)?)
    }

    /// Whether the check begins behind a commit on this branch.
    pub fn is_old_on(&self, id: &Oid, n: u8) -> bool {
        self.graph.find(id).is_some_and(|at| {
            self.old.contains(&number(at))
                && matches!(self.graph.chain(at), Some(CommitChain::Branch(on, _)) if on == n)
        })
    }

    /// The commits of `main` that are checked, by number.
    pub fn new_on_main(&self) -> &[u32] {
        self.main
            .get(self.base.map_or(0, |base| base + 1)..)
            .unwrap_or_default()
    }

    /// The commits of `main`, from genesis or from the one that the check begins behind.
    pub fn on_main(&self) -> impl DoubleEndedIterator<Item = CommitNode> {
        self.main
            .iter()
            .filter_map(|at| self.graph.get(*at as usize))
    }

    /// The commits of one branch, oldest first.
    pub fn on_branch(&self, n: u8) -> impl Iterator<Item = CommitNode> {
        self.branches
            .get(&n)
            .into_iter()
            .flatten()
            .filter_map(|at| self.graph.get(*at as usize))
    }

    /// Reads everything that some commits reach.
    fn walk(
        &mut self,
        repository: &Repository,
        name: &str,
        mut open: Vec<UnreadCommit>,
        old: &ReadBoundary,
        out: &mut Outbox<'_>,
        findings: &mut Findings,
    ) {
        while let Some((id, asked_by)) = open.pop() {
            if self.graph.find(&id).is_some() {
                continue;
            }
            let Some((at, parents)) =
                self.take_commit(repository, name, id, asked_by, out, findings)
            else {
                continue;
            };
            if old.holds(&id, self.graph.log(at)) {
                self.old.insert(number(at));
            } else {
                open.extend(parents.into_iter().map(|parent| (parent, Some(at))));
            }
        }
    }

    /// Reads one commit and gives its parents; what can't be read is a finding that names who asked
    /// for it.
    fn take_commit(
        &mut self,
        repository: &Repository,
        name: &str,
        id: Oid,
        asked_by: Option<usize>,
        out: &mut Outbox<'_>,
        findings: &mut Findings,
    ) -> Option<(usize, Vec<Oid>)> {
        match repository.commit(&id) {
            Ok(commit) => {
                let at = self.graph.push(id, &commit);
                if self.graph.kind(at) != Some(CommitKind::Interaction) {
                    repository.budget().keep(|| format!("commit {id}"), COMMIT);
                }
                let (key, signature) = (commit.key, commit.signature);
                out.put(SignatureClaim {
                    of: number(at),
                    key,
                    signature,
                    payload: commit.payload,
                });
                if let Some(child) = asked_by {
                    self.graph.settle(child);
                }
                Some((at, commit.parents))
            }
            Err(fault) => {
                let asked_by = asked_by.and_then(|at| self.graph.get(at));
                let asked_by = asked_by.map_or_else(|| name.to_owned(), |node| node.place());
                let place = format!("commit {id} (asked for by {asked_by})");
                findings.object(None, place, &fault);
                self.take_misspelt(repository, id, &fault, findings)
            }
        }
    }

    fn place_main(&mut self, tip: Oid) {
        let mut chain = Vec::new();
        let mut next = self.graph.find(&tip);
        while let Some(at) = next {
            chain.push(number(at));
            next = self.graph.first_parent(at);
        }
        chain.reverse();
        for (position, at) in (0..).zip(&chain) {
            self.graph
                .set_chain(*at as usize, CommitChain::Main(position));
        }
        self.main = chain;
    }

    fn place_branch(&mut self, n: u8, tip: Oid, findings: &mut Findings) {
        let mut chain = Vec::new();
        let mut next = self.graph.find(&tip);
        while let Some(at) = next.filter(|at| self.graph.chain(*at).is_none()) {
            if self.old.contains(&number(at)) {
                break;
            }
            chain.push(number(at));
            next = self.graph.first_parent(at);
        }
        let old = next.filter(|at| self.old.contains(&number(*at)));
        if let Some(old) = old {
            self.graph.set_chain(old, CommitChain::Branch(n, 0));
        } else if chain.is_empty() {
            let expected = "a session's commit that is on no other branch";
            findings.inconsistent(None, branch_name(n), expected, format!("commit {tip}"));
        }
        chain.reverse();
        for (position, at) in (0..).zip(&chain) {
            self.graph
                .set_chain(*at as usize, CommitChain::Branch(n, position));
        }
        self.branches.insert(n, chain);
    }

    /// Computes `main_reached` of every commit, parents first.
    fn reach_main(&mut self) {
        let mut done = vec![false; self.graph.len()];
        let mut open = Vec::new();
        for start in (0..self.graph.len()).rev() {
            open.push(start);
            while let Some(&at) = open.last() {
                let ids = self.graph.parents(at);
                let parents: Vec<usize> = ids.iter().filter_map(|id| self.graph.find(id)).collect();
                let before = open.len();
                open.extend(
                    parents
                        .iter()
                        .copied()
                        .filter(|p| !done.get(*p).copied().unwrap_or(true)),
                );
                if open.len() > before {
                    continue;
                }
                open.pop();
                let own = match self.graph.chain(at) {
                    Some(CommitChain::Main(position)) => Some(position),
                    _ => None,
                };
                let above = parents
                    .iter()
                    .filter_map(|p| self.graph.main_reached(*p))
                    .max();
                self.graph.set_main_reached(at, own.max(above));
                if let Some(done) = done.get_mut(at) {
                    *done = true;
                }
            }
        }
    }

    /// A commit on no chain is one that a ref was moved back from, or that a foreign path leads to.
    fn check_placed(&self, tips: &BTreeMap<u8, Oid>, findings: &mut Findings) {
        let unplaced = (0..self.graph.len()).filter(|at| self.graph.chain(*at).is_none());
        for node in unplaced.filter_map(|at| self.graph.get(at)) {
            let first = node.parents.first();
            match tips.iter().find(|(_, tip)| Some(*tip) == first) {
                Some((n, tip)) => findings.inconsistent(
                    node.session,
                    branch_name(*n),
                    format!("{}, which follows, or a later one", node.place()),
                    format!("commit {tip}"),
                ),
                None => findings.inconsistent(
                    node.session,
                    node.place(),
                    "a commit on the first parents of main or of its session's branch",
                    "one that only another path reaches",
                ),
            }
        }
    }
}

/// A commit to be read, and the number of the one that names it.
type UnreadCommit = (Oid, Option<usize>);

/// What is left to be read when the first parents of `main` are.
pub(crate) struct PendingParents {
    pub(crate) tips: BranchTips,
    open: Vec<UnreadCommit>,
}

/// The full name of a session branch.
pub(crate) fn branch_name(n: u8) -> String {
    branch_ref(&format!("branch-{n}"))
}
