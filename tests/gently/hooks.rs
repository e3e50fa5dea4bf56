//! Hooks, publishing and export: a ledger given to others, with stock git on both ends.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

fn gently(home: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gently"));
    command
        .args(crate::person::with_sight(args))
        .env("GENTLY_HOME", home)
        .env("GENTLY_ANCHOR_MODE", "off")
        .env("GENTLY_MODEL_DEFAULT", "observer");
    for name in ["GENTLY_AUTH_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"] {
        command.env_remove(name);
    }
    command
        .stdin(std::process::Stdio::null())
        .env("PATH", path())
        .output()
        .unwrap()
}

/// The hooks call `gently` by name: the one of this build comes first.
fn path() -> std::ffi::OsString {
    let own = Path::new(env!("CARGO_BIN_EXE_gently"))
        .parent()
        .unwrap()
        .to_owned();
    let rest = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths([own].into_iter().chain(std::env::split_paths(&rest))).unwrap()
}

fn git(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(dir)
        .args(args)
        .env("PATH", path())
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn fine(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}

/// A home with a closed session and an open one.
fn home() -> (TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    for args in [
        &["ask", "one"][..],
        &["ask", "two"],
        &["session", "close"],
        &["ask", "three"],
    ] {
        fine(&gently(&home, args));
    }
    (dir, home)
}

/// A bare repository that receives ledgers signed by the home's key.
fn host(dir: &Path, signer: &Path) -> std::path::PathBuf {
    let host = dir.join("host.git");
    fine(&git(dir, &["init", "-q", "--bare", host.to_str().unwrap()]));
    fine(&gently(
        &dir.join("none"),
        &[
            "hook",
            "install",
            host.to_str().unwrap(),
            "--signer",
            signer.to_str().unwrap(),
        ],
    ));
    host
}

#[test]
fn an_honest_history_is_published_again_and_again() {
    let (dir, home) = home();
    let host = host(dir.path(), &home.join("keys/signing.key.pub"));
    let remote = host.to_str().unwrap();
    assert!(
        fine(&gently(&home, &["audit", "publish", remote])).contains("published refs/heads/main ")
    );
    fine(&gently(&home, &["ask", "four"]));
    fine(&gently(&home, &["session", "close"]));
    fine(&gently(&home, &["audit", "publish", remote]));
    let key = home.join("keys/signing.key.pub");
    let log = home.join("audit.log");
    let args = [
        "audit",
        "verify",
        "--repo",
        remote,
        "--log",
        log.to_str().unwrap(),
        "--signer",
        key.to_str().unwrap(),
    ];
    fine(&gently(&dir.path().join("none"), &args));
}

#[test]
fn what_is_no_continuation_is_refused_by_both_ends() {
    let (dir, home) = home();
    let (_other_dir, other) = self::home();
    let host = host(dir.path(), &home.join("keys/signing.key.pub"));
    let remote = host.to_str().unwrap();
    // Another key's ledger: the host's hook refuses it.
    let strange = gently(&other, &["audit", "publish", remote]);
    assert_eq!(strange.status.code(), Some(2), "{}", text(&strange.stderr));
    assert!(
        text(&strange.stderr).contains("gently: refused: signed_by"),
        "{}",
        text(&strange.stderr)
    );
    assert_eq!(fine(&git(&host, &["for-each-ref"])), "");
    fine(&gently(&home, &["audit", "publish", remote]));
    // A history that does not hold what is there: our own end refuses it before anything is sent.
    let refused = gently(&other, &["audit", "publish", remote]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        text(&refused.stderr).contains("which our history does not continue"),
        "{}",
        text(&refused.stderr)
    );
    // A rewritten history by force: the host refuses it, with the finding.
    let ledger = home.join("ledger.git");
    for (spec, finding) in [
        ("+refs/heads/main~1:refs/heads/main", "does not continue it"),
        (":refs/heads/branch-1", "would be deleted"),
        ("refs/heads/main:refs/heads/mine", "is no ref of a ledger"),
    ] {
        let pushed = git(&ledger, &["push", remote, spec]);
        assert!(!pushed.status.success(), "{spec}");
        assert!(
            text(&pushed.stderr).contains(finding),
            "{spec}: {}",
            text(&pushed.stderr)
        );
    }
}

#[test]
fn a_forged_commit_is_refused_with_the_finding() {
    let (dir, home) = home();
    let host = host(dir.path(), &home.join("keys/signing.key.pub"));
    let remote = host.to_str().unwrap();
    fine(&gently(&home, &["audit", "publish", remote]));
    let clone = dir.path().join("clone.git");
    fine(&git(
        dir.path(),
        &["clone", "-q", "--mirror", remote, clone.to_str().unwrap()],
    ));
    // Without the owner's key, on top of what is there, in quarantine until the hook has looked.
    let made = git(
        &clone,
        &[
            "-c",
            "user.name=x",
            "-c",
            "user.email=x@x",
            "commit-tree",
            "-p",
            "main",
            "-m",
            "close",
            "main^{tree}",
        ],
    );
    let forged = fine(&made).trim().to_owned();
    let pushed = git(
        &clone,
        &["push", remote, &format!("{forged}:refs/heads/main")],
    );
    assert!(!pushed.status.success());
    let said = text(&pushed.stderr);
    assert!(
        said.contains("gently: refused: consistent") && said.contains(&forged[..10]),
        "{said}"
    );
}

#[test]
fn a_guarded_ledger_takes_our_records_and_no_other_programs_changes() {
    let (_dir, home) = home();
    let ledger = home.join("ledger.git");
    fine(&gently(
        &home,
        &["hook", "install", ledger.to_str().unwrap()],
    ));
    fine(&gently(&home, &["ask", "guarded"]));
    for args in [
        &["update-ref", "-d", "refs/heads/branch-1"][..],
        &["update-ref", "refs/heads/main", "main~1"],
        &["update-ref", "refs/heads/other", "main"],
        &["tag", "v1", "main"],
    ] {
        let changed = git(&ledger, args);
        assert!(!changed.status.success(), "{args:?}");
        assert!(
            text(&changed.stderr).contains("gently: refused"),
            "{args:?}: {}",
            text(&changed.stderr)
        );
    }
    fine(&git(&ledger, &["gc", "-q", "--prune=now"]));
    let packed = git(&ledger, &["update-ref", "-d", "refs/heads/branch-1"]);
    assert!(!packed.status.success(), "a packed ref was deleted");
    fine(&gently(&home, &["ask", "after a stock gc"]));
    fine(&gently(&home, &["audit", "verify", "-v"]));
    fs::write(ledger.join("hooks/pre-receive"), "#!/bin/sh\n").unwrap();
    let key = home.join("keys/signing.key.pub");
    let taken = gently(
        &home,
        &[
            "hook",
            "install",
            ledger.to_str().unwrap(),
            "--signer",
            key.to_str().unwrap(),
        ],
    );
    assert_eq!(
        taken.status.code(),
        Some(2),
        "somebody else's hook was overwritten"
    );
}

#[test]
fn an_exported_session_is_checked_without_the_home() {
    let (dir, home) = home();
    let listed = fine(&gently(&home, &["session", "list"]));
    let id = |line: Option<&str>| {
        line.and_then(|line| line.split(' ').next())
            .unwrap()
            .to_owned()
    };
    let (closed, open) = (id(listed.lines().next()), id(listed.lines().last()));
    let out = dir.path().join("export");
    let export = |prefix: &str| gently(&home, &["audit", "export", prefix, out.to_str().unwrap()]);
    let refused = export(&open);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        text(&refused.stderr).contains(&closed),
        "{}",
        text(&refused.stderr)
    );
    assert_eq!(fine(&export(&closed[..8])).lines().count(), 5);
    assert_eq!(
        export(&closed[..8]).status.code(),
        Some(2),
        "a second export into the same place"
    );
    let file = |name: &str| out.join(name).to_str().unwrap().to_owned();
    let signer = fs::read_to_string(home.join("keys/signing.key.pub")).unwrap();
    let (repo, log) = (file("ledger.bundle"), file("audit.log"));
    let args = [
        "audit",
        "verify",
        "--repo",
        &repo,
        "--log",
        &log,
        "--signer",
        signer.trim(),
        "--require",
        "signed",
    ];
    fine(&gently(&dir.path().join("none"), &args));
    let args = [
        "audit",
        "session",
        &closed[..8],
        "--repo",
        &repo,
        "--log",
        &log,
        "--signer",
        signer.trim(),
    ];
    assert!(fine(&gently(&dir.path().join("none"), &args)).contains("All hashes verified: YES"));
    // The README's own commands.
    let clone = dir.path().join("c.git");
    fine(&git(
        dir.path(),
        &["clone", "-q", "--mirror", &repo, clone.to_str().unwrap()],
    ));
    assert_eq!(text(&git(&clone, &["fsck", "--strict"]).stderr), "");
    let signers = format!("gpg.ssh.allowedSignersFile={}", file("allowed_signers"));
    fine(&git(
        &clone,
        &[
            "-c",
            "gpg.format=ssh",
            "-c",
            &signers,
            "verify-commit",
            "main",
        ],
    ));
    assert!(
        !fs::read_to_string(file("README.md"))
            .unwrap()
            .contains("SESSION_ID")
    );
}

/// `git daemon` on a free port of the loopback address; none where git has no daemon.
struct Daemon {
    child: std::process::Child,
    port: u16,
}

impl Daemon {
    fn serve(folder: &Path) -> Option<Self> {
        let listed = text(&git(folder, &["--exec-path"]).stdout);
        let program = Path::new(listed.trim()).join("git-daemon");
        if !program.exists() {
            eprintln!("skipped: this git has no daemon");
            return None;
        }
        // A port that was free a moment ago may be taken: then another one is tried.
        (0..8).find_map(|_| {
            let port = std::net::TcpListener::bind("127.0.0.1:0")
                .unwrap()
                .local_addr()
                .unwrap()
                .port();
            let child = Command::new(&program)
                .args([
                    "--reuseaddr",
                    "--export-all",
                    "--enable=receive-pack",
                    "--listen=127.0.0.1",
                ])
                .arg(format!("--port={port}"))
                .arg(format!("--base-path={}", folder.display()))
                .arg(folder)
                .env("PATH", path())
                .stderr(std::process::Stdio::null())
                .spawn()
                .unwrap();
            let mut daemon = Daemon { child, port };
            loop {
                if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
                    return Some(daemon);
                }
                if daemon.child.try_wait().unwrap().is_some() {
                    return None;
                }
                std::thread::yield_now();
            }
        })
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_host_behind_git_daemon_takes_honest_histories_only() {
    let (dir, home) = home();
    let host = host(dir.path(), &home.join("keys/signing.key.pub"));
    let Some(daemon) = Daemon::serve(dir.path()) else {
        return;
    };
    let remote = format!("git://127.0.0.1:{}/host.git", daemon.port);
    let ledger = home.join("ledger.git");
    fine(&git(
        &ledger,
        &["push", &remote, "refs/heads/*:refs/heads/*"],
    ));
    let tips = || fine(&git(&host, &["for-each-ref"]));
    let before = tips();
    for (spec, finding) in [
        ("+refs/heads/main~1:refs/heads/main", "does not continue it"),
        (":refs/heads/branch-1", "would be deleted"),
        ("refs/heads/main:refs/heads/mine", "is no ref of a ledger"),
    ] {
        let pushed = git(&ledger, &["push", &remote, spec]);
        assert!(!pushed.status.success(), "{spec}");
        assert!(
            text(&pushed.stderr).contains(finding),
            "{spec}: {}",
            text(&pushed.stderr)
        );
    }
    let (_other_dir, other) = self::home();
    let strange = git(
        &other.join("ledger.git"),
        &["push", "--force", &remote, "refs/heads/*:refs/heads/*"],
    );
    assert!(!strange.status.success(), "{}", text(&strange.stderr));
    assert_eq!(tips(), before);
    fine(&gently(&home, &["ask", "four"]));
    fine(&git(
        &ledger,
        &["push", &remote, "refs/heads/*:refs/heads/*"],
    ));
    assert_ne!(tips(), before);
}
