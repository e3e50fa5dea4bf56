//! An expression over many phrases, of which a text is held against few.
//!
//! Compiling all expressions about refusals takes a process longer than everything else that it
//! does for a question, and of a plain answer none of them holds. So an expression is first read as
//! it is written: a text can only match it where the text has the words that the expression spells
//! out. Only an alternative whose words are all there is compiled. Nothing is decided by the words
//! alone, so what matches is what the expression says.
//!
//! A process that judges many texts compiles the whole expression after a while, and so does one
//! that meets a long text.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use regex::Regex;

/// After so many texts the whole expression is compiled: looking for its words has then cost as
/// much.
const OFTEN: usize = 48;
/// A longer text is worth the whole expression.
const LONG: usize = 64 * 1024;

/// An expression in lower case, in the part of the syntax that [`LiteralWalk`] reads.
pub(super) struct PhrasePattern {
    text: &'static str,
    whole: OnceLock<Regex>,
    alternatives: OnceLock<Vec<Alternative>>,
    asked: AtomicUsize,
}

/// What stands between two bars of an expression that are in no group.
struct Alternative {
    flags: &'static str,
    text: &'static str,
    regex: OnceLock<Regex>,
}

fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a test compiles it")
}

impl PhrasePattern {
    pub(super) const fn new(text: &'static str) -> Self {
        PhrasePattern {
            text,
            whole: OnceLock::new(),
            alternatives: OnceLock::new(),
            asked: AtomicUsize::new(0),
        }
    }

    /// Whether the expression matches anywhere in the text.
    pub(super) fn is_match(&self, text: &str) -> bool {
        if self.is_worth_compiling(text) {
            return self.regex().is_match(text);
        }
        let pairs = LetterPairs::of(text);
        let mut likely = self.likely(&pairs);
        likely.any(|alternative| alternative.regex().is_match(text))
    }

    /// The whole expression, for its groups; none where it can't match the text.
    pub(super) fn regex_for(&self, text: &str) -> Option<&Regex> {
        let may_match = || self.likely(&LetterPairs::of(text)).next().is_some();
        (self.is_worth_compiling(text) || may_match()).then(|| self.regex())
    }

    /// The alternatives whose words are all there.
    fn likely(&self, text: &LetterPairs<'_>) -> impl Iterator<Item = &Alternative> {
        let alternatives = self.alternatives().iter();
        alternatives.filter(|alternative| alternative.may_match(text))
    }

    #[cfg(test)]
    pub(super) fn as_str(&self) -> &str {
        self.regex().as_str()
    }

    fn is_worth_compiling(&self, text: &str) -> bool {
        self.whole.get().is_some()
            || text.len() > LONG
            || self.asked.fetch_add(1, Ordering::Relaxed) >= OFTEN
    }

    fn regex(&self) -> &Regex {
        self.whole.get_or_init(|| compiled(self.text))
    }

    fn alternatives(&self) -> &[Alternative] {
        self.alternatives.get_or_init(|| {
            let (flags, text) = flags_and_rest(self.text);
            let of = |text| Alternative {
                flags,
                text,
                regex: OnceLock::new(),
            };
            alternatives(text).into_iter().map(of).collect()
        })
    }
}

impl Alternative {
    fn may_match(&self, text: &LetterPairs<'_>) -> bool {
        LiteralWalk::of(self, text).is_none_or(LiteralWalk::may_match)
    }

    fn regex(&self) -> &Regex {
        self.regex
            .get_or_init(|| compiled(&format!("{}{}", self.flags, self.text)))
    }
}

/// The flags that a whole expression begins with, such as `(?x-u)`, apart from it.
fn flags_and_rest(pattern: &'static str) -> (&'static str, &'static str) {
    let end = pattern
        .strip_prefix("(?")
        .and_then(|rest| rest.find(|c: char| !(c.is_ascii_lowercase() || c == '-')))
        .map(|end| end + "(?".len());
    match end {
        Some(end) if pattern.get(end..).is_some_and(|rest| rest.starts_with(')')) => {
            pattern.split_at(end + 1)
        }
        _ => ("", pattern),
    }
}

/// The alternatives of an expression.
fn alternatives(pattern: &'static str) -> Vec<&'static str> {
    let (mut out, mut from) = (Vec::new(), 0);
    loop {
        let end = alternative_end(pattern.as_bytes(), from);
        out.extend(pattern.get(from..end));
        if end >= pattern.len() {
            return out;
        }
        from = end + 1;
    }
}

/// Where the alternative ends that a place stands in: at a bar, at the end of its group, or at the
/// end of all.
fn alternative_end(pattern: &[u8], from: usize) -> usize {
    let (mut at, mut depth) = (from, 0_usize);
    while let Some(byte) = pattern.get(at) {
        match byte {
            b'\\' => at += 1,
            b'[' => at = class_end(pattern, at),
            b'(' => depth += 1,
            b'|' if depth == 0 => return at,
            b')' => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return at,
            },
            _ => {}
        }
        at += 1;
    }
    pattern.len()
}

/// The bracket that ends a class; classes within classes are not read.
fn class_end(pattern: &[u8], from: usize) -> usize {
    let mut at = from + 1;
    if pattern.get(at) == Some(&b'^') {
        at += 1;
    }
    // A bracket that comes first is one of the class.
    if pattern.get(at) == Some(&b']') {
        at += 1;
    }
    while let Some(byte) = pattern.get(at) {
        match byte {
            b']' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    pattern.len()
}

/// A text, and which bytes follow each other anywhere in it: most words are ruled out by that.
struct LetterPairs<'a> {
    text: &'a str,
    /// By the low six bits of both.
    follows: [u64; 64],
}

/// The low six bits: letters of one case stay apart.
fn low(byte: u8) -> usize {
    usize::from(byte & 63)
}

impl<'a> LetterPairs<'a> {
    fn of(text: &'a str) -> Self {
        let mut follows = [0; 64];
        for (first, second) in text.bytes().zip(text.bytes().skip(1)) {
            if let Some(row) = follows.get_mut(low(first)) {
                *row |= 1 << low(second);
            }
        }
        LetterPairs { text, follows }
    }

    fn has_pair(&self, pair: &[u8]) -> bool {
        let [first, second] = pair else { return true };
        self.follows
            .get(low(*first))
            .is_some_and(|row| row >> low(*second) & 1 == 1)
    }

    /// Whether the bytes occur with these borders.
    fn has(&self, bytes: &[u8], before: Border, after: Border) -> bool {
        let text = self.text.as_bytes();
        if before == Border::Text {
            return text.starts_with(bytes);
        }
        let is_word =
            |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
        let Ok(wanted) = std::str::from_utf8(bytes) else {
            return true;
        };
        // A border beside a letter has none on its other side; beside other signs it says less.
        let opens = before == Border::Word && is_word(bytes.first());
        let closes = after == Border::Word && is_word(bytes.last());
        self.text.contains(wanted)
            && ((!opens && !closes)
                || self.text.match_indices(wanted).any(|(at, _)| {
                    let start = !opens || at == 0 || !is_word(text.get(at - 1));
                    start && (!closes || !is_word(text.get(at + bytes.len())))
                }))
    }
}

/// What has to stand beside some letters of an expression.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Border {
    Anything,
    /// The border of a word.
    Word,
    /// The text's own beginning.
    Text,
}

/// One reading of an alternative beside a text.
///
/// It knows letters, escaped signs, classes without classes in them, groups, flags but `i`, `\b`,
/// `^`, `$` and repetitions. Whatever is optional, and every class, is taken to match anywhere; so
/// are letters that stand apart. What it does not know ends the reading, and the text may match.
struct LiteralWalk<'a> {
    pattern: &'a [u8],
    at: usize,
    text: &'a LetterPairs<'a>,
    /// Whether white space in the expression stands for nothing.
    spaced: bool,
    /// Whether everything was known so far.
    known: bool,
    /// Letters that follow each other in the expression, and what stands before them.
    letters: Vec<u8>,
    before: Border,
    /// Whether the letters of this sequence were there until now.
    found: bool,
}

impl<'a> LiteralWalk<'a> {
    fn of(alternative: &Alternative, text: &'a LetterPairs<'a>) -> Option<Self> {
        let on = alternative.flags.split('-').next().unwrap_or_default();
        (!on.contains(['i', 'm'])).then(|| LiteralWalk {
            pattern: alternative.text.as_bytes(),
            at: 0,
            text,
            spaced: on.contains('x'),
            known: true,
            letters: Vec::new(),
            before: Border::Anything,
            found: true,
        })
    }

    fn may_match(mut self) -> bool {
        let found = self.any(Border::Anything, Border::Anything);
        found || !self.known
    }

    fn peek(&self) -> Option<u8> {
        self.pattern.get(self.at).copied()
    }

    fn take(&mut self, expected: &str) -> bool {
        let rest = self.pattern.get(self.at..).unwrap_or_default();
        let is = rest.starts_with(expected.as_bytes());
        if is {
            self.at += expected.len();
        }
        is
    }

    /// Whether one of the alternatives up to the end of this group may match.
    fn any(&mut self, before: Border, after: Border) -> bool {
        loop {
            if self.all(before, after) || !self.known {
                return true;
            }
            if !self.take("|") {
                return false;
            }
        }
    }

    /// Whether all of the alternative that begins here may be there.
    fn all(&mut self, before: Border, after: Border) -> bool {
        self.letters.clear();
        (self.before, self.found) = (before, true);
        while self.known && self.found {
            match self.peek() {
                None | Some(b'|' | b')') => {
                    self.end_letters(after);
                    return self.found;
                }
                Some(byte) => self.piece(byte, after),
            }
        }
        self.letters.clear();
        self.at = alternative_end(self.pattern, self.at);
        false
    }

    /// Reads one piece with its repetition.
    fn piece(&mut self, byte: u8, after: Border) {
        match byte {
            b' ' | b'\n' if self.spaced => self.at += 1,
            b'(' => self.group(after),
            b'[' => {
                let end = class_end(self.pattern, self.at);
                let inside = self.pattern.get(self.at + 1..end).unwrap_or_default();
                self.known &= !inside.contains(&b'[');
                self.class(end + 1 - self.at);
            }
            b'.' => self.class(1),
            b'^' if self.letters.is_empty() => {
                self.before = Border::Text;
                self.at += 1;
            }
            b'^' | b'$' => self.at += 1,
            b'\\' => self.escape(),
            b'?' | b'*' | b'+' | b'{' => self.known = false,
            b'#' if self.spaced => self.known = false,
            byte => self.letter(byte.leading_ones().max(1) as usize),
        }
    }

    fn escape(&mut self) {
        match self.pattern.get(self.at + 1) {
            Some(b'b') => {
                self.at += 2;
                self.border();
            }
            Some(b'w' | b'W' | b's' | b'S' | b'd' | b'D') => self.class(2),
            Some(b'p') => self.class(3),
            Some(byte) if byte.is_ascii_punctuation() || *byte == b' ' => {
                self.at += 1;
                self.letter(1);
            }
            _ => self.known = false,
        }
    }

    /// The border of a word.
    fn border(&mut self) {
        self.end_letters(Border::Word);
        self.before = Border::Word;
    }

    /// A class that takes so many bytes to write.
    fn class(&mut self, bytes: usize) {
        self.end_letters(Border::Anything);
        self.at += bytes;
        self.repetition();
    }

    /// A letter of so many bytes.
    fn letter(&mut self, bytes: usize) {
        let from = self.at;
        self.at += bytes;
        let letter = self.pattern.get(from..self.at).unwrap_or_default();
        let repetition = self.repetition();
        if repetition != Some(0) {
            let from = self.letters.len().saturating_sub(1);
            self.letters.extend_from_slice(letter);
            let mut pairs = self.letters.get(from..).unwrap_or_default().windows(2);
            self.found &= pairs.all(|pair| self.text.has_pair(pair));
        }
        if repetition.is_some() {
            self.end_letters(Border::Anything);
        }
    }

    /// Looks for the letters up to here.
    fn end_letters(&mut self, after: Border) {
        if !self.letters.is_empty() {
            self.found &= self.found && self.text.has(&self.letters, self.before, after);
            self.letters.clear();
        }
        self.before = Border::Anything;
    }

    fn group(&mut self, after: Border) {
        if self.take("(?-u:\\b)") {
            self.border();
            return;
        }
        let before = if self.letters.is_empty() {
            self.before
        } else {
            Border::Anything
        };
        self.end_letters(Border::Anything);
        if !self.found || !self.group_head() {
            return;
        }
        let after = self.after_group(after);
        let found = self.any(before, after);
        // What is left of the group after the alternative that was found.
        while self.known && self.peek() == Some(b'|') {
            self.at = alternative_end(self.pattern, self.at + 1);
        }
        self.known &= self.take(")");
        let optional = self.repetition() == Some(0);
        self.before = Border::Anything;
        self.found = found || optional;
    }

    /// What a group begins with: a name, or flags that change nothing here.
    fn group_head(&mut self) -> bool {
        self.at += 1;
        if self.take("?P<") {
            let rest = self.pattern.get(self.at..).unwrap_or_default();
            let name = rest.iter().position(|byte| *byte == b'>');
            self.at += name.map_or(0, |end| end + 1);
            self.known &= name.is_some();
        } else if self.peek() == Some(b'?') {
            self.known &= self.take("?:") || self.take("?u:") || self.take("?-u:");
        }
        self.known
    }

    /// What follows the group whose inside begins here.
    fn after_group(&self, after: Border) -> Border {
        let mut end = alternative_end(self.pattern, self.at);
        while self.pattern.get(end) == Some(&b'|') {
            end = alternative_end(self.pattern, end + 1);
        }
        let rest = self.pattern.get(end + 1..).unwrap_or_default();
        if rest.starts_with(b"\\b") || rest.starts_with(b"(?-u:\\b)") {
            Border::Word
        } else if rest.is_empty() || rest.starts_with(b"|") || rest.starts_with(b")") {
            after
        } else {
            Border::Anything
        }
    }

    /// The least number of times that what was just read stands there, at most one; none where it
    /// stands once.
    fn repetition(&mut self) -> Option<usize> {
        let rest = self.pattern.get(self.at..).unwrap_or_default();
        let (least, length) = match rest {
            [b'?' | b'*', ..] => (0, 1),
            [b'+', ..] => (1, 1),
            [b'{', first, ..] => {
                let end = rest.iter().position(|byte| *byte == b'}');
                self.known &= end.is_some();
                (usize::from(*first != b'0'), end.unwrap_or_default() + 1)
            }
            _ => return None,
        };
        self.at += length;
        self.take("?");
        Some(least)
    }
}

#[cfg(test)]
#[path = "phrase_pattern_tests.rs"]
mod tests;
