//! What tests of traces share: a home with a turn of each kind, exports, and what a check answers.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::model_server::{Behaviour, ModelServer};
use crate::opening::scripted;
use crate::person::{Person, Ran};

/// What is asked first, and answered.
pub const QUESTION: &str = "How much of the old laptop's disk in the cellar is used by now?";
/// What is answered to it.
pub const ANSWER: &str = "About seventy one percent of that disk is used, as far as I was shown.";
/// What is put before the model as a fact.
pub const FACT: &str = "The laptop in the cellar is called berta by everybody in the house.";
/// What the model is told in the settings.
pub const SYSTEM: &str =
    "You answer in one short sentence and never mention the weather of tomorrow.";
/// What a model says that acts on nobody's behalf: the kernel withholds it.
pub const CLAIM: &str = "I have restarted the nginx service and deleted the old log files for you.";

/// A home with an answered turn, one that is withheld, a denied and a failed one, in this order;
/// nothing was asked before with [`SYSTEM`] and [`FACT`].
pub fn turns() -> (Person, ModelServer) {
    let (mut person, server) = scripted(vec![
        Behaviour::Says(ANSWER.to_owned()),
        Behaviour::Says(CLAIM.to_owned()),
        Behaviour::error(500, "out of memory"),
    ]);
    person.set("GENTLY_MODEL_SYSTEM", SYSTEM);
    person.gently(&["init"]).exits(0);
    person.withholds_claims(|kernel| kernel);
    person.gently(&["fact", "add", FACT]).exits(0);
    person.gently(&["fact", "ratify", "fact-1"]).exits(0);
    person.ask(QUESTION);
    person
        .gently(&["ask", "Restart nginx on the old laptop, please."])
        .exits(1);
    person.gently(&["ask", " "]).exits(1);
    person.gently(&["ask", "And what about tomorrow?"]).exits(2);
    (person, server)
}

/// Gives a consent to what these flags say.
#[track_caller]
pub fn consents(person: &Person, flags: &[&str]) {
    let mut words = vec!["consent", "give", "--purpose", "a study"];
    words.extend(flags);
    person.gently(&words).exits(0);
}

/// Exports into a file of that name in the person's folder.
pub fn export(person: &Person, name: &str, args: &[&str]) -> (PathBuf, Ran) {
    let file = person.dir.path().join(name);
    let mut words = vec!["trace", "export", "--out", file.to_str().unwrap()];
    words.extend(args);
    let ran = person.gently(&words);
    (file, ran)
}

/// The same of one that is done.
#[track_caller]
pub fn exported(person: &Person, name: &str, args: &[&str]) -> PathBuf {
    let (file, ran) = export(person, name, args);
    ran.exits(0);
    file
}

/// The answers to the questions about each trace of a file, and the exit code.
pub fn answers(person: &Person, file: &str, args: &[&str]) -> (i32, Vec<BTreeMap<String, String>>) {
    let mut words = vec!["trace", "verify", "--json", file];
    words.extend(args);
    let ran = person.gently(&words);
    let told = ran.json();
    let of = |trace: &Value| {
        let answers = trace["answers"].as_object().unwrap().iter();
        answers
            .map(|(name, said)| (name.clone(), said["answer"].as_str().unwrap().to_owned()))
            .collect()
    };
    let traces = told["traces"]
        .as_array()
        .unwrap_or_else(|| panic!("{told}"));
    (ran.code, traces.iter().map(of).collect())
}

/// The names of those that are of a kind.
pub fn named(answers: &BTreeMap<String, String>, answer: &str) -> Vec<String> {
    let names = answers.iter().filter(|(_, said)| *said == answer);
    names.map(|(name, _)| name.clone()).collect()
}

/// Runs of four words of letters and digits, in lower case.
pub fn fours(text: &str) -> Vec<String> {
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.windows(4).map(|four| four.join(" ")).collect()
}
