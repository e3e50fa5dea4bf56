//! Sentences as words: where each stands, what is around it, and whether it may be a password.

use crate::govern::sanitize::text::work;
use crate::govern::sanitize::token::shape::TokenShape;
use crate::govern::sanitize::token::table::{ClueSet, ContextClue, TokenContext};
use crate::govern::sanitize::vocabulary::vocabulary;
use crate::govern::word_list::WordList;

/// How much of a sentence is read on either side of a word.
const REACH: usize = 160;
/// Longest word outside ASCII that is compared with others, in bytes.
const MAX_WORD: usize = 16;

/// A word of a sentence: where it is, without the signs around it.
#[derive(Clone, Copy)]
pub struct SentenceWord<'a> {
    pub start: usize,
    pub text: &'a str,
    /// Whether a pair of quotes or backticks was around it.
    pub quoted: bool,
    /// What ends it: a colon makes it a verb.
    pub colon: bool,
    /// Whether a bracket opens right behind it: the name of a function.
    calls: bool,
    is_ascii: bool,
}

const MARKS: &[char] = &[
    '"', '\'', '`', '*', '“', '”', '‘', '’', '«', '»', '„', '(', ')', '_', '¿', '¡',
];
pub const QUOTES: &[char] = &['"', '\'', '`', '“', '”', '‘', '’', '«', '»', '„'];

/// The rest of the line after a place, as far as it is read.
pub fn reach_after(text: &str, from: usize) -> &str {
    let mut to = text.len().min(from + REACH);
    while !text.is_char_boundary(to) {
        to -= 1;
    }
    let rest = text.get(from..to).unwrap_or_default();
    let line = rest.split('\n').next().unwrap_or_default();
    work::count(line.len());
    line
}

/// The line before a place, as far as it is read, and where that begins.
pub fn reach_before(text: &str, to: usize) -> (usize, &str) {
    let mut from = to.saturating_sub(REACH);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let from = text
        .get(from..to)
        .and_then(|part| part.rfind('\n'))
        .map_or(from, |at| from + at + 1);
    work::count(to - from);
    (from, text.get(from..to).unwrap_or_default())
}

/// The words of a piece of text that begins at `base`; what stands between quotes is one word.
pub fn words(piece: &str, base: usize) -> impl Iterator<Item = SentenceWord<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = piece.get(at..)?;
        let word = rest.trim_start();
        let skipped = rest.len() - word.len();
        let first = word.chars().next()?;
        let start = at + skipped;
        let spaced = QUOTES
            .contains(&first)
            .then(|| word[first.len_utf8()..].find(|c| QUOTES.contains(&c)))
            .flatten();
        let length = match spaced {
            Some(length) if length > 0 => {
                let tail = &word[first.len_utf8() + length..];
                first.len_utf8() + length + end_of_word(tail)
            }
            _ => end_of_word(word),
        };
        at = start + length;
        Some(sentence_word(piece.get(start..at)?, base + start))
    })
}

/// Where the first blank of a text is.
fn end_of_word(text: &str) -> usize {
    let mut at = 0;
    while let Some(next) = text.as_bytes()[at..]
        .iter()
        .position(|b| !b.is_ascii_graphic())
    {
        at += next;
        match text.get(at..).and_then(|rest| rest.chars().next()) {
            Some(c) if !c.is_whitespace() => at += c.len_utf8(),
            _ => return at,
        }
    }
    text.len()
}

/// The last words of a piece of text that begins at `base`, at least `count` of them if there are
/// as many.
pub fn last_words(piece: &str, base: usize, count: usize) -> Vec<SentenceWord<'_>> {
    // Without quotes a word is what stands between blanks, wherever the reading begins.
    let quoted = piece
        .bytes()
        .any(|b| matches!(b, b'"' | b'\'' | b'`') || !b.is_ascii());
    let mut from = 0;
    if !quoted {
        let (mut blank, mut words) = (true, 0);
        for (at, b) in piece.bytes().enumerate().rev() {
            let begins = !blank && b.is_ascii_whitespace();
            words += usize::from(begins);
            if begins && words == count {
                from = at;
                break;
            }
            blank = b.is_ascii_whitespace();
        }
    }
    words(piece.get(from..).unwrap_or_default(), base + from).collect()
}

fn sentence_word(raw: &str, start: usize) -> SentenceWord<'_> {
    if raw.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return SentenceWord {
            start,
            text: raw,
            quoted: false,
            colon: false,
            calls: false,
            is_ascii: true,
        };
    }
    let opened = raw.trim_start_matches(MARKS);
    let kept = opened
        .trim_end_matches([',', ';', '.', ':', '?'])
        .trim_end_matches(MARKS)
        .trim_end_matches(['.', ',', ';']);
    let quoted = raw.starts_with(QUOTES)
        && raw
            .trim_end_matches([',', ';', '.', ':', '?', '!', ')'])
            .ends_with(QUOTES);
    let calls = !quoted
        && opened
            .get(kept.len()..)
            .is_some_and(|rest| rest.starts_with('('));
    SentenceWord {
        start: start + raw.len() - opened.len(),
        text: kept,
        quoted,
        colon: raw.ends_with(':'),
        calls,
        is_ascii: kept.is_ascii(),
    }
}

impl SentenceWord<'_> {
    /// First byte of the word in the text, and the byte after its last.
    pub fn place(&self) -> (usize, usize) {
        (self.start, self.start + self.text.len())
    }

    /// What can be told of it without its sentence.
    pub fn shape(&self) -> TokenShape<'_> {
        TokenShape::of(self.text)
    }

    /// Whether it is one of those, in capitals or small letters.
    pub fn is(&self, words: &WordList) -> bool {
        if self.is_ascii {
            return words.has(self.text);
        }
        self.text.len() <= MAX_WORD && words.has(&self.text.to_lowercase())
    }

    /// Whether it may be a password: quoted, or nothing that a sentence would say.
    ///
    /// `certain` is asked last, when all depends on it: whether any word would be one here.
    pub fn may_be_password(&self, certain: impl FnOnce() -> bool) -> bool {
        let shape = self.shape();
        let clues = ClueSet::of(&[
            (ContextClue::Quoted, self.quoted),
            (ContextClue::Unquoted, !self.quoted),
        ]);
        let said = |clues| shape.is_secret_by(TokenContext::SaidPassword, clues);
        !self.calls && (said(clues) || (said(clues.with(ContextClue::Certain)) && certain()))
    }
}

/// Whether a word for a password is an English one: what is said of passwords elsewhere is known
/// less well.
pub fn is_english(text: &str, start: usize, end: usize) -> bool {
    let word = text.get(start..end).unwrap_or_default();
    !vocabulary().sentences.foreign_stems.starts(word)
}

/// Whether there is a capital inside of a word and a small letter, as in no word of a sentence.
pub fn has_hump(word: &str) -> bool {
    let mut rest = word.chars();
    rest.next();
    rest.clone().any(char::is_uppercase) && word.chars().any(char::is_lowercase)
}

/// Whether a word is the end of "boarding pass".
pub fn is_ticket(text: &str, start: usize, end: usize) -> bool {
    let before = text
        .get(start.saturating_sub(10)..start)
        .unwrap_or_default()
        .trim_end();
    text.get(start..end)
        .is_some_and(|word| word.eq_ignore_ascii_case("pass"))
        && before
            .rsplit(|c: char| !c.is_alphabetic())
            .next()
            .is_some_and(|last| vocabulary().sentences.tickets.has(last))
}
