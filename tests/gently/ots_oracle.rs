//! Every proof that is at hand, read by us, by the stock OpenTimestamps client, and by otskit: all
//! say the same.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps an error fails, as it should"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use gently::record::ots::{Attestation, Proof};
use serde_json::{Value, json};

use crate::bracket::clients;
use crate::person::run;

/// All files that end so, in a folder and the folders in it.
fn proofs(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            proofs(&path, found);
        } else if path.extension().is_some_and(|end| end == "ots") {
            found.push(path);
        }
    }
}

/// The digest, and each end with its message; null for what is no proof.
fn ours(path: &Path) -> Value {
    let Ok(proof) = Proof::read(&std::fs::read(path).unwrap()) else {
        return Value::Null;
    };
    let mut ends: Vec<[String; 2]> = proof
        .leaves()
        .unwrap()
        .iter()
        .map(|leaf| {
            let end = match leaf.attestation {
                Attestation::Pending { uri } => uri.clone(),
                Attestation::Bitcoin { height }
                | Attestation::Litecoin { height }
                | Attestation::Ethereum { height } => height.to_string(),
                Attestation::Unknown { tag, .. } => hex::encode(tag),
            };
            [end, hex::encode(&leaf.message)]
        })
        .collect();
    ends.sort();
    let digest = std::iter::once(json!(hex::encode(&proof.digest)));
    digest
        .chain(ends.iter().map(|end| json!(end)))
        .collect::<Vec<_>>()
        .into()
}

#[test]
fn others_read_the_same_in_every_proof() {
    let Some(site) = clients() else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shared =
        std::env::var_os("GENTLY_SHARED").map_or_else(|| root.join("../shared"), PathBuf::from);
    let (mut found, examples) = (Vec::new(), shared.join("data/ots"));
    proofs(&root.join("tests/data/ots"), &mut found);
    if examples.is_dir() {
        proofs(&examples, &mut found);
        assert_eq!(found.len(), 2 + 14 + 3 + 2);
    } else {
        eprintln!("skipped: the examples of the stock client, which are not beside the checkout");
    }
    let mut python = Command::new("python3");
    python
        .arg(root.join("tests/gently/ots_oracle.py"))
        .args(&found)
        .env("PYTHONPATH", site);
    let theirs = run(python.env("PYTHONDONTWRITEBYTECODE", "1"))
        .exits(0)
        .json();
    let mut refused = 0;
    for path in &found {
        let read = theirs[path.to_str().unwrap()].as_array().unwrap();
        let ours = ours(path);
        refused += usize::from(ours.is_null());
        for theirs in read {
            // Who refuses says why in words of his own.
            let theirs = if theirs.is_string() {
                &Value::Null
            } else {
                theirs
            };
            assert_eq!(&ours, theirs, "{}: {read:?}", path.display());
        }
    }
    assert_eq!(refused, if examples.is_dir() { 3 } else { 0 });
}
