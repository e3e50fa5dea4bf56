//! Witnesses that we did not write: `aics-witness` and `aics-tlog` from PyPI, as processes of their
//! own on loopback.

#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use gently::record::tree::note::CosignedNote;
use serde_json::json;

use crate::person::{Person, Ran, run};

/// `EX_TEMPFAIL` of `scripts/peers.sh`: can't be had on this machine, now.
const UNAVAILABLE: i32 = 75;

/// Where the packages are; none, with a note on stderr, where they can't be had.
pub fn site() -> Option<&'static str> {
    static SITE: OnceLock<Option<String>> = OnceLock::new();
    let install = || {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/peers.sh");
        let run = Command::new("sh")
            .arg(script)
            .arg("witness")
            .output()
            .expect("there is a shell");
        let words = String::from_utf8_lossy(&run.stderr);
        match run.status.code() {
            Some(0) => Some(String::from_utf8(run.stdout).unwrap().trim().to_owned()),
            Some(UNAVAILABLE) => {
                eprintln!(
                    "skipped: witnesses that we did not write, because they can't be installed here:\n{words}"
                );
                None
            }
            _ => panic!("scripts/peers.sh witness failed ({}): {words}", run.status),
        }
    };
    SITE.get_or_init(install).as_deref()
}

pub fn python(site: &str, args: &[&str]) -> Command {
    let mut command = Command::new("python3");
    command.arg("-m").args(args).env("PYTHONPATH", site);
    command
}

/// One of them, in a process of its own.
pub struct Aics {
    site: &'static str,
    folder: PathBuf,
    child: Option<Child>,
    pub url: String,
    pub vkey: String,
}

impl Aics {
    pub fn new(site: &'static str, folder: PathBuf, name: &str) -> Self {
        std::fs::create_dir(&folder).unwrap();
        let mut aics = Aics {
            site,
            folder,
            child: None,
            url: String::new(),
            vkey: String::new(),
        };
        aics.vkey = aics.does(&["init", "--name", name]).out.trim().to_owned();
        aics.start();
        aics
    }

    fn config(&self) -> String {
        self.folder.join("witness.json").display().to_string()
    }

    #[track_caller]
    fn does(&self, args: &[&str]) -> Ran {
        let config = self.config();
        let (verb, rest) = args.split_first().unwrap();
        run(python(self.site, &["aics_witness", verb, "--config", &config]).args(rest)).exits(0)
    }

    /// On a port of its own choice, or on the one that it had.
    pub fn start(&mut self) {
        let listen = self
            .url
            .strip_prefix("http://")
            .map_or("127.0.0.1:0".to_owned(), str::to_owned);
        let config = self.config();
        let mut child = python(
            self.site,
            &[
                "aics_witness",
                "serve",
                "--config",
                &config,
                "--listen",
                &listen,
            ],
        )
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let listening = lines.find_map(|line| {
            line.unwrap()
                .split_once("listening on ")
                .map(|(_, url)| url.to_owned())
        });
        self.url = listening
            .expect("it says where it listens")
            .split(' ')
            .next()
            .unwrap()
            .to_owned();
        // Whatever else it says must not fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        self.child = Some(child);
    }

    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _it_may_have_ended = child.kill();
            let _status = child.wait();
        }
    }

    /// As its operator would, told the log's name and key.
    pub fn trust(&mut self, log: &serde_json::Value) {
        let (origin, key) = (
            log["origin"].as_str().unwrap(),
            log["key"].as_str().unwrap(),
        );
        self.does(&["add-log", "--origin", origin, "--vkey", key]);
        self.kill();
        self.start();
    }

    pub fn evidence(&self) -> serde_json::Value {
        self.does(&["evidence"]).json()
    }
}

impl Drop for Aics {
    fn drop(&mut self) {
        self.kill();
    }
}

pub fn log_key(person: &Person) -> serde_json::Value {
    person
        .gently(&["witness", "list", "--json"])
        .exits(0)
        .json()["log"]
        .clone()
}

fn turn(person: &Person) -> Ran {
    person.ask("How is this machine doing?");
    person.gently(&["session", "close"]).exits(0)
}

fn note(person: &Person) -> Option<CosignedNote> {
    let shown = person.git(&["notes", "--ref", "witness", "show", "main"]);
    (shown.code == 0).then(|| CosignedNote::parse(&shown.out).unwrap())
}

#[test]
fn two_foreign_witnesses_cosign_and_one_is_killed() {
    let Some(site) = site() else { return };
    let mut person = Person::with(&[
        ("GENTLY_ANCHOR_MODE", "off"),
        ("GENTLY_WITNESS_QUORUM", "2"),
    ]);
    // Python starts slowly when the machine is loaded; the deadline itself has tests of its own.
    person.set("GENTLY_WITNESS_DEADLINE_MS", "30000");
    person.gently(&["init"]).exits(0);
    let mut one = Aics::new(site, person.dir.path().join("one"), "witness.example/one");
    let mut two = Aics::new(site, person.dir.path().join("two"), "witness.example/two");
    for (name, witness) in [("one", &one), ("two", &two)] {
        person
            .gently(&["witness", "add", name, &witness.vkey, &witness.url])
            .exits(0);
    }
    // Nobody has told them of the log yet.
    assert!(turn(&person).err.contains("does not know this log (404)"));
    let log = log_key(&person);
    one.trust(&log);
    two.trust(&log);
    let closed = turn(&person);
    assert!(
        closed
            .err
            .contains("cosigned by one, two: the tree head of "),
        "{}",
        closed.err
    );
    for _ in 0..3 {
        turn(&person);
    }
    assert_eq!(note(&person).unwrap().others.len(), 2);

    // Their own library reads the note, and finds both cosignatures good.
    let file = person.dir.path().join("note");
    std::fs::write(&file, note(&person).unwrap().print()).unwrap();
    let check = |quorum: &str| {
        let args = [
            "aics_tlog",
            "verify-checkpoint",
            "--note",
            file.to_str().unwrap(),
            "--quorum",
            quorum,
        ];
        let keys = [
            "--log-key",
            log["key"].as_str().unwrap(),
            "--witness-key",
            &one.vkey,
            "--witness-key",
            &two.vkey,
        ];
        run(python(site, &args).args(keys))
    };
    check("2").exits(0);
    assert_ne!(check("3").code, 0);

    two.kill();
    let closed = turn(&person);
    assert!(
        closed.err.contains("1 of 2 needed witnesses cosigned"),
        "{}",
        closed.err
    );
    assert_eq!(note(&person).unwrap().others.len(), 1);
    let report = person
        .gently(&["audit", "verify", "--json"])
        .exits(0)
        .json();
    assert_eq!(
        report["answers"]["unique"], "partly",
        "through the line that both cosigned"
    );
    two.start();
    let asked = person.gently(&["witness", "ask", "--json"]).exits(0).json();
    assert_eq!(
        (&asked["cosigned"], &asked["enough"]),
        (&json!(2), &json!(true)),
        "{asked:#}"
    );
    person
        .gently(&["audit", "verify", "--require", "unique,not-after"])
        .exits(0);

    // After a rotation they are given the new key.
    person.ask("once more");
    person.gently(&["key", "rotate", "--yes"]).exits(0);
    assert!(
        turn(&person)
            .err
            .contains("does not trust the key that signs now (403)")
    );
    let log = log_key(&person);
    one.trust(&log);
    two.trust(&log);
    person.gently(&["witness", "ask"]).exits(0);
    assert_eq!(
        (one.evidence(), two.evidence()),
        (json!([]), json!([])),
        "nothing that we sent was refused as inconsistent"
    );
    let report = person
        .gently(&["audit", "verify", "--json", "--require", "unique"])
        .exits(0)
        .json();
    assert_eq!(report["answers"]["consistent"], "yes");
}

#[test]
fn a_foreign_witness_finds_a_second_history() {
    let Some(site) = site() else { return };
    let mut person = Person::new();
    person.set("GENTLY_WITNESS_DEADLINE_MS", "30000");
    person.gently(&["init"]).exits(0);
    let mut witness = Aics::new(site, person.dir.path().join("w"), "witness.example/w");
    person
        .gently(&["witness", "add", "w", &witness.vkey, &witness.url])
        .exits(0);
    witness.trust(&log_key(&person));
    turn(&person);
    let kept = person.dir.path().join("kept");
    let copy = |from: &Path, to: &Path| {
        run(Command::new("cp").arg("-r").arg(from).arg(to)).exits(0);
    };
    copy(&person.home(), &kept);
    turn(&person);
    turn(&person);
    std::fs::remove_dir_all(person.home()).unwrap();
    copy(&kept, &person.home());
    let closed = turn(&person);
    assert!(
        closed
            .err
            .contains("FINDING: witness w: says that it has cosigned a tree of"),
        "{}",
        closed.err
    );
    let closed = turn(&person);
    assert!(
        closed.err.contains("that it cosigned is not ours"),
        "{}",
        closed.err
    );
    turn(&person);
    let asked = person.gently(&["witness", "ask"]).exits(1);
    assert!(asked.out.contains("FINDING"), "{}", asked.out);
    assert!(!witness.evidence().as_array().unwrap().is_empty());
}
