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

pub use super::lexicon::ActClass;
use super::lexicon::{REACH, is_verb, of_gerund, of_verb};
use super::objects::{ANNOUNCED, BETWEEN};
use super::tool_calls::tool_calls;
use super::wishes::wish;
use crate::govern::reply::quotations::{Quotes, replaced};
use crate::govern::sanitize::{count, unmasked_text};

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
        let words = words(sentence);
        let polite = || wish(without_heads(&words)).or_else(|| wish(&words));
        if let Some(class) = request(&words).or_else(polite) {
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
        if let Some(class) = proposal(&words(sentence)) {
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

/// What may stand before the verb of a request, longest first.
const HEADS: &[&[&str]] = &[
    &["i", "would", "like", "you", "to"],
    &["i'd", "like", "you", "to"],
    &["i", "want", "you", "to"],
    &["i", "need", "you", "to"],
    &["would", "it", "be", "possible", "for", "you", "to"],
    &["would", "it", "be", "possible", "to"],
    &["it", "would", "be", "great", "if", "you", "could"],
    &["it", "would", "be", "nice", "if", "you", "could"],
    &["i", "was", "hoping", "you", "could"],
    &["any", "chance", "you", "could"],
    &["any", "chance", "you", "can"],
    &["do", "me", "a", "favor", "and"],
    &["do", "me", "a", "favour", "and"],
    &["why", "don't", "you"],
    &["can", "we"],
    &["could", "we"],
    &["go", "ahead", "and"],
    &["make", "sure", "to"],
    &["make", "sure", "you"],
    &["be", "sure", "to"],
    &["feel", "free", "to"],
    &["would", "you", "mind"],
    &["can", "you"],
    &["could", "you"],
    &["would", "you"],
    &["will", "you"],
    &["you", "can"],
    &["you", "may"],
    &["you", "must"],
    &["try", "to"],
    &["please"],
    &["kindly"],
    &["now"],
    &["then"],
    &["and"],
    &["also"],
    &["just"],
    &["first"],
    &["finally"],
    &["hey"],
    &["hi"],
    &["hello"],
    &["ok"],
    &["okay"],
    &["yes"],
    &["so"],
    &["aurora"],
    &["quickly"],
    &["immediately"],
    &["let's"],
    &[","],
];
/// Verbs of looking: what follows an "and" may still be a request.
const LOOKS: &[&str] = &[
    "check", "look", "find", "see", "read", "verify", "go", "log", "connect", "ssh", "use", "wait",
];

/// So many parts of a sentence are looked at one after the other: more are a list, and no order.
const MOST_PARTS: usize = 16;

/// A sentence of a prompt: an imperative, after polite words, after a condition, or after another
/// imperative.
fn request(words: &[String]) -> Option<ActClass> {
    let mut rest = words;
    for _ in 0..MOST_PARTS {
        count(rest.len());
        match request_at(rest) {
            SentencePart::Act(class) => return Some(class),
            SentencePart::Other => return None,
            SentencePart::GoesOn(next) => rest = next,
        }
    }
    None
}

/// What a part of a sentence is.
enum SentencePart<'a> {
    /// An order.
    Act(ActClass),
    /// None, and nothing behind it is.
    Other,
    /// An order that acts on nothing; behind it there may be one.
    GoesOn(&'a [String]),
}

fn request_at(words: &[String]) -> SentencePart<'_> {
    let conditional = matches!(
        words.first().map(String::as_str),
        Some("if" | "when" | "once" | "after" | "before")
    );
    let from = if conditional {
        words
            .iter()
            .position(|word| word == ",")
            .map(|comma| comma + 1)
    } else {
        Some(0)
    };
    let Some(words) = from.and_then(|from| words.get(from..)) else {
        return SentencePart::Other;
    };
    let Some((verb, after)) = without_heads(words).split_first() else {
        return SentencePart::Other;
    };
    // "mind restarting it?"
    let (verb, after) = match (verb.as_str(), after.split_first()) {
        ("mind", Some((verb, after))) => (verb, after),
        _ => (verb, after),
    };
    let gerund = || of_gerund(verb).filter(|_| words.iter().any(|word| word == "mind"));
    let verb = if is_verb(verb) {
        verb.as_str()
    } else {
        gerund().unwrap_or(verb.as_str())
    };
    if let Some(class) = of_verb(verb, part(after)).or_else(|| embedded(words)) {
        return SentencePart::Act(class);
    }
    if !(is_verb(verb) || LOOKS.contains(&verb)) || is_writing(verb) {
        return SentencePart::Other;
    }
    // "Check the disk and delete the old logs".
    let next = after
        .iter()
        .position(|word| matches!(word.as_str(), "and" | "then" | ","));
    next.and_then(|next| after.get(next + 1..))
        .map_or(SentencePart::Other, SentencePart::GoesOn)
}

/// How somebody is asked in the middle of a sentence.
const ASKED: &[&[&str]] = &[
    &["please"],
    &["can", "you"],
    &["could", "you"],
    &["would", "you"],
    &["will", "you"],
    &["i", "want", "you", "to"],
    &["i", "need", "you", "to"],
    &["i'd", "like", "you", "to"],
    &["i", "would", "like", "you", "to"],
    &["you", "should"],
    &["you", "must"],
    &["you", "need", "to"],
    &["go", "ahead", "and"],
];
/// Where a part of a sentence begins that may be an order.
const PARTS: &[&str] = &[",", "so", "but", "therefore", "hence"];
/// Words before an order that make it a part of what is told, explained, written or planned.
const TOLD: &[&str] = &[
    "asked",
    "asks",
    "article",
    "command",
    "commands",
    "describe",
    "describes",
    "docs",
    "documentation",
    "draft",
    "example",
    "explain",
    "explains",
    "guide",
    "instructions",
    "list",
    "manual",
    "means",
    "plan",
    "reads",
    "rewrite",
    "runbook",
    "said",
    "say",
    "says",
    "sentence",
    "show",
    "step",
    "steps",
    "suggested",
    "suggests",
    "summarise",
    "summarize",
    "tell",
    "tells",
    "told",
    "translate",
    "tried",
    "tutorial",
    "wrote",
    "write",
];
/// Words of the same part of the sentence that make it a question, a refusal or a description.
const UNASKED: &[&str] = &[
    "avoid", "does", "did", "don't", "how", "if", "might", "never", "not", "should", "what",
    "when", "where", "whether", "which", "who", "whose", "why", "without", "won't",
];
/// And those that make what follows a comma a list of what something is able to do.
const ABLE: &[&str] = &["can", "could", "may", "will", "would", "to"];

/// An order or a plea inside of a sentence: "the disk is full so delete the old logs", "it hangs,
/// could you kill it".
///
/// One pass: what stands before a word is summed up, not looked at again.
fn embedded(words: &[String]) -> Option<ActClass> {
    let is = |word: &str, list: &[&str]| list.contains(&word);
    let (mut able, mut unasked, mut unasked_here, mut border) = (false, false, false, None);
    for at in 1..words.len() {
        count(1);
        let (before, rest) = words.split_at(at);
        let last = before.last()?.as_str();
        if is(last, TOLD) {
            return None;
        }
        (able, unasked) = (able || is(last, ABLE), unasked || is(last, UNASKED));
        let at_border = is(last, PARTS);
        if at_border {
            border = Some(at);
        }
        unasked_here = !at_border && (unasked_here || is(last, UNASKED));
        let asked = ASKED
            .iter()
            .find(|asked| asked.len() < rest.len() && asked.iter().zip(rest).all(|(a, b)| a == b));
        let body = match asked {
            Some(asked) if !unasked_here => rest.get(asked.len()..)?,
            None if border == Some(at) && !able && !unasked => rest,
            _ => continue,
        };
        if let Some(class) = embedded_act(without_heads(body)) {
            return Some(class);
        }
    }
    None
}

fn embedded_act(body: &[String]) -> Option<ActClass> {
    let (verb, after) = body.split_first()?;
    let names_something = after.first().is_some_and(|word| word != ",");
    let near = after.get(..after.len().min(2 * REACH)).unwrap_or_default();
    if is_writing(verb) || !names_something {
        None
    } else {
        of_verb(verb, part(near))
    }
}

/// Verbs that make a text in most prompts: what follows them is part of that text.
fn is_writing(verb: &str) -> bool {
    matches!(
        verb,
        "write" | "create" | "make" | "add" | "put" | "replace"
    )
}

/// Up to the next part of the sentence.
fn part(words: &[String]) -> &[String] {
    let end = words
        .iter()
        .position(|word| matches!(word.as_str(), "then" | ":"))
        .unwrap_or(words.len());
    words.get(..end).unwrap_or(words)
}

/// So many polite words are passed over: "hey, could you please just now" are six. More are no
/// sentence.
const MOST_HEADS: usize = 16;

fn without_heads(mut words: &[String]) -> &[String] {
    for _ in 0..MOST_HEADS {
        let Some(head) = HEADS
            .iter()
            .find(|head| words.len() >= head.len() && head.iter().zip(words).all(|(a, b)| a == b))
        else {
            break;
        };
        count(head.len());
        words = words.get(head.len()..).unwrap_or_default();
    }
    words
}

/// A sentence of a reply: an act that is announced, offered for approval, or under way.
fn proposal(words: &[String]) -> Option<ActClass> {
    let at_start = words
        .first()
        .and_then(|first| of_gerund(first))
        .filter(|_| words.iter().any(|word| word == "now"));
    if let Some(class) = at_start.and_then(|verb| of_verb(verb, words.get(1..)?)) {
        return Some(class);
    }
    (0..words.len()).find_map(|at| {
        count(1);
        let rest = words.get(at..)?;
        if let [subject, doing, ..] = rest
            && matches!(subject.as_str(), "i'm" | "we're")
            && let Some(class) = of_gerund(doing).and_then(|verb| of_verb(verb, rest.get(2..)?))
        {
            return Some(class);
        }
        let said = ANNOUNCED
            .iter()
            .find(|said| rest.len() > said.len() && said.iter().zip(rest).all(|(a, b)| a == b))?;
        announced(rest.get(said.len()..)?)
    })
}

/// What follows an announcement, when it is an act.
fn announced(rest: &[String]) -> Option<ActClass> {
    let verb = (0..rest.len()).find(|at| {
        count(1);
        rest.get(*at)
            .is_some_and(|word| !BETWEEN.contains(&word.as_str()))
            || starts(rest, *at)
    })?;
    let word = rest.get(verb)?;
    let verb_word = if is_verb(word) {
        word.as_str()
    } else {
        of_gerund(word)?
    };
    of_verb(verb_word, rest.get(verb + 1..)?)
}

/// "Start" is a verb of its own before a thing, and none in "start by restarting".
fn starts(rest: &[String], at: usize) -> bool {
    rest.get(at).is_some_and(|word| word == "start")
        && rest.get(at + 1).is_some_and(|next| next != "by")
}

#[cfg(test)]
#[path = "actuation_tests.rs"]
mod tests;
