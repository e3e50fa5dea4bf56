//! Writing the ledger: deterministic signed commits, and the bare repository that takes them.
//!
//! ```text
//! tree 33b1…                                       exactly the files, mode 100644, sorted
//! parent 8f84…                                     in the order of format, section 6
//! author gently <ledger@gently.invalid> 1707113600 +0000
//! committer gently <ledger@gently.invalid> 1707113600 +0000
//! gpgsig -----BEGIN SSH SIGNATURE-----             over all the other lines
//!  U1NIU0lHAAAAAQ…
//!  -----END SSH SIGNATURE-----
//!
//! interaction-1                                    the message
//! …
//! ```
//!
//! Making a commit ([`encode`]) needs the key and no disk; applying it ([`Ledger::put`],
//! [`Ledger::write_objects`], [`Ledger::move_ref`]) needs the disk and no key, and may be done
//! again at any time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use gix::bstr::BString;
use gix::objs::{self, CommitRef, Find as _, Kind};

use super::folder;
use super::pack::Batch;
use super::{LedgerError, OBJECT_FORMAT, Oid};
use crate::record::ledger::commit::{AUTHOR_EMAIL, AUTHOR_NAME, CommitMessage};
use crate::record::signature::{PublicKey, Signature, armor, signed_data};
use crate::record::time::Seconds;

/// The files of one commit's tree, by name; all are plain files at the root.
pub type TreeFiles = BTreeMap<&'static str, Vec<u8>>;

/// The header of a git SSH signature in a SHA-1 repository.
const SIGNATURE_HEADER: &str = "gpgsig";

/// Everything that makes a commit, but the signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitPlan {
    /// Subject and trailers.
    pub message: CommitMessage,
    /// Files that the tree of the commit holds.
    pub files: TreeFiles,
    /// In the order of format, section 6.
    pub parents: Vec<Oid>,
    /// Time of the line the commit belongs to; both its dates, in UTC.
    pub time: Seconds,
}

/// A commit that is made and signed, and not yet in any repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedCommit {
    /// Id of the commit.
    pub id: Oid,
    /// The raw commit object, signature included, without git's `commit LENGTH` prefix.
    pub commit: Vec<u8>,
}

/// Makes and signs a commit (format, section 6).
///
/// Deterministic: the same plan, key and (Ed25519) signature give the same bytes and id. `sign`
/// gets the bytes of [`signed_data`], and must sign them with `key`; its error is the only one.
pub fn encode<E>(
    plan: &CommitPlan,
    key: &PublicKey,
    sign: &dyn Fn(&[u8]) -> Result<Signature, E>,
) -> Result<SignedCommit, E> {
    let who = ledger_actor(plan.time);
    let mut commit = objs::Commit {
        tree: id_of(Kind::Tree, &tree_bytes(&plan.files)),
        parents: plan.parents.iter().map(|id| id.to_gix()).collect(),
        author: who.clone(),
        committer: who,
        encoding: None,
        message: plan.message.render().into(),
        extra_headers: Vec::new(),
    };
    let signature = sign(&signed_data(&in_memory(&commit)))?;
    commit.extra_headers.push((
        BString::from(SIGNATURE_HEADER),
        BString::from(armor(key, &signature)),
    ));
    let commit = in_memory(&commit);
    Ok(SignedCommit {
        id: Oid::from_gix(&id_of(Kind::Commit, &commit)),
        commit,
    })
}

/// The author and committer of every commit of a ledger.
pub(super) fn ledger_actor(time: Seconds) -> gix::actor::Signature {
    gix::actor::Signature {
        name: AUTHOR_NAME.into(),
        email: AUTHOR_EMAIL.into(),
        time: gix::date::Time {
            seconds: time.as_i64(),
            offset: 0,
        },
    }
}

/// The raw tree object of some files.
pub(super) fn tree_bytes(files: &TreeFiles) -> Vec<u8> {
    let mut tree = objs::Tree::empty();
    tree.entries
        .extend(files.iter().map(|(name, bytes)| objs::tree::Entry {
            mode: objs::tree::EntryKind::Blob.into(),
            filename: (*name).into(),
            oid: id_of(Kind::Blob, bytes),
        }));
    tree.entries.sort();
    in_memory(&tree)
}

pub(super) fn in_memory(object: &dyn objs::WriteTo) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    object
        .write_to(&mut out)
        .expect("memory takes every byte, and names and dates of a plan are valid");
    out
}

pub(super) fn id_of(kind: Kind, data: &[u8]) -> gix::ObjectId {
    objs::compute_hash(OBJECT_FORMAT, kind, data)
        .expect("hashing memory fails only on a SHA-1 collision attack")
}

/// The bare repository that is a ledger, opened for writing; one writer at a time, under the home's
/// lock.
///
/// Opened isolated: no configuration but the repository's own, no environment. Nothing is durable
/// before [`Ledger::sync`] has returned: git's files are written without waiting for the disk. A
/// batch is applied, and applied again after a crash, in this order: put every commit, parents
/// first; write the objects; move every ref; sync once. After a power loss a ref may be torn
/// ([`LedgerError::TornRef`]): [`Ledger::overwrite_torn_ref`] sets it to the tip that the database
/// knows.
pub struct Ledger {
    pub(super) repo: gix::Repository,
    /// The same objects, asked for what is mostly not there: it does not read the folders anew for
    /// each.
    pub(super) known: gix::OdbHandle,
    /// Objects that are not written yet.
    pub(super) batch: Batch,
    /// What the next [`Ledger::sync`] has to make durable: refs by name, files and directories by
    /// path.
    pub(super) refs: BTreeSet<String>,
    pub(super) paths: BTreeSet<PathBuf>,
    /// Objects written since the last sync.
    pub(super) written: Vec<gix::ObjectId>,
    /// A commit was put that was here already.
    again: bool,
    /// Written since the folders were last read: whoever looks for an object reads them first.
    pub(super) unseen: Option<gix::ObjectId>,
    /// Objects have been looked for, and will be.
    pub(super) searches: bool,
    /// Parents of commits that came without a search, so that none is needed to move a ref to them.
    pub(super) parents_of: BTreeMap<Oid, Vec<Oid>>,
}

impl Ledger {
    /// Makes an empty ledger at a path that does not exist or is an empty directory.
    ///
    /// `HEAD` points at `refs/heads/main`. Durable after [`Ledger::sync`].
    pub fn create(path: &Path) -> Result<Self, LedgerError> {
        let options = gix::create::Options {
            object_hash: Some(OBJECT_FORMAT),
            ..Default::default()
        };
        let made = gix::ThreadSafeRepository::init_opts(
            path,
            gix::create::Kind::Bare,
            options,
            gix::open::Options::isolated(),
        );
        let mut ledger = Self::over(
            made.map_err(|e| git("create a repository", path, &e))?
                .into(),
        )?;
        ledger.drop_samples()?;
        let root = ledger.path().to_owned();
        ledger.touch_all(&root)?;
        let parent = root
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        ledger.paths.insert(parent.to_owned());
        Ok(ledger)
    }

    /// Opens a ledger; refuses what is not a bare repository with SHA-1 objects.
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        if path.symlink_metadata().is_err() {
            return Err(git(
                "open the repository",
                path,
                &"there is nothing at this path",
            ));
        }
        folder::writable(path).map_err(|reason| LedgerError::Strange {
            path: path.to_owned(),
            reason,
        })?;
        let repo = gix::open_opts(path, gix::open::Options::isolated().open_path_as_is(true))
            .map_err(|e| git("open the repository", path, &e))?;
        Self::over(repo)
    }

    fn over(mut repo: gix::Repository) -> Result<Self, LedgerError> {
        let path = repo.git_dir().to_owned();
        let wrong = |expected, actual| LedgerError::NotALedger {
            path: path.clone(),
            expected,
            actual,
        };
        if repo.object_hash() != OBJECT_FORMAT {
            return Err(wrong("object format sha1", repo.object_hash().to_string()));
        }
        if !repo.is_bare() {
            return Err(wrong(
                "a bare repository",
                "one with a work tree".to_owned(),
            ));
        }
        repo.refs.write_reflog = gix::refs::store::WriteReflog::Disable;
        Ok(Ledger {
            known: unrefreshed(&repo),
            repo,
            batch: Batch::default(),
            refs: BTreeSet::new(),
            paths: BTreeSet::new(),
            written: Vec::new(),
            again: false,
            unseen: None,
            searches: false,
            parents_of: BTreeMap::new(),
        })
    }

    /// The repository's directory.
    pub fn path(&self) -> &Path {
        self.repo.git_dir()
    }

    /// Takes blobs, tree and commit into the batch; [`Ledger::write_objects`] writes it.
    ///
    /// Idempotent: putting the same twice gives the same id. What is already there is compared byte
    /// for byte, and written again if it is torn. Refuses a commit whose tree is not that of
    /// `files`, or whose parents are not here. No ref moves.
    pub fn put(&mut self, commit: &[u8], files: &TreeFiles) -> Result<Oid, LedgerError> {
        self.look_again();
        self.check(commit, files, &[])?;
        for bytes in files.values() {
            self.put_object(Kind::Blob, bytes)?;
        }
        self.put_object(Kind::Tree, &tree_bytes(files))?;
        // A commit that is here already is put again after a crash: then nothing is known to be
        // durable.
        self.again |= !self.put_object(Kind::Commit, commit)?;
        Ok(Oid::from_gix(&id_of(Kind::Commit, commit)))
    }

    /// Takes blobs, tree and commit into the batch without looking whether they are here: opening
    /// the indices of packs takes a time that grows with history.
    ///
    /// For a commit that can't be here yet, whose parents are in the batch or are these tips. An
    /// object that is here all the same, such as a session's one file, is written a second time,
    /// which harms nobody, and goes when packs merge.
    pub fn put_new(
        &mut self,
        commit: &[u8],
        files: &TreeFiles,
        tips: &[Oid],
    ) -> Result<Oid, LedgerError> {
        let parents = self.check(commit, files, tips)?;
        let tree = tree_bytes(files);
        let blobs = files.values().map(|bytes| (Kind::Blob, bytes.as_slice()));
        for (kind, data) in blobs.chain([(Kind::Tree, tree.as_slice()), (Kind::Commit, commit)]) {
            self.batch.add(id_of(kind, data), kind, data.to_vec());
        }
        let id = Oid::from_gix(&id_of(Kind::Commit, commit));
        self.parents_of.insert(id, parents);
        Ok(id)
    }

    /// Refuses a commit whose tree is not that of the files, or whose parents are not here; returns
    /// its parents.
    fn check(
        &self,
        commit: &[u8],
        files: &TreeFiles,
        tips: &[Oid],
    ) -> Result<Vec<Oid>, LedgerError> {
        let id = Oid::from_gix(&id_of(Kind::Commit, commit));
        let parsed =
            CommitRef::from_bytes(commit, OBJECT_FORMAT).map_err(|e| LedgerError::NotACommit {
                reason: format!("{e:#}"),
            })?;
        let tree = tree_bytes(files);
        let (expected, actual) = (
            Oid::from_gix(&parsed.tree()),
            Oid::from_gix(&id_of(Kind::Tree, &tree)),
        );
        if expected != actual {
            return Err(LedgerError::Tree {
                commit: id,
                expected,
                actual,
            });
        }
        let is_tip = |parent: &gix::ObjectId| tips.contains(&Oid::from_gix(parent));
        let here = |parent: &gix::ObjectId| {
            self.batch.holds(parent) || is_tip(parent) || self.repo.has_object(parent)
        };
        if let Some(parent) = parsed.parents().find(|parent| !here(parent)) {
            let path = self.path().to_owned();
            return Err(LedgerError::MissingParent {
                commit: id,
                parent: Oid::from_gix(&parent),
                path,
            });
        }
        Ok(parsed
            .parents()
            .map(|parent| Oid::from_gix(&parent))
            .collect())
    }

    /// How many objects since the last sync were missing or torn, and are written anew.
    pub fn written(&self) -> usize {
        self.batch.len() + self.written.len()
    }

    /// Waits until everything that was written or moved since the last sync is on the disk.
    ///
    /// The only durable point of a ledger. Syncs pack and ref files, and the directories that name
    /// them; after a commit was put again, every pack. After an error nothing is known to be
    /// durable: open the ledger anew, apply again.
    pub fn sync(&mut self) -> Result<(), LedgerError> {
        self.write_objects()?;
        if self.again {
            self.touch_objects()?;
        }
        // Files before the directories that name them: a name must not be durable before its
        // content.
        let moved = self.refs.iter().flat_map(|name| self.files_of_ref(name));
        let all = self.paths.iter().cloned().chain(moved);
        let (directories, files): (BTreeSet<_>, BTreeSet<_>) = all.partition(|path| path.is_dir());
        for path in files.iter().chain(&directories) {
            match sync_path(path) {
                // A stock `git gc` may have moved what is in a pack into another one, which git
                // syncs itself.
                Err(e) if e.kind() == io::ErrorKind::NotFound && is_pack(path) => {
                    self.must_hold_all()?
                }
                other => other.map_err(|e| io_error("sync", path, e))?,
            }
        }
        self.written.clear();
        self.refs.clear();
        self.paths.clear();
        self.again = false;
        Ok(())
    }

    /// Takes an object into the batch unless it is here whole; false when it is.
    pub(super) fn put_object(&mut self, kind: Kind, data: &[u8]) -> Result<bool, LedgerError> {
        self.searches = true;
        self.look_again();
        let id = id_of(kind, data);
        if self.batch.holds(&id) {
            return Ok(true);
        }
        let whole = self.is_whole(&id, kind, data)?;
        if !whole {
            self.batch.add(id, kind, data.to_vec());
        }
        Ok(!whole)
    }

    /// Whether an object is here with exactly these contents, in a pack or in a loose file as git
    /// makes it.
    ///
    /// A torn loose file is removed: the batch brings the object anew.
    fn is_whole(&self, id: &gix::ObjectId, kind: Kind, data: &[u8]) -> Result<bool, LedgerError> {
        let mut buffer = Vec::new();
        match self.known.try_find(id, &mut buffer) {
            Ok(None) => return Ok(false),
            Ok(Some(found)) if found.kind == kind && found.data == data => return Ok(true),
            _ => {}
        }
        let hex = id.to_hex().to_string();
        let (folder, name) = hex.split_at(2);
        let loose = self.objects_dir().join(folder).join(name);
        match fs::remove_file(&loose) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(io_error("remove", &loose, e)),
            _ => Ok(false),
        }
    }

    fn must_hold_all(&self) -> Result<(), LedgerError> {
        // Opened anew: this handle may still have mapped what is gone.
        let now = Self::open(self.path())?;
        match self.written.iter().find(|id| !now.repo.has_object(id)) {
            Some(id) => Err(LedgerError::Vanished {
                id: Oid::from_gix(id),
                path: self.path().to_owned(),
            }),
            None => Ok(()),
        }
    }

    /// Everything under `objects` is to be synced.
    fn touch_objects(&mut self) -> Result<(), LedgerError> {
        let objects = self.objects_dir();
        self.touch_all(&objects)
    }

    /// Looks at the folders again, for what was written since.
    pub(super) fn look_again(&mut self) {
        if let Some(written) = self.unseen.take() {
            // Asked for what it does not know, this handle reads the folders.
            let _ = self.repo.has_object(written);
            self.known = unrefreshed(&self.repo);
        }
    }

    /// The directory that holds objects and packs.
    pub(super) fn objects_dir(&self) -> PathBuf {
        self.repo.objects.store_ref().path().to_owned()
    }

    /// The sample hooks that git's template brings are of no use in a ledger, and would all be
    /// synced.
    fn drop_samples(&self) -> Result<(), LedgerError> {
        let hooks = self.path().join("hooks");
        for entry in fs::read_dir(&hooks).map_err(|e| io_error("read", &hooks, e))? {
            let path = entry.map_err(|e| io_error("read", &hooks, e))?.path();
            fs::remove_file(&path).map_err(|e| io_error("remove", &path, e))?;
        }
        Ok(())
    }

    fn touch_all(&mut self, path: &Path) -> Result<(), LedgerError> {
        self.paths.insert(path.to_owned());
        if path.is_dir() {
            for entry in fs::read_dir(path).map_err(|e| io_error("read", path, e))? {
                self.touch_all(&entry.map_err(|e| io_error("read", path, e))?.path())?;
            }
        }
        Ok(())
    }
}

/// A handle that takes what is not in the files it has seen for missing.
///
/// An object that another program moves meanwhile is then written a second time, which harms
/// nobody.
pub(super) fn unrefreshed(repo: &gix::Repository) -> gix::OdbHandle {
    let mut objects = repo.objects.clone();
    objects.refresh_never();
    objects
}

fn is_pack(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "pack" || e == "idx")
}

/// Syncs a file, or on systems that can, a directory.
fn sync_path(path: &Path) -> io::Result<()> {
    if cfg!(not(unix)) && path.is_dir() {
        return Ok(());
    }
    File::open(path)?.sync_all()
}

pub(super) fn io_error(doing: &'static str, path: &Path, source: io::Error) -> LedgerError {
    LedgerError::Io {
        doing,
        path: path.to_owned(),
        source,
    }
}

/// The library's words on one line; a full disk is called one.
fn plain(words: &str) -> String {
    match words.contains("StorageFull") {
        true => "there is no space left on this disk".to_owned(),
        false => words.split_whitespace().collect::<Vec<_>>().join(" "),
    }
}

pub(super) fn git(doing: &'static str, path: &Path, error: &dyn std::fmt::Display) -> LedgerError {
    LedgerError::Git {
        doing,
        path: path.to_owned(),
        reason: plain(&format!("{error:#}")),
    }
}
