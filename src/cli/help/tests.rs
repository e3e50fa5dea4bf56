use std::collections::BTreeSet;
use std::ffi::OsString;

use clap::Parser as _;

use super::unknown_command::{answer, ask_option, command_named};
use super::*;
use crate::app::words::nearest;
use crate::cli::args::Cli;
use crate::cli::look::search::with_words_left_out;
use crate::govern::sanitize::redact;

/// Every command with the words that name it; the program itself has none.
fn all_commands() -> Vec<(String, Command)> {
    fn add(command: &Command, path: &str, all: &mut Vec<(String, Command)>) {
        all.push((path.to_owned(), command.clone()));
        for below in command.get_subcommands() {
            add(below, &joined(path, below.get_name()), all);
        }
    }
    let mut all = Vec::new();
    let mut root = command();
    root.build();
    add(&root, "", &mut all);
    all
}

/// The words of an example as a shell would pass them to gently; none if it does not run it.
fn words_of(example: &str) -> Option<Vec<String>> {
    let (mut pieces, mut quote) = (vec![vec![String::new()]], None);
    for c in example.chars() {
        let words = pieces.last_mut().unwrap();
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            ('|', None) => pieces.push(vec![String::new()]),
            (' ', None) => words.push(String::new()),
            _ => words.last_mut().unwrap().push(c),
        }
    }
    assert_eq!(quote, None, "{example}: a quote stays open");
    let piece = pieces.into_iter().find_map(|words| {
        // What is put into the environment of a command stands before it.
        let is_set = |word: &String| {
            let name = word.split_once('=').map_or("", |(name, _)| name);
            !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
        };
        let words = words.into_iter().filter(|word| !word.is_empty());
        let words: Vec<String> = words.skip_while(is_set).collect();
        (words.first()? == "gently").then_some(words)
    })?;
    let is_word = |word: &String| word != "<" && word != ">";
    Some(piece.into_iter().take_while(is_word).collect())
}

/// The names of the commands in what was parsed.
fn path_of(matches: &clap::ArgMatches) -> String {
    match matches.subcommand() {
        None => String::new(),
        Some((name, below)) => format!("{name} {}", path_of(below)).trim_end().to_owned(),
    }
}

#[test]
fn every_command_has_examples_that_are_taken_as_it() {
    let all = all_commands();
    assert!(all.len() > 90, "{}", all.len());
    for (path, found) in &all {
        let examples = examples_of(path);
        assert!(
            (1..=3).contains(&examples.len()),
            "'{path}' has {} examples in src/cli/help/examples.rs: one to three are wanted",
            examples.len()
        );
        let mut taken = Vec::new();
        for (typed, does) in examples {
            assert!(
                !does.is_empty() && does.len() <= 60,
                "'{path}': {typed}: {does}"
            );
            let Some(words) = words_of(typed) else {
                continue;
            };
            let words = with_words_left_out(words.into_iter().map(OsString::from));
            let parsed = command().try_get_matches_from(&words);
            let parsed = parsed.unwrap_or_else(|e| panic!("'{path}': {typed}: {e}"));
            let bare = Cli::try_parse_from(&words);
            assert!(bare.is_ok(), "'{path}': {typed}: {bare:?}");
            taken.push(path_of(&parsed));
        }
        let of_it = |taken: &String| {
            taken == path || found.has_subcommands() && taken.starts_with(path.as_str())
        };
        assert!(
            taken.iter().any(of_it),
            "'{path}' has examples of {taken:?} alone"
        );
    }
    let known: BTreeSet<&str> = all.iter().map(|(path, _)| path.as_str()).collect();
    let told: Vec<&str> = examples::paths().collect();
    assert_eq!(told.len(), known.len(), "a command has its examples twice");
    for path in told {
        assert!(
            known.contains(path),
            "examples of '{path}', which is no command"
        );
    }
}

#[test]
fn every_command_is_in_one_group() {
    let root = command();
    let mut there: Vec<&str> = names_below(&root).collect();
    let mut grouped: Vec<&str> = GROUPS
        .iter()
        .flat_map(|(_, names)| *names)
        .copied()
        .collect();
    there.sort_unstable();
    grouped.sort_unstable();
    assert_eq!(there, grouped);
}

#[test]
fn help_fits_eighty_columns_and_looks_like_no_secret() {
    for (path, mut found) in all_commands() {
        for text in [found.render_help(), found.render_long_help()] {
            let text = text.to_string().replace(HELD, " ");
            for line in text.lines() {
                let width = line.chars().count();
                // One example can't be broken: it is copied.
                let is_example = line.starts_with("  gently ");
                assert!(
                    width <= COLUMNS || is_example,
                    "'{path}': {width} columns: {line}"
                );
            }
            assert!(text.contains("\nExamples:\n  "), "{text}");
            assert_eq!(redact(&text).clean.as_str(), text, "'{path}'");
        }
    }
}

/// What is copied is whole, however narrow the terminal is.
#[test]
fn no_example_is_cut_in_a_narrow_terminal() {
    for (path, found) in all_commands() {
        let text = found.term_width(40).render_help().to_string();
        let text = text.replace(HELD, " ");
        for (typed, _) in examples_of(&path) {
            assert!(text.contains(typed), "'{path}': {typed}\n{text}");
        }
    }
}

#[test]
fn options_of_every_command_stand_apart() {
    let mut root = command();
    root.build();
    let verify = root.find_subcommand_mut("audit").unwrap();
    let verify = verify.find_subcommand_mut("verify").unwrap();
    let text = verify.render_help().to_string();
    let (own, shared) = text.split_once(&format!("\n{SHARED}:\n")).unwrap();
    for option in ["--json", "--passphrase-cmd", "--key-cmd", "--help"] {
        assert!(
            shared.contains(option) && !own.contains(option),
            "{option}: {text}"
        );
    }
    assert!(
        own.contains("--require") && !shared.contains("--require"),
        "{text}"
    );
}

#[test]
fn a_topic_is_a_screen_and_no_command() {
    let root = command();
    for topic in &TOPICS {
        assert!(topic.text.lines().count() <= 23, "{}", topic.name);
        assert!(
            topic
                .text
                .lines()
                .all(|line| line.chars().count() <= COLUMNS)
        );
        assert!(
            names_below(&root).all(|name| name != topic.name),
            "{}",
            topic.name
        );
        assert_eq!(redact(topic.text).clean.as_str(), topic.text);
        for line in topic
            .text
            .lines()
            .filter(|line| line.starts_with("  gently "))
        {
            let typed = line.split("   ").next().unwrap();
            let words = words_of(typed.trim_start_matches(' ').trim_end()).unwrap();
            let words = words
                .iter()
                .filter(|word| *word != "FILE" || !typed.contains('<'));
            let parsed = command().try_get_matches_from(words);
            let is_help = |e: &clap::Error| e.kind() == clap::error::ErrorKind::DisplayHelp;
            assert!(
                parsed.as_ref().err().is_none_or(is_help),
                "{line}: {parsed:?}"
            );
        }
    }
}

/// What is said of arguments whose command is none, as a person reads it.
fn answer_to(args: &[&str]) -> String {
    let args: Vec<OsString> = ["gently"].iter().chain(args).map(OsString::from).collect();
    let told = answer(&command(), &args, true).unwrap_or_else(|| panic!("{args:?}"));
    told.replace(&program(), "gently")
}

#[test]
fn a_question_without_its_verb_is_told_how_to_ask() {
    for (args, line) in [
        (
            &["What is the capital of France?"] as &[&str],
            r#"ask "What is the capital of France?""#,
        ),
        (&["What", "is", "it?"], r#"ask "What is it?""#),
        (&["Show", "me", "a", "duck"], r#"ask "Show me a duck""#),
        (&["why", "is", "it", "so?"], r#"ask "why is it so?""#),
        (&["Why?"], r#"ask "Why?""#),
        (&["What's up?"], r#"ask "What's up?""#),
        (&["What is $HOME?"], "ask 'What is $HOME?'"),
        (&["Who said \"it's\"?"], r#"ask 'Who said "it'\''s"?'"#),
        (&["a `b` c!"], "ask 'a `b` c!'"),
        (
            &["What is it?", "-m", "sonnet"],
            r#"ask "What is it?" -m sonnet"#,
        ),
        (&["--json", "What is it?"], r#"ask "What is it?""#),
        (
            &["--key-cmd", "cat key", "What is it?"],
            r#"ask "What is it?""#,
        ),
        (&["two\nlines here"], "ask \"…\""),
        (&["hidden \u{200b} here"], "ask \"…\""),
        (&["moved \u{1b}[2J here"], "ask \"…\""),
        (
            &["Is ghp_16C7e42F292c6912E7710c838347Ae178B4a mine?"],
            "ask \"…\"",
        ),
    ] {
        let told = answer_to(args);
        assert!(
            told.starts_with("error: a question comes behind 'ask':\n"),
            "{told}"
        );
        assert!(told.ends_with(&format!(" {line}")), "{args:?}: {told}");
    }
    let long = "long ".repeat(100);
    assert!(answer_to(&[&long]).ends_with(" ask \"…\""));
    let args = ["gently", "What is it?"].map(OsString::from);
    let told = answer(&command(), &args, false).unwrap();
    assert!(told.ends_with(" ask \"…\""), "{told}");
}

#[test]
fn a_misspelt_command_is_told_the_right_one() {
    for (args, meant, line) in [
        (
            &["aks", "What is it?"] as &[&str],
            "ask",
            r#" ask "What is it?""#,
        ),
        (&["aks"], "ask", " ask"),
        (&["ASK", "x"], "ask", " ask \"x\""),
        (&["aks", "-m", "fast", "x y"], "ask", " ask -m fast \"x y\""),
        (&["Session", "list"], "session", " session list"),
        (&["sesion", "list"], "session", " session list"),
        (&["conf", "get"], "config", " config get"),
        (
            &["session", "opne", "-m", "x"],
            "session open",
            " session open -m x",
        ),
        (&["audit", "verfiy"], "audit verify", " audit verify"),
        (&["--passphrase-cmd", "ask", "doctr"], "doctor", " doctor"),
        (&["aks", "a\u{202e}b"], "ask", " ask …"),
    ] {
        let told = answer_to(args);
        assert!(
            told.contains(&format!("; did you mean '{meant}'?\n")),
            "{args:?}: {told}"
        );
        assert!(told.ends_with(line), "{args:?}: {told}");
    }
    for (args, line) in [
        (
            &["retire", "correction-15"] as &[&str],
            " correction retire correction-15",
        ),
        (&["retire", "fact-1"], " fact retire fact-1"),
        (
            &["correct", "It is blue"],
            r#" correction add "It is blue""#,
        ),
    ] {
        let told = answer_to(args);
        assert!(told.contains("; did you mean this?\n"), "{told}");
        assert!(told.ends_with(line), "{args:?}: {told}");
    }
    assert!(answer_to(&["histroy"]).contains("\n    gently conversation list\n"));
    assert!(answer_to(&["verify", "--since", "last"]).contains("gently audit verify"));
    assert!(answer_to(&["exit-codes"]).contains("gently help exit-codes"));
    assert!(answer_to(&["stamp"]).ends_with("did you mean 'gently audit stamp'?"));
    assert!(
        answer_to(&["session", "help", "open"])
            .ends_with("did you mean 'gently help session open'?")
    );
    let told = answer_to(&["frobnicate"]);
    assert!(told.contains("there is no command 'frobnicate'") && told.contains("gently help"));
    assert!(answer_to(&["frobnicate", "the", "thing"]).ends_with(r#"ask "frobnicate the thing""#));
    let told = answer_to(&["session", "frobnicate"]);
    assert!(
        told.ends_with("behind 'session' there is: open, close, list, summary, show"),
        "{told}"
    );
    assert!(answer_to(&[""]).contains("there is no command ''"));
    assert!(answer_to(&[&"x".repeat(100_000)]).len() < 1000);
}

#[test]
fn what_other_programs_call_it_leads_to_what_is_on_record() {
    for (word, way) in [
        ("find", "search \"…\""),
        ("grep", "conversation list"),
        ("list", "conversation list"),
        ("ls", "show last"),
        ("history", "conversation list"),
        ("conversations", "conversation list"),
        ("conv", "conversation list"),
        ("sessions", "session list"),
        ("models", "model list"),
        ("projects", "project list"),
        ("threads", "thread list"),
        ("logs", "log"),
    ] {
        let told = answer_to(&[word, "sky"]);
        let is_one = told.lines().count() == 2;
        let before = if is_one {
            "; did you mean this?"
        } else {
            "; one of these does it:"
        };
        assert!(told.lines().next().unwrap().ends_with(before), "{told}");
        assert!(
            told.lines()
                .any(|line| line.trim() == format!("gently {way}")),
            "{told}"
        );
        assert!(!told.contains(" ask "), "{told}");
    }
    assert!(answer_to(&["status"]).contains("\n    gently doctor\n"));
    // A sentence is a question all the same, and behind another command it is that one's.
    assert!(answer_to(&["List", "all", "ports"]).contains("gently ask"));
    assert!(answer_to(&["session", "find"]).contains("behind 'session' there is"));
    // What stands behind no group is named without it.
    let told = answer_to(&["fact", "show", "fact-1"]);
    assert!(
        told.ends_with("did you mean this?\n    gently show fact-1"),
        "{told}"
    );
}

#[test]
fn a_command_of_another_program_leads_to_the_one_that_does_it() {
    for (args, line) in [
        (&["version"] as &[&str], "gently --version"),
        (&["config", "show"], "gently config get"),
        (
            &["config", "show", "anchor.mode"],
            "gently config get anchor.mode",
        ),
        (
            &["project", "show", "Garden"],
            "gently conversation list --project Garden",
        ),
        (
            &["projects", "show", "a b"],
            r#"gently conversation list --project "a b""#,
        ),
        (
            &["models", "default", "fast"],
            "gently config set model.default fast",
        ),
        (
            &["model", "use", "fast"],
            "gently config set model.default fast",
        ),
        (
            &["conversation", "title", "last", "A b"],
            r#"gently conversation rename last "A b""#,
        ),
        (
            &["project", "remove", "project-1"],
            "gently project retire project-1",
        ),
        (
            &["project", "delete", "project-1"],
            "gently project retire project-1",
        ),
        (&["note", "delete", "note-1"], "gently note retire note-1"),
        (&["key", "remove", "laptop"], "gently key revoke laptop"),
        (
            &["drift", "acknowledge", "drift-1"],
            "gently drift ack drift-1",
        ),
        (&["note", "buy milk"], r#"gently note add "buy milk""#),
        (
            &["fact", "the sea is salt"],
            r#"gently fact add "the sea is salt""#,
        ),
        (&["decision", "use git"], r#"gently decision add "use git""#),
        (
            &["intent", "a short text"],
            r#"gently intent set "a short text""#,
        ),
    ] {
        let told = answer_to(args);
        assert_eq!(
            told.lines().last().unwrap().trim(),
            line,
            "{args:?}: {told}"
        );
        let words = words_of(line).unwrap();
        let parsed = command().try_get_matches_from(words);
        let is_version = |e: &clap::Error| e.kind() == clap::error::ErrorKind::DisplayVersion;
        assert!(
            parsed.as_ref().err().is_none_or(is_version),
            "{line}: {parsed:?}"
        );
    }
    let told = answer_to(&["logs"]);
    assert!(
        told.contains("\n    gently conversation show last\n"),
        "{told}"
    );
    let told = answer_to(&["note", "milk"]);
    assert!(told.contains("behind 'note' there is: add, "), "{told}");
    assert!(
        told.ends_with("to put it on record: gently note add \"milk\""),
        "{told}"
    );
    // The keys of gently are no provider's.
    for args in [
        &["keys", "set", "openai"] as &[&str],
        &["keys", "add", "x"],
        &["key", "set", "x"],
    ] {
        let told = answer_to(args);
        assert!(
            told.contains("OPENAI_API_KEY") && told.contains("model.key_file"),
            "{told}"
        );
        assert!(!told.contains("key set"), "{told}");
    }
}

#[test]
fn an_option_that_is_none_leads_to_those_that_were_meant() {
    let said = |args: &[&str]| {
        let args: Vec<OsString> = ["gently"].iter().chain(args).map(OsString::from).collect();
        let error = command().try_get_matches_from(&args).unwrap_err();
        let told = argument_error::answer(command(), &args, &error, true).unwrap();
        told.replace(&program(), "gently")
    };
    for (args, meant) in [
        (&["ask", "-s", "Be short", "hi"] as &[&str], "--system"),
        (&["ask", "-t", "0", "hi"], "--temperature"),
        (&["conversation", "list", "--limit", "5"], "-n"),
        (&["log", "--lines", "5"], "-n"),
    ] {
        let told = said(args);
        let (first, rest) = told.split_once('\n').unwrap();
        assert!(
            first.contains("; did you mean ") && first.contains(meant),
            "{told}"
        );
        let described = if meant == "-n" { "--number" } else { meant };
        assert!(rest.contains(&format!("  {described} ")), "{told}");
        assert!(!told.contains("Why is the sky blue?"), "{told}");
    }
    assert!(!said(&["ask", "-o", "x", "hi"]).contains("did you mean"));
}

#[test]
fn an_option_of_ask_without_it_is_told_where_it_belongs() {
    let said = |args: &[&str]| {
        let args: Vec<OsString> = std::iter::once(&"gently")
            .chain(args)
            .map(OsString::from)
            .collect();
        ask_option(&command(), &args, true)
    };
    let short = said(&["-m", "fast", "hi you"]).unwrap();
    assert!(
        short.starts_with("error: -m is an option of 'ask':\n"),
        "{short}"
    );
    assert!(short.ends_with(" ask -m fast \"hi you\""), "{short}");
    let long = said(&["--model=fast", "hi"]).unwrap();
    assert!(long.ends_with(" ask --model=fast hi"), "{long}");
    for other in [&["--bogus"][..], &["-Q"], &["-"], &["session", "-m"], &[]] {
        assert_eq!(said(other), None, "{other:?}");
    }
}

#[test]
fn what_is_near_is_near_enough() {
    let near = |word| nearest(word, ["ask", "audit", "show", "share"].into_iter());
    assert_eq!(near("aks"), Some("ask"));
    assert_eq!(near("AUDTI"), Some("audit"));
    assert_eq!(near("aud"), Some("audit"));
    assert_eq!(near("shwo"), Some("show"));
    assert_eq!(near("chat"), None);
    assert_eq!(near(""), None);
    assert_eq!(near("s"), None);
}

#[test]
fn help_on_what_is_not_there_says_what_is() {
    let root = command();
    assert!(command_named(&root, &["audit", "verify"]).is_ok());
    let told = |words: &[&str]| {
        let why = command_named(&root, words).unwrap_err();
        why.replace(&program(), "gently")
    };
    let top = told(&["vrify"]);
    assert!(top.starts_with("there is no help on 'vrify'; did you mean 'gently help verify'?\n"));
    assert!(
        top.contains("\n  Prove:    share check audit trace consent anchor witness\n"),
        "{top}"
    );
    assert!(
        top.ends_with("\n  Topics:   exit-codes ids privacy verify"),
        "{top}"
    );
    let below = told(&["audit", "vrify"]);
    assert!(
        below.contains("did you mean 'gently help audit verify'?"),
        "{below}"
    );
    assert!(
        below.contains("behind 'audit': verify session check"),
        "{below}"
    );
    assert!(told(&["ask", "more"]).ends_with("behind 'ask': nothing more"));
}

#[test]
fn colours_are_as_they_were_asked_for_even_if_nothing_else_is_understood() {
    let choice = |args: &[&str]| color_choice(&args.iter().map(OsString::from).collect::<Vec<_>>());
    assert_eq!(
        choice(&["gently", "--color", "never", "--help"]),
        ColorChoice::Never
    );
    assert_eq!(
        choice(&["gently", "--help", "--color=always"]),
        ColorChoice::Always
    );
    for args in [
        &["gently", "--color"] as &[&str],
        &["gently", "--color=blue"],
        &["gently", "--", "--color=never"],
    ] {
        assert_eq!(choice(args), ColorChoice::Auto);
    }
}

#[test]
fn a_shell_reads_back_what_was_quoted() {
    for (word, expected) in [
        ("a/b-c_d.e:f", "a/b-c_d.e:f"),
        ("", "\"\""),
        ("two words", "\"two words\""),
        ("it's", "\"it's\""),
        ("a\"b", "'a\"b'"),
        ("$(x)", "'$(x)'"),
        ("a\\'b", r"'a\'\''b'"),
        ("*", "\"*\""),
    ] {
        assert_eq!(shell_quoted(word), expected);
    }
}
