//! Every commit of the sample ledger that independent code wrote, made again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use gently::keys::SigningKey;
use gently::ledger::write::{CommitPlan, Ledger, TreeFiles};
use gently::record::hash::Hash32;
use gently::record::ledger::commit::{CommitKind, CommitMessage, Subject, trailer};
use gently::record::ledger::documents::{CheckpointDoc, Rotate};
use gently::record::time::Seconds;

use super::{assert_fsck_is_silent, git_ok, git_text, key, made};

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/ledgers/honest")
}

/// What stock git says about one commit, as the plan that should make it.
fn plan_of(repo: &Path, id: &str) -> CommitPlan {
    let body = git_text(repo, &["show", "-s", "--format=%B", id]);
    let body = format!("{}\n", body.trim_end());
    let subject = body.lines().next().unwrap();
    let kind = CommitKind::of_subject(subject).unwrap();
    let mut files = TreeFiles::new();
    for line in git_text(repo, &["ls-tree", id]).lines() {
        let (entry, name) = line.split_once('\t').unwrap();
        let [mode, "blob", blob] = entry.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        assert_eq!(mode, "100644");
        let name = kind
            .files(true)
            .into_iter()
            .find(|known| *known == name)
            .expect("a file of the table");
        files.insert(name, git_ok(repo, &["cat-file", "blob", blob]));
    }
    let dates = git_text(repo, &["show", "-s", "--format=%at %ct", id]);
    let (author, committer) = dates.trim().split_once(' ').unwrap();
    assert_eq!(author, committer);
    let parents = git_text(repo, &["show", "-s", "--format=%P", id]);
    let message = message_of(&body, &files);
    assert_eq!(message.render(), body);
    CommitPlan {
        message,
        files,
        parents: parents
            .split_whitespace()
            .map(|p| p.parse().unwrap())
            .collect(),
        time: Seconds::new(author.parse().unwrap()).unwrap(),
    }
}

fn message_of(body: &str, files: &TreeFiles) -> CommitMessage {
    let subject = body.lines().next().unwrap();
    let hash = |name| trailer(body, name).unwrap().parse::<Hash32>().unwrap();
    let height = || subject.rsplit_once(":btc-").unwrap().1.parse().unwrap();
    let subject = match CommitKind::of_subject(subject).unwrap() {
        CommitKind::Genesis => Subject::Genesis,
        CommitKind::SessionStart => Subject::SessionStart {
            session: hash("Session"),
            height: height(),
        },
        CommitKind::Interaction => Subject::Interaction {
            session: hash("Session"),
            seq: trailer(body, "Seq").unwrap().parse().unwrap(),
            chain: hash("Chain"),
        },
        CommitKind::SessionEnd => Subject::SessionEnd {
            session: hash("Session"),
            close: hash("Close"),
            height: height(),
        },
        CommitKind::Close => Subject::Close {
            session: hash("Session"),
            close: hash("Close"),
        },
        CommitKind::Checkpoint => {
            let doc: CheckpointDoc = serde_json::from_slice(&files["checkpoint.json"]).unwrap();
            Subject::Checkpoint { head: doc.log_head }
        }
        CommitKind::KeyRotate => {
            let doc: Rotate = serde_json::from_slice(&files["rotate.json"]).unwrap();
            Subject::KeyRotate {
                key: Hash32::digest(doc.new_signer.as_bytes()),
            }
        }
    };
    CommitMessage {
        subject,
        record: hash("Record"),
        log: hash("Log"),
    }
}

/// The seed of the key in force at a commit's line: the second after the rotation, the rotation by
/// the first.
fn signer(log: &str, commit: &CommitMessage) -> SigningKey {
    let line = |hash: &str| log.lines().position(|line| line.starts_with(hash)).unwrap();
    let rotation = log
        .lines()
        .position(|line| line.split('|').nth(3) == Some("key_rotate"))
        .unwrap();
    if line(&commit.log.to_string()) > rotation {
        key(0x22)
    } else {
        key(0x11)
    }
}

#[test]
fn every_commit_is_made_again_with_the_same_id() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = vectors().join("ledger.bundle");
    git_ok(
        dir.path(),
        &[
            "clone",
            "-q",
            "--mirror",
            bundle.to_str().unwrap(),
            "theirs.git",
        ],
    );
    let theirs = dir.path().join("theirs.git");
    let log = fs::read_to_string(vectors().join("audit.log")).unwrap();

    let ours = dir.path().join("ours.git");
    let mut ledger = Ledger::create(&ours).unwrap();
    let ids = git_text(&theirs, &["rev-list", "--topo-order", "--reverse", "--all"]);
    assert_eq!(ids.lines().count(), 29);
    for id in ids.lines() {
        let plan = plan_of(&theirs, id);
        let commit = made(&plan, &signer(&log, &plan.message));
        assert_eq!(commit.id.to_string(), id, "{:?}", plan.message.subject);
        assert_eq!(commit.commit, git_ok(&theirs, &["cat-file", "commit", id]));
        assert_eq!(ledger.put(&commit.commit, &plan.files).unwrap(), commit.id);
        assert_eq!(ledger.put(&commit.commit, &plan.files).unwrap(), commit.id);
    }
    let expected: serde_json::Value =
        serde_json::from_slice(&fs::read(vectors().join("expected.json")).unwrap()).unwrap();
    for (name, tip) in expected["refs"].as_object().unwrap() {
        ledger
            .move_ref(name, None, tip.as_str().unwrap().parse().unwrap())
            .unwrap();
    }
    ledger.sync().unwrap();

    assert_fsck_is_silent(&ours);
    assert_eq!(
        git_text(&ours, &["show-ref"]),
        git_text(&theirs, &["show-ref"])
    );
    assert_eq!(
        git_text(&ours, &["symbolic-ref", "HEAD"]),
        "refs/heads/main\n"
    );
    let signers = format!(
        "gpg.ssh.allowedSignersFile={}",
        vectors().join("allowed_signers").display()
    );
    for id in ids.lines() {
        git_ok(
            &ours,
            &["-c", "gpg.format=ssh", "-c", &signers, "verify-commit", id],
        );
    }
    let reopened = Ledger::open(&ours).unwrap().refs().unwrap();
    let reopened: BTreeMap<_, _> = reopened
        .iter()
        .map(|(name, id)| (name.as_str(), id.to_string()))
        .collect();
    let expected = expected["refs"].as_object().unwrap();
    assert_eq!(
        reopened,
        expected
            .iter()
            .map(|(n, id)| (n.as_str(), id.as_str().unwrap().to_owned()))
            .collect()
    );
}
