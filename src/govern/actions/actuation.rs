//! Requests to act: a prompt that wants something done to a machine, a reply that is about to do it
//! (AEGIS 7.1).
//!
//! Nothing here acts, and nothing of gently does: what is found is put on record as an *actuation
//! intent* that awaits a person's approval. Rules of form, and plain: they know imperatives, offers
//! and blocks in the form of tool calls. They miss paraphrase; what they find changes a word on
//! record, and never whether a prompt is answered. Commands that a reply tells the reader to run
//! are the reader's to run, and no intent.

use std::sync::OnceLock;

use regex::Regex;

use super::clauses::{announced_act, requested_act};
pub use super::lexicon::ActClass;
use super::tool_calls::tool_calls;
use crate::govern::reply::quotations::{Quotes, replaced};
use crate::govern::sanitize::unmasked_text;

/// One wish to act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Act {
    /// What kind of act.
    pub class: ActClass,
    /// The sentence, on one line, of at most 160 characters.
    pub what: String,
}

/// What was found in a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acts {
    /// The first of them, at most [`MAX_ACTS`].
    pub acts: Vec<Act>,
    /// How many there are beyond those.
    pub more: usize,
}

/// How many intents one text can put on record: a text of a thousand orders is one nuisance, and
/// not a thousand.
pub const MAX_ACTS: usize = 4;
/// Longest excerpt, in characters.
const MAX_WHAT: usize = 160;

impl Acts {
    fn add(&mut self, class: ActClass, sentence: &str) {
        if self.acts.len() == MAX_ACTS {
            self.more += 1;
            return;
        }
        let line = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
        self.acts.push(Act {
            class,
            what: line.chars().take(MAX_WHAT).collect(),
        });
    }
}

/// What a prompt asks to have done. Questions, quotations and wishes for a text are no requests.
pub fn requested(prompt: &str) -> Acts {
    let mut found = Acts::default();
    for sentence in sentences(&unmasked_text(prompt)) {
        if let Some(class) = requested_act(&words(sentence)) {
            found.add(class, sentence);
        }
    }
    found
}

/// What a reply announces or offers to do, and every block in the form of a tool call.
pub fn proposed(reply: &str) -> Acts {
    let mut found = Acts::default();
    for block in tool_calls(reply) {
        found.add(ActClass::ToolCall, block);
    }
    for sentence in sentences(&unmasked_text(reply)) {
        if let Some(class) = announced_act(&words(sentence)) {
            found.add(class, sentence);
        }
    }
    found
}

/// The sentences of a text, outside of code blocks and quotations.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    let prose = text.lines().filter(move |line| {
        let line = line.trim_start();
        let fence = line.starts_with("```") || line.starts_with("~~~");
        in_code ^= fence;
        !(in_code || fence || line.starts_with('>'))
    });
    prose
        .flat_map(|line| ends().split(line))
        .map(str::trim)
        .filter(|sentence| !sentence.is_empty())
}

/// Where sentences end: a mark before white space or the end, so that `nginx.conf` stays whole.
fn ends() -> &'static Regex {
    static ONCE: OnceLock<Regex> = OnceLock::new();
    ONCE.get_or_init(|| Regex::new(r"[.!?;…]+(?:\s+|$)").expect("a test compiles it"))
}

/// Words in lower case; paths and names with dots stay whole, quotations of several words are cut
/// out.
fn words(sentence: &str) -> Vec<String> {
    let spaced = Quotes {
        spaced: true,
        ..Quotes::default()
    };
    let plain = replaced(sentence, spaced, " ")
        .replace(['\u{2019}', '\u{02bc}'], "'")
        .to_lowercase();
    // A comma is a word: it ends a part of the sentence.
    let parts = plain
        .replace(',', " , ")
        .replace('`', " ")
        .replace(':', " : ");
    let trimmed = |word: &str| {
        let edge = |c: char| {
            !(c.is_alphanumeric() || matches!(c, '/' | '~' | '.' | '*' | '_' | ',' | '\\'))
        };
        word.trim_matches(edge).trim_end_matches('.').to_owned()
    };
    parts
        .split_whitespace()
        .map(trimmed)
        .filter(|word| !word.is_empty())
        .collect()
}

#[cfg(test)]
#[path = "actuation_tests.rs"]
mod tests;
