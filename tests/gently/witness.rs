//! Witnesses through the program: asked at every new tree head, believed only in what they sign.

use std::path::Path;
use std::time::{Duration, Instant};

use gently::record::signature::PublicKey;
use gently::record::tree::note::{CosignedNote, NoteSignature};
use serde_json::{Value, json};

use crate::person::{Person, Ran};
use crate::witness_server::{Manner, WitnessServer};

/// Somebody with these witnesses, and so many that must cosign.
fn with(witnesses: &[(&str, &WitnessServer)], quorum: u64) -> Person {
    let person = Person::with(&[
        ("GENTLY_ANCHOR_MODE", "off"),
        ("GENTLY_WITNESS_QUORUM", &quorum.to_string()),
    ]);
    person.gently(&["init"]).exits(0);
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

/// The note on `main`'s tip, by stock git.
fn note(person: &Person) -> Option<CosignedNote> {
    let shown = person.git(&["notes", "--ref", "witness", "show", "main"]);
    (shown.code == 0).then(|| CosignedNote::parse(&shown.out).unwrap())
}

fn head(person: &Person) -> String {
    person.git(&["show", "main:checkpoint"]).exits(0).out
}

fn copy(from: &Path, to: &Path) {
    let done = std::process::Command::new("cp")
        .arg("-r")
        .arg(from)
        .arg(to)
        .status()
        .unwrap();
    assert!(done.success());
}

#[test]
fn a_close_is_cosigned_and_the_note_stands_on_its_commit() {
    let (a, b) = (
        WitnessServer::start("a.example/w", 1, Manner::Honest),
        WitnessServer::start("b.example", 2, Manner::Newer),
    );
    let person = with(&[("a", &a), ("b", &b)], 2);
    assert_eq!(
        person.ask("first").err.matches("witness").count(),
        0,
        "no tree head, nobody to be asked"
    );
    let closed = person
        .gently(&["session", "close", "--json"])
        .exits(0)
        .json();
    let told = &closed[0]["witnesses"];
    assert_eq!(
        (&told["cosigned"], &told["enough"], &told["quorum"]),
        (&json!(2), &json!(true), &json!(2)),
        "{told:#}"
    );
    let cosigned = note(&person).unwrap();
    assert_eq!(cosigned.head.render(), head(&person));
    assert_eq!(cosigned.others.len(), 2);
    assert!(cosigned.cosigned_at(&a.vkey()).is_some() && cosigned.cosigned_at(&b.vkey()).is_some());
    assert_eq!(a.questions().len(), 1);
    assert!(b.questions()[0].starts_with("old 0\n\ngently/"));

    let size = cosigned.head.size;
    let closed = turn(&person);
    assert!(
        closed.err.contains("cosigned by a, b: the tree head of "),
        "{}",
        closed.err
    );
    let next = note(&person).unwrap();
    assert!(next.head.size > size && next.others.len() == 2);
    let question = &a.questions()[0];
    assert!(question.starts_with(&format!("old {size}\n")), "{question}");
    assert!(
        question.split("\n\n").next().unwrap().lines().count() > 1,
        "a proof: {question}"
    );
    // The earlier note stays; git's own tools find nothing wrong.
    assert_eq!(
        person
            .git(&["notes", "--ref", "witness", "list"])
            .exits(0)
            .out
            .lines()
            .count(),
        2
    );
    assert_eq!(person.git(&["fsck", "--strict"]).exits(0).out, "");

    // Asked again, nobody is: their cosignatures stand there.
    let again = person.gently(&["witness", "ask"]).exits(0);
    assert!(
        again.out.contains("2 of 2 needed cosignatures"),
        "{}",
        again.out
    );
    assert!(a.questions().is_empty());
    let listed = person
        .gently(&["witness", "list", "--json"])
        .exits(0)
        .json();
    assert_eq!(listed["witnesses"][0]["lines"], listed["lines"]);
    assert_eq!(listed["log"]["origin"], next.head.origin.as_str());
    let listed = person.gently(&["witness", "list"]).exits(0).out;
    assert!(listed.contains(&format!(
        "a  {}  cosigned {} of {} lines at 20",
        a.url(),
        next.head.size,
        next.head.size
    )));
}

#[test]
fn without_witnesses_there_are_no_notes_and_nothing_is_said() {
    let person = Person::new();
    let closed = turn(&person);
    assert!(!closed.err.contains("witness"), "{}", closed.err);
    assert!(note(&person).is_none());
    assert!(
        person
            .gently(&["witness", "ask"])
            .exits(2)
            .err
            .contains("no witness is configured")
    );
    assert!(
        person
            .gently(&["witness", "list"])
            .exits(0)
            .err
            .contains("no witness is configured")
    );
    assert!(
        person
            .gently(&["witness", "remove", "a"])
            .exits(2)
            .err
            .contains("there is none")
    );
}

#[test]
fn a_quorum_that_is_not_reached_costs_the_close_nothing_and_is_asked_again() {
    let (a, b) = (
        WitnessServer::start("a", 1, Manner::Honest),
        WitnessServer::start("b", 2, Manner::Silent),
    );
    let mut person = with(&[("a", &a), ("b", &b)], 2);
    person.ask("first");
    let start = Instant::now();
    let closed = person.gently(&["session", "close"]).exits(0);
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
    assert!(
        closed.err.contains("witness b: no answer within 2000 ms"),
        "{}",
        closed.err
    );
    assert!(
        closed.err.contains("1 of 2 needed witnesses cosigned"),
        "{}",
        closed.err
    );
    assert_eq!(note(&person).unwrap().others.len(), 1);
    // A question asks nobody again for the same tree head; the next one, and a person, do.
    person.set("GENTLY_WITNESS_DEADLINE_MS", "500");
    a.questions();
    b.questions();
    person.ask("second");
    assert!(a.questions().is_empty() && b.questions().is_empty());
    person.gently(&["witness", "ask"]).exits(2);
    assert_eq!((a.questions().len(), b.questions().len()), (0, 1));
    b.be(Manner::Honest);
    let asked = person.gently(&["witness", "ask", "--json"]).exits(0).json();
    assert_eq!(
        (&asked["enough"], &asked["witnesses"][0]["asked"]),
        (&json!(true), &json!(false)),
        "{asked:#}"
    );
    assert_eq!(note(&person).unwrap().others.len(), 2);
    // Nobody listens there any more.
    drop(b);
    let closed = person.gently(&["session", "close"]).exits(0);
    assert!(
        closed.err.contains("witness b: http://127.0.0.1:") && closed.err.contains("1 of 2 needed"),
        "{}",
        closed.err
    );
}

#[test]
fn what_a_liar_says_is_named_and_changes_nothing_on_record() {
    let liar = WitnessServer::start("liar.example", 7, Manner::Honest);
    let mut person = with(&[("liar", &liar)], 1);
    person.set("GENTLY_WITNESS_DEADLINE_MS", "3000");
    turn(&person);
    person
        .git(&["update-ref", "-d", "refs/notes/witness"])
        .exits(0);
    let before = person.commits();
    let size = "text/x.tlog.size";
    for (manner, code, said) in [
        (
            Manner::WrongKey,
            2,
            "sent no cosignature by the key of liar.example",
        ),
        (
            Manner::Stranger,
            2,
            "sent no cosignature by the key of liar.example",
        ),
        (
            Manner::OtherHead,
            2,
            "sent no cosignature by the key of liar.example",
        ),
        (
            Manner::Rubbish,
            2,
            "sent no cosignature by the key of liar.example",
        ),
        (
            Manner::Conflict("1000000\n".into(), size),
            1,
            "FINDING: says that it has cosigned a tree of 1000000 lines",
        ),
        (
            Manner::Conflict("18446744073709551615\n".into(), size),
            1,
            "FINDING: says that it has cosigned",
        ),
        (
            Manner::Conflict("5".into(), size),
            2,
            "expected a size as text/x.tlog.size, got status 409",
        ),
        (
            Manner::Conflict("5\n".into(), "text/plain"),
            2,
            "expected a size as text/x.tlog.size, got status 409",
        ),
        (
            Manner::Conflict("-1\n".into(), size),
            2,
            "expected a size as text/x.tlog.size",
        ),
        (
            Manner::Conflict("1\n".into(), size),
            2,
            "does not agree with itself",
        ),
        (Manner::Restless, 2, "does not agree with itself"),
        (Manner::Refutes, 1, "is not ours: the log was written anew"),
        (Manner::Silent, 2, "no answer within 3000 ms"),
        (Manner::Huge, 2, "longer than 65536 bytes"),
        (Manner::NotHttp, 2, "no whole answer"),
        (
            Manner::Status(500),
            2,
            "got status 500, saying '\\u{1b}[2Jbroken",
        ),
        (Manner::Status(400), 2, "got status 400"),
        (
            Manner::Status(403),
            2,
            "does not trust the key that signs now",
        ),
        (Manner::Status(404), 2, "does not know this log"),
        (Manner::Status(301), 2, "liar"),
    ] {
        liar.be(manner.clone());
        // Who answers has time for it on a busy machine; only silence has to be sat out.
        person.set(
            "GENTLY_WITNESS_DEADLINE_MS",
            if manner == Manner::Silent {
                "3000"
            } else {
                "30000"
            },
        );
        let asked = person.gently(&["witness", "ask"]).exits(code);
        assert!(asked.out.contains(said), "{manner:?}: {}", asked.out);
        assert!(
            !asked.out.contains('\u{1b}') && !asked.err.contains('\u{1b}'),
            "{manner:?}"
        );
        let json = person
            .gently(&["witness", "ask", "--json"])
            .exits(code)
            .json();
        assert_eq!(
            json["witnesses"][0]["finding"],
            code == 1,
            "{manner:?}: {json:#}"
        );
        assert!(note(&person).is_none(), "{manner:?}");
        assert_eq!(person.commits(), before, "{manner:?}");
    }
    // A close goes through whatever is said, and the finding is said there.
    liar.be(Manner::Refutes);
    assert!(
        turn(&person)
            .err
            .contains("FINDING: witness liar: says that the tree of")
    );
    liar.be(Manner::Honest);
    person.gently(&["witness", "ask"]).exits(0);
    assert_eq!(note(&person).unwrap().others.len(), 1);
}

#[test]
fn a_witness_behind_gets_the_proof_from_where_it_is() {
    let witness = WitnessServer::start("w", 3, Manner::Honest);
    let person = with(&[("w", &witness)], 1);
    let mut heads = Vec::new();
    for _ in 0..3 {
        turn(&person);
        heads.push(witness.held());
    }
    for (size, root) in &heads {
        // As it was when it held that tree: it lost its memory, or was restored.
        witness.hold(*size, *root);
        witness.questions();
        turn(&person);
        let questions = witness.questions();
        assert_eq!(questions.len(), 2, "refused once, then from its size");
        assert!(
            questions
                .last()
                .unwrap()
                .starts_with(&format!("old {size}\n"))
        );
        assert!(note(&person).is_some());
    }
    witness.hold(0, gently::record::hash::Hash32::digest(b""));
    turn(&person);
    assert!(witness.questions().last().unwrap().starts_with("old 0\n\n"));
    // Stored right edges are no evidence: gone, or changed, they cost reading and nothing else.
    for sql in [
        "DELETE FROM tree_mark",
        "UPDATE tree_mark SET frontier = zeroblob(length(frontier))",
        "UPDATE tree_mark SET frontier = CAST(substr(frontier, 1, 8) || zeroblob(length(frontier) - 8) AS BLOB)",
        "DELETE FROM witness_state",
    ] {
        rusqlite::Connection::open(person.at("gently.db"))
            .unwrap()
            .execute(sql, [])
            .unwrap();
        turn(&person);
        assert!(note(&person).is_some(), "{sql}");
    }
}

#[test]
fn a_second_history_and_a_dropped_end_are_findings() {
    let witness = WitnessServer::start("w", 4, Manner::Honest);
    let person = with(&[("w", &witness)], 1);
    turn(&person);
    let (home, kept) = (person.home(), person.dir.path().join("kept"));
    copy(&home, &kept);
    turn(&person);
    turn(&person);
    let longest = witness.held();
    // A restored copy: the witness has seen more.
    std::fs::remove_dir_all(&home).unwrap();
    copy(&kept, &home);
    person.ask("How is this machine doing?");
    let closed = person.gently(&["session", "close"]).exits(0);
    assert!(
        closed.err.contains(&format!(
            "says that it has cosigned a tree of {} lines",
            longest.0
        )),
        "{}",
        closed.err
    );
    assert!(closed.err.contains("FINDING: witness w"), "{}", closed.err);
    let asked = person.gently(&["witness", "ask", "--json"]).exits(1).json();
    assert_eq!(asked["witnesses"][0]["finding"], true);
    assert!(note(&person).is_none());
    // As long as the other history, then longer: it does not continue what was seen.
    let ours: u64 = head(&person).lines().nth(1).unwrap().parse().unwrap();
    for (manner, size) in [
        (Manner::Honest, ours),
        (Manner::Newer, ours),
        (Manner::Honest, ours - 2),
        (Manner::Newer, ours - 2),
    ] {
        witness.be(manner.clone());
        witness.hold(size, longest.1);
        let asked = person.gently(&["witness", "ask"]).exits(1);
        let said = format!("the tree of {size} lines that it cosigned is not ours");
        assert!(
            asked.out.contains(&said),
            "{manner:?} {size}: {}",
            asked.out
        );
        assert_eq!(witness.held(), (size, longest.1));
    }
    assert!(
        turn(&person)
            .err
            .contains("FINDING: witness w: says that the tree of")
    );
    assert!(note(&person).is_none());
}

fn signer(person: &Person) -> PublicKey {
    let text = std::fs::read_to_string(person.at("keys/signing.key.pub")).unwrap();
    text.split(' ')
        .take(2)
        .collect::<Vec<_>>()
        .join(" ")
        .parse()
        .unwrap()
}

#[test]
fn after_a_rotation_witnesses_are_given_the_new_key() {
    let witness = WitnessServer::start("w", 5, Manner::Honest);
    let person = with(&[("w", &witness)], 1);
    let old = signer(&person);
    witness.trust(&[old]);
    person.ask("one");
    let rotated = person.gently(&["key", "rotate", "--yes"]).exits(0);
    // The rotation's own tree head is signed by the old key: it is cosigned.
    assert!(
        rotated.err.contains("cosigned by w: the tree head of"),
        "{}",
        rotated.err
    );
    assert!(
        rotated
            .out
            .contains("give your witnesses' operators the log's new key: gently/"),
        "{}",
        rotated.out
    );
    assert_eq!(
        person
            .git(&["show", "-s", "--format=%s", "main"])
            .out
            .split(':')
            .next(),
        Some("key_rotate")
    );
    assert!(note(&person).is_some());
    let closed = turn(&person);
    assert!(
        closed
            .err
            .contains("does not trust the key that signs now (403)"),
        "{}",
        closed.err
    );
    let listed = person
        .gently(&["witness", "list", "--json"])
        .exits(0)
        .json();
    let key =
        gently::record::tree::note::VerifierKey::parse(listed["log"]["key"].as_str().unwrap())
            .unwrap();
    assert_eq!(key.key, signer(&person));
    witness.trust(&[old, key.key]);
    person.gently(&["witness", "ask"]).exits(0);
    assert_eq!(note(&person).unwrap().others.len(), 1);
}

#[test]
fn two_processes_that_ask_at_once_lose_nothing_of_each_other() {
    let (a, b) = (
        WitnessServer::start("a", 1, Manner::Silent),
        WitnessServer::start("b", 2, Manner::Silent),
    );
    let mut person = with(&[("a", &a), ("b", &b)], 2);
    person.set("GENTLY_WITNESS_DEADLINE_MS", "300");
    turn(&person);
    person.set("GENTLY_WITNESS_DEADLINE_MS", "20000");
    a.be(Manner::Honest);
    b.be(Manner::Honest);
    let ask = || {
        person
            .command(&["witness", "ask"])
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut children = [ask(), ask(), ask()];
    for child in &mut children {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    assert_eq!(note(&person).unwrap().others.len(), 2);
}

#[test]
fn adding_says_what_is_wrong_and_the_file_keeps_its_comments() {
    let witness = WitnessServer::start("w.example", 6, Manner::Honest);
    let (vkey, url) = (witness.vkey().print(), witness.url());
    let person = Person::new();
    person.gently(&["init"]).exits(0);
    let file = person.at("gently.toml");
    let before = std::fs::read_to_string(&file).unwrap();
    let listed = person
        .gently(&["witness", "list", "--json"])
        .exits(0)
        .json();
    let log = listed["log"]["key"].as_str().unwrap();
    for (args, said) in [
        (&["Desk", &vkey, &url][..], "a name of at most 40"),
        (&["quorum", &vkey, &url], "none of quorum, none"),
        (&["desk", log, &url], "it is the key of a log"),
        (
            &["desk", &vkey[..vkey.len() - 2], &url],
            "is no key of a witness",
        ),
        (&["desk", &vkey, "http://witness.example"], "loopback only"),
        (
            &["desk", &vkey, "https://u:hunter2@witness.example"],
            "would show in messages",
        ),
        (&["desk", &vkey, "witness.example"], "not a URL"),
    ] {
        let refused = person
            .gently(&[&["witness", "add"], args].concat())
            .exits(2);
        assert!(
            refused.err.contains(said) && !refused.err.contains("hunter2"),
            "{}",
            refused.err
        );
        assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    }
    let added = person
        .gently(&["witness", "add", "desk", &vkey, &url])
        .exits(0);
    assert!(added.out.contains(log), "{}", added.out);
    for (name, key) in [
        ("desk", crate::witness_server::vkey("x", 9).print()),
        ("other", vkey.clone()),
    ] {
        let refused = person
            .gently(&["witness", "add", name, &key, &url])
            .exits(2);
        assert!(
            refused.err.contains("'desk' is there already"),
            "{}",
            refused.err
        );
    }
    let after = std::fs::read_to_string(&file).unwrap();
    assert!(
        after.contains(&format!(
            "[witness.desk]\nkey = \"{vkey}\"\nurl = \"{url}\"\n"
        )),
        "{after}"
    );
    assert!(before.lines().all(|line| after.contains(line)));
    let changed = person.gently(&["sight", "index_changed"]).exits(0).out;
    assert!(changed.contains("config"), "{changed}");
    person.gently(&["witness", "remove", "desk"]).exits(0);
    assert_eq!(
        std::fs::read_to_string(&file).unwrap().trim_end(),
        before.trim_end()
    );
    // In the other forms of TOML, too.
    for form in ["witness = { quorum = 1 }\n", "witness.quorum = 1\n", ""] {
        std::fs::write(&file, form).unwrap();
        person
            .gently(&["witness", "add", "desk", &vkey, &url])
            .exits(0);
        assert_eq!(
            person
                .gently(&["witness", "list", "--json"])
                .exits(0)
                .json()["witnesses"][0]["name"],
            "desk",
            "{form}"
        );
        person.gently(&["witness", "remove", "desk"]).exits(0);
        assert_eq!(
            person
                .gently(&["witness", "list", "--json"])
                .exits(0)
                .json()["witnesses"],
            Value::Array(vec![])
        );
    }
}

/// Somebody else's line in a note stays where it is.
#[test]
fn a_note_that_stands_there_keeps_its_lines() {
    let witness = WitnessServer::start("w", 8, Manner::Silent);
    let mut person = with(&[("w", &witness)], 1);
    person.set("GENTLY_WITNESS_DEADLINE_MS", "200");
    turn(&person);
    let foreign = NoteSignature {
        name: "elsewhere".to_owned(),
        key_id: [1; 4],
        signature: vec![5; 2428],
    };
    let text = head(&person) + &foreign.print();
    let blob = person.dir.path().join("note");
    std::fs::write(&blob, &text).unwrap();
    let hashed = person
        .git(&["hash-object", "-w", blob.to_str().unwrap()])
        .exits(0)
        .out;
    let who = ["-c", "user.name=x", "-c", "user.email=x@x"];
    person
        .git(
            &[
                &who[..],
                &[
                    "notes",
                    "--ref",
                    "witness",
                    "add",
                    "-C",
                    hashed.trim(),
                    "main",
                ],
            ]
            .concat(),
        )
        .exits(0);
    witness.be(Manner::Honest);
    person.set("GENTLY_WITNESS_DEADLINE_MS", "20000");
    person.gently(&["witness", "ask"]).exits(0);
    let cosigned = note(&person).unwrap();
    assert_eq!(cosigned.others.len(), 2);
    assert!(cosigned.others.contains(&foreign) && cosigned.cosigned_at(&witness.vkey()).is_some());
}

#[test]
fn notes_are_published_forward_only_and_a_host_refuses_spoiled_ones() {
    let witness = WitnessServer::start("w", 9, Manner::Honest);
    let mut person = with(&[("w", &witness)], 1);
    let own = Path::new(env!("CARGO_BIN_EXE_gently"))
        .parent()
        .unwrap()
        .to_owned();
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([own].into_iter().chain(std::env::split_paths(&rest))).unwrap();
    // The host's hook calls `gently` by name.
    person.set("PATH", path.to_str().unwrap());
    let host = person.dir.path().join("host.git");
    let (remote, key) = (host.to_str().unwrap(), person.at("keys/signing.key.pub"));
    crate::person::git(person.dir.path(), &["init", "-q", "--bare", remote]).exits(0);
    person
        .gently(&["hook", "install", remote, "--signer", key.to_str().unwrap()])
        .exits(0);
    for _ in 0..2 {
        turn(&person);
        let published = person.gently(&["audit", "publish", remote]).exits(0);
        assert!(
            published.out.contains("published refs/notes/witness "),
            "{}",
            published.out
        );
    }
    let push = |spec: &str| {
        let mut git = std::process::Command::new("git");
        git.arg("-C")
            .arg(person.at("ledger.git"))
            .args(["push", remote, spec])
            .env("PATH", &path);
        crate::person::run(
            git.env("GIT_CONFIG_NOSYSTEM", "1")
                .env("GIT_CONFIG_GLOBAL", "/dev/null"),
        )
    };
    let refused = push("+refs/notes/witness~1:refs/notes/witness");
    assert!(
        refused.code != 0 && refused.err.contains("does not continue it"),
        "{}",
        refused.err
    );
    // As many lines, one of them somebody's whom no policy names.
    let who = ["-c", "user.name=x", "-c", "user.email=x@x"];
    let foreign = NoteSignature {
        name: "elsewhere".to_owned(),
        key_id: [1; 4],
        signature: vec![5; 72],
    };
    let blob = person.dir.path().join("note");
    std::fs::write(&blob, head(&person) + &foreign.print()).unwrap();
    let hashed = person
        .git(&["hash-object", "-w", blob.to_str().unwrap()])
        .exits(0)
        .out;
    person
        .git(
            &[
                &who[..],
                &[
                    "notes",
                    "--ref",
                    "witness",
                    "add",
                    "-f",
                    "-C",
                    hashed.trim(),
                    "main",
                ],
            ]
            .concat(),
        )
        .exits(0);
    let refused = push("refs/notes/witness");
    assert!(
        refused.code != 0
            && refused
                .err
                .contains("proves less than the one that is here"),
        "{}",
        refused.err
    );
    // A note that is none: refused with the finding.
    person
        .git(
            &[
                &who[..],
                &[
                    "notes", "--ref", "witness", "add", "-f", "-m", "rubbish", "main",
                ],
            ]
            .concat(),
        )
        .exits(0);
    let refused = push("refs/notes/witness");
    assert!(
        refused.code != 0 && refused.err.contains("a tree head with signature lines"),
        "{}",
        refused.err
    );
    assert!(
        refused
            .err
            .contains("proves less than the one that is here"),
        "{}",
        refused.err
    );
    assert_eq!(
        person
            .gently(&["audit", "verify", "--json"])
            .exits(1)
            .json()["answers"]["consistent"],
        "no"
    );
}

#[test]
fn a_ledger_that_was_rebuilt_gets_its_newest_cosignature_again() {
    let witness = WitnessServer::start("w", 10, Manner::Honest);
    let person = with(&[("w", &witness)], 1);
    turn(&person);
    turn(&person);
    std::fs::remove_dir_all(person.at("ledger.git")).unwrap();
    person.gently(&["audit", "rebuild"]).exits(0);
    assert!(note(&person).is_none());
    assert_eq!(person.verified()["answers"]["unique"], "not checked");
    person.gently(&["witness", "ask"]).exits(0);
    let cosigned = note(&person).unwrap().head.size;
    // The line of the rebuild came after it: an answer names how far it speaks (FORMAT 11).
    let report = person.verified();
    assert_eq!(
        (&report["answers"]["unique"], &report["extents"]["unique"]),
        (&"partly".into(), &cosigned.into())
    );
    assert_eq!(person.log().len() as u64, cosigned + 1);
    person
        .gently(&[
            "audit",
            "verify",
            "--require",
            &format!("unique:{cosigned}"),
        ])
        .exits(0);
    turn(&person);
    assert_eq!(person.verified()["answers"]["unique"], "yes");
}
