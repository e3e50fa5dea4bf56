//! Auth keys, passphrases and provider keys, through the program as a person runs it.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::model_server::{Behaviour, ModelServer};

use crate::unguarded::unguarded;

/// A home in a temporary folder, and the program with nothing of this machine's environment that
/// matters.
pub struct Gently {
    /// Holds the home and whatever a test puts beside it.
    pub dir: tempfile::TempDir,
}

impl Gently {
    /// No home yet; the first command makes it.
    pub fn new() -> Self {
        Gently {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    /// Where the home is.
    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// A place beside it.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The program, not started; it has no terminal, so nothing can wait for a person.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("setsid");
        command
            .arg("-w")
            .arg(env!("CARGO_BIN_EXE_gently"))
            .args(crate::person::with_sight(args));
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("GENTLY_") || text.ends_with("_API_KEY") {
                command.env_remove(&name);
            }
        }
        command
            .env("GENTLY_HOME", self.home())
            .envs(crate::person::at_rest())
            .env("GENTLY_ANCHOR_MODE", "off")
            .env("GENTLY_TEST_WORK_FACTOR", "4")
            .env("NO_PROXY", "127.0.0.1")
            .stdin(Stdio::null());
        command
    }

    /// Runs it to its end.
    pub fn run(&self, args: &[&str], env: &[(&str, &str)]) -> Ran {
        Ran::of(
            self.command(args)
                .envs(env.iter().copied())
                .output()
                .unwrap(),
        )
    }

    /// Runs it, and it must work.
    pub fn ok(&self, args: &[&str]) -> Ran {
        let ran = self.run(args, &[]);
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
        ran
    }

    /// The log as text.
    pub fn log(&self) -> String {
        fs::read_to_string(self.home().join("audit.log")).unwrap()
    }

    /// Every file of the home that holds some bytes.
    pub fn files_with(&self, secret: &str) -> Vec<PathBuf> {
        let (mut found, mut open) = (Vec::new(), vec![self.home()]);
        while let Some(dir) = open.pop() {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else if fs::read(&path)
                    .unwrap()
                    .windows(secret.len())
                    .any(|w| w == secret.as_bytes())
                {
                    found.push(path);
                }
            }
        }
        found
    }
}

/// What a run left.
#[derive(Debug)]
pub struct Ran {
    /// The exit code.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Ran {
    /// Of a finished process.
    pub fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran {
            code: output.status.code().unwrap_or(-1),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// Standard output as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// Must have ended with a code and said this.
    pub fn says(&self, code: i32, words: &str) {
        assert_eq!(self.code, code, "{self:?}");
        assert!(self.err.contains(words), "'{words}' is not in {self:?}");
    }
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_key_is_added_shown_once_used_and_revoked() {
    let gently = Gently::new();
    gently.ok(&["ask", "hello"]);
    let key = gently.ok(&["key", "add", "laptop"]).out.trim().to_owned();
    assert_eq!(key.len(), 64);
    let with_key = [("GENTLY_AUTH_KEY", key.as_str())];
    assert_eq!(gently.run(&["ask", "hello"], &with_key).code, 0);
    assert_eq!(
        gently.files_with(&key),
        Vec::<PathBuf>::new(),
        "the key itself is kept"
    );
    gently
        .run(&["key", "add", "laptop"], &[])
        .says(2, "names: owner, laptop");
    gently
        .run(&["key", "revoke", "--yes", "desk"], &[])
        .says(2, "names: owner, laptop");

    let keys = gently.ok(&["--json", "key", "list"]).json();
    let hash = keys[1]["hash"].as_str().unwrap().to_owned();
    assert_eq!(
        (keys[0]["name"].as_str(), keys[1]["name"].as_str()),
        (Some("owner"), Some("laptop"))
    );
    assert_eq!(keys[1]["revoked_at"], Value::Null);
    assert!(gently.log().contains(&format!(
        "|artifact|-|kind:auth_key,id:laptop-{},",
        &hash[..16]
    )));

    gently.ok(&["key", "revoke", "--yes", "laptop"]);
    assert!(
        gently
            .log()
            .contains(&format!("kind:auth_key,id:laptop-{}-revoked,", &hash[..16]))
    );
    gently
        .run(&["key", "revoke", "--yes", "laptop"], &[])
        .says(2, "already");
    gently
        .run(&["ask", "hello"], &with_key)
        .says(2, "revoked_key");
    assert!(
        gently
            .log()
            .contains("|auth_fail|-|reason:revoked_key,count:1")
    );
    let prompts = gently.log().matches("|prompt|").count();
    assert_eq!(prompts, 2, "a prompt went through with a revoked key");
    // Its session is closed by the other key.
    let sessions = gently.ok(&["--json", "session", "close"]).json();
    assert_eq!(sessions.as_array().unwrap().len(), 2);
    gently
        .run(&["key", "revoke", "--yes", "owner"], &[])
        .says(2, "--force");
    gently.ok(&["audit", "verify"]);
    gently.ok(&["key", "revoke", "--yes", "owner", "--force"]);
    gently
        .run(&["key", "add", "late"], &[])
        .says(2, "revoked_key");
}

#[test]
fn a_passphrase_on_the_vault_file() {
    let gently = Gently::new();
    gently.ok(&["ask", "hello"]);
    let path = gently.home().join("keys/auth.key");
    let plain = fs::read_to_string(&path).unwrap();
    let right = [("GENTLY_PASSPHRASE", "correct horse")];
    let protected = gently.run(&["--json", "key", "protect"], &right);
    assert_eq!(
        (protected.code, protected.json()["state"].as_str()),
        (0, Some("protected")),
        "{protected:?}"
    );
    assert!(
        fs::read_to_string(&path)
            .unwrap()
            .starts_with("-----BEGIN AGE ENCRYPTED FILE-----\n")
    );
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(gently.files_with(plain.trim()), Vec::<PathBuf>::new());

    assert_eq!(gently.run(&["ask", "hello"], &right).code, 0);
    assert_eq!(
        gently
            .run(
                &["--passphrase-cmd", "echo 'correct horse'", "ask", "hello"],
                &[]
            )
            .code,
        0
    );
    gently
        .run(&["ask", "hello"], &[("GENTLY_PASSPHRASE", "wrong")])
        .says(2, "wrong passphrase");
    gently
        .run(&["ask", "hello"], &[])
        .says(2, "$GENTLY_PASSPHRASE");
    // The flag wins over the variable, and the variable over the configuration.
    gently
        .run(&["--passphrase-cmd", "echo no", "ask", "hello"], &right)
        .says(2, "wrong passphrase");
    gently
        .run(
            &["--passphrase-cmd", "echo hush; exit 7", "ask", "hello"],
            &[],
        )
        .says(2, "--passphrase-cmd");
    // What guards a home is set by whoever has its key.
    let set = [
        "config",
        "set",
        "keys.passphrase_cmd",
        "echo 'correct horse'",
    ];
    gently.run(&set, &[]).says(2, "needs a passphrase");
    assert_eq!(gently.run(&set, &right).code, 0);
    gently.ok(&["ask", "hello"]);
    gently
        .run(&["ask", "hello"], &[("GENTLY_PASSPHRASE", "wrong")])
        .says(2, "wrong passphrase");
    let log = gently.log();
    assert!(
        log.contains("reason:wrong_passphrase,count:1")
            && log.contains("reason:no_passphrase,count:1")
    );

    gently.run(&["key", "protect"], &right).says(2, "already");
    // For a name that is none, nobody is asked for the passphrase; to take it off, once.
    let asked = gently.home().join("asked");
    let count = format!("echo 1 >> {}; echo 'correct horse'", asked.display());
    let once = ["--passphrase-cmd", count.as_str()];
    let with = |args: &[&'static str]| gently.run(&[&once, args].concat(), &[]);
    assert_eq!(with(&["key", "revoke", "nobody", "--yes"]).code, 2);
    assert!(!asked.exists());
    assert_eq!(with(&["key", "unprotect"]).code, 0);
    assert_eq!(fs::read_to_string(&asked).unwrap(), "1\n");
    assert_eq!(fs::read_to_string(&path).unwrap(), plain);
    gently
        .run(&["key", "unprotect"], &[])
        .says(2, "no passphrase");
    assert_eq!(
        fs::read_dir(gently.home().join("keys")).unwrap().count(),
        4,
        "something was left behind"
    );
}

#[test]
fn stock_age_reads_what_protect_wrote() {
    if Command::new("age").arg("--version").output().is_err() {
        eprintln!("age is not installed: not compared with it");
        return;
    }
    let gently = Gently::new();
    gently.ok(&["ask", "hello"]);
    let path = gently.home().join("keys/auth.key");
    let plain = fs::read_to_string(&path).unwrap();
    assert_eq!(
        gently
            .run(
                &["key", "protect"],
                &[("GENTLY_PASSPHRASE", "correct horse")]
            )
            .code,
        0
    );
    let (out, typescript) = (gently.beside("plain"), gently.beside("typescript"));
    // age asks on a terminal only, and script is one.
    let age = format!("age -d -o '{}' '{}'", out.display(), path.display());
    let mut child = Command::new("script")
        .args(["-qec", &age])
        .arg(&typescript)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("script (util-linux) is installed");
    let mut typed = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut typed, b"correct horse\n").unwrap();
    let status = child.wait().unwrap();
    assert!(
        status.success(),
        "{}",
        fs::read_to_string(&typescript).unwrap_or_default()
    );
    assert_eq!(fs::read_to_string(out).unwrap(), plain);
}

const SECRET: &str = "sk-test-9f8e7d6c5b4a39281706f5e4d3c2b1a0";

/// The server's key comes from each place, reaches the server, and is found nowhere afterwards.
#[test]
fn the_key_of_a_model_server() {
    let server = ModelServer::start(Behaviour::Good);
    let gently = Gently::new();
    gently.ok(&["init"]);
    gently.ok(&["config", "set", "model.base_url", &server.base_url()]);
    let file = gently.beside("model.key");
    fs::write(&file, format!("{SECRET}\n")).unwrap();
    chmod(&file, 0o600);
    let print = format!("cat '{}'", file.display());
    let ask = ["ask", "-m", "openai/test", "hello"];

    let mut outputs = vec![gently.run(&ask, &[("OPENAI_API_KEY", SECRET)])];
    outputs.push(gently.run(
        &["--key-cmd", &print, "ask", "-m", "openai/test", "hello"],
        &[],
    ));
    outputs.push(gently.run(&ask, &[("GENTLY_MODEL_KEY_CMD", &print)]));
    gently.ok(&["config", "set", "model.key_file", file.to_str().unwrap()]);
    outputs.push(gently.run(&ask, &[]));
    for (n, (ran, request)) in outputs.iter().zip(server.requests()).enumerate() {
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(
            request.header("authorization"),
            Some(format!("Bearer {SECRET}").as_str()),
            "way {n}"
        );
    }
    assert_eq!(server.requests().len(), 4);

    chmod(&file, 0o640);
    let wide = gently.run(&ask, &[]);
    wide.says(2, "chmod 600");
    fs::remove_file(&file).unwrap();
    let missing = gently.run(&ask, &[]);
    missing.says(2, "model.key_file");
    let failed = gently.run(
        &[
            "--key-cmd",
            &format!("echo {SECRET}; false"),
            "ask",
            "-m",
            "openai/test",
            "x",
        ],
        &[],
    );
    failed.says(2, "--key-cmd");
    for ran in outputs.iter().chain([&wide, &missing, &failed]) {
        assert!(
            !ran.out.contains(SECRET) && !ran.err.contains(SECRET),
            "{ran:?}"
        );
    }
    assert_eq!(gently.files_with(SECRET), Vec::<PathBuf>::new());
    assert_eq!(
        server.requests().len(),
        4,
        "a prompt went out without its key"
    );
}

#[test]
fn a_server_that_echoes_the_key_does_not_bring_it_to_the_screen_or_the_home() {
    let server = ModelServer::start(Behaviour::EchoesKey);
    let gently = Gently::new();
    gently.ok(&["init"]);
    gently.ok(&["config", "set", "model.base_url", &server.base_url()]);
    let ran = gently.run(
        &["--json", "ask", "-m", "openai/test", "hello"],
        &[("OPENAI_API_KEY", SECRET)],
    );
    assert_eq!(server.requests().len(), 1);
    assert!(
        !ran.out.contains(SECRET) && !ran.err.contains(SECRET),
        "{ran:?}"
    );
    assert_eq!(gently.files_with(SECRET), Vec::<PathBuf>::new());
}

/// What a person can do to the table of keys with the database in hand, and nobody else's words.
#[test]
fn the_table_of_keys_is_held_against_the_record() {
    let gently = Gently::new();
    gently.ok(&["ask", "hello"]);
    let key = gently.ok(&["key", "add", "laptop"]).out.trim().to_owned();
    gently.ok(&["key", "add", "desk"]);
    gently.ok(&["key", "revoke", "laptop", "--yes"]);
    gently.ok(&["audit", "verify"]);
    let database = unguarded(gently.home().join("gently.db"));
    database
        .execute_batch("CREATE TEMP TABLE aside AS SELECT * FROM auth_key")
        .unwrap();
    for change in [
        "UPDATE auth_key SET revoked_at = NULL",
        "UPDATE auth_key SET revoked_at = revoked_at + 1",
        "UPDATE auth_key SET revoked_at = added_at WHERE name = 'desk'",
        "UPDATE auth_key SET added_at = added_at - 1 WHERE name = 'desk'",
        "UPDATE auth_key SET added_at = added_at - 1 WHERE name = 'owner'",
        "UPDATE auth_key SET name = CASE name WHEN 'owner' THEN 'desk-' WHEN 'desk' THEN 'owner-' ELSE name END",
        "DELETE FROM auth_key WHERE name = 'desk'",
        "INSERT INTO auth_key (auth_key_hash, name, added_at)
         SELECT substr(auth_key_hash, 2) || substr(auth_key_hash, 1, 1), 'mallory', added_at FROM auth_key WHERE name = 'owner'",
    ] {
        database.execute_batch(change).unwrap();
        let told = gently.run(&["audit", "verify"], &[]);
        assert_eq!(told.code, 1, "{change}: {told:?}");
        // A key that was revoked on record stays so, whatever its row says.
        let with_key = [("GENTLY_AUTH_KEY", key.as_str())];
        gently
            .run(&["ask", "hello"], &with_key)
            .says(2, "the key was revoked");
        database
            .execute_batch("DELETE FROM auth_key; INSERT INTO auth_key SELECT * FROM aside")
            .unwrap();
    }
    gently.ok(&["audit", "verify"]);
}
