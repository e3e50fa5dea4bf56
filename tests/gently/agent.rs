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
        fs::rename(agent.home().join("keys/signing.key"), agent.dir.path().join("signing.key")).unwrap();
        agent
    }

    fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Gives the agent a key of the home, or of the folder where the home's key went.
    fn add(&self, name: &str) -> Output {
        let moved = self.dir.path().join(name);
        let file = if moved.exists() { moved } else { self.home().join("keys").join(name) };
        self.ssh_add(&["-q", file.to_str().unwrap()])
    }

    fn ssh_add(&self, args: &[&str]) -> Output {
        Command::new("ssh-add").args(args).env("SSH_AUTH_SOCK", self.dir.path().join("agent")).output().unwrap()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gently"));
        command
            .args(args)
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
        fs::read_to_string(self.home().join("audit.log")).unwrap().lines().count()
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
    let child = Command::new("ssh-agent").arg("-D").arg("-a").arg(&socket).stdout(Stdio::null()).spawn().unwrap();
    while std::os::unix::net::UnixStream::connect(&socket).is_err() {
        std::thread::yield_now();
    }
    child
}

fn fine(output: &Output) -> String {
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", said(&output.stdout), said(&output.stderr));
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
    fine(&agent.gently(&["session", "close"]));
    fine(&agent.gently(&["audit", "verify", "--signer", agent.home().join("keys/signing.key.pub").to_str().unwrap()]));
    let doctor = fine(&agent.gently(&["doctor", "--json"]));
    assert!(doctor.contains("an SSH agent has the key in force"), "{doctor}");
    let git = Command::new("git")
        .arg("--git-dir")
        .arg(agent.home().join("ledger.git"))
        .args(["-c", "gpg.format=ssh", "-c"])
        .arg(format!("gpg.ssh.allowedSignersFile={}", agent.home().join("keys/allowed_signers").display()))
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
    let unset = agent.command(&["ask", "two"]).env_remove("SSH_AUTH_SOCK").output().unwrap();
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
    fine(&agent.gently(&["audit", "verify"]));
}

/// The agent loses the key while the model thinks: the answer is withheld, and the ledger whole.
#[test]
fn an_answer_that_the_agent_did_not_sign_is_withheld() {
    let agent = Agent::start();
    fine(&agent.gently(&["ask", "one"]));
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", server.local_addr().unwrap());
    let asking = agent
        .command(&["ask", "--model", "openai/slow", "two"])
        .env("GENTLY_MODEL_BASE_URL", url)
        .env("OPENAI_API_KEY", "k")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut client, _) = server.accept().unwrap();
    let mut request = [0; 4096];
    assert!(std::io::Read::read(&mut client, &mut request).unwrap() > 0);
    fine(&agent.ssh_add(&["-q", "-D"]));
    let body = r#"{"id":"x","object":"chat.completion","model":"slow","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"a secret answer"}}]}"#;
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    std::io::Write::write_all(&mut client, answer.as_bytes()).unwrap();
    let output = asking.wait_with_output().unwrap();
    refused(&output, 3, "refused to sign");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("a secret answer"));
    fine(&agent.add("signing.key"));
    fine(&agent.gently(&["ask", "three"]));
    // The prompt waits for its outcome, in a session that is open: short, and not wrong.
    let report: serde_json::Value =
        serde_json::from_slice(&agent.gently(&["audit", "verify", "--json"]).stdout).unwrap();
    assert_eq!(report["answers"]["consistent"], "yes", "{report}");
    assert_eq!(report["findings"].as_array().map(Vec::len), Some(1), "{report}");
}

#[test]
fn a_rotation_goes_to_a_key_that_the_agent_has() {
    let agent = Agent::start();
    fine(&agent.gently(&["ask", "one"]));
    refused(&agent.gently(&["key", "rotate"]), 2, "--to FILE.pub");
    let next = agent.dir.path().join("next");
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&next).output().unwrap();
    fine(&made);
    let public = agent.dir.path().join("next.pub");
    let rotate = ["key", "rotate", "--to", public.to_str().unwrap()];
    refused(&agent.gently(&rotate), 2, "does not have the key");
    fine(&agent.add("next"));
    fine(&agent.gently(&rotate));
    fine(&agent.ssh_add(&["-q", "-d", agent.dir.path().join("signing.key").to_str().unwrap()]));
    fine(&agent.gently(&["ask", "two"]));
    fine(&agent.gently(&["audit", "verify"]));
    assert!(!agent.home().join("keys/signing.key").exists(), "no private key comes into the home");
}

/// A receipt is one more signature of the agent, and no key is in the home.
#[test]
fn an_agent_signs_receipts_and_tree_heads_of_openings() {
    let agent = Agent::start();
    let (receipt, opening) = (agent.dir.path().join("receipt"), agent.dir.path().join("opening"));
    fine(&agent.gently(&["ask", "--receipt", receipt.to_str().unwrap(), "Anything"]));
    fine(&agent.gently(&["audit", "verify", "--receipt", receipt.to_str().unwrap()]));
    fine(&agent.gently(&["audit", "open", "last", "1", "--out", opening.to_str().unwrap()]));
    let signers = agent.home().join("keys/allowed_signers");
    let checked = agent.gently(&["audit", "check", opening.to_str().unwrap(), "--signer", signers.to_str().unwrap()]);
    fine(&checked);
    assert!(String::from_utf8_lossy(&checked.stdout).contains("signed by:   yes"));
}
