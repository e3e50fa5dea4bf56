//! Commits that no ref leads to, and commits that are not spelled as a writer spells them: they are
//! followed, so that everything that is here is looked at.

use std::collections::HashSet;

use crate::ledger::Oid;
use crate::ledger::read::{ObjectFault, Repository};

use super::commit_graph::number;
use super::history::{COMMIT, CommitChain, CommitNode, History};
use crate::verify::report::{AuditQuestion, Findings};

impl History {
    /// Takes in a commit that can't be read as one of ours, and gives its parents.
    pub fn take_misspelt(
        &mut self,
        repository: &Repository,
        id: Oid,
        fault: &ObjectFault,
        findings: &mut Findings,
    ) -> Option<(usize, Vec<Oid>)> {
        let found = repository
            .misspelt(&id)
            .ok()
            .filter(|_| matches!(fault, ObjectFault::Form { .. }));
        let Some(commit) = found else {
            // Whatever it was, a start perhaps, nobody has looked at it, nor at what only it leads
            // to.
            findings.unlooked(AuditQuestion::NotBefore);
            findings.unlooked(AuditQuestion::SignedBy);
            return None;
        };
        if commit.has_signature {
            findings.unlooked(AuditQuestion::SignedBy);
        } else {
            let place = format!("commit {id}");
            findings.add(
                AuditQuestion::SignedBy,
                None,
                place,
                "a signature by the key in force",
                "no gpgsig header",
            );
        }
        let at = self.graph.push_misspelt(id, &commit);
        repository.budget().keep(|| format!("commit {id}"), COMMIT);
        Some((at, commit.parents))
    }

    /// Gives every commit that is on no chain a chain of its own kind, so that it is checked like
    /// the others.
    pub fn place_lost(&mut self) {
        let unplaced: Vec<usize> = (0..self.graph.len())
            .filter(|at| self.is_unplaced(*at))
            .collect();
        let parents: HashSet<usize> = unplaced
            .iter()
            .filter_map(|at| self.graph.first_parent(*at))
            .collect();
        for tip in unplaced.iter().filter(|at| !parents.contains(at)) {
            let Ok(n) = u16::try_from(self.unreachable.len()) else {
                return;
            };
            let mut chain = Vec::new();
            let mut next = Some(*tip);
            while let Some(at) = next.filter(|at| self.is_unplaced(*at)) {
                chain.push(number(at));
                self.graph.set_chain(at, CommitChain::Lost(n, 0));
                next = self.graph.first_parent(at);
            }
            chain.reverse();
            for (position, at) in (0..).zip(&chain) {
                self.graph
                    .set_chain(*at as usize, CommitChain::Lost(n, position));
            }
            self.unreachable.push(chain);
        }
    }

    /// Whether a commit is on no chain, and not one that the check begins behind.
    fn is_unplaced(&self, at: usize) -> bool {
        self.graph.chain(at).is_none() && !self.old.contains(&number(at))
    }

    /// The commits of one chain that no ref leads to, oldest first.
    pub fn on_lost(&self, n: usize) -> impl Iterator<Item = CommitNode> {
        self.unreachable
            .get(n)
            .into_iter()
            .flatten()
            .filter_map(|at| self.graph.get(*at as usize))
    }
}
