//! The folder of a repository, looked over before anything in it is opened (format, section 2).
//!
//! git's library opens what a name names, whatever that is: a pipe would be waited on for ever, a
//! symlink followed to a file of the reader's. So each file of the object store is asked first what
//! it is; the names of kinds come with the listing of a folder, and no file is touched for them.

use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use super::Oid;
use crate::os;
use crate::record::limits;

/// No list of lenders is longer.
const ALTERNATES: u64 = 64 << 10;

/// The repository's own folder: here, or in `.git`.
pub(super) fn find(path: &Path) -> Result<PathBuf, String> {
    if path.symlink_metadata().is_err() {
        return Err("there is nothing at this path".to_owned());
    }
    let there = |dir: &PathBuf| {
        ["objects", "refs", "HEAD"]
            .iter()
            .all(|part| dir.join(part).symlink_metadata().is_ok())
    };
    [path.to_owned(), path.join(".git")].into_iter().find(there).ok_or_else(|| {
        "there are no folders 'objects' and 'refs' beside a HEAD, here or in .git (of a linked worktree or a \
         submodule, give the repository's own folder)"
            .to_owned()
    })
}

/// The folders of objects, the lenders' behind the own; an error names what is not as git makes it.
pub(super) fn objects_of(dir: &Path) -> Result<Vec<PathBuf>, String> {
    for part in ["objects", "refs"] {
        let found = dir
            .join(part)
            .symlink_metadata()
            .map_err(|e| format!("{part}: {e}"))?;
        if !found.is_dir() {
            return Err(format!(
                "{part} is {}, not a folder: it is not followed",
                os::kind_of(found.file_type())
            ));
        }
    }
    head_of(dir)?;
    if is_there(&dir.join("shallow")) {
        return Err("it is a shallow clone, which holds the end of a history only: `git fetch --unshallow` there, or \
                    `git clone --mirror` without --depth; in a home of gently's, `gently audit rebuild`"
            .to_owned());
    }
    if is_there(&dir.join("info/grafts")) {
        return Err("it has grafts (info/grafts), which give commits other parents than they have: remove that file, \
                    or `git clone --mirror` it; in a home of gently's, `gently audit rebuild`"
            .to_owned());
    }
    let mut all = Vec::new();
    lenders(&dir.join("objects"), 0, &mut all)?;
    Ok(all)
}

/// A file that is there and holds something, or is no file.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|found| !found.is_file() || found.len() > 0)
}

/// Takes in a folder of objects, and those that it borrows from.
fn lenders(objects: &Path, depth: usize, all: &mut Vec<PathBuf>) -> Result<(), String> {
    if all.iter().any(|known| known == objects) {
        return Ok(());
    }
    if depth > limits::BORROWED {
        return Err(format!(
            "objects are borrowed over more than {} repositories",
            limits::BORROWED
        ));
    }
    look_over(objects)?;
    all.push(objects.to_owned());
    let list = objects.join("info/alternates");
    let text = match os::read_regular(&list, ALTERNATES) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        text => text.map_err(|e| format!("{}: {e}", list.display()))?,
    };
    for line in String::from_utf8_lossy(&text)
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        lenders(&objects.join(line), depth + 1, all)?;
    }
    Ok(())
}

/// Asks everything in a folder of objects what it is.
fn look_over(objects: &Path) -> Result<(), String> {
    for entry in listing(objects)? {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if !kind.is_dir() {
            only_file(&path, kind)?;
            continue;
        }
        for inner in listing(&path)? {
            // Folders in there are none of git's, and nobody opens them.
            if let Ok(kind) = inner.file_type()
                && !kind.is_dir()
            {
                only_file(&inner.path(), kind)?;
            }
        }
    }
    Ok(())
}

/// Asks what a writer opens, beside the objects, what it is, and whether there is a `HEAD` that stock
/// git reads.
pub(super) fn writable(dir: &Path) -> Result<(), String> {
    head_of(dir)?;
    for part in ["config", "packed-refs"] {
        let path = dir.join(part);
        match path.symlink_metadata() {
            Ok(found) => only_own_file(dir, &path, found.file_type())?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(format!("{part}: {e}")),
        }
    }
    only_files_below(dir, &dir.join("refs"))?;
    only_files_below(dir, &dir.join("objects/pack"))
}

fn only_files_below(dir: &Path, folder: &Path) -> Result<(), String> {
    for entry in listing(folder)? {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => only_files_below(dir, &entry.path())?,
            Ok(kind) => only_own_file(dir, &entry.path(), kind)?,
            Err(_) => {}
        }
    }
    Ok(())
}

/// What is no file in a ledger that is written to is put away first.
fn only_own_file(dir: &Path, path: &Path, kind: fs::FileType) -> Result<(), String> {
    only_file(path, kind).map_err(|why| format!("{why}. {}", put_away(dir, path)))
}

/// What helps where something in a home's ledger is no file. It goes beside the ledger: within it, git
/// would find it under its new name, and among `refs` take it for a ref.
pub fn put_away(dir: &Path, part: &Path) -> String {
    let name = part.file_name().unwrap_or_default().to_string_lossy();
    let names = (1u32..).map(|n| match n {
        1 => format!("{name}.aside"),
        _ => format!("{name}.aside-{n}"),
    });
    let mut places = names.map(|name| dir.with_file_name(name));
    let free = places.find(|place| place.symlink_metadata().is_err());
    let aside = free.unwrap_or_else(|| dir.with_file_name("aside"));
    format!(
        "Put it away: `mv {} {}`; then `gently audit rebuild` writes anew what the database holds",
        os::shell_word(part),
        os::shell_word(&aside)
    )
}

/// Whether there is a file `HEAD`, of a branch or a commit: without one, stock git finds no repository.
pub fn head_of(dir: &Path) -> Result<(), String> {
    let again = "in a home of gently's, `gently audit rebuild` makes it again";
    let text = os::read_regular_text(&dir.join("HEAD"), limits::REF_FILE);
    let text = text.map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => format!("there is no file HEAD; {again}"),
        _ => format!("HEAD is {e}; {again}"),
    })?;
    let text = text.trim_end();
    if text.starts_with("ref: refs/") || text.parse::<Oid>().is_ok() {
        return Ok(());
    }
    Err(format!(
        "HEAD names neither a branch nor a commit, so that git finds no repository here; {again}"
    ))
}

/// What is in a folder; nothing when it went away, as a writer's temporary ones do.
fn listing(path: &Path) -> Result<Vec<DirEntry>, String> {
    match fs::read_dir(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(format!("{}: {e}", path.display())),
        Ok(entries) => Ok(entries.flatten().collect()),
    }
}

fn only_file(path: &Path, kind: fs::FileType) -> Result<(), String> {
    if kind.is_file() {
        return Ok(());
    }
    Err(format!(
        "{} is {}, not a regular file: it is not followed",
        path.display(),
        os::kind_of(kind)
    ))
}

/// How many bytes of objects are on the disk; holes in files are none.
pub(super) fn bytes_of(objects: &[PathBuf]) -> u64 {
    let mut sum = 0u64;
    for folder in objects {
        for entry in listing(folder).unwrap_or_default() {
            for inner in listing(&entry.path()).unwrap_or_default() {
                sum = sum.saturating_add(inner.metadata().map_or(0, |found| on_disk(&found)));
            }
        }
    }
    sum
}

#[cfg(unix)]
fn on_disk(found: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    found.len().min(found.blocks().saturating_mul(512))
}

#[cfg(not(unix))]
fn on_disk(found: &fs::Metadata) -> u64 {
    found.len()
}
