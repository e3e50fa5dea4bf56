//! The second verifier, `scripts/verify.py`, and the product's own: on every ledger the same answers.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What one verifier says: the six answers and the exit code. No answers when it could not look.
#[derive(Debug, PartialEq)]
struct Verdict {
    code: Option<i32>,
    answers: Option<Value>,
}

fn verdict(output: &Output) -> Verdict {
    let report: Option<Value> = serde_json::from_slice(&output.stdout).ok();
    Verdict { code: output.status.code(), answers: report.map(|report| report["answers"].clone()) }
}

fn arguments(repository: &Path, log: Option<&Path>, signer: Option<&str>) -> Vec<String> {
    let mut arguments = vec![repository.display().to_string()];
    if let Some(log) = log {
        arguments.extend(["--log".to_owned(), log.display().to_string()]);
    }
    if let Some(signer) = signer {
        arguments.extend(["--signer".to_owned(), signer.to_owned()]);
    }
    arguments.push("--json".to_owned());
    arguments
}

fn python(arguments: &[String]) -> Output {
    Command::new("python3").arg(root().join("scripts/verify.py")).args(arguments).output().unwrap()
}

fn gently(arguments: &[String]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gently")).args(["audit", "verify", "--repo"]).args(arguments).output().unwrap()
}

/// Runs both; gives what they say, or how they differ.
fn both(name: &str, repository: &Path, log: Option<&Path>, signer: Option<&str>) -> Result<Verdict, String> {
    let arguments = arguments(repository, log, signer);
    let (second, own) = (python(&arguments), gently(&arguments));
    let (says, ours) = (verdict(&second), verdict(&own));
    if says == ours {
        return Ok(says);
    }
    let words = |output: &Output| {
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        text.chars().take(1500).collect::<String>()
    };
    Err(format!("{name}: verify.py {says:?}\n  gently {ours:?}\n  {}\n  {}", words(&second), words(&own)))
}

/// Ledgers on which the two are known to differ, and who is right; empty when all is well.
///
/// The test fails when one of these agrees again, so that the list can only shrink.
const KNOWN: [&str; 0] = [];

fn settle(results: Vec<(String, Result<Verdict, String>)>) {
    let mut faults = Vec::new();
    for (name, result) in results {
        match (result, KNOWN.contains(&name.as_str())) {
            (Err(fault), false) => faults.push(fault),
            (Ok(_), true) => faults.push(format!("{name}: both agree now; take it off the list")),
            _ => {}
        }
    }
    assert!(faults.is_empty(), "{} disagreements\n{}", faults.len(), faults.join("\n\n"));
}

#[test]
fn the_sample_ledgers_get_the_same_answers() {
    let folder = root().join("tests/vectors/ledgers");
    let mut results = Vec::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let sample = entry.unwrap().path();
        if !sample.is_dir() {
            continue;
        }
        let name = sample.file_name().unwrap().to_string_lossy().into_owned();
        let expected: Value = serde_json::from_slice(&std::fs::read(sample.join("expected.json")).unwrap()).unwrap();
        let key = expected["pinned"].as_str().or_else(|| expected["signers"][0].as_str()).unwrap().to_owned();
        let (bundle, log) = (sample.join("ledger.bundle"), sample.join("audit.log"));
        let result = both(&name, &bundle, Some(&log), Some(&key));
        if let Ok(verdict) = &result {
            let answers = verdict.answers.as_ref().unwrap();
            assert_eq!(verdict.code, Some(i32::from(name != "honest")), "{name}");
            for question in expected["not_yes"].as_array().into_iter().flatten() {
                assert_ne!(answers[question.as_str().unwrap().replace(' ', "_")], "yes", "{name}");
            }
        }
        results.push((name.clone(), result));
        results.push((format!("{name}, without a log or a key"), both(&name, &bundle, None, None)));
    }
    assert!(results.len() >= 20);
    settle(results);
}

/// The logs have no ledger: only verify.py takes them alone, and the names say what must come out.
#[test]
fn the_sample_logs_are_judged_as_they_are_named() {
    for folder in ["tests/vectors/audit_log", "tests/vectors/ours/audit_log"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let log = entry.unwrap().path();
            let name = log.file_name().unwrap().to_string_lossy().into_owned();
            let output = python(&["--log".to_owned(), log.display().to_string(), "--json".to_owned()]);
            let answers = verdict(&output).answers.unwrap();
            let question = match name.as_str() {
                "valid.log" => {
                    assert_eq!(output.status.code(), Some(0), "{answers}");
                    continue;
                }
                "invalid_anchor_header_of_another_block.log" => "not_before",
                _ if name.starts_with("invalid") => "consistent",
                _ => "complete",
            };
            assert_eq!((answers[question].as_str(), output.status.code()), (Some("no"), Some(1)), "{name}: {answers}");
            if question == "complete" {
                assert_ne!(answers["consistent"], "no", "{name}");
            }
        }
    }
}

/// Makes the tampered ledgers once for a test.
fn tampered() -> (tempfile::TempDir, Value) {
    let dir = tempfile::tempdir().unwrap();
    let made =
        Command::new("python3").arg(root().join("tests/data/second/make_ledgers.py")).arg(dir.path()).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let index = serde_json::from_slice(&std::fs::read(dir.path().join("index.json")).unwrap()).unwrap();
    (dir, index)
}

#[test]
fn tampered_ledgers_get_the_same_answers_and_none_passes() {
    let (dir, index) = tampered();
    let signer = index["signer"].as_str().unwrap();
    let mut results = Vec::new();
    for ledger in index["ledgers"].as_array().unwrap() {
        let name = ledger["name"].as_str().unwrap();
        let folder = dir.path().join(name);
        let log = folder.join("audit.log");
        let log = ledger["log"].as_bool().unwrap().then_some(log.as_path());
        let result = both(name, &folder.join("ledger.git"), log, Some(signer));
        if let Ok(verdict) = &result {
            let not_yes = ledger["not_yes"].as_array().unwrap();
            assert_eq!(verdict.code == Some(0), not_yes.is_empty(), "{name}: {verdict:?}");
            for question in not_yes {
                let answer = verdict.answers.as_ref().map(|answers| &answers[question.as_str().unwrap()]);
                assert_ne!(answer.and_then(Value::as_str), Some("yes"), "{name}: {question}");
            }
        }
        results.push((name.to_owned(), result));
    }
    settle(results);
}

fn asking(home: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gently"));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("GENTLY_") || text == "OPENAI_API_KEY" || text == "ANTHROPIC_API_KEY" {
            command.env_remove(&name);
        }
    }
    command.env("GENTLY_HOME", home).env("GENTLY_ANCHOR_MODE", "off").args(words).output().unwrap()
}

#[test]
fn a_ledger_of_the_real_binary_gets_the_same_answers() {
    let dir = tempfile::tempdir().unwrap();
    let home: PathBuf = dir.path().join("home");
    let must = |words: &[&str]| {
        let output = asking(&home, words);
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let look = |name: &str, code: i32| {
        let (repository, log) = (home.join("ledger.git"), home.join("audit.log"));
        let key = home.join("keys/allowed_signers").display().to_string();
        let verdict = both(name, &repository, Some(&log), Some(&key)).unwrap();
        assert_eq!(verdict.code, Some(code), "{name}: {verdict:?}");
    };
    must(&["init"]);
    look("a new home", 0);
    for words in ["one", "two", "three", "four", "five"] {
        must(&["ask", words]);
    }
    look("five answers, open", 0);
    must(&["session", "close"]);
    look("closed", 0);
    must(&["session", "open"]);
    must(&["ask", "six"]);
    // Nobody listens on port 1: the model fails, and that is recorded.
    asking(&home, &["config", "set", "models.openai.base_url", "http://127.0.0.1:1/v1"]);
    asking(&home, &["ask", "--model", "openai/nobody", "seven"]);
    look("with a failed call", 0);
    must(&["session", "close"]);
    look("closed again", 0);
    std::fs::remove_file(home.join("audit.log")).unwrap();
    let verdict = both("without its log", &home.join("ledger.git"), None, None).unwrap();
    assert_eq!(verdict.code, Some(0));
}
