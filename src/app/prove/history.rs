//! Questions about a ledger's history that several commands ask: what is an ancestor, which refs
//! there are.

use std::collections::{BTreeMap, HashSet};

use crate::ledger::Oid;
use crate::ledger::read::{ObjectFault, OpenError, RefTarget, Repository};
use crate::record::ledger::commit::{MAIN, NOTES_OTS, NOTES_WITNESS};

/// Whether a ref is one of the format's (section 2): `main`, `branch-1` to `branch-7`, two notes.
pub fn is_ledger_ref(name: &str) -> bool {
    let branch = name.strip_prefix("refs/heads/branch-");
    let numbered = branch.is_some_and(|n| matches!(n, "1" | "2" | "3" | "4" | "5" | "6" | "7"));
    numbered || [MAIN, NOTES_OTS, NOTES_WITNESS].contains(&name)
}

/// All refs that point at an object.
pub fn refs(repository: &Repository) -> Result<BTreeMap<String, Oid>, OpenError> {
    let direct = repository
        .refs()?
        .into_iter()
        .filter_map(|found| match found.target {
            RefTarget::Direct(id) => Some((found.name, id)),
            _ => None,
        });
    Ok(direct.collect())
}

/// Whether `old` is `new` or one of its ancestors; goes back from `new` no further than it has to.
pub fn is_ancestor(repository: &Repository, old: &Oid, new: &Oid) -> Result<bool, ObjectFault> {
    let mut seen = HashSet::from([*new]);
    let mut next = vec![*new];
    while let Some(id) = next.pop() {
        if id == *old {
            return Ok(true);
        }
        let (_, parents) = repository.foreign_commit(&id)?;
        next.extend(parents.into_iter().filter(|parent| seen.insert(*parent)));
    }
    Ok(false)
}

/// Every commit reachable from one, itself included.
pub fn ancestors(repository: &Repository, tip: &Oid) -> Result<HashSet<Oid>, ObjectFault> {
    let mut seen = HashSet::from([*tip]);
    let mut next = vec![*tip];
    while let Some(id) = next.pop() {
        let parents = repository.commit(&id)?.parents;
        next.extend(parents.into_iter().filter(|parent| seen.insert(*parent)));
    }
    Ok(seen)
}

/// The first-parent history of a commit, newest first.
pub fn first_parents(
    repository: &Repository,
    tip: &Oid,
) -> Result<Vec<(Oid, crate::ledger::read::Commit)>, ObjectFault> {
    let mut chain = Vec::new();
    let mut next = Some(*tip);
    while let Some(id) = next {
        let commit = repository.commit(&id)?;
        next = commit.parents.first().copied();
        chain.push((id, commit));
    }
    Ok(chain)
}

#[cfg(test)]
mod tests {
    use super::is_ledger_ref;

    #[test]
    fn the_refs_of_a_ledger() {
        for name in [
            "refs/heads/main",
            "refs/heads/branch-1",
            "refs/heads/branch-7",
            "refs/notes/ots",
            "refs/notes/witness",
        ] {
            assert!(is_ledger_ref(name), "{name}");
        }
        for name in [
            "refs/heads/branch-0",
            "refs/heads/branch-8",
            "refs/heads/branch-10",
            "refs/heads/Main",
            "refs/tags/v1",
            "refs/notes/commits",
            "HEAD",
            "main",
        ] {
            assert!(!is_ledger_ref(name), "{name}");
        }
    }
}
