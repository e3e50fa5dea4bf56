//! One history: cosigned tree heads, policies, forks and dropped ends, judged by both verifiers
//! alike.

use std::path::{Path, PathBuf};
use std::process::Command;

use gently::keys::SigningKey;
use gently::record::hash::Hash32;
use gently::record::signature::PublicKey;
use gently::record::tree::note::{CosignedNote, KeyKind, VerifierKey};
use gently::record::tree::{SignedNote, note, parse_note};
use serde_json::Value;

use crate::person::{Person, Ran, git, run};
use crate::witness_server::{Manner, WitnessServer, cosign, vkey};

/// A mirror of a person's ledger, to be changed.
fn mirror(person: &Person, name: &str) -> PathBuf {
    let copy = person.dir.path().join(name);
    let mut clone = Command::new("git");
    clone
        .args(["clone", "--quiet", "--mirror", "--no-local"])
        .arg(person.at("ledger.git"))
        .arg(&copy);
    run(&mut clone).exits(0);
    copy
}

/// Both verifiers' answers and exit code, which are the same.
#[track_caller]
fn judged(name: &str, repository: &Path, log: Option<&Path>, more: &[&str]) -> (i32, Value) {
    let mut args = vec![repository.display().to_string()];
    if let Some(log) = log {
        args.extend(["--log".to_owned(), log.display().to_string()]);
    }
    args.extend(more.iter().map(|word| (*word).to_owned()));
    args.push("--json".to_owned());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/verify.py");
    let python = run(Command::new("python3").arg(script).args(&args));
    let ours = run(Command::new(env!("CARGO_BIN_EXE_gently"))
        .args(["audit", "verify", "-v", "--repo"])
        .args(&args));
    // Where nothing could be judged there are no answers; gently says why on stdout, too.
    let answers = |ran: &Ran| match ran.code == 2 {
        true => Value::Null,
        false => Value::Array(
            ["answers", "contradicted_by"]
                .map(|key| ran.json()[key].clone())
                .into(),
        ),
    };
    assert_eq!(
        (python.code, answers(&python)),
        (ours.code, answers(&ours)),
        "{name}\n{}{}\n{}{}",
        python.out,
        python.err,
        ours.out,
        ours.err
    );
    (
        ours.code,
        if ours.out.is_empty() {
            Value::Null
        } else {
            ours.json()
        },
    )
}

#[track_caller]
fn expect(name: &str, judged: (i32, Value), code: i32, answers: &[(&str, &str)]) -> Value {
    let (found, report) = judged;
    for (question, answer) in answers {
        assert_eq!(report["answers"][*question], *answer, "{name}: {report:#}");
    }
    assert_eq!(found, code, "{name}: {report:#}");
    report
}

struct Desk {
    person: Person,
    a: WitnessServer,
    b: WitnessServer,
}

/// Two closed sessions, cosigned by both witnesses.
fn desk() -> Desk {
    let (a, b) = (
        WitnessServer::start("a.example/w", 1, Manner::Honest),
        WitnessServer::start("b.example", 2, Manner::Honest),
    );
    let person = Person::with(&[
        ("GENTLY_ANCHOR_MODE", "off"),
        ("GENTLY_WITNESS_QUORUM", "2"),
    ]);
    person.gently(&["init"]).exits(0);
    for (name, witness) in [("a", &a), ("b", &b)] {
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
    let desk = Desk { person, a, b };
    desk.turn();
    desk.turn();
    desk
}

impl Desk {
    fn turn(&self) {
        self.person.ask("How is this machine doing?");
        self.person.gently(&["session", "close"]).exits(0);
    }

    fn policy(&self, text: &str) -> String {
        let file = self.person.dir.path().join(format!(
            "policy-{}",
            Hash32::digest(text.as_bytes()).short16()
        ));
        let (a, b, c) = (
            self.a.vkey().print(),
            self.b.vkey().print(),
            vkey("c.example", 3).print(),
        );
        let log = |seed: Option<u8>| {
            let text = std::fs::read_to_string(self.person.at("keys/signing.key.pub")).unwrap();
            let own: PublicKey = text
                .split(' ')
                .take(2)
                .collect::<Vec<_>>()
                .join(" ")
                .parse()
                .unwrap();
            let key = seed.map_or(own, |seed| vkey("x", seed).key);
            VerifierKey {
                name: self.head().origin,
                kind: KeyKind::Log,
                key,
            }
            .print()
        };
        let text = text
            .replace("KEY_A", &a)
            .replace("KEY_B", &b)
            .replace("KEY_C", &c);
        std::fs::write(
            &file,
            text.replace("LOG_OWN", &log(None))
                .replace("LOG_OTHER", &log(Some(9))),
        )
        .unwrap();
        file.display().to_string()
    }

    fn head(&self) -> SignedNote {
        parse_note(&self.person.git(&["show", "main:checkpoint"]).exits(0).out).unwrap()
    }

    fn log(&self) -> PathBuf {
        self.person.at("audit.log")
    }
}

const BOTH: &str = "witness a KEY_A\nwitness b KEY_B\ngroup g all a b\nquorum g\n";

#[test]
fn policies_count_as_they_say() {
    let desk = desk();
    let (ledger, log) = (desk.person.at("ledger.git"), desk.log());
    for (name, text, code, unique) in [
        ("one", "witness a KEY_A\nquorum a\n", 0, "yes"),
        ("both", BOTH, 0, "yes"),
        (
            "one of two",
            "witness a KEY_A\nwitness c KEY_C\ngroup g any a c\nquorum g\n",
            0,
            "yes",
        ),
        (
            "all of three",
            "witness a KEY_A\nwitness b KEY_B\nwitness c KEY_C\ngroup g all a b c\nquorum g\n",
            0,
            "not checked",
        ),
        (
            "somebody else",
            "witness c KEY_C https://c.example\nquorum c\n",
            0,
            "not checked",
        ),
        ("nobody", "witness a KEY_A\nquorum none\n", 0, "not checked"),
        (
            "of this log",
            "log LOG_OWN\nwitness a KEY_A\nquorum a\n",
            0,
            "yes",
        ),
        (
            "of another log",
            "log LOG_OTHER\nwitness a KEY_A\nquorum a\n",
            0,
            "not checked",
        ),
    ] {
        let policy = desk.policy(text);
        let not_after = if unique == "yes" {
            "yes"
        } else {
            "not checked"
        };
        let answers = [
            ("consistent", "yes"),
            ("complete", "yes"),
            ("unique", unique),
            ("not_after", not_after),
        ];
        expect(
            name,
            judged(name, &ledger, Some(&log), &["--policy", &policy]),
            code,
            &answers,
        );
    }
    let report = expect(
        "no policy",
        judged("no policy", &ledger, Some(&log), &[]),
        0,
        &[("unique", "not checked")],
    );
    assert!(
        report["reasons"]["unique"]
            .as_str()
            .unwrap()
            .starts_with("no witness policy was given")
    );
    for text in [
        "",
        "quorum a\n",
        "witness a KEY_A\n",
        "log KEY_A\nquorum none\n",
        "witness a LOG_OWN\nquorum a\n",
        "quorum none\r\n",
        "witness a KEY_A\nwitness b KEY_B\ngroup g 3 a b\nquorum g\n",
        "witness a KEY_A\nquorum a\nquorum a\n",
        "\u{b}quorum none\n",
    ] {
        let policy = desk.policy(text);
        assert_eq!(
            judged(text, &ledger, Some(&log), &["--policy", &policy]).0,
            2,
            "{text:?}"
        );
    }
    // A home believes its own witnesses.
    let own = desk
        .person
        .gently(&[
            "audit",
            "verify",
            "-v",
            "--json",
            "--require",
            "unique,not-after",
        ])
        .exits(0)
        .json();
    let size = desk.head().size;
    assert_eq!(
        own["reasons"]["unique"],
        format!("through line {size}: a, b cosigned this history")
    );
    assert!(
        own["reasons"]["complete"]
            .as_str()
            .unwrap()
            .contains("unanchored tail: 0 lines, after the "),
        "{own:#}"
    );
    // What is new since a saved position is witnessed, too.
    let since = desk
        .person
        .gently(&["audit", "verify", "--json", "--since", "last"])
        .exits(0)
        .json();
    assert_eq!(since["answers"]["unique"], "yes since");
}

#[test]
fn what_came_after_the_last_cosignature_is_not_covered() {
    let desk = desk();
    let (ledger, log, policy) = (desk.person.at("ledger.git"), desk.log(), desk.policy(BOTH));
    desk.person.ask("open");
    let report = expect(
        "open",
        judged("open", &ledger, Some(&log), &["--policy", &policy]),
        0,
        &[("unique", "partly")],
    );
    assert!(
        report["reasons"]["unique"]
            .as_str()
            .unwrap()
            .contains("lines came after"),
        "{report:#}"
    );
    desk.b.be(Manner::Status(500));
    desk.person.gently(&["session", "close"]).exits(0);
    let answers = [
        ("consistent", "yes"),
        ("unique", "partly"),
        ("not_after", "partly"),
    ];
    let report = expect(
        "half",
        judged("half", &ledger, Some(&log), &["--policy", &policy]),
        0,
        &answers,
    );
    assert!(
        report["reasons"]["unique"]
            .as_str()
            .unwrap()
            .contains("came after"),
        "{report:#}"
    );
    // In a home the witnesses are its own: not enough is no pass of unique, and no failure of the
    // rest.
    let own = desk
        .person
        .gently(&["audit", "verify", "--json"])
        .exits(0)
        .json();
    assert_eq!(own["answers"]["unique"], "partly");
    desk.person
        .gently(&["audit", "verify", "-v", "--require", "unique"])
        .exits(1);
    // Dated long before the lines: seen, but at no time that counts.
    desk.b.be(Manner::Honest);
    desk.b.date(1_000_000);
    desk.person.gently(&["witness", "ask"]).exits(0);
    expect(
        "dated",
        judged("dated", &ledger, Some(&log), &["--policy", &policy]),
        0,
        &[("unique", "yes"), ("not_after", "partly")],
    );
}

/// Puts a text as the note of a commit, with stock git.
fn put_note(repository: &Path, commit: &str, text: &str) {
    let file = repository.join("note.txt");
    std::fs::write(&file, text).unwrap();
    let blob = git(repository, &["hash-object", "-w", file.to_str().unwrap()])
        .exits(0)
        .out;
    std::fs::remove_file(&file).unwrap();
    let who = [
        "-c",
        "user.name=x",
        "-c",
        "user.email=x@x",
        "notes",
        "--ref",
        "witness",
        "add",
        "-f",
        "-C",
        blob.trim(),
        commit,
    ];
    git(repository, &who).exits(0);
}

fn shown_note(repository: &Path, commit: &str) -> String {
    git(repository, &["notes", "--ref", "witness", "show", commit])
        .exits(0)
        .out
}

#[test]
fn changed_notes_are_findings() {
    let desk = desk();
    let (log, policy) = (desk.log(), desk.policy(BOTH));
    let honest = shown_note(&desk.person.at("ledger.git"), "main");
    let parsed = CosignedNote::parse(&honest).unwrap();
    let with = |others: Vec<gently::record::tree::note::NoteSignature>| {
        CosignedNote {
            head: parsed.head.clone(),
            others,
        }
        .print()
    };
    let mut forged = parsed.others.clone();
    *forged[0].signature.last_mut().unwrap() ^= 1;
    let mut dated = parsed.others.clone();
    dated[0].signature[7] ^= 1;
    let mut short = parsed.others.clone();
    short[0].signature.truncate(71);
    let stranger = gently::record::tree::note::NoteSignature {
        name: "new".to_owned(),
        key_id: [1; 4],
        signature: vec![6; 2428],
    };
    let late = cosign(&parsed.head, "a.example/w", 1, 1 << 63);
    let far = cosign(&parsed.head, "a.example/w", 1, 1 << 40);
    let second = cosign(&parsed.head, "b.example", 2, 1_000);
    // The tree head before has both cosignatures all along: what spoils the newest note alone
    // leaves *partly*.
    for (name, text, code, answers) in [
        (
            "forged",
            with(forged),
            0,
            [("consistent", "yes"), ("unique", "no")],
        ),
        (
            "dated anew",
            with(dated),
            0,
            [("consistent", "yes"), ("unique", "no")],
        ),
        (
            "cut",
            with(short),
            0,
            [("consistent", "yes"), ("unique", "no")],
        ),
        (
            "beyond every time",
            with(vec![late, parsed.others[1].clone()]),
            0,
            [("consistent", "yes"), ("unique", "no")],
        ),
        (
            "a time no log has",
            with(vec![far, parsed.others[1].clone()]),
            0,
            [("consistent", "yes"), ("unique", "yes")],
        ),
        (
            "twice",
            with([parsed.others.clone(), vec![second]].concat()),
            0,
            [("consistent", "yes"), ("unique", "yes")],
        ),
        (
            "one alone",
            with(parsed.others[..1].to_vec()),
            0,
            [("consistent", "yes"), ("unique", "partly")],
        ),
        (
            "with a stranger",
            with([vec![stranger], parsed.others.clone()].concat()),
            0,
            [("consistent", "yes"), ("unique", "yes")],
        ),
        (
            "nobody's",
            parsed.head.render(),
            0,
            [("consistent", "yes"), ("unique", "partly")],
        ),
        (
            "rubbish",
            "rubbish\n".to_owned(),
            1,
            [("consistent", "no"), ("unique", "partly")],
        ),
        (
            "no newline",
            honest.trim_end().to_owned(),
            1,
            [("consistent", "no"), ("unique", "partly")],
        ),
        (
            "one line more",
            format!("{honest}\n"),
            1,
            [("consistent", "no"), ("unique", "partly")],
        ),
        (
            "other spelling",
            honest.replacen("— b", "—  b", 1),
            1,
            [("consistent", "no"), ("unique", "partly")],
        ),
        (
            "other size",
            honest.replacen(&format!("\n{}\n", parsed.head.size), "\n3\n", 1),
            1,
            [("consistent", "no"), ("unique", "no")],
        ),
        (
            "the one before",
            shown_note(&desk.person.at("ledger.git"), "main~1"),
            1,
            [("consistent", "no"), ("unique", "partly")],
        ),
    ] {
        let copy = mirror(&desk.person, &format!("copy {name}"));
        put_note(&copy, "main", &text);
        expect(
            name,
            judged(name, &copy, Some(&log), &["--policy", &policy]),
            code,
            &answers,
        );
        judged(name, &copy, None, &[]);
        // What a note of the ledger says or lacks costs *unique*; whoever insists on that says so
        // (FORMAT 11).
        let required = judged(
            name,
            &copy,
            Some(&log),
            &["--policy", &policy, "--require", "unique"],
        )
        .0;
        assert_eq!(required == 0, answers[1].1 == "yes", "{name}");
    }
    // A note on no commit of main; the ref gone; a tree that holds something else.
    let copy = mirror(&desk.person, "copy of a stranger's note");
    put_note(&copy, "branch-1", &honest);
    expect(
        "on a branch",
        judged("on a branch", &copy, Some(&log), &["--policy", &policy]),
        1,
        &[("consistent", "no"), ("unique", "yes")],
    );
    let copy = mirror(&desk.person, "copy without notes");
    git(&copy, &["update-ref", "-d", "refs/notes/witness"]).exits(0);
    expect(
        "gone",
        judged("gone", &copy, Some(&log), &["--policy", &policy]),
        0,
        &[("consistent", "yes"), ("unique", "not checked")],
    );
    let copy = mirror(&desk.person, "copy of main as notes");
    git(&copy, &["update-ref", "refs/notes/witness", "main"]).exits(0);
    expect(
        "main",
        judged("main", &copy, Some(&log), &["--policy", &policy]),
        1,
        &[("consistent", "no"), ("unique", "not checked")],
    );
}

/// A tree head that the ledger's own key signs.
fn signed(desk: &Desk, size: u64, root: Hash32) -> String {
    let key = SigningKey::load(&desk.person.at("keys/signing.key")).unwrap();
    note(&desk.head().origin, size, root, &key.public(), &|body| {
        Ok::<_, std::convert::Infallible>(key.sign(body))
    })
    .unwrap()
}

#[test]
fn two_tree_heads_of_one_size_and_a_larger_one_are_findings() {
    let desk = desk();
    let (ledger, log, policy) = (desk.person.at("ledger.git"), desk.log(), desk.policy(BOTH));
    let head = desk.head();
    let other = signed(&desk, head.size, Hash32::digest(b"another log"));
    let copy = mirror(&desk.person, "copy");
    put_note(&copy, "main", &other);
    let answers = [("consistent", "no"), ("unique", "no"), ("complete", "yes")];
    let report = expect(
        "two of one size",
        judged("two of one size", &copy, Some(&log), &[]),
        1,
        &answers,
    );
    let finding = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|finding| finding["question"] == "unique")
        .unwrap();
    assert!(
        finding["actual"]
            .as_str()
            .unwrap()
            .contains("signed by the ledger's key: a second history"),
        "{finding:#}"
    );

    // A dropped tail: the note of the commit that is gone shows that there was more.
    let copy = mirror(&desk.person, "cut");
    let end = git(&copy, &["rev-parse", "main~1^2"]).exits(0).out;
    let main = git(&copy, &["rev-parse", "main~1"]).exits(0).out;
    git(&copy, &["update-ref", "refs/heads/main", main.trim()]).exits(0);
    git(&copy, &["update-ref", "refs/heads/branch-1", end.trim()]).exits(0);
    let answers = [("complete", "no"), ("unique", "yes")];
    let report = expect(
        "dropped tail",
        judged("dropped tail", &copy, None, &["--policy", &policy]),
        1,
        &answers,
    );
    let finding = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|finding| finding["question"] == "complete")
        .unwrap();
    assert_eq!(
        finding["expected"],
        format!("a log of {} lines, as the ledger's key signed", head.size)
    );
    // The same without notes is shown by a tree head that somebody kept.
    git(&copy, &["update-ref", "-d", "refs/notes/witness"]).exits(0);
    expect(
        "nothing shows it",
        judged("nothing shows it", &copy, None, &[]),
        0,
        &[("complete", "yes")],
    );
    let kept = desk.person.dir.path().join("kept");
    std::fs::write(&kept, head.render()).unwrap();
    let kept = kept.display().to_string();
    expect(
        "kept",
        judged("kept", &copy, None, &["--head", &kept]),
        1,
        &[("complete", "no"), ("consistent", "yes")],
    );
    expect(
        "kept, whole",
        judged("kept, whole", &ledger, Some(&log), &["--head", &kept]),
        0,
        &[("complete", "yes"), ("unique", "not checked")],
    );
    // By whatever key it is signed: a head of another root is another history.
    for (name, text, code, answers) in [
        (
            "forked",
            other.clone(),
            1,
            [("unique", "no"), ("complete", "yes")],
        ),
        (
            "foreign key",
            SignedNote {
                key_id: [7; 4],
                ..parse_note(&other).unwrap()
            }
            .render(),
            1,
            [("unique", "no"), ("complete", "yes")],
        ),
        (
            "same root, foreign key",
            SignedNote {
                key_id: [7; 4],
                ..head.clone()
            }
            .render(),
            0,
            [("unique", "not checked"), ("complete", "yes")],
        ),
        (
            "nothing",
            signed(&desk, 0, Hash32::digest(b"")),
            0,
            [("unique", "not checked"), ("complete", "yes")],
        ),
        (
            "another nothing",
            signed(&desk, 0, Hash32::digest(b"x")),
            1,
            [("unique", "no"), ("complete", "yes")],
        ),
        (
            "between",
            signed(&desk, 3, Hash32::digest(b"x")),
            1,
            [("unique", "no"), ("complete", "yes")],
        ),
        (
            "far ahead",
            signed(&desk, u64::MAX, Hash32::digest(b"x")),
            1,
            [("unique", "not checked"), ("complete", "no")],
        ),
    ] {
        std::fs::write(&kept, text).unwrap();
        expect(
            name,
            judged(name, &ledger, Some(&log), &["--head", &kept]),
            code,
            &answers,
        );
    }
    for text in [
        "",
        "rubbish",
        &head.render().replacen("gently/", "other/", 2),
        &head.render().replacen('\n', "\r\n", 1),
    ] {
        std::fs::write(&kept, text).unwrap();
        assert_eq!(
            judged("no head", &ledger, Some(&log), &["--head", &kept]).0,
            2,
            "{text:?}"
        );
    }
}

#[test]
fn two_clones_are_compared() {
    let desk = desk();
    let before = desk.person.dir.path().join("before");
    run(Command::new("cp")
        .arg("-r")
        .arg(desk.person.home())
        .arg(&before))
    .exits(0);
    let old = mirror(&desk.person, "old");
    desk.turn();
    let ours = desk.person.at("ledger.git");
    let compare = |a: &Path, b: &Path| {
        let (a, b) = (a.display().to_string(), b.display().to_string());
        desk.person.gently(&[
            "audit",
            "verify",
            "-v",
            "--json",
            "--repo",
            &a,
            "--compare",
            &b,
        ])
    };
    assert_eq!(
        compare(&ours, &old).exits(0).json()["answers"]["complete"],
        "yes"
    );
    let behind = compare(&old, &ours).exits(1).json();
    assert_eq!(
        (
            &behind["answers"]["complete"],
            &behind["answers"]["consistent"]
        ),
        (&"no".into(), &"yes".into())
    );
    // The copied home writes a history of its own, as long as the other.
    let mut command = desk.person.command(&["ask", "Another question"]);
    run(command.env("GENTLY_HOME", &before)).exits(0);
    let mut command = desk.person.command(&["session", "close"]);
    run(command.env("GENTLY_HOME", &before)).exits(0);
    let forked = compare(&ours, &before.join("ledger.git"));
    let report = forked.json();
    // Another root by the ledger's own key: neither history holds without the other.
    assert_eq!(forked.code, 1, "{report:#}");
    let (unique, complete) = (&report["answers"]["unique"], &report["answers"]["complete"]);
    assert!(unique == "no" || complete == "no", "{report:#}");
    let place = report["findings"][0]["place"].as_str().unwrap();
    assert!(place.contains("ledger.git, commit "), "{report:#}");
    // Of another ledger, of none.
    let other = Person::new();
    other.ask("x");
    other.gently(&["session", "close"]).exits(0);
    assert!(
        compare(&ours, &other.at("ledger.git"))
            .exits(2)
            .err
            .contains("it is of the log")
    );
    assert!(
        compare(&ours, &desk.person.at("nowhere"))
            .exits(2)
            .err
            .contains("nothing to compare with")
    );
    let fresh = Person::new();
    fresh.gently(&["init"]).exits(0);
    assert!(
        compare(&ours, &fresh.at("ledger.git"))
            .exits(2)
            .err
            .contains("no tree head")
    );
}
