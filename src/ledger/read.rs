//! Reading a ledger's repository: refs as they stand, and every object hashed again (format, section 1).
//!
//! gix finds and inflates objects; it does not check that an object's content is what its name says,
//! so every object is hashed here again. Replace refs, grafts, the commit graph and the repository's
//! configuration have no say: objects and refs are read from their files alone. Reading never writes.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use gix::objs::{Find as _, Kind};
use gix::odb::Header as _;

use super::Oid;
use super::object::{parse_commit, parse_files, parse_foreign, parse_misspelt, parse_tree};

pub use super::object::{Commit, Misspelt, ObjectFault, TreeEntry};

/// No object of a ledger comes near this; a segment of the log, the longest of them, is some hundred lines.
pub const OBJECT_LIMIT: u64 = 64 << 20;

/// Why a repository can't be looked at. Nothing was checked.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Not a git repository of the SHA-1 object format, or not readable.
    #[error("no readable git repository at {path}: {reason}")]
    Repository {
        /// Where.
        path: PathBuf,
        /// git's words.
        reason: String,
    },
    /// The refs can't be listed at all.
    #[error("the refs of {path} can't be listed: {reason}")]
    Refs {
        /// Where.
        path: PathBuf,
        /// git's words.
        reason: String,
    },
}

/// What a ref points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// An object.
    Direct(Oid),
    /// Another ref; no ref of a ledger is symbolic.
    Symbolic(String),
    /// The ref's file can't be read as either.
    Broken(String),
}

/// One ref, as it stands now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ref {
    /// The full name, such as `refs/heads/main`.
    pub name: String,
    /// What it points at.
    pub target: Target,
}

/// A repository opened for reading: a bare one, or any folder git takes for one.
pub struct Repository {
    path: PathBuf,
    objects: gix::odb::Handle,
    refs: gix::refs::file::Store,
}

impl Repository {
    /// Opens a repository's folder, bare or not, without following what its configuration says.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let failed = |reason: String| OpenError::Repository { path: path.to_owned(), reason };
        let is_repository = |dir: &PathBuf| {
            dir.join("objects").is_dir() && dir.join("refs").is_dir() && dir.join("HEAD").symlink_metadata().is_ok()
        };
        let dir = [path.to_owned(), path.join(".git")].into_iter().find(is_repository).ok_or_else(|| {
            let here = "there are no folders 'objects' and 'refs' beside a HEAD, here or in .git";
            failed(format!("{here} (of a linked worktree or a submodule, give the repository's own folder)"))
        })?;
        if let Some(format) = object_format(&dir).filter(|format| format != "sha1") {
            return Err(failed(format!("object format {format}, not sha1")));
        }
        let options = gix::odb::store::init::Options {
            alloc_limit_bytes: usize::try_from(OBJECT_LIMIT).ok(),
            // All packs that were there and all that took their place: while it is read, a writer may merge them.
            slots: gix::odb::store::init::Slots::AsNeededByDiskState { multiplier: 4.0, minimum: 128 },
            ..gix::odb::store::init::Options::default()
        };
        let objects = gix::odb::at_opts(dir.join("objects"), gix::hash::Kind::Sha1, None, options)
            .map_err(|e| failed(e.to_string()))?;
        let refs = gix::refs::file::Store::at(dir.clone(), gix::hash::Kind::Sha1);
        Ok(Repository { path: dir, objects, refs })
    }

    /// All refs under `refs/`, in order of their names.
    pub fn refs(&self) -> Result<Vec<Ref>, OpenError> {
        let failed = |reason: String| OpenError::Refs { path: self.path.clone(), reason };
        let platform = self.refs.iter().map_err(|e| failed(e.to_string()))?;
        let all = platform.all().map_err(|e| failed(e.to_string()))?;
        let packed = std::fs::read(self.path.join("packed-refs")).unwrap_or_default();
        let packed: HashSet<&[u8]> = packed.split(|byte| *byte == b'\n').collect();
        let mut out = Vec::new();
        for (number, item) in all.enumerate() {
            out.push(match item {
                Ok(found) => self.one_ref(&found, &packed),
                Err(e) => Ref { name: format!("ref number {} of the repository", number + 1), target: broken(&e) },
            });
        }
        Ok(out)
    }

    /// A ref as it is spelled: git reads past what follows an id and takes upper case for lower, we do not.
    fn one_ref(&self, found: &gix::refs::Reference, packed: &HashSet<&[u8]>) -> Ref {
        let name = found.name.as_bstr().to_string();
        let target = match &found.target {
            gix::refs::Target::Symbolic(to) => Target::Symbolic(to.as_bstr().to_string()),
            gix::refs::Target::Object(id) => match std::fs::read(self.path.join(&name)) {
                Ok(bytes) if bytes != format!("{id}\n").as_bytes() => {
                    Target::Broken(format!("'{}'", String::from_utf8_lossy(&bytes).escape_debug()))
                }
                Err(_) if !packed.contains(format!("{id} {name}").as_bytes()) => {
                    Target::Broken("another spelling in packed-refs".to_owned())
                }
                _ => Target::Direct(Oid::from_gix(id)),
            },
        };
        Ref { name, target }
    }

    /// The directory that holds objects and refs; another thread opens it for itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The one object whose id begins with these hexadecimal digits, at least four; none when there are several.
    pub fn only(&self, digits: &str) -> Option<Oid> {
        let prefix = gix::hash::Prefix::from_hex(digits).ok()?;
        self.objects.lookup_prefix(prefix, None).ok()??.ok().map(|id| Oid::from_gix(&id))
    }

    /// Why an object that was not read is too large, if that is why: nothing is inflated to find out.
    fn too_large(&self, name: &gix::ObjectId) -> Option<ObjectFault> {
        let header = self.objects.try_header(name).ok().flatten()?;
        (header.size() > OBJECT_LIMIT).then(|| ObjectFault::TooLarge { size: header.size(), limit: OBJECT_LIMIT })
    }

    fn object(&self, id: &Oid, kind: Kind) -> Result<Vec<u8>, ObjectFault> {
        let mut bytes = Vec::new();
        self.object_into(id, kind, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads one object of a kind that its place asks for in place of what a buffer holds, and hashes it again.
    fn object_into(&self, id: &Oid, kind: Kind, bytes: &mut Vec<u8>) -> Result<(), ObjectFault> {
        let unreadable = |e: gix::Error| ObjectFault::Unreadable { reason: e.to_string() };
        let name = id.to_gix();
        let data = match self.objects.try_find(&name, bytes) {
            Ok(found) => found.ok_or(ObjectFault::Missing)?,
            Err(e) => return Err(self.too_large(&name).unwrap_or_else(|| unreadable(e))),
        };
        let found = data.kind;
        let actual = gix::objs::compute_hash(gix::hash::Kind::Sha1, found, data.data).map_err(unreadable)?;
        if actual != name {
            return Err(ObjectFault::Content { actual: actual.to_string() });
        }
        if u64::try_from(bytes.len()).is_ok_and(|size| size > OBJECT_LIMIT) {
            return Err(ObjectFault::TooLarge { size: bytes.len() as u64, limit: OBJECT_LIMIT });
        }
        if found != kind {
            return Err(ObjectFault::Kind { expected: kind_name(kind), actual: found.to_string() });
        }
        Ok(())
    }

    /// The content of a file.
    pub fn blob(&self, id: &Oid) -> Result<Vec<u8>, ObjectFault> {
        self.object(id, Kind::Blob)
    }

    /// The content of a file, in place of what a buffer holds.
    pub fn blob_into(&self, id: &Oid, buffer: &mut Vec<u8>) -> Result<(), ObjectFault> {
        self.object_into(id, Kind::Blob, buffer)
    }

    /// The files of a tree that has exactly these, in this order and with mode 100644; none for any other tree.
    pub fn files<const N: usize>(
        &self,
        id: &Oid,
        names: &[&str; N],
        buffer: &mut Vec<u8>,
    ) -> Result<Option<[Oid; N]>, ObjectFault> {
        self.object_into(id, Kind::Tree, buffer)?;
        Ok(parse_files(buffer, names))
    }

    /// The entries of a tree, in its order.
    pub fn tree(&self, id: &Oid) -> Result<Vec<TreeEntry>, ObjectFault> {
        parse_tree(&self.object(id, Kind::Tree)?)
    }

    /// A commit of the ledger: signed, and in the writer's spelling.
    pub fn commit(&self, id: &Oid) -> Result<Commit, ObjectFault> {
        parse_commit(&self.object(id, Kind::Commit)?)
    }

    /// A commit that [`Repository::commit`] refuses for its spelling.
    pub fn misspelt(&self, id: &Oid) -> Result<Misspelt, ObjectFault> {
        parse_misspelt(&self.object(id, Kind::Commit)?)
    }

    /// The bytes of a commit, signature included, so that it can be written again.
    pub fn commit_bytes(&self, id: &Oid) -> Result<Vec<u8>, ObjectFault> {
        self.object(id, Kind::Commit)
    }

    /// Tree and parents of a commit that need not be ours: the unsigned ones of `refs/notes`.
    pub fn foreign_commit(&self, id: &Oid) -> Result<(Oid, Vec<Oid>), ObjectFault> {
        parse_foreign(&self.object(id, Kind::Commit)?)
    }
}

/// The only thing that a repository's configuration is asked: how long its names are, to say so in words.
fn object_format(dir: &Path) -> Option<String> {
    let source = gix::config::Source::Local;
    let config = gix::config::File::from_path_no_includes(dir.join("config"), source).ok()?;
    config.string("extensions.objectFormat").map(|format| format.to_string())
}

fn broken(error: &impl std::fmt::Display) -> Target {
    Target::Broken(error.to_string())
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
