//! A person at a terminal: the real program in a home of its own, and stock tools beside it.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::esplora_server::{HEADERS, rows};

/// Somebody with an empty home directory.
///
/// Asks with `--sight`, whatever the question is: the built-in voice then answers every question,
/// and a model is shown the same of this machine every time. See [`Person::under_the_kernel`].
pub struct Person {
    /// Holds the home and whatever a test puts beside it.
    pub dir: tempfile::TempDir,
    variables: Vec<(String, String)>,
    /// Whether it leaves sight to the kernel.
    is_under_the_kernel: bool,
}

/// What encrypts every home that a command of the tests makes, where the tests run over encrypted
/// homes: with `GENTLY_STORE_ENCRYPTED=true` and a `GENTLY_STORE_KEY` in their own environment, in a
/// build with the feature `sealed`. Homes that are made within the process of the tests, too.
pub fn at_rest() -> Vec<(&'static str, String)> {
    let is_sealed = std::env::var("GENTLY_STORE_ENCRYPTED").is_ok_and(|said| said == "true");
    if !cfg!(feature = "sealed") || !is_sealed {
        return Vec::new();
    }
    gently::store::set_key_finder(gently::app::home::store_key::find_key);
    let names = ["GENTLY_STORE_ENCRYPTED", "GENTLY_STORE_KEY"];
    let given = names.map(|name| (name, std::env::var(name).expect(name)));
    given.to_vec()
}

/// The database of a home, opened by hand.
pub fn by_hand(path: impl AsRef<Path>, flags: rusqlite::OpenFlags) -> rusqlite::Connection {
    let database = rusqlite::Connection::open_with_flags(path, flags).unwrap();
    for (_, key) in at_rest().iter().filter(|(name, _)| name.ends_with("_KEY")) {
        let sql = format!("PRAGMA key = \"x'{key}'\"; PRAGMA cipher_hmac_algorithm = HMAC_SHA256");
        database.execute_batch(&sql).unwrap();
    }
    database
}

/// A command's words; a question is asked with `--sight` unless they say what is to be seen.
pub fn with_sight<S: AsRef<OsStr>>(args: &[S]) -> Vec<OsString> {
    let mut words: Vec<OsString> = args.iter().map(|arg| arg.as_ref().to_owned()).collect();
    let said = |flag: &str| words.iter().any(|word| word == flag);
    if said("--sight") || said("--no-sight") {
        return words;
    }
    // What stands before the verb is an option of every command, most of them with a value.
    let mut verb = 0;
    while let Some(word) = words.get(verb).and_then(|word| word.to_str()) {
        match word {
            "--json" => verb += 1,
            option if option.starts_with("--") => verb += 2,
            _ => break,
        }
    }
    let is = |at: usize, name: &str| words.get(at).is_some_and(|word| word == name);
    if is(verb, "ask") {
        words.insert(verb + 1, "--sight".into());
    } else if is(verb, "context") && is(verb + 1, "preview") {
        words.insert(verb + 2, "--sight".into());
    }
    words
}

/// How a command ended.
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
    /// Standard output as one JSON object or list.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {self:#?}"))
    }

    /// Itself, if it ended with this code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }
}

impl Person {
    /// Who contacts nobody.
    pub fn new() -> Self {
        Self::with(&[("GENTLY_ANCHOR_MODE", "off")])
    }

    /// With these variables in the environment, and with few others.
    pub fn with(variables: &[(&str, &str)]) -> Self {
        // A test may work in the home by itself before it runs any command.
        at_rest();
        // Left to itself the program would look for an Ollama on this machine.
        let quiet = [
            ("GENTLY_MODEL_DEFAULT", "observer"),
            ("GENTLY_OTS_CALENDARS", "[]"),
        ]
        .into_iter()
        .filter(|(name, _)| !variables.iter().any(|v| v.0 == *name));
        let variables = quiet.chain(variables.iter().copied());
        let variables = variables
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        Person {
            dir: tempfile::tempdir().unwrap(),
            variables,
            is_under_the_kernel: false,
        }
    }

    /// Who leaves it to the kernel what is looked at, as people do.
    pub fn under_the_kernel(mut self) -> Self {
        self.is_under_the_kernel = true;
        self
    }

    /// Puts a kernel in force under which an answer is withheld that claims what nobody did, and that
    /// is changed in another way besides.
    pub fn withholds_claims(&self, change: impl Fn(String) -> String) {
        let kernel = self.gently(&["kernel", "show"]).exits(0).out;
        let (head, tail) = kernel.split_once("[drift.authority]").unwrap();
        let tail = tail.replacen("effect = \"warn\"", "effect = \"block\"", 1);
        let blocking = format!("{head}[drift.authority]{tail}");
        let file = self.dir.path().join("kernel.toml");
        std::fs::write(file, change(blocking)).unwrap();
        self.gently(&["kernel", "set", "kernel.toml"]).exits(0);
    }

    /// Takes a variable away for the commands to come.
    pub fn unset(&mut self, name: &str) {
        self.variables.retain(|(known, _)| known != name);
    }

    /// Sets a variable for the commands to come.
    pub fn set(&mut self, name: &str, value: &str) {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    /// Its environment.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// `$GENTLY_HOME`.
    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// A place inside the home.
    pub fn at(&self, place: &str) -> PathBuf {
        self.home().join(place)
    }

    /// The program, not yet started; its standard input is empty.
    pub fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gently"));
        if self.is_under_the_kernel {
            command.args(args);
        } else {
            command.args(with_sight(args));
        }
        command.env_clear().current_dir(self.dir.path());
        for kept in ["PATH", "SSL_CERT_FILE", "SSL_CERT_DIR"] {
            command.envs(std::env::var_os(kept).map(|value| (kept, value)));
        }
        command
            .env("HOME", self.dir.path())
            .env("GENTLY_HOME", self.home())
            .envs(at_rest());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    pub fn gently<S: AsRef<OsStr>>(&self, args: &[S]) -> Ran {
        run(&mut self.command(args))
    }

    /// Asks, and is answered.
    #[track_caller]
    pub fn ask(&self, question: &str) -> Ran {
        self.gently(&["ask", question]).exits(0)
    }

    /// Runs the program with something on its standard input.
    pub fn piped<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Ran {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_vec());
        // A program that refuses long input stops reading.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        ran(output)
    }

    /// Stock git on the ledger.
    pub fn git(&self, args: &[&str]) -> Ran {
        git(&self.at("ledger.git"), args)
    }

    /// All commits of the ledger, by stock git.
    pub fn commits(&self) -> Vec<String> {
        self.git(&["rev-list", "--all"])
            .exits(0)
            .out
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// The lines of the log.
    pub fn log(&self) -> Vec<String> {
        std::fs::read_to_string(self.at("audit.log"))
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// The database, for looking.
    pub fn database(&self) -> rusqlite::Connection {
        by_hand(
            self.at("gently.db"),
            rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY,
        )
    }

    /// Puts real headers of these heights where `anchor.headers` finds them.
    pub fn headers(&self, heights: std::ops::RangeInclusive<u32>) -> PathBuf {
        let file = self.dir.path().join("headers.csv");
        let mut text = "height,hash,header\n".to_owned();
        for (height, hash, header) in rows(HEADERS)
            .into_iter()
            .filter(|row| heights.contains(&row.0))
        {
            text.push_str(&format!("{height},{hash},{header}\n"));
        }
        std::fs::write(&file, text).unwrap();
        file
    }

    /// `audit verify --json` of the home.
    pub fn verified(&self) -> Value {
        // Naming a network that is not the ledger's changes nothing.
        self.gently(&["audit", "verify", "--json", "--network", "regtest"])
            .json()
    }
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> Ran {
    ran(command
        .output()
        .unwrap_or_else(|e| panic!("{command:?}: {e}")))
}

pub fn ran(output: std::process::Output) -> Ran {
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Stock git without the settings of this machine.
pub fn git(repository: &Path, args: &[&str]) -> Ran {
    let mut git = Command::new("git");
    git.arg("-C")
        .arg(repository)
        .args(args)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    run(&mut git)
}
