//! Reading a ledger's repository: every object re-hashed, every commit and tree in one spelling (format, section 5).
//!
//! ```text
//! tree 40HEX                                                        commit, in this order
//! parent 40HEX                                                      none, one or two
//! author gently <ledger@gently.invalid> SECONDS +0000
//! committer gently <ledger@gently.invalid> SECONDS +0000            the same SECONDS
//! gpgsig -----BEGIN SSH SIGNATURE-----                              exactly one
//!  …
//!                                                                   empty line, message
//! 100644 NAME\0 20 BYTES                                            tree entry
//! ```
//!
//! gix finds and inflates objects; it does not check that an object's content is what its name says,
//! so every object is hashed here again. Replace refs, grafts, the commit graph and the repository's
//! configuration have no say: objects and refs are read from their files alone. Reading never writes.

use std::path::{Path, PathBuf};

use gix::objs::{Find as _, Kind};
use gix::odb::Header as _;

use super::Oid;
use crate::record::commit::{AUTHOR_EMAIL, AUTHOR_NAME};
use crate::record::signature::{PublicKey, Signature, parse_armor, signed_data};
use crate::record::time::Seconds;

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

/// What is wrong with one object; a finding, never a panic.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObjectFault {
    /// Not in the repository.
    #[error("not in the repository")]
    Missing,
    /// Larger than any object of a ledger.
    #[error("{size} bytes, more than {limit}")]
    TooLarge {
        /// What its header says.
        size: u64,
        /// [`OBJECT_LIMIT`].
        limit: u64,
    },
    /// Its file, or the pack around it, can't be read.
    #[error("unreadable: {reason}")]
    Unreadable {
        /// git's words.
        reason: String,
    },
    /// A tree where a commit should be, and so on.
    #[error("a {actual}, not a {expected}")]
    Kind {
        /// The kind that its place asks for.
        expected: &'static str,
        /// The kind it is.
        actual: String,
    },
    /// Its content has another id: changed after it was named.
    #[error("its content is that of object {actual}")]
    Content {
        /// SHA-1 of kind, length and content.
        actual: String,
    },
    /// Spelled otherwise than a writer does.
    #[error("{part}: {actual}, not {expected}")]
    Form {
        /// Which part of the object.
        part: &'static str,
        /// What it should be.
        expected: String,
        /// What it is, shortened.
        actual: String,
    },
}

impl ObjectFault {
    /// What should have been found, for a report.
    pub fn expected(&self) -> String {
        match self {
            ObjectFault::Missing => "an object of this id".to_owned(),
            ObjectFault::TooLarge { limit, .. } => format!("at most {limit} bytes"),
            ObjectFault::Unreadable { .. } => "a readable object".to_owned(),
            ObjectFault::Kind { expected, .. } => format!("a {expected}"),
            ObjectFault::Content { .. } => "content that hashes to the object's id".to_owned(),
            ObjectFault::Form { part, expected, .. } => format!("{part}: {expected}"),
        }
    }

    /// What was found, for a report.
    pub fn actual(&self) -> String {
        match self {
            ObjectFault::Form { actual, .. } => actual.clone(),
            other => other.to_string(),
        }
    }
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

/// A commit that is spelled as a writer spells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its tree.
    pub tree: Oid,
    /// Its parents, in order.
    pub parents: Vec<Oid>,
    /// Both dates.
    pub time: Seconds,
    /// The key that the signature names.
    pub key: PublicKey,
    /// The signature.
    pub signature: Signature,
    /// What is signed: the commit without its `gpgsig` header.
    pub payload: Vec<u8>,
    /// Subject and trailers.
    pub message: String,
}

impl Commit {
    /// Whether the signature is `key`'s over this commit.
    #[must_use = "an unchecked signature proves nothing"]
    pub fn is_signed_by(&self, key: &PublicKey) -> bool {
        self.key == *key && key.verifies(&signed_data(&self.payload), &self.signature)
    }
}

/// One entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// As the tree spells it, `100644`.
    pub mode: String,
    /// File name.
    pub name: String,
    /// Its object.
    pub id: Oid,
}

/// A repository opened for reading: a bare one, or any folder git takes for one.
pub struct Repository {
    path: PathBuf,
    objects: gix::odb::Handle,
    refs: gix::refs::file::Store,
}

impl Repository {
    /// Opens without running anything that the repository's configuration may ask for.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let failed = |reason: String| OpenError::Repository { path: path.to_owned(), reason };
        let repository = gix::open_opts(path, gix::open::Options::isolated()).map_err(|e| failed(e.to_string()))?;
        if repository.object_hash() != gix::hash::Kind::Sha1 {
            return Err(failed(format!("object format {}, not sha1", repository.object_hash())));
        }
        let dir = repository.common_dir().to_owned();
        let options = gix::odb::store::init::Options {
            alloc_limit_bytes: usize::try_from(OBJECT_LIMIT).ok(),
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
        let mut out = Vec::new();
        for (number, item) in all.enumerate() {
            out.push(match item {
                Ok(found) => self.one_ref(&found),
                Err(e) => Ref { name: format!("ref number {} of the repository", number + 1), target: broken(&e) },
            });
        }
        Ok(out)
    }

    fn one_ref(&self, found: &gix::refs::Reference) -> Ref {
        let name = found.name.as_bstr().to_string();
        let target = match &found.target {
            gix::refs::Target::Symbolic(to) => Target::Symbolic(to.as_bstr().to_string()),
            gix::refs::Target::Object(id) => match std::fs::read(self.path.join(&name)) {
                // A loose ref is its id and a newline; git reads past what follows, we do not.
                Ok(bytes) if bytes != format!("{id}\n").as_bytes() => {
                    Target::Broken(format!("'{}'", String::from_utf8_lossy(&bytes).escape_debug()))
                }
                _ => Target::Direct(Oid::from_gix(id)),
            },
        };
        Ref { name, target }
    }

    /// Reads one object of a kind that its place asks for, and hashes it again.
    fn object(&self, id: &Oid, kind: Kind) -> Result<Vec<u8>, ObjectFault> {
        let unreadable = |e: gix::Error| ObjectFault::Unreadable { reason: e.to_string() };
        let name = id.to_gix();
        let header = self.objects.try_header(&name).map_err(|e| unreadable(e.into()))?.ok_or(ObjectFault::Missing)?;
        if header.size() > OBJECT_LIMIT {
            return Err(ObjectFault::TooLarge { size: header.size(), limit: OBJECT_LIMIT });
        }
        let mut bytes = Vec::new();
        let data =
            self.objects.try_find(&name, &mut bytes).map_err(|e| unreadable(e.into()))?.ok_or(ObjectFault::Missing)?;
        let found = data.kind;
        let actual =
            gix::objs::compute_hash(gix::hash::Kind::Sha1, found, data.data).map_err(|e| unreadable(e.into()))?;
        if actual != name {
            return Err(ObjectFault::Content { actual: actual.to_string() });
        }
        if found != kind {
            return Err(ObjectFault::Kind { expected: kind_name(kind), actual: found.to_string() });
        }
        Ok(bytes)
    }

    /// The content of a file.
    pub fn blob(&self, id: &Oid) -> Result<Vec<u8>, ObjectFault> {
        self.object(id, Kind::Blob)
    }

    /// The entries of a tree, in its order.
    pub fn tree(&self, id: &Oid) -> Result<Vec<TreeEntry>, ObjectFault> {
        parse_tree(&self.object(id, Kind::Tree)?)
    }

    /// A commit of the ledger: signed, and in the writer's spelling.
    pub fn commit(&self, id: &Oid) -> Result<Commit, ObjectFault> {
        parse_commit(&self.object(id, Kind::Commit)?)
    }

    /// Tree and parents of a commit that need not be ours: the unsigned ones of `refs/notes`.
    pub fn foreign_commit(&self, id: &Oid) -> Result<(Oid, Vec<Oid>), ObjectFault> {
        let bytes = self.object(id, Kind::Commit)?;
        let text = String::from_utf8_lossy(&bytes);
        let mut reader = Reader { rest: &text };
        let tree = reader.id_line("tree ")?;
        Ok((tree, reader.parents()?))
    }
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

/// Walks over a commit's text, naming the part that is not as it should be.
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn wrong(&self, part: &'static str, expected: impl Into<String>) -> ObjectFault {
        let actual = self.rest.chars().take(80).collect::<String>();
        ObjectFault::Form { part, expected: expected.into(), actual: format!("'{}'", actual.escape_debug()) }
    }

    fn line(&mut self, part: &'static str, start: &str) -> Result<&'a str, ObjectFault> {
        let (line, rest) = self
            .rest
            .strip_prefix(start)
            .and_then(|after| after.split_once('\n'))
            .ok_or_else(|| self.wrong(part, format!("a line '{start}…'")))?;
        self.rest = rest;
        Ok(line)
    }

    fn id_line(&mut self, start: &'static str) -> Result<Oid, ObjectFault> {
        let wrong = self.wrong(start.trim_end(), "40 lower-case hexadecimal digits");
        let text = self.line(start.trim_end(), start)?;
        text.parse().map_err(|_| wrong)
    }

    fn parents(&mut self) -> Result<Vec<Oid>, ObjectFault> {
        let mut parents = Vec::new();
        while self.rest.starts_with("parent ") {
            parents.push(self.id_line("parent ")?);
        }
        Ok(parents)
    }

    fn person(&mut self, role: &'static str) -> Result<Seconds, ObjectFault> {
        let wrong = self.wrong(role, format!("{role} {AUTHOR_NAME} <{AUTHOR_EMAIL}> SECONDS +0000"));
        let text = self.line(role, &format!("{role} {AUTHOR_NAME} <{AUTHOR_EMAIL}> "))?;
        let number = text.strip_suffix(" +0000").ok_or_else(|| wrong.clone())?;
        let time = number.parse().ok().and_then(|n| Seconds::new(n).ok()).ok_or_else(|| wrong.clone())?;
        if time.get().to_string() == number { Ok(time) } else { Err(wrong) }
    }

    fn signature(&mut self) -> Result<(PublicKey, Signature), ObjectFault> {
        let mut armor = self.line("gpgsig", "gpgsig ")?.to_owned();
        while self.rest.starts_with(' ') {
            armor.push('\n');
            armor.push_str(self.line("gpgsig", " ")?);
        }
        parse_armor(&armor).map_err(|e| ObjectFault::Form {
            part: "gpgsig",
            expected: "an Ed25519 SSH signature as git writes it".to_owned(),
            actual: e.to_string(),
        })
    }
}

fn parse_commit(bytes: &[u8]) -> Result<Commit, ObjectFault> {
    let text = std::str::from_utf8(bytes).map_err(|e| ObjectFault::Form {
        part: "commit",
        expected: "UTF-8".to_owned(),
        actual: e.to_string(),
    })?;
    let mut reader = Reader { rest: text };
    let tree = reader.id_line("tree ")?;
    let parents = reader.parents()?;
    let time = reader.person("author")?;
    let committed = reader.person("committer")?;
    if time != committed {
        return Err(ObjectFault::Form {
            part: "committer",
            expected: format!("the author's date {}", time.get()),
            actual: committed.get().to_string(),
        });
    }
    let headers = text.strip_suffix(reader.rest).unwrap_or_default();
    let (key, signature) = reader.signature()?;
    let payload = [headers.as_bytes(), reader.rest.as_bytes()].concat();
    reader.line("end of headers", "")?.is_empty().then_some(()).ok_or_else(|| ObjectFault::Form {
        part: "end of headers",
        expected: "an empty line after gpgsig".to_owned(),
        actual: "another header".to_owned(),
    })?;
    Ok(Commit { tree, parents, time, key, signature, payload, message: reader.rest.to_owned() })
}

fn parse_tree(bytes: &[u8]) -> Result<Vec<TreeEntry>, ObjectFault> {
    let wrong = |at: usize| ObjectFault::Form {
        part: "tree entry",
        expected: "MODE, a space, a name, a zero byte, 20 bytes".to_owned(),
        actual: format!("something else at byte {at}"),
    };
    let mut entries = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let at = bytes.len() - rest.len();
        let entry = next_entry(rest).ok_or_else(|| wrong(at))?;
        rest = entry.1;
        entries.push(entry.0);
    }
    Ok(entries)
}

fn next_entry(bytes: &[u8]) -> Option<(TreeEntry, &[u8])> {
    let zero = bytes.iter().position(|b| *b == 0)?;
    let (head, rest) = bytes.split_at_checked(zero)?;
    let (mode, name) = std::str::from_utf8(head).ok()?.split_once(' ')?;
    let (id, rest) = rest.strip_prefix(&[0])?.split_first_chunk::<20>()?;
    Some((TreeEntry { mode: mode.to_owned(), name: name.to_owned(), id: Oid::from_bytes(*id) }, rest))
}
