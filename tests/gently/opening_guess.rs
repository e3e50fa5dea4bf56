//! Nothing in an opening helps to guess another turn: an attacker with the file and a small
//! dictionary tries every computation that the format knows, over every value in the file.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use gently::record::hash::Hash32;
use gently::record::ledger::commitment::{Role, Salt, commit_with_key, opening_key};
use gently::record::log::chain::chain_entry;
use gently::record::log::entry::{Event, Line};
use gently::record::time::Seconds;
use gently::record::tree::{leaf, node};
use serde_json::Value;

use crate::model_server::Behaviour;
use crate::opening::{document, open, served};
use crate::person::Person;

const WORDS: [&str; 6] = ["yes", "no", "stop", "go", "42", "perhaps"];
const ROLES: [Role; 10] = [
    Role::Prompt,
    Role::Response,
    Role::Exchange,
    Role::Artifact,
    Role::UserText,
    Role::AuroraText,
    Role::CompiledPrompt,
    Role::Bundle,
    Role::ContextDigest,
    Role::PromptDigest,
];

/// Every 32-byte value that stands anywhere in a file, in any spelling.
fn values(value: &Value, found: &mut BTreeSet<Hash32>) {
    match value {
        Value::Object(map) => map.values().for_each(|value| values(value, found)),
        Value::Array(list) => list.iter().for_each(|value| values(value, found)),
        Value::String(text) => {
            for word in text.split(|c: char| !c.is_ascii_alphanumeric() && !"+/=".contains(c)) {
                for bytes in [hex::decode(word).ok(), BASE64.decode(word).ok()]
                    .into_iter()
                    .flatten()
                {
                    let parts = bytes
                        .as_chunks::<32>()
                        .0
                        .iter()
                        .chain(bytes.last_chunk::<32>());
                    found.extend(parts.map(|part| Hash32::from_bytes(*part)));
                }
            }
        }
        _ => {}
    }
}

fn times(value: &Value, found: &mut BTreeSet<u64>) {
    match value {
        Value::Object(map) => map.values().for_each(|value| times(value, found)),
        Value::Array(list) => list.iter().for_each(|value| times(value, found)),
        Value::Number(number) => found.extend(number.as_u64().filter(|n| *n > 1_000_000_000)),
        _ => {}
    }
}

/// What a word may have been committed to as, by whoever holds one of these values.
fn commitments(word: &str, known: &[Hash32]) -> Vec<Hash32> {
    let text = word.as_bytes();
    let mut tried = vec![Hash32::digest(text), leaf(text)];
    for value in known {
        tried.push(commit_with_key(*value, text));
        tried.push(Hash32::of_parts(&[value.as_bytes(), text]));
        tried.push(Hash32::of_parts(&[text, value.as_bytes()]));
        for role in ROLES {
            // As if it were a salt, and as if it were the key of another role.
            let key = opening_key(&Salt::new(*value.as_bytes()), role);
            tried.push(commit_with_key(key, text));
        }
    }
    tried
}

/// Whether some computation over the file gives a value in it, with one of the words as another
/// turn's text.
fn guessed(file: &Value) -> BTreeSet<String> {
    let (mut known, mut moments) = (BTreeSet::new(), BTreeSet::new());
    values(file, &mut known);
    times(file, &mut moments);
    // A turn beside the opened one was a few seconds before or after something in the file.
    let around: BTreeSet<u64> = moments
        .iter()
        .flat_map(|time| time - 1..=time + 1)
        .collect();
    let list: Vec<Hash32> = known.iter().copied().collect();
    let session: Hash32 = file["openings"][0]["session_id"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let seq = file["openings"][0]["seq"].as_u64().unwrap();
    // What a chain or a line can follow: values that the file gives as hashes of their own.
    let texts: Vec<&str> = file["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line[1].as_str().unwrap())
        .collect();
    let shown: Vec<(Hash32, &str)> = texts
        .iter()
        .map(|text| (text[..64].parse().unwrap(), *text))
        .collect();
    // A prompt's line follows one of these, or one that nobody has.
    let before: BTreeSet<(Hash32, u64)> = shown
        .iter()
        .flat_map(|(hash, _)| [seq - 1, seq, seq + 1].map(|seq| (*hash, seq)))
        .collect();
    let mut starts = BTreeSet::from([session]);
    for document in file["documents"].as_array().unwrap() {
        let hash = |key: &str| {
            document[key]
                .as_str()
                .map(|text| text.parse::<Hash32>().unwrap())
        };
        starts.extend(["prev", "chain_entry"].iter().filter_map(|key| hash(key)));
    }
    let mut hits = BTreeSet::new();
    let mut all = Vec::new();
    for word in WORDS {
        let tried = commitments(word, &list);
        hits.extend(
            tried
                .iter()
                .filter(|value| known.contains(value))
                .map(|_| format!("{word}, committed")),
        );
        all.push((word, tried));
    }
    let own: Vec<Hash32> = shown
        .iter()
        .map(|(_, text)| leaf(text.as_bytes()))
        .collect();
    for (word, tried) in &all {
        for (commitment, time) in tried
            .iter()
            .flat_map(|tried| around.iter().map(move |time| (tried, time)))
        {
            for (start, seq) in &before {
                let asked = Event::Prompt {
                    hash: *commitment,
                    seq: *seq,
                };
                let line = Line::new(
                    *start,
                    0,
                    Seconds::new(*time).unwrap(),
                    Some(session),
                    asked,
                );
                let hash = leaf(line.text().as_bytes());
                let beside = own
                    .iter()
                    .flat_map(|own| [node(hash, *own), node(*own, hash)]);
                if [line.hash, hash]
                    .into_iter()
                    .chain(beside)
                    .any(|value| known.contains(&value))
                {
                    hits.insert(format!("{word}, by its line"));
                }
            }
        }
    }
    for (first, prompts) in &all {
        for (second, responses) in &all {
            for (prompt, response) in prompts.iter().zip(responses) {
                for time in &around {
                    for start in &starts {
                        let entry =
                            chain_entry(*start, *prompt, *response, Seconds::new(*time).unwrap());
                        if known.contains(&entry) {
                            hits.insert(format!("{first} → {second}, by the chain"));
                        }
                    }
                }
            }
        }
    }
    hits
}

/// Turns before and after the opened one say a word of the dictionary each, and the model another.
fn opened(commitments: &str) -> (Person, Vec<Value>) {
    let (person, _server) = served(Behaviour::Says("perhaps".to_owned()));
    person
        .gently(&["init", "--commitments", commitments])
        .exits(0);
    for question in ["yes", "Something that nobody guesses: quetzalcoatl", "no"] {
        person.ask(question);
    }
    let before = open(&person, "open", &["last", "2", "--role", "prompt"]);
    person.gently(&["session", "close"]).exits(0);
    let after = open(&person, "closed", &["last", "2", "--role", "prompt"]);
    let exchange = open(&person, "exchange", &["last", "2", "--role", "exchange"]);
    let files = [before, after, exchange]
        .iter()
        .map(|file| document(file))
        .collect();
    (person, files)
}

#[test]
fn a_salted_ledger_lets_nobody_guess_another_turn() {
    let (person, files) = opened("hmac-sha256");
    for file in files {
        let hits = guessed(&file);
        assert!(hits.is_empty(), "{hits:?}");
    }
    // Nor does the file hold the salt, or the key of another role.
    let salts: Vec<Vec<u8>> = {
        let database = person.database();
        let mut rows = database
            .prepare("SELECT salt FROM llm_exchange ORDER BY seq")
            .unwrap();
        rows.query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect()
    };
    assert_eq!(salts.len(), 3);
    let mut known = BTreeSet::new();
    values(&document(&person.dir.path().join("closed")), &mut known);
    for (n, salt) in salts.iter().enumerate() {
        let salt = Salt::new(salt.as_slice().try_into().unwrap());
        assert!(!known.contains(&Hash32::from_bytes(salt.as_bytes().try_into().unwrap())));
        for role in ROLES {
            let own = n == 1 && role == Role::Prompt;
            assert_eq!(
                known.contains(&opening_key(&salt, role)),
                own,
                "turn {}, {role:?}",
                n + 1
            );
        }
    }
}

/// The attack works where it can: that is what salts are for.
#[test]
fn a_plain_ledger_is_guessed_by_the_same_attack() {
    let (_person, files) = opened("sha256");
    for file in files {
        let hits = guessed(&file);
        assert!(
            hits.iter().any(|hit| hit.contains("yes → perhaps")),
            "{hits:?}"
        );
    }
}
