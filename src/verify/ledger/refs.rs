//! The refs of a ledger (format, section 2).

use std::collections::BTreeMap;

use crate::ledger::Oid;
use crate::ledger::read::{OpenError, Ref, RefTarget, Repository};
use crate::record::ledger::commit::{MAIN, NOTES_OTS, NOTES_WITNESS};

use super::history::branch_name;
use crate::verify::report::Findings;

/// Where a plain clone keeps the refs of what it is a clone of.
const ORIGIN: &str = "refs/remotes/origin/";

/// Where the refs of a ledger point.
pub(crate) struct BranchTips {
    pub main: Option<Oid>,
    pub branches: BTreeMap<u8, Oid>,
    pub notes: Vec<(String, Oid)>,
    /// Refs that are none of a ledger's, as hosts make them.
    pub foreign: u64,
    /// Whether they are those that a plain clone keeps of its origin.
    pub plain: bool,
}

/// Whether a repository is a plain clone, whose refs of the ledger stand under
/// `refs/remotes/origin/`: one with files checked out beside its folder `.git`. A ledger's own
/// folder is bare.
pub(crate) fn is_plain(repository: &Repository, refs: &[Ref]) -> bool {
    let checked_out = repository
        .path()
        .file_name()
        .is_some_and(|name| name == ".git");
    checked_out
        && refs
            .iter()
            .any(|found| found.name.strip_prefix(ORIGIN) == Some("main"))
}

/// The ref of the ledger that a ref of the repository is.
fn ledger_name(name: &str, plain: bool) -> Option<String> {
    if !plain {
        return Some(name.to_owned());
    }
    match name.strip_prefix(ORIGIN) {
        Some(short) => Some(format!("refs/heads/{short}")),
        None => name.starts_with("refs/notes/").then(|| name.to_owned()),
    }
}

/// The tip of `main`.
pub(crate) fn main_tip(repository: &Repository) -> Result<Option<Oid>, OpenError> {
    let refs = repository.refs()?;
    let plain = is_plain(repository, &refs);
    let main = refs
        .into_iter()
        .find(|found| ledger_name(&found.name, plain).as_deref() == Some(MAIN));
    Ok(main.and_then(|main| {
        if let RefTarget::Direct(tip) = main.target {
            Some(tip)
        } else {
            None
        }
    }))
}

impl BranchTips {
    /// The refs of section 2, none of them symbolic; others are counted and not followed.
    pub fn read(repository: &Repository, findings: &mut Findings) -> Result<Self, OpenError> {
        let refs = repository.refs()?;
        let plain = is_plain(repository, &refs);
        let mut tips = BranchTips {
            main: None,
            branches: BTreeMap::new(),
            notes: Vec::new(),
            foreign: 0,
            plain,
        };
        for found in refs {
            let name = ledger_name(&found.name, plain);
            let branch = (1..=7).find(|n| name.as_ref() == Some(&branch_name(*n)));
            let ours = branch.is_some()
                || matches!(name.as_deref(), Some(MAIN | NOTES_OTS | NOTES_WITNESS));
            // What has no name that can be read may be one of ours.
            if !ours && found.name.starts_with("refs/") {
                tips.foreign += 1;
                continue;
            }
            let id = match found.target {
                RefTarget::Direct(id) => id,
                RefTarget::Symbolic(to) => {
                    let actual = format!("a symbolic ref to {to}");
                    findings.inconsistent(None, found.name, "a ref to a commit", actual);
                    continue;
                }
                RefTarget::Broken(actual) => {
                    findings.inconsistent(None, found.name, "a commit's id and a newline", actual);
                    continue;
                }
            };
            match (name, branch) {
                (_, Some(n)) => _ = tips.branches.insert(n, id),
                (Some(name), None) if name == MAIN => tips.main = Some(id),
                (Some(name), None) => tips.notes.push((name, id)),
                (None, None) => {}
            }
        }
        if tips.main.is_none() {
            findings.inconsistent(None, MAIN, "a ref to a commit", "nothing");
        }
        Ok(tips)
    }
}
