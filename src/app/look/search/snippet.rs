//! The part of a text that shows why it was found.

use std::iter;
use std::ops::Range;

use crate::record::attached::{file_texts, without_files};
use crate::record::unseen::spelled_on_a_line;
use crate::store::TextSpan;

/// Characters of a snippet: two lines of a terminal.
const LENGTH: usize = 150;
/// So many characters stand before the first place that is marked.
const BEFORE: usize = 40;

/// A piece of a text on one line, in parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snippet {
    /// One after the other they are the piece; what moves a cursor is spelled out in them.
    pub parts: Vec<SnippetPart>,
}

/// A part of a snippet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnippetPart {
    /// What it says.
    pub text: String,
    /// It is what was looked for.
    pub is_marked: bool,
}

impl Snippet {
    /// The piece of a text with the most places in it; its beginning where there are none.
    pub fn of(text: &str, spans: &[TextSpan]) -> Snippet {
        let piece = piece(text, spans);
        let mut parts = Vec::new();
        let mut add = |text: &str, is_marked: bool| {
            if !text.is_empty() {
                parts.push((text.to_owned(), is_marked));
            }
        };
        add(if piece.start > 0 { "…" } else { "" }, false);
        let mut at = piece.start;
        for span in spans {
            let (start, end) = (span.start.max(at), span.end.min(piece.end));
            if start < end {
                add(text.get(at..start).unwrap_or_default(), false);
                add(text.get(start..end).unwrap_or_default(), true);
                at = end;
            }
        }
        add(text.get(at..piece.end).unwrap_or_default(), false);
        add(if piece.end < text.len() { "…" } else { "" }, false);
        Snippet {
            parts: on_a_line(&parts),
        }
    }

    /// The same of a question with files behind it: of what somebody typed where that has a place, else
    /// of the first file that has one; never of the lines above files.
    pub fn of_question(text: &str, spans: &[TextSpan]) -> Snippet {
        let typed = without_files(text);
        if typed.len() == text.len() {
            return Snippet::of(text, spans);
        }
        let within = |place: &Range<usize>| -> Vec<TextSpan> {
            let inside = spans
                .iter()
                .filter(|span| place.start <= span.start && span.end <= place.end);
            inside
                .map(|span| span.start - place.start..span.end - place.start)
                .collect()
        };
        let places = iter::once(0..typed.len()).chain(file_texts(text));
        let found = places
            .map(|place| (within(&place), place))
            .find(|(spans, _)| !spans.is_empty());
        match found {
            Some((spans, place)) => Snippet::of(text.get(place).unwrap_or_default(), &spans),
            // A file's name has it.
            None if typed.is_empty() => Snippet::of(text, spans),
            None => Snippet::of(typed, &[]),
        }
    }

    /// All of it.
    pub fn text(&self) -> String {
        self.parts.iter().map(|part| part.text.as_str()).collect()
    }
}

/// White space is one blank, and none at the ends; the rest is spelled out.
fn on_a_line(parts: &[(String, bool)]) -> Vec<SnippetPart> {
    let mut after_blank = true;
    let mut line: Vec<SnippetPart> = Vec::new();
    for (text, is_marked) in parts {
        let mut blanked = String::with_capacity(text.len());
        for c in text.chars() {
            let is_blank = c.is_whitespace();
            if !is_blank {
                blanked.push(c);
            } else if !after_blank {
                blanked.push(' ');
            }
            after_blank = is_blank;
        }
        // The sign for what is left out is no word's end.
        after_blank = after_blank || text == "…";
        line.push(SnippetPart {
            text: spelled_on_a_line(&blanked),
            is_marked: *is_marked,
        });
    }
    if let Some(last) = line.last_mut() {
        last.text.truncate(last.text.trim_end().len());
    }
    line.retain(|part| !part.text.is_empty());
    line
}

/// Where the piece lies.
fn piece(text: &str, spans: &[TextSpan]) -> TextSpan {
    let within = |from: usize| {
        let end = forward(text, from, LENGTH - BEFORE);
        let spans = spans
            .iter()
            .filter(|span| span.start >= from && span.end <= end);
        spans.count()
    };
    let best = (0..spans.len())
        .rev()
        .max_by_key(|at| within(spans[*at].start));
    let first = best.map_or(0, |at| spans[at].start);
    let mut start = back(text, first, BEFORE);
    if start > 0 {
        // Not in the middle of a word.
        let before = text.get(start..first).unwrap_or_default();
        let blank = before.find(char::is_whitespace);
        start = blank.map_or(start, |blank| start + blank);
    }
    let mut end = forward(text, start, LENGTH);
    if end < text.len() {
        let after = text.get(first..end).unwrap_or_default();
        let marked = spans
            .iter()
            .map(|span| span.end)
            .filter(|to| *to <= end)
            .max();
        let blank = after.rfind(char::is_whitespace).map(|blank| first + blank);
        end = blank
            .filter(|blank| *blank >= marked.unwrap_or(start))
            .unwrap_or(end);
    }
    start..end
}

/// The place so many characters before another.
fn back(text: &str, at: usize, characters: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    let places = before.char_indices().rev().take(characters);
    places.last().map_or(at, |(place, _)| place)
}

/// The place so many characters behind another.
fn forward(text: &str, at: usize, characters: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    rest.char_indices()
        .nth(characters)
        .map_or(text.len(), |(place, _)| at + place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, words: &[&str]) -> String {
        let mut spans: Vec<TextSpan> = words
            .iter()
            .flat_map(|word| {
                text.match_indices(word)
                    .map(|(at, word)| at..at + word.len())
            })
            .collect();
        spans.sort_by_key(|span| span.start);
        let part = |part: &SnippetPart| match part.is_marked {
            true => format!("[{}]", part.text),
            false => part.text.clone(),
        };
        Snippet::of(text, &spans).parts.iter().map(part).collect()
    }

    #[test]
    fn a_snippet_is_one_line_around_what_was_found() {
        for (text, words, expected) in [
            ("The port is 80.", &["port"][..], "The [port] is 80."),
            ("The port is 80.", &[], "The port is 80."),
            ("", &[], ""),
            (" one\n\n two\tthree ", &["two"], "one [two] three"),
            ("a\u{1b}[2Jb c", &["b"], "a\\u001b[2J[b] c"),
            ("\u{202e}port", &["port"], "\\u202e[port]"),
        ] {
            assert_eq!(shown(text, words), expected);
        }
        let long = format!(
            "{} port {} server port {}",
            "word ".repeat(60),
            "more ".repeat(60),
            "end ".repeat(60)
        );
        let piece = shown(&long, &["port", "server"]);
        assert!(
            piece.starts_with("…more more") && piece.contains("[server] [port] end"),
            "{piece}"
        );
        assert!(
            piece.ends_with("end…") && piece.chars().count() <= LENGTH + 6,
            "{piece}"
        );
        let beginning = shown(&long, &[]);
        assert!(
            beginning.starts_with("word word") && beginning.ends_with("word…"),
            "{beginning}"
        );
    }

    proptest::proptest! {
        #[test]
        fn whatever_the_text_and_the_places_nothing_breaks(text in "\\PC{0,300}", at in 0usize..300, length in 0usize..40) {
            let start = text.floor_char_boundary(at);
            let end = text.floor_char_boundary(start + length);
            let spans: Vec<_> = (start < end).then_some(start..end).into_iter().collect();
            let snippet = Snippet::of(&text, &spans);
            proptest::prop_assert!(!snippet.text().contains('\n'));
            let is_blank = text.get(start..end).unwrap_or_default().trim().is_empty();
            let marked = snippet.parts.iter().any(|part| part.is_marked);
            proptest::prop_assert!(spans.is_empty() || is_blank || marked);
        }
    }
}
