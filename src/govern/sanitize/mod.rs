//! Taking secrets out of text, at the one place that every text passes (AEGIS 8).

mod address;
mod bare;
mod dialect;
mod engine;
mod fold;
mod link;
mod named;
mod pem;
mod placeholder;
mod prose;
mod rules;
mod span;
mod value;
mod view;
mod words;

use std::fmt;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasickBuilder, AhoCorasickKind, MatchKind};

pub use engine::Engine;
pub use placeholder::{NewPlaceholder, Placeholders, SecretTag};
pub use rules::RuleFault;

use engine::boundary_before;
use placeholder::Place;
use span::{Span, merged, without};
use view::{Edit, View};

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
    pub kind: String,
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
const MAX_REPEATED: usize = 1024;
/// Longest of them.
const MAX_REPEATED_LENGTH: usize = 256;
/// Shortest secret that is looked for again.
const MIN_REPEATED: usize = 8;
/// From this length it is, even without a digit: a shorter one of letters may be a word.
const MIN_REPEATED_LETTERS: usize = 12;
/// What a placeholder is to the rules: one sign that is no part of anything.
const OPAQUE: char = '\u{1}';
/// How much text around a joint is looked at again with the joint closed.
const BEFORE_JOINT: usize = 256;
const AFTER_JOINT: usize = 1024;

static OWN: LazyLock<Engine> =
    LazyLock::new(|| Engine::new(&[]).expect("our own rules are read by a test of this build"));
static IN_FORCE: OnceLock<Engine> = OnceLock::new();

/// Puts rules in force for the rest of this process, once; false when others are in force already.
///
/// They belong to the process and not to a caller, because a caller could forget to hand them on.
pub fn put_in_force(engine: Engine) -> bool {
    IN_FORCE.set(engine).is_ok()
}

/// The rules in force: those put there, else our own.
pub fn in_force() -> &'static Engine {
    IN_FORCE.get().unwrap_or_else(|| &OWN)
}

/// Takes secrets out of a text, each replaced by a placeholder that names its kind.
///
/// The same secret gets the same placeholder, a second one of a kind gets a number
/// (`[redacted:password-2]`). Idempotent: redacting the result changes nothing.
pub fn redact(text: &str) -> Redaction {
    redact_with(text, &mut Placeholders::new([0; 32]))
}

/// The same, with the numbers of a session: what it has named keeps its name, what is new is noted in them.
pub fn redact_with(text: &str, numbers: &mut Placeholders) -> Redaction {
    in_force().redact(text, numbers)
}

impl Engine {
    /// Takes secrets out of a text by these rules; see [`redact_with`].
    pub fn redact(&self, text: &str, numbers: &mut Placeholders) -> Redaction {
        let is_kind = |name: &str| self.kinds().iter().any(|kind| kind == name);
        for (_, kind, number) in placeholder::all(text, &is_kind) {
            numbers.saw(kind, number);
        }
        let mut found: Vec<Span> = Vec::new();
        let mut clean = text.to_owned();
        let mut places: Vec<Place> = Vec::new();
        let mut named = numbers.clone();
        for _ in 0..MAX_ROUNDS {
            let new = self.spans(&clean, &is_kind);
            if new.is_empty() {
                break;
            }
            found.extend(new.into_iter().map(|span| original(span, &places)));
            found = merged(found);
            // Spans grow from round to round: only the last one's numbers are given.
            named = numbers.clone();
            (clean, places) = placeholder::rebuilt(text, &found, self.kinds(), &mut named);
        }
        *numbers = named;
        let kind = |span: &Span| self.kinds().get(span.kind).cloned().unwrap_or_default();
        let found = found.iter().map(|span| Finding { kind: kind(span), start: span.start, end: span.end }).collect();
        Redaction { clean: Clean(clean), found }
    }

    /// All secrets that stand in a text, sorted, apart, and free of placeholders.
    fn spans(&self, text: &str, is_kind: &dyn Fn(&str) -> bool) -> Vec<Span> {
        let stay: Vec<(usize, usize)> = placeholder::all(text, is_kind).into_iter().map(|(place, ..)| place).collect();
        let hidden: Vec<Edit> =
            stay.iter().map(|(start, end)| Edit { start: *start, end: *end, with: Some(OPAQUE) }).collect();
        let opaque = View::of(text, &hidden);
        let unmasked = View::of(&opaque.text, &fold::unmasked(&opaque.text));
        let mut spans = self.look(&unmasked.text);
        self.look_at_joints(&unmasked.text, &mut spans);
        for span in &mut spans {
            let (start, end) = unmasked.original(span.start, span.end);
            (span.start, span.end) = opaque.original(start, end);
        }
        let all = without(text, merged(spans), &stay);
        let again = repeated(text, &all);
        if again.is_empty() { all } else { without(text, merged(all.into_iter().chain(again).collect()), &stay) }
    }

    /// Looks again where escapes are read and cut tokens joined; counts what goes over a joint.
    fn look_at_joints(&self, text: &str, spans: &mut Vec<Span>) {
        let edits = fold::joined(text);
        let mut at = 0;
        while let Some(first) = edits.get(at) {
            let from = boundary_before(text, first.start.saturating_sub(BEFORE_JOINT));
            let mut count = 1;
            while let (Some(last), Some(next)) = (edits.get(at + count - 1), edits.get(at + count)) {
                if next.start > last.end + AFTER_JOINT {
                    break;
                }
                count += 1;
            }
            let group = &edits[at..at + count];
            let last = group.last().map_or(first.end, |edit| edit.end);
            let to = boundary_before(text, last.saturating_add(AFTER_JOINT).min(text.len()));
            let moved: Vec<Edit> =
                group.iter().map(|e| Edit { start: e.start - from, end: e.end - from, ..*e }).collect();
            let view = View::of(text.get(from..to).unwrap_or_default(), &moved);
            for span in self.look(&view.text) {
                let (start, end) = view.original(span.start, span.end);
                if end - start != span.end - span.start {
                    spans.push(Span { start: start + from, end: end + from, ..span });
                }
            }
            at += count;
        }
    }
}

/// Moves a span of the redacted text, which holds no placeholder, to its place in the original.
fn original(span: Span, places: &[Place]) -> Span {
    let after = places.partition_point(|place| place.clean_end <= span.start);
    let before = after.checked_sub(1).and_then(|last| places.get(last));
    let (from, to) = before.map_or((0, 0), |place| (place.clean_end, place.original_end));
    Span { start: span.start - from + to, end: span.end - from + to, ..span }
}

fn is_worth_repeating(secret: &str) -> bool {
    let digits = secret.bytes().any(|b| b.is_ascii_digit()) && secret.bytes().any(|b| b.is_ascii_alphabetic());
    secret.len() >= MIN_REPEATED_LETTERS || (secret.len() >= MIN_REPEATED && digits)
}

/// Other places where a secret stands without anything that names it.
fn repeated(text: &str, found: &[Span]) -> Vec<Span> {
    let mut secrets: Vec<&str> = Vec::new();
    let mut kinds: Vec<usize> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for span in found {
        let Some(secret) = text.get(span.start..span.end) else { continue };
        if is_worth_repeating(secret)
            && secret.len() <= MAX_REPEATED_LENGTH
            && secrets.len() < MAX_REPEATED
            && seen.insert(secret)
        {
            secrets.push(secret);
            kinds.push(span.kind);
        }
    }
    if secrets.is_empty() {
        return Vec::new();
    }
    let Ok(search) = AhoCorasickBuilder::new()
        .match_kind(MatchKind::LeftmostLongest)
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .build(&secrets)
    else {
        return Vec::new();
    };
    // Spans are sorted and apart, so the last one that starts at or before a place is the only candidate.
    let known = |start: usize, end: usize| {
        let at_or_before = found.partition_point(|f| f.start <= start);
        at_or_before.checked_sub(1).and_then(|last| found.get(last)).is_some_and(|f| end <= f.end)
    };
    let places = search.find_iter(text).filter(|hit| !known(hit.start(), hit.end()));
    places.map(|hit| Span { start: hit.start(), end: hit.end(), kind: kinds[hit.pattern().as_usize()] }).collect()
}

#[cfg(test)]
mod tests;
