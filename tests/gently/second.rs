//! The second verifier, `scripts/verify.py`, and the product's own: on every ledger the same
//! answers.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What one verifier says: the six answers and the exit code. No answers when it could not look.
#[derive(Debug, PartialEq)]
pub(crate) struct Verdict {
    pub code: Option<i32>,
    answers: Option<Value>,
}

fn verdict(output: &Output) -> Verdict {
    let report: Option<Value> = serde_json::from_slice(&output.stdout).ok();
    Verdict {
        code: output.status.code(),
        answers: report.and_then(|report| report.get("answers").cloned()),
    }
}

fn arguments(repository: &Path, log: Option<&Path>, signers: &[&str]) -> Vec<String> {
    let mut arguments = vec![repository.display().to_string()];
    if let Some(log) = log {
        arguments.extend(["--log".to_owned(), log.display().to_string()]);
    }
    for signer in signers {
        arguments.extend(["--signer".to_owned(), (*signer).to_owned()]);
    }
    arguments.push("--json".to_owned());
    arguments
}

/// The words of a list in an index of made ledgers.
fn words<'a>(entry: &'a Value, key: &str) -> Vec<&'a str> {
    entry[key]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

fn python(arguments: &[String]) -> Output {
    Command::new("python3")
        .arg(root().join("scripts/verify.py"))
        .args(arguments)
        .output()
        .unwrap()
}

/// `scripts/verify.py` over many ledgers, loaded once.
fn python_of_each(arguments: &[Vec<String>]) -> Vec<Verdict> {
    let mut child = Command::new("python3")
        .arg(root().join("tests/data/second/verify_many.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(&serde_json::to_vec(arguments).unwrap())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let said: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said.len(), arguments.len());
    let verdict = |said: &Value| Verdict {
        code: said["code"].as_i64().and_then(|code| code.try_into().ok()),
        answers: serde_json::from_str(said["out"].as_str().unwrap())
            .ok()
            .map(|report: Value| report["answers"].clone()),
    };
    said.iter().map(verdict).collect()
}

fn gently(arguments: &[String]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gently"))
        .args(["audit", "verify", "--repo"])
        .args(arguments)
        .output()
        .unwrap()
}

/// Runs both; gives what each says.
pub(crate) fn both(
    repository: &Path,
    log: Option<&Path>,
    signer: Option<&str>,
) -> (Verdict, Verdict) {
    let arguments = arguments(repository, log, &Vec::from_iter(signer));
    (verdict(&python(&arguments)), verdict(&gently(&arguments)))
}

/// The same of an opening file.
pub(crate) fn of_one_opening(file: &Path, signer: &str) -> (Verdict, Verdict) {
    let rest = ["--signer", signer, "--json"].map(str::to_owned);
    let file = file.display().to_string();
    let asked = [&["--opening".to_owned(), file.clone()], &rest[..]].concat();
    let ours = Command::new(env!("CARGO_BIN_EXE_gently"))
        .args(["audit", "check", "-v", &file])
        .args(&rest)
        .output()
        .unwrap();
    (verdict(&python(&asked)), verdict(&ours))
}

/// All six answers and the exit code are the same, on every ledger.
fn settle(results: Vec<(String, (Verdict, Verdict))>) {
    let mut faults = Vec::new();
    for (name, (says, ours)) in results {
        if says != ours {
            let differ = differences(&says, &ours);
            faults.push(format!(
                "{name}: they differ in {differ:?}\n  verify.py {says:?}\n  gently {ours:?}"
            ));
        }
    }
    assert!(
        faults.is_empty(),
        "{} disagreements\n{}",
        faults.len(),
        faults.join("\n\n")
    );
}

/// The questions that get different answers.
fn differences(says: &Verdict, ours: &Verdict) -> Vec<&'static str> {
    [
        "consistent",
        "complete",
        "unique",
        "not_before",
        "not_after",
        "signed_by",
    ]
    .into_iter()
    .filter(|question| {
        says.answers.as_ref().map(|answers| &answers[*question])
            != ours.answers.as_ref().map(|answers| &answers[*question])
    })
    .collect()
}

/// The sample ledgers: name, what is expected, and the arguments with everything that belongs to
/// them and with nothing.
fn samples() -> Vec<(String, Value, [Vec<String>; 2])> {
    let folder = root().join("tests/vectors/ledgers");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let sample = entry.unwrap().path();
        if !sample.is_dir() {
            continue;
        }
        let name = sample.file_name().unwrap().to_string_lossy().into_owned();
        let expected: Value =
            serde_json::from_slice(&std::fs::read(sample.join("expected.json")).unwrap()).unwrap();
        let pinned = if name == "honest" {
            words(&expected, "signers")
        } else {
            words(&expected, "pinned")
        };
        let (bundle, log) = (sample.join("ledger.bundle"), sample.join("audit.log"));
        let asked = [
            arguments(&bundle, Some(&log), &pinned),
            arguments(&bundle, None, &[]),
        ];
        found.push((name, expected, asked));
    }
    assert_eq!(found.len(), 13);
    found
}

#[test]
fn the_sample_ledgers_get_the_same_answers() {
    let (samples, mut results) = (samples(), Vec::new());
    let asked: Vec<_> = samples
        .iter()
        .flat_map(|(_, _, asked)| asked.clone())
        .collect();
    let mut said = python_of_each(&asked).into_iter();
    for (name, expected, [with_log, bare]) in samples {
        let (says, says_bare) = (said.next().unwrap(), said.next().unwrap());
        let answers = says.answers.as_ref().unwrap();
        // What is not before its block is no part of the exit code, unless it is asked for.
        let fine = name == "honest" || words(&expected, "not_yes") == ["not before"];
        assert_eq!(says.code, Some(i32::from(!fine)), "{name}: {answers}");
        for question in words(&expected, "not_yes") {
            assert_ne!(answers[question.replace(' ', "_")], "yes", "{name}");
        }
        if name == "honest" {
            for question in ["consistent", "complete", "not_before", "signed_by"] {
                assert_eq!(answers[question], "yes", "{question}");
            }
            assert_eq!(says_bare.code, Some(0));
        }
        results.push((
            format!("{name}, without a log or a key"),
            (says_bare, verdict(&gently(&bare))),
        ));
        results.push((name, (says, verdict(&gently(&with_log)))));
    }
    settle(results);
}

/// Nobody signed it, and git would do what it says.
#[test]
fn what_the_config_says_is_nothing_to_either() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = root().join("tests/vectors/ledgers/honest/ledger.bundle");
    let repository = folder.path().join("ledger.git");
    let clone = Command::new("git")
        .args(["clone", "--quiet", "--mirror"])
        .arg(&bundle)
        .arg(&repository)
        .status();
    assert!(clone.unwrap().success());
    let ran = folder.path().join("ran");
    let hostile = format!(
        "[core]\n\tfsmonitor = touch '{0}'\n\tsshCommand = touch '{0}'\n",
        ran.display()
    );
    let mut results = Vec::new();
    for (name, text) in [
        ("nothing", ""),
        ("garbage", "\u{0}garbage [[["),
        ("no boolean", "[core]\n\tbare = perhaps\n"),
        (
            "a version of the future",
            "[core]\n\trepositoryformatversion = 9\n",
        ),
        (
            "an unknown extension",
            "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tmadeUp = true\n",
        ),
        ("another garbage", "[include]\n\tpath = garbage\n"),
        ("a program", &hostile),
        (
            "a work tree elsewhere",
            "[core]\n\tbare = false\n\tworktree = /nowhere\n",
        ),
        (
            "a promise",
            "[extensions]\n\tpartialClone = origin\n[remote \"origin\"]\n\turl = /nowhere\n\tpromisor = true\n",
        ),
    ] {
        std::fs::write(repository.join("config"), text).unwrap();
        std::fs::write(repository.join("garbage"), "[[[").unwrap();
        let result = both(&repository, None, None);
        assert_eq!(result.0.code, Some(0), "{name}: {:?}", result.0);
        results.push((name.to_owned(), result));
    }
    std::fs::write(
        repository.join("config"),
        "[extensions]\n\tobjectFormat = sha256\n",
    )
    .unwrap();
    let longer = both(&repository, None, None);
    assert_eq!(
        longer.0,
        Verdict {
            code: Some(2),
            answers: None
        }
    );
    results.push(("names of another length".to_owned(), longer));
    std::fs::remove_file(repository.join("config")).unwrap();
    let alternates = repository.join("objects/info/alternates");
    for (name, text, code) in [
        ("no folder", "/nowhere\n", 0),
        ("itself", "../../ledger.git/objects\n", 2),
    ] {
        std::fs::write(&alternates, text).unwrap();
        let result = both(&repository, None, None);
        assert_eq!(result.0.code, Some(code), "{name}");
        results.push((format!("alternates: {name}"), result));
    }
    std::fs::remove_file(alternates).unwrap();
    for part in ["HEAD", "refs", "objects"] {
        let moved = folder.path().join(part);
        std::fs::rename(repository.join(part), &moved).unwrap();
        let without = both(&repository, None, None);
        assert_eq!(without.0.code, Some(2), "without {part}");
        results.push((format!("without {part}"), without));
        std::fs::rename(moved, repository.join(part)).unwrap();
    }
    settle(results);
    assert!(!ran.exists(), "a program that config names was run");
}

/// The logs have no ledger: only verify.py takes them alone, and the names say what must come out.
#[test]
fn the_sample_logs_are_judged_as_they_are_named() {
    let folders = ["tests/vectors/audit_log", "tests/vectors/ours/audit_log"]
        .map(|folder| root().join(folder));
    let files = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let logs: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    let asked = logs.iter().map(|log| {
        [
            "--log".to_owned(),
            log.display().to_string(),
            "--json".to_owned(),
        ]
        .to_vec()
    });
    let said = python_of_each(&asked.collect::<Vec<_>>());
    for (log, verdict) in logs.iter().zip(said) {
        let name = log.file_name().unwrap().to_string_lossy().into_owned();
        let answers = verdict.answers.unwrap();
        let question = match name.as_str() {
            "valid.log" => {
                assert_eq!(verdict.code, Some(0), "{answers}");
                continue;
            }
            _ if name.starts_with("invalid") => "consistent",
            _ => "complete",
        };
        assert_eq!(
            (answers[question].as_str(), verdict.code),
            (Some("no"), Some(1)),
            "{name}: {answers}"
        );
        if question == "complete" {
            assert_ne!(answers["consistent"], "no", "{name}");
        }
    }
}

/// Makes the attacked ledgers, or the opening files, once for a test.
fn made(which: &str) -> (tempfile::TempDir, Value) {
    let dir = tempfile::tempdir().unwrap();
    let script = root().join("tests/data/second/make_ledgers.py");
    let made = Command::new("python3")
        .arg(script)
        .arg(dir.path())
        .arg(which)
        .output()
        .unwrap();
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    let index =
        serde_json::from_slice(&std::fs::read(dir.path().join("index.json")).unwrap()).unwrap();
    (dir, index)
}

/// The arguments for a made ledger.
fn of_ledger(dir: &Path, ledger: &Value) -> Vec<String> {
    let folder = dir.join(ledger["name"].as_str().unwrap());
    let log = folder.join("audit.log");
    let log = ledger["log"].as_bool().unwrap().then_some(log.as_path());
    let mut asked = arguments(&folder.join("ledger.git"), log, &words(ledger, "signers"));
    asked.extend(words(ledger, "options").into_iter().map(str::to_owned));
    asked
}

/// The arguments behind the file's own, for a made opening file, and its path.
fn of_opening(dir: &Path, opening: &Value) -> (String, Vec<String>) {
    let file = dir
        .join("openings")
        .join(format!("{}.json", opening["name"].as_str().unwrap()));
    let signers = words(opening, "signers")
        .into_iter()
        .flat_map(|key| ["--signer".to_owned(), key.to_owned()]);
    let options = words(opening, "options").into_iter().map(str::to_owned);
    (
        file.display().to_string(),
        signers
            .chain(options)
            .chain(["--json".to_owned()])
            .collect(),
    )
}

/// What an index says that must, and must not, come out.
fn expect(entry: &Value, says: &Verdict) {
    let name = entry["name"].as_str().unwrap();
    assert_eq!(
        says.code.map(i64::from),
        entry["code"].as_i64(),
        "{name}: {says:?}"
    );
    let Some(answers) = &says.answers else {
        assert_eq!(says.code, Some(2), "{name}");
        return;
    };
    for question in words(entry, "not_yes") {
        assert_ne!(answers[question], "yes", "{name}: {question}");
    }
    for question in words(entry, "yes") {
        assert_eq!(answers[question], "yes", "{name}: {question}");
    }
}

#[test]
fn attacked_ledgers_get_the_same_answers_and_none_passes() {
    let (dir, index) = made("--ledgers");
    let mut results = Vec::new();
    let mut findings = String::new();
    let ledgers = index["ledgers"].as_array().unwrap();
    assert!(ledgers.len() > 400);
    let asked: Vec<Vec<String>> = ledgers
        .iter()
        .map(|ledger| of_ledger(dir.path(), ledger))
        .collect();
    for ((ledger, arguments), says) in ledgers.iter().zip(&asked).zip(python_of_each(&asked)) {
        let name = ledger["name"].as_str().unwrap();
        expect(ledger, &says);
        let ours = gently(arguments);
        findings.push_str(&format!("{name}: {}\n", first_finding(&ours)));
        results.push((name.to_owned(), (says, verdict(&ours))));
    }
    settle(results);
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(root().join("tests/data/second"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("findings", findings));
}

/// Opening files: `gently audit check` and the script.
#[test]
fn opening_files_get_the_same_answers() {
    let (dir, index) = made("--openings");
    let mut results = Vec::new();
    let made = index["openings"].as_array().unwrap();
    assert!(made.len() > 100);
    let openings = index["openings"].as_array().unwrap().iter().map(|opening| {
        (
            opening["name"].as_str().unwrap().to_owned(),
            of_opening(dir.path(), opening),
        )
    });
    let mut shown: Vec<(String, (String, Vec<String>))> = openings.collect();
    let honest = root().join("tests/vectors/ledgers/honest");
    for file in std::fs::read_dir(honest.join("openings")).unwrap() {
        let file = file.unwrap().path().display().to_string();
        let keys = honest.join("allowed_signers").display().to_string();
        shown.push((
            file.clone(),
            (file, vec!["--signer".to_owned(), keys, "--json".to_owned()]),
        ));
    }
    let asked: Vec<Vec<String>> = shown
        .iter()
        .map(|(_, (file, rest))| {
            [vec!["--opening".to_owned(), file.clone()], rest.clone()].concat()
        })
        .collect();
    for (n, ((name, (file, rest)), says)) in
        shown.into_iter().zip(python_of_each(&asked)).enumerate()
    {
        if let Some(opening) = made.get(n) {
            expect(opening, &says);
        }
        let ours = Command::new(env!("CARGO_BIN_EXE_gently"))
            .args(["audit", "check", "-v", &file])
            .args(&rest)
            .output()
            .unwrap();
        results.push((name, (says, verdict(&ours))));
    }
    settle(results);
}

/// A command that may take 600 MB and 60 seconds of the processor, as a person's machine may.
fn limited(program: &str, arguments: &[String]) -> Output {
    Command::new("bash")
        .args([
            "-c",
            "ulimit -v 614400; ulimit -t 60; exec timeout 300 \"$@\"",
            "bash",
            program,
        ])
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Small folders that cost a careless reader its memory or its time.
fn resources() -> (tempfile::TempDir, Vec<(String, bool)>) {
    let dir = tempfile::tempdir().unwrap();
    let made = Command::new("python3")
        .arg(root().join("tests/data/second/make_resources.py"))
        .arg(dir.path())
        .output()
        .unwrap();
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    let index: Value =
        serde_json::from_slice(&std::fs::read(dir.path().join("index.json")).unwrap()).unwrap();
    let entry = |one: &Value| {
        (
            one["name"].as_str().unwrap().to_owned(),
            one["opening"].as_bool().unwrap(),
        )
    };
    let names = index["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(entry)
        .collect();
    (dir, names)
}

/// Neither passed nor killed: found, or refused.
fn refused(name: &str, output: &Output) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        matches!(output.status.code(), Some(1 | 2)),
        "{name}: {:?} {said}",
        output.status
    );
    assert!(!said.contains("panicked"), "{name}: {said}");
}

#[test]
fn the_script_reads_traps_under_a_budget() {
    let (dir, names) = resources();
    assert!(names.len() > 15);
    let script = root().join("scripts/verify.py").display().to_string();
    for (name, opening) in names {
        let folder = dir.path().join(&name);
        let path = |part: &str| folder.join(part).display().to_string();
        let asked = if opening {
            vec![script.clone(), "--opening".to_owned(), path("opening.json")]
        } else {
            vec![
                script.clone(),
                path("ledger.git"),
                "--log".to_owned(),
                path("audit.log"),
                "--json".to_owned(),
            ]
        };
        refused(&name, &limited("python3", &asked));
    }
}

#[test]
fn gently_reads_traps_under_a_budget() {
    let (dir, names) = resources();
    for (name, opening) in names {
        let folder = dir.path().join(&name);
        let path = |part: &str| folder.join(part).display().to_string();
        let asked = if opening {
            vec!["audit".to_owned(), "check".to_owned(), path("opening.json")]
        } else {
            let log = ["--log".to_owned(), path("audit.log"), "--json".to_owned()];
            [
                ["audit", "verify", "--repo"].map(str::to_owned).to_vec(),
                vec![path("ledger.git")],
                log.to_vec(),
            ]
            .concat()
        };
        refused(&name, &limited(env!("CARGO_BIN_EXE_gently"), &asked));
    }
}

/// A ledger cloned as people clone, and a shallow one.
fn clones(look: impl Fn(&Path) -> Vec<(String, Verdict)>) {
    let folder = tempfile::tempdir().unwrap();
    let bundle = root().join("tests/vectors/ledgers/honest/ledger.bundle");
    let git = |words: &[&str]| {
        let mut git = Command::new("git");
        git.env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .current_dir(folder.path());
        assert!(
            git.args(words).output().unwrap().status.success(),
            "{words:?}"
        );
    };
    let bundle = bundle.display().to_string();
    git(&["clone", "--quiet", "--mirror", &bundle, "mirror.git"]);
    git(&["clone", "--quiet", "mirror.git", "plain"]);
    git(&["clone", "--quiet", "mirror.git", "switched"]);
    git(&["-C", "switched", "checkout", "--quiet", "branch-7"]);
    let url = format!("file://{}", folder.path().join("mirror.git").display());
    git(&[
        "clone",
        "--quiet",
        "--depth",
        "3",
        "--no-single-branch",
        &url,
        "shallow",
    ]);
    for (name, code) in [
        ("mirror.git", 0),
        ("plain", 0),
        ("plain/.git", 0),
        ("switched", 0),
        ("shallow", 2),
    ] {
        let said = look(&folder.path().join(name));
        for (who, says) in &said {
            assert_eq!(says.code, Some(code), "{name}, {who}: {says:?}");
        }
        assert!(
            said.windows(2).all(|two| two[0].1 == two[1].1),
            "{name}: {said:?}"
        );
    }
}

#[test]
fn a_plain_clone_gets_the_same_answers() {
    clones(|repository| {
        let (says, ours) = both(repository, None, None);
        vec![("verify.py".to_owned(), says), ("gently".to_owned(), ours)]
    });
}

/// The finding that a way to cheat gives: question, place and what is expected, ids shortened; or
/// why nothing was checked.
fn first_finding(output: &Output) -> String {
    let short = |text: &str| {
        let cut = |word: &str| {
            let digits = word.bytes().take_while(u8::is_ascii_hexdigit).count();
            if digits >= 40 {
                format!("{}…{}", &word[..8], &word[digits..])
            } else {
                word.to_owned()
            }
        };
        text.split(' ').map(cut).collect::<Vec<_>>().join(" ")
    };
    let Some(report) = serde_json::from_slice::<Value>(&output.stdout)
        .ok()
        .filter(|report| report["answers"].is_object())
    else {
        return "nothing could be checked".to_owned();
    };
    let Some(first) = report["findings"]
        .as_array()
        .and_then(|findings| findings.first())
    else {
        return "no finding".to_owned();
    };
    let part = |key: &str| first[key].as_str().unwrap().to_owned();
    short(&format!(
        "{}, {}: expected {}",
        part("question"),
        part("place"),
        part("expected")
    ))
}

fn asking(home: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gently"));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("GENTLY_") || text == "OPENAI_API_KEY" || text == "ANTHROPIC_API_KEY" {
            command.env_remove(&name);
        }
    }
    command
        .env("GENTLY_HOME", home)
        .env("GENTLY_ANCHOR_MODE", "off")
        .args(crate::person::with_sight(words))
        .output()
        .unwrap()
}

#[test]
fn a_ledger_of_the_real_binary_gets_the_same_answers() {
    let dir = tempfile::tempdir().unwrap();
    let home: PathBuf = dir.path().join("home");
    let must = |words: &[&str]| {
        let output = asking(&home, words);
        assert!(
            output.status.success(),
            "{words:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    let look = |name: &str, code: i32| {
        let (repository, log) = (home.join("ledger.git"), home.join("audit.log"));
        let key = home.join("keys/allowed_signers").display().to_string();
        let result = both(&repository, Some(&log), Some(&key));
        assert_eq!(result.0.code, Some(code), "{name}: {result:?}");
        settle(vec![(name.to_owned(), result)]);
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
    asking(
        &home,
        &[
            "config",
            "set",
            "models.openai.base_url",
            "http://127.0.0.1:1/v1",
        ],
    );
    asking(&home, &["ask", "--model", "openai/nobody", "seven"]);
    look("with a failed call", 0);
    must(&["session", "close"]);
    look("closed again", 0);
    std::fs::remove_file(home.join("audit.log")).unwrap();
    let result = both(&home.join("ledger.git"), None, None);
    assert_eq!(result.0.code, Some(0));
    settle(vec![("without its log".to_owned(), result)]);
}
