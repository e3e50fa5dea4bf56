//! Files that the programs themselves have written, read by us: `llm` 0.36 and the adaptive utility
//! agent 1.2.0, installed by `scripts/peers.sh`; skipped, with a note, where they can't be had.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps an error fails, as it should"
)]

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use gently::import::{
    ImportOptions, SourceAudit, SourceConversation, SourcePiece, read, read_flat_aua,
};
use gently::record::ledger::imported::ImportFormat;
use serde_json::Value;

use crate::person::run;

/// `EX_TEMPFAIL` of `scripts/peers.sh`.
const UNAVAILABLE: i32 = 75;

/// Where the programs are.
fn site() -> Option<&'static Path> {
    static SITE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let install = || {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/peers.sh");
        let ran = run(Command::new("sh").arg(script).arg("sources"));
        match ran.code {
            0 => Some(PathBuf::from(ran.out.trim_end())),
            UNAVAILABLE => {
                eprintln!("skipped: no programs whose files are imported: {}", ran.err);
                None
            }
            _ => panic!("{ran:#?}"),
        }
    };
    SITE.get_or_init(install).as_deref()
}

/// Has a program write into a folder; what it reads itself of that.
fn written(site: &Path, what: &str, folder: &Path) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gently/import_sources.py");
    let mut python = Command::new("python3");
    python.arg(script).arg(what).arg(folder);
    python
        .env("PYTHONPATH", site)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let ran = run(python.env("LLM_USER_PATH", folder));
    assert_eq!(ran.code, 0, "{}", ran.err);
    serde_json::from_str(&ran.out).unwrap()
}

fn pieces_of(format: ImportFormat, path: &Path) -> Vec<SourcePiece> {
    let mut pieces = Vec::new();
    let before = std::fs::read(path).unwrap();
    read(format, path, &ImportOptions::default(), &mut |piece| {
        pieces.push(piece);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(std::fs::read(path).unwrap() == before, "it was changed");
    pieces
}

/// Role and texts of the way that is shown.
fn shown(conversation: &SourceConversation) -> Vec<(String, String)> {
    let mut way = Vec::new();
    let mut next = conversation.current.clone();
    while let Some(id) = next {
        let found = conversation
            .messages
            .iter()
            .find(|message| message.id == id);
        let message = found.unwrap();
        way.push((message.role.name().to_owned(), message.text.clone()));
        next = message.parent.clone();
    }
    way.reverse();
    way
}

#[test]
fn what_llm_has_written_is_read_as_it_reads_it() {
    let Some(site) = site() else { return };
    let folder = tempfile::tempdir().unwrap();
    let theirs = written(site, "llm", folder.path());
    let pieces = pieces_of(ImportFormat::Llm, &folder.path().join("logs.db"));
    assert_eq!(pieces.len(), 3, "{pieces:#?}");
    for piece in &pieces {
        let SourcePiece::Conversation(ours) = piece else {
            panic!("{piece:?}")
        };
        let theirs = theirs[&ours.source_id].as_array().unwrap();
        let theirs: Vec<(String, String)> = theirs
            .iter()
            .map(|message| {
                let texts = message[1].as_array().unwrap().iter();
                let texts: Vec<&str> = texts.map(|text| text.as_str().unwrap()).collect();
                (message[0].as_str().unwrap().to_owned(), texts.join("\n"))
            })
            .collect();
        // What we mark, they have as a part without text.
        let ours_plain: Vec<(String, String)> = shown(ours)
            .into_iter()
            .map(|(role, text)| (role, text.replace("\n[image]", "")))
            .collect();
        assert_eq!(ours_plain, theirs);
        let answers = ours
            .messages
            .iter()
            .filter(|m| m.role.name() == "assistant");
        for answer in answers {
            assert_eq!(answer.model.as_deref().unwrap_or("echo"), "echo");
        }
    }
    let SourcePiece::Conversation(legacy) = &pieces[0] else {
        panic!("{pieces:#?}")
    };
    assert_eq!(legacy.title.as_deref(), Some("the second"));
    // What the older version recorded is there once, with its own time.
    assert_eq!(legacy.messages.len(), 5);
    assert_eq!(legacy.messages[2].at, Some(1_704_164_645));
    let marks = pieces
        .iter()
        .filter(|piece| format!("{piece:?}").contains("[image]"));
    assert_eq!(marks.count(), 2);
}

#[test]
fn what_the_agent_has_written_is_read() {
    let Some(site) = site() else { return };
    let folder = tempfile::tempdir().unwrap();
    let theirs = written(site, "aua", folder.path());
    let pieces = pieces_of(ImportFormat::Aua, &folder.path().join("aua.db"));
    let [
        SourcePiece::Conversation(visa),
        SourcePiece::Correction(stay),
        SourcePiece::Promotion(promotion),
        SourcePiece::Audit(SourceAudit {
            rows,
            linked,
            computed,
        }),
    ] = &pieces[..]
    else {
        panic!("{pieces:#?}")
    };
    assert_eq!(
        (visa.title.as_deref(), visa.project.as_deref()),
        (Some("Visa"), Some("Immigration Law"))
    );
    assert_eq!(visa.messages.len(), 2);
    assert_eq!(visa.messages[1].model.as_deref(), Some("law"));
    assert!(visa.created_at.is_some());
    assert_eq!(
        (stay.claim.as_str(), stay.confidence, stay.decay),
        ("ninety days", 900, Some('B'))
    );
    assert_eq!(promotion.metadata.as_deref(), Some("{\"u\": 0.5}"));
    // Row for row, column for column.
    let ours: Vec<Value> = rows.iter().map(|row| Value::Object(row.clone())).collect();
    assert_eq!(Value::Array(ours), theirs);
    assert_eq!((*linked, *computed), (3, (3, 1)));
}

#[test]
fn all_of_version_0_7_comes_once_where_its_own_migration_loses_and_doubles() {
    let Some(site) = site() else { return };
    let folder = tempfile::tempdir().unwrap();
    let theirs = written(site, "aua-files", folder.path());
    assert_eq!(theirs["promotions"].as_array().unwrap().len(), 0);
    assert_eq!(theirs["corrections"].as_array().unwrap().len(), 2);
    let mut pieces = Vec::new();
    let files = read_flat_aua(folder.path(), &ImportOptions::default(), &mut |piece| {
        pieces.push(piece);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(files.len(), 2);
    let [
        SourcePiece::Promotion(promotion),
        SourcePiece::Correction(stay),
    ] = &pieces[..]
    else {
        panic!("{pieces:#?}")
    };
    assert_eq!(
        (promotion.id.as_str(), promotion.at),
        ("1", Some(1_704_164_645))
    );
    assert_eq!(stay.claim, theirs["corrections"][0]["claim"]);
    assert_eq!(
        stay.subject.as_deref(),
        theirs["corrections"][0]["subject"].as_str()
    );
}
