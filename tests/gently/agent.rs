//! Signing through a stock `ssh-agent`: the key is nowhere else.

#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A home whose signing key only an agent has.
struct Agent {
    dir: tempfile::TempDir,
    child: Child,
}

impl Agent {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let child = listen(dir.path());
        let agent = Agent { dir, child };
        fine(&agent.gently(&["init"]));
        fine(&agent.add("signing.key"));
        fs::rename(
            agent.home().join("keys/signing.key"),
            agent.dir.path().join("signing.key"),
        )
        .unwrap();
        agent
    }

    fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Gives the agent a key of the home, or of the folder where the home's key went.
    fn add(&self, name: &str) -> Output {
        let moved = self.dir.path().join(name);
        let file = if moved.exists() {
            moved
        } else {
            self.home().join("keys").join(name)
        };
        self.ssh_add(&["-q", file.to_str().unwrap()])
    }

    /// The same, under a constraint.
    fn add_with(&self, name: &str, args: &[&str]) -> Output {
        let file = self.dir.path().join(name);
        self.ssh_add(&[args, &["-q", file.to_str().unwrap()]].concat())
    }

    /// Sends the agent a signal: `-STOP` leaves it listening and silent.
    fn signal(&self, name: &str) {
        fine(
            &Command::new("kill")
                .args([name, &self.child.id().to_string()])
                .output()
                .unwrap(),
        );
    }

    /// Locks (22) or unlocks (23) the agent, as `ssh-add -x` and `-X` do, without a terminal.
    fn lock(&self, kind: u8) {
        use std::io::{Read as _, Write as _};
        let mut agent =
            std::os::unix::net::UnixStream::connect(self.dir.path().join("agent")).unwrap();
        agent
            .write_all(&[0, 0, 0, 6, kind, 0, 0, 0, 1, b'x'])
            .unwrap();
        let mut answer = [0; 5];
        agent.read_exact(&mut answer).unwrap();
        assert_eq!(answer, [0, 0, 0, 1, 6], "the agent says yes");
    }

    fn ssh_add(&self, args: &[&str]) -> Output {
        Command::new("ssh-add")
            .args(args)
            .env("SSH_AUTH_SOCK", self.dir.path().join("agent"))
            .output()
            .unwrap()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gently"));
        command
            .args(crate::person::with_sight(args))
            .env("GENTLY_HOME", self.home())
            .env("GENTLY_ANCHOR_MODE", "off")
            .env("GENTLY_MODEL_DEFAULT", "observer")
            .env("GENTLY_KEYS_SIGNER", "agent")
            .env("SSH_AUTH_SOCK", self.dir.path().join("agent"))
            .stdin(Stdio::null());
        for name in ["GENTLY_AUTH_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"] {
            command.env_remove(name);
        }
        command
    }

    fn gently(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn stop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let _ = fs::remove_file(self.dir.path().join("agent"));
    }

    fn lines(&self) -> usize {
        fs::read_to_string(self.home().join("audit.log"))
            .unwrap()
            .lines()
            .count()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts an agent and waits until its socket is there.
fn listen(dir: &Path) -> Child {
    let socket = dir.join("agent");
    // Whoever is to confirm a signature says no.
    let mut command = Command::new("ssh-agent");
    command
        .env("SSH_ASKPASS", "false")
        .env("SSH_ASKPASS_REQUIRE", "force");
    let child = command
        .arg("-D")
        .arg("-a")
        .arg(&socket)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while std::os::unix::net::UnixStream::connect(&socket).is_err() {
        std::thread::yield_now();
    }
    child
}

fn fine(output: &Output) -> String {
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{}{}",
        said(&output.stdout),
        said(&output.stderr)
    );
    said(&output.stdout)
}

/// Fails with this code, and says this.
fn refused(output: &Output, code: i32, says: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.contains(says), "{said}");
}

#[test]
fn an_agent_signs_commits_and_tree_heads() {
    let agent = Agent::start();
    fine(&agent.gently(&["ask", "one"]));
    fine(&agent.gently(&["session", "close", "--yes"]));
    fine(&agent.gently(&[
        "audit",
        "verify",
        "--signer",
        agent.home().join("keys/signing.key.pub").to_str().unwrap(),
    ]));
    let doctor = fine(&agent.gently(&["doctor", "--json"]));
    assert!(
        doctor.contains("an SSH agent has the key in force"),
        "{doctor}"
    );
    let git = Command::new("git")
        .arg("--git-dir")
        .arg(agent.home().join("ledger.git"))
        .args(["-c", "gpg.format=ssh", "-c"])
        .arg(format!(
            "gpg.ssh.allowedSignersFile={}",
            agent.home().join("keys/allowed_signers").display()
        ))
        .args(["verify-commit", "main"])
        .output()
        .unwrap();
    fine(&git);
}

#[test]
fn without_the_agent_or_its_key_nothing_is_asked_and_nothing_is_written() {
    let mut agent = Agent::start();
    fine(&agent.gently(&["ask", "one"]));
    let before = agent.lines();
    let unset = agent
        .command(&["ask", "two"])
        .env_remove("SSH_AUTH_SOCK")
        .output()
        .unwrap();
    refused(&unset, 2, "$SSH_AUTH_SOCK is not set");
    fine(&agent.ssh_add(&["-q", "-D"]));
    refused(&agent.gently(&["ask", "two"]), 2, "does not have the key");
    assert_eq!(agent.gently(&["doctor"]).status.code(), Some(1));
    agent.stop();
    refused(&agent.gently(&["ask", "two"]), 2, "no SSH agent answers");
    // The file is back, and does not stand in: the configuration says agent.
    let file = agent.home().join("keys/signing.key");
    fs::copy(agent.dir.path().join("signing.key"), &file).unwrap();
    refused(&agent.gently(&["ask", "two"]), 2, "no SSH agent answers");
    assert_eq!(agent.lines(), before);
    fs::remove_file(&file).unwrap();
    agent.child = listen(agent.dir.path());
    fine(&agent.add("signing.key"));
    fine(&agent.gently(&["ask", "two"]));
    fine(&agent.gently(&["audit", "verify", "-v"]));
}

/// Asks a model, and does something to the agent while it thinks: the answer is withheld with this
/// sentence; once the agent is as it was, the next question is answered, and the ledger is whole.
fn withheld(
    mut agent: Agent,
    during: impl FnOnce(&mut Agent),
    says: &str,
    way_out: impl FnOnce(&mut Agent),
) {
    fine(&agent.gently(&["ask", "one"]));
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", server.local_addr().unwrap());
    let asking = agent
        .command(&["ask", "--model", "openai/slow", "two"])
        .env("GENTLY_MODEL_BASE_URL", url)
        .env("GENTLY_KEYS_AGENT_WAIT_S", "2")
        .env("OPENAI_API_KEY", "k")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Before it is asked, the server may be asked for the window of its model: it knows none.
    let mut client = loop {
        let (mut client, _) = server.accept().unwrap();
        let mut request = [0; 4096];
        let length = std::io::Read::read(&mut client, &mut request).unwrap();
        assert!(length > 0);
        if request.starts_with(b"POST /v1/chat/completions") {
            break client;
        }
        let nothing = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        std::io::Write::write_all(&mut client, nothing.as_bytes()).unwrap();
    };
    during(&mut agent);
    let body = r#"{"id":"x","object":"chat.completion","model":"slow","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"a secret answer"}}]}"#;
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    std::io::Write::write_all(&mut client, answer.as_bytes()).unwrap();
    let output = asking.wait_with_output().unwrap();
    refused(&output, 3, says);
    assert!(!String::from_utf8_lossy(&output.stdout).contains("a secret answer"));
    way_out(&mut agent);
    fine(&agent.gently(&["ask", "three"]));
    // The prompt waits for its outcome, in a session that is open: short, and not wrong.
    let report: serde_json::Value =
        serde_json::from_slice(&agent.gently(&["audit", "verify", "--json"]).stdout).unwrap();
    assert_eq!(report["answers"]["consistent"], "yes", "{report}");
    assert_eq!(
        report["findings"].as_array().map(Vec::len),
        Some(1),
        "{report}"
    );
    fine(&agent.gently(&["session", "close", "--yes"]));
    fine(&agent.gently(&["audit", "verify", "-v"]));
}

#[test]
fn an_answer_is_withheld_when_the_agent_has_lost_the_key() {
    let lose = |agent: &mut Agent| drop(fine(&agent.ssh_add(&["-q", "-D"])));
    withheld(Agent::start(), lose, "refused to sign", |agent| {
        drop(fine(&agent.add("signing.key")))
    });
}

#[test]
fn an_answer_is_withheld_when_the_agent_was_killed() {
    let start = |agent: &mut Agent| {
        agent.child = listen(agent.dir.path());
        fine(&agent.add("signing.key"));
    };
    withheld(Agent::start(), Agent::stop, "no SSH agent answers", start);
}

#[test]
fn an_answer_is_withheld_when_the_agent_says_nothing() {
    let stop = |agent: &mut Agent| agent.signal("-STOP");
    withheld(Agent::start(), stop, "did not answer within 2 s", |agent| {
        agent.signal("-CONT")
    });
}

#[test]
fn an_answer_is_withheld_when_the_agent_is_locked() {
    withheld(
        Agent::start(),
        |agent| agent.lock(22),
        "be locked (`ssh-add -X`)",
        |agent| agent.lock(23),
    );
}

/// Before a model is asked: exit 2, a sentence with the way out, and not a line more.
#[test]
fn an_agent_that_hangs_or_is_locked_or_says_no_is_told_apart_before_anything_is_written() {
    let agent = Agent::start();
    fine(&agent.gently(&["ask", "one"]));
    let before = agent.lines();
    let ask = || {
        agent
            .command(&["ask", "two"])
            .env("GENTLY_KEYS_AGENT_WAIT_S", "1")
            .output()
            .unwrap()
    };
    agent.signal("-STOP");
    refused(&ask(), 2, "did not answer within 1 s: it hangs");
    refused(&ask(), 2, "[keys] agent_wait_s");
    assert_eq!(agent.gently(&["doctor"]).status.code(), Some(1));
    agent.signal("-CONT");
    agent.lock(22);
    refused(&ask(), 2, "or is locked");
    agent.lock(23);
    assert_eq!(agent.lines(), before);
    // The key is there, and somebody who is to confirm each signature says no: the prompt's lines
    // need one already, so that no model is asked for nothing.
    fine(&agent.ssh_add(&["-q", "-D"]));
    fine(&agent.add_with("signing.key", &["-c"]));
    let asked = ask();
    refused(&asked, 3, "have asked somebody who said no");
    fine(&agent.ssh_add(&["-q", "-D"]));
    assert_eq!(agent.lines(), before, "not even the prompt");
    fine(&agent.add("signing.key"));
    fine(&agent.gently(&["ask", "two"]));
    fine(&agent.gently(&["session", "close"]));
    fine(&agent.gently(&["audit", "verify", "-v"]));
}

/// A new key, known to the agent, and the arguments that rotate to it.
fn next_key(agent: &Agent) -> [String; 5] {
    let next = agent.dir.path().join("next");
    fine(
        &Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-f"])
            .arg(&next)
            .output()
            .unwrap(),
    );
    fine(&agent.add("next"));
    [
        "key",
        "rotate",
        "--yes",
        "--to",
        agent.dir.path().join("next.pub").to_str().unwrap(),
    ]
    .map(str::to_owned)
}

fn rotated(agent: &Agent) -> usize {
    fs::read_to_string(agent.home().join("audit.log"))
        .unwrap()
        .matches("|key_rotate|")
        .count()
}

fn signer(agent: &Agent) -> String {
    let text = fs::read_to_string(agent.home().join("keys/signing.key.pub")).unwrap();
    text.split(' ').nth(1).unwrap().trim().to_owned()
}

/// The old key's holder does not sign the rotation: sessions are as they were or closed, the old
/// key stays in force.
#[test]
fn a_rotation_that_the_old_key_does_not_sign_is_begun_again() {
    let mut agent = Agent::start();
    fine(&agent.gently(&["ask", "one"]));
    fine(&agent.gently(&["session", "close"]));
    let (before, rotate) = (signer(&agent), next_key(&agent));
    let rotate: Vec<&str> = rotate.iter().map(String::as_str).collect();
    fine(&agent.ssh_add(&[
        "-q",
        "-d",
        agent.dir.path().join("signing.key").to_str().unwrap(),
    ]));
    refused(&agent.gently(&rotate), 2, "does not have the key");
    fine(&agent.add_with("signing.key", &["-c"]));
    refused(&agent.gently(&rotate), 3, "refused to sign");
    assert_eq!((rotated(&agent), signer(&agent)), (0, before.clone()));
    // It was noted which key is to be the next; that is nothing yet, not to the next command and
    // not to a new agent.
    assert!(agent.home().join("keys/signing.key.next.pub").exists());
    agent.stop();
    refused(&agent.gently(&["ask", "two"]), 2, "no SSH agent answers");
    agent.child = listen(agent.dir.path());
    fine(&agent.add("signing.key"));
    fine(&agent.gently(&["ask", "two"]));
    assert_eq!(
        signer(&agent),
        before,
        "a key that is not on record is not in force"
    );
    fine(&agent.add("next"));
    fine(&agent.gently(&rotate));
    assert_eq!(rotated(&agent), 1);
    assert_ne!(signer(&agent), before);
    assert!(!agent.home().join("keys/signing.key.next.pub").exists());
    fine(&agent.gently(&["ask", "three"]));
    fine(&agent.gently(&["audit", "verify", "-v"]));
}

/// The rotation is on record, and the process died before it had renamed the files: the next
/// command does.
#[test]
fn a_rotation_that_died_before_the_files_moved_is_finished_with_the_new_key() {
    let agent = Agent::start();
    fine(&agent.gently(&["ask", "one"]));
    let keys = agent.home().join("keys");
    let old = ["signing.key.pub", "allowed_signers"]
        .map(|name| (name, fs::read(keys.join(name)).unwrap()));
    let rotate = next_key(&agent);
    fine(&agent.gently(&rotate.iter().map(String::as_str).collect::<Vec<_>>()));
    let new = signer(&agent);
    fs::rename(
        keys.join("signing.key.pub"),
        keys.join("signing.key.next.pub"),
    )
    .unwrap();
    for (name, bytes) in old {
        fs::write(keys.join(name), bytes).unwrap();
    }
    // The agent has the old key only: the one that is missing is the one in force.
    fine(&agent.ssh_add(&["-q", "-D"]));
    fine(&agent.add("signing.key"));
    let asked = agent.gently(&["ask", "two"]);
    refused(
        &asked,
        2,
        &format!("does not have the key ssh-ed25519 {new}"),
    );
    fine(&agent.add("next"));
    fine(&agent.gently(&["ask", "two"]));
    assert_eq!(signer(&agent), new);
    assert!(!keys.join("signing.key.next.pub").exists());
    assert_eq!(
        fs::read_to_string(keys.join("allowed_signers"))
            .unwrap()
            .lines()
            .count(),
        2
    );
    fine(&agent.gently(&["audit", "verify", "-v"]));
}

#[test]
fn a_rotation_goes_to_a_key_that_the_agent_has() {
    let agent = Agent::start();
    fine(&agent.gently(&["ask", "one"]));
    refused(
        &agent.gently(&["key", "rotate", "--yes"]),
        2,
        "--to FILE.pub",
    );
    let next = agent.dir.path().join("next");
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(&next)
        .output()
        .unwrap();
    fine(&made);
    let public = agent.dir.path().join("next.pub");
    let rotate = ["key", "rotate", "--yes", "--to", public.to_str().unwrap()];
    refused(&agent.gently(&rotate), 2, "does not have the key");
    fine(&agent.add("next"));
    let first = agent.dir.path().join("first.pub");
    fs::copy(agent.home().join("keys/signing.key.pub"), &first).unwrap();
    fine(&agent.gently(&rotate));
    // Neither the key in force nor one of before, however often the agent has them: and no session
    // is closed for it.
    fine(&agent.gently(&["ask", "between"]));
    let before = fs::read(agent.home().join("audit.log")).unwrap();
    for known in [&public, &first] {
        let again = ["key", "rotate", "--yes", "--to", known.to_str().unwrap()];
        refused(
            &agent.gently(&again),
            2,
            "was in force in this ledger before",
        );
        assert!(!agent.home().join("keys/signing.key.next.pub").exists());
    }
    assert_eq!(fs::read(agent.home().join("audit.log")).unwrap(), before);
    fine(&agent.ssh_add(&[
        "-q",
        "-d",
        agent.dir.path().join("signing.key").to_str().unwrap(),
    ]));
    fine(&agent.gently(&["ask", "two"]));
    fine(&agent.gently(&["audit", "verify", "-v"]));
    assert!(
        !agent.home().join("keys/signing.key").exists(),
        "no private key comes into the home"
    );
}

/// A receipt is one more signature of the agent, and no key is in the home.
#[test]
fn an_agent_signs_receipts_and_tree_heads_of_openings() {
    let agent = Agent::start();
    let (receipt, opening) = (
        agent.dir.path().join("receipt"),
        agent.dir.path().join("opening"),
    );
    fine(&agent.gently(&["ask", "--receipt", receipt.to_str().unwrap(), "Anything"]));
    fine(&agent.gently(&[
        "audit",
        "verify",
        "-v",
        "--receipt",
        receipt.to_str().unwrap(),
    ]));
    fine(&agent.gently(&[
        "audit",
        "open",
        "last",
        "1",
        "--out",
        opening.to_str().unwrap(),
    ]));
    let signers = agent.home().join("keys/allowed_signers");
    let checked = agent.gently(&[
        "audit",
        "check",
        "-v",
        opening.to_str().unwrap(),
        "--signer",
        signers.to_str().unwrap(),
    ]);
    fine(&checked);
    assert!(String::from_utf8_lossy(&checked.stdout).contains("signed by:   yes"));
}

/// Traces and their envelopes are signed where the ledger's key is, and by nobody without it.
#[test]
fn traces_are_signed_through_the_agent() {
    let mut agent = Agent::start();
    fine(&agent.gently(&["ask", "How is this machine doing?"]));
    let file = agent.dir.path().join("trace.json");
    let export = [
        "trace",
        "export",
        "last",
        "--level",
        "generic",
        "--force",
        "--out",
        file.to_str().unwrap(),
    ];
    fine(&agent.gently(&export));
    let verified = agent.gently(&["trace", "verify", "-v", file.to_str().unwrap()]);
    fine(&verified);
    let told = String::from_utf8_lossy(&verified.stdout).into_owned();
    assert!(told.contains("signature    yes: "), "{told}");
    let (before, lines) = (fs::read(&file).unwrap(), agent.lines());
    agent.stop();
    assert_eq!(agent.gently(&export).status.code(), Some(2));
    assert_eq!((fs::read(&file).unwrap(), agent.lines()), (before, lines));
    // What registers the key needs no agent.
    fine(&agent.gently(&["trace", "key"]));
}
