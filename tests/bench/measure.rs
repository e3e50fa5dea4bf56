//! What things take: seconds, bytes, memory.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How often a process is looked at for its memory.
const LOOK: Duration = Duration::from_millis(20);

/// One check by gently.
pub struct Checked {
    pub seconds: f64,
    pub commits: u64,
    pub anonymous_mb: f64,
}

/// Processor time of this process's threads so far.
pub fn cpu_seconds() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let of = |thread: std::io::Result<std::fs::DirEntry>| -> Option<f64> {
        let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse().ok()
    };
    threads.filter_map(of).sum::<f64>() / 1e9
}

/// How many packs a home's ledger has.
pub fn packs(home: &Path) -> usize {
    let folder = std::fs::read_dir(home.join("ledger.git/objects/pack")).unwrap();
    folder
        .filter(|entry| {
            entry
                .as_ref()
                .unwrap()
                .path()
                .extension()
                .is_some_and(|e| e == "pack")
        })
        .count()
}

/// Prints bytes on disk, the ledger's and the log's, and the database's apart.
pub fn bytes(home: &Path, count: u64) {
    let each = |bytes: u64| bytes / count.max(1);
    let (ledger, log) = (
        size(&home.join("ledger.git")),
        size(&home.join("audit.log")),
    );
    let pack = packs_size(home, "pack");
    let index = packs_size(home, "idx");
    let database = size(&home.join("gently.db")) + size(&home.join("gently.db-wal"));
    println!(
        "bytes a turn: ledger.git {} (packs {}, indices {}), audit.log {}; gently.db {}; {} packs",
        each(ledger),
        each(pack),
        each(index),
        each(log),
        each(database),
        packs(home)
    );
}

fn packs_size(home: &Path, extension: &str) -> u64 {
    let folder = std::fs::read_dir(home.join("ledger.git/objects/pack"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    folder
        .filter(|path| path.extension().is_some_and(|e| e == extension))
        .map(|path| size(&path))
        .sum()
}

fn size(path: &Path) -> u64 {
    let Ok(found) = std::fs::symlink_metadata(path) else {
        return 0;
    };
    if !found.is_dir() {
        return found.len();
    }
    std::fs::read_dir(path)
        .unwrap()
        .map(|entry| size(&entry.unwrap().path()))
        .sum()
}

fn git(repository: &Path) -> Command {
    let mut git = Command::new("git");
    git.env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .arg("-C")
        .arg(repository);
    git
}

/// Seconds of `git fsck --full`.
pub fn fsck(repository: &Path) -> f64 {
    let begun = Instant::now();
    let output = git(repository)
        .args(["fsck", "--full", "--no-progress"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    begun.elapsed().as_secs_f64()
}

/// Commits a second of `git verify-commit`.
pub fn verify_commit(repository: &Path, count: usize) -> f64 {
    let signers = repository.join("../keys/allowed_signers");
    let list = git(repository)
        .args(["rev-list", "--all", "-n"])
        .arg(count.to_string())
        .output()
        .unwrap();
    let ids = String::from_utf8(list.stdout).unwrap();
    let mut verify = git(repository);
    verify
        .arg("-c")
        .arg(format!("gpg.ssh.allowedSignersFile={}", signers.display()));
    let begun = Instant::now();
    let output = verify
        .arg("verify-commit")
        .args(ids.lines())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    ids.lines().count() as f64 / begun.elapsed().as_secs_f64()
}

/// Runs `gently audit verify` with these arguments on so many cores.
pub fn verify(arguments: &[&OsStr], cores: usize) -> Checked {
    let mut command = Command::new("taskset");
    let mask = if cores == 1 { "0" } else { "0,1" };
    command
        .args([
            "-c",
            mask,
            env!("CARGO_BIN_EXE_gently"),
            "audit",
            "verify",
            "--json",
        ])
        .args(arguments);
    watch(command)
}

/// Runs `gently audit verify` on a home.
pub fn verify_home(home: &Path) -> Checked {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gently"));
    command
        .env("GENTLY_HOME", home)
        .args(["audit", "verify", "--json"]);
    watch(command)
}

fn watch(mut command: Command) -> Checked {
    let begun = Instant::now();
    // Into a file: a pipe that nobody reads while the process is watched would stop it.
    let mut file = tempfile::tempfile().unwrap();
    let mut child = command
        .stdout(Stdio::from(file.try_clone().unwrap()))
        .spawn()
        .unwrap();
    let mut most = 0;
    let mut seconds = None;
    while seconds.is_none() {
        most = most.max(anonymous_kb(&child));
        std::thread::sleep(LOOK);
        seconds = finished(&mut child).then(|| begun.elapsed().as_secs_f64());
    }
    std::io::Seek::rewind(&mut file).unwrap();
    let report: serde_json::Value = serde_json::from_reader(std::io::BufReader::new(file)).unwrap();
    assert!(child.wait().unwrap().success(), "{}", report["findings"]);
    let commits = report["commits"]
        .as_object()
        .unwrap()
        .values()
        .filter_map(serde_json::Value::as_u64)
        .sum();
    Checked {
        seconds: seconds.unwrap(),
        commits,
        anonymous_mb: most as f64 / 1024.0,
    }
}

fn finished(child: &mut Child) -> bool {
    child.try_wait().unwrap().is_some()
}

fn anonymous_kb(child: &Child) -> u64 {
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse().ok())
        .unwrap_or_default()
}
