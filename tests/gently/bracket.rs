//! Between which blocks: proofs and heights held against kept headers, with the stock client, a
//! real node, and our second checker as oracles.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps an error fails, as it should"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use gently::record::bitcoin::block::Header;
use gently::record::hash::Hash32;
use gently::record::ots::{Attestation, Op, ProofNode};
use serde_json::{Value, json};

use crate::calendar_server::{CalendarServer, csv, mined_now, mined_on, regtest_headers};
use crate::esplora_server::{Chain, EsploraServer, HEADERS, STALE, rows};
use crate::node::Node;
use crate::person::{Person, Ran, run};

/// `EX_TEMPFAIL` of `scripts/peers.sh`.
const UNAVAILABLE: i32 = 75;

/// Where the stock client and otskit are; none, with a note, where they can't be had.
pub fn clients() -> Option<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/peers.sh");
    let ran = run(Command::new("sh").arg(script).arg("ots"));
    match ran.code {
        0 => Some(PathBuf::from(ran.out.trim_end())),
        UNAVAILABLE => {
            eprintln!(
                "skipped: no OpenTimestamps client on this machine: {}",
                ran.err
            );
            None
        }
        _ => panic!("{ran:#?}"),
    }
}

/// Runs one of the two, in a folder.
pub fn client(site: &Path, program: &str, folder: &Path, args: &[&str]) -> Ran {
    let mut command = Command::new("python3");
    command
        .arg(site.join("bin").join(program))
        .args(args)
        .current_dir(folder);
    command
        .env("PYTHONPATH", site)
        .env("HOME", folder)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    run(&mut command)
}

/// `scripts/verify.py --json` on the home's ledger and log, by somebody who names the network.
fn second(person: &Person, headers: Option<&Path>) -> Value {
    second_on(person, headers, &["--network", "regtest"])
}

fn second_on(person: &Person, headers: Option<&Path>, network: &[&str]) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new("python3");
    command
        .arg(root.join("scripts/verify.py"))
        .arg(person.at("ledger.git"))
        .arg("--json")
        .args(network);
    command
        .arg("--log")
        .arg(person.at("audit.log"))
        .args(headers.map(|file| format!("--headers={}", file.display())));
    run(&mut command).json()
}

fn person(calendars: &[&CalendarServer]) -> Person {
    let urls: Vec<&str> = calendars.iter().map(|calendar| calendar.url()).collect();
    let person = Person::with(&[
        ("GENTLY_ANCHOR_ESPLORA", "[]"),
        ("GENTLY_OTS_CALENDARS", &json!(urls).to_string()),
        ("GENTLY_OTS_QUORUM", "1"),
        ("GENTLY_ANCHOR_DEADLINE_MS", "20000"),
    ]);
    person.gently(&["init", "--network", "regtest"]).exits(0);
    person
}

fn write_csv(person: &mut Person, headers: &[Header]) -> PathBuf {
    let file = person.dir.path().join("headers.csv");
    std::fs::write(&file, csv(headers)).unwrap();
    person.set("GENTLY_ANCHOR_HEADERS", file.to_str().unwrap());
    file
}

/// Puts proof and file of the newest commit of `main` into a folder, as the page says:
/// `checkpoint.ots`, `checkpoint`. Returns the file's SHA-256.
pub fn hand_out(person: &Person, folder: &Path) -> String {
    let git = |args: &[&str], to: &str| {
        let mut git = Command::new("git");
        let shown = git
            .arg("-C")
            .arg(person.at("ledger.git"))
            .args(args)
            .output()
            .unwrap();
        assert!(shown.status.success(), "{shown:?}");
        std::fs::write(folder.join(to), &shown.stdout).unwrap();
        shown.stdout
    };
    git(&["notes", "--ref", "ots", "show", "main"], "checkpoint.ots");
    Hash32::digest(&git(&["show", "main:checkpoint"], "checkpoint")).to_string()
}

fn session(person: &Person) -> Value {
    let id = person.gently(&["session", "list", "--json"]).json()[0]["session"]
        .as_str()
        .unwrap()
        .to_owned();
    person
        .gently(&["audit", "session", &id, "--network", "regtest", "--json"])
        .exits(0)
        .json()["session"]
        .clone()
}

/// Both checkers bracket the ledger, and each of its sessions, alike.
pub fn same_brackets(ours: &Value, theirs: &Value) {
    for key in [
        "longest_span",
        "attested_after_no_block",
        "oldest_pending",
        "proofs",
        "proofs_pending",
        "unanchored_tail",
    ] {
        assert!(
            !ours["bracket"][key].is_null() || ["longest_span", "oldest_pending"].contains(&key),
            "{key}: {ours:#}"
        );
        assert_eq!(
            ours["bracket"][key], theirs["bracket"][key],
            "{key}: {ours:#}\n{theirs:#}"
        );
    }
    // The reason why there is no bound is for people.
    let plain = |bound: &Value| match bound["block"].is_null() {
        true => Value::Null,
        false => {
            json!({"block": bound["block"], "time": bound["time"], "height_proven": bound["height_proven"]})
        }
    };
    let each = |report: &Value| -> Vec<Value> {
        let listed = report["session_brackets"].as_array().unwrap().iter();
        listed
            .map(|of| {
                json!([
                    of["session"],
                    plain(&of["not_before"]),
                    plain(&of["not_after"])
                ])
            })
            .collect()
    };
    assert_eq!(each(ours), each(theirs));
    assert_eq!(ours["sessions"], each(ours).len());
}

#[test]
fn a_ledger_is_bracketed_and_both_checkers_say_so() {
    let calendar = CalendarServer::start(1);
    let mut person = person(&[&calendar]);
    let mut headers = regtest_headers();
    write_csv(&mut person, &headers[..101]);
    person.ask("How is this machine doing?");
    person.gently(&["session", "close"]).exits(0);
    let (report, other) = (person.verified(), second(&person, None));
    assert_eq!(
        (
            &report["answers"]["not_after"],
            &other["answers"]["not_after"]
        ),
        (&json!("not checked"), &json!("not checked"))
    );
    assert_eq!(
        (
            &report["bracket"]["proofs_pending"],
            &other["bracket"]["proofs_pending"]
        ),
        (&json!(1), &json!(1))
    );
    assert_eq!(
        (
            &report["bracket"]["unanchored_tail"],
            &other["bracket"]["unanchored_tail"]
        ),
        (&report["entries"], &report["entries"])
    );
    same_brackets(&report, &other);
    assert_eq!(
        report["bracket"]["oldest_pending"]["commit"]
            .as_str()
            .unwrap()
            .len(),
        40
    );
    let text = person
        .gently(&["audit", "verify", "-v", "--network", "regtest"])
        .exits(0)
        .out;
    let started = Header::fields(&headers[100]).time.to_string();
    let begins = format!(
        "    Not before: block 100 ({}Z)\n    Not after: not proven: proofs wait for a block\n",
        &started[..16]
    );
    assert!(
        text.contains("brackets:    1 session\n") && text.contains(&begins),
        "{text}"
    );
    assert!(!text.contains("pending:  "), "not late yet: {text}");
    let bounds = session(&person);
    assert_eq!(
        (
            &bounds["not_before"]["block"],
            &bounds["not_before"]["height_proven"]
        ),
        (&json!(100), &json!(false))
    );
    assert_eq!(
        bounds["not_after"]["reason"],
        "not proven: proofs wait for a block"
    );

    let root = calendar.attest(&calendar.commitments()[0], 106);
    headers.push(mined_now(headers.last().unwrap(), root));
    for n in 0..20 {
        headers.push(mined_now(headers.last().unwrap(), [n; 32]));
    }
    let file = write_csv(&mut person, &headers);
    assert!(
        person
            .gently(&["audit", "upgrade"])
            .exits(0)
            .out
            .contains("no proof is pending")
    );
    // By the word of a source.
    let report = person.verified();
    assert_eq!(report["answers"]["not_after"], "yes", "{report:#}");
    assert_eq!(
        report["bracket"]["longest_span"],
        json!({"blocks": 6, "line": 3, "after_block": 100, "before_block": 106})
    );
    assert_eq!(
        (
            &report["bracket"]["unanchored_tail"],
            &report["bracket"]["attested_after_no_block"]
        ),
        (&json!(0), &json!(2))
    );
    assert_eq!(session(&person)["not_after"]["height_proven"], false);
    // Without anybody: not checked, and both say the same.
    person.set("GENTLY_ANCHOR_MODE", "off");
    let (report, other) = (person.verified(), second(&person, None));
    for report in [&report, &other] {
        assert_eq!(report["answers"]["not_after"], "not checked");
        assert_eq!(
            (
                &report["bracket"]["proofs_without_header"],
                &report["bracket"]["proofs"]
            ),
            (&json!(1), &json!(0))
        );
        assert!(
            report["reasons"]["not_after"]
                .as_str()
                .unwrap()
                .contains("the lowest 106")
        );
    }
    // By kept headers: proven. The newest six stay out.
    let synced = person
        .gently(&["anchor", "sync", "--from", file.to_str().unwrap(), "--json"])
        .exits(0)
        .json();
    assert_eq!(
        (&synced["from"], &synced["to"], &synced["added"]),
        (&json!(0), &json!(120), &json!(121))
    );
    let kept = person.at("headers/regtest-0.dat");
    assert_eq!(std::fs::metadata(&kept).unwrap().len(), 121 * 80);
    let (report, other) = (person.verified(), second(&person, Some(&kept)));
    for report in [&report, &other] {
        assert_eq!(
            (
                &report["answers"]["not_after"],
                &report["answers"]["not_before"]
            ),
            (&json!("yes"), &json!("yes")),
            "{report:#}"
        );
        assert_eq!(
            (
                &report["bracket"]["proofs"],
                &report["bracket"]["unanchored_tail"]
            ),
            (&json!(1), &json!(0))
        );
        assert_eq!(
            (
                &report["bracket"]["blocks_proven"],
                &report["bracket"]["blocks_orphaned"]
            ),
            (&json!(1), &json!(0))
        );
    }
    same_brackets(&report, &other);
    // Whoever does not name the network has no bound by its blocks, from either.
    let report = person
        .gently(&["audit", "verify", "--json"])
        .exits(0)
        .json();
    let other = second_on(&person, Some(&kept), &[]);
    same_brackets(&report, &other);
    for report in [&report, &other] {
        let of = &report["session_brackets"][0];
        assert!(
            of["not_before"]["block"].is_null() && of["not_after"]["block"].is_null(),
            "{report:#}"
        );
        assert_eq!(report["answers"]["not_after"], "not checked");
    }
    let text = person
        .gently(&[
            "audit",
            "verify",
            "-v",
            "--network",
            "regtest",
            "--require",
            "not-after,not-before",
        ])
        .exits(0)
        .out;
    assert!(
        text.contains("    Not before: block 100 (") && text.contains("    Not after: block 106 ("),
        "{text}"
    );
    assert_eq!(text.matches("Z, height proven)").count(), 2, "{text}");
    assert!(text.contains("span:        at most 6 blocks without an outside anchor (line 3: 100 to 106); 2 lines attested, after no block\n"), "{text}");
    assert!(text.contains("tail:        0 lines of"), "{text}");
    let id = person.gently(&["session", "list", "--json"]).json()[0]["session"]
        .as_str()
        .unwrap()
        .to_owned();
    let text = person
        .gently(&["audit", "session", "-v", &id, "--network", "regtest"])
        .exits(0)
        .out;
    assert!(
        text.contains("Not before: block 100 (") && text.contains("Not after: block 106 ("),
        "{text}"
    );
    assert_eq!(text.matches("Z, height proven)").count(), 2, "{text}");
    // More lines: a tail, and an open session that is before nothing.
    person.ask("Is there more?");
    let (report, other) = (person.verified(), second(&person, Some(&kept)));
    assert_eq!(
        (
            &report["bracket"]["unanchored_tail"],
            &report["answers"]["not_after"]
        ),
        (&other["bracket"]["unanchored_tail"], &json!("partly"))
    );
    assert_ne!(report["bracket"]["unanchored_tail"], 0);
    same_brackets(&report, &other);
    // A clone with the notes and the headers is all that an outsider needs.
    let copy = person.dir.path().join("copy.git");
    person
        .git(&["clone", "--quiet", "--mirror", ".", copy.to_str().unwrap()])
        .exits(0);
    let (folder, log) = (
        kept.parent().unwrap().display().to_string(),
        person.at("audit.log").display().to_string(),
    );
    let command = [
        "audit",
        "verify",
        "--repo",
        copy.to_str().unwrap(),
        "--log",
        &log,
        "--headers",
        &folder,
        "--json",
    ];
    let outside = person
        .gently(&[&command[..], &["--network", "regtest"]].concat())
        .json();
    assert_eq!(outside["answers"]["not_after"], "partly");
    // Who checks a copy again sees what is new between its blocks, too.
    let (reader, url) = (
        Person::new(),
        format!("file://{}", person.at("ledger.git").display()),
    );
    let verify = [
        "audit",
        "verify",
        "--network",
        "regtest",
        "--repo",
        &url,
        "--headers",
        &folder,
        "--json",
    ];
    let look = || reader.gently(&verify).exits(0).json();
    person.set("GENTLY_ANCHOR_MODE", "auto");
    person.gently(&["session", "close"]).exits(0);
    assert_eq!(
        look()["answers"]["not_after"],
        "partly",
        "the second close has no block yet"
    );
    person.ask("And now?");
    person.gently(&["session", "close"]).exits(0);
    for (commitment, height) in calendar.commitments()[1..].iter().zip(127..) {
        let root = calendar.attest(commitment, height);
        headers.push(mined_now(headers.last().unwrap(), root));
    }
    for n in 0..10 {
        headers.push(mined_now(headers.last().unwrap(), [n; 32]));
    }
    let file = write_csv(&mut person, &headers);
    assert!(
        person
            .gently(&["audit", "upgrade"])
            .exits(0)
            .out
            .contains("no proof is pending")
    );
    person
        .gently(&["anchor", "sync", "--from", file.to_str().unwrap()])
        .exits(0);
    let again = look();
    assert_eq!(again["answers"]["not_after"], "yes since", "{again:#}");
    assert!(
        again["reasons"]["not_after"]
            .as_str()
            .unwrap()
            .contains(": 1 proof; lines up to "),
        "{again:#}"
    );
    let again = look();
    assert_eq!(
        again["answers"]["not_after"], "not checked",
        "nothing is new: {again:#}"
    );
    assert!(
        again["reasons"]["not_after"]
            .as_str()
            .unwrap()
            .contains("proofs on older commits are not looked at")
    );
    let all = reader
        .gently(&[&verify[..], &["--from-scratch"]].concat())
        .exits(0)
        .json();
    // One for each close: what is stamped are tree heads, and genesis has none (FORMAT 8).
    assert_eq!(
        (&all["answers"]["not_after"], &all["bracket"]["proofs"]),
        (&json!("yes"), &json!(3))
    );
}

#[test]
fn a_note_that_proves_something_else_is_a_finding_of_both_checkers() {
    let calendar = CalendarServer::start(1);
    let mut person = person(&[&calendar]);
    let headers = regtest_headers();
    let file = write_csv(&mut person, &headers);
    person.ask("How is this machine doing?");
    person.gently(&["session", "close"]).exits(0);
    person
        .gently(&["anchor", "sync", "--from", file.to_str().unwrap()])
        .exits(0);
    let kept = person.at("headers/regtest-0.dat");
    let log = hand_out(&person, person.dir.path());
    let tree = ProofNode::chain(
        [Op::Sha256].into_iter(),
        Attestation::Bitcoin { height: 50 },
    )
    .print();
    let head = [
        &std::fs::read(person.dir.path().join("checkpoint.ots")).unwrap()[..33],
        &hex::decode(log).unwrap(),
    ]
    .concat();
    let pending = std::fs::read(person.dir.path().join("checkpoint.ots")).unwrap();
    for note in [
        include_bytes!("../data/ots/f.txt.ots").to_vec(),
        b"rubbish".to_vec(),
        pending[..pending.len() - 1].to_vec(),
        [pending.clone(), vec![0]].concat(),
        [head, tree].concat(),
    ] {
        let place = person.dir.path().join("note");
        std::fs::write(&place, note).unwrap();
        let place = place.to_str().unwrap();
        let who = ["-c", "user.name=a", "-c", "user.email=b"];
        let blob = person.git(&["hash-object", "-w", place]).exits(0).out;
        person
            .git(
                &[
                    &who[..],
                    &[
                        "notes",
                        "--ref",
                        "ots",
                        "add",
                        "-f",
                        "-C",
                        blob.trim(),
                        "main",
                    ],
                ]
                .concat(),
            )
            .exits(0);
        let (report, other) = (person.verified(), second(&person, Some(&kept)));
        for report in [&report, &other] {
            assert_eq!(report["answers"]["not_after"], "no", "{report:#}");
            assert_eq!(report["answers"]["consistent"], "yes", "{report:#}");
            assert_eq!(report["findings"].as_array().unwrap().len(), 1);
        }
        person
            .gently(&[
                "audit",
                "verify",
                "--network",
                "regtest",
                "--require",
                "not-after",
            ])
            .exits(1);
    }
    let left = person.gently(&["audit", "upgrade"]).exits(0);
    assert!(left.out.contains("pending"), "{left:#?}");
}

#[test]
fn the_stock_client_and_another_accept_our_proofs_on_a_real_nodes_block() {
    let (Some(node), Some(site)) = (Node::start(), clients()) else {
        return;
    };
    let calendar = CalendarServer::start(1);
    let mut person = person(&[&calendar]);
    person.set("GENTLY_ANCHOR_BITCOIND", &json!([node.url]).to_string());
    person.set(
        "GENTLY_ANCHOR_BITCOIND_COOKIE",
        node.cookie().to_str().unwrap(),
    );
    node.mines(8);
    person.ask("How is this machine doing?");
    person.gently(&["session", "close"]).exits(0);
    let folder = tempfile::tempdir().unwrap();
    let log = hand_out(&person, folder.path());
    let info = client(&site, "ots", folder.path(), &["info", "checkpoint.ots"])
        .exits(0)
        .out;
    assert!(
        info.contains(&format!("File sha256 hash: {log}"))
            && info.contains(&format!("PendingAttestation('{}')", calendar.url())),
        "{info}"
    );

    // The node takes a block of ours whose only transaction carries the commitment.
    let commitment = calendar.commitments()[0].clone();
    let (tree, header) = a_block_with(&node, &commitment);
    calendar.answers(&commitment, tree.print());
    let done = person
        .gently(&["audit", "upgrade", "--json"])
        .exits(0)
        .json();
    assert_eq!(
        done["completed"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["block"].clone())
            .collect::<Vec<_>>(),
        [json!(9)],
        "{done:#}"
    );
    hand_out(&person, folder.path());
    let info = client(&site, "ots", folder.path(), &["info", "checkpoint.ots"])
        .exits(0)
        .out;
    assert!(info.contains("BitcoinBlockHeaderAttestation(9)"), "{info}");
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
    let stock = client(&site, "ots", folder.path(), &verify).exits(0);
    assert!(
        stock
            .err
            .contains("Success! Bitcoin block 9 attests existence"),
        "{stock:#?}"
    );
    let otskit = |header: &str| {
        client(
            &site,
            "otskit",
            folder.path(),
            &["verify", "--header", header, "checkpoint.ots"],
        )
    };
    otskit(&header.to_string()).exits(0);
    // Of another file both say no, and so do we of another header.
    std::fs::write(folder.path().join("checkpoint"), "another file").unwrap();
    assert_ne!(client(&site, "ots", folder.path(), &verify).code, 0);
    assert_ne!(otskit(&header.to_string()).code, 0);

    node.mines(10);
    let synced = person.gently(&["anchor", "sync", "--json"]).exits(0).json();
    assert_eq!(
        (&synced["from"], &synced["to"], &synced["complete"]),
        (&json!(0), &json!(13), &json!(true)),
        "{synced:#}"
    );
    node.mines(5);
    let synced = person.gently(&["anchor", "sync", "--json"]).exits(0).json();
    assert_eq!(
        (&synced["to"], &synced["added"]),
        (&json!(18), &json!(5)),
        "resumed"
    );
    let report = person.verified();
    assert_eq!(
        (
            &report["answers"]["not_after"],
            &report["bracket"]["longest_span"]["blocks"]
        ),
        (&json!("yes"), &json!(1))
    );
    assert_eq!(session(&person)["not_after"]["height_proven"], true);
}

/// A block on the node's tip whose coinbase carries 32 bytes, accepted by the node; the proof from
/// them, and its header.
pub fn a_block_with(node: &Node, commitment: &[u8]) -> (ProofNode, Header) {
    let call = |method: &str, params: Value| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(node.call(method, params))
    };
    let tip = call("getbestblockhash", json!([]));
    let height = call("getblockcount", json!([])).as_u64().unwrap() + 1;
    let before: Header = call("getblockheader", json!([tip, false]))
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    // Version, one input from nowhere whose script is the height and some bytes, no spendable
    // value, OP_FALSE OP_RETURN 32 bytes.
    let input = [
        &[1][..],
        &[0; 32],
        &[0xff; 4],
        &[4, 0x50 + u8::try_from(height).unwrap(), 2, 0xab, 0xcd],
        &[0xff; 4],
    ]
    .concat();
    let prefix = [
        &1_u32.to_le_bytes()[..],
        &input,
        &[1],
        &[0; 8],
        &[35, 0, 0x6a, 32],
    ]
    .concat();
    let suffix = [0; 4];
    let ops = [
        Op::Prepend(prefix.clone()),
        Op::Append(suffix.to_vec()),
        Op::Sha256,
        Op::Sha256,
    ];
    let tree = ProofNode::chain(ops.into_iter(), Attestation::Bitcoin { height });
    let root: [u8; 32] = tree.leaves(commitment).unwrap()[0]
        .message
        .clone()
        .try_into()
        .unwrap();
    let header = mined_on(&before, root);
    let block = [header.as_bytes(), &[1][..], &prefix, commitment, &suffix].concat();
    assert_eq!(
        call("submitblock", json!([hex::encode(block)])),
        Value::Null
    );
    assert_eq!(call("getblockcount", json!([])).as_u64(), Some(height));
    (tree, header)
}

#[test]
fn headers_are_kept_from_files_resumed_and_refused_when_they_do_not_follow() {
    let mut person = Person::new();
    person.gently(&["init", "--network", "regtest"]).exits(0);
    let headers = regtest_headers();
    let raw = |headers: &[Header]| {
        headers
            .iter()
            .flat_map(|header| *header.as_bytes())
            .collect::<Vec<u8>>()
    };
    let file = person.dir.path().join("headers.dat");
    let sync = |person: &Person, bytes: &[u8], more: &[&str]| {
        std::fs::write(&file, bytes).unwrap();
        person.gently(
            &[
                &["anchor", "sync", "--from", file.to_str().unwrap()][..],
                more,
            ]
            .concat(),
        )
    };
    assert!(
        sync(&person, &raw(&headers[..50]), &[])
            .exits(0)
            .out
            .contains("headers 0 to 43 of regtest are kept, 44 of them new")
    );
    let kept = person.at("headers/regtest-0.dat");
    let before = std::fs::read(&kept).unwrap();
    let mut broken = headers.clone();
    broken[60] = broken[59];
    let fault = sync(&person, &raw(&broken), &[]).exits(2);
    assert!(fault.err.contains("header 60: it follows"), "{fault:#?}");
    let after = std::fs::read(&kept).unwrap();
    assert!(
        after.starts_with(&before) && after.len() == 60 * 80,
        "only ever appended to"
    );
    assert!(
        sync(&person, &raw(&headers[70..]), &["--start", "70"])
            .exits(2)
            .err
            .contains("the store goes on at 60")
    );
    assert!(
        sync(&person, &raw(&headers)[..85], &[])
            .exits(2)
            .err
            .contains("no multiple of 80")
    );
    assert!(
        sync(&person, b"height,hash,header\n0,x,y\n", &[])
            .exits(2)
            .err
            .contains("the line for height 0 is none")
    );
    assert!(
        sync(&person, csv(&headers).as_bytes(), &[])
            .exits(0)
            .out
            .contains("headers 0 to 99 of regtest are kept, 40 of them new")
    );
    assert!(
        sync(&person, &raw(&headers), &[])
            .exits(0)
            .out
            .contains(", 0 of them new")
    );
    // Changed on disk: not believed, by anybody.
    let mut bytes = std::fs::read(&kept).unwrap();
    bytes[4000] ^= 1;
    std::fs::write(&kept, &bytes).unwrap();
    assert!(
        sync(&person, &raw(&headers), &[])
            .exits(2)
            .err
            .contains("the file was changed")
    );
    std::fs::remove_file(&kept).unwrap();
    assert!(
        person
            .gently(&["anchor", "sync"])
            .exits(2)
            .err
            .contains("anchor.mode is off")
    );
    person.set("GENTLY_ANCHOR_MODE", "auto");
    person.set("GENTLY_ANCHOR_ESPLORA", "[]");
    let nobody = person.gently(&["anchor", "sync"]).exits(2);
    assert!(
        nobody.err.contains("no node and no explorer is configured"),
        "{nobody:#?}"
    );
}

#[test]
fn an_orphaned_block_still_bounds_and_a_false_height_is_found() {
    let shared = std::env::var_os("GENTLY_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"));
    let many = shared.join("data/btc/mainnet-822527-830592.csv");
    if !many.is_file() {
        eprintln!("skipped: no {} to read", many.display());
        return;
    }
    let stale = rows(STALE).remove(0);
    let orphaned = Chain::real(823_200..=823_225).with(stale.0, &stale.1, &stale.2);
    for (chain, not_before, counted) in [
        (orphaned, "yes", "blocks_orphaned"),
        (claimed_higher(), "no", ""),
    ] {
        let server = EsploraServer::start(chain);
        let mut person = Person::with(&[
            ("GENTLY_ANCHOR_ESPLORA", &json!([server.url()]).to_string()),
            ("GENTLY_ANCHOR_DEADLINE_MS", "20000"),
        ]);
        person.lives_after(823_225);
        person.ask("How is this machine doing?");
        assert_eq!(
            person.verified()["answers"]["not_before"],
            "yes",
            "without headers a height is a claim"
        );
        person.set("GENTLY_ANCHOR_MODE", "off");
        let synced = person
            .gently(&["anchor", "sync", "--json", "--from", many.to_str().unwrap()])
            .exits(0)
            .json();
        assert_eq!(
            (&synced["from"], &synced["to"]),
            (&json!(822_528), &json!(830_586))
        );
        let kept = person.at("headers/bitcoin-822528.dat");
        for report in [person.verified(), second(&person, Some(&kept))] {
            assert_eq!(report["answers"]["not_before"], not_before, "{report:#}");
            assert!(
                counted.is_empty() || report["bracket"][counted] == 1,
                "{report:#}"
            );
        }
    }
}

/// A real block said to be ten higher than it is.
fn claimed_higher() -> Chain {
    let (_, hash, header) = rows(HEADERS)
        .into_iter()
        .find(|row| row.0 == 823_225)
        .unwrap();
    Chain::real(823_225..=823_225).with(823_235, &hash, &header)
}

/// What an explorer knows who has these headers, from the first block on.
fn chain(headers: &[Header]) -> Chain {
    let rows = headers.iter().enumerate();
    rows.fold(Chain::default(), |chain, (at, header)| {
        chain.with(
            u32::try_from(at).unwrap(),
            &header.hash().to_string(),
            &header.to_string(),
        )
    })
}

/// Others need explorers, too: one run asks all of them together so often and no more, and the next
/// one goes on.
#[test]
fn a_run_asks_explorers_at_most_2016_questions() {
    let mut headers = regtest_headers()[..1].to_vec();
    while headers.len() < 20_500 {
        headers.push(mined_on(headers.last().unwrap(), [7; 32]));
    }
    let last = headers.last().unwrap();
    // One knows no blocks in the middle.
    let half = chain(&headers[..9_001]).with(20_499, &last.hash().to_string(), &last.to_string());
    let (half, whole) = (
        EsploraServer::start(half),
        EsploraServer::start(chain(&headers)),
    );
    let both = json!([half.url(), whole.url()]).to_string();
    let mut person = Person::with(&[("GENTLY_ANCHOR_ESPLORA", &both)]);
    person.gently(&["init", "--network", "regtest"]).exits(0);
    let synced = person.gently(&["anchor", "sync"]).exits(0);
    assert!(
        synced.err.contains("at most 2016 questions. Run it again"),
        "{synced:#?}"
    );
    let asked = half.asked() + whole.asked();
    assert!(
        (2000..=2016).contains(&asked) && half.asked() > 900,
        "{} of {asked}",
        half.asked()
    );
    let kept = person.at("headers/regtest-0.dat");
    let before = std::fs::read(&kept).unwrap();
    person.set("GENTLY_ANCHOR_ESPLORA", &json!([whole.url()]).to_string());
    let synced = person.gently(&["anchor", "sync", "--json"]).exits(0).json();
    assert_eq!(
        (&synced["to"], &synced["complete"]),
        (&json!(20_493), &json!(true))
    );
    assert!(
        std::fs::read(&kept).unwrap().starts_with(&before),
        "only ever appended to"
    );
}

#[test]
fn headers_are_kept_from_an_explorer_ten_a_question() {
    let headers = regtest_headers();
    let server = EsploraServer::start(chain(&headers[..60]));
    let mut person = Person::with(&[("GENTLY_ANCHOR_ESPLORA", &json!([server.url()]).to_string())]);
    person.gently(&["init", "--network", "regtest"]).exits(0);
    let synced = person.gently(&["anchor", "sync", "--json"]).exits(0).json();
    assert_eq!(
        (&synced["from"], &synced["to"], &synced["complete"]),
        (&json!(0), &json!(53), &json!(true))
    );
    server.set_chain(chain(&headers));
    let asked = server.asked();
    let synced = person.gently(&["anchor", "sync", "--json"]).exits(0).json();
    assert_eq!((&synced["to"], &synced["added"]), (&json!(99), &json!(46)));
    // Three for the tip, and ten blocks each for the rest.
    assert_eq!(server.asked() - asked, 3 + 5);
    // A chain that does not go on from what is kept is named, and nothing is added.
    let mut other = headers[..90].to_vec();
    for n in 0..40 {
        other.push(mined_on(other.last().unwrap(), [n; 32]));
    }
    server.set_chain(chain(&other));
    let fault = person.gently(&["anchor", "sync"]).exits(2);
    assert!(fault.err.contains("header 100: it follows"), "{fault:#?}");
    server.set_chain(chain(&headers));
    person.set("GENTLY_ANCHOR_MODE", "off");
    assert_eq!(
        std::fs::metadata(person.at("headers/regtest-0.dat"))
            .unwrap()
            .len(),
        100 * 80
    );
}
