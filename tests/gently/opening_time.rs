//! When an opened text was made: blocks, timestamps and cosignatures that travel with it.

use std::process::Command;

use ed25519_dalek::{Signer as _, SigningKey};
use gently::anchor::headers_store::HeadersStore;
use gently::record::bitcoin::block::{Header, Network};
use gently::record::hash::Hash32;
use gently::record::ots::{Attestation, FileHash, Op, Proof, ProofNode};
use gently::record::signature::PublicKey;
use gently::record::time::Seconds;
use gently::record::tree::note::{CosignedNote, KeyKind, NoteSignature, VerifierKey};
use gently::record::tree::note_body;
use serde_json::{Value, json};

use crate::model_server::Behaviour;
use crate::opening::{around, both, check, document, holds, open, served, signer};
use crate::person::Person;

/// Puts a note on a commit, as other programs do.
fn note(person: &Person, name: &str, commit: &str, bytes: &[u8]) {
    let file = person.dir.path().join("note");
    std::fs::write(&file, bytes).unwrap();
    let git = |args: &[&str]| {
        let output = Command::new("git")
            .arg("-C")
            .arg(person.at("ledger.git"))
            .args(["-c", "user.name=x", "-c", "user.email=x@example.invalid"])
            .args(args)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let blob = git(&["hash-object", "-w", file.to_str().unwrap()]);
    git(&[
        "notes",
        &format!("--ref={name}"),
        "add",
        "-f",
        "-C",
        &blob,
        commit,
    ]);
}

/// Tip of `main`, and SHA-256 of its tree head: what is stamped.
fn tip(person: &Person) -> (String, String) {
    let commit = person
        .git(&["rev-parse", "main"])
        .exits(0)
        .out
        .trim()
        .to_owned();
    let head = person.git(&["show", "main:checkpoint"]).exits(0).out;
    (commit, Hash32::digest(head.as_bytes()).to_string())
}

/// A block of regtest on top of its first one, made now, with this Merkle root: found in two tries
/// or so.
fn mined(root: [u8; 32]) -> (Header, Header) {
    let first = bitcoin::constants::genesis_block(bitcoin::Network::Regtest).header;
    let first = Header::from_bytes(bitcoin::consensus::serialize(&first).try_into().unwrap());
    let mut prev = *first.hash().as_bytes();
    prev.reverse();
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let time = u32::try_from(now).unwrap().to_le_bytes();
    for nonce in 0u32.. {
        let parts = [
            &[0, 0, 0, 0x20][..],
            &prev,
            &root,
            &time,
            &0x207f_ffffu32.to_le_bytes(),
            &nonce.to_le_bytes(),
        ];
        let header = Header::from_bytes(parts.concat().try_into().unwrap());
        if header.hash().as_bytes()[0] < 0x7f {
            return (first, header);
        }
    }
    unreachable!()
}

/// A proof that this digest is in block 1, by a few operations; and the root.
fn proof(digest: &str, more: Option<Attestation>) -> (Vec<u8>, [u8; 32]) {
    let digest = hex::decode(digest).unwrap();
    let path = [
        Op::Append(vec![7; 32]),
        Op::Sha256,
        Op::Prepend(b"in front".to_vec()),
        Op::Sha256,
    ];
    let root = path
        .iter()
        .fold(digest.clone(), |message, op| op.apply(&message).unwrap());
    let mut tree = ProofNode::chain(path.into_iter(), Attestation::Bitcoin { height: 1 });
    tree.attestations.extend(more);
    (
        Proof {
            file_hash: FileHash::Sha256,
            digest,
            tree,
        }
        .print(),
        root.try_into().unwrap(),
    )
}

/// A regtest home; sessions of so many turns, each closed and stamped, its blocks on no block.
fn stamped(turns: usize) -> (Person, crate::model_server::ModelServer) {
    let (person, server) = served(Behaviour::Good);
    person.gently(&["init", "--network", "regtest"]).exits(0);
    for n in 0..turns {
        person.ask(&format!("Question {n}"));
    }
    person.gently(&["ask", " "]).exits(1);
    person.gently(&["session", "close"]).exits(0);
    let (commit, log) = tip(&person);
    let pending = Attestation::Pending {
        uri: "https://calendar.example.invalid".to_owned(),
    };
    let (ots, root) = proof(&log, Some(pending));
    note(&person, "ots", &commit, &ots);
    let (first, block) = mined(root);
    HeadersStore::create(&person.at("headers"), Network::Regtest, 0)
        .unwrap()
        .append(&[first, block])
        .unwrap();
    (person, server)
}

#[test]
fn a_session_on_a_block_opens_with_its_header() {
    let (mut person, _server) = served(Behaviour::Good);
    let headers = person.headers(829_604..=829_619);
    person.set("GENTLY_ANCHOR_MODE", "auto");
    person.set("GENTLY_ANCHOR_ESPLORA", "[]");
    person.set("GENTLY_ANCHOR_HEADERS", headers.to_str().unwrap());
    person.ask("When is this?");
    let file = open(&person, "anchored", &["last", "1"]);
    let facts = holds(&person, &file);
    assert_eq!(facts["answers"]["not_before"], "yes", "{facts}");
    assert!(
        facts["reasons"]["not_before"]
            .as_str()
            .unwrap()
            .contains("block 829"),
        "{facts}"
    );
    // Another block's header, and none.
    let changed = |name: &str, change: &dyn Fn(&mut Value)| {
        let mut changed = document(&file);
        change(&mut changed);
        let path = person.dir.path().join(name);
        std::fs::write(
            &path,
            gently::record::canon::print(&changed).unwrap() + "\n",
        )
        .unwrap();
        both(&path, &["--signer", &signer(&person)])
    };
    let (height, other) = (
        document(&file)["headers"][0][0].clone(),
        json!("0".repeat(160)),
    );
    for (name, headers) in [("none", json!([])), ("zeros", json!([[height, other]]))] {
        let (code, facts) = changed(name, &|file| file["headers"] = headers.clone());
        assert_eq!(
            (code, &facts["answers"]["not_before"]),
            (1, &json!("no")),
            "{name}: {facts}"
        );
    }
}

/// What names the network of these ledgers.
const REGTEST: [&str; 2] = ["--network", "regtest"];

#[test]
fn a_stamped_session_opens_with_proof_and_header_and_every_changed_byte_of_them_is_found() {
    let (person, _server) = stamped(3);
    for args in [
        &["last", "2"][..],
        &["last", "3", "--role", "prompt"],
        &["last", "4", "--role", "exchange"],
        &["last", "4", "--role", "prompt"],
        &["last", "1", "2", "3", "--role", "prompt,response,exchange"],
    ] {
        let file = open(&person, &format!("stamped-{}", args.join("-")), args);
        assert_eq!(holds(&person, &file)["answers"]["not_after"], "not checked");
        let (code, facts) = both(&file, &REGTEST);
        assert_eq!(
            (code, &facts["answers"]["not_after"]),
            (0, &json!("yes")),
            "{facts}"
        );
        let reason = facts["reasons"]["not_after"].as_str().unwrap();
        assert!(reason.contains("block 1 of regtest"), "{reason}");
        // Only whoever names the network gets a time of it.
        check(&file, &["--require", "not-after"]).exits(1);
        check(&file, &["--require", "not-after", "--network", "signet"]).exits(1);
        check(&file, &["--require", "not-after", "--network", "regtest"]).exits(0);
        // The stock client's file, without its pending part.
        let ots = document(&file)["stamp"]["ots"].as_str().unwrap().to_owned();
        let mut mistakes = Vec::new();
        for at in (0..ots.len()).step_by(3) {
            let mut bytes = ots.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            mistakes.push(("ots", json!(String::from_utf8(bytes).unwrap())));
        }
        let header = document(&file)["stamp"]["header"]
            .as_str()
            .unwrap()
            .to_owned();
        // The root's digits: on regtest half of all headers show their work, whatever else is in
        // them.
        for at in (72..136).step_by(3) {
            let mut digits = header.clone().into_bytes();
            digits[at] = if digits[at] == b'1' { b'2' } else { b'1' };
            mistakes.push(("header", json!(String::from_utf8(digits).unwrap())));
        }
        let head = document(&file)["stamp"]["checkpoint"]
            .as_str()
            .unwrap()
            .to_owned();
        for at in (0..head.len())
            .filter(|at| head.is_char_boundary(*at) && head.is_char_boundary(at + 1))
            .step_by(5)
        {
            let other = if head.as_bytes()[at] == b'A' {
                "B"
            } else {
                "A"
            };
            mistakes.push((
                "checkpoint",
                json!(format!("{}{other}{}", &head[..at], &head[at + 1..])),
            ));
        }
        for (n, (key, value)) in mistakes.into_iter().enumerate() {
            let mut changed = document(&file);
            changed["stamp"][key] = value;
            let path = person.dir.path().join("changed");
            std::fs::write(
                &path,
                gently::record::canon::print(&changed).unwrap() + "\n",
            )
            .unwrap();
            let facts = if n % 9 == 0 {
                both(&path, &REGTEST)
            } else {
                let ran = check(&path, &REGTEST);
                (
                    ran.code,
                    serde_json::from_str(&ran.out).unwrap_or(Value::Null),
                )
            };
            // The height is a claim, which no file can prove: another one is told as such. With
            // headers it is found.
            let after = facts.1["reasons"]["not_after"].as_str().unwrap_or_default();
            let elsewhere =
                key == "ots" && !after.contains("block 1 of") && after.contains("the file's word");
            if elsewhere {
                let kept = person.at("headers");
                let (_, facts) = both(
                    &path,
                    &["--headers", kept.to_str().unwrap(), "--network", "regtest"],
                );
                assert_ne!(facts["answers"]["not_after"], "yes", "{facts}");
            }
            let after = &facts.1["answers"]["not_after"];
            let found = facts.0 == 2 || after == "no" || after == "not checked" || elsewhere;
            assert!(found, "{key} {n}: {facts:?}");
        }
    }
    // Without the block's header the proof is there, and not checked.
    std::fs::remove_dir_all(person.at("headers")).unwrap();
    let file = open(&person, "headerless", &["last", "1"]);
    let (_, facts) = both(&file, &REGTEST);
    assert_eq!(facts["answers"]["not_after"], "not checked");
    assert!(
        document(&file)["stamp"]["header"].is_null() && document(&file)["stamp"]["ots"].is_string()
    );
}

/// However long a session is: an opening is under a root, and nothing leads through the turns
/// beside it.
#[test]
fn a_turn_of_a_long_session_opens_as_any_other() {
    let (person, _server) = stamped(40);
    for seq in ["1", "35"] {
        let out = person.dir.path().join(seq);
        let ran = person
            .gently(&["audit", "open", "last", seq, "--out", out.to_str().unwrap()])
            .exits(0);
        assert!(!ran.err.contains("left out"), "{}", ran.err);
        assert_eq!(both(&out, &REGTEST).1["answers"]["not_after"], "yes");
        assert!(around(&out) < 16 * 1024, "{}", around(&out));
        assert!(
            !std::fs::read_to_string(&out)
                .unwrap()
                .contains(&format!("seq:{},", seq.parse::<u8>().unwrap() + 1))
        );
    }
}

/// A cosignature of a witness over a note.
pub fn cosign(text: &str, seed: u8, time: u64) -> (String, String) {
    let key = SigningKey::from_bytes(&[seed; 32]);
    let public = PublicKey::from_bytes(key.verifying_key().to_bytes());
    let vkey = VerifierKey {
        name: format!("witness.example/{seed}"),
        kind: KeyKind::Cosigner,
        key: public,
    };
    let note = CosignedNote::parse(text).unwrap();
    let body = note_body(&note.head.origin, note.head.size, note.head.root);
    let signature = key.sign(format!("cosignature/v1\ntime {time}\n{body}").as_bytes());
    let signature = [&time.to_be_bytes()[..], &signature.to_bytes()].concat();
    let line = NoteSignature {
        name: vkey.name.clone(),
        key_id: vkey.id(),
        signature,
    };
    (format!("{text}{}", line.print()), vkey.print())
}

#[test]
fn cosignatures_travel_along_and_count_by_the_checkers_policy() {
    let (person, _server) = stamped(2);
    let (commit, _) = tip(&person);
    let head = person.git(&["show", "main:checkpoint"]).exits(0).out;
    // Behind the turn, as witnesses' clocks are.
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let (text, one) = cosign(&head, 1, now + 100);
    let (text, two) = cosign(&text, 2, now + 200);
    note(&person, "witness", &commit, text.as_bytes());
    let file = open(&person, "cosigned", &["last", "1"]);
    let facts = holds(&person, &file);
    assert_eq!(facts["answers"]["cosigned_by"], "not checked");
    assert!(
        facts["reasons"]["cosigned_by"]
            .as_str()
            .unwrap()
            .contains("2 cosignatures"),
        "{facts}"
    );
    let (_, three) = cosign(&head, 3, 1);
    let policy = |name: &str, text: String| {
        let path = person.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        both(
            &file,
            &["--policy", path.to_str().unwrap(), "--network", "regtest"],
        )
    };
    let lines = format!("witness a {one}\nwitness b {two}\nwitness c {three}\n");
    let (code, facts) = policy("reached", format!("{lines}group all 2 a b c\nquorum all\n"));
    assert_eq!(
        (code, &facts["answers"]["cosigned_by"]),
        (0, &json!("yes")),
        "{facts}"
    );
    let after = facts["reasons"]["not_after"].as_str().unwrap();
    let second = Seconds::new(now + 200).unwrap().to_string();
    assert!(
        after.contains("block 1") && after.contains(&second),
        "{after}"
    );
    let (code, facts) = policy(
        "missed",
        format!("{lines}group all all a b c\nquorum all\n"),
    );
    assert_eq!(
        (code, &facts["answers"]["cosigned_by"]),
        (0, &json!("not checked")),
        "{facts}"
    );
    let log = VerifierKey {
        name: "other".to_owned(),
        kind: KeyKind::Log,
        key: PublicKey::from_bytes([9; 32]),
    }
    .print();
    let (code, facts) = policy("elsewhere", format!("log {log}\n{lines}quorum a\n"));
    assert_eq!(
        (code, &facts["answers"]["cosigned_by"]),
        (0, &json!("not checked")),
        "{facts}"
    );
    let elsewhere = person.dir.path().join("elsewhere");
    check(
        &file,
        &[
            "--policy",
            elsewhere.to_str().unwrap(),
            "--require",
            "cosigned",
        ],
    )
    .exits(1);
    let (code, _) = policy("nobody", format!("{lines}quorum none\n"));
    assert_eq!(code, 0);
    // A line in a witness's name that its key did not sign: nothing in the note counts.
    let forged = person.dir.path().join("forged");
    let mut changed = document(&file);
    let head = changed["head"].as_str().unwrap().to_owned();
    let at = head.rfind("witness.example/2 ").unwrap() + 40;
    let digit = if head.as_bytes()[at] == b'A' {
        "B"
    } else {
        "A"
    };
    changed["head"] = json!(format!("{}{digit}{}", &head[..at], &head[at + 1..]));
    std::fs::write(
        &forged,
        gently::record::canon::print(&changed).unwrap() + "\n",
    )
    .unwrap();
    let any = person.dir.path().join("any");
    std::fs::write(&any, format!("{lines}group any 1 a b c\nquorum any\n")).unwrap();
    let (code, facts) = both(
        &forged,
        &["--policy", any.to_str().unwrap(), "--network", "regtest"],
    );
    assert_eq!(
        (code, &facts["answers"]["cosigned_by"]),
        (0, &json!("no")),
        "{facts}"
    );
    assert!(
        !facts["reasons"]["not_after"]
            .as_str()
            .unwrap()
            .contains("witnesses"),
        "{facts}"
    );
    // One that was dated long before the turn counts as a cosignature, and for no time.
    let old = person.dir.path().join("old");
    let (text, _) = cosign(&head, 1, 1_000);
    note(&person, "witness", &commit, text.as_bytes());
    let dated = open(&person, "dated", &["last", "1"]);
    std::fs::write(&old, format!("{lines}quorum a\n")).unwrap();
    let (code, facts) = both(&dated, &["--policy", old.to_str().unwrap()]);
    assert_eq!(
        (code, &facts["answers"]["cosigned_by"]),
        (0, &json!("yes")),
        "{facts}"
    );
    assert!(
        !facts["reasons"]["not_after"]
            .as_str()
            .unwrap()
            .contains("witnesses"),
        "{facts}"
    );
    let broken = person.dir.path().join("broken");
    std::fs::write(&broken, "quorum x\n").unwrap();
    check(&file, &["--policy", broken.to_str().unwrap()]).exits(2);
}

/// Notes that are not what they should be are left out, and the opening is made all the same.
#[test]
fn a_note_that_is_rubbish_costs_nothing_but_itself() {
    let (person, _server) = stamped(1);
    let (commit, _) = tip(&person);
    note(&person, "witness", &commit, b"rubbish");
    note(&person, "ots", &commit, b"rubbish");
    let out = person.dir.path().join("rubbish");
    let ran = person
        .gently(&["audit", "open", "last", "1", "--out", out.to_str().unwrap()])
        .exits(0);
    assert!(
        ran.err.contains("left out: the OpenTimestamps proof"),
        "{}",
        ran.err
    );
    assert_eq!(holds(&person, &out)["answers"]["not_after"], "not checked");
    // A proof of another head is not this one's.
    let (ots, _) = proof(&Hash32::digest(b"another").to_string(), None);
    note(&person, "ots", &commit, &ots);
    let other = open(&person, "other", &["last", "1"]);
    assert!(document(&other)["stamp"].is_null());
    holds(&person, &other);
}
