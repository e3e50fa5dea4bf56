//! Help, what is said where something is no command, completions and manual pages: as the real
//! program gives them, read by the shells and typesetters that there are.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::person::{Person, Ran, run};

/// Somebody who types at a terminal, and whose home is not made by looking for help.
fn person() -> Person {
    Person::new().under_the_kernel()
}

/// The path of a tool, if it is on this machine; says so when it is not.
fn tool(name: &str) -> Option<&str> {
    let found = Command::new(name)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .is_ok();
    if !found {
        eprintln!("skipped: there is no {name}");
    }
    found.then_some(name)
}

#[test]
fn help_is_the_help_of_the_option() {
    let person = person();
    for words in [
        &[] as &[&str],
        &["ask"],
        &["audit", "verify"],
        &["hook", "pre-receive"],
    ] {
        let by_command = person.gently(&[&["help"], words].concat()).exits(0);
        let by_option = person.gently(&[words, &["--help"]].concat()).exits(0);
        assert_eq!(by_command.out, by_option.out);
        assert!(
            by_command.out.contains("\nExamples:\n  gently "),
            "{by_command:?}"
        );
        let view = person
            .gently(&[&["help", "--json"], words].concat())
            .exits(0)
            .json();
        assert_eq!(view["text"], by_option.out);
        assert_eq!(view["words"], words.join(" "));
        assert_eq!(view["kind"], "command");
        let first = view["examples"][0]["command"].as_str().unwrap();
        assert!(by_option.out.contains(first), "{first}");
    }
    let view = person.gently(&["help", "audit", "--json"]).exits(0).json();
    let below: Vec<&str> = view["commands"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c.as_str().unwrap())
        .collect();
    assert!(
        below.contains(&"audit verify") && below.len() > 10,
        "{below:?}"
    );
    assert!(!person.home().exists(), "help makes no home");
}

#[test]
fn every_topic_is_printed_and_is_in_json() {
    let person = person();
    let topics = person.gently(&["help", "--json"]).exits(0).json()["topics"].clone();
    let topics = topics.as_array().unwrap();
    assert_eq!(topics, &["exit-codes", "ids", "privacy", "verify"]);
    for topic in topics {
        let topic = topic.as_str().unwrap();
        let told = person.gently(&["help", topic]).exits(0).out;
        assert!(told.lines().count() > 10, "{told}");
        let view = person.gently(&["help", topic, "--json"]).exits(0).json();
        assert_eq!(
            (view["kind"].as_str(), view["text"].as_str()),
            (Some("topic"), Some(told.as_str()))
        );
    }
    // In two words, too.
    let codes = person.gently(&["help", "exit", "codes"]).exits(0).out;
    assert!(codes.starts_with("Exit codes\n"), "{codes}");
    // What the topic says of the codes is what the program does.
    for (args, code) in [
        (&["help"] as &[&str], 0),
        (&["show", "--no"], 2),
        (&["audit", "verify"], 2),
    ] {
        person.gently(args).exits(code);
    }
}

#[test]
fn what_there_is_no_help_on_is_refused_with_what_there_is() {
    let person = person();
    let ran = person.gently(&["help", "audit", "vrify"]).exits(2);
    assert!(
        ran.out.is_empty() && ran.err.contains("gently help audit verify'?"),
        "{ran:?}"
    );
    let ran = person.gently(&["help", "nonsense", "--json"]).exits(2);
    let error = ran.json()["error"].as_str().unwrap().to_owned();
    assert!(error.contains("Topics:   exit-codes"), "{error}");
    assert_eq!(ran.json()["exit"], 2);
    assert!(ran.err.contains(&error), "{ran:?}");
}

#[test]
fn what_is_no_command_says_what_was_meant() {
    let person = person();
    let ran = person.gently(&["aks", "What is it?"]).exits(2);
    assert!(
        ran.err.contains("did you mean 'ask'?") && ran.out.is_empty(),
        "{ran:?}"
    );
    let ran = person.gently(&["What is it?", "--json"]).exits(2);
    assert!(ran.err.ends_with("ask \"What is it?\" --json\n"), "{ran:?}");
    assert_eq!(
        format!("error: {}\n", ran.json()["error"].as_str().unwrap()),
        ran.err
    );
    // What clap itself finds wrong is in JSON, too.
    let ran = person.gently(&["ask", "--bogus", "--json"]).exits(2);
    assert!(
        ran.json()["error"].as_str().unwrap().contains("--bogus"),
        "{ran:?}"
    );
    let ran = person.gently(&["session"]).exits(2);
    assert!(ran.err.contains("Usage: gently session"), "{ran:?}");
    assert!(!person.home().exists(), "a misspelt command makes no home");
}

#[test]
fn commands_of_other_programs_are_answered_with_what_is_typed_here() {
    let person = person();
    for (typed, meant) in [
        (&["rm", "last"][..], "gently erase last\n"),
        (&["trace", "last"], "gently trace show last\n"),
        (
            &["consent", "revoke", "consent-1"],
            "gently consent withdraw consent-1\n",
        ),
        (
            &["trace", "export", "last", "--level", "full"],
            "did you mean full_traces?",
        ),
    ] {
        let ran = person.gently(typed).exits(2);
        assert!(ran.err.contains(meant), "{typed:?}: {ran:?}");
    }
}

/// The line that is suggested does what it says: a shell that runs it asks exactly that.
#[test]
fn the_suggested_line_asks_the_question() {
    let person = Person::new();
    for question in ["What's up?", "Who said \"it's\" for $5?", "is `a\\b` so!"] {
        let ran = run(person.command(&[] as &[&str]).arg(question)).exits(2);
        let line = ran.err.lines().last().unwrap().trim();
        let line = line.replacen(" ask ", " ask --sight ", 1);
        let mut bash = Command::new("bash");
        bash.args(["-c", &line]).env_clear().stdin(Stdio::null());
        bash.env("PATH", std::env::var("PATH").unwrap())
            .env("HOME", person.dir.path());
        bash.env("GENTLY_HOME", person.home())
            .envs(person.variables());
        run(&mut bash).exits(0);
        let shown = person.gently(&["show", "last", "--json"]).exits(0);
        let asked = serde_json::to_string(question).unwrap();
        assert!(shown.out.contains(&asked), "{question}: {shown:?}");
    }
}

#[test]
fn what_was_typed_is_shown_without_secrets_and_moves_nothing() {
    let person = person();
    let token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let (question, option) = (format!("Is {token} mine?"), format!("--token={token}"));
    for args in [
        &[question.as_str()] as &[&str],
        &["aks", token],
        &["aks", &option],
        &[token],
        &["session", token],
        &["help", token],
        &["help", "--json", token],
    ] {
        let ran = person.gently(args).exits(2);
        assert!(
            !ran.err.contains(token) && !ran.out.contains(token),
            "{ran:?}"
        );
    }
    for moving in [
        "a\u{1b}[2Jb c",
        "\u{202e}evil\u{9b}2J",
        "\u{1b}]0;title\u{7}",
    ] {
        for args in [
            &[moving] as &[&str],
            &["aks", moving],
            &["session", moving],
            &["help", moving],
        ] {
            let ran = person.gently(args).exits(2);
            let is_bad = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
            assert!(!ran.err.contains(is_bad), "{ran:?}");
        }
    }
    // The rules of the home's own, too; and when they can't be read, no question is repeated.
    person.gently(&["init"]).exits(0);
    fs::write(
        person.at("house.toml"),
        "[[rules]]\nid = \"house-number\"\nregex = '''\\bHN-(\\d{4})\\b'''\nkeywords = [\"hn-\"]\n",
    )
    .unwrap();
    fs::write(
        person.at("gently.toml"),
        "[sanitize]\nrules = [\"house.toml\"]\n",
    )
    .unwrap();
    let ran = person.gently(&["Where is HN-4711?"]).exits(2);
    assert!(!ran.err.contains("4711"), "{ran:?}");
    assert!(
        person
            .gently(&["Where is it?"])
            .err
            .contains("ask \"Where is it?\"")
    );
    fs::write(person.at("house.toml"), "[[rules]]\nid = 3\n").unwrap();
    let ran = person.gently(&["Where is HN-4711?"]).exits(2);
    assert!(
        ran.err.contains("ask \"…\"") && !ran.err.contains("4711"),
        "{ran:?}"
    );
}

#[test]
fn completions_are_read_by_their_shells() {
    let person = person();
    for shell in ["bash", "zsh", "fish"] {
        let script = person.gently(&["completions", shell]).exits(0).out;
        assert!(
            script.contains("clock-set") && script.contains("passphrase-cmd"),
            "{shell}"
        );
        let view = person
            .gently(&["completions", shell, "--json"])
            .exits(0)
            .json();
        assert_eq!(
            (&view["shell"], &view["script"]),
            (&shell.into(), &script.as_str().into())
        );
        let file = person.dir.path().join(shell);
        fs::write(&file, &script).unwrap();
        if let Some(shell) = tool(shell) {
            let ran = run(Command::new(shell).arg("-n").arg(&file)).exits(0);
            assert_eq!((ran.out, ran.err), (String::new(), String::new()));
        }
    }
    let ran = person.gently(&["completions", "tcsh"]).exits(2);
    assert!(ran.err.contains("bash, zsh, fish"), "{ran:?}");
}

/// The words that bash offers at the end of a line.
fn offered(script: &Path, line: &[&str]) -> Vec<String> {
    let words: Vec<String> = line.iter().map(|word| format!("'{word}'")).collect();
    let ask = format!(
        "source '{}'; COMP_WORDS=({}); COMP_CWORD={}; _gently gently '{}' '{}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script.display(),
        words.join(" "),
        line.len() - 1,
        line[line.len() - 1],
        line[line.len() - 2],
    );
    let ran = run(Command::new("bash").args(["--norc", "-c", &ask])).exits(0);
    ran.out.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_and_options() {
    let person = person();
    let script = person.dir.path().join("gently.bash");
    fs::write(
        &script,
        person.gently(&["completions", "bash"]).exits(0).out,
    )
    .unwrap();
    assert_eq!(offered(&script, &["gently", "doc"]), ["doctor"]);
    assert_eq!(offered(&script, &["gently", "audit", "ver"]), ["verify"]);
    assert_eq!(
        offered(&script, &["gently", "audit", "verify", "--rep"]),
        ["--repo"]
    );
    let shells = offered(&script, &["gently", "completions", ""]);
    for shell in ["bash", "zsh", "fish"] {
        assert!(shells.iter().any(|word| word == shell), "{shells:?}");
    }
}

/// The names in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// What a typesetter makes of pages; all it has to complain of.
fn typeset(folder: &Path) -> Option<Ran> {
    let pages = names(folder);
    if let Some(groff) = tool("groff") {
        let mut groff = Command::new(groff);
        groff.args(["-k", "-K", "utf8", "-man", "-Tutf8", "-ww", "-rLL=78n"]);
        return Some(run(groff
            .args(&pages)
            .current_dir(folder)
            .env("GROFF_NO_SGR", "1")));
    }
    let mandoc = tool("mandoc")?;
    let mut mandoc = Command::new(mandoc);
    mandoc.args(["-Tutf8", "-W", "warning"]);
    Some(run(mandoc.args(&pages).current_dir(folder)))
}

#[test]
fn every_command_has_a_manual_page_that_is_typeset_without_a_warning() {
    let person = person();
    let folder = person.dir.path().join("pages");
    let ran = person.gently(&["man", "pages"]).exits(0);
    let pages = names(&folder);
    assert!(pages.len() > 90, "{}", pages.len());
    assert_eq!(ran.out, format!("{} manual pages in pages\n", pages.len()));
    for page in [
        "gently.1",
        "gently-ask.1",
        "gently-audit-verify.1",
        "gently-help.1",
    ] {
        assert!(pages.iter().any(|name| name == page), "{page}");
    }
    let Some(set) = typeset(&folder) else {
        eprintln!("skipped: nothing here typesets manual pages");
        return;
    };
    assert_eq!((set.code, set.err.as_str()), (0, ""));
    // Letters that are struck twice are how a terminal without colours shows bold.
    let mut plain = String::new();
    for c in set.out.chars() {
        if c == '\u{8}' {
            plain.pop();
        } else {
            plain.push(c);
        }
    }
    for told in [
        "gently ask \"Why is the sky blue?\"",
        "git diff | gently ask \"What changed?\"",
        "OPTIONS OF EVERY COMMAND",
        "gently(1), gently-audit(1)",
        "EXIT CODES",
        "  129, 130, 143    ended by SIGHUP, by Ctrl-C, by SIGTERM",
    ] {
        assert!(plain.contains(told), "{told}");
    }
    assert!(!person.home().exists(), "manual pages need no home");
}

#[test]
fn manual_pages_are_written_over_their_own_and_over_nothing_else() {
    let person = person();
    let folder = person.dir.path().join("pages");
    fs::create_dir(&folder).unwrap();
    person.gently(&["man", "pages"]).exits(0);
    let all = names(&folder);
    let first = fs::read_to_string(folder.join("gently-ask.1")).unwrap();

    // A page of a command that is gone, and one that a crash left half.
    let mark = first.lines().next().unwrap();
    fs::write(
        folder.join("gently-gone.1"),
        format!("{mark}\n.TH gone 1\n"),
    )
    .unwrap();
    fs::write(folder.join("gently-ask.1.unfinished"), &mark[..5]).unwrap();
    fs::write(folder.join("gently-ask.1"), format!("{mark}\nold\n")).unwrap();
    let view = person.gently(&["man", "pages", "--json"]).exits(0).json();
    assert_eq!(view["removed"], serde_json::json!(["gently-gone.1"]));
    assert_eq!(view["pages"].as_array().unwrap().len(), all.len());
    assert_eq!(names(&folder), all);
    assert_eq!(
        fs::read_to_string(folder.join("gently-ask.1")).unwrap(),
        first
    );

    // What is somebody else's is named, and nothing is touched.
    let refused = |file: &str| {
        fs::write(folder.join("gently-ask.1"), format!("{mark}\nold\n")).unwrap();
        let ran = person.gently(&["man", "pages"]).exits(2);
        assert!(
            ran.err.contains(file) && ran.err.contains("nothing was written"),
            "{ran:?}"
        );
        assert!(
            fs::read_to_string(folder.join("gently-ask.1"))
                .unwrap()
                .ends_with("\nold\n")
        );
    };
    for (file, text) in [
        ("notes.txt", "mine"),
        ("gently-mine.1", ".TH mine 1\n"),
        ("gently-ask.1.gz", mark),
    ] {
        fs::write(folder.join(file), text).unwrap();
        refused(file);
        assert_eq!(fs::read_to_string(folder.join(file)).unwrap(), text);
        fs::remove_file(folder.join(file)).unwrap();
    }
    symlink(
        person.dir.path().join("elsewhere"),
        folder.join("gently-key.1.unfinished"),
    )
    .unwrap();
    refused("gently-key.1.unfinished");
    fs::remove_file(folder.join("gently-key.1.unfinished")).unwrap();
    fs::create_dir(folder.join("gently-dir.1")).unwrap();
    refused("gently-dir.1");
    fs::remove_dir(folder.join("gently-dir.1")).unwrap();
    person.gently(&["man", "pages"]).exits(0);
    assert_eq!(names(&folder), all);
}

#[test]
fn manual_pages_are_all_written_or_none() {
    let person = person();
    fs::write(person.dir.path().join("file"), "mine").unwrap();
    symlink(person.dir.path(), person.dir.path().join("link")).unwrap();
    for (folder, why) in [
        ("file", "is a file"),
        ("link", "is a symlink"),
        ("no/such", "No such file"),
    ] {
        let ran = person.gently(&["man", folder]).exits(2);
        assert!(ran.err.contains(why) && ran.out.is_empty(), "{ran:?}");
    }
    // A limit on the size of files stands for a full disk: the small pages are written before it.
    let limited = || {
        let gently = env!("CARGO_BIN_EXE_gently");
        let mut bash = Command::new("bash");
        bash.args(["-c", "ulimit -f 3; exec \"$0\" man pages", gently])
            .env_clear();
        run(bash
            .env("HOME", person.dir.path())
            .current_dir(person.dir.path())
            .stdin(Stdio::null()))
    };
    let folder = person.dir.path().join("pages");
    limited().exits(2);
    assert!(!folder.exists(), "a folder made for nothing goes again");
    person.gently(&["man", "pages"]).exits(0);
    let all = names(&folder);
    let first = fs::read_to_string(folder.join("gently-ask.1")).unwrap();
    let ran = limited().exits(2);
    assert!(ran.err.contains("are as they were"), "{ran:?}");
    assert_eq!(names(&folder), all);
    assert_eq!(
        fs::read_to_string(folder.join("gently-ask.1")).unwrap(),
        first
    );
}

/// What does not fit a command is said in our own words, in six lines at most, with an example.
#[test]
fn what_is_missing_is_said_with_an_example() {
    let person = person();
    for (args, said, example) in [
        (
            &["conversation", "export"][..],
            "'conversation export' needs ID and --out FILE",
            "gently conversation export ",
        ),
        (
            &["conversation", "delete"],
            "'conversation delete' needs ID",
            "gently conversation delete ",
        ),
        (
            &["conversation", "rename", "last"],
            "'conversation rename' needs TITLE",
            "gently conversation rename ",
        ),
        (
            &["audit", "open"],
            "'audit open' needs ID or --artifact ID",
            "gently audit open ",
        ),
        (
            &["completions"],
            "'completions' needs SHELL",
            "gently completions ",
        ),
        (
            &["config", "set", "model.default"],
            "'config set' needs VALUE",
            "gently config set ",
        ),
        (
            &["conversation", "export", "last", "--out"],
            "--out FILE needs a value",
            "gently conversation export ",
        ),
        (
            &["ask", "--bogus"],
            "'ask' has no option '--bogus'",
            "gently ask ",
        ),
        (
            &["search", "x", "--limit", "3"],
            "'search' has no option '--limit'; did you mean -n?",
            "gently search ",
        ),
        (
            &["conversation", "list", "--archivd"],
            "did you mean --archived?",
            "gently conversation list ",
        ),
        (
            &["search", "x", "--by", "me"],
            "'me' does not fit --by WHO: it takes user, model",
            "gently search ",
        ),
        (
            &["search", "x", "-n", "0"],
            "'0' does not fit --number N: it takes 1 to 1000",
            "gently search ",
        ),
        (
            &["conversation", "rename", "last", "My", "words"],
            "'words' is one word too many for 'conversation rename'",
            "gently conversation rename ",
        ),
        (
            &["ask", "--sight", "--no-sight", "x"],
            "--sight and --no-sight don't go together",
            "gently ask ",
        ),
    ] {
        let ran = person.gently(args).exits(2);
        assert!(
            ran.err.starts_with("error: ") && ran.err.contains(said),
            "{ran:?}"
        );
        assert!(ran.err.lines().count() <= 6, "{ran:?}");
        let example = example.trim_start_matches("gently").trim_end();
        match ran.err.split_once("  for example:\n") {
            Some((_, below)) => {
                assert!(below.lines().next().unwrap().contains(example), "{ran:?}");
            }
            // Where no example has the option, none stands there.
            None => assert!(
                ran.err.contains("--number N") || ran.err.contains("--no-sight"),
                "{ran:?}"
            ),
        }
        assert!(!ran.err.contains("Usage:"), "{ran:?}");
        let view = person.gently(&[args, &["--json"]].concat()).exits(2).json();
        assert!(view["error"].as_str().unwrap().contains(said), "{view}");
    }
    assert!(!person.home().exists());
}

#[test]
fn topics_are_listed() {
    let person = person();
    let told = person.gently(&["help", "topics"]).exits(0);
    let view = person.gently(&["help", "topics", "--json"]).exits(0).json();
    assert_eq!(view["text"].as_str(), Some(told.out.as_str()));
    for topic in view["topics"].as_array().unwrap() {
        let line = format!("\n  {}", topic.as_str().unwrap());
        assert!(told.out.contains(&line), "{told:?}");
    }
}
