//! What somebody logs in with, where no word calls it a password: "use … to log in", "the code is
//! …".

use super::passwords::pair;
use super::words::{last_words, reach_after, reach_before, words};
use crate::govern::sanitize::token::kind::TokenKind;
use crate::govern::sanitize::token::shape::TokenShape;
use crate::govern::sanitize::token::table::TokenContext;
use crate::govern::sanitize::vocabulary::vocabulary;

/// Most words between "log in" and "with".
const MAX_BETWEEN: usize = 6;

/// "log in … with X", "authenticate as bob using X", "ssh to it with bob / X": after the verb that
/// ends at `end`.
pub fn after_login(text: &str, end: usize) -> Option<(usize, usize)> {
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
            let said = word.shape().is_secret(TokenContext::UsedPassword);
            let said = said.then(|| word.place());
            return said.or_else(|| {
                pair(text, after).filter(|(from, to)| {
                    let password = text.get(*from..*to).unwrap_or_default();
                    TokenShape::of(password).is(TokenKind::Strong)
                })
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
pub fn before_purpose(text: &str, start: usize) -> Option<(usize, usize)> {
    let (from, before) = reach_before(text, start);
    let all = last_words(before, from, 2);
    let [.., told, said] = all.as_slice() else {
        return None;
    };
    (told.is(&vocabulary().sentences.used_before)
        && said.shape().is_secret(TokenContext::UsedPassword))
    .then(|| said.place())
}

/// "the code is X", "my pin is 4821": after the verb of the words `start..end`.
///
/// With `number`, a number is one; with `told`, nothing is unless the word before says what the
/// code opens.
pub fn code(
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
    let shape = word.shape();
    ((shape.is(TokenKind::LongNumber) && (number || opened))
        || ((opened || !told) && shape.is_secret(TokenContext::UsedPassword))
        || (opened && shape.is_secret(TokenContext::GivenPassword)))
    .then(|| word.place())
}
