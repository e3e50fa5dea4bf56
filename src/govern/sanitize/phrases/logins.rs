//! What somebody logs in with, where no word calls it a password: "use … to log in", "the code is
//! …".

use super::passwords::pair;
use super::words::{last_words, reach_after, reach_before, words};
use crate::govern::sanitize::assignments::{is_phrase, is_prose_sign, is_strong};
use crate::govern::sanitize::value::{
    is_code, is_dated, is_hex, is_mixed_case, is_name, is_path, is_uuid, makeup, stands_in,
    wordiness,
};
use crate::govern::sanitize::vocabulary::vocabulary;

/// Most words between "log in" and "with".
const MAX_BETWEEN: usize = 6;
/// Whether a word is none that a sentence would say, and no name of a method or version (`OAuth2`,
/// `Ed25519`): letters after its digits, and few of them in words.
pub(in crate::govern::sanitize) fn is_chosen(text: &str) -> bool {
    if text.len() < vocabulary().lengths.chosen || !text.bytes().any(|b| b.is_ascii_digit()) {
        return false;
    }
    let made = makeup(text);
    let inside = text
        .find(|c: char| c.is_ascii_digit())
        .is_some_and(|at| text[at..].contains(|c: char| c.is_ascii_alphabetic()));
    let signs = text.contains(['!', '@', '#', '$', '%', '^', '&', '?', '+']);
    let long = text.len() >= 10 && made.others == 0 && made.upper != 1;
    made.letters() >= 2
        && ((inside && made.digits >= 2) || (signs && made.digits > 0) || long)
        && wordiness(text) <= vocabulary().wordiness.chosen
        && !is_other(text)
}

/// Whether a word is a password by its signs or by its randomness: `Tiger2063@`, `Kd93mfpq2`.
pub(in crate::govern::sanitize) fn is_given(text: &str) -> bool {
    let made = makeup(text);
    let signs = text.contains(['!', '@', '#', '$', '%', '^', '&', '*', '?', '+']);
    (signs && text.len() >= 6 && made.digits > 0 && made.letters() >= 3 && !is_other(text))
        || is_chosen(text)
        || is_phrase(text)
        || is_mixed_case(text)
}

/// Whether a word has letters and digits, and is nothing else: `castle1057`.
pub(in crate::govern::sanitize) fn is_mixed(text: &str) -> bool {
    let made = makeup(text);
    text.len() >= 6 && made.digits >= 2 && made.letters() >= 2 && !is_other(text)
}

/// Whether a word that stands where a password would is none of the methods that have numbers in
/// their names.
pub(in crate::govern::sanitize) fn is_listed(text: &str) -> bool {
    if text.len() < vocabulary().lengths.chosen || !text.bytes().any(|b| b.is_ascii_digit()) {
        return is_mixed_case(text);
    }
    let made = makeup(text);
    let inside = text
        .find(|c: char| c.is_ascii_digit())
        .is_some_and(|at| text[at..].contains(|c: char| c.is_ascii_alphabetic()));
    let method = vocabulary().values.method_starts.starts(text);
    made.letters() >= 2 && inside && !method && !is_other(text)
}

/// Whether a word is something else: an address, a path, code, a stand-in, a digest, a date.
pub(in crate::govern::sanitize) fn is_other(text: &str) -> bool {
    let email = text
        .split_once('@')
        .is_some_and(|(_, host)| host.contains('.'));
    email
        || stands_in(text)
        || is_code(text)
        || is_path(text)
        || is_name(text)
        || is_dated(text)
        || is_uuid(text)
        || is_hex(text)
        || is_prose_sign(text)
}

/// "log in … with X", "authenticate as bob using X", "ssh to it with bob / X": after the verb that
/// ends at `end`.
pub(in crate::govern::sanitize) fn login(text: &str, end: usize) -> Option<(usize, usize)> {
    let rest = reach_after(text, end);
    if !rest.starts_with([' ', ',']) {
        return None;
    }
    // "login bob / X"
    if words(rest, end).nth(1).is_some_and(|word| word.text == "/") {
        return pair(text, end);
    }
    let mut with = None;
    for (nth, word) in words(rest, end).take(MAX_BETWEEN + 2).enumerate() {
        if let Some(after) = with {
            let said = is_given(word.text).then(|| word.place());
            return said.or_else(|| {
                pair(text, after).filter(|(from, to)| text.get(*from..*to).is_some_and(is_strong))
            });
        }
        if word.is(&vocabulary().sentences.with) {
            with = Some(word.start + word.text.len());
        }
        let ends = text
            .get(word.start + word.text.len()..)
            .is_some_and(|after| after.starts_with(['.', '?', '!', ';']));
        if nth >= MAX_BETWEEN || ends {
            return None;
        }
    }
    None
}

/// "use X to log in", "enter X when prompted": before the phrase that begins at `start`.
pub(in crate::govern::sanitize) fn before_purpose(
    text: &str,
    start: usize,
) -> Option<(usize, usize)> {
    let (from, before) = reach_before(text, start);
    let all = last_words(before, from, 2);
    let [.., told, said] = all.as_slice() else {
        return None;
    };
    (told.is(&vocabulary().sentences.used_before) && is_given(said.text)).then(|| said.place())
}

/// "the code is X", "my pin is 4821": after the verb of the words `start..end`.
///
/// With `number`, a number is one; with `told`, nothing is unless the word before says what the
/// code opens.
pub(in crate::govern::sanitize) fn code(
    text: &str,
    (start, end): (usize, usize),
    number: bool,
    told: bool,
) -> Option<(usize, usize)> {
    let word = words(reach_after(text, end), end).next()?;
    let before = reach_before(text, start)
        .1
        .trim_end()
        .rsplit(|c: char| !c.is_alphanumeric() && c != '-')
        .next()?;
    let opened = vocabulary().sentences.opens.has(before);
    let digits = vocabulary().lengths.pin.contains(&word.text.len())
        && word.text.bytes().all(|b| b.is_ascii_digit());
    ((digits && (number || opened))
        || ((opened || !told) && is_given(word.text))
        || (opened && is_mixed(word.text)))
    .then(|| word.place())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_chosen_is_told_from_what_is_named() {
        for word in ["Kd93mfpq2", "x7!kqRwp", "r4zbq8vt"] {
            assert!(is_chosen(word), "{word}");
        }
        for word in [
            "OAuth2",
            "Ed25519",
            "argon2id",
            "TLSv1.3",
            "user2024",
            "base64url",
            "ISO-3166",
            "bob@example.org",
            "deadbeef12",
        ] {
            assert!(!is_chosen(word), "{word}");
        }
    }
}
