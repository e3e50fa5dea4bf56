//! Restoring: into a new home only, whole or not at all.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use super::{BackupError, FORMAT, MANIFEST, Manifest, io_error, private_file};
use crate::config;
use crate::home::{CONTEXT, RESTORING};
use crate::keys::{KeyError, sealed};
use crate::os::{Leftover, LeftoverKind, own_name, remove_dead_leftovers, uninterrupted};
use crate::record::canon;
use crate::record::time::Seconds;
use crate::recorder::{CHECKPOINT, Paths, RestoreRecord};
use crate::store::{FoundKey, SealFault, Store, StoreError, remember_key};

/// How the words about a database begin of which nothing but a search index is damaged.
const INDEX_DAMAGED: &str = "with a damaged search index";
/// The largest manifest that is read; ours has some 250 bytes.
const MAX_MANIFEST: u64 = 16 * 1024;

/// What came back.
#[derive(Clone, Debug)]
pub struct RestoredFiles {
    /// Of the backup.
    pub manifest: Manifest,
    /// How many files.
    pub files: u64,
    /// SQLite's own words about the database: `ok` when it is sound.
    pub database: String,
}

impl RestoredFiles {
    /// Whether the database is not what was written; a search index alone is made again.
    pub fn is_damaged(&self) -> bool {
        self.database != "ok" && !self.database.starts_with(INDEX_DAMAGED)
    }
}

/// Gives the key of an encrypted database, before anything is unpacked.
pub type StoreKeyOf<'a> = &'a dyn Fn() -> Result<FoundKey, StoreError>;

/// Restores a backup as the home `root`, which must be absent or an empty directory.
///
/// Everything is unpacked beside it, read to the authenticated end, checked against the manifest,
/// synced, marked as restored, and only then given its name. After an error nothing is at `root`. What a
/// killed process had unpacked there is removed first.
pub fn restore(
    file: &Path,
    root: &Path,
    passphrase: &str,
    now: Seconds,
    key: StoreKeyOf<'_>,
) -> Result<RestoredFiles, BackupError> {
    let free = match fs::read_dir(root) {
        Ok(mut entries) => entries.next().is_none(),
        Err(e) => e.kind() == io::ErrorKind::NotFound,
    };
    if !free {
        return Err(BackupError::HomeThere {
            path: root.to_owned(),
        });
    }
    let opened = File::open(file).map_err(io_error("open", file))?;
    let place = file.display().to_string();
    let stream = sealed::opening(io::BufReader::new(opened), passphrase, &place)?;
    if let Some(parent) = root.parent() {
        fs::create_dir_all(parent).map_err(io_error("make", parent))?;
    }
    remove_dead_leftovers(root, RESTORING, LeftoverKind::Folder);
    let folder = own_name(root, RESTORING);
    private_dir(&folder)?;
    let folder = Leftover::folder(folder);
    // So that others know that it is in use; where the system has no locks, they leave it alone.
    let lock = File::open(folder.path());
    let _ = lock.as_ref().map(|lock| lock.try_lock());
    let (manifest, files) = unpack(stream, (folder.path(), root), &place, key)?;
    let database = check(folder.path(), &manifest, &place)?;
    let restored = RestoreRecord {
        restored_at: now,
        made_at: manifest.made_at,
        lines: manifest.lines,
        head: manifest.head,
    };
    restored
        .mark(folder.path())
        .map_err(io_error("mark as restored", folder.path()))?;
    File::open(folder.path())
        .and_then(|dir| dir.sync_all())
        .map_err(io_error("sync", folder.path()))?;
    // Whoever removes the folder must not meet it under its name.
    let renamed = uninterrupted(|| fs::rename(folder.path(), root));
    renamed.map_err(io_error("rename the restored home to", root))?;
    if let Some(parent) = root.parent() {
        File::open(parent)
            .and_then(|dir| dir.sync_all())
            .map_err(io_error("sync", parent))?;
    }
    Ok(RestoredFiles {
        manifest,
        files,
        database,
    })
}

/// Unpacks everything and reads on to the end of the encryption, which alone shows that nothing was
/// cut.
fn unpack(
    stream: impl Read,
    (folder, root): (&Path, &Path),
    place: &str,
    key: StoreKeyOf<'_>,
) -> Result<(Manifest, u64), BackupError> {
    let broken = |e: io::Error| {
        BackupError::Key(KeyError::Sealed {
            place: place.to_owned(),
            reason: e.to_string(),
        })
    };
    let foreign = |what: String| BackupError::Foreign {
        place: place.to_owned(),
        what,
    };
    let mut archive = tar::Archive::new(stream);
    let (mut manifest, mut files) = (None, 0);
    for entry in archive.entries().map_err(broken)? {
        let mut entry = entry.map_err(broken)?;
        let path = entry.path().map_err(broken)?.into_owned();
        if !entry.header().entry_type().is_file() {
            return Err(foreign(format!(
                "'{}', which is not a file",
                path.display()
            )));
        }
        if manifest.is_none() {
            if path != Path::new(MANIFEST) {
                return Err(foreign(format!(
                    "'{}' where {MANIFEST} belongs",
                    path.display()
                )));
            }
            let read = read_manifest(&mut entry).map_err(foreign)?;
            if read.encrypted {
                let found = key()?;
                // Here now, and there when it has its name.
                for home in [folder, root] {
                    remember_key(&home.join("gently.db"), Some(found.clone()));
                }
            }
            manifest = Some(read);
            continue;
        }
        let inside = inside(&path).ok_or_else(|| foreign(format!("'{}'", path.display())))?;
        let mode = entry.header().mode().map_err(broken)? & 0o777;
        write(&mut entry, folder, &inside, mode).map_err(|e| match e {
            RestoreFault::Read(e) => broken(e),
            RestoreFault::Write(e) => e,
        })?;
        files += 1;
    }
    io::copy(&mut archive.into_inner(), &mut io::sink()).map_err(broken)?;
    let manifest = manifest.ok_or_else(|| foreign("nothing".to_owned()))?;
    Ok((manifest, files))
}

fn read_manifest(entry: &mut impl Read) -> Result<Manifest, String> {
    let mut text = Vec::new();
    entry
        .take(MAX_MANIFEST)
        .read_to_end(&mut text)
        .map_err(|e| e.to_string())?;
    let manifest: Manifest =
        canon::parse(&text).map_err(|e| format!("a {MANIFEST} that can't be read ({e})"))?;
    if manifest.format == FORMAT {
        return Ok(manifest);
    }
    Err(format!(
        "a backup of format '{}', not '{FORMAT}'",
        manifest.format
    ))
}

/// A path that belongs into a home, made of plain names only.
fn inside(path: &Path) -> Option<PathBuf> {
    let mut names = path.components();
    let first = match names.next()? {
        Component::Normal(name) => name.to_str()?,
        _ => return None,
    };
    let rest: Vec<Component<'_>> = names.collect();
    let plain = rest.iter().all(|part| matches!(part, Component::Normal(_)));
    let fits = match first {
        "keys" | "ledger.git" => !rest.is_empty(),
        "audit.log" | CHECKPOINT | "gently.db" => rest.is_empty(),
        other => [config::FILE, CONTEXT].contains(&other) && rest.is_empty(),
    };
    (plain && fits).then(|| path.to_owned())
}

enum RestoreFault {
    Read(io::Error),
    Write(BackupError),
}

fn write(
    entry: &mut impl Read,
    folder: &Path,
    inside: &Path,
    mode: u32,
) -> Result<(), RestoreFault> {
    let path = folder.join(inside);
    let parent = path.parent().unwrap_or(folder);
    private_dirs(parent, folder).map_err(RestoreFault::Write)?;
    let mut file = private_file(&path).map_err(RestoreFault::Write)?;
    let failed = |e: io::Error| RestoreFault::Write(io_error("write", &path)(e));
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = entry.read(&mut buffer).map_err(RestoreFault::Read)?;
        let Some(chunk) = buffer.get(..count).filter(|chunk| !chunk.is_empty()) else {
            break;
        };
        io::Write::write_all(&mut file, chunk).map_err(failed)?;
    }
    file.sync_all().map_err(failed)?;
    set_mode(&path, mode).map_err(failed)
}

/// Makes the folders from `folder` down to `dir`, each readable by its owner only.
fn private_dirs(dir: &Path, folder: &Path) -> Result<(), BackupError> {
    if dir == folder || dir.is_dir() {
        return Ok(());
    }
    private_dirs(dir.parent().unwrap_or(folder), folder)?;
    private_dir(dir)
}

fn private_dir(dir: &Path) -> Result<(), BackupError> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).map_err(io_error("make", dir))
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
}

/// Holds what was unpacked against the manifest; what an empty folder of git's needs is made.
fn check(folder: &Path, manifest: &Manifest, place: &str) -> Result<String, BackupError> {
    let paths = Paths {
        root: folder.to_owned(),
    };
    let foreign = |what: String| BackupError::Foreign {
        place: place.to_owned(),
        what,
    };
    for (part, path) in [
        ("gently.db", paths.database()),
        ("audit.log", paths.log()),
        ("keys", folder.join("keys")),
    ] {
        if !path.exists() {
            return Err(foreign(format!("no {part}")));
        }
    }
    for part in ["refs/heads", "objects/pack", "objects/info"] {
        private_dirs(&paths.ledger().join(part), folder)?;
    }
    let store = Store::open(&paths.database()).map_err(|fault| match fault {
        // Where it was unpacked to is gone when this is read.
        StoreError::Sealed {
            why: SealFault::WrongKey { from },
            ..
        } => SealFault::NotOfBackup { from }.at(Path::new(place)),
        fault => fault,
    })?;
    let head = store.head()?;
    if (head.lines, head.hash) != (manifest.lines, manifest.head) {
        return Err(foreign(format!(
            "a database of {} lines, its {MANIFEST} says {}",
            head.lines, manifest.lines
        )));
    }
    match store.integrity() {
        // What can be read of it is better than nothing.
        Err(StoreError::Damaged { reason, .. }) => {
            Ok(format!("with damaged pages (SQLite: {reason})"))
        }
        // A search index is made again; that is no reason to be without the backup.
        Err(StoreError::Altered { reason, .. }) => Ok(format!(
            "{INDEX_DAMAGED}, which gently audit rebuild makes again (SQLite: {reason})"
        )),
        words => Ok(words?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_parts_of_a_home_are_unpacked() {
        for fine in [
            "gently.toml",
            "audit.log",
            "audit.checkpoint",
            "gently.db",
            "keys/auth.key",
            "ledger.git/refs/heads/main",
        ] {
            assert!(inside(Path::new(fine)).is_some(), "{fine}");
        }
        for wrong in [
            "",
            "/etc/passwd",
            "../x",
            "keys/../../x",
            "keys",
            "gently.db/x",
            "writer.lock",
            "x",
            "restored.toml",
        ] {
            assert!(inside(Path::new(wrong)).is_none(), "{wrong}");
        }
    }
}
