//! Looking at a text until nothing is found, each time without what was found before.

use std::collections::BTreeSet;

use aho_corasick::{AhoCorasickBuilder, AhoCorasickKind, MatchKind};

use super::span::{SecretSpan, merged, without};
use super::view::{Edit, TextView};
use super::work;
use super::{markup, normalize};
use crate::govern::sanitize::placeholder;
use crate::govern::sanitize::placeholder::Placeholders;
use crate::govern::sanitize::rules::engine::Engine;
use crate::govern::sanitize::rules::window::{boundary, boundary_before};
use crate::govern::sanitize::{Clean, Redaction, SecretFinding};

/// How often a text is looked at: a removal may uncover a shape, each pass removes at least one.
const MAX_PASSES: usize = 16;
/// Bytes that may be looked at beyond that, so that a short text is looked at until nothing is
/// found.
const SPARE: usize = 128 * 1024;
/// Most distinct secrets that are looked for again elsewhere in the text.
const MAX_REPEATED: usize = 1024;
/// Longest of them.
const MAX_REPEATED_LENGTH: usize = 256;
/// Shortest secret that is looked for again.
const MIN_REPEATED: usize = 8;
/// From this length it is, even without a digit: a shorter one of letters may be a word.
const MIN_REPEATED_LETTERS: usize = 12;
/// What a placeholder is to the rules: one sign that is no part of anything.
pub const OPAQUE: char = '\u{1}';
/// How much text around a joint is looked at again with the joint closed.
const BEFORE_JOINT: usize = 256;
const AFTER_JOINT: usize = 1024;
/// How far from what was taken out the text is looked at again: no rule of our own reaches further.
const AGAIN: usize = 4096;
/// How near to the edge of a piece nothing is believed: its surroundings are cut off.
const EDGE: usize = 1024;

/// One text while its secrets are looked for; all places are bytes of the text as given.
struct RedactionPasses<'a> {
    engine: &'a Engine,
    text: &'a str,
    /// Placeholders that stand in it.
    stay: Vec<(usize, usize)>,
    found: Vec<SecretSpan>,
    /// Public blocks, where no line is looked at by itself.
    public: Vec<(usize, usize)>,
    /// What was found and stays, because the home says so.
    allowed: Vec<SecretSpan>,
}

impl Engine {
    /// Takes secrets out of a text by these rules; see [`crate::govern::sanitize::redact_with`].
    pub fn redact(&self, text: &str, placeholders: &mut Placeholders) -> Redaction {
        let mut stay = Vec::new();
        for (place, kind, number) in placeholder::all(text, &|name| self.is_kind(name)) {
            placeholders.saw(kind, number);
            stay.push(place);
        }
        let mut passes = RedactionPasses {
            engine: self,
            text,
            stay,
            found: Vec::new(),
            public: Vec::new(),
            allowed: Vec::new(),
        };
        passes.run();
        let clean = placeholder::rebuilt(text, &passes.found, self.kinds(), placeholders);
        let kind = |span: &SecretSpan| self.kinds().get(span.kind).cloned().unwrap_or_default();
        let told = |spans: &[SecretSpan]| {
            spans
                .iter()
                .map(|span| SecretFinding {
                    kind: kind(span),
                    start: span.start,
                    end: span.end,
                })
                .collect()
        };
        let mut allowed = std::mem::take(&mut passes.allowed);
        allowed.sort_unstable_by_key(|span| (span.start, span.end, span.kind));
        allowed.dedup_by_key(|span| (span.start, span.end));
        allowed.retain(|span| {
            !passes
                .found
                .iter()
                .any(|f| f.start < span.end && span.start < f.end)
        });
        Redaction {
            clean: Clean(clean),
            found: told(&passes.found),
            allowed: told(&allowed),
        }
    }
}

impl RedactionPasses<'_> {
    fn run(&mut self) {
        let mut pieces = vec![(0, self.text.len())];
        let mut budget = MAX_PASSES * self.text.len() + SPARE;
        loop {
            let new = self.pass(&pieces);
            if new.is_empty() {
                break;
            }
            let cost = pieces.iter().map(|(from, to)| to - from).sum::<usize>();
            // Made to go on for ever: then whole lines go, and nothing is left to uncover.
            let ends = cost > budget;
            let new = if ends { self.lines_of(new) } else { new };
            let places: Vec<(usize, usize)> =
                new.iter().map(|span| (span.start, span.end)).collect();
            self.found = merged(
                std::mem::take(&mut self.found)
                    .into_iter()
                    .chain(new)
                    .collect(),
            );
            if ends {
                break;
            }
            budget -= cost;
            pieces = self.around(&places);
        }
    }

    /// The lines that secrets stand in, without the placeholders in them.
    fn lines_of(&self, spans: Vec<SecretSpan>) -> Vec<SecretSpan> {
        let widened = spans.into_iter().map(|span| {
            let start = self
                .text
                .get(..span.start)
                .and_then(|before| before.rfind('\n'))
                .map_or(0, |at| at + 1);
            let rest = self.text.get(span.end..).and_then(|after| after.find('\n'));
            SecretSpan {
                start,
                end: rest.map_or(self.text.len(), |at| span.end + at),
                ..span
            }
        });
        without(self.text, merged(widened.collect()), &self.hidden())
    }

    /// What is no longer looked at: placeholders and what was found, sorted.
    fn hidden(&self) -> Vec<(usize, usize)> {
        let mut hidden: Vec<(usize, usize)> = self
            .found
            .iter()
            .map(|span| (span.start, span.end))
            .collect();
        if !self.stay.is_empty() {
            hidden.extend(&self.stay);
            hidden.sort_unstable();
        }
        hidden
    }

    /// All secrets in pieces of the text, sorted, apart, and free of what is hidden.
    fn pass(&mut self, pieces: &[(usize, usize)]) -> Vec<SecretSpan> {
        let hidden = self.hidden();
        let mut spans = Vec::new();
        for piece in pieces {
            self.look_at_piece(*piece, &hidden, &mut spans);
        }
        let all = without(self.text, merged(spans), &hidden);
        let again = repeated(self.text, &all, &hidden);
        if again.is_empty() {
            return all;
        }
        without(
            self.text,
            merged(all.into_iter().chain(again).collect()),
            &hidden,
        )
    }

    fn look_at_piece(
        &mut self,
        (from, to): (usize, usize),
        hidden: &[(usize, usize)],
        spans: &mut Vec<SecretSpan>,
    ) {
        work::count(to - from);
        let whole = from == 0 && to == self.text.len();
        let first = hidden.partition_point(|(_, end)| *end <= from);
        let inside = hidden[first..].iter().take_while(|(start, _)| *start < to);
        let edits: Vec<Edit> = inside
            .map(|(start, end)| Edit {
                start: start - from,
                end: end - from,
                with: Some(OPAQUE),
            })
            .collect();
        let opaque = TextView::of(self.text.get(from..to).unwrap_or_default(), &edits);
        let unmasked = TextView::of(&opaque.text, &normalize::unmasked(&opaque.text));
        let back = |start: usize, end: usize| {
            let (start, end) = unmasked.original(start, end);
            let (start, end) = opaque.original(start, end);
            (start + from, end + from)
        };
        let mut seen = self.engine.look(&unmasked.text);
        let plain = seen.spans.len();
        look_at_joints(
            self.engine,
            &unmasked.text,
            &normalize::joined(&unmasked.text),
            &mut seen.spans,
            &|_| true,
        );
        // Marks end what stands before them, too: only what has a shape of its own is believed
        // across, and only where nothing whole stands before the mark.
        let starts: BTreeSet<usize> = seen
            .spans
            .iter()
            .take(plain)
            .map(|span| span.start)
            .collect();
        let shaped =
            |span: &SecretSpan| self.engine.is_shape(span.kind) && !starts.contains(&span.start);
        look_at_joints(
            self.engine,
            &unmasked.text,
            &markup::marked(&unmasked.text),
            &mut seen.spans,
            &shaped,
        );
        if whole {
            self.public = seen
                .public
                .iter()
                .map(|(start, end)| back(*start, *end))
                .collect();
        }
        let (least, most) = (
            if from == 0 { 0 } else { from + EDGE },
            if to == self.text.len() { to } else { to - EDGE },
        );
        for mut span in seen.spans {
            (span.start, span.end) = back(span.start, span.end);
            let public =
                !whole && self.engine.is_bare(span.kind) && is_inside(&self.public, span.start);
            if span.start >= least && span.end <= most && !public {
                let stays = !self.engine.exempt.is_empty()
                    && self
                        .text
                        .get(span.start..span.end)
                        .is_some_and(|found| self.engine.exempt.holds(found));
                if stays {
                    self.allowed.push(span)
                } else {
                    spans.push(span)
                }
            }
        }
    }

    /// The pieces in which something may have changed by taking out what stands at `places`, sorted
    /// and apart.
    fn around(&self, places: &[(usize, usize)]) -> Vec<(usize, usize)> {
        if self.engine.reaches_far() {
            return vec![(0, self.text.len())];
        }
        let hidden = self.hidden();
        let mut pieces: Vec<(usize, usize)> = Vec::new();
        for near in places.chunk_by(|one, next| next.0 <= one.1 + 2 * AGAIN) {
            let (Some((start, _)), Some((_, end))) = (near.first(), near.last()) else {
                continue;
            };
            let from = self.start_of_piece(start.saturating_sub(AGAIN), &hidden);
            let to = self.end_of_piece((end + AGAIN).min(self.text.len()), &hidden);
            match pieces.last_mut() {
                Some(last) if from <= last.1 => last.1 = to.max(last.1),
                _ => pieces.push((from, to)),
            }
        }
        pieces
    }

    /// A good place to begin at, at or before `at`: a line, else a word; never inside of what is
    /// hidden.
    fn start_of_piece(&self, at: usize, hidden: &[(usize, usize)]) -> usize {
        let bytes = &self.text.as_bytes()[at.saturating_sub(EDGE)..at];
        let back = bytes.iter().rev();
        let line = back
            .clone()
            .position(|b| *b == b'\n')
            .or_else(|| back.clone().position(u8::is_ascii_whitespace));
        let at = boundary_before(self.text, at - line.unwrap_or(0));
        let inside = hidden
            .get(hidden.partition_point(|(_, end)| *end <= at))
            .filter(|(start, _)| *start < at);
        inside.map_or(at, |(start, _)| *start)
    }

    /// The same for where a piece ends, at or after `at`.
    fn end_of_piece(&self, at: usize, hidden: &[(usize, usize)]) -> usize {
        let bytes = &self.text.as_bytes()[at..self.text.len().min(at + EDGE)];
        let line = bytes
            .iter()
            .position(|b| *b == b'\n')
            .or_else(|| bytes.iter().position(u8::is_ascii_whitespace));
        let at = boundary(self.text, at + line.unwrap_or(0));
        let inside = hidden
            .get(hidden.partition_point(|(_, end)| *end <= at))
            .filter(|(start, _)| *start < at);
        inside.map_or(at, |(_, end)| *end)
    }
}

/// Whether a place lies in one of those, which are sorted.
fn is_inside(places: &[(usize, usize)], at: usize) -> bool {
    let after = places.partition_point(|(from, _)| *from <= at);
    after.checked_sub(1).is_some_and(|last| at < places[last].1)
}

/// Looks again where escapes are read and cut tokens joined; counts what goes over a joint, where
/// it is to be believed.
fn look_at_joints(
    engine: &Engine,
    text: &str,
    edits: &[Edit],
    spans: &mut Vec<SecretSpan>,
    believed: &dyn Fn(&SecretSpan) -> bool,
) {
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
        let moved: Vec<Edit> = group
            .iter()
            .map(|e| Edit {
                start: e.start - from,
                end: e.end - from,
                ..*e
            })
            .collect();
        let view = TextView::of(text.get(from..to).unwrap_or_default(), &moved);
        for span in engine.look(&view.text).spans {
            let (start, end) = view.original(span.start, span.end);
            let over = end - start != span.end - span.start;
            let span = SecretSpan {
                start: start + from,
                end: end + from,
                ..span
            };
            if over && believed(&span) {
                spans.push(span);
            }
        }
        at += count;
    }
}

fn is_worth_repeating(secret: &str) -> bool {
    let digits = secret.bytes().any(|b| b.is_ascii_digit())
        && secret.bytes().any(|b| b.is_ascii_alphabetic());
    secret.len() >= MIN_REPEATED_LETTERS || (secret.len() >= MIN_REPEATED && digits)
}

/// Other places where a secret stands without anything that names it.
fn repeated(text: &str, found: &[SecretSpan], hidden: &[(usize, usize)]) -> Vec<SecretSpan> {
    let mut secrets: Vec<&str> = Vec::new();
    let mut kinds: Vec<usize> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for span in found {
        let Some(secret) = text.get(span.start..span.end) else {
            continue;
        };
        if secrets.len() < MAX_REPEATED
            && secret.len() <= MAX_REPEATED_LENGTH
            && is_worth_repeating(secret)
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
    work::count(text.len());
    // Both lists are sorted and apart, so the last one that starts before a hit's end is the only
    // candidate.
    let known = |start: usize, end: usize| {
        let before = found.partition_point(|f| f.start < end);
        let is_found = before
            .checked_sub(1)
            .and_then(|last| found.get(last))
            .is_some_and(|f| f.start <= start && end <= f.end);
        let before = hidden.partition_point(|(from, _)| *from < end);
        is_found
            || before
                .checked_sub(1)
                .and_then(|last| hidden.get(last))
                .is_some_and(|(_, to)| start < *to)
    };
    let places = search
        .find_iter(text)
        .filter(|hit| !known(hit.start(), hit.end()));
    places
        .map(|hit| SecretSpan {
            start: hit.start(),
            end: hit.end(),
            kind: kinds[hit.pattern().as_usize()],
        })
        .collect()
}
