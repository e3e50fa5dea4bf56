//! `gently audit verify --since`: what is new is checked, what is before is not, and the report
//! says so.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use gently::record::canon;
use serde_json::{Value, json};

use crate::person::{Person, Ran, git};

fn turns(person: &Person, count: usize) {
    for n in 0..count {
        person.ask(&format!("Question {n}")).exits(0);
    }
}

/// One closed session of two turns, checked; the position is kept in the home.
fn checked_home() -> Person {
    let person = Person::new();
    turns(&person, 2);
    person.gently(&["session", "close"]).exits(0);
    person.gently(&["audit", "verify", "--json"]).exits(0);
    person
}

fn since_last(person: &Person) -> Ran {
    person.gently(&["audit", "verify", "--json", "--since", "last"])
}

fn kept(person: &Person) -> PathBuf {
    person.home().join("verified.json")
}

fn position(person: &Person) -> Value {
    serde_json::from_slice(&std::fs::read(kept(person)).unwrap()).unwrap()
}

/// Writes a position that has been changed, with the sum that belongs to it: a forger can do that
/// much.
fn forge(person: &Person, changed: &Value) {
    let sum = canon::digest(changed).unwrap();
    let stored = json!({ "form": "gently-verified/1", "position": changed, "sum": sum });
    std::fs::write(kept(person), canon::print(&stored).unwrap()).unwrap();
}

fn commits(report: &Value) -> u64 {
    report["commits"]
        .as_object()
        .unwrap()
        .values()
        .filter_map(Value::as_u64)
        .sum()
}

/// The answers that are given for the new part only.
fn is_limited(report: &Value) -> bool {
    ["consistent", "complete"]
        .iter()
        .all(|name| report["answers"][name] == "yes since")
}

#[test]
fn a_check_goes_on_where_the_last_one_ended() {
    let person = checked_home();
    let (lines, all) = (person.log().len(), person.commits().len());
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &std::fs::metadata(kept(&person)).unwrap().permissions(),
        );
        assert_eq!(mode & 0o777, 0o600);
    }
    let same = since_last(&person).exits(0).json();
    assert!(
        is_limited(&same) && same["entries"] == 0 && commits(&same) == 0,
        "{same:#}"
    );
    turns(&person, 3);
    person.gently(&["session", "close"]).exits(0);
    let report = since_last(&person).exits(0).json();
    assert!(is_limited(&report), "{report:#}");
    assert_eq!(report["answers"]["signed_by"], "yes since");
    assert_eq!(
        report["entries"],
        person.log().len() - lines,
        "only new lines"
    );
    assert_eq!(
        commits(&report),
        (person.commits().len() - all) as u64,
        "only new commits"
    );
    assert_eq!(
        (&report["checked"]["from"], &report["checked"]["line"]),
        (&json!("position"), &json!(lines))
    );
    assert_eq!(
        report["chain_integrity"],
        format!("VALID SINCE LINE {lines}, not checked before")
    );
    // It is no pass of the whole.
    let whole = person
        .gently(&[
            "audit",
            "verify",
            "-v",
            "--since",
            "last",
            "--require",
            "consistent",
        ])
        .exits(1);
    assert!(
        whole.err.contains("consistent is yes since"),
        "{}",
        whole.err
    );
    assert!(
        whole.out.contains(&format!(
            "continued from position {}, saved at 20",
            person.log().len()
        )),
        "{}",
        whole.out
    );
    assert!(
        person
            .gently(&["audit", "verify", "-v"])
            .exits(0)
            .out
            .contains("checked:     verified from scratch")
    );
}

#[test]
fn what_is_before_the_position_is_not_looked_at() {
    let person = checked_home();
    turns(&person, 1);
    let log = person.home().join("audit.log");
    let honest = std::fs::read_to_string(&log).unwrap();
    let changed = honest.replacen("|prompt|", "|prompT|", 1);
    std::fs::write(&log, &changed).unwrap();
    let report = since_last(&person).exits(0).json();
    assert!(
        report["chain_integrity"]
            .as_str()
            .unwrap()
            .ends_with("not checked before"),
        "{report:#}"
    );
    assert_eq!(
        person
            .gently(&["audit", "verify", "--json"])
            .exits(1)
            .json()["answers"]["consistent"],
        "no"
    );
    std::fs::write(&log, &honest).unwrap();
    assert!(
        is_limited(&since_last(&person).exits(0).json()),
        "a check that found something keeps no position"
    );

    // An object of the first turn, gone: the ledger as loose objects, one of which is removed.
    let copy = person.at("copy.git");
    loose_copy(&person.home().join("ledger.git"), &copy);
    let first = git(
        &copy,
        &[
            "log",
            "--all",
            "--format=%H",
            "--grep=^interaction-1$",
            "--reverse",
        ],
    )
    .exits(0)
    .out;
    let first = first.lines().next().unwrap();
    std::fs::remove_file(copy.join("objects").join(&first[..2]).join(&first[2..])).unwrap();
    let copied = [
        "--json",
        "--repo",
        copy.to_str().unwrap(),
        "--log",
        log.to_str().unwrap(),
    ];
    let (verify, kept) = (["audit", "verify", "-v"], kept(&person));
    let since = ["--since", "last", "--position", kept.to_str().unwrap()];
    person.gently(&[&verify[..], &copied].concat()).exits(1);
    assert!(is_limited(
        &person
            .gently(&[&verify[..], &copied, &since].concat())
            .exits(0)
            .json()
    ));
}

fn loose_copy(ledger: &Path, copy: &Path) {
    Command::new("git")
        .args(["clone", "--quiet", "--mirror", "--no-local"])
        .arg(ledger)
        .arg(copy)
        .status()
        .unwrap();
    let packs = copy.join("objects/pack");
    let aside = copy.join("packs");
    std::fs::rename(&packs, &aside).unwrap();
    std::fs::create_dir(&packs).unwrap();
    for file in std::fs::read_dir(&aside)
        .unwrap()
        .map(|file| file.unwrap().path())
    {
        if file
            .extension()
            .is_some_and(|extension| extension == "pack")
        {
            let pack = Stdio::from(std::fs::File::open(&file).unwrap());
            let unpacked = Command::new("git")
                .arg("-C")
                .arg(copy)
                .args(["unpack-objects", "-q"])
                .stdin(pack)
                .status();
            assert!(unpacked.unwrap().success());
        }
    }
    std::fs::remove_dir_all(&aside).unwrap();
}

#[test]
fn what_is_new_is_checked() {
    let person = checked_home();
    let before = std::fs::read(kept(&person)).unwrap();
    let bytes = std::fs::metadata(person.home().join("audit.log"))
        .unwrap()
        .len() as usize;
    turns(&person, 2);
    person.gently(&["session", "close"]).exits(0);
    let log = person.home().join("audit.log");
    let honest = std::fs::read(&log).unwrap();
    for at in (bytes..honest.len()).step_by(97) {
        let mut changed = honest.clone();
        changed[at] ^= 1;
        std::fs::write(&log, &changed).unwrap();
        let report = since_last(&person).exits(1).json();
        assert_eq!(report["answers"]["consistent"], "no", "byte {at}");
        assert_eq!(
            std::fs::read(kept(&person)).unwrap(),
            before,
            "byte {at}: nothing is kept"
        );
    }
    // The log ends before the position, or in the middle of the position's last line: all is looked
    // at.
    for length in [0, 100, bytes - 1] {
        std::fs::write(&log, &honest[..length]).unwrap();
        let report = since_last(&person).exits(1).json();
        assert!(
            report["checked"]["position_not_used"].is_string(),
            "{length}: {report:#}"
        );
    }
    std::fs::write(&log, &honest).unwrap();
    since_last(&person).exits(0);
}

/// Somebody put back an older ledger and log, consistent in themselves: only the position
/// remembers.
#[test]
fn a_history_that_left_the_position_is_a_finding() {
    let person = Person::new();
    turns(&person, 1);
    person.gently(&["session", "close"]).exits(0);
    let (older, log) = (
        person.dir.path().join("older/ledger.git"),
        person.dir.path().join("older/audit.log"),
    );
    git(
        &person.home(),
        &[
            "clone",
            "--quiet",
            "--mirror",
            "ledger.git",
            older.to_str().unwrap(),
        ],
    )
    .exits(0);
    // A log comes with its tree head (FORMAT 1).
    for name in ["audit.log", "audit.checkpoint"] {
        std::fs::copy(person.at(name), log.with_file_name(name)).unwrap();
    }
    turns(&person, 1);
    person.gently(&["session", "close"]).exits(0);
    person.gently(&["audit", "verify", "-v"]).exits(0);
    let kept = kept(&person);
    let words = |more: &[&str]| -> Vec<String> {
        let fixed = [
            "audit",
            "verify",
            "--json",
            "--repo",
            older.to_str().unwrap(),
            "--log",
            log.to_str().unwrap(),
        ];
        fixed
            .iter()
            .chain(more)
            .map(|word| (*word).to_owned())
            .collect()
    };
    person.gently(&words(&[])).exits(0);
    let ran = person
        .gently(&words(&[
            "--since",
            "last",
            "--position",
            kept.to_str().unwrap(),
        ]))
        .exits(1);
    let said = "what was kept of this ledger contradicts it: the position of an earlier check";
    assert!(ran.err.contains(said), "{}", ran.err);
    let report = ran.json();
    assert_eq!(
        (
            &report["answers"]["consistent"],
            &report["answers"]["unique"]
        ),
        (&json!("yes"), &json!("no"))
    );
    assert_eq!(report["answers"]["complete"], "yes");
    // That of another ledger is no evidence against this one: all is checked, and the report says
    // why.
    let other = checked_home();
    std::fs::copy(&kept, self::kept(&other)).unwrap();
    let report = since_last(&other).exits(0).json();
    assert_eq!(report["answers"]["consistent"], "yes");
    let misfit = report["checked"]["position_not_used"].as_str().unwrap();
    assert!(misfit.starts_with("root of main"), "{misfit}");
    // One that somebody names for a check was kept of what he checks: there is another history, and
    // the file stays as it is.
    let before = std::fs::read(&kept).unwrap();
    let (ledger, log) = (
        other.home().join("ledger.git"),
        other.home().join("audit.log"),
    );
    let words = [
        "audit",
        "verify",
        "--json",
        "--since",
        "last",
        "--position",
        kept.to_str().unwrap(),
        "--repo",
        ledger.to_str().unwrap(),
        "--log",
        log.to_str().unwrap(),
    ];
    for _ in 0..2 {
        let ran = person.gently(&words).exits(1);
        assert!(ran.err.contains(said), "{}", ran.err);
        assert_eq!(ran.json()["answers"]["unique"], "no");
        assert_eq!(std::fs::read(&kept).unwrap(), before);
    }
}

#[test]
fn a_changed_position_is_not_gone_on_from() {
    let person = Person::new();
    turns(&person, 1);
    person.gently(&["session", "close"]).exits(0);
    turns(&person, 1);
    person.gently(&["key", "rotate", "--yes"]).exits(0);
    turns(&person, 1);
    person.gently(&["session", "close"]).exits(0);
    person.gently(&["audit", "verify", "-v"]).exits(0);
    let (honest, stored) = (
        std::fs::read_to_string(kept(&person)).unwrap(),
        position(&person),
    );
    let body = &stored["position"];
    let mains = git(
        &person.home().join("ledger.git"),
        &["rev-list", "--first-parent", "main"],
    )
    .exits(0)
    .out;
    let mains: Vec<&str> = mains.lines().collect();
    let zero = "0".repeat(64);
    let fits = |report: &Value| report["checked"]["position_not_used"].is_null();

    // One character of it, anywhere: the sum does not fit, nor would the print.
    for at in (0..honest.len()).step_by(61) {
        let mut changed = honest.clone().into_bytes();
        changed[at] ^= 1;
        std::fs::write(kept(&person), changed).unwrap();
        let report = since_last(&person).exits(0).json();
        assert!(
            !fits(&report) && report["answers"]["consistent"] == "yes",
            "byte {at}: {report:#}"
        );
    }
    // Each field, with the sum made anew: whatever the ledger can tell has to fit.
    let older_tip = git(
        &person.home().join("ledger.git"),
        &["rev-parse", "branch-1~2"],
    )
    .exits(0)
    .out;
    let edits: Vec<(&str, Value)> = vec![
        ("bytes", json!(body["bytes"].as_u64().unwrap() + 1)),
        ("bytes", json!(body["bytes"].as_u64().unwrap() - 1)),
        ("bytes", json!(0)),
        ("commit", json!(mains[1])),
        ("commit", json!("0".repeat(40))),
        (
            "frontier",
            json!(format!("{}00", body["frontier"].as_str().unwrap())),
        ),
        (
            "frontier",
            json!(body["frontier"].as_str().unwrap().replacen('a', "b", 1)),
        ),
        ("head", json!(zero)),
        ("keys", json!([])),
        ("keys", json!([body["keys"][0]])),
        ("keys", json!([body["keys"][1]])),
        ("last_branch", json!("branch-2")),
        ("lines", json!(body["lines"].as_u64().unwrap() + 1)),
        ("lines", json!(body["lines"].as_u64().unwrap() - 1)),
        ("open", json!({ zero.as_str(): 1 })),
        ("tips", json!({ "1": older_tip.trim() })),
        (
            "tips",
            json!({ "1": body["tips"]["1"], "2": body["tips"]["1"] }),
        ),
        ("tips", json!({})),
    ];
    for (field, value) in edits {
        let mut changed = body.clone();
        assert_ne!(changed[field], value, "{field}");
        changed[field] = value.clone();
        forge(&person, &changed);
        let report = since_last(&person).json();
        assert!(
            !fits(&report) && report["answers"]["consistent"] != "yes since",
            "{field} {value}: {report:#}"
        );
    }
    // A key of the forger's own, and a rotation moved behind the position.
    for (pointer, value) in [
        ("/keys/1/key", json!(body["keys"][0]["key"])),
        ("/keys/1/after", json!(body["lines"].as_u64().unwrap() + 1)),
        ("/keys/1/commit", json!(mains[0])),
        ("/keys/0/commit", json!(mains[0])),
    ] {
        let mut changed = body.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        forge(&person, &changed);
        let report = since_last(&person).json();
        assert!(!fits(&report), "{pointer}: {report:#}");
    }
    std::fs::write(kept(&person), &honest).unwrap();
    assert!(is_limited(&since_last(&person).exits(0).json()));
}

/// A session that is open at the position is made again out of its lines.
#[test]
fn a_session_goes_on_over_the_position() {
    let person = Person::new();
    turns(&person, 1);
    // A second session beside it, whose close is a segment while the first is open.
    person.gently(&["session", "open"]).exits(0);
    let log = person.log();
    let starts = log.iter().filter(|line| line.contains("|session_start|"));
    let ids: Vec<&str> = starts.map(|line| line.split('|').nth(4).unwrap()).collect();
    person.gently(&["session", "close", ids[1]]).exits(0);
    person.gently(&["audit", "verify", "-v"]).exits(0);
    let before = position(&person);
    assert_eq!(
        before["position"]["open"].as_object().unwrap().len(),
        1,
        "{before:#}"
    );
    assert!(before["position"]["open"][ids[0]].is_u64(), "{before:#}");
    let forged = {
        let mut forged = before["position"].clone();
        forged["open"] = json!({});
        forged
    };
    let honest = std::fs::read(kept(&person)).unwrap();
    turns(&person, 2);
    person.gently(&["session", "close"]).exits(0);
    let report = since_last(&person).exits(0).json();
    assert!(
        is_limited(&report) && report["checked"]["replayed"].as_u64().unwrap() > 1,
        "{report:#}"
    );
    // A position that forgets the session: what goes on of it has no start.
    forge(&person, &forged);
    let report = since_last(&person).json();
    assert_ne!(report["answers"]["consistent"], "yes since", "{report:#}");
    std::fs::write(kept(&person), honest).unwrap();
    since_last(&person).exits(0);
}

#[test]
fn since_a_commit_that_the_caller_names() {
    let person = checked_home();
    let lines = person.log().len();
    let repository = person.home().join("ledger.git");
    let tip = git(&repository, &["rev-parse", "main"]).exits(0).out;
    turns(&person, 2);
    person.gently(&["session", "close"]).exits(0);
    std::fs::remove_file(kept(&person)).unwrap();
    let since = |commit: &str| person.gently(&["audit", "verify", "--json", "--since", commit]);
    let ran = since(&tip.trim()[..12]).exits(0);
    assert!(
        ran.err.contains(&format!(
            "{lines} older log lines were read and checked again"
        )),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("no saved position lies at commit"),
        "{}",
        ran.err
    );
    let report = ran.json();
    assert!(is_limited(&report), "{report:#}");
    assert_eq!(
        (&report["checked"]["from"], &report["checked"]["line"]),
        (&json!("commit"), &json!(lines))
    );
    assert_eq!(
        commits(&report),
        5,
        "start, two turns, end, close: {report:#}"
    );
    assert!(
        !kept(&person).exists(),
        "the caller's word is not kept as ours"
    );
    assert!(
        since("0000")
            .exits(2)
            .err
            .contains("begins the id of no commit on main")
    );
    // Lines before it are read, and a changed one is found.
    let log = person.home().join("audit.log");
    let changed = std::fs::read_to_string(&log)
        .unwrap()
        .replacen("|prompt|", "|prompT|", 1);
    std::fs::write(&log, changed).unwrap();
    assert_eq!(
        since(tip.trim()).exits(1).json()["answers"]["consistent"],
        "no"
    );
    let refused = person.gently(&[
        "audit",
        "verify",
        "--repo",
        repository.to_str().unwrap(),
        "--since",
        "last",
    ]);
    assert!(refused.exits(2).err.contains("--position FILE"));
}

/// A position at the named commit or before it: the check begins there, and reads nothing older.
#[test]
fn since_a_commit_behind_a_saved_position_reads_nothing_before_the_position() {
    let person = checked_home();
    let lines = person.log().len();
    let repository = person.home().join("ledger.git");
    let main = || {
        git(&repository, &["rev-parse", "main"])
            .exits(0)
            .out
            .trim()
            .to_owned()
    };
    let older = git(&repository, &["rev-parse", "main~1"])
        .exits(0)
        .out
        .trim()
        .to_owned();
    let at = main();
    turns(&person, 1);
    person.gently(&["session", "close"]).exits(0);
    let behind = main();
    turns(&person, 1);
    person.gently(&["session", "close"]).exits(0);
    let saved = std::fs::read(kept(&person)).unwrap();
    let since = |commit: &str| person.gently(&["audit", "verify", "--json", "--since", commit]);
    for commit in [at.as_str(), &behind, &behind[..12]] {
        std::fs::write(kept(&person), &saved).unwrap();
        let ran = since(commit).exits(0);
        assert!(!ran.err.contains("log line"), "{commit}: {}", ran.err);
        let report = ran.json();
        assert!(is_limited(&report), "{commit}: {report:#}");
        assert_eq!(
            (&report["checked"]["from"], &report["checked"]["line"]),
            (&json!("position"), &json!(lines))
        );
        assert_eq!(
            report["checked"]["commit"],
            at.as_str(),
            "what was checked begins before what was asked"
        );
        assert_eq!(
            report["entries"],
            person.log().len() - lines,
            "{commit}: only lines behind the position"
        );
    }
    // A check that went on from the position has moved it: now the older commit lies before it.
    assert_eq!(position(&person)["position"]["commit"], main().as_str());
    for commit in [at.as_str(), older.as_str()] {
        let ran = since(commit).exits(0);
        // Before the root there is no line.
        assert_eq!(
            ran.err.contains("no saved position lies at commit"),
            commit == at,
            "{}",
            ran.err
        );
        assert_eq!(ran.json()["checked"]["from"], "commit", "{commit}");
    }
    // What is wrong behind the position is found, and a position that does not fit is named.
    std::fs::write(kept(&person), &saved).unwrap();
    let mut forged = position(&person)["position"].clone();
    forged["bytes"] = json!(forged["bytes"].as_u64().unwrap() + 1);
    forge(&person, &forged);
    let ran = since(&behind).exits(0);
    assert!(
        ran.err
            .contains("there was no earlier check to continue from"),
        "{}",
        ran.err
    );
    assert!(ran.json()["checked"]["position_not_used"].is_string());
    std::fs::write(kept(&person), &saved).unwrap();
    let log = person.home().join("audit.log");
    let honest = std::fs::read_to_string(&log).unwrap();
    let at = honest.rfind("|prompt|").unwrap();
    std::fs::write(
        &log,
        format!(
            "{}{}",
            &honest[..at],
            honest[at..].replacen("|prompt|", "|prompT|", 1)
        ),
    )
    .unwrap();
    assert_eq!(
        since(&behind).exits(1).json()["answers"]["consistent"],
        "no"
    );
    std::fs::write(&log, &honest).unwrap();
    // Another history: the position's commit is not on main any more.
    git(&repository, &["update-ref", "refs/heads/main", &older]).exits(0);
    std::fs::write(kept(&person), &saved).unwrap();
    let report = since(&older).exits(1).json();
    assert!(
        report["findings"]
            .to_string()
            .contains("among the first parents"),
        "{report:#}"
    );
}
