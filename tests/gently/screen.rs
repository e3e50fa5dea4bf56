//! What a terminal is shown, through a real one: sixty sequences that move, hide or reorder, over
//! every command that prints words of others.

use std::io::Write as _;

use serde_json::{Value, json};

use crate::esplora_server::{Chain, EsploraServer, Manner, Route};
use crate::model_server::{Behaviour, ModelServer};
use crate::person::{Person, Ran};
use crate::pty;

/// What no answer, name, remote or file may do to a screen.
const SEQUENCES: [&str; 60] = [
    "\u{1b}]0;title\u{7}",
    "\u{1b}]2;title\u{1b}\\",
    "\u{1b}]52;c;cm0gLXJm\u{7}",
    "\u{1b}]8;;http://evil.example\u{1b}\\link\u{1b}]8;;\u{1b}\\",
    "\u{1b}]10;#000000\u{7}",
    "\u{1b}]11;?\u{7}",
    "\u{1b}]1337;File=inline=1:QQ==\u{7}",
    "\u{1b}]777;notify;a;b\u{7}",
    "\u{1b}]9;note\u{7}",
    "\u{1b}[2J",
    "\u{1b}[3J",
    "\u{1b}[H",
    "\u{1b}[1A\u{1b}[2K",
    "\u{1b}[8mhidden\u{1b}[0m",
    "\u{1b}[30;40mhidden\u{1b}[0m",
    "\u{1b}[31m",
    "\u{1b}[6n",
    "\u{1b}[c",
    "\u{1b}[?1049h",
    "\u{1b}[?25l",
    "\u{1b}[?2004h",
    "\u{1b}[20t",
    "\u{1b}[21t",
    "\u{1b}[1;3r",
    "\u{1b}c",
    "\u{1b}7\u{1b}8",
    "\u{1b}(0",
    "\u{1b}#8",
    "\u{1b}P+q544e\u{1b}\\",
    "\u{1b}_Gf=24;AAAA\u{1b}\\",
    "\u{1b}^private\u{1b}\\",
    "\u{1b}Xstring\u{1b}\\",
    "\u{1b}[200~paste\u{1b}[201~",
    "\u{9b}2J",
    "\u{9d}0;title\u{9c}",
    "\u{90}+q\u{9c}",
    "\u{9f}G\u{9c}",
    "\u{85}next line",
    "\u{8d}reverse",
    "over\rwritten",
    "back\u{8}\u{8}\u{8}\u{8}",
    "bell\u{7}",
    "vertical\u{b}form\u{c}",
    "shift\u{e}\u{f}",
    "delete\u{7f}",
    "\u{202e}txet\u{202c}",
    "\u{202d}text\u{202c}",
    "\u{202a}text\u{202b}",
    "\u{2066}a\u{2067}b\u{2068}c\u{2069}",
    "mark\u{200e}\u{200f}\u{61c}",
    "line\u{2028}separator",
    "paragraph\u{2029}separator",
    "zero\u{200b}width",
    "join\u{200c}ers\u{200d}here",
    "word\u{2060}joiner",
    "\u{feff}mark of order",
    "soft\u{ad}hyphen",
    "\u{e0041}\u{e0042}\u{e0043}",
    "selector\u{fe01}\u{e0100}",
    "filler\u{3164}\u{ffa0}\u{115f}",
];

/// The characters that may not come through: written down here once more, by what they are.
fn is_hostile(c: char) -> bool {
    let code = u32::from(c);
    match code {
        0x0a | 0x09 => false,
        0..=0x1f | 0x7f..=0x9f | 0xad | 0x61c | 0x115f | 0x3164 | 0xfeff | 0xffa0 => true,
        0x200b..=0x200f
        | 0x2028..=0x202e
        | 0x2060..=0x2069
        | 0xfe00..=0xfe0f
        | 0xe0000..=0xe0fff => true,
        _ => false,
    }
}

/// Each on a line of its own, between marks.
fn all() -> String {
    SEQUENCES
        .iter()
        .enumerate()
        .map(|(n, sequence)| format!("{n}<{sequence}>\n"))
        .collect()
}

/// The same on one line.
fn line() -> String {
    SEQUENCES.concat()
}

/// So wide that nothing is folded.
const WIDE: (u16, u16) = (50, 20_000);

/// Runs a command on a terminal.
fn on_terminal(person: &Person, args: &[&str]) -> Ran {
    pty::on_terminal(person, WIDE, args)
}

/// Runs it, and holds that nothing hostile came through.
#[track_caller]
fn shown(person: &Person, args: &[&str]) -> Ran {
    let ran = on_terminal(person, args);
    let bad: Vec<char> = ran.out.chars().filter(|c| is_hostile(*c)).collect();
    assert!(bad.is_empty(), "{args:?}: {bad:?} in {}", ran.out);
    ran
}

/// The same with `--json`, which is the same value as through a pipe.
#[track_caller]
fn shown_as_json(person: &Person, args: &[&str]) -> Value {
    let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
    let ran = shown(person, &args);
    let first = ran.out.lines().find(|line| line.starts_with(['{', '[']));
    let first = first.unwrap_or_else(|| panic!("{args:?}: {}", ran.out));
    serde_json::from_str(first).unwrap_or_else(|e| panic!("{args:?}: {e}: {first}"))
}

fn asking(server: &ModelServer) -> Person {
    let base = server.base_url();
    let person = Person::with(&[
        ("GENTLY_ANCHOR_MODE", "off"),
        ("GENTLY_MODEL_DEFAULT", "openai/small-1b"),
        ("GENTLY_MODEL_BASE_URL", base.as_str()),
        ("OPENAI_API_KEY", "test"),
    ]);
    person.gently(&["init"]).exits(0);
    person
}

#[test]
fn an_answer_moves_nothing_on_a_terminal_and_a_pipe_has_its_bytes() {
    let answer = all();
    let server = ModelServer::script(vec![Behaviour::Says(answer.clone()); 4]);
    let person = asking(&server);
    let told = shown(&person, &["ask", "Hi"]).exits(0).out;
    for n in 0..SEQUENCES.len() {
        let line = told
            .lines()
            .find(|line| line.starts_with(&format!("{n}<")))
            .unwrap_or_else(|| panic!("{n}: {told}"));
        assert!(line.contains("\\u") || line.contains("\\r"), "{line}");
    }
    assert_eq!(
        person.gently(&["ask", "Hi"]).exits(0).out,
        answer,
        "the exact bytes"
    );
    let facts = shown_as_json(&person, &["ask", "Hi"]);
    assert_eq!(facts["answer"], json!(answer));
    assert_eq!(
        person.gently(&["ask", "Hi", "--json"]).exits(0).json()["answer"],
        json!(answer)
    );
}

#[test]
fn nothing_that_is_on_record_moves_anything() {
    let answer = format!(
        "I've restarted nginx {}. I will restart nginx now {}.",
        line(),
        line()
    );
    let server = ModelServer::script(vec![Behaviour::Says(answer); 8]);
    let person = asking(&server);
    let hostile = line();
    let question = format!("Restart nginx {hostile}");
    shown(&person, &["ask", &question]).exits(0);
    shown(&person, &["fact", "add", &format!("nginx is {hostile}")]);
    shown(&person, &["note", "add", &format!("nginx was {hostile}")]);
    shown(
        &person,
        &["decision", "add", &format!("nginx will be {hostile}")],
    );
    shown(&person, &["intent", "set", &format!("nginx {hostile}")]);
    shown(&person, &["thread", "new", &hostile]);
    shown(&person, &["ask", "And nginx?"]).exits(0);
    let file = person.dir.path().join("opened.json");
    shown(
        &person,
        &[
            "audit",
            "open",
            "last",
            "1",
            "--out",
            file.to_str().unwrap(),
        ],
    )
    .exits(0);
    for args in [
        &["show", "last", "--full"][..],
        &["show", "last/1", "--full"],
        &["show", "last", "--withheld", "--full"],
        &["thread", "list"],
        &["thread", "show"],
        &["session", "list"],
        &["session", "show", "last"],
        &["log", "-n", "50"],
        &["drift", "list", "--all"],
        &["drift", "show", "1"],
        &["action", "list"],
        &["action", "show", "action:000001"],
        &["context", "show", "last"],
        &["context", "preview", "nginx?"],
        &["fact", "list"],
        &["note", "list"],
        &["decision", "list"],
        &["intent", "show"],
        &["conflict", "list"],
        &["kernel", "show"],
        &["doctor", "-v"],
        &["audit", "verify"],
        &["audit", "session", "last"],
        &["audit", "replay", "--all"],
        &["audit", "open", "last", "1", "--role", "prompt"],
        &["audit", "check", "opened.json"],
    ] {
        let ran = shown(&person, args);
        assert!(ran.code < 3 && !ran.out.is_empty(), "{args:?}: {ran:?}");
    }
    for args in [
        &["show", "last", "--full"][..],
        &["thread", "show"],
        &["action", "list"],
        &["context", "show"],
        &["note", "list"],
    ] {
        shown_as_json(&person, args);
    }
    let json = shown_as_json(&person, &["show", "last/1", "--full"]);
    assert!(
        json["prompt"].as_str().unwrap().contains('\u{1b}'),
        "the record has the exact text: {json}"
    );
}

#[test]
fn what_was_typed_and_what_files_are_called_moves_nothing() {
    let person = Person::new();
    person.gently(&["init"]).exits(0);
    for sequence in SEQUENCES {
        for args in [
            &["ask", "--no-such-flag", sequence][..],
            &["show", sequence, "--full"],
            &[sequence],
        ] {
            shown(&person, args).exits(2);
        }
    }
    let hostile = line();
    let name: String = hostile.chars().filter(|c| *c != '/').take(60).collect();
    std::fs::write(person.dir.path().join(&name), b"{").unwrap();
    let bundle = format!("{name}.bundle");
    std::fs::write(person.dir.path().join(&bundle), b"# v2 git bundle\n").unwrap();
    let home = person.dir.path().join("repo\u{1b}[2J\u{202e}");
    std::fs::create_dir(&home).unwrap();
    let home = home.to_str().unwrap().to_owned();
    for args in [
        &["audit", "verify", "--repo", &name][..],
        &["audit", "verify", "--repo", &bundle],
        &["audit", "verify", "--repo", &home],
        &["audit", "verify", "--signer", &hostile],
        &["audit", "verify", "--receipt", &name],
        &["audit", "verify", "--head", &name],
        &["audit", "verify", "--policy", &name],
        &["audit", "verify", "--since", &hostile],
        &["audit", "session", &hostile],
        &["audit", "check", &name],
        &["audit", "publish", &home],
        &["audit", "publish", &name],
        &["audit", "export", &hostile],
        &["audit", "adopt", "--from", &home],
        &["audit", "open", &hostile, "1"],
        &["restore", &name],
        &["kernel", "check", &name],
        &["kernel", "set", &name],
        &["ask", "Hi", "--model", &hostile],
        &["ask", "Hi", "--ref", &hostile],
        &["ask", "Hi", "--thread", &hostile],
        &["ask", "Hi", "--expect", &name],
        &["ask", "Hi", "--receipt", &name],
        &["config", "get", &hostile],
        &["config", "set", &hostile, "1"],
        &["config", "set", "model.default", &hostile],
        &["drift", "show", &hostile],
        &["action", "show", &hostile],
        &["fact", "ratify", &hostile],
        &["note", "retire", &hostile],
        &["key", "revoke", &hostile],
        &["key", "add", &hostile],
        &["log", "--since", &hostile],
        &["log", "--session", &hostile],
        &["session", "close", &hostile],
        &["sight", &hostile],
        &["erase", &hostile],
        &["context", "show", &hostile],
        &["thread", "show", &hostile],
        &["hook", "install", &home],
        &["anchor", "sync", "--from", &name],
    ] {
        let ran = shown(&person, args);
        assert!(ran.code != 0 && ran.code < 3, "{args:?}: {ran:?}");
    }
}

#[test]
fn a_kernel_and_a_configuration_move_nothing() {
    let person = Person::new();
    person.gently(&["init"]).exits(0);
    let genesis = person.gently(&["kernel", "show"]).exits(0).out;
    let phrase = serde_json::to_string(&line()).unwrap();
    let escaped: String = phrase
        .chars()
        .map(|c| {
            if is_hostile(c) {
                c.encode_utf16(&mut [0; 2])
                    .iter()
                    .map(|half| format!("\\u{half:04x}"))
                    .collect()
            } else {
                c.to_string()
            }
        })
        .collect();
    // TOML has no pairs of surrogates.
    let escaped: String = escaped
        .replace("\\udb40\\udc41\\udb40\\udc42\\udb40\\udc43", "")
        .replace("\\udb40\\udd00", "");
    let intent = "intent = \"Answer user question under current authority constraints.\"";
    let kernel = genesis.replacen(intent, &format!("intent = {escaped}"), 1);
    assert_ne!(kernel, genesis);
    let file = person.dir.path().join("kernel.toml");
    std::fs::write(&file, &kernel).unwrap();
    for args in [
        &["kernel", "check", "kernel.toml"][..],
        &["kernel", "set", "kernel.toml"],
        &["kernel", "show"],
    ] {
        shown(&person, args).exits(0);
    }
    std::fs::write(
        &file,
        kernel.replacen("tier = 2", &format!("tier = {escaped}"), 1),
    )
    .unwrap();
    shown(&person, &["kernel", "check", "kernel.toml"]);
    let mut config = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(person.at("config.toml"))
        .unwrap();
    writeln!(
        config,
        "\n[session]\nhost_role = {escaped}\nno_such_key\u{202e} = {escaped}"
    )
    .unwrap();
    for args in [
        &["config", "show"][..],
        &["config", "get", "session.host_role"],
        &["ask", "Hi"],
        &["doctor", "-v"],
    ] {
        shown(&person, args);
    }
}

#[test]
fn what_servers_say_moves_nothing() {
    let hostile = line();
    let server = ModelServer::script(vec![
        Behaviour::error(404, &hostile),
        Behaviour::error(500, &hostile),
        Behaviour::Status(400, Vec::new(), hostile.clone()),
        Behaviour::Json(hostile.clone()),
        Behaviour::error(401, &hostile),
    ]);
    let person = asking(&server);
    for _ in 0..5 {
        shown(&person, &["ask", "Hi"]);
    }
    shown(&person, &["model", "list"]);
    let says = |route, text: &str| Manner::Says(route, 200, text.as_bytes().to_vec());
    for route in [Route::Tip, Route::Hash, Route::Header] {
        let explorer =
            EsploraServer::start_with(Chain::real(829_604..=829_619), says(route, &hostile));
        let list = Value::from(vec![explorer.url()]).to_string();
        let mut person = Person::with(&[("GENTLY_ANCHOR_ESPLORA", &list)]);
        shown(&person, &["ask", "Hi"]).exits(0);
        shown(&person, &["anchor", "status"]);
        shown(&person, &["anchor", "sync"]);
        person.set("GENTLY_OTS_CALENDARS", &list);
        shown(&person, &["session", "close"]);
        shown(&person, &["audit", "stamp"]);
        shown(&person, &["audit", "upgrade"]);
    }
}
