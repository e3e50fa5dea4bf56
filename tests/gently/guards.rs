//! Guards: of a ledger against other programs, of a host against junk, of a home against whoever
//! has the machine for a minute, and what is said when a part is missing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

struct Home {
    dir: TempDir,
}

impl Home {
    /// A home with a closed session of two answers.
    fn new() -> Self {
        let home = Home {
            dir: tempfile::tempdir().unwrap(),
        };
        for args in [&["ask", "one"][..], &["ask", "two"], &["session", "close"]] {
            home.fine(args);
        }
        home
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gently"));
        let own = Path::new(env!("CARGO_BIN_EXE_gently"))
            .parent()
            .unwrap()
            .to_owned();
        let rest = std::env::var_os("PATH").unwrap_or_default();
        let path =
            std::env::join_paths([own].into_iter().chain(std::env::split_paths(&rest))).unwrap();
        command
            .args(crate::person::with_sight(args))
            .env("GENTLY_HOME", self.root())
            .env("GENTLY_ANCHOR_MODE", "off")
            .env("PATH", path);
        command
            .env("GENTLY_MODEL_DEFAULT", "observer")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .stdin(Stdio::null());
        for name in [
            "GENTLY_AUTH_KEY",
            "GENTLY_PASSPHRASE",
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "OLLAMA_HOST",
        ] {
            command.env_remove(name);
        }
        command.current_dir(self.dir.path());
        command
    }

    fn run(&self, args: &[&str]) -> (i32, String, String) {
        told(self.command(args).output().unwrap())
    }

    fn fine(&self, args: &[&str]) -> String {
        let (code, out, err) = self.run(args);
        assert_eq!(code, 0, "{args:?}: {out}{err}");
        out
    }

    fn git(&self, repository: &Path, args: &[&str]) -> (i32, String, String) {
        let mut command = self.command(&[]);
        let path = command
            .get_envs()
            .find(|(name, _)| *name == "PATH")
            .unwrap()
            .1
            .unwrap()
            .to_owned();
        command = Command::new("git");
        command
            .arg("-C")
            .arg(repository)
            .args(args)
            .env("PATH", path)
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        for role in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{role}_NAME"), "x")
                .env(format!("GIT_{role}_EMAIL"), "x@example.org");
        }
        told(command.output().unwrap())
    }

    /// A bare repository with the hooks of a host.
    fn host(&self) -> PathBuf {
        let host = self.dir.path().join("pub.git");
        assert_eq!(
            self.git(self.dir.path(), &["init", "-q", "--bare", "pub.git"])
                .0,
            0
        );
        let key = self.root().join("keys/signing.key.pub");
        self.fine(&[
            "hook",
            "install",
            "pub.git",
            "--signer",
            key.to_str().unwrap(),
        ]);
        host
    }
}

fn told(output: Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let code = output
        .status
        .code()
        .unwrap_or_else(|| panic!("ended by a signal: {}", text(&output.stderr)));
    (code, text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_ref_does_not_become_an_alias_packed_or_not() {
    let home = Home::new();
    let ledger = home.root().join("ledger.git");
    home.fine(&["hook", "install", ledger.to_str().unwrap()]);
    assert_eq!(home.git(&ledger, &["pack-refs", "--all"]).0, 0);
    let (code, _, err) = home.git(
        &ledger,
        &["symbolic-ref", "refs/heads/main", "refs/heads/elsewhere"],
    );
    assert!(
        code != 0 && err.contains("would become an alias of refs/heads/elsewhere"),
        "{err}"
    );
    let (_, kept, _) = home.git(&ledger, &["config", "gc.pruneExpire"]);
    assert_eq!(kept.trim(), "never");
    home.fine(&["ask", "three"]);
    assert_eq!(home.run(&["audit", "verify", "-v"]).0, 0);
}

#[test]
fn a_branch_begins_with_a_session_and_not_on_a_commit_of_main() {
    let home = Home::new();
    let ledger = home.root().join("ledger.git");
    home.fine(&["hook", "install", ledger.to_str().unwrap()]);
    let (_, there, _) = home.git(&ledger, &["for-each-ref", "--format=%(refname:short)"]);
    let free = (1..=7)
        .map(|n| format!("branch-{n}"))
        .find(|name| !there.lines().any(|line| line == name))
        .unwrap();
    for commit in ["main", "main~1"] {
        let (code, _, err) = home.git(&ledger, &["branch", "--no-track", &free, commit]);
        assert!(
            code != 0 && err.contains("a commit of main"),
            "{commit}: {err}"
        );
    }
    home.fine(&["ask", "three"]);
    assert_eq!(home.run(&["audit", "verify", "-v"]).0, 0);
}

#[test]
fn a_ledger_is_published_by_the_persons_git_and_not_by_its_own_configuration() {
    let home = Home::new();
    let (ledger, marker) = (home.root().join("ledger.git"), home.dir.path().join("ran"));
    let host = home.host();
    let program = format!("touch {}; false", marker.display());
    for (key, value) in [
        ("core.sshCommand", program.as_str()),
        ("core.fsmonitor", &program),
        ("credential.helper", &format!("!{program}")),
        ("core.hooksPath", home.dir.path().to_str().unwrap()),
        ("remote.origin.url", "ssh://host.invalid/x"),
        ("url.ssh://host.invalid/.insteadOf", "pub.git"),
    ] {
        assert_eq!(home.git(&ledger, &["config", key, value]).0, 0);
    }
    fs::write(
        home.dir.path().join("pre-push"),
        format!("#!/bin/sh\n{program}\n"),
    )
    .unwrap();
    fs::set_permissions(
        home.dir.path().join("pre-push"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    // A path from where the person is; a host's own refs are in nobody's way.
    let (_, tree, _) = home.git(&host, &["hash-object", "-t", "tree", "-w", "/dev/null"]);
    let (_, commit, _) = home.git(&host, &["commit-tree", tree.trim(), "-m", "pull request"]);
    fs::create_dir_all(host.join("refs/pull/1")).unwrap();
    fs::write(host.join("refs/pull/1/head"), &commit).unwrap();
    let out = home.fine(&["audit", "publish", "pub.git"]);
    assert!(out.contains("published refs/heads/main "), "{out}");
    assert!(home.run(&["audit", "publish", "ssh://host.invalid/x"]).0 == 2);
    let (code, _, err) = home.run(&["audit", "publish", "gone.git"]);
    assert!(
        code == 2 && err.contains("there is nothing at ") && err.contains("git init --bare"),
        "{err}"
    );
    assert!(!marker.exists());
}

#[test]
fn a_host_takes_no_notes_that_prove_nothing_and_no_foreign_refs() {
    let home = Home::new();
    let (ledger, host) = (home.root().join("ledger.git"), home.host());
    home.fine(&["audit", "publish", "pub.git"]);
    let before = home.git(&host, &["for-each-ref"]).1;
    let stranger = home.dir.path().join("stranger.git");
    assert_eq!(
        home.git(
            home.dir.path(),
            &["clone", "-q", "--mirror", "pub.git", "stranger.git"]
        )
        .0,
        0
    );
    assert_eq!(
        home.git(
            &stranger,
            &["notes", "--ref", "ots", "add", "-m", "junk", "main"]
        )
        .0,
        0
    );
    let (code, _, err) = home.git(
        &stranger,
        &["push", "-q", host.to_str().unwrap(), "refs/notes/ots"],
    );
    assert!(code != 0 && err.contains("not_after"), "{err}");
    let (_, tip, _) = home.git(&ledger, &["rev-parse", "main"]);
    // Digits of an id are what a finding is about.
    let (code, _, err) = home.git(
        &stranger,
        &[
            "push",
            "-q",
            host.to_str().unwrap(),
            "+main~1:refs/heads/main",
        ],
    );
    assert!(code != 0 && err.contains(tip.trim()), "{err}");
    let (code, _, err) = home.git(
        &stranger,
        &["push", "-q", host.to_str().unwrap(), "main:refs/heads/mine"],
    );
    assert!(code != 0 && err.contains("is no ref of a ledger"), "{err}");
    // A ref of notes without a note would only be in the way of the ledger's own.
    let (_, empty, _) = home.git(&stranger, &["hash-object", "-w", "-t", "tree", "/dev/null"]);
    let who = ["-c", "user.name=x", "-c", "user.email=x@x"];
    let (_, begun, err) = home.git(
        &stranger,
        &[&who[..], &["commit-tree", "-m", "n", empty.trim()]].concat(),
    );
    assert!(!begun.trim().is_empty(), "{err}");
    let spec = format!("{}:refs/notes/witness", begun.trim());
    let (code, _, err) = home.git(&stranger, &["push", "-q", host.to_str().unwrap(), &spec]);
    assert!(
        code != 0 && err.contains("would begin without a note"),
        "{err}"
    );
    // A tree that names one commit twice: readers differ on which note is the commit's.
    let twice = format!(
        r#"set -e; cd '{}'; blob=$(echo junk | git hash-object -w --stdin); tip=$(git rev-parse main)
        under=$(printf '100644 blob %s\t%s\n' $blob $(echo $tip | cut -c3-) | git mktree)
        tree=$(printf '100644 blob %s\t%s\n040000 tree %s\t%s\n' $blob $tip $under $(echo $tip | cut -c1-2) | git mktree)
        git -c user.name=x -c user.email=x@x commit-tree -m n $tree"#,
        stranger.display()
    );
    let made = Command::new("sh").args(["-c", &twice]).output().unwrap();
    let made = String::from_utf8(made.stdout).unwrap();
    let spec = format!("{}:refs/notes/witness", made.trim());
    let (code, _, err) = home.git(&stranger, &["push", "-q", host.to_str().unwrap(), &spec]);
    assert!(
        code != 0 && err.contains("one for each commit") | err.contains("2 entries"),
        "{err}"
    );
    assert_eq!(home.git(&host, &["for-each-ref"]).1, before);
}

/// Notes are unsigned, so whoever may push to a host may begin a ref of them there: it holds up
/// nothing that is signed.
#[test]
fn somebody_elses_notes_on_a_host_hold_up_no_publication() {
    let home = Home::new();
    assert_eq!(
        home.git(home.dir.path(), &["init", "-q", "--bare", "open.git"])
            .0,
        0
    );
    let host = home.dir.path().join("open.git");
    home.fine(&["audit", "publish", "open.git"]);
    let who = ["-c", "user.name=x", "-c", "user.email=x@x"];
    let noted = home.git(
        &host,
        &[
            &who[..],
            &["notes", "--ref", "ots", "add", "-m", "junk", "main"],
        ]
        .concat(),
    );
    assert_eq!(noted.0, 0, "{noted:?}");
    let ledger = home.root().join("ledger.git");
    let (_, own, _) = home.git(&ledger, &["rev-parse", "main"]);
    home.fine(&["ask", "more"]);
    home.fine(&["session", "close"]);
    let (code, out, err) = home.run(&["audit", "publish", "open.git"]);
    assert!(
        code == 1 && out.contains("published refs/heads/main"),
        "{out}{err}"
    );
    assert!(
        err.contains("left out: refs/notes/ots") && err.contains("update-ref -d refs/notes/ots"),
        "{err}"
    );
    assert_ne!(home.git(&host, &["rev-parse", "main"]).1, own);
    // As the sentence says.
    let removed = home.git(
        &host,
        &[
            "-c",
            "core.hooksPath=/dev/null",
            "update-ref",
            "-d",
            "refs/notes/ots",
        ],
    );
    assert_eq!(removed.0, 0, "{removed:?}");
    home.fine(&["audit", "publish", "open.git"]);
}

#[test]
fn a_home_that_lost_its_database_is_not_fine() {
    let home = Home::new();
    for name in ["gently.db", "gently.db-wal", "gently.db-shm"] {
        let _ = fs::remove_file(home.root().join(name));
    }
    let (code, out, err) = home.run(&["audit", "verify", "-v"]);
    assert_eq!(code, 1, "{out}{err}");
    assert!(
        out.contains("the texts of 2 answers") && out.contains("gently restore"),
        "{out}{err}"
    );
    let (code, out, _) = home.run(&["audit", "verify", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(
        code == 1 && report["findings"].to_string().contains("gently.db"),
        "{report}"
    );
}

#[test]
fn smashed_pages_are_told_with_the_way_out() {
    let home = Home::new();
    let path = home.root().join("gently.db");
    for name in ["gently.db-wal", "gently.db-shm"] {
        let _ = fs::remove_file(home.root().join(name));
    }
    let mut bytes = fs::read(&path).unwrap();
    let length = bytes.len();
    bytes[4096..length].fill(0x5a);
    fs::write(&path, bytes).unwrap();
    for args in [&["ask", "x"][..], &["session", "list"], &["fact", "list"]] {
        let (code, out, err) = home.run(args);
        assert!(code >= 2, "{args:?}: {out}{err}");
        assert!(
            err.contains("the database is damaged") && err.contains("gently restore"),
            "{args:?}: {err}"
        );
        assert!(!err.contains("panicked"), "{err}");
    }
}

#[test]
fn what_others_may_read_or_write_is_not_recorded_in() {
    let home = Home::new();
    let chmod = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap()
    };
    for (name, mode, mended) in [
        ("", 0o750, 0o700),
        ("gently.db", 0o640, 0o600),
        ("gently.toml", 0o604, 0o600),
        ("context.json", 0o620, 0o600),
    ] {
        let path = if name.is_empty() {
            home.root()
        } else {
            home.root().join(name)
        };
        let found = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mended, "{name} as it was made");
        chmod(&path, mode);
        let (code, out, err) = home.run(&["ask", "three"]);
        assert_eq!(code, 2, "{name}: {out}{err}");
        assert!(
            err.contains(&format!("chmod {mended:o} {}", path.display())),
            "{name}: {err}"
        );
        let (_, out, _) = home.run(&["doctor", "-v"]);
        assert!(out.contains(&format!("mode {mode:04o}")), "{out}");
        chmod(&path, mended);
    }
    home.fine(&["ask", "three"]);
}

#[test]
fn what_guards_a_home_needs_its_auth_key() {
    let home = Home::new();
    let key = home.root().join("keys/auth.key");
    let kept = fs::read(&key).unwrap();
    home.fine(&["config", "set", "anchor.mode", "off"]);
    fs::remove_file(&key).unwrap();
    let toml = fs::read(home.root().join("gently.toml")).unwrap();
    let file = home.dir.path().join("backup");
    for args in [
        &["backup", file.to_str().unwrap()][..],
        &["config", "set", "anchor.mode", "auto"],
        &["config", "set", "store.content", "none"],
        &["config", "set", "sanitize.rules", "['x.toml']"],
        &["config", "set", "keys.signer", "agent"],
        &["config", "set", "model.base_url", "https://example.org/v1"],
        &["erase", "last"],
        &["kernel", "set", "x.toml"],
    ] {
        let mut command = home.command(args);
        command.env("GENTLY_PASSPHRASE", "a passphrase");
        fs::write(
            home.dir.path().join("x.toml"),
            include_str!("../../genesis/kernel.toml").replace("\"beta\"", "\"x\""),
        )
        .unwrap();
        let (code, out, err) = told(command.output().unwrap());
        assert!(
            code == 2 && err.contains("auth"),
            "{args:?}: {code} {out}{err}"
        );
    }
    assert_eq!(fs::read(home.root().join("gently.toml")).unwrap(), toml);
    assert!(!file.exists());
    // What guards nothing is anybody's at this machine.
    home.fine(&["config", "set", "session.idle_minutes", "20"]);
    fs::write(&key, kept).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    home.fine(&["config", "set", "store.content", "none"]);
}

#[test]
fn a_limit_on_files_is_an_error_and_no_end() {
    let home = Home::new();
    let mut command = Command::new("sh");
    let inner = home.command(&["ask", "three"]);
    command.args([
        "-c",
        "ulimit -f 8; exec \"$0\" ask three",
        env!("CARGO_BIN_EXE_gently"),
    ]);
    command
        .envs(
            inner
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .stdin(Stdio::null());
    let (code, out, err) = told(command.output().unwrap());
    assert!(code >= 2 && !err.contains("panicked"), "{code} {out}{err}");
    assert!(err.contains("Make room") || err.contains("limit"), "{err}");
    home.fine(&["ask", "four"]);
    assert_eq!(home.run(&["audit", "verify", "-v"]).0, 0);
}

#[test]
fn nothing_of_the_memory_is_written_when_it_crashes() {
    let home = Home::new();
    let mut command = home.command(&["ask"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let limits = format!("/proc/{}/limits", child.id());
    let begun = Instant::now();
    let core = loop {
        let text = fs::read_to_string(&limits).unwrap_or_default();
        let line = text
            .lines()
            .find(|line| line.starts_with("Max core file size"))
            .unwrap_or_default()
            .to_owned();
        let soft = line
            .split_whitespace()
            .nth(4)
            .unwrap_or_default()
            .to_owned();
        if soft == "0" || begun.elapsed() > Duration::from_secs(10) {
            break soft;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let _ = child.kill();
    let _ = child.wait();
    assert_eq!(core, "0");
}

#[test]
fn small_things_are_said_as_they_are() {
    let home = Home::new();
    // A passphrase that nobody gave.
    let (code, _, err) = home.run(&["backup", "file"]);
    assert!(
        code == 2 && err.contains("there is no terminal to ask for it on. Set"),
        "{err}"
    );
    // Off is chosen, and not told every time.
    let (_, _, err) = home.run(&["ask", "three"]);
    assert!(!err.contains("Offline"), "{err}");
    home.fine(&["session", "close"]);
    // The newest closed session, and one by whatever names it.
    let listed: serde_json::Value =
        serde_json::from_str(&home.fine(&["session", "list", "--json"])).unwrap();
    for (at, name) in [
        "last".to_owned(),
        listed[0]["session_uuid"].as_str().unwrap().to_owned(),
    ]
    .iter()
    .enumerate()
    {
        let folder = home.dir.path().join(format!("export-{at}"));
        home.fine(&["audit", "export", name, folder.to_str().unwrap()]);
        assert!(folder.join("ledger.bundle").exists());
    }
    assert!(listed[0]["start_block"]["network"] == "bitcoin", "{listed}");
    // The kernel's word for the machine, unless the configuration has another.
    assert_eq!(listed[0]["host_role"], "brain");
    home.fine(&["config", "set", "session.host_role", "my desk"]);
    home.fine(&["ask", "four"]);
    assert!(home.fine(&["session", "show", "last"]).contains("my desk"));
    // An alias, set and used.
    assert_eq!(
        home.fine(&["config", "set", "model.alias.mine", "ollama/llama3.1:8b"]),
        "model.alias.mine = \"ollama/llama3.1:8b\"\n"
    );
    assert_eq!(
        home.fine(&["config", "get", "model.alias.mine"]),
        "ollama/llama3.1:8b\n"
    );
    let (code, _, err) = home.run(&["config", "set", "model.alias.auto", "ollama/x"]);
    assert!(code == 2 && err.contains("an alias of"), "{err}");
    let (code, _, err) = home.run(&["config", "set", "model.alias.mine", "nothing"]);
    assert!(code == 2 && err.contains("full id"), "{err}");
    // One fault of a kernel, on one line.
    let file = home.dir.path().join("kernel.toml");
    let text = include_str!("../../genesis/kernel.toml");
    fs::write(&file, text.replacen("tier = ", "teir = ", 1)).unwrap();
    let (code, _, err) = home.run(&["kernel", "check", file.to_str().unwrap()]);
    assert!(
        code == 1 && err.lines().count() == 1 && err.contains("line ") && !err.contains("^"),
        "{err}"
    );
}

#[test]
fn a_model_that_needs_a_key_is_not_begun_without_one() {
    let home = Home::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let explorer = format!("['http://{}']", listener.local_addr().unwrap());
    let mut command = home.command(&["ask", "-m", "sonnet", "x"]);
    command
        .env("GENTLY_ANCHOR_MODE", "auto")
        .env("GENTLY_ANCHOR_ESPLORA", explorer);
    let (code, out, err) = told(command.output().unwrap());
    assert!(
        code == 2 && err.contains("needs a key") && err.contains("ANTHROPIC_API_KEY"),
        "{code} {out}{err}"
    );
    assert!(listener.accept().is_err(), "an explorer was asked");
}
