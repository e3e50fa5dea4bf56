//! The page `docs/verify-by-hand.md`, run as it stands on a ledger of the real binary.

use std::path::Path;
use std::process::{Command, Output};

use gently::record::commitment;

/// The page's blocks, in order, as one script.
fn script() -> String {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/verify-by-hand.md")).unwrap();
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
    assert!(!inside && script.lines().count() > 50, "the page lost its blocks");
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
    let output = command.env_remove("OPENAI_API_KEY").env("GENTLY_HOME", home).args(words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

const TEXT: &str = "How is this machine doing?";

/// A home with two sessions under a real block, the first one closed; gives the prompt's opening key.
fn home_with_an_exchange(home: &Path) -> String {
    let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/btc/headers.csv");
    gently(home, &["init"]);
    gently(home, &["config", "set", "anchor.esplora", "[]"]);
    gently(home, &["config", "set", "anchor.headers", headers.to_str().unwrap()]);
    gently(home, &["ask", TEXT]);
    gently(home, &["ask", "And now?"]);
    gently(home, &["session", "close"]);
    gently(home, &["ask", "Still there?"]);
    let database = rusqlite::Connection::open(home.join("gently.db")).unwrap();
    let salt: Vec<u8> = database
        .query_row("SELECT salt FROM llm_exchange WHERE salt IS NOT NULL ORDER BY rowid LIMIT 1", [], |row| row.get(0))
        .unwrap();
    let salt = commitment::Salt::new(salt.try_into().unwrap());
    commitment::opening_key(&salt, commitment::Role::Prompt).to_string()
}

fn git(repository: &Path, words: &[&str]) -> String {
    let output = Command::new("git").arg("-C").arg(repository).args(words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn run(folder: &Path, commit: &str, key: &str, text: &str) -> Output {
    Command::new("bash")
        .args(["-c", &script()])
        .env("LEDGER", folder.join("clone.git"))
        .env("LOG", folder.join("copy.log"))
        .env("SIGNERS", folder.join("home/keys/allowed_signers"))
        .env("COMMIT", commit)
        .env("KEY", key)
        .env("TEXT", text)
        .output()
        .unwrap()
}

#[test]
fn the_page_holds_on_a_new_ledger_and_on_no_other_text() {
    let dir = tempfile::tempdir().unwrap();
    let (home, clone, log) = (dir.path().join("home"), dir.path().join("clone.git"), dir.path().join("copy.log"));
    let key = home_with_an_exchange(&home);
    git(
        dir.path(),
        &["clone", "--quiet", "--mirror", home.join("ledger.git").to_str().unwrap(), clone.to_str().unwrap()],
    );
    std::fs::copy(home.join("audit.log"), &log).unwrap();
    let commit = git(&clone, &["log", "main", "--format=%H", "--grep", "^interaction-1$"]);

    let good = run(dir.path(), &commit, &key, TEXT);
    let said = String::from_utf8_lossy(&good.stdout).into_owned();
    assert!(good.status.success(), "{said}\n{}", String::from_utf8_lossy(&good.stderr));
    assert_eq!(said.matches("ok      ").count(), script().matches("\ncheck ").count(), "{said}");

    let other = run(dir.path(), &commit, &key, "How was this machine doing?");
    assert!(!other.status.success());
    assert!(String::from_utf8_lossy(&other.stderr).contains("BROKEN  the prompt is what was claimed"));

    let bytes = std::fs::read(&log).unwrap();
    let mut changed = bytes.clone();
    let last = changed.len() - 2;
    changed[last] ^= 1;
    std::fs::write(&log, &changed).unwrap();
    let other = run(dir.path(), &commit, &key, TEXT);
    assert!(!other.status.success());
    assert!(
        String::from_utf8_lossy(&other.stderr).contains("BROKEN  the line "),
        "{}",
        String::from_utf8_lossy(&other.stderr)
    );
}
