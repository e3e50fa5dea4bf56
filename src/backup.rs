//! A backup: the whole home, as it was at one moment, in one encrypted file; and the way back.
//!
//! ```text
//! age (scrypt)  ─ tar ─ backup.json      when, how many lines, which head
//!                       gently.toml context.json keys/ audit.log ledger.git/ gently.db
//! ```
//!
//! The writer's lock is held only while a snapshot of the database begins, refs and the length of
//! the log are noted and packs are opened: nobody waits for a backup. The rest is copied
//! afterwards: an open pack can be read to its end when a writer has merged it into another one,
//! loose objects stay, and the log only grows.

mod restore;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::config;
use crate::home::{CONTEXT, Home, HomeError, ScratchUse, make_scratch, remove_leftovers};
use crate::keys::{IMPORT_RUNNING, KeyError, STORE_KEY, WorkFactor, sealed};
use crate::os::{
    Leftover, LeftoverKind, LeftoverName, own_name, remove_dead_leftovers, uninterrupted,
};
use crate::record::canon;
use crate::record::hash::Hash32;
use crate::record::time::Seconds;
use crate::recorder::{CHECKPOINT, RecorderError, WAIT, WriterLock};
use crate::store::{Store, StoreError};

pub use restore::{RestoredFiles, restore};

/// The format of [`Manifest`].
const FORMAT: &str = "gently-backup/1";
/// What a backup is called beside its place until it is whole.
const PARTIAL: LeftoverName = (".", ".partial");
/// Its name in the archive, where it is first.
const MANIFEST: &str = "backup.json";

/// What a backup says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Whether its database is encrypted, by a key that is not in the backup. Not written where it is
    /// plain: earlier builds read those.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub encrypted: bool,
    /// Version of the archive's form: `gently-backup/1`.
    pub format: String,
    /// Head of the log.
    pub head: Hash32,
    /// Lines of the log.
    pub lines: u64,
    /// When it was made.
    pub made_at: Seconds,
    /// The ledger's name.
    pub origin: String,
}

/// Why a backup was not made or not restored.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The file is there.
    #[error("{} exists and is not overwritten: take another name, or say --force", path.display())]
    Exists {
        /// Path of the file that is there already.
        path: PathBuf,
    },
    /// There is a home already.
    #[error("{} is not empty: a backup is restored into a new home only, `GENTLY_HOME=DIR gently restore FILE`", path.display())]
    HomeThere {
        /// Path of the folder that is there already.
        path: PathBuf,
    },
    /// Something in the archive does not belong there.
    #[error("{place} holds {what}: it is no backup that gently wrote; nothing was restored")]
    Foreign {
        /// The archive, or the place in it that holds what is foreign.
        place: String,
        /// What it holds.
        what: String,
    },
    /// The home changed while it was copied, in a way that gently does not do.
    #[error("{} changed or went away while it was copied (does something repack ledger.git?): run it again", path.display())]
    Moved {
        /// Path of the file that changed while it was read.
        path: PathBuf,
    },
    /// The system refused.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// File or folder that could not be read or written.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// The passphrase, or the encryption.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The home could not be opened.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The recorder's lock could not be taken.
    #[error(transparent)]
    Recorder(#[from] RecorderError),
    /// The database could not be copied.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn io_error(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> BackupError {
    move |source| BackupError::Io {
        doing,
        path: path.to_owned(),
        source,
    }
}

/// How a backup is made.
#[derive(Clone, Copy, Debug)]
pub struct BackupOptions<'a> {
    /// What opens it.
    pub passphrase: &'a str,
    /// How hard that is to try.
    pub work: WorkFactor,
    /// Whether a file of that name is replaced.
    pub force: bool,
    /// Time that the manifest names as the backup's.
    pub now: Seconds,
}

/// What was noted at the moment of the backup.
struct BackupState {
    manifest: Manifest,
    store: Store,
    log_len: u64,
    /// Refs and settings of `ledger.git`, and the tree head beside the log, which do change, by
    /// their path in the archive.
    small: Vec<(String, Vec<u8>)>,
    /// Packs, open, since a writer may merge and remove them; there are a dozen or two.
    packs: Vec<(PathBuf, File)>,
}

/// Writes a backup of a home that may be in use.
///
/// Atomic: a file beside `to`, mode 0600, renamed when it is whole and synced. Durable on return. What a
/// killed process left there is removed first.
pub fn backup(home: &Home, to: &Path, terms: &BackupOptions<'_>) -> Result<Manifest, BackupError> {
    if !terms.force && fs::symlink_metadata(to).is_ok() {
        return Err(BackupError::Exists {
            path: to.to_owned(),
        });
    }
    remove_dead_leftovers(to, PARTIAL, LeftoverKind::File);
    let partial = own_name(to, PARTIAL);
    let file = private_file(&partial)?;
    let partial = Leftover::file(partial);
    // So that others know that it is in use; where the system has no locks, they leave it alone.
    let _ = file.try_lock();
    let moment = BackupState::take(home, terms.now)?;
    // Where it was killed, its number may be ours.
    remove_leftovers(home.root());
    let (folder, _lock) = make_scratch(home.root(), ScratchUse::Backup)
        .map_err(io_error("make a folder for the copy in", home.root()))?;
    let folder = Leftover::folder(folder);
    let copy = folder.path().join("gently.db");
    moment.store.copy_to(&copy)?;
    moment.store.end_read()?;
    let sealed = sealed::sealing(io::BufWriter::new(file), terms.passphrase, terms.work)?;
    let failed = io_error("write", partial.path());
    let mut archive = tar::Builder::new(sealed);
    moment.pack(&mut archive, home, &copy)?;
    let file = archive
        .into_inner()
        .and_then(|sealed| sealed.finish())
        .map_err(&failed)?;
    let file = file.into_inner().map_err(|e| failed(e.into_error()))?;
    file.sync_all().map_err(&failed)?;
    uninterrupted(|| place(partial.path(), to, terms.force))?;
    Ok(moment.manifest)
}

/// Gives a finished file its name; without force never over another one.
fn place(partial: &Path, to: &Path, force: bool) -> Result<(), BackupError> {
    if !force && fs::symlink_metadata(to).is_ok() {
        return Err(BackupError::Exists {
            path: to.to_owned(),
        });
    }
    fs::rename(partial, to).map_err(io_error("rename the backup to", to))?;
    let parent = to
        .parent()
        .filter(|dir| !dir.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    File::open(parent)
        .and_then(|dir| dir.sync_all())
        .map_err(io_error("sync", parent))
}

impl BackupState {
    /// Under the writer's lock, for as long as this takes: a few files are read.
    fn take(home: &Home, now: Seconds) -> Result<Self, BackupError> {
        let paths = home.paths();
        let _lock = WriterLock::acquire_within(&paths.lock(), WAIT)?;
        let store = Store::open_read_only(&paths.database())?;
        store.begin_read()?;
        let head = store.head()?;
        let genesis = Home::genesis(&store)?;
        let log_len = fs::metadata(paths.log())
            .map_err(io_error("look at", &paths.log()))?
            .len();
        let (mut small, mut packs) = (Vec::new(), Vec::new());
        match fs::read(paths.checkpoint()) {
            Ok(head) => small.push((CHECKPOINT.to_owned(), head)),
            // The next writer puts it there; until then the log is what it is.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(io_error("read", &paths.checkpoint())(e)),
        }
        let pack_dir = paths.ledger().join("objects").join("pack");
        for path in files_under(&paths.ledger())? {
            let name = archive_name("ledger.git", &paths.ledger(), &path);
            if path.starts_with(&pack_dir) {
                let file = File::open(&path).map_err(io_error("open", &path))?;
                packs.push((path, file));
            } else if !name.starts_with("ledger.git/objects/") {
                small.push((name, fs::read(&path).map_err(io_error("read", &path))?));
            }
        }
        let manifest = Manifest {
            encrypted: store.is_encrypted(),
            format: FORMAT.to_owned(),
            head: head.hash,
            lines: head.lines,
            made_at: now,
            origin: genesis.origin,
        };
        Ok(BackupState {
            manifest,
            store,
            log_len,
            small,
            packs,
        })
    }

    fn pack<W: Write>(
        &self,
        to: &mut tar::Builder<W>,
        home: &Home,
        database: &Path,
    ) -> Result<(), BackupError> {
        let paths = home.paths();
        let manifest = canon::print(&self.manifest).map_err(|e| BackupError::Foreign {
            place: MANIFEST.to_owned(),
            what: e.to_string(),
        })?;
        bytes(to, MANIFEST, manifest.as_bytes(), 0o600)?;
        for name in [config::FILE, CONTEXT] {
            let path = home.root().join(name);
            if path.is_file() {
                whole(to, name, &path)?;
            }
        }
        let keys = home.root().join("keys");
        // Who opens the backup has not the key of the database in it, nor one that was put away. Which import is
        // at work is nothing of the home, and may be over in the middle of this.
        let is_kept = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name == STORE_KEY
                || name.starts_with(&format!("{STORE_KEY}."))
                || name.starts_with(IMPORT_RUNNING)
        };
        for path in files_under(&keys)?
            .into_iter()
            .filter(|path| !is_kept(path))
        {
            whole(to, &archive_name("keys", &keys, &path), &path)?;
        }
        part(to, "audit.log", &paths.log(), self.log_len)?;
        for (name, content) in &self.small {
            bytes(to, name, content, 0o644)?;
        }
        for (path, file) in &self.packs {
            opened(
                to,
                &archive_name("ledger.git", &paths.ledger(), path),
                path,
                file,
                None,
            )?;
        }
        let objects = paths.ledger().join("objects");
        for path in files_under(&objects)? {
            // Packs are done; temporary files are somebody's at this moment, and no ref needs them.
            let temporary = path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("tmp"));
            if !temporary && !path.starts_with(objects.join("pack")) {
                whole(
                    to,
                    &archive_name("ledger.git/objects", &objects, &path),
                    &path,
                )?;
            }
        }
        whole(to, "gently.db", database)?;
        to.finish().map_err(io_error("write", database))
    }
}

fn whole<W: Write>(to: &mut tar::Builder<W>, name: &str, path: &Path) -> Result<(), BackupError> {
    let file = File::open(path).map_err(|e| vanished(e, path))?;
    opened(to, name, path, &file, None)
}

/// Packs the first `len` bytes of a file.
fn part<W: Write>(
    to: &mut tar::Builder<W>,
    name: &str,
    path: &Path,
    len: u64,
) -> Result<(), BackupError> {
    let file = File::open(path).map_err(|e| vanished(e, path))?;
    opened(to, name, path, &file, Some(len))
}

fn opened<W: Write>(
    to: &mut tar::Builder<W>,
    name: &str,
    path: &Path,
    file: &File,
    len: Option<u64>,
) -> Result<(), BackupError> {
    let found = file.metadata().map_err(|e| vanished(e, path))?;
    let len = len.unwrap_or(found.len());
    if found.len() < len {
        return Err(BackupError::Moved {
            path: path.to_owned(),
        });
    }
    let mut header = header(len, mode(&found));
    to.append_data(&mut header, name, file.take(len))
        .map_err(io_error("pack", path))
}

fn bytes<W: Write>(
    to: &mut tar::Builder<W>,
    name: &str,
    content: &[u8],
    mode: u32,
) -> Result<(), BackupError> {
    let mut header = header(u64::try_from(content.len()).unwrap_or(u64::MAX), mode);
    to.append_data(&mut header, name, content)
        .map_err(io_error("pack", Path::new(name)))
}

fn header(len: u64, mode: u32) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_size(len);
    header.set_mode(mode);
    header
}

fn vanished(error: io::Error, path: &Path) -> BackupError {
    match error.kind() {
        io::ErrorKind::NotFound => BackupError::Moved {
            path: path.to_owned(),
        },
        _ => io_error("read", path)(error),
    }
}

/// Every regular file below a folder; links are not followed and not packed.
fn files_under(root: &Path) -> Result<Vec<PathBuf>, BackupError> {
    let (mut found, mut open) = (Vec::new(), vec![root.to_owned()]);
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).map_err(io_error("list", &dir))? {
            let entry = entry.map_err(io_error("list", &dir))?;
            let kind = entry.file_type().map_err(io_error("look at", &dir))?;
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

fn archive_name(prefix: &str, root: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(root).unwrap_or(path);
    format!("{prefix}/{}", inside.display())
}

fn private_file(path: &Path) -> Result<File, BackupError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(io_error("create", path))
}

#[cfg(unix)]
fn mode(found: &fs::Metadata) -> u32 {
    std::os::unix::fs::MetadataExt::mode(found) & 0o777
}

#[cfg(not(unix))]
fn mode(_: &fs::Metadata) -> u32 {
    0o600
}
