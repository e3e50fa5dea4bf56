//! Calendars and witnesses at one close: asked at once, waited for once; and what an outsider is
//! then given.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps an error fails, as it should"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use gently::record::bitcoin::block::Header;
use gently::record::ledger::opening::{MAX_AROUND, OpeningFile};
use gently::record::signature::PublicKey;
use gently::record::tree::witness_policy::WitnessPolicy;
use gently::verify::{CheckAnswer, OpeningQuestion, Trust, check_opening};
use serde_json::{Value, json};

use crate::aics::{Aics, log_key, site};
use crate::bracket::{a_block_with, client, clients, hand_out, same_brackets};
use crate::calendar_server::{CalendarServer, Manner as Calendar, csv, mined_now, regtest_headers};
use crate::node::Node;
use crate::opening::{around, both, open};
use crate::person::{Person, Ran, git, run};
use crate::witness_server::{Manner, WitnessServer};

/// Somebody with a regtest ledger, these calendars and witnesses, each of which has to agree.
fn person(calendars: &[&CalendarServer], witnesses: &[(&str, &WitnessServer)]) -> Person {
    let urls: Vec<&str> = calendars.iter().map(|calendar| calendar.url()).collect();
    let person = Person::with(&[
        ("GENTLY_ANCHOR_ESPLORA", "[]"),
        ("GENTLY_OTS_CALENDARS", &json!(urls).to_string()),
        ("GENTLY_OTS_QUORUM", &calendars.len().to_string()),
        ("GENTLY_WITNESS_QUORUM", &witnesses.len().to_string()),
    ]);
    person.gently(&["init", "--network", "regtest"]).exits(0);
    for (name, witness) in witnesses {
        person
            .gently(&[
                "witness",
                "add",
                name,
                &witness.vkey().print(),
                &witness.url(),
            ])
            .exits(0);
    }
    person
}

fn turn(person: &Person) -> Ran {
    person.ask("How is this machine doing?");
    person.gently(&["session", "close"]).exits(0)
}

/// Keeps headers in a file that is the person's block source, and in a store.
fn headers(person: &mut Person, headers: &[Header]) {
    let file = person.dir.path().join("headers.csv");
    std::fs::write(&file, csv(headers)).unwrap();
    person.set("GENTLY_ANCHOR_HEADERS", file.to_str().unwrap());
}

/// A policy that asks all of these witnesses.
fn policy(person: &Person, keys: &[(&str, String)]) -> PathBuf {
    let names: Vec<&str> = keys.iter().map(|(name, _)| *name).collect();
    let lines: String = keys
        .iter()
        .map(|(name, key)| format!("witness {name} {key}\n"))
        .collect();
    let file = person.dir.path().join("policy");
    std::fs::write(
        &file,
        format!(
            "{lines}group everybody all {}\nquorum everybody\n",
            names.join(" ")
        ),
    )
    .unwrap();
    file
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// `scripts/verify.py --json`.
fn second(args: &[&str]) -> Ran {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/verify.py");
    run(Command::new("python3").arg(script).args(args).arg("--json"))
}

/// What both verifiers answer about a bundle, without any home: they agree on every question.
fn outsider(folder: &Path, policy: &Path, kept: &Path) -> Value {
    let (repo, log) = (folder.join("ledger.bundle"), folder.join("audit.log"));
    let stranger = Person::new();
    let args = [
        "--log",
        text(&log),
        "--policy",
        text(policy),
        "--network",
        "regtest",
    ];
    let folder = [
        "audit",
        "verify",
        "--json",
        "--repo",
        text(&repo),
        "--headers",
        text(kept.parent().unwrap()),
    ];
    let ours = stranger.gently(&[&folder[..], &args].concat());
    let theirs = second(&[&[text(&repo), "--headers", text(kept)][..], &args].concat());
    assert_eq!(
        (ours.code, &ours.json()["answers"]),
        (theirs.code, &theirs.json()["answers"]),
        "{ours:#?}\n{theirs:#?}"
    );
    same_brackets(&ours.json(), &theirs.json());
    ours.json()
}

#[test]
fn calendars_and_witnesses_are_waited_for_together() {
    let (calendar, witness) = (
        CalendarServer::start(1),
        WitnessServer::start("w.example", 1, Manner::Silent),
    );
    let person = person(&[&calendar], &[("w", &witness)]);
    calendar.set_manner(Calendar::Slow(Duration::from_secs(600)));
    person.ask("How is this machine doing?");
    let begun = Instant::now();
    let closed = person.gently(&["session", "close"]).exits(0);
    let took = begun.elapsed();
    assert!(
        closed.err.contains("not dated yet: none of 1 calendars"),
        "{closed:#?}"
    );
    assert!(
        closed.err.contains("witness w: no answer within 2000 ms"),
        "{closed:#?}"
    );
    // Whoever is asked second was asked long before the first was given up.
    let (one, other) = (
        calendar.last_arrival().unwrap(),
        witness.last_arrival().unwrap(),
    );
    let apart = one.max(other) - one.min(other);
    assert!(apart < Duration::from_millis(1500), "asked {apart:?} apart");
    assert!(
        took >= Duration::from_secs(2) && took < Duration::from_secs(20),
        "{took:?}"
    );
    // With everybody there, both notes stand on the commit, and the next command asks nobody.
    calendar.set_manner(Calendar::Honest);
    witness.be(Manner::Honest);
    let closed = turn(&person);
    assert!(
        closed.err.contains("stamped 2 tree heads") && closed.err.contains("cosigned by w"),
        "{closed:#?}"
    );
    for name in ["ots", "witness"] {
        assert!(
            person
                .git(&["notes", "--ref", name, "list"])
                .exits(0)
                .out
                .contains(&tip(&person)),
            "{name}"
        );
    }
    let asked = (calendar.last_arrival(), witness.last_arrival());
    person.ask("And now?");
    assert_eq!((calendar.last_arrival(), witness.last_arrival()), asked);
}

fn tip(person: &Person) -> String {
    person
        .git(&["rev-parse", "main"])
        .exits(0)
        .out
        .trim()
        .to_owned()
}

/// A label of more than 63 characters is in no name system, and no resolver asks for it.
#[test]
fn names_that_do_not_resolve_cost_a_close_no_wait() {
    let nowhere = format!("https://{}.invalid", "a".repeat(64));
    let calendars = json!([nowhere]).to_string();
    let person = Person::with(&[
        ("GENTLY_ANCHOR_ESPLORA", calendars.as_str()),
        ("GENTLY_OTS_CALENDARS", calendars.as_str()),
        ("GENTLY_OTS_QUORUM", "1"),
    ]);
    person.gently(&["init"]).exits(0);
    let witness = WitnessServer::start("w.example", 1, Manner::Honest);
    person
        .gently(&["witness", "add", "w", &witness.vkey().print(), &nowhere])
        .exits(0);
    // A close that waits takes two seconds each time; one that does not may be slow on a busy
    // machine, but not always.
    let quickest = (0..4)
        .map(|_| {
            person.ask("Is anybody there?");
            let begun = Instant::now();
            let closed = person.gently(&["session", "close"]).exits(0);
            assert!(
                closed.err.contains("not dated yet: none of 1 calendars"),
                "{closed:#?}"
            );
            assert!(
                closed.err.contains("0 of 1 needed witnesses cosigned"),
                "{closed:#?}"
            );
            begun.elapsed()
        })
        .min()
        .unwrap();
    assert!(quickest < Duration::from_secs(2), "{quickest:?}");
    assert!(witness.questions().is_empty());
}

#[test]
fn an_export_carries_proofs_and_cosignatures_and_none_of_later_commits() {
    let (calendar, witness) = (
        CalendarServer::start(1),
        WitnessServer::start("w.example", 1, Manner::Honest),
    );
    let mut person = person(&[&calendar], &[("w", &witness)]);
    let mut chain = regtest_headers();
    headers(&mut person, &chain[..101]);
    turn(&person);
    let first = person.gently(&["session", "list", "--json"]).json()[0]["session"]
        .as_str()
        .unwrap()
        .to_owned();
    let close = tip(&person);
    let root = calendar.attest(&calendar.commitments()[0], 106);
    chain.push(mined_now(chain.last().unwrap(), root));
    chain.extend((0..8).scan(*chain.last().unwrap(), |last, n| {
        *last = mined_now(last, [n; 32]);
        Some(*last)
    }));
    headers(&mut person, &chain);
    turn(&person);
    let file = person.dir.path().join("headers.csv");
    person
        .gently(&["anchor", "sync", "--from", text(&file)])
        .exits(0);
    let kept = person.at("headers/regtest-0.dat");
    let policy = policy(&person, &[("w", witness.vkey().print())]);
    let folder = person.dir.path().join("export");
    assert_eq!(
        person
            .gently(&["audit", "export", &first, text(&folder)])
            .exits(0)
            .err,
        ""
    );
    let report = outsider(&folder, &policy, &kept);
    for question in [
        "consistent",
        "complete",
        "unique",
        "not_before",
        "not_after",
    ] {
        assert_eq!(report["answers"][question], "yes", "{question}: {report:#}");
    }
    assert_eq!(report["bracket"]["unanchored_tail"], 0, "{report:#}");
    // Nothing of what came later is in it.
    let copy = person.dir.path().join("copy.git");
    git(
        person.dir.path(),
        &[
            "clone",
            "-q",
            "--mirror",
            text(&folder.join("ledger.bundle")),
            text(&copy),
        ],
    )
    .exits(0);
    let inside = git(&copy, &["rev-list", "main"]).exits(0).out;
    assert!(inside.starts_with(&close) && !inside.contains(&tip(&person)));
    for (name, count) in [("ots", 1), ("witness", 1)] {
        let listed = git(&copy, &["notes", "--ref", name, "list"]).exits(0).out;
        let on: Vec<&str> = listed
            .lines()
            .map(|line| line.split(' ').nth(1).unwrap())
            .collect();
        assert_eq!(on.len(), count, "{name}: {listed}");
        assert!(
            on.iter().all(|commit| inside.contains(commit)),
            "{name}: {listed}"
        );
    }
    assert_eq!(git(&copy, &["fsck", "--strict"]).exits(0).err, "");
    // Twice the same; and without notes there are no refs of notes.
    let again = person.dir.path().join("again");
    person
        .gently(&["audit", "export", &first, text(&again)])
        .exits(0);
    let refs = |folder: &Path| {
        git(
            person.dir.path(),
            &["ls-remote", text(&folder.join("ledger.bundle"))],
        )
        .exits(0)
        .out
    };
    assert_eq!(refs(&folder), refs(&again));
    std::fs::remove_file(person.at("ledger.git/refs/notes/witness")).unwrap();
    std::fs::write(person.at("ledger.git/refs/notes/ots"), format!("{close}\n")).unwrap();
    let without = person.dir.path().join("without");
    let said = person
        .gently(&["audit", "export", &first, text(&without)])
        .exits(0)
        .err;
    assert!(said.contains("left out: refs/notes/ots"), "{said}");
    assert!(!refs(&without).contains("refs/notes"), "{}", refs(&without));
}

/// With the key, the witnesses and the headers at hand, no byte of an opening can be another one.
#[test]
fn every_changed_byte_of_an_opening_costs_an_answer() {
    let (calendar, witness) = (
        CalendarServer::start(1),
        WitnessServer::start("w.example", 1, Manner::Honest),
    );
    let other = WitnessServer::start("v.example/2", 2, Manner::Honest);
    let mut person = person(&[&calendar], &[("v", &other), ("w", &witness)]);
    let mut chain = regtest_headers();
    headers(&mut person, &chain[..101]);
    ["One?", "Two?", "Three?"]
        .iter()
        .for_each(|question| drop(person.ask(question)));
    person.gently(&["session", "close"]).exits(0);
    let root = calendar.attest(&calendar.commitments()[0], 106);
    chain.push(mined_now(chain.last().unwrap(), root));
    headers(&mut person, &chain);
    assert!(
        person
            .gently(&["audit", "upgrade"])
            .exits(0)
            .out
            .contains("no proof is pending")
    );
    chain.extend((0..8).scan(*chain.last().unwrap(), |last, n| {
        *last = mined_now(last, [n; 32]);
        Some(*last)
    }));
    headers(&mut person, &chain);
    person
        .gently(&[
            "anchor",
            "sync",
            "--from",
            text(&person.dir.path().join("headers.csv")),
        ])
        .exits(0);
    let policy = policy(
        &person,
        &[("v", other.vkey().print()), ("w", witness.vkey().print())],
    );
    let file = open(&person, "opening", &["last", "2"]);
    let folder = person.at("headers");
    let allowed = person.at("keys/allowed_signers");
    let args = [
        "--signer",
        text(&allowed),
        "--policy",
        text(&policy),
        "--headers",
        text(&folder),
        "--network",
        "regtest",
    ];
    let (code, facts) = both(&file, &args);
    assert!(
        code == 0
            && facts["answers"]
                .as_object()
                .unwrap()
                .values()
                .all(|word| word == "yes"),
        "{facts:#}"
    );
    assert!(around(&file) <= MAX_AROUND, "{}", around(&file));

    let key = std::fs::read_to_string(person.at("keys/signing.key.pub")).unwrap();
    let pinned: PublicKey = key
        .split(' ')
        .take(2)
        .collect::<Vec<_>>()
        .join(" ")
        .parse()
        .unwrap();
    let policy = WitnessPolicy::parse(&std::fs::read_to_string(&policy).unwrap()).unwrap();
    let chain: BTreeMap<u32, Header> = (0..).zip(chain).collect();
    let all_yes = |bytes: &[u8]| {
        let Ok(file) = OpeningFile::parse(bytes) else {
            return false;
        };
        let network = Some(gently::record::bitcoin::block::Network::Regtest);
        let trust = Trust {
            pinned: Some(&[pinned]),
            policy: Some(&policy),
            chain: Some(&chain),
            network,
        };
        let report = check_opening(&file, trust);
        OpeningQuestion::ALL
            .into_iter()
            .all(|about| report.to(about).answer == CheckAnswer::Yes)
    };
    let bytes = std::fs::read(&file).unwrap();
    assert!(all_yes(&bytes));
    for at in 0..bytes.len() {
        for flip in [0x01, 0x10] {
            let mut changed = bytes.clone();
            changed[at] ^= flip;
            let around = String::from_utf8_lossy(&changed[at.saturating_sub(40)..at + 1]);
            assert!(!all_yes(&changed), "byte {at} ^ {flip}: {around}");
        }
    }
}

/// The parts of others: a Bitcoin node, the stock OpenTimestamps client, two witnesses in processes
/// of their own.
#[test]
fn a_close_among_real_parts_one_of_which_is_killed() {
    let (Some(node), Some(ots), Some(site)) = (Node::start(), clients(), site()) else {
        return;
    };
    let calendar = CalendarServer::start(1);
    let mut person = person(&[&calendar], &[]);
    for (name, value) in [
        ("GENTLY_ANCHOR_DEADLINE_MS", "20000".to_owned()),
        ("GENTLY_ANCHOR_BITCOIND", json!([node.url]).to_string()),
        (
            "GENTLY_ANCHOR_BITCOIND_COOKIE",
            node.cookie().display().to_string(),
        ),
        ("GENTLY_WITNESS_QUORUM", "2".to_owned()),
        // Python starts slowly when the machine is loaded; the deadline itself has tests of its
        // own.
        ("GENTLY_WITNESS_DEADLINE_MS", "30000".to_owned()),
    ] {
        person.set(name, &value);
    }
    node.mines(8);
    let mut one = Aics::new(site, person.dir.path().join("one"), "witness.example/one");
    let mut two = Aics::new(site, person.dir.path().join("two"), "witness.example/two");
    for (name, witness) in [("one", &one), ("two", &two)] {
        person
            .gently(&["witness", "add", name, &witness.vkey, &witness.url])
            .exits(0);
    }
    let log = log_key(&person);
    one.trust(&log);
    two.trust(&log);
    let closed = turn(&person);
    assert!(
        closed.err.contains("stamped 1 tree head") && closed.err.contains("cosigned by one, two"),
        "{closed:#?}"
    );
    two.kill();
    let closed = turn(&person);
    assert!(closed.err.contains("stamped 1 tree head"), "{closed:#?}");
    assert!(
        closed.err.contains("1 of 2 needed witnesses cosigned"),
        "{closed:#?}"
    );

    // The node takes a block with the commitment; the stock client finds our note good, on that
    // node.
    let commitment = calendar.commitments()[1].clone();
    let (tree, _) = a_block_with(&node, &commitment);
    calendar.answers(&commitment, tree.print());
    assert!(
        person
            .gently(&["audit", "upgrade"])
            .exits(0)
            .out
            .contains("1 proof is complete")
    );
    let folder = tempfile::tempdir().unwrap();
    hand_out(&person, folder.path());
    let (user, password) = node.credentials();
    let rpc = node
        .url
        .replace("http://", &format!("http://{user}:{password}@"));
    let verify = [
        "--no-cache",
        "--bitcoin-node",
        &format!("{rpc}/"),
        "verify",
        "checkpoint.ots",
    ];
    let stock = client(&ots, "ots", folder.path(), &verify).exits(0);
    assert!(
        stock
            .err
            .contains("Success! Bitcoin block 9 attests existence"),
        "{stock:#?}"
    );
    node.mines(10);
    person.gently(&["anchor", "sync"]).exits(0);

    // The one that was killed comes back, and is asked again.
    person
        .gently(&["audit", "verify", "--require", "unique"])
        .exits(1);
    two.start();
    person.gently(&["witness", "ask"]).exits(0);
    person
        .gently(&[
            "audit",
            "verify",
            "--network",
            "regtest",
            "--require",
            "unique,not-before,not-after",
        ])
        .exits(0);
    assert_eq!((one.evidence(), two.evidence()), (json!([]), json!([])));

    // An outsider has the export, his own policy and his own headers; and one turn, opened.
    let (kept, export) = (
        person.at("headers/regtest-0.dat"),
        person.dir.path().join("export"),
    );
    let policy = policy(
        &person,
        &[("one", one.vkey.clone()), ("two", two.vkey.clone())],
    );
    let newest = person.gently(&["session", "show", "last", "--json"]).json()["session"]
        .as_str()
        .unwrap()
        .to_owned();
    person
        .gently(&["audit", "export", &newest, text(&export)])
        .exits(0);
    let report = outsider(&export, &policy, &kept);
    for question in [
        "consistent",
        "complete",
        "unique",
        "not_before",
        "not_after",
    ] {
        assert_eq!(report["answers"][question], "yes", "{question}: {report:#}");
    }
    let file = open(&person, "opening", &["last", "1"]);
    let args = [
        "--policy",
        text(&policy),
        "--headers",
        text(kept.parent().unwrap()),
        "--network",
        "regtest",
    ];
    let (code, facts) = both(&file, &args);
    assert_eq!(code, 0, "{facts:#}");
    for about in [
        "consistent",
        "commitment",
        "tree_head",
        "cosigned_by",
        "not_before",
        "not_after",
    ] {
        assert_eq!(facts["answers"][about], "yes", "{about}: {facts:#}");
    }
}
