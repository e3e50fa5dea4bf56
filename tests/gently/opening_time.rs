//! When an opened text was made: blocks, timestamps and cosignatures that travel with it.

use std::path::PathBuf;
use std::process::Command;

use ed25519_dalek::{Signer as _, SigningKey};
use gently::anchor::headers_store::HeadersStore;
use gently::record::block::{Header, Network};
use gently::record::hash::Hash32;
use gently::record::note::{CosignedNote, KeyKind, NoteSignature, VerifierKey};
use gently::record::opening::MAX_AROUND;
use gently::record::ots::{Attestation, FileHash, Op, Proof, Tree};
use gently::record::signature::PublicKey;
use gently::record::time::Seconds;
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
    git(&["notes", &format!("--ref={name}"), "add", "-f", "-C", &blob, commit]);
}

/// Tip of `main` and its `Log` trailer.
fn tip(person: &Person) -> (String, String) {
    let commit = person.git(&["rev-parse", "main"]).exits(0).out.trim().to_owned();
    let message = person.git(&["log", "-1", "--format=%B", "main"]).exits(0).out;
    let log = message.lines().find_map(|line| line.strip_prefix("Log: ")).unwrap().to_owned();
    (commit, log)
}

/// A block of regtest on top of its first one, with this Merkle root: found in two tries or so.
fn mined(root: [u8; 32]) -> (Header, Header) {
    let first = bitcoin::constants::genesis_block(bitcoin::Network::Regtest).header;
    let first = Header::from_bytes(bitcoin::consensus::serialize(&first).try_into().unwrap());
    let mut prev = *first.hash().as_bytes();
    prev.reverse();
    for nonce in 0u32.. {
        let time = 1_767_155_137u32.to_le_bytes();
        let parts = [&[0, 0, 0, 0x20][..], &prev, &root, &time, &0x207f_ffffu32.to_le_bytes(), &nonce.to_le_bytes()];
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
    let path = [Op::Append(vec![7; 32]), Op::Sha256, Op::Prepend(b"in front".to_vec()), Op::Sha256];
    let root = path.iter().fold(digest.clone(), |message, op| op.apply(&message).unwrap());
    let mut tree = Tree::chain(path.into_iter(), Attestation::Bitcoin { height: 1 });
    tree.attestations.extend(more);
    (Proof { file_hash: FileHash::Sha256, digest, tree }.print(), root.try_into().unwrap())
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
    let pending = Attestation::Pending { uri: "https://calendar.example.invalid".to_owned() };
    let (ots, root) = proof(&log, Some(pending));
    note(&person, "ots", &commit, &ots);
    let (first, block) = mined(root);
    HeadersStore::create(&person.at("headers"), Network::Regtest, 0).unwrap().append(&[first, block]).unwrap();
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
    assert!(facts["reasons"]["not_before"].as_str().unwrap().contains("block 829"), "{facts}");
    // Another block's header, and none.
    let changed = |name: &str, change: &dyn Fn(&mut Value)| {
        let mut changed = document(&file);
        change(&mut changed);
        let path = person.dir.path().join(name);
        std::fs::write(&path, gently::record::canon::print(&changed).unwrap() + "\n").unwrap();
        both(&path, &["--signer", &signer(&person)])
    };
    for (name, header) in [("none", Value::Null), ("zeros", json!("0".repeat(160)))] {
        let (code, facts) = changed(name, &|file| file["start"]["header"] = header.clone());
        assert_eq!((code, &facts["answers"]["not_before"]), (1, &json!("no")), "{name}: {facts}");
    }
}

#[test]
fn a_stamped_session_opens_with_proof_and_header_and_every_changed_byte_of_them_is_found() {
    let (person, _server) = stamped(3);
    for (args, way) in [
        (&["last", "2"][..], "chain"),
        (&["last", "3", "--role", "prompt"], "chain"),
        (&["last", "4", "--role", "exchange"], "lines"),
        (&["last", "4", "--role", "prompt"], "lines"),
    ] {
        let file = open(&person, &format!("stamped-{}", args.join("-")), args);
        let facts = holds(&person, &file);
        assert_eq!(facts["answers"]["not_after"], "yes", "{facts}");
        let reason = facts["reasons"]["not_after"].as_str().unwrap();
        assert!(reason.contains("block 1 of regtest") && reason.contains("shows no time"), "{reason}");
        assert_eq!(document(&file)["stamp"]["lines"].is_null(), way == "chain", "{args:?}");
        // The stock client's file, without its pending part.
        let ots = document(&file)["stamp"]["ots"].as_str().unwrap().to_owned();
        let mut mistakes = Vec::new();
        for at in (0..ots.len()).step_by(3) {
            let mut bytes = ots.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            mistakes.push(("ots", json!(String::from_utf8(bytes).unwrap())));
        }
        let header = document(&file)["stamp"]["header"].as_str().unwrap().to_owned();
        // The root's digits: on regtest half of all headers show their work, whatever else is in them.
        for at in (72..136).step_by(3) {
            let mut digits = header.clone().into_bytes();
            digits[at] = if digits[at] == b'1' { b'2' } else { b'1' };
            mistakes.push(("header", json!(String::from_utf8(digits).unwrap())));
        }
        mistakes.push(("lines", json!(["x"])));
        let sample = if way == "chain" { 9 } else { 1 };
        for (n, (key, value)) in mistakes.into_iter().enumerate() {
            let mut changed = document(&file);
            changed["stamp"][key] = value;
            let path = person.dir.path().join("changed");
            std::fs::write(&path, gently::record::canon::print(&changed).unwrap() + "\n").unwrap();
            let facts = if sample == 9 && n % sample == 0 || key == "lines" {
                both(&path, &["--signer", &signer(&person)])
            } else {
                let ran = check(&path, &[]);
                (ran.code, serde_json::from_str(&ran.out).unwrap_or(Value::Null))
            };
            // The height is a claim, which no file can prove: another one is told as such. With headers it is found.
            let after = facts.1["reasons"]["not_after"].as_str().unwrap_or_default();
            let elsewhere = key == "ots" && !after.contains("block 1 of") && after.contains("the file's word");
            if elsewhere {
                let kept = person.at("headers");
                let (_, facts) = both(&path, &["--headers", kept.to_str().unwrap()]);
                assert_ne!(facts["answers"]["not_after"], "yes", "{facts}");
            }
            let found = facts.0 == 2 || facts.0 == 1 && facts.1["answers"]["not_after"] == "no" || elsewhere;
            assert!(found, "{key} {n}: {facts:?}");
        }
    }
    // Without the block's header the proof is there, and not checked.
    std::fs::remove_dir_all(person.at("headers")).unwrap();
    let file = open(&person, "headerless", &["last", "1"]);
    let facts = holds(&person, &file);
    assert_eq!(facts["answers"]["not_after"], "not checked");
    assert!(document(&file)["stamp"]["header"].is_null() && document(&file)["stamp"]["ots"].is_string());
}

#[test]
fn a_long_session_opens_in_eight_kibibytes_and_says_what_is_left_out() {
    let (person, _server) = stamped(40);
    let open = |name: &str, seq: &str| -> (PathBuf, String) {
        let out = person.dir.path().join(name);
        let ran = person.gently(&["audit", "open", "last", seq, "--out", out.to_str().unwrap()]).exits(0);
        (out, ran.err)
    };
    let (first, said) = open("first", "1");
    assert!(said.contains("39 later turns are too many") && said.contains("OpenTimestamps proof"), "{said}");
    let facts = holds(&person, &first);
    assert_eq!(facts["answers"]["not_after"], "not checked");
    assert!(facts["reasons"]["consistent"].as_str().unwrap().contains("is not in the file"), "{facts}");
    let (late, said) = open("late", "35");
    assert!(!said.contains("left out"), "{said}");
    assert_eq!(holds(&person, &late)["answers"]["not_after"], "yes");
    assert!(around(&late) <= MAX_AROUND && around(&first) <= MAX_AROUND);
}

/// A cosignature of a witness over a note.
fn cosign(text: &str, seed: u8, time: u64) -> (String, String) {
    let key = SigningKey::from_bytes(&[seed; 32]);
    let public = PublicKey::from_bytes(key.verifying_key().to_bytes());
    let vkey = VerifierKey { name: format!("witness.example/{seed}"), kind: KeyKind::Cosigner, key: public };
    let note = CosignedNote::parse(text).unwrap();
    let body = note_body(&note.head.origin, note.head.size, note.head.root);
    let signature = key.sign(format!("cosignature/v1\ntime {time}\n{body}").as_bytes());
    let signature = [&time.to_be_bytes()[..], &signature.to_bytes()].concat();
    let line = NoteSignature { name: vkey.name.clone(), key_id: vkey.id(), signature };
    (format!("{text}{}", line.print()), vkey.print())
}

#[test]
fn cosignatures_travel_along_and_count_by_the_checkers_policy() {
    let (person, _server) = stamped(2);
    let (commit, _) = tip(&person);
    let head = person.git(&["show", "main:checkpoint"]).exits(0).out;
    // Behind the turn, as witnesses' clocks are.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let (text, one) = cosign(&head, 1, now + 100);
    let (text, two) = cosign(&text, 2, now + 200);
    note(&person, "witness", &commit, text.as_bytes());
    let file = open(&person, "cosigned", &["last", "1"]);
    let facts = holds(&person, &file);
    assert_eq!(facts["answers"]["cosigned_by"], "not checked");
    assert!(facts["reasons"]["cosigned_by"].as_str().unwrap().contains("2 cosignatures"), "{facts}");
    let (_, three) = cosign(&head, 3, 1);
    let policy = |name: &str, text: String| {
        let path = person.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        both(&file, &["--policy", path.to_str().unwrap()])
    };
    let lines = format!("witness a {one}\nwitness b {two}\nwitness c {three}\n");
    let (code, facts) = policy("reached", format!("{lines}group all 2 a b c\nquorum all\n"));
    assert_eq!((code, &facts["answers"]["cosigned_by"]), (0, &json!("yes")), "{facts}");
    let after = facts["reasons"]["not_after"].as_str().unwrap();
    let second = Seconds::new(now + 200).unwrap().to_string();
    assert!(after.contains("block 1") && after.contains(&second), "{after}");
    let (code, facts) = policy("missed", format!("{lines}group all all a b c\nquorum all\n"));
    assert_eq!((code, &facts["answers"]["cosigned_by"]), (1, &json!("no")), "{facts}");
    let log = VerifierKey { name: "other".to_owned(), kind: KeyKind::Log, key: PublicKey::from_bytes([9; 32]) }.print();
    let (code, facts) = policy("elsewhere", format!("log {log}\n{lines}quorum a\n"));
    assert_eq!((code, &facts["answers"]["cosigned_by"]), (1, &json!("no")), "{facts}");
    let (code, _) = policy("nobody", format!("{lines}quorum none\n"));
    assert_eq!(code, 0);
    // A line in a witness's name that its key did not sign: nothing in the note counts.
    let forged = person.dir.path().join("forged");
    let mut changed = document(&file);
    let proof = changed["head"]["proof"].as_str().unwrap().to_owned();
    let at = proof.rfind("witness.example/2 ").unwrap() + 40;
    let digit = if proof.as_bytes()[at] == b'A' { "B" } else { "A" };
    changed["head"]["proof"] = json!(format!("{}{digit}{}", &proof[..at], &proof[at + 1..]));
    std::fs::write(&forged, gently::record::canon::print(&changed).unwrap() + "\n").unwrap();
    let any = person.dir.path().join("any");
    std::fs::write(&any, format!("{lines}group any 1 a b c\nquorum any\n")).unwrap();
    let (code, facts) = both(&forged, &["--policy", any.to_str().unwrap()]);
    assert_eq!((code, &facts["answers"]["cosigned_by"]), (1, &json!("no")), "{facts}");
    assert!(!facts["reasons"]["not_after"].as_str().unwrap().contains("witnesses"), "{facts}");
    // One that was dated long before the turn counts as a cosignature, and for no time.
    let old = person.dir.path().join("old");
    let (text, _) = cosign(&head, 1, 1_000);
    note(&person, "witness", &commit, text.as_bytes());
    let dated = open(&person, "dated", &["last", "1"]);
    std::fs::write(&old, format!("{lines}quorum a\n")).unwrap();
    let (code, facts) = both(&dated, &["--policy", old.to_str().unwrap()]);
    assert_eq!((code, &facts["answers"]["cosigned_by"]), (0, &json!("yes")), "{facts}");
    assert!(!facts["reasons"]["not_after"].as_str().unwrap().contains("witnesses"), "{facts}");
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
    let ran = person.gently(&["audit", "open", "last", "1", "--out", out.to_str().unwrap()]).exits(0);
    assert!(ran.err.contains("left out: the OpenTimestamps proof"), "{}", ran.err);
    assert_eq!(holds(&person, &out)["answers"]["not_after"], "not checked");
    // A proof of another head is not this one's.
    let (ots, _) = proof(&Hash32::digest(b"another").to_string(), None);
    note(&person, "ots", &commit, &ots);
    let other = open(&person, "other", &["last", "1"]);
    assert!(document(&other)["stamp"].is_null());
    holds(&person, &other);
}
