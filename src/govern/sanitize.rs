//! Taking secrets out of text, at the one place that every text passes (AEGIS 8).

use std::collections::BTreeMap;
use std::fmt;

use super::shapes::{Check, RULES, plausible};

/// A text that has passed [`redact`].
///
/// Nothing else makes one, so nothing else can reach a model, a record or a screen:
///
/// ```compile_fail
/// # use gently::govern::sanitize::Clean;
/// let unchecked = Clean("password=hunter2".to_owned());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Clean(String);

impl Clean {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Clean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One secret that was taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is: `aws-access-key`.
    pub kind: &'static str,
    /// First byte of it in the text as given.
    pub start: usize,
    /// First byte after it.
    pub end: usize,
}

/// A text without its secrets, and what they were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redaction {
    /// The text with placeholders: `[redacted:aws-access-key]`.
    pub clean: Clean,
    /// What was taken out, by place.
    pub found: Vec<Finding>,
}

/// Most rounds of one redaction: a removal may uncover a shape, each round removes at least one.
const MAX_ROUNDS: usize = 16;
/// Most distinct secrets that are looked for again elsewhere in the text.
const MAX_REPEATED: usize = 64;
/// Shortest secret that is looked for again.
const MIN_REPEATED: usize = 8;
/// From this length it is, even without a digit: a shorter one of letters may be a word.
const MIN_REPEATED_LETTERS: usize = 12;
/// How a placeholder begins.
const OPEN: &str = "[redacted:";

/// Longest name inside a placeholder, with its number.
const MAX_NAME: usize = 40;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Span {
    start: usize,
    end: usize,
    kind: &'static str,
    rank: usize,
}

/// Takes secrets out of a text, each replaced by a placeholder that names its kind.
///
/// The same secret gets the same placeholder, a second one of a kind gets a number
/// (`[redacted:password-2]`). Idempotent: redacting the result changes nothing. First honest rules:
/// shapes of keys and tokens, and values that a name calls secret; a bare random word with nothing
/// said about it stays.
pub fn redact(text: &str) -> Redaction {
    let mut found: Vec<Span> = Vec::new();
    let mut clean = text.to_owned();
    let mut places: Vec<Place> = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let new = spans(&clean);
        if new.is_empty() {
            break;
        }
        found.extend(new.into_iter().map(|span| original(span, &places)));
        found = merged(found);
        (clean, places) = rebuilt(text, &found);
    }
    let found = found.into_iter().map(|Span { start, end, kind, .. }| Finding { kind, start, end }).collect();
    Redaction { clean: Clean(clean), found }
}

/// Where a placeholder stands in the redacted text, and for what in the original.
struct Place {
    clean_end: usize,
    original_end: usize,
}

/// Moves a span of the redacted text, which holds no placeholder, to its place in the original.
fn original(span: Span, places: &[Place]) -> Span {
    let after = places.partition_point(|place| place.clean_end <= span.start);
    let before = after.checked_sub(1).and_then(|last| places.get(last));
    let (from, to) = before.map_or((0, 0), |place| (place.clean_end, place.original_end));
    Span { start: span.start - from + to, end: span.end - from + to, ..span }
}

/// All secrets that stand in a text, sorted, apart, and free of placeholders.
fn spans(text: &str) -> Vec<Span> {
    let lower = text.to_ascii_lowercase();
    let mut all = Vec::new();
    for (rank, rule) in RULES.iter().enumerate() {
        let Some(regex) = rule.regex(&lower) else { continue };
        for captures in regex.captures_iter(text) {
            let group = captures.iter().skip(1).flatten().next().or_else(|| captures.get(0));
            let Some(group) = group else { continue };
            let value = if rule.check == Check::Shape { group.as_str() } else { trimmed(group.as_str()) };
            if plausible(value, rule.check) {
                all.push(Span { start: group.start(), end: group.start() + value.len(), kind: rule.kind, rank });
            }
        }
    }
    let all = apart(text, merged(all));
    let again = repeated(text, &all);
    if again.is_empty() { all } else { apart(text, merged(all.into_iter().chain(again).collect())) }
}

/// A value without the punctuation of the sentence around it.
fn trimmed(value: &str) -> &str {
    let value = value.trim_end_matches(['.', ',', ';', ':', ')', '}', '\\', '`']);
    value.trim_end_matches(['"', '\''])
}

fn is_worth_repeating(secret: &str) -> bool {
    let digits = secret.bytes().any(|b| b.is_ascii_digit()) && secret.bytes().any(|b| b.is_ascii_alphabetic());
    secret.len() >= MIN_REPEATED_LETTERS || (secret.len() >= MIN_REPEATED && digits)
}

/// Other places where a secret stands without anything that names it.
fn repeated(text: &str, found: &[Span]) -> Vec<Span> {
    let mut secrets: Vec<(&str, &Span)> = Vec::new();
    for span in found {
        let Some(secret) = text.get(span.start..span.end) else { continue };
        if is_worth_repeating(secret) && secrets.len() < MAX_REPEATED && !secrets.iter().any(|(s, _)| *s == secret) {
            secrets.push((secret, span));
        }
    }
    // Spans are sorted and apart, so the last one that starts at or before a place is the only candidate.
    let known = |start: usize, end: usize| {
        let at_or_before = found.partition_point(|f| f.start <= start);
        at_or_before.checked_sub(1).and_then(|last| found.get(last)).is_some_and(|f| end <= f.end)
    };
    let mut again = Vec::new();
    for (secret, span) in secrets {
        for (start, _) in text.match_indices(secret) {
            if !known(start, start + secret.len()) {
                again.push(Span { start, end: start + secret.len(), ..span.clone() });
            }
        }
    }
    again
}

/// Joins spans that overlap; the earlier rule names the kind.
fn merged(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| (span.start, span.rank));
    let mut out: Vec<Span> = Vec::new();
    for span in spans {
        match out.last_mut() {
            Some(last) if span.start < last.end => {
                if span.rank < last.rank {
                    (last.kind, last.rank) = (span.kind, span.rank);
                }
                last.end = last.end.max(span.end);
            }
            _ => out.push(span),
        }
    }
    out
}

/// Cuts placeholders out of spans; what is left without a letter or digit is no secret.
fn apart(text: &str, spans: Vec<Span>) -> Vec<Span> {
    if !text.contains(OPEN) {
        return spans;
    }
    let placeholders: Vec<(usize, usize)> =
        text.match_indices(OPEN).filter_map(|(at, _)| Some((at, at + placeholder(text.get(at..)?)?.2))).collect();
    let mut out = Vec::new();
    for span in spans {
        let mut start = span.start;
        let first = placeholders.partition_point(|(_, to)| *to <= start);
        let inside = placeholders.get(first..).unwrap_or_default().iter();
        for (from, to) in inside.take_while(|(from, _)| *from < span.end) {
            out.push(Span { start, end: (*from).max(start), ..span.clone() });
            start = (*to).min(span.end);
        }
        out.push(Span { start, ..span });
    }
    out.retain(|s| text.get(s.start..s.end).is_some_and(|part| part.chars().any(char::is_alphanumeric)));
    out
}

/// Kind, number and length of the placeholder that a text begins with.
///
/// Only kinds of ours, so that a text can't hide a secret inside brackets.
fn placeholder(text: &str) -> Option<(&'static str, usize, usize)> {
    let rest = text.strip_prefix(OPEN)?;
    let name = rest.get(..rest.bytes().take(MAX_NAME).position(|b| b == b']')?)?;
    let length = OPEN.len() + name.len() + 1;
    RULES.iter().find_map(|rule| {
        let number = match name.strip_prefix(rule.kind)? {
            "" => 1,
            rest => {
                let digits = rest.strip_prefix('-').filter(|d| (1..=4).contains(&d.len()) && !d.starts_with('0'))?;
                digits.parse().ok().filter(|n| *n > 1 && digits.bytes().all(|b| b.is_ascii_digit()))?
            }
        };
        Some((rule.kind, number, length))
    })
}

/// The text with a placeholder for every span, and where they stand.
fn rebuilt(text: &str, found: &[Span]) -> (String, Vec<Place>) {
    let mut highest: BTreeMap<&'static str, usize> = BTreeMap::new();
    for (at, _) in text.match_indices(OPEN) {
        if let Some((kind, number, _)) = text.get(at..).and_then(placeholder) {
            let known = highest.entry(kind).or_default();
            *known = number.max(*known);
        }
    }
    let mut names: BTreeMap<&str, String> = BTreeMap::new();
    let (mut out, mut places, mut done) = (String::with_capacity(text.len()), Vec::new(), 0);
    for span in found {
        out.push_str(text.get(done..span.start).unwrap_or_default());
        let secret = text.get(span.start..span.end).unwrap_or_default();
        let name = names.entry(secret).or_insert_with(|| {
            let number = highest.entry(span.kind).or_default();
            *number += 1;
            if *number == 1 { format!("{OPEN}{}]", span.kind) } else { format!("{OPEN}{}-{number}]", span.kind) }
        });
        out.push_str(name);
        done = span.end;
        places.push(Place { clean_end: out.len(), original_end: done });
    }
    out.push_str(text.get(done..).unwrap_or_default());
    (out, places)
}

#[cfg(test)]
#[path = "sanitize_tests.rs"]
mod tests;
