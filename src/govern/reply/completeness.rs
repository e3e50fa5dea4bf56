//! Completeness: sight that was asked for, was there, and is left out (AEGIS 3, 7.2, 9.2).
//!
//! Relational: it takes a question for measured things of this machine, values of them in the
//! bundle, and a reply that denies access, refuses, or carries none of them.

use std::collections::HashSet;

use crate::record::ledger::bundle::{Bundle, Measurement, SightEntry};

use super::arithmetic::{Number, numbers};
use super::phrase_pattern::PhrasePattern;
use super::reply_words::reply_words;
use super::sentences::plain;
use super::sight_figures;
use crate::govern::kernel::Kernel;
use crate::govern::phrase;

/// Whether a question asks for what sight measures: it names the machine and a measured thing or
/// its well-being (*how is … doing*), or asks for a measured thing here and now (*how much disk
/// space is left*).
pub(in crate::govern) fn asks_of_machine(kernel: &Kernel, prompt: &str) -> bool {
    let (words, known) = (phrase::words(prompt), reply_words());
    let phrases = &kernel.rules().phrases;
    let measured = phrase::any(&words, &phrases.measured);
    let how = words.iter().any(|w| {
        matches!(
            w.as_str(),
            "how" | "how's" | "what" | "what's" | "is" | "are" | "show" | "tell"
        )
    });
    let being = words.iter().any(|w| known.being.has(w));
    let here = known.here.iter().any(|p| phrase::find(&words, p).is_some());
    (phrase::any(&words, &phrases.machine) && (measured || (how && being)))
        || (measured && how && here)
}

/// Whether the bundle holds values of what the prompt asks for: of its topics, or any when it names
/// none.
pub(in crate::govern) fn sees_what_is_asked(bundle: &Bundle, prompt: &str) -> bool {
    let seen = bundle
        .sight
        .values()
        .any(|entry| matches!(entry, SightEntry::Seen { .. }));
    let topics = sight_figures::topics(prompt);
    seen && (topics.is_empty()
        || topics
            .iter()
            .any(|topic| !sight_figures::measured(bundle, topic).is_empty()))
}

/// Whether the reply says that its speaker can't see.
pub(in crate::govern) fn denies(kernel: &Kernel, spoken: &str) -> bool {
    static NO_SIGHT: PhrasePattern = PhrasePattern::new(
        r"(?x-u)\b(?:i|we)\ (?:(?:currently|also|simply|unfortunately|actually|really)\ )?
                (?:do\ not|don't|cannot|can't|can\ not|am\ (?:not\ able|unable)\ to|have\ no)\ 
                (?:(?:currently|actually|really|directly|have|any|the|ability|capability|means|way|to|a|direct|real-time|live|of|or)\ ){0,6}?
                (?:access|see|view|check|monitor|inspect|query|read|retrieve|observe|measure|know|look|visibility|insight|information|data|sight)\b",
    );
    let text = plain(spoken)
        .replace("i'm ", "i am ")
        .replace("we're ", "we am ");
    phrase::any(&phrase::words(spoken), &kernel.rules().phrases.no_access)
        || NO_SIGHT.is_match(&text)
}

/// Whether the reply has a value of what was asked: a number or a text of sight, right or wrong.
pub(in crate::govern) fn carries(
    bundle: &Bundle,
    prompt: &str,
    spoken: &str,
    contradicts: bool,
) -> bool {
    if contradicts {
        return true;
    }
    let topics = sight_figures::topics(prompt);
    let seen = |name: &str| {
        topics.is_empty() || topics.iter().any(|topic| sight_figures::is_of(name, topic))
    };
    let words = phrase::words(spoken);
    let text = |reading: &Measurement| matches!(reading, Measurement::Text(text) if phrase::find(&words, text).is_some());
    let readings = bundle.sight.values().filter_map(|entry| match entry {
        SightEntry::Seen { values, .. } => Some(values),
        SightEntry::Unavailable { .. } => None,
    });
    if readings
        .flatten()
        .any(|(name, reading)| seen(name) && text(reading))
    {
        return true;
    }
    let known = sight_figures::known(bundle, &topics);
    let told = numbers(spoken);
    // A figure of the question that the answer takes up is the value it was asked about.
    let asked = numbers(prompt);
    let asked: HashSet<(u64, u64, &str)> = asked.iter().map(Number::key).collect();
    told.iter()
        .any(|number| known.explains(number) || asked.contains(&number.key()))
        || says_a_count(bundle, &seen, &words)
}

/// Small whole values are also said in words, or as bare digits: *two cores*.
fn says_a_count(bundle: &Bundle, seen: &dyn Fn(&str) -> bool, words: &[String]) -> bool {
    let counts = bundle.sight.values().filter_map(|entry| match entry {
        SightEntry::Seen { values, .. } => Some(values),
        SightEntry::Unavailable { .. } => None,
    });
    let mut said: HashSet<String> = HashSet::new();
    for (_, reading) in counts.flatten().filter(|(name, _)| seen(name)) {
        let Measurement::Count(n) = reading else {
            continue;
        };
        said.insert(n.to_string());
        said.extend(
            usize::try_from(*n)
                .ok()
                .and_then(|n| reply_words().counts.get(n))
                .cloned(),
        );
    }
    words.iter().any(|word| said.contains(word))
}
