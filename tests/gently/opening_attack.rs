//! What passed for an opening and must not: each way to cheat has a file, and an answer that it
//! costs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use gently::record::bitcoin::block::{Header, Network};
use gently::record::hash::Hash32;
use gently::record::ledger::commitment::{Role, Scheme, TextOpening, commit_with_key};
use gently::record::ledger::opening::{EntryExtra, OpeningFile};
use gently::record::signature::PublicKey;
use gently::verify::{CheckAnswer, OpeningQuestion, OpeningReport, Trust, check_opening};
use serde_json::Value;

use crate::opening::both;
use crate::opening_forge::{Forge, NOW, mined, note_by, ots, public};
use crate::opening_time::cosign;
use crate::opening_vectors::vectors;

const DAY: u64 = 86_400;

/// A test ledger with a turn between two blocks of regtest, and lines behind it.
fn forge(commitments: Scheme) -> Forge {
    let mut forge = Forge::new(Network::Regtest, commitments, NOW);
    forge.start(
        Some((mined([1; 32], NOW - 600), 100, Network::Regtest)),
        NOW + 10,
    );
    forge
        .turn("What is 2+2?", Some("4"), NOW + 20)
        .turn("And 3+3?", Some("6"), NOW + 30);
    forge.turn("And 4+4?", None, NOW + 35);
    forge
        .end(
            Some((mined([2; 32], NOW + 30), 101, Network::Regtest)),
            NOW + 40,
        )
        .other(NOW + 50)
        .other(NOW + 60);
    forge
}

/// What a checker says who named the network, so that its blocks count.
fn said(file: &OpeningFile) -> OpeningReport {
    check_opening(
        file,
        Trust {
            network: Some(Network::Regtest),
            ..Trust::default()
        },
    )
}

fn word(report: &OpeningReport, about: OpeningQuestion) -> &'static str {
    report.to(about).answer.word()
}

/// Both verifiers on the file: these answers are *no*, and no other is.
#[track_caller]
fn costs(file: &OpeningFile, no: &[OpeningQuestion]) {
    let dir = tempfile::tempdir().unwrap();
    let path: PathBuf = dir.path().join("opening");
    std::fs::write(&path, file.print().unwrap()).unwrap();
    let (code, facts) = both(&path, &["--network", "regtest"]);
    let refuted: Vec<&str> = OpeningQuestion::ALL
        .into_iter()
        .map(OpeningQuestion::name)
        .filter(|name| facts["answers"][*name] == "no")
        .collect();
    let expected: Vec<&str> = no.iter().map(|about| about.name()).collect();
    assert_eq!(refuted, expected, "{facts:#}");
    let opens = !no.iter().any(|about| {
        [
            OpeningQuestion::Consistent,
            OpeningQuestion::Commitment,
            OpeningQuestion::TreeHead,
        ]
        .contains(about)
    });
    assert_eq!(code == 0, opens, "{facts:#}");
}

#[test]
fn an_honest_file_with_a_stamp_holds_on_a_network_that_was_named_and_on_no_other() {
    let forge = forge(Scheme::HmacSha256);
    let openings = [
        (1, Role::Prompt),
        (1, Role::Response),
        (1, Role::Exchange),
        (3, Role::Prompt),
        (3, Role::Exchange),
    ];
    let mut file = forge.file(&openings);
    forge.stamp(&mut file, 9, (102, NOW + 3000));
    file = OpeningFile::parse(file.print().unwrap().as_bytes()).unwrap();
    let report = said(&file);
    assert!(report.opens(), "{report:#?}");
    for about in [OpeningQuestion::NotBefore, OpeningQuestion::NotAfter] {
        assert_eq!(word(&report, about), "yes", "{report:#?}");
    }
    costs(&file, &[]);
    for network in [None, Some(Network::Signet)] {
        let report = check_opening(
            &file,
            Trust {
                network,
                ..Trust::default()
            },
        );
        assert!(report.opens());
        for about in [OpeningQuestion::NotBefore, OpeningQuestion::NotAfter] {
            assert_eq!(word(&report, about), "not checked");
            assert!(report.to(about).reason.contains("regtest"), "{report:#?}");
        }
    }
    // A prompt alone of a turn that failed comes with its outcome, and is stamped with or without
    // it.
    let mut prompt = forge.file(&[(3, Role::Prompt)]);
    forge.stamp(&mut prompt, 9, (102, NOW + 3000));
    assert_eq!(prompt.lines.len(), 5);
    assert!(said(&prompt).opens());
    prompt.lines[3].more = EntryExtra::Nothing;
    assert!(said(&prompt).opens());
}

/// A ledger of Bitcoin that calls itself regtest in the session's own document, with blocks made at
/// home.
#[test]
fn a_bitcoin_ledger_is_not_regtest_because_a_session_says_so() {
    let long_ago = 1_370_000_000; // 2013
    let mut forge = Forge::new(Network::Bitcoin, Scheme::HmacSha256, long_ago);
    forge.start(
        Some((mined([1; 32], long_ago), 1, Network::Regtest)),
        long_ago + 10,
    );
    forge
        .turn(
            "Who wins in 2024?",
            Some("I know it already"),
            long_ago + 20,
        )
        .other(long_ago + 30);
    let mut file = forge.file(&[(1, Role::Response)]);
    forge.stamp(&mut file, 5, (2, long_ago + 3000));
    for network in [None, Some(Network::Regtest)] {
        let report = check_opening(
            &file,
            Trust {
                network,
                ..Trust::default()
            },
        );
        for about in [
            OpeningQuestion::Consistent,
            OpeningQuestion::NotBefore,
            OpeningQuestion::NotAfter,
        ] {
            assert_eq!(word(&report, about), "no", "{report:#?}");
        }
    }
    costs(
        &file,
        &[
            OpeningQuestion::Consistent,
            OpeningQuestion::NotBefore,
            OpeningQuestion::NotAfter,
        ],
    );
    // On its own network, and by the genesis itself: a home-made block of 2013 proves nothing of a
    // line of 2024.
    let mut forge = Forge::new(Network::Regtest, Scheme::HmacSha256, NOW);
    forge.start(None, NOW).turn("Now?", Some("Now"), NOW + 1);
    let mut file = forge.file(&[(1, Role::Response)]);
    forge.stamp(&mut file, 4, (2, long_ago));
    costs(&file, &[OpeningQuestion::NotAfter]);
}

/// The stamped tree has another history: other later answers, another model, other flags.
#[test]
fn a_stamp_of_another_history_covers_nothing() {
    let honest = forge(Scheme::HmacSha256);
    let mut other = Forge::new(Network::Regtest, Scheme::HmacSha256, NOW);
    other.model = "another-70b".to_owned();
    other.start(
        Some((mined([1; 32], NOW - 600), 100, Network::Regtest)),
        NOW + 10,
    );
    other
        .turn("What is 2+2?", Some("4"), NOW + 20)
        .turn("And 3+3?", Some("6"), NOW + 30);
    for size in [5, 6] {
        // Proofs of either history under the other's root.
        let mut file = honest.file(&[(1, Role::Response)]);
        other.stamp(&mut file, size, (102, NOW + 3000));
        costs(
            &file,
            &[OpeningQuestion::Consistent, OpeningQuestion::NotAfter],
        );
        let mut file = honest.file(&[(1, Role::Response)]);
        honest.stamp_of(&mut file, other.tree_head(size), size, (102, NOW + 3000));
        costs(
            &file,
            &[OpeningQuestion::Consistent, OpeningQuestion::NotAfter],
        );
    }
    // A proof of something that is not the tree head beside it.
    let mut file = honest.file(&[(1, Role::Response)]);
    honest.stamp(&mut file, 9, (102, NOW + 3000));
    let (elsewhere, root) = ots(other.tree_head(6).as_bytes(), 102);
    let stamp = file.stamp.as_mut().unwrap();
    (stamp.ots, stamp.header) = (elsewhere, Some(mined(root, NOW + 3000)));
    costs(&file, &[OpeningQuestion::NotAfter]);
}

/// One commitment, two texts: as what it is under the key, and as bytes of which it would be the
/// SHA-256.
#[test]
fn a_commitment_opens_as_one_text() {
    for scheme in [Scheme::HmacSha256, Scheme::Sha256] {
        let forge = forge(scheme);
        let file = forge.file(&[(1, Role::Prompt)]);
        assert!(said(&file).opens());
        let mut changed = file.clone();
        changed.openings[0].key = match scheme {
            Scheme::HmacSha256 => None,
            Scheme::Sha256 => Some(Hash32::ZERO),
        };
        costs(&changed, &[OpeningQuestion::Commitment]);
        // By a genesis of the other scheme: the line names another.
        let other = match scheme {
            Scheme::HmacSha256 => Scheme::Sha256,
            Scheme::Sha256 => Scheme::HmacSha256,
        };
        let twin = self::forge(other);
        let mut changed = changed.clone();
        changed.documents[0] = twin.file(&[(1, Role::Prompt)]).documents[0].clone();
        let report = said(&changed);
        assert_eq!(word(&report, OpeningQuestion::Consistent), "no");
        assert!(!report.opens());
        // With its line, too, under a second root by the same key.
        changed.lines[0] = twin.file(&[(1, Role::Prompt)]).lines[0].clone();
        assert_eq!(word(&said(&changed), OpeningQuestion::Consistent), "no");
        // As a second first line beside the first.
        let mut changed = file.clone();
        changed.lines.insert(1, changed.lines[0].clone());
        changed.documents.insert(1, changed.documents[0].clone());
        assert_eq!(word(&said(&changed), OpeningQuestion::Consistent), "no");
        // Its root stamped: the first line is not under it.
        let mut changed = file;
        twin.stamp(&mut changed, 9, (102, NOW + 3000));
        costs(
            &changed,
            &[OpeningQuestion::Consistent, OpeningQuestion::NotAfter],
        );
    }
}

/// What the outer hash of an HMAC begins with, and a text, ground until the hash inside is spelled
/// in UTF-8: then all that HMAC hashes last is a text, too, and its SHA-256 is the same commitment.
/// It takes a hundred million tries.
const GROUND: (&[u8; 32], &str) = (
    b"Two texts by one commitment? No.",
    "I agree to all of it, reference 120518441",
);

/// The key, and the other text.
fn ground() -> (Hash32, String) {
    let key = GROUND.0.map(|byte| byte ^ 0x5c);
    let inner = [
        &key.map(|byte| byte ^ 0x36)[..],
        &[0x36; 32],
        GROUND.1.as_bytes(),
    ]
    .concat();
    let outer = [
        &GROUND.0[..],
        &[0x5c; 32],
        Hash32::digest(&inner).as_bytes(),
    ]
    .concat();
    (Hash32::from_bytes(key), String::from_utf8(outer).unwrap())
}

/// One commitment that really is of two texts, one by each scheme: the ledger's own scheme says
/// which it is.
#[test]
fn a_commitment_that_is_of_two_texts_opens_as_one() {
    let ((key, other), text) = (ground(), GROUND.1);
    assert_eq!(
        Hash32::digest(other.as_bytes()),
        commit_with_key(key, text.as_bytes())
    );
    let of = |scheme: Scheme| {
        let mut forge = Forge::new(Network::Regtest, scheme, NOW);
        forge.prompt_key = Some(key);
        let prompt = if scheme == Scheme::Sha256 {
            other.as_str()
        } else {
            text
        };
        forge.start(
            Some((mined([1; 32], NOW - 600), 100, Network::Regtest)),
            NOW + 10,
        );
        forge.turn(prompt, Some("Noted"), NOW + 20).other(NOW + 30);
        forge.file(&[(1, Role::Prompt)])
    };
    let (salted, plain) = (of(Scheme::HmacSha256), of(Scheme::Sha256));
    assert_eq!(salted.openings[0].commitment, plain.openings[0].commitment);
    for (honest, twin) in [(&salted, &plain), (&plain, &salted)] {
        costs(honest, &[]);
        // The other text, as the other scheme opens it.
        let mut changed = honest.clone();
        changed.openings[0] = TextOpening {
            session_id: honest.openings[0].session_id.clone(),
            ..twin.openings[0].clone()
        };
        costs(&changed, &[OpeningQuestion::Commitment]);
        // Under a genesis of the other scheme: its document; its line, too, which is under another
        // root; that root instead of the first.
        changed.documents[0] = twin.documents[0].clone();
        costs(
            &changed,
            &[
                OpeningQuestion::Consistent,
                OpeningQuestion::Commitment,
                OpeningQuestion::TreeHead,
            ],
        );
        changed.lines[0] = twin.lines[0].clone();
        costs(&changed, &[OpeningQuestion::Consistent]);
        changed.head = twin.head.clone();
        costs(&changed, &[OpeningQuestion::Consistent]);
    }
}

fn rotated() -> Forge {
    let mut forge = forge(Scheme::HmacSha256);
    forge.rotate(0x22, NOW + 100).other(NOW + 2 * 365 * DAY);
    forge
}

fn signed_by(file: &OpeningFile, pinned: &[PublicKey]) -> (bool, &'static str) {
    let report = check_opening(
        file,
        Trust {
            pinned: Some(pinned),
            ..Trust::default()
        },
    );
    (report.opens(), word(&report, OpeningQuestion::SignedBy))
}

/// Whoever has a key that was retired two years before can sign what he likes: the checker who
/// knows the newer key is told so.
#[test]
fn a_retired_key_is_not_the_ledgers_word() {
    let honest = rotated();
    let (old, new) = (public(&honest.keys[0]), public(&honest.keys[1]));
    let file = honest.file(&[(1, Role::Response)]);
    assert_eq!(signed_by(&file, &[old, new]), (true, "yes"));
    assert_eq!(signed_by(&file, &[new]), (true, "yes"));
    assert_eq!(signed_by(&file, &[old]), (true, "no"));
    assert_eq!(signed_by(&file, &[new, old]), (true, "not checked"));
    // A history without the rotation, made by the thief of the old key.
    let mut thief = forge(Scheme::HmacSha256);
    thief
        .turn("Did I agree?", Some("Yes"), NOW + 2 * 365 * DAY)
        .other(NOW + 2 * 365 * DAY);
    let file = thief.file(&[(1, Role::Response)]);
    assert_eq!(signed_by(&file, &[old, new]), (true, "not checked"));
    assert_eq!(signed_by(&file, &[new]), (true, "no"));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("opening");
    std::fs::write(&path, file.print().unwrap()).unwrap();
    let (code, facts) = both(
        &path,
        &["--signer", &old.to_string(), "--signer", &new.to_string()],
    );
    assert_eq!(
        (code, facts["answers"]["signed_by"].as_str()),
        (1, Some("not checked")),
        "{facts:#}"
    );
    assert!(
        facts["reasons"]["signed_by"]
            .as_str()
            .unwrap()
            .contains("retired"),
        "{facts:#}"
    );
    // By the old key behind the rotation, with the rotation in the file or without it.
    let mut late = honest.file(&[(1, Role::Response)]);
    late.head = honest.signed(honest.size(), 0);
    costs(&late, &[OpeningQuestion::TreeHead]);
    let mut without = late.clone();
    let at = without
        .lines
        .iter()
        .position(|entry| entry.text.contains("|key_rotate|"))
        .unwrap();
    without.lines.remove(at);
    without.documents.pop();
    assert_eq!(signed_by(&without, &[old, new]), (true, "not checked"));
    without.head = honest.tree_head(honest.size());
    costs(&without, &[OpeningQuestion::TreeHead]);
}

#[test]
fn a_rotation_without_its_own_tree_head_leads_to_no_key() {
    let forge = rotated();
    let honest = forge.file(&[(1, Role::Response)]);
    let at = honest
        .lines
        .iter()
        .position(|entry| entry.text.contains("|key_rotate|"))
        .unwrap();
    let index = honest.lines[at].index;
    let changed = |more: EntryExtra| {
        let mut file = honest.clone();
        file.lines[at].more = more;
        file
    };
    let rotation =
        |checkpoint: String, proof: Vec<Hash32>| EntryExtra::Rotation { checkpoint, proof };
    costs(&honest, &[]);
    costs(&changed(EntryExtra::Nothing), &[OpeningQuestion::TreeHead]);
    // By the new key; of another origin; of another size; with a proof of another line.
    let proof = forge.proof(index, index + 1);
    costs(
        &changed(rotation(forge.signed(index + 1, 1), proof.clone())),
        &[OpeningQuestion::TreeHead],
    );
    let both = [OpeningQuestion::Consistent, OpeningQuestion::TreeHead];
    costs(
        &changed(rotation(
            forge.tree_head(index),
            forge.proof(index - 1, index),
        )),
        &both,
    );
    costs(
        &changed(rotation(
            forge.tree_head(index + 1),
            forge.proof(index - 1, index + 1),
        )),
        &both,
    );
    costs(
        &changed(rotation(
            forge.tree_head(index + 2),
            forge.proof(index, index + 2),
        )),
        &[OpeningQuestion::TreeHead],
    );
    costs(
        &changed(rotation("no note".to_owned(), proof.clone())),
        &[OpeningQuestion::TreeHead],
    );
    let elsewhere = note_by(&forge.keys[0], "gently/elsewhere", index + 1, Hash32::ZERO);
    costs(&changed(rotation(elsewhere, proof)), &both);
    // A stamp's proof is no rotation's.
    costs(
        &changed(EntryExtra::Stamped(forge.proof(index, index + 1))),
        &both,
    );
    // The key that is rotated to was in force before, or the document names another old one.
    let mut back = rotated();
    back.rotate(0x11, NOW + 3 * 365 * DAY)
        .other(NOW + 3 * 365 * DAY);
    costs(
        &back.file(&[(1, Role::Response)]),
        &[OpeningQuestion::Consistent],
    );
}

/// A stranger who names a key of his own in a rotation, and stamps a tree head by it.
#[test]
fn a_stamp_behind_a_rotation_that_does_not_hold_shows_no_time() {
    let forge = rotated();
    let size = forge.size();
    let mut honest = forge.file(&[(1, Role::Response)]);
    forge.stamp(&mut honest, size, (102, NOW + 3 * 365 * DAY));
    costs(&honest, &[]);
    let at = honest
        .lines
        .iter()
        .position(|entry| entry.text.contains("|key_rotate|"))
        .unwrap();
    let index = honest.lines[at].index;
    let changed = |more: EntryExtra| {
        let mut file = honest.clone();
        file.lines[at].more = more;
        file
    };
    let all = [
        OpeningQuestion::Consistent,
        OpeningQuestion::TreeHead,
        OpeningQuestion::NotAfter,
    ];
    costs(&changed(EntryExtra::Nothing), &all);
    let rotation =
        |checkpoint: String, proof: Vec<Hash32>| EntryExtra::Rotation { checkpoint, proof };
    let proof = forge.proof(index, index + 1);
    costs(&changed(rotation(forge.signed(index + 1, 1), proof)), &all);
    costs(
        &changed(rotation(
            forge.tree_head(index + 1),
            forge.proof(index - 1, index + 1),
        )),
        &all,
    );
}

/// Under a head that ends with the rotation's line, the old key is still the right one.
#[test]
fn a_rotations_own_line_is_the_old_keys() {
    let mut forge = forge(Scheme::HmacSha256);
    forge.rotate(0x22, NOW + 100);
    let mut file = forge.file(&[(1, Role::Response)]);
    let old = public(&forge.keys[0]);
    assert_eq!(signed_by(&file, &[old]), (true, "yes"));
    assert_eq!(
        signed_by(&file, &[old, public(&forge.keys[1])]),
        (true, "not checked")
    );
    file.head = forge.signed(forge.size(), 1);
    costs(&file, &[OpeningQuestion::TreeHead]);
}

#[test]
fn a_stamp_is_of_this_ledger_no_larger_than_the_head_and_all_that_is_opened_is_under_it() {
    let forge = rotated();
    let size = forge.size();
    let stamped = |size: u64| {
        let mut file = forge.file(&[(1, Role::Response)]);
        forge.stamp(&mut file, size, (102, NOW + 3000));
        file
    };
    costs(&stamped(9), &[]);
    let both = [OpeningQuestion::Consistent, OpeningQuestion::NotAfter];
    // Larger than the head.
    let mut larger = forge.clone();
    larger.other(NOW + 2 * 365 * DAY);
    let mut file = forge.file(&[(1, Role::Response)]);
    larger.stamp(&mut file, size + 1, (102, NOW + 3000));
    costs(&file, &both);
    // Two roots of one size: of the head, and of the rotation's own.
    let mut twin = self::forge(Scheme::HmacSha256);
    twin.other(NOW + 100).other(NOW + 2 * 365 * DAY);
    let index = size - 2;
    for size in [index + 1, size] {
        let mut file = forge.file(&[(1, Role::Response)]);
        let note = note_by(
            &forge.keys[usize::from(size > index + 1)],
            &forge.genesis.origin,
            size,
            root(&twin, size),
        );
        twin.stamp_of(&mut file, note, size, (102, NOW + 3000));
        costs(&file, &both);
    }
    // Missing or failing proofs of what has to have one.
    for at in 0..3 {
        let mut file = stamped(9);
        assert!(
            matches!(file.lines[at].more, EntryExtra::Stamped(_)),
            "{at}"
        );
        file.lines[at].more = EntryExtra::Nothing;
        costs(&file, &both);
        let mut file = stamped(9);
        let EntryExtra::Stamped(proof) = &mut file.lines[at].more else {
            panic!()
        };
        proof[0] = Hash32::ZERO;
        costs(&file, &both);
    }
    // One that nothing asks for, at the session's end; and one without any stamp.
    let mut file = stamped(9);
    let end = file
        .lines
        .iter()
        .position(|entry| entry.text.contains("|session_end|"))
        .unwrap();
    file.lines[end].more = EntryExtra::Stamped(forge.proof(file.lines[end].index, 9));
    costs(&file, &[OpeningQuestion::Consistent]);
    let mut file = stamped(9);
    file.stamp = None;
    costs(&file, &[OpeningQuestion::Consistent]);
    // By another key, of another origin, no tree head at all.
    for checkpoint in [
        forge.signed(9, 1),
        note_by(&forge.keys[0], "gently/elsewhere", 9, root(&forge, 9)),
        "rubbish".to_owned(),
    ] {
        let mut file = forge.file(&[(1, Role::Response)]);
        forge.stamp_of(&mut file, checkpoint, 9, (102, NOW + 3000));
        costs(&file, &both);
    }
    // From before the opened line.
    let mut file = forge.file(&[(2, Role::Response)]);
    forge.stamp(&mut file, 4, (102, NOW + 3000));
    costs(&file, &both);
}

fn root(forge: &Forge, size: u64) -> Hash32 {
    gently::record::tree::parse_note(&forge.tree_head(size))
        .unwrap()
        .root
}

#[test]
fn not_after_is_never_before_not_before_nor_before_the_line() {
    let forge = forge(Scheme::HmacSha256);
    let stamped = |height: u32, time: u64| {
        let mut file = forge.file(&[(1, Role::Response)]);
        forge.stamp(&mut file, 9, (height, time));
        file
    };
    costs(&stamped(102, NOW + 20), &[]);
    // The start is on block 100 of NOW - 600.
    for (height, time) in [(99, NOW + 3000), (102, NOW - 601), (102, NOW - 365 * DAY)] {
        costs(&stamped(height, time), &[OpeningQuestion::NotAfter]);
    }
    // A line of after the block that it is said to be in: the clock was fast.
    let mut forge = Forge::new(Network::Regtest, Scheme::HmacSha256, NOW);
    forge
        .start(None, NOW)
        .turn("Early", Some("Early"), NOW + 10)
        .turn("Late", Some("Late"), NOW + 10_000);
    for (seq, no) in [(1, &[][..]), (2, &[OpeningQuestion::NotAfter])] {
        let mut file = forge.file(&[(seq, Role::Response)]);
        forge.stamp(&mut file, 6, (102, NOW + 100));
        costs(&file, no);
    }
}

/// A witness may have seen a tree before the block that the session names by its header's time:
/// then he shows no time.
#[test]
fn what_witnesses_saw_is_not_before_the_sessions_block() {
    // A line may be up to two hours before the time in its block's header.
    let mined_at = NOW + 7000;
    let mut forge = Forge::new(Network::Regtest, Scheme::HmacSha256, NOW);
    forge.start(
        Some((mined([1; 32], mined_at), 100, Network::Regtest)),
        NOW + 10,
    );
    forge.turn("When?", Some("Now"), NOW + 20);
    let dir = tempfile::tempdir().unwrap();
    let (path, policy) = (dir.path().join("opening"), dir.path().join("policy"));
    for (seen, not_after) in [
        (NOW + 30, "not checked"),
        (mined_at - 1, "not checked"),
        (mined_at, "yes"),
    ] {
        let mut file = forge.file(&[(1, Role::Response)]);
        let (head, key) = cosign(&file.head, 1, seen);
        file.head = head;
        std::fs::write(&path, file.print().unwrap()).unwrap();
        std::fs::write(&policy, format!("witness a {key}\nquorum a\n")).unwrap();
        let (code, facts) = both(
            &path,
            &["--network", "regtest", "--policy", policy.to_str().unwrap()],
        );
        let said = ["cosigned_by", "not_before", "not_after"]
            .map(|about| facts["answers"][about].as_str().unwrap());
        assert_eq!(
            (code, said),
            (0, ["yes", "yes", not_after]),
            "{seen}: {facts:#}"
        );
    }
}

#[test]
fn a_session_is_not_from_before_its_block() {
    let ahead = |seconds: u64| {
        let mut forge = Forge::new(Network::Regtest, Scheme::HmacSha256, NOW);
        forge.start(
            Some((mined([1; 32], NOW + seconds), 100, Network::Regtest)),
            NOW,
        );
        forge.turn("When?", Some("Now"), NOW + 1);
        forge.file(&[(1, Role::Response)])
    };
    costs(&ahead(7200), &[]);
    costs(&ahead(7201), &[OpeningQuestion::Consistent]);
    // One block at two heights.
    let header = mined([1; 32], NOW);
    let mut forge = Forge::new(Network::Regtest, Scheme::HmacSha256, NOW);
    forge
        .start(Some((header, 100, Network::Regtest)), NOW)
        .turn("When?", Some("Now"), NOW + 1);
    forge.end(Some((header, 101, Network::Regtest)), NOW + 2);
    costs(
        &forge.file(&[(1, Role::Response)]),
        &[OpeningQuestion::Consistent],
    );
}

/// Real blocks of Bitcoin, at heights and times that are somebody's word.
#[test]
fn on_bitcoin_height_time_and_work_belong_together() {
    let real: Header = "010000006fe28c0ab6f1b372c1a6a246ae63f74f931e8365e15a089c68d6190000000000982051fd1e4ba744bbbe680e1fee14677ba1a3c3540bf7b1cdb606e857233e0e61bc6649ffff001d01e36299".parse().unwrap();
    let time = real.fields().time.get();
    let opened = |header: Header, height: u32, time: u64| {
        let mut forge = Forge::new(Network::Bitcoin, Scheme::HmacSha256, time);
        forge
            .start(Some((header, height, Network::Bitcoin)), time + 10)
            .turn("When?", Some("Now"), time + 20);
        forge.file(&[(1, Role::Response)])
    };
    // The block of 2009 in its place: its work is next to nothing today.
    let report = check_opening(&opened(real, 1, time), Trust::default());
    assert_eq!(
        (report.opens(), word(&report, OpeningQuestion::NotBefore)),
        (true, "not checked")
    );
    assert!(
        report
            .to(OpeningQuestion::NotBefore)
            .reason
            .contains("cheap work"),
        "{report:#?}"
    );
    // With a chain of headers at hand its height is known, and the work is that of its time.
    let chain = BTreeMap::from([(1, real)]);
    let report = check_opening(
        &opened(real, 1, time),
        Trust {
            chain: Some(&chain),
            ..Trust::default()
        },
    );
    assert_eq!(
        word(&report, OpeningQuestion::NotBefore),
        "yes",
        "{report:#?}"
    );
    // Far beyond the table, where nothing was asked of it.
    let report = check_opening(&opened(real, 1_100_000, NOW), Trust::default());
    assert_eq!(
        word(&report, OpeningQuestion::Consistent),
        "no",
        "{report:#?}"
    );
    assert_ne!(word(&report, OpeningQuestion::NotBefore), "yes");
    costs(
        &opened(real, 1_100_000, NOW),
        &[OpeningQuestion::Consistent],
    );
}

/// Answers, worse to better.
fn rank(answer: CheckAnswer) -> u8 {
    match answer {
        CheckAnswer::No => 0,
        CheckAnswer::NotChecked => 1,
        CheckAnswer::Partly => 2,
        CheckAnswer::Yes | CheckAnswer::YesSince => 3,
    }
}

/// Another value of the same kind, a few of them.
fn others(value: &Value) -> Vec<Value> {
    match value {
        Value::String(text) => {
            let mut changed = vec![Value::from("")];
            for at in [
                0,
                text.len() / 3,
                text.len() / 2,
                text.len().saturating_sub(1),
            ] {
                let at = (0..=at)
                    .rev()
                    .find(|at| text.is_char_boundary(*at))
                    .unwrap_or_default();
                let Some(old) = text[at..].chars().next() else {
                    continue;
                };
                let new = if old == '1' { '2' } else { '1' };
                changed.push(Value::from(format!(
                    "{}{new}{}",
                    &text[..at],
                    &text[at + old.len_utf8()..]
                )));
                changed.push(Value::from(format!(
                    "{}{}",
                    &text[..at],
                    &text[at + old.len_utf8()..]
                )));
            }
            changed
        }
        Value::Number(number) => {
            let number = number.as_u64().unwrap();
            vec![
                Value::from(number + 1),
                Value::from(number.saturating_sub(1)),
                Value::from(0),
            ]
        }
        Value::Bool(flag) => vec![Value::from(!flag)],
        Value::Null => vec![Value::from("1"), Value::from(1)],
        Value::Array(list) => {
            let mut changed = Vec::new();
            for at in 0..list.len() {
                let mut without = list.clone();
                without.remove(at);
                let mut twice = list.clone();
                twice.insert(at, list[at].clone());
                changed.extend([Value::from(without), Value::from(twice)]);
                for other in at + 1..list.len() {
                    let mut swapped = list.clone();
                    swapped.swap(at, other);
                    changed.push(Value::from(swapped));
                }
            }
            changed
        }
        Value::Object(map) => {
            let mut changed = vec![Value::Null];
            for key in map.keys() {
                let mut without = map.clone();
                without.remove(key);
                changed.push(Value::from(without));
            }
            changed
        }
    }
}

/// Where every value of a document stands.
fn pointers(value: &Value, path: &str, found: &mut Vec<String>) {
    found.push(path.to_owned());
    match value {
        Value::Object(map) => map
            .iter()
            .for_each(|(key, value)| pointers(value, &format!("{path}/{key}"), found)),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .for_each(|(n, value)| pointers(value, &format!("{path}/{n}"), found)),
        _ => {}
    }
}

/// What somebody reads out of a file that opens: texts, times, models, flags.
fn told(file: &OpeningFile, report: &OpeningReport) -> Option<Vec<String>> {
    if !report.opens() {
        return None;
    }
    let mut told: Vec<String> = Vec::new();
    for opening in &file.openings {
        told.push(format!("{opening:?}"));
    }
    told.extend(
        file.lines
            .iter()
            .map(|entry| format!("{} {}", entry.index, entry.text)),
    );
    told.extend(
        file.documents
            .iter()
            .map(|document| format!("{document:?}")),
    );
    Some(told)
}

/// Whatever is changed, dropped, doubled or swapped: nothing else is told, and no answer is better.
#[track_caller]
fn is_firm(name: &str, file: &OpeningFile, trust: Trust<'_>) -> usize {
    let honest = check_opening(file, trust);
    let known = told(file, &honest).expect(name);
    let document: Value = serde_json::from_str(&file.print().unwrap()).unwrap();
    let (mut places, mut opened) = (Vec::new(), 0);
    pointers(&document, "", &mut places);
    for place in &places {
        for other in others(document.pointer(place).unwrap()) {
            let mut changed = document.clone();
            *changed.pointer_mut(place).unwrap() = other;
            if changed == document {
                continue;
            }
            let text = gently::record::canon::print(&changed).unwrap() + "\n";
            let Ok(read) = OpeningFile::parse(text.as_bytes()) else {
                continue;
            };
            let report = check_opening(&read, trust);
            let what = || format!("{name}{place}: {:?}\n{report:#?}", changed.pointer(place));
            for about in OpeningQuestion::ALL {
                let (was, is) = (honest.to(about).answer, report.to(about).answer);
                assert!(rank(is) <= rank(was), "{about:?} is better: {}", what());
            }
            if let Some(tale) = told(&read, &report) {
                // Of several openings some may be left out with what only they need.
                assert!(
                    tale.iter().all(|one| known.contains(one)),
                    "another tale: {}",
                    what()
                );
                opened += 1;
            }
        }
    }
    opened
}

#[test]
fn no_mutation_of_an_honest_file_tells_anything_else() {
    let (files, signers) = vectors();
    for (name, file) in &files {
        let trust = Trust {
            pinned: Some(&signers),
            ..Trust::default()
        };
        assert!(is_firm(name, file, trust) < 40, "{name}");
    }
    let forge = rotated();
    let mut file = forge.file(&[(1, Role::Prompt), (1, Role::Exchange), (3, Role::Prompt)]);
    forge.stamp(&mut file, 9, (102, NOW + 3000));
    let keys: Vec<PublicKey> = forge.keys.iter().map(public).collect();
    for network in [Some(Network::Regtest), None] {
        let opened = is_firm(
            "stamped",
            &file,
            Trust {
                pinned: Some(&keys),
                network,
                ..Trust::default()
            },
        );
        assert!(opened > 0, "a file without its stamp still opens");
    }
}

/// A turn that is answered and one that fails, both with all that can be opened of them.
fn with_both(scheme: Scheme, change: fn(String) -> String) -> Forge {
    let mut forge = Forge::new(Network::Regtest, scheme, NOW);
    forge.exchange = Some(change);
    forge.start(
        Some((mined([1; 32], NOW - 600), 100, Network::Regtest)),
        NOW + 10,
    );
    forge
        .turn("What is 2+2?", Some("4"), NOW + 20)
        .turn("And 3+3?", Some("6"), NOW + 30)
        .turn("And 4+4?", None, NOW + 35);
    forge
}

/// Nothing in the ledger carries a request or a reply but the exchange document of the turn, so it
/// has to be there, be the one on record, and name them in the one spelling that there is.
#[test]
fn a_request_and_a_reply_stand_behind_the_exchange_document_that_names_them() {
    use Role::{Exchange, Prompt, Reply, Request, Response};
    let whole = [
        (1, Prompt),
        (1, Response),
        (1, Exchange),
        (1, Request),
        (1, Reply),
        (2, Exchange),
        (2, Reply),
        (3, Prompt),
        (3, Exchange),
        (3, Request),
    ];
    for scheme in [Scheme::HmacSha256, Scheme::Sha256] {
        costs(&with_both(scheme, |text| text).file(&whole), &[]);
    }
    let forge = with_both(Scheme::HmacSha256, |text| text);
    let (no_order, no_text) = (
        &[OpeningQuestion::Consistent][..],
        &[OpeningQuestion::Commitment][..],
    );
    for (openings, no) in [
        // Without the document, or with that of another turn only.
        (vec![(1, Request)], no_text),
        (vec![(1, Prompt), (1, Reply)], no_text),
        (vec![(3, Request)], no_text),
        (vec![(1, Exchange), (2, Request)], no_text),
        (vec![(1, Request), (2, Exchange)], no_text),
        // In another order, or twice.
        (vec![(1, Request), (1, Exchange)], no_order),
        (vec![(1, Exchange), (1, Reply), (1, Request)], no_order),
        (vec![(1, Exchange), (1, Request), (1, Request)], no_order),
        (vec![(1, Exchange), (1, Exchange), (1, Request)], no_order),
        (
            vec![(3, Exchange), (3, Request), (3, Prompt)],
            &[OpeningQuestion::Consistent],
        ),
    ] {
        costs(&forge.file(&openings), no);
    }
    let honest = forge.file(&[(1, Exchange), (1, Request), (1, Reply)]);
    let with = |at: usize, text: &str| {
        let mut file = honest.clone();
        file.openings[at].text = text.to_owned();
        file
    };
    let texts: Vec<&str> = honest
        .openings
        .iter()
        .map(|one| one.text.as_str())
        .collect();
    // The exchange document of another turn in its place, with its own key and commitment or without.
    let other = forge.opening(2, Exchange);
    costs(&with(0, &other.text), no_text);
    let mut file = honest.clone();
    file.openings[0] = TextOpening {
        seq: Some(1),
        ..other
    };
    costs(&file, no_text);
    let report = said(&file);
    assert!((0..3).all(|at| !report.text_opens(at)), "{report:#?}");
    // One byte; the texts of both exchanged; one under the other's name.
    costs(
        &with(0, &texts[0].replace("\"seq\":1", "\"seq\":2")),
        no_text,
    );
    costs(&with(1, &texts[1].replace("[]", "[ ]")), no_text);
    costs(&with(2, texts[1]), no_text);
    let mut file = honest.clone();
    file.openings[1].role = Reply;
    file.openings.truncate(2);
    costs(&file, no_text);
    let report = said(&file);
    assert!(report.text_opens(0) && !report.text_opens(1), "{report:#?}");
    // What its owner has put on record himself, and is no document that names them.
    let spelled: [fn(String) -> String; 14] = [
        |text| {
            text.replace("\"request\":", "\"requests\":")
                .replace("\"reply\":", "\"replies\":")
        },
        |text| text.replace("{\"reply\":", "{\"beside\":\"\",\"reply\": "),
        |text| format!("{text}\n"),
        |text| format!(" {text}"),
        |text| format!("[{text}]"),
        |text| text.replace("{\"reply\"", "{\"\\u0072eply\""),
        |text| text.replace("\"seq\":", "\"seq\":0,\"seq\":"),
        |text| text.replace("\"seq\":", "\"part\":0,\"seq\":"),
        |text| {
            text.replace("\"seq\":1", "\"seq\":1.0")
                .replace("\"seq\":3", "\"seq\":3e0")
        },
        |text| {
            text.replace("\"reply\":\"", "\"reply\":\"A")
                .replace("\"request\":\"", "\"request\":\"A")
        },
        |text| text.replace("\":\"", "\":[\"").replace("\",", "\"],"),
        |text| text.replace("\"seq\":", "\"seq\":\"\\ud800\",\"t\":"),
        |text| {
            format!(
                "{{\"a\":{}{},{}",
                "[".repeat(127),
                "]".repeat(127),
                &text[1..]
            )
        },
        |_| String::new(),
    ];
    for (n, change) in spelled.into_iter().enumerate() {
        let forge = with_both(Scheme::HmacSha256, change);
        costs(&forge.file(&[(1, Exchange), (3, Exchange)]), &[]);
        for openings in [[(1, Exchange), (1, Request)], [(3, Exchange), (3, Request)]] {
            let file = forge.file(&openings);
            costs(&file, no_text);
            let report = said(&file);
            assert!(
                report.text_opens(0) && !report.text_opens(1),
                "{n}: {report:#?}"
            );
        }
    }
    // As deep as anything is read, and with members of every kind beside, it names them.
    let spelled: [fn(String) -> String; 2] = [
        |text| {
            format!(
                "{{\"a\":{}{},{}",
                "[".repeat(126),
                "]".repeat(126),
                &text[1..]
            )
        },
        |text| {
            text.replace(
                "\"seq\":",
                "\"rest\":[null,true,-1,0.5,1e+21,\"\u{e9}\\n\",{}],\"seq\":",
            )
        },
    ];
    for change in spelled {
        costs(&with_both(Scheme::HmacSha256, change).file(&whole), &[]);
    }
}
