//! How the program behaves at a terminal and in a pipe: signals, a spinner, closed ends, odd
//! prompts, odd machines.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps an error fails, as it should"
)]

use std::fs::File;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::esplora_server::{Chain, EsploraServer, Manner};
use crate::model_server::{ANSWER, Behaviour, ModelServer};
use crate::person::{Person, Ran, run};

/// The longest that a test waits for what must happen; reached only when it does not.
const PATIENCE: Duration = Duration::from_secs(60);

/// Somebody who contacts no explorer, and whose model is at this server.
fn person(server: &ModelServer) -> Person {
    Person::with(&[
        ("GENTLY_ANCHOR_MODE", "off"),
        ("GENTLY_MODEL_DEFAULT", "openai/some"),
        ("GENTLY_MODEL_BASE_URL", &server.base_url()),
    ])
}

/// The program with every signal switched on, whatever the test was started under.
fn started<S: AsRef<std::ffi::OsStr>>(person: &Person, args: &[S]) -> Child {
    under(person, "--default-signal=HUP,INT,TERM", args)
}

/// The program, started by `env` with an option of its own, which leaves the process its number.
fn under<S: AsRef<std::ffi::OsStr>>(person: &Person, option: &str, args: &[S]) -> Child {
    let gently = person.command(args);
    let mut env = Command::new("env");
    env.arg(option)
        .arg(gently.get_program())
        .args(gently.get_args())
        .env_clear();
    env.envs(
        gently
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    )
    .current_dir(person.dir.path());
    env.stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn signal(child: &Child, name: &str) {
    run(Command::new("kill").args(["-s", name, &child.id().to_string()])).exits(0);
}

fn ended(child: Child) -> Ran {
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

/// How many of the log's lines hold this text.
fn lines_with(person: &Person, text: &str) -> usize {
    person
        .log()
        .iter()
        .filter(|line| line.contains(text))
        .count()
}

#[track_caller]
fn complete(person: &Person) {
    let report = person
        .gently(&["audit", "verify", "--json"])
        .exits(0)
        .json();
    assert_eq!(
        (
            &report["answers"]["consistent"],
            &report["answers"]["complete"]
        ),
        (&"yes".into(), &"yes".into())
    );
}

#[test]
fn a_signal_while_the_model_thinks_is_the_turns_recorded_end() {
    for (name, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let server = ModelServer::start(Behaviour::Gate);
        let person = person(&server);
        let child = started(&person, &["ask", "Are you there?"]);
        server.wait_for(1);
        signal(&child, name);
        let ran = ended(child).exits(code);
        assert_eq!(ran.out, "");
        assert!(
            ran.err
                .contains("interrupted while openai/some was thinking"),
            "{ran:?}"
        );
        assert!(
            ran.err.contains("/1 · no answer: given up · on record"),
            "{ran:?}"
        );
        assert_eq!(lines_with(&person, "reason:interrupted"), 1);
        person.gently(&["session", "close"]).exits(0);
        assert_eq!(
            (
                lines_with(&person, "response_fail"),
                lines_with(&person, "abandoned")
            ),
            (1, 0)
        );
        complete(&person);
    }
}

#[test]
fn a_signal_is_told_to_programs_too() {
    let server = ModelServer::start(Behaviour::Gate);
    let person = person(&server);
    let child = started(&person, &["ask", "--json", "Are you there?"]);
    server.wait_for(1);
    signal(&child, "TERM");
    let facts = ended(child).exits(143).json();
    assert_eq!(
        (&facts["outcome"], &facts["reason"], &facts["answer"]),
        (
            &"failed".into(),
            &"interrupted".into(),
            &serde_json::Value::Null
        )
    );
}

#[test]
fn a_signal_before_the_prompt_is_recorded_records_nothing() {
    let explorer = EsploraServer::start_with(
        Chain::real(829_604..=829_619),
        Manner::Slow(Duration::from_secs(600)),
    );
    let server = ModelServer::start(Behaviour::Good);
    let mut person = person(&server);
    person.gently(&["init"]).exits(0);
    person.set("GENTLY_ANCHOR_MODE", "auto");
    person.set("GENTLY_ANCHOR_DEADLINE_MS", "60000");
    person.set("GENTLY_ANCHOR_ESPLORA", &format!("['{}']", explorer.url()));
    let before = person.log();
    for args in [&["ask", "Hi"][..], &["ask", "--json", "Hi"]] {
        let asked = explorer.asked();
        let child = started(&person, args);
        let began = Instant::now();
        while explorer.asked() == asked {
            assert!(began.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(10));
        }
        signal(&child, "INT");
        let ran = ended(child).exits(130);
        assert!(
            ran.err
                .contains("interrupted before the prompt was recorded: no model was called"),
            "{ran:?}"
        );
        assert!(args.len() == 2 || ran.json()["recorded"] == false);
    }
    assert_eq!((person.log(), server.requests().len()), (before, 0));
}

#[test]
fn a_second_signal_ends_the_process_at_once() {
    let server = ModelServer::start(Behaviour::Gate);
    let person = person(&server);
    let mut child = started(&person, &["ask", "Are you there?"]);
    server.wait_for(1);
    // Whoever holds the writer's lock keeps the first signal from being recorded for ten seconds.
    let writer = File::options()
        .write(true)
        .open(person.at("writer.lock"))
        .unwrap();
    writer.lock().unwrap();
    let began = Instant::now();
    let status = loop {
        // Two that come together are one, and nothing tells when the first was taken.
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        signal(&child, "INT");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(status.code(), Some(130));
    assert!(
        began.elapsed() < Duration::from_secs(9),
        "it waited for the lock"
    );
    drop(writer);
    assert_eq!(lines_with(&person, "response_fail"), 0);
    person.gently(&["session", "close", "--yes"]).exits(0);
    assert_eq!(lines_with(&person, "reason:abandoned"), 1);
    complete(&person);
}

#[test]
fn what_was_switched_off_stays_off() {
    let server = ModelServer::start(Behaviour::Gate);
    let person = person(&server);
    let child = under(
        &person,
        "--ignore-signal=HUP,INT",
        &["ask", "Are you there?"],
    );
    server.wait_for(1);
    signal(&child, "HUP");
    signal(&child, "INT");
    server.release();
    assert_eq!(ended(child).exits(0).out.trim_end(), ANSWER);
}

/// Runs the program on a terminal of its own: standard input, output and error. At the words given
/// it types Ctrl-C. Prints what the terminal showed; ends as the program did.
const TERMINAL: &str = r#"
import os, pty, signal, sys
words = sys.argv[1].encode()
pid, fd = pty.fork()
if pid == 0:
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.execv(sys.argv[2], sys.argv[2:])
shown, typed = b"", False
while True:
    try:
        part = os.read(fd, 4096)
    except OSError:
        break
    if not part:
        break
    shown += part
    if words and words in shown and not typed:
        os.write(fd, b"\x03")
        typed = True
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

fn on_a_terminal(person: &Person, term: &str, ctrl_c_at: &str, args: &[&str]) -> Ran {
    let gently = person.command(args);
    let mut python = Command::new("python3");
    python
        .args(["-c", TERMINAL, ctrl_c_at])
        .arg(gently.get_program())
        .args(gently.get_args())
        .env_clear();
    python
        .envs(
            gently
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .env("TERM", term);
    run(&mut python)
}

#[test]
fn a_terminal_shows_that_the_model_is_thinking_and_ctrl_c_ends_it() {
    let server = ModelServer::start(Behaviour::Gate);
    let person = person(&server);
    let ran = on_a_terminal(&person, "xterm", "is thinking", &["ask", "Are you there?"]).exits(130);
    assert!(
        ran.out.contains("/1 · no answer: given up · on record"),
        "{ran:?}"
    );
    // The spinner's line is wiped before anything else is said.
    let (spinner, after) = ran.out.rsplit_once("\x1b[2K").unwrap();
    assert!(
        spinner.contains("openai/some is thinking: 0 s; Ctrl-C gives up")
            && !after.contains("is thinking"),
        "{ran:?}"
    );
}

#[test]
fn a_spinner_is_for_terminals_that_can_draw_one_and_has_no_colour() {
    // Longer than an answer may take before a spinner is worth its while.
    let server = ModelServer::start(Behaviour::Slow(Duration::from_millis(1500)));
    let mut person = person(&server);
    person.gently(&["init"]).exits(0);
    for (term, no_colour, spins) in [
        ("xterm", false, true),
        ("xterm", true, true),
        ("dumb", false, false),
    ] {
        if no_colour {
            person.set("NO_COLOR", "1");
        }
        let ran = on_a_terminal(&person, term, "", &["ask", "Are you there?"]).exits(0);
        assert!(ran.out.contains(ANSWER), "{ran:?}");
        assert_eq!(ran.out.contains("is thinking"), spins, "{term}: {ran:?}");
        assert_eq!(ran.out.contains('\x1b'), spins, "{term}: {ran:?}");
        let colours = ran.out.split("\x1b[").skip(1).filter(|rest| {
            rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';')
                .starts_with('m')
        });
        // The sign of the verdict has one, and none of these is the spinner's.
        let of_the_sign = if spins && !no_colour { 3 } else { 0 };
        assert_eq!(colours.count(), of_the_sign, "{ran:?}");
    }
    let piped = person.gently(&["ask", "Are you there?"]).exits(0);
    assert!(
        !piped.err.contains("thinking") && !piped.err.contains('\x1b'),
        "{piped:?}"
    );
    assert_eq!(piped.out.trim_end(), ANSWER);
}

#[test]
fn a_reader_that_went_away_is_nobodys_fault() {
    for closes_stdout in [true, false] {
        let server = ModelServer::start(Behaviour::Gate);
        let person = person(&server);
        let mut child = started(&person, &["ask", "Are you there?"]);
        server.wait_for(1);
        if closes_stdout {
            drop(child.stdout.take());
        } else {
            drop(child.stderr.take());
        }
        server.release();
        let ran = ended(child).exits(0);
        if closes_stdout {
            assert!(ran.err.contains("/1\n"), "{ran:?}");
        } else {
            assert_eq!(ran.out.trim_end(), ANSWER);
        }
        assert_eq!(lines_with(&person, "|response|"), 1);
        complete(&person);
    }
}

#[test]
fn an_answer_that_cannot_be_written_is_recorded_and_told() {
    let person = Person::new();
    let mut command = person.command(&["ask", "Hi"]);
    command
        .stdout(File::options().write(true).open("/dev/full").unwrap())
        .stderr(Stdio::piped());
    let ran = ended(command.spawn().unwrap()).exits(2);
    assert!(
        ran.err
            .contains("error: writing to standard output: No space left"),
        "{ran:?}"
    );
    assert!(ran.err.contains("/1\n"), "{ran:?}");
    for closed in ["exec \"$@\" >&-", "exec \"$@\" 2>&-", "exec \"$@\" <&-"] {
        let gently = person.command(&["ask", "Hi"]);
        let mut shell = Command::new("sh");
        shell
            .args(["-c", closed, "sh"])
            .arg(gently.get_program())
            .args(gently.get_args())
            .env_clear();
        shell.envs(
            gently
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        run(&mut shell).exits(0);
    }
    assert_eq!(lines_with(&person, "|response|"), 4);
    complete(&person);
}

#[test]
fn prompts_of_odd_shapes() {
    let server = ModelServer::start(Behaviour::Good);
    let person = person(&server);
    let million = "word ".repeat(200_000);
    let long = person.piped(&["ask"], million.as_bytes()).exits(0);
    assert_eq!(long.out.trim_end(), ANSWER);
    let sent = server.requests()[0].json()["messages"][1]["content"].clone();
    assert!(sent.as_str().unwrap().ends_with(&million));
    // Past the kernel's limit: denied, on record; past any reason: not even read.
    let longer = person
        .piped(&["ask"], "word ".repeat(300_000).as_bytes())
        .exits(1);
    assert!(
        longer.err.contains("policy.prompt_too_large")
            && longer.err.contains("/2 · no model was asked · on record"),
        "{longer:?}"
    );
    let recorded = person.log();
    let longest = person
        .piped(&["ask"], &vec![b'a'; 17 * 1024 * 1024])
        .exits(2);
    assert!(
        longest.err.contains("more than 16777216 bytes"),
        "{longest:?}"
    );
    for (bytes, said) in [
        (&b"a\0b"[..], "NUL byte at byte 1"),
        (b"a\xffb", "not UTF-8 at byte 1"),
        (b"", "nothing asked"),
        (b"h\0i\0", "NUL byte"),
    ] {
        let ran = person.piped(&["ask"], bytes).exits(2);
        assert!(ran.err.contains(said) && ran.out.is_empty(), "{ran:?}");
        let told = person.piped(&["ask", "--json"], bytes).exits(2).json();
        assert!(told["error"].as_str().unwrap().contains(said), "{told}");
    }
    person.gently(&["ask"]).exits(2);
    assert_eq!(person.log(), recorded, "what is no prompt is not recorded");
    for empty in ["", " \t "] {
        let ran = person.gently(&["ask", empty]).exits(1);
        assert!(ran.err.contains("policy.empty_prompt"), "{ran:?}");
    }
    assert_eq!(server.requests().len(), 1);
    complete(&person);
}

#[test]
fn without_a_home_directory() {
    let person = Person::new();
    let bare = |args: &[&str]| {
        let mut command = person.command(args);
        command.env_remove("HOME").env_remove("GENTLY_HOME");
        command
    };
    // $HOME is not needed where the data directory is told.
    let data = person.dir.path().join("data");
    let ran = run(bare(&["ask", "Hi"]).env("XDG_DATA_HOME", &data)).exits(0);
    assert!(
        ran.err.contains("/1\n") && data.join("gently/audit.log").is_file(),
        "{ran:?}"
    );
    // With nothing told the system's list of users has it; for one who is not there, there is no
    // place.
    if !is_root() || !is_reachable_for_others() {
        eprintln!(
            "skipped: no root to become a user that the system does not know, or the program is not for others"
        );
        return;
    }
    let mut nobody = bare(&["ask", "Hi"]);
    std::os::unix::process::CommandExt::uid(&mut nobody, 54_321);
    let ran = run(nobody.current_dir("/")).exits(2);
    assert!(
        ran.err.contains("no place for a home") && ran.err.contains("Set GENTLY_HOME"),
        "{ran:?}"
    );
}

fn is_root() -> bool {
    run(Command::new("id").arg("-u")).out.trim() == "0"
}

fn is_reachable_for_others() -> bool {
    let mut program = Command::new(env!("CARGO_BIN_EXE_gently"));
    std::os::unix::process::CommandExt::uid(&mut program, 54_321);
    program
        .arg("--version")
        .current_dir("/")
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[test]
fn a_read_only_disk() {
    /// In a mount namespace of its own: the folder becomes read-only, then the program runs.
    const SCRIPT: &str = r#"mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" || exit 77
shift; exec "$@""#;
    let mut person = Person::new();
    person.ask("Hi");
    person.gently(&["session", "close"]).exits(0);
    let read_only = |person: &Person, args: &[&str]| {
        let gently = person.command(args);
        let mut unshare = Command::new("unshare");
        unshare.args(if is_root() {
            &["--mount"][..]
        } else {
            &["--mount", "--map-root-user"]
        });
        unshare
            .args(["sh", "-c", SCRIPT, "sh"])
            .arg(person.dir.path());
        unshare
            .arg(gently.get_program())
            .args(gently.get_args())
            .env_clear();
        unshare.envs(
            gently
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        unshare
            .output()
            .ok()
            .filter(|output| ![Some(77), None].contains(&output.status.code()))
            .map(|output| Ran {
                code: output.status.code().unwrap(),
                out: String::from_utf8(output.stdout).unwrap(),
                err: String::from_utf8(output.stderr).unwrap(),
            })
    };
    let before = person.log();
    let Some(asked) =
        read_only(&person, &["ask", "Hi"]).filter(|ran| !ran.err.starts_with("unshare: "))
    else {
        eprintln!("skipped: this machine lets nobody here mount a read-only disk");
        return;
    };
    let asked = asked.exits(3);
    assert!(
        asked
            .err
            .contains("gently.db can't be written (Read-only file system"),
        "{asked:?}"
    );
    assert!(
        asked.err.ends_with("not recorded\n") && asked.out.is_empty(),
        "{asked:?}"
    );
    let told = read_only(&person, &["session", "close", "--json"])
        .unwrap()
        .exits(3)
        .json();
    assert_eq!(told["recorded"], false);
    // Reading is possible.
    let list = read_only(&person, &["session", "list"]).unwrap().exits(0);
    assert_eq!(list.out.lines().count(), 1, "{list:?}");
    read_only(&person, &["anchor", "status"]).unwrap().exits(1);
    read_only(&person, &["audit", "verify"]).unwrap().exits(0);
    let refused = read_only(&person, &["config", "set", "anchor.mode", "auto"])
        .unwrap()
        .exits(2);
    assert!(refused.err.contains("Read-only file system"), "{refused:?}");
    assert_eq!(person.log(), before);
    person.set(
        "GENTLY_HOME",
        person.dir.path().join("new").to_str().unwrap(),
    );
    let no_home = read_only(&person, &["ask", "Hi"]).unwrap().exits(2);
    assert!(no_home.err.contains("Read-only file system"), "{no_home:?}");
}

#[test]
fn help_for_a_reader_that_reads_one_line() {
    let person = Person::new();
    let mut child = person
        .command(&["--help"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 1];
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut first).unwrap();
    drop(out);
    assert_eq!(ended(child).exits(0).err, "");
}
