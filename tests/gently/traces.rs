//! `gently trace` and `gently consent`: what is exported, what is not, and what whoever gets it can
//! check.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::model_server::Behaviour;
use crate::opening::served;
use crate::person::{Person, run};
use crate::trace_rig::{
    ANSWER, CLAIM, FACT, QUESTION, SYSTEM, answers, consents, export, exported, fours, named, turns,
};

/// The eight questions.
const ALL: [&str; 8] = [
    "bound",
    "committed",
    "consent",
    "fields",
    "key_id",
    "on_record",
    "same",
    "signature",
];

fn lines(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn exports_on_record(person: &Person) -> usize {
    let log = person.log();
    log.iter()
        .filter(|line| line.contains("kind:trace_export,"))
        .count()
}

/// Two commands check files of two kinds, and each names the other.
#[test]
fn a_file_of_the_other_kind_is_called_what_it_is() {
    let (person, _server) = turns();
    exported(&person, "all.jsonl", &["--all", "--level", "generic"]);
    exported(
        &person,
        "one.json",
        &["--all", "--level", "generic", "--as", "batch"],
    );
    person
        .gently(&["share", "--withheld", "--yes", "--out", "shared.json"])
        .exits(0);
    for file in ["all.jsonl", "one.json"] {
        let checked = person.gently(&["check", file]).exits(2);
        let says = format!(
            "error: {file} is a file of traces, and no opening file; check it with: gently trace verify {file}"
        );
        assert!(checked.err.starts_with(&says), "{checked:?}");
        let json = person.gently(&["check", file, "--json"]).exits(2).json();
        assert!(says.ends_with(json["error"].as_str().unwrap()), "{json}");
    }
    for file in ["shared.json", "shared.html"] {
        let verified = person.gently(&["trace", "verify", file]).exits(2);
        let says = format!("check it with: gently check {file}");
        assert!(verified.err.contains(&says), "{verified:?}");
    }
    let none = person.gently(&["check", "nowhere.json"]).exits(2);
    assert!(
        none.err
            .starts_with("error: nowhere.json: there is no such file"),
        "{none:?}"
    );
}

#[test]
fn an_export_is_signed_bound_committed_and_the_same_again() {
    let (person, _server) = turns();
    let file = exported(&person, "all.jsonl", &["--all", "--level", "generic"]);
    let (code, told) = answers(&person, file.to_str().unwrap(), &[]);
    assert_eq!((code, told.len()), (0, 4));
    for one in &told {
        let yes = [
            "bound",
            "committed",
            "fields",
            "key_id",
            "on_record",
            "same",
            "signature",
        ];
        assert_eq!(named(one, "yes"), yes, "{one:?}");
        assert_eq!(named(one, "not checked"), ["consent"]);
    }
    // It is on record with its hash, and is of the exchanges in their order.
    let shown = person
        .gently(&["show", "export-1", "--json"])
        .exits(0)
        .json();
    let content = &shown["content"];
    let sum = run(Command::new("sha256sum").arg(&file)).exits(0).out;
    assert_eq!(content["sha256"], sum[..64]);
    let envelopes = lines(&file);
    let exchanges: Vec<&Value> = envelopes.iter().map(|one| &one["exchange"]).collect();
    assert_eq!(content["exchanges"], json!(exchanges));
    assert_eq!(
        (&content["consent"], &content["level"], &content["profile"]),
        (&json!([]), &json!("generic"), &json!("v1.9.3"))
    );
    let key = person.gently(&["trace", "key", "--json"]).exits(0).json();
    assert_eq!(content["key_id"], key["key_id"]);
    person.gently(&["audit", "verify"]).exits(0);
    // Nobody but its owner reads it.
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // A stranger has no home to compare it with, and sees the same signatures.
    let stranger = Person::new();
    let (code, told) = answers(&stranger, file.to_str().unwrap(), &[]);
    assert_eq!(code, 0);
    for one in &told {
        assert_eq!(
            named(one, "not checked"),
            ["committed", "consent", "on_record", "same"],
            "{one:?}"
        );
    }
    // Whose it is shows a pin.
    let signers = person.at("keys/allowed_signers");
    let pin = ["--signer", signers.to_str().unwrap()];
    assert_eq!(answers(&stranger, file.to_str().unwrap(), &pin).0, 0);
    let other = Person::new();
    other.gently(&["init"]).exits(0);
    let signers = other.at("keys/allowed_signers");
    let pin = ["--signer", signers.to_str().unwrap()];
    let (code, told) = answers(&stranger, file.to_str().unwrap(), &pin);
    assert_eq!(code, 1);
    assert!(told.iter().all(|one| named(one, "no") == ["bound"]));
}

#[test]
fn every_form_and_edition_is_checked_again() {
    let (person, _server) = turns();
    let key = person.gently(&["trace", "key", "--json"]).exits(0).json();
    let key = key["public_key_base64"].as_str().unwrap().to_owned();
    let stranger = Person::new();
    for (n, (profile, form, level)) in [
        ("v1.9.3", "envelope", "detailed"),
        ("v1.9.3", "trace", "generic"),
        ("v1.9.3", "batch", "detailed"),
        ("v1.9.1", "envelope", "generic"),
        ("v1.9.1", "trace", "detailed"),
        ("v1.9.1", "batch", "generic"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("{n}.jsonl");
        let args = [
            "--all",
            "--level",
            level,
            "--as",
            form,
            "--profile",
            profile,
            "--batch",
            "3",
        ];
        let file = exported(&person, &name, &args);
        let place = file.to_str().unwrap();
        let count = if form == "batch" { 2 } else { 4 };
        assert_eq!(lines(&file).len(), count, "{form}");
        let (code, told) = answers(&person, place, &[]);
        assert_eq!((code, told.len()), (0, 4), "{form} {profile}");
        for one in &told {
            for yes in ["signature", "key_id", "on_record", "same"] {
                assert_eq!(one[yes], "yes", "{form} {profile} {yes}");
            }
        }
        // Of a trace by itself a stranger has to be told the key.
        let alone = form != "envelope";
        let (code, _) = answers(&stranger, place, &[]);
        assert_eq!(code, if alone { 2 } else { 0 });
        let (code, told) = answers(&stranger, place, &["--key", &key]);
        assert_eq!(code, 0);
        assert!(told.iter().all(|one| one["signature"] == "yes"));
        let wrong = "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=";
        let (code, told) = answers(&stranger, place, &["--key", wrong]);
        assert_eq!(code, 1);
        let no = ["key_id", "signature"];
        assert!(told.iter().all(|one| named(one, "no") == no));
        let components = |trace: &Value| trace["components"].as_array().unwrap().len();
        let first = &lines(&file)[0];
        let trace = match form {
            "envelope" => &first["trace"],
            "batch" => &first["events"][0]["trace"],
            _ => first,
        };
        let expected = if profile == "v1.9.3" { 7 } else { 6 };
        assert_eq!(components(trace), expected, "{form} {profile}");
    }
}

/// A proof leads from the trace to a signed tree head, without the home.
#[test]
fn a_proof_needs_no_home() {
    let (person, _server) = turns();
    let file = exported(
        &person,
        "proven.jsonl",
        &["--all", "--level", "generic", "--with-proof"],
    );
    let stranger = Person::new();
    let (code, told) = answers(&stranger, file.to_str().unwrap(), &[]);
    assert_eq!((code, told.len()), (0, 4));
    for one in &told {
        assert_eq!(named(one, "not checked"), ["consent", "same"], "{one:?}");
    }
    // What is in it is an opening as any other, and is on record as such.
    let proof = lines(&file)[0]["proof"].clone();
    assert_eq!(proof["openings"][0]["role"], "exchange");
    let log = person.log();
    let opened = log.iter().filter(|line| line.contains("kind:opening,"));
    assert_eq!(opened.count(), 4);
    // The proof of another exchange is none.
    let mut all = lines(&file);
    all[0]["proof"] = all[1]["proof"].clone();
    let swapped = person.dir.path().join("swapped.jsonl");
    std::fs::write(&swapped, canonical(&all[0], &file)).unwrap();
    let (code, told) = answers(&stranger, swapped.to_str().unwrap(), &[]);
    assert_eq!(code, 1);
    assert_eq!(named(&told[0], "no"), ["bound", "on_record"]);
}

/// Whatever became of a turn, at every level and in both profiles: its proof tells what its trace tells.
#[test]
fn a_proof_is_held_against_a_trace_at_every_level() {
    let (person, _server) = turns();
    consents(&person, &["--past"]);
    let stranger = Person::new();
    for level in ["generic", "detailed", "full_traces"] {
        for profile in ["v1.9.3", "v1.9.1"] {
            let name = format!("{level}-{profile}.jsonl");
            let args = [
                "--all",
                "--level",
                level,
                "--profile",
                profile,
                "--with-proof",
            ];
            let file = exported(&person, &name, &args);
            let (code, told) = answers(&stranger, file.to_str().unwrap(), &[]);
            assert_eq!((code, told.len()), (0, 4), "{name}: {told:?}");
            for one in &told {
                assert_eq!(one["on_record"], "yes", "{name}: {one:?}");
            }
        }
    }
}

/// What the proof's document says otherwise is named, with both.
#[test]
fn what_a_proof_says_otherwise_is_named() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("Anything?");
    let args = ["last", "--level", "generic", "--with-proof"];
    let file = exported(&person, "proven.jsonl", &args);
    let text = std::fs::read_to_string(&file).unwrap();
    let forged = text.replace("\"thought_depth\":0", "\"thought_depth\":7");
    assert_ne!(forged, text);
    std::fs::write(&file, forged).unwrap();
    let stranger = Person::new();
    let told = stranger
        .gently(&["trace", "verify", "--json", file.to_str().unwrap()])
        .exits(1)
        .json();
    let said = &told["traces"][0]["answers"]["on_record"];
    assert_eq!(said["answer"], "no", "{told:#}");
    let why = said["reason"].as_str().unwrap();
    let words = "THOUGHT_START.thought_depth: the trace has 7, the exchange document 0";
    assert!(why.contains(words), "{why}");
}

/// An envelope in its file's spelling: its trace as it stands in the first line of a file.
fn canonical(envelope: &Value, file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    let trace = text.lines().next().unwrap();
    let trace = &trace[trace.find(",\"trace\":").unwrap()..];
    let mut head = envelope.clone();
    head.as_object_mut().unwrap().remove("trace");
    let head = serde_json_canonicalizer::to_string(&head).unwrap();
    format!("{}{trace}\n", &head[..head.len() - 1])
}

/// What M leaves open is bound by the envelope: relabelled with another id or time the signature
/// still is the key's, and *bound* is no.
#[test]
fn another_label_is_signed_and_not_bound() {
    let (person, _server) = turns();
    let file = exported(&person, "one.json", &["last", "--level", "detailed"]);
    let text = std::fs::read_to_string(&file).unwrap();
    let envelope: Value = serde_json::from_str(&text).unwrap();
    let stranger = Person::new();
    let id = envelope["exchange"].as_str().unwrap();
    let other = "00000000-0000-8000-8000-000000000000";
    let started = envelope["trace"]["started_at"].as_str().unwrap();
    for (change, from, to) in [
        ("id", format!("th_{id}\""), format!("th_{other}\"")),
        (
            "trace id",
            format!("trace-th_{id}-"),
            format!("trace-th_{other}-"),
        ),
        (
            "time",
            format!("\"started_at\":\"{started}\""),
            "\"started_at\":\"2026-01-01T00:00:00Z\"".to_owned(),
        ),
        (
            "origin",
            "\"agent_id_hash\":\"".to_owned(),
            "\"agent_id_hash\":\"0".to_owned(),
        ),
    ] {
        let changed = text.replace(&from, &to);
        assert_ne!(changed, text, "{change}");
        let place = person.dir.path().join("changed.json");
        std::fs::write(&place, changed).unwrap();
        let (code, told) = answers(&stranger, place.to_str().unwrap(), &[]);
        assert_eq!(code, 1, "{change}");
        assert_eq!(named(&told[0], "no"), ["bound"], "{change}");
        assert_eq!(told[0]["signature"], "yes", "{change}");
    }
    // One bit of what is signed turns the signature, too.
    let changed = text.replace("\"seed\"", "\"seee\"");
    let changed = changed.replace("\"follow_up\"", "\"follow_uq\"");
    let place = person.dir.path().join("changed.json");
    std::fs::write(&place, changed).unwrap();
    let (_, told) = answers(&stranger, place.to_str().unwrap(), &[]);
    assert_eq!(named(&told[0], "no"), ["bound", "fields", "signature"]);
}

/// The known answers of the document, through the command.
#[test]
fn the_known_answers_hold_and_a_bit_more_does_not() {
    let vectors =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/ciris/known_answer.json");
    let vectors: Value = serde_json::from_slice(&std::fs::read(vectors).unwrap()).unwrap();
    let key = vectors["public_key_base64"].as_str().unwrap();
    let person = Person::new();
    let place = person.dir.path().join("foreign.jsonl");
    let mut traces = Vec::new();
    for case in vectors["cases"].as_array().unwrap() {
        // Numbers stay as they are spelled there: the payload's parts are put together as text.
        let payload = case["payload"].as_str().unwrap();
        let labels = r#""agent_id_hash":"x","completed_at":"x","started_at":"x","thought_id":"x","trace_id":"x""#;
        traces.push(format!(
            "{},{labels},\"signature\":{},\"signature_key_id\":{}}}",
            &payload[..payload.len() - 1],
            case["signature"],
            vectors["signature_key_id"]
        ));
    }
    std::fs::write(&place, traces.join("\n")).unwrap();
    let (code, told) = answers(&person, place.to_str().unwrap(), &["--key", key]);
    assert_eq!((code, told.len()), (0, traces.len()));
    for one in &told {
        assert_eq!(named(one, "yes"), ["key_id", "signature"]);
    }
    let level = traces[0].replace("\"generic\"", "\"detailed\"");
    std::fs::write(&place, level).unwrap();
    let (code, told) = answers(&person, place.to_str().unwrap(), &["--key", key]);
    assert_eq!(code, 1);
    assert_eq!(named(&told[0], "no"), ["signature"]);
    let id = traces[0].replace("agent-5", "agent-6");
    std::fs::write(&place, id).unwrap();
    let (_, told) = answers(&person, place.to_str().unwrap(), &["--key", key]);
    assert_eq!(named(&told[0], "no"), ["key_id"]);
}

/// G and D hold nothing that a person or a model wrote; F holds all of it, under a consent alone.
#[test]
fn no_four_words_of_a_text_leave_without_a_consent() {
    let (person, _server) = turns();
    let texts = [QUESTION, ANSWER, FACT, SYSTEM, CLAIM];
    let told = |file: &Path| {
        let text = std::fs::read_to_string(file).unwrap();
        let told: BTreeSet<String> = fours(&text).into_iter().collect();
        texts.map(|text| fours(text).iter().any(|four| told.contains(four)))
    };
    for level in ["generic", "detailed"] {
        for form in ["envelope", "trace", "batch"] {
            let name = format!("{level}-{form}");
            let args = ["--all", "--level", level, "--as", form];
            let file = exported(&person, &name, &args);
            assert_eq!(told(&file), [false; 5], "{name}");
            let above = ["thought_content", "system_snapshot", "action_parameters"];
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(above.iter().all(|field| !text.contains(field)), "{name}");
        }
    }
    let before = exports_on_record(&person);
    let all = ["--all", "--level", "full_traces"];
    let (file, ran) = export(&person, "full.jsonl", &all);
    let ran = ran.exits(1);
    assert!(ran.err.contains("covers 4 of 4"), "{}", ran.err);
    assert!(!file.exists());
    assert_eq!(exports_on_record(&person), before);
    consents(&person, &["--past"]);
    let file = exported(&person, "full.jsonl", &all);
    assert_eq!(told(&file), [true, true, true, true, false]);
    let (code, answers_of) = answers(&person, file.to_str().unwrap(), &[]);
    assert_eq!(code, 0);
    for one in &answers_of {
        assert_eq!(one["consent"], "yes");
        assert_eq!(one["same"], "yes");
    }
    // A stranger is told that it names one, and no more.
    let stranger = Person::new();
    let (_, answers_of) = answers(&stranger, file.to_str().unwrap(), &[]);
    assert!(answers_of.iter().all(|one| one["consent"] == "not checked"));
    let withheld = ["--all", "--level", "full_traces", "--withheld"];
    let file = exported(&person, "withheld.jsonl", &withheld);
    assert_eq!(told(&file), [true; 5]);
    assert_eq!(answers(&person, file.to_str().unwrap(), &[]).0, 0);
}

#[test]
fn a_consent_covers_what_it_says_and_withdrawing_lists_what_was_exported() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("Before the consent?");
    let full = ["--level", "full_traces"];
    let tried = |name: &str, more: &[&str], code: i32| {
        let args: Vec<&str> = full.iter().chain(more).copied().collect();
        let (file, ran) = export(&person, name, &args);
        let ran = ran.exits(code);
        assert_eq!(file.exists(), code == 0, "{ran:?}");
        ran.err
    };
    let give = |args: &[&str]| {
        let mut words = vec!["consent", "give", "--purpose", "a study", "--json"];
        words.extend(args);
        person.gently(&words)
    };
    // From now on, not before.
    let given = give(&[]).exits(0).json();
    assert_eq!(given["id"], "consent:000001");
    assert_eq!(
        (&given["past"], &given["scope"]),
        (&json!(false), &json!("all"))
    );
    assert!(tried("a", &["last"], 1).contains("consent-1: this was asked before it was given"));
    // Nor is it handed on in the prompt of what is covered.
    person.ask("After it?");
    let refused = tried("b", &["last"], 1);
    assert!(refused.contains("whose prompt shows"), "{refused}");
    person.gently(&["ask", "--new", "Apart from it?"]).exits(0);
    tried("b", &["last"], 0);
    tried("c", &["--all"], 1);
    // One question is named after it was asked.
    let (_, first) = refused.split_once("whose prompt shows ").unwrap();
    let (first, _) = first.split_once(' ').unwrap();
    let given = give(&["--exchange", first]).exits(0).json();
    assert_eq!(given["past"], true);
    tried("d", &["--all"], 0);
    // Withdrawing names what was exported under it, and stops the next.
    let ran = person
        .gently(&["consent", "withdraw", "consent-1"])
        .exits(0);
    assert!(
        ran.err.contains("export-1") && ran.err.contains("export-2"),
        "{}",
        ran.err
    );
    assert!(tried("e", &["last"], 1).contains("nothing") || !person.dir.path().join("e").exists());
    person
        .gently(&["consent", "withdraw", "consent-1"])
        .exits(2);
    person
        .gently(&["consent", "withdraw", "consent-9"])
        .exits(2);
    // A conversation.
    let thread = person.gently(&["thread", "list", "--json"]).exits(0).json();
    let thread = thread[0]["thread"].as_str().unwrap();
    give(&["--thread", thread, "--past", "--until", "2099-12-31"]).exits(0);
    tried("f", &["--thread", thread], 0);
    let listed = person
        .gently(&["consent", "list", "--json"])
        .exits(0)
        .json();
    let states: Vec<&Value> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["state"])
        .collect();
    assert_eq!(states, ["withdrawn", "in force", "in force"]);
    assert_eq!(listed[2]["until"], "2099-12-31T23:59:59Z");
    let text = person.gently(&["consent", "list"]).exits(0).out;
    assert!(text.contains("consent-1  a study  (withdrawn "), "{text}");
    // What was handed on while it was in force stays so.
    let b = person.dir.path().join("b");
    let (code, told) = answers(&person, b.to_str().unwrap(), &[]);
    assert_eq!((code, told[0]["consent"].as_str()), (0, "yes"));
    person.gently(&["audit", "verify"]).exits(0);
    person.gently(&["erase", "consent-2", "--yes"]).exits(0);
    let listed = person
        .gently(&["consent", "list", "--json"])
        .exits(0)
        .json();
    assert_eq!(listed[1]["state"], "erased");
    person.gently(&["audit", "verify"]).exits(0);
}

#[test]
fn what_is_no_consent_is_refused() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("Anything?");
    let before = person.log().len();
    let long = "x".repeat(501);
    for args in [
        &["--purpose", " "][..],
        &["--purpose", &long],
        &["--purpose", "two\nlines"],
        &["--purpose", "a", "--until", "2020-01-01"],
        &["--purpose", "a", "--until", "tomorrow"],
        &["--purpose", "a", "--thread", "no such thread"],
        &["--purpose", "a", "--exchange", "interaction-9"],
        &["--purpose", "a", "--exchange", "last", "--thread", "last"],
        &[],
    ] {
        let mut words = vec!["consent", "give"];
        words.extend(args);
        person.gently(&words).exits(2);
    }
    assert_eq!(person.log().len(), before);
    // A secret in a purpose is taken out.
    let key = "sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA-AAAAAAAA";
    let purpose = format!("a study with {key}");
    let given = person
        .gently(&["consent", "give", "--json", "--purpose", &purpose])
        .exits(0)
        .json();
    assert!(
        !given["purpose"].as_str().unwrap().contains("AAAA"),
        "{given}"
    );
    assert_ne!(given["removed"], json!([]));
    // Another key's question is not mine to consent to.
    let mut other = person;
    let new = other.gently(&["key", "add", "laptop"]).exits(0).out;
    other.set("GENTLY_AUTH_KEY", new.trim());
    let ran = other
        .gently(&["consent", "give", "--purpose", "a", "--exchange", "last"])
        .exits(2);
    assert!(ran.err.contains("another auth key"), "{}", ran.err);
    other
        .gently(&["consent", "give", "--purpose", "a", "--past"])
        .exits(0);
    let (_, ran) = export(&other, "x", &["--all", "--level", "full_traces"]);
    let ran = ran.exits(1);
    assert!(
        ran.err
            .contains("consent-1: this was asked before it was given"),
        "{}",
        ran.err
    );
}

/// Bad input, each with its exit code; nothing is written, and nothing on record.
#[test]
fn bad_input_is_named() {
    let (person, _server) = served(Behaviour::Good);
    person.gently(&["init"]).exits(0);
    let empty = export(&person, "none", &["--all", "--level", "generic"]).1;
    assert!(empty.exits(2).err.contains("no exchange"));
    person.ask("Anything?");
    let good = exported(&person, "good", &["last", "--level", "generic"]);
    let before = (person.log().len(), std::fs::read(&good).unwrap());
    for (args, words) in [
        (
            &["interaction-9", "--level", "generic"][..],
            "interaction-9",
        ),
        (&["last", "--level", "full"], "did you mean full_traces?"),
        (&["last"], "--level"),
        (
            &["last", "--level", "generic", "--profile", "v2"],
            "no profile",
        ),
        (&["--level", "generic"], "say which traces"),
        (&["last", "--all", "--level", "generic"], "go together"),
        (
            &["--since", "2099-01-01", "--level", "generic"],
            "no exchange",
        ),
        (&["--since", "never", "--level", "generic"], "--since"),
        (&["last", "--level", "generic", "--as", "zip"], "--as"),
        (&["last", "--level", "generic", "--batch", "0"], "--batch"),
        (
            &[
                "last",
                "--level",
                "generic",
                "--as",
                "trace",
                "--with-proof",
            ],
            "--with-proof",
        ),
    ] {
        let (file, ran) = export(&person, "bad", args);
        let ran = ran.exits(2);
        assert!(ran.err.contains(words), "{args:?}: {}", ran.err);
        assert!(!file.exists());
    }
    // Never over a file, unless somebody says so.
    let (_, ran) = export(&person, "good", &["last", "--level", "detailed"]);
    assert!(ran.exits(2).err.contains("--force"));
    let after = (person.log().len(), std::fs::read(&good).unwrap());
    assert_eq!(after, before);
    exported(&person, "good", &["last", "--level", "detailed", "--force"]);
    assert_ne!(std::fs::read(&good).unwrap(), before.1);
    let linked = person.dir.path().join("linked");
    std::os::unix::fs::symlink(&good, &linked).unwrap();
    let (_, ran) = export(
        &person,
        "linked",
        &["last", "--level", "generic", "--force"],
    );
    ran.exits(2);

    let text = std::fs::read_to_string(&good).unwrap();
    let big = " ".repeat((64 << 20) + 1);
    let twice = text.replacen("{\"absent\"", "{\"seq\":1,\"absent\"", 1);
    let cut = text.replacen("\",\"signature_key_id\"", "\"signature_key_id\"", 1);
    let short = {
        let at = text.find("\"signature_key_id\"").unwrap() - 3;
        format!("{}{}", &text[..at], &text[at + 1..])
    };
    for (content, words) in [
        ("", "no trace in it"),
        ("\n \n", "no trace in it"),
        ("{}", "components"),
        ("{\"a\":NaN}", "no finite number"),
        ("{\"a\":1,\"a\":2}", "stands twice"),
        (twice.as_str(), "stands twice"),
        (cut.as_str(), "not JSON"),
        (short.as_str(), "characters"),
        (big.as_str(), "67108864"),
    ] {
        let place = person.dir.path().join("bad.json");
        std::fs::write(&place, content).unwrap();
        let ran = person
            .gently(&["trace", "verify", place.to_str().unwrap()])
            .exits(2);
        assert!(ran.err.contains(words), "{words}: {}", ran.err);
    }
    person.gently(&["trace", "verify", "no-such-file"]).exits(2);
    person
        .gently(&["trace", "verify", good.to_str().unwrap(), "--key", "AAAA"])
        .exits(2);
    person.gently(&["trace", "show", "interaction-9"]).exits(2);
    person
        .gently(&["trace", "show", "--level", "some"])
        .exits(2);
}

#[test]
fn a_trace_is_shown_with_the_reason_of_every_absent_field() {
    let (person, _server) = turns();
    let id = "interaction-1";
    for level in ["generic", "detailed", "full_traces"] {
        let args = ["trace", "show", id, "--level", level];
        let text = person.gently(&args).exits(0).out;
        let told = person
            .gently(&[&args[..], &["--json"]].concat())
            .exits(0)
            .json();
        assert_eq!(told["components"].as_array().unwrap().len(), 7);
        for step in ["THOUGHT_START (observation)", "ACTION_RESULT (action)"] {
            assert!(text.contains(step), "{text}");
        }
        let absent = told["absent"].as_object().unwrap();
        assert_eq!(text.matches("absent: ").count(), absent.len(), "{text}");
        assert!(text.contains("absent: nothing here measures it"));
        let shows_text = text.contains("old laptop");
        assert_eq!(shows_text, level == "full_traces", "{text}");
    }
    let folded = person
        .gently(&["trace", "show", id, "--profile", "v1.9.1"])
        .exits(0)
        .out;
    assert!(folded.contains("idma.k_eff") && !folded.contains("IDMA_RESULT"));
    let own = person
        .gently(&["trace", "show", "interaction-2", "--level", "full_traces"])
        .exits(0)
        .out;
    assert!(!own.contains("restarted the nginx"));
    let own = person
        .gently(&[
            "trace",
            "show",
            "interaction-2",
            "--level",
            "full_traces",
            "--withheld",
        ])
        .exits(0)
        .out;
    assert!(own.contains("restarted the nginx"), "{own}");
}

/// The raw seed of the document's form signs where it is named, and nothing else does.
#[test]
fn a_key_file_is_a_raw_seed_that_nobody_else_reads() {
    use std::os::unix::fs::PermissionsExt as _;
    let (mut person, _server) = served(Behaviour::Good);
    person.ask("Anything?");
    let ledger = person.gently(&["trace", "key", "--json"]).exits(0).json();
    assert_eq!(ledger["key_file"], Value::Null);
    let seed: Vec<u8> = (0..32).collect();
    let place = person.dir.path().join("agent_signing.key");
    let write = |bytes: &[u8], mode: u32| {
        std::fs::write(&place, bytes).unwrap();
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&place, mode).unwrap();
    };
    write(&seed, 0o600);
    person.set("GENTLY_TRACE_KEY_FILE", place.to_str().unwrap());
    let told = person.gently(&["trace", "key", "--json"]).exits(0).json();
    assert_eq!(told["key_id"], "agent-56475aa75463");
    assert_eq!(
        told["public_key_base64"],
        "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="
    );
    assert_eq!(told["algorithm"], "ed25519");
    let text = person.gently(&["trace", "key"]).exits(0).out;
    let body = &text[text.find('{').unwrap()..];
    let body: Value = serde_json::from_str(body).unwrap();
    let keys: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        ["algorithm", "description", "key_id", "public_key_base64"]
    );
    let file = exported(&person, "own.json", &["last", "--level", "generic"]);
    let trace = &lines(&file)[0]["trace"];
    assert_eq!(trace["signature_key_id"], "agent-56475aa75463");
    let (code, told) = answers(&person, file.to_str().unwrap(), &[]);
    assert_eq!((code, named(&told[0], "no").len()), (0, 0));
    assert_eq!(told[0]["signature"], "yes");
    // A stranger can't know that key.
    let stranger = Person::new();
    let (_, told) = answers(&stranger, file.to_str().unwrap(), &[]);
    assert_eq!(told[0]["signature"], "not checked");
    assert_eq!(told[0]["bound"], "yes");
    let key = ["--key", "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="];
    let (_, told) = answers(&stranger, file.to_str().unwrap(), &key);
    assert_eq!(told[0]["signature"], "yes");
    let before = person.log().len();
    for (bytes, mode, words) in [
        (&seed[..], 0o640, "0600"),
        (&seed[..31], 0o600, "31 bytes"),
        (
            b"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
            0o600,
            "44 bytes",
        ),
        (b"", 0o600, "0 bytes"),
    ] {
        write(bytes, mode);
        for args in [
            &["trace", "key"][..],
            &[
                "trace", "export", "last", "--level", "generic", "--out", "x",
            ],
        ] {
            let ran = person.gently(args).exits(2);
            assert!(
                ran.err.contains(words) && ran.err.contains("agent_signing.key"),
                "{words}: {}",
                ran.err
            );
        }
    }
    std::fs::remove_file(&place).unwrap();
    let ran = person.gently(&["trace", "key"]).exits(2);
    assert!(ran.err.contains("trace.key_file"), "{}", ran.err);
    assert_eq!(person.log().len(), before);
    assert!(!person.dir.path().join("x").exists());
}

/// Somebody changes the database: the trace is another one, and nothing is exported of what does not
/// open its commitment.
#[test]
fn a_trace_of_changed_rows_is_not_the_same_and_not_exported() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("Anything?");
    let file = exported(&person, "before.json", &["last", "--level", "generic"]);
    let database = rusqlite::Connection::open(person.at("gently.db")).unwrap();
    let triggers: Vec<String> = database
        .prepare("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'exchange_measure'")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    for trigger in triggers {
        database
            .execute_batch(&format!("DROP TRIGGER {trigger}"))
            .unwrap();
    }
    let changed = database
        .execute("UPDATE exchange_measure SET depth = depth + 1", [])
        .unwrap();
    assert_eq!(changed, 1);
    drop(database);
    let (code, told) = answers(&person, file.to_str().unwrap(), &[]);
    assert_eq!((code, named(&told[0], "no")), (1, vec!["same".to_owned()]));
    let (_, ran) = export(&person, "after.json", &["last", "--level", "generic"]);
    let ran = ran.exits(2);
    assert!(ran.err.contains("audit verify"), "{}", ran.err);
    assert_eq!(ALL.len(), told[0].len());
}

/// An exporter that is killed at any time leaves a whole file under its name, or none, and nothing
/// beside it.
#[test]
fn a_killed_exporter_leaves_no_half_file() {
    let (person, _server) = served(Behaviour::Good);
    for n in 0..6 {
        person.ask(&format!("Question {n}?"));
    }
    let folder = person.dir.path().join("out");
    std::fs::create_dir(&folder).unwrap();
    let file = folder.join("all.jsonl");
    let args = [
        "trace",
        "export",
        "--all",
        "--level",
        "generic",
        "--out",
        file.to_str().unwrap(),
    ];
    let begun = std::time::Instant::now();
    person.gently(&args).exits(0);
    let whole = begun.elapsed();
    std::fs::remove_file(&file).unwrap();
    let steps = 12;
    let mut placed = 0;
    for step in 0..steps {
        let mut exporter = person.command(&args);
        let mut child = exporter.stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(whole.mul_f64(f64::from(step) * 1.2 / f64::from(steps)));
        let _ = child.kill();
        child.wait().unwrap();
        let left: Vec<_> = std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert!(left.is_empty() || left == ["all.jsonl"], "{left:?}");
        if !left.is_empty() {
            let (code, told) = answers(&person, file.to_str().unwrap(), &[]);
            assert_eq!((code, told.len()), (0, 6));
            std::fs::remove_file(&file).unwrap();
            placed += 1;
        }
        // No file is of an export that nobody knows of.
        assert!(exports_on_record(&person) > placed);
    }
    person.gently(&["audit", "verify"]).exits(0);
}

/// Where no texts are kept a trace tells what it was all the same, and shows none.
#[test]
fn a_home_that_keeps_no_texts_has_traces_and_shows_none() {
    let (mut person, _server) = served(Behaviour::Good);
    person.set("GENTLY_STORE_CONTENT", "none");
    person.ask("What is the capital of France?");
    let given = person
        .gently(&[
            "consent",
            "give",
            "--purpose",
            "a study",
            "--past",
            "--json",
        ])
        .exits(0)
        .json();
    assert_eq!(given["purpose"], Value::Null);
    let file = exported(&person, "full.json", &["last", "--level", "full_traces"]);
    let absent = &lines(&file)[0]["absent"];
    assert_eq!(absent["THOUGHT_START.thought_content"], "not_kept");
    assert_eq!(absent["ACTION_RESULT.action_parameters"], "not_kept");
    let file = exported(&person, "generic.json", &["last", "--level", "generic"]);
    let (code, told) = answers(&person, file.to_str().unwrap(), &[]);
    assert_eq!((code, told[0]["committed"].as_str()), (0, "yes"));
    person.set("GENTLY_STORE_OPENINGS", "false");
    person.ask("And of Spain?");
    let file = exported(&person, "closed.json", &["last", "--level", "generic"]);
    assert_eq!(lines(&file)[0]["committed"], Value::Null);
    assert_eq!(answers(&person, file.to_str().unwrap(), &[]).0, 0);
    person.gently(&["audit", "verify"]).exits(0);
}

/// What is erased is absent from then on, and a trace from before says so.
#[test]
fn an_erased_turn_keeps_its_trace_without_texts() {
    let (person, _server) = served(Behaviour::Good);
    person.ask("What is the capital of France?");
    consents(&person, &["--past"]);
    let full = exported(&person, "full.json", &["last", "--level", "full_traces"]);
    let generic = exported(&person, "generic.json", &["last", "--level", "generic"]);
    person.gently(&["erase", "last", "--yes"]).exits(0);
    let (code, told) = answers(&person, full.to_str().unwrap(), &[]);
    assert_eq!((code, told[0]["same"].as_str()), (0, "not checked"));
    // What is committed to follows from rows that are never erased.
    let (code, told) = answers(&person, generic.to_str().unwrap(), &[]);
    assert_eq!((code, told[0]["same"].as_str()), (0, "yes"));
    let again = exported(&person, "again.json", &["last", "--level", "full_traces"]);
    let absent = &lines(&again)[0]["absent"];
    assert_eq!(absent["THOUGHT_START.thought_content"], "erased");
    let (_, ran) = export(
        &person,
        "proof.json",
        &["last", "--level", "generic", "--with-proof"],
    );
    assert!(ran.exits(2).err.contains("erased"));
}

/// What waits for its answer has no trace yet: named it is refused, among others it is left out.
#[test]
fn what_waits_has_no_trace_yet() {
    let (person, server) = served(Behaviour::Gate);
    let ask = |question: &str| {
        let mut asking = person.command(&["ask", question]);
        asking.stdout(Stdio::null()).stderr(Stdio::null());
        asking.spawn().unwrap()
    };
    let mut first = ask("The first question?");
    server.wait_for(1);
    for args in [
        &["last", "--level", "generic"][..],
        &["--all", "--level", "generic"],
    ] {
        let (file, ran) = export(&person, "waits.json", args);
        let ran = ran.exits(2);
        assert!(ran.err.contains("waits for its outcome"), "{}", ran.err);
        assert!(!file.exists());
    }
    person.gently(&["trace", "show", "last"]).exits(2);
    server.release();
    assert!(first.wait().unwrap().success());
    let file = exported(&person, "first.json", &["last", "--level", "generic"]);
    assert_eq!(lines(&file).len(), 1);
    assert_eq!(exports_on_record(&person), 1);
}
