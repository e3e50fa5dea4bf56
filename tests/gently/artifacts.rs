//! The door for artifacts: numbered, committed to, and refused when the record speaks against them.

use gently::govern::sanitize::redact;
use gently::record::ledger::commitment::{Role, Salt, commit};
use gently::record::time::Seconds;
use gently::recorder::{ArtifactField, ArtifactId, NewArtifact, RecorderError, always};
use gently::store::ReadStore;

use crate::recorder::{Rig, anchor, at, wait};

fn note(text: &str, now: Seconds) -> NewArtifact {
    NewArtifact {
        kind: "note",
        id: ArtifactId::Next { prefix: "note" },
        content: vec![
            ("text", ArtifactField::Text(redact(text).clean)),
            ("lines", ArtifactField::Number(1)),
            ("of", ArtifactField::Null),
        ],
        session: None,
        salt: Salt::new([7; 32]),
        now,
    }
}

#[test]
fn artifacts_are_numbered_by_kind_and_opened_by_their_salt() {
    let rig = Rig::new();
    let recorder = rig.recorder(at(10));
    let (first, second, third) = wait(async {
        let session = recorder
            .open_session(rig.terms(), anchor(829_604), at(10))
            .await
            .unwrap();
        let first = recorder
            .artifact(note("one", at(11)), always)
            .await
            .unwrap();
        let inside = NewArtifact {
            session: Some(session.id),
            ..note("my password is hunter2hunter2", at(12))
        };
        let second = recorder.artifact(inside, always).await.unwrap();
        let state = NewArtifact {
            id: ArtifactId::Of("note:000001".into()),
            kind: "note_closed",
            ..note("x", at(13))
        };
        let third = recorder.artifact(state, always).await.unwrap();
        (first, second, third)
    });
    drop(recorder);
    assert_eq!(
        [&first, &second, &third].map(|a| a.document.id.as_str()),
        ["note:000001", "note:000002", "note:000001"]
    );
    assert!(!second.document.content.to_string().contains("hunter2"));
    let row = rig.store().newest_artifact("note").unwrap().unwrap();
    let (salt, text) = (row.salt.unwrap(), row.document.unwrap());
    let scheme = gently::record::ledger::commitment::Scheme::HmacSha256;
    assert_eq!(
        commit(scheme, &salt, Role::Artifact, text.as_bytes()),
        row.commitment
    );
    let log = String::from_utf8(rig.log()).unwrap();
    let lines: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("|artifact|") && line.contains("note"))
        .collect();
    assert!(
        lines[0].contains("|0|") || lines[0].contains("|829604|"),
        "{}",
        lines[0]
    );
    assert!(
        lines[0].contains("|-|kind:note,id:note:000001,hash:") && !lines[1].contains("|-|"),
        "{lines:?}"
    );
    rig.assert_sound("artifacts inside and outside of a session");
}

#[test]
fn what_the_record_speaks_against_is_not_recorded() {
    let rig = Rig::new();
    let recorder = rig.recorder(at(10));
    let before = rig.log();
    let refused = wait(recorder.artifact(note("one", at(11)), |_: &ReadStore| {
        Ok(Some("there is one".to_owned()))
    }));
    assert!(
        matches!(
            refused,
            Err(RecorderError::NotRecorded(_) | RecorderError::NotAllowed { .. })
        ),
        "{refused:?}"
    );
    let gone = gently::record::hash::Hash32::digest(b"no session");
    let refused = wait(recorder.artifact(
        NewArtifact {
            session: Some(gone),
            ..note("two", at(12))
        },
        always,
    ));
    assert!(refused.unwrap_err().to_string().contains("is not open"));
    drop(recorder);
    assert_eq!(rig.log(), before);
}
