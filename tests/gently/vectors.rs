//! The known answers in `tests/vectors` are byte for byte those of the folder they were copied
//! from.
//!
//! The originals lie beside the checkout as `shared/vectors` and `shared/vectors-2` (or in
//! `$GENTLY_SHARED`). Where they are not there, the test says what it skipped: the copies are then
//! held only by the tests that use them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Vectors that this project adds, for its *Format questions*.
const OURS: &str = "ours";

fn copies() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

/// Of the second edition, in a folder of its own: the ledgers.
const LEDGERS: &str = "ledgers";

fn shared() -> PathBuf {
    match std::env::var_os("GENTLY_SHARED") {
        Some(shared) => PathBuf::from(shared),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"),
    }
}

/// The original of every copied file: ledgers of the second edition, the rest of the first.
fn originals(shared: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = tree(&shared.join("vectors"));
    files.retain(|name, _| !name.starts_with(LEDGERS));
    let ledgers = tree(&shared.join("vectors-2").join(LEDGERS));
    files.extend(
        ledgers
            .into_iter()
            .map(|(name, bytes)| (Path::new(LEDGERS).join(name), bytes)),
    );
    files
}

/// Every file below `root`: path relative to it, and content.
fn tree(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().to_path_buf();
                files.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// What differs between the copy and the original, one line a file.
fn differences(
    copy: &BTreeMap<PathBuf, Vec<u8>>,
    original: &BTreeMap<PathBuf, Vec<u8>>,
) -> Vec<String> {
    let mut found = Vec::new();
    for (name, bytes) in copy {
        match original.get(name) {
            None => found.push(format!("{}: not in the original", name.display())),
            Some(other) if other != bytes => {
                let at = bytes.iter().zip(other).take_while(|(a, b)| a == b).count();
                found.push(format!("{}: differs at byte {at}", name.display()));
            }
            Some(_) => {}
        }
    }
    for name in original.keys().filter(|name| !copy.contains_key(*name)) {
        found.push(format!("{}: not copied", name.display()));
    }
    found
}

#[test]
fn copies_are_the_originals() {
    let shared = shared();
    if !shared.join("vectors").is_dir() || !shared.join("vectors-2").is_dir() {
        eprintln!(
            "skipped: no vectors in {} to compare tests/vectors with",
            shared.display()
        );
        return;
    }
    let theirs = originals(&shared);
    for part in [LEDGERS, "dbl", "ciris"] {
        assert!(
            theirs.keys().any(|name| name.starts_with(part)),
            "{}: no {part}",
            shared.display()
        );
    }
    let mut copies = tree(&copies());
    copies.retain(|name, _| !name.starts_with(OURS));
    let found = differences(&copies, &theirs);
    assert!(
        found.is_empty(),
        "tests/vectors and {} differ:\n{}",
        shared.display(),
        found.join("\n")
    );
}

#[test]
fn a_changed_a_missing_and_an_added_file_are_named() {
    let original = tree(&copies());
    let mut copy = original.clone();
    copy.get_mut(Path::new("chain.json"))
        .expect("the chain vectors")[7] ^= 1;
    copy.remove(Path::new("jcs.json"))
        .expect("the JSON vectors");
    copy.insert(PathBuf::from("made_up.json"), Vec::new());
    assert_eq!(
        differences(&copy, &original),
        [
            "chain.json: differs at byte 7",
            "made_up.json: not in the original",
            "jcs.json: not copied"
        ]
    );
}
