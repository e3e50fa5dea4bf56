//! The refs of a repository as they are spelled in its files: git's library reads past what follows
//! an id, takes upper case for lower, follows links, and hides some; we do not.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use crate::os;
use crate::record::limits;

use super::Oid;

/// Folders in folders of refs; names of refs are shorter.
const DEPTH: usize = 64;
/// Characters of a ref's file that a finding shows.
const SHOWN: usize = 120;

/// What a ref points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefTarget {
    /// The id of an object.
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
    pub target: RefTarget,
}

/// All refs under `refs/`, in order of their names; the reason when they can't be listed.
pub(super) fn refs(repository: &Path) -> Result<Vec<Ref>, String> {
    let mut found = BTreeMap::new();
    loose(&repository.join("refs"), "refs", 0, &mut found)?;
    // Behind the loose ones: what `git pack-refs` moves meanwhile is in there before its own file
    // goes.
    let loose: BTreeSet<String> = found.keys().cloned().collect();
    packed(&repository.join("packed-refs"), &loose, &mut found)?;
    Ok(found
        .into_iter()
        .map(|(name, target)| Ref { name, target })
        .collect())
}

fn loose(
    folder: &Path,
    name: &str,
    depth: usize,
    found: &mut BTreeMap<String, RefTarget>,
) -> Result<(), String> {
    let entries = match fs::read_dir(folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(|e| format!("{}: {e}", folder.display()))?,
    };
    for entry in entries {
        let entry = entry.map_err(|e| format!("{}: {e}", folder.display()))?;
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        if name.ends_with(".lock") {
            continue;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth < DEPTH => {
                loose(&entry.path(), &name, depth + 1, found)?
            }
            Ok(kind) if kind.is_file() => match os::read_regular(&entry.path(), limits::REF_FILE) {
                Ok(bytes) => _ = found.insert(name, target_of(&bytes)),
                // It was packed, or deleted, since the folder was listed.
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => _ = found.insert(name, RefTarget::Broken(e.to_string())),
            },
            Ok(kind) => {
                let what = format!(
                    "{}, not a regular file: it is not followed",
                    os::kind_of(kind)
                );
                found.insert(name, RefTarget::Broken(what));
            }
            Err(e) => _ = found.insert(name, RefTarget::Broken(e.to_string())),
        }
        at_most(found)?;
    }
    Ok(())
}

fn packed(
    path: &Path,
    loose: &BTreeSet<String>,
    found: &mut BTreeMap<String, RefTarget>,
) -> Result<(), String> {
    let bytes = match os::read_regular(path, limits::PACKED_REFS) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        bytes => bytes.map_err(|e| format!("packed-refs: {e}"))?,
    };
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let lines = bytes.split(|byte| *byte == b'\n');
    for (number, line) in (1u64..).zip(lines.filter(|_| !bytes.is_empty())) {
        // The header; the object behind a tag, which says nothing of the ref.
        if line.starts_with(b"#") || line.starts_with(b"^") {
            continue;
        }
        let spelled = String::from_utf8_lossy(line);
        let (name, target) = match spelled.split_once(' ') {
            Some((id, name)) if name.starts_with("refs/") => {
                let broken = || {
                    RefTarget::Broken(format!(
                        "another spelling in packed-refs: {}",
                        shown(id.as_bytes())
                    ))
                };
                (
                    name.to_owned(),
                    id.parse().map_or_else(|_| broken(), RefTarget::Direct),
                )
            }
            _ => (
                format!("packed-refs, line {number}"),
                RefTarget::Broken(shown(line)),
            ),
        };
        match found.entry(name) {
            Entry::Vacant(free) => _ = free.insert(target),
            // A loose ref is newer than what was packed of it.
            Entry::Occupied(known) if loose.contains(known.key()) => {}
            // Named twice, it has no spelling that anybody can rely on.
            Entry::Occupied(mut known) => {
                known.insert(RefTarget::Broken("twice in packed-refs".to_owned()));
            }
        }
        at_most(found)?;
    }
    Ok(())
}

fn at_most(found: &BTreeMap<String, RefTarget>) -> Result<(), String> {
    if found.len() > limits::REFS {
        Err(format!("there are more than {}", limits::REFS))
    } else {
        Ok(())
    }
}

/// Exactly what git writes into a ref's file.
fn target_of(bytes: &[u8]) -> RefTarget {
    let text = std::str::from_utf8(bytes)
        .ok()
        .and_then(|text| text.strip_suffix('\n'));
    if let Some(id) = text.and_then(|text| text.parse().ok()) {
        return RefTarget::Direct(id);
    }
    match text.and_then(|text| text.strip_prefix("ref: ")) {
        Some(to) if to.starts_with("refs/") && !to.contains(['\n', '\0']) => {
            RefTarget::Symbolic(to.to_owned())
        }
        _ => RefTarget::Broken(shown(bytes)),
    }
}

fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let start: String = text.chars().take(SHOWN).collect();
    let more = if start.len() < text.len() { "…" } else { "" };
    format!("'{}{more}'", start.escape_debug())
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789012345678901234567890123456789";

    #[test]
    fn a_ref_is_read_as_it_is_spelled() {
        let id: Oid = ID.parse().unwrap();
        assert_eq!(
            target_of(format!("{ID}\n").as_bytes()),
            RefTarget::Direct(id)
        );
        assert_eq!(
            target_of(b"ref: refs/heads/main\n"),
            RefTarget::Symbolic("refs/heads/main".to_owned())
        );
        for wrong in [
            "",
            "\n",
            ID,
            &format!("{ID}\n\n"),
            &format!("{ID} x\n"),
            &format!("a{ID}\n"),
            "ref: x\n",
        ] {
            assert!(
                matches!(target_of(wrong.as_bytes()), RefTarget::Broken(_)),
                "{wrong:?}"
            );
        }
        assert!(matches!(
            target_of(format!("{}\n", "ABCDEF0123".repeat(4)).as_bytes()),
            RefTarget::Broken(_)
        ));
    }

    #[test]
    fn links_pipes_and_other_spellings_are_named_and_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let heads = dir.path().join("refs/heads");
        fs::create_dir_all(&heads).unwrap();
        fs::write(heads.join("main"), format!("{ID}\n")).unwrap();
        fs::write(heads.join("main.lock"), "").unwrap();
        fs::write(heads.join("long"), vec![b'a'; 5000]).unwrap();
        std::os::unix::fs::symlink("main", heads.join("branch-1")).unwrap();
        std::os::unix::fs::symlink(&heads, dir.path().join("refs/notes")).unwrap();
        assert!(
            std::process::Command::new("mkfifo")
                .arg(heads.join("branch-2"))
                .status()
                .unwrap()
                .success()
        );
        let packed = format!(
            "# pack-refs with: peeled\n{ID} refs/heads/branch-3\n^{ID}\n{ID} refs/heads/main\nAB refs/x\nx\n\n\
             {ID} refs/y\n{ID} refs/y\n"
        );
        fs::write(dir.path().join("packed-refs"), packed).unwrap();
        let found: BTreeMap<String, RefTarget> = refs(dir.path())
            .unwrap()
            .into_iter()
            .map(|one| (one.name, one.target))
            .collect();
        let broken = |name: &str, words: &str| match &found[name] {
            RefTarget::Broken(said) => assert!(said.contains(words), "{name}: {said}"),
            other => panic!("{name}: {other:?}"),
        };
        broken("refs/heads/branch-1", "a symlink");
        broken("refs/notes", "a symlink");
        broken("refs/heads/branch-2", "a pipe");
        broken("refs/heads/long", "more than 4096 bytes");
        broken("refs/x", "another spelling in packed-refs: 'AB'");
        broken("packed-refs, line 6", "'x'");
        broken("packed-refs, line 7", "''");
        broken("refs/y", "twice in packed-refs");
        for name in ["refs/heads/main", "refs/heads/branch-3"] {
            assert_eq!(
                found[name],
                RefTarget::Direct(ID.parse().unwrap()),
                "{name}"
            );
        }
        assert_eq!(found.len(), 10);
        fs::remove_file(dir.path().join("packed-refs")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", dir.path().join("packed-refs")).unwrap();
        assert!(
            refs(dir.path())
                .unwrap_err()
                .contains("packed-refs: a symlink")
        );
    }
}
