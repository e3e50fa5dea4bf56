//! Verifier keys and cosignatures: known forms, and one-character mistakes.

use ed25519_dalek::{Signer, SigningKey};

use super::*;
use crate::record::tree;

fn key(seed: u8) -> (SigningKey, PublicKey) {
    let secret = SigningKey::from_bytes(&[seed; 32]);
    let public = PublicKey::from_bytes(secret.verifying_key().to_bytes());
    (secret, public)
}

fn witness(seed: u8, name: &str) -> VerifierKey {
    VerifierKey {
        name: name.to_owned(),
        kind: KeyKind::Cosigner,
        key: key(seed).1,
    }
}

/// The line of a witness that signs as it should.
fn cosignature(head: &SignedNote, seed: u8, name: &str, time: u64) -> NoteSignature {
    let body = tree::note_body(&head.origin, head.size, head.root);
    let signature = key(seed)
        .0
        .sign(format!("cosignature/v1\ntime {time}\n{body}").as_bytes());
    let signature = [&time.to_be_bytes()[..], &signature.to_bytes()].concat();
    NoteSignature {
        name: name.to_owned(),
        key_id: witness(seed, name).id(),
        signature,
    }
}

fn head() -> SignedNote {
    let (secret, public) = key(0x22);
    let sign = |body: &[u8]| {
        Ok::<_, std::convert::Infallible>(Signature::from_bytes(secret.sign(body).to_bytes()))
    };
    tree::parse_note(
        &tree::note("gently/test", 58, Hash32::digest(b"root"), &public, &sign).unwrap(),
    )
    .unwrap()
}

#[test]
fn a_verifier_key_has_one_spelling() {
    for kind in [KeyKind::Log, KeyKind::Cosigner] {
        let key = VerifierKey {
            kind,
            ..witness(7, "witness.example/w1")
        };
        let text = key.print();
        assert_eq!(VerifierKey::parse(&text).unwrap(), key);
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            let changed = String::from_utf8(bytes).unwrap();
            assert!(VerifierKey::parse(&changed).is_err(), "{changed}");
        }
        for wrong in [
            "",
            "a",
            "a+b",
            &text[..text.len() - 1],
            &format!("{text}="),
            &format!(" {text}"),
        ] {
            assert!(VerifierKey::parse(wrong).is_err(), "{wrong}");
        }
    }
    // The example of the document: PeterNeumann's key of the Go checksum database has kind 01.
    let known = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    assert_eq!(VerifierKey::parse(known).unwrap().print(), known);
}

#[test]
fn cosignatures_count_for_their_key_and_head_only() {
    let (head, name) = (head(), "witness.example/w1");
    let line = cosignature(&head, 7, name, 1_679_315_147);
    assert_eq!(NoteSignature::parse(line.print().trim_end()).unwrap(), line);
    assert_eq!(
        line.cosigned_at(&head, &witness(7, name)),
        Some(1_679_315_147)
    );
    assert_eq!(line.cosigned_at(&head, &witness(8, name)), None);
    assert_eq!(line.cosigned_at(&head, &witness(7, "other")), None);
    assert_eq!(
        line.cosigned_at(
            &head,
            &VerifierKey {
                kind: KeyKind::Log,
                ..witness(7, name)
            }
        ),
        None
    );
    assert_eq!(
        line.cosigned_at(
            &SignedNote {
                size: 59,
                ..head.clone()
            },
            &witness(7, name)
        ),
        None
    );
    for at in 0..line.signature.len() {
        let mut changed = line.clone();
        changed.signature[at] ^= 1;
        assert_eq!(changed.cosigned_at(&head, &witness(7, name)), None, "{at}");
    }
    let late = cosignature(&head, 7, name, 1 << 63);
    assert_eq!(late.cosigned_at(&head, &witness(7, name)), None);
}

#[test]
fn a_note_keeps_its_lines_and_reads_only_what_it_prints() {
    let head = head();
    let strange = NoteSignature {
        name: "new".to_owned(),
        key_id: [1, 2, 3, 4],
        signature: vec![6; 2428],
    };
    let others = vec![
        cosignature(&head, 7, "w1", 5),
        strange,
        cosignature(&head, 7, "w1", 9),
    ];
    let note = CosignedNote {
        head: head.clone(),
        others,
    };
    let text = note.print();
    assert_eq!(CosignedNote::parse(&text).unwrap(), note);
    assert_eq!(
        (
            note.cosigned_at(&witness(7, "w1")),
            note.cosigned_at(&witness(8, "w1"))
        ),
        (Some(9), None)
    );
    assert_eq!(CosignedNote::parse(&head.render()).unwrap().others, []);
    for (from, to) in [
        ("58", "058"),
        ("— w1 ", "- w1 "),
        ("— w1 ", "—  w1 "),
        ("=\n— new", "=\n\n— new"),
        ("=\n— new", "\n— new"),
    ] {
        assert!(text.contains(from), "{from:?}");
        assert!(
            CosignedNote::parse(&text.replacen(from, to, 1)).is_err(),
            "{from:?} -> {to:?}"
        );
    }
    assert!(CosignedNote::parse(text.trim_end()).is_err());
    let many = CosignedNote {
        others: vec![cosignature(&head, 7, "w1", 5); 64],
        head,
    };
    assert!(CosignedNote::parse(&many.print()).is_err());
}
