//! What the git hooks of a ledger, and of a host that receives one, ask: whether refs only grow, and
//! whether what is pushed holds together.

mod install;
mod push;

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::Path;

use crate::ledger::Oid;
use crate::ledger::read::Repository;
use crate::os;
use crate::record::ledger::commit::MAIN;
use crate::record::limits;

use crate::app::prove::history::{first_parents, is_ancestor, is_ledger_ref, refs};

pub use install::{InstallResult, install};
pub use push::ReceivedPush;

/// How the refs of sessions begin.
const BRANCHES: &str = "refs/heads/branch-";

/// One line of what git tells a hook: a ref that is to be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefUpdate {
    old: Option<Oid>,
    new: Option<Oid>,
    name: String,
    /// The other ref that it would be an alias of.
    alias: Option<String>,
}

/// Reads what git tells a hook.
pub fn read_updates(input: impl BufRead) -> Result<Vec<RefUpdate>, String> {
    let lines = input.lines().collect::<Result<Vec<_>, _>>();
    lines
        .map_err(|e| format!("reading from git: {e}"))?
        .iter()
        .map(|line| parse_update(line))
        .collect()
}

/// Why ref changes of a ledger are refused: those that are not growth.
pub fn refusals(git_dir: &Path, updates: &[RefUpdate]) -> Result<Vec<String>, String> {
    let repository = Repository::open(git_dir).map_err(|e| e.to_string())?;
    let known = refs(&repository).map_err(|e| e.to_string())?;
    let ledger = KnownLedger {
        git_dir,
        repository: &repository,
        refs: &known,
    };
    ledger.growth(updates)
}

/// `OLD NEW REF`, where forty zeros are no commit; a symbolic value (`ref:…`) is none either, and
/// is kept apart: a ref of a ledger that becomes an alias is lost to git, whatever is packed under
/// its name.
fn parse_update(line: &str) -> Result<RefUpdate, String> {
    let mut words = line.splitn(3, ' ');
    let (Some(old), Some(new), Some(name)) = (words.next(), words.next(), words.next()) else {
        return Err(format!("git said '{line}', expected OLD NEW REF"));
    };
    let id = |word: &str| -> Result<Option<Oid>, String> {
        if word.bytes().all(|b| b == b'0') || word.starts_with("ref:") {
            return Ok(None);
        }
        word.parse()
            .map(Some)
            .map_err(|e: crate::ledger::OidError| e.to_string())
    };
    let alias = new.strip_prefix("ref:").map(str::to_owned);
    Ok(RefUpdate {
        old: id(old)?,
        new: id(new)?,
        name: name.to_owned(),
        alias,
    })
}

/// A ledger before its refs change.
struct KnownLedger<'a> {
    git_dir: &'a Path,
    /// Where commits are read, the new ones too.
    repository: &'a Repository,
    refs: &'a BTreeMap<String, Oid>,
}

impl KnownLedger<'_> {
    /// What is not growth: other refs than the format's, deletions, moves that are not forward.
    fn growth(&self, updates: &[RefUpdate]) -> Result<Vec<String>, String> {
        let mut refusals = Vec::new();
        for update in updates
            .iter()
            .filter(|update| update.name.starts_with("refs/"))
        {
            let name = &update.name;
            let before = self.refs.get(name).copied().or(update.old);
            match (before, update.new) {
                // What a host made of its own may go again.
                (_, None) if !is_ledger_ref(name) && update.alias.is_none() => {}
                _ if !is_ledger_ref(name) => refusals.push(format!("{name} is no ref of a ledger")),
                _ if update.alias.is_some() => {
                    let to = update.alias.as_deref().unwrap_or_default();
                    refusals.push(format!(
                        "{name} would become an alias of {to}; a ledger's refs name commits"
                    ));
                }
                (Some(old), None) if is_only_packed(self.git_dir, name, &old) => {}
                (_, None) => refusals.push(format!("{name} would be deleted; a ledger only grows")),
                (Some(old), Some(new)) => {
                    if !is_ancestor(self.repository, &old, &new)
                        .map_err(|e| format!("{name} at {new}: {}", e.actual()))?
                    {
                        refusals.push(format!(
                            "{name} would leave {old} for {new}, which does not continue it"
                        ));
                    }
                }
                (None, Some(new)) => refusals.extend(self.copied_from_main(name, &new)?),
            }
        }
        Ok(refusals)
    }

    /// A branch begins with a session's own commit: one that would begin on a commit of `main` is a
    /// copy somebody made.
    fn copied_from_main(&self, name: &str, new: &Oid) -> Result<Option<String>, String> {
        let Some(main) = self.refs.get(MAIN).filter(|_| name.starts_with(BRANCHES)) else {
            return Ok(None);
        };
        let chain = first_parents(self.repository, main)
            .map_err(|e| format!("{MAIN} at {main}: {}", e.actual()))?;
        let copied = chain.iter().any(|(id, _)| id == new);
        Ok(copied.then(|| {
            format!("{name} would begin at {new}, a commit of main; a branch begins with a session")
        }))
    }
}

/// Whether a "deletion" is `git pack-refs` removing the loose copy of a ref that stays.
///
/// Older gits show it to the hook like any deletion. It is one of a loose copy exactly when the
/// packed refs hold the same commit and are not locked: a real deletion locks them first, to take
/// it out there.
fn is_only_packed(git_dir: &Path, name: &str, id: &Oid) -> bool {
    if git_dir.join("packed-refs.lock").exists() {
        return false;
    }
    let packed =
        os::read_regular(&git_dir.join("packed-refs"), limits::PACKED_REFS).unwrap_or_default();
    String::from_utf8_lossy(&packed).lines().any(|line| {
        line.split_once(' ')
            .is_some_and(|(at, of)| of == name && at == id.to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_tells_a_hook() {
        let (zero, id) = ("0".repeat(40), "935f032f00000000000000000000000000000abc");
        let update = parse_update(&format!("{zero} {id} refs/heads/main")).unwrap();
        let name = "refs/heads/main".to_owned();
        assert_eq!(
            update,
            RefUpdate {
                old: None,
                new: Some(id.parse().unwrap()),
                name,
                alias: None
            }
        );
        let alias = parse_update(&format!("{id} ref:refs/heads/x refs/heads/main")).unwrap();
        assert_eq!(
            (alias.new, alias.alias.as_deref()),
            (None, Some("refs/heads/x"))
        );
        assert_eq!(
            parse_update(&format!("{id} {zero} refs/heads/main"))
                .unwrap()
                .new,
            None
        );
        assert_eq!(
            parse_update(&format!("{zero} ref:refs/heads/main HEAD"))
                .unwrap()
                .new,
            None
        );
        for wrong in [
            "",
            "a b",
            &format!("{id} {id}"),
            &format!("{id} xyz refs/heads/main"),
        ] {
            assert!(parse_update(wrong).is_err(), "{wrong}");
        }
    }
}
