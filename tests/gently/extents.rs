//! How far the answers of `gently audit verify` reach: signed through which line, complete up to
//! which, and what a clone, foreign refs or a tree head beside the log do to them (format, sections
//! 2 and 12).

#![allow(
    clippy::unwrap_used,
    reason = "the helpers of a test fail it as the test itself would"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use gently::record::signature::PublicKey;
use gently::verify::{
    AuditQuestion, CheckAnswer, Evidence, Report, VerifyOptions, verify, verify_in_use,
};

use crate::verify::Sample;

/// The honest ledger with a log and a tree head beside it that a test changes.
struct Copy {
    sample: Sample,
    folder: tempfile::TempDir,
}

impl Copy {
    fn new() -> Self {
        let (sample, folder) = (Sample::unpack("honest"), tempfile::tempdir().unwrap());
        std::fs::copy(sample.log(), folder.path().join("audit.log")).unwrap();
        std::fs::copy(sample.checkpoint(), folder.path().join("audit.checkpoint")).unwrap();
        Copy { sample, folder }
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("audit.log")
    }

    fn checkpoint(&self) -> PathBuf {
        self.folder.path().join("audit.checkpoint")
    }

    fn lines(&self) -> Vec<String> {
        std::fs::read_to_string(self.sample.log())
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect()
    }

    fn write(&self, lines: &[String]) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(self.log(), text).unwrap();
    }

    fn evidence<T>(&self, signers: &[PublicKey], look: impl FnOnce(&Evidence<'_>) -> T) -> T {
        let (repository, log, checkpoint) =
            (self.sample.repository(), self.log(), self.checkpoint());
        look(&Evidence {
            repository: &repository,
            log: Some(&log),
            checkpoint: Some(&checkpoint),
            signers,
        })
    }

    fn report(&self) -> Report {
        self.evidence(&self.sample.signers(), |evidence| verify(evidence).unwrap())
    }
}

fn answers(report: &Report) -> [CheckAnswer; 6] {
    AuditQuestion::ALL.map(|question| report.answers.to(question).answer)
}

fn clone(from: &Path, flags: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("clone");
    let mut git = Command::new("git");
    git.args(["clone", "--quiet"])
        .args(flags)
        .arg(from)
        .arg(&to);
    assert!(git.status().unwrap().success());
    (folder, to)
}

#[test]
fn lines_behind_the_signed_ones_are_named_and_count_for_nothing() {
    let copy = Copy::new();
    let honest = copy.report();
    assert!(honest.holds() && honest.extents.signed_by == 60 && honest.unsigned == 0);
    let mut lines = copy.lines();
    lines.push("not even a line of a log".to_owned());
    lines.push(lines[3].clone());
    copy.write(&lines);
    let report = copy.report();
    assert_eq!(
        (report.extents.signed_by, report.unsigned, report.entries),
        (60, 2, 60)
    );
    assert!(
        !report.holds() && report.findings.is_empty(),
        "{:?}",
        report.findings
    );
    assert_eq!(report.answers.signed_by.answer, CheckAnswer::NotChecked);
    assert!(
        report
            .answers
            .signed_by
            .reason
            .starts_with("lines 61 to 62 are signed by nobody")
    );
    // All else is answered as it was without them.
    assert_eq!(answers(&report)[..5], answers(&honest)[..5]);
    // A torn line behind is incomplete, and nothing else.
    std::fs::write(copy.log(), format!("{}\nabc", copy.lines().join("\n"))).unwrap();
    let report = copy.report();
    assert_eq!(
        (
            report.answers.complete.answer,
            report.answers.consistent.answer
        ),
        (CheckAnswer::No, CheckAnswer::Yes)
    );
}

#[test]
fn without_a_tree_head_beside_it_the_commits_sign_what_they_cover() {
    let copy = Copy::new();
    std::fs::remove_file(copy.checkpoint()).unwrap();
    let report = copy.report();
    assert_eq!((report.extents.signed_by, report.unsigned), (58, 2));
    assert!(!report.holds() && report.findings.is_empty());
}

#[test]
fn a_changed_line_under_the_tree_head_is_found_and_a_tree_head_of_another_key_or_size_too() {
    let copy = Copy::new();
    let mut lines = copy.lines();
    // The last line is signed by the tree head alone; the chain of a line that is hashed anew
    // holds.
    let last = lines.pop().unwrap();
    let prev = lines.last().unwrap().split('|').next().unwrap().to_owned();
    let rest = last
        .split_once('|')
        .unwrap()
        .1
        .replacen("sample_future", "simple_future", 1);
    assert_ne!(rest, last.split_once('|').unwrap().1);
    let hash = gently::record::log::chain::line_hash(prev.parse().unwrap(), rest.as_bytes());
    lines.push(format!("{hash}|{rest}"));
    copy.write(&lines);
    let report = copy.report();
    let found: Vec<&str> = report
        .findings
        .iter()
        .map(|finding| finding.place.as_str())
        .collect();
    assert_eq!(found, ["audit.checkpoint"], "{:?}", report.findings);
    assert_eq!(report.answers.consistent.answer, CheckAnswer::No);

    // Shorter than the tree head says.
    let copy = Copy::new();
    copy.write(&copy.lines()[..59]);
    let report = copy.report();
    assert_eq!(
        (
            report.answers.consistent.answer,
            report.answers.complete.answer
        ),
        (CheckAnswer::Yes, CheckAnswer::No)
    );
    assert!(
        report
            .findings
            .iter()
            .any(|finding| finding.place == "audit.checkpoint"),
        "{:?}",
        report.findings
    );

    // Each byte of the tree head.
    let copy = Copy::new();
    let good = std::fs::read(copy.checkpoint()).unwrap();
    for at in (0..good.len()).step_by(5) {
        let mut changed = good.clone();
        changed[at] ^= 1;
        std::fs::write(copy.checkpoint(), &changed).unwrap();
        let report = copy.report();
        assert!(
            !report.holds() && report.answers.consistent.answer == CheckAnswer::No,
            "byte {at}"
        );
    }
}

#[test]
fn a_key_of_the_list_that_is_not_the_newest_is_retired() {
    let copy = Copy::new();
    let keys = copy.sample.signers();
    let [first, second] = keys[..] else {
        panic!("two keys")
    };
    let said = |signers: &[PublicKey]| {
        let report = copy.evidence(signers, |evidence| verify(evidence).unwrap());
        assert!(report.holds());
        report.answers.signed_by
    };
    assert_eq!(said(&[first, second]).answer, CheckAnswer::Yes);
    assert_eq!(said(&[second]).answer, CheckAnswer::Yes);
    assert_eq!(said(&[first]).answer, CheckAnswer::No);
    let retired = said(&[second, first]);
    assert_eq!(retired.answer, CheckAnswer::NotChecked);
    assert!(
        retired.reason.starts_with("retired: "),
        "{}",
        retired.reason
    );
    assert_eq!(said(&[]).answer, CheckAnswer::NotChecked);
}

#[test]
fn refs_of_others_are_counted_and_not_read() {
    let copy = Copy::new();
    let honest = answers(&copy.report());
    for (name, target) in [
        ("refs/pull/1/head", "main"),
        ("refs/tags/v1", "branch-7"),
        ("refs/heads/side", "main~3"),
    ] {
        let mut git = Command::new("git");
        git.arg("-C")
            .arg(copy.sample.repository())
            .args(["update-ref", name, target]);
        assert!(git.status().unwrap().success());
    }
    let report = copy.report();
    assert_eq!((report.foreign_refs, answers(&report)), (3, honest));
    assert!(report.findings.is_empty() && report.holds());
}

#[test]
fn a_plain_clone_is_read_through_its_origin() {
    let copy = Copy::new();
    let (_folder, plain) = clone(&copy.sample.repository(), &[]);
    let (log, checkpoint) = (copy.log(), copy.checkpoint());
    let evidence = Evidence {
        repository: &plain,
        log: Some(&log),
        checkpoint: Some(&checkpoint),
        signers: &copy.sample.signers(),
    };
    let report = verify(&evidence).unwrap();
    assert!(
        report.plain_clone && report.holds(),
        "{:?}",
        report.findings
    );
    assert_eq!(answers(&report), answers(&copy.report()));
    assert_eq!(report.entries, 60);
    assert!(
        report.answers.not_after.reason.contains("git fetch origin"),
        "{}",
        report.answers.not_after.reason
    );
    // A bare clone has them as its own.
    let (_folder, bare) = clone(&copy.sample.repository(), &["--bare"]);
    let report = verify(&Evidence {
        repository: &bare,
        ..evidence
    })
    .unwrap();
    assert!(
        !report.plain_clone && report.holds(),
        "{:?}",
        report.findings
    );
}

#[test]
fn a_ledger_without_its_log_is_complete_up_to_its_last_segment() {
    let copy = Copy::new();
    let (repository, signers) = (copy.sample.repository(), copy.sample.signers());
    let evidence = Evidence {
        repository: &repository,
        log: None,
        checkpoint: None,
        signers: &signers,
    };
    let report = verify(&evidence).unwrap();
    assert!(report.holds() && report.commits_without_line == 0);
    assert_eq!(
        (report.extents.complete, report.extents.signed_by),
        (58, 58)
    );
    assert!(
        report
            .answers
            .complete
            .reason
            .starts_with("up to line 58 of 2"),
        "{}",
        report.answers.complete.reason
    );

    // main as it was before the last session closed: what its branch has beyond that counts for
    // consistent alone.
    let mut git = Command::new("git");
    git.arg("-C")
        .arg(&repository)
        .args(["update-ref", "refs/heads/main", "main~1"]);
    assert!(git.status().unwrap().success());
    let report = verify(&evidence).unwrap();
    assert!(report.commits_without_line > 0);
    assert_eq!(
        report.answers.consistent.answer,
        CheckAnswer::Yes,
        "{:?}",
        report.findings
    );
    assert!(report.extents.complete < 58);
}

#[test]
fn a_ledger_that_stands_still_is_judged_as_it_is() {
    let copy = Copy::new();
    let mut lines = copy.lines();
    lines.push("nobody signed this".to_owned());
    copy.write(&lines);
    let report = copy.evidence(&[], |evidence| {
        verify_in_use(evidence, VerifyOptions::default()).unwrap()
    });
    assert_eq!((report.unsigned, report.newer), (1, 0));
}

#[test]
fn what_a_writer_adds_while_it_is_read_is_newer_and_not_read() {
    let copy = Copy::new();
    let whole = copy.lines();
    let checkpoint = std::fs::read(copy.checkpoint()).unwrap();
    // As of the last tree head in main: everything behind it is newer.
    let mut git = Command::new("git");
    git.arg("-C")
        .arg(copy.sample.repository())
        .args(["show", "main:checkpoint"]);
    std::fs::write(copy.checkpoint(), git.output().unwrap().stdout).unwrap();
    let report = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            // A line a while, without ever a tree head that covers it.
            for n in 0..400 {
                let mut lines = whole.clone();
                lines.extend((0..n).map(|n| format!("line {n}, which is being written")));
                copy.write(&lines);
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        });
        let report = copy.evidence(&copy.sample.signers(), |evidence| {
            verify_in_use(evidence, VerifyOptions::default()).unwrap()
        });
        assert!(
            !writer.is_finished(),
            "the check took longer than the writer"
        );
        report
    });
    assert_eq!((report.extents.signed_by, report.unsigned), (58, 0));
    assert!(report.newer > 0 && report.holds(), "{:?}", report.findings);
    std::fs::write(copy.checkpoint(), checkpoint).unwrap();
}
