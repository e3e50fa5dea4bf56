//! The validator: what a reply claims, held against what its model was shown (AEGIS 9).
//!
//! First honest rules, each conservative: it raises what it can point at and stays silent in doubt.
//! Events name the rule and the sentence, never the reply's words, so that no record of a verdict
//! holds text.

use crate::record::bundle::{Bundle, SightEntry};

use super::claims;
use super::drift::{DriftClass, DriftEvent, Judgement};
use super::figures;
use super::kernel::Kernel;
use super::phrase;
use super::sanitize::Clean;

/// How many words from its start a refusal may begin at: an apology comes first.
const REFUSAL_WITHIN: usize = 24;

/// Judges one reply; a function of its arguments and nothing else.
///
/// No output shape can be declared yet, so `schema_ok` is always true.
pub fn judge(kernel: &Kernel, bundle: &Bundle, prompt: &Clean, reply: &str) -> Judgement {
    let prose = without_code(reply);
    let sentences = sentences(&prose);
    let words = phrase::words(&prose);
    let refusal = refuses(kernel, &words);
    let about_machine = asks_of_machine(kernel, prompt.as_str());
    let mut found: Vec<(DriftClass, String)> = Vec::new();
    let mut raise = |class, summary| found.push((class, summary));
    for (at, sentence) in sentences.iter().enumerate() {
        if claims::side_effect(sentence) {
            raise(DriftClass::Authority, format!("claimed_side_effect sentence={at}"));
        }
        if about_machine && figures::contradicts(bundle, prompt.as_str(), sentence) {
            raise(DriftClass::Evidence, format!("contradicts_sight sentence={at}"));
        }
    }
    for (rule, count) in figures::unsourced(bundle, prompt.as_str(), reply, about_machine) {
        raise(DriftClass::Evidence, format!("{rule} count={count}"));
    }
    for (rule, count) in tone(kernel, &words) {
        raise(DriftClass::Tone, format!("{rule} count={count}"));
    }
    let evasion = if about_machine && sees(bundle) { evades(kernel, &words, refusal) } else { None };
    if let Some(rule) = evasion {
        raise(DriftClass::Completeness, rule.to_owned());
    }
    Judgement::new(events(kernel, found), refusal)
}

fn events(kernel: &Kernel, mut found: Vec<(DriftClass, String)>) -> Vec<DriftEvent> {
    found.sort_by_key(|(class, _)| *class);
    let event = |(class, summary): (DriftClass, String)| {
        let (severity, effect) = kernel.drift(class);
        DriftEvent { class, severity: severity.to_owned(), effect, summary }
    };
    found.into_iter().map(event).collect()
}

/// Whether the reply begins with one of the kernel's refusals.
fn refuses(kernel: &Kernel, words: &[String]) -> bool {
    let head = words.get(..REFUSAL_WITHIN).unwrap_or(words);
    phrase::any(head, &kernel.rules().phrases.refusal)
}

/// Whether a question asks for what sight measures: it names the machine, and a measured thing or
/// its well-being ("how is … doing").
fn asks_of_machine(kernel: &Kernel, prompt: &str) -> bool {
    let words = phrase::words(prompt);
    let phrases = &kernel.rules().phrases;
    let how = words.iter().any(|w| w == "how" || w == "how's");
    let being = words.iter().any(|w| matches!(w.as_str(), "doing" | "feeling" | "running" | "status" | "state"));
    phrase::any(&words, &phrases.machine) && (phrase::any(&words, &phrases.measured) || (how && being))
}

fn sees(bundle: &Bundle) -> bool {
    bundle.sight.values().any(|entry| matches!(entry, SightEntry::Seen { .. }))
}

/// How a reply to a question about the machine leaves out the values it was shown (AEGIS 9.2).
fn evades(kernel: &Kernel, words: &[String], refusal: bool) -> Option<&'static str> {
    if phrase::any(words, &kernel.rules().phrases.no_access) {
        return Some("denies_sight");
    }
    if refusal {
        return Some("refuses_sight");
    }
    let carries = words.iter().any(|word| word.bytes().any(|b| b.is_ascii_digit()));
    (!carries).then_some("no_value_given")
}

fn tone(kernel: &Kernel, words: &[String]) -> Vec<(&'static str, usize)> {
    let tone = &kernel.rules().tone;
    let lists = [
        ("urgency", &tone.urgency),
        ("flattery", &tone.flattery),
        ("intimacy", &tone.intimacy),
        ("certainty", &tone.certainty),
    ];
    let count = |list: &[String]| list.iter().filter(|p| phrase::find(words, p).is_some()).count();
    lists.into_iter().map(|(rule, list)| (rule, count(list))).filter(|(_, n)| *n > 0).collect()
}

/// The reply without fenced code: what code says is no claim.
fn without_code(reply: &str) -> String {
    reply.split("```").step_by(2).collect::<Vec<_>>().join("\n")
}

/// Sentences with their final mark; a mark ends one only before white space, so `0.42` stays whole.
fn sentences(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let (mut start, mut ended) = (0, false);
    for (at, c) in text.char_indices() {
        if c == '\n' || (ended && c.is_whitespace()) {
            out.extend(text.get(start..at));
            start = at;
        }
        ended = matches!(c, '.' | '!' | '?');
    }
    out.extend(text.get(start..));
    out.into_iter().map(str::trim).filter(|s| !s.is_empty()).collect()
}

#[cfg(test)]
#[path = "validate_tests.rs"]
mod tests;
