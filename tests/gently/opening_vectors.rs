//! The opening files of the honest sample ledger, as its page's table has them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use gently::record::ledger::commitment::{Role, Scheme, TextOpening};
use gently::record::ledger::opening::{Document, EntryExtra, OpeningFile};
use gently::record::signature::PublicKey;
use gently::verify::{OpeningQuestion, Trust, check_opening};
use serde_json::Value;

use crate::opening::both;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/ledgers/honest")
}

/// The files by their names, and the ledger's keys, the newest last.
pub fn vectors() -> (Vec<(String, OpeningFile)>, Vec<PublicKey>) {
    let mut files: Vec<(String, OpeningFile)> = std::fs::read_dir(folder().join("openings"))
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let file = OpeningFile::parse(&std::fs::read(&path).unwrap()).unwrap();
            (path.file_name().unwrap().to_str().unwrap().to_owned(), file)
        })
        .collect();
    files.sort_by(|(a, _), (b, _)| a.cmp(b));
    let expected: Value =
        serde_json::from_slice(&std::fs::read(folder().join("expected.json")).unwrap()).unwrap();
    let signers = expected["signers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| key.as_str().unwrap().parse().unwrap());
    (files, signers.collect())
}

/// Every file prints as it is, and has the answers of the table, from both verifiers.
#[test]
fn the_opening_files_of_the_honest_ledger_hold() {
    let (files, signers) = vectors();
    let names: BTreeSet<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    let table = [
        ("artifact_of_session.json", "yes"),
        ("artifact_outside.json", "not checked"),
        ("failed_turn.json", "yes"),
        ("local_start.json", "not checked"),
        ("one_response.json", "yes"),
        ("prompt_unanswered.json", "yes"),
        ("under_the_second_key.json", "yes"),
        ("whole_turns.json", "yes"),
    ];
    assert_eq!(names, table.iter().map(|(name, _)| *name).collect());
    for ((name, file), (_, not_before)) in files.iter().zip(table) {
        let path = folder().join("openings").join(name);
        assert_eq!(
            file.print().unwrap().as_bytes(),
            std::fs::read(&path).unwrap(),
            "{name}"
        );
        let own = if name == "prompt_unanswered.json" {
            &signers[..1]
        } else {
            &signers[..]
        };
        let report = check_opening(
            file,
            Trust {
                pinned: Some(own),
                ..Trust::default()
            },
        );
        assert!(
            report.findings.is_empty() && report.opens(),
            "{name}: {report:#?}"
        );
        let answer = |about| report.to(about).answer.word();
        assert_eq!(
            (
                answer(OpeningQuestion::SignedBy),
                answer(OpeningQuestion::NotBefore),
                answer(OpeningQuestion::NotAfter)
            ),
            ("yes", not_before, "not checked"),
            "{name}: {report:#?}"
        );
        let keys: Vec<String> = own
            .iter()
            .flat_map(|key| ["--signer".to_owned(), key.to_string()])
            .collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let (code, facts) = both(&path, &keys);
        assert_eq!(
            (code, &facts["answers"]["signed_by"]),
            (0, &Value::from("yes")),
            "{name}: {facts}"
        );
    }
}

/// The key that was retired since is not the ledger's word any more.
#[test]
fn what_the_first_key_signed_is_not_checked_by_whoever_knows_the_second() {
    let (files, signers) = vectors();
    let (_, file) = files
        .iter()
        .find(|(name, _)| name == "prompt_unanswered.json")
        .unwrap();
    let report = check_opening(
        file,
        Trust {
            pinned: Some(&signers),
            ..Trust::default()
        },
    );
    assert_eq!(
        (
            report.opens(),
            report.to(OpeningQuestion::SignedBy).answer.word()
        ),
        (true, "not checked")
    );
    for (name, file) in files
        .iter()
        .filter(|(name, _)| name != "prompt_unanswered.json")
    {
        let mut without = file.clone();
        let rotation = without
            .lines
            .iter_mut()
            .find(|entry| matches!(entry.more, EntryExtra::Rotation { .. }))
            .unwrap();
        rotation.more = EntryExtra::Nothing;
        let report = check_opening(
            &without,
            Trust {
                pinned: Some(&signers),
                ..Trust::default()
            },
        );
        assert_eq!(
            report.to(OpeningQuestion::TreeHead).answer.word(),
            "no",
            "{name}"
        );
        assert_eq!(
            report.to(OpeningQuestion::SignedBy).answer.word(),
            "no",
            "{name}"
        );
        assert_eq!(
            report.to(OpeningQuestion::Consistent).answer.word(),
            "yes",
            "{name}"
        );
    }
}

/// `openings.json` opens each commitment of the ledger, and every opening of a file is one of them.
#[test]
fn every_bare_opening_holds_under_the_ledgers_scheme() {
    let bytes = std::fs::read(folder().join("openings.json")).unwrap();
    let bare: Vec<TextOpening> = serde_json::from_slice(&bytes).unwrap();
    assert!(bare.len() > 20);
    assert!(
        bare.iter()
            .all(|opening| opening.holds(Scheme::HmacSha256) && !opening.holds(Scheme::Sha256))
    );
    let (files, _) = vectors();
    for (name, file) in &files {
        assert!(
            file.openings.iter().all(|opening| bare.contains(opening)),
            "{name}"
        );
        let answered = file
            .documents
            .iter()
            .filter(|document| matches!(document, Document::Record(_)))
            .count();
        let seqs: BTreeSet<u64> = file
            .openings
            .iter()
            .filter(|opening| opening.role == Role::Response)
            .filter_map(|opening| opening.seq)
            .collect();
        assert_eq!(answered, seqs.len(), "{name}");
    }
}
