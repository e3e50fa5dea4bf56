//! A reader beside living writers: whatever they do meanwhile, it never takes a healthy ledger for
//! a broken one.

#![allow(
    clippy::unwrap_used,
    reason = "the helpers of a test fail it as the test itself would"
)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gently::verify::{AuditQuestion, CheckAnswer, Evidence, VerifyOptions, verify_in_use};

use crate::recorder::{Rig, anchor, at, turn, wait};

/// Looks.
const LOOKS: u64 = 500;
/// Writers, each with a recorder of its own, as so many programs have.
const WRITERS: u64 = 8;

/// Lets the writers go on to their end when the looks are over, however that was.
struct Over<'a>(&'a AtomicU64);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(u64::MAX, Ordering::SeqCst);
    }
}

#[test]
fn five_hundred_looks_beside_eight_writers_find_nothing_broken() {
    let rig = Rig::told(async |rig, recorder| {
        let session = recorder
            .open_session(rig.terms(), anchor(829_604), at(1))
            .await
            .unwrap();
        turn(recorder, &session, "before", at(2)).await.unwrap();
    });
    let looks = AtomicU64::new(0);
    let (repository, log) = (rig.root().join("ledger.git"), rig.root().join("audit.log"));
    let checkpoint = rig.root().join("audit.checkpoint");
    let signers = [rig.home().signing_key().unwrap().public()];
    let evidence = Evidence {
        repository: &repository,
        log: Some(&log),
        checkpoint: Some(&checkpoint),
        signers: &signers,
    };
    let (rig, looks) = (&rig, &looks);
    std::thread::scope(|scope| {
        let _end = Over(looks);
        for writer in 0..WRITERS {
            scope.spawn(move || {
                let recorder = rig.recorder(at(3));
                // Each look has a writer or two at work; none gets ahead of the looks, so the
                // ledger stays small.
                for n in 0..LOOKS / WRITERS {
                    while looks.load(Ordering::SeqCst) < n * WRITERS + writer {
                        std::thread::sleep(Duration::from_millis(2));
                    }
                    wait(async {
                        if n % 20 == 7 {
                            let height = if writer % 2 == 0 { 829_605 } else { 829_606 };
                            recorder
                                .open_session(rig.terms(), anchor(height), at(4))
                                .await
                                .unwrap();
                        }
                        let sessions = rig.open_sessions();
                        let session = &sessions[usize::try_from(writer).unwrap() % sessions.len()];
                        turn(&recorder, session, &format!("{writer}, {n}"), at(5))
                            .await
                            .unwrap();
                        if n % 10 == 3 {
                            recorder.checkpoint(at(6)).await.unwrap();
                        }
                    });
                }
            });
        }
        for look in 0..LOOKS {
            let report = verify_in_use(&evidence, VerifyOptions::default()).unwrap();
            looks.store(look + 1, Ordering::SeqCst);
            assert_eq!(
                report.answers.consistent.answer,
                CheckAnswer::Yes,
                "look {look}: {:?}",
                report.findings
            );
            assert_ne!(
                report.answers.signed_by.answer,
                CheckAnswer::No,
                "look {look}: {:?}",
                report.findings
            );
            assert_eq!(report.unsigned, 0, "look {look}");
            // A prompt that has no answer yet is all that can be missing.
            let missing = report.findings.iter().find(|finding| {
                finding.question != AuditQuestion::Complete
                    || !finding.expected.contains("with its seq")
            });
            assert!(missing.is_none(), "look {look}: {missing:?}");
        }
    });
    let report = verify_in_use(&evidence, VerifyOptions::default()).unwrap();
    assert!(
        report.passes() && report.newer == 0,
        "{:?}",
        report.findings
    );
}
