//! What can go wrong when a ledger is written.

use std::path::PathBuf;

use super::Oid;

/// Why the ledger refused, or could not do, a write.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// A file could not be read, written or synced.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To which file or directory.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The git library refused.
    #[error("git: cannot {doing} in {}: {reason}", path.display())]
    Git {
        /// What was being done.
        doing: &'static str,
        /// Folder of the repository.
        path: PathBuf,
        /// The library's chain of reasons.
        reason: String,
    },
    /// Something in it is not as git makes it.
    #[error("{} can't be used: {reason}", path.display())]
    Strange {
        /// Folder of the repository.
        path: PathBuf,
        /// What, and the next command.
        reason: String,
    },
    /// The repository is of another shape than a ledger's.
    #[error("{} is not a ledger: expected {expected}, found {actual}", path.display())]
    NotALedger {
        /// Folder of the repository.
        path: PathBuf,
        /// What a ledger is.
        expected: &'static str,
        /// What is there.
        actual: String,
    },
    /// The bytes given are not a commit object.
    #[error("not a commit object: {reason}")]
    NotACommit {
        /// Where parsing stopped.
        reason: String,
    },
    /// A commit and the files handed over with it are of different trees.
    #[error("commit {commit} has tree {expected}, the files given with it make tree {actual}")]
    Tree {
        /// Commit whose tree it is.
        commit: Oid,
        /// The tree it names.
        expected: Oid,
        /// The tree of the files.
        actual: Oid,
    },
    /// A commit names a parent that the ledger does not have.
    #[error("commit {commit} names parent {parent}, which {} does not have: write the parent first", path.display())]
    MissingParent {
        /// Commit whose parent is missing.
        commit: Oid,
        /// Parent that the repository does not have.
        parent: Oid,
        /// Folder of the repository.
        path: PathBuf,
    },
    /// A commit that should be there is not, or its content is not that of its id.
    #[error("{} has no intact commit {id}; `git fsck --full` names what is damaged", path.display())]
    MissingCommit {
        /// Commit that the repository does not have.
        id: Oid,
        /// Folder of the repository.
        path: PathBuf,
    },
    /// An object that was written has disappeared before it was durable.
    #[error("object {id} was written to {} and is gone before it was synced: does another program clean up there?", path.display())]
    Vanished {
        /// Object that was written.
        id: Oid,
        /// Folder of the repository.
        path: PathBuf,
    },
    /// Not one of the refs of format, section 2.
    #[error(
        "'{name}' is no ref of a ledger: it has refs/heads/main, refs/heads/branch-1 to branch-7, refs/notes/ots and refs/notes/witness"
    )]
    RefName {
        /// The name given.
        name: String,
    },
    /// A ref is not where the caller last saw it.
    #[error(
        "{name} was not moved to {wanted}: expected at {}, actually at {}",
        at(expected),
        at(actual)
    )]
    Moved {
        /// Full name of the ref.
        name: String,
        /// Where it should go.
        wanted: Oid,
        /// Where the caller last saw it; none: absent.
        expected: Option<Oid>,
        /// Where it is; none: absent.
        actual: Option<Oid>,
    },
    /// The move would leave commits behind.
    #[error("{name} moves forward only: its commit {from} is not an ancestor of {to}")]
    NotForward {
        /// Full name of the ref.
        name: String,
        /// Where it is.
        from: Oid,
        /// Where it should go.
        to: Oid,
    },
    /// A ref file does not hold an object id and a newline, as after a power loss.
    #[error(
        "the ref file {} is torn: expected 40 hexadecimal digits and a newline, found {found}; recovery rewrites it from the database",
        path.display()
    )]
    TornRef {
        /// Full name of the ref.
        name: String,
        /// File of the ref inside the repository.
        path: PathBuf,
        /// Its bytes, escaped and shortened.
        found: String,
    },
    /// A repair of a torn ref was asked for, and the ref is not torn.
    #[error("{name} is not torn (it is at {}); move it from there", at(actual))]
    NotTorn {
        /// Full name of the ref.
        name: String,
        /// Where it is.
        actual: Option<Oid>,
    },
    /// Another program takes the lock of a ref again and again.
    #[error("{name} is locked by {}: wait for the git command that runs there; if none does, `rm {}`", lock.display(), lock.display())]
    Locked {
        /// Full name of the ref.
        name: String,
        /// The lock file.
        lock: PathBuf,
    },
}

fn at(place: &Option<Oid>) -> String {
    place.map_or_else(|| "absent".to_owned(), |id| id.to_string())
}
