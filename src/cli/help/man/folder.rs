//! The folder of manual pages: it holds gently's pages and nothing else, all of one version.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::app::words::with_more;
use crate::os;

use super::Page;
use crate::cli::screen::quiet;

/// The first line of each page, by which a later run knows that it may write over it.
pub const MARK: &str = ".\\\" Written by gently man, which writes over it.\n";
/// What a page that is not whole yet has behind its name.
const UNFINISHED: &str = ".unfinished";
/// So many foreign files are named.
const NAMED: usize = 5;

/// Pages that were begun; those that did not get their own name are removed.
struct NewPages {
    unfinished: Vec<PathBuf>,
    /// The folder, if it was made for them.
    made: Option<PathBuf>,
}

impl Drop for NewPages {
    fn drop(&mut self) {
        for path in &self.unfinished {
            let _ = fs::remove_file(path);
        }
        if let Some(folder) = &self.made {
            // It stays where there is anything in it.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Writes the pages into a folder, and removes those of commands that are gone. All are written
/// under other names first, so that a full disk leaves the folder as it was.
///
/// # Errors
/// A sentence for a person.
pub fn fill(folder: &Path, pages: &[Page]) -> Result<Vec<String>, String> {
    let shown = quiet(&folder.display().to_string());
    let said = |e: io::Error| format!("{shown}: {e}; the pages that were there are as they were");
    let is_new = is_new(folder, &shown)?;
    let earlier = if is_new {
        BTreeSet::new()
    } else {
        pages_in(folder, &shown)?
    };
    let mut new = NewPages {
        unfinished: Vec::new(),
        made: is_new.then(|| folder.to_owned()),
    };
    if is_new {
        fs::create_dir(folder).map_err(said)?;
    }
    for page in pages {
        let path = folder.join(format!("{}{UNFINISHED}", page.name));
        new.unfinished.push(path.clone());
        write(&path, &page.bytes).map_err(said)?;
    }
    for page in pages {
        let path = folder.join(format!("{}{UNFINISHED}", page.name));
        fs::rename(&path, folder.join(&page.name)).map_err(|e| {
            format!("{shown}: {e}; some pages are new, and some are not: run it again")
        })?;
    }
    new.unfinished.clear();
    let is_gone = |name: &&String| !pages.iter().any(|page| page.name == **name);
    let gone: Vec<String> = earlier.iter().filter(is_gone).cloned().collect();
    for name in &gone {
        match fs::remove_file(folder.join(name)) {
            // One that was not finished, and is now.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(format!("{shown}: {name}, of a command that is gone: {e}")),
            Ok(()) => {}
        }
    }
    let is_page = |name: &String| !name.ends_with(UNFINISHED);
    Ok(gone.into_iter().filter(is_page).collect())
}

/// Whether the folder has to be made.
fn is_new(folder: &Path, shown: &str) -> Result<bool, String> {
    match fs::symlink_metadata(folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(e) => Err(format!("{shown}: {e}; nothing was written")),
        Ok(found) if found.is_dir() => Ok(false),
        Ok(found) => Err(format!(
            "{shown} is {}, and pages are written into a folder; nothing was written",
            os::kind_of(found.file_type())
        )),
    }
}

/// The names of what is in the folder, if gently wrote all of it.
fn pages_in(folder: &Path, shown: &str) -> Result<BTreeSet<String>, String> {
    let unread = |e: io::Error| format!("{shown}: {e}; nothing was written");
    let (mut own, mut foreign) = (BTreeSet::new(), BTreeSet::new());
    for entry in fs::read_dir(folder).map_err(unread)? {
        let path = entry.map_err(unread)?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if is_own(&path, &name) {
            own.insert(name);
        } else {
            foreign.insert(name);
        }
    }
    if foreign.is_empty() {
        return Ok(own);
    }
    let named: Vec<String> = foreign.iter().take(NAMED).map(|name| quiet(name)).collect();
    let more = with_more(foreign.len().saturating_sub(NAMED));
    Err(format!(
        "{shown} holds what gently did not write: {}{more}; nothing was written. Name a new folder, or an empty one",
        named.join(", ")
    ))
}

/// Whether gently wrote it: a page by its first line, or one that was not finished.
fn is_own(path: &Path, name: &str) -> bool {
    let page = name.strip_suffix(UNFINISHED).unwrap_or(name);
    let is_named = page.starts_with("gently")
        && page.ends_with(".1")
        && page
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b"-.1".contains(&b));
    if !is_named {
        return false;
    }
    let mut start = Vec::new();
    let read = os::open_regular(path)
        .and_then(|file| file.take(MARK.len() as u64).read_to_end(&mut start));
    // A page that was cut off may have less than its first line.
    let is_start =
        start == MARK.as_bytes() || (page != name && MARK.as_bytes().starts_with(&start));
    read.is_ok() && is_start
}

/// Writes a new file; one that an earlier run left half is removed first.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)
}
