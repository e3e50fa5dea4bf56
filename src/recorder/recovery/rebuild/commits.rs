//! The database's commits: whether each is what its row says, where its row says, and signed by the
//! key in force.

use std::collections::BTreeMap;

use crate::ledger::Oid;
use crate::ledger::read::Commit;
use crate::ledger::whole::{commit_id, commit_of, tree_id};
use crate::ledger::write::{Ledger, TreeFiles};
use crate::record::canon;
use crate::record::ledger::commit::{CommitKind, MAIN, branch_ref};
use crate::record::ledger::documents::{Genesis, Rotate, SessionDoc};
use crate::record::signature::PublicKey;
use crate::store::{CommitRow, LedgerHead, Store};

use super::rows::{LineRows, RowFault};
use super::{Contradiction, RecorderError, database_is_wrong};
use crate::recorder::apply::files_of;

/// What is wrong with a row, as words that follow "gently.db says".
type CommitFault = String;

/// The commits so far.
pub struct Commits<'a> {
    store: &'a Store,
    ledger: Option<&'a Ledger>,
    /// Packs are torn, so that every object may have to be written again.
    torn: bool,
    genesis: String,
    signer: PublicKey,
    tips: BTreeMap<String, Oid>,
    /// Commits of which an object is missing or torn.
    pub missing: u64,
}

impl<'a> Commits<'a> {
    /// Before the first commit.
    pub fn begin(
        store: &'a Store,
        ledger: Option<&'a Ledger>,
        torn: bool,
    ) -> Result<Self, RecorderError> {
        let genesis = store.genesis()?;
        let parsed: Genesis = canon::parse(genesis.as_bytes()).map_err(|e| Contradiction {
            place: "head.genesis".to_owned(),
            database: format!(
                "'{}', which is no genesis document: {e}",
                genesis.escape_debug()
            ),
            holder: "ledger.git",
            found: "nothing of it is looked at".to_owned(),
            next: database_is_wrong(),
        })?;
        let tips = BTreeMap::new();
        Ok(Commits {
            store,
            ledger,
            torn,
            genesis,
            signer: parsed.signer,
            tips,
            missing: 0,
        })
    }

    /// Looks at all of them, in the order of application; `each` gets those that hold. Returns the
    /// tips.
    pub fn look(
        mut self,
        head: &LedgerHead,
        each: &mut dyn FnMut(&CommitRow, Oid),
    ) -> Result<(BTreeMap<String, Oid>, u64), RecorderError> {
        let store = self.store;
        let mut number = 0;
        for row in LineRows::new(head.commits, |from, to| store.commits(from, to)) {
            number += 1;
            let row = match row {
                Ok(row) => row,
                Err(RowFault::Missing) => {
                    return Err(self
                        .fault(number, None, "nothing: its row is missing".to_owned())
                        .into());
                }
                Err(RowFault::Corrupt(words)) => {
                    return Err(self.fault(number, None, words).into());
                }
                Err(RowFault::Store(e)) => return Err(e.into()),
            };
            match self.take(&row)? {
                Ok(id) => each(&row, id),
                Err(said) => return Err(self.fault(number, Some(&row), said).into()),
            }
        }
        if let Some(row) = store
            .commits(head.commits, head.commits.saturating_add(1))?
            .first()
        {
            let said = format!(
                "a commit, though its head ends with commit {}",
                head.commits
            );
            return Err(self.fault(head.commits + 1, Some(row), said).into());
        }
        if self.signer != head.signer {
            return Err(Contradiction {
                place: "head.signer".to_owned(),
                database: head.signer.to_string(),
                holder: "gently.db",
                found: format!("{} in its own commits", self.signer),
                next: database_is_wrong(),
            }
            .into());
        }
        Ok((self.tips, self.missing))
    }

    fn take(&mut self, row: &CommitRow) -> Result<Result<Oid, CommitFault>, RecorderError> {
        let id = commit_id(&row.raw);
        if id.to_string() != row.id {
            return Ok(Err(format!("bytes that are commit {id}")));
        }
        let commit = match commit_of(&row.raw) {
            Ok(commit) => commit,
            Err(fault) => return Ok(Err(fault.to_string())),
        };
        let files = match files_of(self.store, row) {
            Ok(files) => files,
            Err(RecorderError::Store(e)) => return Err(e.into()),
            Err(other) => return Ok(Err(other.to_string())),
        };
        let checked = self
            .check_files(row, &commit, &files)
            .and_then(|()| self.check_place(row, &commit, &files));
        if let Err(said) = checked {
            return Ok(Err(said));
        }
        let here = self
            .ledger
            .is_some_and(|ledger| ledger.holds(&row.raw, &files));
        self.missing += u64::from(!here);
        // What is here already is the verifier's to check; what is about to be written must be
        // genuine.
        if (!here || self.torn) && !commit.is_signed_by(&self.signer) {
            return Ok(Err(format!(
                "a commit that is not signed by the key in force, {}",
                self.signer
            )));
        }
        self.tips.insert(row.reference.clone(), id);
        if row.kind == CommitKind::KeyRotate {
            match document::<Rotate>(&files, "rotate.json") {
                Ok(rotate) => self.signer = rotate.new_signer,
                Err(said) => return Ok(Err(said)),
            }
        }
        Ok(Ok(id))
    }

    fn check_files(
        &self,
        row: &CommitRow,
        commit: &Commit,
        files: &TreeFiles,
    ) -> Result<(), CommitFault> {
        let tree = tree_id(files);
        if tree != commit.tree {
            return Err(format!(
                "files and lines that make tree {tree}, and a commit of tree {}",
                commit.tree
            ));
        }
        let subject = commit.message.lines().next().unwrap_or_default();
        if CommitKind::of_subject(subject) != Some(row.kind) {
            return Err(format!(
                "that it is a {}, and a commit with the subject '{subject}'",
                row.kind.name()
            ));
        }
        let genesis = files
            .get("genesis.json")
            .filter(|bytes| **bytes != self.genesis.as_bytes());
        genesis.map_or(Ok(()), |_| {
            Err("another genesis.json than in head.genesis".to_owned())
        })
    }

    /// A commit stands on the ref of its kind, right after the one before it there.
    fn check_place(
        &self,
        row: &CommitRow,
        commit: &Commit,
        files: &TreeFiles,
    ) -> Result<(), CommitFault> {
        use crate::record::ledger::commit::CommitKind::{
            Checkpoint, Close, Genesis, KeyRotate, SessionStart,
        };
        let on_main = matches!(row.kind, Genesis | Close | Checkpoint | KeyRotate);
        if on_main != (row.reference == MAIN) {
            return Err(format!(
                "that it stands on {}, where no {} stands",
                row.reference,
                row.kind.name()
            ));
        }
        if row.kind == SessionStart {
            let branch = document::<SessionDoc>(files, "session.json")?.branch;
            if branch_ref(&branch) != row.reference {
                return Err(format!(
                    "that it stands on {}, and a session.json of {branch}",
                    row.reference
                ));
            }
        }
        let new_branch = if row.kind == SessionStart {
            self.tips.get(MAIN)
        } else {
            None
        };
        let before = self.tips.get(&row.reference).or(new_branch);
        if commit.parents.first() != before {
            let spell = |id: Option<&Oid>| id.map_or("none".to_owned(), Oid::to_string);
            return Err(format!(
                "that it follows commit {} on {}, and a commit whose first parent is {}",
                spell(before),
                row.reference,
                spell(commit.parents.first())
            ));
        }
        Ok(())
    }

    fn fault(&self, number: u64, row: Option<&CommitRow>, said: CommitFault) -> Contradiction {
        let of_row = row.map(|row| {
            format!(
                " ({} on {}, log line {})",
                row.kind.name(),
                row.reference,
                row.line + 1
            )
        });
        let id = row.and_then(|row| row.id.parse::<Oid>().ok());
        let here = id.filter(|id| self.ledger.is_some_and(|ledger| ledger.has_commit(*id)));
        let found = match (here, id) {
            (Some(id), _) => format!("commit {id}, whole"),
            (None, Some(id)) => format!("no commit {id}"),
            (None, None) => "nothing that could be compared".to_owned(),
        };
        let place = format!("commit {number}{}", of_row.unwrap_or_default());
        Contradiction {
            place,
            database: said,
            holder: "ledger.git",
            found,
            next: database_is_wrong(),
        }
    }
}

fn document<T: serde::de::DeserializeOwned + serde::Serialize>(
    files: &TreeFiles,
    name: &str,
) -> Result<T, CommitFault> {
    let bytes = files.get(name).ok_or_else(|| format!("no {name}"))?;
    canon::parse(bytes).map_err(|e| format!("a {name} that can't be read: {e}"))
}
