//! Tokens that nothing names: random runs of letters and digits, with the harmless kinds left
//! alone.

use super::address::decoded;
use super::cue_words::CueClass;
use super::public::{is_algorithm, is_archive, is_called_public, is_member, is_public_token};
use super::text::work;
use super::token::kind::TokenKind;
use super::token::shape::{TokenShape, wordiness};
use super::token::table::{ClueSet, ContextClue, TokenContext};
use super::vocabulary::vocabulary;

/// How far a word about secrets reaches.
const CUE_REACH: usize = 72;
/// Shortest line of data.
const MIN_DATA: usize = 56;
/// Lines of base64 of one length in a row that are data.
const DATA_LINES: usize = 3;

/// What bytes are to a run: a part of one, and then a digit or a capital.
static PARTS: [u8; 256] = parts();
const PART: u8 = 1;
const DIGIT: u8 = 2;
const CAPITAL: u8 = 4;

const fn parts() -> [u8; 256] {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 128 {
        let b = at as u8;
        if b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'+' | b'/' | b'=' | b'.' | b'~')
        {
            table[at] = PART;
        }
        if b.is_ascii_digit() {
            table[at] |= DIGIT;
        }
        if b.is_ascii_uppercase() {
            table[at] |= CAPITAL;
        }
        at += 1;
    }
    table
}

/// What the bare words of a text are: random ones, and base64 in which `hides` finds a secret.
#[derive(Default)]
pub struct RandomWords {
    pub random: Vec<(usize, usize)>,
    pub encoded: Vec<(usize, usize)>,
}

/// Places of words about secrets, in the order of the text.
#[derive(Default)]
pub struct Cues {
    /// Words that name a secret.
    any: Vec<(usize, usize)>,
    /// Words that say that one is there: "my key", "leaked".
    strong: Vec<(usize, usize)>,
}

impl Cues {
    /// Notes a word, unless it is a part of another.
    pub fn add(&mut self, text: &str, start: usize, end: usize, class: CueClass) {
        let bytes = text.as_bytes();
        let inside = |at: Option<&u8>| at.is_some_and(u8::is_ascii_alphabetic);
        if class == CueClass::Weak || inside(start.checked_sub(1).and_then(|at| bytes.get(at))) {
            return;
        }
        self.any.push((start, end));
        let tokenish = matches!(class, CueClass::Token | CueClass::Key)
            && !inside(bytes.get(end))
            && is_owned(text, start);
        // `key_rotate` is a name, no sentence.
        let joined = |at: Option<&u8>| at.is_some_and(|b| matches!(b, b'_' | b'-'));
        let said = class == CueClass::Cue
            && !joined(start.checked_sub(1).and_then(|at| bytes.get(at)))
            && !joined(bytes.get(end));
        if said || tokenish {
            self.strong.push((start, end));
        }
    }
}

/// Whether the word before a place says whose it is: "my key".
fn is_owned(text: &str, start: usize) -> bool {
    let before = text.get(..start).unwrap_or_default().trim_end();
    vocabulary().sentences.owned.ends(before.as_bytes())
}

/// Finds them, outside of `public` places, which are sorted.
pub fn look(
    text: &str,
    public: &[(usize, usize)],
    cues: &Cues,
    hides: &dyn Fn(&str) -> bool,
) -> RandomWords {
    let bytes = text.as_bytes();
    let mut found = RandomWords::default();
    let data = data_lines(text);
    let shortest = *vocabulary().lengths.encoded.start();
    let mut at = 0;
    while let Some(next) = bytes[at..].iter().position(|b| PARTS[usize::from(*b)] != 0) {
        let start = at + next;
        let (mut length, mut holds, mut capitals) = (0, 0, 0);
        for b in &bytes[start..] {
            let is = PARTS[usize::from(*b)];
            if is == 0 {
                break;
            }
            length += 1;
            holds |= is;
            capitals += usize::from(is & CAPITAL != 0);
        }
        at = start + length;
        // Without a digit and with less than three capitals it is neither random nor base64.
        let plain = holds & DIGIT == 0 && capitals < 3;
        if length < shortest || plain || is_inside(public, start) || is_inside(&data, start) {
            continue;
        }
        work::count(length);
        if let Some(run) = text.get(start..at) {
            look_at_run(text, run, start, cues, hides, &mut found);
        }
    }
    if !cues.strong.is_empty() {
        add_disordered(text, public, cues, &mut found);
    }
    found
}

/// Adds words with many signs in disorder, where a secret is spoken of: "why does this key fail?
/// q|&h7Hxr;qB>Z$M".
fn add_disordered(text: &str, public: &[(usize, usize)], cues: &Cues, found: &mut RandomWords) {
    work::count(text.len());
    let lengths = &vocabulary().lengths;
    let mut at = 0;
    for word in text.split([' ', '\t', '\n', '\r']) {
        let start = at;
        at += word.len() + 1;
        if !lengths.disordered.contains(&word.len()) || is_inside(public, start) {
            continue;
        }
        let opened = word.trim_start_matches(['"', '\'', '(', '`']);
        let kept = opened.trim_end_matches(['"', '\'', ')', '.', ',', ';', ':', '?', '!', '`']);
        let from = start + word.len() - opened.len();
        let to = from + kept.len();
        if is_cued(&cues.strong, from, to)
            && TokenShape::of(kept).is_secret(TokenContext::LeakedSigns)
        {
            found.random.push((from, to));
        }
    }
}

fn is_inside(places: &[(usize, usize)], at: usize) -> bool {
    let after = places.partition_point(|(from, _)| *from <= at);
    after.checked_sub(1).is_some_and(|last| at < places[last].1)
}

/// Whether a word about secrets stands near `start..end`.
fn is_cued(cues: &[(usize, usize)], start: usize, end: usize) -> bool {
    let first = cues.partition_point(|(_, to)| to + CUE_REACH < start);
    cues.get(first)
        .is_some_and(|(from, _)| *from < end + CUE_REACH)
}

fn look_at_run(
    text: &str,
    run: &str,
    start: usize,
    cues: &Cues,
    hides: &dyn Fn(&str) -> bool,
    found: &mut RandomWords,
) {
    let kept = run.trim_end_matches(['.', '-', '_', '/']);
    let word = kept.trim_start_matches(['.', '-', '_', '=', '+', '~']);
    let (from, to) = (start + kept.len() - word.len(), start + kept.len());
    let harmless = is_harmless_place(text, from)
        || (from > start && is_harmless_place(text, start))
        || names_an_object(text, from, word);
    if harmless || is_public(word) {
        return;
    }
    if vocabulary().lengths.encoded.contains(&word.len())
        && decoded(word).is_some_and(|plain| hides(&plain))
    {
        found.encoded.push((from, to));
        return;
    }
    let near = is_cued(&cues.any, from, to);
    // What costs more to tell is asked of the few that are left.
    let named = || is_called_public(text, from) || is_algorithm(word) || is_member(word);
    if is_random(word, near, is_cued(&cues.strong, from, to)) {
        if !named() {
            found.random.push((from, to));
        }
        return;
    }
    // What stands in the path of an address is an id, unless something nearby speaks of secrets.
    let in_address = word.starts_with("//") && text.as_bytes()[..from].ends_with(b":");
    if in_address && !near && !word.contains("webhook") && !word.contains("hooks.") {
        return;
    }
    let mut at = 0;
    for part in word.split(['/', '.', '=', '~']) {
        if TokenShape::of(part).is_secret(TokenContext::BareToken)
            && !is_public_token(part)
            && !has_words_between_signs(part)
            && !is_file_of_build(word, at, part)
            && !named()
        {
            found.random.push((from + at, from + at + part.len()));
        }
        at += part.len() + 1;
    }
}

/// Whether a word is a token as a whole: a path, a file name or a query is looked at part by part,
/// and a token may hold the same signs.
fn is_random(word: &str, near: bool, leaked: bool) -> bool {
    let short = TokenShape::of(word.trim_end_matches('='));
    let clues = ClueSet::of(&[(ContextClue::Near, near), (ContextClue::Leaked, leaked)]);
    (leaked && short.is_secret(TokenContext::LeakedToken))
        || (!assigns(word)
            && !is_rooted(word)
            && TokenShape::of(word).is_secret_by(TokenContext::BareToken, clues)
            && !has_words_between_signs(word))
}

/// `main.8f3aC…d2.js`: the part of a file's name that its content made.
fn is_file_of_build(word: &str, at: usize, part: &str) -> bool {
    let rest = word.get(at + part.len()..).unwrap_or_default();
    vocabulary().values.build_endings.starts(rest)
}

/// Whether a run is a path from the root: base64 may begin with a slash, and has no part of small
/// letters alone.
fn is_rooted(run: &str) -> bool {
    let is_name = |part: &str| part.len() >= 3 && part.bytes().all(|b| b.is_ascii_lowercase());
    run.starts_with('/') && (run.contains('.') || run.split('/').any(is_name))
}

/// Whether a run is a name, an equals sign and a value.
fn assigns(run: &str) -> bool {
    let pair = run.split_once('=');
    pair.is_some_and(|(name, value)| !value.trim_matches('=').is_empty() && wordiness(name) >= 50)
}

/// Whether words stand between the signs of a run, as in paths and names: at least half of it.
fn has_words_between_signs(run: &str) -> bool {
    let parts = run.split(['/', '.', '-', '_', '=', '~', '+']);
    let named: usize = parts.filter(|part| is_word(part)).map(str::len).sum();
    let all = run.bytes().filter(u8::is_ascii_alphanumeric).count();
    named * 2 >= all.max(1)
}

fn is_word(part: &str) -> bool {
    part.len() >= 3
        && part.bytes().all(|b| b.is_ascii_alphabetic())
        && wordiness(part) >= vocabulary().wordiness.word
}

/// Whether a word is known to be public by its form: the name of a thing, not the key to one.
fn is_public(word: &str) -> bool {
    let values = &vocabulary().values;
    is_coin_address(word)
        || is_change(word)
        || is_pseudo_version(word)
        || is_board(word)
        || is_public_token(word)
        || is_archive(word)
        || values.digest_starts.starts(word)
        || word.strip_prefix("0x").is_some_and(is_hex)
        || values.public_starts.starts(word)
}

fn is_hex(text: &str) -> bool {
    TokenShape::of(text).is(TokenKind::Hex)
}

/// An address of Bitcoin, in base58.
fn is_coin_address(word: &str) -> bool {
    (26..=35).contains(&word.len())
        && word.starts_with(['1', '3'])
        && word
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() && !b"0OIl".contains(&b))
}

/// The line that a review is known by in the message of a commit.
fn is_change(word: &str) -> bool {
    word.len() == 41 && word.strip_prefix('I').is_some_and(is_hex)
}

/// Whether a word is a pseudo-version of Go, such as `v0.0.0-20240102150405-0123456789ab`.
fn is_pseudo_version(word: &str) -> bool {
    word.strip_prefix('v')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()) && rest.contains('.'))
}

/// A position of chess: eight ranks of pieces and empty squares.
fn is_board(word: &str) -> bool {
    let rank = |rank: &str| {
        (1..=8).contains(&rank.len()) && rank.bytes().all(|b| b"pnbrqkPNBRQK12345678".contains(&b))
    };
    word.matches('/').count() == 7 && word.split('/').all(rank)
}

/// Whether what stands before a word says that it is a digest, an image, or part of an address.
fn is_harmless_place(text: &str, start: usize) -> bool {
    let bytes = text.as_bytes();
    let before = &bytes[start.saturating_sub(12)..start];
    let ends = matches!(
        before.last(),
        Some(b',' | b':' | b'"' | b'-' | b'=' | b' ' | b'.')
    );
    (ends && vocabulary().values.harmless_before.ends(before)) || is_in_address(bytes, start)
}

/// "commit fdc7b986…": what git calls an object by, also where keys are spoken of.
fn names_an_object(text: &str, start: usize, word: &str) -> bool {
    let before = &text.as_bytes()[start.saturating_sub(8)..start];
    let said = vocabulary().values.objects.ends(before);
    said && matches!(word.len(), 40 | 64) && word.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Whether `start` is inside an address: `://` before it, without a blank between.
fn is_in_address(bytes: &[u8], start: usize) -> bool {
    let before = &bytes[start.saturating_sub(256)..start];
    for (at, b) in before.iter().enumerate().rev() {
        match b {
            b' ' | b'\t' | b'\n' | b'\r' | b'\x0c' | b'"' | b'\'' | b'<' | b'>' | b'(' | b'`' => {
                return false;
            }
            b'/' if before[..at].ends_with(b":/") => return true,
            _ => {}
        }
    }
    false
}

/// Places of base64 data: lines of one length in a row that hold nothing else.
fn data_lines(text: &str) -> Vec<(usize, usize)> {
    let (mut places, mut at): (Vec<(usize, usize)>, usize) = (Vec::new(), 0);
    let (mut run_start, mut run, mut length) = (0, 0, 0);
    for line in text.split_inclusive('\n').chain(std::iter::once("")) {
        if run == 0 && line.len() < MIN_DATA {
            at += line.len();
            continue;
        }
        let inner = line.trim();
        let is_data = inner.len() >= MIN_DATA
            && inner
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='));
        let goes_on = run > 0
            && (is_data && inner.len() == length
                || run >= DATA_LINES
                    && inner.len() < length
                    && inner.len() >= 4
                    && !inner.contains(' '));
        if goes_on {
            run += 1;
        } else {
            if run >= DATA_LINES {
                places.push((run_start, at));
            }
            (run_start, run, length) = (at, usize::from(is_data), inner.len());
        }
        at += line.len();
    }
    places
}
