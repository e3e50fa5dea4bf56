//! Copies of somebody else's ledger: cloned into the cache, fetched again, and compared with what
//! was seen before.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::person::{Person, Ran, git, run};
use crate::witness_server::{Manner, WitnessServer};

/// Somebody who writes, with one closed session.
fn writer() -> Person {
    let person = Person::new();
    turn(&person);
    person
}

fn turn(person: &Person) {
    person.ask("How is this machine doing?");
    person.gently(&["session", "close"]).exits(0);
}

fn url_of(writer: &Person) -> String {
    format!("file://{}", writer.at("ledger.git").display())
}

fn signer(writer: &Person) -> String {
    writer.at("keys/signing.key.pub").display().to_string()
}

/// Somebody without a home who looks.
fn looks(reader: &Person, url: &str, more: &[&str]) -> Ran {
    reader.gently(&[&["audit", "verify", "-v", "--repo", url][..], more].concat())
}

fn report(ran: Ran, code: i32) -> Value {
    ran.exits(code).json()
}

fn copy(from: &Path, to: &Path) {
    run(Command::new("cp").arg("-r").arg(from).arg(to)).exits(0);
}

/// The folder of the only copy in a reader's cache.
fn cached(reader: &Person) -> PathBuf {
    let copies = reader.dir.path().join(".cache/gently/copies");
    let mut found = std::fs::read_dir(copies)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let (one, None) = (found.next().unwrap(), found.next()) else {
        panic!("several copies")
    };
    one
}

#[test]
fn a_copy_is_cloned_then_fetched_and_what_is_new_is_checked() {
    let (writer, reader) = (writer(), Person::new());
    let (url, key) = (url_of(&writer), signer(&writer));
    let first = looks(&reader, &url, &["--signer", &key]).exits(0);
    assert!(
        first.err.starts_with("fetching a copy of file:///"),
        "{}",
        first.err
    );
    assert!(
        first.out.contains("consistent:  yes (") && first.out.contains("verified from scratch"),
        "{}",
        first.out
    );
    assert!(
        !reader.home().exists(),
        "no home is needed, and none is made"
    );
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(cached(&reader)).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o700);

    turn(&writer);
    turn(&writer);
    let again = report(looks(&reader, &url, &["--signer", &key, "--json"]), 0);
    assert_eq!(again["answers"]["consistent"], "yes since");
    assert_eq!(again["checked"]["from"], "position");
    assert_eq!(again["copy"]["address"], url.as_str());
    assert_eq!(
        again["copy"]["repository"],
        cached(&reader)
            .join("ledger.git")
            .display()
            .to_string()
            .as_str()
    );
    let lines = again["log_head"].clone();
    assert_eq!(lines, writer.verified()["log_head"]);
    // Nothing new; all of it when that is wanted; required answers are of the whole.
    assert!(
        looks(&reader, &url, &[])
            .exits(0)
            .out
            .contains("and nothing is new")
    );
    let all = report(looks(&reader, &url, &["--from-scratch", "--json"]), 0);
    assert_eq!(
        (&all["answers"]["consistent"], &all["checked"]["from"]),
        (&"yes".into(), &"genesis".into())
    );
    looks(&reader, &url, &["--require", "consistent"]).exits(1);
    looks(
        &reader,
        &url,
        &["--from-scratch", "--require", "consistent"],
    )
    .exits(0);
    // A session of it, by the first digits of its id.
    let session = writer.gently(&["session", "list", "--json"]).json()[0]["session"]
        .as_str()
        .unwrap()[..8]
        .to_owned();
    let looked = reader
        .gently(&["audit", "session", &session, "--repo", &url])
        .exits(0);
    assert!(
        looked.out.contains("All hashes verified: YES"),
        "{}",
        looked.out
    );
    let wrong = Person::new();
    turn(&wrong);
    assert_eq!(
        report(
            looks(&reader, &url, &["--signer", &signer(&wrong), "--json"]),
            0
        )["answers"]["signed_by"],
        "no"
    );
}

/// The log is no part of the copy: where an earlier check stopped says nothing of the bytes of this
/// one.
#[test]
fn a_log_beside_a_copy_is_checked_from_its_first_line_every_time() {
    let (writer, reader) = (writer(), Person::new());
    let url = url_of(&writer);
    let good = reader.dir.path().join("good.log");
    std::fs::copy(writer.at("audit.log"), &good).unwrap();
    let mut bytes = std::fs::read(&good).unwrap();
    let sixth = bytes
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .nth(4)
        .unwrap()
        .0
        + 1;
    let at = sixth
        + bytes[sixth..]
            .iter()
            .position(|byte| *byte == b'|')
            .unwrap()
        + 5;
    bytes[at] = if bytes[at] == b'7' { b'8' } else { b'7' };
    let bad = reader.dir.path().join("bad.log");
    std::fs::write(&bad, bytes).unwrap();
    for (log, code, answer) in [
        (&good, 0, "yes"),
        (&good, 0, "yes"),
        (&bad, 1, "no"),
        (&bad, 1, "no"),
        (&good, 0, "yes"),
    ] {
        let found = report(
            looks(&reader, &url, &["--json", "--log", log.to_str().unwrap()]),
            code,
        );
        assert_eq!(
            found["answers"]["consistent"],
            answer,
            "{}: {found:#}",
            log.display()
        );
        assert_eq!(found["checked"]["from"], "genesis");
    }
    // Without one, what is new is checked as before; and with one, where that is asked for.
    assert_eq!(
        report(looks(&reader, &url, &["--json"]), 0)["answers"]["consistent"],
        "yes since"
    );
    let since = ["--json", "--since", "last", "--log", good.to_str().unwrap()];
    assert_eq!(
        report(looks(&reader, &url, &since), 0)["checked"]["from"],
        "position"
    );
}

/// A stock `git daemon` on loopback.
struct Daemon {
    child: Child,
    url: String,
}

impl Daemon {
    fn serve(folder: &Path) -> Daemon {
        loop {
            let port = TcpListener::bind("127.0.0.1:0")
                .unwrap()
                .local_addr()
                .unwrap()
                .port();
            // The program itself: `git daemon` would leave it behind when it is ended.
            let programs = run(Command::new("git").arg("--exec-path")).exits(0).out;
            let mut git = Command::new(Path::new(programs.trim()).join("git-daemon"));
            git.args([
                "--export-all",
                "--reuseaddr",
                "--listen=127.0.0.1",
                "--informative-errors",
            ]);
            git.arg(format!("--port={port}"))
                .arg(format!("--base-path={}", folder.display()))
                .arg(folder);
            let mut child = git
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let began = Instant::now();
            while child.try_wait().unwrap().is_none() && began.elapsed() < Duration::from_secs(30) {
                if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                    return Daemon {
                        child,
                        url: format!("git://127.0.0.1:{port}"),
                    };
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            // Somebody else has taken the port meanwhile: another one.
            let _it_may_have_ended = child.kill();
            let _status = child.wait();
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // The daemon's children end with their connections.
        let _it_may_have_ended = self.child.kill();
        let _status = self.child.wait();
    }
}

#[test]
fn over_the_network_a_rewritten_history_is_found_at_the_second_fetch_and_after() {
    let (writer, reader) = (writer(), Person::new());
    let kept = writer.dir.path().join("kept");
    copy(&writer.home(), &kept);
    turn(&writer);
    let daemon = Daemon::serve(&writer.home());
    let url = format!("{}/ledger.git", daemon.url);
    assert_eq!(
        report(looks(&reader, &url, &["--json"]), 0)["answers"]["consistent"],
        "yes"
    );

    // Written anew from where the copy was made: consistent in itself, and another history.
    std::fs::remove_dir_all(writer.home()).unwrap();
    copy(&kept, &writer.home());
    writer.ask("Something else");
    writer.gently(&["session", "close"]).exits(0);
    turn(&writer);
    assert_eq!(writer.verified()["answers"]["consistent"], "yes");
    for _ in 0..2 {
        let looked = looks(&reader, &url, &["--json"]).exits(1);
        let said = "what was kept of this ledger contradicts it: ";
        assert!(
            looked.err.contains(said) && looked.err.contains("refs/heads/main as an earlier"),
            "{}",
            looked.err
        );
        let found = looked.json();
        assert_eq!(
            (&found["answers"]["unique"], &found["answers"]["consistent"]),
            (&"no".into(), &"yes".into()),
            "{found:#}"
        );
        let places: Vec<&str> = found["findings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|f| f["place"].as_str().unwrap())
            .collect();
        assert!(
            places.contains(&"refs/heads/main") && places.contains(&"refs/heads/branch-1"),
            "{found:#}"
        );
        assert!(
            found["checked"]["position_not_used"]
                .as_str()
                .unwrap()
                .starts_with("main does not go through commit")
        );
    }
    // Whoever fetches for the first time sees nothing of it.
    assert_eq!(
        report(looks(&Person::new(), &url, &["--json"]), 0)["answers"]["unique"],
        "not checked"
    );
}

#[test]
fn a_dropped_end_a_lost_branch_and_lost_notes_are_found() {
    let witness = WitnessServer::start("w.example", 1, Manner::Honest);
    let (writer, reader) = (Person::new(), Person::new());
    writer.gently(&["init"]).exits(0);
    writer
        .gently(&[
            "witness",
            "add",
            "w",
            &witness.vkey().print(),
            &witness.url(),
        ])
        .exits(0);
    turn(&writer);
    turn(&writer);
    let mirror = writer.dir.path().join("host.git");
    run(Command::new("git")
        .args(["clone", "--quiet", "--mirror"])
        .arg(writer.at("ledger.git"))
        .arg(&mirror))
    .exits(0);
    let url = format!("file://{}", mirror.display());
    let policy = reader.dir.path().join("policy");
    std::fs::write(
        &policy,
        format!("witness w {}\nquorum w\n", witness.vkey().print()),
    )
    .unwrap();
    let policy = ["--json", "--policy", policy.to_str().unwrap()];
    // Notes come along: the copy is witnessed, and what is new of it next time.
    assert_eq!(
        report(looks(&reader, &url, &policy), 0)["answers"]["unique"],
        "yes"
    );
    assert_eq!(
        report(looks(&reader, &url, &policy), 0)["answers"]["unique"],
        "yes since"
    );
    let at = |name: &str| {
        git(&mirror, &["rev-parse", name])
            .exits(0)
            .out
            .trim()
            .to_owned()
    };
    let put = |name: &str, id: &str| drop(git(&mirror, &["update-ref", name, id]).exits(0));
    let (main, branch, notes) = (at("main"), at("branch-1"), at("refs/notes/witness"));
    // The end dropped on both refs, and the notes as they were before it.
    put("refs/heads/main", &at("main~1"));
    put("refs/heads/branch-1", &at("main^2"));
    put("refs/notes/witness", &at("refs/notes/witness~1"));
    let found = report(looks(&reader, &url, &policy), 1);
    assert_eq!(
        (&found["answers"]["unique"], &found["answers"]["complete"]),
        (&"no".into(), &"no".into()),
        "{found:#}"
    );
    assert_eq!(found["answers"]["consistent"], "yes", "{found:#}");
    put("refs/heads/main", &main);
    put("refs/heads/branch-1", &branch);
    let found = report(looks(&reader, &url, &policy), 1);
    let finding = &found["findings"][0];
    assert_eq!(
        (&finding["question"], &finding["place"]),
        (&"complete".into(), &"refs/notes/witness".into()),
        "{found:#}"
    );
    assert_eq!(
        finding["expected"],
        format!("a ref that goes on from commit {notes}, where an earlier check saw it")
    );
    put("refs/notes/witness", &notes);
    looks(&reader, &url, &policy).exits(0);
    git(&mirror, &["update-ref", "-d", "refs/heads/branch-1"]).exits(0);
    let found = report(looks(&reader, &url, &["--json"]), 1);
    assert_eq!(found["answers"]["unique"], "no", "{found:#}");
    assert!(
        found["findings"]
            .as_array()
            .unwrap()
            .iter()
            .any(|f| f["actual"] == "no such ref"),
        "{found:#}"
    );
    put("refs/heads/branch-1", &branch);
    looks(&reader, &url, &policy).exits(0);
    // A cache that somebody spoiled is said, and not believed.
    std::fs::write(cached(&reader).join("seen.json"), "{").unwrap();
    assert!(looks(&reader, &url, &[]).exits(2).err.contains("seen.json"));
}

#[test]
fn hostile_addresses_run_nothing() {
    let reader = Person::new();
    let touched = reader.dir.path().join("touched");
    let run_it = format!("ext::sh -c touch% {}", touched.display());
    for address in [
        run_it.as_str(),
        "ext::sh",
        "ssh://-oProxyCommand=touch%20touched/x",
        "git@-oProxyCommand=touch:x",
        "fd::17/x",
        "weird://host/x",
        "https://host/a b",
        "file://",
    ] {
        let refused = looks(&reader, address, &["--json"]).exits(2);
        assert!(
            refused.err.contains("error: no copy of"),
            "{address}: {}",
            refused.err
        );
        assert!(
            refused.json()["error"]
                .as_str()
                .unwrap()
                .starts_with("no copy of")
                && !touched.exists(),
            "{address}"
        );
    }
    for option in ["--repo=-x:y", "--repo=--upload-pack=touch touched;:x"] {
        let refused = reader.gently(&["audit", "verify", "-v", option]).exits(2);
        assert!(
            refused.err.contains("would be an option") || refused.err.contains("no readable git"),
            "{}",
            refused.err
        );
        assert!(!touched.exists());
    }
    assert!(!reader.dir.path().join("touched").exists());
    let missing = looks(&reader, "file:///nowhere/ledger.git", &[]).exits(2);
    assert!(
        missing
            .err
            .contains("no copy of file:///nowhere/ledger.git: "),
        "{}",
        missing.err
    );
    assert!(
        looks(&reader, "./no:path", &[])
            .exits(2)
            .err
            .contains("no readable git repository")
    );
}

/// Answers every request with 401 and echoes it, as an unkind server would.
fn unkind() -> (String, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let thread = std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut bytes = [0; 4096];
            let read = stream.read(&mut bytes).unwrap_or(0);
            if read == 0 {
                return;
            }
            let echo = String::from_utf8_lossy(&bytes[..read]).into_owned();
            let head = "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Type: text/plain\r\n";
            let _ = stream.write_all(
                format!(
                    "{head}Content-Length: {}\r\nConnection: close\r\n\r\n{echo}",
                    echo.len()
                )
                .as_bytes(),
            );
        }
    });
    (format!("{address}"), thread)
}

#[test]
fn credentials_are_neither_shown_nor_kept() {
    let (address, thread) = unkind();
    let reader = Person::new();
    let url = format!("http://somebody:hunter2@{address}/ledger.git?token=hunter3");
    for more in [&["--json"][..], &[]] {
        let failed = looks(&reader, &url, more).exits(2);
        for secret in ["hunter2", "hunter3", "somebody"] {
            assert!(
                !failed.err.contains(secret) && !failed.out.contains(secret),
                "{failed:#?}"
            );
        }
        assert!(
            failed
                .err
                .contains(&format!("no copy of http://…@{address}/ledger.git: ")),
            "{}",
            failed.err
        );
    }
    drop(TcpStream::connect(&address));
    thread.join().unwrap();

    // What works is not kept with its password, either: file:// takes no host but an empty one, so
    // a daemon is asked.
    let writer = writer();
    let daemon = Daemon::serve(&writer.home());
    let url = format!(
        "{}/ledger.git",
        daemon.url.replacen("git://", "git://somebody:hunter2@", 1)
    );
    let looked = looks(&reader, &url, &["--json"]);
    assert!(
        !looked.out.contains("hunter2") && !looked.err.contains("hunter2"),
        "{looked:#?}"
    );
    let held = run(Command::new("grep")
        .args(["-rl", "hunter"])
        .arg(reader.dir.path().join(".cache")));
    assert_eq!(held.out, "", "nothing in the cache holds a password");
}

#[test]
fn two_readers_of_one_cache_wait_for_each_other() {
    let (writer, reader) = (writer(), Person::new());
    let url = url_of(&writer);
    let look = || {
        let mut command = reader.command(&["audit", "verify", "-v", "--quiet", "--repo", &url]);
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    let mut children = [look(), look(), look()];
    for child in &mut children {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}
