//! The database's commits: whether each is what its row says, where its row says, and signed by the
//! key in force.

use std::collections::BTreeMap;

use crate::ledger::Oid;
use crate::ledger::write::Ledger;
use crate::record::canon;
use crate::record::ledger::commit::{CommitKind, MAIN, branch_ref};
use crate::record::ledger::documents::{Genesis, SessionDoc};
use crate::record::signature::PublicKey;
use crate::store::{CommitRow, LedgerHead, Store};

use super::rows::{LineRows, RowFault};
use super::{Contradiction, RecorderError, database_is_wrong};
use crate::recorder::recovery::commit_row::{CommitFault, ReadCommit, other_signer, place_of};

/// The commits so far.
pub struct Commits<'a> {
    store: &'a Store,
    ledger: Option<&'a Ledger>,
    /// Every signature is checked: packs are torn, so that every object may have to be written again, or
    /// the database has no tree head, so that commits alone say what is signed.
    strict: bool,
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
        strict: bool,
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
            strict,
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
            return Err(other_signer(head, &self.signer).into());
        }
        Ok((self.tips, self.missing))
    }

    fn take(&mut self, row: &CommitRow) -> Result<Result<Oid, CommitFault>, RecorderError> {
        let read = match ReadCommit::of(self.store, row)? {
            Ok(read) => read,
            Err(said) => return Ok(Err(said)),
        };
        let here = self
            .ledger
            .is_some_and(|ledger| ledger.holds(&row.raw, &read.files));
        self.missing += u64::from(!here);
        Ok(self.check(row, &read, here).map(|()| {
            self.tips.insert(row.reference.clone(), read.id);
            read.id
        }))
    }

    fn check(&mut self, row: &CommitRow, read: &ReadCommit, here: bool) -> Result<(), CommitFault> {
        let genesis = read.files.get("genesis.json");
        if genesis.is_some_and(|bytes| *bytes != self.genesis.as_bytes()) {
            return Err("another genesis.json than in head.genesis".to_owned());
        }
        self.check_place(row, read)?;
        // What is here already is the verifier's to check; what is about to be written must be
        // genuine.
        if !here || self.strict {
            read.signed_by(&self.signer)?;
        }
        if row.kind == CommitKind::KeyRotate {
            self.signer = read.rotation(&self.signer)?.new_signer;
        }
        Ok(())
    }

    /// A commit stands on the ref of its kind, right after the one before it there.
    fn check_place(&self, row: &CommitRow, read: &ReadCommit) -> Result<(), CommitFault> {
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
            let branch = read.document::<SessionDoc>("session.json")?.branch;
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
        let parent = read.commit.parents.first();
        if parent != before {
            let spell = |id: Option<&Oid>| id.map_or("none".to_owned(), Oid::to_string);
            return Err(format!(
                "that it follows commit {} on {}, and a commit whose first parent is {}",
                spell(before),
                row.reference,
                spell(parent)
            ));
        }
        Ok(())
    }

    fn fault(&self, number: u64, row: Option<&CommitRow>, said: CommitFault) -> Contradiction {
        let id = row.and_then(|row| row.id.parse::<Oid>().ok());
        let here = id.filter(|id| self.ledger.is_some_and(|ledger| ledger.has_commit(*id)));
        let found = match (here, id) {
            (Some(id), _) => format!("commit {id}, whole"),
            (None, Some(id)) => format!("no commit {id}"),
            (None, None) => "nothing that could be compared".to_owned(),
        };
        Contradiction {
            place: place_of(number, row),
            database: said,
            holder: "ledger.git",
            found,
            next: database_is_wrong(),
        }
    }
}
