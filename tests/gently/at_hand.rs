//! A home that the program itself made, copied for each test, and the program run in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

/// A home with one closed session of two turns, and an open one of one turn.
fn original() -> &'static Path {
    static MADE: OnceLock<TempDir> = OnceLock::new();
    MADE.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let home = EventCache {
            root: dir.path().join("home"),
            _dir: None,
        };
        home.fine(&["ask", "one"]);
        home.fine(&["ask", "two with password=hunter2secret"]);
        home.fine(&["session", "close"]);
        home.fine(&["ask", "three"]);
        dir
    })
    .path()
}

/// A home of one test.
pub struct EventCache {
    pub root: PathBuf,
    _dir: Option<TempDir>,
}

impl EventCache {
    pub fn new() -> EventCache {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("home");
        copy(&original().join("home"), &root);
        EventCache {
            root,
            _dir: Some(dir),
        }
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gently"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("GENTLY_") {
                command.env_remove(name);
            }
        }
        command
            .env_remove("OPENAI_API_KEY")
            .env_remove("ANTHROPIC_API_KEY");
        command
            .env("GENTLY_HOME", &self.root)
            .env("GENTLY_ANCHOR_MODE", "off")
            .env("GENTLY_MODEL_DEFAULT", "observer");
        command
            .args(crate::person::with_sight(arguments))
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Standard output of what must exit with 0.
    pub fn fine(&self, arguments: &[&str]) -> String {
        let done = self.run(arguments);
        assert!(
            done.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        String::from_utf8(done.stdout).unwrap()
    }

    /// Standard output of what must exit with `code`.
    pub fn fine_or(&self, arguments: &[&str], code: i32) -> String {
        let done = self.run(arguments);
        assert_eq!(
            done.status.code(),
            Some(code),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        String::from_utf8(done.stdout).unwrap()
    }

    /// Standard error of what must exit with `code`.
    pub fn refused(&self, arguments: &[&str], code: i32) -> String {
        let done = self.run(arguments);
        let words = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(code), "{arguments:?}: {words}");
        words
    }

    pub fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.fine(arguments)).unwrap()
    }

    /// Every file with its content, but what SQLite keeps beside a database that is being read.
    pub fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let (mut found, mut folders) = (Vec::new(), vec![self.root.clone()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.to_string_lossy().into_owned();
                if path.is_dir() {
                    folders.push(path);
                } else if !name.ends_with("-wal") && !name.ends_with("-shm") {
                    found.push((path.clone(), fs::read(&path).unwrap()));
                }
            }
        }
        found.sort();
        found
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}
