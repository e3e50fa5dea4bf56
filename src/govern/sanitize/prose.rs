//! Passwords said in sentences: "the wifi password is …", "use … as the password", "log in with … / …".

use super::named::{MIN_PASSWORD, is_prose_sign, is_strong};
use super::value::{is_code, is_dated, is_escaped, is_name, is_path, is_random, makeup, stands_in};
use super::words::{Class, is_common};

/// How much of a sentence is read on either side of the word.
const REACH: usize = 160;
/// Most words between "password" and its verb: "the password for the guest network is".
const MAX_BETWEEN: usize = 6;
/// Longest password that is said.
const MAX_SAID: usize = 128;

/// Shortest token that is said.
const MIN_TOKEN: usize = 12;

/// Verbs after which the password comes.
const VERBS: &[&str] = &[
    "=", "are", "becomes", "c'est", "es", "est", "går", "is", "ist", "lautet", "war", "was", "wäre", "è", "é", "är",
    "は", "是", "는", "은",
];
/// Words that may stand between the verb and the password.
const FILLERS: &[&str] = &[
    "actually",
    "always",
    "called",
    "currently",
    "currently:",
    "following",
    "just",
    "literally",
    "maybe",
    "now",
    "probably",
    "simply",
    "still",
];

/// A word of a sentence: where it is, without the signs around it.
#[derive(Clone, Copy)]
struct Said<'a> {
    start: usize,
    text: &'a str,
    /// Whether a pair of quotes or backticks was around it.
    quoted: bool,
    /// What ends it: a colon makes it a verb.
    colon: bool,
}

const MARKS: &[char] = &['"', '\'', '`', '*', '“', '”', '‘', '’', '«', '»', '„', '(', ')', '_'];
const QUOTES: &[char] = &['"', '\'', '`', '“', '”', '‘', '’', '«', '»', '„'];

fn reach_after(text: &str, from: usize) -> &str {
    let mut to = text.len().min(from + REACH);
    while !text.is_char_boundary(to) {
        to -= 1;
    }
    let rest = text.get(from..to).unwrap_or_default();
    rest.split('\n').next().unwrap_or_default()
}

fn reach_before(text: &str, to: usize) -> (usize, &str) {
    let mut from = to.saturating_sub(REACH);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let from = text.get(from..to).and_then(|part| part.rfind('\n')).map_or(from, |at| from + at + 1);
    (from, text.get(from..to).unwrap_or_default())
}

/// The words of a piece of text that begins at `base`; what stands between quotes is one word.
fn words(piece: &str, base: usize) -> impl Iterator<Item = Said<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = piece.get(at..)?;
        let skipped = rest.len() - rest.trim_start().len();
        let word = rest.trim_start();
        let first = word.chars().next()?;
        let start = at + skipped;
        let spaced = QUOTES.contains(&first).then(|| word[first.len_utf8()..].find(|c| QUOTES.contains(&c))).flatten();
        let length = match spaced {
            Some(length) if length > 0 => {
                let tail = &word[first.len_utf8() + length..];
                first.len_utf8() + length + tail.find(char::is_whitespace).unwrap_or(tail.len())
            }
            _ => word.find(char::is_whitespace).unwrap_or(word.len()),
        };
        at = start + length;
        Some(said(piece.get(start..at)?, base + start))
    })
}

fn said(raw: &str, start: usize) -> Said<'_> {
    let opened = raw.trim_start_matches(MARKS);
    let kept =
        opened.trim_end_matches([',', ';', '.', ':', '?']).trim_end_matches(MARKS).trim_end_matches(['.', ',', ';']);
    let quoted = raw.starts_with(QUOTES) && raw.trim_end_matches([',', ';', '.', ':', '?', '!', ')']).ends_with(QUOTES);
    Said { start: start + raw.len() - opened.len(), text: kept, quoted, colon: raw.ends_with(':') }
}

impl Said<'_> {
    fn place(&self) -> (usize, usize) {
        (self.start, self.start + self.text.len())
    }

    fn is(&self, words: &[&str]) -> bool {
        let is = |word: &&str| {
            if word.is_ascii() { self.text.eq_ignore_ascii_case(word) } else { self.text.to_lowercase() == **word }
        };
        words.iter().any(is)
    }

    /// Whether it may be a password: quoted, or nothing that a sentence would say.
    fn may_be_password(&self, plain_words_too: bool) -> bool {
        let text = self.text;
        let made = makeup(text);
        let length = text.chars().count();
        if !(MIN_PASSWORD..=MAX_SAID).contains(&length)
            || stands_in(text)
            || is_path(text)
            || is_common(text)
            || is_dated(text)
            || is_escaped(text)
            || is_name(text)
        {
            return false;
        }
        if self.quoted {
            return text.split_whitespace().count() <= 2 && !text.split_whitespace().all(is_common);
        }
        let plain = made.digits == 0 && (made.others == 0 || is_prose_sign(text));
        if plain {
            plain_words_too && made.others == 0
        } else {
            !is_prose_sign(text) && !is_code(text) && made.letters() > 0
                || (made.digits >= 4 && made.letters() == 0 && made.others == 0)
        }
    }
}

/// The password that is said around the word `start..end`.
pub(super) fn look(text: &str, start: usize, end: usize) -> Option<(usize, usize)> {
    forward(text, start, end)
        .or_else(|| backward(text, start))
        .or_else(|| direct(text, start, end))
        .or_else(|| follows_user(text, start).then(|| pair(text, end))?)
}

/// "with password X", "login bob password X": what follows at once, unless it could be any word.
fn direct(text: &str, start: usize, end: usize) -> Option<(usize, usize)> {
    let before = reach_before(text, start).1.trim_end();
    let mut earlier = before.rsplit(char::is_whitespace);
    let (last, one_before) = (earlier.next()?, earlier.next().unwrap_or_default());
    let is = |word: &str, of: &[&str]| of.iter().any(|known| word.eq_ignore_ascii_case(known));
    let called = is(last, &["with", "using", "and", "the", "pass"])
        || is(one_before, &["login", "user", "username", "as", "for"]);
    let rest = reach_after(text, end);
    // `password=…` is an assignment, whose sign is no part of the value.
    let word = words(rest, end).next().filter(|_| !rest.starts_with('='))?;
    let made = makeup(word.text);
    (called && made.letters() > 0 && (made.digits > 0 || made.others > 0) && word.may_be_password(false))
        .then(|| word.place())
}

/// Whether the word is the second of two names: `user/pw`, "ID PW", "username and password".
fn follows_user(text: &str, start: usize) -> bool {
    let before = reach_before(text, start).1.to_ascii_lowercase();
    let before = before.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '/' | ',' | '|' | '&' | '-' | '_'));
    let before = before.strip_suffix("and").map_or(before, str::trim_end);
    ["user", "id", "login", "account", "username", "name", "email", "usr", "uid"]
        .iter()
        .any(|name| before.ends_with(name))
}

/// "password … is X".
fn forward(text: &str, start: usize, end: usize) -> Option<(usize, usize)> {
    let rest = reach_after(text, end);
    let rest_start = end + rest.len() - rest.strip_prefix('s').unwrap_or(rest).len();
    let rest = text.get(rest_start..end + rest.len())?;
    // A particle may follow without a blank: パスワードはX, PW는X.
    for particle in ["は", "는", "은", "是", "：", "为"] {
        if let Some(after) = rest.strip_prefix(particle) {
            let word = words(after, rest_start + particle.len()).next()?;
            return word.may_be_password(true).then(|| word.place());
        }
    }
    if !rest.starts_with([' ', ':', '\t', '*', '`', '"', '\'', ')', '(', '=', '-', ',']) {
        return None;
    }
    let asked = reach_before(text, start).1.to_lowercase();
    let is_question = ["what is", "what's", "what was", "which", "if the", "if your", "whether", "how "]
        .iter()
        .any(|ask| asked.contains(ask));
    let (mut verb, mut plain) = (false, !is_question);
    for (nth, word) in words(rest, rest_start).take(MAX_BETWEEN + 5).enumerate() {
        if verb {
            if word.is(FILLERS) || word.text.is_empty() {
                continue;
            }
            return word.may_be_password(plain).then(|| word.place());
        }
        let sets =
            word.is(&["to", "as"]) && ["set", "change", "reset", "update"].iter().any(|verb| asked.contains(verb));
        plain &= !sets;
        verb = sets || word.is(VERBS) || (word.colon && nth <= 3) || (word.text.is_empty() && nth > 0);
        let sentence_ends =
            text.get(word.start + word.text.len()..).is_some_and(|after| after.starts_with(['.', '?', '!', ';']));
        if !verb && (sentence_ends || nth >= MAX_BETWEEN) {
            return None;
        }
    }
    None
}

/// "use X as the password", "X is my password".
fn backward(text: &str, start: usize) -> Option<(usize, usize)> {
    let (from, before) = reach_before(text, start);
    let all: Vec<Said<'_>> = words(before, from).collect();
    let mut at = all.len();
    let articles = [
        "the",
        "my",
        "a",
        "your",
        "our",
        "its",
        "his",
        "her",
        "their",
        "new",
        "admin",
        "root",
        "user",
        "db",
        "database",
        "default",
        "wifi",
        "temporary",
        "initial",
        "master",
    ];
    while at > 0 && all.len() - at < 4 && all[at - 1].is(&articles) {
        at -= 1;
    }
    let link = at.checked_sub(1).and_then(|at| all.get(at))?;
    let value = at.checked_sub(2).and_then(|at| all.get(at))?;
    if !link.is(&["as", "is", "was", "for", "="]) {
        return None;
    }
    let told = at
        .checked_sub(3)
        .and_then(|at| all.get(at))
        .is_some_and(|word| word.is(&["use", "using", "set", "with", "enter", "type", "try", "put"]));
    (link.is(&["as", "is", "was", "="])
        && value.may_be_password(told && link.is(&["as"]))
        && (value.quoted || told || is_strong(value.text)))
    .then(|| value.place())
}

/// `user/pw: a/b`, "ID PW master iPp9", "log in with a / b": the second of two, after the word that ends at `end`.
pub(super) fn pair(text: &str, end: usize) -> Option<(usize, usize)> {
    let rest = reach_after(text, end);
    let skipped = rest.len() - rest.trim_start_matches([' ', ':', '=', '\t', '-', 's', '"']).len();
    let piece = rest.get(skipped..)?;
    let mut pieces = piece
        .split(|c: char| c.is_whitespace() || matches!(c, '/' | ',' | '|' | '(' | ')' | '"' | '\'' | '`' | ';'))
        .filter(|part| {
            !part.is_empty()
                && !matches!(
                    *part,
                    "and"
                        | "&"
                        | "with"
                        | "are"
                        | "is"
                        | "as"
                        | "the"
                        | "password"
                        | "pw"
                        | "pass"
                        | "-"
                        | "und"
                        | "et"
                        | "y"
                        | "e"
                )
        });
    let first = pieces.next()?;
    let second = pieces.next()?;
    let (first, second) =
        first.split_once(':').filter(|(user, pass)| !user.is_empty() && !pass.is_empty()).unwrap_or((first, second));
    let user =
        first.len() <= 64 && !is_common(first) && first.chars().all(|c| c.is_alphanumeric() || "._@-+\\".contains(c));
    let second = second.trim_end_matches(['.', ':', '!', '?']).trim_end_matches(['.']);
    let start = end + skipped + (second.as_ptr() as usize).checked_sub(piece.as_ptr() as usize)?;
    // A slash between the two says that they are a pair: then any word but an everyday one.
    let slashed =
        text.get(..start).is_some_and(|before| before.trim_end().ends_with('/')) && second.len() >= MIN_PASSWORD;
    let chosen = slashed && !is_common(second) && !is_code(second);
    if !user || stands_in(second) || !(chosen || is_strong(second)) {
        return None;
    }
    Some((start, start + second.len()))
}

/// "my token is X", "the API key: X": a random word after a verb.
pub(super) fn token(text: &str, start: usize, end: usize, class: Class) -> Option<(usize, usize)> {
    let starts = start.checked_sub(1).and_then(|at| text.as_bytes().get(at)).is_none_or(|b| !b.is_ascii_alphanumeric());
    if !matches!(class, Class::Token | Class::Key) || !starts {
        return None;
    }
    let rest = reach_after(text, end);
    if !rest.starts_with([' ', ':', '*', '`', '"']) {
        return None;
    }
    let mut verb = false;
    for (nth, word) in words(rest, end).take(MAX_BETWEEN + 3).enumerate() {
        if verb && !word.is(FILLERS) {
            let made = makeup(word.text);
            let cases = made.lower >= 4 && made.upper >= 4;
            let fits = word.text.len() >= MIN_TOKEN && (made.digits > 0 || cases) && is_random(word.text);
            return (fits
                && !stands_in(word.text)
                && !is_prose_sign(word.text)
                && !is_code(word.text)
                && !is_path(word.text))
            .then(|| word.place());
        }
        verb |= word.is(VERBS) || word.colon || word.text.is_empty();
        if nth >= MAX_BETWEEN {
            return None;
        }
    }
    None
}
