//! Files that only their owner may read: modes checked before anything is read, never overwritten.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::path::Path;

use zeroize::Zeroizing;

use super::KeyError;
use crate::os::UnnamedFile;

/// The widest mode of a directory of keys.
const DIR_MODE: u32 = 0o700;
/// The widest mode of a private file.
pub(super) const PRIVATE_MODE: u32 = 0o600;
/// The mode of a public file.
pub(super) const PUBLIC_MODE: u32 = 0o644;
/// Permission bits; set-group-id, which a parent directory may hand down, opens nothing.
const PERMISSIONS: u32 = 0o777;
/// More than any key file of ours holds; an unencrypted Ed25519 key has some 400 bytes.
const MAX_BYTES: u64 = 16 * 1024;

/// Makes the directory of keys, mode 0700; its parent must exist and is synced.
pub fn create_dir(dir: &Path) -> Result<(), KeyError> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, DIR_MODE);
    builder
        .create(dir)
        .map_err(|e| exists_or_io("create", dir, e))?;
    sync_dir_of(dir)
}

/// Reads a private file: regular, mode 0600 or less, in a directory of mode 0700 or less.
pub(super) fn read_private(path: &Path) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let dir = parent(path);
    let found = lstat(dir)?;
    check_kind(dir, &found, "a directory", found.is_dir())?;
    check_mode(dir, &found, DIR_MODE)?;
    read(path, Some(PRIVATE_MODE))
}

/// Reads a public file: regular, of any mode.
pub(super) fn read_public(path: &Path) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    read(path, None)
}

/// Writes a file that must not exist yet, and syncs it and its directory. It is whole from the moment it
/// has its name: half a key would be worse than none, as the next attempt would find it in its way.
pub(super) fn write_new(path: &Path, bytes: &[u8], mode: u32) -> Result<(), KeyError> {
    let written = UnnamedFile::write(path, bytes, mode);
    written
        .and_then(|file| file.name(false))
        .map_err(|e| exists_or_io("write", path, e))
}

/// Replaces a file in one step: a new one beside it, synced, then renamed over it.
pub(super) fn replace(path: &Path, bytes: &[u8], mode: u32) -> Result<(), KeyError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let beside = std::path::PathBuf::from(name);
    // Left by a process that died here; nobody else writes under this name.
    let _ = fs::remove_file(&beside);
    write_new(&beside, bytes, mode)?;
    fs::rename(&beside, path).map_err(|e| {
        let _ = fs::remove_file(&beside);
        io_error("replace", path, e)
    })?;
    sync_dir_of(path)
}

/// Reads a small secret of a person's own: a regular file, mode 0600 or less; its directory is
/// theirs.
pub fn read_secret(path: &Path) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    read(path, Some(PRIVATE_MODE))
}

fn read(path: &Path, widest: Option<u32>) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let named = lstat(path)?;
    check_kind(path, &named, "a regular file", named.is_file())?;
    let file = File::open(path).map_err(|e| io_error("open", path, e))?;
    let opened = file.metadata().map_err(|e| io_error("read", path, e))?;
    if !same_file(&named, &opened) {
        return Err(KeyError::Replaced {
            path: path.to_owned(),
        });
    }
    if let Some(widest) = widest {
        check_mode(path, &opened, widest)?;
    }
    // Reserved at once: growing would leave copies of the secret behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(
        usize::try_from(MAX_BYTES).unwrap_or(0) + 1,
    ));
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| io_error("read", path, e))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(KeyError::Large {
            path: path.to_owned(),
            limit: MAX_BYTES,
        });
    }
    Ok(bytes)
}

fn lstat(path: &Path) -> Result<Metadata, KeyError> {
    fs::symlink_metadata(path).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => KeyError::Missing {
            path: path.to_owned(),
        },
        _ => io_error("look at", path, e),
    })
}

fn check_kind(
    path: &Path,
    found: &Metadata,
    expected: &'static str,
    right: bool,
) -> Result<(), KeyError> {
    if right {
        return Ok(());
    }
    let actual = match found.file_type() {
        kind if kind.is_symlink() => "a symbolic link",
        kind if kind.is_dir() => "a directory",
        kind if kind.is_file() => "a regular file",
        _ => "a pipe, socket or device",
    };
    Err(KeyError::Kind {
        path: path.to_owned(),
        expected,
        actual,
    })
}

#[cfg(unix)]
fn check_mode(path: &Path, found: &Metadata, widest: u32) -> Result<(), KeyError> {
    let actual = std::os::unix::fs::MetadataExt::mode(found) & PERMISSIONS;
    if actual & !widest == 0 {
        return Ok(());
    }
    Err(KeyError::Mode {
        path: path.to_owned(),
        expected: widest,
        actual,
    })
}

#[cfg(not(unix))]
fn check_mode(_: &Path, _: &Metadata, _: u32) -> Result<(), KeyError> {
    Ok(())
}

#[cfg(unix)]
fn same_file(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn same_file(a: &Metadata, b: &Metadata) -> bool {
    a.len() == b.len()
}

pub(super) fn sync_dir_of(path: &Path) -> Result<(), KeyError> {
    let dir = parent(path);
    if cfg!(unix) {
        File::open(dir)
            .and_then(|d| d.sync_all())
            .map_err(|e| io_error("sync", dir, e))?;
    }
    Ok(())
}

/// The directory of a path; that of a bare name is the current one.
fn parent(path: &Path) -> &Path {
    path.parent()
        .filter(|dir| !dir.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

fn exists_or_io(doing: &'static str, path: &Path, error: io::Error) -> KeyError {
    match error.kind() {
        io::ErrorKind::AlreadyExists => KeyError::Exists {
            path: path.to_owned(),
        },
        _ => io_error(doing, path, error),
    }
}

pub(super) fn io_error(doing: &'static str, path: &Path, source: io::Error) -> KeyError {
    KeyError::Io {
        doing,
        path: path.to_owned(),
        source,
    }
}
