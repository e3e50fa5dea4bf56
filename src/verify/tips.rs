//! The refs of a ledger (format, section 1).

use std::collections::BTreeMap;

use crate::ledger::Oid;
use crate::ledger::read::{OpenError, Repository, Target};
use crate::record::commit::{MAIN, NOTES_OTS, NOTES_WITNESS};

use super::history::branch_name;
use super::report::{Findings, Question};

/// Where the refs of a ledger point.
pub(super) struct Tips {
    pub main: Option<Oid>,
    pub branches: BTreeMap<u8, Oid>,
    pub notes: Vec<(String, Oid)>,
}

impl Tips {
    /// No refs but those of section 1, and none of them symbolic; a foreign one is not followed.
    pub fn read(repository: &Repository, findings: &mut Findings) -> Result<Self, OpenError> {
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
