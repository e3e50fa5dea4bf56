//! A stranger's folder under a budget: what is larger than a ledger, no file, or no history is
//! refused or named, in 600 MB of memory and a minute, and nothing is waited for or followed.

use std::fs;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Kilobytes of address space that a check may take.
const MEMORY_KB: u64 = 600_000;
/// Seconds of processor time that a check may take; on an idle machine it takes no longer.
const SECONDS: u64 = 60;
/// After so long something is waited for; beside other tests a check takes longer than its
/// processor time.
const WITHIN: Duration = Duration::from_secs(900);

fn gently() -> Command {
    let mut command = Command::new("sh");
    command.args([
        "-c",
        &format!("ulimit -v {MEMORY_KB}; ulimit -t {SECONDS}; exec \"$0\" \"$@\""),
        env!("CARGO_BIN_EXE_gently"),
    ]);
    command
        .env("GENTLY_ANCHOR_MODE", "off")
        .env("GENTLY_MODEL_DEFAULT", "observer")
        .stdin(Stdio::null());
    command
}

fn git(dir: &Path, args: &[&str], input: &[u8]) -> String {
    let mut command = Command::new("git");
    command
        .arg("--git-dir")
        .arg(dir)
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    for role in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{role}_NAME"), "gently")
            .env(format!("GIT_{role}_EMAIL"), "ledger@gently.invalid");
        command.env(format!("GIT_{role}_DATE"), "1800000000 +0000");
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{args:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A copy of a ledger that somebody hands over, to be made worse.
struct Stranger {
    dir: TempDir,
}

impl Stranger {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        for args in [&["ask", "--sight", "one"][..], &["session", "close"]] {
            let done = gently()
                .args(args)
                .env("GENTLY_HOME", &home)
                .output()
                .unwrap();
            assert!(
                done.status.success(),
                "{}",
                String::from_utf8_lossy(&done.stderr)
            );
        }
        Stranger { dir }
    }

    fn repository(&self) -> PathBuf {
        self.dir.path().join("home/ledger.git")
    }

    fn at(&self, name: &str) -> PathBuf {
        self.repository().join(name)
    }

    fn blob(&self, content: &[u8]) -> String {
        git(
            &self.repository(),
            &["hash-object", "-w", "--stdin"],
            content,
        )
    }

    fn tree(&self, entries: &str) -> String {
        // Written as it is: git's own command refuses names that stand twice.
        let mut raw = Vec::new();
        for line in entries.lines() {
            let (head, name) = line.split_once('\t').unwrap();
            let mut words = head.split(' ');
            let (mode, _, id) = (words.next().unwrap(), words.next(), words.next().unwrap());
            raw.extend(format!("{} {name}\0", mode.trim_start_matches('0')).into_bytes());
            raw.extend(hex::decode(id).unwrap());
        }
        git(
            &self.repository(),
            &["hash-object", "-w", "-t", "tree", "--literally", "--stdin"],
            &raw,
        )
    }

    /// A commit with a tree on top of `main`, unsigned.
    fn on_main(&self, tree: &str, message: &str) {
        let tip = git(&self.repository(), &["rev-parse", "refs/heads/main"], b"");
        let commit = git(
            &self.repository(),
            &["commit-tree", tree, "-p", &tip],
            message.as_bytes(),
        );
        fs::write(self.at("refs/heads/main"), format!("{commit}\n")).unwrap();
    }

    /// Checks it from outside; code and all words.
    fn check(&self, log: Option<&Path>) -> (i32, String) {
        let mut command = gently();
        command
            .args(["audit", "verify", "-v", "--quiet", "--repo"])
            .arg(self.repository());
        if let Some(log) = log {
            command.arg("--log").arg(log);
        }
        finished(command)
    }
}

/// Runs to the end, within the time; code and all words. A file takes them: a pipe that nobody
/// reads fills.
fn finished(mut command: Command) -> (i32, String) {
    let begun = Instant::now();
    let mut said = tempfile::tempfile().unwrap();
    command
        .stdout(said.try_clone().unwrap())
        .stderr(said.try_clone().unwrap());
    let mut child = command.spawn().unwrap();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > WITHIN {
            let _ = child.kill();
            panic!("it takes longer than {} s", WITHIN.as_secs());
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let mut words = String::new();
    said.rewind().unwrap();
    said.read_to_string(&mut words).unwrap();
    (
        status
            .code()
            .unwrap_or_else(|| panic!("ended by a signal: {words}")),
        words,
    )
}

const MIB: usize = 1 << 20;

#[test]
fn an_honest_ledger_is_within_every_budget() {
    let stranger = Stranger::new();
    let (code, words) = stranger.check(Some(&stranger.dir.path().join("home/audit.log")));
    assert_eq!(code, 0, "{words}");
}

#[test]
fn a_tree_that_names_one_file_many_times_is_read_once() {
    let stranger = Stranger::new();
    let blob = stranger.blob(&vec![b'a'; 60 * MIB]);
    let entries: String = (0..14)
        .map(|_| format!("100644 blob {blob}\taudit.log\n"))
        .collect();
    let tree = stranger.tree(&entries);
    for n in 0..3 {
        stranger.on_main(&tree, &format!("checkpoint:000000000000000{n}\n"));
    }
    let (code, words) = stranger.check(None);
    assert_eq!(code, 1, "{words}");
    assert!(words.contains("without a newline at the end"), "{words}");
}

#[test]
fn newlines_are_no_lines_and_cost_one_finding() {
    let stranger = Stranger::new();
    let blob = stranger.blob(&vec![b'\n'; 60 * MIB]);
    let tree = stranger.tree(&format!("100644 blob {blob}\taudit.log\n"));
    stranger.on_main(&tree, "checkpoint:0000000000000000\n");
    let (code, words) = stranger.check(None);
    assert_eq!(code, 1, "{words}");
    assert!(
        words.contains("62914560 newlines in 62914560 bytes"),
        "{words}"
    );
}

#[test]
fn more_than_the_disk_holds_many_times_over_is_refused_with_the_objects_name() {
    let stranger = Stranger::new();
    for n in 0..24u8 {
        let mut bytes = vec![b'a'; 60 * MIB];
        bytes[0] = n;
        let blob = stranger.blob(&bytes);
        let tree = stranger.tree(&format!("100644 blob {blob}\taudit.log\n"));
        stranger.on_main(&tree, &format!("checkpoint:00000000000000{n:02}\n"));
    }
    let (code, words) = stranger.check(None);
    assert_eq!(code, 2, "{words}");
    assert!(
        words.contains("refused at object ") && words.contains("bytes when they are inflated"),
        "{words}"
    );
}

#[test]
fn what_is_larger_than_its_place_allows_is_unreadable() {
    for what in ["commit", "tree", "document", "segment"] {
        let stranger = Stranger::new();
        let small = stranger.blob(b"x");
        let (tree, message) = match what {
            "commit" => (
                stranger.tree(&format!("100644 blob {small}\tx\n")),
                "m".repeat(20 * MIB),
            ),
            "tree" => {
                let entries: String = (0..400_000)
                    .map(|n| format!("100644 blob {small}\t{n:06}\n"))
                    .collect();
                (
                    stranger.tree(&entries),
                    "checkpoint:0000000000000000\n".to_owned(),
                )
            }
            "document" => {
                let blob = stranger.blob(&vec![b' '; 50 * MIB]);
                (
                    stranger.tree(&format!("100644 blob {blob}\tcheckpoint.json\n")),
                    "checkpoint:0000000000000000\n".into(),
                )
            }
            _ => {
                let blob = stranger.blob(&vec![b'a'; 65 * MIB]);
                (
                    stranger.tree(&format!("100644 blob {blob}\taudit.log\n")),
                    "checkpoint:0000000000000000\n".into(),
                )
            }
        };
        stranger.on_main(&tree, &message);
        let (code, words) = stranger.check(None);
        assert_eq!(code, 1, "{what}: {words}");
        // Of a commit that nobody signed the tree is looked at for a segment only.
        let named = ["commit", "segment"].contains(&what);
        assert_eq!(
            words.contains("bytes, more than "),
            named,
            "{what}: {words}"
        );
    }
}

#[test]
fn a_tree_of_notes_has_two_levels_and_one_note_for_each_commit() {
    let stranger = Stranger::new();
    let mut inner = format!("100644 blob {}\t00\n", stranger.blob(b"note"));
    for _ in 0..19 {
        let tree = stranger.tree(&inner);
        inner = (0..=255)
            .map(|n| format!("40000 tree {tree}\t{n:02x}\n"))
            .collect();
    }
    let commit = git(
        &stranger.repository(),
        &["commit-tree", &stranger.tree(&inner)],
        b"notes\n",
    );
    for reference in ["ots", "witness"] {
        fs::create_dir_all(stranger.at("refs/notes")).unwrap();
        fs::write(
            stranger.at(&format!("refs/notes/{reference}")),
            format!("{commit}\n"),
        )
        .unwrap();
    }
    let (code, words) = stranger.check(None);
    assert_eq!(code, 1, "{words}");
    assert!(
        words.contains("one in the other") && words.contains("several names"),
        "{words}"
    );
}

#[test]
fn a_log_of_nothing_is_refused_soon() {
    let stranger = Stranger::new();
    let log = stranger.dir.path().join("log");
    let honest = fs::read(stranger.dir.path().join("home/audit.log")).unwrap();
    // Zeros that take no room on the disk: a line without an end.
    fs::write(&log, &honest).unwrap();
    fs::OpenOptions::new()
        .write(true)
        .open(&log)
        .unwrap()
        .set_len(1 << 38)
        .unwrap();
    let (code, words) = stranger.check(Some(&log));
    assert_eq!(code, 2, "{words}");
    assert!(words.contains("this is no log"), "{words}");
    fs::write(&log, [honest.as_slice(), &vec![b'\n'; 40 * MIB]].concat()).unwrap();
    let (code, words) = stranger.check(Some(&log));
    // Behind the last signed line nobody signed them: they are counted, and nothing in them counts.
    assert_eq!(code, 1, "{words}");
    assert!(
        words.contains("lines 9 to 41943048 are signed by nobody"),
        "{words}"
    );
}

fn pipe(path: &Path) {
    let _ = fs::remove_file(path);
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn pipes_links_and_devices_are_not_opened() {
    let loose = |stranger: &Stranger| {
        let folder = stranger.at("objects/00");
        fs::create_dir_all(&folder).unwrap();
        folder.join("0".repeat(38))
    };
    // What stands where, and the code: a ref that is no file is a finding, anything else keeps from
    // looking.
    for (name, code) in [
        ("HEAD", 2),
        ("packed-refs", 2),
        ("objects", 2),
        ("refs/heads/main", 1),
        ("refs/heads/branch-5", 1),
    ] {
        for kind in ["pipe", "link", "device"] {
            let stranger = Stranger::new();
            let path = stranger.at(name);
            let aside = stranger.dir.path().join("aside");
            let _ = fs::rename(&path, &aside);
            match kind {
                "pipe" => pipe(&path),
                "link" => symlink(&aside, &path).unwrap(),
                _ => symlink("/dev/zero", &path).unwrap(),
            }
            let (found, words) = stranger.check(None);
            assert_eq!(found, code, "{name}, {kind}: {words}");
        }
    }
    for kind in ["pipe", "link"] {
        let stranger = Stranger::new();
        let path = loose(&stranger);
        if kind == "pipe" {
            pipe(&path)
        } else {
            symlink("/dev/zero", &path).unwrap()
        }
        let (code, words) = stranger.check(None);
        assert!(
            code == 2 && words.contains("not a regular file"),
            "{kind}: {words}"
        );
        fs::remove_file(&path).unwrap();
        pipe(&stranger.at("objects/info/alternates"));
        assert_eq!(stranger.check(None).0, 2);
    }
    let stranger = Stranger::new();
    let log = stranger.dir.path().join("log");
    for kind in ["pipe", "link"] {
        let _ = fs::remove_file(&log);
        if kind == "pipe" {
            pipe(&log)
        } else {
            symlink(stranger.dir.path().join("home/audit.log"), &log).unwrap()
        }
        let (code, words) = stranger.check(Some(&log));
        assert!(
            code == 2 && words.contains("not a regular file"),
            "{kind}: {words}"
        );
    }
}

/// What a checker is handed beside a ledger: each file by its option, for both verifiers.
#[test]
fn no_file_that_a_checker_is_handed_is_waited_for_or_read_without_end() {
    let stranger = Stranger::new();
    let (handed, folder) = (
        stranger.dir.path().join("handed"),
        stranger.dir.path().join("headers"),
    );
    fs::create_dir(&folder).unwrap();
    let (repository, log) = (
        stranger.repository(),
        stranger.dir.path().join("home/audit.log"),
    );
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/verify.py");
    let python = |args: &[&Path]| {
        let mut command = Command::new("sh");
        command.args([
            "-c",
            &format!("ulimit -v {MEMORY_KB}; ulimit -t {SECONDS}; exec \"$0\" \"$@\""),
            "python3",
        ]);
        command.arg(&script).args(args);
        finished(command)
    };
    let ours = |args: &[&Path]| {
        let mut command = gently();
        command.arg("audit").args(args);
        finished(command)
    };
    let p = Path::new;
    for kind in ["pipe", "device", "link", "large"] {
        let _ = fs::remove_file(&handed);
        match kind {
            "pipe" => pipe(&handed),
            "device" => symlink("/dev/zero", &handed).unwrap(),
            "link" => symlink(
                stranger.dir.path().join("home/keys/allowed_signers"),
                &handed,
            )
            .unwrap(),
            // Zeros that take no room on the disk.
            _ => fs::File::create(&handed).unwrap().set_len(1 << 38).unwrap(),
        }
        for option in [
            "--receipt",
            "--head",
            "--policy",
            "--signer",
            "--log",
            "--headers",
        ] {
            let asked = [
                p("verify"),
                p("--quiet"),
                p("--repo"),
                &repository,
                p(option),
                &handed,
            ];
            let (code, words) = ours(&asked);
            assert_eq!(code, 2, "{option}, {kind}: {words}");
            assert!(
                words.contains(handed.to_str().unwrap()),
                "{option}, {kind}: {words}"
            );
            let (code, words) = python(&[&repository, p(option), &handed]);
            assert_eq!(code, 2, "verify.py {option}, {kind}: {words}");
        }
        let with_log = [
            p("verify"),
            p("--quiet"),
            p("--repo"),
            &repository,
            p("--log"),
            &log,
        ];
        let (code, words) = ours(&[&with_log[..], &[p("--checkpoint"), &handed]].concat());
        // A file that is too large for a tree head is a tree head that is wrong.
        assert_eq!(
            code,
            if kind == "large" { 1 } else { 2 },
            "--checkpoint, {kind}: {words}"
        );
        if kind != "large" {
            let (code, words) = ours(&[p("verify"), p("--quiet"), p("--repo"), &handed]);
            assert_eq!(code, 2, "--repo, {kind}: {words}");
            let (code, words) = ours(&[&with_log[..], &[p("--compare"), &handed]].concat());
            assert_eq!(code, 2, "--compare, {kind}: {words}");
        }
        let (code, words) = ours(&[p("check"), &handed]);
        assert_eq!(code, 2, "check, {kind}: {words}");
        assert_eq!(
            python(&[p("--opening"), &handed]).0,
            2,
            "verify.py --opening, {kind}"
        );
        if kind != "large" {
            let within = folder.join("bitcoin-0.dat");
            let _ = fs::remove_file(&within);
            fs::rename(&handed, &within).unwrap();
            let (code, words) = python(&[&repository, p("--headers"), &folder]);
            assert_eq!(code, 2, "verify.py --headers, {kind} in it: {words}");
        }
    }
}

#[test]
fn shallow_clones_and_grafts_are_refused_with_the_way_out() {
    let stranger = Stranger::new();
    let tip = git(
        &stranger.repository(),
        &["rev-parse", "refs/heads/main"],
        b"",
    );
    fs::write(stranger.at("shallow"), format!("{tip}\n")).unwrap();
    let (code, words) = stranger.check(None);
    assert!(
        code == 2 && words.contains("git fetch --unshallow"),
        "{words}"
    );
    fs::remove_file(stranger.at("shallow")).unwrap();
    fs::create_dir_all(stranger.at("info")).unwrap();
    fs::write(stranger.at("info/grafts"), format!("{tip}\n")).unwrap();
    let (code, words) = stranger.check(None);
    assert!(code == 2 && words.contains("info/grafts"), "{words}");
}

#[test]
fn hooks_are_not_installed_through_links_nor_where_git_does_not_look() {
    let stranger = Stranger::new();
    let (repository, victim) = (
        stranger.repository(),
        stranger.dir.path().join("authorized_keys"),
    );
    fs::write(&victim, "mine\n").unwrap();
    let key = stranger.dir.path().join("home/keys/signing.key.pub");
    let install = |configured: &[(&str, &str)]| {
        let mut command = gently();
        command
            .args(["hook", "install"])
            .arg(&repository)
            .arg("--signer")
            .arg(&key);
        for (at, (name, value)) in configured.iter().enumerate() {
            command
                .env(format!("GIT_CONFIG_KEY_{at}"), name)
                .env(format!("GIT_CONFIG_VALUE_{at}"), value);
        }
        command.env("GIT_CONFIG_COUNT", configured.len().to_string());
        finished(command)
    };
    symlink(&victim, repository.join("gently-signer")).unwrap();
    let (code, words) = install(&[]);
    assert!(code == 2 && words.contains("a symlink"), "{words}");
    fs::remove_file(repository.join("gently-signer")).unwrap();
    let _ = fs::remove_dir_all(repository.join("hooks"));
    symlink(stranger.dir.path(), repository.join("hooks")).unwrap();
    let (code, words) = install(&[]);
    assert!(code == 2 && words.contains("a symlink"), "{words}");
    fs::remove_file(repository.join("hooks")).unwrap();
    let (code, words) = install(&[("core.hooksPath", "/elsewhere")]);
    assert!(
        code == 2 && words.contains("git does not run them") && !words.contains("installed "),
        "{words}"
    );
    let (code, words) = install(&[]);
    assert!(code == 0 && words.contains("installed "), "{words}");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine\n");
    let mode = fs::metadata(repository.join("hooks/pre-receive"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o755);
}

#[test]
fn a_home_is_not_made_through_a_link_in_its_locks_place() {
    let dir = tempfile::tempdir().unwrap();
    let victim = dir.path().join("victim");
    fs::write(&victim, "mine\n").unwrap();
    symlink(&victim, dir.path().join(".home.init.lock")).unwrap();
    let made = gently()
        .arg("init")
        .env("GENTLY_HOME", dir.path().join("home"))
        .output()
        .unwrap();
    assert_eq!(
        made.status.code(),
        Some(2),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine\n");
    assert!(!dir.path().join("home").exists());
}
