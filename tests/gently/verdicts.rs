//! What a check, a home and an exchange come to stands first, in one line; colours and the pager
//! that long reports go through.

use std::fs;
use std::process::{Command, Stdio};

use crate::person::{Person, Ran};

/// Lines below a verdict.
const MOST: usize = 8;

/// Runs a command with both outputs on a terminal of so many rows and 80 columns, and prints what
/// came there.
const PTY: &str = r#"
import fcntl, os, pty, struct, subprocess, sys, termios, tty
master, slave = pty.openpty()
tty.setraw(slave)
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", int(sys.argv[1]), 80, 0, 0))
child = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave)
os.close(slave)
while True:
    try:
        got = os.read(master, 65536)
    except OSError:
        break
    if not got:
        break
    sys.stdout.buffer.write(got)
sys.stdout.buffer.flush()
sys.exit(child.wait())
"#;

/// What a terminal with so many rows shows of a command.
fn on_rows(person: &Person, rows: u16, args: &[&str]) -> Ran {
    let plain = person.command(args);
    let mut python = Command::new("python3");
    python.args(["-c", PTY, &rows.to_string()]);
    python.arg(plain.get_program()).args(plain.get_args());
    let set = plain.get_envs();
    python
        .env_clear()
        .envs(set.filter_map(|(name, value)| Some((name, value?))));
    python.current_dir(person.dir.path()).stdin(Stdio::null());
    crate::person::run(&mut python)
}

fn asked() -> Person {
    let person = Person::new();
    person.ask("How is this machine doing?");
    person.ask("And the disk?");
    person
}

/// The first line, of a report that is short.
#[track_caller]
fn first(report: &str) -> &str {
    assert!(report.lines().count() <= 1 + MOST, "{report}");
    report.lines().next().unwrap()
}

#[test]
fn an_honest_record_says_so_and_what_it_leaves_open() {
    let person = asked();
    let report = person.gently(&["audit", "verify"]).exits(0).out;
    let line = first(&report);
    let expected = "✔ Nothing was changed or dropped: 9 records, 1 session, signed by ";
    assert!(line.starts_with(expected), "{report}");
    let key = person
        .gently(&["audit", "verify", "--json"])
        .exits(0)
        .json();
    assert_eq!(key["headline"]["mark"], "yes");
    assert_eq!(
        format!("✔ {}", key["headline"]["text"].as_str().unwrap()),
        line
    );
    assert_eq!(
        report.lines().nth(1).unwrap(),
        "? Not proven: when (no block); that there is no other or longer history (no witness)"
    );
    // The lines of the source documents stay.
    for name in [
        "Genesis: ",
        "Entries: 9",
        "Chain integrity: VALID",
        "BTC anchors: 0",
        "Sessions: 1",
    ] {
        assert!(
            report.lines().any(|line| line.starts_with(name)),
            "{report}"
        );
    }
    let all = person.gently(&["audit", "verify", "-v"]).exits(0).out;
    assert!(
        all.starts_with(line) && all.contains("\nconsistent:  yes ("),
        "{all}"
    );
}

#[test]
fn a_stranger_without_the_key_is_told_so() {
    let person = asked();
    person.gently(&["session", "close"]).exits(0);
    let ledger = person.at("ledger.git");
    let repo = ledger.to_str().unwrap();
    let stranger = Person::new();
    let report = stranger
        .gently(&["audit", "verify", "--repo", repo])
        .exits(0)
        .out;
    first(&report);
    assert!(
        report.contains("? Not proven: by whom (--signer KEY); when (no block); "),
        "{report}"
    );
    let known = person.at("keys/allowed_signers");
    let known = known.to_str().unwrap();
    let args = ["audit", "verify", "--repo", repo, "--signer", known];
    let report = stranger.gently(&args).exits(0).out;
    assert!(!report.contains("by whom"), "{report}");
}

#[test]
fn what_was_changed_dropped_or_never_signed_is_named_first() {
    let log = |person: &Person| fs::read_to_string(person.at("audit.log")).unwrap();
    let changed = |person: &Person| log(person).replacen("auth:", "auth:0", 1);
    let cut = |person: &Person| {
        let text = log(person);
        let at = text.trim_end().rfind('\n').unwrap();
        text[..=at].to_owned()
    };
    let more = |person: &Person| {
        let text = log(person);
        let last = text.lines().last().unwrap();
        format!("{text}{last}\n")
    };
    type Change<'a> = &'a dyn Fn(&Person) -> String;
    let cases: [(Change<'_>, &str); 3] = [(&changed, "✘ Changed: "), (&cut, "✘ "), (&more, "✘ ")];
    for (change, sign) in cases {
        let person = asked();
        let text = change(&person);
        fs::write(person.at("audit.log"), text).unwrap();
        let ran = person.gently(&["audit", "verify"]).exits(1);
        assert!(first(&ran.out).starts_with(sign), "{}", ran.out);
        assert!(!ran.out.contains('✔'), "{}", ran.out);
        let json = person
            .gently(&["audit", "verify", "--json"])
            .exits(1)
            .json();
        assert_eq!(json["headline"]["mark"], "no");
        // A line that nobody signed is none of the session's.
        let session = person.gently(&["audit", "session", "last"]);
        first(&session.out);
        let is_fine = session.out.starts_with('✔');
        let is_clean = json["findings"].as_array().unwrap().is_empty();
        assert_eq!(is_fine, is_clean, "{session:?}");
    }
}

#[test]
fn what_is_required_and_not_there_is_no_pass() {
    let person = asked();
    let ran = person
        .gently(&["audit", "verify", "--require", "unique"])
        .exits(1);
    assert_eq!(
        first(&ran.out),
        "? Not proven, as you require it: unique is not checked"
    );
}

#[test]
fn a_session_and_a_home_say_what_they_come_to() {
    let person = asked();
    let session = person.gently(&["audit", "session", "last"]).exits(0).out;
    assert_eq!(
        first(&session),
        "✔ Nothing in this session was changed: 2 answers"
    );
    assert!(
        session.ends_with("When: since not proven; until not proven\n"),
        "{session}"
    );
    let home = person.gently(&["doctor"]).exits(0).out;
    assert!(first(&home).starts_with("✔ All is well: "), "{home}");
    assert!(
        home.contains("Not looked at: calendars, witnesses, sources"),
        "{home}"
    );

    fs::write(person.at("keys/allowed_signers"), "").unwrap();
    let home = person.gently(&["doctor"]).exits(1).out;
    assert!(first(&home).starts_with("✘ 1 of "), "{home}");
    assert!(
        home.lines()
            .nth(1)
            .unwrap()
            .starts_with("FAIL     signing key "),
        "{home}"
    );
    assert!(home.lines().nth(2).unwrap().contains("-> "), "{home}");
}

#[test]
fn an_exchange_is_question_answer_and_status() {
    let person = asked();
    let shown = person.gently(&["show", "last"]).exits(0).out;
    assert!(shown.starts_with("question of 2"), "{shown}");
    assert!(
        shown.contains("    And the disk?\n\nanswer of observer\n    I am the observer"),
        "{shown}"
    );
    let status = shown.lines().last().unwrap();
    assert!(
        status.starts_with("✔ ") && status.contains("/2 · answered · block local · "),
        "{shown}"
    );
    assert!(!shown.contains("context bundle"), "{shown}");
    let id = status.split(' ').nth(1).unwrap();
    let json = person.gently(&["show", "--json", id]).exits(0).json();
    assert_eq!(json["id"], id);
    let full = person.gently(&["show", "--full", id]).exits(0).out;
    assert!(
        full.contains("\ncontext bundle\n") && full.contains("\nhashes\n"),
        "{full}"
    );

    person
        .database()
        .execute_batch("DROP TRIGGER IF EXISTS llm_turn_no_update")
        .unwrap();
    let denied = person.gently(&["ask", ""]).exits(1);
    assert!(denied.err.contains("no model was asked"), "{denied:?}");
    let shown = person.gently(&["show", "last"]).exits(0).out;
    assert!(shown.lines().last().unwrap().starts_with("✘ "), "{shown}");
}

#[test]
fn colours_are_for_terminals_that_have_them_and_people_who_want_them() {
    const GREEN: &str = "\u{1b}[1m\u{1b}[32m✔\u{1b}[0m Nothing was changed";
    let mut person = asked();
    let verify = ["audit", "verify"];
    person.set("TERM", "xterm-256color");
    assert!(on_rows(&person, 24, &verify).out.starts_with(GREEN));
    assert!(person.gently(&verify).out.starts_with("✔ Nothing"));
    let always = ["--color", "always", "audit", "verify"];
    assert!(person.gently(&always).out.starts_with(GREEN));
    let never = ["--color", "never", "audit", "verify"];
    assert!(on_rows(&person, 24, &never).out.starts_with("✔ Nothing"));
    person.set("NO_COLOR", "1");
    assert!(on_rows(&person, 24, &verify).out.starts_with("✔ Nothing"));
    person.unset("NO_COLOR");
    for term in ["dumb", ""] {
        person.set("TERM", term);
        assert!(
            on_rows(&person, 24, &verify).out.starts_with("✔ Nothing"),
            "{term}"
        );
    }
    person.set("TERM", "xterm");
    person.set("LC_ALL", "C");
    let plain = on_rows(&person, 24, &["audit", "verify", "--color", "never"]).out;
    assert!(plain.starts_with("ok Nothing was changed"), "{plain}");
}

#[test]
fn what_is_longer_than_the_screen_goes_through_the_pager() {
    let mut person = asked();
    person.set("TERM", "xterm");
    person.set("PAGER", "cat > paged.txt");
    let paged = person.dir.path().join("paged.txt");
    let full = ["show", "last", "--full", "--color", "never"];

    let ran = on_rows(&person, 10, &full).exits(0);
    assert_eq!(ran.out, "");
    assert_eq!(
        fs::read_to_string(&paged).unwrap(),
        person.gently(&full).exits(0).out
    );
    fs::remove_file(&paged).unwrap();

    // What fits needs none, nor does a pipe, nor who wants none; an answer is never paged.
    on_rows(&person, 200, &["session", "list"]).exits(0);
    let without = [&full[..], &["--no-pager"]].concat();
    assert!(
        on_rows(&person, 10, &without)
            .exits(0)
            .out
            .contains("context bundle")
    );
    let answer = on_rows(&person, 3, &["ask", "How is this machine doing?"]).exits(0);
    assert!(answer.out.contains("I am the observer"), "{answer:?}");
    person.set("PAGER", "");
    assert!(
        on_rows(&person, 10, &full)
            .exits(0)
            .out
            .contains("context bundle")
    );
    assert!(!paged.exists());

    // One that is not there costs nobody the report, and one that ends early is no failure.
    person.set("PAGER", "no-such-pager-here 2>/dev/null");
    assert!(
        on_rows(&person, 10, &full)
            .exits(0)
            .out
            .contains("context bundle")
    );
    person.set("PAGER", "true");
    on_rows(&person, 10, &full).exits(0);
}
