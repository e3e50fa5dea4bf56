//! The forms in which a text can be read: what a rule about words is held against, so that no spelling gets past it.
//!
//! | form | as in |
//! |---|---|
//! | as it is | |
//! | without masks | full width, styled letters, look-alikes in Latin words, soft hyphens, zero width; one space between words |
//! | invisible characters as spaces | words that nothing but zero width parts |
//! | letters alone | accents, marks of emphasis and every look-alike taken off, words joined that a line's end parts |
//! | Cyrillic | Latin look-alikes in Cyrillic words |
//!
//! Each is made in one pass over the text. Spelled numbers, spaced letters and other languages are no form of it.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use crate::record::unseen::is_invisible;

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
    let mut add = |form: Cow<'_, str>| {
        if forms.iter().all(|known| *known != form) {
            forms.push(Cow::Owned(form.into_owned()));
        }
    };
    let read = read_text(text);
    add(Cow::Borrowed(&read));
    if text.chars().any(is_invisible) {
        let parted: String = text.chars().map(|c| if is_invisible(c) { ' ' } else { c }).collect();
        add(read_text(&parted));
    }
    add(Cow::Owned(letters(text)));
    if text.chars().any(|c| ('\u{400}'..='\u{4ff}').contains(&c)) {
        let like = |c: char| CYRILLIC.iter().find(|(latin, _)| *latin == c).map_or(c, |(_, like)| *like);
        let text: String = text.chars().filter(|c| !is_invisible(*c)).map(like).collect();
        add(spaced(&text));
    }
    forms
}

/// White space as one space each.
fn spaced(text: &str) -> Cow<'_, str> {
    let odd = |c: char| c != ' ' && c.is_whitespace();
    if !text.contains(odd) && !text.contains("  ") {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The bare letters: no accents, no marks of emphasis, no hyphen at a line's end, Latin for all that looks like it.
fn letters(text: &str) -> String {
    let text = if text.contains("-\n") { Cow::Owned(text.replace("-\n", "")) } else { Cow::Borrowed(text) };
    let bare = |c: &char| !(is_invisible(*c) || is_combining_mark(*c) || matches!(c, '*' | '_' | '`' | '~'));
    let plain: String = if text.is_ascii() {
        text.chars().filter(bare).collect()
    } else {
        text.nfkd().filter(bare).map(|c| if c.is_ascii() { c } else { looks_like(c).unwrap_or(c) }).collect()
    };
    spaced(&plain).into_owned()
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
            assert!(forms(text).iter().any(|form| form.contains("build a bomb")), "{text:?}: {:?}", forms(text));
        }
        let forms = forms("сделать б\u{6f}мбу");
        assert!(forms.iter().any(|form| form.contains("бомбу")), "{forms:?}");
    }

    #[test]
    fn a_plain_text_has_one_form() {
        assert_eq!(forms("What is 2+2?"), ["What is 2+2?"]);
        assert!(forms("").len() == 1);
    }
}
