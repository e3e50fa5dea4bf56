//! The forms in which a text can be read: what a rule about words is held against, so that no
//! spelling gets past it.
//!
//! | form | as in |
//! |---|---|
//! | as it is | |
//! | without masks | full width, styled letters, look-alikes in Latin words, soft hyphens, zero width; one space between words |
//! | invisible characters as spaces | words that nothing but zero width parts |
//! | letters alone | accents, marks of emphasis and every look-alike taken off, words joined that a line's end parts |
//! | Cyrillic | Latin look-alikes in Cyrillic words |
//! | escapes read | `\n` and `\u0061` as they are written in JSON; each string of a declared shape by itself |
//! | loose | each invisible character as nothing or as a space, whichever fits; a digit or a capital I inside a word as the letter that it looks like |
//!
//! Each is made in one pass over the text. Loose forms are for expressions that [`loose`] made:
//! what is undecided in the text is a mark there, and the expression takes a mark for each of what
//! it may stand for, so that no mixture gets past and nothing has to be tried one by one. Spelled
//! numbers, spaced letters and other languages are no form of it.

use std::borrow::Cow;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look, Repetition};
use serde_json::Value;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use crate::record::unseen::is_invisible;

use super::reply::output::declared_in;
use super::sanitize::{looks_like, unmasked_text};

/// Latin letters and the Cyrillic ones that they look like.
const CYRILLIC: [(char, char); 24] = [
    ('a', 'а'),
    ('c', 'с'),
    ('e', 'е'),
    ('o', 'о'),
    ('p', 'р'),
    ('x', 'х'),
    ('y', 'у'),
    ('i', 'і'),
    ('j', 'ј'),
    ('s', 'ѕ'),
    ('k', 'к'),
    ('A', 'А'),
    ('B', 'В'),
    ('C', 'С'),
    ('E', 'Е'),
    ('H', 'Н'),
    ('K', 'К'),
    ('M', 'М'),
    ('O', 'О'),
    ('P', 'Р'),
    ('T', 'Т'),
    ('X', 'Х'),
    ('Y', 'У'),
    ('3', 'З'),
];

/// Latin letters with a stroke, a hook or no dot, and small capitals: the look-alikes that no table
/// of Unicode has as one letter.
const CLOSE: [(char, &str); 23] = [
    ('a', "ᴀⱥ"),
    ('b', "ʙɓƀ"),
    ('c', "ᴄƈȼ"),
    ('d', "ᴅɗđ"),
    ('e', "ᴇɇ"),
    ('f', "ꜰƒ"),
    ('g', "ɢɠǥ"),
    ('h', "ʜɦħ"),
    ('i', "ɪıɨ"),
    ('j', "ᴊȷɉ"),
    ('k', "ᴋƙ"),
    ('l', "ʟłƚɫ"),
    ('m', "ᴍɱ"),
    ('n', "ɴɲŋƞ"),
    ('o', "ᴏøɵ"),
    ('p', "ᴘƥ"),
    ('r', "ʀɍɽ"),
    ('s', "ꜱȿʂ"),
    ('t', "ᴛƭŧ"),
    ('u', "ᴜʉ"),
    ('v', "ᴠʋ"),
    ('y', "ʏƴɏ"),
    ('z', "ᴢƶȥ"),
];

/// First letters of alphabets of 26 that are drawn in circles, squares, brackets or as halves of
/// flags.
const ENCLOSED: [(u32, u8); 8] = [
    (0x249c, b'a'),
    (0x24b6, b'A'),
    (0x24d0, b'a'),
    (0x1f110, b'A'),
    (0x1f130, b'A'),
    (0x1f150, b'A'),
    (0x1f170, b'A'),
    (0x1f1e6, b'A'),
];

/// Stands for invisible characters in a loose form. A character for private use, which nobody sees
/// either.
const HIDDEN: char = '\u{e0ff}';
/// Stand for characters inside a word in a loose form, and what each may be. Letters of a script
/// that nobody writes: a word that holds one is one word still.
const LIKE: [(char, char, &str); 7] = [
    ('0', '\u{10600}', "oOоО"),
    ('1', '\u{10601}', "iIlLіІ"),
    ('3', '\u{10602}', "eEеЕзЗ"),
    ('4', '\u{10603}', "aAаА"),
    ('5', '\u{10604}', "sSѕЅ"),
    ('7', '\u{10605}', "tTтТ"),
    ('I', '\u{10606}', "iIlL"),
];
/// More digits than these in a row are a number, not letters.
const MOST_DIGITS: usize = 2;

/// Whether a reader does not see a character, or sees no more than a gap that may as well be none.
fn is_hidden(c: char) -> bool {
    let seen = matches!(c, '\n' | '\t');
    is_invisible(c)
        || (c.is_control() && !seen)
        || matches!(
            c,
            '\u{640}' | '\u{2009}' | '\u{200a}' | '\u{2028}' | '\u{2029}' | '\u{2800}'
                | '\u{fdd0}'..='\u{fdef}' | '\u{fffc}' | '\u{fffd}' | '\u{e000}'..='\u{f8ff}'
        )
}

/// A text in all forms in which it can be read.
#[derive(Default)]
pub(super) struct Forms {
    /// For an expression as it was written.
    pub plain: Vec<String>,
    /// For the same as [`loose`] makes it.
    pub loose: Vec<String>,
}

impl Forms {
    /// Of a text, with what is escaped in it.
    pub fn of(text: &str) -> Forms {
        let mut forms = Forms::default();
        forms.read(text);
        if text.contains('\\') {
            forms.read(&unescaped(text));
        }
        if let Some(shape) = declared_in(text) {
            forms.read_strings(&shape);
        }
        forms
    }

    /// Names and strings of a JSON value, each by itself.
    fn read_strings(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.read(text),
            Value::Array(list) => list.iter().for_each(|value| self.read_strings(value)),
            Value::Object(fields) => fields.iter().for_each(|(name, value)| {
                self.read(name);
                self.read_strings(value);
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn read(&mut self, text: &str) {
        let (mut own, mut loose) = (Vec::new(), Vec::new());
        add(&mut own, Cow::Borrowed(text));
        forms(text).into_iter().for_each(|form| add(&mut own, form));
        add(&mut own, Cow::Owned(letters(text, true)));
        if let Some(bare) = without_line_marks(text) {
            add(&mut own, Cow::Owned(read_text(&bare).into_owned()));
        }
        let lines = if text.contains('\r') {
            Cow::Owned(text.replace("\r\n", "\n"))
        } else {
            Cow::Borrowed(text)
        };
        let mut undecided = Vec::new();
        if lines.contains(is_hidden) {
            add(
                &mut own,
                Cow::Owned(read_text(&with_hidden_as(&lines, "")).into_owned()),
            );
            add(
                &mut own,
                Cow::Owned(read_text(&with_hidden_as(&lines, " ")).into_owned()),
            );
            // A line's end is looked for in the text as it was typed: there a soft hyphen is one.
            let marked = with_hidden_as(
                &without_hyphenation(&lines),
                HIDDEN.encode_utf8(&mut [0; 4]),
            );
            undecided.extend(seen_forms(&marked));
        } else {
            undecided.extend(seen_forms(text));
        }
        for form in undecided {
            let form = gathered(&in_words(&form));
            if form.contains(is_mark) {
                if !loose.contains(&form) {
                    loose.push(form);
                }
            } else {
                add(&mut own, Cow::Owned(form));
            }
        }
        self.plain.extend(own.into_iter().map(Cow::into_owned));
        self.loose.extend(loose);
    }
}

/// The text without the marks that lines of a quotation, a comment or a heading begin with; none
/// where no line begins so.
fn without_line_marks(text: &str) -> Option<String> {
    let bare = |line: &str| {
        line.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '>' | '#' | '/' | '|'))
            .to_owned()
    };
    let is_marked = |line: &str| line.trim_start().starts_with(['>', '#', '/', '|']);
    let lines = text.lines().map(bare);
    text.lines()
        .any(is_marked)
        .then(|| lines.collect::<Vec<_>>().join("\n"))
}

/// Longest rest of a terminal's sequence that is read as one.
const MOST_OF_A_SEQUENCE: usize = 32;

/// The text with something else for each hidden character; a terminal's sequence is one.
fn with_hidden_as(text: &str, mark: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        if is_hidden(c) {
            out.push_str(mark);
            let sequence = rest.strip_prefix("\u{1b}[").unwrap_or_default();
            let end = sequence
                .bytes()
                .take(MOST_OF_A_SEQUENCE)
                .position(|b| !matches!(b, b' '..=b'?'));
            let end = end.filter(|end| {
                sequence
                    .as_bytes()
                    .get(*end)
                    .is_some_and(|b| matches!(b, b'@'..=b'~'))
            });
            length += end.map_or(0, |end| end + 2);
        } else {
            out.push(c);
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    out
}

/// The forms that leave marks where they are.
fn seen_forms(text: &str) -> impl Iterator<Item = String> {
    let cyrillic = in_cyrillic(text);
    [
        Some(read_text(text).into_owned()),
        Some(letters(text, true)),
        cyrillic,
    ]
    .into_iter()
    .flatten()
}

fn add<'t>(forms: &mut Vec<Cow<'t, str>>, form: Cow<'t, str>) {
    if forms.iter().all(|known| *known != form) {
        forms.push(form);
    }
}

fn is_mark(c: char) -> bool {
    c == HIDDEN || LIKE.iter().any(|(_, mark, _)| *mark == c)
}

/// Marks what may be a letter inside a word: a digit or two between letters, in a word that has
/// more letters than digits, so that numbers, versions and most ids stay what they are; a capital I
/// behind a small letter.
fn in_words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let is_part = |c: char| c.is_alphanumeric() || c == HIDDEN;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        if end == 0 {
            out.push(c);
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
            continue;
        }
        let (word, after) = rest.split_at(end);
        rest = after;
        let digits = word.chars().filter(char::is_ascii_digit).count();
        let letters = word.chars().filter(|c| c.is_alphabetic()).count();
        if (digits == 0 || letters <= digits) && !word.contains('I') {
            out.push_str(word);
            continue;
        }
        in_word(word, letters > digits, &mut out);
    }
    out
}

fn in_word(word: &str, digits: bool, out: &mut String) {
    let chars: Vec<char> = word.chars().collect();
    let mark = |c: char| {
        LIKE.iter()
            .find(|(like, ..)| *like == c)
            .map(|(_, mark, _)| *mark)
    };
    let (mut at, mut before) = (0, None::<char>);
    while let Some(&c) = chars.get(at) {
        if c == HIDDEN {
            out.push(c);
            at += 1;
            continue;
        }
        let small = before.is_some_and(char::is_lowercase);
        if !c.is_ascii_digit() {
            out.push(mark(c).filter(|_| c == 'I' && small).unwrap_or(c));
            (before, at) = (Some(c), at + 1);
            continue;
        }
        let length = chars
            .iter()
            .skip(at)
            .take_while(|c| c.is_ascii_digit() || **c == HIDDEN)
            .count();
        let run = chars.get(at..at + length).unwrap_or_default();
        let of_run = run.iter().filter(|c| c.is_ascii_digit());
        let inside = before.is_some() && at + length < chars.len();
        let read = digits
            && inside
            && of_run.clone().count() <= MOST_DIGITS
            && of_run.clone().all(|c| mark(*c).is_some());
        out.extend(run.iter().map(|c| mark(*c).filter(|_| read).unwrap_or(*c)));
        (before, at) = (run.last().copied(), at + length);
    }
}

/// White space and what is hidden in it as one space; what is hidden by itself as one mark.
fn gathered(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut hidden, mut space) = (false, false);
    for c in text.chars().map(Some).chain([None]) {
        match c {
            Some(c) if is_hidden(c) => hidden = true,
            Some(c) if c.is_whitespace() => space = true,
            _ => {
                out.extend(if space {
                    Some(' ')
                } else {
                    hidden.then_some(HIDDEN)
                });
                out.extend(c);
                (hidden, space) = (false, false);
            }
        }
    }
    out
}

/// The text with JSON's escapes read; what is none stays.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut halves: Vec<u16> = Vec::new();
    let mut rest = text;
    loop {
        let unit = rest.strip_prefix("\\u").and_then(|rest| rest.get(..4));
        let unit = unit.filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        if let Some(unit) = unit.and_then(|digits| u16::from_str_radix(digits, 16).ok()) {
            halves.push(unit);
            rest = rest.get(6..).unwrap_or_default();
            continue;
        }
        out.extend(
            char::decode_utf16(halves.drain(..)).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)),
        );
        let mut chars = rest.chars();
        let Some(c) = chars.next() else { return out };
        let escape = |c| match c {
            'n' | 'r' | 't' => Some(' '),
            'b' | 'f' => Some(HIDDEN),
            '"' | '/' | '\\' => Some(c),
            _ => None,
        };
        let read = (c == '\\').then(|| chars.next().and_then(escape)).flatten();
        out.push(read.unwrap_or(c));
        rest = rest
            .get(if read.is_some() { 2 } else { c.len_utf8() }..)
            .unwrap_or_default();
    }
}

/// An expression that takes the marks of loose forms: a hidden character may stand behind each
/// character and for each white space, and a mark for each letter that it may be. None for one that
/// is none.
pub(super) fn loose(pattern: &str) -> Option<String> {
    Some(loosened(&regex_syntax::parse(pattern).ok()?).to_string())
}

fn loosened(hir: &Hir) -> Hir {
    let all = |list: &[Hir]| list.iter().map(loosened).collect::<Vec<_>>();
    match hir.kind() {
        HirKind::Empty => Hir::empty(),
        HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
            Ok(text) => {
                let one = |c| atom(ClassUnicode::new([ClassUnicodeRange::new(c, c)]));
                Hir::concat(text.chars().map(one).collect())
            }
            Err(_) => hir.clone(),
        },
        HirKind::Class(Class::Unicode(class)) => atom(class.clone()),
        HirKind::Class(Class::Bytes(class)) => {
            class.to_unicode_class().map_or_else(|| hir.clone(), atom)
        }
        HirKind::Look(Look::Start | Look::StartLF | Look::StartCRLF) => {
            Hir::concat(vec![hir.clone(), hidden()])
        }
        HirKind::Look(Look::End | Look::EndLF | Look::EndCRLF) => {
            Hir::concat(vec![hidden(), hir.clone()])
        }
        HirKind::Look(_) => hir.clone(),
        HirKind::Repetition(of) => Hir::repetition(Repetition {
            sub: Box::new(loosened(&of.sub)),
            ..of.clone()
        }),
        HirKind::Capture(of) => loosened(&of.sub),
        HirKind::Concat(list) => Hir::concat(all(list)),
        HirKind::Alternation(list) => Hir::alternation(all(list)),
    }
}

/// One character of an expression, with the marks that may stand for it.
fn atom(mut class: ClassUnicode) -> Hir {
    let known = class.clone();
    let holds = |c: char| {
        known
            .iter()
            .any(|range| (range.start()..=range.end()).contains(&c))
    };
    let mut also = |mark: char| class.push(ClassUnicodeRange::new(mark, mark));
    if holds(' ') {
        also(HIDDEN);
    }
    LIKE.iter()
        .filter(|(.., letters)| letters.chars().any(holds))
        .for_each(|(_, mark, _)| also(*mark));
    Hir::concat(vec![Hir::class(Class::Unicode(class)), hidden()])
}

/// Any number of hidden characters.
fn hidden() -> Hir {
    let mark = Hir::class(Class::Unicode(ClassUnicode::new([ClassUnicodeRange::new(
        HIDDEN, HIDDEN,
    )])));
    Hir::repetition(Repetition {
        min: 0,
        max: None,
        greedy: true,
        sub: Box::new(mark),
    })
}

/// What the eye reads: no masks, one space between words.
fn read_text(text: &str) -> Cow<'_, str> {
    match unmasked_text(text) {
        Cow::Borrowed(text) => spaced(text),
        Cow::Owned(text) => Cow::Owned(spaced(&text).into_owned()),
    }
}

/// Every form of a text that is another one than those before it; at least the text itself.
pub(super) fn forms(text: &str) -> Vec<Cow<'_, str>> {
    let mut forms = vec![Cow::Borrowed(text)];
    add(&mut forms, read_text(text));
    if text.chars().any(is_invisible) {
        let parted: String = text
            .chars()
            .map(|c| if is_invisible(c) { ' ' } else { c })
            .collect();
        add(&mut forms, Cow::Owned(read_text(&parted).into_owned()));
    }
    add(&mut forms, Cow::Owned(letters(text, false)));
    if let Some(cyrillic) = in_cyrillic(text) {
        add(&mut forms, Cow::Owned(cyrillic));
    }
    forms
}

/// A text with Cyrillic letters in it, with those for all that look like them.
fn in_cyrillic(text: &str) -> Option<String> {
    if !text.chars().any(|c| ('\u{400}'..='\u{4ff}').contains(&c)) {
        return None;
    }
    let like = |c: char| {
        CYRILLIC
            .iter()
            .find(|(latin, _)| *latin == c)
            .map_or(c, |(_, like)| *like)
    };
    let text: String = text
        .chars()
        .filter(|c| !is_invisible(*c))
        .map(like)
        .collect();
    Some(spaced(&text).into_owned())
}

/// White space as one space each.
fn spaced(text: &str) -> Cow<'_, str> {
    let odd = |c: char| c != ' ' && c.is_whitespace();
    if !text.contains(odd) && !text.contains("  ") {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The bare letters: no accents, no marks of emphasis, no hyphen at a line's end, Latin for all
/// that looks like it; with `close` also for Latin letters that are others, but look like these.
fn letters(text: &str, close: bool) -> String {
    let joined = without_hyphenation(text);
    let bare = |c: &char| {
        !(is_invisible(*c) || is_combining_mark(*c) || matches!(c, '*' | '_' | '`' | '~'))
    };
    let plain: String = if joined.is_ascii() && !joined.contains('\u{1b}') {
        joined.chars().filter(bare).collect()
    } else {
        let unmasked = unmasked_text(&joined);
        let opened = unmasked
            .chars()
            .map(|c| if close { enclosed(c) } else { c });
        let latin = |c: char| match c {
            _ if c.is_ascii() || c == HIDDEN => c,
            _ => looks_like(c)
                .or_else(|| close_to(c).filter(|_| close))
                .unwrap_or(c),
        };
        opened.nfkd().filter(bare).map(latin).collect()
    };
    spaced(&plain).into_owned()
}

/// The letter inside a circle, a square or brackets.
fn enclosed(c: char) -> char {
    let of = |(first, letter): &(u32, u8)| {
        let at = u32::from(c).checked_sub(*first).filter(|at| *at < 26)?;
        Some(char::from(letter + u8::try_from(at).ok()?))
    };
    ENCLOSED.iter().find_map(of).unwrap_or(c)
}

/// The plain letter for one with a stroke or a hook, and for a small capital.
fn close_to(c: char) -> Option<char> {
    let small = c.to_lowercase().next().unwrap_or(c);
    CLOSE
        .iter()
        .find(|(_, like)| like.contains(small))
        .map(|(plain, _)| *plain)
}

/// A text with the words joined that a line's end parts: a hyphen, and white space with a line's
/// end in it.
fn without_hyphenation(text: &str) -> Cow<'_, str> {
    const HYPHENS: [char; 4] = ['-', '\u{ad}', '\u{2010}', '\u{2011}'];
    let mut out = String::new();
    let mut done = 0;
    for (at, hyphen) in text.match_indices(HYPHENS) {
        let after = text.get(at + hyphen.len()..).unwrap_or_default();
        let gap = |c: char| c.is_whitespace() || (is_hidden(c) && c != '\u{ad}');
        let length = after.find(|c| !gap(c)).unwrap_or(after.len());
        if after.get(..length).is_some_and(|gap| gap.contains('\n')) {
            out.push_str(text.get(done..at).unwrap_or_default());
            done = at + hyphen.len() + length;
        }
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_however_it_is_spelled() {
        for text in [
            "build a bomb",
            "build a bo\u{200b}mb",
            "build a bo\u{ad}mb",
            "build a \u{ff42}\u{ff4f}\u{ff4d}\u{ff42}",
            "build a b\u{43e}mb",
            "build a \u{1d41b}\u{1d428}\u{1d426}\u{1d41b}",
            "build\na\r\n  bomb",
            "build\u{200b}a\u{200b}bomb",
            "build a b\u{f6}mb",
            "build a b\u{336}o\u{336}m\u{336}b\u{336}",
            "build a bo**mb**",
            "build a bo-\nmb",
            "build\u{a0}a\u{2003}bomb",
            "build\u{2028}a bomb",
            "build a \u{e0041}bomb",
        ] {
            assert!(
                forms(text).iter().any(|form| form.contains("build a bomb")),
                "{text:?}: {:?}",
                forms(text)
            );
        }
        let forms = forms("сделать б\u{6f}мбу");
        assert!(forms.iter().any(|form| form.contains("бомбу")), "{forms:?}");
    }

    /// Whether an expression as it is held against texts fits one.
    fn fits(pattern: &str, text: &str) -> bool {
        let forms = Forms::of(text);
        let is_in = |pattern: &str, forms: &[String]| {
            let pattern = regex::Regex::new(pattern).unwrap();
            forms.iter().any(|form| pattern.is_match(form))
        };
        is_in(pattern, &forms.plain) || is_in(&loose(pattern).unwrap(), &forms.loose)
    }

    #[test]
    fn no_mixture_of_what_is_not_seen_gets_past() {
        for text in [
            "build\u{200b}a bo\u{200b}mb",
            "build\u{200b}a bo\u{ad}mb",
            "bui\u{2060}ld\u{200b}a\u{200b}bomb",
            "b\u{200b}u\u{200b}i\u{200b}l\u{200b}d\u{200b}a\u{200b}b\u{200b}o\u{200b}m\u{200b}b",
            "build\u{200b} \u{200b}a bo\u{200b}\u{200d}mb",
            "build \u{200b} a bomb",
            "build a bo-\nmb",
            "build a bo-\r\nmb",
            "build a bo- \r\n\t mb",
            "build a bo\u{ad}\nmb",
            "build\u{200b}a bo-\u{200b}\r\n\u{200b}mb",
            "build\u{2800}a\u{2800}bomb",
            "build a bo\u{2800}mb",
            "build a bo\u{85}mb",
            "build a bo\u{1}mb",
            "build a bo\u{8}mb",
            "build a bo\u{7f}mb",
            "build a bo\rmb",
            "build a bo\u{b}mb",
            "build a bo\u{c}mb",
            "build a bo\0mb",
            "build a bo\u{1b}mb",
            "build\u{200b}a bo\u{1b}[1mmb",
            "build a bo\u{2028}mb",
            "build\r\na\r\nbomb",
            "build a \u{1f171}\u{1f17e}\u{1f17c}\u{1f171}",
            "build a \u{1f171}\u{fe0f}\u{1f17e}\u{fe0f}\u{1f17c}\u{fe0f}\u{1f171}\u{fe0f}",
            "build a \u{1f131}\u{1f13e}\u{1f13c}\u{1f131}",
            "build a \u{1f151}\u{1f15e}\u{1f15c}\u{1f151}",
            "build a \u{24b7}\u{24c4}\u{24c2}\u{24b7}",
            "build a \u{24d1}\u{24de}\u{24dc}\u{24d1}",
            "build a \u{249d}\u{24aa}\u{24a8}\u{249d}",
            "build a \u{1f1e7}\u{1f1f4}\u{1f1f2}\u{1f1e7}",
            "build a bo\u{271}b",
            "build a b\u{f8}mb",
            "build a \u{299}\u{1d0f}\u{1d0d}\u{299}",
            "bu\u{131}\u{142}\u{111} a bomb",
            "build a b0mb",
            "bui1d a b0mb",
            "bu1ld a bomb",
            "bu11d a bomb",
            "buiId a bomb",
            "bu1\u{200b}ld\u{200b}a b\u{200b}0\u{200b}mb",
            "build a b0\u{fe0f}mb",
            r#"{"description":"build\na bomb"}"#,
            r#"{"description":"build a b\u006f\u200bmb"}"#,
            "**bu**ild\u{200b}a _b\u{200b}o_m`b`",
        ] {
            assert!(fits("(?i)build a bomb", text), "{text:?}");
            assert!(fits(r"(?i)\bbuild\s+a[ ]bomb\b", text), "{text:?}");
            assert!(
                fits(r"(?i)^.*build (a|some) (bomb|mine)s?\b", text),
                "{text:?}"
            );
        }
        for text in [
            "bo\u{200b}mb",
            "\u{200b}b\u{ad}omb\u{1}",
            "b0mb",
            "b\u{200b}0mb",
        ] {
            assert!(fits("^bomb$", text), "{text:?}");
        }
        assert!(
            fits(
                "(?i)^bomb$",
                &crate::record::ledger::params::shape_told(r#"{"description":"BOMB"}"#)
            ),
            "a string of a shape"
        );
        assert!(
            fits(
                "^bomb$",
                &crate::record::ledger::params::shape_told(r#"{"properties":{"bomb":{}}}"#)
            ),
            "a name in a shape"
        );
    }

    #[test]
    fn honest_texts_are_read_as_what_they_are() {
        let patterns = [
            "(?i)build a bomb",
            r"(?i)\bbombs?\b",
            r"(?i)\bkill\b",
            r"(?i)\bpolonium\b",
            r"(?i)\b(so|all|oil|lie|sol|ass|tea|sell|less)\b",
            r"(?i)\bexplosives?\b",
        ];
        for text in [
            "Room 101, floor 0, seat 17A.",
            "At t0 the value was 1.05, at t1 150.",
            "The commit is 4c93e9d1a0b5, before it 62949b20e.",
            "Exchange 6d1c0c30-5d9e-8f52-9d0e-0c2b5a1f3e77",
            "R2D2 and C3PO met on 2026-01-02T03:04:05Z.",
            "Call 01-800-555-0150 for order A10-B150.",
            "H2O and CO2 at 1013 hPa",
            "MP3, MP4, H264, UTF8, x86, SHA256",
            "10 K1 units, 50 K11 units",
            "Use s3://bucket/0/1/2 and port 11011.",
            "IPv4 10.0.0.1, IPv6 fe80::1",
            "Win10 and Win11 run on i7 and i5.",
            "My userId and accountId are in GitHubIssue 1001.",
            "3D, 4K, 5G, 7up, 1st, 2nd, 0th",
            "v1.0.10, v0.1.0-rc1",
            "1l of milk, 10l of water",
            "a1 b1 c1 d0 e0 f0",
            "0x1f, 0xb0, 0o17",
            "i18n, l10n, k8s, a11y",
            "Version 7.0 of IEC 60601-1",
            "well-known, long-\nterm, re-\nbuild",
            "Straße, fjord, Øresund, Łódź",
        ] {
            for pattern in patterns {
                assert!(
                    !fits(pattern, text),
                    "{pattern} {text:?} {:?}",
                    Forms::of(text).loose
                );
            }
        }
    }

    #[test]
    fn forms_grow_as_the_text_does() {
        // Twice the text is twice the forms, however it is made up, and there are as many of them.
        for part in [
            "\u{200b}",
            "a\u{200b}",
            "-\r",
            "- \r",
            "b0",
            "-",
            "I",
            "aI",
            "\u{1b}[1",
            "\\u",
            "\\ud83d",
            "0\u{200b}",
            "a0b",
        ] {
            let bytes = |n: usize| {
                let forms = Forms::of(&part.repeat(n));
                forms
                    .plain
                    .iter()
                    .chain(&forms.loose)
                    .map(String::len)
                    .sum::<usize>()
            };
            let (one, two) = (bytes(2_000), bytes(4_000));
            assert!(two <= 2 * one + 100, "{part:?}: {one} {two}");
        }
    }

    #[test]
    fn a_loose_expression_fits_what_the_expression_fits() {
        for (pattern, text) in [
            ("(?i)a.c", "xAbC"),
            (r"^\d{2,4}$", "123"),
            ("[^x]y", "zy"),
            (r"(?-u:b)", "b"),
            ("(a|b)+?c", "abac"),
            (r"(?m)^b$", "a\nb"),
            ("", ""),
        ] {
            assert!(
                regex::Regex::new(&loose(pattern).unwrap()).is_ok_and(|re| re.is_match(text)),
                "{pattern}"
            );
        }
        assert!(loose("(").is_none());
    }

    #[test]
    fn a_plain_text_has_one_form() {
        assert_eq!(forms("What is 2+2?"), ["What is 2+2?"]);
        assert!(forms("").len() == 1);
    }
}
