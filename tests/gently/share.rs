//! `gently share`: a file and a page for somebody else, and what they show.

use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest as _, Sha256};

use crate::model_server::{ANSWER, Behaviour};
use crate::opening::{check, scripted, served, signer};
use crate::person::{Person, Ran};

fn asked() -> Person {
    let person = Person::with(&[("GENTLY_ANCHOR_MODE", "off")]);
    person.ask("How is this machine?").exits(0);
    person
}

/// Runs a command at a terminal of 80 columns, where `typed` is typed once `when` is shown and the
/// file `go`, if one is named, is there. What is shown is in `out`.
pub fn at_terminal(
    person: &Person,
    shell: &str,
    when: &str,
    typed: &str,
    go: Option<&Path>,
) -> Ran {
    const SCRIPT: &str = r#"
import os, pty, sys, time
shell, when, typed, go = sys.argv[1:]
pid, fd = pty.fork()
if pid == 0:
    os.execvp("sh", ["sh", "-c", "stty cols 80; " + shell])
shown, done = b"", not when
while True:
    try:
        some = os.read(fd, 65536)
    except OSError:
        some = b""
    if not some:
        break
    shown += some
    if not done and when.encode() in shown:
        done = True
        while go and not os.path.exists(go):
            time.sleep(0.05)
        os.write(fd, typed.encode() + b"\n")
sys.stdout.buffer.write(shown.replace(b"\r\n", b"\n"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;
    let command = person.command::<&str>(&[]);
    let mut python = Command::new("python3");
    python.args(["-c", SCRIPT, shell, when, typed]);
    python.arg(go.unwrap_or(Path::new("")));
    python.env_clear().current_dir(person.dir.path());
    python.envs(
        command
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    crate::person::run(&mut python)
}

pub fn gently() -> &'static str {
    env!("CARGO_BIN_EXE_gently")
}

fn files(person: &Person) -> Vec<String> {
    let all = std::fs::read_dir(person.dir.path()).unwrap();
    let mut names: Vec<String> = all
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The answers of the page's script to a file; none where there is no node to run it.
fn page_says(file: &std::path::Path) -> Option<String> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let script = format!(
        "const page = require({:?}); const fs = require('fs'); \
         const epochs = page.readEpochs(fs.readFileSync({:?}, 'utf8')); \
         console.log(JSON.stringify(page.check(fs.readFileSync(process.argv[1]), {{epochs}}).answers));",
        root.join("genesis/share.js").display().to_string(),
        root.join("genesis/btc-epochs.csv").display().to_string(),
    );
    let ran = Command::new("node")
        .args(["-e", &script])
        .arg(file)
        .output();
    match ran {
        Ok(ran) => {
            assert!(
                ran.status.success(),
                "{}",
                String::from_utf8_lossy(&ran.stderr)
            );
            Some(String::from_utf8(ran.stdout).unwrap())
        }
        Err(e) => {
            eprintln!("skipped: what the page says of the file, there is no node: {e}");
            None
        }
    }
}

#[test]
fn the_last_turn_goes_into_a_file_and_a_page_that_both_prove_it() {
    let person = asked();
    let out = person.dir.path().join("answer.json");
    let ran = person
        .gently(&["share", "--yes", "--out", out.to_str().unwrap()])
        .exits(0);
    assert!(
        ran.err.contains("Whoever gets this can read:"),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("question 1: How is this machine?"),
        "{}",
        ran.err
    );
    assert!(ran.out.contains("in any browser"), "{}", ran.out);
    let file = std::fs::read(&out).unwrap();
    let checked = check(&out, &["--signer", &signer(&person)]).exits(0).json();
    let roles: Vec<&str> = checked["openings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["prompt", "response"]);
    let page = std::fs::read_to_string(out.with_extension("html")).unwrap();
    assert!(!page.contains("@@"), "a place in the page is empty");
    assert!(page.contains(&BASE64.encode(&file)));
    // The page allows its script by the hash of what stands between the tags, and nothing else.
    let script = include_str!("../../genesis/share.js");
    let allowed = format!("'sha256-{}'", BASE64.encode(Sha256::digest(script)));
    assert!(page.contains(&allowed) && page.contains(&format!("<script>{script}</script>")));
    if let Some(says) = page_says(&out) {
        assert!(
            says.contains(r#""consistent":"yes""#) && says.contains(r#""commitment":"yes""#),
            "{says}"
        );
        let changed = String::from_utf8(file)
            .unwrap()
            .replace("this machine", "that machine");
        let other = person.dir.path().join("changed.json");
        std::fs::write(&other, changed).unwrap();
        let says = page_says(&other).unwrap();
        assert!(says.contains(r#""commitment":"no""#), "{says}");
    }
}

#[test]
fn nothing_is_shared_that_nobody_confirmed() {
    let person = asked();
    let lines = person.log().len();
    let ran = person.piped(&["share"], b"yes\n").exits(2);
    assert!(ran.err.contains("--yes"), "{}", ran.err);
    assert_eq!(person.log().len(), lines);
    let there = person.dir.path().join("there.json");
    std::fs::write(&there, "mine").unwrap();
    let ran = person
        .gently(&["share", "--yes", "--out", there.to_str().unwrap()])
        .exits(2);
    assert!(ran.err.contains("is not written over"), "{}", ran.err);
    let page = person.dir.path().join("page.html");
    let ran = person
        .gently(&["share", "--yes", "--out", page.to_str().unwrap()])
        .exits(2);
    assert!(ran.err.contains("another ending"), "{}", ran.err);
    assert_eq!(std::fs::read(&there).unwrap(), b"mine");
    assert_eq!(person.log().len(), lines);
}

#[test]
fn a_session_is_one_conversation_and_what_has_no_answer_is_said() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("First question").exits(0);
    person.ask("Second question").exits(0);
    let session = person
        .gently(&["session", "list", "--json"])
        .exits(0)
        .json();
    let session = session[0]["session"].as_str().unwrap().to_owned();
    // A number that no prompt has is no session's.
    let lines = person.log().len();
    for wrong in [format!("{}/9", &session[..8]), "interaction-9".to_owned()] {
        let ran = person.gently(&["share", &wrong, "--yes"]).exits(2);
        assert!(ran.err.contains("no exchange"), "{}", ran.err);
    }
    assert_eq!(person.log().len(), lines);
    let out = person.dir.path().join("talk.html");
    let ran = person
        .gently(&[
            "share",
            &session,
            "--html",
            "--yes",
            "--json",
            "--out",
            out.to_str().unwrap(),
        ])
        .exits(0);
    let view = ran.json();
    assert_eq!(view["file_is_written"], false);
    assert_eq!(view["opening"]["openings"].as_array().unwrap().len(), 4);
    assert!(out.exists() && !out.with_extension("json").exists());
    // What is erased can't be shared.
    let exchange = format!("{}/1", &session[..8]);
    person.gently(&["erase", "--yes", &exchange]).exits(0);
    let ran = person.gently(&["share", &exchange, "--yes"]).exits(2);
    assert!(ran.err.contains("erased"), "{}", ran.err);
    let again = person.dir.path().join("rest.json");
    let ran = person
        .gently(&["share", &session, "--yes", "--out", again.to_str().unwrap()])
        .exits(0);
    assert!(ran.err.contains("left out: question 1"), "{}", ran.err);
}

#[test]
fn only_yes_of_somebody_who_has_the_list_before_them_writes_anything() {
    let person = asked();
    let (lines, before) = (person.log().len(), files(&person));
    let share = format!("{} share --out a.json", gently());
    for typed in ["no", "", "y", "yes!", "YES", "yes please"] {
        let ran = at_terminal(&person, &share, "Type yes", typed, None).exits(2);
        assert!(ran.out.contains("nothing was written"), "{}", ran.out);
    }
    // The list goes to standard error: where nobody sees that, nobody is asked.
    let ran = at_terminal(&person, &format!("{share} 2>said"), "", "yes", None).exits(2);
    assert_eq!(ran.out, "");
    let said = std::fs::read_to_string(person.dir.path().join("said")).unwrap();
    assert!(said.contains("say --yes"), "{said}");
    std::fs::remove_file(person.dir.path().join("said")).unwrap();
    assert_eq!((person.log().len(), files(&person)), (lines, before));
    let ran = at_terminal(&person, &share, "Type yes", " yes ", None).exits(0);
    assert!(ran.out.contains("a.html"), "{}", ran.out);
    assert!(
        ran.out
            .lines()
            .all(|line| line.chars().count() <= 80 || line.contains(gently())),
        "{}",
        ran.out
    );
    assert_eq!(person.log().len(), lines + 2);
    assert!(
        ran.out
            .contains("on your record now: question 1 was opened")
            && !ran.out.contains("opening:"),
        "{}",
        ran.out
    );
    check(&person.dir.path().join("a.json"), &[]).exits(0);
}

#[test]
fn every_field_that_somebody_learns_is_named_before() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("First question").exits(0);
    person.gently(&["session", "close"]).exits(0);
    let ran = person
        .gently(&["share", "--yes", "--json", "--out", "a.json"])
        .exits(0);
    let view = ran.json();
    let reveals: Vec<&str> = view["reveals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line.as_str().unwrap())
        .collect();
    assert!((4..=8).contains(&reveals.len()), "{reveals:#?}");
    for line in &reveals {
        assert!(line.chars().count() <= 78, "{line}");
        assert!(ran.err.contains(&format!("  {line}\n")), "{}", ran.err);
    }
    // Every value of the file's documents that is a word or a time is in the list, or its kind is.
    let file: serde_json::Value =
        serde_json::from_slice(&std::fs::read(person.dir.path().join("a.json")).unwrap()).unwrap();
    let all = reveals.join("\n");
    let start = &file["documents"][1];
    for key in ["host_role", "branch", "phase"] {
        assert!(all.contains(start[key].as_str().unwrap()), "{key}: {all}");
    }
    for word in [
        "words of your settings",
        "level 2",
        "your rules",
        "auth key",
        "openai/small-1b",
        "opened",
        "close",
        "how gently judged",
        "what it warns of",
        "your record",
        "made",
        "records so far",
        "proof of time: none",
        "public key",
        "asked and answered",
        "where on record",
        file["documents"][0]["origin"].as_str().unwrap(),
    ] {
        assert!(all.contains(word), "{word}: {all}");
    }
    assert_eq!(
        file["documents"].as_array().unwrap().len(),
        4,
        "genesis, start, answer, close; what is new here has to be named"
    );
}

/// The guide's page names each line that is said, by the words that it begins with, and no other.
#[test]
fn the_guide_names_the_lines_that_are_said() {
    let page = include_str!("../../docs/guide/given-away.md");
    let named: Vec<&str> = page
        .lines()
        .skip_while(|line| !line.starts_with("| the line |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.split('|').nth(1).unwrap().trim())
        .collect();
    let (person, _server) = served(Behaviour::Good);
    person.ask("First question").exits(0);
    person.gently(&["session", "close"]).exits(0);
    let args = ["share", "--yes", "--json", "--out", "a.json"];
    let ran = person.gently(&args).exits(0);
    let view = ran.json();
    let lines = view["reveals"].as_array().unwrap();
    let of = |name: &str| {
        let first = name.split(", or ").next().unwrap().to_owned();
        lines
            .iter()
            .filter(|line| line.as_str().unwrap().starts_with(&first))
            .count()
    };
    let found: Vec<(&str, usize)> = named.iter().map(|name| (*name, of(name))).collect();
    assert!(found.iter().all(|(_, lines)| *lines == 1), "{found:#?}");
    assert_eq!(found.len(), lines.len(), "{lines:#?}");
    assert!(
        ran.err.contains("\nand beside that:\n") && page.contains("*and beside that*"),
        "{}",
        ran.err
    );
}

#[test]
fn names_that_are_no_files_are_refused_before_anything_is_on_record() {
    let person = asked();
    std::fs::write(person.dir.path().join("there.html"), "mine").unwrap();
    let (lines, before) = (person.log().len(), files(&person));
    for (args, says) in [
        (&["--out", "A.HTML"][..], "another ending"),
        (&["--out", "a.htm"], "another ending"),
        (&["--out", ".html"], "an ending without a name"),
        (&["--html", "--out", ".html"], "an ending without a name"),
        (&["--out", ".json"], "an ending without a name"),
        (&["--out", "-"], "'-' is none"),
        (&["--html", "--out", "-"], "'-' is none"),
        (&["--out", "a\nb.json"], "characters that nobody sees"),
        (&["--out", "a\u{1b}[2J.json"], "characters that nobody sees"),
        (
            &["--out", "a\u{202e}nosj.json"],
            "characters that nobody sees",
        ),
        (&["--html", "--out", "x.json"], "to end with .html"),
        (&["--html", "--out", "page"], "to end with .html"),
        (&["--out", ".."], "no name of a file"),
        (&["--out", ""], "--out FILE needs a value"),
        (&["--out", "there.json"], "there.html exists"),
        (&["--html", "--out", "there.html"], "there.html exists"),
        (
            &["--out", "no/such/folder.json"],
            "there is no folder no/such",
        ),
    ] {
        let all = [&["share", "--yes"], args].concat();
        let ran = person.gently(&all).exits(2);
        assert!(ran.err.contains(says), "{args:?}: {}", ran.err);
        assert!(!ran.err.contains('\u{1b}'));
        assert_eq!(
            (person.log().len(), files(&person)),
            (lines, before.clone()),
            "{args:?}"
        );
    }
    let open = person.gently(&["audit", "open", "last", "1", "--out", "-"]);
    assert!(open.exits(2).err.contains("'-' is none"));
    assert_eq!(person.log().len(), lines);
    person
        .gently(&["share", "--yes", "--html", "--out", "Page.HTML"])
        .exits(0);
    person
        .gently(&["share", "--yes", "--out", "no ending"])
        .exits(0);
    assert!(person.dir.path().join("no ending.html").exists());
}

#[test]
fn the_outcome_is_told_where_standard_output_takes_nothing() {
    let person = asked();
    // A full disk, and a reader that went away.
    for (n, to) in [">/dev/full", "| true"].iter().enumerate() {
        for json in ["", "--json"] {
            let out = format!("{n}{json}.json");
            let shell = format!(
                "(sleep 0.5; {} share --yes {json} --out {out}; echo $? >{out}.code) {to}",
                gently()
            );
            let ran = shell_of(&person, &shell);
            let code = std::fs::read_to_string(person.dir.path().join(format!("{out}.code")));
            assert_eq!(code.unwrap(), "2\n", "{to} {json}");
            let says = format!("written, and on record: {out} and {n}{json}.html");
            assert!(ran.err.contains(&says), "{}", ran.err);
            check(&person.dir.path().join(out), &[]).exits(0);
        }
    }
    let full = shell_of(
        &person,
        &format!("{} audit open last 1 >/dev/full", gently()),
    )
    .exits(2);
    assert!(
        full.err.contains("open it again with --out"),
        "{}",
        full.err
    );
}

fn shell_of(person: &Person, shell: &str) -> Ran {
    let command = person.command::<&str>(&[]);
    let mut sh = Command::new("sh");
    sh.args(["-c", shell])
        .env_clear()
        .current_dir(person.dir.path());
    sh.envs(
        command
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    crate::person::run(&mut sh)
}

#[test]
fn an_answer_without_its_secrets_is_left_out_and_the_others_are_shared() {
    let secret = format!("the key is ghp_{}", "Ab1".repeat(12));
    let (person, _server) = scripted(vec![
        Behaviour::Good,
        Behaviour::Says(secret),
        Behaviour::Good,
    ]);
    for question in ["One", "Two", "Three"] {
        person.ask(question).exits(0);
    }
    let session = person
        .gently(&["session", "list", "--json"])
        .exits(0)
        .json();
    let session = session[0]["session"].as_str().unwrap()[..8].to_owned();
    let lines = person.log().len();
    let alone = person
        .gently(&["share", &format!("{session}/2"), "--yes"])
        .exits(2);
    assert!(
        alone
            .err
            .contains("question 2: its answer was stored without its secrets"),
        "{}",
        alone.err
    );
    assert_eq!(person.log().len(), lines);
    let ran = person
        .gently(&["share", &session, "--yes", "--json", "--out", "all.json"])
        .exits(0);
    assert!(
        ran.err
            .contains("left out: question 2: its answer was stored"),
        "{}",
        ran.err
    );
    let view = ran.json();
    assert_eq!(view["turns_left_out"].as_array().unwrap().len(), 1);
    assert_eq!(view["opening"]["openings"].as_array().unwrap().len(), 4);
}

#[test]
fn a_turn_in_flight_is_not_answered_yet_and_is_not_opened_once_it_is() {
    let (person, server) = served(Behaviour::Gate);
    let mut asking = person
        .command(&["ask", "Still waiting?"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    server.wait_for(1);
    let lines = person.log().len();
    let go = person.dir.path().join("go");
    let share = format!("{} share interaction-1 --out a.json", gently());
    let released = std::thread::scope(|scope| {
        let shared = scope.spawn(|| at_terminal(&person, &share, "Type yes", "yes", Some(&go)));
        // The list stands on the terminal before the answer comes.
        std::thread::sleep(std::time::Duration::from_secs(3));
        server.release();
        assert!(asking.wait().unwrap().success());
        std::fs::write(&go, "").unwrap();
        shared.join().unwrap()
    });
    assert!(
        released.out.contains("that it is not answered yet"),
        "{}",
        released.out
    );
    assert!(
        released.out.contains("nothing is opened"),
        "{}",
        released.out
    );
    assert_ne!(released.code, 0);
    let opened = |person: &Person| {
        person
            .log()
            .iter()
            .filter(|line| line.contains("|kind:opening,"))
            .count()
    };
    assert_eq!(opened(&person), 0);
    assert!(person.log().len() > lines && !person.dir.path().join("a.json").exists());
    let ran = person
        .gently(&["share", "--yes", "--out", "b.json"])
        .exits(0);
    assert!(ran.err.contains(&ANSWER[..10]), "{}", ran.err);
}

/// Such characters take six bytes each in the file.
#[test]
fn what_no_reader_takes_is_refused_before_it_is_on_record() {
    let (person, _server) = served(Behaviour::Says("\u{1}".repeat(3_000_000)));
    person.ask("One").exits(0);
    person.ask("Two").exits(0);
    let lines = person.log().len();
    let ran = person
        .gently(&["audit", "open", "last", "1", "2", "--out", "both"])
        .exits(2);
    assert!(
        ran.err.contains("too large for one file") && ran.err.contains("at most 33554432"),
        "{}",
        ran.err
    );
    assert_eq!(person.log().len(), lines);
    assert!(!person.dir.path().join("both").exists());
    person
        .gently(&["share", "--yes", "--out", "one.json"])
        .exits(0);
    check(&person.dir.path().join("one.json"), &[]).exits(0);
    check(&person.dir.path().join("one.html"), &[]).exits(0);
}

#[test]
fn a_page_is_checked_by_the_file_in_it_and_said_to_be_one() {
    let person = asked();
    person
        .gently(&["share", "--yes", "--out", "a.json"])
        .exits(0);
    let at = |name: &str| person.dir.path().join(name);
    let text = |name: &str, more: &[&str]| {
        Person::new().gently(&[&["check", at(name).to_str().unwrap()], more].concat())
    };
    let of_file = text("a.json", &[]).exits(0);
    let lines: Vec<&str> = of_file.out.lines().take(3).collect();
    assert_eq!(
        lines[0],
        "✔ Genuine: these 2 texts are those that were put on record, to the character"
    );
    assert!(
        lines[1].starts_with("  by:   SHA256:") && lines[2].starts_with("  when: not proven"),
        "{lines:?}"
    );
    assert!(
        lines.iter().all(|line| line.chars().count() <= 80),
        "{lines:?}"
    );
    let fingerprint = Command::new("ssh-keygen")
        .arg("-l")
        .arg("-f")
        .arg(person.at("keys/signing.key.pub"))
        .output()
        .unwrap();
    let printed = String::from_utf8(fingerprint.stdout).unwrap();
    let known = printed.split(' ').nth(1).unwrap();
    assert!(lines[1].contains(known), "{lines:?} {printed}");
    // The old name is the same command.
    let old = Person::new().gently(&["audit", "check", at("a.json").to_str().unwrap()]);
    assert_eq!((old.code, &old.out), (0, &of_file.out));
    // Three lines, the texts, and how to see the rest.
    assert!(
        of_file
            .out
            .ends_with("its owner has to tell you: then add --signer KEY. All of it: -v\n"),
        "{}",
        of_file.out
    );
    assert!(!of_file.out.contains("Opened:"), "{}", of_file.out);
    let all = text("a.json", &["-v"]).exits(0).out;
    assert!(
        all.starts_with(&lines.join("\n")) && all.contains("\nOpened: prompt 1 of session "),
        "{all}"
    );
    let of_page = text("a.html", &["-v"]).exits(0);
    assert!(
        of_page
            .out
            .contains("This is a page; the file in it was checked, and it shows these texts"),
        "{}",
        of_page.out
    );
    assert_eq!(text("a.html", &["--json"]).json()["page"], "ours");
    assert_eq!(
        text("a.json", &["--json"]).json()["page"],
        serde_json::Value::Null
    );
    // A page that shows something else around a good file.
    let page = std::fs::read_to_string(at("a.html")).unwrap();
    std::fs::write(at("b.html"), page.replace("<main>", "<main><p>It said no.")).unwrap();
    let other = text("b.html", &[]).exits(0);
    assert!(other.out.contains("may be something else"), "{}", other.out);
    assert_eq!(text("b.html", &["--json"]).json()["page"], "foreign");
    std::fs::write(at("c.html"), "<!doctype html><p>Nothing").unwrap();
    assert!(
        text("c.html", &[])
            .exits(2)
            .err
            .contains("check the .json that came with it")
    );
    let file = std::fs::read_to_string(at("a.json")).unwrap();
    let changed = file.replace("How is this", "How was this");
    let held =
        |file: &str| page.replace(&BASE64.encode(std::fs::read(at("a.json")).unwrap()), file);
    std::fs::write(at("d.html"), held(&BASE64.encode(&changed))).unwrap();
    let changed = text("d.html", &[]).exits(1);
    assert!(
        changed
            .out
            .starts_with("✘ Changed: question 1 is not the text that was put on record\n"),
        "{}",
        changed.out
    );
    assert!(
        changed.out.contains("Question 1: ✘ NOT the text"),
        "{}",
        changed.out
    );
    assert!(
        changed
            .out
            .contains("Answer 1 (of observer, its owner says): ✔ as it was"),
        "{}",
        changed.out
    );
    std::fs::write(
        at("e.html"),
        held(&format!("{0}\n{0}", BASE64.encode(&file))),
    )
    .unwrap();
    assert!(text("e.html", &[]).exits(2).err.contains("holds 2 files"));
    std::fs::write(at("f.html"), held("A")).unwrap();
    assert!(text("f.html", &[]).exits(2).err.contains("not base64"));
    // Keys: the right one, another one; what is required and not there.
    let own = signer(&person);
    assert!(
        text("a.json", &["--signer", &own])
            .exits(0)
            .out
            .contains(", the key that you gave")
    );
    let other = asked();
    let wrong = text("a.json", &["--signer", &signer(&other)]).exits(1);
    assert!(wrong.out.starts_with("✘ Another key: "), "{}", wrong.out);
    let wanted = text("a.json", &["--require", "not-after"]).exits(1);
    assert!(
        wanted
            .out
            .starts_with("? Not proven: you asked for more than this shows: not after"),
        "{}",
        wanted.out
    );
    // Where the locale has no such characters.
    let mut plain = Person::new();
    plain.set("LC_ALL", "POSIX");
    let said = plain
        .gently(&["check", at("a.json").to_str().unwrap()])
        .exits(0);
    assert!(said.out.starts_with("ok Genuine"), "{}", said.out);
}

/// What is handed on unasked is an answer: what was refused or waits behind it is passed over, and named.
#[test]
fn the_newest_answer_is_shared_and_what_is_passed_over_is_said() {
    let (mut person, server) = served(Behaviour::Good);
    person.gently(&["init"]).exits(0);
    let none = person.gently(&["share", "--yes"]).exits(2);
    assert!(none.err.contains("nothing was asked yet"), "{none:?}");
    person.ask("First question").exits(0);
    let good = server.base_url();
    person.set("GENTLY_MODEL_BASE_URL", "http://127.0.0.1:9/v1");
    let failed = person.gently(&["ask", "Second question", "--json"]);
    let failed = failed.json()["id"].as_str().unwrap().to_owned();
    person.set("GENTLY_MODEL_BASE_URL", &good);
    let line = format!("{failed}: it has no answer");
    // What would be told is told without a file and a record.
    let before = person.gently(&["log", "--json"]).exits(0).out;
    let dry = person.gently(&["share", "--dry-run", "--json"]).exits(0);
    let told = dry.json()["would"].to_string();
    for words in [
        "question 1: First question",
        "Whoever gets this can read:",
        &line,
        ".json and gently-",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let files = || std::fs::read_dir(person.dir.path()).unwrap().count();
    let count = files();
    let dry = person.gently(&["share", "--dry-run"]).exits(0);
    assert!(dry.out.contains("question 1: First question"), "{dry:?}");
    assert!(dry.err.contains("dry run: nothing was done"), "{dry:?}");
    // Whoever says last means no other.
    let last = person.gently(&["share", "last", "--yes"]).exits(2);
    for words in [
        &*format!("the last question is {failed}, and it has no answer"),
        &format!("gently share {failed}"),
    ] {
        assert!(last.err.contains(words), "{last:?}");
    }
    assert_eq!(count, files());
    assert_eq!(person.gently(&["log", "--json"]).exits(0).out, before);
    let shared = person.gently(&["share", "--yes", "--json"]).exits(0);
    assert!(
        shared.err.contains("question 1: First question"),
        "{shared:?}"
    );
    assert!(
        shared.err.contains(&format!("passed over: {line}")),
        "{shared:?}"
    );
    let passed = shared.json()["turns_passed_over"][0].clone();
    assert!(passed.as_str().unwrap().starts_with(&line), "{passed}");
    // By its own id it is shared all the same.
    let one = person
        .gently(&["share", &failed, "--yes", "--json"])
        .exits(0);
    assert_eq!(one.json()["turns_passed_over"].as_array().unwrap().len(), 0);
    // What is erased is passed over like it.
    let third = person.gently(&["ask", "Third question", "--json"]).exits(0);
    let third = third.json()["id"].as_str().unwrap().to_owned();
    person.gently(&["erase", &third, "--yes"]).exits(0);
    let shared = person
        .gently(&["share", "--dry-run", "--out", "other.json"])
        .exits(0);
    assert!(shared.out.contains("question 1: First question"));
    let line = format!("passed over: {third}: ");
    assert!(shared.out.contains(&line), "{shared:?}");
    person.gently(&["share", &third, "--yes"]).exits(2);
    person.gently(&["share", "last", "--yes"]).exits(2);
}

/// What is no file of ours is called what it is, in words.
#[test]
fn a_file_of_another_kind_is_called_what_it_is() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("First question").exits(0);
    person
        .gently(&["share", "--yes", "--out", "shared.json"])
        .exits(0);
    person
        .gently(&["conversation", "export", "last", "--out", "talk.json"])
        .exits(0);
    let shared = std::fs::read(person.dir.path().join("shared.json")).unwrap();
    for (name, bytes, said) in [
        (
            "sky.md",
            &b"# Why is the sky blue?\n"[..],
            "sky.md is a text, and no opening file",
        ),
        ("none.json", b"", "an empty file"),
        ("pixels.png", b"\x89PNG\xff\xfe", "no text"),
        ("other.json", b"[1]\n", "JSON of another kind"),
        ("cut.json", &shared[..shared.len() / 2], "it is cut off"),
    ] {
        std::fs::write(person.dir.path().join(name), bytes).unwrap();
        let ran = person.gently(&["check", name]).exits(2);
        assert!(ran.err.contains(said), "{name}: {ran:?}");
        assert!(
            ran.err.contains("gently check takes what gently share"),
            "{ran:?}"
        );
    }
    let ran = person.gently(&["check", "talk.json"]).exits(2);
    assert!(
        ran.err.contains("what gently conversation export wrote"),
        "{ran:?}"
    );
}
