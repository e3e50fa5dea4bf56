//! Reading a ledger's repository: refs as they stand, and every object hashed again (format,
//! section 2).
//!
//! gix finds and inflates objects; it does not check that an object's content is what its name
//! says, so every object is hashed here again. Replace refs, grafts, the commit graph and the
//! repository's configuration have no say: objects and refs are read from their files alone.
//! Reading never writes.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use gix::objs::{Find as _, Kind};
use gix::odb::Header as _;

use crate::record::limits;

use super::Oid;
use super::object::{parse_commit, parse_files, parse_foreign, parse_misspelt, parse_tree};
use super::{folder, listing};

pub use super::budget::{BudgetExceeded, ReadBudget};
pub use super::listing::{Ref, RefTarget};
pub use super::object::{Commit, NoncanonicalCommit, ObjectFault, TreeEntry};

/// What git's library may allocate for one object that is no segment, the ones it is stored as a
/// difference to included: git makes differences to objects of at most thirty-two times the size.
const SMALL: u64 = 32 * limits::DOCUMENT;

/// Why a repository can't be looked at. Nothing was checked.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Not a git repository of the SHA-1 object format, or not readable.
    #[error("no readable git repository at {path}: {reason}")]
    Repository {
        /// Folder of the repository.
        path: PathBuf,
        /// What git's library said.
        reason: String,
    },
    /// There is a repository, and it is not read as it is.
    #[error("{path} is not read: {reason}")]
    Refused {
        /// Folder of the repository.
        path: PathBuf,
        /// Why, and how to mend it.
        reason: String,
    },
    /// The refs can't be listed at all.
    #[error("the refs of {path} can't be listed: {reason}")]
    Refs {
        /// Folder of the repository.
        path: PathBuf,
        /// What git's library said.
        reason: String,
    },
}

/// A repository opened for reading: a bare one, or any folder git takes for one.
pub struct Repository {
    path: PathBuf,
    /// What is small is read through one handle, segments through another: how much either may
    /// allocate is its own.
    small: gix::odb::Handle,
    large: OnceCell<gix::odb::Handle>,
    budget: ReadBudget,
}

impl Repository {
    /// Opens a repository's folder, bare or not, without following what its configuration says.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let failed = |reason: String| OpenError::Repository {
            path: path.to_owned(),
            reason,
        };
        let dir = folder::find(path).map_err(failed)?;
        let objects = folder::objects_of(&dir).map_err(|reason| OpenError::Refused {
            path: path.to_owned(),
            reason,
        })?;
        Self::over(dir, ReadBudget::new(objects))
    }

    /// Opens what was opened before, for another thread: all that read it share one budget.
    pub fn open_again(path: &Path, budget: &ReadBudget) -> Result<Self, OpenError> {
        Self::over(path.to_owned(), budget.clone())
    }

    fn over(dir: PathBuf, budget: ReadBudget) -> Result<Self, OpenError> {
        let failed = |reason: String| OpenError::Repository {
            path: dir.clone(),
            reason,
        };
        if let Some(format) = object_format(&dir).filter(|format| format != "sha1") {
            return Err(failed(format!("object format {format}, not sha1")));
        }
        let small = objects_at(&dir, SMALL).map_err(failed)?;
        Ok(Repository {
            path: dir,
            small,
            large: OnceCell::new(),
            budget,
        })
    }

    /// What may still be read; see [`ReadBudget`].
    pub fn budget(&self) -> &ReadBudget {
        &self.budget
    }

    /// All refs under `refs/`, in order of their names.
    pub fn refs(&self) -> Result<Vec<Ref>, OpenError> {
        listing::refs(&self.path).map_err(|reason| OpenError::Refs {
            path: self.path.clone(),
            reason,
        })
    }

    /// The handle for objects of up to a size.
    fn objects(&self, limit: u64) -> Result<&gix::odb::Handle, ObjectFault> {
        if limit <= limits::DOCUMENT {
            return Ok(&self.small);
        }
        if let Some(large) = self.large.get() {
            return Ok(large);
        }
        let opened =
            objects_at(&self.path, limit).map_err(|reason| ObjectFault::Unreadable { reason })?;
        Ok(self.large.get_or_init(|| opened))
    }

    /// The directory that holds objects and refs; another thread opens it for itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The one object whose id begins with these hexadecimal digits, at least four; none when there
    /// are several.
    pub fn only(&self, digits: &str) -> Option<Oid> {
        let prefix = gix::hash::Prefix::from_hex(digits).ok()?;
        self.small
            .lookup_prefix(prefix, None)
            .ok()??
            .ok()
            .map(|id| Oid::from_gix(&id))
    }

    /// Why an object that was not read is too large, if that is why: nothing is inflated to find
    /// out.
    fn too_large(&self, name: &gix::ObjectId, limit: u64) -> Option<ObjectFault> {
        let header = self.small.try_header(name).ok().flatten()?;
        (header.size() > limit).then(|| ObjectFault::TooLarge {
            size: header.size(),
            limit,
        })
    }

    fn object(&self, id: &Oid, kind: Kind, limit: u64) -> Result<Vec<u8>, ObjectFault> {
        let mut bytes = Vec::new();
        self.object_into(id, kind, limit, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads one object of a kind and size that its place asks for in place of what a buffer holds,
    /// and hashes it again.
    fn object_into(
        &self,
        id: &Oid,
        kind: Kind,
        limit: u64,
        bytes: &mut Vec<u8>,
    ) -> Result<(), ObjectFault> {
        let unreadable = |e: gix::Error| ObjectFault::Unreadable {
            reason: e.to_string(),
        };
        let name = id.to_gix();
        self.budget.check()?;
        let data = match self.objects(limit)?.try_find(&name, bytes) {
            Ok(found) => found.ok_or(ObjectFault::Missing)?,
            Err(e) => {
                return Err(self
                    .too_large(&name, limit)
                    .unwrap_or_else(|| unreadable(e)));
            }
        };
        let (found, size) = (
            data.kind,
            u64::try_from(data.data.len()).unwrap_or(u64::MAX),
        );
        self.budget.spend(id, size)?;
        if size > limit {
            return Err(ObjectFault::TooLarge { size, limit });
        }
        let actual =
            gix::objs::compute_hash(gix::hash::Kind::Sha1, found, data.data).map_err(unreadable)?;
        if actual != name {
            return Err(ObjectFault::Content {
                actual: actual.to_string(),
            });
        }
        if found != kind {
            return Err(ObjectFault::Kind {
                expected: kind_name(kind),
                actual: found.to_string(),
            });
        }
        Ok(())
    }

    /// The content of a small file: a document, a note; at most [`limits::DOCUMENT`] bytes.
    pub fn blob(&self, id: &Oid) -> Result<Vec<u8>, ObjectFault> {
        self.object(id, Kind::Blob, limits::DOCUMENT)
    }

    /// The content of a file of a commit, of a size that its name allows.
    pub fn file(&self, entry: &TreeEntry) -> Result<Vec<u8>, ObjectFault> {
        self.object(&entry.id, Kind::Blob, limits::of_file(&entry.name))
    }

    /// The lines of a segment.
    pub fn segment(&self, id: &Oid) -> Result<Vec<u8>, ObjectFault> {
        self.object(id, Kind::Blob, limits::SEGMENT)
    }

    /// Whether a segment is here and of a size that one may have; it is not read.
    pub fn has_segment(&self, id: &Oid) -> Result<(), ObjectFault> {
        let header = self
            .small
            .try_header(&id.to_gix())
            .map_err(|e| ObjectFault::Unreadable {
                reason: e.to_string(),
            })?;
        let size = header.ok_or(ObjectFault::Missing)?.size();
        let limit = limits::SEGMENT;
        if size > limit {
            Err(ObjectFault::TooLarge { size, limit })
        } else {
            Ok(())
        }
    }

    /// The content of a file of a commit, of a size that its name allows, in place of what a buffer
    /// holds.
    pub fn file_into(&self, id: &Oid, name: &str, buffer: &mut Vec<u8>) -> Result<(), ObjectFault> {
        self.object_into(id, Kind::Blob, limits::of_file(name), buffer)
    }

    /// The files of a tree that has exactly these, in this order and with mode 100644; none for any
    /// other tree.
    pub fn files<const N: usize>(
        &self,
        id: &Oid,
        names: &[&str; N],
        buffer: &mut Vec<u8>,
    ) -> Result<Option<[Oid; N]>, ObjectFault> {
        self.object_into(id, Kind::Tree, limits::TREE, buffer)?;
        Ok(parse_files(buffer, names))
    }

    /// The entries of a tree, in its order.
    pub fn tree(&self, id: &Oid) -> Result<Vec<TreeEntry>, ObjectFault> {
        parse_tree(&self.object(id, Kind::Tree, limits::TREE)?)
    }

    /// A commit of the ledger: signed, and in the writer's spelling.
    pub fn commit(&self, id: &Oid) -> Result<Commit, ObjectFault> {
        parse_commit(&self.object(id, Kind::Commit, limits::COMMIT)?)
    }

    /// A commit that [`Repository::commit`] refuses for its spelling.
    pub fn misspelt(&self, id: &Oid) -> Result<NoncanonicalCommit, ObjectFault> {
        parse_misspelt(&self.object(id, Kind::Commit, limits::COMMIT)?)
    }

    /// The bytes of a commit, signature included, so that it can be written again.
    pub fn commit_bytes(&self, id: &Oid) -> Result<Vec<u8>, ObjectFault> {
        self.object(id, Kind::Commit, limits::COMMIT)
    }

    /// Tree and parents of a commit that need not be ours: the unsigned ones of `refs/notes`.
    pub fn foreign_commit(&self, id: &Oid) -> Result<(Oid, Vec<Oid>), ObjectFault> {
        parse_foreign(&self.object(id, Kind::Commit, limits::COMMIT)?)
    }
}

/// The only thing that a repository's configuration is asked: how long its names are, to say so in
/// words.
fn object_format(dir: &Path) -> Option<String> {
    let text = crate::os::read_regular(&dir.join("config"), limits::DOCUMENT).ok()?;
    let meta = gix::config::file::Metadata::from(gix::config::Source::Local);
    let config = gix::config::File::from_bytes_no_includes(
        &text,
        meta,
        gix::config::file::init::Options::default(),
    );
    let config = config.ok()?;
    config
        .string("extensions.objectFormat")
        .map(|format| format.to_string())
}

/// The objects of a repository, each of which may take so much memory.
fn objects_at(dir: &Path, limit: u64) -> Result<gix::odb::Handle, String> {
    let options = gix::odb::store::init::Options {
        alloc_limit_bytes: usize::try_from(limit).ok(),
        // All packs that were there and all that took their place: while it is read, a writer may
        // merge them.
        slots: gix::odb::store::init::Slots::AsNeededByDiskState {
            multiplier: 4.0,
            minimum: 128,
        },
        ..gix::odb::store::init::Options::default()
    };
    gix::odb::at_opts(dir.join("objects"), gix::hash::Kind::Sha1, None, options)
        .map_err(|e| e.to_string())
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Blob => "blob",
        Kind::Tree => "tree",
        Kind::Commit => "commit",
        Kind::Tag => "tag",
    }
}

/// The id that a file's content has in git.
pub fn blob_id(content: &[u8]) -> Oid {
    let id = gix::objs::compute_hash(gix::hash::Kind::Sha1, Kind::Blob, content);
    // An attempted SHA-1 collision has no id; zero is nobody's.
    id.map_or(Oid::from_bytes([0; 20]), |id| Oid::from_gix(&id))
}
