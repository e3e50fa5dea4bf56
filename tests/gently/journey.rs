//! The corridor, as a person walks it: asks, closes, opens again; and stock tools accept what is
//! left behind.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::{Value, json};

use crate::model_server::{Behaviour, ModelServer};
use crate::person::{Person, git, run};

/// The blocks at the first session's start and at all that comes later; both are real.
const FIRST: u32 = 829_610;
const LATER: u32 = 829_619;

/// Three answered asks, a denied one, a failed one, all closed; a second session with one ask,
/// still open.
struct Journey {
    person: Person,
    closed: Vec<String>,
    open: String,
}

impl Journey {
    fn walk() -> Self {
        let mut person = Person::new();
        let headers = person.headers(829_604..=FIRST);
        person.set("GENTLY_ANCHOR_MODE", "auto");
        person.set("GENTLY_ANCHOR_ESPLORA", "[]");
        person.set("GENTLY_ANCHOR_HEADERS", headers.to_str().unwrap());
        let server = ModelServer::start(Behaviour::error(500, "out of memory"));
        person.set("GENTLY_MODEL_BASE_URL", &server.base_url());
        person.ask("How is this machine doing?");
        person.ask("And the disk?");
        person.gently(&["ask", " "]).exits(1);
        person.ask("What don't you know?");
        person
            .gently(&["ask", "-m", "openai/small", "Anybody there?"])
            .exits(2);
        person.headers(829_604..=LATER);
        let closed = person
            .gently(&["session", "close", "--json"])
            .exits(0)
            .json();
        let closed: Vec<String> = closed
            .as_array()
            .unwrap()
            .iter()
            .map(|s| text(&s["session"]))
            .collect();
        assert_eq!(closed.len(), 2);
        person.ask("And now?");
        let open = person
            .gently(&["session", "list", "--open", "--json"])
            .exits(0)
            .json();
        let open = text(&open[0]["session"]);
        Journey {
            person,
            closed,
            open,
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

#[test]
fn stock_git_accepts_every_object_and_every_commit() {
    let Journey { person, closed, .. } = Journey::walk();
    let fsck = person.git(&["fsck", "--strict", "--no-progress"]).exits(0);
    assert_eq!(
        (fsck.out.as_str(), fsck.err.as_str()),
        ("", ""),
        "fsck is silent"
    );
    let fsck = person.git(&["fsck", "--strict"]).exits(0);
    assert_eq!(fsck.out, "");
    assert!(
        !fsck.err.contains("error")
            && !fsck.err.contains("warning")
            && !fsck.err.contains("dangling"),
        "{fsck:?}"
    );

    let signers = format!(
        "gpg.ssh.allowedSignersFile={}",
        person.at("keys/allowed_signers").display()
    );
    let commits = person.commits();
    // genesis; two starts; three interactions; two ends; two closes; a start, an interaction.
    assert_eq!(commits.len(), 12);
    for commit in &commits {
        let checked = person.git(&[
            "-c",
            "gpg.format=ssh",
            "-c",
            &signers,
            "verify-commit",
            commit,
        ]);
        assert_eq!(checked.code, 0, "{commit}: {checked:#?}");
        assert!(
            checked
                .err
                .starts_with("Good \"git\" signature for ledger@gently.invalid with ED25519 key ")
        );
    }

    // A stranger's key is not accepted, so that the above says something.
    let stranger = Person::new();
    stranger.gently(&["init"]).exits(0);
    let signers = format!(
        "gpg.ssh.allowedSignersFile={}",
        stranger.at("keys/allowed_signers").display()
    );
    assert_ne!(
        person
            .git(&[
                "-c",
                "gpg.format=ssh",
                "-c",
                &signers,
                "verify-commit",
                &commits[0]
            ])
            .code,
        0
    );

    // From main everything closed is reachable; what is not is the open session alone.
    let outside = person
        .git(&["log", "--all", "--not", "main", "--format=%s"])
        .exits(0)
        .out;
    let outside: Vec<&str> = outside.lines().collect();
    assert_eq!(outside.len(), 2, "{outside:?}");
    assert!(
        outside.contains(&"interaction-1")
            && outside.iter().any(|s| s.starts_with("session_start:"))
    );
    let inside = person
        .git(&[
            "log",
            "main",
            "--format=%s %(trailers:key=Session,valueonly,separator=%x20)",
        ])
        .out;
    for id in &closed {
        for kind in ["session_start:", "session_end:", "close:"] {
            assert!(
                inside
                    .lines()
                    .any(|line| line.starts_with(kind) && line.contains(id)),
                "{kind} {id}: {inside}"
            );
        }
    }
    let refs = person
        .git(&["for-each-ref", "--format=%(refname)"])
        .exits(0)
        .out;
    assert!(
        refs.lines()
            .all(|r| r == "refs/heads/main" || r.starts_with("refs/heads/branch-")),
        "{refs}"
    );
}

#[test]
fn ssh_keygen_accepts_a_payload_taken_apart_by_hand() {
    let Journey { person, .. } = Journey::walk();
    let (signature, payload) = (
        person.dir.path().join("signature"),
        person.dir.path().join("payload"),
    );
    let mut seen = 0;
    for commit in person.commits() {
        let raw = person.git(&["cat-file", "commit", &commit]).exits(0).out;
        let (mut signed, mut rest, mut inside) = (String::new(), String::new(), false);
        for line in raw.split_inclusive('\n') {
            if let Some(first) = line.strip_prefix("gpgsig ") {
                signed.push_str(first);
                inside = true;
            } else if inside && line.starts_with(' ') {
                signed.push_str(&line[1..]);
            } else {
                rest.push_str(line);
                inside = false;
            }
        }
        std::fs::write(&signature, signed).unwrap();
        let verify = |content: &str| {
            std::fs::write(&payload, content).unwrap();
            let mut keygen = Command::new("ssh-keygen");
            keygen.args([
                "-Y",
                "verify",
                "-I",
                "ledger@gently.invalid",
                "-n",
                "git",
                "-f",
            ]);
            keygen
                .arg(person.at("keys/allowed_signers"))
                .arg("-s")
                .arg(&signature);
            run(keygen.stdin(std::fs::File::open(&payload).unwrap())).code
        };
        assert_eq!(verify(&rest), 0, "{commit}");
        assert_ne!(
            verify(&rest.replace("Record", "record")),
            0,
            "{commit}: a changed payload was accepted"
        );
        seen += 1;
    }
    assert_eq!(seen, 12);
}

/// Every HASH, as a shell computes it.
#[test]
fn a_shell_recomputes_every_line_of_the_log() {
    let Journey { person, .. } = Journey::walk();
    let script = r#"
        prev=39d8668c9e1c18834931c26be61912c018fcc8e17d52f36b0a00c7020fe1ab69
        while IFS= read -r line; do
          hash=${line%%|*} rest=${line#*|}
          made=$(printf '%s|%s' "$prev" "$rest" | sha256sum | cut -c1-64)
          [ "$made" = "$hash" ] || { echo "$line"; exit 1; }
          prev=$hash n=$((n+1))
        done < "$1"
        echo "$n""#;
    let log = person.at("audit.log");
    let told = run(Command::new("sh").args(["-c", script, "sh"]).arg(&log)).exits(0);
    assert_eq!(told.out.trim(), person.log().len().to_string());
    let text = std::fs::read_to_string(&log)
        .unwrap()
        .replacen("seq:2", "seq:9", 1);
    let changed = person.dir.path().join("changed.log");
    std::fs::write(&changed, text).unwrap();
    run(Command::new("sh").args(["-c", script, "sh"]).arg(&changed)).exits(1);

    // What a line is about, in the order of the format.
    let events: Vec<String> = person
        .log()
        .iter()
        .map(|line| line.split('|').nth(3).unwrap().to_owned())
        .collect();
    let expected = "genesis artifact session_start branch_create auth_ok prompt response prompt response prompt denied \
                    prompt response session_start auth_ok prompt response_fail session_end session_end \
                    session_start branch_create auth_ok prompt response";
    assert_eq!(
        events.join(" "),
        expected.split_whitespace().collect::<Vec<_>>().join(" ")
    );
}

#[test]
fn verify_prints_five_lines_and_six_answers() {
    let Journey { person, .. } = Journey::walk();
    let told = person.gently(&["audit", "verify", "-v"]).exits(0);
    let lines: Vec<&str> = told.out.lines().collect();
    let five = [
        "Genesis: 39d8668c9e1c18834931c26be61912c018fcc8e17d52f36b0a00c7020fe1ab69".to_owned(),
        format!("Entries: {}", person.log().len()),
        "Chain integrity: VALID".to_owned(),
        // Three starts and two ends under real blocks.
        "BTC anchors: 5".to_owned(),
        "Sessions: 3".to_owned(),
    ];
    let begins = lines.iter().position(|line| *line == five[0]).unwrap();
    assert_eq!(lines[begins..begins + 5], five);
    for (answer, word) in [
        ("consistent:", "yes"),
        ("complete:", "yes"),
        ("unique:", "not checked"),
        ("not before:", "yes"),
        ("not after:", "not checked"),
        ("signed by:", "yes"),
    ] {
        let line = lines
            .iter()
            .find(|line| line.starts_with(answer))
            .unwrap_or_else(|| panic!("{answer}: {told:?}"));
        let (word_is, reason) = line[answer.len()..].trim().split_once(" (").unwrap();
        assert_eq!(word_is, word, "{line}");
        assert!(reason.len() > 10 && reason.ends_with(')'), "{line}");
    }
    assert_eq!(told.err, "");

    let object = person
        .gently(&["audit", "verify", "--json"])
        .exits(0)
        .json();
    let answers = json!({
        "consistent": "yes", "complete": "yes", "unique": "not checked", "not_before": "yes",
        "not_after": "not checked", "signed_by": "yes",
    });
    assert_eq!(object["answers"], answers);
    assert_eq!(object["findings"], json!([]));
    assert_eq!(object["genesis"], five[0][9..]);
    assert_eq!(object["entries"], person.log().len());
    assert_eq!(
        (&object["sessions"], &object["btc_anchors"]),
        (&json!(3), &json!(5))
    );

    let required = |what: &str| person.gently(&["audit", "verify", "-v", "--require", what]);
    required("signed,not-before").exits(0);
    let told = required("signed,unique").exits(1);
    assert!(told.err.contains("unique is not checked"), "{told:?}");
    required("nonsense").exits(2);
}

#[test]
fn one_session_by_the_first_digits_of_its_id() {
    let Journey {
        person,
        closed,
        open,
    } = Journey::walk();
    let told = person
        .gently(&["audit", "session", "-v", &closed[0][..16]])
        .exits(0);
    let expected = format!(
        "✔ Nothing in this session was changed: 4 questions, 3 answers\nSession: {}\nStart BTC: {FIRST}\nEnd BTC: {LATER}\nInteractions: 3\nWithout an answer: 1 of 4 questions\nBranch: branch-{}\n\
         Chain integrity: VALID\nAll hashes verified: YES\n",
        closed[0],
        FIRST % 7 + 1
    );
    let bracket = told
        .out
        .strip_prefix(&expected)
        .unwrap_or_else(|| panic!("{told:#?}"));
    assert!(
        bracket.starts_with(&format!("Not before: block {FIRST} (20")),
        "{bracket}"
    );
    assert!(
        bracket.ends_with(
            "Z)\nNot after: not proven: no OpenTimestamps proof of the log after its end\n"
        ),
        "{bracket}"
    );
    let told = person.gently(&["audit", "session", "-v", &open]).exits(0);
    assert!(
        told.out.contains(&format!(
            "\nStart BTC: {LATER}\nEnd BTC: open\nInteractions: 1\n"
        )),
        "{told:?}"
    );

    let object = person
        .gently(&["audit", "session", &closed[0], "--json"])
        .exits(0)
        .json();
    assert_eq!(object["session"]["id"], closed[0]);
    assert_eq!(object["answers"]["consistent"], "yes");

    // Every prefix that is not one session names the candidates.
    let all: BTreeSet<&String> = closed.iter().chain([&open]).collect();
    let unknown = person.gently(&["audit", "session", "no-hex"]).exits(2);
    assert!(
        all.iter().all(|id| unknown.err.contains(id.as_str())),
        "{unknown:?}"
    );
    let ambiguous = person.gently(&["audit", "session", ""]).exits(2);
    assert!(
        all.iter().all(|id| ambiguous.err.contains(id.as_str())),
        "{ambiguous:?}"
    );
    assert_eq!((unknown.out, ambiguous.out), (String::new(), String::new()));

    let unknown = person.gently(&["session", "close", "no-hex"]).exits(2);
    assert!(
        unknown.err.contains(&open[..16]) && !unknown.err.contains(&closed[0][..16]),
        "{unknown:?}"
    );
}

#[test]
fn a_local_session_says_local() {
    let person = Person::new();
    person.ask("Hello?");
    let id = text(&person.gently(&["session", "close", "--json"]).json()[0]["session"]);
    let told = person.gently(&["audit", "session", &id[..8]]).exits(0);
    assert!(
        told.out.contains("\nStart BTC: local\nEnd BTC: local\n"),
        "{told:?}"
    );
    let report = person.verified();
    assert_eq!(
        (&report["btc_anchors"], &report["answers"]["not_before"]),
        (&json!(0), &json!("not checked"))
    );
}

#[test]
fn somebody_elses_ledger_from_a_bundle() {
    let Journey { person, .. } = Journey::walk();
    let bundle = person.dir.path().join("ledger.bundle");
    person
        .git(&["bundle", "create", bundle.to_str().unwrap(), "--all"])
        .exits(0);
    let (log, signers) = (person.at("audit.log"), person.at("keys/allowed_signers"));

    // A stranger, without any home.
    let stranger = Person::new();
    let check = |repo: &str, log: &str, signer: &str| {
        stranger.gently(&[
            "audit", "verify", "--json", "--repo", repo, "--log", log, "--signer", signer,
        ])
    };
    let (bundle, log, signers) = (
        bundle.to_str().unwrap(),
        log.to_str().unwrap(),
        signers.to_str().unwrap(),
    );
    let ledger = person.at("ledger.git");
    for repo in [bundle, ledger.to_str().unwrap()] {
        let report = check(repo, log, signers).exits(0).json();
        assert_eq!(report["answers"]["signed_by"], "yes");
        assert_eq!(report["entries"], person.log().len());
    }
    let key = std::fs::read_to_string(person.at("keys/signing.key.pub")).unwrap();
    check(bundle, log, key.trim()).exits(0);
    assert!(!stranger.home().exists(), "looking makes no home");

    // Unpinned is not signed; another key is a no.
    let unpinned = stranger
        .gently(&["audit", "verify", "--json", "--repo", bundle])
        .json();
    assert_eq!(unpinned["answers"]["signed_by"], "not checked");
    let other = Person::new();
    other.gently(&["init"]).exits(0);
    let report = check(
        bundle,
        log,
        other.at("keys/allowed_signers").to_str().unwrap(),
    )
    .exits(0)
    .json();
    assert_eq!(
        report["answers"]["signed_by"], "no",
        "the exit code speaks of whose key only when that is required"
    );
    let refused = check(bundle, log, "/nowhere/at/all").exits(2).json();
    assert!(
        refused["error"]
            .as_str()
            .unwrap()
            .contains("/nowhere/at/all")
            && refused["exit"] == 2,
        "{refused}"
    );
}

#[test]
fn nothing_to_check_is_no_pass() {
    let person = Person::new();
    person.gently(&["audit", "verify", "-v"]).exits(2);
    person.gently(&["audit", "session", "00"]).exits(2);
    std::fs::create_dir(person.home()).unwrap();
    person.gently(&["audit", "verify", "-v"]).exits(2);
    let empty = person.dir.path().join("empty.git");
    git(
        person.dir.path(),
        &["init", "-q", "--bare", empty.to_str().unwrap()],
    )
    .exits(0);
    let told = person
        .gently(&["audit", "verify", "-v", "--repo", empty.to_str().unwrap()])
        .exits(2);
    assert_eq!(told.out, "");
    person
        .gently(&["audit", "verify", "-v", "--repo", "/nowhere/at/all"])
        .exits(2);
    // A new home has a genesis: that can be checked.
    let new = Person::new();
    new.gently(&["init"]).exits(0);
    let told = new.gently(&["audit", "verify", "-v"]).exits(0);
    assert!(
        told.out.contains("Entries: 2\n") && told.out.contains("Sessions: 0\n"),
        "{told:?}"
    );
}

/// AEGIS 11.1, 11.2 and 11.5, on the database itself.
#[test]
fn every_ask_is_a_session_two_turns_and_an_exchange() {
    let Journey {
        person,
        closed,
        open,
    } = Journey::walk();
    let database = person.database();
    let mut sessions = database
        .prepare("SELECT ledger_session, status FROM chat_session ORDER BY started_at, rowid")
        .unwrap();
    let rows: BTreeMap<String, String> = sessions
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(rows.len(), 3);
    assert!(closed.iter().all(|id| rows[id] == "closed") && rows[&open] == "open");

    let mut exchanges = database
        .prepare(
            "SELECT e.outcome, u.speaker, u.content, u.content_hash, a.speaker, a.content, a.content_hash,
                    e.context_bundle_hash, e.context_bundle_json, e.prompt_hash, e.response_hash, e.exchange_id, e.seq,
                    u.session_id = e.session_id, e.reason
             FROM llm_exchange e JOIN chat_turn u ON u.turn_id = e.turn_user_id
             LEFT JOIN chat_turn a ON a.turn_id = e.turn_aurora_id ORDER BY e.prompt_line",
        )
        .unwrap();
    let mut rows = exchanges.query([]).unwrap();
    let mut outcomes = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let get = |n: usize| row.get::<_, Option<String>>(n).unwrap();
        let outcome = get(0).unwrap();
        assert_eq!(get(1).as_deref(), Some("user"));
        assert_eq!(get(3), Some(sha256(&get(2).unwrap())));
        assert!(row.get::<_, bool>(13).unwrap());
        let refs: i64 = database
            .query_row(
                "SELECT count(*) FROM context_artifact_ref WHERE artifact_type <> 'turn' AND exchange_id = ?",
                [get(11)],
                |r| r.get(0),
            )
            .unwrap();
        if outcome == "answered" {
            assert_eq!(get(4).as_deref(), Some("aurora"));
            assert_eq!(get(6), Some(sha256(&get(5).unwrap())));
            assert_eq!(get(10), get(6), "response_hash is of the stored answer");
        } else {
            // Nothing is made up for a call that gave no answer.
            assert_eq!((get(4), get(5), get(10)), (None, None, None), "{outcome}");
            assert!(get(14).is_some_and(|reason| !reason.is_empty()));
        }
        if outcome == "denied" {
            assert_eq!(
                (get(7), get(9), refs),
                (None, None, 0),
                "nothing is compiled for a denied prompt"
            );
        } else {
            // The bundle is recorded before the model is called, so a failed call has one too.
            assert_eq!(get(7), Some(sha256(&get(8).unwrap())));
            assert_eq!(get(9).unwrap().len(), 64);
            assert_eq!(refs, 6, "kernel and five tools");
        }
        outcomes.push(outcome);
    }
    assert_eq!(
        outcomes,
        [
            "answered", "answered", "denied", "answered", "failed", "answered"
        ]
    );
    let turns: i64 = database
        .query_row("SELECT count(*) FROM chat_turn", [], |row| row.get(0))
        .unwrap();
    assert_eq!(turns, 6 + 4, "six from the person, four answers");
    let reasons: BTreeSet<String> = database
        .prepare("SELECT DISTINCT included_reason FROM context_artifact_ref WHERE artifact_type <> 'turn'")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert!(
        !reasons.is_empty() && reasons.iter().all(|reason| reason.starts_with("ring0.")),
        "{reasons:?}"
    );
}

fn sha256(text: &str) -> String {
    gently::record::hash::Hash32::digest(text.as_bytes()).to_string()
}
