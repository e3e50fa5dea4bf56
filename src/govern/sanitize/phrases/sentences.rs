//! Passwords in sentences of several languages: read by what stands around a word, not by one order
//! of words.

use std::ops::Range;

use super::lexicon::{
    AS, BOTH, CHANGE, DONE, JUDGE, KEY, PHRASE, STRONG, USER, WEAK, WordSenses, says,
};
use super::words::{reach_after, reach_before};
use crate::govern::sanitize::cue_words::{is_common, names_password};
use crate::govern::sanitize::text::passes::OPAQUE;
use crate::govern::sanitize::text::work;
use crate::govern::sanitize::token::kind::SENTENCE_SIGNS;
use crate::govern::sanitize::token::shape::TokenShape;
use crate::govern::sanitize::token::table::{ClueSet, ContextClue, TokenContext};
use crate::govern::sanitize::vocabulary::vocabulary;

/// How much of a line behind a word must have been read before for it not to be read again.
const AHEAD: usize = 40;
/// Most words between the word for a password and the password.
const FAR: usize = 9;
const OPENERS: &[char] = &[
    '"', '\'', '`', '“', '”', '‘', '’', '«', '»', '„', '(', '[', '¿', '¡',
];
const CLOSERS: &[char] = &[
    '"', '\'', '`', '“', '”', '‘', '’', '«', '»', '„', ')', ']', ',', ';', ':', '.', '?', '…',
];

/// Why a sentence is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentenceTopic {
    /// A word for a password is in it.
    Password,
    /// It speaks of a wireless network: the password may be called a key.
    Network,
    /// Somebody logs in.
    Login,
}

/// A word of a sentence.
#[derive(Clone, Copy)]
struct Token<'a> {
    /// With the signs around it.
    raw: &'a str,
    /// Where the word itself begins.
    start: usize,
    text: &'a str,
    says: WordSenses,
    password: bool,
}

/// How far one text was read, so that many words near each other don't have the same line read many
/// times.
#[derive(Default)]
pub struct SentenceScan {
    seen: usize,
}

impl SentenceScan {
    /// The passwords in the sentence around the word `start..end`, unless something was taken out
    /// of its line.
    pub fn around(
        &mut self,
        text: &str,
        start: usize,
        end: usize,
        topic: SentenceTopic,
    ) -> Vec<(usize, usize)> {
        if end + AHEAD <= self.seen {
            return Vec::new();
        }
        let ((from, before), after) = (reach_before(text, start), reach_after(text, end));
        let to = end + after.len();
        let telling =
            |part: &str| part.contains(|c: char| c.is_ascii_digit() || SENTENCE_SIGNS.contains(&c));
        let phrase = text
            .get(start..end)
            .is_some_and(|word| word.contains("ras") || word.contains("raz"));
        self.seen = to;
        if before.contains(OPAQUE)
            || after.contains(OPAQUE)
            || !(telling(before) || telling(after) || phrase)
        {
            return Vec::new();
        }
        // Where a password is named, that word is read; without "USER and …" nobody says here what
        // to log in with.
        let joins = &vocabulary().sentences.joins;
        let line = text.get(from..to).unwrap_or_default();
        if topic == SentenceTopic::Login
            && (line.contains("passw") || !joins.iter().any(|both| line.contains(both)))
        {
            return Vec::new();
        }
        work::count(to - from);
        let tokens = tokens(text, from, to);
        let mut found = Vec::new();
        for sentence in tokens.split_inclusive(|token| ends_sentence(text, token)) {
            if sentence
                .iter()
                .any(|token| token.start < end && start < token.start + token.text.len().max(1))
            {
                Sentence::of(sentence, topic).read(&mut found);
            }
        }
        found
    }
}

/// The words of a piece of a line; one that the reach cuts in two is none.
fn tokens(text: &str, from: usize, to: usize) -> Vec<Token<'_>> {
    let mut all = Vec::new();
    let mut at = from;
    let is_cut = |at: usize| at > 0 && !text.as_bytes()[at - 1].is_ascii_whitespace();
    for raw in text
        .get(from..to)
        .unwrap_or_default()
        .split([' ', '\t', '\r', '\u{a0}'])
    {
        let start = at;
        at += raw.len();
        at += text
            .get(at..to)
            .and_then(|rest| rest.chars().next())
            .map_or(0, char::len_utf8);
        let opened = raw.trim_start_matches(OPENERS);
        let word = opened.trim_end_matches(CLOSERS);
        let marked = raw.len() - opened.len();
        let cut = start == from && is_cut(from)
            || start + raw.len() == to && text.len() > to && is_cut_at(text, to);
        if raw.is_empty() || cut {
            continue;
        }
        all.push(Token {
            raw,
            start: start + marked,
            text: word,
            says: says(word),
            password: names_password(word),
        });
    }
    all
}

fn is_cut_at(text: &str, to: usize) -> bool {
    text.as_bytes()
        .get(to)
        .is_some_and(|b| !b.is_ascii_whitespace())
}

/// Whether a sentence ends behind a word: a sign, and then a word with a capital.
fn ends_sentence(text: &str, token: &Token<'_>) -> bool {
    let closed = token.raw.trim_end_matches(['"', '\'', ')', '»', '”', '“']);
    let end = token.start + token.text.len() + 4;
    closed.ends_with(['.', '?', '!', ';'])
        && (end.saturating_sub(4)..=end)
            .filter_map(|at| text.get(at..)?.chars().next())
            .find(|c| c.is_alphanumeric() || *c == '¿')
            .is_none_or(|c| c.is_uppercase() || c == '¿')
}

/// One sentence, and whether a word in it calls a password.
struct Sentence<'s, 'a> {
    words: &'s [Token<'a>],
    topic: SentenceTopic,
    named: bool,
}

impl<'s, 'a> Sentence<'s, 'a> {
    fn of(words: &'s [Token<'a>], topic: SentenceTopic) -> Self {
        let mut sentence = Sentence {
            words,
            topic,
            named: false,
        };
        sentence.named = sentence.any_calls(0..words.len());
        sentence
    }

    /// Whether one of those words calls a password.
    fn any_calls(&self, mut places: Range<usize>) -> bool {
        places.any(|at| self.words.get(at).is_some_and(|word| self.calls(word)))
    }

    fn calls(&self, word: &Token<'_>) -> bool {
        word.password || (self.topic == SentenceTopic::Network && word.says.any(KEY))
    }

    /// What the word at a place says.
    fn says(&self, at: usize) -> WordSenses {
        self.words
            .get(at)
            .map_or(WordSenses::default(), |word| word.says)
    }

    /// All passwords in it.
    fn read(&self, found: &mut Vec<(usize, usize)>) {
        let changes = self.words.iter().any(|token| token.says.any(CHANGE));
        for (at, token) in self.words.iter().enumerate() {
            if token.password
                || token.says != WordSenses::default() && !has_digit_or_sign(token.text)
            {
                continue;
            }
            let Some(surely) = self.is_placed(at) else {
                continue;
            };
            let clues = ClueSet::of(&[(ContextClue::Certain, surely || changes)]);
            let shape = TokenShape::of(token.text);
            let fits = shape.is_secret_by(TokenContext::SentencePassword, clues);
            if fits && (surely || !is_shouted(token.text)) {
                found.push((token.start, token.start + token.text.len()));
            }
        }
        found.extend(phrase(self.words));
    }

    /// Whether a word stands where a password would, and whether it can be nothing else there.
    fn is_placed(&self, at: usize) -> Option<bool> {
        let token = self.words.get(at)?;
        let before = at.checked_sub(1).and_then(|at| self.words.get(at));
        let said = before.map_or(WordSenses::default(), |before| before.says);
        let is_user = said.any(USER) && !said.any(BOTH | WEAK) && !(said.any(STRONG) && self.named);
        if is_user && !before.is_some_and(|before| before.password) {
            return None;
        }
        // "with admin and X", "kunde17 / X", where somebody logs in.
        let second = at >= 2 && (said.any(BOTH) || before.is_some_and(|before| before.raw == "/"));
        if !self.named {
            let placed = match self.topic {
                SentenceTopic::Password => false,
                // "we use X for the wifi": only what was made up.
                SentenceTopic::Network => said.any(WEAK) && token.text.contains(SENTENCE_SIGNS),
                SentenceTopic::Login => {
                    second && !is_common(self.words[at - 2].text) && has_sign(token.text)
                }
            };
            return placed.then_some(false);
        }
        if self.is_given(at, before) {
            return Some(true);
        }
        let aside = token.raw.starts_with('(')
            || (token.raw.ends_with(',') && before.is_some_and(|before| before.raw.ends_with(',')));
        let behind = at > 1 && self.any_calls(at.saturating_sub(3)..at);
        let follows = self.any_calls(at.saturating_sub(FAR)..at);
        let weakly = said.any(WEAK | STRONG) || (follows && aside) || behind || second;
        weakly.then_some(false)
    }

    /// Whether the words around one say that it is the password.
    fn is_given(&self, at: usize, before: Option<&Token<'_>>) -> bool {
        let said = before.map_or(WordSenses::default(), |before| before.says);
        let told = before.is_some_and(|before| {
            before.raw.ends_with([':', '=']) || before.raw == "—" || before.raw == "->"
        });
        let linked = said.any(STRONG) || told;
        let follows = self.any_calls(at.saturating_sub(FAR)..at);
        // "Tiger12 as my password", "use Tiger12 here as password"
        let as_one = self.says(at + 1).any(AS) && self.any_calls(at + 2..at + 5)
            || said.any(STRONG | WEAK)
                && (at + 2..at + 5)
                    .any(|nth| self.says(nth).any(AS) && self.any_calls(nth + 1..nth + 2));
        let judged = (at + 1..at + 5).any(|nth| self.says(nth).any(JUDGE));
        let done = self.says(at + 1).any(DONE) || self.says(at + 2).any(DONE);
        (follows && linked)
            || before.is_some_and(|before| self.calls(before))
            || as_one
            || judged
            || (done && said.any(WEAK | STRONG | BOTH))
    }
}

/// "my passphrase is four lazy turtles dance": words that nobody would say of one, three or more.
fn phrase(sentence: &[Token<'_>]) -> Option<(usize, usize)> {
    let word = sentence
        .iter()
        .position(|token| token.says.any(PHRASE) || token.text.eq_ignore_ascii_case("paso"))?;
    let link = (word..sentence.len().min(word + 5)).find(|at| {
        let token = &sentence[*at];
        token.raw.ends_with([':', '=']) || (*at > word && token.says.any(STRONG))
    })?;
    let rest = sentence.get(link + 1..)?;
    let is_word = |token: &Token<'_>| {
        token.text.chars().count() >= 2
            && token.text.chars().all(char::is_alphabetic)
            && !is_common(token.text)
            && !token.password
    };
    let mut count = rest.iter().take_while(|token| is_word(token)).count();
    if let Some(ends) = rest
        .iter()
        .take(count)
        .position(|token| token.raw.ends_with([',', '.', ';', ':', '?', '!']))
    {
        count = ends + 1;
    }
    let last = rest.get(count.checked_sub(1)?)?;
    let lengths = &vocabulary().lengths;
    lengths
        .phrase
        .contains(&count)
        .then(|| (rest[0].start, last.start + last.text.len()))
}

fn has_sign(text: &str) -> bool {
    text.contains(SENTENCE_SIGNS) || text.contains(['-', '_', '.'])
}

/// Letters with a digit among them, or with a sign.
fn has_digit_or_sign(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_digit()) || text.contains(SENTENCE_SIGNS)
}

fn is_shouted(text: &str) -> bool {
    !text.chars().any(char::is_lowercase)
}
