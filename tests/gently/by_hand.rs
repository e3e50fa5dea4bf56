//! The page `docs/verify-by-hand.md`, run as it stands on a ledger of the real binary.

use std::path::Path;
use std::process::{Command, Output};

use gently::record::ledger::commitment;
use sha2::Digest as _;

/// The page's blocks, in order, as one script.
fn script() -> String {
    let page = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/verify-by-hand.md"),
    )
    .unwrap();
    let mut script = String::new();
    let mut inside = false;
    for line in page.lines() {
        match line {
            "```bash" => inside = true,
            "```" => inside = false,
            _ if inside => {
                script.push_str(line);
                script.push('\n');
            }
            _ => {}
        }
    }
    assert!(
        !inside && script.lines().count() > 50,
        "the page lost its blocks"
    );
    script
}

/// Runs gently in a home of its own, with the headers of the test data for blocks.
fn gently(home: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gently"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GENTLY_") {
            command.env_remove(&name);
        }
    }
    let output = command
        .env_remove("OPENAI_API_KEY")
        .env("GENTLY_HOME", home)
        .args(crate::person::with_sight(words))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{words:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

const TEXT: &str = "How is this machine doing?";

/// A home with two sessions under a real block, the first one closed; gives the prompt's opening
/// key.
fn home_with_an_exchange(home: &Path) -> String {
    let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/btc/headers.csv");
    gently(home, &["init"]);
    gently(home, &["config", "set", "anchor.esplora", "[]"]);
    gently(
        home,
        &["config", "set", "anchor.headers", headers.to_str().unwrap()],
    );
    gently(home, &["ask", TEXT]);
    gently(home, &["ask", "And now?"]);
    gently(home, &["session", "close"]);
    gently(home, &["ask", "Still there?"]);
    let database = rusqlite::Connection::open(home.join("gently.db")).unwrap();
    let salt: Vec<u8> = database
        .query_row(
            "SELECT salt FROM llm_exchange WHERE salt IS NOT NULL ORDER BY rowid LIMIT 1",
            [],
            |row| row.get(0),
        )
        .unwrap();
    let salt = commitment::Salt::new(salt.try_into().unwrap());
    commitment::opening_key(&salt, commitment::Role::Prompt).to_string()
}

fn git(repository: &Path, words: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(repository)
        .args(words)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{words:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The page over what is in a folder; the commit is the one that the page itself finds.
fn run(folder: &Path, key: &str, text: &str) -> Output {
    Command::new("bash")
        .args(["-c", &script()])
        .env("LEDGER", folder.join("clone.git"))
        .env("LOG", folder.join("copy.log"))
        .env("CHECKPOINT", folder.join("copy.checkpoint"))
        .env("SIGNERS", folder.join("signers"))
        .env_remove("COMMIT")
        .env("KEY", key)
        .env("TEXT", text)
        .output()
        .unwrap()
}

/// Every `check` of the page was made, and held.
fn holds(ran: &Output, checks: usize) {
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(
        ran.status.success(),
        "{said}\n{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    assert_eq!(said.matches("ok      ").count(), checks, "{said}");
}

fn breaks(ran: &Output, at: &str) {
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(
        !ran.status.success() && said.contains(&format!("BROKEN  {at}")),
        "{at}: {said}"
    );
}

#[test]
fn the_page_holds_on_a_new_ledger_and_on_no_other_text() {
    let dir = tempfile::tempdir().unwrap();
    let (home, clone, log) = (
        dir.path().join("home"),
        dir.path().join("clone.git"),
        dir.path().join("copy.log"),
    );
    let key = home_with_an_exchange(&home);
    git(
        dir.path(),
        &[
            "clone",
            "--quiet",
            "--mirror",
            home.join("ledger.git").to_str().unwrap(),
            clone.to_str().unwrap(),
        ],
    );
    std::fs::copy(
        home.join("audit.checkpoint"),
        dir.path().join("copy.checkpoint"),
    )
    .unwrap();
    std::fs::copy(home.join("audit.log"), &log).unwrap();
    std::fs::copy(
        home.join("keys/allowed_signers"),
        dir.path().join("signers"),
    )
    .unwrap();

    // The check of a stamp waits for one, that of tree heads is made for each segment: here there
    // is one.
    let checks =
        script().matches("check '").count() + script().matches("check \"the tree").count() - 1;
    let good = run(dir.path(), &key, TEXT);
    holds(&good, checks);
    let said = String::from_utf8_lossy(&good.stdout);
    assert!(
        said.contains("ok      the hash of the header")
            && said.contains("ok      the work is done"),
        "{said}"
    );
    breaks(
        &run(dir.path(), &key, "How was this machine doing?"),
        "the prompt is what was claimed",
    );

    let bytes = std::fs::read(&log).unwrap();
    let mut changed = bytes.clone();
    let last = changed.len() - 2;
    changed[last] ^= 1;
    std::fs::write(&log, &changed).unwrap();
    breaks(&run(dir.path(), &key, TEXT), "the line ");
}

/// The sample ledger of the format, which has a rotation, lines behind the last segment, and here a
/// stamp.
#[test]
fn the_page_holds_on_the_sample_ledger() {
    let dir = tempfile::tempdir().unwrap();
    let honest = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/ledgers/honest");
    let (clone, bundle) = (dir.path().join("clone.git"), honest.join("ledger.bundle"));
    git(
        dir.path(),
        &[
            "clone",
            "--quiet",
            "--mirror",
            bundle.to_str().unwrap(),
            clone.to_str().unwrap(),
        ],
    );
    let copy = |name: &str, to: &str| {
        std::fs::write(
            dir.path().join(to),
            std::fs::read(honest.join(name)).unwrap(),
        )
        .unwrap()
    };
    copy("audit.log", "copy.log");
    copy("audit.checkpoint", "copy.checkpoint");
    copy("allowed_signers", "signers");
    let openings: serde_json::Value =
        serde_json::from_slice(&std::fs::read(honest.join("openings.json")).unwrap()).unwrap();
    let first = openings
        .as_array()
        .unwrap()
        .iter()
        .find(|opening| opening["role"] == "prompt")
        .unwrap();
    let (key, text) = (
        first["key"].as_str().unwrap(),
        first["text"].as_str().unwrap(),
    );
    // Eight segments, each with its tree head, and no stamp.
    let checks = script().matches("check '").count() - 1 + 8;
    holds(&run(dir.path(), key, text), checks);

    let stamp = |digest: &[u8]| {
        let mut proof =
            b"\x00OpenTimestamps\x00\x00Proof\x00\xbf\x89\xe2\xe8\x84\xe8\x92\x94\x01\x08".to_vec();
        proof.extend(digest);
        // A calendar's promise.
        proof.extend(b"\x00\x83\xdf\xe3\x0d\x2e\xf9\x0c\x8e\x12\x11https://a.invalid");
        std::fs::write(dir.path().join("proof"), proof).unwrap();
        let blob = git(
            &clone,
            &[
                "hash-object",
                "-w",
                dir.path().join("proof").to_str().unwrap(),
            ],
        );
        let person = ["-c", "user.name=n", "-c", "user.email=n@n.invalid"];
        git(
            &clone,
            &[
                &person[..],
                &["notes", "--ref=ots", "add", "-f", "-C", &blob, "main"],
            ]
            .concat(),
        );
    };
    let checkpoint = Command::new("git")
        .arg("-C")
        .arg(&clone)
        .args(["show", "main:checkpoint"])
        .output()
        .unwrap()
        .stdout;
    stamp(&sha2::Sha256::digest(&checkpoint));
    holds(&run(dir.path(), key, text), checks + 1);
    stamp(&[7; 32]);
    breaks(
        &run(dir.path(), key, text),
        "the proof is of this checkpoint",
    );
    git(&clone, &["update-ref", "-d", "refs/notes/ots"]);

    // Somebody without a key writes behind the end, well chained.
    let log = std::fs::read_to_string(dir.path().join("copy.log")).unwrap();
    let rest = "829010|2024-02-05T07:40:01Z|auth_fail|-|reason:wrong,count:9";
    let prev = &log.lines().last().unwrap()[..64];
    let hash = sha2::Sha256::digest(format!("{prev}|{rest}"));
    let forged = format!(
        "{log}{}|{rest}\n",
        hash.iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    );
    std::fs::write(dir.path().join("copy.log"), &forged).unwrap();
    breaks(&run(dir.path(), key, text), "no line is signed by nobody");
    std::fs::write(dir.path().join("copy.log"), &log).unwrap();

    // Another tree head: of another text, and by the key of before the rotation.
    let head = std::fs::read_to_string(dir.path().join("copy.checkpoint")).unwrap();
    std::fs::write(
        dir.path().join("copy.checkpoint"),
        head.replacen("\n60\n", "\n59\n", 1),
    )
    .unwrap();
    let ran = run(dir.path(), key, text);
    assert!(
        !ran.status.success()
            && !String::from_utf8_lossy(&ran.stdout).contains("ok      the tree head is signed")
    );
    let old = git(&clone, &["show", "main~4:checkpoint"]);
    std::fs::write(dir.path().join("copy.checkpoint"), format!("{old}\n")).unwrap();
    breaks(&run(dir.path(), key, text), "the key is the newest");
}
