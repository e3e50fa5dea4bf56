//! What a check, a home and an exchange come to stands first, in one line; colours and the pager
//! that long reports go through.

use std::fs;

use crate::person::{Person, Ran};
use crate::pty::on_terminal;
use crate::unguarded::unguarded;

/// Lines below a verdict.
const MOST: usize = 8;

/// What a terminal with so many rows shows of a command.
fn on_rows(person: &Person, rows: u16, args: &[&str]) -> Ran {
    on_terminal(person, (rows, 80), args)
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
        // Where the ledger is not as it should be, no session of it passes.
        let session = person.gently(&["audit", "session", "last"]).exits(1);
        assert!(!first(&session.out).starts_with('✔'), "{session:?}");
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
        status.starts_with("✔ ") && status.contains("/2 · answered · no block · "),
        "{shown}"
    );
    assert!(!shown.contains("put before the model"), "{shown}");
    let id = status.split(' ').nth(1).unwrap();
    let json = person.gently(&["show", "--json", id]).exits(0).json();
    assert_eq!(json["id"], id);
    let full = person.gently(&["show", "--full", id]).exits(0).out;
    assert!(
        full.contains("\nput before the model\n") && full.contains("\nhashes\n"),
        "{full}"
    );

    let denied = person.gently(&["ask", ""]).exits(1);
    assert!(denied.err.contains("no model was asked"), "{denied:?}");
    let shown = person.gently(&["show", "last"]).exits(0).out;
    assert!(shown.lines().last().unwrap().starts_with("✘ "), "{shown}");
}

#[test]
fn what_is_shown_is_held_against_its_line_and_its_document() {
    for change in [
        "UPDATE llm_exchange SET reply = '{}'",
        "UPDATE llm_exchange SET prompt_tokens = 77",
        "UPDATE llm_exchange SET response_commitment = prompt_commitment",
        "UPDATE llm_exchange SET chain_entry = prompt_commitment WHERE seq = 2",
        "UPDATE llm_exchange SET exchange_commitment = prompt_commitment",
        // What can't be read, or has no salt any more, is not passed over.
        "UPDATE llm_exchange SET exclusions = 'garbage{'",
        "UPDATE llm_exchange SET params = 'garbage{'",
        "UPDATE llm_exchange SET validator_summary = 'garbage{'",
        "UPDATE llm_exchange SET salt = NULL",
        "UPDATE llm_exchange SET context_bundle_json = NULL, context_bundle_hash = NULL",
        "UPDATE chat_turn SET turn_id = replace(turn_id, substr(turn_id, 1, 8), 'ffffffff') WHERE speaker = 'user'",
        "UPDATE chat_turn SET content = NULL, content_hash = NULL",
        "UPDATE chat_turn SET content = 'forged', content_hash = NULL WHERE speaker <> 'user'",
        "DELETE FROM chat_turn WHERE speaker <> 'user'",
    ] {
        let person = asked();
        let database = unguarded(person.at("gently.db"));
        database.execute_batch(change).unwrap();
        let shown = person.gently(&["show", "last"]).exits(1);
        let status = shown.out.lines().last().unwrap();
        assert!(
            status.starts_with("✘ ") && status.contains("CHANGED since it was recorded: "),
            "{change}: {shown:?}"
        );
        // A changed answer is not given again, either.
        let id = status.split(' ').nth(1).unwrap();
        let again = person.gently(&["ask", "-m", &format!("replay:{id}"), "Again"]);
        assert_ne!(again.code, 0, "{change}: {again:?}");
    }
}

#[test]
fn the_name_of_a_file_prints_no_verdict() {
    let person = asked();
    let name = "x\n✔ Nothing was changed or dropped: 7 records\n";
    for args in [
        &["check", name][..],
        &["audit", "verify", "--repo", name],
        &["show", name],
    ] {
        let ran = person.gently(args).exits(2);
        let said = format!("{}{}", ran.out, ran.err);
        assert!(said.lines().all(|line| !line.starts_with('✔')), "{said}");
    }
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
fn what_was_erased_is_said_first() {
    let person = asked();
    person.ask("Up for long?");
    let before = person.gently(&["audit", "verify"]).exits(0).out;
    assert!(!first(&before).contains("erased"), "{before}");
    person.gently(&["erase", "last/1", "--yes"]).exits(0);
    let report = person.gently(&["audit", "verify"]).exits(0).out;
    let line = first(&report);
    assert!(
        line.contains(" records, 1 session, 1 erased, signed by "),
        "{report}"
    );
}

#[test]
fn help_that_is_longer_than_the_screen_goes_through_the_pager() {
    let mut person = Person::new();
    person.set("TERM", "xterm");
    person.set("PAGER", "cat > paged.txt");
    let paged = person.dir.path().join("paged.txt");
    for (code, args) in [
        (0, &["help"][..]),
        (0, &["--help"]),
        (0, &["help", "ask"]),
        (0, &["ask", "--help"]),
        (0, &["log", "--help"]),
        (2, &["session"]),
        (2, &[]),
    ] {
        let ran = on_rows(&person, 10, args).exits(code);
        assert_eq!(ran.out, "", "{args:?}");
        let text = fs::read_to_string(&paged).unwrap();
        assert!(
            text.contains("Usage:") && !text.contains("\\u001b"),
            "{text}"
        );
        fs::remove_file(&paged).unwrap();
        let whole = on_rows(&person, 10, &[args, &["--no-pager"]].concat()).exits(code);
        assert!(whole.out.contains("Usage:"), "{args:?}: {whole:?}");
        assert!(!paged.exists(), "{args:?}");
    }
    // Who leads it elsewhere gets it as it is; what is missing is no answer then.
    let ran = person.gently(&["session"]).exits(2);
    assert!(ran.out.is_empty() && ran.err.contains("Usage:"), "{ran:?}");
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
    // The same words, in lines that the screen has room for.
    let (paged_text, piped) = (
        fs::read_to_string(&paged).unwrap(),
        person.gently(&full).exits(0).out,
    );
    let words = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(words(&paged_text), words(&piped));
    assert!(piped.lines().any(|line| line.chars().count() > 80));
    for line in paged_text.lines() {
        let is_word = words(line).len() == 1;
        assert!(is_word || line.chars().count() <= 80, "{line}");
    }
    fs::remove_file(&paged).unwrap();

    // What fits needs none, nor does a pipe, nor who wants none; an answer is never paged.
    on_rows(&person, 200, &["session", "list"]).exits(0);
    let without = [&full[..], &["--no-pager"]].concat();
    assert!(
        on_rows(&person, 10, &without)
            .exits(0)
            .out
            .contains("put before the model")
    );
    let answer = on_rows(&person, 3, &["ask", "How is this machine doing?"]).exits(0);
    assert!(answer.out.contains("I am the observer"), "{answer:?}");
    person.set("PAGER", "");
    assert!(
        on_rows(&person, 10, &full)
            .exits(0)
            .out
            .contains("put before the model")
    );
    assert!(!paged.exists());

    // One that is not there costs nobody the report, and one that ends early is no failure.
    person.set("PAGER", "no-such-pager-here 2>/dev/null");
    assert!(
        on_rows(&person, 10, &full)
            .exits(0)
            .out
            .contains("put before the model")
    );
    person.set("PAGER", "true");
    on_rows(&person, 10, &full).exits(0);
    // One that fails has shown nothing that anybody could rely on; one that is ended has.
    person.set("PAGER", "false");
    assert!(
        on_rows(&person, 10, &full)
            .exits(0)
            .out
            .contains("context bundle")
    );
    person.set("PAGER", "kill -TERM $$");
    assert_eq!(on_rows(&person, 10, &full).exits(0).out, "");
}
