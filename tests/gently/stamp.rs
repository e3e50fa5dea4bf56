//! Tree heads at calendars on loopback: stamped at the close, completed later, and never by a lie.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps an error fails, as it should"
)]

use std::time::{Duration, Instant};

use gently::anchor::calendar::Calendar;
use gently::home::Home;
use gently::record::bitcoin::block::{Header, Network};
use gently::record::hash::Hash32;
use gently::record::ots::{Attestation, FileHash, Proof};
use gently::record::time::Seconds;
use gently::stamp::Stamper;
use gently::store::Store;
use serde_json::json;

use crate::calendar_server::{CalendarServer, Manner, csv, in_block, mined_on, regtest_headers};
use crate::person::{Person, Ran, git, run};

/// Somebody with a regtest ledger, these calendars, and a file of headers as the only block source.
fn person(calendars: &[&CalendarServer]) -> Person {
    let urls: Vec<&str> = calendars.iter().map(|calendar| calendar.url()).collect();
    let person = Person::with(&[
        ("GENTLY_ANCHOR_ESPLORA", "[]"),
        ("GENTLY_OTS_CALENDARS", &json!(urls).to_string()),
    ]);
    person.gently(&["init", "--network", "regtest"]).exits(0);
    person
}

/// Puts headers where the person's block source finds them.
fn source(person: &mut Person, headers: &[Header]) {
    let file = person.dir.path().join("headers.csv");
    std::fs::write(&file, csv(headers)).unwrap();
    person.set("GENTLY_ANCHOR_HEADERS", file.to_str().unwrap());
}

fn notes(person: &Person) -> Option<String> {
    let ran = person.git(&["rev-parse", "--verify", "--quiet", "refs/notes/ots"]);
    (ran.code == 0).then(|| ran.out.trim().to_owned())
}

/// The proof on a commit, by stock git.
fn proof(person: &Person, commit: &str) -> Proof {
    let mut git = std::process::Command::new("git");
    git.arg("-C")
        .arg(person.at("ledger.git"))
        .args(["notes", "--ref", "ots", "show", commit]);
    Proof::read(&git.output().unwrap().stdout).unwrap()
}

/// The newest commit of `main`, and the SHA-256 of its `checkpoint`.
fn main_tip(person: &Person) -> (String, String) {
    let commit = person
        .git(&["rev-parse", "main"])
        .exits(0)
        .out
        .trim()
        .to_owned();
    let file = person.git(&["show", "main:checkpoint"]).exits(0).out;
    (commit, Hash32::digest(file.as_bytes()).to_string())
}

#[test]
fn a_close_stamps_the_head_and_a_later_one_completes_it() {
    let (one, two) = (CalendarServer::start(1), CalendarServer::start(2));
    let mut person = person(&[&one, &two]);
    let headers = regtest_headers();
    source(&mut person, &headers);
    person.ask("How is this machine doing?");
    let closed = person.gently(&["session", "close"]).exits(0);
    assert!(
        closed
            .err
            .contains("stamped 1 tree head at http://127.0.0.1:"),
        "{closed:#?}"
    );
    let (commit, file) = main_tip(&person);
    let pending = proof(&person, &commit);
    assert_eq!(
        (pending.file_hash, hex::encode(&pending.digest)),
        (FileHash::Sha256, file)
    );
    let promised: Vec<String> = pending
        .leaves()
        .unwrap()
        .iter()
        .map(|leaf| match leaf.attestation {
            Attestation::Pending { uri } => uri.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(
        promised.contains(&one.url().to_owned()) && promised.contains(&two.url().to_owned()),
        "{promised:?}"
    );
    // All that a calendar was sent are 32 bytes, which are no text of anybody's.
    assert_eq!(
        one.digests()
            .iter()
            .chain(&two.digests())
            .map(Vec::len)
            .collect::<Vec<_>>(),
        [32, 32]
    );
    // What is stamped covers every line so far: the tree head beside the log is the same text.
    let beside = std::fs::read(person.at("audit.checkpoint")).unwrap();
    assert_eq!(Hash32::digest(&beside).to_string(), main_tip(&person).1);

    let waits = person.gently(&["audit", "upgrade"]).exits(0);
    assert!(waits.out.contains("1 proof is pending"), "{waits:#?}");
    let before = notes(&person);
    // Calendar one puts its commitment into block 106; the next close asks for it.
    let root = one.attest(&one.commitments()[0], 106);
    source(
        &mut person,
        &[
            headers.clone(),
            vec![mined_on(headers.last().unwrap(), root)],
        ]
        .concat(),
    );
    person.ask("And now?");
    let closed = person.gently(&["session", "close"]).exits(0);
    assert!(
        closed.err.contains("1 proof is complete") && closed.err.contains("before block 106"),
        "{closed:#?}"
    );
    assert_ne!(notes(&person), before);
    let complete = proof(&person, &commit);
    let blocks: Vec<_> = complete
        .leaves()
        .unwrap()
        .into_iter()
        .filter(|l| matches!(l.attestation, Attestation::Bitcoin { .. }))
        .map(|l| l.message)
        .collect();
    assert_eq!(blocks, [root.to_vec()]);
    let told = person
        .gently(&["audit", "upgrade", "--json"])
        .exits(0)
        .json();
    assert_eq!(
        (
            told["pending"].as_array().unwrap().len(),
            &told["completed"],
            &told["late"]
        ),
        (1, &json!([]), &json!([]))
    );
    assert_eq!(person.git(&["fsck", "--strict", "--full"]).exits(0).out, "");
    assert_eq!(person.verified()["answers"]["consistent"], "yes");
}

#[test]
fn answers_that_are_no_answers_change_nothing() {
    let (one, two) = (CalendarServer::start(1), CalendarServer::start(2));
    let mut person = person(&[&one, &two]);
    source(&mut person, &regtest_headers());
    person.ask("How is this machine doing?");
    let file = include_bytes!("../data/ots/f.txt.ots").to_vec();
    for manner in [
        Manner::Says(200, Vec::new()),
        Manner::Says(200, b"<html>".to_vec()),
        Manner::Says(200, file.clone()),
        Manner::Says(200, vec![0xff; 9_999]),
        Manner::Says(200, vec![0; 20_000]),
        Manner::Says(500, b"no".to_vec()),
        Manner::Says(404, Vec::new()),
        Manner::PromisesOf("https://example.org"),
        Manner::PromisesOf("http://127.0.0.1:1"),
        Manner::InBlock(102),
        Manner::Slow(Duration::from_secs(600)),
    ] {
        two.set_manner(manner.clone());
        let begun = Instant::now();
        let closed = person.gently(&["session", "close"]).exits(0);
        assert!(
            closed
                .err
                .contains("not dated yet: 1 of 2 calendars, which date it, took it, and 2 must"),
            "{closed:#?}"
        );
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "{:?}",
            begun.elapsed()
        );
        assert_eq!(notes(&person), None);
        person.ask("Again?");
    }
    // Retried: everything since is stamped by one question.
    two.set_manner(Manner::Honest);
    let stamped = person.gently(&["audit", "stamp", "--json"]).exits(0).json();
    assert_eq!(
        (
            stamped["stamped"].as_array().unwrap().len(),
            &stamped["unstamped"]
        ),
        (12, &json!(0))
    );
    let (commit, file) = main_tip(&person);
    assert_eq!(hex::encode(proof(&person, &commit).digest), file);
    assert!(
        person
            .git(&["log", "-1", "--format=%s", "main"])
            .out
            .starts_with("checkpoint:"),
        "what was open is inside"
    );
    let again = person.gently(&["audit", "stamp"]).exits(0);
    assert!(
        again.out.contains("every tree head has its proof"),
        "{again:#?}"
    );
}

#[test]
fn a_proof_that_a_header_does_not_confirm_is_refused() {
    let calendar = CalendarServer::start(1);
    let mut person = person(&[&calendar]);
    person.set("GENTLY_OTS_QUORUM", "1");
    let headers = regtest_headers();
    source(&mut person, &headers);
    person.ask("How is this machine doing?");
    person.gently(&["session", "close"]).exits(0);
    let commitment = calendar.commitments()[0].clone();
    let before = notes(&person);
    let somebody_elses = include_bytes!("../data/ots/f.txt.ots").to_vec();
    let others_tree = Proof::read(&somebody_elses).unwrap().tree.print();
    for (answer, said) in [
        (
            in_block(&commitment, b"a lie", 102).0.print(),
            "another Merkle root than that of block 102",
        ),
        (
            in_block(&commitment, b"a lie", 5_000).0.print(),
            "no header of it is at hand",
        ),
        (
            in_block(&commitment, b"a lie", u64::MAX >> 1).0.print(),
            "names block",
        ),
        (others_tree, "another Merkle root than that of block 102"),
        (somebody_elses, "expected a timestamp"),
        (b"rubbish".to_vec(), "expected a timestamp"),
        (Vec::new(), "expected a timestamp"),
    ] {
        calendar.answers(&commitment, answer);
        let told = person.gently(&["audit", "upgrade"]).exits(0);
        assert!(
            told.out.contains(said) && told.out.contains("1 proof is pending"),
            "{said}: {told:#?}"
        );
        assert_eq!(notes(&person), before);
    }
    // The truth still comes through.
    let root = calendar.attest(&commitment, 106);
    source(
        &mut person,
        &[
            headers.clone(),
            vec![mined_on(headers.last().unwrap(), root)],
        ]
        .concat(),
    );
    assert!(
        person
            .gently(&["audit", "upgrade"])
            .exits(0)
            .out
            .contains("no proof is pending")
    );
}

#[test]
fn nobody_reachable_costs_a_line_and_two_seconds() {
    let person = Person::with(&[
        ("GENTLY_ANCHOR_ESPLORA", "[]"),
        (
            "GENTLY_OTS_CALENDARS",
            r#"["http://127.0.0.77:9", "http://127.0.0.78:9"]"#,
        ),
    ]);
    person.ask("How is this machine doing?");
    let begun = Instant::now();
    let closed = person.gently(&["session", "close"]).exits(0);
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(
        closed
            .err
            .matches("not dated yet: none of 2 calendars")
            .count(),
        1,
        "{closed:#?}"
    );
    person.gently(&["audit", "stamp"]).exits(2);
    let mut person = person;
    person.set("GENTLY_OTS_QUORUM", "3");
    let hopeless = person.gently(&["audit", "stamp"]).exits(2);
    assert!(
        hopeless
            .err
            .contains("ots.quorum is 3, ots.calendars are 2"),
        "{hopeless:#?}"
    );
    person.set("GENTLY_ANCHOR_MODE", "off");
    let off = person.gently(&["audit", "stamp"]).exits(2);
    assert!(off.err.contains("anchor.mode is off"), "{off:#?}");
}

/// However many promises somebody who is away has made, he is one line, and the same one when he
/// takes nothing new.
#[test]
fn a_calendar_that_is_away_is_one_line_for_all_that_it_promised() {
    let (one, two) = (CalendarServer::start(1), CalendarServer::start(2));
    let mut person = person(&[&one, &two]);
    for question in ["One?", "Two?", "Three?"] {
        person.ask(question);
        person.gently(&["session", "close"]).exits(0);
    }
    assert_eq!(one.commitments().len(), 3);
    two.set_manner(Manner::Slow(Duration::from_secs(600)));
    person.ask("Four?");
    let closed = person.gently(&["session", "close"]).exits(0);
    let of_two = two.url().trim_start_matches("http://");
    assert_eq!(closed.err.matches(of_two).count(), 1, "{closed:#?}");
    assert!(
        closed.err.contains("not dated yet: 1 of 2 calendars"),
        "{closed:#?}"
    );
    // With enough others for what is new, the line is about what is pending.
    person.set("GENTLY_OTS_QUORUM", "1");
    let closed = person.gently(&["session", "close", "--json"]);
    person.ask("Five?");
    assert_eq!(
        closed.err.matches(of_two).count(),
        0,
        "nothing new: {closed:#?}"
    );
    let closed = person.gently(&["session", "close"]).exits(0);
    let said = format!(
        "pending as before: {of_two} says nothing within 2 s; asked again at the next close"
    );
    assert!(
        closed.err.contains("stamped 2 tree heads") && closed.err.contains(&said),
        "{closed:#?}"
    );
    assert_eq!(closed.err.matches(of_two).count(), 1, "{closed:#?}");
    person.set(
        "GENTLY_OTS_CALENDARS",
        &json!([one.url(), "http://127.0.0.77:9"]).to_string(),
    );
    // Trouble of another kind is one line, too.
    for commitment in one.commitments() {
        one.answers(&commitment, b"rubbish".to_vec());
    }
    let told = person.gently(&["audit", "upgrade"]).exits(0);
    assert_eq!(
        told.out.matches("expected a timestamp").count(),
        1,
        "{told:#?}"
    );
    assert!(
        told.out.contains("; so with 3 more of its promises"),
        "{told:#?}"
    );
    let told = person
        .gently(&["audit", "upgrade", "--json"])
        .exits(0)
        .json();
    assert_eq!(
        (told["notes"].as_array().unwrap().len(), &told["unreached"]),
        (1, &json!([])),
        "{told:#}"
    );
}

#[test]
fn what_is_pending_for_two_days_is_named() {
    let (one, two) = (CalendarServer::start(1), CalendarServer::start(2));
    let person = person(&[&one, &two]);
    person.ask("How is this machine doing?");
    person.gently(&["session", "close"]).exits(0);
    let home = Home::open(&person.home()).unwrap().unwrap();
    let store = Store::open_read_only(&home.paths().database()).unwrap();
    let calendars = [
        Calendar::new(one.url()).unwrap(),
        Calendar::new(two.url()).unwrap(),
    ];
    let late_after = |hours: u64| {
        let paths = home.paths();
        let now = store.head().unwrap().time.get() + hours * 3600;
        let clock = move || Seconds::new(now).unwrap();
        let stamper = Stamper {
            paths: &paths,
            store: &store,
            calendars: &calendars,
            quorum: 2,
            network: Network::Regtest,
            sources: &[],
            clock: &clock,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let done = runtime
            .block_on(stamper.upgrade(Duration::from_secs(20), None))
            .unwrap();
        (done.pending.len(), done.late.len())
    };
    assert_eq!(late_after(47), (1, 0));
    assert_eq!(late_after(49), (1, 1));
    assert_eq!(
        one.asked().len(),
        2,
        "one promise is one question, for however many heads"
    );
    // By the notes' own history: the close, doctor and verify name it.
    let verify = || person.gently(&["audit", "verify", "-v"]).exits(0).out;
    assert!(!verify().contains("48 hours"));
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    for (hours, is_late) in [(47, false), (49, true)] {
        let mut git = std::process::Command::new("git");
        git.arg("-C").arg(person.at("ledger.git")).args([
            "commit-tree",
            "-m",
            "notes",
            "refs/notes/ots^{tree}",
        ]);
        for (name, value) in [
            ("NAME", "a"),
            ("EMAIL", "a@b.invalid"),
            ("DATE", &format!("{} +0000", now - hours * 3600)),
        ] {
            git.env(format!("GIT_AUTHOR_{name}"), value)
                .env(format!("GIT_COMMITTER_{name}"), value);
        }
        let aged = run(&mut git).exits(0).out;
        person
            .git(&["update-ref", "refs/notes/ots", aged.trim()])
            .exits(0);
        let (text, doctor) = (verify(), person.gently(&["doctor", "-v"]).out);
        assert_eq!(
            text.contains("pending:     for more than 48 hours, since 20"),
            is_late,
            "{text}"
        );
        assert_eq!(
            doctor.contains("gently audit upgrade; a later proof covers the same lines"),
            is_late,
            "{doctor}"
        );
        let upgraded = person.gently(&["audit", "upgrade"]).exits(0).out;
        assert_eq!(
            upgraded.contains("pending for more than 48 hours: the proof on commit"),
            is_late,
            "{upgraded}"
        );
    }
    person.ask("And now?");
    let closed = person.gently(&["session", "close"]).exits(0);
    assert!(
        closed
            .err
            .contains("pending for more than 48 hours: the proof on commit"),
        "{closed:#?}"
    );
}

#[test]
fn the_round_trip_of_a_real_calendar_is_replayed() {
    let (pending, complete) = (
        include_bytes!("../data/ots/f.pending.ots"),
        include_bytes!("../data/ots/f.txt.ots"),
    );
    let (mut pending, complete) = (
        Proof::read(pending).unwrap(),
        Proof::read(complete).unwrap(),
    );
    let leaf = pending.leaves().unwrap().remove(0);
    let (path, commitment) = (
        leaf.path.into_iter().cloned().collect::<Vec<_>>(),
        leaf.message,
    );
    let mut of_complete = complete.clone();
    let node = of_complete.tree.node(&path).unwrap().clone();
    let server = CalendarServer::start(1);
    server.answers(&commitment, node.print());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let calendar = Calendar::new(server.url()).unwrap();
    let tree = runtime
        .block_on(calendar.complete(&commitment))
        .unwrap()
        .unwrap();
    let leaves = tree.leaves(&commitment).unwrap();
    let [leaf] = leaves.as_slice() else {
        panic!("{leaves:?}")
    };
    assert_eq!(*leaf.attestation, Attestation::Bitcoin { height: 102 });
    assert_eq!(leaf.message, regtest_headers()[102].as_bytes()[36..68]);
    pending.tree.node(&path).unwrap().merge(tree);
    assert_eq!(
        pending.print(),
        include_bytes!("../data/ots/f.txt.ots"),
        "byte for byte what the stock client wrote"
    );
    assert_eq!(
        runtime.block_on(calendar.complete(b"another")).unwrap(),
        None
    );
}

/// `gently audit publish`, with the program where hooks find it.
fn publish(person: &Person, remote: &str) -> Ran {
    let own = std::path::Path::new(env!("CARGO_BIN_EXE_gently"))
        .parent()
        .unwrap()
        .display()
        .to_string();
    let mut command = person.command(&["audit", "publish", remote]);
    run(command.env("PATH", format!("{own}:{}", std::env::var("PATH").unwrap())))
}

#[test]
fn notes_are_published_through_the_hooks_and_never_back() {
    let (one, two) = (CalendarServer::start(1), CalendarServer::start(2));
    let person = person(&[&one, &two]);
    let remote = person.dir.path().join("remote.git");
    let remote = remote.to_str().unwrap();
    person.ask("How is this machine doing?");
    person.gently(&["session", "close"]).exits(0);
    person.git(&["init", "--quiet", "--bare", remote]).exits(0);
    let key = person.at("keys/signing.key.pub");
    person
        .gently(&["hook", "install", remote, "--signer", key.to_str().unwrap()])
        .exits(0);
    person
        .gently(&["hook", "install", person.at("ledger.git").to_str().unwrap()])
        .exits(0);
    let there = || {
        git(
            std::path::Path::new(remote),
            &["rev-parse", "refs/notes/ots"],
        )
        .out
        .trim()
        .to_owned()
    };
    assert!(
        publish(&person, remote)
            .exits(0)
            .out
            .contains("published refs/notes/ots")
    );
    let first = notes(&person).unwrap();
    assert_eq!(there(), first);
    person.ask("And now?");
    person.gently(&["session", "close"]).exits(0);
    let second = notes(&person).unwrap();
    publish(&person, remote).exits(0);
    assert_eq!(there(), second);
    let own = std::path::Path::new(env!("CARGO_BIN_EXE_gently"))
        .parent()
        .unwrap()
        .display()
        .to_string();
    let mut back = std::process::Command::new("git");
    back.arg("-C").arg(person.at("ledger.git")).args([
        "push",
        "--force",
        remote,
        &format!("{first}:refs/notes/ots"),
    ]);
    back.env("PATH", format!("{own}:{}", std::env::var("PATH").unwrap()));
    assert_ne!(run(&mut back).code, 0);
    assert_eq!(there(), second);
    let local = person.git(&["update-ref", "refs/notes/ots", &first]);
    assert!(
        local.code != 0 || notes(&person).unwrap() == second,
        "{local:#?}"
    );
    assert_eq!(notes(&person).unwrap(), second);
}

#[test]
fn a_lost_or_torn_notes_ref_costs_new_stamps_and_no_record() {
    let (one, two) = (CalendarServer::start(1), CalendarServer::start(2));
    let person = person(&[&one, &two]);
    person.ask("How is this machine doing?");
    person.gently(&["session", "close"]).exits(0);
    let file = person.at("ledger.git/refs/notes/ots");
    std::fs::write(&file, b"0123").unwrap();
    person.ask("And now?");
    let torn = person.gently(&["session", "close"]).exits(0);
    assert!(
        torn.err
            .contains("not stamped: refs/notes/ots of ledger.git can't be read"),
        "{torn:#?}"
    );
    assert!(
        torn.err.contains("remove ledger.git/refs/notes/ots"),
        "{torn:#?}"
    );
    std::fs::remove_file(&file).unwrap();
    let stamped = person.gently(&["audit", "stamp", "--json"]).exits(0).json();
    assert_eq!(
        (
            stamped["stamped"].as_array().unwrap().len(),
            &stamped["unstamped"]
        ),
        (2, &json!(0))
    );
    assert_eq!(person.verified()["answers"]["consistent"], "yes");
}
