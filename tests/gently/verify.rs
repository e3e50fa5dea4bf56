//! The verifier against whole sample ledgers made by other code, and `gently audit` as it prints.

#![allow(
    clippy::unwrap_used,
    reason = "the helpers of a test fail it as the test itself would"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use gently::record::signature::PublicKey;
use gently::verify::{AuditQuestion, CheckAnswer, Evidence, Report, SessionBlock, verify};
use serde_json::Value;

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/ledgers")
}

/// One sample ledger, unpacked by stock git.
pub(crate) struct Sample {
    pub(crate) dir: tempfile::TempDir,
    folder: PathBuf,
    pub(crate) expected: Value,
}

impl Sample {
    pub(crate) fn unpack(name: &str) -> Self {
        let folder = vectors().join(name);
        let dir = tempfile::tempdir().unwrap();
        let status = Command::new("git")
            .args([
                "-c",
                "init.defaultBranch=main",
                "clone",
                "--quiet",
                "--mirror",
            ])
            .arg(folder.join("ledger.bundle"))
            .arg(dir.path().join("ledger.git"))
            .status()
            .unwrap();
        assert!(status.success());
        let expected =
            serde_json::from_slice(&std::fs::read(folder.join("expected.json")).unwrap()).unwrap();
        Sample {
            dir,
            folder,
            expected,
        }
    }

    pub(crate) fn repository(&self) -> PathBuf {
        self.dir.path().join("ledger.git")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.folder.join("audit.log")
    }

    pub(crate) fn checkpoint(&self) -> PathBuf {
        self.folder.join("audit.checkpoint")
    }

    /// The checker's list of keys, the newest last.
    pub(crate) fn signers(&self) -> Vec<PublicKey> {
        let keys = self
            .expected
            .get("pinned")
            .unwrap_or_else(|| &self.expected["signers"]);
        keys.as_array()
            .unwrap()
            .iter()
            .map(|key| key.as_str().unwrap().parse().unwrap())
            .collect()
    }

    pub(crate) fn report(&self) -> Report {
        let (repository, log, checkpoint) = (self.repository(), self.log(), self.checkpoint());
        verify(&Evidence {
            repository: &repository,
            log: Some(&log),
            checkpoint: Some(&checkpoint),
            signers: &self.signers(),
        })
        .unwrap()
    }
}

fn question(name: &str) -> AuditQuestion {
    *AuditQuestion::ALL
        .iter()
        .find(|q| q.name().replace('_', " ") == name)
        .unwrap()
}

#[test]
fn the_honest_ledger_is_what_its_makers_say() {
    let sample = Sample::unpack("honest");
    let report = sample.report();
    assert_eq!(report.findings, []);
    let expected = &sample.expected;
    for (name, answer) in expected["answers"].as_object().unwrap() {
        if name != "signed by" {
            assert_eq!(
                report.answers.to(question(name)).answer.word(),
                answer.as_str().unwrap(),
                "{name}"
            );
        }
    }
    assert_eq!(report.answers.signed_by.answer, CheckAnswer::Yes);
    assert!(report.passes() && report.holds() && report.chain_valid);
    assert_eq!(
        (report.extents.signed_by, report.unsigned),
        (expected["lines_signed"].as_u64().unwrap(), 0)
    );
    assert_eq!(
        report.genesis.unwrap().to_string(),
        expected["genesis"].as_str().unwrap()
    );
    assert_eq!(report.entries, expected["log_lines"]);
    assert_eq!(report.lines_in_segments, expected["lines_in_segments"]);
    assert_eq!(
        report.log_head.to_string(),
        expected["log_head"].as_str().unwrap()
    );
    assert_eq!(report.btc_anchors, expected["btc_anchors"]);
    assert_eq!(report.origin.as_deref(), expected["origin"].as_str());
    assert_eq!(
        serde_json::to_value(&report.signers).unwrap(),
        expected["signers"]
    );
    let commits: BTreeMap<&str, u64> = report
        .commits
        .iter()
        .map(|(kind, n)| (kind.name(), *n))
        .collect();
    assert_eq!(serde_json::to_value(commits).unwrap(), expected["commits"]);
    let heads = expected["tree_heads"].as_array().unwrap();
    assert_eq!(report.tree_heads.len(), heads.len());
    for (found, wanted) in report.tree_heads.iter().zip(heads) {
        assert_eq!(
            (found.size, found.root.to_string()),
            (
                wanted["size"].as_u64().unwrap(),
                wanted["root"].as_str().unwrap().to_owned()
            )
        );
    }
    let sessions = expected["sessions"].as_object().unwrap();
    assert_eq!(report.sessions.len(), sessions.len());
    for (found, wanted) in report.sessions.iter().zip(sessions.values()) {
        assert_eq!(found.id.to_string(), wanted["session_id"].as_str().unwrap());
        assert_eq!(found.branch, wanted["branch"].as_str().unwrap());
        assert_eq!(found.interactions, wanted["interactions"]);
        let start = wanted["start_height"].as_u64().unwrap();
        let start = if start == 0 {
            SessionBlock::Local
        } else {
            SessionBlock::Height(start as u32)
        };
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
            assert_ne!(
                report.answers.to(question).answer,
                CheckAnswer::Yes,
                "{name}: {question:?}"
            );
            let named = report
                .findings
                .iter()
                .any(|finding| finding.question == question);
            assert!(named || report.unsigned > 0, "{name}: {question:?}");
        }
        assert!(!report.passes(), "{name}");
        // Of the answers that are not named, nothing more than what the defect touches.
        assert_eq!(report.holds(), name == "header_easy", "{name}");
    }
    assert_eq!(seen, 12);
}

/// Runs `gently audit …` in this process: exit code, standard output, standard error.
fn audit(home: Option<&Path>, args: &[&str]) -> (u8, String, String) {
    #[derive(clap::Parser)]
    struct Door {
        #[command(subcommand)]
        command: gently::cli::prove::audit::AuditCommand,
    }
    let args = ["audit"].iter().chain(args);
    let door = <Door as clap::Parser>::try_parse_from(args).unwrap();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = gently::cli::prove::audit::run(door.command, home, &mut out, &mut err);
    (
        code,
        String::from_utf8(out).unwrap(),
        String::from_utf8(err).unwrap(),
    )
}

/// Runs `gently audit COMMAND …` on a copy of a ledger: a home without its database would not pass.
fn audit_copy(sample: &Sample, command: &[&str], rest: &[&str]) -> (u8, String, String) {
    audit_log(sample, &sample.log(), command, rest)
}

/// The same with another log file.
fn audit_log(sample: &Sample, log: &Path, command: &[&str], rest: &[&str]) -> (u8, String, String) {
    let text = |path: &Path| path.display().to_string();
    let (repository, log) = (text(&sample.repository()), text(log));
    let (signers, checkpoint) = (
        text(&sample.folder.join("allowed_signers")),
        text(&sample.checkpoint()),
    );
    let copy = [
        "--repo",
        &repository,
        "--log",
        &log,
        "--checkpoint",
        &checkpoint,
        "--signer",
        &signers,
    ];
    audit(None, &[command, &copy, rest].concat())
}

#[test]
fn verify_prints_the_five_lines_then_answers_then_findings() {
    let copy = Sample::unpack("honest");
    let required = ["-v", "--require", "signed,not-before"];
    let (code, out, err) = audit_copy(&copy, &["verify"], &required);
    assert_eq!((code, err.as_str()), (0, ""));
    // Behind the verdict.
    let lines: Vec<&str> = out
        .lines()
        .skip_while(|line| !line.is_empty())
        .skip(1)
        .collect();
    assert_eq!(
        lines[..5],
        [
            "Genesis: 39d8668c9e1c18834931c26be61912c018fcc8e17d52f36b0a00c7020fe1ab69",
            "Entries: 60",
            "Chain integrity: VALID",
            "BTC anchors: 7",
            "Sessions: 5",
        ]
    );
    for (line, start) in lines[6..].iter().zip([
        "consistent:  yes (",
        "complete:    yes (",
        "unique:      not checked (",
        "not before:  yes (",
        "not after:   not checked (",
        "signed by:   yes (",
    ]) {
        assert!(line.starts_with(start), "{line}");
    }
    assert_eq!(
        lines[12..15],
        [
            "tail:        60 lines of 60 unanchored",
            "span:        no line is between two blocks",
            "brackets:    5 sessions",
        ]
    );
    // Two of the five start on no block; the newest comes first.
    let bounds = |of: &str| {
        lines[15..30]
            .iter()
            .filter(|line| line.starts_with(of))
            .count()
    };
    assert_eq!(
        (
            bounds("    Not before: block "),
            bounds("    Not before: it starts on no block")
        ),
        (3, 2)
    );
    assert_eq!(bounds("    Not after: "), 5);
    assert_eq!(
        lines[30..],
        [
            "database:    not at hand, so not checked",
            "checked:     verified from scratch"
        ]
    );

    let log = std::fs::read_to_string(copy.log()).unwrap().replacen(
        "reason:timeout",
        "reason:timeoux",
        1,
    );
    let changed = copy.dir.path().join("changed.log");
    std::fs::write(&changed, log).unwrap();
    let (code, out, _) = audit_log(&copy, &changed, &["verify"], &["-v"]);
    assert_eq!(code, 1);
    assert!(out.contains("Chain integrity: BROKEN"));
    assert!(
        out.contains("\nFinding 1 (consistent): audit.log line 14\n  expected: "),
        "{out}"
    );
}

#[test]
fn json_has_the_shape_of_the_issue() {
    let (code, out, _) = audit_copy(&Sample::unpack("honest"), &["verify"], &["--json"]);
    assert_eq!(code, 0);
    let value: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(value["entries"], 60);
    assert_eq!(value["sessions"], 5);
    assert_eq!(value["btc_anchors"], 7);
    assert_eq!(value["findings"], serde_json::json!([]));
    assert_eq!(
        value["answers"],
        serde_json::json!({"consistent": "yes", "complete": "yes", "unique": "not checked", "not_before": "yes",
            "not_after": "not checked", "signed_by": "yes"})
    );
    let sample = Sample::unpack("tree_head_wrong_root");
    let (repository, log) = (
        sample.repository().display().to_string(),
        sample.log().display().to_string(),
    );
    let (code, out, _) = audit(
        None,
        &["verify", "--json", "--repo", &repository, "--log", &log],
    );
    assert_eq!(code, 1);
    let value: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(value["answers"]["signed_by"], "not checked");
    let finding = value["findings"][0].as_object().unwrap();
    assert_eq!(
        finding.keys().map(String::as_str).collect::<Vec<_>>(),
        ["actual", "expected", "place", "question"]
    );
    assert_eq!(finding["question"], "consistent");
}

#[test]
fn somebody_elses_ledger_is_checked_without_a_home() {
    let folder = vectors().join("honest");
    let (bundle, log) = (
        folder.join("ledger.bundle").display().to_string(),
        folder.join("audit.log").display().to_string(),
    );
    let signers = folder.join("allowed_signers").display().to_string();
    let first = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINBKsjJ0K7SrOhNovUYV5ObQIkq3GgFrr4UgozLJd4c3";
    let second = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKCapfR6Z1mAL/lV+NwtKhSlyZ0jvpf4ZBJ/+Tg0VaTw";
    for (keys, said) in [
        (vec![signers.as_str()], "signed by:   yes ("),
        (vec![second], "signed by:   yes ("),
        (vec![first, second], "signed by:   yes ("),
        (vec![second, first], "signed by:   not checked (retired: "),
        (vec![first], "signed by:   no ("),
        (vec![], "signed by:   not checked (unpinned: "),
    ] {
        let mut args = vec!["verify", "-v", "--repo", &bundle, "--log", &log];
        keys.iter().for_each(|key| args.extend(["--signer", key]));
        let (code, out, err) = audit(None, &args);
        assert_eq!((code, err.as_str()), (0, ""), "{keys:?}");
        assert!(out.contains("Entries: 60") && out.contains(said), "{out}");
        let (code, _, err) = audit(None, &[&args[..], &["--require", "signed"]].concat());
        let yes = said.contains(" yes ");
        assert_eq!(
            (code, err.is_empty()),
            (u8::from(!yes), yes),
            "{keys:?}: {err}"
        );
    }
    let (code, out, _) = audit(None, &["verify", "-v", "--repo", &bundle]);
    assert_eq!(code, 0);
    assert!(
        out.contains("Entries: 58") && out.contains("no audit.log was given"),
        "{out}"
    );
    let (code, _, err) = audit(
        None,
        &["verify", "--repo", &bundle, "--require", "signed,not-after"],
    );
    assert_eq!(code, 1);
    assert_eq!(
        err,
        "gently audit: required to be yes: signed by is not checked, not after is not checked\n"
    );
}

/// What the answer tells to do makes the clone whole.
#[test]
fn a_clone_of_one_branch_names_the_command_that_fetches_the_others() {
    let sample = Sample::unpack("honest");
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        let done = git
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .current_dir(sample.dir.path())
            .args(args)
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "{args:?} {}",
            String::from_utf8_lossy(&done.stderr)
        );
    };
    for (name, bare) in [("plain", None), ("bare.git", Some("--bare"))] {
        let clone = ["clone", "--quiet", "--single-branch", "--branch", "main"]
            .into_iter()
            .chain(bare);
        git(&clone.chain(["ledger.git", name]).collect::<Vec<_>>());
        let repository = sample.dir.path().join(name).display().to_string();
        let (code, out, _) = audit(None, &["verify", "--repo", &repository]);
        assert_eq!(code, 1, "{out}");
        let refspec = out
            .split_once("git fetch origin '")
            .unwrap()
            .1
            .split('\'')
            .next()
            .unwrap();
        git(&["-C", name, "fetch", "--quiet", "origin", refspec]);
        let (code, out, _) = audit(None, &["verify", "--repo", &repository]);
        assert_eq!(code, 0, "{out}");
    }
}

#[test]
fn where_nothing_can_be_looked_at_the_code_is_2() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    std::fs::write(dir.path().join("no.bundle"), "not a bundle").unwrap();
    let git = Command::new("git")
        .args(["init", "--quiet", "--bare"])
        .arg(dir.path().join("empty.git"))
        .status();
    assert!(git.unwrap().success());
    let bundle = vectors().join("honest/ledger.bundle").display().to_string();
    let (none, empty, torn, nothing) = (
        path("none"),
        path("empty.git"),
        path("no.bundle"),
        path("."),
    );
    for args in [
        vec!["verify"],
        vec!["verify", "--repo", &none],
        vec!["verify", "--repo", &nothing],
        vec!["verify", "--repo", &empty],
        vec!["verify", "--repo", &torn],
        vec!["verify", "--repo", &bundle, "--log", &none],
        vec!["verify", "--repo", &bundle, "--signer", &none],
        vec!["session", "d2", "--repo", &empty],
    ] {
        let (code, out, err) = audit(None, &args);
        assert_eq!(code, 2, "{args:?} {out}");
        assert!(
            out.is_empty() && err.starts_with("error: "),
            "{args:?} {err}"
        );
    }
    let (code, _, err) = audit(Some(dir.path()), &["verify"]);
    assert!(code == 2 && err.contains("gently init"), "{err}");
}

#[test]
fn one_session_is_shown_by_its_first_digits() {
    let copy = Sample::unpack("honest");
    let (code, out, _) = audit_copy(&copy, &["session", "1b8a93f7"], &["-v"]);
    assert_eq!(code, 0);
    assert_eq!(
        out,
        "✔ Nothing in this session was changed: 3 questions, 2 answers\n\
         Session: 1b8a93f7b573992fd935c726dcd22e0cee5ebfb2f57cd640962dd06cacd80a5b\n\
         Start BTC: local\nEnd BTC: 829005\nInteractions: 2\nWithout an answer: 1 of 3 questions\nBranch: branch-1\n\
         Chain integrity: VALID\nAll hashes verified: YES\nNot before: it starts on no block\n\
         Not after: not proven: no OpenTimestamps proof of the log after its end\n"
    );
    let (code, out, _) = audit_copy(&copy, &["session", "d2a1"], &["--json"]);
    assert_eq!(code, 0);
    let value: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(value["session"]["start_btc"], "829002");
    assert_eq!(value["session"]["all_hashes_verified"], true);
    let (code, out, err) = audit_copy(&copy, &["session", "ffff"], &[]);
    assert!(code == 2 && out.is_empty());
    assert!(
        err.contains("no session begins with 'ffff'") && err.contains("502de19db5cc537d"),
        "{err}"
    );
    let (code, _, err) = audit_copy(&copy, &["session", ""], &[]);
    assert!(
        code == 2 && err.contains("5 sessions begin with ''") && err.contains("404cfa6d"),
        "{err}"
    );
}

#[test]
fn a_session_that_a_finding_touches_is_not_verified_and_others_are() {
    let sample = Sample::unpack("close_hash_wrong");
    let report = sample.report();
    let broken: Vec<_> = report
        .sessions
        .iter()
        .filter(|session| !session.chain_valid)
        .collect();
    assert_eq!(broken.len(), 1);
    assert_eq!(report.sessions_of(&broken[0].id.to_string()).len(), 1);
}
