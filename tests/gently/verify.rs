//! The verifier against whole sample ledgers made by other code.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use gently::verify::{Answer, Evidence, Question, Report, SessionBlock, verify};
use serde_json::Value;

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/ledgers")
}

/// One sample ledger, unpacked by stock git.
struct Sample {
    dir: tempfile::TempDir,
    folder: PathBuf,
    expected: Value,
}

impl Sample {
    fn unpack(name: &str) -> Self {
        let folder = vectors().join(name);
        let dir = tempfile::tempdir().unwrap();
        let status = Command::new("git")
            .args(["-c", "init.defaultBranch=main", "clone", "--quiet", "--mirror"])
            .arg(folder.join("ledger.bundle"))
            .arg(dir.path().join("ledger.git"))
            .status()
            .unwrap();
        assert!(status.success());
        let expected = serde_json::from_slice(&std::fs::read(folder.join("expected.json")).unwrap()).unwrap();
        Sample { dir, folder, expected }
    }

    fn repository(&self) -> PathBuf {
        self.dir.path().join("ledger.git")
    }

    fn log(&self) -> PathBuf {
        self.folder.join("audit.log")
    }

    fn pinned(&self) -> gently::record::signature::PublicKey {
        let key = self.expected.get("pinned").unwrap_or_else(|| &self.expected["signers"][0]);
        key.as_str().unwrap().parse().unwrap()
    }

    fn report(&self) -> Report {
        let (repository, log) = (self.repository(), self.log());
        verify(&Evidence { repository: &repository, log: Some(&log), pinned: Some(self.pinned()) }).unwrap()
    }
}

fn question(name: &str) -> Question {
    *Question::ALL.iter().find(|q| q.name().replace('_', " ") == name).unwrap()
}

#[test]
fn the_honest_ledger_is_what_its_makers_say() {
    let sample = Sample::unpack("honest");
    let report = sample.report();
    assert_eq!(report.findings, []);
    let expected = &sample.expected;
    for (name, answer) in expected["answers"].as_object().unwrap() {
        if name != "signed by" {
            assert_eq!(report.answers.to(question(name)).answer.word(), answer.as_str().unwrap(), "{name}");
        }
    }
    assert_eq!(report.answers.signed_by.answer, Answer::Yes);
    assert!(report.passes() && report.chain_valid);
    assert_eq!(report.genesis.unwrap().to_string(), expected["genesis"].as_str().unwrap());
    assert_eq!(report.entries, expected["log_lines"]);
    assert_eq!(report.lines_in_segments, expected["lines_in_segments"]);
    assert_eq!(report.log_head.to_string(), expected["log_head"].as_str().unwrap());
    assert_eq!(report.btc_anchors, expected["btc_anchors"]);
    assert_eq!(report.origin.as_deref(), expected["origin"].as_str());
    assert_eq!(serde_json::to_value(&report.signers).unwrap(), expected["signers"]);
    let commits: BTreeMap<&str, u64> = report.commits.iter().map(|(kind, n)| (kind.name(), *n)).collect();
    assert_eq!(serde_json::to_value(commits).unwrap(), expected["commits"]);
    let heads = expected["tree_heads"].as_array().unwrap();
    assert_eq!(report.tree_heads.len(), heads.len());
    for (found, wanted) in report.tree_heads.iter().zip(heads) {
        assert_eq!(
            (found.size, found.root.to_string()),
            (wanted["size"].as_u64().unwrap(), wanted["root"].as_str().unwrap().to_owned())
        );
    }
    let sessions = expected["sessions"].as_object().unwrap();
    assert_eq!(report.sessions.len(), sessions.len());
    for (found, wanted) in report.sessions.iter().zip(sessions.values()) {
        assert_eq!(found.id.to_string(), wanted["session_id"].as_str().unwrap());
        assert_eq!(found.branch, wanted["branch"].as_str().unwrap());
        assert_eq!(found.interactions, wanted["interactions"]);
        let start = wanted["start_height"].as_u64().unwrap();
        let start = if start == 0 { SessionBlock::Local } else { SessionBlock::Height(start as u32) };
        assert_eq!(found.start, start);
        assert!(found.end.is_some() && found.chain_valid && found.all_verified);
    }
}

#[test]
fn a_defective_ledger_gets_no_yes_where_its_defect_is() {
    let mut seen = 0;
    for entry in std::fs::read_dir(vectors()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name == "honest" || name == "README.md" {
            continue;
        }
        seen += 1;
        let sample = Sample::unpack(&name);
        let report = sample.report();
        for not_yes in sample.expected["not_yes"].as_array().unwrap() {
            let question = question(not_yes.as_str().unwrap());
            assert_ne!(report.answers.to(question).answer, Answer::Yes, "{name}: {question:?}");
            assert!(report.findings.iter().any(|finding| finding.question == question), "{name}: {question:?}");
        }
        println!("{name}: {:#?}", report.findings);
        assert!(!report.passes(), "{name}");
    }
    assert_eq!(seen, 9);
}
