//! What of a ledger is here whole, and what a stored commit is: looked at before anything is
//! mended.
//!
//! Nothing here writes, and nothing asks a key.

use gix::objs::{Find as _, Kind};

use super::Oid;
use super::object::{Commit, ObjectFault, parse_commit};
use super::write::{Ledger, TreeFiles, id_of, tree_bytes};

/// The id that the bytes of a commit have in git.
pub fn commit_id(raw: &[u8]) -> Oid {
    Oid::from_gix(&id_of(Kind::Commit, raw))
}

/// The id of the tree that holds exactly these files.
pub fn tree_id(files: &TreeFiles) -> Oid {
    Oid::from_gix(&id_of(Kind::Tree, &tree_bytes(files)))
}

/// Reads the bytes of a commit as strictly as one that is read from a ledger.
pub fn commit_of(raw: &[u8]) -> Result<Commit, ObjectFault> {
    parse_commit(raw)
}

impl Ledger {
    /// Whether a commit, its tree and its files are here, each with exactly these bytes.
    pub fn holds(&self, commit: &[u8], files: &TreeFiles) -> bool {
        self.holds_object(Kind::Commit, commit)
            && self.holds_object(Kind::Tree, &tree_bytes(files))
            && files
                .values()
                .all(|bytes| self.holds_object(Kind::Blob, bytes))
    }

    fn holds_object(&self, kind: Kind, data: &[u8]) -> bool {
        let mut buffer = Vec::new();
        let found = self.known.try_find(&id_of(kind, data), &mut buffer);
        found.is_ok_and(|found| found.is_some_and(|found| found.kind == kind && found.data == data))
    }

    /// Whether a whole commit of this id is here, whatever it says.
    pub fn has_commit(&self, id: Oid) -> bool {
        let mut buffer = Vec::new();
        let found = self.known.try_find(&id.to_gix(), &mut buffer);
        found.is_ok_and(|found| {
            found.is_some_and(|found| {
                found.kind == Kind::Commit && id_of(Kind::Commit, found.data) == id.to_gix()
            })
        })
    }
}
