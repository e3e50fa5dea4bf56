//! The sanitizer from outside: measured on labelled data, as a command, with rule files, on hostile
//! text.

#[path = "../bench/hostile.rs"]
mod hostile;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use gently::govern::sanitize::steps;
use gently::govern::sanitize::{Engine, Placeholders, redact};
use serde_json::{Value, json};
use sha2::Digest as _;

use crate::model_server::{Behaviour, ModelServer};
use crate::person::Person;

/// Labelled rows beside this repository, or where `GENTLY_DATA` says; none when they are not here.
fn labelled(file: &str) -> Option<Vec<Value>> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let folder = std::env::var_os("GENTLY_DATA").map_or(beside, Into::into);
    let Ok(text) = std::fs::read_to_string(folder.join("secrets").join(file)) else {
        println!(
            "{file}: not here, nothing measured; set GENTLY_DATA to the folder that has secrets/{file}"
        );
        return None;
    };
    Some(
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect(),
    )
}

fn decoded(row: &Value, key: &str) -> String {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(row[key].as_str().unwrap())
        .unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether a piece of 35 % of the secret is left.
fn survives(secret: &str, clean: &str) -> bool {
    let chars: Vec<char> = secret.chars().collect();
    let piece = (chars.len() * 35).div_ceil(100).max(1);
    chars
        .windows(piece)
        .any(|window| clean.contains(&window.iter().collect::<String>()))
}

/// The rows whose misses were looked at while rules were written; the others, a quarter, were only
/// ever counted.
fn is_development(row: &Value) -> bool {
    let id = row["id"].as_str().unwrap();
    let even = |text: &str| sha2::Sha256::digest(text.as_bytes())[0] & 1 == 0;
    even(id) || even(&format!("held-2:{id}"))
}

/// Hits and rows: all, those looked at, those held back.
type Counts = BTreeMap<String, [(usize, usize); 3]>;

fn count(counts: &mut Counts, key: &str, row: &Value, hit: bool) {
    let entry = counts.entry(key.to_owned()).or_default();
    for at in [0, if is_development(row) { 1 } else { 2 }] {
        entry[at].0 += usize::from(hit);
        entry[at].1 += 1;
    }
}

fn print(title: &str, counts: &Counts) {
    println!(
        "{title:<24} {:>12} {:>14} {:>12}",
        "all", "looked at", "held back"
    );
    for (key, [all, development, held]) in counts {
        let cell = |(hits, rows): &(usize, usize)| format!("{hits}/{rows}");
        println!(
            "{key:<24} {:>12} {:>14} {:>12}",
            cell(all),
            cell(development),
            cell(held)
        );
    }
}

/// Hits in thousandths.
fn share(counts: &Counts, key: &str) -> usize {
    let (hits, rows) = counts[key][0];
    hits * 1000 / rows
}

#[test]
fn recall_and_false_alarms_on_labelled_data() {
    let (Some(secrets), Some(others)) = (
        labelled("secrets_positive.jsonl"),
        labelled("secrets_negative.jsonl"),
    ) else {
        return;
    };
    let mut removed = Counts::new();
    for row in &secrets {
        let gone = !survives(
            &decoded(row, "secret_b64"),
            redact(&decoded(row, "text_b64")).clean.as_str(),
        );
        let kind = row["kind"].as_str().unwrap();
        let place = if kind.ends_with("_in_prose") {
            "all in prose"
        } else {
            "all in files"
        };
        for key in ["all", place, kind] {
            count(&mut removed, key, row, gone);
        }
    }
    let mut alarms = Counts::new();
    for row in &others {
        let text = decoded(row, "text_b64");
        count(
            &mut alarms,
            row["stratum"].as_str().unwrap(),
            row,
            redact(&text).clean.as_str() != text,
        );
    }
    print("removed", &removed);
    print("false alarms", &alarms);
    assert_eq!(share(&removed, "private_key"), 1000);
    for (key, least) in [
        ("all", 920),
        ("vendor_token", 930),
        ("all in prose", 970),
        ("password", 840),
    ] {
        assert!(
            share(&removed, key) >= least,
            "{key}: {} of 1000, expected {least}",
            share(&removed, key)
        );
    }
    // Of the part held back nothing may get worse; its own floors (0.92, 0.95, 0.97, 0.88) are not
    // reached.
    for (key, least) in [
        ("all", 104),
        ("vendor_token", 55),
        ("all in prose", 21),
        ("password", 14),
        ("private_key", 3),
    ] {
        assert!(
            removed[key][2].0 >= least,
            "{key}, held back: {} removed, expected {least}",
            removed[key][2].0
        );
    }
    for (key, most) in [("benign", 15), ("human_labelled_false", 50)] {
        assert!(
            share(&alarms, key) <= most,
            "{key}: {} of 1000, at most {most}",
            share(&alarms, key)
        );
    }
}

#[test]
fn the_stock_rule_file_of_the_ecosystem_is_read_unchanged() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/secrets/gitleaks.toml");
    let Ok(text) = std::fs::read_to_string(&file) else {
        println!("no stock rule file beside this repository: not tried");
        return;
    };
    let own = Engine::new(&[]).unwrap().rules();
    let both = Engine::new(&[("gitleaks.toml".to_owned(), text)]).unwrap();
    assert_eq!(both.rules() - own, 221);
    let token = ["xkey", "sib-"].concat() + &"0123456789abcdef".repeat(4) + "-Ab3dEf6hIj9kLm2n";
    let clean = both
        .redact(
            &format!("use {token} here"),
            &mut Placeholders::new([0; 32]),
        )
        .clean;
    assert!(!clean.as_str().contains("Ab3dEf6hIj9kLm2n"), "{clean}");
}

fn sanitize(home: &Path, arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_gently"))
        .arg("sanitize")
        .args(arguments)
        .env("GENTLY_HOME", home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn the_command_needs_no_home_and_makes_none() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("none");
    let out = sanitize(&home, &[], b"password=hunter2\n");
    assert_eq!(
        (out.status.code(), out.stdout.as_slice()),
        (Some(0), &b"password=[redacted:password]\n"[..])
    );
    assert_eq!(
        String::from_utf8(out.stderr).unwrap(),
        "removed: password at bytes 9 to 16\n"
    );
    let out = sanitize(&home, &["--json"], b"password=hunter2");
    let facts: Value = serde_json::from_slice(&out.stdout).unwrap();
    let found = json!([{ "kind": "password", "start": 9, "end": 16 }]);
    assert_eq!(
        facts,
        json!({ "text": "password=[redacted:password]", "found": found })
    );
    assert!(!home.exists());
}

#[test]
fn texts_go_line_by_line_and_the_first_bad_line_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let input = "{\"id\":1,\"text\":\"password=hunter2\"}\n{\"id\":\"b\",\"text\":\"plain\"}\n";
    let out = sanitize(folder.path(), &["--jsonl"], input.as_bytes());
    let lines: Vec<Value> = String::from_utf8(out.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(out.status.code(), Some(0));
    assert_eq!(
        lines[0]["found"],
        json!([{ "kind": "password", "start": 9, "end": 16 }])
    );
    assert_eq!(lines[1], json!({ "id": "b", "text": "plain", "found": [] }));
    let out = sanitize(
        folder.path(),
        &["--jsonl"],
        format!("{input}{{\"id\":3}}\n").as_bytes(),
    );
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8(out.stderr).unwrap().contains("line 3"));
    let out = sanitize(folder.path(), &[], &[b'a', 0xff]);
    assert_eq!(out.status.code(), Some(2));
    assert!(
        String::from_utf8(out.stderr)
            .unwrap()
            .contains("not UTF-8 at byte 1")
    );
}

#[test]
fn a_home_adds_its_rule_files_and_a_broken_one_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let config = |text: &str| std::fs::write(folder.path().join("gently.toml"), text).unwrap();
    let rules = |text: &str| std::fs::write(folder.path().join("house.toml"), text).unwrap();
    config("[sanitize]\nrules = [\"house.toml\"]\n");
    rules(
        "[[rules]]\nid = \"house-number\"\nregex = '''\\bHN-(\\d{4})\\b'''\nkeywords = [\"hn-\"]\n",
    );
    let out = sanitize(folder.path(), &[], b"see HN-4711");
    assert_eq!(
        String::from_utf8(out.stdout).unwrap(),
        "see HN-[redacted:house-number]"
    );
    for (text, said) in [
        (
            "[[rules]]\nid = \"house-number\"\nregex = '''HN-('''\n",
            "rule 'house-number'",
        ),
        ("[[rules]]\nid = \"x\"\n", "neither regex nor path"),
        (
            "[[rules]]\nid = \"x\"\nregex = 'a'\nsecretGroup = 2\n",
            "secretGroup is 2",
        ),
        ("rules = 3\n", "no rule file"),
        ("title = \"none\"\n", "no rule in it"),
        ("[extend]\nuseDefault = true\n", "[extend]"),
    ] {
        rules(text);
        let out = sanitize(folder.path(), &[], b"see HN-4711");
        let stderr = String::from_utf8(out.stderr).unwrap();
        assert_eq!(
            (out.status.code(), out.stdout.len()),
            (Some(2), 0),
            "{text}"
        );
        assert!(
            stderr.contains(said) && stderr.contains("house.toml"),
            "{text}: {stderr}"
        );
    }
}

#[test]
fn a_home_exempts_findings_by_text_or_expression_and_asks_for_more_kinds() {
    let folder = tempfile::tempdir().unwrap();
    let config = |text: &str| std::fs::write(folder.path().join("gently.toml"), text).unwrap();
    let input = b"password=hunter2 password=hunter3 card 4111 1111 1111 1111";
    config("[sanitize]\nallow = [\"hunter2\"]\n");
    let out = sanitize(folder.path(), &[], input);
    let text = String::from_utf8(out.stdout).unwrap();
    assert_eq!(
        text,
        "password=hunter2 password=[redacted:password] card 4111 1111 1111 1111"
    );
    let told = String::from_utf8(out.stderr).unwrap();
    assert!(
        told.contains("left, by [sanitize] allow: password at bytes 9 to 16"),
        "{told}"
    );
    config("[sanitize]\nallow = [\"/hunter[0-9]/\"]\noptional = [\"card\"]\n");
    let out = sanitize(folder.path(), &["--json"], input);
    let facts: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(
        facts["text"],
        "password=hunter2 password=hunter3 card [redacted:card-number]"
    );
    assert_eq!(facts["allowed"].as_array().unwrap().len(), 2);
    // An expression is all of a finding or nothing, and none may match everything.
    config("[sanitize]\nallow = [\"/unter/\"]\n");
    let out = sanitize(folder.path(), &[], b"password=hunter2");
    assert_eq!(
        String::from_utf8(out.stdout).unwrap(),
        "password=[redacted:password]"
    );
    for bad in ["/.*/", "/(/"] {
        config(&format!("[sanitize]\nallow = ['{bad}']\n"));
        let out = sanitize(folder.path(), &[], b"password=hunter2");
        let stderr = String::from_utf8(out.stderr).unwrap();
        assert_eq!((out.status.code(), out.stdout.len()), (Some(2), 0), "{bad}");
        assert!(stderr.contains("[sanitize] allow"), "{bad}: {stderr}");
    }
}

#[test]
fn what_a_home_exempts_is_on_record_from_its_line_on() {
    let server = ModelServer::start(Behaviour::Says("fine".to_owned()));
    let person = Person::with(&[
        ("GENTLY_ANCHOR_MODE", "off"),
        ("GENTLY_MODEL_BASE_URL", &server.base_url()),
    ]);
    let lists = |person: &Person| -> Vec<Value> {
        let database = person.database();
        let mut rows = database
            .prepare("SELECT document FROM artifact WHERE kind = 'sanitize_policy'")
            .unwrap();
        let rows = rows.query_map([], |row| row.get::<_, String>(0)).unwrap();
        rows.map(|text| serde_json::from_str::<Value>(&text.unwrap()).unwrap()["content"].clone())
            .collect()
    };
    person
        .gently(&["ask", "--model", "openai/x", "password=hunter2hunter2"])
        .exits(0);
    assert!(lists(&person).is_empty());
    person
        .gently(&["config", "set", "sanitize.allow", "[\"hunter2hunter2\"]"])
        .exits(0);
    for _ in 0..2 {
        person
            .gently(&["ask", "--model", "openai/x", "password=hunter2hunter2"])
            .exits(0);
    }
    let one = lists(&person);
    assert_eq!((one.len(), &one[0]["allow"]), (1, &json!(1)), "{one:?}");
    assert!(String::from_utf8_lossy(&server.requests()[1].body).contains("hunter2hunter2"));
    assert!(!String::from_utf8_lossy(&server.requests()[0].body).contains("hunter2hunter2"));
    person
        .gently(&["config", "set", "sanitize.allow", "[]"])
        .exits(0);
    person
        .gently(&["ask", "--model", "openai/x", "password=hunter2hunter2"])
        .exits(0);
    let both = lists(&person);
    assert!(
        both.len() == 2 && both.iter().any(|list| list["allow"] == 0),
        "{both:?}"
    );
    person.gently(&["audit", "verify"]).exits(0);
    // A clean prompt that follows one with an exempted text, under each list: what can't be decided
    // again under the list of now is not checked, and nothing fails.
    for list in [
        "[\"hunter2hunter2\"]",
        "[]",
        "[\"another-word-of-the-manual\"]",
    ] {
        person
            .gently(&["config", "set", "sanitize.allow", list])
            .exits(0);
        person
            .gently(&["ask", "--model", "openai/x", "What was that?"])
            .exits(0);
        let replayed = person
            .gently(&["audit", "replay", "--all", "--json"])
            .exits(0)
            .json();
        assert_eq!(
            replayed["failures"],
            serde_json::json!([]),
            "{list}: {replayed:#}"
        );
        assert!(
            replayed
                .to_string()
                .contains("[sanitize] allow have changed"),
            "{list}: {replayed:#}"
        );
    }
}

/// What a redaction of a text looks at, in bytes.
fn looked_at(text: &str) -> u64 {
    let before = steps();
    redact(text);
    steps() - before
}

#[test]
fn twice_the_text_is_about_twice_the_work() {
    const BYTES: usize = 24_000;
    // A word that calls something secret reads 160 bytes of its sentence, and "key " is four bytes
    // long.
    const MOST_A_BYTE: u64 = 200;
    let once = hostile::families(BYTES);
    assert!(once.len() >= 35);
    for ((name, one), (_, two)) in once.into_iter().zip(hostile::families(2 * BYTES)) {
        let (one, bytes, two) = (looked_at(&one), one.len() as u64, looked_at(&two));
        assert!(
            one >= bytes,
            "{name}: {one} steps for {bytes} bytes; not even looked at once"
        );
        assert!(
            two * 10 <= one * 24,
            "{name}: {one} steps for {bytes} bytes, {two} for twice as many"
        );
        assert!(
            one <= MOST_A_BYTE * bytes,
            "{name}: {one} steps for {bytes} bytes"
        );
    }
}
